// SPDX-License-Identifier: BSD-2-Clause
/* pinwhy trace: options; trace.c does the rest. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "config.h"
#include "log.h"
#include "trace.h"
#include "wire.h"

static const char help[] =
	"Usage: pinwhy trace [OPTIONS] -p PID | --comm NAME | -- COMMAND [ARGUMENT]...\n"
	"Tells every memory registration of a process step by step, success included, as it happens.\n\n"
	"  -p, --pid PID            this process, until it ends\n"
	"      --comm NAME          all processes of this name (as in /proc/PID/comm) and what they fork, until a signal comes\n"
	"      -- COMMAND           this command, which is started once hooks are attached, and all it starts; until it ends\n\n"
	"  -o, --output FILE        write there instead of to standard output\n"
	"      --format json|text   one JSON object per step, with the report of each failure, or lines of text (default)\n"
	"      --seconds N          end after so long\n"
	"      --count N            end after so many registrations\n"
	"  -c, --config FILE        settings (default " CONFIG_PATH_DEFAULT ", if there)\n"
	"      --btf PACK           this kernel's BTF, where it shows none (packaging/btf-pack)\n"
	"      --verbose            say more on standard error\n"
	"  -h, --help               this text\n\n"
	"Exit status: of COMMAND its own, 128 + N when signal N ended it, 125 when it was not run because tracing failed,\n"
	"126 or 127 when it could not be run. Without one: 0; 1 when the trace is incomplete; 2 when nothing could be traced.\n";

enum { OPT_COMM = 256, OPT_FORMAT, OPT_SECONDS, OPT_COUNT, OPT_VERBOSE, OPT_BTF };

struct arguments {
	struct trace_opts opts;
	const char *config;	/* NULL: the default file, if there is one */
	const char *btf;	/* NULL: as the configuration has it */
	bool verbose;
};

/* False, with a message, when it is no number from 1 on. */
static bool number(const char *option, const char *word, unsigned long max, unsigned long *ret)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(word, &end, 10);
	if (word[0] < '0' || word[0] > '9' || *end || errno || n < 1 || n > max) {
		fprintf(stderr, "pinwhy trace: %s needs a number from 1 to %lu, not '%s'\n", option, max, word);
		return false;
	}
	*ret = n;
	return true;
}

static bool option_set(struct arguments *a, int option, const char *value)
{
	unsigned long n = 0;
	bool ok = true;

	switch (option) {
	case 'p':
		ok = number("-p", value, INT_MAX, &n);
		a->opts.pid = (pid_t)n;
		break;
	case OPT_SECONDS:
		ok = number("--seconds", value, 1000000000, &n);
		a->opts.seconds = n;
		break;
	case OPT_COUNT:
		ok = number("--count", value, ULONG_MAX, &n);
		a->opts.count = n;
		break;
	case OPT_FORMAT:
		ok = strcmp(value, "json") == 0 || strcmp(value, "text") == 0;
		a->opts.json = strcmp(value, "json") == 0;
		if (!ok)
			fputs("pinwhy trace: --format is json or text\n", stderr);
		break;
	case OPT_COMM: a->opts.comm = value; break;
	case OPT_VERBOSE: a->verbose = true; break;
	case 'o': a->opts.output = value; break;
	case 'c': a->config = value; break;
	case OPT_BTF: a->btf = value; break;
	default:
		fputs("Try 'pinwhy trace --help'.\n", stderr);
		ok = false;
	}
	return ok;
}

static bool check(const struct arguments *a)
{
	int targets = (a->opts.pid != 0) + (a->opts.comm != NULL) + (a->opts.command != NULL);

	if (targets != 1) {
		fputs("pinwhy trace: name one of -p PID, --comm NAME, or -- COMMAND\nTry 'pinwhy trace --help'.\n", stderr);
		return false;
	}
	if (a->opts.comm && (!a->opts.comm[0] || strlen(a->opts.comm) >= WIRE_COMM_LEN)) {
		fprintf(stderr, "pinwhy trace: the kernel cuts names of processes to %d characters; give --comm as in /proc/PID/comm\n",
			WIRE_COMM_LEN - 1);
		return false;
	}
	return true;
}

static bool load(struct config *config, const struct arguments *a)
{
	const char *path = a->config ? a->config : CONFIG_PATH_DEFAULT;
	char error[CONFIG_ERROR_MAX];

	config_defaults(config);
	if ((!a->config && access(path, F_OK) != 0) || config_load(config, path, error) == 0) {
		if (!a->btf || config_set(config, CONFIG_ID_btf, a->btf, error) == 0)
			return true;
	}
	fprintf(stderr, "pinwhy trace: %s\n", error);
	return false;
}

static int run(struct arguments *a)
{
	struct config *config = malloc(sizeof(*config));
	int status = a->opts.command ? 125 : 2;

	if (!config)
		fputs("pinwhy trace: out of memory\n", stderr);
	else if (load(config, a)) {
		a->opts.config = config;
		log_max_level = a->verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO;
		status = trace_run(&a->opts);
	}
	free(config);
	return status;
}

int cmd_trace(int argc, char **argv)
{
	static const struct option options[] = {
		{ "pid", required_argument, NULL, 'p' },
		{ "comm", required_argument, NULL, OPT_COMM },
		{ "output", required_argument, NULL, 'o' },
		{ "format", required_argument, NULL, OPT_FORMAT },
		{ "seconds", required_argument, NULL, OPT_SECONDS },
		{ "count", required_argument, NULL, OPT_COUNT },
		{ "config", required_argument, NULL, 'c' },
		{ "btf", required_argument, NULL, OPT_BTF },
		{ "verbose", no_argument, NULL, OPT_VERBOSE },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct arguments args = { 0 };
	int c;

	optind = 1;
	/* The first word that is no option begins the command. */
	while ((c = getopt_long(argc, argv, "+p:o:c:h", options, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			return 0;
		}
		if (!option_set(&args, c, optarg))
			return 2;
	}
	if (optind < argc)
		args.opts.command = argv + optind;
	return check(&args) ? run(&args) : 2;
}
