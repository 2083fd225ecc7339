/* SPDX-License-Identifier: GPL-2.0-or-later */
/* demand.c - what the CPUs that stay would have to do: load, run queues, memory without CPUs */
#include "host/demand.h"

#include <errno.h>
#include <string.h>

/* fs/proc/loadavg.c: "0.20 0.18 0.12 1/80 11206", the fourth being "running/all". */
static void read_load(const struct root *root, struct demand *demand)
{
	char text[128];

	if (root_read_buffer(root, "proc/loadavg", text, sizeof(text)) ||
	    sscanf(text, "%lf %lf %*f %lu/", &demand->load1, &demand->load5, &demand->nr_running) !=
		    3)
		return;
	if (root_is_live(root) && demand->nr_running)
		demand->nr_running--;
	demand->is_known = true;
}

/* A line "Node 1 MemTotal:       32 kB" of drivers/base/node.c; 0 where there is none. */
static unsigned long find_kib(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoul(at + strlen(key), NULL, 10) : 0;
}

static int read_node(const struct root *root, const struct node *node, hwloc_const_bitmap_t cpus,
		     struct demand *demand)
{
	unsigned long total, used;
	char path[80], text[4096];

	snprintf(path, sizeof(path), "sys/devices/system/node/node%ld/meminfo", node->id);
	if (root_read_buffer(root, path, text, sizeof(text)))
		return 0;
	total = find_kib(text, "MemTotal:");
	used = find_kib(text, "MemUsed:");
	if (!total)
		return 0;
	return named_add(&demand->bare_nodes, cpus, (long)(used >> 10),
			 "node %ld (%lu MiB, %lu in use)", node->id, total >> 10, used >> 10);
}

static int read_nodes(const struct root *root, const struct machine *machine,
		      hwloc_const_bitmap_t target, struct demand *demand)
{
	_cleanup_cpus_ hwloc_bitmap_t online = hwloc_bitmap_alloc();
	int r = online ? 0 : -ENOMEM;

	for (size_t i = 0; !r && machine->nr_nodes > 1 && i < machine->nr_nodes; i++) {
		hwloc_bitmap_and(online, machine->nodes[i].cpus, machine->online);
		if (!cpus_is_empty(online) && hwloc_bitmap_isincluded(online, target))
			r = read_node(root, &machine->nodes[i], online, demand);
	}
	return r;
}

int demand_read(const struct root *root, const struct machine *machine, hwloc_const_bitmap_t target,
		struct demand *ret_demand)
{
	*ret_demand = (struct demand){ 0 };
	read_load(root, ret_demand);
	return read_nodes(root, machine, target, ret_demand);
}

void demand_free(struct demand *demand)
{
	named_free(&demand->bare_nodes);
}
