/* SPDX-License-Identifier: BSD-2-Clause */
/* A directory below TMPDIR for one test, filled with small files and removed at the end. */
#ifndef PINWHY_TESTS_TREE_H
#define PINWHY_TESTS_TREE_H

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct tree {
	char root[256];
};

static inline void tree_make(struct tree *t)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(t->root, sizeof(t->root), "%s/pinwhy-test-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(t->root))
		abort();
}

static inline const char *tree_path(const struct tree *t, const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", t->root, name);
	return path;
}

/* Makes the directories `name` lies in. */
static inline void tree_parents(const struct tree *t, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", t->root, name);
	for (char *p = path + strlen(t->root) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			abort();
		*p = '/';
	}
}

static inline void tree_write(const struct tree *t, const char *name, const char *text)
{
	FILE *f;

	tree_parents(t, name);
	f = fopen(tree_path(t, name), "w");
	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		abort();
}

static inline void tree_write_bytes(const struct tree *t, const char *name, const void *bytes, size_t size)
{
	FILE *f;

	tree_parents(t, name);
	f = fopen(tree_path(t, name), "w");
	if (!f || fwrite(bytes, 1, size, f) != size || fclose(f) != 0)
		abort();
}

/* The whole file, malloc'ed; NULL when it cannot be read. */
static inline char *tree_read(const struct tree *t, const char *name)
{
	FILE *f = fopen(tree_path(t, name), "r");
	char *text = NULL;
	size_t cap = 0;

	if (!f)
		return NULL;
	if (getdelim(&text, &cap, '\0', f) < 0 && text)
		text[0] = '\0';
	fclose(f);
	return text;
}

static inline int tree_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void tree_remove(const struct tree *t)
{
	nftw(t->root, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
