// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * GPU memory registered by its address. The vendor's RDMA stack asks its peer memory clients whose the address is, before
 * its own pin or behind one that failed; nvidia-peermem finds out by asking NVIDIA's driver for the pages, and calls whatever
 * it cannot have "not mine". Then the registration ends with what the ordinary pin made of the address, and the
 * driver's errno is seen here or nowhere.
 */
#include "probe.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Of the registration that this thread is in, NULL = in none. */
static __always_inline struct wire_peer *peer_of(struct wire_span *s)
{
	if (!s)
		return NULL;
	if (!(s->have & WIRE_HAVE_PEER))
		__builtin_memset(&s->peer, 0, sizeof(s->peer));
	s->have |= WIRE_HAVE_PEER;
	return &s->peer;
}

static __always_inline int pages_enter(__u64 address, __u64 length)
{
	struct wire_peer *p = peer_of(span_find());

	if (!p)
		return 0;
	p->address = user_address(address);
	p->length = length;
	return 0;
}

/* Who called tells a client that asks whose memory it is from one that takes it. Without a symbol it is an address. */
static __always_inline void note_caller(struct wire_peer *p, __u64 at)
{
#ifdef PINWHY_BASIC
	__builtin_memset(p->caller, 0, sizeof(p->caller)); /* bpf_snprintf() is of 5.13 */
#else
	static const char format[] = "%ps";

	bpf_snprintf(p->caller, sizeof(p->caller), format, &at, sizeof(at));
	if (p->caller[0] == '0')
		__builtin_memset(p->caller, 0, sizeof(p->caller));
#endif
}

static __always_inline int pages_exit(struct pt_regs *ctx, __u32 fn)
{
	struct wire_span *s = span_find();
	struct wire_peer *p = peer_of(s);
	int err = (int)PT_REGS_RC(ctx);

	if (!p)
		return 0;
	p->err = err < 0 ? err : 0;
	p->fn = fn;
	p->calls++;
	p->failed += err < 0;
	/* A return probe runs where the function returns to. */
	note_caller(p, PT_REGS_IP(ctx));
	/* What it answers to a client that only asks whose memory it is decides nothing: mostly it is not the GPU's. */
	if (err < 0 && p->answer == WIRE_PEER_MINE)
		chain_push(s, fn, err);
	return 0;
}

/*
 * slots peer_pages, peer_persistent: _enter and _exit of nvidia_p2p_get_pages(token, va_space, address, length, ...) and
 * nvidia_p2p_get_pages_persistent(address, length, ...) of nvidia.ko (kernel-open/nvidia/nv-p2p.c, 525 to 595).
 * Why: the errno that the client hides. Context: process, within the registration. Rate: two per registration of GPU
 * memory by its address, and one for each address that is asked of the client first. Misses: calls of other
 * modules outside of a registration.
 */
SEC("?kprobe/nvidia_p2p_get_pages")
int peer_pages_enter__kprobe(struct pt_regs *ctx)
{
	return pages_enter(PT_REGS_PARM3(ctx), PT_REGS_PARM4(ctx));
}

SEC("?kretprobe/nvidia_p2p_get_pages")
int peer_pages_exit__kretprobe(struct pt_regs *ctx)
{
	return pages_exit(ctx, WIRE_FN_NV_P2P);
}

SEC("?kprobe/nvidia_p2p_get_pages_persistent")
int peer_persistent_enter__kprobe(struct pt_regs *ctx)
{
	return pages_enter(PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx));
}

SEC("?kretprobe/nvidia_p2p_get_pages_persistent")
int peer_persistent_exit__kretprobe(struct pt_regs *ctx)
{
	return pages_exit(ctx, WIRE_FN_NV_P2P_PERSISTENT);
}

/*
 * slots peer_acquire_exit, peer_acquire_nc_exit: nv_mem_acquire and, from 580 on, nv_mem_acquire_nc of nvidia-peermem
 * (kernel-open/nvidia-peermem/nvidia-peermem.c). Why: that it said "not mine", instead of taking it from its source.
 * Both may be there, and which one is asked is a parameter of the module; hence two slots. Rate: as above.
 */
static __always_inline int acquire_exit(int answer)
{
	struct wire_peer *p = peer_of(span_find());

	if (p)
		p->answer = answer == 1 ? WIRE_PEER_MINE : WIRE_PEER_NOT_MINE;
	return 0;
}

SEC("?kretprobe/nv_mem_acquire")
int peer_acquire_exit__kretprobe(struct pt_regs *ctx)
{
	return acquire_exit((int)PT_REGS_RC(ctx));
}

SEC("?kretprobe/nv_mem_acquire_nc")
int peer_acquire_nc_exit__kretprobe(struct pt_regs *ctx)
{
	return acquire_exit((int)PT_REGS_RC(ctx));
}
