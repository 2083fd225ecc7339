/* SPDX-License-Identifier: GPL-2.0-or-later */
/* json.h - the JSON document on stdout */
#pragma once

#include "cli/report.h"

#define JSON_API_LEVEL 1

/* The whole report as the text of one document; NULL where there is no memory. The caller frees it.
 */
char *json_format(const struct report *report) _must_check_;

/* Prints the whole report as one document. Returns 0 or -ENOMEM. */
int json_print(const struct report *report) _must_check_;
