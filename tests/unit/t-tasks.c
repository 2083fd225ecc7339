/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-tasks.c - tests of who is pinned, and of what cannot be read, on files of threads that the
 * kernel does not know */
#include "host/tasks.h"

#include <errno.h>

#include "tap.h"
#include "tree.h"

bool __wrap_root_is_live(const struct root *root);

/* More than the kernel gives to anybody, so that no system call finds the thread. */
#define TID   "999999999"
#define CHILD "999999998"

bool __wrap_root_is_live(const struct root *root)
{
	(void)root;
	return true;
}

static void write_file(const char *tid, const char *file, const char *text)
{
	char name[64];

	snprintf(name, sizeof(name), "proc/%s/%s", tid, file);
	temp_write(name, text);
}

/* A process of one thread, made by @parent at @start, in the root's cgroup. */
static void write_process(const char *tid, const char *parent, const char *start, const char *mask)
{
	char stat[256], status[64], of_thread[64];

	snprintf(stat, sizeof(stat),
		 "%s (name) S %s 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %s 0 0 0 0 0 0 0 0 0 0 0 0 0 "
		 "0 0 17 1 0 0 0 0 0\n",
		 tid, parent, start);
	snprintf(status, sizeof(status), "Name:\tname\nCpus_allowed_list:\t%s\n", mask);
	snprintf(of_thread, sizeof(of_thread), "task/%s/stat", tid);
	write_file(tid, of_thread, stat);
	write_file(tid, "stat", stat);
	write_file(tid, "status", status);
	write_file(tid, "cgroup", "0::/\n");
}

/* The root's cpuset with these CPUs, and a thread whose status has @mask. */
static void write_thread(const char *effective, const char *mask)
{
	temp_write("proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n");
	temp_write("sys/fs/cgroup/cgroup.controllers", "cpuset\n");
	temp_write("sys/fs/cgroup/cgroup.subtree_control", "cpuset\n");
	temp_write("sys/fs/cgroup/cpuset.cpus.effective", effective);
	write_process(TID, "1", "5000", mask);
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

/* It is there, and cannot be read: a file is a folder, or a folder is a file. */
static void break_file(const char *name)
{
	bool is_folder = !access(temp_path(name), X_OK);

	rename(temp_path(name), temp_path("aside"));
	if (is_folder)
		temp_write(name, "");
	else
		temp_mkdir(name);
}

static void mend_file(const char *name)
{
	remove(temp_path(name));
	rename(temp_path("aside"), temp_path(name));
}

static void test_hidden_cgroup(void)
{
	struct cgroups cgroups = { 0 };
	struct tasks tasks = { 0 };
	struct tree tree;

	tree_make();
	write_thread("0-7", "0-7");
	break_file("proc/" TID "/cgroup");
	tree_open(&tree, "4-7");
	is_int(cgroups_read(tree.env.root, &tree.machine, &cgroups), 0, "the cpusets are read");
	is_int(tasks_read(tree.env.root, &tree.machine, &cgroups, &tasks), 0, "the tasks are read");
	is_int((long long)tasks.nr_hidden, 1, "one whose cgroup cannot be read is hidden");
	is_int(tasks.hidden_errno, EISDIR, "and why is known");
	tasks_free(&tasks);
	cgroups_free(&cgroups);
	tree_close(&tree);
}

/*
 * The way back: a thread of the record that the kernel has unpinned, and one that it has made
 * since, with the mask that it had meanwhile. With one of their files broken nothing may be given
 * up; once that is mended all is done.
 */
static void test_undo(const char *file, int error)
{
	struct operation operation = { .evacuation = (char *)"affinity" };
	struct cgroups cgroups = { 0 };
	struct tree tree;
	struct item *item;

	tree_make();
	write_thread("0-7", "0-7");
	write_process(CHILD, TID, "6000", "0-3");
	tree_open(&tree, "4-7");
	is_int(cgroups_read(tree.env.root, &tree.machine, &cgroups), 0, "the cpusets are read");
	tree.env.cgroups = &cgroups;
	tree.env.own = &operation;
	tree.step = (struct step){ .kind = &tasks_affinity_kind, .state = STATE_APPLIED };
	item = step_add_item(&tree.step, 999999999, "4-5", "0-3", "task");
	if (ok(item, "one is in the record")) {
		item->stamp = 5000;
		item->state = STATE_APPLIED;
	}
	break_file(file);
	is_int(tree_undo(&tree), -error, "%s: told", file);
	ok(step_is_in_force(&tree.step), "%s: for the next restore", file);
	mend_file(file);
	is_int(tree_undo(&tree), 0, "%s: mended", file);
	ok(!step_is_in_force(&tree.step), "%s: nothing is left", file);
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
	test_hidden_cgroup();
	test_undo("proc/" TID "/stat", EISDIR);
	test_undo("proc/" TID "/status", EISDIR);
	test_undo("proc/" TID "/cgroup", EISDIR);
	test_undo("proc/" CHILD "/task", ENOTDIR);
	test_undo("proc/" CHILD "/task/" CHILD "/stat", EISDIR);
	test_undo("proc/" CHILD "/status", EISDIR);
	return done_testing();
}
