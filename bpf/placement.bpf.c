// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The long-term pin of a registration in flight: its flags and result, the migration
 * it asked for, and the folios that would not move. Everything here sits on GUP's slow
 * path or on migration; ordinary work that passes through is sent back by one test.
 *
 * kprobes come before fentry here too. An fentry program can be preempted on kernels that preempt
 * in the kernel (7.3 is built with PREEMPT_LAZY), and while it is, every other task on that CPU skips
 * the same program (prog->active, kernel/bpf/trampoline.c): with 100 threads failing at once one
 * event in ten was lost. A kprobe program runs with preemption off.
 */
#ifdef PINWHY_BASIC
#include "vma.bpf.h"
#else
#include "folio.bpf.h"
#include "held.bpf.h"
#include "modpins.bpf.h"
#include "rivals.bpf.h"
#include "where.bpf.h"
#endif

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#ifdef PINWHY_BASIC

/* Pins of modules that are not long-term are noted by those that can tell whose page would not move. */
#define modpin_calls_now 0
#define modpin_forget()
#define modpin_enter(...)
#define modpin_exit(...)

#else

/* More folios than a batch of ib_umem_get can hold; a bound for the verifier, counted past it. */
#define PUTBACK_MAX 1024

/* This thread's span while its slow-path long-term pin runs, else NULL. Others leave after one test. */
static __always_inline struct wire_span *span_in_longterm(void)
{
	struct wire_span *s;

	if (!(current_task()->flags & PF_MEMALLOC_PIN))
		return NULL;
	s = span_find();
	return s && s->in_longterm ? s : NULL;
}

#endif

/*
 * slot gup_longterm_enter/_exit: __gup_longterm_locked (mm/gup.c).
 * Why: the only place where the real gup_flags are seen and where migration for a
 * long-term pin happens. Context: process, mmap lock held. Rate: GUP slow path only; plain references are sent
 * back by one test, and pins that are not long-term, as of direct I/O but on 6.1, by three frames of the stack.
 * Misses: pins that the fast path satisfies (nothing to explain there), and on
 * memfd_pin_folios, which no registration uses.
 */
static __always_inline int gup_longterm_enter(void *ctx, bool at_entry, __u64 mm, __u64 start, __u64 nr_pages, __u32 gup_flags)
{
	struct wire_span *s;

	if (modpin_calls_now)
		modpin_forget();
	if (!(gup_flags & cfg.foll_longterm)) {
		if (gup_flags & cfg.foll_pin)
			modpin_enter(ctx, at_entry, mm, start, nr_pages, gup_flags);
		return 0;
	}
	s = span_find();
	if (!s)
		return 0;
	s->gup_start = user_address(start);
	s->gup_pages = nr_pages;
	s->gup_flags = gup_flags;
	s->have |= WIRE_HAVE_GUP;
	s->gup_calls++;
	s->in_longterm = 1;
	s->passes = 0;
	s->no_target = 0;
	s->collects = 0;
	s->folios_seen = 0;
	s->folios_sent = 0;
	s->folios_dropped = 0;
	/*
	 * A slow path that failed behind pages pinned by the fast path told its caller only how many
	 * there were; the caller is now asking again from there. What counts is this call.
	 */
	s->nchain = 0;
	s->migrate_moved = 0;
	s->migrate_failed = 0;
	s->fault_vma_state = WIRE_FAULT_VMA_UNKNOWN;
	s->migrate_left = 0;
	s->have &= ~(WIRE_HAVE_MIGRATE | WIRE_HAVE_FAULT_VMA | WIRE_HAVE_GUP_RESULT);
	s->stage = WIRE_STAGE_PIN;
	s->last_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int gup_longterm_exit(__s64 result)
{
	struct wire_span *s = span_find();
	struct wire_vma vma;
	__u64 bad;
	long err;

	if (!s || !s->in_longterm) {
		if (modpin_calls_now)
			modpin_exit(result);
		return 0;
	}
	s->in_longterm = 0;
	s->gup_result = result;
	s->have |= WIRE_HAVE_GUP_RESULT;
	s->last_ns = bpf_ktime_get_ns();
	if (result >= 0 && result >= (__s64)s->gup_pages)
		return 0;
	/*
	 * The slow path returns an error only when its first page failed, so that is the address. After that
	 * it returns how many it pinned, which is a failure to callers that do not ask again (io_uring, AF_XDP).
	 */
	bad = s->gup_start;
	if (result < 0)
		chain_push(s, WIRE_FN_GUP_LONGTERM, result);
	else
		bad += (__u64)result << cfg.page_shift;
	err = vma_lookup(bad, &vma);
	if (err && err != -ENOENT)
		return 0; /* not an answer */
	if (!err)
		s->fault_vma = vma;
	s->fault_vma_state = err ? WIRE_FAULT_VMA_HOLE : WIRE_FAULT_VMA_COVERED;
	s->have |= WIRE_HAVE_FAULT_VMA;
	return 0;
}

SEC("?kprobe/__gup_longterm_locked")
int gup_longterm_enter__kprobe(struct pt_regs *ctx)
{
	return gup_longterm_enter(ctx, true, PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx), PARM6(ctx));
}

SEC("?fentry/__gup_longterm_locked")
int BPF_PROG(gup_longterm_enter__fentry, __u64 mm, __u64 start, __u64 nr_pages, void *pages, void *arg5,
	     __u32 gup_flags)
{
	return gup_longterm_enter(ctx, false, mm, start, nr_pages, gup_flags);
}

SEC("?kretprobe/__gup_longterm_locked")
int gup_longterm_exit__kretprobe(struct pt_regs *ctx)
{
	return gup_longterm_exit(PT_REGS_RC(ctx));
}

SEC("?fexit/__gup_longterm_locked")
int BPF_PROG(gup_longterm_exit__fexit, void *mm, __u64 start, __u64 nr_pages, void *pages, void *arg5,
	     __u32 gup_flags, long result)
{
	return gup_longterm_exit(result);
}

#ifndef PINWHY_BASIC

/*
 * slot migrate_result: tracepoint migrate:mm_migrate_pages.
 * Why: counts of moved and failed folios and the reason, by field name, so that
 * arguments inserted by later kernels do not matter. Context: process. Rate: every
 * migrate_pages() call of compaction and NUMA balancing; one test sends them back.
 */
SEC("?tp/migrate/mm_migrate_pages")
int migrate_result__tp(struct trace_event_raw_mm_migrate_pages *ctx)
{
	__u32 reason = migrate_event_reason(ctx);
	struct wire_span *s;

	if (reason != bpf_core_enum_value(enum migrate_reason, MR_LONGTERM_PIN))
		return 0;
	s = span_find();
	if (!s || !s->in_longterm)
		return 0;
	/* Our picture of the section and the kernel's own must agree. */
	if (!(current_task()->flags & PF_MEMALLOC_PIN)) {
		COUNT(pin_flag_disagree);
		return 0;
	}
	s->migrate_moved = ctx->succeeded;
	s->migrate_failed = ctx->failed;
	s->migrate_left = ctx->failed > 0;
	s->migrate_mode = ctx->mode;
	s->migrate_reason = reason;
	s->have |= WIRE_HAVE_MIGRATE;
	s->stage = WIRE_STAGE_PLACEMENT;
	s->passes++;
	s->last_ns = bpf_ktime_get_ns();
	return 0;
}

/*
 * slot migrate_target: return of alloc_migration_target (mm/migrate.c).
 * Why: tells "nowhere to move it" from "a reference holds it". Context: process.
 * Rate: one call per folio moved for a pin, hotplug or contiguous allocation.
 */
static __always_inline int migrate_target(__u64 folio)
{
	struct wire_span *s;

	if (folio)
		return 0;
	s = span_in_longterm();
	if (s)
		s->no_target++;
	return 0;
}

SEC("?kretprobe/alloc_migration_target")
int migrate_target__kretprobe(struct pt_regs *ctx)
{
	return migrate_target(PT_REGS_RC(ctx));
}

SEC("?fexit/alloc_migration_target")
int BPF_PROG(migrate_target__fexit)
{
	__u64 folio = 1;

	/* The typed return pointer may not be used in arithmetic; as a number it may. */
	bpf_get_func_ret(ctx, &folio);
	return migrate_target(folio);
}

/*
 * slot collect: collect_longterm_unpinnable_folios (mm/gup.c; 6.12 and 7.3, inlined in 6.1).
 * Why: a folio that cannot be isolated makes the pin go round here without an end, and nothing
 * else fires. Rate: one per round of the slow path.
 */
static __always_inline int collect(void)
{
	struct wire_span *s = span_in_longterm();

	if (s) {
		s->collects++;
		s->last_ns = bpf_ktime_get_ns();
	}
	return 0;
}

SEC("?kprobe/collect_longterm_unpinnable_folios")
int collect__kprobe(struct pt_regs *ctx)
{
	return collect();
}

SEC("?fentry/collect_longterm_unpinnable_folios")
int BPF_PROG(collect__fentry)
{
	return collect();
}

static __always_inline struct folio_spot folio_spot(const struct wire_folio *out, const struct folio *f)
{
	return (struct folio_spot){
		.at = (__u64)f, .pfn = out->pfn, .pages = 1ULL << (out->order & 31),
		.index = folio_index_pages(out, f), .address = out->address, .seen_ns = out->hdr.time_ns,
	};
}

#define HOLDERS_TOLD 2	/* pins of one folio that are told of: the ring has place for other folios and for the end */

/* The entry of this key, when it is the same pin: the key is free for another as soon as one was given back. */
static __always_inline struct first_pin *pin_still(const __u64 *array, __u64 id)
{
	struct first_pin *p = bpf_map_lookup_elem(&first_pins, array);

	return p && p->pin.id == id ? p : NULL;
}

/* Called for each pin: a loop here would let the verifier try every mixture of their outcomes. */
static long holder_one(__u32 i, void *ctx)
{
	struct holder_walk *w = ctx;
	struct wire_span *s = w->span;
	struct first_pin *p;
	__u64 array, id;
	__s64 page;
	bool sent;

	if (!s || i >= WIRE_HOLDERS_MAX || i >= s->npins || w->told >= HOLDERS_TOLD)
		return 1;
	array = s->pins[i];
	p = bpf_map_lookup_elem(&first_pins, &array);
	if (!p)
		return 0; /* given back by now */
	id = p->pin.id;
	page = pin_covers(p, array, &w->spot);
	/* Given back while its array was read, or taken after the folio had stayed. */
	p = pin_still(&array, id);
	if (!p || page < 0 || p->pin.since_ns > w->spot.seen_ns)
		return 0;
	w->told++;
	EMIT(wire_holder, HOLDER, s->id, e, sent, {
		e->pfn = w->spot.pfn;
		e->page = page;
		e->gup_call = s->gup_calls;
		e->pin = p->pin;
		if (!(s->pins_told & (1U << i)))
			stack_names(e, p);
		/* Another's by now: then it is told of no page. */
		if (p->pin.id != id || e->pin.id != id)
			e->pfn = 0;
	});
	if (sent)
		s->pins_told |= 1U << i;
	return 0;
}

struct putback_walk {
	struct wire_span *span;
	struct list_head *head;
	struct list_head *pos;
};

static long putback_one(__u32 i, void *ctx)
{
	struct putback_walk *w = ctx;
	struct wire_span *s = w->span;
	struct holder_walk holders = { .span = s };
	struct folio *f;
	bool sent;

	if (w->pos == w->head || !w->pos || !s)
		return 1;
	f = (void *)w->pos - bpf_core_field_offset(struct folio, lru);
	w->pos = BPF_CORE_READ(f, lru.next);
	s->folios_seen++;
	if (s->folios_sent >= WIRE_FOLIOS_MAX)
		return 0;
	EMIT(wire_folio, FOLIO, s->id, e, sent, {
		__u64 flags = folio_page_flags(f);
		__s64 extra;

		e->ordinal = i;
		e->gup_call = s->gup_calls;
		e->order = folio_order_of(f, flags);
		folio_placement(e, f, flags);
		folio_counts(e, f, flags);
		folio_area(e);
		if (folio_address(e, s, f, true))
			e->have |= WIRE_HAVE_ADDRESS;
		holders.spot = folio_spot(e, f);
		extra = e->refcount - e->expected;
		if (extra < 0)
			extra = 0;
		holders.pins = e->order ? e->pincount : extra >> GUP_PIN_SHIFT;
		holders.others = extra - (e->order ? holders.pins : holders.pins << GUP_PIN_SHIFT);
		s->modpin_pages = e->order && folio_entire_mapcount(f) > 0 ? pages_behind(&holders.spot) : 1;
	});
	if (!sent) {
		s->folios_dropped++;
		return 0;
	}
	s->folios_sent++;
	bpf_loop(WIRE_HOLDERS_MAX, holder_one, &holders, 0);
	if (!holders.told)
		bpf_loop(1, tell_held, &holders, 0);
	if (!holders.told && holders.pins > 0 && s->modpins_near) {
		s->modpin = 0;
		bpf_loop(MODPINS_MAX, modpin_one, &holders, 0);
		bpf_loop(1, tell_modpin, &holders, 0);
	}
	bpf_loop(WIRE_RIVALS_MAX, rival_one, &holders, 0);
	if (holders.others > 0) {
		holders.ref = REF_BUSY;
		bpf_loop(REFS_TOLD, tell_ref, &holders, 0);
	}
	return 0;
}

/*
 * Before the walk, in a frame that is gone by then: 512 bytes of stack are for putback(), putback_one() and whom
 * that asks, together.
 */
static __noinline int before_putback(struct wire_span *s)
{
	span_vmas(s);
	span_pins(s);
	span_rivals(s);
	span_modpins(s);
	return 0;
}

/*
 * slot putback: putback_movable_pages(list) (mm/migrate.c).
 * Why: called right after migrate_pages() with the folios that stayed; the pins of this
 * very call are dropped, migration entries are restored, the isolation reference is
 * held, so that the arithmetic is clean. One argument and standalone on every kernel.
 * Context: process. Rate: compaction and NUMA balancing pass through; one flag test.
 * Misses: folios that could not even be isolated (they are retried, never listed); all of them
 * when migrate_result did not fire just before.
 */
static __always_inline int putback(struct list_head *list)
{
	struct wire_span *s = span_in_longterm();
	struct putback_walk walk = {};

	/* Compaction inside a page fault of this pin puts back other people's folios. */
	if (!s || !s->migrate_left)
		return 0;
	s->migrate_left = 0;
	walk.pos = BPF_CORE_READ(list, next);
	if (walk.pos == list)
		return 0;
	before_putback(s);
	walk.span = s;
	walk.head = list;
	bpf_loop(PUTBACK_MAX, putback_one, &walk, 0);
	if (s->no_target)
		chain_push(s, WIRE_FN_MIGRATE_TARGET, -ENOMEM);
	chain_push(s, WIRE_FN_MIGRATE, s->folios_seen);
	return 0;
}

SEC("?kprobe/putback_movable_pages")
int putback__kprobe(struct pt_regs *ctx)
{
	return putback((void *)PT_REGS_PARM1(ctx));
}

SEC("?fentry/putback_movable_pages")
int BPF_PROG(putback__fentry, struct list_head *list)
{
	return putback(list);
}

#endif

/*
 * slot pin_fast_enter/_exit: pin_user_pages_fast (mm/gup.c).
 * Why: the flags the caller really gave, success included. Rate: every direct I/O and
 * io_uring request of every task, hence on demand only.
 */
static __always_inline int pin_fast_enter(__u64 start, __u32 nr_pages, __u32 gup_flags)
{
	struct wire_span *s;

	if (!task_wanted())
		return 0;
	s = span_find();
	if (cfg.trace)
		STEP_EMIT(PIN, s, e, {
			e->at = user_address(start);
			e->pages = nr_pages;
			e->gup_flags = gup_flags;
		});
	if (s) {
		s->pin_fast_flags = gup_flags;
		s->have |= WIRE_HAVE_PIN_FAST;
	}
	return 0;
}

static __always_inline int pin_fast_exit(int pages)
{
	struct wire_span *s;

	if (!task_wanted())
		return 0;
	s = span_find();
	if (cfg.trace)
		STEP_EMIT(PIN_END, s, e, { e->result = pages; });
	if (s && pages > 0)
		s->pin_fast_pages += pages;
	return 0;
}

SEC("?kprobe/pin_user_pages_fast")
int pin_fast_enter__kprobe(struct pt_regs *ctx)
{
	return pin_fast_enter(PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx));
}

SEC("?fentry/pin_user_pages_fast")
int BPF_PROG(pin_fast_enter__fentry, __u64 start, int nr_pages, __u32 gup_flags)
{
	return pin_fast_enter(start, nr_pages, gup_flags);
}

SEC("?kretprobe/pin_user_pages_fast")
int pin_fast_exit__kretprobe(struct pt_regs *ctx)
{
	return pin_fast_exit(PT_REGS_RC(ctx));
}

SEC("?fexit/pin_user_pages_fast")
int BPF_PROG(pin_fast_exit__fexit, __u64 start, int nr_pages, __u32 gup_flags, void *pages, int result)
{
	return pin_fast_exit(result);
}
