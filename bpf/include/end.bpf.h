/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The end of a registration, whatever its entry point: counts it, and on failure reads what only
 * this task's context can tell.
 */
#ifndef PINWHY_END_BPF_H
#define PINWHY_END_BPF_H

#include "armed.bpf.h"
#include "task.bpf.h"
#include "verbs.bpf.h"
#include "vma.bpf.h"

/* Is the process dying, and of what; where does it want its memory? */
static __always_inline void read_fate(struct wire_reg_end *e)
{
	struct task_struct *task = current_task();
	struct mempolicy *policy = BPF_CORE_READ(task, mempolicy);
	__u32 tgid = e->tgid; /* a key may not lie in the ring's memory on 6.1 */
	struct wire_oom *oom;

	e->group_exit_code = BPF_CORE_READ(task, signal, group_exit_code);
	e->oom_victim = BPF_CORE_READ(task, signal, oom_mm) != NULL;
	e->killed = !!(BPF_CORE_READ(task, pending.signal.sig[0]) & SIGKILL_BIT);
	e->have |= WIRE_HAVE_SIGNAL | WIRE_HAVE_POLICY;
	if (policy) {
		e->policy = BPF_CORE_READ(policy, mode) + 1;
		e->policy_nodes = policy_nodes(policy);
	}
	oom = bpf_map_lookup_elem(&oom_kills, &tgid);
	/* The number may have been another process's when that was chosen. */
	if (!oom || (!e->oom_victim && oom->time_ns < e->start_ns))
		return;
	e->oom = *oom;
	e->have |= WIRE_HAVE_OOM;
}

/* Has it been refused a dma-buf of GPU memory before? Its number may have been another process's then. */
static __always_inline void read_export(struct wire_reg_end *e)
{
	__u32 tgid = e->tgid;
	struct wire_export *x = bpf_map_lookup_elem(&failed_exports, &tgid);

	if (!x || x->task_start_ns != e->task_start_ns)
		return;
	e->export = *x;
	e->have |= WIRE_HAVE_EXPORT;
}

struct frame_search {
	struct wire_reg_end *e;
	__u64 ips[WIRE_STACK_MAX];
};

#ifdef PINWHY_BASIC
/* A walk for each frame is more than an old verifier gets through; the build id names the file as well. */
static __always_inline void library_at(__u64 address, char *library)
{
}
#else
static long frame_library(struct task_struct *task, struct vm_area_struct *vma, void *ctx)
{
	struct file *file = vma->vm_file;

	if (file)
		bpf_probe_read_kernel_str(ctx, WIRE_LIBRARY_LEN, BPF_CORE_READ(file, f_path.dentry, d_name.name));
	return 0;
}

static __always_inline void library_at(__u64 address, char *library)
{
	bpf_find_vma(current_task(), address, frame_library, library, 0);
}
#endif

/*
 * The kernel writes its own, smaller entries to where ours go: the last is widened first, so that none
 * is overwritten before it was read.
 */
CALLED_BACK long frame_widen(__u32 n, void *ctx)
{
	struct frame_search *f = ctx;
	__u32 i = WIRE_STACK_MAX - 1 - n;
	struct wire_reg_end *e = f->e;
	struct stack_build_id raw;
	char library[WIRE_LIBRARY_LEN] = {};
	struct wire_frame *out;

	if (i >= WIRE_STACK_MAX || !e)
		return 1;
	out = &e->frames[i];
	raw = ((struct stack_build_id *)e->frames)[i];
	if (i < e->nframes)
		library_at(f->ips[i], library);
	out->known = raw.status == STACK_BUILD_ID_VALID;
	out->offset = i < e->nframes ? raw.offset : 0;
	__builtin_memcpy(out->build_id, raw.build_id, sizeof(out->build_id));
	__builtin_memcpy(out->library, library, sizeof(out->library));
	return 0;
}

/* The user stack by frame pointers, as far as libraries keep them: file, build id, offset. */
static __always_inline void read_stack(struct wire_reg_end *e, void *ctx)
{
	struct frame_search f = { .e = e };
	long bytes;

	bytes = bpf_get_stack(ctx, f.ips, sizeof(f.ips), BPF_F_USER_STACK);
	if (bytes <= 0)
		return;
	e->nframes = (__u32)bytes / sizeof(f.ips[0]);
	bytes = bpf_get_stack(ctx, e->frames, WIRE_STACK_MAX * sizeof(struct stack_build_id),
			      BPF_F_USER_STACK | BPF_F_USER_BUILD_ID);
	if (bytes < 0)
		e->nframes = 0;
#ifdef PINWHY_BASIC
	EACH_APART
	for (__u32 i = 0; i < WIRE_STACK_MAX; i++)
		frame_widen(i, &f);
#else
	bpf_loop(WIRE_STACK_MAX, frame_widen, &f, 0);
#endif
}

static __always_inline void read_span(struct wire_reg_end *e, const struct wire_span *s)
{
	e->start_ns = s->start_ns;
	e->address = s->address;
	e->length = s->length;
	e->access = s->access;
	e->have = s->have;
	e->pinned_before_pages = s->pinned_before_pages;
	e->gup_start = s->gup_start;
	e->gup_pages = s->gup_pages;
	e->gup_result = s->gup_result;
	e->gup_flags = s->gup_flags;
	e->pin_fast_pages = s->pin_fast_pages;
	e->pin_fast_flags = s->pin_fast_flags;
	e->migrate_moved = s->migrate_moved;
	e->migrate_failed = s->migrate_failed;
	e->migrate_mode = s->migrate_mode;
	e->migrate_reason = s->migrate_reason;
	e->passes = s->passes;
	e->no_target = s->no_target;
	e->gup_calls = s->gup_calls;
	e->folios_seen = s->folios_seen;
	e->folios_sent = s->folios_sent;
	e->folios_dropped = s->folios_dropped;
	e->fault_vma_state = s->fault_vma_state;
	e->fault_vma = s->fault_vma;
	e->nvmas = s->nvmas;
	e->nchain = s->nchain;
	e->api = s->api;
	e->stage = s->stage;
	e->was_reported = s->reported_id == s->id;
	e->collects = s->collects;
	e->cgroup_resource = s->cgroup_resource;
	if (s->have & (WIRE_HAVE_ARGS | WIRE_HAVE_DMABUF))
		e->args = s->args;
	if (s->have & WIRE_HAVE_ACCOUNT)
		e->account = s->account;
	if (s->have & WIRE_HAVE_FW)
		e->fw = s->fw;
	if (s->have & WIRE_HAVE_PEER)
		e->peer = s->peer;
	__builtin_memcpy(e->vmas, s->vmas, sizeof(e->vmas));
	__builtin_memcpy(e->chain, s->chain, sizeof(e->chain));
}

static __always_inline void count_result(__u32 api, __s64 result)
{
	struct wire_counters *c = counters_of_cpu();

	if (c && api < WIRE_API_MAX)
		__sync_fetch_and_add(result ? &c->reg_failed[api] : &c->reg_ok[api], 1);
}

static __always_inline void count_latency(__u64 ns)
{
	struct wire_counters *c = counters_of_cpu();
	__u32 bucket = 0;

	if (!c)
		return;
	/* log2 by halving: five tests instead of a loop */
	for (__u32 shift = 32; shift; shift >>= 1) {
		if (ns >> shift) {
			ns >>= shift;
			bucket += shift;
		}
	}
	if (bucket >= WIRE_LATENCY_BUCKETS)
		bucket = WIRE_LATENCY_BUCKETS - 1;
	__sync_fetch_and_add(&c->latency[bucket], 1);
}

/* The mmap lock was busy when the pin failed: a hole found now may have come since. */
static __always_inline void look_again(struct wire_span *s)
{
	struct wire_vma vma;

	if (!(s->have & WIRE_HAVE_GUP_RESULT) || s->gup_result >= 0 || s->have & WIRE_HAVE_FAULT_VMA)
		return;
	if (vma_lookup(s->gup_start, &vma) == -ENOENT)
		s->fault_vma_state = WIRE_FAULT_VMA_HOLE_LATER;
}

/* Marks ids of records that no span stands behind. */
#define UNFOLLOWED (1ULL << 63)

static __always_inline __u32 api_entry(__u16 api)
{
	switch (api) {
#define API(id, name, word, entry) case WIRE_API_##name: return WIRE_FN_##entry;
#include "apis.def"
#undef API
	default: return WIRE_FN_NONE;
	}
}

/* An end whose span was not there: counted all the same, and reported with the little that is known. */
static __always_inline void registration_unfollowed(void *ctx, __u16 api, __s64 result)
{
	bool sent;

	if (!task_wanted())
		return;
	COUNT(ends_without_span);
	count_result(api, result);
	if (!result)
		return;
	EMIT(wire_reg_end, REG_END, bpf_ktime_get_ns() | UNFOLLOWED, e, sent, {
		e->result = result;
		e->api = api;
		e->chain[0].fn = api_entry(api);
		e->chain[0].result = result;
		e->nchain = 1;
		read_task(e);
		read_fate(e);
	});
}

/*
 * What a failure tells is one program of its object, WIRE_ENDS_<ends>, to which each exit jumps: inlined in all of them it was two
 * thirds of what the kernel's verifier had to look at when pinwhy starts.
 */
static __always_inline int registration_told(void *ctx)
{
	struct wire_span *s = span_find();
	bool sent;

	if (!s)
		return 0;
	if (!s->nvmas && s->address && s->length && s->have & (WIRE_HAVE_UMEM | WIRE_HAVE_ARGS))
		span_vmas(s);
	look_again(s);
#ifndef PINWHY_BASIC
	/* Only of pages that stay could it tell more. */
	if (s->folios_seen)
		arm_current();
#endif
	EMIT(wire_reg_end, REG_END, s->id, e, sent, {
		read_span(e, s);
		e->result = s->result;
		read_task(e);
		read_fate(e);
		read_export(e);
		read_command(e, s);
		read_device(e, s);
		read_stack(e, ctx);
	});
	span_close(s);
	return 0;
}

#define REGISTRATION_FAILED                                                                         \
	SEC("?kprobe")                                                                              \
	int registration_failed(struct pt_regs *ctx)                                                \
	{                                                                                           \
		return registration_told(ctx);                                                      \
	}

/* Success leaves by the second test: counters only, no event. Does not return when there is something to tell. */
static __always_inline void registration_end(void *ctx, struct wire_span *s, __s64 result, enum wire_ends here)
{
	count_result(s->api, result);
	count_latency(bpf_ktime_get_ns() - s->start_ns);
	step_end(s, result);
	s->result = result;
	if (result || s->reported_id == s->id)
		bpf_tail_call(ctx, &ends, here);
	/* The place is filled before a hook is attached: what was to be told and gets here is counted as lost. */
	if (result)
		COUNT(ends_without_span);
	span_close(s);
}

/*
 * The return of an entry point. `all`: whatever returns from this function is such a registration, so that
 * one without a span is counted and told all the same.
 */
static __always_inline int entry_exit(void *ctx, __u16 api, __u32 fn, __s64 result, bool all, enum wire_ends here)
{
	struct wire_span *s = span_find();

	result = result < 0 ? result : 0;
	if (!s || s->api != api) {
		if (all)
			registration_unfollowed(ctx, api, result);
		return 0;
	}
	if (result)
		chain_push(s, fn, result);
	registration_end(ctx, s, result, here);
	return 0;
}

#endif
