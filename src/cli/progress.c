/* SPDX-License-Identifier: GPL-2.0-or-later */
/* progress.c - progress on stderr: a bar on a terminal, a line every five seconds elsewhere */
#include "cli/progress.h"

#include "cli/layout.h"

#define REPORT_SECONDS 5.0
#define BAR_WIDTH      30

void progress_init(const struct options *options, struct progress_line *ret_line)
{
	*ret_line = (struct progress_line){
		.is_shown = !options->quiet && !options->no_progress,
		.is_terminal = layout_can_redraw(STDERR_FILENO),
		.reported = util_now(),
	};
}

void progress_clear(struct progress_line *line)
{
	if (line->is_drawn)
		fputs("\r\033[K", stderr);
	line->is_drawn = false;
}

static const char *name_phase(enum phase phase)
{
	static const char *const names[] = {
		[PHASE_MOVING] = "moving",     [PHASE_REMOVING] = "removing",
		[PHASE_EJECTING] = "ejecting", [PHASE_RETURNING] = "bringing back",
		[PHASE_WAITING] = "waiting",
	};

	return names[phase];
}

/* Never silent while the kernel does not answer, whatever was asked for. */
static void show_wait(struct progress_line *line, const struct progress *progress)
{
	progress_clear(line);
	fprintf(stderr, "cpuoff: %s: waiting for %.0f s", progress->object, progress->waited);
	if (progress->pid)
		fprintf(stderr, " for process %d", (int)progress->pid);
	if (progress->where && progress->where[0])
		fprintf(stderr, ", the kernel is in %s", progress->where);
	fputc('\n', stderr);
}

static void draw_bar(struct progress_line *line, const struct progress *progress)
{
	size_t filled = progress->total ? progress->done * BAR_WIDTH / progress->total : 0;

	fprintf(stderr, "\r\033[K%s [", name_phase(progress->phase));
	for (size_t i = 0; i < BAR_WIDTH; i++)
		fputc(i < filled ? '#' : '.', stderr);
	fprintf(stderr, "] %zu/%zu %s", progress->done, progress->total, progress->object);
	fflush(stderr);
	line->is_drawn = true;
}

void progress_show(void *data, const struct progress *progress)
{
	struct progress_line *line = data;
	double now = util_now();

	if (progress->phase == PHASE_WAITING) {
		show_wait(line, progress);
		line->reported = now;
	} else if (line->is_shown && line->is_terminal) {
		draw_bar(line, progress);
	} else if (line->is_shown && now - line->reported >= REPORT_SECONDS) {
		fprintf(stderr, "cpuoff: %s: %zu of %zu done, last %s\n",
			name_phase(progress->phase), progress->done, progress->total,
			progress->object);
		line->reported = now;
	}
}
