/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tree.c - one kind of step on a machine of plain files */
#include "tree.h"

#include <string.h>

#include "host/topology.h"
#include "host/writer.h"

static void demand(bool is_done, const char *what)
{
	if (is_done)
		return;
	printf("Bail out! %s\n", what);
	exit(1);
}

static void write_cpu(unsigned int cpu, const char *file, unsigned int value)
{
	char name[80], text[16];

	snprintf(name, sizeof(name), "sys/devices/system/cpu/cpu%u/%s", cpu, file);
	snprintf(text, sizeof(text), "%u\n", value);
	temp_write(name, text);
}

void tree_make(void)
{
	temp_make();
	temp_write("sys/devices/system/cpu/possible", "0-7\n");
	temp_write("sys/devices/system/cpu/present", "0-7\n");
	temp_write("sys/devices/system/cpu/online", "0-7\n");
	temp_write("sys/devices/system/node/node0/cpulist", "0-3\n");
	temp_write("sys/devices/system/node/node1/cpulist", "4-7\n");
	for (unsigned int cpu = 0; cpu < 8; cpu++) {
		write_cpu(cpu, "online", 1);
		write_cpu(cpu, "topology/physical_package_id", cpu / 4);
		write_cpu(cpu, "topology/core_id", cpu % 4);
	}
}

void tree_read_again(struct tree *tree)
{
	machine_free(&tree->machine);
	demand(!topology_read_machine(tree->env.root, &tree->machine), "the machine is not read");
	hwloc_bitmap_andnot(tree->survivors, tree->machine.online, tree->target);
}

void tree_open(struct tree *tree, const char *target)
{
	*tree = (struct tree){ .target = hwloc_bitmap_alloc(), .survivors = hwloc_bitmap_alloc() };
	demand(tree->target && tree->survivors, "no memory");
	demand(!cpus_parse(target, 7, false, tree->target), target);
	tree->env = (struct step_env){
		.root = temp_root(),
		.machine = &tree->machine,
		.request = &tree->request,
		.watcher = &tree->watcher,
		.target = tree->target,
		.survivors = tree->survivors,
		.findings = &tree->findings,
	};
	tree_read_again(tree);
	demand(!writer_start(tree->env.root, &tree->env.writer), "there is no writer");
}

void tree_close(struct tree *tree)
{
	writer_stop(tree->env.writer);
	step_free(&tree->step);
	findings_free(&tree->findings);
	machine_free(&tree->machine);
	hwloc_bitmap_free(tree->target);
	hwloc_bitmap_free(tree->survivors);
	root_close(tree->env.root);
}

int tree_plan(struct tree *tree, const struct step_kind *kind)
{
	step_free(&tree->step);
	tree->step = (struct step){ .kind = kind, .lifetime = kind->lifetime };
	return kind->describe(&tree->step, &tree->env);
}

int tree_apply(struct tree *tree)
{
	int r;

	tree->step.state = STATE_APPLYING;
	r = tree->step.kind->apply(&tree->step, &tree->env);
	tree->step.state = STATE_APPLIED;
	return r;
}

int tree_undo(struct tree *tree)
{
	tree->env.is_return = true;
	return tree->step.kind->undo(&tree->step, &tree->env);
}

const struct finding *tree_find(const struct tree *tree, const char *rule)
{
	for (size_t i = 0; i < tree->findings.nr; i++)
		if (!strcmp(tree->findings.list[i].rule, rule))
			return &tree->findings.list[i];
	return NULL;
}

struct item *tree_item(const struct tree *tree, const char *object)
{
	for (size_t i = 0; i < tree->step.nr_items; i++)
		if (!strncmp(tree->step.items[i].object, object, strlen(object)))
			return &tree->step.items[i];
	return NULL;
}

const char *tree_read(const struct tree *tree, const char *name)
{
	static char text[4096];

	if (root_read_buffer(tree->env.root, name, text, sizeof(text)))
		text[0] = '\0';
	return text;
}
