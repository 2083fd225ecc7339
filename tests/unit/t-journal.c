/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-journal.c - tests of the journal, in a real directory: what is written is read, or nothing is
 * used */
#include "core/journal.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/plan.h"
#include "guard.h"
#include "host/hotplug.h"
#include "host/rcu.h"
#include "host/trace.h"
#include "tap.h"
#include "temp.h"

#define ID	  "20250102-030405"
#define FILE_NAME "run/cpuoff/" ID ".json"
#define BOOT_ID	  "5f3b1a52-0000-4000-8000-000000000001"
#define NR_CPUS	  4

static struct state *state;

/* ---- operations -------------------------------------------------------------------------- */

static void add_place(struct operation *operation, unsigned int cpu)
{
	operation->places[operation->nr_places++] = (struct place){
		.cpu = cpu,
		.socket = 1,
		.die = CPU_ID_NONE,
		.core = (long)cpu / 2,
		.node = CPU_ID_NONE,
		.thread = cpu % 2,
	};
}

static bool add_one_item(struct operation *operation, const struct step_kind *kind,
			 const char *text)
{
	struct step *step = operation_add_step(operation, kind);
	struct item *item = step ? step_add_item(step, 0, text, text, "%s", text) : NULL;

	if (!item)
		return false;
	item->stamp = UINT64_MAX;
	return true;
}

/* Texts that come from outside are all @text. */
static struct operation make_operation(const char *text)
{
	struct operation operation = {
		.id = strdup(ID),
		.boot_id = strdup(BOOT_ID),
		.version = strdup("0.1.0"),
		.started = strdup("2025-01-02T03:04:05Z"),
		.command = strdup(text),
		.places = calloc(NR_CPUS, sizeof(struct place)),
	};
	struct step *step;

	if (!add_one_item(&operation, &rcu_kind, text) ||
	    !add_one_item(&operation, &trace_kind, text))
		return operation;
	operation.steps[1].undo_rank = 7;
	step = operation_add_step(&operation, &hotplug_kind);
	for (unsigned int cpu = 4; cpu < 4 + NR_CPUS; cpu++) {
		add_place(&operation, cpu);
		if (step && !step_add_item(step, cpu, "1", "0", "cpu %u", cpu))
			return operation;
	}
	return operation;
}

static int save(const struct operation *operation)
{
	struct journal *journal = NULL;
	int r = journal_new(state, operation, &journal);

	if (!r)
		r = journal_save(journal);
	journal_free(journal);
	return r;
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

static bool is_same_item(const struct item *a, const struct item *b)
{
	return is_same_text(a->object, b->object) && is_same_text(a->before, b->before) &&
	       is_same_text(a->after, b->after) && a->id == b->id && a->stamp == b->stamp &&
	       a->state == b->state;
}

static bool is_same_step(const struct step *a, const struct step *b)
{
	bool is_same = a->kind == b->kind && a->lifetime == b->lifetime &&
		       a->undo_rank == b->undo_rank && a->state == b->state &&
		       a->nr_items == b->nr_items;

	for (size_t i = 0; is_same && i < a->nr_items; i++)
		is_same = is_same_item(&a->items[i], &b->items[i]);
	return is_same;
}

static bool is_same_place(const struct place *a, const struct place *b)
{
	return a->cpu == b->cpu && a->socket == b->socket && a->die == b->die &&
	       a->core == b->core && a->node == b->node && a->thread == b->thread;
}

static bool is_same(const struct operation *a, const struct operation *b)
{
	bool same = is_same_text(a->id, b->id) && is_same_text(a->boot_id, b->boot_id) &&
		    is_same_text(a->version, b->version) && is_same_text(a->started, b->started) &&
		    is_same_text(a->command, b->command) && a->nr_steps == b->nr_steps &&
		    a->nr_places == b->nr_places;

	for (size_t i = 0; same && i < a->nr_steps; i++)
		same = is_same_step(&a->steps[i], &b->steps[i]);
	for (size_t i = 0; same && i < a->nr_places; i++)
		same = is_same_place(&a->places[i], &b->places[i]);
	return same;
}

/* ---- loading ----------------------------------------------------------------------------- */

struct loaded {
	struct journals journals;
	struct findings findings;
	int r;
};

static struct loaded load(void)
{
	struct loaded loaded = { 0 };

	loaded.r = journal_load_all(state, BOOT_ID, &loaded.findings, &loaded.journals);
	return loaded;
}

static void forget(struct loaded *loaded)
{
	journals_free(&loaded->journals);
	findings_free(&loaded->findings);
}

static bool loads_as(const struct operation *operation)
{
	struct loaded loaded = load();
	bool same = !loaded.r && loaded.journals.nr == 1 && !loaded.findings.nr &&
		    is_same(operation, &loaded.journals.list[0]);

	if (!same)
		diag("loaded %zu, %s", loaded.journals.nr,
		     loaded.findings.nr ? loaded.findings.list[0].message : "no finding");
	forget(&loaded);
	return same;
}

/* Left out as a whole, said so, and counted as there. */
static bool is_refused(const struct loaded *loaded)
{
	return !loaded->r && !loaded->journals.nr && loaded->journals.unusable.nr == 1 &&
	       journals_is_unusable(&loaded->journals, ID) && loaded->journals.nr_files == 1 &&
	       loaded->findings.nr == 1 &&
	       !strcmp(loaded->findings.list[0].rule, "journal-unusable") &&
	       loaded->findings.list[0].severity == SEVERITY_REFUSE &&
	       loaded->findings.list[0].remedy[0];
}

static void is_unusable(const char *what)
{
	struct loaded loaded = load();

	if (!ok(is_refused(&loaded), "%s: refused, and nothing of it is used", what))
		diag("loaded %zu, findings %zu", loaded.journals.nr, loaded.findings.nr);
	forget(&loaded);
}

/* The text of a journal in force, to be damaged; texts from outside are all @name. */
static char *make_text(const char *name)
{
	struct operation operation = make_operation(name);
	struct root *root = temp_root();
	char *text = NULL;

	operation.steps[0].state = STATE_UNDONE;
	operation.steps[0].items[0].state = STATE_UNDONE;
	operation.steps[2].state = STATE_APPLIED;
	for (size_t i = 0; i < NR_CPUS; i++)
		operation.steps[2].items[i].state = STATE_APPLIED;
	if (save(&operation) || root_read(root, &text, FILE_NAME))
		text = NULL;
	operation_free(&operation);
	root_close(root);
	return text;
}

/* ---- tests ------------------------------------------------------------------------------- */

static void test_round_trip(void)
{
	struct operation operation = make_operation("rcu_expedited");

	operation.steps[2].state = STATE_APPLYING;
	operation.steps[2].items[0].state = STATE_APPLIED;
	operation.steps[2].items[1].state = STATE_FAILED;
	operation.steps[2].items[3].state = STATE_UNDONE;
	is_int(save(&operation), 0, "a journal is saved");
	ok(loads_as(&operation), "and read as it was");
	is_int(temp_mode(FILE_NAME), 0644, "everybody may read it");
	operation_free(&operation);
}

static void test_claim(void)
{
	struct operation operation = make_operation("x");
	_cleanup_free_ char *text = NULL;
	struct loaded loaded;

	operation.steps[2].state = STATE_APPLYING;
	operation.steps[2].items[0].state = STATE_APPLIED;
	operation.steps[2].items[1].state = STATE_FAILED;
	operation.steps[2].items[3].state = STATE_UNDONE;
	is_int(save(&operation), 0, "an interrupted operation is saved");
	loaded = load();
	if (ok(loaded.journals.nr == 1, "and read"))
		text = cpus_format(loaded.journals.list[0].claim);
	is_str(text, "4,6", "it claims what may be in force");
	forget(&loaded);
	operation_free(&operation);
}

static size_t size_of_file(void)
{
	struct stat st;

	return stat(temp_path(FILE_NAME), &st) < 0 ? 0 : (size_t)st.st_size;
}

/* Each state of each step and item, one after another, in one and the same journal. */
static void test_states_in_place(void)
{
	struct operation operation = make_operation("{\"state\": \"");
	struct journal *journal = NULL;
	unsigned int nr = 0, nr_good = 0;
	size_t size = 0;

	is_int(journal_new(state, &operation, &journal), 0, "a journal to be saved often");
	for (int s = STATE_PLANNED; s <= STATE_FAILED; s++)
		for (size_t i = 0; journal && i < operation.nr_steps; i++)
			for (size_t j = 0; j < operation.steps[i].nr_items; j++) {
				operation.steps[i].state = (enum step_state)((s + 1) % 5);
				operation.steps[i].items[j].state = (enum step_state)s;
				nr_good += !journal_save(journal) && loads_as(&operation) &&
					   (!size || size == size_of_file());
				size = size_of_file();
				nr++;
			}
	is_int(nr_good, nr, "each state is saved in its place, and the length stays");
	journal_free(journal);
	operation_free(&operation);
}

static void test_texts(void)
{
	static char all_bytes[256];
	static const char *const texts[] = {
		"",
		" ",
		"\"",
		"\\",
		"\\\"",
		"a\\",
		"\"state\": \"",
		"\"state\": \"applied\"",
		"\\\"state\": \"planned",
		"x\", \"state\": \"applied",
		"a\nb\tc\rd\be\f",
		"\001\002\037\177",
		"/sys/kernel/a/b",
		"<script>%s%n</script>",
		"\303\251 \342\202\254 \360\237\230\200",
		"\\u0000",
		"{}[],:",
		"?",
		"\377",
		"a\377?b",
		"caf\351",
		"\342\202/\355\240\200",
		"\"state\": \"\377",
		all_bytes,
	};

	for (int byte = 1; byte < 256; byte++)
		all_bytes[byte - 1] = (char)byte;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct operation operation = make_operation(texts[i]);

		operation.steps[0].state = STATE_APPLIED;
		operation.steps[0].items[0].state = STATE_APPLIED;
		is_int(save(&operation), 0, "text %zu is saved", i);
		ok(loads_as(&operation), "text %zu is read as it was", i);
		operation_free(&operation);
	}
}

static void test_numbers(void)
{
	static const unsigned long long numbers[] = { 0,	 1,	     INT32_MAX, 1ULL << 32,
						      INT64_MAX, 1ULL << 63, UINT64_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct operation operation = make_operation("x");

		operation.steps[0].items[0].id = operation.steps[0].items[0].stamp = numbers[i];
		is_int(save(&operation), 0, "number %llu is saved", numbers[i]);
		ok(loads_as(&operation), "number %llu is read as it was", numbers[i]);
		operation_free(&operation);
	}
}

/* Cut anywhere it is of no use, but for the newline at its end. */
static void test_truncated(const char *text)
{
	size_t length = strlen(text), nr_refused = 0;
	struct loaded loaded;

	for (size_t n = 0; n < length; n++) {
		temp_write_bytes(FILE_NAME, text, n);
		loaded = load();
		nr_refused += is_refused(&loaded);
		forget(&loaded);
	}
	is_int((long long)nr_refused, (long long)length, "truncated at any byte it is not used");
	temp_write(FILE_NAME, text);
	loaded = load();
	is_int((long long)loaded.journals.nr, 1, "whole, without its newline, it is");
	forget(&loaded);
}

/* Used whole, refused, or passed over as of another boot: exactly one of these. */
static bool is_clear(const struct loaded *loaded, size_t *nr_notes)
{
	bool is_note =
		loaded->findings.nr == 1 && loaded->findings.list[0].severity == SEVERITY_NOTE;

	*nr_notes += is_note;
	return !loaded->r && loaded->journals.nr + loaded->journals.unusable.nr + is_note == 1;
}

/* One byte replaced, anywhere. */
static void test_damaged(const char *text)
{
	static const char bytes[] = { '"', '}', ']', '9', '-', 'x', ' ', '\0', '\\', (char)0xff };
	size_t length = strlen(text), nr_clear = 0, nr_notes = 0;
	_cleanup_free_ char *damaged = strdup(text);

	for (size_t n = 0; damaged && n < length; n++) {
		struct loaded loaded;

		damaged[n] = bytes[n % sizeof(bytes)];
		temp_write_bytes(FILE_NAME, damaged, length);
		loaded = load();
		nr_clear += is_clear(&loaded, &nr_notes);
		forget(&loaded);
		damaged[n] = text[n];
	}
	is_int((long long)nr_clear, (long long)length,
	       "any byte damaged: used whole, or not at all");
	ok(nr_notes < sizeof(BOOT_ID), "only what names another boot is passed over");
}

/* Writes the file @name: @text with the first @from replaced by @to. */
static void write_replaced(const char *name, const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	char *changed;

	if (!ok(at, "there is %s", from))
		return;
	changed = util_asprintf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	if (ok(changed, "it becomes %s", to))
		temp_write(name, changed);
	free(changed);
}

static void write_changed(const char *text, const char *from, const char *to)
{
	write_replaced(FILE_NAME, text, from, to);
}

static const struct change {
	const char *from, *to;
} wrong[] = {
	{ "\"format\": 1", "\"format\": 2" },
	{ "\"format\": 1", "\"format\": 999999999999999999999" },
	{ "\"format\": 1", "\"format\": 0" },
	{ "\"format\": 1", "\"format\": -1" },
	{ "\"format\": 1", "\"format\": \"1\"" },
	{ "\"format\": 1", "\"format\": 1.0" },
	{ "\"format\": 1", "\"format\": null" },
	{ "\"format\": 1", "\"formats\": 1" },
	{ "\"id\": \"" ID "\"", "\"id\": \"" ID "-2\"" },
	{ "\"id\": \"" ID "\"", "\"id\": 5" },
	{ "\"id\": \"" ID "\"", "\"id\": null" },
	{ "\"boot_id\":", "\"boot\":" },
	{ "\"version\": \"0.1.0\"", "\"version\": 0.1" },
	{ "\"started\":", "\"begun\":" },
	{ "\"command\": \"text\"", "\"command\": [ \"text\" ]" },
	{ "\"cpus\":", "\"cpu\":" },
	{ "\"cpu\": 4", "\"cpu\": -4" },
	{ "\"cpu\": 4", "\"cpu\": \"4\"" },
	{ "\"cpu\": 4", "\"cpu\": 4.5" },
	{ "\"cpu\": 4", "\"cpu\": 4294967300" },
	{ "\"cpu\": 4", "\"cpu\": 99999999999999999999999" },
	{ "\"cpu\": 4", "\"cpu\": true" },
	{ "\"cpu\": 4", "\"cpu\": null" },
	{ "\"socket\": 1", "\"socket\": \"1\"" },
	{ "\"socket\": 1", "\"sockets\": 1" },
	{ "\"thread\": 0", "\"thread\": -1" },
	{ "\"steps\":", "\"stops\":" },
	{ "\"kind\": \"rcu.expedite\"", "\"kind\": \"rcu.normal\"" },
	{ "\"kind\": \"rcu.expedite\"", "\"kind\": 1" },
	{ "\"kind\": \"cpu.offline\"", "\"kind\": \"cpu.offline2\"" },
	{ "\"lifetime\": \"during\"", "\"lifetime\": 1" },
	{ "\"lifetime\": \"during\"", "\"lifetime\": \"for ever\"" },
	{ "\"undo_rank\": 7", "\"undo_rank\": \"7\"" },
	{ "\"undo_rank\": 7", "\"undo_rank\": -7" },
	{ "\"undo_rank\": 7", "\"rank\": 7" },
	{ "\"state\": \"undone\"", "\"state\": \"Undone\"" },
	{ "\"state\": \"undone\"", "\"state\": \"\"" },
	{ "\"state\": \"undone\"", "\"state\": 3" },
	{ "\"state\": \"undone\"", "\"state\": null" },
	{ "\"state\": \"undone\"", "\"mood\": \"undone\"" },
	{ "\"items\":", "\"item\":" },
	{ "\"object\":", "\"subject\":" },
	{ "\"before\":", "\"previous\":" },
	{ "\"after\":", "\"later\":" },
	{ "\"id\": 4,", "\"id\": -1," },
	{ "\"id\": 4,", "\"id\": 4294967300," },
	{ "\"id\": 4,", "\"id\": 18446744073709551615," },
	{ "\"id\": 4,", "\"id\": \"4\"," },
	{ "\"stamp\": 0", "\"stamp\": \"0\"" },
	{ "\"stamp\": 0", "\"stomp\": 0" },
	{ "{", "[" },
	{ "{", "{{" },
	{ "{", "x{" },
	{ "\"format\": 1", "\"format\": 1," },
	{ "\"format\": 1,", "\"format\": 1" },
};

static const char *const not_journals[] = {
	"", " \n", "{}", "[]", "null", "true", "1", "\"x\"", "{", "x",
};

static void test_wrong(const char *text)
{
	char *longer;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		write_changed(text, wrong[i].from, wrong[i].to);
		is_unusable(wrong[i].to);
	}
	for (size_t i = 0; i < ARRAY_SIZE(not_journals); i++) {
		temp_write(FILE_NAME, not_journals[i]);
		is_unusable(not_journals[i]);
	}
	longer = util_asprintf("%s\nx", text);
	temp_write(FILE_NAME, longer ? longer : "");
	is_unusable("text after its end");
	free(longer);
	temp_write_bytes(FILE_NAME, "\0\0\0\0\0\0\0\0", 8);
	is_unusable("a file of zeros");
}

/* Bytes beside a name that are not of it. */
static void test_wrong_bytes(void)
{
	static const char *const wrong_bytes[] = {
		"\"\"",	      "\"61ff6\"",  "\"61ff\"",	  "\"61ff6262\"", "\"61fg62\"",
		"\"61FF62\"", "\"61 f62\"", "\"610062\"", "\"612f62\"",	  "\"62ff62\"",
		"\"0xff62\"", "610062",	    "null",	  "[]",
	};
	_cleanup_free_ char *text = make_text("a\377b");

	if (!ok(text, "a journal with a name that is not UTF-8"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(wrong_bytes); i++) {
		write_changed(text, "\"61ff62\"", wrong_bytes[i]);
		is_unusable(wrong_bytes[i]);
	}
}

/* Of versions that did not write them. */
static void test_without_bytes(void)
{
	_cleanup_free_ char *text = make_text("a\377b");
	struct loaded loaded;

	if (!ok(text, "a journal with a name that is not UTF-8"))
		return;
	write_changed(text, "\"command_bytes\"", "\"other\"");
	loaded = load();
	if (ok(loaded.journals.nr == 1, "without its bytes it is read"))
		is_str(loaded.journals.list[0].command, "a?b", "as it is shown");
	forget(&loaded);
}

static void test_nested(void)
{
	char text[4096];

	memset(text, '[', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	temp_write(FILE_NAME, text);
	is_unusable("a deep nest");
}

static void test_newer(const char *text)
{
	struct loaded loaded;

	write_changed(text, "\"format\": 1", "\"format\": 2, \"steps\": {}, \"future\": []");
	loaded = load();
	ok(is_refused(&loaded) && strstr(loaded.findings.list[0].message, "newer"),
	   "a newer format is called that");
	forget(&loaded);
}

static void test_other_boot(const char *text)
{
	struct loaded loaded;

	write_changed(text, BOOT_ID, "5f3b1a52-0000-4000-8000-000000000002");
	loaded = load();
	is_int(loaded.r, 0, "a journal of another boot");
	is_int((long long)loaded.journals.nr, 0, "is not used");
	ok(!loaded.journals.unusable.nr, "is no obstacle");
	is_int((long long)loaded.journals.nr_files, 1, "is there");
	is_int((long long)loaded.findings.nr, 1, "is told of");
	if (loaded.findings.nr == 1) {
		is_str(loaded.findings.list[0].rule, "journal-of-another-boot", "by its rule");
		is_int(loaded.findings.list[0].severity, SEVERITY_NOTE, "as a note");
	}
	forget(&loaded);
}

static void test_mode(const char *text, mode_t mode, bool is_usable)
{
	struct loaded loaded;

	temp_write(FILE_NAME, text);
	is_int(chmod(temp_path(FILE_NAME), mode), 0, "mode %o", mode);
	loaded = load();
	is_int((long long)loaded.journals.nr, is_usable, "mode %o is %s", mode,
	       is_usable ? "used" : "refused");
	ok(loaded.journals.unusable.nr == !is_usable, "mode %o: said so", mode);
	forget(&loaded);
	unlink(temp_path(FILE_NAME));
}

static void test_owner(const char *text)
{
	if (geteuid())
		return;
	temp_write(FILE_NAME, text);
	is_int(chown(temp_path(FILE_NAME), 65534, 0), 0, "another owner");
	is_unusable("the file of another user");
	unlink(temp_path(FILE_NAME));
}

static void test_no_file(const char *text)
{
	temp_write("elsewhere.json", text);
	temp_symlink("../../elsewhere.json", FILE_NAME);
	is_unusable("a link to a good journal");
	unlink(temp_path(FILE_NAME));
	temp_mkdir(FILE_NAME);
	is_unusable("a directory");
	rmdir(temp_path(FILE_NAME));
	is_int(mkfifo(temp_path(FILE_NAME), 0600), 0, "a pipe");
	is_unusable("a pipe");
	unlink(temp_path(FILE_NAME));
}

static void write_as(const char *text, const char *id)
{
	char name[64];

	snprintf(name, sizeof(name), "run/cpuoff/%s.json", id);
	write_replaced(name, text, ID, id);
}

/* One that is damaged does not take the others along; those come in the order of their ids. */
static void test_several(const char *text)
{
	static const char *const ids[] = { "20250102-030404", ID, "20250102-030405-2",
					   "20250102-030406" };
	struct loaded loaded;

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		write_as(text, ids[(i + 2) % ARRAY_SIZE(ids)]);
	temp_write("run/cpuoff/20250102-030405-1.json", "damaged");
	temp_write("run/cpuoff/." ID ".new", text);
	temp_write("run/cpuoff/lock", "17\n");
	temp_write("run/cpuoff/readme.txt", text);
	loaded = load();
	is_int(loaded.r, 0, "several journals");
	is_int((long long)loaded.journals.nr_files, 5, "all are counted, and nothing else");
	ok(loaded.journals.unusable.nr == 1 && loaded.findings.nr == 1,
	   "the damaged one is told of");
	if (is_int((long long)loaded.journals.nr, 4, "the others are used"))
		for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
			is_str(loaded.journals.list[i].id, ids[i], "number %zu, the oldest first",
			       i);
	forget(&loaded);
}

/* In one second, or the next: ids differ, whatever is in the files, and their order is that of
 * time. */
static void test_ids(void)
{
	char last[32] = "", name[64];

	for (size_t i = 0; i < 4; i++) {
		struct operation operation = { 0 };
		bool is_record = i % 2;

		is_int(plan_identify(&operation, "", "", "", is_record ? NULL : state,
				     is_record ? state : NULL),
		       0, "operation %zu is named", i);
		ok(strcmp(operation.id, last) > 0, "operation %zu is after the one before", i);
		snprintf(last, sizeof(last), "%s", operation.id);
		snprintf(name, sizeof(name), "run/cpuoff/%s.json", operation.id);
		temp_write(name, "damaged");
		operation_free(&operation);
	}
}

static void test_none(void)
{
	struct journals journals = { .nr = 9 };
	struct findings findings = { 0 };

	is_int(journal_load_all(NULL, BOOT_ID, &findings, &journals), 0, "no state directory");
	ok(!journals.nr && !journals.nr_files && !journals.unusable.nr && !findings.nr,
	   "no journals");
	journals_free(&journals);
}

static void test_remove(void)
{
	struct operation operation = make_operation("x");
	struct journal *journal = NULL;

	is_int(journal_new(state, &operation, &journal), 0, "a journal to be removed");
	is_int(journal_remove(journal), 0, "one that was never saved needs no removing");
	is_int(journal_save(journal), 0, "it is saved");
	is_int(journal_remove(journal), 0, "it is removed");
	is_int(temp_mode(FILE_NAME), 0, "it is gone");
	is_int(journal_save(journal), 0, "it can be saved again");
	is_int(journal_remove(journal), 0, "and removed");
	journal_free(journal);
	operation_free(&operation);
}

/* ---- memory ------------------------------------------------------------------------------ */

static void test_save_without_memory(void)
{
	struct operation operation = make_operation("x");
	struct journal *journal = NULL;
	size_t nr;
	int r, removed;

	if (journal_new(state, &operation, &journal))
		return;
	guard_begin();
	r = journal_save(journal);
	removed = journal_remove(journal);
	nr = guard_end();
	is_int(r, 0, "saving works without memory");
	is_int(removed, 0, "and so does removing");
	if (guard_can_see())
		is_int((long long)nr, 0, "none is asked for");
	journal_free(journal);
	operation_free(&operation);
}

/* How a child ended in which one allocation failed. */
enum {
	WENT_WELL,
	REFUSED,
	WROTE_WRONG, /* a journal that cannot be used */
	NOT_REACHED, /* there were fewer allocations */
};

static void make_with_failing(size_t nr, const struct operation *operation)
{
	struct journal *journal = NULL;
	int r;

	guard_fail_at(nr);
	r = journal_new(state, operation, &journal);
	if (guard_end() < nr)
		_exit(NOT_REACHED);
	if (r)
		_exit(REFUSED);
	_exit(!journal_save(journal) && loads_as(operation) ? WENT_WELL : WROTE_WRONG);
}

/* json-c aborts now and then where it has no memory: that is a refusal, too, since nothing was done
 * yet. */
static int try_with_failing(size_t nr, const struct operation *operation)
{
	static const struct rlimit no_core;
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		setrlimit(RLIMIT_CORE, &no_core);
		if (!freopen("/dev/null", "w", stderr) || !freopen("/dev/null", "w", stdout))
			_exit(WROTE_WRONG);
		make_with_failing(nr, operation);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT)
		return REFUSED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_new_without_memory(void)
{
	struct operation operation = make_operation("x\377");
	size_t nr = 0, nr_wrong = 0, first_wrong = 0;
	int result = guard_can_fail() ? WENT_WELL : NOT_REACHED;

	while (result != NOT_REACHED && nr < 2000) {
		result = try_with_failing(++nr, &operation);
		if (result == WENT_WELL || result == REFUSED || result == NOT_REACHED)
			continue;
		nr_wrong++;
		if (!first_wrong)
			first_wrong = nr;
	}
	if (guard_can_fail())
		is_int((long long)nr_wrong, 0,
		       "no failing allocation makes a journal that cannot be used");
	if (first_wrong)
		diag("of %zu allocations the first is number %zu", nr, first_wrong);
	operation_free(&operation);
}

static void test_memory(void)
{
	test_save_without_memory();
	test_new_without_memory();
}

int main(void)
{
	struct root *root;
	char *text;

	temp_make();
	root = temp_root();
	is_int(state_open(root, "/run/cpuoff", true, &state), 0, "a state directory");
	test_none();
	test_round_trip();
	test_claim();
	test_states_in_place();
	test_texts();
	test_numbers();
	text = make_text("text");
	if (ok(text, "a text to be damaged")) {
		test_truncated(text);
		test_damaged(text);
		test_wrong(text);
		test_wrong_bytes();
		test_without_bytes();
		test_nested();
		test_newer(text);
		test_other_boot(text);
		test_mode(text, 0644, true);
		test_mode(text, 0600, true);
		test_mode(text, 0666, false);
		test_mode(text, 0664, false);
		test_mode(text, 0646, false);
		test_owner(text);
		test_no_file(text);
	}
	test_remove();
	test_memory();
	if (text)
		test_several(text);
	test_ids();
	free(text);
	state_close(state);
	root_close(root);
	temp_remove();
	return done_testing();
}
