/* SPDX-License-Identifier: GPL-2.0-or-later */
/* irqs.c - step kinds irq.default-affinity and irq.affinity: interrupts leave the target, and come
 * back */
#include "host/irqs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "host/maskfiles.h"
#include "host/root.h"
#include "host/spread.h"
#include "host/writer.h"

#define IRQ_DIR		 "proc/irq"
#define DEFAULT_AFFINITY "/" IRQ_DIR "/default_smp_affinity"

/* Parts the mask from the effective CPU in an item's text. */
#define ON " on "

/* A list of every second one of 8192 CPUs. */
#define LIST_SIZE 24576

/* Without interrupt remapping x86 moves an interrupt when it next occurs: how long to wait for all
 * of them. */
#define MOVE_SECONDS 0.3
#define MOVE_PAUSE   0.01

/*
 * For some ticks after a move x86 still has the old vector to clean up
 * (arch/x86/kernel/apic/vector.c). Another move meanwhile is put off until the interrupt occurs,
 * and so is every later one.
 */
#define SETTLE_SECONDS 0.05

/* ---- handlers ---------------------------------------------------------------------------- */

/*
 * The directories in /proc/irq/N, one for each action. They are read by system call, since
 * readdir(3) allocates and an interrupt must be told from another one on the way back, too.
 */
struct handlers {
	int fd;	   /* or -errno */
	int error; /* -errno where they could not be read, or not to the end; -ENOENT: it is gone */
	ssize_t length, at;
	char buffer[2048] __attribute__((aligned(8)));
};

static void handlers_open(const struct root *root, unsigned long long irq,
			  struct handlers *handlers)
{
	char path[64];

	snprintf(path, sizeof(path), IRQ_DIR "/%llu", irq);
	handlers->fd = root_openat(root, O_RDONLY | O_DIRECTORY, path);
	handlers->error = handlers->fd < 0 ? handlers->fd : 0;
	handlers->length = handlers->at = 0;
}

static const char *handlers_next(struct handlers *handlers)
{
	while (handlers->fd >= 0) {
		const struct dirent64 *entry = (const void *)(handlers->buffer + handlers->at);

		if (handlers->at >= handlers->length) {
			handlers->length = getdents64(handlers->fd, (void *)handlers->buffer,
						      sizeof(handlers->buffer));
			handlers->at = 0;
			if (handlers->length < 0)
				handlers->error = -errno;
			if (handlers->length <= 0)
				break;
			continue;
		}
		handlers->at += entry->d_reclen;
		if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") &&
		    strcmp(entry->d_name, ".."))
			return entry->d_name;
	}
	return NULL;
}

static void handlers_close(struct handlers *handlers)
{
	util_close(&handlers->fd);
}

/* FNV-1a, within what JSON numbers hold; 0 is kept for "no action". */
static unsigned long long hash_name(const char *name)
{
	unsigned long long hash = 0xcbf29ce484222325ULL;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 0x100000001b3ULL;
	return (hash & LLONG_MAX) ? hash & LLONG_MAX : 1;
}

/* Returns 0 where the interrupt still has the action that was stamped: a number may be used anew;
 * -ENOENT where it has not, or another -errno. */
static int find_same(const struct root *root, unsigned long long irq, unsigned long long stamp)
{
	struct handlers handlers;
	bool found = false, any = false;
	const char *name;

	handlers_open(root, irq, &handlers);
	while (!found && (name = handlers_next(&handlers))) {
		any = true;
		found = hash_name(name) == stamp;
	}
	handlers_close(&handlers);
	/* one without an action may have no directory */
	if (handlers.error && handlers.error != -ENOENT && !found)
		return handlers.error;
	return (stamp ? found : !any) ? 0 : -ENOENT;
}

/* ---- reading ----------------------------------------------------------------------------- */

struct irq {
	unsigned long long number, stamp;
	char *name;		     /* of its actions, fit to be printed; "" for none */
	char *list, *effective_list; /* as read; the second is "" where the kernel has none */
	hwloc_bitmap_t mask, effective;
	long node;     /* of its device, CPU_ID_NONE if unknown */
	bool is_fixed; /* the kernel does not let it be moved, and shows it */
	bool has_hint; /* its driver sets the mask by itself */
};

struct irqs {
	struct irq *list;
	size_t nr;
};

static void irq_free(struct irq *irq)
{
	free(irq->name);
	free(irq->list);
	free(irq->effective_list);
	hwloc_bitmap_free(irq->mask);
	hwloc_bitmap_free(irq->effective);
}

static void irqs_free(struct irqs *irqs)
{
	for (size_t i = 0; i < irqs->nr; i++)
		irq_free(&irqs->list[i]);
	free(irqs->list);
}

static int read_name(const struct root *root, struct irq *irq)
{
	struct handlers handlers;
	const char *name;

	irq->name = strdup("");
	handlers_open(root, irq->number, &handlers);
	while (irq->name && (name = handlers_next(&handlers))) {
		if (!irq->stamp)
			irq->stamp = hash_name(name);
		irq->name = util_join(irq->name, ",", name);
	}
	handlers_close(&handlers);
	if (!irq->name)
		return -ENOMEM;
	util_make_printable(irq->name);
	return handlers.error == -ENOENT ? 0 : handlers.error;
}

static bool is_fixed(const struct root *root, unsigned long long irq)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), IRQ_DIR "/%llu/smp_affinity_list", irq);
	fd = root_openat(root, O_RDONLY, path);
	return fd >= 0 && !fstat(fd, &st) && !(st.st_mode & 0222);
}

/* A driver that writes the mask by itself leaves it as a hint, too: irq_set_affinity_and_hint(). */
static bool has_hint(const struct root *root, unsigned long long irq)
{
	_cleanup_free_ char *hint = NULL;

	return !root_read(root, &hint, IRQ_DIR "/%llu/affinity_hint", irq) &&
	       !maskfiles_equal(hint, "0");
}

/* Fills @irq as far as it goes; -ENOENT where it is gone. */
static int read_irq(const struct step_env *env, unsigned long long number, struct irq *irq)
{
	unsigned int max = env->machine->nr_cpus - 1;
	int r;

	irq->number = number;
	irq->mask = hwloc_bitmap_alloc();
	irq->effective = hwloc_bitmap_alloc();
	if (!irq->mask || !irq->effective)
		return -ENOMEM;
	r = root_read(env->root, &irq->list, IRQ_DIR "/%llu/smp_affinity_list", number);
	if (!r)
		r = cpus_parse_kernel(irq->list, max, irq->mask);
	if (!r)
		r = read_name(env->root, irq);
	if (r)
		return r;
	r = root_read(env->root, &irq->effective_list, IRQ_DIR "/%llu/effective_affinity_list",
		      number);
	if (r == -ENOENT) {
		irq->effective_list = strdup("");
		r = irq->effective_list ? 0 : -ENOMEM;
	}
	if (!r)
		r = cpus_parse_kernel(irq->effective_list, max, irq->effective);
	if (root_read_long(env->root, &irq->node, IRQ_DIR "/%llu/node", number))
		irq->node = CPU_ID_NONE;
	irq->is_fixed = is_fixed(env->root, number);
	irq->has_hint = has_hint(env->root, number);
	return r;
}

static int compare_irqs(const void *a, const void *b)
{
	const struct irq *irq_a = a, *irq_b = b;

	return (irq_a->number > irq_b->number) - (irq_a->number < irq_b->number);
}

static int add_irq(const struct step_env *env, const char *name, struct irqs *irqs)
{
	struct irq irq = { 0 }, *list;
	long number;
	int r;

	if (util_parse_long(name, 0, LONG_MAX, &number))
		return 0;
	r = read_irq(env, (unsigned long long)number, &irq);
	list = r ? NULL : util_grow(irqs->list, irqs->nr, sizeof(*list));
	if (list) {
		irqs->list = list;
		list[irqs->nr++] = irq;
		return 0;
	}
	irq_free(&irq);
	/* one that went away, or that cannot be read, is none of ours */
	return !r ? -ENOMEM : root_is_shortage(r) ? r : 0;
}

static int read_irqs(const struct step_env *env, struct irqs *irqs)
{
	DIR *dir = root_opendir(env->root, IRQ_DIR);
	const struct dirent *entry;
	int r = 0;

	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while (!r && (entry = root_readdir(dir, &r)))
		r = add_irq(env, entry->d_name, irqs);
	closedir(dir);
	if (irqs->nr)
		qsort(irqs->list, irqs->nr, sizeof(*irqs->list), compare_irqs);
	return r;
}

/* ---- planning ---------------------------------------------------------------------------- */

/* Also one without a name: what was requested early in boot has no directory in /proc/irq/N. */
static bool must_move(const struct step_env *env, const struct irq *irq)
{
	if (irq->is_fixed || !hwloc_bitmap_intersects(irq->mask, env->target))
		return false;
	return !hwloc_bitmap_intersects(irq->mask, env->survivors) ||
	       hwloc_bitmap_intersects(irq->effective, env->target);
}

static char *choose_list(const struct step_env *env, struct spread *spread, const struct irq *irq)
{
	_cleanup_cpus_ hwloc_bitmap_t after = hwloc_bitmap_alloc();
	int from = hwloc_bitmap_first(cpus_is_empty(irq->effective) ? irq->mask : irq->effective);
	unsigned int cpu;

	if (!after)
		return NULL;
	hwloc_bitmap_andnot(after, irq->mask, env->target);
	if (hwloc_bitmap_intersects(after, env->survivors))
		return cpus_format(after);
	cpu = spread_pick(spread, spread_node(spread, from), irq->node, NULL);
	return cpu == CPU_NONE ? strdup(irq->list) : util_asprintf("%u", cpu);
}

static char *format_before(const struct irq *irq)
{
	/* on its way to another CPU already: where it comes from is not what its owner wants */
	bool is_moving = !hwloc_bitmap_isincluded(irq->effective, irq->mask);

	return util_asprintf("%s%s%s", irq->list, irq->effective_list[0] && !is_moving ? ON : "",
			     is_moving ? "" : irq->effective_list);
}

/* @after is NULL for a record. */
static int add_item(struct step *step, const struct step_env *env, const struct irq *irq,
		    const char *after)
{
	_cleanup_free_ char *object =
		util_asprintf("irq %llu%s%s", irq->number, irq->name[0] ? " " : "", irq->name);
	_cleanup_free_ char *before = format_before(irq);
	const char *earlier;
	struct item *item;

	if (!object || !before)
		return -ENOMEM;
	earlier = env_before(env, step->kind, irq->number, irq->stamp, object);
	if (earlier && !after)
		after = irq->list; /* it is narrowed already, and the earlier operation may end
				      first */
	item = step_add_item(step, irq->number, earlier ? earlier : before, after ? after : before,
			     "%s", object);
	if (!item)
		return -ENOMEM;
	item->stamp = irq->stamp;
	return 0;
}

static int add_moves(struct step *step, const struct step_env *env, struct spread *spread,
		     const struct irqs *irqs)
{
	for (size_t i = 0; i < irqs->nr; i++)
		spread_add_load(spread, irqs->list[i].effective);
	for (size_t i = 0; i < irqs->nr; i++) {
		_cleanup_free_ char *after = NULL;

		if (!must_move(env, &irqs->list[i]))
			continue;
		after = choose_list(env, spread, &irqs->list[i]);
		if (!after || add_item(step, env, &irqs->list[i], after))
			return -ENOMEM;
	}
	return 0;
}

/* Where an earlier operation has narrowed it, the mask that it will have again counts as well. */
static int is_to_record(const struct step *step, const struct step_env *env, const struct irq *irq)
{
	_cleanup_free_ char *object = NULL;

	if (irq->is_fixed || !irq->name[0] || must_move(env, irq))
		return false;
	if (irq->has_hint || hwloc_bitmap_intersects(irq->mask, env->target))
		return true;
	object = util_asprintf("irq %llu %s", irq->number, irq->name);
	if (!object)
		return -ENOMEM;
	return env_before(env, step->kind, irq->number, irq->stamp, object) != NULL;
}

static int add_records(struct step *step, const struct step_env *env, const struct irqs *irqs)
{
	for (size_t i = 0; i < irqs->nr; i++) {
		int r = is_to_record(step, env, &irqs->list[i]);

		if (r > 0)
			r = add_item(step, env, &irqs->list[i], NULL);
		if (r < 0)
			return r;
	}
	return 0;
}

static int note_fixed(const struct step_env *env, const struct irqs *irqs)
{
	size_t nr = 0;

	for (size_t i = 0; i < irqs->nr; i++)
		nr += irqs->list[i].is_fixed && irqs->list[i].name[0] &&
		      hwloc_bitmap_intersects(irqs->list[i].effective, env->target);
	if (!nr)
		return 0;
	return findings_add(env->findings, "irq-fixed", SEVERITY_NOTE, env->target, NULL,
			    "%zu interrupt%s of these CPUs cannot be moved: the kernel shuts %s "
			    "down with "
			    "their CPU and starts %s again",
			    nr, nr == 1 ? "" : "s", nr == 1 ? "it" : "them",
			    nr == 1 ? "it" : "them")
		       ? 0
		       : -ENOMEM;
}

static int describe(struct step *step, struct step_env *env)
{
	_cleanup_spread_ struct spread spread = { 0 };
	_cleanup_(irqs_free) struct irqs irqs = { 0 };
	int r;

	if (env->is_return)
		return 0;
	r = spread_init(&spread, env);
	if (r)
		return r == -ENODEV ? 0 : r;
	r = read_irqs(env, &irqs);
	if (!r)
		r = add_moves(step, env, &spread, &irqs);
	if (!r)
		r = add_records(step, env, &irqs);
	return r ? r : note_fixed(env, &irqs);
}

/* ---- applying ---------------------------------------------------------------------------- */

static int write_list(const struct step_env *env, unsigned long long irq, const char *list)
{
	char path[64];

	snprintf(path, sizeof(path), IRQ_DIR "/%llu/smp_affinity_list", irq);
	return writer_write(env, path, list);
}

/* The kernel manages it itself, or it went away meanwhile: nothing to do, and nothing to say. */
static bool is_not_ours(int r)
{
	return r == -EIO || r == -EPERM || r == -EACCES || r == -ENOENT;
}

static bool is_record(const struct item *item)
{
	return !strcmp(item->before, item->after);
}

/*
 * Out of vectors there: the next survivor that has one, but for those that are kept free of other
 * work. The journal has room for no other mask than the planned one: such an item stays APPLYING.
 */
static int write_next_survivor(const struct step_env *env, unsigned long long irq)
{
	const struct machine *machine = env->machine;
	int r = -ENOSPC;
	unsigned int cpu;

	cpus_foreach(cpu, env->survivors) {
		char list[16];

		if ((machine->isolated && hwloc_bitmap_isset(machine->isolated, cpu)) ||
		    (machine->nohz_full && hwloc_bitmap_isset(machine->nohz_full, cpu)))
			continue;
		snprintf(list, sizeof(list), "%u", cpu);
		r = write_list(env, irq, list);
		if (r != -ENOSPC)
			break;
	}
	return r;
}

/*
 * What cannot be moved here the kernel moves when the CPU goes, or refuses that. So this never
 * fails, and what did not move is undone all the same: its mask will be another one then.
 */
static int apply(struct step *step, struct step_env *env)
{
	for (size_t i = 0; i < step->nr_items; i++) {
		struct item *item = &step->items[i];
		int r = is_record(item) ? 0 : write_list(env, item->id, item->after);
		bool is_full = r == -ENOSPC;

		if (is_full)
			r = write_next_survivor(env, item->id);
		item->state = is_not_ours(r)  ? STATE_FAILED
			      : is_full && !r ? STATE_APPLYING
					      : STATE_APPLIED;
		item->error = is_not_ours(r) ? 0 : -r;
	}
	return 0;
}

/* ---- undoing ----------------------------------------------------------------------------- */

/* An interrupt as it is now. It allocates nothing. */
struct now {
	char list[LIST_SIZE];
	char effective[256];
};

static int read_now(const struct root *root, unsigned long long irq, struct now *now)
{
	char path[64];
	int r;

	snprintf(path, sizeof(path), IRQ_DIR "/%llu/effective_affinity_list", irq);
	if (root_read_buffer(root, path, now->effective, sizeof(now->effective)))
		now->effective[0] = '\0';
	snprintf(path, sizeof(path), IRQ_DIR "/%llu/smp_affinity_list", irq);
	r = root_read_buffer(root, path, now->list, sizeof(now->list));
	return r;
}

/* The effective CPU of an item's text, or "". */
static const char *effective_of(const char *text)
{
	const char *on = strstr(text, ON);

	return on ? on + strlen(ON) : "";
}

static bool list_is(const char *text, const char *list)
{
	size_t length = strcspn(text, " ");

	return length == strlen(list) && !memcmp(text, list, length);
}

/* Returns 1, 0, or -errno where that cannot be told for a want of our own. */
static int is_by_driver(const struct root *root, unsigned long long irq)
{
	char path[64], mask[LIST_SIZE / 4], hint[LIST_SIZE / 4];
	int r;

	snprintf(path, sizeof(path), IRQ_DIR "/%llu/smp_affinity", irq);
	r = root_read_buffer(root, path, mask, sizeof(mask));
	snprintf(path, sizeof(path), IRQ_DIR "/%llu/affinity_hint", irq);
	if (!r)
		r = root_read_buffer(root, path, hint, sizeof(hint));
	if (r)
		return root_is_shortage(r) ? r : 0;
	return maskfiles_equal(mask, hint);
}

static bool has_all(const char *list, hwloc_const_bitmap_t cpus)
{
	unsigned int cpu;

	cpus_foreach(cpu, cpus)
		if (!cpus_text_has(list, cpu))
			return false;
	return true;
}

/* True for the list of one CPU that is in @cpus. */
static bool is_one_of(const char *list, hwloc_const_bitmap_t cpus)
{
	long cpu;

	return !util_parse_long(list, 0, INT_MAX, &cpu) &&
	       hwloc_bitmap_isset(cpus, (unsigned int)cpu);
}

/*
 * Whether the mask that is there now may be replaced: it is the old one or ours (of one that did
 * not go where it was planned, one survivor), of a cpuoff that was stopped between narrowing and
 * the mask, of another operation, of the driver's making, or what the kernel puts there when all
 * CPUs of a mask go: everything online. Any other mask is somebody's later wish. Returns 1, 0 or
 * -errno.
 */
static int may_replace(const struct step_env *env, const struct item *item, const char *list)
{
	const struct item *other =
		env_find_other(env, &irqs_affinity_kind, item->id, item->stamp, NULL);

	if (list_is(item->before, list) || list_is(item->after, list) ||
	    (item->state == STATE_APPLYING && is_one_of(list, env->survivors)) ||
	    !strcmp(effective_of(item->before), list) || (other && list_is(other->after, list)) ||
	    has_all(list, env->survivors))
		return 1;
	return is_by_driver(env->root, item->id);
}

/*
 * First half: x86 leaves an interrupt on a CPU that its new mask has, so it goes to its old CPU
 * alone. Leaves the item APPLYING where the mask must follow, with an error where its old CPU did
 * not take it.
 */
static int narrow(struct item *item, const struct step_env *env)
{
	const char *effective = effective_of(item->before);
	static struct now now;
	int r = read_now(env->root, item->id, &now);

	item->error = 0;
	if (!r)
		r = find_same(env->root, item->id, item->stamp);
	if (r == -ENOENT)
		item->state = STATE_UNDONE;
	if (r)
		return r == -ENOENT ? 0 : r;
	if (!list_is(item->before, now.list) ||
	    (*effective && strcmp(effective, now.effective) != 0))
		r = may_replace(env, item, now.list);
	if (!r)
		item->state = STATE_UNDONE;
	if (r <= 0)
		return r;
	item->state = STATE_APPLYING;
	if (*effective && strcmp(effective, now.effective))
		item->error = -write_list(env, item->id, effective);
	return 0;
}

static bool has_moved(const struct item *item, const struct step_env *env)
{
	const char *effective = effective_of(item->before);
	static struct now now;

	return !*effective || item->error || read_now(env->root, item->id, &now) ||
	       !strcmp(effective, now.effective);
}

/* Until all are on their old CPUs. One that does not occur meanwhile stays where it is until it
 * does. */
static void wait_for_moves(const struct step *step, const struct step_env *env)
{
	double end = util_now() + MOVE_SECONDS;

	for (size_t i = 0; i < step->nr_items; i++)
		while (step->items[i].state == STATE_APPLYING && !has_moved(&step->items[i], env)) {
			if (util_now() >= end)
				return;
			util_sleep(MOVE_PAUSE);
		}
}

static int write_mask_of(const struct step_env *env, unsigned long long irq, const char *text)
{
	char list[LIST_SIZE];
	size_t length = strcspn(text, " ");

	if (length >= sizeof(list))
		return -EFBIG;
	memcpy(list, text, length);
	list[length] = '\0';
	return write_list(env, irq, list);
}

/*
 * Second half: the mask. Where another operation keeps all of its CPUs off, the interrupt goes to
 * where that one has put it, and where that one will find it.
 */
static int widen(const struct item *item, const struct step_env *env)
{
	const struct item *other;
	int r = write_mask_of(env, item->id, item->before);

	if (is_not_ours(r))
		return 0;
	other = r == -EINVAL ? env_find_other(env, &irqs_affinity_kind, item->id, item->stamp, NULL)
			     : NULL;
	return other ? write_mask_of(env, item->id, other->after) : r;
}

static int undo(struct step *step, struct step_env *env)
{
	int first_error = 0;

	/* In a rollback we have moved them just now; drivers may have, for the CPUs that returned.
	 */
	util_sleep(SETTLE_SECONDS);
	for (size_t i = 0; i < step->nr_items; i++) {
		struct item *item = &step->items[i];
		int r = item_is_in_force(step, item) ? narrow(item, env) : 0;

		if (r)
			item->error = -r;
		if (!first_error)
			first_error = r;
	}
	wait_for_moves(step, env);
	for (size_t i = 0; i < step->nr_items; i++) {
		struct item *item = &step->items[i];
		int r;

		if (item->state != STATE_APPLYING)
			continue;
		r = widen(item, env);
		item->error = -r;
		item->state = r ? STATE_APPLIED : STATE_UNDONE;
		if (!first_error)
			first_error = r;
	}
	return first_error;
}

const struct step_kind irqs_affinity_kind = {
	.name = "irq.affinity",
	.moves_irqs = true,
	.undo_rank = 70,
	.lifetime = LIFETIME_UNTIL_RESTORE,
	.describe = describe,
	.apply = apply,
	.undo = undo,
};

/* ---- where new interrupts start ---------------------------------------------------------- */

static int describe_default(struct step *step, struct step_env *env)
{
	_cleanup_cpus_ hwloc_bitmap_t before = hwloc_bitmap_alloc();
	_cleanup_spread_ struct spread spread = { 0 };
	int r = before ? spread_init(&spread, env) : -ENOMEM;

	if (r)
		return r == -ENODEV ? 0 : r;
	r = maskfiles_plan(step, env, &spread, DEFAULT_AFFINITY, MASKFILES_NARROW);
	if (r || !step->nr_items)
		return r;
	r = cpus_parse_mask(step->items[0].before, env->machine->nr_cpus - 1, before);
	if (!r && !hwloc_bitmap_intersects(before, env->survivors))
		step->lifetime = LIFETIME_UNTIL_RESTORE;
	return r;
}

const struct step_kind irqs_default_kind = {
	.name = "irq.default-affinity",
	.undo_rank = 60,
	.lifetime = LIFETIME_DURING,
	.describe = describe_default,
	.apply = maskfiles_apply,
	.undo = maskfiles_undo,
};
