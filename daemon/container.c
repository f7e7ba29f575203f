// SPDX-License-Identifier: BSD-2-Clause
#include <ctype.h>
#include <string.h>

#include "container.h"

#define CONTAINER_ID_LEN 64
#define POD_UID_LEN 36

void cgroup_path(const char *list, size_t size, struct text *ret_path)
{
	const char *names[WIRE_CGROUP_LEN];
	size_t n = 0, at = 0;
	bool root = false;

	while (at < size && n < WIRE_CGROUP_LEN && !root) {
		const char *name = list + at;

		root = name[0] == '\0';
		if (!root)
			names[n++] = name;
		at += strnlen(name, size - at) + 1;
	}
	if (!root)
		text_add(ret_path, "...");
	else if (n == 0)
		text_add(ret_path, "/");
	while (n > 0)
		text_add(ret_path, "/%s", names[--n]);
}

static size_t hex_run(const char *s)
{
	size_t n = 0;

	while (isxdigit((unsigned char)s[n]))
		n++;
	return n;
}

void cgroup_container(const char *path, char ret_id[65])
{
	size_t n;

	ret_id[0] = '\0';
	/* The innermost one is the last. */
	for (; *path; path += n ? n : 1) {
		n = hex_run(path);
		if (n != CONTAINER_ID_LEN)
			continue;
		memcpy(ret_id, path, n);
		ret_id[n] = '\0';
	}
}

/* 8-4-4-4-12 digits, joined by '-' or, in systemd's slice names, by '_'. */
static bool is_uid(const char *s)
{
	int i;

	for (i = 0; i < POD_UID_LEN; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? s[i] != '-' && s[i] != '_' : !isxdigit((unsigned char)s[i]))
			return false;
	}
	return !isxdigit((unsigned char)s[i]);
}

void cgroup_pod(const char *path, char ret_uid[40])
{
	const char *p = strstr(path, "kubepods");
	int i;

	ret_uid[0] = '\0';
	while (p && (p = strstr(p, "pod"))) {
		p += strlen("pod");
		if (!is_uid(p))
			continue;
		for (i = 0; i < POD_UID_LEN; i++)
			ret_uid[i] = p[i] == '_' ? '-' : p[i];
		ret_uid[i] = '\0';
		return;
	}
}
