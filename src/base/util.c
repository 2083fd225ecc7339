/* SPDX-License-Identifier: GPL-2.0-or-later */
/* util.c - cleanup attributes and the few helpers that every room uses */
#include "config.h"

#include "base/util.h"

#include <errno.h>
#include <string.h>
#include <time.h>

char *util_vasprintf(const char *fmt, va_list ap)
{
	char *text = NULL;

	return vasprintf(&text, fmt, ap) < 0 ? NULL : text;
}

char *util_asprintf(const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	text = util_vasprintf(fmt, ap);
	va_end(ap);
	return text;
}

char *util_join(char *list, const char *separator, const char *word)
{
	_cleanup_free_ char *old = list;

	return list ? util_asprintf("%s%s%s", list, list[0] ? separator : "", word) : NULL;
}

/* The length of the valid UTF-8 character at @text (RFC 3629), 0 where there is none. */
static size_t character_length(const unsigned char *text)
{
	size_t length = text[0] < 0x80			    ? 1
			: text[0] >= 0xc2 && text[0] < 0xe0 ? 2
			: text[0] >= 0xe0 && text[0] < 0xf0 ? 3
			: text[0] >= 0xf0 && text[0] < 0xf5 ? 4
							    : 0;

	for (size_t i = 1; i < length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	/* overlong forms, surrogates, and what lies over U+10FFFF */
	if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
	    (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
		return 0;
	return length;
}

char *util_utf8(const char *text)
{
	char *copy = strdup(text);

	for (char *p = copy; p && *p;) {
		size_t length = character_length((const unsigned char *)p);

		if (!length)
			*p = '?';
		p += length ? length : 1;
	}
	return copy;
}

static bool is_control(unsigned char c)
{
	return c < ' ' || c == 0x7f;
}

/* U+0080 to U+009F, U+2028 to U+202E and U+2066 to U+2069, which are valid UTF-8. */
static bool is_obeyed(const unsigned char *text)
{
	if (text[0] == 0xc2)
		return text[1] < 0xa0;
	return text[0] == 0xe2 && ((text[1] == 0x80 && text[2] >= 0xa8 && text[2] <= 0xae) ||
				   (text[1] == 0x81 && text[2] >= 0xa6 && text[2] <= 0xa9));
}

void util_make_visible(char *text, const char *kept)
{
	while (*text) {
		const unsigned char *at = (const unsigned char *)text;
		size_t length = character_length(at);

		if (!length || (is_control(*at) && !strchr(kept, *at)) || is_obeyed(at))
			memset(text, '?', length ? length : 1);
		text += length ? length : 1;
	}
}

void util_make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || (unsigned char)*text > '~')
			*text = '?';
}

char *util_strdup(const char *text)
{
	return text ? strdup(text) : NULL;
}

void *util_grow(void *list, size_t nr, size_t size)
{
	/* A list is full when its length is a power of two (or 0): that is when it doubles. */
	if (nr & (nr - 1))
		return list;
	return reallocarray(list, nr ? nr * 2 : 1, size);
}

int names_add(struct names *names, const char *name)
{
	char **list = util_grow(names->list, names->nr, sizeof(*list));

	if (!list)
		return -ENOMEM;
	names->list = list;
	list[names->nr] = strdup(name);
	if (!list[names->nr])
		return -ENOMEM;
	names->nr++;
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void names_sort(struct names *names)
{
	if (names->nr)
		qsort(names->list, names->nr, sizeof(*names->list), compare_names);
}

void names_free(struct names *names)
{
	for (size_t i = 0; i < names->nr; i++)
		free(names->list[i]);
	free(names->list);
	*names = (struct names){ 0 };
}

int util_parse_long(const char *text, long min, long max, long *ret_value)
{
	char *end;
	long value;

	if (!((*text >= '0' && *text <= '9') || (*text == '-' && text[1] >= '0' && text[1] <= '9')))
		return -EINVAL;
	errno = 0;
	value = strtol(text, &end, 10);
	if (*end)
		return -EINVAL;
	if (errno || value < min || value > max)
		return -ERANGE;
	*ret_value = value;
	return 0;
}

double util_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

void util_sleep(double seconds)
{
	struct timespec left = {
		.tv_sec = (time_t)seconds,
		.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
		;
}

#ifdef HAVE_STRERRORNAME_NP
static const char *find_errno_name(int errno_value)
{
	return strerrorname_np(errno_value);
}
#else
/* What the kernel's files answer, and what reading and starting programs may. */
static const char *find_errno_name(int errno_value)
{
#define NAMED(name) [name] = #name
	static const char *const names[] = {
		NAMED(EPERM),	  NAMED(ENOENT),       NAMED(ESRCH),	    NAMED(EINTR),
		NAMED(EIO),	  NAMED(ENXIO),	       NAMED(E2BIG),	    NAMED(ENOEXEC),
		NAMED(EBADF),	  NAMED(ECHILD),       NAMED(EAGAIN),	    NAMED(ENOMEM),
		NAMED(EACCES),	  NAMED(EFAULT),       NAMED(EBUSY),	    NAMED(EEXIST),
		NAMED(EXDEV),	  NAMED(ENODEV),       NAMED(ENOTDIR),	    NAMED(EISDIR),
		NAMED(EINVAL),	  NAMED(ENFILE),       NAMED(EMFILE),	    NAMED(ETXTBSY),
		NAMED(EFBIG),	  NAMED(ENOSPC),       NAMED(EROFS),	    NAMED(EPIPE),
		NAMED(ERANGE),	  NAMED(EDEADLK),      NAMED(ENAMETOOLONG), NAMED(ENOSYS),
		NAMED(ENOTEMPTY), NAMED(ELOOP),	       NAMED(ENODATA),	    NAMED(ETIME),
		NAMED(EPROTO),	  NAMED(EOVERFLOW),    NAMED(EUCLEAN),	    NAMED(EOPNOTSUPP),
		NAMED(ETIMEDOUT), NAMED(ECONNREFUSED), NAMED(EALREADY),	    NAMED(ESTALE),
		NAMED(EDQUOT),	  NAMED(ECANCELED),
	};
#undef NAMED

	return errno_value > 0 && errno_value < (int)ARRAY_SIZE(names) ? names[errno_value] : NULL;
}
#endif

const char *util_errno_name(int errno_value)
{
	static char other[32];
	const char *name = find_errno_name(errno_value);

	if (name)
		return name;
	snprintf(other, sizeof(other), "errno %d", errno_value);
	return other;
}
