// SPDX-License-Identifier: BSD-2-Clause
/* Path, memory use and memory limits of a process's cgroup. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "enrich/cgroup.h"
#include "enrich/read.h"

/* Where cgroup2 may be mounted; the second is the hybrid layout. */
static const char *const mounts[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

/* Version 1 writes "no limit" as the most bytes that whole pages can count: LONG_MAX, rounded down. */
#define V1_UNLIMITED (INT64_MAX - 0xffff)
#define CONTROLLERS_MAX 64	/* bytes of "cpu,cpuacct" */

/* ".." shows that the process is outside our cgroup namespace: its files are not ours to see. */
static bool leaves_namespace(const char *path)
{
	for (const char *p = strstr(path, "/.."); p; p = strstr(p + 1, "/.."))
		if (p[3] == '/' || p[3] == '\n' || p[3] == '\0')
			return true;
	return false;
}

static int copy_path(char *path, char *ret_path, size_t size)
{
	size_t len = strcspn(path, "\n");

	if (path[len] != '\n' || len >= size)
		return -ENAMETOOLONG;
	if (leaves_namespace(path))
		return -EXDEV;
	path[len] = '\0';
	strcpy(ret_path, path);
	return 0;
}

/* Is `name` one of "cpu,cpuacct"? */
static bool is_listed(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (; *list; list += *list == ',') {
		size_t n = strcspn(list, ",");

		if (n == len && strncmp(list, name, len) == 0)
			return true;
		list += n;
	}
	return false;
}

/*
 * "4:memory:/a/b": the path of the hierarchy that `controller` is in, and the list it is in there, which
 * names the mount point. "" stands for version 2. -EOPNOTSUPP when there is no such line.
 */
static int find_line(int proc_fd, const char *controller, char list[CONTROLLERS_MAX], char *ret_path,
		     size_t size)
{
	int err = -EOPNOTSUPP, open_err;
	char line[PATH_MAX];
	FILE *in;

	open_err = read_open_at(proc_fd, "cgroup", &in);
	if (open_err)
		return open_err;
	while (err == -EOPNOTSUPP && fgets(line, sizeof(line), in)) {
		char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;

		if (!path || path[1] != '/' || path - names > CONTROLLERS_MAX)
			continue;
		*path++ = '\0';
		if (*controller ? !is_listed(names + 1, controller) : names[1] != '\0')
			continue;
		strcpy(list, names + 1);
		err = copy_path(path, ret_path, size);
	}
	fclose(in);
	return err;
}

int cgroup_v2_path(int proc_fd, char *ret_path, size_t size)
{
	char list[CONTROLLERS_MAX];

	return find_line(proc_fd, "", list, ret_path, size);
}

static int find_dir(const struct enrich *e, const char *mount, const char *path, struct cgroup *g)
{
	struct stat st;

	if (snprintf(g->dir, sizeof(g->dir), "%s%s%s", e->root, mount, strcmp(path, "/") ? path : "") >=
	    (int)sizeof(g->dir))
		return -ENAMETOOLONG;
	if (stat(g->dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return -ENOENT;
	g->mount_len = strlen(e->root) + strlen(mount);
	return 0;
}

static int find_v1(const struct enrich *e, int proc_fd, const char *controller, struct cgroup *g)
{
	char path[PATH_MAX / 2], list[CONTROLLERS_MAX], mount[CONTROLLERS_MAX + 32];
	int err;

	err = find_line(proc_fd, controller, list, path, sizeof(path));
	if (err)
		return err;
	snprintf(mount, sizeof(mount), "/sys/fs/cgroup/%s", list);
	g->v1 = true;
	return find_dir(e, mount, path, g);
}

static int find_v2(const struct enrich *e, int proc_fd, struct cgroup *g)
{
	char path[PATH_MAX / 2];
	int err;

	err = cgroup_v2_path(proc_fd, path, sizeof(path));
	if (err)
		return err;
	g->v1 = false;
	err = find_dir(e, mounts[0], path, g);
	return err == -ENOENT ? find_dir(e, mounts[1], path, g) : err;
}

int cgroup_find(const struct enrich *e, int proc_fd, const char *controller, struct cgroup *ret_group)
{
	struct cgroup g;
	int err, v1_err;

	/* A controller is in one hierarchy only; in the hybrid layout the other has a path as well. */
	err = v1_err = find_v1(e, proc_fd, controller, &g);
	if (err)
		err = find_v2(e, proc_fd, &g);
	/* Without the second version it is the first that is out of reach. */
	if (err == -EOPNOTSUPP)
		err = v1_err;
	if (!err)
		*ret_group = g;
	return err;
}

bool cgroup_has_limits(const struct cgroup *g)
{
	return strlen(g->dir) > g->mount_len;
}

bool cgroup_up(struct cgroup *g)
{
	if (!cgroup_has_limits(g))
		return false;
	*strrchr(g->dir, '/') = '\0';
	return cgroup_has_limits(g);
}

const char *cgroup_name(const struct cgroup *g)
{
	return cgroup_has_limits(g) ? g->dir + g->mount_len : "/";
}

int cgroup_open(const struct cgroup *g, const char *file, FILE **ret_f)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", g->dir, file) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	return read_open("", path, ret_f);
}

int cgroup_number(const struct cgroup *g, const char *file, uint64_t *ret_value)
{
	char text[64];
	uint64_t value;
	FILE *in;
	int err;

	err = cgroup_open(g, file, &in);
	if (err)
		return err;
	err = read_first_line(in, text, sizeof(text));
	fclose(in);
	if (!err && strcmp(text, "max") == 0)
		value = UINT64_MAX;
	else if (!err)
		err = read_number(text, &value);
	if (!err)
		*ret_value = g->v1 && value >= V1_UNLIMITED ? UINT64_MAX : value;
	return err;
}

int cgroup_keyed(const struct cgroup *g, const char *file, const char *key, uint64_t *ret_value)
{
	size_t len = strlen(key);
	int err, found = -ENOENT;
	char line[128];
	FILE *in;

	err = cgroup_open(g, file, &in);
	if (err)
		return err;
	while (found == -ENOENT && fgets(line, sizeof(line), in))
		if (strncmp(line, key, len) == 0 && line[len] == ' ')
			found = read_number(line + len, ret_value);
	fclose(in);
	return found;
}

int cgroup_tightest(const struct cgroup *g, const char *file, uint64_t *ret_value,
		    struct cgroup *ret_tightest)
{
	uint64_t tightest = UINT64_MAX, limit;
	struct cgroup at = *g;
	bool more = cgroup_has_limits(&at), any = false;
	int err;

	for (; more; more = cgroup_up(&at)) {
		err = cgroup_number(&at, file, &limit);
		if (err == -ENOENT)
			continue;
		if (err)
			return err;
		any = true;
		if (limit < tightest) {
			tightest = limit;
			*ret_tightest = at;
		}
	}
	if (!any)
		return FACT_NONE;
	*ret_value = tightest;
	return 0;
}

/* A file that is not there: the root has none, nor has a group without the controller. */
static int none(int err)
{
	return err == -ENOENT ? FACT_NONE : err;
}

static int set_path(char *field, size_t size, const char *path)
{
	/* Half a path names another group. */
	if (strlen(path) >= size)
		return -ENAMETOOLONG;
	strcpy(field, path);
	return 0;
}

static void read_limits(const struct cgroup *g, struct facts *f)
{
	struct cgroup tightest;
	int err;

	err = cgroup_tightest(g, g->v1 ? "memory.limit_in_bytes" : "memory.max",
			      &f->cgroup_memory_max_bytes, &tightest);
	/* No level has the controller: nothing limits memory. */
	if (err == FACT_NONE) {
		f->cgroup_memory_max_bytes = UINT64_MAX;
		err = 0;
	}
	ENRICH_FAIL(f, cgroup_memory_max_bytes, err);
	if (!err && f->cgroup_memory_max_bytes == UINT64_MAX)
		err = FACT_NONE;
	else if (!err)
		err = set_path(f->cgroup_max_path, sizeof(f->cgroup_max_path), cgroup_name(&tightest));
	ENRICH_FAIL(f, cgroup_max_path, err);
}

static void read_use(const struct cgroup *g, struct facts *f)
{
	ENRICH_FAIL(f, cgroup_memory_current_bytes,
		    none(cgroup_number(g, g->v1 ? "memory.usage_in_bytes" : "memory.current",
				       &f->cgroup_memory_current_bytes)));
	if (g->v1) {
		ENRICH_FAIL(f, cgroup_oom_kills,
			    none(cgroup_keyed(g, "memory.oom_control", "oom_kill", &f->cgroup_oom_kills)));
		ENRICH_FAIL(f, cgroup_max_events,
			    none(cgroup_number(g, "memory.failcnt", &f->cgroup_max_events)));
	} else {
		ENRICH_FAIL(f, cgroup_oom_kills,
			    none(cgroup_keyed(g, "memory.events", "oom_kill", &f->cgroup_oom_kills)));
		ENRICH_FAIL(f, cgroup_max_events,
			    none(cgroup_keyed(g, "memory.events", "max", &f->cgroup_max_events)));
	}
}

/* The first hierarchy that says more than the root: what limits memory, and what systemd sorts by on hosts of version 1. */
static int read_v1_path(int proc_fd, struct facts *f)
{
	static const char *const hierarchies[] = { "memory", "name=systemd", "pids" };
	char path[PATH_MAX / 2], list[CONTROLLERS_MAX];
	int err;

	for (size_t i = 0; i < sizeof(hierarchies) / sizeof(hierarchies[0]); i++) {
		err = find_line(proc_fd, hierarchies[i], list, path, sizeof(path));
		if (err == -EOPNOTSUPP || (!err && strcmp(path, "/") == 0))
			continue;
		return err ? err : set_path(f->cgroup_v1, sizeof(f->cgroup_v1), path);
	}
	return FACT_NONE;
}

void enrich_cgroup(const struct enrich *e, const struct facts_request *req, int proc_fd, struct facts *f)
{
	char path[PATH_MAX / 2];
	struct cgroup g;
	int err;

	(void)req;
	err = cgroup_v2_path(proc_fd, path, sizeof(path));
	ENRICH_FAIL(f, cgroup, err ? err : set_path(f->cgroup, sizeof(f->cgroup), path));
	ENRICH_FAIL(f, cgroup_v1, read_v1_path(proc_fd, f));
	err = cgroup_find(e, proc_fd, "memory", &g);
	if (err) {
		ENRICH_FAIL(f, cgroup_memory_current_bytes, err);
		ENRICH_FAIL(f, cgroup_memory_max_bytes, err);
		ENRICH_FAIL(f, cgroup_oom_kills, err);
		ENRICH_FAIL(f, cgroup_max_events, err);
		ENRICH_FAIL(f, cgroup_max_path, err);
		return;
	}
	read_use(&g, f);
	read_limits(&g, f);
}
