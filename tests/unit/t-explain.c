/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-explain.c - tests of what is said of a failure: message, cause, and the line of the kernel's
 * log */
#include "core/explain.h"

#include <errno.h>
#include <fcntl.h>

#include "host/kmsg.h"
#include "tap.h"
#include "temp.h"

/* ---- the table --------------------------------------------------------------------------- */

static const struct answer {
	int error;
	bool is_return;
	const char *callback, *message, *cause; /* NULL: any */
} answers[] = {
	{ EBUSY, false, "sched_cpu_deactivate",
	  "cpu 31 could not be taken offline: the kernel answered EBUSY in sched_cpu_deactivate",
	  "deadline tasks" },
	{ EBUSY, false, "tick_nohz_cpu_down", NULL, "nohz_full=" },
	{ EBUSY, false, "hv_synic_cleanup", NULL, "Hyper-V" },
	{ EBUSY, false, "kvm_offline_cpu", NULL, "TDX" },
	{ EBUSY, false, "some_driver_down", NULL, "A callback of the kernel or of a driver" },
	{ EBUSY, false, "", NULL, "last CPU that is not isolated" },
	{ EAGAIN, false, "workqueue:online", NULL, "injected" },
	{ ENOSPC, false, "", NULL, "interrupt vectors" },
	{ ERANGE, false, "", NULL, "interrupt vectors" },
	{ ENOMEM, false, "padata_cpu_dead", NULL, "pcrypt" },
	{ ENOMEM, false, "x", NULL, "no memory" },
	{ EPERM, false, "", NULL, "does not allow" },
	{ EACCES, false, "", NULL, "may not write" },
	{ EROFS, false, "", NULL, "read-only" },
	{ EOPNOTSUPP, false, "", NULL, "confidential guest" },
	{ EINVAL, false, "", NULL, "understand" },
	{ ENODEV, false, "", NULL, "removed" },
	{ ENOENT, false, "", NULL, "removed" },
	{ EPROTO, false, "",
	  "cpu 31 could not be taken offline: the kernel reported success, but nothing changed",
	  "brings it back" },
	{ ETIMEDOUT, false, "blk_mq_hctx_notify_offline", NULL, "requests in flight" },
	{ ETIMEDOUT, false, "", NULL, "still works" },
	{ EBUSY, true, "kvm_online_cpu", NULL, "KVM" },
	{ EBUSY, true, "", NULL, "ten seconds" },
	{ EAGAIN, true, "", NULL, "dead" },
	{ EPERM, true, "", NULL, "SMT is switched off" },
	{ EACCES, true, "", NULL, "may not write" },
	{ EROFS, true, "", NULL, "read-only" },
	{ EIO, true, "", "cpu 31 could not be brought online: the kernel answered EIO",
	  "did not start" },
	{ ENOMEM, true, "", NULL, "memory" },
	{ ECANCELED, true, "", NULL, "SMT off" },
	{ EINVAL, true, "", NULL, "not present" },
	{ ENODEV, true, "", NULL, "removed" },
	{ ENOENT, true, "", NULL, "removed" },
	{ EPROTO, true, "", NULL, "still offline" },
	{ ETIMEDOUT, true, "", "cpu 31 could not be brought online: the kernel has not answered",
	  "given up" },
	{ 999, false, "", "cpu 31 could not be taken offline: the kernel answered errno 999", "" },
};

static void test_answer(const struct answer *answer)
{
	struct item item = { .object = (char[]){ "cpu 31" }, .id = 31, .error = answer->error };
	struct explanation explanation = { 0 };
	const char *name = util_errno_name(answer->error);

	snprintf(item.callback, sizeof(item.callback), "%s", answer->callback);
	if (!is_int(explain_failure(&item, answer->is_return, NULL, &explanation), 0, "%s", name))
		return;
	if (answer->message)
		is_str(explanation.message, answer->message, "%s: the message", name);
	if (!ok(strstr(explanation.cause, answer->cause), "%s %s: \"%s\"", name, answer->callback,
		answer->cause))
		diag("%s", explanation.cause);
	ok(explanation.remedy[0] && !explanation.kernel_log, "%s: a remedy, and no log", name);
	explanation_free(&explanation);
}

/* ---- the kernel's log -------------------------------------------------------------------- */

static const char records[] =
	"4,100,5000000,-;CPU 30 has 131 vectors, 70 available. Cannot disable CPU\n"
	" SUBSYSTEM=cpu\n"
	"6,101,5000001,-;smpboot: CPU 31 is now offline\n"
	"12,102,5000002,-;daemon: CPU 31 is no business of mine\n"
	"4,103,5000003,-;something else is wrong\n"
	"3,104,5000004,-;CPU31 failed to report alive state\n"
	"4,105,5000005,-;IRQ 31: \x1b[2Jno CPU, and cpu 310 neither\n";

static const struct line {
	const char *what;
	unsigned int cpu;
	const char *pattern;
	const char *expected; /* NULL: none */
} lines[] = {
	{ "a warning that names the CPU", 31, NULL, "CPU31 failed to report alive state" },
	{ "the pattern, and the CPU", 30, "Cannot disable CPU",
	  "CPU 30 has 131 vectors, 70 available. Cannot disable CPU" },
	{ "the pattern alone", 7, "Cannot disable CPU",
	  "CPU 30 has 131 vectors, 70 available. Cannot disable CPU" },
	{ "another CPU", 3, NULL, NULL },
	{ "no such pattern", 7, "TDX requires", NULL },
	{ "what is no text is not printed", 310, NULL, "IRQ 31: ?[2Jno CPU, and cpu 310 neither" },
};

static void test_lines(const char *log)
{
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		const char *line = "";
		size_t length = kmsg_find(log, lines[i].cpu, lines[i].pattern, &line);
		_cleanup_free_ char *text = strndup(line, length);

		is_str(text, lines[i].expected ? lines[i].expected : "", "%s", lines[i].what);
	}
}

static void test_log(void)
{
	_cleanup_root_ struct root *root = temp_root();
	_cleanup_free_ char *log = NULL, *old = NULL;
	_cleanup_close_ int fd = -1;
	struct item item = { .object = (char[]){ "cpu 30" }, .id = 30, .error = ENOSPC };
	struct explanation explanation = { 0 };

	is_int(kmsg_open(root), -ENOENT, "a machine without a log");
	temp_write("dev/kmsg", "3,1,1,-;CPU 31 failed long ago\n");
	fd = kmsg_open(root);
	ok(fd >= 0, "the log is opened");
	old = kmsg_read(fd);
	ok(!old, "and shows nothing of what was before");
	is_int((long long)kmsg_find(NULL, 3, NULL, &(const char *){ NULL }), 0,
	       "without a log no line");
	{
		FILE *file = fopen(temp_path("dev/kmsg"), "a");

		ok(file && fputs(records, file) >= 0 && !fclose(file), "the kernel writes");
	}
	log = kmsg_read(fd);
	ok(log && !strstr(log, "daemon"), "what other programs write is left out");
	test_lines(log);
	is_int(explain_failure(&item, false, log, &explanation), 0, "a failure is explained");
	is_str(explanation.kernel_log, "CPU 30 has 131 vectors, 70 available. Cannot disable CPU",
	       "with the kernel's words");
	explanation_free(&explanation);
}

int main(void)
{
	temp_make();
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
		test_answer(&answers[i]);
	test_log();
	temp_remove();
	return done_testing();
}
