/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plan.c - from a target to the list of steps: what would be done, in which order, and how it is
 * undone */
#include "core/plan.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "core/kinds.h"
#include "host/evacuations.h"
#include "host/privileges.h"

static int add_step(struct step_env *env, struct operation *operation, const struct step_kind *kind)
{
	struct step *step = operation_add_step(operation, kind);
	int r;

	if (!step)
		return -ENOMEM;
	r = kind->describe(step, env);
	if (r || !step->nr_items) {
		step_free(step);
		operation->nr_steps--;
	}
	return r;
}

static int add_places(const struct step_env *env, struct operation *operation)
{
	unsigned int cpu;

	operation->places = calloc(cpus_count(env->target) + 1, sizeof(*operation->places));
	if (!operation->places)
		return -ENOMEM;
	cpus_foreach(cpu, env->target) {
		const struct cpu *facts = &env->machine->cpus[cpu];

		operation->places[operation->nr_places++] = (struct place){
			.cpu = cpu,
			.socket = facts->socket,
			.die = facts->die,
			.core = facts->core,
			.node = facts->node,
			.thread = facts->thread,
		};
	}
	return 0;
}

/* The kernel hides the place of CPUs that another operation has taken; that one's journal knows it.
 */
static void adopt_places(const struct step_env *env, struct operation *operation)
{
	for (size_t i = 0; i < operation->nr_places; i++)
		for (size_t j = 0; j < env->nr_others; j++)
			for (size_t k = 0; k < env->others[j]->nr_places; k++)
				if (env->others[j]->places[k].cpu == operation->places[i].cpu &&
				    !env->machine->cpus[operation->places[i].cpu].is_online)
					operation->places[i] = env->others[j]->places[k];
}

int plan_offline(struct step_env *env, struct operation *operation)
{
	int r;

	env->own = operation;
	operation->evacuation = strdup(env->evacuation->name);
	r = operation->evacuation ? add_places(env, operation) : -ENOMEM;
	if (r)
		return r;
	adopt_places(env, operation);
	for (const struct step_kind *const *kind = kinds; !r && *kind; kind++)
		r = add_step(env, operation, *kind);
	return r;
}

/* What a killed run planned for its own duration and never did must not be mistaken for ours. */
static void drop_spent_steps(struct operation *operation)
{
	size_t kept = 0;

	for (size_t i = 0; i < operation->nr_steps; i++) {
		struct step *step = &operation->steps[i];

		if (step->lifetime == LIFETIME_DURING && !step_is_in_force(step))
			step_free(step);
		else
			operation->steps[kept++] = *step;
	}
	operation->nr_steps = kept;
}

int plan_return(struct step_env *env, struct operation *operation)
{
	int r = 0;

	env->own = operation;
	drop_spent_steps(operation);
	for (const struct step_kind *const *kind = kinds; !r && *kind; kind++) {
		size_t nr = operation->nr_steps;

		if ((*kind)->is_per_cpu)
			continue;
		r = add_step(env, operation, *kind);
		if (!r && operation->nr_steps > nr &&
		    operation->steps[nr].lifetime != LIFETIME_DURING)
			step_free(&operation->steps[--operation->nr_steps]);
	}
	return r;
}

/* ---- rights ------------------------------------------------------------------------------ */

/* What cannot be changed without one capability: the first object, and how many there are. */
struct barred {
	const char *object;
	size_t nr;
};

static void find_barred(const struct step_env *env, const struct step *step, struct barred *barred)
{
	for (size_t i = 0; i < step->nr_items; i++) {
		const struct item *item = &step->items[i];

		if ((step->state != STATE_PLANNED && !item_is_in_force(step, item)) ||
		    (step->kind->is_barred && !step->kind->is_barred(step, env, item)))
			continue;
		if (!barred->nr++)
			barred->object = item->object;
	}
}

static int tell_barred(const struct step_env *env, unsigned int capability,
		       const struct barred *barred)
{
	_cleanup_free_ char *more = util_asprintf(" and %zu more", barred->nr - 1);
	struct finding *finding;

	if (!more)
		return -ENOMEM;
	finding = findings_add(
		env->findings, "capability-missing",
		env->is_return ? SEVERITY_WARN : SEVERITY_REFUSE, env->target,
		env->is_return ? "The CPUs return, and the journal keeps what cannot be given "
				 "back: run cpuoff --restore once more where root has it."
			       : "Run cpuoff where root has it: a container, or a unit with "
				 "CapabilityBoundingSet=, may have taken it away.",
		"%s is missing, without which this cannot be changed: %s%s",
		privileges_name(capability), barred->object, barred->nr > 1 ? more : "");
	if (!finding)
		return -ENOMEM;
	finding->is_permission = true;
	if (env->request->force)
		finding_accept(finding);
	return 0;
}

int plan_check_rights(const struct step_env *env, const struct operation *operation,
		      uint64_t lacking)
{
	int r = 0;

	for (unsigned int capability = 1; !r && capability < 64; capability++) {
		struct barred barred = { 0 };

		if (!(lacking >> capability & 1))
			continue;
		for (size_t i = 0; i < operation->nr_steps; i++)
			if (operation->steps[i].kind->capability == capability)
				find_barred(env, &operation->steps[i], &barred);
		if (barred.nr)
			r = tell_barred(env, capability, &barred);
	}
	return r;
}

/* ---- what no journal knows --------------------------------------------------------------- */

int plan_adopt(struct step_env *env, struct operation *operation)
{
	int r = 0;

	for (const struct step_kind *const *kind = kinds; !r && *kind; kind++)
		if ((*kind)->is_per_cpu)
			r = add_step(env, operation, *kind);
	operation->evacuation = strdup("");
	if (!operation->evacuation)
		return -ENOMEM;
	for (size_t i = 0; i < operation->nr_steps; i++) {
		operation->steps[i].state = STATE_APPLIED;
		for (size_t j = 0; j < operation->steps[i].nr_items; j++)
			operation->steps[i].items[j].state = STATE_APPLIED;
	}
	return r ? r : operation_update_claim(operation);
}

static bool is_taken(const char *id, const struct state *journals, const struct state *records)
{
	return (journals && state_has(journals, id)) || (records && state_has(records, id));
}

int plan_identify(struct operation *operation, const char *boot_id, const char *version,
		  const char *command, const struct state *journals, const struct state *records)
{
	char id[32], started[32];
	time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(started, sizeof(started), "%Y-%m-%dT%H:%M:%SZ", &tm);
	strftime(id, sizeof(id), "%Y%m%d-%H%M%S", &tm);
	operation->id = strdup(id);
	for (unsigned int n = 2; operation->id && is_taken(operation->id, journals, records); n++) {
		free(operation->id);
		operation->id = util_asprintf("%s-%u", id, n);
	}
	operation->boot_id = strdup(boot_id);
	operation->version = strdup(version);
	operation->started = strdup(started);
	operation->command = strdup(command);
	return operation->id && operation->boot_id && operation->version && operation->started &&
			       operation->command
		       ? 0
		       : -ENOMEM;
}
