// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "notify.h"

int notify_send(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	socklen_t len;
	int fd, err = 0;

	if (!path)
		return 0;
	if ((path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof(addr.sun_path))
		return -EINVAL;
	strcpy(addr.sun_path, path);
	len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	/* "@name" is a name in the abstract namespace, which begins with a NUL byte. */
	if (path[0] == '@')
		addr.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* A manager that does not read must not stop us. */
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT,
		   (const struct sockaddr *)&addr, len) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* What a manager sets is a number and no more. 0: there is none. */
static uint64_t number(const char *name)
{
	const char *text = getenv(name);
	unsigned long long n;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return 0;
	errno = 0;
	n = strtoull(text, &end, 10);
	return errno || *end ? 0 : n;
}

void watchdog_init(struct watchdog *w)
{
	uint64_t usec = number("WATCHDOG_USEC");

	*w = (struct watchdog){ 0 };
	/* Inherited from a service that started us: not ours. */
	if (getenv("WATCHDOG_PID") && number("WATCHDOG_PID") != (uint64_t)getpid())
		return;
	if (usec <= UINT64_MAX / 1000)
		w->every_ns = usec * 1000 / 2;
}

void watchdog_progress(struct watchdog *w, uint64_t now_ns)
{
	if (!w->every_ns || now_ns < w->next_ns)
		return;
	w->next_ns = now_ns + w->every_ns;
	/* What does not get through is missed by the manager, who then acts. */
	notify_send("WATCHDOG=1");
}
