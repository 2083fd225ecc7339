/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-prober.c - tests of the histogram of delays, and of the threads that fill it */
#include "host/prober.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "guard.h"
#include "tap.h"
#include "temp.h"

#define MS 1000000ULL

static struct latency latency, other;

static void add(uint64_t delay, unsigned int times)
{
	while (times--)
		latency_add(&latency, delay);
}

static void is_near(double got, double expected, const char *what)
{
	if (!ok(got >= expected && got <= expected * 1.02 + 1e-6, "%s", what))
		diag("got %.9f, expected %.9f and no more than that", got, expected);
}

static void test_empty(void)
{
	memset(&latency, 0, sizeof(latency));
	ok(latency_percentile(&latency, 999) <= 0, "no delay, no percentile");
}

static void test_percentiles(void)
{
	memset(&latency, 0, sizeof(latency));
	add(10 * 1000, 999);
	add(5 * MS, 1);
	is_near(latency_percentile(&latency, 999), 10e-6, "the one in a thousand is left out");
	is_near(latency_percentile(&latency, 1000), 5e-3, "but not of all");
	ok(latency_percentile(&latency, 1000) <= 5e-3, "which is never over the longest");
	add(5 * MS, 1);
	is_near(latency_percentile(&latency, 999), 5e-3, "two of 1001 are not left out");
	is_int((long long)latency.nr_wakeups, 1001, "all are counted");
	is_int((long long)latency.nr_over_1ms, 2, "and those over a millisecond");
	is_int((long long)latency.longest, 5 * MS, "and the longest is kept");
}

static void test_limits(void)
{
	memset(&latency, 0, sizeof(latency));
	add(MS, 1);
	is_int((long long)latency.nr_over_1ms, 0, "a millisecond is not over a millisecond");
	add(MS + 1, 1);
	is_int((long long)latency.nr_over_1ms, 1, "a nanosecond more is");
	add(0, 1);
	add(UINT64_MAX, 1);
	is_int((long long)latency.nr_wakeups, 4, "the shortest and the longest have a place");
}

/* Every delay finds itself again, to 1.6 percent, up to a day. */
static void test_all_sizes(void)
{
	unsigned int nr_good = 0, nr = 0;

	for (uint64_t delay = 1000; delay < 86400ULL * 1000 * MS; delay += delay / 7 + 1) {
		double seconds;

		memset(&latency, 0, sizeof(latency));
		latency_add(&latency, delay);
		latency.longest = UINT64_MAX;
		seconds = latency_percentile(&latency, 500);
		nr++;
		nr_good += seconds > (double)delay / 1e9 &&
			   seconds <= (double)delay / 1e9 * 1.016 + 1.1e-6;
	}
	is_int(nr_good, nr, "the end of a delay's bucket is near it");
}

static void test_merge(void)
{
	memset(&latency, 0, sizeof(latency));
	memset(&other, 0, sizeof(other));
	add(10 * 1000, 10);
	other = latency;
	latency_add(&other, 3 * MS);
	latency_merge(&latency, &other);
	is_int((long long)latency.nr_wakeups, 21, "merged: the count");
	is_int((long long)latency.nr_over_1ms, 1, "merged: those over a millisecond");
	is_int((long long)latency.longest, 3 * MS, "merged: the longest");
	is_near(latency_percentile(&latency, 950), 10e-6, "merged: a percentile");
}

static int count_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	int nr = -2;

	while (dir && readdir(dir))
		nr++;
	if (dir)
		closedir(dir);
	return nr;
}

/* A machine of two nodes whose CPUs are this one's first. */
static struct machine make_machine(struct node *nodes, hwloc_const_bitmap_t first)
{
	nodes[0] = (struct node){ 0, hwloc_bitmap_dup(first) };
	nodes[1] = (struct node){ 1, hwloc_bitmap_alloc() };
	hwloc_bitmap_set(nodes[1].cpus, 500);
	return (struct machine){ .nodes = nodes, .nr_nodes = 2 };
}

/* On the machine that the test runs on; where SCHED_FIFO is refused, without. */
static void test_threads(void)
{
	hwloc_bitmap_t survivors = hwloc_bitmap_alloc();
	struct prober *prober = NULL;
	struct root *root = NULL;
	struct node nodes[2];
	struct machine machine;
	double start;
	size_t nr_allocated;
	int nr_before, r = root_open("/", &root);

	memset(&latency, 0, sizeof(latency));
	hwloc_bitmap_set(survivors, (unsigned int)sched_getcpu());
	machine = make_machine(nodes, survivors);
	if (!r)
		r = prober_new(root, &machine, survivors, &prober);
	is_int(r, 0, "a prober is made");
	if (!prober)
		return;
	nr_before = count_threads();
	start = util_now();
	is_int(prober_start(prober), 0, "and started");
	is_int(count_threads() - nr_before, 1, "a thread for the node that has survivors");
	ok(hwloc_bitmap_isequal(prober_cpus(prober), survivors), "on its CPU");
	util_sleep(0.2);
	guard_begin();
	prober_stop(prober, &latency);
	nr_allocated = guard_end();
	is_int(count_threads() - nr_before, 0, "and none when it is stopped");
	if (guard_can_see())
		is_int((long long)nr_allocated, 0, "stopping allocates nothing");
	ok(latency.nr_wakeups > 0 && (double)latency.nr_wakeups <= (util_now() - start) * 1000 + 2,
	   "it was woken, once a millisecond at most");
	ok(latency.longest > 0, "and never in time");
	prober_free(prober);
	hwloc_bitmap_free(nodes[0].cpus);
	hwloc_bitmap_free(nodes[1].cpus);
	hwloc_bitmap_free(survivors);
	root_close(root);
}

static void test_copy(void)
{
	struct prober *prober = NULL;
	struct machine machine = { 0 };
	struct root *root = temp_root();
	hwloc_bitmap_t survivors = hwloc_bitmap_alloc();

	is_int(prober_new(root, &machine, survivors, &prober), -ENODATA,
	       "there is nothing to measure on the copy of a machine");
	ok(!prober, "and no prober");
	hwloc_bitmap_free(survivors);
	root_close(root);
}

int main(void)
{
	temp_make();
	test_empty();
	test_percentiles();
	test_limits();
	test_all_sizes();
	test_merge();
	test_threads();
	test_copy();
	temp_remove();
	return done_testing();
}
