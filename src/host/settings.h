/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * settings.h - step kind cpu.settings: what the kernel forgets of CPUs that go and come back
 *
 * Frequency policies (drivers/cpufreq), power limits of packages (drivers/powercap), groups and
 * schemata of resctrl (arch/x86/kernel/cpu/resctrl), trips of package temperatures
 * (drivers/thermal/intel/x86_pkg_temp_thermal.c), limits of uncore frequencies
 * (drivers/platform/x86/intel/uncore-frequency). Their files vanish with the CPUs, so that nobody
 * can change them meanwhile: a value that is another one afterwards was lost, and is written back.
 * Others the kernel keeps (governor, limits of frequency, energy bias, idle states): they are
 * looked at, and a difference is told.
 */
#pragma once

#include "base/step.h"

extern const struct step_kind settings_kind;
