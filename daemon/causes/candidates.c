// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who may hold the pages when nobody was seen holding them, each with what speaks for it: the page's flags and
 * place, how this kernel does direct I/O, what the process has open. An open file is no proof, and neither is the
 * address of a registered buffer: it tells what was registered, not what lies there now.
 */
#include <inttypes.h>
#include <string.h>

#include "causes/placement.h"
#include "crosscheck.h"
#include "names.h"
#include "text.h"

static const char *const gpu_files[] = { "/dev/nvidia", "/dev/kfd", "/dev/dri/renderD" };
static const char *const vfio_files[] = { "/dev/vfio/", "/dev/iommu" };

/* "; the process has /dev/nvidia0, /dev/nvidiactl open", or that it has none of them. */
static bool add_files(struct text *t, const struct crosscheck *c, const char *const *prefixes, size_t n)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < c->nfiles; i++) {
		size_t k = 0;

		while (k < n && strncmp(c->files[i].name, prefixes[k], strlen(prefixes[k])) != 0)
			k++;
		if (k < n)
			text_add(t, "%s%s", found++ ? ", " : "; the process has ", c->files[i].name);
	}
	if (found)
		text_add(t, " open");
	return found;
}

static void gpu_driver(const struct incident *in, const struct crosscheck *c, struct finding *ret)
{
	char open[FINDING_TEXT];
	struct text t;

	text_init(&t, open, sizeof(open));
	if (!add_files(&t, c, gpu_files, sizeof(gpu_files) / sizeof(gpu_files[0])) && FACT_KNOWN(&in->facts, holder_files) && !c->cut[0])
		text_add(&t, "; after the failure the process had no GPU's device file open");
	finding_candidate(ret, "a driver that pinned the page without FOLL_LONGTERM (GPU drivers do so for page-locked host memory)%s", open);
}

/* First and last byte + 1 of the folio in the process, as far as they are in the range. */
static bool folio_bytes(const struct wire_folio *f, const struct identity *id, uint64_t *ret_start, uint64_t *ret_end)
{
	*ret_start = f->address;
	*ret_end = f->address + ((uint64_t)id->page_size << (f->order & 31));
	return f->have & WIRE_HAVE_ADDRESS && *ret_end > *ret_start;
}

static const struct crosscheck_buffer *buffer_over(const struct wire_folio *f, const struct identity *id, const struct crosscheck *c)
{
	uint64_t start, end;

	return folio_bytes(f, id, &start, &end) ? crosscheck_buffer_at(c, start, end) : NULL;
}

/*
 * Long-term pins move a page out of CMA and ZONE_MOVABLE before they hold it. What they hold can be in the way in a
 * block that began to be emptied later.
 */
static void longterm_pins(const struct incident *in, const struct stay *s, const struct identity *id, const struct crosscheck *c, struct finding *ret)
{
	const struct crosscheck_buffer *b = buffer_over(s->first, id, c);
	char open[FINDING_TEXT];
	struct text t;

	if (!(s->places & WIRE_FOLIO_ISOLATE)) {
		if (b)
			finding_evidence(ret, "io_uring (descriptor %u) has a buffer registered at that address: not the likely holder, since its pin is long-term and moves a page out of such a place first", b->fd);
		return;
	}
	if (b)
		finding_candidate(ret, "the likely one: io_uring (descriptor %u of the process), which has %" PRIu64 " bytes from 0x%" PRIx64 " registered, at that address", b->fd, b->bytes, b->start);
	text_init(&t, open, sizeof(open));
	if (add_files(&t, c, vfio_files, sizeof(vfio_files) / sizeof(vfio_files[0])))
		finding_candidate(ret, "a mapping by VFIO or iommufd, from before the block began to be emptied%s", open);
	if (FACT_KNOWN(&in->facts, mr_process_count) && in->facts.mr_process_count)
		finding_candidate(ret, "a memory region from before the block began to be emptied; the process has %" PRIu64 " on that device", in->facts.mr_process_count);
}

/* Whose call it was; the longest is a function's name and a module's. */
#define CALLER_TEXT (WIRE_SYMBOL_LEN + WIRE_MODULE_LEN + 16)
static const char *name_caller(const struct incident *in, const struct wire_pin *pin, char buf[CALLER_TEXT])
{
	char function[WIRE_SYMBOL_LEN], module[WIRE_MODULE_LEN];
	struct text t;

	text_init(&t, buf, CALLER_TEXT);
	/* Of a module's pin it is known that there was one. */
	if (incident_called_from(in, pin, function, module) && (*module || pin->via != WIRE_PIN_VIA_MODULE))
		text_add(&t, "%s of %s%s", function, *module ? "module " : "the kernel", module);
	else
		text_add(&t, "%s", pin->via == WIRE_PIN_VIA_MODULE ? "a module" : "code that is not known any more");
	return buf;
}

/* Whom a module pinned memory for, at these addresses; nobody watched for its release. */
static void unwatched_before(const struct incident *in, const struct identity *id, const struct wire_pin *pin, uint64_t age_ns, struct finding *ret)
{
	char by[CALLER_TEXT];

	finding_candidate(ret, "%s (pid %u%s), which pinned %" PRIu64 " page%s from 0x%" PRIx64 ", where this one is mapped, through %s, %" PRIu64 ".%03" PRIu64 " s earlier%s: %s",
			  pin->comm, pin->tgid, incident_own_pin(in, pin) ? ", the process itself" : "", (uint64_t)pin->pages, pin->pages == 1 ? "" : "s",
			  (uint64_t)pin->address, name_caller(in, pin, by), age_ns / 1000000000, age_ns / 1000000 % 1000,
			  pin_not_longterm(pin, id) ? ", without FOLL_LONGTERM" : "", pin_doubts[WIRE_DOUBT_UNWATCHED].meaning);
}

/* Whom a program watching armed processes saw pinning it, but not for sure still holding it. */
static void seen_before(const struct incident *in, const struct stay *s, const struct identity *id, struct finding *ret)
{
	enum wire_doubt doubt = WIRE_DOUBT_NONE;
	const struct wire_pin *pin = s->first ? incident_doubtful(in, s->first, &doubt) : NULL;
	char by[CALLER_TEXT];
	uint64_t age_ns;

	if (!pin)
		return;
	age_ns = incident_pin_age_ns(in, pin);
	if (pin->via == WIRE_PIN_VIA_MODULE) {
		unwatched_before(in, id, pin, age_ns, ret);
		return;
	}
	finding_candidate(ret, "%s (pid %u), which was seen pinning the page %" PRIu64 ".%03" PRIu64 " s earlier by %s, called from %s: %s", pin->comm, pin->tgid,
			  age_ns / 1000000000, age_ns / 1000000 % 1000, pin_vias[pin->via].function, name_caller(in, pin, by), pin_doubts[doubt].meaning);
}

/* Whom it saw taking plain references of it. That may be over, and is a candidate for those beyond the page's pins alone. */
static void took_references(const struct incident *in, const struct stay *s, struct finding *ret)
{
	const struct wire_pin *pin;
	char by[CALLER_TEXT];
	uint64_t age_ns;

	if (!s->first || folio_refs(s->first).others <= 0)
		return;
	for (uint32_t n = 0; (pin = incident_reference(in, s->first, n)); n++) {
		age_ns = incident_pin_age_ns(in, pin);
		finding_candidate(ret, "%s (pid %u%s), which was seen taking a reference of the page, the last time %" PRIu64 ".%03" PRIu64 " s earlier by %s, called from %s: it may have been dropped since, which cannot be watched, and the page may be another one by now",
				  pin->comm, pin->tgid, incident_own_pin(in, pin) ? ", the process itself" : "", age_ns / 1000000000, age_ns / 1000000 % 1000,
				  pin_vias[pin->via].function, name_caller(in, pin, by));
	}
}

static void pin_candidates(const struct incident *in, const struct stay *s, const struct identity *id, const struct crosscheck *c, struct finding *ret)
{
	seen_before(in, s, id, ret);
	longterm_pins(in, s, id, c, ret);
	gpu_driver(in, c, ret);
	if (id->direct_io_pins)
		finding_candidate(ret, "direct I/O in flight, which pins its pages on this kernel");
	finding_candidate(ret, "another long-term pin of the same page that is in progress%s",
			  s->by_grade[GRADE_another_longterm_pin_in_flight] ? ": one was" : "");
}

static void pipes(const struct incident *in, struct finding *ret)
{
	const struct facts *f = &in->facts;
	char open[FINDING_TEXT];
	struct text t;

	text_init(&t, open, sizeof(open));
	if (FACT_KNOWN(f, holder_pipes) && f->holder_pipes)
		text_add(&t, "; the process has %" PRIu64 " end%s of pipes open", f->holder_pipes, f->holder_pipes == 1 ? "" : "s");
	else if (FACT_KNOWN(f, holder_pipes))
		text_add(&t, "; after the failure the process had none open, which may have been closed or be another's");
	finding_candidate(ret, "pages given to a pipe by vmsplice or splice and not yet read from it%s", open);
}

static void plain_candidates(const struct incident *in, const struct stay *s, const struct identity *id, struct finding *ret)
{
	const uint32_t on_its_way = WIRE_FOLIO_SWAPCACHE | WIRE_FOLIO_LOCKED | WIRE_FOLIO_WRITEBACK;

	pipes(in, ret);
	if (!id->direct_io_pins)
		finding_candidate(ret, "direct I/O in flight, which takes plain references on this kernel");
	/* A page enters and leaves it locked, and the migration's own lock is given back. */
	if (s->flags & WIRE_FOLIO_ANON && s->flags & on_its_way)
		finding_candidate(ret, "the swap cache, while the page enters or leaves it; the page %s", s->flags & WIRE_FOLIO_SWAPCACHE ? "is in it" : s->flags & WIRE_FOLIO_WRITEBACK ? "is being written" : "is locked by someone");
	/* A batch holds one reference; a page can be in the LRU's and in mlock's. */
	if (s->extra_max > 2)
		return;
	finding_candidate(ret, "a per-CPU LRU batch of pages that are on the list, such as are to be activated (transient: a retry passes); it is not the one of new pages, from which a page cannot be taken to be moved");
	if (s->flags & WIRE_FOLIO_MLOCKED)
		finding_candidate(ret, "a per-CPU mlock batch (transient: a retry passes); the page is mlocked");
}

static void other_processes(const struct crosscheck *c, struct finding *ret)
{
	char list[FINDING_TEXT];
	struct text t;

	text_init(&t, list, sizeof(list));
	for (uint32_t i = 0; i < c->nothers && i < 3; i++)
		text_add(&t, "%s%s (pid %" PRIu32 ", %s)", i ? ", " : "", c->others[i].comm, c->others[i].pid, c->others[i].name);
	if (c->nothers > 3 || (c->nothers && c->others_cut[0]))
		text_add(&t, " and others");
	if (c->nothers)
		finding_candidate(ret, "another process, if it has the page mapped, through one of the files it has open: %s", list);
}

void tell_candidates(const struct incident *in, const struct stay *s, const struct identity *id, struct finding *ret)
{
	bool either = s->by_grade[GRADE_pin_or_references];
	struct crosscheck c;
	uint32_t seen;

	took_references(in, s, ret);
	seen = ret->ncandidates;
	crosscheck_read(&in->facts, &c);
	if (either || s->by_grade[GRADE_pin_evident_owner_unseen] || s->by_grade[GRADE_another_longterm_pin_in_flight])
		pin_candidates(in, s, id, &c, ret);
	if (either || s->by_grade[GRADE_plain_reference])
		plain_candidates(in, s, id, ret);
	if (ret->ncandidates == seen)
		return;
	other_processes(&c, ret);
	if (c.cut[0] || c.others_cut[0])
		finding_missing(ret, "first_pin.candidates", "not all open files were looked at (left out: %s)", c.cut[0] ? c.cut : c.others_cut);
}
