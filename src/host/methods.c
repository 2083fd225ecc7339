/* SPDX-License-Identifier: GPL-2.0-or-later */
/* methods.c - the offline methods: ways of making the kernel take a set of CPUs, first usable one
 * first */
#include "host/methods.h"

#include <errno.h>
#include <string.h>

#include "host/bulk.h"
#include "host/sequential.h"
#include "host/smt.h"

const struct method *const methods[] = {
	&bulk_method,
	&smt_method,
	&sequential_method,
	NULL,
};

int methods_pick(const char *name, const struct step_env *env, const struct method **ret_method,
		 char *why_not, size_t size)
{
	bool is_auto = !strcmp(name, "auto");
	char buffer[512];

	for (const struct method *const *method = methods; *method; method++) {
		const char *reason;

		if (!is_auto && strcmp((*method)->name, name))
			continue;
		reason = (*method)->why_not(env, buffer, sizeof(buffer));
		if (!reason) {
			*ret_method = *method;
			return 0;
		}
		if (is_auto)
			continue;
		snprintf(why_not, size, "%s", reason);
		return -EOPNOTSUPP;
	}
	return -EINVAL;
}
