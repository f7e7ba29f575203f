// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sinks/file.h"
#include "sinks/ops.h"

#define REPORT_MODE 0640	/* reports name processes, paths and addresses */
#define TORN_MAX (1L << 20)	/* longer than any report: not ours to cut */
#define KEEP_MAX 1000
#define NS_PER_S 1000000000ULL
#define LOCK_POLL_NS 10000000L

struct file {
	int fd;			/* -1 = not open */
	bool lines;
	bool dirty;		/* something is not synced */
	bool torn;		/* it could not be cut back to its last whole report: not to be written to */
	uint64_t born_ns;	/* CLOCK_REALTIME */
	char path[PATH_MAX];
};

bool file_is_target(const char *path)
{
	struct stat st;

	if (strcmp(path, "-") == 0 || strcmp(path, "off") == 0)
		return false;
	return stat(path, &st) < 0 || S_ISREG(st.st_mode);
}

struct file *file_new(const char *path, bool lines)
{
	struct file *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->fd = -1;
	f->lines = lines;
	snprintf(f->path, sizeof(f->path), "%s", path);
	return f;
}

void file_free(struct file *f)
{
	if (f && f->fd >= 0)
		close(f->fd);
	free(f);
}

static uint64_t now_real_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* ---- opening ---- */

/* Offset behind the last line break before `size`, 0 when there is none. */
static int find_line_end(int fd, off_t size, off_t *ret_end)
{
	char block[4096];
	off_t pos = size;

	while (pos > 0) {
		off_t from = pos > (off_t)sizeof(block) ? pos - (off_t)sizeof(block) : 0;
		ssize_t n = pread(fd, block, (size_t)(pos - from), from);
		const char *nl;

		if (n != pos - from)
			return n < 0 ? -errno : -EIO;
		nl = memrchr(block, '\n', (size_t)n);
		if (nl) {
			*ret_end = from + (nl - block) + 1;
			return 0;
		}
		pos = from;
		if (size - pos > TORN_MAX)
			return -EBADMSG;
	}
	*ret_end = 0;
	return 0;
}

/* Removes a last line that is not complete, if it looks like the beginning of a report. */
static int repair(int fd, uint64_t *ret_repaired)
{
	struct stat st;
	off_t end;
	char first;
	int err;

	if (fstat(fd, &st) < 0)
		return -errno;
	err = find_line_end(fd, st.st_size, &end);
	if (err)
		return err;
	if (end == st.st_size)
		return 0;
	if (pread(fd, &first, 1, end) != 1)
		return -EIO;
	/* A crash of the machine can leave zeros where the report should be. */
	if (first != '{' && first != '\0')
		return -EBADMSG;
	if (ftruncate(fd, end) < 0)
		return -errno;
	*ret_repaired += (uint64_t)(st.st_size - end);
	return 0;
}

/* Is `path` another file than `fd`, or none at all? */
static bool moved(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) < 0 || stat(path, &b) < 0 || a.st_dev != b.st_dev || a.st_ino != b.st_ino;
}

/*
 * Held by whoever writes to the file. The lock beside the file tells a second daemon to go away; this one makes the
 * next daemon, or the next process of this one, wait until a process that was killed is really gone.
 */
static int lock(int fd, uint64_t patience_ns)
{
	uint64_t end = now_real_ns() + patience_ns;

	if (!patience_ns)
		return flock(fd, LOCK_EX) < 0 ? -errno : 0;
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return -errno;
		if (now_real_ns() >= end)
			return -EBUSY;
		nanosleep(&(struct timespec){ .tv_nsec = LOCK_POLL_NS }, NULL);
	}
	return 0;
}

/* A new name is only safe once its directory is. */
static int sync_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	int fd, err;

	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = fsync(fd) < 0 ? -errno : 0;
	close(fd);
	return err;
}

/* When it was begun: where the file system does not tell, an empty one begins now. */
static uint64_t born_ns(int fd)
{
	struct statx sx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME | STATX_MTIME | STATX_SIZE, &sx) < 0 || !sx.stx_size)
		return now_real_ns();
	if (sx.stx_mask & STATX_BTIME)
		return (uint64_t)sx.stx_btime.tv_sec * NS_PER_S;
	return (uint64_t)sx.stx_mtime.tv_sec * NS_PER_S;
}

static int open_locked(const char *path, uint64_t patience_ns, int *ret_fd)
{
	struct stat st;
	int fd, err;

	do {
		fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, REPORT_MODE);
		if (fd < 0)
			return -errno;
		err = fstat(fd, &st) < 0 ? -errno : S_ISREG(st.st_mode) ? lock(fd, patience_ns) : -EINVAL;
		if (!err && !moved(fd, path)) {
			*ret_fd = fd;
			return 0;
		}
		close(fd);	/* it was rotated away while we waited */
	} while (!err);
	return err;
}

int file_open(struct file *f, uint64_t patience_ns, bool durable, uint64_t *ret_repaired)
{
	int fd = -1, err = open_locked(f->path, patience_ns, &fd);

	if (err)
		return err;
	if (f->lines)
		err = repair(fd, ret_repaired);
	if (!err && durable)
		err = sync_directory(f->path);
	if (err) {
		close(fd);
		return err;
	}
	if (f->fd >= 0)
		close(f->fd);
	f->fd = fd;
	f->torn = false;
	f->born_ns = born_ns(fd);
	return 0;
}

/* ---- rotating ---- */

static void name_rotated(const struct file *f, uint32_t n, char ret_name[PATH_MAX + 16])
{
	snprintf(ret_name, PATH_MAX + 16, "%s.%u", f->path, n);
}

/* FILE.1 is the youngest; what is older than FILE.keep goes. */
static int rotate(struct file *f, const struct file_settings *s, struct outcome *ret)
{
	char from[PATH_MAX + 16], to[PATH_MAX + 16];
	uint32_t n;
	int err;

	if (s->fsync != FILE_FSYNC_NEVER && fsync(f->fd) < 0)
		return -errno;
	for (n = s->keep; n <= KEEP_MAX; n++) {
		name_rotated(f, n, to);
		if (unlink(to) < 0 && errno == ENOENT && n > s->keep)
			break;
	}
	for (n = s->keep; n > 1; n--) {
		name_rotated(f, n - 1, from);
		name_rotated(f, n, to);
		if (rename(from, to) < 0 && errno != ENOENT)
			return -errno;
	}
	name_rotated(f, 1, to);
	if (rename(f->path, to) < 0)
		return -errno;
	err = file_open(f, 0, s->fsync != FILE_FSYNC_NEVER, &ret->repaired_bytes);
	if (!err) {
		ret->rotations++;
		f->dirty = false;
	}
	return err;
}

static bool too_old(const struct file *f, const struct file_settings *s)
{
	uint64_t now = now_real_ns();

	return s->rotate_ns && now > f->born_ns && now - f->born_ns >= s->rotate_ns;
}

/* ---- writing ---- */

/* Which reports of a batch are to be written: [first, end), their bytes [from, to). */
struct part {
	uint32_t first, end;
	size_t from, to;
};

/* The process that had this batch was lost. Its last report in the file, if any, tells how far it came. */
static void skip_written(const struct file *f, const struct batch *b, off_t size, struct part *p)
{
	off_t begin = 0;
	size_t pos = 0;
	char *last;

	if (!size || find_line_end(f->fd, size - 1, &begin) < 0 || (size_t)(size - begin) > BATCH_BYTES)
		return;
	last = malloc((size_t)(size - begin));
	if (!last || pread(f->fd, last, (size_t)(size - begin), begin) != size - begin) {
		free(last);
		return;
	}
	for (uint32_t i = 0; i < b->count; i++) {
		if (b->length[i] == (size_t)(size - begin) && memcmp(b->data + pos, last, b->length[i]) == 0) {
			p->first = i + 1;
			p->from = pos + b->length[i];
		}
		pos += b->length[i];
	}
	free(last);
}

/* As many as the file may still take, one at least. */
static void choose_end(const struct batch *b, uint64_t room, struct part *p)
{
	p->end = p->first;
	p->to = p->from;
	while (p->end < b->count && (p->end == p->first || p->to - p->from + b->length[p->end] <= room))
		p->to += b->length[p->end++];
}

/* Bytes written; fewer than asked for with *ret_err. */
static size_t write_all(int fd, const char *data, size_t len, int *ret_err)
{
	size_t done = 0;

	*ret_err = 0;
	while (done < len) {
		ssize_t n = write(fd, data + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			*ret_err = n < 0 ? errno : EIO;
			break;
		}
		done += (size_t)n;
	}
	return done;
}

static void write_part(struct file *f, const struct batch *b, const struct part *p, off_t size, struct outcome *ret)
{
	size_t whole = 0, n;
	int err;

	n = write_all(f->fd, b->data + p->from, p->to - p->from, &err);
	ret->done = p->first;
	while (ret->done < p->end && whole + b->length[ret->done] <= n)
		whole += b->length[ret->done++];
	f->dirty |= n > 0;
	ret->err = err;
	if (n > whole && ftruncate(f->fd, size + (off_t)whole) < 0)
		f->torn = true;
}

static void sync_if_due(struct file *f, const struct file_settings *s, struct outcome *ret)
{
	if (f->dirty && (s->fsync == FILE_FSYNC_EACH || s->sync_now)) {
		ret->syncs++;
		f->dirty = false;
		if (fdatasync(f->fd) < 0 && !ret->err) {
			ret->err = errno;
			snprintf(ret->why, sizeof(ret->why), "fdatasync failed");
		}
	}
	ret->dirty = f->dirty;
}

/* 0: there is an open file, though perhaps not the one wanted (ret->err). */
static int make_ready(struct file *f, const struct file_settings *s, struct outcome *ret)
{
	int err = 0;

	if (f->fd < 0 || f->torn || moved(f->fd, f->path))
		err = file_open(f, 0, s->fsync != FILE_FSYNC_NEVER, &ret->repaired_bytes);
	if (!err)
		return 0;
	ret->err = -err;
	if (f->fd < 0 || f->torn)
		return err;
	snprintf(ret->why, sizeof(ret->why), "it cannot be opened again; writing to the file that was open");
	return 0;
}

void file_write(struct file *f, const struct batch *b, struct outcome *ret)
{
	const struct file_settings *s = (const void *)b->settings.room;
	struct part p = { 0 };
	struct stat st;
	int err;

	if (make_ready(f, s, ret))
		return;
	if (fstat(f->fd, &st) < 0) {
		ret->err = errno;
		return;
	}
	if (f->lines && (b->flags & BATCH_AGAIN))
		skip_written(f, b, st.st_size, &p);
	choose_end(b, UINT64_MAX, &p);
	if (st.st_size && p.end > p.first && !ret->err &&
	    ((s->rotate_bytes && (uint64_t)st.st_size + b->length[p.first] > s->rotate_bytes) || too_old(f, s))) {
		err = rotate(f, s, ret);
		if (err) {
			ret->err = -err;
			snprintf(ret->why, sizeof(ret->why), "it cannot be rotated; it grows on");
		} else {
			st.st_size = 0;
		}
	}
	if (s->rotate_bytes && !ret->err)
		choose_end(b, s->rotate_bytes - (uint64_t)st.st_size, &p);
	err = ret->err;
	write_part(f, b, &p, st.st_size, ret);
	if (!ret->err)
		ret->err = err;
	sync_if_due(f, s, ret);
}
