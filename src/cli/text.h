/* SPDX-License-Identifier: GPL-2.0-or-later */
/* text.h - what people read: results on stdout, everything else on stderr */
#pragma once

#include "cli/report.h"

/* Prints findings and failures to stderr, and unless JSON was asked for the result to stdout. */
void text_print(const struct report *report);
