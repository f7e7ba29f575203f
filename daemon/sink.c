// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "helper.h"
#include "log.h"
#include "sink.h"
#include "sinks/ops.h"

#define NS_PER_S 1000000000ULL
#define BACKOFF_MAX_S 10U
#define CLOSE_TICK_NS (NS_PER_S / 10)

struct entry {
	char *data;
	size_t len;
};

struct sink {
	const struct sink_ops *ops;
	void *priv;
	const struct config *config;
	struct loop *loop;
	struct entry queue[SINK_QUEUE_REPORTS];	/* ring */
	uint32_t head, count;
	size_t bytes;		/* of all entries */
	size_t begun;		/* bytes of the first entry that are out */
	uint32_t pinned;	/* from the first: a process has, or may have had, them */
	bool asked, again, reopen_due;
	uint64_t id;		/* of the batch asked about */
	struct helper *helper;	/* NULL: written to from here */
	int fd;			/* watched, -1 = none */
	unsigned int failures;	/* in a row */
	uint64_t retry_ns;	/* CLOCK_MONOTONIC: nothing is tried before */
	struct sink_stats stats;
};

struct sinks {
	const struct config *config;
	struct loop *loop;
	uint32_t count;
	struct sink *all[SINKS_MAX];
};

static const struct {
	const char *name;
	const struct sink_ops *ops;
} kinds[] = {
#define SINK(name, ops) { #name, &ops },
#include "sinks.def"
#undef SINK
};
#define NKINDS (sizeof(kinds) / sizeof(kinds[0]))
_Static_assert(NKINDS <= SINKS_MAX, "SINKS_MAX is too small for sinks.def");

/* One serves all: a batch is copied as soon as it is made. */
static struct batch scratch;

static struct entry *at(struct sink *s, uint32_t i)
{
	return &s->queue[(s->head + i) % SINK_QUEUE_REPORTS];
}

/* Removes entry `i`; those before it move up. */
static void drop(struct sink *s, uint32_t i)
{
	s->bytes -= at(s, i)->len;
	free(at(s, i)->data);
	for (; i > 0; i--)
		*at(s, i) = *at(s, i - 1);
	*at(s, 0) = (struct entry){ 0 };
	s->head = (s->head + 1) % SINK_QUEUE_REPORTS;
	s->count--;
}

/* Makes room for `len` bytes by dropping the oldest; one that is partly out, or may be, must stay. */
static bool make_room(struct sink *s, size_t len)
{
	uint32_t oldest = s->begun ? 1 : s->pinned;

	while (s->count == SINK_QUEUE_REPORTS || s->bytes + len > SINK_QUEUE_BYTES) {
		if (s->count <= oldest)
			return false;
		drop(s, oldest);
		s->stats.dropped++;
	}
	return true;
}

/* Logged when the state changes, not once per report. */
static void note(struct sink *s, int err, const char *why)
{
	if (err)
		s->stats.errors++;
	if (err == s->stats.last_errno)
		return;
	if (err)
		log_error("sink=%s cannot deliver reports to %s: %s%s%s; keeping up to %d of them and trying again",
			  s->stats.name, s->ops->target(s->priv), strerror(err), *why ? ": " : "", why, SINK_QUEUE_REPORTS);
	else
		log_info("sink=%s reports are delivered to %s again, lost=%llu so far", s->stats.name,
			 s->ops->target(s->priv), (unsigned long long)s->stats.dropped);
	s->stats.last_errno = err;
}

static void succeeded(struct sink *s)
{
	note(s, 0, "");
	s->failures = 0;
	s->retry_ns = 0;
}

static void failed(struct sink *s, int err, const char *why, uint64_t retry_ns, uint64_t now_ns)
{
	uint64_t wait_s = s->failures < 4 ? 1U << s->failures : BACKOFF_MAX_S;

	note(s, err, why);
	s->failures++;
	s->retry_ns = now_ns + (retry_ns ? retry_ns : wait_s * NS_PER_S);
}

/* ---- written to from here ---- */

static void on_room(void *ctx, uint32_t events, struct clock_pair now);

/* A target that was opened again has another descriptor. */
static void watch(struct sink *s)
{
	int fd = s->ops->fd(s->priv);

	if (fd == s->fd)
		return;
	if (s->fd >= 0)
		loop_del(s->loop, s->fd);
	s->fd = -1;
	if (fd >= 0 && loop_add(s->loop, fd, EPOLLOUT | EPOLLET, on_room, s) == 0)
		s->fd = fd;
}

static void flush_direct(struct sink *s, uint64_t now_ns)
{
	while (s->count && now_ns >= s->retry_ns) {
		struct entry *e = at(s, 0);
		ssize_t n = s->ops->write(s->priv, e->data + s->begun, e->len - s->begun);

		/* A reader that is slow is no error. */
		if (n == -EAGAIN)
			break;
		if (n <= 0) {
			failed(s, n ? (int)-n : EIO, "", 0, now_ns);
			break;
		}
		succeeded(s);
		s->begun += (size_t)n;
		if (s->begun < e->len)
			continue;
		s->begun = 0;
		drop(s, 0);
		s->stats.written++;
	}
	watch(s);
}

static void on_room(void *ctx, uint32_t events, struct clock_pair now)
{
	(void)events;
	flush_direct(ctx, now.mono_ns);
}

/* ---- with a process ---- */

static size_t batch_size(const void *request)
{
	const struct batch *b = request;

	return (offsetof(struct batch, data) + b->bytes + 7) & ~(size_t)7;
}

/* As many from the first on as fit, and at least those that may be out already. */
static void fill(struct sink *s, struct batch *b)
{
	while (b->count < s->count && b->count < BATCH_REPORTS) {
		struct entry *e = at(s, b->count);

		if (b->bytes + e->len > BATCH_BYTES)
			break;
		memcpy(b->data + b->bytes, e->data, e->len);
		b->bytes += (uint32_t)e->len;
		b->length[b->count++] = (uint32_t)e->len;
	}
}

static void flush_helper(struct sink *s, uint64_t now_ns)
{
	struct batch *b = &scratch;
	bool due;

	if (s->asked || now_ns < s->retry_ns)
		return;
	memset(b, 0, offsetof(struct batch, data));
	due = s->ops->prepare(s->priv, s->config, now_ns, b) || s->reopen_due;
	if (!s->count && !due)
		return;
	b->flags = s->again ? BATCH_AGAIN : 0;
	fill(s, b);
	s->pinned = b->count;
	s->asked = true;
	s->reopen_due = false;
	if (helper_ask(s->helper, ++s->id, b, loop_now(s->loop)) < 0)
		s->asked = false;	/* impossible: nothing else is in its queue */
}

static void on_answer(void *ctx, uint64_t id, const void *answer, struct clock_pair now)
{
	const struct outcome *o = answer;
	struct sink *s = ctx;
	uint32_t done = o->done < s->pinned ? o->done : s->pinned;
	uint32_t refused = o->refused < done ? o->refused : done;

	if (id != s->id || !s->asked)
		return;
	s->asked = s->again = false;
	for (uint32_t i = 0; i < done; i++)
		drop(s, 0);
	s->pinned -= done;
	s->stats.written += done - refused;
	s->stats.dropped += refused;
	s->stats.rotations += o->rotations;
	s->stats.syncs += o->syncs;
	s->stats.repaired_bytes += o->repaired_bytes;
	s->ops->answered(s->priv, o, now.mono_ns);
	if (!o->err)
		succeeded(s);
	else if (!s->pinned)
		note(s, o->err, o->why);	/* delivered all the same */
	else
		failed(s, o->err, o->why, o->retry_ns, now.mono_ns);
	s->pinned = 0;
	flush_helper(s, now.mono_ns);
}

/* What it had may be out or not: the next one finds out. */
static void on_lost(void *ctx, uint64_t id, struct clock_pair now)
{
	struct sink *s = ctx;

	if (id != s->id || !s->asked)
		return;
	s->asked = false;
	s->again = true;
	s->stats.late++;
	failed(s, ETIMEDOUT, "its process did not answer in time and was given up", 0, now.mono_ns);
}

static void work(void *ctx, const void *batch, void *ret_outcome)
{
	struct sink *s = ctx;

	s->ops->work(s->priv, batch, ret_outcome);
}

static const struct helper_ops helper_ops = {
	.name = "pinwhy-sink", .request_size = sizeof(struct batch), .answer_size = sizeof(struct outcome), .queue = 1,
	.work = work, .answer = on_answer, .lost = on_lost, .size = batch_size, .exclusive = true,
};

static int start_helper(struct sink *s)
{
	int err = helper_start(&s->helper, &helper_ops, s, s->ops->deadline_ns(s->config));

	if (!err)
		err = helper_attach(s->helper, s->loop);
	if (err)
		log_error("cannot start the process of sink %s: %s", s->stats.name, strerror(-err));
	return err;
}

/* ---- all ---- */

static void flush(struct sink *s, uint64_t now_ns)
{
	if (s->helper)
		flush_helper(s, now_ns);
	else
		flush_direct(s, now_ns);
}

static void close_sink(struct sink *s)
{
	if (s->count)
		log_warn("sink=%s lost=%u reports that could not be delivered to %s", s->stats.name, s->count,
			 s->ops->target(s->priv));
	if (s->fd >= 0)
		loop_del(s->loop, s->fd);
	helper_stop(s->helper);
	s->ops->close(s->priv);
	while (s->count)
		drop(s, 0);
	free(s);
}

static int open_sink(struct sinks *all, size_t kind)
{
	struct sink *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->ops = kinds[kind].ops;
	s->config = all->config;
	s->loop = all->loop;
	s->fd = -1;
	s->stats.name = kinds[kind].name;
	err = s->ops->open(&s->priv, all->config, &s->stats.repaired_bytes);
	if (err) {
		free(s);
		return err;
	}
	if (s->ops->work)
		err = start_helper(s);
	else
		watch(s);
	if (err) {
		close_sink(s);
		return err;
	}
	all->all[all->count++] = s;
	return 0;
}

int sinks_open(struct sinks **ret_sinks, const struct config *config, struct loop *loop)
{
	struct sinks *s = calloc(1, sizeof(*s));
	int err = 0;

	if (!s)
		return -ENOMEM;
	s->config = config;
	s->loop = loop;
	for (size_t i = 0; i < NKINDS && !err; i++)
		if (kinds[i].ops->wanted(config))
			err = open_sink(s, i);
	if (err) {
		sinks_close(s, 0);
		return err;
	}
	*ret_sinks = s;
	return 0;
}

static void put(struct sink *s, const struct report *report, uint64_t now_ns)
{
	struct entry e;

	s->stats.accepted++;
	if (s->ops->render(s->priv, report, &e.data, &e.len) < 0) {
		s->stats.dropped++;
		return;
	}
	if ((s->helper && e.len > BATCH_BYTES) || !make_room(s, e.len)) {
		free(e.data);
		s->stats.dropped++;
		return;
	}
	*at(s, s->count) = e;
	s->count++;
	s->bytes += e.len;
	flush(s, now_ns);
}

void sinks_put(struct sinks *s, const struct report *report)
{
	for (uint32_t i = 0; i < s->count; i++)
		put(s->all[i], report, loop_now(s->loop).mono_ns);
}

void sinks_tick(struct sinks *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		flush(s->all[i], loop_now(s->loop).mono_ns);
}

void sinks_reopen(struct sinks *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		s->all[i]->reopen_due = s->all[i]->helper != NULL;
		s->all[i]->retry_ns = 0;
	}
	sinks_tick(s);
}

static void stats_of(const struct sink *s, struct sink_stats *ret_stats)
{
	*ret_stats = s->stats;
	ret_stats->queued = s->count;
	ret_stats->queued_bytes = s->bytes;
}

uint32_t sinks_stats(const struct sinks *s, struct sink_stats *ret_stats)
{
	for (uint32_t i = 0; i < s->count; i++)
		stats_of(s->all[i], &ret_stats[i]);
	return s->count;
}

static bool all_done(const struct sinks *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->all[i]->count)
			return false;
	return true;
}

void sinks_close(struct sinks *s, uint64_t patience_ns)
{
	uint64_t end;

	if (!s)
		return;
	end = loop_refresh(s->loop).mono_ns + patience_ns;
	/* Whatever was to be tried later is tried once more now. */
	for (uint32_t i = 0; i < s->count; i++)
		s->all[i]->retry_ns = 0;
	sinks_tick(s);
	while (patience_ns && !all_done(s) && loop_now(s->loop).mono_ns < end) {
		if (loop_once(s->loop, CLOSE_TICK_NS) < 0)
			break;
		sinks_tick(s);
	}
	for (uint32_t i = 0; i < s->count; i++)
		close_sink(s->all[i]);
	free(s);
}
