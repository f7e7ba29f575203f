// SPDX-License-Identifier: BSD-2-Clause
/* Which NVIDIA driver is loaded, and whether it is the one with open sources. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "enrich/enrich.h"
#include "enrich/read.h"

/*
 * "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023"
 * "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.14  Release Build  (...)"
 */
static int parse_version(char *line, char *ret_version, size_t size)
{
	char *save = NULL, *word, *module = strstr(line, "Kernel Module");

	if (strncmp(line, "NVRM version:", strlen("NVRM version:")) != 0 || !module)
		return -EBADMSG;
	for (word = strtok_r(module, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
		/* "x86_64" does not begin with a digit, and a year has no dot. */
		if (!isdigit((unsigned char)word[0]) || !strchr(word, '.') ||
		    word[strspn(word, "0123456789.")])
			continue;
		if (strlen(word) >= size)
			return -ENAMETOOLONG;
		strcpy(ret_version, word);
		return 0;
	}
	return -EBADMSG;
}

static int read_line(const struct enrich *e, const char *path, char *ret_line, size_t size)
{
	FILE *in;
	int err;

	err = read_open(e->root, path, &in);
	if (err)
		return err;
	err = read_first_line(in, ret_line, size);
	fclose(in);
	return err;
}

void enrich_nvidia(const struct enrich *e, const struct facts_request *req, struct facts *f)
{
	char line[256];
	int err;

	(void)req;
	err = read_line(e, "/proc/driver/nvidia/version", line, sizeof(line));
	if (!err) {
		strcpy(f->nvidia_flavour, strstr(line, " Open Kernel Module") ? "open" : "proprietary");
		ENRICH_FAIL(f, nvidia_flavour, 0);
		ENRICH_FAIL(f, nvidia_version, parse_version(line, f->nvidia_version, sizeof(f->nvidia_version)));
		return;
	}
	/* Without the driver there is neither file; the module alone tells its version. */
	ENRICH_FAIL(f, nvidia_flavour, err == -ENOENT ? FACT_NONE : err);
	err = read_line(e, "/sys/module/nvidia/version", f->nvidia_version, sizeof(f->nvidia_version));
	ENRICH_FAIL(f, nvidia_version, err == -ENOENT ? FACT_NONE : err);
}
