/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rules-neighbours.c - rules on other programs that count on CPUs, or bring them back */
#include <string.h>

#include "core/rules.h"

static char *check_kubelet(const struct facts *facts, hwloc_bitmap_t cpus)
{
	return rules_tell_names(&facts->neighbours.kubelet, facts, cpus,
				"kubelet's static CPU manager has given out CPUs of the selection "
				"(" NEIGHBOURS_KUBELET_FILE
				"), and fails when it starts without them: ",
				"");
}

static char *check_slurm(const struct facts *facts, hwloc_bitmap_t cpus)
{
	unsigned int nr = cpus_count(facts->survivors);

	if (!facts->neighbours.slurm_file || facts->neighbours.slurm_cpus <= (long)nr)
		return NULL;
	return rules_told(util_asprintf("slurmd runs, %s gives this node %ld CPUs, and %u stay",
					facts->neighbours.slurm_file, facts->neighbours.slurm_cpus,
					nr),
			  facts, cpus);
}

static char *check_tuned(const struct facts *facts, hwloc_bitmap_t cpus)
{
	if (!facts->neighbours.tuned_profile)
		return NULL;
	return rules_told(util_asprintf("TuneD runs with the profile %s, and binds tasks and "
					"interrupts anew as it sees fit",
					facts->neighbours.tuned_profile),
			  facts, cpus);
}

static char *check_irqbalance(const struct facts *facts, hwloc_bitmap_t cpus)
{
	if (!facts->neighbours.irqbalance)
		return NULL;
	return rules_told(
		util_asprintf("irqbalance runs (process %ld) and cannot be told to leave the "
			      "selection alone: it may move interrupts back meanwhile",
			      facts->neighbours.irqbalance),
		facts, cpus);
}

static char *check_udev(const struct facts *facts, hwloc_bitmap_t cpus)
{
	return rules_tell_names(&facts->neighbours.udev, facts, cpus,
				"rules of udev bring CPUs online: ", "");
}

/* On "add" means when a CPU is plugged in, at boot, and at udevadm trigger. */
static enum severity weigh_udev(const struct facts *facts)
{
	for (size_t i = 0; i < facts->neighbours.udev.nr; i++)
		if (facts->neighbours.udev.list[i].number)
			return SEVERITY_WARN;
	return SEVERITY_NOTE;
}

static char *check_kdump(const struct facts *facts, hwloc_bitmap_t cpus)
{
	if (!facts->platform.has_crash_kernel || facts->platform.crash_follows)
		return NULL;
	return rules_told(
		util_asprintf("kdump is loaded, and its service loads it anew for each of %u CPUs "
			      "(/sys/devices/system/cpu/crash_hotplug is not 1)",
			      cpus_count(facts->target)),
		facts, cpus);
}

const struct rule rules_neighbours[] = {
	{ "kubelet-static", SEVERITY_WARN, SEVERITY_WARN, .when = RULE_OFFLINE,
	  .check = check_kubelet, .reads = NEIGHBOURS_KUBELET_FILE,
	  .what = "kubelet's static CPU manager has given out CPUs of the selection.",
	  .remedy = "Drain the node; with the CPUs off, stop kubelet, remove that file and start "
		    "it." },
	{ "slurm-node", SEVERITY_WARN, SEVERITY_WARN, .when = RULE_OFFLINE, .check = check_slurm,
	  .reads = "slurm.conf, /proc/sys/kernel/hostname",
	  .what = "Slurm's definition of this node has more CPUs than would stay.",
	  .remedy = "Drain the node (scontrol update nodename=NAME state=drain reason=cpuoff): "
		    "Slurm rejects one with fewer CPUs than its definition." },
	{ "tuned-isolation", SEVERITY_WARN, SEVERITY_WARN, .when = RULE_OFFLINE,
	  .check = check_tuned, .reads = "/etc/tuned/active_profile",
	  .what = "TuneD runs with a profile that isolates CPUs.",
	  .remedy = "Stop it meanwhile (systemctl stop tuned), and start it when the CPUs are "
		    "back." },
	{ "irqbalance-deaf", SEVERITY_WARN, SEVERITY_WARN, .when = RULE_OFFLINE,
	  .check = check_irqbalance, .reads = "/proc/*/comm, /proc/net/unix",
	  .what = "irqbalance runs and listens nowhere.",
	  .remedy = "Stop it meanwhile (systemctl stop irqbalance)." },
	{ "udev-online", SEVERITY_WARN, SEVERITY_NOTE, .when = RULE_OFFLINE, .check = check_udev,
	  .weigh = weigh_udev,
	  .reads = "rules.d below /etc/udev, /run/udev, /usr/local/lib/udev, /usr/lib/udev",
	  .what = "Rules of udev bring CPUs online; a note where only when they are plugged in.",
	  .remedy = "cpuoff --status shows CPUs that came back; hide the file by a link of its "
		    "name in /etc/udev/rules.d to /dev/null meanwhile." },
	{ "kdump-reload", SEVERITY_NOTE, SEVERITY_NOTE, .when = RULE_OFFLINE, .check = check_kdump,
	  .reads = "/sys/kernel/kexec_crash_loaded, /sys/devices/system/cpu/crash_hotplug",
	  .what = "kdump is loaded anew for each CPU that goes or comes.",
	  .remedy = "See that it is loaded afterwards: kexec_crash_loaded is 1." },
	{ 0 },
};
