// SPDX-License-Identifier: BSD-2-Clause
#include "pages.h"

#include <errno.h>
#include <string.h>

#include "support.h"

#define PAGE 4096ULL
#define HERE 0x7f0000000000ULL
#define PRESENT(pfn) ((1ULL << 63) | (pfn))

static const struct pages_rules rules = { .page_size = PAGE, .movable_refused = true, .cma_refused = true, .files_checked = true };

static struct wire_look looks[WIRE_LOOKS];
static struct pages_mapping mapping;
static struct pages_page page;

/* An ordinary page of the process's own in private memory, on its LRU list and in no batch, with a mapping's one reference. */
static int setup(void **state)
{
	(void)state;
	memset(looks, 0, sizeof(looks));
	looks[0] = (struct wire_look){
		.pfn = 0x1000, .found = WIRE_LOOK_MEMORY,
		.flags = WIRE_LOOK_LRU | WIRE_LOOK_EXCLUSIVE | WIRE_LOOK_EXCLUSIVE_KNOWN | WIRE_LOOK_BATCHED_KNOWN,
		.folio = {
			.pfn = 0x1000, .refcount = 1, .expected = 1, .mapcount = 1, .pincount = -1, .zone = 2, .migratetype = 1,
			.flags = WIRE_FOLIO_ANON, .have = WIRE_HAVE_PLACEMENT | WIRE_HAVE_COUNTS,
		},
	};
	mapping = (struct pages_mapping){
		.start = HERE, .end = HERE + 512 * PAGE, .writable = true, .vma_known = true,
		.vma = { .start = HERE, .end = HERE + 512 * PAGE, .flags = 0x3 },
	};
	page = (struct pages_page){ .address = HERE + 5 * PAGE, .index = 5 };
	return 0;
}

static enum pages_reason judged(uint64_t word)
{
	struct pages_entry e = pages_parse_entry(word);

	pages_judge(&rules, &mapping, e, looks, e.pfn ? &looks[0] : NULL, &page);
	return page.reason;
}

static enum pages_reason judged_in(uint32_t place)
{
	looks[0].folio.flags |= place;
	return judged(PRESENT(0x1000));
}

/* --- reading -------------------------------------------------------------------- */

static void maps_lines(void **state)
{
	struct pages_mapping m = { .start = 7 };

	(void)state;
	assert_true(pages_parse_maps("7f0000000000-7f0000200000 rw-p 00000000 00:00 0 \n", &m));
	assert_int_equal(m.start, HERE);
	assert_int_equal(m.end, HERE + 512 * PAGE);
	assert_true(m.writable);
	assert_false(m.shared);
	assert_string_equal(m.name, "");
	assert_true(pages_parse_maps("7f0000000000-7f0000001000 r--s 00001000 fe:01 1234    /a b\\012c (deleted)\n", &m));
	assert_false(m.writable);
	assert_true(m.shared);
	assert_string_equal(m.name, "/a b\\012c (deleted)");
}

static void maps_lines_that_are_none(void **state)
{
	static const char *const bad[] = {
		"", "\n", "7f00", "7f00-7f01", "7f00-7f01 ", "7f00-7f01 rw-p", "7f00-7f00 rw-p 0 0:0 0\n", "7f01-7f00 rw-p 0 0:0 0\n",
		"-7f00 rw-p 0 0:0 0\n", "7f00-7f01 rw-p 0 0:0\n", "7f00-7f01 rw-p 0 00 0\n", "7f00-7f01 rwxpx 0 0:0 0\n",
		"10000000000000000-10000000000000001 rw-p 0 0:0 0\n", "7g00-7f01 rw-p 0 0:0 0\n", "7f00-7f01 rw-p 0 0:0 x\n",
	};
	struct pages_mapping m = { .start = 7 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(pages_parse_maps(bad[i], &m));
		assert_int_equal(m.start, 7);
	}
}

/* A file's name is the process's to choose. */
static void maps_names(void **state)
{
	char line[PAGES_NAME_LEN * 2 + 64] = "7f0000000000-7f0000001000 rw-p 00000000 fe:01 1 /";
	struct pages_mapping m;

	(void)state;
	memset(line + strlen(line), 'x', PAGES_NAME_LEN * 2);
	assert_true(pages_parse_maps(line, &m));
	assert_int_equal(strlen(m.name), PAGES_NAME_LEN - 1);
	assert_true(pages_parse_maps("7f0000000000-7f0000001000 rw-p 00000000 fe:01 1 /a\xff\xc3\n", &m));
	assert_string_equal(m.name, "/a??");
}

static void pagemap_entries(void **state)
{
	struct pages_entry e = pages_parse_entry(PRESENT(0x1234));

	(void)state;
	assert_true(e.present);
	assert_int_equal(e.pfn, 0x1234);
	e = pages_parse_entry(~0ULL);
	assert_true(e.present && !e.swapped && !e.guard);
	assert_int_equal(e.pfn, (1ULL << 55) - 1);
	e = pages_parse_entry((1ULL << 62) | 0x75);
	assert_true(!e.present && e.swapped && !e.special);
	assert_int_equal(e.pfn, 0);
	e = pages_parse_entry(1ULL << 58);
	assert_true(!e.present && e.guard);
}

static void numbers(void **state)
{
	static const struct {
		const char *text;
		bool suffix, good;
		uint64_t value;
	} rows[] = {
		{ "4096", false, true, 4096 },		 { "0x7f00", false, true, 0x7f00 },
		{ "64K", true, true, 65536 },		 { "2M", true, true, 2 << 20 },
		{ "1T", true, true, 1ULL << 40 },	 { "0X1g", true, false, 0 },
		{ "64K", false, false, 0 },		 { "", true, false, 0 },
		{ "0x", true, false, 0 },		 { "-1", true, false, 0 },
		{ "1KK", true, false, 0 },		 { "18446744073709551615", true, true, UINT64_MAX },
		{ "18446744073709551616", true, false, 0 }, { "18014398509481984K", true, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t value = 0;

		assert_int_equal(pages_parse_number(rows[i].text, rows[i].suffix, &value), rows[i].good);
		assert_int_equal(value, rows[i].value);
	}
}

/* --- one page ------------------------------------------------------------------- */

static void ordinary_page_stays_whatever_holds_it(void **state)
{
	(void)state;
	assert_int_equal(judged(PRESENT(0x1000)), PAGES_R_stays);
	looks[0].folio.refcount = 1 + 1024;
	assert_int_equal(judged(PRESENT(0x1000)), PAGES_R_stays);
	assert_int_equal(page.surplus, 1024);
	assert_int_equal(page.pins, 1);
}

static void page_in_area_moves_unless_held(void **state)
{
	(void)state;
	assert_int_equal(judged_in(WIRE_FOLIO_CMA), PAGES_R_moves);
	looks[0].folio.refcount = 2;
	assert_int_equal(judged(PRESENT(0x1000)), PAGES_R_held);
	assert_int_equal(page.pins, 0);
	looks[0].folio.refcount = 1;
	looks[0].flags &= ~WIRE_LOOK_LRU;
	assert_int_equal(judged(PRESENT(0x1000)), PAGES_R_moves);
}

/* lrubatch.c counts; here is what a kernel makes of it. */
static void batches_are_emptied_by_the_pin(void **state)
{
	struct pages_rules empties = rules;
	struct pages_entry e = pages_parse_entry(PRESENT(0x1000));

	(void)state;
	empties.batches_emptied = true;
	/* Not read: one reference may be anybody's. */
	looks[0].folio.refcount = 2;
	looks[0].flags &= ~WIRE_LOOK_BATCHED_KNOWN;
	assert_int_equal(judged_in(WIRE_FOLIO_CMA), PAGES_R_perhaps_batch);
	/* On its list and in a batch: whether that is emptied is the kernel's way. */
	looks[0].flags |= WIRE_LOOK_BATCHED_KNOWN;
	looks[0].batched = 1;
	assert_int_equal(judged(PRESENT(0x1000)), PAGES_R_perhaps_batch);
	pages_judge(&empties, &mapping, e, looks, looks, &page);
	assert_int_equal(page.reason, PAGES_R_moves_from_batch);
	/* Off its list every kernel empties them: two for a page that is mlocked as well. */
	looks[0].flags &= ~WIRE_LOOK_LRU;
	looks[0].batched = 2;
	looks[0].folio.refcount = 3;
	assert_int_equal(judged(PRESENT(0x1000)), PAGES_R_moves_from_batch);
	/* One more may be of who has taken it off, two are not. */
	looks[0].folio.refcount = 4;
	assert_int_equal(judged(PRESENT(0x1000)), PAGES_R_taken);
	looks[0].folio.refcount = 5;
	assert_int_equal(judged(PRESENT(0x1000)), PAGES_R_held);
	pages_judge(&empties, &mapping, e, looks, looks, &page);
	assert_int_equal(page.reason, PAGES_R_held);
}

static void places_count_where_the_kernel_refuses_them(void **state)
{
	const struct pages_rules old = { .page_size = PAGE, .cma_refused = true }, without_cma = { .page_size = PAGE, .movable_refused = true };
	struct pages_entry e = pages_parse_entry(PRESENT(0x1000));

	(void)state;
	assert_int_equal(judged_in(WIRE_FOLIO_MOVABLE_ZONE), PAGES_R_moves);
	pages_judge(&old, &mapping, e, looks, looks, &page);
	assert_int_equal(page.reason, PAGES_R_stays);
	looks[0].folio.flags = WIRE_FOLIO_ANON | WIRE_FOLIO_ISOLATE;
	assert_int_equal(judged(PRESENT(0x1000)), PAGES_R_moves);
	pages_judge(&without_cma, &mapping, e, looks, looks, &page);
	assert_int_equal(page.reason, PAGES_R_stays);
}

static void what_is_not_the_process_s_own_is_copied(void **state)
{
	(void)state;
	looks[0].folio.refcount = 5;
	looks[0].flags &= ~WIRE_LOOK_EXCLUSIVE;
	assert_int_equal(judged_in(WIRE_FOLIO_CMA), PAGES_R_copied);
	/* Taken over or copied: either way nothing holds it. */
	looks[0].folio.refcount = 1;
	assert_int_equal(judged(PRESENT(0x1000)), PAGES_R_moves);
	/* Where the kernel does not tell, nothing is assumed. */
	looks[0].folio.refcount = 5;
	looks[0].flags = WIRE_LOOK_LRU | WIRE_LOOK_BATCHED_KNOWN;
	assert_int_equal(judged(PRESENT(0x1000)), PAGES_R_held);
	looks[0].folio.flags |= WIRE_FOLIO_KSM;
	assert_int_equal(judged(PRESENT(0x1000)), PAGES_R_copied);
	looks[0].folio.flags = WIRE_FOLIO_FILE | WIRE_FOLIO_CMA;
	assert_int_equal(judged(PRESENT(0x1000)), PAGES_R_copied);
	/* A shared mapping writes to the file's own page. */
	mapping.vma.flags |= 0x8;
	assert_int_equal(judged(PRESENT(0x1000)), PAGES_R_held);
}

static void huge_pages(void **state)
{
	struct pages_rules refuses = rules;
	struct wire_folio *f = &looks[0].folio;

	(void)state;
	f->order = 9;
	f->pincount = 0;
	f->flags |= WIRE_FOLIO_LARGE;
	assert_int_equal(judged_in(WIRE_FOLIO_CMA), PAGES_R_moves);
	f->refcount = 4;
	f->pincount = 2;
	assert_int_equal(judged(PRESENT(0x1005)), PAGES_R_held);
	assert_true(page.counted);
	assert_int_equal(page.pins, 2);
	assert_int_equal(page.others, 1);
	/* More pins than references: not of one moment. */
	f->pincount = 9;
	assert_int_equal(judged(PRESENT(0x1005)), PAGES_R_counts_unread);
	f->pincount = 0;
	f->refcount = 1;
	f->flags |= WIRE_FOLIO_HUGETLB;
	assert_int_equal(judged(PRESENT(0x1005)), PAGES_R_huge_moves);
	/* Whose copy there may be no huge page for; of a file in private memory no copy was reserved either. */
	looks[0].flags = WIRE_LOOK_EXCLUSIVE_KNOWN | WIRE_LOOK_LRU;
	f->mapcount = f->refcount = f->expected = 2;
	assert_int_equal(judged(PRESENT(0x1005)), PAGES_R_huge_copied);
	f->mapcount = f->expected = 1;
	assert_int_equal(judged(PRESENT(0x1005)), PAGES_R_held);
	f->flags &= ~WIRE_FOLIO_ANON;
	assert_int_equal(judged(PRESENT(0x1005)), PAGES_R_huge_copied);
	f->flags |= WIRE_FOLIO_ANON;
	f->refcount = 1;
	refuses.huge_refused = true;
	pages_judge(&refuses, &mapping, pages_parse_entry(PRESENT(0x1005)), looks, looks, &page);
	assert_int_equal(page.reason, PAGES_R_huge_refused);
}

static void zero_page_is_replaced(void **state)
{
	(void)state;
	looks[0].folio.flags = WIRE_FOLIO_MOVABLE_ZONE;
	looks[0].flags = WIRE_LOOK_RESERVED;
	looks[0].folio.refcount = 90000;
	assert_int_equal(judged(PRESENT(0x1000)), PAGES_R_zero_page);
	/* A driver's page in a shared mapping is none. */
	mapping.vma.flags |= 0x8;
	assert_int_equal(judged(PRESENT(0x1000)), PAGES_R_not_on_lru);
}

static void frames_without_memory(void **state)
{
	(void)state;
	looks[0].found = WIRE_LOOK_NOTHING;
	assert_int_equal(judged(PRESENT(0x1000)), PAGES_R_no_page);
	assert_null(page.folio);
	looks[0].found = WIRE_LOOK_DEVICE;
	assert_int_equal(judged(PRESENT(0x1000)), PAGES_R_device_memory);
	looks[0].found = WIRE_LOOK_CHANGED;
	assert_int_equal(judged(PRESENT(0x1000)), PAGES_R_changed);
	looks[0].found = 77;
	assert_int_equal(judged(PRESENT(0x1000)), PAGES_R_changed);
	looks[0].found = WIRE_LOOK_MEMORY;
	looks[0].same = WIRE_LOOKS;
	assert_int_equal(judged(PRESENT(0x1000)), PAGES_R_changed);
	looks[0].same = 0;
	looks[0].folio.have = WIRE_HAVE_COUNTS;
	assert_int_equal(judged(PRESENT(0x1000)), PAGES_R_place_unread);
	assert_int_equal(judged(PRESENT(0)), PAGES_R_pfn_hidden);
}

static void pages_that_are_not_there(void **state)
{
	const struct pages_rules whole = { .page_size = PAGE, .guards_between = true };

	(void)state;
	assert_int_equal(judged(0), PAGES_R_not_there);
	assert_int_equal(judged(1ULL << 62), PAGES_R_swapped);
	/* Of an older kernel a guard page looks like a poisoned one: of which a fault brings nothing. */
	assert_int_equal(judged((1ULL << 62) | (3 << 5) | 22), PAGES_R_special);
	assert_int_equal(judged((1ULL << 62) | (4 << 5) | 31), PAGES_R_special);
	assert_int_equal(judged((1ULL << 62) | (1ULL << 58) | (4 << 5) | 31), PAGES_R_guard);
	assert_int_equal(judged(1ULL << 58), PAGES_R_guard);
	pages_judge(&whole, &mapping, pages_parse_entry(1ULL << 58), looks, NULL, &page);
	assert_int_equal(page.reason, PAGES_R_guard_between);
	mapping.vma.file = 1;
	strcpy(mapping.vma.fs, "ext4");
	mapping.vma.file_bytes = 5 * PAGE + 1;
	assert_int_equal(judged(0), PAGES_R_not_there);
	mapping.vma.file_bytes = 5 * PAGE;
	assert_int_equal(judged(0), PAGES_R_beyond_eof);
	mapping.vma.file_bytes = 512 * PAGE;
	mapping.vma.flags |= 0x8;
	assert_int_equal(judged(0), PAGES_R_file_not_there);
	mapping.vma.pgoff = 600;
	assert_int_equal(judged(0), PAGES_R_beyond_eof);
	/* Of a file of another machine, or an anonymous inode (kvm, perf), whose size is 0 whatever its driver shows. */
	strcpy(mapping.vma.fs, "nfs4");
	assert_int_equal(judged(0), PAGES_R_perhaps_beyond);
	strcpy(mapping.vma.fs, "anon_inodefs");
	assert_int_equal(judged(0), PAGES_R_perhaps_beyond);
	/* A device has no end to be behind. */
	mapping.vma.what = WIRE_VMA_CHARDEV;
	assert_int_equal(judged(0), PAGES_R_file_not_there);
	mapping.vma.flags |= 0x200;
	assert_int_equal(judged(0), PAGES_R_user_faults);
	mapping.vma = (struct wire_vma){ .start = HERE, .flags = 0x400003, .block_shift = 21 };
	assert_int_equal(judged(0), PAGES_R_huge_not_there);
}

static void writes_that_userfaultfd_answers(void **state)
{
	const uint64_t wp = 1ULL << 57;

	(void)state;
	assert_int_equal(judged(PRESENT(0x1000) | wp), PAGES_R_write_protected);
	assert_non_null(page.folio);
	assert_int_equal(judged(wp | (1ULL << 62)), PAGES_R_write_protected);
	assert_int_equal(judged_in(WIRE_FOLIO_CMA), PAGES_R_moves);
	assert_int_equal(judged(PRESENT(0x1000) | wp), PAGES_R_write_protected);
	looks[0].folio.refcount = 3;
	assert_int_equal(judged(PRESENT(0x1000) | wp), PAGES_R_held);
}

/* --- sums ----------------------------------------------------------------------- */

static void neighbours_alike_are_one_group(void **state)
{
	struct pages_group g;

	(void)state;
	judged(PRESENT(0x1000));
	pages_group_start(&g, &page, 1);
	page.address += PAGE;
	looks[0].folio.pfn++;
	assert_true(pages_group_add(&g, &page, 1, PAGE));
	assert_int_equal(g.pages, 2);
	assert_int_equal(g.folios, 2);
	/* A gap, another place, another owner, something that holds it. */
	page.address += 2 * PAGE;
	assert_false(pages_group_add(&g, &page, 1, PAGE));
	page.address -= PAGE;
	looks[0].folio.node = 1;
	assert_false(pages_group_add(&g, &page, 1, PAGE));
	looks[0].folio.node = 0;
	strcpy(looks[0].folio.area, "x");
	assert_false(pages_group_add(&g, &page, 1, PAGE));
	looks[0].folio.area[0] = '\0';
	looks[0].folio.refcount = 3;
	judged(PRESENT(0x1000));
	assert_false(pages_group_add(&g, &page, 1, PAGE));
	assert_int_equal(g.pages, 2);
}

static void a_folio_is_counted_once(void **state)
{
	struct pages_group g;

	(void)state;
	looks[0].folio.order = 9;
	looks[0].folio.pincount = 1;
	looks[0].folio.refcount = 3;
	looks[0].folio.flags |= WIRE_FOLIO_LARGE;
	judged(PRESENT(0x1000));
	pages_group_start(&g, &page, 1);
	for (int i = 1; i < 512; i++) {
		page.address += PAGE;
		assert_true(pages_group_add(&g, &page, 1, PAGE));
	}
	assert_int_equal(g.pages, 512);
	assert_int_equal(g.folios, 1);
	assert_int_equal(g.surplus, 2);
	assert_int_equal(g.pins, 1);
}

static enum pages_verdict verdict_of(const struct pages_sum *s, char text[PAGES_TEXT])
{
	return pages_judge_sum(&rules, s, 1 << 20, text);
}

static void verdicts(void **state)
{
	struct pages_sum s = { 0 };
	char text[PAGES_TEXT];

	(void)state;
	judged(PRESENT(0x1000));
	pages_sum_add(&s, &page, 3);
	assert_int_equal(verdict_of(&s, text), PAGES_WOULD);
	assert_string_equal(text, "would succeed");
	judged(0);
	pages_sum_add(&s, &page, 2);
	assert_int_equal(verdict_of(&s, text), PAGES_WOULD);
	assert_string_equal(text, "would succeed; 2 pages (8.0 KiB) would be faulted in or copied, for which there must be memory");
	judged_in(WIRE_FOLIO_CMA);
	pages_sum_add(&s, &page, 256);
	assert_int_equal(verdict_of(&s, text), PAGES_WOULD_MOVE);
	assert_memory_equal(text, "would move 256 pages (1.0 MiB) and succeed", 42);
	pages_sum_add(&s, &page, 1);
	assert_int_equal(verdict_of(&s, text), PAGES_NOT_KNOWN);
	assert_int_equal(pages_judge_sum(&rules, &s, UINT64_MAX, text), PAGES_WOULD_MOVE);
	looks[0].found = WIRE_LOOK_CHANGED;
	judged(PRESENT(0x1000));
	pages_sum_add(&s, &page, 1);
	assert_int_equal(pages_judge_sum(&rules, &s, UINT64_MAX, text), PAGES_NOT_KNOWN);
	assert_string_equal(text, "not known: page 5 (0x7f0000005000): changed while it was being read");
	assert_int_equal(s.pages, 263);
}

static void more_than_there_is_does_not_come(void **state)
{
	struct pages_rules small = rules;
	struct pages_sum s = { 0 };
	char text[PAGES_TEXT];

	(void)state;
	small.memory_bytes = 1 << 20;
	judged(0);
	pages_sum_add(&s, &page, 256);
	assert_int_equal(pages_judge_sum(&small, &s, UINT64_MAX, text), PAGES_WOULD);
	pages_sum_add(&s, &page, 1);
	assert_int_equal(pages_judge_sum(&small, &s, UINT64_MAX, text), PAGES_NOT_KNOWN);
	assert_string_equal(text, "not known: 257 pages (1.0 MiB) would be faulted in or copied, and this machine has 1.0 MiB of memory");
	assert_int_equal(pages_judge_sum(&rules, &s, UINT64_MAX, text), PAGES_WOULD);
}

static void verdict_names_the_page(void **state)
{
	struct pages_sum s = { 0 };
	char text[PAGES_TEXT];

	(void)state;
	strcpy(looks[0].folio.area, "hugetlb0\x1b[2J");
	looks[0].folio.have |= WIRE_HAVE_AREA;
	looks[0].folio.refcount = 1 + 2 * 1024;
	judged_in(WIRE_FOLIO_CMA);
	pages_sum_add(&s, &page, 1);
	page.index = 9;
	pages_sum_add(&s, &page, 1);
	assert_int_equal(verdict_of(&s, text), PAGES_WOULD_NOT);
	assert_null(strchr(text, '\x1b'));
	assert_non_null(strstr(text, "would not: page 5 (0x7f0000005000, pfn 0x1000) lies in CMA area \"hugetlb0"));
	assert_non_null(strstr(text, "has 2048 references more than expected, which counts like 2 DMA pins, an estimate; and 1 other page"));
	s = (struct pages_sum){ 0 };
	looks[0].folio.refcount = 2;
	judged(PRESENT(0x1000));
	pages_sum_add(&s, &page, 1);
	verdict_of(&s, text);
	assert_non_null(strstr(text, "has 1 reference more than expected: a plain one, not a DMA pin, which may be gone in a moment (ENOMEM)"));
}

static const char *objection(int *ret_errno)
{
	return pages_objection(&rules, &mapping, ret_errno);
}

static void objections(void **state)
{
	struct pages_rules unchecked = rules;
	int err;

	(void)state;
	assert_null(objection(&err));
	mapping.vma.flags = 0x1;
	assert_non_null(strstr(objection(&err), "not writable"));
	assert_int_equal(err, EFAULT);
	mapping.vma.flags = 0x403;
	assert_non_null(strstr(objection(&err), "VM_PFNMAP"));
	mapping.vma.flags = 0xb;
	mapping.vma.what = WIRE_VMA_DIRTY_TRACKED;
	assert_non_null(strstr(objection(&err), "tracks writes"));
	unchecked.files_checked = false;
	assert_null(pages_objection(&unchecked, &mapping, &err));
	mapping.vma.what = WIRE_VMA_DAX;
	assert_non_null(strstr(objection(&err), "DAX"));
	assert_int_equal(err, EOPNOTSUPP);
	mapping.vma.what = WIRE_VMA_DAX | WIRE_VMA_CHARDEV;
	assert_null(objection(&err));
	mapping.vma.what = 0;
	strcpy(mapping.vma.fs, "secretmem");
	mapping.vma.fs_magic = 0x5345434d;
	assert_non_null(strstr(objection(&err), "secret"));
	mapping.vma_known = false;
	assert_non_null(objection(&err));
	assert_int_equal(err, 0);
}

static void rules_come_from_the_kernel_s_own_names(void **state)
{
	struct identity id = { .page_size = PAGE };
	struct pages_rules r;

	(void)state;
	r = pages_rules_of(&id);
	assert_true(!r.movable_refused && !r.cma_refused && !r.files_checked);
	strcpy(id.migrate_reasons.name[7], "longterm_pin");
	strcpy(id.migratetypes.name[4], "MIGRATE_CMA");
	r = pages_rules_of(&id);
	assert_true(r.movable_refused && r.cma_refused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(maps_lines, setup),
		cmocka_unit_test_setup(maps_lines_that_are_none, setup),
		cmocka_unit_test_setup(maps_names, setup),
		cmocka_unit_test_setup(pagemap_entries, setup),
		cmocka_unit_test_setup(numbers, setup),
		cmocka_unit_test_setup(ordinary_page_stays_whatever_holds_it, setup),
		cmocka_unit_test_setup(page_in_area_moves_unless_held, setup),
		cmocka_unit_test_setup(batches_are_emptied_by_the_pin, setup),
		cmocka_unit_test_setup(places_count_where_the_kernel_refuses_them, setup),
		cmocka_unit_test_setup(what_is_not_the_process_s_own_is_copied, setup),
		cmocka_unit_test_setup(huge_pages, setup),
		cmocka_unit_test_setup(zero_page_is_replaced, setup),
		cmocka_unit_test_setup(frames_without_memory, setup),
		cmocka_unit_test_setup(pages_that_are_not_there, setup),
		cmocka_unit_test_setup(writes_that_userfaultfd_answers, setup),
		cmocka_unit_test_setup(neighbours_alike_are_one_group, setup),
		cmocka_unit_test_setup(a_folio_is_counted_once, setup),
		cmocka_unit_test_setup(verdicts, setup),
		cmocka_unit_test_setup(more_than_there_is_does_not_come, setup),
		cmocka_unit_test_setup(verdict_names_the_page, setup),
		cmocka_unit_test_setup(objections, setup),
		cmocka_unit_test_setup(rules_come_from_the_kernel_s_own_names, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
