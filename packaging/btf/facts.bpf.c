// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What user space reads of a kernel's BTF (daemon/kfacts.c), as relocations: packaging/btf-pack gives this file to bpftool beside
 * the programs, so that a pack keeps it. Nobody loads it. Enums and members that kfacts.c asks for and a pack does not have would be
 * unknown; the suite nobtf compares.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

enum zone_type___pack { __MAX_NR_ZONES___pack };
enum migratetype___pack { MIGRATE_TYPES___pack };
enum migrate_reason___pack { MR_TYPES___pack };
enum migrate_mode___pack { MIGRATE_SYNC___pack };
enum pageblock_bits___pack { PB_migrate___pack };
enum ib_uverbs_access_flags___pack { IB_UVERBS_ACCESS_LOCAL_WRITE___pack };
enum bpf_func_id___pack { BPF_FUNC_unspec___pack };

#define READ __attribute__((preserve_access_index))
struct free_area___pack {
	unsigned long nr_free;
} READ;
struct zone___pack {
	struct free_area___pack free_area[1];
} READ;
struct zoneref___pack {
	int zone_idx;
} READ;
struct zonelist___pack {
	struct zoneref___pack _zonerefs[1];
} READ;
struct mem_section___pack {
	unsigned long section_mem_map;
} READ;
struct mem_section_usage___pack {
	unsigned long subsection_map[1];
} READ;

SEC("raw_tp")
int facts(void *ctx)
{
	int n = 0;

	n += bpf_core_enum_value_exists(enum zone_type___pack, __MAX_NR_ZONES___pack);
	n += bpf_core_enum_value_exists(enum migratetype___pack, MIGRATE_TYPES___pack);
	n += bpf_core_enum_value_exists(enum migrate_reason___pack, MR_TYPES___pack);
	n += bpf_core_enum_value_exists(enum migrate_mode___pack, MIGRATE_SYNC___pack);
	n += bpf_core_enum_value_exists(enum pageblock_bits___pack, PB_migrate___pack);
	n += bpf_core_enum_value_exists(enum ib_uverbs_access_flags___pack, IB_UVERBS_ACCESS_LOCAL_WRITE___pack);
	n += bpf_core_enum_value_exists(enum bpf_func_id___pack, BPF_FUNC_unspec___pack);
	n += bpf_core_field_exists(((struct zone___pack *)0)->free_area);
	n += bpf_core_field_exists(((struct zonelist___pack *)0)->_zonerefs);
	n += bpf_core_field_exists(((struct mem_section___pack *)0)->section_mem_map);
	n += bpf_core_field_exists(((struct mem_section_usage___pack *)0)->subsection_map);
	return n;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
