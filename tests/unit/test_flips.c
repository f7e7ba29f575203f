// SPDX-License-Identifier: BSD-2-Clause
/*
 * Real failures, recorded in the guests, with one number changed: the one that made the verdict, or that
 * excluded its neighbours. What was proven must not stay so.
 */
#include "capture.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAPTURE "tests/replay/captures/6.1-causes.capture"
#define MATRIX "tests/replay/captures/6.1-matrix.capture"
#define LINE_MAX_BYTES (1 << 16)

struct flip {
	const char *capture, *cause;
	void (*end)(struct wire_reg_end *e);
	void (*folio)(struct wire_folio *f);
};

static void no_limit(struct wire_reg_end *e) { e->memlock_soft_bytes = UINT64_MAX; }
static void some_limit(struct wire_reg_end *e) { e->memlock_soft_bytes = 4096; }
static void capability(struct wire_reg_end *e) { e->ipc_lock = 1; }
static void nothing_pinned(struct wire_reg_end *e) { e->pinned_before_pages = e->pinned_after_pages = 0; }
static void nothing_charged(struct wire_reg_end *e) { e->account.user_locked_pages = 0; }
static void not_looked_up(struct wire_reg_end *e) { e->have &= ~(uint32_t)WIRE_HAVE_FAULT_VMA; }
static void all_permitted(struct wire_reg_end *e) { e->fault_vma.flags |= 0x77; }
static void ordinary_memory(struct wire_reg_end *e) { e->fault_vma.flags &= ~0x4400ULL; }
static void ordinary_file(struct wire_reg_end *e) { e->fault_vma.fs_magic = 0; }
static void long_file(struct wire_reg_end *e) { e->fault_vma.file_bytes = 1ULL << 40; }
static void local_write(struct wire_reg_end *e) { e->access = 1; }
static void same_offset(struct wire_reg_end *e) { e->iova = e->address; }
static void one_page(struct wire_reg_end *e) { e->length = 4096; }
static void good_umem(struct wire_reg_end *e)
{
	e->args.chunk_bytes = 4096;
	e->args.headroom_bytes = 0;
	e->address &= ~4095ULL;
}
static void small_buffer(struct wire_reg_end *e) { e->length = 1 << 20; }
static void with_dmabuf(struct wire_reg_end *e) { e->caps.has_dmabuf = 1; }
static void unreferenced(struct wire_folio *f) { f->refcount = f->expected; }

static const struct flip flips[] = {
	{ CAPTURE, "rlimit_memlock_exceeded", no_limit, NULL },
	{ CAPTURE, "rlimit_memlock_zero_no_cap", some_limit, NULL },
	{ CAPTURE, "ipc_lock_cap_not_effective", capability, NULL },
	{ CAPTURE, "memlock_privileged_pins_counted", nothing_pinned, NULL },
	{ CAPTURE, "memlock_consumed_by_other_subsystem", nothing_pinned, NULL },
	{ CAPTURE, "locked_vm_per_user_shared", nothing_charged, NULL },
	{ CAPTURE, "address_not_mapped", not_looked_up, NULL },
	{ CAPTURE, "vma_permission_mismatch", all_permitted, NULL },
	{ CAPTURE, "vma_pfnmap_io", ordinary_memory, NULL },
	{ CAPTURE, "secretmem", ordinary_file, NULL },
	{ CAPTURE, "mapping_beyond_eof", long_file, NULL },
	{ CAPTURE, "access_flags_invalid", local_write, NULL },
	{ CAPTURE, "iova_offset_mismatch", same_offset, NULL },
	{ CAPTURE, "length_invalid", one_page, NULL },
	{ CAPTURE, "odp_unsupported", local_write, NULL },
	{ CAPTURE, "xdp_umem_invalid", good_umem, NULL },
	{ CAPTURE, "io_uring_over_1g", small_buffer, NULL },
	{ CAPTURE, "dmabuf_unsupported", with_dmabuf, NULL },
	{ MATRIX, "longterm_migrate_blocked_by_ref", NULL, unreferenced },
};

static const struct flip *flip;	/* NULL: as it was recorded */
static uint32_t proven;

/* The bytes of a record from its text; capture_write.c says how it is written. */
static size_t record_of(const char *text, unsigned char *ret)
{
	size_t n = 0;

	while (*text && *text != '"') {
		unsigned int byte;
		char *end;

		if (*text == '(') {
			n += strtoul(text + 1, &end, 10);
			text = end + 1;
			continue;
		}
		assert_int_equal(sscanf(text, "%2x", &byte), 1);
		ret[n++] = (unsigned char)byte;
		text += 2;
	}
	return n;
}

static void copy_line(FILE *out, const char *line)
{
	static const char key[] = "{\"event\":\"";
	union {
		struct wire_hdr hdr;
		struct wire_reg_end end;
		struct wire_folio folio;
		unsigned char bytes[8192];
	} r;
	size_t n;

	if (strncmp(line, key, strlen(key)) != 0) {
		fputs(line, out);
		return;
	}
	memset(&r, 0, sizeof(r));
	n = record_of(line + strlen(key), r.bytes);
	if (r.hdr.kind == WIRE_REG_END && flip->end)
		flip->end(&r.end);
	if (r.hdr.kind == WIRE_FOLIO && flip->folio)
		flip->folio(&r.folio);
	fputs(key, out);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%02x", r.bytes[i]);
	fputs(strchr(line + strlen(key), '"'), out);
}

static FILE *changed(const char *path)
{
	static char line[LINE_MAX_BYTES];
	FILE *in = fopen(path, "r"), *out = tmpfile();

	assert_non_null(in);
	assert_non_null(out);
	while (fgets(line, sizeof(line), in)) {
		if (flip)
			copy_line(out, line);
		else
			fputs(line, out);
	}
	fclose(in);
	rewind(out);
	return out;
}

static void count_proven(void *ctx, const struct report *report)
{
	const char *cause = ctx;

	proven += strcmp(report->cause, cause) == 0 && strcmp(report->confidence, "proven") == 0;
}

static uint32_t proven_of(const struct flip *with, const char *path, const char *cause)
{
	struct capture_error error;
	struct pipeline_stats stats;
	FILE *in;

	flip = with;
	proven = 0;
	in = changed(path);
	if (capture_replay(in, count_proven, (void *)cause, &stats, &error))
		fail_msg("%s: line %llu: %s", path, (unsigned long long)error.line, error.text);
	fclose(in);
	return proven;
}

static void a_number_less_makes_no_proof(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(flips) / sizeof(flips[0]); i++) {
		const struct flip *f = &flips[i];
		uint32_t before = proven_of(NULL, f->capture, f->cause), after = proven_of(f, f->capture, f->cause);

		if (!before)
			fail_msg("%s proves no %s", f->capture, f->cause);
		if (after)
			fail_msg("%zu: %s is proven %u times without the number that proved it", i, f->cause, after);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_less_makes_no_proof),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
