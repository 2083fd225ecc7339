/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hooks.h - the administrator's programs before and after CPUs go or come back */
#pragma once

#include "cli/report.h"
#include "cli/session.h"

/* Looks which hooks there are, once. Returns 0, also where one is unsafe: look at the findings; or
 * -errno. */
int hooks_find(const struct session *session, struct report *report) _must_check_;

/* True where hooks_before() will run any, of those that were found. */
bool hooks_are_to_run(const struct report *report);

/*
 * Runs the hooks that come before report->target changes, once; in a dry run only lists them. Those
 * that come after are looked at, too: what is unsafe refuses while nothing is done. The report
 * names the operations. Returns 1 where one was run, and everything has to be read again; 0, also
 * where it is refused: look at the findings; REPORT_CONCLUDED, or -errno.
 */
int hooks_before(struct session *session, struct report *report) _must_check_;

/* Runs the hooks that come after, where those before had their turn, whatever the verdict is. What
 * fails is a warning. Returns 0 or -errno. */
int hooks_after(struct session *session, struct report *report) _must_check_;
