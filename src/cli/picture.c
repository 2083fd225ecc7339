/* SPDX-License-Identifier: GPL-2.0-or-later */
/* picture.c - the files that --profile=FILE.svg and --list --map=FILE.svg draw into */
#include "cli/picture.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/layout.h"
#include "cli/list.h"
#include "cli/map.h"
#include "cli/svg.h"

/* ---- the file ---------------------------------------------------------------------------- */

/* A terminal, a pipe and the like cannot be replaced: they are written to. A link is replaced. */
static bool is_special(const char *name)
{
	struct stat stat_buf;

	return !lstat(name, &stat_buf) && !S_ISREG(stat_buf.st_mode) && !S_ISLNK(stat_buf.st_mode);
}

/* What fopen() would have made, under a name that nobody can guess, for its owner alone until then.
 */
static int open_beside(char *name)
{
	mode_t mask = umask(077);
	int fd = mkstemp(name), r = fd < 0 ? -errno : 0;

	umask(mask);
	if (!r && (fchmod(fd, 0666 & ~mask) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)) {
		r = -errno;
		close(fd);
		unlink(name);
	}
	return r ? r : fd;
}

/* Nothing of the name is touched before end(): in a folder of others it may be a link of theirs. */
static int begin(const char *name, struct picture *ret_picture)
{
	struct picture picture = { .name = name };
	int fd;

	if (is_special(name)) {
		fd = open(name, O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
		fd = fd < 0 ? -errno : fd;
	} else {
		picture.beside = util_asprintf("%s.XXXXXX", name);
		fd = picture.beside ? open_beside(picture.beside) : -ENOMEM;
	}
	picture.file = fd < 0 ? NULL : fdopen(fd, "w");
	if (picture.file) {
		*ret_picture = picture;
		return 0;
	}
	if (fd >= 0 && picture.beside)
		unlink(picture.beside);
	if (fd >= 0)
		close(fd);
	free(picture.beside);
	return fd < 0 ? fd : -ENOMEM;
}

/* Puts it in its place, but for an error @r (negative), which is returned. */
static int end(struct picture *picture, int r)
{
	if (fclose(picture->file) && !r)
		r = -errno;
	if (!r && picture->beside && rename(picture->beside, picture->name) < 0)
		r = -errno;
	if (r && picture->beside)
		unlink(picture->beside);
	free(picture->beside);
	*picture = (struct picture){ 0 };
	return r;
}

/* ---- the profile ------------------------------------------------------------------------- */

int picture_open(struct report *report, struct picture *ret_picture)
{
	const char *name = report->options->profile_file;
	struct finding *finding;
	int r;

	if (!name || report->options->request.dry_run || report->options->error)
		return 0;
	r = begin(name, ret_picture);
	if (!r || r == -ENOMEM)
		return r;
	finding = findings_add(&report->findings, "profile-file", SEVERITY_REFUSE, NULL,
			       "Name a file that can be written.", "%s cannot be written: %s", name,
			       strerror(-r));
	report_conclude(report, VERDICT_INVALID, EXIT_INVALID);
	return finding ? 1 : -ENOMEM;
}

static int draw(const struct report *report, FILE *file)
{
	_cleanup_free_ char *cpus = cpus_format(report->target);
	char title[512], when[64] = "";
	time_t now = time(NULL);
	struct tm tm;

	if (gmtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	snprintf(title, sizeof(title), "cpuoff: CPUs %s %s, %s, %s", cpus ? cpus : "",
		 report->options->request.action == ACTION_RESTORE ? "online" : "offline",
		 verdict_format(report->verdict), when);
	return svg_write(file, report->profile, title, report->options->command);
}

void picture_close(const struct report *report, struct picture *picture)
{
	const char *name = picture->name;
	int r;

	if (!picture->file)
		return;
	r = end(picture, report->profile ? draw(report, picture->file) : -ECANCELED);
	if (r && r != -ECANCELED)
		layout_complain("%s could not be written: %s", name, strerror(-r));
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

int picture_save_map(struct report *report)
{
	const char *name = report->options->map_file;
	struct picture picture;
	int r;

	if (!name)
		return 0;
	r = begin(name, &picture);
	if (!r)
		r = end(&picture, draw_map(report, picture.file));
	if (!r || r == -ENOMEM)
		return r;
	report_conclude(report, VERDICT_INVALID, EXIT_INVALID);
	return findings_add(&report->findings, "map-file", SEVERITY_REFUSE, NULL,
			    "Name a file that can be written.", "%s cannot be written: %s", name,
			    strerror(-r))
		       ? 0
		       : -ENOMEM;
}
