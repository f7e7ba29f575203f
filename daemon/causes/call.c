// SPDX-License-Identifier: BSD-2-Clause
#include "causes/call.h"

#include "names.h"
#include "text.h"

bool call_is_other(const struct incident *in, uint32_t apis, const char *why, struct finding *ret)
{
	uint32_t api = in->end.api;

	/* An entry point that is not known may be any. */
	if (api == WIRE_API_NONE || api >= WIRE_API_MAX || (apis & 1u << api))
		return false;
	ret->kind = FINDING_RULED_OUT;
	finding_because(ret, "the call is %s, and %s", name_api(api), why);
	return true;
}

bool call_entry_first(const struct incident *in)
{
	return in->end.nchain > 0 && in->end.chain[0].fn == name_api_entry(in->end.api) &&
	       in->end.chain[0].result < 0;
}

bool call_driver_first(const struct incident *in)
{
	return in->end.nchain > 0 && name_fn_is_driver(in->end.chain[0].fn) && in->end.chain[0].result < 0 &&
	       !(in->end.have & WIRE_HAVE_UMEM) && in->end.stage == WIRE_STAGE_UVERBS;
}

bool call_has_access(const struct incident *in)
{
	return in->end.have & (WIRE_HAVE_COMMAND | WIRE_HAVE_UMEM);
}

bool call_umem_watched(const struct identity *id, struct finding *ret)
{
	if (id->fn_watched[WIRE_FN_UMEM])
		return true;
	finding_missing(ret, "chain", "%s is not hooked, so its failure would not have been seen", name_fn(id, WIRE_FN_UMEM));
	return false;
}

static void add_flag(void *ctx, const char *name)
{
	text_item(ctx, name);
}

const char *call_access(char buf[CALL_ACCESS_LEN], uint32_t access)
{
	struct text t;

	text_init(&t, buf, CALL_ACCESS_LEN);
	name_access(access, add_flag, &t);
	text_add(&t, "%s(0x%x)", access ? " " : "none ", access);
	return buf;
}

bool call_same_errno(const struct incident *in, struct finding *ret)
{
	int err = incident_decisive_errno(in);

	if (in->end.result == -err)
		return true;
	finding_evidence(ret, "not proven: the call ended with %s, not with the %s of the function that failed first",
			 name_errno((int)-in->end.result), name_errno(err));
	return false;
}
