/* SPDX-License-Identifier: GPL-2.0-or-later */
/* maskfiles.c - files of the kernel that hold one CPU mask in hexadecimal */
#include "host/maskfiles.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "host/root.h"
#include "host/writer.h"

/* Nine characters for 32 CPUs: enough for 60000 of them. */
#define TEXT_SIZE 16384

/* ---- masks as text ----------------------------------------------------------------------- */

/* The next digit to the left of @at, which moves there; 0 for ever once @mask is through. */
static char previous_digit(const char *mask, const char **at)
{
	while (*at > mask) {
		(*at)--;
		if (isxdigit((unsigned char)**at))
			return (char)tolower((unsigned char)**at);
	}
	return '0';
}

bool maskfiles_equal(const char *a, const char *b)
{
	const char *at_a = a + strlen(a), *at_b = b + strlen(b);

	while (at_a > a || at_b > b)
		if (previous_digit(a, &at_a) != previous_digit(b, &at_b))
			return false;
	return true;
}

bool maskfiles_has(const char *mask, unsigned int cpu)
{
	const char *at = mask + strlen(mask);
	char digit = '0';

	for (unsigned int i = 0; i <= cpu / 4; i++)
		digit = previous_digit(mask, &at);
	return (isdigit((unsigned char)digit) ? digit - '0' : digit - 'a' + 10) >> cpu % 4 & 1;
}

/* Writes @cpus as the kernel does: with as many digits as @like has. NULL where there is no memory.
 */
static char *format_like(const char *like, hwloc_const_bitmap_t cpus)
{
	int last = hwloc_bitmap_last(cpus);
	size_t digits = 0, length = 0;
	char *text;

	for (const char *p = like; *p; p++)
		digits += isxdigit((unsigned char)*p) != 0;
	if (last >= 0 && digits < (size_t)last / 4 + 1)
		digits = (size_t)last / 4 + 1;
	text = malloc(digits + digits / 8 + 1);
	if (!text)
		return NULL;
	for (unsigned int i = (unsigned int)digits; i-- > 0;) {
		unsigned int value = 0;

		for (unsigned int bit = 0; bit < 4; bit++)
			value |= (unsigned int)hwloc_bitmap_isset(cpus, 4 * i + bit) << bit;
		text[length++] = "0123456789abcdef"[value];
		if (i && i % 8 == 0)
			text[length++] = ',';
	}
	text[length] = '\0';
	return text;
}

/* ---- planning ---------------------------------------------------------------------------- */

static const char *find_path(const struct root *root, const char *object, char *buffer, size_t size)
{
	snprintf(buffer, size, "%s_requested", object + 1);
	return root_has(root, "%s", buffer) ? buffer : object + 1;
}

/* As many survivors as @mask has CPUs, as far as there are so many. */
static void pick_survivors(struct spread *spread, hwloc_const_bitmap_t mask,
			   hwloc_bitmap_t ret_after)
{
	long near = spread_node(spread, hwloc_bitmap_first(mask));

	hwloc_bitmap_zero(ret_after);
	for (unsigned int n = cpus_count(mask); n > 0; n--) {
		unsigned int cpu = spread_pick(spread, near, CPU_ID_NONE, ret_after);

		if (cpu == CPU_NONE)
			break;
		hwloc_bitmap_set(ret_after, cpu);
	}
}

/* What is to be written in place of @mask. Returns false where it may stay. */
static bool choose_after(const struct step_env *env, struct spread *spread,
			 enum maskfiles_rule rule, hwloc_const_bitmap_t mask,
			 hwloc_bitmap_t ret_after)
{
	hwloc_bitmap_copy(ret_after, mask);
	if (rule == MASKFILES_MOVE && hwloc_bitmap_isincluded(mask, env->target)) {
		pick_survivors(spread, mask, ret_after);
		return true;
	}
	if (rule != MASKFILES_NARROW || !hwloc_bitmap_intersects(mask, env->target))
		return false;
	hwloc_bitmap_andnot(ret_after, mask, env->target);
	if (!hwloc_bitmap_intersects(ret_after, env->survivors))
		hwloc_bitmap_copy(ret_after, spread->allowed);
	return true;
}

static int add_item(struct step *step, const char *object, const char *text, const char *before,
		    hwloc_const_bitmap_t after)
{
	_cleanup_free_ char *after_text = after ? format_like(text, after) : strdup(before);

	if (!after_text || !step_add_item(step, 0, before, after_text, "%s", object))
		return -ENOMEM;
	return 0;
}

static int plan_mask(struct step *step, struct step_env *env, struct spread *spread,
		     const char *object, enum maskfiles_rule rule, const char *text)
{
	_cleanup_cpus_ hwloc_bitmap_t mask = hwloc_bitmap_alloc(), before = hwloc_bitmap_alloc(),
				      after = hwloc_bitmap_alloc();
	const char *earlier = env_before(env, step->kind, 0, 0, object);
	unsigned int max = env->machine->nr_cpus - 1;
	int r;

	if (!mask || !before || !after)
		return -ENOMEM;
	r = cpus_parse_mask(text, max, mask);
	if (!r)
		r = cpus_parse_mask(earlier ? earlier : text, max, before);
	if (r)
		return root_is_shortage(r) ? r : 0;
	if (rule == MASKFILES_RECORD)
		return add_item(step, object, text, earlier ? earlier : text, NULL);
	if (cpus_is_empty(mask))
		return 0;
	if (choose_after(env, spread, rule, mask, after))
		return add_item(step, object, text, earlier ? earlier : text, after);
	/* It may stay, but whoever undoes the earlier operation first must find that we want it,
	 * too. */
	if (earlier && hwloc_bitmap_intersects(before, env->target))
		return add_item(step, object, text, earlier, mask);
	return 0;
}

int maskfiles_plan(struct step *step, struct step_env *env, struct spread *spread,
		   const char *object, enum maskfiles_rule rule)
{
	_cleanup_free_ char *text = NULL;
	char path[PATH_MAX];
	int r = root_read(env->root, &text, "%s", find_path(env->root, object, path, sizeof(path)));

	if (r)
		return root_is_shortage(r) ? r : 0;
	return plan_mask(step, env, spread, object, rule, text);
}

/* ---- applying and undoing ---------------------------------------------------------------- */

static bool is_record(const struct item *item)
{
	return !strcmp(item->before, item->after);
}

static bool is_gone(int r)
{
	return r == -ENOENT || r == -ENODEV;
}

int maskfiles_apply(struct step *step, struct step_env *env)
{
	for (size_t i = 0; i < step->nr_items; i++) {
		struct item *item = &step->items[i];
		int r = is_record(item) ? 0 : writer_write(env, item->object + 1, item->after);

		item->state = r ? STATE_FAILED : STATE_APPLIED;
		item->error = is_gone(r) ? 0 : -r;
	}
	return 0;
}

static bool is_claimed(const struct step_env *env, const char *mask)
{
	for (unsigned int cpu = 0; cpu < env->machine->nr_cpus; cpu++)
		if (maskfiles_has(mask, cpu) && env_is_claimed(env, cpu))
			return true;
	return false;
}

static int put_back(const struct step *step, struct step_env *env, const struct item *item)
{
	const struct item *other =
		env_find_other(env, step->kind, item->id, item->stamp, item->object);
	const char *value = other && is_claimed(env, item->before) ? other->after : item->before;
	char current[TEXT_SIZE], path[PATH_MAX];
	int r = root_read_buffer(env->root, find_path(env->root, item->object, path, sizeof(path)),
				 current, sizeof(current));

	if (r)
		return is_gone(r) || r == -EINVAL ? 0 : r;
	if (maskfiles_equal(current, value))
		return 0;
	if (!is_record(item) && !maskfiles_equal(current, item->after) &&
	    !(other && maskfiles_equal(current, other->after)))
		return 0;
	r = writer_write(env, item->object + 1, value);
	return is_gone(r) ? 0 : r;
}

int maskfiles_undo(struct step *step, struct step_env *env)
{
	return step_undo_items(step, env, false, put_back);
}
