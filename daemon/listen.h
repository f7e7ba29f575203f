/* SPDX-License-Identifier: BSD-2-Clause */
/* The address HTTP is served at: parsing, binding, and who holds it when we cannot. */
#ifndef PINWHY_LISTEN_H
#define PINWHY_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

struct listen_address {
	bool off;
	bool loopback;		/* reached from this machine alone */
	struct sockaddr_storage addr;
	socklen_t len;
};

/*
 * "127.0.0.1:9835", "[::1]:9835", "localhost:9835" or "off". -EINVAL with `*ret_wrong`, a
 * static sentence that continues "listen = 'X' ...".
 */
int listen_parse(const char *text, struct listen_address *ret_addr, const char **ret_wrong);

/* A listening, non-blocking socket. -errno from socket, bind or listen. */
int listen_open(const struct listen_address *a, int *ret_fd);

/*
 * The same in the file system, for who may open it: mode 0660, and of `group` unless that is "". One that a crash left behind
 * is replaced. -EADDRINUSE: somebody listens there; -EEXIST: it is no socket; -ESRCH: there is no such group; -EPERM: it may
 * not be given to that; else -errno.
 */
int listen_open_socket(const char *path, const char *group, int *ret_fd);

/*
 * Which process listens there, from /proc below `root` ("" on a live system). -ENOENT
 * when nobody is found, e.g. because it lives in another pid namespace.
 */
int listen_owner(const char *root, const struct listen_address *a, pid_t *ret_pid, char *ret_comm,
		 size_t comm_size);

#endif
