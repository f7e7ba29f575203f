/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the cases of badreg share. A case is one call that the kernel must refuse, and its control:
 * the same call after the one thing that was wrong with it has been put right.
 */
#ifndef SCENARIO_BAD_H
#define SCENARIO_BAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "verbs.h"

#define KIB (1ul << 10)
#define MIB (1ul << 20)
#define GIB (1ul << 30)
#define NOBODY 65534

#define EXTRAS_MAX 16
#define EXTRA_TEXT 160

/* A fact of one case that the others do not have. */
struct extra {
	const char *key;
	enum { EXTRA_NUM, EXTRA_HEX, EXTRA_STR, EXTRA_BOOL } kind;
	uint64_t number;
	char text[EXTRA_TEXT];
};

/* Lies in shared memory: what a child did before it was killed is not lost. */
struct truth {
	const char *entry;		/* which call: "ibv_reg_mr", "io_uring", ... */
	pid_t pid, tid;			/* who called */
	struct outcome outcome;		/* of the calls at this entry */
	uint64_t address, length, iova;	/* of the last one */
	unsigned int access;
	uint64_t pinned_before;		/* bytes this process had pinned, as mm->pinned_vm counts, at the last call */
	bool no_ipc_lock;		/* CAP_IPC_LOCK does not count for this process */
	bool killed;			/* the caller died inside: no errno reached it */
	bool stuck;			/* the caller is inside and stays there */
	size_t extras;
	struct extra extra[EXTRAS_MAX];
};

struct bad;

struct play {
	const struct bad *bad;
	bool control;
	size_t length;
	unsigned long hole_first, hole_pages;
	unsigned long count;
	const char *device, *dir;
	struct rdma rdma;
	bool rdma_is_open;
	struct truth *truth;
	void (*end)(struct play *play);	/* what must stay until the suite has looked, or NULL */
	pid_t child;
	struct ibv_mr *kept;
};

struct bad {
	const char *name, *what;
	void (*run)(struct play *play);
	const char *skip_control;	/* why there is no control; NULL = there is one */
	bool limited;			/* RLIMIT_MEMLOCK is set, soft and hard; for the control to the second */
	size_t limit, legal_limit;
	bool as_nobody;			/* an ordinary user: without CAP_IPC_LOCK the limit counts */
	bool no_device;			/* opens the RDMA device itself, or needs none */
};

#define BAD(a_name, a_what, a_run, ...) { .name = (a_name), .what = (a_what), .run = (a_run), ##__VA_ARGS__ }
#define LIMITS(a_limit, a_legal) .limited = true, .limit = (a_limit), .legal_limit = (a_legal)

struct bad_family {
	const struct bad *bads;
	size_t count;
};
extern const struct bad_family bad_limits, bad_system, bad_mapping, bad_arguments, bad_entries, bad_user, bad_vfio,
	bad_device;

/* Facts. The last of one key counts. */
void truth_num(struct truth *truth, const char *key, uint64_t value);
void truth_hex(struct truth *truth, const char *key, uint64_t value);
void truth_bool(struct truth *truth, const char *key, bool value);
void truth_str(struct truth *truth, const char *key, const char *value);

/* How one call at the entry of the case ended: 0 or an errno. */
void bad_outcome(struct play *play, int err);
void bad_call(struct play *play, const char *entry, void *address, size_t length, unsigned int access);

struct ibv_mr *bad_register(struct play *play, void *address, size_t length, unsigned int access);
void bad_open(struct play *play);	/* the RDMA device */

char *bad_memory(size_t length);			/* touched, of small pages */
char *bad_map(size_t length, int prot, int flags, int fd);	/* dies when it cannot */
int bad_memfd(size_t length);
int bad_file(const struct play *play, size_t length);	/* in --dir, written; its name is gone */
void bad_limit(size_t bytes);				/* RLIMIT_MEMLOCK */
void bad_become_nobody(struct play *play);
void bad_write(const char *path, const char *text);	/* dies when it cannot */

/*
 * Runs `run` in a child that shares the truth, and waits for its end. True when it was killed: the
 * call then counts as one that failed.
 */
bool bad_in_child(struct play *play, void (*run)(struct play *play));

/* Control groups below a tree of its own; all must be left before cgroup_remove(). */
#define CGROUP "/sys/fs/cgroup/badreg"
void cgroup_make(const char *controller);
void cgroup_set(const char *file, const char *value);
void cgroup_join(void);
void cgroup_leave(void);
void cgroup_remove(void);

#endif
