// SPDX-License-Identifier: BSD-2-Clause
#include "spans.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum inside { INSIDE, OUTSIDE, CANNOT_TELL };

/* The first line of /proc/PID/task/TID/NAME. 0, -ESRCH when the thread is gone, else another -errno. */
static int read_line(const struct wire_span *s, const struct spans_opts *opts, const char *name, char *line, size_t size)
{
	char path[128];
	FILE *f;
	int err = 0;

	snprintf(path, sizeof(path), "%s/%u/task/%u/%s", opts->proc, s->tgid, s->tid, name);
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	errno = 0;
	if (!fgets(line, (int)size, f))
		err = errno ? -errno : -ENODATA;
	fclose(f);
	return err;
}

/*
 * "16 0x3 ... SP PC" of a thread that waits: is it in the system call in which the span was opened? "running"
 * while it runs or may run: then nothing is known, and the next scan asks again.
 */
static enum inside look_at_call(const struct wire_span *s, const struct spans_opts *opts)
{
	char line[256], *pc, *sp;
	int err = read_line(s, opts, "syscall", line, sizeof(line));

	if (err)
		return err == -ESRCH ? OUTSIDE : CANNOT_TELL;
	if (!isdigit((unsigned char)line[0]))
		return line[0] == '-' ? OUTSIDE : CANNOT_TELL; /* it waits, but in no system call */
	pc = strrchr(line, ' ');
	if (!pc)
		return CANNOT_TELL;
	*pc = '\0';
	sp = strrchr(line, ' ');
	if (!sp)
		return CANNOT_TELL;
	return strtoull(pc + 1, NULL, 16) == s->user_pc && strtoull(sp + 1, NULL, 16) == s->user_sp ? INSIDE : OUTSIDE;
}

/*
 * The function it waits in, below the scheduler's. Not /proc/PID/task/TID/stack, which tells more: it is read
 * of a thread that may have begun to run, and for the return probes on such a stack 6.1 puts a WARNING into its
 * log (kernel/trace/rethook.c, rethook_find_ret_addr). wchan keeps the thread from being woken while it looks
 * (kernel/sched/core.c, get_wchan), and syscall does not look at the stack.
 */
static void look_at_wait(const struct wire_span *s, const struct spans_opts *opts, struct sighting *ret)
{
	char line[sizeof(ret->waits_in)];

	if (read_line(s, opts, "wchan", line, sizeof(line)) == 0 && strcmp(line, "0") != 0)
		snprintf(ret->waits_in, sizeof(ret->waits_in), "%s", line);
}

static enum inside look(const struct wire_span *s, const struct spans_opts *opts, uint64_t now_ns, struct sighting *ret)
{
	enum inside where = opts->pids_ours ? look_at_call(s, opts) : CANNOT_TELL;

	*ret = (struct sighting){ .verified = "its system call" };
	if (where == INSIDE)
		look_at_wait(s, opts, ret);
	if (where != CANNOT_TELL || !s->in_longterm || now_ns >= s->last_ns + SPANS_FRESH_NS)
		return where;
	*ret = (struct sighting){ .verified = "its hooks still fire" };
	return INSIDE;
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
		*outside = copy->id; /* it may have ended between our two looks: ask once more */
	} else {
		/* Its end was missed: the slot is free for others, unless its thread opens it again. */
		state->ended_unseen++;
		__atomic_store_n(&s->abandoned_id, copy->id, __ATOMIC_RELEASE);
	}
}

void spans_scan(struct wire_span *spans, const struct spans_opts *opts, uint64_t now_ns, struct spans_state *state,
		span_fn fn, void *ctx)
{
	state->in_flight = 0;
	for (uint32_t i = 0; i < WIRE_SPANS; i++) {
		struct sighting sighting;
		struct wire_span copy;
		enum inside where;

		if (!__atomic_load_n(&spans[i].tid, __ATOMIC_RELAXED) || !snapshot(&spans[i], &copy))
			continue;
		state->in_flight++;
		if (copy.reported_id == copy.id || now_ns < copy.start_ns ||
		    now_ns - copy.start_ns < threshold(&copy, opts))
			continue;
		where = look(&copy, opts, now_ns, &sighting);
		old_span(&spans[i], &copy, &state->outside[i], where, &sighting, state, fn, ctx);
	}
}
