// SPDX-License-Identifier: BSD-2-Clause
#include "jread.h"

#include <string.h>

struct json_object *jr_get(struct json_object *o, const char *path, enum json_type type)
{
	char key[64];
	size_t n;

	while (*path) {
		n = strcspn(path, ".");
		if (n >= sizeof(key) || !json_object_is_type(o, json_type_object))
			return NULL;
		memcpy(key, path, n);
		key[n] = '\0';
		if (!json_object_object_get_ex(o, key, &o))
			return NULL;
		path += n + (path[n] == '.');
	}
	return json_object_is_type(o, type) ? o : NULL;
}

const char *jr_string(struct json_object *o, const char *path)
{
	struct json_object *v = jr_get(o, path, json_type_string);

	return v ? json_object_get_string(v) : "";
}

bool jr_int(struct json_object *o, const char *path, int64_t *ret_value)
{
	struct json_object *v = jr_get(o, path, json_type_int);

	if (!v)
		return false;
	*ret_value = json_object_get_int64(v);
	return true;
}

bool jr_uint(struct json_object *o, const char *path, uint64_t *ret_value)
{
	struct json_object *v = jr_get(o, path, json_type_int);

	if (!v)
		return false;
	*ret_value = json_object_get_uint64(v);
	return true;
}

size_t jr_length(struct json_object *array)
{
	return array ? json_object_array_length(array) : 0;
}

const char *jr_string_at(struct json_object *array, size_t i)
{
	struct json_object *v = json_object_array_get_idx(array, i);

	return json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";
}
