// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"
#include "jbuild.h"

struct capture {
	FILE *file;
	int err;	/* first error, negative; sticky */
};

static int note(struct capture *c, bool ok)
{
	if (!ok && !c->err)
		c->err = errno ? -errno : -EIO;
	return c->err;
}

static int end_line(struct capture *c, struct clock_pair now)
{
	return note(c, fprintf(c->file, ",\"mono_ns\":%" PRIu64 ",\"real_ns\":%" PRIu64 "}\n", now.mono_ns,
			       now.real_ns) > 0);
}

/* Writes {"key":object and the clocks; drops the object. */
static int put_object(struct capture *c, const char *key, struct jbuild *b, struct json_object *object,
		      struct clock_pair now)
{
	const char *text = b->failed ? NULL : json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);

	errno = ENOMEM;
	if (note(c, text) == 0 && note(c, fprintf(c->file, "{\"%s\":%s", key, text) > 0) == 0)
		end_line(c, now);
	json_object_put(object);
	return c->err;
}

static struct json_object *names_json(struct jbuild *b, const struct enum_names *names)
{
	struct json_object *array = jb_array(b);
	int i;

	for (i = 0; i < IDENTITY_NAMES_MAX; i++)
		jb_append_string(b, array, names->name[i]);
	return array;
}

static struct json_object *functions_json(struct jbuild *b, const struct identity *id)
{
	struct json_object *array = jb_array(b), *fn;
	int i;

	for (i = 0; i < WIRE_FN_MAX; i++) {
		fn = jb_object(b);
		jb_string(b, fn, "name", id->fn_name[i]);
		jb_string(b, fn, "module", id->fn_module[i]);
		jb_bool(b, fn, "watched", id->fn_watched[i]);
		jb_uint(b, fn, "since_ns", id->fn_since_ns[i]);
		jb_append(b, array, fn);
	}
	return array;
}

static struct json_object *identity_json(struct jbuild *b, const struct identity *id)
{
	struct json_object *o = jb_object(b);

	jb_string(b, o, "node", id->node);
	jb_string(b, o, "boot_id", id->boot_id);
	jb_string(b, o, "kernel", id->kernel);
	jb_string(b, o, "machine", id->machine);
	jb_string(b, o, "agent_version", id->agent_version);
	jb_uint(b, o, "page_size", id->page_size);
	jb_uint(b, o, "suspended_ns", id->suspended_ns);
#define FOLL(field, name, define) jb_uint(b, o, "foll_" #field, id->foll_##field);
#include "foll.def"
#undef FOLL
	jb_uint(b, o, "access_known", id->access_known);
	jb_bool(b, o, "file_pins_checked", id->file_pins_checked);
	jb_put(b, o, "zones", names_json(b, &id->zones));
	jb_put(b, o, "migratetypes", names_json(b, &id->migratetypes));
	jb_put(b, o, "migrate_reasons", names_json(b, &id->migrate_reasons));
	jb_put(b, o, "migrate_modes", names_json(b, &id->migrate_modes));
	jb_put(b, o, "functions", functions_json(b, id));
	jb_bool(b, o, "uring_bounded", id->uring_bounded);
	jb_bool(b, o, "direct_io_pins", id->direct_io_pins);
	jb_uint(b, o, "folios_since_ns", id->folios_since_ns);
	jb_bool(b, o, "putback_watched", id->putback_watched);
	jb_bool(b, o, "target_watched", id->target_watched);
	jb_bool(b, o, "pins_stay", id->pins_stay);
	return o;
}

static int put_header(struct capture *c, const struct identity *id, const struct pipeline_settings *st)
{
	struct jbuild b = { 0 };
	struct json_object *header = jb_object(&b), *settings = jb_object(&b);
	const char *text;

	jb_int(&b, header, "pinwhy_capture", CAPTURE_VERSION);
	jb_int(&b, header, "wire_version", WIRE_VERSION);
	jb_put(&b, header, "identity", identity_json(&b, id));
	jb_uint(&b, settings, "facts_deadline_ns", st->facts_deadline_ns);
	jb_uint(&b, settings, "storm_window_ns", st->storm_window_ns);
	jb_uint(&b, settings, "storm_burst", st->storm_burst);
	jb_uint(&b, settings, "storm_signatures", st->storm_signatures);
	jb_uint(&b, settings, "storm_cgroup_reports", st->storm_cgroup_reports);
	jb_uint(&b, settings, "storm_cgroups", st->storm_cgroups);
	jb_put(&b, header, "settings", settings);
	text = b.failed ? NULL : json_object_to_json_string_ext(header, JSON_C_TO_STRING_PLAIN);
	errno = ENOMEM;
	if (note(c, text) == 0)
		note(c, fprintf(c->file, "%s\n", text) > 0);
	json_object_put(header);
	return c->err;
}

int capture_create(struct capture **ret_capture, const char *path, const struct identity *identity,
		   const struct pipeline_settings *settings)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct capture *c;
	int r;

	if (fd < 0)
		return -errno;
	c = calloc(1, sizeof(*c));
	if (c)
		c->file = fdopen(fd, "w");
	if (!c || !c->file) {
		close(fd);
		free(c);
		return -ENOMEM;
	}
	r = put_header(c, identity, settings);
	if (r == 0)
		r = capture_flush(c);
	if (r) {
		capture_close(c);
		return r;
	}
	*ret_capture = c;
	return 0;
}

#define ZEROS_MIN 8	/* shorter runs of zero bytes are written as they are */

static size_t zeros_at(const unsigned char *p, size_t n)
{
	size_t i = 0;

	while (i < n && p[i] == 0)
		i++;
	return i;
}

/* Two digits per byte; most of a record is zero, and "(40)" stands for 40 zero bytes. */
static int put_hex(struct capture *c, const void *data, size_t size)
{
	const unsigned char *p = data;
	size_t i = 0, zeros;

	while (i < size && !c->err) {
		zeros = zeros_at(&p[i], size - i);
		if (zeros >= ZEROS_MIN) {
			note(c, fprintf(c->file, "(%zu)", zeros) > 0);
			i += zeros;
		} else {
			note(c, fprintf(c->file, "%02x", p[i]) == 2);
			i++;
		}
	}
	return c->err;
}

/* Identities of a VMA that are kernel addresses. */
static const size_t vma_pointers[] = { offsetof(struct wire_vma, file), offsetof(struct wire_vma, anon_root) };

#define VMAS (WIRE_VMAS_MAX + 1)

/* Only whether two are the same may leave, so one field of all VMAs is numbered from 1. */
static void number_field(struct wire_vma *const all[VMAS], size_t offset)
{
	__u64 seen[VMAS], *field;
	uint32_t i, k, n = 0;

	for (i = 0; i < VMAS; i++) {
		field = (__u64 *)((char *)all[i] + offset);
		if (*field == 0)
			continue;
		for (k = 0; k < n && seen[k] != *field; k++)
			;
		if (k == n)
			seen[n++] = *field;
		*field = k + 1;
	}
}

static void number_pointers(struct wire_vma *fault, struct wire_vma *vmas)
{
	struct wire_vma *all[VMAS] = { fault };
	uint32_t i;

	for (i = 0; i < WIRE_VMAS_MAX; i++)
		all[i + 1] = &vmas[i];
	for (i = 0; i < sizeof(vma_pointers) / sizeof(vma_pointers[0]); i++)
		number_field(all, vma_pointers[i]);
}

int capture_event(struct capture *c, const void *data, size_t size, struct clock_pair now)
{
	const struct wire_hdr *hdr = data;
	struct wire_reg_end end;

	if (c->err)
		return c->err;
	/* A record that decode will refuse for its size is kept as its header: refused as well, and tells nothing. */
	if (size < sizeof(*hdr) || hdr->size != size)
		size = size < sizeof(*hdr) ? size : sizeof(*hdr);
	else if (hdr->kind == WIRE_REG_END && size != sizeof(end))
		size = sizeof(*hdr);
	note(c, fputs("{\"event\":\"", c->file) >= 0);
	if (size == sizeof(end) && hdr->kind == WIRE_REG_END) {
		memcpy(&end, data, sizeof(end));
		number_pointers(&end.fault_vma, end.vmas);
		put_hex(c, &end, sizeof(end));
	} else {
		put_hex(c, data, size);
	}
	note(c, fputs("\"", c->file) >= 0);
	return end_line(c, now);
}

int capture_stuck(struct capture *c, const struct wire_span *span, const struct sighting *sighting, struct clock_pair now)
{
	struct wire_span copy = *span;
	struct jbuild b = { 0 };
	struct json_object *seen = jb_object(&b);

	if (c->err) {
		json_object_put(seen);
		return c->err;
	}
	copy.attrs = 0;
	copy.device = 0;
	copy.user_sp = copy.user_pc = 0;
	memset(copy.pins, 0, sizeof(copy.pins));
	memset(copy.user_args, 0, sizeof(copy.user_args));
	number_pointers(&copy.fault_vma, copy.vmas);
	jb_string(&b, seen, "verified", sighting->verified);
	jb_string(&b, seen, "waits_in", sighting->waits_in);
	note(c, fputs("{\"stuck\":\"", c->file) >= 0);
	put_hex(c, &copy, sizeof(copy));
	errno = ENOMEM;
	note(c, !b.failed);
	note(c, fprintf(c->file, "\",\"sighting\":%s", json_object_to_json_string_ext(seen, JSON_C_TO_STRING_PLAIN)) > 0);
	json_object_put(seen);
	return end_line(c, now);
}

int capture_facts(struct capture *c, uint64_t id, const struct facts *facts, struct clock_pair now)
{
	struct jbuild b = { 0 };
	struct json_object *o = jb_object(&b), *values = jb_object(&b), *errs = jb_object(&b);
	int i;

	for (i = 0; i < FACT_MAX; i++) {
		const struct fact_desc *d = &fact_descs[i];
		const void *value = (const char *)facts + d->offset;
		uint64_t number;

		if (facts->err[i]) {
			jb_int(&b, errs, d->name, facts->err[i]);
		} else if (d->size) {
			jb_put(&b, values, d->name,
			       json_object_new_string_len(value, (int)strnlen(value, d->size)));
		} else {
			memcpy(&number, value, sizeof(number));
			jb_uint(&b, values, d->name, number);
		}
	}
	jb_uint(&b, o, "id", id);
	jb_put(&b, o, "values", values);
	jb_put(&b, o, "errs", errs);
	return put_object(c, "facts", &b, o, now);
}

static struct json_object *counts_json(struct jbuild *b, const uint64_t *counts)
{
	struct json_object *array = jb_array(b);
	int i;

	for (i = 0; i < WIRE_KIND_MAX; i++)
		jb_append(b, array, json_object_new_uint64(counts[i]));
	return array;
}

int capture_loss(struct capture *c, const struct loss *loss, struct clock_pair now)
{
	struct jbuild b = { 0 };
	struct json_object *o = jb_object(&b);

	jb_uint(&b, o, "reg_ok", loss->reg_ok);
	jb_uint(&b, o, "reg_failed", loss->reg_failed);
	jb_put(&b, o, "emitted", counts_json(&b, loss->emitted));
	jb_put(&b, o, "dropped", counts_json(&b, loss->dropped));
	jb_uint(&b, o, "spans_overflow", loss->spans_overflow);
	jb_uint(&b, o, "spans_missed_end", loss->spans_missed_end);
	jb_uint(&b, o, "ends_without_span", loss->ends_without_span);
	jb_uint(&b, o, "chain_overflow", loss->chain_overflow);
	jb_uint(&b, o, "pin_flag_disagree", loss->pin_flag_disagree);
	jb_uint(&b, o, "vma_lock_busy", loss->vma_lock_busy);
	jb_uint(&b, o, "stale_unwatched", loss->stale_unwatched);
	jb_uint(&b, o, "hook_runs_missed", loss->hook_runs_missed);
	return put_object(c, "loss", &b, o, now);
}

int capture_identity(struct capture *c, const struct identity *identity, struct clock_pair now)
{
	struct jbuild b = { 0 };
	struct json_object *o = identity_json(&b, identity);

	return put_object(c, "identity", &b, o, now);
}

int capture_ask_failed(struct capture *c, uint64_t id, int err, struct clock_pair now)
{
	struct jbuild b = { 0 };
	struct json_object *o = jb_object(&b);

	jb_uint(&b, o, "id", id);
	jb_int(&b, o, "err", err);
	return put_object(c, "ask_failed", &b, o, now);
}

static int put_mark(struct capture *c, const char *key, struct clock_pair now)
{
	if (note(c, fprintf(c->file, "{\"%s\":true", key) > 0) == 0)
		end_line(c, now);
	return c->err;
}

int capture_tick(struct capture *c, struct clock_pair now)
{
	return c->err ? c->err : put_mark(c, "tick", now);
}

int capture_finish(struct capture *c, struct clock_pair now)
{
	return c->err ? c->err : put_mark(c, "finish", now);
}

int capture_flush(struct capture *c)
{
	return c->err ? c->err : note(c, fflush(c->file) == 0);
}

int capture_close(struct capture *c)
{
	int r;

	if (!c)
		return 0;
	note(c, fclose(c->file) == 0);
	r = c->err;
	free(c);
	return r;
}
