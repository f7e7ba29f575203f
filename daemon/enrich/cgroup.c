// SPDX-License-Identifier: BSD-2-Clause
/* Path, memory use and limit of a process's cgroup (version 2). */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "enrich/enrich.h"
#include "enrich/read.h"

/* Where cgroup2 may be mounted; the second is the hybrid layout. */
static const char *const mounts[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

/* ".." shows that the process is outside our cgroup namespace: its files are not ours to see. */
static bool leaves_namespace(const char *path)
{
	for (const char *p = strstr(path, "/.."); p; p = strstr(p + 1, "/.."))
		if (p[3] == '/' || p[3] == '\n' || p[3] == '\0')
			return true;
	return false;
}

/* The path behind "0::". */
static int read_path(int proc_fd, char *ret_path, size_t size)
{
	char line[PATH_MAX];
	int err;
	FILE *in;

	err = read_open_at(proc_fd, "cgroup", &in);
	if (err)
		return err;
	err = -EOPNOTSUPP;
	while (err == -EOPNOTSUPP && fgets(line, sizeof(line), in)) {
		size_t len = strcspn(line, "\n");

		if (strncmp(line, "0::/", 4) != 0)
			continue;
		if (line[len] != '\n' || len - 3 >= size) {
			err = -ENAMETOOLONG;
		} else if (leaves_namespace(line)) {
			err = -EXDEV;
		} else {
			line[len] = '\0';
			strcpy(ret_path, line + 3);
			err = 0;
		}
	}
	fclose(in);
	return err;
}

static int read_file(const char *dir, const char *name, char *ret_text, size_t size)
{
	char path[PATH_MAX];
	FILE *in;
	int err;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	err = read_open("", path, &in);
	if (err)
		return err;
	err = read_first_line(in, ret_text, size);
	fclose(in);
	return err;
}

/* UINT64_MAX where there is no limit. A level without the memory controller sets none. */
static int read_limit(const char *dir, uint64_t *ret_bytes)
{
	char text[64];
	int err;

	err = read_file(dir, "memory.max", text, sizeof(text));
	if (err == -ENOENT || (!err && strcmp(text, "max") == 0)) {
		*ret_bytes = UINT64_MAX;
		return 0;
	}
	return err ? err : read_number(text, ret_bytes);
}

/* The smallest limit from `dir` up to, not including, the mount point. Shortens `dir`. */
static int tightest_limit(char *dir, size_t mount_len, uint64_t *ret_bytes)
{
	uint64_t tightest = UINT64_MAX, limit;
	int err;

	while (strlen(dir) > mount_len) {
		err = read_limit(dir, &limit);
		if (err)
			return err;
		if (limit < tightest)
			tightest = limit;
		*strrchr(dir, '/') = '\0';
	}
	*ret_bytes = tightest;
	return 0;
}

static int find_dir(const struct enrich *e, const char *path, char *ret_dir, size_t size,
		    size_t *ret_mount_len)
{
	struct stat st;

	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		int n = snprintf(ret_dir, size, "%s%s%s", e->root, mounts[i],
				 strcmp(path, "/") ? path : "");

		if (n >= (int)size)
			return -ENAMETOOLONG;
		if (stat(ret_dir, &st) < 0 || !S_ISDIR(st.st_mode))
			continue;
		*ret_mount_len = strlen(e->root) + strlen(mounts[i]);
		return 0;
	}
	return -ENOENT;
}

static void set_path(struct facts *f, const char *path, int err)
{
	/* Half a path names another group. */
	if (!err && strlen(path) >= sizeof(f->cgroup))
		err = -ENAMETOOLONG;
	if (!err)
		strcpy(f->cgroup, path);
	ENRICH_FAIL(f, cgroup, err);
}

void enrich_cgroup(const struct enrich *e, int proc_fd, struct facts *f)
{
	char path[PATH_MAX / 2], dir[PATH_MAX], text[64];
	size_t mount_len;
	int err;

	err = read_path(proc_fd, path, sizeof(path));
	set_path(f, path, err);
	if (!err)
		err = find_dir(e, path, dir, sizeof(dir), &mount_len);
	if (err) {
		ENRICH_FAIL(f, cgroup_memory_current_bytes, err);
		ENRICH_FAIL(f, cgroup_memory_max_bytes, err);
		return;
	}
	err = read_file(dir, "memory.current", text, sizeof(text));
	/* The root has none, nor has a group without the memory controller. */
	if (err == -ENOENT)
		err = FACT_NONE;
	if (!err)
		err = read_number(text, &f->cgroup_memory_current_bytes);
	ENRICH_FAIL(f, cgroup_memory_current_bytes, err);
	ENRICH_FAIL(f, cgroup_memory_max_bytes,
		    tightest_limit(dir, mount_len, &f->cgroup_memory_max_bytes));
}
