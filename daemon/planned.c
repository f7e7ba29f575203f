// SPDX-License-Identifier: BSD-2-Clause
#include "planned.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kfacts_symbols.h"

#define NAME_LEN 64
#define ADVICE "copy /sys/kernel/btf/vmlinux and /proc/kallsyms there, as root"

/* A register of struct pt_regs (arch/ARCH/include/asm/ptrace.h) by which this program's architecture is known. */
#if defined(__x86_64__)
#define ARCH_MEMBER "orig_ax"
#else
#define ARCH_MEMBER "orig_x0"
#endif

struct module {
	char name[NAME_LEN];
	bool listed;
	struct btf *btf;	/* NULL = not given */
};

struct function {
	const char *name;	/* in BTF */
	bool listed;
};

struct planned {
	struct btf *btf;	/* belongs to `kf` */
	struct kfacts *kf;
	struct module *modules;
	uint32_t nmodules, room;
	struct function *functions;	/* sorted */
	uint32_t nfunctions;
};

static int wrong(char *error, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int wrong(char *error, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(error, PLANNED_ERROR_MAX, fmt, args);
	va_end(args);
	return err;
}

/* --- BTF ---------------------------------------------------------------------- */

static const struct {
	const char *bytes, *what;
} compressed[] = {
	{ "\x1f\x8b", "gzip" }, { "\xfd" "7zXZ", "xz" }, { "\x28\xb5\x2f\xfd", "zstd" }, { "\x02\x21\x4c\x18", "lz4" }, { "MZ", "a boot image's" },
};

/* What a file that is to hold BTF begins with, before libbpf is asked. */
static int check_begin(const char *path, char *error)
{
	uint8_t head[24] = {};
	struct stat st;
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(head, 1, sizeof(head), f) : 0;
	int err = f ? (ferror(f) ? EIO : 0) : errno;

	if (f && !fstat(fileno(f), &st) && S_ISDIR(st.st_mode))
		err = EISDIR;
	if (f)
		fclose(f);
	if (err)
		return wrong(error, -err, "cannot read %s: %s; " ADVICE, path, strerror(err));
	for (size_t i = 0; i < sizeof(compressed) / sizeof(compressed[0]); i++)
		if (n >= 2 && !memcmp(head, compressed[i].bytes, strlen(compressed[i].bytes)))
			return wrong(error, -EINVAL, "%s is compressed (%s): unpack it, or give a copy of that kernel's /sys/kernel/btf/vmlinux", path,
				     compressed[i].what);
	if (n >= SELFMAG && !memcmp(head, ELFMAG, SELFMAG)) {
		if (head[EI_DATA] != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB))
			return wrong(error, -EINVAL, "%s is of a machine with the other endianness, on which this pinwhy does not run", path);
		return 0;
	}
	if (n >= 2 && head[0] == 0xeb && head[1] == 0x9f)
		return wrong(error, -EINVAL, "%s is of a machine with the other endianness, on which this pinwhy does not run", path);
	if (n < sizeof(head) || head[0] != 0x9f || head[1] != 0xeb)
		return wrong(error, -EINVAL, "%s is no BTF: give a copy of that kernel's /sys/kernel/btf/vmlinux, or its vmlinux with a .BTF section", path);
	return 0;
}

/*
 * Split BTF goes on where its base ends: names below that are of the base, from their first letter on. With another base they
 * begin somewhere.
 */
static bool fits_base(const struct btf *btf, const struct btf *base)
{
	uint32_t size;
	const struct btf_header *h = btf__raw_data(base, &size);

	for (uint32_t t = btf__type_cnt(base); h && t < btf__type_cnt(btf); t++) {
		uint32_t off = btf__type_by_id(btf, t)->name_off;

		if (off && off < h->str_len && btf__name_by_offset(base, off - 1)[0])
			return false;
	}
	return h != NULL;
}

static int parse(const char *path, struct btf *base, struct btf **ret_btf, char *error)
{
	struct btf *btf;
	int err = check_begin(path, error);

	if (err)
		return err;
	btf = base ? btf__parse_split(path, base) : btf__parse(path, NULL);
	err = (int)libbpf_get_error(btf);
	if (err == -ENOENT || err == -ENODATA)
		return wrong(error, err, "%s has no .BTF section: that kernel was built without CONFIG_DEBUG_INFO_BTF, or this is not its vmlinux", path);
	if (err)
		return wrong(error, err, "cannot read the BTF in %s: %s; %s", path, strerror(-err),
			     base ? "it must be of a module of the same build as the vmlinux BTF" :
				    "it must be that of vmlinux, not of a module (those are given with --module-btf)");
	if (base && !fits_base(btf, base)) {
		btf__free(btf);
		return wrong(error, -EINVAL, "the BTF in %s is not of this kernel: it must be of a module of the same build as the vmlinux BTF", path);
	}
	*ret_btf = btf;
	return 0;
}

static bool has_member(const struct btf *btf, const char *type, const char *member)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), member))
			return true;
	return false;
}

static int open_btf(const char *path, struct btf **ret_btf, char *error)
{
	struct btf *btf;
	int err = parse(path, NULL, &btf, error);

	if (err)
		return err;
	if (btf__find_by_name_kind(btf, "pt_regs", BTF_KIND_STRUCT) <= 0)
		err = wrong(error, -EINVAL, "the BTF in %s has no struct pt_regs: it is not a whole kernel's; give a copy of that kernel's /sys/kernel/btf/vmlinux", path);
	else if (!has_member(btf, "pt_regs", ARCH_MEMBER))
		err = wrong(error, -EINVAL, "the BTF in %s is of another architecture: use the pinwhy that is built for that one", path);
	if (err)
		btf__free(btf);
	else
		*ret_btf = btf;
	return err;
}

/* --- functions ---------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct function *)a)->name, ((const struct function *)b)->name);
}

static int list_functions(struct planned *p)
{
	uint32_t types = btf__type_cnt(p->btf);

	p->functions = calloc(types, sizeof(*p->functions));
	if (!p->functions)
		return -ENOMEM;
	for (uint32_t t = 1; t < types; t++) {
		const struct btf_type *type = btf__type_by_id(p->btf, t);

		if (btf_is_func(type))
			p->functions[p->nfunctions++].name = btf__name_by_offset(p->btf, type->name_off);
	}
	qsort(p->functions, p->nfunctions, sizeof(*p->functions), by_name);
	return 0;
}

static void function_listed(struct planned *p, char *full)
{
	struct function key = { .name = full }, *f;
	size_t base;

	symbols_made(full, &base);
	full[base] = '\0';
	f = bsearch(&key, p->functions, p->nfunctions, sizeof(*p->functions), by_name);
	/* Static functions may have a name several times. */
	for (struct function *g = f; g && g < p->functions + p->nfunctions && !by_name(g, &key); g++)
		g->listed = true;
	for (struct function *g = f; g && g >= p->functions && !by_name(g, &key); g--)
		g->listed = true;
}

void planned_functions(const struct planned *p, uint32_t *ret_described, uint32_t *ret_unlisted)
{
	*ret_described = p->nfunctions;
	*ret_unlisted = 0;
	for (uint32_t i = 0; i < p->nfunctions; i++)
		*ret_unlisted += !p->functions[i].listed;
}

/* --- modules ------------------------------------------------------------------ */

static struct module *module_find(const struct planned *p, const char *name)
{
	for (uint32_t i = p->nmodules; i-- > 0;)
		if (!strcmp(p->modules[i].name, name))
			return &p->modules[i];
	return NULL;
}

static int module_get(struct planned *p, const char *name, struct module **ret_module)
{
	struct module *m = module_find(p, name), *more;

	if (!m && p->nmodules == p->room) {
		more = realloc(p->modules, (p->room + 64) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		p->modules = more;
		p->room += 64;
	}
	if (!m) {
		m = &p->modules[p->nmodules++];
		memset(m, 0, sizeof(*m));
		snprintf(m->name, sizeof(m->name), "%s", name);
	}
	*ret_module = m;
	return 0;
}

uint32_t planned_modules(const struct planned *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->nmodules; i++)
		n += p->modules[i].listed;
	return n;
}

bool planned_module_listed(const struct planned *p, const char *module)
{
	const struct module *m = module_find(p, module);

	return m && m->listed;
}

enum answer planned_module_describes(const struct planned *p, const char *module, const char *function)
{
	const struct module *m = module_find(p, module);

	if (!m || !m->btf)
		return ANSWER_UNKNOWN;
	return btf__find_by_name_kind(m->btf, function, BTF_KIND_FUNC) > 0 ? ANSWER_YES : ANSWER_NO;
}

static int add_module(struct planned *p, const char *path, char *error)
{
	const char *file = strrchr(path, '/');
	char name[NAME_LEN];
	struct module *m;
	struct btf *btf;
	int err;

	snprintf(name, sizeof(name), "%s", file ? file + 1 : path);
	name[strcspn(name, ".")] = '\0';
	if (!strcmp(name, "vmlinux"))
		return 0;
	for (char *c = name; *c; c++)
		if (*c == '-')
			*c = '_';
	err = parse(path, p->btf, &btf, error);
	if (err)
		return err;
	err = module_get(p, name, &m);
	if (err) {
		btf__free(btf);
		return wrong(error, err, "out of memory");
	}
	btf__free(m->btf);
	m->btf = btf;
	return 0;
}

int planned_add_modules(struct planned *p, const char *path, char *error)
{
	DIR *dir = opendir(path);
	char file[512];
	struct dirent *d;
	int err = 0;

	if (!dir)
		return add_module(p, path, error);
	while (!err && (d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		if (snprintf(file, sizeof(file), "%s/%s", path, d->d_name) >= (int)sizeof(file))
			err = wrong(error, -ENAMETOOLONG, "the path %s/%s is too long", path, d->d_name);
		else
			err = add_module(p, file, error);
	}
	closedir(dir);
	return err;
}

/* --- kallsyms ----------------------------------------------------------------- */

/* Fills what there is to say of the whole list; *ret_functions of vmlinux. -EINVAL: line *ret_line is none of such a list. */
static int take_census(struct planned *p, FILE *list, uint32_t *ret_line, uint32_t *ret_functions)
{
	char line[512], full[256], module[NAME_LEN], type;
	struct module *m;
	int err = 0, n;

	*ret_line = *ret_functions = 0;
	while (!err && fgets(line, sizeof(line), list)) {
		*ret_line += 1;
		/* %63[^]] leaves the bracket; the address may be hidden, or 32 bits wide. */
		n = sscanf(line, "%*[0-9a-fA-F] %c %255s [%63[^]]]", &type, full, module);
		if (n < 2)
			return -EINVAL;
		if (n == 2 && strchr("tTwW", type)) {
			*ret_functions += 1;
			function_listed(p, full);
		} else if (n == 3 && strncmp(module, "__builtin", 9) && strcmp(module, "bpf")) {
			err = module_get(p, module, &m);
			if (!err)
				m->listed = true;
		}
	}
	return ferror(list) ? -EIO : err;
}

static int read_list(struct planned *p, const char *path, char *error)
{
	FILE *f = fopen(path, "re");
	uint32_t line, functions;
	int err;

	if (!f)
		return wrong(error, -errno, "cannot read %s: %s; " ADVICE, path, strerror(errno));
	err = take_census(p, f, &line, &functions);
	fclose(f);
	if (err == -EINVAL)
		return wrong(error, err, "line %u of %s is not \"address type name\": give a copy of that kernel's /proc/kallsyms", line, path);
	if (err)
		return wrong(error, err, "cannot read %s: %s; " ADVICE, path, strerror(-err));
	if (!functions)
		return wrong(error, -EINVAL, "%s names no function of a kernel%s: give a copy of that kernel's /proc/kallsyms", path,
			     line == 1 ? " (the System.map that distributions install is a stub)" : line ? "" : ", it is empty");
	return 0;
}

/* --- all of it ---------------------------------------------------------------- */

int planned_open(struct planned **ret_planned, const char *btf, const char *kallsyms, char *error)
{
	struct planned *p = calloc(1, sizeof(*p));
	int err = p ? open_btf(btf, &p->btf, error) : wrong(error, -ENOMEM, "out of memory");

	if (!err) {
		err = kfacts_of_btf(&p->kf, p->btf, kallsyms);
		if (err)
			btf__free(p->btf);
	}
	if (!err && list_functions(p))
		err = wrong(error, -ENOMEM, "out of memory");
	if (!err)
		err = read_list(p, kallsyms, error);
	if (err)
		planned_free(p);
	else
		*ret_planned = p;
	return err;
}

void planned_free(struct planned *p)
{
	if (!p)
		return;
	/* Split BTF goes before its base, which goes with the facts. */
	for (uint32_t i = 0; i < p->nmodules; i++)
		btf__free(p->modules[i].btf);
	free(p->modules);
	free(p->functions);
	kfacts_free(p->kf);
	free(p);
}

struct kfacts *planned_kfacts(const struct planned *p)
{
	return p->kf;
}
