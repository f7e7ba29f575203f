// SPDX-License-Identifier: BSD-2-Clause
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static void complain(const char *fmt, va_list args, int err)
{
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, fmt, args);
	if (err)
		fprintf(stderr, ": %s", strerror(err));
	fputc('\n', stderr);
}

void die(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	complain(fmt, args, 0);
	va_end(args);
	exit(EXIT_SETUP);
}

void die_errno(const char *fmt, ...)
{
	int err = errno;
	va_list args;

	va_start(args, fmt);
	complain(fmt, args, err);
	va_end(args);
	exit(EXIT_SETUP);
}

const char *errno_name(int err)
{
	const char *name = strerrorname_np(err);

	/* The kernel's own, include/linux/errno.h. */
	return name ? name : err == 524 ? "ENOTSUPP" : "unknown";
}

size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

uint64_t parse_bytes(const char *text)
{
	static const struct { char suffix; unsigned int shift; } units[] = {
		{ 'K', 10 }, { 'M', 20 }, { 'G', 30 }, { '\0', 0 },
	};
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	for (size_t i = 0; end != text && i < ARRAY_SIZE(units); i++)
		if (*end == units[i].suffix && (!*end || !end[1]))
			return value << units[i].shift;
	die("'%s' is no size; write for example 4096, 64K or 2M", text);
}

uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

bool has_thp(void)
{
	return !access("/sys/kernel/mm/transparent_hugepage", F_OK);
}

bool keep_small(void *memory, size_t length)
{
	return !madvise(memory, length, MADV_NOHUGEPAGE) || (errno == EINVAL && !has_thp());
}

int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	if (n < 0)
		n = -errno;
	close(fd);
	return n < 0 ? (int)n : 0;
}

bool wait_for_word(void)
{
	char line[64];

	return fgets(line, sizeof(line), stdin) != NULL;
}

bool poll_until(bool (*done)(void *ctx), void *ctx, uint64_t limit_ms)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	uint64_t start = now_ms();

	while (!done(ctx)) {
		if (now_ms() - start > limit_ms)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}
