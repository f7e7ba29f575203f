// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writes tests/replay/captures/synthetic.capture: made up, not recorded on a kernel. It
 * tests the runner, and holds one incident for each cause and each kind of report.
 */
#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "capture.h"

static struct capture *capture;
static uint64_t mono_ns = 100 * NS_PER_S + 1000;
static uint64_t asked;

static void keep_record(void *ctx, const void *record, size_t size)
{
	(void)ctx;
	capture_event(capture, record, size, test_clock(mono_ns));
}

static void put(const struct incident *in, bool with_facts)
{
	struct facts facts = test_facts();
	struct clock_pair now = test_clock(mono_ns);

	/* It has sent no record yet: see below. */
	if (in->stuck)
		return;
	each_record(in, keep_record, NULL);
	if (with_facts)
		capture_facts(capture, ++asked, &facts, now);
}

static void put_causes(void)
{
	struct incident in;

#define DOC(...)
#define CAUSE(name, ...) prove_##name(&in); put(&in, true);
#include "causes.def"
#undef CAUSE
#undef DOC
	build_failure(&in, EIO);
	add_chain(&in, WIRE_FN_DRIVER_RXE, -EIO);
	add_chain(&in, WIRE_FN_UVERBS, -EIO);
	put(&in, true);
}

static void put_asked(const struct incident *in, const struct facts *facts)
{
	put(in, false);
	capture_facts(capture, ++asked, facts, test_clock(mono_ns));
}

/* What open files say, beside each grade that they have something to say to. */
static void put_holders(void)
{
	struct facts facts = test_facts();
	struct incident in;

	facts.err[FACT_holder_buffers] = facts.err[FACT_holder_files] = facts.err[FACT_holder_pipes] = 0;
	strcpy(facts.holder_files, "2 /dev/nvidia0\n1 /dev/vfio/vfio\n");
	strcpy(facts.holder_buffers, "5 0x7f0000026000 4096\n");
	facts.holder_pipes = 2;
	prove_longterm_migrate_blocked_by_ref(&in);
	in.end.tgid = 601;
	put_asked(&in, &facts);
	in.folios[0].refcount = in.folios[0].expected + 1024;
	in.end.tgid = 602;
	put_asked(&in, &facts);
	add_rival(&in, &in.folios[0], 9001);
	in.end.tgid = 603;
	put_asked(&in, &facts);
	in.holders.npins = in.holders.nholdings = 0;
	in.folios[0].flags = WIRE_FOLIO_SHMEM | WIRE_FOLIO_ISOLATE;
	in.end.tgid = 604;
	facts.err[FACT_holder_others] = 0;
	strcpy(facts.holder_others, "200 trainer /dev/nvidia0\n+ processes\n");
	put_asked(&in, &facts);
}

/* A registration that hangs, is reported as stuck, and ends well. */
static void put_stuck(void)
{
	struct wire_span span = build_span(70);
	struct facts facts = test_facts();
	struct incident in;

	capture_stuck(capture, &span, &(struct sighting){ SIGHTING_WAITS, "handle_userfault" }, test_clock(mono_ns));
	capture_facts(capture, ++asked, &facts, test_clock(mono_ns));
	build_failure(&in, 0);
	in.end.hdr.span_id = 70;
	in.end.was_reported = 1;
	in.end.stage = WIRE_STAGE_PINNED;
	put(&in, false);
}

static void put_storm(void)
{
	struct incident in;
	int i;

	prove_rlimit_memlock_exceeded(&in);
	in.end.tgid = 500;
	for (i = 0; i < 20; i++) {
		in.end.hdr.span_id++;
		in.end.hdr.time_ns = mono_ns;
		put(&in, i < 3);
		mono_ns += NS_PER_S / 10;
	}
}

int main(int argc, char **argv)
{
	struct pipeline_settings settings = test_settings();
	struct identity id = test_identity();
	struct loss loss = { .reg_ok = 1000, .reg_failed = 25 };
	int r;

	if (argc != 2)
		return 2;
	r = capture_create(&capture, argv[1], &id, &settings);
	if (r == 0) {
		capture_loss(capture, &loss, test_clock(mono_ns));
		put_causes();
		put_holders();
		put_stuck();
		put_storm();
		capture_finish(capture, test_clock(mono_ns));
		r = capture_close(capture);
	}
	if (r)
		fprintf(stderr, "synthetic: %s: %s\n", argv[1], strerror(-r));
	return r != 0;
}
