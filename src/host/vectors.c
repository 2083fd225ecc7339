/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vectors.c - interrupt vectors of x86: those that the target holds, those that are free elsewhere
 */
#include "host/vectors.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "host/platform.h"

/* Of 256 vectors 32 are exceptions, and some twenty are the system's own. */
#define PER_CPU 200

/* irq_matrix_debug_show() of kernel/irq/matrix.c: CPU, available, managed, managed in use, in use.
 */
static bool add_line(const char *line, hwloc_const_bitmap_t target, hwloc_const_bitmap_t survivors,
		     struct vectors *vectors)
{
	unsigned int cpu, available, managed, managed_used, used;

	if (sscanf(line, " %u %u %u %u %u", &cpu, &available, &managed, &managed_used, &used) != 5)
		return false;
	if (hwloc_bitmap_isset(target, cpu))
		vectors->needed += used > managed_used ? used - managed_used : 0;
	if (hwloc_bitmap_isset(survivors, cpu)) {
		vectors->available += available;
		vectors->used += used;
	}
	return true;
}

static bool read_matrix(const struct root *root, hwloc_const_bitmap_t target,
			hwloc_const_bitmap_t survivors, struct vectors *vectors)
{
	_cleanup_free_ char *text = NULL;
	char *line, *rest;

	if (root_read(root, &text, "sys/kernel/debug/irq/domains/VECTOR"))
		return false;
	rest = strstr(text, "| CPU |");
	while (rest && (line = strsep(&rest, "\n")))
		vectors->is_known |= add_line(line, target, survivors, vectors);
	vectors->is_exact = vectors->is_known;
	return vectors->is_known;
}

/* Kernels since 6.12 show by the mode that an interrupt cannot be moved: those stop with their CPU.
 */
static bool is_fixed(const struct root *root, const char *irq)
{
	_cleanup_close_ int fd = -1;
	char path[300];
	struct stat st;

	snprintf(path, sizeof(path), "proc/irq/%s/smp_affinity_list", irq);
	fd = root_openat(root, O_RDONLY, path);
	return fd < 0 || fstat(fd, &st) || !(st.st_mode & 0222);
}

static int count_irq(const struct root *root, const struct machine *machine, const char *irq,
		     hwloc_const_bitmap_t target, hwloc_const_bitmap_t survivors,
		     hwloc_bitmap_t cpus, struct vectors *vectors)
{
	int r = root_read_cpulist(root, machine->nr_cpus - 1, cpus,
				  "proc/irq/%s/effective_affinity_list", irq);

	if (root_is_shortage(r))
		return r;
	/* not started, or per CPU: it has no vector of its own */
	if (r || cpus_count(cpus) != 1)
		return 0;
	if (hwloc_bitmap_isincluded(cpus, survivors))
		vectors->used++;
	else if (hwloc_bitmap_isincluded(cpus, target) && !is_fixed(root, irq))
		vectors->needed++;
	return 0;
}

static int count_irqs(const struct root *root, const struct machine *machine,
		      hwloc_const_bitmap_t target, hwloc_const_bitmap_t survivors,
		      struct vectors *vectors)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	bool is_x86 = platform_has_flag(root, " apic ");
	DIR *dir = cpus && is_x86 ? root_opendir(root, "proc/irq") : NULL;
	const struct dirent *entry;
	unsigned long total = (unsigned long)PER_CPU * cpus_count(survivors);
	int r = cpus ? 0 : -ENOMEM;

	while (!r && dir && (entry = root_readdir(dir, &r)))
		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
			r = count_irq(root, machine, entry->d_name, target, survivors, cpus,
				      vectors);
	vectors->is_known = dir;
	vectors->available = total > vectors->used ? total - vectors->used : 0;
	if (dir)
		closedir(dir);
	return r;
}

int vectors_read(const struct root *root, const struct machine *machine,
		 hwloc_const_bitmap_t target, hwloc_const_bitmap_t survivors,
		 struct vectors *ret_vectors)
{
	*ret_vectors = (struct vectors){ 0 };
	if (read_matrix(root, target, survivors, ret_vectors))
		return 0;
	return count_irqs(root, machine, target, survivors, ret_vectors);
}
