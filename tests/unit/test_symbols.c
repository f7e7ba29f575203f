// SPDX-License-Identifier: BSD-2-Clause
/* Functions as compilers leave them in a list of symbols. */
#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kfacts_symbols.h"

static struct symbols table;
static struct symbol *asked;

static void read_text(const char *text)
{
	FILE *f = fmemopen((void *)text, strlen(text), "r");

	assert_non_null(f);
	assert_int_equal(symbols_read(&table, f), 0);
	fclose(f);
}

static int setup(void **state)
{
	(void)state;
	memset(&table, 0, sizeof(table));
	return symbols_add(&table, "do_thing", &asked);
}

static void suffixes(void **state)
{
	static const struct {
		const char *full;
		enum made made;
	} rows[] = {
		{ "do_thing", MADE_SAME },		  { "do_thing.llvm.11532698217351", MADE_SAME },
		{ "do_thing.lto_priv.0", MADE_SAME },	  { "do_thing.__uniq.77.llvm.5", MADE_SAME },
		{ "do_thing.part.0", MADE_SPLIT },	  { "do_thing.part.0.isra.0", MADE_SPLIT },
		{ "do_thing.isra.0.part.0", MADE_SPLIT }, { "do_thing.isra.0", MADE_CHANGED },
		{ "do_thing.constprop.0", MADE_CHANGED }, { "do_thing.constprop.0.isra.0", MADE_CHANGED },
		{ "do_thing.isra.0.llvm.5", MADE_CHANGED }, { "do_thing.cold", MADE_NONE },
		{ "do_thing.part.0.cold", MADE_NONE },	  { "do_thing.isra.0.cold", MADE_NONE },
		{ "do_thing.resolver", MADE_CHANGED },	  { "do_thing.partly.0", MADE_CHANGED },
	};
	size_t base;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		base = 0;
		if (symbols_made(rows[i].full, &base) != rows[i].made)
			fail_msg("%s is %d", rows[i].full, symbols_made(rows[i].full, &base));
		assert_int_equal(base, strlen("do_thing"));
	}
}

static void other_ends_of_lines(void **state)
{
	(void)state;
	read_text("ffffffffc0000000 t do_thing\t[late]\r\n");
	assert_true(asked->found);
	assert_string_equal(asked->module, "late");
	read_text("ffffffff81000000 T do_thing\r\n");
	assert_true(asked->found);
	assert_string_equal(asked->module, "");
}

static void by_its_own_name(void **state)
{
	(void)state;
	read_text("ffffffff81000010 t do_things\nffffffff81000000 T do_thing\nffffffffc0000000 t do_thing\t[late]\n");
	assert_true(asked->found);
	assert_int_equal(asked->address, 0xffffffff81000000);
	assert_string_equal(asked->module, "");
	assert_int_equal(asked->times, 2);
	for (int i = 0; i < MADE_KINDS; i++)
		assert_string_equal(asked->made[i], "");
	assert_false(table.hidden);
}

static void copies_beside_it(void **state)
{
	(void)state;
	/* A copy that comes first does not take its place. */
	read_text("1000 t do_thing.constprop.0\n2000 t do_thing.part.0\n3000 T do_thing\t[mod]\n4000 t do_thing.isra.0\n");
	assert_true(asked->found);
	assert_string_equal(asked->module, "mod");
	assert_int_equal(asked->times, 1);
	assert_string_equal(asked->made[MADE_SPLIT], "do_thing.part.0");
	assert_string_equal(asked->made[MADE_CHANGED], "do_thing.constprop.0");
	assert_string_equal(asked->made[MADE_SAME], "");
}

static void copies_alone(void **state)
{
	(void)state;
	read_text("1000 t do_thing.llvm.99\t[mod]\n1200 t do_thing.cold\n");
	assert_false(asked->found);
	assert_string_equal(asked->made[MADE_SAME], "do_thing.llvm.99");
	assert_string_equal(asked->module, "mod");
	assert_int_equal(asked->times, 0);
	/* What was known of an earlier list is forgotten. */
	read_text("1000 t do_thing.cold\n");
	assert_string_equal(asked->made[MADE_SAME], "");
	assert_string_equal(asked->module, "");
}

/* Data of a name is no copy of a function. */
static void data_is_no_code(void **state)
{
	(void)state;
	read_text("1000 d do_thing.part.0\n1100 r do_thing.isra.0\n");
	assert_string_equal(asked->made[MADE_SPLIT], "");
	assert_string_equal(asked->made[MADE_CHANGED], "");
}

static void hidden_addresses(void **state)
{
	(void)state;
	read_text("0000000000000000 T do_thing\n");
	assert_true(asked->found);
	assert_true(table.hidden);
}

/* Pins that are given back in a way nobody knows: told by its name, whatever is appended that changes nothing. */
static void unknown_releases(void **state)
{
	struct symbol *known;

	(void)state;
	assert_int_equal(symbols_add(&table, "unpin_user_page", &known), 0);
	read_text("1000 T unpin_user_page\n1100 t unpin_user_page.part.0\n1200 t unpin_user_odd\t[mod]\n");
	assert_string_equal(table.release_unknown, "");
	read_text("1000 T unpin_user_odd\n");
	assert_string_equal(table.release_unknown, "unpin_user_odd");
	read_text("1000 T unpin_folio_odd.llvm.3\n");
	assert_string_equal(table.release_unknown, "unpin_folio_odd");
}

static void too_many(void **state)
{
	struct symbol *s;
	char name[16];

	(void)state;
	for (int i = 1; i < SYMBOLS_MAX; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		assert_int_equal(symbols_add(&table, name, &s), 0);
	}
	assert_int_equal(symbols_add(&table, "f1", &s), 0);
	assert_int_equal(symbols_add(&table, "one_more", &s), -ENOSPC);
	memset(&table, 0, sizeof(table));
	assert_int_equal(symbols_add(&table, "a_name_that_is_longer_than_any_function_that_pinwhy_will_ever_ask_for", &s), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(suffixes), cmocka_unit_test_setup(by_its_own_name, setup),
		cmocka_unit_test_setup(other_ends_of_lines, setup), cmocka_unit_test_setup(copies_beside_it, setup),
		cmocka_unit_test_setup(copies_alone, setup),
		cmocka_unit_test_setup(data_is_no_code, setup), cmocka_unit_test_setup(hidden_addresses, setup),
		cmocka_unit_test_setup(unknown_releases, setup), cmocka_unit_test_setup(too_many, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
