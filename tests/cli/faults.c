/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * faults.c - lets one call of the program under test fail, or kills it there; preloaded, before shim.so
 *
 * All calls into the C library in which a kernel can fail are numbered, from 1 on, over the program and the
 * child that writes, and whichever library makes them. CPUOFF_FAULTS_STATE names a file for the counter,
 * empty before each run; without it nothing is done.
 *
 * CPUOFF_FAULTS_LOG names a file that gets a line a call: "NUMBER KIND CHANGE OBJECT". CHANGE is "change"
 * where the call may change a file of the machine or of the state directory, or a task; else "-". Of memory
 * the object is who asks for it.
 *
 * CPUOFF_FAULT is "NUMBER KIND ACTION": what happens at the first call of this kind from NUMBER on; with
 * "NUMBER+" at all of them. The log then has these calls alone. ACTION is
 *
 *	ERRNO		the call is not made, and fails with this
 *	late:ERRNO	the call is made, and its answer is this all the same
 *	short		of what is read or written one byte is
 *	kill:WHEN:WHO	SIGKILL; WHEN is before or after the call, WHO is self, other (all but the one that
 *			makes the call) or all
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PIDS 8

/* Of all processes of a run. */
struct shared {
	unsigned long nr;
	int is_done;
	int nr_pids;
	pid_t pids[MAX_PIDS];
};

static struct shared *shared;
static int log_fd = -1;
static bool has_backtrace; /* it takes a library, which guests do not have */

static struct {
	unsigned long nr; /* 0: none */
	bool is_lasting, is_short, is_late;
	char kind[16];
	int error;
	const char *kill_when, *kill_who; /* NULL: nobody is killed */
} fault;

/* What the wrapped functions, or the library that stands for the kernel, call themselves is not counted. */
static __thread int depth __attribute__((tls_model("initial-exec")));

static const struct {
	const char *name;
	int number;
} errors[] = {
	{ "EACCES", EACCES }, { "EAGAIN", EAGAIN }, { "ECHILD", ECHILD }, { "ECONNREFUSED", ECONNREFUSED },
	{ "EDQUOT", EDQUOT }, { "EINTR", EINTR },   { "EINVAL", EINVAL }, { "EIO", EIO },
	{ "EMFILE", EMFILE }, { "ENFILE", ENFILE }, { "ENOENT", ENOENT }, { "ENOLCK", ENOLCK },
	{ "ENOMEM", ENOMEM }, { "ENOSPC", ENOSPC }, { "EPERM", EPERM },	  { "EPIPE", EPIPE },
	{ "EROFS", EROFS },   { "ESRCH", ESRCH },
};

static int error_number(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (!strcmp(errors[i].name, name))
			return errors[i].number;
	abort();
}

static void parse_fault(char *text)
{
	char *number = strsep(&text, " "), *kind = strsep(&text, " "), *word;

	if (!kind || !text)
		abort();
	fault.nr = strtoul(number, &number, 10);
	fault.is_lasting = *number == '+';
	snprintf(fault.kind, sizeof(fault.kind), "%s", kind);
	word = strsep(&text, ":");
	if (!strcmp(word, "kill")) {
		fault.kill_when = strsep(&text, ":");
		fault.kill_who = text;
	} else if (!strcmp(word, "short")) {
		fault.is_short = true;
	} else {
		fault.is_late = !strcmp(word, "late");
		fault.error = error_number(fault.is_late ? text : word);
	}
}

__attribute__((constructor)) static void start(void)
{
	const char *state = getenv("CPUOFF_FAULTS_STATE"), *log = getenv("CPUOFF_FAULTS_LOG");
	const char *text = getenv("CPUOFF_FAULT");
	static char copy[128];
	struct shared *made;
	int fd;

	if (!state)
		return;
	fd = (int)syscall(SYS_openat, AT_FDCWD, state, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || syscall(SYS_ftruncate, fd, sizeof(*made)) < 0)
		abort();
	depth++;
	made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	depth--;
	syscall(SYS_close, fd);
	if (made == MAP_FAILED)
		abort();
	if (log)
		log_fd = (int)syscall(SYS_openat, AT_FDCWD, log,
				      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (text) {
		snprintf(copy, sizeof(copy), "%s", text);
		parse_fault(copy);
	}
	has_backtrace = log_fd >= 0 && dlopen("libgcc_s.so.1", RTLD_NOW);
	made->pids[made->nr_pids++] = getpid();
	shared = made;
}

/* ---- one call -------------------------------------------------------------------------------- */

enum change { READS, CHANGES, CHANGES_IF_FILE };

struct call {
	int error;	  /* of a call that is not made */
	int late_error;	  /* of one that is */
	bool is_short;
	bool is_last;	  /* for the one who is killed after it */
};

static enum change change_of(int flags)
{
	return flags & O_CREAT ? CHANGES : READS;
}

/* What a call is about: @path below the directory @fd, or @path alone, or @fd alone. */
static void name_object(int fd, const char *path, char *name, size_t size)
{
	char link[64], dir[PATH_MAX] = "";
	ssize_t length;

	if (fd >= 0 && (!path || *path != '/')) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		length = syscall(SYS_readlinkat, AT_FDCWD, link, dir, sizeof(dir) - 1);
		dir[length < 0 ? 0 : length] = '\0';
	}
	snprintf(name, size, "%s%s%s", dir, *dir && path ? "/" : "", path ? path : "");
}

static bool is_file(const char *name)
{
	return *name == '/' && strcmp(name, "/dev/null") && strncmp(name, "/dev/pts/", 9) &&
	       strncmp(name, "/memfd:", 7);
}

static bool ends_in(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length >= end_length && !strcmp(text + length - end_length, end);
}

/* The kernel does all or nothing of a "write", but a part of what concerns a "cpu"; "save" is a write to any
 * other file. */
static const char *kind_of_write(int fd)
{
	char name[2 * PATH_MAX];

	if (!shared || depth)
		return "write";
	name_object(fd, NULL, name, sizeof(name));
	if (ends_in(name, "/online") || ends_in(name, "/smt/control") || ends_in(name, "/cpu_bulk_remove"))
		return "cpu";
	return !is_file(name) || strstr(name, "/sys/") || strstr(name, "/proc/") ? "write" : "save";
}

static void log_call(unsigned long nr, const char *kind, enum change change, int fd, const char *path)
{
	char name[2 * PATH_MAX], line[2 * PATH_MAX + 64];
	int length;

	name_object(fd, path, name, sizeof(name));
	if (change == CHANGES_IF_FILE && !is_file(name))
		change = READS;
	length = snprintf(line, sizeof(line), "%lu %s %s %s\n", nr, kind, change == READS ? "-" : "change", name);
	if (syscall(SYS_write, log_fd, line, length) < 0)
		abort();
}

static bool is_chosen(unsigned long nr, const char *kind)
{
	if (!fault.nr || nr < fault.nr || strcmp(kind, fault.kind))
		return false;
	return fault.is_lasting || !__atomic_exchange_n(&shared->is_done, 1, __ATOMIC_SEQ_CST);
}

/* The one who makes the call is the last to be killed. */
static void kill_them(void)
{
	pid_t self = (pid_t)syscall(SYS_getpid);
	int i;

	/* one that has only just been forked may not have told its number yet */
	for (i = 0; i < shared->nr_pids && strcmp(fault.kill_who, "self"); i++)
		if (shared->pids[i] > 0 && shared->pids[i] != self)
			syscall(SYS_kill, shared->pids[i], SIGKILL);
	if (strcmp(fault.kill_who, "other"))
		syscall(SYS_kill, self, SIGKILL);
}

static struct call begin(const char *kind, enum change change, int fd, const char *path)
{
	struct call call = { 0 };
	int saved = errno;
	unsigned long nr;
	bool chosen;

	if (!shared || depth)
		return call;
	nr = __atomic_add_fetch(&shared->nr, 1, __ATOMIC_SEQ_CST);
	chosen = is_chosen(nr, kind);
	if (log_fd >= 0 && (chosen || !fault.nr))
		log_call(nr, kind, change, fd, path);
	if (chosen && fault.kill_when) {
		call.is_last = !strcmp(fault.kill_when, "after");
		if (!call.is_last)
			kill_them();
	} else if (chosen) {
		call.is_short = fault.is_short;
		*(fault.is_late ? &call.late_error : &call.error) = fault.error;
	}
	errno = saved;
	return call;
}

/* Returns what the call has to fail with after it was made, or 0. */
static int end(const struct call *call)
{
	if (call->is_last)
		kill_them();
	return call->late_error;
}

/* ---- interception ---------------------------------------------------------------------------- */

/* The function of the next library, called with @args; @failed is what tells a failure. */
#define NEXT(type, failed, name, args)                                                             \
	static __typeof__(&name) next;                                                             \
	type result;                                                                               \
                                                                                                   \
	if (!next)                                                                                 \
		next = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                 \
	if (call.error) {                                                                          \
		errno = call.error;                                                                \
		return failed;                                                                     \
	}                                                                                          \
	depth++;                                                                                   \
	result = next args;                                                                        \
	depth--;                                                                                   \
	if (end(&call)) {                                                                          \
		errno = call.late_error;                                                           \
		return failed;                                                                     \
	}                                                                                          \
	return result

#define CALL(type, failed, kind, change, fd, path, name, params, args)                             \
	type name params                                                                           \
	{                                                                                          \
		struct call call = begin(kind, change, fd, path);                                  \
		NEXT(type, failed, name, args);                                                    \
	}

/* The same, for what takes a length. */
#define CALL_LENGTH(kind, change, name, params, args)                                              \
	ssize_t name params                                                                        \
	{                                                                                          \
		struct call call = begin(kind, change, fd, NULL);                                  \
                                                                                                   \
		if (call.is_short && length)                                                       \
			length = 1;                                                                \
		NEXT(ssize_t, -1, name, args);                                                     \
	}

#define DEFINE_OPEN(name)                                                                          \
	int name(const char *path, int flags, ...)                                                 \
	{                                                                                          \
		struct call call = begin("open", change_of(flags), -1, path);                      \
		va_list ap;                                                                        \
		mode_t mode;                                                                       \
                                                                                                   \
		va_start(ap, flags);                                                               \
		mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;                                   \
		va_end(ap);                                                                        \
		NEXT(int, -1, name, (path, flags, mode));                                          \
	}

#define DEFINE_OPENAT(name)                                                                        \
	int name(int dir, const char *path, int flags, ...)                                        \
	{                                                                                          \
		struct call call = { 0 };                     \
		va_list ap;                                                                        \
		mode_t mode;                                                                       \
                                                                                                   \
		va_start(ap, flags);                                                               \
		mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;                                   \
		va_end(ap);                                                                        \
		/* whether a file of a machine's copy is there: a live one is asked otherwise */   \
		if ((flags & (O_PATH | O_DIRECTORY)) != O_PATH)                                    \
			call = begin("open", change_of(flags), dir, path);                         \
		NEXT(int, -1, name, (dir, path, flags, mode));                                     \
	}

DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);
CALL(int, -1, "open", READS, -1, path, __open_2, (const char *path, int flags), (path, flags))
CALL(int, -1, "open", READS, -1, path, __open64_2, (const char *path, int flags), (path, flags))
CALL(int, -1, "open", READS, dir, path, __openat_2, (int dir, const char *path, int flags), (dir, path, flags))
CALL(int, -1, "open", READS, dir, path, __openat64_2, (int dir, const char *path, int flags), (dir, path, flags))
CALL(FILE *, NULL, "open", READS, -1, path, fopen, (const char *path, const char *mode), (path, mode))
CALL(FILE *, NULL, "open", READS, -1, path, fopen64, (const char *path, const char *mode), (path, mode))
CALL(FILE *, NULL, "open", READS, fd, NULL, fdopen, (int fd, const char *mode), (fd, mode))
CALL(DIR *, NULL, "open", READS, -1, path, opendir, (const char *path), (path))
CALL(DIR *, NULL, "open", READS, fd, NULL, fdopendir, (int fd), (fd))
CALL(int, -1, "open", CHANGES, -1, path, mkstemp, (char *path), (path))
CALL(int, -1, "open", CHANGES, -1, path, mkstemp64, (char *path), (path))
CALL(int, -1, "open", READS, -1, name, memfd_create, (const char *name, unsigned int flags), (name, flags))

CALL_LENGTH("read", READS, read, (int fd, void *data, size_t length), (fd, data, length))
CALL_LENGTH("read", READS, pread, (int fd, void *data, size_t length, off_t at), (fd, data, length, at))
CALL_LENGTH("read", READS, pread64, (int fd, void *data, size_t length, off64_t at), (fd, data, length, at))
ssize_t __read_chk(int fd, void *data, size_t length, size_t size);
ssize_t __pread_chk(int fd, void *data, size_t length, off_t at, size_t size);
CALL_LENGTH("read", READS, __read_chk, (int fd, void *data, size_t length, size_t size), (fd, data, length, size))
CALL_LENGTH("read", READS, __pread_chk, (int fd, void *data, size_t length, off_t at, size_t size),
	    (fd, data, length, at, size))
CALL(struct dirent *, NULL, "readdir", READS, dirfd(dir), NULL, readdir, (DIR * dir), (dir))
CALL(struct dirent64 *, NULL, "readdir", READS, dirfd(dir), NULL, readdir64, (DIR * dir), (dir))
CALL(ssize_t, -1, "readdir", READS, fd, NULL, getdents64, (int fd, void *data, size_t length), (fd, data, length))

CALL(int, -1, "stat", READS, fd, NULL, fstat, (int fd, struct stat *st), (fd, st))
CALL(int, -1, "stat", READS, -1, path, stat, (const char *path, struct stat *st), (path, st))
CALL(int, -1, "stat", READS, dir, path, fstatat, (int dir, const char *path, struct stat *st, int flags),
     (dir, path, st, flags))
CALL(int, -1, "stat", READS, fd, NULL, fstat64, (int fd, struct stat64 *st), (fd, st))
CALL(int, -1, "stat", READS, -1, path, stat64, (const char *path, struct stat64 *st), (path, st))
CALL(int, -1, "stat", READS, dir, path, fstatat64, (int dir, const char *path, struct stat64 *st, int flags),
     (dir, path, st, flags))
CALL(int, -1, "stat", READS, fd, NULL, fstatfs, (int fd, struct statfs *st), (fd, st))
CALL(int, -1, "stat", READS, fd, NULL, fstatfs64, (int fd, struct statfs64 *st), (fd, st))
CALL(int, -1, "stat", READS, dir, path, faccessat, (int dir, const char *path, int mode, int flags),
     (dir, path, mode, flags))
CALL(int, -1, "stat", READS, -1, path, access, (const char *path, int mode), (path, mode))
CALL(ssize_t, -1, "stat", READS, dir, path, readlinkat, (int dir, const char *path, char *data, size_t size),
     (dir, path, data, size))
CALL(char *, NULL, "stat", READS, -1, path, realpath, (const char *path, char *data), (path, data))

CALL_LENGTH(kind_of_write(fd), CHANGES_IF_FILE, write, (int fd, const void *data, size_t length), (fd, data, length))
CALL(int, -1, "save", CHANGES, fd, NULL, ftruncate, (int fd, off_t length), (fd, length))
CALL(int, -1, "save", CHANGES, fd, NULL, ftruncate64, (int fd, off64_t length), (fd, length))
CALL(int, -1, "save", CHANGES, fd, NULL, fchmod, (int fd, mode_t mode), (fd, mode))
CALL(int, -1, "fsync", READS, fd, NULL, fsync, (int fd), (fd))
CALL(int, -1, "rename", CHANGES, -1, to, rename, (const char *from, const char *to), (from, to))
CALL(int, -1, "rename", CHANGES, to_dir, to, renameat, (int dir, const char *from, int to_dir, const char *to),
     (dir, from, to_dir, to))
CALL(int, -1, "mkdir", CHANGES, dir, path, mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode))
CALL(int, -1, "unlink", CHANGES, dir, path, unlinkat, (int dir, const char *path, int flags), (dir, path, flags))
CALL(int, -1, "unlink", CHANGES, -1, path, unlink, (const char *path), (path))

CALL(int, -1, "lock", READS, fd, NULL, flock, (int fd, int operation), (fd, operation))
CALL(int, -1, "socket", READS, -1, NULL, socket, (int domain, int type, int protocol), (domain, type, protocol))
CALL(int, -1, "socket", READS, -1, NULL, socketpair, (int domain, int type, int protocol, int ends[2]),
     (domain, type, protocol, ends))
CALL(int, -1, "socket", READS, -1, NULL, pipe2, (int ends[2], int flags), (ends, flags))
CALL(int, -1, "socket", READS, from, NULL, dup2, (int from, int to), (from, to))
CALL(int, -1, "connect", READS, fd, NULL, connect, (int fd, const struct sockaddr *to, socklen_t size),
     (fd, to, size))
CALL(ssize_t, -1, "send", READS, fd, NULL, send, (int fd, const void *data, size_t length, int flags),
     (fd, data, length, flags))
CALL(ssize_t, -1, "send", READS, fd, NULL, sendmsg, (int fd, const struct msghdr *message, int flags),
     (fd, message, flags))
CALL(ssize_t, -1, "recv", READS, fd, NULL, recv, (int fd, void *data, size_t length, int flags),
     (fd, data, length, flags))
CALL(int, -1, "poll", READS, -1, NULL, poll, (struct pollfd * fds, nfds_t nr, int timeout), (fds, nr, timeout))
CALL(int, -1, "poll", READS, -1, NULL, ppoll,
     (struct pollfd * fds, nfds_t nr, const struct timespec *timeout, const sigset_t *mask),
     (fds, nr, timeout, mask))

CALL(pid_t, -1, "wait", READS, -1, NULL, waitpid, (pid_t pid, int *status, int flags), (pid, status, flags))
CALL(int, -1, "kill", READS, -1, NULL, kill, (pid_t pid, int signal), (pid, signal))
CALL(int, call.error | call.late_error, "fork", READS, -1, path, posix_spawn,
     (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
      char *const argv[], char *const environment[]),
     (pid, path, actions, attributes, argv, environment))
CALL(int, call.error | call.late_error, "fork", READS, -1, NULL, pthread_create,
     (pthread_t * thread, const pthread_attr_t *attributes, void *(*function)(void *), void *data),
     (thread, attributes, function, data))
CALL(int, -1, "sched", CHANGES, -1, NULL, sched_setscheduler,
     (pid_t pid, int policy, const struct sched_param *param), (pid, policy, param))
CALL(int, -1, "sched", READS, -1, NULL, sched_getscheduler, (pid_t pid), (pid))
CALL(int, -1, "sched", READS, -1, NULL, sched_getaffinity, (pid_t pid, size_t size, cpu_set_t *set),
     (pid, size, set))
CALL(int, -1, "sched", CHANGES, -1, NULL, sched_setaffinity, (pid_t pid, size_t size, const cpu_set_t *set),
     (pid, size, set))

CALL(void *, MAP_FAILED, "mmap", READS, fd, NULL, mmap,
     (void *at, size_t length, int protection, int flags, int fd, off_t offset),
     (at, length, protection, flags, fd, offset))
CALL(void *, MAP_FAILED, "mmap", READS, fd, NULL, mmap64,
     (void *at, size_t length, int protection, int flags, int fd, off64_t offset),
     (at, length, protection, flags, fd, offset))
CALL(int, -1, "mmap", READS, -1, NULL, mlock, (const void *at, size_t length), (at, length))

/* The child is to be killed, too. */
pid_t fork(void)
{
	struct call call = begin("fork", READS, -1, NULL);
	static __typeof__(&fork) next;
	pid_t pid;

	if (call.error) {
		errno = call.error;
		return -1;
	}
	if (!next)
		next = (__typeof__(&fork))dlsym(RTLD_NEXT, "fork");
	pid = next();
	if (!pid && shared)
		shared->pids[__atomic_fetch_add(&shared->nr_pids, 1, __ATOMIC_SEQ_CST)] = getpid();
	if (pid)
		end(&call);
	return pid;
}

/* fcntl() is the lock of processes, or a flag, of which nobody cares. */
static int control_file(int fd, int command, void *argument, const char *name)
{
	struct call call = { 0 };
	int (*next)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, name);

	if (command == F_SETLK || command == F_GETLK)
		call = begin("lock", READS, fd, NULL);
	if (!call.error)
		return next(fd, command, argument);
	errno = call.error;
	return -1;
}

#define DEFINE_FCNTL(name)                                                                         \
	int name(int fd, int command, ...)                                                         \
	{                                                                                          \
		va_list ap;                                                                        \
		void *argument;                                                                    \
                                                                                                   \
		va_start(ap, command);                                                             \
		argument = va_arg(ap, void *);                                                     \
		va_end(ap);                                                                        \
		return control_file(fd, command, argument, #name);                                 \
	}

DEFINE_FCNTL(fcntl)
DEFINE_FCNTL(fcntl64)

/* The program calls those of the scheduler so, whose masks may be longer than the C library's. */
long syscall(long number, ...)
{
	static __typeof__(&syscall) next;
	struct call call = { 0 };
	long a[6], result;
	va_list ap;
	int i;

	va_start(ap, number);
	for (i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (!next)
		next = (__typeof__(&syscall))dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_sched_setaffinity || number == SYS_sched_setscheduler)
		call = begin("sched", CHANGES, -1, NULL);
	else if (number == SYS_sched_getaffinity || number == SYS_sched_getattr ||
		 number == SYS_sched_getscheduler || number == SYS_sched_getparam)
		call = begin("sched", READS, -1, NULL);
	if (call.error) {
		errno = call.error;
		return -1;
	}
	result = next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (!end(&call))
		return result;
	errno = call.late_error;
	return -1;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* The library that asks, or has the C library do so. */
static const char *asker(void)
{
	static char name[64];
	void *frames[16];
	int nr, i;

	*name = '\0';
	if (!shared || depth || !has_backtrace || (fault.nr && strcmp(fault.kind, "memory")))
		return name;
	depth++;
	nr = backtrace(frames, 16);
	for (i = 2; i < nr && !*name; i++) {
		Dl_info info;
		const char *slash = dladdr(frames[i], &info) ? strrchr(info.dli_fname, '/') : NULL;

		if (slash && strncmp(slash, "/libc.", 6))
			snprintf(name, sizeof(name), "%s", slash + 1);
	}
	depth--;
	return name;
}

#define MEMORY(name, params, args)                                                                 \
	CALL(void *, NULL, "memory", READS, -1, asker(), name, params, args)

MEMORY(malloc, (size_t size), (size))
MEMORY(calloc, (size_t nr, size_t size), (nr, size))
MEMORY(realloc, (void *p, size_t size), (p, size))
CALL(int, call.error | call.late_error, "memory", READS, -1, asker(), posix_memalign,
     (void **p, size_t alignment, size_t size), (p, alignment, size))
