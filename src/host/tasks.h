/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tasks.h - threads and the CPUs that they may run on */
#pragma once

#include "base/cpus.h"

/*
 * Moves this process to @cpus, so that it is not pushed around by its own work; children inherit it. A mask
 * of any size works. Returns 0 or -errno.
 */
int tasks_move_self(hwloc_const_bitmap_t cpus) _must_check_;
