// SPDX-License-Identifier: BSD-2-Clause
#include "spans.h"

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

/* Functions in which a thread is stopped on its way back to user space: its registration may be over. */
static const char *const stopped_fns[] = { "do_signal_stop", "ptrace_stop", "do_freezer_trap", "__refrigerator", "get_signal" };

#define CALL_LINE 256

/*
 * "16 ARG0 ARG1 ARG2 ... SP PC" of a thread that waits: is it in the system call in which the span was opened?
 * "running" while it runs or may run: then nothing is known, and the next scan asks again.
 */
static enum inside look_at_call(const struct wire_span *s, const struct spans_opts *opts, char line[CALL_LINE])
{
	uint64_t n[9];	/* number, six arguments, stack pointer, program counter */
	const char *at = line;
	char *end;
	size_t i;
	int err = read_line(s, opts, "syscall", line, CALL_LINE);

	if (err)
		return err == -ESRCH ? OUTSIDE : CANNOT_TELL;
	if (line[0] == '-')
		return OUTSIDE; /* it waits, and in no system call */
	for (i = 0; i < sizeof(n) / sizeof(n[0]); i++, at = end) {
		n[i] = strtoull(at, &end, 0);
		if (end == at)
			return CANNOT_TELL;
	}
	/* A thread that the kernel made for a process has never been in user space. */
	if (!s->user_pc || !s->user_sp)
		return CANNOT_TELL;
	return n[7] == s->user_sp && n[8] == s->user_pc && memcmp(&n[1], s->user_args, sizeof(s->user_args)) == 0 ? INSIDE : OUTSIDE;
}

/*
 * The function it waits in, below the scheduler's. Not /proc/PID/task/TID/stack, which tells more: it is read
 * of a thread that may have begun to run, and for the return probes on such a stack 6.1 puts a WARNING into its
 * log (kernel/trace/rethook.c, rethook_find_ret_addr). wchan keeps the thread from being woken while it looks
 * (kernel/sched/core.c, get_wchan), and syscall does not look at the stack.
 */
static enum inside look_at_wait(const struct wire_span *s, const struct spans_opts *opts, struct sighting *ret)
{
	char before[CALL_LINE], after[CALL_LINE], fn[sizeof(ret->waits_in)];
	enum inside where = look_at_call(s, opts, before);

	if (where != INSIDE)
		return where;
	if (read_line(s, opts, "wchan", fn, sizeof(fn)))
		fn[0] = '\0';
	/* Three looks that are one: it has neither run nor come to another call meanwhile. */
	if (look_at_call(s, opts, after) != INSIDE || strcmp(before, after) != 0 || strcmp(fn, "0") == 0)
		return CANNOT_TELL;
	for (size_t i = 0; i < sizeof(stopped_fns) / sizeof(stopped_fns[0]); i++)
		if (strcmp(fn, stopped_fns[i]) == 0)
			return CANNOT_TELL;
	snprintf(ret->waits_in, sizeof(ret->waits_in), "%s", fn);
	return INSIDE;
}

#define RUN_NS 1000000000ULL
#define RUN_TICKS 20	/* of 100 in a second: it may share its processor */

/* /proc/PID/task/TID/stat, fields 14 and 15: its time in user space and in the kernel. */
static bool read_times(const struct wire_span *s, const struct spans_opts *opts, struct spans_run *ret)
{
	char line[1024], *after_comm;
	unsigned long long user, kernel;

	if (read_line(s, opts, "stat", line, sizeof(line)))
		return false;
	after_comm = strrchr(line, ')');
	if (!after_comm || sscanf(after_comm + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &kernel) != 2)
		return false;
	ret->user = user;
	ret->kernel = kernel;
	return true;
}

/* Of a thread that runs: by where it has used its processor since it was first seen so. */
static enum inside look_at_times(const struct wire_span *s, const struct spans_opts *opts, uint64_t now_ns, struct spans_run *run)
{
	struct spans_run now = { .id = s->id, .at_ns = now_ns };
	uint64_t user, kernel;

	if (!read_times(s, opts, &now))
		return CANNOT_TELL;
	if (run->id != s->id) {
		*run = now;
		return CANNOT_TELL;
	}
	if (now_ns < run->at_ns + RUN_NS)
		return CANNOT_TELL;
	user = now.user - run->user;
	kernel = now.kernel - run->kernel;
	*run = now;
	if (user >= RUN_TICKS)
		return OUTSIDE;
	/* The two are rounded apart: a tick says nothing. */
	return user <= 1 && kernel >= RUN_TICKS && s->in_longterm ? INSIDE : CANNOT_TELL;
}

static enum inside look(const struct wire_span *s, const struct spans_opts *opts, uint64_t now_ns, struct spans_run *run,
			struct sighting *ret)
{
	enum inside where;

	*ret = (struct sighting){ .verified = SIGHTING_WAITS };
	where = opts->pids_ours ? look_at_wait(s, opts, ret) : CANNOT_TELL;
	if (where != CANNOT_TELL)
		return where;
	if (s->in_longterm && now_ns < s->last_ns + SPANS_FRESH_NS) {
		*ret = (struct sighting){ .verified = SIGHTING_FIRES };
		return INSIDE;
	}
	*ret = (struct sighting){ .verified = SIGHTING_SPINS };
	return opts->pids_ours ? look_at_times(s, opts, now_ns, run) : CANNOT_TELL;
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
	/* Its end may have come while we looked. */
	if (__atomic_load_n(&s->id, __ATOMIC_ACQUIRE) != copy->id)
		return;
	if (where != OUTSIDE)
		*outside = 0;
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
		where = look(&copy, opts, now_ns, &state->runs[i], &sighting);
		old_span(&spans[i], &copy, &state->outside[i], where, &sighting, state, fn, ctx);
	}
}
