/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Building JSON without looking at every allocation: a failure is remembered in
 * the builder and looked at once, at the end. Every function takes what json-c
 * may have failed to make.
 */
#ifndef PINWHY_JBUILD_H
#define PINWHY_JBUILD_H

#include <json-c/json_object.h>
#include <stdbool.h>
#include <stdint.h>

struct jbuild {
	bool failed;	/* out of memory at some point: throw the result away */
};

struct json_object *jb_object(struct jbuild *b);
struct json_object *jb_array(struct jbuild *b);
/* Gives `value` to the object; `key` must outlive it. */
void jb_put(struct jbuild *b, struct json_object *object, const char *key, struct json_object *value);
void jb_append(struct jbuild *b, struct json_object *array, struct json_object *value);

void jb_string(struct jbuild *b, struct json_object *object, const char *key, const char *value);
void jb_int(struct jbuild *b, struct json_object *object, const char *key, int64_t value);
void jb_uint(struct jbuild *b, struct json_object *object, const char *key, uint64_t value);
void jb_bool(struct jbuild *b, struct json_object *object, const char *key, bool value);
/* As "0x...": 57-bit addresses do not survive as JavaScript numbers. */
void jb_hex(struct jbuild *b, struct json_object *object, const char *key, uint64_t value);
/* UINT64_MAX becomes "unlimited". */
void jb_limit(struct jbuild *b, struct json_object *object, const char *key, uint64_t value);
void jb_append_string(struct jbuild *b, struct json_object *array, const char *value);

#endif
