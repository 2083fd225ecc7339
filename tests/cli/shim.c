/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shim.c - stands for the kernel on a tree of plain files, preloaded into the program under test
 *
 * A write below CPUOFF_SHIM_ROOT/sys or .../proc gets a kernel's answer: the value replaces the file, and
 * a write to cpuN/online changes the online masks, hides or shows cpuN/topology and cpuN/cache, and takes
 * the CPU out of the masks of its siblings and its node. A write of 1 to LNXCPU:XX/eject takes CPU XX (its
 * number, in hexadecimal) out of the machine, 0 puts it back, which is the tests' own; 1 to the eject of
 * another object makes its status 0. What is hidden lies in CPUOFF_SHIM_ROOT.shim,
 * where the counters of the rules are too, since program and child share them.
 *
 * CPUOFF_SHIM_RULES names a file with a rule a line, CPUOFF_SHIM_LOG one that gets a line a write:
 *
 *	WHO WHAT ACTION [COUNT]		answer COUNT times (default and "*": always)
 *	cpuN vanish|appear EVENT N	the CPU goes, or comes, by itself before the Nth EVENT
 *
 * A list that is written to cpu_bulk_remove takes these CPUs, lowest number first, until one fails; "off" in
 * smt/control takes all but the first threads likewise, and "on" brings everything back, as Linux 6.12 does. A
 * CPU whose hotplug/fail is armed does not come online, once.
 *
 * WHO is cpuN, * (any CPU), or a pattern of paths below the root ("sys/kernel/rcu_*"). WHAT is offline,
 * online, bulk (offline, by a write for several), write (any value) or open (for writing). ACTION is the name of an errno, "stays" (the write
 * succeeds and nothing changes), "delay:SECONDS" or "until:PATH" (waits for that file, at most a minute). The
 * first rule with an errno or "stays" decides; all waits before it happen. EVENT is cpu-write, sys-open (for
 * writing, below sys), online-read (the mask of online CPUs is opened) or file-read (cpuN/online is).
 *
 * A line of the log: "VERB PATH VALUE ANSWER rcu=VALUE journals=N", VERB being write, self, or wait where one
 * is begun. With CPUOFF_SHIM_KIN=no the masks of siblings are left alone, which saves time on huge machines.
 * With CPUOFF_SHIM_SANDBOX set no process can do without new privileges.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define MAX_CPUS 8192
#define MAX_RULES 64
#define CPU_DIR "sys/devices/system/cpu"
#define NODE_DIR "sys/devices/system/node"

typedef unsigned char cpuset[MAX_CPUS];

/* Shared by all processes: lies in a file. */
struct state {
	int used[MAX_RULES];
	int nr_cpu_writes, nr_sys_opens, nr_online_reads, nr_file_reads;
};

/* ---- files, by system calls alone: what is intercepted must not be called from here --------------- */

static int real_open(int dir, const char *path, int flags, mode_t mode)
{
	return (int)syscall(SYS_openat, dir, path, flags, mode);
}

static ssize_t real_write(int fd, const void *data, size_t length)
{
	return syscall(SYS_write, fd, data, length);
}

static const char *root_dir(void)
{
	const char *root = getenv("CPUOFF_SHIM_ROOT");

	return root && *root ? root : NULL;
}

__attribute__((format(printf, 2, 3))) static const char *in_root(char *path, const char *fmt, ...)
{
	va_list ap;
	int length = snprintf(path, PATH_MAX, "%s/", root_dir());

	va_start(ap, fmt);
	vsnprintf(path + length, (size_t)(PATH_MAX - length), fmt, ap);
	va_end(ap);
	return path;
}

/* A place beside the root, which is made. */
__attribute__((format(printf, 2, 3))) static const char *in_store(char *path, const char *fmt, ...)
{
	va_list ap;
	int length = snprintf(path, PATH_MAX, "%s.shim", root_dir());

	mkdir(path, 0755);
	path[length++] = '/';
	va_start(ap, fmt);
	vsnprintf(path + length, (size_t)(PATH_MAX - length), fmt, ap);
	va_end(ap);
	return path;
}

static bool read_text(const char *path, char *text, size_t size)
{
	int fd = real_open(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	ssize_t length;

	if (fd < 0)
		return false;
	length = read(fd, text, size - 1);
	close(fd);
	text[length < 0 ? 0 : length] = '\0';
	return length >= 0;
}

static void write_text(const char *path, const char *text)
{
	int fd = real_open(AT_FDCWD, path, O_WRONLY | O_TRUNC | O_CLOEXEC, 0);

	if (fd < 0)
		return;
	if (real_write(fd, text, strlen(text)) < 0)
		abort();
	close(fd);
}

/* ---- CPU sets in the kernel's text forms --------------------------------------------------------- */

static bool read_list(const char *path, cpuset set)
{
	static char text[MAX_CPUS * 6];
	char *at = text;

	memset(set, 0, MAX_CPUS);
	if (!read_text(path, text, sizeof(text)))
		return false;
	while (isdigit((unsigned char)*at)) {
		long first = strtol(at, &at, 10), last = first;

		if (*at == '-')
			last = strtol(at + 1, &at, 10);
		for (; first <= last && first < MAX_CPUS; first++)
			set[first] = 1;
		if (*at == ',')
			at++;
	}
	return true;
}

static void write_list(const char *path, const cpuset set)
{
	static char text[MAX_CPUS * 6];
	size_t length = 0;
	int cpu, last;

	for (cpu = 0; cpu < MAX_CPUS; cpu++) {
		if (!set[cpu])
			continue;
		for (last = cpu; last + 1 < MAX_CPUS && set[last + 1]; last++)
			;
		length += (size_t)sprintf(text + length, last > cpu ? "%s%d-%d" : "%s%d",
					  length ? "," : "", cpu, last);
		cpu = last;
	}
	strcpy(text + length, "\n");
	write_text(path, text);
}

/* Returns the number of words in the mask, 0 where there is no such file. */
static int read_mask(const char *path, cpuset set)
{
	static char text[MAX_CPUS / 3];
	int nr = 1, word = 0, bit;
	char *at;

	memset(set, 0, MAX_CPUS);
	if (!read_text(path, text, sizeof(text)) || !isxdigit((unsigned char)*text))
		return 0;
	for (at = text; *at; at++)
		nr += *at == ',';
	for (at = text, word = nr - 1; word >= 0; word--) {
		unsigned long value = strtoul(at, &at, 16);

		for (bit = 0; bit < 32 && word * 32 + bit < MAX_CPUS; bit++)
			set[word * 32 + bit] = value >> bit & 1;
		if (*at == ',')
			at++;
	}
	return nr;
}

static void write_mask(const char *path, const cpuset set, int nr)
{
	static char text[MAX_CPUS / 3];
	size_t length = 0;
	int word, bit;

	for (word = nr - 1; word >= 0; word--) {
		unsigned int value = 0;

		for (bit = 0; bit < 32 && word * 32 + bit < MAX_CPUS; bit++)
			value |= (unsigned int)set[word * 32 + bit] << bit;
		length += (size_t)sprintf(text + length, word ? "%08x," : "%08x", value);
	}
	strcpy(text + length, "\n");
	write_text(path, text);
}

/* Sets or clears @cpu in a list file and in a mask file, where they are. */
static void change_files(const char *list, const char *mask, int cpu, bool is_in)
{
	static cpuset set;
	int nr;

	if (read_list(list, set) && set[cpu] != is_in) {
		set[cpu] = is_in;
		write_list(list, set);
	}
	nr = read_mask(mask, set);
	if (nr > cpu / 32 && set[cpu] != is_in) {
		set[cpu] = is_in;
		write_mask(mask, set, nr);
	}
}

/* ---- a CPU goes or comes ------------------------------------------------------------------------- */

/* Files of cpuN that hold sets of CPUs: the mask and the list. */
static const char *const relations[][2] = {
	{ "topology/thread_siblings", "topology/thread_siblings_list" },
	{ "topology/core_siblings", "topology/core_siblings_list" },
	{ "topology/core_cpus", "topology/core_cpus_list" },
	{ "topology/package_cpus", "topology/package_cpus_list" },
	{ "topology/die_cpus", "topology/die_cpus_list" },
	{ "topology/cluster_cpus", "topology/cluster_cpus_list" },
	{ "topology/book_siblings", "topology/book_siblings_list" },
	{ "topology/drawer_siblings", "topology/drawer_siblings_list" },
	{ "cache/index0/shared_cpu_map", "cache/index0/shared_cpu_list" },
	{ "cache/index1/shared_cpu_map", "cache/index1/shared_cpu_list" },
	{ "cache/index2/shared_cpu_map", "cache/index2/shared_cpu_list" },
	{ "cache/index3/shared_cpu_map", "cache/index3/shared_cpu_list" },
	{ "cache/index4/shared_cpu_map", "cache/index4/shared_cpu_list" },
};

#define NR_RELATIONS (sizeof(relations) / sizeof(relations[0]))

/* The kin of @cpu in @relation, by its own files, which lie below @dir. */
static bool read_kin(const char *dir, size_t relation, cpuset set)
{
	const char *kin = getenv("CPUOFF_SHIM_KIN");
	char path[PATH_MAX + 64];

	if (kin && !strcmp(kin, "no"))
		return false;
	snprintf(path, sizeof(path), "%s/%s", dir, relations[relation][1]);
	if (read_list(path, set))
		return true;
	snprintf(path, sizeof(path), "%s/%s", dir, relations[relation][0]);
	return read_mask(path, set) > 0;
}

static void change_kin(int other, size_t relation, int cpu, bool is_in)
{
	char list[PATH_MAX], mask[PATH_MAX];

	in_root(mask, CPU_DIR "/cpu%d/%s", other, relations[relation][0]);
	in_root(list, CPU_DIR "/cpu%d/%s", other, relations[relation][1]);
	change_files(list, mask, cpu, is_in);
}

/* The node of @cpu: by the link in its directory, or by the lists. -1 if none has it. */
static long node_of(int cpu)
{
	static cpuset set;
	char path[PATH_MAX], list[PATH_MAX];
	struct dirent *entry;
	long node = -1;
	DIR *dir = opendir(in_root(path, NODE_DIR));

	while (dir && node < 0 && (entry = readdir(dir))) {
		char *end;
		long id;

		if (strncmp(entry->d_name, "node", 4) || !isdigit((unsigned char)entry->d_name[4]))
			continue;
		id = strtol(entry->d_name + 4, &end, 10);
		if (!read_list(in_root(list, NODE_DIR "/%s/cpulist", entry->d_name), set))
			read_mask(in_root(list, NODE_DIR "/%s/cpumap", entry->d_name), set);
		if (set[cpu])
			node = id;
	}
	if (dir)
		closedir(dir);
	return node;
}

static void move_links(int cpu, long node, bool is_in)
{
	char shown[PATH_MAX], hidden[PATH_MAX];
	const char *from = is_in ? hidden : shown, *to = is_in ? shown : hidden;

	in_root(shown, CPU_DIR "/cpu%d/node%ld", cpu, node);
	in_store(hidden, "cpu%d/node%ld", cpu, node);
	rename(from, to);
	in_root(shown, NODE_DIR "/node%ld/cpu%d", node, cpu);
	in_store(hidden, "cpu%d/cpu%d", cpu, cpu);
	rename(from, to);
}

static void go_offline(int cpu)
{
	static cpuset kin;
	char dir[PATH_MAX], path[PATH_MAX], list[PATH_MAX], store[PATH_MAX];
	static char text[MAX_CPUS * 6];
	long node = node_of(cpu);
	size_t i;
	int other, fd;

	in_root(dir, CPU_DIR "/cpu%d", cpu);
	mkdir(in_store(store, "cpu%d", cpu), 0755);
	for (i = 0; i < NR_RELATIONS; i++) {
		if (!read_kin(dir, i, kin))
			continue;
		for (other = 0; other < MAX_CPUS; other++)
			if (kin[other] && other != cpu)
				change_kin(other, i, cpu, false);
	}
	if (node >= 0) {
		change_files(in_root(list, NODE_DIR "/node%ld/cpulist", node),
			     in_root(path, NODE_DIR "/node%ld/cpumap", node), cpu, false);
		move_links(cpu, node, false);
	}
	fd = real_open(AT_FDCWD, in_store(path, "cpu%d/node", cpu), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	close(fd);
	snprintf(text, sizeof(text), "%ld\n", node);
	write_text(path, text);
	rename(in_root(path, CPU_DIR "/cpu%d/topology", cpu), in_store(store, "cpu%d/topology", cpu));
	rename(in_root(path, CPU_DIR "/cpu%d/cache", cpu), in_store(store, "cpu%d/cache", cpu));
}

/* True where one of them had the other as kin when it went for the first time. */
static bool were_kin(int cpu, int other, size_t relation)
{
	static cpuset set;
	char path[PATH_MAX];

	return (read_list(in_store(path, "cpu%d/kin%zu", other, relation), set) && set[cpu]) ||
	       (read_list(in_store(path, "cpu%d/kin%zu", cpu, relation), set) && set[other]);
}

static void go_online(int cpu)
{
	static cpuset online, kin;
	char dir[PATH_MAX], path[PATH_MAX], list[PATH_MAX], store[PATH_MAX], text[32];
	size_t i;
	int other;
	long node = -1;

	in_root(dir, CPU_DIR "/cpu%d", cpu);
	rename(in_store(store, "cpu%d/topology", cpu), in_root(path, CPU_DIR "/cpu%d/topology", cpu));
	rename(in_store(store, "cpu%d/cache", cpu), in_root(path, CPU_DIR "/cpu%d/cache", cpu));
	read_list(in_root(path, CPU_DIR "/online"), online);
	for (i = 0; i < NR_RELATIONS; i++) {
		if (!read_kin(dir, i, kin))
			continue;
		/* Relations go both ways: what is known of those that left earlier, and later */
		for (other = 0; other < MAX_CPUS; other++) {
			if (other == cpu)
				continue;
			if (!kin[other]) {
				if (!online[other] ||
				    access(in_store(path, "cpu%d/seen", other), F_OK) < 0)
					continue;
				if (!were_kin(cpu, other, i))
					continue;
			}
			change_kin(other, i, cpu, online[other]);
			change_kin(cpu, i, other, online[other]);
		}
	}
	if (read_text(in_store(path, "cpu%d/node", cpu), text, sizeof(text)))
		node = strtol(text, NULL, 10);
	if (node >= 0) {
		change_files(in_root(list, NODE_DIR "/node%ld/cpulist", node),
			     in_root(path, NODE_DIR "/node%ld/cpumap", node), cpu, true);
		move_links(cpu, node, true);
	}
}

/* Keeps the kin of @cpu as they were when it went for the first time. */
static void remember_kin(int cpu)
{
	static cpuset kin;
	char dir[PATH_MAX], path[PATH_MAX];
	size_t i;
	int fd;

	mkdir(in_store(path, "cpu%d", cpu), 0755);
	fd = real_open(AT_FDCWD, in_store(path, "cpu%d/seen", cpu),
		       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	close(fd);
	in_root(dir, CPU_DIR "/cpu%d", cpu);
	for (i = 0; i < NR_RELATIONS; i++) {
		if (!read_kin(dir, i, kin))
			continue;
		fd = real_open(AT_FDCWD, in_store(path, "cpu%d/kin%zu", cpu, i),
			       O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		close(fd);
		write_list(path, kin);
	}
}

/* Puts @cpu into the state asked for. Returns 0, or an errno as the kernel would. */
static int change_cpu(int cpu, bool is_online)
{
	static cpuset online, present;
	char path[PATH_MAX];
	int other, nr = 0;

	read_list(in_root(path, CPU_DIR "/online"), online);
	if (!read_list(in_root(path, CPU_DIR "/present"), present) || !present[cpu])
		return EINVAL;
	if (online[cpu] == is_online)
		return 0;
	for (other = 0; other < MAX_CPUS; other++)
		nr += online[other];
	if (!is_online && nr == 1)
		return EBUSY;
	if (is_online) {
		go_online(cpu);
	} else {
		remember_kin(cpu);
		go_offline(cpu);
	}
	online[cpu] = is_online;
	write_list(in_root(path, CPU_DIR "/online"), online);
	if (read_list(in_root(path, CPU_DIR "/offline"), present)) {
		present[cpu] = !is_online;
		write_list(path, present);
	}
	write_text(in_root(path, CPU_DIR "/cpu%d/online", cpu), is_online ? "1\n" : "0\n");
	return 0;
}

/* The object's eject: 1 takes the CPU, or what held it, out of the machine; 0 puts the CPU back. */
static void eject(const char *path, bool is_out)
{
	static cpuset present;
	char cpu_dir[PATH_MAX], store[PATH_MAX], list[PATH_MAX];
	const char *name = strstr(path, "LNXCPU:");
	int cpu;

	if (!name) {
		write_text(in_root(list, "%.*s/status", (int)(strrchr(path, '/') - path), path), "0\n");
		return;
	}
	cpu = (int)strtol(name + 7, NULL, 16);
	read_list(in_root(list, CPU_DIR "/present"), present);
	present[cpu] = !is_out;
	in_root(cpu_dir, CPU_DIR "/cpu%d", cpu);
	in_store(store, "gone%d", cpu);
	if (is_out)
		rename(cpu_dir, store);
	else
		rename(store, cpu_dir);
	write_list(list, present);
}

/* ---- state, log, rules --------------------------------------------------------------------------- */

/* The file is the same for programs of another byte order. */
static void swap_bytes(struct state *state)
{
	uint32_t word;

	for (char *at = (char *)state; at < (char *)(state + 1); at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		word = htole32(word);
		memcpy(at, &word, sizeof(word));
	}
}

static int state_lock(struct state *state)
{
	char path[PATH_MAX];
	int fd = real_open(AT_FDCWD, in_store(path, "state"), O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	memset(state, 0, sizeof(*state));
	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		abort();
	if (read(fd, state, sizeof(*state)) < 0)
		abort();
	swap_bytes(state);
	return fd;
}

static void state_save(int fd, const struct state *state)
{
	struct state swapped = *state;

	swap_bytes(&swapped);
	if (lseek(fd, 0, SEEK_SET) < 0 || real_write(fd, &swapped, sizeof(swapped)) < 0)
		abort();
}

static int count_journals(void)
{
	char path[PATH_MAX];
	struct dirent *entry;
	int nr = 0;
	DIR *dir = opendir(in_root(path, "run/cpuoff"));

	while (dir && (entry = readdir(dir))) {
		size_t length = strlen(entry->d_name);

		nr += length > 5 && !strcmp(entry->d_name + length - 5, ".json");
	}
	if (dir)
		closedir(dir);
	return nr;
}

static void log_line(const char *verb, const char *path, const char *value, const char *answer)
{
	const char *log = getenv("CPUOFF_SHIM_LOG");
	char line[PATH_MAX + 256], rcu_path[PATH_MAX], rcu[32] = "";
	int fd;

	if (!log)
		return;
	if (read_text(in_root(rcu_path, "sys/kernel/rcu_expedited"), rcu, sizeof(rcu)))
		rcu[strcspn(rcu, "\n")] = '\0';
	snprintf(line, sizeof(line), "%s %s %s %s rcu=%s journals=%d\n", verb, path, value, answer, rcu,
		 count_journals());
	fd = real_open(AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0 || real_write(fd, line, strlen(line)) < 0)
		abort();
	close(fd);
}

struct rule {
	char who[256], what[16], action[256];
	int count; /* -1: always */
};

static const struct {
	const char *name;
	int number;
} errors[] = {
	{ "EACCES", EACCES }, { "EAGAIN", EAGAIN }, { "EBUSY", EBUSY }, { "ECANCELED", ECANCELED },
	{ "EINVAL", EINVAL }, { "EIO", EIO }, { "ENODEV", ENODEV }, { "ENOENT", ENOENT },
	{ "ENOMEM", ENOMEM }, { "ENOSPC", ENOSPC }, { "EOPNOTSUPP", EOPNOTSUPP }, { "EPERM", EPERM },
	{ "ERANGE", ERANGE }, { "EROFS", EROFS },
};

static int error_number(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (!strcmp(errors[i].name, name))
			return errors[i].number;
	return 0;
}

static const char *error_name(int number)
{
	size_t i;

	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].number == number)
			return errors[i].name;
	return number ? "error" : "ok";
}

static int read_rules(struct rule *rules)
{
	static char text[8192];
	const char *path = getenv("CPUOFF_SHIM_RULES");
	char *line, *rest = text;
	int nr = 0;

	if (!path || !read_text(path, text, sizeof(text)))
		return 0;
	while ((line = strsep(&rest, "\n")) && nr < MAX_RULES) {
		struct rule *rule = &rules[nr];
		char count[32] = "*";

		if (sscanf(line, "%255s %15s %255s %31s", rule->who, rule->what, rule->action, count) < 3)
			continue;
		rule->count = *count == '*' ? -1 : atoi(count);
		nr++;
	}
	return nr;
}

static bool rule_is_about(const struct rule *rule, const char *path)
{
	char name[256];
	int cpu, end = 0;

	if (!strcmp(rule->who, "*"))
		return !fnmatch(CPU_DIR "/cpu[0-9]*/online", path, 0);
	if (sscanf(rule->who, "cpu%d%n", &cpu, &end) == 1 && !rule->who[end]) {
		snprintf(name, sizeof(name), CPU_DIR "/cpu%d/online", cpu);
		return !strcmp(name, path);
	}
	return !fnmatch(rule->who, path, 0);
}

static void wait_seconds(double seconds)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)seconds;
	until.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/* CPUs that go or come by themselves before the Nth of this kind of event. */
static void run_events(const char *event)
{
	static struct rule rules[MAX_RULES];
	struct state state;
	int nr = read_rules(rules), fd, i, *counter, cpu;
	char path[64];

	fd = state_lock(&state);
	counter = !strcmp(event, "cpu-write") ? &state.nr_cpu_writes :
		  !strcmp(event, "sys-open")  ? &state.nr_sys_opens :
		  !strcmp(event, "file-read") ? &state.nr_file_reads :
						&state.nr_online_reads;
	++*counter;
	state_save(fd, &state);
	for (i = 0; i < nr; i++) {
		bool is_online = !strcmp(rules[i].what, "appear");

		if ((!is_online && strcmp(rules[i].what, "vanish")) || strcmp(rules[i].action, event) ||
		    rules[i].count != *counter || sscanf(rules[i].who, "cpu%d", &cpu) != 1)
			continue;
		change_cpu(cpu, is_online);
		snprintf(path, sizeof(path), CPU_DIR "/cpu%d/online", cpu);
		log_line("self", path, is_online ? "1" : "0", "ok");
	}
	close(fd);
}

/* What the rules answer to @what on @path: 0 (do it), -1 (pretend), or an errno. Waits where they say. */
static int ask_rules(const char *path, const char *what)
{
	static struct rule rules[MAX_RULES];
	const char *until = NULL;
	struct state state;
	int nr = read_rules(rules), fd, i, answer = 0;
	double delay = 0;

	fd = state_lock(&state);
	for (i = 0; i < nr && !answer; i++) {
		struct rule *rule = &rules[i];

		if (!rule_is_about(rule, path))
			continue;
		if (strcmp(rule->what, what) && (!strcmp(what, "open") || strcmp(rule->what, "write")))
			continue;
		if (rule->count >= 0 && state.used[i] >= rule->count)
			continue;
		state.used[i]++;
		if (!strncmp(rule->action, "delay:", 6))
			delay += strtod(rule->action + 6, NULL);
		else if (!strncmp(rule->action, "until:", 6))
			until = rule->action + 6;
		else if (!strcmp(rule->action, "stays"))
			answer = -1;
		else
			answer = error_number(rule->action);
	}
	state_save(fd, &state);
	close(fd);
	if (delay > 0)
		wait_seconds(delay);
	if (until) {
		log_line("wait", path, what, "until");
		for (i = 0; i < 6000 && access(until, F_OK) < 0; i++)
			wait_seconds(0.01);
	}
	return answer;
}

/* ---- one write for several CPUs ------------------------------------------------------------------ */

/* What the kernel answers to one of them: 0, an errno, or -1 where it says nothing and does nothing. */
static int change_one(int cpu, bool is_online)
{
	struct state state;
	char path[64];
	int answer = 0, lock;

	snprintf(path, sizeof(path), CPU_DIR "/cpu%d/online", cpu);
	if (!is_online)
		answer = ask_rules(path, "bulk");
	if (!answer)
		answer = ask_rules(path, is_online ? "online" : "offline");
	if (answer)
		return answer;
	lock = state_lock(&state);
	answer = change_cpu(cpu, is_online);
	close(lock);
	return answer;
}

static int bulk_remove(const char *value)
{
	static cpuset listed, online;
	char path[PATH_MAX], file[PATH_MAX];
	int cpu, answer = 0, fd;

	fd = real_open(AT_FDCWD, in_store(file, "bulk"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	close(fd);
	write_text(file, value);
	if (!read_list(file, listed))
		return EINVAL;
	read_list(in_root(path, CPU_DIR "/online"), online);
	for (cpu = 0; cpu < MAX_CPUS && answer <= 0; cpu++)
		if (listed[cpu] && online[cpu])
			answer = change_one(cpu, false);
	return answer > 0 ? answer : 0;
}

/* True where it is not the first thread of its core, by what was known before any thread went. */
static bool is_second_thread(int cpu)
{
	static cpuset kin;
	char path[PATH_MAX];
	int other;

	if (!read_list(in_store(path, "cpu%d/kin0", cpu), kin) &&
	    !read_list(in_root(path, CPU_DIR "/cpu%d/topology/thread_siblings_list", cpu), kin))
		return false;
	for (other = 0; other < cpu; other++)
		if (kin[other])
			return true;
	return false;
}

static void read_control(char *control, size_t size)
{
	char path[PATH_MAX];

	if (!read_text(in_root(path, CPU_DIR "/smt/control"), control, size))
		*control = '\0';
	control[strcspn(control, "\n")] = '\0';
}

/* Why the kernel does not bring this CPU online, or 0. */
static int refuse_online(int cpu)
{
	char path[PATH_MAX], text[32];

	read_control(text, sizeof(text));
	if ((!strcmp(text, "off") || !strcmp(text, "forceoff")) && is_second_thread(cpu))
		return EPERM;
	if (!read_text(in_root(path, CPU_DIR "/cpu%d/hotplug/fail", cpu), text, sizeof(text)) ||
	    !strcmp(text, "-1\n"))
		return 0;
	write_text(path, "-1\n");
	return EAGAIN;
}

static int control_smt(const char *value)
{
	static cpuset present, online;
	char path[PATH_MAX], control[32];
	bool is_on = !strcmp(value, "on");
	int cpu, answer = 0;

	if (!is_on && strcmp(value, "off"))
		return EINVAL;
	read_control(control, sizeof(control));
	if (!strcmp(control, value) || (!is_on && !strcmp(control, "1")))
		return 0;
	read_list(in_root(path, CPU_DIR "/present"), present);
	read_list(in_root(path, CPU_DIR "/online"), online);
	if (is_on)
		write_text(in_root(path, CPU_DIR "/smt/control"), "on\n");
	for (cpu = 0; cpu < MAX_CPUS && answer <= 0; cpu++) {
		if (!present[cpu] || online[cpu] == is_on || (!is_on && !is_second_thread(cpu)))
			continue;
		answer = is_on ? refuse_online(cpu) : 0;
		if (!answer)
			answer = change_one(cpu, is_on);
	}
	if (!is_on)
		write_text(in_root(path, CPU_DIR "/smt/control"), answer > 0 ? "1\n" : "off\n");
	return answer > 0 ? answer : 0;
}

/* ---- interception -------------------------------------------------------------------------------- */

/* The path below the root that @fd is open on, or NULL where it is not the kernel's. */
static const char *kernel_path(int fd, char *path)
{
	const char *root = root_dir();
	char link[64];
	ssize_t length;
	size_t skip;

	if (!root)
		return NULL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, PATH_MAX - 1);
	if (length < 0)
		return NULL;
	path[length] = '\0';
	skip = strlen(root);
	if (strncmp(path, root, skip) || path[skip] != '/')
		return NULL;
	path += skip + 1;
	return !strncmp(path, "sys/", 4) || !strncmp(path, "proc/", 5) ? path : NULL;
}

static ssize_t kernel_write(int fd, const char *path, const char *data, size_t length)
{
	char value[4096], text[4097], file[PATH_MAX];
	int cpu, end = 0, answer;
	struct state state;

	if (!length)
		return 0;
	snprintf(value, sizeof(value), "%.*s", (int)length, data);
	value[strcspn(value, "\n")] = '\0';
	if (sscanf(path, CPU_DIR "/cpu%d/online%n", &cpu, &end) == 1 && end && !path[end]) {
		if (strcmp(value, "0") && strcmp(value, "1")) {
			log_line("write", path, value, "EINVAL");
			errno = EINVAL;
			return -1;
		}
		run_events("cpu-write");
		answer = ask_rules(path, *value == '0' ? "offline" : "online");
		if (!answer && *value == '1')
			answer = refuse_online(cpu);
		if (!answer) {
			int lock = state_lock(&state);

			answer = change_cpu(cpu, *value == '1');
			close(lock);
		}
	} else {
		answer = ask_rules(path, "write");
		if (!answer && strlen(path) > 6 && !strcmp(path + strlen(path) - 6, "/eject")) {
			eject(path, *value == '1');
		} else if (!answer && !strcmp(path, CPU_DIR "/cpu_bulk_remove")) {
			answer = bulk_remove(value);
		} else if (!answer && !strcmp(path, CPU_DIR "/smt/control")) {
			answer = control_smt(value);
		} else if (!answer) {
			snprintf(text, sizeof(text), "%s\n", value);
			write_text(in_root(file, "%s", path), text);
		}
	}
	log_line("write", path, value, answer < 0 ? "stays" : error_name(answer));
	(void)fd;
	if (answer > 0) {
		errno = answer;
		return -1;
	}
	return (ssize_t)length;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t length)
{
	char buffer[PATH_MAX];
	const char *path = kernel_path(fd, buffer);

	return path ? kernel_write(fd, path, data, length) : NEXT(write)(fd, data, length);
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset)
{
	char buffer[PATH_MAX];
	const char *path = kernel_path(fd, buffer);

	return path ? kernel_write(fd, path, data, length) : NEXT(pwrite)(fd, data, length, offset);
}

#ifdef __GLIBC__ /* of others they are the same */
ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset)
{
	char buffer[PATH_MAX];
	const char *path = kernel_path(fd, buffer);

	return path ? kernel_write(fd, path, data, length) : NEXT(pwrite64)(fd, data, length, offset);
}
#endif

ssize_t writev(int fd, const struct iovec *parts, int nr)
{
	char buffer[PATH_MAX], data[4096];
	const char *path = kernel_path(fd, buffer);
	size_t length = 0;
	int i;

	if (!path)
		return NEXT(writev)(fd, parts, nr);
	for (i = 0; i < nr; i++) {
		size_t part = parts[i].iov_len;

		if (part > sizeof(data) - length)
			part = sizeof(data) - length;
		memcpy(data + length, parts[i].iov_base, part);
		length += part;
	}
	return kernel_write(fd, path, data, length);
}

static int denied(int fd, int error)
{
	if (fd >= 0)
		close(fd);
	errno = error;
	return -1;
}

/*
 * After a real open: what the rules say about it. The files of sysfs ignore O_TRUNC and cannot be made, so
 * the caller opened without both.
 */
static int opened(int fd, int flags)
{
	char buffer[PATH_MAX];
	const char *path;
	int answer, saved = errno;

	if (fd < 0 || flags & O_PATH)
		return fd;
	path = kernel_path(fd, buffer);
	if (!path)
		return fd;
	if ((flags & O_ACCMODE) == O_RDONLY) {
		if (!strcmp(path, CPU_DIR "/online"))
			run_events("online-read");
		else if (!fnmatch(CPU_DIR "/cpu*/online", path, FNM_PATHNAME))
			run_events("file-read");
		return fd;
	}
	if (!strncmp(path, "sys/", 4))
		run_events("sys-open");
	answer = ask_rules(path, "open");
	if (answer > 0)
		return denied(fd, answer);
	errno = saved;
	return fd;
}

/* True where @path, opened at @dir, lies in the kernel's part of the tree, as far as it exists. */
static bool is_kernel_file(int dir, const char *path)
{
	char buffer[PATH_MAX];
	int fd;
	bool is_ours;

	if (!root_dir())
		return false;
	fd = real_open(dir, path, O_PATH | O_CLOEXEC, 0);
	is_ours = fd >= 0 && kernel_path(fd, buffer);
	if (fd >= 0)
		close(fd);
	return is_ours;
}

static int open_any(int dir, const char *path, int flags, mode_t mode)
{
	if ((flags & O_ACCMODE) != O_RDONLY && is_kernel_file(dir, path))
		flags &= ~(O_TRUNC | O_CREAT | O_EXCL);
	return opened(real_open(dir, path, flags, mode), flags);
}

static mode_t mode_of(int flags, va_list ap)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(ap, mode_t) : 0;
}

#define DEFINE_OPEN(name)                                                                          \
	int name(const char *path, int flags, ...)                                                 \
	{                                                                                          \
		va_list ap;                                                                        \
		mode_t mode;                                                                       \
                                                                                                   \
		va_start(ap, flags);                                                               \
		mode = mode_of(flags, ap);                                                         \
		va_end(ap);                                                                        \
		return open_any(AT_FDCWD, path, flags, mode);                                      \
	}

#define DEFINE_OPENAT(name)                                                                        \
	int name(int dir, const char *path, int flags, ...)                                        \
	{                                                                                          \
		va_list ap;                                                                        \
		mode_t mode;                                                                       \
                                                                                                   \
		va_start(ap, flags);                                                               \
		mode = mode_of(flags, ap);                                                         \
		va_end(ap);                                                                        \
		return open_any(dir, path, flags, mode);                                           \
	}

#define DEFINE_PRCTL(name)                                                                         \
	int name(int option, ...)                                                                  \
	{                                                                                          \
		int answer;                                                                        \
		va_list ap;                                                                        \
                                                                                                   \
		va_start(ap, option);                                                              \
		answer = prctl_any(option, ap);                                                    \
		va_end(ap);                                                                        \
		return answer;                                                                     \
	}

/* Of the five arguments those that are not given are not looked at. */
static int prctl_any(int option, va_list ap)
{
	unsigned long a[4];

	if (option == PR_SET_NO_NEW_PRIVS && getenv("CPUOFF_SHIM_SANDBOX")) {
		errno = EPERM;
		return -1;
	}
	for (size_t i = 0; i < sizeof(a) / sizeof(a[0]); i++)
		a[i] = va_arg(ap, unsigned long);
	return (int)syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]);
}

int __prctl_time64(int option, ...);
DEFINE_PRCTL(prctl)
DEFINE_PRCTL(__prctl_time64)
DEFINE_OPEN(open)
DEFINE_OPENAT(openat)
#ifdef __GLIBC__
DEFINE_OPEN(open64)
DEFINE_OPENAT(openat64)
#endif
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);

int __open_2(const char *path, int flags)
{
	return open_any(AT_FDCWD, path, flags, 0);
}

int __open64_2(const char *path, int flags)
{
	return open_any(AT_FDCWD, path, flags, 0);
}

int __openat_2(int dir, const char *path, int flags)
{
	return open_any(dir, path, flags, 0);
}

int __openat64_2(int dir, const char *path, int flags)
{
	return open_any(dir, path, flags, 0);
}
