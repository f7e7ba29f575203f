/* SPDX-License-Identifier: BSD-2-Clause */
/* Synthetic incidents, and a pipeline whose reports the tests can look at. */
#ifndef PINWHY_TEST_SUPPORT_H
#define PINWHY_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <json-c/json_object.h>

#include "diagnose.h"
#include "pipeline.h"
#include "report.h"

#define RANGE 0x7f0000001000ULL
#define PAGE 4096ULL
#define NS_PER_S 1000000000ULL

struct identity test_identity(void);
struct pipeline_settings test_settings(void);
struct clock_pair test_clock(uint64_t mono_ns);

/* The plainest incident that proves each cause: one per row of causes.def, or this does not link. */
#define DOC(...)
#define CAUSE(name, ...) void prove_##name(struct incident *ret);
#include "causes.def"
#undef CAUSE
#undef DOC
/* The chain above a failed umem function: it, the driver, the command. */
void fail_upwards(struct incident *in, int err);
/* A long-term pin that failed at page 37 of the range. */
void fail_pin(struct incident *in, int err);
/* A registration of 256 pages that failed with `err` at uverbs, and nothing else. */
void build_failure(struct incident *ret, int err);
/* The command refused the registration by itself; the device offers on-demand paging nowhere. */
void fail_command(struct incident *ret, int err);
/* The driver refused it before it came to the memory. */
void fail_driver(struct incident *ret, int err);
/* Pages pinned already, and the facts about whose they are. */
void steady_charge(struct incident *in);
void held_by(struct incident *in, uint64_t pinned, uint64_t memory_regions, uint64_t io_uring);
void add_chain(struct incident *in, enum wire_fn fn, int64_t result);
/* A small anonymous folio in a CMA pageblock with `extra` surplus references. */
struct wire_folio *add_folio(struct incident *in, uint64_t index, int64_t extra);
/* Another registration that was in a long-term pin of the folio. */
void add_rival(struct incident *in, const struct wire_folio *f, uint64_t pin_id);
/* A pin that failed in a mapping of the whole range with these VM_* flags. */
struct wire_vma *fail_in_mapping(struct incident *in, int err, uint64_t flags);
/* Makes it a mapping of a file of `pages` pages. */
void map_file(struct wire_vma *v, const char *fs, uint64_t pages);
/* A pin that stopped since the OOM killer chose the process for `constraint` (enum oom_constraint). */
void choose_victim(struct incident *in, uint32_t constraint);
void know_libraries(struct incident *in, const char *libraries);
/* NVIDIA's driver was asked for the pages of the range by a peer memory client that answered so. */
void ask_driver(struct incident *in, int err, enum wire_peer_answer answer);
/* The span of that registration, in flight. */
struct wire_span build_span(uint64_t id);

const char *verdict_cause(const struct diagnosis *d);	/* "unknown" */
/* The number that ruled `cause` out, NULL = it was not. */
const char *ruled_out(const struct diagnosis *d, const char *cause);
bool evidence_says(const struct finding *f, const char *words);
bool missing_says(const struct finding *f, const char *what);

#define BENCH_REPORTS 512
struct bench {
	struct pipeline *pipeline;
	uint32_t nreports, nasks;
	char *lines[BENCH_REPORTS];
	struct json_object *reports[BENCH_REPORTS];
	struct facts_request last_ask;
	int ask_result;		/* what ask() returns */
	uint64_t mono_ns;	/* the clock of the next input */
};
void bench_open(struct bench *b, const struct pipeline_settings *settings);
/* Checks the ledger, keeps the reports for the schema check, frees everything. */
void bench_close(struct bench *b);
void bench_emit(void *ctx, const struct report *report);	/* ctx: struct bench */
/* A stale region as the ring has it. */
struct wire_stale stale_record(const struct incident *in);
/* Likewise a hazard. */
struct wire_hazard hazard_record(const struct incident *in);
struct wire_cma_blocked blocked_record(const struct incident *in);
/* The records that make the incident, in the ring's order. */
typedef void (*record_fn)(void *ctx, const void *record, size_t size);
void each_record(const struct incident *in, record_fn fn, void *ctx);
/* Sends them. */
void bench_incident(struct bench *b, const struct incident *in);
void bench_facts(struct bench *b);	/* answers the last request with known facts */
struct facts test_facts(void);
const char *jstr(struct json_object *o, const char *path);	/* "a.b" or "a.0.b"; fails the test when absent */
int64_t jint(struct json_object *o, const char *path);
struct json_object *jget(struct json_object *o, const char *path);	/* NULL when absent */

/* Deterministic random numbers; the seed is printed, and taken from PINWHY_TEST_SEED when set. */
uint64_t test_seed(void);
uint32_t test_random(uint64_t *state, uint32_t below);

#endif
