/* SPDX-License-Identifier: GPL-2.0-or-later */
/* names.h - the names in a directory of the kernel's */
#pragma once

#include "host/root.h"

/*
 * Lists the entries of a directory below the root, sorted, hidden ones left out; none where it
 * cannot be opened. Returns 0; or -errno for want of memory or descriptors, or where it cannot
 * be read to its end. The caller frees @ret_names in any case.
 */
int names_list(const struct root *root, struct names *ret_names, const char *fmt, ...)
	_printf_(3, 4) _must_check_;
