/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fake-host.c - a machine in memory that behaves, behind the headers of host/root, writer and state
 */
#include "fake-host.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "guard.h"
#include "host/writer.h"

#define CPU_DIR	 "sys/devices/system/cpu"
#define BULK	 CPU_DIR "/cpu_bulk_remove"
#define SMT	 CPU_DIR "/smt/control"
#define TRACEFS	 "sys/kernel/tracing"
#define INSTANCE TRACEFS "/instances/cpuoff"

struct root {
	char path[2];
};

struct state {
	char path[16];
};

struct writer {
	pid_t pid;
};

struct fake fake;

static struct root the_root = { "/" };
static struct state the_state = { "/run/cpuoff" };
static struct writer the_writer = { 1 };
struct root *const fake_root = &the_root;
struct state *const fake_state = &the_state;
struct writer *const fake_writer = &the_writer;

void fake_reset(unsigned int nr_cpus)
{
	memset(&fake, 0, sizeof(fake));
	fake.nr_cpus = nr_cpus;
	fake.armed_failure = -1;
	fake.signals_at_once = 1;
	for (unsigned int cpu = 0; cpu < nr_cpus; cpu++)
		fake.online[cpu] = true;
}

void fake_add(struct fake_rule rule)
{
	fake.rules[fake.nr_rules++] = rule;
}

void fake_log(const char *fmt, ...)
{
	size_t length = strlen(fake.log);
	va_list ap;

	if (length)
		length += (size_t)snprintf(fake.log + length, sizeof(fake.log) - length, " ");
	va_start(ap, fmt);
	vsnprintf(fake.log + length, sizeof(fake.log) - length, fmt, ap);
	va_end(ap);
}

static size_t format_online(char *text, size_t size)
{
	size_t length = 0;

	text[0] = '\0';
	for (unsigned int cpu = 0; cpu < fake.nr_cpus; cpu++) {
		unsigned int last = cpu;

		if (!fake.online[cpu])
			continue;
		while (last + 1 < fake.nr_cpus && fake.online[last + 1])
			last++;
		length += (size_t)snprintf(text + length, size - length, "%s%u", length ? "," : "",
					   cpu);
		if (last > cpu)
			length += (size_t)snprintf(text + length, size - length, "-%u", last);
		cpu = last;
	}
	return length;
}

const char *fake_online(void)
{
	static char text[512];

	format_online(text, sizeof(text));
	return text;
}

static void read_cpu(struct machine *machine, unsigned int cpu)
{
	struct cpu *facts = &machine->cpus[cpu];

	*facts = (struct cpu){
		.is_present = true,
		.is_online = fake.online[cpu],
		.has_online_file = cpu > 0,
		.has_topology = fake.online[cpu],
		.socket = (long)cpu / 4,
		.die = 0,
		.core = (long)cpu / 2,
		.node = (long)cpu / 4,
		.thread = cpu % 2,
		.siblings = hwloc_bitmap_alloc(),
	};
	hwloc_bitmap_set_range(facts->siblings, cpu & ~1U, (int)(cpu | 1U));
	hwloc_bitmap_set(machine->possible, cpu);
	hwloc_bitmap_set(machine->present, cpu);
	if (fake.online[cpu])
		hwloc_bitmap_set(machine->online, cpu);
}

void fake_read_machine(struct machine *ret_machine)
{
	*ret_machine = (struct machine){
		.nr_cpus = fake.nr_cpus,
		.cpus = calloc(fake.nr_cpus, sizeof(struct cpu)),
		.possible = hwloc_bitmap_alloc(),
		.present = hwloc_bitmap_alloc(),
		.online = hwloc_bitmap_alloc(),
		.isolated = hwloc_bitmap_alloc(),
		.nohz_full = hwloc_bitmap_alloc(),
		.memory_free_kib = 1UL << 30,
	};
	for (unsigned int cpu = 0; cpu < fake.nr_cpus; cpu++)
		read_cpu(ret_machine, cpu);
	if (fake.smt_control[0])
		ret_machine->smt_control = strdup(fake.smt_control);
}

/* ---- instants ---------------------------------------------------------------------------- */

/* Every change goes through here first. Returns true where cpuoff was killed before. */
static bool was_killed(void)
{
	if (fake.is_guarded && !fake.nr_instants)
		guard_begin();
	fake.nr_instants++;
	return fake.killed_at && fake.nr_instants >= fake.killed_at;
}

/* ---- the clock: nothing here waits ------------------------------------------------------- */

double __wrap_util_now(void);
void __wrap_util_sleep(double seconds);

double __wrap_util_now(void)
{
	return fake.clock;
}

void __wrap_util_sleep(double seconds)
{
	fake.clock += seconds;
}

/* ---- writer ------------------------------------------------------------------------------ */

static bool fits(const struct fake_rule *rule, int cpu, bool online)
{
	if (rule->cpu != cpu && !(rule->cpu == FAKE_ANY_CPU && cpu >= 0))
		return false;
	if ((rule->write && rule->write != fake.nr_writes) ||
	    (rule->times && rule->nr_seen >= rule->times))
		return false;
	return rule->direction == FAKE_BOTH || (rule->direction == FAKE_UP) == online;
}

/* The first rule of this event that fits, or NULL. */
static struct fake_rule *happen(enum fake_event event, bool is_before, int cpu, bool online)
{
	for (size_t i = 0; i < fake.nr_rules; i++) {
		struct fake_rule *rule = &fake.rules[i];

		if (rule->event == event && rule->is_before == is_before &&
		    fits(rule, cpu, online)) {
			rule->nr_seen++;
			return rule;
		}
	}
	return NULL;
}

static void meddle(bool is_before, int cpu, bool online)
{
	struct fake_rule *rule = happen(FAKE_MEDDLE, is_before, cpu, online);

	if (rule)
		fake.online[rule->other] = rule->is_online;
}

/* What the kernel itself says to it, without a rule. */
static int refuse(int cpu, bool online)
{
	if (!online || fake.online[cpu])
		return 0;
	if (cpu % 2 && strstr(fake.smt_control, "off"))
		return -EPERM;
	if (!fake.fails_first[cpu])
		return 0;
	fake.fails_first[cpu] = false;
	return -EAGAIN;
}

static int set_cpu(int cpu, bool online)
{
	struct fake_rule *rule = happen(FAKE_FAIL, false, cpu, online);
	int r = rule ? -rule->error : refuse(cpu, online);

	if (rule)
		fake.armed_failure = -1;
	if (r) {
		fake_log("cpu%d!%d", cpu, online);
		return r;
	}
	fake_log("cpu%d=%d", cpu, online);
	if (!happen(FAKE_LIE, false, cpu, online))
		fake.online[cpu] = online;
	return 0;
}

static int write_cpu(int cpu, bool online)
{
	struct fake_rule *rule;
	int r;

	fake.nr_writes++;
	fake.was_unsaved |= !fake_nr_journals();
	meddle(true, cpu, online);
	if (happen(FAKE_SIGNAL, false, cpu, online))
		fake.nr_signals += fake.signals_at_once;
	if (happen(FAKE_STUCK, false, cpu, online)) {
		fake_log("cpu%d?%d", cpu, online);
		fake.is_stuck = true;
		return -ETIMEDOUT;
	}
	r = set_cpu(cpu, online);
	meddle(false, cpu, online);
	rule = happen(FAKE_MASK, false, cpu, online);
	if (rule)
		fake.mask_error = rule->error;
	return r;
}

int writer_set_cpu(const struct step_env *env, const struct item *item, const char *path,
		   const char *value, double *ret_seconds)
{
	int cpu;

	(void)env;
	(void)item;
	if (fake.is_stuck)
		return -ETIMEDOUT;
	if (was_killed())
		return 0;
	if (sscanf(path, CPU_DIR "/cpu%d/online", &cpu) != 1 || cpu >= (int)fake.nr_cpus)
		return -ENOENT;
	*ret_seconds = 0.25;
	fake.clock += 0.25;
	return write_cpu(cpu, !strcmp(value, "1"));
}

/* One of the CPUs that one write takes. */
static int take_one(int cpu)
{
	struct fake_rule *rule;

	meddle(true, cpu, false);
	if (happen(FAKE_SIGNAL, false, cpu, false))
		fake.nr_signals += fake.signals_at_once;
	if (happen(FAKE_STUCK, false, cpu, false)) {
		fake.is_stuck = true;
		return -ETIMEDOUT;
	}
	rule = happen(FAKE_FAIL, false, cpu, false);
	if (rule)
		return -rule->error;
	if (!happen(FAKE_LIE, false, cpu, false))
		fake.online[cpu] = false;
	return 0;
}

static int write_bulk(const char *list)
{
	int r = 0;

	fake_log("bulk=%s", list);
	if (!fake.has_bulk)
		return -ENOENT;
	for (unsigned int cpu = 0; cpu < fake.nr_cpus; cpu++) {
		int one = cpus_text_has(list, cpu) && fake.online[cpu] ? take_one((int)cpu) : 0;

		if (one && !r)
			r = one;
		if (fake.is_stuck || (r && !fake.is_posted))
			return r;
	}
	return fake.is_posted ? 0 : r;
}

static int switch_smt_off(void)
{
	if (!strcmp(fake.smt_control, "1"))
		return 0;
	for (unsigned int cpu = 1; cpu < fake.nr_cpus; cpu += 2) {
		int r = fake.online[cpu] ? take_one((int)cpu) : 0;

		if (r && fake.has_smt_trap)
			strcpy(fake.smt_control, "1");
		if (r)
			return r;
	}
	strcpy(fake.smt_control, "off");
	return 0;
}

static int switch_smt_on(void)
{
	if (!strcmp(fake.smt_control, "on"))
		return 0;
	strcpy(fake.smt_control, "on");
	for (unsigned int cpu = 0; cpu < fake.nr_cpus; cpu++) {
		int r = refuse((int)cpu, true);

		if (r)
			return r;
		fake.online[cpu] = true;
	}
	return 0;
}

static int write_smt(const char *value)
{
	fake_log("smt=%s", value);
	if (!fake.smt_control[0])
		return -ENOENT;
	return !strcmp(value, "off")  ? switch_smt_off()
	       : !strcmp(value, "on") ? switch_smt_on()
				      : -EINVAL;
}

int writer_take_cpus(const struct step_env *env, const struct step *step, size_t first, size_t nr,
		     const char *path, const char *value, double *ret_seconds)
{
	(void)env;
	(void)step;
	(void)first;
	if (fake.is_stuck)
		return -ETIMEDOUT;
	if (was_killed())
		return 0;
	*ret_seconds = 0.25 * (double)nr;
	fake.clock += *ret_seconds;
	fake.nr_writes++;
	fake.was_unsaved |= !fake_nr_journals();
	return !strcmp(path, BULK)  ? write_bulk(value)
	       : !strcmp(path, SMT) ? write_smt(value)
				    : -ENOENT;
}

int writer_start(const struct root *root, struct writer **ret_writer)
{
	(void)root;
	*ret_writer = fake_writer;
	return 0;
}

void writer_stop(struct writer *writer)
{
	(void)writer;
}

pid_t writer_pid(const struct writer *writer)
{
	return writer->pid;
}

bool writer_is_stuck(const struct writer *writer)
{
	(void)writer;
	return fake.is_stuck;
}

/* ---- root -------------------------------------------------------------------------------- */

int root_open(const char *dir, struct root **ret_root)
{
	(void)dir;
	*ret_root = fake_root;
	return 0;
}

void root_close(struct root *root)
{
	(void)root;
}

const char *root_path(const struct root *root)
{
	return root->path;
}

bool root_is_live(const struct root *root)
{
	(void)root;
	return fake.is_live;
}

static int read_mask(char *buffer, size_t size)
{
	int error = fake.mask_error;

	if (error > 0)
		fake.mask_error = 0;
	if (error)
		return error > 0 ? -error : error;
	return format_online(buffer, size) >= size ? -EFBIG : 0;
}

static int read_long(long value, char *buffer, size_t size)
{
	if (value < 0)
		return -ENOENT;
	snprintf(buffer, size, "%ld", value);
	return 0;
}

int root_read_buffer(const struct root *root, const char *path, char *buffer, size_t size)
{
	char file[8];
	unsigned int cpu;

	(void)root;
	if (!strcmp(path, CPU_DIR "/online"))
		return read_mask(buffer, size);
	if (!strcmp(path, "sys/kernel/rcu_expedited"))
		return read_long(fake.rcu_expedited, buffer, size);
	if (!strcmp(path, "sys/kernel/rcu_normal"))
		return read_long(fake.rcu_normal, buffer, size);
	if (!strcmp(path, CPU_DIR "/hotplug/states")) {
		snprintf(buffer, size,
			 "  1: threads:prepare\n173: workqueue:online\n201: sched:active");
		return 0;
	}
	if (!strcmp(path, SMT) && fake.smt_control[0]) {
		snprintf(buffer, size, "%s", fake.smt_control);
		return 0;
	}
	if (sscanf(path, CPU_DIR "/cpu%u/%7s", &cpu, file) == 2 && !strcmp(file, "online") && cpu &&
	    cpu < fake.nr_cpus)
		return read_long(fake.online[cpu], buffer, size);
	if (sscanf(path, CPU_DIR "/cpu%u/hotplug/fail", &cpu) == 1 && cpu < fake.nr_cpus &&
	    fake.fails_first[cpu]) {
		snprintf(buffer, size, "1");
		return 0;
	}
	if (fake.changing_cpu && sscanf(path, CPU_DIR "/cpu%u/hotplug/%7s", &cpu, file) == 2 &&
	    cpu < fake.nr_cpus && strcmp(file, "fail")) {
		bool is_left = cpu == fake.changing_cpu && !strcmp(file, "target");

		return read_long(fake.online[cpu] && !is_left ? 239 : 0, buffer, size);
	}
	if (strlen(path) > 5 && !strcmp(path + strlen(path) - 5, "/fail")) {
		snprintf(buffer, size, "%ld", fake.armed_failure);
		return 0;
	}
	return -ENOENT;
}

int root_openat(const struct root *root, int flags, const char *path)
{
	int fd;

	(void)root;
	(void)flags;
	if (strcmp(path, INSTANCE "/trace") || !fake.has_instance || !fake.trace)
		return -ENOENT;
	fd = memfd_create("trace", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, fake.trace, strlen(fake.trace)) < 0 || lseek(fd, 0, SEEK_SET) < 0) {
		close(fd);
		return -EIO;
	}
	return fd;
}

static bool has_path(const char *path)
{
	if (!strcmp(path, BULK))
		return fake.has_bulk;
	return !strncmp(path, TRACEFS, strlen(TRACEFS)) && fake.has_tracefs;
}

bool root_has(const struct root *root, const char *fmt, ...)
{
	char path[256];
	va_list ap;

	(void)root;
	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	return has_path(path);
}

static _printf_(3, 0) int vread(char *buffer, size_t size, const char *fmt, va_list ap)
{
	char path[256];

	vsnprintf(path, sizeof(path), fmt, ap);
	return root_read_buffer(fake_root, path, buffer, size);
}

int root_read(const struct root *root, char **ret_text, const char *fmt, ...)
{
	char text[4096];
	va_list ap;
	int r;

	(void)root;
	va_start(ap, fmt);
	r = vread(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (r)
		return r;
	*ret_text = strdup(text);
	return *ret_text ? 0 : -ENOMEM;
}

int root_read_long(const struct root *root, long *ret_value, const char *fmt, ...)
{
	char text[64];
	va_list ap;
	int r;

	(void)root;
	va_start(ap, fmt);
	r = vread(text, sizeof(text), fmt, ap);
	va_end(ap);
	return r ? r : util_parse_long(text, -1, 1L << 30, ret_value);
}

int root_read_cpulist(const struct root *root, unsigned int max, hwloc_bitmap_t ret_cpus,
		      const char *fmt, ...)
{
	char text[4096];
	va_list ap;
	int r;

	(void)root;
	va_start(ap, fmt);
	r = vread(text, sizeof(text), fmt, ap);
	va_end(ap);
	return r ? r : cpus_parse_kernel(text, max, ret_cpus);
}

int root_read_cpumask(const struct root *root, unsigned int max, hwloc_bitmap_t ret_cpus,
		      const char *fmt, ...)
{
	char text[4096];
	va_list ap;
	int r;

	(void)root;
	va_start(ap, fmt);
	r = vread(text, sizeof(text), fmt, ap);
	va_end(ap);
	return r ? r : cpus_parse_mask(text, max, ret_cpus);
}

static int write_rcu(const char *value)
{
	struct fake_rule *rule;
	bool is_up;
	long wanted;
	int r = util_parse_long(value, 0, 1L << 30, &wanted);

	if (r)
		return r;
	is_up = wanted > fake.rcu_expedited;
	meddle(true, FAKE_RCU, is_up);
	if (happen(FAKE_SIGNAL, false, FAKE_RCU, is_up))
		fake.nr_signals += fake.signals_at_once;
	rule = happen(FAKE_FAIL, false, FAKE_RCU, is_up);
	if (rule) {
		fake_log("rcu!%s", value);
		return -rule->error;
	}
	fake.rcu_expedited = wanted;
	fake_log("rcu=%s", value);
	meddle(false, FAKE_RCU, is_up);
	return 0;
}

/* cpuN/hotplug/fail: what it is armed with shows in the log only where it hits. */
static int write_fail(unsigned int cpu, const char *value)
{
	if (strcmp(value, "1") && strcmp(value, "-1"))
		return -EINVAL;
	fake.fails_first[cpu] = !strcmp(value, "1");
	return 0;
}

int writer_write(const struct step_env *env, const char *path, const char *value)
{
	unsigned int cpu;

	(void)env;
	if (was_killed())
		return 0;
	fake.was_unsaved |= !fake_nr_journals();
	if (!strcmp(path, SMT))
		return write_smt(value);
	if (sscanf(path, CPU_DIR "/cpu%u/hotplug/fail", &cpu) == 1 && cpu < fake.nr_cpus)
		return write_fail(cpu, value);
	if (!strcmp(path, "sys/kernel/rcu_expedited"))
		return write_rcu(value);
	return fake.has_instance && !strncmp(path, INSTANCE, strlen(INSTANCE)) ? 0 : -ENOENT;
}

int writer_mkdir(const struct step_env *env, const char *path)
{
	(void)env;
	if (was_killed())
		return 0;
	fake.was_unsaved |= !fake_nr_journals();
	if (fake.trace_error)
		return -fake.trace_error;
	if (strcmp(path, INSTANCE))
		return -ENOENT;
	if (fake.has_instance)
		return -EEXIST;
	fake.has_instance = true;
	fake_log("mkdir");
	return 0;
}

int writer_rmdir(const struct step_env *env, const char *path)
{
	(void)env;
	if (was_killed())
		return 0;
	if (fake.trace_undo_error)
		return -fake.trace_undo_error;
	if (strcmp(path, INSTANCE) || !fake.has_instance)
		return -ENOENT;
	fake.has_instance = false;
	fake_log("rmdir");
	return 0;
}

/* There are no links on this machine. */
int root_readlink(const struct root *root, const char *path, char *buffer, size_t size)
{
	(void)root;
	(void)path;
	(void)buffer;
	(void)size;
	return -ENOENT;
}

DIR *root_opendir(const struct root *root, const char *fmt, ...)
{
	(void)root;
	(void)fmt;
	errno = ENOENT;
	return NULL;
}

/* ---- state ------------------------------------------------------------------------------- */

int state_open(const struct root *root, const char *dir, bool create, struct state **ret_state)
{
	(void)root;
	(void)dir;
	(void)create;
	*ret_state = fake_state;
	return 0;
}

void state_close(struct state *state)
{
	(void)state;
}

const char *state_path(const struct state *state)
{
	return state->path;
}

int state_lock(struct state *state, pid_t *ret_holder)
{
	(void)state;
	*ret_holder = 0;
	return 0;
}

void state_note_writer(struct state *state, pid_t pid)
{
	(void)state;
	(void)pid;
}

struct fake_journal *fake_find_journal(const char *id)
{
	for (size_t i = 0; i < FAKE_NR_JOURNALS; i++)
		if (fake.journals[i].id[0] && !strcmp(fake.journals[i].id, id))
			return &fake.journals[i];
	return NULL;
}

unsigned int fake_nr_journals(void)
{
	unsigned int nr = 0;

	for (size_t i = 0; i < FAKE_NR_JOURNALS; i++)
		nr += fake.journals[i].id[0] != '\0';
	return nr;
}

static struct fake_journal *make_journal(const char *id)
{
	for (size_t i = 0; i < FAKE_NR_JOURNALS; i++)
		if (!fake.journals[i].id[0]) {
			snprintf(fake.journals[i].id, sizeof(fake.journals[i].id), "%s", id);
			return &fake.journals[i];
		}
	return NULL;
}

int state_list(const struct state *state, char ***ret_ids, size_t *ret_nr)
{
	char **ids = calloc(FAKE_NR_JOURNALS, sizeof(*ids));
	size_t nr = 0;

	(void)state;
	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < FAKE_NR_JOURNALS; i++)
		if (fake.journals[i].id[0]) {
			ids[nr] = strdup(fake.journals[i].id);
			if (ids[nr])
				nr++;
		}
	*ret_ids = ids;
	*ret_nr = nr;
	return 0;
}

int state_read(const struct state *state, const char *id, char **ret_text)
{
	const struct fake_journal *journal = fake_find_journal(id);

	(void)state;
	if (!journal)
		return -ENOENT;
	*ret_text = strndup(journal->text, journal->length);
	return *ret_text ? 0 : -ENOMEM;
}

bool state_has(const struct state *state, const char *id)
{
	(void)state;
	return fake_find_journal(id);
}

int state_write(const struct state *state, const char *id, const char *text, size_t length)
{
	struct fake_journal *journal = fake_find_journal(id);

	(void)state;
	if (was_killed())
		return 0;
	fake.nr_saves++;
	if (fake.save_fails_first <= fake.nr_saves && fake.nr_saves <= fake.save_fails_last)
		return -fake.save_error;
	if (!journal)
		journal = make_journal(id);
	if (!journal || length >= sizeof(journal->text))
		return -ENOSPC;
	memcpy(journal->text, text, length);
	journal->length = length;
	return 0;
}

int state_remove(const struct state *state, const char *id)
{
	struct fake_journal *journal = fake_find_journal(id);

	(void)state;
	if (was_killed())
		return 0;
	if (fake.remove_error)
		return -fake.remove_error;
	if (!journal)
		return -ENOENT;
	journal->id[0] = '\0';
	return 0;
}

/* ---- kinds for the executor alone -------------------------------------------------------- */

static const struct fake_kind *fake_of(const struct step *step)
{
	return (const struct fake_kind *)(const void *)step->kind;
}

static void set_item(const struct fake_kind *kind, const struct item *item, const char *sign,
		     bool online)
{
	if (was_killed())
		return;
	fake_log("%s%s:%llu", sign, kind->kind.name, item->id);
	if (kind->kind.is_per_cpu)
		fake.online[item->id] = online;
}

static int apply(struct step *step, struct step_env *env)
{
	const struct fake_kind *kind = fake_of(step);

	(void)env;
	fake.nr_signals += kind->nr_signals;
	for (size_t i = 0; i < step->nr_items; i++) {
		struct item *item = &step->items[i];

		if (kind->errors[FAKE_APPLY] && item->id == kind->failing_id) {
			item->state = STATE_FAILED;
			item->error = kind->errors[FAKE_APPLY];
			return -item->error;
		}
		set_item(kind, item, "+", false);
		item->state = STATE_APPLIED;
	}
	return 0;
}

static int verify(struct step *step, struct step_env *env)
{
	(void)env;
	fake_log("?%s", step->kind->name);
	return -fake_of(step)->errors[FAKE_VERIFY];
}

static int undo(struct step *step, struct step_env *env)
{
	const struct fake_kind *kind = fake_of(step);
	int r = 0;

	(void)env;
	for (size_t i = 0; i < step->nr_items; i++) {
		struct item *item = &step->items[i];

		if (!item_is_in_force(step, item))
			continue;
		if (kind->errors[FAKE_UNDO] && item->id == kind->failing_id) {
			item->error = kind->errors[FAKE_UNDO];
			r = -item->error;
			continue;
		}
		set_item(kind, item, "-", true);
		item->state = STATE_UNDONE;
	}
	return r;
}

static int describe(struct step *step, struct step_env *env)
{
	(void)env;
	return step_add_item(step, 1, "a", "b", "%s", step->kind->name) ? 0 : -ENOMEM;
}

struct fake_kind fake_kind(const char *name, unsigned int undo_rank, enum lifetime lifetime,
			   bool is_per_cpu)
{
	return (struct fake_kind){
		.kind = {
			.name = name,
			.undo_rank = undo_rank,
			.lifetime = lifetime,
			.is_per_cpu = is_per_cpu,
			.describe = describe,
			.apply = apply,
			.verify = verify,
			.undo = undo,
		},
	};
}
