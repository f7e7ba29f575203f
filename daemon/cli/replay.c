// SPDX-License-Identifier: BSD-2-Clause
/* pinwhy replay: a recording's reports once more, without BPF and without the node. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "capture.h"
#include "cli/cli.h"
#include "explain.h"

static const char help[] =
	"Usage: pinwhy replay FILE [--format json|text]\n"
	"Feeds a recording of 'pinwhy run --record FILE' through the same code again and prints\n"
	"the reports on standard output. FILE may be - for standard input.\n\n"
	"      --format json|text   one report per line (default), or as pinwhy explain prints it\n"
	"  -h, --help               this text\n\n"
	"Exit status: 0 all of it was replayed; 1 the recording is damaged or ends too early\n"
	"(what could be read was replayed); 2 it could not be read at all.\n";

static void emit_json(void *ctx, const struct report *report)
{
	(void)ctx;
	fwrite(report->line, 1, report->line_len, stdout);
	fputc('\n', stdout);
}

static void emit_text(void *ctx, const struct report *report)
{
	uint64_t *n = ctx;

	if ((*n)++)
		fputc('\n', stdout);
	explain_print(stdout, report->json);
}

static int replay(const char *path, FILE *in, bool text)
{
	struct pipeline_stats stats = { 0 };
	struct capture_error error;
	const char *broken;
	uint64_t printed = 0;
	int rc = capture_replay(in, text ? emit_text : emit_json, &printed, &stats, &error);

	if (rc == -ENOMEM && !error.text[0])
		fputs("pinwhy replay: out of memory\n", stderr);
	else if (rc)
		fprintf(stderr, "pinwhy replay: %s, line %" PRIu64 ": %s\n", path, error.line, error.text);
	broken = pipeline_ledger(&stats);
	if (broken) {
		fprintf(stderr, "pinwhy replay: the ledger does not balance (%s): a defect of pinwhy\n", broken);
		return 1;
	}
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, "pinwhy replay: cannot write the reports: %s\n", strerror(errno));
		return 1;
	}
	if (stats.records_bad)
		fprintf(stderr, "pinwhy replay: %s: %" PRIu64 " records could not be read (damaged, or of another version of pinwhy)\n", path,
			stats.records_bad);
	if (rc == 0)
		return stats.records_bad ? 1 : 0;
	return stats.records || rc == -ENODATA ? 1 : 2;
}

int cmd_replay(int argc, char **argv)
{
	static const struct option options[] = {
		{ "format", required_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	const char *path;
	bool text = false;
	FILE *in;
	int c, status;

	optind = 1;
	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			return 0;
		}
		if (c != 'f' || (strcmp(optarg, "json") != 0 && strcmp(optarg, "text") != 0)) {
			fputs(c == 'f' ? "pinwhy replay: --format is json or text\n" :
			      "Try 'pinwhy replay --help'.\n", stderr);
			return 2;
		}
		text = strcmp(optarg, "text") == 0;
	}
	if (argc - optind != 1) {
		fputs("pinwhy replay: name one recording\nTry 'pinwhy replay --help'.\n", stderr);
		return 2;
	}
	path = argv[optind];
	if (strcmp(path, "-") == 0)
		return replay("standard input", stdin, text);
	in = fopen(path, "re");
	if (!in) {
		fprintf(stderr, "pinwhy replay: cannot open %s: %s\n", path, strerror(errno));
		return 2;
	}
	status = replay(path, in, text);
	fclose(in);
	return status;
}
