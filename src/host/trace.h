/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace.h - step kind trace.instance: a private tracefs instance that records the cpuhp events
 *
 * include/trace/events/cpuhp.h: cpuhp_enter names the callback, cpuhp_exit has its result. The
 * instance is a step of its own, since it outlives whoever made it.
 */
#pragma once

#include "base/step.h"

extern const struct step_kind trace_kind;

/*
 * Makes the instance, once the step is in force: the first CPU that does not go or come back asks
 * for it. Returns true where it records from now on and did not before; a trace is a help, not a
 * condition, and without it a failure is told less well. Allocates nothing that undoing needs.
 */
bool trace_begin(struct step_env *env);

/*
 * The callback that failed last on @cpu, from the trace in force. Allocates nothing that undoing
 * needs. Returns false, @callback untouched, where no trace is in force or it shows no failure.
 */
bool trace_failed_callback(const struct step_env *env, unsigned int cpu, char *callback,
			   size_t size);

/* The callback that @cpu has entered and not left, likewise. */
bool trace_running_callback(const struct step_env *env, unsigned int cpu, char *callback,
			    size_t size);

/*
 * Adds what the trace in force tells to env->profile. Called before the instance is removed;
 * without a profile or a trace it does nothing. Allocates nothing.
 */
void trace_read_profile(const struct step_env *env);
