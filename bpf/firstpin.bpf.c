// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * First pins that are rare and stay long: the ledger of who took them, and when they go. Nothing here fires unless a
 * driver pins memory on behalf of a process.
 *
 * NVIDIA's driver pins what cudaHostRegister() is given, and keeps the array of pages as the handle that
 * it unlocks by, maybe much later and from another thread (kernel-open/nvidia/os-mlock.c, 525 to 595).
 */
#include "folio.bpf.h"
#include "ledger.bpf.h"
#include "task.bpf.h"
#include "vma.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* What is seen of a pin while its pages are looked at. */
struct strand {
	struct wire_stranded sum;
	__u64 block;	/* pageblock of the last page, + 1 */
	__s64 first;	/* page of the pin that is stranded, -1 = none so far */
	__u64 lasting;	/* stranded pages but those that only are in a block which is being emptied */
	__u32 places;	/* WIRE_FOLIO_* places of the last page */
	__u32 pad;
};

/* A lock in progress, by tid. Least recently used, so that what a missed return leaves behind makes way by itself. */
struct lock_call {
	struct first_pin entry;
	struct strand strand;
	__u64 array_at;	/* where its caller wants the array */
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct lock_call);
} lock_calls SEC(".maps");

__u32 locks_now;	/* about how many are in progress: 0 is exact, but for returns that were missed */

/*
 * slot nv_lock_enter/_exit: os_lock_user_pages(address, pages, &array, flags) of nvidia.ko.
 * Why: the one function through which it pins memory of a process, called between objects and so never inlined.
 * Context: ioctl of the process. Rate: one per registration with CUDA. Misses: pins from before the hook, and those
 * of nvidia-uvm and nvidia-drm, which are few pages and their own.
 */
static __always_inline int lock_enter(void *ctx, __u64 address, __u64 pages, __u64 array_at)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	__u32 tid = (__u32)pid_tgid, one = 1;
	struct lock_call c = {
		.entry = {
			.pin = {
				.address = user_address(address), .pages = pages, .tgid = pid_tgid >> 32, .tid = tid,
				.via = WIRE_PIN_VIA_NVIDIA, .task_start_ns = BPF_CORE_READ(task, group_leader, start_boottime),
			},
			.mm = (__u64)BPF_CORE_READ(task, mm),
		},
		.array_at = array_at,
	};
	long bytes = kernel_stack(ctx, c.entry.stack, sizeof(c.entry.stack), true);

	c.entry.nstack = bytes > 0 ? bytes / sizeof(c.entry.stack[0]) : 0;
	bpf_get_current_comm(c.entry.pin.comm, sizeof(c.entry.pin.comm));
	/* Without a place its end is counted as not kept. */
	if (!bpf_map_update_elem(&lock_calls, &tid, &c, BPF_ANY))
		__sync_fetch_and_add(&locks_now, 1);
	bpf_map_update_elem(&lock_threads, &tid, &one, BPF_ANY);
	return 0;
}

SEC("?kprobe/os_lock_user_pages")
int nv_lock_enter__kprobe(struct pt_regs *ctx)
{
	return lock_enter(ctx, PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx));
}

/* The object that its first page belongs to, by the VMA that is there now: a folio of it knows the same. */
static __always_inline void find_object(struct first_pin *p)
{
	struct wire_vma v;

	if (vma_lookup(p->pin.address, &v))
		return;
	/* A private file mapping holds pages of both: those that were written to are anonymous. */
	p->object = v.anon_root ? v.anon_root : v.file;
	p->index = v.pgoff + ((p->pin.address - v.start) >> cfg.page_shift);
}

/* --- pages that it leaves where they must not stay ---------------------------------- */

#define LOOK_ALL 4096		/* pages of a pin that are looked at one by one; */
#define LOOK_BLOCKS 1024	/* then one of each pageblock, and no further */

/* A walk keeps its state in a map: the verifier of newer kernels would follow every value it takes on the stack. */
struct strand_walk {
	struct strand *state;
	const struct first_pin *pin;
	__u64 array;
};

static __always_inline struct page *page_of_pin(const struct first_pin *p, __u64 array, __u64 i)
{
	struct page *page = NULL;

	if (i < p->pin.pages)
		bpf_probe_read_kernel(&page, sizeof(page), (void *)(array + i * sizeof(page)));
	return page;
}

/* By the pageblock, whose pages share all of it: neighbours are asked once. */
static __always_inline __u32 places_of(struct strand *w, const struct folio *page)
{
	__u64 block = (folio_pfn_of(page) >> cfg.pageblock_order) + 1;
	struct wire_folio f = {};

	if (block == w->block)
		return w->places;
	folio_placement(&f, page, folio_page_flags(page));
	w->block = block;
	w->places = f.flags;
	return f.flags;
}

static long strand_one(__u32 i, void *ctx)
{
	struct strand_walk *walk = ctx;
	const struct first_pin *p = walk->pin;
	struct strand *w = walk->state;
	__u64 n = i < LOOK_ALL ? i : LOOK_ALL + ((__u64)(i - LOOK_ALL) << cfg.pageblock_order);
	struct page *page;
	__u32 places;

	if (!p || !w || n >= p->pin.pages)
		return 1;
	page = page_of_pin(p, walk->array, n);
	if (!page)
		return 0;
	places = places_of(w, (void *)page);
	w->sum.looked++;
	w->sum.cma += !!(places & WIRE_FOLIO_CMA);
	w->sum.movable_zone += !!(places & WIRE_FOLIO_MOVABLE_ZONE);
	w->sum.isolated += !!(places & WIRE_FOLIO_ISOLATE);
	if (!(places & (WIRE_FOLIO_CMA | WIRE_FOLIO_MOVABLE_ZONE | WIRE_FOLIO_ISOLATE)))
		return 0;
	w->sum.pages++;
	w->lasting += !!(places & (WIRE_FOLIO_CMA | WIRE_FOLIO_MOVABLE_ZONE));
	if (w->first < 0)
		w->first = n;
	return 0;
}

static __always_inline void send_hazard(const struct strand *w, const struct first_pin *p, __u64 array)
{
	struct folio *page = (void *)page_of_pin(p, array, w->first);
	bool sent;

	if (!task_wanted())
		return;
	EMIT(wire_hazard, HAZARD, p->pin.id, e, sent, {
		e->end.start_ns = e->end.hdr.time_ns;
		e->end.address = p->pin.address;
		e->end.length = p->pin.pages << cfg.page_shift;
		e->end.have = WIRE_HAVE_UMEM;
		e->holder.pin = p->pin;
		e->holder.page = w->first;
		stack_names(&e->holder, p);
		e->stranded = w->sum;
		folio_placement(&e->page, page, folio_page_flags(page));
		folio_area(&e->page);
		e->page.address = p->pin.address + ((__u64)w->first << cfg.page_shift);
		e->page.index_pages = w->first;
		e->page.have |= WIRE_HAVE_ADDRESS;
		read_task(&e->end);
	});
}

#define COUNT_PAGES(field, via, n)                                                  \
	do {                                                                       \
		struct wire_counters *c_ = counters_of_cpu();                      \
		if (c_ && (via) < WIRE_PIN_VIA_MAX)                                \
			__sync_fetch_and_add(&c_->field[via], n);                  \
	} while (0)

/* Long-term pins have moved what they could not leave. */
static __always_inline void look_for_stranded(struct first_pin *p, __u64 array, struct strand *state)
{
	struct strand_walk walk = { .state = state, .pin = p, .array = array };

	state->first = -1;
	if (p->pin.gup_flags & cfg.foll_longterm)
		return;
	bpf_loop(LOOK_ALL + LOOK_BLOCKS, strand_one, &walk, 0);
	state->sum.lower_bound = state->sum.looked < p->pin.pages;
	p->stranded = state->lasting;
	p->in_the_way = state->sum.pages || state->sum.lower_bound;
}

/* --- entries -------------------------------------------------------------------------- */

static __always_inline bool pin_forget(__u64 array)
{
	struct first_pin *p = bpf_map_lookup_elem(&first_pins, &array);
	__u64 stranded = p ? p->stranded : 0;
	__u32 via = p ? p->pin.via : WIRE_PIN_VIA_NONE;

	if (!p || bpf_map_delete_elem(&first_pins, &array))
		return false;
	COUNT(pins_released);
	COUNT_PAGES(freed, via, stranded);
	return true;
}

static __always_inline void step_first_pin(struct first_pin *p)
{
	if (!task_traced())
		return;
	p->traced = 1;
	STEP_EMIT(FIRST_PIN, (struct wire_span *)NULL, e, {
		e->at = p->pin.address;
		e->pages = p->pin.pages;
		e->gup_flags = p->pin.gup_flags;
		e->have = p->pin.calls ? WIRE_HAVE_GUP : 0;
	});
}

static __always_inline void step_release(__u64 array)
{
	struct first_pin *p = cfg.trace ? bpf_map_lookup_elem(&first_pins, &array) : NULL;

	if (p && p->traced)
		STEP_EMIT(RELEASE, (struct wire_span *)NULL, e, {
			e->at = p->pin.address;
			e->pages = p->pin.pages;
			e->gup_flags = p->pin.gup_flags;
			e->have = p->pin.calls ? WIRE_HAVE_GUP : 0;
			e->tgid = p->pin.tgid;
			__builtin_memcpy(e->comm, p->pin.comm, sizeof(e->comm));
		});
}

static __always_inline void lock_keep(struct lock_call *c)
{
	struct first_pin *p = &c->entry;
	__u64 array = 0;

	bpf_probe_read_kernel(&array, sizeof(array), (void *)c->array_at);
	find_object(p);
	p->pin.since_ns = bpf_ktime_get_ns();
	/* It leaves the kernel, and so nothing of the array's address may be in it. */
	p->pin.id = p->pin.since_ns << 8 | (bpf_get_smp_processor_id() & 0xff);
	/* Still there: its release was missed, or the address could not be in use again. */
	pin_forget(array);
	look_for_stranded(p, array, &c->strand);
	if (!array || bpf_map_update_elem(&first_pins, &array, p, BPF_ANY)) {
		COUNT(pins_unkept);
		return;
	}
	COUNT(pins_taken);
	COUNT_PAGES(stranded, p->pin.via, p->stranded);
	if (c->strand.first >= 0)
		send_hazard(&c->strand, p, array);
	p = bpf_map_lookup_elem(&first_pins, &array);
	if (p)
		step_first_pin(p);
}

SEC("?kretprobe/os_lock_user_pages")
int nv_lock_exit__kretprobe(struct pt_regs *ctx)
{
	__u32 tid = tid_of_current(), status = (__u32)PT_REGS_RC(ctx);
	struct lock_call *c = bpf_map_lookup_elem(&lock_calls, &tid);

	bpf_map_delete_elem(&lock_threads, &tid);
	if (!c) {
		if (!status)
			COUNT(pins_unkept);
		return 0;
	}
	if (!status)
		lock_keep(c);
	bpf_map_delete_elem(&lock_calls, &tid);
	__sync_fetch_and_add(&locks_now, -1);
	return 0;
}

/*
 * slot nv_pin_enter: pin_user_pages (mm/gup.c), inside os_lock_user_pages.
 * Why: the flags that the kernel was really given; which release sets FOLL_LONGTERM differs by branch and
 * architecture. Rate: drivers that pin for themselves; one load sends them back.
 */
static __always_inline int pin_enter(__u32 gup_flags)
{
	__u32 tid = tid_of_current();
	struct lock_call *c;

	if (!locks_now)
		return 0;
	c = bpf_map_lookup_elem(&lock_calls, &tid);
	if (!c)
		return 0;
	c->entry.pin.gup_flags = gup_flags;
	c->entry.pin.calls++;
	return 0;
}

SEC("?kprobe/pin_user_pages")
int nv_pin_enter__kprobe(struct pt_regs *ctx)
{
	return pin_enter(PT_REGS_PARM3(ctx));
}

SEC("?fentry/pin_user_pages")
int BPF_PROG(nv_pin_enter__fentry, __u64 start, __u64 nr_pages, __u32 gup_flags)
{
	return pin_enter(gup_flags);
}

/*
 * slot nv_unlock: os_unlock_user_pages(pages, array[, flags]) of nvidia.ko; the third argument came with 570.86.15.
 * Why: nothing else lets go of these pins. Context: any thread. The entry goes before the pins do, so that no pin
 * of the ledger is one that was given back.
 */
SEC("?kprobe/os_unlock_user_pages")
int nv_unlock__kprobe(struct pt_regs *ctx)
{
	__u64 array = PT_REGS_PARM2(ctx);

	step_release(array);
	if (!pin_forget(array))
		COUNT(pins_unseen);
	return 0;
}
