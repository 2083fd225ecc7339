/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report.c - what an action has to tell: filled by cli/actions, laid out by cli/text and cli/json */
#include "cli/report.h"

static const struct {
	const char *name;
	const char *machine;
} verdicts[] = {
	[VERDICT_DONE] = { "done", "as-asked" },
	[VERDICT_NOTHING_TO_DO] = { "nothing-to-do", "as-asked" },
	[VERDICT_READY] = { "ready", "as-before" },
	[VERDICT_ROLLED_BACK] = { "rolled-back", "as-before" },
	[VERDICT_INVALID] = { "invalid", "as-before" },
	[VERDICT_REFUSED] = { "refused", "as-before" },
	[VERDICT_FAILED] = { "failed", "in-between" },
	[VERDICT_STUCK] = { "stuck", "in-between" },
	[VERDICT_PARTIAL] = { "partial", "in-between" },
};

const char *verdict_format(enum verdict verdict)
{
	return verdicts[verdict].name;
}

const char *report_format_machine(const struct report *report)
{
	return report->options->request.dry_run ? "as-before" : verdicts[report->verdict].machine;
}
