/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layout.h - how text is laid out for people: lines of 80 columns, tables, long lists, colour
 *
 * Lists are always broken at 80 columns, and cut with a count unless all was asked for. Sentences
 * are broken on a terminal alone, so that what is searched for in a file stands on one line.
 * Control characters of what others have named are never written: they are "?".
 */
#pragma once

#include "base/cpus.h"
#include "cli/options.h"

enum style {
	STYLE_PLAIN,
	STYLE_STRONG, /* what matters first */
	STYLE_GOOD,
	STYLE_BAD,
	STYLE_FAINT, /* what may be passed over */
};

struct layout {
	FILE *file;
	size_t width; /* columns of a line */
	bool is_terminal;
	bool is_coloured;
	bool is_whole; /* long lists are not cut */
};

/* True where a line on @fd can be written over: a terminal that knows how to. */
bool layout_can_redraw(int fd);

/*
 * For text on @file, as wide as its terminal. It has colour where the options say so, otherwise on
 * a terminal that knows any, unless NO_COLOR is set to something.
 */
void layout_init(FILE *file, const struct options *options, struct layout *ret_layout);

/*
 * printf() in a style; nothing is broken. It may end a line, but what else would be one is "?", as
 * all is that a terminal obeys.
 */
void layout_print(const struct layout *layout, enum style style, const char *fmt, ...)
	_printf_(3, 4);

/* One line on stderr, "cpuoff: " at its head, where there is no report to hold it. */
void layout_complain(const char *fmt, ...) _printf_(1, 2);

/*
 * A sentence that begins at column @column, where the line is already, and goes on at @indent; ends
 * the line.
 */
void layout_sentence(const struct layout *layout, enum style style, size_t column, size_t indent,
		     const char *text);

/* "label          text", where further lines of the text stand below its first one. */
void layout_field(const struct layout *layout, enum style style, const char *label, const char *fmt,
		  ...) _printf_(4, 5);

/* "0-3,8", cut where it is very long. NULL: no memory. The caller frees it. */
char *layout_list(const struct layout *layout, hwloc_const_bitmap_t cpus) _must_check_;

/* "0-3,8 (5 CPUs)" or "none", likewise. */
char *layout_cpus(const struct layout *layout, hwloc_const_bitmap_t cpus) _must_check_;

/* "CPU" or "CPUs" and the like: @one where @nr is 1. */
static inline const char *layout_number(size_t nr, const char *one, const char *many)
{
	return nr == 1 ? one : many;
}

/* ---- tables ------------------------------------------------------------------------------ */

#define TABLE_COLUMNS 8

struct table {
	const char *const *titles; /* NULL for none */
	size_t nr_columns;	   /* TABLE_COLUMNS at most */
	size_t indent;
	size_t widest; /* of all columns but the last, which has the rest of the line */
	bool has_sentences;
	char **cells;
	enum style *styles; /* of the rows */
	size_t nr_rows;
};

/* Adds a row of nr_columns cells, which the table takes over. Returns 0, or -ENOMEM, also where one
 * of them is NULL. */
int table_add(struct table *table, enum style style, char *const *cells) _must_check_;

void table_print(const struct layout *layout, const struct table *table);

void table_free(struct table *table);
