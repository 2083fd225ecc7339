/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-trace.c - tests of what a trace tells: the callback that failed, the one that does not end */
#include "host/trace.h"

#include "base/profile.h"
#include "guard.h"
#include "tap.h"
#include "temp.h"

#define INSTANCE "sys/kernel/tracing/instances/cpuoff"

#define HEAD                                                                                       \
	"# tracer: nop\n#\n# entries-in-buffer/entries-written: 8/8   #P:8\n#\n"                   \
	"#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
#define ENTER(cpu, step, callback)                                                                 \
	"  cpuoff-writer-77    [003] .....   12.345678: cpuhp_enter: cpu: " cpu                    \
	" target:   0 step: " step " (" callback ")\n"
#define MULTI(cpu, step, callback)                                                                 \
	"      cpuhp/5-44      [005] .....   12.345679: cpuhp_multi_enter: cpu: " cpu              \
	" target: 140 step: " step " (" callback ")\n"
#define LEAVE(cpu, step, result)                                                                   \
	"      cpuhp/5-44      [005] .....   12.345680: cpuhp_exit:  cpu: " cpu                    \
	"  state: 238 step: " step " ret: " result "\n"

static struct root *root;

static const struct scenario {
	const char *what;
	const char *trace;
	unsigned int cpu;
	const char *failed, *running; /* NULL: none is told */
} scenarios[] = {
	{ "an empty file", "", 5, NULL, NULL },
	{ "nothing but a head", HEAD, 5, NULL, NULL },
	{ "success", HEAD ENTER("0005", "239", "sched_cpu_deactivate") LEAVE("0005", "239", "0"), 5,
	  NULL, NULL },
	{ "a failure",
	  HEAD ENTER("0005", "239", "sched_cpu_deactivate") LEAVE("0005", "239", "-16"), 5,
	  "sched_cpu_deactivate", NULL },
	{ "a failure without a newline",
	  ENTER("0005", "239", "sched_cpu_deactivate") " cpuhp/5-44 [005] ..... 1.2: cpuhp_exit:  "
						       "cpu: 0005  state: 238 step: 239 ret: -16",
	  5, NULL, "sched_cpu_deactivate" },
	{ "another CPU",
	  HEAD ENTER("0006", "239", "sched_cpu_deactivate") LEAVE("0006", "239", "-16"), 5, NULL,
	  NULL },
	{ "one that does not end", HEAD ENTER("0005", "93", "blk_mq_hctx_notify_offline"), 5, NULL,
	  "blk_mq_hctx_notify_offline" },
	{ "one of several instances",
	  HEAD MULTI("0005", "173", "virtnet_cpu_down_prep") LEAVE("0005", "173", "-22"), 5,
	  "virtnet_cpu_down_prep", NULL },
	{ "a module's",
	  HEAD MULTI("0005", "180", "down_prep [some_driver]") LEAVE("0005", "180", "-5"), 5,
	  "down_prep", NULL },
	{ "the kernel goes back after it",
	  HEAD ENTER("0005", "239", "sched_cpu_deactivate") LEAVE("0005", "239", "0")
		  ENTER("0005", "93", "page_alloc_cpu_dead") LEAVE("0005", "93", "-11")
			  ENTER("0005", "239", "sched_cpu_activate") LEAVE("0005", "239", "0"),
	  5, "page_alloc_cpu_dead", NULL },
	{ "the last one counts",
	  HEAD ENTER("0005", "93", "first") LEAVE("0005", "93", "-11") ENTER("0005", "94", "second")
		  LEAVE("0005", "94", "-16"),
	  5, "second", NULL },
	{ "others in between",
	  HEAD ENTER("0005", "93", "mine") ENTER("0004", "93", "theirs") LEAVE("0004", "93", "-5")
		  LEAVE("0005", "93", "-16"),
	  5, "mine", NULL },
	{ "others in between, not ended",
	  HEAD ENTER("0005", "93", "mine") ENTER("0004", "94", "theirs") LEAVE("0004", "94", "0"),
	  5, NULL, "mine" },
	{ "a step that was not entered",
	  HEAD ENTER("0005", "93", "mine") LEAVE("0005", "94", "-16"), 5, NULL, "mine" },
	{ "no step was entered", HEAD LEAVE("0005", "94", "-16"), 5, NULL, NULL },
	{ "a failure, then one that does not end",
	  HEAD ENTER("0005", "93", "mine") LEAVE("0005", "93", "-16") ENTER("0005", "92", "other"),
	  5, "mine", "other" },
	{ "a large number", HEAD ENTER("4095", "93", "mine") LEAVE("4095", "93", "-16"), 4095,
	  "mine", NULL },
	{ "a number over four digits",
	  HEAD ENTER("12345", "93", "mine") LEAVE("12345", "93", "-16"), 12345, "mine", NULL },
	{ "a number that begins alike", HEAD ENTER("0050", "93", "mine") LEAVE("0050", "93", "-16"),
	  5, NULL, NULL },
	{ "leading zeros are not octal",
	  HEAD ENTER("0010", "93", "mine") LEAVE("0010", "93", "-16"), 10, "mine", NULL },
	{ "lost events",
	  HEAD "CPU:5 [LOST 12 EVENTS]\n" ENTER("0005", "93", "mine") LEAVE("0005", "93", "-16"), 5,
	  "mine", NULL },
	{ "another event", " sh-1 [000] ..... 1.0: sched_switch: cpu: 0005 step: 93 (mine)\n", 5,
	  NULL, NULL },
	{ "no name", ": cpuhp_enter: cpu: 0005 target: 0 step: 93\n" LEAVE("0005", "93", "-16"), 5,
	  NULL, NULL },
	{ "a name that does not end", ": cpuhp_enter: cpu: 0005 target: 0 step: 93 (mine\n", 5,
	  NULL, "mine" },
	{ "no number", ": cpuhp_enter: target: 0 step: 93 (mine)\n", 5, NULL, NULL },
	{ "no step", ": cpuhp_enter: cpu: 0005 target: 0 (mine)\n", 5, NULL, NULL },
};

static struct step_env make_env(void)
{
	return (struct step_env){ .root = root, .trace_instance = INSTANCE };
}

static void is_told(const char *what, unsigned int cpu, const char *failed, const char *running)
{
	struct step_env env = make_env();
	char callback[64] = "before";
	bool is_there = trace_failed_callback(&env, cpu, callback, sizeof(callback));

	ok(is_there == !!failed, "%s: a failure is %stold", what, failed ? "" : "not ");
	is_str(callback, failed ? failed : "before", "%s: the callback", what);
	snprintf(callback, sizeof(callback), "before");
	is_there = trace_running_callback(&env, cpu, callback, sizeof(callback));
	ok(is_there == !!running, "%s: one that runs is %stold", what, running ? "" : "not ");
	is_str(callback, running ? running : "before", "%s: the one that runs", what);
}

static void test_scenarios(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++) {
		const struct scenario *s = &scenarios[i];

		temp_write(INSTANCE "/trace", s->trace);
		is_told(s->what, s->cpu, s->failed, s->running);
	}
}

/* Larger than any buffer, and the piece that counts moved over all of a buffer's edges. */
static void test_large(void)
{
	static char text[64 * 1024];
	static const char noise[] = ENTER("0004", "93", "noise") LEAVE("0004", "93", "-5");
	static const char wanted[] = ENTER("0005", "94", "wanted") LEAVE("0005", "94", "-16");
	unsigned int nr_good = 0, nr = 0;

	for (size_t shift = 0; shift < 300; shift += 3) {
		struct step_env env = make_env();
		char callback[64] = "";
		size_t n = 0;

		memset(text, '#', shift);
		text[shift] = '\n';
		n = shift + 1;
		while (n < 40000) {
			memcpy(text + n, noise, sizeof(noise) - 1);
			n += sizeof(noise) - 1;
			if (n > 7800 && n < 8100) {
				memcpy(text + n, wanted, sizeof(wanted) - 1);
				n += sizeof(wanted) - 1;
			}
		}
		temp_write_bytes(INSTANCE "/trace", text, n);
		nr++;
		nr_good += trace_failed_callback(&env, 5, callback, sizeof(callback)) &&
			   !strcmp(callback, "wanted");
	}
	is_int(nr_good, nr, "a large trace is read whole, wherever its pieces are cut");
}

static void test_long_line(void)
{
	static char text[40000];
	size_t n = 20000;

	memset(text, 'x', n);
	text[n++] = '\n';
	snprintf(text + n, sizeof(text) - n, "%s",
		 ENTER("0005", "94", "wanted") LEAVE("0005", "94", "-16"));
	temp_write(INSTANCE "/trace", text);
	is_told("after a line without end", 5, "wanted", NULL);
}

static void test_long_name(void)
{
	struct step_env env = make_env();
	char callback[64] = "", small[8] = "";
	const char *name =
		"a_callback_whose_name_is_longer_than_any_that_the_kernel_has_today_or_tomorrow";
	char *text = util_asprintf(": cpuhp_enter: cpu: 0005 target: 0 step: 93 (%s)\n%s", name,
				   LEAVE("0005", "93", "-16"));

	temp_write(INSTANCE "/trace", text ? text : "");
	ok(trace_failed_callback(&env, 5, callback, sizeof(callback)), "a long name is told");
	ok(strlen(callback) == 63 && !strncmp(callback, name, 63),
	   "as much of it as there is room for");
	ok(trace_failed_callback(&env, 5, small, sizeof(small)), "a small buffer is filled");
	is_str(small, "a_callb", "and ended");
	free(text);
}

static void test_none(void)
{
	struct step_env env = make_env();
	char callback[64] = "before";

	env.trace_instance = NULL;
	ok(!trace_failed_callback(&env, 5, callback, sizeof(callback)), "no trace is in force");
	env.trace_instance = "sys/kernel/tracing/instances/other";
	ok(!trace_failed_callback(&env, 5, callback, sizeof(callback)), "its file is not there");
	ok(!trace_running_callback(&env, 5, callback, sizeof(callback)), "for neither question");
	is_str(callback, "before", "the result is untouched");
}

static void test_without_memory(void)
{
	struct step_env env = make_env();
	char callback[64] = "";
	bool is_told_of;
	size_t nr;

	temp_write(INSTANCE "/trace", ENTER("0005", "94", "wanted") LEAVE("0005", "94", "-16"));
	guard_begin();
	is_told_of = trace_failed_callback(&env, 5, callback, sizeof(callback));
	nr = guard_end();
	ok(is_told_of, "a trace is read without memory");
	if (guard_can_see())
		is_int((long long)nr, 0, "none is asked for");
}

/* ---- the profile ------------------------------------------------------------------------- */

#define AT(time, event) "  kworker/0:0-9       [000] .N...   " time ": " event "\n"

static const char removal[] =
	"# tracer: nop\n#\n# entries-in-buffer/entries-written: 8/20   #P:8\n#\n" AT(
		"22.500000", "cpuhp_enter: cpu: 0007 target: 145 step: 236 (cpuhp_kick_ap_work)")
		AT("22.600000",
		   "cpuhp_enter: cpu: 0007 target: 145 step: 235 (sched_cpu_deactivate)")
			AT("22.700000", "cpuhp_exit:  cpu: 0007  state: 234 step: 235 ret: 0") AT(
				"22.900000", "cpuhp_exit:  cpu: 0007  state: 145 step: 236 ret: 0")
				AT("23.000000", "cpuhp_multi_enter: cpu: 0007 target: 0 step: 22 "
						"(bio_cpu_dead [block])") AT(
					"23.000100",
					"cpuhp_exit:  cpu: 0007  state: 21 step: 22 ret: 0")
					AT("23.000200", "cpuhp_multi_enter: cpu: 0007 target: 0 "
							"step: 22 (bio_cpu_dead [block])")
						AT("23.000400", "cpuhp_exit:  cpu: 0007  state: 21 "
								"step: 22 ret: -5");

static void is_profiled(const struct profile_callback *callback, const char *name, unsigned int nr,
			double seconds)
{
	is_str(callback->name, name, "profile: the name of %s", name);
	is_int(callback->nr, nr, "profile: calls of %s", name);
	if (!ok(callback->seconds > seconds - 1e-6 && callback->seconds < seconds + 1e-6,
		"profile: time of %s", name))
		diag("%.6f", callback->seconds);
}

static void test_profile(void)
{
	struct step_env env = make_env();
	size_t nr_allocated;

	temp_write(INSTANCE "/trace", removal);
	trace_read_profile(&env);
	if (!ok(!profile_new(8, 1, &env.profile), "profile: made"))
		return;
	profile_add_change(env.profile, 7, false, 22.4, 23.1);
	guard_begin();
	trace_read_profile(&env);
	nr_allocated = guard_end();
	if (guard_can_see())
		is_int((long long)nr_allocated, 0, "profile: reading allocates nothing");
	is_int(profile_finish(env.profile), 0, "profile: finished");
	ok(env.profile->is_traced, "profile: there was a trace");
	is_int((long long)env.profile->nr_lost, 12, "profile: what the kernel has overwritten");
	is_int((long long)env.profile->nr_callbacks, 3, "profile: callbacks");
	is_profiled(&env.profile->callbacks[0], "cpuhp_kick_ap_work", 1, 0.3);
	is_profiled(&env.profile->callbacks[1], "sched_cpu_deactivate", 1, 0.1);
	is_profiled(&env.profile->callbacks[2], "bio_cpu_dead", 2, 0.0003);
	ok(env.profile->changes[0].in_callbacks > 0.1002 &&
		   env.profile->changes[0].in_callbacks < 0.1004,
	   "profile: waiting in the kernel's own frame is not in a callback");
	env.trace_instance = NULL;
	trace_read_profile(&env);
	is_int((long long)env.profile->nr_spans, 4, "profile: nothing is read without a trace");
	profile_free(env.profile);
}

int main(void)
{
	temp_make();
	root = temp_root();
	test_scenarios();
	test_large();
	test_long_line();
	test_long_name();
	test_none();
	test_profile();
	test_without_memory();
	root_close(root);
	temp_remove();
	return done_testing();
}
