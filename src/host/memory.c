/* SPDX-License-Identifier: GPL-2.0-or-later */
/* memory.c - the memory of a NUMA node: its blocks, and what of it is in use */
#include "host/memory.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "host/names.h"

#define MEMORY_DIR "sys/devices/system/memory"
#define NODE_DIR   "sys/devices/system/node"

void memory_free(struct node_memory *memory)
{
	hwloc_bitmap_free(memory->movable);
	hwloc_bitmap_free(memory->fixed);
	*memory = (struct node_memory){ 0 };
}

/* The N of "memoryN" or "nodeN". */
static bool parse_number(const char *name, const char *prefix, unsigned int *ret_number)
{
	size_t length = strlen(prefix);
	long number;

	if (strncmp(name, prefix, length) || util_parse_long(name + length, 0, INT_MAX, &number))
		return false;
	*ret_number = (unsigned int)number;
	return true;
}

static int read_block_kib(const struct root *root, unsigned long long *ret_kib)
{
	_cleanup_free_ char *text = NULL;
	int r = root_read(root, &text, MEMORY_DIR "/block_size_bytes");

	if (!r)
		*ret_kib = strtoull(text, NULL, 16) >> 10;
	return root_is_shortage(r) ? r : 0;
}

/* The number behind "Node N KEY:" in kB. */
static unsigned long long node_value(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* What cannot be read is online, and not movable: nothing is safe that is not known. */
static int read_block(const struct root *root, unsigned int block, struct node_memory *memory)
{
	_cleanup_free_ char *state = NULL, *zones = NULL;
	int r = root_read(root, &state, MEMORY_DIR "/memory%u/state", block);

	if (root_is_shortage(r))
		return r;
	memory->has_blocks = true;
	if (!r && !strcmp(state, "offline"))
		return 0;
	r = root_read(root, &zones, MEMORY_DIR "/memory%u/valid_zones", block);
	if (root_is_shortage(r))
		return r;
	return hwloc_bitmap_set(!r && !strcmp(zones, "Movable") ? memory->movable : memory->fixed,
				block)
		       ? -ENOMEM
		       : 0;
}

int memory_read_node(const struct root *root, unsigned int node, struct node_memory *ret_memory)
{
	_cleanup_names_ struct names names = { 0 };
	_cleanup_free_ char *info = NULL;
	unsigned int block;
	int r;

	*ret_memory = (struct node_memory){
		.movable = hwloc_bitmap_alloc(),
		.fixed = hwloc_bitmap_alloc(),
	};
	if (!ret_memory->movable || !ret_memory->fixed)
		return -ENOMEM;
	r = read_block_kib(root, &ret_memory->block_kib);
	if (!r)
		r = names_list(root, &names, NODE_DIR "/node%u", node);
	for (size_t i = 0; !r && i < names.nr; i++)
		if (parse_number(names.list[i], "memory", &block))
			r = read_block(root, block, ret_memory);
	if (r)
		return r;
	ret_memory->is_known = ret_memory->has_blocks || !root_has(root, NODE_DIR "/node%u", node);
	r = root_read(root, &info, NODE_DIR "/node%u/meminfo", node);
	if (r)
		return root_is_shortage(r) ? r : 0;
	ret_memory->is_known = true;
	ret_memory->total_kib = node_value(info, "MemTotal:");
	ret_memory->free_kib = node_value(info, "MemFree:");
	return 0;
}

bool memory_is_beside(const struct root *root, unsigned int node, hwloc_const_bitmap_t nodes)
{
	_cleanup_names_ struct names names = { 0 };
	unsigned int initiator;
	size_t nr = 0;

	if (names_list(root, &names, NODE_DIR "/node%u/access0/initiators", node))
		return true;
	for (size_t i = 0; i < names.nr; i++) {
		if (!parse_number(names.list[i], "node", &initiator))
			continue;
		if (!hwloc_bitmap_isset(nodes, initiator))
			return false;
		nr++;
	}
	return nr > 0;
}
