/* SPDX-License-Identifier: GPL-2.0-or-later */
/* service.c - the service verdict: whether the hardware of some CPUs can be taken away */
#include "core/service.h"

#include <errno.h>
#include <string.h>

#include "host/devices.h"
#include "host/memory.h"

struct context {
	const struct root *root;
	const struct machine *machine;
	const struct operation *const *operations;
	size_t nr_operations;
	hwloc_const_bitmap_t part, online;
	hwloc_bitmap_t sockets, nodes;
	struct service *service;
};

_printf_(4, 5) static int add_blocker(struct service *service, const char *kind, char *object,
				      const char *fmt, ...)
{
	struct blocker *list, added = { .kind = kind, .object = object };
	va_list ap;

	va_start(ap, fmt);
	added.message = util_vasprintf(fmt, ap);
	va_end(ap);
	list = util_grow(service->list, service->nr, sizeof(*list));
	if (list)
		service->list = list;
	if (!list || !added.object || !added.message) {
		free(added.object);
		free(added.message);
		return -ENOMEM;
	}
	list[service->nr++] = added;
	return 0;
}

int service_add_unchecked(struct service *service, const char *object, const char *message)
{
	return add_blocker(service, "not-checked", strdup(object), "%s", message);
}

void service_free(struct service *service)
{
	for (size_t i = 0; i < service->nr; i++) {
		free(service->list[i].object);
		free(service->list[i].message);
	}
	free(service->list);
	*service = (struct service){ 0 };
}

/* ---- which part of the machine it is ----------------------------------------------------- */

static int add_id(hwloc_bitmap_t ids, long id)
{
	return id != CPU_ID_NONE && hwloc_bitmap_set(ids, (unsigned int)id) ? -ENOMEM : 0;
}

/* The kernel's word, and of a CPU that it hides that of the journals. */
static struct place find_place(const struct context *ctx, unsigned int cpu)
{
	const struct cpu *facts = &ctx->machine->cpus[cpu];
	struct place place = { .cpu = cpu, .socket = facts->socket, .node = facts->node };

	for (size_t i = 0; i < ctx->nr_operations; i++) {
		const struct place *kept = operation_find_place(ctx->operations[i], cpu);

		if (!kept || facts->is_online)
			continue;
		if (place.socket == CPU_ID_NONE)
			place.socket = kept->socket;
		if (place.node == CPU_ID_NONE)
			place.node = kept->node;
	}
	return place;
}

static int find_part(struct context *ctx)
{
	_cleanup_cpus_ hwloc_bitmap_t hidden = hwloc_bitmap_alloc();
	_cleanup_free_ char *list = NULL;
	unsigned int cpu;

	if (!hidden)
		return -ENOMEM;
	cpus_foreach(cpu, ctx->part) {
		struct place place = find_place(ctx, cpu);

		if (add_id(ctx->sockets, place.socket) || add_id(ctx->nodes, place.node) ||
		    (place.socket == CPU_ID_NONE && !ctx->machine->cpus[cpu].is_online &&
		     hwloc_bitmap_set(hidden, cpu)))
			return -ENOMEM;
	}
	if (cpus_is_empty(hidden))
		return 0;
	list = cpus_format(hidden);
	return add_blocker(ctx->service, "not-checked", util_asprintf("cpu %s", list ? list : ""),
			   "the kernel hides the place of offline CPUs, and no journal knows it: "
			   "which memory and devices belong to them is not known");
}

/* What is pulled is the whole socket, with all of its nodes. */
static int add_socket_nodes(struct context *ctx)
{
	unsigned int cpu;

	cpus_foreach(cpu, ctx->machine->present) {
		struct place place = find_place(ctx, cpu);

		if (place.socket != CPU_ID_NONE &&
		    hwloc_bitmap_isset(ctx->sockets, (unsigned int)place.socket) &&
		    add_id(ctx->nodes, place.node))
			return -ENOMEM;
	}
	return 0;
}

/* HBM and the like belong to a socket without having CPUs. */
static int add_memory_nodes(struct context *ctx)
{
	_cleanup_cpus_ hwloc_bitmap_t beside = hwloc_bitmap_alloc();

	if (!beside)
		return -ENOMEM;
	for (size_t i = 0; i < ctx->machine->nr_nodes; i++) {
		const struct node *node = &ctx->machine->nodes[i];
		unsigned int id = (unsigned int)node->id;

		if (cpus_is_empty(node->cpus) && !hwloc_bitmap_isset(ctx->nodes, id) &&
		    memory_is_beside(ctx->root, id, ctx->nodes) && hwloc_bitmap_set(beside, id))
			return -ENOMEM;
	}
	return hwloc_bitmap_or(ctx->nodes, ctx->nodes, beside) ? -ENOMEM : 0;
}

/* ---- CPUs -------------------------------------------------------------------------------- */

static int block_cpus(struct context *ctx, const char *word, unsigned int id,
		      hwloc_const_bitmap_t cpus)
{
	_cleanup_free_ char *list = cpus_format(cpus);
	unsigned int nr = cpus_count(cpus);

	if (!list)
		return -ENOMEM;
	return nr ? add_blocker(ctx->service, "cpu", util_asprintf("%s %u", word, id),
				"%u CPU%s of %s %u %s online: %s", nr, nr == 1 ? "" : "s", word, id,
				nr == 1 ? "is" : "are", list)
		  : 0;
}

/* A CPU that was named with its socket is not named again with its node. */
static int check_cpus(struct context *ctx)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc(), named = hwloc_bitmap_alloc(),
				      left = hwloc_bitmap_alloc();
	const struct cpu *facts = ctx->machine->cpus;
	unsigned int cpu, id;
	int r = cpus && named && left ? 0 : -ENOMEM;

	for (int is_node = 0; is_node < 2; is_node++)
		cpus_foreach(id, is_node ? ctx->nodes : ctx->sockets) {
			if (r)
				return r;
			hwloc_bitmap_zero(cpus);
			cpus_foreach(cpu, ctx->online)
				if ((is_node ? facts[cpu].node : facts[cpu].socket) == (long)id &&
				    !hwloc_bitmap_isset(named, cpu))
					hwloc_bitmap_set(cpus, cpu);
			r = block_cpus(ctx, is_node ? "node" : "socket", id, cpus);
			hwloc_bitmap_or(named, named, cpus);
		}
	if (r || hwloc_bitmap_and(left, ctx->part, ctx->online) ||
	    hwloc_bitmap_andnot(left, left, named))
		return r ? r : -ENOMEM;
	/* of no socket and no node that the kernel would tell */
	cpus_foreach(cpu, left) {
		r = add_blocker(ctx->service, "cpu", util_asprintf("cpu %u", cpu),
				"CPU %u is online", cpu);
		if (r)
			return r;
	}
	return 0;
}

/* ---- memory ------------------------------------------------------------------------------ */

static void format_size(unsigned long long kib, char *text, size_t size)
{
	if (kib >= 1ULL << 20)
		snprintf(text, size, "%.1f GiB", (double)kib / (1 << 20));
	else
		snprintf(text, size, "%llu MiB", kib >> 10);
}

/* ", 8.0 GiB of it in use" */
static char *name_use(const struct node_memory *memory)
{
	char used[32];

	if (!memory->total_kib)
		return strdup("");
	format_size(memory->total_kib - memory->free_kib, used, sizeof(used));
	return util_asprintf(", %s of it in use", used);
}

static int block_memory(struct context *ctx, unsigned int node, const struct node_memory *memory)
{
	unsigned int nr_fixed = cpus_count(memory->fixed);
	unsigned int nr = nr_fixed + cpus_count(memory->movable);
	_cleanup_free_ char *use = name_use(memory), *fixed = cpus_format(memory->fixed);
	_cleanup_free_ char *movable = cpus_format(memory->movable), *object = NULL;
	char size[32];

	object = util_asprintf("node %u", node);
	if (!use || !fixed || !movable || !object)
		return -ENOMEM;
	format_size(memory->has_blocks && memory->block_kib ? nr * memory->block_kib
							    : memory->total_kib,
		    size, sizeof(size));
	if (!memory->has_blocks)
		return add_blocker(ctx->service, "memory", steal_pointer(&object),
				   "node %u has %s of memory online%s; the kernel shows no blocks "
				   "of it that could be taken offline",
				   node, size, use);
	if (!nr_fixed)
		return add_blocker(
			ctx->service, "memory", steal_pointer(&object),
			"node %u has %u memory block%s online, %s%s; all are movable and "
			"can be taken offline: memory %s",
			node, nr, nr == 1 ? "" : "s", size, use, movable);
	return add_blocker(ctx->service, "memory", steal_pointer(&object),
			   "node %u has %u memory block%s online, %s%s; the kernel may hold pages "
			   "that cannot be moved in %u: memory %s%s%s",
			   node, nr, nr == 1 ? "" : "s", size, use, nr_fixed, fixed,
			   *movable ? "; movable: memory " : "", movable);
}

static int check_node(struct context *ctx, unsigned int node)
{
	_cleanup_(memory_free) struct node_memory memory = { 0 };
	int r = memory_read_node(ctx->root, node, &memory);

	if (r)
		return r;
	if (!memory.is_known)
		return add_blocker(ctx->service, "not-checked", util_asprintf("node %u", node),
				   "the kernel does not show the memory of node %u", node);
	if (memory.has_blocks ? cpus_is_empty(memory.fixed) && cpus_is_empty(memory.movable)
			      : !memory.total_kib)
		return 0;
	return block_memory(ctx, node, &memory);
}

static int check_memory(struct context *ctx)
{
	unsigned int node;
	int r = 0;

	if (!ctx->machine->nr_nodes)
		return add_blocker(ctx->service, "memory", strdup("machine"),
				   "the kernel shows no NUMA nodes: which memory belongs to these "
				   "CPUs is not known");
	cpus_foreach(node, ctx->nodes) {
		r = check_node(ctx, node);
		if (r)
			break;
	}
	return r;
}

/* ---- devices ----------------------------------------------------------------------------- */

/*
 * The firmware may name no node; then a device is local where all CPUs that the kernel calls near
 * are of the part.
 */
static bool is_local(const struct context *ctx, const struct device *device)
{
	if (device->node != CPU_ID_NONE)
		return hwloc_bitmap_isset(ctx->nodes, (unsigned int)device->node);
	return !cpus_is_empty(device->cpus) && hwloc_bitmap_isincluded(device->cpus, ctx->part);
}

/* Nobody misses a bridge, or a device without a driver, for itself. */
static bool is_idle(const struct device *device)
{
	return !*device->uses && (device->is_bridge || !device->driver);
}

static int block_device(struct context *ctx, const struct device *device)
{
	_cleanup_free_ char *group =
		device->iommu_group < 0 ? strdup("")
					: util_asprintf(", IOMMU group %ld", device->iommu_group);
	const char *use = *device->uses ? device->uses
			  : device->driver && !strcmp(device->driver, "vfio-pci")
				  ? "given to a virtual machine or a program (vfio-pci)"
				  : "no use of it is seen";

	if (!group)
		return -ENOMEM;
	return add_blocker(ctx->service, "device", strdup(device->address),
			   "%s %s is local to it (driver %s%s): %s", device->what, device->address,
			   device->driver ? device->driver : "none", group, use);
}

static int block_idle(struct context *ctx, const char *names, size_t nr)
{
	return add_blocker(ctx->service, "device", strdup("unused PCI devices"),
			   "%zu PCI device%s local to it, bridges or without a driver, "
			   "with no use seen: %s",
			   nr, nr == 1 ? " is" : "s are", names);
}

static int check_devices(struct context *ctx)
{
	_cleanup_(devices_free) struct devices devices = { 0 };
	_cleanup_free_ char *names = strdup("");
	size_t nr_idle = 0;
	int r = 0;

	if (!root_has(ctx->root, "sys/bus"))
		r = service_add_unchecked(ctx->service, "PCI devices",
					  "this copy of a machine does not show its devices");
	if (!r)
		r = devices_read(ctx->root, ctx->machine->nr_cpus - 1, &devices);

	for (size_t i = 0; !r && i < devices.nr; i++) {
		const struct device *device = &devices.list[i];
		char *longer;

		if (!is_local(ctx, device))
			continue;
		if (!is_idle(device)) {
			r = block_device(ctx, device);
			continue;
		}
		longer = names ? util_asprintf("%s%s%s", names, nr_idle++ ? ", " : "",
					       device->address)
			       : NULL;
		free(names);
		names = longer;
	}
	if (!r && !names)
		r = -ENOMEM;
	return r || !nr_idle ? r : block_idle(ctx, names, nr_idle);
}

/* ---- the verdict ------------------------------------------------------------------------- */

int service_judge(const struct root *root, const struct machine *machine,
		  const struct operation *const *operations, size_t nr_operations,
		  hwloc_const_bitmap_t part, hwloc_const_bitmap_t online,
		  struct service *ret_service)
{
	_cleanup_cpus_ hwloc_bitmap_t sockets = hwloc_bitmap_alloc(), nodes = hwloc_bitmap_alloc();
	struct context ctx = {
		.root = root,
		.machine = machine,
		.operations = operations,
		.nr_operations = nr_operations,
		.part = part,
		.online = online,
		.sockets = sockets,
		.nodes = nodes,
		.service = ret_service,
	};
	int r = sockets && nodes ? 0 : -ENOMEM;

	*ret_service = (struct service){ 0 };
	if (!r)
		r = find_part(&ctx);
	if (!r)
		r = add_socket_nodes(&ctx);
	if (!r)
		r = add_memory_nodes(&ctx);
	if (!r)
		r = check_cpus(&ctx);
	if (!r)
		r = check_memory(&ctx);
	return r ? r : check_devices(&ctx);
}
