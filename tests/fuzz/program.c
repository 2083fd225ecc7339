/* SPDX-License-Identifier: GPL-2.0-or-later */
/* program.c - cpuoff in a fuzz target: its main(), and what must be true of all that it prints */
#include <stdlib.h>

#include <json-c/json.h>

#include "../unit/temp.h"
#include "fuzz.h"

int cpuoff_main(int argc, const char **argv);
#define main cpuoff_main
#include "cli/main.c"
#undef main

#define MAX_ARGUMENTS 16

/* What a run has printed. */
struct output {
	FILE *file;
	char *text;
	size_t size;
};

/* C0 and C1 control characters, and those that turn the direction of what stands beside them. */
static bool is_dangerous(const unsigned char *at)
{
	if (at[0] < ' ' || at[0] == 0x7f)
		return at[0] != '\n';
	return (at[0] == 0xc2 && at[1] < 0xa0) ||
	       (at[0] == 0xe2 && at[1] == 0x80 && at[2] >= 0xa8 && at[2] <= 0xae) ||
	       (at[0] == 0xe2 && at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9);
}

static void check_text(struct output *output)
{
	_cleanup_free_ char *valid = NULL;

	fuzz_demand(!fclose(output->file), "the output is not whole");
	fuzz_demand(strlen(output->text) == output->size, "a NUL byte is printed");
	valid = util_utf8(output->text);
	fuzz_demand(valid && !strcmp(valid, output->text), "what is printed is no UTF-8");
	for (const char *at = output->text; *at; at++)
		fuzz_demand(!is_dangerous((const unsigned char *)at),
			    "a control character is printed");
}

static void check_document(const struct output *output)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *document;

	fuzz_demand(tokener, "no memory");
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	document = json_tokener_parse_ex(tokener, output->text, (int)output->size);
	fuzz_demand(json_object_is_type(document, json_type_object), "--json prints no document");
	json_object_put(document);
	json_tokener_free(tokener);
}

static void run_main(int argc, const char **argv, struct output *out, struct output *err)
{
	FILE *const own_out = stdout, *const own_err = stderr;
	int status;

	out->file = open_memstream(&out->text, &out->size);
	err->file = open_memstream(&err->text, &err->size);
	fuzz_demand(out->file && err->file, "no memory");
	fuzz_redirect(stdout, out->file);
	fuzz_redirect(stderr, err->file);
	status = cpuoff_main(argc, argv);
	fuzz_redirect(stdout, own_out);
	fuzz_redirect(stderr, own_err);
	fuzz_demand((status >= EXIT_DONE && status <= EXIT_FAILED) || status == EXIT_PARTIAL ||
			    status == EXIT_LOCKED,
		    "an exit status that is not documented");
}

void program_run(const char *const *arguments)
{
	const char *argv[MAX_ARGUMENTS + 3] = { "cpuoff" };
	struct output out = { 0 }, err = { 0 };
	bool is_json = false;
	char sysroot[300];
	int argc = 2;

	machine_make();
	snprintf(sysroot, sizeof(sysroot), "--sysroot=%s", temp_path(""));
	argv[1] = sysroot;
	for (; *arguments && argc < MAX_ARGUMENTS; arguments++) {
		is_json |= !strcmp(*arguments, "--json");
		argv[argc++] = *arguments;
	}
	run_main(argc, argv, &out, &err);
	check_text(&out);
	check_text(&err);
	if (is_json && FUZZ_HAS_OUTPUT)
		check_document(&out);
	free(out.text);
	free(err.text);
}

#define PLAN "--dry-run", "--cpu", "2-3", "--force"

static const char *const actions[ACTIONS][8] = {
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

void program_act(size_t action)
{
	program_run(actions[action]);
}
