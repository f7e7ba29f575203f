/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The settings of `pinwhy run`: defaults, then the file, then the command line.
 * config.def is the table; a key is one row there and nothing else.
 */
#ifndef PINWHY_CONFIG_H
#define PINWHY_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "loader.h"

#define CONFIG_PATH_DEFAULT "/etc/pinwhy/pinwhy.conf"
/* Where the service keeps its reports; `pinwhy explain` without a file looks here. */
#define CONFIG_REPORTS_SERVICE "/var/log/pinwhy/reports.jsonl"

#define CONFIG_STR_MAX 1024	/* bytes of a text value, with its NUL */
#define CONFIG_HOOKS_MAX 128	/* rows of slots.def that [hooks] can name */
#define CONFIG_ERROR_MAX 512

enum config_id {
#define CONFIG_STR(section, key, field, def, check, arg, applies, help) CONFIG_ID_##field,
#define CONFIG_CHOICE(section, key, field, def, choices, applies, help) CONFIG_ID_##field,
#define CONFIG_BOOL(section, key, field, def, applies, help) CONFIG_ID_##field,
#define CONFIG_U64(section, key, field, def, min, max, check, unit, applies, help) CONFIG_ID_##field,
#include "config.def"
#undef CONFIG_STR
#undef CONFIG_CHOICE
#undef CONFIG_BOOL
#undef CONFIG_U64
	CONFIG_IDS
};

enum config_origin { CONFIG_FROM_DEFAULT = 0, CONFIG_FROM_FILE, CONFIG_FROM_ARGS };

struct config {
#define CONFIG_STR(section, key, field, def, check, arg, applies, help) char field[CONFIG_STR_MAX];
#define CONFIG_CHOICE(section, key, field, def, choices, applies, help) char field[CONFIG_STR_MAX];
#define CONFIG_BOOL(section, key, field, def, applies, help) bool field;
#define CONFIG_U64(section, key, field, def, min, max, check, unit, applies, help) uint64_t field;
#include "config.def"
#undef CONFIG_STR
#undef CONFIG_CHOICE
#undef CONFIG_BOOL
#undef CONFIG_U64
	enum config_origin origin[CONFIG_IDS];
	enum hook_mode hooks[CONFIG_HOOKS_MAX];	/* by row of slots.def */
	enum config_origin hook_origin[CONFIG_HOOKS_MAX];
};

enum config_applies { CONFIG_RESTART, CONFIG_LIVE };
enum config_type { CONFIG_TYPE_STR, CONFIG_TYPE_CHOICE, CONFIG_TYPE_BOOL, CONFIG_TYPE_U64 };

/* One row of config.def. */
struct config_desc {
	const char *section, *key;
	enum config_type type;
	size_t offset;		/* of the field in struct config */
	const char *def;	/* as written in a file */
	const char *argument;	/* what a value looks like, for usage lines */
	const char *choices;	/* CHOICE: "one|two" */
	uint64_t min, max;	/* U64 */
	enum config_applies applies;
	const char *help;
	const char *(*check)(const char *text, uint64_t number);	/* what is wrong, or NULL */
};
extern const struct config_desc config_descs[CONFIG_IDS];

void config_defaults(struct config *c);
/*
 * -ENOENT and the like when `path` cannot be opened, -EINVAL for what is written in
 * it; `error` (CONFIG_ERROR_MAX bytes) then says what, where and what is allowed.
 */
int config_load(struct config *c, const char *path, char *error);
/* The same from an open stream; `name` is for messages. */
int config_read(struct config *c, FILE *f, const char *name, char *error);
/* The same, but every error is told, in the order of lines: "FILE:LINE: what". */
typedef void (*config_wrong_fn)(void *ctx, const char *text);
int config_read_each(struct config *c, FILE *f, const char *name, config_wrong_fn wrong, void *ctx);
int config_load_each(struct config *c, const char *path, config_wrong_fn wrong, void *ctx);

/* Where the settings of `pinwhy run` come from, so that they can be read again. */
struct config_source {
	const char *file;	/* NULL: the default file, if there is one */
	const char *values[CONFIG_IDS];	/* from the command line, NULL = not given */
};
/* Defaults, file, command line; every error is told. -errno of one. */
int config_gather(struct config *c, const struct config_source *source, config_wrong_fn wrong, void *ctx);
/*
 * Takes over from `next` what can change while running, [hooks] included. `stays` is told the name of each setting that
 * differs and needs a restart. Returns how many settings changed.
 */
unsigned int config_apply(struct config *c, const struct config *next,
			  void (*stays)(void *ctx, const struct config_desc *d), void *ctx);

/* One setting from the command line, which overrides the file. -EINVAL and `error`. */
int config_set(struct config *c, enum config_id id, const char *value, char *error);

/* The settings in force, as a file that sets them, each with where it came from. */
void config_print(const struct config *c, FILE *f);
/* The commented example that is packaged: every key with its default, switched off. */
void config_print_example(FILE *f);

#endif
