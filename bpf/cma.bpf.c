// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * CMA's own side of a first pin: whoever wants contiguous memory cannot have a range in which a page is pinned.
 *
 * An allocation tries one range of its area after the other. Of one that could not be emptied the ledger is asked
 * at once, since the pin may be given back before the end; told is, at the end, what became of all of them.
 */
#include "folio.bpf.h"
#include "ledger.bpf.h"
#include "task.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Pages of pins that are compared for one allocation, and of one pin: a search takes milliseconds at most. */
#define LOOK_PAGES 65536
#define LOOK_PIN 16384

/* An allocation in progress, by tid. Least recently used, so that one whose end was missed makes way. */
struct cma_call {
	struct wire_contig sum;
	struct wire_pin pin;	/* the first that was found in the way */
	__u64 array;	/* its key in the ledger */
	__u64 page;	/* number of its page there */
	__u64 at;	/* that page; kernel pointers, which never leave the maps */
	__u64 looked;
	/* Of the range that is searched: */
	__u64 start, bytes;	/* where its struct pages are */
	__u64 found;	/* a pin has a page there */
	__u64 busy_pfn;	/* its first frame */
	__u64 cut;	/* the search was given up before its end */
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct cma_call);
} cma_calls SEC(".maps");

static const struct cma_call no_call;

/* Arguments of cma:cma_alloc_busy_retry and _finish, which begin alike from 5.13 to 7.3. */
struct cma_args {
	__u64 name, pfn, page, pages, align;
	__s64 err;	/* finish of 6.12 and later */
};

/* A walk keeps its state in a map: the verifier of newer kernels would follow every value it takes on the stack. */
struct look {
	struct cma_call *call;
	const struct first_pin *pin;
	__u64 array;
};

/* Is the i-th page of the pin in the range? 1 ends the walk. */
static long look_page(__u32 i, void *ctx)
{
	struct look *l = ctx;
	struct cma_call *c = l->call;
	__u64 at = 0;

	if (!c || !l->pin || i >= l->pin->pin.pages)
		return 1;
	if (++c->looked > LOOK_PAGES || i >= LOOK_PIN) {
		c->cut = 1;
		return 1;
	}
	if (bpf_probe_read_kernel(&at, sizeof(at), (void *)(l->array + i * sizeof(at))) || at - c->start >= c->bytes)
		return 0;
	c->found = 1;
	if (c->sum.pinned)
		return 1; /* the first one is told of */
	c->pin = l->pin->pin;
	c->array = l->array;
	c->page = i;
	c->at = at;
	return 1;
}

/* Pins all of whose pages were looked at, and that stranded none, are in nobody's way. */
static long look_pin(void *map, const __u64 *array, struct first_pin *p, struct look *l)
{
	struct look one = { .call = l->call, .pin = p, .array = *array };
	struct cma_call *c = l->call;
	__u64 id = p->pin.id;

	if (!c || c->found)
		return 1;
	if (!p->in_the_way)
		return 0;
	bpf_loop(LOOK_PIN + 1, look_page, &one, 0);
	/* Given back while its array was read: what was found there may be another's. */
	p = bpf_map_lookup_elem(&first_pins, array);
	if (c->found && (!p || p->pin.id != id || (!c->sum.pinned && c->pin.id != id))) {
		c->found = 0;
		c->cut = 1;
	}
	return 0;
}

static __always_inline struct cma_call *call_find(void)
{
	__u32 tid = tid_of_current();

	return bpf_map_lookup_elem(&cma_calls, &tid);
}

/*
 * slot cma_start: tracepoint cma:cma_alloc_start (mm/cma.c).
 * Why: a pin that was there before is in the way of all of it; a later one may have come in between. Context: whoever
 * allocates. Rate: each allocation of contiguous memory, by drivers as they start and by hugetlb.
 */
struct cma_start_args {
	__u64 name, pages;
};

SEC("?raw_tp/cma_alloc_start")
int cma_start__raw_tp(struct cma_start_args *ctx)
{
	__u32 tid = tid_of_current();
	struct cma_call *c;

	if (bpf_map_update_elem(&cma_calls, &tid, &no_call, BPF_ANY))
		return 0;
	c = bpf_map_lookup_elem(&cma_calls, &tid);
	if (!c)
		return 0;
	c->sum.pages = ctx->pages;
	c->sum.start_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline void look_for_pins(struct cma_call *c, __u64 page, __u64 pages)
{
	struct look l = { .call = c };

	c->start = page;
	c->bytes = pages * bpf_core_type_size(struct page);
	c->found = 0;
	c->cut = 0;
	bpf_for_each_map_elem(&first_pins, look_pin, &l, 0);
}

/*
 * slot cma_busy: tracepoint cma:cma_alloc_busy_retry (mm/cma.c).
 * Why: it names each range that could not be emptied (-EBUSY), the last one included. Context: whoever allocates.
 * Rate: none where CMA does its work. Misses: ranges that fail in another way, such as for want of memory to move to.
 */
SEC("?raw_tp/cma_alloc_busy_retry")
int cma_busy__raw_tp(struct cma_args *ctx)
{
	__u64 pfn = ctx->pfn, page = ctx->page, pages = ctx->pages;
	struct cma_call *c = call_find();

	COUNT(cma_busy);
	if (!c)
		return 0;
	c->sum.busy++;
	c->busy_pfn = pfn;
	look_for_pins(c, page, pages);
	if (!c->found) {
		c->sum.unsearched += c->cut;
		return 0;
	}
	COUNT(cma_pinned);
	if (!c->sum.pinned++)
		c->sum.range_pfn = pfn;
	return 0;
}

/* Its references now, when no migration has isolated it. Those of a tail are its head's, which is not looked for. */
static __always_inline void page_counts(struct wire_folio *out, const struct folio *f)
{
	__u64 flags = folio_page_flags(f);

	if ((__u64)BPF_CORE_READ(f, lru.next) & 1)
		return;
	out->order = folio_order_of(f, flags);
	folio_counts(out, f, flags);
	out->expected--;
}

static __always_inline void send_blocked(struct cma_call *c)
{
	struct first_pin *p = bpf_map_lookup_elem(&first_pins, &c->array);
	struct folio *f = (void *)c->at;
	bool sent;

	if (!task_wanted())
		return;
	c->sum.held = p && p->pin.id == c->pin.id;
	EMIT(wire_cma_blocked, CMA_BLOCKED, c->pin.id, e, sent, {
		e->end.start_ns = e->end.hdr.time_ns;
		e->holder.pin = c->pin;
		e->holder.page = c->page;
		if (p && c->sum.held)
			stack_names(&e->holder, p);
		e->contig = c->sum;
		folio_placement(&e->page, f, folio_page_flags(f));
		folio_area(&e->page);
		page_counts(&e->page, f);
		e->page.address = c->pin.address + (c->page << cfg.page_shift);
		e->page.index_pages = c->page;
		e->page.have |= WIRE_HAVE_ADDRESS;
		read_task(&e->end);
	});
}

/*
 * slot cma_finish: tracepoint cma:cma_alloc_finish (mm/cma.c).
 * Why: whether the allocation found another range. Context and rate as above.
 */
SEC("?raw_tp/cma_alloc_finish")
int cma_finish__raw_tp(struct cma_args *ctx)
{
	struct trace_event_raw_cma_alloc_finish *tells = NULL;
	__u32 tid = tid_of_current(), failed = !ctx->page;
	struct cma_call *c = call_find();

	if (failed)
		COUNT(cma_failures);
	if (!c)
		return 0;
	c->sum.failed = failed;
	if (failed && bpf_core_field_exists(tells->errorno))
		c->sum.result = (__s32)ctx->err;
	else if (failed && c->sum.busy && ctx->pfn == c->busy_pfn)
		c->sum.result = -EBUSY; /* it ended with the range that was busy */
	if (c->sum.pinned)
		send_blocked(c);
	bpf_map_delete_elem(&cma_calls, &tid);
	return 0;
}
