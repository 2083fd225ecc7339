/* SPDX-License-Identifier: GPL-2.0-or-later */
/* svg.c - the profile as a picture: a timeline of steps, CPUs and callbacks */
#include "cli/svg.h"

#include <string.h>

#include "cli/drawing.h"

#define WIDTH	   1200.0
#define LEFT	   96.0
#define RIGHT	   24.0
#define CHARACTER  7.2 /* the width of one, more or less */
#define ROW	   18.0
#define SMALL_ROW  6.0
#define MANY_CPUS  64
#define LEGEND_ROW 18.0
#define THINNEST   0.08 /* what is thinner is not drawn */

/* Callbacks with a colour of their own: the heaviest ones. */
#define NR_COLOURS 8

static const char style[] =
	"text{font:12px sans-serif;fill:#1f2328}"
	".t{font-size:16px;font-weight:bold}.g{fill:#ffffff}.x{stroke:#d8dee4;stroke-width:1}"
	".s{fill:#b6c2cf;stroke:#ffffff;stroke-width:.5}.w{fill:#d0d7de}"
	".c0{fill:#0072b2}.c1{fill:#d55e00}.c2{fill:#009e73}.c3{fill:#cc79a7}"
	".c4{fill:#c98b00}.c5{fill:#4aa3df}.c6{fill:#8a63d2}.c7{fill:#b0413e}.c8{fill:#7d8590}"
	"@media(prefers-color-scheme:dark){text{fill:#e6edf3}.g{fill:#0d1117}.x{stroke:#30363d}"
	".s{fill:#4c5a6b;stroke:#0d1117}.w{fill:#3d444d}}";

struct drawing {
	FILE *file;
	const struct profile *profile;
	double begin, end; /* of the time axis */
	double y;
	double row;
};

static double place(const struct drawing *drawing, double time)
{
	double length = drawing->end - drawing->begin;

	return LEFT + (time - drawing->begin) / (length > 0 ? length : 1) * (WIDTH - LEFT - RIGHT);
}

/* A bar in the row at hand, which says @text under the mouse. */
static void bar(const struct drawing *drawing, const char *class, double begin, double end,
		const char *text)
{
	double x = place(drawing, begin), width = place(drawing, end) - x;

	if (width < THINNEST)
		return;
	fprintf(drawing->file,
		"<rect class=\"%s\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\"><title>",
		class, x, drawing->y, width, drawing->row - 2);
	drawing_put_text(drawing->file, text);
	fputs("</title></rect>\n", drawing->file);
}

static void stretch(struct drawing *drawing, double begin, double end)
{
	if (drawing->end <= 0 || begin < drawing->begin)
		drawing->begin = begin;
	if (end > drawing->end)
		drawing->end = end;
}

static void find_ends(struct drawing *drawing)
{
	const struct profile *profile = drawing->profile;

	for (size_t i = 0; i < profile->nr_steps; i++)
		stretch(drawing, profile->steps[i].begin, profile->steps[i].end);
	for (size_t i = 0; i < profile->nr_changes; i++)
		stretch(drawing, profile->changes[i].begin, profile->changes[i].end);
}

/* The class of a callback: its colour, "c8" for all lighter ones, "w" for waiting. */
static const char *class_of(const struct profile *profile, unsigned int callback)
{
	static const char *const classes[] = {
		"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"
	};
	unsigned int nr = 0;

	if (profile->callbacks[callback].is_wait)
		return "w";
	for (unsigned int i = 0; i < callback && nr < NR_COLOURS; i++)
		nr += !profile->callbacks[i].is_wait;
	return classes[nr];
}

/* ---- parts ------------------------------------------------------------------------------- */

static double put_key(struct drawing *drawing, double x, const char *class, const char *text,
		      double seconds)
{
	char line[128];
	double width;

	snprintf(line, sizeof(line), "%s %.1f ms", text, seconds * 1e3);
	width = 20 + (double)strlen(line) * CHARACTER + 12;
	if (x + width > WIDTH - RIGHT && x > LEFT) {
		x = LEFT;
		drawing->y += LEGEND_ROW;
	}
	fprintf(drawing->file,
		"<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\"/>\n", class, x,
		drawing->y);
	drawing_label(drawing->file, x + 18, drawing->y + 10, "", line);
	return x + width;
}

static void put_legend(struct drawing *drawing)
{
	const struct profile *profile = drawing->profile;
	double x = LEFT, seconds, in_callbacks, rest = 0;
	unsigned int nr = 0;

	for (unsigned int i = 0; i < profile->nr_callbacks; i++) {
		const struct profile_callback *callback = &profile->callbacks[i];

		if (callback->is_wait)
			continue;
		if (nr++ < NR_COLOURS)
			x = put_key(drawing, x, class_of(profile, i), callback->name,
				    callback->seconds);
		else
			rest += callback->seconds;
	}
	if (nr > NR_COLOURS)
		x = put_key(drawing, x, "c8", "other callbacks", rest);
	profile_sum(profile, &seconds, &in_callbacks);
	put_key(drawing, x, "w", profile->is_traced ? "waiting, stop_machine, RCU" : "not traced",
		seconds - in_callbacks);
	drawing->y += LEGEND_ROW + 8;
}

/* The step between two marks, for about ten of them: 1, 2 or 5 times a power of ten. */
static double choose_scale(double length)
{
	static const double factors[] = { 1, 2, 5 };
	double power = 1e-6;

	for (;; power *= 10)
		for (size_t i = 0; i < ARRAY_SIZE(factors); i++)
			if (length <= power * factors[i] * 10 || power > 1e9)
				return power * factors[i];
}

static void put_axis(struct drawing *drawing, double height)
{
	double length = drawing->end - drawing->begin, scale = choose_scale(length);
	char text[32];

	for (unsigned int i = 0; (double)i * scale <= length; i++) {
		double time = (double)i * scale, x = place(drawing, drawing->begin + time);

		fprintf(drawing->file,
			"<line class=\"x\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n", x,
			x, drawing->y + 4, drawing->y + height);
		snprintf(text, sizeof(text), "%g ms", time * 1e3);
		drawing_label(drawing->file, x + 2, drawing->y, "", text);
	}
	drawing->y += 10;
}

static void put_steps(struct drawing *drawing)
{
	const struct profile *profile = drawing->profile;
	double row = drawing->row;

	drawing->row = ROW;
	drawing_label(drawing->file, 8, drawing->y + 12, "", "steps");
	for (size_t i = 0; i < profile->nr_steps; i++) {
		const struct profile_step *step = &profile->steps[i];
		double width = place(drawing, step->end) - place(drawing, step->begin);
		char text[128];

		snprintf(text, sizeof(text), "%s%s: %.3f ms", step->kind,
			 step->is_undo ? ", undone" : "", (step->end - step->begin) * 1e3);
		bar(drawing, "s", step->begin, step->end, text);
		if (width > (double)strlen(step->kind) * CHARACTER + 8)
			drawing_label(drawing->file, place(drawing, step->begin) + 4,
				      drawing->y + 12, "", step->kind);
	}
	drawing->y += ROW + 4;
	drawing->row = row;
}

static bool is_within(const struct profile_span *span, const struct profile_change *change)
{
	return span->cpu == change->cpu && span->end > change->begin && span->begin < change->end;
}

static void put_change(const struct drawing *drawing, const struct profile_change *change)
{
	const struct profile *profile = drawing->profile;
	double seconds = change->end - change->begin;
	char text[192];

	snprintf(text, sizeof(text), "cpu %u %s: %.3f ms, of it %.3f ms in callbacks", change->cpu,
		 change->online ? "online" : "offline", seconds * 1e3, change->in_callbacks * 1e3);
	bar(drawing, "w", change->begin, change->end, text);
	for (size_t i = profile_find_spans(profile, change->cpu);
	     i < profile->nr_spans && profile->spans[i].cpu == change->cpu; i++) {
		const struct profile_span *span = &profile->spans[i];

		if (!is_within(span, change))
			continue;
		snprintf(text, sizeof(text), "%s: %.3f ms", profile->callbacks[span->callback].name,
			 span->own * 1e3);
		bar(drawing, class_of(profile, span->callback), span->begin, span->end, text);
	}
}

static bool is_first_of_cpu(const struct profile *profile, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (profile->changes[i].cpu == profile->changes[nr].cpu)
			return false;
	return true;
}

static size_t count_cpus(const struct profile *profile)
{
	size_t nr = 0;

	for (size_t i = 0; i < profile->nr_changes; i++)
		nr += is_first_of_cpu(profile, i);
	return nr;
}

/* One row a CPU, in the order in which they changed first. */
static void put_cpus(struct drawing *drawing)
{
	const struct profile *profile = drawing->profile;
	size_t nr = 0;

	for (size_t i = 0; i < profile->nr_changes; i++) {
		char text[32];

		if (!is_first_of_cpu(profile, i))
			continue;
		snprintf(text, sizeof(text), "cpu %u", profile->changes[i].cpu);
		if (drawing->row >= ROW || nr % 3 == 0)
			drawing_label(drawing->file, 8, drawing->y + (drawing->row >= ROW ? 12 : 8),
				      "", text);
		for (size_t j = i; j < profile->nr_changes; j++)
			if (profile->changes[j].cpu == profile->changes[i].cpu)
				put_change(drawing, &profile->changes[j]);
		drawing->y += drawing->row;
		nr++;
	}
}

int svg_write(FILE *file, const struct profile *profile, const char *title, const char *subtitle)
{
	size_t nr_cpus = count_cpus(profile);
	struct drawing drawing = {
		.file = file,
		.profile = profile,
		.row = nr_cpus > MANY_CPUS ? SMALL_ROW : ROW,
	};
	double rows = (double)nr_cpus * drawing.row + ROW + 4;
	/* the legend breaks into a row for every two keys at worst */
	double height = 72 + LEGEND_ROW * (NR_COLOURS + 2) / 2 + 24 + rows + 16;

	find_ends(&drawing);
	drawing_begin(file, WIDTH, height, title, style);
	drawing_label(file, 8, 24, "t", title);
	drawing_label(file, 8, 44, "", subtitle);
	drawing.y = 60;
	put_legend(&drawing);
	drawing.y += 12;
	put_axis(&drawing, rows + 8);
	put_steps(&drawing);
	put_cpus(&drawing);
	return drawing_end(file);
}
