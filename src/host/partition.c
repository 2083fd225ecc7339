/* SPDX-License-Identifier: GPL-2.0-or-later */
/* partition.c - step kinds partition and partition.others: cgroup v2 cpuset partitions */
#include "host/partition.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <string.h>

#include "host/evacuations.h"
#include "host/writer.h"

#define NAME "cpuoff"

/* Ids of the two items: the controller that is switched on for all, and the cgroup of our own. */
enum { ITEM_CONTROLLER, ITEM_CGROUP };

/* Processes that others move into our cgroup are moved out, and may come again. */
#define REMOVE_TRIES 50
#define REMOVE_PAUSE 0.02

/* ---- planning ---------------------------------------------------------------------------- */

/* A partition that is not what a killed cpuoff left. */
static bool is_of_others(const struct cgroup *cgroup)
{
	return cgroup_is_partition(cgroup) && strcmp(cgroup->path, NAME);
}

int partition_cpus(const struct step_env *env, hwloc_bitmap_t ret_cpus)
{
	if (hwloc_bitmap_andnot(ret_cpus, env->machine->present, env->machine->online) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < env->cgroups->nr; i++)
		if (is_of_others(&env->cgroups->list[i]) &&
		    hwloc_bitmap_andnot(ret_cpus, ret_cpus, env->cgroups->list[i].cpus) < 0)
			return -ENOMEM;
	return hwloc_bitmap_or(ret_cpus, ret_cpus, env->target) < 0 ? -ENOMEM : 0;
}

/* A sibling that claims CPUs for itself alone, for a remote partition, cannot share them with ours.
 */
static const struct cgroup *find_exclusive(const struct step_env *env, hwloc_const_bitmap_t cpus)
{
	_cleanup_cpus_ hwloc_bitmap_t exclusive = hwloc_bitmap_alloc();

	for (size_t i = 0; exclusive && i < env->cgroups->nr; i++) {
		const struct cgroup *cgroup = &env->cgroups->list[i];
		char path[PATH_MAX];

		if (cgroup->depth != 1 || !strcmp(cgroup->path, NAME) ||
		    cgroups_path(env->cgroups, cgroup->path, "cpuset.cpus.exclusive", path,
				 sizeof(path)))
			continue;
		if (!root_read_cpulist(env->root, env->machine->nr_cpus - 1, exclusive, "%s",
				       path) &&
		    hwloc_bitmap_intersects(exclusive, cpus))
			return cgroup;
	}
	return NULL;
}

/*
 * kernel/sched/topology.c: where the root's cpuset has none but CPUs of isolcpus= left there is no
 * domain to be built for it, and 6.12 dies in rebuild_sched_domains_locked().
 */
static bool leaves_domain(const struct step_env *env, hwloc_bitmap_t scratch)
{
	const struct cgroup *top = env->cgroups->nr ? &env->cgroups->list[0] : NULL;

	return !top || !top->effective || !env->machine->isolated ||
	       hwloc_bitmap_and(scratch, top->effective, env->survivors) < 0 ||
	       hwloc_bitmap_andnot(scratch, scratch, env->machine->isolated) < 0 ||
	       !cpus_is_empty(scratch);
}

const char *partition_why_not(const struct step_env *env, char *buffer, size_t size)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	const struct cgroup *exclusive;

	if (!env->cgroups->root || !env->cgroups->is_v2)
		return "there is no cgroup v2 hierarchy with the cpuset controller";
	if (!env->cgroups->keeps_masks)
		return "the root cgroup has no cpuset.cpus.isolated: this kernel would not "
		       "remember the masks "
		       "of tasks";
	if (!root_is_live(env->root))
		return "this is a copy of a machine, and has no tasks";
	if (!cpus || partition_cpus(env, cpus))
		return "there is not enough memory";
	exclusive = find_exclusive(env, cpus);
	if (!exclusive)
		return leaves_domain(env, cpus)
			       ? NULL
			       : "it would leave the root cgroup none but isolated CPUs";
	snprintf(buffer, size, "the cgroup %s has CPUs of the target in its cpuset.cpus.exclusive",
		 exclusive->path);
	return buffer;
}

static int describe_partition(struct step *step, struct step_env *env)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	_cleanup_free_ char *list = NULL;

	if (!env->evacuation->has_partition)
		return 0;
	if (!cpus || partition_cpus(env, cpus))
		return -ENOMEM;
	list = cpus_format(cpus);
	if (!list)
		return -ENOMEM;
	if (!env->cgroups->is_enabled &&
	    !step_add_item(step, ITEM_CONTROLLER, "-cpuset", "+cpuset",
			   "/%s/cgroup.subtree_control", env->cgroups->root))
		return -ENOMEM;
	return step_add_item(step, ITEM_CGROUP, "absent", list, "/%s/" NAME, env->cgroups->root)
		       ? 0
		       : -ENOMEM;
}

/* ---- files of a cgroup, without allocating ----------------------------------------------- */

static int write_file(const struct step_env *env, const char *cgroup, const char *file,
		      const char *value)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", cgroup, file) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	return writer_write(env, path, value);
}

static int read_file(const struct root *root, const char *cgroup, const char *file, char *buffer,
		     size_t size)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", cgroup, file) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	return root_read_buffer(root, path, buffer, size);
}

/* The directory of @path, in @parent. */
static void find_parent(const char *path, char parent[PATH_MAX])
{
	snprintf(parent, PATH_MAX, "%s", path);
	*strrchr(parent, '/') = '\0';
}

/* ---- is it in force? --------------------------------------------------------------------- */

int partition_check(const struct step_env *env, struct online_mask *ret_mask)
{
	static char ours[sizeof(ret_mask->text)], roots[sizeof(ret_mask->text)];
	char state[128], parent[PATH_MAX];
	unsigned int cpu;
	int r, mask_r;

	if (!env->partition)
		return hotplug_read_online(env, ret_mask);
	find_parent(env->partition, parent);
	r = read_file(env->root, env->partition, "cpuset.cpus.partition", state, sizeof(state));
	if (!r)
		r = read_file(env->root, env->partition, "cpuset.cpus.effective", ours,
			      sizeof(ours));
	if (!r)
		r = read_file(env->root, parent, "cpuset.cpus.effective", roots, sizeof(roots));
	mask_r = hotplug_read_online(env, ret_mask);
	if (mask_r)
		return mask_r;
	if (r || strcmp(state, "isolated"))
		return -ECANCELED;
	cpus_foreach(cpu, env->target)
		if (cpus_text_has(ret_mask->text, cpu) &&
		    (!cpus_text_has(ours, cpu) || cpus_text_has(roots, cpu)))
			return -ECANCELED;
	return 0;
}

/* ---- removing it ------------------------------------------------------------------------- */

/* Moves all processes of @cgroup to the root. One number a write is what the kernel takes. */
static void move_out(const struct step_env *env, const char *cgroup, const char *parent)
{
	char procs[8192], *line, *rest = procs;

	if (read_file(env->root, cgroup, "cgroup.procs", procs, sizeof(procs)))
		return;
	while ((line = strsep(&rest, "\n")))
		if (line[0] && write_file(env, parent, "cgroup.procs", line))
			continue; /* it has ended, or will be met in the next try */
}

static int remove_cgroup(const struct step_env *env, const char *cgroup)
{
	char parent[PATH_MAX];
	int r;

	find_parent(cgroup, parent);
	for (int i = 0; i < REMOVE_TRIES; i++) {
		r = writer_rmdir(env, cgroup);
		if (r == -ENOENT)
			return 0;
		if (r != -EBUSY)
			return r;
		move_out(env, cgroup, parent);
		util_sleep(i ? REMOVE_PAUSE : 0);
	}
	/* somebody has made a cgroup in it: at least it must not keep the CPUs from all others */
	return write_file(env, cgroup, "cpuset.cpus.partition", "member") ? r : -EBUSY;
}

/* True where the file has another value than @value, and where it cannot be told. */
static bool may_differ(const struct root *root, const char *cgroup, const char *file,
		       const char *value)
{
	char now[128];
	int r = read_file(root, cgroup, file, now, sizeof(now));

	return r ? r != -ENOENT && r != -ENODEV : strcmp(now, value) != 0;
}

/*
 * "-cpuset" clears every cpuset of the first level, also what others set meanwhile: it stays on
 * where any of them may have something set.
 */
static bool is_controller_used(const struct root *root, const char *top)
{
	static const char *const files[] = { "cpuset.cpus", "cpuset.mems",
					     "cpuset.cpus.exclusive" };
	DIR *dir = root_opendir(root, "%s", top);
	struct dirent *entry;
	bool is_used = !dir;
	int failed = 0;

	while (!is_used && dir && (entry = root_readdir(dir, &failed))) {
		char child[PATH_MAX];

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		if (snprintf(child, sizeof(child), "%s/%s", top, entry->d_name) >=
		    (int)sizeof(child))
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(files); i++)
			is_used |= may_differ(root, child, files[i], "");
		is_used |= may_differ(root, child, "cpuset.cpus.partition", "member");
	}
	if (dir)
		closedir(dir);
	return is_used || failed;
}

static int undo_item(const struct step *step, struct step_env *env, const struct item *item)
{
	const char *path = item->object + 1;
	char top[PATH_MAX];
	int r;

	(void)step;
	if (item->id == ITEM_CGROUP)
		return remove_cgroup(env, path);
	find_parent(path, top);
	if (is_controller_used(env->root, top))
		return 0;
	r = writer_write(env, path, item->before);
	return r == -ENOENT ? 0 : r;
}

/* The cgroup first, then the controller. */
static int undo_partition(struct step *step, struct step_env *env)
{
	env->partition = NULL;
	return step_undo_items(step, env, true, undo_item);
}

/* ---- making it --------------------------------------------------------------------------- */

/* Our own subtree_control holds the controller: a daemon that withdraws it from the root is refused
 * then. */
static int make_cgroup(const struct step_env *env, const char *cgroup, const char *cpus)
{
	int r = writer_mkdir(env, cgroup);

	if (r == -EEXIST) /* of a cpuoff that was killed */
		r = 0;
	if (!r)
		r = write_file(env, cgroup, "cgroup.subtree_control", "+cpuset");
	if (!r)
		r = write_file(env, cgroup, "cpuset.cpus", cpus);
	if (!r)
		r = write_file(env, cgroup, "cpuset.cpus.partition", "isolated");
	return r;
}

static int apply_partition(struct step *step, struct step_env *env)
{
	static struct online_mask mask;
	int r = 0;

	for (size_t i = 0; !r && i < step->nr_items; i++) {
		struct item *item = &step->items[i];

		item->state =
			STATE_APPLIED; /* a cgroup that was made and failed later must go, too */
		if (item->id == ITEM_CONTROLLER) {
			r = writer_write(env, item->object + 1, item->after);
		} else {
			r = make_cgroup(env, item->object + 1, item->after);
			env->partition = item->object + 1;
		}
		item->error = -r;
	}
	if (!r)
		r = partition_check(env, &mask);
	if (!r)
		return 0;
	/* It serves nobody now; its way is not open here, and another one may be. */
	undo_partition(step, env);
	return -EOPNOTSUPP;
}

/* CPUs of the root's cpuset that are online and stay: work needs them. */
bool partition_leaves_root(const struct cgroups *cgroups, hwloc_const_bitmap_t survivors)
{
	return !cgroups->nr || !cgroups->is_v2 || !cgroups->list[0].effective ||
	       hwloc_bitmap_intersects(cgroups->list[0].effective, survivors);
}

const struct step_kind partition_kind = {
	.name = "partition",
	.undo_rank = 10,
	.lifetime = LIFETIME_DURING,
	.describe = describe_partition,
	.apply = apply_partition,
	.undo = undo_partition,
};

/* ---- partitions of others ---------------------------------------------------------------- */

static bool reaches_into(const struct cgroup *cgroup, hwloc_const_bitmap_t target)
{
	return hwloc_bitmap_intersects(cgroup->cpus, target) ||
	       (cgroup->effective && hwloc_bitmap_intersects(cgroup->effective, target));
}

/*
 * One that an earlier operation has demoted is taken over: it is promoted by the last of the
 * operations that hold CPUs of it.
 */
static int add_other(struct step *step, const struct step_env *env, const struct cgroup *cgroup)
{
	_cleanup_free_ char *before = NULL, *object = NULL;
	const char *earlier;

	object = util_asprintf("/%s/%s", env->cgroups->root, cgroup->path);
	if (!object)
		return -ENOMEM;
	earlier = env_before(env, step->kind, cgroup->inode, 0, object);
	if (!is_of_others(cgroup) && !earlier)
		return 0;
	/* "root invalid (reason)": what its owner wrote is the first word */
	before = is_of_others(cgroup) ? strndup(cgroup->partition, strcspn(cgroup->partition, " "))
				      : strdup(earlier);
	return before && step_add_item(step, cgroup->inode, before, "member", "%s", object)
		       ? 0
		       : -ENOMEM;
}

static int describe_others(struct step *step, struct step_env *env)
{
	int r = 0;

	if (env->is_return || !env->cgroups || !env->cgroups->is_v2)
		return 0;
	for (size_t i = 0; !r && i < env->cgroups->nr; i++)
		if (reaches_into(&env->cgroups->list[i], env->target))
			r = add_other(step, env, &env->cgroups->list[i]);
	return r;
}

/* Children before parents: the list has parents first. */
static int apply_others(struct step *step, struct step_env *env)
{
	for (size_t i = step->nr_items; i-- > 0;) {
		struct item *item = &step->items[i];
		int r = write_file(env, item->object + 1, "cpuset.cpus.partition", item->after);

		item->error = r == -ENOENT ? 0 : -r;
		if (r && r != -ENOENT)
			return r;
		item->state = r ? STATE_FAILED : STATE_APPLIED;
	}
	return 0;
}

static int undo_other(const struct step *step, struct step_env *env, const struct item *item)
{
	char now[128];
	int r;

	if (env_find_other(env, step->kind, item->id, item->stamp, item->object))
		return 0;
	r = read_file(env->root, item->object + 1, "cpuset.cpus.partition", now, sizeof(now));
	if (r == -ENOENT || r == -ENODEV || (!r && strcmp(now, item->after)))
		return 0; /* removed, or its owner's business again */
	return r ? r : write_file(env, item->object + 1, "cpuset.cpus.partition", item->before);
}

static int undo_others(struct step *step, struct step_env *env)
{
	return step_undo_items(step, env, false, undo_other);
}

static bool is_barred(const struct step *step, const struct step_env *env, const struct item *item)
{
	char path[PATH_MAX];

	(void)step;
	return snprintf(path, sizeof(path), "%s/cpuset.cpus.partition", item->object + 1) <
		       (int)sizeof(path) &&
	       root_try_write(env->root, path) == -EACCES;
}

const struct step_kind partition_others_kind = {
	.name = "partition.others",
	.undo_rank = 30,
	.lifetime = LIFETIME_UNTIL_RESTORE,
	.capability = CAP_DAC_OVERRIDE,
	.is_barred = is_barred,
	.describe = describe_others,
	.apply = apply_others,
	.undo = undo_others,
};
