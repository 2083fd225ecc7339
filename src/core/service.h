/* SPDX-License-Identifier: GPL-2.0-or-later */
/* service.h - the service verdict: whether the hardware of some CPUs can be taken away */
#pragma once

#include "base/machine.h"
#include "base/step.h"
#include "host/root.h"

/* One reason not to take it away. */
struct blocker {
	const char *kind; /* "cpu", "memory", "device", "not-checked" */
	char *object;	  /* "socket 1", "node 1", "0000:3b:00.0" */
	char *message;
};

struct service {
	struct blocker *list;
	size_t nr;
};

/*
 * Judges the part of the machine that @part, a set of CPUs, belongs to: its sockets and NUMA nodes,
 * and nodes of memory alone beside them. @online are the CPUs that run, now or by forecast. Places
 * that the kernel hides are looked up in @operations. Safe is what has no blocker; what cannot be
 * known is one. Returns 0 or -errno. The caller frees @ret_service in any case.
 */
int service_judge(const struct root *root, const struct machine *machine,
		  const struct operation *const *operations, size_t nr_operations,
		  hwloc_const_bitmap_t part, hwloc_const_bitmap_t online,
		  struct service *ret_service) _must_check_;

/* A blocker that stands for a look that was not taken. Returns 0 or -ENOMEM. */
int service_add_unchecked(struct service *service, const char *object,
			  const char *message) _must_check_;

static inline bool service_is_safe(const struct service *service)
{
	return !service->nr;
}

void service_free(struct service *service);
