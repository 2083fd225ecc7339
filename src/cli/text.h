/* SPDX-License-Identifier: GPL-2.0-or-later */
/* text.h - what people read: results on stdout, everything else on stderr */
#pragma once

#include "cli/layout.h"
#include "cli/report.h"

/* What the rules have found, the worst first; without those that were told with a question. */
void text_print_findings(const struct layout *layout, const struct report *report);

/* Prints findings and failures to stderr, and unless JSON was asked for the result to stdout. */
void text_print(const struct report *report);
