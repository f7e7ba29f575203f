// SPDX-License-Identifier: BSD-2-Clause
/*
 * One message is one line and one write(2), so that it never mixes with what
 * other programs write to the same place. A reader that does not read must not
 * stop the daemon: a line that would block is lost and counted.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

enum log_level log_max_level = LOG_LEVEL_INFO;

static uint64_t lost;

/* systemd names the socket it gave us as stderr; only there are "<N>" prefixes read. */
static bool stderr_is_journal(void)
{
	static int cached = -1;
	const char *env = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	if (cached >= 0)
		return cached;
	cached = env && sscanf(env, "%llu:%llu", &dev, &ino) == 2 &&
		 fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
	return cached;
}

static bool would_block(void)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };

	return poll(&p, 1, 0) == 0;
}

/* A line break or an escape sequence inside a message must not forge another line. */
static void make_printable(char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
			s[i] = '?';
}

void log_write(enum log_level level, const char *fmt, ...)
{
	char line[LOG_LINE_MAX];
	size_t start = 0, len;
	va_list ap;
	int n;

	if (level > log_max_level)
		return;
	if (stderr_is_journal())
		start = (size_t)snprintf(line, sizeof(line), "<%d>", (int)level);
	else
		start = (size_t)snprintf(line, sizeof(line), "pinwhy: ");
	va_start(ap, fmt);
	n = vsnprintf(line + start, sizeof(line) - start, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	len = start + (size_t)n;
	if (len > sizeof(line) - 2)
		len = sizeof(line) - 2;
	make_printable(line + start, len - start);
	line[len++] = '\n';
	if (would_block() || write(STDERR_FILENO, line, len) != (ssize_t)len)
		lost++;
}

uint64_t log_lost(void)
{
	return lost;
}
