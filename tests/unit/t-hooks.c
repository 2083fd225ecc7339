/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-hooks.c - tests of hooks: which are run at all, in what surroundings, and that each one ends */
#include "host/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "tap.h"
#include "temp.h"

#define DIR_NAME "/etc/cpuoff/hooks.d"

static struct root *root;
static volatile sig_atomic_t nr_interrupts;
static const struct watcher watcher = { .nr_interrupts = &nr_interrupts };
static char told[8192];

static void tell(void *data, const char *name, const char *line)
{
	size_t length = strlen(told);

	(void)data;
	(void)name;
	snprintf(told + length, sizeof(told) - length, "%s|", line);
}

static void write_hook(const char *name, const char *script)
{
	char text[1024], path[256];

	snprintf(path, sizeof(path), "etc/cpuoff/hooks.d/%s", name);
	snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", script);
	temp_write(path, text);
	ok(!chmod(temp_path(path), 0755), "a hook %s", name);
}

static int list(const char *when, char *ret_list, size_t size, char **ret_unsafe)
{
	struct names names = { 0 };
	int r = hooks_list(root, DIR_NAME, when, &names, ret_unsafe);

	ret_list[0] = '\0';
	for (size_t i = 0; i < names.nr; i++)
		snprintf(ret_list + strlen(ret_list), size - strlen(ret_list), "%s ",
			 names.list[i]);
	names_free(&names);
	return r;
}

static void is_list(const char *expected, const char *what)
{
	char names[512], *unsafe = NULL;

	is_int(list("pre-offline", names, sizeof(names), &unsafe), 0, "%s", what);
	is_str(names, expected, "%s: which", what);
	free(unsafe);
}

static void is_unsafe(const char *part, const char *what)
{
	char names[512], *unsafe = NULL;

	is_int(list("pre-offline", names, sizeof(names), &unsafe), 1, "%s is refused", what);
	ok(unsafe && strstr(unsafe, part), "%s: says \"%s\"", what, unsafe ? unsafe : "");
	free(unsafe);
}

static void test_names(void)
{
	is_list("", "no directory");
	temp_mkdir("etc/cpuoff/hooks.d/pre-offline");
	is_list("", "an empty directory");
	write_hook("pre-offline/20-b", "exit 0");
	write_hook("pre-offline/10-a", "exit 0");
	write_hook("pre-offline/10-A_b", "exit 0");
	write_hook("pre-offline/30-c.sh", "exit 0");
	write_hook("pre-offline/40-d~", "exit 0");
	write_hook("pre-offline/.50-e", "exit 0");
	write_hook("pre-offline/60-f.dpkg-old", "exit 0");
	temp_write("etc/cpuoff/hooks.d/pre-offline/70-plain", "");
	temp_mkdir("etc/cpuoff/hooks.d/pre-offline/80-directory");
	is_list("pre-offline/10-A_b pre-offline/10-a pre-offline/20-b ", "by their names");
}

static void test_safety(void)
{
	static const char *const parts[] = { "etc", "etc/cpuoff", "etc/cpuoff/hooks.d",
					     "etc/cpuoff/hooks.d/pre-offline",
					     "etc/cpuoff/hooks.d/pre-offline/20-b" };

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		is_int(chmod(temp_path(parts[i]), 0775), 0, "%s", parts[i]);
		is_unsafe("others than root can write it", parts[i]);
		is_int(chmod(temp_path(parts[i]), 0755), 0, "%s", parts[i]);
		if (geteuid())
			continue;
		is_int(chown(temp_path(parts[i]), 65534, 65534), 0, "%s", parts[i]);
		is_unsafe("belongs to another user", parts[i]);
		is_int(chown(temp_path(parts[i]), 0, 0), 0, "%s", parts[i]);
	}
	temp_symlink("20-b", "etc/cpuoff/hooks.d/pre-offline/90-link");
	is_unsafe("90-link: it is a link", "a link");
	is_int(unlink(temp_path("etc/cpuoff/hooks.d/pre-offline/90-link")), 0, "it goes");
	is_int(rename(temp_path("etc/cpuoff"), temp_path("etc/real")), 0, "the directory moves");
	temp_symlink("real", "etc/cpuoff");
	is_unsafe("etc/cpuoff: it is a link", "a directory that is a link");
	is_int(unlink(temp_path("etc/cpuoff")), 0, "it goes");
	is_int(rename(temp_path("etc/real"), temp_path("etc/cpuoff")), 0, "and back");
}

static struct hook_run run(const char *script, const char *input, double timeout)
{
	static char *environment[] = { (char *)"PATH=/usr/bin:/bin", (char *)"FACT=1", NULL };
	struct hook_run hook = { .dir = DIR_NAME,
				 .name = "pre-offline/x",
				 .environment = environment,
				 .input = input,
				 .timeout = timeout,
				 .watcher = &watcher,
				 .tell = tell };

	write_hook("pre-offline/x", script);
	told[0] = '\0';
	is_int(hooks_run(root, &hook), 0, "%.40s", script);
	return hook;
}

static void test_end(void)
{
	is_str(run("exit 0", "", 60).failure, "", "a good end");
	is_str(run("exit 3", "", 60).failure, "exit status 3", "a status");
	is_str(run("kill -s KILL $$", "", 60).failure, "signal 9", "a signal");
	is_str(run("kill -s PIPE $$", "", 60).failure, "signal 13",
	       "signals are as by default, whatever is ignored here");
}

static void test_surroundings(void)
{
	int leaked = open("/dev/null", O_RDONLY);

	ok(leaked >= 3, "a file that stays open over an exec");
	run("env | sort | tr '\\n' ' '", "", 60);
	ok(strstr(told, "FACT=1 ") && !strstr(told, "HOME="), "its environment: %s", told);
	run("ls -m /proc/$$/fd", "", 60);
	/* and the script itself, as the shell has it */
	ok(!strcmp(told, "0, 1, 2|") || !strcmp(told, "0, 1, 10, 2|") ||
		   !strcmp(told, "0, 1, 2, 255|"),
	   "no other file: %s", told);
	run("cut -d' ' -f5 /proc/$$/stat; echo $$", "", 60);
	ok(strlen(told) > 2 && !strncmp(told, strchr(told, '|') + 1, strcspn(told, "|")),
	   "a group of its own: %s", told);
	run("pwd; umask", "", 60);
	is_str(told, "/|0022|", "a folder and a mask of its own");
	close(leaked);
}

static void test_input(void)
{
	size_t size = 3 << 20;
	char *input = malloc(size + 1);

	memset(input, 'x', size);
	input[size] = '\0';
	is_str(run("exit 0", input, 60).failure, "", "a large document that nobody reads");
	run("wc -c", input, 60);
	is_int(atol(told), (long long)size, "and one that is read");
	is_str(run("echo >&0 2>/dev/null && exit 1; exit 0", input, 60).failure, "",
	       "it cannot be written");
	free(input);
}

static void test_output(void)
{
	run("echo one; echo two >&2; printf 'three'", "", 60);
	is_str(told, "one|two|three|", "both outputs, line by line");
	run("printf 'a\\033[31mb\\t\\302\\233c\\r\\n\\000d\\n'", "", 60);
	is_str(told, "a?[31mb ??c| d|", "nothing that a terminal would obey");
	run("yes | head -c 2000 | tr -d '\\n'; echo", "", 60);
	ok(strlen(told) == 1000 + 2 || strlen(told) == 1000 + 3, "a long line is parted");
}

static void test_limit(void)
{
	struct hook_run hook = run("sleep 600 & echo $! ; trap '' TERM; wait; sleep 600", "", 1);
	double start = util_now();
	pid_t pid = (pid_t)atoi(told);

	is_str(hook.failure, "no end within 1 s", "a hook that hangs");
	while (pid > 0 && !kill(pid, 0) && util_now() - start < 10)
		util_sleep(0.05);
	ok(pid > 0 && kill(pid, 0) < 0, "its group is gone with it");
	start = util_now();
	is_str(run("sleep 30 &", "", 60).failure, "", "what it leaves behind");
	ok(util_now() - start < 20, "is not waited for");
}

static void interrupt(int signo)
{
	(void)signo;
	nr_interrupts = nr_interrupts + 1;
}

static void test_interrupt(void)
{
	struct hook_run hook;

	signal(SIGALRM, interrupt);
	alarm(1);
	hook = run("exec sleep 60", "", 60);
	ok(hook.was_interrupted && hook.seconds < 30, "a signal ends the wait");
	ok(!strncmp(hook.failure, "interrupted", 11), "and counts as a failure");
	is_str(run("exit 0", "", 60).failure, "", "hooks after it are run all the same");
}

static void test_none(void)
{
	struct hook_run hook = { .dir = DIR_NAME,
				 .name = "pre-offline/absent",
				 .environment = (char *[]){ NULL },
				 .input = "",
				 .timeout = 1,
				 .watcher = &watcher,
				 .tell = tell };

	if (getenv("CPUOFF_EMULATED")) {
		skip("posix_spawn() of an emulated process does not tell that it failed");
		return;
	}
	is_int(hooks_run(root, &hook), -ENOENT, "one that is not there");
	write_hook("pre-offline/x", "");
	temp_write("etc/cpuoff/hooks.d/pre-offline/x", "#!/no/such/interpreter\n");
	hook.name = "pre-offline/x";
	is_int(hooks_run(root, &hook), -ENOENT, "one without its interpreter");
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	temp_make();
	root = temp_root();
	test_names();
	test_safety();
	test_end();
	test_surroundings();
	test_input();
	test_output();
	test_limit();
	test_interrupt();
	test_none();
	root_close(root);
	temp_remove();
	return done_testing();
}
