// SPDX-License-Identifier: BSD-2-Clause
/* Reports into a file. The daemon's side; file.c writes, in a process of its own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "sinks/file.h"
#include "sinks/ops.h"

#define NS_PER_S 1000000000ULL
#define DEADLINE_NS (10 * NS_PER_S)	/* for a batch and its fsync, on a slow disk */
#define START_PATIENCE_NS (5 * NS_PER_S)	/* for what is left of a daemon that was killed */

_Static_assert(sizeof(struct file_settings) <= BATCH_SETTINGS, "settings do not fit into a batch");

struct file_sink {
	struct file *file;	/* open in the sink's process only */
	char path[CONFIG_STR_MAX];
	bool text;
	bool dirty;
	uint64_t synced_ns;	/* CLOCK_MONOTONIC: the last time that nothing was unsynced */
};

static bool file_wanted(const struct config *c)
{
	return file_is_target(c->reports);
}

static void explain_failure(const char *path, int err)
{
	if (err == -EBADMSG)
		log_error("%s does not end like a file of reports: it is left alone, choose another file",
			  path);
	else if (err == -ENOENT)
		log_error("cannot write reports to %s: its directory does not exist, create it first",
			  path);
	else if (err == -EBUSY)
		log_error("cannot write reports to %s: another process holds its lock", path);
	else
		log_error("cannot write reports to %s: %s", path, strerror(-err));
}

static enum file_fsync fsync_policy(const struct config *c)
{
	return strcmp(c->file_fsync, "each") == 0 ? FILE_FSYNC_EACH :
	       strcmp(c->file_fsync, "interval") == 0 ? FILE_FSYNC_INTERVAL : FILE_FSYNC_NEVER;
}

/* Opened once here, so that what is wrong with it is said at the start; closed again for the process to have it. */
static int check(const char *path, bool lines, const struct config *c, uint64_t *ret_repaired)
{
	struct file *f = file_new(path, lines);
	int err = f ? file_open(f, START_PATIENCE_NS, fsync_policy(c) != FILE_FSYNC_NEVER, ret_repaired) : -ENOMEM;

	file_free(f);
	if (err)
		explain_failure(path, err);
	else if (*ret_repaired)
		log_warn("%s ended in a report cut short: removed its %llu bytes", path,
			 (unsigned long long)*ret_repaired);
	return err;
}

static int file_sink_open(void **ret_priv, const struct config *c, uint64_t *ret_repaired)
{
	struct file_sink *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	strcpy(s->path, c->reports);
	s->text = strcmp(c->format, "text") == 0;
	err = check(s->path, !s->text, c, ret_repaired);
	if (!err) {
		s->file = file_new(s->path, !s->text);
		err = s->file ? 0 : -ENOMEM;
	}
	if (err) {
		free(s);
		return err;
	}
	*ret_priv = s;
	return 0;
}

static int file_render(void *priv, const struct report *report, char **ret_data, size_t *ret_len)
{
	const struct file_sink *s = priv;

	return s->text ? render_text(report, ret_data, ret_len) : render_line(report, ret_data, ret_len);
}

static const char *file_target(const void *priv)
{
	const struct file_sink *s = priv;

	return s->path;
}

static void file_sink_close(void *priv)
{
	struct file_sink *s = priv;

	file_free(s->file);
	free(s);
}

static void file_work(void *priv, const void *batch, void *ret_outcome)
{
	struct file_sink *s = priv;

	file_write(s->file, batch, ret_outcome);
}

static bool file_prepare(void *priv, const struct config *c, uint64_t now_ns, struct batch *b)
{
	struct file_settings *settings = (void *)b->settings.room;
	struct file_sink *s = priv;

	if (!s->dirty)
		s->synced_ns = now_ns;
	*settings = (struct file_settings){
		.rotate_bytes = c->file_rotate_bytes,
		.rotate_ns = c->file_rotate_s * NS_PER_S,
		.keep = (uint32_t)c->file_keep,
		.fsync = fsync_policy(c),
	};
	settings->sync_now = settings->fsync == FILE_FSYNC_INTERVAL && s->dirty &&
			     now_ns - s->synced_ns >= c->file_fsync_s * NS_PER_S;
	return settings->sync_now;
}

static void file_answered(void *priv, const struct outcome *o, uint64_t now_ns)
{
	struct file_sink *s = priv;

	(void)now_ns;
	s->dirty = o->dirty;
}

static uint64_t file_deadline_ns(const struct config *c)
{
	(void)c;
	return DEADLINE_NS;
}

const struct sink_ops sink_file = {
	.wanted = file_wanted, .open = file_sink_open, .render = file_render, .target = file_target,
	.close = file_sink_close, .work = file_work, .prepare = file_prepare, .answered = file_answered,
	.deadline_ns = file_deadline_ns,
};
