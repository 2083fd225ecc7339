/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runner.c - runs a fuzz target on the inputs that are kept of it: one directory, a file an input
 */
#include <errno.h>
#include <stdlib.h>

#include "../unit/tap.h"
#include "fuzz.h"
#include "host/names.h"
#include "host/root.h"

static void run_file(const char *path)
{
	_cleanup_free_ uint8_t *data = NULL;
	FILE *file = fopen(path, "re");
	long size = -1;

	if (file && !fseek(file, 0, SEEK_END))
		size = ftell(file);
	data = size < 0 ? NULL : malloc((size_t)size + 1);
	if (data)
		rewind(file);
	ok(data && fread(data, 1, (size_t)size, file) == (size_t)size &&
		   !LLVMFuzzerTestOneInput(data, (size_t)size),
	   "%s", strrchr(path, '/') + 1);
	if (file)
		fclose(file);
}

int main(void)
{
	_cleanup_free_ char *corpora = fuzz_path("corpus"),
			    *dir = util_asprintf("%s/%s", corpora,
						 program_invocation_short_name + strlen("f-"));
	_cleanup_names_ struct names names = { 0 };
	DIR *entries = dir ? opendir(dir) : NULL;
	struct dirent *entry;

	/* one that ends in the middle has printed no plan */
	while (entries && (entry = readdir(entries)))
		if (entry->d_name[0] != '.' && names_add(&names, entry->d_name))
			return 1;
	if (entries)
		closedir(entries);
	names_sort(&names);
	for (size_t i = 0; i < names.nr; i++) {
		_cleanup_free_ char *path = util_asprintf("%s/%s", dir, names.list[i]);

		if (path)
			run_file(path);
	}
	return done_testing();
}
