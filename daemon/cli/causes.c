// SPDX-License-Identifier: BSD-2-Clause
/* pinwhy causes: the causes that pinwhy knows, and how each is told from its neighbours. */
#include <getopt.h>
#include <json-c/json_object.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "diagnose.h"
#include "jbuild.h"
#include "names.h"
#include "sinks/fields.h"
#include "suggest.h"
#include "text.h"

static const char help[] =
	"Usage: pinwhy causes [ID] [--json]\n"
	"Lists the causes that a report can name, or tells all about one.\n\n"
	"      --json   as JSON\n"
	"  -h, --help   this text\n";

static void print_wrapped(const char *text)
{
	size_t column = 2, len;

	fputs("  ", stdout);
	while (*text) {
		len = strcspn(text, " ");
		if (column > 2 && column + 1 + len > 100) {
			fputs("\n  ", stdout);
			column = 2;
		} else if (column > 2) {
			fputc(' ', stdout);
			column++;
		}
		fwrite(text, 1, len, stdout);
		column += len;
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', stdout);
}

/* "EINVAL, EOPNOTSUPP": of the function that fails. */
static const char *errno_list(const struct cause *c, char *buf, size_t size)
{
	struct text t;

	text_init(&t, buf, size);
	for (const int *e = c->errnos; *e; e++)
		text_item(&t, name_errno(*e));
	return buf;
}

static void print_cause(const struct cause *c)
{
	char errnos[128], id[MESSAGE_ID_LEN];

	printf("%s\n%s\n\n", c->id, c->title);
	if (c->errnos)
		printf("Errno\n  %s%s\n\n", errno_list(c, errnos, sizeof(errnos)),
		       c->stages & 1u << STAGE_pin ? "; io_uring and AF_XDP may give another, of their own, for a pin that stopped early" : "");
	puts("What happens");
	print_wrapped(c->what);
	puts("\nHow pinwhy tells");
	print_wrapped(c->how);
	puts("\nHow to confirm it without pinwhy");
	print_wrapped(c->confirm);
	printf("\nIn the systemd journal\n  MESSAGE_ID=%s\n", fields_message_id("", c->id, id));
}

static void list_causes(void)
{
	uint32_t i;

	for (i = 0; i < ncauses; i++) {
		char errnos[128];

		printf("%s%s%s\n    %s\n", causes[i].id, causes[i].errnos ? "  " : "",
		       causes[i].errnos ? errno_list(&causes[i], errnos, sizeof(errnos)) : "", causes[i].title);
	}
	puts("unknown\n    the absence of a verdict: the report tells what was seen and what was missing");
}

static struct json_object *cause_json(struct jbuild *b, const struct cause *c)
{
	struct json_object *o = jb_object(b), *errnos;
	char id[MESSAGE_ID_LEN];

	jb_string(b, o, "id", c->id);
	jb_string(b, o, "title", c->title);
	if (c->errnos) {
		errnos = jb_array(b);
		for (const int *e = c->errnos; *e; e++)
			jb_append_string(b, errnos, name_errno(*e));
		jb_put(b, o, "errnos", errnos);
	}
	jb_string(b, o, "what", c->what);
	jb_string(b, o, "how", c->how);
	jb_string(b, o, "confirm", c->confirm);
	jb_string(b, o, "message_id", fields_message_id("", c->id, id));
	return o;
}

static int print_json(const struct cause *one)
{
	const int flags = JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE;
	struct jbuild b = { 0 };
	struct json_object *o;
	uint32_t i;

	if (one) {
		o = cause_json(&b, one);
	} else {
		o = jb_array(&b);
		for (i = 0; i < ncauses; i++)
			jb_append(&b, o, cause_json(&b, &causes[i]));
	}
	if (b.failed)
		fputs("pinwhy causes: out of memory\n", stderr);
	else
		puts(json_object_to_json_string_ext(o, flags));
	json_object_put(o);
	return b.failed;
}

static int complain(const char *id)
{
	struct suggest s;
	char hint[128];
	uint32_t i;

	if (strcmp(id, "unknown") == 0) {
		puts("unknown\n\nNo known cause fits what was seen. The report says what that was (seen, chain) and what was\n"
		     "missing (miss); `pinwhy doctor` tells which hooks this kernel lacks.");
		return 0;
	}
	suggest_init(&s, id);
	for (i = 0; i < ncauses; i++)
		suggest_offer(&s, causes[i].id);
	fprintf(stderr, "pinwhy causes: there is no cause '%s'%s\n'pinwhy causes' lists them all.\n", id,
		suggest_text(&s, hint, sizeof(hint)));
	return 2;
}

int cmd_causes(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	const struct cause *one = NULL;
	bool json = false;
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			return 0;
		}
		if (c != 'j') {
			fputs("Try 'pinwhy causes --help'.\n", stderr);
			return 2;
		}
		json = true;
	}
	if (argc - optind > 1) {
		fputs("pinwhy causes: name one cause, or none\n", stderr);
		return 2;
	}
	if (optind < argc) {
		one = cause_find(argv[optind]);
		if (!one)
			return complain(argv[optind]);
	}
	if (json)
		return print_json(one);
	if (one)
		print_cause(one);
	else
		list_causes();
	return 0;
}
