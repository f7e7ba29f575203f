// SPDX-License-Identifier: BSD-2-Clause
/* Settings of the node that limit how much may be pinned or mapped. */
#include <errno.h>

#include "enrich/enrich.h"
#include "enrich/read.h"

void enrich_settings(const struct enrich *e, const struct facts_request *req, struct facts *f)
{
	int err;

	(void)req;
	ENRICH_FAIL(f, max_map_count,
		    read_file_number(e->root, "/proc/sys/vm/max_map_count", &f->max_map_count));
	err = read_file_number(e->root, "/sys/module/vfio_iommu_type1/parameters/dma_entry_limit",
			       &f->vfio_entry_limit);
	/* The module is not loaded. */
	ENRICH_FAIL(f, vfio_entry_limit, err == -ENOENT ? FACT_NONE : err);
}
