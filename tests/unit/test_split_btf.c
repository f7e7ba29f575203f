// SPDX-License-Identifier: BSD-2-Clause
/* The types of a module behind those of vmlinux: as libbpf writes both, and reads what is joined. */
#include "support.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "split_btf.h"

static struct btf *base, *split;

static int setup(void **state)
{
	int number;

	(void)state;
	base = btf__new_empty();
	number = btf__add_int(base, "int", 4, BTF_INT_SIGNED);
	btf__add_struct(base, "device", 8);
	btf__add_field(base, "id", number, 32, 0);
	split = btf__new_empty_split(base);
	btf__add_struct(split, "bundle", 16);
	btf__add_field(split, "dev", 2, 0, 0);
	btf__add_field(split, "count", number, 64, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	btf__free(split);
	btf__free(base);
	return 0;
}

static const char *member(const struct btf *btf, const char *type, int i, const char **ret_of)
{
	const struct btf_type *t = btf__type_by_id(btf, (uint32_t)btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT));
	const struct btf_member *m = btf_members(t) + i;

	*ret_of = btf__name_by_offset(btf, btf__type_by_id(btf, m->type)->name_off);
	return btf__name_by_offset(btf, m->name_off);
}

static void joined(void **state)
{
	uint32_t base_bytes, split_bytes;
	const void *b = btf__raw_data(base, &base_bytes), *s = btf__raw_data(split, &split_bytes);
	const char *of;
	struct btf *all;
	size_t bytes;
	void *raw;

	(void)state;
	assert_int_equal(split_btf_join(b, base_bytes, s, split_bytes, &raw, &bytes), 0);
	all = btf__new(raw, (uint32_t)bytes);
	assert_non_null(all);
	assert_int_equal(btf__type_cnt(all), btf__type_cnt(split));
	assert_string_equal(member(all, "device", 0, &of), "id");
	assert_string_equal(of, "int");
	assert_string_equal(member(all, "bundle", 0, &of), "dev");
	assert_string_equal(of, "device");
	assert_string_equal(member(all, "bundle", 1, &of), "count");
	assert_string_equal(of, "int");
	btf__free(all);
	free(raw);
}

static void refused(void **state)
{
	uint32_t n, m;
	const char *b = btf__raw_data(base, &n), *s = btf__raw_data(split, &m);
	char *bad = malloc(n);
	size_t bytes;
	void *raw;

	(void)state;
	for (uint32_t cut = 0; cut < n; cut++)
		assert_int_equal(split_btf_join(b, cut, s, m, &raw, &bytes), -EBADMSG);
	memcpy(bad, b, n);
	bad[0] ^= 1;
	assert_int_equal(split_btf_join(bad, n, s, m, &raw, &bytes), -EBADMSG);
	assert_int_equal(split_btf_join(b, n, s, 0, &raw, &bytes), -EBADMSG);
	free(bad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(joined, setup, teardown),
		cmocka_unit_test_setup_teardown(refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
