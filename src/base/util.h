/* SPDX-License-Identifier: GPL-2.0-or-later */
/* util.h - cleanup attributes and the few helpers that every room uses */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define _must_check_	    __attribute__((warn_unused_result))
#define _printf_(fmt, args) __attribute__((format(printf, fmt, args)))
#define _cleanup_(fn)	    __attribute__((cleanup(fn)))
#define _cleanup_free_	    _cleanup_(util_free)
#define _cleanup_close_	    _cleanup_(util_close)

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* @p points to a pointer of any type. */
static inline void util_free(void *p)
{
	void *pointer;

	memcpy(&pointer, p, sizeof(pointer));
	free(pointer);
}

static inline void util_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* Gives the pointer or descriptor away: the cleanup attribute of its variable then has nothing to
 * do. */
#define steal_pointer(pp)                                                                          \
	({                                                                                         \
		__typeof__(*(pp)) _p = *(pp);                                                      \
		*(pp) = NULL;                                                                      \
		_p;                                                                                \
	})

static inline int steal_fd(int *fd)
{
	int stolen = *fd;

	*fd = -1;
	return stolen;
}

/* asprintf() that returns the text, or NULL where there is no memory. The caller frees it. */
char *util_asprintf(const char *fmt, ...) _printf_(1, 2) _must_check_;

/* @list with @word at its end, behind @separator where the list is not empty. Takes @list, which
 * may be NULL, and returns NULL, where there is no memory. */
char *util_join(char *list, const char *separator, const char *word) _must_check_;
char *util_vasprintf(const char *fmt, va_list ap) _printf_(1, 0) _must_check_;

/* A copy of @text in which every byte that is not part of valid UTF-8 is "?"; NULL: no memory. */
char *util_utf8(const char *text) _must_check_;

/*
 * For all that is printed: makes "?" of every byte that is not part of valid UTF-8, or is part of a
 * character that a terminal obeys (C0 but those in @kept, DEL, C1) or that changes where the text
 * beside it stands (separators of lines, embeddings and overrides of direction).
 */
void util_make_visible(char *text, const char *kept);

/*
 * Makes every byte of @text "?" that is no plain character: what a process, a driver or a file
 * chose to be called must not reach a terminal as it is.
 */
void util_make_printable(char *text);

/* strdup() that maps NULL to NULL. */
char *util_strdup(const char *text) _must_check_;

/*
 * Makes room for one more element in @list of @nr elements of @size bytes, growing by halves, and
 * returns the new list, or NULL (the old one is untouched then). Capacity follows from @nr, so that
 * no list needs a field for it.
 */
void *util_grow(void *list, size_t nr, size_t size) _must_check_;

/* A list of texts of its own. */
struct names {
	char **list;
	size_t nr;
};

/* Adds a copy of @name. Returns 0 or -ENOMEM. */
int names_add(struct names *names, const char *name) _must_check_;
void names_sort(struct names *names);
void names_free(struct names *names);
#define _cleanup_names_ _cleanup_(names_free)

/* Parses the whole of @text as a decimal number between @min and @max. Returns 0, -EINVAL or
 * -ERANGE. */
int util_parse_long(const char *text, long min, long max, long *ret_value) _must_check_;

/* Seconds on the monotonic clock. */
double util_now(void);

/* Sleeps @seconds, going on after a signal. */
void util_sleep(double seconds);

/* The symbolic name of an errno value, "EBUSY"; "errno 999" where it has none. */
const char *util_errno_name(int errno_value);
