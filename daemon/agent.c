// SPDX-License-Identifier: BSD-2-Clause
/* The order in which the daemon's parts start, and its mirror image in which they stop. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agent.h"
#include "agent_state.h"
#include "log.h"
#include "memory.h"
#include "notify.h"
#include "rehearse.h"

#define NS_PER_MS 1000000ULL
#define NS_PER_S 1000000000ULL
/* Heap for what comes later: reports in the making and those that wait for a full disk. */
#define SINKS_PATIENCE_NS (3 * NS_PER_S)	/* for what is to be delivered at the end */
#define HEAP_RESERVE ((size_t)1 << 20)

/* ---- starting: each returns 0, or -errno after saying what failed and what to do ---- */

static int start_loop(struct agent *a)
{
	int err = loop_new(&a->loop);

	if (err) {
		log_error("cannot make an event loop: %s", strerror(-err));
		return err;
	}
	a->tick_timer = loop_timer_new(a->loop, agent_on_tick, a);
	a->pipeline_timer = loop_timer_new(a->loop, agent_on_pipeline_timer, a);
	a->memory_timer = loop_timer_new(a->loop, agent_on_memory_timer, a);
	return 0;
}

static void stop_loop(struct agent *a)
{
	loop_free(a->loop);
}

/* Signals are blocked from here on and read in the loop: no handler ever runs. */
static int start_signals(struct agent *a)
{
	sigset_t set;
	int err;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	a->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	err = a->signal_fd < 0 ? -errno : loop_add(a->loop, a->signal_fd, EPOLLIN, agent_on_signal, a);
	if (err)
		log_error("cannot receive signals: %s", strerror(-err));
	return err;
}

static void stop_signals(struct agent *a)
{
	if (a->signal_fd >= 0)
		close(a->signal_fd);
}

static int start_lock(struct agent *a)
{
	const char *path = a->config->reports;
	pid_t owner = 0;
	int err;

	if (strcmp(path, "-") == 0 || strcmp(path, "off") == 0)
		return 0;
	err = lock_acquire(&a->lock, path, &owner);
	if (err == -EBUSY)
		log_error("another pinwhy (pid %d) writes to %s already: stop it, or give this one "
			  "another file with --reports", (int)owner, path);
	else if (err == -ENOENT)
		log_error("cannot write reports to %s: its directory does not exist, create it first",
			  path);
	else if (err)
		log_error("cannot lock %s.lock: %s", path, strerror(-err));
	return err;
}

static void stop_lock(struct agent *a)
{
	lock_release(a->lock);
}

static void say_address_in_use(const char *text, const struct listen_address *address)
{
	char comm[32] = "";
	pid_t pid;

	if (listen_owner("", address, &pid, comm, sizeof(comm)) == 0)
		log_error("cannot listen on %s: %s (pid %d) does already; stop it, or choose another "
			  "address with --listen", text, comm, (int)pid);
	else
		log_error("cannot listen on %s: another process does already; choose another address "
			  "with --listen", text);
}

/* Read first: whether an address may be served depends on it. */
static int start_web(struct agent *a)
{
	const char *path = a->config->web_config;
	char error[WEBCONFIG_ERROR_MAX];
	int err;

	if (!*path)
		return 0;
	err = webconfig_load(&a->web, path, error);
	if (!err)
		err = auth_start(&a->auth); /* forks: before memory is filled */
	else
		log_error("%s", error);
	return err;
}

static void stop_web(struct agent *a)
{
	webconfig_free(a->web);
	auth_stop(a->auth);
}

static int start_socket(struct agent *a)
{
	const char *path = a->config->http_socket, *group = a->config->http_socket_group;
	int err;

	if (!*path)
		return 0;
	err = listen_open_socket(path, group, &a->socket_fd);
	a->has_socket = !err;
	if (err == -EADDRINUSE)
		log_error("cannot listen at %s: another process does already; choose another path in [http] socket", path);
	else if (err == -EEXIST)
		log_error("cannot listen at %s: it exists and is no socket; choose another path in [http] socket", path);
	else if (err == -EPERM && *group)
		log_error("cannot give %s to group '%s' without CAP_CHOWN: let pinwhy run with that group (Group= in a drop-in of its "
			  "unit), and leave [http] socket_group empty", path, group);
	else if (err == -ESRCH)
		log_error("[http] socket_group: there is no group '%s'", group);
	else if (err)
		log_error("cannot listen at %s: %s", path, strerror(-err));
	return err;
}

/* Bound long before it is served, so that a second instance is refused before it loads anything. */
static int start_listen(struct agent *a)
{
	const char *text = a->config->listen, *wrong = "";
	struct listen_address address;
	int err;

	err = listen_parse(text, &address, &wrong);
	if (err) {
		log_error("listen = '%s' %s", text, wrong);
		return err;
	}
	if (address.off)
		return start_socket(a);
	wrong = http_refusal(address.loopback, a->config->http_reports, a->web);
	if (wrong) {
		log_error("refusing to listen on %s: %s", text, wrong);
		return -EPERM;
	}
	a->loopback = address.loopback;
	err = listen_open(&address, &a->listen_fd);
	if (err == -EADDRINUSE)
		say_address_in_use(text, &address);
	else if (err)
		log_error("cannot listen on %s: %s", text, strerror(-err));
	return err ? err : start_socket(a);
}

static void stop_listen(struct agent *a)
{
	if (a->listen_fd >= 0)
		close(a->listen_fd);
	if (a->socket_fd >= 0)
		close(a->socket_fd);
	if (a->has_socket)
		unlink(a->config->http_socket);
}

static int start_helper(struct agent *a)
{
	int err;

	a->enrich = enrich_system("");
	/* The rest is for the way there and back: an answer that is late is lost as a whole. */
	a->enrich.budget_ns = a->config->facts_deadline_ms * NS_PER_MS * 3 / 4;
	a->enrich.nvml = a->config->facts_bar1 ? NVML_LIBRARY : NULL;
	err = helper_start(&a->helper, &agent_helper_ops, a, a->config->facts_deadline_ms * NS_PER_MS);
	if (!err)
		err = helper_attach(a->helper, a->loop);
	if (err)
		log_error("cannot start the helper process: %s", strerror(-err));
	return err;
}

static void stop_helper(struct agent *a)
{
	helper_stop(a->helper);
}

/* For the status page alone. */
static int start_exposed(struct agent *a)
{
	int err;

	if ((a->listen_fd < 0 && a->socket_fd < 0) || !a->config->http_reports)
		return 0;
	err = exposed_start(&a->exposed);
	if (err)
		log_error("cannot start the process that reads exposures: %s", strerror(-err));
	return err;
}

static void stop_exposed(struct agent *a)
{
	exposed_stop(a->exposed);
}

static int start_kfacts(struct agent *a)
{
	char error[BTFPACK_ERROR_MAX];
	int err;

	memory_begin();
	err = kfacts_open_with(&a->kf, a->config->btf, error);
	if (err)
		log_error("%s", error);
	else if (kfacts_pack(a->kf))
		log_info("this kernel shows no BTF; that of %s is used", a->config->btf);
	return err;
}

static void stop_kfacts(struct agent *a)
{
	kfacts_free(a->kf);
}

static int start_loader(struct agent *a)
{
	enum hook_mode modes[CONFIG_HOOKS_MAX];
	struct loader_opts opts = {
		.modes = modes,
		.ring_bytes = (uint32_t)a->config->ring_bytes,
		.avoid = a->config->avoid,
		.driver_function = a->config->driver_function,
		.arm_ns = a->config->watch_arm_s * NS_PER_S,
	};
	const char *why = "";
	int err;

	agent_choose_hooks(a->config, modes);
	err = loader_open(&a->loader, a->kf, &opts, &why);

	if (err)
		log_error("%s", *why ? why : strerror(-err));
	else
		kfacts_drop_btf(a->kf); /* all that was wanted from it has been taken */
	return err;
}

static void stop_loader(struct agent *a)
{
	loader_free(a->loader);
}

static int start_pipeline(struct agent *a)
{
	const struct config *c = a->config;
	int err;

	kfacts_names(a->kf, &a->identity);
	strncpy(a->identity.agent_version, PINWHY_VERSION, sizeof(a->identity.agent_version) - 1);
	a->identity.suspended_ns = loop_suspended_ns();
	loader_identity(a->loader, &a->identity);
	a->settings = (struct pipeline_settings){
		.facts_deadline_ns = c->facts_deadline_ms * NS_PER_MS,
		.storm_window_ns = c->storm_window_s * NS_PER_S,
		.storm_burst = (uint32_t)c->storm_burst,
		.storm_signatures = (uint32_t)c->storm_signatures,
		.storm_cgroup_reports = (uint32_t)c->storm_cgroup_reports,
		.storm_cgroups = (uint32_t)c->storm_cgroups,
	};
	err = pipeline_new(&a->tap.pipeline, &a->identity, &a->settings, &agent_pipeline_ops, a);
	if (err)
		log_error("cannot start the pipeline: %s", strerror(-err));
	return err;
}

static void stop_pipeline(struct agent *a)
{
	pipeline_free(a->tap.pipeline);
}

/* Before anything big is in memory: some are processes of their own. */
static int start_sinks(struct agent *a)
{
	return sinks_open(&a->sinks, a->config, a->loop);
}

static void stop_sinks(struct agent *a)
{
	/* The loop goes on for them alone. */
	loop_timer_set(a->loop, a->tick_timer, 0);
	loop_timer_set(a->loop, a->pipeline_timer, 0);
	loop_timer_set(a->loop, a->memory_timer, 0);
	sinks_close(a->sinks, SINKS_PATIENCE_NS);
}

static int start_recording(struct agent *a)
{
	const char *path = a->config->record;
	int err;

	if (!*path)
		return 0;
	err = tap_record(&a->tap, path, &a->identity, &a->settings);
	if (err == -EEXIST)
		log_error("cannot record into %s: it exists already, and a recording never overwrites a file",
			  path);
	else if (err)
		log_error("cannot record into %s: %s", path, strerror(-err));
	return err;
}

static void stop_recording(struct agent *a)
{
	tap_close(&a->tap);
}

/* The last reports: those of before this start, too. */
static int start_store(struct agent *a)
{
	const struct config *c = a->config;
	int n, err;

	if ((a->listen_fd < 0 && a->socket_fd < 0) || !c->http_reports)
		return 0;
	err = store_new(&a->store, (uint32_t)c->http_keep_reports, c->http_keep_bytes);
	if (err) {
		log_error("no memory for the last reports: make [http] keep_bytes smaller");
		return err;
	}
	if (strcmp(c->reports, "-") == 0 || strcmp(c->format, "json") != 0 || *c->replay)
		return 0;
	n = store_load(a->store, c->reports);
	if (n < 0 && n != -ENOENT)
		log_warn("cannot read the reports of before in %s: %s; the status page begins empty", c->reports, strerror(-n));
	return 0;
}

static void stop_store(struct agent *a)
{
	store_free(a->store);
}

static int start_http(struct agent *a)
{
	const struct config *c = a->config;
	struct http_opts opts = {
		.listen_fd = a->listen_fd, .socket_fd = a->socket_fd, .web_path = c->web_config, .web = a->web, .auth = a->auth,
		.store = a->store, .loopback = a->loopback, .reports = c->http_reports, .hosts = c->http_hosts,
		.connections = (uint32_t)c->http_connections, .header_bytes = (uint32_t)c->http_header_bytes,
		.requests_per_s = (uint32_t)c->http_requests_per_s,
	};

	if (a->listen_fd < 0 && a->socket_fd < 0)
		return 0;
	a->page = calloc(1, METRICS_PAGE_MAX);
	if (!a->page)
		return -ENOMEM;
	a->listen_fd = a->socket_fd = -1;
	a->web = NULL;
	if (a->exposed && exposed_attach(a->exposed, a->loop, a->identity.pins_stay) < 0)
		log_warn("the status page will not tell of exposures");
	return http_open(&a->http, &opts, a->loop, &agent_http_ops, a);
}

static void stop_http(struct agent *a)
{
	http_close(a->http);
	free(a->page);
}

/* All the work of a failure once, for nobody: afterwards nothing of it has to be paged in. */
static void settle(struct agent *a)
{
	const char *type;
	char *page;
	size_t len;

	kfacts_drop_btf(a->kf);
	if (rehearse(&a->identity, &a->settings) < 0)
		log_debug("no memory for a rehearsal");
	if (a->http && agent_http_ops.metrics(a, "", &page, &len, &type) == 0)
		free(page);
	memory_trim();
	memory_reserve(HEAP_RESERVE);
	memory_hold();
}

/* The failed slot that tells most: an expected one, if there is. False: none has failed. */
static bool find_failed(const struct agent *a, struct slot_status *ret_slot)
{
	struct slot_status s;
	bool found = false;

	for (uint32_t i = 0; i < loader_nslots(); i++) {
		loader_status(a->loader, i, &s);
		if (s.state != SLOT_LOAD_FAILED && s.state != SLOT_ATTACH_FAILED)
			continue;
		if (!found || (s.expected && !ret_slot->expected))
			*ret_slot = s;
		found = true;
	}
	return found;
}

/*
 * No slot is attached. One whose function is absent may come with a module, and so is waited
 * for; but if the kernel refused a function that it has, it will refuse those too.
 */
static int check_hope(const struct agent *a)
{
	struct slot_status s = { 0 };

	if (!find_failed(a, &s)) {
		log_warn("no slot is attached yet: waiting for kernel modules to be loaded");
		return 0;
	}
	log_error("no slot could be attached, so there is nothing to watch; %s for example: %s; "
		  "pinwhy doctor tells of each", s.name, s.reason);
	return -ENOTSUP;
}

static int start_watching(struct agent *a)
{
	struct clock_pair now = loop_refresh(a->loop);
	const char *why = "";
	int err;

	err = ring_open(&a->ring, loader_ring_fd(a->loader), agent_on_record, a);
	if (!err)
		err = loop_add(a->loop, ring_fd(a->ring), EPOLLIN, agent_on_ring, a);
	if (err) {
		log_error("cannot read the ring: %s", strerror(-err));
		return err;
	}
	a->spans_opts = (struct spans_opts){ .proc = "/proc", .pids_ours = loader_pids_ours(&why) };
	agent_take_settings(a);
	if (!a->spans_opts.pids_ours)
		log_warn("%s", why);
	a->healthy = true;
	log_info("attaching hooks");
	agent_attach(a, now);
	a->map_bytes = loader_map_bytes(a->loader);
	if (!loader_allowed(a->loader, &why)) {
		log_error("%s", why);
		return -EPERM;
	}
	if (!loader_placement_known(a->loader, &why))
		log_warn("%s; a page that does not move can then not be shown to lie in the wrong place", why);
	settle(a);
	now = loop_refresh(a->loop);
	agent_say_ready(a, now);
	err = a->ready ? 0 : check_hope(a);
	if (err)
		return err;
	loop_timer_set(a->loop, a->tick_timer, now.mono_ns + NS_PER_S);
	return 0;
}

/* Hooks first, so that the ring ends; then all that is in it becomes reports. */
static void stop_watching(struct agent *a)
{
	struct clock_pair now;

	a->stopping = true;
	notify_send("STOPPING=1");
	loader_detach(a->loader);
	if (!a->ring)
		return;
	now = loop_refresh(a->loop);
	agent_drain(a);
	agent_count(a, now);
	tap_finish(&a->tap, now);
	loop_del(a->loop, ring_fd(a->ring));
	ring_free(a->ring);
}

enum when { WHEN_WATCHING = 1, WHEN_REPLAYING = 2, WHEN_EVER = WHEN_WATCHING | WHEN_REPLAYING };

/* A step that failed has its stop called too: stops take half-started parts. */
static const struct {
	const char *name;
	int (*start)(struct agent *a);
	void (*stop)(struct agent *a);
	enum when when;
} steps[] = {
	{ "loop", start_loop, stop_loop, WHEN_EVER },
	{ "signals", start_signals, stop_signals, WHEN_EVER },
	{ "lock", start_lock, stop_lock, WHEN_EVER },
	{ "web configuration", start_web, stop_web, WHEN_EVER },
	{ "listen", start_listen, stop_listen, WHEN_EVER },
	/* These three fork: before memory is filled. */
	{ "sinks", start_sinks, stop_sinks, WHEN_EVER },
	{ "helper", start_helper, stop_helper, WHEN_WATCHING },
	{ "exposures", start_exposed, stop_exposed, WHEN_WATCHING },
	{ "kernel facts", start_kfacts, stop_kfacts, WHEN_WATCHING },
	{ "BPF", start_loader, stop_loader, WHEN_WATCHING },
	{ "pipeline", start_pipeline, stop_pipeline, WHEN_WATCHING },
	{ "recording", start_recording, stop_recording, WHEN_WATCHING },
	{ "last reports", start_store, stop_store, WHEN_EVER },
	{ "HTTP", start_http, stop_http, WHEN_EVER },
	{ "hooks", start_watching, stop_watching, WHEN_WATCHING },
	{ "replay", agent_start_replay, agent_stop_replay, WHEN_REPLAYING },
};
#define NSTEPS (sizeof(steps) / sizeof(steps[0]))

int agent_run(struct config *config, const struct config_source *source)
{
	enum when when = *config->replay ? WHEN_REPLAYING : WHEN_WATCHING;
	struct agent *a = calloc(1, sizeof(*a));
	size_t started = 0;
	int err = 0;

	if (!a) {
		log_error("out of memory");
		return 2;
	}
	a->config = config;
	a->source = source;
	a->metrics.reload_ok = true;
	a->metrics.reload_real_ns = loop_clock().real_ns;
	a->signal_fd = a->listen_fd = a->socket_fd = -1;
	watchdog_init(&a->watchdog);
	a->metrics.version = PINWHY_VERSION;
	a->metrics.start_real_ns = loop_clock().real_ns;
	for (; started < NSTEPS && !err; started++) {
		if (!(steps[started].when & when))
			continue;
		log_debug("starting: %s", steps[started].name);
		err = steps[started].start(a);
	}
	if (!err && loop_run(a->loop) < 0)
		log_error("the event loop failed, ending");
	while (started--)
		if (steps[started].when & when)
			steps[started].stop(a);
	free(a);
	return err ? 2 : 0;
}
