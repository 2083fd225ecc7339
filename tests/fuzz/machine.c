/* SPDX-License-Identifier: GPL-2.0-or-later */
/* machine.c - a small machine of plain files that the input of a fuzz target lies over */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/temp.h"
#include "fuzz.h"

#define MAX_FILES 1024

/* What of a text in the format of machine.txt belongs to one path. */
struct part {
	const char *path;
	size_t path_length;
	const char *content;
	size_t size;
};

static char base[1 << 16];
static struct part files[MAX_FILES]; /* plain ones, in the order of their paths */
static size_t nr_files;
static bool is_changed[MAX_FILES];

void fuzz_demand(bool is_met, const char *what)
{
	if (is_met)
		return;
	fprintf(stderr, "never: %s\n", what);
	abort();
}

char *fuzz_path(const char *name)
{
	const char *top = getenv("abs_top_srcdir");
	char *path = util_asprintf("%s/tests/fuzz/%s", top ? top : ".", name);

	fuzz_demand(path, "no memory");
	return path;
}

char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	fuzz_demand(text, "no memory");
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

/* The first line from @at on that begins with "@"; @end where there is none. */
static const char *find_part(const char *at, const char *end)
{
	while (at < end && *at != '@') {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		at = newline ? newline + 1 : end;
	}
	return at;
}

/* Returns what follows the part that begins at @at. */
static const char *read_part(const char *at, const char *end, struct part *ret_part)
{
	const char *newline = memchr(at, '\n', (size_t)(end - at));
	const char *content = newline ? newline + 1 : end;
	const char *next = find_part(content, end);

	*ret_part = (struct part){
		.path = at + 1,
		.path_length = (size_t)((newline ? newline : end) - at - 1),
		.content = content,
		.size = (size_t)(next - content),
	};
	return next;
}

static const char *path_of(const struct part *part)
{
	static char path[512];

	snprintf(path, sizeof(path), "%.*s", (int)part->path_length, part->path);
	return path;
}

static void make_part(const struct part *part)
{
	static const char arrow[] = " -> ";
	char path[512], *target;

	snprintf(path, sizeof(path), "%s", path_of(part));
	target = strstr(path, arrow);
	if (target) {
		*target = '\0';
		temp_symlink(target + strlen(arrow), path);
	} else if (path[part->path_length - 1] == '/') {
		path[part->path_length - 1] = '\0';
		temp_mkdir(path);
	} else {
		fuzz_demand(nr_files < MAX_FILES, "too many files in the machine");
		files[nr_files++] = *part;
		temp_write_bytes(path, part->content, part->size);
	}
}

/* Returns where the text of machine.txt ends. */
static const char *read_base(void)
{
	_cleanup_free_ char *path = fuzz_path("machine.txt");
	FILE *file = fopen(path, "re");
	size_t size = file ? fread(base, 1, sizeof(base), file) : 0;

	fuzz_demand(size && size < sizeof(base), "machine.txt cannot be read");
	fclose(file);
	return base + size;
}

void machine_make(void)
{
	static bool is_made;
	const char *at = base, *end;

	if (is_made)
		return;
	is_made = true;
	temp_make();
	atexit(temp_remove);
	for (end = read_base(); at < end;) {
		struct part part;

		at = read_part(at, end, &part);
		make_part(&part);
	}
}

static size_t find_file(const struct part *part)
{
	size_t hash = 0;

	for (size_t i = 0; i < nr_files; i++)
		if (files[i].path_length == part->path_length &&
		    !memcmp(files[i].path, part->path, part->path_length))
			return i;
	for (size_t i = 0; i < part->path_length; i++)
		hash = hash * 31 + (unsigned char)part->path[i];
	return hash % nr_files;
}

void machine_put(const uint8_t *data, size_t size)
{
	static const char word[] = " absent";
	const char *end = (const char *)data + size, *at = find_part((const char *)data, end);

	machine_make();
	while (at < end) {
		struct part part;
		bool is_absent;
		size_t i;

		at = read_part(at, end, &part);
		is_absent =
			part.path_length > strlen(word) &&
			!memcmp(part.path + part.path_length - strlen(word), word, strlen(word));
		if (is_absent)
			part.path_length -= strlen(word);
		i = find_file(&part);
		is_changed[i] = true;
		if (is_absent)
			unlink(temp_path(path_of(&files[i])));
		else
			temp_write_bytes(path_of(&files[i]), part.content, part.size);
	}
}

void machine_put_file(const char *path, const uint8_t *data, size_t size)
{
	machine_make();
	temp_write_bytes(path, data, size);
}

const char *machine_file(size_t i)
{
	return i < nr_files ? path_of(&files[i]) : NULL;
}

void machine_restore_file(size_t i)
{
	temp_write_bytes(path_of(&files[i]), files[i].content, files[i].size);
	is_changed[i] = false;
}

void machine_reset(void)
{
	for (size_t i = 0; i < nr_files; i++)
		if (is_changed[i])
			machine_restore_file(i);
}
