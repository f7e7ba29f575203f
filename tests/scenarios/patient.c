// SPDX-License-Identifier: BSD-2-Clause
/*
 * patient --case NAME: a process whose mmap lock another one keeps while it registers memory. Says that it
 * is ready with one line of JSON, registers when a line comes on stdin, prints the truth as a second line,
 * and stays until stdin ends. From the first line on it neither faults nor maps: that would need the lock
 * as well, and the call would never be made.
 *   limit  one request over the memlock limit: fails before any page is looked at
 *   sum    the same with what the process holds already
 *   flags  access flags that do not go together: fails before the driver is asked
 *   pin    memory that was never touched: the pin itself waits for the lock
 */
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common.h"
#include "json.h"
#include "verbs.h"

#define MIB (1ul << 20)
#define LIMIT (8 * MIB)
#define NOBODY 65534

struct patient {
	const char *name;
	size_t held, asked;
	unsigned int access;
	bool limited;
	int err;	/* of the registration, once it ends */
};

static const struct patient patients[] = {
	{ "limit", 0, 16 * MIB, IBV_ACCESS_LOCAL_WRITE, true, ENOMEM },
	{ "sum", 4 * MIB, 6 * MIB, IBV_ACCESS_LOCAL_WRITE, true, ENOMEM },
	{ "flags", 0, 4096, IBV_ACCESS_REMOTE_WRITE, false, EINVAL },
	{ "pin", 0, 64 * 4096, IBV_ACCESS_LOCAL_WRITE, false, 0 },
};

static char *map(size_t length)
{
	char *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		die_errno("cannot map %zu bytes", length);
	return memory;
}

static void become_limited(void)
{
	const struct rlimit limit = { LIMIT, LIMIT };

	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		die_errno("setrlimit");
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		die_errno("cannot become an ordinary user");
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

/* Goes once through all that a registration does, and brings every page of it in. */
static void warm_up(const struct rdma *rdma)
{
	struct outcome outcome = { 0 };
	struct ibv_mr *mr = rdma_register(rdma, map(page_bytes()), page_bytes(), IBV_ACCESS_LOCAL_WRITE, &outcome);

	if (!mr)
		die("the first registration failed: %s", errno_name(outcome.last_errno));
	rdma_deregister(mr);
	if (mlockall(MCL_CURRENT))
		die_errno("mlockall");
}

static struct ibv_mr *hold(const struct rdma *rdma, size_t length)
{
	struct outcome outcome = { 0 };
	struct ibv_mr *mr = length ? rdma_register(rdma, map(length), length, IBV_ACCESS_LOCAL_WRITE, &outcome) : NULL;

	if (length && !mr)
		die("what was to be held was refused: %s", errno_name(outcome.last_errno));
	return mr;
}

static void print(const struct patient *patient, const char *memory, const struct outcome *outcome)
{
	json_open(NULL, '{');
	json_str("case", patient->name);
	json_str("entry", "ibv_reg_mr");
	json_num("pid", getpid());
	json_num("tid", gettid());
	json_num("uid", getuid());
	json_str("comm", program_invocation_short_name);
	json_str("device", "rxe0");
	json_hex("address", (uintptr_t)memory);
	json_num("length", (int64_t)patient->asked);
	access_json("access", patient->access);
	json_num("pinned_before", (int64_t)patient->held);
	if (patient->limited)
		json_num("memlock_soft", (int64_t)LIMIT);
	outcome_json(outcome);
	json_bool("as_expected", outcome->tried && outcome->last_errno == patient->err);
	json_close('}');
	json_end_line();
}

static const struct patient *patient_parse(int argc, char **argv)
{
	static const struct option long_options[] = { { "case", required_argument, NULL, 'c' }, { NULL, 0, NULL, 0 } };
	const struct patient *patient = NULL;
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		for (size_t i = 0; option == 'c' && i < ARRAY_SIZE(patients); i++)
			if (!strcmp(patients[i].name, optarg))
				patient = &patients[i];
	if (!patient || optind != argc)
		die("usage: patient --case limit|sum|flags|pin");
	return patient;
}

int main(int argc, char **argv)
{
	const struct patient *patient = patient_parse(argc, argv);
	struct outcome outcome = { 0 };
	struct ibv_mr *held, *mr;
	struct rdma rdma;
	char *memory;

	rdma_open(&rdma, "rxe0");
	warm_up(&rdma);
	if (patient->limited)
		become_limited();
	held = hold(&rdma, patient->held);
	memory = map(patient->asked);
	print(patient, memory, &outcome);
	if (!wait_for_word())
		die("stdin ended before the word to go on came");
	mr = rdma_register(&rdma, memory, patient->asked, patient->access, &outcome);
	print(patient, memory, &outcome);
	wait_for_word();
	rdma_deregister(mr);
	rdma_deregister(held);
	rdma_close(&rdma);
	return outcome.last_errno == patient->err ? EXIT_AS_EXPECTED : EXIT_UNEXPECTED;
}
