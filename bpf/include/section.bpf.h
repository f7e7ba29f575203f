/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From a page frame number to its memory section. Of what it reads a test says what it is; hence no include. */
#ifndef PINWHY_SECTION_BPF_H
#define PINWHY_SECTION_BPF_H

static __always_inline bool sections_known(void)
{
	return cfg.addr_mem_section || cfg.section_roots;
}

/* mem_section[], and the highest number of a section in it. NULL: not known. */
static __always_inline void *section_roots(unsigned long *ret_last)
{
	void *roots = (void *)cfg.section_roots;

	*ret_last = cfg.last_section;
	if (!roots) {
		bpf_probe_read_kernel(&roots, sizeof(roots), (void *)cfg.addr_mem_section);
		bpf_probe_read_kernel(ret_last, sizeof(*ret_last), (void *)cfg.addr_last_section);
	}
	return roots;
}

/* The section that a pfn is in, NULL when there is none (include/linux/mmzone.h, __pfn_to_section()). */
static __always_inline struct mem_section *section_of_pfn(__u64 pfn)
{
	struct mem_section **roots, *section = NULL;
	__u64 nr = pfn >> cfg.section_shift;
	unsigned long last;

	roots = section_roots(&last);
	/* A frame number may be anything: that of a device's registers lies behind all memory. */
	if (!roots || nr > last)
		return NULL;
	bpf_probe_read_kernel(&section, sizeof(section), &roots[nr / cfg.sections_per_root]);
	if (!section)
		return NULL;
	return (void *)section + (nr % cfg.sections_per_root) * bpf_core_type_size(struct mem_section);
}

#endif
