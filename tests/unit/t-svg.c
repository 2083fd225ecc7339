/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-svg.c - tests of the picture: it is valid XML, needs nothing else, and has what it should */
#include "cli/svg.h"

#include <errno.h>
#include <string.h>

#include "tap.h"
#include "temp.h"

#define VALIDATE                                                                                   \
	"if command -v xmllint >/dev/null; then xmllint --noout '%s'; "                            \
	"elif command -v python3 >/dev/null; then python3 -c 'import sys, xml.dom.minidom; "       \
	"xml.dom.minidom.parse(sys.argv[1])' '%s'; else exit 77; fi"

static char text[1 << 20];

static void is_valid(const char *path, const char *what)
{
	char command[1024];
	int status;

	snprintf(command, sizeof(command), VALIDATE, path, path);
	status = system(command);
	ok(status == 0 || status == 77 << 8, "%s: valid XML%s", what,
	   status ? " # SKIP neither xmllint nor python3" : "");
}

static size_t count(const char *part)
{
	size_t nr = 0;

	for (const char *at = text; (at = strstr(at, part)); at++)
		nr++;
	return nr;
}

static void draw(const struct profile *profile, const char *title, const char *subtitle,
		 const char *what)
{
	const char *path;
	FILE *file;
	size_t length;

	temp_write("picture.svg", "");
	path = temp_path("picture.svg");
	file = fopen(path, "w+");
	if (!file)
		return;
	is_int(svg_write(file, profile, title, subtitle), 0, "%s: it is written", what);
	rewind(file);
	length = fread(text, 1, sizeof(text) - 1, file);
	text[length] = '\0';
	fclose(file);
	is_valid(path, what);
}

static struct profile *make_profile(unsigned int nr_cpus)
{
	struct profile *profile = NULL;

	if (profile_new(nr_cpus, nr_cpus, &profile))
		return NULL;
	profile_begin_trace(profile);
	for (unsigned int i = 0; i < nr_cpus; i++) {
		char name[32];
		double start = 100 + i;

		profile_enter(profile, i, 236, "cpuhp_kick_ap_work", 18, start + 0.1);
		snprintf(name, sizeof(name), "callback_%u", i % 12);
		profile_enter(profile, i, 5, name, strlen(name), start + 0.2);
		profile_leave(profile, i, 5, start + 0.6);
		profile_leave(profile, i, 236, start + 0.7);
		profile_add_change(profile, i, false, start, start + 0.9);
	}
	profile_add_step(profile, "rcu.expedite", false, 99, 99.5);
	profile_add_step(profile, "cpu.offline", false, 100, 100 + nr_cpus);
	profile_add_step(profile, "rcu.expedite", true, 100 + nr_cpus, 100.5 + nr_cpus);
	return profile_finish(profile) ? NULL : profile;
}

static void test_picture(void)
{
	struct profile *profile = make_profile(16);

	if (!ok(profile, "a profile"))
		return;
	draw(profile, "cpuoff: CPUs 0-15 offline", "cpuoff --socket 1", "16 CPUs");
	is_int((long long)count(">cpu 3</text>"), 1, "a row for each CPU");
	is_int((long long)count("cpu 3 offline: 900.000 ms, of it 400.000 ms in callbacks"), 1,
	       "with its time");
	is_int((long long)count("<title>callback_7: "), 1, "a bar for each callback");
	is_int((long long)count("class=\"c0\""), 3, "the heaviest has a colour, and a key");
	is_int((long long)count("other callbacks"), 1, "the lighter ones are one colour");
	is_int((long long)count("waiting, stop_machine, RCU"), 1, "waiting is in the legend");
	is_int((long long)count("rcu.expedite, undone"), 1, "steps are there, undone ones too");
	is_int((long long)count("prefers-color-scheme:dark"), 1, "it is for light and dark");
	is_int((long long)count("http"), 1, "it refers to nothing but the name of its format");
	ok(!strstr(text, "nan") && !strstr(text, "inf") && !strstr(text, "=\"-"),
	   "all numbers are within the picture");
	profile_free(profile);
}

static void test_many(void)
{
	struct profile *profile = make_profile(300);

	if (!ok(profile, "a large profile"))
		return;
	draw(profile, "many", "", "300 CPUs");
	ok(count("class=\"w\"") >= 300, "a row for each CPU of many");
	profile_free(profile);
}

static void test_hostile(void)
{
	struct profile *profile = make_profile(2);
	const char *name = "<b>&\"' ]]>";

	if (!ok(profile, "another profile"))
		return;
	snprintf(profile->callbacks[0].name, sizeof(profile->callbacks[0].name), "%s", name);
	draw(profile, "</svg><script>alert(1)</script>", "a\001b \377 & <c> \"d\" \xc3\xa4",
	     "any text");
	is_int((long long)count("<script"), 0, "text stays text");
	profile_free(profile);
}

static void test_empty(void)
{
	struct profile *profile = NULL;

	if (profile_new(4, 0, &profile) || profile_finish(profile))
		return;
	draw(profile, "nothing", "", "nothing");
	is_int((long long)count("not traced"), 1, "that there was no trace is said");
	ok(!strstr(text, "nan") && !strstr(text, "inf"), "nothing has numbers, too");
	profile_free(profile);
}

static void test_full_disk(void)
{
	struct profile *profile = make_profile(2);
	FILE *file = fopen("/dev/full", "w");

	if (file)
		is_int(svg_write(file, profile, "", ""), -ENOSPC, "a full disk is told");
	if (file)
		fclose(file);
	profile_free(profile);
}

int main(void)
{
	temp_make();
	test_picture();
	test_many();
	test_hostile();
	test_empty();
	test_full_disk();
	temp_remove();
	return done_testing();
}
