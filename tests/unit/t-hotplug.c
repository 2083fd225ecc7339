/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-hotplug.c - tests of taking CPUs offline and putting them back, with the real step kinds */
#include "host/hotplug.h"

#include <errno.h>

#include "core/kinds.h"
#include "core/plan.h"
#include "guard.h"
#include "host/boost.h"
#include "host/methods.h"
#include "host/rcu.h"
#include "host/partition.h"
#include "host/trace.h"
#include "scene.h"
#include "tap.h"

#define BUSY_SECONDS 10.0

/* CPUs 4-7 of 8, from the highest down. */
static void open_scene(struct scene *scene)
{
	fake_reset(8);
	scene_open(scene, "4-7", SCENE_ID);
}

static bool is_outcome(enum outcome outcome, enum outcome expected, const char *what)
{
	return is_str(scene_outcome(outcome), scene_outcome(expected), "%s: the outcome", what);
}

static void is_as_before(const struct scene *scene, const char *what)
{
	is_str(fake_online(), "0-7", "%s: all CPUs are online", what);
	is_int(fake.rcu_expedited, 0, "%s: rcu_expedited is as before", what);
	is_int(fake_nr_journals(), 0, "%s: no journal is left", what);
	is_str(scene_changed(scene), "", "%s: no CPU is reported as gone", what);
	ok(!fake.was_unsaved, "%s: nothing was written without a journal", what);
}

static const struct step *find_step(const struct operation *operation, const struct step_kind *kind)
{
	for (size_t i = 0; i < operation->nr_steps; i++)
		if (operation->steps[i].kind == kind)
			return &operation->steps[i];
	return NULL;
}

static const struct item *find_cpu(const struct operation *operation, unsigned int cpu)
{
	const struct step *step = find_step(operation, &hotplug_kind);

	for (size_t i = 0; step && i < step->nr_items; i++)
		if (step->items[i].id == cpu)
			return &step->items[i];
	return NULL;
}

static void is_item(const struct scene *scene, unsigned int cpu, enum step_state state, int error,
		    const char *what)
{
	const struct item *item = find_cpu(&scene->operation, cpu);

	is_str(item ? state_format(item->state) : NULL, state_format(state), "%s: state of cpu %u",
	       what, cpu);
	is_int(item ? item->error : -1, error, "%s: errno of cpu %u", what, cpu);
}

/* ---- the plan ---------------------------------------------------------------------------- */

static size_t place_of(const struct step_kind *kind)
{
	for (size_t i = 0; kinds[i]; i++)
		if (kinds[i] == kind)
			return i;
	return SIZE_MAX;
}

static void test_kinds(void)
{
	size_t nr = 0;

	for (; kinds[nr]; nr++) {
		const struct step_kind *kind = kinds[nr];

		ok(kinds_find(kind->name) == kind, "%s is found by its name", kind->name);
		ok(kind->describe && kind->apply && kind->undo,
		   "%s can be described, applied, undone", kind->name);
		ok(kind->is_per_cpu == (kind->undo_rank == UNDO_RANK_CPUS),
		   "%s: CPUs, and they alone, have their rank", kind->name);
		if (kind->lifetime == LIFETIME_UNTIL_RESTORE)
			ok(kind->undo_rank < rcu_kind.undo_rank, "%s is undone before rcu.expedite",
			   kind->name);
	}
	ok(!kinds_find("cpu.offlin") && !kinds_find(""), "other names are no kinds");
	is_int((long long)place_of(&rcu_kind), 0, "rcu.expedite is applied first");
	is_int((long long)place_of(&boost_kind), 1, "then task.boost");
	is_int((long long)place_of(&trace_kind), 2, "then trace.instance");
	is_int((long long)place_of(&hotplug_kind), (long long)nr - 3,
	       "cpu.offline last, but for what gives the CPUs away");
	ok(trace_kind.undo_rank > rcu_kind.undo_rank, "trace.instance is undone last");
}

static void test_plan(void)
{
	const struct step *step;
	struct scene scene;

	open_scene(&scene);
	step = find_step(&scene.operation, &hotplug_kind);
	is_int(scene.plan_error, 0, "a plan");
	is_str(fake.log, "", "planning changes nothing");
	is_int((long long)scene.operation.nr_places, 4, "the place of each CPU is kept");
	is_int(scene.operation.places[1].cpu, 5, "cpu 5");
	is_int(scene.operation.places[1].socket, 1, "cpu 5: its socket");
	is_int(scene.operation.places[1].core, 2, "cpu 5: its core");
	is_int(scene.operation.places[1].thread, 1, "cpu 5: its thread");
	for (size_t i = 0; step && i < 4; i++)
		is_int((long long)step->items[i].id, (long long)(7 - i),
		       "item %zu, the highest first", i);
	is_str(step ? step->items[0].object : NULL, "cpu 7", "the object");
	is_str(step ? step->items[0].before : NULL, "1", "before");
	is_str(step ? step->items[0].after : NULL, "0", "after");
	ok(!operation_is_in_force(&scene.operation), "a plan is not in force");
	scene_close(&scene);
}

static bool has_finding(const struct scene *scene, const char *rule)
{
	for (size_t i = 0; i < scene->findings.nr; i++)
		if (!strcmp(scene->findings.list[i].rule, rule))
			return true;
	return false;
}

static void test_plan_of_rcu(long expedited, long normal, bool no_expedite, bool is_there,
			     bool is_noted)
{
	struct scene scene;

	fake_reset(8);
	fake.rcu_expedited = expedited;
	fake.rcu_normal = normal;
	scene_init(&scene, "4-7", SCENE_ID);
	scene.request.no_expedite = no_expedite;
	scene_plan(&scene);
	is_int(scene.plan_error, 0, "rcu_expedited %ld, rcu_normal %ld, no_expedite %d", expedited,
	       normal, no_expedite);
	ok(!!find_step(&scene.operation, &rcu_kind) == is_there, "rcu.expedite is %s",
	   is_there ? "planned" : "left out");
	ok(has_finding(&scene, "rcu-normal") == is_noted, "with%s a note", is_noted ? "" : "out");
	is_outcome(scene_take(&scene), OUTCOME_DONE, "with or without it");
	is_int(fake.rcu_expedited, expedited, "the counter afterwards");
	scene_close(&scene);
}

static void test_plan_of_trace(bool is_live, bool has_tracefs, unsigned long memory_kib,
			       bool is_there, bool is_noted)
{
	struct scene scene;

	fake_reset(8);
	fake.is_live = is_live;
	fake.has_tracefs = has_tracefs;
	scene_init(&scene, "4-7", SCENE_ID);
	scene.machine.memory_free_kib = memory_kib;
	scene_plan(&scene);
	ok(!!find_step(&scene.operation, &trace_kind) == is_there,
	   "live %d, tracefs %d, %lu KiB: trace.instance is %s", is_live, has_tracefs, memory_kib,
	   is_there ? "planned" : "left out");
	ok(has_finding(&scene, "trace-left-out") == is_noted, "with%s a note",
	   is_noted ? "" : "out");
	scene_close(&scene);
}

static void test_pick(void)
{
	const struct method *method = NULL;
	char why_not[128] = "";
	struct scene scene;

	open_scene(&scene);
	is_int(methods_pick("auto", &scene.env, &method, why_not, sizeof(why_not)), 0,
	       "some method is usable");
	ok(method, "it is given");
	is_int(methods_pick("sequential", &scene.env, &method, why_not, sizeof(why_not)), 0,
	       "sequential is usable");
	is_str(method->name, "sequential", "its name");
	is_int(methods_pick("Sequential", &scene.env, &method, why_not, sizeof(why_not)), -EINVAL,
	       "another name is none");
	is_int(methods_pick("", &scene.env, &method, why_not, sizeof(why_not)), -EINVAL,
	       "nor is no name");
	scene_close(&scene);
}

/* ---- success ----------------------------------------------------------------------------- */

static void test_success(void)
{
	struct scene scene;

	open_scene(&scene);
	is_outcome(scene_take(&scene), OUTCOME_DONE, "success");
	is_str(fake.log, "rcu=1 cpu7=0 cpu6=0 cpu5=0 cpu4=0 rcu=0", "success: the writes");
	is_str(fake_online(), "0-3", "success: the CPUs");
	is_str(scene_changed(&scene), "4-7", "success: those that went");
	is_str(scene_claim(SCENE_ID), "4-7", "success: the claim of the journal");
	is_item(&scene, 7, STATE_APPLIED, 0, "success");
	ok(find_cpu(&scene.operation, 7)->seconds > 0.2, "success: its time is kept");
	ok(scene.run.seconds > 0.9, "success: the time of all is kept");
	scene_close(&scene);
}

static void test_success_with_trace(void)
{
	struct scene scene;

	fake_reset(8);
	fake.is_live = fake.has_tracefs = true;
	scene_open(&scene, "4-5", SCENE_ID);
	is_outcome(scene_take(&scene), OUTCOME_DONE, "with a trace");
	is_str(fake.log, "rcu=1 cpu5=0 cpu4=0 rcu=0", "with a trace: it is not needed");
	ok(!scene.env.trace_instance, "with a trace: none is in force afterwards");
	scene_close(&scene);
}

/* A cpuoff that was killed left its instance: it is taken over, and removed at the end. */
static void test_leftover_trace(void)
{
	struct scene scene;

	fake_reset(8);
	fake.is_live = fake.has_tracefs = fake.has_instance = true;
	scene_open(&scene, "4-5", SCENE_ID);
	is_outcome(scene_take(&scene), OUTCOME_DONE, "with an instance that was left");
	ok(!fake.has_instance, "the instance is removed");
	scene_close(&scene);
}

static void test_help_fails(int trace_error, int rcu_error)
{
	struct scene scene;

	fake_reset(8);
	fake.is_live = fake.has_tracefs = true;
	fake.trace_error = trace_error;
	if (rcu_error)
		fake_add((struct fake_rule){ .event = FAKE_FAIL,
					     .cpu = FAKE_RCU,
					     .direction = FAKE_UP,
					     .error = rcu_error });
	scene_open(&scene, "4-5", SCENE_ID);
	is_outcome(scene_take(&scene), OUTCOME_DONE, "without help");
	is_str(fake_online(), "0-3,6-7", "trace fails with %d, rcu with %d: no obstacle",
	       trace_error, rcu_error);
	is_int(fake.rcu_expedited, 0, "the counter is as before");
	scene_close(&scene);
}

/* What cannot be lowered again is not passed over: the journal keeps it for a restore. */
static void test_help_stays(bool is_rollback)
{
	struct scene scene;

	open_scene(&scene);
	fake_add((struct fake_rule){ .event = FAKE_FAIL, .cpu = FAKE_RCU, .error = EIO });
	if (is_rollback)
		fake_add((struct fake_rule){ .event = FAKE_FAIL, .cpu = 5, .error = EAGAIN });
	is_outcome(scene_take(&scene), OUTCOME_FAILED, "rcu_expedited cannot be lowered");
	is_str(scene_claim(SCENE_ID), is_rollback ? "" : "4-7", "rollback %d: the journal is kept",
	       is_rollback);
	ok(step_is_in_force(find_step(&scene.operation, &rcu_kind)), "rollback %d: with this step",
	   is_rollback);
	scene_close(&scene);
}

/* Another program counts as well: one is added, one subtracted, never set. */
static void test_foreign_count(void)
{
	struct scene scene;

	fake_reset(8);
	fake.rcu_expedited = 3;
	scene_open(&scene, "4-5", SCENE_ID);
	fake.rcu_expedited = 5;
	is_outcome(scene_take(&scene), OUTCOME_DONE, "somebody else raises rcu_expedited");
	is_str(fake.log, "rcu=6 cpu5=0 cpu4=0 rcu=5", "it is counted on from what is there");
	scene_close(&scene);
}

/* ---- failures and the way back ----------------------------------------------------------- */

static const struct position {
	int cpu;
	const char *log;
	const char *stopped; /* with --on-error=stop, NULL: rolled back */
	const char *continued;
} positions[] = {
	{ 7, "rcu=1 cpu7!0 rcu=0", NULL, "4-6" },
	{ 6, "rcu=1 cpu7=0 cpu6!0 cpu7=1 rcu=0", "7", "4-5,7" },
	{ 5, "rcu=1 cpu7=0 cpu6=0 cpu5!0 cpu6=1 cpu7=1 rcu=0", "6-7", "4,6-7" },
	{ 4, "rcu=1 cpu7=0 cpu6=0 cpu5=0 cpu4!0 cpu6=1 cpu5=1 cpu7=1 rcu=0", "5-7", "5-7" },
};

static void fail_cpu(int cpu, enum fake_direction direction, int error, int times)
{
	fake_add((struct fake_rule){ .event = FAKE_FAIL,
				     .cpu = cpu,
				     .direction = direction,
				     .error = error,
				     .times = times });
}

static void test_failure(const struct position *position, int error)
{
	struct scene scene;

	open_scene(&scene);
	fail_cpu(position->cpu, FAKE_DOWN, error, 0);
	is_outcome(scene_take(&scene), OUTCOME_ROLLED_BACK, util_errno_name(error));
	is_str(fake.log, position->log, "cpu %d fails: first threads return first, rcu last",
	       position->cpu);
	is_as_before(&scene, util_errno_name(error));
	is_item(&scene, (unsigned int)position->cpu, STATE_FAILED, error, util_errno_name(error));
	ok(scene.run.failed_step == find_step(&scene.operation, &hotplug_kind),
	   "the step is named");
	scene_close(&scene);
}

static void test_stop(const struct position *position)
{
	struct scene scene;

	open_scene(&scene);
	scene.request.on_error = ON_ERROR_STOP;
	fail_cpu(position->cpu, FAKE_DOWN, ENOSPC, 0);
	is_outcome(scene_take(&scene), position->stopped ? OUTCOME_PARTIAL : OUTCOME_ROLLED_BACK,
		   "stop");
	is_str(scene_claim(SCENE_ID), position->stopped ? position->stopped : "none",
	       "stop at cpu %d: the claim", position->cpu);
	is_str(scene_changed(&scene), position->stopped ? position->stopped : "",
	       "stop: those that went");
	is_int(fake.rcu_expedited, 0, "stop: rcu_expedited is as before");
	scene_close(&scene);
}

static void test_continue(const struct position *position)
{
	struct scene scene;

	open_scene(&scene);
	scene.request.on_error = ON_ERROR_CONTINUE;
	fail_cpu(position->cpu, FAKE_DOWN, EAGAIN, 0);
	is_outcome(scene_take(&scene), OUTCOME_PARTIAL, "continue");
	is_str(scene_claim(SCENE_ID), position->continued, "continue after cpu %d: the claim",
	       position->cpu);
	is_str(scene_changed(&scene), position->continued, "continue: those that went");
	is_int(fake.nr_writes, 4, "continue: a CPU that failed is not tried again");
	is_int(fake.rcu_expedited, 0, "continue: rcu_expedited is as before");
	scene_close(&scene);
}

static void test_continue_with_none(void)
{
	struct scene scene;

	open_scene(&scene);
	scene.request.on_error = ON_ERROR_CONTINUE;
	fail_cpu(FAKE_ANY_CPU, FAKE_DOWN, EPERM, 0);
	is_outcome(scene_take(&scene), OUTCOME_ROLLED_BACK, "continue, and none goes");
	is_as_before(&scene, "continue, and none goes");
	scene_close(&scene);
}

/* The rollback cannot bring one CPU back: the others are, and the journal keeps that one alone. */
static void test_rollback_failure(int cpu, int error, enum fake_event event)
{
	struct scene scene;
	char left[16];

	open_scene(&scene);
	fail_cpu(4, FAKE_DOWN, EAGAIN, 0);
	fake_add((struct fake_rule){
		.event = event, .cpu = cpu, .direction = FAKE_UP, .error = error });
	is_outcome(scene_take(&scene), OUTCOME_FAILED, "a rollback that fails");
	snprintf(left, sizeof(left), "%d", cpu);
	is_str(scene_claim(SCENE_ID), left, "cpu %d stays away: the claim", cpu);
	is_str(scene_changed(&scene), left, "cpu %d stays away: it alone is gone", cpu);
	is_int(cpus_count(scene.machine.online), 8, "(of eight)");
	ok(!fake.online[cpu] && fake.online[4], "cpu %d stays away: the others are back", cpu);
	is_int(fake.rcu_expedited, 0, "cpu %d stays away: rcu_expedited is as before", cpu);
	is_item(&scene, (unsigned int)cpu, STATE_APPLIED, event == FAKE_LIE ? EPROTO : error,
		"a rollback that fails");
	scene_close(&scene);
}

/* ---- EBUSY and EAGAIN -------------------------------------------------------------------- */

static void test_busy_for_a_moment(enum fake_direction direction)
{
	struct scene scene;

	open_scene(&scene);
	fail_cpu(6, direction, EBUSY, 2);
	if (direction == FAKE_UP)
		fail_cpu(4, FAKE_DOWN, ENOSPC, 0);
	is_outcome(scene_take(&scene), direction == FAKE_UP ? OUTCOME_ROLLED_BACK : OUTCOME_DONE,
		   "EBUSY twice");
	ok(strstr(fake.log, direction == FAKE_UP ? "cpu6!1 cpu6!1 cpu6=1" : "cpu6!0 cpu6!0 cpu6=0"),
	   "EBUSY is tried again");
	if (direction == FAKE_DOWN)
		is_item(&scene, 6, STATE_APPLIED, 0, "EBUSY twice");
	scene_close(&scene);
}

static void test_busy_for_ever(void)
{
	struct scene scene;
	double start;

	open_scene(&scene);
	fail_cpu(7, FAKE_DOWN, EBUSY, 0);
	start = fake.clock;
	is_outcome(scene_take(&scene), OUTCOME_ROLLED_BACK, "EBUSY for ever");
	ok(fake.nr_writes > 5, "it is tried again and again");
	ok(fake.clock - start > BUSY_SECONDS / 2, "for a while");
	ok(fake.clock - start < BUSY_SECONDS + 1, "and ten seconds at most");
	is_as_before(&scene, "EBUSY for ever");
	is_item(&scene, 7, STATE_FAILED, EBUSY, "EBUSY for ever");
	scene_close(&scene);
}

static void test_busy_and_signal(void)
{
	struct scene scene;

	open_scene(&scene);
	fail_cpu(7, FAKE_DOWN, EBUSY, 0);
	fake_add((struct fake_rule){ .event = FAKE_SIGNAL, .cpu = 7, .write = 2 });
	is_outcome(scene_take(&scene), OUTCOME_ROLLED_BACK, "a signal between two tries");
	is_int(fake.nr_writes, 2, "there is no further try");
	ok(scene.run.was_interrupted, "the signal is reported");
	is_as_before(&scene, "a signal between two tries");
	scene_close(&scene);
}

static void test_never_again(int error)
{
	struct scene scene;

	open_scene(&scene);
	fail_cpu(7, FAKE_DOWN, error, 1);
	is_outcome(scene_take(&scene), OUTCOME_ROLLED_BACK, util_errno_name(error));
	is_int(fake.nr_writes, 1, "%s is never tried again", util_errno_name(error));
	scene_close(&scene);
}

/* ---- only the mask counts ---------------------------------------------------------------- */

static void test_lie(void)
{
	struct scene scene;

	open_scene(&scene);
	fake_add((struct fake_rule){ .event = FAKE_LIE, .cpu = 5 });
	is_outcome(scene_take(&scene), OUTCOME_ROLLED_BACK, "a write that changes nothing");
	is_str(fake.log, "rcu=1 cpu7=0 cpu6=0 cpu5=0 cpu6=1 cpu7=1 rcu=0",
	       "its success is not believed");
	is_as_before(&scene, "a write that changes nothing");
	is_item(&scene, 5, STATE_FAILED, EPROTO, "a write that changes nothing");
	scene_close(&scene);
}

/* The kernel answers with an error, and the CPU has gone all the same. */
static void test_wrong_error(void)
{
	struct scene scene;

	open_scene(&scene);
	fail_cpu(5, FAKE_DOWN, EIO, 0);
	fake_add((struct fake_rule){ .event = FAKE_MEDDLE,
				     .cpu = 5,
				     .direction = FAKE_DOWN,
				     .other = 5,
				     .is_online = false });
	is_outcome(scene_take(&scene), OUTCOME_DONE, "an error, and the CPU is off");
	is_str(scene_claim(SCENE_ID), "4-7", "it is one of those that went");
	scene_close(&scene);
}

/* Somebody brings each CPU back, once. It is taken again. */
static void test_brought_back(int times, enum outcome expected)
{
	struct scene scene;

	open_scene(&scene);
	fake_add((struct fake_rule){ .event = FAKE_MEDDLE,
				     .cpu = 4,
				     .direction = FAKE_DOWN,
				     .times = times,
				     .other = 7,
				     .is_online = true });
	fake_add((struct fake_rule){ .event = FAKE_MEDDLE,
				     .cpu = 7,
				     .direction = FAKE_DOWN,
				     .times = times,
				     .other = 6,
				     .is_online = true });
	is_outcome(scene_take(&scene), expected, "somebody brings CPUs back");
	is_str(fake_online(), expected == OUTCOME_DONE ? "0-3" : "0-7", "%d times: the CPUs",
	       times);
	scene_close(&scene);
}

static void test_quarrel(void)
{
	struct scene scene;

	open_scene(&scene);
	fake_add((struct fake_rule){ .event = FAKE_MEDDLE,
				     .cpu = FAKE_ANY_CPU,
				     .direction = FAKE_DOWN,
				     .other = 7,
				     .is_online = true });
	is_outcome(scene_take(&scene), OUTCOME_ROLLED_BACK, "somebody brings a CPU back for ever");
	is_as_before(&scene, "somebody brings a CPU back for ever");
	scene_close(&scene);
}

/* Somebody takes one of the CPUs before its turn: it is theirs, whatever becomes of the others. */
static void test_taken(enum outcome expected)
{
	bool is_failing = expected == OUTCOME_ROLLED_BACK;
	struct scene scene;

	open_scene(&scene);
	fake_add((struct fake_rule){ .event = FAKE_MEDDLE,
				     .cpu = 7,
				     .direction = FAKE_DOWN,
				     .other = 5,
				     .is_online = false });
	if (is_failing)
		fail_cpu(4, FAKE_DOWN, EIO, 0);
	is_outcome(scene_take(&scene), expected, "somebody takes a CPU before its turn");
	is_str(fake.log,
	       is_failing ? "rcu=1 cpu7=0 cpu6=0 cpu4!0 cpu6=1 cpu7=1 rcu=0"
			  : "rcu=1 cpu7=0 cpu6=0 cpu4=0 rcu=0",
	       "%s: it is not written to", scene_outcome(expected));
	is_str(fake_online(), is_failing ? "0-4,6-7" : "0-3", "%s: it stays off",
	       scene_outcome(expected));
	is_str(scene_claim(SCENE_ID), is_failing ? "none" : "4,6-7", "%s: no journal claims it",
	       scene_outcome(expected));
	is_str(scene_changed(&scene), is_failing ? "" : "4,6-7", "%s: it is no change of ours",
	       scene_outcome(expected));
	scene_close(&scene);
}

/* The same, and they bring it back: it is part of what was asked for, and then it is ours. */
static void test_taken_and_back(void)
{
	struct scene scene;

	open_scene(&scene);
	fake_add((struct fake_rule){ .event = FAKE_MEDDLE, .cpu = 7, .other = 5 });
	fake_add((struct fake_rule){
		.event = FAKE_MEDDLE, .cpu = 4, .other = 5, .is_online = true });
	is_outcome(scene_take(&scene), OUTCOME_DONE, "somebody takes a CPU and brings it back");
	is_str(fake.log, "rcu=1 cpu7=0 cpu6=0 cpu4=0 cpu5=0 rcu=0", "then it is taken");
	is_str(scene_claim(SCENE_ID), "4-7", "and claimed");
	scene_close(&scene);
}

/* The set is read again before the first CPU is written to: one that went meanwhile was not ours.
 */
static void test_late_stale(enum on_error on_error)
{
	struct scene scene;

	open_scene(&scene);
	scene.request.on_error = on_error;
	fake_add((struct fake_rule){ .event = FAKE_MEDDLE,
				     .cpu = FAKE_RCU,
				     .direction = FAKE_UP,
				     .other = 5,
				     .is_online = false });
	is_outcome(scene_take(&scene), OUTCOME_STALE, "a CPU goes before the first write");
	is_str(fake.log, "rcu=1 rcu=0",
	       "no CPU is written to, also not the one that somebody took");
	is_str(fake_online(), "0-4,6-7", "what somebody else did stays");
	is_int(fake_nr_journals(), 0, "no journal is left");
	scene_close(&scene);
}

/* The mask cannot be read after a write: what that write did must not be forgotten. */
static void test_unreadable_mask(int write)
{
	struct scene scene;

	open_scene(&scene);
	fake_add((struct fake_rule){ .event = FAKE_MASK,
				     .cpu = FAKE_ANY_CPU,
				     .direction = FAKE_DOWN,
				     .write = (unsigned int)write,
				     .error = ENFILE });
	is_outcome(scene_take(&scene), OUTCOME_ROLLED_BACK, "an online mask that cannot be read");
	is_as_before(&scene, "an online mask that cannot be read");
	scene_close(&scene);
}

/* Where it stays so, the journal has to keep every CPU that is off. */
static void test_unreadable_for_ever(int write)
{
	struct scene scene;
	bool is_kept = true;

	open_scene(&scene);
	fake_add((struct fake_rule){ .event = FAKE_MASK,
				     .cpu = FAKE_ANY_CPU,
				     .direction = FAKE_DOWN,
				     .write = (unsigned int)write,
				     .error = -ENFILE });
	is_outcome(scene_take(&scene), OUTCOME_FAILED, "an online mask that can never be read");
	for (unsigned int cpu = 4; cpu < 8; cpu++)
		is_kept &= fake.online[cpu] || cpus_text_has(scene_claim(SCENE_ID), cpu);
	if (!ok(is_kept, "write %d: the journal claims every CPU that is off", write))
		diag("online %s, claim %s", fake_online(), scene_claim(SCENE_ID));
	scene_close(&scene);
}

/* ---- signals and writes that are never answered ------------------------------------------ */

static void test_signal(unsigned int write)
{
	struct scene scene;
	static const char *const returns[] = { "", " cpu7=1", " cpu6=1 cpu7=1",
					       " cpu6=1 cpu5=1 cpu7=1" };
	char log[256];
	size_t n;

	open_scene(&scene);
	fake_add((struct fake_rule){ .event = FAKE_SIGNAL, .cpu = FAKE_ANY_CPU, .write = write });
	n = (size_t)snprintf(log, sizeof(log), "rcu=1");
	for (unsigned int i = 0; i < write; i++)
		n += (size_t)snprintf(log + n, sizeof(log) - n, " cpu%u=0", 7 - i);
	snprintf(log + n, sizeof(log) - n, "%s rcu=0", returns[write]);
	is_outcome(scene_take(&scene), OUTCOME_ROLLED_BACK, "a signal");
	is_str(fake.log, log, "a signal at write %u: that is finished, then all is put back",
	       write);
	ok(scene.run.was_interrupted, "the signal is reported");
	is_as_before(&scene, "a signal");
	scene_close(&scene);
}

static void test_signal_to_partial(enum on_error on_error)
{
	struct scene scene;

	open_scene(&scene);
	scene.request.on_error = on_error;
	fake_add((struct fake_rule){ .event = FAKE_SIGNAL, .cpu = 6, .direction = FAKE_DOWN });
	is_outcome(scene_take(&scene), OUTCOME_PARTIAL, "a signal that leaves a part");
	is_str(fake.log, "rcu=1 cpu7=0 cpu6=0 rcu=0", "those that went stay away");
	is_str(scene_changed(&scene), "6-7", "they are reported");
	ok(scene.run.was_interrupted, "so is the signal");
	scene_close(&scene);
}

/* A second signal in the rollback: nothing more is begun, and a restore finds the rest. */
static void test_second_signal(void)
{
	struct scene scene;

	open_scene(&scene);
	fake_add((struct fake_rule){ .event = FAKE_SIGNAL, .cpu = 5, .direction = FAKE_DOWN });
	fake_add((struct fake_rule){ .event = FAKE_SIGNAL, .cpu = 6, .direction = FAKE_UP });
	is_outcome(scene_take(&scene), OUTCOME_FAILED, "a second signal");
	is_str(fake.log, "rcu=1 cpu7=0 cpu6=0 cpu5=0 cpu6=1", "it stops at once");
	is_str(scene_changed(&scene), "5,7", "two CPUs are away");
	ok(cpus_text_has(scene_claim(SCENE_ID), 7), "the journal claims them");
	ok(step_is_in_force(find_step(&scene.operation, &rcu_kind)), "and knows of rcu_expedited");
	scene_close(&scene);
}

/* ---- the pace ---------------------------------------------------------------------------- */

/* Each write takes a quarter of a second here. */
static void test_pace(double pace, double expected, const char *what)
{
	struct scene scene;

	open_scene(&scene);
	scene.request.pace = pace;
	is_outcome(scene_take(&scene), OUTCOME_DONE, what);
	is_int((long long)(fake.clock * 1000 + 0.5), (long long)(expected * 1000), "%s: the time",
	       what);
	scene_close(&scene);
}

static void test_paced_rollback(void)
{
	struct scene scene;

	open_scene(&scene);
	scene.request.pace = 2;
	fake_add((struct fake_rule){
		.event = FAKE_FAIL, .cpu = 5, .direction = FAKE_DOWN, .error = EPERM });
	is_outcome(scene_take(&scene), OUTCOME_ROLLED_BACK, "a paced rollback");
	is_int((long long)(fake.clock * 1000 + 0.5), 5 * 250 + 4 * 2000,
	       "a pause before each but the first, on the way back as well");
	scene_close(&scene);
}

static void test_signal_in_pause(void)
{
	struct scene scene;

	open_scene(&scene);
	scene.request.pace = 60;
	scene.request.on_error = ON_ERROR_STOP;
	fake_add((struct fake_rule){ .event = FAKE_SIGNAL, .cpu = 6, .direction = FAKE_DOWN });
	is_outcome(scene_take(&scene), OUTCOME_PARTIAL, "a signal in a pause");
	is_str(fake.log, "rcu=1 cpu7=0 cpu6=0 rcu=0", "no other CPU is taken after it");
	ok(fake.clock < 61, "it ends the pause");
	scene_close(&scene);
}

static void test_signal_with_pace(void)
{
	struct scene scene;

	open_scene(&scene);
	scene.request.pace = 60;
	fake_add((struct fake_rule){ .event = FAKE_SIGNAL, .cpu = 6, .direction = FAKE_DOWN });
	is_outcome(scene_take(&scene), OUTCOME_ROLLED_BACK, "a signal and a pace");
	is_int((long long)(fake.clock * 1000 + 0.5), 60000 + 4 * 250,
	       "what is put back after a signal has no pauses");
	is_as_before(&scene, "a signal and a pace");
	scene_close(&scene);
}

/* Both come before the kernel has answered: nothing is put back. */
static void test_two_signals_at_once(void)
{
	struct scene scene;

	open_scene(&scene);
	fake.signals_at_once = 2;
	fake_add((struct fake_rule){ .event = FAKE_SIGNAL, .cpu = 6, .direction = FAKE_DOWN });
	is_outcome(scene_take(&scene), OUTCOME_FAILED, "two signals at once");
	is_str(fake.log, "rcu=1 cpu7=0 cpu6=0", "the write is finished, and nothing put back");
	is_str(scene_changed(&scene), "6-7", "two CPUs are away");
	ok(cpus_text_has(scene_claim(SCENE_ID), 6) && cpus_text_has(scene_claim(SCENE_ID), 7),
	   "the journal claims them");
	scene_close(&scene);
}

static void test_late_second_signal(void)
{
	struct scene scene;

	open_scene(&scene);
	fake_add((struct fake_rule){ .event = FAKE_SIGNAL, .cpu = 6, .direction = FAKE_DOWN });
	fake_add((struct fake_rule){
		.event = FAKE_SIGNAL, .cpu = FAKE_RCU, .direction = FAKE_DOWN });
	is_outcome(scene_take(&scene), OUTCOME_ROLLED_BACK, "the second signal at the very end");
	is_as_before(&scene, "the second signal at the very end");
	scene_close(&scene);
}

/* The first signal comes while a rollback is under way already: it changes nothing. */
static void test_signal_in_rollback(void)
{
	struct scene scene;

	open_scene(&scene);
	fail_cpu(4, FAKE_DOWN, EAGAIN, 0);
	fake_add((struct fake_rule){ .event = FAKE_SIGNAL, .cpu = 5, .direction = FAKE_UP });
	is_outcome(scene_take(&scene), OUTCOME_ROLLED_BACK, "a signal in a rollback");
	is_as_before(&scene, "a signal in a rollback");
	scene_close(&scene);
}

static void test_stuck(void)
{
	struct scene scene;

	open_scene(&scene);
	fake_add((struct fake_rule){ .event = FAKE_STUCK, .cpu = 5, .direction = FAKE_DOWN });
	is_outcome(scene_take(&scene), OUTCOME_STUCK, "a write that is never answered");
	is_str(fake.log, "rcu=1 cpu7=0 cpu6=0 cpu5?0", "nothing more is begun");
	is_str(scene_claim(SCENE_ID), "5-7", "the journal claims what may be off");
	is_item(&scene, 5, STATE_APPLYING, ETIMEDOUT, "a write that is never answered");
	ok(scene.env.stuck == find_step(&scene.operation, &hotplug_kind), "the step is named");
	scene_close(&scene);
}

static void test_stuck_in_rollback(void)
{
	struct scene scene;

	open_scene(&scene);
	fail_cpu(4, FAKE_DOWN, EAGAIN, 0);
	fake_add((struct fake_rule){ .event = FAKE_STUCK, .cpu = 5, .direction = FAKE_UP });
	is_outcome(scene_take(&scene), OUTCOME_STUCK, "a rollback that is never answered");
	is_str(fake.log, "rcu=1 cpu7=0 cpu6=0 cpu5=0 cpu4!0 cpu6=1 cpu5?1",
	       "nothing more is begun there");
	is_str(scene_claim(SCENE_ID), "5,7", "the journal claims the rest");
	scene_close(&scene);
}

/* ---- the journal ------------------------------------------------------------------------- */

static void test_unwritable(unsigned int save, unsigned int last, int error)
{
	struct scene scene;

	open_scene(&scene);
	fake.save_fails_first = save;
	fake.save_fails_last = last;
	fake.save_error = error;
	is_outcome(scene_take(&scene), OUTCOME_ROLLED_BACK, util_errno_name(error));
	is_int(scene.run.journal_error, error, "save %u to %u fails: reported", save, last);
	is_as_before(&scene, util_errno_name(error));
	scene_close(&scene);
}

/* ---- who refused ------------------------------------------------------------------------- */

static void test_callback(void)
{
	struct scene scene;

	fake_reset(8);
	fake.is_live = fake.has_tracefs = true;
	fake.trace =
		"# tracer: nop\n"
		" sh-7 [001] ..... 9.1: cpuhp_enter: cpu: 0005 target: 0 step: 239 "
		"(sched_cpu_deactivate)\n"
		" sh-7 [001] ..... 9.2: cpuhp_exit:  cpu: 0005  state: 238 step: 239 ret: -16\n";
	fail_cpu(5, FAKE_DOWN, EINVAL, 0);
	scene_open(&scene, "4-6", SCENE_ID);
	is_outcome(scene_take(&scene), OUTCOME_ROLLED_BACK, "a failure with a trace");
	is_str(fake.log, "rcu=1 cpu6=0 cpu5!0 mkdir cpu5!0 cpu6=1 rcu=0 rmdir",
	       "it is tried once more with the trace, which is removed");
	is_str(find_cpu(&scene.operation, 5)->callback, "sched_cpu_deactivate",
	       "the callback is named");
	scene_close(&scene);
}

/* EBUSY whose reason lasts is not waited for; what a driver wants may end. */
static void test_busy_callback(const char *callback, enum fake_direction direction, bool is_final)
{
	_cleanup_free_ char *trace = util_asprintf(
		" sh-7 [001] ..... 9.1: cpuhp_enter: cpu: 0005 target: 0 step: 239 (%s)\n"
		" sh-7 [001] ..... 9.2: cpuhp_exit:  cpu: 0005  state: 238 step: 239 ret: -16\n",
		callback);
	struct scene scene;
	double start;

	fake_reset(8);
	fake.is_live = fake.has_tracefs = true;
	fake.trace = trace;
	if (direction == FAKE_UP)
		fail_cpu(4, FAKE_DOWN, ENOSPC, 0);
	fail_cpu(5, direction, EBUSY, 0);
	scene_open(&scene, "4-6", SCENE_ID);
	start = fake.clock;
	is_outcome(scene_take(&scene), direction == FAKE_UP ? OUTCOME_FAILED : OUTCOME_ROLLED_BACK,
		   callback);
	is_int(find_cpu(&scene.operation, 5)->error, EBUSY, "%s: the error", callback);
	is_str(find_cpu(&scene.operation, 5)->callback, callback, "%s: is named", callback);
	if (is_final)
		ok(fake.clock - start < 2, "%s: it ends at once", callback);
	else
		ok(fake.clock - start > BUSY_SECONDS / 2, "%s: it is tried again", callback);
	scene_close(&scene);
}

/* A partition must not leave the root cgroup with CPUs of isolcpus= alone. */
static void test_partition(const char *effective, const char *isolated, const char *reason)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	static char top[] = "sys/fs/cgroup", path[] = "";
	struct cgroup cgroup = { .path = path, .effective = cpus };
	char buffer[512];
	const char *why_not;
	struct scene scene;

	fake_reset(8);
	fake.is_live = true;
	scene_open(&scene, "6-7", SCENE_ID);
	if (cpus_parse(effective, 7, true, cpus) ||
	    cpus_parse(isolated, 7, true, scene.machine.isolated))
		diag("no list");
	scene.cgroups = (struct cgroups){
		.root = top, .is_v2 = true, .keeps_masks = true, .list = &cgroup, .nr = 1
	};
	scene.env.cgroups = &scene.cgroups;
	why_not = partition_why_not(&scene.env, buffer, sizeof(buffer));
	is_str(why_not, reason, "a partition, with root %s and isolcpus=%s", effective, isolated);
	scene.cgroups = (struct cgroups){ 0 };
	scene_close(&scene);
}

static void test_injected(void)
{
	struct scene scene;

	open_scene(&scene);
	fake.armed_failure = 173;
	fail_cpu(7, FAKE_DOWN, EAGAIN, 0);
	is_outcome(scene_take(&scene), OUTCOME_ROLLED_BACK, "an injected failure");
	is_str(find_cpu(&scene.operation, 7)->callback, "workqueue:online", "its state is named");
	scene_close(&scene);
}

static void test_armed_only(void)
{
	struct scene scene;

	open_scene(&scene);
	fail_cpu(7, FAKE_DOWN, ENOSPC, 0);
	is_outcome(scene_take(&scene), OUTCOME_ROLLED_BACK, "a failure that nothing explains");
	is_str(find_cpu(&scene.operation, 7)->callback, "", "no callback is named");
	scene_close(&scene);
}

static void test_all_positions(void)
{
	static const int errors[] = {
		EAGAIN, ENOSPC, ERANGE, EPERM, EACCES, EROFS, EIO, EOPNOTSUPP
	};

	for (size_t i = 0; i < ARRAY_SIZE(positions); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(errors); j++)
			test_failure(&positions[i], errors[j]);
		test_stop(&positions[i]);
		test_continue(&positions[i]);
		test_unreadable_mask((int)i + 1);
		test_unreadable_for_ever((int)i + 1);
		test_unwritable((unsigned int)i + 1, (unsigned int)i + 1, ENOSPC);
		test_unwritable((unsigned int)i + 1, 1000, EIO);
	}
	for (int cpu = 5; cpu < 8; cpu++) {
		test_rollback_failure(cpu, EIO, FAKE_FAIL);
		test_rollback_failure(cpu, 0, FAKE_LIE);
	}
	for (unsigned int write = 1; write < 4; write++)
		test_signal(write);
}

static void test_plans(void)
{
	test_kinds();
	test_plan();
	test_plan_of_rcu(0, 0, false, true, false);
	test_plan_of_rcu(2, 0, false, true, false);
	test_plan_of_rcu(0, -1, false, true, false);
	test_plan_of_rcu(0, 1, false, false, true);
	test_plan_of_rcu(0, 0, true, false, false);
	test_plan_of_rcu(0, 1, true, false, false);
	test_plan_of_rcu(-1, -1, false, false, false);
	test_plan_of_trace(true, true, 10 * 8 * 1536, true, false);
	test_plan_of_trace(true, true, 10 * 8 * 1536 - 1, false, true);
	test_plan_of_trace(true, true, 0, false, true);
	test_plan_of_trace(true, false, 1 << 30, false, true);
	test_plan_of_trace(false, true, 1 << 30, false, false);
	test_pick();
}

static void test_signals(void)
{
	test_signal_to_partial(ON_ERROR_STOP);
	test_signal_to_partial(ON_ERROR_CONTINUE);
	test_second_signal();
	test_two_signals_at_once();
	test_late_second_signal();
	test_signal_in_rollback();
	test_stuck();
	test_stuck_in_rollback();
}

static void test_masks(void)
{
	test_lie();
	test_wrong_error();
	test_brought_back(1, OUTCOME_DONE);
	test_quarrel();
	test_taken(OUTCOME_DONE);
	test_taken(OUTCOME_ROLLED_BACK);
	test_taken_and_back();
	test_late_stale(ON_ERROR_ROLLBACK);
	test_late_stale(ON_ERROR_STOP);
	test_late_stale(ON_ERROR_CONTINUE);
}

int main(void)
{
	test_plans();
	test_success();
	test_success_with_trace();
	test_leftover_trace();
	test_help_fails(EBUSY, 0);
	test_help_fails(0, EACCES);
	test_help_stays(false);
	test_help_stays(true);
	test_foreign_count();
	test_all_positions();
	test_continue_with_none();
	test_busy_for_a_moment(FAKE_DOWN);
	test_busy_for_a_moment(FAKE_UP);
	test_busy_for_ever();
	test_busy_and_signal();
	test_never_again(EAGAIN);
	test_never_again(EPERM);
	test_masks();
	test_signals();
	test_pace(0, 1, "no pace");
	test_pace(2, 7, "a pace of two seconds");
	test_paced_rollback();
	test_signal_in_pause();
	test_signal_with_pace();
	test_callback();
	test_partition("0-7", "", NULL);
	test_partition("0-7", "0-4", NULL);
	test_partition("0-7", "0-5", "it would leave the root cgroup none but isolated CPUs");
	test_partition("0-3,6-7", "0-3", "it would leave the root cgroup none but isolated CPUs");
	test_partition("0-3,6-7", "1-3", NULL);
	test_busy_callback("sched_cpu_deactivate", FAKE_DOWN, true);
	test_busy_callback("tick_nohz_cpu_down", FAKE_DOWN, true);
	test_busy_callback("kvm_offline_cpu", FAKE_DOWN, true);
	test_busy_callback("hv_synic_cleanup", FAKE_DOWN, false);
	test_busy_callback("some_driver_down", FAKE_DOWN, false);
	test_busy_callback("kvm_online_cpu", FAKE_UP, true);
	test_busy_callback("sched_cpu_activate", FAKE_UP, false);
	test_injected();
	test_armed_only();
	if (guard_can_see())
		is_int((long long)scene_nr_allocated, 0,
		       "nothing was allocated after a first write");
	return done_testing();
}
