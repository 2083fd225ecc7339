/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hotplug.h - step kind cpu.offline, and the one way to change a CPU: write cpuN/online, then read
 * the mask
 *
 * drivers/base/cpu.c, kernel/cpu.c. That a write succeeded proves nothing; only the mask
 * /sys/devices/system/cpu/online counts. cpuN/hotplug/target is never written: it leaves the
 * kernel's device model and the mask in disagreement.
 */
#pragma once

#include "base/step.h"

extern const struct step_kind hotplug_kind;

/* Text of the online mask, as long as the kernel makes it. */
struct online_mask {
	char text[65536];
	bool is_known; /* false: it could not be read, and text is empty */
};

/* Reads the online mask; where a machine's copy has none, cpuN/online is asked. Allocates nothing.
 */
int hotplug_read_online(const struct step_env *env, struct online_mask *ret_mask) _must_check_;

/*
 * Takes the CPU of @item offline, or brings it online, through the writer, and reads the mask
 * afterwards. EBUSY is tried again for ten seconds at most, since hotplug may be disabled for a
 * moment, but not where the trace names a callback whose reason lasts; EAGAIN never. Fills the
 * item's error, callback and seconds. Returns 0, or -errno: what the kernel answered, -EPROTO where
 * it reported success and the mask did not change, -ETIMEDOUT where it never answered. @ret_mask is
 * the mask after it.
 */
int hotplug_set(struct step_env *env, struct item *item, bool online,
		struct online_mask *ret_mask) _must_check_;

/*
 * Waits until the request's pace has gone by since the last change of a CPU, or a signal has come.
 * To be called before each change, before looking whether somebody wants to stop.
 */
void hotplug_pace(const struct step_env *env);

/*
 * Of the CPUs of @nr items the one that the kernel takes offline or brings back at this moment: the
 * state that it has reached is not the one that it is to have (struct cpuhp_cpu_state of
 * kernel/cpu.c). NULL where there is none, or that cannot be read. Allocates nothing.
 */
const struct item *hotplug_find_changing(const struct step_env *env, const struct item *items,
					 size_t nr);

/*
 * The number of the hotplug state of this name, from hotplug/states, as cpuN/hotplug/fail takes it.
 * Allocates nothing. @number is untouched where there is none.
 */
void hotplug_find_state(const struct step_env *env, const char *name, char *number, size_t size);
