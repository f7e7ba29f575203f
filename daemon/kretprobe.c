// SPDX-License-Identifier: BSD-2-Clause
#include "kretprobe.h"

#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "wire.h"

#define GROUP_PREFIX "pinwhy_"
#define PATH_LEN 384

/* The mount point of tracefs; it also appears below debugfs on older set-ups. */
static const char *tracefs(void)
{
	static const char *const mounts[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		char path[PATH_LEN];

		snprintf(path, sizeof(path), "%s/kprobe_events", mounts[i]);
		if (!access(path, W_OK))
			return mounts[i];
	}
	return NULL;
}

static int command(const char *mount, const char *line)
{
	char path[PATH_LEN];
	size_t len = strlen(line);
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/kprobe_events", mount);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, line, len) != (ssize_t)len)
		err = errno ? -errno : -EIO;
	close(fd);
	return err;
}

static int event_id(const char *mount, const char *name)
{
	char path[PATH_LEN];
	int id = -ENOENT;
	FILE *f;

	snprintf(path, sizeof(path), "%s/events/" GROUP_PREFIX "%d/%s_%d/id", mount, getpid(), name, getpid());
	f = fopen(path, "re");
	if (!f)
		return -errno;
	if (fscanf(f, "%d", &id) != 1)
		id = -EIO;
	fclose(f);
	return id;
}

static int event_open(int id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = (unsigned int)id,
	};
	long fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

/* `event` is the full name. */
static void event_remove(const char *mount, int pid, const char *event)
{
	char line[PATH_LEN];

	snprintf(line, sizeof(line), "-:" GROUP_PREFIX "%d/%s\n", pid, event);
	command(mount, line);
}

/* kprobe_profile shows events without their group, so that each instance needs names of its own. */
static void own_event_remove(const char *mount, const char *name)
{
	char event[128];

	snprintf(event, sizeof(event), "%s_%d", name, getpid());
	event_remove(mount, getpid(), event);
}

/* Makes the event and opens it. */
static int event_make(const char *mount, const char *name, const char *module, const char *function)
{
	char line[PATH_LEN];
	int err, fd;

	snprintf(line, sizeof(line), "r%d:" GROUP_PREFIX "%d/%s_%d %s%s%s\n", WIRE_SPANS, getpid(), name, getpid(),
		 module, *module ? ":" : "", function);
	err = command(mount, line);
	if (err)
		return err;
	fd = event_id(mount, name);
	if (fd >= 0)
		fd = event_open(fd);
	if (fd < 0)
		own_event_remove(mount, name);
	return fd;
}

#define ATTEMPTS 3

int kretprobe_attach(struct bpf_link **ret_link, const struct bpf_program *prog, const char *name,
		     const char *module, const char *function)
{
	const char *mount = tracefs();
	struct bpf_link *link;
	int err, fd = -ENOENT;

	if (!mount)
		return -ENOENT;
	/* Another instance that starts removes what nobody has open: ours, in the moment between making and opening it. */
	for (int i = 0; i < ATTEMPTS && (i == 0 || fd == -ENODEV || fd == -EINVAL || fd == -ENOENT); i++)
		fd = event_make(mount, name, module, function);
	if (fd < 0)
		return fd;
	link = bpf_program__attach_perf_event(prog, fd);
	err = (int)libbpf_get_error(link);
	if (err) {
		close(fd);
		own_event_remove(mount, name);
		return err;
	}
	*ret_link = link;
	return 0;
}

void kretprobe_detach(struct bpf_link *link, const char *name)
{
	const char *mount = tracefs();

	bpf_link__destroy(link);
	if (mount)
		own_event_remove(mount, name);
}

void kretprobe_counts(const char *name, uint64_t *ret_hits, uint64_t *ret_missed)
{
	const char *mount = tracefs();
	char path[PATH_LEN], event[128], own[128];
	unsigned long long hits, missed;
	FILE *f;

	if (!mount)
		return;
	snprintf(path, sizeof(path), "%s/kprobe_profile", mount);
	f = fopen(path, "re");
	if (!f)
		return;
	snprintf(own, sizeof(own), "%s_%d", name, getpid());
	while (fscanf(f, "%127s %llu %llu", event, &hits, &missed) == 3) {
		if (!strcmp(event, own)) {
			*ret_hits = hits;
			*ret_missed = missed;
		}
	}
	fclose(f);
}

/*
 * "pinwhy_123": the events of another instance. One that is gone left them unused; they cost nothing, but
 * hold the name. Those of one that lives are in use, and the kernel refuses to remove them (EBUSY);
 * asking for the pid would not do, since it may be one of another PID namespace.
 */
static void group_cleanup(const char *mount, const char *group)
{
	int pid = atoi(group + strlen(GROUP_PREFIX));
	char path[PATH_LEN];
	struct dirent *d;
	DIR *dir;

	if (pid <= 0 || pid == getpid())
		return;
	snprintf(path, sizeof(path), "%s/events/%.64s", mount, group);
	dir = opendir(path);
	if (!dir)
		return;
	while ((d = readdir(dir)))
		if (d->d_name[0] != '.' && d->d_type == DT_DIR)
			event_remove(mount, pid, d->d_name);
	closedir(dir);
}

bool kretprobe_left(pid_t pid)
{
	const char *mount = tracefs();
	char path[PATH_LEN];

	if (!mount)
		return false;
	snprintf(path, sizeof(path), "%s/events/" GROUP_PREFIX "%d", mount, (int)pid);
	return access(path, F_OK) == 0;
}

void kretprobe_cleanup(void)
{
	const char *mount = tracefs();
	char path[PATH_LEN];
	struct dirent *d;
	DIR *dir;

	if (!mount)
		return;
	snprintf(path, sizeof(path), "%s/events", mount);
	dir = opendir(path);
	if (!dir)
		return;
	while ((d = readdir(dir)))
		if (!strncmp(d->d_name, GROUP_PREFIX, strlen(GROUP_PREFIX)))
			group_cleanup(mount, d->d_name);
	closedir(dir);
}
