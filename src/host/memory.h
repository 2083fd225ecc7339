/* SPDX-License-Identifier: GPL-2.0-or-later */
/* memory.h - the memory of a NUMA node: its blocks, and what of it is in use */
#pragma once

#include "base/cpus.h"
#include "host/root.h"

struct node_memory {
	bool is_known;	 /* the node is gone, or the kernel shows blocks or a total */
	bool has_blocks; /* the kernel shows blocks, which can be taken offline one by one */
	/* numbers of the blocks online: in ZONE_MOVABLE, and in other zones */
	hwloc_bitmap_t movable, fixed;
	unsigned long long block_kib; /* size of one block, 0 if unknown */
	unsigned long long total_kib, free_kib;
};

/*
 * Reads the memory of @node: sys/devices/system/memory and the node's meminfo
 * (drivers/base/memory.c, drivers/base/node.c). That a block is "removable" says nothing, the
 * kernel writes 1 there always; only ZONE_MOVABLE holds no pages of the kernel's own. That takes
 * two files a block of this node, 5 us in all (6.18): 40 ms where a node has 8192. A node that is
 * gone has no memory. Returns 0 or -errno. The caller frees @ret_memory in any case.
 */
int memory_read_node(const struct root *root, unsigned int node,
		     struct node_memory *ret_memory) _must_check_;

void memory_free(struct node_memory *memory);

/*
 * True where @node has no CPUs, and all nodes that the firmware names as the ones nearest to it are
 * in @nodes: memory beside a socket, such as HBM (access0/initiators, drivers/base/node.c).
 */
bool memory_is_beside(const struct root *root, unsigned int node, hwloc_const_bitmap_t nodes);
