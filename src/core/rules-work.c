/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rules-work.c - rules on the work that runs on the selection, and would have to run elsewhere */
#include <string.h>

#include "core/rules.h"
#include "host/cpusets.h"
#include "host/partition.h"

/* ---- tasks that cannot be read ------------------------------------------------------------ */

/* Whoever only asks need not see them all. */
static char *check_hidden(const struct facts *facts, hwloc_bitmap_t cpus)
{
	const struct tasks *tasks = facts->tasks;

	if (facts->request->dry_run || !tasks || !tasks->nr_hidden)
		return NULL;
	hwloc_bitmap_copy(cpus, facts->target);
	return util_asprintf("%zu thread%s cannot be read, and might lose %s for good: "
			     "/proc/%d: %s",
			     tasks->nr_hidden, tasks->nr_hidden == 1 ? "" : "s",
			     tasks->nr_hidden == 1 ? "its mask" : "their masks",
			     (int)tasks->first_hidden, strerror(tasks->hidden_errno));
}

/* ---- tasks that are bound ---------------------------------------------------------------- */

static bool is_pinned_to_target(const struct facts *facts, const struct task *task)
{
	return !task_is_kernel(task) && task_is_pinned(task, facts->machine) &&
	       task_is_pinned_to(task, facts->machine, facts->target);
}

/* Adds those of one kind to @names: "4242 db on 8-9 (real-time)". */
static char *add_pinned(const struct facts *facts, bool is_realtime, char *names, size_t *nr,
			hwloc_bitmap_t cpus)
{
	for (size_t i = 0; facts->tasks && i < facts->tasks->nr; i++) {
		const struct task *task = &facts->tasks->list[i];
		_cleanup_free_ char *mask = NULL;

		if (!is_pinned_to_target(facts, task) || task_is_realtime(task) != is_realtime)
			continue;
		hwloc_bitmap_or(cpus, cpus, task->mask);
		mask = cpus_format(task->mask);
		names = rules_add_name(names, (*nr)++, "%d %s on %s%s", (int)task->tid, task->comm,
				       mask ? mask : "", is_realtime ? " (real-time)" : "");
	}
	return names;
}

/* The real-time ones first: they are why it may be refused. */
static char *check_pinned(const struct facts *facts, hwloc_bitmap_t cpus)
{
	_cleanup_free_ char *names = strdup("");
	size_t nr = 0;

	names = add_pinned(facts, true, names, &nr, cpus);
	names = add_pinned(facts, false, names, &nr, cpus);
	if (!nr)
		return NULL;
	hwloc_bitmap_and(cpus, cpus, facts->target);
	return util_asprintf("%zu thread%s pinned to the target alone: %s", nr,
			     nr == 1 ? " is" : "s are", names ? names : "");
}

/* They are moved and get their masks back; but a real-time one may need that very CPU. */
static enum severity weigh_pinned(const struct facts *facts)
{
	const char *pinned = facts->request->pinned;

	if (pinned)
		return !strcmp(pinned, "refuse") ? SEVERITY_REFUSE : SEVERITY_NOTE;
	for (size_t i = 0; i < facts->tasks->nr; i++)
		if (is_pinned_to_target(facts, &facts->tasks->list[i]) &&
		    task_is_realtime(&facts->tasks->list[i]))
			return SEVERITY_REFUSE;
	return SEVERITY_NOTE;
}

/* They run where their CPU is until the kernel moves them: sched_setaffinity(2) answers EBUSY. */
static char *check_deadline_tasks(const struct facts *facts, hwloc_bitmap_t cpus)
{
	_cleanup_free_ char *names = strdup("");
	size_t nr = 0;

	for (size_t i = 0; facts->tasks && i < facts->tasks->nr; i++) {
		const struct task *task = &facts->tasks->list[i];

		if (task->bandwidth <= 0 || !hwloc_bitmap_isset(facts->target, task->cpu))
			continue;
		hwloc_bitmap_set(cpus, task->cpu);
		names = rules_add_name(names, nr++, "%d %s on %u", (int)task->tid, task->comm,
				       task->cpu);
	}
	if (!nr)
		return NULL;
	return util_asprintf("%zu deadline task%s run on the target and cannot be given another "
			     "mask: %s",
			     nr, nr == 1 ? "" : "s", names ? names : "");
}

static char *check_vcpus(const struct facts *facts, hwloc_bitmap_t cpus)
{
	return rules_tell_names(&facts->workers.vcpus, facts, cpus,
				"virtual CPUs are pinned to the selection alone, and will share "
				"other CPUs meanwhile: ",
				"");
}

static char *check_busy(const struct facts *facts, hwloc_bitmap_t cpus)
{
	return rules_tell_names(
		&facts->workers.busy, facts, cpus,
		"threads that never rest (as DPDK's do) have a CPU of the selection for "
		"themselves, and would take their part of another one: ",
		"");
}

/* ---- room on the CPUs that stay ---------------------------------------------------------- */

static bool runs_realtime(const struct task *task)
{
	return task->state == 'R' && !task_is_kernel(task) && task_is_realtime(task);
}

static char *check_realtime(const struct facts *facts, hwloc_bitmap_t cpus)
{
	unsigned int nr_left = cpus_count(facts->survivors);
	_cleanup_free_ char *names = strdup("");
	size_t nr = 0;

	for (size_t i = 0; facts->tasks && i < facts->tasks->nr; i++) {
		const struct task *task = &facts->tasks->list[i];

		if (!runs_realtime(task) || !hwloc_bitmap_isset(facts->target, task->cpu) ||
		    is_pinned_to_target(facts, task))
			continue;
		hwloc_bitmap_set(cpus, task->cpu);
		names = rules_add_name(names, nr++, "%d %s on %u", (int)task->tid, task->comm,
				       task->cpu);
	}
	return nr ? util_asprintf("%zu real-time thread%s on the selection and will go before all "
				  "else on the %u CPU%s: %s",
				  nr, nr == 1 ? " runs" : "s run", nr_left,
				  nr_left == 1 ? " that stays" : "s that stay", names ? names : "")
		  : NULL;
}

/* As many as there are CPUs leave nothing for anybody else. */
static enum severity weigh_realtime(const struct facts *facts)
{
	size_t nr = 0;

	for (size_t i = 0; i < facts->tasks->nr; i++)
		nr += runs_realtime(&facts->tasks->list[i]);
	return nr >= cpus_count(facts->survivors) ? SEVERITY_WARN : SEVERITY_NOTE;
}

/* A peak alone is no reason: the load has to last, or to be there right now. */
static char *check_demand(const struct facts *facts, hwloc_bitmap_t cpus)
{
	const struct demand *demand = &facts->demand;
	unsigned int nr = cpus_count(facts->survivors);

	if (!demand->is_known || !nr || demand->load1 <= nr ||
	    (demand->load5 <= nr && demand->nr_running <= nr))
		return NULL;
	return rules_told(util_asprintf("the load is %.1f (%.1f over five minutes, %lu threads "
					"want to run now), and %u CPU%s",
					demand->load1, demand->load5, demand->nr_running, nr,
					nr == 1 ? " stays" : "s stay"),
			  facts, cpus);
}

static char *check_bare_nodes(const struct facts *facts, hwloc_bitmap_t cpus)
{
	return rules_tell_names(&facts->demand.bare_nodes, facts, cpus,
				"memory stays in use where no CPU stays, and is reached over the "
				"links between nodes: ",
				"");
}

/* ---- cpusets ----------------------------------------------------------------------------- */

static char *check_survivors_partitioned(const struct facts *facts, hwloc_bitmap_t cpus)
{
	if (!facts->cgroups || cpus_is_empty(facts->survivors) ||
	    partition_leaves_root(facts->cgroups, facts->survivors))
		return NULL;
	hwloc_bitmap_copy(cpus, facts->survivors);
	return strdup("all CPUs that would remain are in cpuset partitions of others: nothing is "
		      "left for the rest of the system");
}

/* "machine.slice/vm1.scope (8-9: 4242 qemu-kvm)" */
static char *add_emptied(char *names, size_t nr, const struct emptied *emptied)
{
	const char *holds = emptied->nr_tasks		    ? emptied->tasks
			    : emptied->cgroup->is_populated ? "holds tasks"
							    : "no tasks";

	return rules_add_name(names, nr, "%s (%s: %s)", emptied->cgroup->path, emptied->cpus,
			      holds);
}

static char *check_emptied(const struct facts *facts, hwloc_bitmap_t cpus)
{
	_cleanup_free_ char *names = strdup("");
	struct emptied_list emptied;
	char *message = NULL;

	if (!facts->cgroups)
		return NULL;
	if (cpusets_emptied(facts->cgroups, facts->tasks, facts->machine, facts->target, &emptied))
		return rules_told(NULL, facts, cpus);
	for (size_t i = 0; i < emptied.nr; i++) {
		hwloc_bitmap_or(cpus, cpus, emptied.list[i].cgroup->cpus);
		names = add_emptied(names, i, &emptied.list[i]);
	}
	if (emptied.nr)
		message = rules_told(
			util_asprintf("cpusets would be left without CPUs: %s", names ? names : ""),
			facts, cpus);
	cpusets_emptied_free(&emptied);
	return message;
}

/* Since 6.12 the kernel keeps the last CPU of a valid partition (EBUSY), even of an empty one. */
static char *check_partitions(const struct facts *facts, hwloc_bitmap_t cpus)
{
	_cleanup_free_ char *names = strdup("");
	size_t nr = 0;

	for (size_t i = 0; facts->cgroups && facts->cgroups->is_v2 && i < facts->cgroups->nr; i++) {
		const struct cgroup *cgroup = &facts->cgroups->list[i];

		if (!cgroup_is_partition(cgroup) || strstr(cgroup->partition, "invalid") ||
		    !cgroup->effective || cpus_is_empty(cgroup->effective) ||
		    !hwloc_bitmap_isincluded(cgroup->effective, facts->target))
			continue;
		hwloc_bitmap_or(cpus, cpus, cgroup->effective);
		names = rules_add_name(names, nr++, "%s (%s)", cgroup->path, cgroup->partition);
	}
	return nr ? util_asprintf("cpuset partitions would lose their last CPU, and are plain "
				  "cgroups meanwhile: %s",
				  names ? names : "")
		  : NULL;
}

/* ---- counters ---------------------------------------------------------------------------- */

static char *check_perf(const struct facts *facts, hwloc_bitmap_t cpus)
{
	return rules_tell_names(&facts->workers.perf, facts, cpus,
				"processes hold perf events; those of a CPU that goes stand still "
				"from then on, also when it is back: ",
				facts->workers.is_perf_cut
					? " (others may, too: not all files were looked at)"
					: "");
}

const struct rule rules_work[] = {
	{ "cpuset-emptied", SEVERITY_REFUSE, SEVERITY_REFUSE, .when = RULE_OFFLINE,
	  .is_forcible = true, .check = check_emptied,
	  .reads = "cpuset.cpus, cgroup.events, cgroup.procs of all cpusets",
	  .what = "Cpusets of services, containers or virtual machines would have no CPU.",
	  .remedy = "Give them other CPUs, or stop what runs in them; --force lets their tasks run "
		    "on others meanwhile." },
	{ "survivors-partitioned", SEVERITY_REFUSE, SEVERITY_REFUSE, .when = RULE_OFFLINE,
	  .check = check_survivors_partitioned, .reads = "cpuset.cpus.effective of the root cgroup",
	  .what = "All CPUs that would stay online are in partitions of others.",
	  .remedy = "Dissolve one of these partitions, or leave some CPUs out with --except." },
	{ "partition-emptied", SEVERITY_NOTE, SEVERITY_NOTE, .when = RULE_OFFLINE,
	  .check = check_partitions,
	  .reads = "cpuset.cpus.partition, cpuset.cpus.effective of all cgroups",
	  .what = "Cpuset partitions of others would lose their last CPU.",
	  .remedy = "They are partitions again when the CPUs are back; give them other CPUs if "
		    "they must be so meanwhile." },
	{ "tasks-hidden", SEVERITY_REFUSE, SEVERITY_REFUSE, .when = RULE_OFFLINE,
	  .is_forcible = true, .check = check_hidden, .reads = "/proc/*/task/*/stat, status",
	  .what = "Threads cannot be read, so that masks which the kernel breaks cannot be given "
		  "back.",
	  .remedy = "See what confines cpuoff, or how /proc is mounted; --force lets these threads "
		    "keep the mask that the kernel gives them." },
	{ "pinned-tasks", SEVERITY_REFUSE, SEVERITY_NOTE, .when = RULE_OFFLINE,
	  .check = check_pinned, .weigh = weigh_pinned, .reads = "/proc/*/task/*/status, stat",
	  .what = "Threads are pinned to the selection alone; real-time ones refuse.",
	  .remedy = "They run on other CPUs meanwhile and get their masks back; --pinned=move "
		    "accepts that, --pinned=refuse refuses." },
	{ "deadline-tasks", SEVERITY_NOTE, SEVERITY_NOTE, .when = RULE_OFFLINE,
	  .check = check_deadline_tasks, .reads = "/proc/*/task/*/stat, sched_getattr(2)",
	  .what = "Deadline tasks run on the selection; their masks cannot be changed.",
	  .remedy = "The kernel moves them, with a partition at once and else as their CPU goes." },
	{ "vcpus-pinned", SEVERITY_WARN, SEVERITY_WARN, .when = RULE_OFFLINE, .check = check_vcpus,
	  .reads = "/proc/*/task/*/comm, cmdline",
	  .what = "Virtual CPUs of guests are pinned to the selection alone.",
	  .remedy = "Pin them elsewhere with virsh vcpupin, or migrate the guests before." },
	{ "busy-pinned", SEVERITY_WARN, SEVERITY_WARN, .when = RULE_OFFLINE, .check = check_busy,
	  .reads = "/proc/*/task/*/stat, twice a tenth of a second apart",
	  .what = "Threads that poll have a CPU of the selection for themselves.",
	  .remedy = "Stop them, or give them CPUs that stay." },
	{ "realtime-crowding", SEVERITY_WARN, SEVERITY_NOTE, .when = RULE_OFFLINE,
	  .check = check_realtime, .weigh = weigh_realtime, .reads = "/proc/*/task/*/stat",
	  .what = "Real-time threads run on the selection, and would run before all else on the "
		  "CPUs that stay.",
	  .remedy = "See that /proc/sys/kernel/sched_rt_runtime_us leaves time for others, or stop "
		    "some." },
	{ "cpu-demand", SEVERITY_WARN, SEVERITY_WARN, .when = RULE_OFFLINE, .check = check_demand,
	  .reads = "/proc/loadavg", .what = "There is more work than CPUs that stay.",
	  .remedy = "Take fewer CPUs, move work to another machine, or wait for a quieter hour." },
	{ "node-memory", SEVERITY_NOTE, SEVERITY_NOTE, .when = RULE_OFFLINE,
	  .check = check_bare_nodes, .reads = "/sys/devices/system/node/node*/meminfo",
	  .what = "A node loses its CPUs and keeps its memory, which is slower from elsewhere.",
	  .remedy = "Restart what is bound to the node's memory elsewhere, or move its pages with "
		    "migratepages(8)." },
	{ "perf-counters", SEVERITY_WARN, SEVERITY_WARN, .when = RULE_OFFLINE, .check = check_perf,
	  .reads = "/proc/*/fd",
	  .what = "Processes hold perf events, which stand still once their CPU has gone.",
	  .remedy = "Restart these once the CPUs are off, and again when they are back." },
	{ 0 },
};
