/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cgroups.c - the tree of cpusets as it is: cgroup v2, or the v1 hierarchies */
#include "host/cgroups.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

/* Deeper cgroups are left out, and their tasks count as the nearest ancestor's. */
#define DEPTH_MAX 128

struct walk {
	const struct root *root;
	const struct machine *machine;
	struct cgroups *cgroups;
};

/* ---- finding the hierarchy --------------------------------------------------------------- */

/* True where @word is among those in @text that @separators part. */
static bool has_word(const char *text, const char *word, const char *separators)
{
	size_t length = strlen(word);

	for (text += strspn(text, separators); *text; text += strspn(text, separators)) {
		size_t n = strcspn(text, separators);

		if (n == length && !strncmp(text, word, n))
			return true;
		text += n;
	}
	return false;
}

/* True where the file @file of the directory @dir names the cpuset controller. */
static bool names_cpuset(const struct root *root, const char *dir, const char *file)
{
	_cleanup_free_ char *text = NULL;

	return !root_read(root, &text, "%s/%s", dir, file) && has_word(text, "cpuset", " \n");
}

static int use_v2(const struct root *root, const char *dir, struct cgroups *cgroups)
{
	if (!names_cpuset(root, dir, "cgroup.controllers"))
		return 0;
	cgroups->root = strdup(dir);
	cgroups->is_v2 = true;
	cgroups->keeps_masks = root_has(root, "%s/cpuset.cpus.isolated", dir);
	cgroups->is_enabled = names_cpuset(root, dir, "cgroup.subtree_control");
	return cgroups->root ? 0 : -ENOMEM;
}

static int use_v1(const struct root *root, const char *dir, struct cgroups *cgroups)
{
	bool has_prefix = root_has(root, "%s/cpuset.cpus", dir);

	if (!has_prefix && !root_has(root, "%s/cpus", dir))
		return 0;
	cgroups->root = strdup(dir);
	cgroups->is_classic = !has_prefix;
	return cgroups->root ? 0 : -ENOMEM;
}

/* /proc/mounts writes blanks and backslashes of a path as three octal digits. */
static void decode_octal(char *text)
{
	char *out = text;

	while (*text) {
		unsigned int value;

		if (*text == '\\' && sscanf(text + 1, "%3o", &value) == 1 && value &&
		    value <= UCHAR_MAX) {
			*out++ = (char)value;
			text += 4;
		} else {
			*out++ = *text++;
		}
	}
	*out = '\0';
}

/* One line of /proc/mounts: device, place, type, options. */
static int use_mount(const struct root *root, char *line, bool v2, struct cgroups *cgroups)
{
	char *save, *dir, *type, *options;

	strtok_r(line, " ", &save);
	dir = strtok_r(NULL, " ", &save);
	type = strtok_r(NULL, " ", &save);
	options = strtok_r(NULL, " ", &save);
	if (!options || *dir != '/')
		return 0;
	decode_octal(dir);
	dir += strspn(dir, "/");
	if (v2)
		return strcmp(type, "cgroup2") ? 0 : use_v2(root, dir, cgroups);
	if (!strcmp(type, "cpuset") ||
	    (!strcmp(type, "cgroup") && has_word(options, "cpuset", ",")))
		return use_v1(root, dir, cgroups);
	return 0;
}

static int use_mounts(const struct root *root, bool v2, struct cgroups *cgroups)
{
	_cleanup_free_ char *text = NULL;
	char *save;
	int r = root_read(root, &text, "proc/mounts");

	if (r)
		return root_is_shortage(r) ? r : 0;
	for (char *line = strtok_r(text, "\n", &save); line && !r && !cgroups->root;
	     line = strtok_r(NULL, "\n", &save))
		r = use_mount(root, line, v2, cgroups);
	return r;
}

static int find_hierarchy(const struct root *root, struct cgroups *cgroups)
{
	int r = use_mounts(root, true, cgroups);

	if (!r && !cgroups->root)
		r = use_mounts(root, false, cgroups);
	/* A machine's copy may lack the list of mounts. */
	if (!r && !cgroups->root && !root_is_live(root))
		r = use_v2(root, "sys/fs/cgroup", cgroups);
	if (!r && !cgroups->root && !root_is_live(root))
		r = use_v1(root, "sys/fs/cgroup/cpuset", cgroups);
	if (!r && !cgroups->root && !root_is_live(root))
		r = use_v1(root, "dev/cpuset", cgroups);
	return r;
}

/* ---- reading one cgroup ------------------------------------------------------------------ */

const char *cgroups_effective_file(const struct cgroups *cgroups)
{
	return cgroups->is_v2	     ? "cpuset.cpus.effective"
	       : cgroups->is_classic ? "effective_cpus"
				     : "cpuset.effective_cpus";
}

int cgroups_path(const struct cgroups *cgroups, const char *cgroup, const char *file, char *path,
		 size_t size)
{
	int n = snprintf(path, size, "%s%s%s/%s", cgroups->root, *cgroup ? "/" : "", cgroup, file);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* A file that is not there, or no longer, is no error: the controller is off, or the cgroup went
 * away. */
static bool is_gone(int r)
{
	return r == -ENOENT || r == -ENODEV || r == -EOPNOTSUPP || r == -ENAMETOOLONG ||
	       r == -EXDEV;
}

/* Reads the list in the cgroup's file @file. *@ret_cpus is a new set, or untouched where there is
 * no file. */
static int read_list(const struct walk *walk, const char *cgroup, const char *file,
		     hwloc_bitmap_t *ret_cpus)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	char path[PATH_MAX];
	int r;

	if (!cpus)
		return -ENOMEM;
	r = cgroups_path(walk->cgroups, cgroup, file, path, sizeof(path));
	if (!r)
		r = root_read_cpulist(walk->root, walk->machine->nr_cpus - 1, cpus, "%s", path);
	if (r)
		return is_gone(r) ? 0 : r;
	*ret_cpus = steal_pointer(&cpus);
	return 0;
}

static int read_text(const struct walk *walk, const char *cgroup, const char *file, char **ret_text)
{
	char path[PATH_MAX];
	int r = cgroups_path(walk->cgroups, cgroup, file, path, sizeof(path));

	if (!r)
		r = root_read(walk->root, ret_text, "%s", path);
	return is_gone(r) ? 0 : r;
}

/* True where the file is not empty. One byte tells: the list of all tasks may be long. */
static bool has_text(const struct walk *walk, const char *cgroup, const char *file)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX], byte;

	if (cgroups_path(walk->cgroups, cgroup, file, path, sizeof(path)))
		return false;
	fd = root_openat(walk->root, O_RDONLY, path);
	return fd >= 0 && read(fd, &byte, 1) == 1;
}

static int read_populated(const struct walk *walk, struct cgroup *cgroup)
{
	_cleanup_free_ char *events = NULL;
	int r = 0;

	if (walk->cgroups->is_v2)
		r = read_text(walk, cgroup->path, "cgroup.events", &events);
	if (r)
		return r;
	if (events)
		cgroup->is_populated = strstr(events, "populated 1") != NULL;
	else
		cgroup->is_populated =
			!cgroup->depth || has_text(walk, cgroup->path,
						   walk->cgroups->is_v2 ? "cgroup.procs" : "tasks");
	return 0;
}

static int read_cpus(const struct walk *walk, struct cgroup *cgroup)
{
	const struct cgroups *cgroups = walk->cgroups;
	int r;

	r = read_list(walk, cgroup->path, cgroups->is_classic ? "cpus" : "cpuset.cpus",
		      &cgroup->cpus);
	if (!r)
		r = read_list(walk, cgroup->path, cgroups_effective_file(cgroups),
			      &cgroup->effective);
	/* v1 kernels before 3.17 have but the one list. */
	if (!r && !cgroups->is_v2 && cgroup->cpus && !cgroup->effective) {
		cgroup->effective = hwloc_bitmap_dup(cgroup->cpus);
		r = cgroup->effective ? 0 : -ENOMEM;
	}
	if (!r && !cgroup->cpus) {
		cgroup->cpus = hwloc_bitmap_alloc();
		r = cgroup->cpus ? 0 : -ENOMEM;
	}
	return r;
}

static int read_cgroup(const struct walk *walk, struct cgroup *cgroup)
{
	int r = read_cpus(walk, cgroup);

	if (!r && walk->cgroups->is_v2 && cgroup->depth)
		r = read_text(walk, cgroup->path, "cpuset.cpus.partition", &cgroup->partition);
	return r ? r : read_populated(walk, cgroup);
}

static void free_cgroup(struct cgroup *cgroup)
{
	free(cgroup->path);
	free(cgroup->partition);
	hwloc_bitmap_free(cgroup->cpus);
	hwloc_bitmap_free(cgroup->effective);
}

/* ---- walking ----------------------------------------------------------------------------- */

static bool is_directory(DIR *dir, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_name[0] == '.' && (!entry->d_name[1] || !strcmp(entry->d_name, "..")))
		return false;
	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return !fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode);
}

/* The directory's number, and the sorted names of the directories in it; -ENOENT where it is gone.
 */
static int read_directory(const struct walk *walk, const char *cgroup,
			  unsigned long long *ret_inode, struct names *names)
{
	char path[PATH_MAX];
	struct dirent *entry;
	struct stat st;
	DIR *dir;
	int r = cgroups_path(walk->cgroups, cgroup, "", path, sizeof(path));

	if (r)
		return r;
	dir = root_opendir(walk->root, "%s", path);
	if (!dir)
		return -errno;
	r = fstat(dirfd(dir), &st) < 0 ? -errno : 0;
	while (!r && (entry = root_readdir(dir, &r)))
		if (is_directory(dir, entry))
			r = names_add(names, entry->d_name);
	closedir(dir);
	if (r)
		return r;
	names_sort(names);
	*ret_inode = st.st_ino;
	return 0;
}

static struct cgroup *add_cgroup(struct cgroups *cgroups, const char *path, unsigned int depth)
{
	struct cgroup *list = util_grow(cgroups->list, cgroups->nr, sizeof(*list));

	if (!list)
		return NULL;
	cgroups->list = list;
	list[cgroups->nr] = (struct cgroup){ .path = strdup(path), .depth = depth };
	return list[cgroups->nr].path ? &list[cgroups->nr++] : NULL;
}

static int walk_tree(struct walk *walk, const char *path, unsigned int depth);

static int walk_children(struct walk *walk, const char *path, unsigned int depth,
			 const struct names *names)
{
	int r = 0;

	for (size_t i = 0; !r && i < names->nr; i++) {
		_cleanup_free_ char *child =
			util_asprintf("%s%s%s", path, *path ? "/" : "", names->list[i]);

		r = child ? walk_tree(walk, child, depth + 1) : -ENOMEM;
	}
	return r;
}

/*
 * The directory is opened after the files were read: where it is still there, a file that was
 * missing means that the controller is off, not that the cgroup was being removed.
 */
static int walk_tree(struct walk *walk, const char *path, unsigned int depth)
{
	struct cgroups *cgroups = walk->cgroups;
	struct cgroup *cgroup = add_cgroup(cgroups, path, depth);
	_cleanup_names_ struct names names = { 0 };
	size_t self = cgroups->nr - 1;
	int r;

	if (!cgroup)
		return -ENOMEM;
	r = read_cgroup(walk, cgroup);
	if (!r)
		r = read_directory(walk, path, &cgroup->inode, &names);
	if (depth && is_gone(r)) {
		free_cgroup(&cgroups->list[--cgroups->nr]);
		return 0;
	}
	if (!r && depth < DEPTH_MAX)
		r = walk_children(walk, path, depth, &names);
	/* The kernel adds children in on v2 only. */
	for (size_t i = self + 1; i < cgroups->nr; i++)
		if (cgroups->list[i].is_populated)
			cgroups->list[self].is_populated = true;
	return r;
}

int cgroups_read(const struct root *root, const struct machine *machine,
		 struct cgroups *ret_cgroups)
{
	struct cgroups cgroups = { 0 };
	struct walk walk = { .root = root, .machine = machine, .cgroups = &cgroups };
	int r = find_hierarchy(root, &cgroups);

	if (!r && cgroups.root)
		r = walk_tree(&walk, "", 0);
	if (r) {
		cgroups_free(&cgroups);
		return r;
	}
	*ret_cgroups = cgroups;
	return 0;
}

void cgroups_free(struct cgroups *cgroups)
{
	for (size_t i = 0; i < cgroups->nr; i++)
		free_cgroup(&cgroups->list[i]);
	free(cgroups->list);
	free(cgroups->root);
	*cgroups = (struct cgroups){ 0 };
}

/* ---- looking up -------------------------------------------------------------------------- */

/* A slash sorts before every other character: that is the order of the walk. */
static int rank(const char *text, size_t length, size_t i)
{
	if (i >= length || !text[i])
		return 0;
	return text[i] == '/' ? 1 : (unsigned char)text[i] + 1;
}

/* Compares the first @length characters of @path with the whole of @other. */
static int compare_paths(const char *path, size_t length, const char *other)
{
	for (size_t i = 0;; i++) {
		int a = rank(path, length, i), b = rank(other, SIZE_MAX, i);

		if (a != b || !a)
			return a - b;
	}
}

static const struct cgroup *find_exactly(const struct cgroups *cgroups, const char *path,
					 size_t length)
{
	size_t first = 0, end = cgroups->nr;

	while (first < end) {
		size_t middle = first + (end - first) / 2;
		int order = compare_paths(path, length, cgroups->list[middle].path);

		if (!order)
			return &cgroups->list[middle];
		if (order < 0)
			end = middle;
		else
			first = middle + 1;
	}
	return NULL;
}

/* The length of the path without its last name. */
static size_t cut_name(const char *path, size_t length)
{
	while (length && path[length - 1] != '/')
		length--;
	return length ? length - 1 : 0;
}

const struct cgroup *cgroups_find(const struct cgroups *cgroups, const char *path)
{
	const struct cgroup *cgroup;
	size_t length;

	path += strspn(path, "/");
	length = strlen(path);
	while (!(cgroup = find_exactly(cgroups, path, length)) && length)
		length = cut_name(path, length);
	return cgroup;
}

const struct cgroup *cgroups_parent(const struct cgroups *cgroups, const struct cgroup *cgroup)
{
	if (!cgroup->depth)
		return NULL;
	return find_exactly(cgroups, cgroup->path, cut_name(cgroup->path, strlen(cgroup->path)));
}

const struct cgroup *cgroups_governor(const struct cgroups *cgroups, const struct cgroup *cgroup)
{
	while (cgroup && !cgroup->effective)
		cgroup = cgroups_parent(cgroups, cgroup);
	return cgroup;
}

bool cgroup_is_partition(const struct cgroup *cgroup)
{
	return cgroup->depth && cgroup->partition &&
	       (!strncmp(cgroup->partition, "root", 4) ||
		!strncmp(cgroup->partition, "isolated", 8));
}
