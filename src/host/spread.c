/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spread.c - places for what was bound to CPUs of the target alone: near, and never all on one
 * survivor */
#include "host/spread.h"

#include <errno.h>

int spread_init(struct spread *spread, const struct step_env *env)
{
	*spread = (struct spread){
		.machine = env->machine,
		.allowed = hwloc_bitmap_dup(env->survivors),
		.load = calloc(env->machine->nr_cpus, sizeof(*spread->load)),
	};
	if (!spread->allowed || !spread->load) {
		spread_free(spread);
		return -ENOMEM;
	}
	if (env->machine->isolated)
		hwloc_bitmap_andnot(spread->allowed, spread->allowed, env->machine->isolated);
	if (env->machine->nohz_full)
		hwloc_bitmap_andnot(spread->allowed, spread->allowed, env->machine->nohz_full);
	if (cpus_is_empty(spread->allowed))
		hwloc_bitmap_copy(spread->allowed, env->survivors);
	if (!cpus_is_empty(spread->allowed))
		return 0;
	spread_free(spread);
	return -ENODEV;
}

void spread_free(struct spread *spread)
{
	hwloc_bitmap_free(spread->allowed);
	free(spread->load);
	*spread = (struct spread){ 0 };
}

void spread_add_load(struct spread *spread, hwloc_const_bitmap_t cpus)
{
	unsigned int cpu;

	cpus_foreach(cpu, cpus)
		if (cpu < spread->machine->nr_cpus)
			spread->load[cpu]++;
}

long spread_node(const struct spread *spread, int cpu)
{
	if (cpu < 0 || (unsigned int)cpu >= spread->machine->nr_cpus)
		return CPU_ID_NONE;
	return spread->machine->cpus[cpu].node;
}

/* Lower is better: the node first, then the load. */
static unsigned long weigh(const struct spread *spread, unsigned int cpu, long near, long next)
{
	long node = spread->machine->cpus[cpu].node;
	unsigned long distance = node != CPU_ID_NONE && node == near   ? 0
				 : node != CPU_ID_NONE && node == next ? 1
								       : 2;

	return distance * ((unsigned long)UINT_MAX + 1) + spread->load[cpu];
}

unsigned int spread_pick(struct spread *spread, long near, long next, hwloc_const_bitmap_t except)
{
	unsigned int cpu, best = CPU_NONE;

	cpus_foreach(cpu, spread->allowed) {
		if (cpu >= spread->machine->nr_cpus || (except && hwloc_bitmap_isset(except, cpu)))
			continue;
		if (best == CPU_NONE ||
		    weigh(spread, cpu, near, next) < weigh(spread, best, near, next))
			best = cpu;
	}
	if (best != CPU_NONE)
		spread->load[best]++;
	return best;
}
