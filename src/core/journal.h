/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * journal.h - an operation on disk: the plan with its progress, in JSON
 *
 * The text is made once, before the first change; afterwards only the states in it are overwritten
 * in place, so that saving it on the way back needs no memory.
 */
#pragma once

#include "base/step.h"
#include "host/state.h"

/* The number of the format that this version writes, and the newest that it reads. */
#define JOURNAL_FORMAT 1

struct journal;

/* Makes the text for @operation, which must not get new steps or items any more. Returns 0 or
 * -errno. */
int journal_new(struct state *state, const struct operation *operation,
		struct journal **ret_journal) _must_check_;
void journal_free(struct journal *journal);

/* Brings the states up to date and writes the whole journal. Allocates nothing. Returns 0 or
 * -errno. */
int journal_save(struct journal *journal) _must_check_;

/* Removes it from the disk, where it is there: everything in it is undone. */
int journal_remove(struct journal *journal) _must_check_;

struct journals {
	struct operation *list; /* of this boot, oldest first */
	size_t nr;
	size_t nr_files;       /* all that are there, also those that were left out */
	struct names unusable; /* ids of those that may be of this boot, and cannot be read */
};

/*
 * Loads all journals. One that is damaged, of a newer format or not safely owned is left out whole
 * and reported in @findings, as a refusal; one of another boot as a note, since its changes ended
 * with that boot. @state may be NULL: no journals. Returns 0 or -errno. The caller frees
 * @ret_journals.
 */
int journal_load_all(const struct state *state, const char *boot_id, struct findings *findings,
		     struct journals *ret_journals) _must_check_;
/* The operation in force of this @id, or NULL. */
struct operation *journals_find(const struct journals *journals, const char *id);
/* True where there is one of this @id that cannot be read: what it claims is unknown. */
bool journals_is_unusable(const struct journals *journals, const char *id);
/* Where @cpu is, by the first journal that knows it; NULL where none does. */
const struct place *journals_find_place(const struct journals *journals, unsigned int cpu);
void journals_free(struct journals *journals);
