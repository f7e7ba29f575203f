// SPDX-License-Identifier: BSD-2-Clause
#include "support.h"

#include <string.h>

#include "pool.h"

#define CHAINS 3
#define SHARE 2
#define REST 4

static struct pool *pool;
static struct chain chains[CHAINS];

static int setup(void **state)
{
	(void)state;
	memset(chains, 0, sizeof(chains));
	return pool_new(&pool, sizeof(uint64_t), CHAINS, SHARE, REST);
}

static int teardown(void **state)
{
	(void)state;
	pool_free(pool);
	return 0;
}

/* As many as there is room for: which are numbered. */
static uint32_t fill(struct chain *c, uint64_t from)
{
	uint32_t n = 0;

	for (; pool_has_room(pool, c); n++) {
		uint64_t record = from + n;

		pool_add(pool, c, &record);
	}
	return n;
}

static void expect_records(const struct chain *c, uint64_t from, uint32_t n)
{
	uint64_t records[CHAINS * SHARE + REST];
	uint32_t i = 0, at;

	assert_int_equal(c->n, n);
	pool_copy(pool, c, records);
	for (at = c->first; at; at = pool_next(pool, at), i++) {
		assert_int_equal(records[i], from + i);
		assert_int_equal(*(const uint64_t *)pool_at(pool, at), from + i);
	}
	assert_int_equal(i, n);
}

static void who_comes_first_has_the_rest(void **state)
{
	(void)state;
	assert_int_equal(fill(&chains[0], 100), SHARE + REST);
	assert_int_equal(fill(&chains[1], 200), SHARE);
	assert_int_equal(fill(&chains[2], 300), SHARE);
	expect_records(&chains[0], 100, SHARE + REST);
	expect_records(&chains[1], 200, SHARE);
	expect_records(&chains[2], 300, SHARE);
}

static void what_is_cleared_is_there_again(void **state)
{
	(void)state;
	for (int round = 0; round < 3; round++) {
		assert_int_equal(fill(&chains[0], 100), SHARE + REST);
		assert_int_equal(fill(&chains[1], 200), SHARE);
		pool_clear(pool, &chains[0]);
		assert_int_equal(fill(&chains[1], 200 + SHARE), REST);
		expect_records(&chains[1], 200, SHARE + REST);
		assert_int_equal(fill(&chains[0], 100), SHARE);
		assert_int_equal(fill(&chains[2], 300), SHARE);
		expect_records(&chains[0], 100, SHARE);
		for (int i = 0; i < CHAINS; i++)
			pool_clear(pool, &chains[i]);
		pool_clear(pool, &chains[0]);	/* an empty one */
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_comes_first_has_the_rest), TEST(what_is_cleared_is_there_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
