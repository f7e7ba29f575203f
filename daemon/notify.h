/* SPDX-License-Identifier: BSD-2-Clause */
/* The service manager's notification socket: one datagram, no library needed. */
#ifndef PINWHY_NOTIFY_H
#define PINWHY_NOTIFY_H

/* Sends "READY=1" and the like to $NOTIFY_SOCKET. 0 also when there is none; else -errno. */
int notify_send(const char *state);

#endif
