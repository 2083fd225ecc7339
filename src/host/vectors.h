/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vectors.h - interrupt vectors of x86: those that the target holds, those that are free elsewhere
 *
 * lapic_can_unplug_cpu() of arch/x86/kernel/apic/vector.c refuses a CPU (ENOSPC) whose vectors find
 * no place on the others. The kernel's own count stands in debugfs, where that is built in; else
 * the interrupts are counted by the CPU that they are delivered to.
 */
#pragma once

#include "base/machine.h"
#include "host/root.h"

struct vectors {
	bool is_known;		 /* false where this is no x86 */
	bool is_exact;		 /* the kernel's own count */
	unsigned long needed;	 /* on the target, and have to move */
	unsigned long available; /* free on the CPUs that stay */
	unsigned long used;	 /* taken there */
};

/* Returns 0 or -ENOMEM. */
int vectors_read(const struct root *root, const struct machine *machine,
		 hwloc_const_bitmap_t target, hwloc_const_bitmap_t survivors,
		 struct vectors *ret_vectors) _must_check_;
