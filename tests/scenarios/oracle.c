// SPDX-License-Identifier: BSD-2-Clause
#include "oracle.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>

#include "common.h"
#include "json.h"

static int module_fd = -1;

static const char *const area_names[AREA_MAX] = {
	[AREA_NONE] = "none", [AREA_CMA] = "cma", [AREA_MOVABLE] = "movable",
};

enum area area_parse(const char *name)
{
	for (int i = 0; i < AREA_MAX; i++)
		if (!strcmp(area_names[i], name))
			return (enum area)i;
	die("unknown area '%s'; one of cma, movable, none", name);
}

const char *area_name(enum area area)
{
	return area_names[area];
}

void oracle_open(void)
{
	module_fd = open(PINHOLD_DEVICE, O_RDWR | O_CLOEXEC);
	if (module_fd < 0)
		die_errno("cannot open %s; is the module pinhold loaded?", PINHOLD_DEVICE);
}

struct pinhold_resolve oracle_ask(uint64_t address)
{
	struct pinhold_resolve page = { .addr = address };

	if (ioctl(module_fd, PINHOLD_RESOLVE, &page))
		die_errno("the module cannot resolve 0x%" PRIx64, address);
	return page;
}

bool oracle_in_area(const struct pinhold_resolve *page, enum area area)
{
	switch (area) {
	case AREA_CMA:
		return page->is_cma;
	case AREA_MOVABLE:
		return page->is_movable_zone;
	default:
		return oracle_ordinary(page);
	}
}

bool oracle_ordinary(const struct pinhold_resolve *page)
{
	return !page->is_cma && !page->is_movable_zone;
}

uint64_t oracle_head_pfn(const struct pinhold_resolve *page)
{
	return page->pfn & ~((1ull << page->order) - 1);
}

static const char *area_of(const struct pinhold_resolve *page)
{
	if (page->is_cma)
		return area_names[AREA_CMA];
	return area_names[page->is_movable_zone ? AREA_MOVABLE : AREA_NONE];
}

void oracle_json(const char *key, const struct pinhold_resolve *page)
{
	json_open(key, '{');
	json_hex("pfn", page->pfn);
	json_hex("head_pfn", oracle_head_pfn(page));
	json_num("node", page->node);
	json_num("zone", page->zone);
	json_str("zone_name", page->zone_name);
	json_num("migratetype", page->migratetype);
	json_str("area", area_of(page));
	json_num("order", page->order);
	json_num("refcount", page->refcount);
	json_num("mapcount", page->mapcount);
	if (page->pincount != PINHOLD_PINCOUNT_UNAVAILABLE)
		json_num("pincount", (int64_t)page->pincount);
	json_bool("maybe_pinned", page->flags & PINHOLD_PAGE_MAYBE_PINNED);
	json_close('}');
}

uint32_t hold_take(uint64_t address, uint64_t length, uint32_t flags)
{
	struct pinhold_pin pin = { .addr = address, .len = length, .flags = flags };

	if (ioctl(module_fd, PINHOLD_PIN, &pin))
		die_errno("the module cannot pin 0x%" PRIx64, address);
	return pin.id;
}

void hold_give(uint32_t id)
{
	struct pinhold_state state = { .id = id };

	if (ioctl(module_fd, PINHOLD_UNPIN, &state))
		die_errno("the module cannot give hold %u back", id);
}

bool oracle_left_cma(void)
{
	unsigned int blocks = 0;
	FILE *f = fopen("/sys/module/pinhold/parameters/cma_blocks", "re");

	if (!f)
		return false;
	if (fscanf(f, "%u", &blocks) != 1)
		blocks = 0;
	fclose(f);
	return blocks;
}

bool oracle_config(const char *line)
{
	char path[128], text[512];
	struct utsname u;
	bool has = false;
	FILE *f;

	uname(&u);
	snprintf(path, sizeof(path), "/boot/config-%s", u.release);
	f = fopen(path, "re");
	if (!f)
		die_errno("%s, by which it is known what the kernel tells,", path);
	while (!has && fgets(text, sizeof(text), f)) {
		text[strcspn(text, "\n")] = '\0';
		has = !strcmp(text, line);
	}
	fclose(f);
	return has;
}

int block_isolate(uint64_t address, uint64_t *ret_block)
{
	struct pinhold_isolate block = { .addr = address };

	if (ioctl(module_fd, PINHOLD_ISOLATE, &block))
		return errno;
	*ret_block = block.pfn;
	return 0;
}

void block_give(uint64_t block)
{
	struct pinhold_isolate off = { .pfn = block, .off = 1 };

	if (ioctl(module_fd, PINHOLD_ISOLATE, &off))
		die_errno("cannot take the mark off a block");
}
