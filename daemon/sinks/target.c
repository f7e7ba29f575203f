// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "sinks/target.h"

#define REPORT_MODE 0640	/* reports name processes, paths and addresses */
#define TORN_MAX (1L << 20)	/* longer than any report: not ours to cut */

enum how {
	HOW_FILE,	/* never waits for a reader */
	HOW_OWN,	/* our own open file description, non-blocking */
	HOW_SOCKET,	/* non-blocking call by call */
	HOW_SHARED,	/* shared with others and blocking: look before each small write */
};

struct target {
	int fd;
	enum how how;
	bool lines;
	char *path;
};

/*
 * Standard output belongs to others too, so O_NONBLOCK must not be set on it: the flag
 * would be theirs as well. A pipe or terminal is opened once more through /proc, which
 * gives a description of our own. A socket cannot be, but takes the flag call by call.
 */
static int open_stdout(int *ret_fd, enum how *ret_how)
{
	struct stat st;
	int fd;

	if (fstat(STDOUT_FILENO, &st) < 0)
		return -errno;
	*ret_how = S_ISREG(st.st_mode) ? HOW_FILE : S_ISSOCK(st.st_mode) ? HOW_SOCKET : HOW_SHARED;
	if (*ret_how == HOW_SHARED) {
		fd = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (fd >= 0) {
			*ret_how = HOW_OWN;
			*ret_fd = fd;
			return 0;
		}
	}
	fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

static int open_path(const char *path, int *ret_fd, enum how *ret_how)
{
	/* Readable for the repair; on a FIFO that also means that it opens before its reader does. */
	int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		      REPORT_MODE);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0) {
		int err = -errno;

		close(fd);
		return err;
	}
	*ret_how = S_ISREG(st.st_mode) ? HOW_FILE : HOW_OWN;
	*ret_fd = fd;
	return 0;
}

/* Offset behind the last line break of a file of `size` bytes, 0 when there is none. */
static int find_line_end(int fd, off_t size, off_t *ret_end)
{
	char block[4096];
	off_t pos = size;

	while (pos > 0) {
		off_t from = pos > (off_t)sizeof(block) ? pos - (off_t)sizeof(block) : 0;
		ssize_t n = pread(fd, block, (size_t)(pos - from), from);
		const char *nl;

		if (n != pos - from)
			return n < 0 ? -errno : -EIO;
		nl = memrchr(block, '\n', (size_t)n);
		if (nl) {
			*ret_end = from + (nl - block) + 1;
			return 0;
		}
		pos = from;
		if (size - pos > TORN_MAX)
			return -EBADMSG;
	}
	*ret_end = 0;
	return 0;
}

/* Removes a last line that is not complete, if it looks like the beginning of a report. */
static int repair(int fd, const char *path, uint64_t *ret_repaired)
{
	struct stat st;
	off_t end;
	char first;
	int err;

	if (fstat(fd, &st) < 0)
		return -errno;
	err = find_line_end(fd, st.st_size, &end);
	if (err)
		return err;
	if (end == st.st_size)
		return 0;
	if (pread(fd, &first, 1, end) != 1)
		return -EIO;
	/* A crash of the machine can leave zeros where the report should be. */
	if (first != '{' && first != '\0')
		return -EBADMSG;
	if (ftruncate(fd, end) < 0)
		return -errno;
	*ret_repaired = (uint64_t)(st.st_size - end);
	log_warn("%s ended in a report cut short: removed its %lld bytes", path,
		 (long long)(st.st_size - end));
	return 0;
}

static int open_any(const char *path, bool lines, int *ret_fd, enum how *ret_how,
		    uint64_t *ret_repaired)
{
	enum how how;
	int fd, err;

	if (strcmp(path, "-") == 0)
		return open_stdout(ret_fd, ret_how);
	err = open_path(path, &fd, &how);
	if (err)
		return err;
	if (lines && how == HOW_FILE)
		err = repair(fd, path, ret_repaired);
	if (err) {
		close(fd);
		return err;
	}
	*ret_fd = fd;
	*ret_how = how;
	return 0;
}

static void explain_failure(const char *path, int err)
{
	if (err == -EBADMSG)
		log_error("%s does not end like a file of reports: it is left alone, choose another file",
			  path);
	else if (err == -ENOENT)
		log_error("cannot write reports to %s: its directory does not exist, create it first",
			  path);
	else
		log_error("cannot write reports to %s: %s", path, strerror(-err));
}

int target_open(void **ret_priv, const char *path, bool lines, uint64_t *ret_repaired)
{
	struct target *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->lines = lines;
	t->path = strdup(path);
	err = t->path ? open_any(path, lines, &t->fd, &t->how, ret_repaired) : -ENOMEM;
	if (err) {
		explain_failure(path, err);
		free(t->path);
		free(t);
		return err;
	}
	*ret_priv = t;
	return 0;
}

ssize_t target_write(void *priv, const char *data, size_t len)
{
	const struct target *t = priv;
	struct pollfd p = { .fd = t->fd, .events = POLLOUT };
	ssize_t n;

	if (t->how == HOW_SHARED) {
		if (poll(&p, 1, 0) != 1)
			return -EAGAIN;
		/* With room at all, a pipe has room for this much. */
		if (len > PIPE_BUF)
			len = PIPE_BUF;
	}
	if (t->how == HOW_SOCKET)
		n = send(t->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	else
		n = write(t->fd, data, len);
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	return n;
}

/* We are the only writer, so the bytes at the end are ours. */
static void take_back(const struct target *t, size_t begun)
{
	struct stat st;

	if (!begun || t->how != HOW_FILE || strcmp(t->path, "-") == 0)
		return;
	if (fstat(t->fd, &st) < 0 || st.st_size < (off_t)begun ||
	    ftruncate(t->fd, st.st_size - (off_t)begun) < 0)
		log_warn("%s ends in a report cut short", t->path);
}

static bool same_file(int a, int b)
{
	struct stat sa, sb;

	return fstat(a, &sa) == 0 && fstat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino;
}

int target_reopen(void *priv, size_t begun)
{
	struct target *t = priv;
	uint64_t repaired = 0;
	enum how how;
	int fd, err = 0;

	/* A stream has no other place to go on in. */
	if (strcmp(t->path, "-") == 0 || t->how != HOW_FILE)
		return 1;
	err = open_path(t->path, &fd, &how);
	if (err)
		return err;
	if (same_file(fd, t->fd)) {
		close(fd);
		return 1;
	}
	if (t->lines && how == HOW_FILE)
		err = repair(fd, t->path, &repaired);
	if (err) {
		close(fd);
		return err;
	}
	take_back(t, begun);
	close(t->fd);
	t->fd = fd;
	t->how = how;
	return 0;
}

int target_fd(const void *priv)
{
	const struct target *t = priv;

	return t->how == HOW_FILE ? -1 : t->fd;
}

void target_close(void *priv, size_t begun)
{
	struct target *t = priv;

	if (!t)
		return;
	take_back(t, begun);
	close(t->fd);
	free(t->path);
	free(t);
}
