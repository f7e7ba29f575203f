// SPDX-License-Identifier: BSD-2-Clause
#include "exposition.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NS_PER_S UINT64_C(1000000000)

/* ---- which format ---- */

struct range {
	const char *type;
	size_t len;
	double q;
	bool other_version;	/* of OpenMetrics than ours */
};

static bool is_word(const char *s, size_t len, const char *word)
{
	return strlen(word) == len && strncasecmp(s, word, len) == 0;
}

/* One parameter "name=value" of a media range. */
static void parameter(struct range *r, const char *s, size_t len)
{
	size_t name;

	while (len && isspace((unsigned char)*s))
		s++, len--;
	name = strcspn(s, "=");
	if (name >= len)
		return;
	if (is_word(s, name, "q"))
		r->q = strtod(s + name + 1, NULL);
	else if (is_word(s, name, "version"))
		r->other_version = strncmp(s + name + 1, "1.0.0", 5) != 0 && strncmp(s + name + 1, "\"1.0.0\"", 7) != 0;
}

/* "type/subtype;name=value;..." up to the next comma. */
static const char *next_range(const char *s, struct range *ret)
{
	size_t len;

	s += strspn(s, " \t,");
	*ret = (struct range){ .type = s, .len = strcspn(s, " \t;,"), .q = 1 };
	s += strcspn(s, ";,");
	while (*s == ';') {
		s++;
		len = strcspn(s, ";,");
		parameter(ret, s, len);
		s += len;
	}
	return s;
}

enum exposition_format exposition_negotiate(const char *accept)
{
	double open = 0, text = 0;
	struct range r;

	while (*accept) {
		accept = next_range(accept, &r);
		if (is_word(r.type, r.len, "application/openmetrics-text") && !r.other_version && r.q > open)
			open = r.q;
		else if ((is_word(r.type, r.len, "text/plain") || is_word(r.type, r.len, "text/*") ||
			  is_word(r.type, r.len, "*/*")) && r.q > text)
			text = r.q;
	}
	return open > 0 && open >= text ? EXPOSITION_OPENMETRICS : EXPOSITION_TEXT;
}

const char *exposition_content_type(enum exposition_format format)
{
	return format == EXPOSITION_OPENMETRICS ? "application/openmetrics-text; version=1.0.0; charset=utf-8" :
						  "text/plain; version=0.0.4; charset=utf-8";
}

/* ---- the page ---- */

__attribute__((format(printf, 2, 3)))
static void add(struct exposition *e, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(e->buf + e->len, e->size - e->len, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= e->size - e->len)
		e->full = true;
	else
		e->len += (size_t)n;
}

static void add_escaped(struct exposition *e, const char *s, bool quotes)
{
	for (; *s; s++) {
		if (*s == '\n')
			add(e, "\\n");
		else
			add(e, "%s%c", *s == '\\' || (*s == '"' && quotes) ? "\\" : "", *s);
	}
}

void exposition_begin(struct exposition *e, enum exposition_format format, char *buf, size_t size, uint64_t created_real_ns)
{
	*e = (struct exposition){ .buf = buf, .size = size, .format = format, .created_real_ns = created_real_ns };
}

static const char *const suffixes[] = {
	[EXPOSITION_counter] = "_total",
	[EXPOSITION_gauge] = "",
	[EXPOSITION_info] = "_info",
};

/* OpenMetrics calls a family by its samples' name without what the type adds to it. */
static size_t stem(const struct exposition *e)
{
	return strlen(e->name) - strlen(suffixes[e->type]);
}

static void unit(struct exposition *e)
{
	static const char *const units[] = { "bytes", "seconds" };
	size_t len = stem(e), n;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		n = strlen(units[i]);
		if (len > n && e->name[len - n - 1] == '_' && strncmp(&e->name[len - n], units[i], n) == 0)
			add(e, "# UNIT %.*s %s\n", (int)len, e->name, units[i]);
	}
}

void exposition_family(struct exposition *e, const char *name, enum exposition_type type, const char *help)
{
	static const char *const types[] = {
		[EXPOSITION_counter] = "counter",
		[EXPOSITION_gauge] = "gauge",
		[EXPOSITION_info] = "info",
	};
	bool open = e->format == EXPOSITION_OPENMETRICS;
	int len;

	e->name = name;
	e->type = type;
	len = (int)(open ? stem(e) : strlen(name));
	add(e, "# TYPE %.*s %s\n", len, name, types[!open && type == EXPOSITION_info ? EXPOSITION_gauge : type]);
	if (open)
		unit(e);
	add(e, "# HELP %.*s ", len, name);
	add_escaped(e, help, open);
	add(e, "\n");
}

static void series(struct exposition *e, const char *suffix, const struct exposition_label *labels)
{
	add(e, "%.*s%s", (int)stem(e), e->name, suffix);
	for (size_t i = 0; labels && labels[i].name; i++) {
		add(e, "%s%s=\"", i ? "," : "{", labels[i].name);
		add_escaped(e, labels[i].value, true);
		add(e, "\"%s", labels[i + 1].name ? "" : "}");
	}
}

/* When a counter began is a sample next to it. */
static void created(struct exposition *e, const struct exposition_label *labels)
{
	if (e->format != EXPOSITION_OPENMETRICS || e->type != EXPOSITION_counter)
		return;
	series(e, "_created", labels);
	add(e, " %" PRIu64 ".%03" PRIu64 "\n", e->created_real_ns / NS_PER_S, e->created_real_ns % NS_PER_S / 1000000);
}

void exposition_count(struct exposition *e, const struct exposition_label *labels, uint64_t value,
		      const struct exposition_example *example)
{
	series(e, suffixes[e->type], labels);
	add(e, " %" PRIu64, value);
	if (example && e->format == EXPOSITION_OPENMETRICS) {
		add(e, " # {%s=\"", example->label);
		add_escaped(e, example->value, true);
		add(e, "\"} 1 %" PRIu64 ".%03" PRIu64, example->real_ns / NS_PER_S, example->real_ns % NS_PER_S / 1000000);
	}
	add(e, "\n");
	created(e, labels);
}

void exposition_u64(struct exposition *e, const struct exposition_label *labels, uint64_t value)
{
	exposition_count(e, labels, value, NULL);
}

void exposition_seconds(struct exposition *e, const struct exposition_label *labels, uint64_t ns)
{
	series(e, suffixes[e->type], labels);
	add(e, " %" PRIu64 ".%06" PRIu64 "\n", ns / NS_PER_S, ns % NS_PER_S / 1000);
	created(e, labels);
}

int exposition_end(struct exposition *e, size_t *ret_len)
{
	if (e->format == EXPOSITION_OPENMETRICS)
		add(e, "# EOF\n");
	if (e->full)
		return -ENOBUFS;
	*ret_len = e->len;
	return 0;
}
