/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace.c - step kind trace.instance: a private tracefs instance that records the cpuhp events */
#include "host/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/profile.h"
#include "host/root.h"
#include "host/writer.h"

/* Seen: 50 MB at 32 CPUs, 98 MB at 64. */
#define KIB_PER_CPU 1536UL

/* What the kernel gives the buffer of each CPU, and what it takes for one more CPU to go and come
 * back: most callbacks run on one survivor, and end in its buffer. */
#define BUFFER_KIB	    1408UL
#define BUFFER_KIB_A_CHANGE 8UL

#define INSTANCE "instances/cpuoff"

static const char *find_tracefs(const struct root *root)
{
	static const char *const places[] = { "sys/kernel/tracing", "sys/kernel/debug/tracing" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (root_has(root, "%s/events/cpuhp", places[i]) &&
		    root_has(root, "%s/instances", places[i]))
			return places[i];
	return NULL;
}

static int describe(struct step *step, struct step_env *env)
{
	unsigned long cost = KIB_PER_CPU * cpus_count(env->machine->online);
	const char *tracefs;

	/* there is nothing to trace in a copy of a machine */
	if (!root_is_live(env->root))
		return 0;
	tracefs = find_tracefs(env->root);
	if (!tracefs) {
		if (!findings_add(
			    env->findings, "trace-left-out", SEVERITY_NOTE, NULL,
			    "Mount tracefs on /sys/kernel/tracing to have them.",
			    "tracefs with the cpuhp events is not mounted: a failure will not name "
			    "the kernel callback that refused"))
			return -ENOMEM;
		return 0;
	}
	if (env->machine->memory_free_kib < 10 * cost) {
		if (!findings_add(env->findings, "trace-left-out", SEVERITY_NOTE, NULL, NULL,
				  "a trace would take about %lu MiB and only %lu MiB of memory are "
				  "free: a "
				  "failure will not name the kernel callback that refused",
				  cost >> 10, env->machine->memory_free_kib >> 10))
			return -ENOMEM;
		return 0;
	}
	return step_add_item(step, 0, "absent", "present", "/%s/" INSTANCE, tracefs) ? 0 : -ENOMEM;
}

static int write_setting(const struct step_env *env, const char *instance, const char *file,
			 const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", instance, file);
	return writer_write(env, path, value);
}

/* So that a profile of many CPUs is whole. Where memory is short it stays as it is. */
static void enlarge_buffer(const struct step_env *env, const char *instance)
{
	unsigned long kib = BUFFER_KIB_A_CHANGE * cpus_count(env->target);
	char value[32];

	if (kib <= BUFFER_KIB ||
	    env->machine->memory_free_kib < 10 * kib * cpus_count(env->machine->online))
		return;
	snprintf(value, sizeof(value), "%lu", kib);
	if (write_setting(env, instance, "buffer_size_kb", value))
		return;
}

static int make(const struct step_env *env, const char *instance)
{
	int r = writer_mkdir(env, instance);

	if (r == -EEXIST) /* of a cpuoff that was killed */
		r = write_setting(env, instance, "trace", "");
	if (!r)
		r = write_setting(env, instance, "trace_clock", "mono");
	if (!r && env->profile)
		enlarge_buffer(env, instance);
	return r ? r : write_setting(env, instance, "events/cpuhp/enable", "1");
}

bool trace_begin(struct step_env *env)
{
	if (!env->trace_instance || env->is_tracing)
		return false;
	env->is_tracing = true;
	return !make(env, env->trace_instance);
}

/*
 * The instance may be there from here on, and goes with the others. Where no profile is wanted it
 * is made only when somebody asks: its buffers take the kernel as long as many CPUs do, and most
 * operations never look at them.
 */
static int apply(struct step *step, struct step_env *env)
{
	step->items[0].state = STATE_APPLIED;
	env->trace_instance = step->items[0].object + 1;
	if (env->profile)
		trace_begin(env);
	return 0;
}

static int undo_item(const struct step *step, struct step_env *env, const struct item *item)
{
	int r;

	(void)step;
	trace_read_profile(env);
	env->trace_instance = NULL;
	env->is_tracing = false;
	r = writer_rmdir(env, item->object + 1);
	return r == -ENOENT ? 0 : r;
}

static int undo(struct step *step, struct step_env *env)
{
	return step_undo_items(step, env, false, undo_item);
}

const struct step_kind trace_kind = {
	.name = "trace.instance",
	.undo_rank = 110,
	.lifetime = LIFETIME_DURING,
	.describe = describe,
	.apply = apply,
	.undo = undo,
};

/* ---- reading it -------------------------------------------------------------------------- */

/* One line of the trace. */
struct event {
	unsigned int cpu;
	bool is_enter;
	long step;
	long result;
	double time;
	const char *callback; /* of an enter event, not ended by NUL */
	size_t callback_length;
};

/* The time is the word before the event's name. */
static double parse_time(const char *line, const char *end)
{
	while (end > line && end[-1] != ' ')
		end--;
	return strtod(end, NULL);
}

/* Reads "NAME: cpu: 0015 ... step: 239 (sched_cpu_deactivate)" and "... step: 239 ret: -16". */
static bool parse_event(const char *line, struct event *event)
{
	const char *at = strstr(line, ": cpuhp_"), *value;

	if (!at)
		return false;
	event->time = parse_time(line, at);
	value = strstr(at, "cpu: ");
	if (!value)
		return false;
	event->cpu = (unsigned int)strtoul(value + 5, NULL, 10);
	value = strstr(at, "step: ");
	if (!value)
		return false;
	event->step = strtol(value + 6, NULL, 10);
	event->is_enter = !strstr(at, "cpuhp_exit");
	if (event->is_enter) {
		const char *open = strchr(value, '(');

		if (!open)
			return false;
		event->callback = open + 1;
		event->callback_length = strcspn(open + 1, ") [");
		return true;
	}
	value = strstr(value, "ret: ");
	event->result = value ? strtol(value + 5, NULL, 10) : 0;
	return value;
}

/* How many events the kernel has overwritten: a line of the head has "written: 70/78". */
static void parse_head(const char *line, unsigned long *nr_lost)
{
	const char *counts = strstr(line, "entries-in-buffer/entries-written: ");
	unsigned long in_buffer, written;
	char *end;

	if (line[0] != '#' || !counts)
		return;
	in_buffer = strtoul(strchr(counts, ':') + 1, &end, 10);
	if (*end != '/')
		return;
	written = strtoul(end + 1, NULL, 10);
	*nr_lost += written > in_buffer ? written - in_buffer : 0;
}

/* Walks the trace in pieces of one buffer, so that its size does not matter. */
static bool walk_trace(const struct step_env *env, unsigned long *nr_lost,
		       void (*take)(void *data, const struct event *event), void *data)
{
	_cleanup_close_ int fd = -1;
	char path[128], buffer[8192];
	size_t kept = 0;
	ssize_t n;

	if (!env->trace_instance)
		return false;
	snprintf(path, sizeof(path), "%s/trace", env->trace_instance);
	fd = root_openat(env->root, O_RDONLY, path);
	if (fd < 0)
		return false;
	while ((n = read(fd, buffer + kept, sizeof(buffer) - kept - 1)) > 0) {
		char *line = buffer, *end;
		struct event event;

		buffer[kept + (size_t)n] = '\0';
		while ((end = strchr(line, '\n'))) {
			*end = '\0';
			parse_head(line, nr_lost);
			if (parse_event(line, &event))
				take(data, &event);
			line = end + 1;
		}
		kept = strlen(line);
		memmove(buffer, line, kept + 1);
		if (kept >= sizeof(buffer) - 1)
			kept = 0;
	}
	return true;
}

/* ---- the callback that failed, and the one that runs --------------------------------------- */

struct findings_of_cpu {
	unsigned int cpu;
	char entered[64]; /* the callback entered last, "" once it was left */
	long entered_step;
	char failed[64];
};

static void take_event(void *data, const struct event *event)
{
	struct findings_of_cpu *found = data;

	if (event->cpu != found->cpu)
		return;
	if (event->is_enter) {
		snprintf(found->entered, sizeof(found->entered), "%.*s",
			 (int)event->callback_length, event->callback);
		found->entered_step = event->step;
		return;
	}
	if (event->step != found->entered_step)
		return;
	if (event->result < 0)
		memcpy(found->failed, found->entered, sizeof(found->failed));
	found->entered[0] = '\0';
}

static bool read_trace(const struct step_env *env, unsigned int cpu, struct findings_of_cpu *found)
{
	unsigned long nr_lost = 0;

	*found = (struct findings_of_cpu){ .cpu = cpu, .entered_step = -1 };
	return walk_trace(env, &nr_lost, take_event, found);
}

bool trace_failed_callback(const struct step_env *env, unsigned int cpu, char *callback,
			   size_t size)
{
	struct findings_of_cpu found;

	if (!read_trace(env, cpu, &found) || !found.failed[0])
		return false;
	snprintf(callback, size, "%s", found.failed);
	return true;
}

bool trace_running_callback(const struct step_env *env, unsigned int cpu, char *callback,
			    size_t size)
{
	struct findings_of_cpu found;

	if (!read_trace(env, cpu, &found) || !found.entered[0])
		return false;
	snprintf(callback, size, "%s", found.entered);
	return true;
}

/* ---- the profile ------------------------------------------------------------------------- */

static void profile_event(void *data, const struct event *event)
{
	struct profile *profile = data;

	if (event->is_enter)
		profile_enter(profile, event->cpu, event->step, event->callback,
			      event->callback_length, event->time);
	else
		profile_leave(profile, event->cpu, event->step, event->time);
}

void trace_read_profile(const struct step_env *env)
{
	if (!env->profile || !env->trace_instance)
		return;
	profile_begin_trace(env->profile);
	walk_trace(env, &env->profile->nr_lost, profile_event, env->profile);
}
