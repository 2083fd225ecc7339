/* SPDX-License-Identifier: GPL-2.0-or-later */
/* persist.c - the action of the boot: takes offline again what is recorded */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "cli/actions.h"

/* How many records ended in which way. */
struct tally {
	size_t nr_done, nr_refused, nr_rolled_back, nr_partial;
	int refusal; /* the exit status of the last refusal or rollback */
	bool has_failed;
};

/* Returns what became of the record. */
static const char *count(const struct report *report, struct tally *tally)
{
	switch (report->verdict) {
	case VERDICT_DONE:
		tally->nr_done++;
		return "applied";
	case VERDICT_READY:
		tally->nr_done++;
		return "ready";
	case VERDICT_NOTHING_TO_DO:
		return "in-force";
	case VERDICT_ROLLED_BACK:
		tally->nr_rolled_back++;
		tally->refusal = report->exit_status;
		return "rolled-back";
	case VERDICT_INVALID:
	case VERDICT_REFUSED:
		tally->nr_refused++;
		tally->refusal =
			report->exit_status == EXIT_INVALID ? EXIT_REFUSED : report->exit_status;
		return "refused";
	case VERDICT_PARTIAL:
		tally->nr_partial++;
		return "partial";
	case VERDICT_FAILED:
	case VERDICT_STUCK:
		break;
	}
	tally->has_failed = true;
	return "failed";
}

static void conclude(struct report *report, const struct tally *tally)
{
	bool is_left = tally->nr_refused || tally->nr_rolled_back;

	if (tally->has_failed)
		return; /* the verdict stands */
	if (tally->nr_partial || (is_left && tally->nr_done))
		report_conclude(report, VERDICT_PARTIAL, EXIT_PARTIAL);
	else if (tally->nr_rolled_back)
		report_conclude(report, VERDICT_ROLLED_BACK, tally->refusal);
	else if (tally->nr_refused)
		report_conclude(report, VERDICT_REFUSED, tally->refusal);
	else if (!tally->nr_done)
		report_conclude(report, VERDICT_NOTHING_TO_DO, EXIT_DONE);
	else
		report_conclude(report,
				report->options->request.dry_run ? VERDICT_READY : VERDICT_DONE,
				EXIT_DONE);
}

static int refuse_mismatch(struct report *report, const struct record *record,
			   const char *difference)
{
	report_conclude(report, VERDICT_REFUSED, EXIT_REFUSED);
	return findings_add(&report->findings, "record-mismatch", SEVERITY_REFUSE,
			    record->operation.claim,
			    "Where the part was replaced, end it with --restore=ID; where it is "
			    "another one now, do so and take that one with --persist.",
			    "operation %s is not done again: this is not the hardware of its "
			    "record: %s",
			    record->operation.id, difference)
		       ? 0
		       : -ENOMEM;
}

/* The numbers of now are kept with the record: a restore in this boot goes by them. */
static int renew(const struct session *session, struct report *report, struct record *record)
{
	int r;

	free(record->operation.boot_id);
	record->operation.boot_id = strdup(session->boot_id);
	if (!record->operation.boot_id)
		return -ENOMEM;
	r = record_keep(session->records, record, record->operation.claim);
	if (!r || r == -ENOMEM)
		return r;
	return findings_add(&report->findings, "record-failed", SEVERITY_WARN,
			    record->operation.claim, "The record is as it was before.",
			    "the CPUs of operation %s are off, but their numbers could not be "
			    "written to its record: %s",
			    record->operation.id, strerror(-r))
		       ? 0
		       : -ENOMEM;
}

static int take_cpus(struct session *session, struct report *report, struct record *record,
		     hwloc_const_bitmap_t cpus)
{
	const struct options *given = report->options;
	_cleanup_free_ char *list = cpus_format(cpus);
	struct selector selector = { .kind = SELECT_CPU, .text = list };
	struct options options = *given;
	int r;

	if (!list)
		return -ENOMEM;
	options.request.selectors = &selector;
	options.request.nr_selectors = 1;
	options.request.force |= record->force;
	options.request.allow_cpu0 |= record->allow_cpu0;
	options.command = record->operation.command;
	session->operation_id = record->operation.id;
	report->options = &options;
	r = actions_take(session, report);
	selection_free(&report->selection); /* it points to this selector */
	report->options = given;
	session->operation_id = NULL;
	if (r || given->request.dry_run || report->verdict != VERDICT_DONE)
		return r;
	return renew(session, report, record);
}

static int apply(struct session *session, struct report *report, const struct records *records,
		 struct record *record)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	_cleanup_free_ char *difference = NULL;
	int r = cpus ? session_gather(session, report) : -ENOMEM;

	if (r)
		return r;
	if (journals_find(&report->journals, record->operation.id)) {
		report_conclude(report, VERDICT_NOTHING_TO_DO, EXIT_DONE);
		return 0;
	}
	r = record_match(session->root, &report->machine, records, session->boot_id, record, cpus,
			 &difference);
	if (r > 0)
		return refuse_mismatch(report, record, difference);
	return r ? r : take_cpus(session, report, record, cpus);
}

/* Each record is read, judged and done for itself; the findings of all are told. */
static int apply_all(struct session *session, struct report *report, struct records *records,
		     struct findings *kept)
{
	struct tally tally = { .nr_refused = findings_has(kept, SEVERITY_REFUSE),
			       .refusal = EXIT_REFUSED };
	int r = 0;

	for (size_t i = 0; !r && i < records->nr && !tally.has_failed; i++) {
		if (watcher_interrupts(session->watcher))
			break;
		r = apply(session, report, records, &records->list[i]);
		if (!r)
			records->list[i].state = count(report, &tally);
		report->nr_kept_runs = report->nr_runs;
		if (findings_move(kept, &report->findings))
			r = -ENOMEM;
	}
	if (r)
		report_conclude(report, VERDICT_FAILED, EXIT_FAILED);
	else
		conclude(report, &tally);
	return r;
}

static int load(struct session *session, struct report *report, struct records *ret_records)
{
	int r = session_gather(session, report);

	if (!r)
		r = session_gather_records(session, report, SEVERITY_REFUSE);
	if (!r && !report->options->request.dry_run && report->records.nr)
		r = session_lock(session, report);
	*ret_records = report->records;
	report->records = (struct records){ 0 };
	return r > 0 ? 0 : r;
}

int actions_persist(struct session *session, struct report *report)
{
	struct findings kept = { 0 };
	struct records records;
	int r = load(session, report, &records);

	if (r == REPORT_CONCLUDED) {
		records_free(&records);
		return 0; /* the verdict says it */
	}
	if (!r)
		r = findings_move(&kept, &report->findings);
	if (!r)
		r = apply_all(session, report, &records, &kept);
	if (!r) {
		findings_free(&report->findings);
		r = findings_move(&report->findings, &kept);
	}
	findings_free(&kept);
	records_free(&report->records);
	report->records = records;
	return r;
}
