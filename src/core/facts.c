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
		int fd;

		snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/online", cpu);
		fd = root_openat(root, O_WRONLY, path);
		if (fd >= 0) {
			close(fd);
		} else if (fd == -EACCES || fd == -EROFS || fd == -EPERM) {
			facts->denied_errno = -fd;
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

/*
 * kernel/sched/rt.c: the share of each CPU that deadline tasks may have, 0 where nothing limits it.
 * Since 6.12 each CPU has a server for the other tasks that is one of them (kernel/sched/debug.c
 * shows it).
 */
static double read_deadline_limit(const struct root *root, hwloc_const_bitmap_t survivors)
{
	double limit = read_share(root, "proc/sys/kernel/sched_rt_runtime_us",
				  "proc/sys/kernel/sched_rt_period_us");
	char runtime[96], period[96];
	int cpu = hwloc_bitmap_first(survivors);
	double server;

	if (limit <= 0 || cpu < 0)
		return limit;
	snprintf(runtime, sizeof(runtime), FAIR_SERVER_DIR "/cpu%d/runtime", cpu);
	snprintf(period, sizeof(period), FAIR_SERVER_DIR "/cpu%d/period", cpu);
	server = read_share(root, runtime, period);
	return server < limit ? limit - server : limit;
}

int facts_read(const struct root *root, bool is_return, struct facts *facts)
{
	int r = read_permission(root, facts);

	if (r || is_return || cpus_is_empty(facts->target))
		return r;
	facts->self = root_is_live(root) ? getpid() : 0;
	facts->deadline_limit = read_deadline_limit(root, facts->survivors);
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
