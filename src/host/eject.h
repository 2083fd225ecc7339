/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * eject.h - step kinds cpu.eject and container.eject: offline CPUs are given back to the firmware
 *
 * drivers/acpi/scan.c, drivers/acpi/acpi_processor.c. A write to eject returns at once, with
 * success: that the CPU left the mask of present ones is the only proof, and why it did not is in
 * the kernel's log alone. Undoing is not in our hands: the CPU has to be plugged in again.
 */
#pragma once

#include "base/step.h"

extern const struct step_kind eject_cpus_kind;

/* The objects that hold CPUs, a module or a board (ACPI0004): after all that they hold is gone. */
extern const struct step_kind eject_containers_kind;
