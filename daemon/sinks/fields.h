/* SPDX-License-Identifier: BSD-2-Clause */
/* What log stores are told of a report beside the report itself. */
#ifndef PINWHY_SINKS_FIELDS_H
#define PINWHY_SINKS_FIELDS_H

#include <stddef.h>
#include <stdint.h>

struct json_object;

struct field {
	const char *journal, *attribute, *path;
};
extern const struct field fields[];
extern const size_t nfields;

/* The value at a path "a.b.c", a string or a number; NULL = there is none. */
struct json_object *field_value(struct json_object *report, const char *path);

#define HEADLINE_MAX 512
/* What happened, in one line that cannot steer a terminal: "reg_mr failed: ENOMEM - ... (regmr[667] on rxe0)". Returns buf. */
const char *fields_headline(struct json_object *report, char buf[HEADLINE_MAX]);

/* By syslog(3): 3 = a registration failed or is stuck, 4 = one will, 6 = one came back. */
int fields_priority(const char *kind);

#define MESSAGE_ID_LEN 33
/*
 * 32 hexadecimal digits for a cause, or for the kind of a report that has none: the same forever, made from the name
 * alone. Returns buf.
 */
const char *fields_message_id(const char *kind, const char *cause, char buf[MESSAGE_ID_LEN]);

#endif
