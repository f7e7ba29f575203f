// SPDX-License-Identifier: BSD-2-Clause
#include "storm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct storm {
	uint64_t window_ns;
	uint32_t burst;
	uint32_t nwindows;
	uint64_t births;
	struct storm_window windows[];
};

int storm_new(struct storm **ret_storm, const struct pipeline_settings *settings)
{
	uint32_t n = settings->storm_signatures ? settings->storm_signatures : 1;
	struct storm *s;

	s = calloc(1, sizeof(*s) + n * sizeof(s->windows[0]));
	if (!s)
		return -ENOMEM;
	s->window_ns = settings->storm_window_ns;
	s->burst = settings->storm_burst ? settings->storm_burst : 1;
	s->nwindows = n;
	*ret_storm = s;
	return 0;
}

void storm_free(struct storm *s)
{
	free(s);
}

static bool same(const struct storm_signature *a, const struct storm_signature *b)
{
	return a->tgid == b->tgid && a->api == b->api && a->result == b->result &&
	       a->confidence == b->confidence && a->cause == b->cause &&
	       strcmp(a->device, b->device) == 0;
}

static struct storm_window *find(struct storm *s, const struct storm_signature *signature)
{
	uint32_t i;

	for (i = 0; i < s->nwindows; i++)
		if (s->windows[i].end_mono_ns && same(&s->windows[i].signature, signature))
			return &s->windows[i];
	return NULL;
}

static struct storm_window *find_free(struct storm *s)
{
	uint32_t i;

	for (i = 0; i < s->nwindows; i++)
		if (s->windows[i].end_mono_ns == 0)
			return &s->windows[i];
	return NULL;
}

static struct storm_window *oldest(struct storm *s)
{
	struct storm_window *found = NULL;
	uint32_t i;

	for (i = 0; i < s->nwindows; i++) {
		struct storm_window *w = &s->windows[i];

		if (w->end_mono_ns && (!found || w->born < found->born))
			found = w;
	}
	return found;
}

static struct storm_window *open_window(struct storm *s, const struct storm_signature *signature,
					const struct incident *in, const char *report_id,
					uint64_t real_ns, struct storm_window *ret_evicted)
{
	struct storm_window *w = find_free(s);

	if (!w) {
		w = oldest(s);
		*ret_evicted = *w;
	}
	memset(w, 0, sizeof(*w));
	w->signature = *signature;
	memcpy(w->first_report_id, report_id, REPORT_ID_LEN);
	memcpy(w->comm, in->end.comm, sizeof(w->comm));
	memcpy(w->driver, in->end.driver, sizeof(w->driver));
	w->first_real_ns = real_ns;
	/* Never 0, which marks a free entry. */
	w->end_mono_ns = in->seen.mono_ns + s->window_ns;
	w->end_mono_ns += w->end_mono_ns == 0;
	w->born = ++s->births;
	return w;
}

bool storm_admit(struct storm *s, const struct incident *in, const struct diagnosis *d,
		 const char *report_id, uint64_t real_ns, struct storm_window *ret_evicted)
{
	struct storm_signature signature = {
		.tgid = in->end.tgid, .api = in->end.api, .result = (int32_t)in->end.result,
		.confidence = d->confidence, .cause = d->cause,
	};
	struct storm_window *w;

	memcpy(signature.device, in->end.device, sizeof(signature.device));
	ret_evicted->count = 0;
	w = find(s, &signature);
	if (!w)
		w = open_window(s, &signature, in, report_id, real_ns, ret_evicted);
	w->count++;
	w->last_real_ns = real_ns;
	w->last_mono_ns = in->end.hdr.time_ns;
	if (w->count <= s->burst)
		return true;
	w->suppressed++;
	return false;
}

bool storm_take(struct storm *s, struct storm_window *ret_window)
{
	struct storm_window *w = oldest(s);

	if (!w)
		return false;
	*ret_window = *w;
	w->end_mono_ns = 0;
	return true;
}

/* All windows are of one length: the oldest ends first. */
bool storm_take_ended(struct storm *s, uint64_t now_mono_ns, struct storm_window *ret_window)
{
	struct storm_window *w = oldest(s);

	return w && w->end_mono_ns <= now_mono_ns && storm_take(s, ret_window);
}

uint64_t storm_next(const struct storm *s)
{
	uint64_t next = 0;
	uint32_t i;

	for (i = 0; i < s->nwindows; i++) {
		uint64_t end = s->windows[i].end_mono_ns;

		if (end && (next == 0 || end < next))
			next = end;
	}
	return next;
}
