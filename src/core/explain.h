/* SPDX-License-Identifier: GPL-2.0-or-later */
/* explain.h - what the kernel's answer to a hotplug write means, and what to do next */
#pragma once

#include "base/step.h"

struct explanation {
	char *message;	    /* what was attempted, on what, and what the kernel answered */
	char *kernel_log;   /* the line of the kernel's log that belongs to it, NULL for none */
	const char *cause;  /* the likely cause */
	const char *remedy; /* the next step */
};

/*
 * Explains the failure of @item, a CPU that should have gone offline or, with @is_return, come
 * online. @log is what the kernel wrote meanwhile, as kmsg_read() has it, or NULL. Returns 0 or
 * -ENOMEM. The caller frees it with explanation_free().
 */
int explain_failure(const struct item *item, bool is_return, const char *log,
		    struct explanation *ret_explanation) _must_check_;
void explanation_free(struct explanation *explanation);
