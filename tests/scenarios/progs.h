/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The BPF programs and maps of this kernel: how often each program has run, which needs
 * kernel.bpf_stats_enabled=1, and what memory each map takes.
 */
#ifndef SCENARIO_PROGS_H
#define SCENARIO_PROGS_H

#include <stdint.h>

#define PROGS_MAX 256

struct prog_runs {
	uint32_t id;
	char name[16];
	uint64_t runs, missed;	/* missed: refused because the program was already running on that CPU */
};

struct map_use {
	uint32_t id, type;
	char name[16];
	uint64_t bytes;			/* as the kernel accounts it */
	uint64_t bytes_512_cpus;	/* the same on a machine with 512 possible CPUs */
};

uint32_t maps_read(struct map_use ret_maps[PROGS_MAX]);
uint32_t progs_read(struct prog_runs ret_progs[PROGS_MAX]);	/* how many */
void progs_need_stats(void);	/* dies when the kernel does not count */

#endif
