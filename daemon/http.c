// SPDX-License-Identifier: BSD-2-Clause
#include "http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "http_state.h"
#include "log.h"
#include "web/page.h"

#define CONNECTION_BYTES_EXTRA ((size_t)24 << 10)	/* for an answer's header and pieces of its body */
#define CHECK_NS (250 * NS_PER_MS)	/* between two looks at deadlines, while somebody is connected */
#define HANDSHAKE_CHECK_NS (20 * NS_PER_MS)	/* while there is no room for one more handshake */
#define IDLE_TURNS 4
#define IDLE_TURN_NS (10 * NS_PER_MS)
#define REALM "pinwhy"

/* Who may see it. */
enum access { ACCESS_ALL, ACCESS_METRICS, ACCESS_REPORTS };

struct request {
	struct http *http;
	struct client *client;
	const char *path;
	struct query query;
};

struct route {
	const char *path;
	bool prefix;
	enum access access;
	enum MHD_Result (*get)(struct request *r);
};

const char *http_code_word(enum http_code code)
{
	static const char *const words[] = {
#define CODE(n) [HTTP_CODE_##n] = #n,
		HTTP_CODES(CODE)
#undef CODE
		[HTTP_CODE_OTHER] = "other",
	};

	return words[code];
}

/* ---- answers ---- */

static enum http_code code_of(unsigned int status)
{
	switch (status) {
#define CODE(n) case n: return HTTP_CODE_##n;
	HTTP_CODES(CODE)
#undef CODE
	default: return HTTP_CODE_OTHER;
	}
}

static const char *const headers_default[WEB_HEADERS] = {
	[HEADER_CSP] = "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	[HEADER_FRAME] = "deny",
	[HEADER_SNIFF] = "nosniff",
};

static void add_headers(struct http *h, struct MHD_Response *r)
{
	for (int i = 0; i < WEB_HEADERS; i++) {
		const char *value = h->web && h->web->headers[i] ? h->web->headers[i] : headers_default[i];

		if (value && *value)
			MHD_add_response_header(r, web_header_names[i], value);
	}
	MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(r, "Cross-Origin-Resource-Policy", "same-origin");
}

/* The response has its headers, and stays the caller's. */
static enum MHD_Result queue(struct request *r, unsigned int status, struct MHD_Response *response)
{
	r->http->stats.requests[code_of(status)]++;
	r->client->stage = STAGE_ANSWERED;
	return MHD_queue_response(r->client->connection, status, response);
}

/* Takes over the response. NULL: out of memory. */
static enum MHD_Result answer(struct request *r, unsigned int status, const char *type, struct MHD_Response *response)
{
	enum MHD_Result queued;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	add_headers(r->http, response);
	queued = queue(r, status, response);
	MHD_destroy_response(response);
	return queued;
}

/* A plain sentence; `header` may be NULL. */
static enum MHD_Result say(struct request *r, unsigned int status, const char *text, const char *header, const char *value)
{
	char line[512];
	int len = snprintf(line, sizeof(line), "%s\n", text);
	struct MHD_Response *response;

	if (len < 0 || (size_t)len >= sizeof(line))
		len = (int)sizeof(line) - 1;
	response = MHD_create_response_from_buffer((size_t)len, line, MHD_RESPMEM_MUST_COPY);
	if (response && header)
		MHD_add_response_header(response, header, value);
	return answer(r, status, "text/plain; charset=utf-8", response);
}

/* ---- pages ---- */

static const char *header_of(const struct request *r, const char *name)
{
	const char *value = MHD_lookup_connection_value(r->client->connection, MHD_HEADER_KIND, name);

	return value ? value : "";
}

/* The page of metrics that was made after the request came serves it as well as one of its own. */
static bool page_serves(const struct http *h, const struct client *c, const char *accept)
{
	return h->page && c->order <= h->page_order && strcmp(h->page_accept, accept) == 0;
}

static void drop_page(struct http *h)
{
	if (h->page)
		MHD_destroy_response(h->page);
	h->page = NULL;
}

static int make_page(struct http *h, const char *accept)
{
	const char *type = "text/plain; version=0.0.4; charset=utf-8";
	char *text;
	size_t len;
	int err = h->ops->metrics(h->ctx, accept, &text, &len, &type);

	if (err)
		return err;
	drop_page(h);
	h->page = MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);
	if (!h->page) {
		free(text);
		return -ENOMEM;
	}
	MHD_add_response_header(h->page, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(h->page, MHD_HTTP_HEADER_VARY, "Accept");
	add_headers(h, h->page);
	h->page_order = h->order;
	snprintf(h->page_accept, sizeof(h->page_accept), "%s", accept);
	return 0;
}

/* What takes long has its turn. False: it waits for that now. */
static bool has_turn(struct request *r)
{
	struct http *h = r->http;
	struct client *c = r->client;

	if (c->stage == STAGE_TURN)
		return true;
	c->order = ++h->order;
	if (h->pieces) {
		h->pieces--;
		return true;
	}
	c->stage = STAGE_QUEUED;
	MHD_suspend_connection(c->connection);
	return false;
}

static enum MHD_Result get_metrics(struct request *r)
{
	const char *accept = header_of(r, MHD_HTTP_HEADER_ACCEPT);
	struct http *h = r->http;
	int err = 0;

	if (!has_turn(r))
		return MHD_YES;
	if (strlen(accept) >= sizeof(h->page_accept))
		accept = "";
	if (!page_serves(h, r->client, accept))
		err = make_page(h, accept);
	if (err)
		return say(r, MHD_HTTP_SERVICE_UNAVAILABLE, strerror(-err), NULL, NULL);
	return queue(r, MHD_HTTP_OK, h->page);
}

static enum MHD_Result get_healthz(struct request *r)
{
	return say(r, MHD_HTTP_OK, "ok", NULL, NULL);
}

static enum MHD_Result get_readyz(struct request *r)
{
	const char *why = "";

	if (r->http->ops->ready(r->http->ctx, &why))
		return say(r, MHD_HTTP_OK, "ready", NULL, NULL);
	return say(r, MHD_HTTP_SERVICE_UNAVAILABLE, why, NULL, NULL);
}

static enum MHD_Result get_style(struct request *r)
{
	return answer(r, MHD_HTTP_OK, "text/css; charset=utf-8",
		      MHD_create_response_from_buffer(strlen(page_style), (void *)page_style, MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result get_status_page(struct request *r)
{
	return answer(r, MHD_HTTP_OK, "text/html; charset=utf-8", stream_page(r->http, r->client));
}

static enum MHD_Result get_reports(struct request *r)
{
	return answer(r, MHD_HTTP_OK, "application/json", stream_reports(r->http, r->client, &r->query));
}

/* A browser gets a page, who asks for anything else the report itself. */
static enum MHD_Result get_report(struct request *r)
{
	bool html = !r->query.json && strstr(header_of(r, MHD_HTTP_HEADER_ACCEPT), "text/html");
	const char *id = r->path + strlen("/reports/");
	struct MHD_Response *response;
	struct stored report;

	if (!query_is_id(id))
		return say(r, MHD_HTTP_NOT_FOUND, "that is not the id of a report", NULL, NULL);
	if (!store_find(r->http->opts.store, id, &report))
		return say(r, MHD_HTTP_NOT_FOUND, "this report is not kept here any more, or never was; the reports file may have it: "
			   "pinwhy explain --id ID", NULL, NULL);
	if (html && !has_turn(r))
		return MHD_YES;
	response = html ? stream_report_page(r->http, &report) :
		   MHD_create_response_from_buffer(report.len, (void *)report.line, MHD_RESPMEM_MUST_COPY);
	if (response)
		MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, "Accept");
	return answer(r, MHD_HTTP_OK, html ? "text/html; charset=utf-8" : "application/json", response);
}

static const struct route routes[] = {
	{ "/metrics", false, ACCESS_METRICS, get_metrics },
	{ "/healthz", false, ACCESS_ALL, get_healthz },
	{ "/readyz", false, ACCESS_ALL, get_readyz },
	{ "/", false, ACCESS_REPORTS, get_status_page },
	{ PAGE_STYLE_PATH, false, ACCESS_REPORTS, get_style },
	{ "/reports", false, ACCESS_REPORTS, get_reports },
	{ "/reports/", true, ACCESS_REPORTS, get_report },
};

static const struct route *find_route(const char *path)
{
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
		if (routes[i].prefix ? strncmp(routes[i].path, path, strlen(routes[i].path)) == 0 : strcmp(routes[i].path, path) == 0)
			return &routes[i];
	return NULL;
}

/* ---- who may ask ---- */

static bool has_users(const struct http *h)
{
	return h->web && h->web->nusers;
}

/* Is whoever asks known, once a password that is needed was right? */
static bool shows_reports(const struct http *h, const struct front *f)
{
	return h->opts.reports && (f->is_socket || webconfig_authenticates(h->web));
}

static enum MHD_Result refuse_password(struct request *r)
{
	r->http->stats.auth_failures++;
	return say(r, MHD_HTTP_UNAUTHORIZED, "a user and a password are needed", MHD_HTTP_HEADER_WWW_AUTHENTICATE,
		   "Basic realm=\"" REALM "\", charset=\"UTF-8\"");
}

static enum MHD_Result refuse_busy(struct request *r)
{
	r->http->stats.auth_busy++;
	return say(r, MHD_HTTP_SERVICE_UNAVAILABLE, "too many passwords are being checked", MHD_HTTP_HEADER_RETRY_AFTER, "1");
}

static enum auth_verdict check_password(struct request *r)
{
	struct client *c = r->client;
	enum auth_verdict verdict;
	char *password = NULL, *user = MHD_basic_auth_get_username_password(c->connection, &password);

	verdict = user && password ? auth_check(r->http->opts.auth, ++r->http->order, user, password, loop_now(r->http->loop)) : AUTH_WRONG;
	if (verdict == AUTH_ASKED)
		c->id = r->http->order;
	if (password)
		explicit_bzero(password, strlen(password));
	MHD_free(password);
	MHD_free(user);
	return verdict;
}

static enum MHD_Result serve(struct request *r)
{
	const struct route *route = r->client->route;

	if (route->access == ACCESS_REPORTS && !shows_reports(r->http, r->client->front))
		return say(r, MHD_HTTP_FORBIDDEN, "reports and the status page are shown to known users only: name some in the web "
			   "configuration (--web-config), or use the socket ([http] socket); /metrics, /healthz and /readyz are open",
			   NULL, NULL);
	return route->get(r);
}

/* By password, where one is needed. */
static enum MHD_Result admit(struct request *r)
{
	struct client *c = r->client;

	if (c->route->access == ACCESS_ALL || c->front->is_socket || !has_users(r->http))
		return serve(r);
	if (c->stage != STAGE_VERIFIED)
		c->verdict = check_password(r);
	switch (c->verdict) {
	case AUTH_RIGHT:
		return serve(r);
	case AUTH_ASKED:
		c->stage = STAGE_HASHING;
		MHD_suspend_connection(c->connection);
		return MHD_YES;
	case AUTH_BUSY:
		return refuse_busy(r);
	case AUTH_WRONG:
		break;
	}
	return refuse_password(r);
}

static void on_verified(void *ctx, uint64_t id, enum auth_verdict verdict, struct clock_pair now)
{
	struct http *h = ctx;

	(void)now;
	for (int i = 0; i < 2; i++) {
		for (uint32_t j = 0; j < h->fronts[i].nclients; j++) {
			struct client *c = &h->fronts[i].clients[j];

			if (c->fd < 0 || c->id != id || c->stage != STAGE_HASHING)
				continue;
			c->id = 0;
			c->verdict = verdict;
			c->stage = STAGE_VERIFIED;
			MHD_resume_connection(c->connection);
			http_wake(h);
		}
	}
}

/* ---- what is wrong with a request ---- */

struct arguments {
	struct request *request;
	unsigned int n, hosts;
	const char *wrong;
};

static enum MHD_Result on_argument(void *ctx, enum MHD_ValueKind kind, const char *key, const char *value)
{
	struct arguments *a = ctx;

	(void)kind;
	if (++a->n > ARGUMENTS_MAX)
		a->wrong = "too many arguments";
	else if (!a->wrong)
		a->wrong = query_set(&a->request->query, key, value, loop_now(a->request->http->loop).real_ns);
	return a->wrong ? MHD_NO : MHD_YES;
}

static enum MHD_Result count_hosts(void *ctx, enum MHD_ValueKind kind, const char *key, const char *value)
{
	struct arguments *a = ctx;

	(void)kind;
	(void)value;
	a->hosts += strcasecmp(key, MHD_HTTP_HEADER_HOST) == 0;
	return MHD_YES;
}

static bool host_ours(struct request *r, const char *version, struct arguments *a)
{
	MHD_get_connection_values(r->client->connection, MHD_HEADER_KIND, count_hosts, a);
	if (a->hosts > 1)
		return false;
	/* No browser speaks HTTP/1.0, and it needs no Host. */
	if (!a->hosts)
		return strcmp(version, MHD_HTTP_VERSION_1_0) == 0;
	return query_host_ours(header_of(r, MHD_HTTP_HEADER_HOST), r->http->node, r->http->opts.hosts);
}

/* MHD_YES or MHD_NO with an answer, -1: nothing is wrong. */
static int refuse(struct request *r, const char *method, const char *version)
{
	const union MHD_ConnectionInfo *size;
	struct arguments a = { .request = r };
	struct http *h = r->http;

	size = MHD_get_connection_info(r->client->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	if (size && size->header_size > h->opts.header_bytes)
		return (int)say(r, MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE, "the header is too long", NULL, NULL);
	if (strlen(r->path) > URL_BYTES_MAX)
		return (int)say(r, MHD_HTTP_URI_TOO_LONG, "the address is too long", NULL, NULL);
	if (!r->client->front->is_socket && !host_ours(r, version, &a))
		return (int)say(r, MHD_HTTP_MISDIRECTED_REQUEST, "this Host is not served here: use an address, localhost, the machine's "
				"name, or name it in [http] hosts", NULL, NULL);
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return (int)say(r, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD", MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	r->client->route = find_route(r->path);
	if (!r->client->route)
		return (int)say(r, MHD_HTTP_NOT_FOUND, "there are /, /metrics, /healthz, /readyz, /reports and /reports/ID", NULL, NULL);
	/* Who asks whether we live gets an answer: it would be the wrong moment to be killed. */
	if (r->client->route->access != ACCESS_ALL && !clients_rate(h, r->client, loop_now(h->loop))) {
		h->stats.limited++;
		return (int)say(r, MHD_HTTP_TOO_MANY_REQUESTS, "too many requests", MHD_HTTP_HEADER_RETRY_AFTER, "1");
	}
	return -1;
}

static void *on_uri(void *ctx, const char *uri, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct client *c = info ? info->socket_context : NULL;
	struct front *f = ctx;

	(void)uri;
	if (c && c->stage == STAGE_IDLE) {
		c->stage = STAGE_HEADER;
		c->since_ns = loop_now(f->http->loop).mono_ns;
	}
	return NULL;
}

/* Is there something behind the header? It is not read. */
static bool has_body(const struct request *r)
{
	const char *length = header_of(r, MHD_HTTP_HEADER_CONTENT_LENGTH);

	return length[strspn(length, "0")] || *header_of(r, MHD_HTTP_HEADER_TRANSFER_ENCODING);
}

/* The header is there. Who is answered now is closed then: only what nothing is wrong with may go on to ask. */
static enum MHD_Result on_header(struct request *r, const char *method, const char *version)
{
	struct client *c = r->client;
	int refused;

	c->asked = true;
	c->stage = STAGE_ASKED;
	c->since_ns = loop_now(r->http->loop).mono_ns;
	refused = refuse(r, method, version);
	if (refused >= 0)
		return (enum MHD_Result)refused;
	if (has_body(r))
		return say(r, MHD_HTTP_BAD_REQUEST, "a request has no body here", NULL, NULL);
	return MHD_YES;
}

/* Called with the header, then to answer, and again when we let the connection go on. */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url, const char *method,
				  const char *version, const char *upload, size_t *upload_size, void **request)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct client *c = info ? info->socket_context : NULL;
	struct front *f = ctx;
	struct request r = { .http = f->http, .client = c, .path = url };
	struct arguments a = { .request = &r };

	(void)upload;
	(void)upload_size;
	if (!c)
		return MHD_NO;
	if (!*request) {
		*request = c;
		return on_header(&r, method, version);
	}
	query_init(&r.query);
	if (c->route->access == ACCESS_REPORTS)
		MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, on_argument, &a);
	if (a.wrong)
		return say(&r, MHD_HTTP_BAD_REQUEST, a.wrong, NULL, NULL);
	return c->stage == STAGE_TURN ? serve(&r) : admit(&r);
}

static void on_completed(void *ctx, struct MHD_Connection *connection, void **request, enum MHD_RequestTerminationCode why)
{
	struct client *c = *request;
	struct front *f = ctx;

	(void)connection;
	(void)why;
	*request = NULL;
	if (!c || c->fd < 0)
		return;
	c->stage = STAGE_IDLE;
	c->since_ns = loop_now(f->http->loop).mono_ns;
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

/* ---- the loop ---- */

void http_wake(struct http *h)
{
	loop_timer_set(h->loop, h->timer, loop_now(h->loop).mono_ns);
}

void http_on_listen(void *ctx, uint32_t events, struct clock_pair now)
{
	struct front *f = ctx;

	(void)events;
	(void)now;
	f->somebody = true;
	f->http->idle_turns = 0;
	http_wake(f->http);
}

static void on_readable(void *ctx, uint32_t events, struct clock_pair now)
{
	struct http *h = ctx;

	(void)events;
	(void)now;
	h->idle_turns = 0;
	http_wake(h);
}

/*
 * How long libmicrohttpd wants to wait. While a handshake of TLS waits for the client it wants to be called all the time, though
 * the client's next bytes wake us: then now and then is enough.
 */
static uint64_t wait_of(struct http *h, const struct front *f)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (MHD_get_timeout(f->mhd, &ms) != MHD_YES)
		return UINT64_MAX;
	if (ms || clients_busy(f) || h->idle_turns++ < IDLE_TURNS)
		return ms * NS_PER_MS;
	return IDLE_TURN_NS;
}

/* When to come back; libmicrohttpd may have more to do at once, and deadlines are looked at now and then. */
static void rearm(struct http *h, struct clock_pair now)
{
	uint64_t wait_ns = UINT64_MAX;

	for (int i = 0; i < 2; i++) {
		struct front *f = &h->fronts[i];
		uint64_t wants_ns;

		if (!f->mhd)
			continue;
		if (f->used && CHECK_NS < wait_ns)
			wait_ns = CHECK_NS;
		/* Somebody is to be accepted: as soon as there is a place, and after a while in TLS. */
		if (f->paused && HANDSHAKE_CHECK_NS < wait_ns)
			wait_ns = f->used < f->nclients && !f->tls ? 0 : HANDSHAKE_CHECK_NS;
		wants_ns = wait_of(h, f);
		if (wants_ns < wait_ns)
			wait_ns = wants_ns;
	}
	if (clients_wait(h))
		wait_ns = 0;
	loop_timer_set(h->loop, h->timer, wait_ns == UINT64_MAX ? 0 : now.mono_ns + wait_ns + 1);
}

/* Events that have come while HTTP was at work wait for the rest of this turn, and for no other. */
static void note_turn(struct http *h, uint64_t began_ns)
{
	uint64_t took_ns = loop_clock().mono_ns - began_ns;
	struct http_stats *s = &h->stats;

	s->turns++;
	if (took_ns > s->longest_turn_ns)
		s->longest_turn_ns = took_ns;
	if (!h->ops->events_wait(h->ctx)) {
		h->turns_behind = 0;
		return;
	}
	s->behind++;
	h->turns_behind++;
	if (took_ns > s->behind_longest_ns)
		s->behind_longest_ns = took_ns;
	if (h->turns_behind > s->behind_turns_max)
		s->behind_turns_max = h->turns_behind;
}

static void on_timer(void *ctx, struct clock_pair now)
{
	uint64_t began_ns = loop_clock().mono_ns;
	struct http *h = ctx;

	h->pieces = 1;
	if (h->opts.auth)
		auth_expire(h->opts.auth, now);
	if (clients_wait(h)) {
		clients_next(h);
		h->pieces = 0;
	}
	for (int i = 0; i < 2; i++) {
		struct front *f = &h->fronts[i];

		if (!f->mhd)
			continue;
		clients_expire(f, now);
		clients_accept(h, f, now);
		MHD_run(f->mhd);
	}
	/* It is for those that had asked before it was made. */
	if (!clients_wait(h))
		drop_page(h);
	rearm(h, now);
	note_turn(h, began_ns);
}

void http_events_done(struct http *h)
{
	h->turns_behind = 0;
}

/* ---- starting and ending ---- */

static struct MHD_Daemon *start_mhd(struct http *h, struct front *f)
{
	unsigned int flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, f->tls ? (void *)tls_cert(h->tls) : NULL },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, f->tls ? (void *)tls_key(h->tls) : NULL },
		{ MHD_OPTION_END, 0, NULL },
	};
	struct MHD_OptionItem none[] = { { MHD_OPTION_END, 0, NULL } };

	return MHD_start_daemon(flags | (f->tls ? MHD_USE_TLS : 0), 0, NULL, NULL, on_request, f,
				MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
				MHD_OPTION_CONNECTION_LIMIT, (unsigned int)f->nclients,
				MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)(IDLE_NS / NS_PER_S) + 5,
				MHD_OPTION_CONNECTION_MEMORY_LIMIT, h->opts.header_bytes + CONNECTION_BYTES_EXTRA,
				MHD_OPTION_NOTIFY_CONNECTION, clients_notify, f,
				MHD_OPTION_NOTIFY_COMPLETED, on_completed, f,
				MHD_OPTION_URI_LOG_CALLBACK, on_uri, f,
				MHD_OPTION_ARRAY, f->tls ? tls : none,
				MHD_OPTION_END);
}

static int start_front(struct http *h, struct front *f, int fd, uint32_t connections)
{
	const union MHD_DaemonInfo *info;
	int err;

	f->http = h;
	f->listen_fd = fd;
	f->nclients = connections;
	f->clients = calloc(connections, sizeof(*f->clients));
	if (!f->clients)
		return -ENOMEM;
	for (uint32_t i = 0; i < connections; i++)
		f->clients[i].fd = -1;
	f->mhd = start_mhd(h, f);
	info = f->mhd ? MHD_get_daemon_info(f->mhd, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	if (!info)
		return -ENOMEM;
	f->epoll_fd = info->epoll_fd;
	err = loop_add(h->loop, fd, EPOLLIN, http_on_listen, f);
	if (err)
		f->paused = true; /* is not watched */
	return err ? err : loop_add(h->loop, f->epoll_fd, EPOLLIN, on_readable, h);
}

static void stop_front(struct http *h, struct front *f)
{
	if (f->listen_fd >= 0 && f->mhd && !f->paused)
		loop_del(h->loop, f->listen_fd);
	if (f->epoll_fd >= 0)
		loop_del(h->loop, f->epoll_fd);
	if (f->listen_fd >= 0)
		close(f->listen_fd);
	/* One that is suspended could not be ended. */
	for (uint32_t i = 0; f->mhd && i < f->nclients; i++) {
		struct client *c = &f->clients[i];

		if (c->fd >= 0 && (c->stage == STAGE_HASHING || c->stage == STAGE_QUEUED || c->stage == STAGE_STREAM))
			MHD_resume_connection(c->connection);
	}
	if (f->mhd)
		MHD_stop_daemon(f->mhd);
	free(f->clients);
}

static void use_web(struct http *h, struct webconfig *web)
{
	webconfig_free(h->web);
	h->web = web;
	h->web_rate = web ? (struct rate){ web->rate_interval_ns, web->rate_burst } : (struct rate){ 0 };
	if (h->opts.auth)
		auth_users(h->opts.auth, web);
}

static int start(struct http *h)
{
	char error[WEBCONFIG_ERROR_MAX];
	int err = 0;

	use_web(h, h->opts.web);
	h->timer = loop_timer_new(h->loop, on_timer, h);
	if (h->timer < 0)
		return h->timer;
	if (h->web && h->web->tls)
		err = tls_new(&h->tls, h->web, h->opts.web_path, error);
	if (err) {
		log_error("%s", error);
		return err;
	}
	if (h->opts.auth)
		err = auth_attach(h->opts.auth, h->loop, on_verified, h);
	h->fronts[0].tls = h->tls != NULL;
	if (!err && h->fronts[0].listen_fd >= 0)
		err = start_front(h, &h->fronts[0], h->fronts[0].listen_fd, h->opts.connections);
	if (!err && h->fronts[1].listen_fd >= 0)
		err = start_front(h, &h->fronts[1], h->fronts[1].listen_fd, SOCKET_CONNECTIONS);
	if (!err && *h->opts.web_path && watch_open(h) < 0)
		log_warn("changes of %s and the files it names will be seen on SIGHUP only", h->opts.web_path);
	if (err)
		log_error("cannot serve HTTP: %s", strerror(-err));
	return err;
}

int http_open(struct http **ret_http, const struct http_opts *opts, struct loop *loop, const struct http_ops *ops, void *ctx)
{
	struct http *h = calloc(1, sizeof(*h));
	int err;

	if (!h) {
		if (opts->listen_fd >= 0)
			close(opts->listen_fd);
		if (opts->socket_fd >= 0)
			close(opts->socket_fd);
		webconfig_free(opts->web);
		return -ENOMEM;
	}
	h->opts = *opts;
	h->loop = loop;
	h->ops = ops;
	h->ctx = ctx;
	h->inotify_fd = -1;
	h->rate = (struct rate){ NS_PER_S / opts->requests_per_s, 2 * (uint64_t)opts->requests_per_s };
	h->fronts[0] = (struct front){ .listen_fd = opts->listen_fd, .epoll_fd = -1 };
	h->fronts[1] = (struct front){ .listen_fd = opts->socket_fd, .epoll_fd = -1, .is_socket = true };
	if (gethostname(h->node, sizeof(h->node) - 1) < 0)
		h->node[0] = '\0';
	err = start(h);
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
	/* The loop may go on, for those that end after us. */
	loop_timer_set(h->loop, h->timer, 0);
	watch_close(h);
	drop_page(h);
	for (int i = 0; i < 2; i++)
		stop_front(h, &h->fronts[i]);
	tls_drop(h->tls);
	webconfig_free(h->web);
	free(h);
}

const char *http_refusal(bool loopback, bool reports, const struct webconfig *web)
{
	if (loopback || !reports || (web && web->tls && webconfig_authenticates(web)))
		return NULL;
	return "it is no loopback address, and reports name processes, paths and addresses: they leave this machine only with TLS and "
	       "authentication. Give --web-config a file with tls_server_config and basic_auth_users (or client certificates), or "
	       "listen on 127.0.0.1:PORT, or set [http] reports = no to serve /metrics and health alone";
}

void http_reload(struct http *h)
{
	struct webconfig *web = NULL;
	char error[WEBCONFIG_ERROR_MAX];
	struct tls *tls = NULL;
	const char *refusal = NULL;
	int err;

	if (!*h->opts.web_path)
		return;
	err = webconfig_load(&web, h->opts.web_path, error);
	if (!err && web->tls != (h->tls != NULL)) {
		snprintf(error, sizeof(error), "%.200s: TLS is switched on or off by a restart alone", h->opts.web_path);
		err = -EINVAL;
	}
	if (!err && h->fronts[0].listen_fd >= 0)
		refusal = http_refusal(h->opts.loopback, h->opts.reports, web);
	if (!err && refusal) {
		snprintf(error, sizeof(error), "%.200s: %.280s", h->opts.web_path, refusal);
		err = -EINVAL;
	}
	if (!err && web->tls)
		err = tls_new(&tls, web, h->opts.web_path, error);
	if (err) {
		h->stats.reloads_failed++;
		log_error("%s; what was read before stays in force", error);
		webconfig_free(web);
		return;
	}
	h->stats.reloads++;
	use_web(h, web);
	tls_drop(h->tls);
	h->tls = tls;
	log_info("the web configuration %s and its files are read", h->opts.web_path);
}

void http_stats(const struct http *h, struct http_stats *ret_stats)
{
	struct store_stats store = { 0 };

	*ret_stats = h->stats;
	ret_stats->connections = h->fronts[0].used + h->fronts[1].used;
	if (h->opts.store)
		store_stats(h->opts.store, &store);
	ret_stats->reports_held = store.held;
	ret_stats->reports_bytes = store.held_bytes;
}
