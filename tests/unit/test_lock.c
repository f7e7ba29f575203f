// SPDX-License-Identifier: BSD-2-Clause
/* What a second instance runs into: the lock, the address; and how readiness is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "listen.h"
#include "lock.h"
#include "notify.h"
#include "tree.h"

static struct tree tree;

static int setup(void **state)
{
	(void)state;
	tree_make(&tree);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tree_remove(&tree);
	return 0;
}

/* A process that takes the lock, says so, and holds it until it is killed. */
static pid_t holder(const char *path)
{
	char byte;
	int p[2];
	pid_t pid;

	assert_int_equal(pipe(p), 0);
	pid = fork();
	if (pid == 0) {
		struct lock *l;
		pid_t owner;

		if (lock_acquire(&l, path, &owner) == 0 && write(p[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	close(p[1]);
	assert_int_equal(read(p[0], &byte, 1), 1);
	close(p[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void second_is_told_the_pid_of_the_first(void **state)
{
	const char *path = tree_path(&tree, "r.jsonl");
	struct lock *l = NULL;
	pid_t pid = holder(path), owner = 0;

	(void)state;
	assert_int_equal(lock_acquire(&l, path, &owner), -EBUSY);
	assert_int_equal(owner, pid);
	assert_null(l);
	/* The lock ends with the process, however it ends. */
	end(pid);
	assert_int_equal(lock_acquire(&l, path, &owner), 0);
	assert_non_null(l);
	lock_release(l);
}

static void other_files_are_free(void **state)
{
	char path[PATH_MAX];
	struct lock *l = NULL;
	pid_t owner, pid;

	(void)state;
	strcpy(path, tree_path(&tree, "a.jsonl"));
	pid = holder(path);
	assert_int_equal(lock_acquire(&l, tree_path(&tree, "b.jsonl"), &owner), 0);
	lock_release(l);
	end(pid);
}

static void two_names_of_one_file_are_one_lock(void **state)
{
	char real[PATH_MAX];
	struct lock *l = NULL;
	pid_t owner, pid;

	(void)state;
	tree_write(&tree, "real/r.jsonl", "");
	assert_int_equal(symlink("real", tree_path(&tree, "dir")), 0);
	assert_int_equal(symlink("real/r.jsonl", tree_path(&tree, "file")), 0);
	strcpy(real, tree_path(&tree, "real/r.jsonl"));
	pid = holder(real);
	assert_int_equal(lock_acquire(&l, tree_path(&tree, "dir/r.jsonl"), &owner), -EBUSY);
	assert_int_equal(lock_acquire(&l, tree_path(&tree, "file"), &owner), -EBUSY);
	assert_int_equal(owner, pid);
	end(pid);
}

static void devices_need_no_lock(void **state)
{
	struct lock *l = (void *)&tree;
	pid_t owner;

	(void)state;
	assert_int_equal(lock_acquire(&l, "/dev/full", &owner), 0);
	assert_null(l);
	assert_int_equal(access("/dev/full.lock", F_OK), -1);
}

static void missing_directory_is_an_error(void **state)
{
	struct lock *l = NULL;
	pid_t owner;

	(void)state;
	assert_int_equal(lock_acquire(&l, tree_path(&tree, "no/r.jsonl"), &owner), -ENOENT);
	assert_null(l);
}

static void owner_of_an_address_is_found(void **state)
{
	struct listen_address a;
	const char *wrong = NULL;
	socklen_t len = sizeof(a.addr);
	char comm[32], text[64];
	int fd, second;
	pid_t pid = 0;

	(void)state;
	assert_int_equal(listen_parse("127.0.0.1:1", &a, &wrong), 0);
	/* Port 0 lets the kernel choose one that is free. */
	((struct sockaddr_in *)&a.addr)->sin_port = 0;
	assert_int_equal(listen_open(&a, &fd), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a.addr, &len), 0);
	snprintf(text, sizeof(text), "127.0.0.1:%u", ntohs(((struct sockaddr_in *)&a.addr)->sin_port));
	assert_int_equal(listen_parse(text, &a, &wrong), 0);
	assert_int_equal(listen_open(&a, &second), -EADDRINUSE);
	assert_int_equal(listen_owner("", &a, &pid, comm, sizeof(comm)), 0);
	assert_int_equal(pid, getpid());
	assert_true(strlen(comm) > 0);
	close(fd);
	assert_int_equal(listen_owner("", &a, &pid, comm, sizeof(comm)), -ENOENT);
}

/* A datagram socket at `name`; a leading '@' is a NUL byte. */
static int receiver(const char *name)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	strcpy(addr.sun_path, name);
	if (name[0] == '@')
		addr.sun_path[0] = '\0';
	assert_int_equal(bind(fd, (struct sockaddr *)&addr,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))), 0);
	return fd;
}

static void readiness_is_told(void **state)
{
	char abstract[64], got[64];
	const char *names[2];

	(void)state;
	snprintf(abstract, sizeof(abstract), "@pinwhy-test-%d", (int)getpid());
	names[0] = abstract;
	names[1] = tree_path(&tree, "notify");
	for (int i = 0; i < 2; i++) {
		int fd = receiver(names[i]);

		setenv("NOTIFY_SOCKET", names[i], 1);
		assert_int_equal(notify_send("READY=1"), 0);
		assert_int_equal(recv(fd, got, sizeof(got), 0), 7);
		assert_memory_equal(got, "READY=1", 7);
		close(fd);
		assert_true(notify_send("READY=1") < 0);
	}
	setenv("NOTIFY_SOCKET", "relative", 1);
	assert_int_equal(notify_send("READY=1"), -EINVAL);
	unsetenv("NOTIFY_SOCKET");
	assert_int_equal(notify_send("READY=1"), 0);
}

/* What `fd` has been sent since it was last asked. */
static int told(int fd)
{
	char got[64];
	int n = 0;

	while (recv(fd, got, sizeof(got), 0) == (ssize_t)strlen("WATCHDOG=1")) {
		assert_memory_equal(got, "WATCHDOG=1", strlen("WATCHDOG=1"));
		n++;
	}
	return n;
}

static void watchdog_is_told_of_progress(void **state)
{
	const char *name = tree_path(&tree, "notify");
	int fd = receiver(name);
	struct watchdog w;
	char pid[16];

	(void)state;
	setenv("NOTIFY_SOCKET", name, 1);
	setenv("WATCHDOG_USEC", "60000000", 1);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("WATCHDOG_PID", pid, 1);
	watchdog_init(&w);
	assert_int_equal(w.every_ns, 30ULL * 1000000000);
	assert_int_equal(told(fd), 0);
	/* At once, and then as often as is asked for, however often there is progress. */
	for (uint64_t s = 1000; s <= 1090; s++)
		watchdog_progress(&w, s * 1000000000);
	assert_int_equal(told(fd), 4);
	close(fd);
	watchdog_progress(&w, 2000ULL * 1000000000);
	unsetenv("NOTIFY_SOCKET");
	watchdog_progress(&w, 3000ULL * 1000000000);
}

static void watchdog_of_others_is_left_alone(void **state)
{
	static const char *const wrong[] = { "", "0", "-1", "1s", " 5", "99999999999999999999", "18446744073709551615" };
	struct watchdog w;

	(void)state;
	unsetenv("WATCHDOG_PID");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		setenv("WATCHDOG_USEC", wrong[i], 1);
		watchdog_init(&w);
		assert_int_equal(w.every_ns, 0);
	}
	setenv("WATCHDOG_USEC", "60000000", 1);
	setenv("WATCHDOG_PID", "1", 1);
	watchdog_init(&w);
	assert_int_equal(w.every_ns, 0);
	unsetenv("WATCHDOG_PID");
	watchdog_init(&w);
	assert_int_equal(w.every_ns, 30ULL * 1000000000);
	unsetenv("WATCHDOG_USEC");
	watchdog_init(&w);
	assert_int_equal(w.every_ns, 0);
	watchdog_progress(&w, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		TEST(second_is_told_the_pid_of_the_first),
		TEST(other_files_are_free),
		TEST(two_names_of_one_file_are_one_lock),
		TEST(devices_need_no_lock),
		TEST(missing_directory_is_an_error),
		TEST(owner_of_an_address_is_found),
		TEST(readiness_is_told),
		TEST(watchdog_is_told_of_progress),
		TEST(watchdog_of_others_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
