// SPDX-License-Identifier: BSD-2-Clause
#include "privileges.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LOCKDOWN_FILE "/sys/kernel/security/lockdown"
#define TEXT_LEN 640

const struct capability capabilities[] = {
#define CAPABILITY(name, number, instead, lost) { #name, number, instead, lost },
#include "capabilities.def"
#undef CAPABILITY
};
const uint32_t ncapabilities = sizeof(capabilities) / sizeof(capabilities[0]);

enum lockdown lockdown_parse(const char *line)
{
	static const struct {
		const char *word;
		enum lockdown level;
	} words[] = {
		{ "[none]", LOCKDOWN_NONE }, { "[integrity]", LOCKDOWN_INTEGRITY }, { "[confidentiality]", LOCKDOWN_CONFIDENTIALITY },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(line, words[i].word))
			return words[i].level;
	return LOCKDOWN_UNKNOWN;
}

enum lockdown privileges_lockdown(void)
{
	FILE *f = fopen(LOCKDOWN_FILE, "re");
	char line[80] = "";

	if (!f)
		return LOCKDOWN_UNKNOWN;
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	fclose(f);
	return lockdown_parse(line);
}

bool capability_missing(const struct capability *c, uint64_t effective)
{
	return !(effective & (1ULL << c->number | 1ULL << c->instead));
}

uint64_t privileges_effective(void)
{
	unsigned long long caps = 0;
	char line[256];
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	if (f)
		fclose(f);
	return caps;
}

#define CAP_SYS_ADMIN 21

bool privileges_module_btf(void)
{
	return privileges_effective() & (1ULL << CAP_SYS_ADMIN);
}

/* security/perf: "disallow all unpriv perf event use", a patch that is not upstream; CAP_PERFMON does not do there. */
#define PERF_PARANOID_ADMIN 3

static int perf_paranoid(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%d", &level) != 1)
		level = 0;
	fclose(f);
	return level;
}

/* "CAP_BPF and CAP_PERFMON": what loading itself needs. "": nothing is missing of that. */
static void name_missing(char *text, size_t size)
{
	uint64_t effective = privileges_effective();
	const char *sep = "";

	text[0] = '\0';
	for (uint32_t i = 0; i < ncapabilities; i++) {
		const struct capability *c = &capabilities[i];
		size_t len = strlen(text);

		if (c->number == c->instead || !capability_missing(c, effective))
			continue;
		snprintf(text + len, size - len, "%sCAP_%s", sep, strcmp(c->name, "bpf") ? "PERFMON" : "BPF");
		sep = " and ";
	}
}

const char *privileges_refusal(int err, const char *said)
{
	static char text[TEXT_LEN];
	char missing[64];

	name_missing(missing, sizeof(missing));
	if (missing[0] && (err == -EPERM || err == -EACCES))
		snprintf(text, sizeof(text),
			 "the kernel refuses BPF: this process lacks %s (or CAP_SYS_ADMIN, which does for both); run it as root or give "
			 "it the capabilities of the packaged unit (pinwhy.service)", missing);
	else if (privileges_lockdown() == LOCKDOWN_CONFIDENTIALITY)
		snprintf(text, sizeof(text),
			 "kernel lockdown is at \"confidentiality\" (" LOCKDOWN_FILE "): BPF may not read the kernel's memory, nor may "
			 "kprobes and tracefs be used, and every hook needs one of these; the level stays until a reboot: boot with "
			 "lockdown=integrity, under which nothing is missing");
	else if (!privileges_module_btf() && perf_paranoid() >= PERF_PARANOID_ADMIN)
		snprintf(text, sizeof(text),
			 "this process lacks CAP_SYS_ADMIN, which kernel.perf_event_paranoid of %d (3 or more, a patch of Debian's and Ubuntu's) "
			 "asks for before a kprobe may be attached: no registration is seen; give it CAP_SYS_ADMIN, or sysctl "
			 "kernel.perf_event_paranoid=2", perf_paranoid());
	else if (err != -EPERM && err != -EACCES)
		snprintf(text, sizeof(text), "loading BPF failed: %s (%s)", strerror(-err), said);
	else
		snprintf(text, sizeof(text),
			 "the kernel refuses BPF although this process holds the capabilities: most likely an LSM or seccomp policy of the "
			 "container or sandbox%s, or a kernel built or patched to refuse tracing programs; ask whoever runs this "
			 "machine, there is no setting of pinwhy for it",
			 privileges_lockdown() == LOCKDOWN_UNKNOWN ? ", kernel lockdown (" LOCKDOWN_FILE " is not there to tell)" : "");
	return text;
}
