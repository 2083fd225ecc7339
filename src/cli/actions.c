/* SPDX-License-Identifier: GPL-2.0-or-later */
/* actions.c - what the program does: take CPUs offline, restore, status, list */
#include "config.h"

#include "cli/actions.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "cli/signals.h"
#include "core/plan.h"
#include "core/preflight.h"
#include "host/methods.h"
#include "host/tasks.h"
#include "host/writer.h"

#define WAIT_STEP 0.2
#define REPORT_SECONDS 5.0

/* ---- reading everything ------------------------------------------------------------------------ */

static int read_boot_id(const struct root *root, char **ret_boot_id)
{
	int r = root_read(root, ret_boot_id, "proc/sys/kernel/random/boot_id");

	if (r == -ENOENT) {
		*ret_boot_id = strdup("");
		r = *ret_boot_id ? 0 : -ENOMEM;
	}
	return r;
}

/* Nothing is made here: reading must not leave a directory behind. */
static int open_state(struct session *session, struct report *report)
{
	int r;

	if (session->state)
		return 0;
	r = state_open(session->root, report->options->state_dir, false, &session->state);
	if (!r || r == -ENOENT)
		return 0;
	return findings_add(&report->findings, "state-directory", SEVERITY_REFUSE, NULL,
			    "It must be a directory, not a link, that only root can write.",
			    "the state directory %s cannot be used: %s", report->options->state_dir,
			    strerror(-r)) ?
		       0 :
		       -ENOMEM;
}

static void forget(struct report *report)
{
	findings_free(&report->findings);
	machine_free(&report->machine);
	selection_free(&report->selection);
	journals_free(&report->journals);
}

static int gather(struct session *session, struct report *report)
{
	int r;

	forget(report);
	if (!session->root) {
		r = root_open(report->options->sysroot, &session->root);
		if (r)
			return findings_add(&report->findings, "sysroot", SEVERITY_REFUSE, NULL,
					    "Name a directory that holds a machine's /sys and /proc.",
					    "%s is not the root of a machine, which needs "
					    "sys/devices/system/cpu: %s",
					    report->options->sysroot, strerror(-r)) ?
				       -EINVAL :
				       -ENOMEM;
		r = read_boot_id(session->root, &session->boot_id);
		if (r)
			return r;
	}
	r = topology_read_machine(session->root, &report->machine);
	if (r)
		return findings_add(&report->findings, "machine-unreadable", SEVERITY_REFUSE, NULL, NULL,
				    "the CPUs below %s/sys/devices/system/cpu cannot be read: %s",
				    report->options->sysroot, strerror(-r)) ?
			       -EINVAL :
			       -ENOMEM;
	r = open_state(session, report);
	if (r)
		return r;
	return journal_load_all(session->state, session->boot_id, &report->findings, &report->journals);
}

/* ---- verdicts ------------------------------------------------------------------------------------ */

static void conclude(struct report *report, enum verdict verdict, int exit_status)
{
	report->verdict = verdict;
	report->exit_status = exit_status;
}

/* Turns findings into a verdict. Returns true where they forbid to go on. */
static bool is_refused(struct report *report)
{
	bool is_invalid = false, is_permission = false;

	for (size_t i = 0; i < report->findings.nr; i++) {
		struct finding *finding = &report->findings.list[i];

		if (report->options->request.strict && finding->severity == SEVERITY_WARN)
			finding->severity = SEVERITY_REFUSE;
		if (finding->severity != SEVERITY_REFUSE)
			continue;
		is_invalid |= finding->is_invalid;
		is_permission |= finding->is_permission;
	}
	findings_sort(&report->findings);
	if (!findings_has(&report->findings, SEVERITY_REFUSE))
		return false;
	if (is_invalid)
		conclude(report, VERDICT_INVALID, EXIT_INVALID);
	else
		conclude(report, VERDICT_REFUSED, is_permission ? EXIT_PERMISSION : EXIT_REFUSED);
	return true;
}

static int signal_status(int otherwise)
{
	return signals_first() ? EXIT_SIGNALLED + signals_first() : otherwise;
}

/* ---- the lock ------------------------------------------------------------------------------------ */

static int refuse_locked(struct report *report, pid_t holder)
{
	struct finding *finding =
		findings_add(&report->findings, "locked", SEVERITY_REFUSE, NULL,
			     "Wait for it with --wait, or run cpuoff again later.",
			     "another cpuoff is at work (process %d)", (int)holder);

	conclude(report, VERDICT_REFUSED, EXIT_LOCKED);
	return finding ? -EAGAIN : -ENOMEM;
}

/* Only the dead may be waited for without --wait, and only to repair what they left. */
static bool may_wait(const struct report *report, int lock_error)
{
	const struct request *request = &report->options->request;

	return request->wait || (lock_error == -EBUSY && request->action == ACTION_RESTORE);
}

static int wait_for_lock(struct session *session, struct report *report)
{
	double start = util_now(), reported = start - REPORT_SECONDS;
	pid_t holder;
	int r;

	while ((r = state_lock(session->state, &holder)) == -EAGAIN || r == -EBUSY) {
		if (!may_wait(report, r))
			return refuse_locked(report, holder);
		if (watcher_interrupts(session->watcher)) {
			conclude(report, VERDICT_REFUSED, signal_status(EXIT_REFUSED));
			return -EINTR;
		}
		if (util_now() - reported >= REPORT_SECONDS) {
			reported = util_now();
			watcher_progress(session->watcher, &(struct progress){
								   .phase = PHASE_WAITING,
								   .object = "the lock",
								   .waited = reported - start,
								   .pid = holder,
							   });
		}
		util_sleep(WAIT_STEP);
	}
	return r;
}

static int refuse_state(struct report *report, int r)
{
	struct finding *finding = findings_add(
		&report->findings, "permission", SEVERITY_REFUSE, NULL,
		"Run cpuoff as root, with a state directory that can be written.",
		"the state directory %s cannot be used: %s", report->options->state_dir, strerror(-r));

	if (!finding)
		return -ENOMEM;
	finding->is_permission = r == -EACCES || r == -EROFS;
	is_refused(report);
	return -EACCES;
}

static bool journals_changed(const struct session *session, const struct report *report)
{
	size_t nr = 0, known = 0;
	char **ids = NULL;

	if (state_list(session->state, &ids, &nr))
		return true;
	for (size_t i = 0; i < nr; i++)
		for (size_t j = 0; j < report->journals.nr; j++)
			known += !strcmp(ids[i], report->journals.list[j].id);
	for (size_t i = 0; i < nr; i++)
		free(ids[i]);
	free(ids);
	return known != report->journals.nr || (nr != known && report->journals.nr);
}

/*
 * Takes the lock. Returns 0; 1 where everything must be read again, since others were at work after it was
 * read; or a negative value with the verdict set.
 */
static int take_lock(struct session *session, struct report *report)
{
	double start = util_now();
	int r;

	if (session->is_locked)
		return 0;
	state_close(session->state);
	session->state = NULL;
	r = state_open(session->root, report->options->state_dir, true, &session->state);
	if (!r)
		r = wait_for_lock(session, report);
	if (r == -EAGAIN || r == -EINTR)
		return r;
	if (r)
		return refuse_state(report, r);
	session->is_locked = true;
	return util_now() - start >= WAIT_STEP || journals_changed(session, report);
}

/* ---- planning and running ------------------------------------------------------------------------ */

static struct run *add_run(struct report *report, struct operation *operation)
{
	struct run *runs = util_grow(report->runs, report->nr_runs, sizeof(*runs));

	if (!runs)
		return NULL;
	report->runs = runs;
	runs[report->nr_runs] = (struct run){ .operation = operation, .changed = hwloc_bitmap_alloc() };
	return runs[report->nr_runs].changed ? &runs[report->nr_runs++] : NULL;
}

static void init_env(struct session *session, struct report *report, struct step_env *ret_env)
{
	*ret_env = (struct step_env){
		.root = session->root,
		.machine = &report->machine,
		.request = &report->options->request,
		.watcher = session->watcher,
		.target = report->target,
		.survivors = report->survivors,
		.findings = &report->findings,
	};
}

/* All operations in force but @own. The caller frees the list. */
static int list_others(const struct journals *journals, const struct operation *own,
		       const struct operation ***ret_others, size_t *ret_nr)
{
	const struct operation **others = calloc(journals->nr + 1, sizeof(*others));

	if (!others)
		return -ENOMEM;
	*ret_nr = 0;
	for (size_t i = 0; i < journals->nr; i++)
		if (&journals->list[i] != own)
			others[(*ret_nr)++] = &journals->list[i];
	*ret_others = others;
	return 0;
}

/* Everything that the run and its way back need is made here; then it runs. */
static int execute(struct session *session, struct run *run, enum outcome (*direction)(struct run *),
		   enum outcome *ret_outcome)
{
	int r = journal_new(session->state, run->operation, &run->journal);

	if (!r)
		r = writer_start(session->root, &run->env->writer);
	if (!r) {
		state_note_writer(session->state, writer_pid(run->env->writer));
		*ret_outcome = direction(run);
		writer_stop(run->env->writer);
	}
	journal_free(run->journal);
	run->journal = NULL;
	return r;
}

/* ---- taking CPUs offline -------------------------------------------------------------------------- */

/* With --skip-unpluggable, CPUs that the kernel keeps leave the selection. */
static void skip_unpluggable(struct report *report)
{
	unsigned int cpu;

	cpus_foreach(cpu, report->selection.target)
		if (!report->machine.cpus[cpu].has_online_file)
			hwloc_bitmap_clr(report->target, cpu);
}

static bool is_partial(const struct report *report)
{
	return !hwloc_bitmap_isequal(report->target, report->selection.target);
}

/* CPUs that are off because of an earlier operation are claimed as well, unless that one has all of them. */
static int find_claim(const struct report *report, hwloc_bitmap_t claim, bool *ret_is_held)
{
	*ret_is_held = false;
	hwloc_bitmap_copy(claim, report->target);
	for (size_t i = 0; i < report->journals.nr; i++) {
		_cleanup_cpus_ hwloc_bitmap_t shared = hwloc_bitmap_alloc();

		if (!shared)
			return -ENOMEM;
		hwloc_bitmap_and(shared, report->selection.already_offline, report->journals.list[i].claim);
		hwloc_bitmap_or(claim, claim, shared);
		if (cpus_is_empty(report->target) &&
		    hwloc_bitmap_isequal(shared, report->selection.already_offline))
			*ret_is_held = true;
	}
	return 0;
}

static int resolve(struct session *session, struct report *report)
{
	const struct operation **operations = NULL;
	struct topology *topology = NULL;
	size_t nr;
	int r = list_others(&report->journals, NULL, &operations, &nr);

	if (!r && topology_load(session->root, &topology))
		topology = NULL; /* the selection says so, and goes on with the kernel's files */
	if (!r)
		r = select_resolve(&report->options->request, session->root, &report->machine, topology,
				   operations, nr, &report->findings, &report->selection);
	topology_free(topology);
	free(operations);
	return r;
}

/* A file that has to be written later, and may not be. */
static void check_access(const struct session *session, const struct report *report, char *path, size_t size,
			 struct facts *facts)
{
	unsigned int cpu;

	if (report->options->request.dry_run)
		return;
	cpus_foreach(cpu, report->target) {
		int fd;

		snprintf(path, size, "sys/devices/system/cpu/cpu%u/online", cpu);
		fd = root_openat(session->root, O_WRONLY, path);
		if (fd >= 0) {
			close(fd);
		} else if (fd == -EACCES || fd == -EROFS || fd == -EPERM) {
			memmove(path + 1, path, strlen(path) + 1);
			path[0] = '/';
			facts->denied_path = path;
			facts->denied_errno = -fd;
			return;
		}
	}
}

static int judge(const struct session *session, struct report *report,
		 int (*preflight)(const struct facts *, struct findings *), const struct place *places,
		 size_t nr_places)
{
	char path[80];
	struct facts facts = {
		.request = &report->options->request,
		.machine = &report->machine,
		.target = report->target,
		.survivors = report->survivors,
		.places = places,
		.nr_places = nr_places,
	};

	check_access(session, report, path, sizeof(path) - 1, &facts);
	return preflight(&facts, &report->findings);
}

static int pick_ways(struct report *report, struct step_env *env)
{
	const struct request *request = &report->options->request;
	const char *why_not = NULL;
	struct finding *finding;
	int r = methods_pick(request->method, env, &env->method, &why_not);

	if (r == -EINVAL || (strcmp(request->migrate, "auto") && strcmp(request->migrate, "none"))) {
		finding = findings_add(&report->findings, "no-such-way", SEVERITY_REFUSE, NULL,
				       "See cpuoff --help.", "there is no %s \"%s\"",
				       r ? "offline method" : "way of migration",
				       r ? request->method : request->migrate);
		if (finding)
			finding->is_invalid = true;
		return finding ? 0 : -ENOMEM;
	}
	if (r)
		return findings_add(&report->findings, "method-unusable", SEVERITY_REFUSE, NULL,
				    "Use --method=auto.", "the offline method %s %s", request->method,
				    why_not) ?
			       0 :
			       -ENOMEM;
	report->method = env->method->name;
	report->evacuation = "none";
	return 0;
}

static int find_target(struct session *session, struct report *report)
{
	int r = resolve(session, report);

	if (r)
		return r;
	hwloc_bitmap_copy(report->target, report->selection.target);
	if (report->options->request.skip_unpluggable)
		skip_unpluggable(report);
	hwloc_bitmap_andnot(report->survivors, report->machine.online, report->target);
	return judge(session, report, preflight_offline, NULL, 0);
}

static void conclude_offline(struct report *report, const struct run *run, enum outcome outcome)
{
	switch (outcome) {
	case OUTCOME_DONE:
		conclude(report, VERDICT_DONE, EXIT_DONE);
		if (is_partial(report))
			conclude(report, VERDICT_PARTIAL, EXIT_PARTIAL);
		break;
	case OUTCOME_PARTIAL:
		conclude(report, VERDICT_PARTIAL, EXIT_PARTIAL);
		break;
	case OUTCOME_ROLLED_BACK:
		conclude(report, VERDICT_ROLLED_BACK,
			 run->was_interrupted ? signal_status(EXIT_ROLLED_BACK) : EXIT_ROLLED_BACK);
		break;
	case OUTCOME_STALE:
		conclude(report, VERDICT_REFUSED, EXIT_REFUSED);
		break;
	case OUTCOME_FAILED:
		conclude(report, VERDICT_FAILED, EXIT_FAILED);
		break;
	case OUTCOME_STUCK:
		conclude(report, VERDICT_STUCK, EXIT_FAILED);
		break;
	}
}

static int run_operation(struct session *session, struct report *report, struct step_env *env,
			 struct operation *operation)
{
	enum outcome outcome = OUTCOME_ROLLED_BACK;
	struct run *run = add_run(report, operation);
	int r = run ? 0 : -ENOMEM;

	if (r || report->options->request.dry_run) {
		conclude(report, VERDICT_READY, EXIT_DONE);
		if (is_partial(report))
			conclude(report, VERDICT_PARTIAL, EXIT_PARTIAL);
		return r;
	}
	/* Its own work must not be pushed around. Where a cpuset forbids that, the kernel moves it. */
	if (root_is_live(session->root) && tasks_move_self(report->survivors))
		env->survivors = report->survivors;
	run->env = env;
	r = execute(session, run, run_offline, &outcome);
	run->env = NULL;
	if (r)
		return r;
	conclude_offline(report, run, outcome);
	if (outcome == OUTCOME_STALE &&
	    !findings_add(&report->findings, "online-changed", SEVERITY_REFUSE, NULL, "Run cpuoff again.",
			  "the set of online CPUs changed after the selection was resolved"))
		return -ENOMEM;
	return 0;
}

/* Plans for the claim and runs it, or shows it in a dry run. */
static int plan_and_run(struct session *session, struct report *report, hwloc_const_bitmap_t claim)
{
	struct operation *operation = calloc(1, sizeof(*operation));
	struct step_env env;
	int r;

	if (!operation)
		return -ENOMEM;
	init_env(session, report, &env);
	env.target = claim;
	r = list_others(&report->journals, NULL, (const struct operation ***)&env.others, &env.nr_others);
	if (!r)
		r = pick_ways(report, &env);
	if (!r)
		r = plan_identify(operation, session->boot_id, VERSION, report->options->command,
				  report->journals.list, report->journals.nr);
	env.operation = operation->id;
	if (!r)
		r = plan_offline(&env, operation);
	if (!r && !is_refused(report)) {
		r = run_operation(session, report, &env, operation);
		if (report->nr_runs)
			operation = NULL;
	}
	free((void *)env.others);
	if (operation)
		operation_free(operation);
	free(operation);
	return r;
}

static int offline(struct session *session, struct report *report)
{
	_cleanup_cpus_ hwloc_bitmap_t claim = hwloc_bitmap_alloc();
	bool is_held;
	int r;

	if (!claim)
		return -ENOMEM;
	do {
		r = gather(session, report);
		if (!r)
			r = find_target(session, report);
		if (!r && is_refused(report))
			return 0;
		if (!r)
			r = find_claim(report, claim, &is_held);
		if (r)
			return r;
		if (is_held || cpus_is_empty(claim)) {
			conclude(report, VERDICT_NOTHING_TO_DO, EXIT_DONE);
			return 0;
		}
		r = report->options->request.dry_run ? 0 : take_lock(session, report);
	} while (r > 0);
	return r ? 0 : plan_and_run(session, report, claim);
}

/* ---- restore --------------------------------------------------------------------------------------- */

/* An operation to undo, and the CPUs of it that shall come back. */
struct returning {
	struct operation *operation;
	hwloc_bitmap_t scope;
	bool is_adopted; /* no journal knows its CPUs: it was made for this restore */
};

struct returns {
	struct returning *list;
	size_t nr;
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
	*returns = (struct returns){ 0 };
}

static int add_returning(struct returns *returns, struct operation *operation, hwloc_const_bitmap_t scope,
			 bool is_adopted)
{
	struct returning *list = util_grow(returns->list, returns->nr, sizeof(*list));

	if (!list)
		return -ENOMEM;
	returns->list = list;
	list[returns->nr] = (struct returning){ operation, hwloc_bitmap_dup(scope), is_adopted };
	return list[returns->nr++].scope ? 0 : -ENOMEM;
}

static struct finding *refuse_restore(struct report *report, const char *rule, const char *remedy,
				      const char *what)
{
	_cleanup_free_ char *ids = strdup("");

	for (size_t i = 0; ids && i < report->journals.nr; i++) {
		char *longer = util_asprintf("%s%s%s", ids, i ? ", " : "", report->journals.list[i].id);

		free(ids);
		ids = longer;
	}
	return findings_add(&report->findings, rule, SEVERITY_REFUSE, NULL, remedy, "%s: %s", what,
			    !ids || !ids[0] ? "none" : ids);
}

static int choose_named(struct report *report, const char *id, struct returns *returns)
{
	struct journals *journals = &report->journals;
	struct finding *finding;
	int r = 0;

	if (!strcmp(id, "all")) {
		for (size_t i = journals->nr; !r && i-- > 0;)
			r = add_returning(returns, &journals->list[i], journals->list[i].claim, false);
		return r;
	}
	for (size_t i = 0; i < journals->nr; i++)
		if (!strcmp(journals->list[i].id, id))
			return add_returning(returns, &journals->list[i], journals->list[i].claim, false);
	finding = refuse_restore(report, "no-such-operation", "Name one of these, or \"all\".",
				 "there is no such operation; those in force are");
	if (!finding)
		return -ENOMEM;
	finding->is_invalid = true;
	return 0;
}

static int choose_only_one(struct report *report, struct returns *returns)
{
	struct journals *journals = &report->journals;

	if (journals->nr > 1)
		return refuse_restore(report, "several-operations",
				      "Name one, as in --restore=ID, or --restore=all.",
				      "several operations are in force") ?
			       0 :
			       -ENOMEM;
	return journals->nr ? add_returning(returns, &journals->list[0], journals->list[0].claim, false) : 0;
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
	init_env(session, report, &env);
	env.target = cpus;
	r = plan_adopt(&env, operation);
	if (!r)
		r = plan_identify(operation, session->boot_id, VERSION, report->options->command,
				  report->journals.list, report->journals.nr);
	if (!r)
		r = add_returning(returns, operation, cpus, true);
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
			    "no journal knows CPUs of this selection: membership is unknown while CPUs are "
			    "offline, since the kernel hides their place") ?
		       0 :
		       -ENOMEM;
}

/* True where the selection is made of CPU numbers alone. */
static bool names_cpus_only(const struct request *request)
{
	for (size_t i = 0; i < request->nr_selectors; i++)
		if (request->selectors[i].kind != SELECT_CPU && request->selectors[i].kind != SELECT_EXCEPT)
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
		r = select_restore(request, &journals->list[i], &report->findings, scope);
		if (!r && !cpus_is_empty(scope))
			r = add_returning(returns, &journals->list[i], scope, false);
	}
	if (r)
		return r;
	find_unknown(report, unknown);
	if (names_cpus_only(request)) {
		r = resolve(session, report);
		if (!r)
			hwloc_bitmap_and(unknown, unknown, report->selection.already_offline);
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

		if (r || !request->nr_selectors || is_refused(report))
			return r;
		returns_free(returns);
	}
	return request->nr_selectors ? choose_selected(session, report, returns) :
	       request->restore_id   ? 0 :
				       choose_only_one(report, returns);
}

/* A journal that cannot be used must not keep the others from being undone. */
static void accept_unusable(struct report *report, const struct returns *returns)
{
	for (size_t i = 0; i < report->findings.nr; i++)
		if (returns->nr && !strcmp(report->findings.list[i].rule, "journal-unusable"))
			report->findings.list[i].severity = SEVERITY_WARN;
}

/* The CPUs that come online: all in scope, but for those that some operation still claims afterwards. */
static int find_returning(struct report *report, const struct returns *returns)
{
	_cleanup_cpus_ hwloc_bitmap_t kept = hwloc_bitmap_alloc(), left = hwloc_bitmap_alloc();

	if (!kept || !left)
		return -ENOMEM;
	hwloc_bitmap_zero(report->target);
	for (size_t i = 0; i < returns->nr; i++)
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

/* s390: a CPU on standby cannot come online before somebody configures it. Returns true for any. */
static bool leave_standby(struct report *report, const struct returns *returns)
{
	bool has_standby = false;

	for (size_t i = 0; i < returns->nr; i++) {
		unsigned int cpu;

		cpus_foreach(cpu, returns->list[i].scope) {
			if (!machine_has_cpu(&report->machine, cpu) ||
			    !report->machine.cpus[cpu].is_standby)
				continue;
			has_standby = true;
			hwloc_bitmap_clr(returns->list[i].scope, cpu);
			hwloc_bitmap_clr(report->target, cpu);
		}
	}
	return has_standby;
}

static int judge_return(const struct session *session, struct report *report, const struct returns *returns)
{
	const struct operation *first = returns->nr ? returns->list[0].operation : NULL;

	return judge(session, report, preflight_return, first ? first->places : NULL,
		     first ? first->nr_places : 0);
}

static int return_one(struct session *session, struct report *report, struct returning *returning,
		      enum outcome *ret_outcome)
{
	struct step_env env;
	struct run *run = add_run(report, returning->operation);
	int r;

	if (!run)
		return -ENOMEM;
	init_env(session, report, &env);
	env.target = returning->scope;
	env.is_return = true;
	env.operation = returning->operation->id;
	r = list_others(&report->journals, returning->operation, (const struct operation ***)&env.others,
			&env.nr_others);
	if (!r && hwloc_bitmap_intersects(returning->scope, report->target))
		r = plan_return(&env, returning->operation);
	run->env = &env;
	*ret_outcome = OUTCOME_DONE;
	if (!r && !report->options->request.dry_run)
		r = execute(session, run, run_return, ret_outcome);
	run->env = NULL;
	if (!r && !report->options->request.dry_run)
		r = operation_update_claim(returning->operation);
	free((void *)env.others);
	return r;
}

static int return_all(struct session *session, struct report *report, struct returns *returns)
{
	bool has_standby = leave_standby(report, returns), has_failed = has_standby;
	enum outcome outcome = OUTCOME_DONE;
	int r = 0;

	for (size_t i = 0; !r && outcome != OUTCOME_STUCK && i < returns->nr; i++) {
		if (watcher_interrupts(session->watcher)) {
			has_failed = true;
			break;
		}
		r = return_one(session, report, &returns->list[i], &outcome);
		has_failed |= outcome != OUTCOME_DONE;
		if (returns->list[i].is_adopted) {
			/* the report shows it, so it must outlive the list */
			returns->list[i].is_adopted = false;
		}
	}
	if (outcome == OUTCOME_STUCK)
		conclude(report, VERDICT_STUCK, EXIT_FAILED);
	else if (has_failed)
		conclude(report, VERDICT_FAILED, EXIT_FAILED);
	else if (report->options->request.dry_run)
		conclude(report, VERDICT_READY, EXIT_DONE);
	else
		conclude(report, VERDICT_DONE, EXIT_DONE);
	return r;
}

static int note_unknown(struct report *report)
{
	_cleanup_cpus_ hwloc_bitmap_t unknown = hwloc_bitmap_alloc();
	_cleanup_free_ char *list = NULL;

	if (!unknown)
		return -ENOMEM;
	find_unknown(report, unknown);
	if (cpus_is_empty(unknown))
		return 0;
	list = cpus_format(unknown);
	return list && findings_add(&report->findings, "offline-unknown", SEVERITY_NOTE, unknown,
				    "Bring them back by number: --restore --cpu LIST.",
				    "CPUs %s are offline and no journal knows them", list) ?
		       0 :
		       -ENOMEM;
}

static int restore_chosen(struct session *session, struct report *report, struct returns *returns)
{
	int r = find_returning(report, returns);

	accept_unusable(report, returns);
	if (!r)
		r = judge_return(session, report, returns);
	if (r || is_refused(report))
		return r;
	if (!returns->nr) {
		conclude(report, VERDICT_NOTHING_TO_DO, EXIT_DONE);
		return note_unknown(report);
	}
	r = report->options->request.dry_run ? 0 : take_lock(session, report);
	if (r)
		return r > 0 ? 1 : 0;
	return return_all(session, report, returns);
}

static int restore(struct session *session, struct report *report)
{
	struct returns returns = { 0 };
	int r;

	do {
		returns_free(&returns);
		r = gather(session, report);
		if (!r)
			r = choose(session, report, &returns);
		if (!r && !is_refused(report))
			r = restore_chosen(session, report, &returns);
	} while (r > 0);
	returns_free(&returns);
	return r;
}

/* ---- status and list --------------------------------------------------------------------------------- */

static int status(struct session *session, struct report *report)
{
	int r = gather(session, report);

	if (r)
		return r;
	findings_sort(&report->findings);
	conclude(report, VERDICT_DONE, EXIT_DONE);
	return 0;
}

static int list(struct session *session, struct report *report)
{
	int r = gather(session, report);

	if (!r && report->options->request.nr_selectors)
		r = resolve(session, report);
	if (r)
		return r;
	hwloc_bitmap_copy(report->target, report->selection.target ? report->selection.target :
								     report->target);
	/* only a selection that means nothing is an error here: whether it may go is not asked */
	conclude(report, VERDICT_DONE, EXIT_DONE);
	for (size_t i = 0; i < report->findings.nr; i++)
		if (report->findings.list[i].is_invalid)
			conclude(report, VERDICT_INVALID, EXIT_INVALID);
	findings_sort(&report->findings);
	return 0;
}

/* ---- the table ------------------------------------------------------------------------------------------ */

int actions_run(struct session *session, struct report *report)
{
	static int (*const actions[])(struct session *, struct report *) = {
		[ACTION_OFFLINE] = offline,
		[ACTION_RESTORE] = restore,
		[ACTION_STATUS] = status,
		[ACTION_LIST] = list,
	};
	int r;

	report->target = hwloc_bitmap_alloc();
	report->survivors = hwloc_bitmap_alloc();
	if (!report->target || !report->survivors)
		return -ENOMEM;
	r = actions[report->options->request.action](session, report);
	if (r == -EINVAL && findings_has(&report->findings, SEVERITY_REFUSE)) {
		conclude(report, VERDICT_INVALID, EXIT_INVALID);
		r = 0;
	}
	return r;
}

void session_close(struct session *session)
{
	state_close(session->state);
	root_close(session->root);
	free(session->boot_id);
}

static bool is_journalled(const struct report *report, const struct operation *operation)
{
	return operation >= report->journals.list && operation < report->journals.list + report->journals.nr;
}

void report_free(struct report *report)
{
	for (size_t i = 0; i < report->nr_runs; i++) {
		hwloc_bitmap_free(report->runs[i].changed);
		if (is_journalled(report, report->runs[i].operation))
			continue;
		operation_free(report->runs[i].operation);
		free(report->runs[i].operation);
	}
	free(report->runs);
	forget(report);
	hwloc_bitmap_free(report->target);
	hwloc_bitmap_free(report->survivors);
}
