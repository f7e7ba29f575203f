/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Return probes with room for every registration in flight.
 *
 * A kretprobe keeps one instance per call in progress. One made through the perf
 * PMU has max(10, 2 * CPUs) of them (kernel/kprobes.c, register_kretprobe): with more
 * threads inside the function the return of the rest is missed, and a failure lost. Only
 * the tracefs interface lets the caller choose the number.
 */
#ifndef PINWHY_KRETPROBE_H
#define PINWHY_KRETPROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct bpf_link;
struct bpf_program;

/* Attaches `prog` to the return of `function` (of `module`, "" = vmlinux) as tracefs event `name`.
 * -errno: no tracefs, or refused; nothing is left behind. */
int kretprobe_attach(struct bpf_link **ret_link, const struct bpf_program *prog, const char *name,
		     const char *module, const char *function);
/* Destroys the link and the event. NULL-safe. */
void kretprobe_detach(struct bpf_link *link, const char *name);
/* Calls seen, and calls that found no free instance. Untouched when not known. */
void kretprobe_counts(const char *name, uint64_t *ret_hits, uint64_t *ret_missed);
/* Are there events of this pinwhy process? */
bool kretprobe_left(pid_t pid);
/* Removes events of pinwhy processes that no longer live. */
void kretprobe_cleanup(void);

#endif
