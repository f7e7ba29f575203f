// SPDX-License-Identifier: BSD-2-Clause
/* The ledger of the pipeline's records: what must add up, whatever came in. */
#include "pipeline.h"

static uint64_t join_sum(const struct join_count *c)
{
	return c->joined + c->superseded + c->excess + c->orphaned + c->held;
}

const char *pipeline_ledger(const struct pipeline_stats *s)
{
	uint64_t decoded = 0, records = s->kind_in[WIRE_REG_END] + s->kind_in[WIRE_STALE] + s->kind_in[WIRE_HAZARD] + s->kind_in[WIRE_CMA_BLOCKED];
	int i;

	for (i = 0; i < WIRE_KIND_MAX; i++)
		decoded += s->kind_in[i];
	if (s->records != s->records_bad + decoded)
		return "records = records_bad + decoded";
	if (s->kind_in[WIRE_FOLIO] != join_sum(&s->join.folios))
		return "folios = joined + superseded + excess + orphaned + held";
	if (s->kind_in[WIRE_HOLDER] != join_sum(&s->join.holders))
		return "holders = joined + superseded + excess + orphaned + held";
	if (s->incidents < records)
		return "incidents = registration ends + stale regions + hazards + stuck observations";
	if (s->stuck_reported > s->incidents - records)
		return "stuck reports <= stuck observations";
	if (s->incidents != s->incidents_held + s->reported + s->suppressed + s->stuck_reported +
	    s->stuck_ended + s->stale_reported + s->hazards_reported + s->reports_failed)
		return "incidents = held + reported + suppressed + stuck_reported + stuck_ended + stale_reported + hazards_reported + reports_failed";
	if (s->suppressed != s->suppressed_told + s->suppressed_untold + s->suppressed_open)
		return "suppressed = told + untold + open";
	return NULL;
}
