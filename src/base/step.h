/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step.h - the model: an operation is a list of steps, a step is one kind of change with its items
 *
 * The executor (core/run), the plan, the journal and the output walk steps by what stands here;
 * none of them knows a kind by name. A new kind of change is one constant in a file of host, and a
 * line in core/kinds.c.
 */
#pragma once

#include <time.h>

#include "base/cpus.h"
#include "base/finding.h"
#include "base/machine.h"
#include "base/request.h"
#include "base/watcher.h"

enum lifetime {
	LIFETIME_DURING,	/* in force only while CPUs change state, in either direction */
	LIFETIME_UNTIL_RESTORE, /* stays until the CPUs are back */
};

/*
 * PLANNED -> APPLYING -> APPLIED -> UNDONE. A step that a journal shows as APPLYING was
 * interrupted: its items may or may not be in force, and the machine tells. FAILED is an item that
 * could not be applied, and is not in force. A CPU that somebody else took before its turn goes
 * from PLANNED to UNDONE: it is theirs.
 */
enum step_state {
	STATE_PLANNED,
	STATE_APPLYING,
	STATE_APPLIED,
	STATE_UNDONE,
	STATE_FAILED,
};

struct item {
	char *object;	       /* "cpu 31", "rcu_expedited" */
	char *before, *after;  /* values as the kernel writes them */
	unsigned long long id; /* CPU, pid, interrupt: what the kind finds the object by */
	unsigned long long
		stamp; /* tells a new object of the same id from ours, 0 where none can */
	enum step_state state;
	int error;	   /* errno of the last write that failed, 0 for none */
	char callback[64]; /* the kernel callback that failed, "" if unknown */
	double seconds;	   /* what the change took, 0 if it was not made */
};

struct step {
	const struct step_kind *kind;
	enum lifetime lifetime;
	unsigned int undo_rank;
	enum step_state state;
	struct item *items;
	size_t nr_items;
	bool is_unsorted; /* the ids do not ascend */
};

struct cgroups;
struct evacuation;
struct method;
struct profile;
struct root;
struct tasks;
struct writer;
struct operation;

/* What a kind may look at and use while it plans, applies or undoes. Nothing in it is owned. */
struct step_env {
	struct root *root;
	struct writer *writer; /* NULL while planning */
	const struct machine *machine;
	const struct request *request;
	const struct method *method;	     /* the offline method chosen */
	const struct evacuation *evacuation; /* the way of moving work away chosen */
	const struct tasks *tasks;     /* all threads as they were read; only while planning */
	const struct cgroups *cgroups; /* all cpusets as they were read; only while planning */
	const struct watcher *watcher;
	double last_change;	/* when a CPU was changed last, by util_now(); 0: never */
	int interrupts_allowed; /* stop between two writes once there were more signals than this */
	const struct operation
		*own; /* the operation planned or undone, NULL while it is not there yet */
	hwloc_const_bitmap_t target; /* the CPUs that change state */
	hwloc_const_bitmap_t survivors;
	bool is_return;			       /* the CPUs come back; false: they go */
	const struct operation *const *others; /* other operations in force, oldest first */
	size_t nr_others;
	struct findings *findings;  /* where describe() puts its notes */
	const char *trace_instance; /* path of the tracefs instance in force, or NULL */
	bool is_tracing;	    /* it was made, or tried to be */
	const char *partition;	    /* path of our partition in force, or NULL */
	struct profile *profile;    /* filled while it runs, NULL for none */
	struct step *stuck; /* out: the step whose write the kernel never answered, or NULL */
};

/* Where CPUs come online in the walk that undoes. Below stands what keeps them from it. */
#define UNDO_RANK_CPUS 1

struct step_kind {
	const char *name;
	/*
	 * Place in the walk that undoes (rollback, restore, the end of a run): low ranks first.
	 * What has a rank below UNDO_RANK_CPUS is undone as soon as one CPU is to return, what has
	 * one above once all are back. The first value of each step's own, which describe() may
	 * change.
	 */
	unsigned int undo_rank;
	enum lifetime lifetime;
	bool moves_irqs; /* what it moves are interrupts: counted in the result */
	/*
	 * The items' ids are CPUs, claimed by the operation, and are undone one by one as these
	 * return. Of other kinds all items are undone together, once all CPUs are back.
	 */
	bool is_per_cpu;
	/*
	 * What root must be allowed to, beside writing its own files, to change an item and give it
	 * back (capabilities(7)); 0, which none asks for, stands for nothing. Where @is_barred is
	 * not NULL, those items alone of which it is true without that capability.
	 */
	unsigned int capability;
	bool (*is_barred)(const struct step *step, const struct step_env *env,
			  const struct item *item);

	/*
	 * Fills @step with items, from @env alone and without changing anything; no items: no such
	 * step. May shorten the step's lifetime and set its undo rank. With env->is_return it is
	 * asked what must be in force while CPUs come back: only steps that live during that are
	 * kept. Everything that apply() and undo() will need is allocated here. Returns 0 or
	 * -errno.
	 */
	int (*describe)(struct step *step, struct step_env *env);

	/*
	 * Makes the change, item by item, setting their states. Returns 0 where the step is in
	 * force as far as the request's on_error policy asks, else -errno with the item's error
	 * set; what was applied until then stays for undo(). -EOPNOTSUPP: the kernel does not take
	 * this way of evacuation here. Allocates nothing that undo() needs.
	 */
	int (*apply)(struct step *step, struct step_env *env);

	/* Reads off the machine that the step is in force. Returns 0 or -errno. May be NULL. */
	int (*verify)(struct step *step, struct step_env *env);

	/*
	 * Undoes what is in force of the items, also of a step that was interrupted, comparing
	 * first: a value that is no longer ours is left alone. What is undone gets STATE_UNDONE;
	 * what could not be keeps its state, and an error. Goes on after a failure and returns the
	 * first one. Allocates nothing.
	 */
	int (*undo)(struct step *step, struct step_env *env);
};

/* The place of a CPU that was taken: while it is offline the kernel hides it. */
struct place {
	unsigned int cpu;
	long socket, die, core, node;
	unsigned int thread;
};

/* A planned or running operation; what the journal keeps. */
struct operation {
	char *id;
	char *boot_id;
	char *version; /* of the cpuoff that began it */
	char *started; /* ISO 8601, UTC */
	char *command;
	char *evacuation;     /* name of the way in which work was moved, "" for none */
	bool is_journalled;   /* it was read from a journal, which therefore is on disk */
	hwloc_bitmap_t claim; /* CPUs that must be off while the operation is in force */
	struct place *places; /* of the claimed CPUs */
	size_t nr_places;
	struct step *steps; /* in the order of their application */
	size_t nr_steps;
};

/*
 * Adds an item to @step and returns it, or NULL where there is no memory. The texts are copied.
 */
struct item *step_add_item(struct step *step, unsigned long long id, const char *before,
			   const char *after, const char *object_fmt, ...) _printf_(5, 6);

/* Sorts the items by their ids. What step_add_item() has returned is not valid any longer. */
void step_sort_items(struct step *step);

/*
 * The first item of this id, or NULL. Those that have the same id follow it where the items are
 * sorted.
 */
const struct item *step_find_item(const struct step *step, unsigned long long id);

void step_free(struct step *step);

/*
 * The walk of a kind's undo() whose items are undone one by one: @undo_item is called for each item
 * in force, the last one first where @is_backwards. An item for which it returns 0 is undone; of
 * another the error is kept. Goes on after a failure and returns the first one. Allocates nothing.
 */
int step_undo_items(struct step *step, struct step_env *env, bool is_backwards,
		    int (*undo_item)(const struct step *step, struct step_env *env,
				     const struct item *item)) _must_check_;

/*
 * True where @item of @step may be in force and undo() has to look at it: it was applied, or the
 * step was interrupted before anybody knew.
 */
static inline bool item_is_in_force(const struct step *step, const struct item *item)
{
	return step->state != STATE_PLANNED && step->state != STATE_UNDONE &&
	       (item->state == STATE_APPLIED || item->state == STATE_APPLYING ||
		(item->state == STATE_PLANNED && step->state == STATE_APPLYING));
}

/* True once it is decided what became of @item: nothing more is to be done for it, or can be. */
static inline bool item_is_settled(const struct item *item)
{
	return item->state != STATE_PLANNED && item->state != STATE_APPLYING;
}

/* True where any item of @step may be in force. */
bool step_is_in_force(const struct step *step);

/* Adds a step of @kind without items to @operation and returns it, or NULL where there is no
 * memory. */
struct step *operation_add_step(struct operation *operation, const struct step_kind *kind);

/* Makes the claim what the items in force of the kinds that are per CPU say. Returns 0 or -ENOMEM.
 */
int operation_update_claim(struct operation *operation) _must_check_;

/*
 * The CPUs that the operation has taken and that are in @online all the same. A CPU of which an
 * interrupted operation does not know whether it was taken does not count. Returns 0 or -ENOMEM.
 */
int operation_find_drift(const struct operation *operation, hwloc_const_bitmap_t online,
			 hwloc_bitmap_t ret_cpus) _must_check_;

/* True where a step in force keeps its CPUs from coming online, until it is undone. */
bool operation_keeps_cpus(const struct operation *operation);

/* Where @cpu was when the operation began, or NULL where that is not known. */
const struct place *operation_find_place(const struct operation *operation, unsigned int cpu);

/* True where anything of the operation may be in force. */
bool operation_is_in_force(const struct operation *operation);

void operation_free(struct operation *operation);

/* True where another operation in force wants @cpu off, too: it returns when the last claim ends.
 */
bool env_is_claimed(const struct step_env *env, unsigned int cpu);

/*
 * The item of @kind in force in the newest other operation that has one of this id and stamp, and,
 * where
 * @object is not NULL, of this object; or NULL.
 */
const struct item *env_find_other(const struct step_env *env, const struct step_kind *kind,
				  unsigned long long id, unsigned long long stamp,
				  const char *object);

/*
 * The value that @object of @kind had before any operation in force changed it: the oldest one's
 * journal knows, since a later one has seen the earlier one's change. @id and @stamp are those of
 * the item. NULL where no operation in force has changed it.
 */
const char *env_before(const struct step_env *env, const struct step_kind *kind,
		       unsigned long long id, unsigned long long stamp, const char *object);

/* "during", "until-restore". */
const char *lifetime_format(enum lifetime lifetime);
/* "planned", "applying", "applied", "undone", "failed"; state_parse() returns -EINVAL for another
 * word. */
const char *state_format(enum step_state state);
int state_parse(const char *text, enum step_state *ret_state) _must_check_;
