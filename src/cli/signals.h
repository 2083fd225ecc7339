/* SPDX-License-Identifier: GPL-2.0-or-later */
/* signals.h - signals set a flag, nothing else */
#pragma once

#include <signal.h>

/*
 * Counts SIGINT and SIGTERM, and ignores SIGHUP, SIGPIPE and SIGTSTP: a dropped session lets a run
 * finish. Returns the counter, for struct watcher.
 */
const volatile sig_atomic_t *signals_install(void);

/* The first of SIGINT and SIGTERM that came, 0 for none. */
int signals_first(void);
