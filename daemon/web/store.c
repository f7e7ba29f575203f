// SPDX-License-Identifier: BSD-2-Clause
#include "web/store.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json_object.h>
#include <json-c/json_tokener.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jread.h"

#define REPORT_DEPTH_MAX 16

struct place {
	struct stored about;	/* `line` points into the room */
	size_t at;
};

struct store {
	char *room;		/* a ring of bytes; no report is split at its end */
	size_t size, next;	/* where the next report goes */
	size_t held_bytes;
	uint32_t nplaces, head, count;	/* the ring of places, oldest first */
	struct place *places;
	struct store_stats stats;
};

int store_new(struct store **ret_store, uint32_t reports, size_t bytes)
{
	struct store *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->nplaces = reports;
	s->size = bytes;
	s->places = calloc(reports, sizeof(*s->places));
	s->room = malloc(bytes);
	if (!s->places || !s->room) {
		store_free(s);
		return -ENOMEM;
	}
	*ret_store = s;
	return 0;
}

void store_free(struct store *s)
{
	if (!s)
		return;
	free(s->places);
	free(s->room);
	free(s);
}

/* i = 0 is the oldest. */
static struct place *place(const struct store *s, uint32_t i)
{
	return &s->places[(s->head + i) % s->nplaces];
}

static void forget_oldest(struct store *s)
{
	s->held_bytes -= place(s, 0)->about.len;
	s->head = (s->head + 1) % s->nplaces;
	s->count--;
	if (!s->count)
		s->next = 0;
}

/* Does something that is held lie in the room's [at, at + len)? */
static bool is_taken(const struct store *s, size_t at, size_t len)
{
	for (uint32_t i = 0; i < s->count; i++) {
		const struct place *p = place(s, i);

		if (p->at < at + len && at < p->at + p->about.len)
			return true;
	}
	return false;
}

static size_t make_room(struct store *s, size_t len)
{
	size_t at;

	if (s->count == s->nplaces)
		forget_oldest(s);
	at = s->size - s->next >= len ? s->next : 0;
	while (s->count && is_taken(s, at, len)) {
		forget_oldest(s);
		if (!s->count)
			at = 0;
	}
	return at;
}

static bool copy_word(char *field, size_t size, struct json_object *o, const char *key)
{
	const char *word = jr_string(o, key);

	if (strlen(word) >= size)
		return false;
	strcpy(field, word);
	return true;
}

/* Ids and times go into links and comparisons: they must be made of what they are made of. */
static bool is_made_of(const char *word, const char *characters)
{
	return *word && !word[strspn(word, characters)];
}

static int describe(const char *line, size_t len, struct stored *ret_about)
{
	struct json_tokener *tok = json_tokener_new_ex(REPORT_DEPTH_MAX);
	struct stored about = { .len = len };
	struct json_object *o;
	bool whole;

	if (!tok)
		return -ENOMEM;
	o = json_tokener_parse_ex(tok, line, (int)len);
	whole = o && json_tokener_get_error(tok) == json_tokener_success && json_tokener_get_parse_end(tok) == len;
	whole = whole && json_object_is_type(o, json_type_object) &&
		copy_word(about.id, sizeof(about.id), o, "report_id") && copy_word(about.time, sizeof(about.time), o, "time") &&
		copy_word(about.kind, sizeof(about.kind), o, "kind") &&
		copy_word(about.cause, sizeof(about.cause), o, "verdict.cause") &&
		is_made_of(about.id, "0123456789abcdef-") && is_made_of(about.time, "0123456789-:.TZ");
	json_object_put(o);
	json_tokener_free(tok);
	if (!whole)
		return -EBADMSG;
	*ret_about = about;
	return 0;
}

int store_put(struct store *s, const char *line, size_t len)
{
	struct stored about;
	struct place *p;
	size_t at;
	int err;

	if (len && line[len - 1] == '\n')
		len--;
	err = len > s->size || len > INT32_MAX ? -EFBIG : describe(line, len, &about);
	if (err) {
		s->stats.refused++;
		return err;
	}
	at = make_room(s, len);
	memcpy(s->room + at, line, len);
	s->next = at + len;
	s->held_bytes += len;
	about.line = s->room + at;
	about.number = ++s->stats.put;
	p = place(s, s->count++);
	*p = (struct place){ .about = about, .at = at };
	return 0;
}

/* All whole lines of the text. */
static int put_lines(struct store *s, const char *text, size_t len, bool from_start)
{
	const char *at = text, *end = text + len, *newline;
	int n = 0;

	for (; (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1) {
		if (at == text && !from_start)
			continue;
		n += store_put(s, at, (size_t)(newline - at)) == 0;
	}
	return n;
}

static ssize_t read_at(int fd, char *to, size_t len, off_t from)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, to + done, len - done, from + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

int store_load(struct store *s, const char *path)
{
	/* A fifo or a terminal has no past, and would not let us go. */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY), n;
	struct stat st;
	ssize_t len;
	off_t from;
	char *text;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return 0;
	}
	from = st.st_size > (off_t)s->size ? st.st_size - (off_t)s->size : 0;
	text = malloc(s->size);
	len = text ? read_at(fd, text, (size_t)(st.st_size - from), from) : -ENOMEM;
	n = len < 0 ? (int)len : put_lines(s, text, (size_t)len, from == 0);
	free(text);
	close(fd);
	return n;
}

bool store_before(const struct store *s, uint64_t number, struct stored *ret_report)
{
	uint64_t oldest;

	if (!s->count)
		return false;
	/* Numbers have no gaps. */
	oldest = place(s, 0)->about.number;
	if (number <= oldest)
		return false;
	if (number > s->stats.put)
		number = s->stats.put + 1;
	*ret_report = place(s, (uint32_t)(number - 1 - oldest))->about;
	return true;
}

bool store_find(const struct store *s, const char *id, struct stored *ret_report)
{
	for (uint32_t i = s->count; i-- > 0;) {
		if (strcmp(place(s, i)->about.id, id) != 0)
			continue;
		*ret_report = place(s, i)->about;
		return true;
	}
	return false;
}

void store_stats(const struct store *s, struct store_stats *ret_stats)
{
	*ret_stats = s->stats;
	ret_stats->held = s->count;
	ret_stats->held_bytes = s->held_bytes;
}
