// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Armed watching: which folios the pins of armed processes hold, by the calls that took them, and which they took plain
 * references of. Loaded while a process is armed, and under pinwhy trace; held.bpf.h and refs.bpf.h say what follows from an
 * entry and what does not.
 *
 * fentry and fexit alone. Between them they have the arguments and the result of one call, and a run that the kernel skips is
 * counted on every kernel (recursion_misses), which those of kprobe programs are not before 6.7. A pin that was missed makes
 * the count disagree; a release that was missed empties everything (the daemon looks before it believes a record).
 */
#include "armed.bpf.h"
#include "flavors.bpf.h"
#include "refs.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define ENTER_MAX 4096	/* pages of one call that are entered */
#define RELEASE_MAX (1 << 18)	/* pages of one release that are looked for; more empty everything */
#define TAKE_ID (1ULL << 62)	/* apart from the ids of other pins */

static __always_inline void forget_all(struct wire_armed *a)
{
	__sync_fetch_and_add(&a->epoch, 1);
}

static __always_inline struct page *page_at(__u64 array, __u64 i)
{
	struct page *page = NULL;

	bpf_probe_read_kernel(&page, sizeof(page), (void *)(array + i * sizeof(page)));
	return page;
}

/* As a number: a pointer to a pointer may not be read from the context, and one with a type not be reckoned with. */
static __always_inline __u64 argument(void *ctx, __u32 n)
{
	__u64 value = 0;

	bpf_get_func_arg(ctx, n, &value);
	return value;
}

/* --- pins ----------------------------------------------------------------------------- */

struct enter_walk {
	struct wire_armed *state;
	struct take *take;
	__u64 id, array, pages;
	__u64 folio;	/* of the pages before this one, */
	__u32 first, n;	/* which one began it, and how many there are */
	__u64 who;	/* takes plain references of them, 0 = pins */
};

static __always_inline bool same_taker(const struct take *a, const struct take *b)
{
	if (a->pin.tgid != b->pin.tgid || a->pin.task_start_ns != b->pin.task_start_ns || a->pin.gup_flags != b->pin.gup_flags)
		return false;
	for (int i = 0; i < WIRE_KSTACK_MAX; i++)
		if (a->stack[i] != b->stack[i])
			return false;
	return true;
}

static __always_inline bool held_new(struct enter_walk *w, struct wire_armed *a, __u64 folio, struct take *t)
{
	struct held_folio h = {
		.folio = folio, .take = w->id, .changed_ns = bpf_ktime_get_ns(), .pins = w->n, .epoch = a->epoch, .page = w->first,
		.calls = 1, .last = w->id,
	};

	/* Before it is there: a release that finds 0 looks no further. */
	__sync_fetch_and_add(&a->folios, 1);
	if (!bpf_map_update_elem(&held, &folio, &h, BPF_NOEXIST)) {
		__sync_fetch_and_add(&t->folios, 1);
		return true;
	}
	__sync_fetch_and_add(&a->folios, -1);
	return false;
}

static __always_inline void held_drop(struct wire_armed *a, __u64 folio, __u64 take)
{
	struct take *t = take_of(take);

	if (bpf_map_delete_elem(&held, &folio))
		return;
	__sync_fetch_and_add(&a->folios, -1);
	if (t)
		__sync_fetch_and_add(&t->folios, -1);
}

static __always_inline void enter_folio(struct enter_walk *w, struct wire_armed *a, struct take *t)
{
	__u64 folio = w->folio;
	struct held_folio *h = bpf_map_lookup_elem(&held, &folio);
	struct take *first;
	__u64 take;

	if (h && (h->pins <= 0 || h->epoch != a->epoch)) {
		held_drop(a, folio, h->take);
		h = NULL;
	}
	if (!h) {
		if (held_new(w, a, folio, t))
			return;
		h = bpf_map_lookup_elem(&held, &folio);
	}
	if (!h) {
		COUNT(armed_unkept);
		return;
	}
	take = h->take;
	first = take_of(take);
	if (!first || !same_taker(first, t))
		h->mixed = 1;
	h->changed_ns = bpf_ktime_get_ns();
	/* A call may come back to a folio after pages of others. */
	if (h->last != w->id)
		h->calls++;
	h->last = w->id;
	__sync_fetch_and_add(&h->pins, w->n);
	/* The entry was given to another folio, or to another taker of it, who now has pins that he did not take. */
	if (h->folio != folio || h->take != take)
		forget_all(a);
}

/* One round more than there are pages: the last folio is entered behind its last page. */
static long enter_one(__u32 i, void *ctx)
{
	struct enter_walk *w = ctx;
	struct wire_armed *a = w->state;
	struct take *t = w->take;
	__u64 folio = 0;

	if (!a || !t)
		return 1;
	if (i < w->pages)
		folio = (__u64)folio_of_page(page_at(w->array, i));
	if (folio == w->folio && i < w->pages) {
		w->n++;
		return 0;
	}
	if (w->folio && w->who)
		ref_enter(a, t, w->id, w->who, w->folio, w->first);
	else if (w->folio)
		enter_folio(w, a, t);
	w->folio = folio;
	w->first = i;
	w->n = 1;
	return i >= w->pages;
}

#define TAKE_TRIES 8	/* places that are looked at for one of whose call no folio is left */

/*
 * A place among the calls that are told of, for one writer: that of the oldest call, of TAKE_TRIES, with no folio left, or
 * the last of them, whatever it has. What was there is not known any more.
 */
static __always_inline struct take *take_claim(struct wire_armed *a, __u64 *ret_id)
{
#pragma unroll
	for (int i = 1; i <= TAKE_TRIES; i++) {
		__u64 id = TAKE_ID | (__sync_fetch_and_add(&a->calls, 1) + 1);
		__u32 key = id & (TAKES_MAX - 1);
		struct take *t = bpf_map_lookup_elem(&takes, &key);

		if (!t || (i < TAKE_TRIES && t->folios > 0))
			continue;
		if (__sync_val_compare_and_swap(&t->busy, 0, 1))
			continue;
		if (t->folios > 0)
			COUNT(armed_evicted);
		*ret_id = id;
		return t;
	}
	return NULL;
}

/* The same for a call that takes plain references, whose folios stay: that of the oldest call. */
static __always_inline struct take *ref_take_claim(struct wire_armed *a, __u64 *ret_id)
{
	__u64 id = REF_ID | (__sync_fetch_and_add(&a->refs, 1) + 1);
	__u32 key = id & (TAKES_MAX - 1);
	struct take *t = bpf_map_lookup_elem(&ref_takes, &key);

	if (!t || __sync_val_compare_and_swap(&t->busy, 0, 1))
		return NULL;
	if (t->folios > 0 && ref_there(a, t->pin.id))
		COUNT_BY(armed_refs_evicted, t->folios);
	*ret_id = id;
	return t;
}

/* Without an id while it is written, so that no reader takes parts of two calls for one. */
static __always_inline struct take *take_new(void *ctx, struct wire_armed *a, __u64 start, __u64 pages, __u32 gup_flags, __u32 via,
					     __u64 *ret_id)
{
	struct take *t = via == WIRE_PIN_VIA_GET_FAST ? ref_take_claim(a, ret_id) : take_claim(a, ret_id);
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	long bytes;

	if (!t)
		return NULL;
	__sync_lock_test_and_set(&t->pin.id, 0);
	t->folios = 0;
	__builtin_memset(t->stack, 0, sizeof(t->stack));
	bytes = bpf_get_stack(ctx, t->stack, sizeof(t->stack), 0);
	t->nstack = bytes > 0 ? bytes / sizeof(t->stack[0]) : 0;
	t->pin.since_ns = bpf_ktime_get_ns();
	t->pin.task_start_ns = current_start();
	t->pin.address = start;
	t->pin.pages = pages;
	t->pin.tgid = pid_tgid >> 32;
	t->pin.tid = (__u32)pid_tgid;
	t->pin.gup_flags = gup_flags;
	t->pin.calls = 1;
	t->pin.via = via;
	bpf_get_current_comm(t->pin.comm, sizeof(t->pin.comm));
	__sync_lock_test_and_set(&t->pin.id, *ret_id);
	__sync_lock_test_and_set(&t->busy, 0);
	return t;
}

/* How many pages were left out. */
static __always_inline __u64 taken(void *ctx, __s64 got, __u32 via)
{
	struct enter_walk w = { .state = armed_state(), .array = argument(ctx, 3) };
	__u64 start = user_address(argument(ctx, 0)) & ~((1ULL << cfg.page_shift) - 1);

	if (got <= 0 || !w.array || !w.state || !w.state->open || !armed_current(w.state))
		return 0;
	w.pages = got < ENTER_MAX ? got : ENTER_MAX;
	w.take = take_new(ctx, w.state, start, got, argument(ctx, 2), via, &w.id);
	if (!w.take)
		return got;
	if (via == WIRE_PIN_VIA_GET_FAST)
		w.who = ref_taker(w.take);
	/* Not 0: older verifiers look at one round alone, and take out what is never reached in that. */
	w.folio = (__u64)folio_of_page(page_at(w.array, 0));
	bpf_loop(ENTER_MAX + 1, enter_one, &w, 0);
	return got - w.pages;
}

static __always_inline int pinned(void *ctx, __s64 got, __u32 via)
{
	__u64 left = taken(ctx, got, via);

	if (left)
		COUNT_BY(armed_unkept, left);
	return 0;
}

/*
 * slot armed_pin_fast: pin_user_pages_fast (mm/gup.c).
 * Why: most who pin for themselves do so through it. Context: process. Rate: every direct I/O and io_uring request of
 * every task; those of others are sent back by the loads of one cache line.
 */
SEC("?fexit/pin_user_pages_fast")
int armed_pin_fast__fexit(void *ctx)
{
	__u64 got = 0;

	bpf_get_func_ret(ctx, &got);
	return pinned(ctx, (int)got, WIRE_PIN_VIA_PIN_FAST);
}

/*
 * slot armed_pin: pin_user_pages (mm/gup.c).
 * Why: what drivers call that hold the mmap lock. Its arguments became fewer by one, and the result is asked for by itself.
 * Misses: pin_user_pages_remote and _unlocked, memfd_pin_folios: what they pin makes the count disagree.
 */
SEC("?fexit/pin_user_pages")
int armed_pin__fexit(void *ctx)
{
	__u64 got = 0;

	bpf_get_func_ret(ctx, &got);
	return pinned(ctx, got, WIRE_PIN_VIA_PIN);
}

/*
 * slot armed_get_fast: get_user_pages_fast (mm/gup.c).
 * Why: nothing else tells whose plain references are. Context: process. Rate: every direct I/O of kernels that take
 * references for it, and shared futexes; those of others are sent back as above.
 * Misses: how they are given back; get_user_pages, get_user_pages_remote and _unlocked, whose references have no candidate.
 */
SEC("?fexit/get_user_pages_fast")
int armed_get_fast__fexit(void *ctx)
{
	__u64 got = 0, left;

	bpf_get_func_ret(ctx, &got);
	left = taken(ctx, (int)got, WIRE_PIN_VIA_GET_FAST);
	if (left) {
		COUNT_BY(armed_refs, left);
		COUNT_BY(armed_refs_evicted, left);
	}
	return 0;
}

/* --- releases --------------------------------------------------------------------------- */

/* Before the pins go, so that no entry is of one that was given back. */
static __always_inline void release_folio(struct wire_armed *a, __u64 folio, __u32 n)
{
	struct held_folio *h = bpf_map_lookup_elem(&held, &folio);
	__s32 left;
	__u64 take;

	if (!h)
		return;
	take = h->take;
	h->changed_ns = bpf_ktime_get_ns();
	left = __sync_fetch_and_add(&h->pins, -(__s32)n) - (__s32)n;
	if (h->folio != folio)
		forget_all(a);
	else if (left <= 0)
		held_drop(a, folio, take);
}

/* There is nothing to look for while nothing is entered. */
static __always_inline struct wire_armed *anything_held(void)
{
	struct wire_armed *a = armed_state();

	return a && a->folios ? a : NULL;
}

struct release_walk {
	struct wire_armed *state;
	__u64 array;	/* of pages, */
	__u64 page;	/* or the first of a range of them, when not 0 */
	__u64 pages;
	__u64 folio;
	__u32 n;
	__u32 of_folios;	/* the array is of folios */
};

static __always_inline __u64 released_folio(const struct release_walk *w, __u64 i)
{
	struct page *page = w->page ? (void *)w->page + i * bpf_core_type_size(struct page) : page_at(w->array, i);

	if (!page || w->of_folios)
		return (__u64)page;
	return (__u64)folio_of_page(page);
}

static long release_one(__u32 i, void *ctx)
{
	struct release_walk *w = ctx;
	struct wire_armed *a = w->state;
	__u64 folio = 0;

	if (!a)
		return 1;
	if (i < w->pages)
		folio = released_folio(w, i);
	if (folio == w->folio && i < w->pages) {
		w->n++;
		return 0;
	}
	if (w->folio)
		release_folio(a, w->folio, w->n);
	w->folio = folio;
	w->n = 1;
	return i >= w->pages;
}

static __always_inline int released(struct release_walk *w)
{
	if (w->pages > RELEASE_MAX) {
		forget_all(w->state);
		return 0;
	}
	w->folio = released_folio(w, 0);	/* not 0, as above */
	bpf_loop(RELEASE_MAX + 1, release_one, w, 0);
	return 0;
}

static __always_inline int released_one(__u64 folio, __u64 n)
{
	struct wire_armed *a = anything_held();

	if (!a)
		return 0;
	if (n > RELEASE_MAX)
		forget_all(a);
	else
		release_folio(a, folio, n);
	return 0;
}

static __always_inline int released_pages(__u64 array, __u64 pages, __u32 of_folios)
{
	struct release_walk w = { .state = anything_held(), .array = array, .pages = pages, .of_folios = of_folios };

	return w.state ? released(&w) : 0;
}

/* unpin_user_pages_dirty_lock() of pages that stay clean, by the thread that is in it. */
struct clean_release {
	__u64 array;
	__u64 epoch;	/* of when its begin was seen: one whose end was missed means nothing in the next */
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, struct clean_release);
} clean_releases SEC(".maps");

/*
 * slot armed_unpin_page: unpin_user_page (mm/gup.c). Like the others below: why: each is a way to give pins back that
 * calls none of the others but where it is said. Context: any, interrupts too. Rate: one or more per I/O of every task;
 * one load sends them back while nothing is entered. Misses: nothing, or nobody is named: see loader_armed.c.
 */
SEC("?fentry/unpin_user_page")
int armed_unpin_page__fentry(void *ctx)
{
	return anything_held() ? released_one((__u64)folio_of_page((void *)argument(ctx, 0)), 1) : 0;
}

/* slot armed_unpin_pages: unpin_user_pages, also as it is called for pages that stay clean; those were counted there. */
SEC("?fentry/unpin_user_pages")
int armed_unpin_pages__fentry(void *ctx)
{
	__u64 array = argument(ctx, 0);
	__u32 tid = tid_of_current();
	struct wire_armed *a = anything_held();
	struct clean_release *inside;

	if (!a)
		return 0;
	inside = bpf_map_lookup_elem(&clean_releases, &tid);
	if (inside && inside->array == array && inside->epoch == a->epoch)
		return 0;
	return released_pages(array, argument(ctx, 1), 0);
}

/* slot armed_unpin_dirty_enter/_exit: unpin_user_pages_dirty_lock, which calls unpin_user_pages, or has a copy of it inside. */
SEC("?fentry/unpin_user_pages_dirty_lock")
int armed_unpin_dirty_enter__fentry(void *ctx)
{
	struct clean_release inside = { .array = argument(ctx, 0) };
	struct wire_armed *a = anything_held();
	__u32 tid = tid_of_current();

	if (!a)
		return 0;
	inside.epoch = a->epoch;
	/* Without a place it is counted twice, which says too little and nothing wrong. */
	if (!(argument(ctx, 2) & 0xff))
		bpf_map_update_elem(&clean_releases, &tid, &inside, BPF_ANY);
	return released_pages(inside.array, argument(ctx, 1), 0);
}

SEC("?fexit/unpin_user_pages_dirty_lock")
int armed_unpin_dirty_exit__fexit(void *ctx)
{
	struct wire_armed *a = armed_state();
	__u32 tid = tid_of_current();
	int err = bpf_map_delete_elem(&clean_releases, &tid); /* before 6.4 the upper half of what it returns is not set */

	/* It would hide a release that comes later. */
	if (err && err != -ENOENT && a)
		forget_all(a);
	return 0;
}

/* slot armed_unpin_range: unpin_user_page_range_dirty_lock. */
SEC("?fentry/unpin_user_page_range_dirty_lock")
int armed_unpin_range__fentry(void *ctx)
{
	struct release_walk w = { .state = anything_held(), .page = argument(ctx, 0), .pages = argument(ctx, 1) };

	return w.state ? released(&w) : 0;
}

/* slot armed_unpin_user_folio: unpin_user_folio(folio, npages), 6.10. */
SEC("?fentry/unpin_user_folio")
int armed_unpin_user_folio__fentry(void *ctx)
{
	return released_one(argument(ctx, 0), argument(ctx, 1));
}

/* slot armed_unpin_folio: unpin_folio(folio), 6.11. */
SEC("?fentry/unpin_folio")
int armed_unpin_folio__fentry(void *ctx)
{
	return released_one(argument(ctx, 0), 1);
}

/* slot armed_unpin_folios: unpin_folios(folios, nfolios), 6.11. */
SEC("?fentry/unpin_folios")
int armed_unpin_folios__fentry(void *ctx)
{
	return released_pages(argument(ctx, 0), argument(ctx, 1), 1);
}
