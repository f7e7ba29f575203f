// SPDX-License-Identifier: BSD-2-Clause
/* The same work as a bpftrace script: what one would do without pinwhy. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"
#include "series.h"
#include "tracer.h"

#define SCRIPT "/tmp/same.bt"
#define LIMIT_MS 600000

extern const char bench_script_start[], bench_script_end[];
extern char **environ;

static pid_t child;
static int child_output;
static char said[1 << 14];	/* what it wrote */
static size_t said_length;

/* The umem function has another name in newer kernels: the one pinwhy found. */
static const char *umem_function(void)
{
	const struct hooks *hooks = pinwhy_last_hooks();

	for (uint32_t i = 0; i < hooks->count; i++)
		if (!strcmp(hooks->hook[i].slot, "umem_enter"))
			return hooks->hook[i].target;
	return "ib_umem_get";
}

static void write_script(void)
{
	static const char mark[] = "UMEM_GET";
	const char *at = bench_script_start, *next;
	FILE *f = fopen(SCRIPT, "we");

	if (!f)
		die_errno("cannot write %s", SCRIPT);
	while ((next = memmem(at, (size_t)(bench_script_end - at), mark, sizeof(mark) - 1))) {
		fwrite(at, 1, (size_t)(next - at), f);
		fputs(umem_function(), f);
		at = next + sizeof(mark) - 1;
	}
	fwrite(at, 1, (size_t)(bench_script_end - at), f);
	if (fclose(f))
		die_errno("cannot write %s", SCRIPT);
}

/* Not fork(): it would make the buffer copy-on-write, and the next pins pay for that. */
static void spawn(void)
{
	char *const argv[] = { "bpftrace", "-B", "none", SCRIPT, NULL };
	posix_spawn_file_actions_t actions;
	int ends[2], err;

	if (pipe2(ends, O_CLOEXEC) || fcntl(ends[0], F_SETFL, O_NONBLOCK))
		die_errno("pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
	err = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	child_output = ends[0];
	if (err)
		die("cannot start bpftrace: %s", strerror(err));
}

static bool listen_once(void)
{
	struct pollfd wait = { .fd = child_output, .events = POLLIN };
	ssize_t n;

	if (poll(&wait, 1, 100) <= 0)
		return true;
	if (said_length == sizeof(said) - 1)
		die("bpftrace does not stop talking: %s", said);
	n = read(child_output, said + said_length, sizeof(said) - 1 - said_length);
	if (n > 0)
		said_length += (size_t)n;
	said[said_length] = '\0';
	return n > 0 || (n < 0 && errno == EAGAIN);
}

static void wait_for(const char *text)
{
	uint64_t start = now_ms();

	while (!strstr(said, text)) {
		series_register_hole();
		if (!listen_once() || now_ms() - start > LIMIT_MS)
			die("bpftrace did not say '%s' but: %s", text, said);
	}
}

static void bpftrace_start(void)
{
	said_length = 0;
	said[0] = '\0';
	write_script();
	spawn();
	/* It says nothing when it is ready. It attaches kprobes after all else and in reverse, so a
	 * failure that comes out with its begin proves the whole script. */
	wait_for("failed -");
}

static void bpftrace_stop(uint64_t registrations)
{
	(void)registrations; /* killed, it does not print its maps */
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(child_output);
}

const struct tracer bpftrace_tracer = { "bpftrace", bpftrace_start, bpftrace_stop, NULL, NULL };
