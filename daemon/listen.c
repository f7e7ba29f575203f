// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "listen.h"

#define BACKLOG 128
#define TCP_LISTEN_STATE 0x0a	/* TCP_LISTEN as /proc/net/tcp prints it */

static int parse_port(const char *text, uint16_t *ret_port)
{
	unsigned long n;
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return -EINVAL;
	n = strtoul(text, &end, 10);
	if (*end || n < 1 || n > 65535)
		return -EINVAL;
	*ret_port = (uint16_t)n;
	return 0;
}

static bool is_loopback(const struct listen_address *a)
{
	if (a->addr.ss_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)&a->addr;

		return ntohl(in->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	}
	return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)&a->addr)->sin6_addr);
}

static int parse_host(const char *host, uint16_t port, struct listen_address *a)
{
	struct sockaddr_in *in = (void *)&a->addr;
	struct sockaddr_in6 *in6 = (void *)&a->addr;

	if (host[0] == '[') {
		size_t len = strlen(host);
		char inner[INET6_ADDRSTRLEN + 2];

		if (len < 2 || len > sizeof(inner) || host[len - 1] != ']')
			return -EINVAL;
		snprintf(inner, sizeof(inner), "%.*s", (int)len - 2, host + 1);
		if (inet_pton(AF_INET6, inner, &in6->sin6_addr) != 1)
			return -EINVAL;
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		a->len = sizeof(*in6);
		return 0;
	}
	if (inet_pton(AF_INET, strcmp(host, "localhost") ? host : "127.0.0.1", &in->sin_addr) != 1)
		return -EINVAL;
	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	a->len = sizeof(*in);
	return 0;
}

int listen_parse(const char *text, struct listen_address *ret_addr, const char **ret_wrong)
{
	struct listen_address a = { 0 };
	const char *colon = strrchr(text, ':');
	char host[64];
	uint16_t port;

	if (strcmp(text, "off") == 0) {
		a.off = true;
		*ret_addr = a;
		return 0;
	}
	*ret_wrong = "is not ADDR:PORT or off, for example 127.0.0.1:9835";
	if (!colon || colon == text || (size_t)(colon - text) >= sizeof(host))
		return -EINVAL;
	if (parse_port(colon + 1, &port) < 0) {
		*ret_wrong = "has no port between 1 and 65535";
		return -EINVAL;
	}
	snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
	if (parse_host(host, port, &a) < 0) {
		*ret_wrong = "has no numeric address: write 127.0.0.1:PORT, [::1]:PORT, or 0.0.0.0:PORT or [::]:PORT for all of them";
		return -EINVAL;
	}
	a.loopback = is_loopback(&a);
	*ret_addr = a;
	return 0;
}

int listen_open(const struct listen_address *a, int *ret_fd)
{
	int fd, one = 1, err;

	fd = socket(a->addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* A restart must not wait for connections of the last run to time out. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
	    bind(fd, (const struct sockaddr *)&a->addr, a->len) < 0 || listen(fd, BACKLOG) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	*ret_fd = fd;
	return 0;
}

/* Does somebody answer there? What a crash left behind is a file that nobody listens at. */
static bool is_alive(const struct sockaddr_un *un)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	bool alive = fd >= 0 && (connect(fd, (const struct sockaddr *)un, sizeof(*un)) == 0 || errno == EAGAIN);

	if (fd >= 0)
		close(fd);
	return alive;
}

static int remove_stale(const struct sockaddr_un *un)
{
	struct stat st;

	if (lstat(un->sun_path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	if (is_alive(un))
		return -EADDRINUSE;
	return unlink(un->sun_path) < 0 ? -errno : 0;
}

static int find_group(const char *name, gid_t *ret_gid)
{
	struct group *g = *name ? getgrnam(name) : NULL;

	if (*name && !g)
		return -ESRCH;
	/* Files of ours are of this one anyway. */
	*ret_gid = g && g->gr_gid != getegid() ? g->gr_gid : (gid_t)-1;
	return 0;
}

int listen_open_socket(const char *path, const char *group, int *ret_fd)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	mode_t mask;
	gid_t gid;
	int fd, err;

	if (strlen(path) >= sizeof(un.sun_path))
		return -ENAMETOOLONG;
	strcpy(un.sun_path, path);
	err = find_group(group, &gid);
	if (!err)
		err = remove_stale(&un);
	if (err)
		return err;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* Nobody else before it has its mode and group. */
	mask = umask(0177);
	err = bind(fd, (const struct sockaddr *)&un, sizeof(un)) < 0 ? -errno : 0;
	umask(mask);
	if (!err && ((gid != (gid_t)-1 && chown(path, (uid_t)-1, gid) < 0) || chmod(path, 0660) < 0 || listen(fd, BACKLOG) < 0)) {
		err = -errno;
		unlink(path);
	}
	if (err) {
		close(fd);
		return err;
	}
	*ret_fd = fd;
	return 0;
}

static uint16_t port_of(const struct listen_address *a)
{
	if (a->addr.ss_family == AF_INET)
		return ntohs(((const struct sockaddr_in *)&a->addr)->sin_port);
	return ntohs(((const struct sockaddr_in6 *)&a->addr)->sin6_port);
}

/* Inode of a socket listening on `port`, from one of /proc/net/tcp and tcp6; 0 = none. */
static unsigned long find_inode(const char *path, uint16_t port)
{
	unsigned long found = 0;
	char line[512];
	FILE *f = fopen(path, "re");

	if (!f)
		return 0;
	while (!found && fgets(line, sizeof(line), f)) {
		unsigned int local_port, state;
		unsigned long inode;

		if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %*u %*d %lu",
			   &local_port, &state, &inode) == 3 &&
		    local_port == port && state == TCP_LISTEN_STATE)
			found = inode;
	}
	fclose(f);
	return found;
}

/* Does the process whose /proc directory is `dir` hold the socket? */
static bool holds_socket(const char *dir, unsigned long inode)
{
	char path[600], want[64], link[64];
	struct dirent *e;
	bool found = false;
	DIR *d;

	snprintf(want, sizeof(want), "socket:[%lu]", inode);
	snprintf(path, sizeof(path), "%s/fd", dir);
	d = opendir(path);
	if (!d)
		return false;
	while (!found && (e = readdir(d))) {
		ssize_t n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);

		if (n <= 0)
			continue;
		link[n] = '\0';
		found = strcmp(link, want) == 0;
	}
	closedir(d);
	return found;
}

static void read_comm(const char *dir, char *ret_comm, size_t size)
{
	char path[600];
	FILE *f;

	snprintf(path, sizeof(path), "%s/comm", dir);
	ret_comm[0] = '\0';
	f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(ret_comm, (int)size, f))
		ret_comm[strcspn(ret_comm, "\n")] = '\0';
	fclose(f);
}

int listen_owner(const char *root, const struct listen_address *a, pid_t *ret_pid, char *ret_comm,
		 size_t comm_size)
{
	static const char *const tables[] = { "tcp", "tcp6" };
	char path[512];
	unsigned long inode = 0;
	int err = -ENOENT;
	struct dirent *e;
	DIR *d;

	for (int i = 0; i < 2 && !inode; i++) {
		snprintf(path, sizeof(path), "%s/proc/net/%s", root, tables[i]);
		inode = find_inode(path, port_of(a));
	}
	if (!inode)
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/proc", root);
	d = opendir(path);
	if (!d)
		return -errno;
	while (err && (e = readdir(d))) {
		long pid = strtol(e->d_name, NULL, 10);

		if (pid <= 0)
			continue;
		snprintf(path, sizeof(path), "%s/proc/%ld", root, pid);
		if (!holds_socket(path, inode))
			continue;
		read_comm(path, ret_comm, comm_size);
		*ret_pid = (pid_t)pid;
		err = 0;
	}
	closedir(d);
	return err;
}
