/* SPDX-License-Identifier: GPL-2.0-or-later */
/* select.h - from selectors to the target set: what the user named, in the kernel's own CPU numbers
 */
#pragma once

#include "base/finding.h"
#include "base/machine.h"
#include "base/request.h"
#include "base/step.h"
#include "host/topology.h"

struct resolved_selector {
	const struct selector *selector;
	hwloc_bitmap_t cpus; /* online CPUs of this selector alone */
};

struct selection {
	struct resolved_selector *selectors;
	size_t nr_selectors;
	hwloc_bitmap_t target;		/* online CPUs to take */
	hwloc_bitmap_t already_offline; /* named by the selection, but off already */
};

/* True where a selector names something else than CPUs by their numbers, so that hwloc has a say.
 */
bool select_needs_topology(const struct request *request);

/*
 * Resolves the request's selectors. CPUs that @operations in force have taken are found by the
 * places that their journals keep, since the kernel hides them. What is wrong with the selection,
 * and where hwloc and the kernel's files disagree, goes into @findings. Returns 0 (look at the
 * findings) or -errno. The caller frees @ret_selection.
 */
int select_resolve(const struct request *request, const struct root *root,
		   const struct machine *machine, const struct topology *topology,
		   const struct operation *const *operations, size_t nr_operations,
		   struct findings *findings, struct selection *ret_selection) _must_check_;

/*
 * For --restore: the CPUs among those that @operation claims which the selectors mean, by the
 * places in its journal. @machine tells the core of a CPU that is online while its sibling is
 * claimed. Returns 0 or -errno.
 */
int select_restore(const struct request *request, const struct machine *machine,
		   const struct operation *operation, struct findings *findings,
		   hwloc_bitmap_t ret_cpus) _must_check_;

void selection_free(struct selection *selection);
