/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rcu.c - step kind rcu.expedite: RCU grace periods are expedited while CPUs change state */
#include "host/rcu.h"

#include <errno.h>
#include <limits.h>

#include "host/root.h"
#include "host/writer.h"

#define EXPEDITED "sys/kernel/rcu_expedited"

static int read_counter(const struct root *root, long *ret_value)
{
	long value;
	int r = root_read_long(root, &value, EXPEDITED);

	if (!r && (value < 0 || value > INT_MAX))
		return -ERANGE;
	if (!r)
		*ret_value = value;
	return r;
}

static int write_counter(const struct step_env *env, long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", value);
	return writer_write(env, EXPEDITED, text);
}

static int describe(struct step *step, struct step_env *env)
{
	char before[32], after[32];
	long value, normal;
	int r;

	if (env->request->no_expedite)
		return 0;
	r = read_counter(env->root, &value);
	if (r)
		return r == -ENOENT ? 0 : r;
	if (!root_read_long(env->root, &normal, "sys/kernel/rcu_normal") && normal) {
		if (!findings_add(
			    env->findings, "rcu-normal", SEVERITY_NOTE, NULL,
			    "Write 0 to /sys/kernel/rcu_normal if the operation shall be faster.",
			    "/sys/kernel/rcu_normal is %ld, which forbids expedited grace periods: "
			    "the "
			    "operation takes longer",
			    normal))
			return -ENOMEM;
		return 0;
	}
	snprintf(before, sizeof(before), "%ld", value);
	snprintf(after, sizeof(after), "%ld", value + 1);
	return step_add_item(step, 0, before, after, "/" EXPEDITED) ? 0 : -ENOMEM;
}

/* It only makes things faster: where it cannot be raised, the operation goes on without. */
static int apply(struct step *step, struct step_env *env)
{
	struct item *item = &step->items[0];
	long value;
	int r = read_counter(env->root, &value);

	if (!r)
		r = write_counter(env, value + 1);
	item->error = -r;
	item->state = r ? STATE_FAILED : STATE_APPLIED;
	return 0;
}

static int undo_item(const struct step *step, struct step_env *env, const struct item *item)
{
	long value, before;
	int r = read_counter(env->root, &value);

	(void)step;
	if (r)
		return r;
	/* What is there now was there before: our part of it was never added, or is gone already.
	 */
	if (!util_parse_long(item->before, 0, INT_MAX, &before) && value <= before)
		return 0;
	return value > 0 ? write_counter(env, value - 1) : 0;
}

static int undo(struct step *step, struct step_env *env)
{
	return step_undo_items(step, env, false, undo_item);
}

const struct step_kind rcu_kind = {
	.name = "rcu.expedite",
	.undo_rank = 100,
	.lifetime = LIFETIME_DURING,
	.describe = describe,
	.apply = apply,
	.undo = undo,
};
