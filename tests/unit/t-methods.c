/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-methods.c - tests of the offline methods that take several CPUs with one write */
#include "host/methods.h"

#include <errno.h>
#include <string.h>

#include "guard.h"
#include "host/hotplug.h"
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
	struct scene scene;

	fake_reset(16);
	fake.has_bulk = fake.is_live = fake.has_tracefs = true;
	fake.trace = " x-7 [001] ..... 9.0: cpuhp_enter: cpu: 0012 target: 0 step: 9 (old)\n"
		     " x-7 [001] ..... 9.1: cpuhp_exit:  cpu: 0012  state: 8 step: 9 ret: 0\n"
		     " x-7 [001] ..... 9.2: cpuhp_enter: cpu: 0013 target: 0 step: 239 (slow)\n";
	scene_open(&scene, "12-15", SCENE_ID);
	fake_add((struct fake_rule){ .event = FAKE_STUCK, .cpu = 13, .direction = FAKE_DOWN });
	is_outcome(scene_take(&scene), OUTCOME_STUCK,
		   "a batch that is never answered, with a trace");
	is_item(&scene, 13, STATE_APPLYING, ETIMEDOUT);
	is_item(&scene, 14, STATE_APPLYING, 0);
	is_str(find_step(&scene, &hotplug_kind)->items[2].callback, "slow", "its callback");
	scene_close(&scene);
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

static void test_order(void)
{
	const struct method *method = NULL;
	struct scene scene;
	char why_not[512] = "";

	open_bulk(&scene, "8-15", 0);
	scene.env.is_return = true;
	is_int(methods_pick("auto", &scene.env, &method, why_not, sizeof(why_not)), 0,
	       "auto, for the return");
	is_str(method->name, "sequential", "CPUs return one by one");
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
	test_order();
	if (guard_can_see())
		is_int((long long)scene_nr_allocated, 0,
		       "nothing was allocated after a first write");
	return done_testing();
}
