// SPDX-License-Identifier: BSD-2-Clause
/* Pins that ended because their process is dying, and by whose hand. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "causes/killed.h"
#include "causes/refusal.h"
#include "names.h"
#include "text.h"

void cause_memcg_oom_during_pin(const struct incident *in, const struct identity *id, struct finding *ret);
void cause_numa_node_exhausted(const struct incident *in, const struct identity *id, struct finding *ret);
void cause_fatal_signal_during_pin(const struct incident *in, const struct identity *id, struct finding *ret);

static const char *const constraints[] = {
	"no constraint: all memory that the allocation may use", "the nodes of a cpuset", "the nodes of a memory policy",
	"a memory cgroup's limit",
};

static const char *constraint_name(uint32_t constraint)
{
	return constraint < sizeof(constraints) / sizeof(constraints[0]) ? constraints[constraint] : "a constraint not known here";
}

bool killed_pin(const struct incident *in)
{
	int pin = incident_errno(in, WIRE_FN_GUP_LONGTERM);

	/* EAGAIN: the map's lock was not to be had again after a fault, which a fatal signal alone prevents. */
	return pin == EINTR || pin == EAGAIN;
}

bool oom_rules_out(const struct incident *in, uint32_t constraint_bits, struct finding *f)
{
	const struct wire_reg_end *e = &in->end;

	if (e->have & WIRE_HAVE_OOM && (e->oom.constraint > 31 || !(constraint_bits & 1u << e->oom.constraint)))
		finding_because(f, "the OOM killer acted for %s (constraint %u)", constraint_name(e->oom.constraint), e->oom.constraint);
	else if (!(e->have & WIRE_HAVE_OOM) && e->have & WIRE_HAVE_SIGNAL && !e->oom_victim)
		finding_because(f, "the OOM killer did not choose this process (oom_victim 0)");
	else
		return false;
	f->kind = FINDING_RULED_OUT;
	return true;
}

bool oom_seen(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	uint32_t before = ret->nevidence + ret->nmissing;

	if (!(e->have & WIRE_HAVE_SIGNAL) || !e->oom_victim)
		finding_missing(ret, "mark of the OOM killer", "the process was not read as its victim when the call ended");
	if (e->oom.time_ns < e->start_ns || e->oom.time_ns > e->hdr.time_ns)
		finding_evidence(ret, "not proven: the OOM killer acted outside of this call's time");
	if (!killed_pin(in))
		finding_missing(ret, "failure of the pin", "%s was not seen failing with EINTR", name_fn(id, WIRE_FN_GUP_LONGTERM));
	else if (e->result != -incident_errno(in, WIRE_FN_GUP_LONGTERM))
		finding_evidence(ret, "not proven: the call ended with %s, not with the errno of the pin", name_errno((int)-e->result));
	return ret->nevidence + ret->nmissing == before;
}

void tell_oom(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;

	if (e->have & WIRE_HAVE_OOM)
		finding_evidence(ret, "the OOM killer chose this process %" PRId64 " ms after the call began, for %s (constraint %u, order %u), asked by thread %u%s",
				 (int64_t)(e->oom.time_ns - e->start_ns) / 1000000, constraint_name(e->oom.constraint), e->oom.constraint,
				 e->oom.order, e->oom.by_tid, e->oom.by_tid == e->tid ? ", the one that was registering" : "");
	if (killed_pin(in))
		finding_evidence(ret, "%s = -%s: the pin stopped because the thread is to die", name_fn(id, WIRE_FN_GUP_LONGTERM),
				 name_errno(incident_errno(in, WIRE_FN_GUP_LONGTERM)));
}

static bool memcg_suspect(const struct incident *in)
{
	const struct facts *f = &in->facts;

	return in->end.have & WIRE_HAVE_SIGNAL && in->end.oom_victim && FACT_KNOWN(f, cgroup_memory_max_bytes) &&
	       f->cgroup_memory_max_bytes != UINT64_MAX && FACT_KNOWN(f, cgroup_oom_kills) && f->cgroup_oom_kills > 0;
}

static void tell_memcg(const struct incident *in, struct finding *ret)
{
	const struct facts *f = &in->facts;
	char current[TEXT_BYTES_LEN], max[TEXT_BYTES_LEN], group[INCIDENT_CGROUP];

	if (incident_cgroup(in, group)[0])
		finding_evidence(ret, "cgroup of the process: %.250s", group);
	if (FACT_KNOWN(f, cgroup_memory_max_bytes))
		finding_evidence(ret, "memory.max of %.200s: %s; in use when read: %s",
				 FACT_KNOWN(f, cgroup_max_path) && f->cgroup_max_path[0] ? f->cgroup_max_path : "the tightest ancestor",
				 text_bytes(max, f->cgroup_memory_max_bytes),
				 FACT_KNOWN(f, cgroup_memory_current_bytes) ? text_bytes(current, f->cgroup_memory_current_bytes) : "not known");
	else
		finding_missing(ret, "limit of the memory cgroup", "memory.max was not read");
	if (FACT_KNOWN(f, cgroup_oom_kills))
		finding_evidence(ret, "memory.events oom_kill of its cgroup: %" PRIu64, f->cgroup_oom_kills);
}

void cause_memcg_oom_during_pin(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	bool seen = e->have & WIRE_HAVE_OOM, sure;
	char asked[TEXT_BYTES_LEN];

	if (oom_rules_out(in, 1u << OOM_MEMCG, ret) || (!seen && !memcg_suspect(in)))
		return;
	ret->detail = DETAIL_cgroup_memory_limit;
	finding_summary(ret, "the memory cgroup of the process reached its limit while %s were pinned, and the OOM killer ended the process",
			text_bytes(asked, e->length));
	tell_oom(in, id, ret);
	tell_memcg(in, ret);
	if (!seen)
		finding_missing(ret, "choice of the OOM killer", "the process is its victim, but its constraint was not seen");
	sure = seen && oom_seen(in, id, ret);
	ret->kind = sure ? FINDING_PROVEN : FINDING_LIKELY;
	finding_remedy(ret, "raise memory.max (the memory limit of the job or pod) by what is registered: a pin faults in every page of its range, also those never touched");
	finding_remedy(ret, "if the range is larger than the job needs: register less, or huge pages from hugetlbfs, which the memory controller does not count by default");
}

/* --- memory of the allowed nodes --------------------------------------------------- */

#define POLICY_BIND 3	/* MPOL_BIND + 1, as the wire has it */

static bool bound(const struct incident *in, const struct identity *id)
{
	const struct wire_vma *v = failing_vma(in, id);

	/* A mapping's own policy goes before the task's. */
	if (v && v->policy)
		return v->policy == POLICY_BIND;
	return in->end.have & WIRE_HAVE_POLICY && in->end.policy == POLICY_BIND;
}

/* "node 1, node 3" of a mask. */
static const char *node_list(char buf[96], uint64_t nodes)
{
	struct text t;
	char node[16];

	text_init(&t, buf, 96);
	for (uint32_t i = 0; i < 64; i++)
		if (nodes >> i & 1) {
			snprintf(node, sizeof(node), "node %u", i);
			text_item(&t, node);
		}
	return buf;
}

static void tell_nodes(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	char nodes[96];

	if (e->have & WIRE_HAVE_POLICY && e->policy)
		finding_evidence(ret, "memory policy of the thread: mode %u, %s", e->policy - 1, node_list(nodes, e->policy_nodes));
	if (failing_vma(in, id) && failing_vma(in, id)->policy)
		finding_evidence(ret, "memory policy of the mapping there: mode %u, %s", failing_vma(in, id)->policy - 1,
				 node_list(nodes, failing_vma(in, id)->policy_nodes));
	if (FACT_KNOWN(&in->facts, node_free))
		finding_evidence(ret, "free memory by node, read after the failure: %.200s", in->facts.node_free);
	else
		finding_missing(ret, "free memory by node", "it was not read");
	finding_remedy(ret, "if one node is full and others are not: bind to more nodes (numactl --membind=, the scheduler's memory binding), or prefer in place of binding (numactl --preferred=)");
	finding_remedy(ret, "if the cpuset confines the job: add nodes to cpuset.mems of its cgroup");
	finding_remedy(ret, "if page cache fills the node: free it before the job starts (vm.drop_caches=1), or set vm.zone_reclaim_mode=1");
}

/* ENOMEM: a fault got no page, and nobody was killed for it. */
static void numa_enomem(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;

	if (e->folios_seen || incident_chain(in, WIRE_FN_MIGRATE))
		finding_because(ret, "the pages were there: %u folios stayed where a long-term pin may not leave them", e->folios_seen);
	else if (failing_vma(in, id) && e->have & WIRE_HAVE_POLICY && !bound(in, id))
		finding_because(ret, "no memory policy binds it to nodes (mode of the thread %d, of the mapping %d)", (int)e->policy - 1,
				(int)failing_vma(in, id)->policy - 1);
	if (ret->because[0]) {
		ret->kind = FINDING_RULED_OUT;
		return;
	}
	if (!bound(in, id) || !failing_pin(in, id, ENOMEM))
		return;
	ret->kind = FINDING_LIKELY;
	ret->detail = DETAIL_policy_nodes_full;
	finding_summary(ret, "a page fault at 0x%" PRIx64 " got no memory, and a memory policy binds it to nodes that may be full", failing_address(in, id));
	tell_failing_pin(in, id, ret);
	finding_missing(ret, "allocation that failed", "what the page fault asked for was not seen; other allocations give ENOMEM too");
	tell_nodes(in, id, ret);
}

void cause_numa_node_exhausted(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;

	if (incident_decisive_errno(in) == ENOMEM) {
		numa_enomem(in, id, ret);
		return;
	}
	if (oom_rules_out(in, 1u << OOM_CPUSET | 1u << OOM_POLICY, ret) || !(e->have & WIRE_HAVE_OOM))
		return;
	ret->detail = e->oom.constraint == OOM_CPUSET ? DETAIL_cpuset_nodes_full : DETAIL_policy_nodes_full;
	finding_summary(ret, "%s ran out of memory during the pin, and the OOM killer ended the process", constraint_name(e->oom.constraint));
	tell_oom(in, id, ret);
	ret->kind = oom_seen(in, id, ret) ? FINDING_PROVEN : FINDING_LIKELY;
	tell_nodes(in, id, ret);
}

/* --- a fatal signal ---------------------------------------------------------------- */

static void tell_signal(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	uint32_t signal = e->group_exit_code & 0x7f;

	ret->detail = signal ? DETAIL_killed_by_signal : DETAIL_process_exiting;
	if (signal)
		finding_summary(ret, "the process was killed by signal %u while it was registering: no fault of the registration", signal);
	else
		finding_summary(ret, "another thread ended the process (exit or exec) while this one was registering: no fault of the registration");
	tell_oom(in, id, ret);
	finding_evidence(ret, "a fatal signal is pending for the thread; the process's exit code is 0x%x%s", e->group_exit_code,
			 signal ? "" : ", which names no signal");
	finding_evidence(ret, "the OOM killer did not choose this process (oom_victim 0)");
	if (signal)
		finding_remedy(ret, "look for who sent signal %u: a scheduler's time limit, a supervisor's stop timeout, a person (the unit's or job's log; `auditctl -a always,exit -S kill` for the next time)", signal);
	else
		finding_remedy(ret, "look for the thread that called exit() or exec(), and end registering threads before");
	finding_remedy(ret, "if the registration took long: allow for that in the stop timeout, or register in smaller parts");
}

void cause_fatal_signal_during_pin(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	int pin = incident_errno(in, WIRE_FN_GUP_LONGTERM);

	if (e->have & WIRE_HAVE_OOM || (e->have & WIRE_HAVE_SIGNAL && e->oom_victim))
		finding_because(ret, "the OOM killer chose this process (oom_victim %u)", e->oom_victim);
	else if (e->have & WIRE_HAVE_SIGNAL && !e->killed)
		finding_because(ret, "no fatal signal is pending for the thread (killed 0)");
	if (ret->because[0]) {
		ret->kind = FINDING_RULED_OUT;
		return;
	}
	if (!killed_pin(in))
		return;
	if (!(e->have & WIRE_HAVE_SIGNAL)) {
		ret->kind = FINDING_LIKELY;
		finding_summary(ret, "the pin was broken off, as it is for a thread that is to die");
		tell_oom(in, id, ret);
		finding_missing(ret, "pending signals", "neither the fatal signal nor the OOM killer's mark was read");
		finding_remedy(ret, "look for \"Out of memory\" in the kernel log, and for who ended the process");
		return;
	}
	tell_signal(in, id, ret);
	ret->kind = failing_kind(in, id, pin, ret);
}
