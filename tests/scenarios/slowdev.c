// SPDX-License-Identifier: BSD-2-Clause
#include "slowdev.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common.h"

#define CONTROL "/dev/mapper/control"

/* One ioctl with room for one target and its parameters behind the header. */
struct request {
	struct dm_ioctl head;
	struct dm_target_spec target;
	char parameters[128];
};

static void request_init(struct request *request, const char *name, uint32_t flags)
{
	memset(request, 0, sizeof(*request));
	request->head.version[0] = DM_VERSION_MAJOR;
	request->head.data_size = sizeof(*request);
	request->head.data_start = offsetof(struct request, target);
	request->head.flags = flags;
	snprintf(request->head.name, sizeof(request->head.name), "%s", name);
}

static int control_try(struct request *request, unsigned long command)
{
	int fd = open(CONTROL, O_RDWR | O_CLOEXEC);
	int r = 0;

	if (fd < 0)
		die_errno("cannot open %s; is dm_mod loaded?", CONTROL);
	if (ioctl(fd, command, request))
		r = -errno;
	close(fd);
	return r;
}

static void control(struct request *request, unsigned long command, const char *what)
{
	int r = control_try(request, command);

	if (r)
		die("device mapper: cannot %s %s: %s", what, request->head.name, strerror(-r));
}

/*
 * Whoever closes a block device last waits for its reads: a program that gives up with reads
 * outstanding would never end. So the device is let go on the way out, whatever the way.
 */
static char created[SLOWDEV_PATH_LEN];

static void release_at_exit(void)
{
	struct request request;

	if (!created[0])
		return;
	request_init(&request, created, DM_SUSPEND_FLAG);
	control_try(&request, DM_DEV_SUSPEND);
}

static uint64_t sectors_of(const char *device)
{
	uint64_t bytes;
	int fd = open(device, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, BLKGETSIZE64, &bytes))
		die_errno("cannot ask %s for its size", device);
	close(fd);
	return bytes / 512;
}

static void load_table(const char *name, const char *backing)
{
	struct request request;

	request_init(&request, name, 0);
	request.head.target_count = 1;
	request.target.length = sectors_of(backing);
	request.target.next = sizeof(request.target) + sizeof(request.parameters);
	strcpy(request.target.target_type, "delay");
	snprintf(request.parameters, sizeof(request.parameters), "%s 0 %d", backing, SLOWDEV_DELAY_MS);
	control(&request, DM_TABLE_LOAD, "load the table of");
}

static void suspend(const char *name, uint32_t flags, const char *what)
{
	struct request request;

	request_init(&request, name, flags);
	control(&request, DM_DEV_SUSPEND, what);
}

void slowdev_create(const char *name, const char *backing, char ret_path[SLOWDEV_PATH_LEN])
{
	struct request request;

	request_init(&request, name, 0);
	control(&request, DM_DEV_CREATE, "create");
	snprintf(ret_path, SLOWDEV_PATH_LEN, "/dev/dm-%u", minor(request.head.dev));
	load_table(name, backing);
	suspend(name, 0, "resume");
	snprintf(created, sizeof(created), "%s", name);
	atexit(release_at_exit);
}

void slowdev_release(const char *name)
{
	/* Suspending flushes what the delay target holds back. */
	suspend(name, DM_SUSPEND_FLAG, "suspend");
	suspend(name, 0, "resume");
}

static bool removed(void *ctx)
{
	struct request request;
	int r;

	request_init(&request, ctx, 0);
	r = control_try(&request, DM_DEV_REMOVE);
	if (r && r != -EBUSY)
		die("device mapper: cannot remove %s: %s", (const char *)ctx, strerror(-r));
	return !r;
}

/* The kernel gives up its own references to a closed file a little later. */
void slowdev_remove(const char *name)
{
	char copy[SLOWDEV_PATH_LEN];

	snprintf(copy, sizeof(copy), "%s", name);
	if (!poll_until(removed, copy, 10000))
		die("device mapper: %s stays in use", name);
	created[0] = '\0';
}
