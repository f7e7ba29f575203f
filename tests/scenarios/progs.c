// SPDX-License-Identifier: BSD-2-Clause
#include "progs.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common.h"

static int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static int prog_fd(uint32_t id)
{
	union bpf_attr attr = { .prog_id = id };
	int fd = bpf(BPF_PROG_GET_FD_BY_ID, &attr);

	if (fd < 0)
		die_errno("cannot open BPF program %u", id);
	return fd;
}

static void read_one(uint32_t id, struct prog_runs *ret_prog)
{
	struct bpf_prog_info info = { 0 };
	union bpf_attr attr = { 0 };
	int fd = prog_fd(id);

	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uintptr_t)&info;
	if (bpf(BPF_OBJ_GET_INFO_BY_FD, &attr))
		die_errno("cannot ask BPF program %u", id);
	close(fd);
	ret_prog->id = id;
	memcpy(ret_prog->name, info.name, sizeof(ret_prog->name));
	ret_prog->runs = info.run_cnt;
	ret_prog->missed = info.recursion_misses;
}

uint32_t progs_read(struct prog_runs ret_progs[PROGS_MAX])
{
	union bpf_attr attr = { 0 };
	uint32_t n = 0;

	while (!bpf(BPF_PROG_GET_NEXT_ID, &attr)) {
		if (n == PROGS_MAX)
			die("more than %d BPF programs", PROGS_MAX);
		read_one(attr.next_id, &ret_progs[n++]);
		attr.start_id = attr.next_id;
	}
	if (errno != ENOENT)
		die_errno("cannot list BPF programs");
	return n;
}

void progs_need_stats(void)
{
	FILE *f = fopen("/proc/sys/kernel/bpf_stats_enabled", "re");
	int on = 0;

	if (!f || fscanf(f, "%d", &on) != 1 || !on)
		die("kernel.bpf_stats_enabled is not 1: no run would be counted");
	fclose(f);
}
