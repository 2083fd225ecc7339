/* SPDX-License-Identifier: GPL-2.0-or-later */
/* confirm.h - hwloc against the kernel's files: what a selector means to each of them */
#pragma once

#include "base/machine.h"
#include "base/request.h"
#include "host/topology.h"

/*
 * The online CPUs that a selector of @kind means to hwloc. @ids are sockets or nodes, of other
 * kinds one CPU of each object. Returns 0 or -ENOMEM.
 */
int confirm_ask(const struct machine *machine, const struct topology *topology,
		enum selector_kind kind, hwloc_const_bitmap_t ids,
		hwloc_bitmap_t ret_cpus) _must_check_;

/*
 * Adds the online CPUs that hwloc calls near the PCI device at @address. Returns 0, -ENOENT where
 * hwloc does not show it, or -ENOMEM.
 */
int confirm_ask_near(const struct machine *machine, const struct topology *topology,
		     const char *address, hwloc_bitmap_t ret_cpus) _must_check_;

/*
 * Whether the kernel's files alone leave no doubt that a selector of @kind means @cpus: no online
 * CPU is without the number that is asked for, since it could belong to the selection, and none has
 * two. Returns 0 or -errno.
 */
int confirm_is_complete(const struct root *root, const struct machine *machine,
			enum selector_kind kind, hwloc_const_bitmap_t cpus,
			bool *ret_is_complete) _must_check_;
