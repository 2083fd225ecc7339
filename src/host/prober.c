/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prober.c - real-time threads on the survivors that measure how late they are woken */
#include "host/prober.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "host/tasks.h"

#define PERIOD	    1000000L /* nanoseconds */
#define NS_PER_S    1000000000L
#define STACK_SIZE  (256UL << 10)
#define LINEAR	    128U /* microseconds with a bucket of their own */
#define PER_OCTAVE  64U
#define LINEAR_BITS 7

/* Over what services run with and interrupt threads (50), below what the kernel itself needs. */
#define PRIORITY 80

/* ---- the histogram ----------------------------------------------------------------------- */

static size_t find_bucket(uint64_t microseconds)
{
	unsigned int shift;
	size_t bucket;

	if (microseconds < LINEAR)
		return (size_t)microseconds;
	shift = 63 - (unsigned int)__builtin_clzll(microseconds) - (LINEAR_BITS - 1);
	bucket = LINEAR + (shift - 1) * PER_OCTAVE + (size_t)((microseconds >> shift) - PER_OCTAVE);
	return bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1;
}

/* The first microsecond that is too long for @bucket. */
static uint64_t find_end(size_t bucket)
{
	size_t octave;

	if (bucket < LINEAR)
		return bucket + 1;
	octave = (bucket - LINEAR) / PER_OCTAVE + 1;
	return (uint64_t)(PER_OCTAVE + (bucket - LINEAR) % PER_OCTAVE + 1) << octave;
}

void latency_add(struct latency *latency, uint64_t delay)
{
	latency->buckets[find_bucket(delay / 1000)]++;
	latency->nr_wakeups++;
	latency->nr_over_1ms += delay > 1000000;
	if (delay > latency->longest)
		latency->longest = delay;
}

void latency_merge(struct latency *latency, const struct latency *other)
{
	for (size_t i = 0; i < LATENCY_BUCKETS; i++)
		latency->buckets[i] += other->buckets[i];
	latency->nr_wakeups += other->nr_wakeups;
	latency->nr_over_1ms += other->nr_over_1ms;
	if (other->longest > latency->longest)
		latency->longest = other->longest;
}

double latency_percentile(const struct latency *latency, unsigned int permille)
{
	uint64_t wanted = (latency->nr_wakeups * permille + 999) / 1000, nr = 0, delay;
	size_t bucket = 0;

	if (!latency->nr_wakeups)
		return 0;
	while (bucket < LATENCY_BUCKETS - 1 && (nr += latency->buckets[bucket]) < wanted)
		bucket++;
	delay = find_end(bucket) * 1000;
	return (double)(delay < latency->longest ? delay : latency->longest) / 1e9;
}

/* ---- the threads ------------------------------------------------------------------------- */

struct thread {
	pthread_t thread;
	sem_t is_known; /* the thread has told its id */
	pid_t tid;
	atomic_bool is_recording, must_stop;
	struct latency latency;
};

struct prober {
	hwloc_bitmap_t cpus; /* one a thread, in the threads' order */
	size_t nr_threads, nr_started;
	struct thread *threads;
	char *memory; /* stacks, then threads */
	size_t size;
	bool is_realtime;
};

static int64_t nanoseconds(const struct timespec *ts)
{
	return (int64_t)ts->tv_sec * NS_PER_S + ts->tv_nsec;
}

static void *probe(void *data)
{
	struct thread *thread = data;
	struct timespec ts;
	int64_t next;

	thread->tid = gettid();
	prctl(PR_SET_NAME, "cpuoff-prober");
	prctl(PR_SET_TIMERSLACK, 1);
	sem_post(&thread->is_known);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	next = nanoseconds(&ts);
	while (!atomic_load_explicit(&thread->must_stop, memory_order_relaxed)) {
		int64_t delay;

		next += PERIOD;
		ts.tv_sec = (time_t)(next / NS_PER_S);
		ts.tv_nsec = (long)(next % NS_PER_S);
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
			;
		clock_gettime(CLOCK_MONOTONIC, &ts);
		delay = nanoseconds(&ts) - next;
		if (atomic_load_explicit(&thread->is_recording, memory_order_relaxed))
			latency_add(&thread->latency, delay > 0 ? (uint64_t)delay : 0);
		/* one stall is one delay: what was to come meanwhile is left out */
		next += delay / PERIOD * PERIOD;
	}
	return NULL;
}

/* The last survivor of each node, since the first CPUs do most of the kernel's own work. */
static int choose_cpus(const struct machine *machine, hwloc_const_bitmap_t survivors,
		       hwloc_bitmap_t ret_cpus)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();

	if (!cpus)
		return -ENOMEM;
	for (size_t i = 0; i < machine->nr_nodes; i++) {
		hwloc_bitmap_and(cpus, machine->nodes[i].cpus, survivors);
		if (!cpus_is_empty(cpus) &&
		    hwloc_bitmap_set(ret_cpus, (unsigned int)hwloc_bitmap_last(cpus)))
			return -ENOMEM;
	}
	if (cpus_is_empty(ret_cpus) && !cpus_is_empty(survivors) &&
	    hwloc_bitmap_set(ret_cpus, (unsigned int)hwloc_bitmap_last(survivors)))
		return -ENOMEM;
	return cpus_is_empty(ret_cpus) ? -ENODATA : 0;
}

static int make_memory(struct prober *prober)
{
	char *memory;

	prober->nr_threads = cpus_count(prober->cpus);
	prober->size = prober->nr_threads * (STACK_SIZE + sizeof(struct thread));
	memory = mmap(NULL, prober->size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (memory == MAP_FAILED)
		return -errno;
	prober->memory = memory;
	/* where that is not allowed they measure all the same: the pages are there */
	if (mlock(memory, prober->size))
		errno = 0;
	prober->threads = (struct thread *)(void *)(memory + prober->nr_threads * STACK_SIZE);
	return 0;
}

int prober_new(const struct root *root, const struct machine *machine,
	       hwloc_const_bitmap_t survivors, struct prober **ret_prober)
{
	struct prober *prober;
	int r;

	if (!root_is_live(root))
		return -ENODATA;
	prober = calloc(1, sizeof(*prober));
	if (!prober)
		return -ENOMEM;
	prober->cpus = hwloc_bitmap_alloc();
	r = prober->cpus ? choose_cpus(machine, survivors, prober->cpus) : -ENOMEM;
	if (!r)
		r = make_memory(prober);
	if (r)
		prober_free(prober);
	else
		*ret_prober = prober;
	return r;
}

void prober_free(struct prober *prober)
{
	if (!prober)
		return;
	if (prober->memory)
		munmap(prober->memory, prober->size);
	hwloc_bitmap_free(prober->cpus);
	free(prober);
}

static int create(struct prober *prober, struct thread *thread, char *stack)
{
	pthread_attr_t attributes;
	int r = pthread_attr_init(&attributes);

	if (r)
		return -r;
	sem_init(&thread->is_known, 0, 0);
	r = pthread_attr_setstack(&attributes, stack, STACK_SIZE);
	if (!r)
		r = pthread_create(&thread->thread, &attributes, probe, thread);
	pthread_attr_destroy(&attributes);
	if (r)
		return -r;
	prober->nr_started++;
	while (sem_wait(&thread->is_known) && errno == EINTR)
		;
	return 0;
}

static int start_thread(struct prober *prober, size_t nr, unsigned int cpu, hwloc_bitmap_t place)
{
	struct thread *thread = &prober->threads[nr];
	int r = create(prober, thread, prober->memory + nr * STACK_SIZE);

	if (r)
		return r;
	if (hwloc_bitmap_only(place, cpu))
		return -ENOMEM;
	r = tasks_set_mask(thread->tid, place);
	if (!r && tasks_set_policy(thread->tid, SCHED_FIFO, PRIORITY))
		prober->is_realtime = false;
	return r;
}

int prober_start(struct prober *prober)
{
	_cleanup_cpus_ hwloc_bitmap_t place = hwloc_bitmap_alloc();
	sigset_t all, before;
	unsigned int cpu;
	size_t nr = 0;
	int r = place ? 0 : -ENOMEM;

	/* signals are the main thread's: they end its pauses */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	prober->is_realtime = true;
	for (cpu = cpus_next(prober->cpus, CPU_NONE); !r && cpu != CPU_NONE;
	     cpu = cpus_next(prober->cpus, cpu))
		r = start_thread(prober, nr++, cpu, place);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	for (size_t i = 0; !r && i < prober->nr_started; i++)
		atomic_store(&prober->threads[i].is_recording, true);
	if (r)
		prober_stop(prober, NULL);
	return r;
}

void prober_stop(struct prober *prober, struct latency *latency)
{
	for (size_t i = 0; i < prober->nr_started; i++)
		atomic_store(&prober->threads[i].must_stop, true);
	for (size_t i = 0; i < prober->nr_started; i++) {
		pthread_join(prober->threads[i].thread, NULL);
		sem_destroy(&prober->threads[i].is_known);
		if (latency)
			latency_merge(latency, &prober->threads[i].latency);
	}
	prober->nr_started = 0;
}

hwloc_const_bitmap_t prober_cpus(const struct prober *prober)
{
	return prober->cpus;
}

bool prober_is_realtime(const struct prober *prober)
{
	return prober->is_realtime;
}
