/* SPDX-License-Identifier: GPL-2.0-or-later */
/* progress.h - progress on stderr: a bar on a terminal, a line every five seconds elsewhere */
#pragma once

#include "base/watcher.h"
#include "cli/options.h"

struct progress_line {
	bool is_shown; /* false: only what is waited for is told */
	bool is_terminal;
	bool is_drawn;	 /* a bar stands on the terminal's last line */
	double reported; /* when the last line was written */
};

void progress_init(const struct options *options, struct progress_line *ret_line);

/* The callback of struct watcher; @data is the struct progress_line. */
void progress_show(void *data, const struct progress *progress);

/* Takes the bar away before other text is written. */
void progress_clear(struct progress_line *line);
