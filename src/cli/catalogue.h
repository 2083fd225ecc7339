/* SPDX-License-Identifier: GPL-2.0-or-later */
/* catalogue.h - --list-rules: what cpuoff looks for before it acts, and what else it may find */
#pragma once

#include <json-c/json.h>

#include "cli/layout.h"

/* Prints the catalogue: one paragraph a rule. */
void catalogue_print(const struct layout *layout);

/* The "rules" array of --list-rules --json. The caller puts it. */
struct json_object *catalogue_json(void);
