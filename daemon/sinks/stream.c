// SPDX-License-Identifier: BSD-2-Clause
/* Standard output, or a pipe, terminal or other device of that path: written to without ever waiting for a reader. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "sinks/file.h"
#include "sinks/ops.h"

enum how {
	HOW_OWN,	/* our own open file description, non-blocking */
	HOW_SOCKET,	/* non-blocking call by call */
	HOW_SHARED,	/* shared with others and blocking: look before each small write */
};

struct stream {
	int fd;
	enum how how;
	bool waits;	/* epoll can wait for it */
	bool text;
	char path[CONFIG_STR_MAX];
};

static bool stream_wanted(const struct config *c)
{
	return strcmp(c->reports, "off") != 0 && !file_is_target(c->reports);
}

/*
 * Standard output belongs to others too, so O_NONBLOCK must not be set on it: the flag
 * would be theirs as well. A pipe or terminal is opened once more through /proc, which
 * gives a description of our own. A socket cannot be, but takes the flag call by call.
 */
static int open_stdout(struct stream *t)
{
	struct stat st;

	if (fstat(STDOUT_FILENO, &st) < 0)
		return -errno;
	t->how = S_ISSOCK(st.st_mode) ? HOW_SOCKET : HOW_SHARED;
	/* Nobody reads from a file: it never is full of what was not read yet. */
	t->waits = !S_ISREG(st.st_mode);
	t->fd = -1;
	if (t->how == HOW_SHARED && t->waits)
		t->fd = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (t->fd >= 0) {
		t->how = HOW_OWN;
		return 0;
	}
	t->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return t->fd < 0 ? -errno : 0;
}

static int open_path(struct stream *t)
{
	t->how = HOW_OWN;
	t->waits = true;
	/* Readable: so a FIFO opens before its reader does. */
	t->fd = open(t->path, O_RDWR | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return t->fd < 0 ? -errno : 0;
}

static int stream_open(void **ret_priv, const struct config *c, uint64_t *ret_repaired)
{
	struct stream *t = calloc(1, sizeof(*t));
	int err;

	(void)ret_repaired;
	if (!t)
		return -ENOMEM;
	strcpy(t->path, c->reports);
	t->text = strcmp(c->format, "text") == 0;
	err = strcmp(t->path, "-") == 0 ? open_stdout(t) : open_path(t);
	if (err) {
		log_error("cannot write reports to %s: %s", t->path, strerror(-err));
		free(t);
		return err;
	}
	*ret_priv = t;
	return 0;
}

static int stream_render(void *priv, const struct report *report, char **ret_data, size_t *ret_len)
{
	const struct stream *t = priv;

	return t->text ? render_text(report, ret_data, ret_len) : render_line(report, ret_data, ret_len);
}

static ssize_t stream_write(void *priv, const char *data, size_t len)
{
	const struct stream *t = priv;
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

static int stream_fd(const void *priv)
{
	const struct stream *t = priv;

	return t->waits ? t->fd : -1;
}

static const char *stream_target(const void *priv)
{
	const struct stream *t = priv;

	return strcmp(t->path, "-") == 0 ? "standard output" : t->path;
}

static void stream_close(void *priv)
{
	struct stream *t = priv;

	close(t->fd);
	free(t);
}

const struct sink_ops sink_stream = {
	.wanted = stream_wanted, .open = stream_open, .render = stream_render, .target = stream_target,
	.close = stream_close, .write = stream_write, .fd = stream_fd,
};
