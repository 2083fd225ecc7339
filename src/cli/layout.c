/* SPDX-License-Identifier: GPL-2.0-or-later */
/* layout.c - how text is laid out for people: lines of 80 columns, tables, long lists, colour */
#include "cli/layout.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#define LINE_WIDTH  80
#define NARROWEST   40
#define WIDEST	    120
#define FIELD_WIDTH 13
#define GAP	    2
/* Longer lists are cut: in a field of their own, and within a sentence. */
#define LIST_LENGTH 200
#define PART_LENGTH 100

/* ---- the terminal ------------------------------------------------------------------------ */

static size_t find_width(int fd)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) < 0 || !size.ws_col)
		return LINE_WIDTH;
	return size.ws_col < NARROWEST ? NARROWEST : size.ws_col > WIDEST ? WIDEST : size.ws_col;
}

bool layout_can_redraw(int fd)
{
	const char *terminal = getenv("TERM");

	return isatty(fd) && terminal && terminal[0] && strcmp(terminal, "dumb");
}

static bool wants_colour(const struct options *options, int fd)
{
	const char *no_color = getenv("NO_COLOR");

	if (options->colour != COLOUR_AUTO)
		return options->colour == COLOUR_ALWAYS;
	return layout_can_redraw(fd) && !(no_color && no_color[0]);
}

void layout_init(FILE *file, const struct options *options, struct layout *ret_layout)
{
	bool is_terminal = isatty(fileno(file));

	*ret_layout = (struct layout){
		.file = file,
		.width = is_terminal ? find_width(fileno(file)) : LINE_WIDTH,
		.is_terminal = is_terminal,
		.is_coloured = wants_colour(options, fileno(file)),
		.is_whole = options->verbose,
	};
}

/* ---- pieces of text ---------------------------------------------------------------------- */

/* No yellow and no blue: they cannot be read on a light or on a dark ground. */
static const char *const codes[] = {
	[STYLE_PLAIN] = "", [STYLE_STRONG] = "1", [STYLE_GOOD] = "32",
	[STYLE_BAD] = "31", [STYLE_FAINT] = "2",
};

static void put(const struct layout *layout, enum style style, const char *text, size_t length)
{
	bool is_coloured = layout->is_coloured && style != STYLE_PLAIN && length;
	_cleanup_free_ char *shown = strndup(text, length);

	if (shown)
		util_make_visible(shown, "");
	if (is_coloured)
		fprintf(layout->file, "\033[%sm", codes[style]);
	fputs(shown ? shown : "?", layout->file);
	if (is_coloured)
		fputs("\033[0m", layout->file);
}

static void put_blanks(const struct layout *layout, size_t nr)
{
	fprintf(layout->file, "%*s", (int)nr, "");
}

/* The columns that the first @length bytes take: those that go on a character take none. */
static size_t count_columns(const char *text, size_t length)
{
	size_t nr = 0;

	for (size_t i = 0; i < length; i++)
		nr += ((unsigned char)text[i] & 0xc0) != 0x80;
	return nr;
}

/* How much of @text goes on one line of @width: up to a blank or behind a comma, one word or one
 * part of a list at least. */
static size_t piece_length(const char *text, size_t width)
{
	size_t length = 0, columns = 0;

	for (size_t end = 0; text[end]; end++) {
		bool is_end = !text[end + 1] || text[end] == ',' || text[end + 1] == ' ';

		columns += count_columns(text + end, 1);
		if (length && columns > width)
			return length;
		if (is_end)
			length = end + 1;
	}
	return length;
}

/* From column @column on, further lines from @indent; a line is ended only where another begins. */
static void put_broken(const struct layout *layout, enum style style, size_t column, size_t indent,
		       size_t end, const char *text)
{
	while (*text) {
		size_t width = end > column ? end - column : 1;
		size_t length = piece_length(text, width);

		put(layout, style, text, length);
		text += length;
		text += strspn(text, " ");
		if (!*text)
			return;
		fputc('\n', layout->file);
		put_blanks(layout, indent);
		column = indent;
	}
}

/* ---- long lists -------------------------------------------------------------------------- */

/* How many numbers "8-11,16" names; what is no number counts as one. */
static unsigned long count_numbers(const char *text, const char *end)
{
	unsigned long nr = 0;

	while (text < end) {
		const char *comma = memchr(text, ',', (size_t)(end - text));
		char *rest;
		unsigned long first = strtoul(text, &rest, 10);

		nr += *rest == '-' ? strtoul(rest + 1, NULL, 10) - first + 1 : 1;
		text = comma ? comma + 1 : end;
	}
	return nr;
}

/* @text with each list in it, a long word with commas, cut to what can be read. NULL: no memory. */
static char *shorten(const char *text, size_t most)
{
	_cleanup_free_ char *copy = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&copy, &size);

	if (!file)
		return NULL;
	while (*text) {
		size_t length = strcspn(text, " "), kept = most;

		while (length > most && kept && text[kept - 1] != ',')
			kept--;
		if (length <= most || !kept)
			fwrite(text, 1, length, file);
		else
			fprintf(file, "%.*s and %lu more, see -v%s", (int)kept - 1, text,
				count_numbers(text + kept, text + length),
				strchr(":;", text[length - 1]) ? ":" : "");
		text += length;
		for (; *text == ' '; text++)
			fputc(' ', file);
	}
	return fclose(file) ? NULL : steal_pointer(&copy);
}

static char *fit(const struct layout *layout, const char *text, size_t most)
{
	return layout->is_whole ? strdup(text) : shorten(text, most);
}

char *layout_list(const struct layout *layout, hwloc_const_bitmap_t cpus)
{
	_cleanup_free_ char *list = cpus_format(cpus);

	return list ? fit(layout, list, LIST_LENGTH) : NULL;
}

char *layout_cpus(const struct layout *layout, hwloc_const_bitmap_t cpus)
{
	_cleanup_free_ char *list = layout_list(layout, cpus);
	unsigned int count = cpus_count(cpus);

	if (list && !count)
		return strdup("none");
	return list ? util_asprintf("%s (%u CPU%s)", list, count, count == 1 ? "" : "s") : NULL;
}

/* ---- lines ------------------------------------------------------------------------------- */

void layout_print(const struct layout *layout, enum style style, const char *fmt, ...)
{
	bool ends_line = *fmt && fmt[strlen(fmt) - 1] == '\n';
	_cleanup_free_ char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = util_vasprintf(fmt, ap);
	va_end(ap);
	if (text && ends_line)
		text[strlen(text) - 1] = '\0';
	if (text)
		put(layout, style, text, strlen(text));
	if (ends_line)
		fputc('\n', layout->file);
}

void layout_complain(const char *fmt, ...)
{
	const struct layout layout = { .file = stderr };
	_cleanup_free_ char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = util_vasprintf(fmt, ap);
	va_end(ap);
	layout_print(&layout, STYLE_PLAIN, "cpuoff: %s\n", text ? text : strerror(ENOMEM));
}

void layout_sentence(const struct layout *layout, enum style style, size_t column, size_t indent,
		     const char *text)
{
	_cleanup_free_ char *shown = fit(layout, text, PART_LENGTH);

	if (shown)
		put_broken(layout, style, column, indent,
			   layout->is_terminal ? layout->width : SIZE_MAX, shown);
	fputc('\n', layout->file);
}

void layout_field(const struct layout *layout, enum style style, const char *label, const char *fmt,
		  ...)
{
	_cleanup_free_ char *text = NULL, *shown = NULL;
	size_t length = strlen(label), column;
	va_list ap;

	va_start(ap, fmt);
	text = util_vasprintf(fmt, ap);
	va_end(ap);
	shown = text ? fit(layout, text, LIST_LENGTH) : NULL;
	put(layout, STYLE_FAINT, label, length);
	column = length > FIELD_WIDTH ? length + 1 : FIELD_WIDTH + 1;
	put_blanks(layout, column - length);
	put_broken(layout, style, column, column, layout->width, shown ? shown : "?");
	fputc('\n', layout->file);
}

/* ---- tables ------------------------------------------------------------------------------ */

int table_add(struct table *table, enum style style, char *const *cells)
{
	size_t nr = table->nr_columns;
	char **all = reallocarray(table->cells, (table->nr_rows + 1) * nr, sizeof(*all));
	enum style *styles = util_grow(table->styles, table->nr_rows, sizeof(*styles));
	bool is_whole = all && styles;

	table->cells = all ? all : table->cells;
	table->styles = styles ? styles : table->styles;
	for (size_t i = 0; i < nr; i++)
		is_whole &= cells[i] != NULL;
	if (!is_whole) {
		for (size_t i = 0; i < nr; i++)
			free(cells[i]);
		return -ENOMEM;
	}
	memcpy(&all[table->nr_rows * nr], cells, nr * sizeof(*all));
	styles[table->nr_rows++] = style;
	return 0;
}

void table_free(struct table *table)
{
	for (size_t i = 0; i < table->nr_rows * table->nr_columns; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table->styles);
}

static void find_widths(const struct layout *layout, const struct table *table, size_t *ret_widths)
{
	size_t used = table->indent, last = table->nr_columns - 1;

	for (size_t column = 0; column < last; column++) {
		size_t width = table->titles ? strlen(table->titles[column]) : 0;

		for (size_t i = column; i < table->nr_rows * table->nr_columns;
		     i += table->nr_columns) {
			size_t columns = count_columns(table->cells[i], strlen(table->cells[i]));

			width = columns > width ? columns : width;
		}
		ret_widths[column] = width > table->widest ? table->widest : width;
		used += ret_widths[column] + GAP;
	}
	ret_widths[last] =
		used + NARROWEST / 2 > layout->width ? NARROWEST / 2 : layout->width - used;
	if (table->has_sentences && !layout->is_terminal)
		ret_widths[last] = SIZE_MAX;
}

/* One line of a row: of each cell what has room. Returns true where something is left. */
static bool put_row_line(const struct layout *layout, const struct table *table, enum style style,
			 const size_t *widths, const char **left)
{
	size_t blanks = table->indent;
	bool is_more = false;

	for (size_t i = 0; i < table->nr_columns; i++) {
		size_t length = piece_length(left[i], widths[i]);
		size_t columns = count_columns(left[i], length);

		if (length) {
			put_blanks(layout, blanks);
			put(layout, style, left[i], length);
			blanks = 0;
		}
		left[i] += length;
		left[i] += strspn(left[i], " ");
		is_more |= *left[i] != '\0';
		blanks += GAP + (columns < widths[i] ? widths[i] - columns : 0);
	}
	fputc('\n', layout->file);
	return is_more;
}

static void put_row(const struct layout *layout, const struct table *table, enum style style,
		    const size_t *widths, const char *const *cells)
{
	const char *left[TABLE_COLUMNS];

	memcpy(left, cells, table->nr_columns * sizeof(*left));
	while (put_row_line(layout, table, style, widths, left))
		continue;
}

void table_print(const struct layout *layout, const struct table *table)
{
	size_t widths[TABLE_COLUMNS], nr = table->nr_columns;

	find_widths(layout, table, widths);
	if (table->titles)
		put_row(layout, table, STYLE_FAINT, widths, table->titles);
	for (size_t i = 0; i < table->nr_rows; i++) {
		const char *cells[TABLE_COLUMNS];
		_cleanup_free_ char *last = fit(layout, table->cells[i * nr + nr - 1],
						table->has_sentences ? PART_LENGTH : LIST_LENGTH);

		memcpy(cells, &table->cells[i * nr], nr * sizeof(*cells));
		cells[nr - 1] = last ? last : "?";
		put_row(layout, table, table->styles[i], widths, cells);
	}
}
