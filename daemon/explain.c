// SPDX-License-Identifier: BSD-2-Clause
#include "explain.h"

#include <inttypes.h>
#include <json-c/json_object.h>
#include <string.h>

#include "diagnose.h"
#include "report.h"
#include "text.h"

#define INDENT 9	/* two spaces, a label of five, two spaces */
#define HOLD "\x1f"	/* a space at which no line is broken; text_escape() lets none through */

struct page {
	FILE *out;
	unsigned int width;
	struct json_object *report;
	char buf[8192];
	struct text text;	/* over buf: one paragraph at a time */
};

/* --- the report's values -------------------------------------------------------- */

/* Follows "a.b.c"; NULL when there is nothing or something else. */
static struct json_object *get(struct json_object *o, const char *path, enum json_type type)
{
	char key[64];
	size_t n;

	while (*path) {
		n = strcspn(path, ".");
		if (n >= sizeof(key) || !json_object_is_type(o, json_type_object))
			return NULL;
		memcpy(key, path, n);
		key[n] = '\0';
		if (!json_object_object_get_ex(o, key, &o))
			return NULL;
		path += n + (path[n] == '.');
	}
	return json_object_is_type(o, type) ? o : NULL;
}

static const char *str(struct json_object *o, const char *path)
{
	struct json_object *v = get(o, path, json_type_string);

	return v ? json_object_get_string(v) : "";
}

static bool number(struct json_object *o, const char *path, int64_t *ret_value)
{
	struct json_object *v = get(o, path, json_type_int);

	if (!v)
		return false;
	*ret_value = json_object_get_int64(v);
	return true;
}

static bool is_kind(const struct page *p, const char *kind)
{
	return strcmp(str(p->report, "kind"), kind) == 0;
}

/* --- paragraphs ----------------------------------------------------------------- */

static void begin(struct page *p)
{
	text_init(&p->text, p->buf, sizeof(p->buf));
}

/* Appends a value of the report. */
static void quote(struct page *p, const char *s)
{
	text_escape(&p->text, s);
}

static void quote_if(struct page *p, const char *before, const char *s, const char *after)
{
	if (!*s)
		return;
	text_add(&p->text, "%s", before);
	quote(p, s);
	text_add(&p->text, "%s", after);
}

/* The next word: its bytes, how many of them are shown, and the columns that takes. */
struct piece {
	size_t bytes, shown;
	unsigned int columns;
	unsigned int gap;	/* spaces wanted behind it, if the line goes on */
};

static struct piece next_piece(const char *s)
{
	struct piece w = { .gap = 1 };
	size_t i;

	w.bytes = w.shown = strcspn(s, " ");
	while (w.shown > 0 && s[w.shown - 1] == HOLD[0]) {
		w.shown--;
		w.gap++;
	}
	for (i = 0; i < w.shown; i++)
		w.columns += ((unsigned char)s[i] & 0xc0) != 0x80;
	return w;
}

/* Prints the paragraph behind its label, wrapped; nothing when it is empty. */
static void flush(struct page *p, const char *label, unsigned int indent)
{
	const char *s = p->buf;
	unsigned int column = indent, gap = 0;
	struct piece w;
	size_t i;

	if (!*s)
		return;
	if (indent)
		fprintf(p->out, "  %-*s", INDENT - 2, label);
	for (; *s; s += w.bytes, s += strspn(s, " ")) {
		w = next_piece(s);
		if (gap && column + gap + w.columns > p->width) {
			fprintf(p->out, "\n%*s", INDENT, "");
			column = INDENT;
			gap = 0;
		}
		fprintf(p->out, "%*s", (int)gap, "");
		for (i = 0; i < w.shown; i++)
			fputc(s[i] == HOLD[0] ? ' ' : s[i], p->out);
		column += gap + w.columns;
		gap = w.gap;
	}
	fputc('\n', p->out);
}

static void each_string(struct page *p, const char *label, const char *path)
{
	struct json_object *array = get(p->report, path, json_type_array), *v;
	size_t i;

	for (i = 0; array && i < json_object_array_length(array); i++) {
		v = json_object_array_get_idx(array, i);
		if (!json_object_is_type(v, json_type_string))
			continue;
		begin(p);
		quote(p, json_object_get_string(v));
		flush(p, i ? "" : label, INDENT);
	}
}

static void join_strings(struct page *p, const char *path, const char *between)
{
	struct json_object *array = get(p->report, path, json_type_array), *v;
	size_t i;

	for (i = 0; array && i < json_object_array_length(array); i++) {
		v = json_object_array_get_idx(array, i);
		if (i)
			text_add(&p->text, "%s", between);
		if (json_object_is_type(v, json_type_string))
			quote(p, json_object_get_string(v));
	}
}

/* --- the lines ------------------------------------------------------------------ */

static void add_duration(struct page *p, int64_t ns)
{
	if (ns >= 1000000000)
		text_add(&p->text, "%.1f s", (double)ns / 1e9);
	else if (ns >= 1000000)
		text_add(&p->text, "%.1f ms", (double)ns / 1e6);
	else
		text_add(&p->text, "%.1f us", (double)ns / 1e3);
}

static void title(struct page *p)
{
	const struct cause *cause = cause_find(str(p->report, "verdict.cause"));
	int64_t ns = 0, count = 0;

	begin(p);
	quote(p, *str(p->report, "registration.api") ? str(p->report, "registration.api") : "registration");
	if (is_kind(p, KIND_STUCK) || is_kind(p, KIND_COMPLETED)) {
		text_add(&p->text, is_kind(p, KIND_STUCK) ? " has been in flight for " :
			 ", reported as stuck, ended well after ");
		number(p->report, "registration.duration_ns", &ns);
		add_duration(p, ns);
	} else {
		text_add(&p->text, " failed");
		if (is_kind(p, KIND_SUMMARY) && number(p->report, "related.count", &count))
			text_add(&p->text, " %" PRId64 " times", count);
		quote_if(p, ": ", str(p->report, "registration.errno_name"), "");
		text_add(&p->text, " - %s", cause ? cause->title : "the cause is unknown");
	}
	flush(p, "", 0);
	begin(p);
	quote(p, str(p->report, "time"));
	quote_if(p, HOLD " node" HOLD, str(p->report, "node"), "");
	quote_if(p, HOLD " kernel" HOLD, str(p->report, "kernel"), "");
	flush(p, "when", INDENT);
}

static void who(struct page *p)
{
	int64_t n;

	begin(p);
	quote(p, str(p->report, "process.comm"));
	if (number(p->report, "process.pid", &n))
		text_add(&p->text, "[%" PRId64 "]", n);
	if (number(p->report, "process.uid", &n))
		text_add(&p->text, HOLD " uid" HOLD "%" PRId64, n);
	quote_if(p, HOLD " exe" HOLD, str(p->report, "process.exe"), "");
	quote_if(p, HOLD " cgroup" HOLD, str(p->report, "process.cgroup"), "");
	quote_if(p, HOLD " container" HOLD, str(p->report, "process.container_id"), "");
	quote_if(p, HOLD " pod" HOLD, str(p->report, "process.pod_uid"), "");
	flush(p, "who", INDENT);
}

static void what(struct page *p)
{
	char size[TEXT_BYTES_LEN];
	int64_t n;

	begin(p);
	if (number(p->report, "registration.length", &n))
		text_add(&p->text, "%s", text_bytes(size, (uint64_t)n));
	else
		text_add(&p->text, "a registration");
	quote_if(p, " at ", str(p->report, "registration.address"), "");
	quote_if(p, " on ", str(p->report, "registration.device"), "");
	quote_if(p, " (", str(p->report, "registration.driver"), ")");
	if (get(p->report, "registration.access", json_type_array)) {
		text_add(&p->text, ", access ");
		join_strings(p, "registration.access", "|");
	}
	quote_if(p, ", memory ", str(p->report, "registration.allocation_class"), "");
	if (get(p->report, "pin.gup_flags_names", json_type_array)) {
		text_add(&p->text, ", pinned with ");
		join_strings(p, "pin.gup_flags_names", "|");
	}
	quote_if(p, ", stage ", str(p->report, "registration.stage"), "");
	flush(p, "what", INDENT);
}

static void by(struct page *p)
{
	const char *grade = str(p->report, "first_pin.grade");
	struct json_object *candidates = get(p->report, "first_pin.candidates", json_type_array);
	int i;

	begin(p);
	for (i = GRADE_none + 1; i < GRADE_MAX; i++)
		if (strcmp(grade, grade_words[i].word) == 0)
			text_add(&p->text, "%s", grade_words[i].meaning);
	if (candidates && json_object_array_length(candidates)) {
		text_add(&p->text, "%sit may be: ", p->text.len ? "; " : "");
		join_strings(p, "first_pin.candidates", "; ");
	}
	flush(p, "by", INDENT);
}

static void sure(struct page *p)
{
	const char *confidence = str(p->report, "verdict.confidence");
	const char *c;
	int i;

	begin(p);
	for (c = confidence; *c; c++)
		if (*c >= 'a' && *c <= 'z')
			text_add(&p->text, "%c", *c - 'a' + 'A');
	for (i = 0; i < CONFIDENCE_MAX; i++)
		if (strcmp(confidence, confidence_words[i].word) == 0)
			text_add(&p->text, ": %s", confidence_words[i].meaning);
	if (get(p->report, "verdict.also", json_type_array)) {
		text_add(&p->text, "; fits as well: ");
		join_strings(p, "verdict.also", ", ");
	}
	flush(p, "sure", INDENT);
}

static void not_these(struct page *p)
{
	struct json_object *array = get(p->report, "ruled_out", json_type_array), *entry;
	size_t i;

	for (i = 0; array && i < json_object_array_length(array); i++) {
		entry = json_object_array_get_idx(array, i);
		begin(p);
		quote(p, str(entry, "cause"));
		quote_if(p, ": ", str(entry, "because"), "");
		flush(p, i ? "" : "not", INDENT);
	}
}

/* That memory was not short is what a reader of ENOMEM wants to know first. */
static void memory(struct page *p)
{
	char size[TEXT_BYTES_LEN];
	int64_t n;

	begin(p);
	if (number(p->report, "memory.available_bytes", &n))
		text_add(&p->text, "%s available", text_bytes(size, (uint64_t)n));
	if (number(p->report, "memory.free_bytes", &n))
		text_add(&p->text, ", %s free", text_bytes(size, (uint64_t)n));
	if (number(p->report, "memory.free_outside_bytes", &n))
		text_add(&p->text, ", %s of it outside CMA and ZONE_MOVABLE", text_bytes(size, (uint64_t)n));
	if (number(p->report, "cgroup_limits.memory_current_bytes", &n))
		text_add(&p->text, "; cgroup uses %s", text_bytes(size, (uint64_t)n));
	if (number(p->report, "cgroup_limits.memory_max_bytes", &n))
		text_add(&p->text, " of %s", text_bytes(size, (uint64_t)n));
	flush(p, "mem", INDENT);
}

static void chain(struct page *p)
{
	struct json_object *array = get(p->report, "chain", json_type_array), *entry;
	int64_t left;
	size_t i;

	begin(p);
	for (i = 0; array && i < json_object_array_length(array); i++) {
		entry = json_object_array_get_idx(array, i);
		quote_if(p, p->text.len ? " -> " : "", str(entry, "function"), "");
		quote_if(p, HOLD "=" HOLD "-", str(entry, "errno_name"), "");
		if (number(entry, "left", &left))
			text_add(&p->text, HOLD "=" HOLD "%" PRId64 HOLD "left", left);
	}
	flush(p, "chain", INDENT);
}

static void remedies(struct page *p)
{
	struct json_object *array = get(p->report, "verdict.remedies", json_type_array), *v;
	size_t i;

	for (i = 0; array && i < json_object_array_length(array); i++) {
		v = json_object_array_get_idx(array, i);
		begin(p);
		if (json_object_is_type(v, json_type_string))
			quote(p, json_object_get_string(v));
		flush(p, i == 0 ? "now" : i == 1 ? "then" : "", INDENT);
	}
}

static void related(struct page *p)
{
	int64_t n;

	begin(p);
	if (number(p->report, "related.suppressed", &n))
		text_add(&p->text, "%" PRId64 " failures not reported in full, ", n);
	quote_if(p, "between ", str(p->report, "related.first"), "");
	quote_if(p, " and ", str(p->report, "related.last"), "; ");
	quote_if(p, "first told by report ", str(p->report, "related.first_report_id"), "");
	flush(p, "see", INDENT);
}

static void more(struct page *p)
{
	struct json_object *missing = get(p->report, "missing_evidence", json_type_array), *entry;
	const struct cause *cause = cause_find(str(p->report, "verdict.cause"));
	size_t i, n = missing ? json_object_array_length(missing) : 0;

	begin(p);
	if (cause)
		text_add(&p->text, "pinwhy" HOLD "causes" HOLD "%s" HOLD " ", cause->id);
	quote_if(p, "report" HOLD, str(p->report, "report_id"), HOLD " ");
	if (missing && n == 0)
		text_add(&p->text, "missing" HOLD "evidence:" HOLD "none");
	flush(p, "more", INDENT);
	for (i = 0; i < n; i++) {
		entry = json_object_array_get_idx(missing, i);
		begin(p);
		quote(p, str(entry, "what"));
		quote_if(p, ": ", str(entry, "why"), "");
		flush(p, i ? "" : "miss", INDENT);
	}
}

void explain_print_width(FILE *out, struct json_object *report, unsigned int width)
{
	struct page p = {
		.out = out, .report = report,
		.width = width < EXPLAIN_WIDTH_MIN ? EXPLAIN_WIDTH_MIN : width,
	};

	title(&p);
	who(&p);
	what(&p);
	begin(&p);
	quote(&p, str(report, "verdict.summary"));
	flush(&p, "why", INDENT);
	each_string(&p, "seen", "verdict.evidence");
	by(&p);
	sure(&p);
	not_these(&p);
	memory(&p);
	chain(&p);
	remedies(&p);
	related(&p);
	more(&p);
}

void explain_print(FILE *out, struct json_object *report)
{
	explain_print_width(out, report, EXPLAIN_WIDTH);
}
