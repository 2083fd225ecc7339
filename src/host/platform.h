/* SPDX-License-Identifier: GPL-2.0-or-later */
/* platform.h - what of the kernel, the processor and the surroundings forbids or disturbs hotplug
 */
#pragma once

#include "base/machine.h"
#include "base/named.h"
#include "host/root.h"

struct platform {
	bool is_tdx_guest;     /* arch/x86/coco/tdx: no CPU may go */
	bool is_tdx_host;      /* KVM runs TDX guests: each socket has to keep a CPU */
	bool has_dynticks;     /* nohz_full= is at work: the CPU with the tick stays */
	bool is_in_container;  /* another pid namespace: the host's tasks are not to be seen */
	bool is_view;	       /* /sys is something else than the kernel's */
	bool has_crash_kernel; /* kdump is loaded */
	bool crash_follows;    /* and the kernel keeps its CPU list itself */
	double deadline_total; /* bandwidth that the kernel has counted, in CPUs; 0 if unknown */
	char *scheduler;       /* the BPF scheduler at work, NULL for none */
	struct named_list channels;  /* of Hyper-V, bound to CPUs of the target */
	struct named_list power;     /* RAPL zones; number: their socket */
	unsigned long nr_uncore;     /* PMUs outside of the cores */
	struct named_list injectors; /* cooling devices at work that make CPUs idle; number: how
					far */
	bool has_late_loading;	     /* microcode can be loaded at run time */
};

/* Returns 0 or -ENOMEM. */
int platform_read(const struct root *root, hwloc_const_bitmap_t target,
		  struct platform *ret_platform) _must_check_;
void platform_free(struct platform *platform);

/* True where the first CPU's flags in /proc/cpuinfo, which x86 alone has, hold the text @flag: "
 * apic ". */
bool platform_has_flag(const struct root *root, const char *flag);
