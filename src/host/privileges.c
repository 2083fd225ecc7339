/* SPDX-License-Identifier: GPL-2.0-or-later */
/* privileges.c - the capabilities that cpuoff keeps */
#include "host/privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define BIT(capability) (UINT64_C(1) << (capability))

/*
 * DAC_OVERRIDE: the root cgroup's directory (mode 0555), and cgroups that belong to users.
 * SYS_NICE: a task that may do what the writer may not is put into another cgroup or partition
 * (security/commoncap.c: cap_task_setscheduler()). NET_ADMIN: masks of network queues
 * (net/core/net-sysfs.c). SYS_ADMIN: a remote partition that is to be one again
 * (kernel/cgroup/cpuset.c: remote_partition_enable()).
 */
static const uint64_t writer_keeps =
	BIT(CAP_DAC_OVERRIDE) | BIT(CAP_SYS_NICE) | BIT(CAP_NET_ADMIN) | BIT(CAP_SYS_ADMIN);

/*
 * It does the writer's work where somebody kills that one, and beside it reads files and links of
 * all tasks (DAC_READ_SEARCH, SYS_PTRACE), stacks (SYS_ADMIN: fs/proc/base.c) and the kernel's log
 * (SYSLOG), locks the memory of --measure (IPC_LOCK), and ends hooks of other users (KILL). SETPCAP
 * is for the writer, that it can give up its bounding set.
 */
static const uint64_t process_keeps = BIT(CAP_DAC_OVERRIDE) | BIT(CAP_SYS_NICE) |
				      BIT(CAP_NET_ADMIN) | BIT(CAP_DAC_READ_SEARCH) |
				      BIT(CAP_SYS_PTRACE) | BIT(CAP_SYS_ADMIN) | BIT(CAP_SYSLOG) |
				      BIT(CAP_IPC_LOCK) | BIT(CAP_KILL) | BIT(CAP_SETPCAP);

/* capget(2) and capset(2): the C library has no header for them, and libcap is not needed for two
 * calls. The sets are in halves of 32 bits. */
static int read_sets(struct __user_cap_data_struct sets[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &header, sets) < 0 ? -errno : 0;
}

static int write_sets(struct __user_cap_data_struct sets[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capset, &header, sets) < 0 ? -errno : 0;
}

static int keep(uint64_t kept, uint64_t inheritable)
{
	struct __user_cap_data_struct sets[2];
	int r = read_sets(sets);

	if (r)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		sets[i].effective &= (uint32_t)(kept >> 32 * i);
		sets[i].permitted &= (uint32_t)(kept >> 32 * i);
		sets[i].inheritable &= (uint32_t)(inheritable >> 32 * i);
	}
	return write_sets(sets);
}

/* Nothing to do where CAP_SETPCAP is not there: without new privileges nobody gets anything from
 * that set. */
static int limit_bounding_set(uint64_t kept)
{
	struct __user_cap_data_struct sets[2];
	int r = read_sets(sets);

	if (r || !(sets[0].effective & BIT(CAP_SETPCAP)))
		return r;
	/* up to the last capability of this kernel */
	for (unsigned int i = 0; i < 64 && prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
		if (!(kept & BIT(i)) && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0)
			return -errno;
	return 0;
}

/*
 * Of whoever is not root, execve(2) leaves the permitted set with what the file has and what is
 * ambient, which is the caller's own: a service with AmbientCapabilities= is welcome. AT_SECURE
 * would not tell the two from a security module that changes its domain.
 */
static bool file_has_capabilities(void)
{
	struct __user_cap_data_struct sets[2];

	if (!getuid() || read_sets(sets))
		return false;
	for (unsigned int i = 0; i < 64; i++)
		if (sets[i / 32].permitted >> i % 32 & 1 &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, i, 0, 0) <= 0)
			return true;
	return false;
}

bool privileges_are_lent(void)
{
	return getuid() != geteuid() || getgid() != getegid() || file_has_capabilities();
}

uint64_t privileges_lacking(const struct root *root)
{
	static const char key[] = "\nCapEff:";
	_cleanup_free_ char *text = NULL;
	const char *held = root_read(root, &text, "proc/self/status") ? NULL : strstr(text, key);

	return held ? writer_keeps & ~(uint64_t)strtoull(held + strlen(key), NULL, 16) : 0;
}

const char *privileges_name(unsigned int capability)
{
	switch (capability) {
	case CAP_DAC_OVERRIDE:
		return "CAP_DAC_OVERRIDE";
	case CAP_NET_ADMIN:
		return "CAP_NET_ADMIN";
	case CAP_SYS_NICE:
		return "CAP_SYS_NICE";
	default:
		return "a capability";
	}
}

int privileges_limit(void)
{
	return keep(process_keeps, UINT64_MAX);
}

int privileges_limit_writer(void)
{
	int r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
	int bounding_r = limit_bounding_set(writer_keeps);
	int sets_r = keep(writer_keeps, 0);

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 && !r)
		r = -errno;
	if (!r)
		r = bounding_r;
	return r ? r : sets_r;
}
