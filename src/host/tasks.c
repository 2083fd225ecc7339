/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tasks.c - threads and the CPUs that they may run on */
#include "host/tasks.h"

#include <errno.h>
#include <sched.h>

int tasks_move_self(hwloc_const_bitmap_t cpus)
{
	size_t nr = (size_t)(hwloc_bitmap_last(cpus) + 1), size = CPU_ALLOC_SIZE(nr);
	cpu_set_t *set = CPU_ALLOC(nr ? nr : 1);
	int r = 0;
	unsigned int cpu;

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	cpus_foreach(cpu, cpus)
		CPU_SET_S(cpu, size, set);
	if (sched_setaffinity(0, size, set) < 0)
		r = -errno;
	CPU_FREE(set);
	return r;
}
