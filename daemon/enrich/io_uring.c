// SPDX-License-Identifier: BSD-2-Clause
/*
 * Memory that a process has registered with io_uring. It is charged to the same mm->pinned_vm as memory
 * regions are, so it tells which of the two filled the limit. Counted are the pages that the buffers
 * span; the kernel charges a huge page whole, and a buffer in two rings in each.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "enrich/enrich.h"
#include "enrich/read.h"
#include "enrich/uring.h"

#define FDS_MAX 4096
#define RINGS_MAX 64
#define TRIES 3

/* A kernel's own buffer, which has no address, is shown at 0. */
static void add_buffer(struct uring *u, uint64_t start, uint64_t bytes)
{
	if (!bytes)
		return;
	u->pages += (start + bytes - 1) / u->page_bytes - start / u->page_bytes + 1;
	if (!start || start >= u->to || start + bytes <= u->from)
		return;
	if (u->nmet == URING_MET_MAX) {
		u->more = true;
		return;
	}
	u->met[u->nmet].start = start;
	u->met[u->nmet++].bytes = bytes;
}

static void forget_buffers(struct uring *u)
{
	u->pages = 0;
	u->nmet = 0;
	u->more = false;
}

/*
 * "UserBufs:\t<n>", then n lines "    0: 0x7f0000000000/4096" or, since 6.13, "    1: <none>". The same on
 * 5.10 to 7.3. Names of registered files stand before it, up to 6.12 as they are: a name with line
 * breaks can look like it, so the last one counts. A tab in a name is escaped since.
 */
static int read_buffers(FILE *in, struct uring *u)
{
	uint64_t left = 0, start, bytes;
	bool any = false;
	char line[256];

	while (fgets(line, sizeof(line), in)) {
		if (strncmp(line, "UserBufs:\t", strlen("UserBufs:\t")) == 0) {
			if (read_number(line + strlen("UserBufs:\t"), &left) < 0)
				return -EBADMSG;
			any = true;
			forget_buffers(u);
			continue;
		}
		if (!left)
			continue;
		left--;
		if (strstr(line, ": <none>"))
			continue;
		if (sscanf(line, " %*u: 0x%" SCNx64 "/%" SCNu64, &start, &bytes) != 2 || start + bytes < start) {
			/* Not a row: the ring was busy, and the kernel went on without them. */
			return -EBUSY;
		}
		add_buffer(u, start, bytes);
	}
	if (left)
		return -EBUSY;
	return any ? 0 : -EOPNOTSUPP;
}

/*
 * Newer kernels leave the whole section out while the ring is busy, older ones its rows: what is still
 * missing after a few looks is told as it was found. It is -EOPNOTSUPP for a kernel without the section.
 */
int uring_read(int proc_fd, const char *fd_name, struct uring *u)
{
	char path[NAME_MAX + 16];
	int err = -EBUSY;
	FILE *in;

	snprintf(path, sizeof(path), "fdinfo/%s", fd_name);
	for (int i = 0; i < TRIES && (err == -EBUSY || err == -EOPNOTSUPP); i++) {
		forget_buffers(u);
		err = read_open_at(proc_fd, path, &in);
		if (err)
			return err;
		err = read_buffers(in, u);
		fclose(in);
	}
	return err;
}

struct rings {
	unsigned long fds[RINGS_MAX];
	uint32_t n;
};

/* A ring has one file however many descriptors it has. Where that cannot be asked they count apart. */
static bool seen(const struct enrich *e, uint32_t tgid, struct rings *r, unsigned long fd)
{
	uint32_t i;

	for (i = 0; i < r->n && !e->root[0]; i++)
		if (syscall(SYS_kcmp, tgid, tgid, KCMP_FILE, r->fds[i], fd) == 0)
			return true;
	if (r->n < RINGS_MAX)
		r->fds[r->n++] = fd;
	return false;
}

static int sum_rings(const struct enrich *e, uint32_t tgid, int proc_fd, DIR *dir, uint64_t *ret_pages)
{
	struct uring u = { .page_bytes = e->page_bytes };
	uint64_t sum = 0;
	struct rings rings = { 0 };
	char target[64];
	struct dirent *d;
	uint32_t fds = 0;
	ssize_t n;
	int err;

	while ((d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		if (++fds > FDS_MAX)
			return -E2BIG;
		n = readlinkat(dirfd(dir), d->d_name, target, sizeof(target));
		if (n != (ssize_t)strlen(URING_LINK) || memcmp(target, URING_LINK, strlen(URING_LINK)) != 0 ||
		    seen(e, tgid, &rings, strtoul(d->d_name, NULL, 10)))
			continue;
		err = uring_read(proc_fd, d->d_name, &u);
		/* It was closed while we looked. */
		if (err == -ENOENT)
			continue;
		if (err)
			return err;
		sum += u.pages;
	}
	*ret_pages = sum;
	return 0;
}

void enrich_io_uring(const struct enrich *e, const struct facts_request *req, int proc_fd, struct facts *f)
{
	int fd = openat(proc_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		ENRICH_FAIL(f, io_uring_pages, -errno);
		if (fd >= 0)
			close(fd);
		return;
	}
	ENRICH_FAIL(f, io_uring_pages, sum_rings(e, req->tgid, proc_fd, dir, &f->io_uring_pages));
	closedir(dir);
}
