/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-boost.c - tests of who is boosted, and that a copy of a machine and a usual run boost nobody */
#include "host/boost.h"

#include <sched.h>

#include "tap.h"
#include "temp.h"

#define KERNEL 0x00200000UL /* PF_KTHREAD */

static const struct candidate {
	const char *comm;
	unsigned long flags;
	unsigned int policy;
	bool is_wanted;
} candidates[] = {
	{ "rcu_preempt", KERNEL, SCHED_OTHER, true },
	{ "rcu_sched", KERNEL, SCHED_OTHER, true },
	{ "rcu_exp_gp_kthr", KERNEL, SCHED_OTHER, true },
	{ "rcu_exp_par_gp_", KERNEL, SCHED_OTHER, true },
	{ "rcu_preempt", 0, SCHED_OTHER, false },
	{ "rcu_preempt", KERNEL, SCHED_FIFO, false },
	{ "rcu_exp_gp_kthr", KERNEL, SCHED_RR, false },
	{ "rcu_tasks_kthre", KERNEL, SCHED_OTHER, false },
	{ "rcu_gp", KERNEL, SCHED_OTHER, false },
	{ "rcuop/2", KERNEL, SCHED_OTHER, false },
	{ "kworker/2:0", KERNEL, SCHED_OTHER, true },
	{ "kworker/2:1-eve", KERNEL, SCHED_OTHER, true },
	{ "kworker/2:12+mm", KERNEL, SCHED_OTHER, true },
	{ "kworker/2:1H-kb", KERNEL, SCHED_OTHER, false },
	{ "kworker/2:0H", KERNEL, SCHED_OTHER, false },
	{ "kworker/1:0", KERNEL, SCHED_OTHER, false },
	{ "kworker/22:0", KERNEL, SCHED_OTHER, false },
	{ "kworker/u2:2", KERNEL, SCHED_OTHER, false },
	{ "kworker/R-rcu_g", KERNEL, SCHED_OTHER, false },
	{ "kworker/2:", KERNEL, SCHED_OTHER, false },
	{ "kworker/2:0", 0, SCHED_OTHER, false },
	{ "kworker/2:0", KERNEL, SCHED_FIFO, false },
	{ "ksoftirqd/2", KERNEL, SCHED_OTHER, false },
	{ "", KERNEL, SCHED_OTHER, false },
};

static void test_candidates(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(candidates); i++) {
		const struct candidate *candidate = &candidates[i];
		struct task task = { .flags = candidate->flags, .policy = candidate->policy };

		snprintf(task.comm, sizeof(task.comm), "%s", candidate->comm);
		ok(boost_wants(&task, 2) == candidate->is_wanted, "%s%s, policy %u: %s",
		   candidate->comm, candidate->flags ? "" : " of a user", candidate->policy,
		   candidate->is_wanted ? "boosted" : "left alone");
	}
}

/* A machine whose one thread would be boosted. */
static void is_planned(struct root *root, bool is_asked, size_t nr, const char *what)
{
	struct task task = { .tid = getpid(), .flags = KERNEL, .comm = "rcu_preempt" };
	struct tasks tasks = { .list = &task, .nr = 1 };
	struct machine machine = { .online = hwloc_bitmap_alloc(),
				   .isolated = hwloc_bitmap_alloc() };
	struct request request = { .boost = is_asked };
	struct step_env env = {
		.root = root, .machine = &machine, .request = &request, .tasks = &tasks
	};
	struct step step = { .kind = &boost_kind };

	is_int(boost_kind.describe(&step, &env), 0, "%s: planned", what);
	is_int((long long)step.nr_items, (long long)nr, "%s: items", what);
	if (nr && step.nr_items == nr) {
		is_int((long long)step.items[0].id, 0, "%s: the writer is first", what);
		is_int((long long)step.items[1].id, getpid(), "%s: then the threads", what);
		ok(strstr(step.items[1].before, " nice "), "%s: the value before", what);
		is_str(step.items[1].after, "fifo 1", "%s: the value after", what);
	}
	step_free(&step);
	hwloc_bitmap_free(machine.online);
	hwloc_bitmap_free(machine.isolated);
}

int main(void)
{
	struct root *live = NULL, *copy;

	temp_make();
	copy = temp_root();
	test_candidates();
	is_planned(copy, true, 0, "a copy of a machine");
	if (!root_open("/", &live)) {
		is_planned(live, false, 0, "not asked for");
		is_planned(live, true, 2, "asked for");
		root_close(live);
	}
	root_close(copy);
	temp_remove();
	return done_testing();
}
