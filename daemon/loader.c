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

static int open_object(const struct object_row *row, struct bpf_object **ret_obj)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = row->name);
	struct bpf_object *obj = bpf_object__open_mem(row->bytes, (size_t)(row->end - row->bytes), &opts);
	int err = (int)libbpf_get_error(obj);

	if (!err)
		*ret_obj = obj;
	return err;
}

/* The kernel symbol that is there when `v` can be attached: of a tracepoint, the function that calls its probes. */
static const char *symbol_of(const struct variant *v, char buf[SYMBOL_LEN])
{
	const char *event = strrchr(v->target, '/');

	snprintf(buf, SYMBOL_LEN, "%s%s", v->kind == ATTACH_TRACEPOINT ? "__traceiter_" : "",
		 event ? event + 1 : v->target);
	return buf;
}

/* Which programs an object holds, without loading it. */
static int survey(struct loader *l, enum object_id o)
{
	char name[SYMBOL_LEN];
	struct bpf_program *prog;
	struct bpf_object *obj;
	int err = open_object(&object_rows[o], &obj);

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
		err = kfacts_watch(l->kf, symbol_of(&l->slots[i].variants[l->slots[i].nvariants - 1], name));
		if (err)
			break;
	}
	bpf_object__close(obj);
	return err;
}

static int set_cfg(const struct loader *l, struct bpf_object *obj)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, obj) {
		if (strstr(bpf_map__name(map), ".cfg"))
			return bpf_map__set_initial_value(map, &l->cfg, sizeof(l->cfg));
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

static int make_maps(struct loader *l, uint32_t ring_bytes)
{
	int err, ncpus = libbpf_num_possible_cpus();
	struct bpf_program *prog;

	if (ncpus < 0)
		return ncpus;
	l->ncpus = (uint32_t)ncpus;
	err = open_object(&maps_object, &l->maps);
	if (!err)
		err = bpf_map__set_max_entries(bpf_object__find_map_by_name(l->maps, "events"), ring_bytes);
	if (!err)
		err = bpf_map__set_max_entries(bpf_object__find_map_by_name(l->maps, "counters"), l->ncpus);
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
	int err = open_object(row, &obj);

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

int loader_open(struct loader **ret_loader, struct kfacts *kf, const struct loader_opts *opts, const char **ret_why)
{
	struct loader *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return -ENOMEM;
	l->kf = kf;
	if (opts->modes)
		memcpy(l->modes, opts->modes, sizeof(l->modes));
	if (opts->avoid)
		snprintf(l->avoid, sizeof(l->avoid), ",%.250s,", opts->avoid);
	if (opts->driver_function)
		snprintf(l->driver_function, sizeof(l->driver_function), "%s", opts->driver_function);
	libbpf_set_print(libbpf_print);
	for (int o = 0; o < NOBJECTS; o++) {
		err = survey(l, (enum object_id)o);
		if (err)
			goto fail;
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

/* --- choose ------------------------------------------------------------------- */

bool loader_avoided(const struct loader *l, int i, const char *how)
{
	char all[40], one[96];

	snprintf(all, sizeof(all), ",%s,", how);
	snprintf(one, sizeof(one), ",%s:%s,", slot_rows[i].name, how);
	return strstr(l->avoid, all) || strstr(l->avoid, one);
}

/* Fits `v` this kernel as it is now? Fills reason when not, module when it does. */
static bool feasible(struct loader *l, int i, const struct variant *v)
{
	struct slot *s = &l->slots[i];
	const char *module = "";
	char symbol[SYMBOL_LEN];
	enum answer there;

	if (v->refused) {
		snprintf(s->reason, sizeof(s->reason), "%s: %.120s", v->how, v->why);
		return false;
	}
	if (loader_avoided(l, i, v->how)) {
		snprintf(s->reason, sizeof(s->reason), "%s is to be avoided by configuration", v->how);
		return false;
	}
	if (!v->target[0]) {
		snprintf(s->reason, sizeof(s->reason), "[attach] driver_function names none");
		return false;
	}
	there = kfacts_symbol(l->kf, symbol_of(v, symbol), &module);
	if (there == ANSWER_NO) {
		snprintf(s->reason, sizeof(s->reason), "no %s %s: its module is not loaded, or this kernel does without",
			 v->kind == ATTACH_TRACEPOINT ? "tracepoint" : "function", v->target);
		return false;
	}
	/* A FUNC in BTF alone proves nothing: pahole also lists functions kept under another name. */
	if (v->kind == ATTACH_TRAMPOLINE && (*module || !kfacts_btf_func(l->kf, v->target))) {
		snprintf(s->reason, sizeof(s->reason), "%s: vmlinux BTF does not describe %s", v->how, v->target);
		return false;
	}
	snprintf(s->module, sizeof(s->module), "%s", module);
	return true;
}

static bool demanded(const struct loader *l, int i)
{
	return l->arming && slot_rows[i].object == OBJECT_armed;
}

static void choose(struct loader *l, int i)
{
	const char *needs = slot_rows[i].needs;
	struct slot *s = &l->slots[i];

	s->chosen = NULL;
	s->reason[0] = '\0';
	if (l->modes[i] == HOOK_NEVER || (slot_rows[i].on_demand && l->modes[i] != HOOK_ALWAYS && !demanded(l, i))) {
		s->state = SLOT_DISABLED;
		snprintf(s->reason, sizeof(s->reason), "%s",
			 l->modes[i] == HOOK_NEVER ? "switched off in [hooks]" : "attached on demand only");
		return;
	}
	s->state = SLOT_ABSENT;
	/* What is needed comes first in the table. */
	if (*needs && !l->slots[slot_index(needs)].chosen && l->slots[slot_index(needs)].state == SLOT_ABSENT) {
		snprintf(s->reason, sizeof(s->reason), "slot %s is absent, and without it this one must not be", needs);
		return;
	}
	for (uint32_t k = 0; k < s->nvariants && !s->chosen; k++)
		if (feasible(l, i, &s->variants[k]))
			s->chosen = &s->variants[k];
	if (s->chosen)
		return;
	for (uint32_t k = 0; k < s->nvariants; k++) {
		if (!s->variants[k].refused)
			continue;
		/* Says more than that the other variant's function is not there. */
		s->state = SLOT_LOAD_FAILED;
		feasible(l, i, &s->variants[k]);
	}
}

/* --- load --------------------------------------------------------------------- */

/* Opens an object with the wanted programs. `only` != NULL: that one alone, to find the culprit. */
static int load_object(struct loader *l, enum object_id o, const char *only, struct bpf_object **ret_obj)
{
	struct bpf_object *obj;
	int err = open_object(&object_rows[o], &obj);

	if (err)
		return err;
	for (int i = 0; i < NSLOTS; i++) {
		struct slot *s = &l->slots[i];

		if (slot_rows[i].object != o || !s->chosen || (only && strcmp(only, s->chosen->program)))
			continue;
		bpf_program__set_autoload(bpf_object__find_program_by_name(obj, s->chosen->program), true);
	}
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

		if (slot_rows[i].object != o || !s->chosen)
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
		choose(l, i);
	}
	return refused;
}

/* (Re)loads an object whose programs or whose module changed. */
static void refresh_object(struct loader *l, enum object_id o)
{
	struct object *ob = &l->objects[o];
	const char *need = object_rows[o].btf_module;
	uint64_t generation = *need ? kfacts_module_generation(need) : 1;
	bool wanted = false;
	int err;

	for (int i = 0; i < NSLOTS; i++)
		wanted |= slot_rows[i].object == o && l->slots[i].chosen;
	if (ob->loaded && (ob->generation != generation || ob->stale))
		loader_detach_object(l, o);
	if (ob->loaded || !generation || !wanted)
		return;
	err = load_object(l, o, NULL, &ob->obj);
	for (int tries = 0; err && tries < VARIANTS_MAX && find_refused(l, o); tries++)
		err = load_object(l, o, NULL, &ob->obj);
	if (err)
		log_warn("BPF object %s does not load: %s (%s)", object_rows[o].name, strerror(-err), libbpf_said);
	else
		ob->map_bytes = loader_own_map_bytes(l, ob->obj);
	ob->loaded = !err;
	ob->generation = generation;
}

/*
 * What libbpf keeps of an object (its bytes, instructions and types again) is several MiB in all, and the
 * bytes inside the program are read only when it is loaded again.
 */
static void shed_object(struct object *ob, const struct object_row *row)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = ((uintptr_t)row->bytes + page - 1) & ~(page - 1), end = (uintptr_t)row->end & ~(page - 1);

	bpf_object__close(ob->obj);
	ob->obj = NULL;
	if (end > start)
		madvise((void *)start, end - start, MADV_DONTNEED);
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
						 kretprobe_attach(&s->link, prog, name, s->module, v->target);
		if (!err) {
			s->by_tracefs = true;
			return 0;
		}
		log_debug("slot %s: no tracefs probe (%s), using a perf one with fewer instances", name,
			  strerror(-err));
		s->link = bpf_program__attach_kprobe(prog, true, v->target);
	} else if (v->kind == ATTACH_KPROBE) {
		s->link = bpf_program__attach_kprobe(prog, false, v->target);
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
	const char *module;
	struct bpf_program *prog;
	struct variant *v;
	int err;

	if (s->link || !s->chosen || !ob->loaded)
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
	prog = ob->obj ? bpf_object__find_program_by_name(ob->obj, v->program) : NULL;
	if (!prog || bpf_program__fd(prog) < 0) {
		ob->stale = true; /* chosen after the object was loaded */
		return;
	}
	err = attach_link(l, i, prog);
	if (!err) {
		s->prog_fd = fcntl(bpf_program__fd(prog), F_DUPFD_CLOEXEC, 0);
		s->state = SLOT_ATTACHED;
		s->generation = *s->module ? kfacts_module_generation(s->module) : 0;
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
	if (err == -ENOENT && (v->kind == ATTACH_TRACEPOINT || *s->module ||
			       kfacts_symbol(l->kf, v->target, &module) != ANSWER_YES))
		return;
	v->refused = true;
	snprintf(v->why, sizeof(v->why), "attach: %.100s", strerror(-err));
	choose(l, i);
	ob->stale = s->chosen != NULL;
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
	}
	for (int round = 0; round < VARIANTS_MAX; round++) {
		for (int i = 0; i < NSLOTS; i++)
			if (!l->slots[i].link)
				choose(l, i);
		for (int o = 0; o < NOBJECTS; o++)
			refresh_object(l, (enum object_id)o);
		for (int i = 0; i < NSLOTS; i++)
			attach_slot(l, i);
		if (!stale_objects(l))
			break;
	}
	loader_follow(l);
	for (int o = 0; o < NOBJECTS; o++)
		shed_object(&l->objects[o], &object_rows[o]);
	for (int i = 0; i < NSLOTS; i++)
		changed += settle(&l->slots[i]);
	return changed;
}

void loader_free(struct loader *l)
{
	if (!l)
		return;
	loader_detach(l);
	if (l->spans)
		munmap(l->spans, sizeof(struct wire_span) * WIRE_SPANS);
	if (l->gate)
		munmap(l->gate, sizeof(*l->gate));
	if (l->armed)
		munmap(l->armed, sizeof(*l->armed));
	if (l->traced_hints)
		munmap(l->traced_hints, sizeof(*l->traced_hints));
	if (l->counters)
		munmap((void *)l->counters, sizeof(*l->counters) * l->ncpus);
	bpf_object__close(l->maps);
	free(l);
}
