/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cpus.c - CPU sets: hwloc bitmaps, and the kernel's text forms of them */
#include "base/cpus.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

/* How a list is read: the strict grammar of our own options, or what the kernel writes and takes.
 */
struct grammar {
	unsigned int max;
	bool kernel;
};

static int parse_number(const char **text, unsigned int *ret_number)
{
	uint64_t number = 0;
	const char *p = *text;

	if (!isdigit((unsigned char)*p))
		return -EINVAL;
	for (; isdigit((unsigned char)*p); p++) {
		number = number * 10 + (uint64_t)(*p - '0');
		/* far over any CPU number: keep it there instead of wrapping around */
		if (number > INT32_MAX)
			number = INT32_MAX;
	}
	*text = p;
	*ret_number = (unsigned int)number;
	return 0;
}

static int parse_bound(const char **text, const struct grammar *g, unsigned int *ret_number)
{
	if (g->kernel && **text == 'N') {
		(*text)++;
		*ret_number = g->max;
		return 0;
	}
	return parse_number(text, ret_number);
}

/* ":STRIDE" takes one of STRIDE, ":USED/STRIDE" the first USED of each STRIDE. */
static int parse_stride(const char **text, unsigned int *ret_used, unsigned int *ret_stride)
{
	int r;

	*ret_used = *ret_stride = 1;
	if (**text != ':')
		return 0;
	(*text)++;
	r = parse_number(text, ret_stride);
	if (!r && **text == '/') {
		(*text)++;
		*ret_used = *ret_stride;
		r = parse_number(text, ret_stride);
	}
	if (!r && (!*ret_used || !*ret_stride || *ret_used > *ret_stride))
		r = -EINVAL;
	return r;
}

static int set_range(unsigned int first, unsigned int last, unsigned int used, unsigned int stride,
		     hwloc_bitmap_t cpus)
{
	if (used == stride)
		return hwloc_bitmap_set_range(cpus, first, (int)last) ? -ENOMEM : 0;
	for (unsigned int start = first; start <= last; start += stride) {
		unsigned int end = start + used - 1 < last ? start + used - 1 : last;

		if (hwloc_bitmap_set_range(cpus, start, (int)end))
			return -ENOMEM;
		if (last - start < stride)
			break;
	}
	return 0;
}

static int parse_part(const char **text, const struct grammar *g, hwloc_bitmap_t cpus)
{
	unsigned int first = 0, last = g->max, used = 1, stride = 1;
	bool is_range = true;
	int r = 0;

	if (g->kernel && !strncasecmp(*text, "all", 3)) {
		*text += 3;
	} else {
		r = parse_bound(text, g, &first);
		last = first;
		is_range = **text == '-';
		if (!r && is_range) {
			(*text)++;
			r = parse_bound(text, g, &last);
		}
	}
	if (!r && is_range)
		r = parse_stride(text, &used, &stride);
	if (r)
		return r;
	if (first > last)
		return -EINVAL;
	if (last > g->max) {
		if (!g->kernel)
			return -ERANGE;
		if (first > g->max)
			return 0;
		last = g->max;
	}
	return set_range(first, last, used, stride, cpus);
}

static const char separators[] = ", \t\n\v\f\r";

/* What parts a list. To the kernel any number of commas and blanks is one, also around the list. */
static int skip_separator(const char **text, const struct grammar *g)
{
	size_t length = g->kernel ? strspn(*text, separators) : **text == ',' && (*text)[1];

	if (!length && **text)
		return -EINVAL;
	*text += length;
	return 0;
}

static int parse_list(const char *text, const struct grammar *g, bool may_be_empty,
		      hwloc_bitmap_t ret_cpus)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	int r = 0;

	if (!cpus)
		return -ENOMEM;
	if (!*text && !may_be_empty)
		return -EINVAL;
	if (g->kernel)
		text += strspn(text, separators);
	while (!r && *text) {
		r = parse_part(&text, g, cpus);
		if (!r)
			r = skip_separator(&text, g);
	}
	if (!r && hwloc_bitmap_copy(ret_cpus, cpus))
		r = -ENOMEM;
	return r;
}

int cpus_parse(const char *text, unsigned int max, bool may_be_empty, hwloc_bitmap_t ret_cpus)
{
	return parse_list(text, &(struct grammar){ .max = max }, may_be_empty, ret_cpus);
}

int cpus_parse_kernel(const char *text, unsigned int max, hwloc_bitmap_t ret_cpus)
{
	return parse_list(text, &(struct grammar){ .max = max, .kernel = true }, true, ret_cpus);
}

static int set_digit(hwloc_bitmap_t cpus, unsigned int first, char digit, unsigned int max)
{
	unsigned int value = (unsigned int)(isdigit((unsigned char)digit)
						    ? digit - '0'
						    : tolower((unsigned char)digit) - 'a' + 10);

	for (unsigned int bit = 0; bit < 4; bit++)
		if (value & 1U << bit && first + bit <= max && hwloc_bitmap_set(cpus, first + bit))
			return -ENOMEM;
	return 0;
}

int cpus_parse_mask(const char *text, unsigned int max, hwloc_bitmap_t ret_cpus)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	unsigned int first = 0;

	if (!cpus)
		return -ENOMEM;
	if (!*text)
		return -EINVAL;
	/* Each group has eight digits but for the first, so the digits alone give the place. */
	for (const char *p = text + strlen(text); p-- > text;) {
		if (*p == ',')
			continue;
		if (!isxdigit((unsigned char)*p))
			return -EINVAL;
		if (first <= max && set_digit(cpus, first, *p, max))
			return -ENOMEM;
		first += 4;
	}
	return hwloc_bitmap_copy(ret_cpus, cpus) ? -ENOMEM : 0;
}

/* Takes the next range off @text. Returns 1, 0 at the end, or -EINVAL. */
static int next_range(const char **text, unsigned int *ret_first, unsigned int *ret_last)
{
	if (!**text)
		return 0;
	if (parse_number(text, ret_first))
		return -EINVAL;
	*ret_last = *ret_first;
	if (**text == '-') {
		(*text)++;
		if (parse_number(text, ret_last))
			return -EINVAL;
	}
	if (**text && *(*text)++ != ',')
		return -EINVAL;
	return 1;
}

bool cpus_text_has(const char *text, unsigned int cpu)
{
	unsigned int first, last;

	while (next_range(&text, &first, &last) > 0)
		if (first <= cpu && cpu <= last)
			return true;
	return false;
}

#define WORD_BITS (8 * sizeof(unsigned long))

int cpus_text_to_words(const char *text, unsigned long *words, size_t nr_words)
{
	unsigned int first, last;
	int r;

	memset(words, 0, nr_words * sizeof(*words));
	while ((r = next_range(&text, &first, &last)) > 0) {
		if (last >= nr_words * WORD_BITS)
			return -ERANGE;
		for (unsigned int cpu = first; cpu <= last; cpu++)
			words[cpu / WORD_BITS] |= 1UL << cpu % WORD_BITS;
	}
	return r;
}

char *cpus_format(hwloc_const_bitmap_t cpus)
{
	char *text = NULL;

	return hwloc_bitmap_list_asprintf(&text, cpus) < 0 ? NULL : text;
}
