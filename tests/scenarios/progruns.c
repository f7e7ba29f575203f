// SPDX-License-Identifier: BSD-2-Clause
/*
 * progruns [--maps]: one line of JSON for each BPF program, or map, of this kernel. Says nothing
 * when there is none.
 */
#include <string.h>

#include "common.h"
#include "json.h"
#include "progs.h"

static void print_programs(void)
{
	static struct prog_runs progs[PROGS_MAX];
	uint32_t n = progs_read(progs);

	for (uint32_t i = 0; i < n; i++) {
		json_open(NULL, '{');
		json_num("id", progs[i].id);
		json_str("name", progs[i].name);
		json_num("runs", (int64_t)progs[i].runs);
		json_num("missed", (int64_t)progs[i].missed);
		json_close('}');
		json_end_line();
	}
}

static void print_maps(void)
{
	static struct map_use maps[PROGS_MAX];
	uint32_t n = maps_read(maps);

	for (uint32_t i = 0; i < n; i++) {
		json_open(NULL, '{');
		json_num("id", maps[i].id);
		json_num("type", maps[i].type);
		json_str("name", maps[i].name);
		json_num("bytes", (int64_t)maps[i].bytes);
		json_num("bytes_512_cpus", (int64_t)maps[i].bytes_512_cpus);
		json_close('}');
		json_end_line();
	}
}

int main(int argc, char **argv)
{
	if (argc == 1)
		print_programs();
	else if (argc == 2 && !strcmp(argv[1], "--maps"))
		print_maps();
	else
		die("usage: progruns [--maps]");
	return EXIT_AS_EXPECTED;
}
