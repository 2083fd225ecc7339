/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kinds.c - the one list of all step kinds */
#include "core/kinds.h"

#include <string.h>

#include "host/boost.h"
#include "host/cpusets.h"
#include "host/eject.h"
#include "host/hotplug.h"
#include "host/irqbalance.h"
#include "host/irqs.h"
#include "host/netqueues.h"
#include "host/partition.h"
#include "host/rcu.h"
#include "host/settings.h"
#include "host/smt.h"
#include "host/tasks.h"
#include "host/trace.h"
#include "host/workqueues.h"

const struct step_kind *const kinds[] = {
	&rcu_kind, /* first: all that follows waits for grace periods, too */
	&boost_kind,
	&trace_kind,
	&irqbalance_kind,
	&partition_others_kind,
	&cpusets_kind,
	&tasks_keep_kind,
	&partition_kind,
	&tasks_affinity_kind,
	&irqs_default_kind,
	&irqs_affinity_kind,
	&netqueues_rps_kind,
	&netqueues_xps_kind,
	&workqueues_kind,
	&settings_kind,
	&smt_kind, /* on record before the CPUs go */
	&hotplug_kind,
	&eject_cpus_kind,
	&eject_containers_kind,
	NULL,
};

const struct step_kind *kinds_find(const char *name)
{
	for (const struct step_kind *const *kind = kinds; *kind; kind++)
		if (!strcmp((*kind)->name, name))
			return *kind;
	return NULL;
}
