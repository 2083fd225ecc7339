/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-state.c - tests of the state directory: whose it is, its files, and the lock between processes
 */
#include "host/state.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "guard.h"
#include "tap.h"
#include "temp.h"

#define DIR_NAME "/run/cpuoff"

static struct root *root;

static int try_open(const char *dir, bool create)
{
	struct state *state = NULL;
	int r = state_open(root, dir, create, &state);

	state_close(state);
	return r;
}

/* ---- the directory ----------------------------------------------------------------------- */

static void test_open(void)
{
	mode_t mask = umask(077);
	struct state *state = NULL;

	is_int(try_open(DIR_NAME, false), -ENOENT, "a directory that is not there");
	is_int(temp_mode("run"), 0, "is not made by looking");
	is_int(state_open(root, DIR_NAME, true, &state), 0, "it is made when asked for");
	is_int(temp_mode("run/cpuoff"), 0755, "everybody may read it, whatever the mask");
	is_int(temp_mode("run"), 0755, "and what is above it");
	is_str(state ? state_path(state) : NULL, temp_path("run/cpuoff"), "its path");
	is_int(umask(077), 077, "the mask is as before");
	umask(mask);
	state_close(state);
	state_close(NULL);
	is_int(try_open(DIR_NAME, true), 0, "it is opened again");
	is_int(try_open("run/cpuoff", false), 0, "without a slash before it");
	is_int(try_open(temp_path("run/cpuoff"), false), 0, "with the root before it");
}

static void test_ownership(void)
{
	static const struct {
		mode_t mode;
		int r;
	} modes[] = { { 0700, 0 },	{ 0755, 0 },	   { 0775, -EPERM },
		      { 0757, -EPERM }, { 01777, -EPERM }, { 0777, -EPERM } };

	temp_mkdir("run/mine");
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		is_int(chmod(temp_path("run/mine"), modes[i].mode), 0, "mode %o", modes[i].mode);
		is_int(try_open("/run/mine", true), modes[i].r, "mode %o is %s", modes[i].mode,
		       modes[i].r ? "refused" : "taken");
	}
	if (geteuid())
		return;
	is_int(chmod(temp_path("run/mine"), 0755), 0, "a good mode");
	is_int(chown(temp_path("run/mine"), 65534, 65534), 0, "another owner");
	is_int(try_open("/run/mine", true), -EPERM, "the directory of another user is refused");
}

static bool is_link_refusal(int r)
{
	return r == -ELOOP || r == -ENOTDIR || r == -EXDEV;
}

static void test_links(void)
{
	temp_mkdir("run/real");
	temp_symlink("real", "run/link");
	ok(is_link_refusal(try_open("/run/link", true)), "a link is refused");
	ok(is_link_refusal(try_open("/run/link", false)), "also where nothing is made");
	ok(is_link_refusal(try_open("/run/link/", true)), "also with a slash at its end");
	temp_symlink("nowhere", "run/dangling");
	ok(is_link_refusal(try_open("/run/dangling", true)), "a link to nothing is refused");
	is_int(temp_mode("run/nowhere"), 0, "and nothing is made there");
	temp_write("run/file", "x");
	is_int(try_open("/run/file", true), -ENOTDIR, "a file is no directory");
	is_int(try_open("/run/file/below", true), -ENOTDIR, "nor has it one below");
}

/* In a copy of a machine a link may lead into the running one. */
static void test_outside(void)
{
	char outside[] = "/tmp/cpuoff-outside-XXXXXX", below[64];
	struct stat st;

	if (!mkdtemp(outside))
		return;
	snprintf(below, sizeof(below), "%s/cpuoff", outside);
	temp_symlink(outside, "run/away");
	ok(is_link_refusal(try_open("/run/away/cpuoff", true)),
	   "a way that leads out of the root is refused");
	ok(stat(below, &st) < 0, "nothing is made there");
	ok(is_link_refusal(try_open("/run/../../cpuoff-up", false)) ||
		   try_open("/run/../../cpuoff-up", false) == -ENOENT,
	   "one that goes up is refused");
	rmdir(below);
	rmdir(outside);
}

/* ---- files ------------------------------------------------------------------------------- */

static void test_files(struct state *state)
{
	_cleanup_free_ char *text = NULL, *again = NULL, *none = NULL;
	mode_t mask = umask(077);

	is_int(state_write(state, "a", "one", 3), 0, "a journal is written");
	is_int(temp_mode("run/cpuoff/a.json"), 0644, "everybody may read it, whatever the mask");
	umask(mask);
	is_int(state_read(state, "a", &text), 0, "it is read");
	is_str(text, "one", "as it was written");
	is_int(state_write(state, "a", "three", 5), 0, "it is replaced");
	is_int(state_read(state, "a", &again), 0, "it is read again");
	is_str(again, "three", "as it is now");
	is_int(temp_mode("run/cpuoff/.a.new"), 0, "no temporary file is left");
	is_int(state_remove(state, "a"), 0, "it is removed");
	is_int(state_remove(state, "a"), -ENOENT, "once");
	is_int(state_read(state, "a", &none), -ENOENT, "it cannot be read any more");
}

/* What a killed run left is in nobody's way, and a link in its place is not followed. */
static void test_temporary(struct state *state)
{
	_cleanup_free_ char *text = NULL;

	temp_write("run/cpuoff/.b.new", "left");
	is_int(state_write(state, "b", "new", 3), 0, "a temporary file that was left is replaced");
	is_int(state_read(state, "b", &text), 0, "the journal");
	is_str(text, "new", "is the new one");
	temp_write("victim", "untouched");
	temp_symlink("../../victim", "run/cpuoff/.b.new");
	is_int(state_write(state, "b", "newer", 5), 0, "a link in its place is replaced");
	free(text);
	text = NULL;
	is_int(root_read(root, &text, "victim"), 0, "where it led to");
	is_str(text, "untouched", "nothing is written");
	is_int(state_remove(state, "b"), 0, "removed");
}

/* The old text stays as long as the new one is not whole. */
static void test_failed_write(struct state *state)
{
	_cleanup_free_ char *text = NULL;

	is_int(state_write(state, "c", "old", 3), 0, "a journal");
	temp_mkdir("run/cpuoff/.c.new");
	ok(state_write(state, "c", "new", 3) < 0, "it cannot be written");
	is_int(state_read(state, "c", &text), 0, "it is read");
	is_str(text, "old", "and is the old one");
	rmdir(temp_path("run/cpuoff/.c.new"));
	is_int(state_remove(state, "c"), 0, "removed");
}

static void test_list(struct state *state)
{
	static const char *const expected[] = { "20250102-000000", "20250102-000000-2",
						"20250102-000001" };
	char **ids = NULL;
	size_t nr = 9;

	is_int(state_list(state, &ids, &nr), 0, "an empty directory");
	is_int((long long)nr, 0, "has no journals");
	free(ids);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		is_int(state_write(state, expected[2 - i], "x", 1), 0, "journal %s",
		       expected[2 - i]);
	temp_write("run/cpuoff/lock", "1\n");
	temp_write("run/cpuoff/.hidden.json", "x");
	temp_write("run/cpuoff/.json", "x");
	temp_write("run/cpuoff/x.json.bak", "x");
	is_int(state_list(state, &ids, &nr), 0, "a list");
	unlink(temp_path("run/cpuoff/lock"));
	is_int((long long)nr, 3, "of the journals alone");
	for (size_t i = 0; i < nr; i++) {
		if (i < ARRAY_SIZE(expected))
			is_str(ids[i], expected[i], "the oldest first: %zu", i);
		free(ids[i]);
	}
	free(ids);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		is_int(state_remove(state, expected[i]), 0, "removed");
}

static void test_huge(struct state *state)
{
	_cleanup_free_ char *text = NULL;

	temp_write("run/cpuoff/huge.json", "");
	is_int(truncate(temp_path("run/cpuoff/huge.json"), (off_t)1 << 40), 0, "a file of a TiB");
	is_int(state_read(state, "huge", &text), -EFBIG, "is refused");
	unlink(temp_path("run/cpuoff/huge.json"));
}

static void test_without_memory(struct state *state)
{
	size_t nr;
	int written, removed;

	guard_begin();
	written = state_write(state, "m", "text", 4);
	removed = state_remove(state, "m");
	nr = guard_end();
	ok(!written && !removed, "writing and removing work without memory");
	if (guard_can_see())
		is_int((long long)nr, 0, "none is asked for");
}

/* ---- the lock ---------------------------------------------------------------------------- */

/* A process that does @what and then waits until the other end of @ret_fd is closed. */
static pid_t spawn(void (*what)(struct state *, int), int *ret_fd)
{
	struct state *state = NULL;
	int ends[2], gone[2];
	char c = 0;
	pid_t pid;

	*ret_fd = -1;
	fflush(stdout);
	if (pipe(ends) < 0 || pipe(gone) < 0)
		return -1;
	pid = fork();
	if (!pid) {
		close(ends[0]);
		close(gone[1]);
		if (!state_open(root, DIR_NAME, true, &state))
			what(state, ends[1]);
		if (read(gone[0], &c, 1) < 0)
			_exit(1);
		_exit(0);
	}
	close(ends[1]);
	close(gone[0]);
	if (read(ends[0], &c, 1) != 1)
		diag("the other process has not come to its lock");
	close(ends[0]);
	*ret_fd = gone[1];
	return pid;
}

static void reap(pid_t pid, int fd)
{
	close(fd);
	waitpid(pid, NULL, 0);
}

static void take_lock(struct state *state, int fd)
{
	pid_t holder;

	if (state_lock(state, &holder) || write(fd, "x", 1) != 1)
		_exit(1);
}

static void test_lock(struct state *state)
{
	pid_t other, holder = -1;
	int fd;

	other = spawn(take_lock, &fd);
	is_int(state_lock(state, &holder), -EAGAIN, "another process holds the lock");
	is_int(holder, other, "its pid is told");
	is_int(temp_mode("run/cpuoff/lock"), 0600, "only its owner may touch it");
	temp_write("run/cpuoff/.killed.new", "half");
	temp_write("run/cpuoff/.other", "left");
	is_int(state_lock(state, &holder), -EAGAIN, "it still does");
	ok(!access(temp_path("run/cpuoff/.killed.new"), F_OK), "its half-written file is its own");
	reap(other, fd);
	is_int(state_lock(state, &holder), 0, "it is gone, and so is its lock");
	ok(access(temp_path("run/cpuoff/.killed.new"), F_OK), "and what it had half written");
	ok(!access(temp_path("run/cpuoff/.other"), F_OK), "but nothing else");
	is_int(unlink(temp_path("run/cpuoff/.other")), 0, "which is removed here");
	is_int(holder, 0, "nobody else holds it");
	is_int(state_lock(state, &holder), 0, "who has it may take it again");
}

static int try_lock_elsewhere(void)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		struct state *state = NULL;
		pid_t holder;
		int r = state_open(root, DIR_NAME, false, &state);

		_exit(r ? 99 : -state_lock(state, &holder));
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static void test_lock_is_held(void)
{
	struct state *state = NULL;
	pid_t holder;

	is_int(state_open(root, DIR_NAME, false, &state), 0, "a state directory");
	is_int(state_lock(state, &holder), 0, "and its lock");
	is_int(try_lock_elsewhere(), EAGAIN, "nobody else gets it");
	state_close(state);
	is_int(try_lock_elsewhere(), 0, "closing gives it away");
}

/* Takes the lock, leaves a writer with it, and dies: its pid comes through the pipe. */
static void leave_writer(struct state *state, int fd)
{
	pid_t holder, writer;

	if (state_lock(state, &holder))
		_exit(1);
	writer = fork();
	if (!writer) {
		pause();
		_exit(0);
	}
	state_note_writer(state, writer);
	if (write(fd, &writer, sizeof(writer)) != sizeof(writer))
		_exit(1);
	_exit(0);
}

static pid_t spawn_orphan(void)
{
	struct state *state = NULL;
	pid_t pid, writer = 0;
	int ends[2];

	fflush(stdout);
	if (pipe(ends) < 0)
		return -1;
	pid = fork();
	if (!pid) {
		close(ends[0]);
		if (!state_open(root, DIR_NAME, true, &state))
			leave_writer(state, ends[1]);
		_exit(1);
	}
	close(ends[1]);
	if (read(ends[0], &writer, sizeof(writer)) != sizeof(writer))
		diag("there is no writer");
	close(ends[0]);
	waitpid(pid, NULL, 0);
	return writer;
}

static int lock_patiently(struct state *state, pid_t *ret_holder)
{
	int r = state_lock(state, ret_holder);

	for (int i = 0; r && i < 200; i++) {
		util_sleep(0.005);
		r = state_lock(state, ret_holder);
	}
	return r;
}

static void test_orphan(void)
{
	pid_t writer = spawn_orphan(), holder = -1;
	struct state *state = NULL;

	is_int(state_open(root, DIR_NAME, false, &state), 0, "after a run that was killed");
	is_int(state_lock(state, &holder), -EBUSY, "its writer still holds the lock");
	is_int(holder, writer, "the writer is told");
	is_int(state_lock(state, &holder), -EBUSY, "it still does");
	is_int(try_lock_elsewhere(), EBUSY, "others see the writer, not who asked before");
	if (writer > 0)
		kill(writer, SIGKILL);
	is_int(lock_patiently(state, &holder), 0, "with the writer the lock is gone");
	state_close(state);
}

/* A link in its place is not followed, and what it leads to is not made. */
static void test_lock_link(void)
{
	struct state *state = NULL;
	pid_t holder;

	unlink(temp_path("run/cpuoff/lock"));
	temp_symlink("../../elsewhere", "run/cpuoff/lock");
	is_int(state_open(root, DIR_NAME, false, &state), 0, "a lock that is a link");
	is_int(state_lock(state, &holder), -ELOOP, "is refused");
	is_int(temp_mode("elsewhere"), 0, "and not followed");
	state_close(state);
	unlink(temp_path("run/cpuoff/lock"));
}

int main(void)
{
	struct state *state = NULL;

	signal(SIGPIPE, SIG_IGN);
	temp_make();
	root = temp_root();
	test_open();
	test_ownership();
	test_links();
	test_outside();
	if (is_int(state_open(root, DIR_NAME, true, &state), 0, "a state directory for files")) {
		test_files(state);
		test_temporary(state);
		test_failed_write(state);
		test_list(state);
		test_huge(state);
		test_without_memory(state);
		test_lock(state);
	}
	state_close(state);
	test_lock_is_held();
	test_orphan();
	test_lock_link();
	root_close(root);
	temp_remove();
	return done_testing();
}
