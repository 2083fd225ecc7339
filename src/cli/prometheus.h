/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prometheus.h - --status --prometheus: what is in force, for the textfile collector */
#pragma once

#include "cli/report.h"

/* Prints the metrics in the text exposition format, 0.0.4. Returns 0 or -ENOMEM. */
int prometheus_print(FILE *file, const struct report *report) _must_check_;
