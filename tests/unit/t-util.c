/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-util.c - tests of what all rooms use: texts, numbers, lists, findings, steps */
#include <errno.h>
#include <limits.h>

#include "base/step.h"
#include "core/plan.h"
#include "guard.h"
#include "tap.h"

static const struct number {
	const char *text;
	long min, max;
	int r;
	long value;
} numbers[] = {
	{ "0", 0, 10, 0, 0 },
	{ "10", 0, 10, 0, 10 },
	{ "-3", -5, 10, 0, -3 },
	{ "007", 0, 10, 0, 7 },
#if LONG_MAX == INT_MAX
	{ "2147483647", 0, LONG_MAX, 0, LONG_MAX },
	{ "-2147483648", LONG_MIN, 0, 0, LONG_MIN },
#else
	{ "9223372036854775807", 0, LONG_MAX, 0, LONG_MAX },
	{ "-9223372036854775808", LONG_MIN, 0, 0, LONG_MIN },
#endif
	{ "11", 0, 10, -ERANGE, 0 },
	{ "-1", 0, 10, -ERANGE, 0 },
	{ "9223372036854775808", 0, LONG_MAX, -ERANGE, 0 },
	{ "99999999999999999999999", 0, LONG_MAX, -ERANGE, 0 },
	{ "-99999999999999999999999", LONG_MIN, 0, -ERANGE, 0 },
	{ "", 0, 10, -EINVAL, 0 },
	{ " 1", 0, 10, -EINVAL, 0 },
	{ "1 ", 0, 10, -EINVAL, 0 },
	{ "1\n", 0, 10, -EINVAL, 0 },
	{ "+1", 0, 10, -EINVAL, 0 },
	{ "-", -5, 10, -EINVAL, 0 },
	{ "- 1", -5, 10, -EINVAL, 0 },
	{ "--1", -5, 10, -EINVAL, 0 },
	{ "0x5", 0, 10, -EINVAL, 0 },
	{ "5x", 0, 10, -EINVAL, 0 },
	{ "1.0", 0, 10, -EINVAL, 0 },
	{ "1,2", 0, 10, -EINVAL, 0 },
	{ "99999999999999999999999x", 0, 10, -EINVAL, 0 },
};

static void test_numbers(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		const struct number *n = &numbers[i];
		long value = 4711;

		is_int(util_parse_long(n->text, n->min, n->max, &value), n->r, "number \"%s\"",
		       n->text);
		is_int(value, n->r ? 4711 : n->value, "number \"%s\": %s", n->text,
		       n->r ? "the result is untouched" : "its value");
	}
}

static void test_texts(void)
{
	_cleanup_free_ char *text = util_asprintf("%s-%d", "a", 5), *copy = util_strdup("x"),
			    *none = util_strdup(NULL);
	int fd = dup(0), stolen;
	char *pointer = copy, *taken;

	is_str(text, "a-5", "a text is formatted");
	is_str(copy, "x", "a text is copied");
	is_str(none, NULL, "no text is no copy");
	taken = steal_pointer(&pointer);
	ok(taken == copy && !pointer, "a pointer is given away");
	stolen = fd;
	is_int(steal_fd(&fd), stolen, "a descriptor is given away");
	is_int(fd, -1, "and is nobody's");
	close(stolen);
}

static void test_printable(void)
{
	char plain[] = "db worker~ 7", odd[] = "a\033[1m\x7f\xc3\xa4\n", nothing[] = "";

	util_make_printable(plain);
	is_str(plain, "db worker~ 7", "plain characters stay");
	util_make_printable(odd);
	is_str(odd, "a?[1m????", "others do not reach a terminal");
	util_make_printable(nothing);
	is_str(nothing, "", "nothing is nothing");
}

static void test_visible(void)
{
	static const struct {
		const char *text, *kept, *shown, *what;
	} cases[] = {
		{ "db worker~ 7", "", "db worker~ 7", "plain characters" },
		{ "K\303\244se \342\202\254 \360\237\220\247", "",
		  "K\303\244se \342\202\254 \360\237\220\247", "characters of others" },
		{ "a\033]0;x\a\177\r\n\tb", "", "a?]0;x?????b", "controls" },
		{ "a\nb\tc", "\n", "a\nb?c", "those that are kept" },
		{ "\302\2331mx\302\205\302\240", "", "??1mx??\302\240", "C1 in UTF-8" },
		{ "\2331m\377\303", "", "?1m??", "what is no UTF-8" },
		{ "a\342\200\256b\342\201\246c\342\200\250d\342\200\224", "",
		  "a???b???c???d\342\200\224", "overrides of direction" },
		{ "", "", "", "nothing" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *text = strdup(cases[i].text);

		util_make_visible(text, cases[i].kept);
		is_str(text, cases[i].shown, "what is to be seen of %s", cases[i].what);
	}
}

static void test_grow(void)
{
	unsigned int *list = NULL, *grown, nr_moves = 0;
	bool is_whole = true;

	for (unsigned int nr = 0; nr < 1000; nr++) {
		grown = util_grow(list, nr, sizeof(*list));
		if (!grown)
			break;
		nr_moves += grown != list;
		list = grown;
		list[nr] = nr;
	}
	for (unsigned int i = 0; list && i < 1000; i++)
		is_whole &= list[i] == i;
	ok(list && is_whole, "a list grows element by element");
	ok(nr_moves <= 11, "and moves now and then only");
	free(list);
}

static void test_errnos(void)
{
	is_str(util_errno_name(EBUSY), "EBUSY", "an errno has a name");
	is_str(util_errno_name(EAGAIN), "EAGAIN", "another one");
	is_str(util_errno_name(999), "errno 999", "a number that is none has not");
}

static void test_time(void)
{
	double start = util_now(), after, shortest = 1;

	util_sleep(0.02);
	after = util_now();
	ok(after - start >= 0.02, "sleeping takes the time asked for");
	/* a busy machine may take it off the CPU just then, not every time */
	for (int i = 0; i < 100; i++) {
		double now = util_now();

		util_sleep(0);
		after = util_now() - now;
		shortest = after < shortest ? after : shortest;
	}
	ok(shortest < 0.02, "none is none");
}

/* ---- findings ---------------------------------------------------------------------------- */

static void add(struct findings *findings, enum severity severity, const char *name)
{
	ok(findings_add(findings, name, severity, NULL, NULL, "%s", name), "a finding %s", name);
}

static void test_findings(void)
{
	_cleanup_cpus_ hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	struct findings findings = { 0 };
	char order[64] = "";
	struct finding *finding;

	ok(!findings_has(&findings, SEVERITY_NOTE), "no findings");
	findings_sort(&findings);
	hwloc_bitmap_set_range(cpus, 3, 5);
	finding = findings_add(&findings, "rule", SEVERITY_WARN, cpus, "Do this.", "%d of %s", 5,
			       "them");
	is_str(finding->cpus, "3-5", "the CPUs of a finding");
	is_str(finding->message, "5 of them", "its message");
	is_str(finding->remedy, "Do this.", "its remedy");
	ok(!finding->is_invalid && !finding->is_permission && !finding->is_accepted, "its flags");
	add(&findings, SEVERITY_NOTE, "n1");
	add(&findings, SEVERITY_REFUSE, "r1");
	add(&findings, SEVERITY_NOTE, "n2");
	add(&findings, SEVERITY_WARN, "w2");
	add(&findings, SEVERITY_REFUSE, "r2");
	is_str(findings.list[1].cpus, "", "no CPUs are an empty list");
	is_str(findings.list[1].remedy, "", "no remedy is an empty text");
	findings_sort(&findings);
	for (size_t i = 0; i < findings.nr; i++) {
		strcat(order, findings.list[i].rule);
		strcat(order, " ");
	}
	is_str(order, "r1 r2 rule w2 n1 n2 ", "the most severe first, else as they came");
	ok(findings_has(&findings, SEVERITY_REFUSE) && findings_has(&findings, SEVERITY_WARN) &&
		   findings_has(&findings, SEVERITY_NOTE),
	   "each severity is there");
	findings_free(&findings);
	is_int((long long)findings.nr, 0, "none is left");
	findings_free(&findings);
	is_str(severity_format(SEVERITY_NOTE), "note", "a note");
	is_str(severity_format(SEVERITY_WARN), "warn", "a warning");
	is_str(severity_format(SEVERITY_REFUSE), "refuse", "a refusal");
}

static void test_finding_without_memory(void)
{
	bool was_reached = guard_can_fail();

	for (size_t nr = 1; was_reached && nr < 100; nr++) {
		struct findings findings = { 0 };
		struct finding *finding;

		guard_fail_at(nr);
		finding = findings_add(&findings, "rule", SEVERITY_NOTE, NULL, "remedy", "%d", 5);
		was_reached = guard_end() >= nr;
		is_int((long long)findings.nr, finding != NULL,
		       "allocation %zu: all of a finding, or none", nr);
		findings_free(&findings);
	}
}

/* ---- steps ------------------------------------------------------------------------------- */

static void test_states(void)
{
	static const char *const names[] = { "planned", "applying", "applied", "undone", "failed" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		enum step_state state = STATE_FAILED;

		is_str(state_format((enum step_state)i), names[i], "state %zu", i);
		is_int(state_parse(names[i], &state), 0, "%s is a state", names[i]);
		is_int(state, (long long)i, "%s is read", names[i]);
	}
	for (const char *const *text =
		     (const char *const[]){ "", "Planned", "applied ", "apply", NULL };
	     *text; text++) {
		enum step_state state = STATE_UNDONE;

		is_int(state_parse(*text, &state), -EINVAL, "\"%s\" is no state", *text);
		is_int(state, STATE_UNDONE, "\"%s\": the result is untouched", *text);
	}
	is_str(lifetime_format(LIFETIME_DURING), "during", "a lifetime");
	is_str(lifetime_format(LIFETIME_UNTIL_RESTORE), "until-restore", "the other one");
}

/* Rows: the step's state; columns: the item's. An item nobody knows about is in force while it is
 * applied. */
static void test_in_force(void)
{
	static const bool expected[5][5] = {
		/* item: planned applying applied undone failed */
		[STATE_PLANNED] = { false, false, false, false, false },
		[STATE_APPLYING] = { true, true, true, false, false },
		[STATE_APPLIED] = { false, true, true, false, false },
		[STATE_UNDONE] = { false, false, false, false, false },
		[STATE_FAILED] = { false, true, true, false, false },
	};

	for (int s = 0; s < 5; s++)
		for (int i = 0; i < 5; i++) {
			struct item item = { .state = (enum step_state)i };
			struct step step = { .state = (enum step_state)s,
					     .items = &item,
					     .nr_items = 1 };

			ok(item_is_in_force(&step, &item) == expected[s][i] &&
				   step_is_in_force(&step) == expected[s][i],
			   "an item %s of a step %s is %sin force", state_format(item.state),
			   state_format(step.state), expected[s][i] ? "" : "not ");
		}
	ok(!step_is_in_force(&(struct step){ .state = STATE_APPLIED }),
	   "a step of nothing is not in force");
}

static const struct step_kind cpu_kind = { .name = "cpus",
					   .is_per_cpu = true,
					   .lifetime = LIFETIME_UNTIL_RESTORE };
static const struct step_kind other_kind = { .name = "other" };

static void test_operation(void)
{
	struct operation operation = { 0 };
	struct step *step = operation_add_step(&operation, &cpu_kind);
	_cleanup_free_ char *claim = NULL;

	is_int(step->lifetime, LIFETIME_UNTIL_RESTORE, "a step has the lifetime of its kind");
	is_int(step->state, STATE_PLANNED, "and is planned");
	for (unsigned int cpu = 0; cpu < 100; cpu++)
		if (!step_add_item(step, cpu * 50, "1", "0", "cpu %u", cpu * 50))
			break;
	is_int((long long)step->nr_items, 100, "items are added");
	is_str(step->items[99].object, "cpu 4950", "the object of the last one");
	is_int((long long)step->items[99].id, 4950, "its id");
	is_str(step->items[99].before, "1", "its value before");
	is_str(step->items[99].after, "0", "and after");
	ok(!operation_is_in_force(&operation), "a plan is not in force");
	is_int(operation_update_claim(&operation), 0, "its claim");
	ok(cpus_is_empty(operation.claim), "is empty");
	step->state = STATE_APPLIED;
	step->items[1].state = step->items[99].state = STATE_APPLIED;
	step = operation_add_step(&operation, &other_kind);
	step->state = STATE_APPLIED;
	step_add_item(step, 7, "", "", "other")->state = STATE_APPLIED;
	is_int(operation_update_claim(&operation), 0, "the claim of one in force");
	claim = cpus_format(operation.claim);
	is_str(claim, "50,4950", "is the CPUs taken, and not other ids");
	ok(operation_is_in_force(&operation), "it is in force");
	operation_free(&operation);
	is_int((long long)operation.nr_steps, 0, "nothing is left of it");
}

static void test_join(void)
{
	_cleanup_free_ char *list = util_join(strdup(""), ", ", "one");

	is_str(list, "one", "the first one of a list");
	list = util_join(list, ", ", "two");
	is_str(list, "one, two", "the second one");
	list = util_join(list, ", ", "");
	is_str(list, "one, two, ", "an empty one");
	ok(!util_join(NULL, ", ", "three"), "a list that there was no memory for");
}

static struct item *add_item(struct step *step, unsigned long long id, unsigned long long stamp,
			     const char *before)
{
	struct item *item = step_add_item(step, id, before, "x", "object of %s", before);

	item->stamp = stamp;
	item->state = STATE_APPLIED;
	return item;
}

/* Ids in and out of order, twice the same one with another stamp, and two operations */
static void test_find(void)
{
	struct operation a = { 0 }, b = { 0 };
	const struct operation *const others[] = { &a, &b };
	const struct step_env env = { .others = others, .nr_others = 2 };
	struct step *step = operation_add_step(&a, &cpu_kind);

	step->state = STATE_APPLIED;
	for (unsigned int i = 0; i < 3; i++)
		add_item(step, 10 * i, 1, i ? i == 1 ? "ten" : "twenty" : "zero");
	add_item(step, 20, 2, "twenty again");
	add_item(step, 30, 1, "thirty")->state = STATE_UNDONE;
	ok(!step->is_unsorted, "ids that ascend are sorted");
	is_str(step_find_item(step, 20)->before, "twenty", "the first one of an id");
	ok(!step_find_item(step, 15) && !step_find_item(step, 31), "there is none of an id");
	is_str(env_before(&env, &cpu_kind, 20, 2, NULL), "twenty again", "by id and stamp");
	ok(!env_before(&env, &cpu_kind, 20, 3, NULL), "none of this stamp");
	ok(!env_before(&env, &cpu_kind, 30, 1, NULL), "one that is not in force");
	ok(!env_before(&env, &cpu_kind, 0, 1, "object of ten"), "none of this object");
	is_str(env_before(&env, &cpu_kind, 0, 1, "object of zero"), "zero", "by the object");

	step = operation_add_step(&b, &cpu_kind);
	step->state = STATE_APPLIED;
	add_item(step, 20, 1, "later");
	add_item(step, 5, 1, "five");
	add_item(step, 10, 1, "later ten");
	ok(step->is_unsorted, "ids that do not ascend are not");
	is_str(env_find_other(&env, &cpu_kind, 10, 1, NULL)->before, "later ten",
	       "the newest operation's, of items that are not sorted");
	is_str(env_before(&env, &cpu_kind, 10, 1, NULL), "ten", "the oldest one's");
	is_str(env_before(&env, &cpu_kind, 5, 1, NULL), "five", "what one alone has");
	step_sort_items(step);
	ok(!step->is_unsorted && step->items[0].id == 5 && step->items[2].id == 20, "sorted");
	is_str(step_find_item(step, 10)->before, "later ten", "found in what was sorted");
	operation_free(&a);
	operation_free(&b);
}

static void test_claims(void)
{
	struct operation a = { .claim = hwloc_bitmap_alloc() },
			 b = { .claim = hwloc_bitmap_alloc() };
	const struct operation *const others[] = { &a, &b };
	struct step_env env = { .others = others, .nr_others = 2 };

	hwloc_bitmap_set(a.claim, 5);
	hwloc_bitmap_set(b.claim, 4000);
	ok(env_is_claimed(&env, 5) && env_is_claimed(&env, 4000),
	   "what any other operation claims");
	ok(!env_is_claimed(&env, 6), "what none claims");
	env.nr_others = 0;
	ok(!env_is_claimed(&env, 5), "without others nothing is claimed");
	operation_free(&a);
	operation_free(&b);
}

static void test_identify(void)
{
	struct operation first = { 0 };

	is_int(plan_identify(&first, "boot", "1.0", "cpuoff --smt", NULL, NULL), 0,
	       "an operation is named");
	is_int((long long)strlen(first.id), 15, "by its second");
	is_int((long long)strlen(first.started), 20, "its start is ISO 8601");
	is_str(first.boot_id, "boot", "its boot");
	is_str(first.version, "1.0", "its version");
	is_str(first.command, "cpuoff --smt", "its command");
	operation_free(&first);
}

static void test_selectors(void)
{
	static const char *const names[] = {
		"socket", "node", "die",    "core", "core-of", "l3-of",
		"cpu",	  "smt",  "apicid", "mce",  "near",    "except"
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		is_str(selector_kind_format((enum selector_kind)i), names[i], "option %s",
		       names[i]);
}

int main(void)
{
	test_numbers();
	test_texts();
	test_printable();
	test_visible();
	test_grow();
	test_errnos();
	test_time();
	test_findings();
	test_finding_without_memory();
	test_states();
	test_in_force();
	test_operation();
	test_join();
	test_find();
	test_claims();
	test_identify();
	test_selectors();
	return done_testing();
}
