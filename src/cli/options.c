/* SPDX-License-Identifier: GPL-2.0-or-later */
/* options.c - the command line */
#include "config.h"

#include "cli/options.h"

#include <errno.h>
#include <string.h>

#include <popt.h>

#define ON(action) (1U << (action))
#define TAKES	   (ON(ACTION_OFFLINE) | ON(ACTION_PERSIST))
#define CHANGES	   (TAKES | ON(ACTION_RESTORE))
#define SELECTS                                                                                    \
	(ON(ACTION_OFFLINE) | ON(ACTION_RESTORE) | ON(ACTION_LIST) | ON(ACTION_SERVICE) |          \
	 ON(ACTION_REPORT))
#define ANY (SELECTS | ON(ACTION_STATUS))

/* The values of options that have a few. */
#define MIGRATE	 "auto|partition|affinity|none"
#define PINNED	 "move|refuse"
#define METHOD	 "auto|bulk|smt|sequential"
#define ON_ERROR "rollback|stop|continue" /* in the order of enum on_error */
#define COLOR	 "auto|always|never"	  /* in the order of enum colour */

/* Stands for a value that was not given; nobody can type it. */
#define NO_VALUE "\001"

enum option {
	OPTION_SELECTOR = 1000, /* and the selector's kind */
	OPTION_RESTORE = 2000,
	OPTION_SOCKET_OF,
	OPTION_STATUS,
	OPTION_PROMETHEUS,
	OPTION_LIST,
	OPTION_MAP,
	OPTION_SERVICE,
	OPTION_LIST_RULES,
	OPTION_REPORT,
	OPTION_DRY_RUN,
	OPTION_PERSIST,
	OPTION_INTERACTIVE,
	OPTION_MIGRATE,
	OPTION_PINNED,
	OPTION_METHOD,
	OPTION_BATCH,
	OPTION_ON_ERROR,
	OPTION_TIMEOUT,
	OPTION_PACE,
	OPTION_MEASURE,
	OPTION_PROFILE,
	OPTION_BOOST,
	OPTION_NO_EXPEDITE,
	OPTION_SKIP_UNPLUGGABLE,
	OPTION_ALLOW_CPU0,
	OPTION_STRICT,
	OPTION_FORCE,
	OPTION_WAIT,
	OPTION_EJECT,
	OPTION_NO_HOOKS,
	OPTION_HOOKS_DIR,
	OPTION_HOOK_TIMEOUT,
	OPTION_QUIET,
	OPTION_VERBOSE,
	OPTION_JSON,
	OPTION_COLOR,
	OPTION_NO_PROGRESS,
	OPTION_SYSROOT,
	OPTION_STATE_DIR,
	OPTION_VERSION,
	OPTION_HELP,
	OPTION_USAGE,
};

#define SELECTOR(name, letter, kind, value, text)                                                  \
	{                                                                                          \
		name, letter, POPT_ARG_STRING, NULL, OPTION_SELECTOR + (kind), text, value         \
	}
#define FLAG(name, letter, option, text)                                                           \
	{                                                                                          \
		name, letter, POPT_ARG_NONE, NULL, option, text, NULL                              \
	}
#define VALUE(name, option, value, text)                                                           \
	{                                                                                          \
		name, 0, POPT_ARG_STRING, NULL, option, text, value                                \
	}

static struct poptOption selection_options[] = {
	SELECTOR("socket", 's', SELECT_SOCKET, "LIST", "these physical packages"),
	SELECTOR("node", 'n', SELECT_NODE, "LIST", "these NUMA nodes"),
	SELECTOR("die", 'd', SELECT_DIE, "[SOCKET:]LIST", "these dies"),
	SELECTOR("core", 'C', SELECT_CORE, "[SOCKET:]LIST", "these cores"),
	SELECTOR("core-of", 0, SELECT_CORE_OF, "LIST", "the whole cores of these CPUs"),
	SELECTOR("l3-of", 0, SELECT_L3_OF, "LIST",
		 "all that share a last-level cache with these CPUs"),
	SELECTOR("cpu", 'c', SELECT_CPU, "LIST", "these CPUs"),
	FLAG("smt", 't', OPTION_SELECTOR + SELECT_SMT,
	     "every hardware thread but the first online one of each core"),
	SELECTOR("apicid", 0, SELECT_APICID, "LIST", "the CPUs with these initial APIC ids"),
	SELECTOR("mce", 0, SELECT_MCE, "TEXT|FILE", "the cores that reported these machine checks"),
	FLAG("socket-of", 0, OPTION_SOCKET_OF, "with --mce: their whole sockets"),
	SELECTOR("near", 0, SELECT_NEAR, "DEVICE",
		 "the CPUs near a PCI device, network interface or disk"),
	SELECTOR("except", 'x', SELECT_EXCEPT, "LIST", "never these CPUs"),
	POPT_TABLEEND,
};

static struct poptOption action_options[] = {
	{ "restore", 0, POPT_ARG_STRING | POPT_ARGFLAG_OPTIONAL, NULL, OPTION_RESTORE,
	  "undo an operation, or bring the selected CPUs back", "ID|all" },
	FLAG("status", 0, OPTION_STATUS, "show the operations in force"),
	FLAG("prometheus", 0, OPTION_PROMETHEUS, "with --status: as metrics for Prometheus"),
	FLAG("list", 0, OPTION_LIST, "show the machine, and what a selection means"),
	{ "map", 0, POPT_ARG_STRING | POPT_ARGFLAG_OPTIONAL, NULL, OPTION_MAP,
	  "with --list: every CPU where it is, or drawn into a file", "FILE.svg" },
	FLAG("service", 0, OPTION_SERVICE, "say whether the hardware of these CPUs can be removed"),
	FLAG("list-rules", 0, OPTION_LIST_RULES,
	     "show all that is looked for, and what to do then"),
	FLAG("report", 0, OPTION_REPORT,
	     "collect what is needed to find a bug, without personal data"),
	FLAG("dry-run", 0, OPTION_DRY_RUN, "show the whole plan and change nothing"),
	{ "persist", 0, POPT_ARG_STRING | POPT_ARGFLAG_OPTIONAL, NULL, OPTION_PERSIST,
	  "keep the CPUs off over a reboot; apply: do so now, at boot", "apply" },
	FLAG("interactive", 'i', OPTION_INTERACTIVE, "show what would be done, and ask"),
	POPT_TABLEEND,
};

static struct poptOption control_options[] = {
	VALUE("migrate", OPTION_MIGRATE, MIGRATE, "how work is moved away before"),
	VALUE("pinned", OPTION_PINNED, PINNED, "what to do with tasks pinned to these CPUs alone"),
	VALUE("method", OPTION_METHOD, METHOD, "how the kernel is made to take the CPUs"),
	VALUE("batch", OPTION_BATCH, "N", "so many CPUs with one write, for the method bulk"),
	VALUE("on-error", OPTION_ON_ERROR, ON_ERROR, "what to do when a CPU cannot go"),
	VALUE("timeout", OPTION_TIMEOUT, "SECONDS", "give up waiting for one CPU after so long"),
	VALUE("pace", OPTION_PACE, "MS", "pause so long between two CPUs"),
	FLAG("measure", 0, OPTION_MEASURE, "measure how late a real-time thread is woken"),
	{ "profile", 0, POPT_ARG_STRING | POPT_ARGFLAG_OPTIONAL, NULL, OPTION_PROFILE,
	  "show what the time went into, and draw it", "FILE.svg" },
	FLAG("boost", 0, OPTION_BOOST, "what CPUs wait for runs real-time meanwhile"),
	FLAG("no-expedite", 0, OPTION_NO_EXPEDITE, "do not expedite RCU grace periods"),
	FLAG("skip-unpluggable", 0, OPTION_SKIP_UNPLUGGABLE, "leave CPUs that cannot go"),
	FLAG("allow-cpu0", 0, OPTION_ALLOW_CPU0, "CPU 0 may go"),
	FLAG("strict", 0, OPTION_STRICT, "warnings refuse"),
	FLAG("force", 0, OPTION_FORCE, "accept the refusals that may be accepted"),
	FLAG("wait", 0, OPTION_WAIT,
	     "wait for another cpuoff that runs, and for ejected CPUs to be plugged in"),
	FLAG("eject", 0, OPTION_EJECT,
	     "give the CPUs back to the firmware (ACPI) once they are off"),
	FLAG("no-hooks", 0, OPTION_NO_HOOKS, "run no hooks"),
	VALUE("hooks-dir", OPTION_HOOKS_DIR, "DIR", "where hooks are [" HOOKS_DIR "]"),
	VALUE("hook-timeout", OPTION_HOOK_TIMEOUT, "SECONDS", "a hook fails after so long [600]"),
	POPT_TABLEEND,
};

static struct poptOption output_options[] = {
	FLAG("quiet", 'q', OPTION_QUIET, "say only what failed"),
	FLAG("verbose", 'v', OPTION_VERBOSE, "say all, item by item"),
	FLAG("json", 0, OPTION_JSON, "one JSON document on stdout"),
	VALUE("color", OPTION_COLOR, COLOR, "when text has colour"),
	FLAG("no-progress", 0, OPTION_NO_PROGRESS, "no progress"),
	VALUE("sysroot", OPTION_SYSROOT, "DIR", "a copy of a machine instead of this one"),
	VALUE("state-dir", OPTION_STATE_DIR, "DIR",
	      "where journals and the lock are [/run/cpuoff]"),
	FLAG("version", 'V', OPTION_VERSION, "print the version"),
	FLAG("help", '?', OPTION_HELP, "print this help"),
	FLAG("usage", 0, OPTION_USAGE, "print a short usage"),
	POPT_TABLEEND,
};

#define INCLUDE(table, title)                                                                      \
	{                                                                                          \
		NULL, 0, POPT_ARG_INCLUDE_TABLE, table, 0, title, NULL                             \
	}

static const struct poptOption all_options[] = {
	INCLUDE(selection_options,
		"Selection, united (ids are the kernel's; LIST is like 0-3,8,16-31):"),
	INCLUDE(action_options, "Actions (without one, the selected CPUs are taken offline):"),
	INCLUDE(control_options, "Control:"),
	INCLUDE(output_options, "Output:"),
	POPT_TABLEEND,
};

/* Options that do not make sense with every action. */
static const struct {
	enum option option;
	const char *name;
	unsigned int actions;
} limits[] = {
	{ OPTION_DRY_RUN, "dry-run", CHANGES },
	{ OPTION_PERSIST, "persist", TAKES },
	{ OPTION_INTERACTIVE, "interactive", CHANGES },
	{ OPTION_PROMETHEUS, "prometheus", ON(ACTION_STATUS) },
	{ OPTION_MAP, "map", ON(ACTION_LIST) },
	{ OPTION_MIGRATE, "migrate", CHANGES },
	{ OPTION_PINNED, "pinned", TAKES },
	{ OPTION_METHOD, "method", TAKES },
	{ OPTION_BATCH, "batch", TAKES },
	{ OPTION_ON_ERROR, "on-error", TAKES },
	{ OPTION_TIMEOUT, "timeout", CHANGES },
	{ OPTION_PACE, "pace", CHANGES },
	{ OPTION_MEASURE, "measure", CHANGES },
	{ OPTION_PROFILE, "profile", CHANGES },
	{ OPTION_BOOST, "boost", CHANGES },
	{ OPTION_NO_EXPEDITE, "no-expedite", CHANGES },
	{ OPTION_SKIP_UNPLUGGABLE, "skip-unpluggable", TAKES },
	{ OPTION_ALLOW_CPU0, "allow-cpu0", TAKES },
	{ OPTION_STRICT, "strict", CHANGES },
	{ OPTION_FORCE, "force", CHANGES },
	{ OPTION_WAIT, "wait", CHANGES },
	{ OPTION_EJECT, "eject", ON(ACTION_OFFLINE) },
	{ OPTION_NO_HOOKS, "no-hooks", ON(ACTION_OFFLINE) | ON(ACTION_RESTORE) },
	{ OPTION_HOOKS_DIR, "hooks-dir", ON(ACTION_OFFLINE) | ON(ACTION_RESTORE) },
	{ OPTION_HOOK_TIMEOUT, "hook-timeout", ON(ACTION_OFFLINE) | ON(ACTION_RESTORE) },
};

static const char *const action_names[] = {
	[ACTION_OFFLINE] = "taking CPUs offline",
	[ACTION_RESTORE] = "--restore",
	[ACTION_STATUS] = "--status",
	[ACTION_LIST] = "--list",
	[ACTION_SERVICE] = "--service",
	[ACTION_LIST_RULES] = "--list-rules",
	[ACTION_PERSIST] = "--persist=apply",
	[ACTION_REPORT] = "--report",
};

struct parser {
	struct options *options;
	bool has_action;
	bool seen[64]; /* of enum option, from OPTION_RESTORE */
};

__attribute__((format(printf, 2, 3))) static void complain(struct parser *parser, const char *fmt,
							   ...)
{
	va_list ap;

	if (parser->options->error)
		return;
	va_start(ap, fmt);
	parser->options->error = util_vasprintf(fmt, ap);
	va_end(ap);
}

static int add_selector(struct parser *parser, enum selector_kind kind, const char *text)
{
	struct request *request = &parser->options->request;
	struct selector *list = util_grow(request->selectors, request->nr_selectors, sizeof(*list));

	if (!list)
		return -ENOMEM;
	request->selectors = list;
	list[request->nr_selectors++] = (struct selector){ .kind = kind, .text = text };
	return 0;
}

/* What a machine check is read from is far shorter. */
#define CONTENT_MAX (16UL << 20)

static int read_stream(FILE *file, char **ret_text)
{
	_cleanup_free_ char *text = NULL;
	size_t length = 0;
	int r = 0;

	for (size_t n = 1; n && length < CONTENT_MAX; length += n) {
		char *longer = realloc(text, length + 65536 + 1);

		if (!longer)
			return -ENOMEM;
		text = longer;
		n = fread(text + length, 1, 65536, file);
	}
	if (ferror(file))
		r = -errno;
	text[length] = '\0';
	*ret_text = steal_pointer(&text);
	return r;
}

static void set_action(struct parser *parser, enum action action)
{
	struct request *request = &parser->options->request;

	if (parser->has_action && request->action != action)
		complain(parser, "%s and %s cannot be used together", action_names[request->action],
			 action_names[action]);
	parser->has_action = true;
	request->action = action;
}

/* The place of @text among the words of @choice, which are parted by "|"; 0 with a complaint for
 * none. */
static size_t choose(struct parser *parser, const char *option, const char *text,
		     const char *choice)
{
	size_t length = strlen(text), nr = 0;

	for (const char *word = choice; *word; nr++) {
		size_t n = strcspn(word, "|");

		if (n == length && !strncmp(word, text, n))
			return nr;
		word += n + (word[n] == '|');
	}
	complain(parser, "--%s=%s: it is one of %s", option, text, choice);
	return 0;
}

/* The whole number @text, from 1 to @max; 0 with a complaint for anything else. */
static double parse_number(struct parser *parser, const char *option, const char *text,
			   const char *unit, long max)
{
	long value = 0;

	if (util_parse_long(text, 1, max, &value))
		complain(parser, "--%s=%s: it is a whole number of %s from 1 to %ld", option, text,
			 unit, max);
	return (double)value;
}

static void set_batch(struct parser *parser, const char *text)
{
	long nr;

	if (util_parse_long(text, 1, 65536, &nr))
		complain(parser, "--batch=%s: it is a number of CPUs from 1 to 65536", text);
	else
		parser->options->request.batch = (unsigned int)nr;
}

/* Takes @text over from popt, until options_free(). */
static int keep_value(struct options *options, char *text)
{
	char **list;

	if (!text)
		return 0;
	list = util_grow(options->values, options->nr_values, sizeof(*list));
	if (!list) {
		free(text);
		return -ENOMEM;
	}
	options->values = list;
	list[options->nr_values++] = text;
	return 0;
}

static const char *given_value(const char *value)
{
	return value && strcmp(value, NO_VALUE) ? value : NULL;
}

/* Other endings are kept for other pictures. */
static const char *take_picture(struct parser *parser, const char *option, const char *name)
{
	size_t length = name ? strlen(name) : 0;

	if (name && (length < 5 || strcmp(name + length - 4, ".svg")))
		complain(parser, "--%s=%s: it is the name of a file that ends in .svg", option,
			 name);
	return name;
}

static void set_persist(struct parser *parser, const char *value)
{
	if (!value)
		parser->options->request.persist = true;
	else if (strcmp(value, "apply"))
		complain(parser, "--persist=%s: it stands alone, or is --persist=apply", value);
	else
		set_action(parser, ACTION_PERSIST);
}

/* --mce has a file, "-" for standard input, or the text itself. */
static int read_content(struct parser *parser, struct selector *selector)
{
	bool is_input = !strcmp(selector->text, "-");
	FILE *file = is_input ? stdin : fopen(selector->text, "re");
	char *content = NULL;
	int r;

	selector->content = selector->text;
	if (!file) {
		/* a path, and no line of a log */
		if (!strpbrk(selector->text, " \n") && strchr(selector->text, '/'))
			complain(parser, "--mce=%s: %s", selector->text, strerror(errno));
		return 0;
	}
	r = read_stream(file, &content);
	if (!is_input)
		fclose(file);
	if (r && r != -ENOMEM) {
		complain(parser, "--mce=%s: %s", selector->text, strerror(-r));
		r = 0;
	}
	if (content)
		selector->content = content;
	return r ? r : keep_value(parser->options, content);
}

static void take_option(struct parser *parser, enum option option, const char *value)
{
	struct options *options = parser->options;
	struct request *request = &options->request;

	parser->seen[option - OPTION_RESTORE] = true;
	switch (option) {
	case OPTION_RESTORE:
		set_action(parser, ACTION_RESTORE);
		request->restore_id = given_value(value);
		break;
	case OPTION_SOCKET_OF:
		request->socket_of = true;
		break;
	case OPTION_STATUS:
		set_action(parser, ACTION_STATUS);
		break;
	case OPTION_PROMETHEUS:
		options->prometheus = true;
		break;
	case OPTION_LIST:
		set_action(parser, ACTION_LIST);
		break;
	case OPTION_MAP:
		options->map = true;
		options->map_file = take_picture(parser, "map", given_value(value));
		break;
	case OPTION_SERVICE:
		set_action(parser, ACTION_SERVICE);
		break;
	case OPTION_LIST_RULES:
		set_action(parser, ACTION_LIST_RULES);
		break;
	case OPTION_REPORT:
		set_action(parser, ACTION_REPORT);
		break;
	case OPTION_DRY_RUN:
		request->dry_run = true;
		break;
	case OPTION_PERSIST:
		set_persist(parser, given_value(value));
		break;
	case OPTION_INTERACTIVE:
		options->interactive = true;
		break;
	case OPTION_MIGRATE:
		choose(parser, "migrate", value, MIGRATE);
		request->migrate = value;
		break;
	case OPTION_PINNED:
		choose(parser, "pinned", value, PINNED);
		request->pinned = value;
		break;
	case OPTION_METHOD:
		choose(parser, "method", value, METHOD);
		request->method = value;
		break;
	case OPTION_BATCH:
		set_batch(parser, value);
		break;
	case OPTION_ON_ERROR:
		request->on_error = (enum on_error)choose(parser, "on-error", value, ON_ERROR);
		break;
	case OPTION_TIMEOUT:
		request->timeout = parse_number(parser, "timeout", value, "seconds", 7 * 86400L);
		break;
	case OPTION_PACE:
		request->pace =
			parse_number(parser, "pace", value, "milliseconds", 3600000L) / 1000;
		break;
	case OPTION_MEASURE:
		request->measure = true;
		break;
	case OPTION_PROFILE:
		request->profile = true;
		options->profile_file = take_picture(parser, "profile", given_value(value));
		break;
	case OPTION_BOOST:
		request->boost = true;
		break;
	case OPTION_NO_EXPEDITE:
		request->no_expedite = true;
		break;
	case OPTION_SKIP_UNPLUGGABLE:
		request->skip_unpluggable = true;
		break;
	case OPTION_ALLOW_CPU0:
		request->allow_cpu0 = true;
		break;
	case OPTION_STRICT:
		request->strict = true;
		break;
	case OPTION_FORCE:
		request->force = true;
		break;
	case OPTION_WAIT:
		request->wait = true;
		break;
	case OPTION_EJECT:
		request->eject = true;
		break;
	case OPTION_NO_HOOKS:
		request->no_hooks = true;
		break;
	case OPTION_HOOKS_DIR:
		options->hooks_dir = value;
		break;
	case OPTION_HOOK_TIMEOUT:
		request->hook_timeout =
			parse_number(parser, "hook-timeout", value, "seconds", 7 * 86400L);
		break;
	case OPTION_QUIET:
		options->quiet = true;
		break;
	case OPTION_VERBOSE:
		options->verbose = true;
		break;
	case OPTION_JSON:
		options->json = true;
		break;
	case OPTION_COLOR:
		options->colour = (enum colour)choose(parser, "color", value, COLOR);
		break;
	case OPTION_NO_PROGRESS:
		options->no_progress = true;
		break;
	case OPTION_SYSROOT:
		options->sysroot = value;
		break;
	case OPTION_STATE_DIR:
		options->state_dir = value;
		break;
	default:
		options->is_informational = true;
		break;
	}
}

static void answer(poptContext context, enum option option)
{
	if (option == OPTION_HELP) {
		poptPrintHelp(context, stdout, 0);
	} else if (option == OPTION_USAGE) {
		poptPrintUsage(context, stdout, 0);
		putchar('\n');
	} else if (option == OPTION_VERSION) {
		puts(PACKAGE_STRING);
	}
}

static void check_limits(struct parser *parser)
{
	const struct request *request = &parser->options->request;

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		if (parser->seen[limits[i].option - OPTION_RESTORE] &&
		    !(limits[i].actions & ON(request->action)))
			complain(parser, "--%s cannot be used with %s", limits[i].name,
				 action_names[request->action]);
	if (request->nr_selectors && !(SELECTS & ON(request->action)))
		complain(parser, "a selection cannot be used with %s",
			 action_names[request->action]);
	if (request->batch && strcmp(request->method, "auto") && strcmp(request->method, "bulk"))
		complain(parser, "--batch cannot be used with --method=%s, which has no batches",
			 request->method);
	if (!request->nr_selectors && (!parser->has_action || request->action == ACTION_SERVICE))
		complain(parser, "nothing is selected: name the CPUs, for example with --node 2");
	if (request->socket_of && !request_has(request, SELECT_MCE))
		complain(parser,
			 "--socket-of says what --mce means, and cannot be used without it");
	if (parser->options->prometheus && parser->options->json)
		complain(parser, "--prometheus and --json are two formats: leave one of them out");
	if (parser->options->map && !parser->options->map_file && parser->options->json)
		complain(parser, "--map is text, and --json is none: name a file, as in "
				 "--map=FILE.svg");
	if (request->dry_run && parser->options->interactive)
		complain(parser, "--interactive asks before something is done, and --dry-run does "
				 "nothing");
	if (parser->options->quiet && parser->options->verbose)
		complain(parser, "--quiet and --verbose cannot be used together");
}

/* --json must hold for what is wrong with the options before it, too. */
static bool asks_for_json(int argc, const char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--json"))
			return true;
	return false;
}

/* popt takes the word after an option whose value may be left out for its value; ours stands behind
 * "=". */
static const char **close_values(int argc, const char **argv)
{
	const char **closed = calloc((size_t)argc + 1, sizeof(*closed));

	for (int i = 0; closed && i < argc; i++) {
		closed[i] = argv[i];
		if (!strcmp(argv[i], "--restore"))
			closed[i] = "--restore=" NO_VALUE;
		else if (!strcmp(argv[i], "--profile"))
			closed[i] = "--profile=" NO_VALUE;
		else if (!strcmp(argv[i], "--persist"))
			closed[i] = "--persist=" NO_VALUE;
		else if (!strcmp(argv[i], "--map"))
			closed[i] = "--map=" NO_VALUE;
	}
	return closed;
}

static char *join_command(int argc, const char **argv)
{
	size_t size = 1;
	char *text, *end;

	for (int i = 0; i < argc; i++)
		size += strlen(argv[i]) + 1;
	text = end = malloc(size);
	if (!text)
		return NULL;
	*end = '\0';
	for (int i = 0; i < argc; i++) {
		if (i)
			*end++ = ' ';
		end = stpcpy(end, argv[i]);
	}
	return text;
}

static int take_selector(struct parser *parser, enum selector_kind kind, const char *text)
{
	struct request *request = &parser->options->request;
	int r = add_selector(parser, kind, text);

	if (!r && kind == SELECT_MCE)
		r = read_content(parser, &request->selectors[request->nr_selectors - 1]);
	return r;
}

static int parse(poptContext context, struct parser *parser)
{
	int value, r = 0;

	while (!r && (value = poptGetNextOpt(context)) >= 0) {
		char *text = poptGetOptArg(context);

		r = keep_value(parser->options, text);
		if (r)
			break;
		if (value < OPTION_RESTORE)
			r = take_selector(parser, (enum selector_kind)(value - OPTION_SELECTOR),
					  text ? text : "");
		else
			take_option(parser, (enum option)value, text);
		if (parser->options->is_informational) {
			answer(context, (enum option)value);
			return 0;
		}
	}
	if (r)
		return r;
	if (value < -1)
		complain(parser, "%s: %s", poptBadOption(context, POPT_BADOPTION_NOALIAS),
			 poptStrerror(value));
	else if (poptPeekArg(context))
		complain(parser,
			 "\"%s\" is left over: every id belongs to an option, as in --cpu %s",
			 poptPeekArg(context), poptPeekArg(context));
	else
		check_limits(parser);
	return 0;
}

int options_parse(int argc, const char **argv, struct options *ret_options)
{
	struct options options = {
		.sysroot = "/",
		.state_dir = "/run/cpuoff",
		.persist_dir = PERSIST_DIR,
		.request = { .migrate = "auto", .method = "auto", .hook_timeout = 600 },
		.json = asks_for_json(argc, argv),
		.command = join_command(argc, argv),
	};
	struct parser parser = { .options = &options };
	const char **closed = close_values(argc, argv);
	poptContext context =
		closed ? poptGetContext(PACKAGE_NAME, argc, closed, all_options, 0) : NULL;
	int r = -ENOMEM;

	if (context && options.command) {
		poptSetOtherOptionHelp(context, "SELECTION | --restore[=ID|all] | --status | "
						"--list | --service | --list-rules | --report | "
						"--persist=apply");
		r = parse(context, &parser);
	}
	poptFreeContext(context);
	free(closed);
	*ret_options = options;
	return r;
}

void options_free(struct options *options)
{
	while (options->nr_values)
		free(options->values[--options->nr_values]);
	free(options->values);
	free(options->request.selectors);
	free(options->command);
	free(options->error);
	*options = (struct options){ 0 };
}
