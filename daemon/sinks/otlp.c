// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reports to an OpenTelemetry collector: OTLP/HTTP logs in JSON (opentelemetry.io/docs/specs/otlp). The daemon renders log
 * records; the sink's process, which may wait for the collector, sends batches of them with otlp_send.c.
 */
#include <errno.h>
#include <json-c/json_object.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jbuild.h"
#include "jread.h"
#include "log.h"
#include "sinks/fields.h"
#include "sinks/ops.h"
#include "sinks/otlp_send.h"

#define NS_PER_MS 1000000ULL
#define NS_PER_S 1000000000ULL
#define SLACK_NS (2 * NS_PER_S)	/* beyond the request's own time-out */

_Static_assert(sizeof(struct otlp_settings) <= BATCH_SETTINGS, "settings do not fit into a batch");

struct otlp {
	char url[CONFIG_STR_MAX];
	char node[sizeof(((struct otlp_settings *)NULL)->node)];	/* as the first report named it */
	struct otlp_sender *sender;	/* in the sink's process only */
};

static bool otlp_wanted(const struct config *c)
{
	return *c->otlp_url != '\0';
}

static int otlp_open(void **ret_priv, const struct config *c, uint64_t *ret_repaired)
{
	struct otlp *o = calloc(1, sizeof(*o));
	const char *missing = otlp_library_missing();

	(void)ret_repaired;
	if (missing || !o) {
		if (missing)
			log_error("sink=otlp needs libcurl, which is not installed: %s; install libcurl3-gnutls", missing);
		free(o);
		return missing ? -ENOENT : -ENOMEM;
	}
	strcpy(o->url, c->otlp_url);
	*ret_priv = o;
	return 0;
}

/* "2026-11-30T01:21:01.675Z"; 0 = it is not one. */
static uint64_t time_of(const char *text)
{
	struct tm tm = { 0 };
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	unsigned int ms = 0;

	if (!rest)
		return 0;
	if (*rest == '.' && sscanf(rest + 1, "%3u", &ms) != 1)
		ms = 0;
	return (uint64_t)timegm(&tm) * NS_PER_S + ms * NS_PER_MS;
}

/* 64-bit numbers are strings in protobuf's JSON. */
static void put_u64(struct jbuild *b, struct json_object *o, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	jb_string(b, o, key, text);
}

static void add_attribute(struct jbuild *b, struct json_object *attributes, const char *key, struct json_object *from)
{
	struct json_object *a = jb_object(b), *value = jb_object(b);

	jb_string(b, a, "key", key);
	jb_string(b, value, json_object_is_type(from, json_type_int) ? "intValue" : "stringValue", json_object_get_string(from));
	jb_put(b, a, "value", value);
	jb_append(b, attributes, a);
}

static struct json_object *record_of(struct jbuild *b, const struct report *report)
{
	static const struct {
		int priority, number;
		const char *text;
	} severities[] = { { 3, 17, "ERROR" }, { 4, 13, "WARN" }, { 5, 10, "INFO2" }, { 6, 9, "INFO" } };
	struct json_object *o = jb_object(b), *body = jb_object(b), *attributes = jb_array(b);
	struct json_object *line = json_object_new_string_len(report->line, (int)report->line_len);
	char headline[HEADLINE_MAX];
	struct timespec now;
	uint64_t when = time_of(jr_string(report->json, "time"));

	clock_gettime(CLOCK_REALTIME, &now);
	if (when)
		put_u64(b, o, "timeUnixNano", when);
	put_u64(b, o, "observedTimeUnixNano", (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec);
	for (size_t i = 0; i < sizeof(severities) / sizeof(severities[0]); i++) {
		if (severities[i].priority != fields_priority(report->kind))
			continue;
		jb_int(b, o, "severityNumber", severities[i].number);
		jb_string(b, o, "severityText", severities[i].text);
	}
	jb_string(b, body, "stringValue", fields_headline(report->json, headline));
	jb_put(b, o, "body", body);
	for (size_t i = 0; i < nfields; i++) {
		struct json_object *value = field_value(report->json, fields[i].path);

		if (value)
			add_attribute(b, attributes, fields[i].attribute, value);
	}
	if (line)
		add_attribute(b, attributes, "pinwhy.report", line);
	b->failed |= !line;
	json_object_put(line);
	jb_put(b, o, "attributes", attributes);
	return o;
}

static int otlp_render(void *priv, const struct report *report, char **ret_data, size_t *ret_len)
{
	struct jbuild b = { 0 };
	struct json_object *record = record_of(&b, report);
	struct otlp *o = priv;
	const char *text = NULL;

	if (!*o->node)
		snprintf(o->node, sizeof(o->node), "%s", jr_string(report->json, "node"));
	if (!b.failed)
		text = json_object_to_json_string_ext(record, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	*ret_data = text ? strdup(text) : NULL;
	*ret_len = *ret_data ? strlen(*ret_data) : 0;
	json_object_put(record);
	return *ret_data ? 0 : -ENOMEM;
}

static const char *otlp_target(const void *priv)
{
	const struct otlp *o = priv;

	return o->url;
}

static void otlp_close(void *priv)
{
	free(priv);
}

static void otlp_work(void *priv, const void *batch, void *ret_outcome)
{
	struct otlp *o = priv;

	otlp_send(&o->sender, batch, ret_outcome);
}

static bool otlp_prepare(void *priv, const struct config *c, uint64_t now_ns, struct batch *b)
{
	struct otlp_settings *s = (void *)b->settings.room;
	struct otlp *o = priv;

	(void)now_ns;
	strcpy(s->url, o->url);
	strcpy(s->ca_file, c->otlp_ca_file);
	strcpy(s->node, o->node);
	s->timeout_ms = c->otlp_timeout_ms;
	s->gzip = c->otlp_gzip;
	return false;
}

static void otlp_answered(void *priv, const struct outcome *o, uint64_t now_ns)
{
	(void)priv;
	(void)o;
	(void)now_ns;
}

static uint64_t otlp_deadline_ns(const struct config *c)
{
	return c->otlp_timeout_ms * NS_PER_MS + SLACK_NS;
}

const struct sink_ops sink_otlp = {
	.wanted = otlp_wanted, .open = otlp_open, .render = otlp_render, .target = otlp_target, .close = otlp_close,
	.work = otlp_work, .prepare = otlp_prepare, .answered = otlp_answered, .deadline_ns = otlp_deadline_ns,
};
