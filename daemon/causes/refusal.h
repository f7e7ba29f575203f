/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The mapping behind the address at which a pin failed, and the kernel's own check of it (vmacheck.h): what
 * the causes of EFAULT and EOPNOTSUPP have in common, and what excludes them from each other.
 */
#ifndef PINWHY_CAUSES_REFUSAL_H
#define PINWHY_CAUSES_REFUSAL_H

#include "diagnose.h"
#include "vmacheck.h"

/* Where the last slow-path pin failed: its first page, or of one that stopped early the first that it did not pin. */
uint64_t failing_address(const struct incident *in, const struct identity *id);
/* The mapping at the address where the pin failed, read when it did; NULL = not known, or none. */
const struct wire_vma *failing_vma(const struct incident *in, const struct identity *id);
/* No mapping covered that address when the pin failed, and nothing seen contradicts that. */
bool failing_hole(const struct incident *in, const struct identity *id);
/*
 * Has the last slow-path pin of the range failed with `err`, at an address of the range? Of one that stopped early
 * the errno is lost; what its mapping is decides all the same, so it counts as EFAULT, which is what mappings give.
 */
bool failing_pin(const struct incident *in, const struct identity *id, int err);
/* What was seen to fail in a page fault of the pin, which takes a mapping that passed every check. NULL: nothing. */
const struct wire_chain *failing_fault(const struct incident *in);
/*
 * Its protection key, 0 = none, or not asked. Whether a key refuses cannot be seen: the check asks it last,
 * after all that enum refusal lists. A fault that was seen has come past it.
 */
uint32_t failing_key(const struct incident *in, const struct identity *id);

/* Memory of the host: an ordinary mapping with some access. A reservation without any, or one of a device, may be a GPU's. */
bool host_memory(const struct wire_vma *v);
/*
 * Rules out what the kernel finds in the address when it is a GPU's: NVIDIA's driver was asked for the pages there, and
 * its answer says that it has them. False: nothing says so.
 */
bool gpu_memory_rules_out(const struct incident *in, const struct identity *id, struct finding *f);

enum refusal refusal_of(const struct incident *in, const struct identity *id);
/* Rules out what takes the check to stop at `mine` when it stops elsewhere. False: it does not. */
bool refusal_rules_out(const struct incident *in, const struct identity *id, enum refusal mine, struct finding *f);

/* Proven, unless the call ended with another errno than its pin: then likely, and said so. */
enum finding_kind failing_kind(const struct incident *in, const struct identity *id, int err, struct finding *f);
/* The line on the pin: its function, errno, flags and first bad address. */
void tell_failing_pin(const struct incident *in, const struct identity *id, struct finding *f);

#define VMA_TEXT 112
/* "0x1000-0x2000 rw-s ext4" */
const char *vma_text(char buf[VMA_TEXT], const struct wire_vma *v);

#endif
