// SPDX-License-Identifier: BSD-2-Clause
/*
 * How much of a GPU's BAR1, through which other devices reach its memory, is in use. Only NVML tells, and
 * a call of NVML may hang in the driver where no signal reaches it, or bring the process down. It is made
 * by a child that is waited for as long as there is time and then given up.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "enrich/enrich.h"
#include "enrich/nvml.h"

#define NS_PER_MS 1000000ULL
#define WAIT_MS_MAX 2000
#define REAP_MS 20
#define GPUS_MAX 64

struct answer {
	int err;
	struct nvml_bar1 bar1;
};

/* One that did not die: no other is started while it is there. */
static pid_t abandoned;

/* The GPU with the least left: which one a registration meant is not known. */
static int ask_nvml(const char *library, struct nvml_bar1 *ret)
{
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	nvml_init_fn init = lib ? (nvml_init_fn)dlsym(lib, "nvmlInit_v2") : NULL;
	nvml_count_fn count = lib ? (nvml_count_fn)dlsym(lib, "nvmlDeviceGetCount_v2") : NULL;
	nvml_handle_fn handle = lib ? (nvml_handle_fn)dlsym(lib, "nvmlDeviceGetHandleByIndex_v2") : NULL;
	nvml_bar1_fn bar1 = lib ? (nvml_bar1_fn)dlsym(lib, "nvmlDeviceGetBAR1MemoryInfo") : NULL;
	unsigned int n = 0, known = 0;
	struct nvml_bar1 one;
	nvml_device device;

	if (!lib)
		return -ENOENT;
	if (!init || !count || !handle || !bar1)
		return -ENOSYS;
	if (init() != NVML_SUCCESS || count(&n) != NVML_SUCCESS)
		return -EIO;
	for (unsigned int i = 0; i < n && i < GPUS_MAX; i++) {
		if (handle(i, &device) != NVML_SUCCESS || bar1(device, &one) != NVML_SUCCESS)
			continue;
		if (!known++ || one.free < ret->free)
			*ret = one;
	}
	return known ? 0 : FACT_NONE;
}

__attribute__((noreturn))
static void child_main(pid_t parent, int fd, const char *library)
{
	const struct rlimit no_core = { 0, 0 };
	struct answer a;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	prctl(PR_SET_NAME, "pinwhy-nvml");
	setrlimit(RLIMIT_CORE, &no_core);
	/* The daemon must see the worker's socket close with the worker, whatever becomes of us. */
	if (fd != STDERR_FILENO + 1)
		dup2(fd, STDERR_FILENO + 1);
	fd = STDERR_FILENO + 1;
	syscall(SYS_close_range, fd + 1, ~0U, 0);
	memset(&a, 0, sizeof(a));
	a.err = ask_nvml(library, &a.bar1);
	/* No clean-up: it may hang as well. */
	_exit(write(fd, &a, sizeof(a)) != (ssize_t)sizeof(a));
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

static int wait_for(int fd, uint64_t left_ns, struct answer *ret)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t ms = left_ns / NS_PER_MS;
	ssize_t n;

	if (poll(&p, 1, ms < WAIT_MS_MAX ? (int)ms : WAIT_MS_MAX) <= 0)
		return -ETIMEDOUT;
	n = read(fd, ret, sizeof(*ret));
	/* It ended without an answer: it crashed. */
	return n == (ssize_t)sizeof(*ret) ? 0 : -EIO;
}

static int ask_child(const struct enrich *e, struct nvml_bar1 *ret)
{
	struct answer a;
	pid_t self = getpid(), pid;
	int fds[2], err;

	if (abandoned && !reaped(abandoned, 0))
		return -EBUSY;
	abandoned = 0;
	/* Children that nobody waits for lose their number at once, and it must not be another's when we kill. */
	signal(SIGCHLD, SIG_DFL);
	if (pipe(fds) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		child_main(self, fds[1], e->nvml);
	err = pid < 0 ? -errno : 0;
	close(fds[1]);
	if (!err)
		err = wait_for(fds[0], enrich_left_ns(e), &a);
	close(fds[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		abandoned = reaped(pid, REAP_MS) ? 0 : pid;
	}
	if (err)
		return err;
	*ret = a.bar1;
	return a.err;
}

/* Is there a driver to ask? */
static bool has_driver(const struct enrich *e)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/proc/driver/nvidia/version", e->root) < (int)sizeof(path) &&
	       access(path, F_OK) == 0;
}

void enrich_bar1(const struct enrich *e, const struct facts_request *req, struct facts *f)
{
	struct nvml_bar1 bar1 = { 0 };
	int err;

	(void)req;
	if (!e->nvml)
		err = FACT_NOT_ASKED;
	else if (!has_driver(e))
		err = FACT_NONE;
	else
		err = ask_child(e, &bar1);
	f->bar1_total_bytes = bar1.total;
	f->bar1_used_bytes = bar1.used;
	f->bar1_free_bytes = bar1.free;
	ENRICH_FAIL(f, bar1_total_bytes, err);
	ENRICH_FAIL(f, bar1_used_bytes, err);
	ENRICH_FAIL(f, bar1_free_bytes, err);
}
