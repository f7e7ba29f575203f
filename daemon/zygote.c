// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "zygote.h"

/* Under memory pressure the kernel should take the worker first, then the zygote. */
#define ZYGOTE_OOM_SCORE "500"
#define WORKER_OOM_SCORE "800"

static void set_oom_score(const char *score)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	/* Without it the kernel chooses by size, and we are small. */
	if (fd < 0 || write(fd, score, strlen(score)) < 0)
		score = NULL;
	if (fd >= 0)
		close(fd);
}

/* Moves `fd` to 3 and closes all else, so that nothing of the daemon's stays open in here. */
static int keep_only(int fd)
{
	int null = open("/dev/null", O_RDWR);

	if (null < 0)
		return -errno;
	for (int i = 0; i <= STDERR_FILENO; i++)
		if (dup2(null, i) < 0)
			return -errno;
	if (fd != STDERR_FILENO + 1 && dup2(fd, STDERR_FILENO + 1) < 0)
		return -errno;
	if (syscall(SYS_close_range, STDERR_FILENO + 2, ~0U, 0) == 0)
		return 0;
	for (int i = STDERR_FILENO + 2; i < (int)sysconf(_SC_OPEN_MAX); i++)
		close(i);
	return 0;
}

/*
 * A child dies with its parent; a parent that died before prctl() is seen by its
 * absence. Signals meant for the daemon reach its whole process group or control group:
 * the daemon still needs its helper while it ends, and ends it itself.
 */
static void become_child(pid_t parent, const char *name)
{
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	prctl(PR_SET_NAME, name);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

__attribute__((noreturn))
static void worker_main(pid_t parent, int fd, const struct zygote_job *job)
{
	size_t asked = sizeof(uint64_t) + job->request_size, answered = sizeof(uint64_t) + job->answer_size;
	unsigned char *req = malloc(asked), *answer = malloc(answered);

	become_child(parent, job->name);
	set_oom_score(WORKER_OOM_SCORE);
	if (!req || !answer || keep_only(fd) < 0)
		_exit(1);
	fd = STDERR_FILENO + 1;
	/* A request may be shorter than its type: what matters of it stands in front. */
	while (recv(fd, req, asked, 0) > (ssize_t)sizeof(uint64_t)) {
		memset(answer, 0, answered);
		memcpy(answer, req, sizeof(uint64_t));
		job->work(job->ctx, req + sizeof(uint64_t), answer + sizeof(uint64_t));
		if (send(fd, answer, answered, MSG_NOSIGNAL) != (ssize_t)answered)
			break;
	}
	_exit(0);
}

static int send_spawned(int fd, const struct zygote_spawned *s, const int fds[2])
{
	union {
		char space[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = (void *)s, .iov_len = sizeof(*s) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (!s->err) {
		memset(&control, 0, sizeof(control));
		msg.msg_control = control.space;
		msg.msg_controllen = sizeof(control.space);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(2 * sizeof(int));
		memcpy(CMSG_DATA(c), fds, 2 * sizeof(int));
	}
	return sendmsg(fd, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Forks a worker and sends its socket and pidfd to the daemon. */
static int spawn_worker(int control, const struct zygote_job *job)
{
	struct zygote_spawned s = { 0 };
	int pair[2] = { -1, -1 }, fds[2] = { -1, -1 }, err;
	pid_t self = getpid(), pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		s.err = -errno;
		return send_spawned(control, &s, fds);
	}
	pid = fork();
	if (pid == 0)
		worker_main(self, pair[1], job);
	if (pid < 0)
		s.err = -errno;
	s.pid = pid;
	fds[0] = pair[0];
	/* A pid may be reused by the time the daemon kills; a pidfd is not. */
	if (!s.err)
		fds[1] = (int)syscall(SYS_pidfd_open, pid, 0);
	if (!s.err && fds[1] < 0) {
		s.err = -errno;
		kill(pid, SIGKILL);
	}
	err = send_spawned(control, &s, fds);
	if (fds[1] >= 0)
		close(fds[1]);
	close(pair[0]);
	close(pair[1]);
	return err;
}

__attribute__((noreturn))
static void zygote_main(pid_t parent, int fd, const struct zygote_job *job)
{
	char ask;

	become_child(parent, "pinwhy-zygote");
	/* Children that ended need no wait(): nobody asks how. */
	signal(SIGCHLD, SIG_IGN);
	set_oom_score(ZYGOTE_OOM_SCORE);
	if (keep_only(fd) < 0)
		_exit(1);
	fd = STDERR_FILENO + 1;
	while (recv(fd, &ask, sizeof(ask), 0) == (ssize_t)sizeof(ask))
		if (spawn_worker(fd, job) < 0)
			break;
	_exit(0);
}

int zygote_start(const struct zygote_job *job, pid_t *ret_pid, int *ret_fd)
{
	pid_t self = getpid(), pid;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	pid = fork();
	if (pid < 0) {
		int err = -errno;

		close(pair[0]);
		close(pair[1]);
		return err;
	}
	if (pid == 0)
		zygote_main(self, pair[1], job);
	close(pair[1]);
	*ret_pid = pid;
	*ret_fd = pair[0];
	return 0;
}

int zygote_ask(int fd)
{
	char ask = 'w';

	return send(fd, &ask, sizeof(ask), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int zygote_receive(int fd, struct zygote_spawned *ret_spawned, int ret_fds[2])
{
	union {
		char space[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct zygote_spawned s;
	struct iovec iov = { .iov_base = &s, .iov_len = sizeof(s) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.space,
			      .msg_controllen = sizeof(control.space) };
	struct cmsghdr *c;
	ssize_t n;

	n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	if (n != (ssize_t)sizeof(s))
		return -EPIPE;
	c = CMSG_FIRSTHDR(&msg);
	if (!s.err && (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(2 * sizeof(int))))
		return -EPIPE;
	if (!s.err)
		memcpy(ret_fds, CMSG_DATA(c), 2 * sizeof(int));
	*ret_spawned = s;
	return 0;
}
