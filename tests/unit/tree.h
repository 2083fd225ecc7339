/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tree.h - one kind of step on a machine of plain files: eight CPUs, two sockets, a node each */
#pragma once

#include "base/step.h"
#include "temp.h"

struct tree {
	struct machine machine;
	struct request request;
	struct watcher watcher;
	struct findings findings;
	hwloc_bitmap_t target, survivors;
	struct step_env env;
	struct step step;
};

/* Makes the directory with CPUs 0-7, all online; 4-7 are socket 1 and node 1. */
void tree_make(void);

/* Reads the machine, of which @target is to go, and starts a writer. What fails ends the program.
 */
void tree_open(struct tree *tree, const char *target);
void tree_close(struct tree *tree);

/* The functions of @kind, with the state of the step that a run would give it. */
int tree_plan(struct tree *tree, const struct step_kind *kind);
int tree_apply(struct tree *tree);
int tree_undo(struct tree *tree);

/* Reads the machine anew, as a later cpuoff does. */
void tree_read_again(struct tree *tree);

/* The first finding of this rule, or NULL. */
const struct finding *tree_find(const struct tree *tree, const char *rule);

/* The item whose object begins so, or NULL. */
struct item *tree_item(const struct tree *tree, const char *object);

/* The file's text without its end, "" where there is none. Valid until the next call. */
const char *tree_read(const struct tree *tree, const char *name);
