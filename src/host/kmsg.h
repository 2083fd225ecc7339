/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kmsg.h - what the kernel writes to its log while we are at work
 * (Documentation/ABI/testing/dev-kmsg)
 */
#pragma once

#include "host/root.h"

/* Opens /dev/kmsg at its end, so that it has only what comes from now on. Returns a descriptor, or
 * -errno where there is none or it may not be read. */
int kmsg_open(const struct root *root) _must_check_;

/* The same from the oldest record on that the kernel still has. */
int kmsg_open_whole(const struct root *root) _must_check_;

/*
 * Reads what has come since, without waiting, at most 1 MiB: the kernel's own lines, those of other
 * programs left out, as "LEVEL TEXT" (0 emergency ... 7 debug), a newline after each. The caller
 * frees it. Returns NULL where there is nothing or no memory: the log only helps.
 */
char *kmsg_read(int fd);

/*
 * The last line of @log, as kmsg_read() has it, that belongs to the failure of @cpu: one with
 * @pattern (NULL for none), or a warning or worse that names the CPU. Allocates nothing. Returns
 * its length, 0 for none, and its text in *ret_line.
 */
size_t kmsg_find(const char *log, unsigned int cpu, const char *pattern, const char **ret_line);
