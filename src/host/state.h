/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * state.h - the state directory: journals, and the lock
 *
 * The directory and what is in it must belong to root or to the caller and be writable by nobody
 * else, and links are not followed, since what a journal says is done to the machine.
 */
#pragma once

#include <sys/types.h>

#include "host/root.h"

struct state;

/*
 * Opens the state directory @dir, taken below the root. @create makes it, with its parents. Returns
 * 0, -ENOENT, -ELOOP or -ENOTDIR (a link, or no directory), -EPERM (not ours alone) or -errno.
 */
int state_open(const struct root *root, const char *dir, bool create,
	       struct state **ret_state) _must_check_;
/* The same of a directory that is root's alone: it is made with mode 0700, its files with 0600. */
int state_open_private(const struct root *root, const char *dir, bool create,
		       struct state **ret_state) _must_check_;
void state_close(struct state *state);

#define _cleanup_state_ _cleanup_(state_closep)
static inline void state_closep(struct state **state)
{
	state_close(*state);
}

/* The directory's path as opened, for messages. */
const char *state_path(const struct state *state);

/* True where somebody has locked the directory before: state_lock() then makes no new file. */
bool state_has_lock(const struct state *state);

/* True where there is a journal of this @id. */
bool state_has(const struct state *state, const char *id);

/*
 * Takes the lock, without waiting. Two locks make it: one that dies with this process, and one that
 * the writer child inherits, so that nobody starts while a write of a dead cpuoff is still in the
 * kernel. Returns 0; -EAGAIN where another cpuoff runs, -EBUSY where only the writer of a dead one
 * is left, with its pid in @ret_holder (0 if unknown); or -errno. Files that a killed one had begun
 * to write are removed with it.
 */
int state_lock(struct state *state, pid_t *ret_holder) _must_check_;

/* Removes what a cpuoff left that was killed before its file had its name. Only who has the lock
 * may. */
void state_sweep(const struct state *state);

/* Notes the writer child in the lock, for whoever waits. */
void state_note_writer(struct state *state, pid_t pid);

/* The ids of all journals, sorted, oldest first. Returns 0 or -errno. The caller frees list and
 * texts. */
int state_list(const struct state *state, char ***ret_ids, size_t *ret_nr) _must_check_;

/* Reads the journal @id. Returns 0, -EPERM where its owner or mode is wrong, or -errno. */
int state_read(const struct state *state, const char *id, char **ret_text) _must_check_;

/*
 * Replaces the journal @id as a whole: temporary file, fsync, rename. Allocates nothing. Returns 0
 * or -errno, and the old text is still there then.
 */
int state_write(const struct state *state, const char *id, const char *text,
		size_t length) _must_check_;

/*
 * The two halves of state_write(): the text is on disk, synced, under a name that nobody reads; and
 * it takes the place of the old one. state_discard() gives up after the first half.
 */
int state_prepare(const struct state *state, const char *id, const char *text,
		  size_t length) _must_check_;
int state_commit(const struct state *state, const char *id) _must_check_;
void state_discard(const struct state *state, const char *id);

int state_remove(const struct state *state, const char *id) _must_check_;
