/* SPDX-License-Identifier: BSD-2-Clause */
/* Registrations through the real libibverbs, with an exact count of how they ended. */
#ifndef SCENARIO_VERBS_H
#define SCENARIO_VERBS_H

#include <infiniband/verbs.h>
#include <stdint.h>

struct rdma {
	struct ibv_context *context;
	struct ibv_pd *pd;
};

struct outcome {
	uint64_t tried, ok, failed;
	int last_errno;	/* of the last registration, 0 = it succeeded */
};

void rdma_open(struct rdma *ret_rdma, const char *device);	/* dies when it cannot */
void rdma_close(struct rdma *rdma);

/* NULL when refused, as ibv_reg_mr. */
struct ibv_mr *rdma_register(const struct rdma *rdma, void *address, size_t length, unsigned int access,
			     struct outcome *outcome);
void rdma_deregister(struct ibv_mr *mr);	/* NULL is fine */

unsigned int access_parse(const char *text);	/* "LOCAL_WRITE,REMOTE_READ" or "" */
void access_json(const char *key, unsigned int access);
void outcome_json(const struct outcome *outcome);	/* the fields tried ok failed mr_null errno errno_name */

#endif
