/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * benchtool.c - what the bench needs and shells do not have: a fine clock, and bare loops to
 * compare with
 *
 * benchtool time FILE COMMAND...
 *	run the command; FILE gets its seconds, the seconds of CPU time, its peak memory in KiB and
 *	its exit status, as JSON
 * benchtool floor 0|1 CPU...
 *	the least that has to be done: expedite, an isolated partition where the kernel keeps masks,
 *	one write a CPU in the order given, and both taken away again
 * benchtool walk
 *	read stat and status of every thread in /proc; prints how many
 * benchtool migrations PID
 *	how often the threads of a process were moved to another CPU
 * benchtool interrupt DEVICE
 *	write a byte every 2 ms, so that the device interrupts
 * benchtool stalls CPU
 *	until SIGTERM wake every millisecond on this CPU, SCHED_FIFO; then print when it woke more
 *	than 1 ms late, how late, both in ms, and how many CPUs were online then, as a JSON list
 *
 * It is linked statically: the guests have no libraries beyond cpuoff's.
 */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CGROUP	  "/sys/fs/cgroup"
#define PARTITION CGROUP "/floor"

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* ---- time ---------------------------------------------------------------------------------- */

static double cpu_seconds(const struct rusage *usage)
{
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
	       (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

static int time_command(const char *file, char **argv)
{
	struct rusage usage;
	double start = now(), seconds;
	pid_t pid = fork();
	int status;
	FILE *out;

	if (!pid) {
		execvp(argv[0], argv);
		err(127, "%s", argv[0]);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) < 0)
		err(1, "%s", argv[0]);
	seconds = now() - start;
	out = fopen(file, "w");
	if (!out)
		err(1, "%s", file);
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	fprintf(out, "{\"seconds\":%.6f,\"cpu_seconds\":%.6f,\"kib\":%ld,\"status\":%d}\n", seconds,
		cpu_seconds(&usage), usage.ru_maxrss, status);
	return fclose(out) ? 1 : status;
}

/* ---- floor --------------------------------------------------------------------------------- */

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		err(1, "%s", path);
	close(fd);
}

static void make_partition(const char *cpus)
{
	char state[64] = "";
	int fd;

	put(CGROUP "/cgroup.subtree_control", "+cpuset");
	if (mkdir(PARTITION, 0755) < 0)
		err(1, PARTITION);
	put(PARTITION "/cpuset.cpus", cpus);
	put(PARTITION "/cpuset.cpus.partition", "isolated");
	fd = open(PARTITION "/cpuset.cpus.partition", O_RDONLY);
	if (fd < 0 || read(fd, state, sizeof(state) - 1) < 0 || strcmp(state, "isolated\n"))
		errx(1, "the partition is %s", state);
	close(fd);
}

static void remove_partition(void)
{
	if (rmdir(PARTITION) < 0)
		err(1, PARTITION);
	put(CGROUP "/cgroup.subtree_control", "-cpuset");
}

static int floor_loop(const char *value, char **cpus)
{
	bool has_partitions = !access(CGROUP "/cpuset.cpus.isolated", F_OK);
	char list[8192] = "", path[80];

	for (size_t i = 0, length = 0; cpus[i] && length < sizeof(list); i++)
		length += (size_t)snprintf(list + length, sizeof(list) - length, "%s,", cpus[i]);
	put("/sys/kernel/rcu_expedited", "1");
	if (has_partitions)
		make_partition(list);
	for (size_t i = 0; cpus[i]; i++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%s/online", cpus[i]);
		put(path, value);
	}
	if (has_partitions)
		remove_partition();
	put("/sys/kernel/rcu_expedited", "0");
	return 0;
}

/* ---- walks over threads -------------------------------------------------------------------- */

static void read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[length < 0 ? 0 : length] = '\0';
}

/* Calls @visit for all threads of a process; returns how many there were. */
static unsigned long visit_threads(const char *pid, void (*visit)(const char *thread, void *to),
				   void *to)
{
	unsigned long nr = 0;
	char path[600];
	struct dirent *t;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	tasks = opendir(path);
	while (tasks && (t = readdir(tasks))) {
		if (t->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/task/%s", pid, t->d_name);
		visit(path, to);
		nr++;
	}
	if (tasks)
		closedir(tasks);
	return nr;
}

static void read_thread(const char *thread, void *unused)
{
	char path[700], text[4096];

	(void)unused;
	snprintf(path, sizeof(path), "%s/stat", thread);
	read_file(path, text, sizeof(text));
	snprintf(path, sizeof(path), "%s/status", thread);
	read_file(path, text, sizeof(text));
}

static int walk(void)
{
	DIR *proc = opendir("/proc");
	unsigned long nr = 0;
	struct dirent *p;

	if (!proc)
		err(1, "/proc");
	while ((p = readdir(proc)))
		if (strtol(p->d_name, NULL, 10) > 0)
			nr += visit_threads(p->d_name, read_thread, NULL);
	closedir(proc);
	printf("%lu\n", nr);
	return 0;
}

static void add_migrations(const char *thread, void *to)
{
	char path[700], text[8192], *at;

	snprintf(path, sizeof(path), "%s/sched", thread);
	read_file(path, text, sizeof(text));
	at = strstr(text, "nr_migrations");
	at = at ? strchr(at, ':') : NULL;
	if (at)
		*(unsigned long *)to += strtoul(at + 1, NULL, 10);
}

static int migrations(const char *pid)
{
	unsigned long sum = 0;

	visit_threads(pid, add_migrations, &sum);
	printf("%lu\n", sum);
	return 0;
}

/* ---- load and prober ----------------------------------------------------------------------- */

static int interrupt(const char *device)
{
	int fd = open(device, O_WRONLY | O_NOCTTY);

	if (fd < 0)
		err(1, "%s", device);
	for (;;) {
		if (write(fd, ".", 1) < 0)
			err(1, "%s", device);
		nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
	}
}

static volatile sig_atomic_t is_over;

static void end(int unused)
{
	(void)unused;
	is_over = 1;
}

static int stalls(const char *cpu)
{
	static double woken[4096], late[4096];
	static long nr_online[4096];
	struct timespec next;
	size_t nr = 0;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(strtoul(cpu, NULL, 10), &set);
	if (sched_setaffinity(0, sizeof(set), &set) || mlockall(MCL_CURRENT | MCL_FUTURE) ||
	    sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 90 }))
		err(1, "CPU %s", cpu);
	signal(SIGTERM, end);
	clock_gettime(CLOCK_MONOTONIC, &next);
	while (!is_over && nr < sizeof(late) / sizeof(late[0])) {
		double due, woke;

		next.tv_nsec += 1000000;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		woke = now();
		due = (double)next.tv_sec + (double)next.tv_nsec / 1e9;
		if (woke - due <= 1e-3)
			continue;
		woken[nr] = woke * 1e3;
		late[nr] = (woke - due) * 1e3;
		nr_online[nr++] = sysconf(_SC_NPROCESSORS_ONLN);
		clock_gettime(CLOCK_MONOTONIC, &next);
	}
	for (size_t i = 0; i < nr; i++)
		printf("%s[%.3f,%.3f,%ld]", i ? "," : "[", woken[i], late[i], nr_online[i]);
	puts(nr ? "]" : "[]");
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (argc > 3 && !strcmp(what, "time"))
		return time_command(argv[2], argv + 3);
	if (argc > 3 && !strcmp(what, "floor"))
		return floor_loop(argv[2], argv + 3);
	if (argc == 2 && !strcmp(what, "walk"))
		return walk();
	if (argc == 3 && !strcmp(what, "migrations"))
		return migrations(argv[2]);
	if (argc == 3 && !strcmp(what, "interrupt"))
		return interrupt(argv[2]);
	if (argc == 3 && !strcmp(what, "stalls"))
		return stalls(argv[2]);
	errx(2, "benchtool time FILE COMMAND..., floor 0|1 CPU..., walk, migrations PID, interrupt "
		"DEVICE, stalls CPU");
}
