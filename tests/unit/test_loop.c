// SPDX-License-Identifier: BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "loop.h"
#include "suggest.h"

#define NS_PER_MS 1000000ULL

static struct loop *loop;
static int first[2], second[2];
static unsigned int first_ran, second_ran, timer_ran;
static int timer_id;

static int setup(void **state)
{
	(void)state;
	first_ran = second_ran = timer_ran = 0;
	return loop_new(&loop) || pipe(first) || pipe(second);
}

static int teardown(void **state)
{
	(void)state;
	loop_free(loop);
	for (int i = 0; i < 2; i++) {
		close(first[i]);
		close(second[i]);
	}
	return 0;
}

static void on_first(void *ctx, uint32_t events, struct clock_pair now)
{
	(void)ctx;
	(void)events;
	assert_true(now.mono_ns > 0 && now.real_ns > 0);
	first_ran++;
	loop_del(loop, second[0]);
}

static void on_second(void *ctx, uint32_t events, struct clock_pair now)
{
	(void)ctx;
	(void)events;
	(void)now;
	second_ran++;
	loop_del(loop, first[0]);
}

/* Both are ready at once; the handler that runs first removes the other. */
static void removed_source_does_not_run_any_more(void **state)
{
	(void)state;
	assert_int_equal(loop_add(loop, first[0], EPOLLIN, on_first, NULL), 0);
	assert_int_equal(loop_add(loop, second[0], EPOLLIN, on_second, NULL), 0);
	assert_int_equal(write(first[1], "x", 1), 1);
	assert_int_equal(write(second[1], "x", 1), 1);
	assert_int_equal(loop_once(loop, NS_PER_MS), 0);
	assert_int_equal(first_ran + second_ran, 1);
	assert_int_equal(loop_once(loop, NS_PER_MS), 0);
	assert_int_equal(first_ran + second_ran, 2);
}

static void on_timer(void *ctx, struct clock_pair now)
{
	assert_true(now.mono_ns >= *(uint64_t *)ctx);
	timer_ran++;
}

static void timer_runs_once_and_not_early(void **state)
{
	uint64_t at = loop_clock().mono_ns + 20 * NS_PER_MS;

	(void)state;
	timer_id = loop_timer_new(loop, on_timer, &at);
	assert_true(timer_id >= 0);
	loop_timer_set(loop, timer_id, at);
	for (int i = 0; i < 1000 && !timer_ran; i++)
		loop_once(loop, 1000 * NS_PER_MS);
	assert_int_equal(timer_ran, 1);
	loop_once(loop, NS_PER_MS);
	assert_int_equal(timer_ran, 1);
	at = 1;
	loop_timer_set(loop, timer_id, 1);
	loop_timer_set(loop, timer_id, 0);
	loop_once(loop, NS_PER_MS);
	assert_int_equal(timer_ran, 1);
}

static void tables_are_bounded(void **state)
{
	int fds[LOOP_SOURCES_MAX + 1], n = 0, err = 0;

	(void)state;
	while (!err && n <= LOOP_SOURCES_MAX) {
		fds[n] = dup(first[0]);
		err = loop_add(loop, fds[n++], EPOLLIN, on_first, NULL);
	}
	assert_int_equal(err, -ENOSPC);
	assert_int_equal(n, LOOP_SOURCES_MAX + 1);
	while (n)
		close(fds[--n]);
	for (n = 0; n < LOOP_TIMERS_MAX; n++)
		assert_int_equal(loop_timer_new(loop, on_timer, NULL), n);
	assert_int_equal(loop_timer_new(loop, on_timer, NULL), -ENOSPC);
}

static void near_words_are_suggested(void **state)
{
	static const struct {
		const char *word, *best;
	} rows[] = {
		{ "explian", "explain" }, { "explain", "explain" }, { "rnu", "run" }, { "causs", "causes" },
		{ "zebra", NULL }, { "", NULL }, { "x", NULL },
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct suggest s;

		suggest_init(&s, rows[i].word);
		suggest_offer(&s, "explain");
		suggest_offer(&s, "run");
		suggest_offer(&s, "causes");
		if (rows[i].best)
			assert_string_equal(s.best, rows[i].best);
		else
			assert_null(s.best);
		assert_int_equal(!strlen(suggest_text(&s, text, sizeof(text))), !rows[i].best);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		TEST(removed_source_does_not_run_any_more),
		TEST(timer_runs_once_and_not_early),
		TEST(tables_are_bounded),
		cmocka_unit_test(near_words_are_suggested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
