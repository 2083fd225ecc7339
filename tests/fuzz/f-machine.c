/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * f-machine.c - fuzz target: all files of a machine's copy, in the format of machine.txt
 *
 * The first character chooses what is done with it.
 */
#include "fuzz.h"

#define PLAN "--dry-run", "--cpu", "2-3", "--force"

static const char *const actions[][8] = {
	{ PLAN, "--json" },
	{ PLAN, "--verbose" },
	{ "--list", "--json" },
	{ "--list", "--map", "--verbose" },
	{ "--status", "--json" },
	{ "--status", "--verbose" },
	{ "--status", "--prometheus" },
	{ "--service", "--cpu", "2-3", "--json" },
	{ "--service", "--cpu", "2-3" },
	{ "--report", "--cpu", "2-3", "--json" },
	{ "--report", "--cpu", "2-3" },
	{ PLAN, "--eject", "--json" },
	{ "--dry-run", "--socket", "1", "--json" },
	{ "--list", "--near", "eth0", "--json" },
	{ "--list", "--near", "dm-0" },
	{ "--list", "--apicid", "8" },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t action = size ? (size_t)(data[0] - '0') % ARRAY_SIZE(actions) : 0;

	machine_put(data, size);
	program_run(actions[action]);
	machine_reset();
	return 0;
}
