/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tap.h - the Test Anything Protocol, as automake's driver reads it
 *
 * Each check prints one line and returns whether it passed. main() ends with `return
 * done_testing();`: a test that dies before has printed no plan, and so fails.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static unsigned int tap_nr, tap_nr_failed;

__attribute__((format(printf, 2, 0), unused)) static bool tap_result(bool passed, const char *fmt,
								     va_list ap)
{
	printf("%sok %u - ", passed ? "" : "not ", ++tap_nr);
	vprintf(fmt, ap);
	putchar('\n');
	fflush(stdout);
	tap_nr_failed += !passed;
	return passed;
}

/* A line that explains, for the person who reads the log. */
__attribute__((format(printf, 1, 2), unused)) static void diag(const char *fmt, ...)
{
	va_list ap;

	printf("# ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

/* In the place of what cannot be tested here. */
__attribute__((unused)) static void skip(const char *why)
{
	printf("ok %u # SKIP %s\n", ++tap_nr, why);
}

__attribute__((format(printf, 2, 3), unused)) static bool ok(bool passed, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_result(passed, fmt, ap);
	va_end(ap);
	return passed;
}

__attribute__((format(printf, 3, 4), unused)) static bool is_int(long long got, long long expected,
								 const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_result(got == expected, fmt, ap);
	va_end(ap);
	if (got != expected)
		diag("got %lld, expected %lld", got, expected);
	return got == expected;
}

/* NULL is a value of its own, which equals NULL only. */
__attribute__((format(printf, 3, 4), unused)) static bool is_str(const char *got,
								 const char *expected,
								 const char *fmt, ...)
{
	bool passed = got && expected ? !strcmp(got, expected) : got == expected;
	va_list ap;

	va_start(ap, fmt);
	tap_result(passed, fmt, ap);
	va_end(ap);
	if (!passed)
		diag("got \"%s\", expected \"%s\"", got ? got : "(null)",
		     expected ? expected : "(null)");
	return passed;
}

/* Prints the plan. Returns the exit status. */
__attribute__((unused)) static int done_testing(void)
{
	printf("1..%u\n", tap_nr);
	return tap_nr_failed || !tap_nr;
}
