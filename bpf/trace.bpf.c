// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * pinwhy trace: which processes are traced, and the steps of their long-term pins. Only a trace loads this;
 * what other programs tell of a traced process is in step.bpf.h.
 */
#include "where.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* --- who is traced ------------------------------------------------------------------ */

static __always_inline void traced_add(__u32 tgid)
{
	__u32 one = 1, *hint = traced_hint(tgid);
	long err = bpf_map_update_elem(&traced, &tgid, &one, BPF_NOEXIST);

	if (!err && hint)
		__sync_fetch_and_add(hint, 1);
	else if (err && !tgid_traced(tgid))
		COUNT(dropped[WIRE_STEP]); /* no place for it: what it does will be missing */
}

static __always_inline void traced_remove(__u32 tgid)
{
	__u32 *hint = traced_hint(tgid);

	if (hint && *hint && !bpf_map_delete_elem(&traced, &tgid))
		__sync_fetch_and_add(hint, -1);
}

/* Arguments as the kernel passes them to a raw tracepoint. */
struct raw_args {
	__u64 arg[2];
};

/*
 * slot trace_exit: tracepoint sched:sched_process_exit.
 * Why: a number may be given to another process. Context: the thread that ends. Rate: one per thread; one test
 * sends those of other processes back.
 */
SEC("?raw_tp/sched_process_exit")
int trace_exit__raw_tp(struct raw_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (task_traced() && !BPF_CORE_READ(task, signal, live.counter))
		traced_remove(bpf_get_current_pid_tgid() >> 32);
	return 0;
}

/*
 * slot trace_fork: tracepoint sched:sched_process_fork(parent, child), wake_up_new_task(child).
 * Why: what a traced command starts is traced from its first instruction; the child does not run yet. Context: the
 * parent. Rate: one per fork and thread; one test sends those of other processes back.
 */
static __always_inline int forked(const struct task_struct *task)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32, child;

	if (!(cfg.trace & (WIRE_TRACE_CHILDREN | WIRE_TRACE_COMM)) || !task_traced())
		return 0;
	child = BPF_CORE_READ(task, tgid);
	if (child != tgid)
		traced_add(child);
	return 0;
}

SEC("?raw_tp/sched_process_fork")
int trace_fork__raw_tp(struct raw_args *ctx)
{
	return forked((void *)ctx->arg[1]);
}

SEC("?kprobe/wake_up_new_task")
int trace_fork__kprobe(struct pt_regs *ctx)
{
	return forked((void *)PT_REGS_PARM1(ctx));
}

static __always_inline bool comm_wanted(void)
{
	char comm[WIRE_COMM_LEN] = {};

	bpf_get_current_comm(comm, sizeof(comm));
	/* Byte by byte: the loader's settings are volatile, the compiler's are all zero. */
	for (int i = 0; i < WIRE_COMM_LEN; i++) {
		if (comm[i] != cfg.trace_comm[i])
			return false;
		if (!comm[i])
			break;
	}
	return true;
}

/*
 * slot trace_exec: tracepoint sched:sched_process_exec.
 * Why: with it a process gets another name. Context: the process, which has the new name by now. Rate: one per exec.
 * Misses: processes that rename themselves.
 */
SEC("?raw_tp/sched_process_exec")
int trace_exec__raw_tp(struct raw_args *ctx)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;

	if (!(cfg.trace & WIRE_TRACE_COMM))
		return 0;
	if (comm_wanted())
		traced_add(tgid);
	else
		traced_remove(tgid);
	return 0;
}

/* --- the slow path of a long-term pin ------------------------------------------------- */

/* Of the span in the same place. */
struct pin_state {
	__u64 id;	/* of the span */
	__u32 inside;	/* its slow-path long-term pin runs */
	__u32 migrating;	/* and pages are being migrated for it */
	__u32 others;	/* inside that, migrations for another reason: compaction, for want of a target */
	__u32 passes, rounds;	/* of this slow path */
	__u32 pages_told;	/* of this registration */
	__u64 untold;	/* folios moved in this pass that were not told one by one */
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WIRE_SPANS);
	__type(key, __u32);
	__type(value, struct pin_state);
} pin_states SEC(".maps");

static __always_inline struct pin_state *state_of(const struct wire_span *s)
{
	__u32 key = s->id & (WIRE_SPANS - 1);
	struct pin_state *p = bpf_map_lookup_elem(&pin_states, &key);

	if (p && p->id != s->id)
		*p = (struct pin_state){ .id = s->id };
	return p;
}

/* This thread's span and its state while its slow-path long-term pin runs. Others leave after one test. */
static __always_inline struct pin_state *inside_longterm(struct wire_span **ret_span)
{
	struct pin_state *p;
	struct wire_span *s;

	if (!(bpf_get_current_task_btf()->flags & PF_MEMALLOC_PIN))
		return NULL;
	s = span_find();
	if (!s)
		return NULL;
	p = state_of(s);
	if (!p || !p->inside)
		return NULL;
	*ret_span = s;
	return p;
}

/*
 * slot trace_longterm_enter/_exit: __gup_longterm_locked (mm/gup.c).
 * Why, context, rate: as for slot gup_longterm_enter. Only traced processes have spans here.
 */
static __always_inline int longterm_enter(__u64 start, __u64 nr_pages, __u32 gup_flags)
{
	struct pin_state *p;
	struct wire_span *s;

	if (!(gup_flags & cfg.foll_longterm) || !task_traced())
		return 0;
	s = span_find();
	if (!s)
		return 0;
	p = state_of(s);
	if (!p)
		return 0;
	p->inside = 1;
	p->migrating = 0;
	p->others = 0;
	p->passes = 0;
	p->rounds = 0;
	STEP_EMIT(LONGTERM, s, e, {
		e->at = user_address(start);
		e->pages = nr_pages;
		e->gup_flags = gup_flags;
	});
	return 0;
}

static __always_inline int longterm_exit(__s64 result)
{
	struct pin_state *p;
	struct wire_span *s;

	if (!task_traced())
		return 0;
	s = span_find();
	if (!s)
		return 0;
	p = state_of(s);
	if (!p || !p->inside)
		return 0;
	p->inside = 0;
	STEP_EMIT(LONGTERM_END, s, e, {
		e->result = result;
		e->rounds = p->rounds;
	});
	return 0;
}

SEC("?kprobe/__gup_longterm_locked")
int trace_longterm_enter__kprobe(struct pt_regs *ctx)
{
	return longterm_enter(PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx), PARM6(ctx));
}

SEC("?kretprobe/__gup_longterm_locked")
int trace_longterm_exit__kretprobe(struct pt_regs *ctx)
{
	return longterm_exit(PT_REGS_RC(ctx));
}

/*
 * slot trace_retry: __get_user_pages (mm/gup.c).
 * Why: after a migration the pin is tried once more, from here. Rate: every slow-path pin and page that get_user_pages()
 * has to fault in; one flag test.
 */
SEC("?kprobe/__get_user_pages")
int trace_retry__kprobe(struct pt_regs *ctx)
{
	struct wire_span *s = NULL;
	struct pin_state *p = inside_longterm(&s);

	if (!p || !s)
		return 0;
	p->rounds++;
	if (p->rounds > 1 && p->passes) {
		p->passes = 0;
		STEP_EMIT(RETRY, s, e, {
			e->at = user_address(PT_REGS_PARM2(ctx));
			e->pages = PT_REGS_PARM3(ctx);
		});
	}
	return 0;
}

/* --- migration --------------------------------------------------------------------- */

/*
 * slot trace_migrate_start: tracepoint migrate:mm_migrate_pages_start(mode, reason).
 * Why: what moves from here on moves for this pin. Rate: every migrate_pages(); one flag test.
 */
SEC("?raw_tp/mm_migrate_pages_start")
int trace_migrate_start__raw_tp(struct raw_args *ctx)
{
	struct wire_span *s = NULL;
	struct pin_state *p = inside_longterm(&s);
	__u32 reason = ctx->arg[1];

	if (!p || !s)
		return 0;
	if (reason != bpf_core_enum_value(enum migrate_reason, MR_LONGTERM_PIN)) {
		p->others += p->migrating;
		return 0;
	}
	p->migrating = 1;
	p->others = 0;
	p->untold = 0;
	span_vmas(s);
	STEP_EMIT(MIGRATE, s, e, {});
	return 0;
}

/* slot trace_migrate_end: tracepoint migrate:mm_migrate_pages, as slot migrate_result. */
SEC("?tp/migrate/mm_migrate_pages")
int trace_migrate_end__tp(struct trace_event_raw_mm_migrate_pages *ctx)
{
	__u32 reason = migrate_event_reason(ctx);
	struct wire_span *s = NULL;
	struct pin_state *p = inside_longterm(&s);

	if (!p || !s)
		return 0;
	if (reason != bpf_core_enum_value(enum migrate_reason, MR_LONGTERM_PIN)) {
		if (p->others)
			p->others--;
		return 0;
	}
	p->migrating = 0;
	p->passes++;
	STEP_EMIT(MIGRATE_END, s, e, {
		e->pages = ctx->succeeded;
		e->result = ctx->failed;
		e->untold = p->untold;
	});
	return 0;
}

static __always_inline void place_of(struct wire_place *out, const struct wire_folio *f)
{
	out->pfn = f->pfn;
	out->zone = f->zone;
	out->node = f->node;
	out->migratetype = f->migratetype;
	out->flags = f->flags & (WIRE_FOLIO_CMA | WIRE_FOLIO_ISOLATE | WIRE_FOLIO_MOVABLE_ZONE);
}

/* Of the folio that moves: mapped nowhere just now, and its counts tell nothing. */
static __always_inline bool move_source(struct wire_folio *out, const struct wire_span *s, const struct folio *f)
{
	__u64 flags = folio_page_flags(f);

	out->order = folio_order_of(f, flags);
	folio_placement(out, f, flags);
	if ((__u64)BPF_CORE_READ(f, mapping) & PAGE_MAPPING_ANON)
		out->flags |= WIRE_FOLIO_ANON;
	if (folio_is_hugetlb(f, out->order))
		out->flags |= WIRE_FOLIO_HUGETLB;
	folio_area(out);
	return folio_address(out, s, f, false);
}

/*
 * slot trace_moved: folio_migrate_flags(newfolio, folio) (mm/migrate.c).
 * Why: the one function that every kind of folio passes once its move cannot fail any more, with both folios; exported
 * and called by file systems, so it is there by name. Context: process. Rate: every page that is migrated; one flag test.
 */
static __always_inline int moved(const struct folio *to, const struct folio *from)
{
	struct wire_span *s = NULL;
	struct pin_state *p = inside_longterm(&s);
	struct wire_folio source = {}, target = {};
	bool known;

	if (!p || !s || !p->migrating || p->others)
		return 0;
	if (p->pages_told >= WIRE_STEP_PAGES) {
		p->untold++;
		return 0;
	}
	p->pages_told++;
	known = move_source(&source, s, from);
	folio_placement(&target, to, folio_page_flags(to));
	STEP_EMIT(MOVED, s, e, {
		e->at = known ? source.address : 0;
		e->order = source.order;
		e->have |= (known ? WIRE_HAVE_ADDRESS : 0) | (source.have & target.have & WIRE_HAVE_PLACEMENT);
		place_of(&e->from, &source);
		place_of(&e->to, &target);
		__builtin_memcpy(e->area, source.area, sizeof(e->area));
	});
	return 0;
}

SEC("?kprobe/folio_migrate_flags")
int trace_moved__kprobe(struct pt_regs *ctx)
{
	return moved((void *)PT_REGS_PARM1(ctx), (void *)PT_REGS_PARM2(ctx));
}
