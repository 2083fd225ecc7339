/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-irqbalance.c - tests of what an irqbalance is told, that answers, is late, or takes nothing
 * more */
#include "host/irqbalance.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "tap.h"

static int listener = -1;
static struct step_env env;

/* By the abstract name of an irqbalance with the id of this process: no other one is ever met. */
static void begin(int backlog)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int n = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "irqbalance%d.sock",
			 (int)getpid());

	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ok(!bind(listener, (struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) &&
		   !listen(listener, backlog),
	   "something listens");
}

static void end(void)
{
	close(listener);
}

/* One message, as irqbalance reads it, or "". */
static const char *read_message(void)
{
	static char text[512];
	_cleanup_close_ int fd = accept(listener, NULL, NULL);
	ssize_t n = fd < 0 ? -1 : recv(fd, text, sizeof(text) - 1, 0);

	text[n < 0 ? 0 : n] = '\0';
	return text;
}

static struct step make_step(struct item *item)
{
	static char cpus[] = "4-7";

	*item = (struct item){ .id = (unsigned long long)getpid(), .after = cpus };
	return (struct step){
		.kind = &irqbalance_kind, .state = STATE_APPLIED, .items = item, .nr_items = 1
	};
}

static void test_answer(void)
{
	struct item item;
	struct step step = make_step(&item);
	pid_t child;
	int status = -1;

	begin(4);
	fflush(stdout);
	child = fork();
	if (!child)
		_exit(strcmp(read_message(), "settings cpus 4-7") != 0);
	is_int(irqbalance_kind.apply(&step, &env), 0, "told, and read at once");
	is_int(waitpid(child, &status, 0), child, "it has read");
	is_int(status, 0, "the CPUs");
	ok(item.state == STATE_APPLIED && !item.error, "and no error");
	is_int(irqbalance_kind.undo(&step, &env), 0, "told that it is over");
	ok(item.state == STATE_UNDONE && !item.error, "without waiting for it to read");
	is_str(read_message(), "settings cpus NULL", "what it reads then");
	end();
}

/* It sleeps for its interval, and reads later. */
static void test_late(void)
{
	struct item item;
	struct step step = make_step(&item);

	begin(4);
	is_int(irqbalance_kind.apply(&step, &env), 0, "told, and not read in time");
	is_int(item.error, ETIMEDOUT, "late: that is said");
	is_int(item.state, STATE_APPLIED, "late: it has to be told once more afterwards");
	is_int(irqbalance_kind.undo(&step, &env), 0, "late: told that it is over");
	is_int(item.state, STATE_UNDONE, "late: undone");
	is_str(read_message(), "settings cpus 4-7", "late: it reads both, in their order");
	is_str(read_message(), "settings cpus NULL", "late: the second one");
	end();
}

/* Its socket holds as many messages as it does. */
static void test_full(void)
{
	struct item first_item, item;
	struct step first = make_step(&first_item), step = make_step(&item);

	begin(0);
	is_int(irqbalance_kind.apply(&first, &env), 0, "one message has room");
	is_int(first_item.state, STATE_APPLIED, "and is in force");
	is_int(irqbalance_kind.apply(&step, &env), 0, "full: it goes on");
	is_int(item.error, ETIMEDOUT, "full: that is said");
	is_int(item.state, STATE_FAILED, "full: nothing is in force");
	is_int(irqbalance_kind.undo(&step, &env), 0, "full: nothing is to be undone");
	is_int(item.state, STATE_FAILED, "full: and nothing is sent");
	is_str(read_message(), "settings cpus 4-7", "full: it reads the first one");
	end();
}

int main(void)
{
	test_answer();
	test_late();
	test_full();
	return done_testing();
}
