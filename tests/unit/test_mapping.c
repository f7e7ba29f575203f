// SPDX-License-Identifier: BSD-2-Clause
/* Mappings: address_not_mapped and its nearest neighbours, and what the kernel's check stops at. */
#include "support.h"

#include <errno.h>
#include <string.h>

#define ID "address_not_mapped"

static struct identity id;
static struct incident in;
static struct diagnosis d;

static int setup(void **state)
{
	(void)state;
	id = test_identity();
	prove_address_not_mapped(&in);
	return 0;
}

static void expect(const char *cause, enum confidence confidence)
{
	diagnose(&in, &id, &d);
	assert_string_equal(verdict_cause(&d), cause);
	assert_int_equal(d.confidence, confidence);
}

static void expect_ruled_out(const char *number)
{
	expect("unknown", CONFIDENCE_unknown);
	assert_non_null(ruled_out(&d, ID));
	if (!strstr(ruled_out(&d, ID), number))
		fail_msg("no \"%s\" in \"%s\"", number, ruled_out(&d, ID));
}

static void names_the_address(void **state)
{
	(void)state;
	expect(ID, CONFIDENCE_proven);
	assert_int_equal(d.verdict.detail, DETAIL_hole_inside);
	assert_non_null(strstr(d.verdict.summary, "0x7f0000026000, page 37 of 256"));
	assert_true(evidence_says(&d.verdict, "below: 0x7f0000000000-0x7f0000026000 rw-p"));
	in.end.gup_start = RANGE;
	in.end.vmas[0].end = RANGE;
	expect(ID, CONFIDENCE_proven);
	assert_int_equal(d.verdict.detail, DETAIL_hole_at_start);
}

/* The mmap lock was busy at the failure; a hole that is there later may have come in between. */
static void a_hole_seen_later_is_no_proof(void **state)
{
	(void)state;
	in.end.fault_vma_state = WIRE_FAULT_VMA_HOLE_LATER;
	in.end.have &= ~WIRE_HAVE_FAULT_VMA;
	expect(ID, CONFIDENCE_likely);
	in.end.fault_vma_state = WIRE_FAULT_VMA_UNKNOWN;
	expect("unknown", CONFIDENCE_unknown);
}

static void neighbour_above(void **state)
{
	(void)state;
	in.end.vmas[1] = (struct wire_vma){ .start = RANGE + 100 * PAGE, .end = RANGE + 256 * PAGE, .flags = 0x9 };
	in.end.nvmas = 2;
	expect(ID, CONFIDENCE_proven);
	assert_true(evidence_says(&d.verdict, "above: 0x7f0000065000-0x7f0000101000 r--s"));
}

static void a_mapping_excludes_it(void **state)
{
	(void)state;
	in.end.fault_vma_state = WIRE_FAULT_VMA_COVERED;
	in.end.fault_vma = (struct wire_vma){ .start = RANGE, .end = RANGE + 256 * PAGE, .flags = 0x9b };
	expect_ruled_out("0x7f0000001000-0x7f0000101000 rw-s");
	/* A mapping of some other place excludes nothing, and proves nothing. */
	in.end.fault_vma.end = RANGE + 37 * PAGE;
	expect("unknown", CONFIDENCE_unknown);
	assert_null(ruled_out(&d, ID));
}

static void no_answer_is_no_hole(void **state)
{
	(void)state;
	in.end.fault_vma_state = WIRE_FAULT_VMA_UNKNOWN;
	expect("unknown", CONFIDENCE_unknown);
	assert_true(missing_says(&d.verdict, "mapping at the failing address"));
	in.end.fault_vma_state = WIRE_FAULT_VMA_HOLE;
	in.end.have &= ~WIRE_HAVE_FAULT_VMA;
	expect("unknown", CONFIDENCE_unknown);
}

static void a_vma_of_the_range_contradicts(void **state)
{
	(void)state;
	in.end.vmas[0].end = RANGE + 38 * PAGE;
	expect("unknown", CONFIDENCE_unknown);
	in.end.vmas[0].end = RANGE + 37 * PAGE;
	expect(ID, CONFIDENCE_proven);
}

static void outside_of_the_range(void **state)
{
	(void)state;
	in.end.vmas[0].end = RANGE;
	in.end.gup_start = RANGE + 256 * PAGE;
	expect("unknown", CONFIDENCE_unknown);
	in.end.gup_start = RANGE + 255 * PAGE;
	expect(ID, CONFIDENCE_proven);
	in.end.gup_start = RANGE - PAGE;
	in.end.vmas[0].start = RANGE;
	expect("unknown", CONFIDENCE_unknown);
}

static void errnos(void **state)
{
	(void)state;
	in.end.chain[0].result = in.end.gup_result = -ENOMEM;
	expect_ruled_out("ENOMEM");
	setup(state);
	in.end.chain[0].result = in.end.gup_result = -EOPNOTSUPP;
	expect_ruled_out("EOPNOTSUPP");
	setup(state);
	in.end.gup_result = 5;
	expect("unknown", CONFIDENCE_unknown);
	setup(state);
	in.end.result = -EINVAL;
	expect(ID, CONFIDENCE_likely);
}

/* EFAULT of the driver, after the memory was pinned. */
static void pinned_in_the_end(void **state)
{
	(void)state;
	in.end.stage = WIRE_STAGE_PINNED;
	expect_ruled_out("driver or its firmware");
}

static void efault_without_a_pin(void **state)
{
	(void)state;
	build_failure(&in, EFAULT);
	add_chain(&in, WIRE_FN_UMEM, -EFAULT);
	expect("unknown", CONFIDENCE_unknown);
	assert_null(ruled_out(&d, ID));
}

/* A hole, or a mapping not to be written, where a page fault was seen to fail: one of the two came later. */
static void a_fault_was_tried(void **state)
{
	static const uint32_t tried[] = { WIRE_FN_HUGETLB_ALLOC, WIRE_FN_USERFAULT };
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		setup(state);
		add_chain(&in, tried[i], i ? -EFAULT : -ENOSPC);
		expect("unknown", CONFIDENCE_unknown);
		in.end.fault_vma_state = WIRE_FAULT_VMA_HOLE_LATER;
		expect("unknown", CONFIDENCE_unknown);
		fail_in_mapping(&in, EFAULT, 0x71);
		expect("vma_permission_mismatch", CONFIDENCE_proven);
		add_chain(&in, tried[i], i ? -EFAULT : -ENOSPC);
		expect("unknown", CONFIDENCE_unknown);
	}
}

/* The caller's errno of a call that nobody followed says nothing of the pin below it. */
static void an_errno_nobody_followed(void **state)
{
	(void)state;
	in.end.nchain = 0;
	in.end.api = WIRE_API_IO_URING;
	in.end.result = -ENOMEM;
	in.end.start_ns = 0;
	diagnose(&in, &id, &d);
	assert_null(ruled_out(&d, ID));
	in.end.start_ns = 1;
	diagnose(&in, &id, &d);
	assert_non_null(ruled_out(&d, ID));
}

/* Its first pin was repeated and done; what ended it comes behind. */
static void decisive_errno(void **state)
{
	(void)state;
	assert_int_equal(incident_decisive_errno(&in), EFAULT);
	in.end.nchain = 0;
	add_chain(&in, WIRE_FN_GUP_LONGTERM, -EFAULT);
	add_chain(&in, WIRE_FN_DRIVER_MLX5, -EINVAL);
	assert_int_equal(incident_decisive_errno(&in), EFAULT);
	in.end.stage = WIRE_STAGE_PINNED;
	assert_int_equal(incident_decisive_errno(&in), EINVAL);
	in.end.nchain = 1;
	in.end.result = -EIO;
	assert_int_equal(incident_decisive_errno(&in), EIO);
}

/* io_uring and AF_XDP make an errno of their own of a pin that stopped early. */
static void a_pin_that_stopped_early(void **state)
{
	static const struct {
		uint16_t api;
		uint32_t fn;
		int err;
	} cases[] = {
		{ WIRE_API_IO_URING, WIRE_FN_URING_BUFFER, EFAULT }, { WIRE_API_XDP_UMEM, WIRE_FN_XDP_UMEM, ENOMEM },
	};
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		build_failure(&in, cases[i].err);
		fail_pin(&in, cases[i].err);
		in.end.nchain = 0;
		add_chain(&in, cases[i].fn, -cases[i].err);
		in.end.api = cases[i].api;
		in.end.gup_start = RANGE;
		in.end.gup_pages = 256;
		in.end.gup_result = 37;
		in.end.vmas[0].end = RANGE + 37 * PAGE;
		expect(ID, CONFIDENCE_likely);
		assert_non_null(strstr(d.verdict.summary, "0x7f0000026000, page 37 of 256"));
		assert_true(missing_says(&d.verdict, "the mapping at the moment of the failure"));
		assert_true(evidence_says(&d.verdict, "pinned 37 of 256 pages and stopped before 0x7f0000026000"));
		assert_null(ruled_out(&d, "vma_pfnmap_io"));
		/* The lock was busy before the range had been looked through: that is no hole. */
		in.end.have |= WIRE_HAVE_VMAS_CUT;
		expect("unknown", CONFIDENCE_unknown);
		in.end.have &= ~WIRE_HAVE_VMAS_CUT;
		/* Looked up where it stopped, it is as good as a pin that failed there. */
		in.end.have |= WIRE_HAVE_FAULT_VMA;
		in.end.fault_vma_state = WIRE_FAULT_VMA_HOLE;
		expect(ID, CONFIDENCE_proven);
		assert_non_null(ruled_out(&d, "vma_pfnmap_io"));
		in.end.fault_vma_state = WIRE_FAULT_VMA_COVERED;
		in.end.fault_vma = (struct wire_vma){ .start = RANGE + 37 * PAGE, .end = RANGE + 256 * PAGE, .flags = 0x44fb };
		expect("vma_pfnmap_io", CONFIDENCE_proven);
		in.end.fault_vma.flags = 0x71;
		expect("vma_permission_mismatch", CONFIDENCE_proven);
		/* The mapping where it began says nothing of where it stopped. */
		in.end.fault_vma = (struct wire_vma){ .start = RANGE, .end = RANGE + 37 * PAGE, .flags = 0x71 };
		expect("unknown", CONFIDENCE_unknown);
		in.end.have &= ~WIRE_HAVE_FAULT_VMA;
		in.end.fault_vma_state = WIRE_FAULT_VMA_UNKNOWN;
		in.end.vmas[0].end = RANGE + 38 * PAGE;
		expect("unknown", CONFIDENCE_unknown);
		in.end.vmas[0].end = RANGE + 37 * PAGE;
		in.end.gup_result = INT64_MAX;
		diagnose(&in, &id, &d);
		assert_string_not_equal(verdict_cause(&d), ID);
		in.end.gup_result = 37;
		in.end.have &= ~WIRE_HAVE_VMAS;
		expect("unknown", CONFIDENCE_unknown);
		in.end.have |= WIRE_HAVE_VMAS;
		in.end.api = WIRE_API_REG_MR;
		diagnose(&in, &id, &d);
		assert_string_not_equal(verdict_cause(&d), ID);
	}
}

/* --- what the kernel's check stops at --------------------------------------------- */

#define WRITING 0x50001
#define READING 0x50000
#define FORCED 0x50011
#define IN_SIZE 256

/* A pin that failed at page 37 of a mapping, by what it is and how it was pinned. */
static const struct mapping {
	const char *name;
	uint32_t gup_flags;
	uint64_t flags, magic;
	const char *fs;
	uint64_t file_pages;
	uint32_t what, dev;
	const char *cause;
	enum confidence confidence;
	enum detail detail;
} mappings[] = {
	{ "plain memory", WRITING, 0x73, 0, "", 0, 0, 0, "unknown", CONFIDENCE_unknown, 0 },
	{ "a file that may be pinned", WRITING, 0xfb, 0xef53, "ext4", IN_SIZE, 0, 0, "unknown", CONFIDENCE_unknown, 0 },
	{ "page frames", WRITING, 0x44fb, 1, "devtmpfs", 0, WIRE_VMA_CHARDEV, 1 << 20 | 1, "vma_pfnmap_io", CONFIDENCE_proven, DETAIL_bare_page_frames },
	{ "I/O memory, reading", READING, 0x40fb, 1, "sysfs", 1, 0, 0, "vma_pfnmap_io", CONFIDENCE_proven, DETAIL_io_memory },
	{ "a device goes before all", WRITING, 0x44f1, 0x5345434d, "secretmem", 1, WIRE_VMA_DAX | WIRE_VMA_DIRTY_TRACKED, 0, "vma_pfnmap_io", CONFIDENCE_proven, DETAIL_bare_page_frames },
	{ "secret memory", WRITING, 0x20fb, 0x5345434d, "secretmem", IN_SIZE, 0, 0, "secretmem", CONFIDENCE_proven, DETAIL_secret_memory },
	{ "secret goes before file", WRITING, 0x20fb, 0x5345434d, "secretmem", IN_SIZE, WIRE_VMA_DIRTY_TRACKED, 0, "secretmem", CONFIDENCE_proven, DETAIL_secret_memory },
	{ "secret goes before size", WRITING, 0x20fb, 0x5345434d, "secretmem", 1, 0, 0, "secretmem", CONFIDENCE_proven, DETAIL_secret_memory },
	{ "a tracked file", WRITING, 0xfb, 0xef53, "ext4", IN_SIZE, WIRE_VMA_DIRTY_TRACKED, 0, "file_backed_writable_longterm", CONFIDENCE_proven, DETAIL_dirty_tracked_file },
	{ "a tracked file goes before its size", WRITING, 0xfb, 0xef53, "ext4", 1, WIRE_VMA_DIRTY_TRACKED, 0, "file_backed_writable_longterm", CONFIDENCE_proven, DETAIL_dirty_tracked_file },
	{ "a tracked file for reading", READING, 0xfb, 0xef53, "ext4", IN_SIZE, WIRE_VMA_DIRTY_TRACKED, 0, "unknown", CONFIDENCE_unknown, 0 },
	{ "a tracked file, not long-term", 0x40001, 0xfb, 0xef53, "ext4", IN_SIZE, WIRE_VMA_DIRTY_TRACKED, 0, "unknown", CONFIDENCE_unknown, 0 },
	{ "a tracked file, private", WRITING, 0x73, 0xef53, "ext4", IN_SIZE, WIRE_VMA_DIRTY_TRACKED, 0, "unknown", CONFIDENCE_unknown, 0 },
	{ "a tracked file, read-only", WRITING, 0xf9, 0xef53, "ext4", IN_SIZE, WIRE_VMA_DIRTY_TRACKED, 0, "vma_permission_mismatch", CONFIDENCE_proven, DETAIL_write_to_readonly },
	{ "writing to read-only", WRITING, 0x71, 0, "", 0, 0, 0, "vma_permission_mismatch", CONFIDENCE_proven, DETAIL_write_to_readonly },
	{ "forced, it gets a copy", FORCED, 0x71, 0, "", 0, 0, 0, "unknown", CONFIDENCE_unknown, 0 },
	{ "forced on shared", FORCED, 0xf9, 0xef53, "tmpfs", IN_SIZE, 0, 0, "vma_permission_mismatch", CONFIDENCE_proven, DETAIL_shared_readonly },
	{ "forced on a file opened for reading", FORCED, 0xd1, 0xef53, "tmpfs", IN_SIZE, 0, 0, "vma_permission_mismatch", CONFIDENCE_proven, DETAIL_shared_readonly },
	{ "forced on private huge pages", FORCED, 0x400071, 0x958458f6, "hugetlbfs", 512, 0, 0, "vma_permission_mismatch", CONFIDENCE_likely, DETAIL_shared_readonly },
	{ "reading what has no access", READING, 0x70, 0, "", 0, 0, 0, "vma_permission_mismatch", CONFIDENCE_proven, DETAIL_no_access },
	{ "forced reading of it", READING | 0x10, 0x70, 0, "", 0, 0, 0, "unknown", CONFIDENCE_unknown, 0 },
	{ "writing to what has no access", WRITING, 0x70, 0, "", 0, 0, 0, "vma_permission_mismatch", CONFIDENCE_proven, DETAIL_no_access },
	{ "permission goes before size", WRITING, 0xf9, 0xef53, "tmpfs", 1, 0, 0, "vma_permission_mismatch", CONFIDENCE_proven, DETAIL_write_to_readonly },
	{ "a protection key", WRITING, 0x500000073, 0, "", 0, 0, 0, "vma_permission_mismatch", CONFIDENCE_likely, DETAIL_protection_key },
	{ "beyond the end", WRITING, 0xfb, 0x1021994, "tmpfs", 37, 0, 0, "mapping_beyond_eof", CONFIDENCE_proven, DETAIL_beyond_end_of_file },
	{ "the last page", WRITING, 0xfb, 0x1021994, "tmpfs", 38, 0, 0, "unknown", CONFIDENCE_unknown, 0 },
	{ "an empty file", READING, 0xfb, 0x1021994, "tmpfs", 0, 0, 0, "mapping_beyond_eof", CONFIDENCE_proven, DETAIL_beyond_end_of_file },
	{ "beyond the end on the network", WRITING, 0xfb, 0x6969, "nfs4", 37, 0, 0, "mapping_beyond_eof", CONFIDENCE_likely, DETAIL_beyond_end_of_file },
	{ "no size at all", WRITING, 0xfb, 0x444d4142, "dmabuf", 0, 0, 0, "unknown", CONFIDENCE_unknown, 0 },
	{ "a character device has no size", WRITING, 0xfb, 1, "tmpfs", 0, WIRE_VMA_CHARDEV, 10 << 20, "unknown", CONFIDENCE_unknown, 0 },
	{ "an NVIDIA device", WRITING, 0xfb, 1, "devtmpfs", 0, WIRE_VMA_CHARDEV, 195 << 20, "cuda_vmm_or_gpu_memory_by_va", CONFIDENCE_likely, DETAIL_gpu_mapping },
	{ "fsdax gives another errno", WRITING, 0xfb, 0xef53, "ext4", IN_SIZE, WIRE_VMA_DAX, 0, "unknown", CONFIDENCE_unknown, 0 },
};

static void place(const struct mapping *m)
{
	struct wire_vma *v = fail_in_mapping(&in, EFAULT, m->flags);

	in.end.gup_flags = m->gup_flags;
	if (m->fs[0])
		map_file(v, m->fs, m->file_pages);
	v->fs_magic = m->magic;
	v->what = m->what;
	v->dev = m->dev;
}

static void the_first_check_decides(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(mappings) / sizeof(mappings[0]); i++) {
		const struct mapping *m = &mappings[i];

		place(m);
		diagnose(&in, &id, &d);
		if (strcmp(verdict_cause(&d), m->cause) != 0 || d.confidence != m->confidence || d.verdict.detail != m->detail)
			fail_msg("%s: %s, %s, detail %d", m->name, verdict_cause(&d), confidence_words[d.confidence].word, d.verdict.detail);
		if (d.confidence == CONFIDENCE_proven && d.nalso)
			fail_msg("%s: %s fits as well", m->name, d.also[0]->id);
		assert_false(d.conflict);
	}
}

/* Without the mapping, the pin's flags or their meaning, nothing is proven of any of them. */
static void what_was_not_read_proves_nothing(void **state)
{
	size_t i, k;

	(void)state;
	for (i = 0; i < sizeof(mappings) / sizeof(mappings[0]); i++)
		for (k = 0; k < 9; k++) {
			setup(state);
			place(&mappings[i]);
			switch (k) {
			case 0: in.end.have &= ~WIRE_HAVE_FAULT_VMA; break;
			case 1: in.end.have &= ~WIRE_HAVE_GUP; break;
			case 2: in.end.have &= ~WIRE_HAVE_GUP_RESULT; break;
			case 3: in.end.fault_vma_state = WIRE_FAULT_VMA_UNKNOWN; break;
			case 4: in.end.fault_vma.end = in.end.gup_start; break;
			case 5: id.foll_write = 0; break;
			case 6: in.end.chain[0].fn = WIRE_FN_UMEM; break;
			case 7: in.end.gup_result = 12; break;
			case 8: in.end.result = -EINVAL; break;
			}
			diagnose(&in, &id, &d);
			if (d.confidence == CONFIDENCE_proven)
				fail_msg("%s, change %zu: %s is proven", mappings[i].name, k, verdict_cause(&d));
		}
}

static void older_kernels_pin_files(void **state)
{
	(void)state;
	prove_file_backed_writable_longterm(&in);
	expect("file_backed_writable_longterm", CONFIDENCE_proven);
	id.file_pins_checked = false;
	expect("unknown", CONFIDENCE_unknown);
	assert_non_null(strstr(ruled_out(&d, "file_backed_writable_longterm"), "v6.5"));
}

static void devices_are_named(void **state)
{
	(void)state;
	prove_vma_pfnmap_io(&in);
	expect("vma_pfnmap_io", CONFIDENCE_proven);
	assert_non_null(strstr(d.verdict.summary, "character device 226:128, a DRM device"));
	in.end.fault_vma.dev = 195 << 20 | 3;
	expect("vma_pfnmap_io", CONFIDENCE_proven);
	assert_non_null(strstr(d.verdict.summary, "195:3, an NVIDIA GPU"));
	assert_int_equal(d.nalso, 1);
	assert_string_equal(d.also[0]->id, "cuda_vmm_or_gpu_memory_by_va");
}

static void a_reservation_of_cuda(void **state)
{
	(void)state;
	fail_in_mapping(&in, EFAULT, 0x70);
	in.end.gup_flags = FORCED;
	expect("unknown", CONFIDENCE_unknown);
	know_libraries(&in, "libcuda.so.1");
	expect("cuda_vmm_or_gpu_memory_by_va", CONFIDENCE_likely);
	assert_int_equal(d.verdict.detail, DETAIL_gpu_reservation);
	know_libraries(&in, "libcudart.so.12");
	expect("unknown", CONFIDENCE_unknown);
}

static void fsdax(void **state)
{
	(void)state;
	prove_fsdax_longterm(&in);
	expect("fsdax_longterm", CONFIDENCE_proven);
	/* v5.10 looks after the pin: the mapping may lie anywhere in the range. */
	in.end.fault_vma.what = 0;
	in.end.vmas[0].what = WIRE_VMA_DAX;
	expect("fsdax_longterm", CONFIDENCE_likely);
	assert_true(missing_says(&d.verdict, "the mapping at the failing address"));
	in.end.vmas[0].what = WIRE_VMA_DAX | WIRE_VMA_CHARDEV;
	expect("unknown", CONFIDENCE_unknown);
	assert_non_null(strstr(ruled_out(&d, "fsdax_longterm"), "the page fault behind it failed"));
	in.end.fault_vma.what = WIRE_VMA_DAX | WIRE_VMA_CHARDEV;
	expect("unknown", CONFIDENCE_unknown);
	in.end.fault_vma.what = WIRE_VMA_DAX;
	in.end.gup_flags &= ~id.foll_longterm;
	expect("unknown", CONFIDENCE_unknown);
}

static void io_uring_takes_no_files(void **state)
{
	struct wire_vma *v = &in.end.vmas[0];

	(void)state;
	prove_io_uring_file_backed(&in);
	expect("io_uring_file_backed", CONFIDENCE_proven);
	assert_non_null(strstr(d.verdict.summary, "buffer 0 of 4"));
	strcpy(v->fs, "tmpfs");
	expect("unknown", CONFIDENCE_unknown);
	assert_non_null(strstr(ruled_out(&d, "io_uring_file_backed"), "0 of the 1 mappings"));
	in.end.have &= ~WIRE_HAVE_VMAS_ALL;
	expect("unknown", CONFIDENCE_unknown);
	assert_null(ruled_out(&d, "io_uring_file_backed"));
	strcpy(v->fs, "hugetlbfs");
	v->flags |= 0x400000;
	expect("unknown", CONFIDENCE_unknown);
	prove_io_uring_file_backed(&in);
	id.fn_watched[WIRE_FN_GUP_LONGTERM] = false;
	expect("io_uring_file_backed", CONFIDENCE_likely);
	assert_true(missing_says(&d.verdict, "failure of the pin"));
	id.fn_watched[WIRE_FN_GUP_LONGTERM] = true;
	in.end.chain[0].result = in.end.chain[1].result = in.end.result = -EFAULT;
	expect("unknown", CONFIDENCE_unknown);
}

static void hostile_numbers(void **state)
{
	struct wire_vma *v = &in.end.fault_vma;

	(void)state;
	prove_mapping_beyond_eof(&in);
	v->pgoff = UINT64_MAX / PAGE;
	v->start = 0;
	expect("unknown", CONFIDENCE_unknown);
	v->pgoff = UINT64_MAX;
	expect("unknown", CONFIDENCE_unknown);
	v->pgoff = 0;
	v->start = RANGE;
	v->file_bytes = UINT64_MAX;
	expect("unknown", CONFIDENCE_unknown);
	v->file_bytes = 37 * PAGE + 1;
	expect("unknown", CONFIDENCE_unknown);
	v->file_bytes = 37 * PAGE;
	expect("mapping_beyond_eof", CONFIDENCE_proven);
	v->end = 0;
	expect("unknown", CONFIDENCE_unknown);
	memset(v->fs, 'x', sizeof(v->fs) - 1);
	v->flags = UINT64_MAX;
	v->end = UINT64_MAX;
	expect("vma_pfnmap_io", CONFIDENCE_proven);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_the_address), TEST(a_hole_seen_later_is_no_proof), TEST(neighbour_above), TEST(a_mapping_excludes_it),
		TEST(no_answer_is_no_hole), TEST(a_vma_of_the_range_contradicts), TEST(outside_of_the_range),
		TEST(errnos), TEST(pinned_in_the_end), TEST(efault_without_a_pin),
		TEST(a_fault_was_tried), TEST(an_errno_nobody_followed), TEST(decisive_errno),
		TEST(a_pin_that_stopped_early), TEST(the_first_check_decides), TEST(what_was_not_read_proves_nothing), TEST(older_kernels_pin_files),
		TEST(devices_are_named), TEST(a_reservation_of_cuda), TEST(fsdax), TEST(io_uring_takes_no_files),
		TEST(hostile_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
