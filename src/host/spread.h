/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spread.h - places for what was bound to CPUs of the target alone: near, and never all on one
 * survivor
 *
 * CPUs that are kept free of other work (isolated, nohz_full) are taken only where there is nothing
 * else.
 */
#pragma once

#include "base/step.h"

struct spread {
	const struct machine *machine;
	hwloc_bitmap_t allowed; /* the survivors that may be taken */
	unsigned int *load;	/* per CPU: how much it has already */
};

/* Returns 0, -ENODEV where nothing survives, or -ENOMEM. */
int spread_init(struct spread *spread, const struct step_env *env) _must_check_;
void spread_free(struct spread *spread);

#define _cleanup_spread_ _cleanup_(spread_free)

/* Each of @cpus has one thing more. */
void spread_add_load(struct spread *spread, hwloc_const_bitmap_t cpus);

/*
 * The survivor with the least load that is not in @except (may be NULL): in the node @near, else in
 * the node
 * @next, else anywhere. It has one thing more then. CPU_NONE where no CPU is left.
 */
unsigned int spread_pick(struct spread *spread, long near, long next, hwloc_const_bitmap_t except);

/* The node of @cpu, or CPU_ID_NONE. */
long spread_node(const struct spread *spread, int cpu);
