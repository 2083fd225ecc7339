/* SPDX-License-Identifier: GPL-2.0-or-later */
/* util.c - cleanup attributes and the few helpers that every room uses */
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

const char *util_errno_name(int errno_value)
{
	static char other[32];
	const char *name = strerrorname_np(errno_value);

	if (name)
		return name;
	snprintf(other, sizeof(other), "errno %d", errno_value);
	return other;
}
