/* SPDX-License-Identifier: GPL-2.0-or-later */
/* methods.c - the offline methods: ways of making the kernel take a set of CPUs, first usable one
 * first */
#include "host/methods.h"

#include <errno.h>
#include <string.h>

#include "host/hotplug.h"
#include "host/partition.h"
#include "host/writer.h"

/* Somebody may bring CPUs back while others still go; more often than this it is a quarrel. */
#define PASSES 3

/* A CPU that is off before we wrote is part of this only where another operation holds it already.
 */
static int check_unchanged(const struct step *step, const struct step_env *env,
			   struct online_mask *mask)
{
	int r = hotplug_read_online(env, mask);

	for (size_t i = 0; !r && i < step->nr_items; i++) {
		unsigned int cpu = (unsigned int)step->items[i].id;

		if (!cpus_text_has(mask->text, cpu) && !env_is_claimed(env, cpu))
			r = -ESTALE;
	}
	return r;
}

/* ---- sequential: cpuN/online, one CPU after another -------------------------------------- */

static const char *sequential_why_not(const struct step_env *env)
{
	(void)env;
	return NULL;
}

static int take_item(struct step *step, struct step_env *env, struct item *item,
		     struct online_mask *mask)
{
	int r = 0;

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

/* One pass over the items whose CPUs are online. @nr_taken counts what it took. */
static int sequential_pass(struct step *step, struct step_env *env, struct online_mask *mask,
			   size_t *nr_taken)
{
	for (size_t i = 0; i < step->nr_items; i++) {
		struct item *item = &step->items[i];
		int r;

		if (item->state == STATE_FAILED ||
		    (item->state == STATE_APPLIED &&
		     !cpus_text_has(mask->text, (unsigned int)item->id)))
			continue;
		hotplug_pace(env);
		if (watcher_interrupts(env->watcher) > env->interrupts_allowed)
			return -EINTR;
		r = partition_check(env);
		if (r)
			return r;
		r = take_item(step, env, item, mask);
		if (r && (env->stuck || env->request->on_error != ON_ERROR_CONTINUE))
			return r;
		(*nr_taken)++;
		watcher_progress(env->watcher, &(struct progress){
						       .phase = PHASE_REMOVING,
						       .object = item->object,
						       .done = i + 1,
						       .total = step->nr_items,
					       });
	}
	return 0;
}

static int sequential_take(struct step *step, struct step_env *env)
{
	static struct online_mask mask;
	size_t nr_taken = 1;
	int r = check_unchanged(step, env, &mask);

	for (int pass = 0; !r && nr_taken && pass < PASSES; pass++) {
		nr_taken = 0;
		r = sequential_pass(step, env, &mask, &nr_taken);
		if (!r)
			r = hotplug_read_online(env, &mask);
	}
	return r;
}

static const struct method sequential = {
	.name = "sequential",
	.why_not = sequential_why_not,
	.take = sequential_take,
};

/* ---- the table --------------------------------------------------------------------------- */

const struct method *const methods[] = {
	&sequential,
	NULL,
};

int methods_pick(const char *name, const struct step_env *env, const struct method **ret_method,
		 const char **ret_why_not)
{
	const char *why_not = NULL;
	bool is_auto = !strcmp(name, "auto");

	for (const struct method *const *method = methods; *method; method++) {
		if (!is_auto && strcmp((*method)->name, name))
			continue;
		why_not = (*method)->why_not(env);
		if (!why_not) {
			*ret_method = *method;
			return 0;
		}
		if (!is_auto)
			break;
	}
	if (!why_not)
		return -EINVAL;
	*ret_why_not = why_not;
	return -EOPNOTSUPP;
}
