// SPDX-License-Identifier: BSD-2-Clause
/* Arithmetic on what was seen, shared by causes and reports. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "container.h"
#include "incident.h"
#include "names.h"
#include "text.h"

#define VM_HUGETLB 0x400000	/* include/linux/mm.h: the same on every kernel */
#define GUP_PIN_BIAS 1024	/* GUP_PIN_COUNTING_BIAS: what one pin adds to a small folio's refcount */

bool incident_has_range(const struct incident *in)
{
	const struct wire_reg_end *e = &in->end;

	if (e->have & WIRE_HAVE_UMEM)
		return true;
	return (e->have & (WIRE_HAVE_COMMAND | WIRE_HAVE_ARGS)) && (e->address || e->length);
}

bool incident_pin_unseen(const struct incident *in)
{
	return in->end.gup_calls > 0 && !(in->end.have & WIRE_HAVE_GUP_RESULT);
}

bool incident_pin_short(const struct incident *in, const struct identity *id, uint64_t *ret_address)
{
	const struct wire_reg_end *e = &in->end;
	const uint32_t need = WIRE_HAVE_GUP | WIRE_HAVE_GUP_RESULT;

	if (e->api != WIRE_API_IO_URING && e->api != WIRE_API_XDP_UMEM)
		return false;
	if ((e->have & need) != need || e->result >= 0 || incident_chain(in, WIRE_FN_GUP_LONGTERM) || e->gup_result <= 0 ||
	    (uint64_t)e->gup_result >= e->gup_pages)
		return false;
	if (ret_address)
		*ret_address = e->gup_start + (uint64_t)e->gup_result * id->page_size;
	return true;
}

static uint64_t align_down(uint64_t address, const struct identity *id)
{
	return address & ~((uint64_t)id->page_size - 1);
}

uint64_t incident_pages(const struct incident *in, const struct identity *id)
{
	uint64_t end, first = align_down(in->end.address, id);

	if (!incident_has_range(in))
		return 0;
	if (__builtin_add_overflow(in->end.address, in->end.length, &end) ||
	    __builtin_add_overflow(end, id->page_size - 1, &end))
		return 0;
	return (align_down(end, id) - first) / id->page_size;
}

int64_t incident_index(const struct incident *in, const struct identity *id, uint64_t address)
{
	uint64_t first = align_down(in->end.address, id);
	uint64_t index;

	if (address < first)
		return -1;
	index = (address - first) / id->page_size;
	return index < incident_pages(in, id) ? (int64_t)index : -1;
}

const struct wire_chain *incident_chain(const struct incident *in, enum wire_fn fn)
{
	uint32_t i;

	for (i = in->end.nchain; i > 0; i--)
		if (in->end.chain[i - 1].fn == fn)
			return &in->end.chain[i - 1];
	return NULL;
}

int incident_errno(const struct incident *in, enum wire_fn fn)
{
	const struct wire_chain *c = incident_chain(in, fn);

	return c && c->result < 0 ? (int)-c->result : 0;
}

static bool add_exceeds(uint64_t a, uint64_t b, uint64_t limit)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) || sum > limit;
}

struct memlock_sum incident_memlock(const struct incident *in, const struct identity *id)
{
	const struct wire_reg_end *e = &in->end;
	const uint32_t need = WIRE_HAVE_UMEM | WIRE_HAVE_PINNED_VM | WIRE_HAVE_MEMLOCK;
	struct memlock_sum s = { 0 };

	if ((e->have & need) != need)
		return s;
	s.asked_pages = incident_pages(in, id);
	s.before_pages = e->pinned_before_pages;
	s.after_pages = e->pinned_after_pages;
	s.unlimited = e->memlock_soft_bytes == UINT64_MAX;
	s.limit_pages = e->memlock_soft_bytes / id->page_size;
	s.known = s.asked_pages > 0;
	s.over_before = !s.unlimited && add_exceeds(s.asked_pages, s.before_pages, s.limit_pages);
	s.over_after = !s.unlimited && add_exceeds(s.asked_pages, s.after_pages, s.limit_pages);
	return s;
}

const char *incident_cgroup(const struct incident *in, char buf[INCIDENT_CGROUP])
{
	struct text t;

	text_init(&t, buf, INCIDENT_CGROUP);
	if (in->end.have & WIRE_HAVE_CGROUP)
		cgroup_path(in->end.cgroup, sizeof(in->end.cgroup), &t);
	else if (FACT_KNOWN(&in->facts, cgroup))
		text_add(&t, "%s", in->facts.cgroup);
	/* A host of version 1 has every process in the root of version 2. */
	if (strcmp(buf, "/") == 0 && FACT_KNOWN(&in->facts, cgroup_v1)) {
		text_init(&t, buf, INCIDENT_CGROUP);
		text_add(&t, "%s", in->facts.cgroup_v1);
	}
	return buf;
}

static uint64_t hugetlb_bytes(const struct wire_vma *v)
{
	return v->flags & VM_HUGETLB && v->block_shift < 64 ? 1ULL << v->block_shift : 0;
}

uint64_t incident_hugetlb_bytes(const struct incident *in)
{
	const struct wire_reg_end *e = &in->end;
	uint64_t bytes = 0;
	uint32_t i;

	if (e->have & WIRE_HAVE_FAULT_VMA && e->fault_vma_state == WIRE_FAULT_VMA_COVERED)
		bytes = hugetlb_bytes(&e->fault_vma);
	for (i = 0; i < e->nvmas && !bytes; i++)
		bytes = hugetlb_bytes(&e->vmas[i]);
	return bytes;
}

/* Filesystems on this machine alone whose faults go by i_size, so that its number decides. */
static const char *const by_size[] = {
	"tmpfs", "hugetlbfs", "ext4", "ext3", "ext2", "xfs", "btrfs", "f2fs", "ramfs", "vfat", "exfat", "squashfs", "erofs",
};

bool incident_size_decides(const struct wire_vma *v)
{
	size_t i;

	for (i = 0; i < sizeof(by_size) / sizeof(by_size[0]); i++)
		if (strcmp(by_size[i], v->fs) == 0)
			return true;
	return false;
}

const struct word stage_words[STAGE_MAX] = {
#define STAGE(word, meaning) [STAGE_##word] = { #word, meaning },
#include "stages.def"
#undef STAGE
};

bool incident_uring_refused(const struct incident *in, const struct identity *id)
{
	const uint32_t need = WIRE_HAVE_ACCOUNT | WIRE_HAVE_MEMLOCK;
	const struct wire_reg_end *e = &in->end;

	if (e->api != WIRE_API_IO_URING)
		return false;
	if (incident_errno(in, WIRE_FN_URING_ACCOUNT) == ENOMEM)
		return true;
	/* Seen to be made and not to be refused. */
	if (id->fn_watched[WIRE_FN_URING_ACCOUNT])
		return false;
	return e->nchain && e->chain[0].fn == WIRE_FN_URING_BUFFER && e->chain[0].result == -ENOMEM &&
	       (e->have & need) == need && e->memlock_soft_bytes != UINT64_MAX &&
	       add_exceeds(e->account.asked_pages, e->account.user_locked_pages, e->memlock_soft_bytes / id->page_size);
}

/* Is the provider of this device hooked, so that its silence means that it did not fail? */
static bool driver_watched(const struct incident *in, const struct identity *id)
{
	uint32_t fn;

	/* It has no operation for dma-bufs: the command ends before it. */
	if (in->end.api == WIRE_API_REG_DMABUF_MR && (in->end.have & WIRE_HAVE_CAPS) && !in->end.caps.has_dmabuf)
		return true;
	/* Other commands call other operations of the driver, which are not hooked. */
	if (in->end.api != WIRE_API_REG_MR)
		return false;
	for (fn = 0; fn < WIRE_FN_MAX; fn++)
		if (name_fn_is_driver(fn) && id->fn_watched[fn] && in->end.driver[0] &&
		    strcmp(id->fn_module[fn], in->end.driver) == 0)
			return true;
	return false;
}

bool incident_driver_unseen(const struct incident *in, const struct identity *id)
{
	return in->end.api == WIRE_API_REG_MR && in->end.driver[0] && !driver_watched(in, id);
}

bool incident_entered_driver(const struct incident *in)
{
	uint32_t i;

	for (i = 0; i < in->end.nchain; i++)
		if (name_fn_is_driver(in->end.chain[i].fn))
			return true;
	return false;
}

bool incident_waits_in(const struct incident *in, const char *function)
{
	size_t n = strlen(function);
	const char *waits = in->sighting.waits_in;

	return strncmp(waits, function, n) == 0 && (waits[n] == '\0' || waits[n] == '.');
}

bool incident_umem_excluded(const struct incident *in, const struct identity *id)
{
	const struct wire_reg_end *e = &in->end;

	return e->api >= WIRE_API_REG_MR && e->api <= WIRE_API_DEVX_UMEM && e->api != WIRE_API_UMEM &&
	       id->fn_watched[WIRE_FN_UMEM] && id->fn_watched[WIRE_FN_GUP_LONGTERM] && e->gup_calls == 0 &&
	       e->nchain > 0 && e->nchain < WIRE_CHAIN_MAX && !incident_chain(in, WIRE_FN_UMEM) &&
	       !incident_chain(in, WIRE_FN_GUP_LONGTERM);
}

int incident_peer_errno(const struct incident *in)
{
	return in->end.have & WIRE_HAVE_PEER ? -in->end.peer.err : 0;
}

int incident_peer_failed(const struct incident *in)
{
	const struct wire_peer *p = &in->end.peer;
	bool taken = p->answer == WIRE_PEER_ANSWER_UNSEEN && strncmp(p->caller, "nv_mem_get_pages", strlen("nv_mem_get_pages")) == 0;

	return taken || p->answer == WIRE_PEER_MINE ? incident_peer_errno(in) : 0;
}

int incident_decisive_errno(const struct incident *in)
{
	int pin = incident_errno(in, WIRE_FN_GUP_LONGTERM);
	uint32_t i = 0;

	if (incident_peer_failed(in))
		return incident_peer_failed(in);
	/* A pin that failed and was repeated with success decided nothing: what counts comes behind it. */
	if (pin && in->end.stage == WIRE_STAGE_PINNED)
		i = (uint32_t)(incident_chain(in, WIRE_FN_GUP_LONGTERM) - in->end.chain) + 1;
	else if (pin)
		return pin;
	for (; i < in->end.nchain; i++)
		if (in->end.chain[i].result < 0)
			return (int)-in->end.chain[i].result;
	return in->end.result < 0 ? (int)-in->end.result : 0;
}

/* The umem function failed, and nothing of what it calls was seen failing. */
static enum stage stage_of_umem(const struct incident *in, const struct identity *id)
{
	struct memlock_sum s = incident_memlock(in, id);

	switch (incident_errno(in, WIRE_FN_UMEM)) {
	case EPERM:
		return STAGE_limits;
	case ENOMEM:
		if (s.known && s.over_before && s.over_after && !in->end.ipc_lock && in->end.gup_calls == 0)
			return STAGE_limits;
		break;
	case EINVAL:
	case EOPNOTSUPP:
		break;
	default: /* not an errno of its own: it comes from a callee whose hook did not run */
		return STAGE_unknown;
	}
	return id->fn_watched[WIRE_FN_GUP_LONGTERM] && !incident_pin_unseen(in) ? STAGE_umem : STAGE_unknown;
}

static enum stage stage_of_pin(const struct incident *in)
{
	if (incident_chain(in, WIRE_FN_MIGRATE) || incident_chain(in, WIRE_FN_MIGRATE_TARGET) || in->end.folios_seen)
		return STAGE_placement;
	/* The entry in the chain is written where the folios are put back, which may not be hooked. */
	if (in->end.have & WIRE_HAVE_MIGRATE && in->end.migrate_failed)
		return STAGE_placement;
	return STAGE_pin;
}

/* Where the first of these functions that failed puts it; what calls them has failed as well. */
static const struct {
	enum wire_fn fn;
	enum stage stage;
} by_function[] = {
	{ WIRE_FN_RDMACG, STAGE_rdma_cgroup },
	{ WIRE_FN_DMABUF_GET, STAGE_dmabuf },
	{ WIRE_FN_DMABUF_ATTACH, STAGE_dmabuf },
	{ WIRE_FN_DMABUF_PIN, STAGE_dmabuf },
	{ WIRE_FN_DMABUF_MAP, STAGE_dmabuf },
	{ WIRE_FN_NV_DMABUF_MAP, STAGE_dmabuf },
	{ WIRE_FN_UMEM_DMABUF, STAGE_dmabuf },
	/* After these: what exports a dma-buf maps through the same function. */
	{ WIRE_FN_DMA_MAP, STAGE_dma_map },
	{ WIRE_FN_UMEM_ODP, STAGE_odp },
	{ WIRE_FN_URING_ACCOUNT, STAGE_limits },
	{ WIRE_FN_URING_BUFFER, STAGE_io_uring },
	{ WIRE_FN_URING, STAGE_io_uring },
	{ WIRE_FN_XDP_UMEM, STAGE_af_xdp },
	{ WIRE_FN_VFIO_MAP, STAGE_vfio },
	{ WIRE_FN_MADVISE, STAGE_userspace },
	{ WIRE_FN_FW_COMMAND, STAGE_provider },
	{ WIRE_FN_MKEY, STAGE_provider },
};

static enum stage stage_of_failure(const struct incident *in, const struct identity *id)
{
	size_t i;

	/* Some stacks try the ordinary pin first; what it said of memory that is a client's decides nothing. */
	if (incident_peer_failed(in))
		return STAGE_peer;
	/* A pin that failed and was repeated with success is no longer where it ended. */
	if (in->end.stage == WIRE_STAGE_PINNED)
		return STAGE_provider;
	if (incident_chain(in, WIRE_FN_GUP_LONGTERM) || incident_pin_short(in, id, NULL))
		return stage_of_pin(in);
	/* It gives this errno at the check of the limit alone (net/xdp/xdp_umem.c, xdp_umem_account_pages). */
	if (incident_errno(in, WIRE_FN_XDP_UMEM) == ENOBUFS)
		return STAGE_limits;
	if (incident_uring_refused(in, id))
		return STAGE_limits;
	for (i = 0; i < sizeof(by_function) / sizeof(by_function[0]); i++)
		if (incident_chain(in, by_function[i].fn))
			return by_function[i].stage;
	if (incident_chain(in, WIRE_FN_UMEM))
		return stage_of_umem(in, id);
	/* siw of 6.1 and older pins, and checks the limit, by itself. */
	if (incident_chain(in, WIRE_FN_DRIVER_SIW) && !(in->end.have & WIRE_HAVE_UMEM))
		return STAGE_unknown;
	if (incident_entered_driver(in))
		return id->fn_watched[WIRE_FN_UMEM] ? STAGE_provider : STAGE_unknown;
	if (in->end.nchain && in->end.chain[0].fn == name_api_entry(in->end.api))
		return driver_watched(in, id) ? STAGE_uverbs : STAGE_unknown;
	return STAGE_unknown;
}

enum stage incident_stage_of(const struct incident *in, const struct identity *id)
{
	static const enum stage in_flight[WIRE_STAGE_MAX] = {
		[WIRE_STAGE_UVERBS] = STAGE_uverbs, [WIRE_STAGE_UMEM] = STAGE_umem, [WIRE_STAGE_PIN] = STAGE_pin,
		[WIRE_STAGE_PLACEMENT] = STAGE_placement, [WIRE_STAGE_PINNED] = STAGE_provider,
	};

	if (incident_is_warning(in))
		return STAGE_unknown; /* it ended nowhere: it was made */
	if (in->stuck || in->end.result == 0)
		return in_flight[in->end.stage];
	return stage_of_failure(in, id);
}

const char *incident_stage(const struct incident *in, const struct identity *id)
{
	return stage_words[incident_stage_of(in, id)].word;
}

struct folio_refs folio_refs(const struct wire_folio *f)
{
	struct folio_refs r = { 0 };

	if (!(f->have & WIRE_HAVE_COUNTS))
		return r;
	if (__builtin_sub_overflow(f->refcount, f->expected, &r.extra))
		return r;
	r.known = true;
	if (r.extra <= 0 && f->pincount <= 0)
		return r;
	if ((f->flags & WIRE_FOLIO_LARGE) && f->pincount >= 0) {
		/* A pin holds a reference too: fewer references than pins were not read at one moment. */
		r.known = f->pincount <= r.extra;
		r.pins = f->pincount;
		r.counted = true;
	} else {
		r.pins = r.extra / GUP_PIN_BIAS;
	}
	r.others = r.extra - (r.counted ? r.pins : r.pins * GUP_PIN_BIAS);
	return r;
}

bool incident_is_warning(const struct incident *in)
{
	return in->stale || in->hazard;
}

/* A record says what is so of the pin: that it is held, or, of another registration's, that it is being taken. */
static uint32_t count_pins(const struct incident *in, const struct wire_folio *f, bool rivals, const struct wire_pin **ret_pin)
{
	const struct wire_pin *oldest = NULL;
	uint32_t i, n = 0;

	for (i = 0; i < in->holders.nholdings; i++) {
		const struct holding *h = &in->holders.holdings[i];
		const struct wire_pin *pin = &in->holders.pins[h->pin].pin;

		if (h->pfn != f->pfn || (pin->via == WIRE_PIN_VIA_REGISTRATION) != rivals || h->doubt)
			continue;
		n++;
		if (!oldest || pin->since_ns < oldest->since_ns)
			oldest = pin;
	}
	if (n && ret_pin)
		*ret_pin = oldest;
	return n;
}

uint32_t incident_holders(const struct incident *in, const struct wire_folio *f, const struct wire_pin **ret_pin)
{
	return count_pins(in, f, false, ret_pin);
}

uint32_t incident_rivals(const struct incident *in, const struct wire_folio *f, const struct wire_pin **ret_pin)
{
	return count_pins(in, f, true, ret_pin);
}

uint32_t incident_calls(const struct incident *in, const struct wire_folio *f, const struct wire_pin *pin)
{
	for (uint32_t i = 0; i < in->holders.nholdings; i++) {
		const struct holding *h = &in->holders.holdings[i];

		if (h->pfn == f->pfn && in->holders.pins[h->pin].pin.id == pin->id)
			return h->calls;
	}
	return 0;
}

const struct wire_pin *incident_doubtful(const struct incident *in, const struct wire_folio *f, enum wire_doubt *ret_doubt)
{
	uint32_t i;

	for (i = 0; i < in->holders.nholdings; i++) {
		const struct holding *h = &in->holders.holdings[i];

		if (h->pfn != f->pfn || !h->doubt || in->holders.pins[h->pin].pin.via == WIRE_PIN_VIA_GET_FAST)
			continue;
		*ret_doubt = h->doubt;
		return &in->holders.pins[h->pin].pin;
	}
	return NULL;
}

const struct wire_pin *incident_reference(const struct incident *in, const struct wire_folio *f, uint32_t nth)
{
	uint32_t i, n = 0;

	for (i = 0; i < in->holders.nholdings; i++) {
		const struct holding *h = &in->holders.holdings[i];
		const struct wire_pin *pin = &in->holders.pins[h->pin].pin;

		if (h->pfn == f->pfn && pin->via == WIRE_PIN_VIA_GET_FAST && n++ == nth)
			return pin;
	}
	return NULL;
}

bool incident_frame_ours(const char *frame)
{
	return strncmp(frame, "bpf_prog_", strlen("bpf_prog_")) == 0 || strncmp(frame, "bpf_trampoline_", strlen("bpf_trampoline_")) == 0;
}

/* "function [module]", or a function of the kernel. False: a name that was cut, after which a module may have stood. */
static bool parse_frame(const char *frame, char function[WIRE_SYMBOL_LEN], char module[WIRE_MODULE_LEN])
{
	int end = 0;

	module[0] = '\0';
	if (sscanf(frame, "%47s [%55[^]]]%n", function, module, &end) < 1 || function[0] == '?')
		return false;
	return end > 0 || (!module[0] && strlen(frame) < WIRE_SYMBOL_LEN - 1);
}

bool holder_called_from(const struct wire_holder *h, char function[WIRE_SYMBOL_LEN], char module[WIRE_MODULE_LEN])
{
	for (uint32_t k = 0; k < h->nstack; k++) {
		if (incident_frame_ours(h->stack[k]))
			continue;
		if (!parse_frame(h->stack[k], function, module))
			return false;
		if (strcmp(function, pin_vias[h->pin.via].function) != 0)
			return true;
	}
	return false;
}

const char *holder_module(const struct wire_holder *h, char buf[WIRE_MODULE_LEN])
{
	char function[WIRE_SYMBOL_LEN];

	if (pin_vias[h->pin.via].module[0])
		return pin_vias[h->pin.via].module;
	return holder_called_from(h, function, buf) ? buf : "";
}

static const struct wire_holder *holder_of(const struct incident *in, const struct wire_pin *pin)
{
	for (uint32_t i = 0; i < in->holders.npins; i++)
		if (in->holders.pins[i].pin.id == pin->id)
			return &in->holders.pins[i];
	return NULL;
}

bool incident_called_from(const struct incident *in, const struct wire_pin *pin, char function[WIRE_SYMBOL_LEN], char module[WIRE_MODULE_LEN])
{
	const struct wire_holder *h = holder_of(in, pin);

	return h && holder_called_from(h, function, module);
}

const char *incident_pin_module(const struct incident *in, const struct wire_pin *pin, char buf[WIRE_MODULE_LEN])
{
	const struct wire_holder *h = holder_of(in, pin);

	return h ? holder_module(h, buf) : "";
}

uint64_t incident_pin_age_ns(const struct incident *in, const struct wire_pin *pin)
{
	return in->end.hdr.time_ns > pin->since_ns ? in->end.hdr.time_ns - pin->since_ns : 0;
}

uint64_t incident_lasted_ns(const struct incident *in)
{
	return in->end.hdr.time_ns > in->end.start_ns ? in->end.hdr.time_ns - in->end.start_ns : 0;
}

bool pin_not_longterm(const struct wire_pin *pin, const struct identity *id)
{
	return pin->calls && id->foll_longterm && !(pin->gup_flags & id->foll_longterm);
}

bool incident_own_pin(const struct incident *in, const struct wire_pin *pin)
{
	return pin->tgid == in->end.tgid && pin->task_start_ns == in->end.task_start_ns;
}

enum facts_held incident_held(const struct incident *in)
{
	enum facts_held held = FACTS_HELD_NOT;
	uint32_t i;

	/* Who holds it was seen, and need not be the process at hand. */
	if (in->hazard)
		return held;
	for (i = 0; i < in->nfolios; i++) {
		const struct wire_folio *f = &in->folios[i];
		struct folio_refs refs = folio_refs(f);

		if (!refs.known || refs.extra <= 0)
			continue;
		if (!(f->flags & WIRE_FOLIO_ANON) || f->flags & WIRE_FOLIO_KSM || f->mapcount > 1LL << (f->order & 31))
			return FACTS_HELD_SHARED;
		held = FACTS_HELD_ALONE;
	}
	return held;
}
