/* SPDX-License-Identifier: GPL-2.0-or-later */
/* question.h - --interactive: shows what would be done, and asks whether to do it */
#pragma once

#include "cli/report.h"
#include "cli/session.h"

/*
 * Plans as a dry run does, shows it on the terminal and asks there, holding no lock. Returns 1
 * where the answer was yes: the caller then acts, and what was agreed to is in report->confirmed.
 * Returns 0 where there is nothing to ask or the answer was another one: @report then has the
 * result. Returns -errno where that was not possible. Signals end the question.
 */
int question_ask(struct session *session, struct report *report) _must_check_;
