/* SPDX-License-Identifier: GPL-2.0-or-later */
/* request.c - what the user asked for: the selection, the action and its controls, as parsed */
#include "base/request.h"

const char *selector_kind_format(enum selector_kind kind)
{
	static const char *const names[] = {
		[SELECT_SOCKET] = "socket",   [SELECT_NODE] = "node",
		[SELECT_DIE] = "die",	      [SELECT_CORE] = "core",
		[SELECT_CORE_OF] = "core-of", [SELECT_L3_OF] = "l3-of",
		[SELECT_CPU] = "cpu",	      [SELECT_SMT] = "smt",
		[SELECT_APICID] = "apicid",   [SELECT_MCE] = "mce",
		[SELECT_NEAR] = "near",	      [SELECT_EXCEPT] = "except",
	};

	return names[kind];
}

bool request_has(const struct request *request, enum selector_kind kind)
{
	for (size_t i = 0; i < request->nr_selectors; i++)
		if (request->selectors[i].kind == kind)
			return true;
	return false;
}
