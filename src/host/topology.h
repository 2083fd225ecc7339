/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * topology.h - sockets, nodes, dies, cores and threads: the kernel's files, and hwloc's view beside
 * them
 *
 * The kernel's files (drivers/base/topology.c, drivers/base/node.c, drivers/base/cpu.c) fill struct
 * machine. hwloc is kept beside it, so that what a selector means can be confirmed by a second
 * reader.
 */
#pragma once

#include "base/machine.h"
#include "host/root.h"

enum topology_object {
	TOPOLOGY_SOCKET,
	TOPOLOGY_NODE,
	TOPOLOGY_DIE,
	TOPOLOGY_CORE,
	TOPOLOGY_LAST_CACHE,
};

struct topology;

/*
 * Reads all facts of struct machine below @root. Returns 0, -ENODATA where no CPU is present, or
 * another -errno. The caller frees @ret_machine.
 */
int topology_read_machine(const struct root *root, struct machine *ret_machine) _must_check_;

/*
 * Loads hwloc's view of the machine below @root: the whole machine, disallowed CPUs included,
 * without anything of the running machine where @root is another. The caller's HWLOC_* variables do
 * not matter, and are gone from the environment afterwards. Caches, most of what there is, and PCI
 * devices are looked for only where asked. Returns 0 or -errno.
 */
int topology_load(const struct root *root, bool with_caches, bool with_devices,
		  struct topology **ret_topology) _must_check_;
void topology_free(struct topology *topology);

/*
 * The CPUs that hwloc gives to the socket or node of this number, or to the die, core or last-level
 * cache that holds CPU @id. Returns 0, or -ENOENT where hwloc has no such object.
 */
int topology_cpus(const struct topology *topology, enum topology_object object, unsigned int id,
		  hwloc_bitmap_t ret_cpus) _must_check_;

/*
 * The CPUs that hwloc calls near the PCI device at @address ("0000:3b:00.0"). Returns 0, or -ENOENT
 * where hwloc has no such device.
 */
int topology_near(const struct topology *topology, const char *address,
		  hwloc_bitmap_t ret_cpus) _must_check_;

/*
 * The initial APIC ids of the online CPUs by their numbers, CPU_ID_NONE for others: /proc/cpuinfo
 * (arch/x86/kernel/cpu/proc.c). Returns 0 (where there are none, too) or -errno. The caller frees
 * @ret_ids, of machine->nr_cpus numbers.
 */
int topology_read_apicids(const struct root *root, const struct machine *machine,
			  long **ret_ids) _must_check_;

/*
 * The CPUs that share the cache of the largest level with @cpu, as the kernel's cpuN/cache shows
 * it. Returns 0, or -ENOENT where the kernel shows no cache.
 */
int topology_kernel_last_cache(const struct root *root, const struct machine *machine,
			       unsigned int cpu, hwloc_bitmap_t ret_cpus) _must_check_;
