/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpus.h - CPU sets: hwloc bitmaps, and the kernel's text forms of them
 *
 * A CPU set is a hwloc_bitmap_t of any size, indexed by the kernel's CPU numbers.
 * cpulist: "0-3,8,16-31"; cpumask: "0000ffff,00000003", most significant word first.
 */
#pragma once

#include <limits.h>

#include <hwloc/bitmap.h>

#include "base/util.h"

#define _cleanup_cpus_ _cleanup_(cpus_free)

static inline void cpus_free(hwloc_bitmap_t *cpus)
{
	hwloc_bitmap_free(*cpus);
}

#define CPU_NONE UINT_MAX

/* The first CPU of @cpus after @cpu (CPU_NONE: the first of all), or CPU_NONE. */
static inline unsigned int cpus_next(hwloc_const_bitmap_t cpus, unsigned int cpu)
{
	return (unsigned int)hwloc_bitmap_next(cpus, (int)cpu);
}

#define cpus_foreach(cpu, cpus)                                                                    \
	for ((cpu) = cpus_next(cpus, CPU_NONE); (cpu) != CPU_NONE; (cpu) = cpus_next(cpus, cpu))

/* The first CPU of @cpus that is in @among, too, or CPU_NONE. */
static inline unsigned int cpus_first_among(hwloc_const_bitmap_t cpus, hwloc_const_bitmap_t among)
{
	unsigned int cpu;

	cpus_foreach(cpu, cpus)
		if (hwloc_bitmap_isset(among, cpu))
			break;
	return cpu;
}

/*
 * Parses a cpulist, or a list of other ids: numbers and ranges parted by commas, and strides
 * ("0-31:2", also the kernel's "0-31:1/2"). Nothing else is accepted: no spaces, no empty part, no
 * range that runs backwards, no number over @max. An empty text is an empty set only where
 * @may_be_empty. Returns 0, -EINVAL (malformed), -ERANGE (a number over @max) or -ENOMEM.
 */
int cpus_parse(const char *text, unsigned int max, bool may_be_empty,
	       hwloc_bitmap_t ret_cpus) _must_check_;

/*
 * Parses what the kernel itself wrote or was told: as cpus_parse(), but what lies over @max is left
 * out (kernels list CPUs beyond the possible ones) and "all" and "N" (the last CPU) are known, as
 * in lib/bitmap-str.c of the kernel.
 */
int cpus_parse_kernel(const char *text, unsigned int max, hwloc_bitmap_t ret_cpus) _must_check_;

/* Parses a kernel cpumask; CPUs over @max are left out. Returns 0, -EINVAL or -ENOMEM. */
int cpus_parse_mask(const char *text, unsigned int max, hwloc_bitmap_t ret_cpus) _must_check_;

/*
 * True where the kernel's cpulist @text names @cpu. Allocates nothing; text that is no list names
 * nothing.
 */
bool cpus_text_has(const char *text, unsigned int cpu);

/*
 * Sets the bits of @words that the kernel's cpulist @text names and clears the others. Allocates
 * nothing. Returns 0, -EINVAL, or -ERANGE where a CPU lies beyond @nr_words.
 */
int cpus_text_to_words(const char *text, unsigned long *words, size_t nr_words) _must_check_;

/* The cpulist of @cpus, "" for none; NULL where there is no memory. The caller frees it. */
char *cpus_format(hwloc_const_bitmap_t cpus) _must_check_;

static inline unsigned int cpus_count(hwloc_const_bitmap_t cpus)
{
	return (unsigned int)hwloc_bitmap_weight(cpus);
}

static inline bool cpus_is_empty(hwloc_const_bitmap_t cpus)
{
	return hwloc_bitmap_iszero(cpus);
}
