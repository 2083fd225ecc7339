/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bugreport.c - --report: what somebody else needs to know to find a bug */
#include "config.h"

#include "cli/bugreport.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "cli/list.h"
#include "core/document.h"
#include "core/preflight.h"
#include "host/evacuations.h"
#include "host/kmsg.h"

#define HEAD_LENGTH  4096 /* of a file whose beginning is enough */
#define VALUE_LENGTH 512  /* a longer one tells nothing more */
#define NR_LOG_LINES 20

/* Files of the kernel whose content is a number, a word or a list of CPUs or nodes. */
static const char *const files[] = {
	"proc/sys/kernel/osrelease",
	"proc/sys/kernel/arch",
	"sys/devices/system/cpu/possible",
	"sys/devices/system/cpu/present",
	"sys/devices/system/cpu/online",
	"sys/devices/system/cpu/offline",
	"sys/devices/system/cpu/isolated",
	"sys/devices/system/cpu/nohz_full",
	"sys/devices/system/cpu/kernel_max",
	"sys/devices/system/cpu/smt/control",
	"sys/devices/system/cpu/smt/active",
	"sys/devices/system/node/online",
	"sys/devices/system/node/has_cpu",
	"sys/devices/system/node/has_memory",
	"sys/devices/virtual/workqueue/cpumask",
	"sys/kernel/rcu_expedited",
	"sys/kernel/rcu_normal",
	"sys/kernel/cpu_byteorder",
	"sys/fs/cgroup/cgroup.controllers",
	"sys/fs/cgroup/cgroup.subtree_control",
	"sys/fs/cgroup/cpuset.cpus.effective",
	"sys/fs/cgroup/cpuset.cpus.isolated",
	"proc/irq/default_smp_affinity",
	"proc/sys/kernel/sched_rt_runtime_us",
};

/* Files of which only that they are there is told. */
static const char *const marks[] = {
	"sys/devices/system/cpu/cpu_bulk_remove",
	"sys/devices/system/cpu/cpu0/online",
	"sys/devices/system/cpu/cpu1/hotplug/fail",
	"sys/kernel/tracing/events/cpuhp",
	"sys/kernel/debug/irq",
	"dev/cpuset/tasks",
	"dev/kmsg",
};

/* Parameters of the kernel that are about CPUs; others name disks, hosts and addresses. */
static const char *const parameters[] = {
	"isolcpus",
	"nohz_full",
	"nohz",
	"rcu_nocbs",
	"maxcpus",
	"nr_cpus",
	"possible_cpus",
	"nosmt",
	"nosmp",
	"smt-enabled",
	"irqaffinity",
	"threadirqs",
	"numa",
	"numa_balancing",
	"mitigations",
	"preempt",
	"idle",
	"cpu0_hotplug",
	"cgroup_no_v1",
	"rcupdate.rcu_expedited",
	"rcupdate.rcu_normal",
	"intel_idle.max_cstate",
	"processor.max_cstate",
	"noapic",
	"x2apic_phys",
	"systemd.unified_cgroup_hierarchy",
	"cgroup_disable",
};

/* How lines of the kernel's log begin that are about CPUs which go or come, and name nothing else.
 */
static const char *const beginnings[] = {
	"CPU",
	"smpboot: CPU",
	"smpboot: Booting Node",
	"smpboot: do_boot_cpu",
	"psci: CPU",
	"Booting CPU",
	"IRQ",
	"Cannot set affinity",
	"Error taking CPU",
	"cpuhp",
	"x86/cpu: ",
	"rcu: INFO: ",
	"TDX",
	"processor ",
	"Broke affinity",
};

static struct json_object *make_string(const char *text)
{
	_cleanup_free_ char *shown = util_strdup(text);

	for (char *c = shown; c && *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = ' ';
	if (shown)
		util_make_visible(shown, "");
	return document_make_string(text, shown);
}

/* ---- the kernel and the machine ---------------------------------------------------------- */

static struct json_object *make_files(const struct root *root)
{
	struct json_object *object = json_object_new_object();

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_free_ char *key = util_asprintf("/%s", files[i]), *text = NULL;

		if (key && !root_read(root, &text, "%s", files[i]) && strlen(text) < VALUE_LENGTH)
			document_put(object, key, make_string(text));
	}
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		_cleanup_free_ char *key = util_asprintf("/%s", marks[i]);

		if (key)
			document_put(
				object, key,
				make_string(root_has(root, "%s", marks[i]) ? "present" : "absent"));
	}
	return object;
}

static bool is_parameter(const char *word, size_t length)
{
	size_t name = 0;

	while (name < length && word[name] != '=')
		name++;
	for (size_t i = 0; i < ARRAY_SIZE(parameters); i++)
		if (strlen(parameters[i]) == name && !strncmp(parameters[i], word, name))
			return true;
	return false;
}

static struct json_object *make_parameters(const struct root *root)
{
	struct json_object *array = json_object_new_array();
	_cleanup_free_ char *text = NULL;

	if (root_read(root, &text, "proc/cmdline"))
		return array;
	for (const char *word = text; *word;) {
		size_t length = strcspn(word, " \n");

		if (is_parameter(word, length)) {
			_cleanup_free_ char *parameter = strndup(word, length);

			document_append(array, make_string(parameter));
		}
		word += length + (word[length] != '\0');
	}
	return array;
}

/* The model of the processor, NULL where the kernel names none: its first CPU stands for all. */
static struct json_object *make_processor(const struct root *root)
{
	char text[HEAD_LENGTH], *name;

	if (root_read_head(root, "proc/cpuinfo", text, sizeof(text)))
		return NULL;
	name = strstr(text, "model name");
	name = name ? strchr(name, ':') : NULL;
	if (!name)
		return NULL;
	name += 1 + strspn(name + 1, " ");
	name[strcspn(name, "\n")] = '\0';
	return make_string(name);
}

static struct json_object *make_evacuations(struct session *session, struct report *report)
{
	struct json_object *array = json_object_new_array();
	struct step_env env;

	session_init_env(session, report, &env);
	for (const struct evacuation *const *e = evacuations; *e; e++) {
		struct json_object *object = json_object_new_object();
		char buffer[VALUE_LENGTH];
		const char *why_not = (*e)->why_not(&env, buffer, sizeof(buffer));

		document_put(object, "name", make_string((*e)->name));
		document_put(object, "usable", json_object_new_boolean(!why_not));
		document_append(array, object);
	}
	return array;
}

/* ---- the kernel's log -------------------------------------------------------------------- */

static bool is_about_cpus(const char *line)
{
	/* "CPU: 3 PID: 812 Comm: qemu": what ran there is nobody's business */
	if (strstr(line, "PID") || strstr(line, "Comm"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
		if (!strncmp(line, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
}

/* "LEVEL TEXT" a line; a warning or worse, since all else is no news. */
static bool is_trouble(const char *line)
{
	return line[0] >= '0' && line[0] <= '4' && line[1] == ' ' && is_about_cpus(line + 2);
}

static struct json_object *make_log(const struct root *root)
{
	struct json_object *array = json_object_new_array();
	_cleanup_close_ int fd = kmsg_open_whole(root);
	_cleanup_free_ char *log = fd < 0 ? NULL : kmsg_read(fd);
	size_t nr = 0, left_out;

	for (char *line = log, *end; line && (end = strchr(line, '\n')); line = end + 1)
		nr += is_trouble(line);
	left_out = nr > NR_LOG_LINES ? nr - NR_LOG_LINES : 0;
	for (char *line = log, *end; line && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (!is_trouble(line))
			continue;
		if (left_out)
			left_out--;
		else
			document_append(array, make_string(line + 2));
	}
	return array;
}

/* ---- operations and findings ------------------------------------------------------------- */

static struct json_object *make_step(const struct step *step)
{
	struct json_object *object = json_object_new_object();
	size_t nr_in_force = 0, nr_failed = 0;

	for (size_t i = 0; i < step->nr_items; i++) {
		nr_in_force += item_is_in_force(step, &step->items[i]);
		nr_failed += step->items[i].state == STATE_FAILED;
	}
	document_put(object, "kind", make_string(step->kind->name));
	document_put(object, "lifetime", make_string(lifetime_format(step->lifetime)));
	document_put(object, "state", make_string(state_format(step->state)));
	document_put(object, "items", json_object_new_int64((int64_t)step->nr_items));
	document_put(object, "in_force", json_object_new_int64((int64_t)nr_in_force));
	document_put(object, "failed", json_object_new_int64((int64_t)nr_failed));
	return object;
}

static struct json_object *make_operation(const struct report *report,
					  const struct operation *operation)
{
	struct json_object *object = json_object_new_object(), *steps = json_object_new_array();
	_cleanup_free_ char *cpus = cpus_format(operation->claim), *drifted = NULL;
	_cleanup_cpus_ hwloc_bitmap_t drift = hwloc_bitmap_alloc();

	if (drift && !operation_find_drift(operation, report->machine.online, drift))
		drifted = cpus_format(drift);
	for (size_t i = 0; i < operation->nr_steps; i++)
		document_append(steps, make_step(&operation->steps[i]));
	document_put(object, "id", make_string(operation->id));
	document_put(object, "version", make_string(operation->version));
	document_put(object, "evacuation", make_string(operation->evacuation));
	document_put(object, "cpus", make_string(cpus ? cpus : ""));
	document_put(object, "drift", make_string(drifted ? drifted : ""));
	document_put(object, "steps", steps);
	return object;
}

static struct json_object *make_operations(const struct report *report)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < report->journals.nr; i++)
		document_append(array, make_operation(report, &report->journals.list[i]));
	return array;
}

/* In its own words a finding may name anything: it gets those of its rule. */
static int generalize_findings(struct findings *findings)
{
	for (size_t i = 0; i < findings->nr; i++) {
		struct finding *finding = &findings->list[i];
		const struct rule *rule = NULL;
		char *message;

		while ((rule = preflight_next_rule(rule)) && strcmp(rule->id, finding->rule) != 0)
			continue;
		message = strdup(rule ? rule->what : "");
		if (!message)
			return -ENOMEM;
		free(finding->message);
		finding->message = message;
	}
	return 0;
}

/* ---- the whole --------------------------------------------------------------------------- */

int bugreport_gather(struct session *session, struct report *report)
{
	struct json_object *object = json_object_new_object();
	_cleanup_free_ char *parts = list_format_parts(&report->machine, &report->journals);

	document_put(object, "version", make_string(VERSION));
	document_put(object, "copy", json_object_new_boolean(!root_is_live(session->root)));
	document_put(object, "root", json_object_new_boolean(!geteuid()));
	document_put(object, "processor", make_processor(session->root));
	document_put(object, "topology", make_string(parts));
	document_put(object, "parameters", make_parameters(session->root));
	document_put(object, "files", make_files(session->root));
	document_put(object, "evacuations", make_evacuations(session, report));
	document_put(object, "operations", make_operations(report));
	document_put(object, "log", make_log(session->root));
	report->bugreport = object;
	return generalize_findings(&report->findings);
}

/* ---- text -------------------------------------------------------------------------------- */

static const char *format_value(struct json_object *value)
{
	if (!value)
		return "unknown";
	if (json_object_is_type(value, json_type_boolean))
		return json_object_get_boolean(value) ? "yes" : "no";
	return json_object_get_string(value);
}

/* "name partition, usable yes" */
static char *format_members(struct json_object *object)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	const char *comma = "";

	if (!file)
		return NULL;
	json_object_object_foreach(object, key, value)
	{
		if (json_object_is_type(value, json_type_array))
			continue;
		fprintf(file, "%s%s %s", comma, key, format_value(value));
		comma = ", ";
	}
	return fclose(file) ? NULL : steal_pointer(&text);
}

static void print_array(const struct layout *layout, const char *title, struct json_object *array);

static void print_element(const struct layout *layout, struct json_object *element)
{
	_cleanup_free_ char *text = NULL;

	if (!json_object_is_type(element, json_type_object)) {
		layout_print(layout, STYLE_PLAIN, "  ");
		layout_sentence(layout, STYLE_PLAIN, 2, 4, format_value(element));
		return;
	}
	text = format_members(element);
	layout_print(layout, STYLE_PLAIN, "  ");
	layout_sentence(layout, STYLE_PLAIN, 2, 4, text ? text : "?");
	json_object_object_foreach(element, key, value)
	{
		if (json_object_is_type(value, json_type_array))
			print_array(layout, key, value);
	}
}

static void print_array(const struct layout *layout, const char *title, struct json_object *array)
{
	size_t nr = json_object_array_length(array);

	layout_print(layout, STYLE_STRONG, "%s", title);
	fprintf(layout->file, "%s\n", nr ? "" : ": none");
	for (size_t i = 0; i < nr; i++)
		print_element(layout, json_object_array_get_idx(array, i));
}

static void print_members(const struct layout *layout, const char *title,
			  struct json_object *object)
{
	layout_print(layout, STYLE_STRONG, "%s", title);
	fputc('\n', layout->file);
	json_object_object_foreach(object, key, value)
		layout_print(layout, STYLE_PLAIN, "  %s: %s\n", key, format_value(value));
}

static void print_findings(const struct layout *layout, const struct report *report)
{
	layout_print(layout, STYLE_STRONG, "findings");
	fprintf(layout->file, "%s\n", report->findings.nr ? "" : ": none");
	for (size_t i = 0; i < report->findings.nr; i++) {
		const struct finding *finding = &report->findings.list[i];

		layout_print(layout, STYLE_PLAIN, "  %s %s%s%s\n",
			     severity_format(finding->severity), finding->rule,
			     finding->cpus[0] ? ", CPUs " : "", finding->cpus);
	}
}

void bugreport_print(const struct layout *layout, const struct report *report)
{
	json_object_object_foreach(report->bugreport, key, value)
	{
		if (json_object_is_type(value, json_type_array))
			print_array(layout, key, value);
		else if (json_object_is_type(value, json_type_object))
			print_members(layout, key, value);
		else
			layout_field(layout, STYLE_PLAIN, key, "%s", format_value(value));
	}
	print_findings(layout, report);
	fputc('\n', layout->file);
	list_print(layout, &report->machine, &report->journals,
		   report->options->request.nr_selectors ? &report->selection : NULL, NULL);
}
