/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends log records to a collector. Blocks: for the sink's own process. */
#ifndef PINWHY_SINKS_OTLP_SEND_H
#define PINWHY_SINKS_OTLP_SEND_H

#include <stdbool.h>
#include <stdint.h>

struct batch;
struct outcome;
struct otlp_sender;

struct otlp_settings {
	char url[1024], ca_file[1024], node[256];
	uint64_t timeout_ms;
	uint32_t gzip;
};

/*
 * libcurl is loaded when it is wanted, and by the sink's process alone: linked, it and the twenty libraries behind it
 * would be in the memory of every daemon. Why it cannot be, NULL = it can.
 */
const char *otlp_library_missing(void);
/* `*sender` is NULL at first, and keeps the connection. */
void otlp_send(struct otlp_sender **sender, const struct batch *b, struct outcome *ret);

#endif
