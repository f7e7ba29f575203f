// SPDX-License-Identifier: BSD-2-Clause
#include "corebtf.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- names -------------------------------------------------------------------- */

/* Enums of 64 bits are enums to a relocation. 0 = none asks for such. */
static uint32_t root_kind(const struct btf_type *t)
{
	switch (btf_kind(t)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_ENUM:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_INT:
		return btf_kind(t);
	case BTF_KIND_ENUM64:
		return BTF_KIND_ENUM;
	default:
		return 0;
	}
}

/* FNV-1a of the kind and the name up to its flavour; 0: no relocation asks for it. */
static uint64_t hash_of(const struct btf *btf, const struct btf_type *t)
{
	const char *name = btf__name_by_offset(btf, t->name_off);
	uint64_t hash = (0xcbf29ce484222325ULL ^ root_kind(t)) * 0x100000001b3ULL;

	if (!root_kind(t) || !*name)
		return 0;
	for (const char *c = name; *c && (c == name || c[0] != '_' || c[1] != '_' || c[2] != '_'); c++)
		hash = (hash ^ (uint8_t)*c) * 0x100000001b3ULL;
	return hash ? hash : 1;
}

/* Where it is, or the free place where it belongs. */
static struct corebtf_name *place(const struct corebtf_names *names, uint64_t hash)
{
	uint32_t i = (uint32_t)(hash >> 32) & (names->size - 1);

	while (names->slots[i].hash && names->slots[i].hash != hash)
		i = (i + 1) & (names->size - 1);
	return &names->slots[i];
}

static struct corebtf_name *asked(const struct corebtf_names *names, const struct btf *btf, const struct btf_type *t)
{
	uint64_t hash = hash_of(btf, t);
	struct corebtf_name *name = hash && names->size ? place(names, hash) : NULL;

	return name && name->hash ? name : NULL;
}

/* Half of it stays free. */
static int grow(struct corebtf_names *names)
{
	struct corebtf_names more = { .n = names->n, .size = names->size ? 2 * names->size : 1024 };

	more.slots = calloc(more.size, sizeof(*more.slots));
	if (!more.slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < names->size; i++)
		if (names->slots[i].hash)
			*place(&more, names->slots[i].hash) = names->slots[i];
	free(names->slots);
	*names = more;
	return 0;
}

int corebtf_ask(struct corebtf_names *names, const struct btf *object)
{
	for (uint32_t id = 1; id < btf__type_cnt(object); id++) {
		uint64_t hash = hash_of(object, btf__type_by_id(object, id));
		struct corebtf_name *name;

		if (names->n >= names->size / 2 && grow(names))
			return -ENOMEM;
		name = hash ? place(names, hash) : NULL;
		if (!name || name->hash)
			continue;
		name->hash = hash;
		names->n++;
	}
	return 0;
}

void corebtf_forget(struct corebtf_names *names)
{
	free(names->slots);
	*names = (struct corebtf_names){};
}

/* --- types -------------------------------------------------------------------- */

/* Ids of types in the part, by those in the whole; 0 = not there yet. */
struct copies {
	struct btf *part;
	const struct btf *from;
	const struct corebtf_names *names;
	uint32_t *vmlinux, *module;
	uint32_t first;			/* id of a module's own types */
	int pointer;			/* every pointer */
	int err;			/* of the first failure; what was made is then of no use */
};

static uint32_t *copy_of(const struct copies *c, uint32_t id)
{
	return id < c->first ? &c->vmlinux[id] : &c->module[id - c->first];
}

static struct btf_type *made(const struct copies *c, int id)
{
	return (struct btf_type *)btf__type_by_id(c->part, (uint32_t)id);
}

static uint32_t copy(struct copies *c, uint32_t id);

/* What a type consists of. Pointers end it, so that it comes to an end. */
static void copy_inner(struct copies *c, const struct btf_type *t, int id)
{
	if (btf_is_composite(t)) {
		for (uint32_t i = 0; i < btf_vlen(t); i++) {
			uint32_t member = copy(c, btf_members(t)[i].type);

			/* Only now: types move when one is added. */
			btf_members(made(c, id))[i].type = member;
		}
	} else if (btf_is_array(t)) {
		uint32_t element = copy(c, btf_array(t)->type), index = copy(c, btf_array(t)->index_type);

		btf_array(made(c, id))->type = element;
		btf_array(made(c, id))->index_type = index;
	} else if (btf_is_typedef(t) || btf_is_mod(t)) {
		uint32_t of = copy(c, t->type);

		made(c, id)->type = of;
	}
}

/* Of two of one name libbpf would choose that of vmlinux; only what contains it needs the module's, and needs no name of it. */
static bool hidden(const struct copies *c, uint32_t id, const struct btf_type *t)
{
	const struct corebtf_name *name = id < c->first ? NULL : asked(c->names, c->from, t);

	return name && name->in_vmlinux;
}

/* Its id in the part. Of a pointer, that of any; of a function's type, which no field has but through one, void. */
static uint32_t copy(struct copies *c, uint32_t id)
{
	const struct btf_type *t = btf__type_by_id(c->from, id);
	int new;

	if (!id || btf_is_func_proto(t) || c->err)
		return 0;
	if (btf_is_ptr(t))
		return (uint32_t)c->pointer;
	if (*copy_of(c, id))
		return *copy_of(c, id);
	new = btf__add_type(c->part, c->from, t);
	if (new < 0) {
		c->err = new;
		return 0;
	}
	*copy_of(c, id) = (uint32_t)new;
	if (hidden(c, id, t))
		made(c, new)->name_off = 0;
	copy_inner(c, t, new);
	return (uint32_t)new;
}

static void copy_vmlinux(struct copies *c)
{
	for (uint32_t i = 0; i < c->names->size; i++)
		c->names->slots[i].in_vmlinux = false;
	for (uint32_t id = 1; id < c->first && !c->err; id++) {
		struct corebtf_name *name = asked(c->names, c->from, btf__type_by_id(c->from, id));

		if (!name)
			continue;
		name->in_vmlinux = true;
		copy(c, id);
	}
}

static int copy_module(struct copies *c, const char *module, struct btf *vmlinux)
{
	struct btf *btf = btf__load_module_btf(module, vmlinux);
	uint32_t types;

	/* It may have gone by now. */
	if (libbpf_get_error(btf))
		return libbpf_get_error(btf) == -ENOMEM ? -ENOMEM : 0;
	types = btf__type_cnt(btf);
	c->from = btf;
	c->module = calloc(types - c->first + 1, sizeof(*c->module));
	if (!c->module)
		c->err = -ENOMEM;
	for (uint32_t id = c->first; id < types && !c->err; id++) {
		const struct corebtf_name *name = asked(c->names, btf, btf__type_by_id(btf, id));

		if (name && !name->in_vmlinux)
			copy(c, id);
	}
	free(c->module);
	btf__free(btf);
	return c->err;
}

static int copy_modules(struct copies *c, struct btf *vmlinux)
{
	DIR *dir = opendir("/sys/kernel/btf");
	struct dirent *d;
	int err = 0;

	if (!dir)
		return -errno;
	while (!err && (d = readdir(dir)))
		if (d->d_name[0] != '.' && strcmp(d->d_name, "vmlinux") != 0)
			err = copy_module(c, d->d_name, vmlinux);
	closedir(dir);
	return err;
}

static int write_part(const struct btf *part, int *ret_fd)
{
	uint32_t size;
	const void *bytes = btf__raw_data(part, &size);
	int fd = bytes ? memfd_create("pinwhy-btf", MFD_CLOEXEC) : -1;
	ssize_t n = fd >= 0 ? write(fd, bytes, size) : -1;
	int err = n < 0 ? -errno : -ENOSPC;

	if (n == (ssize_t)size) {
		*ret_fd = fd;
		return 0;
	}
	if (fd >= 0)
		close(fd);
	return err;
}

int corebtf_make(struct corebtf_names *names, struct btf *vmlinux, bool modules, int *ret_fd)
{
	struct copies c = { .part = btf__new_empty(), .from = vmlinux, .names = names, .first = btf__type_cnt(vmlinux) };

	if (libbpf_get_error(c.part))
		return -ENOMEM;
	c.vmlinux = calloc(c.first, sizeof(*c.vmlinux));
	c.pointer = c.vmlinux ? btf__add_ptr(c.part, 0) : -ENOMEM;
	c.err = c.pointer < 0 ? c.pointer : 0;
	if (!c.err)
		copy_vmlinux(&c);
	if (!c.err && modules)
		c.err = copy_modules(&c, vmlinux);
	if (!c.err)
		c.err = write_part(c.part, ret_fd);
	free(c.vmlinux);
	btf__free(c.part);
	return c.err;
}
