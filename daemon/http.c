// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http.h"
#include "log.h"

#define CONNECTIONS_MAX 16U
#define CONNECTION_BYTES ((size_t)8192)
#define TIMEOUT_S 5U
#define IDLE_MS 1000U
#define NS_PER_MS 1000000ULL

struct http {
	struct MHD_Daemon *mhd;
	struct loop *loop;
	int epoll_fd, timer;
	const struct http_ops *ops;
	void *ctx;
};

struct answer {
	unsigned int status;
	const char *type;
	char *body;		/* malloc'ed */
	size_t len;
};

/* "%s\n" of a plain sentence. A body that cannot be had leaves an empty one. */
static void plain(struct answer *a, unsigned int status, const char *text)
{
	size_t len = strlen(text);

	a->status = status;
	a->type = "text/plain; charset=utf-8";
	a->body = malloc(len + 1);
	a->len = a->body ? len + 1 : 0;
	if (!a->body)
		return;
	memcpy(a->body, text, len);
	a->body[len] = '\n';
}

static void get_metrics(struct http *h, struct MHD_Connection *connection, struct answer *a)
{
	const char *accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
	int err = h->ops->metrics(h->ctx, accept ? accept : "", &a->body, &a->len, &a->type);

	if (err) {
		plain(a, MHD_HTTP_SERVICE_UNAVAILABLE, strerror(-err));
		return;
	}
	a->status = MHD_HTTP_OK;
}

static void get_healthz(struct http *h, struct MHD_Connection *connection, struct answer *a)
{
	(void)h;
	(void)connection;
	plain(a, MHD_HTTP_OK, "ok");
}

static void get_readyz(struct http *h, struct MHD_Connection *connection, struct answer *a)
{
	const char *why = "";

	(void)connection;
	if (h->ops->ready(h->ctx, &why))
		plain(a, MHD_HTTP_OK, "ready");
	else
		plain(a, MHD_HTTP_SERVICE_UNAVAILABLE, why);
}

static const struct {
	const char *path;
	void (*get)(struct http *h, struct MHD_Connection *connection, struct answer *a);
} routes[] = {
	{ "/metrics", get_metrics },
	{ "/healthz", get_healthz },
	{ "/readyz", get_readyz },
};

static void route(struct http *h, struct MHD_Connection *connection, const char *path, const char *method, struct answer *a)
{
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
		plain(a, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD");
		return;
	}
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		if (strcmp(routes[i].path, path) != 0)
			continue;
		routes[i].get(h, connection, a);
		return;
	}
	plain(a, MHD_HTTP_NOT_FOUND, "there are /metrics, /healthz and /readyz");
}

static enum MHD_Result send_answer(struct MHD_Connection *connection, struct answer *a)
{
	struct MHD_Response *r;
	enum MHD_Result sent;

	r = MHD_create_response_from_buffer(a->len, a->body, MHD_RESPMEM_MUST_FREE);
	if (!r) {
		free(a->body);
		return MHD_NO;
	}
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, a->type);
	MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(r, MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT);
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	if (a->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	sent = MHD_queue_response(connection, a->status, r);
	MHD_destroy_response(r);
	return sent;
}

/* Called once with the headers; answering then means that a body is never read. */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **request)
{
	struct answer a = { 0 };

	(void)version;
	(void)upload;
	(void)upload_size;
	(void)request;
	route(ctx, connection, url, method, &a);
	return send_answer(connection, &a);
}

__attribute__((format(printf, 2, 0)))
static void on_log(void *ctx, const char *fmt, va_list ap)
{
	char line[256];

	(void)ctx;
	/* What a client does wrong is no operator's business. */
	vsnprintf(line, sizeof(line), fmt, ap);
	line[strcspn(line, "\n")] = '\0';
	log_debug("http: %s", line);
}

/* Lets libmicrohttpd work, and comes back when it says so: it has time-outs of its own. */
static void run(struct http *h, struct clock_pair now)
{
	MHD_UNSIGNED_LONG_LONG wait_ms = 0;

	MHD_run(h->mhd);
	/*
	 * At its limit of connections it stops listening, and listens again only when it is
	 * run once more: so it is, though it says that it waits for nothing.
	 */
	if (MHD_get_timeout(h->mhd, &wait_ms) != MHD_YES || wait_ms > IDLE_MS)
		wait_ms = IDLE_MS;
	loop_timer_set(h->loop, h->timer, now.mono_ns + wait_ms * NS_PER_MS + 1);
}

static void on_readable(void *ctx, uint32_t events, struct clock_pair now)
{
	(void)events;
	run(ctx, now);
}

static void on_timer(void *ctx, struct clock_pair now)
{
	run(ctx, now);
}

static int watch(struct http *h)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(h->mhd, MHD_DAEMON_INFO_EPOLL_FD);

	if (!info)
		return -ENOTSUP;
	h->epoll_fd = info->epoll_fd;
	h->timer = loop_timer_new(h->loop, on_timer, h);
	if (h->timer < 0)
		return h->timer;
	return loop_add(h->loop, h->epoll_fd, EPOLLIN, on_readable, h);
}

int http_open(struct http **ret_http, int listen_fd, struct loop *loop, const struct http_ops *ops,
	      void *ctx)
{
	struct http *h = calloc(1, sizeof(*h));
	int err;

	if (!h) {
		close(listen_fd);
		return -ENOMEM;
	}
	h->loop = loop;
	h->ops = ops;
	h->ctx = ctx;
	h->epoll_fd = -1;
	h->mhd = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_ERROR_LOG, 0, NULL, NULL, on_request, h,
				  MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
				  MHD_OPTION_LISTEN_SOCKET, listen_fd,
				  MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
				  MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S,
				  MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES,
				  MHD_OPTION_END);
	if (!h->mhd) {
		close(listen_fd);
		free(h);
		return -ENOMEM;
	}
	err = watch(h);
	if (err) {
		http_close(h);
		return err;
	}
	*ret_http = h;
	return 0;
}

void http_close(struct http *h)
{
	if (!h)
		return;
	if (h->epoll_fd >= 0)
		loop_del(h->loop, h->epoll_fd);
	MHD_stop_daemon(h->mhd);
	free(h);
}
