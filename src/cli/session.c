/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session.c - what every action does: read the machine and the journals, judge, lock, run */
#include "cli/session.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "host/hotplug.h"
#include "host/kmsg.h"
#include "host/methods.h"
#include "host/privileges.h"
#include "host/prober.h"
#include "host/writer.h"

#define WAIT_STEP      0.2
#define REPORT_SECONDS 5.0

/* ---- reading everything ------------------------------------------------------------------ */

static int read_boot_id(const struct root *root, char **ret_boot_id)
{
	int r = root_read(root, ret_boot_id, "proc/sys/kernel/random/boot_id");

	if (r == -ENOENT) {
		*ret_boot_id = strdup("");
		r = *ret_boot_id ? 0 : -ENOMEM;
	}
	return r;
}

static int refuse_state_directory(struct report *report, int r)
{
	return findings_add(&report->findings, "state-directory", SEVERITY_REFUSE, NULL,
			    "It must be a directory, not a link, that only root can write.",
			    "the state directory %s cannot be used: %s", report->options->state_dir,
			    strerror(-r))
		       ? 0
		       : -ENOMEM;
}

/* Nothing is made here: reading must not leave a directory behind. */
static int open_state(struct session *session, struct report *report)
{
	int r;

	if (session->state)
		return 0;
	r = state_open(session->root, report->options->state_dir, false, &session->state);
	return r == -ENOENT ? 0 : r;
}

static int refuse_root(struct report *report, int r)
{
	const char *sysroot = report->options->sysroot;
	const struct finding *finding;

	if (r == -EXDEV)
		finding = findings_add(
			&report->findings, "sysroot", SEVERITY_REFUSE, NULL,
			"Mount proc on /proc where cpuoff runs, as in a chroot.",
			"/proc/self/fd cannot be read, which tells what lies inside of %s",
			sysroot);
	else
		finding = findings_add(&report->findings, "sysroot", SEVERITY_REFUSE, NULL,
				       "Name a directory that holds a machine's /sys and /proc.",
				       "%s is not the root of a machine, which needs "
				       "sys/devices/system/cpu: %s",
				       sysroot, strerror(-r));
	return finding ? -EINVAL : -ENOMEM;
}

static int open_root(struct session *session, struct report *report)
{
	int r;

	if (session->root)
		return 0;
	r = root_open(report->options->sysroot, &session->root);
	if (!r)
		return read_boot_id(session->root, &session->boot_id);
	return refuse_root(report, r);
}

/* An errno alone helps nobody: the file that it is about is named where one is to blame. */
int session_refuse_unreadable(const struct session *session, struct report *report, int r)
{
	const char *file = root_failed_file(session->root, r);
	const char *sysroot = root_is_live(session->root) ? "" : report->options->sysroot;
	const char *what = r == -EINVAL	  ? "its text is not what the kernel writes"
			   : r == -ERANGE ? "a number in it is too large"
			   : r == -EXDEV  ? "it is a link that leads out of the copy"
					  : strerror(-r);
	const struct finding *finding;

	if (r == -ENOMEM)
		return r;
	if (file)
		finding = findings_add(&report->findings, "machine-unreadable", SEVERITY_REFUSE,
				       NULL, "Look at this file.", "%s/%s cannot be read: %s",
				       sysroot, file, what);
	else
		finding = findings_add(&report->findings, "machine-unreadable", SEVERITY_REFUSE,
				       NULL, NULL,
				       "the CPUs below %s/sys/devices/system/cpu cannot be read: "
				       "%s",
				       sysroot, strerror(-r));
	return finding ? -EINVAL : -ENOMEM;
}

int session_gather(struct session *session, struct report *report)
{
	int r;

	report_forget(report);
	r = open_root(session, report);
	if (r)
		return r;
	r = topology_read_machine(session->root, &report->machine);
	if (r)
		return session_refuse_unreadable(session, report, r);
	r = open_state(session, report);
	if (!r)
		r = journal_load_all(session->state, session->boot_id, &report->findings,
				     &report->journals);
	return r && r != -ENOMEM ? refuse_state_directory(report, r) : r;
}

/* ---- records ----------------------------------------------------------------------------- */

static struct finding *add_records_finding(struct report *report, enum severity severity, int r)
{
	return findings_add(&report->findings, "records-directory", severity, NULL,
			    "It must be a directory, not a link, that only root can write.",
			    "the records in %s, of operations that are done again after a reboot, "
			    "cannot be used: %s",
			    report->options->persist_dir, strerror(-r));
}

static int open_records(struct session *session, struct report *report, bool create,
			enum severity severity)
{
	struct finding *finding;
	int r;

	if (session->records)
		return 0;
	r = state_open_private(session->root, report->options->persist_dir, create,
			       &session->records);
	if (!r || (r == -ENOENT && !create))
		return 0;
	if (root_is_shortage(r))
		return r;
	finding =
		add_records_finding(report, r == -EACCES && !create ? SEVERITY_NOTE : severity, r);
	if (!finding)
		return -ENOMEM;
	finding->is_permission = r == -EACCES || r == -EROFS;
	return 0;
}

int session_gather_records(struct session *session, struct report *report, enum severity severity)
{
	int r = open_records(session, report, false, severity);

	return r ? r
		 : persist_load_all(session->records, severity, &report->findings,
				    &report->records);
}

int session_begin_record(struct session *session, struct report *report,
			 const struct operation *operation, struct record *ret_record)
{
	const struct request *request = &report->options->request;
	struct finding *finding;
	int r;

	if (!request->persist)
		return 0;
	r = open_records(session, report, !request->dry_run, SEVERITY_REFUSE);
	if (r || request->dry_run || !session->records)
		return r;
	state_sweep(session->records);
	records_free(&report->records);
	r = persist_load_all(session->records, SEVERITY_NOTE, &report->findings, &report->records);
	if (!r)
		r = record_new(session->root, &report->machine, &report->records, operation,
			       request, ret_record);
	if (r)
		return r;
	/* the clock may have been set back since that one */
	r = state_has(session->records, operation->id)
		    ? -EEXIST
		    : record_prepare(session->records, ret_record);
	if (!r)
		return 0;
	record_free(ret_record);
	if (r == -ENOMEM)
		return r;
	finding = add_records_finding(report, SEVERITY_REFUSE, r);
	if (finding)
		finding->is_permission = r == -EACCES || r == -EROFS;
	return finding ? 0 : -ENOMEM;
}

static int save_record(const struct session *session, struct record *record,
		       hwloc_const_bitmap_t kept)
{
	if (hwloc_bitmap_isincluded(record->operation.claim, kept))
		return state_commit(session->records, record->operation.id);
	state_discard(session->records, record->operation.id);
	return record_keep(session->records, record, kept);
}

int session_end_record(struct session *session, struct report *report, struct record *record,
		       hwloc_const_bitmap_t kept)
{
	struct finding *finding = NULL;
	int r = 0;

	if (!record->operation.id)
		return 0;
	if (kept)
		r = save_record(session, record, kept);
	else
		state_discard(session->records, record->operation.id);
	report->is_recorded = kept && !r;
	record_free(record);
	if (!r)
		return 0;
	report_conclude(report, VERDICT_PARTIAL, EXIT_PARTIAL);
	finding = findings_add(&report->findings, "record-failed", SEVERITY_WARN, NULL,
			       "Take them back with --restore, and repair the disk.",
			       "the CPUs are off, but not over a reboot: the record could not be "
			       "written to %s: %s",
			       state_path(session->records), strerror(-r));
	return finding ? 0 : -ENOMEM;
}

/* ---- work -------------------------------------------------------------------------------- */

static void report_checking(const struct session *session, const char *object)
{
	watcher_progress(session->watcher,
			 &(struct progress){ .phase = PHASE_CHECKING, .object = object });
}

int session_read_tasks(struct session *session, struct report *report)
{
	if (report->tasks.nr)
		return 0;
	report_checking(session, "tasks");
	return tasks_read(session->root, &report->machine, &report->cgroups, &report->tasks);
}

int session_gather_cpusets(struct session *session, struct report *report)
{
	int r;

	report_checking(session, "the machine");
	r = session_gather(session, report);
	if (r)
		return r;
	r = cgroups_read(session->root, &report->machine, &report->cgroups);
	return r ? session_refuse_unreadable(session, report, r) : 0;
}

int session_gather_work(struct session *session, struct report *report)
{
	int r = session_gather_cpusets(session, report);

	if (r)
		return r;
	r = session_read_tasks(session, report);
	return r ? session_refuse_unreadable(session, report, r) : 0;
}

int session_read_again(struct session *session, struct report *report)
{
	int r;

	tasks_free(&report->tasks);
	cgroups_free(&report->cgroups);
	machine_free(&report->machine);
	r = topology_read_machine(session->root, &report->machine);
	return r ? r : cgroups_read(session->root, &report->machine, &report->cgroups);
}

/* ---- judging ----------------------------------------------------------------------------- */

int session_resolve(struct session *session, struct report *report)
{
	const struct request *request = &report->options->request;
	const struct operation **operations = NULL;
	struct topology *topology = NULL;
	size_t nr;
	int r = session_list_others(&report->journals, NULL, &operations, &nr);

	if (!r && select_needs_topology(request) &&
	    topology_load(session->root, request_has(request, SELECT_L3_OF),
			  request_has(request, SELECT_NEAR), &topology))
		topology = NULL; /* the selection says so, and goes on with the kernel's files */
	if (!r)
		r = select_resolve(&report->options->request, session->root, &report->machine,
				   topology, operations, nr, &report->findings, &report->selection);
	topology_free(topology);
	free(operations);
	return r;
}

int session_judge(const struct session *session, struct report *report, bool is_return,
		  const struct place *places, size_t nr_places, bool frees_smt)
{
	struct facts facts = {
		.request = &report->options->request,
		.machine = &report->machine,
		.target = report->target,
		.survivors = report->survivors,
		.tasks = &report->tasks,
		.cgroups = &report->cgroups,
		.places = places,
		.nr_places = nr_places,
		.frees_smt = frees_smt,
	};
	int r;

	report_checking(session, "the rules");
	r = facts_read(session->root, is_return, &facts);

	if (!r)
		r = (is_return ? preflight_return : preflight_offline)(&facts, &report->findings);
	facts_free(&facts);
	return r;
}

static int add_unreadable(const struct session *session, struct report *report, int r)
{
	const char *file = root_failed_file(session->root, r);
	_cleanup_free_ char *message = util_asprintf("%s%s cannot be read: %s", file ? "/" : "",
						     file ? file : "the hardware", strerror(-r));

	return message ? service_add_unchecked(&report->service, "machine", message) : -ENOMEM;
}

int session_judge_service(const struct session *session, struct report *report,
			  hwloc_const_bitmap_t online)
{
	const struct selection *selection = &report->selection;
	_cleanup_cpus_ hwloc_bitmap_t part = hwloc_bitmap_alloc();
	const struct operation **operations = NULL;
	size_t nr;
	int r = part ? session_list_others(&report->journals, NULL, &operations, &nr) : -ENOMEM;

	if (!r && hwloc_bitmap_or(part, selection->target, selection->already_offline))
		r = -ENOMEM;
	if (!r)
		r = service_judge(session->root, &report->machine, operations, nr, part, online,
				  &report->service);
	/* what cannot be read is in the way, too */
	if (r && r != -ENOMEM)
		r = add_unreadable(session, report, r);
	report->has_service = !r;
	free(operations);
	return r;
}

int session_refuse_changed(struct report *report)
{
	return findings_add(&report->findings, "online-changed", SEVERITY_REFUSE, NULL,
			    "Run cpuoff again.",
			    "the set of online CPUs changed after the selection was resolved, "
			    "or cannot be read any more")
		       ? 0
		       : -ENOMEM;
}

static bool is_claimed(const struct report *report, unsigned int cpu)
{
	for (size_t i = 0; i < report->journals.nr; i++)
		if (hwloc_bitmap_isset(report->journals.list[i].claim, cpu))
			return true;
	for (size_t i = 0; i < report->nr_runs; i++)
		if (hwloc_bitmap_isset(report->runs[i].operation->claim, cpu))
			return true;
	return false;
}

static int find_taken(struct session *session, struct report *report, hwloc_bitmap_t ret_taken)
{
	static struct online_mask mask;
	struct step_env env;
	unsigned int cpu;

	for (size_t i = 0; i < report->nr_runs; i++)
		if (operation_update_claim(report->runs[i].operation))
			return -ENOMEM;
	session_init_env(session, report, &env);
	if (hotplug_read_online(&env, &mask))
		return 0;
	cpus_foreach(cpu, report->target)
		if (!cpus_text_has(mask.text, cpu) && !is_claimed(report, cpu) &&
		    hwloc_bitmap_set(ret_taken, cpu))
			return -ENOMEM;
	return 0;
}

int session_note_taken(struct session *session, struct report *report)
{
	_cleanup_cpus_ hwloc_bitmap_t taken = hwloc_bitmap_alloc();
	_cleanup_free_ char *list = NULL;

	if (report->options->request.dry_run)
		return 0;
	if (!taken || find_taken(session, report, taken))
		return -ENOMEM;
	if (!report->nr_runs || cpus_is_empty(taken))
		return 0;
	list = cpus_format(taken);
	return list && findings_add(
			       &report->findings, "cpu-taken", SEVERITY_NOTE, taken,
			       "Bring them back by number, with --restore --cpu LIST, once "
			       "nobody needs them off.",
			       "CPUs %s were taken offline by somebody else meanwhile, and are "
			       "left to them",
			       list)
		       ? 0
		       : -ENOMEM;
}

int session_check_confirmed(struct report *report)
{
	if (!report->confirmed || hwloc_bitmap_isequal(report->confirmed, report->target))
		return 0;
	return session_refuse_changed(report);
}

/* ---- the lock ---------------------------------------------------------------------------- */

static int refuse_locked(struct report *report, pid_t holder)
{
	struct finding *finding =
		findings_add(&report->findings, "locked", SEVERITY_REFUSE, NULL,
			     "Wait for it with --wait, or run cpuoff again later.",
			     "another cpuoff is at work (process %d)", (int)holder);

	report_conclude(report, VERDICT_REFUSED, EXIT_LOCKED);
	return finding ? REPORT_CONCLUDED : -ENOMEM;
}

/* Only the dead may be waited for without --wait, and only to repair what they left. */
static bool may_wait(const struct report *report, int lock_error)
{
	const struct request *request = &report->options->request;

	return request->wait || (lock_error == -EBUSY && request->action == ACTION_RESTORE);
}

/* A signal while nothing is done yet. Returns REPORT_CONCLUDED or 0. */
static int check_signal(const struct session *session, struct report *report)
{
	if (!watcher_interrupts(session->watcher))
		return 0;
	report_conclude(report, VERDICT_REFUSED, report_signal_status(EXIT_REFUSED));
	return REPORT_CONCLUDED;
}

/* Says what is waited for since @start, every five seconds. */
static void report_wait(const struct session *session, const char *object, double start,
			pid_t holder, double *reported)
{
	if (util_now() - *reported < REPORT_SECONDS)
		return;
	*reported = util_now();
	watcher_progress(session->watcher, &(struct progress){
						   .phase = PHASE_WAITING,
						   .object = object,
						   .waited = *reported - start,
						   .pid = holder,
					   });
}

static int wait_for_lock(struct session *session, struct report *report)
{
	double start = util_now(), reported = start - REPORT_SECONDS;
	pid_t holder;
	int r;

	while ((r = state_lock(session->state, &holder)) == -EAGAIN || r == -EBUSY) {
		if (!may_wait(report, r))
			return refuse_locked(report, holder);
		if (check_signal(session, report))
			return REPORT_CONCLUDED;
		report_wait(session, "the lock", start, holder, &reported);
		util_sleep(WAIT_STEP);
	}
	return r;
}

static int refuse_state(struct report *report, int r)
{
	struct finding *finding =
		findings_add(&report->findings, "permission", SEVERITY_REFUSE, NULL,
			     "Run cpuoff as root, with a state directory that can be written.",
			     "the state directory %s cannot be used: %s",
			     report->options->state_dir, strerror(-r));

	if (!finding)
		return -ENOMEM;
	finding->is_permission = r == -EACCES || r == -EROFS;
	report_is_refused(report);
	return REPORT_CONCLUDED;
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
	return nr != report->journals.nr_files || known != report->journals.nr;
}

int session_lock(struct session *session, struct report *report)
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
	if (r == REPORT_CONCLUDED)
		return r;
	if (r)
		return refuse_state(report, r);
	session->is_locked = true;
	return util_now() - start >= WAIT_STEP || journals_changed(session, report);
}

int session_lock_early(struct session *session, struct report *report)
{
	int r = open_root(session, report);

	if (r || session->is_locked || report->options->request.dry_run ||
	    state_open(session->root, report->options->state_dir, false, &session->state) ||
	    !state_has_lock(session->state))
		return r;
	r = wait_for_lock(session, report);
	if (r == REPORT_CONCLUDED)
		return r;
	/* whoever may not even lock is told so once it is known what for */
	session->is_locked = !r;
	return 0;
}

void session_unlock(struct session *session)
{
	state_close(session->state);
	session->state = NULL;
	session->is_locked = false;
}

int session_wait_present(struct session *session, struct report *report, hwloc_const_bitmap_t cpus,
			 const char *object)
{
	_cleanup_cpus_ hwloc_bitmap_t present = hwloc_bitmap_alloc();
	double start = util_now(), reported = start - REPORT_SECONDS;
	int r = present ? 0 : -ENOMEM;

	while (!r) {
		r = root_read_cpulist(session->root, report->machine.nr_cpus - 1, present,
				      "sys/devices/system/cpu/present");
		if (!r && hwloc_bitmap_isincluded(cpus, present))
			return 1;
		if (!r)
			r = check_signal(session, report);
		report_wait(session, object, start, 0, &reported);
		util_sleep(WAIT_STEP);
	}
	return r;
}

/* ---- planning and running ---------------------------------------------------------------- */

void session_init_env(struct session *session, struct report *report, struct step_env *ret_env)
{
	*ret_env = (struct step_env){
		.root = session->root,
		.machine = &report->machine,
		.request = &report->options->request,
		.watcher = session->watcher,
		.target = report->target,
		.survivors = report->survivors,
		.findings = &report->findings,
		.tasks = &report->tasks,
		.cgroups = &report->cgroups,
		.last_change = session->last_change,
	};
}

static int refuse_way(struct report *report, const char *what, const char *name,
		      const char *why_not)
{
	return findings_add(&report->findings, "way-unusable", SEVERITY_REFUSE, NULL,
			    "Leave the choice to cpuoff with auto.", "the %s %s cannot be used: %s",
			    what, name, why_not)
		       ? 0
		       : -ENOMEM;
}

int session_pick_ways(struct report *report, struct step_env *env, const struct evacuation *failed)
{
	const struct request *request = env->request;
	char why_not[512] = "";
	int r = evacuations_pick(request->migrate, env, failed, &env->evacuation, why_not,
				 sizeof(why_not));

	if (r == -EOPNOTSUPP)
		return refuse_way(report, "way of migration", request->migrate, why_not);
	if (r)
		return r;
	r = methods_pick(request->method, env, &env->method, why_not, sizeof(why_not));
	if (r == -EOPNOTSUPP)
		return refuse_way(report, "offline method", request->method, why_not);
	if (r)
		return r;
	report->evacuation = env->evacuation->name;
	report->method = env->method->name;
	return 0;
}

uint64_t session_lacking(const struct session *session, const struct report *report)
{
	return report->options->request.dry_run ? 0 : privileges_lacking(session->root);
}

int session_list_others(const struct journals *journals, const struct operation *own,
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

static int note_prober(struct report *report, int error)
{
	struct finding *finding = NULL;

	if (error == -ENODATA)
		finding = findings_add(&report->findings, "measure-left-out", SEVERITY_NOTE, NULL,
				       NULL,
				       "wake-up delays are not measured: this is the copy of a "
				       "machine");
	else if (error)
		finding =
			findings_add(&report->findings, "measure-left-out", SEVERITY_NOTE, NULL,
				     NULL, "wake-up delays are not measured: %s", strerror(-error));
	else
		finding =
			findings_add(&report->findings, "measure-not-realtime", SEVERITY_NOTE, NULL,
				     "Run cpuoff where SCHED_FIFO is allowed, with a real-time "
				     "limit (RLIMIT_RTPRIO) "
				     "and cpu cgroups that permit it.",
				     "SCHED_FIFO was refused: the wake-up delays that are measured "
				     "hold the waits "
				     "for other tasks, too");
	return finding ? 0 : -ENOMEM;
}

/* A measurement is a help, not a condition. *@ret_prober is NULL where there is none. */
static int start_prober(const struct session *session, struct report *report,
			const struct step_env *env, struct prober **ret_prober)
{
	bool is_first = !report->measurement;
	struct prober *prober = NULL;
	int r;

	if (!env->request->measure)
		return 0;
	r = prober_new(session->root, env->machine, env->survivors, &prober);
	if (!r)
		r = prober_start(prober);
	if (r) {
		prober_free(prober);
		return r == -ENOMEM ? r : note_prober(report, r);
	}
	*ret_prober = prober;
	if (report_add_measurement(report))
		return -ENOMEM;
	hwloc_bitmap_or(report->measurement->cpus, report->measurement->cpus, prober_cpus(prober));
	report->measurement->is_realtime =
		prober_is_realtime(prober) && (is_first || report->measurement->is_realtime);
	return is_first && !prober_is_realtime(prober) ? note_prober(report, 0) : 0;
}

int session_execute(struct session *session, struct report *report, struct run *run,
		    enum outcome (*direction)(struct run *), enum outcome *ret_outcome)
{
	struct prober *prober = NULL;
	_cleanup_close_ int log = kmsg_open(session->root);
	int r = journal_new(session->state, run->operation, &run->journal);

	if (!r && run->env->request->profile && !report->profile)
		r = profile_new(report->machine.nr_cpus, cpus_count(report->target),
				&report->profile);
	run->env->profile = report->profile;
	if (!r) {
		session->failed = "the process that writes could not be started";
		r = writer_start(session->root, &run->env->writer);
	}
	if (!r) {
		session->failed = NULL;
		state_note_writer(session->state, writer_pid(run->env->writer));
		/* only now: threads do not live on in a child */
		r = start_prober(session, report, run->env, &prober);
		if (!r) {
			report->has_run = true;
			report_conclude(report, VERDICT_FAILED,
					EXIT_FAILED); /* until it is known */
			*ret_outcome = direction(run);
		}
		if (prober)
			prober_stop(prober, r ? NULL : &report->measurement->latency);
		prober_free(prober);
		session->last_change = run->env->last_change;
		if (!session->privileges_error)
			session->privileges_error = writer_limit_error(run->env->writer);
		writer_stop(run->env->writer);
		run->kernel_log = log < 0 ? NULL : kmsg_read(log);
	}
	journal_free(run->journal);
	run->journal = NULL;
	return r;
}

void session_close(struct session *session)
{
	state_close(session->state);
	state_close(session->records);
	root_close(session->root);
	free(session->boot_id);
	*session = (struct session){
		.watcher = session->watcher,
		.privileges_error = session->privileges_error,
	};
}
