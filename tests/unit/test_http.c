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
#include "web/store.h"

#define NS_PER_MS 1000000ULL
#define ID "01a229f2-b60c-7ffe-89c1-f51319922dbd"
#define CONNECTIONS 16
#define USER_ALICE "Authorization: Basic YWxpY2U6c2VjcmV0\r\n"	/* alice:secret */
#define USER_WRONG "Authorization: Basic YWxpY2U6c2VjcmV1\r\n"	/* alice:secreu */
#define USER_NOBODY "Authorization: Basic bm9ib2R5OnNlY3JldA==\r\n"	/* nobody:secret */
#define PAGE_BYTES ((size_t)300000)	/* more than a socket takes at once */

static struct loop *loop;
static struct http *http;
static struct listen_address address;
static bool ready;
static bool events;
static int page_err;
static unsigned int pages;
static struct store *store;
static struct auth *auth;
static struct http_opts opts;

static int get_page(void *ctx, const char *accept, char **ret_page, size_t *ret_len, const char **ret_type)
{
	(void)ctx;
	(void)ret_type;
	pages++;
	if (strstr(accept, "openmetrics"))
		*ret_type = "application/openmetrics-text";
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

static void get_status(void *ctx, struct http_status *ret_status)
{
	(void)ctx;
	*ret_status = (struct http_status){ .node = "node<1>", .kernel = "6.1", .version = "0", .registrations = 5, .failures = 2 };
}

static bool get_events(void *ctx)
{
	(void)ctx;
	return events;
}

static const struct http_ops ops = {
	.metrics = get_page, .ready = get_ready, .status = get_status, .events_wait = get_events,
};

static const char report[] =
	"{\"report_id\":\"" ID "\",\"time\":\"2026-11-30T00:00:00.000Z\",\"kind\":\"registration_failed\","
	"\"process\":{\"pid\":1,\"comm\":\"<script>x\"},\"registration\":{\"api\":\"reg_mr\",\"errno_name\":\"ENOMEM\"},"
	"\"verdict\":{\"cause\":\"dma_pin\",\"confidence\":\"proven\",\"summary\":\"because\"}}";

static int setup_with(const char *web, uint32_t requests_per_s)
{
	const char *wrong;
	socklen_t len = sizeof(address.addr);
	char error[WEBCONFIG_ERROR_MAX];

	signal(SIGPIPE, SIG_IGN);
	ready = true;
	events = false;
	page_err = 0;
	pages = 0;
	opts = (struct http_opts){
		.socket_fd = -1, .web_path = "", .loopback = true, .reports = true, .hosts = "alias", .connections = CONNECTIONS,
		.header_bytes = 8192, .requests_per_s = requests_per_s,
	};
	listen_parse("127.0.0.1:1", &address, &wrong);
	((struct sockaddr_in *)&address.addr)->sin_port = 0;
	if (web && (webconfig_parse(&opts.web, web, strlen(web), "web.yml", error) || auth_start(&opts.auth)))
		return -1;
	auth = opts.auth;
	if (store_new(&store, 8, 65536) || store_put(store, report, sizeof(report) - 1) || loop_new(&loop) ||
	    listen_open(&address, &opts.listen_fd) || getsockname(opts.listen_fd, (struct sockaddr *)&address.addr, &len))
		return -1;
	opts.store = store;
	return http_open(&http, &opts, loop, &ops, NULL);
}

static int setup(void **state)
{
	(void)state;
	return setup_with(NULL, 10000);
}

static int setup_slow(void **state)
{
	(void)state;
	return setup_with(NULL, 1);
}

/* secret, of cost 4; bob, with what nobody costs, of cost 9 */
static int setup_users(void **state)
{
	(void)state;
	return setup_with("basic_auth_users:\n  alice: $2y$04$WUHhXETkX0fnYkrqZU3ta.V/MhsBGVkvl.skVEhBTiEdihFBnDQOa\n"
			  "  bob: $2y$09$WUHhXETkX0fnYkrqZU3ta.47UpUDHodaX94gNtB/oAlCMRInTG/lS\n", 10000);
}

static int teardown(void **state)
{
	(void)state;
	http_close(http);
	auth_stop(auth);
	loop_free(loop);
	store_free(store);
	return 0;
}

static struct http_stats stats(void)
{
	struct http_stats s;

	http_stats(http, &s);
	return s;
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
	char request[4000];

	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
	return ask(request);
}

static char *get_as(const char *path, const char *header)
{
	char request[4000];

	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: localhost\r\n%sConnection: close\r\n\r\n", path, header);
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
	expect(get("/../../etc/passwd"), 404, NULL);
	expect(get("/%2e%2e/%2e%2e/etc/passwd"), 404, NULL);
	expect(get("/metrics/"), 404, NULL);
	expect(get_as("/metrics", "Accept: application/openmetrics-text\r\n"), 200, "application/openmetrics-text");
	answer = get("/metrics");
	assert_non_null(strstr(answer, "version=0.0.4"));
	assert_int_equal(strlen(strstr(answer, "\r\n\r\n") + 4), PAGE_BYTES);
	expect(answer, 200, NULL);
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
	expect(ask("POST /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc"),
	       405, "Allow: GET, HEAD");
	expect(ask("HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"), 200, NULL);
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

/* Clients that say nothing make room, and do not wait for their time to be over. */
static void silent_clients_make_room(void **state)
{
	int silent[3 * CONNECTIONS];
	uint64_t began = loop_clock().mono_ns;

	(void)state;
	for (int i = 0; i < 3 * CONNECTIONS; i++) {
		silent[i] = connect_to();
		loop_once(loop, NS_PER_MS);
		loop_once(loop, NS_PER_MS);
	}
	expect(get("/healthz"), 200, NULL);
	assert_true(loop_clock().mono_ns - began < 4000 * NS_PER_MS);
	assert_true(stats().evicted >= 2 * CONNECTIONS);
	assert_int_equal(stats().refused, 0);
	for (int i = 0; i < 3 * CONNECTIONS; i++)
		close(silent[i]);
}

/* One byte now and then is no progress: the whole header must be there in time. */
static void slow_clients_are_let_go(void **state)
{
	static const char slow[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	int fd = connect_to();
	uint64_t began = loop_clock().mono_ns;
	char c;

	(void)state;
	for (size_t i = 0; i < sizeof(slow) - 1 && loop_clock().mono_ns - began < 8000 * NS_PER_MS; i++) {
		send(fd, slow + i, 1, MSG_NOSIGNAL);
		for (int j = 0; j < 4; j++)
			loop_once(loop, 25 * NS_PER_MS);
		if (recv(fd, &c, 1, MSG_DONTWAIT) == 0)
			break;
	}
	assert_int_equal(stats().slow, 1);
	assert_true(loop_clock().mono_ns - began > 4000 * NS_PER_MS);
	close(fd);
	expect(get("/healthz"), 200, NULL);
}

static void long_things_are_refused(void **state)
{
	char text[12000];
	size_t n;

	(void)state;
	n = (size_t)snprintf(text, sizeof(text), "GET /");
	memset(text + n, 'u', 3000);
	strcpy(text + n + 3000, " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	expect(ask(text), 414, NULL);
	n = (size_t)snprintf(text, sizeof(text), "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ");
	memset(text + n, 'x', 9000);
	strcpy(text + n + 9000, "\r\nConnection: close\r\n\r\n");
	expect(ask(text), 431, NULL);
	expect(ask("GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"), 400, NULL);
}

static void other_hosts_are_refused(void **state)
{
	(void)state;
	expect(ask("GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 421, NULL);
	expect(ask("GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"), 421, NULL);
	expect(ask("GET /healthz HTTP/1.1\r\nHost: alias\r\nConnection: close\r\n\r\n"), 200, NULL);
	expect(ask("GET /healthz HTTP/1.0\r\n\r\n"), 200, NULL);
	expect(ask("GET /metrics HTTP/1.0\r\nHost: evil.example\r\n\r\n"), 421, NULL);
}

static void strangers_see_no_reports(void **state)
{
	(void)state;
	expect(get("/"), 403, NULL);
	expect(get("/reports"), 403, NULL);
	expect(get("/reports/" ID), 403, NULL);
	expect(get("/style.css"), 403, NULL);
	expect(get_as("/reports", USER_ALICE), 403, NULL);
}

static void users_see_reports(void **state)
{
	char *page;

	(void)state;
	expect(get("/healthz"), 200, NULL);
	expect(get("/metrics"), 401, "WWW-Authenticate: Basic");
	expect(get("/reports"), 401, NULL);
	expect(get_as("/reports", USER_WRONG), 401, NULL);
	expect(get_as("/reports", USER_NOBODY), 401, NULL);
	expect(get_as("/reports", "Authorization: Basic !!!\r\n"), 401, NULL);
	expect(get_as("/reports", "Authorization: Bearer x\r\n"), 401, NULL);
	expect(get_as("/reports", USER_ALICE), 200, ",\"count\":1}" + 1);
	expect(get_as("/metrics", USER_ALICE), 200, NULL);
	expect(get_as("/reports?cause=other", USER_ALICE), 200, "\"count\":0}");
	expect(get_as("/reports?cause=dma_pin&limit=1&since=2026-11-29", USER_ALICE), 200, "\"count\":1}");
	expect(get_as("/reports?limit=0", USER_ALICE), 400, "limit=");
	expect(get_as("/reports?evil", USER_ALICE), 400, NULL);
	expect(get_as("/reports/" ID, USER_ALICE), 200, "{\"report_id\":\"" ID "\"");
	expect(get_as("/reports/00000000-0000-0000-0000-000000000000", USER_ALICE), 404, NULL);
	expect(get_as("/reports/..%2f..%2fetc%2fpasswd", USER_ALICE), 404, NULL);
	expect(get_as("/reports/" ID, USER_ALICE "Accept: text/html\r\n"), 200, "&lt;script&gt;x");
	expect(get_as("/reports/" ID "?format=json", USER_ALICE "Accept: text/html\r\n"), 200, "application/json");
	page = get_as("/", USER_ALICE);
	assert_non_null(strstr(page, "Content-Security-Policy: default-src 'none'"));
	assert_non_null(strstr(page, "node&lt;1&gt;"));
	assert_non_null(strstr(page, "href=\"/reports/" ID "\""));
	assert_null(strstr(page, "<script"));
	expect(page, 200, "because");
	assert_int_equal(stats().auth_failures, 6);
	/* Once the right password was seen, it is known without hashing. */
	page = get_as("/reports", USER_WRONG);
	expect(page, 401, NULL);
}

/* More passwords at one time than may wait: some are turned away, none is let in, and all have an answer. */
static void a_flood_of_passwords_is_bounded(void **state)
{
	static const char request[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n" USER_NOBODY "Connection: close\r\n\r\n";
	int fds[CONNECTIONS - 2];
	unsigned int wrong = 0, busy = 0;

	(void)state;
	for (size_t i = 0; i < CONNECTIONS - 2; i++) {
		fds[i] = connect_to();
		assert_int_equal(send(fds[i], request, sizeof(request) - 1, MSG_NOSIGNAL), sizeof(request) - 1);
	}
	for (size_t i = 0; i < CONNECTIONS - 2; i++) {
		char *answer = read_answer(fds[i]);

		wrong += strncmp(answer, "HTTP/1.1 401", 12) == 0;
		busy += strncmp(answer, "HTTP/1.1 503", 12) == 0;
		free(answer);
	}
	assert_int_equal(wrong + busy, CONNECTIONS - 2);
	assert_true(wrong >= 8 && busy > 0);
	assert_int_equal(busy, stats().auth_busy);
}

static void rates_are_limited(void **state)
{
	(void)state;
	expect(get("/metrics"), 200, NULL);
	expect(get("/metrics"), 200, NULL);
	expect(get("/metrics"), 429, "Retry-After");
	expect(get("/healthz"), 200, NULL);
	assert_int_equal(stats().limited, 1);
}

/* However many ask at one time: one page per turn at most, and who asked before it was made shares it. */
static void scrapes_take_turns_and_share(void **state)
{
	static const char request[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
	int fds[CONNECTIONS - 2];
	unsigned int before = 0;

	(void)state;
	for (size_t i = 0; i < CONNECTIONS - 2; i++) {
		fds[i] = connect_to();
		assert_int_equal(send(fds[i], request, sizeof(request) - 1, MSG_NOSIGNAL), sizeof(request) - 1);
	}
	events = true;
	for (int turn = 0; turn < 100; turn++) {
		loop_once(loop, NS_PER_MS);
		assert_true(pages <= before + 1);
		before = pages;
		http_events_done(http);
	}
	for (size_t i = 0; i < CONNECTIONS - 2; i++)
		expect(read_answer(fds[i]), 200, NULL);
	assert_true(pages < CONNECTIONS - 2);
	/* Events were handled between any two turns, but always came again. */
	assert_true(stats().behind >= CONNECTIONS - 2);
	assert_int_equal(stats().behind_turns_max, 1);
	/* What the count is for: a loop that lets two turns pass is seen. */
	expect(get("/healthz"), 200, NULL);
	expect(get("/healthz"), 200, NULL);
	assert_true(stats().behind_turns_max > 1);
}

static void connections_are_kept(void **state)
{
	static const char request[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
	int fd = connect_to();
	char buf[2000];

	(void)state;
	for (int i = 0; i < 3; i++) {
		ssize_t n = -1;

		assert_int_equal(send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL), sizeof(request) - 1);
		for (int turn = 0; turn < 200 && n <= 0; turn++) {
			loop_once(loop, 5 * NS_PER_MS);
			n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
		}
		assert_true(n > 12);
		assert_memory_equal(buf, "HTTP/1.1 200", 12);
	}
	close(fd);
	assert_int_equal(stats().accepted, 1);
}

static void other_addresses_need_tls_and_users(void **state)
{
	struct webconfig w = { .nusers = 1 };

	(void)state;
	assert_null(http_refusal(true, true, NULL));
	assert_non_null(http_refusal(false, true, NULL));
	assert_non_null(http_refusal(false, true, &w));
	w.tls = true;
	assert_null(http_refusal(false, true, &w));
	w.nusers = 0;
	assert_non_null(http_refusal(false, true, &w));
	w.client_auth = CLIENT_REQUIRE_AND_VERIFY;
	assert_null(http_refusal(false, true, &w));
	assert_null(http_refusal(false, false, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
#define USERS(fn) cmocka_unit_test_setup_teardown(fn, setup_users, teardown)
		TEST(pages_are_served),
		TEST(readiness_and_errors_show),
		TEST(other_methods_are_refused),
		TEST(nonsense_is_survived),
		TEST(silent_clients_make_room),
		TEST(slow_clients_are_let_go),
		TEST(long_things_are_refused),
		TEST(other_hosts_are_refused),
		TEST(strangers_see_no_reports),
		USERS(users_see_reports),
		USERS(a_flood_of_passwords_is_bounded),
		cmocka_unit_test_setup_teardown(rates_are_limited, setup_slow, teardown),
		TEST(scrapes_take_turns_and_share),
		TEST(connections_are_kept),
		cmocka_unit_test(other_addresses_need_tls_and_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
