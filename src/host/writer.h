/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * writer.h - the child that makes all changes to the kernel's files
 *
 * A write to cpuN/online can sleep in the kernel for ever, and no signal ends it. Others must not
 * be cut short: a SIGKILL while the kernel makes a trace instance, or starts workers for a work
 * queue mask, leaves it with a warning and half the work (kernel/trace/ring_buffer.c,
 * kernel/workqueue.c: kthread_create() is killable). So a child makes them, in a process group of
 * its own and with the lock inherited, and the parent watches and reports. The child exists before
 * the first change; should somebody kill it, another one is made, and where that is impossible the
 * parent makes the changes itself. It gives up what it needs no privilege for, see privileges.h.
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

/* What privileges_limit_writer() returned in the child, 0 until it has made a change. */
int writer_limit_error(const struct writer *writer);

/*
 * Writes @value to @path, which changes the CPU of @item. While the kernel does not answer, the
 * watcher is told every five seconds where it sits; after the request's timeout the writer is
 * stuck. Returns 0, -ETIMEDOUT where it is stuck, or the kernel's -errno. @ret_seconds is the time
 * of the write(2) itself.
 */
int writer_set_cpu(const struct step_env *env, const struct item *item, const char *path,
		   const char *value, double *ret_seconds) _must_check_;

/*
 * The same for one write that takes the CPUs of @nr items of @step offline, in an order that is the
 * kernel's. The watcher is told how many have gone. The timeout is that of one CPU: it begins anew
 * whenever one has gone.
 */
int writer_take_cpus(const struct step_env *env, const struct step *step, size_t first, size_t nr,
		     const char *path, const char *value, double *ret_seconds) _must_check_;

/* root_write(), root_mkdir() and root_rmdir() of every other change, with the same watch. */
int writer_write(const struct step_env *env, const char *path, const char *value) _must_check_;
int writer_mkdir(const struct step_env *env, const char *path) _must_check_;
int writer_rmdir(const struct step_env *env, const char *path) _must_check_;
