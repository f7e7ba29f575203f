// SPDX-License-Identifier: BSD-2-Clause
/* What the mapping behind the address is, or that there is none. */
#include <errno.h>
#include <inttypes.h>

#include "diagnose.h"
#include "names.h"
#include "text.h"

/* VM_* bits that have kept their place in every kernel (include/linux/mm.h). */
#define VM_READ 0x1
#define VM_WRITE 0x2
#define VM_EXEC 0x4
#define VM_SHARED 0x8
#define VM_PFNMAP 0x400
#define VM_IO 0x4000

void cause_address_not_mapped(const struct incident *in, const struct identity *id,
			      struct finding *ret);

static const char *vma_flags(char buf[32], uint64_t flags)
{
	struct text t;

	text_init(&t, buf, 32);
	text_add(&t, "%c%c%c%c%s", flags & VM_READ ? 'r' : '-', flags & VM_WRITE ? 'w' : '-',
		 flags & VM_EXEC ? 'x' : '-', flags & VM_SHARED ? 's' : 'p',
		 flags & (VM_IO | VM_PFNMAP) ? " io" : "");
	return buf;
}

/* The number that excludes a hole. False: it is not excluded. */
static bool excluded(const struct incident *in, const struct identity *id, struct finding *f)
{
	const struct wire_reg_end *e = &in->end;
	const struct wire_vma *v = &e->fault_vma;
	int pin = incident_errno(in, WIRE_FN_GUP_LONGTERM);
	int err = pin ? pin : (int)-e->result;
	char flags[32];

	if (err != EFAULT)
		finding_because(f, "errno %sis %s: unmapped memory gives EFAULT", pin ? "of the pin " : "",
				name_errno(err));
	else if (pin && (e->have & WIRE_HAVE_FAULT_VMA) && e->fault_vma_state == WIRE_FAULT_VMA_COVERED &&
		 v->start <= e->gup_start && e->gup_start < v->end)
		finding_because(f, "0x%" PRIx64 ", where the pin failed, lies in a mapping: 0x%" PRIx64 "-0x%" PRIx64 " %s",
				(uint64_t)e->gup_start, (uint64_t)v->start, (uint64_t)v->end,
				vma_flags(flags, v->flags));
	else if (pin && e->stage == WIRE_STAGE_PINNED)
		finding_because(f, "the range was pinned in the end (%" PRIu64 " pages)", incident_pages(in, id));
	else
		return false;
	f->kind = FINDING_RULED_OUT;
	return true;
}

static void tell_neighbours(const struct incident *in, struct finding *f)
{
	const struct wire_reg_end *e = &in->end;
	const struct wire_vma *below = NULL, *above = NULL;
	char flags[32];
	uint32_t i;

	if (!(e->have & WIRE_HAVE_VMAS))
		return;
	for (i = 0; i < e->nvmas; i++) {
		const struct wire_vma *v = &e->vmas[i];

		if (v->end <= e->gup_start && (!below || v->end > below->end))
			below = v;
		if (v->start > e->gup_start && (!above || v->start < above->start))
			above = v;
	}
	if (below)
		finding_evidence(f, "nearest mapping of the range below: 0x%" PRIx64 "-0x%" PRIx64 " %s",
				 (uint64_t)below->start, (uint64_t)below->end, vma_flags(flags, below->flags));
	if (above)
		finding_evidence(f, "nearest mapping of the range above: 0x%" PRIx64 "-0x%" PRIx64 " %s",
				 (uint64_t)above->start, (uint64_t)above->end, vma_flags(flags, above->flags));
}

/* A lookup after the failure says "hole" and a VMA seen in the range says otherwise. */
static bool contradicted(const struct wire_reg_end *e)
{
	uint32_t i;

	if (!(e->have & WIRE_HAVE_VMAS))
		return false;
	for (i = 0; i < e->nvmas; i++)
		if (e->vmas[i].start <= e->gup_start && e->gup_start < e->vmas[i].end)
			return true;
	return false;
}

void cause_address_not_mapped(const struct incident *in, const struct identity *id,
			      struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	bool later = e->fault_vma_state == WIRE_FAULT_VMA_HOLE_LATER;
	const uint32_t need = WIRE_HAVE_UMEM | WIRE_HAVE_GUP | WIRE_HAVE_GUP_RESULT |
			      (later ? 0 : WIRE_HAVE_FAULT_VMA);
	int64_t index;

	if (excluded(in, id, ret))
		return;
	if ((e->have & need) != need || incident_errno(in, WIRE_FN_GUP_LONGTERM) != EFAULT ||
	    e->gup_result != -EFAULT || (e->fault_vma_state != WIRE_FAULT_VMA_HOLE && !later) || contradicted(e))
		return;
	index = incident_index(in, id, e->gup_start);
	if (index < 0)
		return;
	ret->kind = e->result == -EFAULT && !later ? FINDING_PROVEN : FINDING_LIKELY;
	ret->detail = index == 0 ? DETAIL_hole_at_start : DETAIL_hole_inside;
	finding_summary(ret, "0x%" PRIx64 ", page %" PRId64 " of %" PRIu64 " of the range, is not mapped in the process",
			(uint64_t)e->gup_start, index, incident_pages(in, id));
	finding_evidence(ret, "%s = -EFAULT for the pin that starts at 0x%" PRIx64
			 ": it returns an error only when its first page failed, so this is the first bad address",
			 name_fn(id, WIRE_FN_GUP_LONGTERM), (uint64_t)e->gup_start);
	finding_evidence(ret, "no mapping covered 0x%" PRIx64 " %s (looked up in the kernel)", (uint64_t)e->gup_start,
			 later ? "at the end of the call" : "when the pin failed");
	if (later)
		finding_missing(ret, "the mapping at the moment of the failure", "the map of the process was locked by another of its threads; a hole found later may have come in between");
	tell_neighbours(in, ret);
	if (e->result != -EFAULT)
		finding_evidence(ret, "not proven: the call ended with %s, not with the EFAULT of the pin",
				 name_errno((int)-e->result));
	finding_remedy(ret, "look for who unmapped or never mapped the address: compare it with /proc/PID/maps and with the buffer the program meant");
	finding_remedy(ret, "if it is a GPU address: register it through dma-buf, or load the peer memory module that matches the GPU driver");
}
