// SPDX-License-Identifier: BSD-2-Clause
/*
 * The build id in an ELF file that anybody may have made. libelf would map and check far more of it than
 * the few notes that are looked at here.
 */
#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "enrich/build_id.h"

#define HEADERS_MAX 64
#define NOTES_BYTES 2048

static bool read_at(int fd, void *buf, size_t size, uint64_t at)
{
	return at <= INT64_MAX && pread(fd, buf, size, (off_t)at) == (ssize_t)size;
}

static size_t padded(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

static bool find_note(const unsigned char *notes, size_t size, char ret_hex[BUILD_ID_TEXT])
{
	Elf64_Nhdr n;
	size_t at = 0;

	while (size - at >= sizeof(n)) {
		memcpy(&n, notes + at, sizeof(n));
		at += sizeof(n);
		if (n.n_namesz > NOTES_BYTES || n.n_descsz > NOTES_BYTES ||
		    padded(n.n_namesz) + padded(n.n_descsz) > size - at)
			return false;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && memcmp(notes + at, "GNU", 4) == 0 &&
		    n.n_descsz && n.n_descsz <= BUILD_ID_MAX) {
			for (size_t i = 0; i < n.n_descsz; i++)
				snprintf(ret_hex + 2 * i, 3, "%02x", notes[at + 4 + i]);
			return true;
		}
		at += padded(n.n_namesz) + padded(n.n_descsz);
	}
	return false;
}

static bool read_elf(int fd, char ret_hex[BUILD_ID_TEXT])
{
	unsigned char notes[NOTES_BYTES];
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	if (!read_at(fd, &eh, sizeof(eh), 0) || memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_ident[EI_DATA] != ELFDATA2LSB ||
	    eh.e_phentsize != sizeof(ph))
		return false;
	for (unsigned int i = 0; i < eh.e_phnum && i < HEADERS_MAX; i++) {
		if (eh.e_phoff > INT64_MAX || !read_at(fd, &ph, sizeof(ph), eh.e_phoff + i * sizeof(ph)))
			return false;
		if (ph.p_type != PT_NOTE || ph.p_filesz > sizeof(notes) ||
		    !read_at(fd, notes, ph.p_filesz, ph.p_offset))
			continue;
		if (find_note(notes, ph.p_filesz, ret_hex))
			return true;
	}
	return false;
}

bool build_id_read(int dir_fd, const char *name, char ret_hex[BUILD_ID_TEXT])
{
	/* Not to wait for the other end of a pipe. */
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	bool found;

	if (fd < 0)
		return false;
	found = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && read_elf(fd, ret_hex);
	close(fd);
	return found;
}
