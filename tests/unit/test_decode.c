// SPDX-License-Identifier: BSD-2-Clause
#include "support.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decode.h"

static struct incident in;
static struct event ev;

static int setup(void **state)
{
	(void)state;
	prove_longterm_migrate_blocked_by_ref(&in);
	return 0;
}

static int decode_end(void)
{
	return decode_event(&in.end, sizeof(in.end), &ev);
}

static void good_records(void **state)
{
	(void)state;
	assert_int_equal(decode_end(), 0);
	assert_int_equal(ev.kind, WIRE_REG_END);
	assert_int_equal(ev.end.tgid, 4242);
	assert_int_equal(decode_event(&in.folios[0], sizeof(in.folios[0]), &ev), 0);
	assert_int_equal(ev.kind, WIRE_FOLIO);
	assert_int_equal(ev.folio.index_pages, 37);
}

/* The ring does not promise more than eight bytes of alignment; a capture not even that. */
static void unaligned(void **state)
{
	char *copy = malloc(sizeof(in.end) + 1);

	(void)state;
	assert_non_null(copy);
	memcpy(copy + 1, &in.end, sizeof(in.end));
	assert_int_equal(decode_event(copy + 1, sizeof(in.end), &ev), 0);
	free(copy);
}

static void every_other_size(void **state)
{
	char big[sizeof(in.end) + 64] = { 0 };
	size_t size;

	(void)state;
	memcpy(big, &in.end, sizeof(in.end));
	for (size = 0; size < sizeof(big); size++) {
		struct wire_hdr hdr = in.end.hdr;

		if (size == sizeof(in.end))
			continue;
		assert_true(decode_event(big, size, &ev) < 0);
		/* Even when the record agrees about its size. */
		hdr.size = (uint32_t)size;
		memcpy(big, &hdr, sizeof(hdr));
		assert_true(decode_event(big, size, &ev) < 0);
		memcpy(big, &in.end.hdr, sizeof(hdr));
	}
}

static void failure_leaves_the_result_alone(void **state)
{
	(void)state;
	memset(&ev, 0x5a, sizeof(ev));
	in.end.nchain = 99;
	assert_int_equal(decode_end(), -EBADMSG);
	assert_int_equal(((unsigned char *)&ev)[0], 0x5a);
	assert_int_equal(((unsigned char *)&ev)[sizeof(ev) - 1], 0x5a);
}

static void kinds_and_versions(void **state)
{
	uint32_t kind;

	(void)state;
	for (kind = 0; kind < 70000; kind++) {
		in.end.hdr.kind = (uint16_t)kind;
		if (in.end.hdr.kind != WIRE_REG_END)
			assert_true(decode_end() < 0);
	}
	in.end.hdr.kind = WIRE_REG_END;
	in.end.hdr.version = WIRE_VERSION + 1;
	assert_int_equal(decode_end(), -EPROTO);
	in.end.hdr.version = WIRE_VERSION;
	in.end.hdr.span_id = 0;
	assert_int_equal(decode_end(), -EBADMSG);
}

static void bounds(void **state)
{
	(void)state;
	in.end.nvmas = WIRE_VMAS_MAX + 1;
	assert_int_equal(decode_end(), -EBADMSG);
	in.end.nvmas = 1;
	in.end.stage = WIRE_STAGE_MAX;
	assert_int_equal(decode_end(), -EBADMSG);
	in.end.stage = 0;
	in.end.result = 1;
	assert_int_equal(decode_end(), -EBADMSG);
	in.end.result = -5000;
	assert_int_equal(decode_end(), -EBADMSG);
	in.end.result = -12;
	in.end.chain[0].result = INT64_MIN;
	assert_int_equal(decode_end(), -EBADMSG);
	in.end.chain[0].result = 1;
	in.end.fw.err = 1;
	assert_int_equal(decode_end(), -EBADMSG);
	in.end.fw.err = INT32_MIN;
	assert_int_equal(decode_end(), -EBADMSG);
	in.end.fw.err = -4095;
	assert_int_equal(decode_end(), 0);
	in.folios[0].mapcount = INT64_MAX;
	assert_int_equal(decode_event(&in.folios[0], sizeof(in.folios[0]), &ev), -EBADMSG);
	in.folios[0].mapcount = 0;
	in.folios[0].order = 64;
	assert_int_equal(decode_event(&in.folios[0], sizeof(in.folios[0]), &ev), -EBADMSG);
}

/* What was asked of the GPU driver: an errno is one, a word is a known one, a caller is no address. */
static void peers(void **state)
{
	struct wire_peer *p = &in.end.peer;

	(void)state;
	in.end.have |= WIRE_HAVE_PEER;
	p->err = 1;
	assert_int_equal(decode_end(), -EBADMSG);
	p->err = -5000;
	assert_int_equal(decode_end(), -EBADMSG);
	p->err = -ENOMEM;
	p->fn = WIRE_FN_MAX;
	p->answer = WIRE_PEER_ANSWER_MAX;
	memset(p->caller, 'x', sizeof(p->caller));
	assert_int_equal(decode_end(), 0);
	assert_int_equal(ev.end.peer.fn, WIRE_FN_NONE);
	assert_int_equal(ev.end.peer.answer, WIRE_PEER_ANSWER_UNSEEN);
	assert_int_equal(strlen(ev.end.peer.caller), WIRE_CALLER_LEN - 1);
	strcpy(p->caller, "0xffffffffc0401000");
	assert_int_equal(decode_end(), 0);
	assert_string_equal(ev.end.peer.caller, "?");
	in.end.have |= WIRE_HAVE_EXPORT;
	assert_int_equal(decode_end(), -EBADMSG);
	in.end.export = (struct wire_export){ .time_ns = in.end.hdr.time_ns, .status = 0x56, .failed = 1 };
	assert_int_equal(decode_end(), 0);
	in.end.export.time_ns++;
	assert_int_equal(decode_end(), -EBADMSG);
}

/* Of a stack: an address in a file, one in none, one below a mapping that was taken for it, the kernel's. */
static void frames(void **state)
{
	static const uint64_t offsets[] = { 0xfdd6b, 0xffffa9efa40ea000, 0x7f0000001000, UINT64_MAX, 1ULL << 56, 0 };
	size_t i;

	(void)state;
	in.end.nframes = sizeof(offsets) / sizeof(offsets[0]);
	for (i = 0; i < in.end.nframes; i++)
		in.end.frames[i] = (struct wire_frame){ .offset = offsets[i], .known = i < 2 };
	assert_int_equal(decode_end(), 0);
	assert_int_equal(ev.end.nframes, 3);
	assert_int_equal(ev.end.frames[0].offset, 0xfdd6b);
	assert_int_equal(ev.end.frames[1].offset, 0x7f0000001000);
	assert_int_equal(ev.end.frames[1].known, 0);
	assert_int_equal(ev.end.frames[2].offset, 0);
}

static void success_only_of_what_was_stuck(void **state)
{
	(void)state;
	in.end.result = 0;
	assert_int_equal(decode_end(), -EBADMSG);
	in.end.was_reported = 7;
	assert_int_equal(decode_end(), 0);
	assert_int_equal(ev.end.was_reported, 1);
}

static void unknown_words_become_unknown(void **state)
{
	(void)state;
	in.end.api = 900;
	in.end.chain[0].fn = 900;
	in.end.fault_vma_state = 900;
	assert_int_equal(decode_end(), 0);
	assert_int_equal(ev.end.api, WIRE_API_NONE);
	assert_int_equal(ev.end.chain[0].fn, WIRE_FN_NONE);
	assert_int_equal(ev.end.fault_vma_state, WIRE_FAULT_VMA_UNKNOWN);
}

static void strings(void **state)
{
	(void)state;
	memset(in.end.comm, 'x', sizeof(in.end.comm));
	memset(in.end.device, 0xff, sizeof(in.end.device));
	memset(in.end.cgroup, 'c', sizeof(in.end.cgroup));
	in.end.cgroup[3] = (char)0xc3;
	memset(in.folios[0].area, 0xe2, sizeof(in.folios[0].area));
	assert_int_equal(decode_end(), 0);
	assert_int_equal(strlen(ev.end.comm), sizeof(ev.end.comm) - 1);
	assert_int_equal(ev.end.device[0], '?');
	assert_int_equal(strlen(ev.end.device), sizeof(ev.end.device) - 1);
	assert_int_equal(ev.end.cgroup[3], '?');
	assert_int_equal(ev.end.cgroup[sizeof(ev.end.cgroup) - 1], 0);
	assert_int_equal(decode_event(&in.folios[0], sizeof(in.folios[0]), &ev), 0);
	assert_int_equal(ev.folio.area[0], '?');
}

static void spans(void **state)
{
	struct wire_span span = build_span(5);
	struct wire_reg_end end;

	(void)state;
	assert_int_equal(decode_span(&span, 90 * NS_PER_S, &end), 0);
	assert_int_equal(end.hdr.span_id, 5);
	assert_int_equal(end.hdr.time_ns, 90 * NS_PER_S);
	assert_int_equal(end.stage, WIRE_STAGE_PIN);
	assert_int_equal(end.result, 0);
	/* It is shared memory: whatever it holds must not lead out of an array. */
	span.nchain = 1000;
	assert_int_equal(decode_span(&span, 0, &end), -EBADMSG);
	span.nchain = 0;
	span.id = 0;
	assert_int_equal(decode_span(&span, 0, &end), -EBADMSG);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(good_records), TEST(unaligned), TEST(every_other_size), TEST(failure_leaves_the_result_alone),
		TEST(kinds_and_versions), TEST(bounds), TEST(peers), TEST(frames), TEST(success_only_of_what_was_stuck),
		TEST(unknown_words_become_unknown), TEST(strings), TEST(spans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
