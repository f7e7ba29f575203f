// SPDX-License-Identifier: BSD-2-Clause
/* The plainest incident that proves each cause of causes/memlock.def, or makes it as likely as it can be. */
#include "support.h"

#include <errno.h>
#include <string.h>

/* A limit of 300 pages, 100 pinned, all by memory regions; 256 are asked for. */
void prove_rlimit_memlock_exceeded(struct incident *ret)
{
	build_failure(ret, ENOMEM);
	fail_upwards(ret, ENOMEM);
	ret->end.memlock_soft_bytes = ret->end.memlock_hard_bytes = 300 * PAGE;
	held_by(ret, 100, 100, 0);
}

void prove_rlimit_memlock_zero_no_cap(struct incident *ret)
{
	build_failure(ret, EPERM);
	fail_upwards(ret, EPERM);
	ret->end.memlock_soft_bytes = ret->end.memlock_hard_bytes = 0;
}

void prove_ipc_lock_cap_not_effective(struct incident *ret)
{
	prove_rlimit_memlock_exceeded(ret);
	ret->end.init_user_ns = 0;
	ret->end.ipc_lock_effective = ret->end.ipc_lock_permitted = 1;
}

void prove_memlock_privileged_pins_counted(struct incident *ret)
{
	prove_rlimit_memlock_exceeded(ret);
	held_by(ret, 400, 400, 0);
}

void prove_memlock_consumed_by_other_subsystem(struct incident *ret)
{
	prove_rlimit_memlock_exceeded(ret);
	held_by(ret, 100, 20, 80);
}

void prove_accounting_late_or_leaked(struct incident *ret)
{
	prove_rlimit_memlock_exceeded(ret);
	held_by(ret, 100, 20, 0);
}

/* An io_uring buffer of 256 pages; the user has 100 charged, this process nothing. */
void prove_locked_vm_per_user_shared(struct incident *ret)
{
	build_failure(ret, ENOMEM);
	ret->end.api = WIRE_API_IO_URING;
	ret->end.have = WIRE_HAVE_ARGS | WIRE_HAVE_ACCOUNT | WIRE_HAVE_MEMLOCK | WIRE_HAVE_VMAS;
	ret->end.args.count = 1;
	ret->end.account.asked_pages = 256;
	ret->end.account.user_locked_pages = ret->end.user_locked_pages = 100;
	ret->end.memlock_soft_bytes = ret->end.memlock_hard_bytes = 300 * PAGE;
	add_chain(ret, WIRE_FN_URING_ACCOUNT, -ENOMEM);
	add_chain(ret, WIRE_FN_URING_BUFFER, -ENOMEM);
	add_chain(ret, WIRE_FN_URING, -ENOMEM);
}
