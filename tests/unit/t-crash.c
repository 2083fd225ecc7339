/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * t-crash.c - cpuoff is killed at each instant, and a restore repairs
 *
 * An instant is a change of the machine or of the state directory. After a kill none has an effect
 * any more; the journal that is on the disk then is all that the restore knows.
 */
#include <errno.h>
#include <string.h>

#include "guard.h"
#include "scene.h"
#include "tap.h"

static const struct course {
	const char *what;
	struct fake_rule rule; /* what happens, if it has an error */
	enum on_error on_error;
	bool has_trace;
	long foreign;	    /* what others have added to rcu_expedited */
	const char *method; /* another one than sequential */
	bool has_smt_trap;
	const char *others; /* CPUs that somebody else takes before the restore, or NULL */
} courses[] = {
	{ .what = "success" },
	{ .what = "success with a trace", .has_trace = true },
	{ .what = "success beside others", .foreign = 2 },
	{ .what = "rollback from the last",
	  .rule = { .event = FAKE_FAIL, .cpu = 4, .error = EAGAIN } },
	{ .what = "rollback from the first",
	  .rule = { .event = FAKE_FAIL, .cpu = 7, .error = EAGAIN } },
	{ .what = "rollback with a trace, beside others",
	  .rule = { .event = FAKE_FAIL, .cpu = 5, .error = EAGAIN },
	  .has_trace = true,
	  .foreign = 1 },
	{ .what = "continue",
	  .rule = { .event = FAKE_FAIL, .cpu = 6, .error = EPERM },
	  .on_error = ON_ERROR_CONTINUE },
	{ .what = "stop",
	  .rule = { .event = FAKE_FAIL, .cpu = 6, .error = EPERM },
	  .on_error = ON_ERROR_STOP },
	{ .what = "rollback that fails",
	  .rule = { .event = FAKE_FAIL, .cpu = 5, .direction = FAKE_BOTH, .error = EPERM } },
	{ .what = "bulk", .method = "bulk" },
	{ .what = "bulk, rollback",
	  .rule = { .event = FAKE_FAIL, .cpu = 5, .error = EAGAIN },
	  .method = "bulk",
	  .has_trace = true },
	{ .what = "bulk, continue",
	  .rule = { .event = FAKE_FAIL, .cpu = 7, .error = EAGAIN },
	  .on_error = ON_ERROR_CONTINUE,
	  .method = "bulk" },
	{ .what = "smt", .method = "smt" },
	{ .what = "smt beside others", .method = "smt", .others = "2,6" },
	{ .what = "smt, rollback",
	  .rule = { .event = FAKE_FAIL, .cpu = 5, .error = EAGAIN },
	  .method = "smt" },
	{ .what = "smt, rollback out of the trap",
	  .rule = { .event = FAKE_FAIL, .cpu = 5, .error = EAGAIN },
	  .method = "smt",
	  .has_smt_trap = true },
	{ .what = "smt, stayed for a moment",
	  .rule = { .event = FAKE_FAIL, .cpu = 3, .error = EAGAIN, .times = 1 },
	  .method = "smt",
	  .has_smt_trap = true },
	{ .what = "smt, continue, beside others",
	  .rule = { .event = FAKE_FAIL, .cpu = 5, .error = EAGAIN },
	  .on_error = ON_ERROR_CONTINUE,
	  .method = "smt",
	  .has_smt_trap = true,
	  .others = "4" },
};

static bool is_method(const struct course *course, const char *name)
{
	return course->method && !strcmp(course->method, name);
}

static bool others_returned;

static void begin(const struct course *course)
{
	others_returned = false;
	fake_reset(8);
	fake.is_live = fake.has_tracefs = course->has_trace;
	fake.rcu_expedited = course->foreign;
	fake.has_bulk = is_method(course, "bulk");
	if (is_method(course, "smt"))
		strcpy(fake.smt_control, "on");
	fake.has_smt_trap = course->has_smt_trap;
}

/* What somebody else has taken is not to be brought back. */
static void set_others(const struct course *course, bool online)
{
	for (unsigned int cpu = 0; course->others && cpu < fake.nr_cpus; cpu++)
		if (cpus_text_has(course->others, cpu)) {
			others_returned |= online && fake.online[cpu];
			fake.online[cpu] = online;
		}
}

/* The next process: it knows nothing, and nothing stands in its way. */
static void wake(void)
{
	fake.killed_at = 0;
	fake.nr_rules = 0;
	fake.nr_signals = 0;
}

/* Takes CPUs 4-7, or the second threads, and is killed at @instant. Returns the number of instants,
 * and the outcome. */
static unsigned int take(const struct course *course, unsigned int instant,
			 enum outcome *ret_outcome)
{
	struct scene scene;

	scene_init(&scene, is_method(course, "smt") ? "1,3,5,7" : "4-7", SCENE_ID);
	scene.request.on_error = course->on_error;
	scene_plan(&scene);
	if (course->rule.error)
		fake_add(course->rule);
	fake.killed_at = instant;
	*ret_outcome = scene_take(&scene);
	scene_close(&scene);
	wake();
	set_others(course, false);
	return fake.nr_instants;
}

/* Brings everything back and is killed at @instant. Returns the number of instants, 0 without a
 * journal. */
static unsigned int restore(unsigned int instant, enum outcome *ret_outcome)
{
	struct scene scene;
	unsigned int nr = 0;

	scene_open_return(&scene, SCENE_ID, NULL);
	fake.killed_at = instant;
	if (scene.run.operation) {
		*ret_outcome = scene_return(&scene);
		nr = fake.nr_instants;
	}
	scene_close(&scene);
	wake();
	return nr;
}

static bool is_as_before(const struct course *course)
{
	char online[64];

	for (unsigned int cpu = 0; cpu < fake.nr_cpus; cpu++)
		if (fake.fails_first[cpu])
			return false;
	if (is_method(course, "smt") && strcmp(fake.smt_control, "on"))
		return false;
	set_others(course, true);
	snprintf(online, sizeof(online), "%s", fake_online());
	set_others(course, false);
	return !strcmp(online, "0-7") && !others_returned &&
	       fake.rcu_expedited == course->foreign && !fake.has_instance && !fake_nr_journals();
}

/* Tells of the first that is not, for each course. */
static bool repaired(const struct course *course, const char *where, unsigned int instant)
{
	static const struct course *told;
	enum outcome outcome = OUTCOME_DONE;

	if (!fake_nr_journals() && is_as_before(course))
		return true;
	restore(0, &outcome);
	if (outcome == OUTCOME_DONE && is_as_before(course))
		return true;
	if (told == course)
		return false;
	told = course;
	diag("%s: killed at instant %u of %s: outcome %s, online %s, rcu_expedited %ld of %ld, "
	     "trace %d, journals %u",
	     course->what, instant, where, scene_outcome(outcome), fake_online(),
	     fake.rcu_expedited, course->foreign, fake.has_instance, fake_nr_journals());
	diag("writes: %s", fake.log);
	return false;
}

static void test_kill_while_taking(const struct course *course)
{
	unsigned int nr, nr_repaired = 0;
	enum outcome outcome;

	begin(course);
	nr = take(course, 0, &outcome);
	for (unsigned int instant = 1; instant <= nr; instant++) {
		begin(course);
		take(course, instant, &outcome);
		nr_repaired += repaired(course, "taking", instant);
	}
	ok(nr > 4, "%s: %u instants", course->what, nr);
	is_int(nr_repaired, nr, "%s: killed while taking, the restore repairs", course->what);
}

static void test_kill_while_returning(const struct course *course)
{
	unsigned int nr, nr_repaired = 0;
	enum outcome outcome;

	begin(course);
	take(course, 0, &outcome);
	nr = restore(0, &outcome);
	for (unsigned int instant = 1; instant <= nr; instant++) {
		begin(course);
		take(course, 0, &outcome);
		restore(instant, &outcome);
		nr_repaired += repaired(course, "the restore", instant);
	}
	is_int(nr_repaired, nr, "%s: killed in the restore, a second one repairs", course->what);
}

/* Killed twice: while taking, and again in the restore. */
static void test_kill_twice(const struct course *course)
{
	unsigned int nr, nr_tried = 0, nr_repaired = 0;
	enum outcome outcome;

	begin(course);
	nr = take(course, 0, &outcome);
	for (unsigned int first = 2; first <= nr; first++) {
		unsigned int second = 1, nr_second;

		do {
			begin(course);
			take(course, first, &outcome);
			nr_second = restore(second, &outcome);
			nr_tried++;
			nr_repaired += repaired(course, "the first restore", second);
		} while (second++ < nr_second);
	}
	is_int(nr_repaired, nr_tried, "%s: killed twice, the third repairs", course->what);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(courses); i++) {
		test_kill_while_taking(&courses[i]);
		test_kill_while_returning(&courses[i]);
		test_kill_twice(&courses[i]);
	}
	if (guard_can_see())
		is_int((long long)scene_nr_allocated, 0,
		       "nothing was allocated after a first write");
	return done_testing();
}
