/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sequential.c - offline method sequential: cpuN/online, one CPU after another; and what the other
 * methods share with it
 */
#include "host/sequential.h"

#include <errno.h>
#include <string.h>

#include "base/profile.h"
#include "host/partition.h"
#include "host/trace.h"
#include "host/writer.h"

/* Somebody may bring CPUs back while others still go; more often than this it is a quarrel. */
#define PASSES 3

int sequential_check_unchanged(const struct step *step, const struct step_env *env,
			       struct online_mask *ret_mask)
{
	int r = hotplug_read_online(env, ret_mask);

	for (size_t i = 0; !r && i < step->nr_items; i++) {
		unsigned int cpu = (unsigned int)step->items[i].id;

		if (!cpus_text_has(ret_mask->text, cpu) && !env_is_claimed(env, cpu))
			r = -ESTALE;
	}
	return r;
}

int sequential_check_next(const struct step_env *env, struct online_mask *ret_mask)
{
	if (watcher_interrupts(env->watcher) > env->interrupts_allowed)
		return -EINTR;
	return partition_check(env, ret_mask);
}

bool sequential_is_to_go(const struct item *item, const struct online_mask *mask)
{
	return item->state != STATE_FAILED && cpus_text_has(mask->text, (unsigned int)item->id);
}

/* ---- one after another ------------------------------------------------------------------- */

/* True where somebody else took the CPU before its turn: it is theirs to bring back. */
static bool is_theirs(const struct step_env *env, const struct item *item,
		      const struct online_mask *mask)
{
	unsigned int cpu = (unsigned int)item->id;

	return item->state == STATE_PLANNED && !cpus_text_has(mask->text, cpu) &&
	       !env_is_claimed(env, cpu);
}

static int take_item(struct step *step, struct step_env *env, struct item *item,
		     struct online_mask *mask)
{
	int r = 0;

	if (is_theirs(env, item, mask)) {
		item->state = STATE_UNDONE;
		return 0;
	}
	item->state = STATE_APPLYING;
	if (cpus_text_has(mask->text, (unsigned int)item->id))
		r = hotplug_set(env, item, false, mask);
	if (!r)
		item->state = STATE_APPLIED;
	else if (mask->is_known && !writer_is_stuck(env->writer))
		item->state = STATE_FAILED;
	/* else the mask will tell later whether it went */
	if (writer_is_stuck(env->writer))
		env->stuck = step;
	return r;
}

/* How many have gone, or will not: a CPU that stayed in a batch is still to come. @item is in hand.
 */
static void report_removal(const struct step *step, const struct step_env *env, size_t item)
{
	size_t done = 0;

	for (size_t i = 0; i < step->nr_items; i++)
		done += item_is_settled(&step->items[i]);
	watcher_progress(env->watcher, &(struct progress){
					       .phase = PHASE_REMOVING,
					       .object = step->items[item].object,
					       .done = done,
					       .total = step->nr_items,
				       });
}

int sequential_pass(struct step *step, struct step_env *env, size_t first, size_t nr,
		    struct online_mask *mask, size_t *nr_taken)
{
	for (size_t i = first; i < first + nr; i++) {
		struct item *item = &step->items[i];
		int r;

		if (item_is_settled(item) && !sequential_is_to_go(item, mask))
			continue;
		hotplug_pace(env);
		r = sequential_check_next(env, mask);
		if (r)
			return r;
		report_removal(step, env, i);
		r = take_item(step, env, item, mask);
		if (r && (env->stuck || env->request->on_error != ON_ERROR_CONTINUE))
			return r;
		(*nr_taken)++;
		if (i + 1 == first + nr)
			report_removal(step, env, i);
	}
	return 0;
}

int sequential_take_rest(struct step *step, struct step_env *env, struct online_mask *mask)
{
	size_t nr_taken = 1;
	int r = 0;

	for (int pass = 0; !r && nr_taken && pass < PASSES; pass++) {
		nr_taken = 0;
		r = sequential_pass(step, env, 0, step->nr_items, mask, &nr_taken);
		if (!r)
			r = hotplug_read_online(env, mask);
	}
	return r;
}

/* ---- several with one write -------------------------------------------------------------- */

/* The child is left with its write: of the CPUs that are there still, one is to blame. */
static void blame(struct step *step, struct step_env *env, size_t first, size_t nr,
		  struct online_mask *mask)
{
	const struct item *running = hotplug_find_changing(env, &step->items[first], nr);

	env->stuck = step;
	if (hotplug_read_online(env, mask))
		return;
	for (size_t i = first; i < first + nr; i++) {
		struct item *item = &step->items[i];
		bool is_running = running && item == running;

		if (is_running)
			trace_running_callback(env, (unsigned int)item->id, item->callback,
					       sizeof(item->callback));
		if (is_running || (!running && cpus_text_has(mask->text, (unsigned int)item->id)))
			item->error = ETIMEDOUT;
		else if (!cpus_text_has(mask->text, (unsigned int)item->id))
			item->state = STATE_APPLIED;
	}
}

/* Those that are gone share the time that the write took; it has ended now. */
static void settle(struct step *step, const struct step_env *env, size_t first, size_t nr,
		   const struct online_mask *mask, double seconds)
{
	double begin = util_now() - seconds;
	size_t nr_gone = 0;

	for (size_t i = first; i < first + nr; i++)
		nr_gone += step->items[i].state == STATE_APPLYING &&
			   !cpus_text_has(mask->text, (unsigned int)step->items[i].id);
	for (size_t i = first; i < first + nr; i++) {
		struct item *item = &step->items[i];

		if (item->state != STATE_APPLYING ||
		    cpus_text_has(mask->text, (unsigned int)item->id))
			continue;
		item->state = STATE_APPLIED;
		item->error = 0;
		item->seconds = seconds / (double)nr_gone;
		profile_add_change(env->profile, (unsigned int)item->id, false, begin,
				   begin + item->seconds);
		begin += item->seconds;
	}
	profile_join_changes(env->profile, nr_gone);
}

int sequential_take_together(struct step *step, struct step_env *env, size_t first, size_t nr,
			     const char *path, const char *value, struct online_mask *mask)
{
	size_t nr_taken = 0;
	double seconds = 0;
	int r;

	hotplug_pace(env);
	r = sequential_check_next(env, mask);
	if (r)
		return r;
	for (size_t i = first; i < first + nr; i++)
		if (sequential_is_to_go(&step->items[i], mask))
			step->items[i].state = STATE_APPLYING;
	r = writer_take_cpus(env, step, first, nr, path, value, &seconds);
	env->last_change = util_now();
	if (writer_is_stuck(env->writer)) {
		blame(step, env, first, nr, mask);
		return r;
	}
	r = hotplug_read_online(env, mask);
	if (r)
		return r;
	settle(step, env, first, nr, mask, seconds);
	report_removal(step, env, first + nr - 1);
	return sequential_pass(step, env, first, nr, mask, &nr_taken);
}

/* ---- the method -------------------------------------------------------------------------- */

static const char *why_not(const struct step_env *env, char *buffer, size_t size)
{
	(void)env;
	(void)buffer;
	(void)size;
	return NULL;
}

static int take(struct step *step, struct step_env *env)
{
	static struct online_mask mask;
	int r = sequential_check_unchanged(step, env, &mask);

	return r ? r : sequential_take_rest(step, env, &mask);
}

const struct method sequential_method = {
	.name = "sequential",
	.why_not = why_not,
	.take = take,
};
