/* SPDX-License-Identifier: GPL-2.0-or-later */
/* syslog.h - one line an operation in the system log */
#pragma once

#include "cli/report.h"
#include "cli/session.h"

/*
 * Writes what became of each operation of @report to the system log (syslog(3), facility daemon),
 * or that root was refused: a run may outlive the session that began it. Never for a dry run or the
 * copy of a machine. That nobody listens is no error.
 */
void syslog_write(const struct session *session, const struct report *report);
