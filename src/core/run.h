/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * run.h - the executor: applies the steps of an operation, and undoes them
 *
 * Rollback, restore and the end of a run are one walk over the steps by their kinds' undo ranks.
 */
#pragma once

#include "base/step.h"
#include "core/journal.h"

enum outcome {
	OUTCOME_DONE,
	OUTCOME_PARTIAL,     /* some CPUs are off, as --on-error=stop or continue allows */
	OUTCOME_ROLLED_BACK, /* failed or interrupted, and the machine is as before */
	OUTCOME_STALE,	     /* the online set changed since the plan was made; as before */
	OUTCOME_FAILED,	     /* not everything could be put back; the journal holds the rest */
	OUTCOME_STUCK,	     /* the kernel has not answered a write; nothing more was begun */
};

struct run {
	/* in */
	struct operation *operation;
	struct step_env *env;
	struct journal *
		journal; /* of the operation as it is now; run_offline() and run_return() save it */
	bool is_adopted; /* its CPUs were off before, and no operation's: made to bring them back */
	/* out */
	bool was_interrupted;		/* a signal ended it early */
	int journal_error;		/* errno where the journal could not be written */
	int undo_error;			/* errno of the first thing that could not be put back */
	const struct step *failed_step; /* the step that could not be applied, or NULL */
	int error;			/* why, as an errno */
	hwloc_bitmap_t changed; /* CPUs that went offline, or came online; the caller frees it.
				   Before the run: those that shall */
	double seconds;
	char *kernel_log; /* what the kernel wrote meanwhile, as kmsg_read() has it, or NULL; who
			     ran it fills it in, and the caller frees it */
};

/*
 * The step to be undone after @last, or the first with NULL: by undo rank, and those of one rank
 * last applied first. NULL after the last one.
 */
struct step *run_next_to_undo(const struct operation *operation, const struct step *last);

/*
 * Applies all steps, then undoes those that are in force only meanwhile. Where one fails,
 * everything is put back. After the first write nothing is allocated.
 */
enum outcome run_offline(struct run *run);

/*
 * Brings the CPUs of env->target back: applies the planned steps that are in force only meanwhile,
 * undoes the rest. The journal is removed once nothing of the operation is in force; that of an
 * adopted one also where only CPUs did not come, since there is nothing to be put back.
 */
enum outcome run_return(struct run *run);
