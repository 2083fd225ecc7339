/* SPDX-License-Identifier: GPL-2.0-or-later */
/* main.c - cpuoff: the whole flow */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#include "cli/actions.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/signals.h"
#include "cli/svg.h"
#include "cli/text.h"

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

/* A run may outlive the session that began it: the system log keeps its result. */
static void log_result(const struct session *session, const struct report *report)
{
	if (!report->nr_runs || report->options->request.dry_run || !session->root ||
	    !root_is_live(session->root))
		return;
	openlog("cpuoff", LOG_PID, LOG_DAEMON);
	for (size_t i = 0; i < report->nr_runs; i++) {
		_cleanup_free_ char *cpus = cpus_format(report->runs[i].changed);

		syslog(report->exit_status ? LOG_ERR : LOG_NOTICE,
		       "operation %s: %s, exit status %d, CPUs %s: %s",
		       report->runs[i].operation->id, verdict_format(report->verdict),
		       report->exit_status, cpus ? cpus : "", report->options->command);
	}
	closelog();
}

static int print(const struct report *report)
{
	int r = 0;

	text_print(report);
	if (report->options->json)
		r = json_print(report);
	if (fflush(stdout) && errno != EPIPE) {
		fprintf(stderr, "cpuoff: the result could not be written: %s\n", strerror(errno));
		if (!report->exit_status && !report->nr_runs)
			return -EIO;
	}
	return r;
}

/* ---- the picture of the profile ---------------------------------------------------------- */

struct picture {
	FILE *file; /* NULL for none */
	bool is_new;
};

/* Tried before the first change: afterwards it would be too late to name another file. */
static int open_picture(struct report *report, struct picture *ret_picture)
{
	const char *name = report->options->profile_file;
	struct finding *finding;
	int error;

	if (!name || report->options->request.dry_run || report->options->error)
		return 0;
	ret_picture->is_new = access(name, F_OK) < 0;
	ret_picture->file = fopen(name, "ae"); /* what is there stays until the end */
	if (ret_picture->file)
		return 0;
	error = errno;
	finding = findings_add(&report->findings, "profile-file", SEVERITY_REFUSE, NULL,
			       "Name a file that can be written.", "%s cannot be written: %s", name,
			       strerror(error));
	report_conclude(report, VERDICT_INVALID, EXIT_INVALID);
	return finding ? 1 : -ENOMEM;
}

static void draw_picture(const struct report *report, FILE *file)
{
	const char *name = report->options->profile_file;
	_cleanup_free_ char *cpus = cpus_format(report->target);
	char title[512], when[64] = "";
	time_t now = time(NULL);
	struct tm tm;
	int r = 0;

	if (gmtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	snprintf(title, sizeof(title), "cpuoff: CPUs %s %s, %s, %s", cpus ? cpus : "",
		 report->options->request.action == ACTION_RESTORE ? "online" : "offline",
		 verdict_format(report->verdict), when);
	if (ftruncate(fileno(file), 0))
		r = -errno;
	if (!r)
		r = svg_write(file, report->profile, title, report->options->command);
	if (r)
		fprintf(stderr, "cpuoff: %s could not be written: %s\n", name, strerror(-r));
}

/* Without memory for it there is none: what was done is told all the same. */
static void finish_profile(struct report *report)
{
	if (!report->profile || !profile_finish(report->profile))
		return;
	profile_free(report->profile);
	report->profile = NULL;
}

/* Draws where something was done; a file that was not there before is left only then. */
static void close_picture(const struct report *report, const struct picture *picture)
{
	if (!picture->file)
		return;
	if (report->profile)
		draw_picture(report, picture->file);
	else if (picture->is_new)
		unlink(report->options->profile_file);
	fclose(picture->file);
}

static int act(struct session *session, struct report *report)
{
	return report->options->error ? report_wrong_options(report) : actions_run(session, report);
}

int main(int argc, const char **argv)
{
	struct options options;
	struct progress_line line;
	struct report report = { 0 };
	struct watcher watcher = { .progress = progress_show, .data = &line };
	struct session session = { .watcher = &watcher };
	struct picture picture = { 0 };
	int r = options_parse(argc, argv, &options);

	if (!r && !options.is_informational) {
		progress_init(&options, &line);
		watcher.nr_interrupts = signals_install();
		r = report_init(&options, &report);
		if (!r)
			r = open_picture(&report, &picture);
		if (!r)
			r = act(&session, &report);
		progress_clear(&line);
		finish_profile(&report);
		close_picture(&report, &picture);
		if (r >= 0) {
			log_result(&session, &report);
			r = print(&report);
		}
		session_close(&session);
		report_free(&report);
	}
	if (!r && options.is_informational && fflush(stdout))
		r = -errno;
	if (r)
		fprintf(stderr, "cpuoff: %s\n", strerror(-r));
	options_free(&options);
	return r ? EXIT_ROLLED_BACK : report.exit_status;
}
