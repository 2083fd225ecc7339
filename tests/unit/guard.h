/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guard.h - sees every allocation of the process, and lets them fail
 *
 * All libraries are covered, since malloc() and its kin are replaced. In a build with a sanitizer,
 * and under valgrind, the allocator is taken already: allocations are then seen only, or not even
 * that.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* True where allocations are counted, and where they can be made to fail. */
bool guard_can_see(void);
bool guard_can_fail(void);

/* From now on each allocation is counted and, where that is possible, fails. */
void guard_begin(void);

/* From now on the allocation number @nr fails, and no other. */
void guard_fail_at(size_t nr);

/* Ends either. Returns the number of allocations since. */
size_t guard_end(void);
