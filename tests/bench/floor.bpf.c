// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Programs that do nothing, one of each kind pinwhy attaches: what they cost is what the kernel
 * takes for being watched at all. Targets are set when one is loaded.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("?kprobe")
int empty_kprobe(void *ctx)
{
	return 0;
}

SEC("?kretprobe")
int empty_kretprobe(void *ctx)
{
	return 0;
}

SEC("?fentry")
int empty_fentry(void *ctx)
{
	return 0;
}

SEC("?fexit")
int empty_fexit(void *ctx)
{
	return 0;
}

SEC("?tp")
int empty_tp(void *ctx)
{
	return 0;
}

SEC("?raw_tp")
int empty_raw_tp(void *ctx)
{
	return 0;
}
