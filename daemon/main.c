// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "suggest.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);	/* argv[0] is the command; returns the exit status */
	const char *summary;
} commands[] = {
	{ "run", cmd_run, "watch this node and report every failed registration" },
	{ "doctor", cmd_doctor, "what this node supports and which hooks would attach" },
	{ "pages", cmd_pages, "where a process's pages lie, and whether a long-term pin of them would succeed" },
	{ "explain", cmd_explain, "print reports as a person reads them" },
	{ "trace", cmd_trace, "tell every registration of a process step by step" },
	{ "replay", cmd_replay, "make the reports of a recording again, without a kernel" },
	{ "causes", cmd_causes, "list the causes, or tell all about one" },
};
#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *f)
{
	fputs("Usage: pinwhy COMMAND [OPTIONS]\n"
	      "Explains why an RDMA memory registration failed, with proof.\n\n"
	      "Commands:\n", f);
	for (size_t i = 0; i < NCOMMANDS; i++)
		fprintf(f, "  %-8s  %s\n", commands[i].name, commands[i].summary);
	fputs("\nOptions:\n"
	      "  --help     this text; pinwhy COMMAND --help for a command's options\n"
	      "  --version  version of this program\n\n"
	      "All of it: man 8 pinwhy\n", f);
}

static int unknown(const char *word)
{
	struct suggest s;
	char hint[80];

	suggest_init(&s, word);
	if (word[0] == '-') {
		suggest_offer(&s, "--help");
		suggest_offer(&s, "--version");
	} else {
		for (size_t i = 0; i < NCOMMANDS; i++)
			suggest_offer(&s, commands[i].name);
	}
	fprintf(stderr, "pinwhy: there is no %s '%s'%s\nTry 'pinwhy --help'.\n",
		word[0] == '-' ? "option" : "command", word, suggest_text(&s, hint, sizeof(hint)));
	return 2;
}

/* Whoever starts us with 0, 1 or 2 closed must not make a file we open become one of them. */
static int open_standard_fds(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* Output that could not be written is a failure, e.g. help into a full disk. */
static int finish(int status)
{
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, "pinwhy: cannot write to standard output: %s\n", strerror(errno));
		return status ? status : 1;
	}
	return status;
}

/* What getopt complains of begins with the whole command. */
static int run(const struct command *c, int argc, char **argv)
{
	char name[32];

	snprintf(name, sizeof(name), "pinwhy %s", c->name);
	argv[0] = name;
	return c->run(argc, argv);
}

int main(int argc, char **argv)
{
	if (open_standard_fds() < 0)
		return 2;
	if (argc < 2) {
		print_help(stderr);
		return 2;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_help(stdout);
		return finish(0);
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("pinwhy " PINWHY_VERSION);
		return finish(0);
	}
	for (size_t i = 0; i < NCOMMANDS; i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return finish(run(&commands[i], argc - 1, argv + 1));
	return unknown(argv[1]);
}
