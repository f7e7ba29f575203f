// SPDX-License-Identifier: BSD-2-Clause
/*
 * Taking hooks away. While some are gone and others not, the silence of those that are gone would be
 * taken for evidence: nothing is followed then, and what ends is reported as not followed.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kretprobe.h"
#include "loader_state.h"

/* More make it no faster: most of the time they wait for the kernel's grace periods, one per hook. */
#define DETACHERS 8
#define DETACHER_STACK (64 << 10)	/* bytes; all of it is held in memory (memory_hold()) */

/* Entries of the ledger that are taken out at once: all there are, and as many that come meanwhile. */
#define FORGET_TRIES 8192

/* A free slot must not look like a stuck pin. */
static void abandon_spans(struct loader *l)
{
	for (int i = 0; i < WIRE_SPANS; i++) {
		if (!l->spans[i].tid)
			continue;
		l->spans[i].id = 0;
		__atomic_store_n(&l->spans[i].tid, 0, __ATOMIC_RELEASE);
		l->spans_abandoned++;
	}
}

static void stop_following(struct loader *l)
{
	if (!l->gate || *l->gate)
		return;
	__atomic_store_n(l->gate, 1, __ATOMIC_SEQ_CST);
	abandon_spans(l);
}

void loader_follow(struct loader *l)
{
	if (!l->gate || !*l->gate)
		return;
	/* Of a thread that had passed the gate when it was closed. */
	abandon_spans(l);
	__atomic_store_n(l->gate, 0, __ATOMIC_SEQ_CST);
}

void loader_forget_pins(struct loader *l)
{
	int fd = bpf_object__find_map_fd_by_name(l->maps, "first_pins");
	uint32_t tries = FORGET_TRIES;
	struct loss now;
	uint64_t key;

	/* One that was given back meanwhile (ENOENT) is no reason to keep the others. */
	while (fd >= 0 && tries-- && !bpf_map_get_next_key(fd, NULL, &key))
		bpf_map_delete_elem(fd, &key);
	/* What the counters say is held is not known of any more. */
	memset(&l->forgotten, 0, sizeof(l->forgotten));
	loader_counters(l, &now);
	l->forgotten.pins = now.pins_taken - now.pins_released;
	for (int via = 0; via < WIRE_PIN_VIA_MAX; via++)
		l->forgotten.stranded[via] = now.stranded[via] - now.freed[via];
}

void loader_detach_slot(struct loader *l, int i)
{
	struct slot *s = &l->slots[i];

	if (!s->link)
		return;
	if (s->by_tracefs)
		kretprobe_detach(s->link, slot_rows[i].name);
	else
		bpf_link__destroy(s->link);
	s->link = NULL;
	close(s->prog_fd);
	s->state = SLOT_ABSENT;
	if (slot_rows[i].object == OBJECT_firstpin)
		loader_forget_pins(l);
}

struct detaching {
	struct loader *l;
	int object;	/* of the slots to detach, -1 = of all */
	int next;
};

/*
 * Threads that take hooks away. They are there from the start: one that is started in a control group without a page left has
 * the process killed for its stack, and its probes stay behind.
 */
struct detachers {
	pthread_t threads[DETACHERS];
	int n;
	pthread_mutex_t mutex;		/* of what follows */
	pthread_cond_t wanted, done;
	struct detaching *work;		/* of this round */
	uint32_t round;
	int busy;			/* threads that have not ended this round */
	bool over;
};

static void *detach_some(void *arg)
{
	struct detaching *d = arg;
	int i;

	while ((i = __atomic_fetch_add(&d->next, 1, __ATOMIC_RELAXED)) < NSLOTS)
		if (d->object < 0 || slot_rows[i].object == (enum object_id)d->object)
			loader_detach_slot(d->l, i);
	return NULL;
}

static void *detacher(void *arg)
{
	struct detachers *ds = arg;
	uint32_t round = 0;

	pthread_mutex_lock(&ds->mutex);
	while (!ds->over) {
		if (round == ds->round) {
			pthread_cond_wait(&ds->wanted, &ds->mutex);
			continue;
		}
		round = ds->round;
		pthread_mutex_unlock(&ds->mutex);
		detach_some(ds->work);
		pthread_mutex_lock(&ds->mutex);
		if (!--ds->busy)
			pthread_cond_signal(&ds->done);
	}
	pthread_mutex_unlock(&ds->mutex);
	return NULL;
}

/* Signals are for the thread that waits for them. */
static void start_threads(struct detachers *ds)
{
	sigset_t all, was;
	pthread_attr_t attr;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, DETACHER_STACK);
	while (ds->n < DETACHERS && !pthread_create(&ds->threads[ds->n], &attr, detacher, ds))
		ds->n++;
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
}

int loader_start_detachers(struct loader *l)
{
	struct detachers *ds = calloc(1, sizeof(*ds));

	if (!ds)
		return -ENOMEM;
	pthread_mutex_init(&ds->mutex, NULL);
	pthread_cond_init(&ds->wanted, NULL);
	pthread_cond_init(&ds->done, NULL);
	start_threads(ds);
	l->detachers = ds;
	return 0;
}

void loader_stop_detachers(struct loader *l)
{
	struct detachers *ds = l->detachers;

	if (!ds)
		return;
	pthread_mutex_lock(&ds->mutex);
	ds->over = true;
	pthread_cond_broadcast(&ds->wanted);
	pthread_mutex_unlock(&ds->mutex);
	while (ds->n > 0)
		pthread_join(ds->threads[--ds->n], NULL);
	pthread_cond_destroy(&ds->done);
	pthread_cond_destroy(&ds->wanted);
	pthread_mutex_destroy(&ds->mutex);
	free(ds);
	l->detachers = NULL;
}

/* The kernel lets a hook go after a grace period or two; those of different hooks may pass at the same time. */
static void detach_slots(struct loader *l, int object)
{
	struct detaching d = { .l = l, .object = object };
	struct detachers *ds = l->detachers;

	if (!ds) {
		detach_some(&d);
		return;
	}
	pthread_mutex_lock(&ds->mutex);
	ds->work = &d;
	ds->busy = ds->n;
	ds->round++;
	pthread_cond_broadcast(&ds->wanted);
	pthread_mutex_unlock(&ds->mutex);
	detach_some(&d);
	pthread_mutex_lock(&ds->mutex);
	while (ds->busy > 0)
		pthread_cond_wait(&ds->done, &ds->mutex);
	pthread_mutex_unlock(&ds->mutex);
}

void loader_forget_object(struct object *ob)
{
	bpf_object__close(ob->obj);
	ob->obj = NULL;
	ob->stale = false;
	while (ob->nmaps > 0)
		close(ob->maps[--ob->nmaps]);
}

void loader_detach_armed(struct loader *l)
{
	detach_slots(l, OBJECT_armed);
	loader_forget_object(&l->objects[OBJECT_armed]);
}

static bool wanted(const struct loader *l, int i)
{
	return l->modes[i] == HOOK_ALWAYS ||
	       (l->modes[i] == HOOK_AUTO && (!slot_rows[i].on_demand || (l->arming && slot_rows[i].object == OBJECT_armed)));
}

unsigned int loader_set_modes(struct loader *l, const enum hook_mode *modes)
{
	unsigned int changed = 0;

	for (int i = 0; i < NSLOTS; i++)
		changed += l->modes[i] != modes[i];
	if (!changed)
		return 0;
	memcpy(l->modes, modes, sizeof(l->modes));
	/* What is in flight, or was entered, was seen by other hooks than there will be. loader_attach() begins anew. */
	loader_armed_close(l);
	stop_following(l);
	for (int i = NSLOTS - 1; i >= 0; i--)
		if (!wanted(l, i))
			loader_detach_slot(l, i);
	l->modules_seen = 0;
	return changed;
}

void loader_detach(struct loader *l)
{
	loader_armed_close(l);
	l->modules_seen = 0; /* attached again when asked to */
	stop_following(l);
	detach_slots(l, -1);
	for (int o = 0; o < NOBJECTS; o++) {
		loader_drop_end(l, (enum object_id)o);
		loader_forget_object(&l->objects[o]);
	}
}
