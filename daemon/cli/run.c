// SPDX-License-Identifier: BSD-2-Clause
/* pinwhy run: options and configuration; agent.c does the rest. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"
#include "cli/cli.h"
#include "config.h"
#include "log.h"
#include "suggest.h"

/* Long options: getopt's numbers. A key of [pinwhy] has its row in config.def, from OPT_CONFIG on. */
enum { OPT_HELP = 'h', OPT_FILE = 'c', OPT_CHECK = 256, OPT_PRINT, OPT_CONFIG = 512 };

#define FIXED_OPTIONS 4
#define OPTIONS_MAX (FIXED_OPTIONS + CONFIG_IDS + 1)

struct arguments {
	struct config_source source;
	bool check, print;
};

/* Keys of other sections that have an option all the same. */
static const char *option_name(int id)
{
	return id == CONFIG_ID_web_config ? "web-config" : config_descs[id].key;
}

static bool is_option(int id)
{
	return id == CONFIG_ID_web_config || strcmp(config_descs[id].section, "pinwhy") == 0;
}

static void build_options(struct option *ret_options)
{
	static const struct option fixed[FIXED_OPTIONS] = {
		{ "help", no_argument, NULL, OPT_HELP },
		{ "config", required_argument, NULL, OPT_FILE },
		{ "check", no_argument, NULL, OPT_CHECK },
		{ "print-config", no_argument, NULL, OPT_PRINT },
	};
	int n = FIXED_OPTIONS;

	memset(ret_options, 0, sizeof(*ret_options) * OPTIONS_MAX);
	memcpy(ret_options, fixed, sizeof(fixed));
	for (int i = 0; i < CONFIG_IDS; i++) {
		if (!is_option(i))
			continue;
		ret_options[n].name = option_name(i);
		ret_options[n].has_arg = config_descs[i].type == CONFIG_TYPE_BOOL ? no_argument
										  : required_argument;
		ret_options[n++].val = OPT_CONFIG + i;
	}
}

static void print_help(void)
{
	char left[64];

	puts("Usage: pinwhy run [OPTIONS]\n"
	     "Watches this node and writes a report for each registration that fails.\n\n"
	     "  -c, --config FILE          settings (default " CONFIG_PATH_DEFAULT ", if there)\n"
	     "      --check                say what is wrong with the settings, all of it, and end\n"
	     "      --print-config         print the settings in force and where each comes from, and end");
	for (int i = 0; i < CONFIG_IDS; i++) {
		const struct config_desc *d = &config_descs[i];

		if (!is_option(i))
			continue;
		if (d->type == CONFIG_TYPE_BOOL)
			snprintf(left, sizeof(left), "--%s", option_name(i));
		else
			snprintf(left, sizeof(left), "--%s %s", option_name(i), d->argument);
		printf("      %-22s %s\n", left, d->help);
	}
	puts("  -h, --help                 this text\n\n"
	     "An option wins over the same key in the file.");
}

static int complain_option(const struct option *options, const char *word, int optc)
{
	struct suggest s;
	char hint[80];

	if (optc == ':') {
		fprintf(stderr, "pinwhy run: option '%s' needs a value\n", word);
		return 2;
	}
	suggest_init(&s, word + strspn(word, "-"));
	for (const struct option *o = options; o->name; o++)
		suggest_offer(&s, o->name);
	fprintf(stderr, "pinwhy run: there is no option '%s'%s\nTry 'pinwhy run --help'.\n", word,
		suggest_text(&s, hint, sizeof(hint)));
	return 2;
}

/* 0 = go on, else an exit status plus one, so that --help can end with 0. */
static int parse(int argc, char **argv, struct arguments *args)
{
	struct option options[OPTIONS_MAX];
	int c;

	build_options(options);
	opterr = 0;
	optind = 1;
	while ((c = getopt_long(argc, argv, ":c:h", options, NULL)) != -1) {
		if (c == OPT_HELP) {
			print_help();
			return 1;
		}
		if (c == '?' || c == ':')
			return 1 + complain_option(options, argv[optind - 1], c);
		if (c == OPT_FILE)
			args->source.file = optarg;
		else if (c == OPT_CHECK)
			args->check = true;
		else if (c == OPT_PRINT)
			args->print = true;
		else
			args->source.values[c - OPT_CONFIG] = optarg ? optarg : "yes";
	}
	if (optind < argc) {
		fprintf(stderr, "pinwhy run: '%s' is not an option; run takes nothing else\n",
			argv[optind]);
		return 1 + 2;
	}
	return 0;
}

static void tell_wrong(void *ctx, const char *text)
{
	(void)ctx;
	fprintf(stderr, "pinwhy run: %s\n", text);
}

static int act(struct config *config, const struct arguments *args)
{
	if (config_gather(config, &args->source, tell_wrong, NULL))
		return 2;
	if (args->print)
		config_print(config, stdout);
	else if (args->check)
		puts("the settings are fine");
	if (args->print || args->check)
		return 0;
	log_max_level = config->verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO;
	return agent_run(config, &args->source);
}

int cmd_run(int argc, char **argv)
{
	struct arguments args = { 0 };
	struct config *config;
	int status;

	status = parse(argc, argv, &args);
	if (status)
		return status - 1;
	config = malloc(sizeof(*config));
	if (!config) {
		fprintf(stderr, "pinwhy run: out of memory\n");
		return 2;
	}
	status = act(config, &args);
	free(config);
	return status;
}
