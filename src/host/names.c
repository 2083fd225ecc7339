/* SPDX-License-Identifier: GPL-2.0-or-later */
/* names.c - the names in a directory of the kernel's */
#include "host/names.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

int names_list(const struct root *root, struct names *ret_names, const char *fmt, ...)
{
	const struct dirent *entry;
	char path[PATH_MAX];
	va_list ap;
	int r = 0;
	DIR *dir;

	*ret_names = (struct names){ 0 };
	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	dir = root_opendir(root, "%s", path);
	/* who is short of memory or of descriptors must not take it for empty */
	if (!dir)
		return root_is_shortage(-errno) ? -errno : 0;
	while (!r && (entry = root_readdir(dir, &r)))
		if (entry->d_name[0] != '.')
			r = names_add(ret_names, entry->d_name);
	closedir(dir);
	names_sort(ret_names);
	return r;
}
