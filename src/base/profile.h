/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile.h - what an operation spent its time on: steps, changes of CPUs, callbacks in these
 *
 * All times are seconds of util_now(), which is the clock of the trace, too. The memory is made
 * before; what finds no room is counted and left out. Functions that add take NULL for a profile
 * that nobody wants. The lists are in the order of their ends until profile_finish().
 */
#pragma once

#include "base/util.h"

/* A function that the kernel calls while a CPU changes state; itself only, without what runs in it.
 */
struct profile_callback {
	char name[64];
	bool is_wait; /* the frame of cpu hotplug itself in which a CPU's own thread is waited for
		       */
	unsigned int nr;
	double seconds;
	double longest;
	unsigned int longest_cpu;
};

/* One call of it. */
struct profile_span {
	unsigned int cpu, callback; /* place in the list of callbacks */
	double begin, end;
	double own; /* seconds without those of what ran in it */
};

/* A CPU that was taken offline or brought online: the write, with the wait for it. */
struct profile_change {
	unsigned int cpu;
	bool online;
	double begin, end;
	double in_callbacks; /* seconds; the rest is waiting, stop_machine and RCU */
	size_t heaviest;     /* callback: place in the list of spans; SIZE_MAX for none */
	size_t nr_together;  /* in the first of several that one write took: how many, else 0 */
};

/* A step that was applied or undone. */
struct profile_step {
	const char *kind; /* a constant */
	bool is_undo;
	double begin, end;
};

struct profile_open;

struct profile {
	struct profile_callback *callbacks;
	struct profile_span *spans;
	struct profile_change *changes;
	struct profile_step *steps;
	size_t nr_callbacks, nr_spans, nr_changes, nr_steps;
	size_t max_spans, max_changes;
	bool is_traced;		   /* the kernel's events were there to be read */
	unsigned long nr_lost;	   /* events that the kernel has overwritten */
	unsigned long nr_left_out; /* spans, changes and steps without room */
	struct profile_open *open; /* callbacks entered and not left, a few a CPU */
	unsigned int nr_cpus;
};

/* With room for @nr_changing CPUs out of @nr_cpus to go and to come back. Returns 0 or -ENOMEM. */
int profile_new(unsigned int nr_cpus, unsigned int nr_changing,
		struct profile **ret_profile) _must_check_;
void profile_free(struct profile *profile);

void profile_add_step(struct profile *profile, const char *kind, bool is_undo, double begin,
		      double end);
void profile_add_change(struct profile *profile, unsigned int cpu, bool online, double begin,
			double end);

/*
 * The last @nr changes were made by one write, and have equal parts of its time. Their callbacks
 * tell in which order they went and how long each took: once the profile is finished, they have
 * that.
 */
void profile_join_changes(struct profile *profile, size_t nr);

/* The kernel entered a callback of @cpu, named by @length bytes, or left it; in the trace's order.
 */
void profile_enter(struct profile *profile, unsigned int cpu, long step, const char *name,
		   size_t length, double time);
void profile_leave(struct profile *profile, unsigned int cpu, long step, double time);

/* A trace begins: what was entered in an earlier one is not left any more. */
void profile_begin_trace(struct profile *profile);

/*
 * When all is added: callbacks heaviest first, spans by CPU and begin, and what of each change was
 * in callbacks. Returns 0 or -ENOMEM.
 */
int profile_finish(struct profile *profile) _must_check_;

/* The name of the callback in which @change spent most, or NULL. */
const char *profile_heaviest(const struct profile *profile, const struct profile_change *change);

/* The place of the first span of @cpu in the finished list, or of the first of the next CPU. */
size_t profile_find_spans(const struct profile *profile, unsigned int cpu);

/* Seconds that all changes took, and those of them that were in callbacks. */
void profile_sum(const struct profile *profile, double *ret_seconds, double *ret_in_callbacks);
