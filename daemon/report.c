// SPDX-License-Identifier: BSD-2-Clause
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "container.h"
#include "crosscheck.h"
#include "jbuild.h"
#include "names.h"

uint64_t report_real_ns(struct clock_pair seen, uint64_t mono_ns)
{
	uint64_t age = seen.mono_ns > mono_ns ? seen.mono_ns - mono_ns : 0;

	return seen.real_ns > age ? seen.real_ns - age : seen.real_ns;
}

void report_make_id(char ret_id[REPORT_ID_LEN], const struct identity *id, const char *kind,
		    uint64_t real_ns, uint64_t span_id, uint32_t tgid, uint64_t sequence)
{
	uint64_t parts[] = { span_id, tgid, sequence };
	uint64_t a = text_hash(1, id->boot_id, strlen(id->boot_id)), b;
	uint64_t ms = real_ns / 1000000;

	a = text_hash(a, kind, strlen(kind));
	a = text_hash(a, parts, sizeof(parts));
	b = text_hash(2, &a, sizeof(a));
	/* RFC 9562: 48 bits of milliseconds, version 7, 12 bits, variant 10, 62 bits. */
	snprintf(ret_id, REPORT_ID_LEN, "%08x-%04x-7%03x-%04x-%012" PRIx64,
		 (unsigned int)(ms >> 16 & 0xffffffff), (unsigned int)(ms & 0xffff),
		 (unsigned int)(a & 0xfff), (unsigned int)(0x8000 | (b >> 48 & 0x3fff)),
		 b & 0xffffffffffff);
}

static void put_agent(struct jbuild *b, struct json_object *report, const struct identity *id)
{
	struct json_object *agent = jb_object(b);

	jb_string(b, agent, "version", id->agent_version);
	jb_put(b, report, "agent", agent);
}

static struct json_object *envelope(struct jbuild *b, const char *kind, const char *id, uint64_t real_ns,
				    uint64_t mono_ns, const struct identity *identity)
{
	struct json_object *report = jb_object(b);
	char buf[TEXT_TIME_LEN];

	jb_int(b, report, "schema", REPORT_SCHEMA);
	jb_string(b, report, "report_id", id);
	jb_string(b, report, "kind", kind);
	jb_string(b, report, "time", text_time(buf, real_ns));
	jb_uint(b, report, "monotonic_ns", mono_ns);
	jb_string(b, report, "boot_id", identity->boot_id);
	jb_string(b, report, "node", identity->node);
	jb_string(b, report, "kernel", identity->kernel);
	jb_string(b, report, "machine", identity->machine);
	put_agent(b, report, identity);
	return report;
}

void section_missing(struct section *s, const char *what, const char *fmt, ...)
{
	struct json_object *entry = jb_object(s->b);
	char why[FINDING_TEXT];
	struct text t;
	va_list ap;

	text_init(&t, why, sizeof(why));
	va_start(ap, fmt);
	text_vadd(&t, fmt, ap);
	va_end(ap);
	jb_string(s->b, entry, "what", what);
	jb_string(s->b, entry, "why", why);
	jb_append(s->b, s->missing, entry);
}

static const char *cause_name(const struct cause *cause)
{
	return cause ? cause->id : "unknown";
}

static struct json_object *lines(struct jbuild *b, const char (*text)[FINDING_TEXT], uint32_t n)
{
	struct json_object *array = jb_array(b);
	uint32_t i;

	for (i = 0; i < n; i++)
		jb_append_string(b, array, text[i]);
	return array;
}

static void put_verdict(struct section *s)
{
	const struct diagnosis *d = s->r->diagnosis;
	const struct finding *f = &d->verdict;
	struct json_object *verdict = jb_object(s->b), *evidence, *also;
	uint32_t i;

	jb_string(s->b, verdict, "cause", cause_name(d->cause));
	if (f->detail != DETAIL_none)
		jb_string(s->b, verdict, "detail", detail_words[f->detail].word);
	jb_string(s->b, verdict, "confidence", confidence_words[d->confidence].word);
	jb_string(s->b, verdict, "summary", f->summary);
	evidence = lines(s->b, f->evidence, f->nevidence);
	if (d->conflict)
		jb_append_string(s->b, evidence, "not proven: another cause fits as completely, which cannot be (a defect of pinwhy)");
	jb_put(s->b, verdict, "evidence", evidence);
	jb_put(s->b, verdict, "remedies", lines(s->b, f->remedies, f->nremedies));
	if (d->nalso) {
		also = jb_array(s->b);
		for (i = 0; i < d->nalso; i++)
			jb_append_string(s->b, also, d->also[i]->id);
		jb_put(s->b, verdict, "also", also);
	}
	jb_put(s->b, s->report, "verdict", verdict);
	for (i = 0; i < f->nmissing; i++)
		section_missing(s, f->missing[i].what, "%s", f->missing[i].why);
}

/* Who took the pin, and how. */
static void put_owner(struct section *s, struct json_object *first_pin, const struct wire_pin *pin)
{
	const struct wire_reg_end *e = &s->r->in->end;
	char module[WIRE_MODULE_LEN];

	jb_uint(s->b, first_pin, "pid", pin->tgid);
	jb_uint(s->b, first_pin, "tid", pin->tid);
	jb_string(s->b, first_pin, "comm", pin->comm);
	jb_bool(s->b, first_pin, "same_process", incident_own_pin(s->r->in, pin));
	jb_string(s->b, first_pin, "via", pin_vias[pin->via].function);
	jb_string(s->b, first_pin, "module", incident_pin_module(s->r->in, pin, module));
	jb_hex(s->b, first_pin, "address", pin->address);
	jb_uint(s->b, first_pin, "pages", pin->pages);
	if (e->hdr.time_ns >= pin->since_ns)
		jb_uint(s->b, first_pin, "age_ns", e->hdr.time_ns - pin->since_ns);
	if (pin->calls)
		section_gup_flags(s, first_pin, pin->gup_flags);
	else
		section_missing(s, "first_pin.gup_flags", "pin_user_pages was not seen to be called");
}

static void put_stack(struct section *s, struct json_object *first_pin, const struct wire_pin *pin)
{
	const struct holders *h = &s->r->in->holders;
	struct json_object *stack = jb_array(s->b);
	uint32_t i, k;

	for (i = 0; i < h->npins; i++)
		for (k = 0; k < h->pins[i].nstack && h->pins[i].pin.id == pin->id; k++)
			if (!incident_frame_ours(h->pins[i].stack[k]))
				jb_append_string(s->b, stack, h->pins[i].stack[k]);
	jb_put(s->b, first_pin, "stack", stack);
}

static void put_open_buffers(struct section *s, struct json_object *o, const struct crosscheck *c)
{
	struct json_object *buffers = jb_array(s->b), *buffer;

	for (uint32_t i = 0; i < c->nbuffers; i++) {
		buffer = jb_object(s->b);
		jb_uint(s->b, buffer, "fd", c->buffers[i].fd);
		jb_hex(s->b, buffer, "address", c->buffers[i].start);
		jb_uint(s->b, buffer, "length", c->buffers[i].bytes);
		jb_append(s->b, buffers, buffer);
	}
	jb_put(s->b, o, "io_uring_buffers", buffers);
}

static void put_open_files(struct section *s, struct json_object *o, const struct crosscheck *c)
{
	struct json_object *files = jb_array(s->b), *file;

	for (uint32_t i = 0; i < c->nfiles; i++) {
		file = jb_object(s->b);
		jb_string(s->b, file, "name", c->files[i].name);
		jb_uint(s->b, file, "count", c->files[i].count);
		jb_append(s->b, files, file);
	}
	jb_put(s->b, o, "device_files", files);
}

static void put_open_others(struct section *s, struct json_object *o, const struct crosscheck *c)
{
	struct json_object *others = jb_array(s->b), *other;

	for (uint32_t i = 0; i < c->nothers; i++) {
		other = jb_object(s->b);
		jb_uint(s->b, other, "pid", c->others[i].pid);
		jb_string(s->b, other, "comm", c->others[i].comm);
		jb_string(s->b, other, "name", c->others[i].name);
		jb_append(s->b, others, other);
	}
	jb_put(s->b, o, "other_processes", others);
}

/* What user space's sources name, whether or not it can hold the page. */
static void put_cross_check(struct section *s, struct json_object *first_pin)
{
	const struct facts *f = &s->r->in->facts;
	struct json_object *o;
	struct crosscheck c;

	if (!crosscheck_known(f))
		return;
	crosscheck_read(f, &c);
	o = jb_object(s->b);
	if (FACT_KNOWN(f, holder_buffers))
		put_open_buffers(s, o, &c);
	if (FACT_KNOWN(f, holder_files))
		put_open_files(s, o, &c);
	if (FACT_KNOWN(f, holder_pipes))
		jb_uint(s->b, o, "pipe_ends", f->holder_pipes);
	if (FACT_KNOWN(f, mr_process_count))
		jb_uint(s->b, o, "memory_regions", f->mr_process_count);
	if (FACT_KNOWN(f, holder_others))
		put_open_others(s, o, &c);
	jb_put(s->b, first_pin, "cross_check", o);
}

static void put_first_pin(struct section *s)
{
	const struct finding *f = &s->r->diagnosis->verdict;
	struct json_object *pin, *candidates;
	uint32_t i;

	if (f->grade == GRADE_none)
		return;
	pin = jb_object(s->b);
	candidates = jb_array(s->b);
	jb_string(s->b, pin, "grade", grade_words[f->grade].word);
	if (f->pin) {
		put_owner(s, pin, f->pin);
		put_stack(s, pin, f->pin);
	}
	for (i = 0; i < f->ncandidates; i++)
		jb_append_string(s->b, candidates, f->candidates[i]);
	jb_put(s->b, pin, "candidates", candidates);
	put_cross_check(s, pin);
	jb_put(s->b, s->report, "first_pin", pin);
}

static void put_ruled_out(struct section *s)
{
	const struct diagnosis *d = s->r->diagnosis;
	struct json_object *array = jb_array(s->b), *entry;
	uint32_t i;

	for (i = 0; i < d->nruled_out; i++) {
		entry = jb_object(s->b);
		jb_string(s->b, entry, "cause", d->ruled_out[i].cause->id);
		jb_string(s->b, entry, "because", d->ruled_out[i].because);
		jb_append(s->b, array, entry);
	}
	jb_put(s->b, s->report, "ruled_out", array);
}

static void put_loss(struct jbuild *b, struct json_object *report, const struct loss *loss)
{
	struct json_object *object = jb_object(b), *dropped = jb_object(b);
	const struct {
		const char *name;
		uint64_t value;
	} counters[] = {
		{ "spans_overflow", loss->spans_overflow },
		{ "spans_missed_end", loss->spans_missed_end },
		{ "ends_without_span", loss->ends_without_span },
		{ "chain_overflow", loss->chain_overflow },
		{ "pin_flag_disagree", loss->pin_flag_disagree },
		{ "vma_lock_busy", loss->vma_lock_busy },
		{ "stale_unwatched", loss->stale_unwatched },
		{ "hook_runs_missed", loss->hook_runs_missed },
	};
	size_t i;

/* Of what not every node sends, none was lost where nothing is said. */
#define EVENT(id, name, type)                                 \
	if (id < WIRE_STALE || loss->dropped[id])             \
		jb_uint(b, dropped, #name, loss->dropped[id]);
#include "events.def"
#undef EVENT
	jb_put(b, object, "events_dropped", dropped);
	for (i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		if (counters[i].value)
			jb_uint(b, object, counters[i].name, counters[i].value);
	jb_put(b, report, "loss", object);
}

static void put_related(struct section *s)
{
	struct json_object *related;

	if (s->r->first_report_id[0]) {
		related = jb_object(s->b);
		jb_string(s->b, related, "first_report_id", s->r->first_report_id);
		jb_put(s->b, s->report, "related", related);
	} else if (s->r->in->end.was_reported && !s->r->in->stuck) {
		section_missing(s, "related.first_report_id",
				"the report of the stuck registration is no longer known to this agent");
	}
}

static int finish(struct jbuild *b, struct json_object *report, struct json_object **ret_json)
{
	if (b->failed) {
		json_object_put(report);
		return -ENOMEM;
	}
	*ret_json = report;
	return 0;
}

/* How it failed, or hangs. */
static void put_failure(struct section *s)
{
	section_chain(s);
	section_pin(s);
	section_migration(s);
	section_pages(s);
	section_mapping(s);
	section_arguments(s);
	section_dmabuf(s);
	section_export(s);
	section_peer(s);
	section_device(s);
	section_provider(s);
	section_fate(s);
	put_first_pin(s);
	section_memlock(s);
	section_facts(s);
	put_verdict(s);
	put_ruled_out(s);
}

/* Where pages of a pin lie that nothing has asked to move yet. */
static void put_stranded(struct section *s)
{
	const struct wire_stranded *n = &s->r->in->stranded;
	struct json_object *stranded = jb_object(s->b);

	jb_uint(s->b, stranded, "pages", n->pages);
	jb_uint(s->b, stranded, "cma", n->cma);
	jb_uint(s->b, stranded, "movable_zone", n->movable_zone);
	jb_uint(s->b, stranded, "isolated", n->isolated);
	jb_uint(s->b, stranded, "looked_at", n->looked);
	jb_bool(s->b, stranded, "lower_bound", n->lower_bound);
	jb_put(s->b, s->report, "stranded", stranded);
}

/* What could not have the page. */
static void put_contiguous(struct section *s)
{
	const struct wire_contig *c = &s->r->in->contig;
	struct json_object *o = jb_object(s->b);

	jb_uint(s->b, o, "pages", c->pages);
	jb_bool(s->b, o, "failed", c->failed);
	if (c->result) {
		jb_int(s->b, o, "errno", -c->result);
		jb_string(s->b, o, "errno_name", name_errno(-c->result));
	}
	jb_uint(s->b, o, "ranges_busy", c->busy);
	jb_uint(s->b, o, "ranges_pinned", c->pinned);
	jb_uint(s->b, o, "ranges_unsearched", c->unsearched);
	jb_hex(s->b, o, "first_pfn", c->range_pfn);
	jb_bool(s->b, o, "pin_still_held", c->held);
	jb_put(s->b, s->report, "contiguous_allocation", o);
}

static void put_hazard(struct section *s)
{
	put_first_pin(s);
	if (s->r->in->contig.pages)
		put_contiguous(s);
	else
		put_stranded(s);
	section_pages(s);
	section_facts(s);
	put_verdict(s);
}

int report_build(const struct report_input *r, struct json_object **ret_json)
{
	uint64_t mono_ns = r->in->end.hdr.time_ns;
	struct jbuild b = { 0 };
	struct section s = {
		.b = &b, .r = r, .missing = jb_array(&b),
		.report = envelope(&b, r->kind, r->id, report_real_ns(r->in->seen, mono_ns), mono_ns,
				   r->identity),
	};

	section_process(&s);
	if (!r->in->hazard)
		section_registration(&s);
	if (r->in->hazard) {
		put_hazard(&s);
	} else if (r->in->stale) {
		section_damage(&s);
		put_verdict(&s);
	} else if (strcmp(r->kind, KIND_COMPLETED) != 0) {
		put_failure(&s);
	}
	put_related(&s);
	if (r->loss)
		put_loss(&b, s.report, r->loss);
	else
		section_missing(&s, "loss", "the loss counters had not been read yet");
	jb_put(&b, s.report, "missing_evidence", s.missing);
	return finish(&b, s.report, ret_json);
}

/* Of further kinds: the first of them. */
static void put_summary_process(struct section *s, const struct storm_summary *summary)
{
	const struct storm_window *w = &summary->window;
	struct json_object *process = jb_object(s->b);
	char path[WIRE_CGROUP_LEN + 8], container[65], pod[40];
	struct text t;

	jb_uint(s->b, process, "pid", w->signature.tgid);
	if (w->comm[0])
		jb_string(s->b, process, "comm", w->comm);
	if (summary->have_cgroup) {
		text_init(&t, path, sizeof(path));
		cgroup_path(summary->cgroup, sizeof(summary->cgroup), &t);
		cgroup_container(path, container);
		cgroup_pod(path, pod);
		jb_string(s->b, process, "cgroup", path);
		if (container[0])
			jb_string(s->b, process, "container_id", container);
		if (pod[0])
			jb_string(s->b, process, "pod_uid", pod);
	} else {
		section_missing(s, "process.cgroup", "it could not be read in the kernel at the failure");
	}
	jb_put(s->b, s->report, "process", process);
}

/* CAUSE_DAMAGES or CAUSE_WARNS, of which no call failed: there is neither errno nor stage. */
static enum cause_when warning_of(const struct storm_window *w)
{
	return w->signature.cause ? w->signature.cause->when & (CAUSE_DAMAGES | CAUSE_WARNS) : 0;
}

static const char *what_of(const struct storm_window *w)
{
	switch (warning_of(w)) {
	case CAUSE_DAMAGES: return "damages to live regions";
	case CAUSE_WARNS: return "hazards";
	default: return "failures";
	}
}

static void put_summary_registration(struct section *s, const struct storm_window *w)
{
	struct json_object *registration;

	/* A hazard is of no registration. */
	if (warning_of(w) == CAUSE_WARNS)
		return;
	registration = jb_object(s->b);
	jb_string(s->b, registration, "api", name_api(w->signature.api));
	if (w->signature.device[0])
		jb_string(s->b, registration, "device", w->signature.device);
	if (w->driver[0])
		jb_string(s->b, registration, "driver", w->driver);
	if (w->signature.result) {
		jb_int(s->b, registration, "errno", -w->signature.result);
		jb_string(s->b, registration, "errno_name", name_errno(-w->signature.result));
	}
	if (w->signature.stage && !warning_of(w))
		jb_string(s->b, registration, "stage", w->signature.stage);
	jb_put(s->b, s->report, "registration", registration);
}

static void put_summary_evidence(struct jbuild *b, struct json_object *verdict, const struct storm_summary *summary)
{
	struct json_object *evidence = jb_array(b);
	const struct storm_window *w = &summary->window;
	uint64_t rest = w->count;
	char line[FINDING_TEXT];
	uint32_t i;

	for (i = 0; i < summary->ntallies; i++) {
		const struct storm_tally *t = &summary->tallies[i];

		if (t->result)
			snprintf(line, sizeof(line), "%" PRIu64 " of cause %s: %s at stage %s", t->count,
				 cause_name(t->cause), name_errno(-t->result), t->stage);
		else
			snprintf(line, sizeof(line), "%" PRIu64 " of cause %s", t->count, cause_name(t->cause));
		jb_append_string(b, evidence, line);
		rest -= t->count;
	}
	if (summary->ntallies && rest) {
		snprintf(line, sizeof(line), "%" PRIu64 " of others still", rest);
		jb_append_string(b, evidence, line);
	}
	snprintf(line, sizeof(line), "report %s tells the first one%s in full", w->first_report_id,
		 summary->other_kinds ? " of this cgroup" : "");
	jb_append_string(b, evidence, line);
	jb_put(b, verdict, "evidence", evidence);
}

static void put_summary_verdict(struct jbuild *b, struct json_object *report, const struct storm_summary *summary)
{
	const struct storm_window *w = &summary->window;
	struct json_object *verdict = jb_object(b);
	char line[FINDING_TEXT];

	jb_string(b, verdict, "cause", cause_name(w->signature.cause));
	jb_string(b, verdict, "confidence", confidence_words[w->signature.confidence].word);
	if (summary->other_kinds)
		snprintf(line, sizeof(line), "%" PRIu64 " failures of further kinds in one cgroup; none of them is reported in full, since %u reports had been written for this cgroup",
			 w->count, summary->budget);
	else
		snprintf(line, sizeof(line), "%" PRIu64 " %s of one kind; %" PRIu64 " of them not reported in full",
			 w->count, what_of(w), w->suppressed);
	jb_string(b, verdict, "summary", line);
	put_summary_evidence(b, verdict, summary);
	jb_put(b, verdict, "remedies", jb_array(b));
	jb_put(b, report, "verdict", verdict);
}

static void put_summary_related(struct jbuild *b, struct json_object *report, const struct storm_summary *summary)
{
	const struct storm_window *w = &summary->window;
	struct json_object *related = jb_object(b), *kinds, *kind;
	char buf[TEXT_TIME_LEN];
	uint32_t i;

	jb_string(b, related, "first_report_id", w->first_report_id);
	jb_uint(b, related, "count", w->count);
	jb_string(b, related, "first", text_time(buf, w->first_real_ns));
	jb_string(b, related, "last", text_time(buf, w->last_real_ns));
	jb_uint(b, related, "suppressed", w->suppressed);
	if (summary->other_kinds) {
		kinds = jb_array(b);
		for (i = 0; i < summary->ntallies; i++) {
			kind = jb_object(b);
			jb_string(b, kind, "cause", cause_name(summary->tallies[i].cause));
			jb_string(b, kind, "stage", summary->tallies[i].stage);
			if (summary->tallies[i].result)
				jb_string(b, kind, "errno_name", name_errno(-summary->tallies[i].result));
			jb_uint(b, kind, "count", summary->tallies[i].count);
			jb_append(b, kinds, kind);
		}
		jb_put(b, related, "other_kinds", kinds);
	}
	jb_put(b, report, "related", related);
}

int report_build_summary(const struct storm_summary *summary, const char *id, const struct identity *identity,
			 const struct loss *loss, struct json_object **ret_json)
{
	const struct storm_window *w = &summary->window;
	struct jbuild b = { 0 };
	struct json_object *report = envelope(&b, KIND_SUMMARY, id, w->last_real_ns, w->last_mono_ns, identity);
	struct section s = { .b = &b, .report = report, .missing = jb_array(&b) };

	put_summary_process(&s, summary);
	put_summary_registration(&s, w);
	put_summary_verdict(&b, report, summary);
	put_summary_related(&b, report, summary);
	if (loss)
		put_loss(&b, report, loss);
	else
		section_missing(&s, "loss", "the loss counters had not been read yet");
	jb_put(&b, report, "missing_evidence", s.missing);
	return finish(&b, report, ret_json);
}
