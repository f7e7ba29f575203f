// SPDX-License-Identifier: BSD-2-Clause
#include "loader_batches.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>

#define OFFSETS "__per_cpu_offset"
#define LISTED_FIRST "lru_add"	/* struct cpu_fbatches: the batch of pages that are on no list yet */

static const struct btf_type *type_of(const struct btf *btf, uint32_t id)
{
	int end = btf__resolve_type(btf, id);

	return btf__type_by_id(btf, end > 0 ? (uint32_t)end : 0);
}

/* struct folio_batch (include/linux/folio_batch.h), struct pagevec before v6.5: a count in its first byte, and an array. */
static bool is_batch(const struct btf *btf, const struct btf_type *t, struct wire_lru_batch *ret_batch)
{
	const char *name = btf__name_by_offset(btf, t->name_off);

	if (!btf_is_struct(t) || (strcmp(name, "folio_batch") && strcmp(name, "pagevec")))
		return false;
	for (int i = 0; i < btf_vlen(t); i++) {
		const struct btf_member *m = btf_members(t) + i;
		const struct btf_type *array = type_of(btf, m->type);

		if (i == 0 && (strcmp(btf__name_by_offset(btf, m->name_off), "nr") || array->size != 1))
			return false;
		if (!btf_is_array(array))
			continue;
		*ret_batch = (struct wire_lru_batch){
			.entries_offset = btf_member_bit_offset(t, (uint32_t)i) / 8, .entries_max = btf_array(array)->nelems,
		};
		return ret_batch->entries_max <= WIRE_LRU_BATCH_MAX;
	}
	return false;
}

/* False: there are more of them than there is place for. */
static bool add_batch(struct batch_table *t, const char *variable, uint32_t offset, const char *member, struct wire_lru_batch batch)
{
	if (t->n == WIRE_LRU_BATCHES || strlen(variable) >= BATCH_NAME_LEN)
		return false;
	batch.address = offset;
	batch.adds = strcmp(member, LISTED_FIRST) == 0;
	snprintf(t->rows[t->n].variable, BATCH_NAME_LEN, "%s", variable);
	t->rows[t->n++].batch = batch;
	return true;
}

/* A variable is a batch, or a structure that has some. */
static bool add_variable(struct batch_table *t, const struct btf *btf, const struct btf_type *var)
{
	const char *name = btf__name_by_offset(btf, var->name_off);
	const struct btf_type *s = type_of(btf, var->type);
	struct wire_lru_batch batch;

	if (is_batch(btf, s, &batch))
		return add_batch(t, name, 0, "", batch);
	for (int i = 0; btf_is_struct(s) && i < btf_vlen(s); i++) {
		const struct btf_member *m = btf_members(s) + i;

		if (is_batch(btf, type_of(btf, m->type), &batch) &&
		    !add_batch(t, name, btf_member_bit_offset(s, (uint32_t)i) / 8, btf__name_by_offset(btf, m->name_off), batch))
			return false;
	}
	return true;
}

void batches_find(struct batch_table *ret_table, struct kfacts *kf)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool whole = !libbpf_get_error(btf), first = false;
	int id = whole ? btf__find_by_name_kind(btf, ".data..percpu", BTF_KIND_DATASEC) : -1;
	const struct btf_type *section = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	memset(ret_table, 0, sizeof(*ret_table));
	for (int i = 0; whole && section && i < btf_vlen(section); i++)
		whole = add_variable(ret_table, btf, btf__type_by_id(btf, btf_var_secinfos(section)[i].type));
	if (!libbpf_get_error(btf))
		btf__free(btf);
	whole = whole && !kfacts_watch(kf, OFFSETS);
	for (uint32_t i = 0; i < ret_table->n; i++) {
		whole = whole && !kfacts_watch(kf, ret_table->rows[i].variable);
		first |= ret_table->rows[i].batch.adds;
	}
	if (!whole || !first)
		ret_table->n = 0;
}

uint64_t batches_place(struct batch_table *t, const struct kfacts *kf)
{
	const char *module;

	for (uint32_t i = 0; i < t->n; i++) {
		/* Where per-CPU variables begin at 0 that may be an address. */
		if (kfacts_symbol(kf, t->rows[i].variable, &module) != ANSWER_YES)
			return 0;
		t->rows[i].batch.address += kfacts_address(kf, t->rows[i].variable);
	}
	return t->n ? kfacts_address(kf, OFFSETS) : 0;
}
