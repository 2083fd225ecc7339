/* SPDX-License-Identifier: GPL-2.0-or-later */
/* workers.c - tasks that suffer more than others: virtual CPUs, threads that poll, users of perf */
#include "host/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define WATCH_SECONDS 0.1
#define WATCHED_MAX   256

/* Looking at every file of every process may take long; nobody waits longer for this than: */
#define PERF_SECONDS 0.5

/* ---- virtual CPUs ------------------------------------------------------------------------ */

/* QEMU calls them "CPU 3/KVM", Firecracker "fc_vcpu 3", Cloud Hypervisor "vcpu3". */
static bool is_vcpu(const struct task *task)
{
	return (!strncmp(task->comm, "CPU ", 4) && strchr(task->comm, '/')) ||
	       !strncmp(task->comm, "fc_vcpu", 7) || !strncmp(task->comm, "vcpu", 4);
}

/* QEMU's "-name guest=web,debug-threads=on", or the name alone; "" where there is none. */
static void find_domain(const struct root *root, pid_t pid, char *domain, size_t size)
{
	_cleanup_close_ int fd = -1;
	char path[64], text[16384];
	const char *at = text, *end;
	ssize_t n;

	domain[0] = '\0';
	snprintf(path, sizeof(path), "proc/%d/cmdline", (int)pid);
	fd = root_openat(root, O_RDONLY, path);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return;
	text[n] = '\0';
	for (end = text + n; at < end && strcmp(at, "-name"); at += strlen(at) + 1)
		;
	if (at >= end)
		return;
	at += strlen(at) + 1;
	if (at >= end)
		return;
	if (!strncmp(at, "guest=", 6))
		at += 6;
	snprintf(domain, size, "%.*s", (int)strcspn(at, ","), at);
}

static bool is_pinned_inside(const struct machine *machine, const struct task *task,
			     hwloc_const_bitmap_t target)
{
	return !task_is_kernel(task) && task_is_pinned(task, machine) &&
	       task_is_pinned_to(task, machine, target);
}

/* Threads of a process stand next to each other. */
static int find_vcpus(const struct root *root, const struct machine *machine,
		      const struct tasks *tasks, hwloc_const_bitmap_t target,
		      struct named_list *vcpus)
{
	pid_t last = 0;

	for (size_t i = 0; i < tasks->nr; i++) {
		const struct task *task = &tasks->list[i];
		struct named *guest;
		char domain[128];

		if (!is_vcpu(task) || !is_pinned_inside(machine, task, target))
			continue;
		if (task->pid != last) {
			find_domain(root, task->pid, domain, sizeof(domain));
			if (named_add(vcpus, task->mask, 0, "%s%sprocess %d", domain,
				      domain[0] ? ", " : "", (int)task->pid))
				return -ENOMEM;
			last = task->pid;
		}
		guest = &vcpus->list[vcpus->nr - 1];
		guest->number++;
		hwloc_bitmap_or(guest->cpus, guest->cpus, task->mask);
	}
	return 0;
}

/* ---- threads that poll ------------------------------------------------------------------- */

struct watched {
	const struct task *task;
	unsigned long long ticks;
};

static bool may_poll(const struct machine *machine, const struct task *task,
		     hwloc_const_bitmap_t target)
{
	return task->state == 'R' && is_pinned_inside(machine, task, target) &&
	       cpus_count(task->mask) == 1;
}

static int find_busy(const struct root *root, const struct machine *machine,
		     const struct tasks *tasks, hwloc_const_bitmap_t target,
		     struct named_list *busy)
{
	unsigned long long enough =
		(unsigned long long)((double)sysconf(_SC_CLK_TCK) * WATCH_SECONDS * 0.8);
	struct watched watched[WATCHED_MAX];
	size_t nr = 0;

	for (size_t i = 0; i < tasks->nr && nr < WATCHED_MAX; i++)
		if (may_poll(machine, &tasks->list[i], target))
			watched[nr++] = (struct watched){ &tasks->list[i],
							  tasks_read_ticks(root, &tasks->list[i]) };
	if (nr)
		util_sleep(WATCH_SECONDS);
	for (size_t i = 0; i < nr; i++)
		if (tasks_read_ticks(root, watched[i].task) >= watched[i].ticks + enough &&
		    named_add(busy, watched[i].task->mask, 0, "%d %s", (int)watched[i].task->tid,
			      watched[i].task->comm))
			return -ENOMEM;
	return 0;
}

/* ---- perf -------------------------------------------------------------------------------- */

static long count_perf_events(const struct root *root, pid_t pid, double deadline)
{
	DIR *dir = root_opendir(root, "proc/%d/fd", (int)pid);
	const struct dirent *entry;
	long nr = 0;

	while (dir && util_now() < deadline && (entry = readdir(dir))) {
		char link[64];
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);

		if (n <= 0)
			continue;
		link[n] = '\0';
		nr += !strcmp(link, "anon_inode:[perf_event]");
	}
	if (dir)
		closedir(dir);
	return nr;
}

static int find_perf(const struct root *root, const struct tasks *tasks, struct workers *workers)
{
	double deadline = util_now() + PERF_SECONDS;

	for (size_t i = 0; i < tasks->nr; i++) {
		const struct task *task = &tasks->list[i];
		long nr;

		if (task->tid != task->pid || task_is_kernel(task))
			continue;
		if (util_now() >= deadline) {
			workers->is_perf_cut = true;
			return 0;
		}
		nr = count_perf_events(root, task->pid, deadline);
		if (nr && named_add(&workers->perf, NULL, nr, "%d %s", (int)task->pid, task->comm))
			return -ENOMEM;
	}
	return 0;
}

/* ------------------------------------------------------------------------------------------ */

int workers_read(const struct root *root, const struct machine *machine, const struct tasks *tasks,
		 hwloc_const_bitmap_t target, struct workers *ret_workers)
{
	int r;

	*ret_workers = (struct workers){ 0 };
	r = find_vcpus(root, machine, tasks, target, &ret_workers->vcpus);
	if (!r)
		r = find_busy(root, machine, tasks, target, &ret_workers->busy);
	if (!r)
		r = find_perf(root, tasks, ret_workers);
	if (r)
		workers_free(ret_workers);
	return r;
}

void workers_free(struct workers *workers)
{
	named_free(&workers->vcpus);
	named_free(&workers->busy);
	named_free(&workers->perf);
}
