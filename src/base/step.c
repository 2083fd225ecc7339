/* SPDX-License-Identifier: GPL-2.0-or-later */
/* step.c - the model: an operation is a list of steps, a step is one kind of change with its items
 */
#include "base/step.h"

#include <errno.h>
#include <string.h>

static const char *const state_names[] = {
	[STATE_PLANNED] = "planned", [STATE_APPLYING] = "applying", [STATE_APPLIED] = "applied",
	[STATE_UNDONE] = "undone",   [STATE_FAILED] = "failed",
};

static void item_free(struct item *item)
{
	free(item->object);
	free(item->before);
	free(item->after);
}

struct item *step_add_item(struct step *step, unsigned long long id, const char *before,
			   const char *after, const char *object_fmt, ...)
{
	struct item *items, added = { .id = id };
	va_list ap;

	va_start(ap, object_fmt);
	added.object = util_vasprintf(object_fmt, ap);
	va_end(ap);
	added.before = strdup(before);
	added.after = strdup(after);
	items = util_grow(step->items, step->nr_items, sizeof(*items));
	if (items)
		step->items = items;
	if (!items || !added.object || !added.before || !added.after) {
		item_free(&added);
		return NULL;
	}
	items[step->nr_items] = added;
	step->is_unsorted |= step->nr_items && id < items[step->nr_items - 1].id;
	return &items[step->nr_items++];
}

static int compare_ids(const void *a, const void *b)
{
	const struct item *one = a, *other = b;

	return (one->id > other->id) - (one->id < other->id);
}

void step_sort_items(struct step *step)
{
	if (step->is_unsorted)
		qsort(step->items, step->nr_items, sizeof(*step->items), compare_ids);
	step->is_unsorted = false;
}

/* Where the search for @id begins: everything before has a lower one. */
static size_t find_start(const struct step *step, unsigned long long id)
{
	size_t low = 0, high = step->is_unsorted ? 0 : step->nr_items;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (step->items[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* True where an item of @id may be at @index or behind it. */
static bool may_follow(const struct step *step, size_t index, unsigned long long id)
{
	return index < step->nr_items && (step->is_unsorted || step->items[index].id == id);
}

const struct item *step_find_item(const struct step *step, unsigned long long id)
{
	for (size_t i = find_start(step, id); may_follow(step, i, id); i++)
		if (step->items[i].id == id)
			return &step->items[i];
	return NULL;
}

void step_free(struct step *step)
{
	for (size_t i = 0; i < step->nr_items; i++)
		item_free(&step->items[i]);
	free(step->items);
	*step = (struct step){ 0 };
}

int step_undo_items(struct step *step, struct step_env *env, bool is_backwards,
		    int (*undo_item)(const struct step *step, struct step_env *env,
				     const struct item *item))
{
	int first_error = 0;

	for (size_t i = 0; i < step->nr_items; i++) {
		struct item *item = &step->items[is_backwards ? step->nr_items - 1 - i : i];
		int r;

		if (!item_is_in_force(step, item))
			continue;
		r = undo_item(step, env, item);
		item->error = -r;
		if (!r)
			item->state = STATE_UNDONE;
		else if (!first_error)
			first_error = r;
	}
	return first_error;
}

bool step_is_in_force(const struct step *step)
{
	for (size_t i = 0; i < step->nr_items; i++)
		if (item_is_in_force(step, &step->items[i]))
			return true;
	return false;
}

struct step *operation_add_step(struct operation *operation, const struct step_kind *kind)
{
	struct step *steps = util_grow(operation->steps, operation->nr_steps, sizeof(*steps));

	if (!steps)
		return NULL;
	operation->steps = steps;
	steps[operation->nr_steps] = (struct step){ .kind = kind,
						    .lifetime = kind->lifetime,
						    .undo_rank = kind->undo_rank };
	return &steps[operation->nr_steps++];
}

int operation_update_claim(struct operation *operation)
{
	if (!operation->claim)
		operation->claim = hwloc_bitmap_alloc();
	if (!operation->claim)
		return -ENOMEM;
	hwloc_bitmap_zero(operation->claim);
	for (size_t i = 0; i < operation->nr_steps; i++) {
		const struct step *step = &operation->steps[i];

		for (size_t j = 0; step->kind->is_per_cpu && j < step->nr_items; j++)
			if (item_is_in_force(step, &step->items[j]) &&
			    hwloc_bitmap_set(operation->claim, (unsigned int)step->items[j].id))
				return -ENOMEM;
	}
	return 0;
}

int operation_find_drift(const struct operation *operation, hwloc_const_bitmap_t online,
			 hwloc_bitmap_t ret_cpus)
{
	hwloc_bitmap_zero(ret_cpus);
	for (size_t i = 0; i < operation->nr_steps; i++) {
		const struct step *step = &operation->steps[i];

		for (size_t j = 0; step->kind->is_per_cpu && j < step->nr_items; j++)
			if (step->items[j].state == STATE_APPLIED &&
			    hwloc_bitmap_isset(online, (unsigned int)step->items[j].id) &&
			    hwloc_bitmap_set(ret_cpus, (unsigned int)step->items[j].id))
				return -ENOMEM;
	}
	return 0;
}

bool operation_keeps_cpus(const struct operation *operation)
{
	for (size_t i = 0; i < operation->nr_steps; i++)
		if (operation->steps[i].undo_rank < UNDO_RANK_CPUS &&
		    step_is_in_force(&operation->steps[i]))
			return true;
	return false;
}

const struct place *operation_find_place(const struct operation *operation, unsigned int cpu)
{
	for (size_t i = 0; i < operation->nr_places; i++)
		if (operation->places[i].cpu == cpu)
			return &operation->places[i];
	return NULL;
}

bool operation_is_in_force(const struct operation *operation)
{
	for (size_t i = 0; i < operation->nr_steps; i++)
		if (step_is_in_force(&operation->steps[i]))
			return true;
	return false;
}

void operation_free(struct operation *operation)
{
	for (size_t i = 0; i < operation->nr_steps; i++)
		step_free(&operation->steps[i]);
	free(operation->steps);
	free(operation->places);
	hwloc_bitmap_free(operation->claim);
	free(operation->id);
	free(operation->boot_id);
	free(operation->version);
	free(operation->started);
	free(operation->command);
	free(operation->evacuation);
	*operation = (struct operation){ 0 };
}

bool env_is_claimed(const struct step_env *env, unsigned int cpu)
{
	for (size_t i = 0; i < env->nr_others; i++)
		if (hwloc_bitmap_isset(env->others[i]->claim, cpu))
			return true;
	return false;
}

static const struct item *find_item(const struct operation *operation, const struct step_kind *kind,
				    unsigned long long id, unsigned long long stamp,
				    const char *object)
{
	for (size_t i = 0; i < operation->nr_steps; i++) {
		const struct step *step = &operation->steps[i];
		size_t j = step->kind == kind ? find_start(step, id) : step->nr_items;

		for (; may_follow(step, j, id); j++) {
			const struct item *item = &step->items[j];

			if (item->id == id && item->stamp == stamp &&
			    item_is_in_force(step, item) &&
			    (!object || !strcmp(item->object, object)))
				return item;
		}
	}
	return NULL;
}

const struct item *env_find_other(const struct step_env *env, const struct step_kind *kind,
				  unsigned long long id, unsigned long long stamp,
				  const char *object)
{
	const struct item *item = NULL;

	for (size_t i = env->nr_others; !item && i-- > 0;)
		item = find_item(env->others[i], kind, id, stamp, object);
	return item;
}

const char *env_before(const struct step_env *env, const struct step_kind *kind,
		       unsigned long long id, unsigned long long stamp, const char *object)
{
	const struct item *item = NULL;

	for (size_t i = 0; !item && i < env->nr_others; i++)
		item = find_item(env->others[i], kind, id, stamp, object);
	return item ? item->before : NULL;
}

const char *lifetime_format(enum lifetime lifetime)
{
	return lifetime == LIFETIME_DURING ? "during" : "until-restore";
}

const char *state_format(enum step_state state)
{
	return state_names[state];
}

int state_parse(const char *text, enum step_state *ret_state)
{
	for (size_t i = 0; i < ARRAY_SIZE(state_names); i++)
		if (!strcmp(text, state_names[i])) {
			*ret_state = (enum step_state)i;
			return 0;
		}
	return -EINVAL;
}
