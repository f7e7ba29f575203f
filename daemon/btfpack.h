/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BTF of a kernel that has none to show: a file made of that kernel's own by packaging/btf-pack, with its build id in it, which
 * the kernel tells in /sys/kernel/notes. A pack of another kernel is refused: its offsets would be read as truth.
 */
#ifndef PINWHY_BTFPACK_H
#define PINWHY_BTFPACK_H

#include <stddef.h>

struct btf;

/* In a pack a forward declaration of this name, followed by the build id in hexadecimal. */
#define BTFPACK_STAMP "pinwhy_btf_pack_"
#define BTFPACK_ERROR_MAX 512
#define BTFPACK_ID_MAX 41	/* 20 bytes in hexadecimal */

/* -errno, with what is wrong and what to do in `error` (BTFPACK_ERROR_MAX bytes). The caller frees the BTF. */
int btfpack_open(struct btf **ret_btf, const char *path, char *error);
/* The build id in ELF notes, such as /sys/kernel/notes has. -ENODATA when there is none. */
int notes_build_id(const void *notes, size_t size, char ret_id[BTFPACK_ID_MAX]);
/* Is the pack's stamp this build id? -ENODATA: it has none; -ESTALE: of another kernel, which *ret_of then names. */
int btfpack_is_of(const struct btf *btf, const char *build_id, const char **ret_of);

#endif
