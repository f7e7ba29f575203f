// SPDX-License-Identifier: BSD-2-Clause
/* How `pinwhy pages` prints: text for a person, or one JSON object per line. Nothing is kept but one group. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/pages_view.h"
#include "jbuild.h"
#include "names.h"

#define MOMENT "a look at a moment, not a lock: who takes or gives back a reference meanwhile changes it"

/* --- text ----------------------------------------------------------------------- */

/* "node 0 Normal MIGRATE_CMA \"hugetlb0\" anonymous", as far as it is known. */
static void add_place(const struct pages_view *v, struct text *t, const struct wire_folio *f)
{
	if (f->have & WIRE_HAVE_PLACEMENT)
		text_add(t, "node %u %s %s ", f->node, name_enum(&v->id->zones, f->zone),
			 name_enum(&v->id->migratetypes, f->migratetype));
	if ((f->have & WIRE_HAVE_AREA) && f->area[0]) {
		text_add(t, "\"");
		text_escape(t, f->area);
		text_add(t, "\" ");
	}
	text_add(t, "%s", pages_mapping_word(f));
}

static void add_references(struct text *t, int64_t surplus, int64_t pins, int64_t others, bool counted)
{
	if (surplus <= 0)
		return;
	text_add(t, "; %" PRId64 " reference%s too many", surplus, surplus == 1 ? "" : "s");
	if (counted)
		text_add(t, " (%" PRId64 " DMA pin%s, %" PRId64 " other%s)", pins, pins == 1 ? "" : "s", others, others == 1 ? "" : "s");
	else if (pins)
		text_add(t, " (like %" PRId64 " DMA pin%s and %" PRId64 " other%s, an estimate)", pins, pins == 1 ? "" : "s", others,
			 others == 1 ? "" : "s");
}

static void print_line(const struct pages_view *v, uint64_t start, uint64_t pages, uint64_t folios,
		       const struct pages_page *first, const struct text *references)
{
	char length[TEXT_BYTES_LEN], size[TEXT_BYTES_LEN], place[256];
	struct text t;

	printf("  0x%012" PRIx64 " %9s  ", start, text_bytes(length, pages * v->rules.page_size));
	if (!first->folio) {
		printf("%7" PRIu64 " %-10s", pages, pages == 1 ? "page" : "pages");
	} else {
		text_init(&t, place, sizeof(place));
		add_place(v, &t, first->folio);
		printf("%7" PRIu64 " x %-8s %s ", folios,
		       text_bytes(size, (uint64_t)v->rules.page_size << (first->folio->order & 31)), place);
	}
	printf(" %s%s\n", pages_reasons[first->reason].text, references->buf);
}

static void print_name(const char *name)
{
	char shown[PAGES_NAME_LEN * 4];
	struct text t;

	text_init(&t, shown, sizeof(shown));
	text_escape(&t, name);
	fputs(shown, stdout);
}

static void print_mapping(const struct pages_mapping *m, uint64_t start, uint64_t end)
{
	char length[TEXT_BYTES_LEN];

	printf("0x%012" PRIx64 "-0x%012" PRIx64 "  %s", start, end, text_bytes(length, end - start));
	if (m)
		printf("  %s, %s", m->writable ? "writable" : "not writable", m->shared ? "shared" : "private");
	if (!m || m->name[0]) {
		fputs("  ", stdout);
		print_name(m ? m->name : "nothing");
	}
	putchar('\n');
}

static void print_memlock(const struct pages_memlock *l)
{
	char asked[TEXT_BYTES_LEN], pinned[TEXT_BYTES_LEN], limit[TEXT_BYTES_LEN];

	if (!l->known || l->exempt || (l->pinned_bytes <= l->limit_bytes && l->asked_bytes <= l->limit_bytes - l->pinned_bytes))
		return;
	printf("  memlock: another question, and the answer is no: %s pinned and %s asked for are more than its limit of %s\n",
	       text_bytes(pinned, l->pinned_bytes), text_bytes(asked, l->asked_bytes), text_bytes(limit, l->limit_bytes));
}

static void print_total(const struct pages_view *v, const struct pages_total *t)
{
	const uint64_t guards = pages_sum_of(&t->sum, PAGES_NOT_JUDGED);
	char comm[WIRE_COMM_LEN * 4], bytes[TEXT_BYTES_LEN];
	struct text c;

	text_init(&c, comm, sizeof(comm));
	text_escape(&c, v->comm);
	printf("process %" PRIu64 " (%s): %s\n", v->pid, comm, t->text);
	printf("  looked at %" PRIu64 " pages (%s) of %" PRIu64 " mapping%s; " MOMENT "\n", t->sum.pages,
	       text_bytes(bytes, t->sum.pages * v->rules.page_size), t->mappings, t->mappings == 1 ? "" : "s");
	for (uint32_t i = 0; i < t->npassed_over; i++)
		printf("  passed over: %" PRIu64 " mapping%s, of each: %s\n", t->passed_over[i].mappings,
		       t->passed_over[i].mappings == 1 ? "" : "s", t->passed_over[i].because);
	if (guards)
		printf("  passed over: %" PRIu64 " guard page%s (MADV_GUARD_INSTALL)\n", guards, guards == 1 ? "" : "s");
	print_memlock(&t->memlock);
}

/* --- JSON ----------------------------------------------------------------------- */

static void put_line(struct jbuild *b, struct json_object *o)
{
	if (b->failed)
		fputs("pinwhy pages: out of memory\n", stderr);
	else
		puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

static void put_place(const struct pages_view *v, struct jbuild *b, struct json_object *o, const struct wire_folio *f)
{
	struct json_object *refused = jb_array(b);

	jb_uint(b, o, "order", f->order);
	if (f->have & WIRE_HAVE_PLACEMENT) {
		jb_uint(b, o, "node", f->node);
		jb_string(b, o, "zone", name_enum(&v->id->zones, f->zone));
		jb_string(b, o, "migratetype", name_enum(&v->id->migratetypes, f->migratetype));
		if (f->flags & WIRE_FOLIO_CMA)
			jb_append_string(b, refused, "cma");
		if (f->flags & WIRE_FOLIO_MOVABLE_ZONE)
			jb_append_string(b, refused, "movable_zone");
		if (f->flags & WIRE_FOLIO_ISOLATE)
			jb_append_string(b, refused, "isolate");
	}
	jb_put(b, o, "placement", refused);
	if ((f->have & WIRE_HAVE_AREA) && f->area[0])
		jb_string(b, o, "area", f->area);
	jb_string(b, o, "mapping", pages_mapping_word(f));
}

static void put_reason(struct jbuild *b, struct json_object *o, enum pages_reason r)
{
	jb_string(b, o, "outcome", pages_fate_name(pages_reasons[r].fate));
	jb_string(b, o, "reason", pages_reasons[r].id);
}

static void put_page(const struct pages_view *v, const struct pages_page *p)
{
	struct jbuild b = { 0 };
	struct json_object *o = jb_object(&b);

	jb_string(&b, o, "kind", "page");
	jb_uint(&b, o, "index", p->index);
	jb_hex(&b, o, "address", p->address);
	if (p->look)
		jb_hex(&b, o, "pfn", p->pfn);
	if (p->folio) {
		jb_hex(&b, o, "head_pfn", p->folio->pfn);
		put_place(v, &b, o, p->folio);
		jb_int(&b, o, "refcount", p->folio->refcount);
		jb_int(&b, o, "expected", p->folio->expected);
		jb_int(&b, o, "mapcount", p->folio->mapcount);
	}
	if (p->counts_known) {
		jb_int(&b, o, "pincount", p->pins);
		jb_bool(&b, o, "pincount_estimated", !p->counted);
		jb_int(&b, o, "other_references", p->others);
	}
	put_reason(&b, o, p->reason);
	put_line(&b, o);
}

static void put_group(const struct pages_view *v, const struct pages_group *g)
{
	struct jbuild b = { 0 };
	struct json_object *o = jb_object(&b);

	jb_string(&b, o, "kind", "pages");
	jb_hex(&b, o, "address", g->start);
	jb_uint(&b, o, "length", g->pages * v->rules.page_size);
	jb_uint(&b, o, "pages", g->pages);
	if (g->first.folio) {
		jb_uint(&b, o, "folios", g->folios);
		put_place(v, &b, o, g->first.folio);
	}
	if (g->first.counts_known) {
		jb_int(&b, o, "surplus_references", g->surplus);
		jb_int(&b, o, "pincount", g->pins);
		jb_bool(&b, o, "pincount_estimated", !g->first.counted);
		jb_int(&b, o, "other_references", g->others);
	}
	put_reason(&b, o, g->first.reason);
	put_line(&b, o);
}

static void put_verdict(const struct pages_mapping *m, uint64_t start, uint64_t end, const struct pages_sum *sum,
			enum pages_verdict verdict, const char *text)
{
	struct jbuild b = { 0 };
	struct json_object *o = jb_object(&b);

	jb_string(&b, o, "kind", "mapping");
	jb_hex(&b, o, "address", start);
	jb_uint(&b, o, "length", end - start);
	if (m) {
		jb_bool(&b, o, "writable", m->writable);
		jb_bool(&b, o, "shared", m->shared);
		jb_string(&b, o, "name", m->name);
	}
	for (int i = 0; sum && i < PAGES_FATES; i++)
		jb_uint(&b, o, pages_fate_name((enum pages_fate)i), pages_sum_of(sum, (enum pages_fate)i));
	jb_string(&b, o, "verdict", pages_verdict_name(verdict));
	jb_string(&b, o, "summary", text);
	put_line(&b, o);
}

static void put_memlock(struct jbuild *b, struct json_object *o, const struct pages_memlock *l)
{
	struct json_object *m = jb_object(b);

	jb_uint(b, m, "pinned_bytes", l->pinned_bytes);
	jb_uint(b, m, "requested_bytes", l->asked_bytes);
	jb_limit(b, m, "limit_soft", l->limit_bytes);
	jb_bool(b, m, "cap_ipc_lock_effective", l->exempt);
	jb_put(b, o, "memlock", m);
}

static void put_total(const struct pages_view *v, const struct pages_total *t)
{
	struct jbuild b = { 0 };
	struct json_object *o = jb_object(&b), *over = jb_array(&b), *row;

	jb_string(&b, o, "kind", "verdict");
	jb_uint(&b, o, "pid", v->pid);
	jb_string(&b, o, "comm", v->comm);
	jb_string(&b, o, "kernel", v->id->kernel);
	jb_uint(&b, o, "page_size", v->rules.page_size);
	jb_uint(&b, o, "mappings", t->mappings);
	jb_uint(&b, o, "pages", t->sum.pages);
	for (int i = 0; i < PAGES_FATES; i++)
		jb_uint(&b, o, pages_fate_name((enum pages_fate)i), pages_sum_of(&t->sum, (enum pages_fate)i));
	for (uint32_t i = 0; i < t->npassed_over; i++) {
		row = jb_object(&b);
		jb_uint(&b, row, "mappings", t->passed_over[i].mappings);
		jb_string(&b, row, "because", t->passed_over[i].because);
		jb_append(&b, over, row);
	}
	jb_put(&b, o, "passed_over", over);
	if (t->memlock.known)
		put_memlock(&b, o, &t->memlock);
	jb_string(&b, o, "verdict", pages_verdict_name(t->verdict));
	jb_string(&b, o, "summary", t->text);
	put_line(&b, o);
}

/* --- both ----------------------------------------------------------------------- */

void view_mapping(const struct pages_view *v, const struct pages_mapping *m, uint64_t start, uint64_t end)
{
	if (!v->json)
		print_mapping(m, start, end);
}

void view_page(const struct pages_view *v, const struct pages_page *page)
{
	char buf[160];
	struct text t;

	if (v->json) {
		put_page(v, page);
		return;
	}
	text_init(&t, buf, sizeof(buf));
	if (page->look)
		text_add(&t, "; pfn 0x%" PRIx64, page->pfn);
	if (page->counts_known)
		text_add(&t, ", %" PRId64 " references, %" PRId64 " expected", (int64_t)page->folio->refcount,
			 (int64_t)page->folio->expected);
	if (page->counts_known && page->reason != PAGES_R_zero_page)
		add_references(&t, page->surplus, page->pins, page->others, page->counted);
	print_line(v, page->address, 1, 1, page, &t);
}

void view_group(const struct pages_view *v, const struct pages_group *g)
{
	char buf[160];
	struct text t;

	if (v->json) {
		put_group(v, g);
		return;
	}
	text_init(&t, buf, sizeof(buf));
	/* That of the zero page is every process's: nothing is held by it. */
	if (g->first.counts_known && g->first.reason != PAGES_R_zero_page)
		add_references(&t, g->surplus, g->pins, g->others, g->first.counted);
	print_line(v, g->start, g->pages, g->folios, &g->first, &t);
}

void view_verdict(const struct pages_view *v, const struct pages_mapping *m, uint64_t start, uint64_t end,
		  const struct pages_sum *sum, enum pages_verdict verdict, const char *text)
{
	if (v->json) {
		put_verdict(m, start, end, sum, verdict, text);
		return;
	}
	if (!sum)
		print_mapping(m, start, end);
	printf("  => %s\n", text);
}

void view_total(const struct pages_view *v, const struct pages_total *t)
{
	if (v->json)
		put_total(v, t);
	else
		print_total(v, t);
}
