/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of a kernel's BTF that the relocations of BPF objects (CO-RE) can ask for, as a file in memory that libbpf takes in
 * place of the whole: it parses what it is given, and looks through all of it for each type, anew for every object.
 *
 * Libbpf compares struct, union, enum, typedef and int by name, without what follows "___", and by kind, and takes a module's type
 * only where vmlinux has none of the name (bpf_core_find_cands() of libbpf 1.1). All of those are kept, with what they contain.
 * What a pointer points to is not: no relocation of a field looks there.
 */
#ifndef PINWHY_COREBTF_H
#define PINWHY_COREBTF_H

#include <stdbool.h>
#include <stdint.h>

struct btf;

/* Types that are asked for. */
struct corebtf_names {
	struct corebtf_name {
		uint64_t hash;		/* of name and kind, 0 = free; two of one hash only keep one type too many */
		bool in_vmlinux;
	} *slots;
	uint32_t n, size;		/* used, and all: a power of two */
};

/* Asks for all that an object's own BTF names. -ENOMEM. */
int corebtf_ask(struct corebtf_names *names, const struct btf *object);
void corebtf_forget(struct corebtf_names *names);

/*
 * What is asked for, of vmlinux and, with `modules`, of those that are loaded: a descriptor of the file, which the caller closes;
 * or -errno.
 */
int corebtf_make(struct corebtf_names *names, struct btf *vmlinux, bool modules, int *ret_fd);

#endif
