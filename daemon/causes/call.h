/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions about a call that several families of causes ask. */
#ifndef PINWHY_CAUSES_CALL_H
#define PINWHY_CAUSES_CALL_H

#include "diagnose.h"

#define API(name) (1u << WIRE_API_##name)

/* Is it none of `apis`? Then the cause is ruled out: "the call is X, and <why>". */
bool call_is_other(const struct incident *in, uint32_t apis, const char *why, struct finding *ret);
/* The entry function failed, and nothing that it calls was seen failing before. */
bool call_entry_first(const struct incident *in);
/* The driver's operation was the first to fail, and it had not come to the memory yet. */
bool call_driver_first(const struct incident *in);
/*
 * That would mean nothing if the umem function were not watched: adds a line and is false where it is not.
 */
bool call_umem_watched(const struct identity *id, struct finding *ret);
/* Access flags are known: from the command or from the umem function's arguments. */
bool call_has_access(const struct incident *in);
/* "LOCAL_WRITE, REMOTE_WRITE (0x3)". Returns buf. */
#define CALL_ACCESS_LEN 160
const char *call_access(char buf[CALL_ACCESS_LEN], uint32_t access);
/* The call's own errno is that of its first failing function: adds a line and is false where it is not. */
bool call_same_errno(const struct incident *in, struct finding *ret);

#endif
