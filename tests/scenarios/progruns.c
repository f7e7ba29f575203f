// SPDX-License-Identifier: BSD-2-Clause
/* progruns: one line of JSON for each BPF program of this kernel. Says nothing when there is none. */
#include "common.h"
#include "json.h"
#include "progs.h"

int main(void)
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
	return EXIT_AS_EXPECTED;
}
