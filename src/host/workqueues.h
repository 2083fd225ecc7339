/* SPDX-License-Identifier: GPL-2.0-or-later */
/* workqueues.h - step kind workqueue.cpumask: unbound workqueues leave the target while CPUs change
 * state */
#pragma once

#include "base/step.h"

/*
 * /sys/devices/virtual/workqueue/cpumask (kernel/workqueue.c). Only where work is moved without a
 * partition: unbound workqueues follow a partition by themselves, and writing the mask meanwhile
 * would pierce it.
 */
extern const struct step_kind workqueues_kind;
