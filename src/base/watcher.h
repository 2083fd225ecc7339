/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watcher.h - what the caller hands down: the signal flag and the progress callback
 *
 * Lower rooms neither print nor handle signals. They ask the watcher whether to stop, and tell it
 * how far they are.
 */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "base/util.h"

enum phase {
	PHASE_CHECKING,	   /* the machine is read, and the rules look at it */
	PHASE_MOVING,	   /* work leaves the target, and what helps is made */
	PHASE_REMOVING,	   /* CPUs go offline */
	PHASE_VERIFYING,   /* what was done is read off the machine */
	PHASE_EJECTING,	   /* CPUs are given back to the firmware */
	PHASE_RETURNING,   /* CPUs come online */
	PHASE_GIVING_BACK, /* all else is undone */
	PHASE_WAITING,	   /* for another cpuoff, or for a write that the kernel has not answered */
};

struct progress {
	enum phase phase;
	const char *object; /* what is in hand, or was last: "cpu 31"; or what is waited for */
	size_t done, total; /* @total is 0 where nothing is counted */
	double waited;	    /* PHASE_WAITING: seconds so far */
	pid_t pid;	    /* PHASE_WAITING: who is waited for, 0 if unknown */
	const char *where;  /* PHASE_WAITING: the kernel function it sits in, "" if unknown */
};

struct watcher {
	const volatile sig_atomic_t *nr_interrupts; /* SIGINT and SIGTERM so far */
	void (*progress)(void *data, const struct progress *progress);
	void *data;
};

static inline int watcher_interrupts(const struct watcher *watcher)
{
	return watcher->nr_interrupts ? *watcher->nr_interrupts : 0;
}

static inline void watcher_progress(const struct watcher *watcher, const struct progress *progress)
{
	if (watcher->progress)
		watcher->progress(watcher->data, progress);
}
