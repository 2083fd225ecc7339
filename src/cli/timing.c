/* SPDX-License-Identifier: GPL-2.0-or-later */
/* timing.c - what --measure and --profile have found, as text */
#include "cli/timing.h"

void timing_print_latency(const struct layout *layout, const struct measurement *measurement)
{
	const struct latency *latency = &measurement->latency;
	_cleanup_free_ char *cpus = cpus_format(measurement->cpus), *text = NULL;

	text = util_asprintf("Wake-up delays on CPUs %s: longest %.3f ms, 99.9 %% within %.3f ms; "
			     "%llu of %llu over 1 ms.",
			     cpus ? cpus : "?", (double)latency->longest / 1e6,
			     latency_percentile(latency, 999) * 1e3,
			     (unsigned long long)latency->nr_over_1ms,
			     (unsigned long long)latency->nr_wakeups);
	if (text)
		layout_sentence(layout, STYLE_PLAIN, 0, 0, text);
}

static void print_share(const struct layout *layout, double seconds, double all)
{
	layout_print(layout, STYLE_PLAIN, "  %10.4f %5.1f%%", seconds,
		     all > 0 ? seconds / all * 100 : 0);
}

/* Lighter ones than a thousandth of the whole only with -v. */
static void print_callbacks(const struct layout *layout, const struct profile *profile, double all,
			    double in_callbacks)
{
	double outside = all - in_callbacks, light = 0;
	unsigned int nr_light = 0;
	bool is_told = false;

	for (size_t i = 0; i < profile->nr_callbacks; i++)
		outside -= profile->callbacks[i].is_wait ? profile->callbacks[i].seconds : 0;
	layout_print(layout, STYLE_FAINT,
		     "     seconds  share  count    longest    CPU  callback\n");
	for (size_t i = 0; i <= profile->nr_callbacks; i++) {
		const struct profile_callback *callback = &profile->callbacks[i];

		if (!is_told && (i == profile->nr_callbacks || callback->seconds < outside)) {
			print_share(layout, outside, all);
			layout_print(layout, STYLE_PLAIN,
				     "%28s outside of callbacks: waiting, stop_machine, RCU\n", "");
			is_told = true;
		}
		if (i == profile->nr_callbacks)
			break;
		if (!layout->is_whole && callback->seconds < all / 1000) {
			light += callback->seconds;
			nr_light++;
			continue;
		}
		print_share(layout, callback->seconds, all);
		layout_print(layout, STYLE_PLAIN, " %6u %10.4f %6u  %s%s\n", callback->nr,
			     callback->longest, callback->longest_cpu, callback->name,
			     callback->is_wait ? ": waits for the CPU's own thread" : "");
	}
	if (nr_light) {
		print_share(layout, light, all);
		layout_print(layout, STYLE_PLAIN, "%28s %u others\n", "", nr_light);
	}
}

void timing_print_profile(const struct layout *layout, const struct profile *profile)
{
	double all, in_callbacks;

	profile_sum(profile, &all, &in_callbacks);
	layout_print(
		layout, STYLE_PLAIN,
		"%zu change%s of CPUs took %.4f s, of that %.4f s in callbacks of the kernel.\n",
		profile->nr_changes, profile->nr_changes == 1 ? "" : "s", all, in_callbacks);
	if (profile->is_traced)
		print_callbacks(layout, profile, all, in_callbacks);
	else
		layout_print(layout, STYLE_PLAIN, "The kernel's callbacks were not traced.\n");
	if (profile->nr_lost || profile->nr_left_out)
		layout_print(
			layout, STYLE_PLAIN,
			"Not all is in it: the kernel has lost %lu events, and %lu had no room.\n",
			profile->nr_lost, profile->nr_left_out);
	layout_print(layout, STYLE_FAINT, "     seconds  step\n");
	for (size_t i = 0; i < profile->nr_steps; i++)
		layout_print(layout, STYLE_PLAIN, "  %10.4f  %s%s\n",
			     profile->steps[i].end - profile->steps[i].begin,
			     profile->steps[i].kind, profile->steps[i].is_undo ? ", undone" : "");
}
