/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /metrics, /healthz, /readyz, /reports and the status page, served from the daemon's own loop by libmicrohttpd.
 *
 * Events go first: all of HTTP's work is done at the end of a turn of the loop, and of what takes long, rendering the metrics or a
 * report, one piece per turn. So an event waits for one such piece at most; what it waited is counted. A TLS handshake is such a
 * piece as well: one connection of TLS is accepted per turn (tests/bench/RESULTS.md tells what one takes).
 *
 * Who may see what: /healthz and /readyz everybody; /metrics everybody unless the web configuration names users; reports and
 * the page only who is known by password or certificate, and who may open the socket, which has mode 0660.
 *
 * Bounded: connections, bytes of a header, requests per second and client (settings); 2048 bytes of URL, 5 s for the header of a
 * request, 30 s for an answer, 60 s between requests. When all connections are taken, one that has not asked for anything makes room.
 */
#ifndef PINWHY_HTTP_H
#define PINWHY_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http_auth.h"
#include "loop.h"
#include "web/store.h"
#include "web/webconfig.h"

struct exposures;
struct http;
struct slot_status;

/* What the page tells of the daemon. Strings and tables stay the owner's. */
struct http_status {
	const char *node, *kernel, *version;
	const char *not_ready;		/* why, NULL = ready */
	bool replaying;
	uint64_t registrations, failures;	/* since the start, as the kernel counts them */
	const struct slot_status *slots;
	uint32_t nslots;
	const struct exposures *exposures;	/* NULL = not looked at */
};

struct http_ops {
	/*
	 * The page, malloc'ed; http frees it. `accept`: the request's header, "" = none; `*ret_type`: a static Content-Type.
	 * -errno.
	 */
	int (*metrics)(void *ctx, const char *accept, char **ret_page, size_t *ret_len, const char **ret_type);
	/* False, with a sentence, while the daemon does not watch. */
	bool (*ready)(void *ctx, const char **ret_why);
	void (*status)(void *ctx, struct http_status *ret_status);
	/* Do events wait to be handled? Asked after each turn of HTTP. */
	bool (*events_wait)(void *ctx);
};

struct http_opts {
	int listen_fd;			/* TCP, -1 = none; becomes http's own, also on failure */
	int socket_fd;			/* AF_UNIX, -1 = none; likewise */
	const char *web_path;		/* of the web configuration, "" = none: watched for changes */
	struct webconfig *web;		/* as read from there, NULL = none; becomes http's own */
	struct auth *auth;		/* NULL without a web configuration */
	struct store *store;
	bool loopback;			/* listen_fd is reached from this machine alone */
	bool reports;			/* serve reports and the page at all */
	const char *hosts;		/* further names in Host headers, with commas */
	uint32_t connections, header_bytes, requests_per_s;
};

/* Status codes that are counted each; others together. */
#define HTTP_CODES(CODE) \
	CODE(200) CODE(400) CODE(401) CODE(403) CODE(404) CODE(405) CODE(414) CODE(421) CODE(429) CODE(431) CODE(503)
enum http_code {
#define CODE(n) HTTP_CODE_##n,
	HTTP_CODES(CODE)
#undef CODE
	HTTP_CODE_OTHER, HTTP_CODES_MAX
};
/* "200", ..., "other". */
const char *http_code_word(enum http_code code);

struct http_stats {
	uint64_t requests[HTTP_CODES_MAX];	/* answered, by status */
	uint64_t accepted;	/* connections */
	uint64_t refused;	/* connections: all were busy */
	uint64_t evicted;	/* connections that made room for others before they asked for anything */
	uint64_t slow;		/* connections closed because a time was over */
	uint64_t unasked;	/* connections that ended without a request that could be read: malformed, or failed in TLS */
	uint64_t auth_failures;	/* wrong or no credentials */
	uint64_t auth_busy;	/* turned away because too many passwords were being hashed */
	uint64_t limited;	/* requests over their rate */
	uint64_t reloads, reloads_failed;	/* of the web configuration and its files */
	uint64_t turns;		/* of the loop with work for HTTP */
	uint64_t longest_turn_ns;
	uint64_t behind;	/* turns after which events waited that had come meanwhile */
	uint64_t behind_longest_ns;	/* the longest of these turns: no event waited for HTTP longer */
	uint64_t behind_turns_max;	/* turns that events waited for one after the other: never more than 1 */
	uint64_t connections, reports_held, reports_bytes;	/* now */
};

/* `ops` and what opts point to must stay valid. -errno with a message logged. */
int http_open(struct http **ret_http, const struct http_opts *opts, struct loop *loop, const struct http_ops *ops, void *ctx);
/* Reads the web configuration and its files again; a bad one changes nothing, and a message says why. */
void http_reload(struct http *h);
/* Events have been handled. */
void http_events_done(struct http *h);
void http_stats(const struct http *h, struct http_stats *ret_stats);
/* NULL-safe. */
void http_close(struct http *h);

/*
 * May this be served: reports leave the machine only encrypted and to who is known. NULL, or a sentence on what is wrong and
 * what to do.
 */
const char *http_refusal(bool loopback, bool reports, const struct webconfig *web);

#endif
