/* SPDX-License-Identifier: GPL-2.0-or-later */
/* actions.h - what the program does: take CPUs offline, restore, status, list */
#pragma once

#include "base/watcher.h"
#include "cli/report.h"
#include "host/root.h"
#include "host/state.h"

/* What an action works with; opened by actions_run(). */
struct session {
	const struct watcher *watcher;
	struct root *root;
	struct state *state;	/* NULL where there is no state directory yet */
	bool is_locked;
	char *boot_id;
};

/*
 * Does what the options ask for and fills @report: findings, verdict and exit status, and what was done.
 * Returns 0, or -errno where even that was not possible.
 */
int actions_run(struct session *session, struct report *report) _must_check_;

void session_close(struct session *session);
void report_free(struct report *report);
