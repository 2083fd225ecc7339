/* SPDX-License-Identifier: GPL-2.0-or-later */
/* methods.h - the offline methods: ways of making the kernel take a set of CPUs, first usable one
 * first */
#pragma once

#include "base/step.h"

struct method {
	const char *name;

	/*
	 * NULL where the method can be used here, else the reason why not: a sentence without its
	 * subject, constant or in @buffer. Read off the machine; nothing is tried.
	 */
	const char *(*why_not)(const struct step_env *env, char *buffer, size_t size);

	/*
	 * Takes the CPUs of all items of @step offline, as step_kind.apply() does, also ones that
	 * somebody brings back meanwhile. -ESTALE: the online set is no longer the one that was
	 * resolved, and nothing was written.
	 */
	int (*take)(struct step *step, struct step_env *env);
};

/* The methods in the order in which "auto" tries them, ended by NULL. */
extern const struct method *const methods[];

/*
 * The method of this name, or for "auto" the first usable one. Returns 0; -EINVAL where there is
 * none of the name; -EOPNOTSUPP where it cannot be used, with the reason in @why_not.
 */
int methods_pick(const char *name, const struct step_env *env, const struct method **ret_method,
		 char *why_not, size_t size) _must_check_;
