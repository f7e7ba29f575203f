// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "enrich/enrich.h"
#include "enrich/read.h"

void enrich_device(const struct enrich *e, const struct facts_request *req, struct facts *f)
{
	char path[PATH_MAX];
	FILE *in;
	int err;

	if (!req->device[0]) {
		ENRICH_FAIL(f, link_layer, -ENODEV);
		return;
	}
	if (!enrich_is_component(req->device, sizeof(req->device))) {
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
