// SPDX-License-Identifier: BSD-2-Clause
/* The memlock family. The limit is 300 pages, 100 are pinned by memory regions, 256 are asked for. */
#include "support.h"

#include <errno.h>
#include <string.h>

#define ID "rlimit_memlock_exceeded"

static struct identity id;
static struct incident in;
static struct diagnosis d;

static int setup(void **state)
{
	(void)state;
	id = test_identity();
	prove_rlimit_memlock_exceeded(&in);
	return 0;
}

/* An ENOMEM of the umem function that nothing else explains points at its own allocations: no more than a guess. */
static void expect(const char *cause, enum confidence confidence)
{
	diagnose(&in, &id, &d);
	if (strcmp(cause, "unknown") == 0 && strcmp(verdict_cause(&d), "kernel_metadata_alloc_failed") == 0) {
		assert_int_equal(d.confidence, CONFIDENCE_likely);
		return;
	}
	assert_string_equal(verdict_cause(&d), cause);
	assert_int_equal(d.confidence, confidence);
}

static void because(const char *cause, const char *number)
{
	assert_non_null(ruled_out(&d, cause));
	if (!strstr(ruled_out(&d, cause), number))
		fail_msg("no \"%s\" in \"%s\"", number, ruled_out(&d, cause));
}

static void expect_ruled_out(const char *number)
{
	expect("unknown", CONFIDENCE_unknown);
	because(ID, number);
}

/* All that is pinned are memory regions. */
static void pinned(uint64_t pages)
{
	held_by(&in, pages, pages, 0);
}

static void forget_facts(void)
{
	facts_unknown(&in.facts, -ETIMEDOUT);
}

static void tells_the_arithmetic(void **state)
{
	(void)state;
	expect(ID, CONFIDENCE_proven);
	assert_true(evidence_says(&d.verdict, "256 pages of 4096 bytes = 1048576 bytes"));
	assert_true(evidence_says(&d.verdict, "256 + 100 = 356 pages is more"));
	assert_string_equal(incident_stage(&in, &id), "limits");
}

static void one_page_decides(void **state)
{
	(void)state;
	pinned(45);
	expect(ID, CONFIDENCE_proven);
	pinned(44);
	expect_ruled_out("256 pages asked + 44 pinned = 300, within the limit of 300 pages");
	assert_string_equal(incident_stage(&in, &id), "umem");
}

/* The kernel rounds the limit down to pages, and the range up. */
static void rounding(void **state)
{
	(void)state;
	pinned(44);
	in.end.memlock_soft_bytes = 301 * PAGE - 1;
	expect_ruled_out("300 pages");
	in.end.memlock_soft_bytes = 300 * PAGE - 1;
	expect(ID, CONFIDENCE_proven);
	in.end.memlock_soft_bytes = 300 * PAGE;
	in.end.address += 1;
	expect(ID, CONFIDENCE_proven);
	assert_true(evidence_says(&d.verdict, "257 pages"));
	in.end.address -= 1;
	in.end.length = 256 * PAGE - 1;
	expect_ruled_out("256 pages asked");
}

static void details(void **state)
{
	(void)state;
	expect(ID, CONFIDENCE_proven);
	assert_int_equal(d.verdict.detail, DETAIL_sum_over_limit);
	in.end.memlock_soft_bytes = 256 * PAGE;
	expect(ID, CONFIDENCE_proven);
	assert_int_equal(d.verdict.detail, DETAIL_sum_over_limit);
	in.end.memlock_soft_bytes = 255 * PAGE;
	expect(ID, CONFIDENCE_proven);
	assert_int_equal(d.verdict.detail, DETAIL_one_request_over_limit);
	/* A request that is too large by itself needs no facts, whatever else is pinned. */
	forget_facts();
	in.end.pinned_before_pages = in.end.pinned_after_pages = 5000;
	expect(ID, CONFIDENCE_proven);
	assert_int_equal(d.verdict.detail, DETAIL_one_request_over_limit);
}

static void capability_and_unlimited(void **state)
{
	(void)state;
	/* Over the limit all the same: a security module may have denied the capability. */
	in.end.ipc_lock = in.end.ipc_lock_effective = in.end.ipc_lock_permitted = 1;
	expect("unknown", CONFIDENCE_unknown);
	assert_null(ruled_out(&d, ID));
	pinned(44);
	expect_ruled_out("CAP_IPC_LOCK is effective");
	pinned(100);
	in.end.ipc_lock = in.end.ipc_lock_effective = in.end.ipc_lock_permitted = 0;
	in.end.memlock_soft_bytes = UINT64_MAX;
	expect_ruled_out("unlimited");
	in.end.memlock_soft_bytes = 300 * PAGE;
	expect(ID, CONFIDENCE_proven);
}

/* Dropped in the program, or given to a container that runs as another user. */
static void capability_in_the_wrong_place(void **state)
{
	(void)state;
	in.end.ipc_lock_permitted = 1;
	expect("ipc_lock_cap_not_effective", CONFIDENCE_proven);
	assert_int_equal(d.verdict.detail, DETAIL_cap_permitted_only);
	because(ID, "256 pages asked, 100 charged to the process, limit 300 pages");
	in.end.init_user_ns = 0;
	in.end.ipc_lock_effective = 1;
	expect("ipc_lock_cap_not_effective", CONFIDENCE_proven);
	assert_int_equal(d.verdict.detail, DETAIL_cap_in_child_namespace);
	/* It explains the refusal whatever holds the pages. */
	forget_facts();
	in.end.pinned_before_pages = in.end.pinned_after_pages = 400;
	expect("ipc_lock_cap_not_effective", CONFIDENCE_proven);
	in.end.pinned_after_pages = 0;
	expect("ipc_lock_cap_not_effective", CONFIDENCE_likely);
	in.end.pinned_before_pages = 44;
	expect("unknown", CONFIDENCE_unknown);
	because("ipc_lock_cap_not_effective", "within the limit");
	in.end.ipc_lock_effective = in.end.ipc_lock_permitted = 0;
	pinned(100);
	expect(ID, CONFIDENCE_proven);
	assert_true(evidence_says(&d.verdict, "another user namespace"));
}

/* Zero is refused before, with EPERM: an ENOMEM then has another reason, or the limit has changed. */
static void limit_of_zero(void **state)
{
	(void)state;
	in.end.memlock_soft_bytes = 0;
	expect("unknown", CONFIDENCE_unknown);
	assert_null(ruled_out(&d, ID));
	in.end.memlock_soft_bytes = 100;
	expect(ID, CONFIDENCE_proven);
}

static void one_reading_over(void **state)
{
	(void)state;
	in.end.pinned_after_pages = 10;
	expect(ID, CONFIDENCE_likely);
	assert_true(evidence_says(&d.verdict, "changed between the two readings (100 and 10)"));
	in.end.pinned_after_pages = 100;
	in.end.pinned_before_pages = 10;
	expect(ID, CONFIDENCE_likely);
	in.end.pinned_after_pages = 10;
	expect_ruled_out("within the limit");
}

static void a_later_stage_was_reached(void **state)
{
	(void)state;
	in.end.gup_calls = 1;
	expect_ruled_out("the pin was reached");
	in.end.gup_calls = 0;
	in.end.stage = WIRE_STAGE_PIN;
	expect_ruled_out("stage 2");
	in.end.stage = WIRE_STAGE_UMEM;
	in.end.pin_fast_pages = 3;
	expect_ruled_out("3 pages had been pinned");
	in.end.pin_fast_pages = 0;
	expect(ID, CONFIDENCE_proven);
}

static void errnos(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < in.end.nchain; i++)
		in.end.chain[i].result = -EINVAL;
	in.end.result = -EINVAL;
	expect_ruled_out("EINVAL");
	setup(state);
	/* The driver turned it into another one. */
	in.end.result = -EIO;
	expect(ID, CONFIDENCE_likely);
}

static void the_driver_failed_by_itself(void **state)
{
	(void)state;
	in.end.nchain = 0;
	add_chain(&in, WIRE_FN_DRIVER_RXE, -ENOMEM);
	add_chain(&in, WIRE_FN_UVERBS, -ENOMEM);
	expect_ruled_out("in the device's driver or its firmware (ENOMEM 12)");
	/* Without a watch on the umem function it may have been the one. */
	id.fn_watched[WIRE_FN_UMEM] = false;
	expect("unknown", CONFIDENCE_unknown);
	assert_null(ruled_out(&d, ID));
}

static void unread_numbers(void **state)
{
	static const uint32_t bits[] = { WIRE_HAVE_UMEM, WIRE_HAVE_PINNED_VM, WIRE_HAVE_MEMLOCK };
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		in.end.have &= ~bits[i];
		expect("unknown", CONFIDENCE_unknown);
		assert_null(ruled_out(&d, ID));
		in.end.have |= bits[i];
	}
}

static void unwatched_functions(void **state)
{
	(void)state;
	id.fn_watched[WIRE_FN_GUP_LONGTERM] = false;
	expect(ID, CONFIDENCE_likely);
	assert_true(missing_says(&d.verdict, "failure of the pin"));
	id.fn_watched[WIRE_FN_GUP_LONGTERM] = true;
	id.fn_watched[WIRE_FN_UMEM] = false;
	expect(ID, CONFIDENCE_likely);
}

/* Numbers that wrap must neither prove nor exclude anything by accident. */
static void hostile_numbers(void **state)
{
	(void)state;
	pinned(UINT64_MAX);
	expect("memlock_privileged_pins_counted", CONFIDENCE_proven);
	held_by(&in, UINT64_MAX, UINT64_MAX, UINT64_MAX);
	expect("memlock_consumed_by_other_subsystem", CONFIDENCE_likely);
	held_by(&in, 100, UINT64_MAX, 0);
	expect(ID, CONFIDENCE_likely);
	in.facts.mr_process_count = UINT64_MAX;
	diagnose(&in, &id, &d);
	assert_false(d.conflict);
	in.end.length = UINT64_MAX - 5;
	expect("unknown", CONFIDENCE_unknown);
	in.end.address = UINT64_MAX - 100;
	in.end.length = 50;
	expect("unknown", CONFIDENCE_unknown);
}

/* Whose pages are pinned decides; read afterwards, so that it must add up. */
static void shares(void **state)
{
	(void)state;
	forget_facts();
	expect(ID, CONFIDENCE_likely);
	assert_true(missing_says(&d.verdict, "memlock.by_subsystem"));
	/* 256 and 44 memory regions fit, 256 and 45 do not. */
	held_by(&in, 100, 45, 0);
	expect(ID, CONFIDENCE_proven);
	held_by(&in, 100, 44, 0);
	expect("accounting_late_or_leaked", CONFIDENCE_likely);
	/* A quarter of what is pinned may be queue buffers. */
	held_by(&in, 59, 44, 0);
	expect(ID, CONFIDENCE_likely);
	held_by(&in, 61, 44, 0);
	expect("accounting_late_or_leaked", CONFIDENCE_likely);
	because(ID, "61 charged to the process");
	/* More memory regions than pinned pages: some of them pin nothing. */
	held_by(&in, 100, 102, 0);
	expect(ID, CONFIDENCE_likely);
	held_by(&in, 100, 101, 0);
	expect(ID, CONFIDENCE_proven);
	in.facts.err[FACT_io_uring_pages] = -EACCES;
	expect(ID, CONFIDENCE_likely);
}

static void io_uring_makes_the_difference(void **state)
{
	const char *cause = "memlock_consumed_by_other_subsystem";

	(void)state;
	held_by(&in, 100, 44, 56);
	expect(cause, CONFIDENCE_proven);
	assert_int_equal(d.verdict.detail, DETAIL_held_by_io_uring);
	because(ID, "without the io_uring buffers it would fit");
	held_by(&in, 100, 45, 55);
	expect(ID, CONFIDENCE_proven);
	because(cause, "the process's own registrations");
	/* Within what lengths of memory regions may be off, and beyond it. */
	held_by(&in, 100, 43, 56);
	expect(cause, CONFIDENCE_proven);
	held_by(&in, 100, 42, 56);
	expect(cause, CONFIDENCE_likely);
	in.facts.err[FACT_mr_process_pages] = -EPERM;
	expect(cause, CONFIDENCE_likely);
	/* Without io_uring's number nothing of it is said. */
	in.facts.err[FACT_io_uring_pages] = -EPERM;
	expect(ID, CONFIDENCE_likely);
	/* All that is pinned is over the limit, but not without io_uring: no privilege is needed for that. */
	held_by(&in, 400, 40, 360);
	expect(cause, CONFIDENCE_proven);
	held_by(&in, 700, 301, 399);
	expect("memlock_privileged_pins_counted", CONFIDENCE_proven);
}

static void pins_over_the_limit(void **state)
{
	const char *cause = "memlock_privileged_pins_counted";

	(void)state;
	pinned(300);
	expect(ID, CONFIDENCE_proven);
	pinned(301);
	expect(cause, CONFIDENCE_proven);
	assert_true(evidence_says(&d.verdict, "CAP_IPC_LOCK, or under a higher limit"));
	because(ID, "256 pages asked, 301 charged to the process");
	forget_facts();
	expect(cause, CONFIDENCE_likely);
	assert_true(missing_says(&d.verdict, "memlock.by_subsystem"));
	pinned(301);
	in.end.pinned_after_pages = 299;
	expect(cause, CONFIDENCE_likely);
	in.end.length = 301 * PAGE;
	expect(ID, CONFIDENCE_proven);
}

static void limit_zero_without_capability(void **state)
{
	const char *cause = "rlimit_memlock_zero_no_cap";

	(void)state;
	prove_rlimit_memlock_zero_no_cap(&in);
	expect(cause, CONFIDENCE_proven);
	in.end.ipc_lock_effective = 1;
	in.end.init_user_ns = 0;
	expect(cause, CONFIDENCE_proven);
	assert_true(evidence_says(&d.verdict, "only in the process's own"));
	in.end.memlock_soft_bytes = 1;
	expect("unknown", CONFIDENCE_unknown);
	because(cause, "not zero");
	in.end.memlock_soft_bytes = 0;
	in.end.ipc_lock = 1;
	expect("unknown", CONFIDENCE_unknown);
	in.end.ipc_lock = 0;
	in.end.have &= ~(uint32_t)WIRE_HAVE_MEMLOCK;
	expect("unknown", CONFIDENCE_unknown);
	in.end.have |= WIRE_HAVE_MEMLOCK;
	in.end.chain[0].fn = WIRE_FN_DRIVER_RXE;
	expect("unknown", CONFIDENCE_unknown);
}

/* io_uring: 256 pages, the user has 100 charged, the limit is 300; none of it is this process's. */
static void user_of_io_uring(void **state)
{
	const char *cause = "locked_vm_per_user_shared";

	(void)state;
	prove_locked_vm_per_user_shared(&in);
	expect(cause, CONFIDENCE_proven);
	because(ID, "256 pages asked, 100 charged to the user, limit 300 pages");
	/* All that is pinned is at most 44 pages, then 45, of which io_uring may hold any part. */
	in.end.pinned_after_pages = 44;
	expect(cause, CONFIDENCE_proven);
	in.end.pinned_after_pages = 45;
	expect(ID, CONFIDENCE_likely);
	assert_true(missing_says(&d.verdict, "memlock.by_subsystem"));
	in.facts.err[FACT_io_uring_pages] = 0;
	steady_charge(&in);
	in.facts.io_uring_pages = 44;
	expect(cause, CONFIDENCE_proven);
	in.facts.io_uring_pages = 45;
	expect(ID, CONFIDENCE_likely);
	/* The process's own buffers are all that is charged. */
	in.facts.io_uring_pages = 100;
	expect(ID, CONFIDENCE_proven);
	assert_int_equal(d.verdict.detail, DETAIL_sum_over_limit);
	in.end.memlock_soft_bytes = 255 * PAGE;
	expect(ID, CONFIDENCE_proven);
	assert_int_equal(d.verdict.detail, DETAIL_one_request_over_limit);
	/* Another charge came in between the reading and the check. */
	in.end.memlock_soft_bytes = 356 * PAGE;
	in.facts.io_uring_pages = 0;
	expect(cause, CONFIDENCE_likely);
}

/* Where the function that charges is inlined: the numbers of its check, and no pin that failed. */
static void a_charge_that_is_inlined(void **state)
{
	(void)state;
	prove_locked_vm_per_user_shared(&in);
	in.end.nchain = 0;
	add_chain(&in, WIRE_FN_URING_BUFFER, -ENOMEM);
	add_chain(&in, WIRE_FN_URING, -ENOMEM);
	/* Watched and not seen to refuse: something else ran out. */
	expect("unknown", CONFIDENCE_unknown);
	id.fn_watched[WIRE_FN_URING_ACCOUNT] = false;
	expect("locked_vm_per_user_shared", CONFIDENCE_likely);
	assert_true(missing_says(&d.verdict, "memlock.charge"));
	in.end.account.user_locked_pages = 45;
	expect("locked_vm_per_user_shared", CONFIDENCE_likely);
	in.end.account.user_locked_pages = 44;
	expect("unknown", CONFIDENCE_unknown);
	in.end.account.user_locked_pages = 100;
	in.end.have &= ~(uint32_t)WIRE_HAVE_ACCOUNT;
	expect("unknown", CONFIDENCE_unknown);
}

/* The second buffer of a call: 100 of what is charged are the first one's. */
static void earlier_buffers_of_the_call(void **state)
{
	(void)state;
	prove_locked_vm_per_user_shared(&in);
	in.end.args.index = 1;
	in.end.args.count = 2;
	in.end.user_locked_pages = 0;
	expect(ID, CONFIDENCE_likely);
	in.facts.err[FACT_io_uring_pages] = 0;
	steady_charge(&in);
	in.facts.io_uring_pages = 0;
	expect(ID, CONFIDENCE_proven);
	assert_int_equal(d.verdict.detail, DETAIL_one_request_over_limit);
	assert_true(evidence_says(&d.verdict, "buffer 2 of 2"));
	in.end.user_locked_pages = 57;
	expect("locked_vm_per_user_shared", CONFIDENCE_proven);
}

/* What is listed later explains the charge only as long as it is still the same. */
static void a_charge_that_changed_meanwhile(void **state)
{
	(void)state;
	prove_accounting_late_or_leaked(&in);
	expect("accounting_late_or_leaked", CONFIDENCE_likely);
	in.facts.vm_pin_later_bytes -= PAGE;
	expect(ID, CONFIDENCE_likely);
	assert_true(missing_says(&d.verdict, "memlock.by_subsystem"));
	steady_charge(&in);
	in.facts.vm_pin_bytes = 0;
	expect(ID, CONFIDENCE_likely);
	prove_memlock_consumed_by_other_subsystem(&in);
	in.facts.err[FACT_vm_pin_later_bytes] = -ESRCH;
	expect(ID, CONFIDENCE_likely);
}

static void user_charge_that_was_accepted(void **state)
{
	(void)state;
	prove_locked_vm_per_user_shared(&in);
	in.end.nchain = 0;
	in.end.account.user_locked_pages = 44;
	add_chain(&in, WIRE_FN_URING_BUFFER, -ENOMEM);
	add_chain(&in, WIRE_FN_URING, -ENOMEM);
	expect_ruled_out("in io_uring's own checks");
	prove_locked_vm_per_user_shared(&in);
	in.end.have &= ~(uint32_t)WIRE_HAVE_ACCOUNT;
	expect("unknown", CONFIDENCE_unknown);
	in.end.have |= WIRE_HAVE_ACCOUNT;
	in.end.account.asked_pages = UINT64_MAX;
	expect(ID, CONFIDENCE_proven);
}

static void user_of_af_xdp(void **state)
{
	(void)state;
	prove_xdp_umem_invalid(&in);
	in.end.have |= WIRE_HAVE_ACCOUNT;
	in.end.chain[0].result = in.end.result = -ENOBUFS;
	in.end.account.asked_pages = 256;
	in.end.account.user_locked_pages = 100;
	in.end.memlock_soft_bytes = 300 * PAGE;
	expect("locked_vm_per_user_shared", CONFIDENCE_proven);
	in.end.account.asked_pages = 301;
	expect(ID, CONFIDENCE_proven);
	in.end.ipc_lock_permitted = 1;
	expect("ipc_lock_cap_not_effective", CONFIDENCE_proven);
	in.end.ipc_lock = 1;
	expect("unknown", CONFIDENCE_unknown);
	in.end.ipc_lock = 0;
	in.end.chain[0].result = in.end.result = -ENOMEM;
	expect_ruled_out("over the limit it gives ENOBUFS");
}

/* VFIO counts against VmLck, and its ENOMEM has other reasons. */
static void vfio_mapping(void **state)
{
	(void)state;
	prove_vfio_dma_entry_limit(&in);
	in.end.chain[0].result = in.end.result = -ENOMEM;
	in.end.memlock_soft_bytes = 300 * PAGE;
	in.end.locked_vm_pages = 45;
	expect(ID, CONFIDENCE_likely);
	assert_int_equal(d.verdict.detail, DETAIL_sum_over_limit);
	in.end.locked_vm_pages = 44;
	expect_ruled_out("256 pages asked + 44 locked, within the limit");
	/* Larger than the limit by itself: it cannot get through, if all of its pages count. */
	in.end.memlock_soft_bytes = 255 * PAGE;
	expect(ID, CONFIDENCE_likely);
	assert_int_equal(d.verdict.detail, DETAIL_one_request_over_limit);
	in.end.have |= WIRE_HAVE_VMAS | WIRE_HAVE_VMAS_ALL;
	expect(ID, CONFIDENCE_proven);
	in.end.locked_vm_pages = UINT64_MAX;
	expect(ID, CONFIDENCE_proven);
	in.end.vmas[0].flags |= 0x400;
	expect(ID, CONFIDENCE_likely);
	in.end.vmas[0].flags = 3;
	in.end.args.flags = 1;
	expect(ID, CONFIDENCE_likely);
	in.end.ipc_lock = 1;
	expect("unknown", CONFIDENCE_unknown);
}

static void remedies_fit_where_the_limit_was_set(void **state)
{
	static const struct {
		const char *set_by, *remedy;
	} places[] = {
		{ "slurmd.service (slurmd[7])", "PropagateResourceLimitsExcept=MEMLOCK" },
		{ "slurmd.service (slurmd[7])", "systemctl edit slurmd.service" },
		{ "container runtime containerd-shim[9]", "--ulimit memlock=-1" },
		{ "session-3.scope (sshd[5])", "limits.d" },
		{ "pbs_mom[4]", "pbs_mom" },
		{ "the process itself or its program (worker[3])", "setrlimit()" },
		{ "bash[8]: its parent x[2] has unlimited", "ulimit -l unlimited" },
	};
	size_t i;
	uint32_t k;

	(void)state;
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		strcpy(in.facts.limit_set_by, places[i].set_by);
		in.facts.err[FACT_limit_set_by] = 0;
		expect(ID, CONFIDENCE_proven);
		assert_true(evidence_says(&d.verdict, places[i].set_by));
		for (k = 0; k < d.verdict.nremedies; k++)
			if (strstr(d.verdict.remedies[k], places[i].remedy))
				break;
		if (k == d.verdict.nremedies)
			fail_msg("no \"%s\" for \"%s\"", places[i].remedy, places[i].set_by);
	}
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tells_the_arithmetic), TEST(one_page_decides), TEST(rounding), TEST(details),
		TEST(capability_and_unlimited), TEST(capability_in_the_wrong_place), TEST(limit_of_zero),
		TEST(one_reading_over), TEST(a_later_stage_was_reached), TEST(errnos),
		TEST(the_driver_failed_by_itself), TEST(unread_numbers), TEST(unwatched_functions),
		TEST(hostile_numbers), TEST(shares), TEST(io_uring_makes_the_difference), TEST(pins_over_the_limit),
		TEST(limit_zero_without_capability), TEST(user_of_io_uring), TEST(earlier_buffers_of_the_call),
		TEST(a_charge_that_changed_meanwhile), TEST(a_charge_that_is_inlined),
		TEST(user_charge_that_was_accepted), TEST(user_of_af_xdp), TEST(vfio_mapping),
		TEST(remedies_fit_where_the_limit_was_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
