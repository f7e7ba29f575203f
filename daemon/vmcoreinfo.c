// SPDX-License-Identifier: BSD-2-Clause
#include "vmcoreinfo.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOTE_NAME "VMCOREINFO"
#define NOTES_MAX 1048576	/* bytes; the kernel writes some 6 KiB */
#define SEGMENTS_MAX 1024

static int read_at(int fd, void *buf, size_t size, uint64_t offset)
{
	ssize_t n = pread(fd, buf, size, (off_t)offset);

	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -ENODATA;
}

/* Notes are padded to four bytes. */
static size_t padded(size_t size)
{
	return (size + 3) & ~(size_t)3;
}

/* The text of the note in `notes`, NULL when it is not there. */
static char *note_text(const char *notes, size_t size)
{
	size_t at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr head;
		size_t name, text;

		memcpy(&head, notes + at, sizeof(head));
		name = at + sizeof(head);
		if (padded(head.n_namesz) > size - name)
			return NULL;
		text = name + padded(head.n_namesz);
		if (head.n_descsz > size - text)
			return NULL;
		if (head.n_namesz == sizeof(NOTE_NAME) && !memcmp(notes + name, NOTE_NAME, sizeof(NOTE_NAME)))
			return strndup(notes + text, head.n_descsz);
		if (padded(head.n_descsz) > size - text)
			return NULL;
		at = text + padded(head.n_descsz);
	}
	return NULL;
}

static int read_segment(int fd, const Elf64_Phdr *segment, char **ret_text)
{
	char *notes, *text = NULL;
	int err;

	if (segment->p_filesz > NOTES_MAX)
		return -ENODATA;
	notes = malloc(segment->p_filesz ? segment->p_filesz : 1);
	if (!notes)
		return -ENOMEM;
	err = read_at(fd, notes, segment->p_filesz, segment->p_offset);
	if (!err)
		text = note_text(notes, segment->p_filesz);
	free(notes);
	if (text)
		*ret_text = text;
	return err ? err : text ? 0 : -ENODATA;
}

static int read_core(int fd, char **ret_text)
{
	Elf64_Ehdr head;
	int err = read_at(fd, &head, sizeof(head), 0);

	if (err)
		return err;
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr))
		return -ENODATA;
	for (uint32_t i = 0; i < head.e_phnum && i < SEGMENTS_MAX; i++) {
		Elf64_Phdr segment;

		err = read_at(fd, &segment, sizeof(segment), head.e_phoff + i * sizeof(segment));
		if (err)
			return err;
		if (segment.p_type != PT_NOTE)
			continue;
		err = read_segment(fd, &segment, ret_text);
		if (err != -ENODATA)
			return err;
	}
	return -ENODATA;
}

int vmcoreinfo_read(const char *path, char **ret_text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = read_core(fd, ret_text);
	close(fd);
	return err;
}

bool vmcoreinfo_value(const char *text, const char *key, int base, uint64_t *ret_value)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		char *end;
		uint64_t value;

		line += *line == '\n';
		if (strncmp(line, key, len) || line[len] != '=')
			continue;
		value = strtoull(line + len + 1, &end, base);
		if (end == line + len + 1 || (*end && *end != '\n'))
			return false;
		*ret_value = value;
		return true;
	}
	return false;
}
