// SPDX-License-Identifier: BSD-2-Clause
/* What HTTP is made of: the store, queries, escaping, Host headers, and the web configuration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <crypt.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"
#include "web/escape.h"
#include "web/page.h"
#include "web/query.h"
#include "web/store.h"
#include "web/webconfig.h"

#define NOW 1790000000000000000ULL
#define ID "01a229f2-b60c-7ffe-89c1-%012x"

/* ---- the store ---- */

static int put(struct store *s, unsigned int n, unsigned int padding)
{
	char line[4096];
	int len = snprintf(line, sizeof(line), "{\"report_id\":\"" ID "\",\"time\":\"2026-11-30T00:00:%02u.000Z\",\"kind\":\"hazard\",\"pad\":\"%*s\"}\n",
			   n, n % 60, (int)padding, "");

	return store_put(s, line, (size_t)len);
}

static struct store *new_store(uint32_t reports, size_t bytes)
{
	struct store *s;

	assert_int_equal(store_new(&s, reports, bytes), 0);
	return s;
}

/* Newest first, without gaps; returns how many. */
static unsigned int check_order(const struct store *s, unsigned int newest)
{
	struct stored r = { .number = UINT64_MAX };
	unsigned int n = 0;
	char id[40];

	while (store_before(s, r.number, &r)) {
		snprintf(id, sizeof(id), ID, newest - n);
		assert_string_equal(r.id, id);
		assert_memory_equal(r.line, "{\"report_id\":\"", 14);
		assert_memory_equal(r.line + 14, id, 36);
		assert_int_equal(r.line[r.len - 1], '}');
		n++;
	}
	return n;
}

static void store_keeps_the_newest(void **state)
{
	struct store *s = new_store(4, 1 << 20);
	struct stored r;
	struct store_stats stats;
	char id[40];

	(void)state;
	assert_false(store_before(s, UINT64_MAX, &r));
	for (unsigned int i = 1; i <= 10; i++) {
		assert_int_equal(put(s, i, 0), 0);
		assert_int_equal(check_order(s, i), i < 4 ? i : 4);
	}
	snprintf(id, sizeof(id), ID, 6);
	assert_false(store_find(s, id, &r));
	snprintf(id, sizeof(id), ID, 7);
	assert_true(store_find(s, id, &r));
	assert_string_equal(r.kind, "hazard");
	assert_string_equal(r.cause, "");
	store_stats(s, &stats);
	assert_int_equal(stats.held, 4);
	store_free(s);
}

/* Lengths that do not fit evenly: whatever is pushed out, what is left is whole and in order. */
static void store_is_bounded_in_bytes(void **state)
{
	struct store *s = new_store(100, 2000);
	struct store_stats stats;
	unsigned int seed = 1;

	(void)state;
	for (unsigned int i = 1; i <= 3000; i++) {
		seed = seed * 1103515245 + 12345;
		assert_int_equal(put(s, i, (seed >> 16) % 1500), 0);
		assert_true(check_order(s, i) >= 1);
		store_stats(s, &stats);
		assert_true(stats.held_bytes <= 2000);
	}
	assert_int_equal(put(s, 1, 3000), -EFBIG);
	assert_true(check_order(s, 3000) >= 1);
	store_free(s);
}

static void store_takes_reports_alone(void **state)
{
	static const char *const bad[] = {
		"", "{", "[]", "1", "{}", "{\"report_id\":\"x\"}", "{\"report_id\":\"01a2\",\"time\":\"<b>\",\"kind\":\"hazard\"}",
		"{\"report_id\":\"\\\"><script>\",\"time\":\"2026-11-30T00:00:00.000Z\",\"kind\":\"hazard\"}",
		"{\"report_id\":\"01a2\",\"time\":\"2026-11-30T00:00:00.000Z\",\"kind\":\"hazard\"} trailing",
		"{\"report_id\":\"01a229f2-b60c-7ffe-89c1-0123456789abcd\",\"time\":\"2026-11-30T00:00:00.000Z\",\"kind\":\"hazard\"}",
	};
	struct store *s = new_store(4, 4096);
	struct stored r;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(store_put(s, bad[i], strlen(bad[i])), -EBADMSG);
	assert_false(store_before(s, UINT64_MAX, &r));
	store_free(s);
}

static void store_begins_with_the_end_of_the_file(void **state)
{
	char path[] = "/tmp/pinwhy-store-XXXXXX";
	struct store *s = new_store(100, 1000);
	FILE *f = fdopen(mkstemp(path), "w");

	(void)state;
	for (unsigned int i = 1; i <= 50; i++)
		fprintf(f, "{\"report_id\":\"" ID "\",\"time\":\"2026-11-30T00:00:00.000Z\",\"kind\":\"hazard\"}\n", i);
	fputs("{\"report_id\":\"01a2", f); /* torn */
	fclose(f);
	assert_true(store_load(s, path) >= 5);
	assert_true(check_order(s, 50) >= 5);
	assert_int_equal(store_load(s, "/nonexistent"), -ENOENT);
	assert_int_equal(store_load(s, "/dev/null"), 0);
	unlink(path);
	store_free(s);
}

/* ---- queries ---- */

static void queries_are_parsed(void **state)
{
	struct stored r = { .time = "2026-11-29T05:00:00.000Z", .cause = "dma_pin" }, none = { .time = "2026-11-29T05:00:00.000Z" };
	struct query q;

	(void)state;
	query_init(&q);
	assert_true(query_fits(&q, &r));
	assert_null(query_set(&q, "since", "2026-11-29T04:12:00Z", NOW));
	assert_string_equal(q.since, "2026-11-29T04:12:00.000Z");
	assert_true(query_fits(&q, &r));
	assert_null(query_set(&q, "since", "2026-11-29T05:00:01", NOW));
	assert_false(query_fits(&q, &r));
	query_init(&q);
	assert_null(query_set(&q, "cause", "dma_pin", NOW));
	assert_true(query_fits(&q, &r));
	assert_false(query_fits(&q, &none));
	assert_null(query_set(&q, "cause", "none", NOW));
	assert_true(query_fits(&q, &none));
	assert_null(query_set(&q, "limit", "7", NOW));
	assert_int_equal(q.limit, 7);
	assert_null(query_set(&q, "since", "90s", NOW));
	assert_null(query_set(&q, "format", "json", NOW));
	assert_true(q.json);
}

static void wrong_queries_are_told(void **state)
{
	static const struct {
		const char *key, *value;
	} bad[] = {
		{ "since", "yesterday" }, { "since", "" }, { "since", NULL }, { "since", "10" }, { "since", "-1h" }, { "since", "999999999d" },
		{ "since", "1900-01-01" }, { "since", "2026-11-29T04:12:00Z<" }, { "cause", "" }, { "cause", "A" }, { "cause", "a;b" },
		{ "cause", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" },
		{ "limit", "0" }, { "limit", "-1" }, { "limit", "10001" }, { "limit", "1e3" }, { "limit", "99999999999999999999" },
		{ "limit", "" }, { "format", "xml" }, { "x", "1" }, { "", "" },
	};
	struct query q;

	(void)state;
	query_init(&q);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!query_set(&q, bad[i].key, bad[i].value, NOW))
			fail_msg("%s=%s was taken", bad[i].key, bad[i].value ? bad[i].value : "(none)");
	assert_false(query_is_id("01a229f2-b60c-7ffe-89c1-f51319922db"));
	assert_false(query_is_id("01a229f2-b60c-7ffe-89c1-f51319922dbdd"));
	assert_false(query_is_id("01a229f2_b60c-7ffe-89c1-f51319922dbd"));
	assert_false(query_is_id("../../etc/passwd-aaaa-aaaa-aaaaaaaaaa"));
	assert_true(query_is_id("01a229f2-b60c-7ffe-89c1-f51319922dbd"));
}

static void hosts_are_ours_or_not(void **state)
{
	static const char *const ours[] = {
		"localhost", "LOCALHOST:9835", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:9835", "10.0.0.7:9835", "gpu-17", "gpu-17.example.org:9835",
		"GPU-17", "alias.example.net", "second", "[fe80::1]",
	};
	static const char *const others[] = {
		"", "evil.example", "localhost.evil.example", "localhost:", "localhost:x", "localhost:999999", "[::1", "[::1]x", "[]", "127.0.0.1.evil.example",
		"gpu-17.evil.example", "gpu-1", "alias", "sec", "second,alias", "::1", "[::1]:", ":80", "127.0.0.1:80:80",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (!query_host_ours(ours[i], "gpu-17.example.org", "alias.example.net, second"))
			fail_msg("%s is not ours", ours[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (query_host_ours(others[i], "gpu-17.example.org", "alias.example.net, second"))
			fail_msg("%s is ours", others[i]);
	assert_false(query_host_ours("x", "", ""));
}

/* ---- escaping ---- */

static char *escaped(const char *s, size_t len)
{
	static char text[512];
	FILE *f = fmemopen(text, sizeof(text), "w");

	escape_html(f, s, len);
	fputc('\0', f);
	fclose(f);
	return text;
}

static void html_is_escaped(void **state)
{
	(void)state;
#define IS(in, out) assert_string_equal(escaped(in, sizeof(in) - 1), out)
	IS("plain\n\ttext", "plain\n\ttext");
	IS("<script>alert('x')</script>", "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;");
	IS("\" onload=\"&amp;", "&quot; onload=&quot;&amp;amp;");
	IS("a\0b", "a\xef\xbf\xbd" "b");
	IS("\x1b[31m", "\xef\xbf\xbd[31m");
	IS("\xff\xc3", "\xef\xbf\xbd\xef\xbf\xbd");
	IS("\xc3\xbc", "\xc3\xbc");
	IS("\xe2\x80\xae" "gpj.exe", "\xef\xbf\xbdgpj.exe");		/* right-to-left override */
	IS("\xc2\x85", "\xef\xbf\xbd");
	IS("\xef\xbb\xbf", "\xef\xbf\xbd");
#undef IS
}

/* Names that try to be markup, in every field of a report that a page shows. */
static void pages_hold_no_markup_of_reports(void **state)
{
	static const char evil[] =
		"{\"report_id\":\"01a229f2-b60c-7ffe-89c1-f51319922dbd\",\"time\":\"2026-11-30T00:00:00.000Z\",\"kind\":\"registration_failed\","
		"\"node\":\"<i>n\",\"process\":{\"pid\":1,\"comm\":\"<script>x\",\"exe\":\"/<b>\",\"cgroup\":\"/\\\"><img src=x>\",\"job\":{\"scheduler\":\"<u>\",\"id\":\"'><svg>\"}},"
		"\"registration\":{\"api\":\"<a>\",\"device\":\"<s>\",\"errno_name\":\"<q>\"},"
		"\"verdict\":{\"cause\":\"<em>\",\"confidence\":\"\\\"><p>\",\"summary\":\"</pre><h1>\",\"evidence\":[\"<li>\"],\"remedies\":[\"<form>\"]}}";
	struct store *s = new_store(4, 4096);
	struct stored r;
	char *text = NULL;
	size_t len = 0;
	FILE *f;

	(void)state;
	assert_int_equal(store_put(s, evil, sizeof(evil) - 1), 0);
	assert_true(store_before(s, UINT64_MAX, &r));
	f = open_memstream(&text, &len);
	page_write_report(f, &r);
	page_write_one(f, &r);
	fclose(f);
	assert_non_null(strstr(text, "&lt;script&gt;x"));
	assert_non_null(strstr(text, "&lt;/pre&gt;&lt;h1&gt;"));
	static const char *const markup[] = { "<script", "<i>", "<img", "<svg", "<u>", "<s>", "<q>", "<em>", "<h1>n", "<form", "<li>", "</pre><h1>", "\"><" };
	for (size_t i = 0; i < sizeof(markup) / sizeof(markup[0]); i++)
		if (strcmp(markup[i], "\"><") != 0 && strstr(text, markup[i]))
			fail_msg("%s came through: %.3000s", markup[i], text);
	free(text);
	store_free(s);
}

/* ---- the web configuration ---- */

#define HASH "$2y$10$mDwo.lAisC94iLAyP81MCesa29IzH37oigHC/42V2pdJlUprsJPze"

static struct webconfig *parsed(const char *text)
{
	char error[WEBCONFIG_ERROR_MAX];
	struct webconfig *w = NULL;

	if (webconfig_parse(&w, text, strlen(text), "/etc/pinwhy/web.yml", error))
		fail_msg("%s", error);
	assert_string_equal(error, "");
	return w;
}

static void exporters_file_is_read(void **state)
{
	struct webconfig *w = parsed(
		"# comment\n"
		"tls_server_config:\n"
		"  cert_file: server.crt\n"
		"  key_file: /keys/server.key\n"
		"  client_auth_type: RequireAndVerifyClientCert\n"
		"  client_ca_file: ca.crt\n"
		"  min_version: TLS13\n"
		"  max_version: TLS13\n"
		"  prefer_server_cipher_suites: false\n"
		"  cipher_suites: []\n"
		"  curve_preferences: [X25519, CurveP256]\n"
		"http_server_config:\n"
		"  http2: true\n"
		"  headers:\n"
		"    Strict-Transport-Security: max-age=31536000\n"
		"    X-Frame-Options: \"\"\n"
		"basic_auth_users:\n"
		"  alice: " HASH "\n"
		"  bob: '" HASH "'\n"
		"rate_limit:\n"
		"  interval: 1m30s\n"
		"  burst: 7\n");

	(void)state;
	assert_true(w->tls);
	assert_string_equal(w->cert.path, "/etc/pinwhy/server.crt");
	assert_string_equal(w->key.path, "/keys/server.key");
	assert_string_equal(w->client_ca.path, "/etc/pinwhy/ca.crt");
	assert_int_equal(w->client_auth, CLIENT_REQUIRE_AND_VERIFY);
	assert_int_equal(w->min_version, TLS_1_3);
	assert_true(w->client_preference);
	assert_int_equal(w->ncurves, 2);
	assert_string_equal(w->curves[0], "GROUP-X25519");
	assert_string_equal(w->headers[HEADER_HSTS], "max-age=31536000");
	assert_string_equal(w->headers[HEADER_FRAME], "");
	assert_null(w->headers[HEADER_CSP]);
	assert_int_equal(w->nusers, 2);
	assert_string_equal(w->users[1].name, "bob");
	assert_string_equal(w->users[1].hash, HASH);
	assert_int_equal(w->rate_interval_ns, 90000000000ULL);
	assert_int_equal(w->rate_burst, 7);
	assert_true(webconfig_authenticates(w));
	webconfig_free(w);

	w = parsed("");
	assert_false(w->tls);
	assert_int_equal(w->min_version, TLS_1_2);
	assert_false(webconfig_authenticates(w));
	webconfig_free(w);
	w = parsed("basic_auth_users:\ntls_server_config:\nhttp_server_config: {}\nrate_limit: {interval: 0}\n");
	assert_false(webconfig_authenticates(w));
	webconfig_free(w);
	w = parsed("tls_server_config:\n  cert: |\n    -----BEGIN CERTIFICATE-----\n    x\n  key: |\n    -----BEGIN PRIVATE KEY-----\n");
	assert_true(w->tls);
	assert_false(webconfig_authenticates(w));
	assert_memory_equal(w->cert.text, "-----BEGIN CERTIFICATE-----\nx\n", 30);
	webconfig_free(w);
	/* Who may ask for a certificate and checks none knows nobody. */
	w = parsed("tls_server_config: {cert_file: a, key_file: b, client_auth_type: RequireAnyClientCert}\n");
	assert_false(webconfig_authenticates(w));
	webconfig_free(w);
}

static void bad_files_are_told_with_their_line(void **state)
{
	static const struct {
		const char *text, *line, *words;
	} bad[] = {
		{ "tls_server_confg:\n", ":1: ", "did you mean 'tls_server_config'" },
		{ "tls_server_config:\n  cert_file: a\n  key_fil: b\n", ":3: ", "did you mean 'key_file'" },
		{ "tls_server_config:\n  cert_file: a\n", ":2: ", "lacks key_file" },
		{ "tls_server_config:\n  key_file: a\n", ":2: ", "lacks cert_file" },
		{ "tls_server_config:\n  cert_file: a\n  key_file: b\n  cipher_suites:\n  - TLS_AES_128_GCM_SHA256\n", ":5: ", "not supported" },
		{ "tls_server_config:\n  cert_file: a\n  key_file: b\n  client_allowed_sans: [x]\n", ":4: ", "not supported" },
		{ "tls_server_config:\n  cert_file: a\n  key_file: b\n  client_auth_type: Maybe\n", ":4: ", "RequireAndVerifyClientCert" },
		{ "tls_server_config:\n  cert_file: a\n  key_file: b\n  client_auth_type: RequireAndVerifyClientCert\n", ":2: ", "client_ca_file" },
		{ "tls_server_config:\n  cert_file: a\n  key_file: b\n  client_ca_file: c\n", ":4: ", "client_auth_type" },
		{ "tls_server_config:\n  cert_file: a\n  key_file: b\n  min_version: SSL30\n", ":4: ", "TLS12" },
		{ "tls_server_config:\n  cert_file: a\n  key_file: b\n  min_version: TLS13\n  max_version: TLS12\n", ":2: ", "above" },
		{ "tls_server_config:\n  cert: a\n  key_file: b\n", ":2: ", "-----BEGIN" },
		{ "tls_server_config:\n  cert_file: a\n  key_file: b\n  key: '-----BEGIN '\n", ":4: ", "exclude each other" },
		{ "tls_server_config:\n  cert_file: [a]\n", ":2: ", "is a list" },
		{ "tls_server_config:\n  curve_preferences: [CurveP999]\n", ":2: ", "X25519" },
		{ "tls_server_config: x\n", ":1: ", "must have keys" },
		{ "- x\n", ":1: ", "must have keys" },
		{ "http_server_config:\n  http2: maybe\n", ":2: ", "true nor false" },
		{ "http_server_config:\n  headers:\n    X-Evil: 1\n", ":3: ", "no key 'X-Evil'" },
		{ "http_server_config:\n  headers:\n    X-Frame-Options: allow\n", ":3: ", "sameorigin" },
		{ "http_server_config:\n  headers:\n    Content-Security-Policy: \"a\\r\\nX: y\"\n", ":3: ", "several lines" },
		{ "basic_auth_users:\n  alice: secret\n", ":2: ", "no bcrypt hash" },
		{ "basic_auth_users:\n  alice: $2y$31$mDwo.lAisC94iLAyP81MCesa29IzH37oigHC/42V2pdJlUprsJPze\n", ":2: ", "above 15" },
		{ "basic_auth_users:\n  alice: $2y$03$mDwo.lAisC94iLAyP81MCesa29IzH37oigHC/42V2pdJlUprsJPze\n", ":2: ", "below 4" },
		{ "basic_auth_users:\n  alice: $2x$10$mDwo.lAisC94iLAyP81MCesa29IzH37oigHC/42V2pdJlUprsJPze\n", ":2: ", "no bcrypt" },
		{ "basic_auth_users:\n  'a:b': " HASH "\n", ":2: ", "colon" },
		{ "basic_auth_users:\n  a: " HASH "\n  a: " HASH "\n", ":3: ", "twice" },
		{ "basic_auth_users:\n- a\n", ":2: ", "is a list" },
		{ "rate_limit:\n  interval: soon\n", ":2: ", "duration" },
		{ "rate_limit:\n  burst: -1\n", ":2: ", "whole number" },
		{ "rate_limit: {}\nrate_limit: {}\n", ":2: ", "twice" },
		{ "a: b: c\n", ":1: ", "no YAML" },
		{ "tls_server_config:\n\t- x\n", ":2: ", "no YAML" },
		{ "\"\\0\": x\n", ":1: ", "NUL" },
	};
	char error[WEBCONFIG_ERROR_MAX];
	struct webconfig *w;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(webconfig_parse(&w, bad[i].text, strlen(bad[i].text), "web.yml", error), -EINVAL);
		if (strncmp(error, "web.yml", 7) != 0 || strncmp(error + 7, bad[i].line, strlen(bad[i].line)) != 0 ||
		    !strstr(error, bad[i].words))
			fail_msg("%s gave: %s", bad[i].text, error);
	}
	assert_int_equal(webconfig_load(&w, "/nonexistent/web.yml", error), -ENOENT);
	assert_non_null(strstr(error, "/nonexistent/web.yml: No such file"));
	assert_int_equal(webconfig_load(&w, "/dev/zero", error), -EFBIG);
}

/* Whatever is cut off or changed in a file, it is read or refused. */
static void damaged_files_are_survived(void **state)
{
	static const char text[] = "tls_server_config: {cert_file: &a b, key_file: *a}\nbasic_auth_users:\n  alice: " HASH "\nrate_limit:\n  interval: 1s\n";
	char error[WEBCONFIG_ERROR_MAX], copy[sizeof(text)];
	unsigned int seed = 7;

	(void)state;
	for (size_t i = 0; i < 4 * sizeof(text); i++) {
		struct webconfig *w = NULL;
		size_t len = i < sizeof(text) ? i : sizeof(text) - 1;

		memcpy(copy, text, sizeof(text));
		seed = seed * 1103515245 + 12345;
		if (i >= sizeof(text))
			copy[(seed >> 16) % (sizeof(text) - 1)] = (char)(seed >> 8);
		if (webconfig_parse(&w, copy, len, "web.yml", error) == 0)
			webconfig_free(w);
		else
			assert_int_equal(strncmp(error, "web.yml:", 8), 0);
	}
}

/* Of the tables that implementations of bcrypt share: what libcrypt makes is what exporters compare with. */
static void bcrypt_is_the_one_of_exporters(void **state)
{
	static const struct {
		const char *password, *hash;
	} known[] = {
		{ "U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW" },
		{ "U*U*", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK" },
		{ "U*U*U", "$2a$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a" },
		{ "", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.7uG0VCzI2bS7j6ymqJi9CdcdxiRTWNy" },
	};

	(void)state;
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(crypt(known[i].password, known[i].hash), known[i].hash);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(store_keeps_the_newest),
		cmocka_unit_test(store_is_bounded_in_bytes),
		cmocka_unit_test(store_takes_reports_alone),
		cmocka_unit_test(store_begins_with_the_end_of_the_file),
		cmocka_unit_test(queries_are_parsed),
		cmocka_unit_test(wrong_queries_are_told),
		cmocka_unit_test(hosts_are_ours_or_not),
		cmocka_unit_test(html_is_escaped),
		cmocka_unit_test(pages_hold_no_markup_of_reports),
		cmocka_unit_test(exporters_file_is_read),
		cmocka_unit_test(bad_files_are_told_with_their_line),
		cmocka_unit_test(damaged_files_are_survived),
		cmocka_unit_test(bcrypt_is_the_one_of_exporters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
