// SPDX-License-Identifier: BSD-2-Clause
/* Where a memlock limit was set, and what to do there. */
#include <inttypes.h>
#include <string.h>

#include "causes/charge.h"
#include "text.h"

/* By what stands in the fact limit_set_by; every row that matches speaks. */
static const struct {
	const char *has;
	const char *remedy;
} setters[] = {
	{ "container runtime", "a container runtime set the limit: start the container with --ulimit memlock=-1 (docker, podman), or give containerd or CRI-O LimitMEMLOCK=infinity in its unit and restart it" },
	{ "slurm", "Slurm hands the limit of the submitting shell on: PropagateResourceLimitsExcept=MEMLOCK in slurm.conf, LimitMEMLOCK=infinity in slurmd.service, then restart slurmd" },
	{ "pbs_mom", "jobs inherit the limit of pbs_mom: LimitMEMLOCK=infinity in its unit (or ulimit -l unlimited in its start script), then restart it" },
	{ "sshd", "a login set the limit: `* - memlock unlimited` in /etc/security/limits.d/rdma.conf, with pam_limits in the PAM stack of sshd; it counts from the next login on" },
	{ "login", "a login set the limit: `* - memlock unlimited` in /etc/security/limits.d/rdma.conf; it counts from the next login on" },
	{ "the process itself", "the program or its start script set the limit: look for setrlimit() or `ulimit -l` there" },
};

static const char generic[] = "raise the limit where the process is started: LimitMEMLOCK=infinity in the systemd unit, `ulimit -l unlimited` in the shell or batch script, the memlock ulimit of the container runtime";

void charge_tell_limit(const struct incident *in, struct finding *ret)
{
	if (FACT_KNOWN(&in->facts, limit_set_by))
		finding_evidence(ret, "the limit was set by: %s", in->facts.limit_set_by);
}

/* "NAME.service (...)": the unit's own setting. Its name comes from outside: it is told, not run. */
static bool tell_unit(const char *set_by, struct finding *ret)
{
	size_t len = strcspn(set_by, " ");
	const size_t end = strlen(".service");

	if (len <= end || strncmp(set_by + len - end, ".service", end) != 0)
		return false;
	finding_remedy(ret, "the limit came from a systemd unit: `systemctl edit %.*s`, add LimitMEMLOCK=infinity under [Service], restart it; limits.conf does not reach services",
		       (int)len, set_by);
	return true;
}

void charge_raise_limit(const struct incident *in, const struct identity *id, uint64_t pages, struct finding *ret)
{
	const char *set_by = FACT_KNOWN(&in->facts, limit_set_by) ? in->facts.limit_set_by : "";
	const struct wire_reg_end *e = &in->end;
	uint64_t bytes;
	bool told;
	size_t i;

	told = tell_unit(set_by, ret);
	for (i = 0; i < sizeof(setters) / sizeof(setters[0]); i++) {
		if (!strstr(set_by, setters[i].has))
			continue;
		finding_remedy(ret, "%s", setters[i].remedy);
		told = true;
	}
	if (__builtin_mul_overflow(pages, id->page_size, &bytes))
		bytes = UINT64_MAX;
	if (!told) {
		finding_remedy(ret, "%s (this request needs at least %" PRIu64 " KiB)", generic, bytes / 1024);
		finding_remedy(ret, "limits.conf applies to logins only: a service, and every job it starts, keeps the service's limit");
	}
	if (e->memlock_hard_bytes > e->memlock_soft_bytes && e->memlock_hard_bytes >= bytes)
		finding_remedy(ret, "the hard limit is higher than the soft one: the process may raise its own soft limit with setrlimit()");
}
