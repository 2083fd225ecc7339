/* SPDX-License-Identifier: GPL-2.0-or-later */
/* machine.c - the facts about a machine that rules and plans are made from */
#include "base/machine.h"

void machine_free(struct machine *machine)
{
	for (unsigned int cpu = 0; cpu < machine->nr_cpus; cpu++)
		hwloc_bitmap_free(machine->cpus[cpu].siblings);
	for (size_t i = 0; i < machine->nr_nodes; i++)
		hwloc_bitmap_free(machine->nodes[i].cpus);
	for (size_t i = 0; i < machine->nr_contradictions; i++) {
		hwloc_bitmap_free(machine->contradictions[i].cpus);
		free(machine->contradictions[i].message);
	}
	free(machine->contradictions);
	free(machine->cpus);
	free(machine->nodes);
	hwloc_bitmap_free(machine->possible);
	hwloc_bitmap_free(machine->present);
	hwloc_bitmap_free(machine->online);
	hwloc_bitmap_free(machine->isolated);
	hwloc_bitmap_free(machine->nohz_full);
	free(machine->smt_control);
	*machine = (struct machine){ 0 };
}
