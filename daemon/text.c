// SPDX-License-Identifier: BSD-2-Clause
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void text_init(struct text *t, char *buf, size_t size)
{
	*t = (struct text){ .buf = buf, .size = size };
	buf[0] = '\0';
}

/* A cut may fall into a multi-byte character: drop the part that is left of it. */
static size_t whole_characters(const char *s, size_t len)
{
	size_t start = len;

	while (start > 0 && len - start < 4) {
		start--;
		if (((unsigned char)s[start] & 0xc0) == 0x80)
			continue;
		return text_utf8(s + start, len - start) == len - start ? len : start;
	}
	return start;
}

void text_vadd(struct text *t, const char *fmt, va_list ap)
{
	size_t room = t->size - t->len;
	int n = vsnprintf(t->buf + t->len, room, fmt, ap);

	if (n < 0)
		return;
	if ((size_t)n < room) {
		t->len += (size_t)n;
		return;
	}
	t->cut = true;
	t->len = whole_characters(t->buf, t->size - 1);
	t->buf[t->len] = '\0';
}

void text_add(struct text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	text_vadd(t, fmt, ap);
	va_end(ap);
}

void text_item(struct text *t, const char *item)
{
	text_add(t, "%s%s", t->len ? ", " : "", item);
}

size_t text_utf8(const char *str, size_t n)
{
	const unsigned char *s = (const unsigned char *)str;
	uint32_t code;
	size_t len, i;

	if (n == 0)
		return 0;
	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		len = 2;
	else if ((s[0] & 0xf0) == 0xe0)
		len = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		len = 4;
	else
		return 0;
	if (len > n)
		return 0;
	code = s[0] & (0xffu >> (len + 1));
	for (i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	/* Overlong forms, surrogates and what lies beyond Unicode are not UTF-8. */
	if (len == 3 && (code < 0x800 || (code >= 0xd800 && code <= 0xdfff)))
		return 0;
	if (len == 4 && (code < 0x10000 || code > 0x10ffff))
		return 0;
	return len;
}

/*
 * Characters that change how the text around them is shown, or are not shown themselves: C0 and C1
 * controls, bidirectional marks and overrides, joiners and other characters without a width.
 */
static bool steers(const char *s, size_t len)
{
	const unsigned char *u = (const unsigned char *)s;

	if (len == 1)
		return u[0] < 0x20 || u[0] == 0x7f;
	if (len == 2)
		return (u[0] == 0xc2 && u[1] < 0xa0) || (u[0] == 0xd8 && u[1] == 0x9c);
	if (len != 3)
		return false;
	if (u[0] == 0xe2 && u[1] == 0x80)
		return (u[2] >= 0x8b && u[2] <= 0x8f) || (u[2] >= 0xa8 && u[2] <= 0xae);
	if (u[0] == 0xe2 && u[1] == 0x81)
		return u[2] >= 0xa0 && u[2] <= 0xaf;
	/* U+180E and U+FEFF. */
	return (u[0] == 0xe1 && u[1] == 0xa0 && u[2] == 0x8e) || (u[0] == 0xef && u[1] == 0xbb && u[2] == 0xbf);
}

static void replace_bad(char *s, size_t n)
{
	size_t i = 0, len;

	while (i < n) {
		len = text_utf8(s + i, n - i);
		/* JSON escapes the C0 controls by itself; the others would reach a terminal as they are. */
		if (len == 0 || (steers(s + i, len) && (unsigned char)s[i] >= 0x20)) {
			len = len ? len : 1;
			memset(s + i, '?', len);
		}
		i += len;
	}
}

void text_clean(char *field, size_t size)
{
	size_t len = strnlen(field, size - 1);

	memset(field + len, 0, size - len);
	replace_bad(field, len);
}

void text_clean_list(char *field, size_t size)
{
	field[size - 1] = '\0';
	replace_bad(field, size);
}

void text_escape(struct text *t, const char *s)
{
	size_t left = strlen(s), len, i;

	while (left > 0) {
		len = text_utf8(s, left);
		if (len == 0 || steers(s, len)) {
			len = len ? len : 1;
			for (i = 0; i < len; i++)
				text_add(t, "\\x%02x", (unsigned char)s[i]);
		} else {
			text_add(t, "%.*s", (int)len, s);
		}
		s += len;
		left -= len;
	}
}

const char *text_bytes(char buf[TEXT_BYTES_LEN], uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes / 1024;
	size_t i = 0;

	if (bytes == UINT64_MAX) {
		snprintf(buf, TEXT_BYTES_LEN, "unlimited");
		return buf;
	}
	if (bytes < 1024) {
		snprintf(buf, TEXT_BYTES_LEN, "%u bytes", (unsigned int)bytes);
		return buf;
	}
	while (value >= 1024 && i + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		i++;
	}
	snprintf(buf, TEXT_BYTES_LEN, value < 100 ? "%.1f %s" : "%.0f %s", value, units[i]);
	return buf;
}

const char *text_time(char buf[TEXT_TIME_LEN], uint64_t real_ns)
{
	time_t seconds = (time_t)(real_ns / 1000000000);
	unsigned int ms = (unsigned int)(real_ns / 1000000 % 1000);
	struct tm tm;
	size_t len;

	gmtime_r(&seconds, &tm);
	len = strftime(buf, TEXT_TIME_LEN, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf + len, TEXT_TIME_LEN - len, ".%03uZ", ms);
	return buf;
}

/* splitmix64's finaliser, fed eight bytes at a time. */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

uint64_t text_hash(uint64_t seed, const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t h = mix(seed ^ len), word;
	size_t n;

	for (; len > 0; p += n, len -= n) {
		n = len < sizeof(word) ? len : sizeof(word);
		word = 0;
		memcpy(&word, p, n);
		h = mix(h ^ word);
	}
	return h;
}

bool text_since(char ret_since[TEXT_TIME_LEN], const char *s, uint64_t now_real_ns)
{
	static const struct {
		char unit;
		unsigned int seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	size_t digits = strspn(s, "0123456789");
	struct tm tm = { 0 };
	const char *rest;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		uint64_t ago;

		if (!digits || digits > 8 || s[digits] != units[i].unit || s[digits + 1])
			continue;
		ago = strtoull(s, NULL, 10) * units[i].seconds * 1000000000;
		text_time(ret_since, ago < now_real_ns ? now_real_ns - ago : 0);
		return true;
	}
	rest = strptime(s, "%Y-%m-%d", &tm);
	if (rest && (*rest == 'T' || *rest == ' '))
		rest = strptime(rest + 1, "%H:%M:%S", &tm);
	if (!rest || (*rest && strcmp(rest, "Z") != 0) || timegm(&tm) < 0)
		return false;
	text_time(ret_since, (uint64_t)timegm(&tm) * 1000000000);
	return true;
}
