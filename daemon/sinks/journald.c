// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reports into the systemd journal, by its native protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL): one datagram per
 * report. Spoken here and not by libsystemd, whose sd_journal_sendv() blocks while the journal's socket is full, and
 * which brings its compressors along into a process that is to stay small.
 */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json_object.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "log.h"
#include "sinks/fields.h"
#include "sinks/ops.h"

struct journald {
	int fd;		/* connected, -1 = not */
	struct sockaddr_un address;
};

static bool journald_wanted(const struct config *c)
{
	return c->journald_enabled;
}

/* The journal may be started later, or again: an address that is not there is tried again. */
static int reach(struct journald *j)
{
	int fd, err;

	if (j->fd >= 0)
		return 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&j->address, sizeof(j->address)) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	j->fd = fd;
	return 0;
}

static int journald_open(void **ret_priv, const struct config *c, uint64_t *ret_repaired)
{
	struct journald *j = calloc(1, sizeof(*j));
	int err;

	(void)ret_repaired;
	if (!j)
		return -ENOMEM;
	j->fd = -1;
	j->address.sun_family = AF_UNIX;
	strcpy(j->address.sun_path, c->journald_socket);
	err = reach(j);
	if (err)
		log_warn("sink=journald cannot reach %s: %s; trying again when there is a report", c->journald_socket,
			 strerror(-err));
	*ret_priv = j;
	return 0;
}

/* "NAME=value\n"; a value with control characters in it goes with its length before it, as it is. */
static void add(FILE *f, const char *name, const char *value, size_t len)
{
	unsigned char size[8];
	bool plain = true;

	for (size_t i = 0; i < len && plain; i++)
		plain = (unsigned char)value[i] >= ' ' || value[i] == '\t';
	if (plain) {
		fprintf(f, "%s=", name);
	} else {
		for (int i = 0; i < 8; i++)
			size[i] = (unsigned char)((uint64_t)len >> (8 * i));
		fprintf(f, "%s\n", name);
		fwrite(size, 1, sizeof(size), f);
	}
	fwrite(value, 1, len, f);
	fputc('\n', f);
}

static void add_string(FILE *f, const char *name, const char *value)
{
	add(f, name, value, strlen(value));
}

static void add_fields(FILE *f, const struct report *report)
{
	char headline[HEADLINE_MAX], id[MESSAGE_ID_LEN], priority[2] = { 0 };

	priority[0] = (char)('0' + fields_priority(report->kind));
	add_string(f, "MESSAGE", fields_headline(report->json, headline));
	add_string(f, "MESSAGE_ID", fields_message_id(report->kind, report->cause, id));
	add_string(f, "PRIORITY", priority);
	add_string(f, "SYSLOG_IDENTIFIER", "pinwhy");
	for (size_t i = 0; i < nfields; i++) {
		struct json_object *value = field_value(report->json, fields[i].path);
		const char *s = value ? json_object_get_string(value) : NULL;

		if (s)
			add_string(f, fields[i].journal, s);
	}
	add(f, "PINWHY_REPORT", report->line, report->line_len);
}

static int journald_render(void *priv, const struct report *report, char **ret_data, size_t *ret_len)
{
	char *data = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&data, &len);
	bool bad;

	(void)priv;
	if (!f)
		return -ENOMEM;
	add_fields(f, report);
	bad = ferror(f) != 0;
	if (fclose(f) != 0 || bad || !len) {
		free(data);
		return -ENOMEM;
	}
	*ret_data = data;
	*ret_len = len;
	return 0;
}

/* What is too long for a datagram goes as a file without a name, sealed so that the reader can trust it. */
static ssize_t send_memfd(int fd, const char *data, size_t len)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct msghdr msg = { .msg_control = control.space, .msg_controllen = sizeof(control.space) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int memfd = memfd_create("pinwhy-report", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ssize_t r = -1;

	if (memfd < 0)
		return -errno;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &memfd, sizeof(int));
	if (write(memfd, data, len) == (ssize_t)len &&
	    fcntl(memfd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == 0)
		r = sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	r = r < 0 ? -errno : (ssize_t)len;
	close(memfd);
	return r;
}

static ssize_t journald_write(void *priv, const char *data, size_t len)
{
	struct journald *j = priv;
	ssize_t n;
	int err = reach(j);

	if (err)
		return err;
	n = send(j->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	n = n < 0 ? -errno : n;
	if (n == -EMSGSIZE || n == -ENOBUFS)
		n = send_memfd(j->fd, data, len);
	if (n == -EINTR)
		return -EAGAIN;
	if (n < 0 && n != -EAGAIN) {
		/* It ended; whoever comes next has another socket. sink.c asks for the descriptor and sees that it has gone. */
		close(j->fd);
		j->fd = -1;
	}
	return n;
}

static int journald_fd(const void *priv)
{
	const struct journald *j = priv;

	return j->fd;
}

static const char *journald_target(const void *priv)
{
	const struct journald *j = priv;

	return j->address.sun_path;
}

static void journald_close(void *priv)
{
	struct journald *j = priv;

	if (j->fd >= 0)
		close(j->fd);
	free(j);
}

const struct sink_ops sink_journald = {
	.wanted = journald_wanted, .open = journald_open, .render = journald_render, .target = journald_target,
	.close = journald_close, .write = journald_write, .fd = journald_fd,
};
