/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * irqs.h - step kinds irq.default-affinity and irq.affinity: interrupts leave the target, and come
 * back to it
 *
 * kernel/irq/proc.c, kernel/irq/manage.c, kernel/irq/cpuhotplug.c. An interrupt has a mask that it
 * may use and, inside of it, the effective CPU that it is delivered to. The kernel moves an
 * interrupt off a CPU that goes, but one CPU after the other, it forgets a mask that lay wholly in
 * the target, and it never moves one back: masks alone would come back with all their interrupts
 * bunched on the survivors. So both are kept, as "0-7 on 5".
 *
 * Interrupts that the kernel manages itself (the queues of NVMe, those of one CPU, the timer)
 * cannot be moved: it shuts them down and starts them again. It says so by EIO, by EPERM
 * since 6.12, where the file is read-only, too.
 */
#pragma once

#include "base/step.h"

/*
 * Where new interrupts start. During the change of CPUs only, as long as the mask has survivors: a
 * mask of offline CPUs alone would be refused (EINVAL) on the way back.
 */
extern const struct step_kind irqs_default_kind;

/*
 * Items whose before and after are equal are records: nothing is written for them, but drivers
 * (virtio-net) rewrite masks whenever any CPU comes or goes, known by their affinity_hint, and
 * those are given back at the end. A mask that is neither ours, nor a driver's, nor what the kernel
 * makes of one without CPUs is somebody's later wish, and stays.
 */
extern const struct step_kind irqs_affinity_kind;
