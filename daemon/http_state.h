/* SPDX-License-Identifier: BSD-2-Clause */
/* What http.c, http_clients.c, http_watch.c and http_stream.c share. Private to them. */
#ifndef PINWHY_HTTP_STATE_H
#define PINWHY_HTTP_STATE_H

#include <microhttpd.h>

#include "http.h"
#include "http_tls.h"
#include "web/query.h"

#define NS_PER_MS 1000000ULL
#define NS_PER_S 1000000000ULL

#define URL_BYTES_MAX 2048
#define ARGUMENTS_MAX 16
#define HEADER_NS (5 * NS_PER_S)	/* to send a request's header, TLS included */
#define IDLE_NS (60 * NS_PER_S)		/* between two requests */
#define ANSWER_NS (30 * NS_PER_S)	/* to take an answer */
#define SOCKET_CONNECTIONS 8		/* of the AF_UNIX socket */
#define BUCKETS 64			/* clients whose rate is told apart */

/* Where a connection is. */
enum stage {
	STAGE_NEW,	/* accepted; TLS, and the first request's header */
	STAGE_IDLE,	/* between requests */
	STAGE_HEADER,	/* a later request has begun */
	STAGE_ASKED,	/* its header was read, and nothing is wrong with that */
	STAGE_HASHING,	/* suspended: its password is being hashed */
	STAGE_VERIFIED,	/* that is done: `verdict` */
	STAGE_QUEUED,	/* suspended: waits for its turn */
	STAGE_TURN,	/* its turn */
	STAGE_ANSWERED,	/* an answer is on its way */
	STAGE_STREAM,	/* likewise; suspended until its turn */
};

struct front;

struct client {
	int fd;			/* -1 = free */
	struct MHD_Connection *connection;	/* NULL until libmicrohttpd has it */
	struct front *front;
	struct tls *tls;	/* in use, or NULL */
	enum stage stage;
	uint64_t since_ns;	/* when the stage, or for answers the request, began */
	uint64_t order;		/* when it queued */
	uint64_t id;		/* of its question to auth, 0 = none */
	enum auth_verdict verdict;
	const struct route *route;
	unsigned char who[16];	/* address, or user id */
	bool asked;		/* has had a request */
	bool shut;		/* we have ended it */
};

/* A listening socket, and the libmicrohttpd behind it. */
struct front {
	struct http *http;
	struct MHD_Daemon *mhd;
	int listen_fd, epoll_fd;	/* -1 = none */
	bool is_socket, tls;
	bool somebody;		/* waits to be accepted */
	bool paused;		/* the listening socket is not watched: there is no room */
	struct client *clients;
	uint32_t nclients, used;
};

/* Requests are let through one after `interval_ns`, and `burst` at once. */
struct rate {
	uint64_t interval_ns;	/* 0 = all */
	uint64_t burst;
};

struct bucket {
	unsigned char who[16];
	uint64_t full_ns;	/* when all that was taken will be back */
};

struct http {
	struct loop *loop;
	const struct http_ops *ops;
	void *ctx;
	struct http_opts opts;
	struct webconfig *web;
	struct tls *tls;
	char node[256];		/* as the machine calls itself */
	struct front fronts[2];
	int timer;
	uint64_t order;		/* counts up */
	uint32_t idle_turns;	/* since something was heard of a client */
	uint32_t pieces;	/* of long work that may be done in this turn */
	struct rate rate, web_rate;
	struct bucket buckets[BUCKETS], web_bucket;
	/* The last page of metrics, for all who asked before it was made. */
	struct MHD_Response *page;
	const char *page_type;
	char page_accept[256];
	uint64_t page_order;
	/* http_watch.c */
	int inotify_fd, watch_timer;
	uint64_t seen;		/* what told the files apart */
	uint64_t turns_behind;
	struct http_stats stats;
};

/* ---- http.c ---- */

/* All of HTTP is done in one timer at the end of the loop's turn. */
void http_wake(struct http *h);
/* Somebody waits at a front's listening socket. */
void http_on_listen(void *ctx, uint32_t events, struct clock_pair now);

/* ---- http_clients.c ---- */

/* Accepts what a turn may. */
void clients_accept(struct http *h, struct front *f, struct clock_pair now);
/* Closes those whose time is over. */
void clients_expire(struct front *f, struct clock_pair now);
/* Gives the next one that waits its turn. */
void clients_next(struct http *h);
bool clients_wait(const struct http *h);
void clients_notify(void *ctx, struct MHD_Connection *connection, void **socket_context, enum MHD_ConnectionNotificationCode what);
/* False: too many requests. */
bool clients_rate(struct http *h, const struct client *c, struct clock_pair now);

/* Is an answer being made or sent? */
bool clients_busy(const struct front *f);

/* ---- http_watch.c ---- */

/* 0, or -errno: changes will not be seen. */
int watch_open(struct http *h);
void watch_close(struct http *h);

/* ---- http_stream.c ---- */

/* NULL = out of memory. What is made is sent piece by piece, one report at a time. */
struct MHD_Response *stream_reports(struct http *h, struct client *c, const struct query *q);
struct MHD_Response *stream_page(struct http *h, struct client *c);
/* One report as a page; NULL = out of memory. */
struct MHD_Response *stream_report_page(struct http *h, const struct stored *report);

#endif
