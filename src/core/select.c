/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * select.c - from selectors to the target set: what the user named, in the kernel's own CPU numbers
 *
 * A selector is looked up in a list of places: CPU, socket, die, core, node. For a selection the
 * list is the machine's, with what journals know of CPUs that the kernel hides; for a restore it is
 * the journal's. What a selector means is its `match`, online and offline CPUs alike; they are told
 * apart at the end.
 *
 * Inside this file -EINVAL means that a finding says what is wrong, and the selector yields nothing
 * more.
 */
#include "core/select.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "core/confirm.h"
#include "core/mce.h"
#include "host/devices.h"

/*
 * Lists are read up to this number where no id is higher: what does not exist can then be named
 * exactly.
 */
#define LIST_MAX 65535L

#define BIT(n) (1U << (n))

static const char list_remedy[] = "Write a list as numbers and ranges parted by commas, such as "
				  "0-3,8 or 0-31:2, without blanks.";
static const char show_remedy[] = "See what there is with cpuoff --list.";

/* The words and rules of a kind of id. */
static const struct id_kind {
	const char *word;
	const char *missing_rule;
	const char *ambiguous_rule;
} id_kinds[] = {
	[SELECT_SOCKET] = { "socket", "no-such-socket", NULL },
	[SELECT_NODE] = { "node", "no-such-node", NULL },
	[SELECT_DIE] = { "die", "no-such-die", "die-ambiguous" },
	[SELECT_CORE] = { "core", "no-such-core", "core-ambiguous" },
	[SELECT_CORE_OF] = { "core", "no-such-core", NULL },
	[SELECT_L3_OF] = { "last-level cache", "no-such-cache", NULL },
	[SELECT_CPU] = { "CPU", "no-such-cpu", NULL },
	[SELECT_APICID] = { "APIC id", "no-such-apicid", NULL },
};

struct context {
	struct findings *findings;
	const struct place *places;
	size_t nr_places;
	bool has_refusal;
	/* NULL for a restore, whose CPUs are offline */
	const struct machine *machine;
	const struct root *root;
	const struct topology *topology; /* NULL where hwloc could not load */
	/* for a restore: the machine as it is now, with the CPUs that stayed online */
	const struct machine *now;
	bool socket_of; /* --mce means the socket */
	long *apicids;	/* of all CPUs, once they were asked for */
};

/* What one selector means. */
struct match {
	hwloc_bitmap_t cpus; /* online and offline */
	hwloc_bitmap_t ids; /* what to ask hwloc for: sockets or nodes, else a CPU of each object */
	struct names devices; /* ... or these PCI devices */
};

static void match_free(struct match *match)
{
	hwloc_bitmap_free(match->cpus);
	hwloc_bitmap_free(match->ids);
	names_free(&match->devices);
}

static int match_alloc(struct match *match)
{
	match->cpus = hwloc_bitmap_alloc();
	match->ids = hwloc_bitmap_alloc();
	return match->cpus && match->ids ? 0 : -ENOMEM;
}

static int set_add(hwloc_bitmap_t set, unsigned int number)
{
	return hwloc_bitmap_set(set, number) ? -ENOMEM : 0;
}

static int set_unite(hwloc_bitmap_t set, hwloc_const_bitmap_t other)
{
	return hwloc_bitmap_or(set, set, other) ? -ENOMEM : 0;
}

/* ---- findings ---------------------------------------------------------------------------- */

static bool is_said(const struct findings *findings, const char *rule, const char *message)
{
	for (size_t i = 0; i < findings->nr; i++)
		if (!strcmp(findings->list[i].rule, rule) &&
		    !strcmp(findings->list[i].message, message))
			return true;
	return false;
}

/* Each sentence once: several journals are asked the same, and a selector may be given twice. */
_printf_(7, 0) static int say(struct context *ctx, const char *rule, enum severity severity,
			      bool is_invalid, hwloc_const_bitmap_t cpus, const char *remedy,
			      const char *fmt, va_list ap)
{
	_cleanup_free_ char *message = util_vasprintf(fmt, ap);
	struct finding *finding;

	if (!message)
		return -ENOMEM;
	ctx->has_refusal |= severity == SEVERITY_REFUSE;
	if (is_said(ctx->findings, rule, message))
		return 0;
	finding = findings_add(ctx->findings, rule, severity, cpus, remedy, "%s", message);
	if (!finding)
		return -ENOMEM;
	finding->is_invalid = is_invalid;
	return 0;
}

/* The selection itself is wrong. Returns -EINVAL, or -ENOMEM. */
_printf_(5, 6) static int reject(struct context *ctx, const char *rule, hwloc_const_bitmap_t cpus,
				 const char *remedy, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = say(ctx, rule, SEVERITY_REFUSE, true, cpus, remedy, fmt, ap);
	va_end(ap);
	return r ? r : -EINVAL;
}

/* The selection is well formed and must not be carried out. Returns 0 or -ENOMEM. */
_printf_(5, 6) static int refuse(struct context *ctx, const char *rule, hwloc_const_bitmap_t cpus,
				 const char *remedy, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = say(ctx, rule, SEVERITY_REFUSE, false, cpus, remedy, fmt, ap);
	va_end(ap);
	return r;
}

_printf_(6, 7) static int tell(struct context *ctx, const char *rule, enum severity severity,
			       hwloc_const_bitmap_t cpus, const char *remedy, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = say(ctx, rule, severity, false, cpus, remedy, fmt, ap);
	va_end(ap);
	return r;
}

/* "node 1", "nodes 0,2-3"; NULL where there is no memory. */
static char *name_set(const char *word, hwloc_const_bitmap_t set)
{
	_cleanup_free_ char *list = cpus_format(set);

	return list ? util_asprintf("%s%s %s", word, cpus_count(set) == 1 ? "" : "s", list) : NULL;
}

/* "CPUs 0-3", or "no CPUs". */
static char *name_cpus(hwloc_const_bitmap_t cpus)
{
	return cpus_is_empty(cpus) ? strdup("no CPUs") : name_set("CPU", cpus);
}

/* "there is no node 1, and none over 65535" */
static char *name_missing(const char *word, hwloc_const_bitmap_t missing, bool is_over,
			  unsigned int max)
{
	_cleanup_free_ char *named = name_set(word, missing);

	if (!named)
		return NULL;
	if (!is_over)
		return util_asprintf("there %s no %s", cpus_count(missing) == 1 ? "is" : "are",
				     named);
	if (cpus_is_empty(missing))
		return util_asprintf("there is no %s over %u", word, max);
	return util_asprintf("there %s no %s, and none over %u",
			     cpus_count(missing) == 1 ? "is" : "are", named, max);
}

/* ---- lists ------------------------------------------------------------------------------- */

/* True where @text has a range whose end is before its beginning. */
static bool has_backward_range(const char *text)
{
	while (*text) {
		char *end;
		unsigned long first = strtoul(text, &end, 10);

		if (end != text && *end == '-' && isdigit((unsigned char)end[1]) &&
		    strtoul(end + 1, NULL, 10) < first)
			return true;
		text += strcspn(text, ",");
		text += strspn(text, ",");
	}
	return false;
}

static int reject_list(struct context *ctx, const struct selector *selector)
{
	const char *option = selector_kind_format(selector->kind), *text = selector->text;
	size_t good = strspn(text, "0123456789-,:/");

	if (!*text)
		return reject(ctx, "selection-invalid", NULL, list_remedy,
			      "--%s was given an empty list", option);
	if (isspace((unsigned char)text[good]))
		return reject(ctx, "selection-invalid", NULL, list_remedy,
			      "the list \"%s\" of --%s has a blank in it", text, option);
	if (text[good])
		return reject(ctx, "selection-invalid", NULL, list_remedy,
			      "the list \"%s\" of --%s cannot be read at \"%s\"", text, option,
			      text + good);
	if (has_backward_range(text))
		return reject(ctx, "selection-invalid", NULL, list_remedy,
			      "the list \"%s\" of --%s has a range that runs backwards", text,
			      option);
	return reject(
		ctx, "selection-invalid", NULL, list_remedy,
		"the list \"%s\" of --%s is malformed: a number is missing, or a stride is not "
		"between 1 and the end",
		text, option);
}

/* Reads the list @text of @selector, and tells whether some of it was left out, being over @max. */
static int parse_list(struct context *ctx, const struct selector *selector, const char *text,
		      unsigned int max, hwloc_bitmap_t ret_ids, bool *ret_is_over)
{
	int r = cpus_parse(text, max, false, ret_ids);

	*ret_is_over = r == -ERANGE;
	if (r == -ERANGE)
		r = cpus_parse_kernel(text, max, ret_ids);
	return r == -EINVAL ? reject_list(ctx, selector) : r;
}

static unsigned int list_max(hwloc_const_bitmap_t existing)
{
	int last = hwloc_bitmap_last(existing);

	return (unsigned int)(last > LIST_MAX ? last : LIST_MAX);
}

/* ---- places ------------------------------------------------------------------------------ */

static long place_id(const struct place *place, enum selector_kind kind)
{
	switch (kind) {
	case SELECT_SOCKET:
		return place->socket;
	case SELECT_NODE:
		return place->node;
	case SELECT_DIE:
		return place->die;
	case SELECT_CORE:
	case SELECT_CORE_OF:
		return place->core;
	default:
		return CPU_ID_NONE;
	}
}

/* A die or core number counts within its socket. */
struct scope {
	bool has_socket;
	long socket;
};

static bool is_in_scope(const struct place *place, const struct scope *scope)
{
	return !scope->has_socket ||
	       (place->socket != CPU_ID_NONE && place->socket == scope->socket);
}

static int existing_ids(const struct context *ctx, enum selector_kind kind,
			const struct scope *scope, hwloc_bitmap_t ret_ids)
{
	for (size_t i = 0; i < ctx->nr_places; i++) {
		long id = place_id(&ctx->places[i], kind);

		if (id != CPU_ID_NONE && is_in_scope(&ctx->places[i], scope) &&
		    set_add(ret_ids, (unsigned int)id))
			return -ENOMEM;
	}
	/* a node without CPUs exists too */
	for (size_t i = 0; kind == SELECT_NODE && ctx->machine && i < ctx->machine->nr_nodes; i++)
		if (set_add(ret_ids, (unsigned int)ctx->machine->nodes[i].id))
			return -ENOMEM;
	return 0;
}

static int add_places(const struct context *ctx, enum selector_kind kind, const struct scope *scope,
		      hwloc_const_bitmap_t ids, hwloc_bitmap_t cpus)
{
	for (size_t i = 0; i < ctx->nr_places; i++) {
		const struct place *place = &ctx->places[i];
		long id = place_id(place, kind);

		if (id != CPU_ID_NONE && is_in_scope(place, scope) &&
		    hwloc_bitmap_isset(ids, (unsigned int)id) && set_add(cpus, place->cpu))
			return -ENOMEM;
	}
	return 0;
}

static bool is_same_core(const struct place *a, const struct place *b)
{
	return a->core != CPU_ID_NONE && a->core == b->core && a->die == b->die &&
	       a->socket == b->socket;
}

static const struct place *find_place(const struct context *ctx, unsigned int cpu)
{
	for (size_t i = 0; i < ctx->nr_places; i++)
		if (ctx->places[i].cpu == cpu)
			return &ctx->places[i];
	return NULL;
}

static struct place place_of(const struct machine *machine, unsigned int number)
{
	const struct cpu *cpu = &machine->cpus[number];

	return (struct place){ .cpu = number,
			       .socket = cpu->socket,
			       .die = cpu->die,
			       .core = cpu->core,
			       .node = cpu->node,
			       .thread = cpu->thread };
}

static int reject_kind(struct context *ctx, enum selector_kind kind, const struct scope *scope)
{
	const char *rule = id_kinds[kind].missing_rule;

	if (scope->has_socket)
		return reject(ctx, rule, NULL, "Select by --node, --core-of or --cpu.",
			      "the kernel gives no %s numbers in socket %ld", id_kinds[kind].word,
			      scope->socket);
	if (kind == SELECT_NODE)
		return reject(ctx, rule, NULL, "Select by --socket or --cpu.",
			      "this machine has no NUMA nodes: the kernel shows none");
	return reject(ctx, rule, NULL, "Select by --node, --core-of or --cpu.",
		      "this machine has no %s numbers: the kernel gives none for its CPUs",
		      id_kinds[kind].word);
}

static int reject_missing(struct context *ctx, enum selector_kind kind, const struct scope *scope,
			  hwloc_const_bitmap_t missing, bool is_over, hwloc_const_bitmap_t existing)
{
	const char *word = id_kinds[kind].word;
	_cleanup_free_ char *lack = name_missing(word, missing, is_over, list_max(existing));
	_cleanup_free_ char *list = cpus_format(existing);
	_cleanup_free_ char *in =
		scope->has_socket ? util_asprintf(" in socket %ld", scope->socket) : strdup("");
	bool is_single = cpus_count(existing) == 1;

	if (!lack || !list || !in)
		return -ENOMEM;
	return reject(ctx, id_kinds[kind].missing_rule, NULL, show_remedy, "%s%s; %s%s%s %s %s",
		      lack, in, is_single ? "the only " : "", word, is_single ? "" : "s",
		      is_single ? "is" : "are", list);
}

/*
 * Reads ids of @kind that have to exist; a restore asks one journal of several, and takes what it
 * has.
 */
static int parse_ids(struct context *ctx, const struct selector *selector, const char *text,
		     enum selector_kind kind, const struct scope *scope, hwloc_bitmap_t ret_ids)
{
	_cleanup_cpus_ hwloc_bitmap_t existing = hwloc_bitmap_alloc(),
				      missing = hwloc_bitmap_alloc();
	bool is_over;
	int r;

	if (!existing || !missing)
		return -ENOMEM;
	r = existing_ids(ctx, kind, scope, existing);
	if (!r)
		r = parse_list(ctx, selector, text, list_max(existing), ret_ids, &is_over);
	if (r || !ctx->machine)
		return r;
	if (cpus_is_empty(existing))
		return reject_kind(ctx, kind, scope);
	if (hwloc_bitmap_andnot(missing, ret_ids, existing))
		return -ENOMEM;
	if (is_over || !cpus_is_empty(missing))
		return reject_missing(ctx, kind, scope, missing, is_over, existing);
	return 0;
}

/* Reads CPU numbers; on a machine they have to be present. */
static int parse_cpus(struct context *ctx, const struct selector *selector, hwloc_bitmap_t ret_cpus)
{
	_cleanup_cpus_ hwloc_bitmap_t missing = hwloc_bitmap_alloc();
	_cleanup_free_ char *lack = NULL, *present = NULL;
	unsigned int max = LIST_MAX;
	bool is_over;
	int r;

	if (!missing)
		return -ENOMEM;
	if (ctx->machine && ctx->machine->nr_cpus > max)
		max = ctx->machine->nr_cpus - 1;
	r = parse_list(ctx, selector, selector->text, max, ret_cpus, &is_over);
	if (r || !ctx->machine)
		return r;
	if (hwloc_bitmap_andnot(missing, ret_cpus, ctx->machine->present))
		return -ENOMEM;
	for (size_t i = 0; i < ctx->nr_places; i++)
		hwloc_bitmap_clr(missing, ctx->places[i].cpu);
	if (!is_over && cpus_is_empty(missing))
		return 0;
	lack = name_missing("CPU", missing, is_over, max);
	present = name_set("CPU", ctx->machine->present);
	if (!lack || !present)
		return -ENOMEM;
	return reject(ctx, "no-such-cpu", missing, show_remedy, "%s; present %s %s", lack,
		      cpus_count(ctx->machine->present) == 1 ? "is" : "are", present);
}

/* ---- sockets and nodes ------------------------------------------------------------------- */

static int match_socket(struct context *ctx, const struct selector *selector, struct match *match)
{
	const struct scope anywhere = { 0 };
	int r = parse_ids(ctx, selector, selector->text, SELECT_SOCKET, &anywhere, match->ids);

	return r ? r : add_places(ctx, SELECT_SOCKET, &anywhere, match->ids, match->cpus);
}

/* Offline CPUs of which the kernel does not say what @kind they belong to, and no journal does. */
static int hidden_cpus(const struct context *ctx, enum selector_kind kind, hwloc_bitmap_t ret_cpus)
{
	for (size_t i = 0; i < ctx->nr_places; i++) {
		const struct place *place = &ctx->places[i];

		if (!ctx->machine->cpus[place->cpu].is_online &&
		    place_id(place, kind) == CPU_ID_NONE && set_add(ret_cpus, place->cpu))
			return -ENOMEM;
	}
	return 0;
}

static int refuse_empty_nodes(struct context *ctx, hwloc_const_bitmap_t empty)
{
	_cleanup_cpus_ hwloc_bitmap_t hidden = hwloc_bitmap_alloc();
	_cleanup_free_ char *nodes = name_set("node", empty), *cpus = NULL;
	const char *verb = cpus_count(empty) == 1 ? "has" : "have";
	int r;

	if (!hidden || !nodes)
		return -ENOMEM;
	r = hidden_cpus(ctx, SELECT_NODE, hidden);
	if (r)
		return r;
	if (cpus_is_empty(hidden))
		return refuse(ctx, "node-without-cpus", NULL, "Select a node that has CPUs.",
			      "%s %s no CPUs, only memory or devices", nodes, verb);
	cpus = name_set("CPU", hidden);
	if (!cpus)
		return -ENOMEM;
	return refuse(ctx, "node-without-cpus", hidden,
		      "Bring those CPUs online first, or select a node that has CPUs online.",
		      "%s %s no CPUs online; the kernel hides the node of %s while offline", nodes,
		      verb, cpus);
}

static int refuse_overlap(struct context *ctx, const struct node *a, const struct node *b)
{
	_cleanup_cpus_ hwloc_bitmap_t shared = hwloc_bitmap_alloc();
	_cleanup_free_ char *cpus = NULL;

	if (!shared || hwloc_bitmap_and(shared, a->cpus, b->cpus))
		return -ENOMEM;
	cpus = name_set("CPU", shared);
	if (!cpus)
		return -ENOMEM;
	return refuse(ctx, "topology-contradiction", shared,
		      "Select the CPUs themselves with --cpu.",
		      "the kernel's files say that %s %s to node %ld and to node %ld", cpus,
		      cpus_count(shared) == 1 ? "belongs" : "belong", a->id, b->id);
}

/* A CPU can be in one node only. */
static int check_overlaps(struct context *ctx, const struct node *node)
{
	for (size_t i = 0; i < ctx->machine->nr_nodes; i++) {
		const struct node *other = &ctx->machine->nodes[i];
		int r;

		if (other == node || !hwloc_bitmap_intersects(node->cpus, other->cpus))
			continue;
		r = other < node ? refuse_overlap(ctx, other, node)
				 : refuse_overlap(ctx, node, other);
		if (r)
			return r;
	}
	return 0;
}

static int add_socket_list(char **text, const struct machine *machine, unsigned int socket,
			   hwloc_const_bitmap_t cpus)
{
	_cleanup_cpus_ hwloc_bitmap_t part = hwloc_bitmap_alloc();
	_cleanup_free_ char *list = NULL;
	unsigned int cpu;
	char *longer;

	if (!part)
		return -ENOMEM;
	cpus_foreach(cpu, cpus)
		if (machine->cpus[cpu].socket == (long)socket && set_add(part, cpu))
			return -ENOMEM;
	list = name_set("CPU", part);
	longer = list ? util_asprintf("%s%ssocket %u (%s)", *text ? *text : "", *text ? ", " : "",
				      socket, list)
		      : NULL;
	if (!longer)
		return -ENOMEM;
	free(*text);
	*text = longer;
	return 0;
}

/* Who takes a node for service may not know that it is more than one package. */
static int note_sockets(struct context *ctx, const struct node *node)
{
	_cleanup_cpus_ hwloc_bitmap_t sockets = hwloc_bitmap_alloc();
	_cleanup_free_ char *text = NULL;
	const struct machine *machine = ctx->machine;
	unsigned int cpu, socket;

	if (!sockets)
		return -ENOMEM;
	cpus_foreach(cpu, node->cpus)
		if (machine->cpus[cpu].socket != CPU_ID_NONE &&
		    set_add(sockets, (unsigned int)machine->cpus[cpu].socket))
			return -ENOMEM;
	if (cpus_count(sockets) < 2)
		return 0;
	cpus_foreach(socket, sockets) {
		int r = add_socket_list(&text, machine, socket, node->cpus);

		if (r)
			return r;
	}
	return tell(ctx, "node-spans-sockets", SEVERITY_NOTE, node->cpus, NULL,
		    "node %ld covers more than one socket: %s", node->id, text);
}

/*
 * Journals give the CPUs of a node that it lost, the kernel's own file the rest. Of a CPU that two
 * nodes claim the places name only one, therefore the file is asked here.
 */
static int match_machine_nodes(struct context *ctx, hwloc_const_bitmap_t ids, struct match *match)
{
	for (size_t i = 0; i < ctx->machine->nr_nodes; i++) {
		const struct node *node = &ctx->machine->nodes[i];
		int r;

		if (!hwloc_bitmap_isset(ids, (unsigned int)node->id))
			continue;
		r = set_unite(match->cpus, node->cpus);
		if (!r)
			r = check_overlaps(ctx, node);
		if (!r)
			r = note_sockets(ctx, node);
		if (r)
			return r;
	}
	return 0;
}

/*
 * hwloc lends a node without CPUs those of its neighbours: such a node is refused before it is
 * asked.
 */
static int drop_empty_nodes(struct context *ctx, hwloc_bitmap_t ids)
{
	_cleanup_cpus_ hwloc_bitmap_t empty = hwloc_bitmap_dup(ids);

	if (!empty)
		return -ENOMEM;
	for (size_t i = 0; i < ctx->nr_places; i++)
		if (ctx->places[i].node != CPU_ID_NONE)
			hwloc_bitmap_clr(empty, (unsigned int)ctx->places[i].node);
	for (size_t i = 0; i < ctx->machine->nr_nodes; i++)
		if (!cpus_is_empty(ctx->machine->nodes[i].cpus))
			hwloc_bitmap_clr(empty, (unsigned int)ctx->machine->nodes[i].id);
	if (cpus_is_empty(empty))
		return 0;
	if (hwloc_bitmap_andnot(ids, ids, empty))
		return -ENOMEM;
	return refuse_empty_nodes(ctx, empty);
}

static int match_node(struct context *ctx, const struct selector *selector, struct match *match)
{
	const struct scope anywhere = { 0 };
	int r = parse_ids(ctx, selector, selector->text, SELECT_NODE, &anywhere, match->ids);

	if (!r && ctx->machine)
		r = drop_empty_nodes(ctx, match->ids);
	if (!r)
		r = add_places(ctx, SELECT_NODE, &anywhere, match->ids, match->cpus);
	if (!r && ctx->machine)
		r = match_machine_nodes(ctx, match->ids, match);
	return r;
}

/* Adds a die, core or cache; hwloc is asked for it by a CPU that it knows, an online one. */
static int match_add(const struct context *ctx, hwloc_const_bitmap_t cpus, struct match *match)
{
	unsigned int first = cpus_first_among(cpus, ctx->machine->online);

	if (first != CPU_NONE && set_add(match->ids, first))
		return -ENOMEM;
	return set_unite(match->cpus, cpus);
}

/* ---- dies and cores ---------------------------------------------------------------------- */

/* [SOCKET:]LIST: what stands before the first colon is a socket where it is a single number. */
static int parse_scope(struct context *ctx, const struct selector *selector,
		       struct scope *ret_scope, const char **ret_list)
{
	_cleanup_cpus_ hwloc_bitmap_t sockets = hwloc_bitmap_alloc();
	_cleanup_free_ char *text = NULL;
	size_t length = strspn(selector->text, "0123456789");
	int r;

	if (!sockets)
		return -ENOMEM;
	if (!length || selector->text[length] != ':') {
		*ret_scope = (struct scope){ 0 };
		*ret_list = selector->text;
		return 0;
	}
	text = strndup(selector->text, length);
	if (!text)
		return -ENOMEM;
	r = parse_ids(ctx, selector, text, SELECT_SOCKET, &(struct scope){ 0 }, sockets);
	if (r)
		return r;
	/* a number over all lists, which only a restore lets pass, is no socket's: CPU_ID_NONE */
	*ret_scope = (struct scope){ .has_socket = true, .socket = hwloc_bitmap_first(sockets) };
	*ret_list = selector->text + length + 1;
	return 0;
}

/* The sockets that have the @id. CPUs without a socket number count as one socket more. */
static int sockets_of_id(const struct context *ctx, enum selector_kind kind,
			 const struct scope *scope, long id, hwloc_bitmap_t ret_sockets,
			 bool *ret_is_ambiguous)
{
	bool has_none = false;

	hwloc_bitmap_zero(ret_sockets);
	for (size_t i = 0; i < ctx->nr_places; i++) {
		const struct place *place = &ctx->places[i];

		if (place_id(place, kind) != id || !is_in_scope(place, scope))
			continue;
		if (place->socket == CPU_ID_NONE)
			has_none = true;
		else if (set_add(ret_sockets, (unsigned int)place->socket))
			return -ENOMEM;
	}
	*ret_is_ambiguous = cpus_count(ret_sockets) + has_none > 1;
	return 0;
}

static int check_sockets(struct context *ctx, const struct selector *selector,
			 const struct scope *scope, hwloc_const_bitmap_t ids)
{
	_cleanup_cpus_ hwloc_bitmap_t sockets = hwloc_bitmap_alloc();
	_cleanup_free_ char *list = NULL;
	const struct id_kind *kind = &id_kinds[selector->kind];
	bool is_ambiguous;
	unsigned int id;

	if (!sockets)
		return -ENOMEM;
	cpus_foreach(id, ids) {
		int r = sockets_of_id(ctx, selector->kind, scope, (long)id, sockets, &is_ambiguous);

		if (r)
			return r;
		if (!is_ambiguous)
			continue;
		list = name_set("socket", sockets);
		if (!list)
			return -ENOMEM;
		return reject(ctx, kind->ambiguous_rule, NULL,
			      "Put the socket in front, as in --die 1:0 or --core 1:0-3.",
			      "the number does not say which %s is meant: %s %u is in %s",
			      kind->word, kind->word, id, list);
	}
	return 0;
}

/* True where CPUs of one core number are of several cores: other siblings, or another die. */
static bool is_several_cores(const struct context *ctx, hwloc_const_bitmap_t cpus)
{
	const struct cpu *first = NULL;
	unsigned int cpu;

	cpus_foreach(cpu, cpus) {
		const struct cpu *c = &ctx->machine->cpus[cpu];

		if (!first)
			first = c;
		if (first->die != c->die ||
		    (first->siblings && !hwloc_bitmap_isset(first->siblings, cpu)))
			return true;
	}
	return false;
}

/* One die or core, of which is known that one socket at most has it. */
static int match_scoped_id(struct context *ctx, enum selector_kind kind, const struct scope *scope,
			   unsigned int id, struct match *match)
{
	_cleanup_cpus_ hwloc_bitmap_t one = hwloc_bitmap_alloc(), cpus = hwloc_bitmap_alloc();
	_cleanup_free_ char *list = NULL;
	int r;

	if (!one || !cpus || set_add(one, id))
		return -ENOMEM;
	r = add_places(ctx, kind, scope, one, cpus);
	if (r)
		return r;
	if (!ctx->machine)
		return set_unite(match->cpus, cpus);
	if (match_add(ctx, cpus, match) || hwloc_bitmap_and(cpus, cpus, ctx->machine->online))
		return -ENOMEM;
	if (kind != SELECT_CORE || !is_several_cores(ctx, cpus))
		return 0;
	list = name_set("CPU", cpus);
	if (!list)
		return -ENOMEM;
	return reject(ctx, "core-ambiguous", cpus, "Name a CPU of the core with --core-of.",
		      "several cores have the number %u: %s are not of one core", id, list);
}

static int match_scoped(struct context *ctx, const struct selector *selector, struct match *match)
{
	_cleanup_cpus_ hwloc_bitmap_t ids = hwloc_bitmap_alloc(), existing = hwloc_bitmap_alloc();
	const struct scope anywhere = { 0 };
	struct scope scope;
	const char *list;
	unsigned int id;
	int r;

	if (!ids || !existing)
		return -ENOMEM;
	/* where there are no such numbers at all, the socket in front is not what is wrong */
	r = existing_ids(ctx, selector->kind, &anywhere, existing);
	if (!r && ctx->machine && cpus_is_empty(existing))
		r = reject_kind(ctx, selector->kind, &anywhere);
	if (!r)
		r = parse_scope(ctx, selector, &scope, &list);
	if (!r)
		r = parse_ids(ctx, selector, list, selector->kind, &scope, ids);
	/* numbers that a restore does not find are of no account */
	if (!r && hwloc_bitmap_and(ids, ids, existing))
		r = -ENOMEM;
	if (!r)
		r = check_sockets(ctx, selector, &scope, ids);
	if (r)
		return r;
	cpus_foreach(id, ids) {
		r = match_scoped_id(ctx, selector->kind, &scope, id, match);
		if (r)
			return r;
	}
	return 0;
}

/* ---- cores and caches by a CPU ----------------------------------------------------------- */

static int refuse_hidden(struct context *ctx, unsigned int cpu, const char *word)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();

	if (!cpus || set_add(cpus, cpu))
		return -ENOMEM;
	return refuse(ctx, "offline-place-unknown", cpus,
		      "Name another CPU of it, one that is online.",
		      "CPU %u is offline, and the kernel hides its %s", cpu, word);
}

static int add_same_core(const struct context *ctx, const struct place *place, hwloc_bitmap_t cpus)
{
	for (size_t i = 0; i < ctx->nr_places; i++)
		if (is_same_core(&ctx->places[i], place) && set_add(cpus, ctx->places[i].cpu))
			return -ENOMEM;
	return 0;
}

/* The siblings that the kernel shows, and those that are offline, by their place. */
static int match_core(struct context *ctx, const struct place *place, struct match *match)
{
	_cleanup_cpus_ hwloc_bitmap_t core = hwloc_bitmap_alloc();
	const struct cpu *cpu = &ctx->machine->cpus[place->cpu];
	int r;

	if (!core)
		return -ENOMEM;
	r = add_same_core(ctx, place, core);
	if (!r && cpu->is_online && cpu->siblings &&
	    (hwloc_bitmap_andnot(core, core, ctx->machine->online) ||
	     set_unite(core, cpu->siblings)))
		r = -ENOMEM;
	return r ? r : match_add(ctx, core, match);
}

static int match_core_of_cpu(struct context *ctx, unsigned int number, struct match *match)
{
	const struct place *place = find_place(ctx, number);
	struct place stayed;
	const struct cpu *cpu;

	if (!ctx->machine) {
		/* another journal may have it, or it stayed online while its sibling went */
		if (!place && machine_has_cpu(ctx->now, number)) {
			stayed = place_of(ctx->now, number);
			place = &stayed;
		}
		return place ? add_same_core(ctx, place, match->cpus) : 0;
	}
	cpu = &ctx->machine->cpus[number];
	if (!cpu->siblings && place->core == CPU_ID_NONE) {
		if (!cpu->is_online)
			return refuse_hidden(ctx, number, id_kinds[SELECT_CORE_OF].word);
		return reject(ctx, id_kinds[SELECT_CORE_OF].missing_rule, NULL, "Select by --cpu.",
			      "the kernel does not show which core CPU %u belongs to", number);
	}
	return match_core(ctx, place, match);
}

static int match_core_of(struct context *ctx, const struct selector *selector, struct match *match)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	unsigned int cpu;
	int r;

	if (!cpus)
		return -ENOMEM;
	r = parse_cpus(ctx, selector, cpus);
	if (r)
		return r;
	cpus_foreach(cpu, cpus) {
		r = match_core_of_cpu(ctx, cpu, match);
		if (r)
			return r;
	}
	return 0;
}

static int reject_hidden_kind(struct context *ctx, const char *option)
{
	return reject(ctx, "selection-invalid", NULL,
		      "Select by --socket, --die, --core-of or --cpu.",
		      "--%s cannot be resolved while the CPUs are offline: the kernel hides what "
		      "it needs",
		      option);
}

static int match_cache_of_cpu(struct context *ctx, unsigned int cpu, struct match *match)
{
	_cleanup_cpus_ hwloc_bitmap_t sharers = hwloc_bitmap_alloc(), self = hwloc_bitmap_alloc();
	int r;

	if (!sharers || !self || set_add(self, cpu))
		return -ENOMEM;
	r = topology_kernel_last_cache(ctx->root, ctx->machine, cpu, sharers);
	if (r == -ENOENT && !ctx->machine->cpus[cpu].is_online)
		return refuse_hidden(ctx, cpu, id_kinds[SELECT_L3_OF].word);
	if (r == -ENOENT)
		return refuse(ctx, "no-such-cache", self, "Select by --die, --core-of or --cpu.",
			      "the kernel shows no cache of CPU %u", cpu);
	return r ? r : match_add(ctx, sharers, match);
}

static int match_l3_of(struct context *ctx, const struct selector *selector, struct match *match)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	unsigned int cpu;
	int r;

	if (!cpus)
		return -ENOMEM;
	r = parse_cpus(ctx, selector, cpus);
	if (!r && !ctx->machine)
		r = reject_hidden_kind(ctx, "l3-of");
	if (r)
		return r;
	cpus_foreach(cpu, cpus) {
		/* it shares the cache of a CPU before it */
		if (hwloc_bitmap_isset(match->cpus, cpu))
			continue;
		r = match_cache_of_cpu(ctx, cpu, match);
		if (r)
			return r;
	}
	return 0;
}

/* ---- APIC ids and machine checks --------------------------------------------------------- */

static int read_apicids(struct context *ctx)
{
	return ctx->apicids ? 0 : topology_read_apicids(ctx->root, ctx->machine, &ctx->apicids);
}

/* The online CPU with this APIC id, or CPU_NONE. */
static unsigned int cpu_of_apicid(const struct context *ctx, long id)
{
	for (unsigned int cpu = 0; cpu < ctx->machine->nr_cpus; cpu++)
		if (ctx->apicids[cpu] == id)
			return cpu;
	return CPU_NONE;
}

static int match_apicid(struct context *ctx, const struct selector *selector, struct match *match)
{
	_cleanup_cpus_ hwloc_bitmap_t existing = hwloc_bitmap_alloc(), ids = hwloc_bitmap_alloc(),
				      missing = hwloc_bitmap_alloc();
	const struct scope anywhere = { 0 };
	unsigned int id;
	bool is_over;
	int r;

	if (!existing || !ids || !missing)
		return -ENOMEM;
	if (!ctx->machine)
		return reject_hidden_kind(ctx, "apicid");
	r = read_apicids(ctx);
	for (unsigned int cpu = 0; !r && cpu < ctx->machine->nr_cpus; cpu++)
		if (ctx->apicids[cpu] != CPU_ID_NONE &&
		    set_add(existing, (unsigned int)ctx->apicids[cpu]))
			r = -ENOMEM;
	if (!r)
		r = parse_list(ctx, selector, selector->text, list_max(existing), ids, &is_over);
	if (r)
		return r;
	if (cpus_is_empty(existing))
		return reject(ctx, "no-such-apicid", NULL, "Select by --cpu or --core-of.",
			      "this machine has no APIC ids: the kernel gives none for its CPUs");
	if (hwloc_bitmap_andnot(missing, ids, existing))
		return -ENOMEM;
	if (is_over || !cpus_is_empty(missing))
		return reject_missing(ctx, SELECT_APICID, &anywhere, missing, is_over, existing);
	cpus_foreach(id, ids)
		if (set_add(match->cpus, cpu_of_apicid(ctx, (long)id)))
			return -ENOMEM;
	return 0;
}

/* "CPU 2, APIC id 4, socket 0"; NULL where there is no memory. */
static char *name_mce(const struct mce *mce)
{
	_cleanup_free_ char *cpu =
		mce->cpu == MCE_NONE ? strdup("") : util_asprintf(", CPU %ld", mce->cpu);
	_cleanup_free_ char *apic =
		mce->apic == MCE_NONE ? strdup("") : util_asprintf(", APIC id %ld", mce->apic);
	_cleanup_free_ char *socket =
		mce->socket == MCE_NONE ? strdup("") : util_asprintf(", socket %ld", mce->socket);
	_cleanup_free_ char *all =
		cpu && apic && socket ? util_asprintf("%s%s%s", cpu, apic, socket) : NULL;

	return all ? strdup(all + 2) : NULL;
}

static int refuse_mce(struct context *ctx, const struct mce *mce, const char *why)
{
	_cleanup_free_ char *name = name_mce(mce);

	if (!name)
		return -ENOMEM;
	return refuse(
		ctx, "mce-elsewhere", NULL,
		"Make sure that the text is of this machine and of this boot, and select with "
		"--core-of or --socket.",
		"the machine check of %s %s", name, why);
}

/*
 * The CPU that reported a machine check: number and APIC id have to agree, since numbers may be
 * others after a reboot. CPU_NONE: a finding says why not.
 */
static int find_reporter(struct context *ctx, const struct mce *mce, unsigned int *ret_cpu)
{
	const struct place *place;
	unsigned int by_apic = CPU_NONE;

	*ret_cpu = CPU_NONE;
	if (mce->apic != MCE_NONE)
		by_apic = cpu_of_apicid(ctx, mce->apic);
	if (mce->cpu == MCE_NONE && by_apic == CPU_NONE)
		return refuse_mce(ctx, mce, "names no CPU that is online here");
	place = find_place(ctx, mce->cpu == MCE_NONE ? by_apic : (unsigned int)mce->cpu);
	if (!place)
		return refuse_mce(ctx, mce, "is of a CPU that this machine does not have");
	if (mce->apic != MCE_NONE && by_apic != place->cpu &&
	    (by_apic != CPU_NONE || ctx->apicids[place->cpu] != CPU_ID_NONE))
		return refuse_mce(ctx, mce,
				  "is not of this machine as it is: that CPU has another "
				  "APIC id here");
	if (mce->socket != MCE_NONE && place->socket != CPU_ID_NONE && mce->socket != place->socket)
		return refuse_mce(ctx, mce,
				  "is not of this machine as it is: that CPU is in another "
				  "socket here");
	*ret_cpu = place->cpu;
	return 0;
}

static int match_socket_number(struct context *ctx, long socket, struct match *match)
{
	if (set_add(match->ids, (unsigned int)socket))
		return -ENOMEM;
	return add_places(ctx, SELECT_SOCKET, &(struct scope){ 0 }, match->ids, match->cpus);
}

static int match_one_mce(struct context *ctx, const struct mce *mce, struct match *match)
{
	bool has_socket_alone = mce->cpu == MCE_NONE && mce->apic == MCE_NONE;
	_cleanup_cpus_ hwloc_bitmap_t existing = hwloc_bitmap_alloc();
	unsigned int cpu;
	long socket;
	int r;

	if (!existing)
		return -ENOMEM;
	if (has_socket_alone && !ctx->socket_of)
		return refuse_mce(ctx, mce, "names no CPU; --socket-of takes the whole socket");
	r = existing_ids(ctx, SELECT_SOCKET, &(struct scope){ 0 }, existing);
	if (!r && has_socket_alone)
		return hwloc_bitmap_isset(existing, (unsigned int)mce->socket)
			       ? match_socket_number(ctx, mce->socket, match)
			       : refuse_mce(ctx, mce, "is of a socket that is not here");
	if (!r)
		r = find_reporter(ctx, mce, &cpu);
	if (r || cpu == CPU_NONE)
		return r;
	if (!ctx->socket_of)
		return match_core_of_cpu(ctx, cpu, match);
	socket = find_place(ctx, cpu)->socket;
	return socket == CPU_ID_NONE ? refuse_hidden(ctx, cpu, id_kinds[SELECT_SOCKET].word)
				     : match_socket_number(ctx, socket, match);
}

static int match_mce(struct context *ctx, const struct selector *selector, struct match *match)
{
	_cleanup_(mces_free) struct mces mces = { 0 };
	int r;

	if (!ctx->machine)
		return reject_hidden_kind(ctx, "mce");
	r = mce_parse(selector->content, &mces);
	if (!r)
		r = read_apicids(ctx);
	if (!r && !mces.nr)
		r = reject(ctx, "selection-invalid", NULL,
			   "Give the lines of the kernel's log, of rasdaemon or of mcelog, or the "
			   "name of a file that has them.",
			   "--mce: no machine check that names a CPU is in this text");
	for (size_t i = 0; !r && i < mces.nr; i++)
		r = match_one_mce(ctx, &mces.list[i], match);
	return r;
}

/* ---- devices ----------------------------------------------------------------------------- */

static int reject_device(struct context *ctx, const char *name, bool exists)
{
	if (exists)
		return refuse(ctx, "device-place-unknown", NULL,
			      "Name the PCI device, network interface or disk below it, or select "
			      "by --node.",
			      "the kernel does not show which CPUs are near %s", name);
	return reject(ctx, "no-such-device", NULL,
		      "Name a PCI address such as 0000:3b:00.0, a network interface or a disk.",
		      "there is no PCI device, network interface or disk %s", name);
}

/* CPUs of the device's node that are offline, by their places. */
static int add_offline_of_node(struct context *ctx, long node, struct match *match)
{
	for (size_t i = 0; i < ctx->nr_places; i++) {
		const struct place *place = &ctx->places[i];

		if (node != CPU_ID_NONE && place->node == node &&
		    !ctx->machine->cpus[place->cpu].is_online && set_add(match->cpus, place->cpu))
			return -ENOMEM;
	}
	return 0;
}

/* Adds the CPUs of one of the PCI devices that @name is on. */
static int match_device(struct context *ctx, const char *name, const char *address,
			struct match *match)
{
	_cleanup_cpus_ hwloc_bitmap_t near = hwloc_bitmap_alloc();
	long node;
	int r = near ? devices_near(ctx->root, address, ctx->machine->nr_cpus - 1, near, &node)
		     : -ENOMEM;

	if (r)
		return r == -ENOMEM ? r : reject_device(ctx, name, true);
	/* where the firmware says nothing, all CPUs are near */
	if (node == CPU_ID_NONE && hwloc_bitmap_isincluded(ctx->machine->online, near))
		return reject_device(ctx, name, true);
	if (hwloc_bitmap_and(near, near, ctx->machine->present) ||
	    hwloc_bitmap_or(match->cpus, match->cpus, near))
		return -ENOMEM;
	return add_offline_of_node(ctx, node, match);
}

static int match_near(struct context *ctx, const struct selector *selector, struct match *match)
{
	const char *name = selector->text;
	int r;

	if (!ctx->machine)
		return reject_hidden_kind(ctx, "near");
	r = devices_find(ctx->root, name, &match->devices);
	if (r)
		return r == -ENOMEM ? r : reject_device(ctx, name, r != -ENOENT);
	for (size_t i = 0; !r && !ctx->has_refusal && i < match->devices.nr; i++)
		r = match_device(ctx, name, match->devices.list[i], match);
	return r;
}

/* ---- hardware threads -------------------------------------------------------------------- */

/* An offline CPU is not the first online thread of a core that has one. */
static bool has_online_sibling(const struct context *ctx, const struct place *place)
{
	for (size_t i = 0; i < ctx->nr_places; i++)
		if (ctx->machine->cpus[ctx->places[i].cpu].is_online &&
		    is_same_core(&ctx->places[i], place))
			return true;
	return false;
}

static bool is_later_thread(const struct context *ctx, const struct place *place)
{
	const struct cpu *cpu;

	if (!ctx->machine)
		return place->thread > 0;
	cpu = &ctx->machine->cpus[place->cpu];
	if (!cpu->is_online)
		return place->thread > 0 || has_online_sibling(ctx, place);
	return cpu->siblings && cpus_first_among(cpu->siblings, ctx->machine->online) != place->cpu;
}

static int match_smt(struct context *ctx, struct match *match)
{
	for (size_t i = 0; i < ctx->nr_places; i++)
		if (is_later_thread(ctx, &ctx->places[i]) &&
		    set_add(match->cpus, ctx->places[i].cpu))
			return -ENOMEM;
	return 0;
}

/* ---- hwloc confirms ---------------------------------------------------------------------- */

static int report_difference(struct context *ctx, const struct selector *selector,
			     hwloc_const_bitmap_t kernel, hwloc_const_bitmap_t hwloc, bool complete)
{
	_cleanup_free_ char *ours = name_cpus(kernel), *theirs = name_cpus(hwloc);
	const char *option = selector_kind_format(selector->kind);
	/* of a text the words would hide what is said of it */
	const char *text = selector->kind == SELECT_MCE ? "" : selector->text;
	const char *blank = *text ? " " : "";
	const char *basis = selector->kind == SELECT_SMT ? ", by the siblings of each core," : "";

	if (!ours || !theirs)
		return -ENOMEM;
	if (complete)
		return tell(ctx, "topology-disagreement", SEVERITY_NOTE, kernel, NULL,
			    "--%s%s%s means %s in the kernel's files%s and %s to hwloc; the "
			    "kernel's files are complete and count",
			    option, blank, text, ours, basis, theirs);
	return refuse(ctx, "topology-contradiction", kernel,
		      "Select the CPUs themselves with --cpu.",
		      "--%s%s%s means %s in the kernel's files%s and %s to hwloc, and the kernel's "
		      "files alone leave doubt",
		      option, blank, text, ours, basis, theirs);
}

/* Compares what a selector means to the kernel with what it means to hwloc, both of online CPUs. */
static int confirm(struct context *ctx, const struct selector *selector, enum selector_kind kind,
		   const struct match *match)
{
	_cleanup_cpus_ hwloc_bitmap_t kernel = hwloc_bitmap_alloc(), hwloc = hwloc_bitmap_alloc();
	const char *device = "";
	bool complete;
	int r = 0;

	if (!kernel || !hwloc || hwloc_bitmap_and(kernel, match->cpus, ctx->machine->online))
		return -ENOMEM;
	if (!ctx->topology)
		return tell(ctx, "hwloc-unavailable", SEVERITY_NOTE, NULL, NULL,
			    "hwloc could not read this machine, so the selection rests on the "
			    "kernel's files alone");
	for (size_t i = 0; kind == SELECT_NEAR && !r && i < match->devices.nr; i++) {
		device = match->devices.list[i];
		r = confirm_ask_near(ctx->machine, ctx->topology, device, hwloc);
	}
	if (kind != SELECT_NEAR)
		r = confirm_ask(ctx->machine, ctx->topology, kind, match->ids, hwloc);
	if (r == -ENOENT)
		return tell(ctx, "hwloc-unavailable", SEVERITY_NOTE, NULL, NULL,
			    "hwloc does not show %s, so the selection rests on the kernel's files "
			    "alone",
			    device);
	if (r || hwloc_bitmap_isequal(kernel, hwloc))
		return r;
	r = confirm_is_complete(ctx->root, ctx->machine, kind, kernel, &complete);
	return r ? r : report_difference(ctx, selector, kernel, hwloc, complete);
}

static int refuse_siblings(struct context *ctx, unsigned int a, unsigned int b)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	const struct machine *machine = ctx->machine;
	_cleanup_free_ char *of_a = cpus_format(machine->cpus[a].siblings);
	_cleanup_free_ char *of_b = machine->cpus[b].siblings
					    ? cpus_format(machine->cpus[b].siblings)
					    : strdup("nothing");

	if (!cpus || !of_a || !of_b || set_add(cpus, a) || set_add(cpus, b))
		return -ENOMEM;
	return refuse(ctx, "topology-contradiction", cpus,
		      "Run cpuoff again once no CPU changes state, or select with --cpu.",
		      "the kernel's files contradict each other: the core of CPU %u is %s, and "
		      "the core of CPU %u is %s",
		      a, of_a, b, of_b);
}

/* Siblings that do not name each other: CPUs came or went meanwhile, or the files are wrong. */
static int check_siblings(struct context *ctx, hwloc_const_bitmap_t cpus)
{
	const struct machine *machine = ctx->machine;
	unsigned int cpu, sibling;

	cpus_foreach(cpu, cpus) {
		hwloc_const_bitmap_t siblings = machine->cpus[cpu].siblings;

		if (!siblings || !machine->cpus[cpu].is_online)
			continue;
		cpus_foreach(sibling, siblings) {
			const struct cpu *other = &machine->cpus[sibling];

			if (other->is_online &&
			    (!other->siblings || !hwloc_bitmap_isequal(siblings, other->siblings)))
				return refuse_siblings(ctx, cpu, sibling);
		}
	}
	return 0;
}

/* ---- one selector ------------------------------------------------------------------------ */

static int match_selector(struct context *ctx, const struct selector *selector, struct match *match)
{
	switch (selector->kind) {
	case SELECT_SOCKET:
		return match_socket(ctx, selector, match);
	case SELECT_NODE:
		return match_node(ctx, selector, match);
	case SELECT_DIE:
	case SELECT_CORE:
		return match_scoped(ctx, selector, match);
	case SELECT_CORE_OF:
		return match_core_of(ctx, selector, match);
	case SELECT_L3_OF:
		return match_l3_of(ctx, selector, match);
	case SELECT_SMT:
		return match_smt(ctx, match);
	case SELECT_APICID:
		return match_apicid(ctx, selector, match);
	case SELECT_MCE:
		return match_mce(ctx, selector, match);
	case SELECT_NEAR:
		return match_near(ctx, selector, match);
	case SELECT_CPU:
	case SELECT_EXCEPT:
		return parse_cpus(ctx, selector, match->cpus);
	}
	return -EINVAL;
}

/* What hwloc has objects of: a machine check selects a core, or a socket. */
static enum selector_kind object_kind(const struct context *ctx, enum selector_kind kind)
{
	if (kind != SELECT_MCE)
		return kind;
	return ctx->socket_of ? SELECT_SOCKET : SELECT_CORE_OF;
}

static int check_match(struct context *ctx, const struct selector *selector,
		       const struct match *match)
{
	enum selector_kind kind = object_kind(ctx, selector->kind);
	int r = 0;

	if (kind == SELECT_CPU || kind == SELECT_EXCEPT || kind == SELECT_APICID ||
	    cpus_is_empty(match->cpus))
		return 0;
	if (kind == SELECT_SMT)
		r = check_siblings(ctx, ctx->machine->online);
	else if (kind == SELECT_CORE || kind == SELECT_CORE_OF)
		r = check_siblings(ctx, match->cpus);
	return r ? r : confirm(ctx, selector, kind, match);
}

/* What all selectors of one sort mean together. */
struct tally {
	hwloc_bitmap_t named, threads, excepted;
	bool has_named, has_threads;
};

static void tally_free(struct tally *tally)
{
	hwloc_bitmap_free(tally->named);
	hwloc_bitmap_free(tally->threads);
	hwloc_bitmap_free(tally->excepted);
}

static int tally_alloc(struct tally *tally)
{
	tally->named = hwloc_bitmap_alloc();
	tally->threads = hwloc_bitmap_alloc();
	tally->excepted = hwloc_bitmap_alloc();
	return tally->named && tally->threads && tally->excepted ? 0 : -ENOMEM;
}

static int tally_add(struct tally *tally, enum selector_kind kind, hwloc_const_bitmap_t cpus)
{
	if (kind == SELECT_EXCEPT)
		return set_unite(tally->excepted, cpus);
	if (kind == SELECT_SMT) {
		tally->has_threads = true;
		return set_unite(tally->threads, cpus);
	}
	tally->has_named = true;
	return set_unite(tally->named, cpus);
}

/* The selection as a whole, and in @ret_is_excepted whether --except is why it is empty. */
static int tally_close(const struct tally *tally, hwloc_bitmap_t ret_cpus, bool *ret_is_excepted)
{
	int r = hwloc_bitmap_copy(ret_cpus, tally->has_named ? tally->named : tally->threads);

	if (!r && tally->has_threads)
		r = hwloc_bitmap_and(ret_cpus, ret_cpus, tally->threads);
	*ret_is_excepted = !cpus_is_empty(ret_cpus);
	if (!r)
		r = hwloc_bitmap_andnot(ret_cpus, ret_cpus, tally->excepted);
	return r ? -ENOMEM : 0;
}

static int resolve(struct context *ctx, const struct selector *selector, struct tally *tally,
		   hwloc_bitmap_t ret_online)
{
	_cleanup_(match_free) struct match match = { 0 };
	int r = match_alloc(&match);

	if (!r)
		r = match_selector(ctx, selector, &match);
	if (!r && ctx->machine)
		r = check_match(ctx, selector, &match);
	/* a finding says why; the other selectors are looked at all the same */
	if (r)
		return r == -EINVAL ? 0 : r;
	r = tally_add(tally, selector->kind, match.cpus);
	if (!r && ret_online && ctx->machine &&
	    hwloc_bitmap_and(ret_online, match.cpus, ctx->machine->online))
		r = -ENOMEM;
	return r;
}

static int reject_empty(struct context *ctx, const struct tally *tally, bool is_excepted)
{
	const char *control = ctx->machine ? ctx->machine->smt_control : NULL;

	if (!tally->has_named && !tally->has_threads)
		return reject(ctx, "selection-empty", NULL,
			      "Name what is meant with --socket, --node, --die, --core, "
			      "--core-of, --l3-of, --cpu or --smt.",
			      "nothing is selected");
	if (is_excepted)
		return reject(
			ctx, "selection-empty", NULL, "Leave some of the CPUs out of --except.",
			"nothing is selected: --except takes away every CPU that the rest names");
	if (tally->has_named)
		return reject(ctx, "selection-empty", NULL, "Leave --smt out to take whole cores.",
			      "nothing is selected: every CPU that is named is the first online "
			      "hardware thread of its core, and --smt keeps those");
	if (control)
		return reject(
			ctx, "selection-empty", NULL, show_remedy,
			"nothing is selected: no core has more than one hardware thread online "
			"(SMT control reads \"%s\")",
			control);
	return reject(ctx, "selection-empty", NULL, show_remedy,
		      "nothing is selected: no core has more than one hardware thread online");
}

/* ---- what the user should know ----------------------------------------------------------- */

static int note_hidden(struct context *ctx, enum selector_kind kind)
{
	_cleanup_cpus_ hwloc_bitmap_t hidden = hwloc_bitmap_alloc(),
				      existing = hwloc_bitmap_alloc();
	_cleanup_free_ char *cpus = NULL;
	bool is_single;
	int r;

	if (!hidden || !existing)
		return -ENOMEM;
	r = existing_ids(ctx, kind, &(struct scope){ 0 }, existing);
	if (!r)
		r = hidden_cpus(ctx, kind, hidden);
	if (r || cpus_is_empty(hidden) || (cpus_is_empty(existing) && kind != SELECT_L3_OF))
		return r;
	cpus = name_set("CPU", hidden);
	if (!cpus)
		return -ENOMEM;
	is_single = cpus_count(hidden) == 1;
	return tell(ctx, "offline-place-unknown", SEVERITY_NOTE, hidden, NULL,
		    "%s %s offline and the kernel hides %s %s; %s not part of this selection", cpus,
		    is_single ? "is" : "are", is_single ? "its" : "their", id_kinds[kind].word,
		    is_single ? "it is" : "they are");
}

/*
 * Phones call each cluster of one chip a socket, some hypervisors each virtual CPU. Real boards
 * have had up to four sockets a node (front side bus machines, ia64), never more; a machine without
 * nodes and with more than two sockets is a phone. There a "socket" is nothing that can be pulled.
 */
static int warn_sockets(struct context *ctx)
{
	_cleanup_cpus_ hwloc_bitmap_t sockets = hwloc_bitmap_alloc();
	unsigned int nr_sockets, nr_nodes = 0;
	int r;

	if (!sockets)
		return -ENOMEM;
	r = existing_ids(ctx, SELECT_SOCKET, &(struct scope){ 0 }, sockets);
	if (r)
		return r;
	for (size_t i = 0; i < ctx->machine->nr_nodes; i++)
		nr_nodes += !cpus_is_empty(ctx->machine->nodes[i].cpus);
	nr_sockets = cpus_count(sockets);
	if (nr_sockets <= 2 || nr_sockets <= 4 * nr_nodes)
		return 0;
	return tell(ctx, "sockets-outnumber-nodes", SEVERITY_WARN, NULL,
		    "Make sure that the number stands for what is to be serviced.",
		    "the kernel shows %u sockets and %u NUMA node%s with CPUs; such sockets are "
		    "often clusters of one chip or virtual CPUs, not packages",
		    nr_sockets, nr_nodes, nr_nodes == 1 ? "" : "s");
}

static int add_notes(struct context *ctx, const struct request *request)
{
	unsigned int told = 0;
	int r = 0;

	for (size_t i = 0; !r && i < request->nr_selectors; i++) {
		enum selector_kind kind = request->selectors[i].kind;

		if (told & BIT(kind))
			continue;
		told |= BIT(kind);
		if (kind == SELECT_SOCKET || kind == SELECT_NODE || kind == SELECT_DIE ||
		    kind == SELECT_CORE || kind == SELECT_L3_OF)
			r = note_hidden(ctx, kind);
		if (!r && kind == SELECT_SOCKET)
			r = warn_sockets(ctx);
	}
	return r;
}

/* ---- a selection ------------------------------------------------------------------------- */

/* The kernel's own word goes first; journals say where the CPUs are that it hides. */
static void place_from_journal(struct place *place, const struct operation *operation)
{
	const struct place *kept = operation_find_place(operation, place->cpu);

	if (!kept)
		return;
	if (place->socket == CPU_ID_NONE && place->core == CPU_ID_NONE) {
		place->socket = kept->socket;
		place->die = kept->die;
		place->core = kept->core;
		place->thread = kept->thread;
	}
	if (place->node == CPU_ID_NONE)
		place->node = kept->node;
}

/* A CPU that is gone from the machine and has to come back. */
static bool is_awaited(unsigned int cpu, const struct operation *const *operations,
		       size_t nr_operations)
{
	for (size_t i = 0; i < nr_operations; i++)
		if (hwloc_bitmap_isset(operations[i]->claim, cpu) &&
		    operation_find_place(operations[i], cpu))
			return true;
	return false;
}

static struct place *read_places(const struct machine *machine,
				 const struct operation *const *operations, size_t nr_operations,
				 size_t *ret_nr_places)
{
	struct place *places = calloc(machine->nr_cpus + 1, sizeof(*places));
	size_t nr = 0;

	if (!places)
		return NULL;
	for (unsigned int cpu = 0; cpu < machine->nr_cpus; cpu++) {
		const struct cpu *c = &machine->cpus[cpu];
		struct place *place = &places[nr];

		if (!c->is_present && !is_awaited(cpu, operations, nr_operations))
			continue;
		*place = place_of(machine, cpu);
		for (size_t i = 0; !c->is_online && i < nr_operations; i++)
			place_from_journal(place, operations[i]);
		nr++;
	}
	*ret_nr_places = nr;
	return places;
}

static int selection_alloc(const struct request *request, struct selection *selection)
{
	selection->target = hwloc_bitmap_alloc();
	selection->already_offline = hwloc_bitmap_alloc();
	selection->selectors = calloc(request->nr_selectors + 1, sizeof(*selection->selectors));
	if (!selection->target || !selection->already_offline || !selection->selectors)
		return -ENOMEM;
	for (size_t i = 0; i < request->nr_selectors; i++) {
		selection->selectors[i].selector = &request->selectors[i];
		selection->selectors[i].cpus = hwloc_bitmap_alloc();
		selection->nr_selectors++;
		if (!selection->selectors[i].cpus)
			return -ENOMEM;
	}
	return 0;
}

static int finish(struct context *ctx, const struct tally *tally, struct selection *selection)
{
	bool is_excepted;
	int r = tally_close(tally, selection->target, &is_excepted);

	if (r)
		return r;
	if (cpus_is_empty(selection->target) && !ctx->has_refusal) {
		r = reject_empty(ctx, tally, is_excepted);
		if (r != -EINVAL)
			return r;
	}
	if (hwloc_bitmap_andnot(selection->already_offline, selection->target,
				ctx->machine->online) ||
	    hwloc_bitmap_and(selection->target, selection->target, ctx->machine->online))
		return -ENOMEM;
	return 0;
}

bool select_needs_topology(const struct request *request)
{
	for (size_t i = 0; i < request->nr_selectors; i++)
		if (request->selectors[i].kind != SELECT_CPU &&
		    request->selectors[i].kind != SELECT_APICID &&
		    request->selectors[i].kind != SELECT_EXCEPT)
			return true;
	return false;
}

int select_resolve(const struct request *request, const struct root *root,
		   const struct machine *machine, const struct topology *topology,
		   const struct operation *const *operations, size_t nr_operations,
		   struct findings *findings, struct selection *ret_selection)
{
	_cleanup_(selection_free) struct selection selection = { 0 };
	_cleanup_(tally_free) struct tally tally = { 0 };
	struct context ctx = {
		.findings = findings,
		.machine = machine,
		.root = root,
		.topology = topology,
		.socket_of = request->socket_of,
	};
	_cleanup_free_ struct place *places =
		read_places(machine, operations, nr_operations, &ctx.nr_places);
	int r;

	if (!places)
		return -ENOMEM;
	ctx.places = places;
	r = selection_alloc(request, &selection);
	if (!r)
		r = tally_alloc(&tally);
	for (size_t i = 0; !r && i < request->nr_selectors; i++)
		r = resolve(&ctx, &request->selectors[i], &tally, selection.selectors[i].cpus);
	if (!r)
		r = finish(&ctx, &tally, &selection);
	if (!r)
		r = add_notes(&ctx, request);
	free(ctx.apicids);
	if (r)
		return r;
	*ret_selection = selection;
	selection = (struct selection){ 0 };
	return 0;
}

void selection_free(struct selection *selection)
{
	for (size_t i = 0; i < selection->nr_selectors; i++)
		hwloc_bitmap_free(selection->selectors[i].cpus);
	free(selection->selectors);
	hwloc_bitmap_free(selection->target);
	hwloc_bitmap_free(selection->already_offline);
	*selection = (struct selection){ 0 };
}

/* ---- a restore --------------------------------------------------------------------------- */

int select_restore(const struct request *request, const struct machine *machine,
		   const struct operation *operation, struct findings *findings,
		   hwloc_bitmap_t ret_cpus)
{
	_cleanup_(tally_free) struct tally tally = { 0 };
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	struct context ctx = { .findings = findings,
			       .places = operation->places,
			       .nr_places = operation->nr_places,
			       .now = machine };
	bool is_excepted;
	int r;

	if (!request->nr_selectors)
		return hwloc_bitmap_copy(ret_cpus, operation->claim) ? -ENOMEM : 0;
	r = cpus ? tally_alloc(&tally) : -ENOMEM;
	for (size_t i = 0; !r && i < request->nr_selectors; i++)
		r = resolve(&ctx, &request->selectors[i], &tally, NULL);
	if (!r && !ctx.has_refusal && !tally.has_named && !tally.has_threads) {
		r = reject_empty(&ctx, &tally, false);
		r = r == -EINVAL ? 0 : r;
	}
	if (!r)
		r = tally_close(&tally, cpus, &is_excepted);
	if (!r && hwloc_bitmap_and(ret_cpus, cpus, operation->claim))
		r = -ENOMEM;
	return r;
}
