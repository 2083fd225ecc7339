/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prometheus.c - --status --prometheus: what is in force, for the textfile collector */
#include "cli/prometheus.h"

#include <errno.h>
#include <string.h>
#include <time.h>

/* A metric of the machine as a whole. */
static void put_metric(FILE *file, const char *name, const char *help, size_t value)
{
	fprintf(file, "# HELP %s %s\n# TYPE %s gauge\n%s %zu\n", name, help, name, name, value);
}

/* A name in quotes; what a label must not hold as it is, is escaped. */
static void put_label(FILE *file, const char *text)
{
	_cleanup_free_ char *shown = strdup(text);

	if (shown)
		util_make_visible(shown, "\n");
	fputc('"', file);
	for (const char *c = shown; c && *c; c++) {
		if (*c == '\n')
			fputs("\\n", file);
		else if (*c == '"' || *c == '\\')
			fprintf(file, "\\%c", *c);
		else
			fputc(*c, file);
	}
	fputc('"', file);
}

/* ---- of each operation ------------------------------------------------------------------- */

static int count_off(const struct report *report, const struct operation *operation,
		     double *ret_value)
{
	_cleanup_cpus_ hwloc_bitmap_t off = hwloc_bitmap_alloc();

	if (!off || hwloc_bitmap_andnot(off, operation->claim, report->machine.online) < 0)
		return -ENOMEM;
	*ret_value = cpus_count(off);
	return 0;
}

static int count_drift(const struct report *report, const struct operation *operation,
		       double *ret_value)
{
	_cleanup_cpus_ hwloc_bitmap_t drift = hwloc_bitmap_alloc();
	int r = drift ? operation_find_drift(operation, report->machine.online, drift) : -ENOMEM;

	if (!r)
		*ret_value = cpus_count(drift);
	return r;
}

/* Returns -EINVAL where the journal has no time that can be read. */
static int find_start(const struct report *report, const struct operation *operation,
		      double *ret_value)
{
	struct tm tm = { 0 };

	(void)report;
	if (!operation->started || !strptime(operation->started, "%Y-%m-%dT%H:%M:%SZ", &tm))
		return -EINVAL;
	*ret_value = (double)timegm(&tm);
	return 0;
}

static int put_operations(FILE *file, const struct report *report, const char *name,
			  const char *help,
			  int (*find)(const struct report *report,
				      const struct operation *operation, double *ret_value))
{
	fprintf(file, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
	for (size_t i = 0; i < report->journals.nr; i++) {
		double value;
		int r = find(report, &report->journals.list[i], &value);

		if (r == -ENOMEM)
			return r;
		if (r)
			continue;
		fprintf(file, "%s{operation=", name);
		put_label(file, report->journals.list[i].id);
		fprintf(file, "} %.0f\n", value);
	}
	return 0;
}

/* ---- the whole --------------------------------------------------------------------------- */

static int count_unclaimed(const struct report *report, size_t *ret_nr)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();

	if (!cpus || hwloc_bitmap_andnot(cpus, report->machine.present, report->machine.online) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < report->journals.nr; i++)
		if (hwloc_bitmap_andnot(cpus, cpus, report->journals.list[i].claim) < 0)
			return -ENOMEM;
	*ret_nr = cpus_count(cpus);
	return 0;
}

int prometheus_print(FILE *file, const struct report *report)
{
	size_t nr_unclaimed;
	int r;

	/* a machine that could not be read has no numbers */
	if (!report->machine.nr_cpus)
		return 0;
	r = count_unclaimed(report, &nr_unclaimed);
	if (r)
		return r;
	put_metric(file, "cpuoff_cpus_present", "CPUs that the machine has.",
		   cpus_count(report->machine.present));
	put_metric(file, "cpuoff_cpus_online", "CPUs that are online.",
		   cpus_count(report->machine.online));
	put_metric(file, "cpuoff_cpus_unclaimed",
		   "CPUs that are offline and that no operation in force has taken.", nr_unclaimed);
	put_metric(file, "cpuoff_operations", "Operations in force.", report->journals.nr);
	put_metric(file, "cpuoff_journals_unusable",
		   "1 where a journal of this boot cannot be read, so that its CPUs are not known.",
		   report->journals.unusable.nr > 0);
	r = put_operations(file, report, "cpuoff_cpus_offline",
			   "CPUs that are offline because of the operation.", count_off);
	if (!r)
		r = put_operations(file, report, "cpuoff_cpus_drifted",
				   "CPUs of the operation that something else has brought back.",
				   count_drift);
	if (!r)
		r = put_operations(file, report, "cpuoff_operation_start_time_seconds",
				   "When the operation began, in seconds since 1970.", find_start);
	return r;
}
