/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-facts.c - tests of what is read for the rules: files of a machine, and what they come to */
#include "core/facts.h"

#include <sys/stat.h>

#include "host/irqbalance.h"
#include "host/topology.h"
#include "tap.h"
#include "temp.h"

#define TARGET "4-7"

static struct machine machine;
static hwloc_bitmap_t target, survivors;
static struct root *root;
static struct tasks tasks_here;

/* Eight CPUs, the second four on node 1. */
static void make_machine(void)
{
	temp_write("sys/devices/system/cpu/possible", "0-7\n");
	temp_write("sys/devices/system/cpu/present", "0-7\n");
	temp_write("sys/devices/system/cpu/online", "0-7\n");
	temp_write("sys/devices/system/node/node0/cpulist", "0-3\n");
	temp_write("sys/devices/system/node/node1/cpulist", "4-7\n");
	temp_write("sys/devices/system/node/node0/cpumap", "0f\n");
	temp_write("sys/devices/system/node/node1/cpumap", "f0\n");
	for (int cpu = 0; cpu < 8; cpu++) {
		char name[64];

		snprintf(name, sizeof(name), "sys/devices/system/cpu/cpu%d/online", cpu);
		temp_write(name, "1\n");
	}
	root = temp_root();
	target = hwloc_bitmap_alloc();
	survivors = hwloc_bitmap_alloc();
	if (topology_read_machine(root, &machine) || cpus_parse(TARGET, 7, false, target))
		diag("no machine");
	hwloc_bitmap_andnot(survivors, machine.online, target);
}

/* "NAME on CPUS=NUMBER; ..." */
static char *describe(const struct named_list *list)
{
	char *text = strdup("");

	for (size_t i = 0; text && i < list->nr; i++) {
		_cleanup_free_ char *old = text, *cpus = cpus_format(list->list[i].cpus);

		text = util_asprintf("%s%s%s on %s=%ld", old, old[0] ? "; " : "",
				     list->list[i].name, cpus, list->list[i].number);
	}
	return text;
}

static void is_list(const struct named_list *list, const char *expected, const char *what)
{
	_cleanup_free_ char *text = describe(list);

	is_str(text, expected, "%s", what);
}

static struct facts read_facts(const char *what)
{
	static struct request request = { .dry_run = true };
	struct facts facts = { .request = &request,
			       .machine = &machine,
			       .target = target,
			       .survivors = survivors,
			       .tasks = &tasks_here };

	is_int(facts_read(root, false, &facts), 0, "%s", what);
	return facts;
}

static void test_nothing(void)
{
	struct facts facts = read_facts("a machine that says nothing");

	ok(!facts.demand.is_known && !facts.vectors.is_known, "no load, no vectors");
	ok(!facts.platform.is_tdx_guest && !facts.platform.is_tdx_host &&
		   !facts.platform.has_dynticks && !facts.platform.is_in_container &&
		   !facts.platform.has_crash_kernel && !facts.platform.scheduler,
	   "nothing special");
	ok(!facts.platform.channels.nr && !facts.queues.stalled.nr && !facts.queues.fabrics.nr &&
		   !facts.demand.bare_nodes.nr && !facts.neighbours.kubelet.nr &&
		   !facts.neighbours.udev.nr && !facts.neighbours.slurm_file &&
		   !facts.neighbours.tuned_profile && !facts.neighbours.irqbalance,
	   "and nobody else");
	facts_free(&facts);
}

static void test_demand(void)
{
	struct facts facts;

	temp_write("proc/loadavg", "5.50 4.25 3.00 9/800 4711\n");
	temp_write("sys/devices/system/node/node1/meminfo",
		   "Node 1 MemTotal:       8388608 kB\nNode 1 MemFree: 0 kB\n"
		   "Node 1 MemUsed:        1048576 kB\n");
	temp_write("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 8388608 kB\n");
	facts = read_facts("load and memory");
	ok(facts.demand.is_known && facts.demand.load1 == 5.5 && facts.demand.load5 == 4.25,
	   "the load");
	is_int((long long)facts.demand.nr_running, 9, "threads that run");
	is_list(&facts.demand.bare_nodes, "node 1 (8192 MiB, 1024 in use) on 4-7=1024",
		"the node that loses its CPUs");
	facts_free(&facts);
}

static void test_platform(void)
{
	struct facts facts;

	temp_write("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu apic tdx_guest sse\n\n");
	temp_write("sys/module/kvm_intel/parameters/tdx", "Y\n");
	temp_write("sys/devices/system/cpu/nohz_full", "2-7\n");
	temp_write("sys/kernel/kexec_crash_loaded", "1\n");
	temp_write("sys/devices/system/cpu/crash_hotplug", "1\n");
	temp_write("sys/kernel/sched_ext/state", "enabled\n");
	temp_write("sys/kernel/sched_ext/root/ops", "rusty\n");
	temp_write("sys/bus/vmbus/devices/aa-bb/channels/14/cpu", "6\n");
	temp_write("sys/bus/vmbus/devices/aa-bb/channels/15/cpu", "2\n");
	temp_write("sys/class/powercap/intel-rapl:1/name", "package-1\n");
	temp_write("sys/class/powercap/intel-rapl:1:0/name", "dram\n");
	temp_mkdir("sys/bus/event_source/devices/uncore_cha_0");
	temp_mkdir("sys/bus/event_source/devices/cpu");
	temp_write("sys/kernel/debug/sched/debug",
		   "Sched Debug Version: v0.11\ncpu#0, 2400 MHz\ndl_rq[0]:\n"
		   "  .dl_nr_running                 : 0\n"
		   "  .dl_bw->bw                     : 996147\n"
		   "  .dl_bw->total_bw               : -1048576\n\ncpu#1\n");
	temp_write("sys/devices/system/cpu/microcode/reload", "");
	temp_write("sys/class/thermal/cooling_device0/type", "Processor\n");
	temp_write("sys/class/thermal/cooling_device0/cur_state", "3\n");
	temp_write("sys/class/thermal/cooling_device7/type", "intel_powerclamp\n");
	temp_write("sys/class/thermal/cooling_device7/cur_state", "30\n");
	temp_write("sys/class/thermal/thermal_zone0/type", "intel_powerclamp\n");
	facts = read_facts("a machine with everything");
	ok(facts.platform.is_tdx_guest && facts.platform.is_tdx_host, "TDX");
	ok(facts.platform.has_dynticks, "nohz_full=");
	ok(facts.platform.has_crash_kernel && facts.platform.crash_follows, "kdump");
	is_str(facts.platform.scheduler, "rusty", "the scheduler");
	is_list(&facts.platform.channels, "aa-bb/channels/14/cpu on 6=0", "channels in the target");
	is_list(&facts.platform.power, "intel-rapl:1 on =1", "zones of sockets");
	is_int((long long)facts.platform.nr_uncore, 1, "uncore units");
	ok(facts.platform.deadline_total == -1, "deadline bandwidth");
	ok(facts.platform.has_late_loading, "microcode");
	is_list(&facts.platform.injectors, "cooling_device7 (intel_powerclamp, at 30) on =30",
		"what injects idle time");
	facts_free(&facts);
	temp_write("sys/kernel/sched_ext/state", "disabled\n");
	temp_write("sys/devices/system/cpu/nohz_full", "(null)\n");
	temp_write("sys/kernel/debug/sched/debug", "  .dl_bw->total_bw : 99614\n");
	temp_write("proc/cpuinfo",
		   "processor\t: 0\nflags\t\t: fpu apic sse\n\nflags : tdx_guest\n");
	temp_write("sys/class/thermal/cooling_device7/cur_state", "-1\n");
	unlink(temp_path("sys/devices/system/cpu/microcode/reload"));
	facts = read_facts("all of it off");
	ok(!facts.platform.injectors.nr && !facts.platform.has_late_loading,
	   "no idle time, no microcode");
	ok(!facts.platform.scheduler && !facts.platform.has_dynticks &&
		   !facts.platform.is_tdx_guest && facts.platform.deadline_total > 0,
	   "nothing of it");
	facts_free(&facts);
}

static void is_share(double share, long long thousandths, const char *what)
{
	is_int((long long)(share * 1000 + 0.5), thousandths, "%s", what);
}

/* The numbers are only read where there is a task that they are for. */
static void test_deadline(void)
{
	struct task task = { .pid = 70, .tid = 70, .bandwidth = 0.5 };
	struct facts facts;

	temp_write("proc/sys/kernel/sched_rt_runtime_us", "950000\n");
	temp_write("proc/sys/kernel/sched_rt_period_us", "1000000\n");
	facts = read_facts("no deadline tasks");
	is_share(facts.deadline_limit, 0, "nothing is asked for them");
	facts_free(&facts);
	tasks_here = (struct tasks){ .list = &task, .nr = 1 };
	task.mask = hwloc_bitmap_alloc();
	facts = read_facts("deadline tasks");
	is_share(facts.deadline_limit, 950, "what they may have of a CPU");
	is_share(facts.deadline_server, 0, "there is no server for others");
	facts_free(&facts);
	temp_write("sys/kernel/debug/sched/fair_server/cpu0/runtime", "50000000\n");
	temp_write("sys/kernel/debug/sched/fair_server/cpu0/period", "1000000000\n");
	facts = read_facts("deadline tasks, and a server for the others");
	is_share(facts.deadline_limit, 950, "they may have as much");
	is_share(facts.deadline_server, 50, "and the server has its part of it");
	facts_free(&facts);
	temp_write("sys/kernel/debug/sched/fair_server/cpu0/period", "0\n");
	temp_write("proc/sys/kernel/sched_rt_runtime_us", "-1\n");
	facts = read_facts("no limit, and a server that is none");
	is_share(facts.deadline_limit, 0, "there is none");
	is_share(facts.deadline_server, 0, "it has nothing");
	facts_free(&facts);
	hwloc_bitmap_free(task.mask);
	tasks_here = (struct tasks){ 0 };
}

/* Four interrupts on the target, of which one cannot be moved, two elsewhere. */
static void test_vectors(void)
{
	static const struct {
		const char *irq, *effective;
	} irqs[] = { { "10", "4\n" }, { "11", "5\n" }, { "12", "7\n" }, { "13", "6\n" },
		     { "20", "0\n" }, { "21", "1\n" }, { "30", "\n" },	{ "31", "0-7\n" } };
	struct facts facts;

	for (size_t i = 0; i < ARRAY_SIZE(irqs); i++) {
		char name[80];

		snprintf(name, sizeof(name), "proc/irq/%s/effective_affinity_list", irqs[i].irq);
		temp_write(name, irqs[i].effective);
		snprintf(name, sizeof(name), "proc/irq/%s/smp_affinity_list", irqs[i].irq);
		temp_write(name, "0-7\n");
		if (!strcmp(irqs[i].irq, "13"))
			chmod(temp_path(name), 0444);
	}
	facts = read_facts("interrupts");
	ok(facts.vectors.is_known && !facts.vectors.is_exact, "are counted");
	is_int((long long)facts.vectors.needed, 3, "those that have to move");
	is_int((long long)facts.vectors.used, 2, "those that are there");
	is_int((long long)facts.vectors.available, 798, "what is free");
	facts_free(&facts);
	temp_write(
		"sys/kernel/debug/irq/domains/VECTOR",
		"name:   VECTOR\n size:   0\nOnline bitmaps:        8\n"
		"System: 36: 0-19,21,50,128,236\n"
		" | CPU | avl | man | mac | act | vectors\n"
		"     0    20     1     1   180  33-212\n     1    30     0     0     4  33-36\n"
		"     4   100    10     5   100  33-132\n     7   100     0     0     7  33-39\n");
	facts = read_facts("the kernel's own count");
	ok(facts.vectors.is_exact, "is exact");
	is_int((long long)facts.vectors.needed, 102, "those that have to move");
	is_int((long long)facts.vectors.used, 184, "those that are there");
	is_int((long long)facts.vectors.available, 50, "what is free");
	facts_free(&facts);
}

static void test_queues(void)
{
	struct facts facts;

	temp_write("sys/block/nvme0n1/stat", "10 0 80 5 7 0 64 3 2 9 9 0 0 0 0 0 0\n");
	temp_write("sys/block/nvme0n1/mq/0/cpu_list", "0, 1, 2, 3\n");
	temp_write("sys/block/nvme0n1/mq/1/cpu_list", "6, 7\n");
	temp_write("sys/block/sda/stat", "10 0 80 5 7 0 64 3 4 9 9 0 0 0 0 0 0\n");
	temp_write("sys/block/sda/mq/0/cpu_list", "0, 1, 2, 3, 4, 5, 6, 7\n");
	temp_write("sys/block/nvme1n1/stat", "10 0 80 5 7 0 64 3 0 9 9 0 0 0 0 0 0\n");
	temp_write("sys/block/nvme1n1/mq/1/cpu_list", "4\n");
	temp_write("sys/block/nvme2n1/stat", "10 0 80 5 7 0 64 3 1 9 9 0 0 0 0 0 0\n");
	temp_write("sys/block/nvme2n1/mq/0/cpu_list", "4\n");
	temp_write("sys/block/nvme2n1/mq/1/cpu_list", "1\n");
	temp_write("sys/kernel/debug/block/nvme2n1/hctx0/busy", "");
	temp_write("sys/kernel/debug/block/nvme0n1/hctx1/busy", "00000000a2c5 {.op=READ}\n");
	temp_write("sys/class/nvme/nvme0/transport", "pcie\n");
	temp_write("sys/class/nvme/nvme5/transport", "tcp\n");
	facts = read_facts("disks");
	is_list(&facts.queues.stalled, "nvme0n1 (2) on 6-7=2",
		"one with requests in flight, and a queue that loses its CPUs");
	is_list(&facts.queues.fabrics, "nvme5 (tcp) on =0", "one over a network");
	facts_free(&facts);
}

/* What kubelet writes is believed as far as it goes. */
static void test_kubelet(void)
{
	static const char *const texts[] = {
		"{\"policyName\":null,\"defaultCpuSet\":\"0-7\"}",
		"{\"policyName\":7,\"defaultCpuSet\":\"0-7\"}",
		"{\"policyName\":\"static\",\"defaultCpuSet\":null,\"entries\":null}",
		"{\"policyName\":\"static\",\"entries\":{\"pod\":{\"app\":{\"x\":\"4\"}}}}",
		"[\"static\"]",
		"static",
		"",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct facts facts;

		temp_write("var/lib/kubelet/cpu_manager_state", texts[i]);
		facts = read_facts("another kubelet");
		is_list(&facts.neighbours.kubelet, "", texts[i]);
		facts_free(&facts);
	}
}

static void test_neighbours(void)
{
	struct facts facts;

	temp_write("var/lib/kubelet/cpu_manager_state",
		   "{\"policyName\":\"static\",\"defaultCpuSet\":\"0-1,7\",\"entries\":{\"pod1\":"
		   "{\"app\":\"4-5\",\"side\":\"2\"}},\"checksum\":1}");
	temp_write("run/slurmd.pid", "77\n");
	temp_write("proc/sys/kernel/hostname", "node07.cluster\n");
	temp_write("etc/slurm/slurm.conf",
		   "# NodeName=node07 CPUs=99\nSlurmctldHost=head\nNodeName=gpu[01-04] CPUs=64\n"
		   "NodeName=login,node[01-16] Sockets=2 CPUs=8 State=UNKNOWN\n");
	temp_write("run/tuned/tuned.pid", "78\n");
	temp_write("etc/tuned/active_profile", "cpu-partitioning\n");
	temp_write("run/irqbalance.pid", "79\n");
	temp_write("usr/lib/udev/rules.d/40-redhat.rules",
		   "# SUBSYSTEM==\"cpu\", ATTR{online}=\"1\"\n"
		   "SUBSYSTEM==\"cpu\", ACTION==\"add\", TEST==\"online\", ATTR{online}=\"1\"\n");
	temp_write("usr/lib/udev/rules.d/50-default.rules", "SUBSYSTEM==\"cpu\", MODE=\"0644\"\n");
	temp_write("usr/lib/udev/rules.d/60-mine.rules",
		   "SUBSYSTEM==\"cpu\", ATTR{online}==\"0\", ATTR{online}=\"1\"\n");
	facts = read_facts("other programs");
	is_list(&facts.neighbours.kubelet, "pod1/app on 4-5=0; the shared pool on 7=0",
		"kubelet's containers");
	is_str(facts.neighbours.slurm_file, "/etc/slurm/slurm.conf", "Slurm's file");
	is_int(facts.neighbours.slurm_cpus, 8, "and its number");
	is_str(facts.neighbours.tuned_profile, "cpu-partitioning", "TuneD's profile");
	ok(facts.neighbours.irqbalance, "irqbalance");
	is_int((long long)facts.neighbours.udev.nr, 2, "rules of udev");
	facts_free(&facts);
	temp_write("var/lib/kubelet/cpu_manager_state", "{\"policyName\":\"none\",");
	temp_write("proc/sys/kernel/hostname", "head\n");
	temp_write("etc/tuned/active_profile", "virtual-guest\n");
	temp_write("etc/udev/rules.d/40-redhat.rules", "");
	temp_write("etc/udev/rules.d/60-mine.rules", "");
	temp_write("etc/udev/rules.d/70-plain.rules", "SUBSYSTEM==\"cpu\", RUN+=\"/bin/true\"\n");
	facts = read_facts("the same, at peace");
	ok(!facts.neighbours.kubelet.nr && !facts.neighbours.slurm_file &&
		   !facts.neighbours.tuned_profile && !facts.neighbours.udev.nr,
	   "nothing of them");
	facts_free(&facts);
	temp_write("var/lib/kubelet/cpu_manager_state", "{\"policyName\":7}");
	temp_write("proc/sys/kernel/hostname", "node07\n");
	temp_write("etc/slurm/slurm.conf",
		   "NodeName=DEFAULT Sockets=2 CoresPerSocket=4 \\\n  ThreadsPerCore=2\n"
		   " # NodeName=node07 CPUs=1\nNodeName=node[01-16] State=UNKNOWN\n");
	temp_write("etc/udev/rules.d/70-plain.rules",
		   "# first\nACTION==\"change\", \\\n  MODE=\"0600\"\n"
		   "SUBSYSTEM==\"cpu\", \\\n  RUN+=\"/bin/sh -c 'echo 1 > /sys$devpath/online'\"\n"
		   "SUBSYSTEM==\"cpu\", ATTR{online}=\"1\"\n");
	facts = read_facts("a file of kubelet that is none");
	is_int(facts.neighbours.slurm_cpus, 16, "Slurm's parts, by default, over two lines");
	is_list(&facts.neighbours.udev,
		"/etc/udev/rules.d/70-plain.rules:4 on =1; /etc/udev/rules.d/70-plain.rules:6 on "
		"=1",
		"rules that run a program, and lines that go on in the next");
	facts_free(&facts);
	temp_write("etc/udev/rules.d/70-plain.rules", "");
	temp_write("etc/slurm/slurm.conf",
		   "NodeName=DEFAULT CPUs=99\nNodeName=node07 Boards=1 SocketsPerBoard=2 "
		   "CoresPerSocket=6\n");
	facts = read_facts("Slurm's own line");
	is_int(facts.neighbours.slurm_cpus, 12, "goes before the default");
	facts_free(&facts);
	temp_write("var/lib/kubelet/cpu_manager_state", "[1]");
	facts = read_facts("and another");
	facts_free(&facts);
}

/* A running one is found by the table of sockets: it is not asked. */
static void test_irqbalance(void)
{
	static const struct {
		const char *what, *sockets;
		bool listens;
	} tables[] = {
		{ "a path", "0: 2 0 10000 1 1 7 /run/irqbalance/irqbalance79.sock\n", true },
		{ "an abstract name", "0: 2 0 10000 1 1 7 @irqbalance79.sock@@@\n", true },
		{ "zeros", "0: 2 0 10000 1 1 7 @@@@@@@@@@@@\n", true },
		{ "another process", "0: 2 0 10000 1 1 7 @irqbalance7.sock\n", false },
		{ "other programs", "0: 2 0 10000 1 1 7 /run/dbus/socket\n1: 2 0 1 1 1 7 @x\n",
		  false },
	};

	ok(irqbalance_listens(root, 79), "irqbalance, where sockets are not to be seen");
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		temp_write("proc/net/unix", tables[i].sockets);
		is_int(irqbalance_listens(root, 79), tables[i].listens, "irqbalance, by %s",
		       tables[i].what);
	}
}

/* A list that is longer than what it reads at a time; on the way back nothing is sent at all. */
static void test_irqbalance_not_told(bool is_return)
{
	struct machine large = { .nr_cpus = 8192 };
	struct task task = { .pid = 79, .tid = 79, .comm = "irqbalance" };
	struct tasks tasks = { .list = &task, .nr = 1 };
	struct findings findings = { 0 };
	struct step step = { .kind = &irqbalance_kind };
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	struct step_env env = { .root = root,
				.machine = &large,
				.tasks = &tasks,
				.target = cpus,
				.is_return = is_return,
				.findings = &findings };

	hwloc_bitmap_set_range(cpus, 1000, 4000);
	is_int(irqbalance_kind.describe(&step, &env), 0, "irqbalance, and a range: planned");
	is_int((long long)step.nr_items, !is_return, "irqbalance, and a range: it is told");
	ok(!findings.nr, "irqbalance, and a range: nothing to say");
	step_free(&step);
	step = (struct step){ .kind = &irqbalance_kind };
	for (unsigned int cpu = 1; cpu < 1000; cpu += 2)
		hwloc_bitmap_set(cpus, cpu);
	is_int(irqbalance_kind.describe(&step, &env), 0, "irqbalance, and a long list: planned");
	is_int((long long)step.nr_items, 0, "irqbalance, and a long list: it is not told");
	ok(is_return ? !findings.nr
		     : findings.nr == 1 && !strcmp(findings.list[0].rule, "irqbalance-not-told") &&
			       findings.list[0].severity == SEVERITY_WARN,
	   "irqbalance, and a long list: a warning");
	step_free(&step);
	findings_free(&findings);
}

static void write_stat(const char *name, int user, int kernel)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "80 (a b) R 1 80 80 0 -1 4194304 1 0 0 0 %d %d 0 0 20 0 2 0 1234 0 0 0 0 0 0 0 0 "
		 "0 0 0 0 0 0 0 17 3 0 0\n",
		 user, kernel);
	temp_write(name, text);
}

/* The time of a thread is its own, not its process's. */
static void test_ticks(void)
{
	struct task task = { .pid = 79, .tid = 80, .start = 1234 };

	write_stat("proc/80/stat", 900, 100);
	is_int((long long)tasks_read_ticks(root, &task), 0, "a thread that is gone");
	write_stat("proc/79/task/80/stat", 7, 3);
	is_int((long long)tasks_read_ticks(root, &task), 10, "user and system time");
	task.start = 99;
	is_int((long long)tasks_read_ticks(root, &task), 0, "another thread of the same number");
}

/* Two virtual CPUs of one guest and one of another in the target, one elsewhere; a user of perf. */
static void test_workers(void)
{
	static const char web[] = "qemu\0-m\0001\0-name\0guest=web,debug-threads=on\0-S";
	static const char db[] = "qemu\0-name\0db\0";
	struct task list[] = {
		{ .pid = 77, .tid = 77, .comm = "qemu" },
		{ .pid = 77, .tid = 78, .comm = "CPU 0/KVM" },
		{ .pid = 77, .tid = 79, .comm = "CPU 1/KVM" },
		{ .pid = 87, .tid = 88, .comm = "CPU 0/TCG" },
		{ .pid = 97, .tid = 98, .comm = "CPU 0/KVM" },
		{ .pid = 99, .tid = 99, .comm = "fc_vcpu 0" },
		{ .pid = 90, .tid = 90, .comm = "agent" },
	};
	static const char *const masks[] = { "0-7", "4", "5", "6-7", "0", "3-4", "0-7" };
	struct tasks tasks = { .list = list, .nr = ARRAY_SIZE(list) };
	struct workers workers;

	for (size_t i = 0; i < tasks.nr; i++) {
		list[i].mask = hwloc_bitmap_alloc();
		if (cpus_parse(masks[i], 7, false, list[i].mask))
			diag("no list");
	}
	temp_write_bytes("proc/77/cmdline", web, sizeof(web));
	temp_write_bytes("proc/87/cmdline", db, sizeof(db));
	temp_mkdir("proc/90/fd");
	temp_symlink("anon_inode:[perf_event]", "proc/90/fd/3");
	temp_symlink("anon_inode:[perf_event]", "proc/90/fd/4");
	temp_symlink("anon_inode:[eventfd]", "proc/90/fd/5");
	is_int(workers_read(root, &machine, &tasks, target, &workers), 0, "workers");
	is_list(&workers.vcpus, "web, process 77 on 4-5=2; db, process 87 on 6-7=1",
		"guests with virtual CPUs in the target alone");
	is_list(&workers.perf, "90 agent on =2", "a user of perf");
	ok(!workers.busy.nr && !workers.is_perf_cut, "nobody polls, and all was looked at");
	workers_free(&workers);
	for (size_t i = 0; i < tasks.nr; i++)
		hwloc_bitmap_free(list[i].mask);
}

int main(void)
{
	temp_make();
	make_machine();
	test_nothing();
	test_demand();
	test_platform();
	test_deadline();
	test_vectors();
	test_queues();
	test_kubelet();
	test_neighbours();
	test_irqbalance();
	test_irqbalance_not_told(false);
	test_irqbalance_not_told(true);
	test_ticks();
	test_workers();
	machine_free(&machine);
	hwloc_bitmap_free(target);
	hwloc_bitmap_free(survivors);
	root_close(root);
	temp_remove();
	return done_testing();
}
