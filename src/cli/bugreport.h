/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bugreport.h - --report: what somebody else needs to know to find a bug
 *
 * Nothing in it names a machine or a person, or what they run: no names of hosts, users, tasks,
 * cgroups, devices and files of theirs, no addresses, no serial numbers, no command lines. What may
 * hold such a thing is not filtered but left out: of a finding its rule, of a step its kind, of the
 * kernel's command line and its log what is known to be about CPUs.
 */
#pragma once

#include <json-c/json.h>

#include "cli/layout.h"
#include "cli/report.h"
#include "cli/session.h"

/* Reads what is not in @report yet, and makes report->bugreport. Changes nothing. Returns 0 or
 * -errno. */
int bugreport_gather(struct session *session, struct report *report) _must_check_;

void bugreport_print(const struct layout *layout, const struct report *report);
