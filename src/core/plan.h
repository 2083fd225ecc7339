/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plan.h - from a target to the list of steps: what would be done, in which order, and how it is
 * undone */
#pragma once

#include "base/step.h"
#include "host/state.h"

/*
 * Plans taking env->target offline, through every kind of step, for the operation of which id, boot
 * id, version, start and command are set. Returns 0 or -errno. Changes nothing.
 */
int plan_offline(struct step_env *env, struct operation *operation) _must_check_;

/*
 * Plans the return of env->target: the operation keeps its steps in force, and gets those afresh
 * that are in force only while CPUs change state. Returns 0 or -errno. Changes nothing.
 */
int plan_return(struct step_env *env, struct operation *operation) _must_check_;

/*
 * Looks through what @operation changes, or with env->is_return gives back, for what asks for one
 * of the capabilities that are @lacking, a bit each. On the way out that refuses, unless it is
 * forced: what runs on the CPUs would not get back what it was bound to. On the way back it warns,
 * since CPUs return all the same, and the journal keeps the rest. Changes nothing. Returns 0, also
 * where it refuses: look at the findings; or -ENOMEM.
 */
int plan_check_rights(const struct step_env *env, const struct operation *operation,
		      uint64_t lacking) _must_check_;

/*
 * Makes @operation one that has taken env->target offline, for CPUs that no journal knows. Returns
 * 0 or -errno. Changes nothing.
 */
int plan_adopt(struct step_env *env, struct operation *operation) _must_check_;

/*
 * Sets id, version, start and command. The id is the time, with a number where there is a file of
 * that name already, be it damaged or of a time before the clock was set; either of @journals and
 * @records may be NULL. @boot_id is copied. Returns 0 or -errno.
 */
int plan_identify(struct operation *operation, const char *boot_id, const char *version,
		  const char *command, const struct state *journals,
		  const struct state *records) _must_check_;
