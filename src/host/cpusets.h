/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpusets.h - step kind cpuset.cpus, and the cpusets that would be left without CPUs
 *
 * kernel/cgroup/cpuset.c. A v1 cpuset loses a CPU that goes offline for good; one that loses its
 * last CPU hands its tasks to its parent. They are narrowed by us first, so that their tasks leave
 * the whole target at once, and are given back what they had once all CPUs are back. A v2 cpuset
 * keeps what was written to it, but no other cgroup of the first level may name a CPU of our
 * partition while that is in force.
 */
#pragma once

#include "base/step.h"
#include "host/cgroups.h"
#include "host/tasks.h"

extern const struct step_kind cpusets_kind;

/* A cpuset that would be left without CPUs. */
struct emptied {
	const struct cgroup *cgroup;
	char *cpus;	 /* those that it has now and would lose, a cpulist */
	size_t nr_tasks; /* threads that it governs */
	char *tasks;	 /* the first of them, "4242 qemu-kvm, 4250 vhost, ..."; "" for none */
};

struct emptied_list {
	struct emptied *list;
	size_t nr;
};

/*
 * Lists the cpusets that hold tasks and whose own CPUs, as far as they are online and the parent
 * lets them be used, all lie in @target, in the order of @cgroups. One without tasks only follows
 * its parent meanwhile.
 * @tasks may be NULL. Returns 0 or -ENOMEM.
 */
int cpusets_emptied(const struct cgroups *cgroups, const struct tasks *tasks,
		    const struct machine *machine, hwloc_const_bitmap_t target,
		    struct emptied_list *ret_emptied) _must_check_;
void cpusets_emptied_free(struct emptied_list *emptied);
