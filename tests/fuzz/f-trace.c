/* SPDX-License-Identifier: GPL-2.0-or-later */
/* f-trace.c - fuzz target: what the kernel tells meanwhile, as a trace and as its log */
#include <string.h>

#include "../unit/temp.h"
#include "base/profile.h"
#include "fuzz.h"
#include "host/kmsg.h"
#include "host/trace.h"

#define INSTANCE "sys/kernel/tracing/instances/cpuoff"

static void read_trace(const struct root *root)
{
	struct step_env env = { .root = (struct root *)root, .trace_instance = INSTANCE };
	char callback[64];

	for (unsigned int cpu = 0; cpu < 4; cpu++) {
		if (trace_failed_callback(&env, cpu, callback, sizeof(callback)))
			fuzz_demand(callback[0], "a callback without a name has failed");
		if (trace_running_callback(&env, cpu, callback, sizeof(callback)))
			fuzz_demand(callback[0], "a callback without a name runs");
	}
	fuzz_demand(!profile_new(4, 4, &env.profile), "no memory");
	profile_add_change(env.profile, 3, false, 12, 13);
	trace_read_profile(&env);
	fuzz_demand(!profile_finish(env.profile), "no memory");
	profile_free(env.profile);
}

static void read_log(const struct root *root)
{
	_cleanup_close_ int fd = kmsg_open_whole(root);
	_cleanup_free_ char *log = fd < 0 ? NULL : kmsg_read(fd);
	const char *line;

	for (unsigned int cpu = 0; log && cpu < 4; cpu++) {
		size_t length = kmsg_find(log, cpu, "vectors", &line);

		fuzz_demand(!length || (line >= log && line + length <= log + strlen(log)),
			    "a line that is not of the log");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_root_ struct root *root = NULL;

	machine_put_file(INSTANCE "/trace", data, size);
	machine_put_file("dev/kmsg", data, size);
	root = temp_root();
	read_trace(root);
	read_log(root);
	return 0;
}
