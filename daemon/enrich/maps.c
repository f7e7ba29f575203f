// SPDX-License-Identifier: BSD-2-Clause
/* How many mappings a process has, and which libraries that register memory are among them. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "enrich/build_id.h"
#include "enrich/enrich.h"
#include "enrich/read.h"
#include "text.h"

#define LINES_MAX (1U << 20)
#define LINES_PER_LOOK 4096	/* at the clock */
#define LIBRARIES_MAX 32
#define NAME_LEN 64
/* The kernel shows it in every process on x86; it is no mapping and not in mm->map_count. */
#define VSYSCALL "ffffffffff600000-"

/* Followed by a version, a suffix or ".so": "libnccl-net.so", "libcuda.so.535.104.05", "libmlx5-rdmav34.so". */
static const char *const prefixes[] = {
	"libcuda", "libcudart", "libefa", "libfabric", "libibverbs", "libmlx5", "libmpi", "libnccl",
	"libnvshmem_host", "librccl", "librdmacm", "libtorch_cuda", "libucp", "libuct", "liburing",
};

struct libraries {
	int proc_fd;
	char seen[LIBRARIES_MAX][NAME_LEN];
	uint32_t n;
	struct text text;
	bool full;
};

static bool is_of_interest(const char *name, size_t len)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";

	if (len >= NAME_LEN || strspn(name, safe) < len)
		return false;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t n = strlen(prefixes[i]);

		if (len > n && strncmp(name, prefixes[i], n) == 0 && (name[n] == '.' || name[n] == '-'))
			return true;
	}
	return false;
}

static bool is_seen(const struct libraries *l, const char *name, size_t len)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (strncmp(l->seen[i], name, len) == 0 && l->seen[i][len] == '\0')
			return true;
	return false;
}

/*
 * The first mapping of a library holds its headers. The file is opened through map_files: that is the
 * one mapped, whatever lies at its path by now.
 */
static void add_library(struct libraries *l, const char *line, const char *name, size_t len)
{
	char path[64], id[BUILD_ID_TEXT] = "", entry[NAME_LEN + BUILD_ID_TEXT + 4];
	uint64_t start, end;

	if (l->n == LIBRARIES_MAX || l->full || is_seen(l, name, len))
		return;
	snprintf(l->seen[l->n++], NAME_LEN, "%.*s", (int)len, name);
	if (sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2) {
		snprintf(path, sizeof(path), "map_files/%" PRIx64 "-%" PRIx64, start, end);
		build_id_read(l->proc_fd, path, id);
	}
	snprintf(entry, sizeof(entry), "%s%.*s=%s", l->text.len ? "\n" : "", (int)len, name, id);
	/* What does not fit is left out whole. */
	l->full = l->text.len + strlen(entry) >= l->text.size;
	if (!l->full)
		text_add(&l->text, "%s", entry);
}

static void look_at_line(struct libraries *l, const char *line)
{
	const char *path = strchr(line, '/'), *name = path ? strrchr(path, '/') + 1 : NULL;
	size_t len;

	if (!name)
		return;
	/* "libnccl.so.2 (deleted)": an update has put another in its place. */
	len = strcspn(name, " \n");
	if (is_of_interest(name, len))
		add_library(l, line, name, len);
}

static int read_maps(const struct enrich *e, FILE *in, struct libraries *l, uint64_t *ret_count)
{
	bool at_start = true;
	uint64_t count = 0;
	char line[1024];

	errno = 0;
	while (fgets(line, sizeof(line), in)) {
		size_t len = strlen(line);
		bool whole = len && line[len - 1] == '\n', counts = at_start;

		at_start = whole;
		if (!counts || strncmp(line, VSYSCALL, strlen(VSYSCALL)) == 0)
			continue;
		if (++count == LINES_MAX)
			return -E2BIG;
		if (count % LINES_PER_LOOK == 0 && !enrich_left_ns(e))
			return -ETIMEDOUT;
		/* The name at the end of a longer line is not seen. */
		if (whole)
			look_at_line(l, line);
	}
	if (ferror(in) && errno)
		return -errno;
	*ret_count = count;
	return 0;
}

void enrich_maps(const struct enrich *e, const struct facts_request *req, int proc_fd, struct facts *f)
{
	struct libraries l = { .proc_fd = proc_fd };
	FILE *in;
	int err;

	(void)req;
	text_init(&l.text, f->libraries, sizeof(f->libraries));
	err = read_open_at(proc_fd, "maps", &in);
	if (!err) {
		err = read_maps(e, in, &l, &f->map_count);
		fclose(in);
	}
	ENRICH_FAIL(f, map_count, err);
	/* Those found before the reading broke off are there all the same. */
	if (l.text.len)
		err = 0;
	ENRICH_FAIL(f, libraries, err || l.text.len ? err : FACT_NONE);
}
