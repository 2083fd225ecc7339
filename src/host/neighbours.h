/* SPDX-License-Identifier: GPL-2.0-or-later */
/* neighbours.h - other programs that count on CPUs, or bring them back, by the files that they keep
 */
#pragma once

#include "base/named.h"
#include "host/tasks.h"

/* Where kubelet keeps which container has which CPUs. */
#define NEIGHBOURS_KUBELET_FILE "/var/lib/kubelet/cpu_manager_state"

struct neighbours {
	struct named_list kubelet; /* containers, and the shared pool, with CPUs in the target,
				      where the policy is static */
	char *slurm_file;	   /* NULL where slurmd does not run, or this node is not in it */
	long slurm_cpus;	   /* that it says this node has */
	char *tuned_profile;	   /* of a running TuneD that isolates CPUs, else NULL */
	struct named_list udev; /* "FILE:LINE" of rules that bring CPUs online; number: 1 where they
				   are not for CPUs that are added alone */
	long irqbalance;	/* process of an irqbalance that listens nowhere, else 0 */
};

/* @tasks is empty in the copy of a machine; files with process ids tell then what runs. Returns 0
 * or -ENOMEM. */
int neighbours_read(const struct root *root, const struct machine *machine,
		    const struct tasks *tasks, hwloc_const_bitmap_t target,
		    struct neighbours *ret_neighbours) _must_check_;
void neighbours_free(struct neighbours *neighbours);
