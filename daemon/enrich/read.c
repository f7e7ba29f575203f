// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "enrich/read.h"

int read_open_at(int dir_fd, const char *name, FILE **ret_f)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	FILE *f;

	if (fd < 0)
		return -errno;
	f = fdopen(fd, "r");
	if (!f) {
		int err = -errno;

		close(fd);
		return err;
	}
	*ret_f = f;
	return 0;
}

int read_open(const char *root, const char *path, FILE **ret_f)
{
	char full[PATH_MAX];

	if (snprintf(full, sizeof(full), "%s%s", root, path) >= (int)sizeof(full))
		return -ENAMETOOLONG;
	return read_open_at(AT_FDCWD, full, ret_f);
}

int read_first_line(FILE *f, char *ret_text, size_t size)
{
	size_t len;

	errno = 0;
	if (!fgets(ret_text, (int)size, f))
		return ferror(f) && errno ? -errno : -ENODATA;
	len = strcspn(ret_text, "\n");
	if (ret_text[len] != '\n' && len == size - 1 && getc(f) != EOF)
		return -ENAMETOOLONG;
	ret_text[len] = '\0';
	return len ? 0 : -ENODATA;
}

int read_number(const char *text, uint64_t *ret_value)
{
	unsigned long long value;
	char *end;

	text += strspn(text, " \t");
	if (*text < '0' || *text > '9')
		return -EBADMSG;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || (*end && *end != ' ' && *end != '\n' && *end != '\t'))
		return -EBADMSG;
	*ret_value = value;
	return 0;
}

int read_file_number(const char *root, const char *path, uint64_t *ret_value)
{
	char text[64];
	FILE *in;
	int err;

	err = read_open(root, path, &in);
	if (err)
		return err;
	err = read_first_line(in, text, sizeof(text));
	fclose(in);
	return err ? err : read_number(text, ret_value);
}

int read_kb_line(const char *line, const char *name, uint64_t *ret_bytes)
{
	size_t len = strlen(name);
	uint64_t kb;

	if (strncmp(line, name, len) != 0 || line[len] != ':')
		return -ENOENT;
	if (read_number(line + len + 1, &kb) < 0 || !strstr(line + len, " kB") ||
	    kb > UINT64_MAX / 1024)
		return -EBADMSG;
	*ret_bytes = kb * 1024;
	return 0;
}
