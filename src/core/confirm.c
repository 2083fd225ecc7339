/* SPDX-License-Identifier: GPL-2.0-or-later */
/* confirm.c - hwloc against the kernel's files: what a selector means to each of them */
#include "core/confirm.h"

#include <errno.h>

static int hwloc_threads(const struct machine *machine, const struct topology *topology,
			 hwloc_bitmap_t ret_cpus)
{
	_cleanup_cpus_ hwloc_bitmap_t core = hwloc_bitmap_alloc();
	hwloc_const_bitmap_t online = machine->online;
	unsigned int cpu;

	if (!core)
		return -ENOMEM;
	cpus_foreach(cpu, online) {
		int r = topology_cpus(topology, TOPOLOGY_CORE, cpu, core);

		if (r == -ENOMEM)
			return r;
		if (!r && cpus_first_among(core, online) != cpu && hwloc_bitmap_set(ret_cpus, cpu))
			return -ENOMEM;
	}
	return 0;
}

static enum topology_object object_of(enum selector_kind kind)
{
	switch (kind) {
	case SELECT_SOCKET:
		return TOPOLOGY_SOCKET;
	case SELECT_NODE:
		return TOPOLOGY_NODE;
	case SELECT_DIE:
		return TOPOLOGY_DIE;
	case SELECT_L3_OF:
		return TOPOLOGY_LAST_CACHE;
	default:
		return TOPOLOGY_CORE;
	}
}

/* hwloc's CPUs of one object; none where it has no such object. */
static int hwloc_object(const struct machine *machine, const struct topology *topology,
			enum selector_kind kind, unsigned int id, hwloc_bitmap_t ret_cpus)
{
	long socket;
	int r = topology_cpus(topology, object_of(kind), id, ret_cpus);

	/* a die that is the whole socket is no object of its own in hwloc */
	if (r == -ENOENT && kind == SELECT_DIE) {
		socket = machine->cpus[id].socket;
		if (socket != CPU_ID_NONE)
			r = topology_cpus(topology, TOPOLOGY_SOCKET, (unsigned int)socket,
					  ret_cpus);
	}
	if (r == -ENOENT) {
		hwloc_bitmap_zero(ret_cpus);
		r = 0;
	}
	return r;
}

int confirm_ask(const struct machine *machine, const struct topology *topology,
		enum selector_kind kind, hwloc_const_bitmap_t ids, hwloc_bitmap_t ret_cpus)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	unsigned int id;
	int r;

	if (!cpus)
		return -ENOMEM;
	if (kind == SELECT_SMT)
		return hwloc_threads(machine, topology, ret_cpus);
	cpus_foreach(id, ids) {
		r = hwloc_object(machine, topology, kind, id, cpus);
		if (!r)
			r = hwloc_bitmap_or(ret_cpus, ret_cpus, cpus) ? -ENOMEM : 0;
		if (r)
			return r;
	}
	return hwloc_bitmap_and(ret_cpus, ret_cpus, machine->online) ? -ENOMEM : 0;
}

int confirm_ask_near(const struct machine *machine, const struct topology *topology,
		     const char *address, hwloc_bitmap_t ret_cpus)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	int r = cpus ? topology_near(topology, address, cpus) : -ENOMEM;

	if (!r && (hwloc_bitmap_and(cpus, cpus, machine->online) ||
		   hwloc_bitmap_or(ret_cpus, ret_cpus, cpus)))
		r = -ENOMEM;
	return r;
}

static bool has_siblings(const struct machine *machine, hwloc_const_bitmap_t cpus)
{
	unsigned int cpu;

	cpus_foreach(cpu, cpus)
		if (!machine->cpus[cpu].siblings)
			return false;
	return true;
}

/* Each sharer of a cache must name the same sharers. */
static int is_cache_complete(const struct root *root, const struct machine *machine,
			     hwloc_const_bitmap_t cpus, bool *ret_is_complete)
{
	_cleanup_cpus_ hwloc_bitmap_t sharers = hwloc_bitmap_alloc();
	bool complete = true;
	unsigned int cpu;

	if (!sharers)
		return -ENOMEM;
	cpus_foreach(cpu, cpus) {
		int r = topology_kernel_last_cache(root, machine, cpu, sharers);

		if (!r && hwloc_bitmap_and(sharers, sharers, machine->online))
			r = -ENOMEM;
		if (r && r != -ENOENT)
			return r;
		complete = complete && !r && hwloc_bitmap_isincluded(sharers, cpus);
	}
	*ret_is_complete = complete;
	return 0;
}

static bool is_in_two_nodes(const struct machine *machine, hwloc_const_bitmap_t cpus)
{
	unsigned int cpu;

	for (size_t i = 0; i < machine->nr_nodes; i++)
		cpus_foreach(cpu, cpus)
			if (hwloc_bitmap_isset(machine->nodes[i].cpus, cpu) &&
			    machine->cpus[cpu].node != machine->nodes[i].id)
				return true;
	return false;
}

static long cpu_id(const struct cpu *cpu, enum selector_kind kind)
{
	return kind == SELECT_SOCKET ? cpu->socket : kind == SELECT_DIE ? cpu->die : cpu->core;
}

int confirm_is_complete(const struct root *root, const struct machine *machine,
			enum selector_kind kind, hwloc_const_bitmap_t cpus, bool *ret_is_complete)
{
	unsigned int cpu;

	*ret_is_complete = true;
	if (kind == SELECT_L3_OF)
		return is_cache_complete(root, machine, cpus, ret_is_complete);
	if (kind == SELECT_CORE_OF || kind == SELECT_SMT)
		*ret_is_complete = has_siblings(machine, machine->online);
	if (kind == SELECT_NODE)
		*ret_is_complete = !is_in_two_nodes(machine, cpus);
	if (kind != SELECT_SOCKET && kind != SELECT_DIE && kind != SELECT_CORE)
		return 0;
	cpus_foreach(cpu, machine->online)
		if (cpu_id(&machine->cpus[cpu], kind) == CPU_ID_NONE)
			*ret_is_complete = false;
	return 0;
}
