/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guard.c - sees every allocation of the process, and lets them fail */
#include "guard.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define HAS_SANITIZER 1
#else
#define HAS_SANITIZER 0
#endif

static bool is_on;
static size_t nr_seen, failing_nr; /* failing_nr 0: all */

/* Returns true where this allocation has to fail. */
__attribute__((unused)) static bool note(void)
{
	if (!is_on)
		return false;
	nr_seen++;
	return !failing_nr || nr_seen == failing_nr;
}

#if HAS_SANITIZER

/* sanitizer/allocator_interface.h, which gcc does not install */
int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void *, size_t),
					      void (*free_hook)(const volatile void *));

static void seen(const volatile void *p, size_t size)
{
	(void)p;
	(void)size;
	note();
}

static void freed(const volatile void *p)
{
	(void)p;
}

__attribute__((constructor)) static void install(void)
{
	__sanitizer_install_malloc_and_free_hooks(seen, freed);
}

#elif defined(__GLIBC__) /* others cannot be asked for what lies behind */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t nr, size_t size);
void *__libc_realloc(void *p, size_t size);

void *malloc(size_t size)
{
	if (!note())
		return __libc_malloc(size);
	errno = ENOMEM;
	return NULL;
}

void *calloc(size_t nr, size_t size)
{
	if (!note())
		return __libc_calloc(nr, size);
	errno = ENOMEM;
	return NULL;
}

void *realloc(void *p, size_t size)
{
	if (!note())
		return __libc_realloc(p, size);
	errno = ENOMEM;
	return NULL;
}

#endif

/* The compiler must not see that the block is not used. */
static void *allocate(void)
{
	void *(*volatile function)(size_t) = malloc;

	return function(1);
}

bool guard_can_see(void)
{
	size_t nr;

	guard_begin();
	free(allocate());
	nr = guard_end();
	return nr > 0;
}

bool guard_can_fail(void)
{
	void *p;

	guard_begin();
	p = allocate();
	guard_end();
	free(p);
	return !p;
}

void guard_begin(void)
{
	guard_fail_at(0);
}

void guard_fail_at(size_t nr)
{
	nr_seen = 0;
	failing_nr = nr;
	is_on = true;
}

size_t guard_end(void)
{
	is_on = false;
	return nr_seen;
}
