/* SPDX-License-Identifier: BSD-2-Clause */
/* One incident under the hands of one test program, and what is said of it. */
#ifndef PINWHY_TEST_VERDICTS_H
#define PINWHY_TEST_VERDICTS_H

#include "support.h"

#include <errno.h>
#include <string.h>

static struct identity id;
static struct incident in;
static struct diagnosis d;

static int setup(void **state)
{
	(void)state;
	id = test_identity();
	return 0;
}

static inline void expect(const char *cause, enum confidence confidence)
{
	diagnose(&in, &id, &d);
	if (strcmp(verdict_cause(&d), cause) != 0 || d.confidence != confidence)
		fail_msg("%s, %s in place of %s, %s", verdict_cause(&d), confidence_words[d.confidence].word, cause,
			 confidence_words[confidence].word);
	assert_false(d.conflict);
}

static inline void proven(const char *cause, enum detail detail)
{
	expect(cause, CONFIDENCE_proven);
	assert_int_equal(d.verdict.detail, detail);
}

static inline void likely(const char *cause, enum detail detail)
{
	expect(cause, CONFIDENCE_likely);
	assert_int_equal(d.verdict.detail, detail);
}

static inline void expect_ruled_out(const char *cause, const char *words)
{
	const char *because = ruled_out(&d, cause);

	if (!because || !strstr(because, words))
		fail_msg("no \"%s\" in \"%s\"", words, because ? because : "(nothing)");
}

/* No verdict, and `cause` is out for a reason with these words; NULL: nothing is said of it. */
static inline void unknown(const char *cause, const char *because)
{
	expect("unknown", CONFIDENCE_unknown);
	if (because)
		expect_ruled_out(cause, because);
	else
		assert_null(ruled_out(&d, cause));
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

#endif
