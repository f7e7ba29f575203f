// SPDX-License-Identifier: BSD-2-Clause
/* pinwhy explain: reports as a person reads them. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <json-c/json_object.h>
#include <json-c/json_tokener.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "config.h"
#include "explain.h"
#include "text.h"

#define REPORT_BYTES_MAX (4u << 20)
#define REPORT_DEPTH_MAX 16

static const char help[] =
	"Usage: pinwhy explain [FILE|-] [--pid N] [--since T] [--id ID] [--full] [--color=WHEN]\n"
	"Prints reports as a person reads them. FILE holds one report or many, in JSON; - is standard\n"
	"input. Without FILE: this node's latest report, from " CONFIG_REPORTS_SERVICE ".\n\n"
	"      --pid N     only of this process\n"
	"      --since T   only from T on: 90s, 10m, 2h, 3d, or a time in UTC, 2026-11-29T04:12:00Z\n"
	"      --id ID     only this report; the beginning of its id is enough\n"
	"      --full      everything a report says, not only what fits on a screen\n"
	"      --color=WHEN  auto: on a terminal, unless NO_COLOR is set; always; never\n"
	"  -h, --help      this text\n\n"
	"Lines are as wide as the terminal, or as COLUMNS says.\n";

struct wanted {
	const char *id;
	int64_t pid;		/* 0 = any */
	char since[TEXT_TIME_LEN];	/* "" = any; compared as text */
	bool last_only;
	bool full;
	const char *colour;	/* auto, always, never */
};

struct reading {
	const struct wanted *wanted;
	struct explain_style style;
	uint64_t printed, reports, skipped_lines;
	bool torn;
	struct json_object *last;	/* kept when only the last one is wanted */
};

static const char *member(struct json_object *report, const char *key)
{
	struct json_object *v;

	if (!json_object_object_get_ex(report, key, &v) || !json_object_is_type(v, json_type_string))
		return "";
	return json_object_get_string(v);
}

static bool fits(const struct wanted *w, struct json_object *report)
{
	struct json_object *process, *pid;

	if (w->id && strncmp(member(report, "report_id"), w->id, strlen(w->id)) != 0)
		return false;
	/* RFC 3339 times in UTC sort as text. */
	if (w->since[0] && strcmp(member(report, "time"), w->since) < 0)
		return false;
	if (w->pid == 0)
		return true;
	return json_object_object_get_ex(report, "process", &process) &&
	       json_object_object_get_ex(process, "pid", &pid) && json_object_get_int64(pid) == w->pid;
}

static void print_report(struct reading *r, struct json_object *report)
{
	if (r->printed++)
		fputc('\n', stdout);
	explain_print_style(stdout, report, &r->style);
}

/* Takes over the report. */
static void one_report(struct reading *r, struct json_object *report)
{
	if (!json_object_is_type(report, json_type_object) || !member(report, "report_id")[0]) {
		json_object_put(report);
		return;
	}
	r->reports++;
	if (fits(r->wanted, report)) {
		if (!r->wanted->last_only) {
			print_report(r, report);
		} else {
			json_object_put(r->last);
			r->last = json_object_get(report);
		}
	}
	json_object_put(report);
}

/*
 * Reports come one per line or spread over lines. Lines between them that do not begin with '{'
 * are a log's and are passed over; after a damaged report reading goes on at the next line.
 */
static int read_all(struct reading *r, FILE *in, struct json_tokener *tok)
{
	char line[16384];
	struct json_object *o;
	size_t len, bytes = 0, at;

	errno = 0;
	while (fgets(line, sizeof(line), in)) {
		len = strlen(line);
		at = bytes ? 0 : strspn(line, " \t\r\n");
		if (bytes == 0 && at < len && line[at] != '{') {
			r->skipped_lines++;
			while (len && line[len - 1] != '\n' && fgets(line, sizeof(line), in))
				len = strlen(line);
			continue;
		}
		while (at < len) {
			o = json_tokener_parse_ex(tok, line + at, (int)(len - at));
			bytes += len - at;
			if (json_tokener_get_error(tok) == json_tokener_continue && bytes <= REPORT_BYTES_MAX)
				break;
			if (json_tokener_get_error(tok) == json_tokener_success) {
				at += json_tokener_get_parse_end(tok);
				at += strspn(line + at, " \t\r\n");
				one_report(r, o);
			} else {
				r->skipped_lines++;
				at = len;
			}
			json_tokener_reset(tok);
			bytes = 0;
		}
	}
	r->torn = bytes > 0;
	return ferror(in) ? (errno ? -errno : -EIO) : 0;
}

static unsigned int terminal_columns(void)
{
	struct winsize size;

	if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		return size.ws_col;
	return 0;
}

static struct explain_style style_of(const struct wanted *wanted)
{
	return (struct explain_style){
		.width = explain_width(getenv("COLUMNS"), terminal_columns()),
		.colour = explain_colour(wanted->colour, getenv("NO_COLOR"), getenv("TERM"),
					 isatty(STDOUT_FILENO)) == 1,
		.full = wanted->full,
	};
}

/* Nothing was printed: what was there instead, and what helps. */
static void tell_nothing(const struct reading *r, const char *path)
{
	const struct wanted *w = r->wanted;

	if (r->reports == 0) {
		fprintf(stderr, "pinwhy explain: %s holds no report: name a file that `pinwhy run --reports FILE` writes, "
			"as JSON; of a recording: `pinwhy replay`\n", path);
		return;
	}
	fprintf(stderr, "pinwhy explain: %s: none of its reports fits (%llu read); ask for less: leave out%s%s%s\n", path,
		(unsigned long long)r->reports, w->id ? " --id" : "", w->pid ? " --pid" : "",
		w->since[0] ? " --since, or go back further" : "");
}

static int conclude(struct reading *r, const char *path, int err)
{
	if (r->last)
		print_report(r, r->last);
	json_object_put(r->last);
	if (err)
		fprintf(stderr, "pinwhy explain: reading %s failed: %s\n", path, strerror(-err));
	if (r->torn)
		fprintf(stderr, "pinwhy explain: %s ends in the middle of a report (the last one is cut off)\n", path);
	if (r->skipped_lines)
		fprintf(stderr, "pinwhy explain: %s: %llu line%s not part of a report passed over\n", path,
			(unsigned long long)r->skipped_lines, r->skipped_lines == 1 ? " that is" : "s that are");
	if (r->printed == 0 && !err)
		tell_nothing(r, path);
	if (fflush(stdout) != 0) {
		fprintf(stderr, "pinwhy explain: cannot write: %s\n", strerror(errno));
		return 1;
	}
	if (err && r->printed == 0)
		return 2;
	return err || r->torn || r->printed == 0;
}

static int explain_file(const struct wanted *wanted, const char *path, FILE *in)
{
	struct reading r = { .wanted = wanted, .style = style_of(wanted) };
	struct json_tokener *tok = json_tokener_new_ex(REPORT_DEPTH_MAX);
	int err;

	if (!tok) {
		fputs("pinwhy explain: out of memory\n", stderr);
		return 1;
	}
	err = read_all(&r, in, tok);
	json_tokener_free(tok);
	return conclude(&r, path, err);
}

static int explain_path(const struct wanted *wanted, const char *path, bool is_default)
{
	FILE *in;
	int status;

	if (strcmp(path, "-") == 0)
		return explain_file(wanted, "standard input", stdin);
	in = fopen(path, "re");
	if (!in) {
		fprintf(stderr, "pinwhy explain: cannot open %s: %s\n", path, strerror(errno));
		if (is_default)
			fputs("The service writes its reports there; name another file if this node's daemon was "
			      "started with other options, or pipe them in: pinwhy explain -\n", stderr);
		return 2;
	}
	status = explain_file(wanted, path, in);
	fclose(in);
	return status;
}

static bool parse_pid(const char *s, struct wanted *w)
{
	char *end;

	errno = 0;
	w->pid = strtol(s, &end, 10);
	if (isdigit((unsigned char)*s) && !*end && !errno && w->pid > 0)
		return true;
	fprintf(stderr, "pinwhy explain: --pid %s: not a process id; give its number\n", s);
	return false;
}

static bool parse_id(const char *s, struct wanted *w)
{
	w->id = s;
	if (*s && s[strspn(s, "0123456789abcdef-")] == '\0')
		return true;
	fprintf(stderr, "pinwhy explain: --id %s: not a report's id; give the beginning of one, as on its line `more`\n", s);
	return false;
}

/* False: the value is none; says what is. */
static bool take_option(int c, const char *value, struct wanted *w)
{
	switch (c) {
	case 'p':
		return parse_pid(value, w);
	case 's':
		if (text_since(w->since, value, (uint64_t)time(NULL) * 1000000000))
			return true;
		fprintf(stderr, "pinwhy explain: --since %s: give 90s, 10m, 2h, 3d, or 2026-11-29T04:12:00Z\n", value);
		return false;
	case 'i':
		return parse_id(value, w);
	case 'f':
		w->full = true;
		return true;
	case 'c':
		w->colour = value ? value : "always";
		if (explain_colour(w->colour, NULL, NULL, false) >= 0)
			return true;
		fprintf(stderr, "pinwhy explain: --color=%s: give auto, always or never\n", w->colour);
		return false;
	default:
		fputs("Try 'pinwhy explain --help'.\n", stderr);
		return false;
	}
}

/* -1 = go on, else an exit status. */
static int parse(int argc, char **argv, struct wanted *w)
{
	static const struct option options[] = {
		{ "pid", required_argument, NULL, 'p' },
		{ "since", required_argument, NULL, 's' },
		{ "id", required_argument, NULL, 'i' },
		{ "full", no_argument, NULL, 'f' },
		{ "color", optional_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			return 0;
		}
		if (!take_option(c, optarg, w))
			return 2;
	}
	if (argc - optind > 1) {
		fputs("pinwhy explain: name one file\n", stderr);
		return 2;
	}
	return -1;
}

int cmd_explain(int argc, char **argv)
{
	struct wanted wanted = { .colour = "auto" };
	int status = parse(argc, argv, &wanted);

	if (status >= 0)
		return status;
	if (optind < argc)
		return explain_path(&wanted, argv[optind], false);
	wanted.last_only = !wanted.id && !wanted.pid && !wanted.since[0];
	return explain_path(&wanted, CONFIG_REPORTS_SERVICE, true);
}
