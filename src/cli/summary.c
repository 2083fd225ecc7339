/* SPDX-License-Identifier: GPL-2.0-or-later */
/* summary.c - what an operation is about to do: in a few lines, and step by step */
#include "cli/summary.h"

#include <errno.h>
#include <string.h>

/* More reasons than these are only counted, without -v. */
#define MANY_BLOCKERS 8

static bool is_return(const struct report *report)
{
	return report->options->request.action == ACTION_RESTORE;
}

/* ---- in a few lines ---------------------------------------------------------------------- */

static void print_cpus(const struct layout *layout, const char *label, hwloc_const_bitmap_t cpus)
{
	_cleanup_free_ char *list = layout_cpus(layout, cpus);

	layout_field(layout, STYLE_PLAIN, label, "%s", list ? list : "?");
}

/* The claims of several operations, so that it is seen what of which one comes back. */
static void print_operations(const struct layout *layout, const struct report *report)
{
	for (size_t i = 0; i < report->nr_runs; i++)
		if (report->runs[i].operation->is_journalled)
			layout_field(layout, STYLE_PLAIN, i ? "" : "undoes", "%s, begun by: %s",
				     report->runs[i].operation->id,
				     report->runs[i].operation->command);
}

void summary_print(const struct layout *layout, const struct report *report)
{
	unsigned int nr = cpus_count(report->target);

	layout_print(layout, STYLE_STRONG, "%u CPU%s would %s%s.", nr, nr == 1 ? "" : "s",
		     is_return(report) ? "come back online" : "go offline",
		     report->exit_status == EXIT_PARTIAL ? ": PARTIAL, not all of the selection"
							 : "");
	fputs("\n\n", layout->file);
	print_cpus(layout, is_return(report) ? "bring back" : "take offline", report->target);
	print_cpus(layout, is_return(report) ? "online now" : "stay online", report->survivors);
	if (report->method)
		layout_field(layout, STYLE_PLAIN, "how", "method %s, work is moved by: %s",
			     report->method, report->evacuation);
	for (size_t i = 0; i < report->nr_hooks; i++)
		layout_field(layout, STYLE_PLAIN, i ? "" : "hooks", "%s", report->hooks[i].name);
	if (report->is_recorded)
		layout_field(layout, STYLE_PLAIN, "recorded", "off over a reboot, too");
	if (is_return(report))
		print_operations(layout, report);
}

/* ---- step by step ------------------------------------------------------------------------ */

static char *format_values(const struct item *item, bool is_undone)
{
	return util_asprintf("%s -> %s", is_undone ? item->after : item->before,
			     is_undone ? item->before : item->after);
}

static bool has_same_values(const struct item *one, const struct item *other)
{
	return !strcmp(one->before, other->before) && !strcmp(one->after, other->after);
}

static int add_items(const struct report *report, const struct run *run, const struct step *step,
		     bool is_undone, struct table *table)
{
	for (size_t i = 0; i < step->nr_items; i++) {
		_cleanup_free_ char *values = NULL;

		if (!report_shows_item(report, run, step, &step->items[i]))
			continue;
		values = format_values(&step->items[i], is_undone);
		if (table_add(table, STYLE_PLAIN,
			      (char *[]){ strdup(""), strdup(""),
					  values ? util_asprintf("%s: %s", step->items[i].object,
								 values)
						 : NULL }))
			return -ENOMEM;
	}
	return 0;
}

/* The items of a step in one line: the first and the last, and the values where all have the same.
 */
static char *format_items(const struct item *first, const struct item *last, size_t nr,
			  bool are_same, bool is_undone)
{
	_cleanup_free_ char *values = format_values(first, is_undone);

	if (!values)
		return NULL;
	if (nr == 1)
		return util_asprintf("%s: %s", first->object, values);
	return util_asprintf("%zu, from %s to %s%s%s", nr, first->object, last->object,
			     are_same ? ": " : "", are_same ? values : "");
}

static int add_step(const struct report *report, const struct run *run, const struct step *step,
		    struct table *table)
{
	bool is_undone = is_return(report) && step_is_in_force(step), are_same = true;
	const struct item *first = NULL, *last = NULL;
	size_t nr = 0;

	for (size_t i = 0; i < step->nr_items; i++) {
		if (!report_shows_item(report, run, step, &step->items[i]))
			continue;
		first = first ? first : &step->items[i];
		last = &step->items[i];
		are_same &= has_same_values(first, last);
		nr++;
	}
	if (!nr)
		return 0;
	if (table_add(table, STYLE_PLAIN,
		      (char *[]){ strdup(step->kind->name), strdup(lifetime_format(step->lifetime)),
				  format_items(first, last, nr, are_same, is_undone) }))
		return -ENOMEM;
	return report->options->verbose && nr > 1 ? add_items(report, run, step, is_undone, table)
						  : 0;
}

void summary_print_steps(const struct layout *layout, const struct report *report)
{
	static const char *const titles[] = { "step", "lifetime", "what changes" };
	_cleanup_(table_free) struct table table = {
		.titles = titles,
		.nr_columns = ARRAY_SIZE(titles),
		.widest = 24,
	};
	int r = 0;

	for (size_t i = 0; i < report->nr_runs; i++) {
		const struct run *run = &report->runs[i];

		if (report->nr_runs > 1)
			r = table_add(
				&table, STYLE_STRONG,
				(char *[]){ strdup(run->operation->id), strdup(""), strdup("") });
		for (const struct step *step = NULL;
		     !r && (step = report_next_step(report, run, step));)
			r = add_step(report, run, step, &table);
	}
	if (!table.nr_rows)
		return;
	fputc('\n', layout->file);
	table_print(layout, &table);
}

/* ---- the service verdict ----------------------------------------------------------------- */

static void print_blockers(const struct layout *layout, const struct service *service)
{
	_cleanup_(table_free) struct table table = {
		.nr_columns = 2,
		.indent = 2,
		.widest = 24,
		.has_sentences = true,
	};
	size_t nr = layout->is_whole || service->nr <= MANY_BLOCKERS ? service->nr : MANY_BLOCKERS;

	for (size_t i = 0; i < nr; i++)
		if (table_add(&table, STYLE_PLAIN,
			      (char *[]){ strdup(service->list[i].kind),
					  strdup(service->list[i].message) }))
			return;
	table_print(layout, &table);
	if (nr < service->nr)
		layout_print(layout, STYLE_FAINT, "  and %zu more, see -v\n", service->nr - nr);
}

void summary_print_service(const struct layout *layout, const struct report *report,
			   const char *when)
{
	const struct service *service = &report->service;

	if (!report->has_service)
		return;
	if (service_is_safe(service)) {
		layout_field(layout, STYLE_GOOD, "hardware",
			     "%ssafe to remove: no CPU, memory or device of it is in use", when);
		return;
	}
	layout_field(layout, STYLE_STRONG, "hardware",
		     "%snot safe to remove, %zu thing%s in the way", when, service->nr,
		     service->nr == 1 ? " is" : "s are");
	print_blockers(layout, service);
}
