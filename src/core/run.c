/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run.c - the executor: applies the steps of an operation, and undoes them */
#include "core/run.h"

#include <errno.h>

#include "base/profile.h"
#include "host/hotplug.h"
#include "host/writer.h"

/* A first signal means: put back. A second one: stop at once. */
#define SIGNALS_TO_STOP 2

static int save(struct run *run)
{
	int r = journal_save(run->journal);

	if (r)
		run->journal_error = -r;
	return r;
}

static bool must_stop(const struct run *run)
{
	return run->env->stuck || watcher_interrupts(run->env->watcher) >= SIGNALS_TO_STOP;
}

/* ---- applying ---------------------------------------------------------------------------- */

/* What is done CPU by CPU tells so by itself. */
static void report_step(const struct run *run, enum phase phase, const struct step *step)
{
	if (!step->kind->is_per_cpu)
		watcher_progress(run->env->watcher, &(struct progress){
							    .phase = phase,
							    .object = step->kind->name,
						    });
}

static void report_verifying(const struct run *run)
{
	watcher_progress(run->env->watcher, &(struct progress){
						    .phase = PHASE_VERIFYING,
						    .object = "the mask of online CPUs",
					    });
}

static int apply_step(struct run *run, struct step *step)
{
	const struct step_kind *kind = step->kind;
	double begin;
	int r;

	if (watcher_interrupts(run->env->watcher) > run->env->interrupts_allowed)
		return -EINTR;
	step->state = STATE_APPLYING;
	r = save(run);
	if (r) {
		step->state = STATE_PLANNED; /* nothing of it was done */
		return r;
	}
	begin = util_now();
	if (!run->env->is_return)
		report_step(run, PHASE_MOVING, step);
	r = kind->apply(step, run->env);
	profile_add_step(run->env->profile, kind->name, false, begin, util_now());
	step->state = STATE_APPLIED; /* as far as it came: from here on the items tell */
	if (!r && kind->verify)
		r = kind->verify(step, run->env);
	return r ? r : save(run);
}

static int apply_all(struct run *run)
{
	for (size_t i = 0; i < run->operation->nr_steps; i++) {
		struct step *step = &run->operation->steps[i];
		int r = apply_step(run, step);

		if (r) {
			run->failed_step = step;
			run->error = -r;
			return r;
		}
	}
	return 0;
}

/* On the way back they only help: without one of them the CPUs return all the same, more slowly. */
static void apply_helpers(struct run *run)
{
	for (size_t i = 0; i < run->operation->nr_steps; i++) {
		struct step *step = &run->operation->steps[i];

		if (step->state == STATE_PLANNED && step->lifetime == LIFETIME_DURING &&
		    apply_step(run, step))
			continue;
	}
}

/* ---- undoing ----------------------------------------------------------------------------- */

struct step *run_next_to_undo(const struct operation *operation, const struct step *last)
{
	struct step *next = NULL;

	for (size_t i = 0; i < operation->nr_steps; i++) {
		struct step *step = &operation->steps[i];
		unsigned int rank = step->undo_rank;

		if (last && (rank < last->undo_rank || (rank == last->undo_rank && step >= last)))
			continue;
		if (!next || rank <= next->undo_rank)
			next = step;
	}
	return next;
}

static bool cpus_are_back(const struct operation *operation)
{
	for (size_t i = 0; i < operation->nr_steps; i++)
		if (operation->steps[i].kind->is_per_cpu && step_is_in_force(&operation->steps[i]))
			return false;
	return true;
}

static bool is_due(const struct run *run, const struct step *step, enum lifetime longest)
{
	if (!step_is_in_force(step) || step->lifetime > longest)
		return false;
	return step->lifetime == LIFETIME_DURING || step->kind->is_per_cpu ||
	       step->undo_rank < UNDO_RANK_CPUS || cpus_are_back(run->operation);
}

/*
 * The one walk back, over all steps of a lifetime up to @longest. It goes on after a failure: what
 * can be put back is. A journal that cannot be written does not stop it either.
 */
static int undo(struct run *run, enum lifetime longest)
{
	struct step *step = NULL;
	int first_error = 0;

	while ((step = run_next_to_undo(run->operation, step)) && !must_stop(run)) {
		double begin = util_now();
		int r;

		if (!is_due(run, step, longest))
			continue;
		report_step(run, PHASE_GIVING_BACK, step);
		r = step->kind->undo(step, run->env);
		profile_add_step(run->env->profile, step->kind->name, true, begin, util_now());
		if (!step_is_in_force(step))
			step->state = STATE_UNDONE;
		if (!first_error)
			first_error = r;
		save(run);
	}
	run->undo_error = -first_error;
	return first_error;
}

/* ---- the two directions ------------------------------------------------------------------ */

/* CPUs that somebody else has taken are off, but no change of ours. */
static void leave_out_theirs(struct run *run)
{
	for (size_t i = 0; i < run->operation->nr_steps; i++) {
		const struct step *step = &run->operation->steps[i];

		for (size_t j = 0; step->kind->is_per_cpu && j < step->nr_items; j++)
			if (step->items[j].state == STATE_UNDONE)
				hwloc_bitmap_clr(run->changed, (unsigned int)step->items[j].id);
	}
}

static void note_changed(struct run *run, bool online)
{
	static struct online_mask mask;
	unsigned int cpu;

	report_verifying(run);
	if (!online)
		leave_out_theirs(run);
	if (hotplug_read_online(run->env, &mask))
		return;
	cpus_foreach(cpu, run->env->target)
		if (cpus_text_has(mask.text, cpu) != online)
			hwloc_bitmap_clr(run->changed, cpu);
}

static bool may_be_partial(const struct run *run)
{
	return run->env->request->on_error != ON_ERROR_ROLLBACK && !cpus_is_empty(run->changed);
}

/*
 * True where a later restore would need the journal. CPUs that were off before this run, and did
 * not come, are as they were: a journal would make them an operation that there never was.
 */
static bool is_needed(const struct run *run)
{
	for (size_t i = 0; i < run->operation->nr_steps; i++) {
		const struct step *step = &run->operation->steps[i];

		if (step_is_in_force(step) &&
		    (!run->is_adopted || !step->kind->is_per_cpu || run->env->stuck))
			return true;
	}
	return false;
}

/* What is on disk must say what is in force; where nothing is, there must be no journal. */
static enum outcome conclude(struct run *run, enum outcome outcome)
{
	int r;

	if (is_needed(run)) {
		save(run);
		return outcome;
	}
	r = journal_remove(run->journal);
	if (!r || r == -ENOENT)
		return outcome;
	run->journal_error = -r;
	return OUTCOME_FAILED;
}

static enum outcome roll_back(struct run *run, int error)
{
	run->env->is_return = true;
	run->env->interrupts_allowed = SIGNALS_TO_STOP - 1;
	undo(run, LIFETIME_UNTIL_RESTORE);
	note_changed(run, false);
	if (run->env->stuck)
		return conclude(run, OUTCOME_STUCK);
	if (operation_is_in_force(run->operation))
		return conclude(run, OUTCOME_FAILED);
	return conclude(run, error == -ESTALE ? OUTCOME_STALE : OUTCOME_ROLLED_BACK);
}

static bool any_failed(const struct operation *operation)
{
	for (size_t i = 0; i < operation->nr_steps; i++)
		for (size_t j = 0; j < operation->steps[i].nr_items; j++)
			if (operation->steps[i].kind->is_per_cpu &&
			    operation->steps[i].items[j].state == STATE_FAILED)
				return true;
	return false;
}

static enum outcome offline(struct run *run)
{
	int r = apply_all(run);

	/* a signal during the very last write means the same as one before */
	if (!r && watcher_interrupts(run->env->watcher) > run->env->interrupts_allowed)
		r = -EINTR;
	run->was_interrupted = watcher_interrupts(run->env->watcher) > 0;
	note_changed(run, false);
	if (run->env->stuck)
		return conclude(run, OUTCOME_STUCK);
	if (r == -ESTALE || (r && !may_be_partial(run)))
		return roll_back(run, r);
	if (!r && any_failed(run->operation) && cpus_is_empty(run->changed))
		return roll_back(run, -EIO);
	if (undo(run, LIFETIME_DURING))
		return conclude(run, OUTCOME_FAILED);
	return conclude(run, r || any_failed(run->operation) ? OUTCOME_PARTIAL : OUTCOME_DONE);
}

/* What was resolved and judged must still be so: the plan was made from it. */
static bool is_stale(const struct run *run)
{
	static struct online_mask mask;
	const struct machine *machine = run->env->machine;

	if (hotplug_read_online(run->env, &mask))
		return true;
	for (unsigned int cpu = 0; cpu < machine->nr_cpus; cpu++)
		if (machine->cpus[cpu].is_online != cpus_text_has(mask.text, cpu))
			return true;
	return false;
}

enum outcome run_offline(struct run *run)
{
	double start = util_now();
	enum outcome outcome;

	if (is_stale(run))
		return OUTCOME_STALE;
	run->env->interrupts_allowed = 0;
	/* those of the claim that are off already are another operation's */
	hwloc_bitmap_and(run->changed, run->env->target, run->env->machine->online);
	outcome = offline(run);
	run->seconds = util_now() - start;
	return outcome;
}

static enum outcome bring_back(struct run *run)
{
	int r;

	run->env->is_return = true;
	apply_helpers(run);
	r = undo(run, LIFETIME_UNTIL_RESTORE);
	run->was_interrupted = watcher_interrupts(run->env->watcher) > 0;
	note_changed(run, true);
	if (run->env->stuck)
		return conclude(run, OUTCOME_STUCK);
	return conclude(run, r ? OUTCOME_FAILED : OUTCOME_DONE);
}

enum outcome run_return(struct run *run)
{
	double start = util_now();
	enum outcome outcome;

	run->env->interrupts_allowed = 0;
	hwloc_bitmap_copy(run->changed, run->env->target);
	outcome = bring_back(run);
	run->seconds = util_now() - start;
	return outcome;
}
