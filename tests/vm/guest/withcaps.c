// SPDX-License-Identifier: BSD-2-Clause
/*
 * withcaps [--uid N] CAP[,CAP...] COMMAND...: runs a command as root with exactly these capabilities ("none": without any),
 * and with no_new_privs, as a container or a service of systemd's would run it; or as another user, who has none of them.
 * A capability may have "cap_" before it, and be written in capitals.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* By number, as include/uapi/linux/capability.h has them. */
static const char *const names[] = {
	"chown", "dac_override", "dac_read_search", "fowner", "fsetid", "kill", "setgid", "setuid", "setpcap", "linux_immutable",
	"net_bind_service", "net_broadcast", "net_admin", "net_raw", "ipc_lock", "ipc_owner", "sys_module", "sys_rawio",
	"sys_chroot", "sys_ptrace", "sys_pacct", "sys_admin", "sys_boot", "sys_nice", "sys_resource", "sys_time", "sys_tty_config",
	"mknod", "lease", "audit_write", "audit_control", "setfcap", "mac_override", "mac_admin", "syslog", "wake_alarm",
	"block_suspend", "audit_read", "perfmon", "bpf", "checkpoint_restore",
};

static void die(const char *what)
{
	fprintf(stderr, "withcaps: %s: %s\n", what, strerror(errno));
	exit(125);
}

static uint64_t parse(char *list)
{
	uint64_t caps = 0;

	if (!strcmp(list, "none"))
		return 0;
	for (char *word = strtok(list, ","); word; word = strtok(NULL, ",")) {
		const char *name = strncasecmp(word, "cap_", 4) ? word : word + 4;
		size_t i = 0;

		while (i < sizeof(names) / sizeof(names[0]) && strcasecmp(names[i], name))
			i++;
		if (i == sizeof(names) / sizeof(names[0])) {
			errno = EINVAL;
			die(word);
		}
		caps |= 1ull << i;
	}
	return caps;
}

/* What root gets at exec is limited by the bounding set, and with no_new_privs by what it has. */
static void keep_only(uint64_t caps)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	for (unsigned long i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
		if (!(caps & 1ull << i) && prctl(PR_CAPBSET_DROP, i, 0, 0, 0))
			die("cannot drop a capability");
	for (int i = 0; i < 2; i++)
		data[i].effective = data[i].permitted = (uint32_t)(caps >> (32 * i));
	if (syscall(SYS_capset, &header, data))
		die("cannot set capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		die("no_new_privs");
}

static void become(uid_t uid)
{
	if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		die("cannot become another user");
}

int main(int argc, char **argv)
{
	if (argc > 3 && !strcmp(argv[1], "--uid")) {
		become((uid_t)strtoul(argv[2], NULL, 10));
		argc -= 2;
		argv += 2;
		if (strcmp(argv[1], "none"))
			argc = 0;
	}
	if (argc < 3) {
		fprintf(stderr, "usage: withcaps CAP[,CAP...]|none COMMAND..., withcaps --uid N none COMMAND...\n");
		return 125;
	}
	if (!geteuid())
		keep_only(parse(argv[1]));
	execvp(argv[2], argv + 2);
	die(argv[2]);
}
