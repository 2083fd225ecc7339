/* SPDX-License-Identifier: GPL-2.0-or-later */
/* syslog.c - one line an operation in the system log */
#include "cli/syslog.h"

#include <string.h>
#include <syslog.h>

#include "cli/layout.h"

static const char *name_action(const struct report *report)
{
	return report->options->request.action == ACTION_RESTORE ? "restore" : "offline";
}

/* CPUs that changed; where all was put back, those that should have. */
static char *format_cpus(const struct report *report, const struct run *run)
{
	static const struct layout layout; /* cuts what is very long */
	bool is_changed =
		run && report->verdict != VERDICT_ROLLED_BACK && report->verdict != VERDICT_REFUSED;

	return layout_list(&layout, is_changed ? run->changed : report->target);
}

static int choose_priority(const struct report *report)
{
	switch (report->verdict) {
	case VERDICT_REFUSED:
	case VERDICT_PARTIAL:
		return LOG_WARNING;
	case VERDICT_DONE:
	case VERDICT_NOTHING_TO_DO:
		return LOG_NOTICE;
	default:
		return LOG_ERR;
	}
}

/* @run is NULL where none was begun. */
static void write_line(const struct report *report, const struct run *run)
{
	_cleanup_free_ char *cpus = format_cpus(report, run);
	_cleanup_free_ char *command = strdup(report->options->command);
	char seconds[32] = "";

	/* anybody may be read here: one line, and nothing that a terminal would obey */
	if (command)
		util_make_visible(command, "");
	if (run)
		snprintf(seconds, sizeof(seconds), ", %.2f s", run->seconds);
	syslog(choose_priority(report), "%s%s%s: %s, CPUs %s%s, exit status %d: %s",
	       name_action(report), run ? " " : "", run ? run->operation->id : "",
	       verdict_format(report->verdict), cpus && cpus[0] ? cpus : "none", seconds,
	       report->exit_status, command ? command : "?");
}

/* Who may not do it at all is told so, and nobody else. */
static bool is_refusal_of_root(const struct report *report)
{
	enum action action = report->options->request.action;

	return (action == ACTION_OFFLINE || action == ACTION_RESTORE) && !geteuid() &&
	       report->verdict == VERDICT_REFUSED && report->exit_status != EXIT_PERMISSION;
}

void syslog_write(const struct session *session, const struct report *report)
{
	if (report->options->request.dry_run || !session->root || !root_is_live(session->root))
		return;
	openlog("cpuoff", LOG_PID, LOG_DAEMON);
	for (size_t i = 0; i < report->nr_runs; i++)
		write_line(report, &report->runs[i]);
	if (!report->nr_runs && is_refusal_of_root(report))
		write_line(report, NULL);
	closelog();
}
