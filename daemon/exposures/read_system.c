// SPDX-License-Identifier: BSD-2-Clause
/* The kernel log, drivers, and what lies between devices and memory. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "enrich/read.h"
#include "exposures/read_node.h"

/* --- kernel log ----------------------------------------------------------------------- */

#define LOG_BUFFER 16384	/* more than a record: /dev/kmsg gives whole ones only */
#define LOG_LINES_MAX 1000000
#define KERNEL_PRIORITIES 8	/* what is above was written by user space */

static void keep(struct node_log *log, const char *message)
{
	if (log->n == NODE_LOG_MAX) {
		log->left_out++;
		return;
	}
	snprintf(log->lines[log->n++], NODE_LINE, "%.*s", (int)strcspn(message, "\n"), message);
}

static bool about_cma(const char *message)
{
	return strncmp(message, "cma: Reserved ", 14) == 0 || strncmp(message, "cma: Failed to reserve", 22) == 0 ||
	       strncmp(message, "hugetlb_cma: reserve", 20) == 0 || strncmp(message, "hugetlb_cma: failed", 19) == 0;
}

static bool about_peermem(const char *message)
{
	if (!strstr(message, "nvidia_peermem") && !strstr(message, "nv_peer_mem"))
		return false;
	return strstr(message, "disagrees about version of symbol") || strstr(message, "Unknown symbol");
}

/* "6,339,5140900,-;message": priority and facility, number, microseconds, flags. */
static void log_line(struct node *n, const char *line, bool first)
{
	const char *message = strchr(line, ';');
	unsigned long priority;
	char *end;

	if (*line == ' ' || !message)
		return; /* keys and values that belong to the record before */
	priority = strtoul(line, &end, 10);
	if (first)
		n->log_begins_late = *end == ',' && strtoull(end + 1, NULL, 10) > 0;
	if (priority >= KERNEL_PRIORITIES)
		return;
	message++;
	if (about_cma(message))
		keep(&n->cma_log, message);
	else if (about_peermem(message))
		keep(&n->peermem_log, message);
}

static int32_t read_log(FILE *in, struct node *n)
{
	char *line = NULL;
	size_t size = 0;
	int err = 0;

	for (int i = 0; i < LOG_LINES_MAX; i++) {
		errno = 0;
		if (getline(&line, &size, in) >= 0) {
			log_line(n, line, i == 0);
			continue;
		}
		/* The oldest record was overwritten while we read: go on with the next. */
		if (ferror(in) && errno == EPIPE) {
			n->log_begins_late = true;
			clearerr(in);
			continue;
		}
		/* Nothing more at present. */
		err = ferror(in) && errno != EAGAIN ? -errno : 0;
		break;
	}
	free(line);
	return err;
}

int32_t read_kernel_log(const struct enrich *e, struct node *n)
{
	static char buffer[LOG_BUFFER];
	char path[PATH_MAX];
	int32_t err;
	FILE *in;
	int fd;

	if (snprintf(path, sizeof(path), "%s/dev/kmsg", e->root) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	in = fdopen(fd, "r");
	if (!in) {
		err = -errno;
		close(fd);
		return err;
	}
	setvbuf(in, buffer, _IOFBF, sizeof(buffer));
	err = read_log(in, n);
	fclose(in);
	return err;
}

/* --- drivers -------------------------------------------------------------------------- */

int32_t read_modules(const struct enrich *e, struct node *n)
{
	DIR *dir;
	int err = node_dir(e, "/sys/module", &dir);

	if (err)
		return err;
	closedir(dir);
	n->has_nvidia = node_exists(e, "/sys/module/nvidia");
	n->has_peermem = node_exists(e, "/sys/module/nvidia_peermem") || node_exists(e, "/sys/module/nv_peer_mem");
	n->has_ib_uverbs = node_exists(e, "/sys/module/ib_uverbs");
	return 0;
}

/* The first word of only digits and dots, with at least one dot between digits. */
static bool version_word(const char *line, char *ret, size_t size)
{
	while (*(line += strspn(line, " \t"))) {
		size_t len = strcspn(line, " \t\n"), plain = strspn(line, "0123456789.");

		if (plain == len && len < size && memchr(line, '.', len)) {
			memcpy(ret, line, len);
			ret[len] = '\0';
			return true;
		}
		line += len ? len : 1;
	}
	return false;
}

/*
 * "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.142  Release Build ...", or for the
 * proprietary flavour "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug ...".
 */
int32_t read_nvidia(const struct enrich *e, struct node *n)
{
	char line[256] = "";
	int version, err;

	if (n->err[NODE_modules] == 0 && !n->has_nvidia)
		return NODE_ABSENT;
	version = node_line(e, "/sys/module/nvidia/version", n->nvidia_version, sizeof(n->nvidia_version));
	err = node_line(e, "/proc/driver/nvidia/version", line, sizeof(line));
	if (!err && strstr(line, "Kernel Module")) {
		n->nvidia_flavour_known = true;
		n->nvidia_open = strstr(line, "Open Kernel Module") != NULL;
	}
	if (!version)
		return 0;
	n->nvidia_version[0] = '\0';
	if (err)
		return version;
	return version_word(line, n->nvidia_version, sizeof(n->nvidia_version)) ? 0 : -EBADMSG;
}

/* ffffffffc0a1b2c0 T ib_umem_dmabuf_get	[ib_uverbs] */
int32_t read_dmabuf(const struct enrich *e, struct node *n)
{
	char line[512], name[256];
	FILE *in;
	int err;

	if (n->err[NODE_modules] == 0 && !n->has_nvidia)
		return NODE_ABSENT;
	err = read_open(e->root, "/proc/kallsyms", &in);
	if (err)
		return err;
	while (!n->has_dmabuf && fgets(line, sizeof(line), in))
		n->has_dmabuf = sscanf(line, "%*s %*c %255s", name) == 1 && strcmp(name, "ib_umem_dmabuf_get") == 0;
	fclose(in);
	return 0;
}

/* --- IOMMU ---------------------------------------------------------------------------- */

#define GROUPS "/sys/kernel/iommu_groups"
#define GROUPS_MAX 16384

static bool translates(const char *type)
{
	return strncmp(type, "DMA", 3) == 0;
}

static int count_groups(const struct enrich *e, DIR *dir, struct node *n)
{
	char path[320], type[32];
	struct dirent *d;
	int err, groups = 0;

	while ((d = node_entry(dir))) {
		if (++groups > GROUPS_MAX)
			return -E2BIG;
		snprintf(path, sizeof(path), GROUPS "/%s/type", d->d_name);
		err = node_line(e, path, type, sizeof(type));
		if (err)
			return err;
		n->groups_translated += translates(type);
		n->groups_identity += strcmp(type, "identity") == 0;
	}
	return 0;
}

static void rdma_devices(const struct enrich *e, struct node *n)
{
	char path[320], type[32];
	struct dirent *d;
	DIR *dir;

	if (node_dir(e, "/sys/class/infiniband", &dir))
		return;
	while ((d = node_entry(dir))) {
		/* A software device has no group. */
		snprintf(path, sizeof(path), "/sys/class/infiniband/%.200s/device/iommu_group/type", d->d_name);
		if (node_line(e, path, type, sizeof(type)) || !translates(type))
			continue;
		if (n->ntranslated == NODE_DEVICES_MAX)
			n->translated_left_out++;
		else
			snprintf(n->translated[n->ntranslated++], sizeof(n->translated[0]), "%.40s: %.20s", d->d_name, type);
	}
	closedir(dir);
}

int32_t read_iommu(const struct enrich *e, struct node *n)
{
	DIR *dir;
	int err;

	if (node_dir(e, "/sys/class/iommu", &dir) == 0) {
		while (node_entry(dir))
			n->iommus++;
		closedir(dir);
	}
	err = node_dir(e, GROUPS, &dir);
	if (err)
		return absent_is_fine(err);
	err = count_groups(e, dir, n);
	closedir(dir);
	/* Kernels before 5.11 do not tell the type. */
	if (err)
		return err;
	rdma_devices(e, n);
	return 0;
}

int32_t read_swiotlb(const struct enrich *e, struct node *n)
{
	int err = node_number(e, "/sys/kernel/debug/swiotlb/io_tlb_nslabs", &n->swiotlb_slots);

	if (!err)
		err = node_number(e, "/sys/kernel/debug/swiotlb/io_tlb_used", &n->swiotlb_used);
	return node_debugfs(e, err);
}
