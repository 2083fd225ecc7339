/* SPDX-License-Identifier: GPL-2.0-or-later */
/* neighbours.c - other programs that count on CPUs, or bring them back, by the files that they keep
 */
#include "host/neighbours.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include <json-c/json.h>

#include "host/irqbalance.h"
#include "host/names.h"

/* The pid of a running program of this name, 0 for none. A copy has its pid file at most. */
static long find_process(const struct root *root, const struct tasks *tasks, const char *name,
			 const char *pid_file)
{
	for (size_t i = 0; i < tasks->nr; i++)
		if (tasks->list[i].tid == tasks->list[i].pid && !strcmp(tasks->list[i].comm, name))
			return tasks->list[i].pid;
	return !root_is_live(root) && root_has(root, "%s", pid_file) ? 1 : 0;
}

/* ---- files in lines ---------------------------------------------------------------------- */

#define JOINT  '\v'
#define BLANKS " \t\v"

/* Lines that end in a backslash go on in the next one; a mark stays, for who counts lines. */
static void join_lines(char *text)
{
	for (char *at = text; (at = strstr(at, "\\\n"));) {
		at[0] = ' ';
		at[1] = JOINT;
	}
}

/* ---- kubelet ----------------------------------------------------------------------------- */

/* pkg/kubelet/cm/cpumanager/state/checkpoint.go of Kubernetes. */
static int add_cpus(struct json_object *value, const struct machine *machine,
		    hwloc_const_bitmap_t target, const char *name, struct named_list *list)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	const char *text = json_object_get_string(value);
	int r = cpus ? 0 : -ENOMEM;

	if (r || !text || cpus_parse_kernel(text, machine->nr_cpus - 1, cpus))
		return r;
	hwloc_bitmap_and(cpus, cpus, target);
	return cpus_is_empty(cpus) ? 0 : named_add(list, cpus, 0, "%s", name);
}

/* Pods hold containers; in an old version containers stand alone. */
static int add_entries(struct json_object *entries, const struct machine *machine,
		       hwloc_const_bitmap_t target, const char *pod, struct named_list *list)
{
	int r = 0;

	json_object_object_foreach(entries, key, value)
	{
		_cleanup_free_ char *name = util_asprintf("%s%s%s", pod, pod[0] ? "/" : "", key);

		if (!name)
			return -ENOMEM;
		if (!r && json_object_is_type(value, json_type_object) && !pod[0])
			r = add_entries(value, machine, target, name, list);
		else if (!r && json_object_is_type(value, json_type_string))
			r = add_cpus(value, machine, target, name, list);
	}
	return r;
}

static int read_kubelet(const struct root *root, const struct machine *machine,
			hwloc_const_bitmap_t target, struct named_list *kubelet)
{
	_cleanup_free_ char *text = NULL;
	struct json_object *document, *value;
	int r = 0;

	if (root_read(root, &text, "%s", &NEIGHBOURS_KUBELET_FILE[1]))
		return 0;
	document = json_tokener_parse(text);
	if (json_object_is_type(document, json_type_object) &&
	    json_object_object_get_ex(document, "policyName", &value) &&
	    json_object_is_type(value, json_type_string) &&
	    !strcmp(json_object_get_string(value), "static")) {
		if (json_object_object_get_ex(document, "entries", &value) &&
		    json_object_is_type(value, json_type_object))
			r = add_entries(value, machine, target, "", kubelet);
		if (!r && json_object_object_get_ex(document, "defaultCpuSet", &value))
			r = add_cpus(value, machine, target, "the shared pool", kubelet);
	}
	json_object_put(document);
	return r;
}

/* ---- Slurm ------------------------------------------------------------------------------- */

/* The value behind "KEY=" in a line of "KEY=VALUE ..."; letters of either case. NULL for none. */
static char *find_value(char *line, const char *key)
{
	size_t length = strlen(key);

	for (char *at = line; *at; at += strcspn(at, BLANKS)) {
		at += strspn(at, BLANKS);
		if (!strncasecmp(at, key, length) && at[length] == '=')
			return at + length + 1;
	}
	return NULL;
}

/* "node[01-16]" is taken for a name that begins with "node" and goes on in digits. */
static bool is_this_node(const char *names, const char *host)
{
	while (*names && !isspace((unsigned char)*names)) {
		size_t plain = strcspn(names, "[, \t"), domain = strcspn(host, ".");

		if (names[plain] == '[') {
			if (plain < domain && !strncmp(names, host, plain) &&
			    strspn(host + plain, "0123456789") == domain - plain)
				return true;
			names += strcspn(names, "] \t");
			names += *names == ']';
		} else if (plain == domain && !strncmp(names, host, plain)) {
			return true;
		} else {
			names += plain;
		}
		names += *names == ',';
	}
	return false;
}

/* The number behind "KEY=", 0 where there is none. */
static long find_number(char *line, const char *key)
{
	const char *value = find_value(line, key);

	return value ? strtol(value, NULL, 10) : 0;
}

/* What slurm.conf(5) counts where a node has no "CPUs": all hardware threads. */
static long count_line_cpus(char *line)
{
	static const char *const parts[] = { "Boards", "SocketsPerBoard", "Sockets",
					     "CoresPerSocket", "ThreadsPerCore" };
	long nr = find_number(line, "CPUs"), product = 1;
	bool has_any = false;

	if (nr > 0)
		return nr;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		long part = find_number(line, parts[i]);

		has_any |= part > 0;
		product *= part > 0 && part < 10000 ? part : 1;
	}
	return has_any ? product : 0;
}

/* What the line of NodeName=DEFAULT says counts for those after it that say nothing. */
static long count_slurm_cpus(char *text, const char *host)
{
	char *line, *rest = text;
	long otherwise = 0;

	join_lines(text);
	while ((line = strsep(&rest, "\n"))) {
		char *names = find_value(line, "NodeName");
		long nr = names && line[strspn(line, BLANKS)] != '#' ? count_line_cpus(line) : 0;

		if (!names || line[strspn(line, BLANKS)] == '#')
			continue;
		if (!strncasecmp(names, "DEFAULT", 7))
			otherwise = nr ? nr : otherwise;
		else if (is_this_node(names, host))
			return nr ? nr : otherwise;
	}
	return 0;
}

static int read_slurm(const struct root *root, const struct tasks *tasks,
		      struct neighbours *neighbours)
{
	static const char *const files[] = {
		"etc/slurm/slurm.conf",
		"etc/slurm-llnl/slurm.conf",
		"run/slurm/conf/slurm.conf",
		"var/spool/slurmd/conf-cache/slurm.conf",
	};
	_cleanup_free_ char *host = NULL;

	if (!find_process(root, tasks, "slurmd", "run/slurmd.pid") ||
	    root_read(root, &host, "proc/sys/kernel/hostname"))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_free_ char *text = NULL;

		if (root_read(root, &text, "%s", files[i]))
			continue;
		neighbours->slurm_cpus = count_slurm_cpus(text, host);
		if (neighbours->slurm_cpus <= 0)
			continue;
		neighbours->slurm_file = util_asprintf("/%s", files[i]);
		return neighbours->slurm_file ? 0 : -ENOMEM;
	}
	return 0;
}

/* ---- TuneD ------------------------------------------------------------------------------- */

/* Only profiles that isolate CPUs look after them; the others are of no concern. */
static int read_tuned(const struct root *root, const struct tasks *tasks,
		      struct neighbours *neighbours)
{
	_cleanup_free_ char *profile = NULL;

	if (!find_process(root, tasks, "tuned", "run/tuned/tuned.pid") ||
	    root_read(root, &profile, "etc/tuned/active_profile") ||
	    (!strstr(profile, "cpu-partitioning") && !strstr(profile, "realtime") &&
	     !strstr(profile, "openshift-node-performance")))
		return 0;
	neighbours->tuned_profile = steal_pointer(&profile);
	return 0;
}

/* ---- udev -------------------------------------------------------------------------------- */

/* A program that writes 1 to a file called online: RUN+="/bin/sh -c 'echo 1 > /sys$devpath/online'"
 */
static bool runs_online(const char *line)
{
	const char *run = strstr(line, "RUN");

	return run && strstr(run, "/online") && strchr(run, '1');
}

/* udev(7): "==" compares, "=" writes. */
static bool brings_online(const char *line)
{
	return line[strspn(line, BLANKS)] != '#' && strstr(line, "SUBSYSTEM==\"cpu\"") &&
	       (strstr(line, "ATTR{online}=\"1\"") || runs_online(line));
}

static int read_rules_file(const struct root *root, const char *dir, const char *name,
			   struct named_list *udev)
{
	_cleanup_free_ char *text = NULL;
	char *line, *rest;
	unsigned int nr = 1;
	int r = 0;

	if (root_read(root, &text, "%s/%s", dir, name))
		return 0;
	join_lines(text);
	for (rest = text; !r && (line = strsep(&rest, "\n")); nr++) {
		if (brings_online(line))
			r = named_add(udev, NULL, !strstr(line, "ACTION==\"add\""), "/%s/%s:%u",
				      dir, name, nr);
		for (; (line = strchr(line, JOINT)); line++)
			nr++;
	}
	return r;
}

static bool ends_in(const char *text, const char *end)
{
	size_t length = strlen(text), n = strlen(end);

	return length >= n && !strcmp(text + length - n, end);
}

/* A file hides those of its name in the directories after its own. */
static int read_udev(const struct root *root, struct named_list *udev)
{
	static const char *const dirs[] = { "etc/udev/rules.d", "run/udev/rules.d",
					    "usr/local/lib/udev/rules.d", "usr/lib/udev/rules.d",
					    "lib/udev/rules.d" };
	int r = 0;

	for (size_t i = 0; !r && i < ARRAY_SIZE(dirs); i++) {
		_cleanup_names_ struct names names = { 0 };

		r = names_list(root, &names, "%s", dirs[i]);
		for (size_t n = 0; !r && n < names.nr; n++) {
			bool is_hidden = !ends_in(names.list[n], ".rules");

			for (size_t j = 0; j < i; j++)
				is_hidden |= root_has(root, "%s/%s", dirs[j], names.list[n]);
			if (!is_hidden)
				r = read_rules_file(root, dirs[i], names.list[n], udev);
		}
	}
	return r;
}

/* ------------------------------------------------------------------------------------------ */

int neighbours_read(const struct root *root, const struct machine *machine,
		    const struct tasks *tasks, hwloc_const_bitmap_t target,
		    struct neighbours *ret_neighbours)
{
	long irqbalance;
	int r;

	*ret_neighbours = (struct neighbours){ 0 };
	irqbalance = find_process(root, tasks, "irqbalance", "run/irqbalance.pid");
	if (irqbalance && (!root_is_live(root) || !irqbalance_listens(root, (pid_t)irqbalance)))
		ret_neighbours->irqbalance = irqbalance;
	r = read_kubelet(root, machine, target, &ret_neighbours->kubelet);
	if (!r)
		r = read_slurm(root, tasks, ret_neighbours);
	if (!r)
		r = read_tuned(root, tasks, ret_neighbours);
	if (!r)
		r = read_udev(root, &ret_neighbours->udev);
	if (r)
		neighbours_free(ret_neighbours);
	return r;
}

void neighbours_free(struct neighbours *neighbours)
{
	named_free(&neighbours->kubelet);
	named_free(&neighbours->udev);
	free(neighbours->slurm_file);
	free(neighbours->tuned_profile);
	neighbours->slurm_file = neighbours->tuned_profile = NULL;
}
