// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sources that may wait for others: reading the mappings or the environment takes the process's mmap
 * lock, which a stuck registration may be holding; a library may lie on a file system that somebody
 * serves at leisure; a driver may keep its lock, and NVML may hang or crash. They run in a child that
 * leaves each answer in shared memory, so that one that never comes costs none of the others.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "enrich/enrich.h"

#define NS_PER_MS 1000000ULL
#define WAIT_NS_MAX (2000 * NS_PER_MS)
#define REAP_MS 20
#define END_MS 100	/* for one that has answered and only lacks a processor to end on */
#define AWAY 16	/* from the descriptors that they are moved to */

/* One that did not die, since it waits where no signal reaches it: until it does, no other is started. */
static pid_t abandoned;
static int abandoned_ms;	/* how long to wait for its end before that is said */

struct task {
	const struct enrich *e;
	const struct facts_request *req;
	int proc_fd, pipe_fd;
	struct facts *shared;
};

/*
 * Closes what is not needed: the daemon must see the worker's socket close with the worker, whatever
 * becomes of us.
 */
static int keep_descriptors(struct task *t)
{
	int pipe_fd = fcntl(t->pipe_fd, F_DUPFD, AWAY);
	int proc_fd = t->proc_fd < 0 ? t->proc_fd : fcntl(t->proc_fd, F_DUPFD, AWAY);

	t->pipe_fd = dup2(pipe_fd, STDERR_FILENO + 1);
	if (proc_fd >= 0)
		t->proc_fd = dup2(proc_fd, STDERR_FILENO + 2);
	syscall(SYS_close_range, STDERR_FILENO + 3, ~0U, 0);
	return t->pipe_fd < 0 ? -errno : 0;
}

__attribute__((noreturn))
static void child_main(pid_t parent, struct task *t)
{
	const struct rlimit no_core = { 0, 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	prctl(PR_SET_NAME, "pinwhy-waits");
	setrlimit(RLIMIT_CORE, &no_core);
	if (keep_descriptors(t) < 0)
		_exit(1);
	for (uint32_t i = 0; i < enrich_nsources; i++) {
		if (!enrich_sources[i].waits)
			continue;
		enrich_run(&enrich_sources[i], t->e, t->req, t->proc_fd, t->shared);
		if (write(t->pipe_fd, "", 1) != 1)
			_exit(1);
	}
	/* No clean-up: it might wait as well. */
	_exit(0);
}

static void copy_facts(struct facts *to, const struct facts *from, uint64_t facts)
{
	for (int i = 0; i < FACT_MAX; i++) {
		const struct fact_desc *d = &fact_descs[i];

		if (!(facts & (1ULL << i)))
			continue;
		to->err[i] = from->err[i];
		memcpy((char *)to + d->offset, (const char *)from + d->offset, d->size ? d->size : sizeof(uint64_t));
	}
}

static bool reaped(pid_t pid, int ms)
{
	for (int i = 0; i <= ms; i++) {
		if (waitpid(pid, NULL, WNOHANG) != 0)
			return true;
		if (i < ms)
			poll(NULL, 0, 1);
	}
	return false;
}

/* Takes each answer as it comes. 0 when all have; the error is that of the sources from *next on. */
static int collect(const struct task *t, int fd, struct facts *f, uint32_t *next)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t left;
	char done;

	for (; *next < enrich_nsources; (*next)++) {
		if (!enrich_sources[*next].waits)
			continue;
		left = enrich_left_ns(t->e);
		if (!left || poll(&p, 1, (int)(left / NS_PER_MS) + 1) <= 0)
			return -ETIMEDOUT;
		/* It ended without an answer: it crashed. */
		if (read(fd, &done, 1) != 1)
			return -EIO;
		copy_facts(f, t->shared, enrich_sources[*next].facts);
	}
	return 0;
}

static int run_child(struct task *t, struct facts *f, uint32_t *next)
{
	pid_t self = getpid(), pid;
	int fds[2], err;

	/* Children that nobody waits for lose their number at once, and it must not be another's when we kill. */
	signal(SIGCHLD, SIG_DFL);
	if (pipe(fds) < 0)
		return -errno;
	t->pipe_fd = fds[1];
	pid = fork();
	if (pid == 0)
		child_main(self, t);
	err = pid < 0 ? -errno : 0;
	close(fds[1]);
	if (!err)
		err = collect(t, fds[0], f, next);
	close(fds[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		abandoned = reaped(pid, REAP_MS) ? 0 : pid;
		abandoned_ms = err ? 0 : END_MS;
	}
	return err;
}

static int run_waiting(const struct enrich *e, const struct facts_request *req, int proc_fd, struct facts *f,
		       uint32_t *next)
{
	struct enrich bounded = *e;
	struct task t = { .e = &bounded, .req = req, .proc_fd = proc_fd };
	int err;

	if (abandoned && !reaped(abandoned, abandoned_ms)) {
		abandoned_ms = 0;
		return -EBUSY;
	}
	abandoned = 0;
	if (!enrich_left_ns(e))
		return -ETIMEDOUT;
	bounded.until_ns = enrich_until(e, WAIT_NS_MAX);
	t.shared = mmap(NULL, sizeof(*t.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (t.shared == MAP_FAILED)
		return -errno;
	memcpy(t.shared, f, sizeof(*f));
	err = run_child(&t, f, next);
	munmap(t.shared, sizeof(*t.shared));
	return err;
}

/* Of the node only NVML is waited for, and whoever did not ask for it misses nothing of it. */
static bool is_asked(const struct enrich_source *s, const struct enrich *e)
{
	return s->process || e->nvml;
}

void enrich_read_waiting(const struct enrich *e, const struct facts_request *req, int proc_fd,
			 struct facts *f)
{
	/* Without a process there is nothing of it to wait for. */
	bool direct = proc_fd < 0 && !e->nvml;
	uint32_t next = 0;
	int err;

	err = direct ? 0 : run_waiting(e, req, proc_fd, f, &next);
	for (; next < enrich_nsources; next++) {
		if (!enrich_sources[next].waits)
			continue;
		if (direct || !is_asked(&enrich_sources[next], e))
			enrich_run(&enrich_sources[next], e, req, proc_fd, f);
		else if (err)
			enrich_fail(f, enrich_sources[next].facts, err);
	}
}
