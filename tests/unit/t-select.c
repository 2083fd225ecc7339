/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * t-select.c - tests of what selectors mean, on machines built in memory
 *
 * host/topology is played by this file: an hwloc that sees what the kernel shows, but for one
 * object.
 */
#include "core/select.h"

#include <errno.h>

#include "tap.h"

/* ---- hwloc and the caches, as this test wants them ------------------------------------------- */

struct topology {
	const struct machine *machine;
	enum topology_object object; /* what it sees in another way */
	unsigned int id;
	const char *cpus; /* as this, or not at all (NULL); "" for no difference */
};

static bool is_of(const struct machine *machine, enum topology_object object, unsigned int id,
		  unsigned int cpu)
{
	const struct cpu *c = &machine->cpus[cpu];

	switch (object) {
	case TOPOLOGY_SOCKET:
		return c->socket == (long)id;
	case TOPOLOGY_NODE:
		return c->node == (long)id;
	case TOPOLOGY_CORE:
		return c->siblings && hwloc_bitmap_isset(c->siblings, id);
	case TOPOLOGY_DIE:
	case TOPOLOGY_LAST_CACHE:
		return c->socket == machine->cpus[id].socket && c->die == machine->cpus[id].die;
	}
	return false;
}

int topology_cpus(const struct topology *topology, enum topology_object object, unsigned int id,
		  hwloc_bitmap_t ret_cpus)
{
	if (object == topology->object && id == topology->id &&
	    (!topology->cpus || *topology->cpus))
		return topology->cpus ? cpus_parse(topology->cpus, 4095, false, ret_cpus) : -ENOENT;
	hwloc_bitmap_zero(ret_cpus);
	for (unsigned int cpu = 0; cpu < topology->machine->nr_cpus; cpu++)
		if (topology->machine->cpus[cpu].is_online &&
		    is_of(topology->machine, object, id, cpu))
			hwloc_bitmap_set(ret_cpus, cpu);
	return cpus_is_empty(ret_cpus) ? -ENOENT : 0;
}

int topology_kernel_last_cache(const struct root *root, const struct machine *machine,
			       unsigned int cpu, hwloc_bitmap_t ret_cpus)
{
	struct topology agreeing = { .machine = machine, .cpus = "" };

	(void)root;
	if (!machine->cpus[cpu].is_online || machine->cpus[cpu].die == CPU_ID_NONE)
		return -ENOENT;
	return topology_cpus(&agreeing, TOPOLOGY_LAST_CACHE, cpu, ret_cpus);
}

int topology_near(const struct topology *topology, const char *address, hwloc_bitmap_t ret_cpus)
{
	(void)topology;
	(void)address;
	(void)ret_cpus;
	return -ENOENT;
}

/* Twice the number, as with threads that are off in the firmware. */
int topology_read_apicids(const struct root *root, const struct machine *machine, long **ret_ids)
{
	long *ids = calloc(machine->nr_cpus, sizeof(*ids));

	(void)root;
	for (unsigned int cpu = 0; ids && cpu < machine->nr_cpus; cpu++)
		ids[cpu] = machine->cpus[cpu].is_online ? 2 * (long)cpu : CPU_ID_NONE;
	*ret_ids = ids;
	return ids ? 0 : -ENOMEM;
}

/* ---- machines -------------------------------------------------------------------------------- */

struct shape {
	unsigned int sockets, dies, cores,
		threads;	/* dies of a socket, cores of a die, threads of a core */
	const long *socket_ids; /* NULL: 0 and up */
	bool has_no_ids;	/* sockets, dies and cores have no numbers */
	bool has_no_nodes;	/* else a node is a socket, of the same number */
	bool cores_start_anew;	/* core numbers start at 0 in each die */
	const char *offline;	/* CPUs that are hidden, or NULL */
	const char *empty_node; /* "N": one node more, with memory alone; or NULL */
};

static void set_place(const struct shape *shape, struct machine *machine, unsigned int cpu)
{
	unsigned int nr_cores = shape->sockets * shape->dies * shape->cores, core = cpu % nr_cores;
	unsigned int die = core / shape->cores, socket = die / shape->dies;
	struct cpu *c = &machine->cpus[cpu];

	*c = (struct cpu){ .is_present = true,
			   .is_online = true,
			   .has_online_file = cpu > 0,
			   .has_topology = true,
			   .thread = cpu / nr_cores };
	c->socket = shape->socket_ids ? shape->socket_ids[socket] : (long)socket;
	c->node = shape->has_no_nodes ? CPU_ID_NONE : c->socket;
	c->die = (long)(die % shape->dies);
	c->core = (long)(core % (shape->cores * (shape->cores_start_anew ? 1 : shape->dies)));
	c->siblings = hwloc_bitmap_alloc();
	for (unsigned int thread = 0; thread < shape->threads; thread++)
		hwloc_bitmap_set(c->siblings, core + thread * nr_cores);
	if (shape->has_no_ids)
		c->socket = c->die = c->core = CPU_ID_NONE;
}

static void add_node(struct machine *machine, long id)
{
	struct node *node = &machine->nodes[machine->nr_nodes++];

	node->id = id;
	node->cpus = hwloc_bitmap_alloc();
	for (unsigned int cpu = 0; cpu < machine->nr_cpus; cpu++)
		if (machine->cpus[cpu].node == id)
			hwloc_bitmap_set(node->cpus, cpu);
}

/* As today's kernels do: an offline CPU has no place, no siblings, no node. */
static void hide_cpu(struct machine *machine, unsigned int cpu)
{
	struct cpu *c = &machine->cpus[cpu];

	hwloc_bitmap_free(c->siblings);
	*c = (struct cpu){ .is_present = true,
			   .has_online_file = true,
			   .socket = CPU_ID_NONE,
			   .die = CPU_ID_NONE,
			   .core = CPU_ID_NONE,
			   .node = CPU_ID_NONE };
	hwloc_bitmap_clr(machine->online, cpu);
	for (unsigned int other = 0; other < machine->nr_cpus; other++)
		if (machine->cpus[other].siblings)
			hwloc_bitmap_clr(machine->cpus[other].siblings, cpu);
	for (size_t i = 0; i < machine->nr_nodes; i++)
		hwloc_bitmap_clr(machine->nodes[i].cpus, cpu);
}

static void build(const struct shape *shape, struct machine *ret_machine)
{
	_cleanup_cpus_ hwloc_bitmap_t offline = hwloc_bitmap_alloc();
	struct machine machine = { .nr_cpus = shape->sockets * shape->dies * shape->cores *
					      shape->threads };
	unsigned int cpu;

	machine.cpus = calloc(machine.nr_cpus, sizeof(*machine.cpus));
	machine.nodes = calloc(shape->sockets + 1, sizeof(*machine.nodes));
	machine.present = hwloc_bitmap_alloc();
	machine.isolated = hwloc_bitmap_alloc();
	machine.nohz_full = hwloc_bitmap_alloc();
	hwloc_bitmap_set_range(machine.present, 0, (int)machine.nr_cpus - 1);
	machine.possible = hwloc_bitmap_dup(machine.present);
	machine.online = hwloc_bitmap_dup(machine.present);
	for (cpu = 0; cpu < machine.nr_cpus; cpu++)
		set_place(shape, &machine, cpu);
	for (unsigned int i = 0; i < shape->sockets && !shape->has_no_nodes; i++)
		add_node(&machine, shape->socket_ids ? shape->socket_ids[i] : (long)i);
	if (shape->empty_node)
		add_node(&machine, atol(shape->empty_node));
	if (shape->offline && !cpus_parse(shape->offline, machine.nr_cpus - 1, false, offline))
		cpus_foreach(cpu, offline)
			hide_cpu(&machine, cpu);
	*ret_machine = machine;
}

static const long sparse_ids[] = { 0, 36, 8442, 196867 };

static const struct shape two = { .sockets = 2, .dies = 1, .cores = 8, .threads = 2 };
static const struct shape dies = { .sockets = 2, .dies = 2, .cores = 4, .threads = 1 };
static const struct shape repeating = {
	.sockets = 2, .dies = 2, .cores = 4, .threads = 1, .cores_start_anew = true
};
static const struct shape single = { .sockets = 1, .dies = 2, .cores = 4, .threads = 2 };
static const struct shape sparse = {
	.sockets = 4, .dies = 1, .cores = 4, .threads = 1, .socket_ids = sparse_ids
};
static const struct shape memory = {
	.sockets = 2, .dies = 1, .cores = 4, .threads = 1, .empty_node = "2"
};
static const struct shape nameless = {
	.sockets = 2, .dies = 1, .cores = 4, .threads = 2, .has_no_ids = true, .has_no_nodes = true
};
static const struct shape phone = {
	.sockets = 3, .dies = 1, .cores = 2, .threads = 1, .has_no_nodes = true
};
static const struct shape holed = {
	.sockets = 2, .dies = 1, .cores = 8, .threads = 2, .offline = "8-9,30"
};
static const struct shape half = {
	.sockets = 2, .dies = 1, .cores = 8, .threads = 2, .offline = "8-15,24-31"
};
static const struct shape smt_off = {
	.sockets = 2, .dies = 1, .cores = 8, .threads = 2, .offline = "16-31"
};
static const struct shape large = { .sockets = 8, .dies = 1, .cores = 256, .threads = 2 };

/* ---- requests -------------------------------------------------------------------------------- */

#define MAX_SELECTORS 8

struct options {
	struct request request;
	struct selector selectors[MAX_SELECTORS];
	char text[256];
};

/* "socket=1 except=3 smt" */
static void read_options(const char *text, struct options *ret_options)
{
	struct request *request = &ret_options->request;

	*request = (struct request){ .selectors = ret_options->selectors };
	snprintf(ret_options->text, sizeof(ret_options->text), "%s", text);
	for (char *save, *word = strtok_r(ret_options->text, " ", &save); word;
	     word = strtok_r(NULL, " ", &save)) {
		struct selector *selector = &request->selectors[request->nr_selectors++];
		char *value = strchr(word, '=');

		if (value)
			*value++ = '\0';
		selector->text = value ? value : "";
		for (int kind = SELECT_SOCKET; kind <= SELECT_EXCEPT; kind++)
			if (!strcmp(word, selector_kind_format((enum selector_kind)kind)))
				selector->kind = (enum selector_kind)kind;
	}
}

static const struct finding *find_rule(const struct findings *findings, const char *rule)
{
	for (size_t i = 0; i < findings->nr; i++)
		if (!strcmp(findings->list[i].rule, rule))
			return &findings->list[i];
	return NULL;
}

static void show_findings(const struct findings *findings)
{
	for (size_t i = 0; i < findings->nr; i++)
		diag("%s %s: %s", severity_format(findings->list[i].severity),
		     findings->list[i].rule, findings->list[i].message);
}

static void is_set(hwloc_const_bitmap_t cpus, const char *expected, const char *what,
		   const char *options)
{
	_cleanup_free_ char *text = cpus_format(cpus);

	is_str(text, expected, "%s: %s", options, what);
}

/* The only findings of these tests that need not be named. */
static bool is_clean(const struct findings *findings)
{
	for (size_t i = 0; i < findings->nr; i++)
		if (findings->list[i].severity == SEVERITY_REFUSE)
			return false;
	return true;
}

/* ---- what is selected ------------------------------------------------------------------------ */

static const struct meaning {
	const struct shape *shape;
	const char *options;
	const char *target;
	const char *already_offline;
	const char *note; /* a rule that must have something to say, or NULL */
} meanings[] = {
	{ &two, "socket=1", "8-15,24-31", "", NULL },
	{ &two, "socket=0,1", "0-31", "", NULL },
	{ &two, "socket=0 socket=1", "0-31", "", NULL },
	{ &two, "node=1", "8-15,24-31", "", NULL },
	{ &two, "cpu=3,5", "3,5", "", NULL },
	{ &two, "cpu=0-7:2", "0,2,4,6", "", NULL },
	{ &two, "smt", "16-31", "", NULL },
	{ &two, "core-of=24", "8,24", "", NULL },
	{ &two, "core-of=8-9,24", "8-9,24-25", "", NULL },
	{ &two, "core=1:0-3:2", "8,10,24,26", "", NULL },
	{ &two, "core=1:3", "11,27", "", NULL },
	{ &two, "die=1:0", "8-15,24-31", "", NULL },
	{ &two, "l3-of=30", "8-15,24-31", "", NULL },
	{ &two, "l3-of=0,8", "0-31", "", NULL },
	{ &two, "socket=1 cpu=4", "4,8-15,24-31", "", NULL },
	{ &two, "except=0-7,9 socket=1", "8,10-15,24-31", "", NULL },
	{ &two, "socket=1 smt", "24-31", "", NULL },
	{ &two, "smt socket=1 cpu=4,20", "20,24-31", "", NULL },
	{ &two, "smt except=24", "16-23,25-31", "", NULL },
	{ &two, "smt smt", "16-31", "", NULL },
	{ &two, "core-of=9 smt", "25", "", NULL },
	{ &dies, "die=1:0-1", "8-15", "", NULL },
	{ &dies, "die=0:1", "4-7", "", NULL },
	{ &single, "die=1", "4-7,12-15", "", NULL },
	{ &single, "core=0-6:2", "0,2,4,6,8,10,12,14", "", NULL },
	{ &single, "core=0:0-6:3", "0,3,6,8,11,14", "", NULL },
	{ &sparse, "socket=196867", "12-15", "", NULL },
	{ &sparse, "node=36,8442", "4-11", "", NULL },
	{ &sparse, "core=8442:1", "9", "", NULL },
	{ &memory, "node=1", "4-7", "", NULL },
	{ &nameless, "core-of=3", "3,11", "", NULL },
	{ &nameless, "smt", "8-15", "", NULL },
	{ &phone, "socket=2", "4-5", "", "sockets-outnumber-nodes" },
	{ &large, "socket=7", "1792-2047,3840-4095", "", NULL },
	{ &large, "smt", "2048-4095", "", NULL },
	{ &large, "core-of=0-2047", "0-4095", "", NULL },
	/* with CPUs that are offline */
	{ &holed, "socket=1", "10-15,24-29,31", "", "offline-place-unknown" },
	{ &holed, "node=1", "10-15,24-29,31", "", "offline-place-unknown" },
	{ &holed, "smt", "16-23,26-29,31", "", NULL },
	{ &holed, "cpu=8-10", "10", "8-9", NULL },
	{ &holed, "cpu=8-9", "", "8-9", NULL },
	{ &holed, "cpu=8-10 except=10", "", "8-9", NULL },
	{ &holed, "cpu=8-9 except=8", "", "9", NULL },
	{ &holed, "core-of=24", "24", "", NULL },
	{ &smt_off, "socket=1", "8-15", "", "offline-place-unknown" },
};

static void test_meaning(const struct meaning *meaning)
{
	struct machine machine;
	struct topology topology = { .machine = &machine, .cpus = "" };
	struct findings findings = { 0 };
	struct selection selection;
	struct options options;
	int r;

	build(meaning->shape, &machine);
	read_options(meaning->options, &options);
	r = select_resolve(&options.request, NULL, &machine, &topology, NULL, 0, &findings,
			   &selection);
	if (is_int(r, 0, "%s resolves", meaning->options)) {
		is_set(selection.target, meaning->target, "target", meaning->options);
		is_set(selection.already_offline, meaning->already_offline, "offline already",
		       meaning->options);
		is_int((long long)selection.nr_selectors, (long long)options.request.nr_selectors,
		       "%s: one result a selector", meaning->options);
		if (!ok(is_clean(&findings), "%s: nothing is refused", meaning->options))
			show_findings(&findings);
		ok(meaning->note ? find_rule(&findings, meaning->note) != NULL : !findings.nr,
		   "%s: notes are as expected", meaning->options);
		selection_free(&selection);
	}
	findings_free(&findings);
	machine_free(&machine);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static const struct refusal {
	const struct shape *shape;
	const char *options;
	const char *rule;
	bool is_invalid;
	const char *message; /* part of it */
	const char *target;  /* what the rest of the selection means */
} refusals[] = {
	{ &two, "socket=2", "no-such-socket", true, "there is no socket 2; sockets are 0-1", "" },
	{ &two, "socket=1,7-8", "no-such-socket", true, "there are no sockets 7-8; sockets are 0-1",
	  "" },
	{ &single, "socket=1", "no-such-socket", true, "the only socket is 0", "" },
	{ &sparse, "socket=1", "no-such-socket", true, "sockets are 0,36,8442,196867", "" },
	{ &sparse, "node=1 socket=36", "no-such-node", true, "nodes are 0,36,8442,196867", "4-7" },
	{ &two, "socket=0-2000000000", "no-such-socket", true,
	  "and none over 65535; sockets are 0-1", "" },
	{ &two, "socket=99999999999", "no-such-socket", true, "there is no socket over 65535", "" },
	{ &two, "cpu=32", "no-such-cpu", true, "there is no CPU 32; present are CPUs 0-31", "" },
	{ &two, "cpu=30-33,40", "no-such-cpu", true, "there are no CPUs 32-33,40", "" },
	{ &two, "socket=1 except=99", "no-such-cpu", true, "there is no CPU 99", "8-15,24-31" },
	{ &two, "core-of=40", "no-such-cpu", true, "40", "" },
	{ &two, "l3-of=40", "no-such-cpu", true, "40", "" },
	{ &two, "core=1:8", "no-such-core", true, "there is no core 8 in socket 1; cores are 0-7",
	  "" },
	{ &two, "core=2:0", "no-such-socket", true, "sockets are 0-1", "" },
	{ &two, "die=1:3", "no-such-die", true, "there is no die 3 in socket 1; the only die is 0",
	  "" },
	{ &two, "core=1", "core-ambiguous", true, "core 1 is in sockets 0-1", "" },
	{ &two, "die=0", "die-ambiguous", true, "die 0 is in sockets 0-1", "" },
	{ &repeating, "core=1:0", "core-ambiguous", true, "CPUs 8,12 are not of one core", "" },
	{ &nameless, "socket=0", "no-such-socket", true, "this machine has no socket numbers", "" },
	{ &nameless, "node=0", "no-such-node", true, "this machine has no NUMA nodes", "" },
	{ &nameless, "die=0", "no-such-die", true, "this machine has no die numbers", "" },
	{ &nameless, "core=0:1", "no-such-core", true, "this machine has no core numbers", "" },
	{ &nameless, "l3-of=1", "no-such-cache", false, "the kernel shows no cache", "" },
	{ &memory, "node=2", "node-without-cpus", false, "node 2 has no CPUs, only memory", "" },
	{ &memory, "node=1-2", "node-without-cpus", false, "node 2 has no CPUs", "4-7" },
	{ &half, "node=1", "node-without-cpus", false, "node 1 has no CPUs online", "" },
	{ &half, "socket=1", "no-such-socket", true, "the only socket is 0", "" },
	{ &half, "core-of=8", "offline-place-unknown", false, "CPU 8 is offline", "" },
	{ &half, "l3-of=8", "offline-place-unknown", false, "CPU 8 is offline", "" },
	{ &smt_off, "smt", "selection-empty", true, "more than one hardware thread", "" },
	{ &dies, "smt", "selection-empty", true, "nothing is selected", "" },
	{ &two, "cpu=3 smt", "selection-empty", true, "nothing is selected", "" },
	{ &two, "cpu=5 except=5", "selection-empty", true, "--except takes away", "" },
	{ &two, "except=5", "selection-empty", true, "nothing is selected", "" },
	{ &two, "", "selection-empty", true, "nothing is selected", "" },
	/* lists that are none */
	{ &two, "socket=", "selection-invalid", true, "--socket was given an empty list", "" },
	{ &two, "node=3-1", "selection-invalid", true,
	  "\"3-1\" of --node has a range that runs backwards", "" },
	{ &two, "cpu=1;2", "selection-invalid", true, "cannot be read at \";2\"", "" },
	{ &two, "cpu=1,", "selection-invalid", true, "\"1,\" of --cpu", "" },
	{ &two, "cpu=0-7:0", "selection-invalid", true, "\"0-7:0\" of --cpu", "" },
	{ &two, "cpu=all", "selection-invalid", true, "cannot be read at \"all\"", "" },
	{ &two, "socket=-1", "selection-invalid", true, "\"-1\" of --socket", "" },
	{ &two, "core=1:", "selection-invalid", true, "\"1:\" of --core", "" },
	{ &two, "core=:3", "selection-invalid", true, "\":3\" of --core", "" },
	{ &two, "core=0:1:2", "selection-invalid", true, "\"0:1:2\" of --core", "" },
	{ &two, "except=x socket=1", "selection-invalid", true, "of --except", "8-15,24-31" },
};

static void test_refusal(const struct refusal *refusal)
{
	struct machine machine;
	struct topology topology = { .machine = &machine, .cpus = "" };
	struct findings findings = { 0 };
	const struct finding *finding;
	struct selection selection;
	struct options options;

	build(refusal->shape, &machine);
	read_options(refusal->options, &options);
	if (is_int(select_resolve(&options.request, NULL, &machine, &topology, NULL, 0, &findings,
				  &selection),
		   0, "\"%s\" is looked at", refusal->options)) {
		finding = find_rule(&findings, refusal->rule);
		if (!ok(finding && finding->severity == SEVERITY_REFUSE &&
				finding->is_invalid == refusal->is_invalid &&
				strstr(finding->message, refusal->message) && *finding->remedy,
			"\"%s\": %s", refusal->options, refusal->message))
			show_findings(&findings);
		is_set(selection.target, refusal->target, "the rest", refusal->options);
		selection_free(&selection);
	}
	findings_free(&findings);
	machine_free(&machine);
}

/* ---- hwloc sees another machine -------------------------------------------------------------- */

static const struct difference {
	const struct shape *shape;
	const char *options;
	enum topology_object object;
	unsigned int id;
	const char *hwloc;
	const char *loses_id; /* a CPU whose numbers cannot be read, or NULL */
	const char *rule;     /* NULL: no finding */
	enum severity severity;
	const char *target;
} differences[] = {
	{ &two, "node=1", TOPOLOGY_NODE, 1, "0-31", NULL, "topology-disagreement", SEVERITY_NOTE,
	  "8-15,24-31" },
	{ &two, "node=1", TOPOLOGY_NODE, 1, NULL, NULL, "topology-disagreement", SEVERITY_NOTE,
	  "8-15,24-31" },
	{ &two, "node=1", TOPOLOGY_NODE, 0, "0", NULL, NULL, SEVERITY_NOTE, "8-15,24-31" },
	{ &two, "socket=1", TOPOLOGY_SOCKET, 1, "8", NULL, "topology-disagreement", SEVERITY_NOTE,
	  "8-15,24-31" },
	{ &two, "socket=1", TOPOLOGY_SOCKET, 1, "5,8-15,24-31", "5", "topology-contradiction",
	  SEVERITY_REFUSE, "8-15,24-31" },
	{ &two, "socket=1", TOPOLOGY_SOCKET, 0, "0", "5", NULL, SEVERITY_NOTE, "8-15,24-31" },
	{ &two, "core-of=3", TOPOLOGY_CORE, 3, "3", NULL, "topology-disagreement", SEVERITY_NOTE,
	  "3,19" },
	{ &two, "smt", TOPOLOGY_CORE, 19, "19", NULL, "topology-disagreement", SEVERITY_NOTE,
	  "16-31" },
	{ &two, "core=1:3", TOPOLOGY_CORE, 11, "11-12", NULL, "topology-disagreement",
	  SEVERITY_NOTE, "11,27" },
	{ &dies, "die=1:0", TOPOLOGY_DIE, 8, "8-15", NULL, "topology-disagreement", SEVERITY_NOTE,
	  "8-11" },
	/* one die a socket: hwloc has none, the socket stands for it */
	{ &two, "die=1:0", TOPOLOGY_DIE, 8, NULL, NULL, NULL, SEVERITY_NOTE, "8-15,24-31" },
	{ &two, "l3-of=9", TOPOLOGY_LAST_CACHE, 8, "8", NULL, "topology-disagreement",
	  SEVERITY_NOTE, "8-15,24-31" },
	{ &two, "cpu=9", TOPOLOGY_CORE, 9, "9-10", NULL, NULL, SEVERITY_NOTE, "9" },
	/* offline CPUs that hwloc names are not compared */
	{ &holed, "node=1", TOPOLOGY_NODE, 1, "8-15,24-31", NULL, "offline-place-unknown",
	  SEVERITY_NOTE, "10-15,24-29,31" },
};

static void test_difference(const struct difference *difference)
{
	struct machine machine;
	struct topology topology = { .machine = &machine,
				     .object = difference->object,
				     .id = difference->id,
				     .cpus = difference->hwloc };
	struct findings findings = { 0 };
	const struct finding *finding;
	struct selection selection;
	struct options options;

	build(difference->shape, &machine);
	if (difference->loses_id)
		machine.cpus[atoi(difference->loses_id)].socket = CPU_ID_NONE;
	read_options(difference->options, &options);
	if (is_int(select_resolve(&options.request, NULL, &machine, &topology, NULL, 0, &findings,
				  &selection),
		   0, "%s, hwloc differing, is looked at", difference->options)) {
		finding = findings.nr ? &findings.list[0] : NULL;
		if (!ok(difference->rule ? finding && !strcmp(finding->rule, difference->rule) &&
						   finding->severity == difference->severity &&
						   !finding->is_invalid
					 : !finding,
			"%s: %s", difference->options,
			difference->rule ? difference->rule : "no finding"))
			show_findings(&findings);
		is_set(selection.target, difference->target, "the kernel's CPUs",
		       difference->options);
		selection_free(&selection);
	}
	findings_free(&findings);
	machine_free(&machine);
}

/* ---- contradictions of the kernel's files ---------------------------------------------------- */

static void resolve(const char *text, const struct machine *machine,
		    const struct topology *topology, const struct operation *const *operations,
		    size_t nr_operations, struct findings *findings,
		    struct selection *ret_selection)
{
	struct options options;

	*ret_selection = (struct selection){ 0 };
	*findings = (struct findings){ 0 };
	read_options(text, &options);
	is_int(select_resolve(&options.request, NULL, machine, topology, operations, nr_operations,
			      findings, ret_selection),
	       0, "%s is looked at", text);
}

static void test_contradictions(void)
{
	struct machine machine;
	struct topology topology = { .machine = &machine, .cpus = "" };
	const struct finding *finding;
	struct selection selection;
	struct findings findings;

	build(&two, &machine);
	hwloc_bitmap_set_range(machine.nodes[0].cpus, 8, 9);
	resolve("node=0", &machine, &topology, NULL, 0, &findings, &selection);
	finding = find_rule(&findings, "topology-contradiction");
	ok(finding && finding->severity == SEVERITY_REFUSE && !finding->is_invalid,
	   "two nodes claim a CPU");
	is_str(finding ? finding->cpus : NULL, "8-9", "the CPUs concerned");
	is_set(selection.target, "0-9,16-23", "the list is shown all the same", "node=0");
	selection_free(&selection);
	findings_free(&findings);
	resolve("socket=1", &machine, &topology, NULL, 0, &findings, &selection);
	is_int((long long)findings.nr, 0, "a selection by socket does not mind");
	selection_free(&selection);
	findings_free(&findings);

	hwloc_bitmap_only(machine.cpus[19].siblings, 19);
	resolve("core-of=3", &machine, &topology, NULL, 0, &findings, &selection);
	finding = find_rule(&findings, "topology-contradiction");
	ok(finding && finding->severity == SEVERITY_REFUSE, "siblings that do not name each other");
	is_set(selection.target, "3,19", "the list is shown all the same", "core-of=3");
	selection_free(&selection);
	findings_free(&findings);
	resolve("smt", &machine, &topology, NULL, 0, &findings, &selection);
	ok(find_rule(&findings, "topology-contradiction") != NULL, "the same by --smt");
	selection_free(&selection);
	findings_free(&findings);
	resolve("core-of=4", &machine, &topology, NULL, 0, &findings, &selection);
	is_int((long long)findings.nr, 0, "another core does not mind");
	selection_free(&selection);
	findings_free(&findings);
	machine_free(&machine);
}

static void test_no_hwloc(void)
{
	const struct finding *finding;
	struct selection selection;
	struct findings findings;
	struct machine machine;

	build(&two, &machine);
	resolve("socket=1 node=1", &machine, NULL, NULL, 0, &findings, &selection);
	finding = find_rule(&findings, "hwloc-unavailable");
	ok(finding && finding->severity == SEVERITY_NOTE, "no hwloc: a note");
	is_int((long long)findings.nr, 1, "once");
	is_set(selection.target, "8-15,24-31", "the kernel's files count", "socket=1 node=1");
	selection_free(&selection);
	findings_free(&findings);
	machine_free(&machine);
}

static void test_node_of_two_sockets(void)
{
	struct machine machine;
	struct topology topology = { .machine = &machine, .cpus = "" };
	const struct finding *finding;
	struct selection selection;
	struct findings findings;

	build(&two, &machine);
	for (unsigned int cpu = 0; cpu < machine.nr_cpus; cpu++)
		machine.cpus[cpu].node = 0;
	hwloc_bitmap_copy(machine.nodes[0].cpus, machine.present);
	hwloc_bitmap_zero(machine.nodes[1].cpus);
	resolve("node=0", &machine, &topology, NULL, 0, &findings, &selection);
	finding = find_rule(&findings, "node-spans-sockets");
	ok(finding && strstr(finding->message,
			     "socket 0 (CPUs 0-7,16-23), socket 1 (CPUs 8-15,24-31)"),
	   "both sockets are named");
	selection_free(&selection);
	findings_free(&findings);
	machine_free(&machine);
}

/* ---- journals -------------------------------------------------------------------------------- */

/* The operation that took @cpus off a machine of @shape. */
static void build_operation(const struct shape *shape, const char *cpus,
			    struct operation *ret_operation)
{
	struct operation operation = { .claim = hwloc_bitmap_alloc() };
	struct machine machine;
	unsigned int cpu;

	build(shape, &machine);
	if (cpus_parse(cpus, machine.nr_cpus - 1, false, operation.claim))
		diag("%s is no list", cpus);
	operation.places = calloc(machine.nr_cpus, sizeof(*operation.places));
	cpus_foreach(cpu, operation.claim) {
		const struct cpu *c = &machine.cpus[cpu];

		operation.places[operation.nr_places++] = (struct place){
			.cpu = cpu,
			.socket = c->socket,
			.die = c->die,
			.core = c->core,
			.node = c->node,
			.thread = c->thread,
		};
	}
	*ret_operation = operation;
	machine_free(&machine);
}

static const struct journalled {
	const char *options;
	const char *target;
	const char *already_offline;
} journalled[] = {
	/* 8, 9 and 30 are off by an operation, as the journal knows */
	{ "socket=1", "10-15,24-29,31", "8-9,30" },
	{ "node=1", "10-15,24-29,31", "8-9,30" },
	{ "core=1:0", "24", "8" },
	{ "core=1:1,6", "14,25", "9,30" },
	{ "die=1:0", "10-15,24-29,31", "8-9,30" },
	{ "core-of=24", "24", "8" },
	{ "core-of=8", "24", "8" },
	{ "core-of=30", "14", "30" },
	/* the first online thread of the first cores is the second one now */
	{ "smt", "16-23,26-29,31", "8-9,30" },
	{ "smt socket=1", "26-29,31", "8-9,30" },
	{ "node=1 except=8-10", "11-15,24-29,31", "30" },
	{ "cpu=30", "", "30" },
};

static void test_journals(void)
{
	struct machine machine;
	struct topology topology = { .machine = &machine, .cpus = "" };
	struct operation first, second;
	const struct operation *const operations[] = { &first, &second };
	struct selection selection;
	struct findings findings;

	build(&holed, &machine);
	build_operation(&two, "8-9", &first);
	build_operation(&two, "9,30", &second);
	for (size_t i = 0; i < ARRAY_SIZE(journalled); i++) {
		resolve(journalled[i].options, &machine, &topology, operations, 2, &findings,
			&selection);
		is_set(selection.target, journalled[i].target, "target, with journals",
		       journalled[i].options);
		is_set(selection.already_offline, journalled[i].already_offline,
		       "offline already, with journals", journalled[i].options);
		if (!is_int((long long)findings.nr, 0, "%s: no findings", journalled[i].options))
			show_findings(&findings);
		selection_free(&selection);
		findings_free(&findings);
	}
	resolve("node=1", &machine, &topology, operations, 1, &findings, &selection);
	is_str(findings.nr ? findings.list[0].cpus : NULL, "30", "what no journal knows is noted");
	selection_free(&selection);
	findings_free(&findings);
	operation_free(&first);
	operation_free(&second);
	machine_free(&machine);
}

static void test_whole_node_off(void)
{
	struct machine machine;
	struct topology topology = { .machine = &machine, .cpus = "" };
	struct operation operation;
	const struct operation *const operations[] = { &operation };
	struct selection selection;
	struct findings findings;

	build(&half, &machine);
	build_operation(&two, "8-15,24-31", &operation);
	resolve("node=1", &machine, &topology, operations, 1, &findings, &selection);
	is_int((long long)findings.nr, 0, "a node that is off by an operation is not empty");
	is_set(selection.already_offline, "8-15,24-31", "offline already", "node=1");
	selection_free(&selection);
	findings_free(&findings);
	resolve("socket=1", &machine, &topology, operations, 1, &findings, &selection);
	is_int((long long)findings.nr, 0, "a socket that is off by an operation exists");
	is_set(selection.already_offline, "8-15,24-31", "offline already", "socket=1");
	selection_free(&selection);
	findings_free(&findings);
	operation_free(&operation);
	machine_free(&machine);
}

/* ---- restore --------------------------------------------------------------------------------- */

static const struct restoring {
	const struct shape *shape; /* of the machine when the CPUs were taken */
	const char *claim;
	const char *options;
	const char *cpus;
	const char *rule; /* a refusal, or NULL */
} restorings[] = {
	{ &two, "4-15,20-31", "", "4-15,20-31", NULL },
	{ &two, "4-15,20-31", "socket=1", "8-15,24-31", NULL },
	{ &two, "4-15,20-31", "node=0", "4-7,20-23", NULL },
	{ &two, "4-15,20-31", "node=5", "", NULL },
	{ &two, "4-15,20-31", "socket=99999999999", "", NULL },
	{ &two, "4-15,20-31", "core=99999999999:1", "", NULL },
	{ &two, "4-15,20-31", "core=1:0", "8,24", NULL },
	{ &two, "4-15,20-31", "core=0:4-5", "4-5,20-21", NULL },
	{ &two, "4-15,20-31", "core=4", "", "core-ambiguous" },
	{ &two, "4-15,20-31", "core=0", "8,24", NULL },
	{ &two, "4-15,20-31", "die=1:0", "8-15,24-31", NULL },
	{ &two, "4-15,20-31", "core-of=9", "9,25", NULL },
	{ &two, "4-15,20-31", "core-of=1,9", "9,25", NULL },
	{ &two, "20-31", "core-of=9", "25", NULL },
	{ &two, "20-31", "core-of=1", "", NULL },
	{ &two, "4-15,20-31", "cpu=0-6", "4-6", NULL },
	{ &two, "4-15,20-31", "cpu=2000-3000", "", NULL },
	{ &two, "4-15,20-31", "smt", "20-31", NULL },
	{ &two, "4-15,20-31", "smt node=1 except=24", "25-31", NULL },
	{ &two, "4-15,20-31", "node=1 except=8,2000", "9-15,24-31", NULL },
	{ &two, "4-15,20-31", "except=8", "", "selection-empty" },
	{ &two, "4-15,20-31", "l3-of=8", "", "selection-invalid" },
	{ &two, "4-15,20-31", "cpu=3-1", "", "selection-invalid" },
	{ &nameless, "4-7", "core=99999999999:1", "", NULL },
	{ &nameless, "4-7", "socket=0", "", NULL },
};

static void test_restoring(const struct restoring *restoring)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	struct findings findings = { 0 };
	struct operation operation;
	struct options options;
	struct machine machine;

	build(restoring->shape, &machine);
	build_operation(restoring->shape, restoring->claim, &operation);
	read_options(restoring->options, &options);
	is_int(select_restore(&options.request, &machine, &operation, &findings, cpus), 0,
	       "restore \"%s\"", restoring->options);
	is_set(cpus, restoring->cpus, "restored", restoring->options);
	if (!ok(restoring->rule ? find_rule(&findings, restoring->rule) &&
					  find_rule(&findings, restoring->rule)->is_invalid
				: !findings.nr,
		"restore \"%s\": %s", restoring->options,
		restoring->rule ? restoring->rule : "no finding"))
		show_findings(&findings);
	/* another journal, the same question */
	is_int(select_restore(&options.request, &machine, &operation, &findings, cpus), 0,
	       "and once more");
	is_int((long long)findings.nr, restoring->rule ? 1 : 0, "it is said once");
	findings_free(&findings);
	operation_free(&operation);
	machine_free(&machine);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(meanings); i++)
		test_meaning(&meanings[i]);
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
		test_refusal(&refusals[i]);
	for (size_t i = 0; i < ARRAY_SIZE(differences); i++)
		test_difference(&differences[i]);
	test_contradictions();
	test_no_hwloc();
	test_node_of_two_sockets();
	test_journals();
	test_whole_node_off();
	for (size_t i = 0; i < ARRAY_SIZE(restorings); i++)
		test_restoring(&restorings[i]);
	return done_testing();
}
