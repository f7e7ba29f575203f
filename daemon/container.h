/* SPDX-License-Identifier: BSD-2-Clause */
/* What the path of a cgroup tells: the container and the pod. */
#ifndef PINWHY_CONTAINER_H
#define PINWHY_CONTAINER_H

#include <stddef.h>

#include "text.h"
#include "wire.h"

/* Path of a cgroup from its components, leaf first; "..." in front when the root was not reached. */
void cgroup_path(const char *list, size_t size, struct text *ret_path);
/* Container id (64 hex digits) and pod uid in such a path; "" when there is none. */
void cgroup_container(const char *path, char ret_id[65]);
void cgroup_pod(const char *path, char ret_uid[40]);

#endif
