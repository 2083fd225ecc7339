/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boost.h - step kind task.boost: those who make CPUs change run SCHED_FIFO meanwhile, with --boost
 *
 * Where more threads want to run than there are CPUs, most of a change is waiting to be scheduled:
 * the writer, the threads of RCU that carry its grace periods on, and the workers of the CPU on
 * which the kernel makes the removal (kernel/cpu.c, work_on_cpu() in cpu_down_maps_locked(); seen
 * on 6.12, not on 6.1 and 7.3).
 */
#pragma once

#include "base/step.h"
#include "host/tasks.h"

extern const struct step_kind boost_kind;

/*
 * True where @task is a thread of the kernel that CPUs wait for while they change, @worker_cpu
 * being the CPU whose workers are, and its policy may be changed: it is not real-time already.
 */
bool boost_wants(const struct task *task, unsigned int worker_cpu);
