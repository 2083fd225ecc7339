/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mktree.c - makes a machine: /sys and /proc of any shape, as a tree of plain files
 *
 * A CPU is named by socket, core within its socket and thread; dies and nodes are equal parts of a
 * socket's cores. What is offline is hidden the way the kernel hides it: no cpuN/topology, no cpuN/cache,
 * in no mask of others, not in its node's lists.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_CPUS 16384
#define MAX_IDS 1024

struct cpu {
	bool is_present;
	int socket, die, node, core, thread; /* places, from 0; core is within the socket */
};

static struct cpu cpus[MAX_CPUS];
static bool is_offline[MAX_CPUS], is_hole[MAX_CPUS], is_standby[MAX_CPUS], is_isolated[MAX_CPUS];
static bool has_no_online[MAX_CPUS];
static int nr_sockets = 1, nr_dies = 1, nr_nodes = 1, nr_cores = 4, nr_threads = 1, nr_caches = 4;
static int nr_ids;   /* highest CPU number + 1 */
static int possible; /* 0: just those present */
static int kernel_max;
static long socket_ids[MAX_IDS], node_ids[MAX_IDS];
static bool has_cpu0_online, is_nul, is_masks_only, has_no_ids, has_standby, has_memory_node, is_lean;
static bool has_bulk, has_hotplug;
static int dirfd_root;

/* ---- writing --------------------------------------------------------------------------------- */

static void make_dirs(const char *path)
{
	char part[512];
	size_t i;

	for (i = 1; path[i - 1]; i++) {
		if (path[i] && path[i] != '/')
			continue;
		snprintf(part, sizeof(part), "%.*s", (int)i, path);
		if (mkdirat(dirfd_root, part, 0755) < 0 && errno != EEXIST)
			err(1, "%s", part);
	}
}

static void put(const char *path, const char *text)
{
	size_t length = strlen(text) + is_nul;
	int fd = openat(dirfd_root, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0)
		err(1, "%s", path);
	if (write(fd, text, length) != (ssize_t)length)
		err(1, "%s", path);
	close(fd);
}

__attribute__((format(printf, 2, 3))) static void putf(const char *path, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put(path, text);
}

typedef bool in_set(int cpu, int of);

/* The cpulist of all CPUs for which @has holds, with a newline at its end. */
static const char *cpulist(in_set *has, int of, int end)
{
	static char text[MAX_CPUS * 6];
	size_t length = 0;
	int cpu, last;

	for (cpu = 0; cpu < end; cpu++) {
		if (!has(cpu, of))
			continue;
		for (last = cpu; last + 1 < end && has(last + 1, of); last++)
			;
		length += (size_t)sprintf(text + length, last > cpu ? "%s%d-%d" : "%s%d",
					  length ? "," : "", cpu, last);
		cpu = last;
	}
	strcpy(text + length, "\n");
	return text;
}

static const char *cpumask(in_set *has, int of, int end)
{
	static char text[MAX_CPUS / 3];
	size_t length = 0;
	unsigned int word;
	int i, bit;

	for (i = (end - 1) / 32; i >= 0; i--) {
		for (word = 0, bit = 0; bit < 32; bit++)
			if (i * 32 + bit < end && has(i * 32 + bit, of))
				word |= 1U << bit;
		length += (size_t)sprintf(text + length, i ? "%08x," : "%08x", word);
	}
	strcpy(text + length, "\n");
	return text;
}

/* A mask file and, beside it, its list. */
static void put_set(const char *dir, const char *mask, const char *list, in_set *has, int of)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, mask);
	put(path, cpumask(has, of, possible));
	if (is_masks_only)
		return;
	snprintf(path, sizeof(path), "%s/%s", dir, list);
	put(path, cpulist(has, of, possible));
}

/* ---- sets ------------------------------------------------------------------------------------ */

static bool in_possible(int cpu, int of)
{
	(void)of;
	return cpu < possible;
}

static bool in_present(int cpu, int of)
{
	(void)of;
	return cpus[cpu].is_present;
}

static bool in_online(int cpu, int of)
{
	(void)of;
	return cpus[cpu].is_present && !is_offline[cpu];
}

static bool in_offline(int cpu, int of)
{
	return cpu < possible && !in_online(cpu, of);
}

static bool in_isolated(int cpu, int of)
{
	(void)of;
	return is_isolated[cpu];
}

static bool in_socket(int cpu, int of)
{
	return in_online(cpu, 0) && cpus[cpu].socket == cpus[of].socket;
}

static bool in_die(int cpu, int of)
{
	return in_socket(cpu, of) && cpus[cpu].die == cpus[of].die;
}

static bool in_core(int cpu, int of)
{
	return in_socket(cpu, of) && cpus[cpu].core == cpus[of].core;
}

static bool in_node(int cpu, int node)
{
	return in_online(cpu, 0) && cpus[cpu].node == node;
}

static bool in_none(int cpu, int of)
{
	(void)cpu;
	(void)of;
	return false;
}

/* ---- parts of the machine -------------------------------------------------------------------- */

static void number_cpus(const char *numbering)
{
	int total = nr_sockets * nr_cores * nr_threads, place, cpu = 0;
	int cores = nr_sockets * nr_cores;

	for (place = 0; place < total; place++, cpu++) {
		struct cpu *c;

		while (is_hole[cpu])
			cpu++;
		if (cpu >= MAX_CPUS)
			errx(1, "more than %d CPUs", MAX_CPUS);
		c = &cpus[cpu];
		if (!strcmp(numbering, "linear")) {
			c->thread = place % nr_threads;
			c->core = place / nr_threads % nr_cores;
			c->socket = place / nr_threads / nr_cores;
		} else if (!strcmp(numbering, "threads-last")) {
			c->thread = place / cores;
			c->core = place % cores % nr_cores;
			c->socket = place % cores / nr_cores;
		} else if (!strcmp(numbering, "interleaved")) {
			c->thread = place / cores;
			c->core = place % cores / nr_sockets;
			c->socket = place % nr_sockets;
		} else {
			errx(1, "numbering: %s", numbering);
		}
		c->is_present = true;
		c->die = c->core / (nr_cores / nr_dies);
		c->node = nr_nodes ? c->socket * nr_nodes + c->core / (nr_cores / nr_nodes) : -1;
	}
	nr_ids = cpu;
	if (nr_cores % nr_dies || (nr_nodes && nr_cores % nr_nodes))
		errx(1, "dies and nodes must be equal parts of the cores");
}

static void make_cache(int cpu)
{
	static const struct {
		const char *type, *size;
		int level;
		in_set *shared;
	} caches[] = {
		{ "Unified", "32768K", 3, in_die },
		{ "Unified", "1024K", 2, in_core },
		{ "Data", "32K", 1, in_core },
		{ "Instruction", "32K", 1, in_core },
	};
	char dir[128], path[256];
	int i;

	for (i = 0; i < nr_caches; i++) {
		/* The kernel counts indexes from the core outwards */
		snprintf(dir, sizeof(dir), "sys/devices/system/cpu/cpu%d/cache/index%d", cpu,
			 nr_caches - 1 - i);
		make_dirs(dir);
		snprintf(path, sizeof(path), "%s/level", dir);
		putf(path, "%d\n", caches[i].level);
		snprintf(path, sizeof(path), "%s/type", dir);
		putf(path, "%s\n", caches[i].type);
		snprintf(path, sizeof(path), "%s/size", dir);
		putf(path, "%s\n", caches[i].size);
		put_set(dir, "shared_cpu_map", "shared_cpu_list", caches[i].shared, cpu);
	}
}

static void make_topology(int cpu)
{
	const struct cpu *c = &cpus[cpu];
	char dir[128], path[256];

	snprintf(dir, sizeof(dir), "sys/devices/system/cpu/cpu%d/topology", cpu);
	make_dirs(dir);
	snprintf(path, sizeof(path), "%s/physical_package_id", dir);
	putf(path, "%ld\n", has_no_ids ? -1L : socket_ids[c->socket]);
	snprintf(path, sizeof(path), "%s/core_id", dir);
	putf(path, "%d\n", c->core);
	put_set(dir, "thread_siblings", "thread_siblings_list", in_core, cpu);
	put_set(dir, "core_siblings", "core_siblings_list", in_socket, cpu);
	if (is_lean)
		return;
	snprintf(path, sizeof(path), "%s/die_id", dir);
	putf(path, "%d\n", has_no_ids ? -1 : c->die);
	put_set(dir, "core_cpus", "core_cpus_list", in_core, cpu);
	put_set(dir, "package_cpus", "package_cpus_list", in_socket, cpu);
	put_set(dir, "die_cpus", "die_cpus_list", in_die, cpu);
}

static void make_cpu(int cpu)
{
	const struct cpu *c = &cpus[cpu];
	char dir[128], path[256], target[256];

	snprintf(dir, sizeof(dir), "sys/devices/system/cpu/cpu%d", cpu);
	make_dirs(dir);
	if (!has_no_online[cpu] && (cpu || has_cpu0_online)) {
		snprintf(path, sizeof(path), "%s/online", dir);
		putf(path, "%d\n", !is_offline[cpu]);
	}
	if (has_standby) {
		snprintf(path, sizeof(path), "%s/configure", dir);
		putf(path, "%d\n", !is_standby[cpu]);
	}
	if (has_hotplug) {
		snprintf(path, sizeof(path), "%s/hotplug", dir);
		make_dirs(path);
		snprintf(path, sizeof(path), "%s/hotplug/fail", dir);
		put(path, "-1\n");
	}
	if (is_offline[cpu])
		return;
	make_topology(cpu);
	make_cache(cpu);
	if (c->node < 0 || is_lean)
		return;
	snprintf(path, sizeof(path), "%s/node%ld", dir, node_ids[c->node]);
	snprintf(target, sizeof(target), "../../node/node%ld", node_ids[c->node]);
	if (symlinkat(target, dirfd_root, path) < 0)
		err(1, "%s", path);
	snprintf(path, sizeof(path), "sys/devices/system/node/node%ld/cpu%d", node_ids[c->node], cpu);
	snprintf(target, sizeof(target), "../../cpu/cpu%d", cpu);
	if (symlinkat(target, dirfd_root, path) < 0)
		err(1, "%s", path);
}

static void make_nodes(void)
{
	int total = nr_sockets * nr_nodes + has_memory_node, i, j;
	char dir[128], path[256], distance[MAX_IDS * 4] = "", list[MAX_IDS * 8] = "";

	for (i = 0; i < total; i++)
		sprintf(list + strlen(list), "%s%ld", i ? "," : "", node_ids[i]);
	for (i = 0; i < total; i++) {
		bool is_memory = i == nr_sockets * nr_nodes;

		snprintf(dir, sizeof(dir), "sys/devices/system/node/node%ld", node_ids[i]);
		make_dirs(dir);
		put_set(dir, "cpumap", "cpulist", is_memory ? in_none : in_node, i);
		distance[0] = '\0';
		for (j = 0; j < total; j++)
			sprintf(distance + strlen(distance), "%s%d", j ? " " : "", i == j ? 10 : 20);
		snprintf(path, sizeof(path), "%s/distance", dir);
		putf(path, "%s\n", distance);
		snprintf(path, sizeof(path), "%s/meminfo", dir);
		putf(path, "Node %ld MemTotal: 16777216 kB\nNode %ld MemFree: 8388608 kB\n",
		     node_ids[i], node_ids[i]);
	}
	putf("sys/devices/system/node/online", "%s\n", list);
	putf("sys/devices/system/node/possible", "%s\n", list);
	putf("sys/devices/system/node/has_memory", "%s\n", list);
}

/* ---- options --------------------------------------------------------------------------------- */

/* Numbers and ranges; calls @each for every one of them. */
static void parse_list(const char *text, void (*each)(long value, void *data), void *data)
{
	char *end;

	while (*text) {
		long first = strtol(text, &end, 10), last = first;

		if (end == text)
			errx(1, "list: %s", text);
		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		for (; first <= last; first++)
			each(first, data);
		text = *end == ',' ? end + 1 : end;
		if (*end && *end != ',')
			errx(1, "list: %s", text);
	}
}

static void mark(long value, void *data)
{
	if (value < 0 || value >= MAX_CPUS)
		errx(1, "no CPU: %ld", value);
	((bool *)data)[value] = true;
}

struct ids {
	long *list;
	int nr;
};

static void collect(long value, void *data)
{
	struct ids *ids = data;

	if (ids->nr >= MAX_IDS)
		errx(1, "too many ids");
	ids->list[ids->nr++] = value;
}

enum choice {
	OPT_SOCKETS = 256, OPT_DIES, OPT_NODES, OPT_CORES, OPT_THREADS, OPT_CACHES, OPT_NUMBERING,
	OPT_SOCKET_IDS, OPT_NODE_IDS, OPT_MEMORY_NODE, OPT_CPU0_ONLINE, OPT_NO_ONLINE, OPT_OFFLINE,
	OPT_HOLES, OPT_STANDBY, OPT_ISOLATED, OPT_CMDLINE, OPT_NO_IDS, OPT_NUL, OPT_MASKS_ONLY,
	OPT_POSSIBLE, OPT_KERNEL_MAX, OPT_SMT, OPT_EXPEDITED, OPT_NORMAL, OPT_BOOT, OPT_LEAN,
	OPT_BULK, OPT_HOTPLUG,
};

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "sockets", required_argument, NULL, OPT_SOCKETS },
		{ "dies", required_argument, NULL, OPT_DIES },		/* a socket */
		{ "nodes", required_argument, NULL, OPT_NODES },	/* a socket; 0: no NUMA */
		{ "cores", required_argument, NULL, OPT_CORES },	/* a socket */
		{ "threads", required_argument, NULL, OPT_THREADS },	/* a core */
		{ "caches", required_argument, NULL, OPT_CACHES },	/* 1: L3 alone, ... 4: all */
		{ "numbering", required_argument, NULL, OPT_NUMBERING },
		{ "socket-ids", required_argument, NULL, OPT_SOCKET_IDS },
		{ "node-ids", required_argument, NULL, OPT_NODE_IDS },
		{ "memory-node", no_argument, NULL, OPT_MEMORY_NODE },	/* one more, after the others */
		{ "cpu0-online", no_argument, NULL, OPT_CPU0_ONLINE },
		{ "no-online", required_argument, NULL, OPT_NO_ONLINE }, /* these have no online file */
		{ "offline", required_argument, NULL, OPT_OFFLINE },
		{ "holes", required_argument, NULL, OPT_HOLES },	/* numbers that no CPU has */
		{ "standby", required_argument, NULL, OPT_STANDBY },	/* offline, configure reads 0 */
		{ "isolated", required_argument, NULL, OPT_ISOLATED },
		{ "cmdline", required_argument, NULL, OPT_CMDLINE },
		{ "no-ids", no_argument, NULL, OPT_NO_IDS },		/* package and die read -1 */
		{ "nul", no_argument, NULL, OPT_NUL },			/* files end in a NUL byte */
		{ "masks-only", no_argument, NULL, OPT_MASKS_ONLY },	/* no *list files */
		{ "possible", required_argument, NULL, OPT_POSSIBLE },
		{ "kernel-max", required_argument, NULL, OPT_KERNEL_MAX },
		{ "smt", required_argument, NULL, OPT_SMT },
		{ "expedited", required_argument, NULL, OPT_EXPEDITED },
		{ "rcu-normal", required_argument, NULL, OPT_NORMAL },
		{ "boot", required_argument, NULL, OPT_BOOT },
		{ "lean", no_argument, NULL, OPT_LEAN },	/* few files a CPU, as old kernels have */
		{ "bulk", no_argument, NULL, OPT_BULK },	/* there is a cpu_bulk_remove */
		{ "hotplug", no_argument, NULL, OPT_HOTPLUG },	/* failures can be injected */
		{ NULL, 0, NULL, 0 },
	};
	const char *numbering = "linear", *cmdline = "BOOT_IMAGE=/vmlinuz root=/dev/vda1 ro quiet";
	const char *smt = NULL, *expedited = "0", *normal = "0";
	const char *boot = "5c0ffee0-0000-4000-8000-000000000001";
	struct ids sockets = { socket_ids, 0 }, nodes = { node_ids, 0 };
	int option, cpu, i;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch ((enum choice)option) {
		case OPT_SOCKETS: nr_sockets = atoi(optarg); break;
		case OPT_DIES: nr_dies = atoi(optarg); break;
		case OPT_NODES: nr_nodes = atoi(optarg); break;
		case OPT_CORES: nr_cores = atoi(optarg); break;
		case OPT_THREADS: nr_threads = atoi(optarg); break;
		case OPT_CACHES: nr_caches = atoi(optarg); break;
		case OPT_NUMBERING: numbering = optarg; break;
		case OPT_SOCKET_IDS: parse_list(optarg, collect, &sockets); break;
		case OPT_NODE_IDS: parse_list(optarg, collect, &nodes); break;
		case OPT_MEMORY_NODE: has_memory_node = true; break;
		case OPT_CPU0_ONLINE: has_cpu0_online = true; break;
		case OPT_NO_ONLINE: parse_list(optarg, mark, has_no_online); break;
		case OPT_OFFLINE: parse_list(optarg, mark, is_offline); break;
		case OPT_HOLES: parse_list(optarg, mark, is_hole); break;
		case OPT_STANDBY:
			has_standby = true;
			parse_list(optarg, mark, is_standby);
			parse_list(optarg, mark, is_offline);
			break;
		case OPT_ISOLATED: parse_list(optarg, mark, is_isolated); break;
		case OPT_CMDLINE: cmdline = optarg; break;
		case OPT_NO_IDS: has_no_ids = true; break;
		case OPT_NUL: is_nul = true; break;
		case OPT_MASKS_ONLY: is_masks_only = true; break;
		case OPT_POSSIBLE: possible = atoi(optarg); break;
		case OPT_KERNEL_MAX: kernel_max = atoi(optarg); break;
		case OPT_SMT: smt = optarg; break;
		case OPT_EXPEDITED: expedited = optarg; break;
		case OPT_NORMAL: normal = optarg; break;
		case OPT_LEAN: is_lean = true; break;
		case OPT_BOOT: boot = optarg; break;
		case OPT_BULK: has_bulk = true; break;
		case OPT_HOTPLUG: has_hotplug = true; break;
		default: return 2;
		}
	}
	if (optind + 1 != argc)
		errx(2, "usage: mktree [OPTION...] DIR");
	if (mkdir(argv[optind], 0755) < 0 && errno != EEXIST)
		err(1, "%s", argv[optind]);
	dirfd_root = open(argv[optind], O_RDONLY | O_DIRECTORY);
	if (dirfd_root < 0)
		err(1, "%s", argv[optind]);

	number_cpus(numbering);
	for (i = sockets.nr; i < nr_sockets; i++)
		socket_ids[i] = i;
	for (i = nodes.nr; i < nr_sockets * nr_nodes + has_memory_node; i++)
		node_ids[i] = i;
	if (possible < nr_ids)
		possible = nr_ids;
	if (kernel_max < possible - 1)
		kernel_max = possible - 1;
	if (!smt)
		smt = nr_threads > 1 ? "on" : "notsupported";

	make_dirs("proc/sys/kernel/random");
	make_dirs("sys/kernel");
	make_dirs("sys/devices/system/cpu/smt");
	if (nr_nodes)
		make_nodes();
	for (cpu = 0; cpu < nr_ids; cpu++)
		if (cpus[cpu].is_present)
			make_cpu(cpu);
	put("sys/devices/system/cpu/possible", cpulist(in_possible, 0, possible));
	put("sys/devices/system/cpu/present", cpulist(in_present, 0, possible));
	put("sys/devices/system/cpu/online", cpulist(in_online, 0, possible));
	put("sys/devices/system/cpu/offline", cpulist(in_offline, 0, possible));
	put("sys/devices/system/cpu/isolated", cpulist(in_isolated, 0, possible));
	putf("sys/devices/system/cpu/kernel_max", "%d\n", kernel_max);
	putf("sys/devices/system/cpu/smt/control", "%s\n", smt);
	putf("sys/devices/system/cpu/smt/active", "%d\n", nr_threads > 1 && !strcmp(smt, "on"));
	if (has_bulk)
		put("sys/devices/system/cpu/cpu_bulk_remove", cpulist(in_online, 0, possible));
	if (has_hotplug) {
		make_dirs("sys/devices/system/cpu/hotplug");
		put("sys/devices/system/cpu/hotplug/states",
		    "  0: offline\n  1: threads:prepare\n173: workqueue:online\n");
	}
	putf("sys/kernel/rcu_expedited", "%s\n", expedited);
	putf("sys/kernel/rcu_normal", "%s\n", normal);
	putf("proc/cmdline", "%s\n", cmdline);
	put("proc/meminfo", "MemTotal: 67108864 kB\nMemFree: 33554432 kB\nMemAvailable: 50331648 kB\n");
	putf("proc/sys/kernel/random/boot_id", "%s\n", boot);
	return 0;
}
