// SPDX-License-Identifier: BSD-2-Clause
/*
 * dropcap CAP[,CAP...] COMMAND...: runs a command, as root, without these capabilities.
 * They leave the bounding set: what root gets at exec is limited by it.
 */
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common.h"

/* Newer than the headers of some build machines. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

static const struct {
	const char *name;
	unsigned long cap;
} caps[] = {
	{ "bpf", CAP_BPF },
	{ "perfmon", CAP_PERFMON },
	{ "sys_admin", CAP_SYS_ADMIN },
	{ "sys_resource", CAP_SYS_RESOURCE },
	{ "sys_ptrace", CAP_SYS_PTRACE },
	{ "syslog", CAP_SYSLOG },
	{ "dac_override", CAP_DAC_OVERRIDE },
	{ "dac_read_search", CAP_DAC_READ_SEARCH },
	{ "ipc_lock", CAP_IPC_LOCK },
};

static unsigned long cap_parse(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(caps); i++)
		if (!strcmp(caps[i].name, word))
			return caps[i].cap;
	die("unknown capability '%s'", word);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		die("usage: dropcap CAP[,CAP...] COMMAND...");
	for (char *word = strtok(argv[1], ","); word; word = strtok(NULL, ","))
		if (prctl(PR_CAPBSET_DROP, cap_parse(word), 0, 0, 0))
			die_errno("cannot drop %s", word);
	execvp(argv[2], argv + 2);
	die_errno("cannot run %s", argv[2]);
}
