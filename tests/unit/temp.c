/* SPDX-License-Identifier: GPL-2.0-or-later */
/* temp.c - a temporary directory that is the root of a machine, for the rooms that do open files */
#include "temp.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

static char top[256];

/* Without its directory a test has nothing to say. */
static void demand(bool is_done, const char *what)
{
	if (is_done)
		return;
	printf("Bail out! %s: %m\n", what);
	exit(1);
}

const char *temp_path(const char *name)
{
	static char paths[4][PATH_MAX];
	static size_t next;
	char *path = paths[next++ % ARRAY_SIZE(paths)];

	snprintf(path, PATH_MAX, "%s/%s", top, name);
	return path;
}

const char *temp_make(void)
{
	const char *parent = getenv("TMPDIR");

	/* in memory where that is possible: journals are synced to the disk again and again */
	if (!parent)
		parent = access("/dev/shm", W_OK) < 0 ? "/tmp" : "/dev/shm";
	snprintf(top, sizeof(top), "%s/cpuoff-unit-XXXXXX", parent);
	demand(mkdtemp(top), top);
	demand(!chmod(top, 0755), top);
	temp_mkdir("sys/devices/system/cpu");
	return top;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path);
	return 0;
}

void temp_remove(void)
{
	nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void make_parents(char *path)
{
	for (char *slash = path + strlen(top) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
}

void temp_write_bytes(const char *name, const void *data, size_t size)
{
	char path[PATH_MAX];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "%s", temp_path(name));
	make_parents(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	demand(fd >= 0 && write(fd, data, size) == (ssize_t)size, path);
}

void temp_write(const char *name, const char *text)
{
	temp_write_bytes(name, text, strlen(text));
}

void temp_mkdir(const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", temp_path(name));
	make_parents(path);
	demand(!mkdir(path, 0755), path);
}

void temp_symlink(const char *target, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", temp_path(name));
	make_parents(path);
	demand(!symlink(target, path), name);
}

unsigned int temp_mode(const char *name)
{
	struct stat st;

	return lstat(temp_path(name), &st) < 0 ? 0 : st.st_mode & 07777;
}

struct root *temp_root(void)
{
	struct root *root = NULL;

	demand(!root_open(top, &root), top);
	return root;
}
