/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * f-tasks.c - fuzz target: the files of processes and cgroups, in the format of machine.txt
 *
 * A copy has no processes: here it is taken for the running machine. No time passes, and the
 * kernel, which knows nothing of these processes, is not asked.
 */
#include <errno.h>

#include "../unit/tree.h"
#include "core/preflight.h"
#include "fuzz.h"
#include "host/boost.h"
#include "host/evacuations.h"
#include "host/irqbalance.h"
#include "host/partition.h"
#include "host/topology.h"
#include "host/trace.h"

bool __wrap_root_is_live(const struct root *root);
void __wrap_util_sleep(double seconds);
double __wrap_util_now(void);
long __wrap_syscall(long number, ...);

static double now;

bool __wrap_root_is_live(const struct root *root)
{
	(void)root;
	return true;
}

void __wrap_util_sleep(double seconds)
{
	now += seconds;
}

double __wrap_util_now(void)
{
	return now;
}

long __wrap_syscall(long number, ...)
{
	(void)number;
	errno = ENOSYS;
	return -1;
}

static void judge(struct tree *tree, const struct cgroups *cgroups, const struct tasks *tasks)
{
	struct facts facts = {
		.request = &tree->request,
		.machine = &tree->machine,
		.target = tree->target,
		.survivors = tree->survivors,
		.tasks = tasks,
		.cgroups = cgroups,
	};

	fuzz_demand(!facts_read(tree->env.root, false, &facts) &&
			    !preflight_offline(&facts, &tree->findings),
		    "no memory");
	facts_free(&facts);
}

static void plan(struct tree *tree)
{
	static const struct step_kind *const kinds[] = { &tasks_affinity_kind, &tasks_keep_kind,
							 &irqbalance_kind,     &boost_kind,
							 &partition_kind,      &trace_kind };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		fuzz_demand(tree_plan(tree, kinds[i]) != -ENOMEM, "no memory");
}

static void read_all(struct tree *tree)
{
	struct cgroups cgroups = { 0 };
	struct tasks tasks = { 0 };

	if (!cgroups_read(tree->env.root, &tree->machine, &cgroups)) {
		fuzz_demand(!tasks_read(tree->env.root, &tree->machine, &cgroups, &tasks),
			    "no memory");
		tree->env.cgroups = &cgroups;
		tree->env.tasks = &tasks;
		judge(tree, &cgroups, &tasks);
		for (size_t i = 0; evacuations[i]; i++) {
			tree->env.evacuation = evacuations[i];
			plan(tree);
		}
	}
	tasks_free(&tasks);
	cgroups_free(&cgroups);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tree tree = { 0 };

	machine_put(data, size);
	tree.target = hwloc_bitmap_alloc();
	tree.survivors = hwloc_bitmap_alloc();
	fuzz_demand(tree.target && tree.survivors, "no memory");
	hwloc_bitmap_set_range(tree.target, 2, 3);
	tree.env = (struct step_env){
		.root = temp_root(),
		.machine = &tree.machine,
		.request = &tree.request,
		.watcher = &tree.watcher,
		.target = tree.target,
		.survivors = tree.survivors,
		.findings = &tree.findings,
	};
	if (!topology_read_machine(tree.env.root, &tree.machine)) {
		hwloc_bitmap_and(tree.target, tree.target, tree.machine.online);
		hwloc_bitmap_andnot(tree.survivors, tree.machine.online, tree.target);
		read_all(&tree);
	}
	tree_close(&tree);
	machine_reset();
	return 0;
}
