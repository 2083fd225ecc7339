/* SPDX-License-Identifier: GPL-2.0-or-later */
/* explain.c - what the kernel's answer to a hotplug write means, and what to do next */
#include "core/explain.h"

#include <errno.h>

/* Where a row can be told apart by more than the errno, the more special one stands first. */
static const struct row {
	int error;
	bool is_return;
	const char *cause;
	const char *remedy;
} rows[] = {
	{ EBUSY, false,
	  "The kernel keeps this CPU: deadline tasks need its bandwidth, it is the last one of a "
	  "cpuset "
	  "partition, the last that is not isolated, or hotplug stayed disabled for ten seconds.",
	  "Look at the callback and at the kernel log (dmesg)." },
	{ EAGAIN, false,
	  "A hotplug callback failed, here a failure that was injected through cpuN/hotplug/fail.",
	  "Write -1 to the CPU's hotplug/fail and run cpuoff again." },
	{ ENOSPC, false,
	  "The survivors have too few free interrupt vectors for the interrupts of this CPU.",
	  "Take fewer CPUs, or unload or reconfigure drivers with many queues; the kernel log has "
	  "the "
	  "numbers." },
	{ ERANGE, false,
	  "The survivors have too few free interrupt vectors for the interrupts of this CPU.",
	  "Take fewer CPUs, or unload or reconfigure drivers with many queues; the kernel log has "
	  "the "
	  "numbers." },
	{ EPERM, false, "The kernel, or the firmware, does not allow this CPU to go offline.",
	  "Leave it out with --except." },
	{ EACCES, false, "This process may not write the file.", "Run cpuoff as root." },
	{ EROFS, false, "The file system is mounted read-only, as in containers.",
	  "Run cpuoff on the machine itself." },
	{ EOPNOTSUPP, false,
	  "This kernel, or the confidential guest that it runs in, cannot take CPUs offline.",
	  "Take the CPUs away on the hypervisor." },
	{ ENODEV, false, "The CPU was removed meanwhile.", "Look at the machine with --list." },
	{ ENOENT, false, "The CPU has no online file any more: it was removed meanwhile.",
	  "Look at the machine with --list." },
	{ EPROTO, false,
	  "The kernel reported success, but the CPU is online: something brings it back.",
	  "Look for udev rules or services that bring CPUs online." },
	{ ETIMEDOUT, false,
	  "The kernel still works on the removal. It cannot be given up, and blocks every other "
	  "one.",
	  "Find out what it waits for, often I/O in flight on a queue of this CPU, then run cpuoff "
	  "--restore, which waits for it." },
	{ EBUSY, true, "CPU hotplug stayed disabled for ten seconds.",
	  "Run cpuoff --restore again." },
	{ EAGAIN, true, "A hotplug callback failed, or the CPU never reported that it was dead.",
	  "Run cpuoff --restore again; a CPU that stays away needs a reboot." },
	{ EPERM, true, "SMT is switched off, and this CPU is not the first thread of its core.",
	  "Write on to smt/control; it brings back every offline CPU of the machine." },
	{ EACCES, true, "This process may not write the file.", "Run cpuoff as root." },
	{ EROFS, true, "The file system is mounted read-only, as in containers.",
	  "Run cpuoff on the machine itself." },
	{ EIO, true, "The CPU did not start.",
	  "Run cpuoff --restore again; it may need a reboot." },
	{ ECANCELED, true, "The CPU was never started since the machine booted with SMT off.",
	  "Reboot with SMT on." },
	{ EINVAL, true, "The CPU is not present, or its hardware refuses to start it.",
	  "It may need a cold boot." },
	{ ENODEV, true, "The CPU was removed, or its node is gone.",
	  "Look at the machine with --list." },
	{ ENOENT, true, "The CPU is not there: it was removed from the machine.",
	  "Put it back, then run cpuoff --restore again." },
	{ EPROTO, true, "The kernel reported success, but the CPU is still offline.",
	  "Run cpuoff --restore again and look at the kernel log (dmesg)." },
	{ ETIMEDOUT, true, "The kernel still works on it. It cannot be given up.",
	  "Find out what it waits for, then run cpuoff --restore, which waits for it." },
};

int explain_failure(const struct item *item, bool is_return, struct explanation *ret_explanation)
{
	const char *answer = item->error == EPROTO	? "reported success, but nothing changed"
			     : item->error == ETIMEDOUT ? "has not answered"
							: NULL;
	struct explanation explanation = { .cause = "",
					   .remedy = "Look at the kernel log (dmesg)." };

	explanation.message = util_asprintf("%s could not be %s: the kernel %s%s%s%s", item->object,
					    is_return ? "brought online" : "taken offline",
					    answer ? answer : "answered ",
					    answer ? "" : util_errno_name(item->error),
					    item->callback[0] ? " in " : "", item->callback);
	if (!explanation.message)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].error == item->error && rows[i].is_return == is_return) {
			explanation.cause = rows[i].cause;
			explanation.remedy = rows[i].remedy;
			break;
		}
	*ret_explanation = explanation;
	return 0;
}
