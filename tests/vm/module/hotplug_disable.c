// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hotplug_disable.c - keeps CPUs from going and coming as long as its parameter says, for tests
 *
 * The kernel does so itself around the probing of a PCI device (drivers/pci/pci-driver.c) and in a suspend:
 * a write to cpuN/online is answered EBUSY then.
 */
#include <linux/cpu.h>
#include <linux/module.h>

static bool is_disabled;

static int set_disabled(const char *value, const struct kernel_param *param)
{
	bool was_disabled = is_disabled;
	int r = param_set_bool(value, param);

	if (r || is_disabled == was_disabled)
		return r;
	if (is_disabled)
		cpu_hotplug_disable();
	else
		cpu_hotplug_enable();
	return 0;
}

static const struct kernel_param_ops ops = {
	.set = set_disabled,
	.get = param_get_bool,
};

module_param_cb(disabled, &ops, &is_disabled, 0600);
MODULE_PARM_DESC(disabled, "no CPU goes or comes while this is set");

static int __init hotplug_disable_init(void)
{
	return 0;
}

static void __exit hotplug_disable_exit(void)
{
	if (is_disabled)
		cpu_hotplug_enable();
}

module_init(hotplug_disable_init);
module_exit(hotplug_disable_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Disables CPU hotplug for a while, for the tests of cpuoff");
