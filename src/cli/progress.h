/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * progress.h - progress on stderr: one line that is written over on a terminal, a line every five
 * seconds elsewhere
 */
#pragma once

#include "base/watcher.h"
#include "cli/options.h"

struct progress_line {
	bool is_shown; /* false: only what is waited for is told */
	bool is_terminal;
	bool is_drawn;	 /* it stands on the terminal's last line */
	size_t width;	 /* of the terminal, in columns */
	double reported; /* when the last line was written */
	enum phase phase;
	bool has_phase;
	double phase_begun;
	size_t phase_done; /* what was done already when the phase began */
};

void progress_init(const struct options *options, struct progress_line *ret_line);

/* The callback of struct watcher; @data is the struct progress_line. Allocates nothing. */
void progress_show(void *data, const struct progress *progress);

/* Takes the line away before other text is written. */
void progress_clear(struct progress_line *line);

/*
 * What is told of @progress at the time @now: the phase, with @bar a bar of so many columns, how
 * many are done, what is in hand, the rate, and the time that is left. Cut to @size bytes.
 */
void progress_format(const struct progress_line *line, const struct progress *progress, double now,
		     size_t bar, char *ret_text, size_t size);
