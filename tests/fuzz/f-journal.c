/* SPDX-License-Identifier: GPL-2.0-or-later */
/* f-journal.c - fuzz target: the journal of an operation in force */
#include "fuzz.h"

/* Its CPUs are off. */
static const char machine[] = "@sys/devices/system/cpu/online\n0-1\n"
			      "@sys/devices/system/cpu/offline\n2-3\n"
			      "@sys/devices/system/cpu/cpu2/online\n0\n"
			      "@sys/devices/system/cpu/cpu3/online\n0\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const status[] = { "--status", "--json", NULL },
				 *const text[] = { "--status", "--verbose", NULL },
				 *const restore[] = { "--restore", "--dry-run", "--json", NULL },
				 *const more[] = { "--cpu", "1", "--dry-run", "--force", NULL };

	machine_put((const uint8_t *)machine, sizeof(machine) - 1);
	machine_put_file("run/cpuoff/20260101-000000.json", data, size);
	program_run(status);
	program_run(text);
	program_run(restore);
	program_run(more);
	return 0;
}
