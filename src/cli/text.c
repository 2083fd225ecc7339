/* SPDX-License-Identifier: GPL-2.0-or-later */
/* text.c - what people read: results on stdout, everything else on stderr */
#include "cli/text.h"

#include <errno.h>
#include <string.h>

#include "cli/bugreport.h"
#include "cli/catalogue.h"
#include "cli/layout.h"
#include "cli/list.h"
#include "cli/summary.h"
#include "cli/timing.h"

/* ---- stderr ------------------------------------------------------------------------------ */

#define PREFIX	      "cpuoff: "
#define REMEDY_INDENT 11 /* of "cpuoff:    " */

/* "cpuoff: WORD TEXT", goes on below the text of a remedy. The word has the style, or without one
 * the text. */
static void print_message(const struct layout *layout, enum style style, const char *word,
			  const char *text)
{
	layout_print(layout, STYLE_PLAIN, PREFIX);
	layout_print(layout, style, "%s", word);
	layout_print(layout, STYLE_PLAIN, "%s", word[0] ? " " : "");
	layout_sentence(layout, word[0] ? STYLE_PLAIN : style,
			strlen(PREFIX) + strlen(word) + (word[0] != 0), REMEDY_INDENT, text);
}

static void print_remark(const struct layout *layout, const char *text)
{
	layout_print(layout, STYLE_PLAIN, "cpuoff:    ");
	layout_sentence(layout, STYLE_PLAIN, REMEDY_INDENT, REMEDY_INDENT, text);
}

static void print_finding(const struct layout *layout, const struct finding *finding)
{
	static const struct {
		const char *word;
		enum style style;
	} kinds[] = {
		[SEVERITY_NOTE] = { "note:", STYLE_FAINT },
		[SEVERITY_WARN] = { "warning:", STYLE_STRONG },
		[SEVERITY_REFUSE] = { "refused:", STYLE_BAD },
	};
	_cleanup_free_ char *text = util_asprintf("%s [%s]", finding->message, finding->rule);

	print_message(layout, kinds[finding->severity].style, kinds[finding->severity].word,
		      text ? text : finding->message);
	if (finding->remedy[0])
		print_remark(layout, finding->remedy);
}

static bool was_told(const struct report *report, const struct finding *finding)
{
	for (size_t i = 0; i < report->told.nr; i++)
		if (!strcmp(report->told.list[i].message, finding->message))
			return true;
	return false;
}

void text_print_findings(const struct layout *layout, const struct report *report)
{
	for (size_t i = 0; i < report->findings.nr; i++) {
		const struct finding *finding = &report->findings.list[i];

		if (finding->severity == SEVERITY_REFUSE ||
		    (!report->options->quiet && !was_told(report, finding)))
			print_finding(layout, finding);
	}
}

static void print_failure(const struct layout *layout, const struct report *report,
			  const struct run *run, const struct item *item)
{
	struct explanation explanation;
	_cleanup_free_ char *log = NULL;

	if (report_explain(report, run, item, &explanation))
		return;
	print_message(layout, STYLE_BAD, "", explanation.message);
	if (explanation.kernel_log)
		log = util_asprintf("kernel log: %s", explanation.kernel_log);
	if (log)
		print_remark(layout, log);
	if (explanation.cause[0])
		print_remark(layout, explanation.cause);
	print_remark(layout, explanation.remedy);
	explanation_free(&explanation);
}

static void print_step_failures(const struct layout *layout, const struct report *report,
				const struct run *run, const struct step *step)
{
	for (size_t i = 0; i < step->nr_items; i++) {
		const struct item *item = &step->items[i];
		_cleanup_free_ char *text = NULL;

		if (!item->error)
			continue;
		if (step->kind->is_per_cpu) {
			print_failure(layout, report, run, item);
			continue;
		}
		text = util_asprintf("%s: %s %s: %s", step->kind->name, item->object,
				     item->error == ETIMEDOUT ? "does not answer"
							      : "could not be changed",
				     strerror(item->error));
		if (text && !report->options->quiet)
			print_message(layout, STYLE_STRONG, "warning:", text);
	}
}

static bool has_failed_item(const struct operation *operation)
{
	for (size_t i = 0; i < operation->nr_steps; i++)
		for (size_t j = 0; j < operation->steps[i].nr_items; j++)
			if (operation->steps[i].items[j].error)
				return true;
	return false;
}

/* Where no file that was written is to blame, the machine could not be read, or not the journal
 * written. */
static void print_cause(const struct layout *layout, const struct run *run)
{
	_cleanup_free_ char *text = NULL;

	if (run->journal_error || has_failed_item(run->operation))
		return;
	if (run->undo_error && run->undo_error != EINTR)
		text = util_asprintf("operation %s could not be undone any further: %s",
				     run->operation->id, strerror(run->undo_error));
	else if (run->failed_step && run->error != EINTR && run->error != ECANCELED)
		text = util_asprintf("%s failed: %s", run->failed_step->kind->name,
				     strerror(run->error));
	if (text)
		print_message(layout, STYLE_BAD, "", text);
}

static void print_failures(const struct layout *layout, const struct report *report)
{
	for (size_t i = 0; i < report->nr_runs; i++) {
		const struct run *run = &report->runs[i];
		_cleanup_free_ char *text = NULL;

		if (run->error == ECANCELED)
			print_message(layout, STYLE_BAD, "",
				      "the isolated partition was no longer in force: somebody "
				      "changed cpusets meanwhile");
		if (run->journal_error)
			text = util_asprintf("the journal %s could not be written in %s: %s",
					     run->operation->id, report->options->state_dir,
					     strerror(run->journal_error));
		if (text)
			print_message(layout, STYLE_BAD, "", text);
		print_cause(layout, run);
		for (size_t j = 0; j < run->operation->nr_steps; j++)
			print_step_failures(layout, report, run, &run->operation->steps[j]);
	}
}

/* ---- the result -------------------------------------------------------------------------- */

static void print_plan(const struct layout *layout, const struct report *report)
{
	summary_print(layout, report);
	summary_print_steps(layout, report);
	if (report->has_service)
		fputc('\n', layout->file);
	summary_print_service(layout, report, "once they are off: ");
	fputs("\nThis was a dry run: nothing was changed.\n", layout->file);
}

/* "16 CPUs are offline: 8-15,24-31" */
static char *format_cpus_are(const struct layout *layout, hwloc_const_bitmap_t cpus,
			     const char *what)
{
	_cleanup_free_ char *list = layout_list(layout, cpus);
	unsigned int count = cpus_count(cpus);

	return list ? util_asprintf("%u CPU%s %s%s%s", count, count == 1 ? " is" : "s are", what,
				    count ? ": " : "", list)
		    : NULL;
}

static void print_headline(const struct layout *layout, enum style style, const char *fmt, ...)
	_printf_(3, 4);

static void print_headline(const struct layout *layout, enum style style, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = util_vasprintf(fmt, ap);
	va_end(ap);
	if (text)
		layout_sentence(layout, style, 0, 0, text);
}

/* What else there is to know of CPUs that went, and how they come back. */
static void print_operation(const struct layout *layout, const struct report *report)
{
	const struct run *run = &report->runs[0];
	size_t nr_tasks = report_count_tasks_moved(report),
	       nr_irqs = report_count_irqs_moved(report);

	fputc('\n', layout->file);
	if (nr_tasks || nr_irqs)
		layout_field(layout, STYLE_PLAIN, "moved", "%zu %s, %zu %s", nr_tasks,
			     layout_number(nr_tasks, "task", "tasks"), nr_irqs,
			     layout_number(nr_irqs, "interrupt", "interrupts"));
	layout_field(layout, STYLE_PLAIN, "bring back", "cpuoff --restore=%s", run->operation->id);
	layout_field(layout, STYLE_PLAIN, "", "%s off until then, %s.",
		     layout_number(cpus_count(run->changed), "It stays", "They stay"),
		     report->is_recorded ? "also over a reboot" : "or until a reboot");
}

static void print_offline(const struct layout *layout, const struct report *report)
{
	const struct run *run = &report->runs[0];
	_cleanup_free_ char *text = format_cpus_are(layout, run->changed, "offline");

	if (!text)
		return;
	if (report->verdict == VERDICT_DONE)
		print_headline(layout, STYLE_GOOD, "%s, in %.2f s.", text, run->seconds);
	else if (report->verdict == VERDICT_PARTIAL)
		print_headline(layout, STYLE_BAD,
			       "PARTIAL: only %s. The hardware must not be removed.", text);
	else if (report->verdict == VERDICT_ROLLED_BACK)
		print_headline(layout, STYLE_STRONG,
			       "Everything was put back: the machine is as before.");
	else if (report->verdict == VERDICT_FAILED || report->verdict == VERDICT_STUCK)
		print_headline(layout, STYLE_BAD, "Not everything could be put back: %s.", text);
	if (report->verdict == VERDICT_FAILED || report->verdict == VERDICT_STUCK)
		layout_field(layout, STYLE_STRONG, "run", "cpuoff --restore=%s",
			     run->operation->id);
	if (report->verdict == VERDICT_DONE || report->verdict == VERDICT_PARTIAL)
		print_operation(layout, report);
}

static void print_returned(const struct layout *layout, const struct run *run)
{
	_cleanup_free_ char *left = layout_cpus(layout, run->operation->claim),
			    *text = format_cpus_are(layout, run->changed, "online again");

	if (text && left)
		print_headline(layout,
			       cpus_is_empty(run->operation->claim) ? STYLE_GOOD : STYLE_STRONG,
			       "%s, in %.2f s.", text, run->seconds);
	layout_field(layout, STYLE_PLAIN, "operation", "%s", run->operation->id);
	if (left && !cpus_is_empty(run->operation->claim))
		layout_field(layout, STYLE_PLAIN, "still off", "%s", left);
}

static void print_restore(const struct layout *layout, const struct report *report)
{
	bool are_adopted = true;

	for (size_t i = 0; i < report->nr_runs; i++) {
		are_adopted &= report->runs[i].is_adopted;
		if (i)
			fputc('\n', layout->file);
		print_returned(layout, &report->runs[i]);
	}
	if (report->verdict == VERDICT_FAILED)
		print_headline(layout, STYLE_BAD, "Not everything could be put back: run %s again.",
			       are_adopted ? "this" : "cpuoff --restore");
}

static void print_change(const struct layout *layout, const struct report *report)
{
	bool dry_run = report->options->request.dry_run;

	if (report->verdict == VERDICT_NOTHING_TO_DO && report->nr_runs)
		print_headline(
			layout, STYLE_STRONG,
			"These CPUs are off already. They stay off until %s is restored, too.",
			report->runs[0].operation->id);
	else if (report->verdict == VERDICT_NOTHING_TO_DO)
		print_headline(layout, STYLE_STRONG, "Nothing to do.");
	else if (report->verdict == VERDICT_ROLLED_BACK && !report->nr_runs)
		print_headline(layout, STYLE_STRONG,
			       "No CPU of the selection can go offline: nothing was done.");
	else if (report->nr_runs && dry_run)
		print_plan(layout, report);
	else if (report->nr_runs && report->options->request.action == ACTION_RESTORE)
		print_restore(layout, report);
	else if (report->nr_runs)
		print_offline(layout, report);
	if (!dry_run && report->options->request.action == ACTION_OFFLINE &&
	    report->verdict != VERDICT_REFUSED && report->verdict != VERDICT_ROLLED_BACK)
		summary_print_service(layout, report, "");
	if (report->measurement)
		timing_print_latency(layout, report->measurement);
	if (report->profile)
		timing_print_profile(layout, report->profile);
	if (report->nr_runs && report->options->verbose && !dry_run)
		summary_print_steps(layout, report);
}

/* ---- --status, --service ----------------------------------------------------------------- */

/* "task.affinity cpu.offline (interrupted)" */
static char *format_to_undo(const struct operation *operation)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	for (size_t i = 0; i < operation->nr_steps; i++) {
		const struct step *step = &operation->steps[i];

		if (step_is_in_force(step))
			fprintf(file, "%s%s%s", ftell(file) ? " " : "", step->kind->name,
				step->state == STATE_APPLYING ? " (interrupted)" : "");
	}
	return fclose(file) ? NULL : text;
}

static void print_in_force(const struct layout *layout, const struct report *report,
			   const struct operation *operation)
{
	_cleanup_cpus_ hwloc_bitmap_t drift = hwloc_bitmap_alloc(), off = hwloc_bitmap_alloc();
	_cleanup_free_ char *off_text = NULL, *drift_text = NULL, *undo = format_to_undo(operation);

	if (!drift || !off || !undo ||
	    hwloc_bitmap_andnot(off, operation->claim, report->machine.online) < 0 ||
	    operation_find_drift(operation, report->machine.online, drift))
		return;
	off_text = layout_cpus(layout, off);
	drift_text = layout_cpus(layout, drift);
	fputc('\n', layout->file);
	layout_print(layout, STYLE_STRONG, "%s", operation->id);
	fputc('\n', layout->file);
	layout_field(layout, STYLE_PLAIN, "  off", "%s", off_text ? off_text : "?");
	if (!cpus_is_empty(drift))
		layout_field(layout, STYLE_BAD, "  drift", "%s: something else brought %s back",
			     drift_text ? drift_text : "?",
			     layout_number(cpus_count(drift), "it", "them"));
	if (records_find(&report->records, operation->id))
		layout_field(layout, STYLE_PLAIN, "  recorded", "again after a reboot");
	layout_field(layout, STYLE_PLAIN, "  since", "%s", operation->started);
	layout_field(layout, STYLE_PLAIN, "  begun by", "%s", operation->command);
	layout_field(layout, STYLE_PLAIN, "  to undo", "%s", undo);
	layout_field(layout, STYLE_PLAIN, "  undo with", "cpuoff --restore=%s", operation->id);
}

/* Recorded, and not done in this boot. */
static void print_dormant(const struct layout *layout, const struct report *report)
{
	for (size_t i = 0; i < report->records.nr; i++) {
		const struct operation *operation = &report->records.list[i].operation;
		_cleanup_free_ char *cpus = layout_cpus(layout, operation->claim);

		if (journals_find(&report->journals, operation->id))
			continue;
		fputc('\n', layout->file);
		layout_print(layout, STYLE_STRONG, "%s", operation->id);
		fputc('\n', layout->file);
		layout_field(layout, STYLE_BAD, "  recorded", "%s: not in force in this boot",
			     cpus ? cpus : "?");
		layout_field(layout, STYLE_PLAIN, "  since", "%s", operation->started);
		layout_field(layout, STYLE_PLAIN, "  begun by", "%s", operation->command);
		layout_field(layout, STYLE_PLAIN, "  end with", "cpuoff --restore=%s",
			     operation->id);
	}
}

static void print_applied(const struct layout *layout, const struct report *report)
{
	if (!report->records.nr)
		print_headline(layout, STYLE_STRONG, "Nothing is recorded.");
	for (size_t i = 0; i < report->records.nr; i++) {
		const struct record *record = &report->records.list[i];
		_cleanup_free_ char *cpus = layout_cpus(layout, record->operation.claim);

		layout_field(layout, STYLE_PLAIN, record->operation.id, "  %s: %s",
			     record->state ? record->state : "not looked at", cpus ? cpus : "?");
	}
	if (report->options->request.dry_run)
		fputs("\nThis was a dry run: nothing was changed.\n", layout->file);
}

static void print_status(const struct layout *layout, const struct report *report)
{
	size_t nr = report->journals.nr;

	if (!nr) {
		print_headline(layout, STYLE_PLAIN, "No operation is in force.");
		print_dormant(layout, report);
		return;
	}
	print_headline(layout, STYLE_STRONG, "%zu %s in force; %u of %u CPUs are offline.", nr,
		       layout_number(nr, "operation is", "operations are"),
		       cpus_count(report->machine.present) - cpus_count(report->machine.online),
		       cpus_count(report->machine.present));
	for (size_t i = 0; i < nr; i++)
		print_in_force(layout, report, &report->journals.list[i]);
	print_dormant(layout, report);
}

static void print_list(const struct layout *layout, const struct report *report)
{
	const struct selection *selection =
		report->options->request.nr_selectors ? &report->selection : NULL;
	bool is_map = report->options->map && !report->options->map_file && report->machine.present;
	_cleanup_(map_free) struct map map = { 0 };

	if (is_map && map_make(&report->machine, &report->journals, selection, &map))
		return;
	list_print(layout, &report->machine, &report->journals, selection, is_map ? &map : NULL);
}

static void print_answer(const struct layout *layout, const struct report *report)
{
	if (report->options->request.action == ACTION_STATUS)
		print_status(layout, report);
	else if (report->options->request.action == ACTION_PERSIST)
		print_applied(layout, report);
	else if (report->options->request.action == ACTION_LIST_RULES)
		catalogue_print(layout);
	else if (report->options->request.action == ACTION_REPORT)
		bugreport_print(layout, report);
	else if (report->options->request.action == ACTION_LIST)
		print_list(layout, report);
	else if (report->options->request.action == ACTION_SERVICE)
		summary_print_service(layout, report, "");
	else
		print_change(layout, report);
}

static char *format_answer(const struct layout *layout, const struct report *report)
{
	struct layout copy = *layout;
	char *text = NULL;
	size_t size;

	copy.file = open_memstream(&text, &size);
	if (!copy.file)
		return NULL;
	print_answer(&copy, report);
	if (!fclose(copy.file))
		return text;
	free(text);
	return NULL;
}

/* What there is no memory for is left out, in many places: an answer that comes out alike twice is
 * whole. */
static void print_whole(const struct layout *out, const struct layout *err,
			const struct report *report)
{
	_cleanup_free_ char *text = format_answer(out, report), *again = format_answer(out, report);

	if (!text || !again || strcmp(text, again) != 0)
		print_message(err, STYLE_STRONG, "warning:",
			      "there is not enough memory: the answer may not be whole");
	if (again)
		fputs(again, out->file);
	else
		print_answer(out, report);
}

void text_print(const struct report *report)
{
	struct layout out, err;

	layout_init(stdout, report->options, &out);
	layout_init(stderr, report->options, &err);
	/* those of --report are part of it */
	if (!report->bugreport)
		text_print_findings(&err, report);
	print_failures(&err, report);
	if (!report->options->json && !report->options->prometheus && !report->options->quiet &&
	    !report->options->error && report->verdict != VERDICT_INVALID)
		print_whole(&out, &err, report);
}
