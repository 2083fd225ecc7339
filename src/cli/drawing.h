/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drawing.h - what all pictures are made of: an SVG document that needs nothing else */
#pragma once

#include <stdio.h>

/* Begins a document of that size, on a ground of the class "g", with its title and its style. */
void drawing_begin(FILE *file, double width, double height, const char *title, const char *style);

/* Ends it. Returns 0 or -errno. */
int drawing_end(FILE *file);

/* Text of any bytes, as XML has it. */
void drawing_put_text(FILE *file, const char *text);

/* A text at a place; @class may be "". */
void drawing_label(FILE *file, double x, double y, const char *class, const char *text);
