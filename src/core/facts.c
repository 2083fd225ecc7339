/* SPDX-License-Identifier: GPL-2.0-or-later */
/* facts.c - all that the rules look at: read before by host, so that a rule is a pure function */
#include "core/facts.h"

#include <errno.h>
#include <fcntl.h>

#define FAIR_SERVER_DIR "sys/kernel/debug/sched/fair_server"

/* A file that has to be written later, and may not be. */
static int read_permission(const struct root *root, struct facts *facts)
{
	unsigned int cpu;

	if (facts->request->dry_run)
		return 0;
	cpus_foreach(cpu, facts->target) {
		char path[64];
		int r;

		snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/online", cpu);
		r = root_try_write(root, path);
		if (r == -EACCES || r == -EROFS || r == -EPERM) {
			facts->denied_errno = -r;
			facts->denied_path = util_asprintf("/%s", path);
			return facts->denied_path ? 0 : -ENOMEM;
		}
	}
	return 0;
}

/* "runtime" over "period", of either sched_rt_*_us or the files of a fair server; 0: unknown. */
static double read_share(const struct root *root, const char *runtime_file, const char *period_file)
{
	long runtime, period;

	if (root_read_long(root, &runtime, "%s", runtime_file) ||
	    root_read_long(root, &period, "%s", period_file) || runtime < 0 || period <= 0)
		return 0;
	return (double)runtime / (double)period;
}

static bool has_deadline_tasks(const struct tasks *tasks)
{
	for (size_t i = 0; i < tasks->nr; i++)
		if (tasks->list[i].bandwidth > 0)
			return true;
	return false;
}

/*
 * kernel/sched/rt.c: the share of each CPU that deadline tasks may have, and since 6.12 that of the
 * server for the others, which is one of them (kernel/sched/debug.c shows it). Only where there are
 * such tasks: who reads these numbers makes 6.12 build its scheduling domains anew, and lose count
 * of the servers.
 */
static void read_deadline(const struct root *root, struct facts *facts)
{
	char runtime[96], period[96];
	int cpu = hwloc_bitmap_first(facts->survivors);

	if (!has_deadline_tasks(facts->tasks) || cpu < 0)
		return;
	facts->deadline_limit = read_share(root, "proc/sys/kernel/sched_rt_runtime_us",
					   "proc/sys/kernel/sched_rt_period_us");
	snprintf(runtime, sizeof(runtime), FAIR_SERVER_DIR "/cpu%d/runtime", cpu);
	snprintf(period, sizeof(period), FAIR_SERVER_DIR "/cpu%d/period", cpu);
	facts->deadline_server = read_share(root, runtime, period);
}

int facts_read(const struct root *root, bool is_return, struct facts *facts)
{
	int r = read_permission(root, facts);

	if (r || is_return || cpus_is_empty(facts->target))
		return r;
	facts->self = root_is_live(root) ? getpid() : 0;
	read_deadline(root, facts);
	r = demand_read(root, facts->machine, facts->target, &facts->demand);
	if (!r)
		r = platform_read(root, facts->target, &facts->platform);
	if (!r)
		r = vectors_read(root, facts->machine, facts->target, facts->survivors,
				 &facts->vectors);
	if (!r)
		r = queues_read(root, facts->machine, facts->target, &facts->queues);
	if (!r)
		r = workers_read(root, facts->machine, facts->tasks, facts->target,
				 &facts->workers);
	if (!r)
		r = neighbours_read(root, facts->machine, facts->tasks, facts->target,
				    &facts->neighbours);
	return r;
}

void facts_free(struct facts *facts)
{
	free(facts->denied_path);
	facts->denied_path = NULL;
	demand_free(&facts->demand);
	platform_free(&facts->platform);
	queues_free(&facts->queues);
	workers_free(&facts->workers);
	neighbours_free(&facts->neighbours);
}
