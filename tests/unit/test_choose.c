// SPDX-License-Identifier: BSD-2-Clause
/* Which variant of a slot fits: what check-plan cannot make a list of symbols say. */
#include "support.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "loader_state.h"

static struct kfacts *kf;
static struct loader *l;

static int open_with(const char *list, const char *avoid)
{
	struct loader_opts opts = { .ring_bytes = 4096, .avoid = avoid };
	struct btf *btf = btf__parse("tests/plan/7.3/btf", NULL);

	assert_non_null(btf);
	assert_int_equal(kfacts_of_btf(&kf, btf, list), 0);
	assert_int_equal(loader_prepare(&l, kf, &opts), 0);
	for (int i = 0; i < NSLOTS; i++)
		l->modes[i] = HOOK_ALWAYS;
	return kfacts_refresh(kf);
}

static void choose_all(void)
{
	for (int i = 0; i < NSLOTS; i++)
		loader_choose(l, i);
}

static int teardown(void **state)
{
	(void)state;
	loader_free(l);
	kfacts_free(kf);
	return 0;
}

/* A list that cannot be read says nothing: every hook is tried in its first way, and none is taken to be absent. */
static void unreadable_list(void **state)
{
	(void)state;
	assert_int_equal(open_with("/nonexistent", NULL), -ENOENT);
	choose_all();
	for (int i = 0; i < NSLOTS; i++) {
		if (i == SLOT_ID_driver_reg_mr_exit)
			continue;
		if (!l->slots[i].chosen)
			fail_msg("%s is not tried: %s", slot_rows[i].name, l->slots[i].reason);
		if (l->slots[i].chosen->kind != ATTACH_TRACEPOINT)
			assert_string_equal(l->slots[i].symbol, l->slots[i].chosen->target);
	}
	assert_string_equal(l->slots[SLOT_ID_armed_unpin_page].chosen->how, "fentry");
}

/* What the kernel refused says more than what is not there. */
static void refused_ways(void **state)
{
	struct slot *s;

	(void)state;
	assert_int_equal(open_with("tests/plan/7.3/kallsyms", NULL), 0);
	s = &l->slots[SLOT_ID_putback];
	s->variants[0].refused = true;
	snprintf(s->variants[0].why, sizeof(s->variants[0].why), "Invalid argument: unknown helper");
	choose_all();
	assert_ptr_equal(s->chosen, &s->variants[1]);
	assert_string_equal(s->symbol, "putback_movable_pages");
	for (uint32_t k = 1; k < s->nvariants; k++)
		snprintf(s->variants[k].target, sizeof(s->variants[k].target), "no_such_function");
	choose_all();
	assert_null(s->chosen);
	assert_int_equal(s->state, SLOT_LOAD_FAILED);
	assert_non_null(strstr(s->reason, "unknown helper"));
	assert_false(s->missing);
}

static void avoided_ways(void **state)
{
	(void)state;
	assert_int_equal(open_with("tests/plan/7.3/kallsyms", "kprobe,gup_longterm_exit:kretprobe"), 0);
	choose_all();
	assert_string_equal(l->slots[SLOT_ID_gup_longterm_exit].chosen->how, "fexit");
	assert_string_equal(l->slots[SLOT_ID_gup_longterm_enter].chosen->how, "fentry");
	assert_string_equal(l->slots[SLOT_ID_reg_mr_exit].chosen->how, "kretprobe");
	assert_null(l->slots[SLOT_ID_reg_mr_enter].chosen);
	assert_non_null(strstr(l->slots[SLOT_ID_reg_mr_enter].reason, "to be avoided"));
	assert_false(l->slots[SLOT_ID_reg_mr_enter].missing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(unreadable_list, teardown), cmocka_unit_test_teardown(refused_ways, teardown),
		cmocka_unit_test_teardown(avoided_ways, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
