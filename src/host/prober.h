/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prober.h - real-time threads on the survivors that measure how late they are woken
 *
 * What cyclictest does: a thread sleeps until the next full millisecond of its clock, and notes how
 * long after it runs again. There is one a NUMA node with survivors, bound to one of them.
 */
#pragma once

#include <stdint.h>

#include "base/machine.h"
#include "host/root.h"

/*
 * Delays in buckets of one microsecond below 128, and of 1/64 of a power of two above: however long
 * it lasts, the memory is the same, and a percentile is exact to 1.6 percent.
 */
#define LATENCY_BUCKETS (128 + 34 * 64)

struct latency {
	uint64_t buckets[LATENCY_BUCKETS];
	uint64_t nr_wakeups;
	uint64_t nr_over_1ms;
	uint64_t longest; /* nanoseconds */
};

/* One delay of so many nanoseconds. */
void latency_add(struct latency *latency, uint64_t delay);

/* Adds all delays of @other. */
void latency_merge(struct latency *latency, const struct latency *other);

/* The delay in seconds that @permille of 1000 delays do not exceed; 0 where there are none. */
double latency_percentile(const struct latency *latency, unsigned int permille);

struct prober;

/*
 * Makes the threads' memory, locked where that is allowed. Changes nothing. Returns 0; -ENODATA
 * where @root is a copy of a machine, on which nothing can be woken; or -errno.
 */
int prober_new(const struct root *root, const struct machine *machine,
	       hwloc_const_bitmap_t survivors, struct prober **ret_prober) _must_check_;
void prober_free(struct prober *prober);

/*
 * Starts the threads: bound, SCHED_FIFO where that is allowed, with all signals blocked. No process
 * may be made any more until they are stopped. Allocates. Returns 0 or -errno, no thread running
 * then.
 */
int prober_start(struct prober *prober) _must_check_;

/* Stops the threads and adds what they have seen to @latency. Allocates nothing. */
void prober_stop(struct prober *prober, struct latency *latency);

/* The CPUs on which the threads are. */
hwloc_const_bitmap_t prober_cpus(const struct prober *prober);

/* True where all threads are SCHED_FIFO. */
bool prober_is_realtime(const struct prober *prober);
