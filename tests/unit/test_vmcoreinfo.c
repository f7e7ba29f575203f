// SPDX-License-Identifier: BSD-2-Clause
/* The notes of an ELF core, laid out as fs/proc/kcore.c does (v6.1), and the lines of a kernel for arm64. */
#include "vmcoreinfo.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

static const char info[] =
	"OSRELEASE=6.1.0-57-arm64\nPAGESIZE=4096\nSYMBOL(init_uts_ns)=ffffbf1c0a2b0ad8\nSYMBOL(mem_section)=ffff0000fddf6c00\n"
	"LENGTH(mem_section)=8192\nSIZE(mem_section)=16\nNUMBER(SECTION_SIZE_BITS)=27\nNUMBER(kimage_voffset)=0xffffbf1bc8200000\n"
	"NUMBER(nothing)=\nKERNELOFFSET=3f1c00000000\n";

static char path[] = "/tmp/vmcoreinfo.XXXXXX";

static size_t put(char *to, size_t at, const void *from, size_t size)
{
	memcpy(to + at, from, size);
	return at + size;
}

static size_t put_note(char *to, size_t at, const char *name, const void *text, size_t size)
{
	Elf64_Nhdr head = { .n_namesz = (Elf64_Word)strlen(name) + 1, .n_descsz = (Elf64_Word)size };

	at = put(to, at, &head, sizeof(head));
	at = (put(to, at, name, head.n_namesz) + 3) & ~3UL;
	return (put(to, at, text, size) + 3) & ~3UL;
}

/* A core with a load segment, a note of something else with an odd size, and the one that counts if it is wanted. */
static void write_core(bool with_info, size_t cut)
{
	Elf64_Phdr segments[2] = { { .p_type = PT_LOAD, .p_filesz = 1ULL << 40 }, { .p_type = PT_NOTE } };
	Elf64_Ehdr head = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64 }, .e_phoff = sizeof(head), .e_phnum = 2,
		.e_phentsize = sizeof(Elf64_Phdr),
	};
	char core[4096] = {};
	size_t notes = sizeof(head) + sizeof(segments), end;
	FILE *f;

	end = put_note(core, notes, "CORE", "abcde", 5);
	if (with_info)
		end = put_note(core, end, "VMCOREINFO", info, strlen(info));
	segments[1].p_offset = notes;
	segments[1].p_filesz = end - notes - cut;
	put(core, put(core, 0, &head, sizeof(head)), segments, sizeof(segments));
	f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(core, 1, end, f), end);
	assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
	int fd;

	(void)state;
	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	(void)state;
	return unlink(path);
}

static void the_note_is_found_behind_others(void **state)
{
	char *text = NULL;

	(void)state;
	write_core(true, 0);
	assert_int_equal(vmcoreinfo_read(path, &text), 0);
	assert_string_equal(text, info);
	free(text);
}

static void a_core_without_it_has_no_data(void **state)
{
	char *text = NULL;

	(void)state;
	write_core(false, 0);
	assert_int_equal(vmcoreinfo_read(path, &text), -ENODATA);
	/* Cut anywhere, it is not read past its end. */
	for (size_t cut = 4; cut < strlen(info) + 24; cut++) {
		write_core(true, cut);
		assert_int_equal(vmcoreinfo_read(path, &text), -ENODATA);
	}
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(vmcoreinfo_read(path, &text), -ENODATA);
	assert_int_equal(vmcoreinfo_read("/nonexistent/kcore", &text), -ENOENT);
	assert_null(text);
}

static void values_are_those_of_whole_keys(void **state)
{
	uint64_t value = 7;

	(void)state;
	assert_true(vmcoreinfo_value(info, "SYMBOL(mem_section)", 16, &value));
	assert_true(value == 0xffff0000fddf6c00);
	assert_true(vmcoreinfo_value(info, "LENGTH(mem_section)", 10, &value));
	assert_int_equal(value, 8192);
	assert_true(vmcoreinfo_value(info, "KERNELOFFSET", 16, &value));
	assert_true(value == 0x3f1c00000000);
	value = 7;
	assert_false(vmcoreinfo_value(info, "mem_section", 16, &value));
	assert_false(vmcoreinfo_value(info, "SYMBOL(mem_sectio", 16, &value));
	assert_false(vmcoreinfo_value(info, "OSRELEASE", 10, &value));
	assert_false(vmcoreinfo_value(info, "NUMBER(nothing)", 10, &value));
	assert_false(vmcoreinfo_value("", "PAGESIZE", 10, &value));
	assert_int_equal(value, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_note_is_found_behind_others, setup, teardown),
		cmocka_unit_test_setup_teardown(a_core_without_it_has_no_data, setup, teardown),
		cmocka_unit_test(values_are_those_of_whole_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
