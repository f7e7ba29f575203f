// SPDX-License-Identifier: BSD-2-Clause
/*
 * reduce BTF KALLSYMS OUT_BTF OUT_KALLSYMS: what of a kernel's BTF and list of symbols the choice of hooks may depend on, now or
 * after a change of slots: the functions that slots name and those around them, with the number of their arguments, and the
 * enums and structs that kfacts reads, their members being longs. Nothing is renamed and nothing is made up.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kfacts_symbols.h"
#include "loader_plan.h"

/* Of vmlinux and of the modules that are hooked. */
static const char around[] =
	"^(ib_umem|__ib_umem|ib_uverbs_(handler_.*(MR|DM)|.*reg_mr)|.*_(re)?reg_.*mr|pin_user|unpin_(user|folio)|get_user_pages|__get_user_pages|"
	"__gup|gup_|.*longterm|.*migrate_pages|migrate_folio|putback_movable|alloc_migration|alloc_huge|isolate_|cma_|__cma|rdmacg_|"
	"dma_buf_|dma_map_|io_sqe_|.*io_account|io_buffer|xdp_umem|vfio_(iommu_type1|pin)|do_madvise|do_mmap|do_v?m.*_munmap|"
	"handle_userfault|oom_kill|wake_up_new|__traceiter_(mm_migrate|cma|sched_process|module)|(un)?register_(kprobe|kretprobe|ftrace_direct)|"
	".*trace_kprobe|bpf_(loop|trampoline|get_current_task)|save_args|calc_arg_aux|os_(un)?lock|nvidia_p2p|nv_|mlx[45]_core_.*mkey|cmd_status|"
	"folio_migrate|mem_section|__highest_present|hugetlb_basepage|iov_iter_extract|vma_needs_dirty|_stext|_etext|btf_modules)";

static const char *const enums[] = {
	"zone_type", "migratetype", "migrate_reason", "migrate_mode", "ib_uverbs_access_flags", "pageblock_bits", "bpf_func_id",
	"bpf_map_type", "bpf_prog_type", "bpf_attach_type",
};
static const char *const structs[] = { "pt_regs", "zone", "zonelist", "mem_section", "mem_section_usage", "page", "folio" };

static regex_t wanted_names;
static struct kfacts *kfacts;
static struct btf *from, *to;
static int long_id, proto_of[64], array_index_id;

static void die(const char *what)
{
	fprintf(stderr, "reduce: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int must(int r, const char *what)
{
	if (r < 0) {
		errno = -r;
		die(what);
	}
	return r;
}

/* By the name without what a compiler adds to it. */
static bool wanted(const char *full)
{
	char name[256];
	size_t base;

	symbols_made(full, &base);
	snprintf(name, sizeof(name), "%.*s", (int)base, full);
	for (uint32_t i = 0; kfacts_watched(kfacts, i); i++)
		if (!strcmp(name, kfacts_watched(kfacts, i)))
			return true;
	return !regexec(&wanted_names, name, 0, NULL, 0);
}

static bool listed(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, list[i]))
			return true;
	return false;
}

/* --- kallsyms ----------------------------------------------------------------- */

/* Of every module one symbol stays, so that it is known to be there. */
static bool new_module(const char *module)
{
	static char seen[512][64];
	static int n;

	for (int i = 0; i < n; i++)
		if (!strcmp(seen[i], module))
			return false;
	if (n < 512)
		snprintf(seen[n++], sizeof(seen[0]), "%s", module);
	return true;
}

static void reduce_list(const char *path, const char *out)
{
	FILE *in = fopen(path, "r"), *f = fopen(out, "w");
	char line[512], type, name[256], module[64];
	int n;

	if (!in || !f)
		die(in ? out : path);
	while (fgets(line, sizeof(line), in)) {
		n = sscanf(line, "%*s %c %255s [%63[^]]]", &type, name, module);
		if (n >= 2 && (wanted(name) || (n == 3 && strncmp(module, "__builtin", 9) && strchr("tT", type) && new_module(module))))
			fputs(line, f);
	}
	fclose(in);
	if (fclose(f))
		die(out);
}

/* --- BTF ---------------------------------------------------------------------- */

/* One prototype for each number of arguments, all of them longs. */
static int proto_with(int n)
{
	char name[16];

	if (n >= 64)
		n = 63;
	if (proto_of[n])
		return proto_of[n];
	proto_of[n] = must(btf__add_func_proto(to, long_id), "proto");
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "a%d", i);
		must(btf__add_func_param(to, name, long_id), "param");
	}
	return proto_of[n];
}

static void add_func(const struct btf_type *t, const char *name)
{
	const struct btf_type *proto = btf__type_by_id(from, t->type);

	must(btf__add_func(to, name, (enum btf_func_linkage)btf_vlen(t), proto_with(btf_vlen(proto))), name);
}

static void add_enum(const struct btf_type *t, const char *name)
{
	must(btf__add_enum(to, name, t->size), name);
	for (int i = 0; i < btf_vlen(t); i++)
		must(btf__add_enum_value(to, btf__name_by_offset(from, btf_enum(t)[i].name_off), btf_enum(t)[i].val), name);
}

static bool has_foll(const struct btf_type *t)
{
	for (int i = 0; i < btf_vlen(t); i++)
		if (!strncmp(btf__name_by_offset(from, btf_enum(t)[i].name_off), "FOLL_", 5))
			return true;
	return false;
}

/* Arrays stay arrays: their length is what is asked for. They are added before the struct that has them. */
static void add_struct(const struct btf_type *t, const char *name)
{
	int *ids = calloc(btf_vlen(t) + 1U, sizeof(*ids));

	for (int i = 0; i < btf_vlen(t); i++) {
		const struct btf_type *m = btf__type_by_id(from, btf_members(t)[i].type);

		ids[i] = btf_is_array(m) ? must(btf__add_array(to, array_index_id, long_id, btf_array(m)->nelems), name) : long_id;
	}
	must(btf__add_struct(to, name, t->size), name);
	for (int i = 0; i < btf_vlen(t); i++)
		must(btf__add_field(to, btf__name_by_offset(from, btf_members(t)[i].name_off), ids[i],
				    btf_member_bit_offset(t, (uint32_t)i), btf_member_bitfield_size(t, (uint32_t)i)), name);
	free(ids);
}

static void reduce_btf(const char *out)
{
	const void *raw;
	uint32_t size;
	FILE *f;

	to = btf__new_empty();
	long_id = must(btf__add_int(to, "long", 8, BTF_INT_SIGNED), "long");
	array_index_id = must(btf__add_int(to, "__ARRAY_SIZE_TYPE__", 4, 0), "index");
	for (uint32_t id = 1; id < btf__type_cnt(from); id++) {
		const struct btf_type *t = btf__type_by_id(from, id);
		const char *name = btf__name_by_offset(from, t->name_off);

		if (btf_is_func(t) && wanted(name))
			add_func(t, name);
		else if (btf_is_enum(t) && (listed(name, enums, sizeof(enums) / sizeof(enums[0])) || (!*name && has_foll(t))))
			add_enum(t, name);
		else if (btf_is_struct(t) && listed(name, structs, sizeof(structs) / sizeof(structs[0])))
			add_struct(t, name);
	}
	raw = btf__raw_data(to, &size);
	f = fopen(out, "w");
	if (!raw || !f || fwrite(raw, 1, size, f) != size || fclose(f))
		die(out);
}

int main(int argc, char **argv)
{
	struct loader_opts opts = { .ring_bytes = 65536 };
	char error[PLANNED_ERROR_MAX];
	struct planned *kernel;
	struct loader *loader;

	if (argc != 5) {
		fputs("usage: reduce BTF KALLSYMS OUT_BTF OUT_KALLSYMS\n", stderr);
		return 2;
	}
	if (planned_open(&kernel, argv[1], argv[2], error)) {
		fprintf(stderr, "reduce: %s\n", error);
		return 1;
	}
	must(loader_plan(&loader, kernel, &opts), "plan");
	kfacts = planned_kfacts(kernel);
	if (regcomp(&wanted_names, around, REG_EXTENDED | REG_NOSUB))
		die("expression");
	from = btf__parse(argv[1], NULL);
	if (libbpf_get_error(from))
		die(argv[1]);
	reduce_list(argv[2], argv[4]);
	reduce_btf(argv[3]);
	loader_free(loader);
	planned_free(kernel);
	btf__free(from);
	btf__free(to);
	return 0;
}
