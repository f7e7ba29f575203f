// SPDX-License-Identifier: BSD-2-Clause
/* Who is connected: accepting, making room, deadlines, turns and rates. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http_state.h"
#include "log.h"

/*
 * A connection costs little, a handshake of TLS a thousand times that; it is done when the client's first bytes are there, so
 * there is a limit to how many can be waiting for these, too.
 */
#define ACCEPTS_PER_TURN 4
#define HANDSHAKES_MAX 8
#define HANDSHAKE_NS (300 * NS_PER_MS)	/* that one has before it may have to make room */

static const char busy[] =
	"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 25\r\n\r\nall connections are busy\n";

/* ---- deadlines ---- */

/* libmicrohttpd has no call that closes a connection, but it sees that one has ended. */
static void shut(struct client *c)
{
	if (c->shut)
		return;
	c->shut = true;
	shutdown(c->fd, SHUT_RDWR);
}

static uint64_t time_allowed(const struct client *c)
{
	switch (c->stage) {
	case STAGE_NEW:
	case STAGE_HEADER:
		return HEADER_NS;
	case STAGE_IDLE:
		return IDLE_NS;
	default:
		return ANSWER_NS;
	}
}

void clients_expire(struct front *f, struct clock_pair now)
{
	for (uint32_t i = 0; i < f->nclients; i++) {
		struct client *c = &f->clients[i];

		if (c->fd < 0 || c->shut || now.mono_ns < c->since_ns + time_allowed(c))
			continue;
		if (c->stage != STAGE_IDLE)
			f->http->stats.slow++;
		shut(c);
	}
}

/* ---- accepting ---- */

static bool has_asked_nothing(const struct client *c)
{
	return c->fd >= 0 && !c->shut && (c->stage == STAGE_NEW || c->stage == STAGE_IDLE || c->stage == STAGE_HEADER);
}

static struct client *oldest_silent(struct front *f, bool new_only)
{
	struct client *oldest = NULL;

	for (uint32_t i = 0; i < f->nclients; i++) {
		struct client *c = &f->clients[i];

		if (has_asked_nothing(c) && (!new_only || c->stage == STAGE_NEW) && (!oldest || c->since_ns < oldest->since_ns))
			oldest = c;
	}
	return oldest;
}

static void evict(struct front *f, struct client *c)
{
	f->http->stats.evicted++;
	shut(c);
}

static uint32_t count_new(const struct front *f)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->nclients; i++)
		n += f->clients[i].fd >= 0 && !f->clients[i].shut && f->clients[i].stage == STAGE_NEW;
	return n;
}

/* Is there, or will there be, a place for one more; in TLS also one for its handshake? */
static bool has_room(struct front *f, struct clock_pair now)
{
	struct client *c;

	if (f->tls && count_new(f) >= HANDSHAKES_MAX) {
		c = oldest_silent(f, true);
		if (now.mono_ns < c->since_ns + HANDSHAKE_NS)
			return false;
		evict(f, c);
	}
	if (f->used < f->nclients)
		return true;
	/* It is gone after this turn. When all are busy with requests, this one is told so. */
	c = oldest_silent(f, false);
	if (!c)
		return true;
	evict(f, c);
	return false;
}

static struct client *find_free(struct front *f)
{
	for (uint32_t i = 0; i < f->nclients; i++)
		if (f->clients[i].fd < 0)
			return &f->clients[i];
	return NULL;
}

static void identify(struct client *c, const struct sockaddr_storage *addr)
{
	const struct in6_addr *in6 = &((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr;
	struct ucred cred = { 0 };
	socklen_t len = sizeof(cred);

	memset(c->who, 0, sizeof(c->who));
	if (addr->ss_family == AF_INET) {
		memcpy(c->who, &((const struct sockaddr_in *)(const void *)addr)->sin_addr, 4);
	} else if (addr->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(in6)) {
		memcpy(c->who, &in6->s6_addr[12], 4);
	} else if (addr->ss_family == AF_INET6) {
		/* A host has a /64 to itself. */
		memcpy(c->who, in6, 8);
		c->who[15] = 6;
	} else if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0) {
		memcpy(c->who, &cred.uid, sizeof(cred.uid));
		c->who[15] = 1;
	}
}

/* False: nobody waits. */
static bool accept_one(struct http *h, struct front *f, struct clock_pair now)
{
	struct sockaddr_storage addr = { 0 };
	socklen_t len = sizeof(addr);
	struct client *c = find_free(f);
	int fd = accept4(f->listen_fd, (struct sockaddr *)&addr, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return false;
	if (!c) {
		h->stats.refused++;
		if (!f->tls)
			(void)!send(fd, busy, sizeof(busy) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
		close(fd);
		return true;
	}
	*c = (struct client){ .fd = fd, .front = f, .stage = STAGE_NEW, .since_ns = now.mono_ns };
	identify(c, &addr);
	f->used++;
	h->stats.accepted++;
	/* On failure it closes the descriptor. */
	if (MHD_add_connection(f->mhd, fd, (struct sockaddr *)&addr, len) != MHD_YES) {
		c->fd = -1;
		f->used--;
		h->stats.refused++;
	}
	return true;
}

/* A socket on which somebody waits would wake the loop again and again: it is not watched while there is no room. */
static void hold(struct http *h, struct front *f, bool on)
{
	if (on == f->paused)
		return;
	if (on)
		loop_del(h->loop, f->listen_fd);
	else if (loop_add(h->loop, f->listen_fd, EPOLLIN, http_on_listen, f) < 0)
		return;
	f->paused = on;
}

void clients_accept(struct http *h, struct front *f, struct clock_pair now)
{
	bool room = true;

	for (int n = f->tls ? 1 : ACCEPTS_PER_TURN; n > 0 && f->somebody; n--) {
		room = has_room(f, now);
		if (!room)
			break;
		f->somebody = accept_one(h, f, now);
	}
	hold(h, f, !room);
	f->somebody = f->paused;
}

static struct client *by_fd(struct front *f, int fd)
{
	for (uint32_t i = 0; i < f->nclients; i++)
		if (f->clients[i].fd == fd && !f->clients[i].connection)
			return &f->clients[i];
	return NULL;
}

static void begin(struct front *f, struct MHD_Connection *connection, void **socket_context)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct client *c = info ? by_fd(f, info->connect_fd) : NULL;

	*socket_context = c;
	if (!c)
		return;
	c->connection = connection;
	info = f->tls ? MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION) : NULL;
	if (!f->tls)
		return;
	/* libmicrohttpd knows the certificate of the start alone: a session that cannot have the one of now is not begun. */
	if (!info || tls_use(f->http->tls, info->tls_session) < 0)
		shut(c);
	else
		c->tls = f->http->tls;
}

static void end(struct front *f, struct client *c)
{
	if (!c->asked)
		f->http->stats.unasked++;
	if (c->id)
		auth_forget(f->http->opts.auth, c->id);
	tls_drop(c->tls);
	f->used--;
	*c = (struct client){ .fd = -1 };
}

void clients_notify(void *ctx, struct MHD_Connection *connection, void **socket_context, enum MHD_ConnectionNotificationCode what)
{
	if (what == MHD_CONNECTION_NOTIFY_STARTED)
		begin(ctx, connection, socket_context);
	else if (*socket_context)
		end(ctx, *socket_context);
}

/* ---- turns ---- */

static struct client *next_waiting(const struct http *h)
{
	struct client *next = NULL;

	for (int i = 0; i < 2; i++) {
		for (uint32_t j = 0; j < h->fronts[i].nclients; j++) {
			struct client *c = &h->fronts[i].clients[j];

			if (c->fd >= 0 && (c->stage == STAGE_QUEUED || c->stage == STAGE_STREAM) && (!next || c->order < next->order))
				next = c;
		}
	}
	return next;
}

bool clients_wait(const struct http *h)
{
	return next_waiting(h) != NULL;
}

void clients_next(struct http *h)
{
	struct client *c = next_waiting(h);

	if (!c)
		return;
	c->stage = c->stage == STAGE_QUEUED ? STAGE_TURN : STAGE_ANSWERED;
	MHD_resume_connection(c->connection);
}

bool clients_busy(const struct front *f)
{
	for (uint32_t i = 0; i < f->nclients; i++) {
		const struct client *c = &f->clients[i];

		if (c->fd >= 0 && !has_asked_nothing(c) && c->stage != STAGE_HASHING)
			return true;
	}
	return false;
}

/* ---- rates ---- */

static bool take(struct bucket *b, const struct rate *r, uint64_t now_ns)
{
	uint64_t full_ns = b->full_ns > now_ns ? b->full_ns : now_ns;

	if (!r->interval_ns)
		return true;
	if (full_ns - now_ns > (r->burst ? r->burst - 1 : 0) * r->interval_ns)
		return false;
	b->full_ns = full_ns + r->interval_ns;
	return true;
}

/* The client's own, or the one that was full first: a client that is forgotten so has not asked for long, or many ask. */
static struct bucket *bucket_of(struct http *h, const struct client *c)
{
	struct bucket *oldest = &h->buckets[0];

	for (int i = 0; i < BUCKETS; i++) {
		struct bucket *b = &h->buckets[i];

		if (b->full_ns && memcmp(b->who, c->who, sizeof(b->who)) == 0)
			return b;
		if (b->full_ns < oldest->full_ns)
			oldest = b;
	}
	*oldest = (struct bucket){ 0 };
	memcpy(oldest->who, c->who, sizeof(oldest->who));
	return oldest;
}

bool clients_rate(struct http *h, const struct client *c, struct clock_pair now)
{
	return take(bucket_of(h, c), &h->rate, now.mono_ns) && take(&h->web_bucket, &h->web_rate, now.mono_ns);
}
