/* SPDX-License-Identifier: GPL-2.0-or-later */
/* actions.c - what the program does: take CPUs offline, restore, status, list, service */
#include "cli/actions.h"

#include <errno.h>

#include "cli/bugreport.h"
#include "cli/picture.h"

static int status(struct session *session, struct report *report)
{
	int r = session_gather(session, report);

	if (!r)
		r = session_gather_records(session, report, SEVERITY_WARN);
	if (r)
		return r;
	findings_sort(&report->findings);
	report_conclude(report, VERDICT_DONE, EXIT_DONE);
	return 0;
}

static int list(struct session *session, struct report *report)
{
	int r = session_gather(session, report);

	if (!r && report->options->request.nr_selectors)
		r = session_resolve(session, report);
	if (r)
		return r;
	hwloc_bitmap_copy(report->target,
			  report->selection.target ? report->selection.target : report->target);
	/* only a selection that means nothing is an error here: whether it may go is not asked */
	report_conclude(report, VERDICT_DONE, EXIT_DONE);
	for (size_t i = 0; i < report->findings.nr; i++)
		if (report->findings.list[i].is_invalid)
			report_conclude(report, VERDICT_INVALID, EXIT_INVALID);
	r = report->verdict == VERDICT_DONE ? picture_save_map(report) : 0;
	findings_sort(&report->findings);
	return r;
}

/* The machine as it is: CPUs of the selection that are still online are in the way, too. */
static int service(struct session *session, struct report *report)
{
	int r = session_gather(session, report);

	if (!r)
		r = session_resolve(session, report);
	if (r || report_is_refused(report))
		return r;
	report_conclude(report, VERDICT_DONE, EXIT_DONE);
	return session_judge_service(session, report, report->machine.online);
}

/* What is looked for is the same on every machine: none is read. */
static int list_rules(struct session *session, struct report *report)
{
	(void)session;
	report_conclude(report, VERDICT_DONE, EXIT_DONE);
	return 0;
}

/* With a selection also what would be found if it were to go. */
static int gather_report(struct session *session, struct report *report)
{
	int r = session_gather_work(session, report);

	if (!r && report->options->request.nr_selectors)
		r = session_resolve(session, report);
	if (r)
		return r;
	if (report->selection.target) {
		hwloc_bitmap_copy(report->target, report->selection.target);
		hwloc_bitmap_andnot(report->survivors, report->machine.online, report->target);
		r = session_judge(session, report, false, NULL, 0, false);
	}
	findings_sort(&report->findings);
	report_conclude(report, VERDICT_DONE, EXIT_DONE);
	return r ? r : bugreport_gather(session, report);
}

/* ---- the table --------------------------------------------------------------------------- */

int actions_run(struct session *session, struct report *report)
{
	static int (*const actions[])(struct session *, struct report *) = {
		[ACTION_OFFLINE] = actions_offline, [ACTION_RESTORE] = actions_restore,
		[ACTION_STATUS] = status,	    [ACTION_LIST] = list,
		[ACTION_SERVICE] = service,	    [ACTION_LIST_RULES] = list_rules,
		[ACTION_PERSIST] = actions_persist, [ACTION_REPORT] = gather_report,
	};
	int r = actions[report->options->request.action](session, report);

	/* what is met while it is planned */
	if (r < 0 && session->root && !report->nr_runs &&
	    !findings_has(&report->findings, SEVERITY_REFUSE))
		r = session_refuse_unreadable(session, report, r);
	if (r == -EINVAL && findings_has(&report->findings, SEVERITY_REFUSE)) {
		report_conclude(report, VERDICT_INVALID, EXIT_INVALID);
		r = 0;
	}
	return r;
}
