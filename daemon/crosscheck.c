// SPDX-License-Identifier: BSD-2-Clause
#include "crosscheck.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

typedef bool (*line_fn)(struct crosscheck *c, const char *line);

static bool take_buffer(struct crosscheck *c, const char *line)
{
	struct crosscheck_buffer b;

	if (c->nbuffers == CROSSCHECK_MAX || sscanf(line, "%" SCNu32 " 0x%" SCNx64 " %" SCNu64, &b.fd, &b.start, &b.bytes) != 3 ||
	    b.start + b.bytes < b.start)
		return false;
	c->buffers[c->nbuffers++] = b;
	return true;
}

static bool take_file(struct crosscheck *c, const char *line)
{
	struct crosscheck_file file = { .count = 0 };

	if (c->nfiles == CROSSCHECK_MAX || sscanf(line, "%" SCNu32 " %31s", &file.count, file.name) != 2)
		return false;
	text_clean(file.name, sizeof(file.name));
	c->files[c->nfiles++] = file;
	return true;
}

static bool take_other(struct crosscheck *c, const char *line)
{
	struct crosscheck_other o = { .pid = 0 };

	if (c->nothers == CROSSCHECK_MAX || sscanf(line, "%" SCNu32 " %15s %31s", &o.pid, o.comm, o.name) != 3)
		return false;
	text_clean(o.comm, sizeof(o.comm));
	text_clean(o.name, sizeof(o.name));
	c->others[c->nothers++] = o;
	return true;
}

/* Lines, and perhaps a last one "+ WHAT". What is no line of its kind was left out, too. */
static void read_lines(const char *list, size_t size, struct crosscheck *c, line_fn take, char ret_cut[CROSSCHECK_NAME])
{
	size_t left = strnlen(list, size);
	char line[128];

	while (left) {
		const char *end = memchr(list, '\n', left);
		size_t n = end ? (size_t)(end - list) : left;

		snprintf(line, sizeof(line), "%.*s", (int)(n < sizeof(line) ? n : sizeof(line) - 1), list);
		if (strncmp(line, "+ ", 2) == 0)
			snprintf(ret_cut, CROSSCHECK_NAME, "%.*s", CROSSCHECK_NAME - 1, line + 2);
		else if (!take(c, line) && !ret_cut[0])
			snprintf(ret_cut, CROSSCHECK_NAME, "entries");
		n += end != NULL;
		list += n;
		left -= n;
	}
	text_clean(ret_cut, CROSSCHECK_NAME);
}

void crosscheck_read(const struct facts *f, struct crosscheck *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (FACT_KNOWN(f, holder_files))
		read_lines(f->holder_files, sizeof(f->holder_files), ret, take_file, ret->cut);
	if (FACT_KNOWN(f, holder_buffers))
		read_lines(f->holder_buffers, sizeof(f->holder_buffers), ret, take_buffer, ret->cut);
	if (FACT_KNOWN(f, holder_others))
		read_lines(f->holder_others, sizeof(f->holder_others), ret, take_other, ret->others_cut);
}

bool crosscheck_known(const struct facts *f)
{
	return FACT_KNOWN(f, holder_files) || FACT_KNOWN(f, holder_buffers) || FACT_KNOWN(f, holder_pipes);
}

const struct crosscheck_buffer *crosscheck_buffer_at(const struct crosscheck *c, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < c->nbuffers; i++)
		if (c->buffers[i].start < end && c->buffers[i].start + c->buffers[i].bytes > start)
			return &c->buffers[i];
	return NULL;
}

const struct crosscheck_file *crosscheck_file(const struct crosscheck *c, const char *prefix)
{
	for (uint32_t i = 0; i < c->nfiles; i++)
		if (strncmp(c->files[i].name, prefix, strlen(prefix)) == 0)
			return &c->files[i];
	return NULL;
}
