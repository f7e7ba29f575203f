// SPDX-License-Identifier: BSD-2-Clause
#include "progs.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
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

static uint32_t possible_cpus(void)
{
	unsigned int last = 0;
	FILE *f = fopen("/sys/devices/system/cpu/possible", "re");

	/* "0" or "0-511" */
	if (!f || (fscanf(f, "0-%u", &last) < 0))
		die_errno("cannot read the possible CPUs");
	fclose(f);
	return last + 1;
}

/* The kernel tells what a map takes in the fdinfo of its descriptor. */
static uint64_t map_memory(int fd)
{
	unsigned long long bytes = 0;
	char path[64], line[128];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	if (!f)
		die_errno("cannot read %s", path);
	while (fgets(line, sizeof(line), f))
		found |= sscanf(line, "memlock: %llu", &bytes) == 1;
	fclose(f);
	if (!found)
		die("%s does not tell the memory of the map", path);
	return bytes;
}

/* pinwhy's counters are an array with an entry for each CPU, which the kernel cannot know. */
static uint64_t more_with_512_cpus(const struct bpf_map_info *info, uint32_t cpus)
{
	uint64_t value = (info->value_size + 7ull) & ~7ull;

	if (!strcmp(info->name, "counters") && info->max_entries == cpus)
		return value * (512 - cpus);
	if (info->type == BPF_MAP_TYPE_PERCPU_ARRAY || info->type == BPF_MAP_TYPE_PERCPU_HASH)
		return info->max_entries * value * (512 - cpus);
	return 0;
}

static void map_one(uint32_t id, uint32_t cpus, struct map_use *ret_map)
{
	struct bpf_map_info info = { 0 };
	union bpf_attr attr = { .map_id = id };
	int fd = bpf(BPF_MAP_GET_FD_BY_ID, &attr);

	if (fd < 0)
		die_errno("cannot open BPF map %u", id);
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uintptr_t)&info;
	if (bpf(BPF_OBJ_GET_INFO_BY_FD, &attr))
		die_errno("cannot ask BPF map %u", id);
	ret_map->id = id;
	ret_map->type = info.type;
	memcpy(ret_map->name, info.name, sizeof(ret_map->name));
	ret_map->bytes = map_memory(fd);
	/* Older kernels count entries times values, which a ring has none of. */
	if (info.type == BPF_MAP_TYPE_RINGBUF && ret_map->bytes < info.max_entries)
		ret_map->bytes += info.max_entries;
	ret_map->bytes_512_cpus = ret_map->bytes + more_with_512_cpus(&info, cpus);
	close(fd);
}

uint32_t maps_read(struct map_use ret_maps[PROGS_MAX])
{
	union bpf_attr attr = { 0 };
	uint32_t n = 0, cpus = possible_cpus();

	while (!bpf(BPF_MAP_GET_NEXT_ID, &attr)) {
		if (n == PROGS_MAX)
			die("more than %d BPF maps", PROGS_MAX);
		map_one(attr.next_id, cpus, &ret_maps[n++]);
		attr.start_id = attr.next_id;
	}
	if (errno != ENOENT)
		die_errno("cannot list BPF maps");
	return n;
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
