// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Shared maps, and the one program that only fills one of them: calibration reads
 * kernel memory once at start, run by the loader through BPF_PROG_TEST_RUN.
 */
#include "probe.bpf.h"
#include "section.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define CALIBRATION_ROOTS 4096	/* of 16 GiB each on x86_64: RAM starts below that */
#define SECTIONS_PER_ROOT_MAX 4096	/* 64 KiB pages with 16-byte sections */
#define SECTION_MAP_MASK (~0xfffULL) /* low bits are SECTION_* flags, six of them in 7.3 */

/*
 * Finds vmemmap without knowing the architecture: sparse_encode_mem_map() stores
 * mem_map - section_nr_to_pfn(nr), which for SPARSEMEM_VMEMMAP is vmemmap itself in
 * every present section (mm/sparse.c).
 */
SEC("?raw_tp")
int calibrate(void *ctx)
{
	__u32 zero = 0, size = bpf_core_type_size(struct mem_section);
	struct wire_calibration *cal = bpf_map_lookup_elem(&calibration, &zero);
	void **roots, *section = NULL;
	unsigned long last;

	if (!cal || !sections_known())
		return 0;
	roots = section_roots(&last);
	/* A root is allocated for its first present section, so the first one will do. */
	for (__u32 r = 0; r < CALIBRATION_ROOTS && !section && r <= last / cfg.sections_per_root; r++)
		bpf_probe_read_kernel(&section, sizeof(section), &roots[r]);
	for (__u32 i = 0; i < SECTIONS_PER_ROOT_MAX && i < cfg.sections_per_root; i++) {
		__u64 map = 0;

		bpf_probe_read_kernel(&map, sizeof(map),
				      section + i * size + bpf_core_field_offset(struct mem_section, section_mem_map));
		if (map & SECTION_HAS_MEM_MAP)
			cal->vmemmap = map & SECTION_MAP_MASK;
		if (cal->vmemmap)
			break;
	}
	return 0;
}
