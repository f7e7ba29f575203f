// SPDX-License-Identifier: BSD-2-Clause
/*
 * regmr --case NAME: one row of the causal matrix. Puts memory where the row wants it, lets a
 * first pin hold some of its pages, registers it through libibverbs, and prints as one line of
 * JSON what really happened: the outcome of the call and, by the test module, where the pages
 * lay when fresh, before the registration and after it. Exits 0 only when that is what the row says.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common.h"
#include "firstpin.h"
#include "json.h"
#include "memory.h"
#include "oracle.h"
#include "verbs.h"

/*
 * ib_umem_get pins as many pages at a time as page pointers fit in a page, and stops at the first
 * such batch that fails: what is held in later batches is never looked at.
 */
#define BATCH_PAGES(page) ((page) / sizeof(void *))

enum place { IN_AREA, OUTSIDE };	/* of the pages when they are fresh */
enum motion { STAYS, LEAVES };	/* of a held page */

struct row {
	const char *name;
	enum place place;
	const struct first_pin *first_pin;
	enum motion at_first_pin;
	int err;	/* of the registration */
	enum motion at_registration;
	bool again;	/* release the first pin and register once more: must succeed and move the pages */
};

static const struct row rows[] = {
	{ "A", IN_AREA, &first_pin_none, STAYS, 0, LEAVES, false },
	{ "B", IN_AREA, &first_pin_plain, STAYS, ENOMEM, STAYS, false },
	{ "Bv", IN_AREA, &first_pin_vmsplice, STAYS, ENOMEM, STAYS, false },
	{ "Bo", IN_AREA, &first_pin_odirect, STAYS, ENOMEM, STAYS, false },
	{ "C", IN_AREA, &first_pin_longterm, LEAVES, 0, STAYS, false },
	{ "D", OUTSIDE, &first_pin_plain, STAYS, 0, STAYS, false },
	{ "E", IN_AREA, &first_pin_plain, STAYS, ENOMEM, STAYS, true },
	{ "An", OUTSIDE, &first_pin_none, STAYS, 0, STAYS, false },	/* A where there is no area */
	{ "F", OUTSIDE, &first_pin_plain, STAYS, 0, STAYS, false },
	/* Where a long-term pin leaves no area: all of it stays where it is. */
	{ "Am", IN_AREA, &first_pin_none, STAYS, 0, STAYS, false },
	{ "Fm", IN_AREA, &first_pin_plain, STAYS, 0, STAYS, false },
	{ "Vm", IN_AREA, &first_pin_vmsplice, STAYS, 0, STAYS, false },
	{ "Um", IN_AREA, &first_pin_uring, STAYS, 0, STAYS, false },
	{ "N", IN_AREA, &first_pin_nvidia, STAYS, ENOMEM, STAYS, false },
	{ "Ne", IN_AREA, &first_pin_nvidia, STAYS, ENOMEM, STAYS, true },
	{ "Nc", IN_AREA, &first_pin_nvidia_longterm, LEAVES, 0, STAYS, false },
	{ "Nd", OUTSIDE, &first_pin_nvidia, STAYS, 0, STAYS, false },
	{ "R", IN_AREA, &first_pin_registration, STAYS, ENOMEM, STAYS, false },
	{ "U", IN_AREA, &first_pin_uring, LEAVES, 0, STAYS, false },
	{ "Un", OUTSIDE, &first_pin_uring, STAYS, 0, STAYS, false },
	{ "I", OUTSIDE, &first_pin_isolated, STAYS, ENOMEM, STAYS, false },
	{ "G", IN_AREA, &first_pin_vmsplice_many, STAYS, ENOMEM, STAYS, false },
};

struct options {
	const struct row *row;
	struct shape shape;
	enum area area;
	const char *hold;
	unsigned int access;
	unsigned long repeat;
	const char *device;
	uint64_t tag;	/* bits of the address that is registered and that arm64 ignores; 0 = none */
	bool stay;	/* until stdin ends: facts about a process go with it */
};

struct sight {	/* one page, seen three times */
	struct pinhold_resolve fresh, before, after;
};

struct run {
	const struct options *options;
	struct region region;
	struct positions held;
	struct sight *sights;	/* one per held position */
	struct outcome outcome;
	int first_err;		/* of the registration while the first pin was there */
	bool again_ok;
};

static const struct row *row_parse(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	die("no case is called '%s'", name);
}

static void look(struct run *run, size_t where)
{
	for (uint32_t i = 0; i < run->held.count; i++) {
		char *sight = (char *)&run->sights[i];
		struct pinhold_resolve page = oracle_ask(region_page(&run->region, run->held.index[i]));

		memcpy(sight + where, &page, sizeof(page));
	}
}

static void register_once(struct run *run, const struct rdma *rdma)
{
	rdma_deregister(rdma_register(rdma, (void *)(uintptr_t)(run->region.address | run->options->tag), run->region.length,
				      run->options->access, &run->outcome));
}

static bool let_go(void *ctx)
{
	struct run *run = ctx;

	for (uint32_t i = 0; i < run->held.count; i++)
		if (oracle_ask(region_page(&run->region, run->held.index[i])).flags & PINHOLD_PAGE_MAYBE_PINNED)
			return false;
	return true;
}

static void play(struct run *run, const struct rdma *rdma)
{
	const struct row *row = run->options->row;

	look(run, offsetof(struct sight, fresh));
	row->first_pin->take(&run->region, &run->held, row->first_pin->references);
	look(run, offsetof(struct sight, before));
	for (unsigned long i = 0; i < run->options->repeat; i++)
		register_once(run, rdma);
	run->first_err = run->outcome.last_errno;
	if (row->again) {
		row->first_pin->give();
		/* Another thread may be the one that lets go. */
		poll_until(let_go, run, 10000);
		register_once(run, rdma);
		run->again_ok = run->outcome.last_errno == 0;
	}
	look(run, offsetof(struct sight, after));
	/* Others stay until the suite has looked, as open files show them. */
	if (row->first_pin->unfinished)
		row->first_pin->give();
	run->outcome.ok += row->first_pin->registers;
}

static bool moved(const struct pinhold_resolve *from, const struct pinhold_resolve *to)
{
	return from->pfn != to->pfn;
}

static bool sight_as_expected(const struct run *run, const struct sight *sight)
{
	const struct row *row = run->options->row;
	enum motion last = row->again ? LEAVES : row->at_registration;

	if (moved(&sight->fresh, &sight->before) != (row->at_first_pin == LEAVES))
		return false;
	if (moved(&sight->before, &sight->after) != (last == LEAVES))
		return false;
	if (row->place == IN_AREA && !row->err && row->at_first_pin == STAYS && last == STAYS)
		return oracle_in_area(&sight->after, run->options->area);
	/* What a registration got may lie in no area, however it came there. */
	return run->outcome.last_errno || oracle_ordinary(&sight->after);
}

static uint64_t expected_ok(const struct run *run)
{
	const struct row *row = run->options->row;

	return (row->err ? 0 : run->options->repeat) + (row->again ? 1 : 0) + row->first_pin->registers;
}

static bool as_expected(const struct run *run)
{
	const struct row *row = run->options->row;

	for (uint32_t i = 0; i < run->held.count; i++)
		if (!sight_as_expected(run, &run->sights[i]))
			return false;
	return run->first_err == row->err && run->outcome.ok == expected_ok(run) && run->again_ok == row->again;
}

static void print_sights(const struct run *run)
{
	json_open("pages", '[');
	for (uint32_t i = 0; i < run->held.count; i++) {
		const struct sight *sight = &run->sights[i];

		json_open(NULL, '{');
		json_num("index", run->held.index[i]);
		json_hex("address", region_page(&run->region, run->held.index[i]));
		oracle_json("fresh", &sight->fresh);
		oracle_json("before", &sight->before);
		oracle_json("after", &sight->after);
		json_bool("moved_by_first_pin", moved(&sight->fresh, &sight->before));
		json_bool("moved", moved(&sight->before, &sight->after));
		json_close('}');
	}
	json_close(']');
}

/* First byte of the folio that lies in the registered range. */
static uint64_t folio_start(const struct run *run, uint32_t held)
{
	uint64_t folio_bytes = page_bytes() << run->sights[held].before.order;
	uint64_t start = region_page(&run->region, run->held.index[held]) & ~(folio_bytes - 1);

	return start > run->region.address ? start : run->region.address;
}

static uint32_t holds_of_folio(const struct run *run, uint32_t first)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < run->held.count; i++)
		n += oracle_head_pfn(&run->sights[i].before) == oracle_head_pfn(&run->sights[first].before);
	return n;
}

static bool first_of_folio(const struct run *run, uint32_t held)
{
	return !held ||
	       oracle_head_pfn(&run->sights[held - 1].before) != oracle_head_pfn(&run->sights[held].before);
}

static bool in_first_batch(const struct run *run, uint32_t held)
{
	size_t batch = BATCH_PAGES(page_bytes());

	return run->held.index[held] / batch == run->held.index[0] / batch;
}

/* What a report of this failure has to say, folio by folio. */
static void print_blockers(const struct run *run)
{
	uint64_t first_page = run->region.first_page;

	json_open("blockers", '[');
	for (uint32_t i = 0; run->first_err && i < run->held.count; i++) {
		const struct pinhold_resolve *page = &run->sights[i].before;
		uint64_t start = folio_start(run, i);

		if (!first_of_folio(run, i) || !in_first_batch(run, i))
			continue;
		json_open(NULL, '{');
		json_num("index", (int64_t)((start - first_page) / page_bytes()));
		json_hex("address", start);
		json_hex("pfn", oracle_head_pfn(page));
		json_num("node", page->node);
		json_str("zone", page->zone_name);
		json_num("migratetype", page->migratetype);
		json_num("order", page->order);
		json_bool("maybe_pinned", page->flags & PINHOLD_PAGE_MAYBE_PINNED);
		json_num("references", holds_of_folio(run, i) * run->options->row->first_pin->references);
		json_close('}');
	}
	json_close(']');
}

static void print_memlock(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		die_errno("getrlimit");
	if (limit.rlim_cur != RLIM_INFINITY)
		json_num("memlock_soft", (int64_t)limit.rlim_cur);
	if (limit.rlim_max != RLIM_INFINITY)
		json_num("memlock_hard", (int64_t)limit.rlim_max);
}

static void print(const struct run *run, bool expected)
{
	const struct options *options = run->options;

	json_open(NULL, '{');
	json_str("case", options->row->name);
	json_num("pid", getpid());
	json_str("comm", program_invocation_short_name);
	json_str("device", options->device);
	json_hex("address", run->region.address);
	json_num("length", (int64_t)run->region.length);
	json_num("range_pages", run->region.pages);
	json_bool("thp", options->shape.huge);
	json_str("area", area_name(options->area));
	json_bool("let_go", options->row->again);
	json_bool("no_area", oracle_left_cma());
	json_bool("areas_untold", !oracle_config("CONFIG_KALLSYMS_ALL=y"));
	json_str("hold", options->hold);
	access_json("access", options->access);
	json_str("first_pin", options->row->first_pin->name);
	outcome_json(&run->outcome);
	if (first_pin_tid)
		json_num("first_pin_tid", first_pin_tid);
	json_num("first_pin_charged", (int64_t)first_pin_charged);
	json_num("first_errno", run->first_err);
	print_memlock();
	print_blockers(run);
	print_sights(run);
	json_bool("as_expected", expected);
	json_close('}');
	json_end_line();
}

enum { OPT_CASE = 1, OPT_SIZE, OPT_OFFSET, OPT_HOLD, OPT_THP, OPT_AREA, OPT_ACCESS, OPT_REPEAT, OPT_DEVICE, OPT_STAY, OPT_TAG };

static const struct option long_options[] = {
	{ "case", required_argument, NULL, OPT_CASE },	   { "size", required_argument, NULL, OPT_SIZE },
	{ "offset", required_argument, NULL, OPT_OFFSET }, { "hold", required_argument, NULL, OPT_HOLD },
	{ "thp", no_argument, NULL, OPT_THP },		   { "area", required_argument, NULL, OPT_AREA },
	{ "access", required_argument, NULL, OPT_ACCESS }, { "repeat", required_argument, NULL, OPT_REPEAT },
	{ "device", required_argument, NULL, OPT_DEVICE }, { "stay", no_argument, NULL, OPT_STAY },
	{ "tag", no_argument, NULL, OPT_TAG },
	{ NULL, 0, NULL, 0 },
};

#define TAG (0xa5ULL << 56)

static uint64_t tag_allow(void)
{
	if (prctl(PR_SET_TAGGED_ADDR_CTRL, PR_TAGGED_ADDR_ENABLE, 0, 0, 0))
		die_errno("this processor ignores no bits of an address, or the kernel does not take such");
	return TAG;
}

static void option_set(struct options *options, int option)
{
	switch (option) {
	case OPT_CASE: options->row = row_parse(optarg); break;
	case OPT_SIZE: options->shape.length = parse_bytes(optarg); break;
	case OPT_OFFSET: options->shape.offset = parse_bytes(optarg); break;
	case OPT_HOLD: options->hold = optarg; break;
	case OPT_THP: options->shape.huge = true; break;
	case OPT_AREA: options->area = area_parse(optarg); break;
	case OPT_ACCESS: options->access = access_parse(optarg); break;
	case OPT_REPEAT: options->repeat = parse_bytes(optarg); break;
	case OPT_DEVICE: options->device = optarg; break;
	case OPT_STAY: options->stay = true; break;
	case OPT_TAG: options->tag = tag_allow(); break;
	default:
		die("usage: regmr --case NAME [--size N] [--offset N] [--hold POSITIONS] [--thp] "
		    "[--area cma|movable|none] [--access FLAGS] [--repeat N] [--device NAME] [--stay] [--tag]");
	}
}

static void options_parse(struct options *options, int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		option_set(options, option);
	if (!options->row || optind != argc)
		option_set(options, '?');
	if (options->row->place == IN_AREA && options->area == AREA_NONE)
		die("case %s needs --area cma or movable", options->row->name);
}

int main(int argc, char **argv)
{
	static struct run run;
	struct options options = { .shape = { .length = 4096 }, .hold = "first", .repeat = 1,
				   .access = IBV_ACCESS_LOCAL_WRITE, .device = "rxe0" };
	struct rdma rdma;
	bool expected;

	options_parse(&options, argc, argv);
	run.options = &options;
	oracle_open();
	rdma_open(&rdma, options.device);
	if (!region_find(&run.region, &options.shape, options.hold,
			 options.row->place == IN_AREA ? options.area : AREA_NONE, &run.held))
		die("no such memory was to be had: area %s, huge pages %d", area_name(options.area),
		    options.shape.huge);
	run.sights = calloc(run.held.count, sizeof(*run.sights));
	if (!run.sights)
		die("out of memory");
	play(&run, &rdma);
	expected = as_expected(&run);
	print(&run, expected);
	if (options.stay)
		wait_for_word();
	if (!options.row->again && !options.row->first_pin->unfinished)
		options.row->first_pin->give();
	free(run.sights);
	region_free(&run.region);
	rdma_close(&rdma);
	return expected ? EXIT_AS_EXPECTED : EXIT_UNEXPECTED;
}
