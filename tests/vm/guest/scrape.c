// SPDX-License-Identifier: BSD-2-Clause
/*
 * Scrapers at one time, each with a connection of its own that it keeps, each asking again as soon as it has its answer.
 * Prints how many there were and how long they took.
 *
 * usage: scrape PORT SCRAPERS TOTAL [PAUSE_MS]
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SCRAPERS_MAX 200

struct scraper {
	int fd;
	uint64_t asked_ns, again_ns;
	size_t want, got;	/* bytes; want 0 = the header is not whole yet */
	char head[2048];
};

static const char request[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
static struct scraper scrapers[SCRAPERS_MAX];
static uint64_t *times;
static size_t bytes;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void ask(struct scraper *s)
{
	s->want = s->got = 0;
	s->again_ns = 0;
	s->asked_ns = now();
	if (send(s->fd, request, sizeof(request) - 1, MSG_NOSIGNAL) != sizeof(request) - 1)
		die("send");
}

/* 1 = the answer is whole. */
static int take(struct scraper *s)
{
	static char rest[1 << 20];
	char *body, *length;
	ssize_t n;

	if (s->want) {
		n = recv(s->fd, rest, sizeof(rest), MSG_DONTWAIT);
		s->got += n > 0 ? (size_t)n : 0;
	} else {
		n = recv(s->fd, s->head + s->got, sizeof(s->head) - 1 - s->got, MSG_DONTWAIT);
		s->got += n > 0 ? (size_t)n : 0;
		s->head[s->got] = '\0';
		body = strstr(s->head, "\r\n\r\n");
		length = strstr(s->head, "Content-Length: ");
		if (body && (strncmp(s->head, "HTTP/1.1 200", 12) != 0 || !length)) {
			fprintf(stderr, "scrape: %.40s\n", s->head);
			exit(1);
		}
		if (body)
			s->want = (size_t)(body + 4 - s->head) + strtoul(length + 16, NULL, 10);
	}
	if (n == 0) {
		fputs("scrape: the server ended a connection\n", stderr);
		exit(1);
	}
	return s->want && s->got >= s->want;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct pollfd fds[SCRAPERS_MAX];
	unsigned int n, total, done = 0;
	uint64_t pause_ns = argc > 4 ? strtoull(argv[4], NULL, 10) * 1000000 : 0;

	if (argc < 4 || atoi(argv[2]) > SCRAPERS_MAX || atoi(argv[2]) < 1 || atoi(argv[3]) < 1) {
		fputs("usage: scrape PORT SCRAPERS TOTAL [PAUSE_MS]\n", stderr);
		return 2;
	}
	in.sin_port = htons((uint16_t)atoi(argv[1]));
	n = (unsigned int)atoi(argv[2]);
	total = (unsigned int)atoi(argv[3]);
	times = calloc(total, sizeof(*times));
	for (unsigned int i = 0; i < n; i++) {
		scrapers[i].fd = fds[i].fd = socket(AF_INET, SOCK_STREAM, 0);
		fds[i].events = POLLIN;
		if (connect(fds[i].fd, (struct sockaddr *)&in, sizeof(in)) < 0)
			die("connect");
	}
	for (unsigned int i = 0; i < n; i++)
		ask(&scrapers[i]);
	while (done < total) {
		if (poll(fds, n, pause_ns ? 1 : 10000) < 0)
			die("poll");
		for (unsigned int i = 0; i < n && done < total; i++) {
			struct scraper *s = &scrapers[i];

			if (s->again_ns && now() >= s->again_ns)
				ask(s);
			if (!(fds[i].revents & (POLLIN | POLLHUP)) || s->again_ns || !take(s))
				continue;
			times[done++] = now() - s->asked_ns;
			bytes = s->want;
			if (pause_ns)
				s->again_ns = now() + pause_ns;
			else
				ask(s);
		}
	}
	qsort(times, total, sizeof(*times), compare);
	printf("scrapers %u, scrapes %u, bytes %zu, p50 %.3f ms, p99 %.3f ms, max %.3f ms\n", n, total, bytes,
	       (double)times[total / 2] / 1e6, (double)times[(uint64_t)total * 99 / 100] / 1e6, (double)times[total - 1] / 1e6);
	return 0;
}
