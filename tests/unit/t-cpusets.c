/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-cpusets.c - tests of step kind cpuset.cpus, and of the cpusets that would be emptied */
#include "host/cpusets.h"

#include <errno.h>
#include <sys/stat.h>

#include "guard.h"
#include "host/evacuations.h"
#include "host/partition.h"
#include "host/writer.h"
#include "tap.h"
#include "temp.h"

#define V1	"sys/fs/cgroup/cpuset"
#define V2	"sys/fs/cgroup"
#define NR_CPUS 8

static const struct evacuation by_partition = { .name = "partition",
						.has_partition = true,
						.moves_tasks = true };
static const struct evacuation by_masks = { .name = "affinity", .moves_tasks = true };
static const struct evacuation by_nothing = { .name = "none" };

/* ---- a machine of eight CPUs, of which 4-7 shall go ------------------------------------------ */

static struct machine machine;
static struct root *root;
static struct cgroups cgroups;
static struct tasks tasks;
static struct findings findings;
static struct step step;
static struct request request;
static struct watcher watcher;
static struct step_env env;
static hwloc_bitmap_t target, survivors;

static void set(hwloc_bitmap_t cpus, const char *list)
{
	if (cpus_parse(list, NR_CPUS - 1, true, cpus))
		diag("%s is no list", list);
}

static void begin(const char *top)
{
	temp_make();
	temp_write("sys/devices/system/cpu/online", "0-7\n");
	if (!strcmp(top, V1)) {
		temp_write(V1 "/cpuset.cpus", "0-7\n");
		temp_write(V1 "/release_agent", "\n");
	} else {
		temp_write(V2 "/cgroup.controllers", "cpuset\n");
		temp_write(V2 "/cpuset.cpus.effective", "0-7\n");
		temp_write(V2 "/cpuset.cpus.isolated", "\n");
	}
	root = temp_root();
	set(machine.online, "0-7");
	set(target, "4-7");
	set(survivors, "0-3");
	env = (struct step_env){
		.root = root,
		.machine = &machine,
		.request = &request,
		.evacuation = &by_masks,
		.tasks = &tasks,
		.cgroups = &cgroups,
		.watcher = &watcher,
		.target = target,
		.survivors = survivors,
		.findings = &findings,
	};
	if (writer_start(root, &env.writer))
		diag("there is no writer");
}

/* A cpuset with its own CPUs and, on v2, the effective ones, where they are given. */
static void add(const char *cgroup, const char *cpus, const char *effective)
{
	bool is_v2 = effective != NULL;
	char name[256];

	snprintf(name, sizeof(name), "%s/%s/cpuset.cpus", is_v2 ? V2 : V1, cgroup);
	temp_write(name, cpus);
	if (!is_v2)
		return;
	snprintf(name, sizeof(name), V2 "/%s/cpuset.cpus.effective", cgroup);
	temp_write(name, effective);
}

static void add_task(pid_t tid, const char *cgroup)
{
	tasks.list = reallocarray(tasks.list, tasks.nr + 1, sizeof(*tasks.list));
	tasks.list[tasks.nr++] = (struct task){
		.pid = tid,
		.tid = tid,
		.start = 1000,
		.comm = "load",
		.cgroup = cgroups_find(&cgroups, cgroup),
	};
}

static void read_tree(void)
{
	is_int(cgroups_read(root, &machine, &cgroups), 0, "the tree is read");
}

static void plan(void)
{
	step_free(&step);
	step = (struct step){ .kind = &cpusets_kind, .lifetime = cpusets_kind.lifetime };
	is_int(cpusets_kind.describe(&step, &env), 0, "it is planned");
}

static void apply(void)
{
	step.state = STATE_APPLYING;
	is_int(cpusets_kind.apply(&step, &env), 0, "it is applied");
	step.state = STATE_APPLIED;
}

/* Without memory: it must not need any. */
static int undo(void)
{
	int r;

	guard_begin();
	r = cpusets_kind.undo(&step, &env);
	guard_end();
	return r;
}

static void end(void)
{
	step_free(&step);
	findings_free(&findings);
	findings = (struct findings){ 0 };
	cgroups_free(&cgroups);
	free(tasks.list);
	tasks = (struct tasks){ 0 };
	writer_stop(env.writer);
	root_close(root);
	temp_remove();
}

/* The step as one line: "OBJECT BEFORE>AFTER, ..." */
static void is_plan(const char *expected, const char *what)
{
	_cleanup_free_ char *text = strdup("");

	for (size_t i = 0; i < step.nr_items; i++) {
		const char *object = step.items[i].object;
		_cleanup_free_ char *old = text;

		object += !strncmp(object, "/" V1, sizeof(V1))	 ? sizeof(V1) + 1
			  : !strncmp(object, "/" V2, sizeof(V2)) ? sizeof(V2) + 1
								 : 0;
		text = util_asprintf("%s%s%s %s>%s", old, i ? ", " : "", object,
				     step.items[i].before, step.items[i].after);
	}
	is_str(text, expected, "%s", what);
}

static void is_file(const char *name, const char *expected, const char *what)
{
	_cleanup_free_ char *text = NULL;

	if (root_read(root, &text, "%s", name))
		text = NULL;
	is_str(text, expected, "%s", what);
}

/* ---- what would be emptied ------------------------------------------------------------------- */

static void is_emptied(const char *expected, const char *what)
{
	_cleanup_free_ char *text = strdup("");
	struct emptied_list emptied;

	if (cpusets_emptied(&cgroups, &tasks, &machine, target, &emptied)) {
		ok(false, "%s", what);
		return;
	}
	for (size_t i = 0; i < emptied.nr; i++) {
		_cleanup_free_ char *old = text;

		text = util_asprintf("%s%s%s %s (%zu: %s)", old, i ? "; " : "",
				     emptied.list[i].cgroup->path, emptied.list[i].cpus,
				     emptied.list[i].nr_tasks, emptied.list[i].tasks);
	}
	cpusets_emptied_free(&emptied);
	is_str(text, expected, "%s", what);
}

static void test_emptied_v2(void)
{
	begin(V2);
	add("across", "3-5\n", "3-5\n");
	add("inside", "4-5\n", "4-5\n");
	add("inside/child", "\n", "4-5\n");
	add("idle", "6-7\n", "6-7\n");
	add("not-in-force", "6-7\n", "0-3\n");
	add("parent", "0-5\n", "0-5\n");
	add("parent/cut", "2-3,6\n", "2-3\n");
	add("parent/end", "5-7\n", "5\n");
	temp_write(V2 "/inside/child/cgroup.procs", "17\n");
	temp_write(V2 "/across/cgroup.procs", "18\n");
	temp_write(V2 "/not-in-force/cgroup.procs", "19\n");
	temp_write(V2 "/parent/cut/cgroup.procs", "20\n");
	temp_write(V2 "/parent/end/cgroup.procs", "21\n");
	read_tree();
	add_task(17, "inside/child");
	add_task(18, "across");
	add_task(22, "inside");
	is_emptied("inside 4-5 (2: 17 load, 22 load); parent/end 5 (0: )",
		   "emptied, v2: those with tasks");
	set(machine.online, "0-4");
	is_emptied("inside 4 (2: 17 load, 22 load)", "emptied, v2: as far as they are online");
	end();
}

static void test_emptied_v1(void)
{
	begin(V1);
	add("a", "2-7\n", NULL);
	add("a/b", "4-5\n", NULL);
	add("c", "\n", NULL);
	add("idle", "4-5\n", NULL);
	temp_write(V1 "/a/b/tasks", "10\n");
	read_tree();
	for (pid_t tid = 10; tid < 21; tid++)
		add_task(tid, "a/b");
	is_emptied("a/b 4-5 (11: 10 load, 11 load, 12 load, 13 load, 14 load, 15 load, 16 load, 17 "
		   "load, ...)",
		   "emptied, v1: with the names of some");
	tasks.nr = 0;
	is_emptied("a/b 4-5 (0: )", "emptied, v1: of a copy of a machine no task is known");
	end();
}

/* ---- planning -------------------------------------------------------------------------------- */

static void test_plan_v1(void)
{
	begin(V1);
	add("a", "2-6\n", NULL);
	add("a/b", "3-5\n", NULL);
	add("a/c", "2-3\n", NULL);
	add("d", "0-3\n", NULL);
	add("e", "4-7\n", NULL);
	add("e/f", "6\n", NULL);
	add("new", "\n", NULL);
	read_tree();
	plan();
	is_plan("e/f 6>0-3, e 4-7>0-3, a/b 3-5>3, a 2-6>2-3", "v1: children before parents");
	is_int(step.lifetime, LIFETIME_UNTIL_RESTORE, "v1: until they are back");
	env.is_return = true;
	plan();
	is_plan("", "v1: nothing while they return");
	end();
}

static void test_plan_exclusive(void)
{
	begin(V1);
	add("a", "0-7\n", NULL);
	add("a/b", "4-5\n", NULL);
	add("a/c", "0-3\n", NULL);
	add("d", "6-7\n", NULL);
	add("d/e", "7\n", NULL);
	temp_write(V1 "/a/c/cpuset.cpu_exclusive", "1\n");
	temp_write(V1 "/d/cpuset.cpu_exclusive", "1\n");
	read_tree();
	add_task(10, "a/b");
	add_task(11, "d/e");
	add_task(12, "a");
	plan();
	is_plan("task 10 load /" V1 "/a/b>/" V1 "/a, task 11 load /" V1 "/d/e>/" V1 ", "
		"d/e 7>, d 6-7>, a/b 4-5>, a 0-7>0-3",
		"exclusive: those that may not borrow lose their tasks");
	is_int((long)step.items[0].stamp, 1000, "exclusive: the thread's start");
	end();
}

static void test_plan_v2(void)
{
	begin(V2);
	add("a", "2-6\n", "2-6\n");
	add("a/b", "4\n", "4\n");
	add("c", "5\n", "5\n");
	add("d", "0-1\n", "0-1\n");
	add("e", "5-6\n", "5-6\n");
	add("f", "\n", "0-7\n");
	temp_write(V2 "/e/cpuset.cpus.partition", "isolated\n");
	temp_write(V2 "/cpuset.cpus.effective", "0-2,4,7\n");
	read_tree();
	plan();
	is_plan("", "v2: nothing without a partition");
	env.evacuation = &by_partition;
	plan();
	/* e is demoted to a member before: then it is a sibling like the others */
	is_plan("a 2-6>2-3, c 5>0-2, e 5-6>0-2", "v2: siblings of the partition, and what is free");
	is_int(step.lifetime, LIFETIME_DURING, "v2: while CPUs change state");
	end();
}

/* Its file stays as it is, but the journal names it. */
static void test_plan_v2_emptied(void)
{
	begin(V2);
	add("a", "4-7\n", "4-7\n");
	add("a/b", "6\n", "6\n");
	add("idle", "6\n", "6\n");
	temp_write(V2 "/a/b/cgroup.procs", "17\n");
	read_tree();
	plan();
	is_plan("a 4-7>4-7, a/b 6>6", "v2, emptied: named");
	is_int(step.lifetime, LIFETIME_UNTIL_RESTORE, "v2, emptied: until they are back");
	apply();
	is_int(undo(), 0, "v2, emptied: undo");
	is_file(V2 "/a/b/cpuset.cpus", "6", "v2, emptied: nothing was written");
	env.evacuation = &by_partition;
	plan();
	is_plan("a 4-7>0-3, idle 6>0-3, a/b 6>6", "v2, emptied: beside the partition");
	env.is_return = true;
	plan();
	is_plan("a 4-7>0-3, idle 6>0-3", "v2, emptied: not while they return");
	end();
}

/* What another operation in force has taken is given back by the last one. */
static void test_plan_others(void)
{
	struct operation other = { 0 };
	const struct operation *others[] = { &other };
	struct step *others_step;
	struct stat st;

	begin(V1);
	add("a", "2-3\n", NULL);
	read_tree();
	if (stat(temp_path(V1 "/a"), &st) < 0)
		diag("no directory");
	others_step = operation_add_step(&other, &cpusets_kind);
	others_step->state = STATE_APPLIED;
	step_add_item(others_step, st.st_ino, "2-5", "2-3", "/" V1 "/a")->state = STATE_APPLIED;
	env.others = others;
	env.nr_others = 1;
	plan();
	is_plan("a 2-5>2-3", "others: what was before them");
	set(target, "6-7");
	plan();
	is_plan("", "others: it has none of these CPUs");
	operation_free(&other);
	end();
}

/* ---- partitions of others -------------------------------------------------------------------- */

static void add_partition(const char *cgroup, const char *cpus, const char *type)
{
	char name[256];

	add(cgroup, cpus, cpus);
	snprintf(name, sizeof(name), V2 "/%s/cpuset.cpus.partition", cgroup);
	temp_write(name, type);
}

static void is_type(const char *cgroup, const char *expected, const char *what)
{
	_cleanup_free_ char *text = NULL;

	is_int(root_read(root, &text, V2 "/%s/cpuset.cpus.partition", cgroup), 0, "%s: read", what);
	is_str(text, expected, "%s", what);
}

/* One that two operations have demoted is promoted by the last of them. */
static void test_partitions_of_others(void)
{
	struct operation first = { 0 };
	const struct operation *others[] = { &first };
	struct step *step_of_first, *step_of_second;
	struct operation second = { 0 };

	begin(V2);
	add_partition("p", "3-5\n", "root invalid (why)\n");
	add_partition("q", "1\n", "isolated\n");
	read_tree();
	step_of_first = operation_add_step(&first, &partition_others_kind);
	is_int(partition_others_kind.describe(step_of_first, &env), 0, "others: planned");
	is_int((long long)step_of_first->nr_items, 1, "others: the one that reaches in");
	is_str(step_of_first->items[0].before, "root", "others: what its owner wrote");
	is_int(partition_others_kind.apply(step_of_first, &env), 0, "others: applied");
	step_of_first->state = STATE_APPLIED;
	temp_write(V2 "/p/cpuset.cpus.partition", "member\n");
	cgroups_free(&cgroups);
	read_tree();
	env.others = others;
	env.nr_others = 1;
	step_of_second = operation_add_step(&second, &partition_others_kind);
	is_int(partition_others_kind.describe(step_of_second, &env), 0, "others, twice: planned");
	is_int((long long)step_of_second->nr_items, 1, "others, twice: taken over");
	is_str(step_of_second->items[0].before, "root", "others, twice: what it was before both");
	step_of_second->state = STATE_APPLIED;
	step_of_second->items[0].state = STATE_APPLIED;
	is_int(partition_others_kind.undo(step_of_second, &env), 0, "others, twice: one ends");
	is_type("p", "member", "others, twice: the other one still has it");
	env.nr_others = 0;
	is_int(partition_others_kind.undo(step_of_first, &env), 0,
	       "others, twice: both have ended");
	is_type("p", "rooter", "others, twice: promoted, written over the longer word");
	operation_free(&first);
	operation_free(&second);
	end();
}

/* Whether the controller that was switched on for the partition is switched off again. */
static void is_withdrawn(bool is_expected, const char *what)
{
	struct item *item;

	temp_write(V2 "/cgroup.subtree_control", "cpuset\n");
	step_free(&step);
	step = (struct step){ .kind = &partition_kind, .state = STATE_APPLIED };
	item = step_add_item(&step, 0, "-cpuset", "+cpuset", "/" V2 "/cgroup.subtree_control");
	if (item)
		item->state = STATE_APPLIED;
	is_int(partition_kind.undo(&step, &env), 0, "controller, %s: undo", what);
	is_file(V2 "/cgroup.subtree_control", is_expected ? "-cpuset" : "cpuset", what);
}

static void test_controller(void)
{
	begin(V2);
	is_withdrawn(true, "no cgroups");
	add("a", "\n", "0-7\n");
	add_partition("a", "\n", "member\n");
	is_withdrawn(true, "nothing is set");
	temp_write(V2 "/a/cpuset.mems", "0\n");
	is_withdrawn(false, "somebody has set something");
	unlink(temp_path(V2 "/a/cpuset.mems"));
	temp_mkdir(V2 "/a/cpuset.mems");
	is_withdrawn(false, "it cannot be read whether something is set");
	end();
}

/* ---- applying and undoing -------------------------------------------------------------------- */

/* The files are plain ones: texts of one length replace each other. */
static void test_undo_v1(void)
{
	static const struct {
		const char *before, *online, *now, *expected, *what;
		bool is_noted;
	} cases[] = {
		{ "2-6", "0-7", "2-3", "2-6", "all is back", false },
		{ "2-6", "0-5", "2-3", "2-5", "some are still off", false },
		{ "2-6", "0-3", "2-3", "2-3", "none of them is back", false },
		{ "2-6", "0-7", "2-4", "2-6", "another operation gave some back", false },
		{ "2-6", "0,3-7", "3", "3-6", "one more went offline", false },
		{ "2-6", "0-7", "0-1", "0-1", "somebody else's", true },
		{ "2-6", "0-7", "1-6", "1-6", "somebody widened it", true },
		{ "2-6", "0-7", "2", "2", "somebody narrowed it", true },
		{ "2-6", "0-7", "2-6", "2-6", "somebody gave them back", false },
		{ "5-7", "0-7", "0-3", "5-7", "it had borrowed", false },
		{ "5-7", "0-7", "0-2", "5-7", "it had borrowed, and lost one", false },
		{ "5-7", "0-3", "0-3", "0-3", "it has borrowed, still", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char file[16];

		begin(V1);
		snprintf(file, sizeof(file), "%s\n", cases[i].before);
		add("a", file, NULL);
		read_tree();
		plan();
		apply();
		snprintf(file, sizeof(file), "%s\n", cases[i].now);
		add("a", file, NULL);
		snprintf(file, sizeof(file), "%s\n", cases[i].online);
		temp_write("sys/devices/system/cpu/online", file);
		is_int(cases[i].is_noted ? cpusets_kind.undo(&step, &env) : undo(), 0, "undo: %s",
		       cases[i].what);
		is_file(V1 "/a/cpuset.cpus", cases[i].expected, cases[i].what);
		is_int(step.items[0].state, STATE_UNDONE, "undo: %s: done", cases[i].what);
		is_int((long)findings.nr, cases[i].is_noted, "undo: %s: noted", cases[i].what);
		end();
	}
}

static void test_undo_v2(const char *now, const char *expected)
{
	begin(V2);
	add("a", "2-6\n", "2-6\n");
	read_tree();
	env.evacuation = &by_partition;
	plan();
	apply();
	is_file(V2 "/a/cpuset.cpus", "2-3", "v2: narrowed");
	add("a", now, "0-7\n");
	is_int(undo(), 0, "v2: undo");
	is_file(V2 "/a/cpuset.cpus", expected, "v2: undone, comparing first");
	end();
}

static void test_gone(void)
{
	begin(V1);
	add("a", "2-6\n", NULL);
	add("b", "2-6\n", NULL);
	add("c", "2-6\n", NULL);
	read_tree();
	plan();
	rename(temp_path(V1 "/c"), temp_path(V1 "/x"));
	apply();
	is_int(step.items[0].state, STATE_UNDONE, "gone: nothing to apply");
	rename(temp_path(V1 "/a"), temp_path(V1 "/y"));
	rename(temp_path(V1 "/b"), temp_path(V1 "/z"));
	add("a", "1-2\n", NULL);
	is_int(undo(), 0, "gone: no error");
	ok(step.items[1].state == STATE_UNDONE && step.items[2].state == STATE_UNDONE,
	   "gone: nothing is left to undo");
	is_file(V1 "/a/cpuset.cpus", "1-2", "gone: another one of the name is left alone");
	end();
}

static void test_left_to_the_kernel(void)
{
	begin(V1);
	add("a", "2-6\n", NULL);
	read_tree();
	env.evacuation = &by_nothing;
	plan();
	apply();
	is_file(V1 "/a/cpuset.cpus", "2-6", "nothing is moved: nothing is written");
	is_int(step.items[0].state, STATE_APPLIED, "nothing is moved: but it will be put back");
	end();
}

/* A killed run may have come this far, or not. */
static void test_interrupted(void)
{
	begin(V1);
	add("a", "2-6\n", NULL);
	add("b", "2-6\n", NULL);
	read_tree();
	plan();
	step.state = STATE_APPLYING;
	add("b", "2-3\n", NULL);
	is_int(undo(), 0, "interrupted: undo");
	is_file(V1 "/a/cpuset.cpus", "2-6", "interrupted: not come to");
	is_file(V1 "/b/cpuset.cpus", "2-6", "interrupted: done");
	end();
}

static void write_thread(const char *start, const char *cpuset)
{
	char stat[256];

	snprintf(stat, sizeof(stat),
		 "10 (a ) b) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %s 0 0 0 0 0 0 0 0 0 0 0 0 0 "
		 "0 0 17 1 0 0 0 0 0\n",
		 start);
	temp_write("proc/10/stat", stat);
	temp_write("proc/10/cpuset", cpuset);
}

static void test_members(void)
{
	begin(V1);
	add("d", "6-7\n", NULL);
	temp_write(V1 "/d/cpuset.cpu_exclusive", "1\n");
	temp_write(V1 "/tasks", "\n");
	temp_write(V1 "/d/tasks", "\n");
	write_thread("1000", "/d\n");
	read_tree();
	add_task(10, "d");
	plan();
	step.nr_items = 1; /* a plain file cannot be emptied by a write */
	apply();
	is_file(V1 "/tasks", "10", "members: moved out");
	write_thread("1000", "/\n");
	is_int(undo(), 0, "members: undo");
	is_file(V1 "/d/tasks", "10", "members: moved back");

	step.state = step.items[0].state = STATE_APPLIED;
	temp_write(V1 "/d/tasks", "\n");
	write_thread("1000", "/other\n");
	is_int(undo(), 0, "members: undo of one that went elsewhere");
	is_file(V1 "/d/tasks", "", "members: it stays there");

	step.state = step.items[0].state = STATE_APPLIED;
	write_thread("2000", "/\n");
	is_int(undo(), 0, "members: undo of another thread with this number");
	is_file(V1 "/d/tasks", "", "members: it is left alone");
	step.nr_items = 2;
	end();
}

int main(void)
{
	machine = (struct machine){
		.nr_cpus = NR_CPUS,
		.possible = hwloc_bitmap_alloc(),
		.present = hwloc_bitmap_alloc(),
		.online = hwloc_bitmap_alloc(),
	};
	target = hwloc_bitmap_alloc();
	survivors = hwloc_bitmap_alloc();
	set(machine.present, "0-7");
	test_emptied_v2();
	test_emptied_v1();
	test_plan_v1();
	test_plan_exclusive();
	test_plan_v2();
	test_plan_v2_emptied();
	test_plan_others();
	test_partitions_of_others();
	test_controller();
	test_undo_v1();
	test_undo_v2("2-3\n", "2-6");
	test_undo_v2("0-1\n", "0-1");
	test_gone();
	test_left_to_the_kernel();
	test_interrupted();
	test_members();
	hwloc_bitmap_free(machine.possible);
	hwloc_bitmap_free(machine.present);
	hwloc_bitmap_free(machine.online);
	hwloc_bitmap_free(target);
	hwloc_bitmap_free(survivors);
	return done_testing();
}
