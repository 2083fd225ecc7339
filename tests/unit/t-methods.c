/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-methods.c - tests of the offline methods that take several CPUs with one write */
#include "host/methods.h"

#include <errno.h>
#include <string.h>

#include "base/profile.h"
#include "guard.h"
#include "host/hotplug.h"
#include "host/smt.h"
#include "scene.h"
#include "tap.h"

static void open_bulk(struct scene *scene, const char *target, unsigned int batch)
{
	fake_reset(16);
	fake.has_bulk = true;
	scene_init(scene, target, SCENE_ID);
	scene->request.batch = batch;
	scene_plan(scene);
}

/* All second threads of eight CPUs. */
static void open_smt(struct scene *scene)
{
	fake_reset(8);
	strcpy(fake.smt_control, "on");
	scene_open(scene, "1,3,5,7", SCENE_ID);
}

static void fail_cpu(int cpu, enum fake_event event, int times)
{
	fake_add((struct fake_rule){ .event = event,
				     .cpu = cpu,
				     .direction = FAKE_DOWN,
				     .error = EAGAIN,
				     .times = times });
}

static void is_outcome(enum outcome outcome, enum outcome expected, const char *what)
{
	is_str(scene_outcome(outcome), scene_outcome(expected), "%s: the outcome", what);
}

static const struct step *find_step(const struct scene *scene, const struct step_kind *kind)
{
	for (size_t i = 0; i < scene->operation.nr_steps; i++)
		if (scene->operation.steps[i].kind == kind)
			return &scene->operation.steps[i];
	return NULL;
}

static void is_item(const struct scene *scene, unsigned int cpu, enum step_state state, int error)
{
	const struct step *step = find_step(scene, &hotplug_kind);

	for (size_t i = 0; step && i < step->nr_items; i++)
		if (step->items[i].id == cpu) {
			is_str(state_format(step->items[i].state), state_format(state),
			       "the state of cpu %u", cpu);
			is_int(step->items[i].error, error, "its errno");
		}
}

static void is_method(const struct scene *scene, const char *name)
{
	is_str(scene->env.method->name, name, "the method");
}

static void is_as_before(const char *online, const char *what)
{
	is_str(fake_online(), online, "%s: all CPUs are online", what);
	is_int(fake_nr_journals(), 0, "%s: no journal is left", what);
	ok(!fake.was_unsaved, "%s: nothing was written without a journal", what);
	for (unsigned int cpu = 0; cpu < fake.nr_cpus; cpu++)
		if (fake.fails_first[cpu])
			ok(false, "%s: cpu %u is left to fail", what, cpu);
}

/* ---- bulk -------------------------------------------------------------------------------- */

static void test_batches(const char *target, unsigned int batch, const char *log)
{
	struct scene scene;

	open_bulk(&scene, target, batch);
	is_method(&scene, "bulk");
	is_outcome(scene_take(&scene), OUTCOME_DONE, target);
	is_str(fake.log, log, "%s in batches of %u", target, batch);
	is_str(scene_changed(&scene), target, "%s: all went", target);
	scene_close(&scene);
}

static void test_shared_time(void)
{
	const struct step *step;
	struct scene scene;

	open_bulk(&scene, "8-11", 0);
	is_outcome(scene_take(&scene), OUTCOME_DONE, "the time of a batch");
	step = find_step(&scene, &hotplug_kind);
	ok(step->items[0].seconds > 0.24 && step->items[0].seconds < 0.26, "is shared by its CPUs");
	scene_close(&scene);
}

/* One stays, with an error or in silence: it goes by itself. */
static void test_stays_once(enum fake_event event, bool is_posted)
{
	struct scene scene;

	open_bulk(&scene, "8-15", 4);
	fake.is_posted = is_posted;
	fail_cpu(13, event, 1);
	is_outcome(scene_take(&scene), OUTCOME_DONE, "one stays at first");
	is_str(fake.log,
	       event == FAKE_LIE || is_posted
		       ? "rcu=1 bulk=12-15 cpu13=0 bulk=8-11 rcu=0"
		       : "rcu=1 bulk=12-15 cpu15=0 cpu14=0 cpu13=0 bulk=8-11 rcu=0",
	       "it goes alone, and the next batch after it");
	is_str(fake_online(), "0-7", "all went");
	scene_close(&scene);
}

static void test_stays(int cpu, const char *log)
{
	struct scene scene;

	open_bulk(&scene, "8-15", 4);
	fake.is_posted = true;
	fail_cpu(cpu, FAKE_FAIL, 0);
	is_outcome(scene_take(&scene), OUTCOME_ROLLED_BACK, "one stays");
	is_str(fake.log, log, "cpu %d stays: nothing more is begun", cpu);
	is_item(&scene, (unsigned int)cpu, STATE_FAILED, EAGAIN);
	is_as_before("0-15", "one stays");
	scene_close(&scene);
}

static void test_policy(enum on_error on_error, const char *log, const char *gone)
{
	struct scene scene;

	fake_reset(16);
	fake.has_bulk = true;
	scene_init(&scene, "8-15", SCENE_ID);
	scene.request.batch = 4;
	scene.request.on_error = on_error;
	scene_plan(&scene);
	fake.is_posted = true;
	fail_cpu(13, FAKE_FAIL, 0);
	is_outcome(scene_take(&scene), OUTCOME_PARTIAL, "one stays, another policy");
	is_str(fake.log, log, "stop stops there, continue goes on");
	is_str(scene_changed(&scene), gone, "what went");
	is_str(scene_claim(SCENE_ID), gone, "the claim");
	scene_close(&scene);
}

/* The file is there and takes nothing: the CPUs go all the same. */
static void test_useless(void)
{
	struct scene scene;

	open_bulk(&scene, "12-15", 0);
	fake.has_bulk = false;
	is_outcome(scene_take(&scene), OUTCOME_DONE, "a file that takes nothing");
	is_str(fake.log, "rcu=1 bulk=12-15 cpu15=0 cpu14=0 cpu13=0 cpu12=0 rcu=0", "one by one");
	scene_close(&scene);
}

static void test_signal_between(void)
{
	struct scene scene;

	open_bulk(&scene, "8-15", 4);
	fake_add((struct fake_rule){ .event = FAKE_SIGNAL, .cpu = 14, .direction = FAKE_DOWN });
	is_outcome(scene_take(&scene), OUTCOME_ROLLED_BACK, "a signal in a batch");
	is_str(fake.log, "rcu=1 bulk=12-15 cpu12=1 cpu14=1 cpu13=1 cpu15=1 rcu=0",
	       "the batch is finished, and no other begun");
	is_as_before("0-15", "a signal in a batch");
	scene_close(&scene);
}

static void test_stuck(void)
{
	struct scene scene;

	open_bulk(&scene, "8-15", 4);
	fake_add((struct fake_rule){ .event = FAKE_STUCK, .cpu = 13, .direction = FAKE_DOWN });
	is_outcome(scene_take(&scene), OUTCOME_STUCK, "a batch that is never answered");
	is_str(fake.log, "rcu=1 bulk=12-15", "nothing more is begun");
	is_item(&scene, 12, STATE_APPLIED, 0);
	is_item(&scene, 14, STATE_APPLYING, ETIMEDOUT);
	is_str(scene_claim(SCENE_ID), "12-15", "the journal claims what may be off");
	scene_close(&scene);
}

static void test_stuck_named(void)
{
	struct profile *profile = NULL;
	struct scene scene;

	fake_reset(16);
	fake.changing_cpu = 13;
	fake.has_bulk = fake.is_live = fake.has_tracefs = true;
	fake.trace = " x-7 [001] ..... 9.0: cpuhp_enter: cpu: 0012 target: 0 step: 9 (old)\n"
		     " x-7 [001] ..... 9.1: cpuhp_exit:  cpu: 0012  state: 8 step: 9 ret: 0\n"
		     " x-7 [001] ..... 9.2: cpuhp_enter: cpu: 0013 target: 0 step: 239 (slow)\n";
	scene_open(&scene, "12-15", SCENE_ID);
	is_int(profile_new(16, 4, &profile), 0, "a profile, which is made from a trace");
	scene.env.profile = profile;
	fake_add((struct fake_rule){ .event = FAKE_STUCK, .cpu = 13, .direction = FAKE_DOWN });
	is_outcome(scene_take(&scene), OUTCOME_STUCK,
		   "a batch that is never answered, with a trace");
	is_item(&scene, 13, STATE_APPLYING, ETIMEDOUT);
	is_item(&scene, 14, STATE_APPLYING, 0);
	is_str(find_step(&scene, &hotplug_kind)->items[2].callback, "slow", "its callback");
	scene_close(&scene);
	profile_free(profile);
}

/* Another operation has some of them: they are in no batch. */
static void test_claimed(void)
{
	struct scene scene;

	open_bulk(&scene, "9,11", 0);
	is_outcome(scene_take(&scene), OUTCOME_DONE, "a first operation");
	scene_close(&scene);
	fake.log[0] = '\0';
	scene_open(&scene, "8-12", "20250102-030406");
	is_outcome(scene_take(&scene), OUTCOME_DONE, "a second one");
	is_str(fake.log, "rcu=1 bulk=12,10,8 rcu=0", "only what is online is written");
	is_str(scene_claim("20250102-030406"), "8-12", "all is claimed");
	scene_close(&scene);
}

/* ---- smt: where it can be used ----------------------------------------------------------- */

static void is_usable(const char *control, const char *target, const char *offline,
		      const char *reason)
{
	const struct method *method = NULL;
	struct scene scene;
	char why_not[512] = "";

	fake_reset(8);
	snprintf(fake.smt_control, sizeof(fake.smt_control), "%s", control);
	for (unsigned int cpu = 0; cpu < 8; cpu++)
		fake.online[cpu] = !cpus_text_has(offline, cpu);
	scene_open(&scene, target, SCENE_ID);
	is_int(methods_pick("smt", &scene.env, &method, why_not, sizeof(why_not)),
	       reason ? -EOPNOTSUPP : 0, "control \"%s\", target %s", control, target);
	if (reason)
		ok(strstr(why_not, reason), "because of \"%s\": %s", reason, why_not);
	is_method(&scene, reason ? "sequential" : "smt");
	ok(!!find_step(&scene, &smt_kind) == !reason, "smt.control is %splanned",
	   reason ? "not " : "");
	scene_close(&scene);
}

static void test_usable(void)
{
	is_usable("on", "1,3,5,7", "", NULL);
	is_usable("2", "1,3,5,7", "", NULL);
	is_usable("on", "1,3,5", "", "not all threads");
	is_usable("on", "1,3,5-7", "", "not all threads");
	is_usable("on", "0,2,4,6", "", "not all threads");
	is_usable("on", "1,3,7", "5", "offline already (5)");
	is_usable("on", "1,3,5,7", "6", "offline already (6)");
	is_usable("1", "1,3,5,7", "", "reads \"1\"");
	is_usable("off", "1,3,5,7", "", "reads \"off\"");
	is_usable("notsupported", "1,3,5,7", "", "reads \"notsupported\"");
	is_usable("", "1,3,5,7", "", "no /sys");
}

/* A pause is between two CPUs: they are not taken together. */
static void test_pace(void)
{
	const struct method *method = NULL;
	char why_not[512] = "";
	struct scene scene;

	open_smt(&scene);
	scene.request.pace = 2;
	is_int(methods_pick("smt", &scene.env, &method, why_not, sizeof(why_not)), -EOPNOTSUPP,
	       "smt with a pace");
	ok(strstr(why_not, "--pace"), "because of it");
	scene_close(&scene);
	open_bulk(&scene, "14-15", 0);
	scene.request.pace = 2;
	is_outcome(scene_take(&scene), OUTCOME_DONE, "bulk with a pace");
	is_str(fake.log, "rcu=1 bulk=15 bulk=14 rcu=0", "one a write");
	is_int((long long)(fake.clock * 1000 + 0.5), 2 * 250 + 2000, "and a pause between them");
	scene_close(&scene);
}

static void test_order(void)
{
	const struct method *method = NULL;
	struct scene scene;
	char why_not[512] = "";

	open_smt(&scene);
	is_method(&scene, "smt");
	fake.has_bulk = true;
	is_int(methods_pick("auto", &scene.env, &method, why_not, sizeof(why_not)), 0, "auto");
	is_str(method->name, "bulk", "bulk comes first where there is one");
	scene.env.is_return = true;
	is_int(methods_pick("auto", &scene.env, &method, why_not, sizeof(why_not)), 0,
	       "auto, for the return");
	is_str(method->name, "sequential", "CPUs return one by one");
	scene_close(&scene);
}

/* ---- smt: there and back ----------------------------------------------------------------- */

static void bring_back(const char *scope, const char *log, const char *what)
{
	struct scene scene;

	fake.nr_rules = 0;
	fake.log[0] = '\0';
	scene_open_return(&scene, SCENE_ID, scope);
	is_outcome(scene_return(&scene), OUTCOME_DONE, what);
	is_str(fake.log, log, "%s: the writes", what);
	is_str(fake.smt_control, "on", "%s: the control", what);
	scene_close(&scene);
}

static void take_smt(const char *log)
{
	struct scene scene;

	open_smt(&scene);
	is_outcome(scene_take(&scene), OUTCOME_DONE, "smt");
	is_str(fake.log, log, "smt: the writes");
	is_str(fake_online(), "0,2,4,6", "smt: the CPUs");
	is_str(fake.smt_control, "off", "smt: the control");
	scene_close(&scene);
}

static void test_smt(void)
{
	take_smt("rcu=1 smt=off rcu=0");
	bring_back(NULL, "rcu=1 smt=on cpu1=1 cpu3=1 cpu5=1 cpu7=1 rcu=0", "smt, restore");
	is_as_before("0-7", "smt, restore");
}

/* Some come back: the others stay, although the control has to be on again. */
static void test_smt_partly(void)
{
	take_smt("rcu=1 smt=off rcu=0");
	bring_back("5", "rcu=1 smt=on cpu5=1 rcu=0", "smt, one returns");
	is_str(fake_online(), "0,2,4-6", "the others stay off");
	is_str(scene_claim(SCENE_ID), "1,3,7", "and claimed");
	bring_back(NULL, "rcu=1 cpu1=1 cpu3=1 cpu7=1 rcu=0", "smt, the rest returns");
	is_as_before("0-7", "smt, the rest returns");
}

/* Somebody took CPUs since, which are none of ours: one more before the first of ours. */
static void test_smt_beside_others(void)
{
	take_smt("rcu=1 smt=off rcu=0");
	fake.online[0] = fake.online[4] = false;
	bring_back(NULL, "rcu=1 smt=on cpu1=1 cpu3=1 cpu5=1 cpu7=1 rcu=0", "beside others");
	is_str(fake_online(), "1-3,5-7", "theirs stay off");
	ok(!fake.fails_first[0] && !fake.fails_first[4], "and are not left to fail");
}

static void test_smt_changed_by_others(const char *control, enum outcome expected)
{
	struct scene scene;

	take_smt("rcu=1 smt=off rcu=0");
	strcpy(fake.smt_control, control);
	fake.log[0] = '\0';
	scene_open_return(&scene, SCENE_ID, NULL);
	is_outcome(scene_return(&scene), expected, control);
	is_str(fake.smt_control, control, "what somebody else wrote stays");
	scene_close(&scene);
}

/* The kernel stops at a CPU that stays; the ones that went and the others are sorted out. */
static void test_smt_stays(bool has_trap, int times, enum outcome expected, const char *log)
{
	struct scene scene;

	open_smt(&scene);
	fake.has_smt_trap = has_trap;
	fail_cpu(5, FAKE_FAIL, times);
	is_outcome(scene_take(&scene), expected, "one stays");
	is_str(fake.log, log, "one stays, %s the trap", has_trap ? "with" : "without");
	is_str(fake.smt_control, "on", "the control is on");
	if (expected == OUTCOME_DONE)
		bring_back(NULL, "rcu=1 cpu1=1 cpu3=1 cpu5=1 cpu7=1 rcu=0", "one stayed, restore");
	is_as_before("0-7", "one stays");
	scene_close(&scene);
}

static void test_smt_signal(void)
{
	struct scene scene;

	open_smt(&scene);
	fake_add((struct fake_rule){ .event = FAKE_SIGNAL, .cpu = 3, .direction = FAKE_DOWN });
	is_outcome(scene_take(&scene), OUTCOME_ROLLED_BACK, "smt and a signal");
	is_str(fake.log, "rcu=1 smt=off smt=on cpu1=1 cpu3=1 cpu5=1 cpu7=1 rcu=0",
	       "the control is on before the CPUs return");
	is_as_before("0-7", "smt and a signal");
	scene_close(&scene);
}

int main(void)
{
	test_batches("8-15", 0, "rcu=1 bulk=8-15 rcu=0");
	test_batches("8-15", 4, "rcu=1 bulk=12-15 bulk=8-11 rcu=0");
	test_batches("8-15", 3, "rcu=1 bulk=13-15 bulk=10-12 bulk=8-9 rcu=0");
	test_batches("9,11,13-15", 4, "rcu=1 bulk=13-15,11 bulk=9 rcu=0");
	test_batches("14-15", 1, "rcu=1 bulk=15 bulk=14 rcu=0");
	test_shared_time();
	test_stays_once(FAKE_FAIL, false);
	test_stays_once(FAKE_FAIL, true);
	test_stays_once(FAKE_LIE, false);
	test_stays(15, "rcu=1 bulk=12-15 cpu15!0 cpu12=1 cpu14=1 cpu13=1 rcu=0");
	test_stays(9, "rcu=1 bulk=12-15 bulk=8-11 cpu9!0 cpu8=1 cpu10=1 cpu12=1 cpu14=1 cpu11=1 "
		      "cpu13=1 cpu15=1 rcu=0");
	test_policy(ON_ERROR_STOP, "rcu=1 bulk=12-15 cpu13!0 rcu=0", "12,14-15");
	test_policy(ON_ERROR_CONTINUE, "rcu=1 bulk=12-15 cpu13!0 bulk=8-11 rcu=0", "8-12,14-15");
	test_useless();
	test_signal_between();
	test_stuck();
	test_stuck_named();
	test_claimed();
	test_usable();
	test_order();
	test_pace();
	test_smt();
	test_smt_partly();
	test_smt_beside_others();
	test_smt_changed_by_others("forceoff", OUTCOME_FAILED);
	test_smt_stays(false, 1, OUTCOME_DONE, "rcu=1 smt=off cpu7=0 cpu5=0 rcu=0");
	test_smt_stays(true, 1, OUTCOME_DONE, "rcu=1 smt=off cpu7=0 cpu5=0 smt=on rcu=0");
	test_smt_stays(false, 0, OUTCOME_ROLLED_BACK,
		       "rcu=1 smt=off cpu7=0 cpu5!0 cpu1=1 cpu3=1 cpu7=1 rcu=0");
	test_smt_stays(true, 0, OUTCOME_ROLLED_BACK,
		       "rcu=1 smt=off cpu7=0 cpu5!0 smt=on cpu1=1 cpu3=1 cpu7=1 rcu=0");
	test_smt_signal();
	if (guard_can_see())
		is_int((long long)scene_nr_allocated, 0,
		       "nothing was allocated after a first write");
	return done_testing();
}
