/* SPDX-License-Identifier: GPL-2.0-or-later */
/* json.h - the JSON document on stdout */
#pragma once

#include "cli/report.h"

#define JSON_API_LEVEL 1

/* Prints the whole report as one document. Returns 0 or -ENOMEM. */
int json_print(const struct report *report) _must_check_;
