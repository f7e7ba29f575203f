// SPDX-License-Identifier: BSD-2-Clause
/* Whose call took a pin, by the stack it was taken with. */
#include "support.h"

#include <stdio.h>
#include <string.h>

#define LONG_NAME "a_function_of_a_driver_with_a_rather_long_nam" /* 45 letters of the 47 that a line has */

static const struct caller_row {
	const char *what;
	uint32_t via;
	const char *stack[4];
	const char *function, *module;	/* NULL = not known */
	const char *of;			/* holder_module() */
} rows[] = {
	{ "a module", WIRE_PIN_VIA_PIN_FAST, { "bpf_trampoline_1", "pin_user_pages_fast", "take [driver]", "ioctl [other]" }, "take", "driver", "driver" },
	{ "its own frame left out", WIRE_PIN_VIA_PIN_FAST, { "bpf_prog_1", "take [driver]" }, "take", "driver", "driver" },
	/* The file system did not pin: the kernel's direct I/O did. */
	{ "the kernel, for a module", WIRE_PIN_VIA_PIN_FAST, { "pin_user_pages_fast", "iov_iter_extract_pages", "ext4_file_read_iter [ext4]" },
	  "iov_iter_extract_pages", "", "" },
	{ "a reference", WIRE_PIN_VIA_GET_FAST, { "get_user_pages_fast", "__iov_iter_get_pages_alloc", "nfs_file_read [nfs]" },
	  "__iov_iter_get_pages_alloc", "", "" },
	{ "NVIDIA's driver", WIRE_PIN_VIA_NVIDIA, { "os_lock_user_pages [nvidia]", "rm_ioctl [nvidia]" }, "rm_ioctl", "nvidia", "nvidia" },
	{ "nothing", WIRE_PIN_VIA_PIN, { 0 }, NULL, NULL, "" },
	{ "a module that has gone", WIRE_PIN_VIA_PIN, { "pin_user_pages", "?", "ioctl [other]" }, NULL, NULL, "" },
	/* What was cut off may have been the rest of the name. */
	{ "a cut module", WIRE_PIN_VIA_PIN, { "pin_user_pages", LONG_NAME " [" }, NULL, NULL, "" },
	{ "a cut name", WIRE_PIN_VIA_PIN, { "pin_user_pages", LONG_NAME "es" }, NULL, NULL, "" },
	{ "a name cut within the module", WIRE_PIN_VIA_PIN, { "pin_user_pages", "a_function_of_a_driver_with_a_long_name [nvidia" }, NULL, NULL, "" },
};

static void callers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct caller_row *r = &rows[i];
		struct wire_holder h = { .pin = { .via = r->via } };
		char function[WIRE_SYMBOL_LEN], module[WIRE_MODULE_LEN], buf[WIRE_MODULE_LEN];
		bool known;

		for (; h.nstack < 4 && r->stack[h.nstack]; h.nstack++)
			snprintf(h.stack[h.nstack], sizeof(h.stack[0]), "%s", r->stack[h.nstack]);
		known = holder_called_from(&h, function, module);
		if (known != (r->function != NULL))
			fail_msg("%s: known %d", r->what, known);
		if (known) {
			assert_string_equal(function, r->function);
			assert_string_equal(module, r->module);
		}
		assert_string_equal(holder_module(&h, buf), r->of);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(callers) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
