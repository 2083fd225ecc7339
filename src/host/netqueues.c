/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netqueues.c - step kinds net.rps and net.xps: masks of network queues that lie wholly in the
 * target */
#include "host/netqueues.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>

#include "host/maskfiles.h"
#include "host/names.h"
#include "host/root.h"

#define NET_DIR "sys/class/net"

static bool is_rewritten_by_driver(const struct root *root, const char *device)
{
	_cleanup_free_ char *text = NULL;

	return !root_read(root, &text, NET_DIR "/%s/device/uevent", device) &&
	       strstr(text, "DRIVER=virtio_net");
}

static int plan_device(struct step *step, struct step_env *env, struct spread *spread,
		       const char *device)
{
	bool is_rps = step->kind == &netqueues_rps_kind;
	enum maskfiles_rule rule = is_rps || !is_rewritten_by_driver(env->root, device)
					   ? MASKFILES_MOVE
					   : MASKFILES_RECORD;
	int r = 0;

	for (unsigned int n = 0; !r; n++) {
		char object[PATH_MAX];

		snprintf(object, sizeof(object), "/" NET_DIR "/%s/queues/%cx-%u", device,
			 is_rps ? 'r' : 't', n);
		if (!root_has(env->root, "%s", object + 1))
			break;
		strncat(object, is_rps ? "/rps_cpus" : "/xps_cpus",
			sizeof(object) - strlen(object) - 1);
		r = maskfiles_plan(step, env, spread, object, rule);
	}
	return r;
}

static int describe(struct step *step, struct step_env *env)
{
	_cleanup_spread_ struct spread spread = { 0 };
	_cleanup_names_ struct names names = { 0 };
	int r;

	if (env->is_return)
		return 0;
	r = spread_init(&spread, env);
	if (r)
		return r == -ENODEV ? 0 : r;
	r = names_list(env->root, &names, NET_DIR);
	for (size_t i = 0; !r && i < names.nr; i++)
		r = plan_device(step, env, &spread, names.list[i]);
	return r;
}

const struct step_kind netqueues_rps_kind = {
	.name = "net.rps",
	.undo_rank = 80,
	.lifetime = LIFETIME_UNTIL_RESTORE,
	.capability = CAP_NET_ADMIN, /* rps_cpus and xps_cpus of net/core/net-sysfs.c */
	.describe = describe,
	.apply = maskfiles_apply,
	.undo = maskfiles_undo,
};

const struct step_kind netqueues_xps_kind = {
	.name = "net.xps",
	.undo_rank = 81,
	.lifetime = LIFETIME_UNTIL_RESTORE,
	.capability = CAP_NET_ADMIN, /* rps_cpus and xps_cpus of net/core/net-sysfs.c */
	.describe = describe,
	.apply = maskfiles_apply,
	.undo = maskfiles_undo,
};
