/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * privileges.h - the capabilities that cpuoff keeps
 *
 * Root has all of them, and cpuoff needs a few: what is given up cannot be misused, whatever a file
 * of the machine makes cpuoff do. Whoever has less keeps what he has of it. Giving up is a
 * precaution, not a condition: where a sandbox forbids it, CPUs must come back all the same, so the
 * caller goes on, and says so.
 */
#pragma once

#include "host/root.h"

/*
 * True where the program's file gave the process rights that its caller has not: by the set-user-ID
 * or set-group-ID bit, or by file capabilities. Its options would let anybody use them.
 */
bool privileges_are_lent(void);

/*
 * Of the capabilities that the child that writes keeps, those that this process may not use, a bit
 * each: CapEff of /proc/self/status (fs/proc/array.c). None where there is no such file, as in the
 * copy of a machine.
 */
uint64_t privileges_lacking(const struct root *root);

/* "CAP_SYS_NICE", of those that the child that writes keeps. */
const char *privileges_name(unsigned int capability);

/*
 * For the process itself, before it has threads: capset(2). A hook that root runs has them all
 * again (capabilities(7): what execve(2) gives to root is in the bounding set, which stays).
 * Returns 0 or -errno.
 */
int privileges_limit(void) _must_check_;

/*
 * For the child that only writes to the kernel's files: it keeps less, cannot get more by any
 * execve(2) (PR_SET_NO_NEW_PRIVS, and an empty inheritable set), and cannot be traced or dumped
 * (PR_SET_DUMPABLE). Its bounding set goes, too, where it has CAP_SETPCAP. Returns 0 or the -errno
 * of the first that failed; the others are given up nevertheless.
 */
int privileges_limit_writer(void) _must_check_;
