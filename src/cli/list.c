/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * list.c - --list: the machine as a table, and what a selection resolves to
 *
 * A row of the table is a group of CPUs that agree in all but their numbers, cores and threads.
 */
#include "cli/list.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define CORE_WIDTH 16

enum column {
	COLUMN_SOCKET,
	COLUMN_DIE,
	COLUMN_NODE,
	COLUMN_CORE,
	COLUMN_THREAD,
	COLUMN_STATE,
	COLUMN_CAN_GO,
	COLUMN_CPUS,
	NR_COLUMNS,
};

static const char *const titles[NR_COLUMNS] = {
	[COLUMN_SOCKET] = "socket", [COLUMN_DIE] = "die",	[COLUMN_NODE] = "node",
	[COLUMN_CORE] = "core",	    [COLUMN_THREAD] = "thread", [COLUMN_STATE] = "state",
	[COLUMN_CAN_GO] = "can go", [COLUMN_CPUS] = "CPUs",
};

/* What the CPUs of a row have in common, and one of them. */
struct entry {
	unsigned int number;
	const struct cpu *cpu;
};

/* ---- rows -------------------------------------------------------------------------------- */

/* Numbers in order, what the kernel does not tell last. */
static int compare_ids(long a, long b)
{
	if (a == b)
		return 0;
	if (a == CPU_ID_NONE || b == CPU_ID_NONE)
		return a == CPU_ID_NONE ? 1 : -1;
	return a < b ? -1 : 1;
}

static int compare_groups(const struct cpu *a, const struct cpu *b)
{
	int order = compare_ids(a->socket, b->socket);

	if (!order)
		order = compare_ids(a->die, b->die);
	if (!order)
		order = compare_ids(a->node, b->node);
	if (!order)
		order = b->is_online - a->is_online;
	if (!order)
		order = a->is_standby - b->is_standby;
	if (!order)
		order = a->has_online_file - b->has_online_file;
	return order;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = compare_groups(x->cpu, y->cpu);

	return order ? order : (x->number > y->number) - (x->number < y->number);
}

static struct entry *sort_entries(const struct machine *machine, size_t *ret_nr)
{
	struct entry *entries = calloc(cpus_count(machine->present) + 1, sizeof(*entries));
	unsigned int cpu;
	size_t nr = 0;

	if (!entries)
		return NULL;
	cpus_foreach(cpu, machine->present)
		entries[nr++] = (struct entry){ cpu, &machine->cpus[cpu] };
	qsort(entries, nr, sizeof(*entries), compare_entries);
	*ret_nr = nr;
	return entries;
}

static char *format_id(long id)
{
	return id == CPU_ID_NONE ? strdup("?") : util_asprintf("%ld", id);
}

static const char *state_of(const struct cpu *cpu)
{
	if (cpu->is_online)
		return "online";
	return cpu->is_standby ? "standby" : "offline";
}

enum number {
	NUMBER_CPU,
	NUMBER_CORE,
	NUMBER_THREAD,
};

/* The number of that sort, or CPU_ID_NONE where the kernel gives none. */
static long number_of(const struct entry *entry, enum number number)
{
	switch (number) {
	case NUMBER_CPU:
		return (long)entry->number;
	case NUMBER_CORE:
		return entry->cpu->core;
	case NUMBER_THREAD:
		return entry->cpu->siblings ? (long)entry->cpu->thread : CPU_ID_NONE;
	}
	return CPU_ID_NONE;
}

static char *format_numbers(const struct entry *entries, size_t nr, enum number number)
{
	_cleanup_cpus_ hwloc_bitmap_t set = hwloc_bitmap_alloc();

	if (!set)
		return NULL;
	for (size_t i = 0; i < nr; i++) {
		long value = number_of(&entries[i], number);

		if (value != CPU_ID_NONE && hwloc_bitmap_set(set, (unsigned int)value))
			return NULL;
	}
	return cpus_is_empty(set) ? strdup("?") : cpus_format(set);
}

static int add_row(struct table *table, const struct entry *entries, size_t nr)
{
	const struct cpu *cpu = entries[0].cpu;

	return table_add(table, cpu->is_online ? STYLE_PLAIN : STYLE_BAD,
			 (char *[]){
				 [COLUMN_SOCKET] = format_id(cpu->socket),
				 [COLUMN_DIE] = format_id(cpu->die),
				 [COLUMN_NODE] = format_id(cpu->node),
				 [COLUMN_CORE] = format_numbers(entries, nr, NUMBER_CORE),
				 [COLUMN_THREAD] = format_numbers(entries, nr, NUMBER_THREAD),
				 [COLUMN_STATE] = strdup(state_of(cpu)),
				 [COLUMN_CAN_GO] = strdup(cpu->has_online_file ? "yes" : "no"),
				 [COLUMN_CPUS] = format_numbers(entries, nr, NUMBER_CPU),
			 });
}

static int fill_table(const struct machine *machine, struct table *table)
{
	size_t nr, start = 0;
	_cleanup_free_ struct entry *entries = sort_entries(machine, &nr);

	if (!entries)
		return -ENOMEM;
	for (size_t i = 1; i <= nr; i++) {
		int r;

		if (i < nr && !compare_groups(entries[i].cpu, entries[start].cpu))
			continue;
		r = add_row(table, &entries[start], i - start);
		if (r)
			return r;
		start = i;
	}
	return 0;
}

/* ---- the machine in one line ------------------------------------------------------------- */

/* Of a socket whose CPUs are all off only the journals know. */
static unsigned int count_sockets(const struct machine *machine, const struct journals *journals)
{
	_cleanup_cpus_ hwloc_bitmap_t sockets = hwloc_bitmap_alloc();

	for (unsigned int cpu = 0; sockets && cpu < machine->nr_cpus; cpu++) {
		const struct place *place =
			machine->cpus[cpu].is_online ? NULL : journals_find_place(journals, cpu);
		long socket = place ? place->socket : machine->cpus[cpu].socket;

		if (socket != CPU_ID_NONE)
			hwloc_bitmap_set(sockets, (unsigned int)socket);
	}
	return sockets ? cpus_count(sockets) : 0;
}

static char *format_threads(const struct machine *machine)
{
	unsigned int cpu, least = UINT_MAX, most = 0;

	cpus_foreach(cpu, machine->online) {
		unsigned int nr =
			machine->cpus[cpu].siblings ? cpus_count(machine->cpus[cpu].siblings) : 0;

		least = nr < least ? nr : least;
		most = nr > most ? nr : most;
	}
	if (!most)
		return strdup("threads unknown");
	return util_asprintf("%s%u thread%s per core", least == most ? "" : "up to ", most,
			     most == 1 ? "" : "s");
}

/* "2 sockets", or what is said where there are none. */
static char *format_number(size_t nr, const char *what, const char *none)
{
	return nr ? util_asprintf("%zu %s%s", nr, what, nr == 1 ? "" : "s") : strdup(none);
}

char *list_format_parts(const struct machine *machine, const struct journals *journals)
{
	_cleanup_free_ char *sockets =
		format_number(count_sockets(machine, journals), "socket", "sockets unknown");
	_cleanup_free_ char *nodes = format_number(machine->nr_nodes, "node", "no NUMA");
	_cleanup_free_ char *threads = format_threads(machine);

	return sockets && nodes && threads ? util_asprintf("%s, %s, %s", sockets, nodes, threads)
					   : NULL;
}

static void print_counts(const struct layout *layout, const struct machine *machine,
			 const struct journals *journals)
{
	unsigned int present = cpus_count(machine->present), online = cpus_count(machine->online);
	_cleanup_free_ char *parts = list_format_parts(machine, journals);

	layout_print(layout, STYLE_STRONG, "%u CPU%s: %u online, %u offline; ", present,
		     present == 1 ? "" : "s", online, present - online);
	layout_print(layout, STYLE_PLAIN, "%s", parts ? parts : "?");
	fputs("\n\n", layout->file);
}

/* Nodes of memory alone are in no row, nor is a node whose CPUs are all offline and hidden. */
static void print_empty_nodes(const struct layout *layout, const struct machine *machine)
{
	_cleanup_cpus_ hwloc_bitmap_t nodes = hwloc_bitmap_alloc();
	_cleanup_free_ char *list = NULL;

	for (size_t i = 0; nodes && i < machine->nr_nodes; i++)
		if (cpus_is_empty(machine->nodes[i].cpus))
			hwloc_bitmap_set(nodes, (unsigned int)machine->nodes[i].id);
	if (!nodes || cpus_is_empty(nodes))
		return;
	list = cpus_format(nodes);
	fputc('\n', layout->file);
	layout_print(layout, STYLE_PLAIN, "%s without CPUs online: %s\n",
		     layout_number(cpus_count(nodes), "node", "nodes"), list ? list : "?");
}

static void print_selection(const struct layout *layout, const struct selection *selection)
{
	_cleanup_free_ char *cpus = layout_cpus(layout, selection->target);
	_cleanup_free_ char *offline = layout_cpus(layout, selection->already_offline);

	layout_field(layout, STYLE_STRONG, "selection", "%s", cpus ? cpus : "?");
	if (!cpus_is_empty(selection->already_offline))
		layout_field(layout, STYLE_PLAIN, "offline now", "%s", offline ? offline : "?");
	fputc('\n', layout->file);
}

void list_print(const struct layout *layout, const struct machine *machine,
		const struct journals *journals, const struct selection *selection,
		const struct map *map)
{
	_cleanup_(table_free) struct table table = {
		.titles = titles,
		.nr_columns = NR_COLUMNS,
		.widest = CORE_WIDTH,
	};

	/* a machine that could not be read */
	if (!machine->nr_cpus)
		return;
	if (selection)
		print_selection(layout, selection);
	print_counts(layout, machine, journals);
	if (map) {
		map_print(layout, map);
		return;
	}
	if (fill_table(machine, &table)) {
		layout_complain("no memory for the table");
		return;
	}
	table_print(layout, &table);
	print_empty_nodes(layout, machine);
}

/* ---- JSON -------------------------------------------------------------------------------- */

static int add_member(struct json_object *object, const char *key, struct json_object *value)
{
	if (json_object_object_add(object, key, value)) {
		json_object_put(value);
		return -ENOMEM;
	}
	return 0;
}

static int add_id(struct json_object *object, const char *key, long id)
{
	struct json_object *value = id == CPU_ID_NONE ? NULL : json_object_new_int64(id);

	/* NULL is null to json-c */
	if (id != CPU_ID_NONE && !value)
		return -ENOMEM;
	return add_member(object, key, value);
}

static int add_bool(struct json_object *object, const char *key, bool is_true)
{
	struct json_object *value = json_object_new_boolean(is_true);

	return value ? add_member(object, key, value) : -ENOMEM;
}

static int fill_cpu(struct json_object *object, const struct entry *entry)
{
	const struct cpu *cpu = entry->cpu;

	if (add_id(object, "cpu", number_of(entry, NUMBER_CPU)) ||
	    add_id(object, "socket", cpu->socket) || add_id(object, "die", cpu->die) ||
	    add_id(object, "core", cpu->core) || add_id(object, "node", cpu->node) ||
	    add_id(object, "thread", number_of(entry, NUMBER_THREAD)) ||
	    add_bool(object, "online", cpu->is_online) ||
	    add_bool(object, "can_offline", cpu->has_online_file))
		return -ENOMEM;
	return 0;
}

static int add_cpu(struct json_object *array, const struct entry *entry)
{
	struct json_object *object = json_object_new_object();

	if (!object)
		return -ENOMEM;
	if (fill_cpu(object, entry) || json_object_array_add(array, object)) {
		json_object_put(object);
		return -ENOMEM;
	}
	return 0;
}

struct json_object *list_json(const struct machine *machine)
{
	struct json_object *array = json_object_new_array();
	unsigned int cpu;

	if (!array || !machine->nr_cpus)
		return array;
	cpus_foreach(cpu, machine->present) {
		if (add_cpu(array, &(struct entry){ cpu, &machine->cpus[cpu] })) {
			json_object_put(array);
			return NULL;
		}
	}
	return array;
}
