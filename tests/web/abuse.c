// SPDX-License-Identifier: BSD-2-Clause
/*
 * Abuses an HTTP server, the same way for the same seed: malformed, huge, cut off and slow requests, wrong credentials, path
 * traversal, connections that say nothing or end in a reset. Each is one connection; what comes back must be one of the statuses
 * that its kind allows, or the end of the connection. Prints what came, and ends with 1 when something else did.
 *
 * usage: abuse PORT SEED COUNT
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SIZE_MAX_SENT ((size_t)100000)
#define ANSWER_MS 15000
#define HELD 24		/* slow connections that are open at one time */

static uint64_t seed;
static char text[SIZE_MAX_SENT + 1000];

static uint32_t chance(uint32_t n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(seed >> 33) % n;
}

static size_t fill(size_t at, size_t n, bool printable)
{
	for (size_t i = 0; i < n; i++)
		text[at + i] = (char)(printable ? 33 + chance(94) : chance(256));
	return at + n;
}

static size_t put(size_t at, const char *s)
{
	strcpy(text + at, s);
	return at + strlen(s);
}

#define END "\r\nHost: localhost\r\nConnection: close\r\n\r\n"

static size_t garbage(void)
{
	return put(fill(0, 1 + chance(2000), false), "\r\n\r\n");
}

static size_t cut_off(void)
{
	return 1 + chance((uint32_t)put(0, "GET /metrics HTTP/1.1" END) - 1);
}

static size_t long_url(void)
{
	size_t at = fill(put(0, "GET /"), 1, true);

	for (uint32_t i = 2100 + chance(60000); i > 0; i--)
		text[at++] = 'u';
	return put(at, " HTTP/1.1" END);
}

static size_t long_header(void)
{
	size_t at = put(0, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: ");

	for (uint32_t i = 8200 + chance(80000); i > 0; i--)
		text[at++] = 'h';
	return put(at, "\r\nConnection: close\r\n\r\n");
}

static size_t many_headers(void)
{
	size_t at = put(0, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n");

	for (int i = 0; i < 2000; i++)
		at += (size_t)sprintf(text + at, "X-%d: %u\r\n", i, chance(1000));
	return put(at, "Connection: close\r\n\r\n");
}

static size_t method(void)
{
	static const char *const methods[] = { "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH", "get", "BREW" };

	return put(put(0, methods[chance(sizeof(methods) / sizeof(methods[0]))]), " /reports HTTP/1.1" END);
}

static size_t traversal(void)
{
	static const char *const paths[] = {
		"/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/shadow", "/reports/../../etc/passwd", "/reports/..%2f..%2fetc%2fpasswd",
		"//etc/passwd", "/./metrics", "/metrics/../reports", "/reports/%00", "/%c0%ae%c0%ae/etc/passwd", "/reports/01a229f2-b60c-7ffe-89c1-f51319922dbd/..",
		"/metrics%20", "/static/../style.css", "\\..\\windows", "/%", "/%zz", "/reports//",
	};
	size_t at = put(put(0, "GET "), paths[chance(sizeof(paths) / sizeof(paths[0]))]);

	return put(at, " HTTP/1.1" END);
}

static size_t credentials(void)
{
	size_t at = put(0, "GET /reports HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Basic ");

	return put(fill(at, chance(200), true), "\r\n\r\n");
}

static size_t wrong_password(void)
{
	/* alice:wrong */
	return put(0, "GET /reports HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Basic YWxpY2U6d3Jvbmc=\r\n\r\n");
}

static size_t host(void)
{
	static const char *const hosts[] = { "evil.example", "", "[::1", "localhost\r\nHost: evil", "localhost.evil.example", "a b", "127.0.0.1.evil" };

	return put(put(put(0, "GET /healthz HTTP/1.1\r\nConnection: close\r\nHost: "), hosts[chance(7)]), "\r\n\r\n");
}

static size_t body(void)
{
	static const char *const bodies[] = {
		"Content-Length: 99999999999999999999\r\n\r\n", "Content-Length: -1\r\n\r\n", "Content-Length: 5\r\n\r\nabcde",
		"Transfer-Encoding: chunked\r\n\r\nzz\r\n", "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
		"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
	};

	return put(put(0, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"), bodies[chance(6)]);
}

static size_t query(void)
{
	size_t at = put(0, "GET /healthz?"), n = chance(1500);

	at = fill(at, n, true);
	for (size_t i = 13; i < at; i++)
		if (text[i] == '#')
			text[i] = '&';
	return put(at, " HTTP/1.1" END);
}

static size_t version(void)
{
	static const char *const versions[] = { "HTTP/9.9", "HTTP/0.9", "HTTP/1.1 x", "", "ICY", "HTTP/2.0" };

	return put(put(put(0, "GET /healthz "), versions[chance(6)]), END);
}

static size_t pipelined(void)
{
	size_t at = 0;

	for (uint32_t i = 1 + chance(20); i > 0; i--)
		at = put(at, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
	return put(at, "GET /nothing HTTP/1.1" END);
}

static size_t nothing(void)
{
	return 0;
}

/* Statuses that are right for it; the end of the connection without one always is, where `ends`. */
static const struct kind {
	const char *name;
	size_t (*make)(void);
	const char *right;
	bool ends;
	bool waits;	/* until a time is over: few are waited for */
} kinds[] = {
	{ "garbage", garbage, "400 404 405 414 421 431 501 505", true, false },
	{ "cut off", cut_off, "400 408", true, true },
	{ "long url", long_url, "400 414 431", true, false },
	{ "long header", long_header, "400 413 431", true, false },
	{ "many headers", many_headers, "400 413 431", true, false },
	{ "method", method, "400 405 501", false, false },
	{ "traversal", traversal, "400 401 404", false, false },
	{ "credentials", credentials, "400 401 503", false, false },
	{ "wrong password", wrong_password, "401 503", false, false },
	{ "host", host, "400 421", false, false },
	{ "body", body, "200 400 413", false, false },
	{ "query", query, "200 400 414", false, false },
	{ "version", version, "200 400 404 421 505", true, false },
	{ "pipelined", pipelined, "200", false, false },
	{ "nothing", nothing, "", true, false },
	/* These two byte by byte, many at one time. */
	{ "slow", cut_off, "400 408", true, false },
	{ "slow garbage", garbage, "400 404 405 414 421 431 501 505", true, false },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static unsigned int answered[KINDS], ended[KINDS], wrong;

static int connect_to(uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&in, sizeof(in)) < 0) {
		fprintf(stderr, "abuse: cannot connect: %s\n", strerror(errno));
		exit(2);
	}
	return fd;
}

/* The first bytes of the answer; "" = the connection ended; NULL = neither in time. */
static const char *read_answer(int fd)
{
	static char answer[64];
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t len = 0;

	while (len < 12) {
		ssize_t n;

		if (poll(&p, 1, ANSWER_MS) <= 0)
			return NULL;
		n = recv(fd, answer + len, sizeof(answer) - 1 - len, 0);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	answer[len] = '\0';
	return len < 12 ? "" : answer;
}

static void judge(size_t k, const char *answer)
{
	char status[4];

	if (!answer) {
		fprintf(stderr, "abuse: %s: neither an answer nor an end\n", kinds[k].name);
		wrong++;
	} else if (!*answer) {
		ended[k]++;
		if (kinds[k].ends)
			return;
		fprintf(stderr, "abuse: %s: ended without an answer\n", kinds[k].name);
		wrong++;
	} else {
		answered[k]++;
		snprintf(status, sizeof(status), "%.3s", answer + 9);
		if (strncmp(answer, "HTTP/1.", 7) == 0 && strstr(kinds[k].right, status))
			return;
		fprintf(stderr, "abuse: %s: %.12s, not one of %s\n", kinds[k].name, answer, kinds[k].right);
		wrong++;
	}
}

static void send_all(int fd, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = send(fd, text + at, len - at, MSG_NOSIGNAL);

		/* The server may have had enough. */
		if (n <= 0)
			return;
		at += (size_t)n;
	}
}

static void quick(uint16_t port, size_t k)
{
	struct linger reset = { .l_onoff = 1 };
	size_t len = kinds[k].make();
	int fd = connect_to(port);

	send_all(fd, len);
	if (kinds[k].waits && chance(40)) {
		shutdown(fd, SHUT_WR);
	} else if (chance(20) == 0) {
		/* Gone before the answer. */
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	} else {
		if (kinds[k].ends)
			shutdown(fd, SHUT_WR);
		judge(k, read_answer(fd));
	}
	close(fd);
}

/* Many at one time, a byte each in turn; the server ends them, or they end themselves. */
static void slow(uint16_t port, unsigned int n)
{
	static char texts[HELD][200];
	size_t k[HELD], len[HELD];
	int fds[HELD];

	for (unsigned int i = 0; i < n; i++) {
		k[i] = chance(2) ? KINDS - 1 : KINDS - 2;
		len[i] = kinds[k[i]].make();
		if (len[i] > sizeof(texts[i]))
			len[i] = sizeof(texts[i]);
		memcpy(texts[i], text, len[i]);
		fds[i] = connect_to(port);
	}
	for (size_t at = 0; at < 40; at++) {
		for (unsigned int i = 0; i < n; i++)
			if (at < len[i])
				(void)!send(fds[i], texts[i] + at, 1, MSG_NOSIGNAL);
		usleep(2000);
	}
	for (unsigned int i = 0; i < n; i++) {
		shutdown(fds[i], SHUT_WR);
		judge(k[i], read_answer(fds[i]));
		close(fds[i]);
	}
}

int main(int argc, char **argv)
{
	unsigned int count, done = 0;
	uint16_t port;

	if (argc != 4) {
		fputs("usage: abuse PORT SEED COUNT\n", stderr);
		return 2;
	}
	port = (uint16_t)atoi(argv[1]);
	seed = strtoull(argv[2], NULL, 10);
	count = (unsigned int)atoi(argv[3]);
	while (done < count) {
		if (chance(100) == 0 && count - done >= HELD) {
			slow(port, HELD);
			done += HELD;
		} else {
			quick(port, chance(KINDS - 2));
			done++;
		}
	}
	for (size_t i = 0; i < KINDS; i++)
		printf("%-16s %5u answered, %5u ended\n", kinds[i].name, answered[i], ended[i]);
	printf("%u requests, seed %s: %u wrong\n", done, argv[2], wrong);
	return wrong != 0;
}
