// SPDX-License-Identifier: BSD-2-Clause
#include "json.h"

#include <inttypes.h>
#include <stdio.h>

static bool first = true;	/* the next value is the first of its object or array */

static void begin(const char *key)
{
	if (!first)
		putchar(',');
	first = false;
	if (key)
		printf("\"%s\":", key);
}

void json_open(const char *key, char bracket)
{
	begin(key);
	putchar(bracket);
	first = true;
}

void json_close(char bracket)
{
	putchar(bracket);
	first = false;
}

void json_str(const char *key, const char *value)
{
	begin(key);
	printf("\"%s\"", value);
}

void json_num(const char *key, int64_t value)
{
	begin(key);
	printf("%" PRId64, value);
}

void json_unum(const char *key, uint64_t value)
{
	begin(key);
	printf("%" PRIu64, value);
}

void json_hex(const char *key, uint64_t value)
{
	begin(key);
	printf("\"0x%" PRIx64 "\"", value);
}

void json_bool(const char *key, bool value)
{
	begin(key);
	fputs(value ? "true" : "false", stdout);
}

void json_end_line(void)
{
	putchar('\n');
	fflush(stdout);
	first = true;
}
