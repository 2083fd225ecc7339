/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-persist.c - tests of records: whole or not there, and which CPUs they mean */
#include "core/persist.h"

#include <errno.h>
#include <string.h>

#include "guard.h"
#include "tap.h"
#include "temp.h"

#define NR_CPUS 4

static struct root *root;
static struct state *state;
static struct cpu cpus[NR_CPUS];
static struct machine machine = { .nr_cpus = NR_CPUS, .cpus = cpus };

static void write_cpuinfo(const char *format)
{
	char text[2048] = "";
	size_t length = 0;

	for (int cpu = 0; cpu < NR_CPUS; cpu++)
		length += (size_t)snprintf(text + length, sizeof(text) - length,
					   "processor\t: %d\nvendor_id\t: V\nmodel name\t: %s\n"
					   "cpu MHz\t\t: %d\ninitial apicid\t: %d\n\n",
					   cpu, format, 1000 + cpu, 16 + cpu);
	temp_write("proc/cpuinfo", text);
}

static void make_machine(void)
{
	machine.online = hwloc_bitmap_alloc();
	hwloc_bitmap_set_range(machine.online, 0, NR_CPUS - 1);
	for (unsigned int cpu = 0; cpu < NR_CPUS; cpu++)
		cpus[cpu] = (struct cpu){ .is_present = true,
					  .is_online = true,
					  .socket = (long)cpu / 2,
					  .core = (long)cpu % 2,
					  .die = 0,
					  .node = (long)cpu / 2 };
	write_cpuinfo("M");
}

static struct record make_record(const char *id)
{
	struct place places[] = { { .cpu = 2, .socket = 1, .core = 0, .node = 1 },
				  { .cpu = 3, .socket = 1, .core = 1, .node = 1 } };
	struct operation operation = { .id = (char *)id,
				       .boot_id = (char *)"boot",
				       .version = (char *)"1",
				       .started = (char *)"now",
				       .command = (char *)"cpuoff --socket 1 \xff",
				       .places = places,
				       .nr_places = 2 };
	struct request request = { .force = true };
	struct record record = { 0 };

	is_int(record_new(root, &machine, &(struct records){ 0 }, &operation, &request, &record), 0,
	       "a record is made");
	return record;
}

static struct records load(size_t nr_findings)
{
	struct findings findings = { 0 };
	struct records records = { 0 };

	is_int(persist_load_all(state, SEVERITY_WARN, &findings, &records), 0, "records are read");
	is_int((long long)findings.nr, (long long)nr_findings, "and complained of");
	findings_free(&findings);
	return records;
}

static void test_halves(void)
{
	struct record record = make_record("20260101-000000");
	struct records records;

	is_int(record_prepare(state, &record), 0, "the first half");
	records = load(0);
	is_int((long long)records.nr, 0, "is no record yet");
	records_free(&records);
	is_int(state_commit(state, "20260101-000000"), 0, "the second half");
	is_int(temp_mode("var/lib/cpuoff/20260101-000000.json"), 0600, "root's alone");
	records = load(0);
	is_int((long long)records.nr, 1, "is one");
	if (records.nr) {
		const struct record *read = &records.list[0];

		is_str(read->operation.command, "cpuoff --socket 1 \xff", "its command");
		is_int(read->force, 1, "what was accepted");
		is_int(read->allow_cpu0, 0, "and what was not");
		is_int((long long)read->identities[1].hardware_id, 19, "an APIC id");
		is_str(read->identities[0].model, "V M", "a model, without what changes");
		is_int(hwloc_bitmap_weight(read->operation.claim), 2, "its CPUs");
	}
	ok(records_find(&records, "20260101-000000") != NULL, "it is found");
	ok(!records_find(&records, "20260101-000001"), "and no other");
	records_free(&records);
	record_free(&record);
}

static void test_shrinking(void)
{
	struct record record = make_record("20260101-000000");
	hwloc_bitmap_t kept = hwloc_bitmap_alloc();
	struct records records;

	hwloc_bitmap_only(kept, 3);
	is_int(record_keep(state, &record, kept), 0, "one CPU is kept");
	records = load(0);
	ok(records.nr && records.list[0].operation.nr_places == 1 &&
		   records.list[0].identities[0].hardware_id == 19,
	   "and no other");
	records_free(&records);
	hwloc_bitmap_zero(kept);
	is_int(record_keep(state, &record, kept), 0, "none is kept");
	records = load(0);
	is_int((long long)records.nr, 0, "the record is gone");
	is_int(record_keep(state, &record, kept), -ENOENT, "there is none to be ended any more");
	hwloc_bitmap_free(kept);
	record_free(&record);
}

/* What the hardware is called may be any bytes, and is compared after a reboot. */
static void test_bytes(void)
{
	struct record record;
	struct records records;

	write_cpuinfo("M\xff");
	record = make_record("20260101-000000");
	write_cpuinfo("M");
	is_int(record_prepare(state, &record), 0, "a model that is not UTF-8");
	is_int(state_commit(state, record.operation.id), 0, "is recorded");
	records = load(0);
	if (ok(records.nr == 1, "and read"))
		is_str(records.list[0].identities[0].model, "V M\xff", "as it was");
	is_int(state_remove(state, record.operation.id), 0, "it is removed");
	records_free(&records);
	record_free(&record);
}

/* Matches a record of CPUs 2 and 3; @difference is part of what is said, or NULL. */
static void check_match(const char *expected, const char *difference, const char *what)
{
	struct record record = make_record("20260101-000000");
	hwloc_bitmap_t found = hwloc_bitmap_alloc();
	struct records none = { 0 };
	char *told = NULL, *list;

	write_cpuinfo(expected ? "M" : "N");
	is_int(record_match(root, &machine, &none, "boot", &record, found, &told),
	       difference ? 1 : 0, "%s", what);
	list = cpus_format(found);
	if (difference)
		ok(told && strstr(told, difference), "%s: says \"%s\"", what, told ? told : "");
	else
		is_str(list, expected, "%s: its CPUs", what);
	write_cpuinfo("M");
	free(list);
	free(told);
	hwloc_bitmap_free(found);
	record_free(&record);
}

static void test_match(void)
{
	check_match("2-3", NULL, "the same machine");
	check_match(NULL, "its model was \"V M\" and is \"V N\"", "another model");
}

/* Each allocation that fails leaves the record whole, or not there. */
static void test_memory(void)
{
	struct record record = make_record("20260101-000000");
	size_t nr_failed = 0;

	for (size_t i = 1; guard_can_fail() && i < 1000; i++) {
		int r;

		guard_fail_at(i);
		r = record_prepare(state, &record);
		if (guard_end() < i)
			break;
		nr_failed += r != 0;
		if (!r)
			state_discard(state, "20260101-000000");
	}
	ok(!guard_can_fail() || nr_failed, "without memory there is none");
	record_free(&record);
}

int main(void)
{
	temp_make();
	root = temp_root();
	make_machine();
	is_int(state_open_private(root, "/var/lib/cpuoff", true, &state), 0, "a directory");
	is_int(temp_mode("var/lib/cpuoff"), 0700, "root's alone");
	is_int(temp_mode("var/lib"), 0755, "and not what is above it");
	test_halves();
	test_shrinking();
	test_bytes();
	test_match();
	test_memory();
	state_close(state);
	root_close(root);
	hwloc_bitmap_free(machine.online);
	temp_remove();
	return done_testing();
}
