// SPDX-License-Identifier: BSD-2-Clause
#include "kfacts.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "geometry.h"

#define SYMBOLS_MAX 128

struct symbol {
	char name[64];
	char module[32];
	uint64_t address;
	bool found;
	bool in_btf;	/* a FUNC of vmlinux BTF */
};

struct kfacts {
	struct btf *btf;
	struct wire_cfg cfg;		/* all but addresses */
	struct identity names;		/* only what kfacts_names() copies */
	struct symbol symbols[SYMBOLS_MAX];
	uint32_t nsymbols;
	int err;	/* of the last reading of kallsyms */
	bool hidden, geometry_known;
	char release_unknown[64];	/* "" = none */
};

/* mm/sparse.c; what NR_MEM_SECTIONS is depends on the architecture, and on x86 on the boot. */
#define LAST_SECTION "__highest_present_section_nr"

/* Data symbols the programs read, and marks that a kernel does a thing the old way. */
static const char *const data_symbols[] = {
	"mem_section", LAST_SECTION, "cma_areas", "cma_area_count", "hugetlb_basepage_index", "iov_iter_extract_pages",
	"vma_needs_dirty_tracking", "io_validate_user_buf_range", "io_account_mem", "_stext", "_etext",
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

static struct symbol *symbol_find(const struct kfacts *kf, const char *name)
{
	for (uint32_t i = 0; i < kf->nsymbols; i++)
		if (!strcmp(kf->symbols[i].name, name))
			return (struct symbol *)&kf->symbols[i];
	return NULL;
}

int kfacts_watch(struct kfacts *kf, const char *symbol)
{
	if (symbol_find(kf, symbol))
		return 0;
	if (kf->nsymbols == SYMBOLS_MAX || strlen(symbol) >= sizeof(kf->symbols[0].name))
		return -ENOSPC;
	strcpy(kf->symbols[kf->nsymbols].name, symbol);
	kf->symbols[kf->nsymbols++].in_btf = kf->btf && btf__find_by_name_kind(kf->btf, symbol, BTF_KIND_FUNC) > 0;
	return 0;
}

/* Parts of functions have a dot in their names. */
static bool gives_back(const char *name)
{
	return (!strncmp(name, "unpin_user_", strlen("unpin_user_")) || !strncmp(name, "unpin_folio", strlen("unpin_folio"))) && !strchr(name, '.');
}

/* "ffffffff81000000 T name\t[module]". Twins in several modules: the first one counts. */
static void symbol_line(struct kfacts *kf, char *line)
{
	char *save, *addr = strtok_r(line, " \t\n", &save), *type = strtok_r(NULL, " \t\n", &save);
	char *name = strtok_r(NULL, " \t\n", &save), *module = strtok_r(NULL, " \t\n[]", &save);
	struct symbol *s;

	if (!addr || !type || !name)
		return;
	s = symbol_find(kf, name);
	if (!s && !module && gives_back(name))
		snprintf(kf->release_unknown, sizeof(kf->release_unknown), "%.63s", name);
	if (!s || s->found)
		return;
	s->found = true;
	s->address = strtoull(addr, NULL, 16);
	snprintf(s->module, sizeof(s->module), "%s", module ? module : "");
	if (!s->address)
		kf->hidden = true;
}

int kfacts_refresh(struct kfacts *kf)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[512];

	kf->hidden = false;
	kf->release_unknown[0] = '\0';
	for (uint32_t i = 0; i < kf->nsymbols; i++)
		kf->symbols[i].found = false;
	if (!f)
		return kf->err = -errno;
	/* A prefilter on the name column keeps a quarter of a million lines cheap. */
	while (fgets(line, sizeof(line), f)) {
		const char *name = strchr(line, ' ');

		if (!name || strlen(name) < 4)
			continue;
		name += 3;
		for (uint32_t i = 0; i < kf->nsymbols; i++) {
			if (name[0] == kf->symbols[i].name[0] && name[1] == kf->symbols[i].name[1]) {
				symbol_line(kf, line);
				break;
			}
		}
	}
	kf->err = ferror(f) ? -EIO : 0;
	fclose(f);
	return kf->err;
}

enum answer kfacts_symbol(const struct kfacts *kf, const char *symbol, const char **ret_module)
{
	const struct symbol *s = symbol_find(kf, symbol);

	if (kf->err || !s)
		return ANSWER_UNKNOWN;
	if (!s->found)
		return ANSWER_NO;
	*ret_module = s->module;
	return ANSWER_YES;
}

uint64_t kfacts_address(const struct kfacts *kf, const char *symbol)
{
	const struct symbol *s = symbol_find(kf, symbol);

	return s && s->found ? s->address : 0;
}

bool kfacts_btf_func(const struct kfacts *kf, const char *symbol)
{
	const struct symbol *s = symbol_find(kf, symbol);

	return s && s->in_btf;
}

bool kfacts_release_unknown(const struct kfacts *kf, const char **ret_name)
{
	*ret_name = kf->release_unknown;
	return kf->release_unknown[0];
}

bool kfacts_addresses_hidden(const struct kfacts *kf)
{
	return kf->hidden;
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

static void fill_names(const struct btf *btf, struct identity *id)
{
	struct utsname u;

	if (!uname(&u)) {
		snprintf(id->node, sizeof(id->node), "%s", u.nodename);
		snprintf(id->kernel, sizeof(id->kernel), "%s", u.release);
		snprintf(id->machine, sizeof(id->machine), "%.31s", u.machine);
	}
	read_line("/proc/sys/kernel/random/boot_id", id->boot_id, sizeof(id->boot_id));
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

int kfacts_open(struct kfacts **ret_kf)
{
	struct kfacts *kf = calloc(1, sizeof(*kf));
	int err;

	if (!kf)
		return -ENOMEM;
	kf->err = -ENODATA;
	kf->btf = btf__load_vmlinux_btf();
	err = (int)libbpf_get_error(kf->btf);
	if (err) {
		free(kf);
		return err == -ESRCH ? -ENOENT : err;
	}
	for (size_t i = 0; i < sizeof(data_symbols) / sizeof(data_symbols[0]); i++)
		kfacts_watch(kf, data_symbols[i]);
	fill_names(kf->btf, &kf->names);
	kf->cfg.foll_longterm = kf->names.foll_longterm;
	kf->cfg.foll_pin = kf->names.foll_pin;
	kf->geometry_known = fill_geometry(kf->btf, &kf->cfg);
	*ret_kf = kf;
	return 0;
}

void kfacts_cfg(const struct kfacts *kf, struct wire_cfg *ret_cfg)
{
	const char *module;

	*ret_cfg = kf->cfg;
	ret_cfg->addr_last_section = kfacts_address(kf, LAST_SECTION);
	/* Without it nothing is read by the rest. */
	ret_cfg->addr_mem_section = kf->geometry_known ? kfacts_address(kf, "mem_section") : 0;
	ret_cfg->addr_cma_areas = kfacts_address(kf, "cma_areas");
	ret_cfg->addr_cma_area_count = kfacts_address(kf, "cma_area_count");
	ret_cfg->text_end = kfacts_address(kf, "_etext");
	ret_cfg->text_start = ret_cfg->text_end ? kfacts_address(kf, "_stext") : 0;
	ret_cfg->hugetlb_index_huge = kfacts_symbol(kf, "hugetlb_basepage_index", &module) == ANSWER_YES;
}

void kfacts_names(const struct kfacts *kf, struct identity *id)
{
	const struct identity *n = &kf->names;
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
}
