// SPDX-License-Identifier: BSD-2-Clause
#include "wrap.h"

#include <ctype.h>
#include <string.h>

#define ELLIPSIS " ..."

void wrap_begin(struct wrap *w)
{
	text_init(&w->text, w->buf, sizeof(w->buf));
}

void wrap_quote(struct wrap *w, const char *s)
{
	text_escape(&w->text, s);
}

/* --- columns -------------------------------------------------------------------- */

/* Wide characters as terminals show them: CJK, Hangul, full-width forms, pictures. */
static bool is_wide(uint32_t code)
{
	static const uint32_t ranges[][2] = {
		{ 0x1100, 0x115f }, { 0x2e80, 0xa4cf }, { 0xac00, 0xd7a3 }, { 0xf900, 0xfaff },
		{ 0xfe30, 0xfe6f }, { 0xff00, 0xff60 }, { 0xffe0, 0xffe6 }, { 0x1f300, 0x1faff },
		{ 0x20000, 0x3fffd },
	};
	size_t i;

	for (i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (code >= ranges[i][0] && code <= ranges[i][1])
			return true;
	return false;
}

static uint32_t code_point(const char *s, size_t len)
{
	const unsigned char *u = (const unsigned char *)s;
	uint32_t code = len == 1 ? u[0] : u[0] & (0xffu >> (len + 1));
	size_t i;

	for (i = 1; i < len; i++)
		code = code << 6 | (u[i] & 0x3f);
	return code;
}

/* Bytes of the character at `s`, never 0. */
static size_t character(const char *s, size_t n, unsigned int *ret_columns)
{
	size_t len = text_utf8(s, n);

	if (len == 0)
		len = 1;
	if (len == 1 && *s != WRAP_HOLD[0] && (unsigned char)*s < 0x20)
		*ret_columns = 0;
	else
		*ret_columns = is_wide(code_point(s, len)) ? 2 : 1;
	return len;
}

unsigned int wrap_columns(const char *s, size_t n)
{
	unsigned int columns = 0, one;
	size_t i;

	for (i = 0; i < n; i += character(s + i, n - i, &one), columns += one)
		;
	return columns;
}

/* --- pieces --------------------------------------------------------------------- */

/* The next word: its bytes, how many of them are shown, and the columns that takes. */
struct piece {
	size_t bytes, shown;
	unsigned int columns;
	unsigned int gap;	/* spaces wanted behind it, if the line goes on */
};

static struct piece next_piece(const char *s)
{
	struct piece w = { .gap = 1 };

	w.bytes = w.shown = strcspn(s, " ");
	while (w.shown > 0 && s[w.shown - 1] == WRAP_HOLD[0]) {
		w.shown--;
		w.gap++;
	}
	w.columns = wrap_columns(s, w.shown);
	return w;
}

/* Bytes at `s` that stay together: an escape, an address, or one character. */
static size_t unit(const char *s, size_t n, bool at_start, unsigned int *ret_columns)
{
	size_t len = 0;

	if (n >= 4 && s[0] == '\\' && s[1] == 'x')
		len = 4;
	else if (at_start && n >= 3 && s[0] == '0' && s[1] == 'x' && isxdigit((unsigned char)s[2]))
		for (len = 2; len < n && len < 18 && isxdigit((unsigned char)s[len]); len++)
			;
	if (len == 0)
		return character(s, n, ret_columns);
	*ret_columns = (unsigned int)len;
	return len;
}

/* How much of a word that is too long goes onto a line with so much room: as far as a place to break at, if there is one. */
static size_t break_word(const char *s, size_t n, unsigned int room)
{
	unsigned int columns = 0, one;
	size_t i = 0, len, good = 0;
	bool at_start = true;

	while (i < n) {
		len = unit(s + i, n - i, at_start, &one);
		if (columns + one > room)
			break;
		columns += one;
		i += len;
		at_start = !isalnum((unsigned char)s[i - 1]);
		if (strchr("/|,:;-." WRAP_HOLD, s[i - 1]))
			good = i;
	}
	return good * 2 >= i ? good : i;
}

/* --- printing ------------------------------------------------------------------- */

struct line {
	struct wrap *w;
	unsigned int column, lines, indent;
};

static void mark(const struct wrap *w, char c)
{
	static const char *const codes[] = { "1", "2", "32", "33", "31", "0" };

	if (w->colour && c >= 1 && c <= 6)
		fprintf(w->out, "\x1b[%sm", codes[c - 1]);
}

static void print(struct line *l, const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (s[i] == WRAP_HOLD[0])
			fputc(' ', l->w->out);
		else if ((unsigned char)s[i] < 0x20)
			mark(l->w, s[i]);
		else
			fputc(s[i], l->w->out);
	}
	l->column += wrap_columns(s, n);
}

static void next_line(struct line *l)
{
	fprintf(l->w->out, "\n%*s", (int)l->indent, "");
	l->column = l->indent;
	l->lines++;
}

/* A word that has a line to itself and is still too long. */
static void print_long(struct line *l, const char *s, size_t n)
{
	size_t part;

	while (wrap_columns(s, n) > l->w->width - l->column) {
		part = break_word(s, n, l->w->width - l->column);
		if (part == 0)
			break;
		print(l, s, part);
		s += part;
		n -= part;
		if (n)
			next_line(l);
	}
	print(l, s, n);
}

/* Does the piece, with what must follow it, still go onto this line? */
static bool fits(const struct line *l, const struct piece *p, unsigned int gap, unsigned int reserve)
{
	return l->column + gap + p->columns + reserve <= l->w->width;
}

/* At the end, in the room that was kept for it. */
static void print_tail(struct line *l, const char *tail)
{
	unsigned int columns = wrap_columns(tail, strlen(tail));

	if (columns && l->column + columns > l->w->width) {
		next_line(l);
		tail += strspn(tail, " ");
	}
	print(l, tail, strlen(tail));
}

static void print_pieces(struct line *l, unsigned int lines_max, const char *tail)
{
	unsigned int gap = 0, reserve, tail_columns = wrap_columns(tail, strlen(tail));
	const char *s = l->w->buf, *next;
	struct piece p;

	for (; *s; s = next) {
		p = next_piece(s);
		next = s + p.bytes + strspn(s + p.bytes, " ");
		reserve = l->lines == lines_max ? tail_columns + (*next ? sizeof(ELLIPSIS) - 1 : 0) : 0;
		if (!fits(l, &p, gap, reserve)) {
			if (l->lines == lines_max) {
				fputs(ELLIPSIS, l->w->out);
				break;
			}
			if (gap)
				next_line(l);
			gap = 0;
		}
		fprintf(l->w->out, "%*s", (int)gap, "");
		l->column += gap;
		print_long(l, s, p.shown);
		gap = p.gap;
	}
	print_tail(l, tail);
}

void wrap_flush_lines(struct wrap *w, const char *label, unsigned int lines_max, const char *tail)
{
	struct line l = { .w = w, .lines = 1, .indent = WRAP_INDENT };

	if (!w->buf[0])
		return;
	if (label) {
		mark(w, WRAP_DIM[0]);
		fprintf(w->out, "  %-*s", WRAP_INDENT - 2, label);
		mark(w, WRAP_PLAIN[0]);
		l.column = WRAP_INDENT;
	}
	print_pieces(&l, lines_max, tail);
	/* A paragraph that was cut may have lost the mark that ends its colour. */
	mark(w, WRAP_PLAIN[0]);
	fputc('\n', w->out);
}

void wrap_flush(struct wrap *w, const char *label)
{
	wrap_flush_lines(w, label, 0, "");
}
