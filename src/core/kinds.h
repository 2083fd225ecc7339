/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kinds.h - the one list of all step kinds */
#pragma once

#include "base/step.h"

/* All step kinds in the order of their application, ended by NULL. */
extern const struct step_kind *const kinds[];

/* The kind of this name, or NULL. */
const struct step_kind *kinds_find(const char *name);
