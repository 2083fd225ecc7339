/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session.h - what every action does: read the machine and the journals, judge, lock, run */
#pragma once

#include "base/watcher.h"
#include "cli/report.h"
#include "core/preflight.h"
#include "host/evacuations.h"
#include "host/root.h"
#include "host/state.h"

struct session {
	const struct watcher *watcher;
	struct root *root;
	struct state *state;	  /* NULL where there is no state directory yet */
	struct state *records;	  /* where records are, NULL where there is no such directory yet */
	const char *operation_id; /* that the next operation must have, NULL: a new one */
	bool is_locked;
	int privileges_error; /* why they could not be given up, 0 where they were */
	double last_change;   /* when a CPU was changed last, for the pace of the next operation */
	char *boot_id;
	const char *failed; /* what an error is about that is about no file, NULL otherwise */
};

/*
 * Reads the machine and the journals into @report, anew if called again. Changes nothing. Returns
 * 0; -EINVAL where that is impossible, with the finding that says why; or -errno.
 */
int session_gather(struct session *session, struct report *report) _must_check_;

/*
 * Refuses since a file of the machine cannot be read, with the error @r (negative): the one that
 * failed last with it is named. Returns -EINVAL, with the finding, or -ENOMEM.
 */
int session_refuse_unreadable(const struct session *session, struct report *report,
			      int r) _must_check_;

/* Reads cpusets, too, or cpusets and tasks, for those who will move them. Return as
 * session_gather(). */
int session_gather_cpusets(struct session *session, struct report *report) _must_check_;
int session_gather_work(struct session *session, struct report *report) _must_check_;

/* Reads the machine and its cpusets anew, forgets its tasks, and leaves the journals. Returns 0 or
 * -errno. */
int session_read_again(struct session *session, struct report *report) _must_check_;

/* Reads all tasks where that was not done yet. Returns 0 or -errno. */
int session_read_tasks(struct session *session, struct report *report) _must_check_;

/*
 * Reads the records into report->records, after session_gather(). What is wrong with them is a
 * finding of this @severity. Returns 0 or -errno.
 */
int session_gather_records(struct session *session, struct report *report,
			   enum severity severity) _must_check_;

/*
 * Puts the record of @operation on disk where the request is for one, without its name yet. Returns
 * 0, also where that is refused: look at the findings; or -errno. @ret_record is empty where there
 * is none, and otherwise ended by session_end_record().
 */
int session_begin_record(struct session *session, struct report *report,
			 const struct operation *operation, struct record *ret_record) _must_check_;

/*
 * Makes the record valid for those of its CPUs that are in @kept, by one rename where these are
 * all; with NULL there will be none. Frees it. Returns 0, also where that failed, with a finding
 * and the verdict; or -errno.
 */
int session_end_record(struct session *session, struct report *report, struct record *record,
		       hwloc_const_bitmap_t kept) _must_check_;

/*
 * Chooses the offline method and the way of moving work, after the one that @failed or from the
 * first on, and puts them into @env. Where that is impossible, a finding says why. Returns 0 or
 * -errno.
 */
int session_pick_ways(struct report *report, struct step_env *env,
		      const struct evacuation *failed) _must_check_;

/* Resolves the request's selectors into report->selection. */
int session_resolve(struct session *session, struct report *report) _must_check_;

/*
 * Notes the CPUs of report->target that are off after the runs, and by none of the operations:
 * others took them meanwhile. Returns 0 or -ENOMEM.
 */
int session_note_taken(struct session *session, struct report *report) _must_check_;

/*
 * Judges whether the hardware of the selection can be removed while the CPUs @online run, and puts
 * it into report->service. Returns 0 or -errno.
 */
int session_judge_service(const struct session *session, struct report *report,
			  hwloc_const_bitmap_t online) _must_check_;

/*
 * Runs the rules over report->target, those for CPUs that come back with @is_return; @places are
 * those of CPUs to bring back, with @frees_smt SMT is switched on again before.
 */
int session_judge(const struct session *session, struct report *report, bool is_return,
		  const struct place *places, size_t nr_places, bool frees_smt) _must_check_;

/* Refuses since other CPUs are online than those that it began with. Returns 0 or -ENOMEM. */
int session_refuse_changed(struct report *report) _must_check_;

/* Likewise, where the target is not what was agreed to. */
int session_check_confirmed(struct report *report) _must_check_;

/*
 * Takes the lock where that leaves no trace: while another cpuoff is at work there is nothing to be
 * read off the machine. Returns 0, also where it was not possible; or as session_lock().
 */
int session_lock_early(struct session *session, struct report *report) _must_check_;

/*
 * Takes the lock. Returns 0; 1 where everything must be read again, since others were at work after
 * it was read; REPORT_CONCLUDED; or -errno.
 */
int session_lock(struct session *session, struct report *report) _must_check_;

/* Gives the lock back, for a while in which others may work. */
void session_unlock(struct session *session);

/*
 * Waits until all @cpus are in the machine, and says what for every five seconds: @object. Returns
 * 1, or REPORT_CONCLUDED where a signal came first, or -errno.
 */
int session_wait_present(struct session *session, struct report *report, hwloc_const_bitmap_t cpus,
			 const char *object) _must_check_;

/* An environment for steps on report->target. */
void session_init_env(struct session *session, struct report *report, struct step_env *ret_env);

/* The capabilities for writing that root lacks here, a bit each; none in a dry run, which anybody
 * may ask for. */
uint64_t session_lacking(const struct session *session, const struct report *report);

/* All operations in force but @own. The caller frees the list. */
int session_list_others(const struct journals *journals, const struct operation *own,
			const struct operation ***ret_others, size_t *ret_nr) _must_check_;

/* Makes everything that the run and its way back need, then runs it in @direction. */
int session_execute(struct session *session, struct report *report, struct run *run,
		    enum outcome (*direction)(struct run *),
		    enum outcome *ret_outcome) _must_check_;

/* The watcher stays, and what is known of privileges: it may be used anew. */
void session_close(struct session *session);
