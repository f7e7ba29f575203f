// SPDX-License-Identifier: BSD-2-Clause
/* What the rdma and hugetlb controllers say about a process. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "enrich/cgroup.h"
#include "enrich/hugetlb.h"
#include "enrich/read.h"

#define LINE_LEN 256

/* "mlx5_0 hca_handle=2 hca_object=2000": the value of hca_object, of which memory regions are one kind. */
static int parse_objects(const char *line, const char *device, uint64_t *ret_value)
{
	size_t len = strlen(device);
	const char *p;

	if (strncmp(line, device, len) != 0 || line[len] != ' ')
		return -ENOENT;
	p = strstr(line + len, " hca_object=");
	if (!p)
		return -EBADMSG;
	p += strlen(" hca_object=");
	if (strncmp(p, "max", 3) == 0 && (p[3] == '\n' || p[3] == ' ' || !p[3])) {
		*ret_value = UINT64_MAX;
		return 0;
	}
	return read_number(p, ret_value);
}

/* -ENOENT when the file is not there or says nothing about the device. */
static int read_objects(const struct cgroup *g, const char *file, const char *device, uint64_t *ret_value)
{
	int err, found = -ENOENT;
	char line[LINE_LEN];
	FILE *in;

	err = cgroup_open(g, file, &in);
	if (err)
		return err;
	while (found == -ENOENT && fgets(line, sizeof(line), in))
		found = parse_objects(line, device, ret_value);
	fclose(in);
	return found;
}

/* 0: `g` is at its limit, and the facts say so. FACT_NONE: it is not. */
static int read_reached(const struct cgroup *g, const char *device, struct facts *f)
{
	uint64_t max, current = 0;
	int err;

	err = read_objects(g, "rdma.max", device, &max);
	if (err == -ENOENT || (!err && max == UINT64_MAX))
		return FACT_NONE;
	if (err)
		return err;
	/* A group that holds nothing of the device has no line for it. */
	err = read_objects(g, "rdma.current", device, &current);
	if (err && err != -ENOENT)
		return err;
	if (current < max)
		return FACT_NONE;
	if (strlen(cgroup_name(g)) >= sizeof(f->rdmacg_path))
		return -ENAMETOOLONG;
	strcpy(f->rdmacg_path, cgroup_name(g));
	f->rdmacg_object_max = max;
	f->rdmacg_object_current = current;
	return 0;
}

void enrich_cgroup_rdma(const struct enrich *e, const struct facts_request *req, int proc_fd,
			struct facts *f)
{
	struct cgroup g;
	bool more;
	int err;

	if (!req->device[0])
		err = FACT_NOT_ASKED;
	else if (!enrich_is_component(req->device, sizeof(req->device)))
		err = -EINVAL;
	else
		err = cgroup_find(e, proc_fd, "rdma", &g);
	if (!err) {
		err = FACT_NONE;
		for (more = cgroup_has_limits(&g); more && err == FACT_NONE; more = cgroup_up(&g))
			err = read_reached(&g, req->device, f);
	}
	ENRICH_FAIL(f, rdmacg_path, err);
	ENRICH_FAIL(f, rdmacg_object_max, err);
	ENRICH_FAIL(f, rdmacg_object_current, err);
}

static void read_hugetlb(const struct cgroup *g, uint64_t page_bytes, struct facts *f)
{
	char size[HUGETLB_SIZE_LEN], file[HUGETLB_SIZE_LEN + 32];
	struct cgroup tightest;
	int err;

	hugetlb_size(size, page_bytes);
	snprintf(file, sizeof(file), g->v1 ? "hugetlb.%s.limit_in_bytes" : "hugetlb.%s.max", size);
	err = cgroup_tightest(g, file, &f->hugetlb_cgroup_max_bytes, &tightest);
	ENRICH_FAIL(f, hugetlb_cgroup_max_bytes, err);
	if (!err && f->hugetlb_cgroup_max_bytes == UINT64_MAX)
		err = FACT_NONE;
	if (!err) {
		snprintf(file, sizeof(file), g->v1 ? "hugetlb.%s.usage_in_bytes" : "hugetlb.%s.current", size);
		err = cgroup_number(&tightest, file, &f->hugetlb_cgroup_current_bytes);
	}
	ENRICH_FAIL(f, hugetlb_cgroup_current_bytes, err);
	snprintf(file, sizeof(file), g->v1 ? "hugetlb.%s.failcnt" : "hugetlb.%s.events", size);
	if (g->v1)
		err = cgroup_number(g, file, &f->hugetlb_cgroup_max_events);
	else
		err = cgroup_keyed(g, file, "max", &f->hugetlb_cgroup_max_events);
	ENRICH_FAIL(f, hugetlb_cgroup_max_events, err == -ENOENT ? FACT_NONE : err);
}

void enrich_cgroup_hugetlb(const struct enrich *e, const struct facts_request *req, int proc_fd,
			   struct facts *f)
{
	struct cgroup g;
	int err;

	err = req->hugetlb_bytes ? cgroup_find(e, proc_fd, "hugetlb", &g) : FACT_NOT_ASKED;
	if (!err) {
		read_hugetlb(&g, req->hugetlb_bytes, f);
		return;
	}
	ENRICH_FAIL(f, hugetlb_cgroup_max_bytes, err);
	ENRICH_FAIL(f, hugetlb_cgroup_current_bytes, err);
	ENRICH_FAIL(f, hugetlb_cgroup_max_events, err);
}
