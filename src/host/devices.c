/* SPDX-License-Identifier: GPL-2.0-or-later */
/* devices.c - PCI devices: where they are, and what uses them */
#include "host/devices.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/machine.h"
#include "host/names.h"

#define PCI_DIR	  "sys/bus/pci/devices"
#define NET_DIR	  "sys/class/net"
#define BLOCK_DIR "sys/class/block"
#define NVME_DIR  "sys/class/nvme"

/* A disk below a disk below a disk; more is a mistake of ours. */
#define HOLDERS_DEPTH 4

/* A VLAN on a bridge on a bond on cards, likewise. */
#define LOWER_DEPTH 8

void devices_free(struct devices *devices)
{
	for (size_t i = 0; i < devices->nr; i++) {
		free(devices->list[i].address);
		free(devices->list[i].driver);
		free(devices->list[i].uses);
		hwloc_bitmap_free(devices->list[i].cpus);
	}
	free(devices->list);
	*devices = (struct devices){ 0 };
}

/* ---- addresses --------------------------------------------------------------------------- */

static size_t count_hex(const char *text)
{
	return strspn(text, "0123456789abcdefABCDEF");
}

/* The length of the PCI address "DOMAIN:BUS:DEVICE.FUNCTION" that @text begins with, or 0. */
static size_t address_length(const char *text)
{
	size_t domain = count_hex(text);
	const char *at = text + domain;

	if (domain < 4 || *at != ':' || count_hex(at + 1) != 2 || at[3] != ':' ||
	    count_hex(at + 4) != 2 || at[6] != '.' || !isxdigit((unsigned char)at[7]))
		return 0;
	return domain + 8;
}

/* The last PCI address that a link through the device tree passes; NULL: none. */
static const char *last_address(const char *link, size_t *ret_length)
{
	const char *found = NULL;

	for (const char *part = link; part; part = strchr(part, '/')) {
		size_t length;

		part += *part == '/';
		length = address_length(part);
		if (length && (!part[length] || part[length] == '/')) {
			found = part;
			*ret_length = length;
		}
	}
	return found;
}

/*
 * The address of the PCI device that a name in @dir, or its "device", is on. Returns 0, -ENODEV
 * where it is on none, or -ENOMEM.
 */
static int find_address(const struct root *root, const char *dir, const char *name,
			char **ret_address)
{
	static const char *const links[] = { "", "/device" };

	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		char path[PATH_MAX], link[PATH_MAX];
		const char *address;
		size_t length;

		snprintf(path, sizeof(path), "%s/%s%s", dir, name, links[i]);
		if (root_readlink(root, path, link, sizeof(link)))
			continue;
		address = last_address(link, &length);
		if (!address)
			continue;
		*ret_address = strndup(address, length);
		return *ret_address ? 0 : -ENOMEM;
	}
	return -ENODEV;
}

static int find_pci(const struct root *root, const char *name, char **ret_address)
{
	static const char *const domains[] = { "", "0000:" };

	for (size_t i = 0; i < ARRAY_SIZE(domains); i++) {
		_cleanup_free_ char *address = util_asprintf("%s%s", domains[i], name);

		if (!address)
			return -ENOMEM;
		if (!address_length(address) || !root_has(root, PCI_DIR "/%s", address))
			continue;
		*ret_address = steal_pointer(&address);
		return 0;
	}
	return -ENOENT;
}

/* ---- from what is made of others down to the hardware ------------------------------------ */

static int add_address(struct names *addresses, const char *address)
{
	for (size_t i = 0; i < addresses->nr; i++)
		if (!strcmp(addresses->list[i], address))
			return 0;
	return names_add(addresses, address);
}

/*
 * "lower_eth0" in the folder of a bond, bridge, team, VLAN or macvlan: net/core/dev.c makes these
 * links for whatever stands on another interface.
 */
static int list_lower_interfaces(const struct root *root, const char *name, struct names *ret_names)
{
	_cleanup_names_ struct names all = { 0 };
	int r = names_list(root, &all, NET_DIR "/%s", name);

	for (size_t i = 0; !r && i < all.nr; i++)
		if (!strncmp(all.list[i], "lower_", 6))
			r = names_add(ret_names, all.list[i] + 6);
	return r;
}

/* The controllers on the paths of a multipath NVMe disk (drivers/nvme/host/multipath.c). */
static int list_controllers(const struct root *root, const char *subsystem, struct names *ret_names)
{
	_cleanup_names_ struct names all = { 0 };
	int r = names_list(root, &all, "sys/class/nvme-subsystem/%.*s",
			   (int)strcspn(subsystem, "/"), subsystem);

	for (size_t i = 0; !r && i < all.nr; i++)
		if (root_has(root, NVME_DIR "/%s", all.list[i]))
			r = names_add(ret_names, all.list[i]);
	return r;
}

/* The disk of the partition that @link is the place of, ".../md0/md0p1". */
static int add_whole_disk(const char *link, struct names *ret_names)
{
	_cleanup_free_ char *path = strdup(link);
	char *slash = path ? strrchr(path, '/') : NULL;

	if (!path)
		return -ENOMEM;
	if (!slash)
		return 0;
	*slash = '\0';
	slash = strrchr(path, '/');
	return slash ? names_add(ret_names, slash + 1) : 0;
}

/* The disks that RAID, device-mapper or bcache made this one of, and where else its blocks are. */
static int list_lower_disks(const struct root *root, const char *name, const char **ret_dir,
			    struct names *ret_names)
{
	char path[PATH_MAX], link[PATH_MAX];
	const char *subsystem;
	int r = names_list(root, ret_names, BLOCK_DIR "/%s/slaves", name);

	snprintf(path, sizeof(path), BLOCK_DIR "/%s", name);
	if (r || ret_names->nr || root_readlink(root, path, link, sizeof(link)))
		return r;
	if (root_has(root, BLOCK_DIR "/%s/partition", name))
		return add_whole_disk(link, ret_names);
	subsystem = strstr(link, "/nvme-subsystem/");
	if (!subsystem)
		return 0;
	*ret_dir = NVME_DIR;
	return list_controllers(root, subsystem + strlen("/nvme-subsystem/"), ret_names);
}

/*
 * Adds the addresses of the PCI devices that @name in @dir is on, or what it is made of. What is on
 * none, such as the interface of a virtual machine in a bridge, is passed over where others are.
 */
static int add_addresses(const struct root *root, const char *dir, const char *name, int depth,
			 struct names *addresses)
{
	_cleanup_names_ struct names lower = { 0 };
	_cleanup_free_ char *address = NULL;
	bool is_on_any = false;
	int r = find_address(root, dir, name, &address);

	if (!r)
		return add_address(addresses, address);
	if (r != -ENODEV || depth == LOWER_DEPTH)
		return r;
	r = !strcmp(dir, NET_DIR) ? list_lower_interfaces(root, name, &lower)
				  : list_lower_disks(root, name, &dir, &lower);
	for (size_t i = 0; !r && i < lower.nr; i++) {
		r = add_addresses(root, dir, lower.list[i], depth + 1, addresses);
		is_on_any |= !r;
		r = r == -ENODEV ? 0 : r;
	}
	return r || is_on_any ? r : -ENODEV;
}

/* "dm-3" for the name that device-mapper shows in /dev/mapper, a copy to be freed, or NULL. */
static int find_mapped(const struct root *root, const char *mapped, char **ret_name)
{
	_cleanup_names_ struct names names = { 0 };
	int r = names_list(root, &names, BLOCK_DIR);

	*ret_name = NULL;
	for (size_t i = 0; !r && !*ret_name && i < names.nr; i++) {
		_cleanup_free_ char *name = NULL;

		if (root_read(root, &name, BLOCK_DIR "/%s/dm/name", names.list[i]) ||
		    strcmp(name, mapped))
			continue;
		*ret_name = strdup(names.list[i]);
		r = *ret_name ? 0 : -ENOMEM;
	}
	return r;
}

int devices_find(const struct root *root, const char *name, struct names *ret_addresses)
{
	static const char *const dirs[] = { NET_DIR, BLOCK_DIR, NVME_DIR };
	_cleanup_free_ char *address = NULL, *mapped = NULL;
	int r = find_pci(root, name, &address);

	*ret_addresses = (struct names){ 0 };
	if (!r)
		return names_add(ret_addresses, address);
	if (r != -ENOENT)
		return r;
	if (!strncmp(name, "/dev/", 5))
		name += 5;
	if (!strncmp(name, "mapper/", 7)) {
		r = find_mapped(root, name + 7, &mapped);
		if (r)
			return r;
		name = mapped ? mapped : "";
	}
	if (!*name || *name == '.' || strchr(name, '/'))
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (root_has(root, "%s/%s", dirs[i], name))
			return add_addresses(root, dirs[i], name, 0, ret_addresses);
	return -ENOENT;
}

int devices_near(const struct root *root, const char *address, unsigned int max,
		 hwloc_bitmap_t ret_cpus, long *ret_node)
{
	int r;

	if (root_read_long(root, ret_node, PCI_DIR "/%s/numa_node", address) || *ret_node < 0)
		*ret_node = CPU_ID_NONE;
	r = root_read_cpulist(root, max, ret_cpus, PCI_DIR "/%s/local_cpulist", address);

	if (r == -ENOENT)
		r = root_read_cpumask(root, max, ret_cpus, PCI_DIR "/%s/local_cpus", address);
	return r;
}

/* ---- the devices ------------------------------------------------------------------------- */

/* PCI classes, by their first byte; more exact ones first. */
static const struct {
	unsigned int class, mask;
	const char *what;
} classes[] = {
	{ 0x010800, 0xffff00, "NVMe disk" },	  { 0x010000, 0xff0000, "disk controller" },
	{ 0x020000, 0xff0000, "network" },	  { 0x030000, 0xff0000, "display" },
	{ 0x040000, 0xff0000, "multimedia" },	  { 0x060000, 0xff0000, "bridge" },
	{ 0x0c0300, 0xffff00, "USB controller" }, { 0x0b4000, 0xffff00, "coprocessor" },
	{ 0x120000, 0xff0000, "accelerator" },	  { 0, 0, "device" },
};

static const char *name_class(unsigned int class)
{
	size_t i = 0;

	while ((class & classes[i].mask) != classes[i].class)
		i++;
	return classes[i].what;
}

static int read_driver(const struct root *root, struct device *device)
{
	char path[PATH_MAX], link[PATH_MAX];
	const char *slash;

	snprintf(path, sizeof(path), PCI_DIR "/%s/driver", device->address);
	if (root_readlink(root, path, link, sizeof(link)))
		return 0;
	slash = strrchr(link, '/');
	device->driver = strdup(slash ? slash + 1 : link);
	return device->driver ? 0 : -ENOMEM;
}

static long read_iommu_group(const struct root *root, const struct device *device)
{
	char path[PATH_MAX], link[PATH_MAX];
	const char *slash;
	long group;

	snprintf(path, sizeof(path), PCI_DIR "/%s/iommu_group", device->address);
	if (root_readlink(root, path, link, sizeof(link)))
		return -1;
	slash = strrchr(link, '/');
	return !slash || util_parse_long(slash + 1, 0, INT_MAX, &group) ? -1 : group;
}

static int read_device(const struct root *root, unsigned int max, const char *address,
		       struct device *device)
{
	_cleanup_free_ char *class = NULL;
	unsigned int number = 0;
	int r;

	device->address = strdup(address);
	device->cpus = hwloc_bitmap_alloc();
	device->uses = strdup("");
	if (!device->address || !device->cpus || !device->uses)
		return -ENOMEM;
	if (!root_read(root, &class, PCI_DIR "/%s/class", address))
		number = (unsigned int)strtoul(class, NULL, 16);
	device->what = name_class(number);
	device->is_bridge = number >> 16 == 6;
	device->iommu_group = read_iommu_group(root, device);
	r = devices_near(root, address, max, device->cpus, &device->node);
	if (root_is_shortage(r))
		return r;
	if (r)
		hwloc_bitmap_zero(device->cpus);
	return read_driver(root, device);
}

static struct device *find_device(const struct devices *devices, const char *address)
{
	for (size_t i = 0; i < devices->nr; i++)
		if (!strcmp(devices->list[i].address, address))
			return &devices->list[i];
	return NULL;
}

_printf_(2, 3) static int add_use(struct device *device, const char *fmt, ...)
{
	_cleanup_free_ char *use = NULL;
	char *uses;
	va_list ap;

	va_start(ap, fmt);
	use = util_vasprintf(fmt, ap);
	va_end(ap);
	uses = use ? util_asprintf("%s%s%s", device->uses, *device->uses ? ", " : "", use) : NULL;
	if (!uses)
		return -ENOMEM;
	free(device->uses);
	device->uses = uses;
	return 0;
}

/* Calls @each for every name of a class that is on one of the devices. */
static int walk_class(const struct root *root, const char *dir, const struct devices *devices,
		      int (*each)(const struct root *root, const char *name, struct device *device,
				  const void *data),
		      const void *data)
{
	_cleanup_names_ struct names names = { 0 };
	int r = names_list(root, &names, "%s", dir);

	for (size_t i = 0; !r && i < names.nr; i++) {
		_cleanup_free_ char *address = NULL;
		struct device *device = NULL;

		r = find_address(root, dir, names.list[i], &address);
		if (!r)
			device = find_device(devices, address);
		if (device)
			r = each(root, names.list[i], device, data);
		else if (r == -ENODEV)
			r = 0;
	}
	return r;
}

/* ---- what uses them ---------------------------------------------------------------------- */

#define IFF_UP 1UL

static int add_interface(const struct root *root, const char *name, struct device *device,
			 const void *data)
{
	_cleanup_free_ char *flags = NULL;

	(void)data;
	if (root_read(root, &flags, NET_DIR "/%s/flags", name) ||
	    !(strtoul(flags, NULL, 16) & IFF_UP))
		return 0;
	return add_use(device, "%s is up", name);
}

/* What the kernel says of mounts and swap. */
struct used {
	const char *mounts, *swaps;
};

/*
 * Where the line of @table begins whose first field is the block device @name, or the device-mapper
 * device @mapped; NULL: none.
 */
static const char *find_line(const char *table, const char *name, const char *mapped)
{
	for (const char *line = table; line && *line; line = strchr(line, '\n')) {
		size_t length;

		line += *line == '\n';
		length = strcspn(line, " \t");
		if (!strncmp(line, "/dev/", 5) && length == strlen(name) + 5 &&
		    !strncmp(line + 5, name, length - 5))
			return line;
		if (mapped && !strncmp(line, "/dev/mapper/", 12) && length == strlen(mapped) + 12 &&
		    !strncmp(line + 12, mapped, length - 12))
			return line;
	}
	return NULL;
}

static int add_block_use(const struct root *root, const char *disk, const char *name,
			 struct device *device, const struct used *used, int depth)
{
	_cleanup_names_ struct names holders = { 0 };
	_cleanup_free_ char *mapped = NULL, *through = NULL;
	const char *line;
	int r;

	through = strcmp(disk, name) ? util_asprintf(" through %s", name) : strdup("");
	if (!through)
		return -ENOMEM;
	r = root_read(root, &mapped, BLOCK_DIR "/%s/dm/name", name);
	if (root_is_shortage(r))
		return r;
	line = find_line(used->mounts, name, mapped);
	if (line) {
		const char *point = strchr(line, ' ');

		point = point ? point + 1 : "";
		return add_use(device, "%s is mounted on %.*s%s", disk, (int)strcspn(point, " \n"),
			       point, through);
	}
	if (find_line(used->swaps, name, mapped))
		return add_use(device, "%s is used as swap%s", disk, through);
	r = names_list(root, &holders, BLOCK_DIR "/%s/holders", name);
	if (r)
		return r;
	if (depth == HOLDERS_DEPTH || (!holders.nr && depth))
		return add_use(device, "%s is held by %s", disk, name);
	for (size_t i = 0; !r && i < holders.nr; i++)
		r = add_block_use(root, disk, holders.list[i], device, used, depth + 1);
	return r;
}

/* The paths of a multipath NVMe disk are nvmeXcYnZ, what is mounted is nvmeXnZ. */
static const char *head_of(const char *name, char *head, size_t size)
{
	unsigned int subsystem, path, namespace;

	if (sscanf(name, "nvme%uc%un%u", &subsystem, &path, &namespace) != 3)
		return name;
	snprintf(head, size, "nvme%un%u", subsystem, namespace);
	return head;
}

static int add_disk(const struct root *root, const char *name, struct device *device,
		    const void *data)
{
	char head[64];

	name = head_of(name, head, sizeof(head));
	return add_block_use(root, name, name, device, data, 0);
}

static int read_uses(const struct root *root, const struct devices *devices)
{
	_cleanup_free_ char *mounts = NULL, *swaps = NULL;
	struct used used;
	int r = root_read(root, &mounts, "proc/mounts");

	if (!root_is_shortage(r))
		r = root_read(root, &swaps, "proc/swaps");
	if (root_is_shortage(r))
		return r;
	used = (struct used){ mounts ? mounts : "", swaps ? swaps : "" };
	r = walk_class(root, NET_DIR, devices, add_interface, NULL);
	return r ? r : walk_class(root, BLOCK_DIR, devices, add_disk, &used);
}

int devices_read(const struct root *root, unsigned int max, struct devices *ret_devices)
{
	_cleanup_names_ struct names names = { 0 };
	int r = names_list(root, &names, PCI_DIR);

	*ret_devices = (struct devices){ .list = calloc(names.nr + 1, sizeof(struct device)) };
	if (!r && !ret_devices->list)
		r = -ENOMEM;
	for (size_t i = 0; !r && i < names.nr; i++)
		r = read_device(root, max, names.list[i], &ret_devices->list[ret_devices->nr++]);
	return r ? r : read_uses(root, ret_devices);
}
