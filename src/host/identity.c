/* SPDX-License-Identifier: GPL-2.0-or-later */
/* identity.c - what a CPU is known by over a reboot, whatever its number is then */
#include "host/identity.h"

#include <errno.h>
#include <string.h>

#define CPU_DIR "sys/devices/system/cpu"

/* What tells one model from another, by the architectures' names; speeds and flags may change. */
static const char *const model_keys[] = {
	"vendor_id",	   "cpu family",  "model",    "model name",   "stepping",
	"CPU implementer", "CPU variant", "CPU part", "CPU revision", "cpu",
	"revision",	   "isa",	  "uarch",    "CPU Family",   "Model Name",
};

/* Where the value of @line begins, and in @ret_length how long its key is; NULL for another line.
 */
static const char *split_line(const char *line, size_t *ret_length)
{
	const char *colon = strchr(line, ':');

	if (!colon)
		return NULL;
	*ret_length = (size_t)(colon - line);
	while (*ret_length && strchr(" \t", line[*ret_length - 1]))
		(*ret_length)--;
	return colon + 1 + strspn(colon + 1, " \t");
}

static bool is_model_key(const char *key, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(model_keys); i++)
		if (strlen(model_keys[i]) == length && !strncmp(key, model_keys[i], length))
			return true;
	return false;
}

static int take_models(char *text, hwloc_const_bitmap_t cpus, struct identities *identities)
{
	long cpu = CPU_ID_NONE;
	char *line;
	int r = 0;

	while (!r && (line = strsep(&text, "\n"))) {
		size_t length;
		const char *value = split_line(line, &length);

		if (!value)
			continue;
		if (length == strlen("processor") && !strncmp(line, "processor", length) &&
		    util_parse_long(value, 0, (long)identities->nr - 1, &cpu))
			cpu = CPU_ID_NONE;
		else if (cpu != CPU_ID_NONE && hwloc_bitmap_isset(cpus, (unsigned int)cpu) &&
			 is_model_key(line, length)) {
			char **model = &identities->list[cpu].model;

			*model = util_join(*model, " ", value);
			r = *model ? 0 : -ENOMEM;
		}
	}
	return r;
}

static int read_models(const struct root *root, hwloc_const_bitmap_t cpus,
		       struct identities *identities)
{
	_cleanup_free_ char *text = NULL;
	int r = root_read(root, &text, "proc/cpuinfo");

	if (r)
		return root_is_shortage(r) ? r : 0;
	return take_models(text, cpus, identities);
}

/* The first of the files that holds a number, or CPU_ID_NONE. */
static long read_number(const struct root *root, unsigned int cpu)
{
	long value;

	if (!root_read_long(root, &value, CPU_DIR "/cpu%u/address", cpu) ||
	    !root_read_long(root, &value, CPU_DIR "/cpu%u/physical_id", cpu))
		return value >= 0 ? value : CPU_ID_NONE;
	return CPU_ID_NONE;
}

static int read_text(const struct root *root, char **text, const char *path)
{
	char *value = NULL;
	int r = root_read(root, &value, "%s", path);

	if (r)
		return root_is_shortage(r) ? r : 0;
	free(*text);
	*text = value;
	return 0;
}

static int read_one(const struct root *root, unsigned int cpu, long apicid,
		    struct identity *identity)
{
	char path[64];

	identity->hardware_id = apicid == CPU_ID_NONE ? read_number(root, cpu) : apicid;
	snprintf(path, sizeof(path), CPU_DIR "/cpu%u/topology/ppin", cpu);
	return read_text(root, &identity->serial, path);
}

static int allocate(const struct machine *machine, struct identities *identities)
{
	identities->list = calloc(machine->nr_cpus, sizeof(*identities->list));
	identities->machine = strdup("");
	if (!identities->list || !identities->machine)
		return -ENOMEM;
	identities->nr = machine->nr_cpus;
	for (size_t i = 0; i < identities->nr; i++) {
		struct identity *identity = &identities->list[i];

		*identity = (struct identity){ CPU_ID_NONE, strdup(""), strdup("") };
		if (!identity->model || !identity->serial)
			return -ENOMEM;
	}
	return 0;
}

static int read_all(const struct root *root, const struct machine *machine,
		    hwloc_const_bitmap_t cpus, struct identities *identities)
{
	_cleanup_free_ long *apicids = NULL;
	unsigned int cpu;
	int r = allocate(machine, identities);

	if (!r)
		r = topology_read_apicids(root, machine, &apicids);
	if (!r)
		r = read_models(root, cpus, identities);
	if (!r)
		r = read_text(root, &identities->machine, "sys/class/dmi/id/product_uuid");
	cpus_foreach(cpu, cpus)
		if (!r && cpu < machine->nr_cpus)
			r = read_one(root, cpu, apicids[cpu], &identities->list[cpu]);
	return r;
}

int identities_read(const struct root *root, const struct machine *machine,
		    hwloc_const_bitmap_t cpus, struct identities *ret_identities)
{
	struct identities identities = { 0 };
	int r = read_all(root, machine, cpus, &identities);

	if (r)
		identities_free(&identities);
	else
		*ret_identities = identities;
	return r;
}

void identities_free(struct identities *identities)
{
	for (size_t i = 0; i < identities->nr; i++) {
		free(identities->list[i].model);
		free(identities->list[i].serial);
	}
	free(identities->list);
	free(identities->machine);
	*identities = (struct identities){ 0 };
}
