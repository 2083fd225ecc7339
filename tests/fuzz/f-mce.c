/* SPDX-License-Identifier: GPL-2.0-or-later */
/* f-mce.c - fuzz target: machine checks in any text */
#include "core/mce.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = fuzz_text(data, size);
	struct mces mces;

	fuzz_demand(!mce_parse(text, &mces), "no memory");
	for (size_t i = 0; i < mces.nr; i++) {
		const struct mce *mce = &mces.list[i];

		fuzz_demand(mce->cpu >= MCE_NONE && mce->apic >= MCE_NONE &&
				    mce->socket >= MCE_NONE,
			    "a negative number");
		fuzz_demand(mce->cpu != MCE_NONE || mce->apic != MCE_NONE ||
				    mce->socket != MCE_NONE,
			    "a machine check of nobody");
	}
	mces_free(&mces);
	return 0;
}
