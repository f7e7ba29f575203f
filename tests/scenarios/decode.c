// SPDX-License-Identifier: BSD-2-Clause
/*
 * decode [KIND,...]: what `pinwhy pages` says of each page of memory of every kind, against what the kernel's own
 * functions say (the test module asks them, before and after). Prints PASS, FAIL or SKIP lines for the suite, and as
 * comments how many pages of which kind, zone and pageblock type were compared. A page of which the kernel itself said two
 * different things is not compared, and there may be few of these.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common.h"
#include "decode_kinds.h"
#include "memory.h"
#include "oracle.h"

#define LINE_BYTES 8192
#define CELLS_MAX 128
#define DIFFERENCES_SHOWN 5
#define FILLER_PAGES 4096

/* What differs, by name; the last is how often nothing did. */
enum { F_PFN, F_HEAD, F_NODE, F_ZONE, F_TYPE, F_ORDER, F_REFS, F_MAPS, F_PINS, F_MAYBE, F_EXPECTED, F_MAPPING, F_PLACEMENT, FIELDS };
static const char *const field_names[FIELDS] = {
	"pfn", "head_pfn", "node", "zone", "migratetype", "order", "refcount", "mapcount", "pincount", "maybe_pinned", "expected",
	"mapping", "placement",
};

struct page {
	struct pinhold_resolve is;
	bool stable, told;
};

struct cell {
	char zone[16], type[32];
	uint32_t node;
	uint64_t pages;
};

static struct ranges ranges;
static struct page *pages_of[RANGES_MAX];
static struct cell cells[CELLS_MAX];
static uint32_t ncells;

struct result {
	uint64_t pages, unstable, told, differ[FIELDS], compared[FIELDS];
	char why[WHY_LEN];
	bool made;
};

/* --- the kernel's word ---------------------------------------------------------------- */

static void ask_all(bool again)
{
	for (uint32_t i = 0; i < ranges.n; i++) {
		struct range *r = &ranges.range[i];

		if (!again)
			pages_of[i] = calloc(r->pages, sizeof(*pages_of[i]));
		for (size_t k = 0; k < r->pages; k++) {
			struct pinhold_resolve now = oracle_ask((uintptr_t)r->map + k * page_bytes());
			struct page *p = &pages_of[i][k];

			p->stable = again && !memcmp(&now, &p->is, sizeof(now));
			p->is = now;
		}
	}
}

/* What was touched last waits in batches of this processor, each of which refers to it; more pages send it on. */
static void settle(void)
{
	char *map = mmap(NULL, FILLER_PAGES * page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		die_errno("cannot map a filler");
	madvise(map, FILLER_PAGES * page_bytes(), MADV_NOHUGEPAGE);
	memset(map, 1, FILLER_PAGES * page_bytes());
}

/* --- a line of pinwhy's ----------------------------------------------------------------- */

/* Where the value of a key begins, NULL: the line has none. The objects are flat but for `placement`. */
static const char *value_of(const char *line, const char *key)
{
	char quoted[40];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	at = strstr(line, quoted);
	return at ? at + strlen(quoted) : NULL;
}

static bool number_of(const char *line, const char *key, int64_t *ret)
{
	const char *at = value_of(line, key);

	if (!at)
		return false;
	if (*at == '"')
		at++;
	*ret = strtoll(at, NULL, strncmp(at, "0x", 2) ? 10 : 16);
	return true;
}

static bool text_is(const char *line, const char *key, const char *text)
{
	const char *at = value_of(line, key);
	size_t len = strlen(text);

	return at && at[0] == '"' && !strncmp(at + 1, text, len) && at[1 + len] == '"';
}

static bool number_is(const char *line, const char *key, int64_t number)
{
	int64_t told;

	return number_of(line, key, &told) && told == number;
}

static bool placed(const char *line, const char *word)
{
	const char *at = value_of(line, "placement"), *end = at ? strchr(at, ']') : NULL, *found = at ? strstr(at, word) : NULL;

	return found && found < end;
}

/* --- comparison ---------------------------------------------------------------------------- */

static const char *mapping_word(const struct pinhold_resolve *is)
{
	if (is->flags & PINHOLD_PAGE_HUGETLB)
		return "hugetlb";
	if (is->flags & PINHOLD_PAGE_KSM)
		return "ksm";
	if (is->flags & PINHOLD_PAGE_ANON)
		return "anonymous";
	if (is->flags & PINHOLD_PAGE_MAPPING)
		return is->flags & PINHOLD_PAGE_SWAPBACKED ? "shmem" : "file";
	return "other";
}

static bool placement_right(const char *line, const struct range *r, const struct pinhold_resolve *is)
{
	bool isolated = !strcmp(is->migratetype_name, "MIGRATE_ISOLATE");

	if (placed(line, "movable_zone") != (bool)is->is_movable_zone || placed(line, "isolate") != isolated)
		return false;
	/* What lies under the isolation no function tells; who set it knows. */
	if (isolated)
		return !r->cma_known || placed(line, "cma") == r->cma;
	return placed(line, "cma") == (bool)is->is_cma;
}

/* Bits of the fields that were compared; *ret_differ: of those that are not as the kernel says. */
static uint32_t compare(const char *line, const struct range *r, const struct pinhold_resolve *is, uint32_t *ret_differ)
{
	uint32_t compared = 0, differ = 0;
	int64_t pins;
	bool counted = number_of(line, "pincount", &pins);

#define SAME(field, same)                                  \
	do {                                               \
		compared |= 1u << (field);                 \
		differ |= (same) ? 0 : 1u << (field);      \
	} while (0)
	SAME(F_PFN, number_is(line, "pfn", (int64_t)is->pfn));
	SAME(F_HEAD, number_is(line, "head_pfn", (int64_t)is->head_pfn));
	SAME(F_NODE, number_is(line, "node", is->node));
	SAME(F_ZONE, text_is(line, "zone", is->zone_name));
	SAME(F_TYPE, text_is(line, "migratetype", is->migratetype_name));
	SAME(F_ORDER, number_is(line, "order", is->order));
	SAME(F_REFS, number_is(line, "refcount", is->refcount));
	SAME(F_MAPS, number_is(line, "mapcount", is->mapcount));
	SAME(F_MAPPING, text_is(line, "mapping", mapping_word(is)));
	SAME(F_PLACEMENT, placement_right(line, r, is));
	if (is->pincount != PINHOLD_PINCOUNT_UNAVAILABLE)
		SAME(F_PINS, counted && pins == (int64_t)is->pincount && strstr(line, "\"pincount_estimated\":false"));
	else if (counted)
		SAME(F_MAYBE, (pins > 0) == (bool)(is->flags & PINHOLD_PAGE_MAYBE_PINNED));
	if (is->expected != PINHOLD_EXPECTED_UNAVAILABLE)
		SAME(F_EXPECTED, number_is(line, "expected", is->expected));
#undef SAME
	*ret_differ = differ;
	return compared;
}

static void count_cell(const struct pinhold_resolve *is, bool also_cma)
{
	char type[sizeof(cells[0].type)];

	snprintf(type, sizeof(type), "%s%s", is->migratetype_name, also_cma ? "+CMA" : "");
	for (uint32_t i = 0; i <= ncells && i < CELLS_MAX; i++) {
		struct cell *c = &cells[i];

		if (i == ncells) {
			snprintf(c->zone, sizeof(c->zone), "%s", is->zone_name);
			snprintf(c->type, sizeof(c->type), "%s", type);
			c->node = is->node;
			ncells++;
		}
		if (!strcmp(c->zone, is->zone_name) && !strcmp(c->type, type) && c->node == is->node) {
			c->pages++;
			return;
		}
	}
}

static void show_difference(const struct range *r, const char *line, const struct pinhold_resolve *is, uint32_t differ)
{
	printf("# %s differs in", r->kind);
	for (int f = 0; f < FIELDS; f++)
		if (differ & 1u << f)
			printf(" %s", field_names[f]);
	printf(": the kernel says pfn %#" PRIx64 " head %#" PRIx64 " node %u zone %s %s order %u refs %u maps %d pins %" PRId64
	       " expected %" PRId64 " flags %#x; pinwhy %s",
	       (uint64_t)is->pfn, (uint64_t)is->head_pfn, is->node, is->zone_name, is->migratetype_name, is->order, is->refcount,
	       (int)is->mapcount, (int64_t)is->pincount, (int64_t)is->expected, is->flags, line);
}

static void take_page(struct result *res, const struct range *r, const struct page *p, const char *line)
{
	uint32_t compared, differ;

	if (!p->stable) {
		res->unstable++;
		return;
	}
	compared = compare(line, r, &p->is, &differ);
	count_cell(&p->is, r->cma_known && r->cma && !p->is.is_cma);
	for (int f = 0; f < FIELDS; f++) {
		res->compared[f] += !!(compared & 1u << f);
		if (differ & 1u << f && ++res->differ[f] == 1)
			show_difference(r, line, &p->is, differ);
	}
	res->told++;
}

/* The page of ours that a line is about, NULL: of none. */
static struct page *page_at(uint64_t address, const struct range **ret_range)
{
	for (uint32_t i = 0; i < ranges.n; i++) {
		uint64_t at = (address - (uintptr_t)ranges.range[i].map) / page_bytes();

		if (address < (uintptr_t)ranges.range[i].map || at >= ranges.range[i].pages)
			continue;
		*ret_range = &ranges.range[i];
		return &pages_of[i][at];
	}
	return NULL;
}

static struct result *result_of(struct result *results, const char *kind)
{
	for (size_t i = 0; i < decode_nkinds; i++)
		if (!strcmp(decode_kinds[i].name, kind))
			return &results[i];
	die("no kind is called '%s'", kind);
}

/* The lines are kept until the kernel has been asked again. */
static FILE *pinwhy_says(void)
{
	char command[128];

	snprintf(command, sizeof(command), "pinwhy pages %d --json --detail >/tmp/decode.jsonl", getpid());
	if (system(command) == -1)
		die_errno("cannot run pinwhy");
	return fopen("/tmp/decode.jsonl", "re");
}

static void compare_all(struct result *results, FILE *f)
{
	static char line[LINE_BYTES];
	int64_t address;

	while (f && fgets(line, sizeof(line), f)) {
		const struct range *r;
		struct page *p;

		if (!text_is(line, "kind", "page") || !number_of(line, "address", &address))
			continue;
		p = page_at((uint64_t)address, &r);
		if (!p || p->told)
			continue;
		p->told = true;
		take_page(result_of(results, r->kind), r, p, line);
	}
}

/* --- verdicts ------------------------------------------------------------------------------- */

static void judge(const struct kind *k, const struct result *res)
{
	uint64_t wrong = 0;

	if (!res->made) {
		printf("SKIP decode_%s: %s\n", k->name, res->why);
		return;
	}
	printf("# %s: %" PRIu64 " pages, %" PRIu64 " compared, %" PRIu64 " changed meanwhile;", k->name, res->pages, res->told, res->unstable);
	for (int f = 0; f < FIELDS; f++) {
		wrong += res->differ[f];
		if (res->differ[f])
			printf(" %s wrong in %" PRIu64 " of %" PRIu64, field_names[f], res->differ[f], res->compared[f]);
	}
	printf("%s\n", wrong ? "" : " all as the kernel says");
	if (wrong || res->told + res->unstable != res->pages || !res->told || res->unstable * 20 > res->pages)
		printf("FAIL decode_%s: %" PRIu64 " of %" PRIu64 " compared, %" PRIu64 " fields wrong\n", k->name, res->told, res->pages, wrong);
	else
		printf("PASS decode_%s\n", k->name);
}

static bool wanted(const char *list, const char *name)
{
	const char *at = list;
	size_t len = strlen(name);

	while (list && (at = strstr(at, name))) {
		if ((at == list || at[-1] == ',') && (!at[len] || at[len] == ','))
			return true;
		at += len;
	}
	return !list;
}

/* Of each zone and type that the kernel's own tables have and a block could be had of, some page was compared: the suite asks. */
static void print_cells(void)
{
	for (uint32_t i = 0; i < ncells; i++)
		printf("CELL %u %s %s %" PRIu64 "\n", cells[i].node, cells[i].zone, cells[i].type, cells[i].pages);
}

/* What this kernel has no word on. */
static void print_uncompared(const struct result *results)
{
	for (int f = 0; f < FIELDS; f++) {
		uint64_t compared = 0;

		for (size_t i = 0; i < decode_nkinds; i++)
			compared += results[i].compared[f];
		if (!compared)
			printf("# never compared: %s\n", field_names[f]);
	}
}

static void make_all(struct result *results, const char *list)
{
	for (size_t i = 0; i < decode_nkinds; i++) {
		uint32_t from = ranges.n;

		if (!wanted(list, decode_kinds[i].name))
			continue;
		results[i].made = decode_kinds[i].make(&ranges, results[i].why);
		if (!results[i].made)
			ranges.n = from;
		for (uint32_t k = from; k < ranges.n; k++) {
			struct range *r = &ranges.range[k];

			r->kind = decode_kinds[i].name;
			results[i].pages += r->pages;
			/* Children of later kinds are not to share it; a part of a huge page cannot be kept from them alone. */
			if (madvise(r->map, r->pages * page_bytes(), MADV_DONTFORK) && errno != EINVAL)
				die_errno("%s: MADV_DONTFORK", r->kind);
		}
	}
}

int main(int argc, char **argv)
{
	const char *list = argc > 1 ? argv[1] : NULL;
	struct result *results = calloc(decode_nkinds, sizeof(*results));
	FILE *f;

	if (!results)
		die("out of memory");
	oracle_open();
	make_all(results, list);
	settle();
	ask_all(false);
	f = pinwhy_says();
	ask_all(true);
	compare_all(results, f);
	for (size_t i = 0; i < decode_nkinds; i++)
		if (wanted(list, decode_kinds[i].name))
			judge(&decode_kinds[i], &results[i]);
	print_uncompared(results);
	print_cells();
	return 0;
}
