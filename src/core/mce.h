/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mce.h - machine checks, as the kernel's log, rasdaemon and mcelog write them */
#pragma once

#include "base/util.h"

#define MCE_NONE (-1L)

/* Who reported a machine check; MCE_NONE where the text does not say. */
struct mce {
	long cpu;    /* the kernel's number when it was written */
	long apic;   /* initial APIC id */
	long socket; /* physical package id */
};

struct mces {
	struct mce *list; /* in the order of the text, each one once */
	size_t nr;
};

/*
 * Finds the machine checks in @text, which may hold anything else: lines of the kernel's log
 * (__print_mce() and the mce_record event, arch/x86/kernel/cpu/mce), of rasdaemon and ras-mc-ctl,
 * and of mcelog. APIC ids are hexadecimal in all of them. Returns 0 or -ENOMEM. The caller frees
 * @ret_mces in any case.
 */
int mce_parse(const char *text, struct mces *ret_mces) _must_check_;

void mces_free(struct mces *mces);
