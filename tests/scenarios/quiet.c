// SPDX-License-Identifier: BSD-2-Clause
/*
 * quiet --device PATH [--reads N]: ordinary work that no program may notice. Reads N times with
 * O_DIRECT and N times through io_uring with a registered buffer, into memory that is there, and
 * prints as one line of JSON how often each BPF program ran meanwhile. Exits 0 when none did.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common.h"
#include "json.h"
#include "progs.h"

#define BUFFER_BYTES (64u << 10)

struct ring {
	int fd;
	struct io_uring_params params;
	char *sq, *cq;
	struct io_uring_sqe *sqes;
};

static struct prog_runs before[PROGS_MAX], after[PROGS_MAX];

static char *map_ring(int fd, size_t length, off_t offset)
{
	void *at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, offset);

	if (at == MAP_FAILED)
		die_errno("cannot map the ring");
	return at;
}

static void ring_open(struct ring *ring, char *buffer)
{
	struct iovec whole = { buffer, BUFFER_BYTES };
	struct io_uring_params *p = &ring->params;

	ring->fd = (int)syscall(SYS_io_uring_setup, 1, p);
	if (ring->fd < 0)
		die_errno("io_uring_setup");
	ring->sq = map_ring(ring->fd, p->sq_off.array + p->sq_entries * sizeof(uint32_t), IORING_OFF_SQ_RING);
	ring->cq = map_ring(ring->fd, p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
	ring->sqes = (struct io_uring_sqe *)map_ring(ring->fd, p->sq_entries * sizeof(*ring->sqes), IORING_OFF_SQES);
	/* A long-term pin like a registration's, made before anything is counted. */
	if (syscall(SYS_io_uring_register, ring->fd, IORING_REGISTER_BUFFERS, &whole, 1))
		die_errno("cannot register a buffer with io_uring");
}

static uint32_t *ring_word(char *ring, uint32_t offset)
{
	return (uint32_t *)(void *)(ring + offset);
}

static void ring_read(struct ring *ring, int file, char *buffer, uint64_t offset)
{
	const struct io_uring_params *p = &ring->params;
	uint32_t *tail = ring_word(ring->sq, p->sq_off.tail), *head = ring_word(ring->cq, p->cq_off.head);
	uint32_t slot = *tail & *ring_word(ring->sq, p->sq_off.ring_mask);
	struct io_uring_cqe *cqes = (struct io_uring_cqe *)(void *)(ring->cq + p->cq_off.cqes), *cqe;

	ring->sqes[slot] = (struct io_uring_sqe){
		.opcode = IORING_OP_READ_FIXED, .fd = file, .off = offset,
		.addr = (uintptr_t)buffer, .len = (uint32_t)page_bytes(),
	};
	ring_word(ring->sq, p->sq_off.array)[slot] = slot;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		die_errno("io_uring_enter");
	if (__atomic_load_n(ring_word(ring->cq, p->cq_off.tail), __ATOMIC_ACQUIRE) == *head)
		die("io_uring_enter came back without a completion");
	cqe = &cqes[*head & *ring_word(ring->cq, p->cq_off.ring_mask)];
	if (cqe->res != (int)page_bytes())
		die("a fixed read ended with %d", cqe->res);
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
}

static uint64_t place(unsigned long i)
{
	return i % (BUFFER_BYTES / page_bytes()) * page_bytes();
}

static void work(struct ring *ring, int file, char *buffer, unsigned long reads)
{
	for (unsigned long i = 0; i < reads; i++)
		if (pread(file, buffer + place(i), page_bytes(), (off_t)place(i)) != (ssize_t)page_bytes())
			die_errno("a direct read failed");
	for (unsigned long i = 0; i < reads; i++)
		ring_read(ring, file, buffer + place(i), place(i));
}

/* A run that the kernel refused was a hit of the hook all the same. */
static uint64_t hits_before(uint32_t n, uint32_t id)
{
	for (uint32_t i = 0; i < n; i++)
		if (before[i].id == id)
			return before[i].runs + before[i].missed;
	return 0;
}

static uint32_t print_changed(uint32_t nbefore, uint32_t nafter)
{
	uint32_t changed = 0;

	json_open("changed", '[');
	for (uint32_t i = 0; i < nafter; i++) {
		uint64_t hits = after[i].runs + after[i].missed - hits_before(nbefore, after[i].id);

		if (!hits)
			continue;
		changed++;
		json_open(NULL, '{');
		json_str("name", after[i].name);
		json_num("hits", (int64_t)hits);
		json_close('}');
	}
	json_close(']');
	return changed;
}

static void options_parse(int argc, char **argv, const char **ret_device, unsigned long *ret_reads)
{
	static const struct option long_options[] = {
		{ "device", required_argument, NULL, 'd' }, { "reads", required_argument, NULL, 'r' }, { NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (option == 'd')
			*ret_device = optarg;
		else if (option == 'r')
			*ret_reads = parse_bytes(optarg);
		else
			*ret_device = NULL;
	}
	if (!*ret_device)
		die("usage: quiet --device PATH [--reads N]");
}

int main(int argc, char **argv)
{
	const char *device = NULL;
	unsigned long reads = 10000;
	struct ring ring = { 0 };
	uint32_t nbefore, nafter, changed;
	char *buffer;
	int file;

	options_parse(argc, argv, &device, &reads);
	progs_need_stats();
	file = open(device, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (file < 0)
		die_errno("cannot open %s", device);
	buffer = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buffer == MAP_FAILED)
		die_errno("mmap");
	memset(buffer, 1, BUFFER_BYTES);
	ring_open(&ring, buffer);
	nbefore = progs_read(before);
	work(&ring, file, buffer, reads);
	nafter = progs_read(after);
	json_open(NULL, '{');
	json_num("reads", (int64_t)reads);
	json_num("fixed_reads", (int64_t)reads);
	json_num("programs", nafter);
	changed = print_changed(nbefore, nafter);
	json_close('}');
	json_end_line();
	return changed ? EXIT_UNEXPECTED : EXIT_AS_EXPECTED;
}
