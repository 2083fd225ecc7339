/* SPDX-License-Identifier: GPL-2.0-or-later */
/* writer.c - the child that makes the writes which the kernel may never answer */
#include "host/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "host/hotplug.h"
#include "host/privileges.h"
#include "host/trace.h"

#define REPORT_SECONDS 5.0

/* Whoever kills more of them, for one write, means it. */
#define CHILDREN 3

struct writer {
	const struct root *root;
	pid_t pid;
	int fd; /* -1 once the child is gone */
	bool is_stuck;
	int limit_r; /* of privileges_limit_writer(), once the child has answered */
};

enum change { CHANGE_WRITE, CHANGE_MKDIR, CHANGE_RMDIR };

struct order {
	enum change change;
	char path[PATH_MAX];
	char value[4096]; /* more than a page is not taken by the kernel's files */
};

struct answer {
	int result;
	int limit_r;
	double seconds;
};

static int make_change(const struct root *root, const struct order *order)
{
	switch (order->change) {
	case CHANGE_MKDIR:
		return root_mkdir(root, order->path);
	case CHANGE_RMDIR:
		return root_rmdir(root, order->path);
	case CHANGE_WRITE:
		return root_write(root, order->value, order->path);
	}
	return -EINVAL;
}

static struct answer carry_out(const struct root *root, const struct order *order)
{
	double start = util_now();
	struct answer answer;

	memset(&answer, 0, sizeof(answer)); /* its padding travels, too */
	answer.result = make_change(root, order);
	answer.seconds = util_now() - start;
	return answer;
}

/*
 * Ends when the parent does, after the write in hand. The signals are the parent's to handle, and
 * the caller's pipes must not stay open because a write is stuck.
 */
static void child(const struct root *root, int fd)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGTSTP, SIGQUIT };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int limit_r = privileges_limit_writer();
	struct order order;

	setpgid(0, 0);
	prctl(PR_SET_NAME, "cpuoff-writer");
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	for (int std = 0; std <= 2; std++)
		if (null < 0 || dup2(null, std) < 0)
			close(std);
	while (recv(fd, &order, sizeof(order), 0) == (ssize_t)sizeof(order)) {
		struct answer answer = carry_out(root, &order);

		answer.limit_r = limit_r;
		if (send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

static int start_child(struct writer *writer)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	pid = fork();
	if (pid < 0) {
		int r = -errno;

		close(ends[0]);
		close(ends[1]);
		return r;
	}
	if (!pid) {
		close(ends[0]);
		child(writer->root, ends[1]);
	}
	close(ends[1]);
	writer->fd = ends[0];
	writer->pid = pid;
	return 0;
}

static void end_child(struct writer *writer)
{
	if (writer->fd < 0)
		return;
	close(writer->fd);
	writer->fd = -1;
	if (!writer->is_stuck)
		while (waitpid(writer->pid, NULL, 0) < 0 && errno == EINTR)
			;
}

int writer_start(const struct root *root, struct writer **ret_writer)
{
	_cleanup_free_ struct writer *writer = calloc(1, sizeof(*writer));
	int r;

	if (!writer)
		return -ENOMEM;
	writer->root = root;
	r = start_child(writer);
	if (r)
		return r;
	*ret_writer = steal_pointer(&writer);
	return 0;
}

void writer_stop(struct writer *writer)
{
	if (!writer)
		return;
	end_child(writer);
	free(writer);
}

pid_t writer_pid(const struct writer *writer)
{
	return writer->pid;
}

bool writer_is_stuck(const struct writer *writer)
{
	return writer->is_stuck;
}

int writer_limit_error(const struct writer *writer)
{
	return writer->limit_r;
}

/* The items whose CPUs a write changes; none for other writes. */
struct watched {
	const struct item *items;
	size_t nr;
	const struct step *step; /* that they are part of, where they are several; else NULL */
};

/* The one item, or of several the one whose CPU the kernel is at; NULL if unknown. */
static const struct item *find_running(const struct step_env *env, const struct watched *watched)
{
	if (!watched->step)
		return watched->items;
	return hotplug_find_changing(env, watched->items, watched->nr);
}

/* How many of several CPUs that go are there still, 0 where it cannot be told. @ret_gone is one
 * that is not. */
static size_t count_left(const struct step_env *env, const struct watched *watched,
			 const struct item **ret_gone)
{
	static struct online_mask mask;
	size_t nr = 0;

	if (!watched->step || hotplug_read_online(env, &mask))
		return 0;
	for (size_t i = 0; i < watched->nr; i++)
		if (cpus_text_has(mask.text, (unsigned int)watched->items[i].id))
			nr++;
		else
			*ret_gone = &watched->items[i];
	return nr;
}

/* Returns true where some of several CPUs have gone since, and tells so. */
static bool advances(const struct step_env *env, const struct watched *watched, size_t *left)
{
	const struct item *gone = NULL;
	size_t nr = count_left(env, watched, &gone), done = 0;

	if (!gone || nr >= *left)
		return false;
	*left = nr;
	for (size_t i = 0; i < watched->step->nr_items; i++)
		done += item_is_settled(&watched->step->items[i]);
	watcher_progress(env->watcher, &(struct progress){
					       .phase = PHASE_REMOVING,
					       .object = gone->object,
					       .done = done + watched->nr - nr,
					       .total = watched->step->nr_items,
				       });
	return true;
}

/* kernel/cpu.c: the thread of each CPU that runs its callbacks. Returns 0 where there is none. */
static pid_t find_hotplug_thread(const struct root *root, unsigned int cpu)
{
	char wanted[32], path[64], comm[32];
	DIR *dir = root_opendir(root, "proc");
	const struct dirent *entry;
	long found = 0, pid;

	snprintf(wanted, sizeof(wanted), "cpuhp/%u", cpu);
	while (!found && dir && (entry = readdir(dir))) {
		if (util_parse_long(entry->d_name, 1, INT_MAX, &pid))
			continue;
		snprintf(path, sizeof(path), "proc/%ld/comm", pid);
		if (!root_read_buffer(root, path, comm, sizeof(comm)) && !strcmp(comm, wanted))
			found = pid;
	}
	if (dir)
		closedir(dir);
	return (pid_t)found;
}

/* True for a function in which others are waited for, or there is nothing to do. */
static bool is_waiting(const char *function)
{
	static const char *const names[] = { "schedule",     "wait_for_",	  "__wait_for_",
					     "cpuhp_",	     "__cpuhp_",	  "msleep",
					     "__flush_work", "smpboot_thread_fn", "kthread+",
					     "ret_from_fork" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(function, names[i], strlen(names[i])))
			return true;
	return false;
}

/* The first function of a thread's kernel stack that does something. */
static bool find_in_stack(const struct root *root, pid_t pid, char *where, size_t size)
{
	char path[64], stack[4096], *line, *rest = stack;

	snprintf(path, sizeof(path), "proc/%d/stack", (int)pid);
	if (root_read_buffer(root, path, stack, sizeof(stack)))
		return false;
	while ((line = strsep(&rest, "\n"))) {
		const char *function = strchr(line, ' ');

		if (!function++ || is_waiting(function))
			continue;
		snprintf(where, size, "%.*s", (int)strcspn(function, "+"), function);
		return true;
	}
	return false;
}

/* The function of the kernel that the change of @item's CPU is in, as the trace has it, or the
 * stack of the CPU's own thread, or the child's; "" if unknown. */
static void find_where(const struct writer *writer, const struct step_env *env,
		       const struct item *item, char *where, size_t size)
{
	unsigned int cpu = item ? (unsigned int)item->id : CPU_NONE;
	pid_t thread;

	where[0] = '\0';
	if (!root_is_live(writer->root) || (item && trace_running_callback(env, cpu, where, size)))
		return;
	thread = item ? find_hotplug_thread(writer->root, cpu) : 0;
	if (!thread || !find_in_stack(writer->root, thread, where, size))
		find_in_stack(writer->root, writer->pid, where, size);
}

static void report(const struct writer *writer, const struct step_env *env,
		   const struct order *order, const struct watched *watched, double waited)
{
	const struct item *item = find_running(env, watched);
	char where[64], path[PATH_MAX + 1];

	find_where(writer, env, item, where, sizeof(where));
	snprintf(path, sizeof(path), "/%s", order->path);
	watcher_progress(env->watcher, &(struct progress){
					       .phase = PHASE_WAITING,
					       .object = item ? item->object : path,
					       .waited = waited,
					       .pid = writer->pid,
					       .where = where,
				       });
}

/* Waits for the answer. Returns 1 with it, 0 where the child is gone, or -ETIMEDOUT. */
static int await_answer(struct writer *writer, const struct step_env *env,
			const struct order *order, const struct watched *watched,
			struct answer *answer)
{
	double start = util_now(), reported = start, now;
	double timeout = env->request->timeout;
	struct pollfd pollfd = { .fd = writer->fd, .events = POLLIN };
	size_t left = watched->nr;

	for (;;) {
		if (poll(&pollfd, 1, 200) > 0)
			return recv(writer->fd, answer, sizeof(*answer), 0) ==
			       (ssize_t)sizeof(*answer);
		now = util_now();
		if (advances(env, watched, &left))
			start = reported = now;
		if (timeout > 0 && now - start >= timeout) {
			report(writer, env, order, watched, now - start);
			writer->is_stuck = true;
			return -ETIMEDOUT;
		}
		if (now - reported >= REPORT_SECONDS) {
			report(writer, env, order, watched, now - start);
			reported = now;
		}
	}
}

/*
 * Hands the order to the child. Somebody may kill it: another one is as good, since whether the
 * write was made the machine tells, and no write does harm twice. Returns as await_answer(), 0
 * where there is no child.
 */
static int ask_child(struct writer *writer, const struct step_env *env, const struct order *order,
		     const struct watched *watched, struct answer *answer)
{
	int r = 0;

	for (int i = 0; !r && i < CHILDREN && writer->fd >= 0; i++) {
		if (send(writer->fd, order, sizeof(*order), MSG_NOSIGNAL) >= 0)
			r = await_answer(writer, env, order, watched, answer);
		if (!r) {
			end_child(writer);
			if (start_child(writer))
				break;
		}
	}
	return r;
}

static int change(const struct step_env *env, enum change what, const struct watched *watched,
		  const char *path, const char *value, double *ret_seconds)
{
	static struct order order;
	struct writer *writer = env->writer;
	struct answer answer;
	int r;

	if (writer->is_stuck)
		return -ETIMEDOUT;
	order.change = what;
	if (snprintf(order.path, sizeof(order.path), "%s", path) >= (int)sizeof(order.path))
		return -ENAMETOOLONG;
	if (snprintf(order.value, sizeof(order.value), "%s", value) >= (int)sizeof(order.value))
		return -E2BIG;
	r = ask_child(writer, env, &order, watched, &answer);
	if (r < 0)
		return r;
	if (r > 0)
		writer->limit_r = answer.limit_r;
	else
		answer = carry_out(writer->root, &order);
	*ret_seconds = answer.seconds;
	return answer.result;
}

int writer_take_cpus(const struct step_env *env, const struct step *step, size_t first, size_t nr,
		     const char *path, const char *value, double *ret_seconds)
{
	struct watched watched = { .items = &step->items[first], .nr = nr, .step = step };

	return change(env, CHANGE_WRITE, &watched, path, value, ret_seconds);
}

int writer_set_cpu(const struct step_env *env, const struct item *item, const char *path,
		   const char *value, double *ret_seconds)
{
	struct watched watched = { .items = item, .nr = 1 };

	return change(env, CHANGE_WRITE, &watched, path, value, ret_seconds);
}

/* A change that concerns no CPU. */
static int change_file(const struct step_env *env, enum change what, const char *path,
		       const char *value)
{
	double seconds;

	return change(env, what, &(struct watched){ 0 }, path, value, &seconds);
}

int writer_write(const struct step_env *env, const char *path, const char *value)
{
	return change_file(env, CHANGE_WRITE, path, value);
}

int writer_mkdir(const struct step_env *env, const char *path)
{
	return change_file(env, CHANGE_MKDIR, path, "");
}

int writer_rmdir(const struct step_env *env, const char *path)
{
	return change_file(env, CHANGE_RMDIR, path, "");
}
