/* SPDX-License-Identifier: GPL-2.0-or-later */
/* actions.h - what the program does: take CPUs offline, restore, status, list, service */
#pragma once

#include "cli/report.h"
#include "cli/session.h"

/*
 * Does what the options ask for and fills @report: findings, verdict and exit status, and what was
 * done. Returns 0, or -errno where even that was not possible.
 */
int actions_run(struct session *session, struct report *report) _must_check_;

/* The two that change the machine. */
int actions_offline(struct session *session, struct report *report) _must_check_;
int actions_restore(struct session *session, struct report *report) _must_check_;
int actions_persist(struct session *session, struct report *report) _must_check_;

/* actions_offline() without the service verdict. */
int actions_take(struct session *session, struct report *report) _must_check_;
