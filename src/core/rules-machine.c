/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rules-machine.c - rules on what the machine is and allows */
#include <errno.h>
#include <string.h>

#include "core/rules.h"

#define CPU_FILES "/sys/devices/system/cpu"

static char *check_permission(const struct facts *facts, hwloc_bitmap_t cpus)
{
	if (!facts->denied_path)
		return NULL;
	return rules_told(util_asprintf("%s cannot be written: %s", facts->denied_path,
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
	return rules_name_cpus(cpus, "has no online file: the kernel does not let it go offline",
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
		message = rules_add_name(message, nr++, "%s", contradiction->message);
	}
	return nr ? rules_told(util_asprintf("the kernel's files contradict each other: %s",
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

/* ---- sockets and nodes ------------------------------------------------------------------- */

/* The CPUs of @in whose socket is one of @sockets. */
static void find_cpus_of(const struct machine *machine, hwloc_const_bitmap_t in,
			 hwloc_const_bitmap_t sockets, hwloc_bitmap_t ret_cpus)
{
	unsigned int cpu;

	cpus_foreach(cpu, in)
		if (machine->cpus[cpu].socket >= 0 &&
		    hwloc_bitmap_isset(sockets, (unsigned int)machine->cpus[cpu].socket))
			hwloc_bitmap_set(ret_cpus, cpu);
}

static void add_sockets(const struct machine *machine, hwloc_const_bitmap_t cpus,
			hwloc_bitmap_t sockets)
{
	unsigned int cpu;

	cpus_foreach(cpu, cpus)
		if (machine->cpus[cpu].socket >= 0)
			hwloc_bitmap_set(sockets, (unsigned int)machine->cpus[cpu].socket);
}

/* The sockets that lose their last CPU into @sockets, and their CPUs into @cpus. */
static int find_lost_sockets(const struct facts *facts, hwloc_bitmap_t sockets, hwloc_bitmap_t cpus)
{
	_cleanup_cpus_ hwloc_bitmap_t kept = hwloc_bitmap_alloc();

	if (!kept || !sockets)
		return -ENOMEM;
	add_sockets(facts->machine, facts->target, sockets);
	add_sockets(facts->machine, facts->survivors, kept);
	hwloc_bitmap_andnot(sockets, sockets, kept);
	find_cpus_of(facts->machine, facts->target, sockets, cpus);
	return 0;
}

static char *check_tdx_host(const struct facts *facts, hwloc_bitmap_t cpus)
{
	_cleanup_cpus_ hwloc_bitmap_t sockets = hwloc_bitmap_alloc();
	_cleanup_free_ char *list = NULL;

	if (!facts->platform.is_tdx_host)
		return NULL;
	if (find_lost_sockets(facts, sockets, cpus))
		return rules_told(NULL, facts, cpus);
	if (cpus_is_empty(sockets))
		return NULL;
	list = cpus_format(sockets);
	return list ? util_asprintf("socket %s would lose its last CPU, and KVM runs TDX guests "
				    "(/sys/module/kvm_intel/parameters/tdx is Y), which need one "
				    "on each socket",
				    list)
		    : NULL;
}

/* What of a socket ends with its last CPU: "12 uncore units, power limits of intel-rapl:1". */
static char *check_socket_emptied(const struct facts *facts, hwloc_bitmap_t cpus)
{
	_cleanup_cpus_ hwloc_bitmap_t sockets = hwloc_bitmap_alloc();
	_cleanup_free_ char *list = NULL, *zones = strdup("");
	size_t nr = 0;

	if (find_lost_sockets(facts, sockets, cpus))
		return rules_told(NULL, facts, cpus);
	for (size_t i = 0; i < facts->platform.power.nr; i++)
		if (hwloc_bitmap_isset(sockets, (unsigned int)facts->platform.power.list[i].number))
			zones = rules_add_name(zones, nr++, "%s",
					       facts->platform.power.list[i].name);
	if (cpus_is_empty(sockets) || (!nr && !facts->platform.nr_uncore)) {
		hwloc_bitmap_zero(cpus);
		return NULL;
	}
	list = cpus_format(sockets);
	if (!list || !zones)
		return NULL;
	return util_asprintf("socket %s loses its last CPU: events that are counted on its uncore "
			     "units (%lu PMUs in all) end%s%s",
			     list, facts->platform.nr_uncore,
			     nr ? ", and the kernel resets the power limits of " : "", zones);
}

static char *check_injection(const struct facts *facts, hwloc_bitmap_t cpus)
{
	return rules_tell_names(&facts->platform.injectors, facts, cpus,
				"idle time is injected to cool the machine, and fewer CPUs take "
				"part in it: ",
				"");
}

/* arch/x86/kernel/cpu/microcode/core.c: up to 6.5 all CPUs have to be online, since then the first
 * threads of all cores. */
static char *check_late_loading(const struct facts *facts, hwloc_bitmap_t cpus)
{
	if (!facts->platform.has_late_loading)
		return NULL;
	return rules_told(strdup("microcode can be loaded at run time here, but not while CPUs are "
				 "offline (" CPU_FILES "/microcode/reload)"),
			  facts, cpus);
}

/* Nodes of which all CPUs go; their sockets may have others (sub-NUMA clusters). */
static int find_left_out(const struct facts *facts, hwloc_bitmap_t cpus)
{
	const struct machine *machine = facts->machine;
	_cleanup_cpus_ hwloc_bitmap_t sockets = hwloc_bitmap_alloc(), online = hwloc_bitmap_alloc();

	if (!sockets || !online)
		return -ENOMEM;
	for (size_t i = 0; i < machine->nr_nodes; i++) {
		hwloc_bitmap_and(online, machine->nodes[i].cpus, machine->online);
		if (!cpus_is_empty(online) && hwloc_bitmap_isincluded(online, facts->target))
			add_sockets(machine, online, sockets);
	}
	find_cpus_of(machine, facts->survivors, sockets, cpus);
	return 0;
}

static char *check_nodes_stay(const struct facts *facts, hwloc_bitmap_t cpus)
{
	const struct machine *machine = facts->machine;
	_cleanup_cpus_ hwloc_bitmap_t nodes = hwloc_bitmap_alloc(), sockets = hwloc_bitmap_alloc();
	_cleanup_free_ char *node_list = NULL, *socket_list = NULL;

	if (!nodes || !sockets || find_left_out(facts, cpus))
		return rules_told(NULL, facts, cpus);
	if (cpus_is_empty(cpus))
		return NULL;
	for (size_t i = 0; i < machine->nr_nodes; i++)
		if (hwloc_bitmap_intersects(machine->nodes[i].cpus, cpus))
			hwloc_bitmap_set(nodes, (unsigned int)machine->nodes[i].id);
	add_sockets(machine, cpus, sockets);
	node_list = cpus_format(nodes);
	socket_list = cpus_format(sockets);
	return node_list && socket_list
		       ? util_asprintf(
				 "socket %s has more than the selected nodes: node %s stays online",
				 socket_list, node_list)
		       : NULL;
}

/* ---- where cpuoff itself is -------------------------------------------------------------- */

static char *check_container(const struct facts *facts, hwloc_bitmap_t cpus)
{
	if (!facts->platform.is_in_container)
		return NULL;
	return rules_told(
		strdup("this is not the first pid namespace, but a container: the tasks of the "
		       "host are not to be seen, and would lose what they are bound to"),
		facts, cpus);
}

static char *check_view(const struct facts *facts, hwloc_bitmap_t cpus)
{
	if (!facts->platform.is_view)
		return NULL;
	return rules_told(
		strdup(CPU_FILES
		       "/online is not of the kernel's sysfs, but made up for a container"),
		facts, cpus);
}

static const struct cgroup *find_own_cpuset(const struct facts *facts)
{
	for (size_t i = 0; facts->tasks && facts->self && i < facts->tasks->nr; i++)
		if (facts->tasks->list[i].tid == facts->self)
			return facts->tasks->list[i].cgroup;
	return NULL;
}

static char *check_caller_cpuset(const struct facts *facts, hwloc_bitmap_t cpus)
{
	const struct cgroup *own = find_own_cpuset(facts);
	_cleanup_free_ char *list = NULL, *outside = NULL;

	if (!own || !own->depth || !own->effective ||
	    hwloc_bitmap_isincluded(facts->target, own->effective))
		return NULL;
	hwloc_bitmap_andnot(cpus, facts->target, own->effective);
	list = cpus_format(own->effective);
	outside = cpus_format(cpus);
	return list && outside ? util_asprintf("cpuoff runs in the cpuset %s with CPUs %s; CPU %s "
					       "of the selection is outside of it",
					       own->path, list, outside)
			       : NULL;
}

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
	return util_asprintf(CPU_FILES
			     "/smt/control is \"%s\": the kernel refuses to bring hardware threads "
			     "online that are not the first of their core",
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
	return rules_name_cpus(cpus, "is standby: it must be configured before it can come online",
			       "are standby: they must be configured before they can come online");
}

const struct rule rules_machine[] = {
	{ "permission", SEVERITY_REFUSE, SEVERITY_REFUSE, .when = RULE_OFFLINE | RULE_RETURN,
	  .is_permission = true, .check = check_permission,
	  .reads = CPU_FILES "/cpu*/online, opened for writing; the state directory",
	  .what = "A file that must be written may not be.",
	  .remedy =
		  "Run cpuoff as root, on the machine itself: containers have a read-only /sys." },
	{ "no-online-file", SEVERITY_REFUSE, SEVERITY_REFUSE, .when = RULE_OFFLINE,
	  .check = check_no_online_file, .reads = CPU_FILES "/cpu*/online",
	  .what = "The kernel does not let these CPUs go offline.",
	  .remedy = "Leave such CPUs out with --except, or take what can go with "
		    "--skip-unpluggable; the hardware must then not be removed." },
	{ "sysfs-contradiction", SEVERITY_REFUSE, SEVERITY_REFUSE, .when = RULE_OFFLINE,
	  .check = check_contradiction,
	  .reads = CPU_FILES "/online, cpu*/online, cpu*/topology; /sys/devices/system/node/node*",
	  .what = "The kernel's files contradict each other in what they say of the selection.",
	  .remedy = "Look at these files below /sys/devices/system, or leave these CPUs out with "
		    "--except." },
	{ "nothing-remains", SEVERITY_REFUSE, SEVERITY_REFUSE, .when = RULE_OFFLINE,
	  .check = check_nothing_remains, .reads = CPU_FILES "/online",
	  .what = "No CPU would stay online.", .remedy = "Leave some CPUs out with --except." },
	{ "cpu0", SEVERITY_REFUSE, SEVERITY_REFUSE, .when = RULE_OFFLINE, .check = check_cpu0,
	  .reads = CPU_FILES "/cpu0/online",
	  .what = "CPU 0 is selected: firmware, suspend and some interrupts may need it.",
	  .remedy = "Add --allow-cpu0 if this machine is known to run without it." },
	{ "smt-sibling-stays", SEVERITY_WARN, SEVERITY_WARN, .when = RULE_OFFLINE,
	  .check = check_sibling_stays, .reads = CPU_FILES "/cpu*/topology/thread_siblings",
	  .what = "A hardware thread shares a core with the selection and stays online.",
	  .remedy =
		  "Select whole cores with --core-of if the core is faulty or is to be replaced." },
	{ "socket-nodes-stay", SEVERITY_NOTE, SEVERITY_NOTE, .when = RULE_OFFLINE,
	  .check = check_nodes_stay,
	  .reads = "/sys/devices/system/node/node*/cpulist; " CPU_FILES
		   "/cpu*/topology/physical_package_id",
	  .what = "The socket of a node that goes has other nodes (sub-NUMA clusters) that stay.",
	  .remedy = "Select --socket if it is the socket that is to be serviced." },
	{ "socket-emptied", SEVERITY_NOTE, SEVERITY_NOTE, .when = RULE_OFFLINE,
	  .check = check_socket_emptied,
	  .reads = "/sys/class/powercap/intel-rapl:*; /sys/bus/event_source/devices",
	  .what = "A socket loses its last CPU, and with it counters and power limits.",
	  .remedy = "Start programs that count uncore events anew once the CPUs are back, and look "
		    "at the power limits." },
	{ "idle-injection", SEVERITY_NOTE, SEVERITY_NOTE, .when = RULE_OFFLINE,
	  .check = check_injection, .reads = "/sys/class/thermal/cooling_device*/type, cur_state",
	  .what = "CPUs are made idle to cool the machine; those that go take no part in it.",
	  .remedy = "Watch the temperatures: the CPUs that stay are throttled for all of them." },
	{ "microcode-loading", SEVERITY_NOTE, SEVERITY_NOTE, .when = RULE_OFFLINE,
	  .check = check_late_loading, .reads = CPU_FILES "/microcode/reload",
	  .what = "The kernel does not load microcode while CPUs are offline.",
	  .remedy = "Load it before, or when the CPUs are back; Linux 6.6 and later let second "
		    "threads of cores be off." },
	{ "tdx-host", SEVERITY_REFUSE, SEVERITY_REFUSE, .when = RULE_OFFLINE, .is_forcible = true,
	  .check = check_tdx_host, .reads = "/sys/module/kvm_intel/parameters/tdx",
	  .what = "A socket would lose its last CPU while KVM runs TDX guests.",
	  .remedy = "Leave one CPU of the socket online with --except, or shut the TDX guests down "
		    "and use --force." },
	{ "container", SEVERITY_REFUSE, SEVERITY_REFUSE, .when = RULE_OFFLINE, .is_forcible = true,
	  .check = check_container, .reads = "/proc/self/ns/pid",
	  .what = "cpuoff runs in a container and cannot see the tasks of the host.",
	  .remedy = "Run cpuoff on the host itself, for example with nsenter --target 1 --all." },
	{ "sysfs-view", SEVERITY_REFUSE, SEVERITY_REFUSE, .when = RULE_OFFLINE, .check = check_view,
	  .reads = CPU_FILES "/online, the file system that it is on",
	  .what = "What is mounted on /sys is not the kernel's.",
	  .remedy = "Run cpuoff on the host itself." },
	{ "caller-cpuset", SEVERITY_NOTE, SEVERITY_NOTE, .when = RULE_OFFLINE,
	  .check = check_caller_cpuset, .reads = "/proc/self/cgroup, cpuset.cpus.effective",
	  .what = "The selection has CPUs outside of the cpuset that cpuoff itself runs in.",
	  .remedy = "Make sure that the numbers are meant as the machine has them, not as the "
		    "container or the service." },
	{ "smt-off", SEVERITY_REFUSE, SEVERITY_REFUSE, .when = RULE_RETURN, .is_forcible = true,
	  .check = check_smt_off, .reads = CPU_FILES "/smt/control; the journals",
	  .what = "SMT is off, and the kernel refuses second threads of a core.",
	  .remedy = "Write on to smt/control; it brings back every offline CPU of the machine." },
	{ "cpu-standby", SEVERITY_WARN, SEVERITY_WARN, .when = RULE_RETURN, .check = check_standby,
	  .reads = CPU_FILES "/cpu*/configure",
	  .what = "The CPU is on standby (s390) and cannot come online.",
	  .remedy = "Configure it with chcpu --configure, then restore again." },
	{ 0 },
};
