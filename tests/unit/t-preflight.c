/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-preflight.c - tests of the rules: each with a machine that it is for, and with one that it is
 * not for */
#include "core/preflight.h"

#include <errno.h>
#include <sched.h>

#include "guard.h"
#include "tap.h"

struct world;

#define NR_CPUS	   8
#define NR_TASKS   4
#define PF_KTHREAD 0x00200000UL

/* Threads of a world: on which CPUs, and for the second the share of one that it needs, and its
 * cpuset. */
#define TASK(cpus)                                                                                 \
	{                                                                                          \
		.mask = (cpus)                                                                     \
	}
#define DEADLINE(cpus, share, set)                                                                 \
	{                                                                                          \
		.mask = (cpus), .policy = SCHED_DEADLINE, .bandwidth = (share), .cgroup = (set)    \
	}

/* The cpusets of a world with cgroups: the root one, and two partitions in it. */
enum {
	ROOT,
	FIRST,
	SECOND,
	NR_CGROUPS,
};

/*
 * Eight CPUs, two threads a core (0-1, 2-3, ...). Sets are cpulists; what is left out is empty, but
 * for present (all), online (present) and the online files (all but that of 0).
 */
struct given {
	const char *target;
	const char *present, *online, *files;
	const char *isolated, *nohz_full;
	const char *standby;
	const char *smt_control;
	const char *places; /* "CPU.THREAD ..." from a journal */
	bool no_siblings;
	bool allow_cpu0, force;
	bool smt;				      /* --smt among the selectors */
	const char *pinned;			      /* --pinned */
	const char *root_effective, *first_effective; /* NULL: there are no cpusets */
	const char *partition; /* what cpuset.cpus.partition of the first says */
	bool is_v1;
	double deadline_limit, deadline_server;
	struct {
		const char *mask;
		int policy;
		double bandwidth;
		unsigned int cgroup;
		bool is_kernel;
		char state;
		unsigned int cpu;
	} tasks[NR_TASKS];
	const char *denied;
	int denied_errno;
	void (*add)(struct world *world); /* more of what host has read */
};

struct world {
	struct machine machine;
	struct request request;
	struct facts facts;
	struct selector selector;
	struct place places[NR_CPUS];
	struct task task_list[NR_TASKS];
	struct tasks tasks;
	struct cgroup cgroup_list[NR_CGROUPS];
	struct cgroups cgroups;
	hwloc_bitmap_t target, survivors;
	struct findings findings;
};

static hwloc_bitmap_t make_set(const char *text)
{
	hwloc_bitmap_t cpus = hwloc_bitmap_alloc();

	if (cpus && text && cpus_parse(text, NR_CPUS - 1, true, cpus))
		diag("no list: %s", text);
	return cpus;
}

static bool has(const char *text, unsigned int cpu)
{
	return text && cpus_text_has(text, cpu);
}

static void make_cpus(struct machine *machine, const struct given *given)
{
	const char *files = given->files ? given->files : "1-7";

	machine->nr_cpus = NR_CPUS;
	machine->cpus = calloc(NR_CPUS, sizeof(struct cpu));
	for (unsigned int cpu = 0; machine->cpus && cpu < NR_CPUS; cpu++) {
		machine->cpus[cpu] = (struct cpu){
			.is_present = hwloc_bitmap_isset(machine->present, cpu),
			.is_online = hwloc_bitmap_isset(machine->online, cpu),
			.has_online_file = has(files, cpu),
			.is_standby = has(given->standby, cpu),
			.thread = cpu % 2,
		};
		if (given->no_siblings)
			continue;
		machine->cpus[cpu].siblings = hwloc_bitmap_alloc();
		hwloc_bitmap_set_range(machine->cpus[cpu].siblings, cpu & ~1U, (int)(cpu | 1U));
	}
}

static size_t make_places(const char *text, struct place *places)
{
	unsigned int cpu, thread;
	size_t nr = 0;
	int used;

	while (text && sscanf(text, "%u.%u%n", &cpu, &thread, &used) == 2) {
		places[nr++] = (struct place){ .cpu = cpu, .thread = thread };
		text += used;
	}
	return nr;
}

static void make_cgroups(struct world *world, const struct given *given)
{
	static char paths[NR_CGROUPS][8] = { "", "first", "second" };
	static char hierarchy[] = "sys/fs/cgroup", type[64];

	if (!given->root_effective)
		return;
	snprintf(type, sizeof(type), "%s", given->partition ? given->partition : "isolated");
	for (unsigned int i = 0; i < NR_CGROUPS; i++)
		world->cgroup_list[i] = (struct cgroup){ .path = paths[i],
							 .depth = i != ROOT,
							 .inode = i + 1,
							 .is_populated = true,
							 .cpus = i == FIRST ? NULL : make_set("") };
	world->cgroup_list[ROOT].effective = make_set(given->root_effective);
	world->cgroup_list[FIRST].effective = make_set(given->first_effective);
	world->cgroup_list[FIRST].cpus = make_set(given->first_effective);
	world->cgroup_list[FIRST].partition = type;
	world->cgroups = (struct cgroups){ .root = hierarchy,
					   .is_v2 = !given->is_v1,
					   .is_enabled = true,
					   .keeps_masks = true,
					   .list = world->cgroup_list,
					   .nr = NR_CGROUPS };
}

static void make_tasks(struct world *world, const struct given *given)
{
	for (; world->tasks.nr < NR_TASKS && given->tasks[world->tasks.nr].mask;
	     world->tasks.nr++) {
		unsigned int cgroup = given->tasks[world->tasks.nr].cgroup;

		world->task_list[world->tasks.nr] = (struct task){
			.pid = 100,
			.tid = 100 + (pid_t)world->tasks.nr,
			.comm = "worker",
			.flags = given->tasks[world->tasks.nr].is_kernel ? PF_KTHREAD : 0,
			.policy = (unsigned int)given->tasks[world->tasks.nr].policy,
			.bandwidth = given->tasks[world->tasks.nr].bandwidth,
			.state = given->tasks[world->tasks.nr].state,
			.cpu = given->tasks[world->tasks.nr].cpu,
			.mask = make_set(given->tasks[world->tasks.nr].mask),
			.cgroup = given->root_effective ? &world->cgroup_list[cgroup] : NULL,
		};
	}
	world->tasks.list = world->task_list;
}

static void make_world(struct world *world, const struct given *given)
{
	const char *present = given->present ? given->present : "0-7";

	*world = (struct world){ .target = make_set(given->target),
				 .survivors = hwloc_bitmap_alloc() };
	world->machine.possible = make_set("0-7");
	world->machine.present = make_set(present);
	world->machine.online = make_set(given->online ? given->online : present);
	world->machine.isolated = make_set(given->isolated);
	world->machine.nohz_full = make_set(given->nohz_full);
	world->machine.smt_control = util_strdup(given->smt_control);
	make_cpus(&world->machine, given);
	hwloc_bitmap_andnot(world->survivors, world->machine.online, world->target);
	make_cgroups(world, given);
	make_tasks(world, given);
	world->selector.kind = given->smt ? SELECT_SMT : SELECT_CPU;
	world->request = (struct request){
		.selectors = &world->selector,
		.nr_selectors = 1,
		.allow_cpu0 = given->allow_cpu0,
		.force = given->force,
		.pinned = given->pinned,
	};
	world->facts = (struct facts){
		.request = &world->request,
		.machine = &world->machine,
		.target = world->target,
		.survivors = world->survivors,
		.places = world->places,
		.nr_places = make_places(given->places, world->places),
		.tasks = &world->tasks,
		.cgroups = &world->cgroups,
		.deadline_limit = given->deadline_limit,
		.deadline_server = given->deadline_server,
		.denied_path = (char *)given->denied,
		.denied_errno = given->denied_errno,
	};
	if (given->add)
		given->add(world);
}

static void free_world(struct world *world)
{
	for (size_t i = 0; i < world->tasks.nr; i++)
		hwloc_bitmap_free(world->task_list[i].mask);
	for (size_t i = 0; i < NR_CGROUPS; i++) {
		hwloc_bitmap_free(world->cgroup_list[i].effective);
		hwloc_bitmap_free(world->cgroup_list[i].cpus);
	}
	world->facts.denied_path = NULL;
	facts_free(&world->facts);
	machine_free(&world->machine);
	hwloc_bitmap_free(world->target);
	hwloc_bitmap_free(world->survivors);
	findings_free(&world->findings);
}

/* ---- what host has read ------------------------------------------------------------------ */

static void add(struct named_list *list, const char *cpus, long number, const char *name)
{
	_cleanup_cpus_ hwloc_bitmap_t set = make_set(cpus);

	if (named_add(list, set, number, "%s", name))
		diag("no memory");
}

/* Two sockets and four nodes, of two cores and of one. */
static void add_places(struct world *world)
{
	world->machine.nodes = calloc(4, sizeof(struct node));
	world->machine.nr_nodes = 4;
	for (unsigned int i = 0; i < 4; i++) {
		world->machine.nodes[i] =
			(struct node){ .id = (long)i, .cpus = hwloc_bitmap_alloc() };
		hwloc_bitmap_set_range(world->machine.nodes[i].cpus, 2 * i, (int)(2 * i + 1));
	}
	for (unsigned int cpu = 0; cpu < NR_CPUS; cpu++)
		world->machine.cpus[cpu].socket = (long)cpu / 4;
}

static void add_contradiction(struct world *world, const char *cpus)
{
	world->machine.contradictions = calloc(1, sizeof(struct contradiction));
	world->machine.nr_contradictions = 1;
	world->machine.contradictions[0] = (struct contradiction){
		.cpus = make_set(cpus),
		.message = strdup("node1 is 4-7 by one file, 4-6 by another")
	};
}

static void add_contradiction_here(struct world *world)
{
	add_contradiction(world, "7");
}

static void add_contradiction_elsewhere(struct world *world)
{
	add_contradiction(world, "3");
}

static void add_power(struct world *world)
{
	add_places(world);
	add(&world->facts.platform.power, NULL, 0, "intel-rapl:0");
	add(&world->facts.platform.power, NULL, 1, "intel-rapl:1");
	world->facts.platform.nr_uncore = 12;
}

static void add_injection(struct world *world)
{
	add(&world->facts.platform.injectors, NULL, 30,
	    "cooling_device7 (intel_powerclamp, at 30)");
}

static void add_late_loading(struct world *world)
{
	world->facts.platform.has_late_loading = true;
}

static void add_tdx_host(struct world *world)
{
	add_places(world);
	world->facts.platform.is_tdx_host = true;
}

static void add_container(struct world *world)
{
	world->facts.platform.is_in_container = true;
}

static void add_view(struct world *world)
{
	world->facts.platform.is_view = true;
}

static void add_self(struct world *world)
{
	world->facts.self = 100;
}

static void add_dynticks(struct world *world)
{
	world->facts.platform.has_dynticks = true;
}

static void add_leak(struct world *world)
{
	world->facts.platform.deadline_total = -0.9;
}

static void add_count(struct world *world)
{
	world->facts.platform.deadline_total = 0.9;
}

static void add_few_vectors(struct world *world)
{
	world->facts.vectors = (struct vectors){ true, true, 131, 70, 330 };
}

static void add_many_vectors(struct world *world)
{
	world->facts.vectors = (struct vectors){ true, true, 70, 70, 330 };
}

static void add_stalled(struct world *world)
{
	add(&world->facts.queues.stalled, "6-7", 2, "nvme0n1 (2)");
}

static void add_fabrics(struct world *world)
{
	add(&world->facts.queues.fabrics, NULL, 0, "nvme5 (tcp)");
}

static void add_tdx_guest(struct world *world)
{
	world->facts.platform.is_tdx_guest = true;
}

static void add_channels(struct world *world)
{
	add(&world->facts.platform.channels, "6", 0, "aa-bb/channels/14/cpu");
}

static void add_scheduler(struct world *world)
{
	world->facts.platform.scheduler = strdup("rusty");
}

static void add_vcpus(struct world *world)
{
	add(&world->facts.workers.vcpus, "4-5", 2, "web, process 77");
}

static void add_busy(struct world *world)
{
	add(&world->facts.workers.busy, "6", 0, "78 lcore-worker-1");
}

static void add_perf(struct world *world)
{
	add(&world->facts.workers.perf, NULL, 8, "79 agent");
}

static void add_load(struct world *world, double load1, double load5, unsigned long nr_running)
{
	world->facts.demand.is_known = true;
	world->facts.demand.load1 = load1;
	world->facts.demand.load5 = load5;
	world->facts.demand.nr_running = nr_running;
}

static void add_load_that_lasts(struct world *world)
{
	add_load(world, 5.5, 4.5, 1);
}

static void add_load_now(struct world *world)
{
	add_load(world, 4.5, 1.5, 6);
}

static void add_load_that_was(struct world *world)
{
	add_load(world, 4.5, 1.5, 1);
}

static void add_load_that_fits(struct world *world)
{
	add_load(world, 4, 4, 20);
}

static void add_bare_node(struct world *world)
{
	add(&world->facts.demand.bare_nodes, "4-7", 1024, "node 1 (8192 MiB, 1024 in use)");
}

static void add_kubelet(struct world *world)
{
	add(&world->facts.neighbours.kubelet, "4-5", 0, "pod1/app");
}

static void add_slurm(struct world *world)
{
	world->facts.neighbours.slurm_file = strdup("/etc/slurm/slurm.conf");
	world->facts.neighbours.slurm_cpus = 8;
}

static void add_small_slurm(struct world *world)
{
	add_slurm(world);
	world->facts.neighbours.slurm_cpus = 4;
}

static void add_tuned(struct world *world)
{
	world->facts.neighbours.tuned_profile = strdup("realtime");
}

static void add_irqbalance(struct world *world)
{
	world->facts.neighbours.irqbalance = 80;
}

static void add_udev(struct world *world)
{
	add(&world->facts.neighbours.udev, NULL, 1, "/etc/udev/rules.d/60-mine.rules:1");
}

static void add_hidden(struct world *world)
{
	world->tasks.nr_hidden = 2;
	world->tasks.first_hidden = 101;
	world->tasks.hidden_errno = EACCES;
}

static void add_hidden_to_a_question(struct world *world)
{
	add_hidden(world);
	world->request.dry_run = true;
}

static void add_kdump(struct world *world)
{
	world->facts.platform.has_crash_kernel = true;
}

static void add_new_kdump(struct world *world)
{
	world->facts.platform.has_crash_kernel = world->facts.platform.crash_follows = true;
}

static const struct expectation {
	const char *what;
	struct given given;
	/* rules found, "RULE=CPUS" each, parted by blanks */
	const char *rules;
} offline[] = {
	{ "whole cores", { .target = "4-7" }, "" },
	{ "all but one core", { .target = "2-7" }, "" },

	{ "no online file", { .target = "4-7", .files = "1-5" }, "no-online-file=6-7" },
	{ "one without", { .target = "4-7", .files = "1-6" }, "no-online-file=7" },
	{ "outside without", { .target = "4-7", .files = "4-7" }, "" },
	{ "none has one", { .target = "4-5", .files = "" }, "no-online-file=4-5" },

	{ "all", { .target = "0-7", .files = "0-7", .allow_cpu0 = true }, "nothing-remains=0-7" },
	{ "all of those online", { .target = "4-7", .online = "4-7" }, "nothing-remains=4-7" },
	{ "one remains, alone", { .target = "5-7", .online = "4-7" }, "smt-sibling-stays=4" },
	{ "one remains", { .target = "4-7", .online = "0,4-7" }, "" },

	{ "nohz_full stays", { .target = "0-1", .nohz_full = "2-7" },
	  "housekeeping-timer=0-1 no-online-file=0" },
	{ "the last outside", { .target = "2-3", .online = "2-7", .nohz_full = "4-7" },
	  "housekeeping-timer=2-3" },
	{ "one outside stays", { .target = "2-3", .nohz_full = "4-7" }, "" },
	{ "nohz_full goes", { .target = "4-7", .nohz_full = "4-7" }, "" },
	{ "some of both", { .target = "2-5", .online = "2-7", .nohz_full = "4-7" },
	  "housekeeping-timer=2-3" },
	{ "the outside is off", { .target = "6-7", .online = "4-7", .nohz_full = "4-7" },
	  "housekeeping-timer=" },
	{ "forced all the same",
	  { .target = "2-3", .online = "2-7", .nohz_full = "4-7", .force = true },
	  "housekeeping-timer=2-3" },

	{ "isolated stay", { .target = "2-3", .online = "2-7", .isolated = "4-7" },
	  "housekeeping-domain=2-3" },
	{ "one more stays", { .target = "2-3", .isolated = "4-7" }, "" },
	{ "isolated go", { .target = "4-7", .isolated = "4-7" }, "" },
	{ "forced, isolated",
	  { .target = "2-3", .online = "2-7", .isolated = "4-7", .force = true },
	  "housekeeping-domain=2-3" },

	{ "both kinds stay",
	  { .target = "2-3", .online = "2-7", .isolated = "4-7", .nohz_full = "4-7" },
	  "housekeeping-timer=2-3 housekeeping-domain=2-3" },
	{ "each keeps house for the other",
	  { .target = "2-3", .online = "2-7", .isolated = "4-5", .nohz_full = "6-7" }, "" },
	{ "only the timer one is gone",
	  { .target = "2-3", .online = "2-7", .isolated = "4-5", .nohz_full = "4-7" },
	  "housekeeping-timer=2-3" },
	{ "only the domain one is gone",
	  { .target = "2-3", .online = "2-7", .isolated = "4-7", .nohz_full = "4-5" },
	  "housekeeping-domain=2-3" },
	{ "nothing stays, and that is all",
	  { .target = "4-7", .online = "4-7", .isolated = "0-3", .nohz_full = "0-3" },
	  "nothing-remains=4-7" },

	{ "cpu0", { .target = "0-1", .files = "0-7" }, "cpu0=0" },
	{ "cpu0, allowed", { .target = "0-1", .files = "0-7", .allow_cpu0 = true }, "" },
	{ "cpu0, forced", { .target = "0-1", .files = "0-7", .force = true }, "cpu0=0" },
	{ "cpu0 cannot go", { .target = "0-1", .files = "1-7" }, "no-online-file=0" },
	{ "cpu0 cannot go, allowed", { .target = "0-1", .files = "1-7", .allow_cpu0 = true },
	  "no-online-file=0" },

	{ "a sibling stays", { .target = "5,7" }, "smt-sibling-stays=4,6" },
	{ "one sibling stays", { .target = "4,6-7" }, "smt-sibling-stays=5" },
	{ "the sibling is off", { .target = "4,6-7", .online = "0-4,6-7" }, "" },
	{ "siblings stay with --smt", { .target = "5,7", .smt = true }, "" },
	{ "siblings unknown", { .target = "5,7", .no_siblings = true }, "" },

	{ "threads that cannot be read", { .target = "4-7", .add = add_hidden },
	  "tasks-hidden=4-7" },
	{ "threads that need not be read", { .target = "4-7", .add = add_hidden_to_a_question },
	  "" },
	{ "nobody is pinned", { .target = "4-7", .tasks = { TASK("0-7") } }, "" },
	{ "pinned elsewhere", { .target = "4-7", .tasks = { TASK("0-1") } }, "" },
	{ "pinned across", { .target = "4-7", .tasks = { TASK("3-4") } }, "" },
	{ "pinned to the target", { .target = "4-7", .tasks = { TASK("4-5"), TASK("7") } },
	  "pinned-tasks=4-5,7" },
	{ "pinned across, but that is off",
	  { .target = "6-7", .online = "0-3,6-7", .tasks = { TASK("4-6") } }, "pinned-tasks=6" },
	{ "a thread of the kernel's",
	  { .target = "4-7", .tasks = { { .mask = "4", .is_kernel = true } } }, "" },
	{ "not pinned in its cpuset",
	  { .target = "4-7", .root_effective = "0-3", .first_effective = "4-5",
	    .partition = "member", .tasks = { { .mask = "4-5", .cgroup = FIRST } } },
	  "cpuset-emptied=4-5" },
	{ "a cpuset that keeps a CPU",
	  { .target = "4-7", .root_effective = "0-3", .first_effective = "3-5",
	    .partition = "member", .tasks = { { .mask = "3-5", .cgroup = FIRST } } },
	  "" },
	{ "pinned in its cpuset",
	  { .target = "4-7", .root_effective = "0-3", .first_effective = "4-5",
	    .partition = "member", .tasks = { { .mask = "4", .cgroup = FIRST } } },
	  "cpuset-emptied=4-5 pinned-tasks=4" },

	{ "no deadline tasks",
	  { .target = "2-7", .deadline_limit = 0.95, .tasks = { TASK("0-7") } }, "" },
	{ "deadline tasks that fit",
	  { .target = "2-7", .deadline_limit = 0.95,
	    .tasks = { DEADLINE("0-7", 0.9, ROOT), DEADLINE("0-7", 0.9, ROOT) } },
	  "" },
	{ "deadline tasks that do not",
	  { .target = "2-7", .deadline_limit = 0.95,
	    .tasks = { DEADLINE("0-7", 0.9, ROOT), DEADLINE("0-7", 0.9, ROOT),
		       DEADLINE("0-7", 0.2, ROOT) } },
	  "deadline-bandwidth=0-1" },
	{ "one of them on the target",
	  { .target = "2-7", .deadline_limit = 0.95,
	    .tasks = { DEADLINE("0-7", 0.2, ROOT),
		       { .mask = "0-7", .policy = SCHED_DEADLINE, .bandwidth = 0.2, .cpu = 5 } } },
	  "deadline-tasks=5" },
	{ "no limit for them",
	  { .target = "2-7", .tasks = { DEADLINE("0-7", 0.99, ROOT), DEADLINE("0-7", 0.99, ROOT),
					DEADLINE("0-7", 0.99, ROOT) } },
	  "" },
	{ "deadline tasks in a partition",
	  { .target = "5-7", .root_effective = "0-3", .first_effective = "4-5",
	    .deadline_limit = 0.95,
	    .tasks = { DEADLINE("4-5", 0.9, FIRST), DEADLINE("4-5", 0.2, FIRST) } },
	  "deadline-bandwidth=4 smt-sibling-stays=4" },
	{ "deadline tasks of others in a partition",
	  { .target = "5-7", .root_effective = "0-3", .first_effective = "4-5",
	    .deadline_limit = 0.95,
	    .tasks = { DEADLINE("0-3", 0.9, ROOT), DEADLINE("4-5", 0.2, FIRST) } },
	  "smt-sibling-stays=4" },

	{ "survivors of the root",
	  { .target = "4-7", .root_effective = "0-5", .first_effective = "3,6-7" }, "" },
	{ "survivors in partitions",
	  { .target = "4-7", .root_effective = "4-7", .first_effective = "0-3" },
	  "survivors-partitioned=0-3" },
	{ "one survivor of the root",
	  { .target = "4-7", .root_effective = "3-7", .first_effective = "0-2" }, "" },
	{ "cpusets without partitions",
	  { .target = "4-7", .root_effective = "4-7", .first_effective = "0-3", .is_v1 = true },
	  "" },

	{ "not root", { .target = "4-7", .denied = "/sys/x/cpu4/online", .denied_errno = EACCES },
	  "permission=" },
	{ "read-only", { .target = "4-7", .denied = "/sys/x/cpu4/online", .denied_errno = EROFS },
	  "permission=" },

	{ "files that contradict each other", { .target = "4-7", .add = add_contradiction_here },
	  "sysfs-contradiction=7" },
	{ "a whole socket, nothing of it known", { .target = "4-7", .add = add_places }, "" },
	{ "a node of two on its socket", { .target = "6-7", .add = add_places },
	  "socket-nodes-stay=4-5" },
	{ "nodes of both sockets", { .target = "2-7", .add = add_places },
	  "socket-nodes-stay=0-1" },
	{ "a core of a node", { .target = "6-7", .online = "0-4,6-7", .add = add_places },
	  "socket-nodes-stay=4" },
	{ "a socket with power limits", { .target = "4-7", .add = add_power },
	  "socket-emptied=4-7" },
	{ "most of a socket", { .target = "5-7", .online = "0-3,5-7", .add = add_power },
	  "socket-emptied=5-7" },
	{ "not all of it", { .target = "6-7", .add = add_power }, "socket-nodes-stay=4-5" },
	{ "idle time is injected", { .target = "4-7", .add = add_injection }, "idle-injection=" },
	{ "microcode can be loaded", { .target = "4-7", .add = add_late_loading },
	  "microcode-loading=" },
	{ "a socket of a TDX host", { .target = "4-7", .add = add_tdx_host }, "tdx-host=4-7" },
	{ "not all of it", { .target = "6-7", .add = add_tdx_host }, "socket-nodes-stay=4-5" },
	{ "in a container", { .target = "4-7", .add = add_container }, "container=" },
	{ "a made up /sys", { .target = "4-7", .add = add_view }, "sysfs-view=" },
	{ "cpuoff in a cpuset",
	  { .target = "4-7", .root_effective = "0-7", .first_effective = "0-4", .partition = "member",
	    .tasks = { { .mask = "0-4", .cgroup = FIRST } }, .add = add_self },
	  "caller-cpuset=5-7" },
	{ "cpuoff in one that has all of it",
	  { .target = "4-7", .root_effective = "0-7", .first_effective = "3-7", .partition = "member",
	    .tasks = { { .mask = "3-7", .cgroup = FIRST } }, .add = add_self },
	  "" },
	{ "cpuoff in the root",
	  { .target = "4-7", .root_effective = "0-3", .tasks = { { .mask = "0-7", .cgroup = ROOT } },
	    .add = add_self },
	  "" },

	{ "nohz_full at work, and CPU 0",
	  { .target = "0-1", .files = "0-7", .allow_cpu0 = true, .add = add_dynticks }, "tick-cpu=0" },
	{ "nohz_full at work, CPU 0 cannot go", { .target = "0-1", .add = add_dynticks },
	  "no-online-file=0" },
	{ "nohz_full at work", { .target = "4-7", .add = add_dynticks }, "" },
	{ "few that are not isolated", { .target = "1-3", .isolated = "4-7", .no_siblings = true },
	  "housekeepers-few=0" },
	{ "half of them", { .target = "2-3", .isolated = "4-7" }, "" },
	{ "isolated ones go", { .target = "6-7", .isolated = "4-7" }, "" },
	{ "lost bandwidth", { .target = "4-7", .add = add_leak }, "deadline-leak=" },
	{ "bandwidth", { .target = "4-7", .add = add_count }, "" },
	{ "few vectors", { .target = "4-7", .add = add_few_vectors }, "interrupt-vectors=" },
	{ "just enough vectors", { .target = "4-7", .add = add_many_vectors }, "" },
	{ "a disk that does not answer", { .target = "4-7", .add = add_stalled },
	  "block-requests=6-7" },
	{ "a disk over a network", { .target = "4-7", .add = add_fabrics }, "nvme-fabrics=" },
	{ "a TDX guest", { .target = "4-7", .add = add_tdx_guest }, "tdx-guest=" },
	{ "channels of Hyper-V", { .target = "4-7", .add = add_channels }, "hyperv-channels=6" },
	{ "a BPF scheduler", { .target = "4-7", .add = add_scheduler }, "sched-ext=" },

	{ "a partition that loses all",
	  { .target = "4-7", .root_effective = "0-3", .first_effective = "4-5",
	    .partition = "isolated" },
	  "partition-emptied=4-5 cpuset-emptied=4-5" },
	{ "one that is invalid",
	  { .target = "4-7", .root_effective = "0-3", .first_effective = "4-5",
	    .partition = "isolated invalid (x)" },
	  "cpuset-emptied=4-5" },
	{ "virtual CPUs", { .target = "4-7", .add = add_vcpus }, "vcpus-pinned=4-5" },
	{ "threads that poll", { .target = "4-7", .add = add_busy }, "busy-pinned=6" },
	{ "users of perf", { .target = "4-7", .add = add_perf }, "perf-counters=" },
	{ "real-time threads",
	  { .target = "2-7",
	    .tasks = { { .mask = "0-7", .policy = SCHED_FIFO, .state = 'R', .cpu = 5 },
		       { .mask = "0-7", .policy = SCHED_RR, .state = 'R', .cpu = 1 } } },
	  "realtime-crowding=5" },
	{ "real-time threads that sleep",
	  { .target = "4-7",
	    .tasks = { { .mask = "0-7", .policy = SCHED_FIFO, .state = 'S', .cpu = 5 } } },
	  "" },
	{ "real-time threads elsewhere",
	  { .target = "4-7",
	    .tasks = { { .mask = "0-7", .policy = SCHED_FIFO, .state = 'R', .cpu = 1 } } },
	  "" },
	{ "a load that lasts", { .target = "4-7", .add = add_load_that_lasts }, "cpu-demand=" },
	{ "a load right now", { .target = "4-7", .add = add_load_now }, "cpu-demand=" },
	{ "a load that was", { .target = "4-7", .add = add_load_that_was }, "" },
	{ "a load that fits", { .target = "4-7", .add = add_load_that_fits }, "" },
	{ "memory without CPUs", { .target = "4-7", .add = add_bare_node }, "node-memory=4-7" },

	{ "kubelet", { .target = "4-7", .add = add_kubelet }, "kubelet-static=4-5" },
	{ "Slurm", { .target = "4-7", .add = add_slurm }, "slurm-node=" },
	{ "Slurm, with as many as stay", { .target = "4-7", .add = add_small_slurm }, "" },
	{ "TuneD", { .target = "4-7", .add = add_tuned }, "tuned-isolation=" },
	{ "irqbalance", { .target = "4-7", .add = add_irqbalance }, "irqbalance-deaf=" },
	{ "udev", { .target = "4-7", .add = add_udev }, "udev-online=" },
	{ "kdump", { .target = "4-7", .add = add_kdump }, "kdump-reload=" },
	{ "kdump on a new kernel", { .target = "4-7", .add = add_new_kdump }, "" },

	{ "all reasons at once",
	  { .target = "0-2,6", .online = "0-2,6-7", .files = "0-2", .nohz_full = "7",
	    .isolated = "7", .denied = "/sys/x/cpu1/online", .denied_errno = EACCES },
	  "permission= no-online-file=6 housekeeping-timer=0-2,6 housekeeping-domain=0-2,6 cpu0=0 "
	  "smt-sibling-stays=7" },
}, returning[] = {
	{ "CPUs come back", { .target = "4-7", .online = "0-3" }, "" },
	{ "not root",
	  { .target = "4-7", .online = "0-3", .denied = "/sys/x", .denied_errno = EACCES },
	  "permission=" },
	{ "SMT on", { .target = "5,7", .online = "0-4,6", .smt_control = "on" }, "" },
	{ "SMT not there", { .target = "5,7", .online = "0-4,6", .smt_control = "notsupported" },
	  "" },
	{ "SMT off, nothing known", { .target = "5,7", .online = "0-4,6", .smt_control = "off" },
	  "smt-off=5,7" },
	{ "SMT forced off", { .target = "5", .online = "0-4,6", .smt_control = "forceoff" },
	  "smt-off=5" },
	{ "SMT off, first threads", { .target = "4,6", .online = "0-3", .smt_control = "off",
				      .places = "4.0 6.0" }, "" },
	{ "SMT off, both threads", { .target = "4-7", .online = "0-3", .smt_control = "off",
				     .places = "4.0 5.1 6.0 7.1" }, "smt-off=5,7" },
	{ "SMT off, one known", { .target = "4-7", .online = "0-3", .smt_control = "off",
				  .places = "4.0" }, "smt-off=5-7" },
	{ "standby", { .target = "4-7", .online = "0-3", .standby = "6" }, "cpu-standby=6" },
	{ "others on standby", { .target = "4-5", .online = "0-3", .standby = "6-7" }, "" },
	{ "not present any more",
	  { .target = "4-7", .present = "0-5", .online = "0-3", .standby = "6-7" },
	  "" },
	{ "isolated come back",
	  { .target = "4-7", .online = "0-3", .isolated = "4-7", .nohz_full = "4-7" },
	  "" },
};

/* For each rule a machine that is near to one that it is for, and is not. */
static const struct spared {
	const char *rule;
	struct given given;
} spared[] = {
	{ "permission", { .target = "4-7" } },
	{ "no-online-file", { .target = "4-7", .files = "4-7" } },
	{ "sysfs-contradiction", { .target = "4-7", .add = add_contradiction_elsewhere } },
	{ "nothing-remains", { .target = "4-7", .online = "0,4-7" } },
	{ "cpu0", { .target = "0-1", .files = "0-7", .allow_cpu0 = true } },
	{ "smt-sibling-stays", { .target = "5,7", .smt = true } },
	{ "socket-nodes-stay", { .target = "4-7", .add = add_places } },
	{ "socket-emptied", { .target = "4-6", .add = add_power } },
	{ "idle-injection", { .target = "4-7", .add = add_power } },
	{ "microcode-loading", { .target = "4-7", .add = add_injection } },
	{ "tdx-host", { .target = "4-6", .add = add_tdx_host } },
	{ "container", { .target = "4-7", .add = add_view } },
	{ "sysfs-view", { .target = "4-7", .add = add_container } },
	{ "caller-cpuset",
	  { .target = "4-7", .root_effective = "0-7", .first_effective = "3-7", .partition = "member",
	    .tasks = { { .mask = "3-7", .cgroup = FIRST } }, .add = add_self } },
	{ "housekeeping-timer", { .target = "2-3", .nohz_full = "4-7" } },
	{ "housekeeping-domain", { .target = "2-3", .isolated = "4-7" } },
	{ "housekeepers-few", { .target = "2-3", .isolated = "4-7" } },
	{ "tick-cpu", { .target = "4-7", .add = add_dynticks } },
	{ "deadline-bandwidth",
	  { .target = "2-7", .deadline_limit = 0.95,
	    .tasks = { DEADLINE("0-7", 0.9, ROOT), DEADLINE("0-7", 0.9, ROOT) } } },
	{ "deadline-leak", { .target = "4-7", .add = add_count } },
	{ "interrupt-vectors", { .target = "4-7", .add = add_many_vectors } },
	{ "block-requests", { .target = "4-7", .add = add_fabrics } },
	{ "nvme-fabrics", { .target = "4-7", .add = add_stalled } },
	{ "tdx-guest", { .target = "4-6", .add = add_tdx_host } },
	{ "hyperv-channels", { .target = "4-7", .add = add_tdx_guest } },
	{ "sched-ext", { .target = "4-7", .add = add_channels } },
	{ "cpuset-emptied",
	  { .target = "4-7", .root_effective = "0-3", .first_effective = "3-5",
	    .partition = "member", .tasks = { { .mask = "3-5", .cgroup = FIRST } } } },
	{ "survivors-partitioned",
	  { .target = "4-7", .root_effective = "3-7", .first_effective = "0-2" } },
	{ "partition-emptied",
	  { .target = "4-7", .root_effective = "0-3", .first_effective = "4-5",
	    .partition = "isolated invalid (x)" } },
	{ "tasks-hidden", { .target = "4-7", .add = add_hidden_to_a_question } },
	{ "pinned-tasks", { .target = "4-7", .tasks = { TASK("3-4") } } },
	{ "deadline-tasks",
	  { .target = "4-7", .deadline_limit = 0.95, .tasks = { DEADLINE("0-7", 0.2, ROOT) } } },
	{ "vcpus-pinned", { .target = "4-7", .add = add_busy } },
	{ "busy-pinned", { .target = "4-7", .add = add_vcpus } },
	{ "realtime-crowding",
	  { .target = "4-7",
	    .tasks = { { .mask = "0-7", .policy = SCHED_FIFO, .state = 'S', .cpu = 5 } } } },
	{ "cpu-demand", { .target = "4-7", .add = add_load_that_fits } },
	{ "node-memory", { .target = "4-7", .add = add_places } },
	{ "perf-counters", { .target = "4-7", .add = add_vcpus } },
	{ "kubelet-static", { .target = "4-7", .add = add_slurm } },
	{ "slurm-node", { .target = "4-7", .add = add_small_slurm } },
	{ "tuned-isolation", { .target = "4-7", .add = add_irqbalance } },
	{ "irqbalance-deaf", { .target = "4-7", .add = add_tuned } },
	{ "udev-online", { .target = "4-7", .add = add_kdump } },
	{ "kdump-reload", { .target = "4-7", .add = add_new_kdump } },
}, spared_returning[] = {
	{ "permission", { .target = "4-7", .online = "0-3" } },
	{ "smt-off", { .target = "5,7", .online = "0-4,6", .smt_control = "on" } },
	{ "cpu-standby", { .target = "4-5", .online = "0-3", .standby = "6-7" } },
};

static const struct property {
	const char *rule;
	enum severity severity;
	bool is_permission;
} properties[] = {
	{ "permission", SEVERITY_REFUSE, true },
	{ "no-online-file", SEVERITY_REFUSE, false },
	{ "nothing-remains", SEVERITY_REFUSE, false },
	{ "housekeeping-timer", SEVERITY_REFUSE, false },
	{ "housekeeping-domain", SEVERITY_REFUSE, false },
	{ "cpu0", SEVERITY_REFUSE, false },
	{ "cpuset-emptied", SEVERITY_REFUSE, false },
	{ "survivors-partitioned", SEVERITY_REFUSE, false },
	{ "sysfs-contradiction", SEVERITY_REFUSE, false },
	{ "deadline-bandwidth", SEVERITY_REFUSE, false },
	{ "tasks-hidden", SEVERITY_REFUSE, false },
	{ "pinned-tasks", SEVERITY_NOTE, false },
	{ "deadline-tasks", SEVERITY_NOTE, false },
	{ "smt-sibling-stays", SEVERITY_WARN, false },
	{ "smt-off", SEVERITY_REFUSE, false },
	{ "cpu-standby", SEVERITY_WARN, false },
	{ "socket-nodes-stay", SEVERITY_NOTE, false },
	{ "socket-emptied", SEVERITY_NOTE, false },
	{ "idle-injection", SEVERITY_NOTE, false },
	{ "microcode-loading", SEVERITY_NOTE, false },
	{ "tdx-host", SEVERITY_REFUSE, false },
	{ "container", SEVERITY_REFUSE, false },
	{ "sysfs-view", SEVERITY_REFUSE, false },
	{ "caller-cpuset", SEVERITY_NOTE, false },
	{ "tick-cpu", SEVERITY_REFUSE, false },
	{ "housekeepers-few", SEVERITY_WARN, false },
	{ "deadline-leak", SEVERITY_REFUSE, false },
	{ "interrupt-vectors", SEVERITY_REFUSE, false },
	{ "block-requests", SEVERITY_WARN, false },
	{ "nvme-fabrics", SEVERITY_WARN, false },
	{ "tdx-guest", SEVERITY_REFUSE, false },
	{ "hyperv-channels", SEVERITY_REFUSE, false },
	{ "sched-ext", SEVERITY_WARN, false },
	{ "partition-emptied", SEVERITY_NOTE, false },
	{ "vcpus-pinned", SEVERITY_WARN, false },
	{ "busy-pinned", SEVERITY_WARN, false },
	{ "perf-counters", SEVERITY_WARN, false },
	{ "realtime-crowding", SEVERITY_WARN, false },
	{ "cpu-demand", SEVERITY_WARN, false },
	{ "node-memory", SEVERITY_NOTE, false },
	{ "kubelet-static", SEVERITY_WARN, false },
	{ "slurm-node", SEVERITY_WARN, false },
	{ "tuned-isolation", SEVERITY_WARN, false },
	{ "irqbalance-deaf", SEVERITY_WARN, false },
	{ "udev-online", SEVERITY_WARN, false },
	{ "kdump-reload", SEVERITY_NOTE, false },
};

/* True where @rules has "RULE=CPUS" as a whole word. */
static bool names(const char *rules, const char *rule, const char *cpus)
{
	char word[128];
	size_t length = (size_t)snprintf(word, sizeof(word), "%s=%s", rule, cpus);

	for (const char *at = rules; (at = strstr(at, word)); at++)
		if ((at == rules || at[-1] == ' ') && (!at[length] || at[length] == ' '))
			return true;
	return false;
}

static size_t count_words(const char *text)
{
	size_t nr = *text != '\0';

	for (; *text; text++)
		nr += *text == ' ';
	return nr;
}

static void check_finding(const struct finding *finding, const char *what)
{
	const struct property *property = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(properties); i++)
		if (!strcmp(properties[i].rule, finding->rule))
			property = &properties[i];
	if (!ok(property, "%s: %s is a rule that this test knows", what, finding->rule))
		return;
	is_int(finding->severity, property->severity, "%s: severity of %s", what, finding->rule);
	ok(finding->is_permission == property->is_permission, "%s: %s and exit status 4", what,
	   finding->rule);
	ok(finding->message[0] && finding->message[strlen(finding->message) - 1] != '.',
	   "%s: %s has a sentence", what, finding->rule);
	ok(finding->remedy[0], "%s: %s has a remedy", what, finding->rule);
}

static void test(const struct expectation *expected,
		 int (*preflight)(const struct facts *, struct findings *))
{
	struct world world;

	make_world(&world, &expected->given);
	is_int(preflight(&world.facts, &world.findings), 0, "%s: judged", expected->what);
	is_int((long long)world.findings.nr, (long long)count_words(expected->rules), "%s: %s",
	       expected->what, expected->rules[0] ? expected->rules : "nothing to say");
	for (size_t i = 0; i < world.findings.nr; i++) {
		const struct finding *finding = &world.findings.list[i];

		if (!ok(names(expected->rules, finding->rule, finding->cpus), "%s: %s=%s",
			expected->what, finding->rule, finding->cpus))
			diag("%s", finding->message);
		check_finding(finding, expected->what);
	}
	free_world(&world);
}

static const struct finding *find(const struct world *world, const char *rule)
{
	for (size_t i = 0; i < world->findings.nr; i++)
		if (!strcmp(world->findings.list[i].rule, rule))
			return &world->findings.list[i];
	return NULL;
}

static void test_spared(const struct spared *row,
			int (*preflight)(const struct facts *, struct findings *))
{
	struct world world;

	make_world(&world, &row->given);
	is_int(preflight(&world.facts, &world.findings), 0, "not %s: judged", row->rule);
	ok(!find(&world, row->rule), "not %s", row->rule);
	free_world(&world);
}

static size_t count_spared(const struct spared *rows, size_t nr, const char *rule)
{
	size_t nr_found = 0;

	for (size_t i = 0; i < nr; i++)
		nr_found += !strcmp(rows[i].rule, rule);
	return nr_found;
}

static size_t count_rows(const struct expectation *rows, size_t nr, const char *rule)
{
	char word[128];
	size_t nr_found = 0;

	snprintf(word, sizeof(word), "%s=", rule);
	for (size_t i = 0; i < nr; i++)
		for (const char *at = rows[i].rules; (at = strstr(at, word)); at++)
			nr_found += at == rows[i].rules || at[-1] == ' ';
	return nr_found;
}

/* Every rule has a machine that it is for, in each direction that it looks at, and one that it is
 * not for. */
static void test_coverage(void)
{
	for (const struct rule *rule = NULL; (rule = preflight_next_rule(rule));) {
		if (rule->when & RULE_OFFLINE)
			ok(count_rows(offline, ARRAY_SIZE(offline), rule->id) &&
				   count_spared(spared, ARRAY_SIZE(spared), rule->id),
			   "%s: a machine that it is for, and one that it is not for", rule->id);
		if (rule->when & RULE_RETURN)
			ok(count_rows(returning, ARRAY_SIZE(returning), rule->id) &&
				   count_spared(spared_returning, ARRAY_SIZE(spared_returning),
						rule->id),
			   "%s: both, on the way back", rule->id);
	}
}

/* A sentence quotes the values that were seen. */
static void test_quotes(const struct given *given, bool is_return, const char *rule,
			const char *quoted)
{
	const struct finding *finding;
	struct world world;

	make_world(&world, given);
	is_int((is_return ? preflight_return : preflight_offline)(&world.facts, &world.findings), 0,
	       "%s", rule);
	finding = find(&world, rule);
	if (!ok(finding && strstr(finding->message, quoted), "%s quotes \"%s\"", rule, quoted))
		diag("%s", finding ? finding->message : "not found");
	free_world(&world);
}

static void test_all_quotes(void)
{
	test_quotes(&(struct given){ .target = "2-3", .online = "2-7", .nohz_full = "4-7" }, false,
		    "housekeeping-timer", "nohz_full= (4-7)");
	test_quotes(&(struct given){ .target = "2-3", .online = "2-7", .isolated = "4-6,7" }, false,
		    "housekeeping-domain", "(4-7)");
	test_quotes(
		&(struct given){
			.target = "5", .denied = "/sys/cpu5/online", .denied_errno = EROFS },
		false, "permission", "/sys/cpu5/online cannot be written: Read-only file system");
	test_quotes(&(struct given){ .target = "6-7", .files = "1-5" }, false, "no-online-file",
		    "CPUs 6-7 have");
	test_quotes(&(struct given){ .target = "6-7", .files = "1-6" }, false, "no-online-file",
		    "cpu7 has");
	test_quotes(&(struct given){ .target = "5", .smt_control = "forceoff" }, true, "smt-off",
		    "smt/control is \"forceoff\"");
	test_quotes(&(struct given){ .target = "4-7", .add = add_few_vectors }, false,
		    "interrupt-vectors",
		    "131 interrupt vectors have to leave the selection, and the "
		    "CPUs that stay have 330 in use and 70 free");
	test_quotes(
		&(struct given){ .target = "4-7", .add = add_load_now }, false, "cpu-demand",
		"the load is 4.5 (1.5 over five minutes, 6 threads want to run now), and 4 CPUs "
		"stay");
	test_quotes(&(struct given){ .target = "4-7", .add = add_power }, false, "socket-emptied",
		    "resets the power limits of intel-rapl:1");
	test_quotes(&(struct given){ .target = "4-7", .add = add_kubelet }, false, "kubelet-static",
		    "/var/lib/kubelet/cpu_manager_state), and fails when it starts without them: "
		    "pod1/app on 4-5");
	test_quotes(&(struct given){ .target = "4-7", .add = add_slurm }, false, "slurm-node",
		    "/etc/slurm/slurm.conf gives this node 8 CPUs, and 4 stay");
	test_quotes(&(struct given){ .target = "6-7", .add = add_places }, false,
		    "socket-nodes-stay", "socket 1 has more than the selected nodes: node 2 stays");
}

/* Pinned tasks are moved, but for real-time ones, and as the user says. */
static void test_pinned(const char *option, int policy, bool is_kernel_too, enum severity severity)
{
	struct given given = { .target = "4-7",
			       .pinned = option,
			       .tasks = {
				       TASK("5"),
				       { .mask = "6", .policy = policy },
				       { .mask = "7", .policy = SCHED_FIFO, .is_kernel = true } } };
	const struct finding *finding;
	struct world world;

	if (!is_kernel_too)
		given.tasks[2].mask = NULL;
	make_world(&world, &given);
	is_int(preflight_offline(&world.facts, &world.findings), 0, "pinned tasks");
	finding = find(&world, "pinned-tasks");
	is_str(finding ? severity_format(finding->severity) : NULL, severity_format(severity),
	       "--pinned=%s, policy %d", option ? option : "(none)", policy);
	ok(finding && strstr(finding->message, "2 threads are pinned") &&
		   strstr(finding->message, "100 worker on 5"),
	   "they are named");
	free_world(&world);
}

static void test_all_pinned(void)
{
	test_pinned(NULL, SCHED_OTHER, false, SEVERITY_NOTE);
	test_pinned(NULL, SCHED_OTHER, true, SEVERITY_NOTE);
	test_pinned(NULL, SCHED_BATCH, false, SEVERITY_NOTE);
	test_pinned(NULL, SCHED_FIFO, false, SEVERITY_REFUSE);
	test_pinned(NULL, SCHED_RR, true, SEVERITY_REFUSE);
	test_pinned(NULL, SCHED_DEADLINE, false, SEVERITY_REFUSE);
	test_pinned("move", SCHED_FIFO, false, SEVERITY_NOTE);
	test_pinned("refuse", SCHED_OTHER, false, SEVERITY_REFUSE);
}

/* ---- weights, force, catalogue ----------------------------------------------------------- */

static void add_estimate(struct world *world)
{
	world->facts.vectors = (struct vectors){ true, false, 500, 400, 400 };
}

static void add_plug_rule(struct world *world)
{
	add(&world->facts.neighbours.udev, NULL, 0, "/usr/lib/udev/rules.d/40-redhat.rules:2");
}

static void test_weight(const char *what, const struct given *given, const char *rule,
			enum severity severity)
{
	const struct finding *finding;
	struct world world;

	make_world(&world, given);
	is_int(preflight_offline(&world.facts, &world.findings), 0, "%s", what);
	finding = find(&world, rule);
	is_str(finding ? severity_format(finding->severity) : NULL, severity_format(severity),
	       "%s: how severe", what);
	ok(finding && finding->is_accepted == (given->force && severity == SEVERITY_WARN),
	   "%s: whether it was accepted", what);
	free_world(&world);
}

static void test_all_weights(void)
{
	/* with servers three CPUs admit 2.65 of the 2.85 that they admit without */
	static const struct {
		double each;
		const char *severity;
	} shares[] = { { 0.66, NULL }, { 0.67, "warn" }, { 0.71, "warn" }, { 0.72, "refuse" } };

	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		double each = shares[i].each;
		struct given given = {
			.target = "3-7",
			.deadline_limit = 0.95,
			.deadline_server = 0.05,
			.tasks = { DEADLINE("0-7", each, ROOT), DEADLINE("0-7", each, ROOT),
				   DEADLINE("0-7", each, ROOT), DEADLINE("0-7", each, ROOT) }
		};
		const struct finding *finding;
		struct world world;

		make_world(&world, &given);
		is_int(preflight_offline(&world.facts, &world.findings), 0, "4 times %.2f", each);
		finding = find(&world, "deadline-bandwidth");
		is_str(finding ? severity_format(finding->severity) : NULL, shares[i].severity,
		       "deadline tasks of %.2f, with servers", each);
		free_world(&world);
	}
	test_weight("vectors that were estimated",
		    &(struct given){ .target = "4-7", .add = add_estimate }, "interrupt-vectors",
		    SEVERITY_WARN);
	test_weight("udev rules for CPUs that are plugged in",
		    &(struct given){ .target = "4-7", .add = add_plug_rule }, "udev-online",
		    SEVERITY_NOTE);
	test_weight("few real-time threads",
		    &(struct given){ .target = "6-7",
				     .tasks = { { .mask = "0-7",
						  .policy = SCHED_FIFO,
						  .state = 'R',
						  .cpu = 7 } } },
		    "realtime-crowding", SEVERITY_NOTE);
	test_weight("vectors, forced",
		    &(struct given){ .target = "4-7", .force = true, .add = add_few_vectors },
		    "interrupt-vectors", SEVERITY_WARN);
	test_weight("a container, forced",
		    &(struct given){ .target = "4-7", .force = true, .add = add_container },
		    "container", SEVERITY_WARN);
	test_weight("a made up /sys, forced",
		    &(struct given){ .target = "4-7", .force = true, .add = add_view },
		    "sysfs-view", SEVERITY_REFUSE);
}

/* Every id once, with all that the catalogue shows. */
static void test_catalogue(void)
{
	size_t nr = 0, nr_known = 0;

	for (const struct rule *rule = NULL; (rule = preflight_next_rule(rule)); nr++) {
		for (const struct rule *other = NULL;
		     (other = preflight_next_rule(other)) && other != rule;)
			if (!strcmp(other->id, rule->id))
				ok(false, "%s is there twice", rule->id);
		if (!rule->what || !rule->reads || rule->mildest > rule->severity ||
		    !rule->check != (rule->when == RULE_ELSEWHERE) ||
		    (rule->check &&
		     (!rule->remedy || !rule->weigh != (rule->mildest == rule->severity))))
			ok(false, "%s is not whole", rule->id);
		for (size_t i = 0; i < ARRAY_SIZE(properties); i++)
			nr_known += rule->check && !strcmp(properties[i].rule, rule->id);
		if (rule->check)
			nr_known--;
	}
	ok(nr > 60, "there are %zu rules", nr);
	is_int((long long)nr_known, 0, "each that has a check is tested here");
}

/* Whichever allocation fails: -ENOMEM, and never less to say. */
static void test_without_memory(const struct expectation *expected,
				int (*preflight)(const struct facts *, struct findings *))
{
	size_t nr = 0, nr_good = 0;
	bool was_reached = true;

	while (was_reached && nr < 500) {
		struct world world;
		int r;

		make_world(&world, &expected->given);
		guard_fail_at(++nr);
		r = preflight(&world.facts, &world.findings);
		was_reached = guard_end() >= nr;
		nr_good +=
			r == -ENOMEM || (!r && world.findings.nr == count_words(expected->rules));
		free_world(&world);
	}
	is_int((long long)nr_good, (long long)nr, "%s: no failing allocation hides a finding",
	       expected->what);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(offline); i++)
		test(&offline[i], preflight_offline);
	for (size_t i = 0; i < ARRAY_SIZE(returning); i++)
		test(&returning[i], preflight_return);
	for (size_t i = 0; i < ARRAY_SIZE(spared); i++)
		test_spared(&spared[i], preflight_offline);
	for (size_t i = 0; i < ARRAY_SIZE(spared_returning); i++)
		test_spared(&spared_returning[i], preflight_return);
	test_coverage();
	test_all_quotes();
	test_all_pinned();
	test_all_weights();
	test_catalogue();
	for (size_t i = 0; guard_can_fail() && i < ARRAY_SIZE(offline); i++)
		test_without_memory(&offline[i], preflight_offline);
	for (size_t i = 0; guard_can_fail() && i < ARRAY_SIZE(returning); i++)
		test_without_memory(&returning[i], preflight_return);
	return done_testing();
}
