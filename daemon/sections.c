// SPDX-License-Identifier: BSD-2-Clause
/* The sections of a report that describe what the kernel told. What user space read is sections_facts.c. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "jbuild.h"
#include "names.h"
#include "container.h"
#include "report.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define ACCESS_WRITABLE 0x1b	/* LOCAL_WRITE | REMOTE_WRITE | REMOTE_ATOMIC | MW_BIND: ib_access_writable() */

#define TMPFS_MAGIC 0x01021994
#define HUGETLBFS_MAGIC 0x958458f6
#define VM_PFNMAP 0x400
#define VM_IO 0x4000
#define VM_MIXEDMAP 0x10000000

struct names_to_json {
	struct jbuild *b;
	struct json_object *array;
};

static void append_name(void *ctx, const char *name)
{
	struct names_to_json *n = ctx;

	jb_append_string(n->b, n->array, name);
}

static void put_start_time(struct section *s, struct json_object *process)
{
	const struct incident *in = s->r->in;
	uint64_t boot_ns = in->seen.mono_ns + s->r->identity->suspended_ns;
	char buf[TEXT_TIME_LEN];

	if (in->end.task_start_ns && in->end.task_start_ns <= boot_ns)
		jb_string(s->b, process, "start_time",
			  text_time(buf, in->seen.real_ns - (boot_ns - in->end.task_start_ns)));
	else
		section_missing(s, "process.start_time", "the start of the process was not read");
}

/*
 * On a host of version 1 every process is in the root of version 2, which is what the kernel tells at the failure: the group is
 * what the process is in a moment later.
 */
static bool put_cgroup_v1(struct section *s, struct json_object *process, char *path, struct text *t)
{
	const struct facts *f = &s->r->in->facts;

	if (strcmp(path, "/"))
		return false;
	if (FACT_KNOWN(f, cgroup_v1)) {
		text_init(t, path, t->size);
		text_add(t, "%s", f->cgroup_v1);
	} else if (f->err[FACT_cgroup_v1] != FACT_NONE && f->err[FACT_cgroup_v1] != FACT_NOT_ASKED) {
		section_missing(s, "process.cgroup", "it is / in version 2; whether there is one of version 1 could not be read");
	}
	jb_string(s->b, process, "cgroup", path);
	return true;
}

static void put_cgroup(struct section *s, struct json_object *process)
{
	const struct incident *in = s->r->in;
	char path[WIRE_CGROUP_LEN + 512], container[65], pod[40];
	struct text t;

	text_init(&t, path, sizeof(path));
	if (in->end.have & WIRE_HAVE_CGROUP) {
		cgroup_path(in->end.cgroup, sizeof(in->end.cgroup), &t);
		if (!put_cgroup_v1(s, process, path, &t))
			jb_string(s->b, process, "cgroup", path);
	} else if (in->stuck && (FACT_KNOWN(&in->facts, cgroup) || in->facts.err[FACT_cgroup] == -EOPNOTSUPP)) {
		/* No line of version 2: that is nowhere mounted. */
		text_add(&t, "%s", FACT_KNOWN(&in->facts, cgroup) ? in->facts.cgroup : "/");
		if (!put_cgroup_v1(s, process, path, &t))
			jb_string(s->b, process, "cgroup", path);
	} else if (in->stuck) {
		section_fact_string(s, process, "cgroup", "process.cgroup", FACT_cgroup);
	} else {
		section_missing(s, "process.cgroup", "it could not be read in the kernel at the failure");
	}
	cgroup_container(path, container);
	cgroup_pod(path, pod);
	if (container[0])
		jb_string(s->b, process, "container_id", container);
	if (pod[0])
		jb_string(s->b, process, "pod_uid", pod);
}

void section_process(struct section *s)
{
	struct json_object *process = jb_object(s->b);
	const struct incident *in = s->r->in;
	const struct wire_reg_end *e = &in->end;

	jb_uint(s->b, process, "pid", e->tgid);
	jb_uint(s->b, process, "tid", e->tid);
	if (e->comm[0])
		jb_string(s->b, process, "comm", e->comm);
	else
		section_fact_string(s, process, "comm", "process.comm", FACT_comm);
	if (in->stuck) {
		section_missing(s, "process.uid", "credentials are read at the end of a registration only");
	} else {
		jb_uint(s->b, process, "uid", e->uid);
		jb_uint(s->b, process, "ns_pid", e->ns_tgid);
		put_start_time(s, process);
	}
	/* The end of a stuck registration points back to the report that tells the rest. */
	if (in->stuck || incident_is_warning(in) || e->result != 0)
		section_fact_string(s, process, "exe", "process.exe", FACT_exe);
	put_cgroup(s, process);
	if (in->stuck || incident_is_warning(in) || e->result != 0)
		section_process_facts(s, process);
	section_process_stack(s, process);
	jb_put(s->b, s->report, "process", process);
}

static const char *vma_class(const struct wire_vma *v)
{
	if (v->flags & (VM_IO | VM_PFNMAP))
		return "device_io";
	if (v->file == 0)
		return "host_anonymous";
	/* A driver that maps pages of its own has a file on devtmpfs, which says nothing about them. */
	if (v->flags & VM_MIXEDMAP)
		return "unknown";
	switch (v->fs_magic) {
	case 0:
		return "unknown";
	case TMPFS_MAGIC:
		return "host_shmem";
	case HUGETLBFS_MAGIC:
		return "host_hugetlb";
	default:
		return "host_file";
	}
}

static const char *allocation_class(const struct incident *in)
{
	const struct wire_reg_end *e = &in->end;
	const char *class = vma_class(&e->vmas[0]);
	uint32_t i;

	for (i = 1; i < e->nvmas; i++)
		if (strcmp(vma_class(&e->vmas[i]), class) != 0)
			return "unknown";
	/* The last slot is taken and the range goes on: nobody looked at what follows. */
	if (e->nvmas == WIRE_VMAS_MAX && e->vmas[e->nvmas - 1].end < e->address + e->length)
		return "unknown";
	return class;
}

static void put_range(struct section *s, struct json_object *registration)
{
	const struct incident *in = s->r->in;
	const struct wire_reg_end *e = &in->end;
	struct names_to_json access = { .b = s->b };

	if (e->have & WIRE_HAVE_COMMAND) {
		jb_uint(s->b, registration, "pd", e->pd_handle);
		jb_hex(s->b, registration, "iova", e->iova);
	} else if (e->api == WIRE_API_REG_MR && !in->stale) {
		section_missing(s, "registration.iova", "%s", in->stuck ?
				"the command is read at the end of a registration only" :
				"the command could not be read in the kernel");
	}
	if (incident_has_range(in)) {
		jb_hex(s->b, registration, "address", e->address);
		jb_uint(s->b, registration, "length", e->length);
	} else {
		section_missing(s, "registration.address", "neither the command nor the umem function's arguments were read");
	}
	if (!(e->have & (WIRE_HAVE_COMMAND | WIRE_HAVE_UMEM)))
		return;
	access.array = jb_array(s->b);
	name_access(e->access, append_name, &access);
	jb_put(s->b, registration, "access", access.array);
	jb_string(s->b, registration, "direction",
		  e->access & ACCESS_WRITABLE ? "device_may_write" : "device_reads_only");
}

static void put_device(struct section *s, struct json_object *registration)
{
	const struct wire_reg_end *e = &s->r->in->end;

	if (e->device[0])
		jb_string(s->b, registration, "device", e->device);
	else
		section_missing(s, "registration.device", "%s", s->r->in->stuck ?
				"its name is read at the end of a registration only" :
				"the device was not known when the registration ended");
	if (e->driver[0])
		jb_string(s->b, registration, "driver", e->driver);
	if (e->device[0] && e->result != 0)
		section_fact_string(s, registration, "link_layer", "registration.link_layer", FACT_link_layer);
}

/* How it went, of one that did not just succeed. */
static void put_course(struct section *s, struct json_object *registration)
{
	const struct incident *in = s->r->in;
	const struct wire_reg_end *e = &in->end;

	if (e->have & WIRE_HAVE_VMAS && e->nvmas)
		jb_string(s->b, registration, "allocation_class", allocation_class(in));
	else
		section_missing(s, "registration.allocation_class", "the mappings of the range were not read in the kernel");
	if (e->start_ns && e->hdr.time_ns >= e->start_ns)
		jb_uint(s->b, registration, "duration_ns", e->hdr.time_ns - e->start_ns);
	else
		section_missing(s, "registration.duration_ns", "the begin of the registration was not seen: it could not be followed");
	if (!in->stuck && e->result != 0) {
		jb_int(s->b, registration, "errno", -e->result);
		jb_string(s->b, registration, "errno_name", name_errno((int)-e->result));
	}
	jb_string(s->b, registration, "stage", incident_stage(in, s->r->identity));
	if (in->stuck)
		jb_string(s->b, registration, "verified", in->sighting.verified);
	if (in->stuck && in->sighting.waits_in[0])
		jb_string(s->b, registration, "waits_in", in->sighting.waits_in);
}

void section_registration(struct section *s)
{
	struct json_object *registration = jb_object(s->b);
	const struct incident *in = s->r->in;
	const struct wire_reg_end *e = &in->end;

	jb_string(s->b, registration, "api", name_api(e->api));
	if (e->api != WIRE_API_NONE)
		jb_string(s->b, registration, "entry",
			  name_fn(s->r->identity, name_api_entry(e->api)));
	put_device(s, registration);
	put_range(s, registration);
	if (!in->stale)
		put_course(s, registration);
	else if (e->start_ns && e->start_ns <= e->hdr.time_ns)
		jb_uint(s->b, registration, "age_ns", e->hdr.time_ns - e->start_ns);
	jb_put(s->b, s->report, "registration", registration);
}

/* What was done to the memory of a live region. */
void section_damage(struct section *s)
{
	static const char *const by[WIRE_DAMAGE_MAX] = { "unknown", "munmap", "madvise", "mremap", "mmap" };
	const struct incident *in = s->r->in;
	const struct wire_damage *d = &in->damage;
	struct json_object *damage = jb_object(s->b);

	jb_string(s->b, damage, "by", by[d->by]);
	if (d->by == WIRE_DAMAGE_MADVISE)
		jb_string(s->b, damage, "advice", name_advice(d->advice));
	jb_hex(s->b, damage, "start", d->start);
	jb_hex(s->b, damage, "end", d->end);
	jb_uint(s->b, damage, "pages", (d->end - d->start) / s->r->identity->page_size);
	jb_hex(s->b, damage, "call_start", d->call_start);
	jb_hex(s->b, damage, "call_end", d->call_end);
	jb_uint(s->b, damage, "thread", in->end.tid);
	jb_uint(s->b, damage, "owner_pid", d->owner_tgid);
	jb_put(s->b, s->report, "damage", damage);
}

void section_chain(struct section *s)
{
	const struct wire_reg_end *e = &s->r->in->end;
	struct json_object *chain = jb_array(s->b), *entry;
	uint32_t i;

	for (i = 0; i < e->nchain; i++) {
		const struct wire_chain *c = &e->chain[i];

		entry = jb_object(s->b);
		jb_string(s->b, entry, "function", name_fn(s->r->identity, c->fn));
		jb_string(s->b, entry, "module", name_fn_module(s->r->identity, c->fn));
		if (c->result < 0) {
			jb_int(s->b, entry, "errno", -c->result);
			jb_string(s->b, entry, "errno_name", name_errno((int)-c->result));
		} else if (c->result > 0) {
			jb_int(s->b, entry, "left", c->result);
		}
		jb_append(s->b, chain, entry);
	}
	jb_put(s->b, s->report, "chain", chain);
}

/*
 * A slow-path pin starts where the pages before it have been pinned, and fails only when
 * its own first page does: its start tells how far the pin had come.
 */
static void put_pinned(struct section *s, struct json_object *pin)
{
	const struct incident *in = s->r->in;
	int64_t index = incident_index(in, s->r->identity, in->end.gup_start);

	if (in->end.stage == WIRE_STAGE_PINNED)
		jb_uint(s->b, pin, "pinned_pages", incident_pages(in, s->r->identity));
	else if ((in->end.have & WIRE_HAVE_GUP_RESULT) && in->end.gup_result < 0 && index >= 0)
		jb_int(s->b, pin, "pinned_pages", index);
}

void section_gup_flags(struct section *s, struct json_object *pin, uint32_t flags)
{
	const struct identity *id = s->r->identity;
	struct names_to_json names = { .b = s->b, .array = jb_array(s->b) };

	jb_hex(s->b, pin, "gup_flags", flags);
	name_gup_flags(id, flags, append_name, &names);
	jb_put(s->b, pin, "gup_flags_names", names.array);
	if (id->foll_longterm)
		jb_bool(s->b, pin, "foll_longterm", flags & id->foll_longterm);
}

static void put_gup(struct section *s, struct json_object *pin)
{
	const struct identity *id = s->r->identity;
	const struct wire_reg_end *e = &s->r->in->end;

	section_gup_flags(s, pin, e->gup_flags);
	if (id->foll_write)
		jb_bool(s->b, pin, "foll_write", e->gup_flags & id->foll_write);
	jb_hex(s->b, pin, "slow_start", e->gup_start);
	jb_uint(s->b, pin, "slow_pages", e->gup_pages);
	if (e->have & WIRE_HAVE_GUP_RESULT)
		jb_int(s->b, pin, "slow_result", e->gup_result);
	else
		section_missing(s, "pin.slow_result", "the end of the slow-path pin was not seen");
}

void section_pin(struct section *s)
{
	const struct wire_reg_end *e = &s->r->in->end;
	struct json_object *pin;

	if (!(e->have & (WIRE_HAVE_UMEM | WIRE_HAVE_GUP)))
		return;
	pin = jb_object(s->b);
	if (incident_pages(s->r->in, s->r->identity))
		jb_uint(s->b, pin, "requested_pages", incident_pages(s->r->in, s->r->identity));
	put_pinned(s, pin);
	if (e->have & WIRE_HAVE_GUP)
		put_gup(s, pin);
	else if (incident_chain(s->r->in, WIRE_FN_GUP_LONGTERM))
		section_missing(s, "pin.gup_flags", "the flags of the failing pin were not read");
	jb_uint(s->b, pin, "slow_calls", e->gup_calls);
	jb_uint(s->b, pin, "passes", e->passes);
	if (e->have & WIRE_HAVE_PIN_FAST) {
		jb_hex(s->b, pin, "fast_flags", e->pin_fast_flags);
		jb_uint(s->b, pin, "fast_pages", e->pin_fast_pages);
	}
	jb_put(s->b, s->report, "pin", pin);
}

void section_migration(struct section *s)
{
	const struct wire_reg_end *e = &s->r->in->end;
	const struct identity *id = s->r->identity;
	const struct wire_chain *m = incident_chain(s->r->in, WIRE_FN_MIGRATE);
	struct json_object *migration;

	if (!(e->have & WIRE_HAVE_MIGRATE)) {
		if (e->folios_seen)
			section_missing(s, "migration", "the result of %s was not seen", name_fn(id, WIRE_FN_MIGRATE));
		return;
	}
	migration = jb_object(s->b);
	jb_int(s->b, migration, "moved", e->migrate_moved);
	jb_int(s->b, migration, "failed", e->migrate_failed);
	if (m)
		jb_int(s->b, migration, "result", m->result);
	if (name_enum(&id->migrate_reasons, e->migrate_reason)[0])
		jb_string(s->b, migration, "reason", name_enum(&id->migrate_reasons, e->migrate_reason));
	if (name_enum(&id->migrate_modes, e->migrate_mode)[0])
		jb_string(s->b, migration, "mode", name_enum(&id->migrate_modes, e->migrate_mode));
	jb_uint(s->b, migration, "targets_refused", e->no_target);
	jb_put(s->b, s->report, "migration", migration);
}

static const char *folio_mapping(const struct wire_folio *f)
{
	if (f->flags & WIRE_FOLIO_HUGETLB)
		return "hugetlb";
	if (f->flags & WIRE_FOLIO_KSM)
		return "ksm";
	if (f->flags & WIRE_FOLIO_ANON)
		return "anonymous";
	if (f->flags & WIRE_FOLIO_SHMEM)
		return "shmem";
	return f->flags & WIRE_FOLIO_FILE ? "file" : "other";
}

struct flag_word {
	uint32_t flag;
	const char *word;
};

static void put_flags(struct section *s, struct json_object *page, const char *key,
		      const struct flag_word *words, size_t n, uint32_t flags)
{
	struct json_object *array = jb_array(s->b);
	size_t i;

	for (i = 0; i < n; i++)
		if (flags & words[i].flag)
			jb_append_string(s->b, array, words[i].word);
	jb_put(s->b, page, key, array);
}

/* What made the place one that long-term pins refuse. NULL: nothing did, as far as was seen. */
static const char *placement_source(const struct wire_folio *f)
{
	bool area = (f->have & WIRE_HAVE_AREA) && f->area[0];

	if ((f->flags & WIRE_FOLIO_CMA) && area) /* hugetlb_cma= names its areas after itself */
		return strncmp(f->area, "hugetlb", strlen("hugetlb")) == 0 ? "hugetlb_cma" : "cma_area";
	if (f->flags & WIRE_FOLIO_CMA)
		return f->flags & WIRE_FOLIO_AREA_UNTOLD ? "cma_area_not_known" : "cma_outside_known_areas";
	if (f->flags & WIRE_FOLIO_MOVABLE_ZONE)
		return "movable_zone";
	return f->flags & WIRE_FOLIO_ISOLATE ? "isolation" : NULL;
}

static void put_placement(struct section *s, struct json_object *page, const struct wire_folio *f)
{
	static const struct flag_word places[] = {
		{ WIRE_FOLIO_CMA, "cma" },
		{ WIRE_FOLIO_MOVABLE_ZONE, "movable_zone" },
		{ WIRE_FOLIO_ISOLATE, "isolate" },
	};
	const struct identity *id = s->r->identity;

	if (!(f->have & WIRE_HAVE_PLACEMENT))
		return;
	jb_uint(s->b, page, "node", f->node);
	if (name_enum(&id->zones, f->zone)[0])
		jb_string(s->b, page, "zone", name_enum(&id->zones, f->zone));
	if (name_enum(&id->migratetypes, f->migratetype)[0])
		jb_string(s->b, page, "migratetype", name_enum(&id->migratetypes, f->migratetype));
	put_flags(s, page, "placement", places, COUNT(places), f->flags);
	if (placement_source(f))
		jb_string(s->b, page, "placement_source", placement_source(f));
	if ((f->have & WIRE_HAVE_AREA) && f->area[0])
		jb_string(s->b, page, "area", f->area);
}

static void put_counts(struct section *s, struct json_object *page, const struct wire_folio *f)
{
	struct folio_refs refs = folio_refs(f);

	if (!(f->have & WIRE_HAVE_COUNTS))
		return;
	jb_int(s->b, page, "refcount", f->refcount);
	jb_int(s->b, page, "expected", f->expected);
	jb_int(s->b, page, "mapcount", f->mapcount);
	if (f->pincount >= 0)
		jb_int(s->b, page, "pincount", f->pincount);
	if (!refs.known)
		return;
	if (f->pincount < 0)
		jb_int(s->b, page, "pincount", refs.pins);
	jb_bool(s->b, page, "pincount_estimated", f->pincount < 0);
	jb_int(s->b, page, "other_references", refs.others);
}

static struct json_object *page_object(struct section *s, const struct wire_folio *f)
{
	static const struct flag_word states[] = {
		{ WIRE_FOLIO_SWAPCACHE, "swapcache" },
		{ WIRE_FOLIO_PRIVATE, "private" },
		{ WIRE_FOLIO_WRITEBACK, "writeback" },
		{ WIRE_FOLIO_LOCKED, "locked" },
		{ WIRE_FOLIO_MLOCKED, "mlocked" },
		{ WIRE_FOLIO_UNMOVABLE_OPS, "movable_ops" },
	};
	struct json_object *page = jb_object(s->b);

	if (f->have & WIRE_HAVE_ADDRESS) {
		jb_uint(s->b, page, "index", f->index_pages);
		jb_hex(s->b, page, "address", f->address);
	}
	if (f->pfn)
		jb_hex(s->b, page, "pfn", f->pfn);
	jb_uint(s->b, page, "order", f->order);
	put_placement(s, page, f);
	put_counts(s, page, f);
	jb_string(s->b, page, "mapping", folio_mapping(f));
	put_flags(s, page, "state", states, COUNT(states), f->flags);
	return page;
}

void section_pages(struct section *s)
{
	const struct incident *in = s->r->in;
	uint32_t total = in->end.folios_seen > in->nfolios ? in->end.folios_seen : in->nfolios;
	struct json_object *pages;
	uint32_t i, no_place = 0, no_counts = 0, no_address = 0;

	if (total == 0 && (in->end.have & WIRE_HAVE_MIGRATE) && in->end.migrate_failed > 0)
		section_missing(s, "pages", "migration left pages behind, and the hook that describes them did not run");
	if (total == 0)
		return;
	pages = jb_array(s->b);
	for (i = 0; i < in->nfolios; i++) {
		jb_append(s->b, pages, page_object(s, &in->folios[i]));
		no_place += !(in->folios[i].have & WIRE_HAVE_PLACEMENT);
		no_counts += (!in->hazard || in->contig.pages) && !(in->folios[i].have & WIRE_HAVE_COUNTS);
		no_address += !(in->folios[i].have & WIRE_HAVE_ADDRESS);
	}
	jb_put(s->b, s->report, "pages", pages);
	jb_uint(s->b, s->report, "pages_total", total);
	jb_uint(s->b, s->report, "pages_omitted", total - in->nfolios);
	if (no_place)
		section_missing(s, "pages.placement", "zone and pageblock of %u folios could not be read", no_place);
	if (no_counts)
		section_missing(s, "pages.refcount", "the counts of %u folios could not be read", no_counts);
	if (no_address)
		section_missing(s, "pages.address", "where in the range %u folios are mapped was not certain (several mappings fit, or not all were seen)",
				no_address);
	if (in->end.folios_sent > in->nfolios)
		section_missing(s, "pages", "%u descriptions were put aside: too many registrations failed at once",
				in->end.folios_sent - in->nfolios);
	if (in->holders.put_aside)
		section_missing(s, "first_pin", "%u records of who holds these pages were put aside: more pins than are kept of one registration, or too many registrations failed at once",
				in->holders.put_aside);
	if (in->end.folios_dropped)
		section_missing(s, "pages", "%u descriptions were lost: the event ring was full",
				in->end.folios_dropped);
}
