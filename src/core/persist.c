/* SPDX-License-Identifier: GPL-2.0-or-later */
/* persist.c - records: operations that are done again after a reboot, with what their CPUs are
 * known by */
#include "core/persist.h"

#include <errno.h>
#include <string.h>

#include "core/document.h"

/* ---- writing ----------------------------------------------------------------------------- */

static struct json_object *make_cpu(const struct record *record, size_t i)
{
	struct json_object *object = document_make_place(&record->operation.places[i]);

	document_add_id(object, "hardware_id", record->identities[i].hardware_id);
	document_add_string(object, "model", record->identities[i].model);
	document_add_string(object, "serial", record->identities[i].serial);
	return object;
}

static struct json_object *make_record(const struct record *record)
{
	struct json_object *object = json_object_new_object(), *cpus = json_object_new_array();

	document_add_head(object, RECORD_FORMAT, &record->operation);
	document_add_string(object, "machine", record->machine);
	document_add(object, "force", json_object_new_boolean(record->force));
	document_add(object, "allow_cpu0", json_object_new_boolean(record->allow_cpu0));
	document_add(object, "cpus", cpus);
	for (size_t i = 0; i < record->operation.nr_places; i++)
		document_append(cpus, make_cpu(record, i));
	return object;
}

int record_prepare(const struct state *state, const struct record *record)
{
	struct json_object *object;
	const char *text;
	int r;

	document_begin();
	object = make_record(record);
	text = object ? document_format(object) : NULL;
	r = text ? state_prepare(state, record->operation.id, text, strlen(text)) : -ENOMEM;
	json_object_put(object);
	return r;
}

int record_keep(const struct state *state, struct record *record, hwloc_const_bitmap_t kept)
{
	struct operation *operation = &record->operation;
	size_t nr = 0;
	int r;

	for (size_t i = 0; i < operation->nr_places; i++) {
		struct identity other = record->identities[nr];

		if (!hwloc_bitmap_isset(kept, operation->places[i].cpu))
			continue;
		operation->places[nr] = operation->places[i];
		record->identities[nr++] = record->identities[i];
		record->identities[i] = other;
	}
	for (size_t i = nr; i < operation->nr_places; i++) {
		free(record->identities[i].model);
		free(record->identities[i].serial);
	}
	operation->nr_places = nr;
	if (hwloc_bitmap_and(operation->claim, operation->claim, kept) < 0)
		return -ENOMEM;
	if (!nr)
		return state_remove(state, operation->id);
	r = record_prepare(state, record);
	return r ? r : state_commit(state, operation->id);
}

/* ---- a new one --------------------------------------------------------------------------- */

static int copy_head(const struct operation *operation, struct operation *ret_copy)
{
	*ret_copy = (struct operation){
		.id = strdup(operation->id),
		.boot_id = strdup(operation->boot_id),
		.version = strdup(operation->version),
		.started = strdup(operation->started),
		.command = strdup(operation->command),
		.claim = hwloc_bitmap_alloc(),
		.places = calloc(operation->nr_places + 1, sizeof(*operation->places)),
	};
	return ret_copy->id && ret_copy->boot_id && ret_copy->version && ret_copy->started &&
			       ret_copy->command && ret_copy->claim && ret_copy->places
		       ? 0
		       : -ENOMEM;
}

static int add_cpu(struct record *record, const struct place *place,
		   const struct identity *identity)
{
	struct operation *operation = &record->operation;
	struct identity *own = &record->identities[operation->nr_places];

	*own = (struct identity){ identity->hardware_id, strdup(identity->model),
				  strdup(identity->serial) };
	operation->places[operation->nr_places++] = *place;
	return own->model && own->serial && !hwloc_bitmap_set(operation->claim, place->cpu)
		       ? 0
		       : -ENOMEM;
}

/* A CPU that is off already hides who it is: another record of this boot may know. */
static const struct identity *find_identity(const struct operation *operation, unsigned int cpu,
					    const struct identities *identities,
					    const struct records *known)
{
	for (size_t i = 0; i < known->nr && !identities->list[cpu].model[0]; i++) {
		const struct operation *other = &known->list[i].operation;

		for (size_t j = 0; j < other->nr_places; j++)
			if (!strcmp(other->boot_id, operation->boot_id) &&
			    other->places[j].cpu == cpu)
				return &known->list[i].identities[j];
	}
	return &identities->list[cpu];
}

static int fill(struct record *record, const struct operation *operation,
		const struct identities *identities, const struct records *known)
{
	int r = copy_head(operation, &record->operation);

	record->machine = strdup(identities->machine);
	record->identities = calloc(operation->nr_places + 1, sizeof(*record->identities));
	if (r || !record->machine || !record->identities)
		return -ENOMEM;
	for (size_t i = 0; !r && i < operation->nr_places; i++)
		r = add_cpu(record, &operation->places[i],
			    find_identity(operation, operation->places[i].cpu, identities, known));
	return r;
}

int record_new(const struct root *root, const struct machine *machine, const struct records *known,
	       const struct operation *operation, const struct request *request,
	       struct record *ret_record)
{
	struct record record = { .force = request->force, .allow_cpu0 = request->allow_cpu0 };
	struct identities identities = { 0 };
	int r = identities_read(root, machine, machine->online, &identities);

	if (!r)
		r = fill(&record, operation, &identities, known);
	identities_free(&identities);
	if (r)
		record_free(&record);
	else
		*ret_record = record;
	return r;
}

void record_free(struct record *record)
{
	for (size_t i = 0; record->identities && i < record->operation.nr_places; i++) {
		free(record->identities[i].model);
		free(record->identities[i].serial);
	}
	free(record->identities);
	free(record->machine);
	operation_free(&record->operation);
	*record = (struct record){ 0 };
}

/* ---- reading ----------------------------------------------------------------------------- */

static bool get_flag(struct document_reader *reader, struct json_object *object, const char *key)
{
	struct json_object *value = document_get(reader, object, key, json_type_boolean);

	return value && json_object_get_boolean(value);
}

static int read_cpus(struct document_reader *reader, struct json_object *object,
		     struct record *record)
{
	struct json_object *cpus = document_get(reader, object, "cpus", json_type_array);
	size_t nr = cpus ? json_object_array_length(cpus) : 0;
	struct operation *operation = &record->operation;
	int r = 0;

	operation->claim = hwloc_bitmap_alloc();
	operation->places = calloc(nr + 1, sizeof(*operation->places));
	record->identities = calloc(nr + 1, sizeof(*record->identities));
	if (!operation->claim || !operation->places || !record->identities)
		return -ENOMEM;
	for (size_t i = 0; !r && i < nr; i++) {
		struct json_object *cpu = json_object_array_get_idx(cpus, i);
		struct place place = document_get_place(reader, cpu);
		_cleanup_free_ char *model = document_get_text(reader, cpu, "model"),
				    *serial = document_get_text(reader, cpu, "serial");
		struct identity identity = { document_get_id(reader, cpu, "hardware_id"), model,
					     serial };

		if (hwloc_bitmap_isset(operation->claim, place.cpu))
			reader->wrong_key = "cpus";
		r = model && serial ? add_cpu(record, &place, &identity) : -ENOMEM;
	}
	if (!nr)
		reader->wrong_key = "cpus";
	return r;
}

static int read_record(struct document_reader *reader, struct json_object *object,
		       struct record *record)
{
	int r = document_get_head(reader, object, &record->operation);

	record->machine = document_get_text(reader, object, "machine");
	record->force = get_flag(reader, object, "force");
	record->allow_cpu0 = get_flag(reader, object, "allow_cpu0");
	if (r || !record->machine)
		return -ENOMEM;
	return read_cpus(reader, object, record);
}

struct loading {
	const struct state *state;
	enum severity severity;
	struct findings *findings;
	struct records *records;
};

static int report_unusable(const struct loading *loading, const char *id, const char *why)
{
	return findings_add(loading->findings, "record-unusable", loading->severity, NULL,
			    "Nothing of it was used. Remove the file, and take the CPUs offline "
			    "again with --persist.",
			    "the record %s/%s.json %s", state_path(loading->state), id, why)
		       ? 0
		       : -ENOMEM;
}

static int keep(struct records *records, struct record *record)
{
	struct record *list = util_grow(records->list, records->nr, sizeof(*list));

	if (!list)
		return -ENOMEM;
	records->list = list;
	list[records->nr++] = *record;
	*record = (struct record){ 0 };
	return 0;
}

static int take_object(const struct loading *loading, const char *id, struct json_object *object)
{
	struct document_reader reader = { 0 };
	struct record record = { 0 };
	char why[DOCUMENT_WHY];
	int r = read_record(&reader, object, &record);

	if (!r && !reader.wrong_key && strcmp(record.operation.id, id))
		reader.wrong_key = "id";
	if (!r && reader.wrong_key) {
		document_tell_damage(&reader, why);
		r = report_unusable(loading, id, why);
	} else if (!r) {
		r = keep(loading->records, &record);
	}
	record_free(&record);
	return r;
}

static int load(void *data, const char *id)
{
	const struct loading *loading = data;
	struct json_object *object;
	char why[DOCUMENT_WHY];
	int r = document_load(loading->state, id, RECORD_FORMAT, &object, why);

	if (r == -EBADMSG)
		return report_unusable(loading, id, why);
	if (r)
		return r == -ENOENT ? 0 : r;
	r = take_object(loading, id, object);
	json_object_put(object);
	return r;
}

int persist_load_all(const struct state *state, enum severity severity, struct findings *findings,
		     struct records *ret_records)
{
	struct records records = { 0 };
	struct loading loading = { state, severity, findings, &records };
	size_t nr;
	int r = document_load_all(state, load, &loading, &nr);

	if (r)
		records_free(&records);
	else
		*ret_records = records;
	return r;
}

void records_free(struct records *records)
{
	for (size_t i = 0; i < records->nr; i++)
		record_free(&records->list[i]);
	free(records->list);
	*records = (struct records){ 0 };
}

struct record *records_find(const struct records *records, const char *id)
{
	for (size_t i = 0; i < records->nr; i++)
		if (!strcmp(records->list[i].operation.id, id))
			return &records->list[i];
	return NULL;
}

/* ---- is it the same machine? ------------------------------------------------------------- */

/*
 * What was read and what is there. A CPU without a hardware id must have its place and its number
 * still: which thread of a core it is depends on those that are online.
 */
struct match {
	const struct machine *machine;
	const struct identities *now;
	const struct records *known; /* may have taken some of the CPUs */
	const char *boot_id;
};

static bool is_at(const struct match *match, unsigned int cpu, const struct place *place,
		  const struct identity *identity)
{
	const struct cpu *facts = &match->machine->cpus[cpu];

	if (identity->hardware_id != CPU_ID_NONE)
		return match->now->list[cpu].hardware_id == identity->hardware_id;
	return cpu == place->cpu && facts->socket == place->socket && facts->die == place->die &&
	       facts->core == place->core;
}

/* What is not known of one of them cannot differ. */
static bool differs(const char *then, const char *now)
{
	return then[0] && now[0] && strcmp(then, now);
}

/* The kernel hides CPUs that are off; the record that is in force for them knows them. */
static unsigned int find_in(const struct record *known, const struct place *place,
			    const struct identity *identity)
{
	for (size_t i = 0; i < known->operation.nr_places; i++) {
		const struct place *then = &known->operation.places[i];
		const struct identity *other = &known->identities[i];
		bool has_id =
			identity->hardware_id != CPU_ID_NONE && other->hardware_id != CPU_ID_NONE;

		if (has_id ? other->hardware_id == identity->hardware_id
			   : then->cpu == place->cpu && then->socket == place->socket &&
				     then->die == place->die && then->core == place->core)
			return differs(identity->model, other->model) ||
					       differs(identity->serial, other->serial)
				       ? CPU_NONE
				       : then->cpu;
	}
	return CPU_NONE;
}

static unsigned int find_taken(const struct match *match, const struct record *record,
			       const struct place *place, const struct identity *identity)
{
	unsigned int cpu = CPU_NONE;

	for (size_t i = 0; cpu == CPU_NONE && i < match->known->nr; i++) {
		const struct record *known = &match->known->list[i];

		if (known != record && !strcmp(known->operation.boot_id, match->boot_id))
			cpu = find_in(known, place, identity);
		if (cpu != CPU_NONE &&
		    (!machine_has_cpu(match->machine, cpu) || match->machine->cpus[cpu].is_online))
			cpu = CPU_NONE;
	}
	return cpu;
}

static unsigned int find_cpu(const struct match *match, const struct place *place,
			     const struct identity *identity)
{
	unsigned int cpu;

	cpus_foreach(cpu, match->machine->online)
		if (is_at(match, cpu, place, identity))
			return cpu;
	return CPU_NONE;
}

static char *tell_id(const char *what, long then, long now)
{
	return util_asprintf("its %s was %ld and is %ld", what, then, now);
}

static bool is_another(const struct match *match, unsigned int cpu, const struct place *place,
		       const struct identity *identity)
{
	const struct cpu *facts = &match->machine->cpus[cpu];
	const struct identity *now = &match->now->list[cpu];

	return facts->socket != place->socket || facts->die != place->die ||
	       facts->core != place->core || differs(identity->model, now->model) ||
	       differs(identity->serial, now->serial);
}

static char *tell_other(const struct match *match, unsigned int cpu, const struct place *place,
			const struct identity *identity)
{
	const struct cpu *facts = &match->machine->cpus[cpu];
	const struct identity *now = &match->now->list[cpu];

	if (facts->socket != place->socket)
		return tell_id("socket", place->socket, facts->socket);
	if (facts->die != place->die)
		return tell_id("die", place->die, facts->die);
	if (facts->core != place->core)
		return tell_id("core", place->core, facts->core);
	if (differs(identity->model, now->model))
		return util_asprintf("its model was \"%s\" and is \"%s\"", identity->model,
				     now->model);
	return util_asprintf("its serial number was %s and is %s", identity->serial, now->serial);
}

static char *tell_absent(const struct place *place, const struct identity *identity)
{
	if (identity->hardware_id != CPU_ID_NONE)
		return util_asprintf("no CPU that is online has hardware id %ld (socket %ld, core "
				     "%ld)",
				     identity->hardware_id, place->socket, place->core);
	return util_asprintf("no CPU of this number that is online is of core %ld in socket %ld",
			     place->core, place->socket);
}

/* What differs, 1; or 0 with the CPU's number now. */
static int match_one(const struct match *match, const struct record *record, size_t i,
		     unsigned int *ret_cpu, char **ret_difference)
{
	const struct place *place = &record->operation.places[i];
	const struct identity *identity = &record->identities[i];
	unsigned int cpu = find_cpu(match, place, identity);
	_cleanup_free_ char *what = NULL;

	if (cpu != CPU_NONE && !is_another(match, cpu, place, identity)) {
		*ret_cpu = cpu;
		return 0;
	}
	if (cpu == CPU_NONE) {
		*ret_cpu = find_taken(match, record, place, identity);
		if (*ret_cpu != CPU_NONE)
			return 0;
	}
	what = cpu == CPU_NONE ? tell_absent(place, identity)
			       : tell_other(match, cpu, place, identity);
	*ret_difference = what ? util_asprintf("CPU %u of then: %s", place->cpu, what) : NULL;
	return *ret_difference ? 1 : -ENOMEM;
}

static int match_all(const struct match *match, struct record *record, hwloc_bitmap_t ret_cpus,
		     char **ret_difference)
{
	unsigned int *numbers = calloc(record->operation.nr_places, sizeof(*numbers));
	int r = numbers ? 0 : -ENOMEM;

	hwloc_bitmap_zero(ret_cpus);
	for (size_t i = 0; !r && i < record->operation.nr_places; i++) {
		r = match_one(match, record, i, &numbers[i], ret_difference);
		if (!r && hwloc_bitmap_isset(ret_cpus, numbers[i])) {
			*ret_difference =
				util_asprintf("two of its CPUs are CPU %u now", numbers[i]);
			r = *ret_difference ? 1 : -ENOMEM;
		} else if (!r && hwloc_bitmap_set(ret_cpus, numbers[i])) {
			r = -ENOMEM;
		}
	}
	for (size_t i = 0; !r && i < record->operation.nr_places; i++)
		record->operation.places[i].cpu = numbers[i];
	if (!r && hwloc_bitmap_copy(record->operation.claim, ret_cpus))
		r = -ENOMEM;
	free(numbers);
	return r;
}

int record_match(const struct root *root, const struct machine *machine,
		 const struct records *known, const char *boot_id, struct record *record,
		 hwloc_bitmap_t ret_cpus, char **ret_difference)
{
	struct identities now = { 0 };
	int r = identities_read(root, machine, machine->online, &now);

	if (!r && differs(record->machine, now.machine)) {
		*ret_difference =
			util_asprintf("the machine was %s and is %s", record->machine, now.machine);
		r = *ret_difference ? 1 : -ENOMEM;
	} else if (!r) {
		r = match_all(&(struct match){ machine, &now, known, boot_id }, record, ret_cpus,
			      ret_difference);
	}
	identities_free(&now);
	return r;
}
