/* SPDX-License-Identifier: BSD-2-Clause */
/* Pins broken off for a thread that is to die: what the causes of EINTR have in common. */
#ifndef PINWHY_CAUSES_KILLED_H
#define PINWHY_CAUSES_KILLED_H

#include "diagnose.h"

/* enum oom_constraint (include/linux/oom.h). */
enum { OOM_NONE = 0, OOM_CPUSET = 1, OOM_POLICY = 2, OOM_MEMCG = 3 };

/* Did the pin stop as it does for a fatal signal? */
bool killed_pin(const struct incident *in);
/* Rules out a cause that takes the OOM killer to have acted for one of these constraints. False: it does not. */
bool oom_rules_out(const struct incident *in, uint32_t constraint_bits, struct finding *f);
/* Did its choice end this pin? What is missing for that becomes a line. */
bool oom_seen(const struct incident *in, const struct identity *id, struct finding *ret);
/* The lines on its choice and on the pin that stopped. */
void tell_oom(const struct incident *in, const struct identity *id, struct finding *ret);

#endif
