/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hooks.c - the administrator's programs before and after CPUs go or come back */
#include "config.h"

#include "cli/hooks.h"

#include <errno.h>
#include <string.h>

#include "cli/json.h"
#include "cli/layout.h"
#include "cli/progress.h"
#include "host/hooks.h"
#include "host/hotplug.h"

#define REMEDY "See what it has said; --no-hooks leaves hooks out."

static bool is_return(const struct report *report)
{
	return report->options->request.action == ACTION_RESTORE;
}

static const char *name_turn(const struct report *report, bool is_before)
{
	static const char *const names[2][2] = { { "post-offline", "pre-offline" },
						 { "post-restore", "pre-restore" } };

	return names[is_return(report)][is_before];
}

/* Those of the copy of a machine are somebody else's: they are run only where they are asked for.
 */
static const char *find_dir(const struct session *session, const struct report *report)
{
	if (report->options->request.no_hooks)
		return NULL;
	if (report->options->hooks_dir)
		return report->options->hooks_dir;
	return root_is_live(session->root) ? HOOKS_DIR : NULL;
}

/* ---- which there are --------------------------------------------------------------------- */

static int add_hook(struct report *report, const char *name)
{
	struct hook *list = util_grow(report->hooks, report->nr_hooks, sizeof(*list));

	if (!list)
		return -ENOMEM;
	report->hooks = list;
	list[report->nr_hooks] = (struct hook){ .name = strdup(name), .state = "planned" };
	return list[report->nr_hooks].name ? (report->nr_hooks++, 0) : -ENOMEM;
}

static int find_turn(const struct session *session, struct report *report, const char *turn)
{
	_cleanup_names_ struct names names = { 0 };
	_cleanup_free_ char *unsafe = NULL;
	int r = hooks_list(session->root, find_dir(session, report), turn, &names, &unsafe);

	if (r > 0)
		return findings_add(&report->findings, "hook-unsafe", SEVERITY_REFUSE, NULL,
				    "Put it right; --no-hooks leaves hooks out.",
				    "hooks are not run: %s", unsafe)
			       ? 0
			       : -ENOMEM;
	for (size_t i = 0; !r && i < names.nr; i++)
		r = add_hook(report, names.list[i]);
	return r;
}

static int find_all(const struct session *session, struct report *report)
{
	int r;

	report->has_hooks = true;
	if (!find_dir(session, report))
		return 0;
	r = find_turn(session, report, name_turn(report, true));
	return r ? r : find_turn(session, report, name_turn(report, false));
}

static bool is_of(const struct hook *hook, const char *turn)
{
	size_t length = strlen(turn);

	return !strncmp(hook->name, turn, length) && hook->name[length] == '/';
}

/* ---- what they are told ------------------------------------------------------------------ */

#define NR_VARIABLES 16

struct environment {
	char *list[NR_VARIABLES + 1];
	size_t nr;
	bool is_incomplete;
};

_printf_(2, 3) static void set(struct environment *environment, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (environment->nr < NR_VARIABLES)
		environment->list[environment->nr] = util_vasprintf(fmt, ap);
	va_end(ap);
	if (environment->nr < NR_VARIABLES && environment->list[environment->nr])
		environment->nr++;
	else
		environment->is_incomplete = true;
}

static void set_cpus(struct environment *environment, const char *name, hwloc_const_bitmap_t cpus)
{
	_cleanup_free_ char *list = cpus_format(cpus);

	set(environment, "%s=%s", name, list ? list : "");
	environment->is_incomplete |= !list;
}

static void environment_free(struct environment *environment)
{
	while (environment->nr)
		free(environment->list[--environment->nr]);
}

/* The sockets and nodes of the CPUs that change; of those that are off the journals know them. */
static int find_places(const struct report *report, hwloc_bitmap_t ret_sockets,
		       hwloc_bitmap_t ret_nodes)
{
	unsigned int cpu;
	int r = 0;

	cpus_foreach(cpu, report->target) {
		const struct cpu *facts = &report->machine.cpus[cpu];
		long socket = facts->socket, node = facts->node;

		for (size_t i = 0; socket == CPU_ID_NONE && i < report->journals.nr; i++) {
			const struct place *place =
				operation_find_place(&report->journals.list[i], cpu);

			socket = place ? place->socket : socket;
			node = place ? place->node : node;
		}
		if (socket != CPU_ID_NONE)
			r |= hwloc_bitmap_set(ret_sockets, (unsigned int)socket);
		if (node != CPU_ID_NONE)
			r |= hwloc_bitmap_set(ret_nodes, (unsigned int)node);
	}
	return r ? -ENOMEM : 0;
}

static void set_places(const struct report *report, struct environment *environment)
{
	_cleanup_cpus_ hwloc_bitmap_t sockets = hwloc_bitmap_alloc(), nodes = hwloc_bitmap_alloc();

	if (!sockets || !nodes || find_places(report, sockets, nodes)) {
		environment->is_incomplete = true;
		return;
	}
	set_cpus(environment, "CPUOFF_SOCKETS", sockets);
	set_cpus(environment, "CPUOFF_NODES", nodes);
}

/* The CPUs that are there and off at this moment. */
static void set_offline(struct session *session, struct report *report,
			struct environment *environment)
{
	static struct online_mask mask;
	_cleanup_cpus_ hwloc_bitmap_t offline = hwloc_bitmap_alloc();
	struct step_env env;
	unsigned int cpu;

	session_init_env(session, report, &env);
	if (!offline || hotplug_read_online(&env, &mask)) {
		environment->is_incomplete = true;
		return;
	}
	cpus_foreach(cpu, report->machine.present)
		if (!cpus_text_has(mask.text, cpu) && hwloc_bitmap_set(offline, cpu))
			environment->is_incomplete = true;
	set_cpus(environment, "CPUOFF_OFFLINE", offline);
}

static const char *name_result(const struct report *report)
{
	switch (report->verdict) {
	case VERDICT_DONE:
	case VERDICT_NOTHING_TO_DO:
		return "done";
	case VERDICT_PARTIAL:
		return "partial";
	default:
		return "failed";
	}
}

static int make_environment(struct session *session, struct report *report, bool is_before,
			    struct environment *environment)
{
	set(environment, "PATH=/usr/sbin:/usr/bin:/sbin:/bin");
	set(environment, "LC_ALL=C");
	set(environment, "CPUOFF_HOOK=%s", name_turn(report, is_before));
	set(environment, "CPUOFF_ACTION=%s", is_return(report) ? "restore" : "offline");
	set(environment, "CPUOFF_OPERATION_ID=%s",
	    report->operation_ids ? report->operation_ids : "");
	set(environment, "CPUOFF_SYSROOT=%s", root_path(session->root));
	set(environment, "CPUOFF_COUNT=%u", cpus_count(report->target));
	set_cpus(environment, "CPUOFF_CPUS", report->target);
	set_cpus(environment, "CPUOFF_SURVIVORS", report->survivors);
	set_places(report, environment);
	set_offline(session, report, environment);
	if (!is_before) {
		set(environment, "CPUOFF_RESULT=%s", name_result(report));
		set(environment, "CPUOFF_MACHINE=%s", report_format_machine(report));
		set(environment, "CPUOFF_EXIT_STATUS=%d", report->exit_status);
	}
	return environment->is_incomplete ? -ENOMEM : 0;
}

/* ---- running them ------------------------------------------------------------------------ */

static void tell(void *data, const char *name, const char *line)
{
	const struct session *session = data;

	progress_clear(session->watcher->data);
	layout_complain("%s: %s", name, line);
}

static int add_failure(struct report *report, struct hook *hook, const char *failure,
		       enum severity severity)
{
	hook->state = "failed";
	hook->failure = strdup(failure);
	return hook->failure && findings_add(&report->findings, "hook-failed", severity, NULL,
					     REMEDY, "the hook %s failed: %s", hook->name, failure)
		       ? 0
		       : -ENOMEM;
}

static int run_one(struct session *session, struct report *report, struct hook *hook,
		   struct hook_run *run, enum severity severity)
{
	int r;

	run->name = hook->name;
	r = hooks_run(session->root, run);
	if (r == -ENOMEM)
		return r;
	hook->seconds = run->seconds;
	if (r || run->failure[0])
		return add_failure(report, hook, r ? strerror(-r) : run->failure, severity);
	hook->state = "done";
	return 0;
}

/* One before that fails ends it; those after are all run. */
static int run_turn(struct session *session, struct report *report, bool is_before)
{
	struct environment environment = { 0 };
	_cleanup_free_ char *input = json_format(report);
	enum severity severity = is_before ? SEVERITY_REFUSE : SEVERITY_WARN;
	struct hook_run run = { .dir = find_dir(session, report),
				.environment = environment.list,
				.input = input,
				.timeout = report->options->request.hook_timeout,
				.watcher = session->watcher,
				.tell = tell,
				.data = session };
	int r = input ? make_environment(session, report, is_before, &environment) : -ENOMEM;

	for (size_t i = 0; !r && i < report->nr_hooks; i++) {
		struct hook *hook = &report->hooks[i];

		if (!is_of(hook, name_turn(report, is_before)))
			continue;
		r = run_one(session, report, hook, &run, severity);
		if (!r && is_before && hook->failure)
			break;
	}
	environment_free(&environment);
	if (!r && is_before && run.was_interrupted) {
		report_conclude(report, VERDICT_REFUSED, report_signal_status(EXIT_REFUSED));
		return REPORT_CONCLUDED;
	}
	return r;
}

static bool has_turn(const struct report *report, bool is_before)
{
	for (size_t i = 0; i < report->nr_hooks; i++)
		if (is_of(&report->hooks[i], name_turn(report, is_before)))
			return true;
	return false;
}

int hooks_find(const struct session *session, struct report *report)
{
	return report->has_hooks ? 0 : find_all(session, report);
}

bool hooks_are_to_run(const struct report *report)
{
	return !report->options->request.dry_run && !report->are_hooks_due &&
	       has_turn(report, true);
}

int hooks_before(struct session *session, struct report *report)
{
	bool are_to_run;
	int r = hooks_find(session, report);

	if (r || report->options->request.dry_run || report_is_refused(report))
		return r;
	are_to_run = hooks_are_to_run(report);
	report->are_hooks_due = true;
	if (!are_to_run)
		return 0;
	report_conclude(report, VERDICT_READY, EXIT_DONE);
	r = run_turn(session, report, true);
	if (r || report_is_refused(report))
		return r;
	return 1;
}

int hooks_after(struct session *session, struct report *report)
{
	if (!report->are_hooks_due || !has_turn(report, false))
		return 0;
	return run_turn(session, report, false);
}
