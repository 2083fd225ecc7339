/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mce.c - machine checks, as the kernel's log, rasdaemon and mcelog write them */
#include "core/mce.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

enum field {
	FIELD_CPU,
	FIELD_APIC,
	FIELD_SOCKET,
	NR_FIELDS,
};

/* The words before a number; all writers part them by some of " :=". */
static const struct {
	const char *word;
	enum field field;
	int base; /* of numbers without 0x */
} words[] = {
	{ "cpu", FIELD_CPU, 10 },	{ "apic", FIELD_APIC, 16 },
	{ "apicid", FIELD_APIC, 16 },	{ "apic_id", FIELD_APIC, 16 },
	{ "socket", FIELD_SOCKET, 10 }, { "socketid", FIELD_SOCKET, 16 },
};

/* One of these is in each line, or in the text before a line that begins with "CPU". */
static const char *const signs[] = {
	"machine check",  "[hardware error]", "mce",	  "mcgcap", "mcgstatus",
	"hardware event", "apicid",	      "socketid", " bank ", " socket ",
};

void mces_free(struct mces *mces)
{
	free(mces->list);
	*mces = (struct mces){ 0 };
}

static bool has_sign(const char *line)
{
	for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
		if (strcasestr(line, signs[i]))
			return true;
	return false;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Reads the number that follows a word. Returns false where there is none, or a broken one. */
static bool read_number(const char *at, int base, long *ret_value)
{
	size_t gap = strspn(at, " :=\t");
	char *end;

	if (!gap || !isxdigit((unsigned char)at[gap]))
		return false;
	at += gap;
	if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
		base = 16;
	errno = 0;
	*ret_value = strtol(at, &end, base);
	return end != at && !is_word(*end) && !errno && *ret_value <= INT_MAX;
}

/* The field that begins at @at, with its value; NR_FIELDS: none does. */
static enum field read_field(const char *at, long *ret_value)
{
	size_t length = 0;

	while (is_word(at[length]))
		length++;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (length == strlen(words[i].word) && !strncasecmp(at, words[i].word, length) &&
		    read_number(at + length, words[i].base, ret_value))
			return words[i].field;
	return NR_FIELDS;
}

static const struct mce nobody = { MCE_NONE, MCE_NONE, MCE_NONE };

static bool is_same(const struct mce *a, const struct mce *b)
{
	return a->cpu == b->cpu && a->apic == b->apic && a->socket == b->socket;
}

/* Ends the machine check that is being read. */
static int close_mce(struct mces *mces, struct mce *mce)
{
	struct mce *list;

	if (is_same(mce, &nobody))
		return 0;
	for (size_t i = 0; i < mces->nr; i++)
		if (is_same(&mces->list[i], mce)) {
			*mce = nobody;
			return 0;
		}
	list = util_grow(mces->list, mces->nr, sizeof(*list));
	if (!list)
		return -ENOMEM;
	mces->list = list;
	list[mces->nr++] = *mce;
	*mce = nobody;
	return 0;
}

/* @seen: the fields that this line has had. */
static int take_field(struct mces *mces, struct mce *mce, enum field field, long value,
		      unsigned int *seen)
{
	long *const values[] = { &mce->cpu, &mce->apic, &mce->socket };
	int r = 0;

	/* said again, the next one has begun; in one line the last word counts, free text is first
	 */
	if (!(*seen & 1U << field) &&
	    (*values[field] != MCE_NONE || (field == FIELD_CPU && mce->apic != MCE_NONE)))
		r = close_mce(mces, mce);
	*values[field] = value;
	*seen |= 1U << field;
	return r;
}

static int parse_line(struct mces *mces, struct mce *mce, const char *line)
{
	const char *at = line;
	unsigned int seen = 0;
	int r = 0;

	while (!r && *at) {
		enum field field;
		long value;

		if (!is_word(*at)) {
			at++;
			continue;
		}
		field = read_field(at, &value);
		if (field != NR_FIELDS)
			r = take_field(mces, mce, field, value, &seen);
		while (is_word(*at))
			at++;
	}
	return r;
}

int mce_parse(const char *text, struct mces *ret_mces)
{
	bool has_begun = has_sign(text);
	struct mce mce = nobody;
	int r = 0;

	*ret_mces = (struct mces){ 0 };
	while (!r && *text) {
		_cleanup_free_ char *line = strndup(text, strcspn(text, "\n"));
		const char *first = line;

		if (!line)
			return -ENOMEM;
		while (isspace((unsigned char)*first))
			first++;
		if (has_sign(line) || (has_begun && !strncmp(first, "CPU ", 4)))
			r = parse_line(ret_mces, &mce, line);
		text += strlen(line);
		text += *text == '\n';
	}
	return r ? r : close_mce(ret_mces, &mce);
}
