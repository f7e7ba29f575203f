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
	assert_string_equal(verdict_cause(&d), cause);
	assert_int_equal(d.confidence, confidence);
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

/* No verdict, and `cause` is out for a reason with these words; NULL: nothing is said of it. */
static inline void unknown(const char *cause, const char *because)
{
	expect("unknown", CONFIDENCE_unknown);
	if (!because)
		assert_null(ruled_out(&d, cause));
	else if (!ruled_out(&d, cause) || !strstr(ruled_out(&d, cause), because))
		fail_msg("no \"%s\" in \"%s\"", because, ruled_out(&d, cause) ? ruled_out(&d, cause) : "");
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

#endif
