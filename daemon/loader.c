// SPDX-License-Identifier: BSD-2-Clause
#include "loader_state.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kretprobe.h"
#include "log.h"

char libbpf_said[256];

__attribute__((format(printf, 2, 0)))
static int libbpf_print(enum libbpf_print_level level, const char *fmt, va_list args)
{
	char line[256];
	va_list again;

	if (level == LIBBPF_DEBUG)
		return 0;
	va_copy(again, args);
	vsnprintf(line, sizeof(line), fmt, args);
	line[strcspn(line, "\n")] = '\0';
	/* Verifier logs come between BEGIN and END marks and end with a summary that says little. */
	if (level == LIBBPF_WARN && !strstr(line, "PROG LOAD LOG") && !strstr(line, "failed to load object"))
		snprintf(libbpf_said, sizeof(libbpf_said), "%s", line);
	if (log_max_level >= LOG_LEVEL_DEBUG)
		vfprintf(stderr, fmt, again);
	va_end(again);
	return 0;
}

/* Changes when any module comes, goes, or comes again: kernfs numbers every new directory anew. */
static uint64_t modules_digest(void)
{
	DIR *dir = opendir("/sys/module");
	uint64_t digest = 1;
	struct dirent *d;

	if (!dir)
		return 0;
	while ((d = readdir(dir)))
		digest += d->d_ino * 0x9e3779b97f4a7c15ULL; /* order does not matter, each entry does */
	closedir(dir);
	return digest;
}

/* --- open --------------------------------------------------------------------- */

/* Which programs an object holds, without loading it. */
static int survey(struct loader *l, enum object_id o)
{
	char name[SYMBOL_LEN];
	struct bpf_program *prog;
	struct bpf_object *obj;
	int err = loader_survey_object(l, &object_rows[o], &obj);

	if (err == -EOPNOTSUPP)
		return 0;
	if (err)
		return err;
	bpf_object__for_each_program(prog, obj) {
		struct variant v;
		int i = variant_parse(bpf_program__name(prog), bpf_program__section_name(prog), &v);

		if (i < 0 || l->slots[i].nvariants == VARIANTS_MAX)
			continue; /* the contract test refuses such an object */
		l->slots[i].variants[l->slots[i].nvariants++] = v;
		if (i == SLOT_ID_driver_reg_mr_exit)
			snprintf(l->slots[i].variants[l->slots[i].nvariants - 1].target, sizeof(v.target), "%s",
				 l->driver_function);
		err = kfacts_watch(l->kf, loader_symbol_of(&l->slots[i].variants[l->slots[i].nvariants - 1], name));
		if (err)
			break;
	}
	bpf_object__close(obj);
	return err;
}

/* Those without slots: only what they ask for. */
static int survey_rest(struct loader *l)
{
	const struct object_row *const rest[] = { &maps_object, &pages_object };
	struct bpf_object *obj;
	int err = 0;

	for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]) && (!err || err == -EOPNOTSUPP); i++) {
		err = loader_survey_object(l, rest[i], &obj);
		if (!err)
			bpf_object__close(obj);
	}
	return err == -EOPNOTSUPP ? 0 : err;
}

static int set_cfg(const struct loader *l, struct bpf_object *obj)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, obj) {
		/* One that it has of an instance before it says the same, and cannot be set any more. */
		if (strstr(bpf_map__name(map), ".cfg"))
			return bpf_map__fd(map) >= 0 ? 0 : bpf_map__set_initial_value(map, &l->cfg, sizeof(l->cfg));
	}
	return 0;
}

static int map_memory(const struct bpf_object *obj, const char *name, size_t size, int prot, void **ret_memory)
{
	void *mem = mmap(NULL, size, prot, MAP_SHARED, bpf_object__find_map_fd_by_name(obj, name), 0);

	if (mem == MAP_FAILED)
		return -errno;
	*ret_memory = mem;
	return 0;
}

/* The kernels without pinwhy trace are those that WARN of a map whose entries are made when they are needed. */
static int map_of_no_use(struct bpf_map *map)
{
	int err = bpf_map__set_map_flags(map, 0);

	return err ? err : bpf_map__set_max_entries(map, 1);
}

static int make_maps(struct loader *l, uint32_t ring_bytes)
{
	int err, ncpus = libbpf_num_possible_cpus();
	struct bpf_program *prog;

	if (ncpus < 0)
		return ncpus;
	l->ncpus = (uint32_t)ncpus;
	err = loader_open_object(l, &maps_object, &l->maps);
	if (!err)
		err = bpf_map__set_max_entries(bpf_object__find_map_by_name(l->maps, "events"), ring_bytes);
	if (!err)
		err = bpf_map__set_max_entries(bpf_object__find_map_by_name(l->maps, "counters"), l->ncpus);
	if (!err && !kfacts_loops(l->kf))
		err = map_of_no_use(bpf_object__find_map_by_name(l->maps, "traced"));
	if (err)
		return err;
	prog = bpf_object__find_program_by_name(l->maps, "calibrate");
	bpf_program__set_autoload(prog, true);
	err = set_cfg(l, l->maps);
	if (err)
		return err;
	err = bpf_object__load(l->maps);
	if (err)
		return err;
	l->map_bytes = loader_own_map_bytes(l, l->maps);
	err = map_memory(l->maps, "spans", sizeof(struct wire_span) * WIRE_SPANS, PROT_READ | PROT_WRITE,
			 (void **)&l->spans);
	if (err)
		return err;
	err = map_memory(l->maps, "gate", sizeof(*l->gate), PROT_READ | PROT_WRITE, (void **)&l->gate);
	if (err)
		return err;
	err = map_memory(l->maps, "armed", sizeof(*l->armed), PROT_READ | PROT_WRITE, (void **)&l->armed);
	if (err)
		return err;
	err = map_memory(l->maps, "layout", sizeof(*l->layout), PROT_READ | PROT_WRITE, (void **)&l->layout);
	if (err)
		return err;
	err = map_memory(l->maps, "traced_hints", sizeof(*l->traced_hints), PROT_READ | PROT_WRITE, (void **)&l->traced_hints);
	if (err)
		return err;
	return map_memory(l->maps, "counters", sizeof(*l->counters) * l->ncpus, PROT_READ, (void **)&l->counters);
}

/* Lets the calibration program read what user space may not. */
static int calibrate(const struct loader *l)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	struct bpf_program *prog = bpf_object__find_program_by_name(l->maps, "calibrate");

	return bpf_prog_test_run_opts(bpf_program__fd(prog), &opts);
}

static int load_with_maps(const struct loader *l, struct bpf_object *obj)
{
	struct bpf_program *end = bpf_object__find_program_by_name(obj, END_PROGRAM);
	int err = set_cfg(l, obj);

	if (end)
		bpf_program__set_autoload(end, true);
	if (!err)
		err = loader_share_maps(l, obj);
	return err ? err : bpf_object__load(obj);
}

int loader_load_whole(struct loader *l, const struct object_row *row, struct bpf_object **ret_obj)
{
	struct bpf_program *prog;
	struct bpf_object *obj;
	int err = loader_open_object(l, row, &obj);

	if (err)
		return err;
	bpf_object__for_each_program(prog, obj)
		bpf_program__set_autoload(prog, true);
	err = load_with_maps(l, obj);
	if (err) {
		bpf_object__close(obj);
		return err;
	}
	*ret_obj = obj;
	return 0;
}

int loader_prepare(struct loader **ret_loader, struct kfacts *kf, const struct loader_opts *opts)
{
	struct loader *l = calloc(1, sizeof(*l));
	int err = l ? loader_watch_ways(kf) : -ENOMEM;

	if (!l)
		return err;
	l->kf = kf;
	if (opts->modes)
		memcpy(l->modes, opts->modes, sizeof(l->modes));
	if (opts->avoid)
		snprintf(l->avoid, sizeof(l->avoid), ",%.250s,", opts->avoid);
	if (opts->driver_function)
		snprintf(l->driver_function, sizeof(l->driver_function), "%s", opts->driver_function);
	libbpf_set_print(libbpf_print);
	for (int o = 0; o < NOBJECTS && !err; o++)
		err = survey(l, (enum object_id)o);
	if (!err)
		err = survey_rest(l);
	if (err)
		loader_free(l);
	else
		*ret_loader = l;
	return err;
}

int loader_open(struct loader **ret_loader, struct kfacts *kf, const struct loader_opts *opts, const char **ret_why)
{
	struct loader *l;
	int err = loader_prepare(&l, kf, opts);

	if (err) {
		*ret_why = loader_refusal(err);
		return err;
	}
	l->kallsyms_of = modules_digest();
	err = kfacts_refresh(kf);
	if (err)
		log_warn("cannot read /proc/kallsyms: %s; hooks are tried without knowing whether they exist",
			 strerror(-err));
	kfacts_cfg(kf, &l->cfg);
	l->cfg.trace = opts->trace;
	l->cfg.arm_ns = loader_armed_possible(l, &(const char *){ NULL }) ? opts->arm_ns : 0;
	if (opts->trace_comm)
		strncpy(l->cfg.trace_comm, opts->trace_comm, sizeof(l->cfg.trace_comm) - 1);
	err = make_maps(l, opts->ring_bytes);
	if (!err)
		err = calibrate(l);
	if (!err)
		err = loader_start_detachers(l);
	if (err)
		goto fail;
	kretprobe_cleanup();
	*ret_loader = l;
	return 0;
fail:
	*ret_why = loader_refusal(err);
	loader_free(l);
	return err;
}

/* --- load --------------------------------------------------------------------- */

static bool missing(const struct loader *l, int i, enum object_id o)
{
	return slot_rows[i].object == o && l->slots[i].chosen && !l->slots[i].link;
}

/* Opens an object with the programs that are wanted and hang on no hook yet. `only` != NULL: that one alone, to find the culprit. */
static int load_object(struct loader *l, enum object_id o, const char *only, struct bpf_object **ret_obj)
{
	struct bpf_object *obj;
	int err = loader_open_object(l, &object_rows[o], &obj);

	if (err)
		return err;
	for (int i = 0; i < NSLOTS; i++) {
		struct slot *s = &l->slots[i];

		if (missing(l, i, o) && (!only || !strcmp(only, s->chosen->program)))
			bpf_program__set_autoload(bpf_object__find_program_by_name(obj, s->chosen->program), true);
	}
	err = loader_reuse_own_maps(l, &l->objects[o], obj);
	if (!err)
		err = load_with_maps(l, obj);
	if (!err)
		err = loader_place_end(l, o, obj);
	if (err) {
		bpf_object__close(obj);
		return err;
	}
	*ret_obj = obj;
	return 0;
}

/* One program spoils the whole object: load each alone, and mark those that fail. */
static int find_refused(struct loader *l, enum object_id o)
{
	int refused = 0;

	for (int i = 0; i < NSLOTS; i++) {
		struct slot *s = &l->slots[i];
		struct bpf_object *obj;
		struct variant *v;
		int err;

		if (!missing(l, i, o))
			continue;
		v = (struct variant *)s->chosen;
		err = load_object(l, o, v->program, &obj);
		if (!err) {
			bpf_object__close(obj);
			continue;
		}
		v->refused = true;
		if (err == -EPERM || err == -EACCES)
			l->refused = err;
		snprintf(v->why, sizeof(v->why), "%.60s: %.50s", strerror(-err), libbpf_said);
		log_debug("slot %s: the kernel does not load %s: %s", slot_rows[i].name, v->program, v->why);
		refused++;
		loader_choose(l, i);
	}
	return refused;
}

/*
 * Loads what is missing of an object, as one more instance of it that shares the maps of those before: hooks that work stay
 * as they are, so that nothing is missed while others come. An instance lasts as long as one of its programs is attached.
 */
static void load_missing(struct loader *l, enum object_id o)
{
	struct object *ob = &l->objects[o];
	bool wanted = false;
	int err;

	for (int i = 0; i < NSLOTS; i++)
		wanted |= missing(l, i, o);
	if (!wanted)
		ob->stale = false;
	if (!wanted || (ob->obj && !ob->stale))
		return;
	bpf_object__close(ob->obj);
	ob->obj = NULL;
	ob->stale = false;
	err = load_object(l, o, NULL, &ob->obj);
	for (int tries = 0; err && tries < VARIANTS_MAX && find_refused(l, o); tries++)
		err = load_object(l, o, NULL, &ob->obj);
	if (err)
		log_warn("BPF object %s does not load: %s (%s)", object_rows[o].name, strerror(-err), libbpf_said);
	else
		loader_keep_own_maps(l, ob);
}

/* --- attach ------------------------------------------------------------------- */

static int attach_link(struct loader *l, int i, const struct bpf_program *prog)
{
	const char *name = slot_rows[i].name;
	struct slot *s = &l->slots[i];
	const struct variant *v = s->chosen;
	int err;

	s->by_tracefs = false;
	if (v->kind == ATTACH_KRETPROBE) {
		err = loader_avoided(l, i, "tracefs") ? -ECANCELED :
						 kretprobe_attach(&s->link, prog, name, s->module, s->symbol);
		if (!err) {
			s->by_tracefs = true;
			return 0;
		}
		log_debug("slot %s: no tracefs probe (%s), using a perf one with fewer instances", name,
			  strerror(-err));
		s->link = bpf_program__attach_kprobe(prog, true, s->symbol);
	} else if (v->kind == ATTACH_KPROBE) {
		s->link = bpf_program__attach_kprobe(prog, false, s->symbol);
	} else {
		s->link = bpf_program__attach(prog);
	}
	err = (int)libbpf_get_error(s->link);
	if (err)
		s->link = NULL;
	return err;
}

static void attach_slot(struct loader *l, int i)
{
	struct slot *s = &l->slots[i];
	struct object *ob = &l->objects[slot_rows[i].object];
	const char *needs = slot_rows[i].needs;
	struct kfacts_function f;
	struct bpf_program *prog;
	struct variant *v;
	int err;

	if (s->link || !s->chosen || !ob->obj)
		return;
	if (*needs && !l->slots[slot_index(needs)].link) {
		s->state = SLOT_ATTACH_FAILED;
		snprintf(s->reason, sizeof(s->reason), "slot %s is not attached, and without it this one must not be", needs);
		return;
	}
	/* What was entered while nobody saw releases; what enters pins is attached after this. */
	if (i == SLOT_ID_nv_unlock)
		loader_forget_pins(l);
	v = (struct variant *)s->chosen;
	prog = bpf_object__find_program_by_name(ob->obj, v->program);
	if (!prog || bpf_program__fd(prog) < 0) {
		ob->stale = true; /* chosen after the object was loaded */
		return;
	}
	/* Before: one that comes again meanwhile leaves a dead link, which is then known by its number. */
	s->generation = *s->module ? kfacts_module_generation(s->module) : 0;
	err = attach_link(l, i, prog);
	if (!err) {
		s->prog_fd = fcntl(bpf_program__fd(prog), F_DUPFD_CLOEXEC, 0);
		s->state = SLOT_ATTACHED;
		s->since_ns = loader_clock_ns();
		s->reason[0] = '\0';
		return;
	}
	s->state = SLOT_ATTACH_FAILED;
	snprintf(s->reason, sizeof(s->reason), "%s on %s: %.60s", v->how, v->target, strerror(-err));
	/* A better variant that the kernel refused is the story; this one was only the way out. */
	for (const struct variant *first = s->variants; first < v; first++)
		if (first->refused)
			snprintf(s->reason, sizeof(s->reason), "%s: %.100s", first->how, first->why);
	if (err == -EPERM || err == -EACCES)
		l->refused = err;
	log_debug("slot %s: cannot attach %s", slot_rows[i].name, s->reason);
	/* With kallsyms unreadable absence shows only here, and a module may come: keep trying. A function
	 * that is known to be there is another matter: this kernel has no such way to hook. */
	if (*s->module && s->generation != kfacts_module_generation(s->module))
		return; /* it went while we tried */
	if (err == -ENOENT && (v->kind == ATTACH_TRACEPOINT || *s->module ||
			       kfacts_function(l->kf, v->target, &f) != ANSWER_YES))
		return;
	v->refused = true;
	snprintf(v->why, sizeof(v->why), "attach: %.100s", strerror(-err));
	loader_choose(l, i);
	ob->stale |= s->chosen != NULL;
}

/* Slots whose module went, or came again under the same name, hold dead links. */
static void drop_dead(struct loader *l)
{
	for (int i = NSLOTS - 1; i >= 0; i--) {
		struct slot *s = &l->slots[i];

		if (s->link && s->module[0] && s->generation != kfacts_module_generation(s->module))
			loader_detach_slot(l, i);
	}
	/* And those on vmlinux that are of no use without them. What is needed comes first in the table. */
	for (int i = 0; i < NSLOTS; i++) {
		const char *needs = slot_rows[i].needs;

		if (l->slots[i].link && *needs && !l->slots[slot_index(needs)].link)
			loader_detach_slot(l, i);
	}
	for (int o = 0; o < NOBJECTS; o++) {
		if (loader_object_lives(l, (enum object_id)o))
			continue;
		loader_drop_end(l, (enum object_id)o);
		loader_forget_object(&l->objects[o]);
	}
}

static bool stale_objects(const struct loader *l)
{
	for (int o = 0; o < NOBJECTS; o++)
		if (l->objects[o].stale)
			return true;
	return false;
}

int loader_trace(struct loader *l, uint32_t tgid)
{
	int fd = bpf_object__find_map_fd_by_name(l->maps, "traced");
	uint32_t one = 1;

	if (bpf_map_update_elem(fd, &tgid, &one, BPF_NOEXIST))
		return errno == EEXIST ? 0 : -errno; /* its exec or its parent's fork was seen before */
	__atomic_fetch_add(&l->traced_hints->hints[tgid & (WIRE_TRACED_HINTS - 1)], 1, __ATOMIC_SEQ_CST);
	return 0;
}

void loader_trace_none(struct loader *l)
{
	for (int i = 0; i < WIRE_TRACED_HINTS; i++)
		__atomic_store_n(&l->traced_hints->hints[i], 0, __ATOMIC_SEQ_CST);
}

static bool settle(struct slot *s)
{
	s->changed = !s->settled || s->settled_state != s->state;
	s->settled = true;
	s->settled_state = s->state;
	return s->changed;
}

int loader_attach(struct loader *l)
{
	uint64_t digest = modules_digest();
	int changed = 0;

	if (l->modules_seen == digest && digest)
		return 0;
	l->modules_seen = digest;
	drop_dead(l);
	if (l->kallsyms_of != digest) {
		l->kallsyms_of = digest;
		kfacts_refresh(l->kf);
		loader_drop_types(l);
	}
	loader_read_layout(l);
	for (int round = 0; round < VARIANTS_MAX; round++) {
		for (int i = 0; i < NSLOTS; i++)
			if (!l->slots[i].link)
				loader_choose(l, i);
		for (int o = 0; o < NOBJECTS; o++)
			load_missing(l, (enum object_id)o);
		for (int i = 0; i < NSLOTS; i++)
			attach_slot(l, i);
		if (!stale_objects(l))
			break;
	}
	loader_follow(l);
	for (int o = 0; o < NOBJECTS; o++)
		loader_shed_object(l, &l->objects[o], &object_rows[o]);
	loader_drop_types(l);
	for (int i = 0; i < NSLOTS; i++)
		changed += settle(&l->slots[i]);
	return changed;
}

void loader_free(struct loader *l)
{
	if (!l)
		return;
	loader_detach(l);
	loader_stop_detachers(l);
	if (l->spans)
		munmap(l->spans, sizeof(struct wire_span) * WIRE_SPANS);
	if (l->gate)
		munmap(l->gate, sizeof(*l->gate));
	if (l->armed)
		munmap(l->armed, sizeof(*l->armed));
	if (l->traced_hints)
		munmap(l->traced_hints, sizeof(*l->traced_hints));
	if (l->layout)
		munmap(l->layout, sizeof(*l->layout));
	if (l->counters)
		munmap((void *)l->counters, sizeof(*l->counters) * l->ncpus);
	bpf_object__close(l->maps);
	loader_drop_types(l);
	corebtf_forget(&l->asked);
	free(l);
}
