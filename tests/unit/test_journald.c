// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the journal is sent, read by a parser of its native protocol that was written from its documentation alone. A
 * real journald reads the same in tests/sinks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "diagnose.h"
#include "log.h"
#include "sink.h"
#include "sinks/fields.h"
#include "tree.h"

static struct tree tree;
static struct loop *loop;
static struct sinks *sinks;
static struct config config;
static int journal = -1;

#define FIELDS_MAX 64
static struct {
	char name[65];
	char *value;
	size_t len;
} got[FIELDS_MAX];
static unsigned int ngot;
static char *entry;

static void listen_there(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	strcpy(a.sun_path, config.journald_socket);
	unlink(a.sun_path);
	journal = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(journal, (struct sockaddr *)&a, sizeof(a)), 0);
}

static int setup(void **state)
{
	(void)state;
	log_max_level = (enum log_level)0;
	tree_make(&tree);
	config_defaults(&config);
	config.journald_enabled = true;
	strcpy(config.reports, "off");
	strcpy(config.journald_socket, tree_path(&tree, "socket"));
	sinks = NULL;
	if (loop_new(&loop))
		return -1;
	listen_there();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sinks_close(sinks, 0);
	loop_free(loop);
	close(journal);
	free(entry);
	entry = NULL;
	tree_remove(&tree);
	return 0;
}

static struct sink_stats stats(void)
{
	struct sink_stats s[SINKS_MAX];

	assert_int_equal(sinks_stats(sinks, s), 1);
	assert_int_equal(s[0].accepted, s[0].written + s[0].dropped + s[0].queued);
	return s[0];
}

static void put(const char *text)
{
	struct json_object *json = json_tokener_parse(text), *verdict = NULL, *kind = NULL, *cause = NULL;
	struct report r = { .kind = "", .cause = "", .confidence = "" };

	assert_non_null(json);
	if (json_object_object_get_ex(json, "kind", &kind))
		r.kind = json_object_get_string(kind);
	if (json_object_object_get_ex(json, "verdict", &verdict) && json_object_object_get_ex(verdict, "cause", &cause))
		r.cause = json_object_get_string(cause);
	r.json = json;
	r.line = text;
	r.line_len = strlen(text);
	sinks_put(sinks, &r);
	json_object_put(json);
}

/* One datagram, or the sealed file that came in its place. */
static size_t receive(void)
{
	char control[CMSG_SPACE(sizeof(int))];
	size_t size = 1 << 20;
	struct iovec iov = { .iov_base = entry = realloc(entry, size), .iov_len = size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(journal, &msg, 0);
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int fd;

	assert_true(n >= 0);
	if (!c)
		return (size_t)n;
	assert_int_equal(n, 0);
	assert_int_equal(c->cmsg_type, SCM_RIGHTS);
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	assert_int_equal(fcntl(fd, F_GET_SEALS), F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	n = pread(fd, entry, size, 0);
	assert_true(n > 0);
	close(fd);
	return (size_t)n;
}

/* NAME=value\n, or NAME\n, 64 bits of length with the lowest byte first, value, \n. */
static void parse(size_t len)
{
	char *p = entry, *end = entry + len;

	ngot = 0;
	while (p < end) {
		size_t name = strcspn(p, "=\n");
		uint64_t n = 0;

		assert_true(name > 0 && name <= 64 && p + name < end);
		assert_true(ngot < FIELDS_MAX);
		assert_int_equal(strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"), name);
		assert_true(*p >= 'A' && *p <= 'Z');
		sprintf(got[ngot].name, "%.*s", (int)name, p);
		p += name;
		if (*p++ == '=') {
			char *eol = memchr(p, '\n', (size_t)(end - p));

			assert_non_null(eol);
			n = (uint64_t)(eol - p);
		} else {
			for (int i = 0; i < 8; i++)
				n |= (uint64_t)(unsigned char)p[i] << (8 * i);
			p += 8;
		}
		assert_true(n < (uint64_t)(end - p));
		got[ngot].value = p;
		got[ngot++].len = n;
		p += n;
		assert_int_equal(*p++, '\n');
	}
	assert_ptr_equal(p, end);
	for (unsigned int i = 0; i < ngot; i++)
		got[i].value[got[i].len] = '\0';
}

static const char *field(const char *name)
{
	const char *found = "(none)";

	for (unsigned int i = 0; i < ngot; i++)
		if (strcmp(got[i].name, name) == 0) {
			assert_string_equal(found, "(none)");
			found = got[i].value;
		}
	return found;
}

#define REPORT "{\"report_id\":\"01a22a0a-82eb-78f2-bb4b-e87625e278ef\",\"kind\":\"registration_failed\"," \
	"\"process\":{\"pid\":672,\"uid\":0,\"comm\":%s,\"exe\":%s,\"pod_uid\":\"p-1\",\"job\":{\"scheduler\":\"slurm\",\"id\":\"77\"}}," \
	"\"registration\":{\"api\":\"reg_mr\",\"device\":\"rxe0\",\"driver\":\"rdma_rxe\",\"errno_name\":\"ENOMEM\",\"length\":4096,\"stage\":\"limits\"}," \
	"\"verdict\":{\"cause\":\"rlimit_memlock_exceeded\",\"confidence\":\"proven\",\"summary\":\"too much\"}}"

static char *report(const char *comm, const char *exe)
{
	static char text[300000];

	snprintf(text, sizeof(text), REPORT, comm, exe);
	return text;
}

static void every_key_has_its_field(void **state)
{
	static const char *const want[][2] = {
		{ "MESSAGE", "reg_mr failed: ENOMEM for regmr[672] on rxe0 - too much (rlimit_memlock_exceeded, proven)" },
		{ "PRIORITY", "3" }, { "SYSLOG_IDENTIFIER", "pinwhy" },
		{ "PINWHY_REPORT_ID", "01a22a0a-82eb-78f2-bb4b-e87625e278ef" }, { "PINWHY_KIND", "registration_failed" },
		{ "PINWHY_CAUSE", "rlimit_memlock_exceeded" }, { "PINWHY_CONFIDENCE", "proven" }, { "PINWHY_API", "reg_mr" },
		{ "PINWHY_DEVICE", "rxe0" }, { "PINWHY_DRIVER", "rdma_rxe" }, { "PINWHY_ERRNO", "ENOMEM" },
		{ "PINWHY_STAGE", "limits" }, { "PINWHY_PID", "672" }, { "PINWHY_UID", "0" }, { "PINWHY_COMM", "regmr" },
		{ "PINWHY_EXE", "/bin/regmr" }, { "PINWHY_POD_UID", "p-1" }, { "PINWHY_JOB_ID", "77" },
		{ "PINWHY_JOB_SCHEDULER", "slurm" }, { "PINWHY_LENGTH", "4096" }, { "PINWHY_CGROUP", "(none)" },
	};
	char *text = report("\"regmr\"", "\"/bin/regmr\"");

	(void)state;
	assert_int_equal(sinks_open(&sinks, &config, loop), 0);
	put(text);
	parse(receive());
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		assert_string_equal(field(want[i][0]), want[i][1]);
	assert_string_equal(field("PINWHY_REPORT"), text);
	assert_int_equal(stats().written, 1);
}

/* A name that a process gave itself cannot forge a field, nor a second line. */
static void hostile_names_stay_values(void **state)
{
	(void)state;
	assert_int_equal(sinks_open(&sinks, &config, loop), 0);
	put(report("\"x\\nPINWHY_CAUSE=forged\\nPRIORITY=0\"", "\"/tmp/\\u001b[31m\\r=\\n\\u0001\""));
	parse(receive());
	assert_string_equal(field("PINWHY_CAUSE"), "rlimit_memlock_exceeded");
	assert_string_equal(field("PRIORITY"), "3");
	assert_string_equal(field("PINWHY_COMM"), "x\nPINWHY_CAUSE=forged\nPRIORITY=0");
	assert_string_equal(field("PINWHY_EXE"), "/tmp/\033[31m\r=\n\001");
	for (const char *p = field("MESSAGE"); *p; p++)
		assert_true((unsigned char)*p >= ' ');
}

static void long_ones_come_as_a_sealed_file(void **state)
{
	char *exe = malloc(250003);

	(void)state;
	memset(exe, 'a', 250002);
	exe[0] = exe[250001] = '"';
	exe[250002] = '\0';
	assert_int_equal(sinks_open(&sinks, &config, loop), 0);
	put(report("\"regmr\"", exe));
	parse(receive());
	assert_int_equal(strlen(field("PINWHY_EXE")), 250000);
	assert_int_equal(stats().written, 1);
	free(exe);
}

static void full_socket_keeps_reports(void **state)
{
	unsigned int n = 0;

	(void)state;
	assert_int_equal(sinks_open(&sinks, &config, loop), 0);
	for (int i = 0; i < 200; i++)
		put(report("\"regmr\"", "\"/bin/regmr\""));
	assert_true(stats().queued > 0);
	assert_int_equal(stats().dropped, 0);
	while (stats().queued) {
		while (recv(journal, &(char){ 0 }, 1, 0) >= 0)
			n++;
		/* Woken by the room, not by a tick. */
		assert_int_equal(loop_once(loop, 1000000000), 0);
	}
	while (recv(journal, &(char){ 0 }, 1, 0) >= 0)
		n++;
	assert_int_equal(n, 200);
	assert_int_equal(stats().errors, 0);
}

static void journal_that_comes_back_gets_what_waited(void **state)
{
	(void)state;
	assert_int_equal(sinks_open(&sinks, &config, loop), 0);
	close(journal);
	put(report("\"a\"", "\"b\""));
	put(report("\"a\"", "\"c\""));
	assert_int_equal(stats().queued, 2);
	assert_int_equal(stats().last_errno, ECONNREFUSED);
	listen_there();
	for (int i = 0; i < 100 && stats().queued; i++) {
		assert_int_equal(loop_once(loop, 100000000), 0);
		sinks_tick(sinks);
	}
	assert_int_equal(stats().written, 2);
	parse(receive());
	assert_string_equal(field("PINWHY_EXE"), "b");
}

static void journal_that_is_not_there_is_waited_for(void **state)
{
	(void)state;
	close(journal);
	unlink(config.journald_socket);
	assert_int_equal(sinks_open(&sinks, &config, loop), 0);
	put(report("\"a\"", "\"b\""));
	assert_int_equal(stats().queued, 1);
	assert_int_equal(stats().last_errno, ENOENT);
	listen_there();
	for (int i = 0; i < 100 && stats().queued; i++) {
		assert_int_equal(loop_once(loop, 100000000), 0);
		sinks_tick(sinks);
	}
	assert_int_equal(stats().written, 1);
}

/* Whoever watches for one by its id must not be surprised by an upgrade. */
static void message_ids_differ_and_never_change(void **state)
{
	char ids[CAUSES_MAX][MESSAGE_ID_LEN];

	(void)state;
	assert_string_equal(fields_message_id("registration_failed", "rlimit_memlock_exceeded", ids[0]),
			    fields_message_id("registration_stuck", "rlimit_memlock_exceeded", ids[1]));
	assert_string_not_equal(fields_message_id("hazard", "", ids[0]), fields_message_id("", "hazard", ids[1]));
	for (uint32_t i = 0; i < ncauses; i++) {
		fields_message_id("registration_failed", causes[i].id, ids[i]);
		assert_int_equal(strspn(ids[i], "0123456789abcdef"), 32);
		assert_int_equal(strlen(ids[i]), 32);
		/* Version 8, variant 2. */
		assert_int_equal(ids[i][12], '8');
		assert_non_null(strchr("89ab", ids[i][16]));
		for (uint32_t k = 0; k < i; k++)
			assert_string_not_equal(ids[i], ids[k]);
	}
	assert_string_equal(fields_message_id("registration_failed", "rlimit_memlock_exceeded", ids[0]), "498ab146f02c83808bd4f820d3d46e1f");
	assert_string_equal(fields_message_id("storm_summary", "unknown", ids[0]), "f0f5c983ce0581ac81196a31d4804039");
	assert_string_equal(fields_message_id("registration_completed", "", ids[0]), "192885f360218815afef7a38f61f3b79");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		TEST(every_key_has_its_field),
		TEST(hostile_names_stay_values),
		TEST(long_ones_come_as_a_sealed_file),
		TEST(full_socket_keeps_reports),
		TEST(journal_that_comes_back_gets_what_waited),
		TEST(journal_that_is_not_there_is_waited_for),
		TEST(message_ids_differ_and_never_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
