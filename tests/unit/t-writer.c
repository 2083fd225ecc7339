/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-writer.c - tests of the child that makes the writes: its answers, its death, and one without an
 * answer */
#include "host/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "guard.h"
#include "host/privileges.h"
#include "tap.h"
#include "temp.h"

static struct root *root;
static struct request request;
static struct progress reported;
static unsigned int nr_reports;

static void note_progress(void *data, const struct progress *progress)
{
	(void)data;
	reported = *progress;
	nr_reports++;
}

static const struct watcher watcher = { .progress = note_progress };
static const struct item item = { .object = (char[]){ "cpu 5" }, .id = 5 };

static struct step_env make_env(struct writer *writer)
{
	return (struct step_env){
		.root = root, .writer = writer, .request = &request, .watcher = &watcher
	};
}

static void is_content(const char *name, const char *expected)
{
	_cleanup_free_ char *text = NULL;

	is_int(root_read(root, &text, "%s", name), 0, "%s is read", name);
	is_str(text, expected, "%s is what was written", name);
}

static void test_answers(void)
{
	struct writer *writer = NULL;
	struct step_env env;
	double seconds = -1;

	is_int(writer_start(root, &writer), 0, "a writer");
	env = make_env(writer);
	temp_write("sys/a", "0");
	ok(writer_pid(writer) > 0 && writer_pid(writer) != getpid(), "it is another process");
	is_int(writer_set_cpu(&env, &item, "sys/a", "1", &seconds), 0, "a write");
	is_content("sys/a", "1");
	ok(seconds >= 0 && seconds < 1, "its time is told");
	is_int(writer_set_cpu(&env, &item, "sys/none", "1", &seconds), -ENOENT,
	       "the errno is told");
	is_int(writer_set_cpu(&env, &item, "sys", "1", &seconds), -EISDIR, "another errno");
	is_int(writer_set_cpu(&env, &item, "sys/a", "2", &seconds), 0, "it goes on after them");
	is_content("sys/a", "2");
	ok(!writer_is_stuck(writer), "it is not stuck");
	is_int(getpgid(writer_pid(writer)), writer_pid(writer), "it is in a group of its own");
	writer_stop(writer);
	writer_stop(NULL);
}

static void test_directories(void)
{
	struct writer *writer = NULL;
	struct step_env env;

	is_int(writer_start(root, &writer), 0, "a writer for directories");
	env = make_env(writer);
	is_int(writer_mkdir(&env, "sys/group"), 0, "it makes one");
	is_int(writer_mkdir(&env, "sys/group"), -EEXIST, "once");
	temp_write("sys/group/cpus", "");
	is_int(writer_write(&env, "sys/group/cpus", "0-3"), 0, "a value in it is written");
	is_content("sys/group/cpus", "0-3");
	is_int(writer_rmdir(&env, "sys/group"), -ENOTEMPTY, "the errno of its removal is told");
	is_int(writer_mkdir(&env, "sys/none/group"), -ENOENT, "and that of its making");
	is_int(writer_mkdir(&env, "sys/empty"), 0, "an empty one");
	is_int(writer_rmdir(&env, "sys/empty"), 0, "it is removed");
	ok(!root_has(root, "sys/empty"), "and gone");
	writer_stop(writer);
}

static void test_long_values(void)
{
	struct writer *writer = NULL;
	char value[5000], name[200];
	struct step_env env;
	double seconds;

	is_int(writer_start(root, &writer), 0, "a writer for long values");
	env = make_env(writer);
	memset(value, '1', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	is_int(writer_set_cpu(&env, &item, "sys/a", value, &seconds), -E2BIG, "a value too long");
	is_content("sys/a", "2");
	value[4095] = '\0';
	is_int(writer_set_cpu(&env, &item, "sys/a", value, &seconds), 0, "one that just fits");
	memset(name, 'a', sizeof(name) - 1);
	memcpy(name, "sys/", 4);
	name[sizeof(name) - 1] = '\0';
	temp_write(name, "untouched");
	name[127] = '\0';
	temp_write(name, "untouched");
	name[127] = 'a';
	ok(writer_set_cpu(&env, &item, name, "1", &seconds) < 0 || root_has(root, "%s", name),
	   "a path too long is not cut");
	name[127] = '\0';
	is_content(name, "untouched");
	writer_stop(writer);
}

/* Somebody kills it: another one makes the write, and all later ones. */
static void test_killed(void)
{
	struct writer *writer = NULL;
	struct step_env env;
	double seconds;
	pid_t first;

	is_int(writer_start(root, &writer), 0, "a writer to be killed");
	env = make_env(writer);
	temp_write("sys/a", "0");
	first = writer_pid(writer);
	kill(first, SIGKILL);
	is_int(writer_set_cpu(&env, &item, "sys/a", "1", &seconds), 0,
	       "the write is made all the same");
	ok(writer_pid(writer) != first && !kill(writer_pid(writer), 0), "by another one");
	is_int(waitpid(first, NULL, WNOHANG), -1, "the first one is buried");
	is_content("sys/a", "1");
	is_int(writer_set_cpu(&env, &item, "sys/a", "2", &seconds), 0, "and so is the next");
	is_content("sys/a", "2");
	is_int(writer_set_cpu(&env, &item, "sys/none", "1", &seconds), -ENOENT, "errors are told");
	ok(!writer_is_stuck(writer), "it is not stuck");
	writer_stop(writer);
}

/* Signals of the terminal are the parent's to handle. */
static void test_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGTSTP, SIGQUIT };
	struct writer *writer = NULL;
	struct step_env env;
	double seconds;

	is_int(writer_start(root, &writer), 0, "a writer that gets signals");
	env = make_env(writer);
	is_int(writer_set_cpu(&env, &item, "sys/a", "1", &seconds), 0, "it has begun");
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		kill(writer_pid(writer), signals[i]);
	is_int(writer_set_cpu(&env, &item, "sys/a", "3", &seconds), 0, "it writes");
	is_int(kill(writer_pid(writer), 0), 0, "it lives");
	is_content("sys/a", "3");
	writer_stop(writer);
}

/* A write that does not come back: a pipe that nobody reads. */
static void test_stuck(bool was_killed)
{
	struct writer *writer = NULL;
	struct step_env env;
	double seconds = 0, start;
	pid_t pid;
	int fd;

	request.timeout = 0.3;
	temp_write("sys/a", "0");
	ok(root_has(root, "sys/pipe") || !mkfifo(temp_path("sys/pipe"), 0600), "a pipe");
	is_int(writer_start(root, &writer), 0, "a writer that gets stuck");
	env = make_env(writer);
	if (was_killed) {
		kill(writer_pid(writer), SIGKILL);
		is_int(writer_set_cpu(&env, &item, "sys/a", "0", &seconds), 0, "killed before");
	}
	pid = writer_pid(writer);
	start = util_now();
	nr_reports = 0;
	is_int(writer_set_cpu(&env, &item, "sys/pipe", "0", &seconds), -ETIMEDOUT, "no answer");
	ok(util_now() - start < 2, "it is not waited for longer than was asked for");
	ok(writer_is_stuck(writer), "it is stuck");
	is_int(nr_reports, 1, "that is reported");
	is_int(reported.phase, PHASE_WAITING, "as a wait");
	is_str(reported.object, "cpu 5", "with its object");
	is_int(reported.pid, pid, "and who is waited for");
	is_int(writer_set_cpu(&env, &item, "sys/a", "1", &seconds), -ETIMEDOUT,
	       "nothing more is begun");
	is_content("sys/a", "0");
	writer_stop(writer);
	is_int(kill(pid, 0), 0, "it is left behind");
	fd = open(temp_path("sys/pipe"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ok(fd >= 0, "its write ends");
	is_int(waitpid(pid, NULL, 0), pid, "and so does it");
	if (fd >= 0)
		close(fd);
	request.timeout = 0;
}

static void test_slow(void)
{
	struct writer *writer = NULL;
	struct step_env env;
	double seconds = 0, start;
	pid_t reader;
	int fd;

	fflush(stdout);
	reader = fork();
	if (!reader) {
		char text[8];

		util_sleep(0.25);
		fd = open(temp_path("sys/pipe"), O_RDONLY | O_CLOEXEC);
		_exit(fd < 0 || read(fd, text, sizeof(text)) != 1);
	}
	ok(reader > 0, "a reader that comes late");
	is_int(writer_start(root, &writer), 0, "a writer that has to wait");
	env = make_env(writer);
	start = util_now();
	is_int(writer_set_cpu(&env, &item, "sys/pipe", "1", &seconds), 0, "the answer is awaited");
	if (!ok(seconds > 0 && seconds <= util_now() - start, "the time is that of the write"))
		diag("%f seconds", seconds);
	ok(!writer_is_stuck(writer), "it is not stuck");
	writer_stop(writer);
	is_int(waitpid(reader, NULL, 0), reader, "the reader has ended");
}

#define ONLINE "sys/devices/system/cpu/online"

static void set_online(const char *list)
{
	char from[512];

	temp_write(ONLINE ".new", list);
	snprintf(from, sizeof(from), "%s", temp_path(ONLINE ".new"));
	if (rename(from, temp_path(ONLINE)))
		diag("%s: %s", list, strerror(errno));
}

/* CPUs go one after another while the write is in the kernel, each within the timeout. */
static void let_them_go(void)
{
	static const char *const lists[] = { "0-6", "0-5", "0-4", "0-3" };
	char text[8];
	int fd;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		util_sleep(0.4);
		set_online(lists[i]);
	}
	fd = open(temp_path("sys/pipe"), O_RDONLY | O_CLOEXEC);
	_exit(fd < 0 || read(fd, text, sizeof(text)) != 3);
}

static void test_several(void)
{
	struct item items[] = {
		{ .object = (char[]){ "cpu 7" }, .id = 7 },
		{ .object = (char[]){ "cpu 6" }, .id = 6 },
		{ .object = (char[]){ "cpu 5" }, .id = 5 },
		{ .object = (char[]){ "cpu 4" }, .id = 4 },
	};
	struct step step = { .items = items, .nr_items = ARRAY_SIZE(items) };
	struct writer *writer = NULL;
	struct step_env env;
	double seconds = 0;
	pid_t child;

	request.timeout = 1;
	set_online("0-7");
	fflush(stdout);
	child = fork();
	if (!child)
		let_them_go();
	is_int(writer_start(root, &writer), 0, "a writer for several CPUs");
	env = make_env(writer);
	nr_reports = 0;
	is_int(writer_take_cpus(&env, &step, 0, 4, "sys/pipe", "4-7", &seconds), 0,
	       "the timeout is that of one CPU");
	ok(seconds > 1, "all of them take longer");
	ok(nr_reports >= 3, "it is told while they go");
	is_int(reported.phase, PHASE_REMOVING, "as progress");
	is_int((long long)reported.total, 4, "of all");
	is_int(waitpid(child, NULL, 0), child, "the other end has ended");
	writer_stop(writer);
	request.timeout = 0;
}

/* One does not go: its state tells which. */
static void test_several_stuck(void)
{
	struct item items[] = {
		{ .object = (char[]){ "cpu 7" }, .id = 7 },
		{ .object = (char[]){ "cpu 6" }, .id = 6 },
	};
	struct step step = { .items = items, .nr_items = ARRAY_SIZE(items) };
	struct writer *writer = NULL;
	struct step_env env;
	double seconds = 0;
	pid_t pid;
	int fd;

	request.timeout = 0.3;
	set_online("0-7");
	temp_write("sys/devices/system/cpu/cpu7/hotplug/state", "239");
	temp_write("sys/devices/system/cpu/cpu7/hotplug/target", "239");
	temp_write("sys/devices/system/cpu/cpu6/hotplug/state", "145");
	temp_write("sys/devices/system/cpu/cpu6/hotplug/target", "0");
	is_int(writer_start(root, &writer), 0, "a writer that gets stuck with several");
	env = make_env(writer);
	pid = writer_pid(writer);
	is_int(writer_take_cpus(&env, &step, 0, 2, "sys/pipe", "6-7", &seconds), -ETIMEDOUT,
	       "no answer for several");
	is_str(reported.object, "cpu 6", "the one that it sits in is told");
	writer_stop(writer);
	fd = open(temp_path("sys/pipe"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	is_int(waitpid(pid, NULL, 0), pid, "it ends with its write");
	if (fd >= 0)
		close(fd);
	request.timeout = 0;
}

static void test_without_memory(void)
{
	struct writer *writer = NULL;
	struct step_env env;
	double seconds;
	size_t nr;
	int r;

	is_int(writer_start(root, &writer), 0, "a writer without memory");
	env = make_env(writer);
	guard_begin();
	r = writer_set_cpu(&env, &item, "sys/a", "7", &seconds);
	nr = guard_end();
	is_int(r, 0, "it writes");
	if (guard_can_see())
		is_int((long long)nr, 0, "none is asked for");
	writer_stop(writer);
}

/* ---- privileges -------------------------------------------------------------------------- */

static int refused; /* what a sandbox does not allow prctl(2) to do */

int __wrap_prctl(int option, ...);
int __wrap___prctl_time64(int option, ...);

static int filter_prctl(int option, va_list ap)
{
	unsigned long a[4];

	for (size_t i = 0; i < ARRAY_SIZE(a); i++)
		a[i] = va_arg(ap, unsigned long);
	if (option && option == refused) {
		errno = EPERM;
		return -1;
	}
	return (int)syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]);
}

int __wrap_prctl(int option, ...)
{
	va_list ap;
	int r;

	va_start(ap, option);
	r = filter_prctl(option, ap);
	va_end(ap);
	return r;
}

/* Its name where long has 32 bits and times have 64. */
int __wrap___prctl_time64(int option, ...)
{
	va_list ap;
	int r;

	va_start(ap, option);
	r = filter_prctl(option, ap);
	va_end(ap);
	return r;
}

/* A line of /proc/PID/status, in hexadecimal. */
static unsigned long long status_of(pid_t pid, const char *field)
{
	char path[32], line[256];
	unsigned long long value = 0;
	size_t length = strlen(field);
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, field, length) && line[length] == ':')
			value = strtoull(line + length + 1, NULL, 16);
	if (file)
		fclose(file);
	return value;
}

#define CAPABILITY(number) (1ULL << (number))

/* It keeps four, of those that there are. */
static void has_few(pid_t pid, const char *when)
{
	unsigned long long few = CAPABILITY(CAP_DAC_OVERRIDE) | CAPABILITY(CAP_SYS_NICE) |
				 CAPABILITY(CAP_NET_ADMIN) | CAPABILITY(CAP_SYS_ADMIN);
	unsigned long long had = status_of(getpid(), "CapEff");
	unsigned long long bound = status_of(getpid(), "CapBnd");

	ok(status_of(pid, "CapEff") == (had & few), "%s: it can do little", when);
	ok(status_of(pid, "CapPrm") == (status_of(getpid(), "CapPrm") & few),
	   "%s: and can get no more of itself", when);
	is_int((long long)status_of(pid, "CapInh"), 0, "%s: nor hand on", when);
	if (had & CAPABILITY(CAP_SETPCAP))
		bound &= few;
	ok(status_of(pid, "CapBnd") == bound, "%s: its bounding set", when);
}

static void test_privileges(void)
{
	struct writer *writer = NULL;
	struct step_env env;

	is_int(writer_start(root, &writer), 0, "a writer with few privileges");
	env = make_env(writer);
	is_int(writer_write(&env, "sys/a", "1"), 0, "it writes");
	has_few(writer_pid(writer), "in the child");
	is_int((long long)status_of(writer_pid(writer), "NoNewPrivs"), 1,
	       "no program gives it more");
	is_int(writer_limit_error(writer), 0, "nothing kept it from that");
	writer_stop(writer);
}

/* In a sandbox it cannot give up all, gives up the rest, works, and says so. */
static void test_privileges_refused(void)
{
	static const int options[] = { PR_SET_NO_NEW_PRIVS, PR_SET_DUMPABLE };

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		struct writer *writer = NULL;
		struct step_env env;

		refused = options[i];
		is_int(writer_start(root, &writer), 0, "a writer in a sandbox");
		refused = 0;
		env = make_env(writer);
		is_int(writer_limit_error(writer), 0, "it has not said anything yet");
		is_int(writer_write(&env, "sys/a", "1"), 0, "it writes nevertheless");
		is_int(writer_limit_error(writer), -EPERM, "what it could not give up is told");
		has_few(writer_pid(writer), "in the sandbox");
		writer_stop(writer);
	}
}

/* What the process itself gives up, an exec of root's has again: hooks are not crippled. */
static void test_own_privileges(void)
{
	unsigned long long bound = status_of(getpid(), "CapBnd");
	pid_t child;
	int status = -1;

	fflush(stdout);
	child = fork();
	if (!child) {
		unsigned long long gone = CAPABILITY(CAP_SYS_MODULE) | CAPABILITY(CAP_SYS_RAWIO) |
					  CAPABILITY(CAP_SYS_BOOT) | CAPABILITY(CAP_CHOWN);

		_exit(privileges_limit() || status_of(getpid(), "CapEff") & gone ||
		      status_of(getpid(), "CapPrm") & gone ||
		      status_of(getpid(), "CapBnd") != bound || status_of(getpid(), "NoNewPrivs"));
	}
	is_int(waitpid(child, &status, 0), child, "a process that limits itself");
	is_int(status, 0, "it has given up some, and its bounding set is whole");
}

static void test_lacking(void)
{
	ok(!privileges_lacking(root), "a copy of a machine: nothing is lacking");
	temp_write("proc/self/status", "Name:\tcpuoff\nCapPrm:\t0\n");
	ok(!privileges_lacking(root), "nothing is known: nothing is lacking");
	temp_write("proc/self/status", "Name:\tcpuoff\nCapPrm:\t0\nCapEff:\t000001ffff7fffff\n");
	ok((privileges_lacking(root) & 0x1ffffffffff) == CAPABILITY(CAP_SYS_NICE),
	   "one is lacking");
	is_str(privileges_name(CAP_SYS_NICE), "CAP_SYS_NICE", "its name");
	is_str(privileges_name(CAP_NET_ADMIN), "CAP_NET_ADMIN", "another's");
	is_str(privileges_name(CAP_DAC_OVERRIDE), "CAP_DAC_OVERRIDE", "the third's");
}

int main(void)
{
	temp_make();
	root = temp_root();
	test_answers();
	test_directories();
	test_long_values();
	test_killed();
	test_signals();
	test_stuck(false);
	test_stuck(true);
	test_slow();
	test_several();
	test_several_stuck();
	test_without_memory();
	test_privileges();
	test_privileges_refused();
	test_own_privileges();
	test_lacking();
	root_close(root);
	temp_remove();
	return done_testing();
}
