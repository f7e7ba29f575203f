// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "enrich/read.h"
#include "exposures/read_node.h"

#define PATH_LEN 512

static int32_t (*const readers[NODE_SOURCES])(const struct enrich *e, struct node *n) = {
#define SOURCE(name, path, what) read_##name,
#include "exposures/sources.def"
#undef SOURCE
};

static void unread(const struct enrich *e, const char *machine, int err, struct node *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (uint32_t i = 0; i < NODE_SOURCES; i++)
		ret->err[i] = err;
	ret->page_bytes = e->page_bytes;
	snprintf(ret->machine, sizeof(ret->machine), "%s", machine);
}

static void read_sources(const struct enrich *e, struct node *n)
{
	for (uint32_t i = 0; i < NODE_SOURCES; i++)
		n->err[i] = readers[i](e, n);
}

void node_read(const struct enrich *e, const char *machine, struct node *ret)
{
	unread(e, machine, -ENODATA, ret);
	read_sources(e, ret);
}

/* Waits for the child to end; kills it when it is late. */
static void wait_within(pid_t pid, unsigned int deadline_ms)
{
	int fd = pidfd_open(pid, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	/* Without a descriptor there is no waiting with a limit: what is there now must do. */
	while (fd >= 0 && poll(&p, 1, (int)deadline_ms) < 0 && errno == EINTR)
		;
	kill(pid, SIGKILL);
	if (fd >= 0)
		close(fd);
	/* A process that cannot even be killed is left behind: init inherits it. */
	waitpid(pid, NULL, WNOHANG);
}

void node_read_within(const struct enrich *e, const char *machine, unsigned int deadline_ms, struct node *ret)
{
	struct node *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	if (shared == MAP_FAILED) {
		unread(e, machine, -errno, ret);
		return;
	}
	unread(e, machine, -ETIMEDOUT, shared);
	pid = fork();
	if (pid == 0) {
		read_sources(e, shared);
		_exit(0);
	}
	if (pid < 0)
		unread(e, machine, -errno, shared);
	else
		wait_within(pid, deadline_ms);
	*ret = *shared;
	munmap(shared, sizeof(*shared));
}

/* --- helpers ------------------------------------------------------------------------ */

int node_line(const struct enrich *e, const char *path, char *ret, size_t size)
{
	FILE *in;
	int err = read_open(e->root, path, &in);

	if (err)
		return err;
	err = read_first_line(in, ret, size);
	fclose(in);
	return err;
}

int node_number(const struct enrich *e, const char *path, uint64_t *ret)
{
	char text[64];
	int err = node_line(e, path, text, sizeof(text));

	return err ? err : read_number(text, ret);
}

int node_dir(const struct enrich *e, const char *path, DIR **ret)
{
	char full[PATH_LEN];

	if (snprintf(full, sizeof(full), "%s%s", e->root, path) >= (int)sizeof(full))
		return -ENAMETOOLONG;
	*ret = opendir(full);
	return *ret ? 0 : -errno;
}

bool node_exists(const struct enrich *e, const char *path)
{
	char full[PATH_LEN];
	struct stat st;

	return snprintf(full, sizeof(full), "%s%s", e->root, path) < (int)sizeof(full) && stat(full, &st) == 0;
}

struct dirent *node_entry(DIR *dir)
{
	struct dirent *d;

	do
		d = readdir(dir);
	while (d && (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0));
	return d;
}

int32_t absent_is_fine(int err)
{
	return err == -ENOENT || err == -ENOTDIR ? NODE_ABSENT : err;
}

int node_debugfs(const struct enrich *e, int err)
{
	struct dirent *any;
	DIR *dir;
	int r;

	if (err != -ENOENT)
		return err;
	r = node_dir(e, "/sys/kernel/debug", &dir);
	if (r)
		return r == -ENOENT ? -ENODEV : r;
	any = node_entry(dir);
	closedir(dir);
	return any ? NODE_ABSENT : -ENODEV;
}
