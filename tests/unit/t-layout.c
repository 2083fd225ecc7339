/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-layout.c - tests of the layout: broken and cut lines, tables, control characters */
#include "cli/layout.h"

#include <string.h>

#include "tap.h"

static char *text;
static size_t length;

static struct layout begin(size_t width, bool is_terminal)
{
	free(text);
	text = NULL;
	return (struct layout){
		.file = open_memstream(&text, &length),
		.width = width,
		.is_terminal = is_terminal,
	};
}

static void is_text(const struct layout *layout, const char *expected, const char *what)
{
	fclose(layout->file);
	is_str(text, expected, "%s", what);
}

static size_t longest_line(void)
{
	size_t longest = 0;

	for (const char *line = text; *line;) {
		size_t columns = strcspn(line, "\n");

		longest = columns > longest ? columns : longest;
		line += columns + (line[columns] == '\n');
	}
	return longest;
}

static void test_sentences(void)
{
	struct layout layout = begin(20, true);

	layout_sentence(&layout, STYLE_PLAIN, 0, 2, "one two three four five six, seven");
	is_text(&layout, "one two three four\n  five six, seven\n", "a sentence on a terminal");
	layout = begin(20, false);
	layout_sentence(&layout, STYLE_PLAIN, 0, 2, "one two three four five six, seven");
	is_text(&layout, "one two three four five six, seven\n", "a sentence elsewhere");
	layout = begin(20, true);
	layout_sentence(&layout, STYLE_PLAIN, 0, 2, "a-word-that-is-longer-than-the-line and more");
	is_text(&layout, "a-word-that-is-longer-than-the-line\n  and more\n", "a long word");
	layout = begin(20, true);
	layout_sentence(&layout, STYLE_PLAIN, 0, 0, "");
	is_text(&layout, "\n", "an empty sentence");
	layout = begin(10, true);
	layout_sentence(
		&layout, STYLE_PLAIN, 0, 0,
		"\303\244\303\266\303\274\303\244\303\266\303\274 \303\244\303\266\303\274 x");
	is_text(&layout,
		"\303\244\303\266\303\274\303\244\303\266\303\274 \303\244\303\266\303\274\nx\n",
		"columns are counted, not bytes");
	layout = begin(80, true);
	layout_sentence(&layout, STYLE_PLAIN, 0, 0, "a task \033]0;named\a\r by somebody");
	is_text(&layout, "a task ?]0;named?? by somebody\n", "control characters");
}

/* Names that others have chosen: they end no line, and hide nothing. */
static void test_names(void)
{
	static const char name[] = "x\ncpuoff: \302\2331m\342\200\256\377";
	struct table table = { .nr_columns = 2, .widest = 80 };
	struct layout layout = begin(80, false);

	layout_sentence(&layout, STYLE_PLAIN, 0, 0, name);
	is_text(&layout, "x?cpuoff: ??1m????\n", "a name in a sentence");
	layout = begin(80, false);
	layout_field(&layout, STYLE_PLAIN, "name", "%s", name);
	is_text(&layout, "name          x?cpuoff: ??1m????\n", "a name in a field");
	layout = begin(80, false);
	layout_print(&layout, STYLE_PLAIN, "%s\n", name);
	layout_print(&layout, STYLE_PLAIN, "%s", name);
	is_text(&layout, "x?cpuoff: ??1m????\nx?cpuoff: ??1m????", "a name in a line");
	layout = begin(80, false);
	is_int(table_add(&table, STYLE_PLAIN, (char *[]){ strdup(name), strdup("x") }), 0,
	       "a name in a table");
	table_print(&layout, &table);
	table_free(&table);
	ok(!fclose(layout.file) && strstr(text, "x?cpuoff:") && !strchr(text, '\302'),
	   "is shown likewise");
}

static void test_lists(void)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	_cleanup_free_ char *list = NULL, *whole = NULL, *none = NULL;
	struct layout layout = begin(80, false);

	none = layout_cpus(&layout, cpus);
	is_str(none, "none", "no CPU");
	for (unsigned int cpu = 0; cpu < 4096; cpu += 2)
		hwloc_bitmap_set(cpus, cpu);
	list = layout_cpus(&layout, cpus);
	ok(list && strlen(list) < 250, "a long list is cut");
	ok(list && strstr(list, "0,2,4,6,"), "a long list begins as it is");
	ok(list && strstr(list, "more, see -v (2048 CPUs)"), "it ends with counts");
	if (list) {
		const char *more = strstr(list, " and ");
		unsigned long left = strtoul(more + 5, NULL, 10), shown = 1;

		for (const char *c = list; c < more; c++)
			shown += *c == ',';
		is_int((int)(shown + left), 2048, "what is shown and what is left are all");
	}
	layout_field(&layout, STYLE_PLAIN, "label", "%s", list);
	fclose(layout.file);
	ok(longest_line() <= 80, "a field fits into 80 columns");
	ok(!strncmp(text, "label         0,2,", 18), "it begins behind its label");
	ok(strstr(text, "\n              ") != NULL, "it goes on below its beginning");
	layout = begin(80, false);
	layout.is_whole = true;
	whole = layout_list(&layout, cpus);
	ok(whole && strstr(whole, ",4092,4094"), "with -v nothing is cut");
	fclose(layout.file);
	layout = begin(80, false);
	layout_sentence(
		&layout, STYLE_PLAIN, 0, 0,
		"CPUs 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,33,35,37,39,41,43,45,47,49,"
		"51,53,55,57,59,61,63,65,67,69-1000: busy");
	is_text(&layout,
		"CPUs 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,33,35,37,39,41,43,45,47,49,51,53,"
		"55,57,59,61,63,65,67 and 932 more, see -v: busy\n",
		"a list within a sentence");
}

static void test_tables(void)
{
	static const char *const titles[] = { "id", "name", "CPUs" };
	struct table table = { .titles = titles, .nr_columns = 3, .indent = 1, .widest = 8 };
	struct layout layout = begin(40, false);

	is_int(table_add(&table, STYLE_PLAIN,
			 (char *[]){ strdup("1"), strdup("one"), strdup("0-3") }),
	       0, "a row");
	is_int(table_add(&table, STYLE_BAD,
			 (char *[]){ strdup("10000"), strdup("x"),
				     strdup("10,12,14,16,18,20,22,24,26,28,30") }),
	       0, "another row");
	ok(table_add(&table, STYLE_PLAIN, (char *[]){ strdup("2"), NULL, strdup("") }) < 0,
	   "a row without memory");
	table_print(&layout, &table);
	is_text(&layout,
		" id     name  CPUs\n"
		" 1      one   0-3\n"
		" 10000  x     10,12,14,16,18,20,22,24,\n"
		"              26,28,30\n",
		"a table");
	layout = begin(40, false);
	layout.is_coloured = true;
	table.titles = NULL;
	table.nr_rows = 2;
	table_print(&layout, &table);
	fclose(layout.file);
	ok(strstr(text, "\033[31m10000\033[0m") != NULL, "a row in a style");
	ok(!strncmp(text, " 1      one", 11), "a plain row has no codes");
	table_free(&table);
}

int main(void)
{
	test_sentences();
	test_names();
	test_lists();
	test_tables();
	free(text);
	return done_testing();
}
