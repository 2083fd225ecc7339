/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hooks.h - programs of the administrator's: which there are, and running one
 *
 * Only what root, or the caller, alone can have put there is run: the file, its directory and those
 * above it, up to the root, belong to one of them, are writable by nobody else, and are no links.
 */
#pragma once

#include "base/watcher.h"
#include "host/root.h"

/*
 * Lists the executable files of @dir/@when, "pre-offline/10-slurm", in the order of their names;
 * none where there is no such directory. Names of other characters than letters, digits, "_" and
 * "-" are left out, as by run-parts(8), and so are files that cannot be executed, and directories.
 * Returns 0; 1 where something is not safe or cannot be read, with a sentence that names it in
 * @ret_unsafe, which the caller frees; or -ENOMEM. The caller frees @ret_names in any case.
 */
int hooks_list(const struct root *root, const char *dir, const char *when, struct names *ret_names,
	       char **ret_unsafe) _must_check_;

struct hook_run {
	/* in */
	const char *dir;
	const char *name;	  /* as hooks_list() has it */
	char *const *environment; /* all of it, ends with NULL */
	const char *input;	  /* what it has on its standard input */
	double timeout;		  /* seconds */
	const struct watcher *watcher;
	void (*tell)(void *data, const char *name, const char *line); /* a line that it has written,
									 printable */
	void *data;
	/* out */
	double seconds;
	bool was_interrupted; /* by a signal to this process */
	char failure[64];     /* "" or "exit status 3", "signal 9", "no end within 600 s" */
};

/*
 * Runs a hook in a process group of its own, with this environment and no file open but the three,
 * and waits for its end. At the end of its time, or after a signal, its group is killed. Returns 0,
 * also where it failed, or -errno where it could not be tried.
 */
int hooks_run(const struct root *root, struct hook_run *run) _must_check_;
