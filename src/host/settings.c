/* SPDX-License-Identifier: GPL-2.0-or-later */
/* settings.c - step kind cpu.settings: what the kernel forgets of CPUs that go and come back */
#include "host/settings.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "host/names.h"
#include "host/root.h"
#include "host/writer.h"

#define CPU_DIR	     "sys/devices/system/cpu"
#define FREQ_DIR     CPU_DIR "/cpufreq"
#define UNCORE_DIR   CPU_DIR "/intel_uncore_frequency"
#define POWERCAP_DIR "sys/class/powercap"
#define THERMAL_DIR  "sys/class/thermal"
#define RESCTRL_DIR  "sys/fs/resctrl"

#define TEXT_SIZE 16384
#define ZONES_MAX 256

/* What to do with a value on the way back: the id of its item. */
enum rule {
	RULE_LOST,     /* the kernel forgets it: written back where it is another one */
	RULE_KEPT,     /* the kernel keeps it: told where it is another one */
	RULE_CPUS,     /* of a resctrl group: CPUs that it has lost are added */
	RULE_SCHEMATA, /* of a resctrl group, one domain of one resource */
};

struct plan {
	struct step *step;
	const struct step_env *env;
	hwloc_bitmap_t stays; /* online, and not in the target */
};

/* ---- planning ---------------------------------------------------------------------------- */

/* After an eject the kernel knows nothing any more. */
static enum rule rule_of(const struct plan *plan, enum rule rule)
{
	return rule == RULE_KEPT && plan->env->request->eject ? RULE_LOST : rule;
}

/* Adds a file, where it is and can be read. */
_printf_(3, 4) static int add_file(struct plan *plan, enum rule rule, const char *fmt, ...)
{
	_cleanup_free_ char *path = NULL, *value = NULL;
	va_list ap;
	int r;

	va_start(ap, fmt);
	path = util_vasprintf(fmt, ap);
	va_end(ap);
	if (!path)
		return -ENOMEM;
	r = root_read(plan->env->root, &value, "%s", path);
	if (r)
		return root_is_shortage(r) ? r : 0;
	return step_add_item(plan->step, rule_of(plan, rule), value, value, "/%s", path) ? 0
											 : -ENOMEM;
}

/* True where some of @cpus are online, and all that are, go. */
static bool is_leaving(const struct plan *plan, hwloc_const_bitmap_t cpus)
{
	return hwloc_bitmap_intersects(cpus, plan->env->machine->online) &&
	       !hwloc_bitmap_intersects(cpus, plan->stays);
}

/* Adds all files of a directory. */
static int add_directory(struct plan *plan, enum rule rule, const char *dir)
{
	_cleanup_names_ struct names names = { 0 };
	int r = names_list(plan->env->root, &names, "%s", dir);

	for (size_t i = 0; !r && i < names.nr; i++)
		r = add_file(plan, rule, "%s/%s", dir, names.list[i]);
	return r;
}

/* ---- frequencies ------------------------------------------------------------------------- */

/* "0 1 2", as the files of a policy have it. */
static int read_policy_cpus(const struct plan *plan, const char *policy, hwloc_bitmap_t ret_cpus)
{
	_cleanup_free_ char *text = NULL;
	int r = root_read(plan->env->root, &text, FREQ_DIR "/%s/affected_cpus", policy);

	hwloc_bitmap_zero(ret_cpus);
	if (r)
		return root_is_shortage(r) ? r : 0;
	for (char *at = text; *at; at++)
		if (isspace((unsigned char)*at))
			*at = ',';
	r = cpus_parse_kernel(text, plan->env->machine->nr_cpus - 1, ret_cpus);
	return root_is_shortage(r) ? r : 0;
}

static int add_policy(struct plan *plan, const char *policy, const char *governor)
{
	_cleanup_free_ char *driver = NULL, *tunables = NULL;
	const struct root *root = plan->env->root;
	enum rule preference = RULE_KEPT;
	int r = root_read(root, &driver, FREQ_DIR "/%s/scaling_driver", policy);

	if (root_is_shortage(r))
		return r;
	/* 6.12 forgets the preference of amd-pstate when a CPU goes */
	if (!r && !strncmp(driver, "amd", 3))
		preference = RULE_LOST;
	r = add_file(plan, RULE_KEPT, FREQ_DIR "/%s/scaling_governor", policy);
	if (!r)
		r = add_file(plan, RULE_KEPT, FREQ_DIR "/%s/scaling_max_freq", policy);
	if (!r)
		r = add_file(plan, RULE_KEPT, FREQ_DIR "/%s/scaling_min_freq", policy);
	if (!r && !strcmp(governor, "userspace"))
		r = add_file(plan, RULE_LOST, FREQ_DIR "/%s/scaling_setspeed", policy);
	if (!r)
		r = add_file(plan, preference, FREQ_DIR "/%s/energy_performance_preference",
			     policy);
	tunables = util_asprintf(FREQ_DIR "/%s/%s", policy, governor);
	if (!tunables)
		return -ENOMEM;
	return r || !*governor ? r : add_directory(plan, RULE_LOST, tunables);
}

/* The governors of policies, and whether any of their policies stays. */
struct governor {
	char name[32];
	bool stays;
};

struct governors {
	struct governor *list;
	size_t nr;
};

static int note_governor(struct governors *governors, const char *name, bool stays)
{
	struct governor *list;

	for (size_t i = 0; i < governors->nr; i++)
		if (!strcmp(governors->list[i].name, name)) {
			governors->list[i].stays |= stays;
			return 0;
		}
	list = util_grow(governors->list, governors->nr, sizeof(*list));
	if (!list)
		return -ENOMEM;
	governors->list = list;
	snprintf(list[governors->nr].name, sizeof(list->name), "%s", name);
	list[governors->nr++].stays = stays;
	return 0;
}

static int take_policy(struct plan *plan, const char *policy, struct governors *governors)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	_cleanup_free_ char *governor = NULL;
	int r = cpus ? read_policy_cpus(plan, policy, cpus) : -ENOMEM;

	if (!r)
		r = root_read(plan->env->root, &governor, FREQ_DIR "/%s/scaling_governor", policy);
	if (root_is_shortage(r))
		return r;
	r = note_governor(governors, governor ? governor : "", !is_leaving(plan, cpus));
	return r || !is_leaving(plan, cpus) ? r
					    : add_policy(plan, policy, governor ? governor : "");
}

/* Governors without tunables of each policy have one folder, which goes with their last policy. */
static int plan_frequencies(struct plan *plan)
{
	struct governors governors = { 0 };
	_cleanup_names_ struct names names = { 0 };
	int r = names_list(plan->env->root, &names, FREQ_DIR);

	for (size_t i = 0; !r && i < names.nr; i++)
		if (!strncmp(names.list[i], "policy", 6))
			r = take_policy(plan, names.list[i], &governors);
	for (size_t i = 0; !r && i < governors.nr; i++) {
		char dir[128];

		if (governors.list[i].stays || !*governors.list[i].name)
			continue;
		snprintf(dir, sizeof(dir), FREQ_DIR "/%s", governors.list[i].name);
		r = add_directory(plan, RULE_LOST, dir);
	}
	free(governors.list);
	return r;
}

/* ---- each CPU ---------------------------------------------------------------------------- */

/* An idle state that nobody has disabled is as it comes. */
static int plan_idle_states(struct plan *plan, unsigned int cpu)
{
	for (unsigned int state = 0;; state++) {
		long disabled;
		int r = root_read_long(plan->env->root, &disabled,
				       CPU_DIR "/cpu%u/cpuidle/state%u/disable", cpu, state);

		if (r)
			return root_is_shortage(r) ? r : 0;
		if (disabled)
			r = add_file(plan, RULE_KEPT, CPU_DIR "/cpu%u/cpuidle/state%u/disable", cpu,
				     state);
		if (r)
			return r;
	}
}

static int plan_cpus(struct plan *plan)
{
	unsigned int cpu;

	cpus_foreach(cpu, plan->env->target) {
		int r = add_file(plan, RULE_KEPT, CPU_DIR "/cpu%u/power/energy_perf_bias", cpu);

		if (!r)
			r = plan_idle_states(plan, cpu);
		if (r)
			return r;
	}
	return 0;
}

/* ---- packages: power and temperature ----------------------------------------------------- */

/* True where the socket, or the die of it where @die is one, loses its last CPU. */
static bool is_package_leaving(const struct plan *plan, long socket, long die)
{
	const struct machine *machine = plan->env->machine;
	bool has_any = false;
	unsigned int cpu;

	cpus_foreach(cpu, machine->online) {
		if (machine->cpus[cpu].socket != socket ||
		    (die != CPU_ID_NONE && machine->cpus[cpu].die != die))
			continue;
		if (hwloc_bitmap_isset(plan->stays, cpu))
			return false;
		has_any = true;
	}
	return has_any;
}

/* Tells zones of the same number apart: FNV-1a of the name. */
static unsigned long long hash_name(const char *name)
{
	unsigned long long hash = 0xcbf29ce484222325ULL;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 0x100000001b3ULL;
	return hash >> 1; /* a journal has signed numbers */
}

static int plan_zone(struct plan *plan, const char *zone, unsigned long long stamp)
{
	size_t nr = plan->step->nr_items;
	int r = 0;

	for (unsigned int i = 0; !r && i < 3; i++) {
		r = add_file(plan, RULE_LOST, POWERCAP_DIR "/%s/constraint_%u_power_limit_uw", zone,
			     i);
		if (!r)
			r = add_file(plan, RULE_LOST,
				     POWERCAP_DIR "/%s/constraint_%u_time_window_us", zone, i);
	}
	/* a limit is set before it is in force */
	if (!r)
		r = add_file(plan, RULE_LOST, POWERCAP_DIR "/%s/enabled", zone);
	for (; nr < plan->step->nr_items; nr++)
		plan->step->items[nr].stamp = stamp;
	return r;
}

/* "intel-rapl:1" and all below it, "intel-rapl:1:0". */
static int plan_package_zones(struct plan *plan, const struct names *names, const char *top,
			      unsigned long long stamp)
{
	size_t length = strlen(top);
	int r = 0;

	for (size_t i = 0; !r && i < names->nr; i++)
		if (!strncmp(names->list[i], top, length) &&
		    (!names->list[i][length] || names->list[i][length] == ':'))
			r = plan_zone(plan, names->list[i], stamp);
	return r;
}

static int plan_power(struct plan *plan)
{
	_cleanup_names_ struct names names = { 0 };
	int r = names_list(plan->env->root, &names, POWERCAP_DIR);

	for (size_t i = 0; !r && i < names.nr; i++) {
		_cleanup_free_ char *name = NULL;
		long socket, die = CPU_ID_NONE;
		const char *colon = strchr(names.list[i], ':');

		if (!colon || strchr(colon + 1, ':'))
			continue;
		r = root_read(plan->env->root, &name, POWERCAP_DIR "/%s/name", names.list[i]);
		if (r || sscanf(name, "package-%ld-die-%ld", &socket, &die) < 1) {
			r = root_is_shortage(r) ? r : 0;
			continue;
		}
		if (is_package_leaving(plan, socket, die))
			r = plan_package_zones(plan, &names, names.list[i], hash_name(name));
	}
	return r;
}

/*
 * drivers/platform/x86/intel/uncore-frequency: the folder of a die goes with its last CPU. The
 * processor is likely to keep its limits, but the driver does not; what it takes for the initial
 * ones it reads anew then, and cannot be told. The folders "uncore00" of TPMI stay.
 */
static int plan_uncore(struct plan *plan)
{
	_cleanup_names_ struct names names = { 0 };
	int r = names_list(plan->env->root, &names, UNCORE_DIR);

	for (size_t i = 0; !r && i < names.nr; i++) {
		long socket, die;

		if (sscanf(names.list[i], "package_%ld_die_%ld", &socket, &die) != 2 ||
		    !is_package_leaving(plan, socket, die))
			continue;
		r = add_file(plan, RULE_LOST, UNCORE_DIR "/%s/max_freq_khz", names.list[i]);
		if (!r)
			r = add_file(plan, RULE_LOST, UNCORE_DIR "/%s/min_freq_khz", names.list[i]);
	}
	return r;
}

/* The sockets that are online, the one with the lowest CPU first. Returns how many. */
static size_t list_sockets(const struct plan *plan, long *sockets, size_t size)
{
	size_t nr = 0;
	unsigned int cpu;

	cpus_foreach(cpu, plan->env->machine->online) {
		long socket = plan->env->machine->cpus[cpu].socket;
		size_t i = 0;

		while (i < nr && sockets[i] != socket)
			i++;
		if (i == nr && nr < size)
			sockets[nr++] = socket;
	}
	return nr;
}

/* The numbers of the zones of package temperatures. */
static int list_zones(const struct plan *plan, hwloc_bitmap_t ret_zones)
{
	_cleanup_names_ struct names names = { 0 };
	int r = names_list(plan->env->root, &names, THERMAL_DIR);

	for (size_t i = 0; !r && i < names.nr; i++) {
		_cleanup_free_ char *type = NULL;
		long number;

		if (strncmp(names.list[i], "thermal_zone", 12) ||
		    util_parse_long(names.list[i] + 12, 0, INT_MAX, &number) ||
		    root_read(plan->env->root, &type, THERMAL_DIR "/%s/type", names.list[i]) ||
		    strcmp(type, "x86_pkg_temp"))
			continue;
		if (hwloc_bitmap_set(ret_zones, (unsigned int)number))
			r = -ENOMEM;
	}
	return r;
}

/*
 * Zones do not say whose they are; they were made as the first CPUs of the packages came. A zone
 * that comes back takes the lowest free number, its own.
 */
static int plan_temperatures(struct plan *plan)
{
	_cleanup_cpus_ hwloc_bitmap_t zones = hwloc_bitmap_alloc();
	long sockets[ZONES_MAX] = { 0 };
	size_t i = 0, nr;
	unsigned int zone;
	int r = zones ? list_zones(plan, zones) : -ENOMEM;

	if (r || cpus_is_empty(zones))
		return r;
	nr = list_sockets(plan, sockets, ARRAY_SIZE(sockets));
	if (nr != cpus_count(zones))
		return 0;
	cpus_foreach(zone, zones) {
		if (!is_package_leaving(plan, sockets[i++], CPU_ID_NONE))
			continue;
		for (unsigned int trip = 0; !r && trip < 2; trip++)
			r = add_file(plan, RULE_LOST,
				     THERMAL_DIR "/thermal_zone%u/trip_point_%u_temp", zone, trip);
		if (r)
			return r;
	}
	return 0;
}

/* ---- resctrl ----------------------------------------------------------------------------- */

/* The ids of caches, by level, that lose their last CPU: the kernel frees their domains. */
struct domains {
	hwloc_bitmap_t of_l2, of_l3;
};

static int note_cache(struct plan *plan, unsigned int cpu, unsigned int index, long level,
		      struct domains *domains)
{
	_cleanup_cpus_ hwloc_bitmap_t sharers = hwloc_bitmap_alloc();
	long id = -1;
	int r;

	if (!sharers)
		return -ENOMEM;
	r = root_read_cpulist(plan->env->root, plan->env->machine->nr_cpus - 1, sharers,
			      CPU_DIR "/cpu%u/cache/index%u/shared_cpu_list", cpu, index);
	if (!r)
		r = root_read_long(plan->env->root, &id, CPU_DIR "/cpu%u/cache/index%u/id", cpu,
				   index);
	if (r || id < 0 || id > INT_MAX || !is_leaving(plan, sharers))
		return root_is_shortage(r) ? r : 0;
	return hwloc_bitmap_set(level == 2 ? domains->of_l2 : domains->of_l3, (unsigned int)id)
		       ? -ENOMEM
		       : 0;
}

static int find_domains(struct plan *plan, struct domains *domains)
{
	unsigned int cpu;

	cpus_foreach(cpu, plan->env->target)
		for (unsigned int index = 0;; index++) {
			long level;
			int r = root_read_long(plan->env->root, &level,
					       CPU_DIR "/cpu%u/cache/index%u/level", cpu, index);

			if (root_is_shortage(r))
				return r;
			if (r)
				break;
			if (level == 2 || level == 3)
				r = note_cache(plan, cpu, index, level, domains);
			if (r)
				return r;
		}
	return 0;
}

/* One line, "L3:0=fffff;1=fffff". */
static int plan_resource(struct plan *plan, const char *path, char *line,
			 const struct domains *domains)
{
	const char *name = line + strspn(line, " ");
	hwloc_const_bitmap_t lost = strncmp(name, "L2", 2) ? domains->of_l3 : domains->of_l2;
	char *rest = strchr(line, ':'), *entry;

	if (!rest)
		return 0;
	*rest++ = '\0';
	while ((entry = strsep(&rest, ";"))) {
		char *value = strchr(entry, '=');
		long id;

		if (!value)
			continue;
		*value++ = '\0';
		if (util_parse_long(entry + strspn(entry, " "), 0, INT_MAX, &id) ||
		    !hwloc_bitmap_isset(lost, (unsigned int)id))
			continue;
		if (!step_add_item(plan->step, RULE_SCHEMATA, value, value, "/%s %s:%ld", path,
				   name, id))
			return -ENOMEM;
	}
	return 0;
}

static int plan_schemata(struct plan *plan, const char *group, const struct domains *domains)
{
	_cleanup_free_ char *text = NULL, *path = util_asprintf("%s/schemata", group);
	char *rest, *line;
	int r = path ? root_read(plan->env->root, &text, "%s", path) : -ENOMEM;

	if (r)
		return root_is_shortage(r) ? r : 0;
	rest = text;
	while (!r && (line = strsep(&rest, "\n")))
		r = plan_resource(plan, path, line, domains);
	return r;
}

/* A CPU that goes leaves its group, and comes back to the default one. */
static int plan_group_cpus(struct plan *plan, const char *group)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	_cleanup_free_ char *object = util_asprintf("/%s/cpus_list", group), *before = NULL,
			    *after = NULL;
	unsigned int max = plan->env->machine->nr_cpus - 1;
	const char *earlier;
	int r;

	if (!cpus || !object)
		return -ENOMEM;
	earlier = env_before(plan->env, plan->step->kind, RULE_CPUS, 0, object);
	r = earlier ? cpus_parse_kernel(earlier, max, cpus)
		    : root_read_cpulist(plan->env->root, max, cpus, "%s", object + 1);
	if (r || !hwloc_bitmap_intersects(cpus, plan->env->target))
		return root_is_shortage(r) ? r : 0;
	before = cpus_format(cpus);
	if (hwloc_bitmap_and(cpus, cpus, plan->stays))
		return -ENOMEM;
	after = cpus_format(cpus);
	return before && after && step_add_item(plan->step, RULE_CPUS, before, after, "%s", object)
		       ? 0
		       : -ENOMEM;
}

/* @group and the groups of monitoring in it. */
static int plan_group(struct plan *plan, const char *group, bool is_default,
		      const struct domains *domains)
{
	_cleanup_names_ struct names names = { 0 };
	int r = is_default ? 0 : plan_group_cpus(plan, group);

	if (!r)
		r = plan_schemata(plan, group, domains);
	if (!r)
		r = names_list(plan->env->root, &names, "%s/mon_groups", group);
	for (size_t i = 0; !r && i < names.nr; i++) {
		_cleanup_free_ char *path = util_asprintf("%s/mon_groups/%s", group, names.list[i]);

		r = path ? plan_group_cpus(plan, path) : -ENOMEM;
	}
	return r;
}

static int plan_groups(struct plan *plan, const struct domains *domains)
{
	_cleanup_names_ struct names names = { 0 };
	int r = names_list(plan->env->root, &names, RESCTRL_DIR);

	if (!r)
		r = plan_group(plan, RESCTRL_DIR, true, domains);
	for (size_t i = 0; !r && i < names.nr; i++) {
		_cleanup_free_ char *path = util_asprintf(RESCTRL_DIR "/%s", names.list[i]);

		if (!path)
			return -ENOMEM;
		if (root_has(plan->env->root, "%s/schemata", path))
			r = plan_group(plan, path, false, domains);
	}
	return r;
}

static int plan_resctrl(struct plan *plan)
{
	_cleanup_cpus_ hwloc_bitmap_t of_l2 = hwloc_bitmap_alloc(), of_l3 = hwloc_bitmap_alloc();
	struct domains domains = { of_l2, of_l3 };
	int r;

	if (!of_l2 || !of_l3)
		return -ENOMEM;
	if (!root_has(plan->env->root, RESCTRL_DIR "/cpus_list"))
		return 0;
	r = find_domains(plan, &domains);
	return r ? r : plan_groups(plan, &domains);
}

static int describe(struct step *step, struct step_env *env)
{
	_cleanup_cpus_ hwloc_bitmap_t stays = hwloc_bitmap_alloc();
	struct plan plan = { .step = step, .env = env, .stays = stays };
	int (*const parts[])(struct plan * plan) = {
		plan_frequencies, plan_cpus,	     plan_power,
		plan_uncore,	  plan_temperatures, plan_resctrl,
	};
	int r = 0;

	if (env->is_return)
		return 0;
	if (!stays || hwloc_bitmap_andnot(stays, env->machine->online, env->target))
		return -ENOMEM;
	for (size_t i = 0; !r && i < ARRAY_SIZE(parts); i++)
		r = parts[i](&plan);
	return r;
}

/* Nothing is changed: all of it is a record. */
static int apply(struct step *step, struct step_env *env)
{
	(void)env;
	for (size_t i = 0; i < step->nr_items; i++)
		step->items[i].state = STATE_APPLIED;
	return 0;
}

/* ---- the way back ------------------------------------------------------------------------ */

static bool is_gone(int r)
{
	return r == -ENOENT || r == -ENODEV;
}

/*
 * The path of a file of a power zone: numbers are given anew where several packages return. Returns
 * 0, -ENOENT where the package has no zone any more, or -errno where one cannot be read.
 */
static int find_zone(const struct step_env *env, const struct item *item, char *path, size_t size)
{
	const char *zone = item->object + strlen("/" POWERCAP_DIR "/");
	size_t prefix = strcspn(zone, ":");
	const char *rest = zone + prefix + 1 + strspn(zone + prefix + 1, "0123456789");
	int error = -ENOENT;

	for (unsigned int i = 0; i < ZONES_MAX; i++) {
		char name[64];
		int r;

		snprintf(path, size, POWERCAP_DIR "/%.*s:%u/name", (int)prefix, zone, i);
		r = root_read_buffer(env->root, path, name, sizeof(name));
		if (!r && hash_name(name) == item->stamp) {
			snprintf(path, size, POWERCAP_DIR "/%.*s:%u%s", (int)prefix, zone, i, rest);
			return 0;
		}
		if (r && !is_gone(r))
			error = r;
	}
	return error;
}

/* For want of memory a word is lost, and nothing else. */
static void tell_changed(const struct step_env *env, const struct item *item, const char *now)
{
	if (env->findings &&
	    !findings_add(env->findings, "setting-changed", SEVERITY_WARN, NULL,
			  "Set it again if that was not meant; it is left as it is.",
			  "%s was %s and is %s: the kernel keeps it, somebody else has changed it",
			  item->object, item->before, now))
		return;
}

static int put_back_value(struct step_env *env, const struct item *item)
{
	char path[PATH_MAX], now[TEXT_SIZE];
	int r = 0;

	snprintf(path, sizeof(path), "%s", item->object + 1);
	if (item->stamp)
		r = find_zone(env, item, path, sizeof(path));
	if (!r)
		r = root_read_buffer(env->root, path, now, sizeof(now));
	if (r)
		return is_gone(r) ? 0 : r;
	if (!strcmp(now, item->before))
		return 0;
	if (item->id == RULE_KEPT) {
		tell_changed(env, item, now);
		return 0;
	}
	r = writer_write(env, path, item->before);
	return is_gone(r) ? 0 : r;
}

/* "L3:0=fffff;1=fffff": where the value of @id begins in the line of @resource, or NULL. */
static const char *find_value(const char *schemata, const char *resource, long id)
{
	size_t length = strlen(resource);

	for (const char *line = schemata; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		line += strspn(line, " ");
		if (strncmp(line, resource, length) || line[length] != ':')
			continue;
		for (const char *entry = line + length + 1; entry; entry = strchr(entry, ';')) {
			char *end;

			entry += *entry == ';';
			if (strtol(entry, &end, 10) == id && *end == '=')
				return end + 1;
			if (strcspn(entry, ";") > strcspn(entry, "\n"))
				break;
		}
	}
	return NULL;
}

/* The object is "/PATH RESOURCE:ID". */
static int put_back_schemata(struct step_env *env, const struct item *item)
{
	char path[PATH_MAX], now[TEXT_SIZE], *resource, *colon;
	const char *value;
	size_t length = strlen(item->before);
	int r;

	snprintf(path, sizeof(path), "%s", item->object + 1);
	resource = strrchr(path, ' ');
	if (!resource)
		return -EINVAL;
	*resource++ = '\0';
	colon = strchr(resource, ':');
	if (!colon)
		return -EINVAL;
	r = root_read_buffer(env->root, path, now, sizeof(now));
	if (r)
		return is_gone(r) ? 0 : r;
	*colon = '\0';
	value = find_value(now, resource, strtol(colon + 1, NULL, 10));
	*colon = ':';
	/* a domain that is not there is of CPUs that another operation keeps off */
	if (!value ||
	    (!strncmp(value, item->before, length) && !isalnum((unsigned char)value[length])))
		return 0;
	snprintf(now, sizeof(now), "%s=%s\n", resource, item->before);
	r = writer_write(env, path, now);
	return is_gone(r) ? 0 : r;
}

/* What the group has now, and those of its CPUs that come back: others may have changed the rest.
 */
static int put_back_cpus(struct step_env *env, const struct item *item)
{
	static char now[TEXT_SIZE], list[TEXT_SIZE];
	const char *path = item->object + 1;
	size_t length;
	bool is_changed = false;
	int r = root_read_buffer(env->root, path, now, sizeof(now));

	if (r)
		return is_gone(r) ? 0 : r;
	length = (size_t)snprintf(list, sizeof(list), "%s", now);
	for (unsigned int cpu = 0; cpu < env->machine->nr_cpus; cpu++) {
		if (!cpus_text_has(item->before, cpu) || cpus_text_has(item->after, cpu) ||
		    cpus_text_has(now, cpu) || env_is_claimed(env, cpu))
			continue;
		length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%u",
					   length ? "," : "", cpu);
		if (length >= sizeof(list))
			return -EFBIG;
		is_changed = true;
	}
	r = is_changed ? writer_write(env, path, list) : 0;
	return is_gone(r) ? 0 : r;
}

static int put_back(const struct step *step, struct step_env *env, const struct item *item)
{
	(void)step;
	switch ((enum rule)item->id) {
	case RULE_CPUS:
		return put_back_cpus(env, item);
	case RULE_SCHEMATA:
		return put_back_schemata(env, item);
	default:
		return put_back_value(env, item);
	}
}

static int undo(struct step *step, struct step_env *env)
{
	return step_undo_items(step, env, false, put_back);
}

const struct step_kind settings_kind = {
	.name = "cpu.settings",
	.undo_rank = 92,
	.lifetime = LIFETIME_UNTIL_RESTORE,
	.describe = describe,
	.apply = apply,
	.undo = undo,
};
