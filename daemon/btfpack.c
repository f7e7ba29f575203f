// SPDX-License-Identifier: BSD-2-Clause
#include "btfpack.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NOTES "/sys/kernel/notes"
#define NT_BUILD_ID 3	/* NT_GNU_BUILD_ID */
#define MAKE_ONE "make one of this kernel's own vmlinux with packaging/btf-pack"

static size_t padded(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

int notes_build_id(const void *notes, size_t size, char ret_id[BTFPACK_ID_MAX])
{
	const uint8_t *p = notes;
	Elf64_Nhdr h;

	for (size_t at = 0; at + sizeof(h) <= size;) {
		size_t name = at + sizeof(h), desc;

		memcpy(&h, p + at, sizeof(h));
		desc = name + padded(h.n_namesz);
		if (desc < name || desc + h.n_descsz < desc || desc + h.n_descsz > size)
			return -ENODATA;
		if (h.n_type == NT_BUILD_ID && h.n_namesz == 4 && !memcmp(p + name, "GNU", 4) && h.n_descsz * 2 < BTFPACK_ID_MAX && h.n_descsz) {
			for (size_t i = 0; i < h.n_descsz; i++)
				snprintf(ret_id + 2 * i, 3, "%02x", p[desc + i]);
			return 0;
		}
		at = desc + padded(h.n_descsz);
	}
	return -ENODATA;
}

int btfpack_is_of(const struct btf *btf, const char *build_id, const char **ret_of)
{
	uint32_t types = btf__type_cnt(btf);

	for (uint32_t t = 1; t < types; t++) {
		const struct btf_type *type = btf__type_by_id(btf, t);
		const char *name = btf__name_by_offset(btf, type->name_off);

		if (!btf_is_fwd(type) || strncmp(name, BTFPACK_STAMP, strlen(BTFPACK_STAMP)))
			continue;
		*ret_of = name + strlen(BTFPACK_STAMP);
		return strcmp(*ret_of, build_id) ? -ESTALE : 0;
	}
	return -ENODATA;
}

static int wrong(char *error, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int wrong(char *error, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(error, BTFPACK_ERROR_MAX, fmt, args);
	va_end(args);
	return err;
}

static int running_build_id(char ret_id[BTFPACK_ID_MAX])
{
	uint8_t notes[4096];
	FILE *f = fopen(NOTES, "re");
	size_t n = f ? fread(notes, 1, sizeof(notes), f) : 0;

	if (!f)
		return -errno;
	fclose(f);
	return notes_build_id(notes, n, ret_id);
}

int btfpack_open(struct btf **ret_btf, const char *path, char *error)
{
	char id[BTFPACK_ID_MAX] = "";
	const char *of = "";
	struct btf *btf;
	int err = running_build_id(id);

	if (err)
		return wrong(error, err, "cannot tell which kernel this is (%s: %s), so that no BTF but its own can be used", NOTES, strerror(-err));
	btf = btf__parse(path, NULL);
	err = (int)libbpf_get_error(btf);
	if (err)
		return wrong(error, err, "cannot read the BTF in %s: %s; " MAKE_ONE, path, strerror(-err));
	err = btfpack_is_of(btf, id, &of);
	if (err == -ENODATA)
		wrong(error, err, "%s does not say which kernel it is of; " MAKE_ONE " (build id %s)", path, id);
	else if (err)
		wrong(error, err, "%s is of another kernel: its build id is %s, and this kernel's is %s; " MAKE_ONE, path, of, id);
	if (err)
		btf__free(btf);
	else
		*ret_btf = btf;
	return err;
}
