/* SPDX-License-Identifier: GPL-2.0-or-later */
/* offline.c - the action that takes CPUs offline */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "cli/actions.h"
#include "cli/hooks.h"
#include "core/plan.h"
#include "core/preflight.h"
#include "host/hotplug.h"
#include "host/tasks.h"

/* With --skip-unpluggable, CPUs that the kernel keeps leave the selection. */
static int skip_unpluggable(struct report *report)
{
	_cleanup_cpus_ hwloc_bitmap_t skipped = hwloc_bitmap_alloc();
	_cleanup_free_ char *list = NULL;
	unsigned int cpu;

	if (!skipped)
		return -ENOMEM;
	cpus_foreach(cpu, report->selection.target)
		if (!report->machine.cpus[cpu].has_online_file)
			hwloc_bitmap_set(skipped, cpu);
	hwloc_bitmap_andnot(report->target, report->target, skipped);
	if (cpus_is_empty(skipped))
		return 0;
	list = cpus_format(skipped);
	return list && findings_add(&report->findings, "skipped", SEVERITY_NOTE, skipped,
				    "The hardware must not be removed: these CPUs still use it.",
				    "left online, since the kernel does not let them go: CPU %s",
				    list)
		       ? 0
		       : -ENOMEM;
}

static bool is_partial(const struct report *report)
{
	return !hwloc_bitmap_isequal(report->target, report->selection.target);
}

/* CPUs that are off because of an earlier operation are claimed, too: they stay off until both end.
 */
static int find_claim(const struct report *report, hwloc_bitmap_t claim)
{
	_cleanup_cpus_ hwloc_bitmap_t shared = hwloc_bitmap_alloc();

	if (!shared)
		return -ENOMEM;
	hwloc_bitmap_copy(claim, report->target);
	for (size_t i = 0; i < report->journals.nr; i++) {
		hwloc_bitmap_and(shared, report->selection.already_offline,
				 report->journals.list[i].claim);
		hwloc_bitmap_or(claim, claim, shared);
	}
	return 0;
}

/* What is off for unknown reasons hides who it is: a record without it would be silently too small.
 */
static int refuse_unknown(struct report *report, hwloc_const_bitmap_t claim)
{
	_cleanup_cpus_ hwloc_bitmap_t unknown = hwloc_bitmap_alloc();
	_cleanup_free_ char *list = NULL;

	if (!unknown || hwloc_bitmap_andnot(unknown, report->selection.already_offline, claim) < 0)
		return -ENOMEM;
	if (!report->options->request.persist || cpus_is_empty(unknown))
		return 0;
	list = cpus_format(unknown);
	return list && findings_add(
			       &report->findings, "record-impossible", SEVERITY_REFUSE, unknown,
			       "Bring them online first, with --restore --cpu LIST, or leave "
			       "them out with --except.",
			       "CPUs %s are off already, and no operation knows what they are: "
			       "they cannot be recorded",
			       list)
		       ? 0
		       : -ENOMEM;
}

static int find_target(struct session *session, struct report *report)
{
	int r = session_resolve(session, report);

	if (r)
		return r;
	hwloc_bitmap_copy(report->target, report->selection.target);
	if (report->options->request.skip_unpluggable)
		r = skip_unpluggable(report);
	if (r)
		return r;
	hwloc_bitmap_andnot(report->survivors, report->machine.online, report->target);
	return session_judge(session, report, false, NULL, 0, false);
}

/* All that can go went, or would: @done. CPUs that are off already are claimed, and no change. */
static void conclude_done(struct report *report, enum verdict done)
{
	if (is_partial(report))
		report_conclude(report, VERDICT_PARTIAL, EXIT_PARTIAL);
	else
		report_conclude(report,
				cpus_is_empty(report->target) ? VERDICT_NOTHING_TO_DO : done,
				EXIT_DONE);
}

static void conclude_offline(struct report *report, const struct run *run, enum outcome outcome)
{
	switch (outcome) {
	case OUTCOME_DONE:
		conclude_done(report, VERDICT_DONE);
		break;
	case OUTCOME_PARTIAL:
		report_conclude(report, VERDICT_PARTIAL, EXIT_PARTIAL);
		break;
	case OUTCOME_ROLLED_BACK:
		report_conclude(report, VERDICT_ROLLED_BACK,
				run->was_interrupted ? report_signal_status(EXIT_ROLLED_BACK)
						     : EXIT_ROLLED_BACK);
		break;
	case OUTCOME_STALE:
		report_conclude(report, VERDICT_REFUSED, EXIT_REFUSED);
		break;
	case OUTCOME_FAILED:
		report_conclude(report, VERDICT_FAILED, EXIT_FAILED);
		break;
	case OUTCOME_STUCK:
		report_conclude(report, VERDICT_STUCK, EXIT_FAILED);
		break;
	}
}

/* CPUs of the selection that were off before are nobody's to take, but the part must not be pulled
 * with them. */
static int warn_of_returned(struct report *report, const struct step_env *env)
{
	static struct online_mask mask;
	_cleanup_cpus_ hwloc_bitmap_t returned = hwloc_bitmap_alloc();
	_cleanup_free_ char *list = NULL;
	unsigned int cpu;

	if (!returned)
		return -ENOMEM;
	if (hotplug_read_online(env, &mask))
		return 0;
	cpus_foreach(cpu, report->selection.already_offline)
		if (cpus_text_has(mask.text, cpu))
			hwloc_bitmap_set(returned, cpu);
	if (cpus_is_empty(returned))
		return 0;
	report_conclude(report, VERDICT_PARTIAL, EXIT_PARTIAL);
	list = cpus_format(returned);
	return list && findings_add(&report->findings, "cpu-appeared", SEVERITY_WARN, returned,
				    "Run cpuoff again.",
				    "CPUs %s of the selection were off before and have come online "
				    "meanwhile",
				    list)
		       ? 0
		       : -ENOMEM;
}

/*
 * The CPUs of the claim that are off now, whoever took them: those that stayed are not to be taken
 * at boot.
 */
static int find_kept(const struct step_env *env, const struct run *run, enum outcome outcome,
		     hwloc_bitmap_t ret_kept)
{
	bool is_kept = outcome == OUTCOME_DONE || outcome == OUTCOME_PARTIAL;
	static struct online_mask mask;

	if (hotplug_read_online(env, &mask)) /* then they all are, as far as is known */
		mask.text[0] = '\0';
	for (size_t i = 0; is_kept && i < run->operation->nr_places; i++) {
		unsigned int cpu = run->operation->places[i].cpu;

		if (!cpus_text_has(mask.text, cpu) && hwloc_bitmap_set(ret_kept, cpu))
			return -ENOMEM;
	}
	return 0;
}

static int end_record(struct session *session, struct report *report, const struct step_env *env,
		      const struct run *run, enum outcome outcome, struct record *record)
{
	_cleanup_cpus_ hwloc_bitmap_t kept = hwloc_bitmap_alloc();

	if (!kept || find_kept(env, run, outcome, kept))
		return -ENOMEM;
	return session_end_record(session, report, record, cpus_is_empty(kept) ? NULL : kept);
}

static int run_operation(struct session *session, struct report *report, struct step_env *env,
			 struct operation *operation, struct record *record)
{
	enum outcome outcome = OUTCOME_ROLLED_BACK;
	struct run *run = report_add_run(report, operation);
	int r = run ? 0 : -ENOMEM;

	if (r || report->options->request.dry_run) {
		report->is_recorded = report->options->request.persist;
		conclude_done(report, VERDICT_READY);
		return r;
	}
	/* Its own work must not be pushed around. Where a cpuset forbids that, the kernel moves it.
	 */
	if (root_is_live(session->root) && tasks_move_self(report->survivors))
		env->survivors = report->survivors;
	run->env = env;
	r = session_execute(session, report, run, run_offline, &outcome);
	run->env = NULL;
	if (r) {
		/* where this fails, what was prepared is swept up by the next operation */
		end_record(session, report, env, run, OUTCOME_ROLLED_BACK, record);
		return r;
	}
	conclude_offline(report, run, outcome);
	r = end_record(session, report, env, run, outcome, record);
	if (r && report->options->request.persist)
		report_conclude(report, VERDICT_PARTIAL, EXIT_PARTIAL);
	if (r)
		return r;
	if (outcome == OUTCOME_DONE && warn_of_returned(report, env))
		return -ENOMEM;
	return outcome == OUTCOME_STALE ? session_refuse_changed(report) : 0;
}

static int identify(const struct session *session, const struct report *report,
		    struct operation *operation)
{
	int r = plan_identify(operation, session->boot_id, VERSION, report->options->command,
			      session->state, session->records);

	if (r || !session->operation_id)
		return r;
	free(operation->id);
	operation->id = strdup(session->operation_id);
	return operation->id ? 0 : -ENOMEM;
}

/* Plans for the claim and runs it, or shows it in a dry run. */
static int plan_and_run(struct session *session, struct report *report, struct step_env *env)
{
	struct operation *operation = calloc(1, sizeof(*operation));
	struct record record = { 0 };
	int r = operation ? identify(session, report, operation) : -ENOMEM;

	if (!r)
		r = plan_offline(env, operation);
	if (!r)
		r = plan_check_rights(env, operation, session_lacking(session, report));
	if (!r && !report_is_refused(report))
		r = session_begin_record(session, report, operation, &record);
	if (!r && !report_is_refused(report)) {
		r = run_operation(session, report, env, operation, &record);
		record_free(&record);
		if (report->nr_runs > report->nr_kept_runs)
			return r; /* the report owns it now */
	}
	if (operation)
		operation_free(operation);
	free(operation);
	return r;
}

/* The kernel did not take the way of evacuation, everything was put back, and another way is open.
 */
static bool may_try_another_way(const struct report *report)
{
	const struct run *run =
		report->nr_runs > report->nr_kept_runs ? &report->runs[report->nr_runs - 1] : NULL;

	return run && report->verdict == VERDICT_ROLLED_BACK && !run->was_interrupted &&
	       !strcmp(report->options->request.migrate, "auto") &&
	       ((run->error == EOPNOTSUPP && !run->failed_step->kind->is_per_cpu) ||
		run->error == ECANCELED);
}

/* What was tried has taken its time, and was put back: the next plan is made from what there is
 * now.
 */
static int look_again(struct session *session, struct report *report)
{
	_cleanup_cpus_ hwloc_bitmap_t resolved = hwloc_bitmap_alloc();
	int r = session_read_again(session, report);

	if (!r)
		r = session_read_tasks(session, report);
	if (!resolved || hwloc_bitmap_or(resolved, report->target, report->survivors) < 0)
		return -ENOMEM;
	if (!r && !hwloc_bitmap_isequal(resolved, report->machine.online))
		r = session_refuse_changed(report);
	return r;
}

static int move_and_take(struct session *session, struct report *report, hwloc_const_bitmap_t claim)
{
	const struct evacuation *failed = NULL;
	const struct operation **others;
	size_t nr_others;
	struct step_env env;
	int r = session_list_others(&report->journals, NULL, &others, &nr_others);

	if (r)
		return r;
	do {
		report_drop_runs(report);
		r = failed ? look_again(session, report) : 0;
		session_init_env(session, report, &env);
		env.target = claim;
		env.others = others;
		env.nr_others = nr_others;
		if (!r && !report_is_refused(report))
			r = session_pick_ways(report, &env, failed);
		failed = env.evacuation;
		if (!r && !report_is_refused(report))
			r = plan_and_run(session, report, &env);
	} while (!r && may_try_another_way(report));
	free(others);
	return r;
}

/* What is done at boot has no hooks: what they would talk to does not run yet. */
static bool wants_hooks(const struct report *report)
{
	return report->options->request.action == ACTION_OFFLINE;
}

static bool any_refuses(const struct report *report, const struct findings *findings)
{
	for (size_t i = 0; i < findings->nr; i++)
		if (finding_refuses(&findings->list[i], report->options->request.strict))
			return true;
	return false;
}

/* A plan on trial, for what it finds. */
static int try_plan(struct session *session, struct report *report, struct step_env *env)
{
	struct operation operation = { 0 };
	int r = session_pick_ways(report, env, NULL);

	if (!r && !report_is_refused(report))
		r = plan_offline(env, &operation);
	if (!r && operation.nr_steps)
		r = plan_check_rights(env, &operation, session_lacking(session, report));
	operation_free(&operation);
	return r;
}

/*
 * Reasons that only a plan tells have to be known before hooks drain anything, and, as all others,
 * before there is a trace of this run: a state directory. Where neither is to be expected the plan
 * that will be carried out tells them.
 */
static int rehearse(struct session *session, struct report *report, hwloc_const_bitmap_t claim)
{
	const struct operation **others;
	struct findings findings = { 0 };
	struct step_env env;
	size_t nr_others;
	int r = wants_hooks(report) ? hooks_find(session, report) : 0;

	if (r || (!hooks_are_to_run(report) && !session_lacking(session, report)))
		return r;
	r = session_list_others(&report->journals, NULL, &others, &nr_others);
	if (r)
		return r;
	session_init_env(session, report, &env);
	env.target = claim;
	env.others = others;
	env.nr_others = nr_others;
	env.findings = &findings;
	r = try_plan(session, report, &env);
	free(others);
	/* what does not refuse will be found again */
	if (!r && any_refuses(report, &findings))
		r = findings_move(&report->findings, &findings);
	findings_free(&findings);
	return r;
}

/* Hooks may have changed what was judged: where they were run, all is read again. */
static int before(struct session *session, struct report *report)
{
	struct operation operation = { 0 };
	int r = 0;

	if (!wants_hooks(report))
		return 0;
	if (!report->operation_ids) {
		r = identify(session, report, &operation);
		report->operation_ids = r ? NULL : util_strdup(operation.id);
		session->operation_id = report->operation_ids;
		operation_free(&operation);
	}
	return r ? r : hooks_before(session, report);
}

int actions_take(struct session *session, struct report *report)
{
	_cleanup_cpus_ hwloc_bitmap_t claim = hwloc_bitmap_alloc();
	int r;

	if (!claim)
		return -ENOMEM;
	r = session_lock_early(session, report);
	if (r)
		return r == REPORT_CONCLUDED ? 0 : r;
	do {
		r = session_gather_work(session, report);
		if (!r)
			r = find_target(session, report);
		if (!r)
			r = session_check_confirmed(report);
		if (!r && report_is_refused(report))
			return 0;
		if (!r)
			r = find_claim(report, claim);
		if (!r)
			r = refuse_unknown(report, claim);
		if (r || report_is_refused(report))
			return r;
		if (cpus_is_empty(report->target) && is_partial(report)) {
			report_conclude(report, VERDICT_ROLLED_BACK, EXIT_ROLLED_BACK);
			return 0;
		}
		if (cpus_is_empty(claim)) {
			report_conclude(report, VERDICT_NOTHING_TO_DO, EXIT_DONE);
			return 0;
		}
		if (!cpus_is_empty(report->target))
			r = rehearse(session, report, claim);
		if (r || report_is_refused(report))
			return r;
		r = report->options->request.dry_run ? 0 : session_lock(session, report);
		if (!r && !cpus_is_empty(report->target))
			r = before(session, report);
	} while (r > 0);
	if (r == REPORT_CONCLUDED || (!r && report_is_refused(report)))
		return 0;
	return r ? r : move_and_take(session, report, claim);
}

/* What runs once all is done; in a dry run, what would. */
static int find_online(struct session *session, struct report *report, hwloc_bitmap_t ret_online)
{
	static struct online_mask mask;
	struct step_env env;

	if (report->options->request.dry_run) {
		bool would_go =
			report->verdict == VERDICT_READY || report->verdict == VERDICT_PARTIAL;

		return (would_go ? hwloc_bitmap_andnot(ret_online, report->machine.online,
						       report->target)
				 : hwloc_bitmap_copy(ret_online, report->machine.online))
			       ? -ENOMEM
			       : 0;
	}
	session_init_env(session, report, &env);
	if (hotplug_read_online(&env, &mask))
		return hwloc_bitmap_copy(ret_online, report->machine.online) ? -ENOMEM : 0;
	return cpus_parse_kernel(mask.text, report->machine.nr_cpus - 1, ret_online);
}

int actions_offline(struct session *session, struct report *report)
{
	_cleanup_cpus_ hwloc_bitmap_t online = hwloc_bitmap_alloc();
	int r = online ? actions_take(session, report) : -ENOMEM, after;

	if ((r && !report->has_run) || report->verdict == VERDICT_INVALID ||
	    !report->selection.target)
		return r;
	if (!r)
		r = find_online(session, report, online);
	if (!r)
		r = session_note_taken(session, report);
	if (!r)
		r = session_judge_service(session, report, online);
	/* whatever failed: those who were told before wait for the end */
	after = hooks_after(session, report);
	return r ? r : after;
}
