// SPDX-License-Identifier: BSD-2-Clause
/* A command behind a gate: it runs when it is let go, never before, and its end is told. */
#include "support.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

static int run(const char *script)
{
	char *const argv[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };
	struct command c = { .gate_fd = -1, .error_fd = -1 };

	assert_int_equal(command_start(&c, argv), 0);
	assert_int_equal(command_go(&c), 0);
	return command_wait(&c);
}

static void statuses(void **state)
{
	(void)state;
	assert_int_equal(run("exit 0"), 0);
	assert_int_equal(run("exit 7"), 7);
	assert_int_equal(run("kill -9 $$"), 128 + SIGKILL);
	assert_int_equal(run("kill -TERM $$"), 128 + SIGTERM);
}

static void cannot_run(void **state)
{
	char *const nowhere[] = { (char *)"/nowhere/to/be/found", NULL }, *const folder[] = { (char *)"/", NULL };
	struct command c = { .gate_fd = -1, .error_fd = -1 };

	(void)state;
	assert_int_equal(command_start(&c, nowhere), 0);
	assert_int_equal(command_go(&c), ENOENT);
	assert_int_equal(command_wait(&c), COMMAND_NOT_FOUND);
	assert_int_equal(command_start(&c, folder), 0);
	assert_int_equal(command_go(&c), EACCES);
	assert_int_equal(command_wait(&c), COMMAND_CANNOT_RUN);
}

/* Given up, or its starter is gone: it ends, and has done nothing. */
static void not_let_go(void **state)
{
	char path[] = "/tmp/pinwhy-gate-XXXXXX", script[64];
	char *argv[] = { (char *)"sh", (char *)"-c", script, NULL };
	struct command c = { .gate_fd = -1, .error_fd = -1 };
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	snprintf(script, sizeof(script), "echo ran >%s", path);
	assert_int_equal(command_start(&c, argv), 0);
	assert_int_equal(command_wait(&c), COMMAND_US_FAILED);
	assert_int_equal(lseek(fd, 0, SEEK_END), 0);
	assert_int_equal(command_start(&c, argv), 0);
	assert_int_equal(command_go(&c), 0);
	assert_int_equal(command_wait(&c), 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), 4);
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statuses), cmocka_unit_test(cannot_run), cmocka_unit_test(not_let_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
