// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Modules that come and go: a hint to the daemon to look at the slots again at once,
 * instead of at its next look around.
 */
#include "probe.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct module_args {
	struct module *mod;
};

static __always_inline int module_changed(struct module_args *ctx)
{
	struct module *mod = ctx->mod;
	bool sent;

	EMIT(wire_module, MODULE, 0, e, sent, { BPF_CORE_READ_STR_INTO(&e->name, mod, name); });
	return 0;
}

/*
 * slots module_load, module_free: tracepoints module:module_load, module:module_free
 * (include/trace/events/module.h). Why: hooks in a module die with it, and a module that
 * was loaded again looks like the one before. Context: process; at load its init has
 * not run yet. Rate: rare.
 */
SEC("?raw_tp/module_load")
int module_load__raw_tp(struct module_args *ctx)
{
	return module_changed(ctx);
}

SEC("?raw_tp/module_free")
int module_free__raw_tp(struct module_args *ctx)
{
	__u32 zero = 0;
	struct wire_calibration *cal = bpf_map_lookup_elem(&calibration, &zero);

	if (cal)
		cal->module_gone_ns = bpf_ktime_get_ns();
	return module_changed(ctx);
}
