// SPDX-License-Identifier: BSD-2-Clause
/* The order in which a trace's parts start, and its mirror image in which they stop. */
#include "trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kretprobe.h"
#include "log.h"
#include "trace_state.h"

#define NS_PER_MS 1000000ULL
#define NS_PER_S 1000000000ULL

static bool out_start(struct trace *t)
{
	const char *path = t->opts->output;

	t->out = path ? fopen(path, "we") : stdout;
	if (!t->out)
		log_error("cannot write to %s: %s", path, strerror(errno));
	return t->out;
}

/* ---- processes ---- */

#define CLEANER_TRIES 100
#define CLEANER_PAUSE_US 50000

/* Ends after the trace; the kernel needs a moment to let go of what a killed one had open. */
static void clean_up(int fd, pid_t trace)
{
	char nothing;

	prctl(PR_SET_NAME, "pinwhy-cleaner");
	setsid();
	for (int sig = SIGHUP; sig <= SIGTERM; sig++)
		signal(sig, SIG_IGN);
	for (int i = 0; i <= STDERR_FILENO; i++)
		close(i);
	while (read(fd, &nothing, 1) < 0 && errno == EINTR)
		;
	for (int i = 0; i < CLEANER_TRIES && kretprobe_left(trace); i++) {
		kretprobe_cleanup();
		usleep(CLEANER_PAUSE_US);
	}
	_exit(0);
}

/* Return probes of tracefs stay when their owner is killed: somebody else has to remove them. */
static int cleaner_start(struct trace *t)
{
	pid_t us = getpid(), child;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	child = fork();
	if (child == 0) {
		close(fds[1]);
		clean_up(fds[0], us);
	}
	close(fds[0]);
	t->cleaner_fd = fds[1];
	return child < 0 ? -errno : 0;
}

static int processes_start(struct trace *t)
{
	int err = cleaner_start(t);

	if (!err && t->opts->command)
		err = command_start(&t->command, t->opts->command);
	if (!err) {
		t->enrich = enrich_system("");
		t->enrich.budget_ns = t->settings.facts_deadline_ns * 3 / 4;
		t->enrich.nvml = t->opts->config->facts_bar1 ? NVML_LIBRARY : NULL;
		err = helper_start(&t->helper, &trace_helper_ops, t, t->settings.facts_deadline_ns);
	}
	if (err)
		log_error("cannot start a process: %s", strerror(-err));
	return err;
}

/* The process that the thread `pid` is of, 0 = not known. */
static pid_t process_of(pid_t pid)
{
	char path[64], line[128];
	int tgid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %d", &tgid) == 1)
			break;
	if (f)
		fclose(f);
	return tgid;
}

static int target_start(struct trace *t)
{
	pid_t pid = t->opts->command ? t->command.pid : t->opts->pid, tgid;

	if (!pid)
		return 0;
	tgid = process_of(pid);
	if (tgid && tgid != pid) {
		log_error("%d is a thread of process %d: trace that", (int)pid, (int)tgid);
		return -ESRCH;
	}
	t->target_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (t->target_fd >= 0)
		return loop_add(t->loop, t->target_fd, EPOLLIN, trace_on_target, t);
	if (errno == ESRCH)
		log_error("there is no process %d", (int)pid);
	else
		log_error("cannot watch process %d: %s", (int)pid, strerror(errno));
	return -errno;
}

/* ---- the loop ---- */

static int loop_start(struct trace *t)
{
	sigset_t set;
	int err = loop_new(&t->loop);

	if (err)
		return err;
	t->tick_timer = loop_timer_new(t->loop, trace_on_tick, t);
	t->pipeline_timer = loop_timer_new(t->loop, trace_on_pipeline_timer, t);
	t->end_timer = loop_timer_new(t->loop, trace_on_end_timer, t);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	t->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	err = t->signal_fd < 0 ? -errno : loop_add(t->loop, t->signal_fd, EPOLLIN, trace_on_signal, t);
	return err ? err : helper_attach(t->helper, t->loop);
}

/* ---- the kernel ---- */

static uint32_t trace_flags(const struct trace_opts *o)
{
	return WIRE_TRACE_ON | (o->command ? WIRE_TRACE_CHILDREN : 0) | (o->comm ? WIRE_TRACE_COMM : 0);
}

static bool wanted(uint32_t slot)
{
	return loader_slot_watches(slot, "trace") || loader_slot_watches(slot, "armed") || strncmp(loader_slot_name(slot), "pin_fast_", strlen("pin_fast_")) == 0;
}

static void choose_hooks(const struct config *config, enum hook_mode *ret_modes)
{
	memcpy(ret_modes, config->hooks, sizeof(config->hooks));
	for (uint32_t i = 0; i < loader_nslots(); i++)
		if (wanted(i) && ret_modes[i] != HOOK_NEVER)
			ret_modes[i] = HOOK_ALWAYS;
}

static int loader_start(struct trace *t)
{
	enum hook_mode modes[CONFIG_HOOKS_MAX];
	const struct config *c = t->opts->config;
	struct loader_opts opts = {
		.modes = modes, .ring_bytes = (uint32_t)c->ring_bytes, .avoid = c->avoid,
		.driver_function = c->driver_function, .trace = trace_flags(t->opts), .trace_comm = t->opts->comm,
	};
	char error[BTFPACK_ERROR_MAX];
	const char *why = "";
	int err = kfacts_open_with(&t->kf, c->btf, error);

	if (err) {
		log_error("%s", error);
		return err;
	}
	if (!kfacts_loops(t->kf)) {
		log_error("pinwhy trace " NEEDS_LOOPS);
		return -EOPNOTSUPP;
	}
	choose_hooks(c, modes);
	err = loader_open(&t->loader, t->kf, &opts, &why);
	if (err)
		log_error("%s", *why ? why : strerror(-err));
	if (err || loader_pids_ours(&why))
		return err;
	log_error("%s; so none can be traced by its number", why);
	return -EINVAL;
}

static int pipeline_start(struct trace *t)
{
	int err;

	kfacts_names(t->kf, &t->identity);
	strncpy(t->identity.agent_version, PINWHY_VERSION, sizeof(t->identity.agent_version) - 1);
	t->identity.suspended_ns = loop_suspended_ns();
	loader_identity(t->loader, &t->identity);
	err = pipeline_new(&t->pipeline, &t->identity, &t->settings, &trace_pipeline_ops, t);
	if (!err)
		err = ring_open(&t->ring, loader_ring_fd(t->loader), trace_on_record, t);
	return err ? err : loop_add(t->loop, ring_fd(t->ring), EPOLLIN, trace_on_ring, t);
}

/* Those that have the name already; the hook sees those that get it from now on. */
static void trace_by_name(struct trace *t)
{
	char path[300], comm[WIRE_COMM_LEN + 1];
	DIR *proc = opendir("/proc");
	struct dirent *d;
	FILE *f;

	while (proc && (d = readdir(proc))) {
		int pid = atoi(d->d_name);

		snprintf(path, sizeof(path), "/proc/%s/comm", d->d_name);
		f = pid > 0 ? fopen(path, "re") : NULL;
		if (!f)
			continue;
		if (fgets(comm, sizeof(comm), f)) {
			comm[strcspn(comm, "\n")] = '\0';
			if (strcmp(comm, t->opts->comm) == 0)
				loader_trace(t->loader, (uint32_t)pid);
		}
		fclose(f);
	}
	if (proc)
		closedir(proc);
}

/* Without those wanted the trace would say that nothing happens. */
static bool hooks_there(struct trace *t)
{
	struct slot_status s;
	const char *why = "";
	uint32_t attached = 0;

	if (!loader_allowed(t->loader, &why)) {
		log_error("%s", why);
		return false;
	}
	for (uint32_t i = 0; i < loader_nslots(); i++) {
		loader_status(t->loader, i, &s);
		if (s.state == SLOT_ATTACHED || s.state == SLOT_ACTIVE)
			attached++;
		else if (wanted(i) && !loader_slot_watches(i, "armed"))
			log_warn("slot %s is not attached (%s): the trace will lack what it sees", s.name, s.reason);
	}
	if (!loader_armed_possible(t->loader, &why))
		log_warn("%s: who pinned a page during the trace is not told", why);
	log_info("READY: %u hooks attached", attached);
	return attached;
}

static int hooks_start(struct trace *t)
{
	pid_t pid = t->opts->command ? t->command.pid : t->opts->pid;
	struct clock_pair now;
	int err;

	trace_attach(t);
	loader_armed_open(t->loader);
	/* Not before: what began when hooks were missing cannot be told. */
	err = pid ? loader_trace(t->loader, (uint32_t)pid) : 0;
	if (err)
		return err;
	if (t->opts->comm)
		trace_by_name(t);
	t->spans_opts = (struct spans_opts){
		.after_ns = t->opts->config->stuck_after_ms * NS_PER_MS,
		.per_gib_ns = t->opts->config->stuck_per_gib_ms * NS_PER_MS,
		.proc = "/proc", .pids_ours = true,
	};
	now = loop_refresh(t->loop);
	t->steps.identity = &t->identity;
	t->steps.base_ns = now.mono_ns;
	if (!hooks_there(t))
		return -ENOTSUP;
	loop_timer_set(t->loop, t->tick_timer, now.mono_ns + NS_PER_S);
	if (t->opts->seconds)
		loop_timer_set(t->loop, t->end_timer, now.mono_ns + t->opts->seconds * NS_PER_S);
	return 0;
}

/* ---- all of it ---- */

static int start(struct trace *t)
{
	static int (*const steps[])(struct trace *t) = {
		processes_start,	/* forks: before memory is filled */
		loop_start, target_start, loader_start, pipeline_start, hooks_start,
	};
	int err = 0;

	if (!out_start(t))
		return -EIO;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && !err; i++)
		err = steps[i](t);
	return err;
}

static void stop(struct trace *t)
{
	loader_free(t->loader);
	ring_free(t->ring);
	pipeline_free(t->pipeline);
	kfacts_free(t->kf);
	helper_stop(t->helper);
	loop_free(t->loop);
	if (t->target_fd >= 0)
		close(t->target_fd);
	if (t->signal_fd >= 0)
		close(t->signal_fd);
	if (t->cleaner_fd >= 0)
		close(t->cleaner_fd);
}

/* Runs the command or waits for the end of another; the exit status. */
static int follow(struct trace *t)
{
	int err = t->opts->command ? command_go(&t->command) : 0;

	if (err > 0)
		log_error("cannot run %s: %s", t->opts->command[0], strerror(err));
	if (err >= 0 && loop_run(t->loop) < 0)
		log_error("the event loop failed, ending");
	trace_end(t);
	if (fflush(t->out) != 0 || ferror(t->out)) {
		log_error("cannot write the trace: %s", strerror(errno));
		return 1;
	}
	return t->lost || t->unfollowed ? 1 : 0;
}

int trace_run(const struct trace_opts *opts)
{
	struct trace *t = calloc(1, sizeof(*t));
	int err, status;

	if (!t) {
		log_error("out of memory");
		return opts->command ? COMMAND_US_FAILED : 2;
	}
	t->opts = opts;
	t->cleaner_fd = t->target_fd = t->signal_fd = t->command.gate_fd = t->command.error_fd = -1;
	t->settings = (struct pipeline_settings){
		.facts_deadline_ns = opts->config->facts_deadline_ms * NS_PER_MS,
		/* Every failure is told: nothing is folded. */
		.storm_window_ns = NS_PER_S, .storm_burst = UINT32_MAX, .storm_signatures = 64,
		.storm_cgroup_reports = UINT32_MAX, .storm_cgroups = 64,
	};
	err = start(t);
	status = err ? 2 : follow(t);
	if (t->command.pid > 0)
		status = err ? (command_wait(&t->command), COMMAND_US_FAILED) : command_wait(&t->command);
	else if (opts->command)
		status = COMMAND_US_FAILED;
	stop(t);
	if (t->out && t->out != stdout)
		fclose(t->out);
	free(t);
	return status;
}
