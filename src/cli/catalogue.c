/* SPDX-License-Identifier: GPL-2.0-or-later */
/* catalogue.c - --list-rules: what cpuoff looks for before it acts, and what else it may find */
#include "cli/catalogue.h"

#include <string.h>

#include "core/document.h"
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

static struct json_object *make_when(const struct rule *rule)
{
	struct json_object *array = json_object_new_array();

	if (rule->when & RULE_OFFLINE)
		document_append(array, json_object_new_string("offline"));
	if (rule->when & RULE_RETURN)
		document_append(array, json_object_new_string("restore"));
	return array;
}

struct json_object *catalogue_json(void)
{
	struct json_object *array = json_object_new_array();

	for (const struct rule *rule = NULL; (rule = preflight_next_rule(rule));) {
		struct json_object *object = json_object_new_object();

		document_put(object, "rule", json_object_new_string(rule->id));
		document_put(object, "severity",
			     json_object_new_string(severity_format(rule->severity)));
		document_put(object, "mildest",
			     json_object_new_string(severity_format(rule->mildest)));
		document_put(object, "when", make_when(rule));
		document_put(object, "forcible", json_object_new_boolean(rule->is_forcible));
		document_put(object, "reads", json_object_new_string(rule->reads));
		document_put(object, "sentence", json_object_new_string(rule->what));
		document_put(object, "remedy",
			     json_object_new_string(rule->remedy ? rule->remedy : ""));
		document_append(array, object);
	}
	return array;
}
