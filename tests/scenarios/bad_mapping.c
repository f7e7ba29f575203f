// SPDX-License-Identifier: BSD-2-Clause
/* Cases of badreg: memory that is mapped in a way that a long-term pin does not accept. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bad.h"
#include "common.h"
#include "otherpins.h"
#include "threads.h"

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447	/* uapi/asm-generic/unistd.h, Linux 5.14 */
#endif

static void register_it(struct play *play, char *memory, unsigned int access)
{
	rdma_deregister(bad_register(play, memory, play->length, access));
}

static void run_hole(struct play *play)
{
	char *memory = bad_memory(play->length);
	char *hole = memory + play->hole_first * page_bytes();

	if (!play->control && munmap(hole, play->hole_pages * page_bytes()))
		die_errno("munmap");
	truth_num(play->truth, "hole_index", play->hole_first);
	truth_hex(play->truth, "hole_address", (uintptr_t)hole);
	register_it(play, memory, IBV_ACCESS_LOCAL_WRITE);
}

static void run_readonly(struct play *play)
{
	char *memory = bad_memory(play->length);

	if (!play->control && mprotect(memory, play->length, PROT_READ))
		die_errno("mprotect");
	register_it(play, memory, IBV_ACCESS_LOCAL_WRITE);
}

static void run_shared_readonly_write(struct play *play)
{
	int prot = play->control ? PROT_READ | PROT_WRITE : PROT_READ;

	register_it(play, bad_map(play->length, prot, MAP_SHARED, bad_memfd(play->length)), IBV_ACCESS_LOCAL_WRITE);
}

/* Kernels that pin for reading by forcing a write cannot break the sharing of these pages. */
static void run_shared_readonly_read(struct play *play)
{
	int sharing = play->control ? MAP_PRIVATE : MAP_SHARED;

	register_it(play, bad_map(play->length, PROT_READ, sharing, bad_memfd(play->length)), IBV_ACCESS_REMOTE_READ);
}

/* The same kernels force their way into memory that nobody may touch. */
static void run_no_access(struct play *play)
{
	char *memory = bad_memory(play->length);

	if (mprotect(memory, play->length, play->control ? PROT_READ : PROT_NONE))
		die_errno("mprotect");
	register_it(play, memory, IBV_ACCESS_REMOTE_READ);
}

static void name_file(struct play *play)
{
	if (play->dir)
		truth_str(play->truth, "dir", play->dir);
}

static void run_file(struct play *play)
{
	int sharing = play->control ? MAP_PRIVATE : MAP_SHARED;
	int fd = bad_file(play, play->length);

	name_file(play);
	register_it(play, bad_map(play->length, PROT_READ | PROT_WRITE, sharing, fd), IBV_ACCESS_LOCAL_WRITE);
}

/* Writable and shared too, but of memory: this one may be pinned. */
static void run_memfd(struct play *play)
{
	register_it(play, bad_map(play->length, PROT_READ | PROT_WRITE, MAP_SHARED, bad_memfd(play->length)),
		    IBV_ACCESS_LOCAL_WRITE);
}

static char *anonymous_or_file(struct play *play)
{
	if (play->control)
		return bad_memory(play->length);
	name_file(play);
	return bad_map(play->length, PROT_READ | PROT_WRITE, MAP_SHARED, bad_file(play, play->length));
}

static void run_uring_file(struct play *play)
{
	char *memory = anonymous_or_file(play);

	bad_call(play, "io_uring", memory, play->length, 0);
	bad_outcome(play, uring_register(uring_new(), memory, play->length));
}

/* --dir is on a file system mounted with dax: shared or private, no such page may be pinned. */
static void run_dax(struct play *play)
{
	char *memory;

	if (play->control) {
		memory = bad_memory(play->length);
	} else {
		name_file(play);
		memory = mmap(NULL, play->length, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC,
			      bad_file(play, play->length), 0);
		/* Only dax files can be mapped so: that the mount option took effect is thereby known. */
		if (memory == MAP_FAILED)
			die_errno("the file system is not mounted with dax");
	}
	register_it(play, memory, IBV_ACCESS_LOCAL_WRITE);
}

/* The frame buffer of QEMU's VGA adapter: device memory, mapped without struct pages. */
static int bar_open(struct play *play)
{
	glob_t found;
	int fd;

	if (glob("/sys/bus/pci/devices/*/resource0_wc", 0, NULL, &found))
		die("no PCI device with memory in BAR 0");
	fd = open(found.gl_pathv[0], O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die_errno("cannot open %s", found.gl_pathv[0]);
	found.gl_pathv[0][strlen(found.gl_pathv[0]) - strlen("_wc")] = '\0';
	truth_str(play->truth, "bar", found.gl_pathv[0]);
	close(fd);
	fd = open(found.gl_pathv[0], O_RDWR | O_CLOEXEC);
	globfree(&found);
	return fd;
}

static void run_bar(struct play *play)
{
	char *memory = play->control ? bad_memory(play->length) :
		       bad_map(play->length, PROT_READ | PROT_WRITE, MAP_SHARED, bar_open(play));

	register_it(play, memory, IBV_ACCESS_LOCAL_WRITE);
}

static int secret_fd(size_t length)
{
	int fd = (int)syscall(SYS_memfd_secret, O_CLOEXEC);

	if (fd < 0 && errno == ENOSYS)
		die("memfd_secret is switched off; boot with secretmem.enable=1");
	if (fd < 0 || ftruncate(fd, (off_t)length))
		die_errno("memfd_secret");
	return fd;
}

static void run_secret(struct play *play)
{
	int fd = play->control ? bad_memfd(play->length) : secret_fd(play->length);

	register_it(play, bad_map(play->length, PROT_READ | PROT_WRITE, MAP_SHARED, fd), IBV_ACCESS_LOCAL_WRITE);
}

/* The file ends in the middle of the mapping: a fault behind its end is a bus error, not a hole. */
static void run_beyond_eof(struct play *play)
{
	size_t file = play->control ? play->length : play->length / 2;
	char *memory = bad_map(play->length, PROT_READ | PROT_WRITE, MAP_SHARED, bad_memfd(file));

	truth_num(play->truth, "file_bytes", file);
	truth_hex(play->truth, "eof_address", (uintptr_t)memory + file);
	register_it(play, memory, IBV_ACCESS_LOCAL_WRITE);
}

struct stall {
	char *memory, *page;
	_Atomic bool ended;
};
static struct stall *stall;

static int uffd_take(char *page)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.range = { (uintptr_t)page, page_bytes() },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api))
		die_errno("userfaultfd");
	if (madvise(page, page_bytes(), MADV_DONTNEED) || ioctl(uffd, UFFDIO_REGISTER, &reg))
		die_errno("cannot hand a page to userfaultfd");
	return uffd;
}

static void stall_register(struct play *play)
{
	int uffd = uffd_take(stall->page);
	struct uffdio_zeropage zero = { .range = { (uintptr_t)stall->page, page_bytes() } };

	if (play->control && ioctl(uffd, UFFDIO_ZEROPAGE, &zero))
		die_errno("UFFDIO_ZEROPAGE");
	register_it(play, stall->memory, IBV_ACCESS_LOCAL_WRITE);
	atomic_store(&stall->ended, true);
}

static void stall_end(struct play *play)
{
	if (kill(play->child, SIGKILL) || waitpid(play->child, NULL, 0) != play->child)
		die_errno("cannot end the process that is stuck");
}

/*
 * Nobody ever serves the page. The child is left inside for as long as the suite looks; where the
 * kernel refuses the fault instead, it has ended by itself.
 */
static void run_uffd(struct play *play)
{
	stall = mmap(NULL, sizeof(*stall), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	stall->memory = bad_memory(play->length);
	stall->page = stall->memory + play->length / 2;
	truth_hex(play->truth, "missing_address", (uintptr_t)stall->page);
	play->child = fork();
	if (play->child < 0)
		die_errno("fork");
	if (!play->child) {
		bad_open(play);
		stall_register(play);
		_exit(0);
	}
	play->truth->stuck = thread_sleeps_in(play->child, "handle_userfault", &stall->ended);
	play->end = stall_end;
	if (!play->truth->stuck && !atomic_load(&stall->ended))
		die("the registration neither ended nor got stuck");
}

static const struct bad bads[] = {
	BAD("unmapped", "part of the range is not mapped", run_hole),
	BAD("readonly", "write access to a private read-only mapping", run_readonly),
	BAD("shared_readonly_write", "write access to a shared read-only mapping", run_shared_readonly_write),
	BAD("shared_readonly_read", "read access to a shared read-only mapping", run_shared_readonly_read),
	BAD("no_access", "read access to PROT_NONE", run_no_access),
	BAD("file", "a shared writable mapping of a file", run_file),
	BAD("memfd", "a shared writable mapping of a memfd", run_memfd, .skip_control = "it is one itself"),
	BAD("uring_file", "the same file as a buffer of io_uring", run_uring_file, .no_device = true),
	BAD("dax", "a file on a file system with dax", run_dax),
	BAD("bar", "memory of a PCI device", run_bar),
	BAD("secret", "memfd_secret", run_secret),
	BAD("beyond_eof", "a mapping that reaches beyond the end of its file", run_beyond_eof),
	BAD("uffd", "a page that userfaultfd never brings", run_uffd, .no_device = true),
};
const struct bad_family bad_mapping = { bads, ARRAY_SIZE(bads) };
