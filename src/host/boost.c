/* SPDX-License-Identifier: GPL-2.0-or-later */
/* boost.c - step kind task.boost: those who make CPUs change run SCHED_FIFO meanwhile */
#include "host/boost.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>

#include "host/writer.h"

/* Over all that is not real-time, below all that is. */
#define PRIORITY 1
#define AFTER	 "fifo 1"

/* The writer is no thread of the kernel, and not there yet while planning. */
#define WRITER 0

static const struct {
	const char *name;
	int policy;
} policies[] = {
	{ "other", SCHED_OTHER },
	{ "batch", SCHED_BATCH },
	{ "idle", SCHED_IDLE },
};

/* ---- planning ---------------------------------------------------------------------------- */

bool boost_wants(const struct task *task, unsigned int worker_cpu)
{
	unsigned int cpu, nr;
	char end = '\0';

	if (!task_is_kernel(task) || task_is_realtime(task))
		return false;
	if (!strcmp(task->comm, "rcu_preempt") || !strcmp(task->comm, "rcu_sched") ||
	    !strncmp(task->comm, "rcu_exp_", 8))
		return true;
	/* "kworker/0:1-events"; "kworker/0:1H" is of another pool, "kworker/u8:1" of no CPU */
	return sscanf(task->comm, "kworker/%u:%u%c", &cpu, &nr, &end) >= 2 && cpu == worker_cpu &&
	       (!end || end == '-' || end == '+');
}

/* The CPU on which the kernel makes removals: the first one online that is not isolated. */
static unsigned int find_worker_cpu(const struct machine *machine)
{
	unsigned int cpu;

	cpus_foreach(cpu, machine->online)
		if (!hwloc_bitmap_isset(machine->isolated, cpu))
			break;
	return cpu;
}

/* "other nice 0". False where the policy is none of ours to change, or the thread has ended. */
static bool format_before(pid_t tid, char *text, size_t size)
{
	int priority, policy = tasks_read_policy(tid, &priority), nice;

	errno = 0;
	nice = getpriority(PRIO_PROCESS, (id_t)tid);
	if (errno)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++)
		if (policies[i].policy == policy) {
			snprintf(text, size, "%s nice %d", policies[i].name, nice);
			return true;
		}
	return false;
}

static int describe(struct step *step, struct step_env *env)
{
	unsigned int worker_cpu = find_worker_cpu(env->machine);
	char before[32];

	if (!env->request->boost || !root_is_live(env->root))
		return 0;
	/* it will have what this process has */
	if (format_before(0, before, sizeof(before)) &&
	    !step_add_item(step, WRITER, before, AFTER, "the writing child"))
		return -ENOMEM;
	for (size_t i = 0; i < env->tasks->nr; i++) {
		const struct task *task = &env->tasks->list[i];
		struct item *item;

		if (!boost_wants(task, worker_cpu) ||
		    !format_before(task->tid, before, sizeof(before)))
			continue;
		item = step_add_item(step, (unsigned long long)task->tid, before, AFTER,
				     "task %d %s", (int)task->tid, task->comm);
		if (!item)
			return -ENOMEM;
		item->stamp = task->start;
	}
	return 0;
}

/* ---- applying and undoing ---------------------------------------------------------------- */

/* The thread of @item; -ESRCH where it has ended, or another -errno. */
static pid_t find_thread(const struct step_env *env, const struct item *item)
{
	int r;

	if (item->id == WRITER)
		return env->writer ? writer_pid(env->writer) : -ESRCH;
	r = tasks_find(env->root, (pid_t)item->id, item->stamp);
	return r ? r : (pid_t)item->id;
}

static int set_policy(pid_t tid, int policy, int priority)
{
	int r = tasks_set_policy(tid, policy, priority);

	return r == -ESRCH ? 0 : r;
}

/* It only makes things faster: where a thread cannot be changed, the operation goes on without. */
static int apply(struct step *step, struct step_env *env)
{
	for (size_t i = 0; i < step->nr_items; i++) {
		struct item *item = &step->items[i];
		pid_t tid = find_thread(env, item);
		char now[32];

		item->state = STATE_UNDONE;
		/* it has ended, or somebody has changed it since it was looked at */
		if (tid < 0 || !format_before(tid, now, sizeof(now)) || strcmp(now, item->before))
			continue;
		item->error = -set_policy(tid, SCHED_FIFO, PRIORITY);
		item->state = item->error ? STATE_FAILED : STATE_APPLIED;
	}
	return 0;
}

/* The kernel keeps the nice value while a thread is real-time. */
static int undo_item(const struct step *step, struct step_env *env, const struct item *item)
{
	pid_t tid = find_thread(env, item);
	int priority;

	(void)step;
	if (tid < 0 && tid != -ESRCH)
		return tid;
	if (tid < 0 || tasks_read_policy(tid, &priority) != SCHED_FIFO || priority != PRIORITY)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++)
		if (!strncmp(item->before, policies[i].name, strcspn(item->before, " ")))
			return set_policy(tid, policies[i].policy, 0);
	return -EINVAL;
}

static int undo(struct step *step, struct step_env *env)
{
	return step_undo_items(step, env, false, undo_item);
}

const struct step_kind boost_kind = {
	.name = "task.boost",
	.undo_rank = 99,
	.lifetime = LIFETIME_DURING,
	.describe = describe,
	.apply = apply,
	.undo = undo,
};
