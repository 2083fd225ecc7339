/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotplug.c - step kind cpu.offline, and the one way to change a CPU */
#include "host/hotplug.h"

#include <errno.h>
#include <string.h>

#include "base/profile.h"
#include "host/methods.h"
#include "host/root.h"
#include "host/trace.h"
#include "host/writer.h"

#define CPU_DIR "sys/devices/system/cpu"

/* Hotplug is disabled for moments only (PCI probing, suspend): longer than this it is something
 * else. */
#define BUSY_SECONDS	   10.0
#define BUSY_FIRST_PAUSE   0.05
#define BUSY_LONGEST_PAUSE 1.0

/* How long a signal waits for somebody to look, in a pause between two CPUs. */
#define PACE_LOOK 0.05

/* ---- reading ----------------------------------------------------------------------------- */

static int read_online_files(const struct step_env *env, struct online_mask *ret_mask)
{
	size_t length = 0;

	ret_mask->text[0] = '\0';
	for (unsigned int cpu = 0; cpu < env->machine->nr_cpus; cpu++) {
		char path[64], value[8];
		int r;

		if (!env->machine->cpus[cpu].is_present)
			continue;
		snprintf(path, sizeof(path), CPU_DIR "/cpu%u/online", cpu);
		r = root_read_buffer(env->root, path, value, sizeof(value));
		if (r && r != -ENOENT)
			return r;
		if (!r && !strcmp(value, "0"))
			continue;
		length += (size_t)snprintf(ret_mask->text + length, sizeof(ret_mask->text) - length,
					   "%s%u", length ? "," : "", cpu);
		if (length >= sizeof(ret_mask->text))
			return -EFBIG;
	}
	return 0;
}

int hotplug_read_online(const struct step_env *env, struct online_mask *ret_mask)
{
	int r = root_read_buffer(env->root, CPU_DIR "/online", ret_mask->text,
				 sizeof(ret_mask->text));

	if (r == -ENOENT)
		r = read_online_files(env, ret_mask);
	ret_mask->is_known = !r;
	if (r)
		ret_mask->text[0] = '\0';
	return r;
}

/* The number of a hotplug state in cpuN/hotplug/FILE, -1 for none. */
static long read_state(const struct step_env *env, unsigned int cpu, const char *file)
{
	char path[64], text[16];
	long state;

	snprintf(path, sizeof(path), CPU_DIR "/cpu%u/hotplug/%s", cpu, file);
	if (root_read_buffer(env->root, path, text, sizeof(text)) ||
	    util_parse_long(text, -1, 100000, &state))
		return -1;
	return state;
}

const struct item *hotplug_find_changing(const struct step_env *env, const struct item *items,
					 size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		unsigned int cpu = (unsigned int)items[i].id;
		long state = read_state(env, cpu, "state");

		if (state >= 0 && state != read_state(env, cpu, "target"))
			return &items[i];
	}
	return NULL;
}

/* Not -1 where a test of the kernel's own has armed a failure. */
static long read_armed_failure(const struct step_env *env, unsigned int cpu)
{
	return read_state(env, cpu, "fail");
}

/* Cuts the next line "173: workqueue:online" off hotplug/states. Returns false after the last. */
static bool next_state(char **rest, long *ret_state, char **ret_name)
{
	char *line;

	while ((line = strsep(rest, "\n"))) {
		char *colon = strchr(line, ':');

		if (!colon)
			continue;
		*ret_state = strtol(line, NULL, 10);
		*ret_name = colon + 1 + strspn(colon + 1, " ");
		return true;
	}
	return false;
}

static void find_state_name(const struct step_env *env, long state, char *name, size_t size)
{
	char states[16384], *rest = states, *found;
	long number;

	if (root_read_buffer(env->root, CPU_DIR "/hotplug/states", states, sizeof(states)))
		return;
	while (next_state(&rest, &number, &found))
		if (number == state) {
			snprintf(name, size, "%s", found);
			return;
		}
}

void hotplug_find_state(const struct step_env *env, const char *name, char *number, size_t size)
{
	char states[16384], *rest = states, *found;
	long state;

	if (root_read_buffer(env->root, CPU_DIR "/hotplug/states", states, sizeof(states)))
		return;
	while (next_state(&rest, &state, &found))
		if (!strcmp(found, name)) {
			snprintf(number, size, "%ld", state);
			return;
		}
}

/* ---- one CPU ----------------------------------------------------------------------------- */

/*
 * Callbacks that answer EBUSY for what ten seconds do not change: deadline tasks and partitions
 * (kernel/sched/core.c), the CPU that keeps the time (kernel/time/tick-sched.c), guests that need a
 * CPU on each socket, or a processor that does not let KVM in (virt/kvm/kvm_main.c). Those of
 * drivers may wait for something that ends.
 */
static const struct {
	const char *callback; /* how it begins */
	bool online;
} lasting[] = {
	{ "sched_cpu_deactivate", false }, { "tick_nohz_cpu_down", false },
	{ "kvm_offline_cpu", false },	   { "tdx_offline_cpu", false },
	{ "kvm_online_cpu", true },
};

static bool is_lasting(const struct step_env *env, unsigned int cpu, bool online)
{
	char callback[sizeof(((struct item *)0)->callback)];

	if (!trace_failed_callback(env, cpu, callback, sizeof(callback)))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(lasting); i++)
		if (lasting[i].online == online &&
		    !strncmp(callback, lasting[i].callback, strlen(lasting[i].callback)))
			return true;
	return false;
}

/* An injected failure leaves no trace event: that the kernel has disarmed it tells. */
static void name_callback(struct step_env *env, struct item *item, long armed)
{
	unsigned int cpu = (unsigned int)item->id;

	item->callback[0] = '\0';
	if (armed >= 0 && read_armed_failure(env, cpu) < 0)
		find_state_name(env, armed, item->callback, sizeof(item->callback));
	else
		trace_failed_callback(env, cpu, item->callback, sizeof(item->callback));
}

static int set_once(struct step_env *env, struct item *item, bool online,
		    struct online_mask *ret_mask)
{
	unsigned int cpu = (unsigned int)item->id;
	double begin = util_now();
	char path[64];
	int r, mask_r;

	snprintf(path, sizeof(path), CPU_DIR "/cpu%u/online", cpu);
	ret_mask->is_known = false;
	r = writer_set_cpu(env, item, path, online ? "1" : "0", &item->seconds);
	profile_add_change(env->profile, cpu, online, begin, util_now());
	if (r == -ETIMEDOUT && writer_is_stuck(env->writer))
		return r;
	mask_r = hotplug_read_online(env, ret_mask);
	if (mask_r)
		return mask_r;
	if (cpus_text_has(ret_mask->text, cpu) == online)
		return 0;
	return r ? r : -EPROTO;
}

/* Returns false once the time for retries is over, or somebody wants to stop. */
static bool pause_before_retry(struct step_env *env, double start, double *pause)
{
	if (util_now() - start + *pause > BUSY_SECONDS ||
	    watcher_interrupts(env->watcher) > env->interrupts_allowed)
		return false;
	util_sleep(*pause);
	*pause = *pause * 2 < BUSY_LONGEST_PAUSE ? *pause * 2 : BUSY_LONGEST_PAUSE;
	return true;
}

/*
 * Who refuses shows only in a trace of it, so the first failure is tried once more with one. Not
 * an armed one, which strikes once and is told otherwise, nor EAGAIN at all: that would hide it.
 */
static bool is_to_trace(struct step_env *env, long armed, const struct online_mask *mask)
{
	return armed < 0 && mask->is_known &&
	       watcher_interrupts(env->watcher) <= env->interrupts_allowed && trace_begin(env);
}

/* The kernel let it come, and it is off: somebody has taken it since, and is not to be overruled.
 */
static bool was_taken(int r, bool online)
{
	return r == -EPROTO && online;
}

int hotplug_set(struct step_env *env, struct item *item, bool online, struct online_mask *ret_mask)
{
	long armed = read_armed_failure(env, (unsigned int)item->id);
	double start = util_now(), pause = BUSY_FIRST_PAUSE;
	int r = set_once(env, item, online, ret_mask);

	if (r && r != -EAGAIN && !was_taken(r, online) && is_to_trace(env, armed, ret_mask))
		r = set_once(env, item, online, ret_mask);
	while (r == -EBUSY && !is_lasting(env, (unsigned int)item->id, online) &&
	       pause_before_retry(env, start, &pause))
		r = set_once(env, item, online, ret_mask);
	env->last_change = util_now();
	item->error = -r;
	if (r)
		name_callback(env, item, armed);
	return r;
}

/* After a signal somebody waits for the end: it ends this pause, and there is no other one. */
void hotplug_pace(const struct step_env *env)
{
	double left = env->last_change > 0 ? env->request->pace : 0;

	while (left > 0 && !watcher_interrupts(env->watcher)) {
		left = env->last_change + env->request->pace - util_now();
		if (left > 0)
			util_sleep(left < PACE_LOOK ? left : PACE_LOOK);
	}
}

/* ---- the step kind ----------------------------------------------------------------------- */

static int describe(struct step *step, struct step_env *env)
{
	/* Highest number first: the lowest id is the collector of uncore events, and would hand
	 * them on. */
	for (int cpu = hwloc_bitmap_last(env->target); cpu >= 0; cpu--)
		if (hwloc_bitmap_isset(env->target, (unsigned int)cpu) &&
		    !step_add_item(step, (unsigned int)cpu, "1", "0", "cpu %d", cpu))
			return -ENOMEM;
	return 0;
}

static int apply(struct step *step, struct step_env *env)
{
	return env->method->take(step, env);
}

static int verify(struct step *step, struct step_env *env)
{
	static struct online_mask mask;
	int r = hotplug_read_online(env, &mask);

	for (size_t i = 0; !r && i < step->nr_items; i++)
		if (step->items[i].state == STATE_APPLIED &&
		    cpus_text_has(mask.text, (unsigned int)step->items[i].id)) {
			step->items[i].error = EPROTO;
			r = -EPROTO;
		}
	return r;
}

/* Another operation may want it off as well, and something else may have brought it back. */
static bool is_to_return(const struct step *step, const struct item *item,
			 const struct step_env *env, const struct online_mask *mask)
{
	unsigned int cpu = (unsigned int)item->id;

	return item_is_in_force(step, item) && hwloc_bitmap_isset(env->target, cpu) &&
	       !env_is_claimed(env, cpu) && !cpus_text_has(mask->text, cpu);
}

static void report_return(const struct step_env *env, const struct item *item, size_t done,
			  size_t total)
{
	watcher_progress(env->watcher, &(struct progress){
					       .phase = PHASE_RETURNING,
					       .object = item->object,
					       .done = done,
					       .total = total,
				       });
}

struct returning {
	struct online_mask *mask;
	size_t done, total;
	int first_error;
};

/* The first threads of all cores come before the others: work is back where it runs best. */
static bool is_first_thread(const struct step_env *env, unsigned int cpu)
{
	const struct place *place = env->own ? operation_find_place(env->own, cpu) : NULL;

	return !place || !place->thread;
}

static void return_item(struct step *step, struct step_env *env, struct item *item,
			struct returning *returning)
{
	int r = 0;

	if (is_to_return(step, item, env, returning->mask)) {
		report_return(env, item, returning->done, returning->total);
		r = hotplug_set(env, item, true, returning->mask);
		if (++returning->done == returning->total)
			report_return(env, item, returning->done, returning->total);
	}
	item->error = -r;
	if (!r)
		item->state = STATE_UNDONE;
	else if (!returning->first_error)
		returning->first_error = r;
	if (writer_is_stuck(env->writer))
		env->stuck = step;
}

/* Lowest number first, the items being sorted the other way. Returns false where it was
 * interrupted. */
static bool return_items(struct step *step, struct step_env *env, bool first_threads,
			 struct returning *returning)
{
	for (size_t i = step->nr_items; i-- > 0 && !env->stuck;) {
		struct item *item = &step->items[i];
		unsigned int cpu = (unsigned int)item->id;

		if (!item_is_in_force(step, item) || !hwloc_bitmap_isset(env->target, cpu) ||
		    is_first_thread(env, cpu) != first_threads)
			continue;
		if (is_to_return(step, item, env, returning->mask))
			hotplug_pace(env);
		if (watcher_interrupts(env->watcher) > env->interrupts_allowed)
			return false;
		return_item(step, env, item, returning);
	}
	return true;
}

static int undo(struct step *step, struct step_env *env)
{
	static struct online_mask mask;
	struct returning returning = { .mask = &mask };
	int r = hotplug_read_online(env, &mask);

	if (r)
		return r;
	for (size_t i = 0; i < step->nr_items; i++)
		returning.total += is_to_return(step, &step->items[i], env, &mask);
	if ((!return_items(step, env, true, &returning) ||
	     !return_items(step, env, false, &returning)) &&
	    !returning.first_error)
		return -EINTR;
	return returning.first_error;
}

const struct step_kind hotplug_kind = {
	.name = "cpu.offline",
	.undo_rank = UNDO_RANK_CPUS,
	.lifetime = LIFETIME_UNTIL_RESTORE,
	.is_per_cpu = true,
	.describe = describe,
	.apply = apply,
	.verify = verify,
	.undo = undo,
};
