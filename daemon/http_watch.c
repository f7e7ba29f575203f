// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sees when the web configuration, the certificate, its key or the client CA is replaced, as whoever renews certificates expects:
 * by the folders they lie in, since most replace them by renaming, and a Kubernetes secret by a link. Waits for the last of
 * several changes; a pair that does not fit yet changes nothing.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http_state.h"
#include "log.h"
#include "text.h"

#define SETTLE_NS (1 * NS_PER_S)
#define CHANGES (IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE)
#define FILES 4

static void list(const struct http *h, const char *ret_paths[FILES])
{
	ret_paths[0] = h->opts.web_path;
	ret_paths[1] = h->web->cert.path;
	ret_paths[2] = h->web->key.path;
	ret_paths[3] = h->web->client_ca.path;
}

/* What tells a file from the one that was there before. */
static uint64_t look(const struct http *h)
{
	const char *paths[FILES];
	uint64_t hash = 0;

	list(h, paths);
	for (int i = 0; i < FILES; i++) {
		struct stat st;

		if (!*paths[i] || stat(paths[i], &st) < 0)
			continue;
		hash = text_hash(hash, &st.st_dev, sizeof(st.st_dev));
		hash = text_hash(hash, &st.st_ino, sizeof(st.st_ino));
		hash = text_hash(hash, &st.st_size, sizeof(st.st_size));
		hash = text_hash(hash, &st.st_mtim, sizeof(st.st_mtim));
	}
	return hash;
}

/* The same folder twice is one watch. */
static int watch_folders(struct http *h)
{
	const char *paths[FILES];

	list(h, paths);
	for (int i = 0; i < FILES; i++) {
		const char *slash = strrchr(paths[i], '/');
		char folder[PATH_MAX];

		if (!*paths[i])
			continue;
		if (slash)
			snprintf(folder, sizeof(folder), "%.*s", slash == paths[i] ? 1 : (int)(slash - paths[i]), paths[i]);
		else
			strcpy(folder, ".");
		if (inotify_add_watch(h->inotify_fd, folder, CHANGES) < 0)
			return -errno;
	}
	return 0;
}

static void on_change(void *ctx, uint32_t events, struct clock_pair now)
{
	char room[4096];
	struct http *h = ctx;

	(void)events;
	while (read(h->inotify_fd, room, sizeof(room)) > 0)
		;
	loop_timer_set(h->loop, h->watch_timer, now.mono_ns + SETTLE_NS);
}

static void on_settled(void *ctx, struct clock_pair now)
{
	struct http *h = ctx;
	uint64_t seen = look(h);

	(void)now;
	if (seen == h->seen)
		return;
	http_reload(h);
	/* It may name other files now. */
	watch_folders(h);
	h->seen = look(h);
}

int watch_open(struct http *h)
{
	int err;

	h->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (h->inotify_fd < 0)
		return -errno;
	err = watch_folders(h);
	h->watch_timer = loop_timer_new(h->loop, on_settled, h);
	if (!err && h->watch_timer < 0)
		err = h->watch_timer;
	if (!err)
		err = loop_add(h->loop, h->inotify_fd, EPOLLIN, on_change, h);
	if (err) {
		close(h->inotify_fd);
		h->inotify_fd = -1;
		return err;
	}
	h->seen = look(h);
	return 0;
}

void watch_close(struct http *h)
{
	if (h->inotify_fd < 0)
		return;
	loop_timer_set(h->loop, h->watch_timer, 0);
	loop_del(h->loop, h->inotify_fd);
	close(h->inotify_fd);
	h->inotify_fd = -1;
}
