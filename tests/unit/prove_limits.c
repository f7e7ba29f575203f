// SPDX-License-Identifier: BSD-2-Clause
/* The plainest incident that proves each cause of causes/limits.def, or makes it as likely as it can be. */
#include "support.h"

#include <errno.h>
#include <string.h>

void prove_rdma_cgroup_limit(struct incident *ret)
{
	fail_command(ret, EAGAIN);
	ret->end.nchain = 0;
	add_chain(ret, WIRE_FN_RDMACG, -EAGAIN);
	add_chain(ret, WIRE_FN_UVERBS, -EAGAIN);
	ret->end.cgroup_resource = 1;
}

void prove_mr_object_limit(struct incident *ret)
{
	fail_driver(ret, EINVAL);
	ret->end.caps.max_mr = 4096;
	ret->end.caps.max_mr_size = UINT64_MAX;
	ret->facts.mr_device_count = 4096;
	ret->facts.err[FACT_mr_device_count] = 0;
}

void prove_max_mr_size_exceeded(struct incident *ret)
{
	fail_driver(ret, EINVAL);
	ret->end.caps.max_mr = 4096;
	ret->end.caps.max_mr_size = 255 * PAGE;
	ret->facts.mr_device_count = 4095;
	ret->facts.err[FACT_mr_device_count] = 0;
}

void prove_mtt_pages_limit(struct incident *ret)
{
	build_failure(ret, ENOMEM);
	ret->end.stage = WIRE_STAGE_PINNED;
	strcpy(ret->end.driver, "mlx4_ib");
	add_chain(ret, WIRE_FN_DRIVER_MLX4, -ENOMEM);
	add_chain(ret, WIRE_FN_UVERBS, -ENOMEM);
}

void prove_vfio_dma_entry_limit(struct incident *ret)
{
	build_failure(ret, ENOSPC);
	ret->end.api = WIRE_API_VFIO_MAP;
	ret->end.have = WIRE_HAVE_ARGS | WIRE_HAVE_MEMLOCK;
	ret->end.args.flags = 3;
	add_chain(ret, WIRE_FN_VFIO_MAP, -ENOSPC);
	ret->facts.vfio_entry_limit = 65535;
	ret->facts.err[FACT_vfio_entry_limit] = 0;
}

void prove_gpu_pin_quota(struct incident *ret)
{
	fail_driver(ret, ENOSPC);
}
