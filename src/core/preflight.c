/* SPDX-License-Identifier: GPL-2.0-or-later */
/* preflight.c - every reason to refuse, found before the first write */
#include "core/preflight.h"

#include <errno.h>
#include <string.h>

#include "host/cpusets.h"
#include "host/partition.h"

/*
 * A rule's check puts into @cpus the CPUs concerned and returns the sentence, to be freed, or NULL
 * with @cpus empty where there is nothing to say.
 */
struct rule {
	const char *id;
	enum severity severity;
	bool is_permission;
	bool is_forcible;
	/* may lower the severity, for this machine and request */
	enum severity (*weigh)(const struct facts *facts);
	char *(*check)(const struct facts *facts, hwloc_bitmap_t cpus);
	const char *remedy;
};

/* A sentence that could not be made must not be taken for nothing to say. */
static char *told(char *message, const struct facts *facts, hwloc_bitmap_t cpus)
{
	if (!message)
		hwloc_bitmap_copy(cpus, facts->target);
	return message;
}

/* "cpu7" and the text for one, or "CPUs 7-9" and that for many. */
static char *name_cpus(hwloc_const_bitmap_t cpus, const char *one, const char *many)
{
	_cleanup_free_ char *list = cpus_format(cpus);
	bool is_one = cpus_count(cpus) == 1;

	if (!list)
		return NULL;
	return util_asprintf("%s%s %s", is_one ? "cpu" : "CPUs ", list, is_one ? one : many);
}

#define NAMES_SHOWN 8

/* Adds ", NAME" to @list, up to a number that a person reads; NULL where there is no memory. */
_printf_(3, 4) static char *add_name(char *list, size_t nr, const char *fmt, ...)
{
	_cleanup_free_ char *name = NULL, *old = list;
	va_list ap;

	if (!list)
		return NULL;
	if (nr >= NAMES_SHOWN)
		return nr == NAMES_SHOWN ? util_asprintf("%s, ...", list) : steal_pointer(&old);
	va_start(ap, fmt);
	name = util_vasprintf(fmt, ap);
	va_end(ap);
	return name ? util_asprintf("%s%s%s", list, nr ? ", " : "", name) : NULL;
}

/* ---- taking CPUs offline ----------------------------------------------------------------- */

static char *check_permission(const struct facts *facts, hwloc_bitmap_t cpus)
{
	if (!facts->denied_path)
		return NULL;
	return told(util_asprintf("%s cannot be written: %s", facts->denied_path,
				  strerror(facts->denied_errno)),
		    facts, cpus);
}

static char *check_no_online_file(const struct facts *facts, hwloc_bitmap_t cpus)
{
	unsigned int cpu;

	cpus_foreach(cpu, facts->target)
		if (!facts->machine->cpus[cpu].has_online_file)
			hwloc_bitmap_set(cpus, cpu);
	if (cpus_is_empty(cpus))
		return NULL;
	return name_cpus(cpus, "has no online file: the kernel does not let it go offline",
			 "have no online file: the kernel does not let them go offline");
}

/* Only what concerns the target: elsewhere the kernel may say what it likes. */
static char *check_contradiction(const struct facts *facts, hwloc_bitmap_t cpus)
{
	_cleanup_free_ char *message = strdup("");
	size_t nr = 0;

	for (size_t i = 0; i < facts->machine->nr_contradictions; i++) {
		const struct contradiction *contradiction = &facts->machine->contradictions[i];

		if (!hwloc_bitmap_intersects(contradiction->cpus, facts->target))
			continue;
		hwloc_bitmap_or(cpus, cpus, contradiction->cpus);
		message = add_name(message, nr++, "%s", contradiction->message);
	}
	return nr ? told(util_asprintf("the kernel's files contradict each other: %s",
				       message ? message : ""),
			 facts, cpus)
		  : NULL;
}

static char *check_nothing_remains(const struct facts *facts, hwloc_bitmap_t cpus)
{
	if (!cpus_is_empty(facts->survivors))
		return NULL;
	hwloc_bitmap_copy(cpus, facts->target);
	return strdup("no CPU would remain online: these are all that the machine has");
}

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
	return told(
		util_asprintf(
			"only CPUs of nohz_full= (%s) would remain: taking the last CPU outside "
			"of it makes the kernel panic",
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
	return told(
		util_asprintf(
			"only isolated CPUs (%s) would remain: the kernel keeps the last CPU that "
			"is not isolated",
			list ? list : ""),
		facts, cpus);
}

static char *check_cpu0(const struct facts *facts, hwloc_bitmap_t cpus)
{
	if (facts->request->allow_cpu0 || !hwloc_bitmap_isset(facts->target, 0) ||
	    !facts->machine->cpus[0].has_online_file)
		return NULL;
	hwloc_bitmap_set(cpus, 0);
	return strdup(
		"cpu0 is in the selection: firmware, suspend and some interrupts may need it");
}

/* Who asks for the later threads alone wants the first ones to stay. */
static bool asks_for_smt(const struct request *request)
{
	for (size_t i = 0; i < request->nr_selectors; i++)
		if (request->selectors[i].kind == SELECT_SMT)
			return true;
	return false;
}

static char *check_sibling_stays(const struct facts *facts, hwloc_bitmap_t cpus)
{
	_cleanup_cpus_ hwloc_bitmap_t siblings = hwloc_bitmap_alloc();
	_cleanup_free_ char *list = NULL;
	unsigned int cpu;

	if (asks_for_smt(facts->request))
		return NULL;
	hwloc_bitmap_copy(cpus, facts->target); /* no memory: there might be something to say */
	if (!siblings)
		return NULL;
	cpus_foreach(cpu, facts->target)
		if (facts->machine->cpus[cpu].siblings)
			hwloc_bitmap_or(siblings, siblings, facts->machine->cpus[cpu].siblings);
	hwloc_bitmap_and(cpus, siblings, facts->survivors);
	if (cpus_is_empty(cpus))
		return NULL;
	list = cpus_format(cpus);
	if (!list)
		return NULL;
	return cpus_count(cpus) == 1
		       ? util_asprintf("%s shares a core with the selection and stays online", list)
		       : util_asprintf("%s share cores with the selection and stay online", list);
}

/* ---- tasks and cpusets ------------------------------------------------------------------- */

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
		names = add_name(names, (*nr)++, "%d %s on %s%s", (int)task->tid, task->comm,
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

/* The partition that governs a thread: its root domain has the bandwidth. */
static const struct cgroup *find_domain(const struct facts *facts, const struct task *task)
{
	const struct cgroup *cgroup = task->cgroup;

	while (cgroup && cgroup->depth && !cgroup_is_partition(cgroup))
		cgroup = cgroups_parent(facts->cgroups, cgroup);
	return cgroup;
}

static char *check_domain(const struct facts *facts, const struct cgroup *domain,
			  hwloc_bitmap_t cpus)
{
	_cleanup_free_ char *names = strdup("");
	double sum = 0, limit;
	size_t nr = 0;

	for (size_t i = 0; i < facts->tasks->nr; i++) {
		const struct task *task = &facts->tasks->list[i];

		if (task->bandwidth <= 0 || find_domain(facts, task) != domain)
			continue;
		sum += task->bandwidth;
		names = add_name(names, nr++, "%d %s %.2f", (int)task->tid, task->comm,
				 task->bandwidth);
	}
	hwloc_bitmap_copy(cpus, facts->survivors);
	if (domain && domain->effective)
		hwloc_bitmap_and(cpus, cpus, domain->effective);
	limit = facts->deadline_limit * cpus_count(cpus);
	if (!nr || sum <= limit || cpus_count(cpus) == 0) {
		hwloc_bitmap_zero(cpus);
		return NULL;
	}
	return util_asprintf(
		"deadline tasks need %.2f CPUs and %u remain for them, of which the kernel "
		"admits %.2f: %s",
		sum, cpus_count(cpus), limit, names ? names : "");
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

static char *check_survivors_partitioned(const struct facts *facts, hwloc_bitmap_t cpus)
{
	if (!facts->cgroups || cpus_is_empty(facts->survivors) ||
	    partition_leaves_root(facts->cgroups, facts->survivors))
		return NULL;
	hwloc_bitmap_copy(cpus, facts->survivors);
	return strdup("all CPUs that would remain are in cpuset partitions of others: nothing is "
		      "left for the "
		      "rest of the system");
}

/* "machine.slice/vm1.scope (8-9: 4242 qemu-kvm)" */
static char *add_emptied(char *names, size_t nr, const struct emptied *emptied)
{
	const char *holds = emptied->nr_tasks		    ? emptied->tasks
			    : emptied->cgroup->is_populated ? "holds tasks"
							    : "no tasks";

	return add_name(names, nr, "%s (%s: %s)", emptied->cgroup->path, emptied->cpus, holds);
}

static char *check_emptied(const struct facts *facts, hwloc_bitmap_t cpus)
{
	_cleanup_free_ char *names = strdup("");
	struct emptied_list emptied;
	char *message = NULL;

	if (!facts->cgroups)
		return NULL;
	if (cpusets_emptied(facts->cgroups, facts->tasks, facts->machine, facts->target, &emptied))
		return told(NULL, facts, cpus);
	for (size_t i = 0; i < emptied.nr; i++) {
		hwloc_bitmap_or(cpus, cpus, emptied.list[i].cgroup->cpus);
		names = add_emptied(names, i, &emptied.list[i]);
	}
	if (emptied.nr)
		message = told(
			util_asprintf("cpusets would be left without CPUs: %s", names ? names : ""),
			facts, cpus);
	cpusets_emptied_free(&emptied);
	return message;
}

static const struct rule offline_rules[] = {
	{ "permission", SEVERITY_REFUSE, .is_permission = true, .check = check_permission,
	  .remedy =
		  "Run cpuoff as root, on the machine itself: containers have a read-only /sys." },
	{ "no-online-file", SEVERITY_REFUSE, .check = check_no_online_file,
	  .remedy = "Leave such CPUs out with --except, or take what can go with "
		    "--skip-unpluggable; the "
		    "hardware must then not be removed." },
	{ "sysfs-contradiction", SEVERITY_REFUSE, .check = check_contradiction,
	  .remedy = "Look at these files below /sys/devices/system, or leave these CPUs out with "
		    "--except." },
	{ "nothing-remains", SEVERITY_REFUSE, .check = check_nothing_remains,
	  .remedy = "Leave some CPUs out with --except." },
	{ "housekeeping-timer", SEVERITY_REFUSE, .check = check_housekeeping_timer,
	  .remedy = "Leave one of these CPUs online with --except, or boot without nohz_full=. "
		    "Nothing "
		    "overrides this rule." },
	{ "housekeeping-domain", SEVERITY_REFUSE, .check = check_housekeeping_domain,
	  .remedy = "Leave one of these CPUs online with --except, or boot without isolcpus=." },
	{ "cpu0", SEVERITY_REFUSE, .check = check_cpu0,
	  .remedy = "Add --allow-cpu0 if this machine is known to run without it." },
	{ "cpuset-emptied", SEVERITY_REFUSE, .check = check_emptied, .is_forcible = true,
	  .remedy = "Give them other CPUs, or stop what runs in them; --force lets their tasks run "
		    "on others "
		    "meanwhile." },
	{ "survivors-partitioned", SEVERITY_REFUSE, .check = check_survivors_partitioned,
	  .remedy = "Dissolve one of these partitions, or leave some CPUs out with --except." },
	{ "deadline-bandwidth", SEVERITY_REFUSE, .check = check_deadline,
	  .remedy = "Stop some of these tasks, or take fewer CPUs." },
	{ "pinned-tasks", SEVERITY_REFUSE, .check = check_pinned, .weigh = weigh_pinned,
	  .remedy = "They run on other CPUs meanwhile and get their masks back; --pinned=move "
		    "accepts that, "
		    "--pinned=refuse refuses." },
	{ "smt-sibling-stays", SEVERITY_WARN, .check = check_sibling_stays,
	  .remedy =
		  "Select whole cores with --core-of if the core is faulty or is to be replaced." },
};

/* ---- bringing CPUs back ------------------------------------------------------------------ */

/* A CPU that was the first thread of its core may return while SMT is off; the others may not. */
static bool may_be_sibling(const struct facts *facts, unsigned int cpu)
{
	for (size_t i = 0; i < facts->nr_places; i++)
		if (facts->places[i].cpu == cpu)
			return facts->places[i].thread != 0;
	return true;
}

static char *check_smt_off(const struct facts *facts, hwloc_bitmap_t cpus)
{
	const char *control = facts->machine->smt_control;
	unsigned int cpu;

	if (!control || (strcmp(control, "off") && strcmp(control, "forceoff")) ||
	    (facts->frees_smt && strcmp(control, "forceoff")))
		return NULL;
	cpus_foreach(cpu, facts->target)
		if (may_be_sibling(facts, cpu))
			hwloc_bitmap_set(cpus, cpu);
	if (cpus_is_empty(cpus))
		return NULL;
	return util_asprintf(
		"/sys/devices/system/cpu/smt/control is \"%s\": the kernel refuses to bring "
		"hardware threads online that are not the first of their core",
		control);
}

static char *check_standby(const struct facts *facts, hwloc_bitmap_t cpus)
{
	unsigned int cpu;

	cpus_foreach(cpu, facts->target)
		if (machine_has_cpu(facts->machine, cpu) && facts->machine->cpus[cpu].is_standby)
			hwloc_bitmap_set(cpus, cpu);
	if (cpus_is_empty(cpus))
		return NULL;
	return name_cpus(cpus, "is standby: it must be configured before it can come online",
			 "are standby: they must be configured before they can come online");
}

static const struct rule return_rules[] = {
	{ "permission", SEVERITY_REFUSE, .is_permission = true, .check = check_permission,
	  .remedy =
		  "Run cpuoff as root, on the machine itself: containers have a read-only /sys." },
	{ "smt-off", SEVERITY_REFUSE, .check = check_smt_off,
	  .remedy = "Write on to smt/control; it brings back every offline CPU of the machine." },
	{ "cpu-standby", SEVERITY_WARN, .check = check_standby,
	  .remedy = "Configure it with chcpu --configure, then restore again." },
};

/* ---- running them ------------------------------------------------------------------------ */

static int run_rule(const struct rule *rule, const struct facts *facts, struct findings *findings)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	_cleanup_free_ char *message = cpus ? rule->check(facts, cpus) : NULL;
	struct finding *finding;

	if (!cpus || (!message && !cpus_is_empty(cpus)))
		return -ENOMEM;
	if (!message)
		return 0;
	finding =
		findings_add(findings, rule->id, rule->severity, cpus, rule->remedy, "%s", message);
	if (!finding)
		return -ENOMEM;
	finding->is_permission = rule->is_permission;
	finding->is_forcible = rule->is_forcible;
	if (rule->weigh)
		finding->severity = rule->weigh(facts);
	if (rule->is_forcible && facts->request->force)
		finding->severity = SEVERITY_WARN;
	return 0;
}

static int run_rules(const struct rule *rules, size_t nr, const struct facts *facts,
		     struct findings *findings)
{
	int r = 0;

	for (size_t i = 0; !r && i < nr; i++)
		r = run_rule(&rules[i], facts, findings);
	return r;
}

int preflight_offline(const struct facts *facts, struct findings *findings)
{
	return run_rules(offline_rules, ARRAY_SIZE(offline_rules), facts, findings);
}

int preflight_return(const struct facts *facts, struct findings *findings)
{
	return run_rules(return_rules, ARRAY_SIZE(return_rules), facts, findings);
}
