/* SPDX-License-Identifier: GPL-2.0-or-later */
/* workqueues.c - step kind workqueue.cpumask: unbound workqueues leave the target while CPUs change
 * state */
#include "host/workqueues.h"

#include <errno.h>

#include "host/evacuations.h"
#include "host/maskfiles.h"

static int describe(struct step *step, struct step_env *env)
{
	_cleanup_spread_ struct spread spread = { 0 };
	int r;

	if (!env->evacuation || !env->evacuation->moves_tasks || env->evacuation->has_partition)
		return 0;
	r = spread_init(&spread, env);
	if (r)
		return r == -ENODEV ? 0 : r;
	return maskfiles_plan(step, env, &spread, "/sys/devices/virtual/workqueue/cpumask",
			      MASKFILES_NARROW);
}

const struct step_kind workqueues_kind = {
	.name = "workqueue.cpumask",
	.undo_rank = 90,
	.lifetime = LIFETIME_DURING,
	.describe = describe,
	.apply = maskfiles_apply,
	.undo = maskfiles_undo,
};
