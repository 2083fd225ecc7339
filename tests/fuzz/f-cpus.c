/* SPDX-License-Identifier: GPL-2.0-or-later */
/* f-cpus.c - fuzz target: cpulists and cpumasks, which several readers must understand alike */
#include <string.h>

#include "base/cpus.h"
#include "fuzz.h"

#define MAX_CPU	 4095
#define NR_WORDS ((MAX_CPU + 1) / (8 * sizeof(unsigned long)))

/* The list of a set means that set. */
static void check_format(hwloc_const_bitmap_t cpus)
{
	_cleanup_cpus_ hwloc_bitmap_t again = hwloc_bitmap_alloc();
	_cleanup_free_ char *list = cpus_format(cpus);

	fuzz_demand(again && list && !cpus_parse(list, MAX_CPU, true, again) &&
			    hwloc_bitmap_isequal(again, cpus),
		    "a list that means another set");
}

static bool is_in(const unsigned long *words, unsigned int cpu)
{
	return words[cpu / (8 * sizeof(*words))] >> cpu % (8 * sizeof(*words)) & 1;
}

/* The readers that allocate nothing. */
static void check_text(const char *text, hwloc_const_bitmap_t cpus)
{
	unsigned long words[NR_WORDS];
	bool has_words = !cpus_text_to_words(text, words, NR_WORDS);

	for (unsigned int cpu = 0; cpu <= MAX_CPU; cpu += 1 + cpu / 64) {
		bool is_set = hwloc_bitmap_isset(cpus, cpu);

		fuzz_demand(cpus_text_has(text, cpu) == is_set, "a CPU is found or not found");
		fuzz_demand(!has_words || is_in(words, cpu) == is_set, "words of another set");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc(), kernel = hwloc_bitmap_alloc();
	_cleanup_free_ char *text = fuzz_text(data, size);

	fuzz_demand(cpus && kernel, "no memory");
	if (!cpus_parse_mask(text, MAX_CPU, kernel))
		check_format(kernel);
	if (!cpus_parse_kernel(text, MAX_CPU, kernel))
		check_format(kernel);
	if (cpus_parse(text, MAX_CPU, true, cpus))
		return 0;
	fuzz_demand(hwloc_bitmap_isequal(cpus, kernel), "a list that the kernel reads otherwise");
	/* the kernel takes strides, but writes none */
	if (!strchr(text, ':'))
		check_text(text, cpus);
	return 0;
}
