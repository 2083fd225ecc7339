/* SPDX-License-Identifier: GPL-2.0-or-later */
/* f-options.c - fuzz target: the command line, an argument a line */
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "fuzz.h"

#define MAX_ARGUMENTS 32

/* What --help and its like print is of no interest. */
static int parse_quietly(int argc, const char **argv, struct options *ret_options)
{
	FILE *const own = stdout, *const null = fopen("/dev/null", "we");
	int r;

	fuzz_demand(null, "there is no /dev/null");
	fuzz_redirect(stdout, null);
	r = options_parse(argc, argv, ret_options);
	fuzz_redirect(stdout, own);
	fclose(null);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = fuzz_text(data, size);
	const char *argv[MAX_ARGUMENTS + 1] = { "cpuoff" };
	char *rest = text, *line;
	struct options options;
	int argc = 1;

	while (argc < MAX_ARGUMENTS && (line = strsep(&rest, "\n")))
		argv[argc++] = line;
	fuzz_demand(!parse_quietly(argc, argv, &options), "no memory");
	fuzz_demand(options.error || options.is_informational || options.command,
		    "neither a request nor an error");
	options_free(&options);
	return 0;
}
