/* SPDX-License-Identifier: GPL-2.0-or-later */
/* svg.h - the profile as a picture: a timeline of steps, CPUs and callbacks */
#pragma once

#include <stdio.h>

#include "base/profile.h"

/*
 * Writes @profile, finished, as an SVG document that needs nothing else and can be read on a light
 * and on a dark ground. @title and @subtitle are plain text of any bytes. Returns 0 or -errno.
 */
int svg_write(FILE *file, const struct profile *profile, const char *title,
	      const char *subtitle) _must_check_;
