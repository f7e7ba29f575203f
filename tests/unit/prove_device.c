// SPDX-License-Identifier: BSD-2-Clause
/* The plainest incident that proves each cause of causes/device.def. */
#include "support.h"

#include <errno.h>
#include <string.h>

/* A firmware command of mlx5 that failed after the pin. */
static void fail_firmware(struct incident *in, uint32_t opcode, uint32_t status, int err)
{
	struct wire_reg_end *e = &in->end;

	build_failure(in, err);
	strcpy(e->device, "mlx5_0");
	strcpy(e->driver, "mlx5_ib");
	e->stage = WIRE_STAGE_PINNED;
	e->have |= WIRE_HAVE_FW;
	e->fw = (struct wire_fw){ .opcode = opcode, .status = status, .syndrome = 0x59c3a4, .err = -err, .commands = 1 };
	add_chain(in, WIRE_FN_FW_COMMAND, -err);
	add_chain(in, WIRE_FN_MKEY, -err);
	add_chain(in, WIRE_FN_DRIVER_MLX5, -err);
	add_chain(in, WIRE_FN_UVERBS, -err);
}

void prove_mkey_exhausted_fw(struct incident *ret)
{
	fail_firmware(ret, 0x200, 0x8, ENOMEM);
}

void prove_fw_command_rejected(struct incident *ret)
{
	fail_firmware(ret, 0x200, 0x3, EINVAL);
}

void prove_fw_command_timeout(struct incident *ret)
{
	struct wire_reg_end *e = &ret->end;

	fail_firmware(ret, 0x200, 0, ETIMEDOUT);
	e->have &= ~WIRE_HAVE_FW;
	e->nchain = 0;
	add_chain(ret, WIRE_FN_MKEY, -ETIMEDOUT);
	add_chain(ret, WIRE_FN_DRIVER_MLX5, -ETIMEDOUT);
	add_chain(ret, WIRE_FN_UVERBS, -ETIMEDOUT);
}

void prove_dma_map_failed_iommu(struct incident *ret)
{
	build_failure(ret, ENOMEM);
	add_chain(ret, WIRE_FN_DMA_MAP, -ENOMEM);
	fail_upwards(ret, ENOMEM);
}

void prove_swiotlb_full(struct incident *ret)
{
	build_failure(ret, EIO);
	ret->end.have |= WIRE_HAVE_CAPS;
	ret->end.caps.cc_dma_bounce = 1;
	add_chain(ret, WIRE_FN_DMA_MAP, -EIO);
	fail_upwards(ret, EIO);
}

void prove_kernel_metadata_alloc_failed(struct incident *ret)
{
	build_failure(ret, ENOMEM);
	fail_upwards(ret, ENOMEM);
}

void prove_peermem_absent_or_mismatch(struct incident *ret)
{
	prove_address_not_mapped(ret);
	know_libraries(ret, "libcuda.so.1, libibverbs.so.1");
}

static void fail_dmabuf(struct incident *in, enum wire_fn fn, int err)
{
	struct wire_reg_end *e = &in->end;

	build_failure(in, err);
	e->api = WIRE_API_REG_DMABUF_MR;
	e->have |= WIRE_HAVE_DMABUF | WIRE_HAVE_ARGS;
	e->args.object_bytes = 256 * PAGE;
	strcpy(e->args.exporter, "nv_dmabuf");
	add_chain(in, fn, -err);
	add_chain(in, WIRE_FN_UMEM_DMABUF, -err);
	add_chain(in, WIRE_FN_REG_DMABUF_MR, -err);
}

void prove_gpu_bar1_exhausted(struct incident *ret)
{
	fail_dmabuf(ret, WIRE_FN_DMABUF_MAP, ENOMEM);
}

void prove_gpu_not_gdr_capable(struct incident *ret)
{
	fail_dmabuf(ret, WIRE_FN_DMABUF_ATTACH, EOPNOTSUPP);
}

void ask_driver(struct incident *in, int err, enum wire_peer_answer answer)
{
	struct wire_reg_end *e = &in->end;

	e->have |= WIRE_HAVE_PEER;
	e->peer = (struct wire_peer){
		.address = RANGE, .length = 256 * PAGE, .err = -err, .fn = WIRE_FN_NV_P2P, .calls = 1, .failed = err != 0, .answer = answer,
	};
	strcpy(e->peer.caller, answer == WIRE_PEER_MINE ? "nv_mem_get_pages [nvidia_peermem]" : "nv_mem_acquire [nvidia_peermem]");
}

void prove_gpu_pages_refused(struct incident *ret)
{
	build_failure(ret, EIO);
	ret->end.have &= ~(uint32_t)(WIRE_HAVE_UMEM | WIRE_HAVE_PINNED_VM);
	ask_driver(ret, EIO, WIRE_PEER_MINE);
	add_chain(ret, WIRE_FN_NV_P2P, -EIO);
	add_chain(ret, WIRE_FN_DRIVER_MLX5, -EIO);
	add_chain(ret, WIRE_FN_UVERBS, -EIO);
}
