// SPDX-License-Identifier: BSD-2-Clause
#include "rawverbs.h"

#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* enum uverbs_methods_mr and enum uverbs_attrs_reg_mr_cmd_attr_ids of Linux 7.3. */
#define METHOD_REG_MR (UVERBS_METHOD_REG_DMABUF_MR + 1)
enum {
	REG_MR_HANDLE,
	REG_MR_PD_HANDLE,
	REG_MR_DMA_HANDLE,
	REG_MR_IOVA,
	REG_MR_ADDR,
	REG_MR_LENGTH,
	REG_MR_ACCESS_FLAGS,
	REG_MR_FD,
	REG_MR_FD_OFFSET,
	REG_MR_RESP_LKEY,
	REG_MR_RESP_RKEY,
};

#define ATTRS_MAX 12

struct request {
	struct ib_uverbs_ioctl_hdr head;
	struct ib_uverbs_attr attrs[ATTRS_MAX];
};

static uint32_t keys[2];	/* where the kernel writes what nobody reads */

static void attr(struct request *request, uint16_t id, uint16_t length, uint64_t data)
{
	request->attrs[request->head.num_attrs++] = (struct ib_uverbs_attr){
		.attr_id = id, .len = length, .flags = UVERBS_ATTR_F_MANDATORY, .data = data,
	};
}

static void attr_out(struct request *request, uint16_t id, void *into, uint16_t length)
{
	attr(request, id, length, (uintptr_t)into);
}

static int call(const struct rdma *rdma, struct request *request, uint16_t object, uint16_t method)
{
	request->head.object_id = object;
	request->head.method_id = method;
	request->head.driver_id = RDMA_DRIVER_RXE;
	request->head.length = (uint16_t)(sizeof(request->head) + request->head.num_attrs * sizeof(request->attrs[0]));
	return ioctl(rdma->context->cmd_fd, RDMA_VERBS_IOCTL, request) ? errno : 0;
}

int raw_reg_mr(const struct rdma *rdma, const struct raw_mr *mr)
{
	struct request request = { 0 };

	attr(&request, REG_MR_HANDLE, 0, 0);
	attr(&request, REG_MR_PD_HANDLE, 0, rdma->pd->handle);
	attr(&request, REG_MR_IOVA, 8, mr->iova);
	attr(&request, REG_MR_ADDR, 8, (uintptr_t)mr->address);
	attr(&request, REG_MR_LENGTH, 8, mr->length);
	attr(&request, REG_MR_ACCESS_FLAGS, 4, mr->access);
	attr_out(&request, REG_MR_RESP_LKEY, &keys[0], 4);
	attr_out(&request, REG_MR_RESP_RKEY, &keys[1], 4);
	return call(rdma, &request, UVERBS_OBJECT_MR, METHOD_REG_MR);
}

int raw_reg_dmabuf_mr(const struct rdma *rdma, int fd, const struct raw_mr *mr)
{
	struct request request = { 0 };

	attr(&request, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, 0, 0);
	attr(&request, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, 0, rdma->pd->handle);
	attr(&request, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, 8, 0);
	attr(&request, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, 8, mr->length);
	attr(&request, UVERBS_ATTR_REG_DMABUF_MR_IOVA, 8, mr->iova);
	attr(&request, UVERBS_ATTR_REG_DMABUF_MR_FD, 4, (uint32_t)fd);	/* a number here, not a descriptor's attribute */
	attr(&request, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, 4, mr->access);
	attr_out(&request, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, &keys[0], 4);
	attr_out(&request, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, &keys[1], 4);
	return call(rdma, &request, UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR);
}

int raw_dm_alloc(const struct rdma *rdma, size_t length)
{
	struct request request = { 0 };

	attr(&request, UVERBS_ATTR_ALLOC_DM_HANDLE, 0, 0);
	attr(&request, UVERBS_ATTR_ALLOC_DM_LENGTH, 8, length);
	attr(&request, UVERBS_ATTR_ALLOC_DM_ALIGNMENT, 4, 12);
	return call(rdma, &request, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC);
}

int raw_dm_reg(const struct rdma *rdma, const struct raw_mr *mr)
{
	struct request request = { 0 };

	attr(&request, UVERBS_ATTR_REG_DM_MR_HANDLE, 0, 0);
	attr(&request, UVERBS_ATTR_REG_DM_MR_OFFSET, 8, 0);
	attr(&request, UVERBS_ATTR_REG_DM_MR_LENGTH, 8, mr->length);
	attr(&request, UVERBS_ATTR_REG_DM_MR_PD_HANDLE, 0, rdma->pd->handle);
	attr(&request, UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, 4, mr->access | IBV_ACCESS_ZERO_BASED);
	attr(&request, UVERBS_ATTR_REG_DM_MR_DM_HANDLE, 0, 1);
	attr_out(&request, UVERBS_ATTR_REG_DM_MR_RESP_LKEY, &keys[0], 4);
	attr_out(&request, UVERBS_ATTR_REG_DM_MR_RESP_RKEY, &keys[1], 4);
	return call(rdma, &request, UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG);
}

int raw_rereg(const struct rdma *rdma, uint32_t handle, unsigned int flags, const struct raw_mr *mr)
{
	struct ib_uverbs_rereg_mr_resp response;
	struct {
		struct ib_uverbs_cmd_hdr head;
		struct ib_uverbs_rereg_mr body;
	} command = {
		.head = {
			.command = IB_USER_VERBS_CMD_REREG_MR,
			.in_words = sizeof(command) / 4,
			.out_words = sizeof(response) / 4,
		},
		.body = {
			.response = (uintptr_t)&response,
			.mr_handle = handle,
			.flags = flags,
			.start = (uintptr_t)mr->address,
			.length = mr->length,
			.hca_va = mr->iova,
			.pd_handle = rdma->pd->handle,
			.access_flags = mr->access,
		},
	};

	return write(rdma->context->cmd_fd, &command, sizeof(command)) < 0 ? errno : 0;
}
