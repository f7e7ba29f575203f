/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two forms of one source. PINWHY_BASIC is for kernels without bpf_loop() (before 5.17): their verifier refuses a call back, an
 * atomic operation that gives a value (before 5.12), and bpf_get_current_task_btf() (before 5.11), in whatever program
 * that is loaded, reached or not. So they are compiled out there, and with them all that cannot do without: who holds
 * a page, and why it did not move.
 */
#ifndef PINWHY_BASIC_BPF_H
#define PINWHY_BASIC_BPF_H

#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#ifdef PINWHY_BASIC

static __always_inline struct task_struct *current_task(void)
{
	return (void *)bpf_get_current_task();
}

/*
 * What is called back elsewhere. Not a function here: in a program that has more than one the verifier of 5.10 takes
 * every number for one that decides (precise), and tries all mixtures of what came before.
 */
#define CALLED_BACK static __always_inline

/* A field of a kernel struct that current_task() or a look-up gave. */
#define FIELD(p, field) BPF_CORE_READ(p, field)

/*
 * Before a loop over the places of an array. Up to 5.10 the verifier forgets the bounds of a number that is put on the stack
 * meanwhile; those of a constant it does not need.
 */
#define EACH_APART _Pragma("unroll")

/*
 * *place from `was` to `now`, unless another CPU is at the same place. A count of who wants it, since adding gives no value back:
 * whoever reads 1 behind his own addition is alone, for another one who came would have made it 2. Nobody waits; both
 * may leave without. Programs on kprobes are not interrupted by each other.
 */
static __always_inline bool claim(__u32 *place, __u32 was, __u32 now, __u32 *wanted)
{
	bool mine = false;

	__sync_fetch_and_add(wanted, 1);
	if (*(volatile __u32 *)wanted == 1 && *(volatile __u32 *)place == was) {
		*(volatile __u32 *)place = now;
		mine = true;
	}
	__sync_fetch_and_add(wanted, -1);
	return mine;
}

#else

#define current_task() bpf_get_current_task_btf()
#define FIELD(p, field) ((p)->field)
#define CALLED_BACK static
#define EACH_APART

static __always_inline bool claim(__u32 *place, __u32 was, __u32 now, __u32 *wanted)
{
	return __sync_val_compare_and_swap(place, was, now) == was;
}

#endif

#endif
