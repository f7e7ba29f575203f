// SPDX-License-Identifier: BSD-2-Clause
/* Whose BTF a pack is. */
#include "support.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "btfpack.h"

/* As /sys/kernel/notes begins: an owner, a kind, and what it says, each padded to four bytes. */
static const unsigned char notes[] = {
	6, 0, 0, 0, 1, 0, 0, 0, 0x01, 0x01, 0, 0, 'L', 'i', 'n', 'u', 'x', 0, 0, 0, 0, 0, 0, 0,
	4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0,
	0x4a, 0x5a, 0x9b, 0x0a, 0xff, 0xb6, 0x6c, 0x43, 0x7a, 0xbc, 0xd4, 0x55, 0xd2, 0x73, 0x8a, 0xf8, 0x79, 0x98, 0x5f, 0xa9,
};
#define ID "4a5a9b0affb66c437abcd455d2738af879985fa9"

static void id_in_notes(void **state)
{
	char id[BTFPACK_ID_MAX] = "";

	(void)state;
	assert_int_equal(notes_build_id(notes, sizeof(notes), id), 0);
	assert_string_equal(id, ID);
}

static void notes_cut_off(void **state)
{
	char id[BTFPACK_ID_MAX] = "untouched";
	unsigned char wild[sizeof(notes)];

	(void)state;
	for (size_t n = 0; n < sizeof(notes); n++)
		assert_int_equal(notes_build_id(notes, n, id), -ENODATA);
	memcpy(wild, notes, sizeof(wild));
	memset(wild + 24, 0xff, 8); /* sizes that wrap */
	assert_int_equal(notes_build_id(wild, sizeof(wild), id), -ENODATA);
	memcpy(wild, notes, sizeof(wild));
	wild[28] = 0;
	assert_int_equal(notes_build_id(wild, sizeof(wild), id), -ENODATA);
	assert_string_equal(id, "untouched");
}

static void stamps(void **state)
{
	struct btf *btf = btf__new_empty();
	const char *of = "";

	(void)state;
	assert_non_null(btf);
	assert_true(btf__add_int(btf, "int", 4, BTF_INT_SIGNED) > 0);
	assert_int_equal(btfpack_is_of(btf, ID, &of), -ENODATA);
	/* A struct of that name is no stamp. */
	assert_true(btf__add_struct(btf, BTFPACK_STAMP ID, 4) > 0);
	assert_int_equal(btfpack_is_of(btf, ID, &of), -ENODATA);
	assert_true(btf__add_fwd(btf, BTFPACK_STAMP ID, BTF_FWD_STRUCT) > 0);
	assert_int_equal(btfpack_is_of(btf, ID, &of), 0);
	assert_int_equal(btfpack_is_of(btf, "4a5a9b0affb66c437abcd455d2738af879985fa8", &of), -ESTALE);
	assert_string_equal(of, ID);
	assert_int_equal(btfpack_is_of(btf, "", &of), -ESTALE);
	btf__free(btf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(id_in_notes), cmocka_unit_test(notes_cut_off), cmocka_unit_test(stamps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
