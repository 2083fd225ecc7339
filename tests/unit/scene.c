/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scene.c - one operation on the fake machine, from the plan to its end, as the command line does
 * it */
#include "scene.h"

#include <errno.h>
#include <string.h>

#include "core/plan.h"
#include "guard.h"
#include "host/evacuations.h"
#include "host/methods.h"

#define BOOT_ID "5f3b1a52-0000-4000-8000-000000000001"

size_t scene_nr_allocated;

static void init_env(struct scene *scene)
{
	char reason[512];

	scene->request.migrate = "none";
	scene->request.method = "auto";
	scene->watcher.nr_interrupts = &fake.nr_signals;
	fake_read_machine(&scene->machine);
	hwloc_bitmap_andnot(scene->survivors, scene->machine.online, scene->target);
	scene->env = (struct step_env){
		.root = fake_root,
		.writer = fake_writer,
		.machine = &scene->machine,
		.request = &scene->request,
		.watcher = &scene->watcher,
		.target = scene->target,
		.survivors = scene->survivors,
		.findings = &scene->findings,
		.tasks = &scene->tasks,
		.cgroups = &scene->cgroups,
	};
	if (methods_pick("auto", &scene->env, &scene->env.method, reason, sizeof(reason)) ||
	    evacuations_pick("none", &scene->env, NULL, &scene->env.evacuation, reason,
			     sizeof(reason)))
		scene->plan_error = -EOPNOTSUPP;
}

static void init(struct scene *scene, const char *target)
{
	*scene = (struct scene){
		.target = hwloc_bitmap_alloc(),
		.survivors = hwloc_bitmap_alloc(),
	};
	scene->run.changed = hwloc_bitmap_alloc();
	if (cpus_parse(target, FAKE_NR_CPUS - 1, true, scene->target))
		scene->plan_error = -EINVAL;
	init_env(scene);
}

/* All other journals on the disk are operations in force. */
static void load_others(struct scene *scene, const char *id)
{
	size_t nr = 0;

	if (journal_load_all(fake_state, BOOT_ID, &scene->findings, &scene->journals))
		scene->plan_error = -EIO;
	for (size_t i = 0; i < scene->journals.nr; i++)
		if (strcmp(scene->journals.list[i].id, id))
			scene->others[nr++] = &scene->journals.list[i];
		else
			scene->run.operation = &scene->journals.list[i];
	scene->env.others = scene->others;
	scene->env.nr_others = nr;
}

void scene_init(struct scene *scene, const char *target, const char *id)
{
	init(scene, target);
	load_others(scene, id);
	scene->operation.id = strdup(id);
	scene->operation.boot_id = strdup(BOOT_ID);
	scene->operation.version = strdup("0.1.0");
	scene->operation.started = strdup("2025-01-02T03:04:05Z");
	scene->operation.command = strdup("cpuoff --cpu 1");
	scene->env.own = &scene->operation;
}

void scene_plan(struct scene *scene)
{
	scene->plan_error = plan_offline(&scene->env, &scene->operation);
}

void scene_open(struct scene *scene, const char *target, const char *id)
{
	scene_init(scene, target, id);
	scene_plan(scene);
}

static enum outcome run(struct scene *scene, enum outcome (*direction)(struct run *))
{
	enum outcome outcome;

	scene->run.env = &scene->env;
	if (journal_new(fake_state, scene->run.operation, &scene->run.journal))
		return OUTCOME_FAILED;
	fake.is_guarded = true;
	fake.nr_instants = 0;
	outcome = direction(&scene->run);
	scene_nr_allocated += guard_end();
	fake.is_guarded = false;
	journal_free(scene->run.journal);
	scene->run.journal = NULL;
	return outcome;
}

enum outcome scene_take(struct scene *scene)
{
	scene->run.operation = &scene->operation;
	return run(scene, run_offline);
}

static bool any_returns(const struct scene *scene)
{
	unsigned int cpu;

	cpus_foreach(cpu, scene->target)
		if (!hwloc_bitmap_isset(scene->machine.online, cpu) &&
		    !env_is_claimed(&scene->env, cpu))
			return true;
	return false;
}

void scene_open_return(struct scene *scene, const char *id, const char *scope)
{
	init(scene, scope ? scope : "");
	load_others(scene, id);
	if (!scene->run.operation)
		return;
	if (!scope)
		hwloc_bitmap_copy(scene->target, scene->run.operation->claim);
	hwloc_bitmap_copy(scene->survivors, scene->machine.online);
	scene->env.is_return = true;
	scene->env.own = scene->run.operation;
	if (any_returns(scene))
		scene->plan_error = plan_return(&scene->env, scene->run.operation);
}

enum outcome scene_return(struct scene *scene)
{
	return run(scene, run_return);
}

void scene_close(struct scene *scene)
{
	machine_free(&scene->machine);
	findings_free(&scene->findings);
	operation_free(&scene->operation);
	journals_free(&scene->journals);
	hwloc_bitmap_free(scene->target);
	hwloc_bitmap_free(scene->survivors);
	hwloc_bitmap_free(scene->run.changed);
	*scene = (struct scene){ 0 };
}

static const char *keep_text(char *kept, size_t size, hwloc_const_bitmap_t cpus)
{
	_cleanup_free_ char *text = cpus_format(cpus);

	snprintf(kept, size, "%s", text ? text : "?");
	return kept;
}

const char *scene_claim(const char *id)
{
	static char kept[512];
	struct findings findings = { 0 };
	struct journals journals = { 0 };

	snprintf(kept, sizeof(kept), "none");
	if (journal_load_all(fake_state, BOOT_ID, &findings, &journals))
		return kept;
	for (size_t i = 0; i < journals.nr; i++)
		if (!strcmp(journals.list[i].id, id))
			keep_text(kept, sizeof(kept), journals.list[i].claim);
	findings_free(&findings);
	journals_free(&journals);
	return kept;
}

const char *scene_outcome(enum outcome outcome)
{
	static const char *const names[] = {
		[OUTCOME_DONE] = "done",     [OUTCOME_PARTIAL] = "partial",
		[OUTCOME_STALE] = "stale",   [OUTCOME_ROLLED_BACK] = "rolled back",
		[OUTCOME_FAILED] = "failed", [OUTCOME_STUCK] = "stuck",
	};

	return names[outcome];
}

const char *scene_changed(const struct scene *scene)
{
	static char kept[512];

	return keep_text(kept, sizeof(kept), scene->run.changed);
}
