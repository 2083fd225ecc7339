/* SPDX-License-Identifier: GPL-2.0-or-later */
/* facts.h - all that the rules look at: read before by host, so that a rule is a pure function */
#pragma once

#include "base/machine.h"
#include "base/request.h"
#include "base/step.h"
#include "host/cgroups.h"
#include "host/demand.h"
#include "host/neighbours.h"
#include "host/platform.h"
#include "host/queues.h"
#include "host/tasks.h"
#include "host/vectors.h"
#include "host/workers.h"

struct facts {
	const struct request *request;
	const struct machine *machine;
	hwloc_const_bitmap_t target;	/* the CPUs that would change state */
	hwloc_const_bitmap_t survivors; /* CPUs online that would stay so */
	const struct place *places;	/* of CPUs to bring back, from their journals */
	size_t nr_places;
	const struct tasks *tasks;
	const struct cgroups *cgroups;
	bool frees_smt; /* what is restored has switched SMT off, and switches it on again */
	/* read by facts_read(): */
	pid_t self;		/* this process, 0 in the copy of a machine */
	double deadline_limit;	/* deadline bandwidth that the kernel admits per CPU, 0: any */
	double deadline_server; /* what of it the server for other tasks has, 0: there is none */
	char *denied_path; /* a file that must be written and may not be, NULL if there is none */
	int denied_errno;
	struct demand demand;
	struct neighbours neighbours;
	struct platform platform;
	struct queues queues;
	struct vectors vectors;
	struct workers workers;
};

/*
 * Reads what @facts does not have yet, for the request, target and survivors in it. Of CPUs that
 * come back only the permission is looked at. Changes nothing. Returns 0 or -ENOMEM.
 */
int facts_read(const struct root *root, bool is_return, struct facts *facts) _must_check_;

/* Frees what facts_read() has read. */
void facts_free(struct facts *facts);
