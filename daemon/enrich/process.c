// SPDX-License-Identifier: BSD-2-Clause
/* Facts about one process, read only once it is certain that it is the one meant. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "enrich/enrich.h"
#include "enrich/read.h"

#define NS_PER_S 1000000000ULL
#define STAT_START_FIELD 22	/* proc(5): starttime */
#define STAT_AFTER_COMM 3	/* the first field behind the name in brackets */

/* The name of a process may hold blanks and brackets: fields are counted from the last ')'. */
static int parse_start_ticks(const char *stat, uint64_t *ret_ticks)
{
	const char *p = strrchr(stat, ')');

	if (!p)
		return -EBADMSG;
	p++;
	for (int field = STAT_AFTER_COMM; field < STAT_START_FIELD; field++) {
		p += strspn(p, " ");
		p += strcspn(p, " ");
	}
	return read_number(p, ret_ticks);
}

static int read_start_ticks(int proc_fd, const char *name, uint64_t *ret_ticks)
{
	char line[1024];
	FILE *in;
	int err;

	err = read_open_at(proc_fd, name, &in);
	if (err)
		return err;
	err = read_first_line(in, line, sizeof(line));
	fclose(in);
	return err ? err : parse_start_ticks(line, ret_ticks);
}

/*
 * The process was named by a pid that may be another's by now; its start time is not.
 * A record made on another thread may carry that thread's start: then the thread
 * with this id, in this process, started then.
 */
static int verify(const struct enrich *e, int proc_fd, const struct facts_request *req,
		  uint64_t process_ticks)
{
	uint64_t want = req->task_start_ns / (NS_PER_S / e->ticks_per_s), thread_ticks;
	char name[64];

	/* Not known to the one who asks, who has then made sure in another way. */
	if (!req->task_start_ns || process_ticks == want)
		return 0;
	snprintf(name, sizeof(name), "task/%u/stat", req->tid);
	if (read_start_ticks(proc_fd, name, &thread_ticks) == 0 && thread_ticks == want)
		return 0;
	return -ESRCH;
}

static void read_status(int proc_fd, struct facts *f)
{
	int pin_err, lck_err, r;
	char line[256];
	FILE *in;

	pin_err = lck_err = read_open_at(proc_fd, "status", &in);
	if (!pin_err) {
		/* One that has given up its memory, since it ends, has no Vm lines. */
		pin_err = lck_err = -ESRCH;
		while (fgets(line, sizeof(line), in)) {
			r = read_kb_line(line, "VmPin", &f->vm_pin_bytes);
			pin_err = r == -ENOENT ? pin_err : r;
			r = read_kb_line(line, "VmLck", &f->vm_lck_bytes);
			lck_err = r == -ENOENT ? lck_err : r;
		}
		fclose(in);
	}
	ENRICH_FAIL(f, vm_pin_bytes, pin_err);
	ENRICH_FAIL(f, vm_lck_bytes, lck_err);
}

void enrich_pins_later(const struct enrich *e, const struct facts_request *req, int proc_fd, struct facts *f)
{
	int err, r = -ENOENT;
	char line[256];
	FILE *in;

	(void)e, (void)req;
	err = read_open_at(proc_fd, "status", &in);
	if (!err) {
		while (r == -ENOENT && fgets(line, sizeof(line), in))
			r = read_kb_line(line, "VmPin", &f->vm_pin_later_bytes);
		err = r == -ENOENT ? -ESRCH : r;
		fclose(in);
	}
	ENRICH_FAIL(f, vm_pin_later_bytes, err);
}

static void read_exe(int proc_fd, struct facts *f)
{
	ssize_t n = readlinkat(proc_fd, "exe", f->exe, sizeof(f->exe));

	/* Half a path names another file. */
	if (n < 0)
		ENRICH_FAIL(f, exe, -errno);
	else if ((size_t)n == sizeof(f->exe))
		ENRICH_FAIL(f, exe, -ENAMETOOLONG);
	else
		ENRICH_FAIL(f, exe, 0);
	f->exe[n > 0 && (size_t)n < sizeof(f->exe) ? n : 0] = '\0';
}

/* A name may hold line breaks; the file adds one more. */
static void read_comm(int proc_fd, struct facts *f)
{
	char text[sizeof(f->comm) + 1];
	size_t n = 0;
	FILE *in;
	int err;

	err = read_open_at(proc_fd, "comm", &in);
	if (!err) {
		n = fread(text, 1, sizeof(text), in);
		fclose(in);
		if (!n)
			err = -ENODATA;
		else if (text[n - 1] != '\n')
			err = -ENAMETOOLONG;
	}
	if (!err)
		memcpy(f->comm, text, n - 1);
	f->comm[err ? 0 : n - 1] = '\0';
	ENRICH_FAIL(f, comm, err);
}

int enrich_open_process(const struct enrich *e, const struct facts_request *req, int *ret_fd)
{
	char path[PATH_MAX];
	uint64_t ticks;
	int fd, err;

	if (!req->tgid)
		return -ESRCH;
	if (snprintf(path, sizeof(path), "%s/proc/%u", e->root, req->tgid) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* No such directory means no such process. */
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	err = read_start_ticks(fd, "stat", &ticks);
	if (!err)
		err = verify(e, fd, req, ticks);
	if (err) {
		close(fd);
		return err == -ENOENT ? -ESRCH : err;
	}
	*ret_fd = fd;
	return 0;
}

void enrich_process(const struct enrich *e, const struct facts_request *req, int proc_fd, struct facts *f)
{
	(void)e;
	(void)req;
	ENRICH_FAIL(f, proc_start_ticks, read_start_ticks(proc_fd, "stat", &f->proc_start_ticks));
	read_status(proc_fd, f);
	read_exe(proc_fd, f);
	read_comm(proc_fd, f);
}
