/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-cgroups.c - tests of reading the tree of cpusets, on trees of plain files */
#include "host/cgroups.h"

#include <errno.h>

#include "guard.h"
#include "tap.h"
#include "temp.h"

#define V2 "sys/fs/cgroup"

static struct root *root;
static struct machine machine = { .nr_cpus = 16 };

static void begin(const char *mounts)
{
	temp_make();
	if (mounts)
		temp_write("proc/mounts", mounts);
	root = temp_root();
}

static void end(struct cgroups *cgroups)
{
	cgroups_free(cgroups);
	root_close(root);
	temp_remove();
}

/* A file of a cgroup below @top. */
static void add(const char *top, const char *cgroup, const char *file, const char *text)
{
	char name[512];

	snprintf(name, sizeof(name), "%s/%s%s%s", top, cgroup, *cgroup ? "/" : "", file);
	temp_write(name, text);
}

static void add_v2(const char *cgroup, const char *cpus, const char *effective)
{
	if (cpus)
		add(V2, cgroup, "cpuset.cpus", cpus);
	add(V2, cgroup, "cpuset.cpus.effective", effective);
	add(V2, cgroup, "cpuset.cpus.partition", "member\n");
}

static void add_v2_root(void)
{
	add(V2, "", "cgroup.controllers", "cpuset cpu memory\n");
	add(V2, "", "cgroup.subtree_control", "memory cpuset\n");
	add(V2, "", "cpuset.cpus.effective", "0-15\n");
	add(V2, "", "cpuset.cpus.isolated", "\n");
}

static struct cgroups read_tree(void)
{
	struct cgroups cgroups = { 0 };

	is_int(cgroups_read(root, &machine, &cgroups), 0, "the tree is read");
	return cgroups;
}

static void is_cpus(hwloc_const_bitmap_t cpus, const char *expected, const char *what)
{
	_cleanup_free_ char *text = cpus ? cpus_format(cpus) : NULL;

	is_str(text, expected, "%s", what);
}

/* ---- which hierarchy it is ------------------------------------------------------------------- */

static void test_none(void)
{
	struct cgroups cgroups;

	begin("sysfs /sys sysfs rw 0 0\n");
	cgroups = read_tree();
	ok(!cgroups.root && !cgroups.nr, "no hierarchy");
	ok(!cgroups_find(&cgroups, "a"), "no hierarchy: nothing is found");
	ok(!cgroups_governor(&cgroups, NULL), "no hierarchy: nothing governs");
	end(&cgroups);
}

static void test_v2(bool has_mounts)
{
	struct cgroups cgroups;

	begin(has_mounts ? "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n" : NULL);
	add_v2_root();
	cgroups = read_tree();
	is_str(cgroups.root, V2, "v2: where");
	ok(cgroups.is_v2 && cgroups.keeps_masks && cgroups.is_enabled && !cgroups.is_classic,
	   "v2: what");
	is_int((long)cgroups.nr, 1, "v2: the root alone");
	is_cpus(cgroups.list[0].effective, "0-15", "v2: the root's effective CPUs");
	is_cpus(cgroups.list[0].cpus, "", "v2: the root has none of its own");
	end(&cgroups);
}

static void test_v2_switched_off(void)
{
	struct cgroups cgroups;

	begin(NULL);
	add(V2, "", "cgroup.controllers", "cpuset_else cpuset\n");
	add(V2, "", "cgroup.subtree_control", "cpusets\n");
	cgroups = read_tree();
	ok(cgroups.is_v2 && !cgroups.keeps_masks && !cgroups.is_enabled,
	   "v2: the controller is off");
	end(&cgroups);
}

/* The controller is in one hierarchy alone. */
static void test_hybrid(void)
{
	struct cgroups cgroups;

	begin("cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"
	      "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0\n"
	      "cgroup /sys/fs/cgroup/cpuset cgroup rw,nosuid,cpuset,clone_children 0 0\n");
	add(V2 "/unified", "", "cgroup.controllers", "\n");
	add(V2 "/cpu", "", "cpus", "0-15\n");
	add(V2 "/cpuset", "", "cpuset.cpus", "0-15\n");
	add(V2 "/cpuset", "docker", "cpuset.cpus", "2-5\n");
	add(V2 "/cpuset", "docker", "cpuset.effective_cpus", "2-4\n");
	cgroups = read_tree();
	is_str(cgroups.root, V2 "/cpuset", "hybrid: where");
	ok(!cgroups.is_v2 && !cgroups.is_classic, "hybrid: prefixed v1");
	is_int((long)cgroups.nr, 2, "hybrid: how many");
	is_cpus(cgroups.list[0].effective, "0-15", "hybrid: an old kernel has no effective CPUs");
	is_cpus(cgroups.list[1].effective, "2-4", "hybrid: effective CPUs");
	end(&cgroups);
}

static void test_classic(const char *mounts, const char *dir)
{
	struct cgroups cgroups;

	begin(mounts);
	add(dir, "", "cpus", "0-15\n");
	add(dir, "set", "cpus", "2-5\n");
	add(dir, "set", "effective_cpus", "2-5\n");
	add(dir, "set", "tasks", "17\n");
	cgroups = read_tree();
	is_str(cgroups.root, dir, "classic: where");
	ok(!cgroups.is_v2 && cgroups.is_classic, "classic: what");
	is_int((long)cgroups.nr, 2, "classic: how many");
	ok(cgroups.nr == 2 && cgroups.list[1].is_populated, "classic: tasks are seen");
	end(&cgroups);
}

/* ---- the tree -------------------------------------------------------------------------------- */

static void test_tree(void)
{
	static const char *const order[] = { "", "a", "a/b", "a/b/c", "a-b", "a.b", "ab" };
	struct cgroups cgroups;

	begin(NULL);
	add_v2_root();
	add_v2("ab", "\n", "0-15\n");
	add_v2("a.b", "4-20\n", "4-15\n");
	add_v2("a-b", "3\n", "3\n");
	add_v2("a", "0-7\n", "0-7\n");
	temp_mkdir(V2 "/a/b/c");
	add(V2, "a.b", "cpuset.cpus.partition", "root invalid (Parent is not a partition root)\n");
	add(V2, "a-b", "cpuset.cpus.partition", "isolated\n");
	add(V2, "a/b/c", "cgroup.events", "populated 1\nfrozen 0\n");
	add(V2, "ab", "cgroup.events", "populated 0\nfrozen 0\n");
	temp_symlink("a", V2 "/link");
	cgroups = read_tree();
	is_int((long)cgroups.nr, ARRAY_SIZE(order), "tree: how many");
	for (size_t i = 0; i < ARRAY_SIZE(order) && i < cgroups.nr; i++)
		is_str(cgroups.list[i].path, order[i], "tree: parents before children, sorted: %zu",
		       i);
	is_cpus(cgroups_find(&cgroups, "a.b")->cpus, "4-15", "tree: impossible CPUs are left out");
	ok(!cgroups_find(&cgroups, "a/b")->effective, "tree: the controller is off below");
	is_str(cgroups_governor(&cgroups, cgroups_find(&cgroups, "a/b/c"))->path, "a",
	       "tree: what governs it");
	is_str(cgroups_governor(&cgroups, cgroups_find(&cgroups, "ab"))->path, "ab",
	       "tree: it governs itself");
	ok(cgroups_find(&cgroups, "a/b/c")->is_populated &&
		   cgroups_find(&cgroups, "a")->is_populated,
	   "tree: tasks are seen, also from above");
	ok(!cgroups_find(&cgroups, "ab")->is_populated, "tree: no tasks");
	ok(cgroup_is_partition(cgroups_find(&cgroups, "a.b")) &&
		   cgroup_is_partition(cgroups_find(&cgroups, "a-b")) &&
		   !cgroup_is_partition(cgroups_find(&cgroups, "a")) &&
		   !cgroup_is_partition(&cgroups.list[0]),
	   "tree: partitions");
	end(&cgroups);
}

static void test_find(void)
{
	static const struct {
		const char *path, *found;
	} cases[] = {
		{ "", "" },	  { "/", "" },		{ "a", "a" },	    { "/a", "a" },
		{ "a/b", "a/b" }, { "a/b/x/y", "a/b" }, { "a/c", "a" },	    { "b", "" },
		{ "a-b", "a-b" }, { "a-", "" },		{ "a-b/c", "a-b" }, { "aa", "" },
		{ "/../x", "" },
	};
	struct cgroups cgroups;
	char path[600];

	begin(NULL);
	add_v2_root();
	add_v2("a", "0-7\n", "0-7\n");
	add_v2("a/b", "\n", "0-7\n");
	add_v2("a-b", "\n", "0-15\n");
	cgroups = read_tree();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		is_str(cgroups_find(&cgroups, cases[i].path)->path, cases[i].found, "find \"%s\"",
		       cases[i].path);
	ok(!cgroups_parent(&cgroups, &cgroups.list[0]), "the root has no parent");
	is_str(cgroups_parent(&cgroups, cgroups_find(&cgroups, "a/b"))->path, "a", "a parent");
	is_str(cgroups_parent(&cgroups, cgroups_find(&cgroups, "a-b"))->path, "",
	       "the root is a parent");
	is_int(cgroups_path(&cgroups, "", "cgroup.procs", path, sizeof(path)), 0,
	       "a file of the root");
	is_str(path, V2 "/cgroup.procs", "a file of the root: its path");
	is_int(cgroups_path(&cgroups, "a/b", "cpuset.cpus", path, sizeof(path)), 0, "a file");
	is_str(path, V2 "/a/b/cpuset.cpus", "a file: its path");
	is_int(cgroups_path(&cgroups, "a/b", "cpuset.cpus", path, 20), -ENAMETOOLONG,
	       "a path too long");
	end(&cgroups);
}

static void test_many(void)
{
	struct cgroups cgroups;
	size_t nr_wrong = 0;
	char name[128];

	begin(NULL);
	add_v2_root();
	for (unsigned int i = 0; i < 1200; i++) {
		snprintf(name, sizeof(name), V2 "/s%u%cx/t%u", i % 30, "-./"[i % 3], i);
		temp_mkdir(name);
	}
	cgroups = read_tree();
	ok(cgroups.nr > 1200, "many: all are there");
	for (size_t i = 0; i < cgroups.nr; i++) {
		const struct cgroup *parent = cgroups_parent(&cgroups, &cgroups.list[i]);

		nr_wrong += cgroups_find(&cgroups, cgroups.list[i].path) != &cgroups.list[i] ||
			    (i && (!parent || parent >= &cgroups.list[i] ||
				   parent->depth + 1 != cgroups.list[i].depth)) ||
			    cgroups_governor(&cgroups, &cgroups.list[i]) != &cgroups.list[0];
	}
	is_int((long)nr_wrong, 0, "many: each is found, with its parent and governor");
	end(&cgroups);
}

/* ---- what can fail --------------------------------------------------------------------------- */

static void test_memory(void)
{
	struct cgroups cgroups = { 0 };
	size_t nr, nr_wrong = 0;

	if (!guard_can_fail())
		return;
	begin("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
	add_v2_root();
	add_v2("a", "0-7\n", "0-7\n");
	add_v2("a/b", "1\n", "1\n");
	guard_fail_at(SIZE_MAX);
	ok(!cgroups_read(root, &machine, &cgroups), "memory: enough");
	nr = guard_end();
	cgroups_free(&cgroups);
	for (size_t i = 1; i <= nr; i++) {
		int r;

		guard_fail_at(i);
		r = cgroups_read(root, &machine, &cgroups);
		guard_end();
		/* what probes only may go without */
		nr_wrong += r && (r != -ENOMEM || cgroups.root);
		if (!r)
			cgroups_free(&cgroups);
	}
	is_int((long)nr_wrong, 0, "memory: none of %zu allocations is missed in a wrong way", nr);
	end(&cgroups);
}

int main(void)
{
	test_none();
	test_v2(true);
	test_v2(false);
	test_v2_switched_off();
	test_hybrid();
	test_classic("none /dev/cpuset cgroup rw,cpuset,noprefix 0 0\n", "dev/cpuset");
	test_classic("cpuset /dev/cpuset cpuset rw 0 0\n", "dev/cpuset");
	test_classic("none /mnt/cpu\\040sets cgroup rw,cpuset,noprefix 0 0\n", "mnt/cpu sets");
	test_classic(NULL, "dev/cpuset");
	test_tree();
	test_find();
	test_many();
	test_memory();
	return done_testing();
}
