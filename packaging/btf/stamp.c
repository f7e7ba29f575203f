// SPDX-License-Identifier: BSD-2-Clause
/*
 * stamp BTF NOTES PACK: finishes a pack of packaging/btf-pack. Adds to PACK, in place, the unnamed enums of the kernel's whole BTF
 * that have FOLL_ flags, which no relocation can name, and the kernel's build id. NOTES is a copy of that kernel's
 * /sys/kernel/notes, or an ELF file with a .notes section, such as vmlinux.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "btfpack.h"

static void die(const char *what, const char *why)
{
	fprintf(stderr, "stamp: %s: %s\n", what, why);
	exit(1);
}

static void must(int r, const char *what)
{
	if (r < 0)
		die(what, strerror(-r));
}

static bool has_foll(const struct btf *btf, const struct btf_type *t)
{
	for (int i = 0; i < btf_vlen(t); i++)
		if (!strncmp(btf__name_by_offset(btf, btf_enum(t)[i].name_off), "FOLL_", 5))
			return true;
	return false;
}

static void add_flags(const struct btf *from, struct btf *to)
{
	for (uint32_t id = 1; id < btf__type_cnt(from); id++) {
		const struct btf_type *t = btf__type_by_id(from, id);

		if (!btf_is_enum(t) || t->name_off || !has_foll(from, t))
			continue;
		must(btf__add_enum(to, NULL, t->size), "enum");
		for (int i = 0; i < btf_vlen(t); i++)
			must(btf__add_enum_value(to, btf__name_by_offset(from, btf_enum(t)[i].name_off), btf_enum(t)[i].val), "enumerator");
	}
}

static size_t read_whole(const char *path, void *buf, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t n;

	if (!f)
		die(path, strerror(errno));
	n = fread(buf, 1, size, f);
	fclose(f);
	return n;
}

/* Of each note section of an ELF file; false when it is none. */
static bool id_of_elf(const char *path, char id[BTFPACK_ID_MAX])
{
	FILE *f = fopen(path, "re");
	Elf_Scn *scn = NULL;
	bool found = false;
	Elf *elf;

	if (!f)
		die(path, strerror(errno));
	elf_version(EV_CURRENT);
	elf = elf_begin(fileno(f), ELF_C_READ, NULL);
	while (elf && !found && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr h;
		Elf_Data *d;

		if (gelf_getshdr(scn, &h) && h.sh_type == SHT_NOTE && (d = elf_getdata(scn, NULL)))
			found = !notes_build_id(d->d_buf, d->d_size, id);
	}
	elf_end(elf);
	fclose(f);
	return found;
}

int main(int argc, char **argv)
{
	static char notes[65536];
	char id[BTFPACK_ID_MAX], name[sizeof(BTFPACK_STAMP) + BTFPACK_ID_MAX];
	struct btf *from, *pack;
	const void *raw;
	uint32_t size;
	FILE *f;

	if (argc != 4)
		die("usage", "stamp BTF NOTES PACK");
	from = btf__parse(argv[1], NULL);
	pack = btf__parse(argv[3], NULL);
	if (libbpf_get_error(from) || libbpf_get_error(pack))
		die(libbpf_get_error(from) ? argv[1] : argv[3], "no BTF can be read from it");
	if (notes_build_id(notes, read_whole(argv[2], notes, sizeof(notes)), id) && !id_of_elf(argv[2], id))
		die(argv[2], "has no build id: give a copy of that kernel's /sys/kernel/notes, or its vmlinux");
	add_flags(from, pack);
	snprintf(name, sizeof(name), "%s%s", BTFPACK_STAMP, id);
	must(btf__add_fwd(pack, name, BTF_FWD_STRUCT), "stamp");
	raw = btf__raw_data(pack, &size);
	f = fopen(argv[3], "w");
	if (!raw || !f || fwrite(raw, 1, size, f) != size || fclose(f))
		die(argv[3], "cannot be written");
	printf("%s\n", id);
	btf__free(from);
	btf__free(pack);
	return 0;
}
