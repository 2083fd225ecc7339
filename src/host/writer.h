/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * writer.h - the child that makes the writes which the kernel may never answer
 *
 * A write to cpuN/online can sleep in the kernel for ever, and no signal ends it. So a child makes
 * it, in a process group of its own and with the lock inherited, and the parent watches and
 * reports. The child exists before the first change; should somebody kill it, the parent makes the
 * writes itself.
 */
#pragma once

#include "base/step.h"
#include "host/root.h"

struct writer;

int writer_start(const struct root *root, struct writer **ret_writer) _must_check_;

/* Lets the child go. One that is stuck in the kernel is left behind: it ends when its write does.
 */
void writer_stop(struct writer *writer);

pid_t writer_pid(const struct writer *writer);

/* True once a write was given up for lost: the kernel still works on it, and no other must be
 * begun. */
bool writer_is_stuck(const struct writer *writer);

/*
 * Writes @value to @path, for @item. While the kernel does not answer, the watcher is told every
 * five seconds where it sits; after the request's timeout the writer is stuck. Returns 0,
 * -ETIMEDOUT where it is stuck, or the kernel's -errno. @ret_seconds is the time of the write(2)
 * itself.
 */
int writer_write(struct writer *writer, const struct step_env *env, const struct item *item,
		 const char *path, const char *value, double *ret_seconds) _must_check_;
