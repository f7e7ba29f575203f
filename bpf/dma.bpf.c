// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * After the pin, or instead of it: the DMA mapping, and dma-bufs, whose memory is pinned by their
 * exporter. Not the scatter-gather table between them: lib/scatterlist.c is built without ftrace, and
 * probes on such functions are refused (KPROBE_EVENTS_ON_NOTRACE is off in 6.1, 6.12 and 7.3).
 */
#include "flavors.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * slot dma_map_exit: dma_map_sgtable (kernel/dma/mapping.c).
 * Why: its errno tells the IOMMU's and the bounce buffers' refusals apart. Not the tracepoint
 * dma:dma_map_sg_err: it fires only for errnos that should not be (6.12 and 7.3).
 * Rate: storage over RDMA maps each transfer through it, NVMe each request up to 6.16; hence on demand only. What
 * maps while a pin runs is such a request, for a page that is read in.
 */
SEC("?kretprobe/dma_map_sgtable")
int dma_map_exit__kretprobe(struct pt_regs *ctx)
{
	struct wire_span *s = span_find();
	int err = PT_REGS_RC(ctx);

	if (err < 0 && s && !s->in_longterm)
		chain_push(s, WIRE_FN_DMA_MAP, err);
	return 0;
}

/*
 * slots dmabuf_get, dmabuf_attach, dmabuf_pin, dmabuf_map: _exit of dma_buf_get(fd),
 * dma_buf_dynamic_attach, dma_buf_pin, dma_buf_map_attachment (drivers/dma-buf/dma-buf.c).
 * Why: which step the exporter refused. Rate: one per buffer shared between devices.
 */
SEC("?kretprobe/dma_buf_get")
int dmabuf_get_exit__kretprobe(struct pt_regs *ctx)
{
	struct dma_buf *buf = (void *)PT_REGS_RC(ctx);
	struct wire_span *s;

	if (error_of_pointer((__u64)buf))
		return exit_push(WIRE_FN_DMABUF_GET, (__s64)buf);
	s = span_find();
	if (!s || !(s->have & WIRE_HAVE_ARGS))
		return 0;
	s->args.object_bytes = BPF_CORE_READ(buf, size);
	/* A pointer to the name: BPF_CORE_READ_STR_INTO would take the pointer itself for it. */
	bpf_probe_read_kernel_str(s->args.exporter, sizeof(s->args.exporter), BPF_CORE_READ(buf, exp_name));
	s->have |= WIRE_HAVE_DMABUF;
	return 0;
}

SEC("?kretprobe/dma_buf_dynamic_attach")
int dmabuf_attach_exit__kretprobe(struct pt_regs *ctx)
{
	return exit_push(WIRE_FN_DMABUF_ATTACH, error_of_pointer(PT_REGS_RC(ctx)));
}

SEC("?kretprobe/dma_buf_pin")
int dmabuf_pin_exit__kretprobe(struct pt_regs *ctx)
{
	return exit_push(WIRE_FN_DMABUF_PIN, (int)PT_REGS_RC(ctx));
}

SEC("?kretprobe/dma_buf_map_attachment")
int dmabuf_map_exit__kretprobe(struct pt_regs *ctx)
{
	return exit_push(WIRE_FN_DMABUF_MAP, error_of_pointer(PT_REGS_RC(ctx)));
}
