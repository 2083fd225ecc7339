/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * maskfiles.h - files of the kernel that hold one CPU mask in hexadecimal: what several step kinds
 * have in common
 *
 * An item's object is the file's path with the leading slash, before and after are the masks as the
 * kernel writes them. Where before and after are equal nothing is written on the way out: the item
 * is a record, for a mask that a driver rewrites by itself whenever CPUs come and go.
 *
 * Some files are narrowed by what other users of the CPUs have; the kernel then shows what was
 * asked for in FILE_requested (workqueues, seen on 6.12). That is the value to compare with, and to
 * give back.
 */
#pragma once

#include "base/step.h"
#include "host/spread.h"

/* True where two masks name the same CPUs, with whatever zeros and commas. Allocates nothing. */
bool maskfiles_equal(const char *a, const char *b);

/* True where @mask names @cpu. Allocates nothing. */
bool maskfiles_has(const char *mask, unsigned int cpu);

enum maskfiles_rule {
	MASKFILES_NARROW, /* the target leaves any mask; where nothing remains, all survivors take
			     over */
	MASKFILES_MOVE,	  /* only a mask wholly in the target, and not empty, goes to as many
			     survivors */
	MASKFILES_RECORD, /* any mask is kept as a record */
};

/*
 * Adds an item for the file @object to @step where the rule asks for one. A file that is not there,
 * or cannot be read since it has no mask, is passed over. Returns 0 or -errno.
 */
int maskfiles_plan(struct step *step, struct step_env *env, struct spread *spread,
		   const char *object, enum maskfiles_rule rule) _must_check_;

/* The apply() of such kinds: a file that cannot be written is a warning, the operation goes on. */
int maskfiles_apply(struct step *step, struct step_env *env);

/*
 * Their undo(). A mask that is neither ours nor of another operation in force is left alone. Where
 * it would name CPUs that another operation keeps off, that one's mask is put there, and undoing
 * that one gives back the rest: some of these files lose offline CPUs when they are written.
 */
int maskfiles_undo(struct step *step, struct step_env *env);
