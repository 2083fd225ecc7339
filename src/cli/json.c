/* SPDX-License-Identifier: GPL-2.0-or-later */
/* json.c - the JSON document on stdout */
#include "cli/json.h"

#include <errno.h>
#include <string.h>

#include <json-c/json.h>

#include "cli/catalogue.h"
#include "cli/list.h"
#include "core/document.h"

static struct json_object *make_string(const char *text)
{
	_cleanup_free_ char *shown = util_strdup(text);

	if (shown)
		util_make_visible(shown, "\t\n");
	return document_make_string(text, shown);
}

static struct json_object *make_cpus(hwloc_const_bitmap_t cpus)
{
	_cleanup_free_ char *list = cpus ? cpus_format(cpus) : NULL;

	return json_object_new_string(list ? list : "");
}

/* Milliseconds are as exact as these times are. */
static struct json_object *make_seconds(double seconds)
{
	char text[32];

	snprintf(text, sizeof(text), "%.6f", seconds);
	return json_object_new_double_s(seconds, text);
}

static struct json_object *make_findings(const struct findings *findings)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < findings->nr; i++) {
		const struct finding *finding = &findings->list[i];
		struct json_object *object = json_object_new_object();

		document_put(object, "rule", make_string(finding->rule));
		document_put(object, "severity", make_string(severity_format(finding->severity)));
		document_put(object, "cpus", make_string(finding->cpus));
		document_put(object, "message", make_string(finding->message));
		document_put(object, "remedy", make_string(finding->remedy));
		document_append(array, object);
	}
	return array;
}

static struct json_object *make_target(const struct report *report)
{
	struct json_object *object = json_object_new_object(), *selectors = json_object_new_array();

	document_put(object, "cpus", make_cpus(report->target));
	document_put(object, "count", json_object_new_int((int)cpus_count(report->target)));
	document_put(object, "already_offline", make_cpus(report->selection.already_offline));
	for (size_t i = 0; i < report->selection.nr_selectors; i++) {
		const struct resolved_selector *resolved = &report->selection.selectors[i];
		struct json_object *selector = json_object_new_object();

		document_put(selector, "kind",
			     make_string(selector_kind_format(resolved->selector->kind)));
		document_put(selector, "id", make_string(resolved->selector->text));
		document_put(selector, "cpus", make_cpus(resolved->cpus));
		document_append(selectors, selector);
	}
	document_put(object, "selectors", selectors);
	return object;
}

static struct json_object *make_survivors(const struct report *report)
{
	struct json_object *object = json_object_new_object();

	document_put(object, "cpus", make_cpus(report->survivors));
	document_put(object, "count", json_object_new_int((int)cpus_count(report->survivors)));
	return object;
}

/* In the plan of a restore an item in force goes back from the value after to the value before. */
static bool is_reversed(const struct report *report, const struct step *step,
			const struct item *item)
{
	return report->options->request.action == ACTION_RESTORE && item_is_in_force(step, item);
}

static struct json_object *make_item(const struct report *report, const struct step *step,
				     const struct item *item)
{
	struct json_object *object = json_object_new_object();
	bool reversed = is_reversed(report, step, item);

	document_put(object, "kind", make_string(step->kind->name));
	document_put(object, "lifetime", make_string(lifetime_format(step->lifetime)));
	document_put(object, "object", make_string(item->object));
	document_put(object, "before", make_string(reversed ? item->after : item->before));
	document_put(object, "after", make_string(reversed ? item->before : item->after));
	document_put(object, "state",
		     make_string(state_format(report->options->request.dry_run ? STATE_PLANNED
									       : item->state)));
	return object;
}

static void add_step(const struct report *report, const struct run *run, const struct step *step,
		     struct json_object *array)
{
	for (size_t i = 0; i < step->nr_items; i++)
		if (report_shows_item(report, run, step, &step->items[i]))
			document_append(array, make_item(report, step, &step->items[i]));
}

static struct json_object *make_steps(const struct report *report)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < report->nr_runs; i++) {
		const struct run *run = &report->runs[i];

		for (const struct step *step = NULL; (step = report_next_step(report, run, step));)
			add_step(report, run, step, array);
	}
	return array;
}

static struct json_object *make_failure(const struct report *report, const struct run *run,
					const struct item *item)
{
	struct json_object *object = json_object_new_object();
	struct explanation explanation;

	document_put(object, "cpu", json_object_new_int64((int64_t)item->id));
	document_put(object, "errno", make_string(util_errno_name(item->error)));
	document_put(object, "callback", item->callback[0] ? make_string(item->callback) : NULL);
	if (!report_explain(report, run, item, &explanation)) {
		document_put(object, "message", make_string(explanation.message));
		document_put(object, "kernel_log", make_string(explanation.kernel_log));
		document_put(object, "cause", make_string(explanation.cause));
		document_put(object, "remedy", make_string(explanation.remedy));
		explanation_free(&explanation);
	}
	return object;
}

static void add_items(const struct report *report, const struct run *run, const struct step *step,
		      struct json_object *failed, struct json_object *per_cpu)
{
	for (size_t i = 0; i < step->nr_items; i++) {
		const struct item *item = &step->items[i];
		struct json_object *object;

		if (item->error)
			document_append(failed, make_failure(report, run, item));
		if (item->seconds <= 0)
			continue;
		object = json_object_new_object();
		document_put(object, "cpu", json_object_new_int64((int64_t)item->id));
		document_put(object, "seconds", make_seconds(item->seconds));
		document_append(per_cpu, object);
	}
}

static struct json_object *make_latency(const struct measurement *measurement)
{
	const struct latency *latency = &measurement->latency;
	struct json_object *object = json_object_new_object();

	document_put(object, "cpus", make_cpus(measurement->cpus));
	document_put(object, "realtime", json_object_new_boolean(measurement->is_realtime));
	document_put(object, "longest", make_seconds((double)latency->longest / 1e9));
	document_put(object, "percentile_99_9", make_seconds(latency_percentile(latency, 999)));
	document_put(object, "over_1_ms", json_object_new_int64((int64_t)latency->nr_over_1ms));
	document_put(object, "wakeups", json_object_new_int64((int64_t)latency->nr_wakeups));
	return object;
}

static struct json_object *make_callbacks(const struct profile *profile)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < profile->nr_callbacks; i++) {
		const struct profile_callback *callback = &profile->callbacks[i];
		struct json_object *object = json_object_new_object();

		document_put(object, "callback", make_string(callback->name));
		document_put(object, "is_wait", json_object_new_boolean(callback->is_wait));
		document_put(object, "count", json_object_new_int64(callback->nr));
		document_put(object, "seconds", make_seconds(callback->seconds));
		document_put(object, "longest", make_seconds(callback->longest));
		document_put(object, "longest_cpu", json_object_new_int64(callback->longest_cpu));
		document_append(array, object);
	}
	return array;
}

static struct json_object *make_changes(const struct profile *profile)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < profile->nr_changes; i++) {
		const struct profile_change *change = &profile->changes[i];
		const char *heaviest = profile_heaviest(profile, change);
		struct json_object *object = json_object_new_object();

		document_put(object, "cpu", json_object_new_int64(change->cpu));
		document_put(object, "online", json_object_new_boolean(change->online));
		document_put(object, "seconds", make_seconds(change->end - change->begin));
		document_put(object, "in_callbacks", make_seconds(change->in_callbacks));
		document_put(object, "heaviest", heaviest ? make_string(heaviest) : NULL);
		document_append(array, object);
	}
	return array;
}

static struct json_object *make_profile(const struct profile *profile)
{
	struct json_object *object = json_object_new_object(), *steps = json_object_new_array();
	double seconds, in_callbacks;

	profile_sum(profile, &seconds, &in_callbacks);
	document_put(object, "traced", json_object_new_boolean(profile->is_traced));
	document_put(object, "lost_events", json_object_new_int64((int64_t)profile->nr_lost));
	document_put(object, "left_out", json_object_new_int64((int64_t)profile->nr_left_out));
	document_put(object, "seconds", make_seconds(seconds));
	document_put(object, "in_callbacks", make_seconds(in_callbacks));
	document_put(object, "outside", make_seconds(seconds - in_callbacks));
	document_put(object, "callbacks", make_callbacks(profile));
	document_put(object, "changes", make_changes(profile));
	for (size_t i = 0; i < profile->nr_steps; i++) {
		const struct profile_step *step = &profile->steps[i];
		struct json_object *entry = json_object_new_object();

		document_put(entry, "kind", make_string(step->kind));
		document_put(entry, "undo", json_object_new_boolean(step->is_undo));
		document_put(entry, "seconds", make_seconds(step->end - step->begin));
		document_append(steps, entry);
	}
	document_put(object, "steps", steps);
	return object;
}

static struct json_object *make_result(const struct report *report)
{
	_cleanup_cpus_ hwloc_bitmap_t changed = hwloc_bitmap_alloc();
	struct json_object *object = json_object_new_object();
	struct json_object *failed = json_object_new_array(), *per_cpu = json_object_new_array();
	bool is_return = report->options->request.action == ACTION_RESTORE;
	double seconds = 0;

	for (size_t i = 0; i < report->nr_runs; i++) {
		const struct run *run = &report->runs[i];

		seconds += run->seconds;
		if (changed)
			hwloc_bitmap_or(changed, changed, run->changed);
		for (size_t j = 0; j < run->operation->nr_steps; j++)
			if (run->operation->steps[j].kind->is_per_cpu)
				add_items(report, run, &run->operation->steps[j], failed, per_cpu);
	}
	document_put(object, "offlined", make_cpus(is_return ? NULL : changed));
	document_put(object, "onlined", make_cpus(is_return ? changed : NULL));
	document_put(object, "failed", failed);
	document_put(object, "seconds", make_seconds(seconds));
	document_put(object, "per_cpu", per_cpu);
	document_put(object, "tasks_moved",
		     json_object_new_int64((int64_t)report_count_tasks_moved(report)));
	document_put(object, "irqs_moved",
		     json_object_new_int64((int64_t)report_count_irqs_moved(report)));
	document_put(object, "latency",
		     report->measurement ? make_latency(report->measurement) : NULL);
	document_put(object, "profile", report->profile ? make_profile(report->profile) : NULL);
	return object;
}

static struct json_object *make_operation(const struct report *report,
					  const struct operation *operation)
{
	_cleanup_cpus_ hwloc_bitmap_t drift = hwloc_bitmap_alloc();
	struct json_object *object = json_object_new_object(), *undo = json_object_new_array();

	if (drift && operation_find_drift(operation, report->machine.online, drift))
		hwloc_bitmap_zero(drift);
	document_put(object, "id", make_string(operation->id));
	document_put(object, "started", make_string(operation->started));
	document_put(object, "command", make_string(operation->command));
	document_put(object, "version", make_string(operation->version));
	document_put(object, "cpus", make_cpus(operation->claim));
	document_put(object, "count", json_object_new_int((int)cpus_count(operation->claim)));
	document_put(object, "drift", make_cpus(drift));
	for (size_t i = 0; i < operation->nr_steps; i++) {
		const struct step *step = &operation->steps[i];
		struct json_object *left;

		if (!step_is_in_force(step))
			continue;
		left = json_object_new_object();
		document_put(left, "kind", make_string(step->kind->name));
		document_put(left, "lifetime", make_string(lifetime_format(step->lifetime)));
		document_put(left, "state", make_string(state_format(step->state)));
		document_append(undo, left);
	}
	document_put(object, "to_undo", undo);
	return object;
}

static struct json_object *make_operations(const struct report *report)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < report->journals.nr; i++)
		document_append(array, make_operation(report, &report->journals.list[i]));
	return array;
}

/* Operations that are done again after a reboot; their CPUs have the numbers of the boot that is
 * named. */
static struct json_object *make_records(const struct report *report)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < report->records.nr; i++) {
		const struct record *record = &report->records.list[i];
		const struct operation *operation = &record->operation;
		struct json_object *object = json_object_new_object();
		bool is_in_force = journals_find(&report->journals, operation->id);

		document_put(object, "id", make_string(operation->id));
		document_put(object, "started", make_string(operation->started));
		document_put(object, "command", make_string(operation->command));
		document_put(object, "version", make_string(operation->version));
		document_put(object, "cpus", make_cpus(operation->claim));
		document_put(object, "count",
			     json_object_new_int((int)cpus_count(operation->claim)));
		document_put(object, "state",
			     make_string(record->state ? record->state
					 : is_in_force ? "in-force"
						       : "dormant"));
		document_append(array, object);
	}
	return array;
}

static void add_blocker(struct json_object *blockers, const char *kind, const char *object,
			const char *message)
{
	struct json_object *blocker = json_object_new_object();

	document_put(blocker, "kind", make_string(kind));
	document_put(blocker, "object", make_string(object));
	document_put(blocker, "message", make_string(message));
	document_append(blockers, blocker);
}

/* Nothing is safe that was not looked at. */
static struct json_object *make_service(const struct report *report)
{
	struct json_object *object = json_object_new_object(), *blockers = json_object_new_array();
	const struct service *service = &report->service;

	for (size_t i = 0; i < service->nr; i++)
		add_blocker(blockers, service->list[i].kind, service->list[i].object,
			    service->list[i].message);
	if (!report->has_service)
		add_blocker(blockers, "not-checked", "memory and devices",
			    "memory and devices were not looked at: whether the hardware can be "
			    "removed is not known");
	document_put(object, "safe_to_remove",
		     json_object_new_boolean(report->has_service && service_is_safe(service)));
	document_put(object, "blockers", blockers);
	return object;
}

static const char *find_operation_id(const struct report *report)
{
	if (report->options->request.dry_run || !report->nr_runs ||
	    report->verdict == VERDICT_ROLLED_BACK)
		return NULL;
	return report->runs[0].operation->id;
}

static struct json_object *make_hooks(const struct report *report)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < report->nr_hooks; i++) {
		const struct hook *hook = &report->hooks[i];
		struct json_object *object = json_object_new_object();

		document_put(object, "hook", make_string(hook->name));
		document_put(object, "state", make_string(hook->state));
		document_put(object, "failure", make_string(hook->failure));
		document_put(object, "seconds", make_seconds(hook->seconds));
		document_append(array, object);
	}
	return array;
}

static void add_change(const struct report *report, struct json_object *document)
{
	document_put(document, "operation", make_string(find_operation_id(report)));
	document_put(document, "target", make_target(report));
	document_put(document, "survivors", make_survivors(report));
	document_put(document, "evacuation", make_string(report->evacuation));
	document_put(document, "method", make_string(report->method));
	document_put(document, "findings", make_findings(&report->findings));
	document_put(document, "steps", make_steps(report));
	document_put(document, "result", make_result(report));
	document_put(document, "service", make_service(report));
	document_put(document, "hooks", make_hooks(report));
	document_put(document, "recorded", json_object_new_boolean(report->is_recorded));
}

/* A selection that only asks. */
static void add_selection(const struct report *report, hwloc_const_bitmap_t cpus,
			  struct json_object *document)
{
	struct json_object *selection = json_object_new_object();

	document_put(selection, "cpus", make_cpus(cpus));
	document_put(selection, "count", json_object_new_int(cpus ? (int)cpus_count(cpus) : 0));
	document_put(selection, "already_offline", make_cpus(report->selection.already_offline));
	document_put(document, "selection", selection);
}

static void add_list(const struct report *report, struct json_object *document)
{
	document_put(document, "findings", make_findings(&report->findings));
	document_put(document, "cpus", list_json(&report->machine));
	if (report->options->request.nr_selectors)
		add_selection(report, report->target, document);
}

char *json_format(const struct report *report)
{
	static const char *const actions[] = {
		[ACTION_OFFLINE] = "offline",	    [ACTION_RESTORE] = "restore",
		[ACTION_STATUS] = "status",	    [ACTION_LIST] = "list",
		[ACTION_LIST_RULES] = "list-rules", [ACTION_SERVICE] = "service",
		[ACTION_PERSIST] = "persist",	    [ACTION_REPORT] = "report",
	};
	const struct request *request = &report->options->request;
	struct json_object *document;
	const char *text;
	char *copy;

	document_begin();
	document = json_object_new_object();
	document_put(document, "api_level", json_object_new_int(JSON_API_LEVEL));
	document_put(document, "action", make_string(actions[request->action]));
	document_put(document, "dry_run", json_object_new_boolean(request->dry_run));
	document_put(document, "verdict", make_string(verdict_format(report->verdict)));
	document_put(document, "exit_status", json_object_new_int(report->exit_status));
	document_put(document, "machine", make_string(report_format_machine(report)));
	if (request->action == ACTION_STATUS) {
		document_put(document, "findings", make_findings(&report->findings));
		document_put(document, "operations", make_operations(report));
		document_put(document, "records", make_records(report));
	} else if (request->action == ACTION_PERSIST) {
		document_put(document, "findings", make_findings(&report->findings));
		document_put(document, "records", make_records(report));
		document_put(document, "result", make_result(report));
	} else if (request->action == ACTION_LIST) {
		add_list(report, document);
	} else if (request->action == ACTION_SERVICE) {
		document_put(document, "findings", make_findings(&report->findings));
		add_selection(report, report->selection.target, document);
		document_put(document, "service", make_service(report));
	} else if (request->action == ACTION_REPORT) {
		add_list(report, document);
		document_put(document, "report", json_object_get(report->bugreport));
	} else if (request->action == ACTION_LIST_RULES) {
		document_put(document, "findings", make_findings(&report->findings));
		document_put(document, "rules", catalogue_json());
	} else {
		add_change(report, document);
	}
	text = document_format(document);
	copy = text ? strdup(text) : NULL;
	json_object_put(document);
	return copy;
}

/* What there is no memory for is left out, in many places: a document that comes out alike twice is
 * whole. It is tried three times, since memory may be free again. */
int json_print(const struct report *report)
{
	_cleanup_free_ char *text = json_format(report);

	for (int i = 0; i < 2; i++) {
		char *again = json_format(report);

		if (text && again && !strcmp(text, again)) {
			free(again);
			puts(text);
			return 0;
		}
		free(text);
		text = again;
	}
	return -ENOMEM;
}
