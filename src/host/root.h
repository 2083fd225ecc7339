/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * root.h - the only door to the machine's files: /sys, /proc, /dev, /etc, /var below one root
 * directory
 *
 * Paths are given without the leading slash ("sys/devices/system/cpu/online") and are opened
 * relative to the root; a file that lies outside of it after symbolic links is refused with -EXDEV.
 */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "base/cpus.h"

struct root;

/*
 * Opens @dir as the root, "/" being the running machine. Anything else must look like a machine
 * (sys/devices/system/cpu). Returns 0, -ENOTDIR, -ENOENT, -EXDEV where /proc/self/fd does not tell
 * what lies inside of it, or another -errno. root_close() takes NULL.
 */
int root_open(const char *dir, struct root **ret_root) _must_check_;
void root_close(struct root *root);

#define _cleanup_root_ _cleanup_(root_closep)
static inline void root_closep(struct root **root)
{
	root_close(*root);
}

/* The directory as a path without links, for hwloc; "/" for the running machine. */
const char *root_path(const struct root *root);

/*
 * The path of the file whose reading or parsing failed last, where that was with @error (negative):
 * an errno alone does not tell which of thousands of files is wrong. NULL where it was another.
 */
const char *root_failed_file(const struct root *root, int error);

/* True where this is the running machine: only then are there processes to look at and calls to
 * make. */
bool root_is_live(const struct root *root);

/*
 * True where the process is stopped, by SIGSTOP or a debugger: state T or t in /proc/PID/stat
 * (fs/proc/array.c). That is asked of the running machine, whatever the root is. Allocates nothing.
 */
bool root_is_stopped(pid_t pid);

/* open(2) of a path below the root, with O_CLOEXEC. Returns a descriptor or -errno. */
int root_openat(const struct root *root, int flags, const char *path) _must_check_;

/* True where the path exists, or the kernel cannot say (ENOMEM, EIO). */
bool root_has(const struct root *root, const char *fmt, ...) _printf_(2, 3);

/*
 * Reads a whole file, at most 64 MiB, and cuts NUL bytes and white space off its end. The caller
 * frees it. Returns 0 or -errno.
 */
int root_read(const struct root *root, char **ret_text, const char *fmt, ...)
	_printf_(3, 4) _must_check_;

/*
 * Reads at most @size - 1 bytes into the caller's @buffer, allocating nothing: for the way back,
 * which must not fail for want of memory. The end is cut as by root_read(). Returns 0, -EFBIG or
 * -errno.
 */
int root_read_buffer(const struct root *root, const char *path, char *buffer,
		     size_t size) _must_check_;

/* Reads what of the beginning of a file fits into @buffer, with one read(2), cutting nothing.
 * Returns 0, -ENODATA for an empty file, or -errno. */
int root_read_head(const struct root *root, const char *path, char *buffer,
		   size_t size) _must_check_;

/* Reads a file that holds one decimal number, allocating nothing. Returns 0, -EINVAL for other
 * text, or -errno. */
int root_read_long(const struct root *root, long *ret_value, const char *fmt, ...)
	_printf_(3, 4) _must_check_;

/* Reads a cpulist or cpumask file; CPUs over @max are left out. Returns 0 or -errno. */
int root_read_cpulist(const struct root *root, unsigned int max, hwloc_bitmap_t ret_cpus,
		      const char *fmt, ...) _printf_(4, 5) _must_check_;
int root_read_cpumask(const struct root *root, unsigned int max, hwloc_bitmap_t ret_cpus,
		      const char *fmt, ...) _printf_(4, 5) _must_check_;

/*
 * Writes @value in one write(2); a short write is -EIO. Allocates nothing. Returns 0 or -errno.
 */
int root_write(const struct root *root, const char *value, const char *path) _must_check_;

/*
 * Reads the text of a symbolic link, which is not followed, into the caller's @buffer. Returns 0,
 * -EINVAL where it is no link, or another -errno.
 */
int root_readlink(const struct root *root, const char *path, char *buffer,
		  size_t size) _must_check_;

/* Opens @path for writing, and writes nothing. Returns 0, or -errno of open(2). */
static inline int root_try_write(const struct root *root, const char *path)
{
	_cleanup_close_ int fd = root_openat(root, O_WRONLY, path);

	return fd < 0 ? fd : 0;
}

int root_mkdir(const struct root *root, const char *path) _must_check_;
int root_rmdir(const struct root *root, const char *path) _must_check_;

/* True for an error that is ours, for want of memory or descriptors, and says nothing about the
 * file. */
static inline bool root_is_shortage(int r)
{
	return r == -ENOMEM || r == -EMFILE || r == -ENFILE;
}

/* opendir(3) of a path below the root; NULL with errno set. */
DIR *root_opendir(const struct root *root, const char *fmt, ...) _printf_(2, 3);

/* The next entry, or NULL: at the end, or with @ret_r set to -errno where it cannot be read on,
 * which must not be taken for the end. */
static inline struct dirent *root_readdir(DIR *dir, int *ret_r)
{
	struct dirent *entry;

	errno = 0;
	entry = readdir(dir);
	if (!entry && errno)
		*ret_r = -errno;
	return entry;
}
