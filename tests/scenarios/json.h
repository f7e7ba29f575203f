/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One line of JSON, written piece by piece. Text given to it is the test programs' own and needs
 * no escaping; that keeps a library out of the guests.
 */
#ifndef SCENARIO_JSON_H
#define SCENARIO_JSON_H

#include <stdbool.h>
#include <stdint.h>

/* `key` is NULL inside an array. */
void json_open(const char *key, char bracket);
void json_close(char bracket);
void json_str(const char *key, const char *value);
void json_num(const char *key, int64_t value);
void json_unum(const char *key, uint64_t value);
void json_hex(const char *key, uint64_t value);	/* as reports write addresses and pfns */
void json_bool(const char *key, bool value);
void json_end_line(void);

#endif
