/* SPDX-License-Identifier: GPL-2.0-or-later */
/* journal.c - an operation on disk: the plan with its progress, in JSON */
#include "core/journal.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include <json-c/json.h>

#include "core/kinds.h"

/* The longest state, which holds the place of all of them, and how json-c writes the key. */
#define STATE_PLACE "applying"
/* No kernel has CPU numbers like this; a damaged journal may. */
#define CPU_MAX (1 << 20)

#define STATE_TOKEN "\"state\": \""

struct journal {
	struct state *state;
	const struct operation *operation;
	bool is_on_disk;
	char *text;
	size_t length;
};

/* ---- writing ----------------------------------------------------------------------------- */

/* Set where a part of the document could not be made: an incomplete journal must never be written.
 */
static bool is_incomplete;

static void add(struct json_object *object, const char *key, struct json_object *value)
{
	is_incomplete |= !object || !value || json_object_object_add(object, key, value);
}

/* What is no UTF-8 would make the document unreadable: such bytes become "?". */
static void add_string(struct json_object *object, const char *key, const char *value)
{
	_cleanup_free_ char *text = util_utf8(value ? value : "");

	add(object, key, text ? json_object_new_string(text) : NULL);
}

static void add_number(struct json_object *object, const char *key, unsigned long long value)
{
	add(object, key, json_object_new_int64((int64_t)value));
}

static void add_id(struct json_object *object, const char *key, long value)
{
	if (value == CPU_ID_NONE)
		is_incomplete |= !object || json_object_object_add(object, key, NULL);
	else
		add(object, key, json_object_new_int64(value));
}

static void append(struct json_object *array, struct json_object *value)
{
	is_incomplete |= !array || !value || json_object_array_add(array, value);
}

static struct json_object *make_item(const struct item *item)
{
	struct json_object *object = json_object_new_object();

	add_string(object, "object", item->object);
	add_string(object, "before", item->before);
	add_string(object, "after", item->after);
	add_number(object, "id", item->id);
	add_number(object, "stamp", item->stamp);
	add_string(object, "state", STATE_PLACE);
	return object;
}

static struct json_object *make_step(const struct step *step)
{
	struct json_object *object = json_object_new_object(), *items = json_object_new_array();

	add_string(object, "kind", step->kind->name);
	add_string(object, "lifetime", lifetime_format(step->lifetime));
	add_number(object, "undo_rank", step->undo_rank);
	add_string(object, "state", STATE_PLACE);
	add(object, "items", items);
	for (size_t i = 0; i < step->nr_items; i++)
		append(items, make_item(&step->items[i]));
	return object;
}

static struct json_object *make_place(const struct place *place)
{
	struct json_object *object = json_object_new_object();

	add_number(object, "cpu", place->cpu);
	add_id(object, "socket", place->socket);
	add_id(object, "die", place->die);
	add_id(object, "core", place->core);
	add_id(object, "node", place->node);
	add_number(object, "thread", place->thread);
	return object;
}

static struct json_object *make_operation(const struct operation *operation)
{
	struct json_object *object = json_object_new_object();
	struct json_object *places = json_object_new_array(), *steps = json_object_new_array();

	add(object, "format", json_object_new_int(JOURNAL_FORMAT));
	add_string(object, "id", operation->id);
	add_string(object, "boot_id", operation->boot_id);
	add_string(object, "version", operation->version);
	add_string(object, "started", operation->started);
	add_string(object, "command", operation->command);
	add_string(object, "evacuation", operation->evacuation);
	add(object, "cpus", places);
	for (size_t i = 0; i < operation->nr_places; i++)
		append(places, make_place(&operation->places[i]));
	add(object, "steps", steps);
	for (size_t i = 0; i < operation->nr_steps; i++)
		append(steps, make_step(&operation->steps[i]));
	return object;
}

#define FLAGS (JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE)

/*
 * The text of the document, which owns it, or NULL. json-c leaves out what it has no memory for,
 * without a word: only a text that comes out alike twice is whole.
 */
static const char *format_document(struct json_object *object)
{
	const char *text = json_object_to_json_string_ext(object, FLAGS);
	size_t length = text ? strlen(text) : 0;

	text = json_object_to_json_string_ext(object, FLAGS);
	return text && strlen(text) == length ? text : NULL;
}

int journal_new(struct state *state, const struct operation *operation,
		struct journal **ret_journal)
{
	struct journal *journal = calloc(1, sizeof(*journal));
	struct json_object *object;
	const char *text = NULL;

	is_incomplete = false;
	object = make_operation(operation);
	if (object && !is_incomplete)
		text = format_document(object);
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
	journal->is_on_disk |= !r;
	return r;
}

int journal_remove(struct journal *journal)
{
	return journal->is_on_disk ? state_remove(journal->state, journal->operation->id) : 0;
}

/* ---- reading ----------------------------------------------------------------------------- */

/* Where a journal is damaged: the first key that is missing or has a wrong value. */
struct reader {
	const char *wrong_key;
};

static struct json_object *get(struct reader *reader, struct json_object *object, const char *key,
			       enum json_type type)
{
	struct json_object *value;

	if (json_object_object_get_ex(object, key, &value) && json_object_is_type(value, type))
		return value;
	if (!reader->wrong_key)
		reader->wrong_key = key;
	return NULL;
}

static const char *get_string(struct reader *reader, struct json_object *object, const char *key)
{
	struct json_object *value = get(reader, object, key, json_type_string);

	return value ? json_object_get_string(value) : "";
}

static char *get_text(struct reader *reader, struct json_object *object, const char *key)
{
	return strdup(get_string(reader, object, key));
}

static int64_t get_number(struct reader *reader, struct json_object *object, const char *key)
{
	struct json_object *value = get(reader, object, key, json_type_int);

	return value ? json_object_get_int64(value) : 0;
}

static unsigned int get_cpu(struct reader *reader, struct json_object *object, const char *key)
{
	int64_t value = get_number(reader, object, key);

	if (value >= 0 && value < CPU_MAX)
		return (unsigned int)value;
	reader->wrong_key = key;
	return 0;
}

static unsigned int get_rank(struct reader *reader, struct json_object *object)
{
	int64_t value = get_number(reader, object, "undo_rank");

	if (value >= 0 && value <= UINT_MAX)
		return (unsigned int)value;
	reader->wrong_key = "undo_rank";
	return 0;
}

static long get_id(struct reader *reader, struct json_object *object, const char *key)
{
	struct json_object *value;

	if (json_object_object_get_ex(object, key, &value) && !value)
		return CPU_ID_NONE;
	return (long)get_number(reader, object, key);
}

static enum step_state get_state(struct reader *reader, struct json_object *object)
{
	enum step_state state = STATE_PLANNED;

	if (state_parse(get_string(reader, object, "state"), &state) && !reader->wrong_key)
		reader->wrong_key = "state";
	return state;
}

static int read_item(struct reader *reader, struct json_object *object, struct step *step)
{
	struct item *item = step_add_item(
		step, (unsigned long long)get_number(reader, object, "id"),
		get_string(reader, object, "before"), get_string(reader, object, "after"), "%s",
		get_string(reader, object, "object"));

	if (!item)
		return -ENOMEM;
	item->stamp = (unsigned long long)get_number(reader, object, "stamp");
	item->state = get_state(reader, object);
	if (step->kind->is_per_cpu)
		get_cpu(reader, object, "id");
	return 0;
}

static int read_step(struct reader *reader, struct json_object *object, struct operation *operation)
{
	struct json_object *items = get(reader, object, "items", json_type_array);
	const struct step_kind *kind = kinds_find(get_string(reader, object, "kind"));
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
	lifetime = get_string(reader, object, "lifetime");
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

static int read_places(struct reader *reader, struct json_object *object,
		       struct operation *operation)
{
	struct json_object *cpus = get(reader, object, "cpus", json_type_array);
	size_t nr = cpus ? json_object_array_length(cpus) : 0;

	operation->places = calloc(nr ? nr : 1, sizeof(*operation->places));
	if (!operation->places)
		return -ENOMEM;
	operation->nr_places = nr;
	for (size_t i = 0; i < nr; i++) {
		struct json_object *place = json_object_array_get_idx(cpus, i);

		operation->places[i] = (struct place){
			.cpu = get_cpu(reader, place, "cpu"),
			.socket = get_id(reader, place, "socket"),
			.die = get_id(reader, place, "die"),
			.core = get_id(reader, place, "core"),
			.node = get_id(reader, place, "node"),
			.thread = get_cpu(reader, place, "thread"),
		};
	}
	return 0;
}

/* @operation is filled as far as it goes; with a wrong key it must not be used. */
static int read_operation(struct reader *reader, struct json_object *object,
			  struct operation *operation)
{
	struct json_object *steps = get(reader, object, "steps", json_type_array);
	int r;

	operation->id = get_text(reader, object, "id");
	operation->boot_id = get_text(reader, object, "boot_id");
	operation->version = get_text(reader, object, "version");
	operation->started = get_text(reader, object, "started");
	operation->command = get_text(reader, object, "command");
	operation->evacuation = get_text(reader, object, "evacuation");
	if (!operation->id || !operation->boot_id || !operation->version || !operation->started ||
	    !operation->command || !operation->evacuation)
		return -ENOMEM;
	r = read_places(reader, object, operation);
	for (size_t i = 0; !r && steps && i < json_object_array_length(steps); i++)
		r = read_step(reader, json_object_array_get_idx(steps, i), operation);
	return r ? r : operation_update_claim(operation);
}

static struct json_object *parse_text(const char *text)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *object = NULL;

	if (!tokener)
		return NULL;
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	if (strlen(text) < INT_MAX)
		object = json_tokener_parse_ex(tokener, text, (int)strlen(text) + 1);
	if (object && json_tokener_get_error(tokener) != json_tokener_success) {
		json_object_put(object);
		object = NULL;
	}
	json_tokener_free(tokener);
	return object;
}

#define UNUSABLE_REMEDY                                                                            \
	"Nothing of it was used. Bring CPUs back by number with --restore --cpu LIST; remove the " \
	"file once the machine is as it should be."

static int report_unusable(struct journals *journals, struct findings *findings,
			   const struct state *state, const char *id, const char *why)
{
	journals->has_unusable = true;
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
	struct reader reader = { 0 };
	int64_t format = get_number(&reader, object, "format");
	char why[128];
	int r;

	if (!reader.wrong_key && format > JOURNAL_FORMAT) {
		snprintf(why, sizeof(why),
			 "has format %lld, from a newer cpuoff; this one reads up to %d",
			 (long long)format, JOURNAL_FORMAT);
		return report_unusable(journals, findings, state, id, why);
	}
	if (!reader.wrong_key && format < 1)
		reader.wrong_key = "format";
	r = read_operation(&reader, object, &operation);
	if (!r && !reader.wrong_key && strcmp(operation.id, id))
		reader.wrong_key = "id";
	if (!r && reader.wrong_key) {
		snprintf(why, sizeof(why), "is damaged: \"%s\" is missing or wrong",
			 reader.wrong_key);
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

static int load(const struct state *state, const char *id, const char *boot_id,
		struct findings *findings, struct journals *journals)
{
	_cleanup_free_ char *text = NULL;
	struct json_object *object;
	char why[128];
	int r = state_read(state, id, &text);

	if (r == -ENOENT) /* undone by somebody since it was listed */
		return 0;
	if (r == -ENOMEM)
		return r;
	if (r) {
		snprintf(why, sizeof(why), "cannot be read: %s",
			 r == -EPERM ? "others than root can write it" : strerror(-r));
		return report_unusable(journals, findings, state, id, why);
	}
	object = parse_text(text);
	if (!object || !json_object_is_type(object, json_type_object)) {
		json_object_put(object);
		return report_unusable(journals, findings, state, id,
				       "is damaged: it is not valid JSON");
	}
	r = take_object(state, id, object, boot_id, findings, journals);
	json_object_put(object);
	return r;
}

int journal_load_all(const struct state *state, const char *boot_id, struct findings *findings,
		     struct journals *ret_journals)
{
	struct journals journals = { 0 };
	char **ids = NULL;
	size_t nr = 0;
	int r = 0;

	if (state)
		r = state_list(state, &ids, &nr);
	journals.nr_files = nr;
	for (size_t i = 0; !r && i < nr; i++)
		r = load(state, ids[i], boot_id, findings, &journals);
	while (nr)
		free(ids[--nr]);
	free(ids);
	if (r)
		journals_free(&journals);
	else
		*ret_journals = journals;
	return r;
}

void journals_free(struct journals *journals)
{
	for (size_t i = 0; i < journals->nr; i++)
		operation_free(&journals->list[i]);
	free(journals->list);
	*journals = (struct journals){ 0 };
}
