// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lock.h"
#include "log.h"

struct lock {
	int fd;
};

/* Two names of one file must give one lock, so links are followed first. */
static int resolve(const char *target, char ret_path[PATH_MAX])
{
	char copy[PATH_MAX], dir[PATH_MAX];
	const char *slash = strrchr(target, '/');
	const char *base = slash ? slash + 1 : target;

	if (realpath(target, ret_path))
		return 0;
	if (errno != ENOENT)
		return -errno;
	if (snprintf(copy, sizeof(copy), "%.*s", slash ? (int)(slash - target + 1) : 2,
		     slash ? target : "./") >= (int)sizeof(copy))
		return -ENAMETOOLONG;
	if (!realpath(copy, dir))
		return -errno;
	if (snprintf(ret_path, PATH_MAX, "%s/%s", dir, base) >= PATH_MAX)
		return -ENAMETOOLONG;
	return 0;
}

static bool needs_lock(const char *target)
{
	struct stat st;

	return stat(target, &st) < 0 || S_ISREG(st.st_mode);
}

static pid_t read_owner(int fd)
{
	char text[24] = "";
	long pid;

	if (pread(fd, text, sizeof(text) - 1, 0) <= 0)
		return 0;
	pid = strtol(text, NULL, 10);
	return pid > 0 ? (pid_t)pid : 0;
}

/* A full disk must not keep the daemon down: then the lock has no pid in it. */
static void write_owner(int fd)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%ld\n", (long)getpid());

	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)n, 0) != n)
		log_warn("cannot write our pid into the lock file: %s", strerror(errno));
}

int lock_acquire(struct lock **ret_lock, const char *target, pid_t *ret_owner)
{
	char path[PATH_MAX], name[PATH_MAX + 8];
	struct lock *l = NULL;
	int fd = -1, err;

	if (!needs_lock(target)) {
		*ret_lock = NULL;
		return 0;
	}
	err = resolve(target, path);
	if (err)
		return err;
	snprintf(name, sizeof(name), "%s.lock", path);
	l = malloc(sizeof(*l));
	if (!l)
		return -ENOMEM;
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0) {
		err = -errno;
		goto out;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		err = errno == EWOULDBLOCK ? -EBUSY : -errno;
		if (err == -EBUSY)
			*ret_owner = read_owner(fd);
		goto out;
	}
	write_owner(fd);
	l->fd = fd;
	*ret_lock = l;
	return 0;
out:
	if (fd >= 0)
		close(fd);
	free(l);
	return err;
}

void lock_release(struct lock *l)
{
	if (!l)
		return;
	close(l->fd);
	free(l);
}
