// SPDX-License-Identifier: BSD-2-Clause
#include "facts.h"

#include <stddef.h>
#include <string.h>

const struct fact_desc fact_descs[FACT_MAX] = {
#define FACT_U64(name, what) [FACT_##name] = { #name, what, offsetof(struct facts, name), 0 },
#define FACT_STR(name, bytes, what) [FACT_##name] = { #name, what, offsetof(struct facts, name), bytes },
#include "facts.def"
#undef FACT_U64
#undef FACT_STR
};

void facts_unknown(struct facts *f, int err)
{
	int i;

	memset(f, 0, sizeof(*f));
	for (i = 0; i < FACT_MAX; i++)
		f->err[i] = err;
}
