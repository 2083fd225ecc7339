/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * map.h - --list --map: every CPU of the machine as a cell, where it is and what it does
 *
 * Cells stand in the order of sockets, dies, nodes, cores and threads. Of a CPU that is offline the
 * kernel hides the place: the journals of operations in force know it, otherwise it has none.
 */
#pragma once

#include "cli/layout.h"
#include "core/journal.h"
#include "core/select.h"

enum cell_state {
	CELL_ONLINE, /* with a selection: it stays so */
	CELL_TARGET, /* online, and selected */
	CELL_OFFLINE,
	CELL_STANDBY,
	CELL_ABSENT, /* possible, and not in the machine */
	NR_CELL_STATES,
};

struct cell {
	unsigned int cpu;
	enum cell_state state;
	long socket, die, node, core; /* CPU_ID_NONE where that is not known */
	unsigned int thread;
	long core_key; /* the same for all threads of one core; CPU_ID_NONE: a core of its own */
};

/* Cells that stand together: of one socket, die and node. */
struct cell_group {
	size_t first, nr;
	size_t nr_cores;
};

struct map {
	struct cell *cells;
	size_t nr_cells;
	struct cell_group *groups;
	size_t nr_groups;
	size_t counts[NR_CELL_STATES];
	bool has_selection;
	unsigned int most_threads; /* of a core */
	hwloc_bitmap_t absent;
	hwloc_bitmap_t empty_nodes; /* nodes without CPUs online, of memory alone or not */
};

/* Returns 0 or -ENOMEM. @selection may be NULL. The caller frees @ret_map in any case. */
int map_make(const struct machine *machine, const struct journals *journals,
	     const struct selection *selection, struct map *ret_map) _must_check_;
void map_free(struct map *map);

/* How many cells from @first on are threads of one core; @end is that of the group. */
size_t map_core_length(const struct map *map, size_t first, size_t end);

/* "socket 0, die 1, node 2"; parts that are not known, and a die that is the only one, are left
 * out. NULL: no memory. */
char *map_name_group(const struct map *map, const struct cell_group *group) _must_check_;

/* "stays online", "would go offline", ...; what it means in the legend. */
const char *map_name_state(const struct map *map, enum cell_state state);

void map_print(const struct layout *layout, const struct map *map);

/* The map as a picture, for light and dark grounds. Returns 0 or -errno. */
int map_draw(FILE *file, const struct map *map, const char *title,
	     const char *subtitle) _must_check_;
