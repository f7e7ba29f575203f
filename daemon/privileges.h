/* SPDX-License-Identifier: BSD-2-Clause */
/* What this process may do: its capabilities (capabilities.def), and what kernel lockdown leaves of them. */
#ifndef PINWHY_PRIVILEGES_H
#define PINWHY_PRIVILEGES_H

#include <stdbool.h>
#include <stdint.h>

/* Kernel lockdown, security/lockdown/lockdown.c; -1: securityfs does not tell. */
enum lockdown { LOCKDOWN_UNKNOWN = -1, LOCKDOWN_NONE, LOCKDOWN_INTEGRITY, LOCKDOWN_CONFIDENTIALITY };
/* "none [integrity] confidentiality" */
enum lockdown lockdown_parse(const char *line);
enum lockdown privileges_lockdown(void);

struct capability {
	const char *name;	/* "bpf" */
	int number, instead;
	const char *lost;
};
extern const struct capability capabilities[];
extern const uint32_t ncapabilities;

/* Is neither it nor what does as well among the effective ones (a mask, CapEff of /proc/PID/status)? */
bool capability_missing(const struct capability *c, uint64_t effective);
/* 0 when /proc does not tell. */
uint64_t privileges_effective(void);

/*
 * May the types of modules be asked of the kernel (BPF_BTF_GET_FD_BY_ID)? libbpf does so for every type that vmlinux has not, and
 * gives up when it is refused.
 */
bool privileges_module_btf(void);

/* Why the kernel refused BPF with -err: a sentence, static. `said` is the last line that libbpf wrote. */
const char *privileges_refusal(int err, const char *said);

#endif
