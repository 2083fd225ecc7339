/* SPDX-License-Identifier: GPL-2.0-or-later */
/* named.c - lists of things that a rule names: devices, threads, files, with the CPUs concerned */
#include "base/named.h"

#include <errno.h>

static void free_one(struct named *named)
{
	free(named->name);
	hwloc_bitmap_free(named->cpus);
}

int named_add(struct named_list *list, hwloc_const_bitmap_t cpus, long number, const char *fmt, ...)
{
	struct named added = { .number = number, .cpus = hwloc_bitmap_alloc() }, *grown;
	va_list ap;

	va_start(ap, fmt);
	added.name = util_vasprintf(fmt, ap);
	va_end(ap);
	grown = util_grow(list->list, list->nr, sizeof(*grown));
	if (grown)
		list->list = grown;
	if (!grown || !added.name || !added.cpus ||
	    (cpus && hwloc_bitmap_copy(added.cpus, cpus) < 0)) {
		free_one(&added);
		return -ENOMEM;
	}
	util_make_printable(added.name);
	grown[list->nr++] = added;
	return 0;
}

void named_free(struct named_list *list)
{
	while (list->nr)
		free_one(&list->list[--list->nr]);
	free(list->list);
	list->list = NULL;
}
