// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cpu_bulk_remove.c - offers /sys/devices/system/cpu/cpu_bulk_remove on today's kernels, for tests
 *
 * The interface of the patch series that was posted in 2006, through the exported remove_cpu(): a
 * cpulist that is written takes these CPUs offline one after another, lowest number first; reading
 * gives the CPUs that are online. The last CPU is never taken.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/version.h>

static bool is_posted;
module_param_named(posted, is_posted, bool, 0600);
MODULE_PARM_DESC(posted, "as the patch that was posted: success whatever happened");

static int failing_cpu = -1;
module_param_named(fail, failing_cpu, int, 0600);
MODULE_PARM_DESC(fail, "a CPU that is refused, -1 for none");

static int remove_one(unsigned int cpu)
{
	if ((int)cpu == failing_cpu)
		return -EIO;
	if (num_online_cpus() == 1)
		return -EBUSY;
	return remove_cpu(cpu);
}

static ssize_t cpu_bulk_remove_store(struct device *dev, struct device_attribute *attr,
				     const char *buf, size_t count)
{
	cpumask_var_t cpus;
	unsigned int cpu;
	int r;

	if (!alloc_cpumask_var(&cpus, GFP_KERNEL))
		return -ENOMEM;
	r = cpulist_parse(buf, cpus);
	if (!r && !cpumask_subset(cpus, cpu_present_mask))
		r = -EINVAL;
	if (r) {
		free_cpumask_var(cpus);
		return r;
	}
	for_each_cpu(cpu, cpus) {
		if (!cpu_online(cpu))
			continue;
		r = remove_one(cpu);
		if (r && !is_posted)
			break;
	}
	free_cpumask_var(cpus);
	return r && !is_posted ? r : count;
}

static ssize_t cpu_bulk_remove_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%*pbl\n", cpumask_pr_args(cpu_online_mask));
}

static DEVICE_ATTR(cpu_bulk_remove, 0600, cpu_bulk_remove_show, cpu_bulk_remove_store);

/* /sys/devices/system/cpu */
static struct device *get_parent(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	return bus_get_dev_root(&cpu_subsys);
#else
	return get_device(cpu_subsys.dev_root);
#endif
}

static int __init cpu_bulk_remove_init(void)
{
	struct device *parent = get_parent();
	int r;

	if (!parent)
		return -ENODEV;
	r = device_create_file(parent, &dev_attr_cpu_bulk_remove);
	put_device(parent);
	return r;
}

static void __exit cpu_bulk_remove_exit(void)
{
	struct device *parent = get_parent();

	device_remove_file(parent, &dev_attr_cpu_bulk_remove);
	put_device(parent);
}

module_init(cpu_bulk_remove_init);
module_exit(cpu_bulk_remove_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Takes several CPUs offline with one write, for the tests of cpuoff");
