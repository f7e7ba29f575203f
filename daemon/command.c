// SPDX-License-Identifier: BSD-2-Clause
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static void drop(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* In the child. A set-user-id pinwhy must not lend its privileges. */
static void wait_and_exec(int gate, int error, char *const *argv)
{
	char go;
	int err = 0;

	if (read(gate, &go, 1) != 1)
		_exit(COMMAND_US_FAILED); /* whoever should have let us go is gone */
	if (setregid(getgid(), getgid()) || setreuid(getuid(), getuid()))
		err = errno;
	if (!err) {
		execvp(argv[0], argv);
		err = errno;
	}
	if (write(error, &err, sizeof(err)) != sizeof(err))
		_exit(COMMAND_US_FAILED);
	_exit(err == ENOENT ? COMMAND_NOT_FOUND : COMMAND_CANNOT_RUN);
}

int command_start(struct command *c, char *const *argv)
{
	int gate[2] = { -1, -1 }, error[2] = { -1, -1 };
	int err = 0;

	if (pipe2(gate, O_CLOEXEC) || pipe2(error, O_CLOEXEC)) {
		err = -errno;
		goto out;
	}
	c->pid = fork();
	if (c->pid < 0)
		err = -errno;
	if (c->pid == 0) {
		close(gate[1]);
		close(error[0]);
		wait_and_exec(gate[0], error[1], argv);
	}
out:
	drop(&gate[0]);
	drop(&error[1]);
	if (err) {
		drop(&gate[1]);
		drop(&error[0]);
	}
	c->gate_fd = gate[1];
	c->error_fd = error[0];
	return err;
}

int command_go(struct command *c)
{
	int err = 0;
	ssize_t n;

	if (write(c->gate_fd, "", 1) != 1)
		return -errno;
	drop(&c->gate_fd);
	/* The end of the pipe comes with the exec. */
	do {
		n = read(c->error_fd, &err, sizeof(err));
	} while (n < 0 && errno == EINTR);
	drop(&c->error_fd);
	return n == sizeof(err) ? err : 0;
}

int command_wait(struct command *c)
{
	int status = 0;

	drop(&c->gate_fd);
	drop(&c->error_fd);
	while (waitpid(c->pid, &status, 0) < 0)
		if (errno != EINTR)
			return COMMAND_US_FAILED;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
