/* SPDX-License-Identifier: GPL-2.0-or-later */
/* explain.h - what the kernel's answer to a hotplug write means, and what to do next */
#pragma once

#include "base/step.h"

struct explanation {
	char *message;	    /* what was attempted, on what, and what the kernel answered */
	const char *cause;  /* the likely cause */
	const char *remedy; /* the next step */
};

/*
 * Explains the failure of @item, a CPU that should have gone offline or, with @is_return, come
 * online. Returns 0 or -ENOMEM. The caller frees ret_explanation->message.
 */
int explain_failure(const struct item *item, bool is_return,
		    struct explanation *ret_explanation) _must_check_;
