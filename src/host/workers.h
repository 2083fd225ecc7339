/* SPDX-License-Identifier: GPL-2.0-or-later */
/* workers.h - tasks that suffer more than others: virtual CPUs, threads that poll, users of perf */
#pragma once

#include "base/named.h"
#include "host/tasks.h"

struct workers {
	struct named_list vcpus; /* pinned to the target alone, one entry a virtual machine; number:
				    threads */
	struct named_list
		busy; /* pinned to one CPU of the target, which they take for themselves */
	struct named_list perf; /* processes that hold perf events; number: how many */
	bool is_perf_cut;	/* there were too many files to look at all of them */
};

/*
 * Looks through @tasks. Waits a tenth of a second where there are threads to be watched. Returns 0
 * or -ENOMEM.
 */
int workers_read(const struct root *root, const struct machine *machine, const struct tasks *tasks,
		 hwloc_const_bitmap_t target, struct workers *ret_workers) _must_check_;
void workers_free(struct workers *workers);
