/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * topology.c - sockets, nodes, dies, cores and threads: the kernel's files, and hwloc's view beside
 * them
 *
 * The first half reads the kernel's files and nothing else; the second half is hwloc. Neither knows
 * of the other: who asks both (core/select) compares them.
 */
#include "host/topology.h"

#include <ctype.h>
#include <errno.h>
#include <hwloc.h>
#include <string.h>

/* Far above what a kernel can be built for, and low enough that a damaged file costs no memory. */
#define ID_MAX 65535U

#define CPU_DIR	 "sys/devices/system/cpu"
#define NODE_DIR "sys/devices/system/node"

/* Files that differ are read again so often before they are believed to. */
#define READS 5

extern char **environ;

/* ---- the kernel's files ------------------------------------------------------------------ */

/* The N of all entries PREFIXN of a directory; none where there is no such directory. */
static int list_numbers(const struct root *root, const char *dir, const char *prefix,
			hwloc_bitmap_t ret_numbers)
{
	size_t length = strlen(prefix);
	struct dirent *entry;
	int r = 0;
	DIR *d = root_opendir(root, "%s", dir);

	hwloc_bitmap_zero(ret_numbers);
	if (!d)
		return errno == ENOENT ? 0 : -errno;
	while (!r && (entry = root_readdir(d, &r))) {
		long number;

		if (strncmp(entry->d_name, prefix, length) ||
		    util_parse_long(entry->d_name + length, 0, ID_MAX, &number))
			continue;
		if (hwloc_bitmap_set(ret_numbers, (unsigned int)number))
			r = -ENOMEM;
	}
	closedir(d);
	return r;
}

/* As the kernel's own mask would be: a CPU without the file cannot go offline, so it is online. */
static int derive_online(const struct root *root, hwloc_const_bitmap_t present,
			 hwloc_bitmap_t ret_online)
{
	unsigned int cpu;

	hwloc_bitmap_zero(ret_online);
	cpus_foreach(cpu, present) {
		long online = 1;
		int r = root_read_long(root, &online, CPU_DIR "/cpu%u/online", cpu);

		if (root_is_shortage(r))
			return r;
		if (online && hwloc_bitmap_set(ret_online, cpu))
			return -ENOMEM;
	}
	return 0;
}

static int read_masks(const struct root *root, struct machine *machine)
{
	int r = root_read_cpulist(root, ID_MAX, machine->present, CPU_DIR "/present");

	/* kernels before 2.6.26 have no masks */
	if (r == -ENOENT)
		r = list_numbers(root, CPU_DIR, "cpu", machine->present);
	if (r)
		return r;
	r = root_read_cpulist(root, ID_MAX, machine->possible, CPU_DIR "/possible");
	if (r == -ENOENT)
		r = hwloc_bitmap_copy(machine->possible, machine->present) ? -ENOMEM : 0;
	if (r)
		return r;
	r = root_read_cpulist(root, ID_MAX, machine->online, CPU_DIR "/online");
	if (r == -ENOENT)
		r = derive_online(root, machine->present, machine->online);
	if (r)
		return r;
	return hwloc_bitmap_and(machine->online, machine->online, machine->present) ? -ENOMEM : 0;
}

/*
 * A missing file, -1 (s390, POWER) and what no int of the kernel can hold all mean that there is no
 * id.
 */
static int read_id(const struct root *root, unsigned int cpu, const char *name, long *ret_id)
{
	long id;
	int r = root_read_long(root, &id, CPU_DIR "/cpu%u/topology/%s", cpu, name);

	if (root_is_shortage(r))
		return r;
	*ret_id = r || id < 0 || id > INT32_MAX ? CPU_ID_NONE : id;
	return 0;
}

/* The names that the siblings of a core have had, newest first. */
static const struct sibling_file {
	const char *name;
	bool is_mask;
} sibling_files[] = {
	{ "core_cpus_list", false },
	{ "thread_siblings_list", false },
	{ "thread_siblings", true },
};

static int read_sibling_file(const struct root *root, unsigned int max, unsigned int cpu,
			     const struct sibling_file *file, hwloc_bitmap_t ret_cpus)
{
	if (file->is_mask)
		return root_read_cpumask(root, max, ret_cpus, CPU_DIR "/cpu%u/topology/%s", cpu,
					 file->name);
	return root_read_cpulist(root, max, ret_cpus, CPU_DIR "/cpu%u/topology/%s", cpu,
				 file->name);
}

static unsigned int thread_index(hwloc_const_bitmap_t siblings, unsigned int cpu)
{
	unsigned int sibling, index = 0;

	cpus_foreach(sibling, siblings)
		index += sibling < cpu;
	return index;
}

/* @first_file is the name that the CPU before had: a kernel has the same for all of them. */
static int read_siblings(const struct root *root, struct machine *machine, unsigned int cpu,
			 size_t *first_file)
{
	_cleanup_cpus_ hwloc_bitmap_t siblings = hwloc_bitmap_alloc();
	int r = -ENOENT;

	if (!siblings)
		return -ENOMEM;
	for (size_t i = *first_file; r && i < ARRAY_SIZE(sibling_files); i++) {
		r = read_sibling_file(root, machine->nr_cpus - 1, cpu, &sibling_files[i], siblings);
		if (root_is_shortage(r))
			return r;
		if (!r)
			*first_file = i;
	}
	if (!r && hwloc_bitmap_and(siblings, siblings, machine->present))
		return -ENOMEM;
	/* a CPU that is not its own sibling: the file says nothing */
	if (r || !hwloc_bitmap_isset(siblings, cpu))
		return 0;
	machine->cpus[cpu].thread = thread_index(siblings, cpu);
	machine->cpus[cpu].siblings = steal_pointer(&siblings);
	return 0;
}

static int read_cpu(const struct root *root, struct machine *machine, unsigned int number,
		    size_t *first_sibling_file)
{
	struct cpu *cpu = &machine->cpus[number];
	long configured;
	int r;

	cpu->is_present = true;
	cpu->is_online = hwloc_bitmap_isset(machine->online, number);
	cpu->has_online_file = root_has(root, CPU_DIR "/cpu%u/online", number);
	if (!cpu->is_online)
		cpu->is_standby =
			!root_read_long(root, &configured, CPU_DIR "/cpu%u/configure", number) &&
			configured == 0;
	r = read_id(root, number, "physical_package_id", &cpu->socket);
	if (!r)
		r = read_id(root, number, "die_id", &cpu->die);
	if (!r)
		r = read_id(root, number, "core_id", &cpu->core);
	if (!r)
		r = read_siblings(root, machine, number, first_sibling_file);
	cpu->has_topology = cpu->socket != CPU_ID_NONE || cpu->core != CPU_ID_NONE || cpu->siblings;
	return r;
}

static int read_cpus(const struct root *root, struct machine *machine)
{
	int last_possible = hwloc_bitmap_last(machine->possible);
	int last_present = hwloc_bitmap_last(machine->present);
	size_t first_sibling_file = 0;
	unsigned int cpu;

	if (last_present < 0)
		return -ENODATA;
	machine->nr_cpus =
		(unsigned int)(last_possible > last_present ? last_possible : last_present) + 1;
	machine->cpus = calloc(machine->nr_cpus, sizeof(*machine->cpus));
	if (!machine->cpus) {
		machine->nr_cpus = 0;
		return -ENOMEM;
	}
	for (cpu = 0; cpu < machine->nr_cpus; cpu++) {
		struct cpu *c = &machine->cpus[cpu];

		c->socket = c->die = c->core = c->node = CPU_ID_NONE;
	}
	cpus_foreach(cpu, machine->present) {
		int r = read_cpu(root, machine, cpu, &first_sibling_file);

		if (r)
			return r;
	}
	return 0;
}

static int read_node(const struct root *root, struct machine *machine, unsigned int id)
{
	struct node *node = &machine->nodes[machine->nr_nodes];
	unsigned int cpu, max = machine->nr_cpus - 1;
	int r;

	node->id = (long)id;
	node->cpus = hwloc_bitmap_alloc();
	if (!node->cpus)
		return -ENOMEM;
	machine->nr_nodes++;
	r = root_read_cpulist(root, max, node->cpus, NODE_DIR "/node%u/cpulist", id);
	if (r == -ENOENT)
		r = root_read_cpumask(root, max, node->cpus, NODE_DIR "/node%u/cpumap", id);
	if (r && r != -ENOENT)
		return r;
	if (hwloc_bitmap_and(node->cpus, node->cpus, machine->present))
		return -ENOMEM;
	/* that two nodes claim one CPU is found by who compares the nodes */
	cpus_foreach(cpu, node->cpus)
		if (machine->cpus[cpu].node == CPU_ID_NONE)
			machine->cpus[cpu].node = node->id;
	return 0;
}

static int read_nodes(const struct root *root, struct machine *machine)
{
	_cleanup_cpus_ hwloc_bitmap_t ids = hwloc_bitmap_alloc();
	unsigned int id;
	int r;

	if (!ids)
		return -ENOMEM;
	r = list_numbers(root, NODE_DIR, "node", ids);
	if (r || hwloc_bitmap_iszero(ids))
		return r;
	machine->nodes = calloc(cpus_count(ids), sizeof(*machine->nodes));
	if (!machine->nodes)
		return -ENOMEM;
	cpus_foreach(id, ids) {
		r = read_node(root, machine, id);
		if (r)
			return r;
	}
	return 0;
}

/* ---- isolation, from the kernel's command line ------------------------------------------- */

/*
 * Cuts the next parameter off *text and returns it without its quotes, or NULL at the end
 * (next_arg() in lib/cmdline.c of the kernel). What follows "--" belongs to init.
 */
static char *next_parameter(char **text)
{
	bool is_quoted = false;
	char *start, *in, *out;

	for (start = *text; isspace((unsigned char)*start); start++)
		;
	for (in = out = start; *in && (is_quoted || !isspace((unsigned char)*in)); in++) {
		if (*in == '"')
			is_quoted = !is_quoted;
		else
			*out++ = *in;
	}
	*text = *in ? in + 1 : in;
	*out = '\0';
	return in == start || !strcmp(start, "--") ? NULL : start;
}

/* The value of "NAME=VALUE", or NULL where @parameter is another; - and _ are one in a name. */
static const char *value_of(const char *parameter, const char *name)
{
	for (; *name; name++, parameter++)
		if (*parameter != *name && !(*parameter == '-' && *name == '_'))
			return NULL;
	return *parameter == '=' ? parameter + 1 : NULL;
}

/*
 * The flags in front of the list of isolcpus= (housekeeping_isolcpus_setup() in
 * kernel/sched/isolation.c).
 */
static const char *parse_flags(const char *value, bool *ret_domain, bool *ret_nohz)
{
	bool has_flags = false;

	*ret_domain = *ret_nohz = false;
	while (isalpha((unsigned char)*value)) {
		size_t length = strcspn(value, ",");
		bool is_domain = length == 6 && !strncmp(value, "domain", length);
		bool is_nohz = length == 4 && !strncmp(value, "nohz", length);

		*ret_domain |= is_domain;
		*ret_nohz |= is_nohz;
		/* an unknown flag is skipped and counts for nothing */
		has_flags |= is_domain || is_nohz ||
			     (length == 11 && !strncmp(value, "managed_irq", length));
		value += value[length] ? length + 1 : length;
	}
	*ret_domain |= !has_flags;
	return value;
}

static int add_list(const char *list, unsigned int max, hwloc_bitmap_t cpus)
{
	_cleanup_cpus_ hwloc_bitmap_t added = hwloc_bitmap_alloc();
	int r;

	if (!added)
		return -ENOMEM;
	r = cpus_parse_kernel(list, max, added);
	/* the kernel ignores a parameter that it cannot read */
	if (r)
		return r == -EINVAL ? 0 : r;
	return hwloc_bitmap_or(cpus, cpus, added) ? -ENOMEM : 0;
}

static int read_parameter(const char *parameter, struct machine *machine, hwloc_bitmap_t isolated)
{
	unsigned int max = machine->nr_cpus - 1;
	bool is_domain, is_nohz;
	const char *list;
	int r = 0;

	list = value_of(parameter, "nohz_full");
	if (list)
		return add_list(list, max, machine->nohz_full);
	list = value_of(parameter, "isolcpus");
	if (!list)
		return 0;
	list = parse_flags(list, &is_domain, &is_nohz);
	if (is_domain)
		r = add_list(list, max, isolated);
	if (!r && is_nohz)
		r = add_list(list, max, machine->nohz_full);
	return r;
}

/* Where no present CPU would keep house the kernel makes the boot CPU do it. */
static void keep_housekeeper(const struct machine *machine, hwloc_bitmap_t isolated)
{
	if (hwloc_bitmap_isincluded(machine->present, isolated))
		hwloc_bitmap_clr(isolated, (unsigned int)hwloc_bitmap_first(machine->present));
}

static int read_isolation(const struct root *root, struct machine *machine)
{
	_cleanup_cpus_ hwloc_bitmap_t isolated = hwloc_bitmap_alloc();
	_cleanup_free_ char *cmdline = NULL;
	char *text, *parameter;
	int r;

	if (!isolated)
		return -ENOMEM;
	r = root_read_cpulist(root, machine->nr_cpus - 1, machine->isolated, CPU_DIR "/isolated");
	if (r && r != -ENOENT)
		return r;
	r = root_read(root, &cmdline, "proc/cmdline");
	if (r)
		return r == -ENOENT ? 0 : r;
	text = cmdline;
	while (!r && (parameter = next_parameter(&text)))
		r = read_parameter(parameter, machine, isolated);
	if (r)
		return r;
	keep_housekeeper(machine, isolated);
	keep_housekeeper(machine, machine->nohz_full);
	return hwloc_bitmap_or(machine->isolated, machine->isolated, isolated) ? -ENOMEM : 0;
}

/* ---- the rest of the facts --------------------------------------------------------------- */

/* The number behind @key in /proc/meminfo, 0 where there is none. */
static unsigned long meminfo_value(const char *text, const char *key)
{
	const char *line = strstr(text, key);

	return line ? strtoul(line + strlen(key), NULL, 10) : 0;
}

static int read_memory(const struct root *root, struct machine *machine)
{
	_cleanup_free_ char *text = NULL;
	int r = root_read(root, &text, "proc/meminfo");

	if (r)
		return root_is_shortage(r) ? r : 0;
	machine->memory_free_kib = meminfo_value(text, "MemAvailable:");
	if (!machine->memory_free_kib)
		machine->memory_free_kib = meminfo_value(text, "MemFree:");
	return 0;
}

static int alloc_sets(struct machine *machine)
{
	hwloc_bitmap_t *const sets[] = { &machine->possible, &machine->present, &machine->online,
					 &machine->isolated, &machine->nohz_full };

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		*sets[i] = hwloc_bitmap_alloc();
		if (!*sets[i])
			return -ENOMEM;
	}
	return 0;
}

/* ---- do the files agree? ----------------------------------------------------------------- */

/*
 * Notes where two files differ in what CPUs, among those online, belong to @what: it concerns all
 * that either of them names.
 */
static int compare_sets(struct machine *machine, const char *what, const char *one_file,
			hwloc_const_bitmap_t one, const char *other_file,
			hwloc_const_bitmap_t other)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	_cleanup_free_ char *first = cpus_format(one), *second = cpus_format(other);
	_cleanup_free_ char *difference = NULL;
	struct contradiction *list;

	if (!cpus || !first || !second || hwloc_bitmap_xor(cpus, one, other) < 0 ||
	    hwloc_bitmap_and(cpus, cpus, machine->online) < 0)
		return -ENOMEM;
	if (cpus_is_empty(cpus))
		return 0;
	difference = cpus_format(cpus);
	if (!difference || hwloc_bitmap_or(cpus, cpus, one) < 0 ||
	    hwloc_bitmap_or(cpus, cpus, other) < 0)
		return -ENOMEM;
	list = util_grow(machine->contradictions, machine->nr_contradictions, sizeof(*list));
	if (!list)
		return -ENOMEM;
	machine->contradictions = list;
	list[machine->nr_contradictions++] = (struct contradiction){
		.cpus = steal_pointer(&cpus),
		.message = util_asprintf("%s is %s by %s and %s by %s, which differ in %s", what,
					 first, one_file, second, other_file, difference),
	};
	return list[machine->nr_contradictions - 1].message ? 0 : -ENOMEM;
}

static int compare_node(const struct root *root, struct machine *machine, const struct node *node)
{
	_cleanup_cpus_ hwloc_bitmap_t map = hwloc_bitmap_alloc();
	char what[32];
	int r;

	if (!map)
		return -ENOMEM;
	r = root_read_cpumask(root, machine->nr_cpus - 1, map, NODE_DIR "/node%ld/cpumap",
			      node->id);
	if (r)
		return root_is_shortage(r) ? r : 0;
	snprintf(what, sizeof(what), "node%ld", node->id);
	return compare_sets(machine, what, "its cpulist", node->cpus, "its cpumap", map);
}

/* The online CPUs that have the socket of @cpu. */
static int find_package(const struct machine *machine, unsigned int cpu, hwloc_bitmap_t package)
{
	unsigned int other;

	hwloc_bitmap_zero(package);
	cpus_foreach(other, machine->online)
		if (machine->cpus[other].socket == machine->cpus[cpu].socket &&
		    hwloc_bitmap_set(package, other))
			return -ENOMEM;
	return 0;
}

static int read_package(const struct root *root, const struct machine *machine, unsigned int cpu,
			hwloc_bitmap_t siblings)
{
	unsigned int max = machine->nr_cpus - 1;
	int r = root_read_cpulist(root, max, siblings, CPU_DIR "/cpu%u/topology/package_cpus_list",
				  cpu);

	if (r == -ENOENT)
		r = root_read_cpulist(root, max, siblings,
				      CPU_DIR "/cpu%u/topology/core_siblings_list", cpu);
	return r;
}

/* The ids of a socket against the list that its first CPU has of it. */
static int compare_package(const struct root *root, struct machine *machine, unsigned int cpu,
			   hwloc_const_bitmap_t package)
{
	_cleanup_cpus_ hwloc_bitmap_t siblings = hwloc_bitmap_alloc();
	char what[64];
	int r;

	if (!siblings)
		return -ENOMEM;
	r = read_package(root, machine, cpu, siblings);
	if (r)
		return root_is_shortage(r) ? r : 0;
	if (hwloc_bitmap_and(siblings, siblings, machine->online) < 0)
		return -ENOMEM;
	snprintf(what, sizeof(what), "socket %ld", machine->cpus[cpu].socket);
	return compare_sets(machine, what, "physical_package_id", package, "the list of siblings",
			    siblings);
}

static int compare_packages(const struct root *root, struct machine *machine)
{
	_cleanup_cpus_ hwloc_bitmap_t package = hwloc_bitmap_alloc(), seen = hwloc_bitmap_alloc();
	unsigned int cpu;
	int r = package && seen ? 0 : -ENOMEM;

	cpus_foreach(cpu, machine->online) {
		if (r || hwloc_bitmap_isset(seen, cpu) || machine->cpus[cpu].socket == CPU_ID_NONE)
			continue;
		r = find_package(machine, cpu, package);
		if (!r && hwloc_bitmap_or(seen, seen, package) < 0)
			r = -ENOMEM;
		if (!r)
			r = compare_package(root, machine, cpu, package);
	}
	return r;
}

/* The online mask against cpuN/online. Old copies of machines have that file, but empty. */
static int compare_online(const struct root *root, struct machine *machine)
{
	_cleanup_cpus_ hwloc_bitmap_t files = hwloc_bitmap_dup(machine->online);
	unsigned int cpu;
	long value;

	if (!files)
		return -ENOMEM;
	cpus_foreach(cpu, machine->online) {
		if (!machine->cpus[cpu].has_online_file)
			continue;
		if (!root_read_long(root, &value, CPU_DIR "/cpu%u/online", cpu) && !value)
			hwloc_bitmap_clr(files, cpu);
	}
	return compare_sets(machine, "the online set", "the mask online", machine->online,
			    "cpuN/online", files);
}

static int find_contradictions(const struct root *root, struct machine *machine)
{
	int r = compare_online(root, machine);

	for (size_t i = 0; !r && i < machine->nr_nodes; i++)
		r = compare_node(root, machine, &machine->nodes[i]);
	return r ? r : compare_packages(root, machine);
}

static int read_once(const struct root *root, struct machine *ret_machine)
{
	_cleanup_(machine_free) struct machine machine = { 0 };
	int r = alloc_sets(&machine);

	if (!r)
		r = read_masks(root, &machine);
	if (!r)
		r = read_cpus(root, &machine);
	if (!r)
		r = read_nodes(root, &machine);
	if (!r)
		r = read_isolation(root, &machine);
	if (!r)
		r = read_memory(root, &machine);
	if (!r)
		r = find_contradictions(root, &machine);
	if (r)
		return r;
	r = root_read(root, &machine.smt_control, CPU_DIR "/smt/control");
	if (root_is_shortage(r))
		return r;
	*ret_machine = machine;
	machine = (struct machine){ 0 };
	return 0;
}

/* Files that contradict each other may have been read while a CPU went or came. */
int topology_read_machine(const struct root *root, struct machine *ret_machine)
{
	struct machine machine;
	int r = read_once(root, &machine);

	for (int i = 1; !r && machine.nr_contradictions && i < READS; i++) {
		machine_free(&machine);
		r = read_once(root, &machine);
	}
	if (!r)
		*ret_machine = machine;
	return r;
}

/* ---- the kernel's caches ----------------------------------------------------------------- */

/*
 * Instruction caches are not what CPUs share work through; kernels that name no type have data
 * there.
 */
static int read_cache_level(const struct root *root, unsigned int cpu, unsigned int index,
			    long *ret_level)
{
	_cleanup_free_ char *type = NULL;
	int r = root_read(root, &type, CPU_DIR "/cpu%u/cache/index%u/type", cpu, index);

	if (root_is_shortage(r))
		return r;
	if (!r && !strcmp(type, "Instruction"))
		return -ENOENT;
	return root_read_long(root, ret_level, CPU_DIR "/cpu%u/cache/index%u/level", cpu, index);
}

static int find_last_cache(const struct root *root, unsigned int cpu, hwloc_const_bitmap_t indexes,
			   unsigned int *ret_index)
{
	long last_level = 0;
	unsigned int index;

	cpus_foreach(index, indexes) {
		long level;
		int r = read_cache_level(root, cpu, index, &level);

		if (root_is_shortage(r))
			return r;
		if (!r && level > last_level) {
			last_level = level;
			*ret_index = index;
		}
	}
	return last_level ? 0 : -ENOENT;
}

/* Some lists leave out the CPU itself where the mask beside them does not. */
static int read_sharers(const struct root *root, unsigned int max, unsigned int cpu,
			unsigned int index, hwloc_bitmap_t ret_cpus)
{
	int r = root_read_cpulist(root, max, ret_cpus,
				  CPU_DIR "/cpu%u/cache/index%u/shared_cpu_list", cpu, index);

	if (r == -ENOENT || (!r && !hwloc_bitmap_isset(ret_cpus, cpu)))
		r = root_read_cpumask(root, max, ret_cpus,
				      CPU_DIR "/cpu%u/cache/index%u/shared_cpu_map", cpu, index);
	if (r)
		return r;
	return hwloc_bitmap_isset(ret_cpus, cpu) ? 0 : -ENOENT;
}

int topology_kernel_last_cache(const struct root *root, const struct machine *machine,
			       unsigned int cpu, hwloc_bitmap_t ret_cpus)
{
	_cleanup_cpus_ hwloc_bitmap_t set = hwloc_bitmap_alloc();
	unsigned int index = 0;
	char dir[64];
	int r;

	if (!set)
		return -ENOMEM;
	snprintf(dir, sizeof(dir), CPU_DIR "/cpu%u/cache", cpu);
	r = list_numbers(root, dir, "index", set);
	if (!r)
		r = find_last_cache(root, cpu, set, &index);
	if (!r)
		r = read_sharers(root, machine->nr_cpus - 1, cpu, index, set);
	if (r)
		return r;
	return hwloc_bitmap_and(ret_cpus, set, machine->present) ? -ENOMEM : 0;
}

/* ---- APIC ids ---------------------------------------------------------------------------- */

/* The number behind the colon of a line of /proc/cpuinfo that begins with @key, or CPU_ID_NONE. */
static long cpuinfo_value(const char *line, const char *key)
{
	size_t length = strlen(key), gap;

	if (strncmp(line, key, length))
		return CPU_ID_NONE;
	gap = strspn(line + length, " \t");
	if (line[length + gap] != ':')
		return CPU_ID_NONE;
	line += length + gap + 1;
	line += strspn(line, " \t");
	return isdigit((unsigned char)*line) ? strtol(line, NULL, 10) : CPU_ID_NONE;
}

/* Old kernels have only "apicid", which is the same but where the firmware has changed it. */
static void take_cpuinfo(char *text, const struct machine *machine, long *ids)
{
	long cpu = CPU_ID_NONE;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		long number = cpuinfo_value(line, "processor");
		long initial = cpuinfo_value(line, "initial apicid");
		long id = initial != CPU_ID_NONE ? initial : cpuinfo_value(line, "apicid");

		if (number != CPU_ID_NONE)
			cpu = number;
		if (id != CPU_ID_NONE && cpu >= 0 && cpu < (long)machine->nr_cpus &&
		    id <= INT32_MAX)
			ids[cpu] = id;
	}
}

int topology_read_apicids(const struct root *root, const struct machine *machine, long **ret_ids)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_free_ long *ids = calloc(machine->nr_cpus, sizeof(*ids));
	int r;

	if (!ids)
		return -ENOMEM;
	for (unsigned int cpu = 0; cpu < machine->nr_cpus; cpu++)
		ids[cpu] = CPU_ID_NONE;
	r = root_read(root, &text, "proc/cpuinfo");
	if (root_is_shortage(r))
		return r;
	if (!r)
		take_cpuinfo(text, machine, ids);
	*ret_ids = steal_pointer(&ids);
	return 0;
}

/* ---- hwloc ------------------------------------------------------------------------------- */

struct topology {
	hwloc_topology_t hwloc;
	hwloc_obj_t *pus; /* by CPU number, NULL where hwloc has no such CPU */
	unsigned int nr_pus;
};

/*
 * What the caller has set for hwloc must not reach us: it could show another machine, or a part of
 * it.
 */
static int forget_environment(void)
{
	char **entry = environ;

	while (entry && *entry) {
		_cleanup_free_ char *name = NULL;

		if (strncmp(*entry, "HWLOC_", 6)) {
			entry++;
			continue;
		}
		name = strndup(*entry, strcspn(*entry, "="));
		if (!name)
			return -ENOMEM;
		/* what follows moves up into this place */
		if (unsetenv(name) < 0)
			return -errno;
	}
	return 0;
}

static int set_environment(const struct root *root)
{
	int r = forget_environment();

	if (r)
		return r;
	if (setenv("HWLOC_HIDE_ERRORS", "2", 1) < 0)
		return -errno;
	if (root_is_live(root))
		return 0;
	if (setenv("HWLOC_FSROOT", root_path(root), 1) < 0 ||
	    setenv("HWLOC_THISSYSTEM", "0", 1) < 0)
		return -errno;
	return 0;
}

static int keep(hwloc_topology_t hwloc, const hwloc_obj_type_t *types, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (hwloc_topology_set_type_filter(hwloc, types[i], HWLOC_TYPE_FILTER_KEEP_ALL) < 0)
			return -errno;
	return 0;
}

static int configure(hwloc_topology_t hwloc, bool with_caches, bool with_devices)
{
	/*
	 * normal objects between machine and CPU that a selector can mean; what is not kept is not
	 * read
	 */
	static const hwloc_obj_type_t places[] = { HWLOC_OBJ_PACKAGE, HWLOC_OBJ_DIE,
						   HWLOC_OBJ_CORE };
	static const hwloc_obj_type_t caches[] = { HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE,
						   HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE,
						   HWLOC_OBJ_L5CACHE };
	/* without OS devices no library of a graphics card is asked for them */
	static const hwloc_obj_type_t devices[] = { HWLOC_OBJ_BRIDGE, HWLOC_OBJ_PCI_DEVICE };
	unsigned long flags = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED;
	int r;

#if HWLOC_API_VERSION >= 0x00020800
	flags |= HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS |
		 HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;
#endif
	/*
	 * x86 asks the CPU that we run on, no_os the C library: both would show the running machine
	 * in another root. Components that this hwloc was built without cannot be named, hence no
	 * check.
	 */
	hwloc_topology_set_components(hwloc, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
	hwloc_topology_set_components(hwloc, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "no_os");
	if (hwloc_topology_set_flags(hwloc, flags) < 0 ||
	    hwloc_topology_set_all_types_filter(hwloc, HWLOC_TYPE_FILTER_KEEP_NONE) < 0)
		return -errno;
	/* a node that is no whole number of sockets or caches gets its CPUs through a group */
	if (hwloc_topology_set_type_filter(hwloc, HWLOC_OBJ_GROUP,
					   HWLOC_TYPE_FILTER_KEEP_STRUCTURE) < 0)
		return -errno;
	r = keep(hwloc, places, ARRAY_SIZE(places));
	if (!r && with_caches)
		r = keep(hwloc, caches, ARRAY_SIZE(caches));
	if (!r && with_devices)
		r = keep(hwloc, devices, ARRAY_SIZE(devices));
	return r;
}

/* hwloc finds a CPU by a walk over all of them; selectors ask for every CPU. */
static int index_pus(struct topology *topology)
{
	hwloc_const_bitmap_t all = hwloc_topology_get_topology_cpuset(topology->hwloc);
	hwloc_obj_t pu = NULL;
	int last = hwloc_bitmap_last(all);

	if (last < 0)
		return -ENODATA;
	topology->nr_pus = (unsigned int)last + 1;
	topology->pus = calloc(topology->nr_pus, sizeof(*topology->pus));
	if (!topology->pus)
		return -ENOMEM;
	while ((pu = hwloc_get_next_obj_by_type(topology->hwloc, HWLOC_OBJ_PU, pu)))
		if (pu->os_index < topology->nr_pus)
			topology->pus[pu->os_index] = pu;
	return 0;
}

static void topology_freep(struct topology **topology)
{
	topology_free(*topology);
}

/* hwloc ends the program where this list is none of nodes, or none that it can hold. */
static int check_nodes(const struct root *root)
{
	_cleanup_cpus_ hwloc_bitmap_t nodes = hwloc_bitmap_alloc();
	_cleanup_free_ char *text = NULL;
	int r = nodes ? root_read(root, &text, NODE_DIR "/online") : -ENOMEM;

	if (r)
		return r == -ENOENT ? 0 : r;
	return cpus_parse(text, ID_MAX, false, nodes);
}

static int load(const struct root *root, bool with_caches, bool with_devices,
		struct topology *topology)
{
	int r = check_nodes(root);

	if (!r)
		r = set_environment(root);
	if (r)
		return r;
	if (hwloc_topology_init(&topology->hwloc) < 0)
		return -ENOMEM;
	r = configure(topology->hwloc, with_caches, with_devices);
	if (r)
		return r;
	errno = 0;
	/* hwloc does not always say why */
	if (hwloc_topology_load(topology->hwloc) < 0)
		return errno ? -errno : -EIO;
	return index_pus(topology);
}

int topology_load(const struct root *root, bool with_caches, bool with_devices,
		  struct topology **ret_topology)
{
	_cleanup_(topology_freep) struct topology *topology = calloc(1, sizeof(*topology));
	int r;

	if (!topology)
		return -ENOMEM;
	r = load(root, with_caches, with_devices, topology);
	unsetenv("HWLOC_HIDE_ERRORS");
	unsetenv("HWLOC_FSROOT");
	unsetenv("HWLOC_THISSYSTEM");
	if (!r)
		*ret_topology = steal_pointer(&topology);
	return r;
}

void topology_free(struct topology *topology)
{
	if (!topology)
		return;
	if (topology->hwloc)
		hwloc_topology_destroy(topology->hwloc);
	free(topology->pus);
	free(topology);
}

static hwloc_obj_t pu_of(const struct topology *topology, unsigned int cpu)
{
	return cpu < topology->nr_pus ? topology->pus[cpu] : NULL;
}

static hwloc_obj_t package_of_number(const struct topology *topology, unsigned int number)
{
	hwloc_obj_t package = NULL;

	while ((package = hwloc_get_next_obj_by_type(topology->hwloc, HWLOC_OBJ_PACKAGE, package)))
		if (package->os_index == number)
			break;
	return package;
}

static hwloc_obj_t ancestor_of(const struct topology *topology, unsigned int cpu,
			       hwloc_obj_type_t type)
{
	hwloc_obj_t pu = pu_of(topology, cpu);

	return pu ? hwloc_get_ancestor_obj_by_type(topology->hwloc, type, pu) : NULL;
}

static hwloc_obj_t last_cache_of(const struct topology *topology, unsigned int cpu)
{
	hwloc_obj_t last = NULL;

	for (hwloc_obj_t obj = pu_of(topology, cpu); obj; obj = obj->parent)
		if (hwloc_obj_type_is_dcache(obj->type))
			last = obj;
	return last;
}

static hwloc_obj_t find_object(const struct topology *topology, enum topology_object object,
			       unsigned int id)
{
	switch (object) {
	case TOPOLOGY_SOCKET:
		return package_of_number(topology, id);
	case TOPOLOGY_NODE:
		return hwloc_get_numanode_obj_by_os_index(topology->hwloc, id);
	case TOPOLOGY_DIE:
		return ancestor_of(topology, id, HWLOC_OBJ_DIE);
	case TOPOLOGY_CORE:
		return ancestor_of(topology, id, HWLOC_OBJ_CORE);
	case TOPOLOGY_LAST_CACHE:
		return last_cache_of(topology, id);
	}
	return NULL;
}

int topology_cpus(const struct topology *topology, enum topology_object object, unsigned int id,
		  hwloc_bitmap_t ret_cpus)
{
	hwloc_obj_t found = find_object(topology, object, id);

	if (!found)
		return -ENOENT;
	return hwloc_bitmap_copy(ret_cpus, found->cpuset) ? -ENOMEM : 0;
}

int topology_near(const struct topology *topology, const char *address, hwloc_bitmap_t ret_cpus)
{
	hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology->hwloc, address);

	if (!device)
		return -ENOENT;
	device = hwloc_get_non_io_ancestor_obj(topology->hwloc, device);
	return hwloc_bitmap_copy(ret_cpus, device->cpuset) ? -ENOMEM : 0;
}
