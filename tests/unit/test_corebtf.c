// SPDX-License-Identifier: BSD-2-Clause
/* What is kept of a kernel's BTF for the programs' relocations. */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "corebtf.h"
#include "support.h"

static struct btf *kernel, *object, *part;

static void make_kernel(void)
{
	int ulong, inner, array, pointer, constant;

	kernel = btf__new_empty();
	ulong = btf__add_int(kernel, "unsigned long", 8, 0);
	btf__add_struct(kernel, "unasked", 8);
	btf__add_field(kernel, "x", ulong, 0, 0);
	inner = btf__add_struct(kernel, "inner", 16);
	btf__add_field(kernel, "flags", ulong, 0, 3);
	btf__add_field(kernel, "count", ulong, 64, 0);
	constant = btf__add_const(kernel, inner);
	array = btf__add_array(kernel, ulong, constant, 4);
	pointer = btf__add_ptr(kernel, 2);
	btf__add_struct(kernel, "outer", 72);
	btf__add_field(kernel, "link", pointer, 0, 0);
	btf__add_field(kernel, "", array, 64, 0);
	btf__add_enum64(kernel, "states", 8, false);
	btf__add_enum64_value(kernel, "WIDE", 1ULL << 40);
	btf__add_enum(kernel, "outer", 4); /* another kind of the same name */
	btf__add_typedef(kernel, "outer_t", array);
	btf__add_struct(kernel, "outer___old", 1);
}

/* In the way of programs: trimmed, and with flavours. */
static void make_object(void)
{
	object = btf__new_empty();
	btf__add_struct(object, "outer___new", 0);
	btf__add_enum(object, "states", 4);
	btf__add_struct(object, "absent", 0);
	btf__add_struct(object, "", 0);
}

static void make_part(void)
{
	struct corebtf_names names = {};
	char path[32];
	int fd;

	make_kernel();
	make_object();
	assert_int_equal(corebtf_ask(&names, object), 0);
	assert_int_equal(names.n, 3);
	assert_int_equal(corebtf_make(&names, kernel, false, &fd), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	part = btf__parse(path, NULL);
	assert_false(libbpf_get_error(part));
	close(fd);
	corebtf_forget(&names);
	btf__free(object);
}

static void drop_part(void)
{
	btf__free(kernel);
	btf__free(part);
}

static const struct btf_type *kept(const char *name, uint32_t kind)
{
	int id = btf__find_by_name_kind(part, name, kind);

	return id > 0 ? btf__type_by_id(part, (uint32_t)id) : NULL;
}

static const struct btf_type *member(const struct btf_type *t, uint32_t i)
{
	return btf__type_by_id(part, btf_members(t)[i].type);
}

/* What is asked for by name, whatever its flavour, and nothing of another kind or name. */
static void keeps_what_is_asked_for(void **state)
{
	(void)state;
	make_part();
	assert_non_null(kept("outer", BTF_KIND_STRUCT));
	assert_non_null(kept("outer___old", BTF_KIND_STRUCT));
	assert_non_null(kept("states", BTF_KIND_ENUM64));
	assert_null(kept("outer", BTF_KIND_ENUM));
	assert_null(kept("outer_t", BTF_KIND_TYPEDEF));
	assert_null(kept("unasked", BTF_KIND_STRUCT));
	assert_true(btf_enum64_value(btf_enum64(kept("states", BTF_KIND_ENUM64))) == 1ULL << 40);
	drop_part();
}

/* Down to the last bit; pointers lead nowhere. */
static void keeps_what_it_contains(void **state)
{
	const struct btf_type *outer, *array, *inner;

	(void)state;
	make_part();
	outer = kept("outer", BTF_KIND_STRUCT);
	assert_int_equal(outer->size, 72);
	assert_int_equal(btf_vlen(outer), 2);
	assert_true(btf_is_ptr(member(outer, 0)));
	assert_int_equal(member(outer, 0)->type, 0);
	assert_int_equal(btf_member_bit_offset(outer, 1), 64);
	array = member(outer, 1);
	assert_true(btf_is_array(array));
	assert_int_equal(btf_array(array)->nelems, 4);
	assert_int_equal(btf__resolve_size(part, btf_members(outer)[1].type), 64);
	inner = btf__type_by_id(part, btf__type_by_id(part, btf_array(array)->type)->type);
	assert_string_equal(btf__name_by_offset(part, inner->name_off), "inner");
	assert_int_equal(btf_member_bitfield_size(inner, 0), 3);
	assert_int_equal(btf_member_bit_offset(inner, 1), 64);
	assert_string_equal(btf__name_by_offset(part, member(inner, 1)->name_off), "unsigned long");
	drop_part();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_what_is_asked_for),
		cmocka_unit_test(keeps_what_it_contains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
