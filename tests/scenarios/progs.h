/* SPDX-License-Identifier: BSD-2-Clause */
/* How often each BPF program of this kernel has run: needs kernel.bpf_stats_enabled=1. */
#ifndef SCENARIO_PROGS_H
#define SCENARIO_PROGS_H

#include <stdint.h>

#define PROGS_MAX 256

struct prog_runs {
	uint32_t id;
	char name[16];
	uint64_t runs, missed;	/* missed: refused because the program was already running on that CPU */
};

uint32_t progs_read(struct prog_runs ret_progs[PROGS_MAX]);	/* how many */
void progs_need_stats(void);	/* dies when the kernel does not count */

#endif
