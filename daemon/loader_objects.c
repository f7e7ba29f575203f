// SPDX-License-Identifier: BSD-2-Clause
/* The BPF objects inside of the program: opened for libbpf, fitted to this kernel's types, and let go of. */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loader_state.h"
#include "log.h"
#include "privileges.h"

/* That form of it which is for this kernel; false: none is. */
static bool object_bytes(const struct loader *l, const struct object_row *row, const char **ret_bytes, const char **ret_end)
{
	bool loops = kfacts_loops(l->kf);

	*ret_bytes = loops ? row->bytes : row->basic;
	*ret_end = loops ? row->end : row->basic_end;
	return *ret_bytes;
}

static int open_for(const struct loader *l, const struct object_row *row, const char *types, struct bpf_object **ret_obj)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = row->name, .btf_custom_path = types);
	struct bpf_object *obj;
	const char *bytes, *end;
	int err;

	if (!object_bytes(l, row, &bytes, &end))
		return -EOPNOTSUPP;
	obj = bpf_object__open_mem(bytes, (size_t)(end - bytes), &opts);
	err = (int)libbpf_get_error(obj);
	if (!err)
		*ret_obj = obj;
	return err;
}

int loader_survey_object(struct loader *l, const struct object_row *row, struct bpf_object **ret_obj)
{
	struct bpf_object *obj;
	int err = open_for(l, row, NULL, &obj);

	if (err)
		return err;
	err = corebtf_ask(&l->asked, bpf_object__btf(obj));
	if (err)
		bpf_object__close(obj);
	else
		*ret_obj = obj;
	return err;
}

/* Modules' types the kernel tells only to CAP_SYS_ADMIN; the others do without. */
static int make_types(struct loader *l)
{
	struct btf *own = kfacts_btf(l->kf), *btf = own ? own : btf__load_vmlinux_btf();
	int err = (int)libbpf_get_error(btf);

	if (err)
		return err;
	err = corebtf_make(&l->asked, btf, privileges_module_btf(), &l->types.fd);
	if (!err)
		snprintf(l->types.path, sizeof(l->types.path), "/proc/self/fd/%d", l->types.fd);
	if (!own)
		btf__free(btf);
	return err;
}

/*
 * Whose BTF programs are fitted to. Libbpf asks for no types of modules where it is given a file; when it is not and may not ask,
 * it gives up.
 */
static const char *types_path(struct loader *l)
{
	const char *pack = kfacts_pack(l->kf);
	int err = pack || *l->types.path ? 0 : make_types(l);

	if (pack)
		return pack;
	if (!err)
		return l->types.path;
	log_debug("the kernel's types cannot be picked from its BTF (%s): all of it is used", strerror(-err));
	return privileges_module_btf() ? NULL : "/sys/kernel/btf/vmlinux";
}

int loader_open_object(struct loader *l, const struct object_row *row, struct bpf_object **ret_obj)
{
	return open_for(l, row, types_path(l), ret_obj);
}

void loader_drop_types(struct loader *l)
{
	if (*l->types.path)
		close(l->types.fd);
	l->types.path[0] = '\0';
}

/*
 * What libbpf keeps of an object (its bytes, instructions and types again) is several MiB in all, and the
 * bytes inside the program are read only when it is loaded again.
 */
void loader_shed_object(const struct loader *l, struct object *ob, const struct object_row *row)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start, end;
	const char *from, *to;

	bpf_object__close(ob->obj);
	ob->obj = NULL;
	if (!object_bytes(l, row, &from, &to))
		return;
	start = ((uintptr_t)from + page - 1) & ~(page - 1);
	end = (uintptr_t)to & ~(page - 1);
	if (end > start)
		madvise((void *)start, end - start, MADV_DONTNEED);
}
