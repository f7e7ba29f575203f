// SPDX-License-Identifier: BSD-2-Clause
/* Where the RDMA core's fields lie: the kernel's own, a vendor's with BTF of its own, and one that says nothing of itself. */
#include "rdma_layout.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <string.h>

#include "support.h"
#include "tree.h"

static struct btf *kernel;
static int u64_id, pointer_id, name_id, bit_id;
static struct tree tree;

static void add_basics(struct btf *btf)
{
	int char_id = btf__add_int(btf, "char", 1, 0);

	u64_id = btf__add_int(btf, "u64", 8, 0);
	btf__add_int(btf, "u32", 4, 0);
	bit_id = btf__add_int(btf, "u16", 2, 0);
	pointer_id = btf__add_ptr(btf, 0);
	name_id = btf__add_array(btf, u64_id, char_id, 64);
}

/* struct ib_device with its name behind `pad` bytes; attrs behind that; a bit at the end. */
static void add_device(struct btf *btf, uint32_t pad)
{
	int ops = btf__add_struct(btf, "ib_device_ops", 16), attrs;

	btf__add_field(btf, "owner", pointer_id, 0, 0);
	btf__add_field(btf, "reg_user_mr_dmabuf", pointer_id, 64, 0);
	attrs = btf__add_struct(btf, "ib_device_attr", 16);
	btf__add_field(btf, "fw_ver", u64_id, 0, 0);
	btf__add_field(btf, "max_mr_size", u64_id, 64, 0);
	btf__add_struct(btf, "ib_device", pad + 128);
	btf__add_field(btf, "ops", ops, 0, 0);
	btf__add_field(btf, "name", name_id, pad * 8, 0);
	btf__add_field(btf, "attrs", attrs, (pad + 64) * 8, 0);
	btf__add_field(btf, "cc_dma_bounce", bit_id, (pad + 80) * 8 + 3, 1);
}

/* struct uverbs_attr_bundle, whose members are inside an anonymous struct inside a union. */
static void add_bundle(struct btf *btf)
{
	int udata = btf__add_struct(btf, "ib_udata", 16), inner, both;

	btf__add_field(btf, "inbuf", pointer_id, 64, 0);
	inner = btf__add_struct(btf, NULL, 40);
	btf__add_field(btf, "ucore", udata, 64, 0);
	btf__add_field(btf, "ufile", pointer_id, 256, 0);
	both = btf__add_union(btf, NULL, 40);
	btf__add_field(btf, NULL, inner, 0, 0);
	btf__add_struct(btf, "uverbs_attr_bundle", 48);
	btf__add_field(btf, "head", u64_id, 0, 0);
	btf__add_field(btf, NULL, both, 64, 0);
}

static int setup(void **state)
{
	(void)state;
	kernel = btf__new_empty();
	add_basics(kernel);
	add_device(kernel, 16);
	tree_make(&tree);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	btf__free(kernel);
	tree_remove(&tree);
	return 0;
}

static uint32_t place(const struct btf *btf, const char *structure, const char *member, uint32_t bytes)
{
	return rdma_layout_field(btf, btf__type_cnt(kernel), structure, member, bytes);
}

static void a_field_lies_where_it_is_described(void **state)
{
	(void)state;
	assert_int_equal(place(kernel, "ib_device", "name", 64), 16 * 8 + 1);
	assert_int_equal(place(kernel, "ib_device", "ops.reg_user_mr_dmabuf", 8), 8 * 8 + 1);
	assert_int_equal(place(kernel, "ib_device", "attrs.max_mr_size", 8), (16 + 64 + 8) * 8 + 1);
	assert_int_equal(place(kernel, "ib_device", "cc_dma_bounce", 0), (16 + 80) * 8 + 3 + 1);
}

static void what_is_another_thing_is_not_read(void **state)
{
	(void)state;
	assert_int_equal(place(kernel, "ib_device", "index", 4), 0);
	assert_int_equal(place(kernel, "ib_device", "attrs.fw_ver", 4), 0);	/* of another size */
	assert_int_equal(place(kernel, "ib_device", "name", 0), 0);		/* no bit */
	assert_int_equal(place(kernel, "ib_device", "cc_dma_bounce", 2), 0);	/* a bit */
	assert_int_equal(place(kernel, "ib_device", "name.ops", 8), 0);		/* not through what is no struct */
	assert_int_equal(place(kernel, "ib_umem", "length", 8), 0);
}

static void anonymous_members_are_looked_through(void **state)
{
	(void)state;
	add_bundle(kernel);
	assert_int_equal(place(kernel, "uverbs_attr_bundle", "ucore.inbuf", 8), (8 + 8 + 8) * 8 + 1);
	assert_int_equal(place(kernel, "uverbs_attr_bundle", "ufile", 8), (8 + 32) * 8 + 1);
}

static void a_modules_own_struct_wins(void **state)
{
	struct btf *own = btf__new_empty_split(kernel);

	(void)state;
	assert_int_equal(place(own, "ib_device", "name", 64), 16 * 8 + 1);
	add_device(own, 104);
	assert_int_equal(place(own, "ib_device", "name", 64), 104 * 8 + 1);
	assert_int_equal(place(kernel, "ib_device", "name", 64), 16 * 8 + 1);
	/* Two of different size: which one is meant is not known. */
	add_device(own, 40);
	assert_int_equal(place(own, "ib_device", "name", 64), 0);
	btf__free(own);
}

/* --- a system ------------------------------------------------------------------ */

static void put_btf(const char *path, const struct btf *btf)
{
	uint32_t size;
	const void *data = btf__raw_data(btf, &size);

	tree_write_bytes(&tree, path, data, size);
}

static struct rdma_layout looked(void)
{
	struct rdma_layout r;

	rdma_layout_read(&r, tree.root);
	return r;
}

static void nothing_is_loaded(void **state)
{
	struct rdma_layout r;

	(void)state;
	put_btf("sys/kernel/btf/vmlinux", kernel);
	r = looked();
	assert_int_equal(r.of[LAYOUT_ib_core].source, LAYOUT_NOT_LOADED);
	assert_int_equal(r.wire.at[WIRE_FIELD_DEVICE_NAME], 0);
}

static void a_kernel_that_keeps_no_btf_of_modules(void **state)
{
	struct rdma_layout r;

	(void)state;
	put_btf("sys/kernel/btf/vmlinux", kernel);
	tree_write(&tree, "sys/module/ib_core/taint", "\n");
	r = looked();
	assert_int_equal(r.of[LAYOUT_ib_core].source, LAYOUT_KERNEL_BTF);
	assert_int_equal(r.wire.at[WIRE_FIELD_DEVICE_NAME], 16 * 8 + 1);
	tree_write(&tree, "sys/module/ib_core/taint", "OE\n");
	r = looked();
	assert_int_equal(r.of[LAYOUT_ib_core].source, LAYOUT_NOT_READ);
	assert_true(r.of[LAYOUT_ib_core].foreign);
	assert_int_equal(r.wire.at[WIRE_FIELD_DEVICE_NAME], 0);
	assert_non_null(strstr(r.of[LAYOUT_ib_core].why, "out of the kernel's tree"));
}

static void one_without_btf_among_others(void **state)
{
	struct btf *other = btf__new_empty_split(kernel);
	struct rdma_layout r;

	(void)state;
	put_btf("sys/kernel/btf/vmlinux", kernel);
	put_btf("sys/kernel/btf/ext4", other);
	tree_write(&tree, "sys/module/ib_core/taint", "\n");
	r = looked();
	assert_int_equal(r.of[LAYOUT_ib_core].source, LAYOUT_NOT_READ);
	assert_int_equal(r.wire.at[WIRE_FIELD_DEVICE_NAME], 0);
	btf__free(other);
}

static void a_vendors_core_that_describes_itself(void **state)
{
	struct btf *own = btf__new_empty_split(kernel);
	struct rdma_layout r;

	(void)state;
	add_device(own, 104);
	put_btf("sys/kernel/btf/vmlinux", kernel);
	put_btf("sys/kernel/btf/ib_core", own);
	tree_write(&tree, "sys/module/ib_core/taint", "O\n");
	r = looked();
	assert_int_equal(r.of[LAYOUT_ib_core].source, LAYOUT_OWN_BTF);
	assert_true(r.of[LAYOUT_ib_core].foreign);
	assert_int_equal(r.wire.at[WIRE_FIELD_DEVICE_NAME], 104 * 8 + 1);
	assert_int_equal(r.of[LAYOUT_ib_core].differ, 4);
	assert_int_equal(r.of[LAYOUT_ib_uverbs].source, LAYOUT_NOT_LOADED);
	/* What cannot be read is not guessed either. */
	tree_write(&tree, "sys/kernel/btf/ib_core", "nonsense");
	r = looked();
	assert_int_equal(r.of[LAYOUT_ib_core].source, LAYOUT_NOT_READ);
	assert_int_equal(r.wire.at[WIRE_FIELD_DEVICE_NAME], 0);
	btf__free(own);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_field_lies_where_it_is_described),
		TEST(what_is_another_thing_is_not_read),
		TEST(anonymous_members_are_looked_through),
		TEST(a_modules_own_struct_wins),
		TEST(nothing_is_loaded),
		TEST(a_kernel_that_keeps_no_btf_of_modules),
		TEST(one_without_btf_among_others),
		TEST(a_vendors_core_that_describes_itself),
	};

	libbpf_set_print(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
