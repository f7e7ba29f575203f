// SPDX-License-Identifier: BSD-2-Clause
#include "explain.h"

#include <ctype.h>
#include <inttypes.h>
#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose.h"
#include "jread.h"
#include "report.h"
#include "text.h"
#include "wrap.h"

#define HOLD WRAP_HOLD

/* What is shown of a list that may be long; the report has the rest. */
#define EVIDENCE_SHOWN 3
#define RULED_OUT_SHOWN 3
#define CANDIDATES_SHOWN 1
#define LATER_SHOWN 1
#define MISSING_SHOWN 3
#define RULED_OUT_MAX 256	/* entries of a report that are looked at */

struct page {
	struct wrap w;
	struct json_object *report;
	bool full;
};

static bool is_kind(const struct page *p, const char *kind)
{
	return strcmp(jr_string(p->report, "kind"), kind) == 0;
}

/* --- paragraphs ----------------------------------------------------------------- */

static void begin(struct page *p)
{
	wrap_begin(&p->w);
}

__attribute__((format(printf, 2, 3)))
static void add(struct page *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	text_vadd(&p->w.text, fmt, ap);
	va_end(ap);
}

/* Appends a value of the report. */
static void quote(struct page *p, const char *s)
{
	wrap_quote(&p->w, s);
}

static void quote_if(struct page *p, const char *before, const char *s, const char *after)
{
	if (!*s)
		return;
	add(p, "%s", before);
	quote(p, s);
	add(p, "%s", after);
}

static void flush(struct page *p, const char *label)
{
	wrap_flush(&p->w, label);
}

/* At most `max` of them; how many were left out. */
static size_t join_strings(struct page *p, struct json_object *array, const char *between, size_t max)
{
	size_t i, n = jr_length(array);

	for (i = 0; i < n && i < max; i++) {
		add(p, "%s", i ? between : "");
		quote(p, jr_string_at(array, i));
	}
	return n - i;
}

static void add_upper(struct page *p, const char *word)
{
	for (; *word; word++)
		if (isalpha((unsigned char)*word))
			add(p, "%c", toupper((unsigned char)*word));
}

static void add_duration(struct page *p, int64_t ns)
{
	if (ns >= 1000000000)
		add(p, "%.1f s", (double)ns / 1e9);
	else if (ns >= 1000000)
		add(p, "%.1f ms", (double)ns / 1e6);
	else
		add(p, "%.1f us", (double)ns / 1e3);
}

/* --- the lines ------------------------------------------------------------------ */

static struct json_object *other_kinds(const struct page *p)
{
	return jr_get(p->report, "related.other_kinds", json_type_array);
}

/* A cause that this version does not know has no title here, but it has a name. */
static void title_cause(struct page *p)
{
	const char *id = jr_string(p->report, "verdict.cause");
	const struct cause *cause = cause_find(id);

	if (cause)
		add(p, " - %s", cause->title);
	else if (!*id || strcmp(id, "unknown") == 0)
		add(p, " - the cause is unknown");
	else
		quote_if(p, " - ", id, "");
}

static void title_failure(struct page *p)
{
	int64_t count = 0;

	quote(p, *jr_string(p->report, "registration.api") ? jr_string(p->report, "registration.api") : "registration");
	add(p, " failed");
	if (is_kind(p, KIND_SUMMARY) && jr_int(p->report, "related.count", &count))
		add(p, " %" PRId64 " time%s%s", count, count == 1 ? "" : "s", other_kinds(p) ? " more in one cgroup" : "");
	quote_if(p, ": ", jr_string(p->report, "registration.errno_name"), "");
	if (other_kinds(p) && strcmp(jr_string(p->report, "verdict.cause"), "unknown") == 0)
		add(p, " - several kinds of failure");
	else
		title_cause(p);
}

/* Nothing failed: one live region, or a summary of many. */
static bool is_stale(const struct page *p)
{
	return strcmp(jr_string(p->report, "verdict.cause"), "stale_registration") == 0 && !other_kinds(p);
}

static void title_stale(struct page *p)
{
	int64_t count = 0;

	if (is_kind(p, KIND_SUMMARY) && jr_int(p->report, "related.count", &count))
		add(p, "%" PRId64 " live regions of ", count);
	quote(p, *jr_string(p->report, "registration.api") ? jr_string(p->report, "registration.api") : "registration");
	title_cause(p);
}

static void title_hazard(struct page *p)
{
	int64_t pages = 0;

	add(p, "hazard");
	if (jr_int(p->report, "stranded.pages", &pages))
		add(p, ": %" PRId64 " page%s", pages, pages == 1 ? "" : "s");
	else if (jr_int(p->report, "contiguous_allocation.pages", &pages))
		add(p, " come true: %" PRId64 " page%s asked of CMA", pages, pages == 1 ? "" : "s");
	title_cause(p);
}

static void title_duration(struct page *p)
{
	int64_t ns = 0;

	quote(p, *jr_string(p->report, "registration.api") ? jr_string(p->report, "registration.api") : "registration");
	add(p, "%s", is_kind(p, KIND_STUCK) ? " has been in flight for " : ", reported as stuck, ended well after ");
	if (jr_int(p->report, "registration.duration_ns", &ns))
		add_duration(p, ns);
	else
		add(p, "an unknown time");
}

static void title(struct page *p)
{
	const char *kind = jr_string(p->report, "kind");

	begin(p);
	add(p, WRAP_BOLD);
	if (is_kind(p, KIND_STUCK) || is_kind(p, KIND_COMPLETED)) {
		title_duration(p);
	} else if (is_stale(p)) {
		title_stale(p);
	} else if (is_kind(p, KIND_HAZARD)) {
		title_hazard(p);
	} else if (is_kind(p, KIND_FAILED) || is_kind(p, KIND_SUMMARY)) {
		title_failure(p);
	} else {
		/* A kind that came with a later version: what it has in common with the others is told. */
		quote(p, *kind ? kind : "report of no kind");
		if (jr_get(p->report, "verdict.cause", json_type_string))
			title_cause(p);
	}
	add(p, WRAP_PLAIN);
	quote_if(p, HOLD " ", jr_string(p->report, "time"), "");
	quote_if(p, HOLD " node" HOLD, jr_string(p->report, "node"), "");
	flush(p, NULL);
}

/* The id of a job or a rank: a number, or what its scheduler calls it. */
static void add_number_or_word(struct page *p, const char *before, const char *path)
{
	int64_t n;

	if (jr_int(p->report, path, &n))
		add(p, "%s%" PRId64, before, n);
	else
		quote_if(p, before, jr_string(p->report, path), "");
}

static void who(struct page *p)
{
	const char *container = jr_string(p->report, "process.container_id");
	int64_t n;

	begin(p);
	quote(p, jr_string(p->report, "process.comm"));
	if (jr_int(p->report, "process.pid", &n))
		add(p, "[%" PRId64 "]", n);
	if (other_kinds(p))
		add(p, " and maybe others");
	if (jr_int(p->report, "process.uid", &n))
		add(p, HOLD " uid" HOLD "%" PRId64, n);
	quote_if(p, HOLD " exe" HOLD, jr_string(p->report, "process.exe"), "");
	quote_if(p, HOLD " job" HOLD, jr_string(p->report, "process.job.scheduler"), "");
	add_number_or_word(p, " ", "process.job.id");
	add_number_or_word(p, " rank" HOLD, "process.job.rank");
	quote_if(p, HOLD " cgroup" HOLD, jr_string(p->report, "process.cgroup"), "");
	/* The cgroup's path holds both ids already, when there is one. */
	if (!*jr_string(p->report, "process.cgroup") || p->full) {
		quote_if(p, HOLD " container" HOLD, container, "");
		quote_if(p, HOLD " pod" HOLD, jr_string(p->report, "process.pod_uid"), "");
	}
	flush(p, "who");
}

static void what(struct page *p)
{
	struct json_object *access = jr_get(p->report, "registration.access", json_type_array);
	struct json_object *flags = jr_get(p->report, "pin.gup_flags_names", json_type_array);
	char size[TEXT_BYTES_LEN];
	uint64_t length;

	if (!jr_get(p->report, "registration", json_type_object))
		return;
	begin(p);
	if (jr_uint(p->report, "registration.length", &length))
		add(p, "%s", length == UINT64_MAX ? "the whole address space" : text_bytes(size, length));
	else
		add(p, other_kinds(p) ? "registrations" : "a registration");
	quote_if(p, " at ", jr_string(p->report, "registration.address"), "");
	quote_if(p, " on ", jr_string(p->report, "registration.device"), "");
	if (p->full || !*jr_string(p->report, "registration.device"))
		quote_if(p, " (", jr_string(p->report, "registration.driver"), ")");
	if (access) {
		add(p, ", ");
		join_strings(p, access, "|", SIZE_MAX);
	}
	if (strcmp(jr_string(p->report, "registration.allocation_class"), "unknown") != 0)
		quote_if(p, ", ", jr_string(p->report, "registration.allocation_class"), "");
	if (flags && p->full) {
		add(p, ", pinned with ");
		join_strings(p, flags, "|", SIZE_MAX);
	}
	flush(p, "what");
}

static void why(struct page *p)
{
	begin(p);
	quote(p, jr_string(p->report, "verdict.summary"));
	flush(p, "why");
}

static bool has_digit(const char *s)
{
	return s[strcspn(s, "0123456789")];
}

/* Does the sentence above say most of this line already? */
static bool repeats(const char *line, const char *sentence)
{
	size_t same = 0;

	while (line[same] && line[same] == sentence[same])
		same++;
	return same > 0 && same * 4 >= strlen(line) * 3;
}

/* Three lines with numbers prove it, of which one may be in the sentence `why`; --full has all of them. */
static void seen(struct page *p)
{
	struct json_object *array = jr_get(p->report, "verdict.evidence", json_type_array);
	/* Of further kinds the evidence is the list of them. Of one kind it is the report that `see` names. */
	size_t i, taken = 0, shown = 0, max = other_kinds(p) || p->full ? SIZE_MAX : EVIDENCE_SHOWN;
	/* Where nothing was established each line is a clue. */
	bool unknown = strcmp(jr_string(p->report, "verdict.confidence"), confidence_words[CONFIDENCE_unknown].word) == 0;

	if (is_kind(p, KIND_SUMMARY) && !other_kinds(p) && !p->full)
		return;
	for (i = 0; i < jr_length(array) && taken < max; i++) {
		const char *line = jr_string_at(array, i);

		if (!p->full && !unknown && !has_digit(line))
			continue;
		taken++;
		if (!p->full && repeats(line, jr_string(p->report, "verdict.summary")))
			continue;
		begin(p);
		quote(p, line);
		flush(p, shown++ ? "" : "seen");
	}
}

static void add_first_pin(struct page *p)
{
	int64_t n;

	quote_if(p, "", jr_string(p->report, "first_pin.comm"), "");
	if (jr_int(p->report, "first_pin.pid", &n))
		add(p, "[%" PRId64 "]", n);
	if (jr_int(p->report, "first_pin.age_ns", &n)) {
		add(p, ", ");
		add_duration(p, n);
		add(p, " earlier");
	}
	quote_if(p, ": ", jr_string(p->report, "first_pin.module"), "");
	quote_if(p, " ", jr_string(p->report, "first_pin.via"), "");
}

static void by(struct page *p)
{
	const char *grade = jr_string(p->report, "first_pin.grade"), *meaning = grade;
	struct json_object *candidates = jr_get(p->report, "first_pin.candidates", json_type_array);
	size_t left;
	int i;

	for (i = GRADE_none + 1; i < GRADE_MAX; i++)
		if (strcmp(grade, grade_words[i].word) == 0)
			meaning = grade_words[i].meaning;
	begin(p);
	add_first_pin(p);
	quote_if(p, p->w.text.len ? "; " : "", meaning, "");
	if (jr_length(candidates)) {
		add(p, "%sit may be: ", p->w.text.len ? "; " : "");
		left = join_strings(p, candidates, "; ", p->full ? SIZE_MAX : CANDIDATES_SHOWN);
		if (left)
			add(p, "; or %zu other%s", left, left == 1 ? "" : "s");
	}
	flush(p, "by");
}

/* Whose code it was: of the pin, and of the call that failed. Calls of the process lead to it from below. */
static void stack_of(struct page *p, const char *path, const char *label)
{
	struct json_object *frames = jr_get(p->report, path, json_type_array);

	begin(p);
	if (jr_length(frames) && p->full)
		join_strings(p, frames, " <- ", SIZE_MAX);
	flush(p, label);
}

static const char *confidence_tone(const char *confidence)
{
	if (strcmp(confidence, confidence_words[CONFIDENCE_proven].word) == 0)
		return WRAP_GREEN;
	return strcmp(confidence, confidence_words[CONFIDENCE_likely].word) == 0 ? WRAP_YELLOW : WRAP_RED;
}

static void sure(struct page *p)
{
	struct json_object *also = jr_get(p->report, "verdict.also", json_type_array);
	struct json_object *missing = jr_get(p->report, "missing_evidence", json_type_array);
	const char *confidence = jr_string(p->report, "verdict.confidence");
	bool proven = strcmp(confidence, confidence_words[CONFIDENCE_proven].word) == 0;
	int i;

	begin(p);
	if (!*confidence)
		return;
	add(p, "%s" WRAP_BOLD, confidence_tone(confidence));
	add_upper(p, confidence);
	add(p, WRAP_PLAIN);
	for (i = 0; i < CONFIDENCE_MAX; i++)
		if (strcmp(confidence, confidence_words[i].word) == 0)
			add(p, ": %s", confidence_words[i].meaning);
	if (proven && missing && jr_length(missing) == 0 && !is_kind(p, KIND_SUMMARY))
		add(p, "; no evidence is missing");
	if (jr_length(also)) {
		add(p, proven ? "; more exactly it may be: " : "; fits as well: ");
		join_strings(p, also, ", ", SIZE_MAX);
	}
	flush(p, "sure");
}

/* Does the text name this errno as a word of its own? */
static bool names_errno(const char *text, const char *name)
{
	size_t len = strlen(name);
	const char *at = len ? strstr(text, name) : NULL;

	for (; at; at = strstr(at + 1, name))
		if ((at == text || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[len]))
			return true;
	return false;
}

/*
 * How much it tells that this cause was ruled out. One that gives the same errno could have been
 * taken for the answer; one excluded by another errno would hardly be thought of.
 */
static int telling(const struct page *p, struct json_object *entry)
{
	const char *because = jr_string(entry, "because"), *name = jr_string(p->report, "registration.errno_name");
	const struct cause *cause = cause_find(jr_string(entry, "cause"));
	int score = 0;

	if (strncmp(because, "errno ", 6) != 0)
		score += 4;
	/* Where it ended says less than a number that was compared. */
	if (strncmp(because, "it ended ", 9) == 0)
		score -= 3;
	if (cause && (names_errno(cause->what, name) || names_errno(cause->how, name)))
		score += 2;
	return score + has_digit(because);
}

/* How many lines a paragraph gets that may be cut. */
static unsigned int lines_for(const struct page *p, unsigned int lines)
{
	if (p->full)
		return 0;
	return p->w.width < 90 ? lines + 1 : lines;
}

static void not_this(struct page *p, struct json_object *entry, const char *label, size_t others)
{
	char tail[40] = "";
	struct text t;

	text_init(&t, tail, sizeof(tail));
	if (others)
		text_add(&t, " (and %zu other%s)", others, others == 1 ? "" : "s");
	begin(p);
	quote(p, jr_string(entry, "cause"));
	quote_if(p, ": ", jr_string(entry, "because"), "");
	wrap_flush_lines(&p->w, label, lines_for(p, 1), tail);
}

/* The most telling first, in the report's order among equals. */
static void not_these(struct page *p)
{
	struct json_object *array = jr_get(p->report, "ruled_out", json_type_array);
	size_t all = jr_length(array), n = all < RULED_OUT_MAX ? all : RULED_OUT_MAX, shown, best, i;
	size_t max = p->full || n < RULED_OUT_SHOWN ? n : RULED_OUT_SHOWN;
	bool done[RULED_OUT_MAX] = { false };

	for (shown = 0; shown < max; shown++) {
		best = n;
		for (i = 0; i < n; i++)
			if (!done[i] && (best == n || telling(p, json_object_array_get_idx(array, i)) >
					 telling(p, json_object_array_get_idx(array, best))))
				best = i;
		done[best] = true;
		not_this(p, json_object_array_get_idx(array, best), shown ? "" : "not",
			 shown + 1 == max ? all - max : 0);
	}
}

static const char *between(const struct page *p)
{
	return p->w.text.len ? ", " : "";
}

/* That memory was not short is what a reader of ENOMEM wants to know first. */
static void memory(struct page *p)
{
	const char *name = jr_string(p->report, "registration.errno_name");
	char size[TEXT_BYTES_LEN];
	int64_t n;

	if (*name && strcmp(name, "ENOMEM") != 0 && !p->full)
		return;
	begin(p);
	if (jr_int(p->report, "memory.available_bytes", &n))
		add(p, "%s available", text_bytes(size, (uint64_t)n));
	if (p->full && jr_int(p->report, "memory.free_bytes", &n))
		add(p, "%s%s free", between(p), text_bytes(size, (uint64_t)n));
	if (jr_int(p->report, "memory.free_outside_bytes", &n))
		add(p, "%s%s free outside CMA and ZONE_MOVABLE", between(p), text_bytes(size, (uint64_t)n));
	if (jr_int(p->report, "cgroup_limits.memory_current_bytes", &n))
		add(p, "%scgroup uses %s", between(p), text_bytes(size, (uint64_t)n));
	if (jr_int(p->report, "cgroup_limits.memory_max_bytes", &n))
		add(p, " of %s", text_bytes(size, (uint64_t)n));
	flush(p, "mem");
}

/* Where it ended, and through whose hands the error went; handed up unchanged, it is told once. */
static void chain(struct page *p)
{
	struct json_object *array = jr_get(p->report, "chain", json_type_array), *entry;
	const char *last = "", *name;
	int64_t left;
	size_t i;

	begin(p);
	quote_if(p, "stage" HOLD, jr_string(p->report, "registration.stage"), jr_length(array) ? ": " : "");
	for (i = 0; i < jr_length(array); i++) {
		entry = json_object_array_get_idx(array, i);
		quote_if(p, i ? " -> " : "", jr_string(entry, "function"), "");
		name = jr_string(entry, "errno_name");
		if (p->full || strcmp(name, last) != 0)
			quote_if(p, HOLD "=" HOLD "-", name, "");
		if (jr_int(entry, "left", &left))
			add(p, HOLD "=" HOLD "%" PRId64 HOLD "left", left);
		last = name;
	}
	wrap_flush_lines(&p->w, "chain", lines_for(p, 1), "");
}

/* The first is what to do now, the others are for later: that is the order they have in a report. */
static void remedies(struct page *p)
{
	struct json_object *array = jr_get(p->report, "verdict.remedies", json_type_array);
	size_t i, n = jr_length(array), shown = p->full || n < 1 + LATER_SHOWN ? n : 1 + LATER_SHOWN;
	char tail[40] = "";
	struct text t;

	text_init(&t, tail, sizeof(tail));
	if (n > shown)
		text_add(&t, " (%zu more: --full)", n - shown);
	for (i = 0; i < shown; i++) {
		begin(p);
		add(p, "%s", i ? "" : WRAP_BOLD);
		quote(p, jr_string_at(array, i));
		if (i == 0)
			flush(p, "now");
		else
			wrap_flush_lines(&p->w, i == 1 ? "then" : "", lines_for(p, 2), i + 1 == shown ? tail : "");
	}
}

static void related(struct page *p)
{
	const char *first = jr_string(p->report, "related.first_report_id");
	int64_t n;

	begin(p);
	if (jr_int(p->report, "related.suppressed", &n))
		add(p, "%" PRId64 " %s%s not reported in full, ", n, is_stale(p) ? "region" : "failure", n == 1 ? "" : "s");
	quote_if(p, "between ", jr_string(p->report, "related.first"), "");
	quote_if(p, " and ", jr_string(p->report, "related.last"), "; ");
	quote_if(p, "the first: pinwhy" HOLD "explain" HOLD "--id" HOLD, first, "");
	flush(p, "see");
}

static void more(struct page *p)
{
	const struct cause *cause = cause_find(jr_string(p->report, "verdict.cause"));

	begin(p);
	quote_if(p, "report" HOLD, jr_string(p->report, "report_id"), HOLD " ");
	if (cause)
		add(p, "pinwhy" HOLD "causes" HOLD "%s", cause->id);
	flush(p, "more");
}

/* What an unproven verdict lacks; of a proven one that there is something is enough. */
static void missing(struct page *p)
{
	struct json_object *array = jr_get(p->report, "missing_evidence", json_type_array), *entry;
	bool proven = strcmp(jr_string(p->report, "verdict.confidence"), "proven") == 0;
	size_t i, n = jr_length(array), shown = p->full ? n : proven ? 0 : MISSING_SHOWN;

	for (i = 0; i < n && i < shown; i++) {
		entry = json_object_array_get_idx(array, i);
		begin(p);
		quote(p, jr_string(entry, "what"));
		quote_if(p, ": ", jr_string(entry, "why"), "");
		flush(p, i ? "" : "miss");
	}
	if (n <= shown)
		return;
	begin(p);
	add(p, "%s%zu %s: ", shown ? "and " : "", n - shown, shown ? "more" : "could not be had");
	for (i = shown; i < n; i++) {
		add(p, "%s", i > shown ? ", " : "");
		quote(p, jr_string(json_object_array_get_idx(array, i), "what"));
	}
	wrap_flush_lines(&p->w, shown ? "" : "miss", 1, "");
}

void explain_print_style(FILE *out, struct json_object *report, const struct explain_style *style)
{
	struct page p = {
		.w = { .out = out, .colour = style->colour, .width = style->width },
		.report = report, .full = style->full,
	};

	if (p.w.width < EXPLAIN_WIDTH_MIN)
		p.w.width = EXPLAIN_WIDTH_MIN;
	title(&p);
	who(&p);
	what(&p);
	why(&p);
	seen(&p);
	by(&p);
	stack_of(&p, "first_pin.stack", "pinned");
	stack_of(&p, "process.stack", "stack");
	sure(&p);
	not_these(&p);
	memory(&p);
	chain(&p);
	remedies(&p);
	related(&p);
	more(&p);
	missing(&p);
}

void explain_print(FILE *out, struct json_object *report)
{
	const struct explain_style style = { .width = EXPLAIN_WIDTH };

	explain_print_style(out, report, &style);
}
