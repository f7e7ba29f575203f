// SPDX-License-Identifier: BSD-2-Clause
#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct identity test_identity(void)
{
	struct identity id = {
		.node = "node-1", .boot_id = "3f0c1f0e-8a55-4c5e-9d0a-6f6a7c1f2b11",
		.kernel = "6.1.0-test", .machine = "x86_64", .agent_version = "0.0-test",
		.page_size = PAGE,
		.foll_longterm = 0x10000, .foll_pin = 0x40000, .foll_write = 1, .foll_force = 0x10,
		.file_pins_checked = true, .uring_bounded = true,
		.zones = { { "DMA", "DMA32", "Normal", "Movable" } },
		.migratetypes = { { "Unmovable", "Movable", "Reclaimable", "HighAtomic", "CMA", "Isolate" } },
		.migrate_reasons = { { [7] = "longterm_pin" } },
		.migrate_modes = { { "async", "sync_light", "sync" } },
		.putback_watched = true, .target_watched = true,
	};
	int i;

	for (i = 0; i < WIRE_FN_MAX; i++)
		id.fn_watched[i] = true;
	strcpy(id.fn_name[WIRE_FN_UVERBS], "ib_uverbs_reg_mr");
	strcpy(id.fn_module[WIRE_FN_UVERBS], "ib_uverbs");
	strcpy(id.fn_name[WIRE_FN_DRIVER_RXE], "rxe_reg_user_mr");
	strcpy(id.fn_module[WIRE_FN_DRIVER_RXE], "rdma_rxe");
	strcpy(id.fn_name[WIRE_FN_UMEM], "ib_umem_get");
	strcpy(id.fn_module[WIRE_FN_UMEM], "ib_uverbs");
	strcpy(id.fn_name[WIRE_FN_GUP_LONGTERM], "__gup_longterm_locked");
	return id;
}

struct pipeline_settings test_settings(void)
{
	return (struct pipeline_settings){
		.facts_deadline_ns = NS_PER_S / 2, .storm_window_ns = 60 * NS_PER_S,
		.storm_burst = 3, .storm_signatures = 16, .storm_cgroup_reports = 1000, .storm_cgroups = 4,
	};
}

struct clock_pair test_clock(uint64_t mono_ns)
{
	return (struct clock_pair){ .mono_ns = mono_ns, .real_ns = 1796000000 * NS_PER_S + mono_ns };
}

/* --- incidents ------------------------------------------------------------------ */

void add_chain(struct incident *in, enum wire_fn fn, int64_t result)
{
	struct wire_reg_end *e = &in->end;

	assert_true(e->nchain < WIRE_CHAIN_MAX);
	e->chain[e->nchain].fn = fn;
	e->chain[e->nchain++].result = result;
}

void build_failure(struct incident *ret, int err)
{
	struct wire_reg_end *e = &ret->end;

	memset(ret, 0, sizeof(*ret));
	e->hdr = (struct wire_hdr){ .kind = WIRE_REG_END, .version = WIRE_VERSION, .size = sizeof(*e),
				    .time_ns = 100 * NS_PER_S, .span_id = 7001 };
	e->start_ns = 100 * NS_PER_S - 250000;
	e->task_start_ns = 40 * NS_PER_S;
	e->address = RANGE;
	e->length = 256 * PAGE;
	e->iova = RANGE;
	e->have = WIRE_HAVE_COMMAND | WIRE_HAVE_UMEM | WIRE_HAVE_DEVICE | WIRE_HAVE_PINNED_VM |
		  WIRE_HAVE_MEMLOCK | WIRE_HAVE_CGROUP | WIRE_HAVE_VMAS | WIRE_HAVE_CAPS;
	e->caps = (struct wire_caps){ .max_mr = 1 << 20, .max_mr_size = UINT64_MAX };
	e->memlock_soft_bytes = e->memlock_hard_bytes = UINT64_MAX;
	e->result = -err;
	e->tgid = 4242;
	e->tid = 4243;
	e->ns_tgid = 42;
	e->uid = 1000;
	e->access = 0x7;
	e->pd_handle = 1;
	e->api = WIRE_API_REG_MR;
	e->stage = WIRE_STAGE_UMEM;
	e->init_user_ns = 1;
	e->nvmas = 1;
	e->vmas[0] = (struct wire_vma){ .start = RANGE - PAGE, .end = RANGE + 512 * PAGE, .flags = 0x3 };
	strcpy(e->comm, "worker");
	strcpy(e->device, "rxe0");
	strcpy(e->driver, "rdma_rxe");
	memcpy(e->cgroup, "job_1\0slurm\0", 13);
	ret->seen = test_clock(100 * NS_PER_S + 1000);
	facts_unknown(&ret->facts, -ESRCH);
}

void fail_upwards(struct incident *in, int err)
{
	add_chain(in, WIRE_FN_UMEM, -err);
	add_chain(in, WIRE_FN_DRIVER_RXE, -err);
	add_chain(in, WIRE_FN_UVERBS, -err);
}

static void before_the_memory(struct incident *ret, int err)
{
	build_failure(ret, err);
	ret->end.have &= ~(uint32_t)(WIRE_HAVE_UMEM | WIRE_HAVE_PINNED_VM | WIRE_HAVE_VMAS);
	ret->end.have |= WIRE_HAVE_CAPS;
	ret->end.stage = WIRE_STAGE_UVERBS;
}

void fail_command(struct incident *ret, int err)
{
	before_the_memory(ret, err);
	add_chain(ret, WIRE_FN_UVERBS, -err);
}

void fail_driver(struct incident *ret, int err)
{
	before_the_memory(ret, err);
	add_chain(ret, WIRE_FN_DRIVER_RXE, -err);
	add_chain(ret, WIRE_FN_UVERBS, -err);
}

void held_by(struct incident *in, uint64_t pinned, uint64_t memory_regions, uint64_t io_uring)
{
	in->end.pinned_before_pages = in->end.pinned_after_pages = pinned;
	in->facts.mr_process_pages = memory_regions;
	in->facts.io_uring_pages = io_uring;
	in->facts.mr_process_count = 1;
	in->facts.err[FACT_mr_process_pages] = in->facts.err[FACT_io_uring_pages] = 0;
	in->facts.err[FACT_mr_process_count] = 0;
	steady_charge(in);
}

void steady_charge(struct incident *in)
{
	in->facts.vm_pin_bytes = in->facts.vm_pin_later_bytes = in->end.pinned_after_pages * PAGE;
	in->facts.err[FACT_vm_pin_bytes] = in->facts.err[FACT_vm_pin_later_bytes] = 0;
}

void fail_pin(struct incident *in, int err)
{
	struct wire_reg_end *e = &in->end;

	e->have |= WIRE_HAVE_GUP | WIRE_HAVE_GUP_RESULT;
	e->gup_flags = 0x50001;
	e->gup_start = RANGE + 37 * PAGE;
	e->gup_pages = 219;
	e->gup_result = -err;
	e->gup_calls = 1;
	e->stage = WIRE_STAGE_PIN;
	add_chain(in, WIRE_FN_GUP_LONGTERM, -err);
}

struct wire_folio *add_folio(struct incident *in, uint64_t index, int64_t extra)
{
	struct wire_folio *f = &in->folios[in->nfolios];

	*f = (struct wire_folio){
		.hdr = { .kind = WIRE_FOLIO, .version = WIRE_VERSION, .size = sizeof(*f),
			 .time_ns = in->end.hdr.time_ns - 1000, .span_id = in->end.hdr.span_id },
		.pfn = 0x75100 + index, .address = RANGE + index * PAGE, .index_pages = index,
		.refcount = 2 + extra, .mapcount = 1, .pincount = -1, .expected = 2,
		.zone = 2, .migratetype = 4,
		.flags = WIRE_FOLIO_ANON | WIRE_FOLIO_CMA,
		.have = WIRE_HAVE_PLACEMENT | WIRE_HAVE_ADDRESS | WIRE_HAVE_COUNTS | WIRE_HAVE_AREA,
		.ordinal = in->nfolios,
		.gup_call = 1,
		.area = "hugetlb0",
	};
	in->nfolios++;
	in->end.folios_seen = in->end.folios_sent = in->nfolios;
	in->end.migrate_failed = in->nfolios;
	in->end.chain[0].result = in->nfolios;
	return f;
}

void add_rival(struct incident *in, const struct wire_folio *f, uint64_t pin_id)
{
	struct holders *all = &in->holders;

	all->pins[all->npins] = (struct wire_holder){
		.hdr = { .kind = WIRE_HOLDER, .version = WIRE_VERSION, .size = sizeof(struct wire_holder),
			 .time_ns = f->hdr.time_ns, .span_id = f->hdr.span_id },
		.pfn = f->pfn, .page = 0, .gup_call = f->gup_call,
		.pin = { .id = pin_id, .since_ns = in->end.start_ns - NS_PER_S, .address = f->address, .pages = 2, .tgid = in->end.tgid,
			 .tid = 4299, .gup_flags = 0x50001, .calls = 1, .via = WIRE_PIN_VIA_REGISTRATION },
	};
	all->holdings[all->nholdings++] = (struct holding){ .pfn = f->pfn, .pin = all->npins++ };
}

struct wire_span build_span(uint64_t id)
{
	return (struct wire_span){
		.tid = 4243, .tgid = 4242, .id = id, .start_ns = 80 * NS_PER_S,
		.attrs = 0xffff888012345678, .device = 0xffff88808765abcd,
		.address = RANGE, .length = 256 * PAGE, .access = 1,
		.have = WIRE_HAVE_UMEM | WIRE_HAVE_VMAS, .api = WIRE_API_REG_MR, .stage = WIRE_STAGE_PIN,
		.nvmas = 1,
		.vmas = { { .start = RANGE, .end = RANGE + 256 * PAGE, .flags = 0x3,
			    .file = 0xffff888055555555, .fs_magic = 0x01021994 } },
		.npins = 1, .pins = { 0xffff888033334444 },
	};
}

/* --- diagnoses ------------------------------------------------------------------ */

const char *verdict_cause(const struct diagnosis *d)
{
	return d->cause ? d->cause->id : "unknown";
}

const char *ruled_out(const struct diagnosis *d, const char *cause)
{
	uint32_t i;

	for (i = 0; i < d->nruled_out; i++)
		if (strcmp(d->ruled_out[i].cause->id, cause) == 0)
			return d->ruled_out[i].because;
	return NULL;
}

bool evidence_says(const struct finding *f, const char *words)
{
	uint32_t i;

	for (i = 0; i < f->nevidence; i++)
		if (strstr(f->evidence[i], words))
			return true;
	return false;
}

bool missing_says(const struct finding *f, const char *what)
{
	uint32_t i;

	for (i = 0; i < f->nmissing; i++)
		if (strcmp(f->missing[i].what, what) == 0)
			return true;
	return false;
}

/* --- JSON ----------------------------------------------------------------------- */

struct json_object *jget(struct json_object *o, const char *path)
{
	char key[64];
	size_t n;

	while (*path && o) {
		n = strcspn(path, ".");
		assert_true(n < sizeof(key));
		memcpy(key, path, n);
		key[n] = '\0';
		path += n + (path[n] == '.');
		if (json_object_is_type(o, json_type_array))
			o = json_object_array_get_idx(o, strtoul(key, NULL, 10));
		else if (!json_object_object_get_ex(o, key, &o))
			return NULL;
	}
	return o;
}

const char *jstr(struct json_object *o, const char *path)
{
	struct json_object *v = jget(o, path);

	if (!v)
		fail_msg("no %s in %s", path, json_object_to_json_string(o));
	return json_object_get_string(v);
}

int64_t jint(struct json_object *o, const char *path)
{
	struct json_object *v = jget(o, path);

	if (!v)
		fail_msg("no %s in %s", path, json_object_to_json_string(o));
	return json_object_get_int64(v);
}

/* --- a pipeline ----------------------------------------------------------------- */

void bench_emit(void *ctx, const struct report *report)
{
	struct bench *b = ctx;

	assert_true(b->nreports < BENCH_REPORTS);
	assert_int_equal(report->line_len, strlen(report->line));
	assert_null(strchr(report->line, '\n'));
	b->lines[b->nreports] = strdup(report->line);
	b->reports[b->nreports++] = json_object_get(report->json);
}

static int bench_ask(void *ctx, const struct facts_request *req)
{
	struct bench *b = ctx;

	b->nasks++;
	b->last_ask = *req;
	return b->ask_result;
}

void bench_open(struct bench *b, const struct pipeline_settings *settings)
{
	const struct pipeline_ops ops = { .ask = bench_ask, .emit = bench_emit };
	struct identity id = test_identity();

	memset(b, 0, sizeof(*b));
	b->mono_ns = 100 * NS_PER_S + 1000;
	assert_int_equal(pipeline_new(&b->pipeline, &id, settings, &ops, b), 0);
}

/* Reports of all tests end up in one folder, where they are held against the schema. */
static void keep_reports(const struct bench *b)
{
	const char *path = getenv("PINWHY_TEST_REPORTS");
	uint32_t i;
	FILE *f;

	if (!path)
		return;
	f = fopen(path, "a");
	assert_non_null(f);
	for (i = 0; i < b->nreports; i++)
		fprintf(f, "%s\n", b->lines[i]);
	assert_int_equal(fclose(f), 0);
}

void bench_close(struct bench *b)
{
	struct pipeline_stats stats;
	uint32_t i;

	if (b->pipeline) {
		pipeline_stats(b->pipeline, &stats);
		if (pipeline_ledger(&stats))
			fail_msg("ledger: %s", pipeline_ledger(&stats));
	}
	keep_reports(b);
	for (i = 0; i < b->nreports; i++) {
		free(b->lines[i]);
		json_object_put(b->reports[i]);
	}
	pipeline_free(b->pipeline);
	memset(b, 0, sizeof(*b));
}

struct wire_stale stale_record(const struct incident *in)
{
	struct wire_stale stale = { .end = in->end, .damage = in->damage };

	return stale;
}

struct wire_hazard hazard_record(const struct incident *in)
{
	struct wire_hazard h = { .end = in->end, .holder = in->holders.pins[0], .stranded = in->stranded, .page = in->folios[0] };

	h.end.folios_seen = 0;
	h.end.hdr.kind = WIRE_HAZARD;
	h.end.hdr.size = sizeof(h);
	return h;
}

struct wire_cma_blocked blocked_record(const struct incident *in)
{
	struct wire_cma_blocked b = { .end = in->end, .holder = in->holders.pins[0], .contig = in->contig, .page = in->folios[0] };

	b.end.folios_seen = 0;
	return b;
}

void each_record(const struct incident *in, record_fn fn, void *ctx)
{
	uint32_t i;

	if (in->contig.pages) {
		const struct wire_cma_blocked blocked = blocked_record(in);

		fn(ctx, &blocked, sizeof(blocked));
		return;
	}
	if (in->hazard) {
		const struct wire_hazard hazard = hazard_record(in);

		fn(ctx, &hazard, sizeof(hazard));
		return;
	}
	for (i = 0; i < in->nfolios; i++)
		fn(ctx, &in->folios[i], sizeof(in->folios[i]));
	for (i = 0; i < in->holders.nholdings; i++) {
		const struct holding *h = &in->holders.holdings[i];
		struct wire_holder record = in->holders.pins[h->pin];

		record.pfn = h->pfn;
		record.page = h->page;
		fn(ctx, &record, sizeof(record));
	}
	if (in->stale) {
		const struct wire_stale stale = stale_record(in);

		fn(ctx, &stale, sizeof(stale));
	} else {
		fn(ctx, &in->end, sizeof(in->end));
	}
}

static void send_record(void *ctx, const void *record, size_t size)
{
	struct bench *b = ctx;

	pipeline_event(b->pipeline, record, size, test_clock(b->mono_ns));
}

void bench_incident(struct bench *b, const struct incident *in)
{
	each_record(in, send_record, b);
}

struct facts test_facts(void)
{
	struct facts f;

	memset(&f, 0, sizeof(f));
	f.mem_total_bytes = 8ULL << 30;
	f.mem_free_bytes = 6ULL << 30;
	f.mem_available_bytes = 7ULL << 30;
	f.cma_total_bytes = 1ULL << 30;
	f.cma_free_bytes = 1ULL << 29;
	f.free_outside_bytes = 5ULL << 30;
	f.vm_pin_bytes = f.vm_pin_later_bytes = 4096;
	/* All that prove_rlimit_memlock_exceeded() has pinned. */
	f.mr_process_pages = 100;
	f.mr_process_count = 1;
	f.cgroup_memory_current_bytes = 1 << 20;
	f.cgroup_memory_max_bytes = UINT64_MAX;
	strcpy(f.limit_set_by, "sshd.service (sshd[812]): its parent systemd[1] has unlimited");
	strcpy(f.limit_chain, "worker[4242] 1.2 MiB < sshd[812] 1.2 MiB < systemd[1] unlimited");
	f.mr_process_pages = 90;
	f.mr_process_count = 3;
	f.mr_device_count = 5;
	f.io_uring_pages = 10;
	f.err[FACT_cgroup_max_path] = f.err[FACT_cgroup_v1] = FACT_NONE;
	f.err[FACT_rdmacg_path] = f.err[FACT_rdmacg_object_max] = f.err[FACT_rdmacg_object_current] = FACT_NONE;
	f.err[FACT_hugetlb_total_pages] = f.err[FACT_hugetlb_free_pages] = FACT_NOT_ASKED;
	f.err[FACT_hugetlb_reserved_pages] = f.err[FACT_hugetlb_cgroup_max_bytes] = FACT_NOT_ASKED;
	f.err[FACT_hugetlb_cgroup_current_bytes] = f.err[FACT_hugetlb_cgroup_max_events] = FACT_NOT_ASKED;
	f.err[FACT_holder_buffers] = f.err[FACT_holder_files] = FACT_NOT_ASKED;
	f.err[FACT_holder_pipes] = f.err[FACT_holder_others] = FACT_NOT_ASKED;
	f.vfio_entry_limit = 65535;
	f.max_map_count = 65530;
	f.map_count = 410;
	strcpy(f.node_free, "0: 4294967296, 1: 2147483648");
	strcpy(f.job_scheduler, "slurm");
	strcpy(f.job_id, "1");
	strcpy(f.job_rank, "3");
	strcpy(f.communicator, "10.0.0.1:4000");
	strcpy(f.libraries, "libibverbs.so.1.14.44.0=0123456789abcdef0123456789abcdef01234567\nlibnccl.so.2=");
	strcpy(f.nvidia_version, "535.104.05");
	strcpy(f.nvidia_flavour, "proprietary");
	f.err[FACT_bar1_total_bytes] = f.err[FACT_bar1_used_bytes] = FACT_NOT_ASKED;
	f.err[FACT_bar1_free_bytes] = FACT_NOT_ASKED;
	strcpy(f.exe, "/usr/bin/worker");
	strcpy(f.comm, "worker");
	strcpy(f.cgroup, "/slurm/job_1");
	strcpy(f.link_layer, "Ethernet");
	return f;
}

void bench_facts(struct bench *b)
{
	struct facts f = test_facts();

	pipeline_facts(b->pipeline, b->last_ask.id, &f, test_clock(b->mono_ns));
}

/* --- random numbers ------------------------------------------------------------- */

uint64_t test_seed(void)
{
	const char *given = getenv("PINWHY_TEST_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);

	printf("PINWHY_TEST_SEED=%llu\n", (unsigned long long)seed);
	return seed;
}

uint32_t test_random(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)(*state >> 33) % below;
}
