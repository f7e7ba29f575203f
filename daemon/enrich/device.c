// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "enrich/enrich.h"
#include "enrich/read.h"

/* The name comes from a record: it must stay one component below the directory it is put in. */
static bool is_safe_name(const char *name, size_t size)
{
	size_t len = strnlen(name, size);

	return len && len < size && !memchr(name, '/', len) && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0;
}

void enrich_device(const struct enrich *e, const struct facts_request *req, struct facts *f)
{
	char path[PATH_MAX];
	FILE *in;
	int err;

	if (!req->device[0]) {
		ENRICH_FAIL(f, link_layer, -ENODEV);
		return;
	}
	if (!is_safe_name(req->device, sizeof(req->device))) {
		ENRICH_FAIL(f, link_layer, -EINVAL);
		return;
	}
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/link_layer", req->device);
	err = read_open(e->root, path, &in);
	if (!err) {
		err = read_first_line(in, f->link_layer, sizeof(f->link_layer));
		fclose(in);
	}
	f->err[FACT_link_layer] = err;
}
