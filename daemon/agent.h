/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon: everything `pinwhy run` needs, started in order, run in one loop, stopped in reverse. */
#ifndef PINWHY_AGENT_H
#define PINWHY_AGENT_H

#include "config.h"

/*
 * `config` was gathered from `source`, and is again at SIGHUP: what can change then does.
 * Runs until a signal ends it. Returns the exit status: 0 after a clean end, 2 when it could
 * not start, which has then been logged with cause and remedy.
 */
int agent_run(struct config *config, const struct config_source *source);

#endif
