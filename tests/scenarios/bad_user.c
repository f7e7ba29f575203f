// SPDX-License-Identifier: BSD-2-Clause
/* Cases of badreg: what goes wrong in user space, before or after a registration. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bad.h"
#include "common.h"

#define MAX_MAP_COUNT "/proc/sys/vm/max_map_count"

/*
 * libibverbs asks the kernel by netlink whether fork copies pinned pages, and then does without
 * madvise. Where netlink sockets are forbidden, as in many a container, it cannot ask.
 */
static void forbid_netlink(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { ARRAY_SIZE(code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		die_errno("seccomp");
}

static char saved_limit[32];

static void limit_end(struct play *play)
{
	(void)play;
	bad_write(MAX_MAP_COUNT, saved_limit);
}

static unsigned long map_count(void)
{
	unsigned long n = 0;
	FILE *f = fopen("/proc/self/maps", "re");
	int c;

	if (!f)
		die_errno("cannot read /proc/self/maps");
	while ((c = fgetc(f)) != EOF)
		n += c == '\n';
	fclose(f);
	return n;
}

/* Every second page of a mapping gets other rights, until there may be no further mapping. */
static void fill_maps(void)
{
	const size_t pages = 8192;
	char *memory = bad_map(pages * page_bytes(), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	for (size_t i = 1; i < pages; i += 2)
		if (mprotect(memory + i * page_bytes(), page_bytes(), PROT_NONE)) {
			if (errno == ENOMEM)
				return;
			die_errno("mprotect");
		}
	die("%s was not reached", MAX_MAP_COUNT);
}

/* The page in the middle of a mapping: to mark it is to make three mappings of one. */
static void run_maps(struct play *play)
{
	char *memory = bad_memory(3 * page_bytes());
	FILE *f = fopen(MAX_MAP_COUNT, "re");

	if (!f || !fgets(saved_limit, sizeof(saved_limit), f))
		die_errno("cannot read %s", MAX_MAP_COUNT);
	fclose(f);
	if (setenv("RDMAV_FORK_SAFE", "1", 1))
		die_errno("setenv");
	forbid_netlink();
	bad_open(play);
	truth_num(play->truth, "fork_state", (uint64_t)ibv_is_fork_initialized());
	bad_write(MAX_MAP_COUNT, "4096");
	play->end = limit_end;
	if (!play->control)
		fill_maps();
	play->length = page_bytes();
	rdma_deregister(bad_register(play, memory + page_bytes(), page_bytes(), IBV_ACCESS_LOCAL_WRITE));
	truth_num(play->truth, "map_count", map_count());
	truth_num(play->truth, "max_map_count", 4096);
}

/* The same without the filter: on kernels that copy, libibverbs marks nothing. */
static void run_maps_copying(struct play *play)
{
	if (setenv("RDMAV_FORK_SAFE", "1", 1))
		die_errno("setenv");
	bad_open(play);
	truth_num(play->truth, "fork_state", (uint64_t)ibv_is_fork_initialized());
	rdma_deregister(bad_register(play, bad_memory(play->length), play->length, IBV_ACCESS_LOCAL_WRITE));
}

static struct ibv_mr *live;

static void live_end(struct play *play)
{
	(void)play;
	rdma_deregister(live);
}

/*
 * No call fails: the region goes on naming pages that the process no longer has at that address. The
 * control gives the region back before it changes its memory.
 */
static char *live_region(struct play *play)
{
	char *memory = bad_memory(play->length);

	live = bad_register(play, memory, play->length, IBV_ACCESS_LOCAL_WRITE);
	if (!live)
		die_errno("ibv_reg_mr");
	if (play->control) {
		rdma_deregister(live);
		live = NULL;
	}
	play->end = live_end;
	truth_bool(play->truth, "stale", !play->control);
	return memory;
}

static void run_stale_unmap(struct play *play)
{
	char *memory = live_region(play);

	if (munmap(memory, play->length))
		die_errno("munmap");
}

static void run_stale_dontneed(struct play *play)
{
	char *memory = live_region(play);

	if (madvise(memory, play->length, MADV_DONTNEED))
		die_errno("MADV_DONTNEED");
	memory[0] = 2;
}

static void run_stale_mremap(struct play *play)
{
	char *memory = live_region(play);
	char *place = bad_map(play->length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	if (mremap(memory, play->length, play->length, MREMAP_MAYMOVE | MREMAP_FIXED, place) != place)
		die_errno("mremap");
	truth_hex(play->truth, "moved_to", (uintptr_t)place);
}

/* One page in the middle. */
static void run_stale_part(struct play *play)
{
	char *memory = live_region(play);

	if (munmap(memory + play->length / 2, page_bytes()))
		die_errno("munmap");
}

/* Moved, and the mapping left in place empty. */
static void move_pages_out(const char *memory, size_t length)
{
	/* The last argument is a hint here, and looked at. */
	if (mremap((void *)(uintptr_t)memory, length, length, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL) == MAP_FAILED)
		die_errno("MREMAP_DONTUNMAP");
}

static void run_stale_dontunmap(struct play *play)
{
	move_pages_out(live_region(play), play->length);
}

static void run_stale_shrink(struct play *play)
{
	char *memory = live_region(play);

	if (mremap(memory, play->length, play->length / 2, 0) != memory)
		die_errno("mremap");
}

/* What is mapped over is as new, although the call made it, not took it. */
static void run_stale_mmap(struct play *play)
{
	char *memory = live_region(play);

	if (mmap(memory, play->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != memory)
		die_errno("mmap");
}

/* The heap grows and shrinks by brk. malloc gets what it needs meanwhile before. */
static void run_stale_brk(struct play *play)
{
	char *memory;

	bad_open(play);
	mallopt(M_TOP_PAD, MIB);
	free(malloc(64 * KIB));
	memory = sbrk((intptr_t)(play->length + page_bytes()));
	if (memory == (void *)-1)
		die_errno("brk");
	memory = (char *)(((uintptr_t)memory + page_bytes() - 1) & ~(uintptr_t)(page_bytes() - 1));
	memset(memory, 1, play->length);
	live = bad_register(play, memory, play->length, IBV_ACCESS_LOCAL_WRITE);
	if (!live)
		die_errno("ibv_reg_mr");
	play->end = live_end;
	if (play->control) {
		rdma_deregister(live);
		live = NULL;
	}
	if (brk(memory))
		die_errno("brk");
}

/* Of a shared mapping the pages stay in their file: what comes back is what the device has. */
static char *live_shared_region(struct play *play)
{
	char *memory = bad_map(play->length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);

	memset(memory, 1, play->length);
	live = bad_register(play, memory, play->length, IBV_ACCESS_LOCAL_WRITE);
	if (!live)
		die_errno("ibv_reg_mr");
	play->end = live_end;
	return memory;
}

static void run_kept_shared(struct play *play)
{
	if (madvise(live_shared_region(play), play->length, MADV_DONTNEED))
		die_errno("MADV_DONTNEED");
}

static void run_kept_dontunmap(struct play *play)
{
	move_pages_out(live_shared_region(play), play->length);
}

static void run_kept_free(struct play *play)
{
	char *memory = live_region(play);

	if (madvise(memory, play->length, MADV_FREE))
		die_errno("MADV_FREE");
}

/* The pages right before and right behind a region. */
static void run_kept_beside(struct play *play)
{
	size_t page = page_bytes();
	char *memory = bad_memory(play->length + 2 * page);

	live = bad_register(play, memory + page, play->length, IBV_ACCESS_LOCAL_WRITE);
	if (!live)
		die_errno("ibv_reg_mr");
	play->end = live_end;
	if (munmap(memory, page) || munmap(memory + page + play->length, page))
		die_errno("munmap");
}

static const struct bad bads[] = {
	BAD("maps", "vm.max_map_count is reached when libibverbs marks memory for fork", run_maps, .no_device = true),
	BAD("maps_copying", "fork protection asked for where the kernel copies on fork", run_maps_copying,
	    .skip_control = "it is one itself", .no_device = true),
	BAD("stale_unmap", "unmapped below a live region", run_stale_unmap),
	BAD("stale_dontneed", "thrown away below a live region", run_stale_dontneed),
	BAD("stale_mremap", "moved away from a live region", run_stale_mremap),
	BAD("stale_mmap", "mapped over below a live region", run_stale_mmap),
	BAD("stale_dontunmap", "moved away from a live region, whose mapping stays", run_stale_dontunmap),
	BAD("stale_shrink", "cut off below a live region", run_stale_shrink),
	BAD("stale_part", "one page unmapped below a live region", run_stale_part),
	BAD("stale_brk", "heap given back below a live region", run_stale_brk, .no_device = true),
	BAD("kept_shared", "a shared mapping's page tables dropped", run_kept_shared, .skip_control = "it is one itself"),
	BAD("kept_dontunmap", "a shared mapping's page tables moved", run_kept_dontunmap, .skip_control = "it is one itself"),
	BAD("kept_free", "MADV_FREE, which leaves pinned pages", run_kept_free),
	BAD("kept_beside", "the pages beside a live region unmapped", run_kept_beside, .skip_control = "it is one itself"),
};
const struct bad_family bad_user = { bads, ARRAY_SIZE(bads) };
