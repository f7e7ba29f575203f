// SPDX-License-Identifier: BSD-2-Clause
#include "web/escape.h"

#include <stdbool.h>
#include <stdint.h>

#include "text.h"

#define REPLACEMENT "\xef\xbf\xbd"	/* U+FFFD */

static const char *entity(char c)
{
	switch (c) {
	case '&': return "&amp;";
	case '<': return "&lt;";
	case '>': return "&gt;";
	case '"': return "&quot;";
	case '\'': return "&#39;";
	default: return NULL;
	}
}

/* The character of a valid sequence of `n` bytes. */
static uint32_t decode(const char *s, size_t n)
{
	static const unsigned char lead[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t c = (unsigned char)s[0] & lead[n];

	for (size_t i = 1; i < n; i++)
		c = c << 6 | ((unsigned char)s[i] & 0x3f);
	return c;
}

/* C0 and C1, DEL, marks and overrides of direction, the byte order mark, noncharacters. */
static bool misleads(uint32_t c)
{
	return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c <= 0x9f) || c == 0x61c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff || (c & 0xfffe) == 0xfffe;
}

void escape_html(FILE *out, const char *s, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = text_utf8(s + i, len - i);
		const char *e = n == 1 ? entity(s[i]) : NULL;

		if (!n || misleads(decode(s + i, n)))
			fputs(REPLACEMENT, out);
		else if (e)
			fputs(e, out);
		else
			fwrite(s + i, 1, n, out);
		i += n ? n : 1;
	}
}
