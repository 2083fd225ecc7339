/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * smt.h - offline method smt, and step kind smt.control: /sys/devices/system/cpu/smt/control
 *
 * kernel/cpu.c, cpuhp_smt_disable() and cpuhp_smt_enable(). "off" takes every thread of the machine
 * that is not the first of its core, and keeps everybody from bringing one back alone; "on" brings
 * back whatever is offline, be it a socket that somebody services. So the method is for exactly
 * those threads, on a machine where nothing else is offline, and it is never left to "on" which
 * CPUs return: see smt.c.
 */
#pragma once

#include "host/methods.h"

extern const struct method smt_method;

/*
 * The record that the control may be switched off because of us. The write itself is the method's,
 * which takes the CPUs; undoing it lets CPUs return one by one, and brings none back.
 */
extern const struct step_kind smt_kind;
