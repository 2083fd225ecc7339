/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-syslog.c - tests of what the system log is told, and of what it never is */
#include "cli/syslog.h"

#include <string.h>
#include <syslog.h>

#include "tap.h"

void __wrap_syslog(int priority, const char *fmt, ...);
void __wrap___syslog_chk(int priority, int flag, const char *fmt, ...);
uid_t __wrap_geteuid(void);
bool __wrap_root_is_live(const struct root *root);

static char line[1024];
static int priority_seen, nr_lines;
static uid_t user;
static bool is_live;

__attribute__((format(printf, 2, 0))) static void take(int priority, const char *fmt, va_list ap)
{
	vsnprintf(line, sizeof(line), fmt, ap);
	priority_seen = priority;
	nr_lines++;
}

__attribute__((format(printf, 2, 3))) void __wrap_syslog(int priority, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	take(priority, fmt, ap);
	va_end(ap);
}

/* What the C library calls it where it is built with _FORTIFY_SOURCE */
__attribute__((format(printf, 3, 4))) void __wrap___syslog_chk(int priority, int flag,
							       const char *fmt, ...)
{
	va_list ap;

	(void)flag;
	va_start(ap, fmt);
	take(priority, fmt, ap);
	va_end(ap);
}

uid_t __wrap_geteuid(void)
{
	return user;
}

bool __wrap_root_is_live(const struct root *root)
{
	(void)root;
	return is_live;
}

static char command[] = "cpuoff --mce a\033]0;x\a\nb \377";
static struct options options = { .command = command };
static struct report report;
/* only asked whether it is live */
static struct session session = { .root = (struct root *)command };
static struct operation operation = { .id = (char[]){ "20260314-150926" } };

static void begin(enum verdict verdict, int status, bool has_run)
{
	report_free(&report);
	if (report_init(&options, &report))
		return;
	hwloc_bitmap_set_range(report.target, 8, 11);
	report_conclude(&report, verdict, status);
	if (has_run) {
		struct run *run = report_add_run(&report, &operation);

		hwloc_bitmap_set_range(run->changed, 8, 10);
		run->seconds = 2.899;
	}
	options.request = (struct request){ .action = ACTION_OFFLINE };
	user = 0;
	is_live = true;
	nr_lines = 0;
	line[0] = '\0';
}

/* The report does not own the operation of these tests. */
static void end(void)
{
	for (size_t i = 0; i < report.nr_runs; i++)
		hwloc_bitmap_free(report.runs[i].changed);
	free(report.runs);
	report.runs = NULL;
	report.nr_runs = 0;
	report_free(&report);
	report = (struct report){ 0 };
}

static void is_logged(const char *expected, int priority, const char *what)
{
	syslog_write(&session, &report);
	is_int(nr_lines, expected ? 1 : 0, "%s: %s", what, expected ? "one line" : "no line");
	if (expected) {
		is_str(line, expected, "%s", what);
		is_int(priority_seen, priority, "%s: its priority", what);
	}
	end();
}

int main(void)
{
	begin(VERDICT_DONE, 0, true);
	is_logged("offline 20260314-150926: done, CPUs 8-10, 2.90 s, exit status 0: "
		  "cpuoff --mce a?]0;x??b ?",
		  LOG_NOTICE, "done, and nothing that a terminal obeys");
	begin(VERDICT_DONE, 0, true);
	options.request.action = ACTION_RESTORE;
	is_logged("restore 20260314-150926: done, CPUs 8-10, 2.90 s, exit status 0: "
		  "cpuoff --mce a?]0;x??b ?",
		  LOG_NOTICE, "a restore");
	begin(VERDICT_ROLLED_BACK, 1, true);
	is_logged("offline 20260314-150926: rolled-back, CPUs 8-11, 2.90 s, exit status 1: "
		  "cpuoff --mce a?]0;x??b ?",
		  LOG_ERR, "put back");
	begin(VERDICT_PARTIAL, 64, true);
	is_logged("offline 20260314-150926: partial, CPUs 8-10, 2.90 s, exit status 64: "
		  "cpuoff --mce a?]0;x??b ?",
		  LOG_WARNING, "partial");
	begin(VERDICT_REFUSED, 3, false);
	is_logged("offline: refused, CPUs 8-11, exit status 3: cpuoff --mce a?]0;x??b ?",
		  LOG_WARNING, "refused");
	begin(VERDICT_DONE, 0, true);
	options.request.dry_run = true;
	is_logged(NULL, 0, "a dry run");
	begin(VERDICT_DONE, 0, true);
	is_live = false;
	is_logged(NULL, 0, "the copy of a machine");
	begin(VERDICT_REFUSED, 3, false);
	user = 1000;
	is_logged(NULL, 0, "refused, not root");
	begin(VERDICT_REFUSED, 4, false);
	is_logged(NULL, 0, "no permission");
	begin(VERDICT_INVALID, 2, false);
	is_logged(NULL, 0, "wrong usage");
	begin(VERDICT_NOTHING_TO_DO, 0, false);
	is_logged(NULL, 0, "nothing to do");
	begin(VERDICT_DONE, 0, false);
	options.request.action = ACTION_STATUS;
	is_logged(NULL, 0, "the status");
	return done_testing();
}
