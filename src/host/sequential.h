/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sequential.h - offline method sequential: cpuN/online, one CPU after another; and what the other
 * methods share with it
 */
#pragma once

#include "host/hotplug.h"
#include "host/methods.h"

extern const struct method sequential_method;

/*
 * Reads the online mask, as the first thing of a method. A CPU that is off before anything was
 * written is part of this only where another operation holds it already: else -ESTALE.
 */
int sequential_check_unchanged(const struct step *step, const struct step_env *env,
			       struct online_mask *ret_mask) _must_check_;

/*
 * Whether the next write may be made: -EINTR after a signal, -ECANCELED where our partition is no
 * longer in force. The mask is read again: in a pause, or while nobody let us run, others may have
 * taken CPUs.
 */
int sequential_check_next(const struct step_env *env, struct online_mask *ret_mask) _must_check_;

/* True where the CPU of @item is online by @mask and has to go: it has not failed before. */
bool sequential_is_to_go(const struct item *item, const struct online_mask *mask);

/*
 * Takes those of @nr items from @first on that are to go, one after another. The first failure ends
 * it, unless the policy is to go on. @mask is the online mask, before and afterwards; @nr_taken
 * counts.
 */
int sequential_pass(struct step *step, struct step_env *env, size_t first, size_t nr,
		    struct online_mask *mask, size_t *nr_taken) _must_check_;

/* Takes what is online of all items, again as long as somebody brings CPUs back, three times at
 * most. */
int sequential_take_rest(struct step *step, struct step_env *env,
			 struct online_mask *mask) _must_check_;

/*
 * One write of @value to @path that makes the kernel take those of @nr items from @first on that
 * are to go. What it answers says nothing: the online mask does. CPUs that stayed then go one after
 * another, which tells why they stay. Returns what sequential_pass() does, and -ETIMEDOUT where the
 * kernel never answered.
 */
int sequential_take_together(struct step *step, struct step_env *env, size_t first, size_t nr,
			     const char *path, const char *value,
			     struct online_mask *mask) _must_check_;
