/* SPDX-License-Identifier: GPL-2.0-or-later */
/* timing.h - what --measure and --profile have found, as text */
#pragma once

#include "cli/layout.h"
#include "cli/report.h"

void timing_print_latency(const struct layout *layout, const struct measurement *measurement);

/* Where the time went: callbacks of the kernel, the lighter ones only with -v, and steps. */
void timing_print_profile(const struct layout *layout, const struct profile *profile);
