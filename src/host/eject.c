/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * eject.c - step kinds cpu.eject and container.eject: offline CPUs are given back to the firmware
 */
#include "host/eject.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "host/hotplug.h"
#include "host/kmsg.h"
#include "host/names.h"
#include "host/root.h"
#include "host/writer.h"

#define CPU_DIR "sys/devices/system/cpu"

/* The kernel ejects in a worker, within milliseconds; firmware may take its time. */
#define EJECT_SECONDS 10.0
#define EJECT_PAUSE   0.02

/* ---- objects of the firmware ------------------------------------------------------------- */

/* "LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/LNXCPU:07": the object of @cpu below sys/devices. */
static int find_object(const struct root *root, unsigned int cpu, char *object, size_t size)
{
	char path[64], link[PATH_MAX];
	const char *at = link;
	int r;

	snprintf(path, sizeof(path), CPU_DIR "/cpu%u/firmware_node", cpu);
	r = root_readlink(root, path, link, sizeof(link));
	if (r)
		return r;
	while (!strncmp(at, "../", 3))
		at += 3;
	snprintf(object, size, "%s", at);
	return 0;
}

static const char *name_of(const char *object)
{
	const char *slash = strrchr(object, '/');

	return slash ? slash + 1 : object;
}

/* ---- CPUs -------------------------------------------------------------------------------- */

static int refuse(struct step_env *env, unsigned int cpu, const char *rule, const char *remedy,
		  const char *message)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();

	if (!cpus || hwloc_bitmap_set(cpus, cpu))
		return -ENOMEM;
	return findings_add(env->findings, rule, SEVERITY_REFUSE, cpus, remedy, "CPU %u %s", cpu,
			    message)
		       ? 0
		       : -ENOMEM;
}

static int describe_cpu(struct step *step, struct step_env *env, unsigned int cpu)
{
	char object[PATH_MAX];

	if (env_is_claimed(env, cpu))
		return refuse(env, cpu, "eject-not-ours",
			      "Restore that operation first, or leave the CPU out with --except.",
			      "cannot be ejected: another operation claims it, too");
	if (!root_has(env->root, CPU_DIR "/cpu%u/firmware_node/eject", cpu) ||
	    find_object(env->root, cpu, object, sizeof(object)))
		return refuse(env, cpu, "eject-impossible",
			      "Leave out --eject: the firmware has no method to remove it.",
			      "cannot be ejected: it has no firmware_node/eject");
	return step_add_item(step, cpu, "present", "ejected", "cpu %u (%s)", cpu, name_of(object))
		       ? 0
		       : -ENOMEM;
}

/* The highest CPU first, as they go offline. */
static int describe_cpus(struct step *step, struct step_env *env)
{
	int r = 0;

	if (env->is_return || !env->request->eject)
		return 0;
	for (unsigned int cpu = env->machine->nr_cpus; !r && cpu-- > 0;)
		if (hwloc_bitmap_isset(env->target, cpu))
			r = describe_cpu(step, env, cpu);
	return r;
}

static bool is_present(const struct step_env *env, unsigned int cpu)
{
	static struct online_mask mask;

	if (root_read_buffer(env->root, CPU_DIR "/present", mask.text, sizeof(mask.text)))
		return root_has(env->root, CPU_DIR "/cpu%u", cpu);
	return cpus_text_has(mask.text, cpu);
}

static double patience(const struct step_env *env)
{
	return env->request->timeout > 0 ? env->request->timeout : EJECT_SECONDS;
}

static int wait_gone(const struct step_env *env,
		     bool (*is_there)(const struct step_env *env, const struct item *item),
		     const struct item *item)
{
	double start = util_now();

	while (is_there(env, item)) {
		if (util_now() - start > patience(env))
			return -ETIMEDOUT;
		util_sleep(EJECT_PAUSE);
	}
	return 0;
}

/* Not an error of the operation as a whole: the CPUs are off, and what stays is said. */
static void fail(struct step_env *env, struct item *item, int r, int log)
{
	const char *object = strrchr(item->object, '('), *line = "";
	_cleanup_free_ char *text = log >= 0 ? kmsg_read(log) : NULL, *name = NULL;
	size_t length = 0;

	object = object ? object + 1 : name_of(item->object);
	name = strndup(object, strcspn(object, ")"));
	if (name)
		length = kmsg_find(text, CPU_NONE, name, &line);
	if (!length)
		length = kmsg_find(text, CPU_NONE, "ject", &line);
	item->state = STATE_FAILED;
	findings_add(env->findings, "eject-failed", SEVERITY_WARN, NULL,
		     "It stays offline. The hardware must not be removed before it is ejected.",
		     "%s was not ejected: %s%s%.*s", item->object,
		     r == -ETIMEDOUT ? "it is still present" : strerror(-r),
		     length ? "; the kernel says: " : "", (int)length, line);
}

static bool is_cpu_there(const struct step_env *env, const struct item *item)
{
	return is_present(env, (unsigned int)item->id);
}

static int eject_cpu(struct step_env *env, const struct item *item)
{
	static struct online_mask mask;
	char path[96];
	int r = hotplug_read_online(env, &mask);

	if (r)
		return r;
	/* the kernel would take it offline by itself, past all that we look after */
	if (cpus_text_has(mask.text, (unsigned int)item->id))
		return -EBUSY;
	snprintf(path, sizeof(path), CPU_DIR "/cpu%llu/firmware_node/eject", item->id);
	r = writer_write(env, path, "1");
	return r ? r : wait_gone(env, is_cpu_there, item);
}

/* What is ejected cannot be put back by us: from the first one on no signal turns this around. */
static int apply_cpus(struct step *step, struct step_env *env)
{
	_cleanup_close_ int log = root_is_live(env->root) ? kmsg_open(env->root) : -1;
	int r = 0;

	for (size_t i = 0; !r && i < step->nr_items; i++) {
		struct item *item = &step->items[i];

		r = eject_cpu(env, item);
		if (r) {
			fail(env, item, r, log);
			continue;
		}
		item->state = STATE_APPLIED;
		env->interrupts_allowed = INT_MAX;
		watcher_progress(env->watcher, &(struct progress){
						       .phase = PHASE_EJECTING,
						       .object = item->object,
						       .done = i + 1,
						       .total = step->nr_items,
					       });
	}
	return 0;
}

static int undo_cpus(struct step *step, struct step_env *env)
{
	int first_error = 0;

	for (size_t i = 0; i < step->nr_items; i++) {
		struct item *item = &step->items[i];

		if (!item_is_in_force(step, item) ||
		    !hwloc_bitmap_isset(env->target, (unsigned int)item->id))
			continue;
		if (is_present(env, (unsigned int)item->id))
			item->state = STATE_UNDONE;
		else if (!first_error)
			first_error = -ENODEV;
	}
	return first_error;
}

const struct step_kind eject_cpus_kind = {
	.name = "cpu.eject",
	.undo_rank = UNDO_RANK_CPUS, /* and as it is applied later, undone before them */
	.lifetime = LIFETIME_UNTIL_RESTORE,
	.is_per_cpu = true,
	.describe = describe_cpus,
	.apply = apply_cpus,
	.undo = undo_cpus,
};

/* ---- what holds them --------------------------------------------------------------------- */

/* True where one of the CPUs of the target is the object @name in @container. */
static bool is_ours(const struct step_env *env, const char *container, const char *name)
{
	size_t length = strlen(container);
	char object[PATH_MAX];
	unsigned int cpu;

	cpus_foreach(cpu, env->target)
		if (!env_is_claimed(env, cpu) &&
		    !find_object(env->root, cpu, object, sizeof(object)) &&
		    !strncmp(object, container, length) && object[length] == '/' &&
		    !strcmp(object + length + 1, name))
			return true;
	return false;
}

/* The first object in @container that is not ours, a copy to be freed, or NULL. */
static int find_stranger(const struct step_env *env, const char *container, char **ret_name)
{
	_cleanup_names_ struct names names = { 0 };
	int r = names_list(env->root, &names, "sys/devices/%s", container);

	*ret_name = NULL;
	for (size_t i = 0; !r && !*ret_name && i < names.nr; i++) {
		/* objects have a path in the firmware's name space, attributes have none */
		if (!root_has(env->root, "sys/devices/%s/%s/path", container, names.list[i]) ||
		    is_ours(env, container, names.list[i]))
			continue;
		*ret_name = strdup(names.list[i]);
		r = *ret_name ? 0 : -ENOMEM;
	}
	return r;
}

static int describe_container(struct step *step, struct step_env *env, const char *container)
{
	_cleanup_free_ char *stranger = NULL;
	int r;

	if (!root_has(env->root, "sys/devices/%s/eject", container))
		return 0;
	for (size_t i = 0; i < step->nr_items; i++)
		if (!strcmp(step->items[i].object, container))
			return 0;
	r = find_stranger(env, container, &stranger);
	if (r)
		return r;
	if (stranger)
		return findings_add(env->findings, "container-stays", SEVERITY_NOTE, NULL, NULL,
				    "%s is not ejected: it also holds %s, which is not of this "
				    "operation",
				    name_of(container), stranger)
			       ? 0
			       : -ENOMEM;
	return step_add_item(step, 0, "present", "ejected", "%s", container) ? 0 : -ENOMEM;
}

static int describe_containers(struct step *step, struct step_env *env)
{
	char object[PATH_MAX], last[PATH_MAX] = "";
	unsigned int cpu;
	int r = 0;

	if (env->is_return || !env->request->eject)
		return 0;
	cpus_foreach(cpu, env->target) {
		char *slash;

		if (find_object(env->root, cpu, object, sizeof(object)))
			continue;
		slash = strrchr(object, '/');
		if (!slash)
			continue;
		*slash = '\0';
		/* neighbours are mostly in one, which is told of once */
		if (!strcmp(object, last))
			continue;
		snprintf(last, sizeof(last), "%s", object);
		r = describe_container(step, env, object);
		if (r)
			break;
	}
	return r;
}

static bool is_container_there(const struct step_env *env, const struct item *item)
{
	char path[PATH_MAX], status[32];

	snprintf(path, sizeof(path), "sys/devices/%s/status", item->object);
	return !root_read_buffer(env->root, path, status, sizeof(status)) && strcmp(status, "0");
}

/* True where one of its CPUs is still there. */
static bool holds_any(const struct step_env *env, const struct item *item)
{
	char object[PATH_MAX];
	size_t length = strlen(item->object);
	unsigned int cpu;

	cpus_foreach(cpu, env->target)
		if (is_present(env, cpu) && !find_object(env->root, cpu, object, sizeof(object)) &&
		    !strncmp(object, item->object, length) && object[length] == '/')
			return true;
	return false;
}

static int apply_containers(struct step *step, struct step_env *env)
{
	_cleanup_close_ int log = root_is_live(env->root) ? kmsg_open(env->root) : -1;

	for (size_t i = 0; i < step->nr_items; i++) {
		struct item *item = &step->items[i];
		char path[PATH_MAX];
		int r = holds_any(env, item) ? -EBUSY : 0;

		snprintf(path, sizeof(path), "sys/devices/%s/eject", item->object);
		if (!r)
			r = writer_write(env, path, "1");
		if (!r)
			r = wait_gone(env, is_container_there, item);
		if (r)
			fail(env, item, r, log);
		else
			item->state = STATE_APPLIED;
	}
	return 0;
}

/* It came back with its CPUs. */
static int undo_container(const struct step *step, struct step_env *env, const struct item *item)
{
	(void)step;
	(void)env;
	(void)item;
	return 0;
}

static int undo_containers(struct step *step, struct step_env *env)
{
	return step_undo_items(step, env, false, undo_container);
}

const struct step_kind eject_containers_kind = {
	.name = "container.eject",
	.undo_rank = UNDO_RANK_CPUS + 1,
	.lifetime = LIFETIME_UNTIL_RESTORE,
	.describe = describe_containers,
	.apply = apply_containers,
	.undo = undo_containers,
};
