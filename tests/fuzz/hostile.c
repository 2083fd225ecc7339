/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hostile.c - each file of a machine in turn is empty, huge, binary, a lie, or no file, and
 * whatever can have a name has one that a terminal would obey
 *
 * What must never be ends the test: see program_run().
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../unit/tap.h"
#include "../unit/temp.h"
#include "fuzz.h"

#define LARGE	  (1U << 20)
#define LIMIT	  60 /* seconds for one run */
#define EVIL_NAME "e\033]0;\302\233\r\n\"'<&>\\\377\342\200\256"

/* A sanitizer makes each run many times as long: then some files will do for each lie. */
#ifdef __SANITIZE_ADDRESS__
#define STRIDE 16
#else
#define STRIDE 1
#endif

static char large[LARGE];

struct lie {
	const char *what;
	const char *text;
	size_t size;
};

#define LIE(what, text)                                                                            \
	{                                                                                          \
		what, text, sizeof(text) - 1                                                       \
	}

static const struct lie lies[] = {
	LIE("empty", ""),
	LIE("a newline", "\n"),
	LIE("NULs", "\0\0\0\0\0\0\0\0"),
	LIE("a value and a NUL", "1\0\n"),
	LIE("no newline", "3"),
	LIE("a negative number", "-1\n"),
	LIE("a huge number", "18446744073709551617\n"),
	LIE("a huge range", "0-4294967295,7-3,99999999999999999999\n"),
	LIE("a name to be obeyed", EVIL_NAME "\n"),
	{ "1 MiB of anything", large, LARGE },
};

/* The same on every run. */
static void fill(void)
{
	unsigned int seed = 20261130;

	for (size_t i = 0; i < LARGE; i++) {
		seed = seed * 1103515245 + 12345;
		large[i] = (char)(seed >> 16);
	}
}

static void run(size_t action)
{
	alarm(LIMIT);
	program_act(action);
	alarm(0);
}

static void test_lies(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		size_t nr = i % STRIDE;

		for (const char *file; (file = machine_file(nr)); nr += STRIDE) {
			machine_put_file(file, (const uint8_t *)lies[i].text, lies[i].size);
			run(0);
			run(1 + (nr + i) % (ACTIONS - 1));
			machine_restore_file(nr);
		}
		ok(nr > 100, "files: %s", lies[i].what);
	}
}

static void test_no_files(void)
{
	size_t nr = 0;

	for (const char *file; (file = machine_file(nr)); nr += STRIDE) {
		fuzz_demand(!unlink(temp_path(file)), file);
		run(nr % ACTIONS);
		temp_mkdir(file);
		run(nr % ACTIONS);
		fuzz_demand(!rmdir(temp_path(file)), file);
		temp_symlink("/dev/null", file);
		run(nr % ACTIONS);
		fuzz_demand(!unlink(temp_path(file)), file);
		machine_restore_file(nr);
	}
	ok(nr > 100, "files: none, a folder, a link out of the machine");
}

/* Whatever somebody else may choose the name of. */
static void test_names(void)
{
	static const struct {
		const char *path, *content;
	} files[] = {
		{ "sys/fs/cgroup/" EVIL_NAME "/cpuset.cpus", "2-3\n" },
		{ "sys/fs/cgroup/" EVIL_NAME "/cpuset.cpus.effective", "2-3\n" },
		{ "sys/fs/cgroup/" EVIL_NAME "/cpuset.cpus.partition", "root\n" },
		{ "sys/fs/cgroup/" EVIL_NAME "/cgroup.procs", "100\n" },
		{ "proc/irq/24/" EVIL_NAME "/x", "" },
		{ "sys/class/powercap/" EVIL_NAME "/name", "package-1\n" },
		{ "sys/class/thermal/cooling_device" EVIL_NAME "/type", "intel_powerclamp\n" },
		{ "sys/class/thermal/cooling_device" EVIL_NAME "/cur_state", "9\n" },
		{ "sys/bus/vmbus/devices/" EVIL_NAME "/channels/" EVIL_NAME "/cpu", "3\n" },
		{ "sys/bus/pci/devices/" EVIL_NAME "/local_cpulist", "2-3\n" },
		{ "sys/devices/pci0000:80/0000:81:00.0/net/" EVIL_NAME "/flags", "0x1003\n" },
		{ "sys/class/net/" EVIL_NAME "/queues/rx-0/rps_cpus", "c\n" },
		{ "sys/block/" EVIL_NAME "/stat", "10 0 80 5 7 0 64 3 2 9 9\n" },
		{ "sys/block/" EVIL_NAME "/mq/1/cpu_list", "2, 3\n" },
		{ "sys/class/nvme/" EVIL_NAME "/transport", "tcp\n" },
		{ "sys/devices/virtual/workqueue/" EVIL_NAME "/cpumask", "c\n" },
		{ "sys/fs/resctrl/" EVIL_NAME "/cpus_list", "3\n" },
		{ "sys/fs/resctrl/" EVIL_NAME "/schemata", "    L3:1=f\n" },
		{ "etc/udev/rules.d/" EVIL_NAME ".rules",
		  "SUBSYSTEM==\"cpu\", ATTR{online}=\"1\"\n" },
		{ "run/cpuoff/" EVIL_NAME ".json", "{}\n" },
		{ "sys/devices/system/cpu/cpufreq/ondemand/" EVIL_NAME, "1\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		machine_put_file(files[i].path, (const uint8_t *)files[i].content,
				 strlen(files[i].content));
	for (size_t i = 0; i < ACTIONS; i++)
		run(i);
	ok(true, "names of groups, devices, queues, files");
}

static void test_arguments(void)
{
	static const char *const arguments[][3] = {
		{ "--cpu", EVIL_NAME, "--json" },
		{ "--socket=" EVIL_NAME, "--list" },
		{ "--near", EVIL_NAME, "--list" },
		{ "--mce", "CPU 1 " EVIL_NAME, "--list" },
		{ "--mce=/" EVIL_NAME, "--list", "--json" },
		{ "--restore=" EVIL_NAME, "--dry-run", "--json" },
		{ "--restore=" EVIL_NAME, "--dry-run" },
		{ "--state-dir=" EVIL_NAME, "--status" },
		{ "--state-dir=/" EVIL_NAME, "--status", "--json" },
		{ "--hooks-dir=/" EVIL_NAME, "--dry-run", "--cpu=1" },
		{ "--list", "--map=/nowhere/" EVIL_NAME ".svg" },
		{ "--" EVIL_NAME, "--json" },
		{ EVIL_NAME },
		{ "--method", EVIL_NAME, "--cpu=1" },
		{ "--timeout", EVIL_NAME, "--json" },
		{ "--persist=" EVIL_NAME },
	};

	for (size_t i = 0; i < ARRAY_SIZE(arguments); i++) {
		const char *list[ARRAY_SIZE(arguments[0]) + 1] = { NULL };

		memcpy(list, arguments[i], sizeof(arguments[i]));
		program_run(list);
	}
	ok(true, "arguments");
}

int main(void)
{
	fill();
	machine_make();
	test_lies();
	test_no_files();
	test_names();
	test_arguments();
	return done_testing();
}
