// SPDX-License-Identifier: BSD-2-Clause
/* SIGHUP: the configuration is read again. What did not change is left alone; a file with an error changes nothing. */
#include <stdlib.h>
#include <string.h>

#include "agent_state.h"
#include "log.h"

#define NS_PER_MS 1000000ULL
#define WRONG_LOGGED 8	/* lines about one file */

/* [hooks] NAME = never wins over [watch]. */
void agent_choose_hooks(const struct config *config, enum hook_mode *ret_modes)
{
	memcpy(ret_modes, config->hooks, sizeof(config->hooks));
	for (uint32_t i = 0; config->watch_stale && i < loader_nslots(); i++)
		if (loader_slot_watches(i, "stale") && ret_modes[i] == HOOK_AUTO)
			ret_modes[i] = HOOK_ALWAYS;
}

void agent_take_settings(struct agent *a)
{
	log_max_level = a->config->verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO;
	a->spans_opts.after_ns = a->config->stuck_after_ms * NS_PER_MS;
	a->spans_opts.per_gib_ns = a->config->stuck_per_gib_ms * NS_PER_MS;
}

static void on_wrong(void *ctx, const char *text)
{
	unsigned int *n = ctx;

	if (++*n <= WRONG_LOGGED)
		log_error("reload=refused %s", text);
}

static void on_stays(void *ctx, const struct config_desc *d)
{
	(void)ctx;
	log_warn("reload=partial key=%s.%s needs a restart; the old value stays", d->section, d->key);
}

static void apply(struct agent *a, const struct config *next, struct clock_pair now)
{
	enum hook_mode modes[CONFIG_HOOKS_MAX];
	unsigned int changed = config_apply(a->config, next, on_stays, NULL);
	unsigned int hooks = 0;

	agent_take_settings(a);
	if (a->loader) {
		agent_choose_hooks(a->config, modes);
		hooks = loader_set_modes(a->loader, modes);
	}
	if (hooks) {
		agent_attach(a, loop_refresh(a->loop)); /* detaching took a while */
		loader_armed_open(a->loader);
	}
	a->metrics.reload_ok = true;
	a->metrics.reload_real_ns = now.real_ns;
	log_info("reload=done settings_changed=%u hooks_changed=%u", changed, hooks);
}

void agent_reload(struct agent *a, struct clock_pair now)
{
	struct config *next = malloc(sizeof(*next));
	unsigned int wrong = 0;

	a->metrics.reloads++;
	if (next && config_gather(next, a->source, on_wrong, &wrong) == 0) {
		apply(a, next, now);
	} else {
		a->metrics.reload_ok = false;
		a->metrics.reloads_failed++;
		log_error("reload=refused errors=%u the settings in force stay", wrong);
	}
	free(next);
	sinks_reopen(a->sinks);
	if (a->http)
		http_reload(a->http);
}
