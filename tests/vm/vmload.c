// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmload - load for the guests: threads that wake or spin, and a read in flight
 *
 * vmload wake N [CPULIST]	N threads, each wakes every 20 ms
 * vmload doze N [CPULIST]	N threads, each wakes every 200 ms
 * vmload busy N [CPULIST]	N threads that never sleep
 * vmload fork N [CPULIST]	N threads that start a short-lived process every 25 ms
 * vmload churn N [CPULIST]	N threads that start a short-lived thread every 25 ms
 * vmload keep N [CPULIST]	a process that starts another one every 250 ms; these stay and wake
 *				every 200 ms, each with a child of its own that does the same.
 *				All are called vmkeep
 * vmload sleep N [CPULIST]	N threads that never wake; called vmsleep, since they do not move
 * vmload fifo N [CPULIST]	N threads of policy SCHED_FIFO, each wakes every 200 ms
 * vmload deadline N RUNTIME PERIOD	N threads of policy SCHED_DEADLINE, microseconds
 * vmload where			the CPUs that tasks called vmload or vmkeep ran on last: "CPU COUNT"
 *				lines
 * vmload masks		the allowed CPUs of all threads that are not on their way out, "task PATH
 *				NAME@START LIST", and the cgroups of all processes, "task PATH @START CGROUP"
 * vmload signals COMMAND...	run the command with all signals as a terminal gives them; a
 *				shell starts what runs in its background deaf to SIGINT
 * vmload read DEVICE CPU	one uncached read of a block device, submitted on this CPU
 *
 * With a list the threads may run there only. It is linked statically: the guest
 * has no libraries beyond cpuoff's.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* More than any guest has; a test helper need not be for any size */
#define MAX_CPUS 1024

#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE 6
#endif

static const char *const modes[] = {
	"wake", "doze", "busy", "fork", "churn", "keep", "sleep", "fifo", "deadline",
};

static const char *mode;

static void pin(const char *list)
{
	cpu_set_t set;
	const char *s = list;

	CPU_ZERO(&set);
	while (*s) {
		char *end;
		unsigned long first = strtoul(s, &end, 10);
		unsigned long last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (unsigned long cpu = first; cpu <= last && cpu < MAX_CPUS; cpu++)
			CPU_SET(cpu, &set);
		if (*end && *end != ',')
			errx(2, "bad CPU list %s", list);
		s = *end ? end + 1 : end;
	}
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "affinity %s", list);
}

/* include/uapi/linux/sched/types.h, the first version of it; the C library has none */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period; /* nanoseconds */
};

static struct attributes attributes = { .size = sizeof(attributes) };

static void *end(void *unused)
{
	return unused;
}

static void nap(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000 * 1000 }, NULL);
}

static void start_process(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void start_thread(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, end, NULL))
		pthread_join(thread, NULL);
}

static void *work(void *unused)
{
	(void)unused;
	if (attributes.policy && syscall(SYS_sched_setattr, 0, &attributes, 0))
		err(1, "scheduling policy %u", attributes.policy);
	for (;;) {
		for (volatile unsigned int i = 0; i < 500; i++)
			;
		if (!strcmp(mode, "wake")) {
			nap(20);
		} else if (!strcmp(mode, "doze") || !strcmp(mode, "fifo") || !strcmp(mode, "keep")) {
			nap(200);
		} else if (!strcmp(mode, "sleep")) {
			pause();
		} else if (!strcmp(mode, "deadline")) {
			sched_yield(); /* until the next period */
		} else if (!strcmp(mode, "churn")) {
			start_thread();
			nap(25);
		} else if (!strcmp(mode, "fork")) {
			start_process();
			nap(25);
		}
	}
	return NULL;
}

/* A parent that ends takes its children along */
static void child(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static int keep(unsigned long nr)
{
	prctl(PR_SET_NAME, "vmkeep");
	for (unsigned long i = 0; i < nr; i++) {
		if (!fork()) {
			child();
			if (!fork())
				child();
			work(NULL);
		}
		nap(250);
	}
	work(NULL);
	return 0;
}

static int load(unsigned long nr_threads)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	for (unsigned long i = 1; i < nr_threads; i++) {
		pthread_t thread;

		errno = pthread_create(&thread, &attr, work, NULL);
		if (errno)
			err(1, "thread %lu", i);
	}
	work(NULL);
	return 0;
}

/* count_task - add the CPU where this thread ran last, if it is one of ours */
static void count_task(const char *pid, const char *tid, unsigned long *counts)
{
	char path[600], stat[1024];
	ssize_t len;
	char *s;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/task/%s/stat", pid, tid);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return;
	len = read(fd, stat, sizeof(stat) - 1);
	close(fd);
	if (len <= 0)
		return;
	stat[len] = '\0';
	if (!strstr(stat, "(vmload)") && !strstr(stat, "(vmkeep)"))
		return;
	/* processor is field 39; the name's closing parenthesis ends field 2 */
	s = strrchr(stat, ')');
	for (int field = 2; s && field < 39; field++) {
		s = strchr(s, ' ');
		if (s)
			s++;
	}
	if (s && strtoul(s, NULL, 10) < MAX_CPUS)
		counts[strtoul(s, NULL, 10)]++;
}

static int where(void)
{
	unsigned long counts[MAX_CPUS] = { 0 };
	DIR *proc = opendir("/proc");
	struct dirent *p, *t;

	if (!proc)
		err(1, "/proc");
	while ((p = readdir(proc))) {
		char path[300];
		DIR *tasks;

		/* This process is a vmload too, but no load */
		if (strtol(p->d_name, NULL, 10) <= 0 || strtol(p->d_name, NULL, 10) == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/%s/task", p->d_name);
		tasks = opendir(path);
		while (tasks && (t = readdir(tasks)))
			if (t->d_name[0] != '.')
				count_task(p->d_name, t->d_name, counts);
		if (tasks)
			closedir(tasks);
	}
	closedir(proc);
	for (unsigned long cpu = 0; cpu < MAX_CPUS; cpu++)
		if (counts[cpu])
			printf("%lu %lu\n", cpu, counts[cpu]);
	return 0;
}

static int read_device(const char *device, const char *cpu)
{
	void *page;
	int fd;

	pin(cpu);
	fd = open(device, O_RDONLY | O_DIRECT);
	if (fd < 0)
		err(1, "%s", device);
	if (posix_memalign(&page, 4096, 4096))
		errx(1, "no memory");
	if (read(fd, page, 4096) != 4096)
		err(1, "read of %s", device);
	return 0;
}

static int signals(char **argv)
{
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	execvp(argv[0], argv);
	err(127, "%s", argv[0]);
}

static bool read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[length < 0 ? 0 : length] = '\0';
	return length > 0;
}

/* proc(5): when the thread began, its state and its flags. */
static bool read_stat(const char *task, unsigned long long *start, char *state, unsigned *flags)
{
	char path[80], text[1024], *at;

	snprintf(path, sizeof(path), "%s/stat", task);
	if (!read_file(path, text, sizeof(text)))
		return false;
	at = strrchr(text, ')');
	return at && sscanf(at + 1, " %c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
				    "%*d %llu", state, flags, start) == 3;
}

/* Left out are workers and rescuers of workqueues, which the kernel binds to the CPU whose work they do, and
 * the threads of interrupts, which follow their interrupt's effective CPU. */
static void print_mask(const char *pid, const char *tid)
{
	char task[48], path[64], text[4096], name[32], state, *list;
	unsigned long long start;
	unsigned flags;

	snprintf(task, sizeof(task), "/proc/%.10s/task/%.10s", pid, tid);
	snprintf(path, sizeof(path), "%s/status", task);
	if (!read_stat(task, &start, &state, &flags) || state == 'Z' || state == 'X' || flags & 0x20 ||
	    !read_file(path, text, sizeof(text)) || sscanf(text, "Name: %31s", name) != 1 ||
	    !strncmp(name, "irq/", 4))
		return;
	list = strstr(text, "\nCpus_allowed_list:");
	if (list)
		printf("task %s %s@%llu %.*s\n", task, name, start, (int)strcspn(list + 20, "\n"), list + 20);
}

static void print_cgroup(const char *pid)
{
	char task[24], path[40], text[4096], state, *cgroup;
	unsigned long long start;
	unsigned flags;

	snprintf(task, sizeof(task), "/proc/%.10s", pid);
	snprintf(path, sizeof(path), "%s/cgroup", task);
	if (!read_stat(task, &start, &state, &flags) || !read_file(path, text, sizeof(text)))
		return;
	cgroup = strstr(text, "0::");
	if (cgroup)
		printf("task %s @%llu %.*s\n", path, start, (int)strcspn(cgroup + 3, "\n"), cgroup + 3);
}

static int masks(void)
{
	DIR *proc = opendir("/proc"), *tasks;
	struct dirent *process, *thread;
	char path[40];

	if (!proc)
		err(1, "/proc");
	while ((process = readdir(proc))) {
		snprintf(path, sizeof(path), "/proc/%.10s/task", process->d_name);
		if (process->d_name[0] < '0' || process->d_name[0] > '9' || !(tasks = opendir(path)))
			continue;
		print_cgroup(process->d_name);
		while ((thread = readdir(tasks)))
			if (thread->d_name[0] != '.')
				print_mask(process->d_name, thread->d_name);
		closedir(tasks);
	}
	closedir(proc);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "masks"))
		return masks();
	if (argc > 2 && !strcmp(argv[1], "signals"))
		return signals(argv + 2);
	if (argc == 2 && !strcmp(argv[1], "where"))
		return where();
	if (argc == 4 && !strcmp(argv[1], "read"))
		return read_device(argv[2], argv[3]);
	for (size_t i = 0; argc >= 3 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(argv[1], modes[i]))
			mode = modes[i];
	if (!mode || (!strcmp(mode, "deadline") && argc != 5))
		errx(2, "vmload MODE N [CPULIST], deadline N RUNTIME PERIOD, where, or read DEVICE CPU");
	if (!strcmp(mode, "fifo")) {
		attributes.policy = SCHED_FIFO;
		attributes.priority = 10;
	} else if (!strcmp(mode, "deadline")) {
		attributes.policy = SCHED_DEADLINE;
		attributes.runtime = strtoull(argv[3], NULL, 10) * 1000;
		attributes.deadline = strtoull(argv[4], NULL, 10) * 1000;
		attributes.period = attributes.deadline;
	} else if (!strcmp(mode, "sleep")) {
		prctl(PR_SET_NAME, "vmsleep");
	}
	if (argc == 4)
		pin(argv[3]);
	if (!strcmp(mode, "keep"))
		return keep(strtoul(argv[2], NULL, 10));
	return load(strtoul(argv[2], NULL, 10));
}
