/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tasks.h - threads, the CPUs that they may run on, and step kind task.affinity
 *
 * Masks are read from /proc/PID/task/TID/status, since sched_getaffinity(2) hides offline CPUs. A
 * thread is known by its id and its start time.
 */
#pragma once

#include <sys/types.h>

#include "base/step.h"
#include "host/cgroups.h"
#include "host/root.h"

struct task {
	pid_t pid, tid;
	unsigned long long start; /* clock ticks after boot */
	unsigned long flags;	  /* PF_* of include/linux/sched.h */
	unsigned int policy;	  /* SCHED_* */
	double bandwidth;	  /* of SCHED_DEADLINE: runtime / period, else 0 */
	pid_t parent;
	unsigned int cpu; /* that it ran on last */
	char state;	  /* 'R', 'S', ...: Documentation/filesystems/proc.rst */
	char comm[16];
	hwloc_bitmap_t mask;	     /* offline CPUs included */
	const struct cgroup *cgroup; /* the cpuset that governs it, NULL for none */
};

struct tasks {
	struct task *list;
	size_t nr;
	size_t nr_hidden;   /* threads that live, but cannot be read */
	pid_t first_hidden; /* one of them */
	int hidden_errno;   /* and why */
};

/*
 * Reads all threads below @root; of a machine's copy none. Those that end meanwhile are left out,
 * and those that cannot be read are only counted. @cgroups must outlive @ret_tasks. Returns 0 or
 * -errno.
 */
int tasks_read(const struct root *root, const struct machine *machine,
	       const struct cgroups *cgroups, struct tasks *ret_tasks) _must_check_;
void tasks_free(struct tasks *tasks);

/* The clock ticks that the thread has run so far, 0 where it has ended. */
unsigned long long tasks_read_ticks(const struct root *root, const struct task *task);

/* True where the kernel lets this thread's mask be changed: no PF_NO_SETAFFINITY, not
 * SCHED_DEADLINE. */
bool task_is_movable(const struct task *task);

/* True for a thread of the kernel's own. */
bool task_is_kernel(const struct task *task);

/* True for SCHED_FIFO, SCHED_RR and SCHED_DEADLINE. */
bool task_is_realtime(const struct task *task);

/* True where the mask is narrower than what its cpuset allows: somebody has pinned the thread. */
bool task_is_pinned(const struct task *task, const struct machine *machine);

/* True where none of its CPUs that are online lies outside of @target. */
bool task_is_pinned_to(const struct task *task, const struct machine *machine,
		       hwloc_const_bitmap_t target);

/* Returns 0 where the thread is the one that began at @start; -ESRCH where that one has ended; or
 * -errno where it cannot be told. */
int tasks_find(const struct root *root, pid_t tid, unsigned long long start);

/*
 * Moves this process to @cpus, so that it is not pushed around by its own work; children inherit
 * it. A mask of any size works. Returns 0 or -errno.
 */
int tasks_move_self(hwloc_const_bitmap_t cpus) _must_check_;

/* sched_setaffinity(2) with a mask of any size. Returns 0 or -errno. */
int tasks_set_mask(pid_t tid, hwloc_const_bitmap_t mask) _must_check_;

/*
 * sched_setscheduler(2), sched_getscheduler(2) and sched_getparam(2), which the functions of these
 * names do not call in every C library (musl: ENOSYS). Return 0, or the policy, or -errno.
 */
int tasks_set_policy(pid_t tid, int policy, int priority) _must_check_;
int tasks_read_policy(pid_t tid, int *ret_priority) _must_check_;

/* The record of masks that the kernel may break, and the evacuation where there is no partition. */
extern const struct step_kind tasks_affinity_kind;

/* Before a partition: masks that are no user's wish are made one, so that the kernel keeps them. */
extern const struct step_kind tasks_keep_kind;

/* True on the way back of an operation that has done so when its CPUs went. */
bool tasks_are_kept(const struct step_env *env);
