/* SPDX-License-Identifier: GPL-2.0-or-later */
/* named.h - lists of things that a rule names: devices, threads, files, with the CPUs concerned */
#pragma once

#include "base/cpus.h"

struct named {
	char *name;
	hwloc_bitmap_t cpus; /* empty where none are concerned */
	long number;	     /* what the list says it is: a socket, a count; else 0 */
};

struct named_list {
	struct named *list;
	size_t nr;
};

/* Adds a name, fit to be printed, with a copy of @cpus, which may be NULL. Returns 0 or -ENOMEM. */
int named_add(struct named_list *list, hwloc_const_bitmap_t cpus, long number, const char *fmt, ...)
	_printf_(4, 5) _must_check_;

void named_free(struct named_list *list);
