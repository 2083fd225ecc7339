/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hooks.c - programs of the administrator's: which there are, and running one */
#include "config.h"

#include "host/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define REPORT_SECONDS 5.0
#define GRACE_SECONDS  5.0 /* between a request to end and the end by force */
#define POLL_MS	       50

/* ---- which there are --------------------------------------------------------------------- */

/* Why nobody must rely on it, or NULL. */
static const char *why_unsafe(const struct stat *st)
{
	if (S_ISLNK(st->st_mode))
		return "it is a link";
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return "it belongs to another user than root";
	if (st->st_mode & 022)
		return "others than root can write it";
	return NULL;
}

static int stat_path(const struct root *root, const char *path, struct stat *ret_st)
{
	_cleanup_close_ int fd = root_openat(root, O_PATH | O_NOFOLLOW, path);

	if (fd < 0)
		return fd;
	return fstat(fd, ret_st) < 0 ? -errno : 0;
}

static int tell_unsafe(const char *path, const char *why, char **ret_unsafe)
{
	*ret_unsafe = util_asprintf("/%s: %s", path, why);
	return *ret_unsafe ? 1 : -ENOMEM;
}

/* All directories of @path, from the first one below the root on. Returns as hooks_list(), or
 * -ENOENT. */
static int check_directories(const struct root *root, char *path, char **ret_unsafe)
{
	for (char *end = path; end; end = strchr(end + 1, '/')) {
		char *slash = strchr(end + 1, '/');
		struct stat st = { 0 };
		const char *why;
		int r;

		if (slash)
			*slash = '\0';
		r = stat_path(root, path, &st);
		why = r ? strerror(-r) : why_unsafe(&st);
		if (!r && !why && !S_ISDIR(st.st_mode))
			why = "it is no directory";
		if (r != -ENOENT && why)
			r = tell_unsafe(path, why, ret_unsafe);
		if (slash)
			*slash = '/';
		if (r)
			return r;
	}
	return 0;
}

static bool has_hook_name(const char *name)
{
	return name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				 "0123456789_-")] == '\0';
}

static int add_hook(const struct root *root, const char *directory, const char *when,
		    const char *name, struct names *names, char **ret_unsafe)
{
	_cleanup_free_ char *path = util_asprintf("%s/%s", directory, name);
	_cleanup_free_ char *hook = util_asprintf("%s/%s", when, name);
	const char *why;
	struct stat st;
	int r;

	if (!path || !hook)
		return -ENOMEM;
	r = stat_path(root, path, &st);
	if (r)
		return r == -ENOENT ? 0 : tell_unsafe(path, strerror(-r), ret_unsafe);
	if (S_ISREG(st.st_mode) && !(st.st_mode & 0111))
		return 0;
	if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return 0;
	why = why_unsafe(&st);
	return why ? tell_unsafe(path, why, ret_unsafe) : names_add(names, hook);
}

static int list(const struct root *root, const char *directory, const char *when,
		struct names *names, char **ret_unsafe)
{
	DIR *dir = root_opendir(root, "%s", directory);
	const struct dirent *entry;
	int r = 0;

	if (!dir)
		return errno == ENOMEM ? -ENOMEM
				       : tell_unsafe(directory, strerror(errno), ret_unsafe);
	while (!r && (entry = root_readdir(dir, &r)))
		if (has_hook_name(entry->d_name))
			r = add_hook(root, directory, when, entry->d_name, names, ret_unsafe);
	closedir(dir);
	return r;
}

int hooks_list(const struct root *root, const char *dir, const char *when, struct names *ret_names,
	       char **ret_unsafe)
{
	_cleanup_free_ char *path = util_asprintf("%s/%s", dir + strspn(dir, "/"), when);
	int r = path ? check_directories(root, path, ret_unsafe) : -ENOMEM;

	if (r)
		return r == -ENOENT ? 0 : r;
	r = list(root, path, when, ret_names, ret_unsafe);
	names_sort(ret_names);
	return r;
}

/* ---- running one ------------------------------------------------------------------------- */

/* A running hook, and the beginning of a line that it writes. */
struct running {
	struct hook_run *run;
	pid_t pid;
	int fd; /* -1 once nothing comes any more */
	char line[512];
	size_t length;
};

/* Its place is not taken by one of the standard descriptors, should these be closed here. */
static int lift(int fd)
{
	int lifted = fd < 0 ? -errno : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	int r = lifted < 0 ? -errno : lifted;

	if (fd >= 0)
		close(fd);
	return fd < 0 ? lifted : r;
}

/* A file in memory: reading it never waits, and not reading it does no harm. */
static int make_input(const char *text)
{
	int fd = lift(memfd_create("cpuoff", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	size_t length = strlen(text), written = 0;

	while (fd >= 0 && written < length) {
		ssize_t n = write(fd, text + written, length - written);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int r = -errno;

			close(fd);
			return r;
		}
		written += (size_t)n;
	}
	if (fd >= 0) {
		fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK);
		lseek(fd, 0, SEEK_SET);
	}
	return fd;
}

static int add_closing(posix_spawn_file_actions_t *actions)
{
#ifdef HAVE_POSIX_SPAWN_FILE_ACTIONS_ADDCLOSEFROM_NP
	return posix_spawn_file_actions_addclosefrom_np(actions, 3);
#else
	int r = 0;

	for (int fd = 3; !r && fd < 1024; fd++)
		r = posix_spawn_file_actions_addclose(actions, fd);
	return r;
#endif
}

/* No file system is kept busy by it; without that, it has the caller's folder. */
static int add_chdir(posix_spawn_file_actions_t *actions)
{
#ifdef HAVE_POSIX_SPAWN_FILE_ACTIONS_ADDCHDIR_NP
	return posix_spawn_file_actions_addchdir_np(actions, "/");
#else
	(void)actions;
	return 0;
#endif
}

static int set_actions(posix_spawn_file_actions_t *actions, int input, int output)
{
	int r = posix_spawn_file_actions_adddup2(actions, input, 0);

	for (int fd = 1; !r && fd <= 2; fd++)
		r = posix_spawn_file_actions_adddup2(actions, output, fd);
	if (!r)
		r = add_chdir(actions);
	return r ? r : add_closing(actions);
}

/* A group of its own, and the signals as they are by default: some are ignored here. */
static int set_attributes(posix_spawnattr_t *attributes)
{
	sigset_t all, none;
	int r;

	sigfillset(&all);
	sigemptyset(&none);
	r = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
							 POSIX_SPAWN_SETSIGMASK);
	if (!r)
		r = posix_spawnattr_setpgroup(attributes, 0);
	if (!r)
		r = posix_spawnattr_setsigdefault(attributes, &all);
	return r ? r : posix_spawnattr_setsigmask(attributes, &none);
}

static int spawn(const struct root *root, const struct hook_run *run, int input, int output,
		 pid_t *ret_pid)
{
	const char *top = root_is_live(root) ? "" : root_path(root);
	_cleanup_free_ char *path =
		util_asprintf("%s/%s/%s", top, run->dir + strspn(run->dir, "/"), run->name);
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	mode_t mask;
	int r;

	if (!path)
		return -ENOMEM;
	if (posix_spawn_file_actions_init(&actions))
		return -ENOMEM;
	if (posix_spawnattr_init(&attributes)) {
		posix_spawn_file_actions_destroy(&actions);
		return -ENOMEM;
	}
	r = set_actions(&actions, input, output);
	if (!r)
		r = set_attributes(&attributes);
	mask = umask(022);
	if (!r)
		r = posix_spawn(ret_pid, path, &actions, &attributes, (char *[]){ path, NULL },
				run->environment);
	umask(mask);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

static void tell_line(struct running *running)
{
	running->line[running->length] = '\0';
	running->length = 0;
	util_make_printable(running->line);
	running->run->tell(running->run->data, running->run->name, running->line);
}

static void take_output(struct running *running, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '\t' || !text[i])
			running->line[running->length++] = ' ';
		else if (text[i] != '\n' && text[i] != '\r')
			running->line[running->length++] = text[i];
		if (text[i] == '\n' || running->length == sizeof(running->line) - 1)
			tell_line(running);
	}
}

/* What it has written by now. */
static void read_output(struct running *running)
{
	char text[4096];
	ssize_t n;

	while (running->fd >= 0 && (n = read(running->fd, text, sizeof(text)))) {
		if (n > 0)
			take_output(running, text, (size_t)n);
		else if (errno != EINTR)
			return;
	}
	if (running->fd >= 0)
		close(running->fd);
	running->fd = -1;
}

static bool has_ended(const struct running *running, int *ret_status)
{
	return waitpid(running->pid, ret_status, WNOHANG) == running->pid;
}

/* Half a tenth of a second, or less where it writes. */
static void wait_a_moment(struct running *running)
{
	struct pollfd pollfd = { .fd = running->fd, .events = POLLIN };

	poll(&pollfd, 1, POLL_MS);
	read_output(running);
}

/* Returns whether it has ended in that time. */
static bool wait_until(struct running *running, double end, int interrupts, int *ret_status)
{
	const struct watcher *watcher = running->run->watcher;
	double start = util_now(), reported = start;

	while (!has_ended(running, ret_status)) {
		double now = util_now();

		if (now >= end || watcher_interrupts(watcher) > interrupts)
			return false;
		if (now - reported >= REPORT_SECONDS) {
			reported = now;
			watcher_progress(watcher, &(struct progress){ .phase = PHASE_WAITING,
								      .object = running->run->name,
								      .waited = now - start,
								      .pid = running->pid });
		}
		wait_a_moment(running);
	}
	return true;
}

/* Asks its group to end, and then makes it. A process that the kernel does not let go is left. */
static void end_group(struct running *running, int *ret_status)
{
	kill(-running->pid, SIGTERM);
	if (!wait_until(running, util_now() + GRACE_SECONDS, INT_MAX, ret_status)) {
		kill(-running->pid, SIGKILL);
		if (!wait_until(running, util_now() + GRACE_SECONDS, INT_MAX, ret_status))
			return;
	}
	kill(-running->pid, SIGKILL); /* and what it left behind */
}

static void wait_for(struct running *running)
{
	struct hook_run *run = running->run;
	int interrupts = watcher_interrupts(run->watcher), status = 0;
	double start = util_now();

	if (!wait_until(running, start + run->timeout, interrupts, &status)) {
		run->was_interrupted = watcher_interrupts(run->watcher) > interrupts;
		snprintf(run->failure, sizeof(run->failure),
			 run->was_interrupted ? "interrupted after %.0f s" : "no end within %.0f s",
			 run->was_interrupted ? util_now() - start : run->timeout);
		end_group(running, &status);
	} else if (WIFSIGNALED(status)) {
		snprintf(run->failure, sizeof(run->failure), "signal %d", WTERMSIG(status));
	} else if (WEXITSTATUS(status)) {
		snprintf(run->failure, sizeof(run->failure), "exit status %d", WEXITSTATUS(status));
	}
	run->seconds = util_now() - start;
	read_output(running);
	if (running->length)
		tell_line(running);
}

int hooks_run(const struct root *root, struct hook_run *run)
{
	struct running running = { .run = run, .fd = -1 };
	_cleanup_close_ int input = make_input(run->input), output = -1;
	int ends[2], r;

	run->failure[0] = '\0';
	run->was_interrupted = false;
	run->seconds = 0;
	if (input < 0)
		return input;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	running.fd = ends[0];
	output = lift(ends[1]);
	r = output < 0 ? output : 0;
	if (!r && fcntl(running.fd, F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	if (!r)
		r = spawn(root, run, input, output, &running.pid);
	if (!r) {
		close(steal_fd(&output)); /* or the end would never be seen */
		wait_for(&running);
	}
	if (running.fd >= 0)
		close(running.fd);
	return r;
}
