/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bulk.h - offline method bulk: cpu_bulk_remove, which takes a cpulist
 *
 * /sys/devices/system/cpu/cpu_bulk_remove is the interface of a patch series of 2006: mode 0600,
 * and its write could report success for CPUs that stayed. No mainline kernel has it.
 */
#pragma once

#include "host/methods.h"

/* CPUs a write, unless --batch says otherwise. */
#define BULK_BATCH 16

extern const struct method bulk_method;
