/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the fields of layout.def lie in the RDMA core that is loaded. A vendor's stack replaces ib_core and ib_uverbs
 * with its own, whose structs the kernel's BTF does not describe: its own BTF does, or nothing.
 */
#ifndef PINWHY_RDMA_LAYOUT_H
#define PINWHY_RDMA_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "wire.h"

struct btf;

enum layout_owner { LAYOUT_ib_core, LAYOUT_ib_uverbs, LAYOUT_OWNERS };

enum layout_source {
	LAYOUT_NOT_READ,	/* nothing is known of its structs */
	LAYOUT_NOT_LOADED,
	LAYOUT_OWN_BTF,		/* its own BTF, on top of the kernel's */
	LAYOUT_KERNEL_BTF,	/* it came with the kernel, and has no BTF of its own */
};

struct rdma_layout {
	struct wire_layout wire;
	struct layout_of {
		const char *module;
		enum layout_source source;
		bool foreign;		/* it did not come with the kernel */
		uint32_t differ;	/* fields that lie elsewhere than the kernel's BTF says */
		char why[160];		/* with LAYOUT_NOT_READ: a sentence */
	} of[LAYOUT_OWNERS];
};

/* Reads sysfs and BTF below `root` ("" = of this system): some milliseconds, and some MiB meanwhile. */
void rdma_layout_read(struct rdma_layout *ret, const char *root);
/*
 * One field as layout.def names it: 1 + its place in bits, 0 = there is none, or of another size, or the module has several. A struct
 * that the module brings itself, at id `own` or later, wins over one of the kernel's. Pure.
 */
uint32_t rdma_layout_field(const struct btf *btf, uint32_t own, const char *structure, const char *member, uint32_t bytes);
const char *rdma_layout_word(enum layout_source source);

#endif
