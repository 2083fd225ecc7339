/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report.h - what an action has to tell: filled by cli/actions, laid out by cli/text and cli/json
 */
#pragma once

#include "base/profile.h"
#include "cli/options.h"
#include "core/explain.h"
#include "core/journal.h"
#include "core/persist.h"
#include "core/run.h"
#include "core/select.h"
#include "core/service.h"
#include "host/cgroups.h"
#include "host/prober.h"
#include "host/tasks.h"

enum verdict {
	VERDICT_DONE,
	VERDICT_NOTHING_TO_DO,
	VERDICT_READY,
	VERDICT_ROLLED_BACK,
	VERDICT_INVALID,
	VERDICT_REFUSED,
	VERDICT_FAILED,
	VERDICT_STUCK,
	VERDICT_PARTIAL,
};

enum {
	EXIT_DONE = 0,
	EXIT_ROLLED_BACK = 1,
	EXIT_INVALID = 2,
	EXIT_REFUSED = 3,
	EXIT_PERMISSION = 4,
	EXIT_FAILED = 5,
	EXIT_PARTIAL = 64,
	EXIT_LOCKED = 75,
	EXIT_SIGNALLED = 128, /* and the signal's number */
};

/* How late real-time threads were woken while CPUs changed, in all runs. */
struct measurement {
	struct latency latency;
	hwloc_bitmap_t cpus; /* where they were */
	bool is_realtime;
};

struct json_object;

/* A program of the administrator's that was run, or would be. */
struct hook {
	char *name;	   /* "pre-offline/10-slurm" */
	const char *state; /* "planned", "done", "failed" */
	char *failure;	   /* "exit status 3", NULL where it did not fail */
	double seconds;
};

struct report {
	const struct options *options;
	enum verdict verdict;
	int exit_status;
	bool has_run; /* something was changed, or begun to be: an error no longer means "as before"
		       */
	struct findings findings;

	struct machine machine;
	struct cgroups cgroups;
	struct tasks tasks;
	struct selection selection;
	hwloc_bitmap_t target;	  /* CPUs that change state */
	hwloc_bitmap_t survivors; /* CPUs online that stay so */
	hwloc_bitmap_t confirmed; /* the target that was agreed to, NULL where nobody was asked */
	struct findings told;	  /* together with the question */
	const char *method;	  /* NULL where none was chosen */
	const char *evacuation;

	struct service service; /* the service verdict, where it was judged */
	bool has_service;

	struct journals journals; /* operations in force before this one */
	struct records records; /* operations that are done again after a reboot, where asked for */
	bool is_recorded;	/* this one is, or would be */
	struct hook *hooks;	/* in their order, those before the operation first */
	size_t nr_hooks;
	bool has_hooks;	     /* they were looked for */
	bool are_hooks_due;  /* those before were run, or there were none: those after will be */
	char *operation_ids; /* what hooks are told of it */
	struct run *runs;    /* one an operation that was made, or undone; in a dry run: planned */
	size_t nr_runs;
	size_t nr_kept_runs;	       /* of these, those that are not forgotten for another try */
	struct json_object *bugreport; /* what --report has gathered */
	struct measurement *measurement; /* NULL where nothing was measured */
	struct profile *profile;	 /* of all runs, NULL where nobody wants one */
};

/*
 * The step of @run after @last, or the first with NULL, in the order in which things happen: what
 * is applied, then what a restore undoes. NULL after the last one.
 */
const struct step *report_next_step(const struct report *report, const struct run *run,
				    const struct step *last);

/* Explains why the CPU of @item did not go, or did not come back. As explain_failure(). */
int report_explain(const struct report *report, const struct run *run, const struct item *item,
		   struct explanation *ret_explanation) _must_check_;

/*
 * True where @item belongs to the plan or result of @run: a restore of some CPUs does not touch the
 * items of the others.
 */
bool report_shows_item(const struct report *report, const struct run *run, const struct step *step,
		       const struct item *item);

/* Threads that had run on the target last and could go elsewhere, where it went offline. */
size_t report_count_tasks_moved(const struct report *report);

/* Interrupts that were given other CPUs. */
size_t report_count_irqs_moved(const struct report *report);

/* "done", "rolled-back". */
const char *verdict_format(enum verdict verdict);

/* An empty report. Returns 0 or -ENOMEM. */
int report_init(const struct options *options, struct report *ret_report) _must_check_;

void report_conclude(struct report *report, enum verdict verdict, int exit_status);

/* What functions return that have set the verdict, after which nothing more is to be done. It is
 * no errno: any of these may come from a file. */
#define REPORT_CONCLUDED (-4096)

/* Turns the findings into a verdict. Returns true where they forbid to go on. */
bool report_is_refused(struct report *report);

/* 128 and the number of the signal that came first, or @otherwise. */
int report_signal_status(int otherwise);

/* Adds a run of @operation, which the report then owns unless it is one of its journals'. NULL: no
 * memory. */
struct run *report_add_run(struct report *report, struct operation *operation);

/* Forgets the runs so far, for another try. */
void report_drop_runs(struct report *report);

/* Makes report->measurement, where it is not there yet. Returns 0 or -ENOMEM. */
int report_add_measurement(struct report *report) _must_check_;

/* Forgets what was read of the machine, to read it again. */
void report_forget(struct report *report);

/* When the profile is whole; without memory for its order there is none. */
void report_finish_profile(struct report *report);

void report_free(struct report *report);

/* "as-before", "as-asked", "in-between": how the machine was left. */
const char *report_format_machine(const struct report *report);
