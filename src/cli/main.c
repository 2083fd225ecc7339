/* SPDX-License-Identifier: GPL-2.0-or-later */
/* main.c - cpuoff: the whole flow */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "cli/actions.h"
#include "cli/json.h"
#include "cli/layout.h"
#include "cli/options.h"
#include "cli/picture.h"
#include "cli/progress.h"
#include "cli/prometheus.h"
#include "cli/question.h"
#include "cli/report.h"
#include "cli/signals.h"
#include "cli/syslog.h"
#include "cli/text.h"
#include "host/privileges.h"

static int report_wrong_options(struct report *report)
{
	struct finding *finding = findings_add(&report->findings, "usage", SEVERITY_REFUSE, NULL,
					       "See cpuoff --help.", "%s", report->options->error);

	if (!finding)
		return -ENOMEM;
	report->verdict = VERDICT_INVALID;
	report->exit_status = EXIT_INVALID;
	return 0;
}

static int print(const struct report *report)
{
	int r = 0;

	text_print(report);
	if (report->options->json)
		r = json_print(report);
	else if (report->options->prometheus && report->verdict != VERDICT_INVALID)
		r = prometheus_print(stdout, report);
	if (fflush(stdout) && errno != EPIPE) {
		layout_complain("the result could not be written: %s", strerror(errno));
		if (!report->exit_status && !report->nr_runs)
			return -EIO;
	}
	return r;
}

static int act(struct session *session, struct report *report)
{
	int r = 1;

	if (report->options->error)
		return report_wrong_options(report);
	if (report->options->interactive)
		r = question_ask(session, report);
	return r > 0 ? actions_run(session, report) : r;
}

/* It goes on nevertheless: CPUs that are off must come back from within any sandbox. */
static int note_privileges(struct report *report, int error)
{
	if (!error)
		return 0;
	return findings_add(&report->findings, "privileges-kept", SEVERITY_NOTE, NULL,
			    "Let the sandbox that cpuoff runs in allow capset and prctl.",
			    "cpuoff could not give up the privileges that it does not need: %s",
			    strerror(-error))
		       ? 0
		       : -ENOMEM;
}

static void print_error(const struct session *session, int r)
{
	const char *file = session->root ? root_failed_file(session->root, r) : NULL;
	const char *what = session->failed ? session->failed : file;

	layout_complain("%s%s%s", what ? what : "", what ? ": " : "", strerror(-r));
}

/* Tells what came out of it. An error that comes once something was changed takes nothing back: the
 * verdict stands, and is told as far as possible. */
static int tell(const struct session *session, struct report *report, int r)
{
	int printed;

	if (r < 0 && !report->has_run) {
		report_conclude(report, VERDICT_ROLLED_BACK, EXIT_ROLLED_BACK);
		if (!report->options->json)
			return r;
	}
	findings_sort(&report->findings);
	syslog_write(session, report);
	printed = print(report);
	if (printed && !report->has_run)
		report_conclude(report, VERDICT_ROLLED_BACK, EXIT_ROLLED_BACK);
	return r ? r : printed;
}

int main(int argc, const char **argv)
{
	struct options options;
	struct progress_line line;
	struct report report = { 0 };
	struct watcher watcher = { .progress = progress_show, .data = &line };
	struct session session = { .watcher = &watcher };
	struct picture picture = { 0 };
	int r;

	/* a write a line, not one for each of its letters */
	setvbuf(stderr, NULL, _IOLBF, 0);
	if (privileges_are_lent()) {
		layout_complain("nothing is done with the set-user-ID or set-group-ID bit, or with "
				"capabilities of the program's file: take them off it, and run it "
				"as root");
		return EXIT_PERMISSION;
	}
	r = options_parse(argc, argv, &options);

	if (!r && !options.is_informational) {
		session.privileges_error = privileges_limit();
		progress_init(&options, &line);
		watcher.nr_interrupts = signals_install();
		r = report_init(&options, &report);
		if (!r)
			r = picture_open(&report, &picture);
		if (!r)
			r = act(&session, &report);
		progress_clear(&line);
		report_finish_profile(&report);
		picture_close(&report, &picture);
		if (r >= 0)
			r = note_privileges(&report, session.privileges_error);
		r = tell(&session, &report, r);
	} else if (!r && fflush(stdout)) {
		r = -errno;
	}
	if (r)
		print_error(&session, r);
	session_close(&session);
	report_free(&report);
	options_free(&options);
	return r && !report.has_run ? EXIT_ROLLED_BACK : report.exit_status;
}
