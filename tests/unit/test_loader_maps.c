// SPDX-License-Identifier: BSD-2-Clause
/* What the kernel says of a map's memory. */
#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "loader_state.h"

static int told(const char *text, uint64_t *ret_bytes)
{
	FILE *f = fmemopen((void *)text, strlen(text), "r");
	int err;

	assert_non_null(f);
	err = map_bytes_told(f, ret_bytes);
	fclose(f);
	return err;
}

static void as_it_is_told(void **state)
{
	uint64_t bytes = 0;

	(void)state;
	assert_int_equal(told("pos:\t0\nflags:\t02\nmnt_id:\t15\nino:\t1057\nmap_type:\t9\nkey_size:\t8\nvalue_size:\t216\n"
			      "max_entries:\t1024\nmap_flags:\t0x0\nmap_extra:\t0x0\nmemlock:\t279424\nmap_id:\t15\nfrozen:\t0\n", &bytes), 0);
	assert_int_equal(bytes, 279424);
	/* A ring, of a kernel that counts its data and of one that does not. */
	assert_int_equal(told("map_type:\t27\nmax_entries:\t1048576\nmemlock:\t1065272\n", &bytes), 0);
	assert_int_equal(bytes, 1065272);
	assert_int_equal(told("map_type:\t27\nmax_entries:\t1048576\nmemlock:\t0\n", &bytes), 0);
	assert_int_equal(bytes, 1048576);
}

static void no_map(void **state)
{
	uint64_t bytes = 7;

	(void)state;
	assert_int_equal(told("pos:\t0\nflags:\t02\nmnt_id:\t15\nino:\t1057\n", &bytes), -ENODATA);
	assert_int_equal(bytes, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_it_is_told), cmocka_unit_test(no_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
