/* SPDX-License-Identifier: GPL-2.0-or-later */
/* request.h - what the user asked for: the selection, the action and its controls, as parsed */
#pragma once

#include "base/util.h"

enum selector_kind {
	SELECT_SOCKET,
	SELECT_NODE,
	SELECT_DIE,
	SELECT_CORE,
	SELECT_CORE_OF,
	SELECT_L3_OF,
	SELECT_CPU,
	SELECT_SMT,
	SELECT_APICID,
	SELECT_MCE,
	SELECT_NEAR,
	SELECT_EXCEPT,
};

struct selector {
	enum selector_kind kind;
	const char *text;    /* the option's value as given; "" for --smt */
	const char *content; /* --mce: what the file that it names holds, or the value itself */
};

enum action {
	ACTION_OFFLINE,
	ACTION_RESTORE,
	ACTION_STATUS,
	ACTION_LIST,
	ACTION_SERVICE,
	ACTION_LIST_RULES,
	ACTION_REPORT,
	ACTION_PERSIST, /* do again what was recorded before the boot */
};

enum on_error {
	ON_ERROR_ROLLBACK,
	ON_ERROR_STOP,
	ON_ERROR_CONTINUE,
};

struct request {
	enum action action;
	struct selector *selectors;
	size_t nr_selectors;
	const char *restore_id; /* --restore=ID, "all", or NULL */
	const char *migrate;	/* --migrate, "auto" if not given */
	const char *pinned;	/* --pinned, NULL if not given */
	const char *method;	/* --method, "auto" if not given */
	unsigned int batch;	/* --batch, 0 if not given */
	enum on_error on_error;
	double timeout; /* seconds per CPU, 0: none */
	double pace;	/* seconds between two changes of CPUs, 0: none */
	bool dry_run;
	bool boost;
	bool measure;
	bool profile;
	bool no_expedite;
	bool skip_unpluggable;
	bool allow_cpu0;
	bool strict;
	bool force;
	bool wait;
	bool eject;
	bool no_hooks;
	double hook_timeout; /* seconds for one hook */
	bool persist;	     /* the operation is recorded, to be done again after a reboot */
	bool socket_of;	     /* --mce means the socket, not the core */
};

/* True where a selector of @kind is part of the selection. */
bool request_has(const struct request *request, enum selector_kind kind);

/* The option's name without dashes: "socket", "core-of". */
const char *selector_kind_format(enum selector_kind kind);
