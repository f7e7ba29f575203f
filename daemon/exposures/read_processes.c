// SPDX-License-Identifier: BSD-2-Clause
/* What processes and cgroups are limited to. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "enrich/read.h"
#include "exposures/read_node.h"

/* Opens /proc/PID, NULL at the end. The caller closes *ret_fd. */
static struct dirent *next_process(DIR *proc, int *ret_fd)
{
	struct dirent *d;

	while ((d = node_entry(proc))) {
		if (d->d_name[0] < '1' || d->d_name[0] > '9')
			continue;
		*ret_fd = openat(dirfd(proc), d->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (*ret_fd >= 0)
			return d; /* else it has ended */
	}
	return NULL;
}

static int process_line(int fd, const char *name, char *ret, size_t size)
{
	FILE *in;
	int err = read_open_at(fd, name, &in);

	if (err)
		return err;
	err = read_first_line(in, ret, size);
	fclose(in);
	return err;
}

/* A process that ends while it is looked at is no failure. */
static bool has_ended(int err)
{
	return err == -ENOENT || err == -ESRCH;
}

/* --- services ------------------------------------------------------------------------- */

static const struct {
	const char *comm;
	enum node_service_kind kind;
} service_names[] = {
	{ "slurmd", SERVICE_SCHEDULER }, { "slurmstepd", SERVICE_SCHEDULER }, { "pbs_mom", SERVICE_SCHEDULER },
	{ "sbatchd", SERVICE_SCHEDULER }, { "res", SERVICE_SCHEDULER },
	{ "kubelet", SERVICE_CONTAINERS }, { "containerd", SERVICE_CONTAINERS },
	{ "dockerd", SERVICE_CONTAINERS }, { "crio", SERVICE_CONTAINERS },
	{ "sshd", SERVICE_LOGIN }, { "systemd", SERVICE_LOGIN },
};

static bool ends_with(const char *s, size_t len, const char *suffix)
{
	size_t n = strlen(suffix);

	return len > n && strncmp(s + len - n, suffix, n) == 0;
}

/*
 * The last part of a cgroup's path that is a unit: below it are groups the service made itself. A
 * manager of services sits in a scope of its own below its unit, which is the one with settings.
 */
static void unit_of(const char *path, char *ret, size_t size)
{
	size_t len;

	for (; *path; path += len) {
		path += strspn(path, "/");
		len = strcspn(path, "/\n");
		if (*path == '\n')
			break;
		if (ret[0] && len == strlen("init.scope") && strncmp(path, "init.scope", len) == 0)
			continue;
		if (ends_with(path, len, ".service") || ends_with(path, len, ".scope"))
			snprintf(ret, size, "%.*s", (int)len, path);
	}
}

static void read_unit(int fd, char *ret, size_t size)
{
	char line[PATH_MAX];
	FILE *in;

	ret[0] = '\0';
	if (read_open_at(fd, "cgroup", &in))
		return;
	while (fgets(line, sizeof(line), in)) {
		const char *path = strchr(line, '/');

		/* Version 2, or systemd's own hierarchy in version 1. */
		if (path && (strncmp(line, "0::", 3) == 0 || strstr(line, ":name=systemd:")))
			unit_of(path, ret, size);
	}
	fclose(in);
}

static bool limit_value(const char *text, uint64_t *ret)
{
	text += strspn(text, " ");
	if (strncmp(text, "unlimited", 9) == 0) {
		*ret = UINT64_MAX;
		return true;
	}
	return read_number(text, ret) == 0;
}

/* "Max locked memory         8388608              8388608              bytes". */
static int read_limits(int fd, struct node_service *s)
{
	char line[256];
	FILE *in;
	int err = read_open_at(fd, "limits", &in);

	if (err)
		return err;
	err = -EBADMSG;
	while (err && fgets(line, sizeof(line), in)) {
		const char *p = line + strlen("Max locked memory");

		if (strncmp(line, "Max locked memory ", 18) != 0)
			continue;
		p += strspn(p, " ");
		if (limit_value(p, &s->soft_bytes) && limit_value(p + strcspn(p, " "), &s->hard_bytes))
			err = 0;
		break;
	}
	fclose(in);
	return err;
}

static bool same(const struct node_service *a, const struct node_service *b)
{
	return !strcmp(a->comm, b->comm) && !strcmp(a->unit, b->unit) && a->uid == b->uid &&
	       a->soft_bytes == b->soft_bytes && a->hard_bytes == b->hard_bytes;
}

static void add_service(struct node *n, const struct node_service *s)
{
	for (uint32_t i = 0; i < n->nservices; i++)
		if (same(&n->services[i], s)) {
			n->services[i].count++;
			return;
		}
	if (n->nservices == NODE_SERVICES_MAX)
		n->services_left_out++;
	else
		n->services[n->nservices++] = *s;
}

/* Is it one that starts jobs? */
static bool known_service(int fd, struct node_service *s)
{
	char comm[64];
	size_t i;

	if (process_line(fd, "comm", comm, sizeof(comm)))
		return false;
	for (i = 0; i < sizeof(service_names) / sizeof(service_names[0]); i++)
		if (strcmp(comm, service_names[i].comm) == 0)
			break;
	if (i == sizeof(service_names) / sizeof(service_names[0]))
		return false;
	snprintf(s->comm, sizeof(s->comm), "%s", service_names[i].comm);
	s->kind = service_names[i].kind;
	read_unit(fd, s->unit, sizeof(s->unit));
	/* Of systemd's processes the managers of users: services of the first have limits of their own. */
	return strcmp(s->comm, "systemd") != 0 || strncmp(s->unit, "user@", 5) == 0;
}

int32_t read_services(const struct enrich *e, struct node *n)
{
	struct dirent *d;
	DIR *proc;
	int fd, err = node_dir(e, "/proc", &proc);

	if (err)
		return err;
	while ((d = next_process(proc, &fd))) {
		struct node_service s = { .pid = (uint32_t)strtoul(d->d_name, NULL, 10), .count = 1 };
		struct stat st;

		if (known_service(fd, &s)) {
			s.uid = fstat(fd, &st) == 0 ? st.st_uid : 0;
			err = read_limits(fd, &s);
			if (!err)
				add_service(n, &s);
			else if (!has_ended(err))
				n->services_unread++;
		}
		close(fd);
	}
	closedir(proc);
	return 0;
}

/* --- mappings ------------------------------------------------------------------------- */

#define MAPS_LINES_MAX 4000000	/* of all processes: a second or two */

/* Counts what counts against vm.max_map_count; the kernel's own page for system calls does not. */
static int count_maps(int fd, uint64_t *ret_count, bool *ret_verbs)
{
	uint64_t count = 0;
	bool verbs = false, begins = true;
	char line[512];
	FILE *in;
	int err = read_open_at(fd, "maps", &in);

	if (err)
		return err;
	errno = 0;
	while (fgets(line, sizeof(line), in)) {
		if (begins && !strstr(line, "[vsyscall]"))
			count++;
		verbs |= strstr(line, "/libibverbs.so") != NULL;
		begins = strchr(line, '\n') != NULL; /* a path may be longer than this */
	}
	err = ferror(in) && errno ? -errno : 0;
	fclose(in);
	*ret_count = count;
	*ret_verbs = verbs;
	return err;
}

static void look_at_maps(int fd, const char *pid, struct node *n, uint64_t *lines)
{
	uint64_t count;
	bool verbs;
	int err = count_maps(fd, &count, &verbs);

	if (err) {
		if (!has_ended(err)) {
			n->maps_unread++;
			n->maps_unread_err = err;
		}
		return;
	}
	*lines += count;
	if (!verbs)
		return;
	n->map_processes++;
	if (count <= n->map_count)
		return;
	n->map_count = count;
	n->map_pid = (uint32_t)strtoul(pid, NULL, 10);
	if (process_line(fd, "comm", n->map_comm, sizeof(n->map_comm)))
		n->map_comm[0] = '\0';
}

int32_t read_map_counts(const struct enrich *e, struct node *n)
{
	uint64_t lines = 0;
	struct dirent *d;
	DIR *proc;
	int fd, err = node_number(e, "/proc/sys/vm/max_map_count", &n->max_map_count);

	if (!err)
		err = node_dir(e, "/proc", &proc);
	if (err)
		return err;
	while ((d = next_process(proc, &fd))) {
		if (lines < MAPS_LINES_MAX)
			look_at_maps(fd, d->d_name, n, &lines);
		else
			n->maps_left_out++;
		close(fd);
	}
	closedir(proc);
	return 0;
}

/* --- rdma controller --------------------------------------------------------------------- */

#define CGROUPS "/sys/fs/cgroup"
#define CGROUP_DEPTH_MAX 3
#define CGROUP_DIRS_MAX 2048

/* "mlx5_0 hca_handle=2 hca_object=max": a limit unless both are max. */
static bool is_limit(const char *line)
{
	for (const char *p = strchr(line, '='); p; p = strchr(p + 1, '='))
		if (strncmp(p + 1, "max", 3) != 0)
			return true;
	return false;
}

static void add_limit(struct node *n, const char *cgroup, const char *line)
{
	size_t len = strcspn(line, "\n");

	if (n->nlimits == NODE_LIMITS_MAX) {
		n->limits_left_out++;
		return;
	}
	while (len > 0 && line[len - 1] == ' ') /* the kernel puts one behind each limit */
		len--;
	snprintf(n->limits[n->nlimits++], NODE_LINE, "%.80s/rdma.max: %.*s", cgroup, (int)len, line);
}

static int read_rdma_max(const struct enrich *e, const char *cgroup, struct node *n)
{
	char path[PATH_MAX], line[256];
	FILE *in;
	int err;

	if (snprintf(path, sizeof(path), "%s/rdma.max", cgroup) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	err = read_open(e->root, path, &in);
	if (err)
		return has_ended(err) ? 0 : err; /* the controller is not enabled there */
	while (fgets(line, sizeof(line), in))
		if (is_limit(line))
			add_limit(n, cgroup, line);
	fclose(in);
	return 0;
}

static int read_cgroup(const struct enrich *e, const char *cgroup, int depth, int *dirs, struct node *n)
{
	char path[PATH_MAX];
	struct dirent *d;
	DIR *dir;
	int err = read_rdma_max(e, cgroup, n);

	if (err || depth == CGROUP_DEPTH_MAX)
		return err;
	err = node_dir(e, cgroup, &dir);
	if (err)
		return has_ended(err) ? 0 : err;
	while (!err && (d = node_entry(dir))) {
		if (d->d_type != DT_DIR)
			continue;
		if (++*dirs > CGROUP_DIRS_MAX) {
			n->limits_more_dirs = true;
			break;
		}
		if (snprintf(path, sizeof(path), "%s/%s", cgroup, d->d_name) < (int)sizeof(path))
			err = read_cgroup(e, path, depth + 1, dirs, n);
	}
	closedir(dir);
	return err;
}

int32_t read_rdma_cgroups(const struct enrich *e, struct node *n)
{
	int dirs = 0;

	if (!node_exists(e, CGROUPS))
		return NODE_ABSENT;
	return read_cgroup(e, CGROUPS, 0, &dirs, n);
}
