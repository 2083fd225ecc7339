/* SPDX-License-Identifier: GPL-2.0-or-later */
/* platform.c - what of the kernel, the processor and the surroundings forbids or disturbs hotplug
 */
#include "host/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/statfs.h>

#include <linux/magic.h>

#include "host/names.h"

/* include/linux/proc_ns.h: PROC_PID_INIT_INO */
#define INIT_PID_NAMESPACE "pid:[4026531836]"

#define CPU_DIR "sys/devices/system/cpu"

/* The scheduler's debug file is long where there are many CPUs; the first one's part is enough. */
#define SCHED_DEBUG_MAX (1UL << 20)

/* to_ratio() of kernel/sched/core.c: one whole CPU */
#define BANDWIDTH_UNIT (double)(1UL << 20)

static bool file_says(const struct root *root, const char *path, const char *word)
{
	char text[64];

	return !root_read_buffer(root, path, text, sizeof(text)) && !strcmp(text, word);
}

bool platform_has_flag(const struct root *root, const char *flag)
{
	char text[8192], *flags;

	if (root_read_head(root, "proc/cpuinfo", text, sizeof(text)))
		return false;
	flags = strstr(text, "\nflags");
	if (!flags)
		return false;
	flags[1 + strcspn(flags + 1, "\n")] = '\0';
	return strstr(flags, flag);
}

static bool has_dynticks(const struct root *root)
{
	char text[64];
	int r = root_read_buffer(root, CPU_DIR "/nohz_full", text, sizeof(text));

	/* empty where it is not at work; old kernels write "(null)" then */
	return r == -EFBIG || (!r && text[0] >= '0' && text[0] <= '9');
}

static void read_surroundings(const struct root *root, struct platform *platform)
{
	_cleanup_close_ int fd = -1;
	char link[64];
	struct statfs fs;
	ssize_t n;

	if (!root_is_live(root))
		return;
	fd = root_openat(root, O_RDONLY | O_DIRECTORY, "proc/self/ns");
	n = fd < 0 ? -1 : readlinkat(fd, "pid", link, sizeof(link) - 1);
	if (n > 0) {
		link[n] = '\0';
		platform->is_in_container = strcmp(link, INIT_PID_NAMESPACE) != 0;
	}
	util_close(&fd);
	fd = root_openat(root, O_RDONLY, CPU_DIR "/online");
	platform->is_view = fd >= 0 && !fstatfs(fd, &fs) && (unsigned long)fs.f_type != SYSFS_MAGIC;
}

/*
 * "  .dl_bw->total_bw : 943718" of print_dl_rq(), kernel/sched/debug.c. Read in pieces: the file
 * goes on for every CPU and every task.
 */
static double read_deadline_total(const struct root *root)
{
	static const char key[] = ".dl_bw->total_bw";
	_cleanup_close_ int fd = root_openat(root, O_RDONLY, "sys/kernel/debug/sched/debug");
	size_t kept = 0, total = 0;
	char text[8192];
	ssize_t n;

	while (fd >= 0 && total < SCHED_DEBUG_MAX &&
	       (n = read(fd, text + kept, sizeof(text) - kept - 1)) > 0) {
		char *at, *colon;

		text[kept + (size_t)n] = '\0';
		at = strstr(text, key);
		colon = at ? strchr(at, ':') : NULL;
		if (colon && strchr(colon, '\n'))
			return (double)strtoll(colon + 1, NULL, 10) / BANDWIDTH_UNIT;
		total += (size_t)n;
		/* the key may lie on the border of two pieces */
		kept = strlen(text) < 128 ? strlen(text) : 128;
		memmove(text, text + strlen(text) - kept, kept + 1);
	}
	return 0;
}

static int read_scheduler(const struct root *root, struct platform *platform)
{
	if (!file_says(root, "sys/kernel/sched_ext/state", "enabled"))
		return 0;
	if (!root_read(root, &platform->scheduler, "sys/kernel/sched_ext/root/ops") &&
	    platform->scheduler[0])
		return 0;
	free(platform->scheduler);
	platform->scheduler = strdup("of unknown name");
	return platform->scheduler ? 0 : -ENOMEM;
}

/* drivers/hv/vmbus_drv.c: each channel of a device is served by one CPU. */
static int read_device(const struct root *root, hwloc_const_bitmap_t target, const char *device,
		       hwloc_bitmap_t one, struct named_list *channels)
{
	_cleanup_names_ struct names names = { 0 };
	int r = names_list(root, &names, "sys/bus/vmbus/devices/%s/channels", device);

	for (size_t i = 0; !r && i < names.nr; i++) {
		const char *name = names.list[i];
		long cpu;

		if (root_read_long(root, &cpu, "sys/bus/vmbus/devices/%s/channels/%s/cpu", device,
				   name) ||
		    cpu < 0 || !hwloc_bitmap_isset(target, (unsigned int)cpu))
			continue;
		hwloc_bitmap_only(one, (unsigned int)cpu);
		r = named_add(channels, one, 0, "%s/channels/%s/cpu", device, name);
	}
	return r;
}

static int read_channels(const struct root *root, hwloc_const_bitmap_t target,
			 struct named_list *channels)
{
	_cleanup_cpus_ hwloc_bitmap_t one = hwloc_bitmap_alloc();
	_cleanup_names_ struct names names = { 0 };
	int r = one ? names_list(root, &names, "sys/bus/vmbus/devices") : -ENOMEM;

	for (size_t i = 0; !r && i < names.nr; i++)
		r = read_device(root, target, names.list[i], one, channels);
	return r;
}

/* drivers/powercap/intel_rapl_common.c: a zone of a socket is called "package-1". */
static int read_power(const struct root *root, struct named_list *power)
{
	_cleanup_names_ struct names names = { 0 };
	int r = names_list(root, &names, "sys/class/powercap");

	for (size_t i = 0; !r && i < names.nr; i++) {
		const char *zone = names.list[i];
		_cleanup_free_ char *name = NULL;
		long socket;

		if (!strncmp(zone, "intel-rapl:", 11) &&
		    !root_read(root, &name, "sys/class/powercap/%s/name", zone) &&
		    sscanf(name, "package-%ld", &socket) == 1)
			r = named_add(power, NULL, socket, "%s", zone);
	}
	return r;
}

/* drivers/thermal/intel/intel_powerclamp.c, drivers/thermal/cpuidle_cooling.c ("idle-cpu0"). */
static bool injects_idle(const char *type)
{
	return !strcmp(type, "intel_powerclamp") || !strncmp(type, "idle-", 5) ||
	       !strncmp(type, "thermal-idle-", 13);
}

/* The state is 0, or -1, while nothing is injected. */
static int read_injectors(const struct root *root, struct named_list *injectors)
{
	_cleanup_names_ struct names names = { 0 };
	int r = names_list(root, &names, "sys/class/thermal");

	for (size_t i = 0; !r && i < names.nr; i++) {
		const char *name = names.list[i];
		_cleanup_free_ char *type = NULL;
		long state;

		if (!strncmp(name, "cooling_device", 14) &&
		    !root_read(root, &type, "sys/class/thermal/%s/type", name) &&
		    injects_idle(type) &&
		    !root_read_long(root, &state, "sys/class/thermal/%s/cur_state", name) &&
		    state > 0)
			r = named_add(injectors, NULL, state, "%s (%s, at %ld)", name, type, state);
	}
	return r;
}

static int count_uncore(const struct root *root, unsigned long *ret_nr)
{
	_cleanup_names_ struct names names = { 0 };
	int r = names_list(root, &names, "sys/bus/event_source/devices");

	for (size_t i = 0; i < names.nr; i++)
		*ret_nr += !strncmp(names.list[i], "uncore_", 7) ||
			   !strncmp(names.list[i], "amd_df", 6) ||
			   !strncmp(names.list[i], "amd_umc", 7);
	return r;
}

int platform_read(const struct root *root, hwloc_const_bitmap_t target,
		  struct platform *ret_platform)
{
	int r;

	*ret_platform = (struct platform){
		.is_tdx_guest = platform_has_flag(root, " tdx_guest"),
		.is_tdx_host = file_says(root, "sys/module/kvm_intel/parameters/tdx", "Y"),
		.has_dynticks = has_dynticks(root),
		.has_crash_kernel = file_says(root, "sys/kernel/kexec_crash_loaded", "1"),
		.crash_follows = file_says(root, CPU_DIR "/crash_hotplug", "1"),
		.deadline_total = read_deadline_total(root),
		.has_late_loading = root_has(root, CPU_DIR "/microcode/reload"),
	};
	read_surroundings(root, ret_platform);
	r = read_scheduler(root, ret_platform);
	if (!r)
		r = read_channels(root, target, &ret_platform->channels);
	if (!r)
		r = read_power(root, &ret_platform->power);
	if (!r)
		r = count_uncore(root, &ret_platform->nr_uncore);
	if (!r)
		r = read_injectors(root, &ret_platform->injectors);
	if (r)
		platform_free(ret_platform);
	return r;
}

void platform_free(struct platform *platform)
{
	free(platform->scheduler);
	platform->scheduler = NULL;
	named_free(&platform->channels);
	named_free(&platform->power);
	named_free(&platform->injectors);
}
