/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * map-svg.c - the map as a picture: a card a socket, a panel a die or node, a box a core
 *
 * All panels have as many columns of cores as the largest one needs to be twice as wide as high.
 */
#include <math.h>
#include <string.h>

#include "cli/drawing.h"
#include "cli/map.h"

#define MARGIN		24.0
#define PAGE		1360.0 /* no row of cards is wider */
#define TITLE_CHARACTER 9.4
#define NAME_CHARACTER	8.0
#define CARD_PADDING	12.0
#define CARD_TITLE	26.0
#define PANEL_TITLE	20.0
#define PANEL_PAD	8.0
#define GAP		14.0
#define HEAD		100.0
#define CHARACTER	6.8
#define TALL_CORE	4 /* threads in one column */

static const char style[] =
	"text{font:12px system-ui,sans-serif;fill:#1f2328}"
	".t{font-size:17px;font-weight:600}.f{fill:#59636e}.h{font-size:13px;font-weight:600}"
	".n{text-anchor:middle;fill:#fff}.nx{text-anchor:middle;fill:#1f2328}"
	".nh{text-anchor:middle;fill:#59636e}"
	".g{fill:#fff}.card{fill:#f6f8fa;stroke:#d1d9e0}.panel{fill:#fff;stroke:#d1d9e0}"
	".core{fill:#e6eaef}.o{fill:#3572b0}.x{fill:#f2994a;stroke:#a04100;stroke-width:1.5}"
	".d{fill:none;stroke:#818b98;stroke-dasharray:3 2}.s{fill:#b9c3ce}"
	".a{fill:none;stroke:#c4ccd4;stroke-dasharray:1 2}"
	"@media(prefers-color-scheme:dark){text{fill:#e6edf3}.f,.nh{fill:#9198a1}.nx{fill:#1f2328}"
	".n{fill:#fff}.g{fill:#0d1117}.card{fill:#151b23;stroke:#3d444d}"
	".panel{fill:#0d1117;stroke:#3d444d}.core{fill:#262c36}.o{fill:#4184c9}"
	".x{fill:#f0a35e;stroke:#ffd8b0}.d{stroke:#818b98}.s{fill:#59636e}.a{stroke:#3d444d}}";

static const char *const classes[] = {
	[CELL_ONLINE] = "o",  [CELL_TARGET] = "x", [CELL_OFFLINE] = "d",
	[CELL_STANDBY] = "s", [CELL_ABSENT] = "a",
};

struct drawing {
	FILE *file;
	const struct map *map;
	double cell;	      /* the side of a CPU */
	double gap;	      /* between CPUs of a core, and around them */
	size_t rows, columns; /* of CPUs in a core */
	size_t cores;	      /* in a row of a panel */
};

/* The groups of one socket, and the card they are on. */
struct card {
	size_t first, nr; /* groups */
	size_t in_row;	  /* panels */
	double width, height;
};

/* ---- sizes ------------------------------------------------------------------------------- */

static double core_width(const struct drawing *drawing)
{
	return (double)drawing->columns * (drawing->cell + drawing->gap) + drawing->gap;
}

static double core_height(const struct drawing *drawing, size_t nr_threads)
{
	size_t rows = (nr_threads + drawing->columns - 1) / drawing->columns;

	return (double)rows * (drawing->cell + drawing->gap) + drawing->gap;
}

static double core_pitch(const struct drawing *drawing)
{
	return drawing->cell >= 20 ? 6 : drawing->cell >= 12 ? 4 : 3;
}

/* A number within a CPU can be read from a certain size on. */
static bool has_numbers(const struct drawing *drawing)
{
	return drawing->cell >= 20;
}

static double choose_cell(size_t nr_cells)
{
	if (nr_cells <= 32)
		return 34;
	if (nr_cells <= 160)
		return 24;
	if (nr_cells <= 640)
		return 14;
	return nr_cells <= 2560 ? 9 : 6;
}

/* True where the cores from @first on are all of another size than the one before: of another kind.
 */
static bool begins_kind(const struct map *map, size_t first, size_t end, size_t before)
{
	size_t length = map_core_length(map, first, end);

	if (length == before)
		return false;
	for (size_t i = first; i < end; i += length)
		if (map_core_length(map, i, end) != length)
			return false;
	return true;
}

/* How many cores from @first on stand in one row, and where the next row begins. */
static size_t find_row(const struct drawing *drawing, size_t first, size_t end, size_t *ret_next,
		       size_t *ret_most_threads)
{
	size_t nr = 0, most = 0, next = first, length = 0;

	while (next < end && nr < drawing->cores) {
		if (nr && begins_kind(drawing->map, next, end, length))
			break;
		length = map_core_length(drawing->map, next, end);
		most = length > most ? length : most;
		next += length;
		nr++;
	}
	*ret_next = next;
	*ret_most_threads = most;
	return nr;
}

/* Places without a core, with so many cores in a row. */
static size_t count_gaps(struct drawing drawing, const struct cell_group *group, size_t cores)
{
	size_t end = group->first + group->nr, nr = 0, most_threads;

	drawing.cores = cores;
	for (size_t i = group->first; i < end;)
		nr += cores - find_row(&drawing, i, end, &i, &most_threads);
	return nr;
}

/* Twice as wide as high, more or less: with few gaps in the rows of the largest group. */
static size_t choose_cores(const struct drawing *drawing, const struct cell_group *group)
{
	double wide = core_width(drawing) + core_pitch(drawing);
	double high = core_height(drawing, drawing->map->most_threads) + core_pitch(drawing);
	size_t cores = (size_t)ceil(sqrt((double)group->nr_cores * 2 * high / wide));
	size_t best = cores, least = SIZE_MAX;

	for (size_t i = cores - cores / 3; i <= cores + cores / 2; i++) {
		size_t distance = i < cores ? cores - i : i - cores;
		size_t cost = i > group->nr_cores && i > cores
				      ? SIZE_MAX
				      : count_gaps(*drawing, group, i) * cores + distance;

		if (cost < least) {
			least = cost;
			best = i;
		}
	}
	return best;
}

static void panel_size(const struct drawing *drawing, const struct cell_group *group,
		       double *ret_width, double *ret_height)
{
	size_t end = group->first + group->nr, widest = 0, most_threads;
	double pitch = core_pitch(drawing);

	*ret_height = -pitch;
	for (size_t i = group->first; i < end;) {
		size_t nr = find_row(drawing, i, end, &i, &most_threads);

		widest = nr > widest ? nr : widest;
		*ret_height += core_height(drawing, most_threads) + pitch;
	}
	*ret_width = (double)widest * (core_width(drawing) + pitch) - pitch;
}

/* ---- parts ------------------------------------------------------------------------------- */

static void put_rect(const struct drawing *drawing, const char *class, double x, double y,
		     double width, double height, double radius)
{
	fprintf(drawing->file,
		"<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
		"rx=\"%.1f\"",
		class, x, y, width, height, radius);
}

static void put_box(const struct drawing *drawing, const char *class, double x, double y,
		    double width, double height, double radius)
{
	put_rect(drawing, class, x, y, width, height, radius);
	fputs("/>\n", drawing->file);
}

static void put_id(const struct drawing *drawing, const char *name, long id)
{
	if (id != CPU_ID_NONE)
		fprintf(drawing->file, ", %s %ld", name, id);
}

static void put_cell(const struct drawing *drawing, const struct cell *cell, double x, double y)
{
	const char *number = cell->state == CELL_ONLINE	  ? "n"
			     : cell->state == CELL_TARGET ? "nx"
							  : "nh";

	put_rect(drawing, classes[cell->state], x, y, drawing->cell, drawing->cell,
		 drawing->cell / 6);
	fprintf(drawing->file, "><title>CPU %u: %s", cell->cpu,
		map_name_state(drawing->map, cell->state));
	put_id(drawing, "socket", cell->socket);
	put_id(drawing, "die", cell->die);
	put_id(drawing, "node", cell->node);
	put_id(drawing, "core", cell->core);
	fputs("</title></rect>\n", drawing->file);
	if (has_numbers(drawing))
		fprintf(drawing->file,
			"<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" style=\"font-size:%.0fpx\">%u"
			"</text>\n",
			number, x + drawing->cell / 2, y + drawing->cell * 0.64,
			drawing->cell * 0.38, cell->cpu);
}

static void put_core(const struct drawing *drawing, size_t first, size_t nr, double x, double y)
{
	double step = drawing->cell + drawing->gap;

	put_box(drawing, "core", x, y, core_width(drawing), core_height(drawing, nr),
		drawing->cell / 5);
	for (size_t i = 0; i < nr; i++)
		put_cell(drawing, &drawing->map->cells[first + i],
			 x + drawing->gap + (double)(i % drawing->columns) * step,
			 y + drawing->gap + (double)(i / drawing->columns) * step);
}

static void put_cores(const struct drawing *drawing, const struct cell_group *group, double x,
		      double y)
{
	size_t end = group->first + group->nr, next, most_threads;
	double pitch = core_pitch(drawing);

	for (size_t i = group->first; i < end; i = next) {
		find_row(drawing, i, end, &next, &most_threads);
		for (size_t j = i, nr = 0; j < next; nr++) {
			size_t length = map_core_length(drawing->map, j, end);

			put_core(drawing, j, length, x + (double)nr * (core_width(drawing) + pitch),
				 y);
			j += length;
		}
		y += core_height(drawing, most_threads) + pitch;
	}
}

/* What of a group's name the card does not say: from its die or node on. */
static const char *panel_name(const char *name)
{
	const char *rest = strstr(name, ", ");

	return !strncmp(name, "socket ", 7) && rest ? rest + 2 : name;
}

/* ---- cards ------------------------------------------------------------------------------- */

static void measure_card(const struct drawing *drawing, struct card *card)
{
	const struct cell_group *groups = &drawing->map->groups[card->first];
	double widest = 0, highest = 0;
	size_t rows;

	for (size_t i = 0; i < card->nr; i++) {
		double width, height;

		panel_size(drawing, &groups[i], &width, &height);
		widest = fmax(widest, width);
		highest = fmax(highest, height);
	}
	if (card->nr == 1) {
		_cleanup_free_ char *name = map_name_group(drawing->map, groups);

		card->in_row = 1;
		card->width = fmax(widest, (name ? (double)strlen(name) : 1) * NAME_CHARACTER) +
			      2 * CARD_PADDING;
		card->height = CARD_TITLE + highest + 2 * CARD_PADDING;
		return;
	}
	widest = fmax(widest + 2 * PANEL_PAD, 90);
	highest += PANEL_TITLE + 2 * PANEL_PAD;
	card->in_row = (size_t)ceil(sqrt((double)card->nr));
	while (card->in_row > 1 && (double)card->in_row * (widest + GAP) > PAGE - 2 * MARGIN)
		card->in_row--;
	rows = (card->nr + card->in_row - 1) / card->in_row;
	card->width = (double)card->in_row * (widest + GAP) - GAP + 2 * CARD_PADDING;
	card->height = CARD_TITLE + (double)rows * (highest + GAP) - GAP + 2 * CARD_PADDING;
}

static void put_panels(const struct drawing *drawing, const struct card *card, double x, double y)
{
	size_t rows = (card->nr + card->in_row - 1) / card->in_row;
	double width = (card->width - 2 * CARD_PADDING + GAP) / (double)card->in_row - GAP;
	double height = (card->height - CARD_TITLE - 2 * CARD_PADDING + GAP) / (double)rows - GAP;

	for (size_t i = 0; i < card->nr; i++) {
		const struct cell_group *group = &drawing->map->groups[card->first + i];
		_cleanup_free_ char *name = map_name_group(drawing->map, group);
		double left = x + (double)(i % card->in_row) * (width + GAP);
		double top = y + (double)(i / card->in_row) * (height + GAP);

		put_box(drawing, "panel", left, top, width, height, 5);
		drawing_label(drawing->file, left + PANEL_PAD, top + PANEL_PAD + 9, "f",
			      name ? panel_name(name) : "?");
		put_cores(drawing, group, left + PANEL_PAD, top + PANEL_TITLE + PANEL_PAD);
	}
}

static void put_card(const struct drawing *drawing, const struct card *card, double x, double y)
{
	const struct cell_group *group = &drawing->map->groups[card->first];
	_cleanup_free_ char *name = map_name_group(drawing->map, group);

	/* the panels say the rest */
	if (name && card->nr > 1 && panel_name(name) > name)
		name[panel_name(name) - name - 2] = '\0';
	put_box(drawing, "card", x, y, card->width, card->height, 8);
	drawing_label(drawing->file, x + CARD_PADDING, y + CARD_PADDING + 10, "h",
		      name ? name : "?");
	if (card->nr == 1)
		put_cores(drawing, group, x + CARD_PADDING, y + CARD_TITLE + CARD_PADDING);
	else
		put_panels(drawing, card, x + CARD_PADDING, y + CARD_TITLE + CARD_PADDING);
}

static struct card next_card(const struct drawing *drawing, size_t first)
{
	const struct map *map = drawing->map;
	long socket = map->cells[map->groups[first].first].socket;
	struct card card = { .first = first };

	while (first + card.nr < map->nr_groups &&
	       map->cells[map->groups[first + card.nr].first].socket == socket)
		card.nr++;
	measure_card(drawing, &card);
	return card;
}

/* How many cards of that size stand in a row, so that the whole is half again as wide as high; full
 * rows are better. */
static size_t choose_cards(size_t nr, double width, double height)
{
	size_t best = 1;
	double least = INFINITY;

	for (size_t i = 1; i <= nr; i++) {
		double wide = (double)i * (width + GAP), high;
		double score;

		if (i > 1 && wide > PAGE - 2 * MARGIN)
			break;
		high = ceil((double)nr / (double)i) * (height + GAP);
		score = fabs(log(wide / high / 1.5)) + (nr % i ? 0.4 : 0);
		if (score < least) {
			least = score;
			best = i;
		}
	}
	return best;
}

/* The cards, the largest width and height, and how many stand in a row. */
static size_t arrange_cards(const struct drawing *drawing, double *ret_width, double *ret_height,
			    size_t *ret_nr)
{
	*ret_nr = 0;
	*ret_width = *ret_height = 0;
	for (size_t i = 0; i < drawing->map->nr_groups; (*ret_nr)++) {
		struct card card = next_card(drawing, i);

		*ret_width = fmax(*ret_width, card.width);
		*ret_height = fmax(*ret_height, card.height);
		i += card.nr;
	}
	return choose_cards(*ret_nr, *ret_width, *ret_height);
}

/* All cards of a row are as high as its highest, and all are as wide as the widest. */
static double put_cards(const struct drawing *drawing, bool is_drawn, double *ret_right)
{
	double width, highest, row = 0, y = HEAD;
	size_t nr, in_row = arrange_cards(drawing, &width, &highest, &nr);

	for (size_t i = 0, first = 0; i < nr; i++) {
		struct card card = next_card(drawing, first);
		double x = MARGIN + (double)(i % in_row) * (width + GAP);

		if (i && i % in_row == 0) {
			y += row + GAP;
			row = 0;
		}
		if (is_drawn)
			put_card(drawing, &card, x, y);
		row = fmax(row, card.height);
		*ret_right = fmax(*ret_right, x + card.width);
		first += card.nr;
	}
	return y + row;
}

/* ---- around them ------------------------------------------------------------------------- */

static void put_legend(const struct drawing *drawing)
{
	double x = MARGIN, y = 72;
	char text[64];

	for (enum cell_state i = 0; i < NR_CELL_STATES; i++) {
		if (!drawing->map->counts[i])
			continue;
		snprintf(text, sizeof(text), "%s: %zu", map_name_state(drawing->map, i),
			 drawing->map->counts[i]);
		put_box(drawing, classes[i], x, y, 13, 13, 2);
		drawing_label(drawing->file, x + 19, y + 11, "", text);
		x += 19 + (double)strlen(text) * CHARACTER + 18;
	}
}

static double put_rest(const struct drawing *drawing, const char *what, hwloc_const_bitmap_t set,
		       double y)
{
	static const struct layout layout; /* cuts what is very long */
	_cleanup_free_ char *list = layout_list(&layout, set), *text = NULL;

	if (cpus_is_empty(set))
		return y;
	text = util_asprintf("%s: %s", what, list ? list : "?");
	drawing_label(drawing->file, MARGIN, y + 22, "f", text ? text : what);
	return y + 20;
}

static const struct cell_group *find_largest(const struct map *map)
{
	const struct cell_group *largest = map->groups;

	for (size_t i = 0; i < map->nr_groups; i++)
		largest = map->groups[i].nr_cores > largest->nr_cores ? &map->groups[i] : largest;
	return largest;
}

int map_draw(FILE *file, const struct map *map, const char *title, const char *subtitle)
{
	struct drawing drawing = { .file = file, .map = map };
	double right = 0, width, height, bottom;

	drawing.cell = choose_cell(map->nr_cells);
	drawing.gap = drawing.cell >= 20 ? 3 : drawing.cell >= 12 ? 2 : 1;
	drawing.columns = map->most_threads > TALL_CORE ? 2 : 1;
	drawing.cores = map->nr_groups ? choose_cores(&drawing, find_largest(map)) : 1;
	height = put_cards(&drawing, false, &right);
	width = fmax(right, MARGIN + (double)strlen(title) * TITLE_CHARACTER) + MARGIN;
	height += (cpus_is_empty(map->absent) ? 0 : 20) +
		  (cpus_is_empty(map->empty_nodes) ? 0 : 20) + MARGIN;
	drawing_begin(file, width, height, title, style);
	drawing_label(file, MARGIN, 34, "t", title);
	drawing_label(file, MARGIN, 56, "f", subtitle);
	put_legend(&drawing);
	bottom = put_cards(&drawing, true, &right);
	bottom = put_rest(&drawing, "CPUs that are possible, and not present", map->absent, bottom);
	put_rest(&drawing, "nodes without CPUs online", map->empty_nodes, bottom);
	return drawing_end(file);
}
