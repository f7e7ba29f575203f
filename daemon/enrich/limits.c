// SPDX-License-Identifier: BSD-2-Clause
/*
 * Where the memlock limit of a process comes from, as far as its ancestors tell. A limit is inherited at
 * fork: the oldest ancestor in an unbroken row that has the same one is where it was set, or where it
 * was inherited from. That is evidence and no proof: prlimit(2) changes a limit at any time, and a
 * parent that has ended is not seen.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "enrich/enrich.h"
#include "enrich/read.h"
#include "text.h"

#define DEPTH_MAX 32
#define UNIT_LEN 128
#define COMM_LEN 16
#define COMM_ESCAPED (4 * COMM_LEN)

struct ancestor {
	uint32_t pid, ppid;
	uint64_t soft;
	char name[COMM_ESCAPED];	/* comm, escaped: any process chooses its own */
	char unit[UNIT_LEN];	/* "" = none */
};

struct line_of_descent {
	struct ancestor a[DEPTH_MAX];
	uint32_t n;		/* the first is the process itself */
	bool whole;		/* the last has no parent */
};

/* "Max locked memory         8388608              unlimited            bytes" */
static int read_soft(int proc_fd, uint64_t *ret_soft)
{
	static const char name[] = "Max locked memory ";
	int err, found = -EBADMSG;
	char line[256];
	FILE *in;

	err = read_open_at(proc_fd, "limits", &in);
	if (err)
		return err;
	while (found && fgets(line, sizeof(line), in)) {
		const char *p = line + strlen(name);

		if (strncmp(line, name, strlen(name)) != 0)
			continue;
		p += strspn(p, " ");
		if (strncmp(p, "unlimited", strlen("unlimited")) != 0) {
			found = read_number(p, ret_soft);
		} else {
			*ret_soft = UINT64_MAX;
			found = 0;
		}
	}
	fclose(in);
	return found;
}

/* "812 (a name) S 1 ...": the name may hold blanks and brackets. */
static int read_stat(int proc_fd, struct ancestor *a)
{
	char line[1024], comm[COMM_LEN] = "", *open, *close;
	struct text name;
	FILE *in;
	int err;

	err = read_open_at(proc_fd, "stat", &in);
	if (err)
		return err;
	/* Not a line: the name may hold a line break. */
	line[fread(line, 1, sizeof(line) - 1, in)] = '\0';
	fclose(in);
	open = strchr(line, '(');
	close = strrchr(line, ')');
	if (!open || !close || close < open || sscanf(close + 1, " %*c %" SCNu32, &a->ppid) != 1)
		return -EBADMSG;
	*close = '\0';
	snprintf(comm, sizeof(comm), "%s", open + 1);
	text_init(&name, a->name, sizeof(a->name));
	text_escape(&name, comm);
	return 0;
}

static bool ends_with(const char *s, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len > n && strncmp(s + len - n, end, n) == 0;
}

/* The innermost service or scope in the path of systemd's hierarchy, the v2 one or "name=systemd". */
static void read_unit(int proc_fd, struct ancestor *a)
{
	char line[PATH_MAX];
	struct text unit;
	FILE *in;

	if (read_open_at(proc_fd, "cgroup", &in) < 0)
		return;
	while (fgets(line, sizeof(line), in)) {
		char *path = strchr(line, '/'), *save = NULL, *part;

		if (!path || (strncmp(line, "0::", 3) != 0 && !strstr(line, ":name=systemd:/")))
			continue;
		for (part = strtok_r(path, "/\n", &save); part; part = strtok_r(NULL, "/\n", &save)) {
			size_t len = strlen(part);

			if (!ends_with(part, len, ".service") && !ends_with(part, len, ".scope"))
				continue;
			text_init(&unit, a->unit, sizeof(a->unit));
			text_escape(&unit, part);
		}
	}
	fclose(in);
}

static int read_ancestor(int proc_fd, uint32_t pid, struct ancestor *a)
{
	int err;

	memset(a, 0, sizeof(*a));
	a->pid = pid;
	err = read_stat(proc_fd, a);
	if (!err)
		err = read_soft(proc_fd, &a->soft);
	if (!err)
		read_unit(proc_fd, a);
	return err;
}

static int read_descent(const struct enrich *e, uint32_t pid, int proc_fd, struct line_of_descent *d)
{
	char path[PATH_MAX];
	int fd, err;

	err = read_ancestor(proc_fd, pid, &d->a[0]);
	if (err)
		return err;
	for (d->n = 1; d->n < DEPTH_MAX; d->n++) {
		uint32_t ppid = d->a[d->n - 1].ppid;

		/* 0: it has none, or none that can be seen from this pid namespace. */
		d->whole = ppid == 0;
		if (ppid == 0)
			break;
		if (snprintf(path, sizeof(path), "%s/proc/%" PRIu32, e->root, ppid) >= (int)sizeof(path))
			break;
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			break;
		err = read_ancestor(fd, ppid, &d->a[d->n]);
		close(fd);
		if (err)
			break;
	}
	return 0;
}

static void put_chain(const struct line_of_descent *d, char *ret_text, size_t size)
{
	char one[COMM_ESCAPED + TEXT_BYTES_LEN + 32], bytes[TEXT_BYTES_LEN];
	struct text t;
	uint32_t i;

	text_init(&t, ret_text, size);
	for (i = 0; i < d->n; i++) {
		snprintf(one, sizeof(one), "%s%s[%" PRIu32 "] %s", i ? " < " : "", d->a[i].name, d->a[i].pid,
			 text_bytes(bytes, d->a[i].soft));
		/* An entry that would be cut is left out, with all that follow. */
		if (t.len + strlen(one) + strlen(" < ...") >= t.size)
			break;
		text_add(&t, "%s", one);
	}
	if (i < d->n || !d->whole)
		text_add(&t, " < ...");
}

/* Programs that start containers and set their limits. */
static bool is_runtime(const char *name)
{
	static const char *const runtimes[] = {
		"containerd-shim", "containerd", "dockerd", "docker-containe", "runc", "crun", "conmon",
		"crio", "podman", "apptainer", "enroot",
	};

	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
		if (strncmp(name, runtimes[i], strlen(runtimes[i])) == 0)
			return true;
	return false;
}

/* `top` is the last in the row with the same limit; what is above it, if anything, has another. */
static void put_set_by(const struct line_of_descent *d, uint32_t top, struct text *t)
{
	const struct ancestor *a = &d->a[top], *above = top + 1 < d->n ? &d->a[top + 1] : NULL;
	char bytes[TEXT_BYTES_LEN];
	bool by_unit;

	if (above && is_runtime(above->name)) {
		text_add(t, "container runtime %s[%" PRIu32 "]", above->name, above->pid);
		return;
	}
	if (is_runtime(a->name)) {
		text_add(t, "container runtime %s[%" PRIu32 "]", a->name, a->pid);
		return;
	}
	/* Everybody has it. */
	if (a->pid == 1) {
		text_add(t, "the first process, %s[1]: the default of this node or container", a->name);
		return;
	}
	/* The first process of a unit has its limits from the unit's settings or from who opened the session. */
	by_unit = a->unit[0] && (!above || above->pid == 1 || strcmp(above->unit, a->unit) != 0);
	if (by_unit)
		text_add(t, "%s (%s[%" PRIu32 "])", a->unit, a->name, a->pid);
	else if (top == 0)
		text_add(t, "the process itself or its program (%s[%" PRIu32 "])", a->name, a->pid);
	else
		text_add(t, "%s[%" PRIu32 "]", a->name, a->pid);
	if (above)
		text_add(t, ": its parent %s[%" PRIu32 "] has %s", above->name, above->pid,
			 text_bytes(bytes, above->soft));
	else if (!d->whole)
		text_add(t, " or an ancestor that could not be seen");
}

void enrich_limits(const struct enrich *e, const struct facts_request *req, int proc_fd, struct facts *f)
{
	struct line_of_descent d = { 0 };
	struct text set_by;
	uint32_t top = 0;
	int err;

	err = read_descent(e, req->tgid, proc_fd, &d);
	ENRICH_FAIL(f, limit_set_by, err);
	ENRICH_FAIL(f, limit_chain, err);
	if (err)
		return;
	while (top + 1 < d.n && d.a[top + 1].soft == d.a[0].soft)
		top++;
	put_chain(&d, f->limit_chain, sizeof(f->limit_chain));
	text_init(&set_by, f->limit_set_by, sizeof(f->limit_set_by));
	put_set_by(&d, top, &set_by);
}
