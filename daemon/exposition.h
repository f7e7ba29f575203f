/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How numbers are written for Prometheus: its text format 0.0.4, or OpenMetrics 1.0 for who asks for it. The formats differ in what
 * a family is called, in units, and in what only OpenMetrics has: when a counter began, and an example of what it counted.
 *
 *	exposition_begin()
 *	exposition_family()  then its samples, for each family
 *	exposition_end()
 *
 * Pure: a buffer of the caller's, no clock. What does not fit is an error at the end, never a page cut short.
 */
#ifndef PINWHY_EXPOSITION_H
#define PINWHY_EXPOSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum exposition_format { EXPOSITION_TEXT, EXPOSITION_OPENMETRICS };

/* `info` is a gauge that is always 1 where the format has no such type. */
enum exposition_type { EXPOSITION_counter, EXPOSITION_gauge, EXPOSITION_info };

struct exposition {
	char *buf;
	size_t size, len;
	bool full;
	enum exposition_format format;
	uint64_t created_real_ns;	/* since when counters count */
	const char *name;		/* of the family's samples, as in the text format */
	enum exposition_type type;
};

struct exposition_label {
	const char *name, *value;	/* the value is escaped here */
};
#define EXPOSITION_LABELS(...) (const struct exposition_label[]){ __VA_ARGS__, { NULL, NULL } }

/* One thing that was counted: OpenMetrics allows 128 characters for label and value together. */
struct exposition_example {
	const char *label, *value;
	uint64_t real_ns;
};

/* By the Accept header of a request, "" = none: OpenMetrics 1.0 for who prefers it and for nobody else. */
enum exposition_format exposition_negotiate(const char *accept);
const char *exposition_content_type(enum exposition_format format);

void exposition_begin(struct exposition *e, enum exposition_format format, char *buf, size_t size, uint64_t created_real_ns);
/* `name` as in the text format: a counter's with its _total. Strings must live as long as the family. */
void exposition_family(struct exposition *e, const char *name, enum exposition_type type, const char *help);
/* `labels` NULL = none. `example` NULL = none; left out where the format has no room for it. */
void exposition_count(struct exposition *e, const struct exposition_label *labels, uint64_t value,
		      const struct exposition_example *example);
void exposition_u64(struct exposition *e, const struct exposition_label *labels, uint64_t value);
void exposition_seconds(struct exposition *e, const struct exposition_label *labels, uint64_t ns);
/* 0 and the length, no NUL after it; -ENOBUFS. */
int exposition_end(struct exposition *e, size_t *ret_len);

#endif
