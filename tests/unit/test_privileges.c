// SPDX-License-Identifier: BSD-2-Clause
/* Capabilities: what is missing, what does as well, and what the packaged unit grants. */
#include "support.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "privileges.h"

#define ALL 0x1ffffffffffULL

static void levels(void **state)
{
	(void)state;
	assert_int_equal(lockdown_parse("[none] integrity confidentiality\n"), LOCKDOWN_NONE);
	assert_int_equal(lockdown_parse("none [integrity] confidentiality\n"), LOCKDOWN_INTEGRITY);
	assert_int_equal(lockdown_parse("none integrity [confidentiality]\n"), LOCKDOWN_CONFIDENTIALITY);
	assert_int_equal(lockdown_parse("none integrity confidentiality\n"), LOCKDOWN_UNKNOWN);
	assert_int_equal(lockdown_parse(""), LOCKDOWN_UNKNOWN);
}

static void missing(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < ncapabilities; i++) {
		const struct capability *c = &capabilities[i];

		assert_false(capability_missing(c, ALL));
		assert_true(capability_missing(c, 0));
		assert_false(capability_missing(c, 1ULL << c->number));
		assert_false(capability_missing(c, 1ULL << c->instead));
		assert_true(capability_missing(c, ALL & ~(1ULL << c->number | 1ULL << c->instead)));
		assert_true(strlen(c->lost) > 20);
	}
}

/* As CapabilityBoundingSet= has it: each of ours, and no other. */
static void packaged_unit(void **state)
{
	static const char key[] = "CapabilityBoundingSet=";
	char line[512], name[32];
	uint32_t found = 0, words = 0;
	FILE *f = fopen("packaging/pinwhy.service", "r");

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) && strncmp(line, key, strlen(key)))
		;
	fclose(f);
	for (char *word = strtok(line + strlen(key), " \n"); word; word = strtok(NULL, " \n")) {
		words++;
		for (uint32_t i = 0; i < ncapabilities; i++) {
			snprintf(name, sizeof(name), "cap_%s", capabilities[i].name);
			found += strcasecmp(word, name) == 0;
		}
	}
	assert_int_equal(words, ncapabilities);
	assert_int_equal(found, ncapabilities);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels),
		cmocka_unit_test(missing),
		cmocka_unit_test(packaged_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
