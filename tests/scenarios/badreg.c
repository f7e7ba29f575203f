// SPDX-License-Identifier: BSD-2-Clause
/*
 * badreg --case NAME: registrations that fail for a reason of their own, and their neighbours that
 * differ in one number and succeed. Prints one line of JSON with the truth a report is compared to.
 */
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common.h"
#include "json.h"
#include "verbs.h"

#define MIB (1ul << 20)
#define NOBODY 65534

struct options {
	const struct bad *bad;
	size_t length;
	unsigned long hole_first, hole_pages;
	const char *device;
	bool stay;	/* until stdin ends: facts about a process go with it */
};

struct truth {
	struct outcome outcome;
	uint64_t address, length, iova;	/* of the last registration */
	unsigned int access;
	uint64_t pinned_before;		/* bytes this process has pinned, at the last registration */
};

struct bad {
	const char *name;
	void (*run)(const struct options *options, const struct rdma *rdma, struct truth *truth);
	size_t limit;		/* RLIMIT_MEMLOCK, soft and hard; 0 = as it is */
	bool as_nobody;		/* an ordinary user: without CAP_IPC_LOCK the limit counts */
	uint64_t ok, failed;	/* registrations, as they must end */
	int err;
};

static char *memory_new(size_t length)
{
	char *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		die_errno("cannot map %zu bytes", length);
	if (madvise(memory, length, MADV_NOHUGEPAGE))
		die_errno("madvise on huge pages");
	memset(memory, 1, length);
	return memory;
}

static struct ibv_mr *attempt(const struct rdma *rdma, struct truth *truth, void *address, size_t length,
			      unsigned int access)
{
	truth->address = (uintptr_t)address;
	truth->length = length;
	truth->access = access;
	return rdma_register(rdma, address, length, access, &truth->outcome);
}

static void run_whole(const struct options *options, const struct rdma *rdma, struct truth *truth)
{
	rdma_deregister(attempt(rdma, truth, memory_new(options->length), options->length, IBV_ACCESS_LOCAL_WRITE));
}

/* 4 MiB that fit, then 6 MiB that would go past the limit of 8. */
static void run_step(const struct options *options, const struct rdma *rdma, struct truth *truth)
{
	struct ibv_mr *first = attempt(rdma, truth, memory_new(4 * MIB), 4 * MIB, IBV_ACCESS_LOCAL_WRITE);

	(void)options;
	truth->pinned_before = first ? 4 * MIB : 0;
	rdma_deregister(attempt(rdma, truth, memory_new(6 * MIB), 6 * MIB, IBV_ACCESS_LOCAL_WRITE));
	rdma_deregister(first);
}

static void run_hole(const struct options *options, const struct rdma *rdma, struct truth *truth)
{
	char *memory = memory_new(options->length);

	if (munmap(memory + options->hole_first * page_bytes(), options->hole_pages * page_bytes()))
		die_errno("munmap");
	rdma_deregister(attempt(rdma, truth, memory, options->length, IBV_ACCESS_LOCAL_WRITE));
}

static void run_readonly(const struct options *options, const struct rdma *rdma, struct truth *truth)
{
	char *memory = memory_new(options->length);

	if (mprotect(memory, options->length, PROT_READ))
		die_errno("mprotect");
	rdma_deregister(attempt(rdma, truth, memory, options->length, IBV_ACCESS_LOCAL_WRITE));
}

static void run_no_local_write(const struct options *options, const struct rdma *rdma, struct truth *truth)
{
	rdma_deregister(attempt(rdma, truth, memory_new(options->length), options->length, IBV_ACCESS_REMOTE_WRITE));
}

static void run_no_length(const struct options *options, const struct rdma *rdma, struct truth *truth)
{
	rdma_deregister(attempt(rdma, truth, memory_new(options->length), 0, IBV_ACCESS_LOCAL_WRITE));
}

/* The offsets into a page of the address and of what the network calls it must agree. */
static void run_iova(const struct options *options, const struct rdma *rdma, struct truth *truth)
{
	char *memory = memory_new(options->length);
	struct ibv_mr *mr;

	truth->address = (uintptr_t)memory;
	truth->length = options->length;
	truth->access = IBV_ACCESS_LOCAL_WRITE;
	truth->iova = truth->address + 8;
	errno = 0;
	mr = ibv_reg_mr_iova(rdma->pd, memory, options->length, truth->iova, IBV_ACCESS_LOCAL_WRITE);
	truth->outcome = (struct outcome){ 1, mr ? 1 : 0, mr ? 0 : 1, mr ? 0 : errno };
	rdma_deregister(mr);
}

static const struct bad bads[] = {
	{ "whole", run_whole, 0, false, 1, 0, 0 },
	{ "rlimit_once", run_whole, 8 * MIB, true, 0, 1, ENOMEM },
	{ "rlimit_step", run_step, 8 * MIB, true, 1, 1, ENOMEM },
	{ "rlimit_fits", run_whole, 8 * MIB, true, 1, 0, 0 },
	{ "rlimit_privileged", run_whole, 8 * MIB, false, 1, 0, 0 },
	{ "unmapped", run_hole, 0, false, 0, 1, EFAULT },
	{ "readonly", run_readonly, 0, false, 0, 1, EFAULT },
	{ "no_local_write", run_no_local_write, 0, false, 0, 1, EINVAL },
	{ "no_length", run_no_length, 0, false, 0, 1, EINVAL },
	{ "iova_offset", run_iova, 0, false, 0, 1, EINVAL },
};

static void become(const struct bad *bad)
{
	struct rlimit limit = { bad->limit, bad->limit };

	if (bad->limit && setrlimit(RLIMIT_MEMLOCK, &limit))
		die_errno("setrlimit");
	if (bad->as_nobody && (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
			       setresuid(NOBODY, NOBODY, NOBODY)))
		die_errno("cannot become an ordinary user");
}

static bool as_expected(const struct bad *bad, const struct truth *truth)
{
	return truth->outcome.ok == bad->ok && truth->outcome.failed == bad->failed &&
	       truth->outcome.last_errno == bad->err;
}

static void print(const struct options *options, const struct truth *truth, bool expected)
{
	const struct bad *bad = options->bad;

	json_open(NULL, '{');
	json_str("case", bad->name);
	json_num("pid", getpid());
	json_num("uid", getuid());
	json_str("comm", program_invocation_short_name);
	json_str("device", options->device);
	json_hex("address", truth->address);
	json_num("length", (int64_t)truth->length);
	if (truth->iova)
		json_hex("iova", truth->iova);
	access_json("access", truth->access);
	outcome_json(&truth->outcome);
	if (bad->limit)
		json_num("memlock_soft", (int64_t)bad->limit);
	json_bool("ipc_lock", !bad->as_nobody);
	json_num("pinned_before", (int64_t)truth->pinned_before);
	if (options->hole_pages) {
		json_num("hole_index", (int64_t)options->hole_first);
		json_hex("hole_address", truth->address + options->hole_first * page_bytes());
	}
	json_bool("as_expected", expected);
	json_close('}');
	json_end_line();
}

enum { OPT_CASE = 1, OPT_SIZE, OPT_HOLE, OPT_HOLE_PAGES, OPT_DEVICE, OPT_STAY };

static const struct option long_options[] = {
	{ "case", required_argument, NULL, OPT_CASE },	   { "size", required_argument, NULL, OPT_SIZE },
	{ "hole", required_argument, NULL, OPT_HOLE },	   { "hole-pages", required_argument, NULL, OPT_HOLE_PAGES },
	{ "device", required_argument, NULL, OPT_DEVICE }, { "stay", no_argument, NULL, OPT_STAY },
	{ NULL, 0, NULL, 0 },
};

static const struct bad *bad_parse(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(bads); i++)
		if (!strcmp(bads[i].name, name))
			return &bads[i];
	die("no case is called '%s'", name);
}

static void option_set(struct options *options, int option)
{
	switch (option) {
	case OPT_CASE: options->bad = bad_parse(optarg); break;
	case OPT_SIZE: options->length = parse_bytes(optarg); break;
	case OPT_HOLE: options->hole_first = parse_bytes(optarg); break;
	case OPT_HOLE_PAGES: options->hole_pages = parse_bytes(optarg); break;
	case OPT_DEVICE: options->device = optarg; break;
	case OPT_STAY: options->stay = true; break;
	default:
		die("usage: badreg --case NAME [--size N] [--hole PAGE --hole-pages N] [--device NAME] [--stay]");
	}
}

static void options_parse(struct options *options, int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		option_set(options, option);
	if (!options->bad || optind != argc || (options->bad->run == run_hole) != (options->hole_pages != 0))
		option_set(options, '?');
	if ((options->hole_first + options->hole_pages) * page_bytes() > options->length)
		die("the hole lies outside the range");
}

int main(int argc, char **argv)
{
	struct options options = { .length = 1 * MIB, .device = "rxe0" };
	struct truth truth = { 0 };
	struct rdma rdma;
	bool expected;

	options_parse(&options, argc, argv);
	become(options.bad);
	rdma_open(&rdma, options.device);
	options.bad->run(&options, &rdma, &truth);
	expected = as_expected(options.bad, &truth);
	print(&options, &truth, expected);
	if (options.stay)
		wait_for_word();
	rdma_close(&rdma);
	return expected ? EXIT_AS_EXPECTED : EXIT_UNEXPECTED;
}
