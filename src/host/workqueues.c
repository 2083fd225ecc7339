/* SPDX-License-Identifier: GPL-2.0-or-later */
/* workqueues.c - step kind workqueue.cpumask: unbound workqueues leave the target while CPUs change
 * state */
#include "host/workqueues.h"

#include <errno.h>
#include <string.h>

#include "host/evacuations.h"
#include "host/maskfiles.h"
#include "host/root.h"

#define DIRECTORY "sys/devices/virtual/workqueue"

/*
 * Partitions of others cut their CPUs off the mask. Writing it would give them back to the unbound
 * workers (seen on 6.12), so that it is left alone: the kernel moves the workers with their CPUs.
 */
static bool is_cut_by_partitions(const struct step_env *env)
{
	_cleanup_free_ char *mask = NULL, *requested = NULL;

	if (root_read(env->root, &mask, DIRECTORY "/cpumask") ||
	    root_read(env->root, &requested, DIRECTORY "/cpumask_requested"))
		return false; /* before 6.12 there is but the one mask */
	return strcmp(mask, requested);
}

static int describe(struct step *step, struct step_env *env)
{
	_cleanup_spread_ struct spread spread = { 0 };
	int r;

	if (!env->evacuation || !env->evacuation->moves_tasks || env->evacuation->has_partition ||
	    is_cut_by_partitions(env))
		return 0;
	r = spread_init(&spread, env);
	if (r)
		return r == -ENODEV ? 0 : r;
	return maskfiles_plan(step, env, &spread, "/" DIRECTORY "/cpumask", MASKFILES_NARROW);
}

const struct step_kind workqueues_kind = {
	.name = "workqueue.cpumask",
	.undo_rank = 25, /* before partitions of others, which cut their CPUs off it */
	.lifetime = LIFETIME_DURING,
	.describe = describe,
	.apply = maskfiles_apply,
	.undo = maskfiles_undo,
};
