/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-service.c - tests of the service verdict: nothing that is there, or that is not known, is safe
 */
#include "core/service.h"

#include <errno.h>

#include "guard.h"
#include "tap.h"
#include "tree.h"

static struct tree tree;
static struct service service;
static hwloc_bitmap_t online;

/* Socket 1 is node 1, with two memory blocks that are off, and no device: nothing is in its way. */
static void begin(void)
{
	tree_make();
	temp_mkdir("sys/bus");
	temp_write("sys/devices/system/memory/block_size_bytes", "8000000\n");
	temp_write("sys/devices/system/memory/memory8/state", "offline\n");
	temp_write("sys/devices/system/memory/memory9/state", "offline\n");
	temp_symlink("../../memory/memory8", "sys/devices/system/node/node1/memory8");
	temp_symlink("../../memory/memory9", "sys/devices/system/node/node1/memory9");
	tree_open(&tree, "4-7");
	online = hwloc_bitmap_dup(tree.survivors);
}

static void end(void)
{
	service_free(&service);
	hwloc_bitmap_free(online);
	tree_close(&tree);
	temp_remove();
}

static int judge(const struct operation *const *operations, size_t nr)
{
	service_free(&service);
	return service_judge(tree.env.root, &tree.machine, operations, nr, tree.target, online,
			     &service);
}

/* "KIND OBJECT: MESSAGE" of all blockers, parted by "; ". */
static char *describe(void)
{
	char *text = strdup("");

	for (size_t i = 0; text && i < service.nr; i++) {
		_cleanup_free_ char *old = text;

		text = util_asprintf("%s%s%s %s: %s", old, i ? "; " : "", service.list[i].kind,
				     service.list[i].object, service.list[i].message);
	}
	return text;
}

static void is_verdict(const char *expected, const char *what)
{
	_cleanup_free_ char *text = NULL;

	is_int(judge(NULL, 0), 0, "%s: judged", what);
	text = describe();
	is_str(text, expected, "%s", what);
	is_int(service_is_safe(&service), !*expected, "%s: safe or not", what);
}

static void set(hwloc_bitmap_t cpus, const char *list)
{
	if (cpus_parse(list, 7, true, cpus))
		diag("no list: %s", list);
}

static void test_cpus(void)
{
	begin();
	is_verdict("", "nothing is in the way");
	set(online, "0-4");
	is_verdict("cpu socket 1: 1 CPU of socket 1 is online: 4", "one CPU, told once");
	set(online, "0-7");
	is_verdict("cpu socket 1: 4 CPUs of socket 1 are online: 4-7", "all of them");
	set(tree.target, "5");
	set(online, "0-4,6-7");
	is_verdict("cpu socket 1: 3 CPUs of socket 1 are online: 4,6-7", "a core of it");
	end();
}

/* Socket 1 with nodes 1 and 2: who pulls it takes both. */
static void test_nodes(void)
{
	begin();
	temp_write("sys/devices/system/node/node1/cpulist", "4-5\n");
	temp_write("sys/devices/system/node/node2/cpulist", "6-7\n");
	temp_write("sys/devices/system/node/node2/meminfo",
		   "Node 2 MemTotal: 4194304 kB\nNode 2 MemFree: 1048576 kB\n");
	tree_read_again(&tree);
	set(tree.target, "4-5");
	set(online, "0-3,6-7");
	is_verdict("cpu socket 1: 2 CPUs of socket 1 are online: 6-7; "
		   "memory node 2: node 2 has 4.0 GiB of memory online, 3.0 GiB of it in use; the "
		   "kernel shows no blocks of it that could be taken offline",
		   "half of a socket");
	end();
	begin();
	for (unsigned int cpu = 0; cpu < 8; cpu++) {
		tree.machine.cpus[cpu].socket = tree.machine.cpus[cpu].node = CPU_ID_NONE;
	}
	set(online, "0-3,6");
	is_verdict("cpu cpu 6: CPU 6 is online", "neither socket nor node is known");
	machine_free(&tree.machine);
	unlink(temp_path("sys/devices/system/node/node0/cpulist"));
	unlink(temp_path("sys/devices/system/node/node1/cpulist"));
	end();
}

static void test_no_numa(void)
{
	begin();
	for (size_t i = 0; i < tree.machine.nr_nodes; i++)
		hwloc_bitmap_free(tree.machine.nodes[i].cpus);
	tree.machine.nr_nodes = 0;
	is_verdict("memory machine: the kernel shows no NUMA nodes: which memory belongs to these "
		   "CPUs is not known",
		   "no NUMA");
	end();
}

/* The kernel hides where an offline CPU is; the journals know. */
static void test_hidden(void)
{
	struct place places[] = { { .cpu = 6, .socket = 1, .node = 1 },
				  { .cpu = 7, .socket = 1, .node = 1 } };
	struct operation operation = { .places = places, .nr_places = 2 };
	const struct operation *operations[] = { &operation };
	_cleanup_free_ char *text = NULL;

	begin();
	temp_write("sys/devices/system/cpu/online", "0-5\n");
	for (unsigned int cpu = 6; cpu < 8; cpu++) {
		tree.machine.cpus[cpu].is_online = false;
		tree.machine.cpus[cpu].socket = tree.machine.cpus[cpu].node = CPU_ID_NONE;
	}
	set(tree.target, "6-7");
	set(online, "0-5");
	is_verdict("not-checked cpu 6-7: the kernel hides the place of offline CPUs, and no "
		   "journal knows it: which memory and devices belong to them is not known",
		   "nobody knows where they are");
	is_int(judge(operations, 1), 0, "a journal: judged");
	text = describe();
	is_str(text, "cpu socket 1: 2 CPUs of socket 1 are online: 4-5", "a journal knows");
	end();
}

static void test_memory(void)
{
	begin();
	temp_write("sys/devices/system/memory/memory9/state", "online\n");
	temp_write("sys/devices/system/memory/memory9/valid_zones", "Movable\n");
	is_verdict("memory node 1: node 1 has 1 memory block online, 128 MiB; all are movable and "
		   "can be taken offline: memory 9",
		   "a movable block");
	temp_write("sys/devices/system/memory/memory8/state", "going-offline\n");
	temp_write("sys/devices/system/memory/memory8/valid_zones", "Normal Movable\n");
	is_verdict("memory node 1: node 1 has 2 memory blocks online, 256 MiB; the kernel may hold "
		   "pages that cannot be moved in 1: memory 8; movable: memory 9",
		   "a block of which two zones are possible");
	unlink(temp_path("sys/devices/system/memory/memory9/valid_zones"));
	is_verdict("memory node 1: node 1 has 2 memory blocks online, 256 MiB; the kernel may hold "
		   "pages that cannot be moved in 2: memory 8-9",
		   "a block that does not tell");
	unlink(temp_path("sys/devices/system/memory/memory8/state"));
	is_verdict("memory node 1: node 1 has 2 memory blocks online, 256 MiB; the kernel may hold "
		   "pages that cannot be moved in 2: memory 8-9",
		   "a block without a state is online");
	end();
	begin();
	unlink(temp_path("sys/devices/system/node/node1/memory8"));
	unlink(temp_path("sys/devices/system/node/node1/memory9"));
	is_verdict("not-checked node 1: the kernel does not show the memory of node 1",
		   "memory that is not shown");
	temp_write("sys/devices/system/node/node1/meminfo", "Node 1 MemTotal: 0 kB\n");
	is_verdict("", "a node without memory");
	end();
}

/* A node of memory alone beside socket 1, and one between the sockets. */
static void test_memory_nodes(void)
{
	begin();
	temp_write("sys/devices/system/node/node2/cpulist", "\n");
	temp_write("sys/devices/system/node/node2/meminfo", "Node 2 MemTotal: 1048576 kB\n");
	temp_mkdir("sys/devices/system/node/node2/access0/initiators/node1");
	tree_read_again(&tree);
	is_int(judge(NULL, 0), 0, "memory beside the socket: judged");
	ok(service.nr == 1 && !strcmp(service.list[0].object, "node 2"),
	   "memory beside the socket goes with it");
	temp_mkdir("sys/devices/system/node/node2/access0/initiators/node0");
	is_verdict("", "memory between the sockets stays");
	end();
}

static void add_device(const char *address, const char *node, const char *class, const char *cpus)
{
	char name[128];

	snprintf(name, sizeof(name), "sys/bus/pci/devices/%s/numa_node", address);
	temp_write(name, node);
	snprintf(name, sizeof(name), "sys/bus/pci/devices/%s/class", address);
	temp_write(name, class);
	snprintf(name, sizeof(name), "sys/bus/pci/devices/%s/local_cpulist", address);
	temp_write(name, cpus);
}

static void test_devices(void)
{
	begin();
	add_device("0000:01:00.0", "0\n", "0x020000\n", "0-3\n");
	add_device("0000:80:01.0", "1\n", "0x060400\n", "4-7\n");
	is_verdict("device unused PCI devices: 1 PCI device is local to it, bridges or without a "
		   "driver, with no use seen: 0000:80:01.0",
		   "a bridge");
	add_device("0000:81:00.0", "-1\n", "0x010802\n", "4-7\n");
	temp_symlink("../../drivers/nvme", "sys/bus/pci/devices/0000:81:00.0/driver");
	add_device("0000:82:00.0", "-1\n", "0x010802\n", "0-7\n");
	temp_symlink("../../drivers/nvme", "sys/bus/pci/devices/0000:82:00.0/driver");
	is_verdict("device 0000:81:00.0: NVMe disk 0000:81:00.0 is local to it (driver nvme): no "
		   "use of it is seen; device unused PCI devices: 1 PCI device is local to it, "
		   "bridges or without a driver, with no use seen: 0000:80:01.0",
		   "a disk whose node is not known, near these CPUs alone");
	temp_write("sys/bus/pci/devices/0000:81:00.0/local_cpulist", "nonsense\n");
	is_int(judge(NULL, 0), 0, "a device whose CPUs cannot be read: judged");
	is_int((long long)service.nr, 1, "is near none");
	unlink(temp_path("sys/bus/pci/devices/0000:80:01.0/numa_node"));
	is_verdict("device unused PCI devices: 1 PCI device is local to it, bridges or without a "
		   "driver, with no use seen: 0000:80:01.0",
		   "a bridge without a node");
	end();
	begin();
	rmdir(temp_path("sys/bus"));
	is_verdict("not-checked PCI devices: this copy of a machine does not show its devices",
		   "a copy without devices");
	end();
}

static void test_unchecked(void)
{
	begin();
	is_verdict("", "nothing");
	is_int(service_add_unchecked(&service, "everything", "nobody looked"), 0,
	       "a look that was not taken");
	ok(!service_is_safe(&service), "is not safe");
	is_str(service.list[0].kind, "not-checked", "and says so");
	end();
}

/* Whichever allocation fails: an error, and never a verdict with less in the way. */
static void test_without_memory(void)
{
	size_t nr = 0, nr_good = 0, nr_blockers;
	bool was_reached = true;

	begin();
	add_device("0000:80:01.0", "1\n", "0x060400\n", "4-7\n");
	add_device("0000:81:00.0", "1\n", "0x020000\n", "4-7\n");
	temp_symlink("../../drivers/e1000", "sys/bus/pci/devices/0000:81:00.0/driver");
	temp_write("sys/devices/system/memory/memory9/state", "online\n");
	set(online, "0-4");
	is_int(judge(NULL, 0), 0, "with memory");
	nr_blockers = service.nr;
	is_int((long long)nr_blockers, 4, "things in the way");
	while (was_reached && nr < 1000) {
		int r;

		service_free(&service);
		guard_fail_at(++nr);
		r = judge(NULL, 0);
		was_reached = guard_end() >= nr;
		nr_good += r == -ENOMEM || (!r && service.nr == nr_blockers);
	}
	is_int((long long)nr_good, (long long)nr, "no failing allocation hides anything");
	end();
}

int main(void)
{
	test_cpus();
	test_nodes();
	test_no_numa();
	test_hidden();
	test_memory();
	test_memory_nodes();
	test_devices();
	test_unchecked();
	if (guard_can_fail())
		test_without_memory();
	return done_testing();
}
