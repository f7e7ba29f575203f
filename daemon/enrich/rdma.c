// SPDX-License-Identifier: BSD-2-Clause
/*
 * Memory regions of a device and of a process, asked of the kernel over RDMA netlink.
 *
 * A region is listed with its length and not with its address: length / page size, rounded up, is at
 * most one page less than what it spans. It is listed with the thread that registered it; regions of a
 * thread that has ended since have no owner. So the process's numbers are lower bounds.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "enrich/enrich.h"
#include "enrich/rdma.h"

#define BUFFER_BYTES 65536
#define WAIT_NS 300000000ULL	/* for one answer */
/*
 * The kernel walks from the start for each part of the list that it sends, while registrations wait for
 * the lock it holds: a list of 32768 costs it some 30 ms, one of ten times as many a hundred times that.
 */
#define MRS_MAX 32768
#define MESSAGES_MAX 4096
#define TIDS 64

struct conversation {
	const struct enrich *e;
	int fd;
	uint32_t seq;
	_Alignas(struct nlmsghdr) char buffer[BUFFER_BYTES];
};

struct request {
	struct nlmsghdr h;
	struct nlattr attr;	/* RDMA_NLDEV_ATTR_DEV_INDEX */
	uint32_t index;
};

typedef int (*message_fn)(void *ctx, const struct nlmsghdr *h);

int rdma_open(void)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	int fd;

	/* The kernel loads it for whoever asks (net/netlink/af_netlink.c, netlink_create()): one that was taken away is to stay away. */
	if (access("/sys/module/ib_core", F_OK))
		return -ENODEV;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
	if (fd < 0)
		return -errno;
	/* Connected: no other process can answer in the kernel's place. */
	if (connect(fd, (struct sockaddr *)&kernel, sizeof(kernel)) < 0) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

static int ask(struct conversation *c, uint16_t command, uint16_t flags, const uint32_t *index)
{
	struct request r = {
		.h = { .nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command),
		       .nlmsg_flags = NLM_F_REQUEST | flags, .nlmsg_seq = ++c->seq },
		.attr = { .nla_len = sizeof(r.attr) + sizeof(r.index), .nla_type = RDMA_NLDEV_ATTR_DEV_INDEX },
		.index = index ? *index : 0,
	};
	uint64_t left = enrich_left_ns(c->e), wait = left < WAIT_NS ? left : WAIT_NS;
	struct timeval timeout = { .tv_usec = (suseconds_t)(wait / 1000) + 1 };

	r.h.nlmsg_len = index ? sizeof(r) : NLMSG_HDRLEN;
	if (setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) < 0)
		return -errno;
	return send(c->fd, &r, r.h.nlmsg_len, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* What ends an answer: 1 when this was its last message, 0 when more follow. */
static int control(const struct nlmsghdr *h, size_t len, bool dump)
{
	struct nlmsgerr e;

	if (h->nlmsg_type == NLMSG_DONE)
		return 1;
	if (h->nlmsg_type == NLMSG_ERROR) {
		if (len < NLMSG_LENGTH(sizeof(e)))
			return -EBADMSG;
		memcpy(&e, NLMSG_DATA(h), sizeof(e));
		return e.error < 0 && e.error >= -4095 ? e.error : -EBADMSG;
	}
	return dump ? 0 : 1;
}

/* One datagram. 1: the answer is complete. */
static int read_datagram(struct conversation *c, size_t size, bool dump, message_fn each, void *ctx)
{
	const char *at = c->buffer;
	int done = 0, err;

	while (size && !done) {
		const struct nlmsghdr *h = (const void *)at;
		size_t whole;

		if (size < NLMSG_HDRLEN || h->nlmsg_len < NLMSG_HDRLEN || h->nlmsg_len > size)
			return -EBADMSG;
		/* An answer to a question that we gave up on. */
		if (h->nlmsg_seq == c->seq) {
			done = control(h, h->nlmsg_len, dump);
			if (done < 0)
				return done;
			if (h->nlmsg_type != NLMSG_DONE) {
				err = each(ctx, h);
				if (err)
					return err;
			}
		}
		whole = NLMSG_ALIGN(h->nlmsg_len);
		whole = whole < size ? whole : size;
		at += whole;
		size -= whole;
	}
	return done;
}

/* Reads until the answer is complete. `each` ends it early with other than 0. */
static int answer(struct conversation *c, bool dump, message_fn each, void *ctx)
{
	for (int i = 0; i < MESSAGES_MAX; i++) {
		ssize_t n = recv(c->fd, c->buffer, sizeof(c->buffer), MSG_TRUNC);
		int done;

		if (n < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		if (n == 0)
			return -EPIPE;
		if ((size_t)n > sizeof(c->buffer))
			return -EMSGSIZE;
		done = read_datagram(c, (size_t)n, dump, each, ctx);
		if (done)
			return done < 0 ? done : 0;
		if (!enrich_left_ns(c->e))
			return -ETIMEDOUT;
	}
	return -E2BIG;
}

struct device_search {
	const char *name;
	uint32_t index;
	bool found;
};

static int on_device(void *ctx, const struct nlmsghdr *h)
{
	struct device_search *s = ctx;
	int err = rdma_parse_device(h, s->name, &s->index);

	s->found |= err == 0;
	return err == -ENOENT ? 0 : err;
}

static int on_summary(void *ctx, const struct nlmsghdr *h)
{
	return rdma_parse_summary(h, ctx);
}

/* Sums what the threads of one process registered. */
struct sum {
	int proc_fd;
	uint32_t tgid;
	uint64_t page_bytes, pages, count, seen;
	struct {
		uint32_t tid;
		bool ours;
	} tids[TIDS];
};

static bool is_ours(struct sum *s, uint32_t tid)
{
	char name[32];

	if (!tid || tid == s->tgid)
		return tid != 0;
	if (s->tids[tid % TIDS].tid != tid) {
		snprintf(name, sizeof(name), "task/%" PRIu32, tid);
		s->tids[tid % TIDS].tid = tid;
		s->tids[tid % TIDS].ours = faccessat(s->proc_fd, name, F_OK, 0) == 0;
	}
	return s->tids[tid % TIDS].ours;
}

static int on_mr(void *ctx, const struct rdma_mr *mr)
{
	struct sum *s = ctx;

	if (++s->seen > MRS_MAX)
		return -E2BIG;
	if (is_ours(s, mr->pid)) {
		s->count++;
		s->pages += mr->length_bytes / s->page_bytes + (mr->length_bytes % s->page_bytes != 0);
	}
	return 0;
}

static int on_mrs(void *ctx, const struct nlmsghdr *h)
{
	return rdma_parse_mrs(h, on_mr, ctx);
}

static int find_device(struct conversation *c, const char *name, uint32_t *ret_index)
{
	struct device_search s = { .name = name };
	int err;

	err = ask(c, RDMA_NLDEV_CMD_GET, NLM_F_DUMP, NULL);
	if (!err)
		err = answer(c, true, on_device, &s);
	*ret_index = s.index;
	return err || s.found ? err : -ENODEV;
}

static int sum_mrs(struct conversation *c, uint32_t index, struct sum *s, struct facts *f)
{
	int err;

	err = ask(c, RDMA_NLDEV_CMD_RES_MR_GET, NLM_F_DUMP, &index);
	if (!err)
		err = answer(c, true, on_mrs, s);
	f->mr_process_pages = s->pages;
	f->mr_process_count = s->count;
	return err;
}

static void talk(struct conversation *c, const char *device, struct sum *s, struct facts *f)
{
	uint32_t index;
	int err, list_err;

	err = find_device(c, device, &index);
	if (!err)
		err = ask(c, RDMA_NLDEV_CMD_RES_GET, 0, &index);
	if (!err)
		err = answer(c, false, on_summary, &f->mr_device_count);
	if (err)
		list_err = err;
	else
		list_err = f->mr_device_count > MRS_MAX ? -E2BIG : sum_mrs(c, index, s, f);
	ENRICH_FAIL(f, mr_device_count, err);
	ENRICH_FAIL(f, mr_process_pages, list_err);
	ENRICH_FAIL(f, mr_process_count, list_err);
}

void enrich_rdma(const struct enrich *e, const struct facts_request *req, int proc_fd, struct facts *f)
{
	struct sum sum = { .proc_fd = proc_fd, .tgid = req->tgid, .page_bytes = e->page_bytes };
	struct conversation c = { .e = e, .fd = -1 };

	if (!req->device[0] || !e->rdma_open)
		c.fd = FACT_NOT_ASKED;
	else if (!enrich_is_component(req->device, sizeof(req->device)))
		c.fd = -EINVAL;
	else
		c.fd = e->rdma_open();
	if (c.fd < 0) {
		ENRICH_FAIL(f, mr_device_count, c.fd);
		ENRICH_FAIL(f, mr_process_pages, c.fd);
		ENRICH_FAIL(f, mr_process_count, c.fd);
		return;
	}
	talk(&c, req->device, &sum, f);
	close(c.fd);
}
