/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drawing.c - what all pictures are made of: an SVG document that needs nothing else */
#include "cli/drawing.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"

/* What has a meaning in XML is written otherwise, what must not be in it at all as "?". */
void drawing_put_text(FILE *file, const char *text)
{
	_cleanup_free_ char *shown = strdup(text);

	if (shown)
		util_make_visible(shown, "");
	for (const char *c = shown; c && *c; c++) {
		if (*c == '&')
			fputs("&amp;", file);
		else if (*c == '<')
			fputs("&lt;", file);
		else if (*c == '>')
			fputs("&gt;", file);
		else if (*c == '"')
			fputs("&quot;", file);
		else
			fputc(*c, file);
	}
}

void drawing_label(FILE *file, double x, double y, const char *class, const char *text)
{
	fprintf(file, "<text x=\"%.1f\" y=\"%.1f\"%s%s%s>", x, y, class[0] ? " class=\"" : "",
		class, class[0] ? "\"" : "");
	drawing_put_text(file, text);
	fputs("</text>\n", file);
}

void drawing_begin(FILE *file, double width, double height, const char *title, const char *style)
{
	fprintf(file,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		"viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n<title>",
		width, height, width, height);
	drawing_put_text(file, title);
	fprintf(file,
		"</title>\n<style>%s</style>\n"
		"<rect class=\"g\" width=\"%.0f\" height=\"%.0f\"/>\n",
		style, width, height);
}

int drawing_end(FILE *file)
{
	fputs("</svg>\n", file);
	if (fflush(file) || ferror(file))
		return errno ? -errno : -EIO;
	return 0;
}
