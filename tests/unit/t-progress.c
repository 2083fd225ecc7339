/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-progress.c - tests of the line that tells how far a run is */
#include "cli/progress.h"

#include <string.h>

#include "tap.h"

static void is_line(const struct progress *progress, double seconds, size_t bar,
		    const char *expected)
{
	struct progress_line line = { .phase_begun = 100 };
	char text[256];

	progress_format(&line, progress, 100 + seconds, bar, text, sizeof(text));
	is_str(text, expected, "%s", expected);
}

static void test_lines(void)
{
	struct progress progress = { .phase = PHASE_CHECKING, .object = "the machine" };
	struct progress_line line = { .phase_begun = 100, .phase_done = 4 };
	char text[256];

	is_line(&progress, 3, 10, "checking the machine");
	progress = (struct progress){ PHASE_REMOVING, "cpu 31", 0, 16, 0, 0, NULL };
	is_line(&progress, 3, 0, "removing: 0 of 16, cpu 31");
	progress.done = 4;
	is_line(&progress, 0.1, 0, "removing: 4 of 16, cpu 31");
	is_line(&progress, 2, 0, "removing: 4 of 16, cpu 31, 2.0 CPUs/s, about 6 s left");
	is_line(&progress, 8, 8,
		"removing [##......] 4 of 16, cpu 31, 2.0 s a CPU, about 24 s left");
	progress.total = 2048;
	is_line(&progress, 2, 0, "removing: 4 of 2048, cpu 31, 2.0 CPUs/s, about 17 min left");
	is_line(&progress, 20, 0, "removing: 4 of 2048, cpu 31, 5.0 s a CPU, about 2.8 h left");
	progress.done = progress.total = 16;
	is_line(&progress, 8, 4, "removing [####] 16 of 16, cpu 31");
	progress = (struct progress){ PHASE_RETURNING, "cpu 8", 8, 16, 0, 0, NULL };
	progress_format(&line, &progress, 102, 0, text, sizeof(text));
	is_str(text, "bringing back: 8 of 16, cpu 8, 2.0 CPUs/s, about 4 s left",
	       "what was done before the phase does not make it faster");
	progress_format(&line, &progress, 102, 100, text, 20);
	is_int((int)strlen(text), 19, "it is cut to its room");
}

int main(void)
{
	test_lines();
	return done_testing();
}
