// SPDX-License-Identifier: BSD-2-Clause
#include "pages.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "incident.h"
#include "lrubatch.h"
#include "names.h"
#include "vmacheck.h"

/* Documentation/admin-guide/mm/pagemap.rst */
#define PAGEMAP_PRESENT (1ULL << 63)
#define PAGEMAP_SWAPPED (1ULL << 62)
#define PAGEMAP_GUARD (1ULL << 58)
#define PAGEMAP_UFFD_WP (1ULL << 57)
#define PAGEMAP_SWAP_TYPE 0x1fULL
/* The least that MAX_SWAPFILES is (include/linux/swap.h, v6.1): types from there on are no swap areas. */
#define SWAP_TYPES_MIN 22
#define PAGEMAP_PFN ((1ULL << 55) - 1)

#define REFUSABLE (WIRE_FOLIO_CMA | WIRE_FOLIO_ISOLATE | WIRE_FOLIO_MOVABLE_ZONE)

const struct pages_reason_row pages_reasons[PAGES_REASONS] = {
#define REASON(id, fate, text) { #id, PAGES_##fate, text },
#include "pages.def"
#undef REASON
};

const char *pages_fate_name(enum pages_fate fate)
{
	static const char *const names[PAGES_FATES] = {
		[PAGES_STAYS] = "stays", [PAGES_COMES] = "comes", [PAGES_MOVES] = "moves",
		[PAGES_UNKNOWN] = "not_known", [PAGES_REFUSED] = "refused",
		[PAGES_NOT_JUDGED] = "not_judged",
	};

	return names[fate];
}

const char *pages_verdict_name(enum pages_verdict v)
{
	static const char *const names[] = {
		[PAGES_WOULD] = "would_succeed", [PAGES_WOULD_MOVE] = "would_move_and_succeed",
		[PAGES_NOT_KNOWN] = "not_known", [PAGES_WOULD_NOT] = "would_fail",
	};

	return names[v];
}

/* --- reading -------------------------------------------------------------------- */

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

/* Digits of `base` at *text, which is moved behind them. False: none, or more than 64 bits. */
static bool take_number(const char **text, unsigned int base, uint64_t *ret_value)
{
	const char *p = *text;
	uint64_t value = 0;

	for (; digit_of(*p) < (int)base; p++)
		if (__builtin_mul_overflow(value, base, &value) || __builtin_add_overflow(value, (uint64_t)digit_of(*p), &value))
			return false;
	if (p == *text)
		return false;
	*text = p;
	*ret_value = value;
	return true;
}

bool pages_parse_number(const char *text, bool suffix, uint64_t *ret_value)
{
	static const char letters[] = "KMGT";
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *letter;
	uint64_t value;

	text += hex ? 2 : 0;
	if (!take_number(&text, hex ? 16 : 10, &value))
		return false;
	letter = suffix && *text ? strchr(letters, *text) : NULL;
	if (letter) {
		if (__builtin_mul_overflow(value, 1024ULL << (10 * (letter - letters)), &value))
			return false;
		text++;
	}
	if (*text)
		return false;
	*ret_value = value;
	return true;
}

/* "7f0000000000-7f0000001000 rw-p 00000000 08:01 1234   /path": fs/proc/task_mmu.c, show_map_vma(). */
bool pages_parse_maps(const char *line, struct pages_mapping *ret_mapping)
{
	struct pages_mapping m = { 0 };
	uint64_t skipped;
	const char *p = line;
	size_t len;

	if (!take_number(&p, 16, &m.start) || *p++ != '-' || !take_number(&p, 16, &m.end) || *p++ != ' ')
		return false;
	if (m.end <= m.start || strnlen(p, 5) < 5 || p[4] != ' ')
		return false;
	m.writable = p[1] == 'w';
	m.shared = p[3] == 's';
	p += 5;
	/* offset, major:minor, inode */
	if (!take_number(&p, 16, &skipped) || *p++ != ' ' || !take_number(&p, 16, &skipped) || *p++ != ':' ||
	    !take_number(&p, 16, &skipped) || *p++ != ' ' || !take_number(&p, 10, &skipped))
		return false;
	p += strspn(p, " ");
	len = strcspn(p, "\n");
	if (len >= sizeof(m.name))
		len = sizeof(m.name) - 1;
	memcpy(m.name, p, len);
	text_clean(m.name, sizeof(m.name));
	*ret_mapping = m;
	return true;
}

struct pages_entry pages_parse_entry(uint64_t word)
{
	struct pages_entry e = { .present = word & PAGEMAP_PRESENT, .write_protected = word & PAGEMAP_UFFD_WP };

	e.swapped = !e.present && (word & PAGEMAP_SWAPPED);
	e.special = e.swapped && (word & PAGEMAP_SWAP_TYPE) >= SWAP_TYPES_MIN;
	e.guard = !e.present && (word & PAGEMAP_GUARD);
	e.pfn = e.present ? word & PAGEMAP_PFN : 0;
	return e;
}

struct pages_rules pages_rules_of(const struct identity *id)
{
	struct pages_rules r = { .page_size = id->page_size, .files_checked = id->file_pins_checked };

	/* Kernels that move pages out of ZONE_MOVABLE for a pin give that as a reason of its own (v5.13). */
	for (int i = 0; i < IDENTITY_NAMES_MAX; i++) {
		r.movable_refused |= strcmp(id->migrate_reasons.name[i], "longterm_pin") == 0;
		r.cma_refused |= strcmp(id->migratetypes.name[i], "MIGRATE_CMA") == 0;
	}
	return r;
}

/* --- one page ------------------------------------------------------------------- */

/* Of its place, what a long-term pin refuses. folio_is_longterm_pinnable(), include/linux/mm.h. */
static uint32_t refused_places(const struct pages_rules *rules, const struct wire_folio *f)
{
	return f->flags & ((rules->cma_refused ? WIRE_FOLIO_CMA | WIRE_FOLIO_ISOLATE : 0) |
			   (rules->movable_refused ? WIRE_FOLIO_MOVABLE_ZONE : 0));
}

static bool is_private(const struct pages_mapping *m)
{
	return m->vma_known ? !(m->vma.flags & VM_SHARED) : !m->shared;
}

static enum pages_reason judge_absent(const struct pages_rules *rules, const struct pages_mapping *m,
				      struct pages_entry entry, uint64_t address)
{
	const struct wire_vma *v = &m->vma;
	uint64_t offset, size;

	if (entry.guard)
		return rules->guards_between ? PAGES_R_guard_between : PAGES_R_guard;
	if (entry.swapped)
		return entry.special ? PAGES_R_special : PAGES_R_swapped;
	if (v->flags & VM_UFFD_MISSING)
		return PAGES_R_user_faults;
	if (v->file && !(v->what & WIRE_VMA_CHARDEV)) {
		offset = v->pgoff * rules->page_size + (address - v->start);
		size = v->flags & VM_HUGETLB ? 1ULL << v->block_shift : rules->page_size;
		if (offset >= (v->file_bytes + size - 1) / size * size)
			return incident_size_decides(v) ? PAGES_R_beyond_eof : PAGES_R_perhaps_beyond;
	}
	if (v->flags & VM_HUGETLB)
		return PAGES_R_huge_not_there;
	return v->file && (v->flags & VM_SHARED) ? PAGES_R_file_not_there : PAGES_R_not_there;
}

/* It is not the process's own: a pin for writing takes a copy, which may be anywhere but where pins must leave. */
static bool is_copied(const struct pages_mapping *m, const struct pages_page *page)
{
	const struct wire_folio *f = page->folio;
	uint32_t exclusive = page->look->flags & (WIRE_LOOK_EXCLUSIVE | WIRE_LOOK_EXCLUSIVE_KNOWN);

	if (!is_private(m))
		return false;
	if (f->flags & WIRE_FOLIO_KSM || !(f->flags & WIRE_FOLIO_ANON))
		return true;
	/* Taken over when nobody else maps it, whoever refers to it (hugetlb_wp(), mm/hugetlb.c); mapped it is as a whole. */
	if (f->flags & WIRE_FOLIO_HUGETLB)
		return f->mapcount > 1;
	/* Not exclusive: taken over when nobody else refers to it, else copied (do_wp_page(), mm/memory.c). */
	return exclusive == WIRE_LOOK_EXCLUSIVE_KNOWN && (page->surplus > 0 || f->mapcount > (int64_t)1 << f->order);
}

/* No folio of the page cache and none of a process: in anonymous memory that is the zero page. */
static bool is_zero_page(const struct pages_mapping *m, const struct pages_page *page)
{
	const uint32_t owned = WIRE_FOLIO_ANON | WIRE_FOLIO_KSM | WIRE_FOLIO_SHMEM | WIRE_FOLIO_FILE | WIRE_FOLIO_HUGETLB |
			       WIRE_FOLIO_UNMOVABLE_OPS;
	const struct wire_folio *f = page->folio;

	return m->vma_known && is_private(m) && !(m->vma.flags & (VM_IO | VM_PFNMAP)) && !(f->flags & owned) &&
	       (f->order || (page->look->flags & WIRE_LOOK_RESERVED));
}

static enum pages_reason judge_surplus(const struct pages_rules *rules, const struct pages_page *page)
{
	switch (lrubatch_weigh(page->look, page->folio, page->surplus)) {
	case LRUBATCH_NONE:
		return PAGES_R_moves;
	case LRUBATCH_EXPLAINED:
		/* A page that is off its list makes every kernel empty them; one that is on it those that look at references. */
		return rules->batches_emptied || !(page->look->flags & WIRE_LOOK_LRU) ? PAGES_R_moves_from_batch : PAGES_R_perhaps_batch;
	case LRUBATCH_TAKEN:
		return PAGES_R_taken;
	case LRUBATCH_PERHAPS:
		return PAGES_R_perhaps_batch;
	default:
		return PAGES_R_held;
	}
}

static enum pages_reason judge_move(const struct pages_rules *rules, const struct pages_page *page)
{
	const uint32_t lru_kinds = WIRE_FOLIO_ANON | WIRE_FOLIO_SHMEM | WIRE_FOLIO_FILE;
	const struct wire_folio *f = page->folio;

	if ((f->flags & WIRE_FOLIO_HUGETLB) && rules->huge_refused)
		return PAGES_R_huge_refused;
	if (!page->counts_known)
		return PAGES_R_counts_unread;
	if (f->flags & WIRE_FOLIO_HUGETLB)
		return page->surplus > 0 ? PAGES_R_held : PAGES_R_huge_moves;
	return f->flags & lru_kinds ? judge_surplus(rules, page) : PAGES_R_not_on_lru;
}

static void count_page(struct pages_page *page)
{
	struct folio_refs refs = folio_refs(page->folio);

	page->counts_known = refs.known;
	page->surplus = refs.extra;
	page->pins = refs.pins;
	page->others = refs.others;
	page->counted = page->folio->pincount >= 0;
}

static enum pages_reason judge_present(const struct pages_rules *rules, const struct pages_mapping *m,
				       struct pages_page *page)
{
	static const enum pages_reason without[] = {
		[WIRE_LOOK_NOTHING] = PAGES_R_no_page, [WIRE_LOOK_DEVICE] = PAGES_R_device_memory,
		[WIRE_LOOK_MEMORY] = PAGES_R_changed, [WIRE_LOOK_CHANGED] = PAGES_R_changed,
	};
	const struct wire_folio *f = page->folio;

	if (!f)
		return page->look->found <= WIRE_LOOK_CHANGED ? without[page->look->found] : PAGES_R_changed;
	count_page(page);
	if (is_zero_page(m, page))
		return PAGES_R_zero_page;
	if (is_copied(m, page))
		return f->flags & WIRE_FOLIO_HUGETLB ? PAGES_R_huge_copied : PAGES_R_copied;
	if (!(f->have & WIRE_HAVE_PLACEMENT))
		return PAGES_R_place_unread;
	if (!refused_places(rules, f))
		return PAGES_R_stays;
	return judge_move(rules, page);
}

void pages_judge(const struct pages_rules *rules, const struct pages_mapping *m, struct pages_entry entry,
		 const struct wire_look *looks, const struct wire_look *look, struct pages_page *page)
{
	page->pfn = entry.pfn;
	page->look = look;
	page->folio = NULL;
	page->surplus = page->pins = page->others = 0;
	page->counted = page->counts_known = false;
	if (!entry.present)
		page->reason = judge_absent(rules, m, entry, page->address);
	else if (!entry.pfn || !look)
		page->reason = PAGES_R_pfn_hidden;
	else {
		if (look->found == WIRE_LOOK_MEMORY && look->same < WIRE_LOOKS)
			page->folio = &looks[look->same].folio;
		page->reason = judge_present(rules, m, page);
	}
	/* The pin's write fault comes before everything that may be done to the page. */
	if (entry.write_protected && pages_reasons[page->reason].fate < PAGES_REFUSED)
		page->reason = PAGES_R_write_protected;
}

/* --- sums ----------------------------------------------------------------------- */

static bool same_place(const struct wire_folio *a, const struct wire_folio *b)
{
	const uint32_t kinds = REFUSABLE | WIRE_FOLIO_ANON | WIRE_FOLIO_KSM | WIRE_FOLIO_SHMEM | WIRE_FOLIO_FILE |
			       WIRE_FOLIO_HUGETLB | WIRE_FOLIO_UNMOVABLE_OPS;

	if (!a || !b)
		return a == b;
	return a->have == b->have && a->order == b->order && a->zone == b->zone && a->node == b->node &&
	       a->migratetype == b->migratetype && (a->flags & kinds) == (b->flags & kinds) &&
	       strncmp(a->area, b->area, sizeof(a->area)) == 0;
}

static void group_count(struct pages_group *g, const struct pages_page *page)
{
	if (!page->folio || (g->folios && g->last_head == page->folio->pfn && page->folio->order))
		return;
	g->folios++;
	g->last_head = page->folio->pfn;
	if (!page->counts_known)
		return;
	g->surplus += page->surplus > 0 ? page->surplus : 0;
	g->pins += page->pins;
	g->others += page->others;
}

void pages_group_start(struct pages_group *g, const struct pages_page *page, uint64_t n)
{
	*g = (struct pages_group){ .start = page->address, .pages = n, .first = *page };
	if (page->look)
		g->look = *page->look;
	if (page->folio)
		g->folio = *page->folio;
	g->first.look = page->look ? &g->look : NULL;
	g->first.folio = page->folio ? &g->folio : NULL;
	group_count(g, page);
}

bool pages_group_add(struct pages_group *g, const struct pages_page *page, uint64_t n, uint32_t page_size)
{
	if (!g->pages || g->first.reason != page->reason || g->start + g->pages * page_size != page->address ||
	    !same_place(g->first.folio, page->folio) || g->first.counted != page->counted)
		return false;
	/* What holds nothing and what is held are told apart, also where nothing has to move. */
	if ((g->first.surplus > 0) != (page->surplus > 0))
		return false;
	g->pages += n;
	group_count(g, page);
	return true;
}

/* What it points to is of its batch. */
static struct pages_page page_alone(const struct pages_page *page)
{
	struct pages_page alone = *page;

	alone.look = NULL;
	alone.folio = NULL;
	return alone;
}

void pages_sum_add(struct pages_sum *s, const struct pages_page *page, uint64_t n)
{
	enum pages_fate fate = pages_reasons[page->reason].fate;

	if (fate == PAGES_REFUSED && !pages_sum_of(s, PAGES_REFUSED)) {
		s->refused = page_alone(page);
		if (page->folio)
			s->refused_folio = *page->folio;
	}
	if (fate == PAGES_UNKNOWN && !pages_sum_of(s, PAGES_UNKNOWN))
		s->unknown = page_alone(page);
	s->pages += n;
	s->by_reason[page->reason] += n;
}

uint64_t pages_sum_of(const struct pages_sum *s, enum pages_fate fate)
{
	uint64_t n = 0;

	for (int i = 0; i < PAGES_REASONS; i++)
		n += pages_reasons[i].fate == fate ? s->by_reason[i] : 0;
	return n;
}

/* --- verdicts ------------------------------------------------------------------- */

const char *pages_objection(const struct pages_rules *rules, const struct pages_mapping *m, int *ret_errno)
{
	static const char *const texts[REFUSALS] = {
		[REFUSAL_DEVICE] = "it maps memory of a device or without page structures (VM_IO, VM_PFNMAP)",
		[REFUSAL_FSDAX] = "it maps a file on DAX, which may be truncated under a pin",
		[REFUSAL_SECRET] = "it is secret memory (memfd_secret), which the kernel itself cannot reach",
		[REFUSAL_FILE] = "it maps a file whose file system tracks writes, which a long-term pin would escape",
		[REFUSAL_WRITE] = "it is not writable (a pin for reading alone is not judged)",
	};
	const struct vmacheck c = {
		.v = &m->vma, .write = true, .longterm = true, .pin = true, .file_pins_checked = rules->files_checked,
	};
	enum refusal r = m->writable ? REFUSAL_UNKNOWN : REFUSAL_WRITE;

	if (m->vma_known)
		r = vmacheck(&c);
	*ret_errno = vmacheck_errno(r);
	return r == REFUSAL_UNKNOWN ? "the kernel's own flags of it could not be read: it changed meanwhile" : texts[r];
}

const char *pages_place(const struct pages_rules *rules, const struct wire_folio *f, char buf[PAGES_TEXT])
{
	uint32_t places = refused_places(rules, f);
	struct text t;

	text_init(&t, buf, PAGES_TEXT);
	if (places & WIRE_FOLIO_CMA && (f->have & WIRE_HAVE_AREA) && f->area[0]) {
		text_add(&t, "CMA area \"");
		text_escape(&t, f->area);
		text_add(&t, "\"");
	} else if (places & WIRE_FOLIO_CMA) {
		text_add(&t, "a MIGRATE_CMA pageblock");
	}
	if (places & WIRE_FOLIO_MOVABLE_ZONE)
		text_item(&t, "ZONE_MOVABLE");
	if (places & WIRE_FOLIO_ISOLATE)
		text_item(&t, "a pageblock that is being isolated");
	return buf;
}

const char *pages_mapping_word(const struct wire_folio *f)
{
	static const struct {
		uint32_t flag;
		const char *word;
	} words[] = {
		{ WIRE_FOLIO_HUGETLB, "hugetlb" }, { WIRE_FOLIO_KSM, "ksm" },	{ WIRE_FOLIO_ANON, "anonymous" },
		{ WIRE_FOLIO_SHMEM, "shmem" },	   { WIRE_FOLIO_FILE, "file" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (f->flags & words[i].flag)
			return words[i].word;
	return "other";
}

static void tell_refused(const struct pages_rules *rules, const struct pages_sum *s, struct text *t)
{
	const struct pages_page *p = &s->refused;
	uint64_t all = pages_sum_of(s, PAGES_REFUSED);
	char place[PAGES_TEXT];

	text_add(t, "would not: page %" PRIu64 " (0x%" PRIx64, p->index, p->address);
	if (p->reason == PAGES_R_held) {
		text_add(t, ", pfn 0x%" PRIx64 ") lies in %s and has %" PRId64 " reference%s more than expected", p->pfn,
			 pages_place(rules, &s->refused_folio, place), p->surplus, p->surplus == 1 ? "" : "s");
		if (p->counted && p->pins)
			text_add(t, ", %" PRId64 " of them DMA pin%s", p->pins, p->pins == 1 ? "" : "s");
		else if (p->pins)
			text_add(t, ", which counts like %" PRId64 " DMA pin%s, an estimate", p->pins, p->pins == 1 ? "" : "s");
		else
			text_add(t, ": %s, not a DMA pin, which may be gone in a moment", p->surplus == 1 ? "a plain one" : "plain ones");
	} else {
		text_add(t, "): %s", pages_reasons[p->reason].text);
	}
	if (all > 1)
		text_add(t, "; and %" PRIu64 " other page%s", all - 1, all == 2 ? "" : "s");
	text_add(t, " (%s)", p->reason == PAGES_R_held || p->reason == PAGES_R_huge_refused ? "ENOMEM" : "EFAULT");
}

/* Untouched memory may be of any size: what is more than there is of all memory no pin can bring. */
static bool comes_too_much(const struct pages_rules *rules, const struct pages_sum *s, struct text *t)
{
	uint64_t comes = pages_sum_of(s, PAGES_COMES);
	char bytes[TEXT_BYTES_LEN], all[TEXT_BYTES_LEN];

	if (!rules->memory_bytes || comes <= rules->memory_bytes / rules->page_size)
		return false;
	text_add(t, "not known: %" PRIu64 " pages (%s) would be faulted in or copied, and this machine has %s of memory", comes,
		 text_bytes(bytes, comes * rules->page_size), text_bytes(all, rules->memory_bytes));
	return true;
}

static void tell_comes(const struct pages_rules *rules, const struct pages_sum *s, struct text *t)
{
	uint64_t comes = pages_sum_of(s, PAGES_COMES);
	char bytes[TEXT_BYTES_LEN];

	if (comes)
		text_add(t, "; %" PRIu64 " page%s (%s) would be faulted in or copied, for which there must be memory", comes,
			 comes == 1 ? "" : "s", text_bytes(bytes, comes * rules->page_size));
}

enum pages_verdict pages_judge_sum(const struct pages_rules *rules, const struct pages_sum *s, uint64_t free_outside_bytes,
				   char text[PAGES_TEXT])
{
	uint64_t moves = pages_sum_of(s, PAGES_MOVES), unknown = pages_sum_of(s, PAGES_UNKNOWN);
	char bytes[TEXT_BYTES_LEN], room[TEXT_BYTES_LEN];
	struct text t;

	text_init(&t, text, PAGES_TEXT);
	if (pages_sum_of(s, PAGES_REFUSED)) {
		tell_refused(rules, s, &t);
		return PAGES_WOULD_NOT;
	}
	if (unknown) {
		text_add(&t, "not known: page %" PRIu64 " (0x%" PRIx64 "): %s", s->unknown.index, s->unknown.address,
			 pages_reasons[s->unknown.reason].text);
		if (unknown > 1)
			text_add(&t, "; and %" PRIu64 " other page%s are not known", unknown - 1, unknown == 2 ? "" : "s");
		return PAGES_NOT_KNOWN;
	}
	if (comes_too_much(rules, s, &t))
		return PAGES_NOT_KNOWN;
	if (moves && moves > free_outside_bytes / rules->page_size) {
		text_add(&t, "not known: %" PRIu64 " pages (%s) must move, and %s is free outside of CMA and ZONE_MOVABLE", moves,
			 text_bytes(bytes, moves * rules->page_size), text_bytes(room, free_outside_bytes));
		return PAGES_NOT_KNOWN;
	}
	if (moves)
		text_add(&t, "would move %" PRIu64 " page%s (%s) and succeed", moves, moves == 1 ? "" : "s",
			 text_bytes(bytes, moves * rules->page_size));
	else
		text_add(&t, "would succeed");
	tell_comes(rules, s, &t);
	return moves ? PAGES_WOULD_MOVE : PAGES_WOULD;
}
