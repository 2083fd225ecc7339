/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tasks.c - threads, the CPUs that they may run on, and step kind task.affinity */
#include "host/tasks.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>

#include "host/evacuations.h"

/* include/linux/sched.h */
#define PF_KTHREAD	  0x00200000UL
#define PF_NO_SETAFFINITY 0x04000000UL
#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE 6
#endif

/* The parent of all threads of the kernel, by its process id. */
#define KTHREADD 2

/* CPUs that masks are made for on the way back, where nothing is allocated. */
#define MASK_CPUS 65536

/* Threads made while a pass runs need another one; more often than this something makes them for
 * ever. */
#define PASSES 10

#define ONLINE "sys/devices/system/cpu/online"

/* Between cpuset.cpus and partition.others. */
#define RANK_BEFORE_OTHERS 28

/* The mask of a thread that nobody pinned. */
#define UNPINNED "any"

/* ---- reading ----------------------------------------------------------------------------- */

/* What /proc/PID/task/TID/stat tells. */
struct stat_fields {
	char comm[16];
	char state;
	pid_t parent;
	unsigned long flags, nr_threads;
	unsigned long long start, ticks;
	unsigned int cpu, policy;
};

/* Allocates nothing. Returns 0, or -EINVAL for a text that is none. */
static int parse_stat(char *text, struct stat_fields *ret_fields)
{
	char *open = strchr(text, '('), *close = strrchr(text, ')'), *field, *rest;
	int nr = 3;

	if (!open || !close || close < open)
		return -EINVAL;
	snprintf(ret_fields->comm, sizeof(ret_fields->comm), "%.*s", (int)(close - open - 1),
		 open + 1);
	util_make_printable(ret_fields->comm);
	rest = close + 1 + strspn(close + 1, " ");
	for (; (field = strsep(&rest, " ")); nr++) {
		if (nr == 3)
			ret_fields->state = field[0];
		else if (nr == 4)
			ret_fields->parent = (pid_t)strtol(field, NULL, 10);
		else if (nr == 9)
			ret_fields->flags = strtoul(field, NULL, 10);
		else if (nr == 14 || nr == 15)
			ret_fields->ticks += strtoull(field, NULL, 10);
		else if (nr == 20)
			ret_fields->nr_threads = strtoul(field, NULL, 10);
		else if (nr == 22)
			ret_fields->start = strtoull(field, NULL, 10);
		else if (nr == 39)
			ret_fields->cpu = (unsigned int)strtoul(field, NULL, 10);
		else if (nr == 41)
			ret_fields->policy = (unsigned int)strtoul(field, NULL, 10);
	}
	return nr > 41 ? 0 : -EINVAL;
}

static int read_stat_file(const struct root *root, const char *path, struct stat_fields *ret_fields)
{
	char text[2048];
	int r = root_read_buffer(root, path, text, sizeof(text));

	return r ? r : parse_stat(text, ret_fields);
}

/* For one of few: the kernel adds up the times of all threads of the process, every time. */
static int read_stat(const struct root *root, pid_t tid, struct stat_fields *ret_fields)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/%d/stat", (int)tid);
	return read_stat_file(root, path, ret_fields);
}

/* The thread alone: do_task_stat() of fs/proc/array.c */
static int read_thread_stat(const struct root *root, pid_t pid, pid_t tid,
			    struct stat_fields *ret_fields)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/%d/task/%d/stat", (int)pid, (int)tid);
	return read_stat_file(root, path, ret_fields);
}

/* The cpulist after "Cpus_allowed_list:" in the status file, which works for a thread's id as well.
 */
static int read_mask_text(const struct root *root, pid_t tid, char *buffer, size_t size,
			  const char **ret_list)
{
	static const char key[] = "\nCpus_allowed_list:";
	char path[64], *list;
	int r;

	snprintf(path, sizeof(path), "proc/%d/status", (int)tid);
	r = root_read_buffer(root, path, buffer, size);
	if (r)
		return r;
	list = strstr(buffer, key);
	if (!list)
		return -EINVAL;
	list += strlen(key);
	list += strspn(list, " \t");
	list[strcspn(list, "\n")] = '\0';
	*ret_list = list;
	return 0;
}

/* The path in the hierarchy that has cpusets: "0::/a/b" of v2, "5:cpuset:/a/b" of v1. */
static const struct cgroup *parse_cgroup(const struct cgroups *cgroups, char *text)
{
	char *line, *rest = text;

	while ((line = strsep(&rest, "\n"))) {
		char *controllers = strchr(line, ':'),
		     *path = controllers ? strchr(controllers + 1, ':') : NULL;
		bool is_ours;

		if (!path)
			continue;
		*path++ = '\0';
		is_ours = cgroups->is_v2 ? !strcmp(controllers, ":")
					 : strstr(controllers, "cpuset") != NULL;
		if (is_ours)
			return cgroups_governor(cgroups,
						cgroups_find(cgroups, path + strspn(path, "/")));
	}
	return NULL;
}

/* A thread whose file is not there, or has none to tell of any more, has ended. */
static int find_ended(int r)
{
	return r == -ENOENT ? -ESRCH : r;
}

/* The cpuset that governs the thread, NULL for none and for one that has ended. Returns 0 or
 * -errno. */
static int read_cgroup(const struct root *root, const struct cgroups *cgroups, pid_t tid,
		       const struct cgroup **ret_cgroup)
{
	char path[64], text[8192] = "";
	int r = 0;

	snprintf(path, sizeof(path), "proc/%d/cgroup", (int)tid);
	if (cgroups->root)
		r = find_ended(root_read_buffer(root, path, text, sizeof(text)));
	if (r && r != -ESRCH)
		return r;
	*ret_cgroup = r ? NULL : parse_cgroup(cgroups, text);
	return 0;
}

/* include/uapi/linux/sched/types.h, the first version of it. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period; /* nanoseconds */
};

static double read_bandwidth(pid_t tid)
{
	struct attributes attributes = { .size = sizeof(attributes) };

	if (syscall(SYS_sched_getattr, tid, &attributes, sizeof(attributes), 0) < 0 ||
	    !attributes.period)
		return 0;
	return (double)attributes.runtime / (double)attributes.period;
}

/* One mask as the kernel takes it; of the size that every kernel takes. */
static unsigned long words[MASK_CPUS / (8 * sizeof(unsigned long))];

/*
 * Most threads may run everywhere, or are the kernel's own of one CPU: for them one system call
 * tells enough, at a fraction of what the status file takes the kernel. sched_getaffinity() of
 * kernel/sched/syscalls.c leaves out the CPUs that are offline, so all other masks, which may have
 * to be given back, are read from the file. Returns 0, -ENODATA where the file must be read, or
 * -ENOMEM.
 */
static int ask_mask(const struct machine *machine, pid_t tid, unsigned long flags,
		    hwloc_bitmap_t ret_mask)
{
	long size = syscall(SYS_sched_getaffinity, tid, sizeof(words), words);

	if (size <= 0)
		return -ENODATA;
	if (hwloc_bitmap_from_ulongs(ret_mask, (unsigned int)((size_t)size / sizeof(*words)),
				     words) < 0)
		return -ENOMEM;
	if ((flags & PF_KTHREAD) && (flags & PF_NO_SETAFFINITY))
		return 0;
	return hwloc_bitmap_isequal(machine->online, machine->present) &&
			       hwloc_bitmap_isincluded(machine->online, ret_mask)
		       ? 0
		       : -ENODATA;
}

static int read_mask(const struct root *root, const struct machine *machine, pid_t tid,
		     hwloc_bitmap_t ret_mask)
{
	char buffer[16384];
	const char *list;
	int r = read_mask_text(root, tid, buffer, sizeof(buffer), &list);

	return r ? r : cpus_parse_kernel(list, machine->nr_cpus - 1, ret_mask);
}

/* @ret_nr_threads: of its process. The caller frees the mask, also after a failure. */
static int read_task(const struct root *root, const struct machine *machine, pid_t pid, pid_t tid,
		     struct task *ret_task, unsigned long *ret_nr_threads)
{
	struct stat_fields fields = { 0 };
	int r = read_thread_stat(root, pid, tid, &fields);

	if (r)
		return r;
	*ret_nr_threads = fields.nr_threads;
	*ret_task = (struct task){
		.tid = tid,
		.start = fields.start,
		.state = fields.state,
		.flags = fields.flags,
		.policy = fields.policy,
		.bandwidth = fields.policy == SCHED_DEADLINE ? read_bandwidth(tid) : 0,
		.parent = fields.parent,
		.cpu = fields.cpu,
		.mask = hwloc_bitmap_alloc(),
	};
	memcpy(ret_task->comm, fields.comm, sizeof(fields.comm));
	if (!ret_task->mask)
		return -ENOMEM;
	r = ask_mask(machine, tid, fields.flags, ret_task->mask);
	return r == -ENODATA ? read_mask(root, machine, tid, ret_task->mask) : r;
}

static int add_task(struct tasks *tasks, const struct task *task)
{
	struct task *list = util_grow(tasks->list, tasks->nr, sizeof(*list));

	if (!list)
		return -ENOMEM;
	tasks->list = list;
	list[tasks->nr++] = *task;
	return 0;
}

/* Threads of the kernel that are bound for good cannot leave the root:
 * cgroup_procs_write_start() of kernel/cgroup/cgroup.c. */
static int find_cgroup(const struct root *root, const struct cgroups *cgroups,
		       const struct task *task, const struct cgroup **ret_cgroup)
{
	if (!cgroups->root || !(task->flags & PF_KTHREAD) || !(task->flags & PF_NO_SETAFFINITY))
		return read_cgroup(root, cgroups, task->tid, ret_cgroup);
	*ret_cgroup = cgroups_governor(cgroups, cgroups_find(cgroups, ""));
	return 0;
}

/* A walk over all threads. */
struct walk {
	const struct root *root;
	const struct machine *machine;
	const struct cgroups *cgroups;
	hwloc_bitmap_t seen; /* threads that are left out, with those that are not added; or NULL */
	struct tasks tasks;
};

/* What the first thread of a process tells about the others. */
struct process {
	pid_t pid;
	const struct cgroup *cgroup;
	unsigned long nr_threads; /* 0: not known */
};

/*
 * A cpuset may have changed since it was read, as where somebody makes a partition of its CPUs. A
 * thread that only looks pinned by that has the mask of the cpuset as it was, as far as is known
 * here: what it has at this moment must not be given back to it as a wish. Returns 0 or -ENOMEM.
 */
static int forgive_cpuset(const struct walk *walk, struct task *task)
{
	const struct cgroups *cgroups = walk->cgroups;
	_cleanup_cpus_ hwloc_bitmap_t now = hwloc_bitmap_alloc();
	char path[PATH_MAX];

	if (!now)
		return -ENOMEM;
	if (cgroups_path(cgroups, task->cgroup->path, cgroups_effective_file(cgroups), path,
			 sizeof(path)) ||
	    root_read_cpulist(walk->root, walk->machine->nr_cpus - 1, now, "%s", path) ||
	    hwloc_bitmap_isequal(now, task->cgroup->effective))
		return 0;
	if (hwloc_bitmap_and(now, now, walk->machine->online) < 0)
		return -ENOMEM;
	return hwloc_bitmap_isincluded(now, task->mask) &&
			       hwloc_bitmap_or(task->mask, task->mask, task->cgroup->effective) < 0
		       ? -ENOMEM
		       : 0;
}

/* That its files are not there, or have nothing to tell any more, says that it has ended. Any other
 * answer hides a thread whose mask could not be given back. Returns @r where it is our own want. */
static int note_hidden(struct tasks *tasks, pid_t tid, int r)
{
	r = find_ended(r);
	if (r == -ESRCH)
		return 0;
	if (root_is_shortage(r))
		return r;
	if (!tasks->nr_hidden++) {
		tasks->first_hidden = tid;
		tasks->hidden_errno = -r;
	}
	return 0;
}

/*
 * The cgroup is read once a process. Only a thread that then looks pinned may be in another one of
 * its own (v1, and threaded cgroups of v2), and is asked.
 */
static int put_in_cgroup(const struct walk *walk, struct process *process, struct task *task)
{
	int r = 0;

	if (process->pid == task->tid)
		r = find_cgroup(walk->root, walk->cgroups, task, &process->cgroup);
	task->cgroup = process->cgroup;
	if (process->pid != task->tid && task_is_pinned(task, walk->machine))
		r = read_cgroup(walk->root, walk->cgroups, task->tid, &task->cgroup);
	return r;
}

static int read_thread(struct walk *walk, struct process *process, pid_t tid)
{
	struct task task = { 0 };
	unsigned long nr_threads = 0;
	int r = read_task(walk->root, walk->machine, process->pid, tid, &task, &nr_threads);

	if (process->pid == tid)
		process->nr_threads = nr_threads;
	if (!r)
		r = put_in_cgroup(walk, process, &task);
	if (r) {
		hwloc_bitmap_free(task.mask);
		return note_hidden(&walk->tasks, tid, r);
	}
	task.pid = process->pid;
	if (task.cgroup && task_is_movable(&task) && task_is_pinned(&task, walk->machine))
		r = forgive_cpuset(walk, &task);
	if (!r)
		r = add_task(&walk->tasks, &task);
	if (r)
		hwloc_bitmap_free(task.mask);
	return r;
}

static bool parse_pid(const char *name, pid_t *ret_pid)
{
	long pid;

	if (util_parse_long(name, 1, INT_MAX, &pid))
		return false;
	*ret_pid = (pid_t)pid;
	return true;
}

/* True where @tid is in @seen; now it is. */
static bool was_seen(hwloc_bitmap_t seen, pid_t tid)
{
	if (!seen || hwloc_bitmap_isset(seen, (unsigned int)tid))
		return seen;
	/* without memory for it, it is read again by the next pass */
	hwloc_bitmap_set(seen, (unsigned int)tid);
	return false;
}

static int read_other_threads(struct walk *walk, struct process *process)
{
	DIR *dir = root_opendir(walk->root, "proc/%d/task", (int)process->pid);
	struct dirent *entry;
	pid_t tid;
	int r = 0;

	if (!dir) /* it has ended? */
		return errno == ENOENT || errno == ESRCH ? 0 : -errno;
	while (!r && (entry = root_readdir(dir, &r)))
		if (parse_pid(entry->d_name, &tid) && tid != process->pid &&
		    !was_seen(walk->seen, tid))
			r = read_thread(walk, process, tid);
	closedir(dir);
	return r;
}

/* Most processes have one thread, and to list the threads takes as long as to read one. */
static int read_process(struct walk *walk, pid_t pid)
{
	struct process process = { .pid = pid };
	int r = was_seen(walk->seen, pid) ? 0 : read_thread(walk, &process, pid);

	return r || process.nr_threads == 1 ? r : read_other_threads(walk, &process);
}

/* Threads in @seen are left out, all others added to it; NULL: none is left out. */
static int read_all(const struct root *root, const struct machine *machine,
		    const struct cgroups *cgroups, hwloc_bitmap_t seen, struct tasks *ret_tasks)
{
	struct walk walk = { root, machine, cgroups, .seen = seen };
	struct dirent *entry;
	DIR *dir = NULL;
	pid_t pid;
	int r = 0;

	if (root_is_live(root)) {
		dir = root_opendir(root, "proc");
		if (!dir)
			return -errno;
	}
	while (!r && dir && (entry = root_readdir(dir, &r)))
		if (parse_pid(entry->d_name, &pid))
			r = read_process(&walk, pid);
	if (dir)
		closedir(dir);
	if (r)
		tasks_free(&walk.tasks);
	else
		*ret_tasks = walk.tasks;
	return r;
}

int tasks_read(const struct root *root, const struct machine *machine,
	       const struct cgroups *cgroups, struct tasks *ret_tasks)
{
	return read_all(root, machine, cgroups, NULL, ret_tasks);
}

unsigned long long tasks_read_ticks(const struct root *root, const struct task *task)
{
	struct stat_fields fields = { 0 };
	/* of the thread alone: the file of its process would have the sum */
	int r = read_thread_stat(root, task->pid, task->tid, &fields);

	return r || fields.start != task->start ? 0 : fields.ticks;
}

void tasks_free(struct tasks *tasks)
{
	for (size_t i = 0; i < tasks->nr; i++)
		hwloc_bitmap_free(tasks->list[i].mask);
	free(tasks->list);
	*tasks = (struct tasks){ 0 };
}

/* ---- judging ----------------------------------------------------------------------------- */

bool task_is_movable(const struct task *task)
{
	return !(task->flags & PF_NO_SETAFFINITY) && task->policy != SCHED_DEADLINE;
}

bool task_is_kernel(const struct task *task)
{
	return task->flags & PF_KTHREAD;
}

bool task_is_realtime(const struct task *task)
{
	return task->policy == SCHED_FIFO || task->policy == SCHED_RR ||
	       task->policy == SCHED_DEADLINE;
}

bool task_is_pinned(const struct task *task, const struct machine *machine)
{
	hwloc_const_bitmap_t allowed = task->cgroup ? task->cgroup->effective : machine->online;
	unsigned int cpu;

	/* offline CPUs do not count: an unpinned thread of the root cpuset has them in its mask */
	cpus_foreach(cpu, allowed)
		if (hwloc_bitmap_isset(machine->online, cpu) &&
		    !hwloc_bitmap_isset(task->mask, cpu))
			return true;
	return false;
}

bool task_is_pinned_to(const struct task *task, const struct machine *machine,
		       hwloc_const_bitmap_t target)
{
	bool is_inside = false;
	unsigned int cpu;

	cpus_foreach(cpu, task->mask) {
		if (!hwloc_bitmap_isset(machine->online, cpu))
			continue;
		if (!hwloc_bitmap_isset(target, cpu))
			return false;
		is_inside = true;
	}
	return is_inside;
}

static int read_same(const struct root *root, pid_t tid, unsigned long long start,
		     struct stat_fields *ret_fields)
{
	int r = find_ended(read_stat(root, tid, ret_fields));

	return r ? r : ret_fields->start == start ? 0 : -ESRCH;
}

int tasks_find(const struct root *root, pid_t tid, unsigned long long start)
{
	struct stat_fields fields;

	return read_same(root, tid, start, &fields);
}

/* ---- policies ---------------------------------------------------------------------------- */

/* What the kernel takes: struct sched_param of a C library may hold more. */
struct parameters {
	int priority;
};

int tasks_set_policy(pid_t tid, int policy, int priority)
{
	const struct parameters parameters = { .priority = priority };

	return syscall(SYS_sched_setscheduler, tid, policy, &parameters) < 0 ? -errno : 0;
}

int tasks_read_policy(pid_t tid, int *ret_priority)
{
	struct parameters parameters;
	long policy = syscall(SYS_sched_getscheduler, tid);

	if (policy < 0 || syscall(SYS_sched_getparam, tid, &parameters) < 0)
		return -errno;
	*ret_priority = parameters.priority;
	return (int)policy;
}

/* ---- masks ------------------------------------------------------------------------------- */

static int write_words(pid_t tid)
{
	return syscall(SYS_sched_setaffinity, tid, sizeof(words), words) < 0 ? -errno : 0;
}

int tasks_set_mask(pid_t tid, hwloc_const_bitmap_t mask)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = hwloc_bitmap_to_ith_ulong(mask, i);
	return write_words(tid);
}

int tasks_move_self(hwloc_const_bitmap_t cpus)
{
	return tasks_set_mask(0, cpus);
}

/* Gives back a mask as the record has it. All ones, for a thread that nobody pinned: a later
 * widening of its cpuset must reach it. Allocates nothing. */
static int put_back_mask(pid_t tid, const char *list)
{
	int r = 0;

	if (!strcmp(list, UNPINNED))
		memset(words, 0xff, sizeof(words));
	else
		r = cpus_text_to_words(list, words, ARRAY_SIZE(words));
	return r ? r : write_words(tid);
}

/* ---- step kind task.affinity: planning --------------------------------------------------- */

static bool moves_by_masks(const struct step_env *env)
{
	return env->evacuation->moves_tasks && !env->evacuation->has_partition;
}

/*
 * True where a thread has to go by its mask, and can get it back. Kernels before 6.2 cut CPUs that
 * are offline off any mask that is written: a thread that may run on one would lose it for good,
 * and is left to the kernel.
 */
static bool is_to_move(const struct step_env *env, const struct cgroups *cgroups,
		       const struct task *task)
{
	unsigned int cpu;

	if (!moves_by_masks(env) || !task_is_movable(task) ||
	    !hwloc_bitmap_intersects(task->mask, env->target))
		return false;
	cpus_foreach(cpu, task->mask)
		if (!cgroups->keeps_masks && machine_has_cpu(env->machine, cpu) &&
		    !hwloc_bitmap_isset(env->machine->online, cpu))
			return false;
	return true;
}

/* Where a thread may go: what remains of its mask, else of its cpuset, else all survivors. */
static int find_refuge(const struct step_env *env, const struct task *task, hwloc_bitmap_t refuge)
{
	if (hwloc_bitmap_and(refuge, task->mask, env->survivors) < 0)
		return -ENOMEM;
	if (!cpus_is_empty(refuge))
		return hwloc_bitmap_andnot(refuge, task->mask, env->target) < 0 ? -ENOMEM : 0;
	if (task->cgroup && hwloc_bitmap_and(refuge, task->cgroup->effective, env->survivors) < 0)
		return -ENOMEM;
	if (!task->cgroup || cpus_is_empty(refuge))
		return hwloc_bitmap_copy(refuge, env->survivors) < 0 ? -ENOMEM : 0;
	return 0;
}

/*
 * What an earlier operation did hides a thread's own mask. Where that has CPUs of this target, too,
 * this one must be able to give it back: it may be the last to be undone.
 */
static bool is_recorded(const struct step_env *env, const struct task *task)
{
	const struct item *item = env_find_other(env, &tasks_affinity_kind,
						 (unsigned long long)task->tid, task->start, NULL);
	unsigned int cpu;

	if (!item || !env->cgroups->keeps_masks)
		return item;
	cpus_foreach(cpu, env->target)
		if (cpus_text_has(item->before, cpu))
			return true;
	return false;
}

/*
 * Masks that the kernel breaks, or may: of threads pinned to the target alone, and where it does
 * not remember users' masks (before 6.2) of all pinned threads in cpusets that lose or get back a
 * CPU.
 */
static bool is_endangered(const struct step_env *env, const struct task *task)
{
	if (is_recorded(env, task))
		return true;
	if (!task_is_pinned(task, env->machine))
		return false;
	if (task_is_pinned_to(task, env->machine, env->target))
		return true;
	return task->cgroup && task->cgroup->depth && !env->cgroups->keeps_masks &&
	       hwloc_bitmap_intersects(task->cgroup->effective, env->target);
}

static int add_record(struct step *step, const struct step_env *env, const struct task *task,
		      bool is_moved)
{
	_cleanup_cpus_ hwloc_bitmap_t refuge = hwloc_bitmap_alloc();
	_cleanup_free_ char *mask = cpus_format(task->mask), *after = NULL, *object = NULL;
	const char *before;

	if (!refuge || !mask || find_refuge(env, task, refuge))
		return -ENOMEM;
	is_moved |= task_is_pinned_to(task, env->machine, env->target);
	after = is_moved ? cpus_format(refuge) : strdup(mask);
	object = util_asprintf("task %d %s", (int)task->tid, task->comm);
	if (!after || !object)
		return -ENOMEM;
	before = env_before(env, step->kind, (unsigned long long)task->tid, task->start, object);
	if (!before)
		before = env_before(env, &tasks_keep_kind, (unsigned long long)task->tid,
				    task->start, object);
	if (!before)
		before = task_is_pinned(task, env->machine) ? mask : UNPINNED;
	if (!step_add_item(step, (unsigned long long)task->tid, before, after, "%s", object))
		return -ENOMEM;
	step->items[step->nr_items - 1].stamp = task->start;
	return 0;
}

static int describe_affinity(struct step *step, struct step_env *env)
{
	if (env->is_return || !env->tasks)
		return 0;
	for (size_t i = 0; i < env->tasks->nr; i++) {
		const struct task *task = &env->tasks->list[i];
		bool is_moved = is_to_move(env, env->cgroups, task);

		if (task_is_movable(task) && (is_moved || is_endangered(env, task)) &&
		    add_record(step, env, task, is_moved))
			return -ENOMEM;
	}
	/*
	 * Where the kernel remembers what a mask was meant to be, threads get theirs back before
	 * partitions of others take their CPUs again. It leaves out then which ones it wants to:
	 * kernel threads keep CPUs of root partitions (seen on 7.3). Elsewhere (6.1) the partition
	 * would overwrite what was put back.
	 */
	if (env->cgroups->keeps_masks)
		step->undo_rank = RANK_BEFORE_OTHERS;
	/* the way back looks parents up by their ids */
	step_sort_items(step);
	return 0;
}

/* ---- step kind task.affinity: applying --------------------------------------------------- */

/*
 * One pass over the threads that are not in @seen. Returns the number of threads moved, or -errno.
 */
static int move_pass(const struct step_env *env, const struct cgroups *cgroups, hwloc_bitmap_t seen)
{
	_cleanup_cpus_ hwloc_bitmap_t refuge = hwloc_bitmap_alloc();
	struct tasks tasks = { 0 };
	int nr_moved = 0, r = refuge ? 0 : -ENOMEM;

	if (!r)
		r = read_all(env->root, env->machine, cgroups, seen, &tasks);
	for (size_t i = 0; !r && i < tasks.nr; i++) {
		const struct task *task = &tasks.list[i];

		if (!is_to_move(env, cgroups, task))
			continue;
		r = find_refuge(env, task, refuge);
		/* it may have ended, or may not be moved for a reason of its own: the kernel moves
		 * it then */
		if (!r && !tasks_set_mask(task->tid, refuge))
			nr_moved++;
	}
	tasks_free(&tasks);
	return r ? r : nr_moved;
}

/* Threads that were made from ones not yet moved are found by the next pass, which reads no others.
 */
static int move_all(const struct step_env *env)
{
	_cleanup_cpus_ hwloc_bitmap_t seen = hwloc_bitmap_alloc();
	struct cgroups cgroups = { 0 };
	int r = seen ? cgroups_read(env->root, env->machine, &cgroups) : -ENOMEM;

	for (int pass = 0, moved = 1; !r && moved > 0 && pass < PASSES; pass++) {
		moved = move_pass(env, &cgroups, seen);
		r = moved < 0 ? moved : 0;
		watcher_progress(env->watcher, &(struct progress){
						       .phase = PHASE_MOVING,
						       .object = "tasks",
					       });
	}
	cgroups_free(&cgroups);
	return r;
}

static int apply_affinity(struct step *step, struct step_env *env)
{
	/* before, so that what was moved by a pass that fails is put back: undoing compares first
	 */
	for (size_t i = 0; i < step->nr_items; i++)
		step->items[i].state = STATE_APPLIED;
	return moves_by_masks(env) && root_is_live(env->root) ? move_all(env) : 0;
}

/* ---- step kind task.affinity: undoing ---------------------------------------------------- */

/*
 * What cannot be read here must not be taken for a thread that has nothing to get back: the
 * questions are answered by 1, by 0, or by -errno.
 */

/* The effective CPUs of the cpuset that governs @tid now, as the kernel writes them. Allocates
 * nothing. */
static int read_effective(const struct step_env *env, pid_t tid, char *buffer, size_t size)
{
	const struct cgroup *cgroup = NULL;
	char path[PATH_MAX];
	int r = env->cgroups ? read_cgroup(env->root, env->cgroups, tid, &cgroup) : 0;

	if (r)
		return r;
	if (cgroup)
		r = cgroups_path(env->cgroups, cgroup->path, cgroups_effective_file(env->cgroups),
				 path, sizeof(path));
	if (cgroup && !r)
		r = root_read_buffer(env->root, path, buffer, size);
	if (!cgroup || (r && !root_is_shortage(r))) /* it has gone */
		r = root_read_buffer(env->root, ONLINE, buffer, size);
	return r;
}

/* Is the mask what the kernel gives to a thread whose own mask it has broken: all of its cpuset? */
static int looks_unpinned(const struct step_env *env, pid_t tid, const char *list)
{
	bool has_survivor = false;
	char effective[16384];
	int r = read_effective(env, tid, effective, sizeof(effective));

	if (r)
		return r;
	for (unsigned int cpu = 0; cpu < env->machine->nr_cpus; cpu++) {
		if (!cpus_text_has(effective, cpu) || hwloc_bitmap_isset(env->target, cpu))
			continue;
		has_survivor = true;
		if (!cpus_text_has(list, cpu))
			return 0;
	}
	return has_survivor || !strcmp(list, effective);
}

static int has_online(const struct step_env *env, const char *list)
{
	char online[16384];
	int r = root_read_buffer(env->root, ONLINE, online, sizeof(online));

	for (unsigned int cpu = 0; !r && cpu < env->machine->nr_cpus; cpu++)
		r = cpus_text_has(list, cpu) && cpus_text_has(online, cpu);
	return r;
}

/* A kernel thread that has a CPU which was off until now has it from the kernel: of each node's
 * threads the mask is made anew when a CPU of the node comes (mm/compaction.c). */
static bool was_reset(const struct step_env *env, bool is_kernel, const char *list)
{
	unsigned int cpu;

	if (is_kernel)
		cpus_foreach(cpu, env->target)
			if (cpus_text_has(list, cpu))
				return true;
	return false;
}

/*
 * What @tid gets back: NULL where its mask is nobody's business but its own. A thread that another
 * operation in force has recorded stays where the kernel has put it, or goes no further than that
 * one left it, unless the kernel remembers CPUs that are still off.
 */
static int find_due(const struct step *step, const struct step_env *env, const struct item *item,
		    bool is_kernel, const char *list, const char **ret_due)
{
	const struct item *other = env_find_other(env, step->kind, item->id, item->stamp, NULL);
	bool is_narrowed = strcmp(item->before, item->after);
	bool is_moved = is_narrowed && !strcmp(env->own->evacuation, "affinity");
	int is_ours, has_some = 0;

	*ret_due = NULL;
	if (!strcmp(list, item->before))
		return 0;
	/* beside a partition the kernel puts those that were inside of it there, too */
	is_ours = (is_narrowed && !strcmp(list, item->after)) || was_reset(env, is_kernel, list);
	if (!is_ours)
		is_ours = looks_unpinned(env, (pid_t)item->id, list);
	if (is_ours <= 0 || (other && !is_moved))
		return is_ours < 0 ? is_ours : 0;
	if (other && env->cgroups->keeps_masks)
		has_some = has_online(env, item->before);
	if (has_some < 0)
		return has_some;
	*ret_due = other && !has_some ? other->after : item->before;
	return 0;
}

/*
 * Reads the thread that @item has recorded, its mask as text in @buffer. Returns 0; -ESRCH where
 * it has ended: then the id may be another one's by now; or -errno where it cannot be read.
 */
static int read_recorded(const struct step_env *env, const struct item *item,
			 struct stat_fields *ret_fields, char *buffer, size_t size,
			 const char **ret_list)
{
	int r = read_same(env->root, (pid_t)item->id, item->stamp, ret_fields);

	return r ? r
		 : find_ended(read_mask_text(env->root, (pid_t)item->id, buffer, size, ret_list));
}

static int undo_item(const struct step *step, struct step_env *env, const struct item *item)
{
	struct stat_fields fields;
	const char *list, *due;
	char buffer[16384];
	int r;

	r = read_recorded(env, item, &fields, buffer, sizeof(buffer), &list);
	if (!r)
		r = find_due(step, env, item, fields.flags & PF_KTHREAD, list, &due);
	if (r)
		return r == -ESRCH ? 0 : r;
	r = due ? put_back_mask((pid_t)item->id, due) : 0;
	/* its cpuset does not let it there any more, or not yet: then the other operation comes
	 * back to it */
	if (r == -EINVAL && (due != item->before || has_online(env, due) > 0))
		return 0;
	return r == -ESRCH ? 0 : r;
}

/* More generations than this between a thread and one of the record are not followed. */
#define GENERATIONS 64

/*
 * The record that a thread with mask @list has it from: its nearest living ancestor's in the
 * record, or, since the ones between may have ended, that of any thread that was not pinned before
 * and was given the same mask; or NULL.
 */
static int find_origin(const struct step *step, const struct step_env *env, pid_t ancestor,
		       const char *list, const struct item **ret_origin)
{
	struct stat_fields fields;

	for (int i = 0; i < GENERATIONS && ancestor > 1; i++, ancestor = fields.parent) {
		int r;

		*ret_origin = step_find_item(step, (unsigned long long)ancestor);
		if (*ret_origin && !strcmp((*ret_origin)->after, list))
			return 0;
		r = find_ended(read_stat(env->root, ancestor, &fields));
		if (r == -ESRCH)
			break;
		if (r)
			return r;
	}
	*ret_origin = NULL;
	for (size_t i = 0; !*ret_origin && i < step->nr_items; i++)
		if (!strcmp(step->items[i].before, UNPINNED) && !strcmp(step->items[i].after, list))
			*ret_origin = &step->items[i];
	return 0;
}

/*
 * A thread that asks for all CPUs while they return one after another is given those that are
 * there, and kernels that keep no wishes (6.1) leave it at that: all that stayed, and a part of
 * those that went.
 */
static int was_cut_short(const struct step_env *env, pid_t tid, const char *list)
{
	bool has_one = false, lacks_one = false;
	unsigned int cpu;

	if (env->cgroups->keeps_masks)
		return 0;
	cpus_foreach(cpu, env->target) {
		has_one |= cpus_text_has(list, cpu);
		lacks_one |= !cpus_text_has(list, cpu);
	}
	/* last, since it reads a file, and most threads have all of the target or none */
	return has_one && lacks_one ? looks_unpinned(env, tid, list) : 0;
}

/* The walk over the threads that were made after all of the record, and have inherited their masks
 * from it. */
struct widening {
	const struct step *step;
	const struct step_env *env;
	unsigned long long newest; /* the last start in the record */
	bool has_changed;	   /* any of them */
	int first_error;
};

/* Has a thread other CPUs than @list once it was given @mask? Its cpuset may allow no more than it
 * had; one that ends meanwhile, or may not be changed, has nothing to get back. */
static int widen(const struct step_env *env, pid_t tid, const char *list, const char *mask)
{
	char buffer[16384];
	const char *now;
	int r = put_back_mask(tid, mask);

	if (r)
		return root_is_shortage(r) ? r : 0;
	r = read_mask_text(env->root, tid, buffer, sizeof(buffer), &now);
	return r ? r : strcmp(now, list) != 0;
}

/* Returns 1 where the thread was changed, 0, or -errno. */
static int widen_child(const struct widening *widening, pid_t pid, pid_t tid)
{
	const struct step_env *env = widening->env;
	const struct item *origin;
	struct stat_fields fields = { 0 };
	char buffer[16384];
	const char *list;
	int r = read_thread_stat(env->root, pid, tid, &fields);

	if (r || fields.start <= widening->newest)
		return r;
	r = read_mask_text(env->root, tid, buffer, sizeof(buffer), &list);
	if (!r)
		r = was_cut_short(env, tid, list);
	if (r)
		return r < 0 ? r : widen(env, tid, list, UNPINNED);
	r = find_origin(widening->step, env, pid != tid ? pid : fields.parent, list, &origin);
	if (r || !origin || !strcmp(origin->before, origin->after))
		return r;
	return widen(env, tid, list, origin->before);
}

/* True where something can have inherited a narrower mask: threads of the kernel, but kthreadd,
 * have no children. */
static bool may_have_children(const struct step *step, const struct step_env *env)
{
	struct stat_fields fields;

	for (size_t i = 0; i < step->nr_items; i++) {
		const struct item *item = &step->items[i];

		if (strcmp(item->before, item->after) &&
		    (item->id == KTHREADD || read_stat(env->root, (pid_t)item->id, &fields) ||
		     fields.start != item->stamp || !(fields.flags & PF_KTHREAD)))
			return true;
	}
	return false;
}

/* A thread that cannot be read, but for one that has ended, may have a narrow mask still. */
static void note_result(struct widening *widening, int r)
{
	r = find_ended(r);
	widening->has_changed |= r > 0;
	if (r < 0 && r != -ESRCH && !widening->first_error)
		widening->first_error = r;
}

static void widen_process(struct widening *widening, pid_t pid)
{
	DIR *dir = root_opendir(widening->env->root, "proc/%d/task", (int)pid);
	struct dirent *thread;
	pid_t tid;
	int r = dir ? 0 : -errno;

	while (dir && (thread = root_readdir(dir, &r)))
		if (parse_pid(thread->d_name, &tid))
			note_result(widening, widen_child(widening, pid, tid));
	note_result(widening, r);
	if (dir)
		closedir(dir);
}

static void widen_pass(struct widening *widening)
{
	DIR *dir = root_opendir(widening->env->root, "proc");
	struct dirent *entry;
	pid_t pid;
	int r = dir ? 0 : -errno;

	while (dir && (entry = root_readdir(dir, &r)))
		if (parse_pid(entry->d_name, &pid))
			widen_process(widening, pid);
	note_result(widening, r);
	if (dir)
		closedir(dir);
}

/* A child that is not widened yet may make another one behind the walk. Returns 0 or the first
 * error of the last pass. */
static int widen_children(const struct step *step, const struct step_env *env)
{
	struct widening widening = { .has_changed = true };
	unsigned long long newest = 0;

	for (size_t i = 0; i < step->nr_items; i++)
		newest = step->items[i].stamp > newest ? step->items[i].stamp : newest;
	for (int pass = 0; pass < PASSES && widening.has_changed; pass++) {
		widening = (struct widening){ step, env, .newest = newest };
		widen_pass(&widening);
	}
	return widening.first_error;
}

/* One that may have handed its mask down stays in force for those children, so that the next
 * restore looks for them again. */
static void keep_parent(struct step *step, int r)
{
	for (size_t i = 0; i < step->nr_items; i++) {
		struct item *item = &step->items[i];

		if (item->state != STATE_UNDONE || !strcmp(item->before, item->after))
			continue;
		item->state = STATE_APPLIED;
		item->error = -r;
		break;
	}
}

static int undo_affinity(struct step *step, struct step_env *env)
{
	int r, children_r = 0;

	if (!root_is_live(env->root))
		return 0;
	r = step_undo_items(step, env, false, undo_item);
	/* after their parents, so that no more are made with a narrow mask */
	if (may_have_children(step, env))
		children_r = widen_children(step, env);
	if (children_r)
		keep_parent(step, children_r);
	return r ? r : children_r;
}

const struct step_kind tasks_affinity_kind = {
	.name = "task.affinity",
	.undo_rank = 50,
	.lifetime = LIFETIME_UNTIL_RESTORE,
	.capability = CAP_SYS_NICE,
	.describe = describe_affinity,
	.apply = apply_affinity,
	.undo = undo_affinity,
};

/* ---- step kind task.keep ----------------------------------------------------------------- */

/* On the way back: its mask is the one that the kernel gave it meanwhile, and another one is due.
 */
static bool is_given_back(const struct task *task, const struct step_env *env)
{
	for (size_t i = 0; env->is_return && i < env->own->nr_steps; i++) {
		const struct step *step = &env->own->steps[i];
		const struct item *item =
			step->kind == &tasks_affinity_kind
				? step_find_item(step, (unsigned long long)task->tid)
				: NULL;

		if (item && item->stamp == task->start && item_is_in_force(step, item))
			return true;
	}
	return false;
}

/*
 * Masks that the kernel or the boot gave, not a user: of kernel threads, and with isolcpus= of all
 * that descends from init. Users' own masks the kernel remembers by itself, and writing what is
 * visible of one, while CPUs are off, would narrow it for good.
 */
static bool is_to_keep(const struct task *task, const struct step_env *env)
{
	const struct machine *machine = env->machine;
	unsigned int cpu;

	if (!task_is_movable(task) || !task_is_pinned(task, machine) || is_given_back(task, env) ||
	    env_find_other(env, &tasks_keep_kind, (unsigned long long)task->tid, task->start,
			   NULL) ||
	    env_find_other(env, &tasks_affinity_kind, (unsigned long long)task->tid, task->start,
			   NULL))
		return false;
	if (task_is_kernel(task))
		return true;
	if (cpus_is_empty(machine->isolated) || (task->cgroup && task->cgroup->depth))
		return false;
	cpus_foreach(cpu, machine->online)
		if (hwloc_bitmap_isset(task->mask, cpu) ==
		    hwloc_bitmap_isset(machine->isolated, cpu))
			return false;
	return true;
}

bool tasks_are_kept(const struct step_env *env)
{
	for (size_t i = 0; env->is_return && i < env->own->nr_steps; i++)
		if (env->own->steps[i].kind == &tasks_keep_kind && env->own->steps[i].nr_items)
			return true; /* one that is being described has none yet */
	return false;
}

/*
 * CPUs come back inside a partition in any case, where the kernel can do that. By then the mask of
 * a thread that is bound to the CPUs that stayed looks like one of a thread that is not bound: it
 * is kept when CPUs go, whatever moves work then.
 */
static bool wants_keep(const struct step_env *env)
{
	if (!env->tasks || tasks_are_kept(env))
		return false;
	return env->evacuation->has_partition ||
	       (!env->is_return && env->evacuation->moves_tasks && env->cgroups->keeps_masks);
}

static int describe_keep(struct step *step, struct step_env *env)
{
	if (!wants_keep(env))
		return 0;
	if (env->is_return)
		step->lifetime = LIFETIME_DURING;
	for (size_t i = 0; i < env->tasks->nr; i++) {
		const struct task *task = &env->tasks->list[i];
		_cleanup_free_ char *mask = NULL;
		struct item *item;

		if (!is_to_keep(task, env))
			continue;
		mask = cpus_format(task->mask);
		item = mask ? step_add_item(step, (unsigned long long)task->tid, mask, mask,
					    "task %d %s", (int)task->tid, task->comm)
			    : NULL;
		if (!item)
			return -ENOMEM;
		item->stamp = task->start;
	}
	return 0;
}

static int apply_keep(struct step *step, struct step_env *env)
{
	for (size_t i = 0; i < step->nr_items; i++) {
		struct item *item = &step->items[i];
		int r = tasks_find(env->root, (pid_t)item->id, item->stamp);

		if (!r)
			r = put_back_mask((pid_t)item->id, item->before);
		/* it may have ended, or may not be changed: then there is nothing that could be
		 * kept */
		item->state = r ? STATE_FAILED : STATE_APPLIED;
		if (!root_is_shortage(r))
			continue;
		item->error = -r;
		return r;
	}
	return 0;
}

/*
 * The kernel has kept them. Where it has not after all, a kernel thread gets its mask once more,
 * unless another operation in force has kept it as well.
 */
static int keep_again(const struct step *step, struct step_env *env, const struct item *item)
{
	struct stat_fields fields;
	char buffer[16384];
	const char *list;
	int r;

	if (env_find_other(env, step->kind, item->id, item->stamp, NULL))
		return 0;
	r = read_recorded(env, item, &fields, buffer, sizeof(buffer), &list);
	if (r)
		return r == -ESRCH ? 0 : r;
	if (!(fields.flags & PF_KTHREAD) || !strcmp(list, item->before))
		return 0;
	r = put_back_mask((pid_t)item->id, item->before);
	/* one that may not be changed has nothing to get back */
	return root_is_shortage(r) ? r : 0;
}

static int undo_keep(struct step *step, struct step_env *env)
{
	return step_undo_items(step, env, false, keep_again);
}

const struct step_kind tasks_keep_kind = {
	.name = "task.keep",
	.undo_rank = 40,
	.lifetime = LIFETIME_UNTIL_RESTORE,
	.capability = CAP_SYS_NICE,
	.describe = describe_keep,
	.apply = apply_keep,
	.undo = undo_keep,
};
