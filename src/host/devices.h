/* SPDX-License-Identifier: GPL-2.0-or-later */
/* devices.h - PCI devices: where they are, and what uses them */
#pragma once

#include "base/cpus.h"
#include "host/root.h"

struct device {
	char *address;	  /* "0000:3b:00.0" */
	const char *what; /* "network", "disk", ...: by its PCI class */
	bool is_bridge;
	char *driver;	     /* NULL where none is bound */
	long node;	     /* CPU_ID_NONE where the firmware names none */
	hwloc_bitmap_t cpus; /* the CPUs near it, online ones; empty where unknown */
	long iommu_group;    /* -1: none */
	char *uses;	     /* "eth0 is up, sda1 is mounted on /"; "" for none */
};

struct devices {
	struct device *list; /* sorted by address */
	size_t nr;
};

/*
 * Reads all PCI devices, and what the kernel shows of their use: network interfaces that are up,
 * block devices that are mounted, used as swap or held by others (sys/class/net, sys/class/block,
 * proc/mounts, proc/swaps). CPUs over @max are left out. Returns 0 or -errno. The caller frees
 * @ret_devices in any case.
 */
int devices_read(const struct root *root, unsigned int max,
		 struct devices *ret_devices) _must_check_;

void devices_free(struct devices *devices);

/*
 * The addresses of the PCI devices that @name means: an address ("3b:00.0" is in domain 0), a
 * network interface, or a block device, with "/dev/" before it or without. What is made of others
 * (bond, bridge, team, VLAN; RAID, device-mapper, a partition of them, multipath NVMe) is followed
 * down to the hardware. Returns 0, -ENOENT where there is no such name, -ENODEV where it is on no
 * PCI device, or -ENOMEM. The caller frees @ret_addresses in any case.
 */
int devices_find(const struct root *root, const char *name,
		 struct names *ret_addresses) _must_check_;

/*
 * The CPUs near the PCI device at @address, as the kernel's local_cpulist says, and its node, or
 * CPU_ID_NONE. Returns 0 or -errno.
 */
int devices_near(const struct root *root, const char *address, unsigned int max,
		 hwloc_bitmap_t ret_cpus, long *ret_node) _must_check_;
