// SPDX-License-Identifier: BSD-2-Clause
/*
 * What user space can see of who may hold pages that would not move: buffers registered with io_uring, files
 * through which a GPU's driver or VFIO holds memory, pipes. An open file says that its driver may hold something, not
 * that it does, and the address of a buffer says what was registered, not what lies there now.
 *
 * The process itself comes first. Others are looked at only when they may have the pages mapped, within a budget
 * of processes, descriptors and time. Lists end with a line "+ WHAT" when something was left out.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "enrich/enrich.h"
#include "enrich/read.h"
#include "enrich/uring.h"
#include "text.h"

#define FDS_MAX 4096		/* of the process */
#define OTHERS_MAX 512		/* other processes, */
#define OTHERS_FDS_MAX 16384	/* their descriptors together, */
#define OTHERS_NS 200000000ULL	/* and the time all that may take */
#define OTHERS_TOLD 6
#define FILES_MAX 8
#define FILE_LEN 32

/* Character devices whose names begin so. */
static const char *const devices[] = { "/dev/nvidia", "/dev/kfd", "/dev/dri/renderD", "/dev/vfio/", "/dev/iommu" };

struct files {
	char name[FILES_MAX][FILE_LEN];
	uint32_t count[FILES_MAX];
	uint32_t n;
	bool more;
};

/* Leaves nothing that could be taken for a separator. */
static void plain_word(char *word)
{
	for (; *word; word++)
		if (!isgraph((unsigned char)*word))
			*word = '?';
}

/* A name alone says little: whoever has a file system can call any file so. */
static bool is_device(const struct enrich *e, int dir_fd, const char *fd_name, const char *target)
{
	struct statx st;
	size_t i = 0;

	while (i < sizeof(devices) / sizeof(devices[0]) && strncmp(target, devices[i], strlen(devices[i])) != 0)
		i++;
	if (i == sizeof(devices) / sizeof(devices[0]))
		return false;
	/* What is known already: a file system in user space, which may never answer, is not asked. */
	return e->root[0] || (statx(dir_fd, fd_name, AT_STATX_DONT_SYNC, STATX_TYPE, &st) == 0 && S_ISCHR(st.stx_mode));
}

/* Where the descriptor leads; "" when it was closed meanwhile or leads too far. */
static void read_target(int dir_fd, const char *fd_name, char *ret_target, size_t size)
{
	ssize_t n = readlinkat(dir_fd, fd_name, ret_target, size - 1);

	ret_target[n > 0 && (size_t)n < size - 1 ? n : 0] = '\0';
}

static void add_file(struct files *files, char *target)
{
	uint32_t i = 0;

	plain_word(target);
	while (i < files->n && strcmp(files->name[i], target) != 0)
		i++;
	if (i == FILES_MAX) {
		files->more = true;
		return;
	}
	if (i == files->n)
		snprintf(files->name[files->n++], FILE_LEN, "%s", target);
	files->count[i]++;
}

/* --- the process itself ------------------------------------------------------------ */

/* The buffers of one instance that meet the range. 0 or -errno. */
static int add_buffers(const struct enrich *e, const struct facts_request *req, int proc_fd, const char *fd_name, struct text *t,
		       bool *more)
{
	struct uring u = { .page_bytes = e->page_bytes, .from = req->address, .to = req->address + req->length };
	int err = uring_read(proc_fd, fd_name, &u);

	/* It was closed while we looked. */
	if (err)
		return err == -ENOENT ? 0 : err;
	for (uint32_t i = 0; i < u.nmet; i++) {
		if (t->size - t->len < 64) {
			*more = true;
			break;
		}
		text_add(t, "%lu 0x%" PRIx64 " %" PRIu64 "\n", strtoul(fd_name, NULL, 10), u.met[i].start, u.met[i].bytes);
	}
	*more |= u.more;
	return 0;
}

struct own {
	struct files files;
	struct text buffers;
	uint64_t pipes;
	int buffers_err;
	bool buffers_more;
	const char *cut;	/* what of the descriptors was left out */
};

static void look_at_own(const struct enrich *e, const struct facts_request *req, int proc_fd, DIR *dir, struct own *own)
{
	char target[FILE_LEN];
	struct dirent *d;
	uint32_t fds = 0;
	int err;

	while ((d = readdir(dir)) && !own->cut) {
		if (d->d_name[0] == '.')
			continue;
		if (++fds > FDS_MAX || !enrich_left_ns(e)) {
			own->cut = fds > FDS_MAX ? "descriptors" : "time";
			break;
		}
		read_target(dirfd(dir), d->d_name, target, sizeof(target));
		if (strncmp(target, "pipe:[", strlen("pipe:[")) == 0) {
			own->pipes++;
		} else if (strcmp(target, URING_LINK) == 0) {
			err = add_buffers(e, req, proc_fd, d->d_name, &own->buffers, &own->buffers_more);
			own->buffers_err = own->buffers_err ? own->buffers_err : err;
		} else if (is_device(e, dirfd(dir), d->d_name, target)) {
			add_file(&own->files, target);
		}
	}
}

static void tell_files(const struct files *files, const char *cut, struct text *t)
{
	for (uint32_t i = 0; i < files->n; i++)
		text_add(t, "%" PRIu32 " %s\n", files->count[i], files->name[i]);
	if (cut || files->more)
		text_add(t, "+ %s\n", cut ? cut : "names");
}

static void read_own(const struct enrich *e, const struct facts_request *req, int proc_fd, struct facts *f)
{
	int fd = openat(proc_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int err = dir ? 0 : errno == ENOENT ? -ESRCH : -errno;
	struct own own = { 0 };
	struct text files;

	ENRICH_FAIL(f, holder_buffers, err);
	ENRICH_FAIL(f, holder_files, err);
	ENRICH_FAIL(f, holder_pipes, err);
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	text_init(&own.buffers, f->holder_buffers, sizeof(f->holder_buffers));
	look_at_own(e, req, proc_fd, dir, &own);
	closedir(dir);
	if (own.cut || own.buffers_more)
		text_add(&own.buffers, "+ %s\n", own.cut ? own.cut : "buffers");
	ENRICH_FAIL(f, holder_buffers, own.buffers_err);
	text_init(&files, f->holder_files, sizeof(f->holder_files));
	tell_files(&own.files, own.cut, &files);
	/* Those that were counted are a lower bound then. */
	f->holder_pipes = own.pipes;
	if (own.cut && !own.pipes)
		ENRICH_FAIL(f, holder_pipes, -E2BIG);
}

/* --- other processes ---------------------------------------------------------------- */

struct others {
	struct text list;
	uint32_t processes, fds, told;
	const char *cut;
};

static void read_comm(int proc_fd, char ret_comm[17])
{
	FILE *in;

	snprintf(ret_comm, 17, "?");
	if (read_open_at(proc_fd, "comm", &in) < 0)
		return;
	if (read_first_line(in, ret_comm, 17) < 0)
		snprintf(ret_comm, 17, "?");
	fclose(in);
	plain_word(ret_comm);
}

/* The first such file of the process. False when it has none, or the budget is used up. */
static bool find_file(const struct enrich *e, int proc_fd, struct others *o, char *ret_target, size_t size)
{
	int fd = openat(proc_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;
	bool found = false;

	while (dir && !found && !o->cut && (d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		if (++o->fds > OTHERS_FDS_MAX || !enrich_left_ns(e)) {
			o->cut = o->fds > OTHERS_FDS_MAX ? "descriptors" : "time";
			break;
		}
		read_target(dirfd(dir), d->d_name, ret_target, size);
		found = strcmp(ret_target, URING_LINK) == 0 || is_device(e, dirfd(dir), d->d_name, ret_target);
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	return found;
}

static void look_at_other(const struct enrich *e, int proc_dir, const char *pid, struct others *o)
{
	int fd = openat(proc_dir, pid, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char target[FILE_LEN], comm[17];

	if (fd < 0)
		return;
	if (find_file(e, fd, o, target, sizeof(target))) {
		if (o->told == OTHERS_TOLD) {
			o->cut = "processes";
		} else {
			read_comm(fd, comm);
			plain_word(target);
			text_add(&o->list, "%s %s %s\n", pid, comm, target);
			o->told++;
		}
	}
	close(fd);
}

static void read_others(const struct enrich *e, const struct facts_request *req, struct facts *f)
{
	struct enrich bounded = *e;
	struct others o = { 0 };
	char path[PATH_MAX];
	struct dirent *d;
	DIR *dir;

	bounded.until_ns = enrich_until(e, OTHERS_NS);
	dir = snprintf(path, sizeof(path), "%s/proc", e->root) < (int)sizeof(path) ? opendir(path) : NULL;
	ENRICH_FAIL(f, holder_others, dir ? 0 : -errno);
	if (!dir)
		return;
	text_init(&o.list, f->holder_others, sizeof(f->holder_others));
	while (!o.cut && (d = readdir(dir))) {
		if (!isdigit((unsigned char)d->d_name[0]) || strtoul(d->d_name, NULL, 10) == req->tgid)
			continue;
		if (++o.processes > OTHERS_MAX)
			o.cut = "processes";
		else
			look_at_other(&bounded, dirfd(dir), d->d_name, &o);
	}
	closedir(dir);
	if (o.cut)
		text_add(&o.list, "+ %s\n", o.cut);
}

void enrich_holders(const struct enrich *e, const struct facts_request *req, int proc_fd, struct facts *f)
{
	const uint64_t all = 1ULL << FACT_holder_buffers | 1ULL << FACT_holder_files | 1ULL << FACT_holder_pipes |
			     1ULL << FACT_holder_others;

	enrich_fail(f, all, FACT_NOT_ASKED);
	if (req->held != FACTS_HELD_NOT)
		read_own(e, req, proc_fd, f);
	if (req->held == FACTS_HELD_SHARED)
		read_others(e, req, f);
}
