/* SPDX-License-Identifier: GPL-2.0-or-later */
/* finding.c - what a preflight rule found: why an operation is refused, or what its user should
 * know */
#include "base/finding.h"

#include <errno.h>
#include <string.h>

static void finding_free(struct finding *finding)
{
	free(finding->cpus);
	free(finding->message);
	free(finding->remedy);
}

struct finding *findings_add(struct findings *findings, const char *rule, enum severity severity,
			     hwloc_const_bitmap_t cpus, const char *remedy, const char *fmt, ...)
{
	struct finding *list, added = { .rule = rule, .severity = severity };
	va_list ap;

	va_start(ap, fmt);
	added.message = util_vasprintf(fmt, ap);
	va_end(ap);
	added.cpus = cpus ? cpus_format(cpus) : strdup("");
	added.remedy = strdup(remedy ? remedy : "");
	list = util_grow(findings->list, findings->nr, sizeof(*list));
	if (list)
		findings->list = list;
	if (!list || !added.message || !added.cpus || !added.remedy) {
		finding_free(&added);
		return NULL;
	}
	list[findings->nr] = added;
	return &list[findings->nr++];
}

void finding_accept(struct finding *finding)
{
	if (finding->severity != SEVERITY_REFUSE)
		return;
	finding->severity = SEVERITY_WARN;
	finding->is_accepted = true;
}

bool finding_refuses(const struct finding *finding, bool is_strict)
{
	return finding->severity == SEVERITY_REFUSE ||
	       (is_strict && finding->severity == SEVERITY_WARN && !finding->is_accepted);
}

void findings_sort(struct findings *findings)
{
	/* insertion sort: a handful of rows, and the order within a severity must stay */
	for (size_t i = 1; i < findings->nr; i++) {
		struct finding moved = findings->list[i];
		size_t j = i;

		for (; j > 0 && findings->list[j - 1].severity < moved.severity; j--)
			findings->list[j] = findings->list[j - 1];
		findings->list[j] = moved;
	}
}

static bool is_told(const struct findings *findings, const struct finding *finding)
{
	for (size_t i = 0; i < findings->nr; i++)
		if (!strcmp(findings->list[i].rule, finding->rule) &&
		    !strcmp(findings->list[i].message, finding->message))
			return true;
	return false;
}

int findings_move(struct findings *to, struct findings *from)
{
	int r = 0;

	for (size_t i = 0; i < from->nr; i++) {
		struct finding *finding = &from->list[i];
		struct finding *list = util_grow(to->list, to->nr, sizeof(*list));

		if (list)
			to->list = list;
		else
			r = -ENOMEM;
		if (list && !is_told(to, finding))
			list[to->nr++] = *finding;
		else
			finding_free(finding);
	}
	free(from->list);
	*from = (struct findings){ 0 };
	return r;
}

bool findings_has(const struct findings *findings, enum severity severity)
{
	for (size_t i = 0; i < findings->nr; i++)
		if (findings->list[i].severity == severity)
			return true;
	return false;
}

void findings_free(struct findings *findings)
{
	for (size_t i = 0; i < findings->nr; i++)
		finding_free(&findings->list[i]);
	free(findings->list);
	*findings = (struct findings){ 0 };
}

const char *severity_format(enum severity severity)
{
	static const char *const names[] = { "note", "warn", "refuse" };

	return names[severity];
}
