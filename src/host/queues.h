/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * queues.h - disks whose queues lose their last CPU
 *
 * blk_mq_hctx_notify_offline() of block/blk-mq.c waits, for ever if need be, for the requests on a
 * queue whose last CPU goes; and NVMe over fabrics cannot connect (EXDEV) while queues have none.
 */
#pragma once

#include "base/machine.h"
#include "base/named.h"
#include "host/root.h"

struct queues {
	struct named_list stalled; /* disks that answered nothing for a while; number: requests */
	struct named_list fabrics; /* NVMe controllers over a network */
};

/* Waits up to half a second where requests are in flight on such queues. Returns 0 or -ENOMEM. */
int queues_read(const struct root *root, const struct machine *machine, hwloc_const_bitmap_t target,
		struct queues *ret_queues) _must_check_;
void queues_free(struct queues *queues);
