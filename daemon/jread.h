/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading JSON that may come from anywhere: what is not there, or is something else, reads as nothing. */
#ifndef PINWHY_JREAD_H
#define PINWHY_JREAD_H

#include <json-c/json_object.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Follows "a.b.c"; NULL when there is nothing of this type. */
struct json_object *jr_get(struct json_object *o, const char *path, enum json_type type);
/* "" when there is none. */
const char *jr_string(struct json_object *o, const char *path);
/* The same for what may need all 64 bits: lengths. */
bool jr_uint(struct json_object *o, const char *path, uint64_t *ret_value);
bool jr_int(struct json_object *o, const char *path, int64_t *ret_value);
/* Of an array, which may be NULL. */
size_t jr_length(struct json_object *array);
const char *jr_string_at(struct json_object *array, size_t i);

#endif
