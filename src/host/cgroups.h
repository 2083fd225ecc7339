/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cgroups.h - the tree of cpusets as it is: cgroup v2, or the v1 hierarchies
 * (kernel/cgroup/cpuset*.c)
 *
 * Reading changes nothing: no controller is switched on and no cgroup is made to find something
 * out.
 */
#pragma once

#include <sys/types.h>

#include "base/cpus.h"
#include "base/machine.h"
#include "host/root.h"

struct cgroup {
	char *path; /* below the hierarchy's root: "" or "system.slice/a.service" */
	unsigned long long inode;
	unsigned int depth; /* 0 for the root */
	hwloc_bitmap_t
		cpus; /* its own cpuset.cpus, empty where none is set; offline CPUs included */
	hwloc_bitmap_t effective; /* NULL where the controller is not on here */
	char *partition; /* v2: "member", "root", "isolated", "root invalid (...)"; NULL for none */
	bool is_populated; /* it or a child holds tasks */
};

struct cgroups {
	char *root; /* directory of the hierarchy that has cpusets, below the root, or NULL */
	bool is_v2;
	bool is_classic;     /* v1 mounted as "cpuset": files without the prefix, as libcpuset wants
				them */
	bool keeps_masks;    /* v2 with cpuset.cpus.isolated: the kernel remembers users' masks */
	bool is_enabled;     /* v2: cpuset is in the root's cgroup.subtree_control */
	struct cgroup *list; /* parents before children */
	size_t nr;
};

/* Reads the hierarchy that has the cpuset controller. Returns 0, with root NULL for none, or
 * -errno. */
int cgroups_read(const struct root *root, const struct machine *machine,
		 struct cgroups *ret_cgroups) _must_check_;
void cgroups_free(struct cgroups *cgroups);

/* The cgroup of this path, or its nearest ancestor that is known; NULL where there is no hierarchy.
 */
const struct cgroup *cgroups_find(const struct cgroups *cgroups, const char *path);

/* The parent of @cgroup, NULL for the root. */
const struct cgroup *cgroups_parent(const struct cgroups *cgroups, const struct cgroup *cgroup);

/* The nearest cgroup upwards, itself included, that has effective CPUs: the cpuset that governs its
 * tasks. */
const struct cgroup *cgroups_governor(const struct cgroups *cgroups, const struct cgroup *cgroup);

/* True for a valid or invalid "root" or "isolated" partition, not the root cgroup. */
bool cgroup_is_partition(const struct cgroup *cgroup);

/* The name of the file with a cpuset's effective CPUs in this hierarchy. */
const char *cgroups_effective_file(const struct cgroups *cgroups);

/* Builds "sys/fs/cgroup/PATH/FILE" into @path. Returns 0 or -ENAMETOOLONG. */
int cgroups_path(const struct cgroups *cgroups, const char *cgroup, const char *file, char *path,
		 size_t size) _must_check_;
