// SPDX-License-Identifier: BSD-2-Clause
#include "bad.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

static struct extra *extra_at(struct truth *truth, const char *key)
{
	for (size_t i = 0; i < truth->extras; i++)
		if (!strcmp(truth->extra[i].key, key))
			return &truth->extra[i];
	if (truth->extras == EXTRAS_MAX)
		die("more than %d facts of one case", EXTRAS_MAX);
	truth->extra[truth->extras].key = key;
	return &truth->extra[truth->extras++];
}

void truth_num(struct truth *truth, const char *key, uint64_t value)
{
	struct extra *extra = extra_at(truth, key);

	extra->kind = EXTRA_NUM;
	extra->number = value;
}

void truth_hex(struct truth *truth, const char *key, uint64_t value)
{
	truth_num(truth, key, value);
	extra_at(truth, key)->kind = EXTRA_HEX;
}

void truth_bool(struct truth *truth, const char *key, bool value)
{
	truth_num(truth, key, value);
	extra_at(truth, key)->kind = EXTRA_BOOL;
}

void truth_str(struct truth *truth, const char *key, const char *value)
{
	struct extra *extra = extra_at(truth, key);

	extra->kind = EXTRA_STR;
	snprintf(extra->text, sizeof(extra->text), "%s", value);
}

void bad_call(struct play *play, const char *entry, void *address, size_t length, unsigned int access)
{
	struct truth *truth = play->truth;

	truth->entry = entry;
	truth->pid = getpid();
	truth->tid = gettid();
	truth->address = (uintptr_t)address;
	truth->length = length;
	truth->access = access;
}

void bad_outcome(struct play *play, int err)
{
	struct outcome *outcome = &play->truth->outcome;

	outcome->last_errno = err;
	outcome->tried++;
	outcome->ok += err ? 0 : 1;
	outcome->failed += err ? 1 : 0;
}

void bad_open(struct play *play)
{
	rdma_open(&play->rdma, play->device);
	play->rdma_is_open = true;
}

struct ibv_mr *bad_register(struct play *play, void *address, size_t length, unsigned int access)
{
	bad_call(play, "ibv_reg_mr", address, length, access);
	return rdma_register(&play->rdma, address, length, access, &play->truth->outcome);
}

char *bad_map(size_t length, int prot, int flags, int fd)
{
	char *memory = mmap(NULL, length, prot, flags, fd, 0);

	if (memory == MAP_FAILED)
		die_errno("cannot map %zu bytes", length);
	return memory;
}

char *bad_memory(size_t length)
{
	char *memory = bad_map(length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	if (!keep_small(memory, length))
		die_errno("madvise on huge pages");
	memset(memory, 1, length);
	return memory;
}

int bad_memfd(size_t length)
{
	int fd = memfd_create("badreg", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)length))
		die_errno("a memfd of %zu bytes", length);
	return fd;
}

/* Written, not only made long: a hole would have its pages elsewhere than a file has. */
int bad_file(const struct play *play, size_t length)
{
	char path[256], block[4096];
	int fd;

	if (!play->dir)
		die("the case needs --dir with a directory on the file system in question");
	snprintf(path, sizeof(path), "%s/badreg", play->dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || unlink(path))
		die_errno("cannot make %s", path);
	memset(block, 1, sizeof(block));
	for (size_t done = 0; done < length; done += sizeof(block))
		if (write(fd, block, sizeof(block)) != sizeof(block))
			die_errno("cannot write %s", path);
	return fd;
}

void bad_limit(size_t bytes)
{
	struct rlimit limit = { bytes, bytes };

	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		die_errno("setrlimit");
}

void bad_become_nobody(struct play *play)
{
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		die_errno("cannot become an ordinary user");
	/* A change of user makes /proc/self root's, which hides the process from its own tests. */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	play->truth->no_ipc_lock = true;
}

void bad_write(const char *path, const char *text)
{
	int r = write_file(path, text);

	if (r)
		die("cannot write '%s' to %s: %s", text, path, strerror(-r));
}

bool bad_in_child(struct play *play, void (*run)(struct play *play))
{
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	if (child < 0)
		die_errno("fork");
	if (!child) {
		/* Before anyone else, whatever happens. */
		write_file("/proc/self/oom_score_adj", "1000");
		run(play);
		_exit(EXIT_AS_EXPECTED);
	}
	if (waitpid(child, &status, 0) != child)
		die_errno("waitpid");
	if (WIFEXITED(status) && WEXITSTATUS(status))
		exit(WEXITSTATUS(status));
	if (!WIFSIGNALED(status))
		return false;
	if (WTERMSIG(status) != 9)
		die("the child died of signal %d", WTERMSIG(status));
	/* EINTR is what the kernel returned to a task that no longer ran in user space. */
	play->truth->killed = true;
	bad_outcome(play, EINTR);
	return true;
}

void cgroup_make(const char *controller)
{
	char text[32];

	snprintf(text, sizeof(text), "+%s", controller);
	bad_write("/sys/fs/cgroup/cgroup.subtree_control", text);
	if (mkdir(CGROUP, 0755) && errno != EEXIST)
		die_errno("cannot make %s", CGROUP);
}

void cgroup_set(const char *file, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), CGROUP "/%s", file);
	bad_write(path, value);
}

void cgroup_join(void)
{
	cgroup_set("cgroup.procs", "0");
}

void cgroup_leave(void)
{
	bad_write("/sys/fs/cgroup/cgroup.procs", "0");
}

static bool cgroup_gone(void *ctx)
{
	(void)ctx;
	return !rmdir(CGROUP) || errno == ENOENT;
}

/* A member that was killed leaves when it is reaped, its charges a little later. */
void cgroup_remove(void)
{
	if (!poll_until(cgroup_gone, NULL, 10000))
		die_errno("cannot remove %s", CGROUP);
}
