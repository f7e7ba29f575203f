// SPDX-License-Identifier: BSD-2-Clause
#include "firstpin.h"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../kmod/nvidia/nvidia_standin.h"
#include "common.h"
#include "oracle.h"
#include "slowdev.h"

#define SLOW_NAME "firstpin"
#define SLOW_BACKING "/dev/nullb0"
#define SLOW_BLOCKS 64	/* pages of the device that are read in turn */

static uint32_t hold_ids[PINHOLD_MAX_HOLDS];
static uint32_t hold_count;
static int pipe_fds[2] = { -1, -1 };
static aio_context_t aio;
static uint32_t aio_reads;

static void nothing_take(const struct region *region, const struct positions *positions, uint32_t references)
{
	(void)region;
	(void)positions;
	(void)references;
}

static void nothing_give(void)
{
}

/* Pages between this position and the next gap: one pin may cover a run, and ids are scarce. */
static uint32_t run_length(const struct positions *positions, uint32_t from)
{
	uint32_t n = 1;

	while (from + n < positions->count && positions->index[from + n] == positions->index[from] + n)
		n++;
	return n;
}

static void module_take(const struct region *region, const struct positions *positions, uint32_t flags)
{
	for (uint32_t i = 0, run; i < positions->count; i += run) {
		run = run_length(positions, i);
		hold_ids[hold_count++] = hold_take(region_page(region, positions->index[i]), run * page_bytes(),
						   flags);
	}
}

static void plain_take(const struct region *region, const struct positions *positions, uint32_t references)
{
	(void)references;
	module_take(region, positions, PINHOLD_WRITE);
}

static void longterm_take(const struct region *region, const struct positions *positions, uint32_t references)
{
	(void)references;
	module_take(region, positions, PINHOLD_WRITE | PINHOLD_LONGTERM);
}

static void module_give(void)
{
	while (hold_count)
		hold_give(hold_ids[--hold_count]);
}

static void splice_page(uint64_t address)
{
	struct iovec page = { .iov_base = (void *)(uintptr_t)address, .iov_len = page_bytes() };
	ssize_t n = vmsplice(pipe_fds[1], &page, 1, SPLICE_F_NONBLOCK);

	if (n != (ssize_t)page.iov_len)
		die_errno("vmsplice gave %zd", n);
}

static void vmsplice_take(const struct region *region, const struct positions *positions, uint32_t references)
{
	uint32_t slots = references * positions->count;

	/* One slot of the pipe holds one page; root may ask for more than pipe-max-size. */
	if (pipe2(pipe_fds, O_CLOEXEC) || fcntl(pipe_fds[1], F_SETPIPE_SZ, (int)(slots * page_bytes())) < 0)
		die_errno("a pipe of %u pages", slots);
	for (uint32_t i = 0; i < positions->count; i++)
		for (uint32_t n = 0; n < references; n++)
			splice_page(region_page(region, positions->index[i]));
}

static void vmsplice_give(void)
{
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

static void read_into(int fd, uint64_t address, uint32_t block)
{
	struct iocb read = {
		.aio_lio_opcode = IOCB_CMD_PREAD,
		.aio_fildes = (uint32_t)fd,
		.aio_buf = address,
		.aio_nbytes = page_bytes(),
		.aio_offset = (int64_t)(block % SLOW_BLOCKS * page_bytes()),
	};
	struct iocb *list = &read;

	if (syscall(SYS_io_submit, aio, 1, &list) != 1)
		die_errno("io_submit");
	aio_reads++;
}

/* Direct reads that do not end: the pages stay as the block layer holds them. */
static void odirect_take(const struct region *region, const struct positions *positions, uint32_t references)
{
	char path[SLOWDEV_PATH_LEN];
	int fd;

	(void)references;
	slowdev_create(SLOW_NAME, SLOW_BACKING, path);
	fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (fd < 0 || syscall(SYS_io_setup, POSITIONS_MAX, &aio))
		die_errno("cannot read %s", path);
	for (uint32_t i = 0; i < positions->count; i++)
		read_into(fd, region_page(region, positions->index[i]), i);
	close(fd);
}

static void odirect_give(void)
{
	struct io_event event;

	slowdev_release(SLOW_NAME);
	for (; aio_reads; aio_reads--)
		if (syscall(SYS_io_getevents, aio, 1, 1, &event, NULL) != 1 || event.res != (int64_t)page_bytes())
			die_errno("a direct read did not end well");
	syscall(SYS_io_destroy, aio);
	slowdev_remove(SLOW_NAME);
}

/* --- the stand-in for NVIDIA's driver: what cudaHostRegister() comes down to --- */

static int nvidia = -1;

static void nvidia_longterm(bool longterm)
{
	int fd = open("/sys/module/nvidia/parameters/longterm", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, longterm ? "1" : "0", 1) != 1)
		die_errno("cannot set how the stand-in pins; is nvidia.ko loaded?");
	close(fd);
}

static void nvidia_lock(const struct region *region, const struct positions *positions, bool longterm)
{
	nvidia_longterm(longterm);
	nvidia = open(NVIDIA_STANDIN_DEVICE, O_RDWR | O_CLOEXEC);
	if (nvidia < 0)
		die_errno("cannot open " NVIDIA_STANDIN_DEVICE);
	for (uint32_t i = 0, run; i < positions->count; i += run) {
		struct nvidia_standin_lock lock = { .address = region_page(region, positions->index[i]) & ~(uint64_t)(page_bytes() - 1), .write = 1 };

		run = run_length(positions, i);
		lock.pages = run;
		if (ioctl(nvidia, NVIDIA_STANDIN_LOCK, &lock) || lock.status)
			die_errno("the stand-in locked nothing (status 0x%x)", lock.status);
	}
}

static void nvidia_take(const struct region *region, const struct positions *positions, uint32_t references)
{
	(void)references;
	nvidia_lock(region, positions, false);
}

static void nvidia_longterm_take(const struct region *region, const struct positions *positions, uint32_t references)
{
	(void)references;
	nvidia_lock(region, positions, true);
}

static void nvidia_give(void)
{
	close(nvidia);
}

const struct first_pin first_pin_none = { "none", 0, nothing_take, nothing_give, 0, false };
const struct first_pin first_pin_plain = { "FOLL_PIN", 1, plain_take, module_give, 0, false };
const struct first_pin first_pin_longterm = { "FOLL_PIN|FOLL_LONGTERM", 1, longterm_take, module_give, 0, false };
const struct first_pin first_pin_vmsplice = { "vmsplice", 1, vmsplice_take, vmsplice_give, 0, false };
/* More than GUP_PIN_COUNTING_BIAS: a count that looks like a pin and is none. */
const struct first_pin first_pin_vmsplice_many = { "vmsplice x1100", 1100, vmsplice_take, vmsplice_give, 0, false };
const struct first_pin first_pin_odirect = { "O_DIRECT read", 1, odirect_take, odirect_give, 0, false };
const struct first_pin first_pin_nvidia = { "nvidia", 1, nvidia_take, nvidia_give, 0, false };
const struct first_pin first_pin_nvidia_longterm = { "nvidia|FOLL_LONGTERM", 1, nvidia_longterm_take, nvidia_give, 0, false };
