// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>
#include <unistd.h>

#include "config.h"
#include "listen.h"
#include "slots.h"
#include "suggest.h"

static const char *const hook_words[] = {
	[HOOK_AUTO] = "auto", [HOOK_ALWAYS] = "always", [HOOK_NEVER] = "never",
};
#define HOOK_CHOICES "auto|always|never"
#define HOOK_HELP "A hook by its name in pinwhy doctor. auto: when it is cheap or needed; " \
	"always: even if costly; never: not at all."

static const char *check_reports(const char *text, uint64_t number)
{
	(void)number;
	return *text ? NULL : "is empty: give a path, or - for standard output, or off";
}

static const char *check_socket(const char *text, uint64_t number)
{
	(void)number;
	if (*text != '/')
		return "is not an absolute path";
	return strlen(text) >= sizeof(((struct sockaddr_un *)NULL)->sun_path) ? "is too long for a socket" : NULL;
}

static const char *check_record(const char *text, uint64_t number)
{
	(void)number;
	return strcmp(text, "-") == 0 ? "cannot be standard output: give a path" : NULL;
}

static const char *check_listen(const char *text, uint64_t number)
{
	struct listen_address a;
	const char *wrong = NULL;

	(void)number;
	return listen_parse(text, &a, &wrong) < 0 ? wrong : NULL;
}

static const char *check_url(const char *text, uint64_t number)
{
	(void)number;
	return !*text || strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0 ? NULL :
	       "begins neither with http:// nor with https://";
}

static const char *check_socket_or_none(const char *text, uint64_t number)
{
	return *text ? check_socket(text, number) : NULL;
}

static const char *check_hosts(const char *text, uint64_t number)
{
	(void)number;
	return text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_., ")] ?
	       "is not names with commas between them, without ports" : NULL;
}

/* "kretprobe", or one of the ways that go on from it: "kretprobe_va". */
static bool is_how(const char *word, size_t len)
{
	static const char *const hows[] = { "fentry", "fexit", "kprobe", "kretprobe", "tp", "raw_tp", "tracefs", "ksyscall" };

	for (size_t i = 0; i < sizeof(hows) / sizeof(hows[0]); i++) {
		size_t n = strlen(hows[i]);

		if (len >= n && strncmp(word, hows[i], n) == 0 && (len == n || word[n] == '_'))
			return true;
	}
	return false;
}

/* HOW, or HOOK:HOW, with commas between them. */
static const char *check_words(const char *text, uint64_t number)
{
	(void)number;
	while (*text) {
		size_t len = strcspn(text, ","), hook = strcspn(text, ":,");
		char name[64];

		if (text[hook] == ':') {
			snprintf(name, sizeof(name), "%.*s", (int)hook, text);
			if (slot_index(name) < 0)
				return "names a hook that there is not, before a colon: pinwhy doctor lists them";
			if (!is_how(text + hook + 1, len - hook - 1))
				return "names a way to hook that there is not, after a colon: fentry, fexit, kprobe, kretprobe, tp, raw_tp, tracefs";
		} else if (!is_how(text, len)) {
			return "names a way to hook that there is not: use fentry, fexit, kprobe, kretprobe, tp, raw_tp, tracefs, with commas between them";
		}
		text += len + (text[len] == ',');
	}
	return NULL;
}

static const char *check_function(const char *text, uint64_t number)
{
	(void)number;
	if (strlen(text) > 60)
		return "is too long for a kernel function";
	return text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.")] ?
	       "is not the name of a kernel function" : NULL;
}

static const char *check_ring_bytes(const char *text, uint64_t number)
{
	(void)text;
	if (number & (number - 1))
		return "is not a power of two";
	if (number % (uint64_t)sysconf(_SC_PAGESIZE))
		return "is not a multiple of this machine's page size";
	return NULL;
}

const struct config_desc config_descs[CONFIG_IDS] = {
#define ROW(section_, key_, field_, type_, ...) \
	[CONFIG_ID_##field_] = { .section = #section_, .key = #key_, .type = type_, \
				 .offset = offsetof(struct config, field_), __VA_ARGS__ },
#define CONFIG_STR(section, key, field, def_, check_, arg, applies_, help_) \
	ROW(section, key, field, CONFIG_TYPE_STR, .def = (def_), .argument = (arg), \
	    .check = (check_), .applies = CONFIG_##applies_, .help = (help_))
#define CONFIG_CHOICE(section, key, field, def_, choices_, applies_, help_) \
	ROW(section, key, field, CONFIG_TYPE_CHOICE, .def = (def_), .argument = (choices_), \
	    .choices = (choices_), .applies = CONFIG_##applies_, .help = (help_))
#define CONFIG_BOOL(section, key, field, def_, applies_, help_) \
	ROW(section, key, field, CONFIG_TYPE_BOOL, .def = (def_) ? "yes" : "no", \
	    .argument = "yes|no", .applies = CONFIG_##applies_, .help = (help_))
#define CONFIG_U64(section, key, field, def_, min_, max_, check_, unit, applies_, help_) \
	ROW(section, key, field, CONFIG_TYPE_U64, .def = #def_, .argument = (unit), .min = (min_), \
	    .max = (max_), .check = (check_), .applies = CONFIG_##applies_, .help = (help_))
#include "config.def"
#undef CONFIG_STR
#undef CONFIG_CHOICE
#undef CONFIG_BOOL
#undef CONFIG_U64
#undef ROW
};

__attribute__((format(printf, 2, 3)))
static int complain(char *error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(error, CONFIG_ERROR_MAX, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* Is `word` one of "one|two|three"? */
static bool is_choice(const char *choices, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = choices; *p;) {
		size_t n = strcspn(p, "|");

		if (n == len && memcmp(p, word, n) == 0)
			return true;
		p += n + (p[n] == '|');
	}
	return false;
}

static int set_text(const struct config_desc *d, char *field, const char *value, char *error)
{
	const char *wrong;

	if (strlen(value) >= CONFIG_STR_MAX)
		return complain(error, "%s is longer than %d bytes", d->key, CONFIG_STR_MAX - 1);
	if (d->choices && !is_choice(d->choices, value))
		return complain(error, "%s = '%s' is not one of %s", d->key, value, d->choices);
	wrong = d->check ? d->check(value, 0) : NULL;
	if (wrong)
		return complain(error, "%s = '%s' %s", d->key, value, wrong);
	strcpy(field, value);
	return 0;
}

static int set_bool(const struct config_desc *d, bool *field, const char *value, char *error)
{
	if (is_choice("yes|true|on|1", value))
		*field = true;
	else if (is_choice("no|false|off|0", value))
		*field = false;
	else
		return complain(error, "%s = '%s' is not yes or no", d->key, value);
	return 0;
}

static int set_u64(const struct config_desc *d, uint64_t *field, const char *value, char *error)
{
	unsigned long long number;
	const char *wrong;
	char *end;

	errno = 0;
	number = strtoull(value, &end, 10);
	/* strtoull takes blanks and signs; a setting does not. */
	if (value[0] < '0' || value[0] > '9' || *end)
		return complain(error, "%s = '%s' is not a whole number of %s", d->key, value,
				d->argument);
	if (errno || number < d->min || number > d->max)
		return complain(error, "%s = %s is not between %llu and %llu %s", d->key, value,
				(unsigned long long)d->min, (unsigned long long)d->max,
				d->argument);
	wrong = d->check ? d->check(value, number) : NULL;
	if (wrong)
		return complain(error, "%s = %s %s", d->key, value, wrong);
	*field = number;
	return 0;
}

static int set_field(struct config *c, enum config_id id, const char *value, char *error)
{
	const struct config_desc *d = &config_descs[id];
	void *field = (char *)c + d->offset;

	switch (d->type) {
	case CONFIG_TYPE_STR:
	case CONFIG_TYPE_CHOICE:
		return set_text(d, field, value, error);
	case CONFIG_TYPE_BOOL:
		return set_bool(d, field, value, error);
	case CONFIG_TYPE_U64:
		return set_u64(d, field, value, error);
	}
	return -EINVAL;
}

int config_set(struct config *c, enum config_id id, const char *value, char *error)
{
	int err = set_field(c, id, value, error);

	if (!err)
		c->origin[id] = CONFIG_FROM_ARGS;
	return err;
}

void config_defaults(struct config *c)
{
	char error[CONFIG_ERROR_MAX];

	memset(c, 0, sizeof(*c));
	for (int i = 0; i < CONFIG_IDS; i++)
		set_field(c, (enum config_id)i, config_descs[i].def, error);
}

/* ---- the file ---- */

struct parse {
	struct config *c;
	FILE *f;
	const char *name;
	config_wrong_fn wrong;
	void *ctx;
	unsigned int errors;
	unsigned int line;	/* read so far */
	bool broken;		/* the rest is not to be read */
	bool seen[CONFIG_IDS];
	bool hook_seen[CONFIG_HOOKS_MAX];
};

static void locate(struct parse *p, const char *what)
{
	char text[CONFIG_ERROR_MAX + 128];

	snprintf(text, sizeof(text), "%s:%u: %s", p->name, p->line, what);
	p->errors++;
	p->wrong(p->ctx, text);
}

static uint32_t hook_count(void)
{
	uint32_t n = loader_nslots();

	return n < CONFIG_HOOKS_MAX ? n : CONFIG_HOOKS_MAX;
}

static int read_hook(struct parse *p, const char *name, const char *value, char *error)
{
	char hint[80];
	struct suggest s;
	uint32_t i;

	suggest_init(&s, name);
	for (i = 0; i < hook_count(); i++) {
		if (strcmp(loader_slot_name(i), name) == 0)
			break;
		suggest_offer(&s, loader_slot_name(i));
	}
	if (i == hook_count())
		return complain(error, "there is no hook '%s'%s (pinwhy doctor lists them)", name,
				suggest_text(&s, hint, sizeof(hint)));
	if (p->hook_seen[i])
		return complain(error, "hook %s is set twice", name);
	for (unsigned int m = 0; m < sizeof(hook_words) / sizeof(hook_words[0]); m++) {
		if (strcmp(hook_words[m], value) != 0)
			continue;
		p->c->hooks[i] = (enum hook_mode)m;
		p->c->hook_origin[i] = CONFIG_FROM_FILE;
		p->hook_seen[i] = true;
		return 0;
	}
	return complain(error, "%s = '%s' is not one of " HOOK_CHOICES, name, value);
}

static int unknown_key(const char *section, const char *key, char *error)
{
	bool section_known = false;
	struct suggest sections, keys;
	char hint[80];

	suggest_init(&sections, section);
	suggest_init(&keys, key);
	suggest_offer(&sections, "hooks");
	for (int i = 0; i < CONFIG_IDS; i++) {
		suggest_offer(&sections, config_descs[i].section);
		if (strcmp(config_descs[i].section, section) != 0)
			continue;
		section_known = true;
		suggest_offer(&keys, config_descs[i].key);
	}
	if (!*section)
		return complain(error, "'%s' stands before any [section]", key);
	if (!section_known)
		return complain(error, "there is no section [%s]%s", section,
				suggest_text(&sections, hint, sizeof(hint)));
	return complain(error, "section [%s] has no key '%s'%s", section, key,
			suggest_text(&keys, hint, sizeof(hint)));
}

static int read_setting(struct parse *p, const char *section, const char *key, const char *value,
			char *error)
{
	int i, err;

	if (strcmp(section, "hooks") == 0)
		return read_hook(p, key, value, error);
	for (i = 0; i < CONFIG_IDS; i++)
		if (strcmp(config_descs[i].section, section) == 0 &&
		    strcmp(config_descs[i].key, key) == 0)
			break;
	if (i == CONFIG_IDS)
		return unknown_key(section, key, error);
	if (p->seen[i])
		return complain(error, "%s is set twice in [%s]", key, section);
	p->seen[i] = true;
	err = set_field(p->c, (enum config_id)i, value, error);
	if (!err)
		p->c->origin[i] = CONFIG_FROM_FILE;
	return err;
}

/* ini_handler. What is wrong is told here, so that the library has nothing to tell. */
static int on_setting(void *user, const char *section, const char *key, const char *value)
{
	char error[CONFIG_ERROR_MAX];
	struct parse *p = user;

	if (read_setting(p, section, key, value, error) != 0)
		locate(p, error);
	return 1;
}

/* [section], key = value, # comment or nothing: the library goes on behind anything else and tells only the first. */
static bool is_line(const char *s)
{
	size_t n = strcspn(s, "=:");

	if (!*s || *s == '\r' || *s == '#' || *s == ';')
		return true;
	if (*s == '[')
		return strchr(s, ']') != NULL;
	for (size_t i = 1; i < n && s[n]; i++)
		if (s[i] == ';' && (s[i - 1] == ' ' || s[i - 1] == '\t'))
			return false;	/* all of it is a comment */
	return s[n] != '\0';
}

/* One line without its indentation into `buf`. -EBADMSG: there is a NUL byte; -E2BIG: it does not fit; 1: the end. */
static int take_line(struct parse *p, char *buf, size_t cap)
{
	bool indented = true, longer = false;
	size_t len = 0;
	int c;

	while ((c = getc(p->f)) != EOF && c != '\n') {
		if (indented && (c == ' ' || c == '\t'))
			continue;
		indented = false;
		if (c == '\0')
			return -EBADMSG;
		longer |= len == cap;
		if (len < cap)
			buf[len++] = (char)c;
	}
	buf[len] = '\0';
	return longer ? -E2BIG : c == EOF && !len;
}

/*
 * ini_reader, like fgets. Counts lines, since the library tells its handler none;
 * takes off indentation, which it would read as the continuation of the line before;
 * and puts nothing in the place of what it would misread.
 */
static char *read_line(char *buf, int size, void *stream)
{
	struct parse *p = stream;
	size_t cap = (size_t)size - 1;
	const char *bom = "\xef\xbb\xbf";
	char what[64];
	int r;

	if (p->broken)
		return NULL;
	p->line++;
	r = take_line(p, buf, cap);
	if (r == 1)
		return NULL;
	if (r == -EBADMSG) {
		p->broken = true;
		locate(p, "there is a NUL byte: this is not a text file");
		return NULL;
	}
	if (r == -E2BIG) {
		snprintf(what, sizeof(what), "the line is longer than %zu bytes", cap);
		locate(p, what);
		*buf = '\0';
	} else if (!is_line(buf + (p->line == 1 && strncmp(buf, bom, 3) == 0 ? 3 : 0))) {
		locate(p, "this is not a [section], key = value, or # comment");
		*buf = '\0';
	}
	return buf;
}

int config_read_each(struct config *c, FILE *f, const char *name, config_wrong_fn wrong, void *ctx)
{
	struct parse p = { .c = c, .f = f, .name = name, .wrong = wrong, .ctx = ctx };
	char text[CONFIG_ERROR_MAX];
	int line = ini_parse_stream(read_line, &p, on_setting, &p);

	if (ferror(f) || line < 0) {
		snprintf(text, sizeof(text), "cannot read %s: %s", name, strerror(ferror(f) ? EIO : ENOMEM));
		wrong(ctx, text);
		return ferror(f) ? -EIO : -ENOMEM;
	}
	/* Something that only the library takes offence at. */
	if (line && !p.errors) {
		p.line = (unsigned int)line;
		locate(&p, "this is not a [section], key = value, or # comment");
	}
	return p.errors ? -EINVAL : 0;
}

int config_load_each(struct config *c, const char *path, config_wrong_fn wrong, void *ctx)
{
	char text[CONFIG_ERROR_MAX];
	FILE *f = fopen(path, "re");
	int err;

	if (!f) {
		err = -errno;
		snprintf(text, sizeof(text), "cannot read the configuration %s: %s", path, strerror(-err));
		wrong(ctx, text);
		return err;
	}
	err = config_read_each(c, f, path, wrong, ctx);
	fclose(f);
	return err;
}

static void keep_first(void *ctx, const char *text)
{
	char *error = ctx;

	if (!*error)
		snprintf(error, CONFIG_ERROR_MAX, "%s", text);
}

int config_read(struct config *c, FILE *f, const char *name, char *error)
{
	*error = '\0';
	return config_read_each(c, f, name, keep_first, error);
}

int config_load(struct config *c, const char *path, char *error)
{
	*error = '\0';
	return config_load_each(c, path, keep_first, error);
}

int config_gather(struct config *c, const struct config_source *source, config_wrong_fn wrong, void *ctx)
{
	const char *path = source->file ? source->file : CONFIG_PATH_DEFAULT;
	char error[CONFIG_ERROR_MAX], text[CONFIG_ERROR_MAX + 8];
	int err = 0, e;

	config_defaults(c);
	/* The default file may be missing; one that was named may not. */
	if (source->file || access(path, F_OK) == 0)
		err = config_load_each(c, path, wrong, ctx);
	for (int i = 0; i < CONFIG_IDS; i++) {
		if (!source->values[i])
			continue;
		e = config_set(c, (enum config_id)i, source->values[i], error);
		if (!e)
			continue;
		err = e;
		snprintf(text, sizeof(text), "--%s", error);
		wrong(ctx, text);
	}
	if (!err && *c->replay && *c->record) {
		err = -EINVAL;
		wrong(ctx, "--record and --replay exclude each other: what is replayed is recorded already");
	}
	return err;
}

static size_t field_size(const struct config_desc *d)
{
	return d->type == CONFIG_TYPE_BOOL ? sizeof(bool) : d->type == CONFIG_TYPE_U64 ? sizeof(uint64_t) : CONFIG_STR_MAX;
}

unsigned int config_apply(struct config *c, const struct config *next,
			  void (*stays)(void *ctx, const struct config_desc *d), void *ctx)
{
	unsigned int changed = 0;

	for (int i = 0; i < CONFIG_IDS; i++) {
		const struct config_desc *d = &config_descs[i];
		void *to = (char *)c + d->offset;
		const void *from = (const char *)next + d->offset;
		bool text = d->type == CONFIG_TYPE_STR || d->type == CONFIG_TYPE_CHOICE;

		if (text ? strcmp(to, from) == 0 : memcmp(to, from, field_size(d)) == 0)
			continue;
		if (d->applies == CONFIG_RESTART) {
			stays(ctx, d);
			continue;
		}
		memcpy(to, from, field_size(d));
		c->origin[i] = next->origin[i];
		changed++;
	}
	for (int i = 0; i < CONFIG_HOOKS_MAX; i++)
		changed += c->hooks[i] != next->hooks[i];
	memcpy(c->hooks, next->hooks, sizeof(c->hooks));
	memcpy(c->hook_origin, next->hook_origin, sizeof(c->hook_origin));
	return changed;
}

/* ---- printing ---- */

static void value_text(const struct config *c, const struct config_desc *d, char *buf, size_t size)
{
	const void *field = (const char *)c + d->offset;

	switch (d->type) {
	case CONFIG_TYPE_STR:
	case CONFIG_TYPE_CHOICE:
		snprintf(buf, size, "%s", (const char *)field);
		break;
	case CONFIG_TYPE_BOOL:
		snprintf(buf, size, "%s", *(const bool *)field ? "yes" : "no");
		break;
	case CONFIG_TYPE_U64:
		snprintf(buf, size, "%llu", (unsigned long long)*(const uint64_t *)field);
		break;
	}
}

static const char *origin_text(enum config_origin o)
{
	static const char *const words[] = {
		[CONFIG_FROM_DEFAULT] = "default",
		[CONFIG_FROM_FILE] = "file",
		[CONFIG_FROM_ARGS] = "command line",
	};

	return words[o];
}

/* Prints "[section]" when row `i` begins one. Rows of a section stand together. */
static void print_section(int i, FILE *f)
{
	if (i == 0 || strcmp(config_descs[i].section, config_descs[i - 1].section) != 0)
		fprintf(f, "%s[%s]\n", i ? "\n" : "", config_descs[i].section);
}

void config_print(const struct config *c, FILE *f)
{
	char value[CONFIG_STR_MAX];

	for (int i = 0; i < CONFIG_IDS; i++) {
		print_section(i, f);
		value_text(c, &config_descs[i], value, sizeof(value));
		fprintf(f, "%s = %s ; %s\n", config_descs[i].key, value, origin_text(c->origin[i]));
	}
	fputs("\n[hooks]\n", f);
	for (uint32_t i = 0; i < hook_count(); i++)
		fprintf(f, "%s = %s ; %s\n", loader_slot_name(i), hook_words[c->hooks[i]],
			origin_text(c->hook_origin[i]));
}

static void print_allowed(const struct config_desc *d, FILE *f)
{
	if (d->type == CONFIG_TYPE_U64)
		fprintf(f, "# %llu to %llu %s\n", (unsigned long long)d->min,
			(unsigned long long)d->max, d->argument);
	else
		fprintf(f, "# %s\n", d->argument);
}

void config_print_example(FILE *f)
{
	fputs("# Settings of pinwhy run. Every key is shown with its default, switched off.\n"
	      "# Check a change with: pinwhy run -c FILE --check\n\n", f);
	for (int i = 0; i < CONFIG_IDS; i++) {
		const struct config_desc *d = &config_descs[i];

		print_section(i, f);
		fprintf(f, "# %s\n", d->help);
		if (d->applies == CONFIG_RESTART)
			fputs("# needs a restart\n", f);
		print_allowed(d, f);
		fprintf(f, "#%s =%s%s\n", d->key, *d->def ? " " : "", d->def);
	}
	fputs("\n[hooks]\n# " HOOK_HELP "\n# " HOOK_CHOICES "\n#NAME = auto\n", f);
}
