/* SPDX-License-Identifier: GPL-2.0-or-later */
/* json.c - the JSON document on stdout */
#include "cli/json.h"

#include <errno.h>
#include <string.h>

#include <json-c/json.h>

#include "cli/catalogue.h"
#include "cli/list.h"

static void add(struct json_object *object, const char *key, struct json_object *value)
{
	json_object_object_add(object, key, value);
}

static struct json_object *make_string(const char *text)
{
	_cleanup_free_ char *shown = util_strdup(text);

	if (shown)
		util_make_visible(shown, "\t\n");
	return shown ? json_object_new_string(shown) : NULL;
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

		add(object, "rule", make_string(finding->rule));
		add(object, "severity", make_string(severity_format(finding->severity)));
		add(object, "cpus", make_string(finding->cpus));
		add(object, "message", make_string(finding->message));
		add(object, "remedy", make_string(finding->remedy));
		json_object_array_add(array, object);
	}
	return array;
}

static struct json_object *make_target(const struct report *report)
{
	struct json_object *object = json_object_new_object(), *selectors = json_object_new_array();

	add(object, "cpus", make_cpus(report->target));
	add(object, "count", json_object_new_int((int)cpus_count(report->target)));
	add(object, "already_offline", make_cpus(report->selection.already_offline));
	for (size_t i = 0; i < report->selection.nr_selectors; i++) {
		const struct resolved_selector *resolved = &report->selection.selectors[i];
		struct json_object *selector = json_object_new_object();

		add(selector, "kind", make_string(selector_kind_format(resolved->selector->kind)));
		add(selector, "id", make_string(resolved->selector->text));
		add(selector, "cpus", make_cpus(resolved->cpus));
		json_object_array_add(selectors, selector);
	}
	add(object, "selectors", selectors);
	return object;
}

static struct json_object *make_survivors(const struct report *report)
{
	struct json_object *object = json_object_new_object();

	add(object, "cpus", make_cpus(report->survivors));
	add(object, "count", json_object_new_int((int)cpus_count(report->survivors)));
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

	add(object, "kind", make_string(step->kind->name));
	add(object, "lifetime", make_string(lifetime_format(step->lifetime)));
	add(object, "object", make_string(item->object));
	add(object, "before", make_string(reversed ? item->after : item->before));
	add(object, "after", make_string(reversed ? item->before : item->after));
	add(object, "state",
	    make_string(
		    state_format(report->options->request.dry_run ? STATE_PLANNED : item->state)));
	return object;
}

static void add_step(const struct report *report, const struct run *run, const struct step *step,
		     struct json_object *array)
{
	for (size_t i = 0; i < step->nr_items; i++)
		if (report_shows_item(report, run, step, &step->items[i]))
			json_object_array_add(array, make_item(report, step, &step->items[i]));
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

	add(object, "cpu", json_object_new_int64((int64_t)item->id));
	add(object, "errno", make_string(util_errno_name(item->error)));
	add(object, "callback", item->callback[0] ? make_string(item->callback) : NULL);
	if (!report_explain(report, run, item, &explanation)) {
		add(object, "message", make_string(explanation.message));
		add(object, "kernel_log", make_string(explanation.kernel_log));
		add(object, "cause", make_string(explanation.cause));
		add(object, "remedy", make_string(explanation.remedy));
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
			json_object_array_add(failed, make_failure(report, run, item));
		if (item->seconds <= 0)
			continue;
		object = json_object_new_object();
		add(object, "cpu", json_object_new_int64((int64_t)item->id));
		add(object, "seconds", make_seconds(item->seconds));
		json_object_array_add(per_cpu, object);
	}
}

static struct json_object *make_latency(const struct measurement *measurement)
{
	const struct latency *latency = &measurement->latency;
	struct json_object *object = json_object_new_object();

	add(object, "cpus", make_cpus(measurement->cpus));
	add(object, "realtime", json_object_new_boolean(measurement->is_realtime));
	add(object, "longest", make_seconds((double)latency->longest / 1e9));
	add(object, "percentile_99_9", make_seconds(latency_percentile(latency, 999)));
	add(object, "over_1_ms", json_object_new_int64((int64_t)latency->nr_over_1ms));
	add(object, "wakeups", json_object_new_int64((int64_t)latency->nr_wakeups));
	return object;
}

static struct json_object *make_callbacks(const struct profile *profile)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < profile->nr_callbacks; i++) {
		const struct profile_callback *callback = &profile->callbacks[i];
		struct json_object *object = json_object_new_object();

		add(object, "callback", make_string(callback->name));
		add(object, "is_wait", json_object_new_boolean(callback->is_wait));
		add(object, "count", json_object_new_int64(callback->nr));
		add(object, "seconds", make_seconds(callback->seconds));
		add(object, "longest", make_seconds(callback->longest));
		add(object, "longest_cpu", json_object_new_int64(callback->longest_cpu));
		json_object_array_add(array, object);
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

		add(object, "cpu", json_object_new_int64(change->cpu));
		add(object, "online", json_object_new_boolean(change->online));
		add(object, "seconds", make_seconds(change->end - change->begin));
		add(object, "in_callbacks", make_seconds(change->in_callbacks));
		add(object, "heaviest", heaviest ? make_string(heaviest) : NULL);
		json_object_array_add(array, object);
	}
	return array;
}

static struct json_object *make_profile(const struct profile *profile)
{
	struct json_object *object = json_object_new_object(), *steps = json_object_new_array();
	double seconds, in_callbacks;

	profile_sum(profile, &seconds, &in_callbacks);
	add(object, "traced", json_object_new_boolean(profile->is_traced));
	add(object, "lost_events", json_object_new_int64((int64_t)profile->nr_lost));
	add(object, "left_out", json_object_new_int64((int64_t)profile->nr_left_out));
	add(object, "seconds", make_seconds(seconds));
	add(object, "in_callbacks", make_seconds(in_callbacks));
	add(object, "outside", make_seconds(seconds - in_callbacks));
	add(object, "callbacks", make_callbacks(profile));
	add(object, "changes", make_changes(profile));
	for (size_t i = 0; i < profile->nr_steps; i++) {
		const struct profile_step *step = &profile->steps[i];
		struct json_object *entry = json_object_new_object();

		add(entry, "kind", make_string(step->kind));
		add(entry, "undo", json_object_new_boolean(step->is_undo));
		add(entry, "seconds", make_seconds(step->end - step->begin));
		json_object_array_add(steps, entry);
	}
	add(object, "steps", steps);
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
	add(object, "offlined", make_cpus(is_return ? NULL : changed));
	add(object, "onlined", make_cpus(is_return ? changed : NULL));
	add(object, "failed", failed);
	add(object, "seconds", make_seconds(seconds));
	add(object, "per_cpu", per_cpu);
	add(object, "tasks_moved",
	    json_object_new_int64((int64_t)report_count_tasks_moved(report)));
	add(object, "irqs_moved", json_object_new_int64((int64_t)report_count_irqs_moved(report)));
	add(object, "latency", report->measurement ? make_latency(report->measurement) : NULL);
	add(object, "profile", report->profile ? make_profile(report->profile) : NULL);
	return object;
}

static struct json_object *make_operation(const struct report *report,
					  const struct operation *operation)
{
	_cleanup_cpus_ hwloc_bitmap_t drift = hwloc_bitmap_alloc();
	struct json_object *object = json_object_new_object(), *undo = json_object_new_array();

	if (drift && operation_find_drift(operation, report->machine.online, drift))
		hwloc_bitmap_zero(drift);
	add(object, "id", make_string(operation->id));
	add(object, "started", make_string(operation->started));
	add(object, "command", make_string(operation->command));
	add(object, "version", make_string(operation->version));
	add(object, "cpus", make_cpus(operation->claim));
	add(object, "count", json_object_new_int((int)cpus_count(operation->claim)));
	add(object, "drift", make_cpus(drift));
	for (size_t i = 0; i < operation->nr_steps; i++) {
		const struct step *step = &operation->steps[i];
		struct json_object *left;

		if (!step_is_in_force(step))
			continue;
		left = json_object_new_object();
		add(left, "kind", make_string(step->kind->name));
		add(left, "lifetime", make_string(lifetime_format(step->lifetime)));
		add(left, "state", make_string(state_format(step->state)));
		json_object_array_add(undo, left);
	}
	add(object, "to_undo", undo);
	return object;
}

static struct json_object *make_operations(const struct report *report)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < report->journals.nr; i++)
		json_object_array_add(array, make_operation(report, &report->journals.list[i]));
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

		add(object, "id", make_string(operation->id));
		add(object, "started", make_string(operation->started));
		add(object, "command", make_string(operation->command));
		add(object, "version", make_string(operation->version));
		add(object, "cpus", make_cpus(operation->claim));
		add(object, "count", json_object_new_int((int)cpus_count(operation->claim)));
		add(object, "state",
		    make_string(record->state ? record->state
				: is_in_force ? "in-force"
					      : "dormant"));
		json_object_array_add(array, object);
	}
	return array;
}

static void add_blocker(struct json_object *blockers, const char *kind, const char *object,
			const char *message)
{
	struct json_object *blocker = json_object_new_object();

	add(blocker, "kind", make_string(kind));
	add(blocker, "object", make_string(object));
	add(blocker, "message", make_string(message));
	json_object_array_add(blockers, blocker);
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
	add(object, "safe_to_remove",
	    json_object_new_boolean(report->has_service && service_is_safe(service)));
	add(object, "blockers", blockers);
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

		add(object, "hook", make_string(hook->name));
		add(object, "state", make_string(hook->state));
		add(object, "failure", make_string(hook->failure));
		add(object, "seconds", make_seconds(hook->seconds));
		json_object_array_add(array, object);
	}
	return array;
}

static void add_change(const struct report *report, struct json_object *document)
{
	add(document, "operation", make_string(find_operation_id(report)));
	add(document, "target", make_target(report));
	add(document, "survivors", make_survivors(report));
	add(document, "evacuation", make_string(report->evacuation));
	add(document, "method", make_string(report->method));
	add(document, "findings", make_findings(&report->findings));
	add(document, "steps", make_steps(report));
	add(document, "result", make_result(report));
	add(document, "service", make_service(report));
	add(document, "hooks", make_hooks(report));
	add(document, "recorded", json_object_new_boolean(report->is_recorded));
}

/* A selection that only asks. */
static void add_selection(const struct report *report, hwloc_const_bitmap_t cpus,
			  struct json_object *document)
{
	struct json_object *selection = json_object_new_object();

	add(selection, "cpus", make_cpus(cpus));
	add(selection, "count", json_object_new_int(cpus ? (int)cpus_count(cpus) : 0));
	add(selection, "already_offline", make_cpus(report->selection.already_offline));
	add(document, "selection", selection);
}

static void add_list(const struct report *report, struct json_object *document)
{
	add(document, "findings", make_findings(&report->findings));
	add(document, "cpus", list_json(&report->machine));
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
	struct json_object *document = json_object_new_object();
	const char *text;
	char *copy;

	add(document, "api_level", json_object_new_int(JSON_API_LEVEL));
	add(document, "action", make_string(actions[request->action]));
	add(document, "dry_run", json_object_new_boolean(request->dry_run));
	add(document, "verdict", make_string(verdict_format(report->verdict)));
	add(document, "exit_status", json_object_new_int(report->exit_status));
	add(document, "machine", make_string(report_format_machine(report)));
	if (request->action == ACTION_STATUS) {
		add(document, "findings", make_findings(&report->findings));
		add(document, "operations", make_operations(report));
		add(document, "records", make_records(report));
	} else if (request->action == ACTION_PERSIST) {
		add(document, "findings", make_findings(&report->findings));
		add(document, "records", make_records(report));
		add(document, "result", make_result(report));
	} else if (request->action == ACTION_LIST) {
		add_list(report, document);
	} else if (request->action == ACTION_SERVICE) {
		add(document, "findings", make_findings(&report->findings));
		add_selection(report, report->selection.target, document);
		add(document, "service", make_service(report));
	} else if (request->action == ACTION_REPORT) {
		add_list(report, document);
		add(document, "report", json_object_get(report->bugreport));
	} else if (request->action == ACTION_LIST_RULES) {
		add(document, "findings", make_findings(&report->findings));
		add(document, "rules", catalogue_json());
	} else {
		add_change(report, document);
	}
	text = json_object_to_json_string_ext(document, JSON_C_TO_STRING_PRETTY |
								JSON_C_TO_STRING_SPACED |
								JSON_C_TO_STRING_NOSLASHESCAPE);
	copy = text ? strdup(text) : NULL;
	json_object_put(document);
	return copy;
}

int json_print(const struct report *report)
{
	_cleanup_free_ char *text = json_format(report);

	if (!text)
		return -ENOMEM;
	puts(text);
	return 0;
}
