/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The types of vmlinux and of one module as one BTF, for those who may not get the module's from the kernel
 * (BPF_BTF_GET_FD_BY_ID asks for CAP_SYS_ADMIN) but may read both below /sys/kernel/btf.
 */
#ifndef PINWHY_SPLIT_BTF_H
#define PINWHY_SPLIT_BTF_H

#include <stddef.h>
#include <stdint.h>

/*
 * Joins raw BTF: numbers of types and offsets of strings in `split` go on where those of `base` end, so that one may follow
 * the other. *ret is the caller's to free. -EBADMSG: not such a pair.
 */
int split_btf_join(const void *base, size_t base_bytes, const void *split, size_t split_bytes, void **ret, size_t *ret_bytes);

/*
 * Where libbpf is to find the types of vmlinux and of a module ("": none): the path of a file in memory, which stays
 * until the module comes again. NULL: where it likes, since the modules' may be asked of the kernel, or since they could not be read.
 */
const char *split_btf_path(const char *module);

#endif
