/* SPDX-License-Identifier: GPL-2.0-or-later */
/* catalogue.h - --list-rules: what cpuoff looks for before it acts, and what else it may find */
#pragma once

#include <json-c/json.h>

/* Prints the catalogue to stdout: one paragraph a rule. */
void catalogue_print(void);

/* The "rules" array of --list-rules --json. The caller puts it. */
struct json_object *catalogue_json(void);
