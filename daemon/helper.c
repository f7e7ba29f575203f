// SPDX-License-Identifier: BSD-2-Clause
/* The daemon's side of the helper. What runs in the two processes is zygote.c. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helper.h"
#include "log.h"
#include "zygote.h"

#define NS_PER_MS 1000000ULL
/* A fork takes a millisecond; a zygote that needs this long is not coming back. */
#define SPAWN_DEADLINE_NS (5000 * NS_PER_MS)
#define BACKOFF_MIN_NS (100 * NS_PER_MS)
#define BACKOFF_MAX_NS (10000 * NS_PER_MS)

/* As it is sent: `size` bytes from `id` on. */
struct asked {
	uint64_t expires_ns;
	uint64_t id;
	unsigned char request[];
};

struct helper {
	const struct helper_ops *ops;
	void *ctx;
	uint64_t deadline_ns;
	struct loop *loop;
	int timer;

	int zygote_fd;		/* control socket, -1 = no zygote */
	pid_t zygote;
	int work_fd, pidfd;	/* -1 = no worker */
	int dying_fd;		/* pidfd of one that was killed and is waited for; -1 = none */
	pid_t worker;
	bool spawning;
	uint64_t spawn_deadline_ns;
	uint64_t spawn_at_ns;	/* not before */
	unsigned int failures;	/* workers lost since the last answer */
	bool spawned_once;

	struct zygote_job job;
	unsigned char *room;	/* answer, then the queue */
	size_t asked_size;	/* of one of the queue */
	/* The queue is a ring; the first is the one being worked on if `busy`. */
	uint32_t head, count;
	bool busy;
	uint64_t busy_deadline_ns;
	struct helper_stats stats;
};

static void pump(struct helper *h, struct clock_pair now);

static void close_watched(struct helper *h, int *fd)
{
	if (*fd < 0)
		return;
	if (h->loop)
		loop_del(h->loop, *fd);
	close(*fd);
	*fd = -1;
}

static size_t answer_size(const struct helper *h)
{
	return sizeof(uint64_t) + h->ops->answer_size;
}

static struct asked *asked_at(const struct helper *h, uint32_t i)
{
	return (void *)(h->room + answer_size(h) + (h->head + i) % h->ops->queue * h->asked_size);
}

static size_t request_size(const struct helper *h, const void *request)
{
	return h->ops->size ? h->ops->size(request) : h->ops->request_size;
}

static void pop(struct helper *h)
{
	struct asked *first = asked_at(h, 0);

	/* It may hold a password. */
	explicit_bzero(first, sizeof(*first) + request_size(h, first->request));
	h->head = (h->head + 1) % h->ops->queue;
	h->count--;
}

static uint64_t backoff_ns(unsigned int failures)
{
	uint64_t ns = BACKOFF_MIN_NS;

	/* One lost worker is bad luck and replaced at once; a row of them is a reason to wait. */
	if (failures <= 1)
		return 0;
	for (unsigned int i = 2; i < failures && ns < BACKOFF_MAX_NS; i++)
		ns *= 2;
	return ns < BACKOFF_MAX_NS ? ns : BACKOFF_MAX_NS;
}

static void back_off(struct helper *h, struct clock_pair now)
{
	h->failures++;
	h->spawn_at_ns = now.mono_ns + backoff_ns(h->failures);
}

static void on_dead(void *ctx, uint32_t events, struct clock_pair now)
{
	struct helper *h = ctx;

	(void)events;
	close_watched(h, &h->dying_fd);
	pump(h, now);
}

/* Killed. Whoever wants to, learns when it is really gone: in the kernel it may go on for a while. */
static void kill_worker(struct helper *h)
{
	if (h->pidfd < 0)
		return;
	syscall(SYS_pidfd_send_signal, h->pidfd, SIGKILL, NULL, 0);
	if (h->ops->exclusive && h->loop && loop_add(h->loop, h->pidfd, EPOLLIN, on_dead, h) == 0)
		h->dying_fd = h->pidfd;
	else
		close(h->pidfd);
	h->pidfd = -1;
}

static void lose(struct helper *h, struct clock_pair now)
{
	uint64_t id = asked_at(h, 0)->id;

	pop(h);
	if (h->ops->lost)
		h->ops->lost(h->ctx, id, now);
}

/* Gives the worker up; nobody blocks to see it die. */
static void drop_worker(struct helper *h, struct clock_pair now)
{
	kill_worker(h);
	close_watched(h, &h->work_fd);
	h->worker = 0;
	back_off(h, now);
	if (h->busy) {
		h->busy = false;
		h->stats.late++;
		lose(h, now);
	}
}

static void drop_zygote(struct helper *h, struct clock_pair now)
{
	close_watched(h, &h->zygote_fd);
	if (h->zygote > 0) {
		kill(h->zygote, SIGKILL);
		waitpid(h->zygote, NULL, WNOHANG);
	}
	h->zygote = 0;
	h->spawning = false;
	back_off(h, now);
}

static void on_worker(void *ctx, uint32_t events, struct clock_pair now)
{
	struct helper *h = ctx;
	uint64_t *answer = (void *)h->room;
	ssize_t n;

	(void)events;
	n = recv(h->work_fd, answer, answer_size(h), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != (ssize_t)answer_size(h) || !h->busy || answer[0] != asked_at(h, 0)->id) {
		log_debug("helper process %d is gone, starting another", (int)h->worker);
		drop_worker(h, now);
	} else {
		h->busy = false;
		h->failures = 0;
		h->stats.answered++;
		pop(h);
		h->ops->answer(h->ctx, answer[0], answer + 1, now);
	}
	pump(h, now);
}

static void on_zygote(void *ctx, uint32_t events, struct clock_pair now)
{
	struct zygote_spawned s;
	struct helper *h = ctx;
	int fds[2], err;

	(void)events;
	err = zygote_receive(h->zygote_fd, &s, fds);
	if (err == -EAGAIN)
		return;
	h->spawning = false;
	if (err) {
		log_debug("the helper's parent process is gone, starting another");
		drop_zygote(h, now);
	} else if (s.err) {
		log_debug("no helper process: %s", strerror(-s.err));
		back_off(h, now);
	} else {
		h->work_fd = fds[0];
		h->pidfd = fds[1];
		h->worker = s.pid;
		h->stats.restarts += h->spawned_once;
		h->spawned_once = true;
		if (loop_add(h->loop, h->work_fd, EPOLLIN, on_worker, h) < 0)
			drop_worker(h, now);
	}
	pump(h, now);
}

/* Asks the zygote for a worker, after forking the zygote if there is none. */
static void spawn(struct helper *h, struct clock_pair now)
{
	if (h->zygote_fd < 0) {
		int err = zygote_start(&h->job, &h->zygote, &h->zygote_fd);

		if (!err)
			err = loop_add(h->loop, h->zygote_fd, EPOLLIN, on_zygote, h);
		if (err) {
			log_debug("cannot start the helper's parent process: %s", strerror(-err));
			drop_zygote(h, now);
			return;
		}
	}
	if (zygote_ask(h->zygote_fd) < 0) {
		drop_zygote(h, now);
		return;
	}
	h->spawning = true;
	h->spawn_deadline_ns = now.mono_ns + SPAWN_DEADLINE_NS;
}

static void send_next(struct helper *h, struct clock_pair now)
{
	size_t size = sizeof(uint64_t) + request_size(h, asked_at(h, 0)->request);

	if (send(h->work_fd, &asked_at(h, 0)->id, size, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)size) {
		drop_worker(h, now);
		return;
	}
	h->busy = true;
	h->busy_deadline_ns = now.mono_ns + h->deadline_ns;
}

static void expire(struct helper *h, struct clock_pair now)
{
	if (h->busy && now.mono_ns >= h->busy_deadline_ns) {
		log_debug("helper process %d is late, giving it up", (int)h->worker);
		drop_worker(h, now);
	}
	if (h->spawning && now.mono_ns >= h->spawn_deadline_ns)
		drop_zygote(h, now);
	while (h->count && !h->busy && now.mono_ns >= asked_at(h, 0)->expires_ns) {
		h->stats.expired++;
		lose(h, now);
	}
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a && a < b ? a : b;
}

static void rearm(struct helper *h)
{
	uint64_t at = 0;

	if (h->spawning)
		at = h->spawn_deadline_ns;
	else if (h->work_fd < 0 && h->dying_fd < 0)
		at = h->spawn_at_ns;
	if (h->busy)
		at = earlier(at, h->busy_deadline_ns);
	else if (h->count)
		at = earlier(at, asked_at(h, 0)->expires_ns);
	loop_timer_set(h->loop, h->timer, at);
}

/* Does whatever can be done now, and asks to be called when more can. */
static void pump(struct helper *h, struct clock_pair now)
{
	expire(h, now);
	if (h->work_fd < 0 && h->dying_fd < 0 && !h->spawning && now.mono_ns >= h->spawn_at_ns)
		spawn(h, now);
	if (h->work_fd >= 0 && !h->busy && h->count)
		send_next(h, now);
	rearm(h);
}

static void on_timer(void *ctx, struct clock_pair now)
{
	pump(ctx, now);
}

int helper_start(struct helper **ret_helper, const struct helper_ops *ops, void *ctx,
		 uint64_t deadline_ns)
{
	struct helper *h = calloc(1, sizeof(*h));
	int err;

	if (!h)
		return -ENOMEM;
	h->ops = ops;
	h->ctx = ctx;
	h->deadline_ns = deadline_ns;
	h->zygote_fd = h->work_fd = h->pidfd = h->dying_fd = -1;
	h->job = (struct zygote_job){ ops->name, ops->request_size, ops->answer_size, ops->work, ctx };
	h->asked_size = sizeof(struct asked) + ops->request_size;
	h->room = calloc(1, answer_size(h) + ops->queue * h->asked_size);
	err = h->room ? zygote_start(&h->job, &h->zygote, &h->zygote_fd) : -ENOMEM;
	if (err) {
		free(h->room);
		free(h);
		return err;
	}
	*ret_helper = h;
	return 0;
}

int helper_attach(struct helper *h, struct loop *loop)
{
	int err;

	h->timer = loop_timer_new(loop, on_timer, h);
	if (h->timer < 0)
		return h->timer;
	err = loop_add(loop, h->zygote_fd, EPOLLIN, on_zygote, h);
	if (err)
		return err;
	h->loop = loop;
	pump(h, loop_clock());
	return 0;
}

int helper_ask(struct helper *h, uint64_t id, const void *request, struct clock_pair now)
{
	struct asked *slot;

	if (h->count == h->ops->queue) {
		h->stats.refused++;
		return -EBUSY;
	}
	slot = asked_at(h, h->count);
	slot->id = id;
	memcpy(slot->request, request, request_size(h, request));
	slot->expires_ns = now.mono_ns + h->deadline_ns;
	h->count++;
	h->stats.asked++;
	pump(h, now);
	return 0;
}

void helper_stats(const struct helper *h, struct helper_stats *ret_stats)
{
	*ret_stats = h->stats;
	ret_stats->queued = h->count;
	ret_stats->alive = h->work_fd >= 0;
}

pid_t helper_worker_pid(const struct helper *h)
{
	return h->worker;
}

void helper_stop(struct helper *h)
{
	if (!h)
		return;
	if (h->pidfd >= 0) {
		syscall(SYS_pidfd_send_signal, h->pidfd, SIGKILL, NULL, 0);
		close(h->pidfd);
	}
	close_watched(h, &h->work_fd);
	close_watched(h, &h->dying_fd);
	close_watched(h, &h->zygote_fd);
	/* The loop may go on, for those that end after us. */
	if (h->loop)
		loop_timer_set(h->loop, h->timer, 0);
	if (h->zygote > 0)
		kill(h->zygote, SIGKILL);
	/* One that is blocked in the kernel is left to init. */
	for (int i = 0; i < 50 && h->zygote > 0 && waitpid(h->zygote, NULL, WNOHANG) == 0; i++)
		poll(NULL, 0, 1);
	while (h->count)
		pop(h);
	free(h->room);
	free(h);
}
