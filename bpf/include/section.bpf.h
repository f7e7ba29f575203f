/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From a page frame number to its memory section. Of what it reads a test says what it is; hence no include. */
#ifndef PINWHY_SECTION_BPF_H
#define PINWHY_SECTION_BPF_H

/* The section that a pfn is in, NULL when there is none (include/linux/mmzone.h, __pfn_to_section()). */
static __always_inline struct mem_section *section_of_pfn(__u64 pfn)
{
	struct mem_section **roots = NULL, *section = NULL;
	__u64 nr = pfn >> cfg.section_shift;
	unsigned long last = 0;

	bpf_probe_read_kernel(&roots, sizeof(roots), (void *)cfg.addr_mem_section);
	bpf_probe_read_kernel(&last, sizeof(last), (void *)cfg.addr_last_section);
	/* A frame number may be anything: that of a device's registers lies behind all memory. */
	if (!roots || nr > last)
		return NULL;
	bpf_probe_read_kernel(&section, sizeof(section), &roots[nr / cfg.sections_per_root]);
	if (!section)
		return NULL;
	return (void *)section + (nr % cfg.sections_per_root) * bpf_core_type_size(struct mem_section);
}

#endif
