/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kmsg.c - what the kernel writes to its log while we are at work */
#include "host/kmsg.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define LOG_MAX	   (1UL << 20)
#define RECORD_MAX 8192 /* a read of less than a record fails with EINVAL */

/* printk levels: up to this one it is a warning */
#define LEVEL_WARNING 4

static int open_log(const struct root *root)
{
	_cleanup_close_ int fd = root_openat(root, O_RDONLY | O_NONBLOCK, "dev/kmsg");
	struct stat st;

	if (fd < 0)
		return fd;
	/* a device in the copy of a machine would be that of the running one */
	if (fstat(fd, &st) < 0 || (!root_is_live(root) && !S_ISREG(st.st_mode)))
		return -ENODEV;
	return steal_fd(&fd);
}

int kmsg_open(const struct root *root)
{
	_cleanup_close_ int fd = open_log(root);

	if (fd < 0)
		return fd;
	return lseek(fd, 0, SEEK_END) < 0 ? -errno : steal_fd(&fd);
}

int kmsg_open_whole(const struct root *root)
{
	return open_log(root);
}

/* "4,1234,5678,-;text": the level with the facility above it, which is 0 for the kernel. */
static void add_record(char *record, char *log, size_t *length)
{
	char *text = strchr(record, ';'), *end;
	long prefix = strtol(record, &end, 10);

	if (!text || *end != ',' || prefix < 0 || prefix > 7)
		return;
	util_make_printable(text + 1);
	if (*length + strlen(text) + 3 < LOG_MAX)
		*length += (size_t)snprintf(log + *length, LOG_MAX - *length, "%ld %s\n", prefix,
					    text + 1);
}

char *kmsg_read(int fd)
{
	_cleanup_free_ char *log = malloc(LOG_MAX);
	char record[RECORD_MAX], *line, *end;
	size_t length = 0, nr = 0;
	ssize_t n;

	if (!log)
		return NULL;
	/* EPIPE: the oldest records were overwritten, and reading goes on behind them */
	while (nr++ < LOG_MAX / 16 && ((n = read(fd, record, sizeof(record) - 1)) > 0 ||
				       (n < 0 && (errno == EPIPE || errno == EINTR)))) {
		if (n < 0)
			continue;
		record[n] = '\0';
		for (line = record; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			add_record(line, log, &length);
		}
	}
	return length ? steal_pointer(&log) : NULL;
}

/* "CPU 3", "CPU3", "cpu#3", but not "CPU 30" or "cpu 13". */
static bool names_cpu(const char *line, size_t length, unsigned int cpu)
{
	const char *end = line + length;

	for (const char *at = line; at + 4 <= end; at++) {
		const char *digits = at + 3;

		if (strncasecmp(at, "cpu", 3) || (at > line && isalnum((unsigned char)at[-1])))
			continue;
		digits += digits < end && (*digits == ' ' || *digits == '#');
		if (digits < end && isdigit((unsigned char)*digits) &&
		    strtoul(digits, NULL, 10) == cpu)
			return true;
	}
	return false;
}

static bool has_pattern(const char *line, size_t length, const char *pattern)
{
	return pattern && memmem(line, length, pattern, strlen(pattern));
}

size_t kmsg_find(const char *log, unsigned int cpu, const char *pattern, const char **ret_line)
{
	size_t found = 0;

	while (log && *log) {
		size_t length = strcspn(log, "\n");

		if (length > 2 &&
		    (has_pattern(log + 2, length - 2, pattern) ||
		     (log[0] - '0' <= LEVEL_WARNING && names_cpu(log + 2, length - 2, cpu)))) {
			*ret_line = log + 2;
			found = length - 2;
		}
		log += length + (log[length] == '\n');
	}
	return found;
}
