// SPDX-License-Identifier: BSD-2-Clause
#include "slots.h"

#include <stdio.h>
#include <string.h>

/* Made by objects.S. */
#define BYTES(name) extern const char bpf_##name##_start[], bpf_##name##_end[]
#define BYTES_ANY(name) BYTES(name)
#define BYTES_LOOPS(name) BYTES(name)
#define BYTES_TWICE(name) BYTES(name), bpf_##name##_basic_start[], bpf_##name##_basic_end[]

#define WHOLE(name) bpf_##name##_start, bpf_##name##_end
#define BASIC_ANY(name) WHOLE(name)
#define BASIC_LOOPS(name) NULL, NULL
#define BASIC_TWICE(name) bpf_##name##_basic_start, bpf_##name##_basic_end

BYTES_ANY(maps);
BYTES_LOOPS(pages);
#define OBJECT(name, form) BYTES_##form(name);
#define SLOT(...)
#include "slots.def"
#undef OBJECT
#undef SLOT

const struct object_row maps_object = { "maps", WHOLE(maps), BASIC_ANY(maps) };
const struct object_row pages_object = { "pages", WHOLE(pages), BASIC_LOOPS(pages) };

const struct object_row object_rows[NOBJECTS] = {
#define OBJECT(name, form) { #name, WHOLE(name), BASIC_##form(name) },
#define SLOT(...)
#include "slots.def"
#undef OBJECT
#undef SLOT
};

#define AUTO false
#define DEMAND true
const struct slot_row slot_rows[NSLOTS] = {
#define OBJECT(...)
#define SLOT(name, object, fn, by_default, expected, needs, rate, purpose) \
	{ #name, OBJECT_##object, WIRE_FN_##fn, by_default, expected, needs, #rate, purpose },
#include "slots.def"
#undef OBJECT
#undef SLOT
};
#undef AUTO
#undef DEMAND

int slot_index(const char *name)
{
	for (int i = 0; i < NSLOTS; i++)
		if (!strcmp(slot_rows[i].name, name))
			return i;
	return -1;
}

static const struct {
	const char *prefix;
	enum attach_kind kind;
} sections[] = {
	{ "kprobe/", ATTACH_KPROBE },	  { "kretprobe/", ATTACH_KRETPROBE }, { "fentry/", ATTACH_TRAMPOLINE },
	{ "fexit/", ATTACH_TRAMPOLINE }, { "tp/", ATTACH_TRACEPOINT },	      { "raw_tp/", ATTACH_TRACEPOINT },
};

int variant_parse(const char *program, const char *section, struct variant *ret_variant)
{
	const char *how = strstr(program, "__");
	struct variant v = {};
	char slot[48];

	if (!how || (size_t)(how - program) >= sizeof(slot) || strlen(program) >= sizeof(v.program))
		return -1;
	snprintf(slot, sizeof(slot), "%.*s", (int)(how - program), program);
	if (section[0] == '?')
		section++;
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		size_t len = strlen(sections[i].prefix);

		if (strncmp(section, sections[i].prefix, len))
			continue;
		v.kind = sections[i].kind;
		snprintf(v.program, sizeof(v.program), "%s", program);
		snprintf(v.how, sizeof(v.how), "%s", how + 2);
		snprintf(v.target, sizeof(v.target), "%s", section + len);
		*ret_variant = v;
		return slot_index(slot);
	}
	return -1;
}
