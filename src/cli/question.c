/* SPDX-License-Identifier: GPL-2.0-or-later */
/* question.c - --interactive: shows what would be done, and asks whether to do it */
#include "cli/question.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "cli/actions.h"
#include "cli/summary.h"
#include "cli/text.h"

#define ANSWER_LENGTH 16
/* A longer list of CPUs stands above the question, and not in it. */
#define LIST_LENGTH 40

/* ---- where to ask ------------------------------------------------------------------------ */

/* The terminal of the session, or the one that standard input is, with standard error beside it. */
struct terminal {
	int input;
	FILE *output;
};

static int terminal_open(struct terminal *ret_terminal)
{
	int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 && !isatty(STDIN_FILENO))
		return -ENOTTY;
	ret_terminal->input = fd < 0 ? STDIN_FILENO : fd;
	ret_terminal->output = fd < 0 ? stderr : fdopen(fd, "w");
	return ret_terminal->output ? 0 : -ENOMEM;
}

static void terminal_close(struct terminal *terminal)
{
	if (terminal->output && terminal->output != stderr)
		fclose(terminal->output);
}

/* Waits until there is something to read. A signal that comes before is not missed. Returns 0 or
 * -errno: -EINTR for a signal. */
static int await_input(int fd, const struct watcher *watcher)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	sigset_t held, before;
	int r;

	sigemptyset(&held);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGTERM);
	sigprocmask(SIG_BLOCK, &held, &before);
	r = watcher_interrupts(watcher) ? -EINTR : 0;
	if (!r && ppoll(&pollfd, 1, NULL, &before) < 0)
		r = -errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return r;
}

/* One line without its end, cut to what has room. Returns 1, 0 where it has no end, or -errno:
 * -EINTR for a signal. */
static int read_line(int fd, const struct watcher *watcher, char *ret_line, size_t size)
{
	size_t nr = 0;
	ssize_t n = -1;
	char c;
	int r;

	while (!(r = await_input(fd, watcher)) && (n = read(fd, &c, 1)) > 0 && c != '\n')
		if (nr + 1 < size)
			ret_line[nr++] = c;
	ret_line[nr] = '\0';
	/* the end of the input may come at the same moment */
	if (!r && watcher_interrupts(watcher))
		r = -EINTR;
	return r ? r : n < 0 ? -EIO : n > 0;
}

/* ---- what to ask ------------------------------------------------------------------------- */

static char *format_cpus(hwloc_const_bitmap_t cpus)
{
	_cleanup_free_ char *list = cpus_format(cpus);
	unsigned int count = cpus_count(cpus);

	if (!list || strlen(list) > LIST_LENGTH)
		return list ? util_asprintf("these %u CPUs", count) : NULL;
	return util_asprintf("CPU%s %s", count == 1 ? "" : "s", list);
}

static char *format_question(const struct report *plan)
{
	const struct request *request = &plan->options->request;
	_cleanup_free_ char *cpus = format_cpus(plan->target);

	if (!cpus)
		return NULL;
	if (request->action == ACTION_RESTORE)
		return cpus_is_empty(plan->target) ? util_asprintf("Undo what is left of %s?",
								   plan->runs[0].operation->id)
						   : util_asprintf("Bring %s back online?", cpus);
	if (cpus_is_empty(plan->target))
		return strdup("Keep these CPUs off until this operation is undone, too?");
	return util_asprintf("Take %s offline%s?", cpus, request->eject ? " and eject them" : "");
}

/* Returns 1 for yes, 0 for anything else, or -errno. */
static int ask(const struct terminal *terminal, const struct watcher *watcher,
	       const struct layout *layout, const struct report *plan)
{
	_cleanup_free_ char *question = format_question(plan);
	char answer[ANSWER_LENGTH];
	int r;

	if (!question)
		return -ENOMEM;
	fputc('\n', layout->file);
	layout_print(layout, STYLE_STRONG, "%s [y/N] ", question);
	fflush(layout->file);
	r = read_line(terminal->input, watcher, answer, sizeof(answer));
	if (r <= 0)
		fputc('\n', layout->file);
	/* no answer; or the session is gone, and with it who could have answered */
	if (r < 0)
		return r == -EINTR ? r : 0;
	return !strcasecmp(answer, "y") || !strcasecmp(answer, "yes");
}

static int show_and_ask(const struct terminal *terminal, const struct watcher *watcher,
			const struct report *plan)
{
	struct layout layout;

	layout_init(terminal->output, plan->options, &layout);
	text_print_findings(&layout, plan);
	summary_print(&layout, plan);
	if (plan->options->verbose)
		summary_print_steps(&layout, plan);
	summary_print_service(&layout, plan, "once they are off: ");
	return ask(terminal, watcher, &layout, plan);
}

/* ---- the whole --------------------------------------------------------------------------- */

/* Takes over the result of the dry run, of which nothing is done. */
static void take_over(struct report *report, struct report *plan)
{
	const struct options *options = report->options;
	struct report empty = *report;

	*report = *plan;
	report->options = options;
	report->told = empty.told;
	empty.told = (struct findings){ 0 };
	*plan = empty;
}

static int refuse(struct report *report, struct report *plan)
{
	struct finding *finding;

	report_drop_runs(plan);
	take_over(report, plan);
	finding = findings_add(&report->findings, "not-confirmed", SEVERITY_REFUSE, NULL, NULL,
			       "the question was not answered with yes: nothing was changed");
	report_conclude(report, VERDICT_REFUSED, EXIT_REFUSED);
	return finding ? 0 : -ENOMEM;
}

static int conclude(struct report *report, struct report *plan, int answer)
{
	if (answer == -EINTR) {
		report_conclude(report, VERDICT_REFUSED, report_signal_status(EXIT_REFUSED));
		return 0;
	}
	if (answer < 0)
		return answer;
	/* what was told with the question is not told again */
	report->told = plan->findings;
	plan->findings = (struct findings){ 0 };
	if (!answer)
		return refuse(report, plan);
	report->confirmed = hwloc_bitmap_dup(plan->target);
	return report->confirmed ? 1 : -ENOMEM;
}

static int plan_and_ask(struct session *session, const struct terminal *terminal,
			struct report *report)
{
	struct watcher watcher = { .nr_interrupts = session->watcher->nr_interrupts };
	struct session planning = { .watcher = &watcher };
	struct options options = *report->options;
	struct report plan = { 0 };
	int r;

	options.request.dry_run = true;
	r = report_init(&options, &plan);
	if (!r)
		r = actions_run(&planning, &plan);
	if (!r)
		findings_sort(&plan.findings);
	if (!r && !plan.nr_runs && plan.verdict == VERDICT_READY)
		r = 1; /* no CPU changes: a record ends */
	else if (!r && !plan.nr_runs)
		take_over(report, &plan);
	else if (!r)
		r = conclude(report, &plan, show_and_ask(terminal, &watcher, &plan));
	report_free(&plan);
	session_close(&planning);
	return r;
}

static int refuse_without_terminal(struct report *report)
{
	struct finding *finding =
		findings_add(&report->findings, "usage", SEVERITY_REFUSE, NULL,
			     "Leave --interactive out where nobody can answer.",
			     "--interactive asks, and there is no terminal to ask on");

	report_conclude(report, VERDICT_INVALID, EXIT_INVALID);
	return finding ? 0 : -ENOMEM;
}

int question_ask(struct session *session, struct report *report)
{
	struct terminal terminal = { 0 };
	int r = terminal_open(&terminal);

	if (r)
		return r == -ENOTTY ? refuse_without_terminal(report) : r;
	/* whoever is at work now changes what would be planned */
	r = session_lock_early(session, report);
	session_close(session);
	if (!r)
		r = plan_and_ask(session, &terminal, report);
	terminal_close(&terminal);
	return r == REPORT_CONCLUDED ? 0 : r;
}
