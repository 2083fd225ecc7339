/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-run.c - tests of the executor, over step kinds without a machine */
#include "core/run.h"

#include <errno.h>
#include <linux/capability.h>

#include "core/plan.h"
#include "guard.h"
#include "scene.h"
#include "tap.h"

/* In the order of their application, which is not that of their ranks. */
enum {
	EARLY,
	WATCH,
	MASK,
	QUEUE,
	MOVE,
	CPUS,
	NR_KINDS,
};

static struct fake_kind kinds_here[NR_KINDS];

static void make_kinds(void)
{
	kinds_here[EARLY] = fake_kind("early", 100, LIFETIME_DURING, false);
	kinds_here[WATCH] = fake_kind("watch", 110, LIFETIME_DURING, false);
	kinds_here[MASK] = fake_kind("mask", 40, LIFETIME_UNTIL_RESTORE, false);
	kinds_here[QUEUE] = fake_kind("queue", 45, LIFETIME_UNTIL_RESTORE, false);
	kinds_here[MOVE] = fake_kind("move", 10, LIFETIME_DURING, false);
	kinds_here[CPUS] = fake_kind("cpus", UNDO_RANK_CPUS, LIFETIME_UNTIL_RESTORE, true);
}

static void add_items(struct step *step, const struct fake_kind *kind)
{
	for (unsigned int id = 3; id > 1; id--)
		if (!step_add_item(step, id, "1", "0", "%s %u", kind->kind.name, id))
			return;
}

/* CPUs 2-3 of 8, and two objects of each other kind. */
static void open_scene(struct scene *scene)
{
	fake_reset(8);
	make_kinds();
	scene_init(scene, "2-3", SCENE_ID);
	for (int i = 0; i < NR_KINDS; i++) {
		struct step *step = operation_add_step(&scene->operation, &kinds_here[i].kind);

		if (step)
			add_items(step, &kinds_here[i]);
	}
}

static unsigned int count(const char *text, const char *part)
{
	unsigned int nr = 0;

	for (; (text = strstr(text, part)); text++)
		nr++;
	return nr;
}

/* How many times the journal on the fake disk has a state, for steps and items together. */
static unsigned int count_saved(const char *state)
{
	const struct fake_journal *journal = fake_find_journal(SCENE_ID);
	char word[32];

	snprintf(word, sizeof(word), "\"state\": \"%s\"", state);
	return journal ? count(journal->text, word) : 0;
}

static void is_outcome(enum outcome outcome, enum outcome expected, const char *what)
{
	is_str(scene_outcome(outcome), scene_outcome(expected), "%s: the outcome", what);
}

#define ALL_APPLIED                                                                                \
	"+early:3 +early:2 ?early +watch:3 +watch:2 ?watch +mask:3 +mask:2 ?mask "                 \
	"+queue:3 +queue:2 ?queue +move:3 +move:2 ?move +cpus:3 +cpus:2 ?cpus"
#define DURING_UNDONE " -move:3 -move:2 -early:3 -early:2 -watch:3 -watch:2"

static void test_success(void)
{
	struct scene scene;

	open_scene(&scene);
	is_outcome(scene_take(&scene), OUTCOME_DONE, "success");
	is_str(fake.log, ALL_APPLIED DURING_UNDONE,
	       "steps are applied in their order, and those of the duration undone by rank");
	is_str(scene_changed(&scene), "2-3", "the CPUs that went");
	is_int(fake_nr_journals(), 1, "the journal stays");
	is_int(count_saved("applied"), 9, "three steps of two items are in force");
	is_int(count_saved("undone"), 9, "three are undone");
	ok(!fake.was_unsaved, "nothing was done before it was in the journal");
	ok(!scene.run.was_interrupted && !scene.run.failed_step && !scene.run.journal_error,
	   "nothing else is reported");
	scene_close(&scene);
}

/* A step may have another place in the walk back than its kind has. */
static void test_own_rank(void)
{
	struct scene scene;

	open_scene(&scene);
	scene.operation.steps[QUEUE].undo_rank = kinds_here[MASK].kind.undo_rank - 1;
	kinds_here[CPUS].errors[FAKE_APPLY] = EIO;
	kinds_here[CPUS].failing_id = 3;
	is_outcome(scene_take(&scene), OUTCOME_ROLLED_BACK, "a rank of its own");
	ok(strstr(fake.log, "-move:3 -move:2 -queue:3 -queue:2 -mask:3 -mask:2"),
	   "it is undone at the step's place: %s", fake.log);
	scene_close(&scene);
}

/* The log of a run that applies all steps before @failing, and of it the first item only. */
static void expect_failure(char *log, size_t size, int failing, bool is_verify)
{
	static const int ranks[] = { CPUS, MOVE, MASK, QUEUE, EARLY, WATCH };
	size_t n = 0;

	log[0] = '\0';
	for (int i = 0; i <= failing; i++) {
		const char *name = kinds_here[i].kind.name;

		n += (size_t)snprintf(log + n, size - n, "%s+%s:3", n ? " " : "", name);
		if (i < failing || is_verify)
			n += (size_t)snprintf(log + n, size - n, " +%s:2 ?%s", name, name);
	}
	for (size_t i = 0; i < ARRAY_SIZE(ranks); i++) {
		const char *name = kinds_here[ranks[i]].kind.name;

		if (ranks[i] > failing)
			continue;
		n += (size_t)snprintf(log + n, size - n, " -%s:3", name);
		if (ranks[i] < failing || is_verify)
			n += (size_t)snprintf(log + n, size - n, " -%s:2", name);
	}
}

/* Whatever fails, all that was applied is undone in the order of the ranks. */
static void test_failure(int failing, bool is_verify)
{
	const char *part = is_verify ? "verify" : "apply";
	struct scene scene;
	char log[1024];

	open_scene(&scene);
	kinds_here[failing].errors[is_verify ? FAKE_VERIFY : FAKE_APPLY] = EIO;
	kinds_here[failing].failing_id = 2;
	expect_failure(log, sizeof(log), failing, is_verify);
	is_outcome(scene_take(&scene), OUTCOME_ROLLED_BACK, part);
	is_str(fake.log, log, "%s fails in %s: all is undone by rank", part,
	       kinds_here[failing].kind.name);
	is_int(fake_nr_journals(), 0, "no journal is left");
	is_str(fake_online(), "0-7", "the CPUs are online");
	is_str(scene_changed(&scene), "", "none is reported as gone");
	ok(scene.run.failed_step == &scene.operation.steps[failing], "the step is named");
	ok(!operation_is_in_force(&scene.operation), "nothing is in force");
	scene_close(&scene);
}

/* One kind cannot be undone in a rollback: the rest is, and the journal keeps that one. */
static void test_rollback_failure(int failing)
{
	const char *name = kinds_here[failing].kind.name;
	bool waits = failing == CPUS;
	struct scene scene;

	open_scene(&scene);
	kinds_here[CPUS].errors[FAKE_VERIFY] = EPROTO;
	kinds_here[failing].errors[FAKE_UNDO] = EBUSY;
	kinds_here[failing].failing_id = 3;
	is_outcome(scene_take(&scene), OUTCOME_FAILED, name);
	is_int(fake_nr_journals(), 1, "%s cannot be undone: the journal stays", name);
	/* what lasts until the CPUs are back has to wait for them */
	is_int(count_saved("applied"), waits ? 8 : 2, "%s: what is in force", name);
	for (int i = 0; i < NR_KINDS; i++) {
		bool is_left = i == failing || (waits && (i == MASK || i == QUEUE));

		ok(step_is_in_force(&scene.operation.steps[i]) == is_left,
		   "%s cannot be undone: %s is %s", name, kinds_here[i].kind.name,
		   is_left ? "in force" : "undone");
	}
	is_str(fake_online(), waits ? "0-2,4-7" : "0-7", "%s: the CPUs", name);
	scene_close(&scene);
}

/* A signal while a step is applied ends the run after that step, also with the last. */
static void test_signal(int at)
{
	struct scene scene;
	char log[1024];

	open_scene(&scene);
	kinds_here[at].nr_signals = 1;
	expect_failure(log, sizeof(log), at, true);
	is_outcome(scene_take(&scene), OUTCOME_ROLLED_BACK, kinds_here[at].kind.name);
	ok(scene.run.was_interrupted, "the signal is reported");
	is_str(fake.log, log, "a signal in %s: all is put back", kinds_here[at].kind.name);
	is_int(fake_nr_journals(), 0, "no journal is left");
	scene_close(&scene);
}

/* Two signals stop at once: nothing is undone any more, and the journal has it all. */
static void test_two_signals(int at)
{
	struct scene scene;

	open_scene(&scene);
	kinds_here[at].nr_signals = 2;
	is_outcome(scene_take(&scene), OUTCOME_FAILED, "two signals");
	ok(!strchr(fake.log, '-'), "two signals in %s: nothing is undone",
	   kinds_here[at].kind.name);
	is_int(fake_nr_journals(), 1, "the journal stays");
	is_int(count_saved("applied"), 3 * (at + 1), "it has all that is in force");
	is_int(count_saved("planned"), 3 * (NR_KINDS - at - 1), "and nothing more");
	scene_close(&scene);
}

/* What should last for the run only and could not be undone is not "done". */
static void test_leftover(void)
{
	struct scene scene;

	open_scene(&scene);
	kinds_here[EARLY].errors[FAKE_UNDO] = EIO;
	kinds_here[EARLY].failing_id = 3;
	is_outcome(scene_take(&scene), OUTCOME_FAILED, "a step of the duration stays in force");
	is_int(count_saved("applied"), 9 + 2, "the journal has it");
	scene_close(&scene);
}

/* The way back: what lasts until the restore is undone, each in its place, and then the journal
 * goes. */
static void test_return(void)
{
	enum outcome outcome;
	struct scene scene;

	open_scene(&scene);
	outcome = scene_take(&scene);
	is_outcome(outcome, OUTCOME_DONE, "before the return");
	fake.log[0] = '\0';
	scene.run.operation = &scene.operation;
	is_outcome(scene_return(&scene), OUTCOME_DONE, "the return");
	is_str(fake.log, "-cpus:3 -cpus:2 -mask:3 -mask:2 -queue:3 -queue:2",
	       "CPUs first, then what waited for them");
	is_int(fake_nr_journals(), 0, "the journal is gone");
	scene_close(&scene);
}

static void plan_again(struct scene *scene, int kind)
{
	struct step *step = operation_add_step(&scene->operation, &kinds_here[kind].kind);

	if (step)
		add_items(step, &kinds_here[kind]);
}

static void test_return_with_help(void)
{
	struct scene scene;

	open_scene(&scene);
	is_outcome(scene_take(&scene), OUTCOME_DONE, "before the return with help");
	fake.log[0] = '\0';
	plan_again(&scene, EARLY);
	plan_again(&scene, MOVE);
	plan_again(&scene, MASK); /* not for the duration: must not be applied */
	kinds_here[MOVE].errors[FAKE_APPLY] = EIO;
	kinds_here[MOVE].failing_id = 2;
	is_outcome(scene_return(&scene), OUTCOME_DONE, "a return without all of its help");
	is_str(fake.log,
	       "+early:3 +early:2 ?early +move:3 -cpus:3 -cpus:2 -move:3 -mask:3 -mask:2 "
	       "-queue:3 -queue:2 -early:3 -early:2",
	       "help is planned afresh, and what of it fails is no obstacle");
	is_int(fake_nr_journals(), 0, "the journal is gone");
	scene_close(&scene);
}

static void test_return_failure(void)
{
	struct scene scene;

	open_scene(&scene);
	is_outcome(scene_take(&scene), OUTCOME_DONE, "before the return that fails");
	fake.log[0] = '\0';
	kinds_here[CPUS].errors[FAKE_UNDO] = EIO;
	kinds_here[CPUS].failing_id = 3;
	is_outcome(scene_return(&scene), OUTCOME_FAILED, "a CPU that stays away");
	is_str(fake.log, "-cpus:2", "the others return, and what waits for all of them waits");
	is_int(fake_nr_journals(), 1, "the journal stays");
	is_int(count_saved("applied"), 8, "with the rest");
	fake.log[0] = '\0';
	kinds_here[CPUS].errors[FAKE_UNDO] = 0;
	is_outcome(scene_return(&scene), OUTCOME_DONE, "the second return");
	is_str(fake.log, "-cpus:3 -mask:3 -mask:2 -queue:3 -queue:2", "only the rest is undone");
	is_int(fake_nr_journals(), 0, "the journal is gone");
	scene_close(&scene);
}

/* A save that fails is a reason to put back, and putting back needs no save. */
static void test_unwritable(unsigned int save, unsigned int last, int error)
{
	struct scene scene;

	open_scene(&scene);
	fake.save_fails_first = save;
	fake.save_fails_last = last;
	fake.save_error = error;
	is_outcome(scene_take(&scene), OUTCOME_ROLLED_BACK, "an unwritable journal");
	is_int(scene.run.journal_error, error, "save %u fails: reported", save);
	ok(!operation_is_in_force(&scene.operation), "save %u fails: nothing is in force", save);
	is_str(fake_online(), "0-7", "save %u fails: all CPUs are online", save);
	is_int(count(fake.log, "+"), count(fake.log, "-"), "save %u fails: all is undone", save);
	is_int(count(fake.log, "+"), save / 2 * 2, "save %u fails: no further step was applied",
	       save);
	is_int(fake_nr_journals(), 0, "save %u fails: no journal is left", save);
	scene_close(&scene);
}

/* A read-only file system does not let a journal go either: what it says must not be passed over.
 */
static void test_read_only(unsigned int save)
{
	bool was_saved = save > 1;
	struct scene scene;

	open_scene(&scene);
	fake.save_fails_first = save;
	fake.save_fails_last = 1000;
	fake.save_error = fake.remove_error = EROFS;
	is_outcome(scene_take(&scene), was_saved ? OUTCOME_FAILED : OUTCOME_ROLLED_BACK,
		   was_saved ? "a journal that cannot be removed" : "a journal that never was");
	is_int(scene.run.journal_error, EROFS, "read-only from save %u on: reported", save);
	is_str(fake_online(), "0-7", "read-only from save %u on: all CPUs are online", save);
	ok(!operation_is_in_force(&scene.operation),
	   "read-only from save %u on: nothing is in force", save);
	scene_close(&scene);
}

static void test_partial(enum on_error on_error)
{
	struct scene scene;

	open_scene(&scene);
	scene.request.on_error = on_error;
	kinds_here[CPUS].errors[FAKE_APPLY] = EBUSY;
	kinds_here[CPUS].failing_id = 2;
	is_outcome(scene_take(&scene), OUTCOME_PARTIAL, "one CPU of two");
	is_str(scene_changed(&scene), "3", "the one that went");
	ok(strstr(fake.log, "+cpus:3" DURING_UNDONE), "what helped is undone, the rest stays");
	is_int(count_saved("applied"), 3 + 3 + 2, "the journal has what is in force");
	is_int(count_saved("failed"), 1, "and what failed");
	scene_close(&scene);
}

static void test_partial_of_none(enum on_error on_error)
{
	struct scene scene;

	open_scene(&scene);
	scene.request.on_error = on_error;
	kinds_here[CPUS].errors[FAKE_APPLY] = EBUSY;
	kinds_here[CPUS].failing_id = 3;
	is_outcome(scene_take(&scene), OUTCOME_ROLLED_BACK, "no CPU of two");
	is_int(fake_nr_journals(), 0, "no CPU of two: no journal");
	ok(!operation_is_in_force(&scene.operation), "no CPU of two: nothing is in force");
	scene_close(&scene);
}

static void test_stale(unsigned int cpu)
{
	struct scene scene;

	open_scene(&scene);
	fake.online[cpu] = false;
	is_outcome(scene_take(&scene), OUTCOME_STALE, "another set than the one planned for");
	is_str(fake.log, "", "cpu %u went meanwhile: nothing is written", cpu);
	is_int(fake.nr_saves, 0, "nor any journal");
	scene_close(&scene);
}

static void test_stale_new(void)
{
	struct scene scene;

	fake_reset(8);
	make_kinds();
	fake.online[6] = false;
	scene_init(&scene, "2-3", SCENE_ID);
	fake.online[6] = true;
	is_outcome(scene_take(&scene), OUTCOME_STALE, "a CPU came meanwhile");
	scene_close(&scene);
}

static void test_stale_unreadable(void)
{
	struct scene scene;

	open_scene(&scene);
	fake.mask_error = EIO;
	is_outcome(scene_take(&scene), OUTCOME_STALE, "an online mask that cannot be read");
	is_str(fake.log, "", "nothing is written then");
	scene_close(&scene);
}

static void test_all_failures(void)
{
	for (int i = 0; i < NR_KINDS; i++) {
		test_failure(i, false);
		test_failure(i, true);
		test_rollback_failure(i);
		test_signal(i);
		test_two_signals(i);
	}
	for (unsigned int save = 1; save <= 2 * NR_KINDS; save++) {
		test_unwritable(save, save, ENOSPC);
		test_unwritable(save, 1000, ENOSPC);
		test_read_only(save);
	}
}

/* ---- rights ------------------------------------------------------------------------------ */

#define BIT(capability) (1ULL << (capability))

static bool is_third(const struct step *step, const struct step_env *env, const struct item *item)
{
	(void)step;
	(void)env;
	return item->id == 3;
}

/* What is found of a plan by a process that lacks these. */
static void check_rights(struct scene *scene, uint64_t lacking, const char *expected,
			 const char *what)
{
	const struct finding *finding;

	findings_free(&scene->findings);
	is_int(plan_check_rights(&scene->env, &scene->operation, lacking), 0, "%s", what);
	if (!is_int((long long)scene->findings.nr, expected != NULL, "%s: findings", what) ||
	    !expected)
		return;
	finding = &scene->findings.list[0];
	is_str(finding->rule, "capability-missing", "%s: the rule", what);
	is_str(finding->message, expected, "%s: the message", what);
	ok(finding->is_permission, "%s: a matter of rights", what);
	ok(finding->severity ==
		   (scene->env.is_return || scene->request.force ? SEVERITY_WARN : SEVERITY_REFUSE),
	   "%s: how severe it is", what);
	ok(finding->is_accepted == (scene->request.force && !scene->env.is_return),
	   "%s: whether it was accepted", what);
}

#define WITHOUT " is missing, without which this cannot be changed: "

static void test_rights(void)
{
	struct scene scene;

	open_scene(&scene);
	check_rights(&scene, UINT64_MAX, NULL, "kinds that ask for nothing");
	kinds_here[MASK].kind.capability = CAP_SYS_NICE;
	kinds_here[QUEUE].kind.capability = CAP_NET_ADMIN;
	kinds_here[QUEUE].kind.is_barred = is_third;
	check_rights(&scene, 0, NULL, "nothing is lacking");
	check_rights(&scene, ~(BIT(CAP_SYS_NICE) | BIT(CAP_NET_ADMIN)), NULL,
		     "what is lacking is not asked for");
	check_rights(&scene, BIT(CAP_SYS_NICE), "CAP_SYS_NICE" WITHOUT "mask 3 and 1 more",
		     "a kind that asks for it");
	check_rights(&scene, BIT(CAP_NET_ADMIN), "CAP_NET_ADMIN" WITHOUT "queue 3",
		     "one item of a kind");
	kinds_here[EARLY].kind.capability = CAP_SYS_NICE;
	check_rights(&scene, BIT(CAP_SYS_NICE), "CAP_SYS_NICE" WITHOUT "early 3 and 3 more",
		     "two kinds");
	kinds_here[EARLY].kind.capability = 0;
	scene.request.force = true;
	check_rights(&scene, BIT(CAP_SYS_NICE), "CAP_SYS_NICE" WITHOUT "mask 3 and 1 more",
		     "forced");
	scene.request.force = false;
	is_int(scene_take(&scene), OUTCOME_DONE, "the CPUs go");
	scene.env.is_return = true;
	check_rights(&scene, BIT(CAP_SYS_NICE), "CAP_SYS_NICE" WITHOUT "mask 3 and 1 more",
		     "on the way back");
	scene.operation.steps[MASK].items[0].state = STATE_FAILED;
	check_rights(&scene, BIT(CAP_SYS_NICE), "CAP_SYS_NICE" WITHOUT "mask 2",
		     "what was never changed");
	scene.operation.steps[MASK].items[1].state = STATE_UNDONE;
	check_rights(&scene, BIT(CAP_SYS_NICE), NULL, "what is back already");
	scene_close(&scene);
}

int main(void)
{
	test_success();
	test_own_rank();
	test_all_failures();
	test_leftover();
	test_return();
	test_return_with_help();
	test_return_failure();
	test_partial(ON_ERROR_STOP);
	test_partial(ON_ERROR_CONTINUE);
	test_partial_of_none(ON_ERROR_STOP);
	test_stale(2);
	test_stale(7);
	test_stale_new();
	test_stale_unreadable();
	test_rights();
	if (guard_can_see())
		is_int((long long)scene_nr_allocated, 0,
		       "nothing was allocated after a first write");
	return done_testing();
}
