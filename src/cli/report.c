/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report.c - what an action has to tell: filled by cli/actions, laid out by cli/text and cli/json
 */
#include "cli/report.h"

#include <errno.h>
#include <string.h>

#include <json-c/json.h>

#include "cli/signals.h"

static const struct {
	const char *name;
	const char *machine;
} verdicts[] = {
	[VERDICT_DONE] = { "done", "as-asked" },
	[VERDICT_NOTHING_TO_DO] = { "nothing-to-do", "as-asked" },
	[VERDICT_READY] = { "ready", "as-before" },
	[VERDICT_ROLLED_BACK] = { "rolled-back", "as-before" },
	[VERDICT_INVALID] = { "invalid", "as-before" },
	[VERDICT_REFUSED] = { "refused", "as-before" },
	[VERDICT_FAILED] = { "failed", "in-between" },
	[VERDICT_STUCK] = { "stuck", "in-between" },
	[VERDICT_PARTIAL] = { "partial", "in-between" },
};

const char *verdict_format(enum verdict verdict)
{
	return verdicts[verdict].name;
}

const char *report_format_machine(const struct report *report)
{
	return report->options->request.dry_run ? "as-before" : verdicts[report->verdict].machine;
}

int report_init(const struct options *options, struct report *ret_report)
{
	*ret_report = (struct report){
		.options = options,
		.target = hwloc_bitmap_alloc(),
		.survivors = hwloc_bitmap_alloc(),
	};
	return ret_report->target && ret_report->survivors ? 0 : -ENOMEM;
}

void report_conclude(struct report *report, enum verdict verdict, int exit_status)
{
	report->verdict = verdict;
	report->exit_status = exit_status;
}

bool report_is_refused(struct report *report)
{
	bool is_invalid = false, is_permission = false;

	for (size_t i = 0; i < report->findings.nr; i++) {
		struct finding *finding = &report->findings.list[i];

		if (!finding_refuses(finding, report->options->request.strict))
			continue;
		finding->severity = SEVERITY_REFUSE;
		is_invalid |= finding->is_invalid;
		is_permission |= finding->is_permission;
	}
	findings_sort(&report->findings);
	if (!findings_has(&report->findings, SEVERITY_REFUSE))
		return false;
	if (is_invalid)
		report_conclude(report, VERDICT_INVALID, EXIT_INVALID);
	else
		report_conclude(report, VERDICT_REFUSED,
				is_permission ? EXIT_PERMISSION : EXIT_REFUSED);
	return true;
}

int report_signal_status(int otherwise)
{
	return signals_first() ? EXIT_SIGNALLED + signals_first() : otherwise;
}

struct run *report_add_run(struct report *report, struct operation *operation)
{
	struct run *runs = util_grow(report->runs, report->nr_runs, sizeof(*runs));

	if (!runs)
		return NULL;
	report->runs = runs;
	runs[report->nr_runs] =
		(struct run){ .operation = operation, .changed = hwloc_bitmap_alloc() };
	return runs[report->nr_runs].changed ? &runs[report->nr_runs++] : NULL;
}

void report_forget(struct report *report)
{
	findings_free(&report->findings);
	tasks_free(&report->tasks);
	cgroups_free(&report->cgroups);
	machine_free(&report->machine);
	selection_free(&report->selection);
	service_free(&report->service);
	report->has_service = false;
	journals_free(&report->journals);
	records_free(&report->records);
}

static bool is_journalled(const struct report *report, const struct operation *operation)
{
	for (size_t i = 0; i < report->journals.nr; i++)
		if (&report->journals.list[i] == operation)
			return true;
	return false;
}

/* The step after @last in the order of application, the first one with NULL; NULL after the last.
 */
static const struct step *next_in_order(const struct operation *operation, const struct step *last)
{
	size_t next = last ? (size_t)(last - operation->steps) + 1 : 0;

	return next < operation->nr_steps ? &operation->steps[next] : NULL;
}

/* The next step after @last that is still to be applied, or NULL. */
static const struct step *next_planned(const struct operation *operation, const struct step *last)
{
	do
		last = next_in_order(operation, last);
	while (last && last->state != STATE_PLANNED);
	return last;
}

/* The next step after @last that a restore undoes, or NULL. */
static const struct step *next_undone(const struct operation *operation, const struct step *last)
{
	do
		last = run_next_to_undo(operation, last);
	while (last && last->state == STATE_PLANNED);
	return last;
}

const struct step *report_next_step(const struct report *report, const struct run *run,
				    const struct step *last)
{
	const struct operation *operation = run->operation;
	const struct step *next;

	if (report->options->request.action != ACTION_RESTORE)
		return next_in_order(operation, last);
	if (last && last->state != STATE_PLANNED)
		return next_undone(operation, last);
	next = next_planned(operation, last);
	return next ? next : next_undone(operation, NULL);
}

int report_explain(const struct report *report, const struct run *run, const struct item *item,
		   struct explanation *ret_explanation)
{
	bool is_return =
		report->options->request.action == ACTION_RESTORE || item->state == STATE_APPLIED;

	return explain_failure(item, is_return, run->kernel_log, ret_explanation);
}

bool report_shows_item(const struct report *report, const struct run *run, const struct step *step,
		       const struct item *item)
{
	if (report->options->request.action != ACTION_RESTORE ||
	    !report->options->request.dry_run || step->state == STATE_PLANNED)
		return true;
	return item_is_in_force(step, item) &&
	       (!step->kind->is_per_cpu ||
		hwloc_bitmap_isset(run->changed, (unsigned int)item->id));
}

size_t report_count_tasks_moved(const struct report *report)
{
	size_t nr = 0;

	if (report->options->request.action != ACTION_OFFLINE || report->options->request.dry_run ||
	    (report->verdict != VERDICT_DONE && report->verdict != VERDICT_PARTIAL))
		return 0;
	for (size_t i = 0; i < report->tasks.nr; i++)
		nr += task_is_movable(&report->tasks.list[i]) &&
		      hwloc_bitmap_isset(report->target, report->tasks.list[i].cpu);
	return nr;
}

/* One that went to another CPU than planned stays applying; a record is no move. */
static bool is_moved(const struct item *item)
{
	return (item->state == STATE_APPLIED || item->state == STATE_APPLYING) &&
	       strcmp(item->before, item->after);
}

size_t report_count_irqs_moved(const struct report *report)
{
	size_t nr = 0;

	for (size_t i = 0; i < report->nr_runs; i++)
		for (size_t j = 0; j < report->runs[i].operation->nr_steps; j++) {
			const struct step *step = &report->runs[i].operation->steps[j];

			for (size_t k = 0; step->kind->moves_irqs && k < step->nr_items; k++)
				nr += is_moved(&step->items[k]);
		}
	return report->options->request.action == ACTION_OFFLINE ? nr : 0;
}

void report_drop_runs(struct report *report)
{
	for (size_t i = report->nr_kept_runs; i < report->nr_runs; i++) {
		hwloc_bitmap_free(report->runs[i].changed);
		free(report->runs[i].kernel_log);
		if (is_journalled(report, report->runs[i].operation))
			continue;
		operation_free(report->runs[i].operation);
		free(report->runs[i].operation);
	}
	report->nr_runs = report->nr_kept_runs;
}

int report_add_measurement(struct report *report)
{
	if (!report->measurement)
		report->measurement = calloc(1, sizeof(*report->measurement));
	if (report->measurement && !report->measurement->cpus)
		report->measurement->cpus = hwloc_bitmap_alloc();
	return report->measurement && report->measurement->cpus ? 0 : -ENOMEM;
}

/* Without memory for it there is none: what was done is told all the same. */
void report_finish_profile(struct report *report)
{
	if (!report->profile || !profile_finish(report->profile))
		return;
	profile_free(report->profile);
	report->profile = NULL;
}

void report_free(struct report *report)
{
	for (size_t i = 0; i < report->nr_hooks; i++) {
		free(report->hooks[i].name);
		free(report->hooks[i].failure);
	}
	free(report->hooks);
	free(report->operation_ids);
	report->nr_kept_runs = 0;
	report_drop_runs(report);
	free(report->runs);
	if (report->measurement)
		hwloc_bitmap_free(report->measurement->cpus);
	free(report->measurement);
	profile_free(report->profile);
	report_forget(report);
	json_object_put(report->bugreport);
	findings_free(&report->told);
	hwloc_bitmap_free(report->confirmed);
	hwloc_bitmap_free(report->target);
	hwloc_bitmap_free(report->survivors);
}
