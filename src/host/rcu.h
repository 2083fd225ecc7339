/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rcu.h - step kind rcu.expedite: RCU grace periods are expedited while CPUs change state */
#pragma once

#include "base/step.h"

/*
 * /sys/kernel/rcu_expedited (kernel/ksysfs.c) is a counter: one is added and later subtracted, so
 * that another program's wish survives. rcu_normal overrides it, and is the machine owner's choice.
 */
extern const struct step_kind rcu_kind;
