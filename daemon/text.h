/* SPDX-License-Identifier: BSD-2-Clause */
/* Bounded strings: building them, cleaning what comes from outside, showing it safely. */
#ifndef PINWHY_TEXT_H
#define PINWHY_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An appender over a caller's buffer. Always terminated; what does not fit is cut off. */
struct text {
	char *buf;
	size_t size;
	size_t len;
	bool cut;
};

void text_init(struct text *t, char *buf, size_t size);
void text_add(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_vadd(struct text *t, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Appends `item`, after ", " unless the text is empty. */
void text_item(struct text *t, const char *item);

/* Length of the valid UTF-8 sequence at `s` (at most `n` bytes), 0 if there is none. */
size_t text_utf8(const char *s, size_t n);
/* Terminates a string in a fixed field, replaces bytes that are not UTF-8 by '?', zeroes the rest. */
void text_clean(char *field, size_t size);
/* The same for a field of several NUL-separated strings. */
void text_clean_list(char *field, size_t size);
/* Appends `s` with everything that could steer a terminal written as an escape. */
void text_escape(struct text *t, const char *s);

#define TEXT_BYTES_LEN 32
#define TEXT_TIME_LEN 32
/* "4.0 MiB"; UINT64_MAX is "unlimited". Returns buf. */
const char *text_bytes(char buf[TEXT_BYTES_LEN], uint64_t bytes);
/* RFC 3339 in UTC with milliseconds. Returns buf. */
const char *text_time(char buf[TEXT_TIME_LEN], uint64_t real_ns);
/* "10m" before now (s, m, h, d), or a time in UTC such as 2026-11-29T04:12:00Z, as text_time() writes it. */
bool text_since(char ret_since[TEXT_TIME_LEN], const char *s, uint64_t now_real_ns);

/* A hash that is good enough to make ids distinct; not for security. */
uint64_t text_hash(uint64_t seed, const void *data, size_t len);

#endif
