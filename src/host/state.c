/* SPDX-License-Identifier: GPL-2.0-or-later */
/* state.c - the state directory: journals, and the lock */
#include "host/state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define SUFFIX	    ".json"
#define TEMPORARY   ".new"
#define JOURNAL_MAX (256UL << 20)

struct state {
	int fd;
	int lock_fd;
	bool is_private; /* for root alone to read */
	char *path;
};

/* True where only root or the caller can have written it. */
static bool is_ours(const struct stat *st)
{
	return (st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & 022);
}

static int make_parents(const struct root *root, char *path)
{
	int r = 0;

	for (char *slash = strchr(path, '/'); slash && (!r || r == -EEXIST);
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		r = root_mkdir(root, path);
		*slash = '/';
	}
	return r == -EEXIST ? 0 : r;
}

/* A mask of the caller's must not hide the journals from those who ask for the status. */
static int make_dir(const struct root *root, char *path, bool is_private)
{
	mode_t mask = umask(022);
	int r = make_parents(root, path);

	umask(is_private ? 077 : 022);
	if (!r)
		r = root_mkdir(root, path);
	umask(mask);
	return r == -EEXIST ? 0 : r;
}

/*
 * The path below the root. A directory that already names the root by its full path is meant as it
 * stands. A slash at the end would have a link followed.
 */
static char *path_below(const struct root *root, const char *dir)
{
	const char *top = root_is_live(root) ? "" : root_path(root);
	size_t length = strlen(top);
	char *path;

	if (!strncmp(dir, top, length) && dir[length] == '/')
		dir += length;
	path = strdup(dir + strspn(dir, "/"));
	if (!path)
		return NULL;
	for (length = strlen(path); length && path[length - 1] == '/'; length--)
		path[length - 1] = '\0';
	return path;
}

static int open_dir(const struct root *root, const char *dir, bool create, struct state *state)
{
	_cleanup_free_ char *path = path_below(root, dir);
	struct stat st;
	int r = path ? 0 : -ENOMEM;

	if (!r && create)
		r = make_dir(root, path, state->is_private);
	if (r)
		return r;
	state->path = util_asprintf("%s/%s", root_is_live(root) ? "" : root_path(root), path);
	if (!state->path)
		return -ENOMEM;
	state->fd = root_openat(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, path);
	if (state->fd < 0)
		return state->fd;
	if (fstat(state->fd, &st) < 0)
		return -errno;
	return is_ours(&st) ? 0 : -EPERM;
}

static int open_as(const struct root *root, const char *dir, bool create, bool is_private,
		   struct state **ret_state)
{
	_cleanup_state_ struct state *state = calloc(1, sizeof(*state));
	int r;

	if (!state)
		return -ENOMEM;
	state->fd = state->lock_fd = -1;
	state->is_private = is_private;
	r = open_dir(root, dir, create, state);
	if (!r)
		*ret_state = steal_pointer(&state);
	return r;
}

int state_open(const struct root *root, const char *dir, bool create, struct state **ret_state)
{
	return open_as(root, dir, create, false, ret_state);
}

int state_open_private(const struct root *root, const char *dir, bool create,
		       struct state **ret_state)
{
	return open_as(root, dir, create, true, ret_state);
}

void state_close(struct state *state)
{
	if (!state)
		return;
	if (state->fd >= 0)
		close(state->fd);
	if (state->lock_fd >= 0)
		close(state->lock_fd);
	free(state->path);
	free(state);
}

const char *state_path(const struct state *state)
{
	return state->path;
}

static pid_t read_holder(int fd)
{
	char text[16] = "";
	long pid;

	if (pread(fd, text, sizeof(text) - 1, 0) <= 0)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	return util_parse_long(text, 1, INT_MAX, &pid) ? 0 : (pid_t)pid;
}

bool state_has_lock(const struct state *state)
{
	return !faccessat(state->fd, "lock", F_OK, AT_SYMLINK_NOFOLLOW);
}

static DIR *open_directory(const struct state *state)
{
	int fd = openat(state->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

void state_sweep(const struct state *state)
{
	DIR *dir = open_directory(state);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		size_t length = strlen(entry->d_name);

		if (entry->d_name[0] == '.' && length > strlen(TEMPORARY) &&
		    !strcmp(entry->d_name + length - strlen(TEMPORARY), TEMPORARY))
			unlinkat(state->fd, entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
}

int state_lock(struct state *state, pid_t *ret_holder)
{
	struct flock process = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	*ret_holder = 0;
	if (state->lock_fd < 0)
		state->lock_fd =
			openat(state->fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (state->lock_fd < 0)
		return -errno;
	if (fcntl(state->lock_fd, F_SETLK, &process) < 0) {
		if (errno != EAGAIN && errno != EACCES)
			return -errno;
		if (!fcntl(state->lock_fd, F_GETLK, &process) && process.l_type != F_UNLCK)
			*ret_holder = process.l_pid;
		return -EAGAIN;
	}
	if (flock(state->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		int r = errno == EWOULDBLOCK ? -EBUSY : -errno;

		*ret_holder = read_holder(state->lock_fd);
		process.l_type = F_UNLCK;
		fcntl(state->lock_fd, F_SETLK, &process);
		return r;
	}
	state_sweep(state);
	return 0;
}

void state_note_writer(struct state *state, pid_t pid)
{
	/* only a courtesy to whoever waits: a failure costs a name in a message */
	if (ftruncate(state->lock_fd, 0) < 0 || dprintf(state->lock_fd, "%d\n", (int)pid) < 0)
		return;
}

static int compare_ids(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_id(char ***ids, size_t *nr, const char *name)
{
	size_t length = strlen(name);
	char **list;

	if (name[0] == '.' || length <= strlen(SUFFIX) ||
	    strcmp(name + length - strlen(SUFFIX), SUFFIX))
		return 0;
	list = util_grow(*ids, *nr, sizeof(*list));
	if (!list)
		return -ENOMEM;
	*ids = list;
	list[*nr] = strndup(name, length - strlen(SUFFIX));
	if (!list[*nr])
		return -ENOMEM;
	(*nr)++;
	return 0;
}

int state_list(const struct state *state, char ***ret_ids, size_t *ret_nr)
{
	DIR *dir = open_directory(state);
	struct dirent *entry;
	char **ids = NULL;
	size_t nr = 0;
	int r = 0;

	if (!dir)
		return -errno;
	while (!r && (entry = root_readdir(dir, &r)))
		r = add_id(&ids, &nr, entry->d_name);
	closedir(dir);
	if (r) {
		while (nr)
			free(ids[--nr]);
		free(ids);
		return r;
	}
	if (nr)
		qsort(ids, nr, sizeof(*ids), compare_ids);
	*ret_ids = ids;
	*ret_nr = nr;
	return 0;
}

static int read_size(int fd, size_t size, char **ret_text)
{
	_cleanup_free_ char *text = malloc(size + 1);
	size_t length = 0;

	if (!text)
		return -ENOMEM;
	while (length < size) {
		ssize_t n = read(fd, text + length, size - length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		length += (size_t)n;
	}
	text[length] = '\0';
	*ret_text = steal_pointer(&text);
	return 0;
}

int state_read(const struct state *state, const char *id, char **ret_text)
{
	_cleanup_close_ int fd = -1;
	char name[NAME_MAX + 1];
	struct stat st;

	snprintf(name, sizeof(name), "%s" SUFFIX, id);
	fd = openat(state->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || !is_ours(&st))
		return -EPERM;
	if (st.st_size > (off_t)JOURNAL_MAX)
		return -EFBIG;
	return read_size(fd, (size_t)st.st_size, ret_text);
}

static int write_all(int fd, const char *text, size_t length)
{
	while (length) {
		ssize_t n = write(fd, text, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		length -= (size_t)n;
	}
	return fsync(fd) < 0 ? -errno : 0;
}

struct file_names {
	char file[NAME_MAX + 1], temporary[NAME_MAX + 1];
};

static struct file_names make_names(const char *id)
{
	struct file_names names;

	snprintf(names.file, sizeof(names.file), "%s" SUFFIX, id);
	snprintf(names.temporary, sizeof(names.temporary), ".%s" TEMPORARY, id);
	return names;
}

bool state_has(const struct state *state, const char *id)
{
	return !faccessat(state->fd, make_names(id).file, F_OK, AT_SYMLINK_NOFOLLOW);
}

int state_prepare(const struct state *state, const char *id, const char *text, size_t length)
{
	const struct file_names names = make_names(id);
	mode_t mode = state->is_private ? 0600 : 0644;
	_cleanup_close_ int fd = -1;
	int r;

	unlinkat(state->fd, names.temporary, 0); /* what a killed cpuoff left */
	fd = openat(state->fd, names.temporary,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return -errno;
	r = fchmod(fd, mode) < 0 ? -errno : write_all(fd, text, length);
	if (r)
		unlinkat(state->fd, names.temporary, 0);
	return r;
}

int state_commit(const struct state *state, const char *id)
{
	const struct file_names names = make_names(id);

	if (renameat(state->fd, names.temporary, state->fd, names.file) < 0) {
		int r = -errno;

		state_discard(state, id);
		return r;
	}
	/* The directory entry must be on disk, too. Where it cannot be synced, the file still is
	 * there. */
	fsync(state->fd);
	return 0;
}

void state_discard(const struct state *state, const char *id)
{
	unlinkat(state->fd, make_names(id).temporary, 0);
}

int state_write(const struct state *state, const char *id, const char *text, size_t length)
{
	int r = state_prepare(state, id, text, length);

	return r ? r : state_commit(state, id);
}

int state_remove(const struct state *state, const char *id)
{
	char name[NAME_MAX + 1];

	snprintf(name, sizeof(name), "%s" SUFFIX, id);
	if (unlinkat(state->fd, name, 0) < 0)
		return -errno;
	fsync(state->fd);
	return 0;
}
