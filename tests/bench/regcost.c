// SPDX-License-Identifier: BSD-2-Clause
/*
 * regcost [--op register|pin|module|direct] [--area none|cma|movable] [--modes LIST] [--slots LIST] [--sizes LIST] [--repeats N]
 *         [--rounds N] [--ops N]
 *
 * What ibv_reg_mr + ibv_dereg_mr costs, or a first pin and its release (in memory of that area), or one on GUP's slow path by
 * another module or for direct I/O, with nobody watching, with pinwhy, with empty programs in
 * pinwhy's places, and with a bpftrace script that does the same work. Blocks alternate
 * with blocks of "off", and a block is compared with the two "off" next to it, so that what
 * drifts in the guest does not count; the first of all repeats is dropped. Prints lines of JSON.
 * For a guest under --icount, fresh from boot.
 *
 * A block's number is the mean of its rounds: their costs go up and down in steps, in cycles of some
 * rounds, and the median lands now on one step, now on another. It is printed too.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "common.h"
#include "json.h"
#include "progs.h"
#include "series.h"
#include "tracer.h"

#define TRACERS_MAX 4
#define SIZES_MAX 8
#define REPEATS_MAX 16
#define BLOCKS_MAX (TRACERS_MAX * (REPEATS_MAX + 1))
#define HIT_OPS 20	/* operations while runs are counted */

static const struct tracer *const known[] = { &pinwhy_tracer, &floor_tracer, &bpftrace_tracer };

static const struct operation *const operations[] = { &op_register, &op_pin, &op_module, &op_direct };

static struct {
	const struct operation *op;
	const struct tracer *tracer[TRACERS_MAX];
	uint32_t ntracers;
	size_t size[SIZES_MAX];
	uint32_t nsizes;
	uint32_t repeats;
	struct series_shape shape;
} plan = { .op = &op_register, .repeats = 3, .shape = { .rounds = 41, .ops = 50 } };

struct cost {
	uint64_t mean, median;
};

/* In the order they were measured: off[0] watched[0] off[1] watched[1] ... off[n] */
static struct cost off[BLOCKS_MAX + 1][SIZES_MAX], watched[BLOCKS_MAX][SIZES_MAX];

/* --- options -------------------------------------------------------------------- */

static void each_word(const char *text, void (*take)(const char *word))
{
	char word[64];

	while (*text) {
		size_t length = strcspn(text, ",");

		snprintf(word, sizeof(word), "%.*s", (int)length, text);
		take(word);
		text += length + (text[length] == ',');
	}
}

static void take_tracer(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(known[i]->name, name))
			continue;
		if (plan.ntracers == TRACERS_MAX)
			die("more than %d modes", TRACERS_MAX);
		plan.tracer[plan.ntracers++] = known[i];
		return;
	}
	die("no mode is called '%s'; there are pinwhy, floor, bpftrace", name);
}

static void take_op(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(operations); i++) {
		if (strcmp(operations[i]->name, name))
			continue;
		plan.op = operations[i];
		return;
	}
	die("no operation is called '%s'; there are register, pin, module and direct", name);
}

static void take_size(const char *text)
{
	if (plan.nsizes == SIZES_MAX)
		die("more than %d sizes", SIZES_MAX);
	plan.size[plan.nsizes++] = parse_bytes(text);
}

static uint32_t number(const char *text, uint32_t min, uint32_t max)
{
	uint64_t n = parse_bytes(text);

	if (n < min || n > max)
		die("'%s' is not a number from %u to %u", text, min, max);
	return (uint32_t)n;
}

static void option_set(int option)
{
	switch (option) {
	case 'p': take_op(optarg); break;
	case 'a': pin_area(optarg); break;
	case 'm': each_word(optarg, take_tracer); break;
	case 'l': pinwhy_restrict(optarg); break;
	case 's': each_word(optarg, take_size); break;
	case 'r': plan.repeats = number(optarg, 1, REPEATS_MAX); break;
	case 'n': plan.shape.rounds = number(optarg, 2, ROUNDS_MAX); break;
	case 'o': plan.shape.ops = number(optarg, 1, 1000); break;
	default: die("see the head of regcost.c for the options");
	}
}

static void options_parse(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "modes", required_argument, NULL, 'm' },   { "slots", required_argument, NULL, 'l' },
		{ "sizes", required_argument, NULL, 's' },   { "repeats", required_argument, NULL, 'r' },
		{ "rounds", required_argument, NULL, 'n' },  { "ops", required_argument, NULL, 'o' },
		{ "op", required_argument, NULL, 'p' },	     { "area", required_argument, NULL, 'a' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		option_set(option);
	if (!plan.ntracers)
		each_word("floor,pinwhy", take_tracer);
	if (!plan.nsizes)
		each_word("4K,64K,1M", take_size);
}

static size_t largest_size(void)
{
	size_t largest = 0;

	for (uint32_t i = 0; i < plan.nsizes; i++)
		largest = plan.size[i] > largest ? plan.size[i] : largest;
	return largest;
}

/* --- lines of output ------------------------------------------------------------ */

static void line_open(const char *type, const char *mode, size_t size)
{
	json_open(NULL, '{');
	json_str("type", type);
	json_str("mode", mode);
	json_num("size", (int64_t)size);
}

static void line_close(void)
{
	json_close('}');
	json_end_line();
	fflush(stdout);
}

static void setup_line(void)
{
	struct utsname u;

	uname(&u);
	json_open(NULL, '{');
	json_str("type", "setup");
	json_str("kernel", u.release);
	json_str("machine", u.machine);
	json_str("op", plan.op->name);
	json_num("repeats", plan.repeats);
	json_num("rounds", plan.shape.rounds);
	json_num("ops", plan.shape.ops);
	line_close();
}

/* --- how often programs run ------------------------------------------------------- */

static uint64_t all_runs(uint32_t *ret_programs)
{
	static struct prog_runs progs[PROGS_MAX];
	uint32_t n = progs_read(progs);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += progs[i].runs;
	*ret_programs = n;
	return sum;
}

static void hit_lines(const struct tracer *tracer, size_t size, const struct hooks *before, const struct hooks *after)
{
	for (uint32_t i = 0; i < after->count; i++) {
		line_open("hits", tracer->name, size);
		json_str("slot", after->hook[i].slot);
		json_str("variant", after->hook[i].variant);
		json_str("target", after->hook[i].target);
		json_num("times", HIT_OPS);
		json_num("hits", (int64_t)(after->hook[i].runs - before->hook[i].runs));
		line_close();
	}
}

static void count_hits(const struct tracer *tracer, size_t size)
{
	static struct hooks before, after;
	uint32_t programs;
	uint64_t runs;

	/* Zeroed, so that a tracer that does not tell has no hooks. */
	before.count = after.count = 0;
	if (tracer->hooks)
		tracer->hooks(&before);
	runs = all_runs(&programs);
	plan.op->times(size, HIT_OPS);
	runs = all_runs(&programs) - runs;
	if (tracer->hooks)
		tracer->hooks(&after);
	hit_lines(tracer, size, &before, &after);
	line_open("runs", tracer->name, size);
	json_num("programs", programs);
	json_num("times", HIT_OPS);
	json_num("runs", (int64_t)runs);
	line_close();
}

/* Counting costs instructions of its own: never while they are measured. */
static void run_stats(const char *on)
{
	if (write_file("/proc/sys/kernel/bpf_stats_enabled", on))
		die("cannot set kernel.bpf_stats_enabled");
}

static void describe(const struct tracer *tracer)
{
	run_stats("1");
	for (uint32_t i = 0; i < plan.nsizes; i++)
		count_hits(tracer, plan.size[i]);
	run_stats("0");
	if (tracer == &pinwhy_tracer)
		pinwhy_describe();
}

/* --- measuring -------------------------------------------------------------------- */

static void block_line(const char *mode, uint32_t block, size_t size, const struct series *series)
{
	line_open("block", mode, size);
	json_num("block", block);
	json_bool("dropped", block < plan.ntracers);
	json_num("mean", (int64_t)series->mean);
	json_num("median", (int64_t)series->median);
	json_open("rounds", '[');
	for (unsigned int i = 0; i < series->rounds; i++)
		json_num(NULL, (int64_t)series->round[i]);
	json_close(']');
	line_close();
}

static void measure(const char *mode, uint32_t block, struct cost *ret_costs)
{
	static struct series series;

	for (uint32_t i = 0; i < plan.nsizes; i++) {
		series_run(plan.op, &plan.shape, plan.size[i], &series);
		ret_costs[i] = (struct cost){ series.mean, series.median };
		block_line(mode, block, plan.size[i], &series);
	}
}

static void measure_watched(uint32_t block)
{
	const struct tracer *tracer = plan.tracer[block % plan.ntracers];
	uint64_t before;

	tracer->start();
	plan.shape.between = tracer->between;
	before = series_registrations();
	if (block < plan.ntracers)
		describe(tracer);
	measure(tracer->name, block, watched[block]);
	plan.shape.between = NULL;
	tracer->stop(series_registrations() - before);
}

/* Tells the floor what to copy. */
static void rehearse(void)
{
	pinwhy_tracer.start();
	pinwhy_tracer.stop(0);
}

static uint32_t blocks_all(void)
{
	return plan.ntracers * (plan.repeats + 1);
}

static void measure_all(void)
{
	rehearse();
	measure("off", 0, off[0]);
	for (uint32_t block = 0; block < blocks_all(); block++) {
		measure_watched(block);
		measure("off", block + 1, off[block + 1]);
	}
}

/* --- results ---------------------------------------------------------------------- */

static int64_t added_mean(uint32_t block, uint32_t size)
{
	return (int64_t)watched[block][size].mean - (int64_t)(off[block][size].mean + off[block + 1][size].mean) / 2;
}

static int64_t added_median(uint32_t block, uint32_t size)
{
	return (int64_t)watched[block][size].median -
	       (int64_t)(off[block][size].median + off[block + 1][size].median) / 2;
}

static void off_line(uint32_t size)
{
	uint64_t mean = 0, median = 0, low = UINT64_MAX, high = 0, n = blocks_all() - plan.ntracers + 1;

	for (uint32_t i = plan.ntracers; i <= blocks_all(); i++) {
		const struct cost *cost = &off[i][size];

		mean += cost->mean;
		median += cost->median;
		low = cost->mean < low ? cost->mean : low;
		high = cost->mean > high ? cost->mean : high;
	}
	line_open("off", "off", plan.size[size]);
	json_num("mean", (int64_t)(mean / n));
	json_num("median", (int64_t)(median / n));
	json_num("spread", (int64_t)(high - low));
	line_close();
}

static void cost_line(uint32_t tracer, uint32_t size)
{
	int64_t low = INT64_MAX, high = INT64_MIN, sum = 0, sum_median = 0;

	line_open("cost", plan.tracer[tracer]->name, plan.size[size]);
	json_open("repeats", '[');
	for (uint32_t i = 1; i <= plan.repeats; i++) {
		uint32_t block = i * plan.ntracers + tracer;
		int64_t added = added_mean(block, size);

		low = added < low ? added : low;
		high = added > high ? added : high;
		sum += added;
		sum_median += added_median(block, size);
		json_num(NULL, added);
	}
	json_close(']');
	json_num("added", sum / plan.repeats);
	json_num("added_median", sum_median / plan.repeats);
	json_num("spread", high - low);
	line_close();
}

static void results(void)
{
	for (uint32_t size = 0; size < plan.nsizes; size++) {
		off_line(size);
		for (uint32_t tracer = 0; tracer < plan.ntracers; tracer++)
			cost_line(tracer, size);
	}
}

int main(int argc, char **argv)
{
	options_parse(argc, argv);
	run_stats("0");
	setup_line();
	plan.op->setup(largest_size());
	measure_all();
	results();
	return EXIT_AS_EXPECTED;
}
