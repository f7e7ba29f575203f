// SPDX-License-Identifier: BSD-2-Clause
/* Limits that processes run into before the pages are looked at. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "exposures/exposures.h"
#include "text.h"

#define EXPOSURE(id, of) void expose_##id(const struct node *n, struct exposure *e);
#include "exposures/exposures.def"
#undef EXPOSURE

/* --- memlock ---------------------------------------------------------------------- */

/*
 * The unit whose LimitMEMLOCK decides, by the name of the process: a scope has no such setting,
 * and the name of a cgroup is not to be trusted in a command that root is told to type.
 */
static const struct {
	const char *comm, *unit;
} default_units[] = {
	{ "slurmd", "slurmd.service" }, { "slurmstepd", "slurmd.service" }, { "pbs_mom", "pbs.service" },
	{ "sbatchd", "lsfd.service" }, { "res", "lsfd.service" }, { "kubelet", "kubelet.service" },
	{ "containerd", "containerd.service" }, { "dockerd", "docker.service" }, { "crio", "crio.service" },
};

static bool plain_service(const char *unit)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@:_.-";
	size_t len = strlen(unit), suffix = strlen(".service");

	return unit[0] != '-' && len > suffix && !strcmp(unit + len - suffix, ".service") && strspn(unit, plain) == len;
}

static const char *unit_to_edit(const struct node_service *s)
{
	if (plain_service(s->unit))
		return s->unit;
	for (size_t i = 0; i < sizeof(default_units) / sizeof(default_units[0]); i++)
		if (strcmp(s->comm, default_units[i].comm) == 0)
			return default_units[i].unit;
	return "its unit";
}

static void memlock_remedy(struct exposure *e, const struct node_service *s)
{
	if (s->kind == SERVICE_LOGIN) {
		exposure_remedy(e, "for what is started from a login: '* - memlock unlimited' in /etc/security/limits.d/ "
				"(pam_limits) and a new login; for user units: LimitMEMLOCK=infinity in a drop-in of "
				"user@.service");
		return;
	}
	exposure_remedy(e, "systemctl edit %s, with LimitMEMLOCK=infinity under [Service], then systemctl restart %s: what it "
			"starts inherits the limit, and limits.conf does not apply to services", unit_to_edit(s),
			unit_to_edit(s));
	if (s->kind == SERVICE_CONTAINERS)
		exposure_remedy(e, "for Docker alone: \"default-ulimits\" with memlock -1 in /etc/docker/daemon.json, or "
				"--ulimit memlock=-1 for one container");
}

void expose_memlock_limit(const struct node *n, struct exposure *e)
{
	char soft[TEXT_BYTES_LEN], hard[TEXT_BYTES_LEN], uid[24];
	enum severity severity;

	for (uint32_t i = 0; i < n->nservices; i++) {
		const struct node_service *s = &n->services[i];

		if (s->soft_bytes == UINT64_MAX)
			continue;
		/* Jobs of a scheduler inherit it for certain; a login may be for administration only. */
		severity = s->kind == SERVICE_LOGIN ? SEVERITY_LOW : SEVERITY_MEDIUM;
		exposure_found(e, severity > e->severity ? severity : e->severity, "services that start jobs have a memlock "
			       "limit: jobs inherit it, and cannot register more without CAP_IPC_LOCK");
		uid[0] = '\0';
		if (s->uid)
			snprintf(uid, sizeof(uid), ", uid %u", s->uid);
		exposure_evidence(e, "%s[%u]%s%s%s: Max locked memory %s soft, %s hard%s", s->comm, s->pid,
				  s->unit[0] ? " in " : "", s->unit, uid, text_bytes(soft, s->soft_bytes),
				  text_bytes(hard, s->hard_bytes), s->count > 1 ? ", and more processes like it" : "");
		memlock_remedy(e, s);
	}
	if (n->services_left_out)
		exposure_unchecked(e, "memlock limits of more services", "%u processes beyond the first %u different ones",
				   n->services_left_out, NODE_SERVICES_MAX);
	if (n->services_unread)
		exposure_unchecked(e, "memlock limits of some services", "the limits of %u processes could not be read",
				   n->services_unread);
}

/* --- mappings --------------------------------------------------------------------- */

/*
 * libibverbs with fork protection splits a mapping at both ends of each registration (madvise
 * MADV_DONTFORK): a process that has used four fifths is a few thousand registrations from the end.
 */
#define MAP_COUNT_PERCENT 80

void expose_max_map_count(const struct node *n, struct exposure *e)
{
	if (n->maps_left_out)
		exposure_unchecked(e, "mappings of more processes", "%u processes beyond what is read at most",
				   n->maps_left_out);
	if (n->maps_unread)
		exposure_unchecked(e, "mappings of some processes", "/proc/PID/maps of %u processes: %s", n->maps_unread,
				   strerror(-n->maps_unread_err));
	if (n->err[NODE_map_counts] || !n->map_processes || n->map_count * 100 < n->max_map_count * MAP_COUNT_PERCENT)
		return;
	exposure_found(e, SEVERITY_MEDIUM, "a process that uses verbs has %u %% or more of the mappings it may have: "
		       "registrations with fork protection fail at the limit", MAP_COUNT_PERCENT);
	exposure_evidence(e, "%s[%u] has %" PRIu64 " mappings, vm.max_map_count is %" PRIu64, n->map_comm, n->map_pid,
			  n->map_count, n->max_map_count);
	exposure_evidence(e, "it is the one with the most of %u processes that have libibverbs mapped", n->map_processes);
	exposure_remedy(e, "sysctl vm.max_map_count=%" PRIu64 ", and the same in /etc/sysctl.d/", n->max_map_count * 4);
	exposure_remedy(e, "or start the job without RDMAV_FORK_SAFE and IBV_FORK_SAFE, if its kernel copies pinned pages on "
			"fork (ibv_is_fork_initialized tells: IBV_FORK_UNNEEDED)");
}

/* --- rdma cgroup controller --------------------------------------------------------- */

void expose_rdma_cgroup_limit(const struct node *n, struct exposure *e)
{
	if (n->limits_more_dirs)
		exposure_unchecked(e, "rdma.max of more cgroups", "there are more cgroups than are looked at");
	if (n->err[NODE_rdma_cgroups] || !n->nlimits)
		return;
	exposure_found(e, SEVERITY_MEDIUM, "cgroups limit the number of RDMA objects: a registration over the limit fails with "
		       "EAGAIN");
	for (uint32_t i = 0; i < n->nlimits; i++)
		exposure_evidence(e, "%s", n->limits[i]);
	if (n->limits_left_out)
		exposure_evidence(e, "%u more limits", n->limits_left_out);
	exposure_remedy(e, "echo \"DEVICE hca_handle=max hca_object=max\" > rdma.max in that cgroup, if whoever set the limit "
			"agrees; rdma.current beside it tells what is used");
}
