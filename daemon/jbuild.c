// SPDX-License-Identifier: BSD-2-Clause
#include "jbuild.h"

#include <inttypes.h>
#include <stdio.h>

struct json_object *jb_object(struct jbuild *b)
{
	struct json_object *o = json_object_new_object();

	b->failed |= !o;
	return o;
}

struct json_object *jb_array(struct jbuild *b)
{
	struct json_object *a = json_object_new_array();

	b->failed |= !a;
	return a;
}

void jb_put(struct jbuild *b, struct json_object *object, const char *key, struct json_object *value)
{
	if (object && value && json_object_object_add(object, key, value) == 0)
		return;
	b->failed = true;
	json_object_put(value);
}

void jb_append(struct jbuild *b, struct json_object *array, struct json_object *value)
{
	if (array && value && json_object_array_add(array, value) == 0)
		return;
	b->failed = true;
	json_object_put(value);
}

void jb_string(struct jbuild *b, struct json_object *object, const char *key, const char *value)
{
	jb_put(b, object, key, json_object_new_string(value));
}

void jb_int(struct jbuild *b, struct json_object *object, const char *key, int64_t value)
{
	jb_put(b, object, key, json_object_new_int64(value));
}

void jb_uint(struct jbuild *b, struct json_object *object, const char *key, uint64_t value)
{
	jb_put(b, object, key, json_object_new_uint64(value));
}

void jb_bool(struct jbuild *b, struct json_object *object, const char *key, bool value)
{
	jb_put(b, object, key, json_object_new_boolean(value));
}

void jb_hex(struct jbuild *b, struct json_object *object, const char *key, uint64_t value)
{
	char buf[24];

	snprintf(buf, sizeof(buf), "0x%" PRIx64, value);
	jb_string(b, object, key, buf);
}

void jb_limit(struct jbuild *b, struct json_object *object, const char *key, uint64_t value)
{
	if (value == UINT64_MAX)
		jb_string(b, object, key, "unlimited");
	else
		jb_uint(b, object, key, value);
}

void jb_append_string(struct jbuild *b, struct json_object *array, const char *value)
{
	jb_append(b, array, json_object_new_string(value));
}
