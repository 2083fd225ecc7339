/* SPDX-License-Identifier: GPL-2.0-or-later */
/* demand.h - what the CPUs that stay would have to do: load, run queues, memory without CPUs */
#pragma once

#include "base/machine.h"
#include "base/named.h"
#include "host/root.h"

struct demand {
	bool is_known;
	double load1, load5;	  /* /proc/loadavg, over one and five minutes */
	unsigned long nr_running; /* threads that run or want to, cpuoff left out */
	/* nodes that have memory and would lose their last CPU; the number is their used memory in
	 * MiB, the name their number and size */
	struct named_list bare_nodes;
};

/* Reads /proc/loadavg, /proc/stat and nodeN/meminfo of the nodes in @target. Returns 0 or -ENOMEM.
 */
int demand_read(const struct root *root, const struct machine *machine, hwloc_const_bitmap_t target,
		struct demand *ret_demand) _must_check_;
void demand_free(struct demand *demand);
