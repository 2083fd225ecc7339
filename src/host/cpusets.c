/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpusets.c - step kind cpuset.cpus, and the cpusets that would be left without CPUs
 *
 * An item is a cpuset, with its inode as id, or a thread that has to leave an emptied cpuset of v1,
 * with its start time as stamp. The object of a cpuset is its directory and begins with a slash.
 *
 * Where the classic file system is mounted at /dev/cpuset, libcpuset reads and narrows. It
 * allocates, so that the way back writes the files themselves, as everywhere else.
 */
#include "config.h"

#include "host/cpusets.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/stat.h>

#ifdef HAVE_LIBCPUSET
#include <bitmask.h>
#include <cpuset.h>
#endif

#include "host/evacuations.h"
#include "host/hotplug.h"
#include "host/partition.h"
#include "host/root.h"
#include "host/writer.h"

#define CLASSIC "dev/cpuset"

/* The cgroup of our partition, if a killed run has left one. */
#define OURS "cpuoff"

/* How many threads a finding names. */
#define NAMES_SHOWN 8

/* Updates of v1 cpusets may lag behind the CPUs: what one way back waits for them, all in all. */
#define LATE_SECONDS 1.0
#define LATE_PAUSE   0.02

/* ---- the cpusets that would be emptied --------------------------------------------------- */

/* What the cpuset has of its own and its tasks can use now. */
static int read_usable(const struct cgroup *cgroup, const struct machine *machine,
		       hwloc_bitmap_t ret_cpus)
{
	if (hwloc_bitmap_and(ret_cpus, cgroup->cpus, machine->online) < 0 ||
	    (cgroup->effective && hwloc_bitmap_and(ret_cpus, ret_cpus, cgroup->effective) < 0))
		return -ENOMEM;
	return 0;
}

/* The cgroup whose own list rules here: itself, or the nearest ancestor that has one. */
static const struct cgroup *find_owner(const struct cgroups *cgroups, const struct cgroup *cgroup)
{
	while (cgroup && cpus_is_empty(cgroup->cpus))
		cgroup = cgroups_parent(cgroups, cgroup);
	return cgroup;
}

static int add_task(struct emptied *emptied, const struct task *task)
{
	_cleanup_free_ char *old = emptied->tasks;
	size_t nr = emptied->nr_tasks++;

	if (nr > NAMES_SHOWN)
		steal_pointer(&old);
	else if (nr == NAMES_SHOWN)
		emptied->tasks = util_asprintf("%s, ...", old);
	else
		emptied->tasks =
			util_asprintf("%s%s%d %s", old, nr ? ", " : "", (int)task->tid, task->comm);
	return emptied->tasks ? 0 : -ENOMEM;
}

static int add_tasks(struct emptied_list *emptied, const struct cgroups *cgroups,
		     const struct tasks *tasks)
{
	int r = 0;

	for (size_t i = 0; emptied->nr && tasks && i < tasks->nr; i++) {
		const struct cgroup *owner = find_owner(cgroups, tasks->list[i].cgroup);

		for (size_t j = 0; !r && j < emptied->nr; j++)
			if (emptied->list[j].cgroup == owner)
				r = add_task(&emptied->list[j], &tasks->list[i]);
	}
	return r;
}

static int add_emptied(struct emptied_list *emptied, const struct cgroup *cgroup,
		       hwloc_const_bitmap_t cpus)
{
	struct emptied *list = util_grow(emptied->list, emptied->nr, sizeof(*list));

	if (!list)
		return -ENOMEM;
	emptied->list = list;
	list[emptied->nr] = (struct emptied){
		.cgroup = cgroup,
		.cpus = cpus_format(cpus),
		.tasks = strdup(""),
	};
	emptied->nr++;
	return list[emptied->nr - 1].cpus && list[emptied->nr - 1].tasks ? 0 : -ENOMEM;
}

static int find_emptied(struct emptied_list *emptied, const struct cgroups *cgroups,
			const struct machine *machine, hwloc_const_bitmap_t target)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	int r = cpus ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < cgroups->nr; i++) {
		const struct cgroup *cgroup = &cgroups->list[i];

		if (!cgroup->depth || !cgroup->is_populated)
			continue;
		r = read_usable(cgroup, machine, cpus);
		if (!r && !cpus_is_empty(cpus) && hwloc_bitmap_isincluded(cpus, target))
			r = add_emptied(emptied, cgroup, cpus);
	}
	return r;
}

int cpusets_emptied(const struct cgroups *cgroups, const struct tasks *tasks,
		    const struct machine *machine, hwloc_const_bitmap_t target,
		    struct emptied_list *ret_emptied)
{
	struct emptied_list emptied = { 0 };
	int r = find_emptied(&emptied, cgroups, machine, target);

	if (!r)
		r = add_tasks(&emptied, cgroups, tasks);
	if (r) {
		cpusets_emptied_free(&emptied);
		return r;
	}
	*ret_emptied = emptied;
	return 0;
}

void cpusets_emptied_free(struct emptied_list *emptied)
{
	for (size_t i = 0; i < emptied->nr; i++) {
		free(emptied->list[i].cpus);
		free(emptied->list[i].tasks);
	}
	free(emptied->list);
	*emptied = (struct emptied_list){ 0 };
}

/* ---- libcpuset --------------------------------------------------------------------------- */

#ifdef HAVE_LIBCPUSET

/* The library knows the running machine alone, and only this mount. */
static const char *library_path(const struct step_env *env, const char *object)
{
	if (!root_is_live(env->root) || strncmp(object, "/" CLASSIC "/", sizeof(CLASSIC) + 1) ||
	    !root_has(env->root, "%s/cpus", object + 1))
		return NULL;
	return object + sizeof(CLASSIC);
}

static int copy_cpus(const struct cpuset *cpuset, unsigned int nr_cpus, hwloc_bitmap_t ret_cpus)
{
	struct bitmask *mask = bitmask_alloc((unsigned int)cpuset_cpus_nbits());
	int r = 0;

	if (!mask || cpuset_getcpus(cpuset, mask) < 0)
		r = -ENOMEM;
	if (!r)
		hwloc_bitmap_zero(ret_cpus);
	for (unsigned int cpu = 0; !r && cpu < nr_cpus && cpu < bitmask_nbits(mask); cpu++)
		if (bitmask_isbitset(mask, cpu) && hwloc_bitmap_set(ret_cpus, cpu) < 0)
			r = -ENOMEM;
	if (mask)
		bitmask_free(mask);
	return r;
}

/* Reads the whole tree once more, through the library: what it cannot read stays as it was. */
static int library_read(const struct step_env *env, hwloc_bitmap_t *cpus)
{
	const struct cgroups *cgroups = env->cgroups;
	const struct cpuset_fts_entry *entry;
	struct cpuset_fts_tree *tree;
	int r = 0;

	if (!root_is_live(env->root) || !cgroups->is_classic || strcmp(cgroups->root, CLASSIC))
		return 0;
	tree = cpuset_fts_open("/");
	if (!tree)
		return errno == ENOMEM ? -ENOMEM : 0;
	while (!r && (entry = cpuset_fts_read(tree))) {
		const char *path = cpuset_fts_get_path(entry);
		const struct cgroup *cgroup;

		if (cpuset_fts_get_info(entry) != CPUSET_FTS_CPUSET)
			continue;
		path += strspn(path, "/");
		cgroup = cgroups_find(cgroups, path);
		if (cgroup->depth && !strcmp(cgroup->path, path))
			r = copy_cpus(cpuset_fts_get_cpuset(entry), env->machine->nr_cpus,
				      cpus[cgroup - cgroups->list]);
	}
	cpuset_fts_close(tree);
	return r;
}

/* Nothing but the CPUs is set in what is handed over, so that the library writes nothing else. */
static int library_write(const char *path, const char *list)
{
	struct bitmask *mask = bitmask_alloc((unsigned int)cpuset_cpus_nbits());
	struct cpuset *now = cpuset_alloc(), *cpuset = cpuset_alloc();
	int r = 0;

	if (!mask || !now || !cpuset)
		r = -ENOMEM;
	else if (cpuset_query(now, path) < 0 || bitmask_parselist(list, mask) < 0 ||
		 cpuset_setcpus(cpuset, mask) < 0 || cpuset_modify(path, cpuset) < 0)
		r = errno ? -errno : -EIO;
	if (mask)
		bitmask_free(mask);
	if (now)
		cpuset_free(now);
	if (cpuset)
		cpuset_free(cpuset);
	return r;
}

#else

static const char *library_path(const struct step_env *env, const char *object)
{
	(void)env;
	(void)object;
	return NULL;
}

static int library_read(const struct step_env *env, hwloc_bitmap_t *cpus)
{
	(void)env;
	(void)cpus;
	return 0;
}

static int library_write(const char *path, const char *list)
{
	(void)path;
	(void)list;
	return -EOPNOTSUPP;
}

#endif

/* ---- planning: both worlds --------------------------------------------------------------- */

static char *format_object(const struct cgroups *cgroups, const struct cgroup *cgroup)
{
	return util_asprintf("/%s%s%s", cgroups->root, *cgroup->path ? "/" : "", cgroup->path);
}

/* What the cpuset had before any operation in force narrowed it. */
static int read_wished(const struct step_env *env, const struct cgroup *cgroup,
		       hwloc_const_bitmap_t cpus, hwloc_bitmap_t ret_cpus)
{
	_cleanup_free_ char *object = format_object(env->cgroups, cgroup);
	const char *before;

	if (!object)
		return -ENOMEM;
	before = env_before(env, &cpusets_kind, cgroup->inode, 0, object);
	if (before && !cpus_parse_kernel(before, env->machine->nr_cpus - 1, ret_cpus))
		return 0;
	return hwloc_bitmap_copy(ret_cpus, cpus) < 0 ? -ENOMEM : 0;
}

static int add_item(struct step *step, const struct step_env *env, const struct cgroup *cgroup,
		    hwloc_const_bitmap_t wished, hwloc_const_bitmap_t after)
{
	_cleanup_free_ char *object = format_object(env->cgroups, cgroup);
	_cleanup_free_ char *before_text = cpus_format(wished), *after_text = cpus_format(after);

	if (!object || !before_text || !after_text ||
	    !step_add_item(step, cgroup->inode, before_text, after_text, "%s", object))
		return -ENOMEM;
	return 0;
}

/* ---- planning: v2 ------------------------------------------------------------------------ */

/* The survivors that are in nobody's partition: naming one of another's would make that one
 * invalid. */
static int read_free_survivors(const struct step_env *env, hwloc_bitmap_t ret_cpus)
{
	const struct cgroup *root = &env->cgroups->list[0];

	if (hwloc_bitmap_copy(ret_cpus, env->survivors) < 0)
		return -ENOMEM;
	if (!root->effective || !hwloc_bitmap_intersects(root->effective, ret_cpus))
		return 0;
	return hwloc_bitmap_and(ret_cpus, ret_cpus, root->effective) < 0 ? -ENOMEM : 0;
}

/*
 * A list that lies wholly in the partition becomes the survivors, which is where its tasks run
 * meanwhile anyway: the kernel (6.12) does not empty the list of a cgroup that holds tasks.
 */
static int plan_sibling(struct step *step, const struct step_env *env, const struct cgroup *cgroup,
			hwloc_const_bitmap_t partition)
{
	_cleanup_cpus_ hwloc_bitmap_t wished = hwloc_bitmap_alloc(), after = hwloc_bitmap_alloc();
	int r;

	if (!wished || !after || hwloc_bitmap_andnot(after, cgroup->cpus, partition) < 0)
		return -ENOMEM;
	r = cpus_is_empty(after) ? read_free_survivors(env, after) : 0;
	if (!r)
		r = read_wished(env, cgroup, cgroup->cpus, wished);
	return r ? r : add_item(step, env, cgroup, wished, after);
}

/* Deeper cgroups need nothing: their effective CPUs follow. */
static int plan_siblings(struct step *step, const struct step_env *env)
{
	_cleanup_cpus_ hwloc_bitmap_t partition = hwloc_bitmap_alloc();
	int r = partition ? partition_cpus(env, partition) : -ENOMEM;

	step->lifetime = LIFETIME_DURING;
	for (size_t i = 0; !r && i < env->cgroups->nr; i++) {
		const struct cgroup *cgroup = &env->cgroups->list[i];

		if (cgroup->depth == 1 && strcmp(cgroup->path, OURS) &&
		    /* one of others' that reaches into the target is a member by then */
		    (!cgroup_is_partition(cgroup) ||
		     hwloc_bitmap_intersects(cgroup->cpus, env->target)) &&
		    hwloc_bitmap_intersects(cgroup->cpus, partition))
			r = plan_sibling(step, env, cgroup, partition);
	}
	return r;
}

static bool has_item(const struct step *step, const struct cgroup *cgroup)
{
	for (size_t i = 0; i < step->nr_items; i++)
		if (step->items[i].id == cgroup->inode)
			return true;
	return false;
}

/*
 * Those that are emptied, as the user has accepted, keep what they say, and their tasks run on the
 * parent's CPUs meanwhile. They are put down all the same: what the plan does to whom is in it.
 */
static int record_emptied(struct step *step, const struct step_env *env)
{
	_cleanup_(cpusets_emptied_free) struct emptied_list emptied = { 0 };
	int r = cpusets_emptied(env->cgroups, NULL, env->machine, env->target, &emptied);

	for (size_t i = 0; !r && i < emptied.nr; i++) {
		const struct cgroup *cgroup = emptied.list[i].cgroup;

		if (!cgroup_is_partition(cgroup) && !has_item(step, cgroup))
			r = add_item(step, env, cgroup, cgroup->cpus, cgroup->cpus);
	}
	return r;
}

static int describe_v2(struct step *step, const struct step_env *env)
{
	int r = 0;

	if (env->evacuation && env->evacuation->has_partition)
		r = plan_siblings(step, env);
	return r || env->is_return ? r : record_emptied(step, env);
}

/* ---- planning: v1 ------------------------------------------------------------------------ */

/* What the plan for the whole tree knows of each cgroup, in the order of env->cgroups. */
struct v1_plan {
	size_t nr;
	hwloc_bitmap_t *cpus; /* now */
	hwloc_bitmap_t *after;
	size_t *home; /* where its tasks are meanwhile: itself, or an ancestor */
};

static void free_v1_plan(struct v1_plan *plan)
{
	for (size_t i = 0; i < plan->nr; i++) {
		if (plan->cpus)
			hwloc_bitmap_free(plan->cpus[i]);
		if (plan->after)
			hwloc_bitmap_free(plan->after[i]);
	}
	free(plan->cpus);
	free(plan->after);
	free(plan->home);
}

static int prepare_v1_plan(const struct step_env *env, struct v1_plan *plan)
{
	const struct cgroups *cgroups = env->cgroups;

	plan->nr = cgroups->nr;
	plan->cpus = calloc(plan->nr, sizeof(hwloc_bitmap_t));
	plan->after = calloc(plan->nr, sizeof(hwloc_bitmap_t));
	plan->home = calloc(plan->nr, sizeof(*plan->home));
	if (!plan->cpus || !plan->after || !plan->home)
		return -ENOMEM;
	for (size_t i = 0; i < plan->nr; i++) {
		plan->cpus[i] = hwloc_bitmap_dup(cgroups->list[i].cpus);
		plan->after[i] = hwloc_bitmap_alloc();
		if (!plan->cpus[i] || !plan->after[i])
			return -ENOMEM;
	}
	return library_read(env, plan->cpus);
}

static bool is_exclusive(const struct step_env *env, const struct cgroup *cgroup)
{
	char path[PATH_MAX], text[8];

	return !cgroups_path(env->cgroups, cgroup->path,
			     env->cgroups->is_classic ? "cpu_exclusive" : "cpuset.cpu_exclusive",
			     path, sizeof(path)) &&
	       !root_read_buffer(env->root, path, text, sizeof(text)) && !strcmp(text, "1");
}

/* True where the cpuset may not be given CPUs that it never had: it, or a sibling, wants its own
 * alone. */
static bool is_shut_out(const struct step_env *env, const struct v1_plan *plan,
			const struct cgroup *cgroup, hwloc_const_bitmap_t cpus)
{
	const struct cgroup *parent = cgroups_parent(env->cgroups, cgroup);

	if (is_exclusive(env, cgroup))
		return true;
	for (size_t i = 0; i < plan->nr; i++) {
		const struct cgroup *sibling = &env->cgroups->list[i];

		if (sibling->depth == cgroup->depth && sibling != cgroup &&
		    cgroups_parent(env->cgroups, sibling) == parent &&
		    hwloc_bitmap_intersects(plan->cpus[i], cpus) && is_exclusive(env, sibling))
			return true;
	}
	return false;
}

/*
 * One that would be empty, as the user has accepted, borrows what its parent keeps, and its tasks
 * stay where they are. Where it may not, it becomes empty, and its tasks move to the nearest
 * ancestor that is not, as the kernel would do it.
 */
static int narrow(const struct step_env *env, struct v1_plan *plan, size_t i)
{
	const struct cgroup *cgroup = &env->cgroups->list[i];
	const struct cgroup *parent = cgroups_parent(env->cgroups, cgroup);
	size_t up = parent ? (size_t)(parent - env->cgroups->list) : i;

	plan->home[i] = i;
	if (hwloc_bitmap_andnot(plan->after[i], plan->cpus[i], env->target) < 0)
		return -ENOMEM;
	if (!parent || !cpus_is_empty(plan->after[i]) || cpus_is_empty(plan->cpus[i]))
		return 0;
	if (!cpus_is_empty(plan->after[up]) && !is_shut_out(env, plan, cgroup, plan->after[up]))
		return hwloc_bitmap_copy(plan->after[i], plan->after[up]) < 0 ? -ENOMEM : 0;
	plan->home[i] = plan->home[up];
	return 0;
}

static int add_members(struct step *step, const struct step_env *env, const struct v1_plan *plan)
{
	const struct cgroup *list = env->cgroups->list;

	for (size_t i = 0; env->tasks && i < env->tasks->nr; i++) {
		const struct task *task = &env->tasks->list[i];
		_cleanup_free_ char *from = NULL, *to = NULL;
		struct item *item;
		size_t home;

		if (!task->cgroup ||
		    plan->home[task->cgroup - list] == (size_t)(task->cgroup - list))
			continue;
		home = plan->home[task->cgroup - list];
		from = format_object(env->cgroups, task->cgroup);
		to = format_object(env->cgroups, &list[home]);
		item = from && to ? step_add_item(step, (unsigned long long)task->tid, from, to,
						  "task %d %s", (int)task->tid, task->comm)
				  : NULL;
		if (!item)
			return -ENOMEM;
		item->stamp = task->start;
	}
	return 0;
}

/*
 * CPUs that another operation took before count, too: this one may be the last to give them back.
 */
static int plan_cpuset(struct step *step, const struct step_env *env, const struct v1_plan *plan,
		       size_t i)
{
	_cleanup_cpus_ hwloc_bitmap_t wished = hwloc_bitmap_alloc();
	int r = wished ? read_wished(env, &env->cgroups->list[i], plan->cpus[i], wished) : -ENOMEM;

	if (r || (!hwloc_bitmap_intersects(wished, env->target) &&
		  !hwloc_bitmap_intersects(plan->cpus[i], env->target)))
		return r;
	return add_item(step, env, &env->cgroups->list[i], wished, plan->after[i]);
}

/* Tasks leave first; then children before their parents, as the kernel wants it. */
static int describe_v1(struct step *step, const struct step_env *env)
{
	_cleanup_(free_v1_plan) struct v1_plan plan = { 0 };
	int r = prepare_v1_plan(env, &plan);

	for (size_t i = 0; !r && i < plan.nr; i++)
		r = narrow(env, &plan, i);
	if (!r)
		r = add_members(step, env, &plan);
	for (size_t i = plan.nr; !r && i-- > 1;)
		r = plan_cpuset(step, env, &plan, i);
	return r;
}

static int describe(struct step *step, struct step_env *env)
{
	if (!env->cgroups || !env->cgroups->nr)
		return 0;
	if (env->cgroups->is_v2)
		return describe_v2(step, env);
	return env->is_return ? 0 : describe_v1(step, env);
}

/* ---- files, without allocating ----------------------------------------------------------- */

/* Longest list of CPUs that a kernel makes. */
#define LIST_SIZE sizeof(((struct online_mask *)NULL)->text)

#define NR_WORDS  1024
#define WORD_BITS (8 * sizeof(unsigned long))

struct words {
	unsigned long words[NR_WORDS];
};

static bool is_task(const struct item *item)
{
	return item->object[0] != '/';
}

/* It, or the controller in it, has gone: there is nothing left to be changed. */
static bool is_gone(int r)
{
	return r == -ENOENT || r == -ENODEV || r == -ESRCH;
}

/* Returns 0 where the cgroup is the one that was planned for, -ENOENT where it went, or is another.
 */
static int check_inode(const struct step_env *env, const struct item *item)
{
	_cleanup_close_ int fd = root_openat(env->root, O_RDONLY | O_DIRECTORY, item->object + 1);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	return st.st_ino == item->id ? 0 : -ENOENT;
}

/* The file that holds the list of the cpuset with this directory, of so many bytes. */
static int find_list_of(const struct step_env *env, const char *object, size_t length,
			char path[PATH_MAX])
{
	int n = snprintf(path, PATH_MAX, "%.*s/cpuset.cpus", (int)length - 1, object + 1);

	if (n >= PATH_MAX)
		return -ENAMETOOLONG;
	if (!root_has(env->root, "%s", path))
		snprintf(path, PATH_MAX, "%.*s/cpus", (int)length - 1, object + 1);
	return 0;
}

static int find_list(const struct step_env *env, const struct item *item, char path[PATH_MAX])
{
	return find_list_of(env, item->object, strlen(item->object), path);
}

/* A write without any byte would not reach the kernel: a line without text is its empty list. */
static int write_list(const struct step_env *env, const char *path, const char *list)
{
	return writer_write(env, path, *list ? list : "\n");
}

/* The cpulist of @words, "" where it does not fit. */
static void format_words(const struct words *words, char *text, size_t size)
{
	size_t length = 0, cpus = NR_WORDS * WORD_BITS;

	text[0] = '\0';
	for (size_t cpu = 0; cpu < cpus && length < size; cpu++) {
		size_t first = cpu;

		if (!words->words[cpu / WORD_BITS]) {
			cpu |= WORD_BITS - 1;
			continue;
		}
		while (cpu < cpus && words->words[cpu / WORD_BITS] >> cpu % WORD_BITS & 1)
			cpu++;
		if (cpu == first)
			continue;
		length += (size_t)snprintf(text + length, size - length, "%s%zu", length ? "," : "",
					   first);
		if (cpu - first > 1 && length < size)
			length += (size_t)snprintf(text + length, size - length, "-%zu", cpu - 1);
	}
	if (length >= size)
		text[0] = '\0';
}

/* ---- moving threads ---------------------------------------------------------------------- */

/* True where the thread is in the cpuset of this directory, or the kernel does not tell. */
static bool is_in(const struct step_env *env, const struct item *item, const char *dir)
{
	char path[64], cpuset[PATH_MAX];
	size_t length, dir_length = strlen(dir);

	snprintf(path, sizeof(path), "proc/%llu/cpuset", item->id);
	if (root_read_buffer(env->root, path, cpuset, sizeof(cpuset)))
		return true;
	length = strcmp(cpuset, "/") ? strlen(cpuset) : 0;
	if (length > dir_length || strncmp(dir + dir_length - length, cpuset, length))
		return false;
	/* What is before the path must be the hierarchy's root, which alone has this file. */
	return root_has(env->root, "%.*s/release_agent", (int)(dir_length - length - 1), dir + 1);
}

static int move_thread(const struct step_env *env, const struct item *item, const char *from,
		       const char *to)
{
	char path[PATH_MAX], tid[32];
	int r = tasks_find(env->root, (pid_t)item->id, item->stamp);

	if (r || !is_in(env, item, from))
		return r;
	if (snprintf(path, sizeof(path), "%s/tasks", to + 1) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	snprintf(tid, sizeof(tid), "%llu", item->id);
	return writer_write(env, path, tid);
}

/* ---- applying ---------------------------------------------------------------------------- */

static int narrow_cpuset(const struct step_env *env, const struct item *item)
{
	const char *library = *item->after ? library_path(env, item->object) : NULL;
	char path[PATH_MAX];
	int r = check_inode(env, item);

	if (!r && library)
		return library_write(library, item->after);
	if (!r)
		r = find_list(env, item, path);
	return r ? r : write_list(env, path, item->after);
}

/* Where nothing shall be moved beforehand, the kernel narrows a v1 cpuset as its CPUs go. */
static bool is_to_write(const struct step *step, const struct step_env *env,
			const struct item *item)
{
	if (!strcmp(item->before, item->after))
		return false;
	return step->lifetime == LIFETIME_DURING || !env->evacuation ||
	       env->evacuation->moves_tasks;
}

static int apply_item(struct step *step, struct step_env *env, struct item *item)
{
	bool is_v1 = step->lifetime == LIFETIME_UNTIL_RESTORE;
	int r = 0;

	item->state = STATE_APPLYING;
	if (is_to_write(step, env, item))
		r = is_task(item) ? move_thread(env, item, item->before, item->after)
				  : narrow_cpuset(env, item);
	if (is_gone(r)) {
		item->state = STATE_UNDONE;
		return 0;
	}
	/* The same for a v1 cpuset that cannot be narrowed, as below a child made meanwhile. */
	item->state = !r || is_v1 ? STATE_APPLIED : STATE_FAILED;
	if (item->state == STATE_APPLIED)
		return 0;
	item->error = -r;
	return -EOPNOTSUPP;
}

/* Where a v2 cpuset cannot be narrowed, there can be no partition. */
static int apply(struct step *step, struct step_env *env)
{
	for (size_t i = 0; i < step->nr_items; i++) {
		int r;

		if (watcher_interrupts(env->watcher) > env->interrupts_allowed)
			return -EINTR;
		r = apply_item(step, env, &step->items[i]);
		if (r)
			return r;
	}
	return 0;
}

/* ---- undoing ----------------------------------------------------------------------------- */

struct way_back {
	struct step_env *env;
	bool is_v1;
	struct online_mask mask;
	struct words online;
	double waited;
};

/* For want of memory a note is lost, and nothing else. */
static void note(const struct step_env *env, const char *rule, const char *fmt, const char *object)
{
	_cleanup_free_ char *message = NULL;

	if (!env->findings)
		return;
	message = util_asprintf("%s %s", object, fmt);
	if (message)
		findings_add(env->findings, rule, SEVERITY_NOTE, NULL, NULL, "%s", message);
}

/*
 * True where what a v1 cpuset holds follows from what we wrote and from CPUs that went offline: it
 * has none that it never had, and all that it was to keep and that are online.
 */
static bool is_explained(const struct words *now, const struct words *before,
			 const struct words *after, const struct words *online)
{
	for (size_t i = 0; i < NR_WORDS; i++) {
		unsigned long had = before->words[i], left = after->words[i];

		if (now->words[i] & ~(had | left) || had & left & online->words[i] & ~now->words[i])
			return false;
	}
	return true;
}

/*
 * What is to be written to a v1 cpuset that holds @now into @ret_list: what it had, as far as it is
 * online. False where it is not ours any more. "" where nothing of it is back: another operation
 * has that, still.
 */
static bool find_v1_list(const struct way_back *back, const struct item *item, const char *now,
			 char ret_list[LIST_SIZE])
{
	static struct words now_words, before, after;

	if (cpus_text_to_words(now, now_words.words, NR_WORDS) ||
	    cpus_text_to_words(item->before, before.words, NR_WORDS) ||
	    cpus_text_to_words(item->after, after.words, NR_WORDS) ||
	    !is_explained(&now_words, &before, &after, &back->online))
		return false;
	for (size_t i = 0; i < NR_WORDS; i++)
		before.words[i] &= back->online.words[i];
	format_words(&before, ret_list, LIST_SIZE);
	return true;
}

/* Writes until the file reads so, as long as the time for late updates lasts. */
static int write_and_check(struct way_back *back, const char *path, const char *list)
{
	static char now[LIST_SIZE];

	for (;;) {
		int r = write_list(back->env, path, list);

		if (!r)
			r = root_read_buffer(back->env->root, path, now, sizeof(now));
		if (!r && strcmp(now, list))
			r = -EPROTO;
		if (!r || is_gone(r) || back->waited >= LATE_SECONDS)
			return r;
		util_sleep(LATE_PAUSE);
		back->waited += LATE_PAUSE;
	}
}

static int undo_cpuset(struct way_back *back, const struct item *item)
{
	static char now[LIST_SIZE], v1_list[LIST_SIZE];
	const char *list = item->before;
	char path[PATH_MAX];
	int r = check_inode(back->env, item);

	if (!r)
		r = find_list(back->env, item, path);
	if (!r)
		r = root_read_buffer(back->env->root, path, now, sizeof(now));
	if (r || !strcmp(now, list))
		return r;
	if (back->is_v1 ? !find_v1_list(back, item, now, v1_list) : strcmp(now, item->after) != 0) {
		note(back->env, "cpuset-changed",
		     "was changed by somebody else meanwhile and is left alone", item->object);
		return 0;
	}
	if (back->is_v1)
		list = v1_list;
	return back->is_v1 && (!*list || !strcmp(now, list)) ? 0
							     : write_and_check(back, path, list);
}

/* Why the kernel answers EACCES to a v1 cpuset, of all that may be meant by it: the parent has not
 * all that is to be given back (validate_change() of kernel/cgroup/cpuset.c). */
static bool parent_lacks(const struct way_back *back, const struct item *item)
{
	static struct words due, parents;
	static char list[LIST_SIZE];
	char path[PATH_MAX];

	if (find_list_of(back->env, item->object,
			 (size_t)(strrchr(item->object, '/') - item->object), path) ||
	    root_read_buffer(back->env->root, path, list, sizeof(list)) ||
	    cpus_text_to_words(list, parents.words, NR_WORDS) ||
	    cpus_text_to_words(item->before, due.words, NR_WORDS))
		return false;
	for (size_t i = 0; i < NR_WORDS; i++)
		if (due.words[i] & back->online.words[i] & ~parents.words[i])
			return true;
	return false;
}

static int undo_item(struct way_back *back, struct item *item, int first_error)
{
	int r = is_task(item) ? move_thread(back->env, item, item->after, item->before)
			      : undo_cpuset(back, item);

	if (is_gone(r)) {
		if (!is_task(item))
			note(back->env, "cpuset-gone", "was removed meanwhile: nothing to put back",
			     item->object);
		r = 0;
	} else if (r == -EACCES && back->is_v1 && !first_error && !is_task(item) &&
		   parent_lacks(back, item)) {
		/* Its parent has what it had before, or what somebody else has given it: that is
		 * not enough. */
		note(back->env, "cpuset-changed",
		     "has a parent that lacks its CPUs by now, and is left alone", item->object);
		r = 0;
	}
	item->error = -r;
	if (!r)
		item->state = STATE_UNDONE;
	return r;
}

/* The other way round: parents before their children, then the threads. */
static int undo(struct step *step, struct step_env *env)
{
	static struct way_back back;
	int first_error;

	back.env = env;
	back.is_v1 = step->lifetime == LIFETIME_UNTIL_RESTORE;
	back.waited = 0;
	first_error = hotplug_read_online(env, &back.mask);
	if (!first_error)
		first_error = cpus_text_to_words(back.mask.text, back.online.words, NR_WORDS);
	if (first_error)
		return first_error;
	for (size_t i = step->nr_items; i-- > 0;) {
		int r;

		if (!item_is_in_force(step, &step->items[i]))
			continue;
		if (watcher_interrupts(env->watcher) > env->interrupts_allowed)
			return first_error ? first_error : -EINTR;
		r = undo_item(&back, &step->items[i], first_error);
		if (!first_error)
			first_error = r;
	}
	return first_error;
}

/* One of v1 that belongs to a user is narrowed by the kernel, and stays so; of v2 there is another
 * way then. */
static bool is_barred(const struct step *step, const struct step_env *env, const struct item *item)
{
	char path[PATH_MAX];

	return step->lifetime == LIFETIME_UNTIL_RESTORE && !is_task(item) &&
	       !find_list(env, item, path) && root_try_write(env->root, path) == -EACCES;
}

const struct step_kind cpusets_kind = {
	.name = "cpuset.cpus",
	.undo_rank = 20,
	.lifetime = LIFETIME_UNTIL_RESTORE,
	.capability = CAP_DAC_OVERRIDE,
	.is_barred = is_barred,
	.describe = describe,
	.apply = apply,
	.undo = undo,
};
