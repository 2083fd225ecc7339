/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-cpus.c - tests of the text forms of CPU sets */
#include "base/cpus.h"

#include <errno.h>

#include "tap.h"

enum reader {
	STRICT, /* cpus_parse() */
	STRICT_OR_EMPTY,
	KERNEL, /* cpus_parse_kernel() */
	MASK,	/* cpus_parse_mask() */
};

static const struct reading {
	enum reader reader;
	const char *text;
	unsigned int max;
	int r;
	const char *cpus; /* where r is 0 */
} readings[] = {
	{ STRICT, "0", 7, 0, "0" },
	{ STRICT, "7", 7, 0, "7" },
	{ STRICT, "0-3,8,16-31", 31, 0, "0-3,8,16-31" },
	{ STRICT, "5,3,4", 7, 0, "3-5" },
	{ STRICT, "3,3", 7, 0, "3" },
	{ STRICT, "0-7,2-3", 7, 0, "0-7" },
	{ STRICT, "4-4", 7, 0, "4" },
	{ STRICT, "007", 7, 0, "7" },
	{ STRICT, "4000-4095", 4095, 0, "4000-4095" },
	{ STRICT, "0-8191", 8191, 0, "0-8191" },
	{ STRICT, "65535", 65535, 0, "65535" },

	{ STRICT, "0-7:2", 7, 0, "0,2,4,6" },
	{ STRICT, "1-7:3", 7, 0, "1,4,7" },
	{ STRICT, "0-7:1", 7, 0, "0-7" },
	{ STRICT, "0-7:100", 7, 0, "0" },
	{ STRICT, "0-7:2/4", 7, 0, "0-1,4-5" },
	{ STRICT, "0-6:3/4", 7, 0, "0-2,4-6" },
	{ STRICT, "0-5:3/4", 7, 0, "0-2,4-5" },
	{ STRICT, "0-7:4/4", 7, 0, "0-7" },
	{ STRICT, "0-3:2,8-11:2", 31, 0, "0,2,8,10" },
	{ STRICT, "0-7:2147483647", 7, 0, "0" },

	{ STRICT, "", 7, -EINVAL, NULL },
	{ STRICT, ",", 7, -EINVAL, NULL },
	{ STRICT, "1,", 7, -EINVAL, NULL },
	{ STRICT, ",1", 7, -EINVAL, NULL },
	{ STRICT, "1,,2", 7, -EINVAL, NULL },
	{ STRICT, "3-1", 7, -EINVAL, NULL },
	{ STRICT, "1-", 7, -EINVAL, NULL },
	{ STRICT, "-1", 7, -EINVAL, NULL },
	{ STRICT, "1-2-3", 7, -EINVAL, NULL },
	{ STRICT, "1;2", 7, -EINVAL, NULL },
	{ STRICT, "1 2", 7, -EINVAL, NULL },
	{ STRICT, " 1", 7, -EINVAL, NULL },
	{ STRICT, "1\n", 7, -EINVAL, NULL },
	{ STRICT, "+1", 7, -EINVAL, NULL },
	{ STRICT, "0x3", 7, -EINVAL, NULL },
	{ STRICT, "a", 7, -EINVAL, NULL },
	{ STRICT, "all", 7, -EINVAL, NULL },
	{ STRICT, "N", 7, -EINVAL, NULL },
	{ STRICT, "0-N", 7, -EINVAL, NULL },
	{ STRICT, "^3", 7, -EINVAL, NULL },
	{ STRICT, "1.5", 7, -EINVAL, NULL },
	{ STRICT, "0-7:", 7, -EINVAL, NULL },
	{ STRICT, "0-7:0", 7, -EINVAL, NULL },
	{ STRICT, "0-7:3/2", 7, -EINVAL, NULL },
	{ STRICT, "0-7:0/2", 7, -EINVAL, NULL },
	{ STRICT, "0-7:1/0", 7, -EINVAL, NULL },
	{ STRICT, "0-7:1/2/3", 7, -EINVAL, NULL },
	{ STRICT, "0-7:-1", 7, -EINVAL, NULL },
	{ STRICT, "4:2", 7, -EINVAL, NULL },

	{ STRICT, "8", 7, -ERANGE, NULL },
	{ STRICT, "0-8", 7, -ERANGE, NULL },
	{ STRICT, "99999999999", 7, -ERANGE, NULL },
	{ STRICT, "18446744073709551616", 7, -ERANGE, NULL },
	{ STRICT, "4294967296", 7, -ERANGE, NULL },
	{ STRICT, "2147483648", 7, -ERANGE, NULL },
	{ STRICT, "0-2147483647", 7, -ERANGE, NULL },
	{ STRICT, "0-4294967295", 7, -ERANGE, NULL },

	{ STRICT_OR_EMPTY, "", 7, 0, "" },
	{ STRICT_OR_EMPTY, "1-2", 7, 0, "1-2" },
	{ STRICT_OR_EMPTY, ",", 7, -EINVAL, NULL },

	{ KERNEL, "", 7, 0, "" },
	{ KERNEL, "0-3", 7, 0, "0-3" },
	{ KERNEL, "0-140", 7, 0, "0-7" },
	{ KERNEL, "8-511", 7, 0, "" },
	{ KERNEL, "3,8,9-12", 7, 0, "3" },
	{ KERNEL, "0-15:2", 7, 0, "0,2,4,6" },
	{ KERNEL, "0-15:2/4", 7, 0, "0-1,4-5" },
	{ KERNEL, "all", 7, 0, "0-7" },
	{ KERNEL, "N", 7, 0, "7" },
	{ KERNEL, "4-N", 7, 0, "4-7" },
	{ KERNEL, "N-N", 7, 0, "7" },
	{ KERNEL, "0,N", 7, 0, "0,7" },
	{ KERNEL, "all:2", 7, 0, "0,2,4,6" },
	{ KERNEL, "all,3", 7, 0, "0-7" },
	{ KERNEL, "ALL", 7, 0, "0-7" },
	{ KERNEL, "0-3,", 7, 0, "0-3" },
	{ KERNEL, ",,0-1,,3", 7, 0, "0-1,3" },
	{ KERNEL, "0-1, 3", 7, 0, "0-1,3" },
	{ KERNEL, "0-1 3\n", 7, 0, "0-1,3" },
	{ KERNEL, "0- 1", 7, -EINVAL, NULL },
	{ KERNEL, "0-1;3", 7, -EINVAL, NULL },
	{ KERNEL, "4:2", 7, -EINVAL, NULL },
	{ KERNEL, "99999999999", 7, 0, "" },
	{ KERNEL, "0-4294967295", 7, 0, "0-7" },
	{ KERNEL, "allx", 7, -EINVAL, NULL },
	{ KERNEL, "3-1", 7, -EINVAL, NULL },
	{ KERNEL, "(null)", 7, -EINVAL, NULL },

	{ MASK, "0", 7, 0, "" },
	{ MASK, "1", 7, 0, "0" },
	{ MASK, "f", 7, 0, "0-3" },
	{ MASK, "F0", 7, 0, "4-7" },
	{ MASK, "00ff00ff", 31, 0, "0-7,16-23" },
	{ MASK, "0000ffff,00000003", 63, 0, "0-1,32-47" },
	{ MASK, "1,00000000,00000000", 95, 0, "64" },
	{ MASK, "0000,00000000,000000ff,ff000000,00000000,00000000", 175, 0, "88-103" },
	{ MASK, "1fff,ffffffff,ffffffff,ffffffff,ffffffff", 7, 0, "0-7" },
	{ MASK, "ff", 3, 0, "0-3" },
	{ MASK, "", 7, -EINVAL, NULL },
	{ MASK, "0x3", 7, -EINVAL, NULL },
	{ MASK, "3 3", 7, -EINVAL, NULL },
	{ MASK, "g", 7, -EINVAL, NULL },
};

static int parse(const struct reading *reading, hwloc_bitmap_t ret_cpus)
{
	switch (reading->reader) {
	case STRICT:
		return cpus_parse(reading->text, reading->max, false, ret_cpus);
	case STRICT_OR_EMPTY:
		return cpus_parse(reading->text, reading->max, true, ret_cpus);
	case KERNEL:
		return cpus_parse_kernel(reading->text, reading->max, ret_cpus);
	case MASK:
		return cpus_parse_mask(reading->text, reading->max, ret_cpus);
	}
	return -EINVAL;
}

static void test_reading(const struct reading *reading)
{
	static const char *const readers[] = { "list", "list or nothing", "kernel list",
					       "kernel mask" };
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	_cleanup_free_ char *text = NULL;
	int r;

	hwloc_bitmap_set(cpus, 999);
	r = parse(reading, cpus);
	is_int(r, reading->r, "%s \"%s\"", readers[reading->reader], reading->text);
	text = cpus_format(cpus);
	is_str(text, reading->r ? "999" : reading->cpus, "%s \"%s\": %s", readers[reading->reader],
	       reading->text, reading->r ? "the result is untouched" : "the CPUs");
}

static void test_large_masks(void)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	char mask[8192 / 4 + 8192 / 32];
	size_t length = 0;

	for (int word = 0; word < 8192 / 32; word++)
		length += (size_t)snprintf(mask + length, sizeof(mask) - length, "%s%s",
					   word ? "," : "", "ffffffff");
	is_int(cpus_parse_mask(mask, 8191, cpus), 0, "a mask of 8192 CPUs");
	is_int(cpus_count(cpus), 8192, "all of them");
	is_int(cpus_parse_mask(mask, 4095, cpus), 0, "the same mask, of which 4096 are wanted");
	is_int(hwloc_bitmap_last(cpus), 4095, "the last one");
}

static void test_steps(void)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	unsigned int cpu, nr = 0, sum = 0;

	cpus_foreach(cpu, cpus)
		nr++;
	is_int(nr, 0, "an empty set has no CPU");
	hwloc_bitmap_set(cpus, 0);
	hwloc_bitmap_set(cpus, 70);
	hwloc_bitmap_set(cpus, 4096);
	cpus_foreach(cpu, cpus) {
		nr++;
		sum += cpu;
	}
	is_int(nr, 3, "a set of three");
	is_int(sum, 4166, "each of them");
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(readings); i++)
		test_reading(&readings[i]);
	test_large_masks();
	test_steps();
	return done_testing();
}
