/* SPDX-License-Identifier: GPL-2.0-or-later */
/* queues.c - disks whose queues lose their last CPU */
#include "host/queues.h"

#include <errno.h>
#include <string.h>

#include "host/names.h"

#define WAIT_SECONDS 0.5
#define WAIT_PAUSE   0.05
#define DISKS_MAX    64

/* A disk with requests in flight: what it had completed when it was first looked at. */
struct disk {
	char name[64];
	unsigned long completed, in_flight;
	hwloc_bitmap_t cpus; /* of queues that lose their last one */
};

/* Documentation/block/stat.rst: 1 reads done, 5 writes done, 9 in flight. */
static bool read_stat(const struct root *root, struct disk *disk, unsigned long *ret_completed)
{
	unsigned long reads, writes;
	char path[128], text[512];

	snprintf(path, sizeof(path), "sys/block/%s/stat", disk->name);
	if (root_read_buffer(root, path, text, sizeof(text)) ||
	    sscanf(text, "%lu %*u %*u %*u %lu %*u %*u %*u %lu", &reads, &writes,
		   &disk->in_flight) != 3)
		return false;
	*ret_completed = reads + writes;
	return disk->in_flight;
}

/* Where debugfs has the queue's own requests, and there are none, it is not the one. */
static bool may_be_busy(const struct root *root, const struct disk *disk, const char *queue)
{
	_cleanup_free_ char *busy = NULL;

	return root_read(root, &busy, "sys/kernel/debug/block/%s/hctx%s/busy", disk->name, queue) ||
	       busy[0];
}

/* Adds the CPUs of the queues that have CPUs online, all of them in @target. */
static int find_bare_queues(const struct root *root, const struct machine *machine,
			    hwloc_const_bitmap_t target, struct disk *disk)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	_cleanup_names_ struct names queues = { 0 };
	int r = cpus ? names_list(root, &queues, "sys/block/%s/mq", disk->name) : -ENOMEM;

	for (size_t i = 0; !r && i < queues.nr; i++) {
		_cleanup_free_ char *text = NULL;

		if (root_read(root, &text, "sys/block/%s/mq/%s/cpu_list", disk->name,
			      queues.list[i]))
			continue;
		/* "0, 1, 2": the only list of the kernel's with blanks */
		for (char *from = text, *to = text; (*to = *from); from++)
			to += *from != ' ';
		if (cpus_parse_kernel(text, machine->nr_cpus - 1, cpus))
			continue;
		hwloc_bitmap_and(cpus, cpus, machine->online);
		if (!cpus_is_empty(cpus) && hwloc_bitmap_isincluded(cpus, target) &&
		    may_be_busy(root, disk, queues.list[i]))
			r = hwloc_bitmap_or(disk->cpus, disk->cpus, cpus) < 0 ? -ENOMEM : 0;
	}
	return r;
}

static int find_disks(const struct root *root, const struct machine *machine,
		      hwloc_const_bitmap_t target, struct disk *disks, size_t *nr)
{
	_cleanup_names_ struct names names = { 0 };
	int r = names_list(root, &names, "sys/block");

	for (size_t i = 0; !r && i < names.nr && *nr < DISKS_MAX; i++) {
		struct disk *disk = &disks[*nr];

		if (strlen(names.list[i]) >= sizeof(disk->name))
			continue;
		memcpy(disk->name, names.list[i], strlen(names.list[i]) + 1);
		if (!read_stat(root, disk, &disk->completed))
			continue;
		disk->cpus = hwloc_bitmap_alloc();
		r = disk->cpus ? find_bare_queues(root, machine, target, disk) : -ENOMEM;
		if (!r && !cpus_is_empty(disk->cpus))
			(*nr)++;
		else
			hwloc_bitmap_free(disk->cpus);
	}
	return r;
}

/* Forgets the disks that go on answering. */
static void drop_working(const struct root *root, struct disk *disks, size_t *nr)
{
	for (size_t i = 0; i < *nr;) {
		unsigned long completed;

		if (read_stat(root, &disks[i], &completed) && completed == disks[i].completed) {
			i++;
			continue;
		}
		hwloc_bitmap_free(disks[i].cpus);
		disks[i] = disks[--*nr];
	}
}

static int find_stalled(const struct root *root, const struct machine *machine,
			hwloc_const_bitmap_t target, struct named_list *stalled)
{
	struct disk disks[DISKS_MAX];
	double start = util_now();
	size_t nr = 0;
	int r = find_disks(root, machine, target, disks, &nr);

	/* in the copy of a machine nothing will change */
	while (nr && root_is_live(root) && util_now() - start < WAIT_SECONDS) {
		util_sleep(WAIT_PAUSE);
		drop_working(root, disks, &nr);
	}
	for (size_t i = 0; i < nr; i++) {
		if (!r)
			r = named_add(stalled, disks[i].cpus, (long)disks[i].in_flight, "%s (%lu)",
				      disks[i].name, disks[i].in_flight);
		hwloc_bitmap_free(disks[i].cpus);
	}
	return r;
}

static int find_fabrics(const struct root *root, struct named_list *fabrics)
{
	_cleanup_names_ struct names names = { 0 };
	int r = names_list(root, &names, "sys/class/nvme");

	for (size_t i = 0; !r && i < names.nr; i++) {
		_cleanup_free_ char *transport = NULL;

		if (root_read(root, &transport, "sys/class/nvme/%s/transport", names.list[i]))
			continue;
		if (!strcmp(transport, "tcp") || !strcmp(transport, "rdma") ||
		    !strcmp(transport, "fc"))
			r = named_add(fabrics, NULL, 0, "%s (%s)", names.list[i], transport);
	}
	return r;
}

int queues_read(const struct root *root, const struct machine *machine, hwloc_const_bitmap_t target,
		struct queues *ret_queues)
{
	int r;

	*ret_queues = (struct queues){ 0 };
	r = find_stalled(root, machine, target, &ret_queues->stalled);
	if (!r)
		r = find_fabrics(root, &ret_queues->fabrics);
	if (r)
		queues_free(ret_queues);
	return r;
}

void queues_free(struct queues *queues)
{
	named_free(&queues->stalled);
	named_free(&queues->fabrics);
}
