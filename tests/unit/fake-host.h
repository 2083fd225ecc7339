/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake-host.h - a machine in memory that behaves, behind the headers of host/root, writer and state
 *
 * Linked before libhost.a, it takes the place of the rooms that touch the machine: whatever reads a
 * file, writes one, or keeps a journal ends here, while the step kinds above are the real ones.
 * Kinds without a machine, for the executor alone, are made by fake_kind().
 *
 * A write to a CPU is a numbered event, the first one being 1; so is a save of the journal. Writes,
 * saves and removals are also counted together, as instants at which cpuoff could be killed.
 */
#pragma once

#include <signal.h>

#include "base/step.h"
#include "host/root.h"
#include "host/state.h"

#define FAKE_NR_CPUS	 64
#define FAKE_NR_RULES	 16
#define FAKE_NR_JOURNALS 4
#define FAKE_ANY_CPU	 (-1)
#define FAKE_RCU                                                                                   \
	(-2) /* a write to rcu_expedited, whose number is that of the CPU write before it */

enum fake_direction {
	FAKE_DOWN, /* offline, and a counter that gets smaller */
	FAKE_UP,
	FAKE_BOTH,
};

enum fake_event {
	FAKE_FAIL,  /* the write fails with .error and changes nothing */
	FAKE_LIE,   /* the write reports success and changes nothing */
	FAKE_STUCK, /* the kernel never answers: of a write for several CPUs, when it is at this one
		     */
	FAKE_MASK,  /* after the write the online mask cannot be read, once: .error */
	FAKE_MEDDLE, /* somebody sets .other to .is_online, before or after the write */
	FAKE_SIGNAL, /* signals arrive while the kernel works on the write: .signals_at_once of fake
		      */
};

/* What happens at a write, if all that is given fits. */
struct fake_rule {
	enum fake_event event;
	int cpu; /* or FAKE_ANY_CPU, FAKE_RCU */
	enum fake_direction direction;
	unsigned int write; /* number of the write, 0 for each */
	int times;	    /* how often it happens, 0 for always */
	int error;
	unsigned int other;
	bool is_online;
	bool is_before;
	int nr_seen;
};

struct fake_journal {
	char id[64];
	char text[65536];
	size_t length;
};

struct fake {
	unsigned int nr_cpus;
	bool online[FAKE_NR_CPUS];
	long rcu_expedited, rcu_normal; /* -1: no such file */
	int mask_error; /* the online mask cannot be read: once; negative: any more */
	bool is_live, has_tracefs, has_instance;
	const char *trace; /* what the instance has recorded */
	int trace_error, trace_undo_error;
	unsigned int changing_cpu; /* its hotplug/state is not its target; 0: no such files */
	long armed_failure;	   /* cpuN/hotplug/fail, which a write that fails disarms */

	bool has_bulk;	      /* there is a cpu_bulk_remove */
	bool is_posted;	      /* its write reports success whatever happened */
	char smt_control[16]; /* "": no such file. The odd CPUs are second threads */
	bool has_smt_trap;    /* an "off" that fails leaves "1", and no "off" works any more */
	bool fails_first[FAKE_NR_CPUS]; /* armed to fail at the first state on the way up */

	struct fake_rule rules[FAKE_NR_RULES];
	size_t nr_rules;
	int signals_at_once;

	unsigned int save_fails_first, save_fails_last; /* numbers of saves, 0: none */
	int save_error;
	int remove_error;
	struct fake_journal journals[FAKE_NR_JOURNALS];

	bool is_guarded;	/* from the first write on nothing may be allocated */
	unsigned int killed_at; /* from this instant on nothing has an effect any more, 0: never */

	/* out */
	unsigned int nr_writes, nr_saves, nr_instants;
	volatile sig_atomic_t nr_signals;
	bool is_stuck;
	bool was_unsaved; /* a write was made with no journal on disk */
	double clock;
	char log[16384]; /* all changes of the machine, in order, parted by spaces */
};

extern struct fake fake;

/* A machine with CPUs 0 to @nr_cpus - 1 online, rcu_expedited 0 and no journal. */
void fake_reset(unsigned int nr_cpus);

void fake_add(struct fake_rule rule);

/* The facts of the machine as it is now, with two threads a core and two cores a socket. */
void fake_read_machine(struct machine *ret_machine);

/* The online mask, valid until the next call. */
const char *fake_online(void);

/* The journal of this id, or NULL. */
struct fake_journal *fake_find_journal(const char *id);
unsigned int fake_nr_journals(void);

/* Appends to the log: " @word" as formatted. */
void fake_log(const char *fmt, ...) _printf_(1, 2);

/* Everything that the tests hand to root.h, state.h and writer.h. */
extern struct root *const fake_root;
extern struct state *const fake_state;
extern struct writer *const fake_writer;

/* ---- kinds for the executor alone -------------------------------------------------------- */

enum fake_part {
	FAKE_APPLY,
	FAKE_VERIFY,
	FAKE_UNDO,
	FAKE_NR_PARTS,
};

/*
 * A kind that logs "+NAME:ID" and "-NAME:ID" for each item and "?NAME" where it is verified, and
 * whose parts can be made to fail. The items of one that is per CPU set that CPU.
 */
struct fake_kind {
	struct step_kind kind; /* must stay first: kinds are found by it */
	int errors[FAKE_NR_PARTS];
	unsigned long long failing_id; /* the item at which apply() and undo() fail */
	int nr_signals;		       /* that arrive in apply() */
};

struct fake_kind fake_kind(const char *name, unsigned int undo_rank, enum lifetime lifetime,
			   bool is_per_cpu);
