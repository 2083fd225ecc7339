/* SPDX-License-Identifier: GPL-2.0-or-later */
/* document.c - the JSON of what core keeps on disk: made whole or not at all, read with suspicion
 */
#include "core/document.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

/* No kernel has CPU numbers like this; a damaged document may. */
#define CPU_MAX (1 << 20)
/* Longer than any key of them. */
#define BYTES_KEY 32
#define FLAGS	  (JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE)

/* ---- writing ----------------------------------------------------------------------------- */

/* Set where a part could not be made: an incomplete document must never be written. */
static bool is_incomplete;

void document_begin(void)
{
	is_incomplete = false;
}

void document_add(struct json_object *object, const char *key, struct json_object *value)
{
	is_incomplete |= !object || !value || json_object_object_add(object, key, value);
}

void document_put(struct json_object *object, const char *key, struct json_object *value)
{
	if (object && !json_object_object_add(object, key, value))
		return;
	is_incomplete = true;
	json_object_put(value);
}

struct json_object *document_make_string(const char *text, const char *shown)
{
	struct json_object *value = shown ? json_object_new_string(shown) : NULL;

	is_incomplete |= text && !value;
	return value;
}

static void name_bytes(const char *key, char ret_key[BYTES_KEY])
{
	snprintf(ret_key, BYTES_KEY, "%s_bytes", key);
}

static void add_bytes(struct json_object *object, const char *key, const char *text)
{
	size_t length = strlen(text);
	_cleanup_free_ char *digits = malloc(2 * length + 1);
	char bytes_key[BYTES_KEY];

	for (size_t i = 0; digits && i < length; i++)
		snprintf(digits + 2 * i, 3, "%02x", (unsigned char)text[i]);
	name_bytes(key, bytes_key);
	document_add(object, bytes_key, digits ? json_object_new_string(digits) : NULL);
}

void document_add_string(struct json_object *object, const char *key, const char *value)
{
	_cleanup_free_ char *text = util_utf8(value ? value : "");

	document_add(object, key, text ? json_object_new_string(text) : NULL);
	if (text && value && strcmp(text, value) != 0)
		add_bytes(object, key, value);
}

void document_add_number(struct json_object *object, const char *key, unsigned long long value)
{
	document_add(object, key, json_object_new_int64((int64_t)value));
}

void document_add_id(struct json_object *object, const char *key, long value)
{
	if (value == CPU_ID_NONE)
		is_incomplete |= !object || json_object_object_add(object, key, NULL);
	else
		document_add(object, key, json_object_new_int64(value));
}

void document_append(struct json_object *array, struct json_object *value)
{
	is_incomplete |= !array || !value || json_object_array_add(array, value);
}

void document_add_head(struct json_object *object, int format, const struct operation *operation)
{
	document_add(object, "format", json_object_new_int(format));
	document_add_string(object, "id", operation->id);
	document_add_string(object, "boot_id", operation->boot_id);
	document_add_string(object, "version", operation->version);
	document_add_string(object, "started", operation->started);
	document_add_string(object, "command", operation->command);
}

struct json_object *document_make_place(const struct place *place)
{
	struct json_object *object = json_object_new_object();

	document_add_number(object, "cpu", place->cpu);
	document_add_id(object, "socket", place->socket);
	document_add_id(object, "die", place->die);
	document_add_id(object, "core", place->core);
	document_add_id(object, "node", place->node);
	document_add_number(object, "thread", place->thread);
	return object;
}

/* json-c leaves out what it has no memory for, without a word: only a text that comes out alike
 * twice is whole. */
const char *document_format(struct json_object *object)
{
	const char *text = is_incomplete ? NULL : json_object_to_json_string_ext(object, FLAGS);
	size_t length = text ? strlen(text) : 0;

	text = text ? json_object_to_json_string_ext(object, FLAGS) : NULL;
	return text && strlen(text) == length ? text : NULL;
}

/* ---- reading ----------------------------------------------------------------------------- */

static int parse_once(const char *text, struct json_object **ret_object)
{
	struct json_tokener *tokener = json_tokener_new();
	int r = -EBADMSG;

	*ret_object = NULL;
	if (!tokener)
		return -ENOMEM;
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	if (strlen(text) < INT_MAX)
		*ret_object = json_tokener_parse_ex(tokener, text, (int)strlen(text) + 1);
	if (json_object_is_type(*ret_object, json_type_object) &&
	    json_tokener_get_error(tokener) == json_tokener_success)
		r = 0;
	json_tokener_free(tokener);
	return r;
}

/* json-c cuts texts off and leaves members out where it has no memory for them, without a word:
 * only what is read alike twice is whole. Returns 0, -EBADMSG for what is no object, or -ENOMEM. */
static int parse(const char *text, struct json_object **ret_object)
{
	struct json_object *again = NULL;
	int r = parse_once(text, ret_object);

	if (!r)
		r = parse_once(text, &again);
	if (!r && !json_object_equal(*ret_object, again))
		r = -ENOMEM;
	json_object_put(again);
	return r;
}

struct json_object *document_get(struct document_reader *reader, struct json_object *object,
				 const char *key, enum json_type type)
{
	struct json_object *value;

	if (json_object_object_get_ex(object, key, &value) && json_object_is_type(value, type))
		return value;
	if (!reader->wrong_key)
		reader->wrong_key = key;
	return NULL;
}

const char *document_get_string(struct document_reader *reader, struct json_object *object,
				const char *key)
{
	struct json_object *value = document_get(reader, object, key, json_type_string);

	return value ? json_object_get_string(value) : "";
}

/*
 * Puts the bytes of @digits where @text has "?" for them. False where the two are not of one name:
 * all that is plain in it stands in both.
 */
static bool put_bytes(char *text, const char *digits)
{
	size_t length = strlen(text);

	if (strlen(digits) != 2 * length || strspn(digits, "0123456789abcdef") != 2 * length)
		return false;
	for (size_t i = 0; i < length; i++) {
		const char pair[] = { digits[2 * i], digits[2 * i + 1], '\0' };
		char byte = (char)strtoul(pair, NULL, 16);

		if (byte != text[i] && (text[i] != '?' || (unsigned char)byte < 0x80))
			return false;
		text[i] = byte;
	}
	return true;
}

char *document_get_text(struct document_reader *reader, struct json_object *object, const char *key)
{
	char *text = strdup(document_get_string(reader, object, key));
	char bytes_key[BYTES_KEY];
	struct json_object *bytes;

	name_bytes(key, bytes_key);
	if (text && json_object_object_get_ex(object, bytes_key, &bytes) &&
	    !(json_object_is_type(bytes, json_type_string) &&
	      put_bytes(text, json_object_get_string(bytes))) &&
	    !reader->wrong_key)
		reader->wrong_key = key;
	return text;
}

int64_t document_get_number(struct document_reader *reader, struct json_object *object,
			    const char *key)
{
	struct json_object *value = document_get(reader, object, key, json_type_int);

	return value ? json_object_get_int64(value) : 0;
}

unsigned int document_get_cpu(struct document_reader *reader, struct json_object *object,
			      const char *key)
{
	int64_t value = document_get_number(reader, object, key);

	if (value >= 0 && value < CPU_MAX)
		return (unsigned int)value;
	reader->wrong_key = key;
	return 0;
}

long document_get_id(struct document_reader *reader, struct json_object *object, const char *key)
{
	struct json_object *value;

	if (json_object_object_get_ex(object, key, &value) && !value)
		return CPU_ID_NONE;
	return (long)document_get_number(reader, object, key);
}

struct place document_get_place(struct document_reader *reader, struct json_object *object)
{
	return (struct place){
		.cpu = document_get_cpu(reader, object, "cpu"),
		.socket = document_get_id(reader, object, "socket"),
		.die = document_get_id(reader, object, "die"),
		.core = document_get_id(reader, object, "core"),
		.node = document_get_id(reader, object, "node"),
		.thread = document_get_cpu(reader, object, "thread"),
	};
}

int document_get_head(struct document_reader *reader, struct json_object *object,
		      struct operation *operation)
{
	operation->id = document_get_text(reader, object, "id");
	operation->boot_id = document_get_text(reader, object, "boot_id");
	operation->version = document_get_text(reader, object, "version");
	operation->started = document_get_text(reader, object, "started");
	operation->command = document_get_text(reader, object, "command");
	return operation->id && operation->boot_id && operation->version && operation->started &&
			       operation->command
		       ? 0
		       : -ENOMEM;
}

void document_tell_damage(const struct document_reader *reader, char ret_why[DOCUMENT_WHY])
{
	snprintf(ret_why, DOCUMENT_WHY, "is damaged: \"%s\" is missing or wrong",
		 reader->wrong_key);
}

/* ---- files ------------------------------------------------------------------------------- */

static int check_format(struct json_object *object, int newest, char ret_why[DOCUMENT_WHY])
{
	struct document_reader reader = { 0 };
	int64_t format = document_get_number(&reader, object, "format");

	if (!reader.wrong_key && format > newest) {
		snprintf(ret_why, DOCUMENT_WHY,
			 "has format %lld, from a newer cpuoff; this one reads up to %d",
			 (long long)format, newest);
		return -EBADMSG;
	}
	if (!reader.wrong_key && format >= 1)
		return 0;
	reader.wrong_key = "format";
	document_tell_damage(&reader, ret_why);
	return -EBADMSG;
}

int document_load(const struct state *state, const char *id, int format,
		  struct json_object **ret_object, char ret_why[DOCUMENT_WHY])
{
	_cleanup_free_ char *text = NULL;
	struct json_object *object = NULL;
	int r = state_read(state, id, &text);

	if (r == -ENOENT || r == -ENOMEM)
		return r;
	if (r) {
		snprintf(ret_why, DOCUMENT_WHY, "cannot be read: %s",
			 r == -EPERM ? "others than root can write it" : strerror(-r));
		return -EBADMSG;
	}
	r = parse(text, &object);
	if (r == -EBADMSG)
		snprintf(ret_why, DOCUMENT_WHY, "is damaged: it is not valid JSON");
	else if (!r)
		r = check_format(object, format, ret_why);
	if (r)
		json_object_put(object);
	else
		*ret_object = object;
	return r;
}

int document_load_all(const struct state *state, int (*load)(void *data, const char *id),
		      void *data, size_t *ret_nr)
{
	char **ids = NULL;
	size_t nr = 0;
	int r = 0;

	if (state)
		r = state_list(state, &ids, &nr);
	*ret_nr = nr;
	for (size_t i = 0; !r && i < nr; i++)
		r = load(data, ids[i]);
	while (nr)
		free(ids[--nr]);
	free(ids);
	return r;
}
