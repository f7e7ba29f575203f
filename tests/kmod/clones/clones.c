// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Functions by the names that drivers' reg_user_mr have, as compilers may leave them: under another name that is the same
 * function (erdma), with the rest of it beside it (efa), as a changed copy alone (siw), and with one beside it (irdma). The names are
 * given here and not by a compiler, and they do nothing; writing to the parameter `call` calls each of them once.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>

#define CALLED(function, label)                                \
	noinline int function(int n) __asm__(label);           \
	noinline int function(int n)                           \
	{                                                      \
		barrier();                                     \
		return -n;                                     \
	}

CALLED(erdma_same, "erdma_reg_user_mr.llvm.4711")
CALLED(efa_whole, "efa_reg_mr")
CALLED(efa_rest, "efa_reg_mr.part.0")
CALLED(siw_changed, "siw_reg_user_mr.isra.0")
CALLED(irdma_whole, "irdma_reg_user_mr")
CALLED(irdma_changed, "irdma_reg_user_mr.constprop.0")

static int call_all(const char *value, const struct kernel_param *param)
{
	int sum = erdma_same(1) + efa_whole(2) + efa_rest(3) + siw_changed(4) + irdma_whole(5) + irdma_changed(6);

	return sum == -21 ? 0 : -EINVAL;
}

static const struct kernel_param_ops call_ops = { .set = call_all };
module_param_cb(call, &call_ops, NULL, 0200);
MODULE_PARM_DESC(call, "write to it to have every function called");

static int __init clones_init(void)
{
	return 0;
}

static void __exit clones_exit(void)
{
}

module_init(clones_init);
module_exit(clones_exit);
MODULE_DESCRIPTION("Functions under the names that compilers give to copies of them");
MODULE_LICENSE("Dual BSD/GPL");
