/* SPDX-License-Identifier: GPL-2.0-or-later */
/* map.c - --list --map: every CPU of the machine as a cell, and as text */
#include "cli/map.h"

#include <errno.h>
#include <string.h>

#define ROW_CPUS      32
#define MANY_CPUS     512 /* a map of more has longer rows, and groups of one state are cut */
#define LONG_ROW_CPUS 64
#define CLUSTER	      8 /* cells in a row without cores to part them */

/* ---- cells ------------------------------------------------------------------------------- */

static enum cell_state find_state(const struct cpu *cpu, unsigned int number,
				  const struct selection *selection)
{
	if (!cpu->is_online)
		return cpu->is_standby ? CELL_STANDBY : CELL_OFFLINE;
	return selection && hwloc_bitmap_isset(selection->target, number) ? CELL_TARGET
									  : CELL_ONLINE;
}

/* Numbers of cores count within their die; where it is not known, the siblings tell. */
static long find_core_key(const struct cell *cell, const struct cpu *cpu)
{
	if (cell->socket != CPU_ID_NONE && cell->core != CPU_ID_NONE)
		return cell->core;
	return cpu->siblings ? hwloc_bitmap_first(cpu->siblings) : CPU_ID_NONE;
}

static struct cell make_cell(const struct machine *machine, const struct journals *journals,
			     const struct selection *selection, unsigned int number)
{
	const struct cpu *cpu = &machine->cpus[number];
	const struct place *place = cpu->is_online ? NULL : journals_find_place(journals, number);
	struct cell cell = {
		.cpu = number,
		.state = find_state(cpu, number, selection),
		.socket = place ? place->socket : cpu->socket,
		.die = place ? place->die : cpu->die,
		.node = place ? place->node : cpu->node,
		.core = place ? place->core : cpu->core,
		.thread = place ? place->thread : cpu->thread,
	};

	cell.core_key = find_core_key(&cell, cpu);
	return cell;
}

static int compare_numbers(unsigned long a, unsigned long b)
{
	return (a > b) - (a < b);
}

/* Numbers in order, what is not known last. */
static int compare_ids(long a, long b)
{
	return compare_numbers((unsigned long)a, (unsigned long)b);
}

static int compare_groups(const struct cell *a, const struct cell *b)
{
	int order = compare_ids(a->socket, b->socket);

	if (!order)
		order = compare_ids(a->die, b->die);
	return order ? order : compare_ids(a->node, b->node);
}

static int compare_cells(const void *one, const void *other)
{
	const struct cell *a = one, *b = other;
	int order = compare_groups(a, b);

	if (!order)
		order = compare_ids(a->core_key, b->core_key);
	if (!order)
		order = compare_numbers(a->thread, b->thread);
	return order ? order : compare_numbers(a->cpu, b->cpu);
}

size_t map_core_length(const struct map *map, size_t first, size_t end)
{
	size_t next = first + 1;

	while (next < end && map->cells[next].core_key != CPU_ID_NONE &&
	       map->cells[next].core_key == map->cells[first].core_key)
		next++;
	return next - first;
}

static int add_group(struct map *map, size_t first, size_t end)
{
	struct cell_group *groups = util_grow(map->groups, map->nr_groups, sizeof(*groups));
	struct cell_group group = { .first = first, .nr = end - first };

	if (!groups)
		return -ENOMEM;
	map->groups = groups;
	for (size_t i = first, length; i < end; i += length) {
		length = map_core_length(map, i, end);
		map->most_threads =
			length > map->most_threads ? (unsigned int)length : map->most_threads;
		group.nr_cores++;
	}
	groups[map->nr_groups++] = group;
	return 0;
}

static int group_cells(struct map *map)
{
	size_t first = 0;
	int r = 0;

	for (size_t i = 1; !r && i <= map->nr_cells; i++) {
		if (i < map->nr_cells && !compare_groups(&map->cells[first], &map->cells[i]))
			continue;
		r = add_group(map, first, i);
		first = i;
	}
	return r;
}

static int find_empty_nodes(const struct machine *machine, hwloc_bitmap_t nodes)
{
	for (size_t i = 0; i < machine->nr_nodes; i++)
		if (cpus_is_empty(machine->nodes[i].cpus) &&
		    hwloc_bitmap_set(nodes, (unsigned int)machine->nodes[i].id))
			return -ENOMEM;
	return 0;
}

int map_make(const struct machine *machine, const struct journals *journals,
	     const struct selection *selection, struct map *ret_map)
{
	unsigned int cpu;

	*ret_map = (struct map){
		.cells = calloc(cpus_count(machine->present) + 1, sizeof(*ret_map->cells)),
		.absent = hwloc_bitmap_alloc(),
		.empty_nodes = hwloc_bitmap_alloc(),
		.has_selection = selection,
	};
	if (!ret_map->cells || !ret_map->absent || !ret_map->empty_nodes ||
	    hwloc_bitmap_andnot(ret_map->absent, machine->possible, machine->present) < 0)
		return -ENOMEM;
	cpus_foreach(cpu, machine->present) {
		struct cell cell = make_cell(machine, journals, selection, cpu);

		ret_map->cells[ret_map->nr_cells++] = cell;
		ret_map->counts[cell.state]++;
	}
	ret_map->counts[CELL_ABSENT] = cpus_count(ret_map->absent);
	qsort(ret_map->cells, ret_map->nr_cells, sizeof(*ret_map->cells), compare_cells);
	return group_cells(ret_map) || find_empty_nodes(machine, ret_map->empty_nodes) ? -ENOMEM
										       : 0;
}

void map_free(struct map *map)
{
	free(map->cells);
	free(map->groups);
	hwloc_bitmap_free(map->absent);
	hwloc_bitmap_free(map->empty_nodes);
}

/* ---- names ------------------------------------------------------------------------------- */

/* True where the socket of @group has another die. */
static bool has_dies(const struct map *map, const struct cell *cell)
{
	for (size_t i = 0; i < map->nr_groups; i++) {
		const struct cell *other = &map->cells[map->groups[i].first];

		if (other->socket == cell->socket && other->die != cell->die)
			return true;
	}
	return false;
}

static char *name_id(const char *name, long id, bool is_told)
{
	return is_told && id != CPU_ID_NONE ? util_asprintf(", %s %ld", name, id) : strdup("");
}

char *map_name_group(const struct map *map, const struct cell_group *group)
{
	const struct cell *cell = &map->cells[group->first];
	_cleanup_free_ char *socket = name_id("socket", cell->socket, true);
	_cleanup_free_ char *die = name_id("die", cell->die, has_dies(map, cell));
	_cleanup_free_ char *node = name_id("node", cell->node, true);
	_cleanup_free_ char *text =
		socket && die && node ? util_asprintf("%s%s%s", socket, die, node) : NULL;

	if (!text)
		return NULL;
	/* without the comma and the blank before the first part */
	return strdup(text[0] ? text + 2 : "place not known");
}

const char *map_name_state(const struct map *map, enum cell_state state)
{
	static const char *const names[] = {
		[CELL_ONLINE] = "online",      [CELL_TARGET] = "selected",
		[CELL_OFFLINE] = "offline",    [CELL_STANDBY] = "on standby",
		[CELL_ABSENT] = "not present",
	};

	return map->has_selection && state == CELL_ONLINE ? "online, not selected" : names[state];
}

/* ---- text -------------------------------------------------------------------------------- */

static const struct {
	char sign;
	enum style style;
} looks[] = {
	[CELL_ONLINE] = { 'o', STYLE_GOOD },	[CELL_TARGET] = { 'X', STYLE_BAD },
	[CELL_OFFLINE] = { '.', STYLE_STRONG }, [CELL_STANDBY] = { 's', STYLE_FAINT },
	[CELL_ABSENT] = { '-', STYLE_FAINT },
};

static bool is_uniform(const struct map *map, const struct cell_group *group)
{
	for (size_t i = 1; i < group->nr; i++)
		if (map->cells[group->first + i].state != map->cells[group->first].state)
			return false;
	return true;
}

static bool is_long(const struct map *map)
{
	return map->nr_cells > MANY_CPUS;
}

/* Where the row from @first on ends: cores are not broken, unless one is longer than a row. */
static size_t find_row_end(const struct map *map, size_t first, size_t end)
{
	size_t most = is_long(map) ? LONG_ROW_CPUS : ROW_CPUS, next = first;

	while (next < end) {
		size_t length = map_core_length(map, next, end);

		if (next > first && next + length - first > most)
			break;
		next += length;
	}
	return next;
}

/* Cells of one state in a row are one piece, so that they need one colour. */
static void print_cells(const struct layout *layout, const struct map *map, size_t first,
			size_t end)
{
	for (size_t i = first; i < end;) {
		size_t length = map_core_length(map, i, end);
		bool is_end = is_long(map) || map->most_threads == 1
				      ? (i + length - first) % CLUSTER == 0
				      : true;

		for (size_t j = i; j < i + length; j++)
			layout_print(layout, looks[map->cells[j].state].style, "%c",
				     looks[map->cells[j].state].sign);
		i += length;
		if (is_end && i < end)
			fputc(' ', layout->file);
	}
	fputc('\n', layout->file);
}

static void print_group(const struct layout *layout, const struct map *map,
			const struct cell_group *group)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	_cleanup_free_ char *name = map_name_group(map, group), *list = NULL;
	size_t end = group->first + group->nr;

	for (size_t i = group->first; cpus && i < end; i++)
		hwloc_bitmap_set(cpus, map->cells[i].cpu);
	list = cpus ? layout_list(layout, cpus) : NULL;
	fputc('\n', layout->file);
	layout_print(layout, STYLE_STRONG, "%s", name ? name : "?");
	layout_print(layout, STYLE_PLAIN, ": %zu %s, ", group->nr_cores,
		     layout_number(group->nr_cores, "core", "cores"));
	layout_sentence(layout, STYLE_PLAIN, (name ? strlen(name) : 1) + 14, 2, list ? list : "?");
	for (size_t i = group->first; i < end;) {
		size_t next = find_row_end(map, i, end);

		layout_print(layout, STYLE_FAINT, "%6u  ", map->cells[i].cpu);
		print_cells(layout, map, i, next);
		i = next;
		if (i < end && !layout->is_whole && is_long(map) && is_uniform(map, group)) {
			layout_print(layout, STYLE_FAINT, "        and %zu more of these\n",
				     end - i);
			break;
		}
	}
}

static void print_legend(const struct layout *layout, const struct map *map)
{
	bool is_first = true;

	for (enum cell_state i = 0; i < NR_CELL_STATES; i++) {
		if (!map->counts[i])
			continue;
		layout_print(layout, STYLE_PLAIN, "%s", is_first ? "" : "   ");
		layout_print(layout, looks[i].style, "%c", looks[i].sign);
		layout_print(layout, STYLE_PLAIN, " %s: %zu", map_name_state(map, i),
			     map->counts[i]);
		is_first = false;
	}
	fputc('\n', layout->file);
}

static void print_rest(const struct layout *layout, const char *what, hwloc_const_bitmap_t set)
{
	_cleanup_free_ char *list = layout_list(layout, set);

	if (cpus_is_empty(set))
		return;
	layout_print(layout, STYLE_PLAIN, "%s: ", what);
	layout_sentence(layout, STYLE_PLAIN, strlen(what) + 2, 2, list ? list : "?");
}

void map_print(const struct layout *layout, const struct map *map)
{
	print_legend(layout, map);
	for (size_t i = 0; i < map->nr_groups; i++)
		print_group(layout, map, &map->groups[i]);
	if (!cpus_is_empty(map->absent) || !cpus_is_empty(map->empty_nodes))
		fputc('\n', layout->file);
	print_rest(layout, "not present", map->absent);
	print_rest(layout, "nodes without CPUs online", map->empty_nodes);
}
