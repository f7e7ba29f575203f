// SPDX-License-Identifier: BSD-2-Clause
/* slowdev create NAME BACKING | release NAME | remove NAME: slowdev.h for the shell. */
#include <stdio.h>
#include <string.h>

#include "common.h"
#include "slowdev.h"

static void create(char **args)
{
	char path[SLOWDEV_PATH_LEN];

	slowdev_create(args[0], args[1], path);
	puts(path);
}

static void release(char **args)
{
	slowdev_release(args[0]);
}

static void remove_device(char **args)
{
	slowdev_remove(args[0]);
}

static const struct {
	const char *name;
	int args;
	void (*run)(char **args);
} commands[] = {
	{ "create", 2, create },
	{ "release", 1, release },
	{ "remove", 1, remove_device },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(commands); i++) {
		if (strcmp(commands[i].name, argv[1]) || argc != 2 + commands[i].args)
			continue;
		commands[i].run(argv + 2);
		return EXIT_AS_EXPECTED;
	}
	die("usage: slowdev create NAME BACKING | release NAME | remove NAME");
}
