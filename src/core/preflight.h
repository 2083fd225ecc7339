/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preflight.h - every reason to refuse, found before the first write
 *
 * A rule is a row of a table and a pure function of the facts. All rules run, so that the user sees
 * every reason at once.
 */
#pragma once

#include "base/finding.h"
#include "core/facts.h"

/* When a rule runs. */
enum {
	RULE_OFFLINE = 1,   /* before CPUs go */
	RULE_RETURN = 2,    /* before they come back */
	RULE_ELSEWHERE = 4, /* it has no check: the finding is made where its cause is met */
};

struct rule {
	const char *id; /* stays for ever */
	enum severity severity;
	enum severity mildest; /* as low as weigh(), or the place where it is found, may make it */
	unsigned int when;
	bool is_permission;
	bool is_forcible;
	const char *reads;  /* what is looked at: files, or where the finding comes from */
	const char *what;   /* what it says, in general */
	const char *remedy; /* what to do; NULL where that depends */
	/* the severity for this machine and request, NULL: always the same */
	enum severity (*weigh)(const struct facts *facts);
	/*
	 * Puts into @cpus the CPUs concerned and returns the sentence, to be freed, or NULL with
	 * @cpus empty where there is nothing to say.
	 */
	char *(*check)(const struct facts *facts, hwloc_bitmap_t cpus);
};

/* Runs the rules for taking the target offline. Returns 0 (look at the findings) or -ENOMEM. */
int preflight_offline(const struct facts *facts, struct findings *findings) _must_check_;

/* Runs the rules for bringing the target back. */
int preflight_return(const struct facts *facts, struct findings *findings) _must_check_;

/* The rule after @last of the catalogue, or the first with NULL; NULL after the last one. */
const struct rule *preflight_next_rule(const struct rule *last);
