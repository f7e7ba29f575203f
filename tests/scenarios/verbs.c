// SPDX-License-Identifier: BSD-2-Clause
#include "verbs.h"

#include <errno.h>
#include <string.h>

#include "common.h"
#include "json.h"

static const struct {
	const char *name;
	unsigned int flag;
} access_words[] = {
	{ "LOCAL_WRITE", IBV_ACCESS_LOCAL_WRITE },
	{ "REMOTE_WRITE", IBV_ACCESS_REMOTE_WRITE },
	{ "REMOTE_READ", IBV_ACCESS_REMOTE_READ },
	{ "REMOTE_ATOMIC", IBV_ACCESS_REMOTE_ATOMIC },
	{ "MW_BIND", IBV_ACCESS_MW_BIND },
	{ "ZERO_BASED", IBV_ACCESS_ZERO_BASED },
	{ "ON_DEMAND", IBV_ACCESS_ON_DEMAND },
	{ "HUGETLB", IBV_ACCESS_HUGETLB },
	{ "RELAXED_ORDERING", IBV_ACCESS_RELAXED_ORDERING },
};

static struct ibv_context *open_device(const char *device)
{
	struct ibv_context *context = NULL;
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), device))
			context = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return context;
}

void rdma_open(struct rdma *ret_rdma, const char *device)
{
	ret_rdma->context = open_device(device);
	if (!ret_rdma->context)
		die("RDMA device %s is not there or cannot be opened", device);
	ret_rdma->pd = ibv_alloc_pd(ret_rdma->context);
	if (!ret_rdma->pd)
		die_errno("cannot allocate a protection domain on %s", device);
}

void rdma_close(struct rdma *rdma)
{
	ibv_dealloc_pd(rdma->pd);
	ibv_close_device(rdma->context);
}

struct ibv_mr *rdma_register(const struct rdma *rdma, void *address, size_t length, unsigned int access,
			     struct outcome *outcome)
{
	struct ibv_mr *mr;

	errno = 0;
	mr = ibv_reg_mr(rdma->pd, address, length, access);
	outcome->last_errno = mr ? 0 : errno;
	outcome->tried++;
	outcome->ok += mr ? 1 : 0;
	outcome->failed += mr ? 0 : 1;
	return mr;
}

void rdma_deregister(struct ibv_mr *mr)
{
	if (mr && ibv_dereg_mr(mr))
		die("ibv_dereg_mr failed");
}

static unsigned int access_word(const char *word, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(access_words); i++)
		if (strlen(access_words[i].name) == length && !strncmp(access_words[i].name, word, length))
			return access_words[i].flag;
	die("unknown access flag '%.*s'", (int)length, word);
}

unsigned int access_parse(const char *text)
{
	unsigned int access = 0;

	while (*text) {
		size_t length = strcspn(text, ",");

		access |= access_word(text, length);
		text += length + (text[length] == ',');
	}
	return access;
}

void access_json(const char *key, unsigned int access)
{
	json_open(key, '[');
	for (size_t i = 0; i < ARRAY_SIZE(access_words); i++)
		if (access & access_words[i].flag)
			json_str(NULL, access_words[i].name);
	json_close(']');
}

void outcome_json(const struct outcome *outcome)
{
	json_num("tried", (int64_t)outcome->tried);
	json_num("ok", (int64_t)outcome->ok);
	json_num("failed", (int64_t)outcome->failed);
	json_bool("mr_null", outcome->last_errno != 0);
	json_num("errno", outcome->last_errno);
	json_str("errno_name", errno_name(outcome->last_errno));
}
