/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * partition.h - step kinds partition and partition.others: cgroup v2 cpuset partitions
 *
 * kernel/cgroup/cpuset.c. An isolated partition that holds the target makes the kernel move every
 * task off all of it in one write, keeps the scheduler from rebuilding its domains for each CPU,
 * and lets it give pinned tasks their masks again, if it is removed after the CPUs are back.
 */
#pragma once

#include "base/step.h"
#include "host/cgroups.h"
#include "host/hotplug.h"

/* Our partition, in force while CPUs change state. */
extern const struct step_kind partition_kind;

/* Partitions of others that reach into the target: plain members until all their CPUs are back. */
extern const struct step_kind partition_others_kind;

/*
 * What our partition holds: the target, and every offline CPU that is in nobody else's. Returns 0
 * or -ENOMEM.
 */
int partition_cpus(const struct step_env *env, hwloc_bitmap_t ret_cpus) _must_check_;

/*
 * NULL where a partition for the target can be made, as far as the files tell, else the reason why
 * not, in
 * @buffer or constant.
 */
const char *partition_why_not(const struct step_env *env, char *buffer, size_t size);

/*
 * Reads off its files that our partition is in force: "isolated" and a write that succeeded prove
 * nothing, the effective CPUs, ours and the root's, do. @ret_mask is read as well, last. Returns 0,
 * also where none was made; -ECANCELED where it is not in force; or -errno of the mask.
 */
int partition_check(const struct step_env *env, struct online_mask *ret_mask) _must_check_;

/* True where some survivor is left to the root cgroup: not all of them sit in partitions of others.
 */
bool partition_leaves_root(const struct cgroups *cgroups, hwloc_const_bitmap_t survivors);
