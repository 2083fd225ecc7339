/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-settings.c - tests of step kind cpu.settings: the values, and files that are not as expected */
#include "host/settings.h"

#include <errno.h>

#include "guard.h"
#include "tap.h"
#include "tree.h"

#define CPU_DIR "sys/devices/system/cpu"
#define FREQ	CPU_DIR "/cpufreq"
#define GROUP	"sys/fs/resctrl/db"
#define ZONE	"sys/class/powercap/intel-rapl:1"

static struct tree tree;

static void begin(const char *target)
{
	tree_make();
	tree_open(&tree, target);
}

static void end(void)
{
	tree_close(&tree);
	temp_remove();
}

/* The policy of CPUs 4-7, of amd-pstate, which forgets the preference. */
static void add_policy(void)
{
	temp_write(FREQ "/policy4/affected_cpus", "4 5 6 7\n");
	temp_write(FREQ "/policy4/scaling_driver", "amd-pstate-epp\n");
	temp_write(FREQ "/policy4/scaling_governor", "powersave\n");
	temp_write(FREQ "/policy4/energy_performance_preference", "power\n");
}

/* Cache 0 of the third level is of CPUs 0-3, cache 1 of 4-7. */
static void add_caches(void)
{
	for (unsigned int cpu = 0; cpu < 8; cpu++) {
		char name[80];

		snprintf(name, sizeof(name), CPU_DIR "/cpu%u/cache/index0/level", cpu);
		temp_write(name, "3\n");
		snprintf(name, sizeof(name), CPU_DIR "/cpu%u/cache/index0/id", cpu);
		temp_write(name, cpu < 4 ? "0\n" : "1\n");
		snprintf(name, sizeof(name), CPU_DIR "/cpu%u/cache/index0/shared_cpu_list", cpu);
		temp_write(name, cpu < 4 ? "0-3\n" : "4-7\n");
	}
}

static void add_groups(void)
{
	add_caches();
	temp_write("sys/fs/resctrl/cpus_list", "0-4\n");
	temp_write("sys/fs/resctrl/schemata", "    L3:0=ff;1=ff\n");
	temp_write(GROUP "/cpus_list", "3,5-7\n");
	temp_write(GROUP "/schemata", "    MB:0=100;1=50\nL3CODE:0=1;1=3\n    L3:0=f;1=f0\n");
}

static void take(void)
{
	is_int(tree_plan(&tree, &settings_kind), 0, "planned");
	is_int(tree_apply(&tree), 0, "recorded");
}

static void is_undone(int r, const char *what)
{
	is_int(tree_undo(&tree), r, "%s: undone", what);
}

static void is_file(const char *name, const char *expected, const char *what)
{
	const char *text = tree_read(&tree, name);

	/* a plain file keeps the end of what was longer */
	if (!ok(*expected ? !strncmp(text, expected, strlen(expected)) : !*text, "%s", what))
		diag("%s: \"%s\", expected \"%s\"", name, text, expected);
}

static void is_item_state(const char *object, enum step_state state, const char *what)
{
	const struct item *item = tree_item(&tree, object);

	is_str(item ? state_format(item->state) : NULL, state_format(state), "%s: %s", what,
	       object);
}

/* ---- frequencies ------------------------------------------------------------------------- */

static void test_policy(void)
{
	begin("4-7");
	add_policy();
	take();
	is_int((long long)tree.step.nr_items, 2, "the governor and the preference");
	temp_write(FREQ "/policy4/energy_performance_preference", "balance_power\n");
	temp_write(FREQ "/policy4/scaling_governor", "performance\n");
	is_undone(0, "a preference");
	is_file(FREQ "/policy4/energy_performance_preference", "power", "what is lost is written");
	is_file(FREQ "/policy4/scaling_governor", "performance", "what is kept is left");
	ok(tree_find(&tree, "setting-changed"), "and told");
	end();
}

static void test_eject(void)
{
	begin("4-7");
	add_policy();
	tree.request.eject = true;
	take();
	temp_write(FREQ "/policy4/scaling_governor", "performance\n");
	is_undone(0, "after an ejection");
	is_file(FREQ "/policy4/scaling_governor", "powersave", "all is written");
	ok(!tree_find(&tree, "setting-changed"), "and nothing told");
	end();
}

static void test_not_for(void)
{
	begin("5-7");
	add_policy();
	is_int(tree_plan(&tree, &settings_kind), 0, "a policy that keeps a CPU: planned");
	is_int((long long)tree.step.nr_items, 0, "nothing is lost");
	temp_write(FREQ "/policy4/affected_cpus", "nonsense\n");
	is_int(tree_plan(&tree, &settings_kind), 0, "a policy whose CPUs cannot be read: planned");
	is_int((long long)tree.step.nr_items, 0, "it is left");
	unlink(temp_path(FREQ "/policy4/scaling_governor"));
	temp_write(FREQ "/policy4/affected_cpus", "5 6 7\n");
	is_int(tree_plan(&tree, &settings_kind), 0, "a policy without a governor: planned");
	is_int((long long)tree.step.nr_items, 1, "its preference alone");
	tree.env.is_return = true;
	is_int(tree_plan(&tree, &settings_kind), 0, "on the way back: planned");
	is_int((long long)tree.step.nr_items, 0, "nothing");
	end();
}

/* A file that is gone is nobody's fault; one that cannot be read or written keeps its item. */
static void test_failures(void)
{
	begin("4-7");
	add_policy();
	temp_write(CPU_DIR "/cpu4/power/energy_perf_bias", "6\n");
	take();
	unlink(temp_path(FREQ "/policy4/energy_performance_preference"));
	is_undone(0, "a file that is gone");
	is_item_state("/" FREQ "/policy4/energy", STATE_UNDONE, "a file that is gone");
	take();
	end();
	begin("4-7");
	add_policy();
	temp_write(ZONE "/name", "package-1\n");
	temp_write(ZONE "/constraint_0_power_limit_uw", "150\n");
	take();
	unlink(temp_path(FREQ "/policy4/energy_performance_preference"));
	temp_mkdir(FREQ "/policy4/energy_performance_preference");
	temp_write(ZONE "/constraint_0_power_limit_uw", "200\n");
	is_undone(-EISDIR, "a file that cannot be read");
	is_item_state("/" FREQ "/policy4/energy", STATE_APPLIED, "a file that cannot be read");
	is_int(tree_item(&tree, "/" FREQ "/policy4/energy")->error, EISDIR, "the error is kept");
	is_file(ZONE "/constraint_0_power_limit_uw", "150", "the others are put back");
	ok(step_is_in_force(&tree.step), "and it can be tried again");
	end();
}

/* ---- packages ---------------------------------------------------------------------------- */

static void test_zones(void)
{
	begin("4-7");
	temp_write(ZONE "/name", "package-1\n");
	temp_write(ZONE "/enabled", "1\n");
	temp_write(ZONE ":0/name", "dram\n");
	temp_write(ZONE ":0/enabled", "1\n");
	take();
	is_int((long long)tree.step.nr_items, 2, "a package, and what is in it");
	temp_write(ZONE "/name", "package-0\n");
	temp_write(ZONE "/enabled", "0\n");
	temp_write("sys/class/powercap/intel-rapl:12/name", "package-1\n");
	temp_write("sys/class/powercap/intel-rapl:12/enabled", "0\n");
	temp_write("sys/class/powercap/intel-rapl:12:0/enabled", "0\n");
	is_undone(0, "another number");
	is_file("sys/class/powercap/intel-rapl:12/enabled", "1", "the zone is found by its name");
	is_file("sys/class/powercap/intel-rapl:12:0/enabled", "1", "and what is in it");
	is_file(ZONE "/enabled", "0", "that of another package is left");
	take();
	end();
	begin("4-7");
	temp_write(ZONE "/name", "package-1\n");
	temp_write(ZONE "/enabled", "1\n");
	take();
	temp_write(ZONE "/enabled", "0\n");
	unlink(temp_path(ZONE "/name"));
	temp_mkdir(ZONE "/name");
	is_undone(-EISDIR, "a zone that does not tell its name");
	ok(step_is_in_force(&tree.step), "it can be tried again");
	rmdir(temp_path(ZONE "/name"));
	temp_write(ZONE "/name", "psys\n");
	is_undone(0, "a package without a zone any more");
	is_file(ZONE "/enabled", "0", "nothing is written");
	end();
}

static void test_temperatures(void)
{
	begin("4-7");
	temp_write("sys/class/thermal/thermal_zone3/type", "x86_pkg_temp\n");
	temp_write("sys/class/thermal/thermal_zone3/trip_point_0_temp", "80000\n");
	is_int(tree_plan(&tree, &settings_kind), 0, "one zone for two packages: planned");
	is_int((long long)tree.step.nr_items, 0, "nobody knows whose it is");
	temp_write("sys/class/thermal/thermal_zone5/type", "x86_pkg_temp\n");
	temp_write("sys/class/thermal/thermal_zone5/trip_point_0_temp", "85000\n");
	take();
	is_int((long long)tree.step.nr_items, 1, "two zones: the second is package 1's");
	temp_write("sys/class/thermal/thermal_zone5/trip_point_0_temp", "0\n");
	is_undone(0, "its trip");
	is_file("sys/class/thermal/thermal_zone5/trip_point_0_temp", "85000", "is written");
	end();
}

/* ---- resctrl ----------------------------------------------------------------------------- */

static void test_schemata(void)
{
	begin("4-7");
	add_groups();
	take();
	ok(tree_item(&tree, "/" GROUP "/schemata L3:1") &&
		   tree_item(&tree, "/" GROUP "/schemata L3CODE:1") &&
		   tree_item(&tree, "/" GROUP "/schemata MB:1") &&
		   !tree_item(&tree, "/" GROUP "/schemata L3:0"),
	   "the lines of the cache that loses its CPUs");
	/* L3 begins like L3CODE, 1 like 11, f0 like f00 */
	temp_write(GROUP "/schemata", "MB:0=100;1=50\nL3CODE:0=1;1=3\nL3:0=f;11=f0;1=f00\n");
	is_undone(0, "one line differs");
	is_file(GROUP "/schemata", "L3:1=f0", "it alone is written");
	end();
	begin("4-7");
	add_groups();
	take();
	temp_write(GROUP "/schemata", "L3:0=f\n");
	is_undone(0, "the domain is still off");
	is_file(GROUP "/schemata", "L3:0=f", "nothing is written");
	is_item_state("/" GROUP "/schemata L3:1", STATE_UNDONE, "the domain is still off");
	end();
}

static void test_group_cpus(void)
{
	struct operation other = { .claim = NULL };
	const struct operation *others[] = { &other };
	const struct item *item;

	begin("6-7");
	add_groups();
	take();
	item = tree_item(&tree, "/" GROUP "/cpus_list");
	ok(item && !strcmp(item->before, "3,5-7") && !strcmp(item->after, "3,5"),
	   "a group that loses two CPUs");
	temp_write(GROUP "/cpus_list", "2-3\n");
	is_undone(0, "others have changed it");
	is_file(GROUP "/cpus_list", "2-3,6,7", "only ours are added");
	end();
	begin("6-7");
	add_groups();
	other.claim = hwloc_bitmap_alloc();
	hwloc_bitmap_only(other.claim, 6);
	take();
	tree.env.others = others;
	tree.env.nr_others = 1;
	temp_write(GROUP "/cpus_list", "3,5\n");
	is_undone(0, "another operation keeps one off");
	is_file(GROUP "/cpus_list", "3,5,7", "that one is not added");
	hwloc_bitmap_free(other.claim);
	end();
	begin("6-7");
	add_groups();
	take();
	unlink(temp_path(GROUP "/cpus_list"));
	unlink(temp_path(GROUP "/schemata"));
	is_undone(0, "the group was removed");
	is_item_state("/" GROUP "/cpus_list", STATE_UNDONE, "the group was removed");
	end();
}

/* A journal may be anything. */
static void test_strange_items(void)
{
	static const struct {
		unsigned long long id;
		const char *object, *what;
	} strange[] = {
		{ 3, "/" GROUP "/schemata", "schemata without a resource" },
		{ 3, "/" GROUP "/schemata L3", "schemata without a cache" },
	};

	begin("4-7");
	add_groups();
	for (size_t i = 0; i < ARRAY_SIZE(strange); i++) {
		step_free(&tree.step);
		tree.step = (struct step){ .kind = &settings_kind };
		step_add_item(&tree.step, strange[i].id, "f", "f", "%s", strange[i].object);
		is_int(tree_apply(&tree), 0, "%s", strange[i].what);
		is_undone(-EINVAL, strange[i].what);
	}
	end();
}

/* Whichever allocation fails: an error, and never less on record. */
static void test_without_memory(void)
{
	size_t nr = 0, nr_good = 0, nr_items;
	bool was_reached = true;

	begin("4-7");
	add_policy();
	add_groups();
	temp_write(ZONE "/name", "package-1\n");
	temp_write(ZONE "/enabled", "1\n");
	temp_write(CPU_DIR "/cpu4/cpuidle/state0/disable", "1\n");
	is_int(tree_plan(&tree, &settings_kind), 0, "with memory");
	nr_items = tree.step.nr_items;
	ok(nr_items > 6, "there is much on record");
	while (was_reached && nr < 3000) {
		int r;

		step_free(&tree.step);
		tree.step = (struct step){ .kind = &settings_kind };
		guard_fail_at(++nr);
		r = settings_kind.describe(&tree.step, &tree.env);
		was_reached = guard_end() >= nr;
		nr_good += r == -ENOMEM || (!r && tree.step.nr_items == nr_items);
	}
	is_int((long long)nr_good, (long long)nr, "no failing allocation leaves anything out");
	end();
}

/* The way back must not want any. */
static void test_undo_allocates_nothing(void)
{
	begin("4-7");
	add_policy();
	add_groups();
	take();
	temp_write(FREQ "/policy4/energy_performance_preference", "balance_power\n");
	temp_write(GROUP "/schemata", "L3:0=f;1=ff\n");
	temp_write(GROUP "/cpus_list", "3\n");
	guard_begin();
	tree.env.is_return = true;
	tree.step.kind->undo(&tree.step, &tree.env);
	is_int((long long)guard_end(), 0, "undoing allocates nothing");
	end();
}

int main(void)
{
	test_policy();
	test_eject();
	test_not_for();
	test_failures();
	test_zones();
	test_temperatures();
	test_schemata();
	test_group_cpus();
	test_strange_items();
	if (guard_can_fail())
		test_without_memory();
	if (guard_can_see())
		test_undo_allocates_nothing();
	return done_testing();
}
