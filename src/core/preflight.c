/* SPDX-License-Identifier: GPL-2.0-or-later */
/* preflight.c - every reason to refuse, found before the first write */
#include "core/preflight.h"

#include <errno.h>
#include <string.h>

/*
 * A rule's check puts into @cpus the CPUs concerned and returns the sentence, to be freed, or NULL with @cpus
 * empty where there is nothing to say.
 */
struct rule {
	const char *id;
	enum severity severity;
	bool is_permission;
	bool is_forcible;
	char *(*check)(const struct facts *facts, hwloc_bitmap_t cpus);
	const char *remedy;
};

/* "cpu7" or "CPUs 7-9", and the verb that fits. */
static char *name_cpus(hwloc_const_bitmap_t cpus, const char *one, const char *many, const char *rest)
{
	_cleanup_free_ char *list = cpus_format(cpus);
	bool is_one = cpus_count(cpus) == 1;

	if (!list)
		return NULL;
	return util_asprintf("%s%s %s%s", is_one ? "cpu" : "CPUs ", list, is_one ? one : many, rest);
}

/* ---- taking CPUs offline ---------------------------------------------------------------------- */

static char *check_permission(const struct facts *facts, hwloc_bitmap_t cpus)
{
	(void)cpus;
	if (!facts->denied_path)
		return NULL;
	return util_asprintf("%s cannot be written: %s", facts->denied_path, strerror(facts->denied_errno));
}

static char *check_no_online_file(const struct facts *facts, hwloc_bitmap_t cpus)
{
	unsigned int cpu;

	cpus_foreach(cpu, facts->target)
		if (!facts->machine->cpus[cpu].has_online_file)
			hwloc_bitmap_set(cpus, cpu);
	if (cpus_is_empty(cpus))
		return NULL;
	return name_cpus(cpus, "has", "have", " no online file: the kernel does not let it go offline");
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
 * kernel/time/hrtimer.c hands the timers of a dying CPU to an online one outside of nohz_full=. Where there
 * is none, 6.1 to 7.3 index past the last CPU and panic.
 */
static char *check_housekeeping_timer(const struct facts *facts, hwloc_bitmap_t cpus)
{
	_cleanup_free_ char *list = NULL;

	if (housekeeper_stays(facts, facts->machine->nohz_full))
		return NULL;
	hwloc_bitmap_andnot(cpus, facts->target, facts->machine->nohz_full);
	list = cpus_format(facts->machine->nohz_full);
	return util_asprintf("only CPUs of nohz_full= (%s) would remain: taking the last CPU outside of it "
			     "makes the kernel panic",
			     list ? list : "");
}

/* kernel/cpu.c, cpu_down_maps_locked(): EBUSY for the last CPU that is not isolated. */
static char *check_housekeeping_domain(const struct facts *facts, hwloc_bitmap_t cpus)
{
	_cleanup_free_ char *list = NULL;

	if (housekeeper_stays(facts, facts->machine->isolated))
		return NULL;
	hwloc_bitmap_andnot(cpus, facts->target, facts->machine->isolated);
	list = cpus_format(facts->machine->isolated);
	return util_asprintf("only isolated CPUs (%s) would remain: the kernel keeps the last CPU that is "
			     "not isolated",
			     list ? list : "");
}

static char *check_cpu0(const struct facts *facts, hwloc_bitmap_t cpus)
{
	if (facts->request->allow_cpu0 || !hwloc_bitmap_isset(facts->target, 0) ||
	    !facts->machine->cpus[0].has_online_file)
		return NULL;
	hwloc_bitmap_set(cpus, 0);
	return strdup("cpu0 is in the selection: firmware, suspend and some interrupts may need it");
}

static char *check_sibling_stays(const struct facts *facts, hwloc_bitmap_t cpus)
{
	_cleanup_cpus_ hwloc_bitmap_t siblings = hwloc_bitmap_alloc();
	_cleanup_free_ char *list = NULL;
	unsigned int cpu;

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
	return cpus_count(cpus) == 1 ?
		       util_asprintf("%s shares a core with the selection and stays online", list) :
		       util_asprintf("%s share cores with the selection and stay online", list);
}

static const struct rule offline_rules[] = {
	{ "permission", SEVERITY_REFUSE, .is_permission = true, .check = check_permission,
	  .remedy = "Run cpuoff as root, on the machine itself: containers have a read-only /sys." },
	{ "no-online-file", SEVERITY_REFUSE, .check = check_no_online_file,
	  .remedy = "Leave such CPUs out with --except, or take what can go with --skip-unpluggable; the "
		    "hardware must then not be removed." },
	{ "nothing-remains", SEVERITY_REFUSE, .check = check_nothing_remains,
	  .remedy = "Leave some CPUs out with --except." },
	{ "housekeeping-timer", SEVERITY_REFUSE, .check = check_housekeeping_timer,
	  .remedy = "Leave one of these CPUs online with --except, or boot without nohz_full=. Nothing "
		    "overrides this rule." },
	{ "housekeeping-domain", SEVERITY_REFUSE, .check = check_housekeeping_domain,
	  .remedy = "Leave one of these CPUs online with --except, or boot without isolcpus=." },
	{ "cpu0", SEVERITY_REFUSE, .check = check_cpu0,
	  .remedy = "Add --allow-cpu0 if this machine is known to run without it." },
	{ "smt-sibling-stays", SEVERITY_WARN, .check = check_sibling_stays,
	  .remedy = "Select whole cores with --core-of if the core is faulty or is to be replaced." },
};

/* ---- bringing CPUs back ------------------------------------------------------------------------ */

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

	if (!control || (strcmp(control, "off") && strcmp(control, "forceoff")))
		return NULL;
	cpus_foreach(cpu, facts->target)
		if (may_be_sibling(facts, cpu))
			hwloc_bitmap_set(cpus, cpu);
	if (cpus_is_empty(cpus))
		return NULL;
	return util_asprintf("/sys/devices/system/cpu/smt/control is \"%s\": the kernel refuses to bring "
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
	return name_cpus(cpus, "is", "are", " standby: it must be configured before it can come online");
}

static const struct rule return_rules[] = {
	{ "permission", SEVERITY_REFUSE, .is_permission = true, .check = check_permission,
	  .remedy = "Run cpuoff as root, on the machine itself: containers have a read-only /sys." },
	{ "smt-off", SEVERITY_REFUSE, .check = check_smt_off,
	  .remedy = "Write on to smt/control; it brings back every offline CPU of the machine." },
	{ "cpu-standby", SEVERITY_WARN, .check = check_standby,
	  .remedy = "Configure it with chcpu --configure, then restore again." },
};

/* ---- running them ------------------------------------------------------------------------------- */

static int run_rule(const struct rule *rule, const struct facts *facts, struct findings *findings)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	_cleanup_free_ char *message = cpus ? rule->check(facts, cpus) : NULL;
	struct finding *finding;

	if (!cpus || (!message && !cpus_is_empty(cpus)))
		return -ENOMEM;
	if (!message)
		return 0;
	finding = findings_add(findings, rule->id, rule->severity, cpus, rule->remedy, "%s", message);
	if (!finding)
		return -ENOMEM;
	finding->is_permission = rule->is_permission;
	finding->is_forcible = rule->is_forcible;
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
