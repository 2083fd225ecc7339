/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-root.c - tests of the door to the machine's files: nothing outside of the root, nothing by
 * halves */
#include "host/root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "guard.h"
#include "tap.h"
#include "temp.h"

int __wrap_faccessat(int dir, const char *path, int mode, int flags);
int __real_faccessat(int dir, const char *path, int mode, int flags);

static struct root *root;
static int looking_error; /* what keeps faccessat() from looking, 0: nothing */

int __wrap_faccessat(int dir, const char *path, int mode, int flags)
{
	if (!looking_error)
		return __real_faccessat(dir, path, mode, flags);
	errno = looking_error;
	return -1;
}

static char outside[] = "/tmp/cpuoff-outside-XXXXXX";

static char *outside_path(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", outside, name);
	return path;
}

static int write_outside(const char *name)
{
	int fd = open(outside_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	bool is_done = fd >= 0 && write(fd, "secret", 6) == 6;

	if (fd >= 0)
		close(fd);
	return is_done ? 0 : -errno;
}

static bool outside_is(const char *expected)
{
	char text[64] = "";
	int fd = open(outside_path("file"), O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return n >= 0 && !strcmp(text, expected);
}

/* ---- opening ----------------------------------------------------------------------------- */

static void test_open(void)
{
	struct root *other = NULL;

	is_int(root_open(temp_path("no"), &other), -ENOENT, "a root that is not there");
	temp_write("file", "x");
	is_int(root_open(temp_path("file"), &other), -ENOTDIR, "a file as a root");
	is_int(root_open(temp_path("sys"), &other), -ENOENT, "a directory that is no machine");
	temp_write("b/sys/devices/system/cpu", "no directory");
	is_int(root_open(temp_path("b"), &other), -ENOTDIR, "a machine whose CPUs are a file");
	ok(!other, "none is opened");
	ok(!root_is_live(root), "a copy is not the running machine");
	temp_symlink(".", "link");
	is_int(root_open(temp_path("link"), &other), 0, "a root through a link");
	is_str(other ? root_path(other) : NULL, root_path(root), "its path has no links");
	root_close(other);
	root_close(NULL);
}

static void test_live(void)
{
	struct root *live = NULL;

	if (root_open("/", &live))
		return;
	ok(root_is_live(live), "the running machine");
	is_str(root_path(live), "/", "its path");
	root_close(live);
}

/* ---- reading ----------------------------------------------------------------------------- */

static const struct content {
	const char *bytes;
	size_t size;
	const char *text;
} contents[] = {
	{ "0-3\n", 4, "0-3" }, { "0-3", 3, "0-3" },	     { "0-3\n\0", 5, "0-3" },
	{ "0-3\0", 4, "0-3" }, { "0-3 \t\r\n\n", 8, "0-3" }, { "\n", 1, "" },
	{ "", 0, "" },	       { "\0\0\0", 3, "" },	     { " a b\n c\n", 8, " a b\n c" },
};

static void test_contents(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(contents); i++) {
		const struct content *c = &contents[i];
		_cleanup_free_ char *text = NULL;
		char buffer[16] = "xxxxxxxxxxxxxxx";

		temp_write_bytes("sys/file", c->bytes, c->size);
		is_int(root_read(root, &text, "sys/%s", "file"), 0, "content %zu is read", i);
		is_str(text, c->text, "content %zu: its end is cut", i);
		is_int(root_read_buffer(root, "sys/file", buffer, sizeof(buffer)), 0,
		       "content %zu is read into a buffer", i);
		is_str(buffer, c->text, "content %zu: its end is cut there", i);
	}
}

static void test_buffer(void)
{
	struct {
		char text[8];
		char guard[8];
	} space;

	memset(&space, 'x', sizeof(space));
	temp_write("sys/seven", "1234567");
	is_int(root_read_buffer(root, "sys/seven", space.text, 8), 0, "seven bytes into eight");
	is_str(space.text, "1234567", "all of them");
	is_int(root_read_buffer(root, "sys/seven", space.text, 7), -EFBIG, "seven into seven");
	is_int(root_read_buffer(root, "sys/seven", space.text, 3), -EFBIG, "seven into three");
	is_int(root_read_head(root, "sys/seven", space.text, 4), 0, "the head of seven");
	is_int((long long)strlen(space.text), 3, "its first three bytes");
	is_int(root_read_head(root, "sys/nothing", space.text, 4), -ENOENT, "the head of nothing");
	is_int(root_read_buffer(root, "sys/seven", space.text, 1), -EFBIG, "seven into one");
	ok(!memcmp(space.guard, "xxxxxxxx", 8), "nothing is written behind the buffer");
	is_int(root_read_buffer(root, "sys/none", space.text, 8), -ENOENT, "no file");
	is_int(root_read_buffer(root, "sys", space.text, 8), -EISDIR, "a directory");
}

static void test_long(void)
{
	static char endless[1000];
	static const struct {
		const char *text;
		int r;
		long value;
	} cases[] = { { "5\n", 0, 5 },	      { "-1\n", 0, -1 },
		      { "0", 0, 0 },	      { "", -EINVAL, 0 },
		      { "x\n", -EINVAL, 0 },  { "5 6\n", -EINVAL, 0 },
		      { "0x5", -EINVAL, 0 },  { "99999999999999999999", -ERANGE, 0 },
		      { endless, -EINVAL, 0 } };

	memset(endless, '7', sizeof(endless) - 1);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		long value = 77;

		temp_write("sys/number", cases[i].text);
		is_int(root_read_long(root, &value, "sys/%s", "number"), cases[i].r,
		       "number \"%s\"", cases[i].text);
		is_int(value, cases[i].r ? 77 : cases[i].value, "number \"%s\": the value",
		       cases[i].text);
	}
}

static void test_sets(void)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	_cleanup_free_ char *list = NULL, *mask = NULL;

	temp_write("sys/list", "0-3,8-4095\n");
	is_int(root_read_cpulist(root, 15, cpus, "sys/list"), 0, "a cpulist");
	list = cpus_format(cpus);
	is_str(list, "0-3,8-15", "what lies beyond is left out");
	temp_write("sys/mask", "ff,00000003\n");
	is_int(root_read_cpumask(root, 63, cpus, "sys/mask"), 0, "a cpumask");
	mask = cpus_format(cpus);
	is_str(mask, "0-1,32-39", "its CPUs");
	is_int(root_read_cpulist(root, 15, cpus, "sys/none"), -ENOENT, "no cpulist");
	is_int(root_read_cpumask(root, 15, cpus, "sys/none"), -ENOENT, "no cpumask");
	temp_write("sys/list", "(null)\n");
	is_int(root_read_cpulist(root, 15, cpus, "sys/list"), -EINVAL, "no list");
}

/* Which file it was is known as long as nothing else fails; a missing one is no failure. */
static void test_failed_file(void)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	_cleanup_root_ struct root *fresh = temp_root();
	_cleanup_free_ char *text = NULL;
	char buffer[4];
	long number;

	is_str(root_failed_file(fresh, -EINVAL), NULL, "nothing has failed yet");
	is_str(root_failed_file(fresh, 0), NULL, "and no error has no file");
	temp_write("sys/bad7", "0-\n");
	is_int(root_read_cpulist(fresh, 15, cpus, "sys/bad%d", 7), -EINVAL, "a bad list");
	is_str(root_failed_file(fresh, -EINVAL), "sys/bad7", "is named");
	is_str(root_failed_file(fresh, -EIO), NULL, "but for no other error");
	is_int(root_read_cpulist(fresh, 15, cpus, "sys/none"), -ENOENT, "a missing one");
	is_str(root_failed_file(fresh, -ENOENT), NULL, "is not named");
	is_str(root_failed_file(fresh, -EINVAL), "sys/bad7", "nor is the bad one forgotten");
	temp_write("sys/mask", "0,xyz\n");
	is_int(root_read_cpumask(fresh, 15, cpus, "sys/%s", "mask"), -EINVAL, "a bad mask");
	is_str(root_failed_file(fresh, -EINVAL), "sys/mask", "is named");
	temp_write("sys/number", "many\n");
	is_int(root_read_long(fresh, &number, "sys/%s", "number"), -EINVAL, "a bad number");
	is_str(root_failed_file(fresh, -EINVAL), "sys/number", "is named");
	temp_mkdir("sys/folder");
	is_int(root_read(fresh, &text, "sys/%s", "folder"), -EISDIR, "a folder");
	is_str(root_failed_file(fresh, -EISDIR), "sys/folder", "is named");
	is_int(root_read_buffer(fresh, "sys/mask", buffer, sizeof(buffer)), -EFBIG, "a long file");
	is_str(root_failed_file(fresh, -EFBIG), "sys/mask", "is named");
}

static void test_huge(void)
{
	_cleanup_free_ char *text = NULL;
	char name[PATH_MAX + 10];

	temp_write("sys/huge", "");
	is_int(truncate(temp_path("sys/huge"), (off_t)65 << 20), 0, "a file of 65 MiB");
	is_int(root_read(root, &text, "sys/huge"), -EFBIG, "it is refused");
	is_str(text, NULL, "and not read");
	unlink(temp_path("sys/huge"));
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	is_int(root_read(root, &text, "sys/%s", name), -ENAMETOOLONG, "a path that is too long");
	ok(!root_has(root, "sys/%s", name), "is not there");
}

/* ---- writing ----------------------------------------------------------------------------- */

static void test_write(void)
{
	_cleanup_free_ char *text = NULL;

	temp_write("sys/value", "0");
	is_int(root_write(root, "1", "sys/value"), 0, "a value is written");
	is_int(root_read(root, &text, "sys/value"), 0, "it can be read");
	is_str(text, "1", "as it was written");
	is_int(root_write(root, "1", "sys/new"), -ENOENT, "a file that is not there is not made");
	ok(!root_has(root, "sys/new"), "really not");
	is_int(root_write(root, "1", "sys"), -EISDIR, "a directory is not written to");
	ok(root_has(root, "sys/%s", "value"), "a file is there");
	is_int(root_mkdir(root, "sys/dir"), 0, "a directory is made");
	is_int(root_mkdir(root, "sys/dir"), -EEXIST, "once");
	is_int(root_rmdir(root, "sys/dir"), 0, "it is removed");
	is_int(root_rmdir(root, "sys/dir"), -ENOENT, "once");
}

static void test_short_write(void)
{
	int r;

	/* a device that takes nothing, as a link inside of the running machine */
	struct root *live = NULL;

	if (root_open("/", &live))
		return;
	r = root_write(live, "1", "dev/full");
	ok(r == -ENOSPC || r == -ENOENT || r == -EACCES, "a full device says so");
	root_close(live);
}

static void test_opendir(void)
{
	DIR *dir = root_opendir(root, "sys/%s", "devices");

	ok(dir, "a directory is opened");
	if (dir)
		closedir(dir);
	ok(!root_opendir(root, "sys/none") && errno == ENOENT, "one that is not there is not");
	ok(!root_opendir(root, "sys/value") && errno == ENOTDIR, "nor is a file");
}

/* ---- outside ----------------------------------------------------------------------------- */

/* What a path leads to lies outside: nobody reads it, writes it, or learns that it is there. */
static void test_outside(const char *file, const char *what)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	_cleanup_free_ char *text = NULL;
	char buffer[64];
	long number;

	is_int(root_openat(root, O_RDONLY, file), -EXDEV, "%s: not opened", what);
	is_int(root_read(root, &text, "%s", file), -EXDEV, "%s: not read", what);
	is_int(root_read_buffer(root, file, buffer, sizeof(buffer)), -EXDEV,
	       "%s: not into a buffer", what);
	is_int(root_read_long(root, &number, "%s", file), -EXDEV, "%s: not as a number", what);
	is_int(root_read_cpulist(root, 7, cpus, "%s", file), -EXDEV, "%s: not as a list", what);
	is_int(root_read_cpumask(root, 7, cpus, "%s", file), -EXDEV, "%s: not as a mask", what);
	is_int(root_write(root, "gone", file), -EXDEV, "%s: not written", what);
	ok(outside_is("secret"), "%s: untouched", what);
	ok(!root_has(root, "%s", file), "%s: not there", what);
}

static void test_outside_dir(const char *dir, const char *what)
{
	char path[512];
	struct stat st;
	DIR *opened = root_opendir(root, "%s", dir);

	ok(!opened && errno == EXDEV, "%s: not listed", what);
	if (opened)
		closedir(opened);
	snprintf(path, sizeof(path), "%s/made", dir);
	is_int(root_mkdir(root, path), -EXDEV, "%s: nothing is made in it", what);
	ok(stat(outside_path("made"), &st) < 0, "%s: really not", what);
	if (mkdir(outside_path("made"), 0755) < 0 && errno != EEXIST)
		diag("no directory outside");
	is_int(root_rmdir(root, path), -EXDEV, "%s: nothing is removed from it", what);
	ok(!stat(outside_path("made"), &st), "%s: really not", what);
	rmdir(outside_path("made"));
}

static void test_all_outside(void)
{
	char up[512], relative[512];

	is_int(write_outside("file"), 0, "a file outside");
	temp_symlink(outside_path("file"), "sys/link");
	test_outside("sys/link", "a link to a file");
	temp_symlink(outside, "sys/dirlink");
	test_outside("sys/dirlink/file", "a file below a link");
	test_outside_dir("sys/dirlink", "a link to a directory");
	temp_symlink("dirlink", "sys/link2");
	test_outside("sys/link2/file", "a link to a link");
	snprintf(relative, sizeof(relative), "../../../../../..%s", outside_path("file"));
	test_outside(relative, "a path that goes up");
	snprintf(up, sizeof(up), "../../../../../..%s", outside_path("file"));
	temp_symlink(up, "sys/up");
	test_outside("sys/up", "a link that goes up");
	test_outside(outside_path("file"), "a path from the top");
}

/* The name of the root is the beginning of its neighbour's. */
static void test_neighbour(void)
{
	struct root *short_root = NULL;
	_cleanup_free_ char *text = NULL;

	temp_mkdir("a/sys/devices/system/cpu");
	temp_write("ab/file", "x");
	is_int(root_open(temp_path("a"), &short_root), 0, "a root");
	temp_symlink("../../ab/file", "a/sys/link");
	is_int(short_root ? root_read(short_root, &text, "sys/link") : 0, -EXDEV,
	       "a neighbour of almost its name lies outside");
	root_close(short_root);
}

static void test_inside_links(void)
{
	_cleanup_free_ char *text = NULL, *absolute = NULL;

	temp_write("sys/real", "inside");
	temp_symlink("../sys/real", "sys/good");
	is_int(root_read(root, &text, "sys/good"), 0, "a link within the root is followed");
	is_str(text, "inside", "to what it leads to");
	temp_symlink(temp_path("sys/real"), "sys/absolute");
	is_int(root_read(root, &absolute, "sys/absolute"), 0,
	       "also one that names the root in full");
	temp_symlink("loop", "sys/loop");
	free(absolute);
	absolute = NULL;
	is_int(root_read(root, &absolute, "sys/loop"), -ELOOP, "a loop is an error");
	temp_symlink("nothing", "sys/dangling");
	is_int(root_read(root, &absolute, "sys/dangling"), -ENOENT, "so is a link to nothing");
}

static void test_without_memory(void)
{
	char buffer[16];
	size_t nr;
	int r, w;

	temp_write("sys/value", "12345");
	guard_begin();
	r = root_read_buffer(root, "sys/value", buffer, sizeof(buffer));
	w = root_write(root, "1", "sys/value");
	nr = guard_end();
	ok(!r && !w, "reading into a buffer and writing work without memory");
	if (guard_can_see())
		is_int((long long)nr, 0, "none is asked for");
}

static void test_looking(void)
{
	static const int errors[] = { ENOMEM, EIO, EACCES, ENOTDIR };

	temp_write("sys/seen", "1\n");
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		looking_error = errors[i];
		ok(root_has(root, "sys/seen") == (i < 2), "looking ends with %s: %s",
		   strerror(errors[i]), i < 2 ? "it may be there" : "it is not");
	}
	looking_error = 0;
}

int main(void)
{
	temp_make();
	root = temp_root();
	if (!mkdtemp(outside))
		return 1;
	test_open();
	test_looking();
	test_live();
	test_contents();
	test_buffer();
	test_long();
	test_sets();
	test_failed_file();
	test_huge();
	test_write();
	test_short_write();
	test_opendir();
	test_all_outside();
	test_neighbour();
	test_inside_links();
	test_without_memory();
	unlink(outside_path("file"));
	rmdir(outside);
	root_close(root);
	temp_remove();
	return done_testing();
}
