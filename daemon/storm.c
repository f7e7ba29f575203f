// SPDX-License-Identifier: BSD-2-Clause
#include "storm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A cgroup that fails. Its period begins with a report in full and is as long as a window; what
 * the budget allows is counted within it.
 */
struct group {
	bool used;
	bool hazards;		/* of its hazards alone */
	bool have_cgroup;
	uint64_t cgroup_id;
	uint64_t period_end_ns;	/* 0 = none is open */
	uint64_t active;	/* when it failed last, in failures */
	uint32_t nwindows;	/* kinds that are open */
	uint32_t reports;	/* in full, in this period */
	uint32_t ntallies;
	struct storm_tally tallies[STORM_TALLIES];
	struct storm_window others;	/* further kinds in this period */
	char first_report_id[REPORT_ID_LEN];
	char cgroup[WIRE_CGROUP_LEN];
};

struct storm {
	uint64_t window_ns;
	uint32_t burst, budget;
	uint32_t nwindows, ngroups;
	uint64_t births, failures;
	struct storm_counts counts;
	struct group *groups;
	struct storm_window windows[];
};

static uint32_t at_least_one(uint32_t n)
{
	return n ? n : 1;
}

int storm_new(struct storm **ret_storm, const struct pipeline_settings *settings)
{
	uint32_t n = at_least_one(settings->storm_signatures);
	struct storm *s;

	s = calloc(1, sizeof(*s) + n * sizeof(s->windows[0]));
	if (!s)
		return -ENOMEM;
	s->window_ns = settings->storm_window_ns;
	s->burst = at_least_one(settings->storm_burst);
	s->budget = at_least_one(settings->storm_cgroup_reports);
	s->nwindows = n;
	s->ngroups = at_least_one(settings->storm_cgroups);
	s->groups = calloc(s->ngroups, sizeof(s->groups[0]));
	if (!s->groups) {
		storm_free(s);
		return -ENOMEM;
	}
	*ret_storm = s;
	return 0;
}

void storm_free(struct storm *s)
{
	if (s)
		free(s->groups);
	free(s);
}

/* --- tables --------------------------------------------------------------------- */

/* Hazards have a budget of their own: they come in numbers, and before the failures that they are about. */
static struct group *find_group(struct storm *s, const struct incident *in)
{
	uint32_t i;

	for (i = 0; i < s->ngroups; i++)
		if (s->groups[i].used && s->groups[i].cgroup_id == in->end.cgroup_id && s->groups[i].hazards == in->hazard)
			return &s->groups[i];
	return NULL;
}

static struct group *free_group(struct storm *s)
{
	uint32_t i;

	for (i = 0; i < s->ngroups; i++)
		if (!s->groups[i].used)
			return &s->groups[i];
	return NULL;
}

static struct group *quietest_group(struct storm *s)
{
	struct group *found = NULL;
	uint32_t i;

	for (i = 0; i < s->ngroups; i++)
		if (s->groups[i].used && (!found || s->groups[i].active < found->active))
			found = &s->groups[i];
	return found;
}

/* The one that holds most kinds; of equals the one that has been quiet for longest. */
static struct group *largest_group(struct storm *s)
{
	struct group *found = NULL;
	uint32_t i;

	for (i = 0; i < s->ngroups; i++) {
		struct group *g = &s->groups[i];

		if (!g->used)
			continue;
		if (!found || g->nwindows > found->nwindows ||
		    (g->nwindows == found->nwindows && g->active < found->active))
			found = g;
	}
	return found;
}

static bool same(const struct storm_signature *a, const struct storm_signature *b)
{
	return a->tgid == b->tgid && a->api == b->api && a->result == b->result &&
	       a->confidence == b->confidence && a->cause == b->cause && a->grade == b->grade &&
	       strcmp(a->stage, b->stage) == 0 && strcmp(a->device, b->device) == 0;
}

static struct storm_window *find_window(struct storm *s, const struct group *g,
					const struct storm_signature *signature)
{
	uint32_t i, group = (uint32_t)(g - s->groups);

	for (i = 0; i < s->nwindows; i++)
		if (s->windows[i].end_mono_ns && s->windows[i].group == group &&
		    same(&s->windows[i].signature, signature))
			return &s->windows[i];
	return NULL;
}

static struct storm_window *free_window(struct storm *s)
{
	uint32_t i;

	for (i = 0; i < s->nwindows; i++)
		if (s->windows[i].end_mono_ns == 0)
			return &s->windows[i];
	return NULL;
}

/* Of this group, or of all when it is NULL. */
static struct storm_window *oldest_window(struct storm *s, const struct group *g)
{
	struct storm_window *found = NULL;
	uint32_t i;

	for (i = 0; i < s->nwindows; i++) {
		struct storm_window *w = &s->windows[i];

		if (w->end_mono_ns && (!g || &s->groups[w->group] == g) && (!found || w->born < found->born))
			found = w;
	}
	return found;
}

static struct group *oldest_period(struct storm *s)
{
	struct group *found = NULL;
	uint32_t i;

	for (i = 0; i < s->ngroups; i++) {
		struct group *g = &s->groups[i];

		if (g->used && g->period_end_ns && (!found || g->period_end_ns < found->period_end_ns))
			found = g;
	}
	return found;
}

static uint64_t window_end(const struct storm *s, const struct storm_failure *f)
{
	uint64_t end = f->in->seen.mono_ns + s->window_ns;

	return end ? end : 1;	/* 0 marks a free entry */
}

/* --- out ------------------------------------------------------------------------ */

/* A group is kept for its kinds and for its budget. */
static void settle(struct group *g)
{
	if (g->nwindows == 0 && g->period_end_ns == 0)
		g->used = false;
}

/* Fills the summary, when there is something to tell. */
static bool tell(struct storm *s, const struct group *g, const struct storm_window *w,
		 struct storm_summary *ret_summary)
{
	if (w->suppressed == 0)
		return false;
	memset(ret_summary, 0, sizeof(*ret_summary));
	ret_summary->window = *w;
	ret_summary->have_cgroup = g->have_cgroup;
	memcpy(ret_summary->cgroup, g->cgroup, sizeof(ret_summary->cgroup));
	ret_summary->budget = s->budget;
	s->counts.open -= w->suppressed;
	return true;
}

static bool take_window(struct storm *s, struct storm_window *w, struct storm_summary *ret_summary)
{
	struct group *g = &s->groups[w->group];
	bool told = tell(s, g, w, ret_summary);

	w->end_mono_ns = 0;
	g->nwindows--;
	settle(g);
	return told;
}

static bool take_period(struct storm *s, struct group *g, struct storm_summary *ret_summary)
{
	bool told = tell(s, g, &g->others, ret_summary);

	if (told) {
		ret_summary->other_kinds = true;
		ret_summary->ntallies = g->ntallies;
		memcpy(ret_summary->tallies, g->tallies, sizeof(ret_summary->tallies));
	}
	memset(&g->others, 0, sizeof(g->others));
	g->ntallies = 0;
	g->reports = 0;
	g->period_end_ns = 0;
	settle(g);
	return told;
}

static bool make_room_for_group(struct storm *s, struct storm_summary *ret_summary)
{
	struct group *g;

	while (!free_group(s)) {
		g = quietest_group(s);
		s->counts.evicted++;
		if (g->nwindows ? take_window(s, oldest_window(s, g), ret_summary) :
		    take_period(s, g, ret_summary))
			return true;
	}
	return false;
}

static struct storm_signature signature_of(const struct storm_failure *f)
{
	struct storm_signature signature = {
		.tgid = f->in->end.tgid, .api = f->in->end.api, .result = (int32_t)f->in->end.result,
		.confidence = f->diagnosis->confidence, .cause = f->diagnosis->cause, .stage = f->stage,
		.grade = f->diagnosis->verdict.grade,
	};

	memcpy(signature.device, f->in->end.device, sizeof(signature.device));
	return signature;
}

/*
 * The group with most kinds pays, and among equals the one that wants more. What a kind that gave
 * way costs when it comes again is bounded by the budget, which stays with its group.
 */
static bool make_room_for_window(struct storm *s, struct group *g, struct storm_summary *ret_summary)
{
	struct group *from;

	while (!free_window(s)) {
		from = largest_group(s);
		if (g && g->nwindows == from->nwindows)
			from = g;
		s->counts.evicted++;
		if (take_window(s, oldest_window(s, from), ret_summary))
			return true;
	}
	return false;
}

bool storm_give_way(struct storm *s, const struct storm_failure *f, struct storm_summary *ret_summary)
{
	struct storm_signature signature = signature_of(f);
	struct group *g = find_group(s, f->in);

	if (g && (find_window(s, g, &signature) || g->reports >= s->budget))
		return false;
	if (!g && make_room_for_group(s, ret_summary))
		return true;
	return make_room_for_window(s, g, ret_summary);
}

/* Kinds end one window after they began, as periods do: the oldest of each ends first. */
bool storm_take_ended(struct storm *s, uint64_t now_mono_ns, struct storm_summary *ret_summary)
{
	for (;;) {
		struct storm_window *w = oldest_window(s, NULL);
		struct group *g = oldest_period(s);

		if (w && w->end_mono_ns <= now_mono_ns) {
			if (take_window(s, w, ret_summary))
				return true;
		} else if (g && g->period_end_ns <= now_mono_ns) {
			if (take_period(s, g, ret_summary))
				return true;
		} else {
			return false;
		}
	}
}

/* --- in ------------------------------------------------------------------------- */

static struct group *open_group(struct storm *s, const struct storm_failure *f)
{
	struct group *g = free_group(s);

	memset(g, 0, sizeof(*g));
	g->used = true;
	g->cgroup_id = f->in->end.cgroup_id;
	g->hazards = f->in->hazard;
	g->have_cgroup = f->in->end.have & WIRE_HAVE_CGROUP;
	memcpy(g->cgroup, f->in->end.cgroup, sizeof(g->cgroup));
	return g;
}

static void begin(struct storm *s, struct storm_window *w, const struct storm_failure *f,
		  const char *first_report_id)
{
	memset(w, 0, sizeof(*w));
	w->signature = signature_of(f);
	memcpy(w->first_report_id, first_report_id, REPORT_ID_LEN);
	memcpy(w->comm, f->in->end.comm, sizeof(w->comm));
	memcpy(w->driver, f->in->end.driver, sizeof(w->driver));
	w->first_real_ns = f->real_ns;
	w->end_mono_ns = window_end(s, f);
	w->born = ++s->births;
}

static void count(struct storm_window *w, const struct storm_failure *f)
{
	w->count++;
	w->last_real_ns = f->real_ns;
	w->last_mono_ns = f->in->end.hdr.time_ns;
}

static void suppress(struct storm *s, struct storm_window *w)
{
	w->suppressed++;
	s->counts.open++;
}

static void begin_period(struct storm *s, struct group *g, const struct storm_failure *f)
{
	if (g->period_end_ns)
		return;
	g->period_end_ns = window_end(s, f);
	g->reports = 0;
}

/* Charges the budget. False: it is used up. */
static bool spend(struct storm *s, struct group *g, const struct storm_failure *f)
{
	if (g->reports >= s->budget)
		return false;
	begin_period(s, g, f);
	if (g->reports++ == 0)
		memcpy(g->first_report_id, f->report_id, REPORT_ID_LEN);
	return true;
}

static void tally(struct group *g, const struct storm_signature *signature)
{
	struct storm_tally *t;
	uint32_t i;

	for (i = 0; i < g->ntallies; i++) {
		t = &g->tallies[i];
		if (t->cause == signature->cause && t->result == signature->result &&
		    strcmp(t->stage, signature->stage) == 0) {
			t->count++;
			return;
		}
	}
	if (g->ntallies == STORM_TALLIES)
		return;
	g->tallies[g->ntallies++] = (struct storm_tally){
		.cause = signature->cause, .stage = signature->stage, .result = signature->result, .count = 1,
	};
}

/* Leaves of `all` what it has in common with `one`. */
static void keep_common(struct storm_signature *all, const struct storm_signature *one)
{
	if (all->api != one->api)
		all->api = WIRE_API_NONE;
	if (all->result != one->result)
		all->result = 0;
	if (all->cause != one->cause) {
		all->cause = NULL;
		all->confidence = CONFIDENCE_unknown;
	} else if (one->confidence < all->confidence) {
		all->confidence = one->confidence;
	}
	if (all->stage && strcmp(all->stage, one->stage) != 0)
		all->stage = NULL;
	if (strcmp(all->device, one->device) != 0)
		memset(all->device, 0, sizeof(all->device));
}

static void fold_other_kind(struct storm *s, struct group *g, const struct storm_failure *f)
{
	struct storm_window *others = &g->others;
	struct storm_signature signature = signature_of(f);

	begin_period(s, g, f);
	if (others->count == 0)
		begin(s, others, f, g->first_report_id);
	keep_common(&others->signature, &signature);
	if (strcmp(others->driver, f->in->end.driver) != 0)
		memset(others->driver, 0, sizeof(others->driver));
	tally(g, &signature);
	count(others, f);
	suppress(s, others);
	s->counts.other_kinds++;
}

bool storm_admit(struct storm *s, const struct storm_failure *f)
{
	struct storm_signature signature = signature_of(f);
	struct group *g = find_group(s, f->in);
	struct storm_window *w;

	if (!g)
		g = open_group(s, f);
	g->active = ++s->failures;
	w = find_window(s, g, &signature);
	if (!w && g->reports < s->budget) {
		w = free_window(s);
		begin(s, w, f, f->report_id);
		w->group = (uint32_t)(g - s->groups);
		g->nwindows++;
	}
	if (!w) {
		fold_other_kind(s, g, f);
		return false;
	}
	count(w, f);
	if (w->count <= s->burst && spend(s, g, f))
		return true;
	suppress(s, w);
	return false;
}

uint64_t storm_next(const struct storm *s)
{
	uint64_t next = 0, end;
	uint32_t i;

	for (i = 0; i < s->nwindows; i++) {
		end = s->windows[i].end_mono_ns;
		if (end && (next == 0 || end < next))
			next = end;
	}
	for (i = 0; i < s->ngroups; i++) {
		end = s->groups[i].used ? s->groups[i].period_end_ns : 0;
		if (end && (next == 0 || end < next))
			next = end;
	}
	return next;
}

void storm_counts(const struct storm *s, struct storm_counts *ret_counts)
{
	*ret_counts = s->counts;
}
