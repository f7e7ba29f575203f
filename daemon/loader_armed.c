// SPDX-License-Identifier: BSD-2-Clause
/*
 * Armed watching comes and goes. What it saw counts only while every way to give a pin back is hooked, and no run of such
 * a hook was skipped: else nobody is named, and what was entered is not there any more.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "loader_state.h"

static const enum slot_id releases[] = {
	SLOT_ID_armed_unpin_page, SLOT_ID_armed_unpin_pages, SLOT_ID_armed_unpin_dirty_exit, SLOT_ID_armed_unpin_dirty_enter,
	SLOT_ID_armed_unpin_range, SLOT_ID_armed_unpin_user_folio, SLOT_ID_armed_unpin_folio, SLOT_ID_armed_unpin_folios,
};
#define FORGET_TRIES 8192	/* entries that are taken out at once: all there are, and as many that come meanwhile */
#define GRACE_NS 10000000	/* a record may be on its way while we stop believing it */
#define LINGER_NS 10000000000ULL	/* hooks stay on so long: what fails and ends in a loop must not make them come and go */
#define NRELEASES (sizeof(releases) / sizeof(releases[0]))

bool loader_armed_possible(const struct loader *l, const char **ret_why)
{
	static char why[160];
	struct kfacts_function f;
	const char *name = "";

	*ret_why = why;
	if (!kfacts_loops(l->kf)) {
		snprintf(why, sizeof(why), "who pins what in an armed process " NEEDS_LOOPS);
		return false;
	}
	if (kfacts_release_unknown(l->kf, &name)) {
		snprintf(why, sizeof(why), "pins may be given back through %s, which this pinwhy does not know", name);
		return false;
	}
	if (loader_way_lacks(l, ATTACH_TRAMPOLINE)) {
		snprintf(why, sizeof(why), "this kernel has no trampolines for functions, and by probes alone it is not seen which pins are given back");
		return false;
	}
	for (size_t i = 0; i < NRELEASES; i++) {
		const struct variant *v = &l->slots[releases[i]].variants[0];

		if (kfacts_code(l->kf, v->target) == ANSWER_NO)
			continue;
		if (l->modes[releases[i]] == HOOK_NEVER || loader_avoided(l, releases[i], v->how)) {
			snprintf(why, sizeof(why), "the configuration forbids to hook %s, through which pins are given back", v->target);
			return false;
		}
		if (kfacts_function(l->kf, v->target, &f) == ANSWER_YES && (*f.split || *f.changed)) {
			snprintf(why, sizeof(why), "pins may be given back past %s, through %.64s", v->target, *f.split ? f.split : f.changed);
			return false;
		}
		if (kfacts_symbol(l->kf, v->target, &f.module) != ANSWER_YES || !kfacts_btf_func(l->kf, v->target)) {
			snprintf(why, sizeof(why), "%s, through which pins are given back, cannot be hooked", v->target);
			return false;
		}
	}
	return true;
}

/* Are all that there are hooked? */
static bool complete(const struct loader *l)
{
	const char *name;

	for (size_t i = 0; i < NRELEASES; i++) {
		const struct slot *s = &l->slots[releases[i]];

		if (s->link ? s->bypass[0] : kfacts_code(l->kf, s->variants[0].target) != ANSWER_NO)
			return false;
	}
	return !kfacts_release_unknown(l->kf, &name);
}

static uint64_t releases_missed(const struct loader *l)
{
	struct slot_status st;
	uint64_t sum = 0;

	for (size_t i = 0; i < NRELEASES; i++) {
		loader_status(l, releases[i], &st);
		sum += st.missed;
	}
	return sum;
}

uint64_t loader_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

/* What was seen until now is not so any more. The entries themselves only take room. */
static void forget_held(struct loader *l)
{
	int fd = bpf_object__find_map_fd_by_name(l->maps, "held");
	uint32_t tries = FORGET_TRIES;
	uint64_t key;

	l->armed_epoch = __atomic_add_fetch(&l->armed->epoch, 1, __ATOMIC_SEQ_CST);
	l->armed_since_ns = loader_clock_ns() + GRACE_NS;
	while (l->armed->folios && tries-- && !bpf_map_get_next_key(fd, NULL, &key))
		if (!bpf_map_delete_elem(fd, &key))
			__atomic_fetch_sub(&l->armed->folios, 1, __ATOMIC_SEQ_CST);
}

/* Has anything been missed since we began to believe what is seen? */
static bool missed(const struct loader *l)
{
	return l->armed->epoch != l->armed_epoch || releases_missed(l) != l->armed_missed;
}

static void begin(struct loader *l)
{
	l->armed_missed = releases_missed(l);
	forget_held(l);
}

/* Is it certain that none of its releases up to then was missed? */
static bool releases_seen(const struct loader *l, const struct wire_pin *pin, uint64_t time_ns)
{
	switch (pin->via) {
	case WIRE_PIN_VIA_PIN_FAST:
	case WIRE_PIN_VIA_PIN:
		return l->armed->open && time_ns >= l->armed_since_ns && !missed(l) && !l->was_blind;
	case WIRE_PIN_VIA_NVIDIA:
		return !l->was_blind && !loader_unlocks_missed(l);
	default:
		return true; /* told with a doubt anyway, or of no release */
	}
}

/* The pin that a record says is held, NULL = it says so of none. */
static struct wire_pin *held_pin(union judged *r, size_t size)
{
	if (size == sizeof(r->holder) && r->hdr.kind == WIRE_HOLDER)
		return &r->holder.pin;
	return size == sizeof(r->blocked) && r->hdr.kind == WIRE_CMA_BLOCKED ? &r->blocked.holder.pin : NULL;
}

const void *loader_judge(const struct loader *l, const void *data, size_t size, union judged *copy)
{
	const struct wire_hdr *hdr = data;
	struct wire_pin *pin;

	data = loader_judge_device(data, size, copy);
	if (size > sizeof(*copy) || size < sizeof(*hdr) || (hdr->kind != WIRE_HOLDER && hdr->kind != WIRE_CMA_BLOCKED))
		return data;
	memcpy(copy, data, size);
	pin = held_pin(copy, size);
	if (!pin || pin->doubt != WIRE_DOUBT_NONE || releases_seen(l, pin, hdr->time_ns))
		return data;
	pin->doubt = WIRE_DOUBT_MISSED;
	return copy;
}

uint32_t loader_armed_processes(const struct loader *l, uint64_t now_ns)
{
	uint32_t n = 0;

	for (int i = 0; i < WIRE_ARMED_MAX; i++)
		n += l->armed->processes[i].tgid && now_ns < l->armed->processes[i].until_ns;
	return n;
}

uint64_t loader_armed_folios(const struct loader *l)
{
	return l->armed->folios;
}

void loader_armed_open(struct loader *l)
{
	if (l->armed->open || !complete(l))
		return;
	begin(l);
	__atomic_store_n(&l->armed->open, 1, __ATOMIC_SEQ_CST);
}

void loader_armed_close(struct loader *l)
{
	if (!l->armed)
		return;
	__atomic_store_n(&l->armed->open, 0, __ATOMIC_SEQ_CST);
	forget_held(l);
	__atomic_store_n(&l->armed->refs_forgotten, __atomic_load_n(&l->armed->refs, __ATOMIC_SEQ_CST), __ATOMIC_SEQ_CST);
}

void loader_armed_check(struct loader *l)
{
	if (l->armed->open && (missed(l) || l->was_blind))
		begin(l);
}

bool loader_armed_step(struct loader *l, uint64_t now_ns)
{
	bool wanted = loader_armed_processes(l, now_ns) > 0;

	if (wanted)
		l->armed_wanted_ns = now_ns;
	else
		wanted = l->arming && now_ns - l->armed_wanted_ns < LINGER_NS;
	if (wanted == l->arming)
		return false;
	l->arming = wanted;
	if (!wanted) {
		loader_armed_close(l);
		loader_detach_armed(l);
	}
	l->modules_seen = 0; /* what is to be attached has changed */
	return true;
}
