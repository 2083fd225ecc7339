/* SPDX-License-Identifier: GPL-2.0-or-later */
/* preflight.c - every reason to refuse, found before the first write: the engine of the rules */
#include "core/preflight.h"

#include <errno.h>
#include <string.h>

#include "core/rules.h"

/* ---- what checks share ------------------------------------------------------------------- */

char *rules_told(char *message, const struct facts *facts, hwloc_bitmap_t cpus)
{
	if (!message)
		hwloc_bitmap_copy(cpus, facts->target);
	return message;
}

char *rules_name_cpus(hwloc_const_bitmap_t cpus, const char *one, const char *many)
{
	_cleanup_free_ char *list = cpus_format(cpus);
	bool is_one = cpus_count(cpus) == 1;

	if (!list)
		return NULL;
	return util_asprintf("%s%s %s", is_one ? "cpu" : "CPUs ", list, is_one ? one : many);
}

#define NAMES_SHOWN 8

char *rules_add_name(char *list, size_t nr, const char *fmt, ...)
{
	_cleanup_free_ char *name = NULL, *old = list;
	va_list ap;

	if (!list)
		return NULL;
	if (nr >= NAMES_SHOWN)
		return nr == NAMES_SHOWN ? util_asprintf("%s, ...", list) : steal_pointer(&old);
	va_start(ap, fmt);
	name = util_vasprintf(fmt, ap);
	va_end(ap);
	return name ? util_asprintf("%s%s%s", list, nr ? ", " : "", name) : NULL;
}

char *rules_add_names(const struct named_list *list, hwloc_bitmap_t cpus)
{
	char *names = strdup("");

	for (size_t i = 0; i < list->nr; i++) {
		_cleanup_free_ char *on = cpus_format(list->list[i].cpus);

		hwloc_bitmap_or(cpus, cpus, list->list[i].cpus);
		names = rules_add_name(names, i, "%s%s%s", list->list[i].name,
				       on && on[0] ? " on " : "", on ? on : "");
	}
	return names;
}

char *rules_tell_names(const struct named_list *list, const struct facts *facts,
		       hwloc_bitmap_t cpus, const char *before, const char *after)
{
	_cleanup_free_ char *names = NULL;

	if (!list->nr)
		return NULL;
	names = rules_add_names(list, cpus);
	return rules_told(names ? util_asprintf("%s%s%s", before, names, after) : NULL, facts,
			  cpus);
}

/* ---- running them ------------------------------------------------------------------------ */

static const struct rule *const tables[] = {
	rules_machine, rules_kernel, rules_work, rules_neighbours, rules_elsewhere,
};

static int run_rule(const struct rule *rule, const struct facts *facts, struct findings *findings)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	_cleanup_free_ char *message = cpus ? rule->check(facts, cpus) : NULL;
	struct finding *finding;

	if (!cpus || (!message && !cpus_is_empty(cpus)))
		return -ENOMEM;
	if (!message)
		return 0;
	finding =
		findings_add(findings, rule->id, rule->severity, cpus, rule->remedy, "%s", message);
	if (!finding)
		return -ENOMEM;
	finding->is_permission = rule->is_permission;
	if (rule->weigh)
		finding->severity = rule->weigh(facts);
	if (rule->is_forcible && facts->request->force)
		finding_accept(finding);
	return 0;
}

static int run_rules(unsigned int when, const struct facts *facts, struct findings *findings)
{
	int r = 0;

	for (const struct rule *rule = NULL; !r && (rule = preflight_next_rule(rule));)
		if (rule->when & when)
			r = run_rule(rule, facts, findings);
	return r;
}

int preflight_offline(const struct facts *facts, struct findings *findings)
{
	return run_rules(RULE_OFFLINE, facts, findings);
}

int preflight_return(const struct facts *facts, struct findings *findings)
{
	return run_rules(RULE_RETURN, facts, findings);
}

const struct rule *preflight_next_rule(const struct rule *last)
{
	size_t i = 0;

	if (!last)
		return tables[0];
	if (last[1].id)
		return last + 1;
	for (; i < ARRAY_SIZE(tables); i++) {
		const struct rule *rule = tables[i];

		while (rule[1].id)
			rule++;
		if (rule == last)
			break;
	}
	return i + 1 < ARRAY_SIZE(tables) ? tables[i + 1] : NULL;
}
