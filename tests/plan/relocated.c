// SPDX-License-Identifier: BSD-2-Clause
/*
 * relocated OBJECT...: is every program of these fitted to this kernel in the same way by the part of its BTF that pinwhy picks as by
 * all of it (daemon/corebtf.h)? Compares what libbpf says of each relocation, which is before the kernel sees a program, and writes
 * those that differ. For guests, as root; exit status 1: some differ or there are none.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corebtf.h"

#define LINE_MAX_BYTES 512
#define LINES_MAX 8192

static struct result {
	char lines[LINES_MAX][LINE_MAX_BYTES];
	int n;
} whole, part, *into;

/* "relo #3: patched insn #7 (LDX/ST/STX) off 0 -> 8", not the candidates, whose ids are others. */
static int listen(enum libbpf_print_level level, const char *fmt, va_list args)
{
	char line[LINE_MAX_BYTES];

	(void)level;
	vsnprintf(line, sizeof(line), fmt, args);
	if (into && into->n < LINES_MAX && strstr(line, ": relo #") && !strstr(line, "candidate #"))
		memcpy(into->lines[into->n++], line, sizeof(line));
	return 0;
}

static void die(const char *what)
{
	fprintf(stderr, "relocated: %s\n", what);
	exit(2);
}

static struct bpf_object *open_with(const char *path, const char *types)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = types);
	struct bpf_object *obj = bpf_object__open_file(path, &opts);

	if (libbpf_get_error(obj))
		die(path);
	return obj;
}

/* Maps are not shared here, so that most objects are refused once they are relocated. */
static void relocate(struct result *result, const char *path, const char *types)
{
	struct bpf_object *obj = open_with(path, types);
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, obj)
		bpf_program__set_autoload(prog, true);
	into = result;
	bpf_object__load(obj);
	into = NULL;
	bpf_object__close(obj);
}

static void make_part(char **objects, char types[32])
{
	struct btf *btf = btf__load_vmlinux_btf();
	struct corebtf_names names = {};
	int fd;

	if (libbpf_get_error(btf))
		die("no BTF");
	for (char **o = objects; *o; o++) {
		struct bpf_object *obj = open_with(*o, NULL);

		if (corebtf_ask(&names, bpf_object__btf(obj)))
			die("no memory");
		bpf_object__close(obj);
	}
	if (corebtf_make(&names, btf, true, &fd))
		die("no part of it");
	snprintf(types, 32, "/proc/self/fd/%d", fd);
	corebtf_forget(&names);
	btf__free(btf);
}

int main(int argc, char **argv)
{
	char types[32];
	int differ = 0;

	if (argc < 2)
		die("which objects?");
	libbpf_set_print(listen);
	make_part(&argv[1], types);
	for (char **o = &argv[1]; *o; o++) {
		relocate(&whole, *o, NULL);
		relocate(&part, *o, types);
	}
	for (int i = 0; i < whole.n || i < part.n; i++) {
		if (!strcmp(whole.lines[i], part.lines[i]))
			continue;
		differ++;
		printf("whole: %spart:  %s", whole.lines[i], part.lines[i]);
	}
	printf("%d relocations, %d differ\n", whole.n, differ);
	return differ || whole.n < 100 || whole.n == LINES_MAX;
}
