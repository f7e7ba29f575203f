// SPDX-License-Identifier: BSD-2-Clause
/* Page faults inside the pin, and pins that ended with their process. */
#include "verdicts.h"

static bool remedy_says(const char *words)
{
	uint32_t i;

	for (i = 0; i < d.verdict.nremedies; i++)
		if (strstr(d.verdict.remedies[i], words))
			return true;
	return false;
}

/* --- huge pages ------------------------------------------------------------------- */

#define HUGE "hugetlb_pool_or_cgroup_empty"

static void know_pool(uint64_t free, uint64_t reserved, uint64_t max, uint64_t current)
{
	struct facts *f = &in.facts;

	f->hugetlb_total_pages = 64;
	f->hugetlb_free_pages = free;
	f->hugetlb_reserved_pages = reserved;
	f->hugetlb_cgroup_max_bytes = max;
	f->hugetlb_cgroup_current_bytes = current;
	f->err[FACT_hugetlb_total_pages] = f->err[FACT_hugetlb_free_pages] = f->err[FACT_hugetlb_reserved_pages] = 0;
	f->err[FACT_hugetlb_cgroup_max_bytes] = f->err[FACT_hugetlb_cgroup_current_bytes] = 0;
}

static void which_limit_it_was(void **state)
{
	static const struct {
		uint64_t free, reserved, max, current;
		enum detail detail;
	} cases[] = {
		{ 0, 0, UINT64_MAX, 0, DETAIL_huge_pool_empty },
		{ 3, 3, UINT64_MAX, 0, DETAIL_huge_pool_empty },
		{ 4, 3, UINT64_MAX, 0, DETAIL_huge_page_refused },
		{ 4, 3, 8 << 20, 8 << 20, DETAIL_huge_cgroup_limit },
		{ 4, 3, 8 << 20, 6 << 20, DETAIL_huge_page_refused },
		{ 4, 3, 8 << 20, (6 << 20) + 1, DETAIL_huge_cgroup_limit },
		{ 4, 3, 1, UINT64_MAX, DETAIL_huge_cgroup_limit },
	};
	size_t i;

	(void)state;
	prove_hugetlb_pool_or_cgroup_empty(&in);
	expect(HUGE, CONFIDENCE_proven);
	assert_int_equal(d.verdict.detail, DETAIL_huge_page_refused);
	assert_true(missing_says(&d.verdict, "hugetlb pool"));
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		know_pool(cases[i].free, cases[i].reserved, cases[i].max, cases[i].current);
		expect(HUGE, CONFIDENCE_proven);
		assert_int_equal(d.verdict.detail, cases[i].detail);
		assert_true(evidence_says(&d.verdict, "above /slurm/job_1"));
		assert_true(evidence_says(&d.verdict, "CMA or ZONE_MOVABLE") == (cases[i].detail == DETAIL_huge_page_refused));
		assert_true(remedy_says("nr_hugepages") == (cases[i].detail != DETAIL_huge_cgroup_limit));
		assert_true(remedy_says("hugetlb.*.max") == (cases[i].detail != DETAIL_huge_pool_empty));
	}
}

static void a_huge_page_that_was_not_seen_refused(void **state)
{
	(void)state;
	prove_hugetlb_pool_or_cgroup_empty(&in);
	in.end.chain[0].fn = WIRE_FN_NONE;
	in.end.chain[0].result = 0;
	know_pool(0, 0, UINT64_MAX, 0);
	unknown(HUGE, "0 huge pages were refused");
	id.fn_watched[WIRE_FN_HUGETLB_ALLOC] = false;
	expect(HUGE, CONFIDENCE_likely);
	assert_true(missing_says(&d.verdict, "allocation of the huge page"));
	know_pool(1, 0, UINT64_MAX, 0);
	unknown(HUGE, NULL);
}

static void no_huge_page_without_a_huge_mapping(void **state)
{
	(void)state;
	prove_hugetlb_pool_or_cgroup_empty(&in);
	in.end.fault_vma.flags &= ~0x400000ULL;
	unknown(HUGE, "lies in no huge pages");
	prove_hugetlb_pool_or_cgroup_empty(&in);
	/* Made read-only since, or the page was another one's: neither is sure. */
	in.end.fault_vma.flags &= ~2ULL;
	expect("unknown", CONFIDENCE_unknown);
	in.end.nchain = 0;
	add_chain(&in, WIRE_FN_GUP_LONGTERM, -EFAULT);
	fail_upwards(&in, EFAULT);
	expect("vma_permission_mismatch", CONFIDENCE_proven);
	expect_ruled_out(HUGE, "missing write permission");
	prove_hugetlb_pool_or_cgroup_empty(&in);
	in.end.fault_vma_state = WIRE_FAULT_VMA_UNKNOWN;
	expect("unknown", CONFIDENCE_unknown);
	prove_hugetlb_pool_or_cgroup_empty(&in);
	in.end.result = -ENOMEM;
	expect(HUGE, CONFIDENCE_likely);
	/* A key was passed when the fault was seen: it is no doubt. */
	prove_hugetlb_pool_or_cgroup_empty(&in);
	in.end.fault_vma.flags |= 5ULL << 32;
	expect(HUGE, CONFIDENCE_proven);
	assert_int_equal(d.nalso, 0);
	/* A size that makes no sense changes nothing about the rest. */
	in.end.fault_vma.block_shift = 200;
	expect(HUGE, CONFIDENCE_proven);
}

static void old_kernels_do_not_move_huge_pages(void **state)
{
	(void)state;
	prove_hugetlb_place_refused(&in);
	expect("hugetlb_place_refused", CONFIDENCE_likely);
	assert_true(missing_says(&d.verdict, "place of the huge page"));
	id.foll_unlockable = 0x200000;
	expect("unknown", CONFIDENCE_unknown);
	id.foll_unlockable = 0;
	id.fn_watched[WIRE_FN_MIGRATE] = false;
	expect("unknown", CONFIDENCE_unknown);
	id.fn_watched[WIRE_FN_MIGRATE] = true;
	in.end.passes = 1;
	unknown("hugetlb_place_refused", "1 migrations tried");
	in.end.passes = 0;
	in.end.fault_vma.flags &= ~0x400000ULL;
	unknown("hugetlb_place_refused", "no huge pages");
}

/* --- userfaultfd ------------------------------------------------------------------ */

static void waiting_for_a_handler(void **state)
{
	(void)state;
	prove_userfault_stall(&in);
	expect("userfault_stall", CONFIDENCE_proven);
	assert_non_null(strstr(d.verdict.summary, "30 s so far"));
	expect_ruled_out("longterm_isolate_livelock", "handle_userfault");
	strcpy(in.sighting.waits_in, "handle_userfault.constprop.0");
	expect("userfault_stall", CONFIDENCE_proven);
	strcpy(in.sighting.waits_in, "handle_userfault_other");
	unknown("userfault_stall", "handle_userfault_other");
	in.sighting.waits_in[0] = '\0';
	diagnose(&in, &id, &d);
	assert_null(ruled_out(&d, "userfault_stall"));
	strcpy(in.sighting.waits_in, "handle_userfault");
	in.end.start_ns = UINT64_MAX;
	expect("userfault_stall", CONFIDENCE_proven);
	assert_non_null(strstr(d.verdict.summary, " 0 s so far"));
}

/* A pin that failed in a mapping with these VM_* flags; `refused`: handle_userfault() was seen giving SIGBUS. */
static void fail_watched(uint64_t flags, bool refused)
{
	fail_in_mapping(&in, EFAULT, 0x73 | flags);
	if (!refused)
		return;
	in.end.nchain = 0;
	add_chain(&in, WIRE_FN_USERFAULT, -EFAULT);
	add_chain(&in, WIRE_FN_GUP_LONGTERM, -EFAULT);
	fail_upwards(&in, EFAULT);
}

static void a_handler_that_is_not_waited_for(void **state)
{
	static const struct {
		uint64_t flags;
		bool watched;
	} cases[] = { { 0x200, true }, { 0x1000, true }, { 1ULL << 37, true }, { 0x100, false } };
	size_t i;

	(void)state;
	id.fn_watched[WIRE_FN_USERFAULT] = false;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fail_watched(cases[i].flags, true);
		expect(cases[i].watched ? "userfault_stall" : "unknown", cases[i].watched ? CONFIDENCE_proven : CONFIDENCE_unknown);
		assert_true(!cases[i].watched == !!ruled_out(&d, "userfault_stall"));
		assert_int_equal(d.nalso, 0);
	}
	/* The bit of minor faults has moved since. */
	fail_watched(1ULL << 37, true);
	id.foll_unlockable = 0x200000;
	expect("unknown", CONFIDENCE_unknown);
	fail_watched(0x200, true);
	in.end.gup_flags |= id.foll_unlockable;
	expect("userfault_stall", CONFIDENCE_proven);
	assert_true(evidence_says(&d.verdict, "UFFD_FEATURE_SIGBUS"));
	in.end.result = -EIO;
	expect("userfault_stall", CONFIDENCE_likely);
	/* The key was passed when the fault was seen. */
	fail_watched(0x200 | 5ULL << 32, true);
	expect("userfault_stall", CONFIDENCE_proven);
	assert_int_equal(d.nalso, 0);
}

static void a_refusal_that_was_not_seen(void **state)
{
	(void)state;
	fail_watched(0x200, false);
	unknown("userfault_stall", "0 times");
	id.fn_watched[WIRE_FN_USERFAULT] = false;
	expect("userfault_stall", CONFIDENCE_likely);
	assert_true(missing_says(&d.verdict, "result of the page fault"));
	in.end.fault_vma.flags &= ~2ULL;
	expect("vma_permission_mismatch", CONFIDENCE_proven);
	assert_int_equal(d.nalso, 0);
}

/* --- EINTR -------------------------------------------------------------------------- */

static const char *const by_constraint[] = {
	"longterm_migrate_no_target", "numa_node_exhausted", "numa_node_exhausted", "memcg_oom_during_pin",
};

/* One field at a time: who ended the process, and what of it was seen. */
static void who_ended_the_process(void **state)
{
	uint32_t c, k;

	(void)state;
	for (c = 0; c < 4; c++) {
		choose_victim(&in, c);
		in.end.passes = c == 0;
		expect(by_constraint[c], CONFIDENCE_proven);
		assert_int_equal(d.nalso, 0);
		expect_ruled_out("fatal_signal_during_pin", "oom_victim 1");
		for (k = 0; k < 6; k++) {
			choose_victim(&in, c);
			in.end.passes = c == 0;
			switch (k) {
			case 0: in.end.oom.time_ns = in.end.start_ns - 1; break;
			case 1: in.end.oom.time_ns = in.end.hdr.time_ns + 1; break;
			case 2: in.end.oom_victim = 0; break;
			case 3: in.end.have &= ~WIRE_HAVE_SIGNAL; break;
			case 4: in.end.result = -EIO; break;
			case 5: in.end.oom.time_ns = UINT64_MAX; break;
			}
			expect(by_constraint[c], CONFIDENCE_likely);
		}
	}
	choose_victim(&in, 77);
	unknown("memcg_oom_during_pin", "constraint 77");
}

static void the_group_is_named(void **state)
{
	(void)state;
	prove_memcg_oom_during_pin(&in);
	expect("memcg_oom_during_pin", CONFIDENCE_proven);
	assert_true(evidence_says(&d.verdict, "cgroup of the process: /slurm/job_1"));
	in.end.have &= ~WIRE_HAVE_CGROUP;
	expect("memcg_oom_during_pin", CONFIDENCE_proven);
	assert_false(evidence_says(&d.verdict, "cgroup of the process"));
}

static void the_lock_that_was_not_to_be_had(void **state)
{
	(void)state;
	choose_victim(&in, 3);
	in.end.chain[0].result = in.end.gup_result = in.end.result = -EAGAIN;
	expect("memcg_oom_during_pin", CONFIDENCE_proven);
	prove_fatal_signal_during_pin(&in);
	in.end.chain[0].result = in.end.gup_result = in.end.result = -EAGAIN;
	expect("fatal_signal_during_pin", CONFIDENCE_proven);
}

static void fatal_signals(void **state)
{
	(void)state;
	prove_fatal_signal_during_pin(&in);
	expect("fatal_signal_during_pin", CONFIDENCE_proven);
	assert_int_equal(d.verdict.detail, DETAIL_killed_by_signal);
	assert_non_null(strstr(d.verdict.summary, "signal 9"));
	in.end.group_exit_code = 11 | 0x80;
	expect("fatal_signal_during_pin", CONFIDENCE_proven);
	assert_non_null(strstr(d.verdict.summary, "signal 11"));
	in.end.group_exit_code = 3 << 8;
	expect("fatal_signal_during_pin", CONFIDENCE_proven);
	assert_int_equal(d.verdict.detail, DETAIL_process_exiting);
	in.end.killed = 0;
	unknown("fatal_signal_during_pin", "killed 0");
	in.end.have &= ~WIRE_HAVE_SIGNAL;
	expect("fatal_signal_during_pin", CONFIDENCE_likely);
	assert_true(missing_says(&d.verdict, "pending signals"));
	assert_null(ruled_out(&d, "memcg_oom_during_pin"));
	in.end.have |= WIRE_HAVE_SIGNAL;
	in.end.killed = 1;
	in.end.result = -EIO;
	expect("fatal_signal_during_pin", CONFIDENCE_likely);
}

/* Marked by the OOM killer, whose choice was not seen: it takes a number to point at its reason. */
static void a_victim_whose_choice_was_not_seen(void **state)
{
	struct facts *f = &in.facts;

	(void)state;
	prove_fatal_signal_during_pin(&in);
	in.end.oom_victim = 1;
	unknown("fatal_signal_during_pin", "oom_victim 1");
	f->err[FACT_cgroup_memory_max_bytes] = f->err[FACT_cgroup_oom_kills] = 0;
	f->cgroup_memory_max_bytes = 64 << 20;
	f->cgroup_oom_kills = 1;
	expect("memcg_oom_during_pin", CONFIDENCE_likely);
	assert_true(missing_says(&d.verdict, "choice of the OOM killer"));
	f->cgroup_memory_max_bytes = UINT64_MAX;
	expect("unknown", CONFIDENCE_unknown);
	in.end.passes = 1;
	expect("longterm_migrate_no_target", CONFIDENCE_likely);
	assert_int_equal(d.verdict.detail, DETAIL_killed_while_moving);
}

static void killed_while_moving(void **state)
{
	(void)state;
	choose_victim(&in, 0);
	expect("longterm_migrate_no_target", CONFIDENCE_likely);
	assert_true(missing_says(&d.verdict, "migration"));
	in.end.no_target = 1;
	expect("longterm_migrate_no_target", CONFIDENCE_proven);
	in.end.no_target = 0;
	in.end.stage = WIRE_STAGE_PLACEMENT;
	expect("longterm_migrate_no_target", CONFIDENCE_proven);
	in.end.oom.by_tid++;
	expect("longterm_migrate_no_target", CONFIDENCE_likely);
	assert_true(evidence_says(&d.verdict, "asked for the memory, not the one that was registering"));
}

/* --- ENOMEM of a fault ---------------------------------------------------------------- */

static void nodes_that_a_policy_binds_to(void **state)
{
	(void)state;
	fail_in_mapping(&in, ENOMEM, 0x73);
	in.end.have |= WIRE_HAVE_POLICY;
	unknown("numa_node_exhausted", "mode of the thread -1");
	in.end.policy = 3;
	in.end.policy_nodes = 2;
	expect("numa_node_exhausted", CONFIDENCE_likely);
	assert_true(evidence_says(&d.verdict, "mode 2, node 1"));
	/* The mapping's own policy goes before. */
	in.end.fault_vma.policy = 2;
	expect("unknown", CONFIDENCE_unknown);
	in.end.policy = 0;
	in.end.fault_vma.policy = 3;
	expect("numa_node_exhausted", CONFIDENCE_likely);
	in.end.folios_seen = 1;
	diagnose(&in, &id, &d);
	expect_ruled_out("numa_node_exhausted", "1 folios stayed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(which_limit_it_was), TEST(a_huge_page_that_was_not_seen_refused), TEST(no_huge_page_without_a_huge_mapping),
		TEST(old_kernels_do_not_move_huge_pages), TEST(waiting_for_a_handler), TEST(a_handler_that_is_not_waited_for),
		TEST(a_refusal_that_was_not_seen),
		TEST(who_ended_the_process), TEST(the_group_is_named), TEST(the_lock_that_was_not_to_be_had), TEST(fatal_signals),
		TEST(a_victim_whose_choice_was_not_seen), TEST(killed_while_moving), TEST(nodes_that_a_policy_binds_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
