/* SPDX-License-Identifier: GPL-2.0-or-later */
/* list.h - --list: the machine as a table, and what a selection resolves to */
#pragma once

#include <json-c/json.h>

#include "base/machine.h"
#include "cli/layout.h"
#include "cli/map.h"
#include "core/select.h"

/*
 * Prints the machine: one line a group of like CPUs (same socket, die, node,
 * removability), with ranges, so that 4096 CPUs are a page; offline CPUs and those that cannot go
 * are visible. @selection may be NULL. With @map that stands instead of the table.
 */
void list_print(const struct layout *layout, const struct machine *machine,
		const struct journals *journals, const struct selection *selection,
		const struct map *map);

/* "2 sockets, 2 nodes, 2 threads per core"; NULL: no memory. The caller frees it. */
char *list_format_parts(const struct machine *machine,
			const struct journals *journals) _must_check_;

/* The "cpus" array of --list --json, or NULL where there is no memory. The caller puts it. */
struct json_object *list_json(const struct machine *machine);
