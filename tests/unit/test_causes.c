// SPDX-License-Identifier: BSD-2-Clause
/* The table of causes as a whole: every row, every pair, and the words. */
#include "support.h"

#include <errno.h>
#include <json-c/json_util.h>
#include <string.h>

#include "names.h"

struct proof {
	const char *id;
	void (*build)(struct incident *ret);
};

/* One row per row of causes.def, in its order. */
static const struct proof proofs[] = {
#define DOC(name, ...) { #name, NULL },
#define CAUSE(name, ...) { #name, prove_##name },
#include "causes.def"
#undef CAUSE
#undef DOC
};

static const char *const at_most_likely[] = {
#define AT_MOST_LIKELY(name, why) #name,
#include "likely.def"
#undef AT_MOST_LIKELY
};

static bool provable(const char *id)
{
	size_t i;

	for (i = 0; i < sizeof(at_most_likely) / sizeof(at_most_likely[0]); i++)
		if (strcmp(at_most_likely[i], id) == 0)
			return false;
	return true;
}

static bool among_also(const struct diagnosis *d, const char *id)
{
	uint32_t i;

	for (i = 0; i < d->nalso; i++)
		if (strcmp(d->also[i]->id, id) == 0)
			return true;
	return false;
}

static void expect_proof(const struct diagnosis *d, const char *id)
{
	if (strcmp(verdict_cause(d), id) != 0 || d->confidence != CONFIDENCE_proven || d->conflict)
		fail_msg("%s: the verdict is %s, %s%s", id, verdict_cause(d), confidence_words[d->confidence].word, d->conflict ? ", in conflict" : "");
	if (d->nalso)
		fail_msg("%s: %s fits as well", id, d->also[0]->id);
	assert_true(d->verdict.summary[0]);
	assert_true(d->verdict.nevidence > 0);
	assert_true(d->verdict.nremedies > 0);
	assert_int_not_equal(d->verdict.detail, DETAIL_none);
}

static void every_cause_is_proven_by_its_incident(void **state)
{
	struct identity id = test_identity();
	struct diagnosis d;
	struct incident in;
	size_t i;

	(void)state;
	for (i = 0; i < ncauses; i++) {
		if (!proofs[i].build)
			continue;
		proofs[i].build(&in);
		diagnose(&in, &id, &d);
		if (provable(proofs[i].id))
			expect_proof(&d, proofs[i].id);
	}
}

/* Named as what fits, alone or beside what is proven, and told what is missing. */
static void what_cannot_be_proven_is_likely(void **state)
{
	struct identity id = test_identity();
	struct diagnosis d;
	struct incident in;
	size_t i;

	(void)state;
	for (i = 0; i < ncauses; i++) {
		bool verdict;

		if (!proofs[i].build || provable(proofs[i].id))
			continue;
		proofs[i].build(&in);
		diagnose(&in, &id, &d);
		verdict = strcmp(verdict_cause(&d), proofs[i].id) == 0;
		if (!verdict && !among_also(&d, proofs[i].id))
			fail_msg("%s: the verdict is %s, and it is not named", proofs[i].id, verdict_cause(&d));
		if (verdict) {
			assert_int_equal(d.confidence, CONFIDENCE_likely);
			assert_true(d.verdict.nmissing > 0);
			assert_true(d.verdict.nremedies > 0);
		}
	}
}

/* Whatever proves one cause must exclude, by a number, all others that are asked. */
static void the_others_are_ruled_out(void **state)
{
	struct identity id = test_identity();
	struct diagnosis d;
	struct incident in;
	size_t i, k;

	(void)state;
	for (i = 0; i < ncauses; i++) {
		if (!proofs[i].build || !provable(proofs[i].id))
			continue;
		proofs[i].build(&in);
		diagnose(&in, &id, &d);
		for (k = 0; k < ncauses; k++) {
			const char *because = ruled_out(&d, proofs[k].id);

			if (k == i)
				assert_null(because);
			else if (!causes[k].fn || !(causes[k].when & diagnose_asks(&in)))
				continue;
			else if (!because)
				fail_msg("%s says nothing about %s", proofs[i].id, proofs[k].id);
			else
				assert_true(because[0]);
		}
	}
}

/* One of a few values around what the proofs use. */
static uint64_t odd(uint64_t *seed)
{
	static const uint64_t values[] = {
		0, 1, 2, 7, 8, 0x21, 0x41, 0x101, 44, 45, 100, 256, 300, 301, 4096, RANGE, RANGE + 8, 256 * PAGE,
		300 * PAGE, 1ULL << 30, (1ULL << 30) + 1, 65530, UINT64_MAX - 1, UINT64_MAX,
	};

	return values[test_random(seed, sizeof(values) / sizeof(values[0]))];
}

static void change_numbers(struct incident *in, uint64_t *seed)
{
	uint64_t v = odd(seed);

	switch (test_random(seed, 16)) {
	case 0: in->end.address = v; break;
	case 1: in->end.length = v; break;
	case 2: in->end.iova = v; break;
	case 3: in->end.access = (uint32_t)v; break;
	case 4: in->end.pinned_before_pages = v; break;
	case 5: in->end.pinned_after_pages = v; break;
	case 6: in->end.memlock_soft_bytes = v; break;
	case 7: in->end.args.flags = (uint32_t)v; break;
	case 8: in->end.args.offset = v; break;
	case 9: in->end.args.object_bytes = v; break;
	case 10: in->end.account.asked_pages = v; break;
	case 11: in->end.account.user_locked_pages = v; break;
	case 12: in->end.caps.max_mr_size = v; break;
	case 13: in->end.caps.max_mr = v; break;
	case 14: in->end.caps.odp_caps = v; break;
	default: in->end.map_count = (uint32_t)v; break;
	}
}

static void change_the_rest(struct incident *in, struct identity *id, uint64_t *seed)
{
	static const int errnos[] = { EINVAL, ENOMEM, EAGAIN, EOPNOTSUPP, EFAULT, ENOSPC, EPERM, EBADF };
	int err = errnos[test_random(seed, sizeof(errnos) / sizeof(errnos[0]))];
	uint32_t i;

	switch (test_random(seed, 10)) {
	case 0: in->end.have ^= 1u << test_random(seed, 25); break;
	case 1: id->fn_watched[test_random(seed, WIRE_FN_MAX)] ^= true; break;
	case 2: in->end.stage = (uint16_t)test_random(seed, WIRE_STAGE_MAX); break;
	case 3: in->end.ipc_lock_permitted ^= 1; break;
	case 4: in->end.init_user_ns ^= 1; break;
	case 5: held_by(in, odd(seed), odd(seed), odd(seed)); break;
	case 6: in->facts.err[test_random(seed, FACT_MAX)] = 0; break;
	case 7: in->end.chain[0].fn = 1 + test_random(seed, WIRE_FN_MAX - 1); break;
	case 8: in->end.api = (uint16_t)(1 + test_random(seed, WIRE_API_MAX - 1)); break;
	default:
		for (i = 0; i < in->end.nchain; i++)
			in->end.chain[i].result = -err;
		in->end.result = -err;
		break;
	}
}

/* Whatever the numbers are, no two causes are proven at once. */
static void no_two_are_ever_proven(void **state)
{
	uint64_t seed = test_seed();
	struct diagnosis d;
	struct incident in;
	size_t i, round;
	uint32_t k;

	(void)state;
	for (round = 0; round < 200; round++) {
		for (i = 0; i < ncauses; i++) {
			struct identity id = test_identity();

			if (!proofs[i].build)
				continue;
			proofs[i].build(&in);
			for (k = test_random(&seed, 6); k > 0; k--) {
				if (test_random(&seed, 2))
					change_numbers(&in, &seed);
				else
					change_the_rest(&in, &id, &seed);
			}
			diagnose(&in, &id, &d);
			if (d.conflict)
				fail_msg("%s changed: %s and %s are both proven", proofs[i].id, verdict_cause(&d), d.also[0]->id);
		}
	}
}

/* --- one hook less ----------------------------------------------------------------- */

static void unchain(struct incident *in, struct identity *id, enum wire_fn fn)
{
	struct wire_reg_end *e = &in->end;
	uint32_t i, n = 0;

	for (i = 0; i < e->nchain; i++)
		if (e->chain[i].fn != fn)
			e->chain[n++] = e->chain[i];
	e->nchain = (uint16_t)n;
	id->fn_watched[fn] = false;
}

/* The slot putback: folios that stay, and the entry of the migration, which it writes. */
static void without_putback(struct incident *in, struct identity *id)
{
	bool watched = id->fn_watched[WIRE_FN_MIGRATE];

	unchain(in, id, WIRE_FN_MIGRATE);
	id->fn_watched[WIRE_FN_MIGRATE] = watched;
	watched = id->fn_watched[WIRE_FN_MIGRATE_TARGET];
	unchain(in, id, WIRE_FN_MIGRATE_TARGET);
	id->fn_watched[WIRE_FN_MIGRATE_TARGET] = watched;
	in->nfolios = in->end.folios_seen = in->end.folios_sent = 0;
	id->putback_watched = false;
}

/* The slot migrate_result; what putback has to tell follows it. */
static void without_migrate(struct incident *in, struct identity *id)
{
	struct wire_reg_end *e = &in->end;

	without_putback(in, id);
	unchain(in, id, WIRE_FN_MIGRATE);
	e->have &= ~(uint32_t)WIRE_HAVE_MIGRATE;
	e->passes = 0;
	e->migrate_moved = e->migrate_failed = 0;
	if (e->stage == WIRE_STAGE_PLACEMENT)
		e->stage = WIRE_STAGE_PIN;
}

static void without_target(struct incident *in, struct identity *id)
{
	unchain(in, id, WIRE_FN_MIGRATE_TARGET);
	in->end.no_target = 0;
	id->target_watched = false;
}

/* Neither end of the pin: all that is seen only inside of one goes with it. */
static void without_pin(struct incident *in, struct identity *id)
{
	struct wire_reg_end *e = &in->end;

	without_migrate(in, id);
	without_target(in, id);
	unchain(in, id, WIRE_FN_HUGETLB_ALLOC);
	unchain(in, id, WIRE_FN_GUP_LONGTERM);
	e->have &= ~(uint32_t)(WIRE_HAVE_GUP | WIRE_HAVE_GUP_RESULT | WIRE_HAVE_FAULT_VMA);
	e->fault_vma_state = WIRE_FAULT_VMA_UNKNOWN;
	e->gup_calls = e->collects = 0;
	e->gup_flags = 0;
	e->gup_start = e->gup_pages = 0;
	e->gup_result = 0;
	if (e->stage == WIRE_STAGE_PIN)
		e->stage = e->have & WIRE_HAVE_UMEM ? WIRE_STAGE_UMEM : WIRE_STAGE_UVERBS;
}

static void without_umem_enter(struct incident *in, struct identity *id)
{
	struct wire_reg_end *e = &in->end;

	(void)id;
	/* The others have arguments of their own. */
	if (!(e->have & WIRE_HAVE_UMEM) || e->api > WIRE_API_DEVX_UMEM)
		return;
	e->have &= ~(uint32_t)(WIRE_HAVE_UMEM | WIRE_HAVE_PINNED_VM | WIRE_HAVE_VMAS | WIRE_HAVE_VMAS_ALL);
	e->nvmas = 0;
	e->pinned_before_pages = 0;
	if (e->stage == WIRE_STAGE_UMEM)
		e->stage = WIRE_STAGE_UVERBS;
}

static void without_umem(struct incident *in, struct identity *id)
{
	without_umem_enter(in, id);
	unchain(in, id, WIRE_FN_UMEM);
	if (in->end.stage == WIRE_STAGE_PINNED)
		in->end.stage = in->end.gup_calls ? WIRE_STAGE_PIN : WIRE_STAGE_UVERBS;
}

static void without_account_enter(struct incident *in, struct identity *id)
{
	(void)id;
	if (in->end.api == WIRE_API_IO_URING)
		in->end.have &= ~(uint32_t)WIRE_HAVE_ACCOUNT;
}

static void without_oom_kill(struct incident *in, struct identity *id)
{
	(void)id;
	in->end.have &= ~(uint32_t)WIRE_HAVE_OOM;
}

/* Arguments of other entry points come from their own hooks. */
static void without_dmabuf(struct incident *in)
{
	if (in->end.api == WIRE_API_REG_DMABUF_MR)
		in->end.have &= ~(uint32_t)(WIRE_HAVE_ARGS | WIRE_HAVE_DMABUF);
}

/* The end of `fn`, and its begin, which needs it. */
static void without_fn(struct incident *in, struct identity *id, enum wire_fn fn)
{
	switch (fn) {
	case WIRE_FN_GUP_LONGTERM: without_pin(in, id); return;
	case WIRE_FN_MIGRATE: without_migrate(in, id); return;
	case WIRE_FN_MIGRATE_TARGET: without_target(in, id); return;
	case WIRE_FN_UMEM: without_umem(in, id); return;
	case WIRE_FN_URING_ACCOUNT: without_account_enter(in, id); break;
	case WIRE_FN_RDMACG: in->end.cgroup_resource = 0; break;
	case WIRE_FN_FW_COMMAND: in->end.have &= ~(uint32_t)WIRE_HAVE_FW; break;
	case WIRE_FN_DMABUF_GET: in->end.have &= ~(uint32_t)WIRE_HAVE_DMABUF; break;
	case WIRE_FN_UMEM_DMABUF: without_dmabuf(in); break;
	default: break;
	}
	unchain(in, id, fn);
}

static void (*const without[])(struct incident *in, struct identity *id) = {
	without_putback, without_umem_enter, without_account_enter, without_oom_kill,
};

/* Says what is missing, in whatever words. */
static bool tells_doubt(const struct diagnosis *d)
{
	return d->verdict.nmissing || evidence_says(&d->verdict, "not proven");
}

/* Less was seen: the verdict is the same, or none. `row` is what was proven with everything. */
static void expect_no_other(const struct incident *in, const struct identity *id, size_t row, const char *gone)
{
	struct diagnosis d;

	diagnose(in, id, &d);
	if (d.cause && d.cause != &causes[row])
		fail_msg("%s without %s: the verdict is %s, %s: %s", proofs[row].id, gone, verdict_cause(&d),
			 confidence_words[d.confidence].word, d.verdict.summary);
	if (d.confidence != CONFIDENCE_proven && !tells_doubt(&d))
		fail_msg("%s without %s: %s, and nothing is missing", proofs[row].id, gone, confidence_words[d.confidence].word);
}

static void one_hook_less_makes_no_other_cause(void **state)
{
	size_t i, k;

	(void)state;
	for (i = 0; i < ncauses; i++) {
		struct identity id;
		struct incident in;
		uint32_t fn;

		if (!proofs[i].build || !provable(proofs[i].id))
			continue;
		for (fn = WIRE_FN_NONE + 1; fn < WIRE_FN_MAX; fn++) {
			id = test_identity();
			proofs[i].build(&in);
			/* Without its entry point there is no incident. */
			if (fn == name_api_entry(in.end.api))
				continue;
			without_fn(&in, &id, fn);
			expect_no_other(&in, &id, i, name_fn(&id, fn));
		}
		for (k = 0; k < sizeof(without) / sizeof(without[0]); k++) {
			id = test_identity();
			proofs[i].build(&in);
			without[k](&in, &id);
			expect_no_other(&in, &id, i, (const char *const[]){ "putback", "umem_enter", "user_account_enter", "oom_kill" }[k]);
		}
	}
}

/* No line of a finding is cut off: what is cut off is what makes it true. */
static void no_line_is_cut(void **state)
{
	struct identity id = test_identity();
	struct diagnosis d;
	struct incident in;
	size_t i, k;

	(void)state;
	for (i = 0; i < ncauses; i++) {
		if (!proofs[i].build)
			continue;
		proofs[i].build(&in);
		diagnose(&in, &id, &d);
		assert_true(strlen(d.verdict.summary) < FINDING_TEXT - 1);
		for (k = 0; k < d.verdict.nevidence; k++)
			assert_true(strlen(d.verdict.evidence[k]) < FINDING_TEXT - 1);
		for (k = 0; k < d.verdict.nremedies; k++)
			assert_true(strlen(d.verdict.remedies[k]) < FINDING_TEXT - 1);
		for (k = 0; k < d.nruled_out; k++)
			assert_true(strlen(d.ruled_out[k].because) < FINDING_TEXT - 1);
	}
}

static void rows_are_complete(void **state)
{
	uint32_t i, k;

	(void)state;
	for (i = 0; i < ncauses; i++) {
		const struct cause *c = &causes[i];

		assert_true(strlen(c->title) > 10 && strlen(c->what) > 80);
		assert_true(strlen(c->how) > 80 && strlen(c->confirm) > 80);
		assert_ptr_equal(cause_find(c->id), c);
		for (k = 0; k < i; k++)
			assert_string_not_equal(c->id, causes[k].id);
	}
	assert_null(cause_find("unknown"));
}

static void proven_a(const struct incident *in, const struct identity *id, struct finding *ret)
{
	(void)in, (void)id;
	ret->kind = FINDING_PROVEN;
	finding_summary(ret, "a");
}

static void likely_b(const struct incident *in, const struct identity *id, struct finding *ret)
{
	(void)in, (void)id;
	ret->kind = FINDING_LIKELY;
	finding_summary(ret, "b");
}

static void two_proven_become_likely_in_any_order(void **state)
{
	const struct cause forward[] = { { .id = "alpha", .when = CAUSE_FAILS, .fn = proven_a }, { .id = "beta", .when = CAUSE_FAILS, .fn = proven_a },
					 { .id = "gamma", .when = CAUSE_FAILS, .fn = likely_b } };
	const struct cause backward[] = { forward[2], forward[1], forward[0] };
	const struct cause *tables[] = { forward, backward };
	struct identity id = test_identity();
	struct diagnosis d;
	struct incident in;
	int i;

	(void)state;
	build_failure(&in, EIO);
	for (i = 0; i < 2; i++) {
		diagnose_with(tables[i], 3, &in, &id, &d);
		assert_true(d.conflict);
		assert_int_equal(d.confidence, CONFIDENCE_likely);
		assert_string_equal(d.cause->id, "alpha");
		assert_int_equal(d.nalso, 2);
	}
}

static void proven_wins_over_likely(void **state)
{
	const struct cause table[] = { { .id = "a_likely", .when = CAUSE_FAILS, .fn = likely_b }, { .id = "z_proven", .when = CAUSE_FAILS, .fn = proven_a } };
	struct identity id = test_identity();
	struct diagnosis d;
	struct incident in;

	(void)state;
	build_failure(&in, EIO);
	diagnose_with(table, 2, &in, &id, &d);
	assert_string_equal(d.cause->id, "z_proven");
	assert_int_equal(d.confidence, CONFIDENCE_proven);
	assert_int_equal(d.nalso, 1);
	assert_string_equal(d.also[0]->id, "a_likely");
}

static void nothing_is_said_of_what_is_in_flight_or_ended_well(void **state)
{
	struct identity id = test_identity();
	struct diagnosis d;
	struct incident in;

	(void)state;
	prove_longterm_migrate_blocked_by_ref(&in);
	in.stuck = true;
	diagnose(&in, &id, &d);
	assert_null(d.cause);
	in.stuck = false;
	in.end.result = 0;
	diagnose(&in, &id, &d);
	assert_null(d.cause);
}

/* Nobody followed it: what no hook said rules nothing out, and only its errno does. */
static void silence_about_what_was_not_followed_means_nothing(void **state)
{
	struct identity id = test_identity();
	struct diagnosis d;
	struct incident in;

	(void)state;
	build_failure(&in, EFAULT);
	add_chain(&in, WIRE_FN_UVERBS, -EFAULT);
	in.end.have = WIRE_HAVE_MEMLOCK | WIRE_HAVE_SIGNAL;
	in.end.stage = WIRE_STAGE_UVERBS;
	in.end.start_ns = 0;
	diagnose(&in, &id, &d);
	assert_null(d.cause);
	for (size_t i = 0; i < d.nruled_out; i++) {
		const int *errnos = d.ruled_out[i].cause->errnos;

		while (errnos && *errnos && *errnos != EFAULT)
			errnos++;
		if (!errnos || *errnos)
			fail_msg("%s is ruled out: %s", d.ruled_out[i].cause->id, d.ruled_out[i].because);
	}
}

/* A hook that was attached in the middle of a registration may have missed that its function failed in it. */
static void silence_of_a_hook_that_came_later_means_nothing(void **state)
{
	uint32_t changed = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(proofs) / sizeof(proofs[0]); i++) {
		struct identity id = test_identity(), blind = id, late = id;
		struct diagnosis d, d_blind, d_late;
		struct incident in;

		if (!proofs[i].build)
			continue;
		proofs[i].build(&in);
		if (in.stuck || incident_is_warning(&in) || !in.end.result)
			continue;
		memset(blind.fn_watched, 0, sizeof(blind.fn_watched));
		blind.putback_watched = blind.target_watched = false;
		for (int fn = 0; fn < WIRE_FN_MAX; fn++)
			id.fn_since_ns[fn] = in.end.start_ns, late.fn_since_ns[fn] = in.end.start_ns + 1;
		id.folios_since_ns = in.end.start_ns;
		late.folios_since_ns = in.end.start_ns + 1;
		diagnose(&in, &id, &d);
		diagnose(&in, &blind, &d_blind);
		diagnose(&in, &late, &d_late);
		assert_ptr_equal(d_late.cause, d_blind.cause);
		assert_int_equal(d_late.confidence, d_blind.confidence);
		changed += d.cause != d_late.cause || d.confidence != d_late.confidence;
	}
	assert_true(changed > 10);
}

static void unknown_tells_what_was_seen_and_missing(void **state)
{
	struct identity id = test_identity();
	struct diagnosis d;
	struct incident in;

	(void)state;
	build_failure(&in, EINVAL);
	add_chain(&in, WIRE_FN_UVERBS, -EINVAL);
	id.fn_watched[WIRE_FN_UMEM] = false;
	id.putback_watched = false;
	diagnose(&in, &id, &d);
	assert_null(d.cause);
	assert_int_equal(d.confidence, CONFIDENCE_unknown);
	assert_true(evidence_says(&d.verdict, "ib_uverbs_reg_mr = -EINVAL (-22)"));
	assert_true(missing_says(&d.verdict, "chain"));
	assert_true(missing_says(&d.verdict, "pages"));
}

static void check_words(struct json_object *schema, const char *path, const struct word *words, int from, int to)
{
	struct json_object *list = jget(schema, path);
	int i;

	assert_non_null(list);
	assert_int_equal(json_object_array_length(list), to - from);
	for (i = from; i < to; i++) {
		assert_string_equal(json_object_get_string(json_object_array_get_idx(list, (size_t)(i - from))),
				    words[i].word);
		assert_true(words[i].meaning[0]);
	}
}

static void the_schema_has_the_same_words(void **state)
{
	struct json_object *schema = json_object_from_file("schemas/report.schema.json");

	(void)state;
	assert_non_null(schema);
	check_words(schema, "properties.verdict.properties.confidence.enum", confidence_words, 0, CONFIDENCE_MAX);
	check_words(schema, "properties.verdict.properties.detail.enum", detail_words, 1, DETAIL_MAX);
	check_words(schema, "properties.first_pin.properties.grade.enum", grade_words, 1, GRADE_MAX);
	json_object_put(schema);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_cause_is_proven_by_its_incident),
		cmocka_unit_test(what_cannot_be_proven_is_likely),
		cmocka_unit_test(the_others_are_ruled_out),
		cmocka_unit_test(no_two_are_ever_proven),
		cmocka_unit_test(one_hook_less_makes_no_other_cause),
		cmocka_unit_test(no_line_is_cut),
		cmocka_unit_test(rows_are_complete),
		cmocka_unit_test(two_proven_become_likely_in_any_order),
		cmocka_unit_test(proven_wins_over_likely),
		cmocka_unit_test(nothing_is_said_of_what_is_in_flight_or_ended_well),
		cmocka_unit_test(silence_about_what_was_not_followed_means_nothing),
		cmocka_unit_test(silence_of_a_hook_that_came_later_means_nothing),
		cmocka_unit_test(unknown_tells_what_was_seen_and_missing),
		cmocka_unit_test(the_schema_has_the_same_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
