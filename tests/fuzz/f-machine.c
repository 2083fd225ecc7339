/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * f-machine.c - fuzz target: all files of a machine's copy, in the format of machine.txt
 *
 * The first character chooses what is done with it.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	machine_put(data, size);
	program_act(size ? (size_t)(unsigned char)(data[0] - '0') % ACTIONS : 0);
	machine_reset();
	return 0;
}
