/* SPDX-License-Identifier: GPL-2.0-or-later */
/* catalogue.c - --list-rules: what cpuoff looks for before it acts, and what else it may find */
#include "cli/catalogue.h"

#include <string.h>

#include "core/preflight.h"

static const char *format_force(const struct rule *rule)
{
	return rule->is_forcible ? ", --force accepts it" : "";
}

/* "    looks at: TEXT", which goes on below its beginning. */
static void print_line(const struct layout *layout, const char *label, const char *text)
{
	layout_print(layout, STYLE_PLAIN, "    ");
	layout_print(layout, STYLE_FAINT, "%s", label);
	layout_sentence(layout, STYLE_PLAIN, 4 + strlen(label), 4, text);
}

void catalogue_print(const struct layout *layout)
{
	for (const struct rule *rule = NULL; (rule = preflight_next_rule(rule));) {
		bool is_range = rule->mildest != rule->severity;

		layout_print(layout, STYLE_STRONG, "%-24s", rule->id);
		layout_print(layout, STYLE_PLAIN, " %s%s%s%s\n", severity_format(rule->severity),
			     is_range ? " or " : "", is_range ? severity_format(rule->mildest) : "",
			     format_force(rule));
		print_line(layout, "", rule->what);
		print_line(layout, "looks at: ", rule->reads);
		if (rule->remedy)
			print_line(layout, "remedy: ", rule->remedy);
	}
}

static void add(struct json_object *object, const char *key, struct json_object *value)
{
	json_object_object_add(object, key, value);
}

static struct json_object *make_when(const struct rule *rule)
{
	struct json_object *array = json_object_new_array();

	if (rule->when & RULE_OFFLINE)
		json_object_array_add(array, json_object_new_string("offline"));
	if (rule->when & RULE_RETURN)
		json_object_array_add(array, json_object_new_string("restore"));
	return array;
}

struct json_object *catalogue_json(void)
{
	struct json_object *array = json_object_new_array();

	for (const struct rule *rule = NULL; (rule = preflight_next_rule(rule));) {
		struct json_object *object = json_object_new_object();

		add(object, "rule", json_object_new_string(rule->id));
		add(object, "severity", json_object_new_string(severity_format(rule->severity)));
		add(object, "mildest", json_object_new_string(severity_format(rule->mildest)));
		add(object, "when", make_when(rule));
		add(object, "forcible", json_object_new_boolean(rule->is_forcible));
		add(object, "reads", json_object_new_string(rule->reads));
		add(object, "sentence", json_object_new_string(rule->what));
		add(object, "remedy", json_object_new_string(rule->remedy ? rule->remedy : ""));
		json_object_array_add(array, object);
	}
	return array;
}
