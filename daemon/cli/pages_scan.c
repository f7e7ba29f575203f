// SPDX-License-Identifier: BSD-2-Clause
#include "cli/pages_scan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lrubatch.h"

#define LINE_MAX_BYTES 8192
#define PROGRESS_NS 500000000LL

volatile sig_atomic_t scan_interrupted;

/* --- one mapping ---------------------------------------------------------------- */

static void show_progress(struct scan *s, uint64_t address)
{
	char bytes[TEXT_BYTES_LEN];
	struct timespec now;
	int64_t ns;

	if (!s->progress)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = now.tv_sec * 1000000000LL + now.tv_nsec;
	if (s->shown_ns == 0)
		s->shown_ns = ns;
	if (ns - s->shown_ns < PROGRESS_NS)
		return;
	s->shown_ns = ns;
	fprintf(stderr, "\r%s looked at, at 0x%012" PRIx64 "\033[K",
		text_bytes(bytes, (s->total.sum.pages + s->sum.pages) * s->view.rules.page_size), address);
}

static void clear_progress(const struct scan *s)
{
	if (s->progress)
		fputs("\r\033[K", stderr);
}

static void end_group(struct scan *s)
{
	if (s->group.pages && !s->view.detail)
		view_group(&s->view, &s->group);
	s->group.pages = 0;
}

static void add_pages(struct scan *s, const struct pages_page *page, uint64_t n)
{
	pages_sum_add(&s->sum, page, n);
	if (s->view.detail) {
		struct pages_page one = *page;

		for (uint64_t i = 0; i < n && !scan_interrupted; i++) {
			one.address = page->address + i * s->view.rules.page_size;
			one.index = page->index + i;
			view_page(&s->view, &one);
		}
		return;
	}
	if (pages_group_add(&s->group, page, n, s->view.rules.page_size))
		return;
	end_group(s);
	pages_group_start(&s->group, page, n);
}

static void judge_at(struct scan *s, const struct pages_mapping *m, uint64_t address, uint64_t word,
		     const struct wire_look *look, struct pages_page *page)
{
	page->address = address;
	page->index = (address - (s->end ? s->start : m->start)) / s->view.rules.page_size;
	pages_judge(&s->view.rules, m, pages_parse_entry(word), s->looks, look, page);
}

/* How many entries from `i` on are alike and not there: most of a large mapping may be. */
static uint32_t run_of_absent(const uint64_t *words, uint32_t i, uint32_t n)
{
	uint32_t run = 1;

	if (pages_parse_entry(words[i]).present)
		return 1;
	while (i + run < n && words[i + run] == words[i])
		run++;
	return run;
}

static void judge_batch(struct scan *s, const struct pages_mapping *m, uint64_t address, const uint64_t *words, uint32_t n)
{
	const uint64_t page_size = s->view.rules.page_size;
	const struct wire_look *next = s->looks;
	struct pages_page page, last;

	for (uint32_t i = 0, run; i < n; i += run) {
		struct pages_entry entry = pages_parse_entry(words[i]);

		run = run_of_absent(words, i, n);
		judge_at(s, m, address + i * page_size, words[i], entry.pfn ? next++ : NULL, &page);
		judge_at(s, m, address + (i + run - 1) * page_size, words[i], page.look, &last);
		/* The end of a file lies between them. */
		if (last.reason != page.reason)
			run = 1;
		add_pages(s, &page, run);
	}
}

/* `n` entries of pagemap. -ESRCH: there is nothing to read any more. */
static int read_entries(const struct scan *s, uint64_t address, uint32_t n, uint64_t *words)
{
	off_t from = (off_t)(address / s->view.rules.page_size * sizeof(*words));
	ssize_t got = pread(s->pagemap_fd, words, n * sizeof(*words), from);

	if (got < 0)
		return -errno;
	return (size_t)got == n * sizeof(*words) ? 0 : -ESRCH;
}

/* A frame that the process has lost meanwhile may be another's by now: what was read of it is not the answer. */
static int confirm_batch(struct scan *s, uint64_t address, const uint64_t *words, uint32_t n)
{
	uint64_t again[WIRE_LOOKS];
	struct wire_look *next = s->looks;
	int err = read_entries(s, address, n, again);

	for (uint32_t i = 0; i < n && !err; i++) {
		uint64_t pfn = pages_parse_entry(words[i]).pfn;

		if (!pfn)
			continue;
		if (pages_parse_entry(again[i]).pfn != pfn)
			next->found = WIRE_LOOK_CHANGED;
		next++;
	}
	return err;
}

/* Frame numbers into the batch, and what the kernel's memory says of them out of it. */
static int look_once(struct scan *s, const uint64_t *words, uint32_t n, uint32_t *ret_asked)
{
	uint32_t asked = 0;

	memset(s->looks, 0, sizeof(*s->looks) * WIRE_LOOKS);
	for (uint32_t i = 0; i < n; i++) {
		struct pages_entry entry = pages_parse_entry(words[i]);

		if (entry.pfn)
			s->looks[asked++].pfn = entry.pfn;
	}
	*ret_asked = asked;
	return asked ? page_reader_run(s->reader) : 0;
}

/*
 * A page may come into a per-CPU batch or leave it at any moment: what these held before and after its references were
 * counted explains what was counted.
 */
static int look_between_lists(struct scan *s, const uint64_t *words, uint32_t n)
{
	uint64_t *before, *after;
	uint32_t nbefore, nafter, asked;
	int err;

	if (!s->batched)
		s->batched = calloc(2 * WIRE_BATCHED, sizeof(*s->batched));
	if (!s->batched)
		return -ENOMEM;
	before = s->batched;
	after = s->batched + WIRE_BATCHED;
	if (page_reader_batched(s->reader, before, &nbefore))
		return 0;
	err = look_once(s, words, n, &asked);
	if (err || page_reader_batched(s->reader, after, &nafter))
		return err;
	lrubatch_sort(before, nbefore);
	lrubatch_sort(after, nafter);
	lrubatch_note(s->looks, asked, before, nbefore);
	lrubatch_note(s->looks, asked, after, nafter);
	return 0;
}

static int look_at_batch(struct scan *s, uint64_t address, const uint64_t *words, uint32_t n)
{
	uint32_t asked;
	int err = look_once(s, words, n, &asked);

	if (!err && lrubatch_matters(s->looks, asked))
		err = look_between_lists(s, words, n);
	return err || !asked ? err : confirm_batch(s, address, words, n);
}

static int scan_pages(struct scan *s, const struct pages_mapping *m, uint64_t start, uint64_t end)
{
	const uint64_t page_size = s->view.rules.page_size;
	uint64_t words[WIRE_LOOKS];

	for (uint64_t at = start; at < end && !scan_interrupted;) {
		uint64_t left = (end - at) / page_size;
		uint32_t n = left < WIRE_LOOKS ? (uint32_t)left : WIRE_LOOKS;
		int err = read_entries(s, at, n, words);

		if (!err)
			err = look_at_batch(s, at, words, n);
		if (err)
			return err;
		judge_batch(s, m, at, words, n);
		at += n * page_size;
		show_progress(s, at);
		/* A full disk, or a reader that is gone where SIGPIPE is ignored: nobody gets what would follow. */
		if (ferror(stdout))
			scan_interrupted = 1;
	}
	return 0;
}

void scan_take_verdict(struct scan *s, enum pages_verdict verdict, const char *text)
{
	if (verdict <= s->total.verdict && s->total.text[0])
		return;
	s->total.verdict = verdict;
	snprintf(s->total.text, sizeof(s->total.text), "%s", text);
}

static void pass_over(struct scan *s, const char *because)
{
	struct pages_total *t = &s->total;
	uint32_t i = 0;

	while (i < t->npassed_over && t->passed_over[i].because != because)
		i++;
	if (i == OBJECTIONS_MAX)
		return; /* there are fewer objections than that */
	t->passed_over[i].because = because;
	t->passed_over[i].mappings++;
	if (i == t->npassed_over)
		t->npassed_over++;
}

/* No pin gets in at all: the answer of a range that was asked for, no question of the others. */
static void object_to(struct scan *s, const struct pages_mapping *m, uint64_t start, uint64_t end, const char *because,
		      int errno_number)
{
	enum pages_verdict verdict = errno_number ? PAGES_WOULD_NOT : PAGES_NOT_KNOWN;
	char text[PAGES_TEXT];

	if (!s->end) {
		pass_over(s, because);
		/* Unlike what a pin refuses, this may have been of interest. */
		if (!errno_number)
			scan_take_verdict(s, PAGES_NOT_KNOWN, "not known: a mapping changed while it was being read");
		return;
	}
	if (errno_number)
		snprintf(text, sizeof(text), "would not (%s), at 0x%" PRIx64 ": %s",
			 errno_number == EOPNOTSUPP ? "EOPNOTSUPP" : "EFAULT", start, because);
	else
		snprintf(text, sizeof(text), "not known, at 0x%" PRIx64 ": %s", start, because);
	view_verdict(&s->view, m, start, end, NULL, verdict, text);
	scan_take_verdict(s, verdict, text);
}

static void join_sum(struct pages_sum *all, const struct pages_sum *one)
{
	if (!pages_sum_of(all, PAGES_REFUSED) && pages_sum_of(one, PAGES_REFUSED)) {
		all->refused = one->refused;
		all->refused_folio = one->refused_folio;
	}
	if (!pages_sum_of(all, PAGES_UNKNOWN) && pages_sum_of(one, PAGES_UNKNOWN))
		all->unknown = one->unknown;
	all->pages += one->pages;
	for (int i = 0; i < PAGES_REASONS; i++)
		all->by_reason[i] += one->by_reason[i];
}

static int scan_mapping(struct scan *s, const struct pages_mapping *m, uint64_t start, uint64_t end)
{
	enum pages_verdict verdict;
	int err, errno_number;
	const char *because = pages_objection(&s->view.rules, m, &errno_number);
	char text[PAGES_TEXT];

	if (because) {
		object_to(s, m, start, end, because, errno_number);
		return 0;
	}
	memset(&s->sum, 0, sizeof(s->sum));
	view_mapping(&s->view, m, start, end);
	err = scan_pages(s, m, start, end);
	end_group(s);
	if (err)
		return err;
	verdict = pages_judge_sum(&s->view.rules, &s->sum, s->free_outside_bytes, text);
	if (scan_interrupted && verdict < PAGES_NOT_KNOWN) {
		verdict = PAGES_NOT_KNOWN;
		snprintf(text, sizeof(text), INTERRUPTED);
	}
	view_verdict(&s->view, m, start, end, &s->sum, verdict, text);
	s->total.mappings++;
	join_sum(&s->total.sum, &s->sum);
	return 0;
}

/* --- all of them ---------------------------------------------------------------- */

/* The next line of maps that is one of the process's own memory. False: that was the last. */
static bool next_line(struct scan *s, struct pages_mapping *m)
{
	char line[LINE_MAX_BYTES];

	while (fgets(line, sizeof(line), s->maps)) {
		bool whole = strchr(line, '\n') != NULL;

		/* A name longer than that is cut; the rest of its line is no line. */
		for (int c = 0; !whole && c != '\n' && c != EOF;)
			c = fgetc(s->maps);
		/* The vsyscall page is the kernel's. */
		if (pages_parse_maps(line, m) && !(m->start >> 63))
			return true;
	}
	return false;
}

/* Both lists are sorted; a mapping that is not in both alike has changed in between. */
static void find_vma(struct scan *s, struct pages_mapping *m)
{
	while (s->next_vma.start < m->start)
		if (fread(&s->next_vma, sizeof(s->next_vma), 1, s->vmas) != 1)
			return;
	m->vma_known = s->next_vma.start == m->start && s->next_vma.end == m->end;
	if (m->vma_known)
		m->vma = s->next_vma;
}

void scan_hole(struct scan *s, uint64_t end)
{
	char text[PAGES_TEXT];

	if (end <= s->cursor)
		return;
	snprintf(text, sizeof(text), "would not: nothing is mapped at 0x%" PRIx64 " (EFAULT)", s->cursor);
	view_verdict(&s->view, NULL, s->cursor, end, NULL, PAGES_WOULD_NOT, text);
	scan_take_verdict(s, PAGES_WOULD_NOT, text);
}

int scan_all(struct scan *s)
{
	struct pages_mapping m;
	int err = 0;

	s->cursor = s->start;
	while (!err && !scan_interrupted && next_line(s, &m)) {
		uint64_t start = m.start, end = m.end;

		if (s->one_mapping && start <= s->start && s->start < end) {
			s->start = s->cursor = start;
			s->end = end;
			s->one_mapping = false;
		}
		if (s->one_mapping || (s->end && (end <= s->start || start >= s->end)))
			continue;
		if (s->end) {
			start = start < s->start ? s->start : start;
			end = end > s->end ? s->end : end;
			scan_hole(s, start);
			s->cursor = end;
		}
		find_vma(s, &m);
		err = scan_mapping(s, &m, start, end);
	}
	clear_progress(s);
	return err;
}
