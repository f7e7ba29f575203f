// SPDX-License-Identifier: BSD-2-Clause
/* GPU memory registered by its address: what NVIDIA's driver told the peer memory client, and what else ends with that errno. */
#include "verdicts.h"

#define REFUSED "gpu_pages_refused"
#define ENOTSUPP 524

static bool fits(const char *cause)
{
	for (uint32_t i = 0; i < d.nalso; i++)
		if (strcmp(d.also[i]->id, cause) == 0)
			return true;
	return false;
}

/* Address space that CUDA has reserved, and a driver without room for what is behind it, though BAR1 is all free. */
static void hide(void)
{
	fail_in_mapping(&in, EFAULT, 0x70);
	ask_driver(&in, ENOMEM, WIRE_PEER_NOT_MINE);
	in.facts.err[FACT_bar1_free_bytes] = in.facts.err[FACT_bar1_total_bytes] = 0;
	in.facts.bar1_total_bytes = in.facts.bar1_free_bytes = 256 << 20;
}

/* --- "not mine", and EFAULT ------------------------------------------------------- */

static void every_step_seen(void **state)
{
	(void)state;
	hide();
	proven(REFUSED, DETAIL_peer_no_room);
	assert_true(evidence_says(&d.verdict, "nvidia_p2p_get_pages = -ENOMEM"));
	assert_true(evidence_says(&d.verdict, "\"not mine\""));
	assert_true(evidence_says(&d.verdict, "free of 256 MiB"));
	expect_ruled_out("vma_permission_mismatch", "it is GPU memory");
	expect_ruled_out("cuda_vmm_or_gpu_memory_by_va", "it is GPU memory");
	expect_ruled_out("peermem_absent_or_mismatch", "libcuda");
	assert_string_equal(incident_stage(&in, &id), "pin");
	know_libraries(&in, "libcuda.so.1");
	proven(REFUSED, DETAIL_peer_no_room);
	expect_ruled_out("peermem_absent_or_mismatch", "1 times");
	/* Of a device of the driver's. */
	in.end.fault_vma.flags = 0x44fb;
	in.end.fault_vma.what = WIRE_VMA_CHARDEV;
	proven(REFUSED, DETAIL_peer_no_room);
	expect_ruled_out("vma_pfnmap_io", "it is GPU memory");
}

static void bar1_is_what_is_behind_it(void **state)
{
	(void)state;
	hide();
	assert_false(fits("gpu_bar1_exhausted"));
	in.facts.bar1_free_bytes = 1 << 20;
	proven(REFUSED, DETAIL_peer_no_room);
	assert_true(fits("gpu_bar1_exhausted"));
	in.facts.err[FACT_bar1_free_bytes] = -ESRCH;
	proven(REFUSED, DETAIL_peer_no_room);
	assert_true(fits("gpu_bar1_exhausted"));
	assert_true(missing_says(&d.verdict, "BAR1"));
	in.end.peer.err = -EIO;
	diagnose(&in, &id, &d);
	assert_false(fits("gpu_bar1_exhausted"));
}

static void not_asked(struct incident *i) { i->end.have &= ~(uint32_t)WIRE_HAVE_PEER; }
static void given(struct incident *i) { i->end.peer.err = 0; }
static void answer_unseen(struct incident *i) { i->end.peer.answer = WIRE_PEER_ANSWER_UNSEEN; }
static void asked_by_another(struct incident *i) { strcpy(i->end.peer.caller, "other_acquire [other]"); }
static void caller_unknown(struct incident *i) { i->end.peer.caller[0] = '\0'; }
static void asked_for_another(struct incident *i) { i->end.peer.address += 256 * PAGE; }
static void range_unseen(struct incident *i) { i->end.peer.length = 0; }
static void ended_otherwise(struct incident *i) { i->end.result = -EPERM; }
static void other_errno(struct incident *i) { i->end.peer.err = -EIO; }
static void not_its_memory(struct incident *i) { i->end.peer.err = -EINVAL; }
static void dying(struct incident *i) { i->end.killed = 1; }
static void of_the_host(struct incident *i) { i->end.fault_vma.flags |= 0x1; }
static void no_mapping(struct incident *i)
{
	i->end.fault_vma_state = WIRE_FAULT_VMA_HOLE;
	i->end.have &= ~(uint32_t)WIRE_HAVE_VMAS;
}

/* Each number that makes the proof, changed: what was proven must not stay so. */
static void a_step_less_is_no_proof(void **state)
{
	static const struct {
		void (*change)(struct incident *in);
		bool still_fits;
	} flips[] = {
		{ not_asked, false }, { given, false }, { answer_unseen, true }, { asked_by_another, true }, { caller_unknown, true },
		{ asked_for_another, true }, { range_unseen, true }, { ended_otherwise, true }, { other_errno, true }, { not_its_memory, false },
		{ dying, false }, { of_the_host, false }, { no_mapping, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(flips) / sizeof(flips[0]); i++) {
		bool it;

		hide();
		flips[i].change(&in);
		diagnose(&in, &id, &d);
		it = strcmp(verdict_cause(&d), REFUSED) == 0;
		if (it && d.confidence == CONFIDENCE_proven)
			fail_msg("%zu: proven without a step of it", i);
		if ((it || fits(REFUSED)) != flips[i].still_fits)
			fail_msg("%zu: %s", i, flips[i].still_fits ? "nothing is said of it" : "said all the same");
		assert_false(d.conflict);
	}
}

/* --- what looks like it ------------------------------------------------------------- */

static void host_memory_that_is_not_there(void **state)
{
	(void)state;
	/* Older stacks ask the client of every address first: of host memory the answer is EINVAL, and true. */
	prove_address_not_mapped(&in);
	ask_driver(&in, EINVAL, WIRE_PEER_NOT_MINE);
	expect("address_not_mapped", CONFIDENCE_proven);
	assert_false(fits(REFUSED));
	assert_false(fits("gpu_bar1_exhausted"));
	prove_vma_permission_mismatch(&in);
	ask_driver(&in, EINVAL, WIRE_PEER_NOT_MINE);
	expect("vma_permission_mismatch", CONFIDENCE_proven);
	/* Readable: it is the host's, whatever the driver was short of. */
	ask_driver(&in, ENOMEM, WIRE_PEER_NOT_MINE);
	expect("vma_permission_mismatch", CONFIDENCE_proven);
	expect_ruled_out(REFUSED, "memory of the host");
}

/* An answer to the client's question must not be taken for what failed. */
static void the_limit_behind_a_question(void **state)
{
	(void)state;
	prove_rlimit_memlock_exceeded(&in);
	ask_driver(&in, EINVAL, WIRE_PEER_NOT_MINE);
	expect("rlimit_memlock_exceeded", CONFIDENCE_proven);
	ask_driver(&in, ENOMEM, WIRE_PEER_NOT_MINE);
	expect("rlimit_memlock_exceeded", CONFIDENCE_proven);
	assert_false(fits(REFUSED));
	assert_false(fits("gpu_bar1_exhausted"));
	prove_longterm_migrate_blocked_by_ref(&in);
	ask_driver(&in, EINVAL, WIRE_PEER_NOT_MINE);
	expect("longterm_migrate_blocked_by_ref", CONFIDENCE_proven);
}

static void a_hole_is_not_told_as_one(void **state)
{
	(void)state;
	prove_address_not_mapped(&in);
	ask_driver(&in, ENOMEM, WIRE_PEER_NOT_MINE);
	expect("gpu_bar1_exhausted", CONFIDENCE_likely);
	assert_true(fits(REFUSED));
	expect_ruled_out("address_not_mapped", "it is GPU memory");
	ask_driver(&in, EBUSY, WIRE_PEER_NOT_MINE);
	expect("address_not_mapped", CONFIDENCE_likely);
	assert_true(fits(REFUSED));
}

/* What the driver may give for any address proves neither. */
static void an_errno_that_says_little(void **state)
{
	static const int errs[] = { EIO, EBUSY, ENODEV, ENOTSUPP };

	(void)state;
	for (size_t i = 0; i < sizeof(errs) / sizeof(errs[0]); i++) {
		hide();
		in.end.peer.err = -errs[i];
		expect(REFUSED, CONFIDENCE_likely);
		assert_true(fits("vma_permission_mismatch"));
		/* Readable, it is the host's, and the driver may be out of order for all the same. */
		in.end.fault_vma.flags |= 0x1;
		expect("vma_permission_mismatch", CONFIDENCE_proven);
	}
}

static void no_client_asked(void **state)
{
	(void)state;
	prove_peermem_absent_or_mismatch(&in);
	diagnose(&in, &id, &d);
	assert_true(fits("peermem_absent_or_mismatch"));
	expect_ruled_out(REFUSED, "called 0 times");
	id.fn_watched[WIRE_FN_NV_P2P] = false;
	diagnose(&in, &id, &d);
	assert_null(ruled_out(&d, REFUSED));
	ask_driver(&in, EINVAL, WIRE_PEER_NOT_MINE);
	expect("address_not_mapped", CONFIDENCE_proven);
	expect_ruled_out("peermem_absent_or_mismatch", "is there");
}

/* Memory that the driver gives to nobody by address: the other cause says so. */
static void memory_of_another_kind(void **state)
{
	(void)state;
	fail_in_mapping(&in, EFAULT, 0x70);
	in.end.gup_flags |= id.foll_force;
	know_libraries(&in, "libcuda.so.1");
	ask_driver(&in, EINVAL, WIRE_PEER_NOT_MINE);
	expect("cuda_vmm_or_gpu_memory_by_va", CONFIDENCE_likely);
	assert_true(evidence_says(&d.verdict, "nvidia_p2p_get_pages = -EINVAL"));
}

/* --- refused after it was taken ------------------------------------------------------ */

static void take(int err, bool pin_first)
{
	build_failure(&in, err);
	if (pin_first) {
		fail_in_mapping(&in, EFAULT, 0x70);
		in.end.result = -err;
		in.end.nchain = 1;
	} else {
		in.end.have &= ~(uint32_t)(WIRE_HAVE_UMEM | WIRE_HAVE_PINNED_VM);
	}
	ask_driver(&in, err, WIRE_PEER_MINE);
	in.end.peer.calls = 2;
	add_chain(&in, WIRE_FN_NV_P2P, -err);
	add_chain(&in, WIRE_FN_DRIVER_MLX5, -err);
	add_chain(&in, WIRE_FN_UVERBS, -err);
}

static void refused_openly(void **state)
{
	static const struct {
		int err;
		enum detail detail;
	} cases[] = {
		{ ENOMEM, DETAIL_peer_no_room }, { EINVAL, DETAIL_peer_range_refused }, { ENOTSUPP, DETAIL_peer_not_supported },
		{ EBUSY, DETAIL_peer_in_use }, { ENODEV, DETAIL_peer_gpu_gone }, { EIO, DETAIL_peer_driver_error },
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		take(cases[i / 2].err, i % 2);
		proven(REFUSED, cases[i / 2].detail);
		assert_string_equal(incident_stage(&in, &id), "peer");
		assert_int_equal(fits("gpu_bar1_exhausted"), cases[i / 2].err == ENOMEM);
		assert_true(d.verdict.nremedies > 0);
		/* The caller tells it too. */
		in.end.peer.answer = WIRE_PEER_ANSWER_UNSEEN;
		proven(REFUSED, cases[i / 2].detail);
		in.end.result = -EPERM;
		expect(cases[i / 2].err == ENOMEM ? "gpu_bar1_exhausted" : REFUSED, CONFIDENCE_likely);
	}
	take(EINVAL, true);
	in.end.peer.address += PAGE;
	proven(REFUSED, DETAIL_peer_range_refused);
	assert_true(evidence_says(&d.verdict, "whole pages of 64 KiB"));
}

/* It gave the pages, and something behind it failed. */
static void given_in_the_end(void **state)
{
	(void)state;
	prove_mkey_exhausted_fw(&in);
	ask_driver(&in, 0, WIRE_PEER_MINE);
	expect("mkey_exhausted_fw", CONFIDENCE_proven);
}

/* --- an export that failed before --------------------------------------------------- */

static void export_fails(uint32_t status)
{
	in.end.have |= WIRE_HAVE_EXPORT;
	in.end.export = (struct wire_export){ .time_ns = in.end.hdr.time_ns - 5000000, .status = status, .failed = 2 };
}

/* Told with what came of it, and changes no verdict. */
static void an_export_that_failed(void **state)
{
	(void)state;
	prove_dmabuf_bad_fd(&in);
	expect("dmabuf_bad_fd", CONFIDENCE_proven);
	assert_false(evidence_says(&d.verdict, "nv_dma_buf_export"));
	export_fails(0x56);
	expect("dmabuf_bad_fd", CONFIDENCE_proven);
	assert_true(evidence_says(&d.verdict, "5 ms before"));
	assert_true(evidence_says(&d.verdict, "nv_dma_buf_export = 0x56 NV_ERR_NOT_SUPPORTED, 2 in a row"));
	export_fails(0x7777);
	expect("dmabuf_bad_fd", CONFIDENCE_proven);
	assert_true(evidence_says(&d.verdict, "nv_dma_buf_export = 0x7777, 2 in a row"));
	hide();
	export_fails(0x1a);
	proven(REFUSED, DETAIL_peer_no_room);
	assert_true(evidence_says(&d.verdict, "NV_ERR_INSUFFICIENT_RESOURCES"));
	prove_rlimit_memlock_exceeded(&in);
	export_fails(0x56);
	expect("rlimit_memlock_exceeded", CONFIDENCE_proven);
	assert_false(evidence_says(&d.verdict, "nv_dma_buf_export"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_step_seen), TEST(bar1_is_what_is_behind_it), TEST(a_step_less_is_no_proof), TEST(host_memory_that_is_not_there),
		TEST(the_limit_behind_a_question), TEST(a_hole_is_not_told_as_one), TEST(an_errno_that_says_little), TEST(no_client_asked), TEST(memory_of_another_kind),
		TEST(refused_openly), TEST(given_in_the_end), TEST(an_export_that_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
