/* SPDX-License-Identifier: GPL-2.0-or-later */
/* finding.h - what a preflight rule found: why an operation is refused, or what its user should
 * know */
#pragma once

#include "base/cpus.h"

enum severity {
	SEVERITY_NOTE,
	SEVERITY_WARN,
	SEVERITY_REFUSE,
};

struct finding {
	const char *rule; /* id of the rule, a constant */
	enum severity severity;
	bool is_invalid;    /* the selection itself is wrong: exit status 2 instead of 3 */
	bool is_permission; /* the caller may not write: exit status 4, before 3 */
	bool is_accepted;   /* --force made a warning of it, or it came too late: --strict lets it
			       pass */
	char *cpus;	    /* cpulist of the CPUs concerned, "" for none */
	char *message;	    /* what was seen, with the values */
	char *remedy;	    /* what to do next, "" where there is nothing to do */
};

struct findings {
	struct finding *list;
	size_t nr;
};

/*
 * Adds a finding and returns it, for flags to be set; NULL where there is no memory. @cpus may be
 * NULL,
 * @remedy is a constant or NULL; the rest is copied.
 */
struct finding *findings_add(struct findings *findings, const char *rule, enum severity severity,
			     hwloc_const_bitmap_t cpus, const char *remedy, const char *fmt, ...)
	_printf_(6, 7);

/* Makes a warning of a refusal that --force accepts: with --strict, too, it stays one. */
void finding_accept(struct finding *finding);

/* True where it keeps cpuoff from going on; with --strict warnings do, too, unless accepted. */
bool finding_refuses(const struct finding *finding, bool is_strict);

/* The most severe one first; those of one severity keep their order. */
void findings_sort(struct findings *findings);

/* Moves all of @from to the end of @to; what is there already, word for word, is dropped. Returns 0
 * or -ENOMEM. */
int findings_move(struct findings *to, struct findings *from) _must_check_;

bool findings_has(const struct findings *findings, enum severity severity);

void findings_free(struct findings *findings);

/* "note", "warn" or "refuse". */
const char *severity_format(enum severity severity);
