/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rules.h - the tables of rules, and what their checks share; for core/preflight and core/rules-*
 */
#pragma once

#include "core/preflight.h"

/* Each ends with a row without an id. */
extern const struct rule rules_machine[];    /* what the machine allows */
extern const struct rule rules_kernel[];     /* what the kernel would refuse or hang on */
extern const struct rule rules_work[];	     /* tasks, cpusets, disks */
extern const struct rule rules_neighbours[]; /* other programs */
extern const struct rule rules_elsewhere[];  /* findings that are made elsewhere */

/* A sentence that could not be made must not be taken for nothing to say. */
char *rules_told(char *message, const struct facts *facts, hwloc_bitmap_t cpus);

/* "cpu7" and the text for one, or "CPUs 7-9" and that for many. */
char *rules_name_cpus(hwloc_const_bitmap_t cpus, const char *one, const char *many);

/* Adds ", NAME" to @list, up to a number that a person reads; NULL where there is no memory. */
char *rules_add_name(char *list, size_t nr, const char *fmt, ...) _printf_(3, 4);

/* The names of @list likewise, and all their CPUs into @cpus. */
char *rules_add_names(const struct named_list *list, hwloc_bitmap_t cpus);

/* The sentence of these names between @before and @after, or NULL where @list has none. */
char *rules_tell_names(const struct named_list *list, const struct facts *facts,
		       hwloc_bitmap_t cpus, const char *before, const char *after);
