// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <json-c/json_object.h>
#include <json-c/json_tokener.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "text.h"

#define RECORD_MAX 8192	/* bytes of a ring record or span */
#define DEPTH_MAX 8

struct replay {
	FILE *in;
	void (*emit)(void *ctx, const struct report *report);
	void *ctx;
	struct pipeline *pipeline;
	struct capture_error *error;
	uint64_t line;
	struct json_object *next;	/* read ahead, to see whether asking for facts failed */
	int next_rc;
	bool have_next;
	bool finished;	/* its end mark was read */
	bool ended;	/* nothing is read any more: rc */
	int rc;
	struct clock_pair last;
	struct loss loss;
	struct identity identity;
	char text[CAPTURE_LINE_MAX + 1];
	_Alignas(8) unsigned char data[RECORD_MAX];
};

static int fail(struct replay *r, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int fail(struct replay *r, int err, const char *fmt, ...)
{
	struct text t;
	va_list ap;

	r->error->line = r->line;
	text_init(&t, r->error->text, sizeof(r->error->text));
	va_start(ap, fmt);
	text_vadd(&t, fmt, ap);
	va_end(ap);
	return err;
}

/* --- lines ---------------------------------------------------------------------- */

/* 1 with an object, 0 at the end, or an error. */
static int load(struct replay *r, struct json_object **ret_object)
{
	enum json_tokener_error why;
	struct json_tokener *tok;
	struct json_object *o;
	size_t len;

	if (!fgets(r->text, sizeof(r->text), r->in))
		return ferror(r->in) ? fail(r, -EIO, "reading failed") : 0;
	r->line++;
	len = strlen(r->text);
	if (len == 0)
		return fail(r, -EBADMSG, "the line holds a NUL byte: not a capture, or damaged");
	if (r->text[len - 1] != '\n')
		return feof(r->in) ? fail(r, -ENODATA, "the last line is cut off") :
		       fail(r, -EBADMSG, "the line is longer than %d bytes or holds a NUL byte", CAPTURE_LINE_MAX);
	tok = json_tokener_new_ex(DEPTH_MAX);
	if (!tok)
		return fail(r, -ENOMEM, "out of memory");
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
	o = json_tokener_parse_ex(tok, r->text, (int)len - 1);
	why = json_tokener_get_error(tok);
	if (why == json_tokener_success && json_tokener_get_parse_end(tok) != len - 1)
		why = json_tokener_error_parse_unexpected;
	json_tokener_free(tok);
	if (why == json_tokener_success && json_object_is_type(o, json_type_object)) {
		*ret_object = o;
		return 1;
	}
	json_object_put(o);
	return fail(r, -EBADMSG, "not a line of a capture (%s)",
		    why == json_tokener_success ? "no JSON object" : json_tokener_error_desc(why));
}

static int take(struct replay *r, struct json_object **ret_object)
{
	if (!r->have_next)
		return load(r, ret_object);
	r->have_next = false;
	*ret_object = r->next;
	return r->next_rc;
}

/* --- values --------------------------------------------------------------------- */

static bool get_u64(struct json_object *o, const char *key, uint64_t *ret_value)
{
	struct json_object *v;

	if (!json_object_object_get_ex(o, key, &v) || !json_object_is_type(v, json_type_int))
		return false;
	*ret_value = json_object_get_uint64(v);
	return true;
}

static bool get_u32(struct json_object *o, const char *key, uint32_t *ret_value)
{
	uint64_t value;

	if (!get_u64(o, key, &value) || value > UINT32_MAX)
		return false;
	*ret_value = (uint32_t)value;
	return true;
}

static bool get_err(struct json_object *v, int32_t *ret_err)
{
	int64_t err;

	if (!json_object_is_type(v, json_type_int))
		return false;
	err = json_object_get_int64(v);
	if (err >= 0 || err < -4095)
		return false;
	*ret_err = (int32_t)err;
	return true;
}

static bool get_bool(struct json_object *o, const char *key, bool *ret_value)
{
	struct json_object *v;

	if (!json_object_object_get_ex(o, key, &v) || !json_object_is_type(v, json_type_boolean))
		return false;
	*ret_value = json_object_get_boolean(v);
	return true;
}

/* A string that fits the field, bytes as they were. */
static bool copy_string(struct json_object *v, char *field, size_t size)
{
	size_t len;

	if (!json_object_is_type(v, json_type_string))
		return false;
	len = (size_t)json_object_get_string_len(v);
	if (len >= size)
		return false;
	memset(field, 0, size);
	memcpy(field, json_object_get_string(v), len);
	return true;
}

static bool get_string(struct json_object *o, const char *key, char *field, size_t size)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) && copy_string(v, field, size);
}

static bool get_array(struct json_object *o, const char *key, size_t n, struct json_object **ret_array)
{
	return json_object_object_get_ex(o, key, ret_array) &&
	       json_object_is_type(*ret_array, json_type_array) &&
	       json_object_array_length(*ret_array) == n;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "(40)": the number of zero bytes, *at behind it; 0 = no such thing. */
static size_t zero_run(const char **at)
{
	char *end;
	unsigned long n;

	if (**at != '(' || (*at)[1] < '1' || (*at)[1] > '9')
		return 0;
	n = strtoul(*at + 1, &end, 10);
	if (*end != ')' || n > RECORD_MAX)
		return 0;
	*at = end + 1;
	return n;
}

/* As capture_write.c put_hex() writes it. */
static int get_hex(struct replay *r, struct json_object *v, size_t *ret_size)
{
	size_t n = 0, zeros;
	const char *hex;

	if (!json_object_is_type(v, json_type_string))
		return fail(r, -EBADMSG, "the record is not a string of hexadecimal digits");
	for (hex = json_object_get_string(v); *hex; n += zeros) {
		int high = hex_digit(hex[0]), low = high < 0 ? -1 : hex_digit(hex[1]);

		zeros = high < 0 ? zero_run(&hex) : 1;
		if (!zeros || (high >= 0 && low < 0))
			return fail(r, -EBADMSG, "a character of the record is no hexadecimal digit, nor a run of zeros");
		if (zeros > RECORD_MAX - n)
			return fail(r, -EBADMSG, "a record of more than %d bytes", RECORD_MAX);
		if (high >= 0) {
			r->data[n] = (unsigned char)(high << 4 | low);
			hex += 2;
		} else {
			memset(&r->data[n], 0, zeros);
		}
	}
	*ret_size = n;
	return 0;
}

/* --- identity and settings ------------------------------------------------------ */

static bool get_names(struct json_object *o, const char *key, struct enum_names *names)
{
	struct json_object *array;
	size_t i;

	if (!get_array(o, key, IDENTITY_NAMES_MAX, &array))
		return false;
	for (i = 0; i < IDENTITY_NAMES_MAX; i++)
		if (!copy_string(json_object_array_get_idx(array, i), names->name[i], IDENTITY_NAME_LEN))
			return false;
	return true;
}

/* A field that older captures have not: 0 there. */
static bool get_newer_u64(struct json_object *o, const char *key, uint64_t *ret_value)
{
	*ret_value = 0;
	return !json_object_object_get_ex(o, key, NULL) || get_u64(o, key, ret_value);
}

/* Ids are appended within one wire version: a capture may know fewer or more functions than we do. */
static bool get_functions(struct json_object *o, struct identity *id)
{
	struct json_object *array, *fn;
	size_t i;

	if (!json_object_object_get_ex(o, "functions", &array) || !json_object_is_type(array, json_type_array))
		return false;
	for (i = 0; i < WIRE_FN_MAX && i < json_object_array_length(array); i++) {
		fn = json_object_array_get_idx(array, i);
		if (!json_object_is_type(fn, json_type_object) ||
		    !get_string(fn, "name", id->fn_name[i], sizeof(id->fn_name[i])) ||
		    !get_string(fn, "module", id->fn_module[i], sizeof(id->fn_module[i])) ||
		    !get_bool(fn, "watched", &id->fn_watched[i]) ||
		    !get_newer_u64(fn, "since_ns", &id->fn_since_ns[i]))
			return false;
	}
	return true;
}

/* A field that older captures have not: false there. */
static bool get_newer_bool(struct json_object *o, const char *key, bool *ret_value)
{
	*ret_value = false;
	return !json_object_object_get_ex(o, key, NULL) || get_bool(o, key, ret_value);
}

static bool get_identity(struct json_object *o, struct identity *id)
{
	memset(id, 0, sizeof(*id));
	return json_object_is_type(o, json_type_object) &&
	       get_string(o, "node", id->node, sizeof(id->node)) &&
	       get_string(o, "boot_id", id->boot_id, sizeof(id->boot_id)) &&
	       get_string(o, "kernel", id->kernel, sizeof(id->kernel)) &&
	       get_string(o, "machine", id->machine, sizeof(id->machine)) &&
	       get_string(o, "agent_version", id->agent_version, sizeof(id->agent_version)) &&
	       get_u32(o, "page_size", &id->page_size) &&
	       get_u64(o, "suspended_ns", &id->suspended_ns) &&
#define FOLL(field, name, define) get_u32(o, "foll_" #field, &id->foll_##field) &&
#include "foll.def"
#undef FOLL
	       get_u32(o, "access_known", &id->access_known) &&
	       get_bool(o, "file_pins_checked", &id->file_pins_checked) &&
	       get_names(o, "zones", &id->zones) &&
	       get_names(o, "migratetypes", &id->migratetypes) &&
	       get_names(o, "migrate_reasons", &id->migrate_reasons) &&
	       get_names(o, "migrate_modes", &id->migrate_modes) &&
	       get_functions(o, id) &&
	       get_newer_bool(o, "uring_bounded", &id->uring_bounded) &&
	       get_bool(o, "direct_io_pins", &id->direct_io_pins) &&
	       get_newer_u64(o, "folios_since_ns", &id->folios_since_ns) &&
	       get_bool(o, "putback_watched", &id->putback_watched) &&
	       get_bool(o, "target_watched", &id->target_watched) &&
	       get_newer_bool(o, "pins_stay", &id->pins_stay);
}

/*
 * What was recorded before there were budgets had none: with one, its replay would lack reports
 * that the recording daemon wrote.
 */
static bool get_cgroup_settings(struct json_object *o, struct pipeline_settings *st)
{
	struct json_object *v;

	st->storm_cgroup_reports = UINT32_MAX;
	st->storm_cgroups = CAPTURE_CGROUPS_BEFORE;
	if (json_object_object_get_ex(o, "storm_cgroup_reports", &v) &&
	    !get_u32(o, "storm_cgroup_reports", &st->storm_cgroup_reports))
		return false;
	if (json_object_object_get_ex(o, "storm_cgroups", &v) && !get_u32(o, "storm_cgroups", &st->storm_cgroups))
		return false;
	return st->storm_cgroups <= CAPTURE_CGROUPS_MAX;
}

static bool get_settings(struct json_object *o, struct pipeline_settings *st)
{
	return json_object_is_type(o, json_type_object) &&
	       get_u64(o, "facts_deadline_ns", &st->facts_deadline_ns) &&
	       get_u64(o, "storm_window_ns", &st->storm_window_ns) &&
	       get_u32(o, "storm_burst", &st->storm_burst) &&
	       get_u32(o, "storm_signatures", &st->storm_signatures) &&
	       st->storm_signatures <= CAPTURE_SIGNATURES_MAX &&
	       get_cgroup_settings(o, st);
}

/* --- records -------------------------------------------------------------------- */

/* A registration's end that was recorded before the fields behind it were there: they say nothing. */
static size_t lengthen(unsigned char *data, size_t size)
{
	struct wire_reg_end *e = (void *)data;

	if (size < offsetof(struct wire_reg_end, peer) || e->hdr.kind != WIRE_REG_END || e->hdr.size != size)
		return size;
	if (size < sizeof(*e)) {
		memset(data + size, 0, sizeof(*e) - size);
		e->hdr.size = sizeof(*e);
	}
	return e->hdr.size;
}

static int feed_event(struct replay *r, struct json_object *o, struct json_object *v, struct clock_pair now)
{
	size_t size;
	int rc = get_hex(r, v, &size);

	(void)o;
	if (rc == 0)
		pipeline_event(r->pipeline, r->data, lengthen(r->data, size), now);
	return rc;
}

static int feed_stuck(struct replay *r, struct json_object *o, struct json_object *v, struct clock_pair now)
{
	struct sighting sighting;
	struct wire_span span;
	struct json_object *seen;
	size_t size;
	int rc = get_hex(r, v, &size);

	if (rc)
		return rc;
	/* A shorter one was recorded before the fields at its end were there. */
	if (size > sizeof(span) || size < offsetof(struct wire_span, npins))
		return fail(r, -EPROTO, "a registration in flight as another version of pinwhy records it");
	if (!json_object_object_get_ex(o, "sighting", &seen) ||
	    !json_object_is_type(seen, json_type_object) ||
	    !get_string(seen, "verified", sighting.verified, sizeof(sighting.verified)) ||
	    !get_string(seen, "waits_in", sighting.waits_in, sizeof(sighting.waits_in)))
		return fail(r, -EBADMSG, "not a stuck registration");
	memset(&span, 0, sizeof(span));
	memcpy(&span, r->data, size);
	pipeline_stuck(r->pipeline, &span, &sighting, now);
	return 0;
}

static bool get_facts(struct json_object *values, struct json_object *errs, struct facts *facts)
{
	struct json_object *v;
	int i;

	/* A fact that the capture does not know was added later. */
	facts_unknown(facts, FACT_NOT_ASKED);
	for (i = 0; i < FACT_MAX; i++) {
		const struct fact_desc *d = &fact_descs[i];
		char *field = (char *)facts + d->offset;
		uint64_t number;

		if (json_object_object_get_ex(errs, d->name, &v)) {
			if (!get_err(v, &facts->err[i]))
				return false;
			continue;
		}
		if (!json_object_object_get_ex(values, d->name, &v))
			continue;
		facts->err[i] = 0;
		if (d->size) {
			if (!copy_string(v, field, d->size))
				return false;
		} else {
			if (!get_u64(values, d->name, &number))
				return false;
			memcpy(field, &number, sizeof(number));
		}
	}
	return true;
}

static int feed_facts(struct replay *r, struct json_object *o, struct json_object *v, struct clock_pair now)
{
	struct json_object *values, *errs;
	struct facts facts;
	uint64_t id;

	(void)o;
	if (!json_object_is_type(v, json_type_object) || !get_u64(v, "id", &id) ||
	    !json_object_object_get_ex(v, "values", &values) || !json_object_object_get_ex(v, "errs", &errs) ||
	    !json_object_is_type(values, json_type_object) || !json_object_is_type(errs, json_type_object) ||
	    !get_facts(values, errs, &facts))
		return fail(r, -EBADMSG, "facts that cannot be read");
	pipeline_facts(r->pipeline, id, &facts, now);
	return 0;
}

static bool get_counts(struct json_object *o, const char *key, uint64_t *counts)
{
	struct json_object *array;
	size_t i;

	if (!get_array(o, key, WIRE_KIND_MAX, &array))
		return false;
	for (i = 0; i < WIRE_KIND_MAX; i++)
		counts[i] = json_object_get_uint64(json_object_array_get_idx(array, i));
	return true;
}

static int feed_loss(struct replay *r, struct json_object *o, struct json_object *v, struct clock_pair now)
{
	struct loss loss = { 0 };
	struct json_object *later;

	(void)o;
	if (!json_object_is_type(v, json_type_object) || !get_u64(v, "reg_ok", &loss.reg_ok) ||
	    !get_u64(v, "reg_failed", &loss.reg_failed) || !get_counts(v, "emitted", loss.emitted) ||
	    !get_counts(v, "dropped", loss.dropped) || !get_u64(v, "spans_overflow", &loss.spans_overflow) ||
	    !get_u64(v, "spans_missed_end", &loss.spans_missed_end) ||
	    !get_u64(v, "ends_without_span", &loss.ends_without_span) ||
	    !get_u64(v, "chain_overflow", &loss.chain_overflow) ||
	    !get_u64(v, "pin_flag_disagree", &loss.pin_flag_disagree) ||
	    !get_u64(v, "vma_lock_busy", &loss.vma_lock_busy) ||
	    !get_u64(v, "hook_runs_missed", &loss.hook_runs_missed) ||
	    (json_object_object_get_ex(v, "stale_unwatched", &later) &&
	     !get_u64(v, "stale_unwatched", &loss.stale_unwatched)))
		return fail(r, -EBADMSG, "loss counters that cannot be read");
	r->loss = loss;
	pipeline_loss(r->pipeline, &loss, now);
	return 0;
}

static int feed_identity(struct replay *r, struct json_object *o, struct json_object *v, struct clock_pair now)
{
	struct identity identity;

	(void)o, (void)now;
	if (!get_identity(v, &identity))
		return fail(r, -EBADMSG, "an identity that cannot be read");
	r->identity = identity;
	pipeline_identity(r->pipeline, &identity);
	return 0;
}

static int feed_tick(struct replay *r, struct json_object *o, struct json_object *v, struct clock_pair now)
{
	(void)o, (void)v;
	pipeline_tick(r->pipeline, now);
	return 0;
}

static int feed_finish(struct replay *r, struct json_object *o, struct json_object *v, struct clock_pair now)
{
	(void)o, (void)v;
	pipeline_finish(r->pipeline, now);
	r->finished = true;
	return 0;
}

/* What follows the record whose request failed is taken by ask(); one that is left answers nothing. */
static int feed_ask_failed(struct replay *r, struct json_object *o, struct json_object *v, struct clock_pair now)
{
	(void)o, (void)v, (void)now;
	return fail(r, -EBADMSG, "a failed request for facts that nothing had asked for");
}

static const struct {
	const char *key;
	int (*feed)(struct replay *r, struct json_object *o, struct json_object *v, struct clock_pair now);
} records[] = {
	{ "event", feed_event }, { "facts", feed_facts }, { "tick", feed_tick },
	{ "loss", feed_loss }, { "stuck", feed_stuck }, { "identity", feed_identity },
	{ "finish", feed_finish }, { "ask_failed", feed_ask_failed },
};

static int feed(struct replay *r, struct json_object *o)
{
	struct json_object *v;
	size_t i;

	if (r->finished)
		return fail(r, -EBADMSG, "something follows the end mark");
	if (!get_u64(o, "mono_ns", &r->last.mono_ns) || !get_u64(o, "real_ns", &r->last.real_ns))
		return fail(r, -EBADMSG, "a line without its clocks");
	for (i = 0; i < sizeof(records) / sizeof(records[0]); i++)
		if (json_object_object_get_ex(o, records[i].key, &v))
			return records[i].feed(r, o, v, r->last);
	return fail(r, -EBADMSG, "a kind of line that this version does not know");
}

/* As when it was recorded: a request that failed is followed by a line that says so. */
static int ask(void *ctx, const struct facts_request *req)
{
	struct replay *r = ctx;
	struct json_object *v, *e;
	uint64_t id;
	int32_t err;

	if (!r->have_next) {
		r->next = NULL;
		r->next_rc = load(r, &r->next);
		r->have_next = true;
	}
	if (r->next_rc != 1 || !json_object_object_get_ex(r->next, "ask_failed", &v) ||
	    !json_object_is_type(v, json_type_object) || !get_u64(v, "id", &id) || id != req->id ||
	    !json_object_object_get_ex(v, "err", &e) || !get_err(e, &err))
		return 0;
	json_object_put(r->next);
	r->have_next = false;
	return err;
}

static void emit(void *ctx, const struct report *report)
{
	struct replay *r = ctx;

	r->emit(r->ctx, report);
}

static int check_versions(struct replay *r, struct json_object *header)
{
	uint64_t capture, wire;

	if (!get_u64(header, "pinwhy_capture", &capture) || !get_u64(header, "wire_version", &wire))
		return fail(r, -EBADMSG, "not a capture of pinwhy: it does not begin with {\"pinwhy_capture\":");
	if (capture > CAPTURE_VERSION || wire > WIRE_VERSION)
		return fail(r, -EPROTO, "the capture was recorded by a newer pinwhy: use that version, or a later one");
	if (capture < CAPTURE_VERSION || wire < WIRE_VERSION)
		return fail(r, -EPROTO, "the capture was recorded by an older pinwhy whose records had another layout: use that version");
	return 0;
}

static int start(struct replay *r)
{
	const struct pipeline_ops ops = { .ask = ask, .emit = emit };
	struct json_object *header = NULL, *id_json, *st_json;
	struct pipeline_settings settings;
	struct identity identity;
	int rc = take(r, &header);

	if (rc == 0)
		return fail(r, -EBADMSG, "the file is empty: not a capture of pinwhy");
	if (rc < 0)
		return rc == -ENODATA ? fail(r, -EBADMSG, "not a capture of pinwhy, or cut off in its first line") : rc;
	rc = check_versions(r, header);
	if (rc == 0 && (!json_object_object_get_ex(header, "identity", &id_json) ||
			!json_object_object_get_ex(header, "settings", &st_json) ||
			!get_identity(id_json, &identity) || !get_settings(st_json, &settings)))
		rc = fail(r, -EBADMSG, "the first line lacks an identity or settings that can be read");
	if (rc == 0)
		r->identity = identity;
	if (rc == 0)
		rc = pipeline_new(&r->pipeline, &identity, &settings, &ops, r);
	if (rc == -EINVAL)
		rc = fail(r, -EBADMSG, "the page size in the first line is none");
	else if (rc == -ENOMEM)
		fail(r, rc, "out of memory");
	json_object_put(header);
	return rc;
}

/* One line. 1 = there may be more. */
static int step(struct replay *r)
{
	struct json_object *o = NULL;
	int rc = take(r, &o);

	if (rc == 1) {
		rc = feed(r, o);
		json_object_put(o);
		if (rc == 0)
			return 1;
	}
	/* The recorder was killed or its disk full: show what was still waiting, too. */
	if (!r->finished)
		pipeline_finish(r->pipeline, r->last);
	if (rc == 0 && !r->finished)
		return fail(r, -ENODATA, "it ends without its end mark: the recorder was killed, or could not write on");
	return rc;
}

int replay_open(struct replay **ret_replay, FILE *in, void (*emit_report)(void *ctx, const struct report *report), void *ctx,
		struct capture_error *ret_error)
{
	struct replay *r = calloc(1, sizeof(*r));
	int rc;

	*ret_error = (struct capture_error){ 0 };
	if (!r)
		return -ENOMEM;
	*r = (struct replay){ .in = in, .emit = emit_report, .ctx = ctx, .error = ret_error };
	rc = start(r);
	if (rc) {
		replay_free(r);
		return rc;
	}
	*ret_replay = r;
	return 0;
}

int replay_step(struct replay *r)
{
	if (!r->ended) {
		r->rc = step(r);
		r->ended = r->rc != 1;
	}
	return r->rc;
}

void replay_stats(const struct replay *r, struct pipeline_stats *ret_stats)
{
	pipeline_stats(r->pipeline, ret_stats);
}

const struct loss *replay_loss(const struct replay *r)
{
	return &r->loss;
}

const struct identity *replay_identity(const struct replay *r)
{
	return &r->identity;
}

void replay_free(struct replay *r)
{
	if (!r)
		return;
	if (r->have_next)
		json_object_put(r->next);
	pipeline_free(r->pipeline);
	free(r);
}

int capture_replay(FILE *in, void (*emit_report)(void *ctx, const struct report *report), void *ctx,
		   struct pipeline_stats *ret_stats, struct capture_error *ret_error)
{
	struct replay *r;
	int rc = replay_open(&r, in, emit_report, ctx, ret_error);

	if (rc)
		return rc;
	while ((rc = replay_step(r)) == 1)
		;
	replay_stats(r, ret_stats);
	replay_free(r);
	return rc;
}
