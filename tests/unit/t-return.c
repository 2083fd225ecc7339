/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-return.c - tests of bringing CPUs back from the journals, with the real step kinds */
#include <errno.h>

#include "core/plan.h"
#include "guard.h"
#include "host/hotplug.h"
#include "host/rcu.h"
#include "scene.h"
#include "tap.h"

#define OTHER_ID "20250102-030406"

static bool is_outcome(enum outcome outcome, enum outcome expected, const char *what)
{
	return is_str(scene_outcome(outcome), scene_outcome(expected), "%s: the outcome", what);
}

static void take(const char *target, const char *id)
{
	struct scene scene;

	scene_open(&scene, target, id);
	is_outcome(scene_take(&scene), OUTCOME_DONE, target);
	scene_close(&scene);
	fake.log[0] = '\0';
}

/* CPUs 4-7 of 8 are off, by one operation. */
static void begin(void)
{
	fake_reset(8);
	take("4-7", SCENE_ID);
}

/* Brings @scope of operation @id back, and tells how that went. */
static void bring_back(const char *id, const char *scope, enum outcome expected, const char *log,
		       const char *what)
{
	struct scene scene;

	scene_open_return(&scene, id, scope);
	if (ok(scene.run.operation, "%s: there is a journal", what)) {
		is_int(scene.plan_error, 0, "%s: a plan", what);
		is_outcome(scene_return(&scene), expected, what);
		is_str(fake.log, log, "%s: the writes", what);
	}
	scene_close(&scene);
	fake.log[0] = '\0';
}

static void is_state(const char *online, const char *claim, const char *what)
{
	is_str(fake_online(), online, "%s: the CPUs", what);
	is_str(scene_claim(SCENE_ID), claim, "%s: the claim of the journal", what);
	is_int(fake.rcu_expedited, 0, "%s: rcu_expedited", what);
}

static void test_all(void)
{
	begin();
	bring_back(SCENE_ID, NULL, OUTCOME_DONE, "rcu=1 cpu4=1 cpu6=1 cpu5=1 cpu7=1 rcu=0",
		   "all return");
	is_state("0-7", "none", "all return");
	is_int(fake_nr_journals(), 0, "all return: the journal is gone");
}

/* A kernel without the mask of online CPUs: each has a file, but for CPU 0. */
static void test_no_mask(void)
{
	fake_reset(8);
	fake.mask_error = -ENOENT;
	take("4-7", SCENE_ID);
	is_str(fake_online(), "0-3", "no mask: they have gone");
	bring_back(SCENE_ID, NULL, OUTCOME_DONE, "rcu=1 cpu4=1 cpu6=1 cpu5=1 cpu7=1 rcu=0",
		   "no mask");
	is_str(fake_online(), "0-7", "no mask: all are back");
}

static void test_trace(void)
{
	fake_reset(8);
	fake.is_live = fake.has_tracefs = true;
	take("6-7", SCENE_ID);
	bring_back(SCENE_ID, NULL, OUTCOME_DONE, "rcu=1 cpu6=1 cpu7=1 rcu=0", "with a trace");
}

static void test_scope(void)
{
	begin();
	bring_back(SCENE_ID, "5-6", OUTCOME_DONE, "rcu=1 cpu6=1 cpu5=1 rcu=0", "a part returns");
	is_state("0-3,5-6", "4,7", "a part returns");
	bring_back(SCENE_ID, "5", OUTCOME_DONE, "", "what is back already");
	is_state("0-3,5-6", "4,7", "what is back already");
	bring_back(SCENE_ID, "4,7", OUTCOME_DONE, "rcu=1 cpu4=1 cpu7=1 rcu=0", "the rest returns");
	is_state("0-7", "none", "the rest returns");
}

/* CPUs that something else brought back are no error, and are not written to. */
static void test_drift(void)
{
	begin();
	fake.online[5] = fake.online[7] = true;
	bring_back(SCENE_ID, NULL, OUTCOME_DONE, "rcu=1 cpu4=1 cpu6=1 rcu=0", "some are back");
	is_state("0-7", "none", "some are back");
	begin();
	for (unsigned int cpu = 4; cpu < 8; cpu++)
		fake.online[cpu] = true;
	bring_back(SCENE_ID, NULL, OUTCOME_DONE, "", "all are back");
	is_state("0-7", "none", "all are back");
}

/* One that comes back by itself while others are written to. */
static void test_drift_meanwhile(void)
{
	begin();
	fake_add((struct fake_rule){ .event = FAKE_MEDDLE,
				     .cpu = 4,
				     .direction = FAKE_UP,
				     .other = 5,
				     .is_online = true });
	bring_back(SCENE_ID, NULL, OUTCOME_DONE, "rcu=1 cpu4=1 cpu6=1 cpu7=1 rcu=0",
		   "one came by itself");
	is_state("0-7", "none", "one came by itself");
}

/* One that somebody takes as it comes is told, and not fought for; it can be asked for again. */
static void test_taken_meanwhile(void)
{
	begin();
	fake_add((struct fake_rule){ .event = FAKE_MEDDLE,
				     .cpu = 5,
				     .direction = FAKE_UP,
				     .times = 1,
				     .other = 5,
				     .is_online = false });
	bring_back(SCENE_ID, NULL, OUTCOME_FAILED, "rcu=1 cpu4=1 cpu6=1 cpu5=1 cpu7=1 rcu=0",
		   "one was taken as it came");
	is_state("0-4,6-7", "5", "one was taken as it came");
	bring_back(SCENE_ID, NULL, OUTCOME_DONE, "rcu=1 cpu5=1 rcu=0", "it is asked for again");
	is_state("0-7", "none", "it is asked for again");
}

/* One that somebody takes after it has come stays theirs. */
static void test_taken_after(void)
{
	begin();
	fake_add((struct fake_rule){ .event = FAKE_MEDDLE,
				     .cpu = 6,
				     .direction = FAKE_UP,
				     .times = 1,
				     .other = 4,
				     .is_online = false });
	bring_back(SCENE_ID, NULL, OUTCOME_DONE, "rcu=1 cpu4=1 cpu6=1 cpu5=1 cpu7=1 rcu=0",
		   "one was taken after it came");
	is_state("0-3,5-7", "none", "one was taken after it came");
}

/* CPUs that were off before the operation are not touched. */
static void test_off_before(void)
{
	fake_reset(8);
	fake.online[1] = fake.online[6] = false;
	take("4-5,7", SCENE_ID);
	bring_back(SCENE_ID, NULL, OUTCOME_DONE, "rcu=1 cpu4=1 cpu5=1 cpu7=1 rcu=0",
		   "others were off");
	is_state("0,2-5,7", "none", "others were off");
}

/* Both claim 5: it returns with the one that is undone last, whichever this is. */
static void test_claims(bool older_first)
{
	const char *first = older_first ? SCENE_ID : OTHER_ID;
	const char *second = older_first ? OTHER_ID : SCENE_ID;

	fake_reset(8);
	take("4-5", SCENE_ID);
	take("5-6", OTHER_ID);
	is_str(scene_claim(OTHER_ID), "5-6", "also a CPU that was off already is claimed");
	bring_back(first, NULL, OUTCOME_DONE,
		   older_first ? "rcu=1 cpu4=1 rcu=0" : "rcu=1 cpu6=1 rcu=0", "the first of two");
	ok(!fake.online[5], "what the other one claims stays off");
	is_str(scene_claim(first), "none", "the first of two is gone");
	is_str(scene_claim(second), older_first ? "5-6" : "4-5", "the second is in force");
	bring_back(second, NULL, OUTCOME_DONE,
		   older_first ? "rcu=1 cpu6=1 cpu5=1 rcu=0" : "rcu=1 cpu4=1 cpu5=1 rcu=0",
		   "the second of two");
	is_state("0-7", "none", "the second of two");
	is_int(fake_nr_journals(), 0, "no journal is left");
}

/* An operation that claims only what another one has taken writes nothing, and returns nothing. */
static void test_claim_only(void)
{
	fake_reset(8);
	take("4-7", SCENE_ID);
	take("5-6", OTHER_ID);
	bring_back(OTHER_ID, NULL, OUTCOME_DONE, "", "a claim alone ends");
	is_state("0-3", "4-7", "a claim alone ends");
	is_str(scene_claim(OTHER_ID), "none", "its journal is gone");
}

/* A CPU that will not come stays in the journal; a second run tries this one alone. */
static void test_failing_cpu(unsigned int cpu, enum fake_event event)
{
	char left[16], online[32], log[64];

	begin();
	fake_add((struct fake_rule){
		.event = event, .cpu = (int)cpu, .direction = FAKE_UP, .times = 1, .error = EIO });
	snprintf(log, sizeof(log), "rcu=1 cpu4%c1 cpu6%c1 cpu5%c1 cpu7%c1 rcu=0",
		 event == FAKE_FAIL && cpu == 4 ? '!' : '=',
		 event == FAKE_FAIL && cpu == 6 ? '!' : '=',
		 event == FAKE_FAIL && cpu == 5 ? '!' : '=',
		 event == FAKE_FAIL && cpu == 7 ? '!' : '=');
	bring_back(SCENE_ID, NULL, OUTCOME_FAILED, log, "one stays away");
	snprintf(left, sizeof(left), "%u", cpu);
	fake.online[cpu] = true;
	snprintf(online, sizeof(online), "%s", fake_online());
	is_str(online, "0-7", "the others returned");
	fake.online[cpu] = false;
	is_str(scene_claim(SCENE_ID), left, "the journal claims that one alone");
	is_int(fake.rcu_expedited, 0, "rcu_expedited is as before");
	snprintf(log, sizeof(log), "rcu=1 cpu%u=1 rcu=0", cpu);
	bring_back(SCENE_ID, NULL, OUTCOME_DONE, log, "the second run");
	is_state("0-7", "none", "the second run");
}

/* CPUs that no operation had taken: those that do not come are as they were, and nobody's. */
static void test_adopted(int rcu_error, int nr_journals)
{
	struct scene scene;

	begin();
	fake_add((struct fake_rule){
		.event = FAKE_FAIL, .cpu = 5, .direction = FAKE_UP, .error = EIO });
	if (rcu_error)
		fake_add((struct fake_rule){ .event = FAKE_FAIL,
					     .cpu = FAKE_RCU,
					     .direction = FAKE_DOWN,
					     .error = rcu_error });
	scene_open_return(&scene, SCENE_ID, NULL);
	scene.run.is_adopted = true;
	is_outcome(scene_return(&scene), OUTCOME_FAILED, "adopted CPUs, and one stays away");
	is_str(scene_changed(&scene), "4,6-7", "the others returned");
	is_int(fake_nr_journals(), nr_journals, "rcu %d: journals that are left", rcu_error);
	scene_close(&scene);
}

static void test_busy(void)
{
	begin();
	fake_add((struct fake_rule){
		.event = FAKE_FAIL, .cpu = 5, .direction = FAKE_UP, .times = 2, .error = EBUSY });
	bring_back(SCENE_ID, NULL, OUTCOME_DONE,
		   "rcu=1 cpu4=1 cpu6=1 cpu5!1 cpu5!1 cpu5=1 cpu7=1 rcu=0", "EBUSY twice");
	begin();
	fake_add((struct fake_rule){
		.event = FAKE_FAIL, .cpu = 6, .direction = FAKE_UP, .error = EAGAIN });
	bring_back(SCENE_ID, NULL, OUTCOME_FAILED, "rcu=1 cpu4=1 cpu6!1 cpu5=1 cpu7=1 rcu=0",
		   "EAGAIN is not tried again");
	is_state("0-5,7", "6", "EAGAIN is not tried again");
}

static void test_signal(void)
{
	struct scene scene;

	begin();
	fake_add((struct fake_rule){ .event = FAKE_SIGNAL, .cpu = 6, .direction = FAKE_UP });
	scene_open_return(&scene, SCENE_ID, NULL);
	is_outcome(scene_return(&scene), OUTCOME_FAILED, "a signal");
	is_str(fake.log, "rcu=1 cpu4=1 cpu6=1 rcu=0", "a signal: it stops between two writes");
	is_str(scene_changed(&scene), "4,6", "a signal: those that returned");
	ok(scene.run.was_interrupted, "a signal: it is reported");
	is_state("0-4,6", "5,7", "a signal");
	scene_close(&scene);
	fake.nr_signals = 0;
	fake.nr_rules = 0;
	fake.log[0] = '\0';
	bring_back(SCENE_ID, NULL, OUTCOME_DONE, "rcu=1 cpu5=1 cpu7=1 rcu=0", "after a signal");
	is_state("0-7", "none", "after a signal");
}

static void test_two_signals(void)
{
	begin();
	fake.signals_at_once = 2;
	fake_add((struct fake_rule){ .event = FAKE_SIGNAL, .cpu = 6, .direction = FAKE_UP });
	bring_back(SCENE_ID, NULL, OUTCOME_FAILED, "rcu=1 cpu4=1 cpu6=1", "two signals");
	is_str(scene_claim(SCENE_ID), "5,7", "two signals: the claim");
	is_int(fake.rcu_expedited, 1, "two signals: nothing more is put back");
	fake.nr_signals = 0;
	fake.nr_rules = 0;
	bring_back(SCENE_ID, NULL, OUTCOME_DONE, "rcu=2 cpu5=1 cpu7=1 rcu=1 rcu=0",
		   "after two signals");
	is_state("0-7", "none", "after two signals");
}

static void test_stuck(void)
{
	begin();
	fake_add((struct fake_rule){ .event = FAKE_STUCK, .cpu = 6, .direction = FAKE_UP });
	bring_back(SCENE_ID, NULL, OUTCOME_STUCK, "rcu=1 cpu4=1 cpu6?1", "a write never answered");
	is_str(scene_claim(SCENE_ID), "5-7", "a write never answered: the claim");
}

/* A journal that cannot be written does not keep CPUs away. */
static void test_unwritable(unsigned int save)
{
	begin();
	fake.save_fails_first = save;
	fake.save_fails_last = 1000;
	fake.save_error = ENOSPC;
	fake.nr_saves = 0;
	bring_back(SCENE_ID, NULL, OUTCOME_DONE,
		   save > 1 ? "rcu=1 cpu4=1 cpu6=1 cpu5=1 cpu7=1 rcu=0"
			    : "cpu4=1 cpu6=1 cpu5=1 cpu7=1",
		   "a journal that cannot be written");
	is_state("0-7", "none", "a journal that cannot be written");
}

static void test_read_only(void)
{
	struct scene scene;

	begin();
	fake.remove_error = EROFS;
	scene_open_return(&scene, SCENE_ID, NULL);
	is_outcome(scene_return(&scene), OUTCOME_FAILED, "a journal that cannot be removed");
	is_int(scene.run.journal_error, EROFS, "a journal that cannot be removed: reported");
	is_str(fake_online(), "0-7", "a journal that cannot be removed: the CPUs are back");
	scene_close(&scene);
}

/* ---- what an interrupted run left -------------------------------------------------------- */

enum raised {
	NOT_RAISED,
	RAISED, /* and killed before the journal said so */
	NOTED,
};

/*
 * A journal as after a kill while CPUs 7 to @next + 1 were off: the step is being applied, and
 * nobody knows how far it came. Somebody else has raised rcu_expedited to @foreign.
 */
static void leave_interrupted(unsigned int next, enum raised raised, long foreign)
{
	struct journal *journal;
	struct scene scene;

	fake_reset(8);
	fake.rcu_expedited = foreign;
	scene_open(&scene, "4-7", SCENE_ID);
	for (size_t i = 0; i < scene.operation.nr_steps; i++) {
		struct step *step = &scene.operation.steps[i];

		step->state = STATE_APPLYING;
		if (step->kind == &rcu_kind && raised == NOTED)
			step->state = step->items[0].state = STATE_APPLIED;
	}
	if (is_int(journal_new(fake_state, &scene.operation, &journal), 0, "an interrupted run")) {
		is_int(journal_save(journal), 0, "its journal");
		journal_free(journal);
	}
	for (unsigned int cpu = next + 1; cpu < 8; cpu++)
		fake.online[cpu] = false;
	fake.rcu_expedited = foreign + (raised != NOT_RAISED);
	scene_close(&scene);
}

static void test_interrupted(void)
{
	leave_interrupted(5, NOTED, 0);
	is_str(scene_claim(SCENE_ID), "4-7", "interrupted: all may be off");
	bring_back(SCENE_ID, NULL, OUTCOME_DONE, "rcu=2 cpu6=1 cpu7=1 rcu=1 rcu=0", "interrupted");
	is_state("0-7", "none", "interrupted");
	leave_interrupted(7, NOT_RAISED, 0);
	bring_back(SCENE_ID, NULL, OUTCOME_DONE, "", "interrupted before its first write");
	is_state("0-7", "none", "interrupted before its first write");
	leave_interrupted(7, NOTED, 0);
	bring_back(SCENE_ID, NULL, OUTCOME_DONE, "rcu=0", "interrupted before its first CPU");
	is_state("0-7", "none", "interrupted before its first CPU");
}

/* However far it came with rcu_expedited, what somebody else has added there stays. */
static void test_interrupted_count(unsigned int next, enum raised raised, long foreign)
{
	struct scene scene;

	leave_interrupted(next, raised, foreign);
	scene_open_return(&scene, SCENE_ID, NULL);
	is_outcome(scene_return(&scene), OUTCOME_DONE, "an interrupted count");
	is_str(fake_online(), "0-7", "interrupted after cpu %u: all CPUs are back", next + 1);
	is_int(fake.rcu_expedited, foreign,
	       "interrupted after cpu %u, %s, %ld of others: the counter", next + 1,
	       raised == NOT_RAISED ? "not raised"
	       : raised == RAISED   ? "raised"
				    : "noted",
	       foreign);
	is_int(fake_nr_journals(), 0, "no journal is left");
	scene_close(&scene);
}

static void test_interrupted_counts(void)
{
	for (long foreign = 0; foreign < 3; foreign++) {
		for (enum raised raised = NOT_RAISED; raised <= NOTED; raised++)
			test_interrupted_count(7, raised, foreign);
		for (enum raised raised = RAISED; raised <= NOTED; raised++)
			test_interrupted_count(5, raised, foreign);
	}
	/* another order of steps is possible, too: CPUs went although it could not be raised */
	test_interrupted_count(5, NOT_RAISED, 0);
	test_interrupted_count(5, NOT_RAISED, 1);
}

static size_t count_steps(const struct operation *operation, const struct step_kind *kind)
{
	size_t nr = 0;

	for (size_t i = 0; i < operation->nr_steps; i++)
		nr += operation->steps[i].kind == kind;
	return nr;
}

static void test_spent_steps(void)
{
	struct scene scene;

	begin();
	scene_open_return(&scene, SCENE_ID, NULL);
	is_int((long long)count_steps(scene.run.operation, &rcu_kind), 1,
	       "a spent step makes room for one that is planned afresh");
	is_int((long long)count_steps(scene.run.operation, &hotplug_kind), 1,
	       "the CPUs stay planned once");
	is_int((long long)scene.run.operation->nr_steps, 2, "there are no other steps");
	is_str(fake.log, "", "planning changes nothing");
	scene_close(&scene);
	leave_interrupted(5, NOTED, 0);
	scene_open_return(&scene, SCENE_ID, NULL);
	is_int((long long)count_steps(scene.run.operation, &rcu_kind), 2,
	       "one in force is kept beside it");
	scene_close(&scene);
}

/* CPUs that no journal knows, named by number. */
static void test_adopt(void)
{
	struct scene scene;

	fake_reset(8);
	fake.online[2] = fake.online[6] = fake.online[7] = false;
	scene_init(&scene, "6-7", SCENE_ID);
	is_int(plan_adopt(&scene.env, &scene.operation), 0, "adopting");
	is_str(fake.log, "", "adopting changes nothing");
	ok(hwloc_bitmap_isequal(scene.operation.claim, scene.target), "adopting makes a claim");
	scene.env.is_return = true;
	is_int(plan_return(&scene.env, &scene.operation), 0, "adopted: a plan");
	scene.run.operation = &scene.operation;
	is_outcome(scene_return(&scene), OUTCOME_DONE, "adopted");
	is_str(fake.log, "rcu=1 cpu6=1 cpu7=1 rcu=0", "adopted: the writes");
	is_state("0-1,3-7", "none", "adopted");
	is_int(fake_nr_journals(), 0, "adopted: no journal is left");
	scene_close(&scene);
}

static void test_failures(void)
{
	for (unsigned int cpu = 4; cpu < 8; cpu++) {
		test_failing_cpu(cpu, FAKE_FAIL);
		test_failing_cpu(cpu, FAKE_LIE);
	}
	test_adopted(0, 0);
	test_adopted(EIO, 1);
	test_busy();
	test_signal();
	test_two_signals();
	test_stuck();
	test_unwritable(1);
	test_unwritable(2);
	test_unwritable(3);
	test_read_only();
}

int main(void)
{
	test_all();
	test_no_mask();
	test_trace();
	test_scope();
	test_drift();
	test_drift_meanwhile();
	test_taken_meanwhile();
	test_taken_after();
	test_off_before();
	test_claims(true);
	test_claims(false);
	test_claim_only();
	test_failures();
	test_interrupted();
	test_interrupted_counts();
	test_spent_steps();
	test_adopt();
	if (guard_can_see())
		is_int((long long)scene_nr_allocated, 0,
		       "nothing was allocated after a first write");
	return done_testing();
}
