/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-tasks.c - tests of who is pinned, on files of threads that the kernel does not know */
#include "host/tasks.h"

#include "tap.h"
#include "tree.h"

bool __wrap_root_is_live(const struct root *root);

/* More than the kernel gives to anybody, so that no system call finds the thread. */
#define TID "999999999"

bool __wrap_root_is_live(const struct root *root)
{
	(void)root;
	return true;
}

/* The root's cpuset with these CPUs, and a thread whose status has @mask. */
static void write_thread(const char *effective, const char *mask)
{
	char status[64];

	temp_write("proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n");
	temp_write("sys/fs/cgroup/cgroup.controllers", "cpuset\n");
	temp_write("sys/fs/cgroup/cgroup.subtree_control", "cpuset\n");
	temp_write("sys/fs/cgroup/cpuset.cpus.effective", effective);
	temp_write("proc/" TID "/task/" TID "/stat",
		   TID " (name) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5000 0 0 0 0 0 0 0 0 0 0 "
		       "0 0 0 0 0 17 1 0 0 0 0 0\n");
	temp_write("proc/" TID "/cgroup", "0::/\n");
	snprintf(status, sizeof(status), "Name:\tname\nCpus_allowed_list:\t%s\n", mask);
	temp_write("proc/" TID "/status", status);
}

/*
 * A thread with this mask, in the root's cpuset, which had @earlier CPUs when the cpusets were
 * read, and has @now.
 */
static void test_pinned(const char *earlier, const char *now, const char *mask, bool is_pinned)
{
	struct cgroups cgroups = { 0 };
	struct tasks tasks = { 0 };
	struct tree tree;

	tree_make();
	write_thread(earlier, mask);
	tree_open(&tree, "4-7");
	is_int(cgroups_read(tree.env.root, &tree.machine, &cgroups), 0, "the cpusets are read");
	temp_write("sys/fs/cgroup/cpuset.cpus.effective", now);
	is_int(tasks_read(tree.env.root, &tree.machine, &cgroups, &tasks), 0, "the tasks are read");
	is_int((long long)tasks.nr, 1, "there is one");
	ok(tasks.nr == 1 && task_is_pinned(&tasks.list[0], &tree.machine) == is_pinned,
	   "%s, of a cpuset with %s that had %s: %s", mask, now, earlier,
	   is_pinned ? "pinned" : "not pinned");
	tasks_free(&tasks);
	cgroups_free(&cgroups);
	tree_close(&tree);
}

/* One of its files is not there: it has ended. It is, and tells nothing: the thread is counted. */
static void test_hidden(const char *file, const char *text, size_t nr_hidden)
{
	struct cgroups cgroups = { 0 };
	struct tasks tasks = { 0 };
	struct tree tree;

	tree_make();
	write_thread("0-7", "0-7");
	unlink(temp_path(file));
	if (text)
		temp_write(file, text);
	tree_open(&tree, "4-7");
	is_int(cgroups_read(tree.env.root, &tree.machine, &cgroups), 0, "the cpusets are read");
	is_int(tasks_read(tree.env.root, &tree.machine, &cgroups, &tasks), 0, "the tasks are read");
	is_int((long long)tasks.nr, 0, "%s: no task", file);
	is_int((long long)tasks.nr_hidden, (long long)nr_hidden, "%s: %s", file,
	       text ? "hidden" : "it has ended");
	ok(!text || (tasks.first_hidden == atoi(TID) && tasks.hidden_errno == EINVAL),
	   "%s: who, and why", file);
	tasks_free(&tasks);
	cgroups_free(&cgroups);
	tree_close(&tree);
}

int main(void)
{
	test_pinned("0-7", "0-7", "0-7", false);
	test_pinned("0-7", "0-7", "0-3,6-7", true);
	test_pinned("0-3,6-7", "0-3,6-7", "0-3,6-7", false);
	/* somebody makes a partition of 4-5 meanwhile, or dissolves one */
	test_pinned("0-7", "0-3,6-7", "0-3,6-7", false);
	test_pinned("0-7", "0-3,6-7", "2-3", true);
	test_pinned("0-3,6-7", "0-7", "0-3,6-7", false);
	test_pinned("0-3,6-7", "0-7", "0-7", false);
	test_hidden("proc/" TID "/status", NULL, 0);
	test_hidden("proc/" TID "/status", "Name:\tname\n", 1);
	test_hidden("proc/" TID "/task/" TID "/stat", "rubbish\n", 1);
	return done_testing();
}
