/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-eject.c - tests of step kinds cpu.eject and container.eject, above all of what goes wrong */
#include "host/eject.h"

#include <errno.h>
#include <limits.h>

#include "guard.h"
#include "tap.h"
#include "tree.h"

#define FIRMWARE "sys/devices/LNXSYSTM:00/LNXSYBUS:00"
#define BOARD	 "LNXSYSTM:00/LNXSYBUS:00/ACPI0004:01"

static struct tree tree;

/* An object of the firmware in a container, that stands for the CPU. */
static void add_object(const char *container, unsigned int cpu)
{
	char name[128], target[128];

	snprintf(name, sizeof(name), FIRMWARE "/%s/LNXCPU:%02x/eject", container, cpu);
	temp_write(name, "");
	snprintf(name, sizeof(name), FIRMWARE "/%s/LNXCPU:%02x/path", container, cpu);
	temp_write(name, "\\_SB.CPU\n");
	snprintf(target, sizeof(target), "../../../LNXSYSTM:00/LNXSYBUS:00/%s/LNXCPU:%02x",
		 container, cpu);
	snprintf(name, sizeof(name), "sys/devices/system/cpu/cpu%u/firmware_node", cpu);
	temp_symlink(target, name);
}

/* CPUs 4-7 in one container, of which @target goes. */
static void begin(const char *target)
{
	tree_make();
	for (unsigned int cpu = 4; cpu < 8; cpu++)
		add_object("ACPI0004:01", cpu);
	temp_write(FIRMWARE "/ACPI0004:01/eject", "");
	temp_write(FIRMWARE "/ACPI0004:01/status", "15\n");
	tree_open(&tree, target);
	tree.request.eject = true;
	tree.request.timeout = 0.05;
}

static void end(void)
{
	tree_close(&tree);
	temp_remove();
}

static const char *ejected(unsigned int cpu)
{
	char name[128];

	snprintf(name, sizeof(name), FIRMWARE "/ACPI0004:01/LNXCPU:%02x/eject", cpu);
	return tree_read(&tree, name);
}

/* "object|object" of the plan. */
static void is_plan(const struct step_kind *kind, const char *expected, const char *what)
{
	_cleanup_free_ char *text = strdup("");

	is_int(tree_plan(&tree, kind), 0, "%s: planned", what);
	for (size_t i = 0; text && i < tree.step.nr_items; i++) {
		_cleanup_free_ char *old = text;

		text = util_asprintf("%s%s%s", old, i ? "|" : "", tree.step.items[i].object);
	}
	is_str(text, expected, "%s: the objects", what);
}

static void is_state(size_t i, enum step_state state, const char *what)
{
	is_str(i < tree.step.nr_items ? state_format(tree.step.items[i].state) : NULL,
	       state_format(state), "%s: item %zu", what, i);
}

static void is_told(const char *rule, const char *words, const char *what)
{
	const struct finding *finding = tree_find(&tree, rule);

	if (!ok(finding && strstr(finding->message, words), "%s: %s, \"%s\"", what, rule, words))
		diag("%s", finding ? finding->message : "nothing");
}

/* The C library's word for it */
static void is_busy(const char *object, const char *what)
{
	_cleanup_free_ char *words =
		util_asprintf("%s was not ejected: %s", object, strerror(EBUSY));

	is_told("eject-failed", words, what);
}

/* ---- planning ---------------------------------------------------------------------------- */

static void test_plan(void)
{
	begin("5-7");
	is_plan(&eject_cpus_kind, "cpu 7 (LNXCPU:07)|cpu 6 (LNXCPU:06)|cpu 5 (LNXCPU:05)",
		"three CPUs");
	ok(!tree.findings.nr, "nothing to say");
	tree.request.eject = false;
	is_plan(&eject_cpus_kind, "", "nobody asked");
	tree.request.eject = tree.env.is_return = true;
	is_plan(&eject_cpus_kind, "", "on the way back");
	end();
}

static void test_claimed(void)
{
	struct operation other = { .claim = NULL };
	const struct operation *others[] = { &other };

	begin("6-7");
	other.claim = hwloc_bitmap_alloc();
	hwloc_bitmap_only(other.claim, 6);
	tree.env.others = others;
	tree.env.nr_others = 1;
	is_plan(&eject_cpus_kind, "cpu 7 (LNXCPU:07)", "one is another operation's");
	is_told("eject-not-ours", "CPU 6", "one is another operation's");
	is_int(tree.findings.list[0].severity, SEVERITY_REFUSE, "it is refused");
	is_plan(&eject_containers_kind, "", "its container stays");
	is_told("container-stays", "LNXCPU:04", "its container stays");
	hwloc_bitmap_free(other.claim);
	end();
}

static void test_impossible(void)
{
	begin("3,7");
	is_plan(&eject_cpus_kind, "cpu 7 (LNXCPU:07)", "one has no object");
	is_told("eject-impossible", "CPU 3 cannot be ejected: it has no firmware_node/eject",
		"one has no object");
	end();
}

static void test_plan_containers(void)
{
	begin("4-7");
	is_plan(&eject_containers_kind, BOARD, "all of a container: once");
	ok(!tree.findings.nr, "nothing to say");
	temp_write(FIRMWARE "/ACPI0004:01/PNP0C80:00/path", "\\_SB.MEM\n");
	is_plan(&eject_containers_kind, "", "it also has memory");
	is_told("container-stays", "ACPI0004:01 is not ejected: it also holds PNP0C80:00",
		"it also has memory");
	end();
	begin("4-7");
	temp_write(FIRMWARE "/ACPI0004:01/power/control", "auto\n");
	is_plan(&eject_containers_kind, BOARD, "a folder that is no object");
	unlink(temp_path(FIRMWARE "/ACPI0004:01/eject"));
	is_plan(&eject_containers_kind, "", "it cannot be ejected");
	ok(!tree.findings.nr, "nothing to say");
	end();
	begin("2-7");
	add_object("ACPI0004:00", 2);
	add_object("ACPI0004:00", 3);
	temp_write(FIRMWARE "/ACPI0004:00/eject", "");
	is_plan(&eject_containers_kind, "LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00|" BOARD,
		"two containers");
	end();
}

/* ---- ejecting ---------------------------------------------------------------------------- */

static void test_success(void)
{
	begin("6-7");
	is_int(tree_plan(&tree, &eject_cpus_kind), 0, "planned");
	temp_write("sys/devices/system/cpu/online", "0-5\n");
	temp_write("sys/devices/system/cpu/present", "0-5\n");
	is_int(tree_apply(&tree), 0, "they leave");
	is_state(0, STATE_APPLIED, "they leave");
	is_state(1, STATE_APPLIED, "they leave");
	is_str(ejected(7), "1", "7 was ejected");
	is_str(ejected(6), "1", "6 was ejected");
	is_str(ejected(5), "", "5 was not");
	is_int(tree.env.interrupts_allowed, INT_MAX, "no signal turns this around");
	ok(!tree.findings.nr, "nothing to say");
	end();
}

/* The kernel would take it offline by itself. */
static void test_online(void)
{
	begin("6-7");
	is_int(tree_plan(&tree, &eject_cpus_kind), 0, "planned");
	temp_write("sys/devices/system/cpu/online", "0-5,7\n");
	is_int(tree_apply(&tree), 0, "one is online: no failure of the whole");
	is_state(0, STATE_FAILED, "one is online");
	is_state(1, STATE_PLANNED, "one is online, and the other is not tried");
	is_str(ejected(7), "", "it is not ejected");
	is_busy("cpu 7 (LNXCPU:07)", "one is online");
	is_int(tree.env.interrupts_allowed, 0, "a signal still counts");
	end();
}

static void test_stays(void)
{
	begin("6-7");
	is_int(tree_plan(&tree, &eject_cpus_kind), 0, "planned");
	temp_write("sys/devices/system/cpu/online", "0-5\n");
	is_int(tree_apply(&tree), 0, "it stays");
	is_state(0, STATE_FAILED, "it stays");
	is_str(ejected(7), "1", "it was asked to go");
	is_told("eject-failed", "it is still present", "it stays");
	ok(!step_is_in_force(&tree.step), "nothing is in force");
	end();
}

static void test_no_file(void)
{
	begin("6-7");
	is_int(tree_plan(&tree, &eject_cpus_kind), 0, "planned");
	temp_write("sys/devices/system/cpu/online", "0-5\n");
	unlink(temp_path(FIRMWARE "/ACPI0004:01/LNXCPU:07/eject"));
	is_int(tree_apply(&tree), 0, "its file is gone");
	is_told("eject-failed", "No such file", "its file is gone");
	end();
	begin("6-7");
	is_int(tree_plan(&tree, &eject_cpus_kind), 0, "planned");
	unlink(temp_path("sys/devices/system/cpu/online"));
	temp_mkdir("sys/devices/system/cpu/online");
	is_int(tree_apply(&tree), 0, "nobody knows who is online");
	is_state(0, STATE_FAILED, "nobody knows who is online");
	is_str(ejected(7), "", "then it is not ejected");
	end();
}

static void test_containers(void)
{
	begin("4-7");
	is_int(tree_plan(&tree, &eject_containers_kind), 0, "planned");
	is_int(tree_apply(&tree), 0, "CPUs are still in it");
	is_state(0, STATE_FAILED, "CPUs are still in it");
	is_busy("ACPI0004:01", "CPUs are still in it");
	is_str(tree_read(&tree, FIRMWARE "/ACPI0004:01/eject"), "", "it is not asked");
	end();
	begin("4-7");
	is_int(tree_plan(&tree, &eject_containers_kind), 0, "planned");
	temp_write("sys/devices/system/cpu/present", "0-3\n");
	is_int(tree_apply(&tree), 0, "it stays");
	is_told("eject-failed", "still present", "it stays");
	is_str(tree_read(&tree, FIRMWARE "/ACPI0004:01/eject"), "1", "it was asked");
	temp_write(FIRMWARE "/ACPI0004:01/status", "0\n");
	is_int(tree_plan(&tree, &eject_containers_kind), 0, "planned again");
	is_int(tree_apply(&tree), 0, "it goes");
	is_state(0, STATE_APPLIED, "it goes");
	is_int(tree_undo(&tree), 0, "it comes back with its CPUs");
	is_state(0, STATE_UNDONE, "it comes back with its CPUs");
	end();
}

/* ---- the way back ------------------------------------------------------------------------ */

static void test_undo(void)
{
	begin("5-7");
	is_int(tree_plan(&tree, &eject_cpus_kind), 0, "planned");
	temp_write("sys/devices/system/cpu/online", "0-4\n");
	temp_write("sys/devices/system/cpu/present", "0-4\n");
	is_int(tree_apply(&tree), 0, "they leave");
	is_int(tree_undo(&tree), -ENODEV, "none is back");
	is_state(0, STATE_APPLIED, "none is back");
	temp_write("sys/devices/system/cpu/present", "0-4,6\n");
	is_int(tree_undo(&tree), -ENODEV, "one is back");
	is_state(0, STATE_APPLIED, "7 is not");
	is_state(1, STATE_UNDONE, "6 is");
	is_state(2, STATE_APPLIED, "5 is not");
	temp_write("sys/devices/system/cpu/present", "0-7\n");
	hwloc_bitmap_only(tree.target, 7);
	is_int(tree_undo(&tree), 0, "all are back, and one is wanted");
	is_state(0, STATE_UNDONE, "7 is");
	is_state(2, STATE_APPLIED, "5 is not asked for");
	end();
}

static void test_without_memory(const struct step_kind *kind)
{
	size_t nr = 0, nr_good = 0, nr_expected;
	bool was_reached = true;

	begin("3-7");
	is_int(tree_plan(&tree, kind), 0, "%s: with memory", kind->name);
	nr_expected = tree.step.nr_items + tree.findings.nr;
	while (was_reached && nr < 500) {
		int r;

		step_free(&tree.step);
		findings_free(&tree.findings);
		tree.findings = (struct findings){ 0 };
		tree.step = (struct step){ .kind = kind };
		guard_fail_at(++nr);
		r = kind->describe(&tree.step, &tree.env);
		was_reached = guard_end() >= nr;
		nr_good += r == -ENOMEM ||
			   (!r && tree.step.nr_items + tree.findings.nr == nr_expected);
	}
	is_int((long long)nr_good, (long long)nr, "%s: no failing allocation is passed over",
	       kind->name);
	end();
}

int main(void)
{
	test_plan();
	test_claimed();
	test_impossible();
	test_plan_containers();
	test_success();
	test_online();
	test_stays();
	test_no_file();
	test_containers();
	test_undo();
	if (guard_can_fail()) {
		test_without_memory(&eject_cpus_kind);
		test_without_memory(&eject_containers_kind);
	}
	return done_testing();
}
