// SPDX-License-Identifier: BSD-2-Clause
/* The sections of a report that tell what else the kernel's hooks read at the failure. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "jbuild.h"
#include "names.h"
#include "report.h"

#define VM_READ 0x1
#define VM_WRITE 0x2
#define VM_EXEC 0x4
#define VM_SHARED 0x8
#define MINOR_BITS 20	/* include/linux/kdev_t.h */

static void put_frame(struct section *s, struct json_object *stack, const struct wire_frame *f)
{
	struct json_object *frame = jb_object(s->b);
	char id[2 * WIRE_BUILD_ID_LEN + 1];

	if (f->library[0])
		jb_string(s->b, frame, "library", f->library);
	if (f->known) {
		for (size_t i = 0; i < WIRE_BUILD_ID_LEN; i++)
			snprintf(&id[2 * i], 3, "%02x", f->build_id[i]);
		jb_string(s->b, frame, "build_id", id);
	}
	jb_hex(s->b, frame, f->known ? "offset" : "address", f->offset);
	jb_append(s->b, stack, frame);
}

void section_process_stack(struct section *s, struct json_object *process)
{
	const struct wire_reg_end *e = &s->r->in->end;
	struct json_object *stack;

	if (!e->nframes)
		return;
	stack = jb_array(s->b);
	for (uint32_t i = 0; i < e->nframes; i++)
		put_frame(s, stack, &e->frames[i]);
	jb_put(s->b, process, "stack", stack);
}

/* Memory policies by mode + 1: include/uapi/linux/mempolicy.h. */
static const char *policy_name(uint32_t policy)
{
	static const char *const names[] = {
		"none", "default", "preferred", "bind", "interleave", "local", "preferred_many", "weighted_interleave",
	};

	return policy < sizeof(names) / sizeof(names[0]) ? names[policy] : "other";
}

static void put_vma_file(struct section *s, struct json_object *o, const struct wire_vma *v)
{
	char dev[32];

	if (v->fs[0])
		jb_string(s->b, o, "filesystem", v->fs);
	if (!v->file)
		return;
	snprintf(dev, sizeof(dev), "%u:%u", v->dev >> MINOR_BITS, v->dev & ((1u << MINOR_BITS) - 1));
	jb_string(s->b, o, v->what & WIRE_VMA_CHARDEV ? "character_device" : "device", dev);
	jb_uint(s->b, o, "file_offset", v->pgoff * s->r->identity->page_size);
	jb_uint(s->b, o, "file_bytes", v->file_bytes);
	jb_bool(s->b, o, "dax", v->what & WIRE_VMA_DAX);
	jb_bool(s->b, o, "dirty_tracked", v->what & WIRE_VMA_DIRTY_TRACKED);
}

/* The mapping behind the address at which the pin failed. */
void section_mapping(struct section *s)
{
	const struct wire_reg_end *e = &s->r->in->end;
	const struct wire_vma *v = &e->fault_vma;
	struct json_object *o;
	char prot[8];

	if (!(e->have & WIRE_HAVE_FAULT_VMA) || e->fault_vma_state != WIRE_FAULT_VMA_COVERED)
		return;
	o = jb_object(s->b);
	jb_hex(s->b, o, "start", v->start);
	jb_hex(s->b, o, "end", v->end);
	snprintf(prot, sizeof(prot), "%c%c%c%c", v->flags & VM_READ ? 'r' : '-', v->flags & VM_WRITE ? 'w' : '-',
		 v->flags & VM_EXEC ? 'x' : '-', v->flags & VM_SHARED ? 's' : 'p');
	jb_string(s->b, o, "permissions", prot);
	jb_hex(s->b, o, "flags", v->flags);
	put_vma_file(s, o, v);
	if (incident_hugetlb_bytes(s->r->in))
		jb_uint(s->b, o, "huge_page_bytes", incident_hugetlb_bytes(s->r->in));
	if (v->policy) {
		jb_string(s->b, o, "memory_policy", policy_name(v->policy));
		jb_hex(s->b, o, "policy_nodes", v->policy_nodes);
	}
	jb_put(s->b, s->report, "mapping", o);
}

static void put_arguments(struct section *s, struct json_object *o)
{
	const struct wire_reg_end *e = &s->r->in->end;
	const struct wire_args *a = &e->args;

	switch (e->api) {
	case WIRE_API_IO_URING:
		jb_uint(s->b, o, "buffer_index", a->index);
		jb_uint(s->b, o, "buffers", a->count);
		break;
	case WIRE_API_XDP_UMEM:
		jb_uint(s->b, o, "chunk_bytes", a->chunk_bytes);
		jb_uint(s->b, o, "headroom_bytes", a->headroom_bytes);
		jb_hex(s->b, o, "flags", a->flags);
		break;
	case WIRE_API_VFIO_MAP:
		jb_hex(s->b, o, "iova", a->offset);
		jb_hex(s->b, o, "flags", a->flags);
		break;
	case WIRE_API_FORK_MADVISE:
		jb_uint(s->b, o, "advice", a->flags);
		break;
	case WIRE_API_REREG_MR:
		jb_hex(s->b, o, "flags", a->flags);
		break;
	default:
		jb_int(s->b, o, "fd", a->fd);
		jb_uint(s->b, o, "offset", a->offset);
		break;
	}
}

/* What an entry point other than reg_mr was asked beyond its range. */
void section_arguments(struct section *s)
{
	const struct wire_reg_end *e = &s->r->in->end;
	struct json_object *o;

	if (!(e->have & WIRE_HAVE_ARGS))
		return;
	o = jb_object(s->b);
	put_arguments(s, o);
	jb_put(s->b, s->report, "arguments", o);
}

/* Put even where no host memory is involved: the exporter pins it. */
void section_dmabuf(struct section *s)
{
	const struct wire_reg_end *e = &s->r->in->end;
	struct json_object *o;

	if (!(e->have & WIRE_HAVE_DMABUF))
		return;
	o = jb_object(s->b);
	if (e->args.exporter[0])
		jb_string(s->b, o, "exporter", e->args.exporter);
	jb_uint(s->b, o, "size", e->args.object_bytes);
	jb_put(s->b, s->report, "dmabuf", o);
}

void section_device(struct section *s)
{
	const struct wire_reg_end *e = &s->r->in->end;
	struct json_object *o;

	if (!(e->have & WIRE_HAVE_CAPS))
		return;
	o = jb_object(s->b);
	jb_hex(s->b, o, "kernel_caps", e->caps.kernel_caps);
	jb_hex(s->b, o, "odp_caps", e->caps.odp_caps);
	jb_limit(s->b, o, "max_mr_size", e->caps.max_mr_size);
	jb_uint(s->b, o, "max_mr", e->caps.max_mr);
	jb_hex(s->b, o, "page_sizes", e->caps.page_size_cap);
	jb_hex(s->b, o, "firmware", e->caps.fw_ver);
	jb_bool(s->b, o, "dmabuf", e->caps.has_dmabuf);
	jb_bool(s->b, o, "bounces_dma", e->caps.cc_dma_bounce);
	jb_put(s->b, s->report, "device", o);
}

static void put_oom(struct section *s, struct json_object *fate)
{
	static const char *const constraints[] = { "none", "cpuset", "memory_policy", "memory_cgroup" };
	const struct wire_reg_end *e = &s->r->in->end;
	struct json_object *o = jb_object(s->b);

	if (e->oom.constraint < sizeof(constraints) / sizeof(constraints[0]))
		jb_string(s->b, o, "constraint", constraints[e->oom.constraint]);
	jb_uint(s->b, o, "order", e->oom.order);
	jb_hex(s->b, o, "gfp", e->oom.gfp);
	jb_uint(s->b, o, "by_tid", e->oom.by_tid);
	jb_bool(s->b, o, "during_registration", e->oom.time_ns >= e->start_ns && e->oom.time_ns <= e->hdr.time_ns);
	jb_put(s->b, fate, "oom", o);
}

/* Whether the process was dying when the registration ended, and where its memory was to come from. */
void section_fate(struct section *s)
{
	const struct wire_reg_end *e = &s->r->in->end;
	struct json_object *o;

	if (!(e->have & WIRE_HAVE_SIGNAL) || !(e->killed || e->oom_victim || e->group_exit_code || e->policy ||
						e->have & WIRE_HAVE_OOM))
		return;
	o = jb_object(s->b);
	jb_bool(s->b, o, "killed", e->killed);
	jb_bool(s->b, o, "oom_victim", e->oom_victim);
	if (e->group_exit_code)
		jb_uint(s->b, o, "exit_signal", e->group_exit_code & 0x7f);
	if (e->policy) {
		jb_string(s->b, o, "memory_policy", policy_name(e->policy));
		jb_hex(s->b, o, "policy_nodes", e->policy_nodes);
	}
	if (e->have & WIRE_HAVE_OOM)
		put_oom(s, o);
	jb_put(s->b, s->report, "fate", o);
}

/* The first firmware command that failed; the function and errno of the driver above it. */
void section_provider(struct section *s)
{
	const struct incident *in = s->r->in;
	const struct wire_reg_end *e = &in->end;
	struct json_object *o;

	if (!(e->have & WIRE_HAVE_FW))
		return;
	o = jb_object(s->b);
	jb_string(s->b, o, "stage", "firmware");
	jb_string(s->b, o, "function", name_fn(s->r->identity, WIRE_FN_FW_COMMAND));
	jb_int(s->b, o, "errno", -e->fw.err);
	jb_hex(s->b, o, "fw_opcode", e->fw.opcode);
	jb_hex(s->b, o, "fw_op_mod", e->fw.op_mod);
	jb_hex(s->b, o, "fw_status", e->fw.status);
	jb_hex(s->b, o, "syndrome", e->fw.syndrome);
	jb_uint(s->b, o, "commands_failed", e->fw.commands);
	jb_put(s->b, s->report, "provider", o);
}

/* That the process got no dma-buf of GPU memory before. */
void section_export(struct section *s)
{
	const struct wire_reg_end *e = &s->r->in->end;
	struct json_object *o;

	if (!(e->have & WIRE_HAVE_EXPORT))
		return;
	o = jb_object(s->b);
	jb_hex(s->b, o, "nv_status", e->export.status);
	jb_uint(s->b, o, "age_ns", e->hdr.time_ns - e->export.time_ns);
	jb_uint(s->b, o, "failed", e->export.failed);
	jb_put(s->b, s->report, "gpu_export", o);
}

/* What a peer memory client asked of the GPU driver, and what it said of it. */
void section_peer(struct section *s)
{
	static const char *const answers[] = { [WIRE_PEER_NOT_MINE] = "not_mine", [WIRE_PEER_MINE] = "mine" };
	const struct wire_peer *p = &s->r->in->end.peer;
	struct json_object *o;

	if (!(s->r->in->end.have & WIRE_HAVE_PEER))
		return;
	o = jb_object(s->b);
	if (p->fn != WIRE_FN_NONE) {
		jb_string(s->b, o, "function", name_fn(s->r->identity, p->fn));
		jb_int(s->b, o, "errno", -p->err);
	}
	if (p->length) {
		jb_hex(s->b, o, "address", p->address);
		jb_uint(s->b, o, "length", p->length);
	}
	if (p->caller[0])
		jb_string(s->b, o, "caller", p->caller);
	if (p->answer != WIRE_PEER_ANSWER_UNSEEN)
		jb_string(s->b, o, "answer", answers[p->answer]);
	jb_uint(s->b, o, "calls", p->calls);
	jb_uint(s->b, o, "calls_failed", p->failed);
	jb_put(s->b, s->report, "peer_memory", o);
}
