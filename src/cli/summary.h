/* SPDX-License-Identifier: GPL-2.0-or-later */
/* summary.h - what an operation is about to do: in a few lines, and step by step */
#pragma once

#include "cli/layout.h"
#include "cli/report.h"

/* How many CPUs would go, which ones, what stays, and how: of the plan in @report. */
void summary_print(const struct layout *layout, const struct report *report);

/* One line a step; with -v one line an item. Nothing where there are none. */
void summary_print_steps(const struct layout *layout, const struct report *report);

/* The service verdict and what is in the way. @when: "", or what a forecast supposes. */
void summary_print_service(const struct layout *layout, const struct report *report,
			   const char *when);
