/* SPDX-License-Identifier: GPL-2.0-or-later */
/* explain.c - what the kernel's answer to a hotplug write means, and what to do next */
#include "core/explain.h"

#include <errno.h>
#include <string.h>

#include "host/kmsg.h"

/*
 * By errno, direction and, where it is known, the callback that failed: the first row that fits
 * counts, so the more special one stands first. @log is what the kernel writes in this case.
 */
static const struct row {
	int error;
	bool is_return;
	const char *callback; /* how it begins, NULL: whichever it was, or none */
	const char *log;
	const char *cause;
	const char *remedy;
} rows[] = {
	/* ---- going offline ---- */
	{ EBUSY, false, "sched_cpu_deactivate", NULL,
	  "The scheduler keeps this CPU: deadline tasks need its bandwidth, it is the last one of "
	  "a cpuset partition, or the kernel has lost count of deadline tasks that ended (6.1).",
	  "Look for deadline tasks (ps -eLo pid,cls,comm | grep DLN) and stop some, make the "
	  "partition a member, or take fewer CPUs." },
	{ EBUSY, false, "tick_nohz_cpu_down", NULL,
	  "With nohz_full= this CPU keeps the time for the others.",
	  "Leave it out with --except, or boot without nohz_full=." },
	{ EBUSY, false, "hv_synic_cleanup", NULL,
	  "Channels of Hyper-V are bound to this CPU, or it holds the connection to the host.",
	  "Write another CPU to the channels' cpu files below /sys/bus/vmbus/devices, or leave it "
	  "out with --except." },
	{ EBUSY, false, "kvm_offline_cpu", "TDX requires",
	  "KVM runs TDX guests, which need one CPU online on each socket.",
	  "Leave one CPU of the socket out with --except, or shut these guests down." },
	{ EBUSY, false, "tdx_offline_cpu", "TDX requires",
	  "KVM runs TDX guests, which need one CPU online on each socket.",
	  "Leave one CPU of the socket out with --except, or shut these guests down." },
	{ EBUSY, false, "", NULL, "A callback of the kernel or of a driver keeps this CPU.",
	  "The callback and the kernel log say which: unload or stop what it belongs to, or leave "
	  "the CPU out with --except." },
	{ EBUSY, false, NULL, NULL,
	  "The kernel refused before it began: this is the last CPU that is not isolated, or CPU "
	  "hotplug stayed disabled for ten seconds (suspend, PCI probing, a reboot); without a "
	  "trace also deadline tasks or a cpuset partition.",
	  "Look at /sys/devices/system/cpu/isolated and isolcpus= in /proc/cmdline; run cpuoff "
	  "again if neither is so." },
	{ EAGAIN, false, NULL, NULL,
	  "A hotplug callback failed, here a failure that was injected through cpuN/hotplug/fail.",
	  "Write -1 to the CPU's hotplug/fail and run cpuoff again." },
	{ ENOSPC, false, NULL, "Cannot disable CPU",
	  "The survivors have too few free interrupt vectors for the interrupts of this CPU.",
	  "Take fewer CPUs, or unload drivers with many queues, or give them fewer (ethtool -L)." },
	{ ERANGE, false, NULL, "Cannot disable CPU",
	  "The survivors have too few free interrupt vectors for the interrupts of this CPU.",
	  "Take fewer CPUs, or unload drivers with many queues, or give them fewer (ethtool -L)." },
	{ ENOMEM, false, "padata", NULL, "Parallel cryptography (pcrypt) found no memory.",
	  "Free memory, or unload pcrypt, and run cpuoff again." },
	{ ENOMEM, false, NULL, NULL, "A callback of the kernel found no memory.",
	  "Free memory and run cpuoff again." },
	{ EPERM, false, NULL, NULL,
	  "The kernel, or the firmware, does not allow this CPU to go offline.",
	  "Leave it out with --except." },
	{ EACCES, false, NULL, NULL, "This process may not write the file.",
	  "Run cpuoff as root; if it is root already, look for a security module's refusal in the "
	  "audit log." },
	{ EROFS, false, NULL, NULL, "The file system is mounted read-only, as in containers.",
	  "Run cpuoff on the machine itself." },
	{ EOPNOTSUPP, false, NULL, NULL,
	  "This kernel, or the confidential guest that it runs in, cannot take CPUs offline.",
	  "Take the CPUs away on the hypervisor." },
	{ EINVAL, false, NULL, NULL, "The kernel does not understand what was written.",
	  "Look at the machine with --list: the CPU may have no hotplug." },
	{ ENODEV, false, NULL, NULL, "The CPU was removed meanwhile.",
	  "Look at the machine with --list." },
	{ ENOENT, false, NULL, NULL,
	  "The CPU has no online file any more: it was removed meanwhile.",
	  "Look at the machine with --list." },
	{ EPROTO, false, NULL, NULL,
	  "The kernel reported success, but the CPU is online: something brings it back.",
	  "Look for udev rules or services that bring CPUs online." },
	{ ETIMEDOUT, false, "blk_mq_hctx_notify_offline", NULL,
	  "The kernel waits for requests in flight on a disk's queue of this CPU. It cannot be "
	  "called off, and blocks every other removal.",
	  "See which disk does not answer (/sys/block/*/inflight), then run cpuoff --restore, "
	  "which waits for it." },
	{ ETIMEDOUT, false, NULL, NULL,
	  "The kernel still works on the removal. It cannot be given up, and blocks every other "
	  "one.",
	  "Find out what it waits for, often I/O in flight on a queue of this CPU, then run cpuoff "
	  "--restore, which waits for it." },
	/* ---- coming online ---- */
	{ EBUSY, true, "kvm_online_cpu", NULL, "KVM could not enable virtualization on this CPU.",
	  "Look at the kernel log; unload kvm_intel or kvm_amd, then run cpuoff --restore again." },
	{ EBUSY, true, NULL, NULL,
	  "CPU hotplug stayed disabled for ten seconds (suspend, PCI probing, a reboot).",
	  "Run cpuoff --restore again." },
	{ EAGAIN, true, NULL, "failed to report dead state",
	  "A hotplug callback failed, or the CPU never reported that it was dead.",
	  "Run cpuoff --restore again; a CPU that stays away needs a reboot." },
	{ EPERM, true, NULL, NULL,
	  "SMT is switched off, and this CPU is not the first thread of its core.",
	  "Write on to smt/control; it brings back every offline CPU of the machine." },
	{ EACCES, true, NULL, NULL, "This process may not write the file.", "Run cpuoff as root." },
	{ EROFS, true, NULL, NULL, "The file system is mounted read-only, as in containers.",
	  "Run cpuoff on the machine itself." },
	{ EIO, true, "kvm_online_cpu", NULL, "KVM could not enable virtualization on this CPU.",
	  "Look at the kernel log; unload kvm_intel or kvm_amd, then run cpuoff --restore again." },
	{ EIO, true, NULL, "failed to report alive state", "The CPU did not start.",
	  "Run cpuoff --restore again; it may need a reboot." },
	{ ENOMEM, true, NULL, NULL, "The kernel found no memory for the CPU.",
	  "Free memory and run cpuoff --restore again." },
	{ ECANCELED, true, NULL, NULL,
	  "The CPU was never started since the machine booted with SMT off.",
	  "Reboot with SMT on." },
	{ EINVAL, true, NULL, NULL, "The CPU is not present, or its hardware refuses to start it.",
	  "It may need a cold boot." },
	{ ENODEV, true, NULL, NULL, "The CPU was removed, or its node is gone.",
	  "Look at the machine with --list." },
	{ ENOENT, true, NULL, NULL, "The CPU is not there: it was removed from the machine.",
	  "Put it back, then run cpuoff --restore again." },
	{ EPROTO, true, NULL, NULL,
	  "The kernel reported success, but the CPU is still offline, or somebody has taken it off "
	  "again.",
	  "Look for whoever takes CPUs offline, then run cpuoff --restore again." },
	{ ETIMEDOUT, true, NULL, NULL, "The kernel still works on it. It cannot be given up.",
	  "Find out what it waits for, then run cpuoff --restore, which waits for it." },
};

/* An empty name of a row fits every callback, but there has to be one. */
static bool fits(const struct row *row, const struct item *item, bool is_return)
{
	if (row->error != item->error || row->is_return != is_return)
		return false;
	return !row->callback || (item->callback[0] &&
				  !strncmp(item->callback, row->callback, strlen(row->callback)));
}

int explain_failure(const struct item *item, bool is_return, const char *log,
		    struct explanation *ret_explanation)
{
	const char *answer = item->error == EPROTO	? "reported success, but nothing changed"
			     : item->error == ETIMEDOUT ? "has not answered"
							: NULL;
	struct explanation explanation = { .cause = "",
					   .remedy = "Look at the kernel log (dmesg)." };
	const char *line, *pattern = NULL;
	size_t length;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (fits(&rows[i], item, is_return)) {
			explanation.cause = rows[i].cause;
			explanation.remedy = rows[i].remedy;
			pattern = rows[i].log;
			break;
		}
	explanation.message = util_asprintf("%s could not be %s: the kernel %s%s%s%s", item->object,
					    is_return ? "brought online" : "taken offline",
					    answer ? answer : "answered ",
					    answer ? "" : util_errno_name(item->error),
					    item->callback[0] ? " in " : "", item->callback);
	length = kmsg_find(log, (unsigned int)item->id, pattern, &line);
	if (length)
		explanation.kernel_log = strndup(line, length);
	if (!explanation.message || (length && !explanation.kernel_log)) {
		explanation_free(&explanation);
		return -ENOMEM;
	}
	*ret_explanation = explanation;
	return 0;
}

void explanation_free(struct explanation *explanation)
{
	free(explanation->message);
	free(explanation->kernel_log);
}
