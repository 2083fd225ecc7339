/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * persist.h - records: operations that are done again after a reboot, with what their CPUs are
 * known by
 *
 * A record is a file of its own beside those of other operations, in a directory that stays. It is
 * there while the CPUs shall be off, and says nothing of how that is done: each boot plans anew.
 */
#pragma once

#include "base/step.h"
#include "host/identity.h"
#include "host/state.h"

/* The number of the format that this version writes, and the newest that it reads. */
#define RECORD_FORMAT 1

struct record {
	/* id, start, command, the places of its CPUs, and their numbers as the claim, in the boot
	 * of boot_id; no steps */
	struct operation operation;
	struct identity *identities; /* of the CPUs in operation.places */
	char *machine;		     /* the firmware's UUID, "" if unknown */
	const char *state;	     /* what became of it: who deals with it says so; or NULL */
	bool force, allow_cpu0;	     /* what was accepted when it was recorded holds at boot, too */
};

struct records {
	struct record *list; /* oldest first */
	size_t nr;
};

/*
 * Loads all records. One that is damaged, of a newer format or not safely owned is left out whole
 * and reported in @findings with @severity. @state may be NULL: none. Returns 0 or -errno. The
 * caller frees @ret_records.
 */
int persist_load_all(const struct state *state, enum severity severity, struct findings *findings,
		     struct records *ret_records) _must_check_;
void records_free(struct records *records);

struct record *records_find(const struct records *records, const char *id);

/*
 * Makes the record of @operation, whose places are known, while its CPUs are still online and can
 * tell who they are; those that others of @known have taken before are in their records. Returns 0
 * or -ENOMEM. record_free() frees what is in it.
 */
int record_new(const struct root *root, const struct machine *machine, const struct records *known,
	       const struct operation *operation, const struct request *request,
	       struct record *ret_record) _must_check_;
void record_free(struct record *record);

/*
 * Puts the record on disk under a name that nobody reads, so that state_commit() only has to give
 * it the right one. Returns 0 or -errno.
 */
int record_prepare(const struct state *state, const struct record *record) _must_check_;

/* Replaces the record by one of the CPUs in @kept alone, by their numbers; of none: removes it.
 * Returns 0 or -errno. */
int record_keep(const struct state *state, struct record *record,
		hwloc_const_bitmap_t kept) _must_check_;

/*
 * Finds the CPUs of @record in the machine as it is now, whatever their numbers are: among those
 * that are online, and those that others of @known, being of this boot @boot_id, have taken
 * already. Returns 0; 1 where the machine is not the one of the record, with what differs in
 * @ret_difference, which the caller frees; or -ENOMEM. @ret_cpus is whole only with 0, and then the
 * record has the numbers of now.
 */
int record_match(const struct root *root, const struct machine *machine,
		 const struct records *known, const char *boot_id, struct record *record,
		 hwloc_bitmap_t ret_cpus, char **ret_difference) _must_check_;
