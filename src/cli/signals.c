/* SPDX-License-Identifier: GPL-2.0-or-later */
/* signals.c - signals set a flag, nothing else */
#include "cli/signals.h"

#include <stddef.h>

static volatile sig_atomic_t nr_interrupts;
static volatile sig_atomic_t first_signal;

static void count(int signo)
{
	if (!nr_interrupts)
		first_signal = signo;
	nr_interrupts = nr_interrupts + 1;
}

const volatile sig_atomic_t *signals_install(void)
{
	static const int ignored[] = { SIGHUP, SIGPIPE, SIGTSTP };
	/* no SA_RESTART: a pause must end when somebody wants to stop */
	struct sigaction action = { .sa_handler = count };

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	return &nr_interrupts;
}

int signals_first(void)
{
	return first_signal;
}
