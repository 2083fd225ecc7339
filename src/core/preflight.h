/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preflight.h - every reason to refuse, found before the first write
 *
 * A rule is a row of a table and a pure function of the facts. All rules run, so that the user sees
 * every reason at once.
 */
#pragma once

#include "base/finding.h"
#include "base/machine.h"
#include "base/request.h"
#include "base/step.h"
#include "host/cgroups.h"
#include "host/tasks.h"

struct facts {
	const struct request *request;
	const struct machine *machine;
	hwloc_const_bitmap_t target;	/* the CPUs that would change state */
	hwloc_const_bitmap_t survivors; /* CPUs online that would stay so */
	const struct place *places;	/* of CPUs to bring back, from their journals */
	size_t nr_places;
	const struct tasks *tasks;
	const struct cgroups *cgroups;
	bool frees_smt;	       /* what is restored has switched SMT off, and switches it on again */
	double deadline_limit; /* deadline bandwidth that the kernel admits per CPU, 0: any */
	const char *
		denied_path; /* a file that must be written and may not be, NULL if there is none */
	int denied_errno;
};

/* Runs the rules for taking the target offline. Returns 0 (look at the findings) or -ENOMEM. */
int preflight_offline(const struct facts *facts, struct findings *findings) _must_check_;

/* Runs the rules for bringing the target back. */
int preflight_return(const struct facts *facts, struct findings *findings) _must_check_;
