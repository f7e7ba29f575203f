/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The maps that all objects share. Every object declares them, the loader makes
 * them once from maps.bpf.o and hands the same ones to the others, so that one
 * ring keeps the order of events of one registration across objects.
 */
#ifndef PINWHY_MAPS_BPF_H
#define PINWHY_MAPS_BPF_H

#include "kernel.h"
#include "wire.h"
#include <bpf/bpf_helpers.h>

enum {
	BPF_ANY = 0,
	BPF_F_MMAPABLE = 1U << 10,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
};

/* Events to the daemon. The size is a setting. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

/* Registrations in flight; the daemon maps it to scan for stuck ones. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WIRE_SPANS);
	__type(key, __u32);
	__type(value, struct wire_span);
} spans SEC(".maps");

/* Not 0 while the daemon takes hooks away or changes them: the silence of a hook would mean nothing then. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} gate SEC(".maps");

/*
 * One set of counters per CPU; the loader gives it as many as there are. Not a per-CPU map: reading
 * one takes a bpf() call, and while that call is preempted the kernel runs no kprobe program on
 * its CPU (bpf_disable_instrumentation(), kernel/bpf/syscall.c), so that looking would lose events.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire_counters);
} counters SEC(".maps");

/* The OOM killer's latest victims, by tgid. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 128);
	__type(key, __u32);
	__type(value, struct wire_oom);
} oom_kills SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire_calibration);
} calibration SEC(".maps");

#endif
