/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What stays the same for one run and is part of a capture: the node, the
 * running kernel's own names and numbers, and the settings the pipeline uses.
 */
#ifndef PINWHY_IDENTITY_H
#define PINWHY_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "wire.h"

#define IDENTITY_NAMES_MAX 16
#define IDENTITY_NAME_LEN 32

/* Names of a kernel enum by value, from BTF; "" where the kernel has none. */
struct enum_names {
	char name[IDENTITY_NAMES_MAX][IDENTITY_NAME_LEN];
};

struct identity {
	char node[256];		/* host name */
	char boot_id[40];	/* /proc/sys/kernel/random/boot_id */
	char kernel[128];	/* uname release */
	char machine[32];	/* uname machine */
	char agent_version[32];
	uint32_t page_size;	/* bytes; a power of two */
	uint64_t suspended_ns;	/* CLOCK_BOOTTIME - CLOCK_MONOTONIC: dates a process's start */
	/* GUP flags as this kernel numbers them; 0 = it has none of that name. */
#define FOLL(field, name, define) uint32_t foll_##field;
#include "foll.def"
#undef FOLL
	uint32_t access_known;	/* IB_ACCESS_* that this kernel knows; 0 = could not be read */
	bool file_pins_checked;	/* long-term pins of dirty-tracked file mappings are refused (v6.5) */
	struct enum_names zones;	/* "DMA32", "Normal", "Movable" */
	struct enum_names migratetypes;	/* "Unmovable", "CMA", "Isolate" */
	struct enum_names migrate_reasons;	/* "longterm_pin" */
	struct enum_names migrate_modes;	/* "sync" */
	/* The real function name behind each enum wire_fn as attached, and its module ("" = vmlinux). */
	char fn_name[WIRE_FN_MAX][64];
	char fn_module[WIRE_FN_MAX][32];
	bool fn_watched[WIRE_FN_MAX];	/* the slot that would see this function fail is attached */
	uint64_t fn_since_ns[WIRE_FN_MAX];	/* CLOCK_MONOTONIC: since when; what began before may have failed there unseen */
	uint64_t folios_since_ns;	/* the same of the two below */
	bool uring_bounded;		/* io_uring refuses a buffer of more than 1 GiB; false also when not known */
	bool direct_io_pins;		/* direct I/O takes FOLL_PIN (iov_iter_extract_pages), else references */
	bool putback_watched;		/* folios that will not move are seen */
	bool target_watched;		/* failures to find a migration target are seen */
	bool pins_stay;			/* this kernel moves no page for a long-term pin: no place forbids it */
};

/* Settings the pure pipeline depends on; part of a capture. Set from config.def. */
struct pipeline_settings {
	uint64_t facts_deadline_ns;	/* how long an incident waits for its facts */
	uint64_t storm_window_ns;	/* repeats of one failure within it are folded */
	uint32_t storm_burst;		/* reports written in full per window and signature */
	uint32_t storm_signatures;	/* table size */
	uint32_t storm_cgroup_reports;	/* reports written in full per window and cgroup */
	uint32_t storm_cgroups;		/* table size */
};

/* How a thread was found to be still inside its registration. */
#define SIGHTING_WAITS "its system call"	/* it waits in that; waits_in is "" where wchan does not tell */
#define SIGHTING_FIRES "its hooks still fire"	/* it gets on */
#define SIGHTING_SPINS "it runs in the kernel alone"	/* for a second and more, and in a long-term pin */
struct sighting {
	char verified[64];
	char waits_in[64];	/* /proc/PID/wchan: innermost function that is not the scheduler's, "" = not known */
};

/* Two clocks read together: the only time the pipeline knows. */
struct clock_pair {
	uint64_t mono_ns;	/* CLOCK_MONOTONIC */
	uint64_t real_ns;	/* CLOCK_REALTIME */
};

/* Sums of struct wire_counters plus what user space itself lost. */
struct loss {
	uint64_t reg_ok, reg_failed;	/* all apis; then by enum wire_api, for the metrics alone */
	uint64_t api_ok[WIRE_API_MAX], api_failed[WIRE_API_MAX];
	uint64_t emitted[WIRE_KIND_MAX], dropped[WIRE_KIND_MAX];
	uint64_t spans_overflow, spans_missed_end, ends_without_span, chain_overflow;
	uint64_t pin_flag_disagree, vma_lock_busy;
	uint64_t stale_unwatched;
	/* The ledger of first pins; for the metrics alone. */
	uint64_t pins_taken, pins_released, pins_unkept, pins_unseen;
	uint64_t stranded[WIRE_PIN_VIA_MAX], freed[WIRE_PIN_VIA_MAX];
	uint64_t cma_busy, cma_pinned, cma_failures;	/* likewise */
	uint64_t armed_processes, armed_refused, armed_unkept, armed_evicted;	/* likewise */
	uint64_t modpins_taken, modpins_evicted;	/* likewise */
	uint64_t armed_refs, armed_refs_evicted;	/* likewise */
	uint64_t hook_runs_missed;	/* programs the kernel skipped, as far as it tells */
};

#endif
