// SPDX-License-Identifier: BSD-2-Clause
#include "support.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "text.h"

static void utf8(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} cases[] = {
		{ "a", 1 }, { "\xc3\xa4", 2 }, { "\xe2\x82\xac", 3 }, { "\xf0\x9f\x98\x80", 4 },
		{ "\x80", 0 }, { "\xc0\xaf", 0 }, { "\xc1\xbf", 0 }, { "\xe0\x80\xaf", 0 },
		{ "\xed\xa0\x80", 0 }, { "\xf0\x80\x80\xaf", 0 }, { "\xf4\x90\x80\x80", 0 },
		{ "\xf5\x80\x80\x80", 0 }, { "\xff", 0 }, { "\xe2\x82", 0 }, { "\xc3", 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(text_utf8(cases[i].bytes, strlen(cases[i].bytes)), cases[i].len);
	assert_int_equal(text_utf8("", 0), 0);
}

static void clean(void **state)
{
	char field[8] = { 'a', (char)0xff, 'b', 0, 'x', 'x', 'x', 'x' };
	char full[4] = { 'a', 'b', (char)0xc3, (char)0xa4 };
	char list[8] = { 'a', 0, (char)0xfe, 0, 'c', 'c', 'c', 'c' };

	(void)state;
	text_clean(field, sizeof(field));
	assert_memory_equal(field, "a?b\0\0\0\0\0", 8);
	/* The last byte goes to the NUL, and takes half a character with it. */
	text_clean(full, sizeof(full));
	assert_string_equal(full, "ab?");
	text_clean_list(list, sizeof(list));
	assert_memory_equal(list, "a\0?\0ccc\0", 8);
}

static void cut_at_characters(void **state)
{
	struct text t;
	char buf[6];

	(void)state;
	text_init(&t, buf, sizeof(buf));
	text_add(&t, "abcd\xc3\xa4");
	assert_true(t.cut);
	assert_string_equal(buf, "abcd");
	text_init(&t, buf, sizeof(buf));
	text_add(&t, "abc\xc3\xa4%s", "more");
	assert_string_equal(buf, "abc\xc3\xa4");
	text_init(&t, buf, sizeof(buf));
	text_add(&t, "%s", "abcde");
	assert_false(t.cut);
}

static void escape(void **state)
{
	char buf[128];
	struct text t;

	(void)state;
	text_init(&t, buf, sizeof(buf));
	text_escape(&t, "a\x1b[31m\n\xc2\x9b" "\xe2\x80\xae" "\xff\x7f\xc3\xa4");
	assert_string_equal(buf, "a\\x1b[31m\\x0a\\xc2\\x9b\\xe2\\x80\\xae\\xff\\x7f\xc3\xa4");
	/* U+061C, U+200B, U+2069, U+206F, U+180E, U+FEFF: neither marks nor what has no width. */
	text_init(&t, buf, sizeof(buf));
	text_escape(&t, "\xd8\x9c" "\xe2\x80\x8b" "\xe2\x81\xa9" "\xe2\x81\xaf" "\xe1\xa0\x8e" "\xef\xbb\xbf");
	assert_string_equal(buf, "\\xd8\\x9c\\xe2\\x80\\x8b\\xe2\\x81\\xa9\\xe2\\x81\\xaf\\xe1\\xa0\\x8e\\xef\\xbb\\xbf");
	/* Their neighbours are letters and signs like others. */
	text_init(&t, buf, sizeof(buf));
	text_escape(&t, "\xd8\x9b" "\xe2\x80\x90" "\xe2\x80\xa6" "\xef\xbb\xbe");
	assert_string_equal(buf, "\xd8\x9b" "\xe2\x80\x90" "\xe2\x80\xa6" "\xef\xbb\xbe");
}

static void sizes(void **state)
{
	char buf[TEXT_BYTES_LEN];

	(void)state;
	assert_string_equal(text_bytes(buf, 0), "0 bytes");
	assert_string_equal(text_bytes(buf, 1023), "1023 bytes");
	assert_string_equal(text_bytes(buf, 4 << 20), "4.0 MiB");
	assert_string_equal(text_bytes(buf, 311ULL << 30), "311 GiB");
	assert_string_equal(text_bytes(buf, UINT64_MAX), "unlimited");
	assert_string_equal(text_bytes(buf, UINT64_MAX - 1), "16.0 EiB");
}

static void times(void **state)
{
	char buf[TEXT_TIME_LEN];

	(void)state;
	assert_string_equal(text_time(buf, 0), "1970-01-01T00:00:00.000Z");
	assert_string_equal(text_time(buf, 1796000000123999999ULL), "2026-11-30T00:53:20.123Z");
	text_time(buf, UINT64_MAX);
}

static void hashes_differ(void **state)
{
	(void)state;
	assert_true(text_hash(1, "abc", 3) == text_hash(1, "abc", 3));
	assert_true(text_hash(1, "abc", 3) != text_hash(2, "abc", 3));
	assert_true(text_hash(1, "abc", 3) != text_hash(1, "abc\0", 4));
	assert_true(text_hash(1, "", 0) != text_hash(2, "", 0));
}

static void errno_names(void **state)
{
	(void)state;
	assert_string_equal(name_errno(ENOMEM), "ENOMEM");
	assert_string_equal(name_errno(4000), "errno");
	assert_string_equal(name_errno_words(ESRCH), "the process is gone");
	assert_int_equal(name_errno_number("EFAULT"), EFAULT);
	assert_int_equal(name_errno_number("nothing"), 0);
}

static void collect(void *ctx, const char *name)
{
	text_item(ctx, name);
}

static void flag_names(void **state)
{
	struct identity id = test_identity();
	char buf[128];
	struct text t;

	(void)state;
	text_init(&t, buf, sizeof(buf));
	name_access(1 | 4 | 1 << 25, collect, &t);
	assert_string_equal(buf, "LOCAL_WRITE, REMOTE_READ, 0x2000000");
	text_init(&t, buf, sizeof(buf));
	name_gup_flags(&id, 0x50021, collect, &t);
	assert_string_equal(buf, "FOLL_LONGTERM, FOLL_PIN, FOLL_WRITE, 0x20");
	/* A flag that this kernel did not name must not be given a name. */
	id.foll_longterm = 0;
	text_init(&t, buf, sizeof(buf));
	name_gup_flags(&id, 0x50001, collect, &t);
	assert_string_equal(buf, "FOLL_PIN, FOLL_WRITE, 0x10000");
}

static void out_of_range(void **state)
{
	struct identity id = test_identity();

	(void)state;
	assert_string_equal(name_fn(&id, 4000), "unknown function");
	assert_string_equal(name_fn_module(&id, 4000), "vmlinux");
	assert_string_equal(name_enum(&id.zones, 4000), "");
	assert_string_equal(name_api(4000), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(utf8), cmocka_unit_test(clean), cmocka_unit_test(cut_at_characters),
		cmocka_unit_test(escape), cmocka_unit_test(sizes), cmocka_unit_test(times),
		cmocka_unit_test(hashes_differ), cmocka_unit_test(errno_names), cmocka_unit_test(flag_names),
		cmocka_unit_test(out_of_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
