/* SPDX-License-Identifier: GPL-2.0-or-later */
/* smt.c - offline method smt, and step kind smt.control: /sys/devices/system/cpu/smt/control */
#include "host/smt.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "host/root.h"
#include "host/sequential.h"
#include "host/writer.h"

#define CPU_DIR "sys/devices/system/cpu"
#define CONTROL CPU_DIR "/smt/control"

/* The first state on the way up: a CPU that fails there has not been touched. */
#define FIRST_STATE "threads:prepare"

/* ---- what it would take ------------------------------------------------------------------ */

/*
 * The threads that remain in each core if exactly the target goes: 1 for "off", 0 where no value
 * takes exactly the target. The first thread of a core is the one with the lowest number.
 */
static unsigned int find_level(const struct step_env *env)
{
	const struct machine *machine = env->machine;
	unsigned int level = UINT_MAX, cpu;

	cpus_foreach(cpu, env->target) {
		if (!machine_has_cpu(machine, cpu) || !machine->cpus[cpu].siblings)
			return 0;
		if (machine->cpus[cpu].thread < level)
			level = machine->cpus[cpu].thread;
	}
	if (!level || level == UINT_MAX)
		return 0;
	cpus_foreach(cpu, machine->online)
		if ((machine->cpus[cpu].thread >= level) != !!hwloc_bitmap_isset(env->target, cpu))
			return 0;
	return level;
}

/* The threads a core that a numeric value of the control stands for, 0 for words. */
static long read_number(const char *control)
{
	long number;

	return util_parse_long(control, 1, INT_MAX, &number) ? 0 : number;
}

static const char *why_not(const struct step_env *env, char *buffer, size_t size)
{
	_cleanup_cpus_ hwloc_bitmap_t offline = hwloc_bitmap_alloc();
	const char *control = env->machine->smt_control;
	_cleanup_free_ char *list = NULL;
	unsigned int level;

	if (env->is_return)
		return "it only takes CPUs offline";
	if (env->request->pace > 0)
		return "it takes all CPUs at once, without the pauses of --pace";
	if (!control)
		return "this kernel has no /" CONTROL;
	if (strcmp(control, "on") && read_number(control) < 2) {
		snprintf(buffer, size, "/" CONTROL " reads \"%s\"", control);
		return buffer;
	}
	if (!offline)
		return "there is no memory";
	hwloc_bitmap_andnot(offline, env->machine->present, env->machine->online);
	list = cpus_format(offline);
	if (!cpus_is_empty(offline)) {
		snprintf(buffer, size,
			 "other CPUs are offline already (%s), and could not be told from those "
			 "that it takes",
			 list ? list : "");
		return buffer;
	}
	level = find_level(env);
	if (!level)
		return "the selection is not all threads of the machine but the first of each core";
	/* Only a machine that has some of its threads switched off shows that it can have that */
	if (level > 1 && read_number(control) <= (long)level)
		return "this machine is not known to switch off some of the threads of a core";
	return NULL;
}

/* ---- letting them return ----------------------------------------------------------------- */

static void format_fail_path(char *path, size_t size, unsigned int cpu)
{
	snprintf(path, size, CPU_DIR "/cpu%u/hotplug/fail", cpu);
}

/*
 * "on" brings CPUs back one after another until one fails, and stays "on" all the same. It must
 * bring back none, since it would not ask whose they are. So all are made to fail at the first
 * state of their way up, by the kernel's own fault injection, which the first one then does.
 * Returns 0 where all are, or -errno.
 */
static int arm(const struct step_env *env, const struct online_mask *mask, const char *state)
{
	char path[64], armed[16];
	int r = state[0] ? 0 : -ENOENT;

	for (unsigned int cpu = 0; !r && cpu < env->machine->nr_cpus; cpu++) {
		if (!machine_has_cpu(env->machine, cpu) || cpus_text_has(mask->text, cpu))
			continue;
		format_fail_path(path, sizeof(path), cpu);
		r = root_read_buffer(env->root, path, armed, sizeof(armed));
		if (!r && !strcmp(armed, "-1"))
			r = writer_write(env, path, state);
	}
	return r;
}

/* Also what an earlier cpuoff left that was killed in between. */
static int disarm(const struct step_env *env, const char *state)
{
	char path[64], armed[16];
	int first_error = 0;

	for (unsigned int cpu = 0; cpu < env->machine->nr_cpus; cpu++) {
		int r;

		if (!machine_has_cpu(env->machine, cpu))
			continue;
		format_fail_path(path, sizeof(path), cpu);
		r = root_read_buffer(env->root, path, armed, sizeof(armed));
		if (!r && !strcmp(armed, state))
			r = writer_write(env, path, "-1");
		if (!first_error && r != -ENOENT)
			first_error = r;
	}
	return first_error;
}

/* True where all that is offline shall return now: then "on" may bring it back. */
static bool all_return(const struct step_env *env, const struct online_mask *mask)
{
	for (unsigned int cpu = 0; cpu < env->machine->nr_cpus; cpu++)
		if (machine_has_cpu(env->machine, cpu) && !cpus_text_has(mask->text, cpu) &&
		    (!hwloc_bitmap_isset(env->target, cpu) || env_is_claimed(env, cpu)))
			return false;
	return true;
}

/* True where the control is switched off as we would have left it: "1" is an "off" that failed. */
static bool is_ours(const char *control, const struct item *record)
{
	return !strcmp(control, record->after) ||
	       (!strcmp(record->after, "off") && !strcmp(control, "1"));
}

static int switch_on(struct step_env *env, const struct item *record, const char *state)
{
	static struct online_mask mask;
	char control[32];
	int r = hotplug_read_online(env, &mask), write_r;

	if (r)
		return r;
	r = arm(env, &mask, state);
	if (r && !all_return(env, &mask))
		return r;
	write_r = writer_write(env, CONTROL, record->before);
	r = root_read_buffer(env->root, CONTROL, control, sizeof(control));
	if (r || !strcmp(control, record->before))
		return r;
	return write_r ? write_r : -EPROTO;
}

/* Puts the control back without bringing a CPU online. What somebody else has written stays. */
static int release(struct step_env *env, const struct item *record)
{
	char control[32], state[16] = "";
	int r = root_read_buffer(env->root, CONTROL, control, sizeof(control)), disarm_r;

	if (r)
		return r == -ENOENT ? 0 : r;
	hotplug_find_state(env, FIRST_STATE, state, sizeof(state));
	if (is_ours(control, record))
		r = switch_on(env, record, state);
	disarm_r = state[0] ? disarm(env, state) : 0;
	return r ? r : disarm_r;
}

/* ---- taking them ------------------------------------------------------------------------- */

static const struct item *find_record(const struct step_env *env)
{
	for (size_t i = 0; env->own && i < env->own->nr_steps; i++)
		if (env->own->steps[i].kind == &smt_kind && env->own->steps[i].nr_items)
			return &env->own->steps[i].items[0];
	return NULL;
}

/* What is online is still what the value was found for. */
static bool is_exact(const struct step_env *env, const struct online_mask *mask)
{
	for (unsigned int cpu = 0; cpu < env->machine->nr_cpus; cpu++)
		if (env->machine->cpus[cpu].is_online != cpus_text_has(mask->text, cpu))
			return false;
	return true;
}

/*
 * Where a CPU stayed the kernel stopped there. From 6.6 on the control then reads as if fewer
 * threads were meant, and an "off" does nothing any more: that must not remain.
 */
static int leave_trap(struct step_env *env, const struct item *record)
{
	char control[32];
	int r = root_read_buffer(env->root, CONTROL, control, sizeof(control));

	return r || !strcmp(control, record->after) ? r : release(env, record);
}

static int take(struct step *step, struct step_env *env)
{
	static struct online_mask mask;
	const struct item *record = find_record(env);
	int r = sequential_check_unchanged(step, env, &mask);

	if (!r && record && is_exact(env, &mask)) {
		int trap_r = 0;

		r = sequential_take_together(step, env, 0, step->nr_items, CONTROL, record->after,
					     &mask);
		if (!env->stuck)
			trap_r = leave_trap(env, record);
		if (!r)
			r = trap_r;
	}
	return r ? r : sequential_take_rest(step, env, &mask);
}

const struct method smt_method = {
	.name = "smt",
	.why_not = why_not,
	.take = take,
};

/* ---- the step kind ----------------------------------------------------------------------- */

static int describe(struct step *step, struct step_env *env)
{
	unsigned int level;
	char after[16] = "off";

	if (env->is_return || env->method != &smt_method)
		return 0;
	level = find_level(env);
	if (level > 1)
		snprintf(after, sizeof(after), "%u", level);
	return step_add_item(step, 0, env->machine->smt_control, after, "/" CONTROL) ? 0 : -ENOMEM;
}

static int apply(struct step *step, struct step_env *env)
{
	(void)env;
	step->items[0].state = STATE_APPLIED;
	return 0;
}

static int undo_item(const struct step *step, struct step_env *env, const struct item *item)
{
	(void)step;
	return release(env, item);
}

static int undo(struct step *step, struct step_env *env)
{
	return step_undo_items(step, env, false, undo_item);
}

const struct step_kind smt_kind = {
	.name = "smt.control",
	.undo_rank = UNDO_RANK_CPUS - 1,
	.lifetime = LIFETIME_UNTIL_RESTORE,
	.describe = describe,
	.apply = apply,
	.undo = undo,
};
