// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Silent damage: the memory behind a live region is unmapped, given back, moved or mapped over. No call
 * fails, and the device goes on with the pages that were there. All of it is attached on demand only.
 *
 * A call counts when a region lived from before it to after it, overlaps its pages, and it succeeded.
 * Whether there may be one is asked at the call's begin, which regions there are at its end. What ends with
 * its process (exit_mmap) goes through none of these functions.
 */
#include "task.bpf.h"
#include "verbs.bpf.h"
#include "vma.bpf.h"
#include "regions.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* A umem in the making, by tid. */
struct umem_call {
	__u64 device, address, length;
	__u32 access, api;
};

/* A call that may hit a region, by thread and depth: munmap's function is called by mremap and mmap as well. */
struct call_key {
	__u32 tid, outer;
};

struct call {
	__u64 mm, start, end, enter_ns;
	__u32 advice;
	__u16 by;
	__u8 sure, pad;
};

/* Least recently used, so that what a missed return leaves behind makes way by itself. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct umem_call);
} umem_calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct call_key);
	__type(value, struct call);
} calls SEC(".maps");

static __always_inline __u64 page_mask(void)
{
	return (1ULL << cfg.page_shift) - 1;
}

static __always_inline __u64 page_up(__u64 address)
{
	return (address + page_mask()) & ~page_mask();
}

/* As a number: arithmetic follows, which the verifier forbids on a pointer. */
static __always_inline __u64 current_mm(void)
{
	return (__u64)BPF_CORE_READ(bpf_get_current_task_btf(), mm);
}

static __always_inline __u64 argument(void *ctx, __u32 n)
{
	__u64 value = 0;

	bpf_get_func_arg(ctx, n, &value);
	return value;
}

/* --- regions ------------------------------------------------------------------------ */

/*
 * slot stale_umem_enter/_exit: ib_umem_get (ib_uverbs, to 6.12), __ib_umem_get_va (ib_core, 7.3), __ib_umem_get of a vendor's stack.
 * Why: every driver gets its pinned pages here, and what it returns is what ib_umem_release() is given.
 * On-demand paging (ib_umem_odp_get) and dma-bufs do not pass: notifiers keep the one right, and the
 * other is no memory of the process. Context: process, in a module, hence kprobes. Rate: one per
 * registration. Misses: regions from before these hooks, and drivers that pin by themselves (usnic, hfi1).
 */
static __always_inline int umem_enter(struct pt_regs *ctx)
{
	struct wire_span *s = span_find();
	__u32 tid = tid_of_current();
	struct umem_call c = {
		.device = PT_REGS_PARM1(ctx), .address = user_address(PT_REGS_PARM2(ctx)), .length = PT_REGS_PARM3(ctx),
		.access = PT_REGS_PARM4(ctx), .api = s ? s->api : WIRE_API_UMEM,
	};

	bpf_map_update_elem(&umem_calls, &tid, &c, BPF_ANY);
	return 0;
}

static __always_inline int umem_exit(__u64 umem)
{
	__u32 tid = tid_of_current();
	struct umem_call *c = bpf_map_lookup_elem(&umem_calls, &tid);
	struct region r = {};

	if (error_of_pointer(umem) || !umem) {
		bpf_map_delete_elem(&umem_calls, &tid);
		return 0;
	}
	if (!c) {
		COUNT(stale_unwatched);
		return 0;
	}
	r.mm = current_mm();
	r.address = c->address;
	r.length = c->length;
	r.start = c->address & ~page_mask();
	r.end = page_up(c->address + c->length);
	r.device = c->device;
	r.access = c->access;
	r.api = c->api;
	r.tgid = bpf_get_current_pid_tgid() >> 32;
	r.born_ns = bpf_ktime_get_ns();
	r.id = r.born_ns ^ umem << 1 ?: 1;
	bpf_map_delete_elem(&umem_calls, &tid);
	if (r.end <= r.start)
		return 0;
	r.umem = umem;
	if (!region_add(&r))
		COUNT(stale_unwatched);
	return 0;
}

SEC("?kprobe/__ib_umem_get")
int stale_umem_enter__kprobe_inner(struct pt_regs *ctx)
{
	return umem_enter(ctx);
}

SEC("?kprobe/ib_umem_get")
int stale_umem_enter__kprobe(struct pt_regs *ctx)
{
	return umem_enter(ctx);
}

SEC("?kprobe/__ib_umem_get_va")
int stale_umem_enter__kprobe_va(struct pt_regs *ctx)
{
	return umem_enter(ctx);
}

SEC("?kretprobe/__ib_umem_get")
int stale_umem_exit__kretprobe_inner(struct pt_regs *ctx)
{
	return umem_exit(PT_REGS_RC(ctx));
}

SEC("?kretprobe/ib_umem_get")
int stale_umem_exit__kretprobe(struct pt_regs *ctx)
{
	return umem_exit(PT_REGS_RC(ctx));
}

SEC("?kretprobe/__ib_umem_get_va")
int stale_umem_exit__kretprobe_va(struct pt_regs *ctx)
{
	return umem_exit(PT_REGS_RC(ctx));
}

/*
 * slot stale_release: ib_umem_release(umem) (ib_uverbs, to 6.12; ib_core, 7.3).
 * Why: from here on the device has let go of the pages: every driver calls it after it has told the
 * hardware, and also when a registration fails after the pin. Context: process, at its end too. Rate: one
 * per deregistration. Misses: nothing that stale_umem_exit has seen.
 */
SEC("?kprobe/ib_umem_release")
int stale_release__kprobe(struct pt_regs *ctx)
{
	__u64 umem = PT_REGS_PARM1(ctx);

	if (umem)
		region_remove(umem);
	return 0;
}

/* --- damage -------------------------------------------------------------------------- */

static __always_inline int call_enter(__u32 outer, __u16 by, __u64 mm, __u64 start, __u64 end, __u32 advice, bool sure)
{
	struct call_key key = { .tid = tid_of_current(), .outer = outer };
	struct call c = {
		.mm = mm, .start = start & ~page_mask(), .end = page_up(end), .enter_ns = bpf_ktime_get_ns(),
		.by = by, .advice = advice, .sure = sure,
	};

	bpf_map_update_elem(&calls, &key, &c, BPF_ANY);
	return 0;
}

static __always_inline void send(const struct call *c, const struct region *r)
{
	const struct wire_layout *l = layout_get();
	bool sent;

	EMIT(wire_stale, STALE, r->id, e, sent, {
		e->end.start_ns = r->born_ns;
		e->end.address = r->address;
		e->end.length = r->length;
		e->end.access = r->access;
		e->end.api = r->api;
		e->end.stage = WIRE_STAGE_PINNED;
		e->end.have = WIRE_HAVE_UMEM;
		e->damage.by = c->by;
		e->damage.advice = c->advice;
		e->damage.sure = c->sure;
		e->damage.call_start = c->start;
		e->damage.call_end = c->end;
		e->damage.enter_ns = c->enter_ns;
		e->damage.owner_tgid = r->tgid;
		e->damage.start = r->start > c->start ? r->start : c->start;
		e->damage.end = r->end < c->end ? r->end : c->end;
		read_task(&e->end);
		if (l)
			read_ib_device(&e->end, l, r->device);
	});
}

struct look {
	struct call *call;
	__u64 word;
	__u32 first;
};

static long look_at(__u32 bit, struct look *look)
{
	__u32 place = look->first + bit;
	struct call *c = look->call;
	struct region *r;

	if (!(look->word >> bit & 1))
		return 0;
	r = bpf_map_lookup_elem(&regions, &place);
	if (!r || !r->id || r->mm != c->mm || r->end <= c->start || r->start >= c->end)
		return 0;
	/* Made while the call ran: what it took away was not this region's. */
	if (r->born_ns >= c->enter_ns || r->reported)
		return 0;
	if (!__sync_val_compare_and_swap(&r->reported, 0, 1))
		send(c, r);
	return 0;
}

static long look_through(__u32 n, struct call *c)
{
	struct look look = { .call = c, .first = n * 64 };

	if (n >= REGIONS_MAX / 64)
		return 1;
	look.word = regions_used[n];
	if (look.word)
		bpf_loop(64, look_at, &look, 0);
	return 0;
}

static __always_inline void report_hits(struct call *c)
{
	if (range_may_hit(c->mm, c->start, c->end))
		bpf_loop(REGIONS_MAX / 64, look_through, c, 0);
}

/* The call that this return is of; what a missed return left behind is of another kind. */
static __always_inline bool take_call(__u32 outer, __u16 by, struct call *ret_call)
{
	struct call_key key = { .tid = tid_of_current(), .outer = outer };
	struct call *c = bpf_map_lookup_elem(&calls, &key);

	if (!c)
		return false;
	*ret_call = *c;
	bpf_map_delete_elem(&calls, &key);
	return ret_call->by == by;
}

/*
 * slot stale_munmap_enter/_exit: do_vmi_align_munmap (6.3 and newer), do_mas_align_munmap (6.1)
 * (vmi, vma, mm, start, end, ...) (mm/vma.c, mm/mmap.c).
 * Why: all unmapping of a living process passes: munmap, brk, what mremap leaves or overwrites, on 6.1
 * also mmap with MAP_FIXED. Context: process, mmap lock held for writing, so that no stack can be read.
 * Rate: every unmapping of every task; one load when the process has no region. Misses: kernels before
 * 6.0, whose function has another name.
 */
static __always_inline int munmap_enter(__u64 mm, __u64 start, __u64 end)
{
	struct call_key key = { .tid = tid_of_current() };

	if (!mm_has_regions(mm))
		return 0;
	if (!range_may_hit(mm, start, end)) {
		bpf_map_delete_elem(&calls, &key); /* of a call whose return was missed */
		return 0;
	}
	return call_enter(0, WIRE_DAMAGE_MUNMAP, mm, start, end, 0, true);
}

/* 0, or 1 when the lock was downgraded. Part of mremap or mmap: that is what the process called. */
static __always_inline int munmap_exit(int result)
{
	struct call_key outer = { .tid = tid_of_current(), .outer = 1 };
	struct call c, *o;

	if (!mm_has_regions(current_mm()) || !take_call(0, WIRE_DAMAGE_MUNMAP, &c) || result < 0)
		return 0;
	o = bpf_map_lookup_elem(&calls, &outer);
	if (o && (o->by == WIRE_DAMAGE_MREMAP || (c.start >= o->start && c.end <= o->end)))
		c.by = o->by;
	report_hits(&c);
	return 0;
}

SEC("?fentry/do_vmi_align_munmap")
int stale_munmap_enter__fentry(__u64 *ctx)
{
	return munmap_enter(argument(ctx, 2), ctx[3], ctx[4]);
}

SEC("?kprobe/do_vmi_align_munmap")
int stale_munmap_enter__kprobe(struct pt_regs *ctx)
{
	return munmap_enter(PT_REGS_PARM3(ctx), PT_REGS_PARM4(ctx), PT_REGS_PARM5(ctx));
}

SEC("?kprobe/do_mas_align_munmap")
int stale_munmap_enter__kprobe_mas(struct pt_regs *ctx)
{
	return munmap_enter(PT_REGS_PARM3(ctx), PT_REGS_PARM4(ctx), PT_REGS_PARM5(ctx));
}

SEC("?fexit/do_vmi_align_munmap")
int stale_munmap_exit__fexit(__u64 *ctx)
{
	return munmap_exit(ctx[7]);
}

SEC("?kretprobe/do_vmi_align_munmap")
int stale_munmap_exit__kretprobe(struct pt_regs *ctx)
{
	return munmap_exit(PT_REGS_RC(ctx));
}

SEC("?kretprobe/do_mas_align_munmap")
int stale_munmap_exit__kretprobe_mas(struct pt_regs *ctx)
{
	return munmap_exit(PT_REGS_RC(ctx));
}

/*
 * slot stale_madvise_enter/_exit: do_madvise(mm, start, len, behavior) (mm/madvise.c).
 * Why: DONTNEED and its kin throw pages away and leave the mapping. Not FREE: what is pinned has a
 * reference too many and stays. Context: process, mmap lock not held. Rate: every madvise of every task,
 * which allocators call often; one load when the process has no region, another test for other advice.
 * Misses: process_madvise() of 6.13 and newer, which goes around it; io_uring's is seen.
 */
static __always_inline bool takes_pages(__u32 advice)
{
	return advice == MADV_DONTNEED || advice == MADV_DONTNEED_LOCKED || advice == MADV_REMOVE ||
	       advice == MADV_GUARD_INSTALL;
}

/*
 * DONTNEED of a shared mapping drops entries of the page table: the pages stay in the file and come back.
 * REMOVE makes a hole in the file itself. 1 = pages go, 0 = they stay, -1 = not known.
 */
static __always_inline int pages_go(__u64 mm, __u64 start, __u64 end, __u32 advice)
{
	struct wire_vma vma;

	if (mm != current_mm() || vma_lookup(start, &vma) || vma.end < end)
		return -1;
	/* Of huge pages only whole ones go: the end is rounded down (mm/madvise.c). */
	if (vma.flags & VM_HUGETLB)
		return (end - start) >> (vma.block_shift & 63) ? -1 : 0;
	/* A large folio of shmem that is pinned is cleared, not taken out. */
	if (advice == MADV_REMOVE)
		return -1;
	return !(vma.flags & VM_SHARED);
}

static __always_inline int madvise_enter(__u64 mm, __u64 start, __u64 length, __u32 advice)
{
	__u64 end;
	int go;

	start = user_address(start);
	end = page_up(start + length);
	if (!takes_pages(advice) || !range_may_hit(mm, start, end))
		return 0;
	go = pages_go(mm, start, end, advice);
	if (!go)
		return 0;
	return call_enter(0, WIRE_DAMAGE_MADVISE, mm, start, end, advice, go > 0);
}

static __always_inline int madvise_exit(int result)
{
	struct call c;

	if (!take_call(0, WIRE_DAMAGE_MADVISE, &c) || result)
		return 0;
	report_hits(&c);
	return 0;
}

SEC("?fentry/do_madvise")
int stale_madvise_enter__fentry(__u64 *ctx)
{
	return madvise_enter(argument(ctx, 0), ctx[1], ctx[2], ctx[3]);
}

SEC("?kprobe/do_madvise")
int stale_madvise_enter__kprobe(struct pt_regs *ctx)
{
	return madvise_enter(PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx), PT_REGS_PARM4(ctx));
}

SEC("?fexit/do_madvise")
int stale_madvise_exit__fexit(__u64 *ctx)
{
	return takes_pages(ctx[3]) && mm_has_regions(argument(ctx, 0)) ? madvise_exit(ctx[4]) : 0;
}

SEC("?kretprobe/do_madvise")
int stale_madvise_exit__kretprobe(struct pt_regs *ctx)
{
	return madvise_exit(PT_REGS_RC(ctx));
}

/*
 * slot stale_mremap_enter/_exit: the system call mremap(addr, old_len, new_len, flags, new_addr).
 * Why: its arguments are stable where those of move_vma() are not, and with MREMAP_DONTUNMAP the pages
 * go while no mapping does. What it cuts off or overwrites passes stale_munmap, under its name.
 * Context: process. Rate: every mremap of every task, as realloc() of large blocks. Misses: 32-bit calls.
 */
static __always_inline int mremap_enter(struct pt_regs *regs)
{
	__u64 mm = current_mm(), start, end;
	int go = 1;

	if (!mm_has_regions(mm))
		return 0;
	start = user_address(PT_REGS_PARM1_CORE_SYSCALL(regs));
	end = page_up(start + PT_REGS_PARM2_CORE_SYSCALL(regs));
	/* The mapping stays: what is read from it next is as after MADV_DONTNEED. */
	if (PT_REGS_PARM4_CORE_SYSCALL(regs) & MREMAP_DONTUNMAP)
		go = pages_go(mm, start, end, MADV_DONTNEED);
	if (!go)
		end = start;
	return call_enter(1, WIRE_DAMAGE_MREMAP, mm, start, end, 0, go > 0);
}

static __always_inline int mremap_exit(__u64 result)
{
	struct call c;

	/* Taken out always: left behind, it would give its name to a later munmap. */
	if (!take_call(1, WIRE_DAMAGE_MREMAP, &c) || error_of_pointer(result) || result == c.start)
		return 0;
	report_hits(&c);
	return 0;
}

#define SYSCALL_MREMAP(how, function)                                          \
	SEC("?kprobe/" #function)                                              \
	int stale_mremap_enter__kprobe##how(struct pt_regs *ctx)               \
	{                                                                      \
		return mremap_enter((struct pt_regs *)PT_REGS_PARM1(ctx));     \
	}                                                                      \
	SEC("?kretprobe/" #function)                                           \
	int stale_mremap_exit__kretprobe##how(struct pt_regs *ctx)             \
	{                                                                      \
		return mremap_exit(PT_REGS_RC(ctx));                           \
	}

SYSCALL_MREMAP(, __x64_sys_mremap)
SYSCALL_MREMAP(_arm64, __arm64_sys_mremap)

/*
 * slot stale_mmap_enter/_exit: do_mmap(file, addr, len, prot, flags, ...) (mm/mmap.c).
 * Why: MAP_FIXED replaces what lies there, since 6.12 without calling what munmap does. Context: process,
 * mmap lock held for writing. Rate: every mmap of every task; one test without MAP_FIXED.
 */
static __always_inline int mmap_enter(__u64 address, __u64 length, __u64 flags)
{
	__u64 mm;

	if (!(flags & MAP_FIXED) || flags & MAP_FIXED_NOREPLACE)
		return 0;
	mm = current_mm();
	if (!range_may_hit(mm, address, page_up(address + length)))
		return 0;
	return call_enter(1, WIRE_DAMAGE_MMAP, mm, address, page_up(address + length), 0, true);
}

static __always_inline int mmap_exit(__u64 result)
{
	struct call c;

	if (!mm_has_regions(current_mm()) || !take_call(1, WIRE_DAMAGE_MMAP, &c) || error_of_pointer(result))
		return 0;
	report_hits(&c);
	return 0;
}

SEC("?fentry/do_mmap")
int stale_mmap_enter__fentry(__u64 *ctx)
{
	return mmap_enter(ctx[1], ctx[2], ctx[4]);
}

SEC("?kprobe/do_mmap")
int stale_mmap_enter__kprobe(struct pt_regs *ctx)
{
	return mmap_enter(PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx), PT_REGS_PARM5(ctx));
}

SEC("?fexit/do_mmap")
int stale_mmap_exit__fexit(__u64 *ctx)
{
	__u64 result = 0;

	bpf_get_func_ret(ctx, &result);
	return mmap_exit(result);
}

SEC("?kretprobe/do_mmap")
int stale_mmap_exit__kretprobe(struct pt_regs *ctx)
{
	return mmap_exit(PT_REGS_RC(ctx));
}
