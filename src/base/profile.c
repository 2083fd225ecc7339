/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile.c - what an operation spent its time on: steps, changes of CPUs, callbacks in these */
#include "base/profile.h"

#include <errno.h>
#include <string.h>

/* Linux 6.12 has some 250 states; a CPU goes through about 90 callbacks in each direction. */
#define MAX_CALLBACKS 512
#define MAX_STEPS     256
#define SPANS_PER_CPU 256
#define SPARE_CPUS    4

/* cpu:teardown runs the dying CPU's own callbacks within it; deeper than that none was seen. */
#define DEPTH 4

/* The trace has microseconds. */
#define ROUNDING 2e-6

struct profile_open {
	unsigned int nr;
	struct {
		long step;
		unsigned int callback;
		double begin, inside; /* seconds of those that ran in it */
	} list[DEPTH];
};

int profile_new(unsigned int nr_cpus, unsigned int nr_changing, struct profile **ret_profile)
{
	struct profile *profile = calloc(1, sizeof(*profile));

	if (!profile)
		return -ENOMEM;
	profile->nr_cpus = nr_cpus;
	/* they may go, and come back where all is put back */
	profile->max_changes = ((size_t)nr_changing + SPARE_CPUS) * 2;
	profile->max_spans = profile->max_changes * SPANS_PER_CPU / 2;
	profile->callbacks = calloc(MAX_CALLBACKS, sizeof(*profile->callbacks));
	profile->steps = calloc(MAX_STEPS, sizeof(*profile->steps));
	profile->changes = calloc(profile->max_changes, sizeof(*profile->changes));
	profile->spans = calloc(profile->max_spans, sizeof(*profile->spans));
	profile->open = calloc((size_t)nr_cpus + 1, sizeof(*profile->open));
	if (!profile->callbacks || !profile->steps || !profile->changes || !profile->spans ||
	    !profile->open) {
		profile_free(profile);
		return -ENOMEM;
	}
	*ret_profile = profile;
	return 0;
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	free(profile->callbacks);
	free(profile->steps);
	free(profile->changes);
	free(profile->spans);
	free(profile->open);
	free(profile);
}

void profile_add_step(struct profile *profile, const char *kind, bool is_undo, double begin,
		      double end)
{
	if (profile && profile->nr_steps < MAX_STEPS)
		profile->steps[profile->nr_steps++] =
			(struct profile_step){ kind, is_undo, begin, end };
	else if (profile)
		profile->nr_left_out++;
}

void profile_add_change(struct profile *profile, unsigned int cpu, bool online, double begin,
			double end)
{
	if (profile && profile->nr_changes < profile->max_changes)
		profile->changes[profile->nr_changes++] = (struct profile_change){
			.cpu = cpu,
			.online = online,
			.begin = begin,
			.end = end,
			.heaviest = SIZE_MAX,
		};
	else if (profile)
		profile->nr_left_out++;
}

void profile_join_changes(struct profile *profile, size_t nr)
{
	if (profile && nr > 1 && nr <= profile->nr_changes && !profile->nr_left_out)
		profile->changes[profile->nr_changes - nr].nr_together = nr;
}

/* kernel/cpu.c: cpuhp_kick_ap_work, cpuhp_kick_ap_alive, cpuhp_bringup_ap; bringup_cpu before 6.5.
 */
static bool is_wait(const char *name)
{
	return !strncmp(name, "cpuhp_", 6) || !strcmp(name, "bringup_cpu");
}

/* The place of the callback of this name, which is added where it is new; MAX_CALLBACKS: no room.
 */
static unsigned int find_callback(struct profile *profile, const char *name, size_t length)
{
	struct profile_callback *callback;
	unsigned int nr = (unsigned int)profile->nr_callbacks;

	if (length >= sizeof(callback->name))
		length = sizeof(callback->name) - 1;
	for (unsigned int i = 0; i < nr; i++)
		if (!strncmp(profile->callbacks[i].name, name, length) &&
		    !profile->callbacks[i].name[length])
			return i;
	if (nr == MAX_CALLBACKS)
		return MAX_CALLBACKS;
	callback = &profile->callbacks[profile->nr_callbacks++];
	memcpy(callback->name, name, length);
	callback->is_wait = is_wait(callback->name);
	return nr;
}

void profile_begin_trace(struct profile *profile)
{
	memset(profile->open, 0, profile->nr_cpus * sizeof(*profile->open));
	profile->is_traced = true;
}

void profile_enter(struct profile *profile, unsigned int cpu, long step, const char *name,
		   size_t length, double time)
{
	struct profile_open *open = &profile->open[cpu < profile->nr_cpus ? cpu : profile->nr_cpus];
	unsigned int callback = find_callback(profile, name, length);

	if (cpu >= profile->nr_cpus || open->nr == DEPTH || callback == MAX_CALLBACKS) {
		profile->nr_left_out++;
		return;
	}
	open->list[open->nr].step = step;
	open->list[open->nr].callback = callback;
	open->list[open->nr].begin = time;
	open->list[open->nr++].inside = 0;
}

static void add_span(struct profile *profile, const struct profile_span *span)
{
	struct profile_callback *callback = &profile->callbacks[span->callback];

	callback->nr++;
	callback->seconds += span->own;
	if (span->own >= callback->longest) {
		callback->longest = span->own;
		callback->longest_cpu = span->cpu;
	}
	if (profile->nr_spans < profile->max_spans)
		profile->spans[profile->nr_spans++] = *span;
	else
		profile->nr_left_out++;
}

/* What was entered after it and never left is given up: its end was lost. */
void profile_leave(struct profile *profile, unsigned int cpu, long step, double time)
{
	struct profile_open *open;
	unsigned int depth;

	if (cpu >= profile->nr_cpus)
		return;
	open = &profile->open[cpu];
	depth = open->nr;
	while (depth && open->list[depth - 1].step != step)
		depth--;
	if (!depth || time < open->list[depth - 1].begin)
		return;
	open->nr = --depth;
	if (depth)
		open->list[depth - 1].inside += time - open->list[depth].begin;
	add_span(profile, &(struct profile_span){
				  .cpu = cpu,
				  .callback = open->list[depth].callback,
				  .begin = open->list[depth].begin,
				  .end = time,
				  .own = time - open->list[depth].begin - open->list[depth].inside,
			  });
}

/* ---- when all is there ------------------------------------------------------------------- */

static int compare_numbers(double one, double other)
{
	return one < other ? -1 : one > other;
}

static int compare_spans(const void *one, const void *other)
{
	const struct profile_span *a = one, *b = other;

	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	/* what holds others first */
	return a->begin < b->begin || a->begin > b->begin ? compare_numbers(a->begin, b->begin)
							  : compare_numbers(b->end, a->end);
}

/* With their place before in front. */
struct placed {
	unsigned int before;
	struct profile_callback callback;
};

static int compare_callbacks(const void *one, const void *other)
{
	const struct placed *a = one, *b = other;
	int r = compare_numbers(b->callback.seconds, a->callback.seconds);

	return r ? r : strcmp(a->callback.name, b->callback.name);
}

static int sort_callbacks(struct profile *profile)
{
	_cleanup_free_ struct placed *placed = calloc(profile->nr_callbacks + 1, sizeof(*placed));
	_cleanup_free_ unsigned int *after = calloc(profile->nr_callbacks + 1, sizeof(*after));

	if (!placed || !after)
		return -ENOMEM;
	for (unsigned int i = 0; i < profile->nr_callbacks; i++)
		placed[i] = (struct placed){ i, profile->callbacks[i] };
	qsort(placed, profile->nr_callbacks, sizeof(*placed), compare_callbacks);
	for (unsigned int i = 0; i < profile->nr_callbacks; i++) {
		profile->callbacks[i] = placed[i].callback;
		after[placed[i].before] = i;
	}
	for (size_t i = 0; i < profile->nr_spans; i++)
		profile->spans[i].callback = after[profile->spans[i].callback];
	return 0;
}

size_t profile_find_spans(const struct profile *profile, unsigned int cpu)
{
	size_t low = 0, high = profile->nr_spans;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (profile->spans[middle].cpu < cpu)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* When the last callback of @cpu between @begin and @end was left; -1 where there was none. */
static double find_last_end(const struct profile *profile, unsigned int cpu, double begin,
			    double end)
{
	double last = -1;

	for (size_t i = profile_find_spans(profile, cpu);
	     i < profile->nr_spans && profile->spans[i].cpu == cpu; i++)
		if (profile->spans[i].begin >= begin - ROUNDING &&
		    profile->spans[i].end <= end + ROUNDING && profile->spans[i].end > last)
			last = profile->spans[i].end;
	return last;
}

static int compare_ends(const void *one, const void *other)
{
	const struct profile_change *a = one, *b = other;

	return (a->end > b->end) - (a->end < b->end);
}

/* One after another, each from the end of the one before: the kernel waits before it begins. Where
 * callbacks are missing the parts stay equal. */
static void split_write(const struct profile *profile, struct profile_change *changes, size_t nr)
{
	double begin = changes[0].begin, end = changes[nr - 1].end;

	for (size_t i = 0; i < nr; i++)
		if (find_last_end(profile, changes[i].cpu, begin, end) < 0)
			return;
	changes[0].nr_together = 0;
	for (size_t i = 0; i < nr; i++)
		changes[i].end = find_last_end(profile, changes[i].cpu, begin, end);
	qsort(changes, nr, sizeof(*changes), compare_ends);
	changes[0].nr_together = nr;
	changes[0].begin = begin;
	for (size_t i = 1; i < nr; i++)
		changes[i].begin = changes[i - 1].end;
	changes[nr - 1].end = end;
}

static void look_into_change(const struct profile *profile, struct profile_change *change)
{
	size_t i = profile_find_spans(profile, change->cpu);
	double heaviest = -1;

	change->in_callbacks = 0;
	change->heaviest = SIZE_MAX;
	for (; i < profile->nr_spans && profile->spans[i].cpu == change->cpu; i++) {
		const struct profile_span *span = &profile->spans[i];

		if (profile->callbacks[span->callback].is_wait ||
		    span->begin < change->begin - ROUNDING || span->end > change->end + ROUNDING)
			continue;
		change->in_callbacks += span->own;
		if (span->own > heaviest) {
			heaviest = span->own;
			change->heaviest = i;
		}
	}
}

int profile_finish(struct profile *profile)
{
	int r = sort_callbacks(profile);

	if (r)
		return r;
	qsort(profile->spans, profile->nr_spans, sizeof(*profile->spans), compare_spans);
	for (size_t i = 0; i < profile->nr_changes; i++)
		if (profile->changes[i].nr_together)
			split_write(profile, &profile->changes[i], profile->changes[i].nr_together);
	for (size_t i = 0; i < profile->nr_changes; i++)
		look_into_change(profile, &profile->changes[i]);
	return 0;
}

void profile_sum(const struct profile *profile, double *ret_seconds, double *ret_in_callbacks)
{
	double seconds = 0, in_callbacks = 0;

	for (size_t i = 0; i < profile->nr_changes; i++) {
		seconds += profile->changes[i].end - profile->changes[i].begin;
		in_callbacks += profile->changes[i].in_callbacks;
	}
	*ret_seconds = seconds;
	*ret_in_callbacks = in_callbacks;
}

const char *profile_heaviest(const struct profile *profile, const struct profile_change *change)
{
	if (change->heaviest == SIZE_MAX)
		return NULL;
	return profile->callbacks[profile->spans[change->heaviest].callback].name;
}
