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

/*
 * slot dmabuf_nv_export_exit: nv_dma_buf_export(nv, parameters) of nvidia.ko (kernel-open/nvidia/nv-dmabuf.c, 525 to 595).
 * Why: its ioctl succeeds whatever comes of it, and the status in its parameters is for CUDA alone. There is no registration
 * then; one that comes behind it, of no descriptor or of the address, is told of it. Rate: one per buffer shared between devices.
 */
SEC("?kretprobe/nv_dma_buf_export")
int dmabuf_nv_export_exit__kretprobe(struct pt_regs *ctx)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32, status = (__u32)PT_REGS_RC(ctx);
	struct wire_export *last, export = { .time_ns = bpf_ktime_get_ns(), .status = status, .failed = 1 };

	if (!status) {
		bpf_map_delete_elem(&failed_exports, &tgid);
		return 0;
	}
	export.task_start_ns = BPF_CORE_READ(current_task(), group_leader, start_boottime);
	last = bpf_map_lookup_elem(&failed_exports, &tgid);
	if (last && last->task_start_ns == export.task_start_ns)
		export.failed += last->failed;
	bpf_map_update_elem(&failed_exports, &tgid, &export, BPF_ANY);
	return 0;
}

/*
 * slot dmabuf_nv_map_exit: nv_dma_buf_map(attachment, direction) of nvidia.ko (kernel-open/nvidia/nv-dmabuf.c).
 * Why: it gives NULL for every failure, which the caller makes ENOMEM of: dma_buf_map_attachment(), or, up to 6.12 and for importers
 * that can do with moving buffers, dma_buf_dynamic_attach(), where ENOMEM may be want of memory as well. Rate: as above.
 */
SEC("?kretprobe/nv_dma_buf_map")
int dmabuf_nv_map_exit__kretprobe(struct pt_regs *ctx)
{
	return exit_push(WIRE_FN_NV_DMABUF_MAP, PT_REGS_RC(ctx) ? error_of_pointer(PT_REGS_RC(ctx)) : -ENOMEM);
}
