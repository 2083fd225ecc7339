/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rules-kernel.c - rules on what the kernel would refuse, crash or hang on */
#include <string.h>

#include "core/rules.h"

/* True where some CPU outside of @special stays online. */
static bool housekeeper_stays(const struct facts *facts, hwloc_const_bitmap_t special)
{
	return cpus_is_empty(facts->survivors) || cpus_is_empty(special) ||
	       !hwloc_bitmap_isincluded(facts->survivors, special);
}

/*
 * kernel/time/hrtimer.c hands the timers of a dying CPU to an online one outside of nohz_full=.
 * Where there is none, 6.1 to 7.3 index past the last CPU and panic.
 */
static char *check_housekeeping_timer(const struct facts *facts, hwloc_bitmap_t cpus)
{
	_cleanup_free_ char *list = NULL;

	if (housekeeper_stays(facts, facts->machine->nohz_full))
		return NULL;
	hwloc_bitmap_andnot(cpus, facts->target, facts->machine->nohz_full);
	list = cpus_format(facts->machine->nohz_full);
	return rules_told(util_asprintf("only CPUs of nohz_full= (%s) would remain: taking the "
					"last CPU outside of it makes the kernel panic",
					list ? list : ""),
			  facts, cpus);
}

/* kernel/cpu.c, cpu_down_maps_locked(): EBUSY for the last CPU that is not isolated. */
static char *check_housekeeping_domain(const struct facts *facts, hwloc_bitmap_t cpus)
{
	_cleanup_free_ char *list = NULL;

	if (housekeeper_stays(facts, facts->machine->isolated))
		return NULL;
	hwloc_bitmap_andnot(cpus, facts->target, facts->machine->isolated);
	list = cpus_format(facts->machine->isolated);
	return rules_told(util_asprintf("only isolated CPUs (%s) would remain: the kernel keeps "
					"the last CPU that is not isolated",
					list ? list : ""),
			  facts, cpus);
}

/* All that is not bound goes to the CPUs that are neither isolated nor of nohz_full=. */
static char *check_housekeepers_few(const struct facts *facts, hwloc_bitmap_t cpus)
{
	const struct machine *machine = facts->machine;
	_cleanup_cpus_ hwloc_bitmap_t special = hwloc_bitmap_alloc(), before = hwloc_bitmap_alloc();
	_cleanup_free_ char *list = NULL;

	if (!special || !before)
		return rules_told(NULL, facts, cpus);
	hwloc_bitmap_or(special, machine->isolated, machine->nohz_full);
	hwloc_bitmap_andnot(before, machine->online, special);
	hwloc_bitmap_andnot(cpus, facts->survivors, special);
	if (cpus_is_empty(special) || cpus_is_empty(cpus) ||
	    cpus_count(cpus) * 2 >= cpus_count(before)) {
		hwloc_bitmap_zero(cpus);
		return NULL;
	}
	list = cpus_format(cpus);
	return list ? util_asprintf(
			      "of %u CPUs that are neither isolated nor in nohz_full= only %u (%s) "
			      "would remain, for all work that is not bound to isolated ones",
			      cpus_count(before), cpus_count(cpus), list)
		    : NULL;
}

/* kernel/time/tick-sched.c, tick_nohz_cpu_hotpluggable(): with nohz_full= at work the CPU that
 * keeps the time stays, and that is the one that booted. */
static char *check_tick(const struct facts *facts, hwloc_bitmap_t cpus)
{
	if (!facts->platform.has_dynticks || !hwloc_bitmap_isset(facts->target, 0) ||
	    !facts->machine->cpus[0].has_online_file)
		return NULL;
	hwloc_bitmap_set(cpus, 0);
	return strdup("nohz_full= is at work, and cpu0 keeps the time for the CPUs in it: the "
		      "kernel does not let it go");
}

/* ---- deadline tasks ---------------------------------------------------------------------- */

/* The partition that governs a thread: its root domain has the bandwidth. */
static const struct cgroup *find_domain(const struct facts *facts, const struct task *task)
{
	const struct cgroup *cgroup = task->cgroup;

	while (cgroup && cgroup->depth && !cgroup_is_partition(cgroup))
		cgroup = cgroups_parent(facts->cgroups, cgroup);
	return cgroup;
}

/* What deadline tasks of a domain need, and what they get on the CPUs that remain for them. */
struct demands {
	double sum;
	unsigned int nr_cpus;
	char *names;
};

/*
 * kernel/sched/deadline.c, dl_bw_manage(): as the last CPU goes the servers of those that stay are
 * counted, and its own.
 */
static double admitted(const struct facts *facts, unsigned int nr_cpus, bool with_servers)
{
	return facts->deadline_limit * nr_cpus -
	       (with_servers ? facts->deadline_server * (nr_cpus + 1) : 0);
}

static void find_demands(const struct facts *facts, const struct cgroup *domain,
			 hwloc_bitmap_t cpus, struct demands *demands)
{
	size_t nr = 0;

	*demands = (struct demands){ .names = strdup("") };
	for (size_t i = 0; i < facts->tasks->nr; i++) {
		const struct task *task = &facts->tasks->list[i];

		if (task->bandwidth <= 0 || find_domain(facts, task) != domain)
			continue;
		demands->sum += task->bandwidth;
		demands->names = rules_add_name(demands->names, nr++, "%d %s %.2f", (int)task->tid,
						task->comm, task->bandwidth);
	}
	hwloc_bitmap_copy(cpus, facts->survivors);
	if (domain && domain->effective)
		hwloc_bitmap_and(cpus, cpus, domain->effective);
	demands->nr_cpus = cpus_count(cpus);
}

static char *check_domain(const struct facts *facts, const struct cgroup *domain,
			  hwloc_bitmap_t cpus)
{
	struct demands demands;
	char *message = NULL;

	find_demands(facts, domain, cpus, &demands);
	if (demands.nr_cpus && demands.sum > admitted(facts, demands.nr_cpus, true))
		message = util_asprintf("deadline tasks need %.2f CPUs and %u remain for them, of "
					"which the kernel admits %.2f: %s",
					demands.sum, demands.nr_cpus,
					admitted(facts, demands.nr_cpus, true),
					demands.names ? demands.names : "");
	else
		hwloc_bitmap_zero(cpus);
	free(demands.names);
	return message;
}

/* An isolated partition lets CPUs go past the kernel's own admission test, kernel/sched/deadline.c.
 */
static char *check_deadline(const struct facts *facts, hwloc_bitmap_t cpus)
{
	char *message = NULL;

	if (!facts->tasks || facts->deadline_limit <= 0)
		return NULL;
	for (size_t i = 0; !message && i < facts->tasks->nr; i++)
		if (facts->tasks->list[i].bandwidth > 0)
			message = check_domain(facts, find_domain(facts, &facts->tasks->list[i]),
					       cpus);
	return message;
}

/* Kernels lose count of the servers now and then, and then admit as much as without them. */
static enum severity weigh_deadline(const struct facts *facts)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	bool is_certain = !cpus;

	for (size_t i = 0; cpus && !is_certain && i < facts->tasks->nr; i++) {
		const struct task *task = &facts->tasks->list[i];
		struct demands demands;

		if (task->bandwidth <= 0)
			continue;
		find_demands(facts, find_domain(facts, task), cpus, &demands);
		is_certain =
			demands.nr_cpus && demands.sum > admitted(facts, demands.nr_cpus, false);
		free(demands.names);
	}
	return is_certain ? SEVERITY_REFUSE : SEVERITY_WARN;
}

/* Linux 6.1 loses bandwidth when CPUs go while there are deadline tasks, and refuses all CPUs once
 * those have ended. */
static char *check_deadline_leak(const struct facts *facts, hwloc_bitmap_t cpus)
{
	if (facts->platform.deadline_total >= 0)
		return NULL;
	return rules_told(util_asprintf("the kernel has counted %.2f CPUs for deadline tasks, less "
					"than none: it would refuse every CPU (EBUSY)",
					facts->platform.deadline_total),
			  facts, cpus);
}

/* ---- interrupts, disks, hypervisors ------------------------------------------------------ */

static char *check_vectors(const struct facts *facts, hwloc_bitmap_t cpus)
{
	const struct vectors *vectors = &facts->vectors;

	if (!vectors->is_known || vectors->needed <= vectors->available)
		return NULL;
	return rules_told(util_asprintf("%s%lu interrupt vectors have to leave the selection, and "
					"the CPUs that stay have %lu in use and %lu free",
					vectors->is_exact ? "" : "about ", vectors->needed,
					vectors->used, vectors->available),
			  facts, cpus);
}

/* Without the kernel's own count interrupts that need not move may have been counted, too. */
static enum severity weigh_vectors(const struct facts *facts)
{
	return facts->vectors.is_exact ? SEVERITY_REFUSE : SEVERITY_WARN;
}

static char *check_stalled(const struct facts *facts, hwloc_bitmap_t cpus)
{
	return rules_tell_names(&facts->queues.stalled, facts, cpus,
				"disks have not answered a request for half a second, and queues "
				"of theirs lose their last CPU (requests in flight): ",
				"");
}

static char *check_fabrics(const struct facts *facts, hwloc_bitmap_t cpus)
{
	return rules_tell_names(&facts->queues.fabrics, facts, cpus,
				"NVMe controllers are reached over a network, and cannot connect "
				"anew (EXDEV) where a queue has no CPU online: ",
				"");
}

static char *check_tdx_guest(const struct facts *facts, hwloc_bitmap_t cpus)
{
	if (!facts->platform.is_tdx_guest)
		return NULL;
	return rules_told(strdup("this is a TDX guest (flag tdx_guest in /proc/cpuinfo): its "
				 "kernel takes no CPU offline (EOPNOTSUPP)"),
			  facts, cpus);
}

static char *check_channels(const struct facts *facts, hwloc_bitmap_t cpus)
{
	return rules_tell_names(&facts->platform.channels, facts, cpus,
				"channels of Hyper-V are bound to CPUs of the selection, which the "
				"kernel then keeps (EBUSY): ",
				"");
}

static char *check_scheduler(const struct facts *facts, hwloc_bitmap_t cpus)
{
	if (!facts->platform.scheduler)
		return NULL;
	return rules_told(
		util_asprintf("the BPF scheduler %s is at work (/sys/kernel/sched_ext/state is "
			      "enabled): such a scheduler may end when a CPU goes or comes",
			      facts->platform.scheduler),
		facts, cpus);
}

const struct rule rules_kernel[] = {
	{ "housekeeping-timer", SEVERITY_REFUSE, SEVERITY_REFUSE, .when = RULE_OFFLINE,
	  .check = check_housekeeping_timer, .reads = "/proc/cmdline: nohz_full=, isolcpus=nohz",
	  .what = "Only CPUs of nohz_full= would stay online, and the kernel would panic.",
	  .remedy = "Leave one of these CPUs online with --except, or boot without nohz_full=. "
		    "Nothing overrides this rule." },
	{ "housekeeping-domain", SEVERITY_REFUSE, SEVERITY_REFUSE, .when = RULE_OFFLINE,
	  .check = check_housekeeping_domain,
	  .reads = "/proc/cmdline: isolcpus=; /sys/devices/system/cpu/isolated",
	  .what = "Only isolated CPUs would stay online; the kernel keeps the last other one.",
	  .remedy = "Leave one of these CPUs online with --except, or boot without isolcpus=." },
	{ "housekeepers-few", SEVERITY_WARN, SEVERITY_WARN, .when = RULE_OFFLINE,
	  .check = check_housekeepers_few,
	  .reads = "/proc/cmdline: nohz_full=, isolcpus=; /sys/devices/system/cpu/isolated",
	  .what = "More than half of the CPUs that are not isolated would go.",
	  .remedy = "Leave some of the CPUs that are not isolated online with --except, or take "
		    "isolated ones." },
	{ "tick-cpu", SEVERITY_REFUSE, SEVERITY_REFUSE, .when = RULE_OFFLINE, .is_forcible = true,
	  .check = check_tick, .reads = "/sys/devices/system/cpu/nohz_full",
	  .what = "With nohz_full= the kernel keeps the CPU that keeps the time.",
	  .remedy = "Leave cpu0 out with --except 0, or boot without nohz_full=." },
	{ "deadline-bandwidth", SEVERITY_REFUSE, SEVERITY_WARN, .when = RULE_OFFLINE,
	  .check = check_deadline, .weigh = weigh_deadline,
	  .reads = "sched_getattr(2) of all threads; /proc/sys/kernel/sched_rt_runtime_us, "
		   "sched_rt_period_us; /sys/kernel/debug/sched/fair_server; "
		   "cpuset.cpus.partition",
	  .what = "Deadline tasks need more than the kernel admits on the CPUs that remain.",
	  .remedy = "Stop some of these tasks, or take fewer CPUs." },
	{ "deadline-leak", SEVERITY_REFUSE, SEVERITY_REFUSE, .when = RULE_OFFLINE,
	  .is_forcible = true, .check = check_deadline_leak,
	  .reads = "/sys/kernel/debug/sched/debug: dl_bw->total_bw",
	  .what = "The kernel has lost count of deadline tasks and would refuse every CPU.",
	  .remedy = "Bring any CPU online that is offline, or change a cpuset partition: the "
		    "kernel counts anew then." },
	{ "interrupt-vectors", SEVERITY_REFUSE, SEVERITY_WARN, .when = RULE_OFFLINE,
	  .is_forcible = true, .check = check_vectors, .weigh = weigh_vectors,
	  .reads = "/sys/kernel/debug/irq/domains/VECTOR, else /proc/irq/*/effective_affinity_list",
	  .what = "The CPUs that stay have too few free interrupt vectors (x86).",
	  .remedy = "Take fewer CPUs, or give drivers fewer queues (ethtool -L), or unload some." },
	{ "block-requests", SEVERITY_WARN, SEVERITY_WARN, .when = RULE_OFFLINE,
	  .check = check_stalled,
	  .reads = "/sys/block/*/stat, mq/*/cpu_list; /sys/kernel/debug/block/*/hctx*/busy",
	  .what = "A disk does not answer, and the kernel would wait for it with a CPU half gone.",
	  .remedy = "Find out why before CPUs go: the kernel waits for these requests, however "
		    "long, and cannot be called off." },
	{ "nvme-fabrics", SEVERITY_WARN, SEVERITY_WARN, .when = RULE_OFFLINE,
	  .check = check_fabrics, .reads = "/sys/class/nvme/*/transport",
	  .what = "NVMe over a network cannot connect anew while CPUs are offline.",
	  .remedy = "Connect with fewer queues than CPUs that stay (nvme connect --nr-io-queues), "
		    "or see that another path to the data is up." },
	{ "tdx-guest", SEVERITY_REFUSE, SEVERITY_REFUSE, .when = RULE_OFFLINE, .is_forcible = true,
	  .check = check_tdx_guest, .reads = "/proc/cpuinfo",
	  .what = "A confidential guest cannot take CPUs offline.",
	  .remedy = "Take the CPUs away on the hypervisor." },
	{ "hyperv-channels", SEVERITY_REFUSE, SEVERITY_REFUSE, .when = RULE_OFFLINE,
	  .is_forcible = true, .check = check_channels,
	  .reads = "/sys/bus/vmbus/devices/*/channels/*/cpu",
	  .what = "Channels of Hyper-V are bound to the selection.",
	  .remedy = "Write the number of another CPU to these files below /sys/bus/vmbus/devices; "
		    "one that cannot be written keeps its CPU." },
	{ "sched-ext", SEVERITY_WARN, SEVERITY_WARN, .when = RULE_OFFLINE, .check = check_scheduler,
	  .reads = "/sys/kernel/sched_ext/state, root/ops", .what = "A BPF scheduler is at work.",
	  .remedy = "Stop its service meanwhile, or be ready to start it anew." },
	{ 0 },
};
