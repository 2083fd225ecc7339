/* SPDX-License-Identifier: GPL-2.0-or-later */
/* f-record.c - fuzz target: the record of an operation that is to be done again at boot */
#include "config.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char file[] = PERSIST_DIR "/20260101-000000.json";
	static const char *const apply[] = { "--persist=apply", "--dry-run", "--json", NULL },
				 *const status[] = { "--status", "--verbose", NULL };

	machine_put_file(&file[1], data, size);
	program_run(apply);
	program_run(status);
	return 0;
}
