// SPDX-License-Identifier: BSD-2-Clause
/* The sections of a report that tell what user space read. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "jbuild.h"
#include "names.h"
#include "report.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* When a fact that is not known becomes an entry of missing_evidence. */
enum told {
	TOLD,		/* always */
	TOLD_IF_THERE,	/* unless this node has no such thing */
	/*
	 * Unless this node has no such thing, nobody asked, or the same reason kept the start of the
	 * process from being read: then all of it is missing, which the entries above say.
	 */
	TOLD_IF_ODD,
	NOT_TOLD,	/* another row of the same object speaks for it */
};

/* A fact that becomes a number or a string of the report. */
struct fact_row {
	enum fact_id fact;
	const char *key;
	const char *path;	/* in missing_evidence */
	enum told told;
};

static bool is_told(const struct facts *f, enum fact_id fact, enum told told)
{
	int err = f->err[fact];

	switch (told) {
	case TOLD:
		return true;
	case TOLD_IF_THERE:
		return err != FACT_NONE;
	case TOLD_IF_ODD:
		return err != FACT_NONE && err != FACT_NOT_ASKED && err != f->err[FACT_proc_start_ticks];
	case NOT_TOLD:
		break;
	}
	return false;
}

static void put_missing(struct section *s, enum fact_id fact, const char *what, enum told told)
{
	const struct facts *facts = &s->r->in->facts;
	int err = -facts->err[fact];

	if (is_told(facts, fact, told))
		section_missing(s, what, "%s: %s (%s)", fact_descs[fact].what, name_errno_words(err),
				name_errno(err));
}

static void put_fact(struct section *s, struct json_object *object, const struct fact_row *row)
{
	const struct facts *facts = &s->r->in->facts;
	const struct fact_desc *desc = &fact_descs[row->fact];
	const char *field = (const char *)facts + desc->offset;
	uint64_t value;

	if (facts->err[row->fact]) {
		put_missing(s, row->fact, row->path, row->told);
	} else if (desc->size) {
		jb_string(s->b, object, row->key, field);
	} else {
		memcpy(&value, field, sizeof(value));
		jb_limit(s->b, object, row->key, value);
	}
}

static void put_facts(struct section *s, struct json_object *object, const struct fact_row *rows, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		put_fact(s, object, &rows[i]);
}

void section_fact_string(struct section *s, struct json_object *object, const char *key, const char *what,
			 enum fact_id fact)
{
	const struct fact_row row = { fact, key, what, TOLD };

	put_fact(s, object, &row);
}

/* An object of which nothing is known is left out. */
static void put_object(struct section *s, struct json_object *parent, const char *key,
		       struct json_object *object)
{
	if (object && json_object_object_length(object))
		jb_put(s->b, parent, key, object);
	else
		json_object_put(object);
}

static void put_fact_object(struct section *s, struct json_object *parent, const char *key,
			    const struct fact_row *rows, size_t n)
{
	struct json_object *object = jb_object(s->b);

	put_facts(s, object, rows, n);
	put_object(s, parent, key, object);
}

/* --- memlock -------------------------------------------------------------------- */

static const struct fact_row memlock_rows[] = {
	{ FACT_vm_pin_bytes, "vm_pin_bytes", "memlock.vm_pin_bytes", TOLD },
	{ FACT_vm_lck_bytes, "vm_lck_bytes", "memlock.vm_lck_bytes", TOLD },
};

static const struct fact_row limit_rows[] = {
	{ FACT_limit_set_by, "limit_set_by", "memlock.limit_set_by", TOLD_IF_ODD },
	{ FACT_limit_chain, "limit_chain", NULL, NOT_TOLD },
};

static const struct fact_row subsystem_rows[] = {
	{ FACT_mr_process_pages, "rdma_pages", "memlock.by_subsystem.rdma_pages", TOLD_IF_ODD },
	{ FACT_io_uring_pages, "io_uring_pages", "memlock.by_subsystem.io_uring_pages", TOLD_IF_ODD },
};

void section_memlock(struct section *s)
{
	const struct wire_reg_end *e = &s->r->in->end;
	uint64_t page = s->r->identity->page_size;
	struct json_object *memlock;

	if (!(e->have & WIRE_HAVE_MEMLOCK)) {
		section_missing(s, "memlock", "%s", s->r->in->stuck ?
				"limits are read at the end of a registration only" :
				"limits and capabilities could not be read in the kernel at the failure");
		return;
	}
	memlock = jb_object(s->b);
	if (e->have & WIRE_HAVE_PINNED_VM)
		jb_uint(s->b, memlock, "pinned_bytes", e->pinned_before_pages * page);
	jb_uint(s->b, memlock, "pinned_after_bytes", e->pinned_after_pages * page);
	if (incident_pages(s->r->in, s->r->identity))
		jb_uint(s->b, memlock, "requested_bytes", incident_pages(s->r->in, s->r->identity) * page);
	jb_limit(s->b, memlock, "limit_soft", e->memlock_soft_bytes);
	jb_limit(s->b, memlock, "limit_hard", e->memlock_hard_bytes);
	jb_bool(s->b, memlock, "cap_ipc_lock_effective", e->ipc_lock);
	jb_bool(s->b, memlock, "initial_user_namespace", e->init_user_ns);
	jb_bool(s->b, memlock, "cap_ipc_lock_in_own_namespace", e->ipc_lock_effective);
	jb_bool(s->b, memlock, "cap_ipc_lock_permitted", e->ipc_lock_permitted);
	jb_uint(s->b, memlock, "user_locked_bytes", e->user_locked_pages * page);
	if (e->have & WIRE_HAVE_ACCOUNT) {
		jb_uint(s->b, memlock, "user_asked_bytes", e->account.asked_pages * page);
		jb_uint(s->b, memlock, "user_locked_before_bytes", e->account.user_locked_pages * page);
	}
	jb_uint(s->b, memlock, "locked_vm_bytes", e->locked_vm_pages * page);
	put_facts(s, memlock, memlock_rows, COUNT(memlock_rows));
	/* Who set no limit, and who would have filled it, explains nothing. */
	if (e->memlock_soft_bytes != UINT64_MAX) {
		put_facts(s, memlock, limit_rows, COUNT(limit_rows));
		put_fact_object(s, memlock, "by_subsystem", subsystem_rows, COUNT(subsystem_rows));
	}
	jb_put(s->b, s->report, "memlock", memlock);
}

/* --- the process ---------------------------------------------------------------- */

static const struct fact_row job_rows[] = {
	{ FACT_job_scheduler, "scheduler", "process.job", TOLD_IF_ODD },
	{ FACT_job_id, "id", NULL, NOT_TOLD },
	{ FACT_job_rank, "rank", NULL, NOT_TOLD },
};

static const struct fact_row communicator_row = { FACT_communicator, "communicator", NULL, NOT_TOLD };

/* "name=hex" or "name=", one a line. */
static void put_libraries(struct section *s, struct json_object *process)
{
	const struct facts *f = &s->r->in->facts;
	struct json_object *array, *library;
	char line[sizeof(f->libraries)], *id;
	const char *p = f->libraries;
	size_t len;

	if (!FACT_KNOWN(f, libraries)) {
		put_missing(s, FACT_libraries, "process.libraries", TOLD_IF_ODD);
		return;
	}
	array = jb_array(s->b);
	for (; *p; p += len + (p[len] == '\n')) {
		len = strcspn(p, "\n");
		memcpy(line, p, len);
		line[len] = '\0';
		id = strchr(line, '=');
		if (!id)
			continue;
		*id++ = '\0';
		library = jb_object(s->b);
		jb_string(s->b, library, "name", line);
		if (*id)
			jb_string(s->b, library, "build_id", id);
		jb_append(s->b, array, library);
	}
	jb_put(s->b, process, "libraries", array);
}

void section_process_facts(struct section *s, struct json_object *process)
{
	put_fact_object(s, process, "job", job_rows, COUNT(job_rows));
	put_fact(s, process, &communicator_row);
	put_libraries(s, process);
}

/* --- the node ------------------------------------------------------------------- */

static const struct fact_row memory_rows[] = {
	{ FACT_mem_total_bytes, "total_bytes", "memory.total_bytes", TOLD },
	{ FACT_mem_free_bytes, "free_bytes", "memory.free_bytes", TOLD },
	{ FACT_mem_available_bytes, "available_bytes", "memory.available_bytes", TOLD },
	{ FACT_cma_total_bytes, "cma_total_bytes", "memory.cma_total_bytes", TOLD_IF_THERE },
	{ FACT_cma_free_bytes, "cma_free_bytes", "memory.cma_free_bytes", TOLD_IF_THERE },
	{ FACT_free_outside_bytes, "free_outside_bytes", "memory.free_outside_bytes", TOLD },
};

static const struct fact_row cgroup_rows[] = {
	{ FACT_cgroup_memory_current_bytes, "memory_current_bytes", "cgroup_limits.memory_current_bytes",
	  TOLD_IF_THERE },
	{ FACT_cgroup_memory_max_bytes, "memory_max_bytes", "cgroup_limits.memory_max_bytes", TOLD_IF_THERE },
	{ FACT_cgroup_max_path, "memory_max_path", NULL, NOT_TOLD },
	{ FACT_cgroup_oom_kills, "memory_oom_kills", NULL, NOT_TOLD },
	{ FACT_cgroup_max_events, "memory_max_events", NULL, NOT_TOLD },
};

static const struct fact_row rdmacg_rows[] = {
	{ FACT_rdmacg_path, "path", "cgroup_limits.rdma", TOLD_IF_ODD },
	{ FACT_rdmacg_object_max, "object_max", NULL, NOT_TOLD },
	{ FACT_rdmacg_object_current, "object_current", NULL, NOT_TOLD },
};

static const struct fact_row rdma_rows[] = {
	{ FACT_mr_device_count, "device_mrs", "rdma.device_mrs", TOLD_IF_ODD },
	{ FACT_mr_process_count, "process_mrs", "rdma.process_mrs", TOLD_IF_ODD },
	{ FACT_mr_process_pages, "process_pages", NULL, NOT_TOLD },
};

static const struct fact_row hugetlb_rows[] = {
	{ FACT_hugetlb_total_pages, "total_pages", NULL, NOT_TOLD },
	{ FACT_hugetlb_free_pages, "free_pages", "hugetlb.free_pages", TOLD_IF_ODD },
	{ FACT_hugetlb_reserved_pages, "reserved_pages", NULL, NOT_TOLD },
	{ FACT_hugetlb_cgroup_max_bytes, "cgroup_max_bytes", "hugetlb.cgroup_max_bytes", TOLD_IF_ODD },
	{ FACT_hugetlb_cgroup_current_bytes, "cgroup_current_bytes", NULL, NOT_TOLD },
	{ FACT_hugetlb_cgroup_max_events, "cgroup_max_events", NULL, NOT_TOLD },
};

static const struct fact_row mappings_rows[] = {
	{ FACT_map_count, "count", NULL, NOT_TOLD },
	{ FACT_max_map_count, "max", NULL, NOT_TOLD },
};

static const struct fact_row vfio_rows[] = {
	{ FACT_vfio_entry_limit, "dma_entry_limit", NULL, NOT_TOLD },
};

static const struct fact_row nvidia_rows[] = {
	{ FACT_nvidia_version, "version", "nvidia.version", TOLD_IF_ODD },
	{ FACT_nvidia_flavour, "flavour", NULL, NOT_TOLD },
};

static const struct fact_row bar1_rows[] = {
	{ FACT_bar1_total_bytes, "total", "bar1", TOLD_IF_ODD },
	{ FACT_bar1_used_bytes, "used", NULL, NOT_TOLD },
	{ FACT_bar1_free_bytes, "free", NULL, NOT_TOLD },
};

/* "0: 123456, 1: 789" */
static void put_nodes(struct section *s, struct json_object *memory)
{
	const struct facts *f = &s->r->in->facts;
	struct json_object *array, *entry;
	const char *p = f->node_free;
	unsigned int node;
	uint64_t bytes;
	int n = 0;

	if (!FACT_KNOWN(f, node_free))
		return;
	array = jb_array(s->b);
	for (; sscanf(p, "%9u: %18" SCNu64 "%n", &node, &bytes, &n) == 2; p += strspn(p, ", ")) {
		entry = jb_object(s->b);
		jb_uint(s->b, entry, "node", node);
		jb_uint(s->b, entry, "free_bytes", bytes);
		jb_append(s->b, array, entry);
		p += n;
	}
	jb_put(s->b, memory, "nodes", array);
}

void section_facts(struct section *s)
{
	struct json_object *memory = jb_object(s->b), *cgroup = jb_object(s->b);

	put_facts(s, memory, memory_rows, COUNT(memory_rows));
	put_nodes(s, memory);
	put_object(s, s->report, "memory", memory);
	put_facts(s, cgroup, cgroup_rows, COUNT(cgroup_rows));
	put_fact_object(s, cgroup, "rdma", rdmacg_rows, COUNT(rdmacg_rows));
	put_object(s, s->report, "cgroup_limits", cgroup);
	put_fact_object(s, s->report, "rdma", rdma_rows, COUNT(rdma_rows));
	put_fact_object(s, s->report, "hugetlb", hugetlb_rows, COUNT(hugetlb_rows));
	put_fact_object(s, s->report, "mappings", mappings_rows, COUNT(mappings_rows));
	put_fact_object(s, s->report, "vfio", vfio_rows, COUNT(vfio_rows));
	put_fact_object(s, s->report, "nvidia", nvidia_rows, COUNT(nvidia_rows));
	put_fact_object(s, s->report, "bar1", bar1_rows, COUNT(bar1_rows));
}
