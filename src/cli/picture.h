/* SPDX-License-Identifier: GPL-2.0-or-later */
/* picture.h - the files that --profile=FILE.svg and --list --map=FILE.svg draw into */
#pragma once

#include "cli/report.h"

struct picture {
	FILE *file; /* NULL for none */
	const char *name;
	char *beside; /* what it is written to, until it is whole; NULL: at once */
};

/*
 * Makes a file beside the one that the options name, before the first change: afterwards it would
 * be too late to name another one. Returns 0, 1 where it cannot be written, which is in the
 * findings then, or -ENOMEM.
 */
int picture_open(struct report *report, struct picture *ret_picture) _must_check_;

/*
 * Draws the map of the report's machine into the file that the options name, if they do: whole, or
 * what was there before stays. Returns 0, also where a finding says why it cannot be written, or
 * -ENOMEM.
 */
int picture_save_map(struct report *report) _must_check_;

/* Draws the report's profile where something was done, in the place of what had that name: a link
 * is replaced, not followed. */
void picture_close(const struct report *report, struct picture *picture);
