/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * document.h - the JSON of what core keeps on disk: made whole or not at all, read with suspicion
 *
 * One document is made at a time.
 *
 * JSON is UTF-8, and what others have named may be any bytes. Such a text has a "?" for each byte
 * that is not, and beside it, under its key with "_bytes" at the end, all its bytes as two
 * hexadecimal digits each:
 *
 *	"object": "/sys/fs/cgroup/a?b",
 *	"object_bytes": "2f7379732f66732f6367726f75702f61ff62",
 */
#pragma once

#include <json-c/json.h>

#include "base/step.h"
#include "host/state.h"

/* Begins a document. What cannot be added to it from here on makes it incomplete. */
void document_begin(void);

/* Adds @value, which is the object's then; NULL is want of memory. */
void document_add(struct json_object *object, const char *key, struct json_object *value);

/* The same, where NULL is null: want of memory is known by who has made @value. */
void document_put(struct json_object *object, const char *key, struct json_object *value);

/* A text for it: @shown, which is what of @text is fit to be shown, or NULL for want of memory. */
struct json_object *document_make_string(const char *text, const char *shown);

/* With its bytes where it is not UTF-8; NULL is the empty text. */
void document_add_string(struct json_object *object, const char *key, const char *value);
void document_add_number(struct json_object *object, const char *key, unsigned long long value);

/* CPU_ID_NONE is null. */
void document_add_id(struct json_object *object, const char *key, long value);
void document_append(struct json_object *array, struct json_object *value);
/* What every document begins with: its format, and id, boot, version, start and command. */
void document_add_head(struct json_object *object, int format, const struct operation *operation);
struct json_object *document_make_place(const struct place *place);

/* The text of the document, which owns it; NULL where it is incomplete. */
const char *document_format(struct json_object *object);

#define DOCUMENT_WHY 128 /* the longest reason why a file cannot be used */

/*
 * Reads the file @id of @state, which must be one document of a format up to @format. Returns 0,
 * -ENOENT, -ENOMEM, or -EBADMSG with what is wrong in @ret_why ("is damaged: ..."). The caller puts
 * @ret_object.
 */
int document_load(const struct state *state, const char *id, int format,
		  struct json_object **ret_object, char ret_why[DOCUMENT_WHY]) _must_check_;

/*
 * Calls @load for each file of @state, oldest first, until it fails. @state may be NULL: none.
 * Returns 0 or -errno.
 */
int document_load_all(const struct state *state, int (*load)(void *data, const char *id),
		      void *data, size_t *ret_nr) _must_check_;

/* Where a document is damaged: the first key that is missing or has a wrong value. */
struct document_reader {
	const char *wrong_key;
};

/* "is damaged: ...", for a reader with a wrong key. */
void document_tell_damage(const struct document_reader *reader, char ret_why[DOCUMENT_WHY]);

struct json_object *document_get(struct document_reader *reader, struct json_object *object,
				 const char *key, enum json_type type);

/* A word of ours; "" where it is wrong. It is the object's. */
const char *document_get_string(struct document_reader *reader, struct json_object *object,
				const char *key);

/* What document_add_string() was given, in a copy; NULL for want of memory. */
char *document_get_text(struct document_reader *reader, struct json_object *object,
			const char *key);
int64_t document_get_number(struct document_reader *reader, struct json_object *object,
			    const char *key);
unsigned int document_get_cpu(struct document_reader *reader, struct json_object *object,
			      const char *key);
long document_get_id(struct document_reader *reader, struct json_object *object, const char *key);

/* Fills in what document_add_head() adds. Returns 0 or -ENOMEM. */
int document_get_head(struct document_reader *reader, struct json_object *object,
		      struct operation *operation) _must_check_;
struct place document_get_place(struct document_reader *reader, struct json_object *object);
