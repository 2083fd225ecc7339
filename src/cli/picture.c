/* SPDX-License-Identifier: GPL-2.0-or-later */
/* picture.c - the file that --profile=FILE.svg draws into */
#include "cli/picture.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "cli/svg.h"

int picture_open(struct report *report, struct picture *ret_picture)
{
	const char *name = report->options->profile_file;
	struct finding *finding;
	int error;

	if (!name || report->options->request.dry_run || report->options->error)
		return 0;
	ret_picture->is_new = access(name, F_OK) < 0;
	ret_picture->file = fopen(name, "ae"); /* what is there stays until the end */
	if (ret_picture->file)
		return 0;
	error = errno;
	finding = findings_add(&report->findings, "profile-file", SEVERITY_REFUSE, NULL,
			       "Name a file that can be written.", "%s cannot be written: %s", name,
			       strerror(error));
	report_conclude(report, VERDICT_INVALID, EXIT_INVALID);
	return finding ? 1 : -ENOMEM;
}

static void draw(const struct report *report, FILE *file)
{
	const char *name = report->options->profile_file;
	_cleanup_free_ char *cpus = cpus_format(report->target);
	char title[512], when[64] = "";
	time_t now = time(NULL);
	struct tm tm;
	int r = 0;

	if (gmtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	snprintf(title, sizeof(title), "cpuoff: CPUs %s %s, %s, %s", cpus ? cpus : "",
		 report->options->request.action == ACTION_RESTORE ? "online" : "offline",
		 verdict_format(report->verdict), when);
	if (ftruncate(fileno(file), 0))
		r = -errno;
	if (!r)
		r = svg_write(file, report->profile, title, report->options->command);
	if (r)
		fprintf(stderr, "cpuoff: %s could not be written: %s\n", name, strerror(-r));
}

void picture_close(const struct report *report, const struct picture *picture)
{
	if (!picture->file)
		return;
	if (report->profile)
		draw(report, picture->file);
	else if (picture->is_new)
		unlink(report->options->profile_file);
	fclose(picture->file);
}
