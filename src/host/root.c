/* SPDX-License-Identifier: GPL-2.0-or-later */
/* root.c - the only door to the machine's files: /sys, /proc, /dev, /etc, /var below one root
 * directory */
#include "host/root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define READ_MAX   (64UL << 20)
#define NUMBER_MAX 256 /* bytes of a file that is one number, with what stands around it */

/* Which file could not be read: behind a pointer, since reading does not change the root. */
struct failure {
	int error;
	char path[PATH_MAX];
};

struct root {
	int fd;
	char *path;
	bool is_live;
	struct failure *failure;
};

/* A link of a machine's copy that leads into the running machine must not be followed there. */
static bool is_inside(const struct root *root, int fd)
{
	char link[64], path[PATH_MAX];
	size_t length = strlen(root->path);
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return false;
	path[n] = '\0';
	return !strncmp(path, root->path, length) && (path[length] == '/' || path[length] == '\0');
}

int root_open(const char *dir, struct root **ret_root)
{
	_cleanup_root_ struct root *root = calloc(1, sizeof(*root));
	struct stat st;

	if (!root)
		return -ENOMEM;
	root->fd = -1;
	root->failure = calloc(1, sizeof(*root->failure));
	if (!root->failure)
		return -ENOMEM;
	root->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root->fd < 0)
		return -errno;
	root->path = realpath(dir, NULL);
	if (!root->path)
		return -errno;
	root->is_live = !strcmp(root->path, "/");
	if (fstatat(root->fd, "sys/devices/system/cpu", &st, 0) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	if (!root->is_live && !is_inside(root, root->fd))
		return -EXDEV;
	*ret_root = steal_pointer(&root);
	return 0;
}

void root_close(struct root *root)
{
	if (!root)
		return;
	if (root->fd >= 0)
		close(root->fd);
	free(root->path);
	free(root->failure);
	free(root);
}

const char *root_path(const struct root *root)
{
	return root->path;
}

const char *root_failed_file(const struct root *root, int error)
{
	return error && root->failure->error == error ? root->failure->path : NULL;
}

/* Returns @r. A file that is not there is what is expected of most. */
static int note_failure(const struct root *root, int r, const char *path)
{
	if (r && r != -ENOENT) {
		root->failure->error = r;
		snprintf(root->failure->path, sizeof(root->failure->path), "%s", path);
	}
	return r;
}

bool root_is_live(const struct root *root)
{
	return root->is_live;
}

int root_openat(const struct root *root, int flags, const char *path)
{
	int fd;

	do {
		fd = openat(root->fd, path, flags | O_CLOEXEC | O_NOCTTY);
	} while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return note_failure(root, -errno, path);
	if (!root->is_live && !is_inside(root, fd)) {
		close(fd);
		return -EXDEV;
	}
	return fd;
}

bool root_is_stopped(pid_t pid)
{
	_cleanup_close_ int fd = -1;
	char path[64], text[512];
	const char *end;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return false;
	text[n] = '\0';
	end = strrchr(text, ')'); /* the name may hold anything */
	return end && (!strncmp(end, ") T", 3) || !strncmp(end, ") t", 3));
}

_printf_(2, 0) static int format_path(char path[PATH_MAX], const char *fmt, va_list ap)
{
	int n = vsnprintf(path, PATH_MAX, fmt, ap);

	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

bool root_has(const struct root *root, const char *fmt, ...)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = format_path(path, fmt, ap);
	va_end(ap);
	/* what cannot be looked at is not missing: whoever reads it will be told more */
	if (r || (faccessat(root->fd, path, F_OK, 0) && errno != ENOMEM && errno != EIO))
		return false;
	if (root->is_live)
		return true;
	fd = root_openat(root, O_PATH, path);
	return fd >= 0;
}

static void cut_end(char *text, size_t length)
{
	while (length && (!text[length - 1] || strchr(" \t\r\n", text[length - 1])))
		length--;
	text[length] = '\0';
}

static int read_all(int fd, char **ret_text)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0, length = 0;

	for (;;) {
		ssize_t n;

		if (size - length < 2) {
			char *grown;

			size = size ? size * 2 : 4096;
			if (size > READ_MAX)
				return -EFBIG;
			grown = realloc(text, size);
			if (!grown)
				return -ENOMEM;
			text = grown;
		}
		n = read(fd, text + length, size - length - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		length += (size_t)n;
	}
	cut_end(text, length);
	*ret_text = steal_pointer(&text);
	return 0;
}

static int read_into(const struct root *root, const char *path, char *buffer, size_t size)
{
	_cleanup_close_ int fd = root_openat(root, O_RDONLY, path);
	size_t length = 0;

	if (fd < 0)
		return fd;
	while (length < size) {
		ssize_t n = read(fd, buffer + length, size - length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return note_failure(root, -errno, path);
		if (n == 0) {
			cut_end(buffer, length);
			return 0;
		}
		length += (size_t)n;
	}
	return -EFBIG;
}

int root_read_buffer(const struct root *root, const char *path, char *buffer, size_t size)
{
	return note_failure(root, read_into(root, path, buffer, size), path);
}

int root_read_head(const struct root *root, const char *path, char *buffer, size_t size)
{
	_cleanup_close_ int fd = root_openat(root, O_RDONLY, path);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = read(fd, buffer, size - 1);
	if (n <= 0)
		return n ? -errno : -ENODATA;
	buffer[n] = '\0';
	return 0;
}

static int read_text(const struct root *root, const char *path, char **ret_text)
{
	_cleanup_close_ int fd = root_openat(root, O_RDONLY, path);

	return fd < 0 ? fd : read_all(fd, ret_text);
}

int root_read(const struct root *root, char **ret_text, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = format_path(path, fmt, ap);
	va_end(ap);
	return r ? r : note_failure(root, read_text(root, path, ret_text), path);
}

/* Reads the file and hands its text to @parse, with @max. */
_printf_(5, 0) static int read_set(const struct root *root, unsigned int max,
				   hwloc_bitmap_t ret_cpus,
				   int (*parse)(const char *text, unsigned int max,
						hwloc_bitmap_t ret_cpus),
				   const char *fmt, va_list ap)
{
	_cleanup_free_ char *text = NULL;
	char path[PATH_MAX];
	int r = format_path(path, fmt, ap);

	if (r)
		return r;
	r = read_text(root, path, &text);
	return note_failure(root, r ? r : parse(text, max, ret_cpus), path);
}

int root_read_long(const struct root *root, long *ret_value, const char *fmt, ...)
{
	char path[PATH_MAX], text[NUMBER_MAX];
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = format_path(path, fmt, ap);
	va_end(ap);
	if (r)
		return r;
	r = read_into(root, path, text, sizeof(text));
	if (!r)
		r = util_parse_long(text, LONG_MIN, LONG_MAX, ret_value);
	return note_failure(root, r == -EFBIG ? -EINVAL : r, path);
}

int root_read_cpulist(const struct root *root, unsigned int max, hwloc_bitmap_t ret_cpus,
		      const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = read_set(root, max, ret_cpus, cpus_parse_kernel, fmt, ap);
	va_end(ap);
	return r;
}

int root_read_cpumask(const struct root *root, unsigned int max, hwloc_bitmap_t ret_cpus,
		      const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = read_set(root, max, ret_cpus, cpus_parse_mask, fmt, ap);
	va_end(ap);
	return r;
}

int root_write(const struct root *root, const char *value, const char *path)
{
	size_t length = strlen(value);
	_cleanup_close_ int fd = root_openat(root, O_WRONLY, path);
	ssize_t n;

	if (fd < 0)
		return fd;
	do {
		n = write(fd, value, length);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == length ? 0 : -EIO;
}

/* Opens the directory that holds @path; the last part of @path is not followed then. Returns it, or
 * -errno. */
static int open_parent(const struct root *root, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char parent[PATH_MAX];

	*ret_name = slash ? slash + 1 : path;
	if (snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path) : 1,
		     slash ? path : ".") >= (int)sizeof(parent))
		return -ENAMETOOLONG;
	return root_openat(root, O_PATH | O_DIRECTORY, parent);
}

int root_readlink(const struct root *root, const char *path, char *buffer, size_t size)
{
	const char *name;
	_cleanup_close_ int fd = open_parent(root, path, &name);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = readlinkat(fd, name, buffer, size);
	if (n < 0)
		return -errno;
	if ((size_t)n == size)
		return -ENAMETOOLONG;
	buffer[n] = '\0';
	return 0;
}

int root_mkdir(const struct root *root, const char *path)
{
	const char *name;
	_cleanup_close_ int fd = open_parent(root, path, &name);

	if (fd < 0)
		return fd;
	return mkdirat(fd, name, 0755) < 0 ? -errno : 0;
}

int root_rmdir(const struct root *root, const char *path)
{
	const char *name;
	_cleanup_close_ int fd = open_parent(root, path, &name);

	if (fd < 0)
		return fd;
	return unlinkat(fd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

DIR *root_opendir(const struct root *root, const char *fmt, ...)
{
	char path[PATH_MAX];
	DIR *dir = NULL;
	va_list ap;
	int r, fd;

	va_start(ap, fmt);
	r = format_path(path, fmt, ap);
	va_end(ap);
	fd = r ? r : root_openat(root, O_RDONLY | O_DIRECTORY, path);
	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	dir = fdopendir(fd);
	if (!dir) {
		int error = errno;

		close(fd);
		errno = error;
	}
	return dir;
}
