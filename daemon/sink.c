// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "sink.h"
#include "sinks/ops.h"

struct entry {
	char *data;
	size_t len;
};

struct sink {
	const struct sink_ops *ops;
	void *priv;
	char *target;
	struct entry queue[SINK_QUEUE_REPORTS];	/* ring */
	uint32_t head, count;
	size_t bytes;		/* of all entries */
	size_t begun;		/* bytes of the first entry that are out */
	bool reopen_due;
	int reopen_err;		/* of the last attempt, logged once */
	struct sink_stats stats;
};

static const struct {
	const char *format;
	const struct sink_ops *ops;
} kinds[] = {
#define SINK(format, ops) { format, &ops },
#include "sinks.def"
#undef SINK
};

static struct entry *at(struct sink *s, uint32_t i)
{
	return &s->queue[(s->head + i) % SINK_QUEUE_REPORTS];
}

int sink_open(struct sink **ret_sink, const char *format, const char *target)
{
	const struct sink_ops *ops = NULL;
	struct sink *s;
	int err;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].format, format) == 0)
			ops = kinds[i].ops;
	if (!ops) {
		log_error("there is no report format '%s'", format);
		return -EINVAL;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->ops = ops;
	s->target = strdup(target);
	err = s->target ? ops->open(&s->priv, target, &s->stats.repaired_bytes) : -ENOMEM;
	if (err) {
		free(s->target);
		free(s);
		return err;
	}
	*ret_sink = s;
	return 0;
}

/* Removes entry `i`, which is the first or the second. */
static void drop(struct sink *s, uint32_t i)
{
	struct entry *victim = at(s, i);

	s->bytes -= victim->len;
	free(victim->data);
	if (i == 1)
		*victim = *at(s, 0);
	*at(s, 0) = (struct entry){ 0 };
	s->head = (s->head + 1) % SINK_QUEUE_REPORTS;
	s->count--;
}

/* Makes room for `len` bytes by dropping the oldest; one that is partly out must stay. */
static bool make_room(struct sink *s, size_t len)
{
	uint32_t oldest = s->begun ? 1 : 0;

	while (s->count == SINK_QUEUE_REPORTS || s->bytes + len > SINK_QUEUE_BYTES) {
		if (s->count <= oldest)
			return false;
		drop(s, oldest);
		s->stats.dropped++;
	}
	return true;
}

void sink_put(struct sink *s, const struct report *report)
{
	struct entry e;

	s->stats.accepted++;
	if (s->ops->render(report, &e.data, &e.len) < 0) {
		s->stats.dropped++;
		return;
	}
	if (!make_room(s, e.len)) {
		free(e.data);
		s->stats.dropped++;
		return;
	}
	*at(s, s->count) = e;
	s->count++;
	s->bytes += e.len;
	sink_flush(s);
}

/* Logged when the state changes, not once per report. */
static void note(struct sink *s, int err)
{
	if (err)
		s->stats.errors++;
	if (err == s->stats.last_errno)
		return;
	if (err)
		log_error("cannot write reports to %s: %s; keeping up to %d of them and trying again",
			  s->target, strerror(err), SINK_QUEUE_REPORTS);
	else
		log_info("reports are written to %s again, %llu were lost so far", s->target,
			 (unsigned long long)s->stats.dropped);
	s->stats.last_errno = err;
}

static void try_reopen(struct sink *s)
{
	int r = s->ops->reopen(s->priv, s->begun);

	if (r < 0) {
		s->stats.errors++;
		if (r != s->reopen_err)
			log_warn("cannot open %s again: %s; writing to the file that was open",
				 s->target, strerror(-r));
		s->reopen_err = r;
		return;
	}
	s->reopen_due = false;
	s->reopen_err = 0;
	if (r == 0)
		s->begun = 0;
}

uint32_t sink_flush(struct sink *s)
{
	if (s->reopen_due)
		try_reopen(s);
	while (s->count) {
		struct entry *e = at(s, 0);
		ssize_t n = s->ops->write(s->priv, e->data + s->begun, e->len - s->begun);

		/* A reader that is slow is no error. */
		if (n == -EAGAIN)
			return s->count;
		if (n <= 0) {
			note(s, n ? (int)-n : EIO);
			return s->count;
		}
		s->begun += (size_t)n;
		if (s->begun < e->len)
			continue;
		s->begun = 0;
		drop(s, 0);
		s->stats.written++;
	}
	note(s, 0);
	return 0;
}

void sink_reopen(struct sink *s)
{
	s->reopen_due = true;
	sink_flush(s);
}

int sink_fd(const struct sink *s)
{
	return s->ops->fd(s->priv);
}

void sink_stats(const struct sink *s, struct sink_stats *ret_stats)
{
	*ret_stats = s->stats;
	ret_stats->queued = s->count;
	ret_stats->queued_bytes = s->bytes;
}

void sink_close(struct sink *s)
{
	if (!s)
		return;
	s->reopen_due = false;
	if (sink_flush(s))
		log_warn("%u reports could not be written to %s and are lost", s->count, s->target);
	s->ops->close(s->priv, s->begun);
	while (s->count)
		drop(s, 0);
	free(s->target);
	free(s);
}
