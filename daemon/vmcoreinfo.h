/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * VMCOREINFO: what the kernel tells tools that read crash dumps (kernel/crash_core.c, v6.1; kernel/vmcore_info.c, v6.12).
 * Its text has the address of a few variables, also on kernels whose /proc/kallsyms lists functions alone
 * (CONFIG_KALLSYMS_ALL off, as on Debian's 6.1 for arm64).
 */
#ifndef PINWHY_VMCOREINFO_H
#define PINWHY_VMCOREINFO_H

#include <stdbool.h>
#include <stdint.h>

#define KCORE "/proc/kcore"

/*
 * The text, from the notes of `path`, which is an ELF core like KCORE; the caller frees it. -ENODATA when there is no such note, other
 * -errno as they come: without CAP_SYS_RAWIO, and under lockdown's confidentiality, -EPERM.
 */
int vmcoreinfo_read(const char *path, char **ret_text);

/* The number in the line "KEY=...", whose base the kernel does not write. False: no such line, or no number in it. */
bool vmcoreinfo_value(const char *text, const char *key, int base, uint64_t *ret_value);

#endif
