/* SPDX-License-Identifier: GPL-2.0-or-later */
/* text.c - what people read: results on stdout, everything else on stderr */
#include "cli/text.h"

#include <errno.h>
#include <string.h>

#include "cli/catalogue.h"
#include "cli/list.h"

/* ---- stderr ------------------------------------------------------------------------------ */

static void print_finding(const struct finding *finding)
{
	static const char *const words[] = { "note", "warning", "refused" };

	fprintf(stderr, "cpuoff: %s: %s [%s]\n", words[finding->severity], finding->message,
		finding->rule);
	if (finding->remedy[0])
		fprintf(stderr, "cpuoff:    %s\n", finding->remedy);
}

static void print_findings(const struct report *report)
{
	for (size_t i = 0; i < report->findings.nr; i++) {
		const struct finding *finding = &report->findings.list[i];

		if (!report->options->quiet || finding->severity == SEVERITY_REFUSE)
			print_finding(finding);
	}
}

static void print_failure(const struct report *report, const struct run *run,
			  const struct item *item)
{
	struct explanation explanation;

	if (report_explain(report, run, item, &explanation))
		return;
	fprintf(stderr, "cpuoff: %s\n", explanation.message);
	if (explanation.kernel_log)
		fprintf(stderr, "cpuoff:    kernel log: %s\n", explanation.kernel_log);
	if (explanation.cause[0])
		fprintf(stderr, "cpuoff:    %s\n", explanation.cause);
	fprintf(stderr, "cpuoff:    %s\n", explanation.remedy);
	explanation_free(&explanation);
}

static void print_step_failures(const struct report *report, const struct run *run,
				const struct step *step)
{
	for (size_t i = 0; i < step->nr_items; i++) {
		const struct item *item = &step->items[i];

		if (!item->error)
			continue;
		if (step->kind->is_per_cpu)
			print_failure(report, run, item);
		else if (!report->options->quiet)
			fprintf(stderr, "cpuoff: warning: %s: %s %s: %s\n", step->kind->name,
				item->object,
				item->error == ETIMEDOUT ? "does not answer"
							 : "could not be changed",
				strerror(item->error));
	}
}

static void print_failures(const struct report *report)
{
	for (size_t i = 0; i < report->nr_runs; i++) {
		const struct run *run = &report->runs[i];

		if (run->error == ECANCELED)
			fprintf(stderr,
				"cpuoff: the isolated partition was no longer in force: somebody "
				"changed cpusets meanwhile\n");
		if (run->journal_error)
			fprintf(stderr, "cpuoff: the journal %s could not be written: %s\n",
				run->operation->id, strerror(run->journal_error));
		for (size_t j = 0; j < run->operation->nr_steps; j++)
			print_step_failures(report, run, &run->operation->steps[j]);
	}
}

/* ---- the service verdict ----------------------------------------------------------------- */

/* @when: "", or what a forecast supposes. */
static void print_service(const struct report *report, const char *when)
{
	const struct service *service = &report->service;

	if (!report->has_service)
		return;
	if (service_is_safe(service)) {
		printf("%-14s %ssafe to remove: no CPU, memory or device of it is in use\n",
		       "hardware", when);
		return;
	}
	printf("%-14s %snot safe to remove, %zu thing%s in the way\n", "hardware", when,
	       service->nr, service->nr == 1 ? " is" : "s are");
	for (size_t i = 0; i < service->nr; i++)
		printf("  %-12s %s\n", service->list[i].kind, service->list[i].message);
}

/* ---- the plan ---------------------------------------------------------------------------- */

static void print_cpus(const char *title, hwloc_const_bitmap_t cpus, const char *rest)
{
	_cleanup_free_ char *list = cpus_format(cpus);
	unsigned int count = cpus_count(cpus);

	printf("%-14s %s  (%u CPU%s)%s\n", title, list && list[0] ? list : "none", count,
	       count == 1 ? "" : "s", rest);
}

static void print_values(const struct item *item, bool is_undone)
{
	printf("%s -> %s", is_undone ? item->after : item->before,
	       is_undone ? item->before : item->after);
}

static bool has_same_values(const struct item *one, const struct item *other)
{
	return !strcmp(one->before, other->before) && !strcmp(one->after, other->after);
}

static void print_items(const struct report *report, const struct run *run, const struct step *step,
			bool is_undone)
{
	for (size_t i = 0; i < step->nr_items; i++) {
		if (!report_shows_item(report, run, step, &step->items[i]))
			continue;
		printf("    %-40s", step->items[i].object);
		print_values(&step->items[i], is_undone);
		putchar('\n');
	}
}

/*
 * One line a step, with the first and the last of its items and the values that all of them share;
 * with -v one line an item.
 */
static void print_step(const struct report *report, const struct run *run, const struct step *step)
{
	bool is_undone =
		report->options->request.action == ACTION_RESTORE && step_is_in_force(step);
	const struct item *first = NULL, *last = NULL;
	bool are_same = true;
	size_t nr = 0;

	for (size_t i = 0; i < step->nr_items; i++) {
		if (!report_shows_item(report, run, step, &step->items[i]))
			continue;
		first = first ? first : &step->items[i];
		last = &step->items[i];
		are_same &= has_same_values(first, last);
		nr++;
	}
	if (!nr)
		return;
	printf("  %-20s %-14s ", step->kind->name, lifetime_format(step->lifetime));
	if (nr == 1)
		printf("%s", first->object);
	else
		printf("%zu, from %s to %s", nr, first->object, last->object);
	if (are_same) {
		printf(": ");
		print_values(first, is_undone);
	}
	putchar('\n');
	if (report->options->verbose && nr > 1)
		print_items(report, run, step, is_undone);
}

static void print_steps(const struct report *report)
{
	printf("steps\n");
	for (size_t i = 0; i < report->nr_runs; i++) {
		const struct run *run = &report->runs[i];

		for (const struct step *step = NULL; (step = report_next_step(report, run, step));)
			print_step(report, run, step);
	}
}

static void print_plan(const struct report *report)
{
	bool is_return = report->options->request.action == ACTION_RESTORE;

	print_cpus(is_return ? "bring back" : "take offline", report->target,
		   report->exit_status == EXIT_PARTIAL ? "  PARTIAL: not all of the selection"
						       : "");
	print_cpus(is_return ? "online now" : "stay online", report->survivors, "");
	if (report->method)
		printf("%-14s method %s, work is moved by: %s\n", "how", report->method,
		       report->evacuation);
	print_steps(report);
	for (size_t i = 0; i < report->nr_hooks; i++)
		printf("%-14s %s\n", i ? "" : "hooks", report->hooks[i].name);
	if (report->is_recorded)
		printf("%-14s they would stay off over a reboot, too\n", "recorded");
	print_service(report, "once they are off: ");
	printf("This was a dry run: nothing was changed.\n");
}

/* ---- the result -------------------------------------------------------------------------- */

static void print_offline(const struct report *report)
{
	const struct run *run = &report->runs[0];
	_cleanup_free_ char *changed = cpus_format(run->changed);
	unsigned int count = cpus_count(run->changed);

	if (report->verdict == VERDICT_DONE)
		printf("%u CPU%s offline: %s, in %.2f s.\n", count, count == 1 ? " is" : "s are",
		       changed, run->seconds);
	else if (report->verdict == VERDICT_PARTIAL)
		printf("PARTIAL: only %u CPU%s offline: %s. The hardware must not be removed.\n",
		       count, count == 1 ? " is" : "s are", changed);
	else if (report->verdict == VERDICT_ROLLED_BACK)
		printf("Everything was put back: the machine is as before.\n");
	else if (report->verdict == VERDICT_FAILED || report->verdict == VERDICT_STUCK)
		printf("Not everything could be put back; still offline: %s. Run cpuoff "
		       "--restore=%s.\n",
		       changed[0] ? changed : "none", run->operation->id);
	if (report->verdict == VERDICT_DONE || report->verdict == VERDICT_PARTIAL)
		printf("They stay off until cpuoff --restore=%s%s.\n", run->operation->id,
		       report->is_recorded ? ", also over a reboot" : ", or a reboot");
}

static void print_restore(const struct report *report)
{
	for (size_t i = 0; i < report->nr_runs; i++) {
		const struct run *run = &report->runs[i];
		_cleanup_free_ char *changed = cpus_format(run->changed);
		_cleanup_free_ char *left = cpus_format(run->operation->claim);

		printf("%s: online again: %s, in %.2f s.", run->operation->id,
		       changed[0] ? changed : "none", run->seconds);
		if (left[0])
			printf(" Still off: %s.", left);
		putchar('\n');
	}
	if (report->verdict == VERDICT_FAILED)
		printf("Not everything could be put back: run cpuoff --restore again.\n");
}

static void print_latency(const struct measurement *measurement)
{
	const struct latency *latency = &measurement->latency;
	_cleanup_free_ char *cpus = cpus_format(measurement->cpus);

	printf("Wake-up delays on CPUs %s: longest %.3f ms, 99.9 %% within %.3f ms; %llu of %llu "
	       "over "
	       "1 ms.\n",
	       cpus ? cpus : "", (double)latency->longest / 1e6,
	       latency_percentile(latency, 999) * 1e3, (unsigned long long)latency->nr_over_1ms,
	       (unsigned long long)latency->nr_wakeups);
}

static void print_share(double seconds, double all)
{
	printf("  %10.4f %5.1f%%", seconds, all > 0 ? seconds / all * 100 : 0);
}

/* Lighter ones than a thousandth of the whole only with -v. */
static void print_callbacks(const struct profile *profile, double all, double in_callbacks,
			    bool is_verbose)
{
	double outside = all - in_callbacks, light = 0;
	unsigned int nr_light = 0;
	bool is_told = false;

	for (size_t i = 0; i < profile->nr_callbacks; i++)
		outside -= profile->callbacks[i].is_wait ? profile->callbacks[i].seconds : 0;
	printf("     seconds  share  count    longest    CPU  callback\n");
	for (size_t i = 0; i <= profile->nr_callbacks; i++) {
		const struct profile_callback *callback = &profile->callbacks[i];

		if (!is_told && (i == profile->nr_callbacks || callback->seconds < outside)) {
			print_share(outside, all);
			printf("%28s outside of callbacks: waiting, stop_machine, RCU\n", "");
			is_told = true;
		}
		if (i == profile->nr_callbacks)
			break;
		if (!is_verbose && callback->seconds < all / 1000) {
			light += callback->seconds;
			nr_light++;
			continue;
		}
		print_share(callback->seconds, all);
		printf(" %6u %10.4f %6u  %s%s\n", callback->nr, callback->longest,
		       callback->longest_cpu, callback->name,
		       callback->is_wait ? ": waits for the CPU's own thread" : "");
	}
	if (nr_light) {
		print_share(light, all);
		printf("%28s %u others\n", "", nr_light);
	}
}

static void print_profile(const struct profile *profile, bool is_verbose)
{
	double all, in_callbacks;

	profile_sum(profile, &all, &in_callbacks);
	printf("%zu change%s of CPUs took %.4f s, of that %.4f s in callbacks of the kernel.\n",
	       profile->nr_changes, profile->nr_changes == 1 ? "" : "s", all, in_callbacks);
	if (profile->is_traced)
		print_callbacks(profile, all, in_callbacks, is_verbose);
	else
		printf("The kernel's callbacks were not traced.\n");
	if (profile->nr_lost || profile->nr_left_out)
		printf("Not all is in it: the kernel has lost %lu events, and %lu had no room.\n",
		       profile->nr_lost, profile->nr_left_out);
	printf("     seconds  step\n");
	for (size_t i = 0; i < profile->nr_steps; i++)
		printf("  %10.4f  %s%s\n", profile->steps[i].end - profile->steps[i].begin,
		       profile->steps[i].kind, profile->steps[i].is_undo ? ", undone" : "");
}

static void print_change(const struct report *report)
{
	if (report->verdict == VERDICT_NOTHING_TO_DO && report->nr_runs)
		printf("These CPUs are off already. They stay off until %s is restored, too.\n",
		       report->runs[0].operation->id);
	else if (report->verdict == VERDICT_NOTHING_TO_DO)
		printf("Nothing to do.\n");
	else if (report->verdict == VERDICT_ROLLED_BACK && !report->nr_runs)
		printf("No CPU of the selection can go offline: nothing was done.\n");
	else if (report->nr_runs && report->options->request.dry_run)
		print_plan(report);
	else if (report->nr_runs && report->options->request.action == ACTION_RESTORE)
		print_restore(report);
	else if (report->nr_runs)
		print_offline(report);
	if (report->measurement)
		print_latency(report->measurement);
	if (report->profile)
		print_profile(report->profile, report->options->verbose);
	if (report->nr_runs && report->options->verbose && !report->options->request.dry_run)
		print_steps(report);
	if (!report->options->request.dry_run &&
	    report->options->request.action == ACTION_OFFLINE && report->verdict != VERDICT_REFUSED)
		print_service(report, "");
}

/* ---- records ----------------------------------------------------------------------------- */

static void print_dormant(const struct report *report)
{
	for (size_t i = 0; i < report->records.nr; i++) {
		const struct operation *operation = &report->records.list[i].operation;

		if (journals_find(&report->journals, operation->id))
			continue;
		printf("%s\n  %-12s %s, by: %s\n", operation->id, "started", operation->started,
		       operation->command);
		print_cpus("  recorded", operation->claim, ": not in force in this boot");
		printf("  %-12s cpuoff --restore=%s\n", "end with", operation->id);
	}
}

static void print_applied(const struct report *report)
{
	if (!report->records.nr)
		printf("Nothing is recorded.\n");
	for (size_t i = 0; i < report->records.nr; i++) {
		const struct record *record = &report->records.list[i];
		_cleanup_free_ char *cpus = cpus_format(record->operation.claim);

		printf("%s: %s, CPUs %s\n", record->operation.id,
		       record->state ? record->state : "not looked at", cpus ? cpus : "");
	}
	if (report->options->request.dry_run)
		printf("This was a dry run: nothing was changed.\n");
}

static void print_status(const struct report *report)
{
	if (!report->journals.nr)
		printf("No operation is in force.\n");
	for (size_t i = 0; i < report->journals.nr; i++) {
		const struct operation *operation = &report->journals.list[i];
		_cleanup_cpus_ hwloc_bitmap_t drift = hwloc_bitmap_alloc(),
					      off = hwloc_bitmap_alloc();

		printf("%s\n", operation->id);
		printf("  %-12s %s, by: %s\n", "started", operation->started, operation->command);
		if (!drift || !off ||
		    hwloc_bitmap_andnot(off, operation->claim, report->machine.online) < 0 ||
		    operation_find_drift(operation, report->machine.online, drift))
			return;
		print_cpus("  off", off, "");
		if (records_find(&report->records, operation->id))
			printf("  %-12s again after a reboot\n", "recorded");
		if (!cpus_is_empty(drift))
			print_cpus("  drift", drift, ": something else brought them back");
		printf("  %-12s", "to undo");
		for (size_t j = 0; j < operation->nr_steps; j++)
			if (step_is_in_force(&operation->steps[j]))
				printf(" %s%s", operation->steps[j].kind->name,
				       operation->steps[j].state == STATE_APPLYING
					       ? " (interrupted)"
					       : "");
		printf("\n  %-12s cpuoff --restore=%s\n", "undo with", operation->id);
	}
	print_dormant(report);
}

void text_print(const struct report *report)
{
	print_findings(report);
	print_failures(report);
	if (report->options->json || report->options->quiet || report->options->error ||
	    report->verdict == VERDICT_INVALID)
		return;
	if (report->options->request.action == ACTION_STATUS)
		print_status(report);
	else if (report->options->request.action == ACTION_PERSIST)
		print_applied(report);
	else if (report->options->request.action == ACTION_LIST_RULES)
		catalogue_print();
	else if (report->options->request.action == ACTION_LIST)
		list_print(&report->machine,
			   report->options->request.nr_selectors ? &report->selection : NULL);
	else if (report->options->request.action == ACTION_SERVICE)
		print_service(report, "");
	else
		print_change(report);
}
