// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "exposures/exposures.h"
#include "text.h"

#define EXPOSURE(id, of) void expose_##id(const struct node *n, struct exposure *e);
#include "exposures/exposures.def"
#undef EXPOSURE

static const struct {
	const char *id;
	void (*judge)(const struct node *n, struct exposure *e);
	bool of_placement;
} rules[EXPOSURES_MAX] = {
#define PLACEMENT true
#define OTHER false
#define EXPOSURE(id, of) { #id, expose_##id, of },
#include "exposures/exposures.def"
#undef EXPOSURE
#undef PLACEMENT
#undef OTHER
};

static const struct {
	const char *path, *what;
} sources[NODE_SOURCES] = {
#define SOURCE(name, path, what) { path, what },
#include "exposures/sources.def"
#undef SOURCE
};

const char *severity_name(enum severity s)
{
	static const char *const names[] = { "none", "low", "medium", "high" };

	return names[s];
}

/* Names, paths and lines of the log come from anywhere. */
static void put(char *ret, size_t size, const char *fmt, va_list args) __attribute__((format(printf, 3, 0)));
static void put(char *ret, size_t size, const char *fmt, va_list args)
{
	char raw[EXPOSURE_TEXT];
	struct text clean;

	vsnprintf(raw, sizeof(raw), fmt, args);
	text_init(&clean, ret, size);
	text_escape(&clean, raw);
}

void exposure_found(struct exposure *e, enum severity s, const char *fmt, ...)
{
	va_list args;

	e->severity = s;
	va_start(args, fmt);
	put(e->what, sizeof(e->what), fmt, args);
	va_end(args);
}

void exposure_evidence(struct exposure *e, const char *fmt, ...)
{
	va_list args;

	/* The last line is for how many there would have been. */
	if (e->nevidence + 1 >= EXPOSURE_EVIDENCE_MAX) {
		e->evidence_left_out++;
		return;
	}
	va_start(args, fmt);
	put(e->evidence[e->nevidence++], sizeof(e->evidence[0]), fmt, args);
	va_end(args);
}

void exposure_remedy(struct exposure *e, const char *fmt, ...)
{
	va_list args;

	if (e->nremedies == EXPOSURE_REMEDIES_MAX)
		return;
	va_start(args, fmt);
	put(e->remedies[e->nremedies], sizeof(e->remedies[0]), fmt, args);
	va_end(args);
	for (uint32_t i = 0; i < e->nremedies; i++)
		if (strcmp(e->remedies[i], e->remedies[e->nremedies]) == 0)
			return;
	e->nremedies++;
}

void exposure_unchecked(struct exposure *e, const char *what, const char *fmt, ...)
{
	struct unchecked *u;
	va_list args;

	if (e->nunchecked == EXPOSURE_UNCHECKED_MAX)
		return;
	u = &e->unchecked[e->nunchecked++];
	snprintf(u->what, sizeof(u->what), "%s", what);
	va_start(args, fmt);
	put(u->why, sizeof(u->why), fmt, args);
	va_end(args);
}

/* --- what rules ask of a node ----------------------------------------------------- */

/* The kernel takes - and _ in the name of a parameter for the same. */
static bool is_parameter(const char *word, size_t len, const char *name)
{
	size_t i;

	for (i = 0; name[i]; i++)
		if (i >= len || (word[i] != name[i] && !(word[i] == '-' && name[i] == '_')))
			return false;
	return i == len || word[i] == '=';
}

bool node_booted_with(const struct node *n, const char *const names[], char *ret, size_t size)
{
	const char *p = n->cmdline;
	struct text t;
	size_t len;

	text_init(&t, ret, size);
	for (; *p; p += len) {
		p += strspn(p, " \t\n");
		len = strcspn(p, " \t\n");
		/* Behind this word come arguments of the first program. */
		if (len == 2 && strncmp(p, "--", 2) == 0)
			break;
		for (size_t i = 0; names[i]; i++)
			if (len && is_parameter(p, len, names[i]))
				text_add(&t, "%s%.*s", t.len ? " " : "", (int)len, p);
	}
	return t.len > 0;
}

uint64_t node_movable_pages(const struct node *n)
{
	uint64_t pages = 0;

	for (uint32_t i = 0; i < n->nzones; i++)
		if (strcmp(n->zones[i].name, "Movable") == 0)
			pages += n->zones[i].managed_pages;
	return pages;
}

uint64_t node_cma_pages(const struct node *n)
{
	uint64_t total = n->page_bytes ? n->cma_total_bytes / n->page_bytes : 0, zones = 0;

	for (uint32_t i = 0; i < n->nzones; i++)
		zones += n->zones[i].cma_pages;
	return zones > total ? zones : total;
}

uint64_t node_mib(const struct node *n, uint64_t pages)
{
	return pages * n->page_bytes >> 20;
}

enum severity placement_severity(const struct node *n)
{
	if (n->has_nvidia && nvidia_longterm(n->nvidia_version, n->machine) == LONGTERM_NO)
		return SEVERITY_HIGH;
	return SEVERITY_MEDIUM;
}

/* --- judging ---------------------------------------------------------------------- */

static const char *error_words(int err)
{
	switch (-err) {
	case ETIMEDOUT:
		return "reading took too long and was given up";
	case ENODEV:
		return "debugfs is not there: mount -t debugfs debugfs /sys/kernel/debug";
	case EBADMSG:
		return "its text is not what was expected";
	case EPERM:
	case EACCES:
		return "not permitted: needs root or the capabilities that pinwhy(8) lists";
	default:
		return strerror(-err);
	}
}

static void add_unchecked(struct exposures *ex, const struct unchecked *u)
{
	ex->not_checked[ex->nnot_checked++] = *u;
}

static void unread_sources(const struct node *n, struct exposures *ret)
{
	struct unchecked u;

	for (uint32_t i = 0; i < NODE_SOURCES; i++) {
		if (n->err[i] >= 0)
			continue;
		snprintf(u.what, sizeof(u.what), "%s", sources[i].what);
		snprintf(u.why, sizeof(u.why), "%s: %s", sources[i].path, error_words(n->err[i]));
		add_unchecked(ret, &u);
	}
}

void exposures_judge(const struct node *n, struct exposures *ret)
{
	memset(ret, 0, sizeof(*ret));
	unread_sources(n, ret);
	for (uint32_t i = 0; i < EXPOSURES_MAX; i++) {
		struct exposure *e = &ret->rows[i];

		e->id = rules[i].id;
		if (rules[i].of_placement && n->pins_stay)
			continue;
		rules[i].judge(n, e);
		if (e->evidence_left_out)
			snprintf(e->evidence[e->nevidence++], sizeof(e->evidence[0]), "and %u more",
				 e->evidence_left_out);
		for (uint32_t k = 0; k < e->nunchecked; k++)
			add_unchecked(ret, &e->unchecked[k]);
	}
}
