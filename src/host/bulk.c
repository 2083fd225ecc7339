/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bulk.c - offline method bulk: cpu_bulk_remove, which takes a cpulist */
#include "host/bulk.h"

#include <string.h>

#include "host/root.h"
#include "host/sequential.h"

#define BULK_REMOVE "sys/devices/system/cpu/cpu_bulk_remove"

/* A cpulist that is made without allocating, a CPU at a time. */
struct list {
	char text[4000];	      /* the kernel takes less than a page */
	size_t length, begin;	      /* of all, and where its last range begins */
	unsigned int lowest, highest; /* of the last range */
};

/* Adds a CPU below all others. Returns false, with nothing added, where there is no room. */
static bool add_cpu(struct list *list, unsigned int cpu)
{
	bool extends = list->length && cpu + 1 == list->lowest;
	size_t begin = extends ? list->begin : list->length;
	unsigned int highest = extends ? list->highest : cpu;
	char range[32];
	int n;

	if (extends)
		n = snprintf(range, sizeof(range), "%s%u-%u", begin ? "," : "", cpu, highest);
	else
		n = snprintf(range, sizeof(range), "%s%u", begin ? "," : "", cpu);
	if (begin + (size_t)n >= sizeof(list->text))
		return false;
	memcpy(list->text + begin, range, (size_t)n + 1);
	list->length = begin + (size_t)n;
	list->begin = begin;
	list->lowest = cpu;
	list->highest = highest;
	return true;
}

/* Pauses are between CPUs, so that with them there is one a write. */
static size_t batch_size(const struct step_env *env)
{
	if (env->request->batch)
		return env->request->batch;
	return env->request->pace > 0 ? 1 : BULK_BATCH;
}

/* The items from @first on that fit into one batch. Returns their number, those between that need
 * not go included. */
static size_t collect(const struct step *step, const struct step_env *env, size_t first,
		      const struct online_mask *mask, struct list *list)
{
	size_t i = first, nr = 0;

	list->length = 0;
	list->text[0] = '\0';
	for (; i < step->nr_items && nr < batch_size(env); i++) {
		if (!sequential_is_to_go(&step->items[i], mask))
			continue;
		if (!add_cpu(list, (unsigned int)step->items[i].id))
			break;
		nr++;
	}
	return i - first;
}

static const char *why_not(const struct step_env *env, char *buffer, size_t size)
{
	(void)buffer;
	(void)size;
	if (env->is_return)
		return "it only takes CPUs offline";
	return root_has(env->root, "%s", BULK_REMOVE) ? NULL : "this kernel has no /" BULK_REMOVE;
}

static int take(struct step *step, struct step_env *env)
{
	static struct online_mask mask;
	static struct list list;
	int r = sequential_check_unchanged(step, env, &mask);

	for (size_t i = 0, nr; !r && i < step->nr_items; i += nr) {
		nr = collect(step, env, i, &mask, &list);
		if (list.length)
			r = sequential_take_together(step, env, i, nr, BULK_REMOVE, list.text,
						     &mask);
	}
	return r ? r : sequential_take_rest(step, env, &mask);
}

const struct method bulk_method = {
	.name = "bulk",
	.why_not = why_not,
	.take = take,
};
