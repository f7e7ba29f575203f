// SPDX-License-Identifier: BSD-2-Clause
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "jread.h"
#include "report.h"
#include "sinks/fields.h"
#include "text.h"

const struct field fields[] = {
#define FIELD(journal, attribute, path) { "PINWHY_" #journal, attribute, path },
#include "sinks/fields.def"
#undef FIELD
};
const size_t nfields = sizeof(fields) / sizeof(fields[0]);

struct json_object *field_value(struct json_object *report, const char *path)
{
	struct json_object *value = jr_get(report, path, json_type_string);

	return value ? value : jr_get(report, path, json_type_int);
}

static const struct {
	const char *kind;
	const char *words;	/* behind the name of the call */
	int priority;
} kinds[] = {
	{ KIND_FAILED, "failed", 3 },
	{ KIND_SUMMARY, "failed again", 3 },
	{ KIND_STUCK, "does not come back", 3 },
	{ KIND_STALE, "region lost its memory", 3 },
	{ KIND_HAZARD, NULL, 4 },
	{ KIND_COMPLETED, "came back after all", 6 },
};
#define NKINDS (sizeof(kinds) / sizeof(kinds[0]))

int fields_priority(const char *kind)
{
	for (size_t i = 0; i < NKINDS; i++)
		if (strcmp(kinds[i].kind, kind) == 0)
			return kinds[i].priority;
	return 5;
}

static void add_if(struct text *t, const char *before, const char *s, const char *after)
{
	if (!*s)
		return;
	text_add(t, "%s", before);
	text_escape(t, s);
	text_add(t, "%s", after);
}

static void add_subject(struct text *t, struct json_object *report)
{
	const char *kind = jr_string(report, "kind"), *api = jr_string(report, "registration.api");
	int64_t count;

	for (size_t i = 0; i < NKINDS; i++) {
		if (strcmp(kinds[i].kind, kind) != 0 || !kinds[i].words)
			continue;
		text_escape(t, *api ? api : "registration");
		text_add(t, " %s", kinds[i].words);
		if (strcmp(kind, KIND_SUMMARY) == 0 && jr_int(report, "related.count", &count))
			text_add(t, " %" PRId64 " times", count);
		return;
	}
	text_escape(t, *kind ? kind : "report of no kind");
}

const char *fields_headline(struct json_object *report, char buf[HEADLINE_MAX])
{
	const char *comm = jr_string(report, "process.comm");
	struct text t;
	int64_t pid;

	text_init(&t, buf, HEADLINE_MAX);
	add_subject(&t, report);
	add_if(&t, ": ", jr_string(report, "registration.errno_name"), "");
	if (jr_int(report, "process.pid", &pid)) {
		add_if(&t, " for ", comm, "");
		text_add(&t, "[%" PRId64 "]", pid);
	}
	add_if(&t, " on ", jr_string(report, "registration.device"), "");
	add_if(&t, " - ", jr_string(report, "verdict.summary"), "");
	add_if(&t, " (", jr_string(report, "verdict.cause"), "");
	add_if(&t, ", ", jr_string(report, "verdict.confidence"), ")");
	return buf;
}

/*
 * FNV-1a of 128 bits over a name of our own, then the marks of a version 8 UUID, which is what a value of one's own
 * making is to have. It needs no secrecy, only to be the same on every node and in every version.
 */
const char *fields_message_id(const char *kind, const char *cause, char buf[MESSAGE_ID_LEN])
{
	unsigned __int128 prime = ((unsigned __int128)1 << 88) + 0x13b;
	unsigned __int128 h = ((unsigned __int128)0x6c62272e07bb0142ULL << 64) + 0x62b821756295c58dULL;
	const char *parts[] = { "pinwhy", *cause ? "cause" : "kind", *cause ? cause : kind };
	uint64_t high, low;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		for (const char *p = parts[i];; p++) {
			h = (h ^ (unsigned char)*p) * prime;
			if (!*p)
				break;
		}
	high = ((uint64_t)(h >> 64) & ~0xf000ULL) | 0x8000;
	low = ((uint64_t)h & ~(3ULL << 62)) | 2ULL << 62;
	snprintf(buf, MESSAGE_ID_LEN, "%016" PRIx64 "%016" PRIx64, high, low);
	return buf;
}
