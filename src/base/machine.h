/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine.h - the facts about a machine that rules and plans are made from
 *
 * Filled once by host/topology and host/hotplug, then read only. Ids are the kernel's own;
 * CPU_ID_NONE stands where the kernel gives none (the file is missing, or reads -1).
 */
#pragma once

#include "base/cpus.h"

#define CPU_ID_NONE (-1L)

struct cpu {
	bool is_present;
	bool is_online;
	bool has_online_file; /* cpuN/online is there: the kernel lets this CPU go */
	bool is_standby;      /* s390: cpuN/configure reads 0, it must be configured first */
	bool has_topology; /* cpuN/topology could be read; kernels hide it while a CPU is offline */
	long socket, die, core, node;
	unsigned int thread; /* place among the siblings of its core, from 0 */
	hwloc_bitmap_t
		siblings; /* the hardware threads of its core, itself included; NULL if unknown */
};

struct node {
	long id;
	hwloc_bitmap_t cpus; /* the kernel's cpulist, present CPUs only */
};

/* Two files of the kernel that say different things of the same CPUs. */
struct contradiction {
	hwloc_bitmap_t cpus; /* those of which they differ */
	char *message;
};

struct machine {
	unsigned int nr_cpus; /* highest possible CPU number + 1: the length of cpus[] */
	struct cpu *cpus;
	struct node *nodes; /* ascending ids; none where the kernel shows no NUMA */
	size_t nr_nodes;
	hwloc_bitmap_t possible, present, online;
	hwloc_bitmap_t
		isolated; /* outside the scheduler's housekeeping: isolcpus= and .../cpu/isolated */
	hwloc_bitmap_t nohz_full; /* outside the timers' housekeeping: nohz_full=, isolcpus=nohz */
	char *smt_control; /* smt/control: "on", "off", "forceoff", ...; NULL if there is none */
	struct contradiction *contradictions;
	size_t nr_contradictions;
	unsigned long memory_free_kib; /* MemAvailable, 0 if unknown */
};

/* True where @cpu is a number within cpus[] and the CPU is present. */
static inline bool machine_has_cpu(const struct machine *machine, unsigned int cpu)
{
	return cpu < machine->nr_cpus && machine->cpus[cpu].is_present;
}

void machine_free(struct machine *machine);
