// SPDX-License-Identifier: BSD-2-Clause
#include "kfacts_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct symbol *symbols_find(const struct symbols *t, const char *name)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (!strcmp(t->rows[i].name, name))
			return &t->rows[i];
	return NULL;
}

/* Of its first five letters, of fewer where a name or its suffix ends before. Below 4096. */
static uint32_t beginning(const char *name)
{
	uint32_t hash = 0;

	for (int i = 0; i < 5 && (uint8_t)name[i] > ' ' && name[i] != '.'; i++)
		hash = hash * 31 + (uint8_t)name[i];
	return hash * 0x9e3779b1U >> 20;
}

static bool may_be_asked(const struct symbols *t, const char *name)
{
	uint32_t b = beginning(name);

	return t->beginnings[b / 64] >> b % 64 & 1;
}

struct symbol *symbols_asked(struct symbols *t, const char *name)
{
	return may_be_asked(t, name) ? (struct symbol *)symbols_find(t, name) : NULL;
}

int symbols_add(struct symbols *t, const char *name, struct symbol **ret_symbol)
{
	struct symbol *s = (struct symbol *)symbols_find(t, name);
	uint32_t b = beginning(name);

	if (!s) {
		if (t->n == SYMBOLS_MAX || strlen(name) >= sizeof(s->name))
			return -ENOSPC;
		s = &t->rows[t->n++];
		strcpy(s->name, name);
		t->beginnings[b / 64] |= 1ULL << b % 64;
	}
	*ret_symbol = s;
	return 0;
}

/*
 * Words of suffixes. GCC: gcc/ipa-split.c (part), ipa-sra.c (isra), ipa-cp.c (constprop), bb-reorder.c (cold), lto (lto_priv);
 * LLVM: promoted to a name that is unique in the whole kernel by ThinLTO (llvm), or from the start (__uniq). With several
 * of them a name is what the worst one says.
 */
static const struct {
	const char *word;
	enum made made;
} suffixes[] = {
	{ "llvm", MADE_SAME },	 { "lto_priv", MADE_SAME },	{ "__uniq", MADE_SAME },
	{ "part", MADE_SPLIT },	 { "cold", MADE_NONE },
	{ "isra", MADE_CHANGED }, { "constprop", MADE_CHANGED },
};

static enum made suffix_made(const char *word, size_t len)
{
	if (len == 0 || strspn(word, "0123456789") >= len)
		return MADE_SAME; /* the number of the word before */
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (strlen(suffixes[i].word) == len && !strncmp(suffixes[i].word, word, len))
			return suffixes[i].made;
	return MADE_CHANGED;
}

enum made symbols_made(const char *full, size_t *ret_base)
{
	size_t at = strcspn(full, ".");
	enum made made = MADE_SAME;

	*ret_base = at;
	while (full[at] == '.') {
		size_t len = strcspn(&full[at + 1], ".");
		enum made word = suffix_made(&full[at + 1], len);

		/* Out of the way is no function whatever else it is; and the rest of a function is a split one, changed or not. */
		if (word == MADE_NONE)
			return MADE_NONE;
		if (made != MADE_SPLIT && word != MADE_SAME)
			made = word;
		at += len + 1;
	}
	return made;
}

static bool gives_back(const char *name)
{
	return !strncmp(name, "unpin_user_", strlen("unpin_user_")) || !strncmp(name, "unpin_folio", strlen("unpin_folio"));
}

/* Twins in several modules: the first one counts, and one by its own name more than what was made of another. */
static void note(struct symbols *t, struct symbol *s, uint64_t address, const char *full, enum made made, const char *module)
{
	bool exact = !full[strlen(s->name)];

	if (!exact && !s->made[made][0]) {
		snprintf(s->made[made], sizeof(s->made[made]), "%s", full);
		if (!s->found && !s->module[0])
			snprintf(s->module, sizeof(s->module), "%s", module);
	}
	s->times += exact;
	if (!exact || s->found)
		return;
	s->found = true;
	s->address = address;
	snprintf(s->module, sizeof(s->module), "%s", module);
	if (!address)
		t->hidden = true;
}

/* A list that was copied over another system may have its ends of lines. */
#define BLANKS " \t\r\n"

/* "ffffffff81000000 T name\t[module]". */
static void symbol_line(struct symbols *t, char *line)
{
	char *save, *addr = strtok_r(line, BLANKS, &save), *type = strtok_r(NULL, BLANKS, &save);
	char *full = strtok_r(NULL, BLANKS, &save), *module = strtok_r(NULL, BLANKS "[]", &save);
	char name[sizeof(t->rows[0].name)];
	struct symbol *s;
	enum made made;
	size_t base;

	if (!addr || !type || !full)
		return;
	made = symbols_made(full, &base);
	if (made == MADE_NONE || base >= sizeof(name) || (full[base] && !strchr("tTwW", *type)))
		return;
	snprintf(name, sizeof(name), "%.*s", (int)base, full);
	s = (struct symbol *)symbols_find(t, name);
	/* The rest of one belongs to it, by whatever name. */
	if (!s && !module && made == MADE_SAME && gives_back(name))
		snprintf(t->release_unknown, sizeof(t->release_unknown), "%s", name);
	if (s)
		note(t, s, strtoull(addr, NULL, 16), full, made, module ? module : "");
}

static void forget(struct symbols *t)
{
	t->hidden = false;
	t->release_unknown[0] = '\0';
	for (uint32_t i = 0; i < t->n; i++) {
		t->rows[i].found = false;
		t->rows[i].times = 0;
		t->rows[i].module[0] = '\0';
		memset(t->rows[i].made, 0, sizeof(t->rows[i].made));
	}
}

int symbols_read(struct symbols *t, FILE *list)
{
	char line[512];

	forget(t);
	/* A prefilter on the name column keeps a quarter of a million lines cheap. */
	while (fgets(line, sizeof(line), list)) {
		const char *name = strchr(line, ' ');

		if (!name || strlen(name) < 4)
			continue;
		name += 3;
		if (may_be_asked(t, name) || gives_back(name))
			symbol_line(t, line);
	}
	return ferror(list) ? -EIO : 0;
}
