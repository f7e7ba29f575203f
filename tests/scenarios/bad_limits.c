// SPDX-License-Identifier: BSD-2-Clause
/* Cases of badreg: RLIMIT_MEMLOCK, what counts against it, and for whom. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bad.h"
#include "common.h"
#include "otherpins.h"

static void register_whole(struct play *play)
{
	rdma_deregister(bad_register(play, bad_memory(play->length), play->length, IBV_ACCESS_LOCAL_WRITE));
}

/* What is held must be held until it has been counted. */
static void kept_end(struct play *play)
{
	rdma_deregister(play->kept);
}

static void keep(struct play *play, struct ibv_mr *mr)
{
	play->kept = mr;
	play->end = kept_end;
}

/* 4 MiB that fit, then 6 MiB that would go past the limit of 8. */
static void run_step(struct play *play)
{
	struct ibv_mr *first = bad_register(play, bad_memory(4 * MIB), 4 * MIB, IBV_ACCESS_LOCAL_WRITE);

	play->truth->pinned_before = first ? 4 * MIB : 0;
	rdma_deregister(bad_register(play, bad_memory(6 * MIB), 6 * MIB, IBV_ACCESS_LOCAL_WRITE));
	keep(play, first);
}

/* A limit of 0 is another errno than one that is too small: nothing may be pinned at all. */
static void run_zero(struct play *play)
{
	play->length = page_bytes();
	register_whole(play);
}

/*
 * Root of a user namespace holds every capability there, and its status says so. The limit asks for
 * the capability in the first namespace.
 */
static void run_userns(struct play *play)
{
	play->length = 16 * MIB;
	if (!play->control) {
		if (unshare(CLONE_NEWUSER))
			die_errno("unshare");
		play->truth->no_ipc_lock = true;
	}
	truth_bool(play->truth, "user_namespace", !play->control);
	bad_open(play);
	register_whole(play);
}

/* What was pinned under the capability goes on counting when the capability is gone. */
static void run_privileged(struct play *play)
{
	size_t first_bytes = play->control ? 4 * MIB : 16 * MIB;
	struct ibv_mr *first = bad_register(play, bad_memory(first_bytes), first_bytes, IBV_ACCESS_LOCAL_WRITE);

	if (!first)
		die("the registration under CAP_IPC_LOCK failed");
	bad_become_nobody(play);
	play->truth->pinned_before = first_bytes;
	truth_num(play->truth, "privileged_bytes", first_bytes);
	play->length = page_bytes();
	register_whole(play);
	keep(play, first);
}

static void held_by_uring(struct play *play, pid_t holder)
{
	truth_str(play->truth, "held_by", "io_uring");
	truth_num(play->truth, "held_bytes", 6 * MIB);
	truth_num(play->truth, "holder_pid", (uint64_t)holder);
}

/* Buffers of io_uring count in mm->pinned_vm like those of RDMA. The control gives them back first. */
static void run_uring_then_rdma(struct play *play)
{
	int ring = uring_new();
	int err = uring_register(ring, bad_memory(6 * MIB), 6 * MIB);

	if (err)
		die("io_uring took no buffer: %s", errno_name(err));
	if (play->control)
		uring_unregister(ring);
	else
		play->truth->pinned_before = 6 * MIB;
	held_by_uring(play, getpid());
	play->length = 4 * MIB;
	register_whole(play);
}

/* Another process of the same user, until it is killed: says that it holds, and then does nothing. */
static pid_t uring_holder(void)
{
	int said[2];
	char byte;
	pid_t child;

	if (pipe2(said, O_CLOEXEC))
		die_errno("pipe");
	child = fork();
	if (child < 0)
		die_errno("fork");
	if (!child) {
		int err = uring_register(uring_new(), bad_memory(6 * MIB), 6 * MIB);

		if (err)
			die("io_uring took no buffer: %s", errno_name(err));
		if (write(said[1], "h", 1) != 1)
			die_errno("write");
		for (;;)
			pause();
	}
	close(said[1]);
	if (read(said[0], &byte, 1) != 1)
		die("the holder ended early");
	close(said[0]);
	return child;
}

static void holder_end(struct play *play)
{
	if (play->child && (kill(play->child, SIGKILL) || waitpid(play->child, NULL, 0) != play->child))
		die_errno("cannot end the holder");
	play->child = 0;
}

static int try_uring(struct play *play, int ring, char *memory)
{
	(void)play;
	return uring_register(ring, memory, 4 * MIB);
}

static int try_xdp(struct play *play, int fd, char *memory)
{
	(void)play;
	return xdp_register(fd, memory, 4 * MIB, &(struct xdp_shape){ .chunk = 4096 });
}

static void share_user(struct play *play, const char *entry, int fd,
		       int (*try)(struct play *play, int fd, char *memory))
{
	char *memory = bad_memory(4 * MIB);

	if (!play->control) {
		play->child = uring_holder();
		play->end = holder_end;
		held_by_uring(play, play->child);
	}
	bad_call(play, entry, memory, 4 * MIB, 0);
	bad_outcome(play, try(play, fd, memory));
}

static void run_user_uring(struct play *play)
{
	share_user(play, "io_uring", uring_new(), try_uring);
}

/* Making the socket takes a capability, so the user changes after that. */
static void run_user_xdp(struct play *play)
{
	int fd = xdp_new();

	bad_become_nobody(play);
	share_user(play, "af_xdp", fd, try_xdp);
}

static const struct bad bads[] = {
	BAD("whole", "an ordinary registration", register_whole, .skip_control = "it is one itself"),
	BAD("rlimit_once", "one registration larger than the memlock limit", register_whole,
	    LIMITS(8 * MIB, 64 * MIB), .as_nobody = true),
	BAD("rlimit_step", "two registrations whose sum is larger than the limit", run_step,
	    LIMITS(8 * MIB, 10 * MIB), .as_nobody = true),
	BAD("rlimit_fits", "exactly the limit", register_whole, .skip_control = "it is one itself",
	    LIMITS(8 * MIB, 8 * MIB),
	    .as_nobody = true),
	BAD("rlimit_privileged", "over the limit, under CAP_IPC_LOCK", register_whole,
	    .skip_control = "it is one itself", LIMITS(8 * MIB, 8 * MIB)),
	BAD("rlimit_zero", "one page under a limit of 0", run_zero, LIMITS(0, 4096), .as_nobody = true),
	BAD("userns_cap", "CAP_IPC_LOCK of a user namespace only", run_userns,
	    LIMITS(8 * MIB, 8 * MIB), .no_device = true),
	BAD("privileged_pins", "pins made under the capability fill the limit", run_privileged,
	    LIMITS(8 * MIB, 8 * MIB)),
	BAD("uring_then_rdma", "io_uring of the same process holds 6 of 8 MiB", run_uring_then_rdma,
	    LIMITS(8 * MIB, 8 * MIB), .as_nobody = true),
	BAD("user_uring", "another process of the user holds 6 of 8 MiB: io_uring", run_user_uring,
	    LIMITS(8 * MIB, 8 * MIB), .as_nobody = true, .no_device = true),
	BAD("user_xdp", "another process of the user holds 6 of 8 MiB: AF_XDP", run_user_xdp,
	    LIMITS(8 * MIB, 8 * MIB), .no_device = true),
};
const struct bad_family bad_limits = { bads, ARRAY_SIZE(bads) };
