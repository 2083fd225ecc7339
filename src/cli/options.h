/* SPDX-License-Identifier: GPL-2.0-or-later */
/* options.h - the command line */
#pragma once

#include "base/request.h"

enum colour {
	COLOUR_AUTO,
	COLOUR_ALWAYS,
	COLOUR_NEVER,
};

struct options {
	struct request request;
	const char *sysroot;	  /* "/" if not given */
	const char *state_dir;	  /* "/run/cpuoff" if not given */
	const char *persist_dir;  /* "/var/lib/cpuoff", or what it was configured to be */
	char *command;		  /* the command line, for the journal */
	const char *hooks_dir;	  /* --hooks-dir, NULL if not given */
	const char *profile_file; /* --profile=FILE, or NULL */
	const char *map_file;	  /* --map=FILE, or NULL */
	bool map;
	bool prometheus;
	enum colour colour;
	bool interactive;
	bool json;
	bool quiet;
	bool verbose;
	bool no_progress;
	bool is_informational; /* --help, --usage or --version was answered: nothing is left to do
				*/
	char **values;	       /* the texts that the fields above and the selectors point to */
	size_t nr_values;
	char *error; /* what is wrong with the command line, or NULL */
};

/*
 * Parses the command line. Returns 0, also where options->error says what is wrong, or -ENOMEM.
 * --help,
 * --usage and --version are answered on stdout. The caller frees the options in any case.
 */
int options_parse(int argc, const char **argv, struct options *ret_options) _must_check_;

void options_free(struct options *options);
