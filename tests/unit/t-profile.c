/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-profile.c - tests of the profile: sums, what runs within what, what is lost, what has no room
 */
#include "base/profile.h"

#include <string.h>

#include "guard.h"
#include "tap.h"

static struct profile *profile;

static void begin(unsigned int nr_changing)
{
	if (profile_new(8, nr_changing, &profile))
		profile = NULL;
	profile_begin_trace(profile);
}

static void end(void)
{
	profile_free(profile);
}

static void enter(unsigned int cpu, long step, const char *name, double time)
{
	profile_enter(profile, cpu, step, name, strlen(name), time);
}

static bool is_close(double got, double expected, const char *what)
{
	bool passed = ok(got > expected - 1e-9 && got < expected + 1e-9, "%s", what);

	if (!passed)
		diag("got %.9f, expected %.9f", got, expected);
	return passed;
}

static const struct profile_callback *find(const char *name)
{
	for (size_t i = 0; i < profile->nr_callbacks; i++)
		if (!strcmp(profile->callbacks[i].name, name))
			return &profile->callbacks[i];
	return NULL;
}

static void is_callback(const char *name, unsigned int nr, double seconds, double longest,
			unsigned int cpu)
{
	const struct profile_callback *callback = find(name);

	if (!ok(callback, "%s is there", name))
		return;
	is_int(callback->nr, nr, "%s: calls", name);
	is_close(callback->seconds, seconds, name);
	is_close(callback->longest, longest, "its longest");
	is_int(callback->longest_cpu, cpu, "%s: the CPU of the longest", name);
}

/* Two CPUs go; what runs in the frame of a third function is not counted twice. */
static void test_sums(void)
{
	double seconds, in_callbacks;

	begin(2);
	enter(7, 236, "cpuhp_kick_ap_work", 10.0);
	enter(7, 235, "sched_cpu_deactivate", 10.1);
	profile_leave(profile, 7, 235, 10.3);
	enter(7, 190, "rcutree_offline_cpu", 10.3);
	profile_leave(profile, 7, 190, 10.31);
	profile_leave(profile, 7, 236, 10.5);
	enter(7, 145, "takedown_cpu", 10.5);
	profile_leave(profile, 7, 145, 10.9);
	profile_add_change(profile, 7, false, 9.9, 11.0);
	enter(6, 235, "sched_cpu_deactivate", 11.5);
	profile_leave(profile, 6, 235, 11.6);
	profile_add_change(profile, 6, false, 11.1, 12.1);
	profile_add_step(profile, "cpu.offline", false, 9.9, 12.1);
	is_int(profile_finish(profile), 0, "the profile is finished");

	is_str(profile->callbacks[0].name, "takedown_cpu", "the heaviest is first");
	is_callback("takedown_cpu", 1, 0.4, 0.4, 7);
	is_callback("sched_cpu_deactivate", 2, 0.3, 0.2, 7);
	is_callback("rcutree_offline_cpu", 1, 0.01, 0.01, 7);
	is_callback("cpuhp_kick_ap_work", 1, 0.29, 0.29, 7);
	ok(find("cpuhp_kick_ap_work")->is_wait, "the frame of the kernel waits");
	ok(!find("takedown_cpu")->is_wait, "a callback does not");
	is_close(profile->changes[0].in_callbacks, 0.61, "the first CPU's callbacks");
	is_close(profile->changes[1].in_callbacks, 0.1, "the second CPU's callbacks");
	is_str(profile_heaviest(profile, &profile->changes[0]), "takedown_cpu",
	       "the first CPU's heaviest");
	is_str(profile_heaviest(profile, &profile->changes[1]), "sched_cpu_deactivate",
	       "the second CPU's heaviest");
	profile_sum(profile, &seconds, &in_callbacks);
	is_close(seconds, 2.1, "the changes took");
	is_close(in_callbacks, 0.71, "of that in callbacks");
	for (size_t i = 1; i < profile->nr_spans; i++)
		ok(profile->spans[i - 1].cpu <= profile->spans[i].cpu, "spans are sorted by CPU");
	is_int((long long)profile_find_spans(profile, 7), 1, "and can be found");
	end();
}

/* Down, up again in a rollback: each change has what ran in it. */
static void test_twice(void)
{
	begin(1);
	enter(5, 145, "takedown_cpu", 1.0);
	profile_leave(profile, 5, 145, 1.5);
	profile_add_change(profile, 5, false, 0.9, 1.6);
	enter(5, 31, "page_alloc_cpu_online", 2.0);
	profile_leave(profile, 5, 31, 2.25);
	profile_add_change(profile, 5, true, 1.9, 2.6);
	is_int(profile_finish(profile), 0, "there and back");
	is_close(profile->changes[0].in_callbacks, 0.5, "on the way down");
	is_close(profile->changes[1].in_callbacks, 0.25, "on the way up");
	end();
}

static void add_write(void)
{
	for (unsigned int i = 0; i < 3; i++)
		profile_add_change(profile, 7 - i, false, 1.0 + i, 2.0 + i);
	profile_join_changes(profile, 3);
}

/* One write for three, which the kernel takes in an order of its own. */
static void test_together(void)
{
	static const struct {
		unsigned int cpu;
		double begin, end, in_callbacks;
	} wanted[] = { { 5, 1.0, 1.5, 0.3 }, { 7, 1.5, 3.75, 2.0 }, { 6, 3.75, 4.0, 0.1 } };

	begin(3);
	for (size_t i = 0; i < 3; i++) {
		double end = i < 2 ? wanted[i].end : 3.9;

		enter(wanted[i].cpu, 145, "takedown_cpu", end - wanted[i].in_callbacks);
		profile_leave(profile, wanted[i].cpu, 145, end);
	}
	add_write();
	is_int(profile_finish(profile), 0, "three by one write");
	for (size_t i = 0; i < 3; i++) {
		const struct profile_change *change = &profile->changes[i];

		is_int(change->cpu, wanted[i].cpu, "in the kernel's order");
		is_close(change->begin, wanted[i].begin, "from where the one before has ended");
		is_close(change->end, wanted[i].end, "to its last callback, or the write's end");
		is_close(change->in_callbacks, wanted[i].in_callbacks, "its callbacks");
	}
	end();

	begin(3);
	enter(5, 145, "takedown_cpu", 1.2);
	profile_leave(profile, 5, 145, 1.5);
	add_write();
	is_int(profile_finish(profile), 0, "callbacks are missing");
	is_int(profile->changes[0].cpu, 7, "callbacks are missing: as they were");
	is_close(profile->changes[1].begin, 2.0, "callbacks are missing: equal parts");
	end();
}

static void test_lost(void)
{
	begin(1);
	profile_leave(profile, 5, 7, 1.0);
	is_int((long long)profile->nr_spans, 0, "what was not entered is not left");
	enter(5, 10, "outer", 1.0);
	enter(5, 9, "its_end_was_lost", 1.1);
	profile_leave(profile, 5, 10, 1.4);
	is_callback("outer", 1, 0.4, 0.4, 5);
	is_int(find("its_end_was_lost")->nr, 0, "a callback without its end does not count");
	enter(5, 10, "outer", 2.0);
	profile_begin_trace(profile);
	profile_leave(profile, 5, 10, 9.0);
	is_callback("outer", 1, 0.4, 0.4, 5);
	enter(5, 11, "backwards", 3.0);
	profile_leave(profile, 5, 11, 2.9);
	is_int(find("backwards")->nr, 0, "nor does one that ends before it begins");
	enter(900, 11, "outer", 3.0);
	profile_leave(profile, 900, 11, 3.5);
	is_int((long long)profile->nr_left_out, 1, "a CPU that cannot be is left out");
	end();
}

/* More of everything than there is room for: it is counted, and nothing is allocated. */
static void test_room(void)
{
	char name[32];
	size_t nr_allocated;

	begin(1);
	guard_begin();
	for (unsigned int i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "callback_%u", i % 700);
		enter(i % 8, 5, name, i);
		profile_leave(profile, i % 8, 5, i + 0.5);
		profile_add_change(profile, i % 8, false, i, i + 0.75);
		profile_add_step(profile, "kind", false, i, i + 1);
	}
	for (unsigned int i = 0; i < 10; i++)
		enter(1, (long)i, "deep", i);
	nr_allocated = guard_end();
	if (guard_can_see())
		is_int((long long)nr_allocated, 0, "adding allocates nothing");
	ok(profile->nr_left_out > 5000, "what has no room is counted");
	is_int(profile_finish(profile), 0, "a full profile is finished");
	ok(profile->nr_spans <= profile->max_spans, "no list is longer than its room");
	end();
}

static void test_names(void)
{
	const char *name =
		"a_callback_whose_name_is_longer_than_any_that_the_kernel_has_today_or_tomorrow";

	begin(1);
	enter(1, 5, name, 1);
	profile_leave(profile, 1, 5, 2);
	enter(1, 5, name, 3);
	profile_leave(profile, 1, 5, 4);
	profile_enter(profile, 1, 5, "abcdef", 3, 5);
	profile_leave(profile, 1, 5, 6);
	is_int((long long)profile->nr_callbacks, 2, "a long name is one callback");
	is_int((long long)strlen(profile->callbacks[0].name), 63, "as much of it as has room");
	is_str(profile->callbacks[1].name, "abc", "a name ends where it is said to");
	end();
}

static void test_none(void)
{
	profile_add_step(NULL, "kind", false, 0, 1);
	profile_add_change(NULL, 1, false, 0, 1);
	ok(true, "without a profile nothing is added");
	begin(0);
	is_int(profile_finish(profile), 0, "an empty profile is finished");
	end();
}

int main(void)
{
	test_sums();
	test_twice();
	test_together();
	test_lost();
	test_room();
	test_names();
	test_none();
	return done_testing();
}
