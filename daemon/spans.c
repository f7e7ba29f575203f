// SPDX-License-Identifier: BSD-2-Clause
#include "spans.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum inside { INSIDE, OUTSIDE, CANNOT_TELL };

/* The functions a thread in a registration has on its stack. */
static const enum wire_fn stack_fns[] = {
	WIRE_FN_UVERBS, WIRE_FN_UMEM, WIRE_FN_REREG_MR, WIRE_FN_REG_MR_IOCTL, WIRE_FN_REG_DMABUF_MR, WIRE_FN_DM_MR,
	WIRE_FN_DEVX_UMEM, WIRE_FN_URING, WIRE_FN_XDP_UMEM, WIRE_FN_VFIO_MAP, WIRE_FN_MADVISE,
};

/* What every waiting thread is in says nothing about what it waits for. */
static const char *const scheduler_fns[] = { "schedule", "__schedule", "io_schedule", "schedule_timeout", "preempt" };

static bool names_registration(const char *line, const struct identity *id)
{
	for (size_t i = 0; i < sizeof(stack_fns) / sizeof(stack_fns[0]); i++) {
		const char *fn = id->fn_name[stack_fns[i]];

		if (fn[0] && strstr(line, fn))
			return true;
	}
	return false;
}

/* "[<0>] handle_userfault+0x3e2/0x7b0": the function, unless it is the scheduler's. */
static void note_wait(const char *line, struct sighting *ret)
{
	const char *name = strchr(line, ' ');
	size_t len;

	name = name ? name + 1 : line;
	len = strcspn(name, "+ \n");
	for (size_t i = 0; i < sizeof(scheduler_fns) / sizeof(scheduler_fns[0]); i++)
		if (strncmp(name, scheduler_fns[i], strlen(scheduler_fns[i])) == 0)
			return;
	if (len < sizeof(ret->waits_in))
		snprintf(ret->waits_in, sizeof(ret->waits_in), "%.*s", (int)len, name);
}

/*
 * /proc/PID/task/TID/stack is empty, or stops early, for a thread that runs on a CPU at
 * this moment; then nothing is known and the next scan asks again.
 */
static enum inside look_at_stack(const struct wire_span *s, const struct spans_opts *opts, const struct identity *id,
				 struct sighting *ret)
{
	char path[128], line[256];
	unsigned int frames = 0;
	bool inside = false;
	FILE *f;

	if (!opts->pids_ours)
		return CANNOT_TELL;
	snprintf(path, sizeof(path), "%s/%u/task/%u/stack", opts->proc, s->tgid, s->tid);
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT || errno == ESRCH ? OUTSIDE : CANNOT_TELL;
	errno = 0;
	while (fgets(line, sizeof(line), f)) {
		frames++;
		if (!ret->waits_in[0])
			note_wait(line, ret);
		inside |= names_registration(line, id);
	}
	if (ferror(f) && errno == ESRCH)
		frames = 1; /* the thread ended while we read */
	else if (ferror(f))
		frames = 0;
	fclose(f);
	if (inside)
		return INSIDE;
	return frames ? OUTSIDE : CANNOT_TELL;
}

/* Copies a span that its owner may be writing; false when it ended or was reused meanwhile. */
static bool snapshot(const struct wire_span *s, struct wire_span *ret_copy)
{
	uint64_t id = __atomic_load_n(&s->id, __ATOMIC_ACQUIRE);

	if (!id || !__atomic_load_n(&s->tid, __ATOMIC_ACQUIRE) || s->abandoned_id == id)
		return false;
	memcpy(ret_copy, s, sizeof(*ret_copy));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return ret_copy->id == id && __atomic_load_n(&s->id, __ATOMIC_ACQUIRE) == id && ret_copy->tid;
}

static uint64_t threshold(const struct wire_span *s, const struct spans_opts *opts)
{
	return opts->after_ns + (uint64_t)((double)s->length / (1024.0 * 1024.0 * 1024.0) * (double)opts->per_gib_ns);
}

/* One old span: report it, free it, or wait. */
static void old_span(struct wire_span *s, const struct wire_span *copy, uint64_t *outside, enum inside where,
		     const struct sighting *sighting, struct spans_state *state, span_fn fn, void *ctx)
{
	if (where == INSIDE) {
		/* Before the report, so that an end right after it is not taken for a good one. */
		__atomic_store_n(&s->reported_id, copy->id, __ATOMIC_RELEASE);
		fn(ctx, copy, sighting);
	} else if (where == CANNOT_TELL) {
		state->unverified++;
	} else if (*outside != copy->id) {
		*outside = copy->id; /* a stack read while the thread runs may lie: ask once more */
	} else {
		/* Its end was missed: the slot is free for others, unless its thread opens it again. */
		state->ended_unseen++;
		__atomic_store_n(&s->abandoned_id, copy->id, __ATOMIC_RELEASE);
	}
}

void spans_scan(struct wire_span *spans, const struct spans_opts *opts, const struct identity *id,
		uint64_t now_ns, struct spans_state *state, span_fn fn, void *ctx)
{
	state->in_flight = 0;
	for (uint32_t i = 0; i < WIRE_SPANS; i++) {
		struct sighting sighting = { .verified = "kernel stack of the thread" };
		struct wire_span copy;
		enum inside where;

		if (!__atomic_load_n(&spans[i].tid, __ATOMIC_RELAXED) || !snapshot(&spans[i], &copy))
			continue;
		state->in_flight++;
		if (copy.reported_id == copy.id || now_ns < copy.start_ns ||
		    now_ns - copy.start_ns < threshold(&copy, opts))
			continue;
		where = look_at_stack(&copy, opts, id, &sighting);
		if (where == CANNOT_TELL && copy.in_longterm && now_ns < copy.last_ns + SPANS_FRESH_NS) {
			where = INSIDE;
			sighting = (struct sighting){ .verified = "its hooks still fire" };
		}
		old_span(&spans[i], &copy, &state->outside[i], where, &sighting, state, fn, ctx);
	}
}
