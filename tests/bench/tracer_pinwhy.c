// SPDX-License-Identifier: BSD-2-Clause
/* pinwhy's own programs, loaded and attached by its own loader. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common.h"
#include "json.h"
#include "loader.h"
#include "series.h"
#include "slots.h"
#include "tracer.h"

#define RING_BYTES (1u << 20)

static struct kfacts *kfacts;
static struct loader *loader;
static struct ring_buffer *ring;
static enum hook_mode modes[NSLOTS];
static struct hooks last;
static struct {
	uint64_t facts, open, attach;
} load_instructions;
static uint64_t ok_at_start;

static void want(int slot)
{
	modes[slot] = HOOK_AUTO;
	if (*slot_rows[slot].needs)
		want(slot_index(slot_rows[slot].needs));
}

void pinwhy_restrict(const char *slots)
{
	char name[64];

	for (int i = 0; i < NSLOTS; i++)
		modes[i] = HOOK_NEVER;
	while (*slots) {
		size_t length = strcspn(slots, ",");
		int slot;

		snprintf(name, sizeof(name), "%.*s", (int)length, slots);
		slot = slot_index(name);
		if (slot < 0)
			die("slots.def has no slot '%s'", name);
		want(slot);
		slots += length + (slots[length] == ',');
	}
}

static uint64_t registrations_ok(void)
{
	struct loss loss = { 0 };

	loader_counters(loader, &loss);
	if (loss.reg_failed)
		die("pinwhy counted %lu failed registrations; none failed", (unsigned long)loss.reg_failed);
	return loss.reg_ok;
}

static void pinwhy_hooks(struct hooks *ret_hooks)
{
	ret_hooks->count = 0;
	for (uint32_t i = 0; i < loader_nslots(); i++) {
		struct slot_status status;
		struct hook *hook = &ret_hooks->hook[ret_hooks->count];

		loader_status(loader, i, &status);
		if (status.state != SLOT_ATTACHED && status.state != SLOT_ACTIVE)
			continue;
		if (ret_hooks->count++ == HOOKS_MAX)
			die("more than %d slots are attached", HOOKS_MAX);
		snprintf(hook->slot, sizeof(hook->slot), "%s", status.name);
		snprintf(hook->variant, sizeof(hook->variant), "%s", status.variant);
		snprintf(hook->target, sizeof(hook->target), "%s", status.target);
		snprintf(hook->module, sizeof(hook->module), "%s", status.module);
		hook->runs = status.runs;
	}
}

/* Absence is the kernel's affair; a slot that could be there and is not spoils the measurement. */
static void need_attached(void)
{
	for (uint32_t i = 0; i < loader_nslots(); i++) {
		struct slot_status status;

		loader_status(loader, i, &status);
		if (status.state == SLOT_LOAD_FAILED || status.state == SLOT_ATTACH_FAILED)
			die("slot %s: %s", status.name, status.reason);
	}
}

/* A ring that is full would make events cheaper than they are. */
static int drop_event(void *ctx, void *data, size_t size)
{
	(void)ctx;
	(void)data;
	(void)size;
	return 0;
}

static void pinwhy_between(void)
{
	ring_buffer__consume(ring);
}

static void pinwhy_start(void)
{
	struct loader_opts opts = { .modes = modes, .ring_bytes = RING_BYTES };
	uint64_t start = thread_instructions(), known, opened;
	const char *why = "";
	int err = kfacts_open(&kfacts);

	if (err)
		die("cannot read the kernel's BTF: %s", strerror(-err));
	known = thread_instructions();
	err = loader_open(&loader, kfacts, &opts, &why);
	if (err)
		die("pinwhy does not load: %s", why);
	opened = thread_instructions();
	loader_attach(loader);
	load_instructions.facts = known - start;
	load_instructions.open = opened - known;
	load_instructions.attach = thread_instructions() - opened;
	need_attached();
	ring = ring_buffer__new(loader_ring_fd(loader), drop_event, NULL, NULL);
	if (!ring)
		die_errno("cannot read the ring");
	pinwhy_hooks(&last);
	ok_at_start = registrations_ok();
}

static void pinwhy_stop(uint64_t registrations)
{
	uint64_t seen = registrations_ok() - ok_at_start;

	/* With slots left out nothing counts. */
	if (modes[SLOT_ID_reg_mr_enter] == HOOK_AUTO && seen != registrations)
		die("pinwhy saw %lu of %lu registrations", (unsigned long)seen, (unsigned long)registrations);
	ring_buffer__free(ring);
	loader_free(loader);
	kfacts_free(kfacts);
}

const struct hooks *pinwhy_last_hooks(void)
{
	return &last;
}

/* The kernel keeps 15 characters of a program's name: enough to tell ours apart. */
static bool info_of(const struct hook *hook, struct bpf_prog_info *ret_info)
{
	char name[BPF_OBJ_NAME_LEN + 64];
	uint32_t id = 0;

	snprintf(name, sizeof(name), "%s__%s", hook->slot, hook->variant);
	while (!bpf_prog_get_next_id(id, &id)) {
		struct bpf_prog_info info = { 0 };
		uint32_t length = sizeof(info);
		int fd = bpf_prog_get_fd_by_id(id), err;

		if (fd < 0)
			continue;
		err = bpf_obj_get_info_by_fd(fd, &info, &length);
		close(fd);
		if (err || strncmp(info.name, name, BPF_OBJ_NAME_LEN - 1))
			continue;
		*ret_info = info;
		return true;
	}
	return false;
}

static void describe_program(const struct hook *hook)
{
	struct bpf_prog_info info;

	if (!info_of(hook, &info))
		die("the program of slot %s is not among the kernel's", hook->slot);
	json_open(NULL, '{');
	json_str("type", "program");
	json_str("slot", hook->slot);
	json_str("variant", hook->variant);
	json_str("target", hook->target);
	json_str("module", hook->module);
	json_num("bpf_instructions", info.xlated_prog_len / 8);
	json_num("verified_instructions", info.verified_insns);
	json_num("jited_bytes", info.jited_prog_len);
	json_close('}');
	json_end_line();
}

void pinwhy_describe(void)
{
	for (uint32_t i = 0; i < last.count; i++)
		describe_program(&last.hook[i]);
	json_open(NULL, '{');
	json_str("type", "load");
	json_num("programs", last.count);
	json_num("facts_instructions", (int64_t)load_instructions.facts);
	json_num("open_instructions", (int64_t)load_instructions.open);
	json_num("attach_instructions", (int64_t)load_instructions.attach);
	json_num("map_bytes", (int64_t)loader_map_bytes(loader));
	json_close('}');
	json_end_line();
}

const struct tracer pinwhy_tracer = { "pinwhy", pinwhy_start, pinwhy_stop, pinwhy_hooks, pinwhy_between };
