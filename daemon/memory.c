// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "log.h"
#include "memory.h"

/* Below sshd's -1000, above all who do not ask: we must see the failure that others die of. */
#define OOM_SCORE "-900"

static void read_kb(const char *line, const char *name, uint64_t *bytes)
{
	size_t len = strlen(name);

	if (strncmp(line, name, len) == 0 && line[len] == ':')
		*bytes = strtoull(line + len + 1, NULL, 10) * 1024;
}

int memory_use(struct memory_use *ret_use)
{
	struct memory_use use = { 0 };
	char text[4096], *save = NULL;
	ssize_t n;
	int fd;

	/* Without stdio, which would take memory to tell how much there is. */
	fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return n < 0 ? -errno : -ENODATA;
	text[n] = '\0';
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		read_kb(line, "VmRSS", &use.resident_bytes);
		read_kb(line, "VmHWM", &use.peak_bytes);
		read_kb(line, "RssAnon", &use.anon_bytes);
	}
	*ret_use = use;
	return 0;
}

/* Left to itself malloc() learns from the first big block that is freed to take the next from the heap, for good. */
void memory_begin(void)
{
	mallopt(M_MMAP_THRESHOLD, 64 << 10);
	/* A thread that has a heap of its own takes memory for it when there may be none. */
	mallopt(M_ARENA_MAX, 1);
}

/*
 * From here on freed heap stays ours, and big blocks come from the heap as well: a page
 * given back is one that we may not get again. Not so before, while libbpf takes and
 * frees megabytes.
 */
void memory_trim(void)
{
	malloc_trim(0);
	mallopt(M_MMAP_THRESHOLD, 16 << 20);
	mallopt(M_TRIM_THRESHOLD, 512 << 20);
}

/* Heap that was touched once and then freed is served again without a page fault. */
void memory_reserve(size_t bytes)
{
	volatile char *block = malloc(bytes);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (!block)
		return;
	for (size_t i = 0; i < bytes; i += page)
		block[i] = 1;
	free((void *)block);
}

static void lower_oom_score(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, OOM_SCORE, strlen(OOM_SCORE)) < 0)
		log_debug("cannot lower oom_score_adj: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
}

/*
 * Private writable memory is ours alone: the first write to each page of it needs a new
 * page. mlock() makes them all, where the kernel would otherwise wait for that write.
 */
static int populate_private(void)
{
	unsigned long start, end;
	char line[512], perms[8];
	FILE *f = fopen("/proc/self/maps", "re");
	int err = 0;

	if (!f)
		return -errno;
	while (!err && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %7s", &start, &end, perms) == 3 &&
		    strcmp(perms, "rw-p") == 0 && mlock((void *)start, end - start) < 0)
			err = -errno;
	fclose(f);
	return err;
}

void memory_hold(void)
{
	int err;

	/* On fault: of files, what was used so far stays, but what never was is not dragged in. */
	err = mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) < 0 ? -errno : populate_private();
	if (err)
		log_debug("cannot lock memory: %s", strerror(-err));
	lower_oom_score();
}
