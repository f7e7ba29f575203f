/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PINWHY_ENRICH_BUILD_ID_H
#define PINWHY_ENRICH_BUILD_ID_H

#include <stdbool.h>

#define BUILD_ID_MAX 32	/* bytes: SHA-1 has 20 */
#define BUILD_ID_TEXT (2 * BUILD_ID_MAX + 1)

/* The GNU build id of the ELF file `name` below `dir_fd`, in hex. False when there is none to be had. */
bool build_id_read(int dir_fd, const char *name, char ret_hex[BUILD_ID_TEXT]);

#endif
