/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scene.h - one operation on the fake machine, from the plan to its end, as the command line does
 * it */
#pragma once

#include "core/run.h"
#include "fake-host.h"
#include "host/tasks.h"

#define SCENE_ID "20250102-030405"

struct scene {
	struct machine machine;
	struct request request;
	struct watcher watcher;
	struct findings findings;
	struct tasks tasks; /* there are none, and no cpusets: nothing is moved away */
	struct cgroups cgroups;
	hwloc_bitmap_t target, survivors;
	struct operation operation; /* that takes CPUs */
	struct journals journals;   /* from which CPUs return */
	const struct operation *others[FAKE_NR_JOURNALS];
	struct step_env env;
	struct run run;
	int plan_error;
};

/* Allocations that all runs so far have tried after their first write. */
extern size_t scene_nr_allocated;

/* Reads the fake machine and plans taking @target, a cpulist, as operation @id. */
void scene_open(struct scene *scene, const char *target, const char *id);

/* The same in two halves, for settings of scene->request in between. */
void scene_init(struct scene *scene, const char *target, const char *id);
void scene_plan(struct scene *scene);

/* Takes the target offline. */
enum outcome scene_take(struct scene *scene);

/*
 * Reads the journals, and from operation @id brings back the CPUs of @scope, NULL for all. Opens
 * the scene. Where there is no such operation that can be used, scene->run.operation is NULL.
 */
void scene_open_return(struct scene *scene, const char *id, const char *scope);
enum outcome scene_return(struct scene *scene);

void scene_close(struct scene *scene);

/* CPUs that the journal @id on the fake disk claims, "none" without a usable one. Valid until the
 * next call. */
const char *scene_claim(const char *id);

const char *scene_outcome(enum outcome outcome);

/* The CPUs in scene->run.changed. Valid until the next call. */
const char *scene_changed(const struct scene *scene);
