// SPDX-License-Identifier: BSD-2-Clause
#include "rdma_layout.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_LEN 256
#define DEPTH_MAX 4	/* of anonymous members inside each other */

static const struct {
	enum layout_owner owner;
	const char *structure, *member;
	uint32_t bytes;
} fields[] = {
#define LAYOUT(id, owner, structure, member, bytes) { LAYOUT_##owner, #structure, #member, bytes },
#include "layout.def"
#undef LAYOUT
};
_Static_assert(sizeof(fields) / sizeof(fields[0]) <= sizeof(((struct wire_layout *)0)->at) / sizeof(uint32_t), "struct wire_layout is full");

const char *rdma_layout_word(enum layout_source source)
{
	static const char *const words[] = {
		[LAYOUT_NOT_READ] = "not read", [LAYOUT_NOT_LOADED] = "not loaded", [LAYOUT_OWN_BTF] = "its own BTF",
		[LAYOUT_KERNEL_BTF] = "the kernel's BTF",
	};

	return words[source];
}

/* --- one field ------------------------------------------------------------------ */

static const struct btf_type *type_of(const struct btf *btf, uint32_t id)
{
	int end = btf__resolve_type(btf, id);

	return end > 0 ? btf__type_by_id(btf, (uint32_t)end) : NULL;
}

/* The struct of that name: the module's, else the kernel's. NULL also when the module has two that differ in size. */
static const struct btf_type *struct_named(const struct btf *btf, uint32_t own, const char *name)
{
	const struct btf_type *found = NULL;
	int id;

	for (uint32_t i = own; i < btf__type_cnt(btf); i++) {
		const struct btf_type *t = btf__type_by_id(btf, i);

		if (!btf_is_struct(t) || strcmp(btf__name_by_offset(btf, t->name_off), name))
			continue;
		if (found && found->size != t->size)
			return NULL;
		found = t;
	}
	if (found)
		return found;
	id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);
	return id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
}

struct place {
	const struct btf_type *type;	/* of the member */
	uint32_t type_id, bits, bitfield;	/* bitfield: its width, 0 = it is none */
};

/* Anonymous structs and unions are looked through. */
static bool member_find(const struct btf *btf, const struct btf_type *t, const char *name, size_t len, int depth, struct place *ret)
{
	const struct btf_member *m = btf_members(t);

	for (uint32_t i = 0; i < btf_vlen(t); i++, m++) {
		const char *is = btf__name_by_offset(btf, m->name_off);
		const struct btf_type *inner = type_of(btf, m->type);
		uint32_t bits = btf_member_bit_offset(t, i);

		if (!*is && depth < DEPTH_MAX && inner && btf_is_composite(inner) && member_find(btf, inner, name, len, depth + 1, ret)) {
			ret->bits += bits;
			return true;
		}
		if (strlen(is) != len || memcmp(is, name, len) || !inner)
			continue;
		*ret = (struct place){ .type = inner, .type_id = m->type, .bits = bits, .bitfield = btf_member_bitfield_size(t, i) };
		return true;
	}
	return false;
}

static bool size_fits(const struct btf *btf, const struct place *p, uint32_t bytes)
{
	if (!bytes)
		return p->bitfield == 1;
	return !p->bitfield && p->bits % 8 == 0 && btf__resolve_size(btf, p->type_id) == bytes;
}

uint32_t rdma_layout_field(const struct btf *btf, uint32_t own, const char *structure, const char *member, uint32_t bytes)
{
	struct place p = { .type = struct_named(btf, own, structure) };
	uint32_t bits = 0;

	while (*member) {
		size_t len = strcspn(member, ".");

		if (!p.type || !btf_is_composite(p.type) || p.bitfield || !member_find(btf, p.type, member, len, 0, &p))
			return 0;
		bits += p.bits;
		member += len + (member[len] == '.');
	}
	p.bits = bits;
	return size_fits(btf, &p, bytes) ? bits + 1 : 0;
}

/* --- which BTF ------------------------------------------------------------------ */

static bool below(char path[PATH_LEN], const char *root, const char *format, const char *module)
{
	int n = snprintf(path, PATH_LEN, "%s", root);

	if (n < 0 || n >= PATH_LEN)
		return false;
	/* The two formats below are the only ones. */
	snprintf(path + n, (size_t)(PATH_LEN - n), "%s%s%s", format, module, strcmp(format, "/sys/module/") ? "" : "/taint");
	return true;
}

/* 'O' among the flags of /sys/module/NAME/taint: built out of the kernel's tree (kernel/module/main.c, module_flags_taint()). */
static bool is_foreign(const char *root, const char *module)
{
	char path[PATH_LEN], flags[32] = "";
	FILE *f = below(path, root, "/sys/module/", module) ? fopen(path, "re") : NULL;

	if (!f)
		return false;
	if (!fgets(flags, sizeof(flags), f))
		flags[0] = '\0';
	fclose(f);
	return strchr(flags, 'O') != NULL;
}

/* Does this kernel keep the BTF of modules? */
static bool modules_have_btf(const char *root)
{
	char path[PATH_LEN];
	struct dirent *d;
	bool any = false;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/sys/kernel/btf", root);
	dir = opendir(path);
	while (dir && (d = readdir(dir)))
		any |= d->d_name[0] != '.' && strcmp(d->d_name, "vmlinux") != 0;
	if (dir)
		closedir(dir);
	return any;
}

static bool is_there(const char *root, const char *format, const char *module)
{
	char path[PATH_LEN];

	if (!below(path, root, format, module))
		return false;
	return access(path, F_OK) == 0;
}

/* A directory with "taint" is that of a module; built into the kernel it has none, and then the kernel's BTF is its own. */
static void judge(struct layout_of *o, const char *root, bool others)
{
	bool module = is_there(root, "/sys/module/", o->module);

	o->foreign = is_foreign(root, o->module);
	o->source = LAYOUT_NOT_READ;
	if (is_there(root, "/sys/kernel/btf/", o->module)) {
		o->source = LAYOUT_OWN_BTF;
	} else if (module && o->foreign) {
		snprintf(o->why, sizeof(o->why), "%s was built out of the kernel's tree, without BTF", o->module);
	} else if (module && others) {
		snprintf(o->why, sizeof(o->why), "%s has no BTF, though other modules have", o->module);
	} else {
		o->source = module ? LAYOUT_KERNEL_BTF : LAYOUT_NOT_LOADED;
	}
}

static void read_fields(struct rdma_layout *r, enum layout_owner owner, const struct btf *btf, const struct btf *kernel)
{
	struct layout_of *o = &r->of[owner];
	uint32_t own = btf__type_cnt(kernel), at;

	for (uint32_t i = 0; i < WIRE_FIELD_MAX; i++) {
		if (fields[i].owner != owner)
			continue;
		r->wire.at[i] = rdma_layout_field(btf, own, fields[i].structure, fields[i].member, fields[i].bytes);
		at = rdma_layout_field(kernel, own, fields[i].structure, fields[i].member, fields[i].bytes);
		o->differ += at && at != r->wire.at[i];
	}
}

static void read_owner(struct rdma_layout *r, enum layout_owner owner, struct btf *kernel, const char *root)
{
	struct layout_of *o = &r->of[owner];
	char path[PATH_LEN];
	struct btf *btf;
	int err;

	if (o->source == LAYOUT_KERNEL_BTF)
		read_fields(r, owner, kernel, kernel);
	if (o->source != LAYOUT_OWN_BTF)
		return;
	below(path, root, "/sys/kernel/btf/", o->module);
	btf = btf__parse_split(path, kernel);
	err = (int)libbpf_get_error(btf);
	if (err) {
		o->source = LAYOUT_NOT_READ;
		snprintf(o->why, sizeof(o->why), "the BTF of %s cannot be read: %.60s", o->module, strerror(-err));
		return;
	}
	read_fields(r, owner, btf, kernel);
	btf__free(btf);
}

void rdma_layout_read(struct rdma_layout *ret, const char *root)
{
	bool others = modules_have_btf(root);
	char path[PATH_LEN];
	struct btf *kernel;

	*ret = (struct rdma_layout){ .of = { { .module = "ib_core" }, { .module = "ib_uverbs" } } };
	for (int i = 0; i < LAYOUT_OWNERS; i++)
		judge(&ret->of[i], root, others);
	snprintf(path, sizeof(path), "%s/sys/kernel/btf/vmlinux", root);
	kernel = btf__parse(path, NULL);
	for (int i = 0; i < LAYOUT_OWNERS; i++) {
		if (!libbpf_get_error(kernel)) {
			read_owner(ret, (enum layout_owner)i, kernel, root);
		} else if (ret->of[i].source != LAYOUT_NOT_LOADED) {
			ret->of[i].source = LAYOUT_NOT_READ;
			snprintf(ret->of[i].why, sizeof(ret->of[i].why), "the kernel's BTF cannot be read");
		}
	}
	if (!libbpf_get_error(kernel))
		btf__free(kernel);
}
