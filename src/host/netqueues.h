/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * netqueues.h - step kinds net.rps and net.xps: masks of network queues that lie wholly in the
 * target
 *
 * /sys/class/net/DEVICE/queues/{rx-N/rps_cpus,tx-N/xps_cpus} (net/core/net-sysfs.c). The kernel
 * keeps a mask while its CPUs are off, but drops offline CPUs from what is written: so a mask is
 * given back only once all CPUs are there again.
 */
#pragma once

#include "base/step.h"

extern const struct step_kind netqueues_rps_kind;

/* Masks of virtio-net are kept as a record: its driver makes them anew whenever CPUs come and go.
 */
extern const struct step_kind netqueues_xps_kind;
