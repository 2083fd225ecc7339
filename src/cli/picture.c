/* SPDX-License-Identifier: GPL-2.0-or-later */
/* picture.c - the files that --profile=FILE.svg and --list --map=FILE.svg draw into */
#include "cli/picture.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/layout.h"
#include "cli/list.h"
#include "cli/map.h"
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
		layout_complain("%s could not be written: %s", name, strerror(-r));
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

/* ---- the map ----------------------------------------------------------------------------- */

static int draw_map(const struct report *report, FILE *file)
{
	const struct selection *selection =
		report->options->request.nr_selectors ? &report->selection : NULL;
	unsigned int present = cpus_count(report->machine.present);
	unsigned int online = cpus_count(report->machine.online);
	_cleanup_free_ char *parts = list_format_parts(&report->machine, &report->journals);
	_cleanup_free_ char *selected = selection ? cpus_format(selection->target) : strdup("");
	_cleanup_(map_free) struct map map = { 0 };
	char title[256], subtitle[256];

	if (!parts || !selected || map_make(&report->machine, &report->journals, selection, &map))
		return -ENOMEM;
	snprintf(title, sizeof(title), "%u CPU%s: %s", present, present == 1 ? "" : "s", parts);
	if (selection && strlen(selected) < 100)
		snprintf(subtitle, sizeof(subtitle), "Selected: %s (%u CPUs)", selected,
			 cpus_count(selection->target));
	else if (selection)
		snprintf(subtitle, sizeof(subtitle), "Selected: %u CPUs",
			 cpus_count(selection->target));
	else
		snprintf(subtitle, sizeof(subtitle), "%u online, %u offline", online,
			 present - online);
	return map_draw(file, &map, title, subtitle);
}

/* A terminal, a pipe and the like cannot be replaced: they are written to. */
static bool is_special(const char *name)
{
	struct stat stat_buf;

	return !stat(name, &stat_buf) && !S_ISREG(stat_buf.st_mode);
}

/* What fopen() would have made, of a file that mkstemp() has made for its owner alone. */
static int open_beside(char *name, FILE **ret_file)
{
	mode_t mask = umask(077);
	int fd = mkstemp(name), r = fd < 0 ? -errno : 0;

	umask(mask);
	if (r)
		return r;
	*ret_file = fchmod(fd, 0666 & ~mask) < 0 ? NULL : fdopen(fd, "w");
	if (*ret_file)
		return 0;
	r = -errno;
	close(fd);
	unlink(name);
	return r;
}

static int replace(const struct report *report, const char *name)
{
	_cleanup_free_ char *beside = util_asprintf("%s.XXXXXX", name);
	FILE *file;
	int r = beside ? open_beside(beside, &file) : -ENOMEM;

	if (r)
		return r;
	r = draw_map(report, file);
	if (fclose(file) && !r)
		r = -errno;
	if (!r && rename(beside, name) < 0)
		r = -errno;
	if (r)
		unlink(beside);
	return r;
}

static int write_special(const struct report *report, const char *name)
{
	FILE *file = fopen(name, "we");
	int r = file ? draw_map(report, file) : -errno;

	if (file && fclose(file) && !r)
		r = -errno;
	return r;
}

int picture_save_map(struct report *report)
{
	const char *name = report->options->map_file;
	int r;

	if (!name)
		return 0;
	r = is_special(name) ? write_special(report, name) : replace(report, name);
	if (!r || r == -ENOMEM)
		return r;
	report_conclude(report, VERDICT_INVALID, EXIT_INVALID);
	return findings_add(&report->findings, "map-file", SEVERITY_REFUSE, NULL,
			    "Name a file that can be written.", "%s cannot be written: %s", name,
			    strerror(-r))
		       ? 0
		       : -ENOMEM;
}
