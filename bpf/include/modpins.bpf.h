/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pins without FOLL_LONGTERM that code of modules took on GUP's slow path, in whatever process: who, where, how many pages, with
 * which flags, and through which function; told of on the failure path.
 *
 * What may be said. The release is not watched, and which pages were pinned is not kept. So an entry says that the process
 * pinned these addresses then, and never that it holds the page that is there now: it is a candidate, with that doubt. It is
 * never taken out, but is of no program that the process runs later, and of no other process that has its number. The function is
 * named when it pins: by the time of a failure its module may be gone, and other code where it was.
 *
 * Misses: what the fast path satisfies; on 6.1 all of pin_user_pages_fast(), pin_user_pages_remote() and _unlocked(), whose slow
 * path is another one there; pins of another process's memory; those of processes that share memory with the one that fails;
 * what functions of the kernel pin for a module. What the ledger follows is not noted here: it knows more.
 */
#ifndef PINWHY_MODPINS_BPF_H
#define PINWHY_MODPINS_BPF_H

#include "armed.bpf.h"
#include "ledger.bpf.h"

#define MODPINS_MAX 1024	/* power of two */
#define MODPIN_PROBES 8		/* an entry is in one of this many places from its hash on; the oldest there gives way */
#define MODPIN_BUSY (~0ULL)	/* as an id: the entry is being written */
#define MODPIN_ID (3ULL << 61)	/* apart from the ids of other pins */
struct modpin {
	struct wire_pin pin;
	__u64 mm;	/* kernel pointer, which never leaves the map; */
	__u64 exec_id;	/* and how many programs the process had run, since a later one may have it again */
	__u64 by_at;	/* likewise: where the call came from */
	char by[WIRE_SYMBOL_LEN];
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MODPINS_MAX);
	__type(key, __u32);
	__type(value, struct modpin);
} modpins SEC(".maps");

/* Such pins in progress, by tid. Least recently used, so that what a missed return leaves behind makes way by itself. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, struct modpin);
} modpin_calls SEC(".maps");

__u32 modpin_calls_now;	/* or more, once one was missed or gave way: while it is 0 nobody looks for any */
__u64 modpins_noted;	/* so far: their ids */

/* --- taken ------------------------------------------------------------------------------ */

#define NEAR_FRAMES 3	/* the function that is hooked, one of mm/gup.c that may lie between, and the caller of that */
#define CALLER_FRAMES 8	/* the same, and the programs and trampolines of BPF that may lie among them */

/* No more frames than it takes: direct I/O leaves here, whatever file system called that. */
static __always_inline bool kernel_called(void *ctx, bool at_entry)
{
	__u64 near[NEAR_FRAMES] = {};

	kernel_stack(ctx, near, sizeof(near), at_entry);
	return in_kernel(near[0]) && in_kernel(near[1]) && in_kernel(near[2]);
}

/* Eight letters, to compare: there is no memcmp() to call. */
static __always_inline __u64 word_of(const char *letters)
{
	__u64 word;

	__builtin_memcpy(&word, letters, sizeof(word));
	return word;
}

/*
 * Is there code of a module as near as that? Names it. Text of BPF programs lies outside the kernel's like that of modules, and
 * is told by its name; what has none is not known to be a module's. Behind a trampoline stands the function that entered it, for
 * the second time where it has called on instead of jumping (pin_user_pages() does since it looks at its flags by reference, 6.3).
 */
static __always_inline bool module_called(void *ctx, bool at_entry, char by[WIRE_SYMBOL_LEN], __u64 *ret_at)
{
	static const char format[] = "%ps";
	__u64 stack[CALLER_FRAMES] = {};
	__u32 near = 0;
	bool again = false;

	kernel_stack(ctx, stack, sizeof(stack), at_entry);
#pragma unroll
	for (int i = 0; i < CALLER_FRAMES; i++) {
		__u64 at = stack[i];

		if (!at || near >= NEAR_FRAMES)
			return false;
		if (in_kernel(at)) {
			near += !again;
			again = false;
			continue;
		}
		bpf_snprintf(by, WIRE_SYMBOL_LEN, format, &at, sizeof(at));
		again = near > 1 && word_of(by) == word_of("bpf_tram");
		if (word_of(by) == word_of("bpf_tram") || word_of(by) == word_of("bpf_prog"))
			continue;
		*ret_at = at;
		return by[0] != '0';
	}
	return false;
}

/* One of this thread is over: its return was missed. */
static __always_inline void modpin_forget(void)
{
	__u32 tid = tid_of_current();
	int err = bpf_map_delete_elem(&modpin_calls, &tid);

	if (!err)
		__sync_fetch_and_add(&modpin_calls_now, -1);
}

/* Of a pin with FOLL_PIN and without FOLL_LONGTERM. `at_entry`: see kernel_stack(). */
static __always_inline void modpin_enter(void *ctx, bool at_entry, __u64 mm, __u64 start, __u64 pages, __u32 gup_flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 tid = tid_of_current();
	struct modpin c = {};

	if (!cfg.text_start || mm != (__u64)task->mm || kernel_called(ctx, at_entry) || !task_wanted())
		return;
	if (bpf_map_lookup_elem(&lock_threads, &tid) || !module_called(ctx, at_entry, c.by, &c.by_at))
		return;
	c.mm = mm;
	c.exec_id = task->self_exec_id;
	c.pin.id = MODPIN_BUSY;
	c.pin.task_start_ns = current_start();
	c.pin.address = user_address(start) & ~((1ULL << cfg.page_shift) - 1);
	c.pin.pages = pages;
	c.pin.gup_flags = gup_flags;
	if (!bpf_map_update_elem(&modpin_calls, &tid, &c, BPF_ANY))
		__sync_fetch_and_add(&modpin_calls_now, 1);
}

static __always_inline bool same_memory(const struct modpin *p, __u64 mm, __u64 exec_id, __u64 task_start_ns)
{
	return p->mm == mm && p->exec_id == exec_id && p->pin.task_start_ns == task_start_ns;
}

/* A shorter one is another: it may be over while the longer one is not. */
static __always_inline bool same_range(const struct modpin *a, const struct modpin *b)
{
	return a->pin.address == b->pin.address && a->pin.pages == b->pin.pages && a->by_at == b->by_at && same_memory(a, b->mm, b->exec_id, b->pin.task_start_ns);
}

/* Its own place from before, or a free one, or that of the oldest: ids are in the order of time, and 0 is free. */
static __always_inline struct modpin *modpin_place(const struct modpin *c)
{
	__u32 first = (((c->mm >> 6) ^ (c->pin.address >> cfg.page_shift)) * 0x9e3779b97f4a7c15ULL) >> 32;
	struct modpin *place = NULL;
	__u64 oldest = MODPIN_BUSY;

#pragma unroll
	for (int i = 0; i < MODPIN_PROBES; i++) {
		__u32 key = (first + i) & (MODPINS_MAX - 1);
		struct modpin *p = bpf_map_lookup_elem(&modpins, &key);
		__u64 id = p ? p->pin.id : MODPIN_BUSY;

		if (p && id != MODPIN_BUSY && same_range(p, c))
			return p;
		if (id < oldest) {
			oldest = id;
			place = p;
		}
	}
	return place;
}

static __always_inline void modpin_keep(struct modpin *c, __s64 pages)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid(), was;
	struct modpin *p;

	c->pin.since_ns = bpf_ktime_get_ns();
	c->pin.pages = pages;
	c->pin.tgid = pid_tgid >> 32;
	c->pin.tid = (__u32)pid_tgid;
	c->pin.calls = 1;
	c->pin.via = WIRE_PIN_VIA_MODULE;
	c->pin.doubt = WIRE_DOUBT_UNWATCHED;
	bpf_get_current_comm(c->pin.comm, sizeof(c->pin.comm));
	COUNT(modpins_taken);
	p = modpin_place(c);
	was = p ? p->pin.id : MODPIN_BUSY;
	if (!p || was == MODPIN_BUSY || __sync_val_compare_and_swap(&p->pin.id, was, MODPIN_BUSY) != was) {
		COUNT(modpins_evicted);
		return;
	}
	if (was && !same_range(p, c))
		COUNT(modpins_evicted);
	__builtin_memcpy(p, c, sizeof(*p));
	/* Last: until now the entry is not there for who looks. */
	__sync_lock_test_and_set(&p->pin.id, MODPIN_ID | (__sync_fetch_and_add(&modpins_noted, 1) + 1));
}

static __always_inline void modpin_exit(__s64 result)
{
	__u32 tid = tid_of_current();
	struct modpin *c = bpf_map_lookup_elem(&modpin_calls, &tid);
	struct task_struct *task = bpf_get_current_task_btf();

	if (!c)
		return;
	/* Another thread of its number, or more than it asked for: its own return was missed. */
	if (result > 0 && (__u64)result <= c->pin.pages && same_memory(c, (__u64)task->mm, task->self_exec_id, current_start()))
		modpin_keep(c, result);
	bpf_map_delete_elem(&modpin_calls, &tid);
	__sync_fetch_and_add(&modpin_calls_now, -1);
}

/* --- asked for ---------------------------------------------------------------------------- */

/* The id of an entry that this process has of some of these pages, 0 = it is none. */
static __always_inline __u64 modpin_near(const struct modpin *p, __u64 address, __u64 pages)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 id = p->pin.id;

	if (!id || id == MODPIN_BUSY || !ranges_meet(p->pin.address >> cfg.page_shift, p->pin.pages, address >> cfg.page_shift, pages))
		return 0;
	return same_memory(p, (__u64)task->mm, task->self_exec_id, current_start()) ? id : 0;
}

static long modpin_maybe(__u32 key, void *ctx)
{
	struct holder_walk *w = ctx;
	struct wire_span *s = w->span;
	struct modpin *p = bpf_map_lookup_elem(&modpins, &key);

	if (!s || !p)
		return 1;
	s->modpins_near = modpin_near(p, s->address, (s->length >> cfg.page_shift) + 2) != 0;
	return s->modpins_near;
}

/* Notes whether there is any for the registered range: most have none, and their folios are not looked for. */
static __always_inline void span_modpins(struct wire_span *s)
{
	struct holder_walk walk = { .span = s };

	s->modpins_near = 0;
	s->modpins_told = 0;
	s->modpin_told = 0;
	if (modpins_noted)
		bpf_loop(MODPINS_MAX, modpin_maybe, &walk, 0);
}

/* Those of its pages that lie behind the address: a folio that is mapped as a whole is so where its size divides the address. */
static __always_inline __u64 pages_behind(const struct folio_spot *f)
{
	return f->pages - ((f->address >> cfg.page_shift) & (f->pages - 1));
}

/* Notes the latest that this process took of addresses where the folio is mapped. */
static long modpin_one(__u32 key, void *ctx)
{
	struct holder_walk *w = ctx;
	struct wire_span *s = w->span;
	struct modpin *p = bpf_map_lookup_elem(&modpins, &key);
	__u64 id;

	if (!s || !p || !w->spot.address)
		return 1;
	id = modpin_near(p, w->spot.address, s->modpin_pages);
	if (id <= s->modpin || p->pin.since_ns > w->spot.seen_ns)
		return 0;
	s->modpin = id;
	s->modpin_at = key;
	return 0;
}

#define MODPINS_TOLD 4	/* that a registration is told of: user space has room for few, and those of the ledger say more */

/* Tells of it. For bpf_loop(), with a stack of its own. */
static long tell_modpin(__u32 i, void *ctx)
{
	struct holder_walk *w = ctx;
	struct wire_span *s = w->span;
	struct modpin *p;
	__u64 id, page;
	__u32 key;
	bool sent;

	if (!s)
		return 1;
	id = s->modpin;
	key = s->modpin_at;
	p = bpf_map_lookup_elem(&modpins, &key);
	if (!p || !id || p->pin.id != id || (id != s->modpin_told && s->modpins_told >= MODPINS_TOLD))
		return 1;
	page = w->spot.address > p->pin.address ? (w->spot.address - p->pin.address) >> cfg.page_shift : 0;
	EMIT(wire_holder, HOLDER, s->id, e, sent, {
		e->pfn = w->spot.pfn;
		e->page = page;
		e->gup_call = s->gup_calls;
		e->pin = p->pin;
		__builtin_memcpy(e->stack[0], p->by, sizeof(p->by));
		e->nstack = 1;
		/* Another's by now: then it is told of no page. */
		if (p->pin.id != id || e->pin.id != id) {
			e->pfn = 0;
			e->page = 0;
		}
	});
	w->told += sent;
	if (sent && id != s->modpin_told) {
		s->modpin_told = id;
		s->modpins_told++;
	}
	return 1;
}

#endif
