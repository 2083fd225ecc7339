/* SPDX-License-Identifier: GPL-2.0-or-later */
/* restore.c - the action that undoes operations */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "cli/actions.h"
#include "cli/hooks.h"
#include "core/plan.h"
#include "core/preflight.h"
#include "host/tasks.h"

/* An operation to undo, and the CPUs of it that shall come back. */
struct returning {
	struct operation *operation;
	hwloc_bitmap_t scope;
	bool is_adopted; /* no journal knows its CPUs: it was made for this restore */
	bool is_dormant; /* it is only recorded, and not in force */
};

struct returns {
	struct returning *list;
	size_t nr;
	hwloc_bitmap_t standby; /* CPUs that would return but for being on standby */
	hwloc_bitmap_t absent;	/* ... but for not being in the machine: ejected, not plugged in */
};

static void returns_free(struct returns *returns)
{
	for (size_t i = 0; i < returns->nr; i++) {
		hwloc_bitmap_free(returns->list[i].scope);
		if (returns->list[i].is_adopted) {
			operation_free(returns->list[i].operation);
			free(returns->list[i].operation);
		}
	}
	free(returns->list);
	returns->list = NULL;
	returns->nr = 0;
}

static bool is_standby(const struct report *report, unsigned int cpu)
{
	return machine_has_cpu(&report->machine, cpu) && report->machine.cpus[cpu].is_standby;
}

/* s390: a CPU on standby cannot come online before somebody configures it. The others do. */
static int leave_standby(const struct report *report, hwloc_bitmap_t scope, struct returns *returns)
{
	unsigned int cpu;

	cpus_foreach(cpu, scope)
		if (is_standby(report, cpu) && hwloc_bitmap_set(returns->standby, cpu))
			return -ENOMEM;
	return hwloc_bitmap_andnot(scope, scope, returns->standby) < 0 ? -ENOMEM : 0;
}

/* What was ejected comes back once somebody plugs it in. The others do now. */
static int leave_absent(const struct report *report, hwloc_bitmap_t scope, struct returns *returns)
{
	unsigned int cpu;

	cpus_foreach(cpu, scope)
		if (!machine_has_cpu(&report->machine, cpu) &&
		    hwloc_bitmap_set(returns->absent, cpu))
			return -ENOMEM;
	return hwloc_bitmap_andnot(scope, scope, returns->absent) < 0 ? -ENOMEM : 0;
}

static struct returning *append(struct returns *returns, struct operation *operation,
				hwloc_const_bitmap_t scope)
{
	struct returning *list = util_grow(returns->list, returns->nr, sizeof(*list));

	if (!list)
		return NULL;
	returns->list = list;
	list[returns->nr] =
		(struct returning){ .operation = operation, .scope = hwloc_bitmap_dup(scope) };
	return list[returns->nr].scope ? &list[returns->nr++] : NULL;
}

static int add_returning(const struct report *report, struct returns *returns,
			 struct operation *operation, hwloc_const_bitmap_t scope, bool is_adopted)
{
	struct returning *returning = append(returns, operation, scope);

	if (!returning)
		return -ENOMEM;
	returning->is_adopted = is_adopted;
	if (leave_absent(report, returning->scope, returns))
		return -ENOMEM;
	return leave_standby(report, returning->scope, returns);
}

/* ---- operations that are only recorded --------------------------------------------------- */

/* One whose journal cannot be used may be in force. */
static bool is_dormant(const struct report *report, const struct record *record)
{
	return !journals_find(&report->journals, record->operation.id) &&
	       !journals_is_unusable(&report->journals, record->operation.id);
}

/* By the numbers that its CPUs have now, where the machine still is the one of the record. */
static int renumber(const struct session *session, struct report *report, struct record *record)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	_cleanup_free_ char *difference = NULL;
	int r = cpus ? record_match(session->root, &report->machine, &report->records,
				    session->boot_id, record, cpus, &difference)
		     : -ENOMEM;

	return r > 0 ? 0 : r;
}

/* Whether its CPUs are there does not matter: the record ends for them. */
static int add_dormant(struct returns *returns, struct record *record, hwloc_const_bitmap_t scope)
{
	struct returning *returning = append(returns, &record->operation, scope);

	if (!returning)
		return -ENOMEM;
	returning->is_dormant = true;
	return 0;
}

/* All of them, or the one of this @id. */
static int choose_dormant(struct report *report, const char *id, struct returns *returns)
{
	int r = 0;

	for (size_t i = report->records.nr; !r && i-- > 0;) {
		struct record *record = &report->records.list[i];

		if (is_dormant(report, record) && (!id || !strcmp(record->operation.id, id)))
			r = add_dormant(returns, record, record->operation.claim);
	}
	return r;
}

static int choose_selected_dormant(struct session *session, struct report *report,
				   struct returns *returns)
{
	const char *id = report->options->request.restore_id;
	_cleanup_cpus_ hwloc_bitmap_t scope = hwloc_bitmap_alloc();
	int r = scope ? 0 : -ENOMEM;

	for (size_t i = report->records.nr; !r && i-- > 0;) {
		struct record *record = &report->records.list[i];

		/* where its journal cannot be used, too: CPUs are named, and come back by that */
		if (journals_find(&report->journals, record->operation.id) ||
		    (id && strcmp(id, "all") && strcmp(id, record->operation.id)))
			continue;
		r = renumber(session, report, record);
		if (!r)
			r = select_restore(&report->options->request, &report->machine,
					   &record->operation, &report->findings, scope);
		if (!r && !cpus_is_empty(scope))
			r = add_dormant(returns, record, scope);
	}
	return r;
}

/* A record that cannot be read ends with the whole of its operation, but not for a part of it. */
static int change_record(const struct state *records, const struct returning *returning,
			 struct record *record, hwloc_const_bitmap_t kept)
{
	if (record)
		return record_keep(records, record, kept);
	return cpus_is_empty(kept) ? state_remove(records, returning->operation->id) : -EBADMSG;
}

/* Before the CPUs return: a crash in between must not bring the record back. */
static int end_record(const struct session *session, struct report *report,
		      const struct returning *returning, bool *ret_has_failed)
{
	const struct operation *operation = returning->operation;
	struct record *record = records_find(&report->records, operation->id);
	_cleanup_cpus_ hwloc_bitmap_t kept = hwloc_bitmap_alloc();
	bool is_dry_run = report->options->request.dry_run;
	int r = 0;

	if (!kept)
		return -ENOMEM;
	if (!record && (!session->records || !state_has(session->records, operation->id)))
		return 0;
	if (!hwloc_bitmap_isincluded(operation->claim, returning->scope) &&
	    hwloc_bitmap_andnot(kept, record ? record->operation.claim : operation->claim,
				returning->scope) < 0)
		return -ENOMEM;
	if (!is_dry_run)
		r = change_record(session->records, returning, record, kept);
	if (r == -ENOMEM)
		return r;
	if (!is_dry_run) {
		report->has_run = true;
		report_conclude(report, VERDICT_FAILED, EXIT_FAILED); /* until it is known */
	}
	*ret_has_failed |= r != 0;
	if (r)
		return findings_add(
			       &report->findings, "record-failed", SEVERITY_WARN, returning->scope,
			       "Remove the file by hand, or the CPUs go again at the next boot.",
			       "the record %s/%s.json could not be changed: %s",
			       state_path(session->records), operation->id,
			       r == -EBADMSG ? "it cannot be read" : strerror(-r))
			       ? 0
			       : -ENOMEM;
	return findings_add(&report->findings, "record-ended", SEVERITY_NOTE, returning->scope,
			    NULL, "operation %s %s done again after a reboot%s", operation->id,
			    is_dry_run ? "would no longer be" : "is no longer",
			    cpus_is_empty(kept) ? "" : ", but for the rest of its CPUs")
		       ? 0
		       : -ENOMEM;
}

/* ---- what is meant ------------------------------------------------------------------------ */

static struct finding *refuse_restore(struct report *report, const char *rule, const char *remedy,
				      const char *what)
{
	_cleanup_free_ char *ids = strdup("");

	for (size_t i = 0; i < report->journals.nr; i++)
		ids = util_join(ids, ", ", report->journals.list[i].id);
	for (size_t i = 0; i < report->records.nr; i++)
		if (is_dormant(report, &report->records.list[i]))
			ids = util_join(ids, ", ", report->records.list[i].operation.id);
	return findings_add(&report->findings, rule, SEVERITY_REFUSE, NULL, remedy, "%s: %s", what,
			    !ids || !ids[0] ? "none" : ids);
}

static int choose_named(struct report *report, const char *id, struct returns *returns)
{
	struct journals *journals = &report->journals;
	_cleanup_free_ char *what = NULL;
	struct operation *operation;
	struct finding *finding;
	int r = 0;

	if (!strcmp(id, "all")) {
		for (size_t i = journals->nr; !r && i-- > 0;)
			r = add_returning(report, returns, &journals->list[i],
					  journals->list[i].claim, false);
		return r ? r : choose_dormant(report, NULL, returns);
	}
	operation = journals_find(journals, id);
	if (operation)
		return add_returning(report, returns, operation, operation->claim, false);
	r = choose_dormant(report, id, returns);
	if (r || returns->nr)
		return r;
	what = util_asprintf("there is no operation \"%s\"; those in force are", id);
	finding = what ? refuse_restore(report, "no-such-operation",
					"Name one of these, or \"all\".", what)
		       : NULL;
	if (!finding)
		return -ENOMEM;
	finding->is_invalid = true;
	return 0;
}

static int choose_only_one(struct report *report, struct returns *returns)
{
	struct journals *journals = &report->journals;
	size_t nr = journals->nr;

	for (size_t i = 0; i < report->records.nr; i++)
		nr += is_dormant(report, &report->records.list[i]);
	if (nr > 1)
		return refuse_restore(report, "several-operations",
				      "Name one, as in --restore=ID, or --restore=all.",
				      "several operations are in force")
			       ? 0
			       : -ENOMEM;
	return journals->nr ? add_returning(report, returns, &journals->list[0],
					    journals->list[0].claim, false)
			    : choose_dormant(report, NULL, returns);
}

/* CPUs that no journal knows come back only where they are named one by one. */
static int adopt(struct session *session, struct report *report, hwloc_const_bitmap_t cpus,
		 struct returns *returns)
{
	struct operation *operation = calloc(1, sizeof(*operation));
	struct step_env env;
	int r;

	if (!operation)
		return -ENOMEM;
	session_init_env(session, report, &env);
	env.target = cpus;
	r = plan_adopt(&env, operation);
	if (!r)
		r = plan_identify(operation, session->boot_id, VERSION, report->options->command,
				  session->state, session->records);
	if (!r)
		r = add_returning(report, returns, operation, cpus, true);
	if (r) {
		operation_free(operation);
		free(operation);
	}
	return r;
}

static int refuse_unknown_place(struct report *report, hwloc_const_bitmap_t offline)
{
	return findings_add(&report->findings, "membership-unknown", SEVERITY_REFUSE, offline,
			    "Name the CPUs: --restore --cpu LIST.",
			    "no journal knows CPUs of this selection: membership is unknown while "
			    "CPUs are "
			    "offline, since the kernel hides their place")
		       ? 0
		       : -ENOMEM;
}

/* True where the selection is made of CPU numbers alone. */
static bool names_cpus_only(const struct request *request)
{
	for (size_t i = 0; i < request->nr_selectors; i++)
		if (request->selectors[i].kind != SELECT_CPU &&
		    request->selectors[i].kind != SELECT_EXCEPT)
			return false;
	return true;
}

/* Offline CPUs that no journal claims. */
static void find_unknown(const struct report *report, hwloc_bitmap_t ret_cpus)
{
	hwloc_bitmap_andnot(ret_cpus, report->machine.present, report->machine.online);
	for (size_t i = 0; i < report->journals.nr; i++)
		hwloc_bitmap_andnot(ret_cpus, ret_cpus, report->journals.list[i].claim);
}

/* Of those in @scope, or of all where it is NULL, but for those that come back now. */
static int note_unknown(struct report *report, hwloc_const_bitmap_t scope)
{
	_cleanup_cpus_ hwloc_bitmap_t unknown = hwloc_bitmap_alloc();
	_cleanup_free_ char *list = NULL;

	if (!unknown)
		return -ENOMEM;
	find_unknown(report, unknown);
	hwloc_bitmap_andnot(unknown, unknown, report->target);
	if (scope)
		hwloc_bitmap_and(unknown, unknown, scope);
	if (cpus_is_empty(unknown))
		return 0;
	list = cpus_format(unknown);
	return list && findings_add(&report->findings, "offline-unknown", SEVERITY_NOTE, unknown,
				    "Bring them back by number: --restore --cpu LIST.",
				    "CPUs %s are offline and no journal knows them", list)
		       ? 0
		       : -ENOMEM;
}

static int choose_selected(struct session *session, struct report *report, struct returns *returns)
{
	const struct request *request = &report->options->request;
	struct journals *journals = &report->journals;
	_cleanup_cpus_ hwloc_bitmap_t scope = hwloc_bitmap_alloc(), unknown = hwloc_bitmap_alloc();
	int r = scope && unknown ? 0 : -ENOMEM;

	for (size_t i = journals->nr; !r && i-- > 0;) {
		if (request->restore_id && strcmp(request->restore_id, "all") &&
		    strcmp(request->restore_id, journals->list[i].id))
			continue;
		r = select_restore(request, &report->machine, &journals->list[i], &report->findings,
				   scope);
		if (!r && !cpus_is_empty(scope))
			r = add_returning(report, returns, &journals->list[i], scope, false);
	}
	if (!r)
		r = choose_selected_dormant(session, report, returns);
	if (r)
		return r;
	find_unknown(report, unknown);
	if (names_cpus_only(request)) {
		r = session_resolve(session, report);
		if (!r)
			hwloc_bitmap_and(unknown, unknown, report->selection.already_offline);
		if (!r)
			r = leave_standby(report, unknown, returns);
		if (!r && !cpus_is_empty(unknown))
			r = adopt(session, report, unknown, returns);
		return r;
	}
	return returns->nr ? 0 : refuse_unknown_place(report, unknown);
}

static int choose(struct session *session, struct report *report, struct returns *returns)
{
	const struct request *request = &report->options->request;

	if (request->restore_id) {
		int r = choose_named(report, request->restore_id, returns);

		if (r || !request->nr_selectors || report_is_refused(report))
			return r;
		returns_free(returns);
	}
	return request->nr_selectors ? choose_selected(session, report, returns)
	       : request->restore_id ? 0
				     : choose_only_one(report, returns);
}

/* A journal that cannot be used must not keep the others from being undone. */
static void accept_unusable(struct report *report, const struct returns *returns)
{
	for (size_t i = 0; i < report->findings.nr; i++)
		if (returns->nr && !strcmp(report->findings.list[i].rule, "journal-unusable"))
			report->findings.list[i].severity = SEVERITY_WARN;
}

/* The CPUs that come online: all in scope, but for those that some operation still claims
 * afterwards. */
static int find_returning(struct report *report, const struct returns *returns)
{
	_cleanup_cpus_ hwloc_bitmap_t kept = hwloc_bitmap_alloc(), left = hwloc_bitmap_alloc();

	if (!kept || !left)
		return -ENOMEM;
	hwloc_bitmap_zero(report->target);
	for (size_t i = 0; i < returns->nr; i++)
		if (!returns->list[i].is_dormant)
			hwloc_bitmap_or(report->target, report->target, returns->list[i].scope);
	for (size_t i = 0; i < report->journals.nr; i++) {
		hwloc_bitmap_copy(left, report->journals.list[i].claim);
		for (size_t j = 0; j < returns->nr; j++)
			if (returns->list[j].operation == &report->journals.list[i])
				hwloc_bitmap_andnot(left, left, returns->list[j].scope);
		hwloc_bitmap_or(kept, kept, left);
	}
	hwloc_bitmap_andnot(report->target, report->target, kept);
	hwloc_bitmap_andnot(report->target, report->target, report->machine.online);
	hwloc_bitmap_copy(report->survivors, report->machine.online);
	return 0;
}

/* The places of all CPUs to return, from all journals. The caller frees them. */
static int collect_places(const struct returns *returns, struct place **ret_places, size_t *ret_nr)
{
	struct place *places;
	size_t nr = 0;

	for (size_t i = 0; i < returns->nr; i++)
		nr += returns->list[i].operation->nr_places;
	places = calloc(nr + 1, sizeof(*places));
	if (!places)
		return -ENOMEM;
	nr = 0;
	for (size_t i = 0; i < returns->nr; i++)
		for (size_t j = 0; j < returns->list[i].operation->nr_places; j++)
			places[nr++] = returns->list[i].operation->places[j];
	*ret_places = places;
	*ret_nr = nr;
	return 0;
}

/* CPUs on standby are judged with the others, and then left. */
static int judge_return(const struct session *session, struct report *report,
			const struct returns *returns)
{
	_cleanup_free_ struct place *places = NULL;
	bool frees_smt = false;
	size_t nr;
	int r = collect_places(returns, &places, &nr);

	if (r)
		return r;
	hwloc_bitmap_or(report->target, report->target, returns->standby);
	for (size_t i = 0; i < returns->nr; i++)
		frees_smt |= operation_keeps_cpus(returns->list[i].operation);
	r = session_judge(session, report, true, places, nr, frees_smt);
	hwloc_bitmap_andnot(report->target, report->target, returns->standby);
	return r;
}

/* ---- CPUs that are not in the machine ---------------------------------------------------- */

static bool may_wait(const struct report *report)
{
	return report->options->request.wait && !report->options->request.dry_run;
}

static int warn_absent(struct report *report, const struct returns *returns)
{
	_cleanup_free_ char *list = cpus_format(returns->absent);
	bool is_one = cpus_count(returns->absent) == 1;

	if (!list)
		return -ENOMEM;
	if (!*list || may_wait(report))
		return 0;
	return findings_add(&report->findings, "cpu-absent", SEVERITY_WARN, returns->absent,
			    "Plug the hardware in and restore again; --restore --wait waits for "
			    "it.",
			    "CPU%s %s %s not in the machine: ejected, or removed",
			    is_one ? "" : "s", list, is_one ? "is" : "are")
		       ? 0
		       : -ENOMEM;
}

/*
 * Returns 1 once all of them are there, with everything to be read again, or a negative value with
 * the verdict set. Others may work meanwhile.
 */
static int wait_for_absent(struct session *session, struct report *report,
			   const struct returns *returns)
{
	_cleanup_free_ char *list = cpus_format(returns->absent);
	_cleanup_free_ char *object = list ? util_asprintf("CPU %s to be plugged in", list) : NULL;

	if (!object)
		return -ENOMEM;
	session_unlock(session);
	return session_wait_present(session, report, returns->absent, object);
}

/* What planning found forbids to go on. */
#define REFUSED 1

/* What was found while CPUs returned tells how that went; it is no reason against the next one. */
static void accept_told(struct report *report)
{
	for (size_t i = 0; i < report->findings.nr; i++)
		report->findings.list[i].is_accepted |=
			report->findings.list[i].severity == SEVERITY_WARN;
}

/* On the way back most plans look at no task, and a walk over all of them takes as long as many
 * CPUs do. */
static bool wants_tasks(const struct step_env *env)
{
	return env->request->boost || (env->evacuation->has_partition && !tasks_are_kept(env));
}

/* Where somebody has removed its journal, its CPUs are off still. */
static int end_dormant(struct session *session, struct report *report,
		       const struct returning *returning, bool *ret_has_failed)
{
	int r = end_record(session, report, returning, ret_has_failed);

	return r ? r : note_unknown(report, returning->scope);
}

static int return_one(struct session *session, struct report *report, struct returning *returning,
		      enum outcome *ret_outcome, bool *ret_has_failed)
{
	struct step_env env;
	struct run *run;
	int r;

	if (returning->is_dormant)
		return end_dormant(session, report, returning, ret_has_failed);
	run = report_add_run(report, returning->operation);
	if (!run)
		return -ENOMEM;
	session_init_env(session, report, &env);
	env.target = returning->scope;
	env.is_return = true;
	env.own = returning->operation;
	r = session_list_others(&report->journals, returning->operation,
				(const struct operation ***)&env.others, &env.nr_others);
	if (!r && hwloc_bitmap_intersects(returning->scope, report->target)) {
		r = session_pick_ways(report, &env, NULL);
		if (!r && wants_tasks(&env))
			r = session_read_tasks(session, report);
		if (!r)
			r = plan_return(&env, returning->operation);
	}
	/* what tasks and queues had is given back with the last CPU */
	if (!r && hwloc_bitmap_isincluded(returning->operation->claim, returning->scope))
		r = plan_check_rights(&env, returning->operation, session_lacking(session, report));
	run->env = &env;
	run->is_adopted = returning->is_adopted;
	*ret_outcome = OUTCOME_DONE;
	hwloc_bitmap_copy(run->changed, returning->scope); /* what a dry run shows */
	/* planning may have raised warnings, which refuse with --strict */
	if (!r && report_is_refused(report))
		r = REFUSED;
	if (!r)
		r = end_record(session, report, returning, ret_has_failed);
	if (!r && !report->options->request.dry_run)
		r = session_execute(session, report, run, run_return, ret_outcome);
	accept_told(report);
	run->env = NULL;
	if (!r && !report->options->request.dry_run)
		r = operation_update_claim(returning->operation);
	free((void *)env.others);
	return r;
}

static int return_all(struct session *session, struct report *report, struct returns *returns)
{
	bool has_failed = !cpus_is_empty(returns->standby) || !cpus_is_empty(returns->absent);
	enum outcome outcome = OUTCOME_DONE;
	int r = 0;

	for (size_t i = 0; !r && outcome != OUTCOME_STUCK && i < returns->nr; i++) {
		if (watcher_interrupts(session->watcher)) {
			has_failed = true;
			break;
		}
		r = i && !report->options->request.dry_run ? session_read_again(session, report)
							   : 0;
		if (!r)
			r = return_one(session, report, &returns->list[i], &outcome, &has_failed);
		has_failed |= outcome != OUTCOME_DONE || r == REFUSED;
		returns->list[i].is_adopted = false; /* the report shows it, and owns it now */
		if (r == REFUSED && !i) {
			report_drop_runs(report);
			return 0;
		}
	}
	if (r < 0)
		return r; /* where something was begun, the verdict says so */
	if (outcome == OUTCOME_STUCK)
		report_conclude(report, VERDICT_STUCK, EXIT_FAILED);
	else if (has_failed)
		report_conclude(report, VERDICT_FAILED, EXIT_FAILED);
	else if (report->options->request.dry_run)
		report_conclude(report, VERDICT_READY, EXIT_DONE);
	else
		report_conclude(report, VERDICT_DONE, EXIT_DONE);
	return r == REFUSED ? 0 : r;
}

/* What hooks are told: the names of all operations, parted by blanks. */
static int before(struct report *report, const struct returns *returns)
{
	char *ids = strdup("");

	for (size_t i = 0; i < returns->nr; i++)
		ids = util_join(ids, " ", returns->list[i].operation->id);
	free(report->operation_ids);
	report->operation_ids = ids;
	return ids ? 0 : -ENOMEM;
}

static int restore_chosen(struct session *session, struct report *report, struct returns *returns)
{
	int r = find_returning(report, returns);

	if (!r)
		r = session_check_confirmed(report);
	if (!r)
		r = judge_return(session, report, returns);
	if (!r)
		r = warn_absent(report, returns);
	if (r || report_is_refused(report))
		return r;
	if (!cpus_is_empty(returns->absent) && may_wait(report))
		return wait_for_absent(session, report, returns);
	if (!returns->nr && cpus_is_empty(returns->standby)) {
		report_conclude(report, VERDICT_NOTHING_TO_DO, EXIT_DONE);
		return note_unknown(report, NULL);
	}
	r = report->options->request.dry_run ? 0 : session_lock(session, report);
	if (!r && !cpus_is_empty(report->target))
		r = before(report, returns) ? -ENOMEM : hooks_before(session, report);
	if (r || report_is_refused(report))
		return r;
	return return_all(session, report, returns);
}

int actions_restore(struct session *session, struct report *report)
{
	_cleanup_cpus_ hwloc_bitmap_t standby = hwloc_bitmap_alloc(), absent = hwloc_bitmap_alloc();
	struct returns returns = { .standby = standby, .absent = absent };
	int r;

	if (!standby || !absent)
		return -ENOMEM;
	r = session_lock_early(session, report);
	if (r)
		return r == REPORT_CONCLUDED ? 0 : r;
	do {
		returns_free(&returns);
		hwloc_bitmap_zero(standby);
		hwloc_bitmap_zero(absent);
		r = session_gather_cpusets(session, report);
		if (!r)
			r = session_gather_records(session, report, SEVERITY_WARN);
		if (!r)
			r = choose(session, report, &returns);
		accept_unusable(report, &returns);
		if (!r && !report_is_refused(report))
			r = restore_chosen(session, report, &returns);
	} while (r > 0);
	if (!r)
		r = session_note_taken(session, report);
	if (!r || r == REPORT_CONCLUDED || report->has_run) {
		int after = hooks_after(session, report);

		r = r && r != REPORT_CONCLUDED ? r : after;
	}
	returns_free(&returns);
	return r;
}
