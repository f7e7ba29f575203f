// SPDX-License-Identifier: BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http.h"
#include "listen.h"
#include "loop.h"

#define NS_PER_MS 1000000ULL
#define PAGE_BYTES ((size_t)300000)	/* more than a socket takes at once */

static struct loop *loop;
static struct http *http;
static struct listen_address address;
static bool ready;
static int page_err;

static int get_page(void *ctx, const char *accept, char **ret_page, size_t *ret_len, const char **ret_type)
{
	*ret_type = strstr(accept, "open") ? "open/metrics" : "text/metrics";
	(void)ctx;
	if (page_err)
		return page_err;
	*ret_page = malloc(PAGE_BYTES);
	memset(*ret_page, 'm', PAGE_BYTES);
	*ret_len = PAGE_BYTES;
	return 0;
}

static bool get_ready(void *ctx, const char **ret_why)
{
	(void)ctx;
	*ret_why = "not yet";
	return ready;
}

static const struct http_ops ops = { .metrics = get_page, .ready = get_ready };

static int setup(void **state)
{
	const char *wrong;
	socklen_t len = sizeof(address.addr);
	int fd;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	ready = true;
	page_err = 0;
	listen_parse("127.0.0.1:1", &address, &wrong);
	((struct sockaddr_in *)&address.addr)->sin_port = 0;
	if (loop_new(&loop) || listen_open(&address, &fd) ||
	    getsockname(fd, (struct sockaddr *)&address.addr, &len) || http_open(&http, fd, loop, &ops, NULL))
		return -1;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	http_close(http);
	loop_free(loop);
	return 0;
}

static int connect_to(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address.addr, address.len), 0);
	return fd;
}

/* Reads until the server closes, running its loop meanwhile. */
static char *read_answer(int fd)
{
	size_t size = PAGE_BYTES + 4096, len = 0;
	uint64_t until = loop_clock().mono_ns + 20000 * NS_PER_MS;
	char *text = malloc(size);

	assert_non_null(text);
	for (;;) {
		ssize_t n = recv(fd, text + len, size - 1 - len, MSG_DONTWAIT);

		if (n == 0 || (n < 0 && errno != EAGAIN))
			break;
		if (n > 0)
			len += (size_t)n;
		if (loop_clock().mono_ns > until) {
			free(text);
			fail_msg("no answer");
		}
		loop_once(loop, 5 * NS_PER_MS);
	}
	close(fd);
	text[len] = '\0';
	return text;
}

static char *ask(const char *text)
{
	int fd = connect_to();

	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	return read_answer(fd);
}

static char *get(const char *path)
{
	char request[200];

	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path);
	return ask(request);
}

static void expect(char *answer, unsigned int status, const char *body)
{
	unsigned int got = 0;

	sscanf(answer, "HTTP/1.%*d %u", &got);
	if (got != status || (body && !strstr(answer, body)))
		fail_msg("wanted %u %s, got: %.300s", status, body ? body : "", answer);
	free(answer);
}

static void pages_are_served(void **state)
{
	char *answer;

	(void)state;
	expect(get("/healthz"), 200, "\r\n\r\nok\n");
	expect(get("/readyz"), 200, "\r\n\r\nready\n");
	expect(get("/nothing"), 404, NULL);
	expect(get("/"), 404, NULL);
	answer = get("/metrics");
	assert_non_null(strstr(answer, "Content-Type: text/metrics\r\n"));
	assert_int_equal(strlen(strstr(answer, "\r\n\r\n") + 4), PAGE_BYTES);
	expect(answer, 200, NULL);
	expect(ask("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept: open\r\n\r\n"), 200,
	       "Content-Type: open/metrics\r\n");
}

static void readiness_and_errors_show(void **state)
{
	(void)state;
	ready = false;
	expect(get("/readyz"), 503, "not yet");
	expect(get("/healthz"), 200, NULL);
	page_err = -ENOMEM;
	expect(get("/metrics"), 503, NULL);
}

static void other_methods_are_refused(void **state)
{
	(void)state;
	expect(ask("POST /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc"),
	       405, "Allow: GET, HEAD");
	expect(ask("HEAD /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"), 200, NULL);
}

static void nonsense_is_survived(void **state)
{
	char *big = malloc(40000);

	(void)state;
	free(ask("\r\n\r\n\r\n"));
	free(ask("nonsense\r\n\r\n"));
	memset(big, 'h', 39999);
	memcpy(big, "GET /healthz HTTP/1.1\r\nX: ", 26);
	big[39999] = '\0';
	/* The server may close before it has read all of this. */
	{
		int fd = connect_to();

		send(fd, big, 39999, MSG_NOSIGNAL | MSG_DONTWAIT);
		free(read_answer(fd));
	}
	free(big);
	expect(get("/healthz"), 200, NULL);
}

/* Clients that say nothing are let go after the time-out, and others are served then. */
static void silent_clients_do_not_stay(void **state)
{
	int silent[16];

	(void)state;
	for (int i = 0; i < 16; i++) {
		silent[i] = connect_to();
		loop_once(loop, NS_PER_MS);
	}
	expect(get("/healthz"), 200, NULL);
	for (int i = 0; i < 16; i++)
		close(silent[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		TEST(pages_are_served),
		TEST(readiness_and_errors_show),
		TEST(other_methods_are_refused),
		TEST(nonsense_is_survived),
		TEST(silent_clients_do_not_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
