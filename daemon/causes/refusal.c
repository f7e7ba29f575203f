// SPDX-License-Identifier: BSD-2-Clause
/* The kernel's check of a mapping before it is pinned, done again on what was read of it. */
#include "causes/refusal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "names.h"
#include "text.h"

#define KEY_SHIFT 32			/* x86: VM_PKEY_BIT0 */
#define KEY_MASK 0xf

uint64_t failing_address(const struct incident *in, const struct identity *id)
{
	uint64_t stopped;

	return incident_pin_short(in, id, &stopped) ? stopped : in->end.gup_start;
}

const struct wire_vma *failing_vma(const struct incident *in, const struct identity *id)
{
	const struct wire_reg_end *e = &in->end;
	const uint32_t need = WIRE_HAVE_FAULT_VMA | WIRE_HAVE_GUP;
	const struct wire_vma *v = &e->fault_vma;

	if ((e->have & need) != need || e->fault_vma_state != WIRE_FAULT_VMA_COVERED ||
	    failing_address(in, id) < v->start || failing_address(in, id) >= v->end)
		return NULL;
	return v;
}

bool failing_hole(const struct incident *in, const struct identity *id)
{
	const struct wire_reg_end *e = &in->end;
	const uint32_t need = WIRE_HAVE_FAULT_VMA | WIRE_HAVE_GUP;
	const uint64_t address = failing_address(in, id);
	uint32_t i;

	if (failing_fault(in) || (e->have & need) != need || e->fault_vma_state != WIRE_FAULT_VMA_HOLE)
		return false;
	for (i = 0; e->have & WIRE_HAVE_VMAS && i < e->nvmas; i++)
		if (e->vmas[i].start <= address && address < e->vmas[i].end)
			return false;
	return true;
}

bool failing_pin(const struct incident *in, const struct identity *id, int err)
{
	const struct wire_reg_end *e = &in->end;
	const uint32_t need = WIRE_HAVE_GUP | WIRE_HAVE_GUP_RESULT;

	if (incident_pin_short(in, id, NULL))
		return err == EFAULT && incident_index(in, id, failing_address(in, id)) >= 0;
	return (e->have & need) == need && incident_errno(in, WIRE_FN_GUP_LONGTERM) == err &&
	       e->gup_result == -err && incident_index(in, id, e->gup_start) >= 0;
}

const struct wire_chain *failing_fault(const struct incident *in)
{
	const struct wire_chain *userfault = incident_chain(in, WIRE_FN_USERFAULT);

	return userfault ? userfault : incident_chain(in, WIRE_FN_HUGETLB_ALLOC);
}

uint32_t failing_key(const struct incident *in, const struct identity *id)
{
	const struct wire_vma *v = failing_vma(in, id);

	if (!v || strcmp(id->machine, "x86_64") != 0 || failing_fault(in))
		return 0;
	return v->flags >> KEY_SHIFT & KEY_MASK;
}

/* What the check stopped at, in words. */
static const char *const places[REFUSALS] = {
	[REFUSAL_DEVICE] = "device memory (VM_IO or VM_PFNMAP)",
	[REFUSAL_FSDAX] = "a file on a DAX filesystem, which gives EOPNOTSUPP",
	[REFUSAL_SECRET] = "secret memory (memfd_secret)",
	[REFUSAL_FILE] = "a shared writable mapping of a file whose writes are tracked",
	[REFUSAL_WRITE] = "missing write permission",
	[REFUSAL_READ] = "missing read permission",
	[REFUSAL_NONE] = "nothing: the page fault behind it failed",
};

enum refusal refusal_of(const struct incident *in, const struct identity *id)
{
	const uint32_t flags = in->end.gup_flags;
	const struct vmacheck c = {
		.v = failing_vma(in, id), .write = flags & id->foll_write, .force = flags & id->foll_force,
		.longterm = flags & id->foll_longterm, .pin = flags & id->foll_pin,
		.file_pins_checked = id->file_pins_checked,
	};
	enum refusal is;

	if (!c.v || !id->foll_write || !id->foll_force || !id->foll_longterm || !id->foll_pin)
		return REFUSAL_UNKNOWN;
	is = vmacheck(&c);
	/* A fault is tried of a mapping that passed: this one has come since, or the fault was another page's. */
	return is != REFUSAL_NONE && failing_fault(in) ? REFUSAL_UNKNOWN : is;
}

bool host_memory(const struct wire_vma *v)
{
	return v->flags & (VM_READ | VM_WRITE | VM_EXEC) && !(v->what & WIRE_VMA_CHARDEV);
}

/* Want of room is what it finds when it has looked the memory up; other errnos it may give for any address. */
static bool gpu_has_it(const struct incident *in, const struct identity *id)
{
	const struct wire_vma *v = failing_vma(in, id);

	if (incident_peer_failed(in))
		return true;
	return incident_peer_errno(in) == ENOMEM && !in->end.killed && !in->end.oom_victim && !(v && host_memory(v));
}

bool gpu_memory_rules_out(const struct incident *in, const struct identity *id, struct finding *f)
{
	const struct wire_peer *p = &in->end.peer;

	if (!gpu_has_it(in, id))
		return false;
	finding_because(f, "it is GPU memory: %s = -%s during the registration%s", name_fn(id, p->fn), name_errno(-p->err),
			incident_peer_failed(in) ? ", for a peer memory client that had taken it for its own" : "");
	f->kind = FINDING_RULED_OUT;
	return true;
}

bool refusal_rules_out(const struct incident *in, const struct identity *id, enum refusal mine, struct finding *f)
{
	enum refusal is = refusal_of(in, id);
	char vma[VMA_TEXT];

	if (gpu_memory_rules_out(in, id, f))
		return true;
	if (failing_hole(in, id)) {
		finding_because(f, "no mapping covered 0x%" PRIx64 ", where the pin failed", failing_address(in, id));
		f->kind = FINDING_RULED_OUT;
		return true;
	}
	if (is == REFUSAL_UNKNOWN || is == mine)
		return false;
	finding_because(f, "0x%" PRIx64 ", where the pin failed, lies in %s; the kernel's check of it stops at %s",
			failing_address(in, id), vma_text(vma, failing_vma(in, id)), places[is]);
	f->kind = FINDING_RULED_OUT;
	return true;
}

enum finding_kind failing_kind(const struct incident *in, const struct identity *id, int err, struct finding *f)
{
	const struct wire_vma *v = failing_vma(in, id);
	int peer = incident_peer_errno(in);

	/* For what is not its memory it gives EINVAL. */
	if (peer && peer != EINVAL && !(v && host_memory(v))) {
		finding_evidence(f, "not proven: %s = -%s during the registration: it may be GPU memory", name_fn(id, in->end.peer.fn), name_errno(peer));
		return FINDING_LIKELY;
	}
	/* A pin that stopped early ends its call with an errno of the caller's. */
	if (in->end.result == -err || incident_pin_short(in, id, NULL))
		return FINDING_PROVEN;
	finding_evidence(f, "not proven: the call ended with %s, not with the %s of the pin",
			 name_errno((int)-in->end.result), name_errno(err));
	return FINDING_LIKELY;
}

static void add_flag(void *ctx, const char *name)
{
	text_item(ctx, name);
}

void tell_failing_pin(const struct incident *in, const struct identity *id, struct finding *f)
{
	const struct wire_reg_end *e = &in->end;
	char flags[160];
	uint64_t stopped;
	struct text t;

	if (incident_pin_short(in, id, &stopped)) {
		finding_evidence(f, "%s pinned %" PRId64 " of %" PRIu64 " pages and stopped before 0x%" PRIx64 "; %s makes %s of that, whatever the reason",
				 name_fn(id, WIRE_FN_GUP_LONGTERM), (int64_t)e->gup_result, (uint64_t)e->gup_pages, stopped, name_api(e->api),
				 name_errno((int)-e->result));
		return;
	}
	text_init(&t, flags, sizeof(flags));
	name_gup_flags(id, e->gup_flags, add_flag, &t);
	finding_evidence(f, "%s = -%s for the pin that starts at 0x%" PRIx64 " (%s): it returns an error only when its first page failed, so this is the first bad address",
			 name_fn(id, WIRE_FN_GUP_LONGTERM), name_errno((int)-e->gup_result), (uint64_t)e->gup_start, flags);
}

const char *vma_text(char buf[VMA_TEXT], const struct wire_vma *v)
{
	struct text t;

	text_init(&t, buf, VMA_TEXT);
	text_add(&t, "0x%" PRIx64 "-0x%" PRIx64 " %c%c%c%c%s", (uint64_t)v->start, (uint64_t)v->end,
		 v->flags & VM_READ ? 'r' : '-', v->flags & VM_WRITE ? 'w' : '-', v->flags & VM_EXEC ? 'x' : '-',
		 v->flags & VM_SHARED ? 's' : 'p', v->flags & (VM_IO | VM_PFNMAP) ? " io" : "");
	if (v->fs[0])
		text_add(&t, " %.*s", (int)sizeof(v->fs), v->fs);
	return buf;
}
