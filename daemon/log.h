/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages to the operator on stderr; with "<N>" priorities when the journal reads it. */
#ifndef PINWHY_LOG_H
#define PINWHY_LOG_H

#include <stdint.h>

/* At most PIPE_BUF, so that a line to a pipe is written whole or not at all. */
#define LOG_LINE_MAX 2048

enum log_level { LOG_LEVEL_ERROR = 3, LOG_LEVEL_WARN = 4, LOG_LEVEL_INFO = 6, LOG_LEVEL_DEBUG = 7 };

extern enum log_level log_max_level;

/* Never blocks. May change errno. */
void log_write(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Lines lost because stderr was full or closed. */
uint64_t log_lost(void);

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
