/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * irqbalance.h - step kind irqbalance.ban: a running irqbalance leaves the target alone while CPUs
 * change state
 *
 * irqbalance listens on the socket of its user interface (init_socket() and sock_handle() of its
 * irqbalance.c): a path with its pid, an abstract name in older versions. "settings cpus LIST"
 * makes it avoid LIST, "settings cpus NULL" what its configuration says: IRQBALANCE_BANNED_CPULIST
 * or _CPUS in its environment, else the isolated and nohz_full CPUs. A list that somebody set
 * through irqbalance-ui is lost by that. It could be asked for ("setup"), but an irqbalance that
 * answers when the asker has gone dies of SIGPIPE, and one that is busy answers late.
 *
 * The step only helps: an irqbalance that does not take the message within a second is a warning.
 */
#pragma once

#include <sys/types.h>

#include "base/step.h"
#include "host/root.h"

extern const struct step_kind irqbalance_kind;

/* True where the irqbalance of this process id listens on one of its sockets, as far as
 * /proc/net/unix tells. */
bool irqbalance_listens(const struct root *root, pid_t pid);
