/* SPDX-License-Identifier: GPL-2.0-or-later */
/* evacuations.c - the ways of moving work off the target before it goes, the best one first */
#include "host/evacuations.h"

#include <errno.h>
#include <string.h>

#include "host/partition.h"

static const char *always(const struct step_env *env, char *buffer, size_t size)
{
	(void)env;
	(void)buffer;
	(void)size;
	return NULL;
}

static const struct evacuation partition = {
	.name = "partition",
	.has_partition = true,
	.moves_tasks = true,
	.why_not = partition_why_not,
};

static const struct evacuation affinity = {
	.name = "affinity",
	.moves_tasks = true,
	.why_not = always,
};

static const struct evacuation none = {
	.name = "none",
	.why_not = always,
};

const struct evacuation *const evacuations[] = { &partition, &affinity, &none, NULL };

/* Once is enough, also where several operations are undone. */
static bool is_noted(const struct findings *findings, const char *message)
{
	for (size_t i = 0; i < findings->nr; i++)
		if (!strcmp(findings->list[i].message, message))
			return true;
	return false;
}

static int note_passed_over(struct step_env *env, const struct evacuation *evacuation,
			    const char *why_not)
{
	_cleanup_free_ char *message =
		util_asprintf("work is not moved by %s: %s", evacuation->name, why_not);

	if (!message)
		return -ENOMEM;
	if (is_noted(env->findings, message))
		return 0;
	return findings_add(env->findings, "evacuation-passed-over", SEVERITY_NOTE, NULL, NULL,
			    "%s", message)
		       ? 0
		       : -ENOMEM;
}

static int pick_auto(struct step_env *env, const struct evacuation *failed,
		     const struct evacuation **ret_evacuation)
{
	const struct evacuation *const *evacuation = evacuations;
	char buffer[512];

	while (failed && *evacuation != failed)
		evacuation++;
	if (failed) {
		if (note_passed_over(env, failed, "the kernel refused it here"))
			return -ENOMEM;
		evacuation++;
	}
	for (; *evacuation; evacuation++) {
		const char *why_not = (*evacuation)->why_not(env, buffer, sizeof(buffer));

		if (!why_not) {
			*ret_evacuation = *evacuation;
			return 0;
		}
		if (note_passed_over(env, *evacuation, why_not))
			return -ENOMEM;
	}
	return -EOPNOTSUPP;
}

int evacuations_pick(const char *name, struct step_env *env, const struct evacuation *failed,
		     const struct evacuation **ret_evacuation, char *why_not, size_t size)
{
	char buffer[512];

	if (!strcmp(name, "auto"))
		return pick_auto(env, failed, ret_evacuation);
	for (const struct evacuation *const *evacuation = evacuations; *evacuation; evacuation++) {
		const char *reason;

		if (strcmp((*evacuation)->name, name))
			continue;
		reason = (*evacuation)->why_not(env, buffer, sizeof(buffer));
		if (reason) {
			snprintf(why_not, size, "%s", reason);
			return -EOPNOTSUPP;
		}
		*ret_evacuation = *evacuation;
		return 0;
	}
	return -EINVAL;
}
