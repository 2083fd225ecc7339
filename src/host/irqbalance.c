/* SPDX-License-Identifier: GPL-2.0-or-later */
/* irqbalance.c - step kind irqbalance.ban: a running irqbalance leaves the target alone */
#include "host/irqbalance.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "host/root.h"
#include "host/tasks.h"

/* One that is awake answers at once. After each change of the CPUs it sleeps for its interval, of
 * ten seconds unless configured otherwise, moves no interrupt, and then reads the two messages that
 * its socket can hold. */
#define ANSWER_MILLISECONDS 300
#define INTERVAL_SECONDS    12

/* irqbalance reads no longer message. */
#define MESSAGE_SIZE 500

/* ---- its socket -------------------------------------------------------------------------- */

/* The addresses of all its versions: a path, an abstract name, and the abstract name of zeros
 * alone. */
static socklen_t make_address(unsigned int version, unsigned long long pid,
			      struct sockaddr_un *address)
{
	int n;

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (version == 0)
		snprintf(address->sun_path, sizeof(address->sun_path),
			 "/run/irqbalance/irqbalance%llu.sock", pid);
	if (version != 1)
		return sizeof(*address);
	n = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, "irqbalance%llu.sock",
		     pid);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* Returns a descriptor, -ENOENT where that process does not listen, -ETIMEDOUT, or another -errno.
 */
static int connect_to(unsigned long long pid, const struct timeval *limit)
{
	for (unsigned int version = 0; version < 3; version++) {
		_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		struct sockaddr_un address;
		socklen_t length = make_address(version, pid, &address);

		if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, limit, sizeof(*limit)) < 0 ||
		    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, limit, sizeof(*limit)) < 0)
			return -errno;
		if (!connect(fd, (const struct sockaddr *)&address, length))
			return steal_fd(&fd);
		if (errno != ENOENT && errno != ECONNREFUSED)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
	}
	return -ENOENT;
}

/* It is not asked, since some versions do not survive a connection without a message. */
bool irqbalance_listens(const struct root *root, pid_t pid)
{
	_cleanup_free_ char *sockets = NULL;
	char name[64];

	snprintf(name, sizeof(name), "irqbalance%d.sock", (int)pid);
	/* the kernel shows the zeros of an abstract name as "@" */
	return root_read(root, &sockets, "proc/net/unix") || strstr(sockets, name) ||
	       strstr(sockets, " @@");
}

/* It believes root alone, by the credentials that the kernel vouches for. */
static int send_message(int fd, char *message)
{
	union {
		char buffer[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec data = { .iov_base = message, .iov_len = strlen(message) };
	struct msghdr header = { .msg_iov = &data,
				 .msg_iovlen = 1,
				 .msg_control = control.buffer,
				 .msg_controllen = sizeof(control.buffer) };
	struct ucred self = { .pid = getpid(), .uid = geteuid(), .gid = getegid() };
	struct cmsghdr *credentials = CMSG_FIRSTHDR(&header);
	ssize_t n;

	credentials->cmsg_level = SOL_SOCKET;
	credentials->cmsg_type = SCM_CREDENTIALS;
	credentials->cmsg_len = CMSG_LEN(sizeof(self));
	memcpy(CMSG_DATA(credentials), &self, sizeof(self));
	n = sendmsg(fd, &header, MSG_NOSIGNAL);
	if (n < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	return (size_t)n == data.iov_len ? 0 : -EIO;
}

/* Sends it which CPUs to avoid; returns the connection, or -errno. */
static int send_cpus(unsigned long long pid, const char *cpus, const struct timeval *limit)
{
	_cleanup_close_ int fd = connect_to(pid, limit);
	char message[MESSAGE_SIZE];
	int r = fd;

	snprintf(message, sizeof(message), "settings cpus %s", cpus);
	if (r >= 0)
		r = send_message(fd, message);
	return r < 0 ? r : steal_fd(&fd);
}

/*
 * Tells it to avoid @cpus, and waits until it has read that: its only sign is that it closes the
 * connection. -ETIMEDOUT with *ret_sent set: it reads the message later. Allocates nothing.
 */
static int ban(unsigned long long pid, const char *cpus, bool *ret_sent)
{
	const struct timeval limit = { .tv_usec = ANSWER_MILLISECONDS * 1000 };
	_cleanup_close_ int fd = send_cpus(pid, cpus, &limit);
	char byte;
	ssize_t n;

	*ret_sent = fd >= 0;
	if (fd < 0)
		return fd;
	do {
		n = recv(fd, &byte, 1, 0);
	} while (n < 0 && errno == EINTR);
	return n < 0 && errno == EAGAIN ? -ETIMEDOUT : 0;
}

/* Tells it to avoid what it is configured to avoid. Waits for no answer, but for a place for the
 * message, since one that is lost would keep it from these CPUs for good. Allocates nothing. */
static int unban(unsigned long long pid)
{
	const struct timeval limit = { .tv_sec = INTERVAL_SECONDS };
	_cleanup_close_ int fd = send_cpus(pid, "NULL", &limit);

	/* one that has ended has taken its list with it */
	return fd >= 0 || fd == -ENOENT ? 0 : fd;
}

/* ---- planning ---------------------------------------------------------------------------- */

/* The variable's value in the environment that the process was started with, or NULL. */
static const char *find_variable(const char *environment, size_t size, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = environment; at < environment + size; at += strlen(at) + 1)
		if (!strncmp(at, name, length) && at[length] == '=' && at[length + 1])
			return at + length + 1;
	return NULL;
}

static size_t read_environment(const struct root *root, pid_t pid, char *buffer, size_t size)
{
	_cleanup_close_ int fd = -1;
	size_t length = 0;
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "proc/%d/environ", (int)pid);
	fd = root_openat(root, O_RDONLY, path);
	while (fd >= 0 && length < size - 1 &&
	       (n = read(fd, buffer + length, size - 1 - length)) > 0)
		length += (size_t)n;
	buffer[length] = '\0';
	return length;
}

/* What it avoids by its configuration, as setup_banned_cpus() of its cputree.c has it. */
static int read_configured(const struct step_env *env, pid_t pid, hwloc_bitmap_t ret_cpus)
{
	static char environment[65536];
	_cleanup_cpus_ hwloc_bitmap_t nohz_full = hwloc_bitmap_alloc();
	size_t size = read_environment(env->root, pid, environment, sizeof(environment));
	const char *mask = find_variable(environment, size, "IRQBALANCE_BANNED_CPUS");
	const char *list = find_variable(environment, size, "IRQBALANCE_BANNED_CPULIST");
	unsigned int max = env->machine->nr_cpus - 1;

	if (!nohz_full)
		return -ENOMEM;
	hwloc_bitmap_zero(ret_cpus);
	if (mask)
		return cpus_parse_mask(mask, max, ret_cpus);
	if (list)
		return cpus_parse_kernel(list, max, ret_cpus);
	if (!root_read_cpulist(env->root, max, nohz_full, "sys/devices/system/cpu/nohz_full"))
		hwloc_bitmap_copy(ret_cpus, nohz_full);
	if (!root_read_cpulist(env->root, max, nohz_full, "sys/devices/system/cpu/isolated"))
		hwloc_bitmap_or(ret_cpus, ret_cpus, nohz_full);
	return 0;
}

static int plan_process(struct step *step, const struct step_env *env, pid_t process)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	_cleanup_free_ char *before = NULL, *after = NULL;
	unsigned long long pid = (unsigned long long)process;

	/* A configuration that it does not understand either is none. */
	if (!cpus || read_configured(env, process, cpus) == -ENOMEM)
		return -ENOMEM;
	before = cpus_format(cpus);
	hwloc_bitmap_or(cpus, cpus, env->target);
	after = cpus_format(cpus);
	if (!before || !after)
		return -ENOMEM;
	if (strlen(after) + sizeof("settings cpus ") > MESSAGE_SIZE)
		return findings_add(env->findings, "irqbalance-not-told", SEVERITY_WARN, NULL,
				    "Stop it meanwhile if interrupts must not be moved back.",
				    "irqbalance (process %llu) cannot be told to leave these CPUs "
				    "alone: it "
				    "reads no list of this length",
				    pid)
			       ? 0
			       : -ENOMEM;
	return step_add_item(step, pid, before[0] ? before : "none", after, "irqbalance %llu", pid)
		       ? 0
		       : -ENOMEM;
}

/* On the way back nothing is kept from CPUs that interrupts may have again. */
static int describe(struct step *step, struct step_env *env)
{
	int r = 0;

	for (size_t i = 0; !r && !env->is_return && env->tasks && i < env->tasks->nr; i++) {
		const struct task *task = &env->tasks->list[i];

		if (task->pid == task->tid && !strcmp(task->comm, "irqbalance"))
			r = plan_process(step, env, task->pid);
	}
	return r;
}

/* ---- applying and undoing ---------------------------------------------------------------- */

static int apply(struct step *step, struct step_env *env)
{
	(void)env;
	for (size_t i = 0; i < step->nr_items; i++) {
		struct item *item = &step->items[i];
		bool is_sent;
		int r = ban(item->id, item->after, &is_sent);

		item->state = is_sent ? STATE_APPLIED : STATE_FAILED;
		item->error = r == -ENOENT ? 0 : -r;
	}
	return 0;
}

/* One that cannot be told is told once more at the restore; that failing, too, is but a warning. */
static int undo(struct step *step, struct step_env *env)
{
	for (size_t i = 0; i < step->nr_items; i++) {
		struct item *item = &step->items[i];
		int r;

		if (!item_is_in_force(step, item))
			continue;
		r = unban(item->id);
		if (r)
			item->error = -r;
		if (!r || env->is_return)
			item->state = STATE_UNDONE;
	}
	return 0;
}

const struct step_kind irqbalance_kind = {
	.name = "irqbalance.ban",
	.undo_rank = 98,
	.lifetime = LIFETIME_DURING,
	.describe = describe,
	.apply = apply,
	.undo = undo,
};
