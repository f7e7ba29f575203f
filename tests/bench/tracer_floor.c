// SPDX-License-Identifier: BSD-2-Clause
/*
 * The floor: empty programs on every function pinwhy hooks, attached in the same way. Taken from
 * what pinwhy's loader chose on this kernel, so that it cannot drift from it.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common.h"
#include "kretprobe.h"
#include "tracer.h"

extern const char bench_floor_start[], bench_floor_end[];

struct attached {
	struct bpf_object *object;	/* one each: a trampoline program has one target */
	struct bpf_program *program;
	struct bpf_link *link;
};

static struct attached attached[HOOKS_MAX];
static uint32_t count;

static int attach_kprobe(struct attached *a, const struct hook *hook)
{
	a->link = bpf_program__attach_kprobe(a->program, false, hook->target);
	return (int)libbpf_get_error(a->link);
}

/* As many instances as pinwhy asks for: the same interface, hence the same handler. */
static int attach_kretprobe(struct attached *a, const struct hook *hook)
{
	return kretprobe_attach(&a->link, a->program, hook->slot, hook->module, hook->target);
}

static int attach_trampoline(struct attached *a, const struct hook *hook)
{
	(void)hook; /* its target was set before it was loaded */
	a->link = bpf_program__attach_trace(a->program);
	return (int)libbpf_get_error(a->link);
}

static int attach_tp(struct attached *a, const struct hook *hook)
{
	size_t length = strcspn(hook->target, "/");
	char category[64];

	snprintf(category, sizeof(category), "%.*s", (int)length, hook->target);
	a->link = bpf_program__attach_tracepoint(a->program, category, hook->target + length + 1);
	return (int)libbpf_get_error(a->link);
}

static int attach_raw_tp(struct attached *a, const struct hook *hook)
{
	a->link = bpf_program__attach_raw_tracepoint(a->program, hook->target);
	return (int)libbpf_get_error(a->link);
}

static const struct kind {
	const char *how, *program;
	int (*attach)(struct attached *a, const struct hook *hook);
} kinds[] = {
	{ "kprobe", "empty_kprobe", attach_kprobe },
	{ "kretprobe", "empty_kretprobe", attach_kretprobe },
	{ "fentry", "empty_fentry", attach_trampoline },
	{ "fexit", "empty_fexit", attach_trampoline },
	{ "tp", "empty_tp", attach_tp },
	{ "raw_tp", "empty_raw_tp", attach_raw_tp },
};

/* "kprobe" and "kprobe_va" alike: what follows tells apart the functions, not the mechanism. */
static const struct kind *kind_of(const struct hook *hook)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		size_t length = strlen(kinds[i].how);

		if (!strncmp(hook->variant, kinds[i].how, length) &&
		    (!hook->variant[length] || hook->variant[length] == '_'))
			return &kinds[i];
	}
	die("slot %s is attached by '%s', for which there is no empty program", hook->slot, hook->variant);
}

static void load(struct attached *a, const struct kind *kind, const struct hook *hook)
{
	int err;

	a->object = bpf_object__open_mem(bench_floor_start, (size_t)(bench_floor_end - bench_floor_start), NULL);
	if (libbpf_get_error(a->object))
		die("the empty programs cannot be opened");
	a->program = bpf_object__find_program_by_name(a->object, kind->program);
	bpf_program__set_autoload(a->program, true);
	err = kind->attach == attach_trampoline ? bpf_program__set_attach_target(a->program, 0, hook->target) : 0;
	if (!err)
		err = bpf_object__load(a->object);
	if (err)
		die("the empty program for slot %s does not load: %s", hook->slot, strerror(-err));
}

static void floor_start(void)
{
	const struct hooks *hooks = pinwhy_last_hooks();

	for (count = 0; count < hooks->count; count++) {
		const struct hook *hook = &hooks->hook[count];
		const struct kind *kind = kind_of(hook);
		struct attached *a = &attached[count];
		int err;

		load(a, kind, hook);
		err = kind->attach(a, hook);
		if (err)
			die("the empty program for slot %s cannot be attached: %s", hook->slot, strerror(-err));
	}
	if (!count)
		die("there is nothing to copy: pinwhy has attached no slot before");
}

static void floor_stop(uint64_t registrations)
{
	(void)registrations; /* it counts nothing */
	for (uint32_t i = 0; i < count; i++) {
		const struct hook *hook = &pinwhy_last_hooks()->hook[i];

		if (kind_of(hook)->attach == attach_kretprobe)
			kretprobe_detach(attached[i].link, hook->slot);
		else
			bpf_link__destroy(attached[i].link);
		bpf_object__close(attached[i].object);
	}
}

static void floor_hooks(struct hooks *ret_hooks)
{
	*ret_hooks = *pinwhy_last_hooks();
	for (uint32_t i = 0; i < count; i++) {
		struct bpf_prog_info info = { 0 };
		uint32_t length = sizeof(info);

		if (bpf_obj_get_info_by_fd(bpf_program__fd(attached[i].program), &info, &length))
			die_errno("cannot ask an empty program");
		ret_hooks->hook[i].runs = info.run_cnt;
	}
}

const struct tracer floor_tracer = { "floor", floor_start, floor_stop, floor_hooks, NULL };
