// SPDX-License-Identifier: BSD-2-Clause
/*
 * badreg --case NAME [--control]: registrations that fail for a reason of their own, and controls
 * that differ in the one thing that was wrong and succeed. Prints one line of JSON with the truth a
 * report is compared to. `badreg --list` names the cases. What the kernel must answer comes with
 * --expect, from tests/vm/causes.list: it differs from kernel to kernel.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bad.h"
#include "common.h"
#include "json.h"

static const struct bad_family *const families[] = {
	&bad_limits, &bad_system, &bad_mapping, &bad_arguments, &bad_entries, &bad_user, &bad_vfio,
	&bad_device,
};

struct options {
	struct play play;
	const char *expect;
	bool list, stay;	/* until stdin ends: facts about a process go with it */
};

static void become(struct play *play)
{
	const struct bad *bad = play->bad;

	if (bad->limited)
		bad_limit(play->control ? bad->legal_limit : bad->limit);
	if (bad->as_nobody)
		bad_become_nobody(play);
}

/* "ok", "killed", "stuck", or the name of the errno. */
static const char *ended(const struct truth *truth)
{
	if (truth->stuck)
		return "stuck";
	if (truth->killed)
		return "killed";
	return truth->outcome.last_errno ? errno_name(truth->outcome.last_errno) : "ok";
}

/* Without --expect it must fail, in whatever way. */
static bool as_expected(const char *expect, const struct truth *truth)
{
	bool fails = !expect || (strcmp(expect, "ok") && strcmp(expect, "stuck"));

	return (!expect || !strcmp(expect, ended(truth))) && truth->outcome.failed == (fails ? 1 : 0);
}

static void print_extra(const struct extra *extra)
{
	switch (extra->kind) {
	case EXTRA_NUM: json_num(extra->key, (int64_t)extra->number); break;
	case EXTRA_HEX: json_hex(extra->key, extra->number); break;
	case EXTRA_BOOL: json_bool(extra->key, extra->number != 0); break;
	case EXTRA_STR: json_str(extra->key, extra->text); break;
	}
}

static void print_limit(const struct play *play)
{
	struct rlimit limit;

	if (!play->bad->limited || getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	json_num("memlock_soft", (int64_t)limit.rlim_cur);
	json_num("memlock_hard", (int64_t)limit.rlim_max);
}

static void print(const struct play *play, bool expected)
{
	const struct truth *truth = play->truth;

	json_open(NULL, '{');
	json_str("case", play->bad->name);
	json_bool("control", play->control);
	json_str("entry", truth->entry);
	json_num("pid", truth->pid);
	json_num("tid", truth->tid);
	json_num("uid", getuid());
	json_str("comm", program_invocation_short_name);
	json_str("device", play->device);
	json_hex("address", truth->address);
	json_unum("length", truth->length);
	if (truth->iova)
		json_hex("iova", truth->iova);
	access_json("access", truth->access);
	json_hex("access_bits", truth->access);
	outcome_json(&truth->outcome);
	json_str("ended", ended(truth));
	print_limit(play);
	json_bool("ipc_lock", !truth->no_ipc_lock);
	json_num("pinned_before", (int64_t)truth->pinned_before);
	for (size_t i = 0; i < truth->extras; i++)
		print_extra(&truth->extra[i]);
	json_bool("as_expected", expected);
	json_close('}');
	json_end_line();
}

enum {
	OPT_CASE = 1, OPT_CONTROL, OPT_EXPECT, OPT_LIST, OPT_SIZE, OPT_HOLE, OPT_HOLE_PAGES, OPT_COUNT, OPT_DEVICE,
	OPT_DIR, OPT_STAY,
};

static const struct option long_options[] = {
	{ "case", required_argument, NULL, OPT_CASE },
	{ "control", no_argument, NULL, OPT_CONTROL },
	{ "expect", required_argument, NULL, OPT_EXPECT },
	{ "list", no_argument, NULL, OPT_LIST },
	{ "size", required_argument, NULL, OPT_SIZE },
	{ "hole", required_argument, NULL, OPT_HOLE },
	{ "hole-pages", required_argument, NULL, OPT_HOLE_PAGES },
	{ "count", required_argument, NULL, OPT_COUNT },
	{ "device", required_argument, NULL, OPT_DEVICE },
	{ "dir", required_argument, NULL, OPT_DIR },
	{ "stay", no_argument, NULL, OPT_STAY },
	{ NULL, 0, NULL, 0 },
};

static const struct bad *bad_parse(const char *name)
{
	for (size_t f = 0; f < ARRAY_SIZE(families); f++)
		for (size_t i = 0; i < families[f]->count; i++)
			if (!strcmp(families[f]->bads[i].name, name))
				return &families[f]->bads[i];
	die("no case is called '%s'; badreg --list names them", name);
}

static void list(void)
{
	for (size_t f = 0; f < ARRAY_SIZE(families); f++)
		for (size_t i = 0; i < families[f]->count; i++)
			printf("%-24s %s%s%s\n", families[f]->bads[i].name, families[f]->bads[i].what,
			       families[f]->bads[i].skip_control ? "; no control: " : "",
			       families[f]->bads[i].skip_control ? families[f]->bads[i].skip_control : "");
}

static void option_set(struct options *options, int option)
{
	struct play *play = &options->play;

	switch (option) {
	case OPT_CASE: play->bad = bad_parse(optarg); break;
	case OPT_CONTROL: play->control = true; break;
	case OPT_EXPECT: options->expect = optarg; break;
	case OPT_LIST: options->list = true; break;
	case OPT_SIZE: play->length = parse_bytes(optarg); break;
	case OPT_HOLE: play->hole_first = parse_bytes(optarg); break;
	case OPT_HOLE_PAGES: play->hole_pages = parse_bytes(optarg); break;
	case OPT_COUNT: play->count = parse_bytes(optarg); break;
	case OPT_DEVICE: play->device = optarg; break;
	case OPT_DIR: play->dir = optarg; break;
	case OPT_STAY: options->stay = true; break;
	default:
		die("usage: badreg --list | --case NAME [--control] [--expect ok|killed|stuck|ERRNO] [--size N]\n"
		    "              [--hole PAGE --hole-pages N] [--count N] [--device NAME] [--dir PATH] [--stay]");
	}
}

static void options_parse(struct options *options, int argc, char **argv)
{
	struct play *play = &options->play;
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		option_set(options, option);
	if (options->list)
		return;
	if (play->control)
		options->expect = "ok";
	if (!play->bad || optind != argc)
		option_set(options, '?');
	if (play->control && play->bad->skip_control)
		die("%s has no control: %s", play->bad->name, play->bad->skip_control);
	if ((play->hole_first + play->hole_pages) * page_bytes() > play->length)
		die("the hole lies outside the range");
}

int main(int argc, char **argv)
{
	struct options options = { .play = { .length = 1 * MIB, .hole_pages = 1, .device = "rxe0" } };
	struct play *play = &options.play;
	bool expected;

	options_parse(&options, argc, argv);
	if (options.list) {
		list();
		return 0;
	}
	play->truth = mmap(NULL, sizeof(*play->truth), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (play->truth == MAP_FAILED)
		die_errno("cannot share the truth");
	play->truth->entry = "none";
	become(play);
	if (!play->bad->no_device)
		bad_open(play);
	play->bad->run(play);
	expected = as_expected(options.expect, play->truth);
	print(play, expected);
	if (options.stay)
		wait_for_word();
	if (play->end)
		play->end(play);
	if (play->rdma_is_open)
		rdma_close(&play->rdma);
	return expected ? EXIT_AS_EXPECTED : EXIT_UNEXPECTED;
}
