// SPDX-License-Identifier: BSD-2-Clause
#include "ring.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

struct ring {
	struct ring_buffer *rb;
	ring_fn fn;
	void *ctx;
	unsigned int left;	/* of the budget */
};

/* A negative result ends the round after this record; libbpf has consumed it by then. */
static int on_record(void *ctx, void *data, size_t size)
{
	struct ring *r = ctx;

	r->fn(r->ctx, data, size);
	return --r->left ? 0 : -EAGAIN;
}

int ring_open(struct ring **ret_ring, int map_fd, ring_fn fn, void *ctx)
{
	struct ring *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->fn = fn;
	r->ctx = ctx;
	r->rb = ring_buffer__new(map_fd, on_record, r, NULL);
	err = (int)libbpf_get_error(r->rb);
	if (err) {
		free(r);
		return err;
	}
	*ret_ring = r;
	return 0;
}

int ring_fd(const struct ring *r)
{
	return ring_buffer__epoll_fd(r->rb);
}

unsigned int ring_consume(struct ring *r, unsigned int budget)
{
	r->left = budget;
	ring_buffer__consume(r->rb);
	return budget - r->left;
}

void ring_free(struct ring *r)
{
	if (!r)
		return;
	ring_buffer__free(r->rb);
	free(r);
}
