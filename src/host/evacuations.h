/* SPDX-License-Identifier: GPL-2.0-or-later */
/* evacuations.h - the ways of moving work off the target before it goes, the best one first */
#pragma once

#include "base/step.h"

struct evacuation {
	const char *name;

	/* True where tasks are moved by an isolated partition; false: by their masks, or not at
	 * all. */
	bool has_partition;
	bool moves_tasks;

	/*
	 * NULL where it can be used here, else the reason why not. Read off the kernel's files;
	 * nothing is tried. The text is constant, or lives in @buffer.
	 */
	const char *(*why_not)(const struct step_env *env, char *buffer, size_t size);
};

/* The evacuations in the order in which "auto" tries them, ended by NULL. */
extern const struct evacuation *const evacuations[];

/*
 * The evacuation of this name, or for "auto" the first usable one after @failed (NULL: from the
 * first on). Those passed over, with their reasons, become notes in env->findings. Returns 0;
 * -EINVAL where there is none of the name; -EOPNOTSUPP where it cannot be used, with the reason in
 * @why_not.
 */
int evacuations_pick(const char *name, struct step_env *env, const struct evacuation *failed,
		     const struct evacuation **ret_evacuation, char *why_not,
		     size_t size) _must_check_;
