/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /metrics, /healthz and /readyz, served from the daemon's own loop by libmicrohttpd.
 * Bounded: 16 connections, 8 KiB each for the request, 5 s without progress.
 */
#ifndef PINWHY_HTTP_H
#define PINWHY_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "loop.h"

struct http;

struct http_ops {
	/*
	 * The page, malloc'ed; http frees it. `accept`: the request's header, "" = none; `*ret_type`: a static Content-Type.
	 * -errno.
	 */
	int (*metrics)(void *ctx, const char *accept, char **ret_page, size_t *ret_len, const char **ret_type);
	/* False, with a sentence, while the daemon does not watch. */
	bool (*ready)(void *ctx, const char **ret_why);
};

/* Serves on `listen_fd`, which becomes http's own, also on failure. `ops` must stay valid. */
int http_open(struct http **ret_http, int listen_fd, struct loop *loop, const struct http_ops *ops,
	      void *ctx);
/* NULL-safe. */
void http_close(struct http *h);

#endif
