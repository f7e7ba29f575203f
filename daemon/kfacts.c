// SPDX-License-Identifier: BSD-2-Clause
#include "kfacts.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "geometry.h"
#include "kfacts_symbols.h"
#include "vmcoreinfo.h"

struct kfacts {
	struct btf *btf;
	struct wire_cfg cfg;		/* all but addresses */
	struct identity names;		/* only what kfacts_names() copies */
	struct symbols symbols;
	const char *kallsyms;	/* path of the list */
	const char *pack;	/* whose BTF this is, NULL = the kernel's own */
	int err;	/* of its last reading */
	bool geometry_known;
	struct kernel_facts kernel;	/* as far as BTF alone tells */
};

/* mm/sparse.c; what NR_MEM_SECTIONS is depends on the architecture, and on x86 on the boot. */
#define LAST_SECTION "__highest_present_section_nr"

/* include/asm-generic/vmlinux.lds.h, and data that every kernel has: without it the list has no data (CONFIG_KALLSYMS_ALL off). */
#define START_BTF "__start_BTF"
#define BTF_MODULES "btf_modules"	/* kernel/bpf/btf.c: of modules that brought some */
#define ALWAYS_THERE "linux_banner"

/* Data symbols the programs read, and marks that a kernel does a thing the old way. */
static const char *const data_symbols[] = {
	"mem_section", LAST_SECTION, "cma_areas", "cma_area_count", "hugetlb_basepage_index", "iov_iter_extract_pages",
	"vma_needs_dirty_tracking", "io_validate_user_buf_range", "io_account_mem", "_stext", "_etext", "cma_alloc",
	"check_and_migrate_movable_pages", BTF_MODULES, START_BTF, ALWAYS_THERE,
};

void kfacts_free(struct kfacts *kf)
{
	if (!kf)
		return;
	btf__free(kf->btf);
	free(kf);
}

void kfacts_drop_btf(struct kfacts *kf)
{
	btf__free(kf->btf);
	kf->btf = NULL;
}

struct btf *kfacts_btf(const struct kfacts *kf)
{
	return kf->btf;
}

int kfacts_watch(struct kfacts *kf, const char *symbol)
{
	struct symbol *s;

	return symbols_add(&kf->symbols, symbol, &s);
}

/* All that are watched at once: to look for one goes through every type. */
static void find_functions(struct kfacts *kf)
{
	for (uint32_t id = 1; id < btf__type_cnt(kf->btf); id++) {
		const struct btf_type *t = btf__type_by_id(kf->btf, id), *proto;
		struct symbol *s = btf_is_func(t) ? symbols_asked(&kf->symbols, btf__name_by_offset(kf->btf, t->name_off)) : NULL;

		if (!s || s->in_btf)
			continue;
		proto = btf__type_by_id(kf->btf, t->type);
		s->in_btf = true;
		s->arguments = proto ? btf_vlen(proto) : 0;
	}
}

const char *kfacts_watched(const struct kfacts *kf, uint32_t i)
{
	return i < kf->symbols.n ? kf->symbols.rows[i].name : NULL;
}

int kfacts_refresh(struct kfacts *kf)
{
	FILE *f = fopen(kf->kallsyms, "re");

	if (kf->btf)
		find_functions(kf);
	if (!f)
		return kf->err = -errno;
	kf->err = symbols_read(&kf->symbols, f);
	fclose(f);
	return kf->err;
}

enum answer kfacts_symbol(const struct kfacts *kf, const char *symbol, const char **ret_module)
{
	const struct symbol *s = symbols_find(&kf->symbols, symbol);

	if (kf->err || !s)
		return ANSWER_UNKNOWN;
	if (!s->found)
		return ANSWER_NO;
	*ret_module = s->module;
	return ANSWER_YES;
}

enum answer kfacts_function(const struct kfacts *kf, const char *symbol, struct kfacts_function *ret_function)
{
	const struct symbol *s = symbols_find(&kf->symbols, symbol);

	*ret_function = (struct kfacts_function){ .name = "", .module = "", .split = "", .changed = "" };
	if (kf->err || !s)
		return ANSWER_UNKNOWN;
	*ret_function = (struct kfacts_function){
		.name = s->found ? s->name : s->made[MADE_SAME], .module = s->module,
		.split = s->made[MADE_SPLIT], .changed = s->made[MADE_CHANGED], .times = s->times,
	};
	return ret_function->name[0] ? ANSWER_YES : ANSWER_NO;
}

enum answer kfacts_code(const struct kfacts *kf, const char *symbol)
{
	struct kfacts_function f;
	enum answer there = kfacts_function(kf, symbol, &f);

	return there == ANSWER_NO && (*f.split || *f.changed) ? ANSWER_YES : there;
}

enum answer kfacts_has_btf(const struct kfacts *kf)
{
	const char *module;

	if (kfacts_symbol(kf, START_BTF, &module) == ANSWER_YES)
		return ANSWER_YES;
	return kfacts_symbol(kf, ALWAYS_THERE, &module) == ANSWER_YES ? ANSWER_NO : ANSWER_UNKNOWN;
}

uint64_t kfacts_address(const struct kfacts *kf, const char *symbol)
{
	const struct symbol *s = symbols_find(&kf->symbols, symbol);

	return s && s->found ? s->address : 0;
}

bool kfacts_btf_func(const struct kfacts *kf, const char *symbol)
{
	const struct symbol *s = symbols_find(&kf->symbols, symbol);

	return s && s->in_btf;
}

uint32_t kfacts_btf_arguments(const struct kfacts *kf, const char *symbol)
{
	const struct symbol *s = symbols_find(&kf->symbols, symbol);

	return s ? s->arguments : 0;
}

bool kfacts_release_unknown(const struct kfacts *kf, const char **ret_name)
{
	*ret_name = kf->symbols.release_unknown;
	return kf->symbols.release_unknown[0];
}

bool kfacts_addresses_hidden(const struct kfacts *kf)
{
	return kf->symbols.hidden;
}

uint64_t kfacts_module_generation(const char *module)
{
	char path[96];
	struct stat st;

	/* kernfs gives every new directory a new inode number, so a module that was loaded
	 * again is not taken for the one before. */
	if (snprintf(path, sizeof(path), "/sys/module/%s", module) >= (int)sizeof(path) || stat(path, &st))
		return 0;
	/* Built-in "modules" have a directory too, but never a state. */
	return st.st_ino;
}

/* --- BTF ---------------------------------------------------------------------- */

/* Enumerator of a named enum; -1 when there is none. */
static int64_t enum_value(const struct btf *btf, const char *enum_name, const char *name)
{
	int id = btf__find_by_name_kind(btf, enum_name, BTF_KIND_ENUM);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;
	const struct btf_enum *e = t ? btf_enum(t) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, e[i].name_off), name))
			return e[i].val;
	return -1;
}

static enum answer enumerator(const struct btf *btf, const char *enum_name, const char *name)
{
	if (btf__find_by_name_kind(btf, enum_name, BTF_KIND_ENUM) <= 0)
		return ANSWER_UNKNOWN;
	return enum_value(btf, enum_name, name) >= 0 ? ANSWER_YES : ANSWER_NO;
}

/* How many there are, or where some of them end: no name for a value, though it has one (include/linux/mmzone.h). */
static bool counts_values(const char *name)
{
	return !strncmp(name, "__", 2) || !strcmp(name, "MIGRATE_PCPTYPES") || !strcmp(name, "MIGRATE_TYPES");
}

/* Names of an enum by value, without prefix; the first of two names for one value stays. */
static void enum_table(const struct btf *btf, const char *enum_name, const char *prefix, struct enum_names *ret)
{
	int id = btf__find_by_name_kind(btf, enum_name, BTF_KIND_ENUM);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;
	const struct btf_enum *e = t ? btf_enum(t) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++) {
		const char *s = btf__name_by_offset(btf, e[i].name_off);
		char *out;

		if (strncmp(s, prefix, strlen(prefix)) || counts_values(s) || e[i].val < 0 || e[i].val >= IDENTITY_NAMES_MAX)
			continue;
		out = ret->name[e[i].val];
		if (out[0])
			continue;
		snprintf(out, IDENTITY_NAME_LEN, "%s", s + strlen(prefix));
	}
}

/* All values of an enum of flags, joined; 0 when there is no such enum. */
static uint32_t enum_flags(const struct btf *btf, const char *enum_name)
{
	int id = btf__find_by_name_kind(btf, enum_name, BTF_KIND_ENUM);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;
	const struct btf_enum *e = t ? btf_enum(t) : NULL;
	uint32_t flags = 0;

	for (int i = 0; t && i < btf_vlen(t); i++)
		flags |= (uint32_t)e[i].val;
	return flags;
}

static void lower_from(char *s, size_t from)
{
	for (size_t i = 0; s[i]; i++)
		if (i >= from)
			s[i] = (char)tolower((unsigned char)s[i]);
}

static void lower(struct enum_names *names)
{
	for (int i = 0; i < IDENTITY_NAMES_MAX; i++)
		lower_from(names->name[i], 0);
}

/* As in /proc/zoneinfo: "DMA32", "Normal", "Movable" (zone_names[] of mm/page_alloc.c). */
static void zone_spelling(struct enum_names *zones)
{
	for (int i = 0; i < IDENTITY_NAMES_MAX; i++)
		if (strncmp(zones->name[i], "DMA", 3))
			lower_from(zones->name[i], 1);
}

static const struct btf_member *member_of(const struct btf *btf, const char *type, const char *member,
					  const struct btf_type **ret_type)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;
	const struct btf_member *m = t ? btf_members(t) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++, m++) {
		if (strcmp(btf__name_by_offset(btf, m->name_off), member))
			continue;
		*ret_type = btf__type_by_id(btf, m->type);
		return m;
	}
	return NULL;
}

/* Elements of an array member, 0 = no such thing. */
static uint32_t array_len(const struct btf *btf, const char *type, const char *member)
{
	const struct btf_type *t;

	if (!member_of(btf, type, member, &t) || !btf_is_array(t))
		return 0;
	return btf_array(t)->nelems;
}

/* 0 when the file is not there. */
static uint64_t read_u64(const char *path)
{
	FILE *f = fopen(path, "re");
	unsigned long long v = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%llu", &v) != 1)
		v = 0;
	fclose(f);
	return v;
}

static const struct {
	const char *name;
	uint32_t define;
	size_t offset;
} foll_flags[] = {
#define FOLL(field, name, define) { #name, define, offsetof(struct identity, foll_##field) },
#include "foll.def"
#undef FOLL
};
#define NFOLL (sizeof(foll_flags) / sizeof(foll_flags[0]))

static uint32_t *foll_field(struct identity *id, size_t i)
{
	return (uint32_t *)((char *)id + foll_flags[i].offset);
}

/* The flags are in anonymous enums, so every enum is looked at. Returns how many were found. */
static uint32_t foll_from_btf(const struct btf *btf, struct identity *id)
{
	uint32_t types = btf__type_cnt(btf), found = 0;

	for (uint32_t t = 1; t < types; t++) {
		const struct btf_type *type = btf__type_by_id(btf, t);
		const struct btf_enum *e = btf_is_enum(type) ? btf_enum(type) : NULL;

		for (int k = 0; e && k < btf_vlen(type); k++) {
			const char *name = btf__name_by_offset(btf, e[k].name_off);

			if (strncmp(name, "FOLL_", 5))
				continue;
			for (size_t i = 0; i < NFOLL; i++) {
				if (strcmp(name, foll_flags[i].name))
					continue;
				*foll_field(id, i) = (uint32_t)e[k].val;
				found++;
			}
		}
	}
	return found;
}

/* One or the other, never a mixture: an old value may mean another flag on a new kernel. */
static void fill_foll(const struct btf *btf, struct identity *id)
{
	if (foll_from_btf(btf, id))
		return;
	for (size_t i = 0; i < NFOLL; i++)
		*foll_field(id, i) = foll_flags[i].define;
}

static bool fill_geometry(const struct btf *btf, struct wire_cfg *cfg)
{
	int id = btf__find_by_name_kind(btf, "mem_section", BTF_KIND_STRUCT);
	struct geometry_facts f = {
		.page_shift = geometry_log2((uint64_t)sysconf(_SC_PAGESIZE)),
		.zones = enum_value(btf, "zone_type", "__MAX_NR_ZONES"),
		.zonerefs = array_len(btf, "zonelist", "_zonerefs"),
		.subsection_words = array_len(btf, "mem_section_usage", "subsection_map"),
		.section_bytes = id > 0 ? btf__resolve_size(btf, (uint32_t)id) : 0,
		.pmd_bytes = read_u64("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"),
		.orders = array_len(btf, "zone", "free_area"),
		.block_bits = enum_value(btf, "pageblock_bits", "NR_PAGEBLOCK_BITS"),
		.block_bits_used = enum_value(btf, "pageblock_bits", "__NR_PAGEBLOCK_BITS"),
	};

	return geometry_fill(&f, cfg);
}

static void read_line(const char *path, char *out, size_t size)
{
	FILE *f = fopen(path, "re");

	if (!f)
		return;
	if (fgets(out, (int)size, f))
		out[strcspn(out, "\n")] = '\0';
	fclose(f);
}

/* What only a kernel that runs here can tell. */
static void fill_node(struct identity *id)
{
	struct utsname u;

	if (!uname(&u)) {
		snprintf(id->node, sizeof(id->node), "%s", u.nodename);
		snprintf(id->kernel, sizeof(id->kernel), "%s", u.release);
		snprintf(id->machine, sizeof(id->machine), "%.31s", u.machine);
	}
	read_line("/proc/sys/kernel/random/boot_id", id->boot_id, sizeof(id->boot_id));
}

static void fill_names(const struct btf *btf, struct identity *id)
{
	id->page_size = (uint32_t)sysconf(_SC_PAGESIZE);
	fill_foll(btf, id);
	id->access_known = enum_flags(btf, "ib_uverbs_access_flags");
	enum_table(btf, "zone_type", "ZONE_", &id->zones);
	zone_spelling(&id->zones);
	enum_table(btf, "migratetype", "", &id->migratetypes);
	enum_table(btf, "migrate_reason", "MR_", &id->migrate_reasons);
	lower(&id->migrate_reasons);
	enum_table(btf, "migrate_mode", "MIGRATE_", &id->migrate_modes);
	lower(&id->migrate_modes);
}

/*
 * include/uapi/linux/bpf.h; include/linux/mmzone.h, where CONFIG_CMA makes the enumerator; include/linux/migrate_mode.h, whose
 * reason came with the rule for ZONE_MOVABLE (5.13, mm/gup.c, "migrate pinned pages out of movable zone").
 */
static void fill_kernel(const struct btf *btf, struct kernel_facts *f)
{
	f->loops = enumerator(btf, "bpf_func_id", "BPF_FUNC_loop");
	f->cma = enumerator(btf, "migratetype", "MIGRATE_CMA");
	f->movable_rule = enumerator(btf, "migrate_reason", "MR_LONGTERM_PIN");
}

/* Every module that has BTF shows it there, beside vmlinux; any one will do. Of a kernel that does not run here: whether it keeps any. */
static enum answer module_btf(const struct kfacts *kf)
{
	DIR *dir = strcmp(kf->kallsyms, RUNNING_KALLSYMS) ? NULL : opendir("/sys/kernel/btf");
	enum answer found = ANSWER_NO;
	const char *module;
	struct dirent *d;

	if (!dir)
		return kfacts_symbol(kf, BTF_MODULES, &module);
	while (found != ANSWER_YES && (d = readdir(dir)))
		if (d->d_name[0] != '.' && strcmp(d->d_name, "vmlinux") != 0)
			found = ANSWER_YES;
	closedir(dir);
	return found;
}

/* "No" where neither of two signs is there, and both could be looked for. */
static enum answer either(enum answer by_btf, enum answer by_symbol)
{
	if (by_btf == ANSWER_YES || by_symbol == ANSWER_YES)
		return ANSWER_YES;
	return by_btf == ANSWER_NO ? by_symbol : ANSWER_UNKNOWN;
}

void kfacts_kernel(const struct kfacts *kf, struct kernel_facts *ret_facts)
{
	const char *module;

	*ret_facts = kf->kernel;
	ret_facts->module_btf = module_btf(kf);
	ret_facts->cma = either(kf->kernel.cma, kfacts_symbol(kf, "cma_alloc", &module));
	ret_facts->movable_rule = either(kf->kernel.movable_rule, kfacts_symbol(kf, "check_and_migrate_movable_pages", &module));
}

bool kfacts_loops(const struct kfacts *kf)
{
	return kf->kernel.loops != ANSWER_NO;
}

int kfacts_of_btf(struct kfacts **ret_kf, struct btf *btf, const char *kallsyms)
{
	struct kfacts *kf = calloc(1, sizeof(*kf));

	if (!kf)
		return -ENOMEM;
	kf->err = -ENODATA;
	kf->btf = btf;
	kf->kallsyms = kallsyms;
	for (size_t i = 0; i < sizeof(data_symbols) / sizeof(data_symbols[0]); i++)
		kfacts_watch(kf, data_symbols[i]);
	fill_names(kf->btf, &kf->names);
	fill_kernel(kf->btf, &kf->kernel);
	kf->cfg.foll_longterm = kf->names.foll_longterm;
	kf->cfg.foll_pin = kf->names.foll_pin;
	kf->geometry_known = fill_geometry(kf->btf, &kf->cfg);
	*ret_kf = kf;
	return 0;
}

static int of_running(struct kfacts **ret_kf, struct btf *btf)
{
	int err = kfacts_of_btf(ret_kf, btf, RUNNING_KALLSYMS);

	if (err)
		btf__free(btf);
	else
		fill_node(&(*ret_kf)->names);
	return err;
}

int kfacts_open(struct kfacts **ret_kf)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int err = (int)libbpf_get_error(btf);

	if (err)
		return err == -ESRCH ? -ENOENT : err;
	return of_running(ret_kf, btf);
}

int kfacts_open_with(struct kfacts **ret_kf, const char *pack, char *error)
{
	struct btf *btf;
	int err = kfacts_open(ret_kf);

	if (err == -ENOENT && pack && *pack) {
		err = btfpack_open(&btf, pack, error);
		if (err)
			return err;
		err = of_running(ret_kf, btf);
		if (!err)
			(*ret_kf)->pack = pack;
	}
	if (err == -ENOENT)
		snprintf(error, BTFPACK_ERROR_MAX, "this kernel has no BTF (/sys/kernel/btf/vmlinux), which describes its structures: use a kernel built "
			 "with CONFIG_DEBUG_INFO_BTF=y, as distributions do, or give a pack of its BTF with --btf (packaging/btf-pack makes one)");
	else if (err)
		snprintf(error, BTFPACK_ERROR_MAX, "cannot read the kernel's BTF: %s; run pinwhy as root", strerror(-err));
	return err;
}

const char *kfacts_pack(const struct kfacts *kf)
{
	return kf->pack;
}

/*
 * A kernel whose kallsyms lists functions alone says in VMCOREINFO where its sections are. With two levels of them
 * (SPARSEMEM_EXTREME, mm/sparse.c) that is what mem_section points to.
 */
static void sections_from_core(const struct kfacts *kf, struct wire_cfg *cfg)
{
	uint64_t roots, n;
	const char *module;
	char *text;

	if (strcmp(kf->kallsyms, RUNNING_KALLSYMS) || kfacts_symbol(kf, "mem_section", &module) != ANSWER_NO ||
	    kfacts_addresses_hidden(kf) || vmcoreinfo_read(KCORE, &text))
		return;
	if (vmcoreinfo_value(text, "SYMBOL(mem_section)", 16, &roots) && vmcoreinfo_value(text, "LENGTH(mem_section)", 10, &n)) {
		cfg->section_roots = roots;
		cfg->last_section = n * cfg->sections_per_root - 1;
	}
	free(text);
}

void kfacts_cfg(const struct kfacts *kf, struct wire_cfg *ret_cfg)
{
	const char *module;

	*ret_cfg = kf->cfg;
	ret_cfg->addr_last_section = kfacts_address(kf, LAST_SECTION);
	/* Without it nothing is read by the rest. */
	if (kf->geometry_known) {
		ret_cfg->addr_mem_section = kfacts_address(kf, "mem_section");
		sections_from_core(kf, ret_cfg);
	}
	ret_cfg->addr_cma_areas = kfacts_address(kf, "cma_areas");
	ret_cfg->addr_cma_area_count = kfacts_address(kf, "cma_area_count");
	ret_cfg->text_end = kfacts_address(kf, "_etext");
	ret_cfg->text_start = ret_cfg->text_end ? kfacts_address(kf, "_stext") : 0;
	ret_cfg->hugetlb_index_huge = kfacts_symbol(kf, "hugetlb_basepage_index", &module) == ANSWER_YES;
}

void kfacts_names(const struct kfacts *kf, struct identity *id)
{
	const struct identity *n = &kf->names;
	struct kernel_facts kernel;
	const char *module;

	memcpy(id->node, n->node, sizeof(id->node));
	memcpy(id->boot_id, n->boot_id, sizeof(id->boot_id));
	memcpy(id->kernel, n->kernel, sizeof(id->kernel));
	memcpy(id->machine, n->machine, sizeof(id->machine));
	id->page_size = n->page_size;
#define FOLL(field, name, define) id->foll_##field = n->foll_##field;
#include "foll.def"
#undef FOLL
	id->access_known = n->access_known;
	id->zones = n->zones;
	id->migratetypes = n->migratetypes;
	id->migrate_reasons = n->migrate_reasons;
	id->migrate_modes = n->migrate_modes;
	/* lib/iov_iter.c: direct I/O pins through it where it exists (6.12, not 6.1). */
	/* mm/vma.c: what the check of v6.5 asks, and nothing else outside mm/; a function of its own on 6.12 and 7.3. */
	id->file_pins_checked = kfacts_symbol(kf, "vma_needs_dirty_tracking", &module) == ANSWER_YES;
	/* io_uring/rsrc.c: the check without a bound (7.3) took the place of the one with it. */
	id->uring_bounded = kfacts_symbol(kf, "io_validate_user_buf_range", &module) == ANSWER_NO;
	id->direct_io_pins = kfacts_symbol(kf, "iov_iter_extract_pages", &module) == ANSWER_YES;
	kfacts_kernel(kf, &kernel);
	id->pins_stay = kernel_pins_stay(&kernel);
}
