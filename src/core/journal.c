/* SPDX-License-Identifier: GPL-2.0-or-later */
/* journal.c - an operation on disk: the plan with its progress, in JSON */
#include "core/journal.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include <json-c/json.h>

#include "core/document.h"
#include "core/kinds.h"

/* The longest state, which holds the place of all of them, and how json-c writes the key. */
#define STATE_PLACE "applying"

#define STATE_TOKEN "\"state\": \""

struct journal {
	struct state *state;
	const struct operation *operation;
	bool is_on_disk;
	char *text;
	size_t length;
};

/* ---- writing ----------------------------------------------------------------------------- */

static struct json_object *make_item(const struct item *item)
{
	struct json_object *object = json_object_new_object();

	document_add_string(object, "object", item->object);
	document_add_string(object, "before", item->before);
	document_add_string(object, "after", item->after);
	document_add_number(object, "id", item->id);
	document_add_number(object, "stamp", item->stamp);
	document_add_string(object, "state", STATE_PLACE);
	return object;
}

static struct json_object *make_step(const struct step *step)
{
	struct json_object *object = json_object_new_object(), *items = json_object_new_array();

	document_add_string(object, "kind", step->kind->name);
	document_add_string(object, "lifetime", lifetime_format(step->lifetime));
	document_add_number(object, "undo_rank", step->undo_rank);
	document_add_string(object, "state", STATE_PLACE);
	document_add(object, "items", items);
	for (size_t i = 0; i < step->nr_items; i++)
		document_append(items, make_item(&step->items[i]));
	return object;
}

static struct json_object *make_operation(const struct operation *operation)
{
	struct json_object *object = json_object_new_object();
	struct json_object *places = json_object_new_array(), *steps = json_object_new_array();

	document_add_head(object, JOURNAL_FORMAT, operation);
	document_add_string(object, "evacuation", operation->evacuation);
	document_add(object, "cpus", places);
	for (size_t i = 0; i < operation->nr_places; i++)
		document_append(places, document_make_place(&operation->places[i]));
	document_add(object, "steps", steps);
	for (size_t i = 0; i < operation->nr_steps; i++)
		document_append(steps, make_step(&operation->steps[i]));
	return object;
}

int journal_new(struct state *state, const struct operation *operation,
		struct journal **ret_journal)
{
	struct journal *journal = calloc(1, sizeof(*journal));
	struct json_object *object;
	const char *text = NULL;

	document_begin();
	object = make_operation(operation);
	if (object)
		text = document_format(object);
	if (journal && text)
		journal->text = util_asprintf("%s\n", text);
	json_object_put(object);
	if (!journal || !journal->text) {
		journal_free(journal);
		return -ENOMEM;
	}
	journal->state = state;
	journal->operation = operation;
	journal->is_on_disk = operation->is_journalled;
	journal->length = strlen(journal->text);
	*ret_journal = journal;
	return 0;
}

void journal_free(struct journal *journal)
{
	if (!journal)
		return;
	free(journal->text);
	free(journal);
}

/*
 * Overwrites the next state after @at and returns where it ends. The token cannot stand inside a
 * text, where quotes are escaped. White space after a shorter word keeps the length.
 */
static char *put_state(char *at, enum step_state state)
{
	const char *word = state_format(state);
	size_t length = strlen(word);

	at = strstr(at, STATE_TOKEN) + strlen(STATE_TOKEN);
	memset(at, ' ', strlen(STATE_PLACE) + 1);
	memcpy(at, word, length);
	at[length] = '"';
	return at + strlen(STATE_PLACE) + 1;
}

int journal_save(struct journal *journal)
{
	char *at = journal->text;
	int r;

	for (size_t i = 0; i < journal->operation->nr_steps; i++) {
		const struct step *step = &journal->operation->steps[i];

		at = put_state(at, step->state);
		for (size_t j = 0; j < step->nr_items; j++)
			at = put_state(at, step->items[j].state);
	}
	r = state_write(journal->state, journal->operation->id, journal->text, journal->length);
	/* what failed may be there all the same */
	journal->is_on_disk |= !r || state_has(journal->state, journal->operation->id);
	return r;
}

int journal_remove(struct journal *journal)
{
	return journal->is_on_disk ? state_remove(journal->state, journal->operation->id) : 0;
}

/* ---- reading ----------------------------------------------------------------------------- */

static unsigned int get_rank(struct document_reader *reader, struct json_object *object)
{
	int64_t value = document_get_number(reader, object, "undo_rank");

	if (value >= 0 && value <= UINT_MAX)
		return (unsigned int)value;
	reader->wrong_key = "undo_rank";
	return 0;
}

static enum step_state get_state(struct document_reader *reader, struct json_object *object)
{
	enum step_state state = STATE_PLANNED;

	if (state_parse(document_get_string(reader, object, "state"), &state) && !reader->wrong_key)
		reader->wrong_key = "state";
	return state;
}

static int read_item(struct document_reader *reader, struct json_object *object, struct step *step)
{
	unsigned long long id = (unsigned long long)document_get_number(reader, object, "id");
	_cleanup_free_ char *name = document_get_text(reader, object, "object"),
			    *before = document_get_text(reader, object, "before"),
			    *after = document_get_text(reader, object, "after");
	struct item *item = NULL;

	if (name && before && after)
		item = step_add_item(step, id, before, after, "%s", name);
	if (!item)
		return -ENOMEM;
	item->stamp = (unsigned long long)document_get_number(reader, object, "stamp");
	item->state = get_state(reader, object);
	if (step->kind->is_per_cpu)
		document_get_cpu(reader, object, "id");
	return 0;
}

static int read_step(struct document_reader *reader, struct json_object *object,
		     struct operation *operation)
{
	struct json_object *items = document_get(reader, object, "items", json_type_array);
	const struct step_kind *kind = kinds_find(document_get_string(reader, object, "kind"));
	const char *lifetime;
	struct step *step;
	int r = 0;

	if (!kind) {
		reader->wrong_key = "kind";
		return 0;
	}
	step = operation_add_step(operation, kind);
	if (!step)
		return -ENOMEM;
	step->state = get_state(reader, object);
	lifetime = document_get_string(reader, object, "lifetime");
	step->lifetime = LIFETIME_UNTIL_RESTORE;
	if (!strcmp(lifetime, lifetime_format(LIFETIME_DURING)))
		step->lifetime = LIFETIME_DURING;
	else if (strcmp(lifetime, lifetime_format(LIFETIME_UNTIL_RESTORE)))
		reader->wrong_key = "lifetime";
	step->undo_rank = get_rank(reader, object);
	for (size_t i = 0; !r && items && i < json_object_array_length(items); i++)
		r = read_item(reader, json_object_array_get_idx(items, i), step);
	return r;
}

static int read_places(struct document_reader *reader, struct json_object *object,
		       struct operation *operation)
{
	struct json_object *cpus = document_get(reader, object, "cpus", json_type_array);
	size_t nr = cpus ? json_object_array_length(cpus) : 0;

	operation->places = calloc(nr ? nr : 1, sizeof(*operation->places));
	if (!operation->places)
		return -ENOMEM;
	operation->nr_places = nr;
	for (size_t i = 0; i < nr; i++)
		operation->places[i] =
			document_get_place(reader, json_object_array_get_idx(cpus, i));
	return 0;
}

/* @operation is filled as far as it goes; with a wrong key it must not be used. */
static int read_operation(struct document_reader *reader, struct json_object *object,
			  struct operation *operation)
{
	struct json_object *steps = document_get(reader, object, "steps", json_type_array);
	int r;

	r = document_get_head(reader, object, operation);
	operation->evacuation = document_get_text(reader, object, "evacuation");
	if (r || !operation->evacuation)
		return -ENOMEM;
	r = read_places(reader, object, operation);
	for (size_t i = 0; !r && steps && i < json_object_array_length(steps); i++)
		r = read_step(reader, json_object_array_get_idx(steps, i), operation);
	return r ? r : operation_update_claim(operation);
}

#define UNUSABLE_REMEDY                                                                            \
	"Nothing of it was used. Bring CPUs back by number with --restore --cpu LIST; remove the " \
	"file once the machine is as it should be."

static int report_unusable(struct journals *journals, struct findings *findings,
			   const struct state *state, const char *id, const char *why)
{
	if (names_add(&journals->unusable, id))
		return -ENOMEM;
	return findings_add(findings, "journal-unusable", SEVERITY_REFUSE, NULL, UNUSABLE_REMEDY,
			    "the journal %s/%s.json %s", state_path(state), id, why)
		       ? 0
		       : -ENOMEM;
}

static int keep(struct journals *journals, struct operation *operation)
{
	struct operation *list = util_grow(journals->list, journals->nr, sizeof(*list));

	if (!list)
		return -ENOMEM;
	journals->list = list;
	list[journals->nr] = *operation;
	list[journals->nr++].is_journalled = true;
	*operation = (struct operation){ 0 };
	return 0;
}

static int take_object(const struct state *state, const char *id, struct json_object *object,
		       const char *boot_id, struct findings *findings, struct journals *journals)
{
	struct operation operation = { 0 };
	struct document_reader reader = { 0 };
	char why[DOCUMENT_WHY];
	int r = read_operation(&reader, object, &operation);

	if (!r && !reader.wrong_key && strcmp(operation.id, id))
		reader.wrong_key = "id";
	if (!r && reader.wrong_key) {
		document_tell_damage(&reader, why);
		r = report_unusable(journals, findings, state, id, why);
	} else if (!r && strcmp(operation.boot_id, boot_id)) {
		r = findings_add(findings, "journal-of-another-boot", SEVERITY_NOTE,
				 operation.claim,
				 "Its changes ended with that boot; the file can be removed.",
				 "the journal %s/%s.json is from another boot and is not used",
				 state_path(state), id)
			    ? 0
			    : -ENOMEM;
	} else if (!r) {
		r = keep(journals, &operation);
	}
	operation_free(&operation);
	return r;
}

struct loading {
	const struct state *state;
	const char *boot_id;
	struct findings *findings;
	struct journals *journals;
};

static int load(void *data, const char *id)
{
	const struct loading *loading = data;
	struct json_object *object;
	char why[DOCUMENT_WHY];
	int r = document_load(loading->state, id, JOURNAL_FORMAT, &object, why);

	if (r == -EBADMSG)
		return report_unusable(loading->journals, loading->findings, loading->state, id,
				       why);
	if (r) /* undone by somebody since it was listed? */
		return r == -ENOENT ? 0 : r;
	r = take_object(loading->state, id, object, loading->boot_id, loading->findings,
			loading->journals);
	json_object_put(object);
	return r;
}

int journal_load_all(const struct state *state, const char *boot_id, struct findings *findings,
		     struct journals *ret_journals)
{
	struct journals journals = { 0 };
	struct loading loading = { state, boot_id, findings, &journals };
	int r = document_load_all(state, load, &loading, &journals.nr_files);

	if (r)
		journals_free(&journals);
	else
		*ret_journals = journals;
	return r;
}

struct operation *journals_find(const struct journals *journals, const char *id)
{
	for (size_t i = 0; i < journals->nr; i++)
		if (!strcmp(journals->list[i].id, id))
			return &journals->list[i];
	return NULL;
}

bool journals_is_unusable(const struct journals *journals, const char *id)
{
	for (size_t i = 0; i < journals->unusable.nr; i++)
		if (!strcmp(journals->unusable.list[i], id))
			return true;
	return false;
}

const struct place *journals_find_place(const struct journals *journals, unsigned int cpu)
{
	const struct place *place = NULL;

	for (size_t i = 0; !place && i < journals->nr; i++)
		place = operation_find_place(&journals->list[i], cpu);
	return place;
}

void journals_free(struct journals *journals)
{
	for (size_t i = 0; i < journals->nr; i++)
		operation_free(&journals->list[i]);
	free(journals->list);
	names_free(&journals->unusable);
	*journals = (struct journals){ 0 };
}
