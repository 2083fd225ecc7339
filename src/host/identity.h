/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * identity.h - what a CPU is known by over a reboot, whatever its number is then
 *
 * Its place (socket, core) is in struct machine. The kernel shows the rest of CPUs that are online.
 */
#pragma once

#include "host/root.h"
#include "host/topology.h"

struct identity {
	/* initial APIC id (x86), address (s390), physical_id (powerpc); CPU_ID_NONE where there is
	 * none */
	long hardware_id;
	char *model;  /* as /proc/cpuinfo has it: vendor, family, model, stepping; "" if unknown */
	char *serial; /* of the part: its protected inventory number (PPIN); "" if there is none */
};

struct identities {
	struct identity *list; /* by CPU number */
	size_t nr;
	char *machine; /* the firmware's UUID of the machine, "" if unknown */
};

/*
 * Reads what identifies the CPUs of @cpus: /proc/cpuinfo, cpuN/topology/ppin
 * (drivers/base/topology.c), cpuN/address (arch/s390/kernel/smp.c), cpuN/physical_id
 * (arch/powerpc/kernel/sysfs.c), class/dmi/id/product_uuid. Serial numbers are shown to root alone.
 * Returns 0 or -ENOMEM. The caller frees @ret_identities.
 */
int identities_read(const struct root *root, const struct machine *machine,
		    hwloc_const_bitmap_t cpus, struct identities *ret_identities) _must_check_;
void identities_free(struct identities *identities);
