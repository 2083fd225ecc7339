/* SPDX-License-Identifier: GPL-2.0-or-later */
/* progress.c - progress on stderr: one line that is written over on a terminal, a line every five
 * seconds elsewhere */
#include "cli/progress.h"

#include <string.h>

#include "cli/layout.h"
#include "host/root.h"

#define REPORT_SECONDS 5.0
#define DRAW_SECONDS   0.1 /* more often nobody can read */
#define RATE_SECONDS   0.5 /* a rate over less says nothing */
#define LINE_LENGTH    256
#define BAR_WIDTH      16

void progress_init(const struct options *options, struct progress_line *ret_line)
{
	struct layout layout;

	layout_init(stderr, options, &layout);
	*ret_line = (struct progress_line){
		.is_shown = !options->quiet && !options->no_progress,
		.is_terminal = layout_can_redraw(STDERR_FILENO),
		.width = layout.width,
		.reported = util_now(),
	};
}

void progress_clear(struct progress_line *line)
{
	if (line->is_drawn) {
		fputs("\r\033[K", stderr);
		fflush(stderr); /* what comes next may go to stdout */
	}
	line->is_drawn = false;
}

static const char *name_phase(enum phase phase)
{
	static const char *const names[] = {
		[PHASE_CHECKING] = "checking",	     [PHASE_MOVING] = "moving",
		[PHASE_REMOVING] = "removing",	     [PHASE_VERIFYING] = "verifying",
		[PHASE_EJECTING] = "ejecting",	     [PHASE_RETURNING] = "bringing back",
		[PHASE_GIVING_BACK] = "giving back", [PHASE_WAITING] = "waiting",
	};

	return names[phase];
}

static bool counts_cpus(enum phase phase)
{
	return phase == PHASE_REMOVING || phase == PHASE_RETURNING || phase == PHASE_EJECTING;
}

/* ---- one line ---------------------------------------------------------------------------- */

/* Adds to the text, and cuts it where there is no room. */
static void _printf_(3, 4) add(char *text, size_t size, const char *fmt, ...)
{
	size_t length = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + length, size - length, fmt, ap);
	va_end(ap);
}

static void add_bar(const struct progress *progress, size_t bar, char *text, size_t size)
{
	size_t filled = progress->done * bar / progress->total;

	add(text, size, " [");
	for (size_t i = 0; i < bar; i++)
		add(text, size, "%c", i < filled ? '#' : '.');
	add(text, size, "]");
}

static void add_time(double seconds, char *text, size_t size)
{
	if (seconds < 100)
		add(text, size, ", about %.0f s left", seconds < 1 ? 1 : seconds);
	else if (seconds < 6000)
		add(text, size, ", about %.0f min left", seconds / 60);
	else
		add(text, size, ", about %.1f h left", seconds / 3600);
}

/* The rate of this phase, and what is left at that rate. */
static void add_rate(const struct progress_line *line, const struct progress *progress, double now,
		     char *text, size_t size)
{
	double seconds = now - line->phase_begun;
	double done = (double)progress->done - (double)line->phase_done;

	if (done < 1 || seconds < RATE_SECONDS || progress->done >= progress->total)
		return;
	if (done >= seconds)
		add(text, size, ", %.1f CPUs/s", done / seconds);
	else
		add(text, size, ", %.1f s a CPU", seconds / done);
	add_time((double)(progress->total - progress->done) * seconds / done, text, size);
}

void progress_format(const struct progress_line *line, const struct progress *progress, double now,
		     size_t bar, char *ret_text, size_t size)
{
	ret_text[0] = '\0';
	add(ret_text, size, "%s", name_phase(progress->phase));
	if (progress->total && bar)
		add_bar(progress, bar, ret_text, size);
	if (progress->total)
		add(ret_text, size, "%s %zu of %zu, ", bar ? "" : ":", progress->done,
		    progress->total);
	else
		add(ret_text, size, " ");
	add(ret_text, size, "%s", progress->object);
	if (counts_cpus(progress->phase))
		add_rate(line, progress, now, ret_text, size);
	util_make_visible(ret_text, "");
}

/* ---- when it is shown -------------------------------------------------------------------- */

/* Never silent while the kernel does not answer, whatever was asked for. */
static void show_wait(struct progress_line *line, const struct progress *progress)
{
	char text[LINE_LENGTH] = "";

	progress_clear(line);
	add(text, sizeof(text), "%s: waiting for %.0f s", progress->object, progress->waited);
	if (progress->pid)
		add(text, sizeof(text), " for process %d", (int)progress->pid);
	if (progress->pid && root_is_stopped(progress->pid))
		add(text, sizeof(text), ", which is stopped: kill -CONT %d lets it go on",
		    (int)progress->pid);
	else if (progress->where && progress->where[0])
		add(text, sizeof(text), ", the kernel is in %s", progress->where);
	layout_complain("%s", text);
}

/* A line that is as wide as the terminal would begin another one. */
static void draw(struct progress_line *line, const struct progress *progress, double now)
{
	char text[LINE_LENGTH], narrow[LINE_LENGTH];
	size_t length;

	progress_format(line, progress, now, BAR_WIDTH, text, sizeof(text));
	length = strlen(text);
	if (length >= line->width) {
		size_t over = length + 1 - line->width;

		progress_format(line, progress, now, over + 4 < BAR_WIDTH ? BAR_WIDTH - over : 0,
				narrow, sizeof(narrow));
		memcpy(text, narrow, sizeof(text));
	}
	fprintf(stderr, "\r\033[K%.*s", (int)line->width - 1, text);
	fflush(stderr);
	line->is_drawn = true;
}

/* A CPU after another is drawn now and then, all else at once: it may be long until the next one.
 */
static bool is_due(const struct progress_line *line, const struct progress *progress,
		   bool is_new_phase, double now)
{
	if (!line->is_terminal)
		return now - line->reported >= REPORT_SECONDS;
	return is_new_phase || !progress->total || progress->done >= progress->total ||
	       now - line->reported >= DRAW_SECONDS;
}

void progress_show(void *data, const struct progress *progress)
{
	struct progress_line *line = data;
	double now = util_now();
	bool is_new_phase = !line->has_phase || line->phase != progress->phase;
	char text[LINE_LENGTH];

	if (progress->phase == PHASE_WAITING) {
		show_wait(line, progress);
		line->reported = now;
		return;
	}
	if (is_new_phase) {
		line->has_phase = true;
		line->phase = progress->phase;
		line->phase_begun = now;
		line->phase_done = progress->done;
	}
	if (!line->is_shown || !is_due(line, progress, is_new_phase, now))
		return;
	line->reported = now;
	if (line->is_terminal) {
		draw(line, progress, now);
		return;
	}
	progress_format(line, progress, now, 0, text, sizeof(text));
	layout_complain("%s", text);
}
