// SPDX-License-Identifier: BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "listen.h"

static struct config config;
static char error[CONFIG_ERROR_MAX];

static int read_bytes(const char *text, size_t len)
{
	FILE *f = fmemopen((void *)text, len, "r");
	int err;

	assert_non_null(f);
	config_defaults(&config);
	err = config_read(&config, f, "test.conf", error);
	fclose(f);
	return err;
}

static int read_text(const char *text)
{
	return read_bytes(text, strlen(text));
}

/* The message of a refused text begins with `where` and names `what`. */
static void refused(const char *text, const char *where, const char *what)
{
	assert_int_equal(read_text(text), -EINVAL);
	if (strncmp(error, where, strlen(where)) != 0 || !strstr(error, what))
		fail_msg("\"%s\" says \"%s\", not \"%s ... %s\"", text, error, where, what);
}

static void defaults_are_those_of_the_table(void **state)
{
	(void)state;
	config_defaults(&config);
	assert_string_equal(config.reports, "-");
	assert_string_equal(config.format, "json");
	assert_int_equal(config.ring_bytes, 1 << 20);
	assert_int_equal(config.storm_burst, 1);
	assert_int_equal(config.storm_cgroup_reports, 16);
	assert_false(config.verbose);
	for (int i = 0; i < CONFIG_IDS; i++)
		assert_int_equal(config.origin[i], CONFIG_FROM_DEFAULT);
	for (int i = 0; i < CONFIG_HOOKS_MAX; i++)
		assert_int_equal(config.hooks[i], HOOK_AUTO);
}

/* A default that its own row refuses would silently be zero. */
static void every_default_passes_its_own_check(void **state)
{
	(void)state;
	for (int i = 0; i < CONFIG_IDS; i++) {
		config_defaults(&config);
		if (config_set(&config, (enum config_id)i, config_descs[i].def, error) != 0)
			fail_msg("%s: %s", config_descs[i].key, error);
	}
}

static void every_bound_is_kept(void **state)
{
	char text[32];

	(void)state;
	config_defaults(&config);
	for (int i = 0; i < CONFIG_IDS; i++) {
		const struct config_desc *d = &config_descs[i];

		if (d->type != CONFIG_TYPE_U64)
			continue;
		snprintf(text, sizeof(text), "%llu", (unsigned long long)d->min);
		assert_int_equal(config_set(&config, (enum config_id)i, text, error), 0);
		snprintf(text, sizeof(text), "%llu", (unsigned long long)d->max);
		assert_int_equal(config_set(&config, (enum config_id)i, text, error), 0);
		snprintf(text, sizeof(text), "%llu", (unsigned long long)d->max + 1);
		assert_int_equal(config_set(&config, (enum config_id)i, text, error), -EINVAL);
		if (!d->min)
			continue;
		snprintf(text, sizeof(text), "%llu", (unsigned long long)d->min - 1);
		assert_int_equal(config_set(&config, (enum config_id)i, text, error), -EINVAL);
	}
}

static void file_sets_values(void **state)
{
	(void)state;
	assert_int_equal(read_text("# a comment\n\n[pinwhy]\nreports = /tmp/r ; why\n  format = text\n"
				   "verbose = yes\r\n[ring]\nbytes=65536\n[stuck]\nper_gib_ms = 0"), 0);
	assert_string_equal(config.reports, "/tmp/r");
	assert_string_equal(config.format, "text");
	assert_true(config.verbose);
	assert_int_equal(config.ring_bytes, 65536);
	assert_int_equal(config.stuck_per_gib_ms, 0);
	assert_int_equal(config.origin[CONFIG_ID_ring_bytes], CONFIG_FROM_FILE);
	assert_int_equal(config.origin[CONFIG_ID_listen], CONFIG_FROM_DEFAULT);
}

static void hooks_are_named_by_the_loader(void **state)
{
	char text[200];

	(void)state;
	assert_true(loader_nslots() > 1 && loader_nslots() <= CONFIG_HOOKS_MAX);
	snprintf(text, sizeof(text), "[hooks]\n%s = never\n%s = always\n", loader_slot_name(1),
		 loader_slot_name(0));
	assert_int_equal(read_text(text), 0);
	assert_int_equal(config.hooks[1], HOOK_NEVER);
	assert_int_equal(config.hooks[0], HOOK_ALWAYS);
	refused("[hooks]\nno_such_hook = auto\n", "test.conf:2: ", "no hook 'no_such_hook'");
	snprintf(text, sizeof(text), "[hooks]\n%s = maybe\n", loader_slot_name(0));
	refused(text, "test.conf:2: ", "auto|always|never");
	snprintf(text, sizeof(text), "[hooks]\n%s = auto\n%s = auto\n", loader_slot_name(0),
		 loader_slot_name(0));
	refused(text, "test.conf:3: ", "twice");
}

static void what_is_wrong_is_named_with_its_place(void **state)
{
	(void)state;
	refused("[pinwhy]\nreport = x\n", "test.conf:2: ", "did you mean 'reports'?");
	refused("[rings]\nbytes = 4096\n", "test.conf:2: ", "did you mean 'ring'?");
	refused("[quite_another]\na = 1\n", "test.conf:2: ", "no section [quite_another]");
	refused("reports = x\n", "test.conf:1: ", "before any [section]");
	refused("[storm]\nburst = 1\n\n[ring]\n[storm]\nburst = 1\n", "test.conf:6: ", "twice");
	refused("[storm]\nburst = many\n", "test.conf:2: ", "whole number");
	refused("[storm]\nburst = -1\n", "test.conf:2: ", "whole number");
	refused("[storm]\nburst = 0\n", "test.conf:2: ", "between 1 and 10000");
	refused("[storm]\nburst = 99999999999999999999\n", "test.conf:2: ", "between 1 and 10000");
	refused("[ring]\nbytes = 5000\n", "test.conf:2: ", "power of two");
	refused("[pinwhy]\nformat = yaml\n", "test.conf:2: ", "json|text");
	refused("[pinwhy]\nformat = json|text\n", "test.conf:2: ", "json|text");
	refused("[pinwhy]\nverbose = perhaps\n", "test.conf:2: ", "yes or no");
	refused("[pinwhy]\nreports =\n", "test.conf:2: ", "empty");
	refused("[pinwhy]\nlisten = example.org:80\n", "test.conf:2: ", "no numeric address");
	refused("[http]\nsocket = run/x\n", "test.conf:2: ", "absolute path");
	refused("[http]\nhosts = a:80\n", "test.conf:2: ", "without ports");
	refused("[attach]\navoid = fentry fexit\n", "test.conf:2: ", "a way to hook that there is not");
	refused("[attach]\navoid = fentry,fantry\n", "test.conf:2: ", "a way to hook that there is not");
	refused("[attach]\navoid = nosuch:kprobe\n", "test.conf:2: ", "a hook that there is not");
	refused("[attach]\navoid = putback:kproob\n", "test.conf:2: ", "after a colon");
	refused("[pinwhy]\nverbose = yes\nnonsense\n", "test.conf:3: ", "key = value");
	refused("[pinwhy\nverbose = yes\n", "test.conf:1: ", "key = value");
}

static void first_error_wins(void **state)
{
	(void)state;
	refused("[pinwhy]\nformat = a\nformat = b\nverbose = c\n", "test.conf:2: ", "'a'");
}

static void bytes_that_are_no_text_are_refused(void **state)
{
	char line[400] = "[pinwhy]\nreports = ";

	(void)state;
	assert_int_equal(read_bytes("[pinwhy]\nform\0at = text\n", 24), -EINVAL);
	assert_non_null(strstr(error, "test.conf:2: "));
	memset(line + strlen(line), 'a', 300);
	assert_int_equal(read_text(line), -EINVAL);
	assert_non_null(strstr(error, "longer than"));
}

static void command_line_wins(void **state)
{
	(void)state;
	assert_int_equal(read_text("[pinwhy]\nformat = text\n"), 0);
	assert_int_equal(config_set(&config, CONFIG_ID_format, "json", error), 0);
	assert_string_equal(config.format, "json");
	assert_int_equal(config.origin[CONFIG_ID_format], CONFIG_FROM_ARGS);
	assert_int_equal(config_set(&config, CONFIG_ID_format, "xml", error), -EINVAL);
	assert_string_equal(config.format, "json");
}

static char *printed(void (*print)(FILE *f))
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	print(f);
	fclose(f);
	return text;
}

static void print_config(FILE *f)
{
	config_print(&config, f);
}

/* What --check prints is a file that sets the same. */
static void printed_settings_read_back(void **state)
{
	struct config *before = malloc(sizeof(*before));
	char *text;

	(void)state;
	assert_non_null(before);
	assert_int_equal(read_text("[pinwhy]\nreports = /var/x y\n[storm]\nwindow_s = 7\n"), 0);
	*before = config;
	text = printed(print_config);
	if (read_text(text) != 0)
		fail_msg("%s", error);
	assert_string_equal(config.reports, before->reports);
	assert_string_equal(config.record, "");
	assert_int_equal(config.storm_window_s, 7);
	assert_int_equal(config.ring_bytes, before->ring_bytes);
	assert_memory_equal(config.hooks, before->hooks, sizeof(config.hooks));
	free(text);
	free(before);
}

/* The example must be readable with all its keys switched on, and mean the defaults. */
static void example_is_valid(void **state)
{
	char *text = printed(config_print_example), *on = malloc(strlen(text) + 1), *w = on;
	struct config *before = malloc(sizeof(*before));

	(void)state;
	assert_non_null(on);
	assert_non_null(before);
	for (const char *r = text; *r; r++)
		/* "#key" is a key that is off, "# word" is a comment. */
		if (!(*r == '#' && (r == text || r[-1] == '\n') && r[1] != ' ' && r[1] != 'N'))
			*w++ = *r;
	*w = '\0';
	config_defaults(before);
	if (read_text(on) != 0)
		fail_msg("%s", error);
	for (int i = 0; i < CONFIG_IDS; i++)
		config.origin[i] = CONFIG_FROM_DEFAULT;
	assert_memory_equal(&config, before, sizeof(config));
	free(before);
	free(on);
	free(text);
}

static char all_errors[4096];

static void collect(void *ctx, const char *text)
{
	(void)ctx;
	strcat(all_errors, text);
	strcat(all_errors, "\n");
}

static void every_error_is_told_with_its_line(void **state)
{
	static const char text[] = "[storm]\nburst = 0\nbrust = 1\nnonsense\n\n[hooks]\nno_such = never\n[ring\n[ring]\n"
				   "key ; = 1\nbytes = 5000\nbytes = 4096\n";
	static const char *const want[] = { ":2: burst", ":3: section", ":4: this", ":7: there", ":8: this", ":10: this",
					    ":11: bytes", ":12: bytes" };
	FILE *f = fmemopen((void *)text, strlen(text), "r");
	char *line, *save = NULL;
	size_t n = 0;

	(void)state;
	config_defaults(&config);
	all_errors[0] = '\0';
	assert_int_equal(config_read_each(&config, f, "f", collect, NULL), -EINVAL);
	fclose(f);
	for (line = strtok_r(all_errors, "\n", &save); line; line = strtok_r(NULL, "\n", &save), n++) {
		assert_true(n < sizeof(want) / sizeof(want[0]));
		if (strncmp(line + 1, want[n], strlen(want[n])) != 0)
			fail_msg("\"%s\" is not about %s", line, want[n]);
	}
	assert_int_equal(n, sizeof(want) / sizeof(want[0]));
}

static const char *stayed;

static void note_stays(void *ctx, const struct config_desc *d)
{
	(void)ctx;
	assert_null(stayed);
	stayed = d->key;
}

static void reload_changes_what_it_can(void **state)
{
	static struct config next;

	(void)state;
	config_defaults(&config);
	next = config;
	stayed = NULL;
	assert_int_equal(config_apply(&config, &next, note_stays, NULL), 0);
	next.verbose = true;
	next.file_keep = 7;
	strcpy(next.file_fsync, "each");
	next.hooks[2] = HOOK_NEVER;
	next.ring_bytes = 4096;
	next.origin[CONFIG_ID_file_keep] = CONFIG_FROM_FILE;
	assert_int_equal(config_apply(&config, &next, note_stays, NULL), 4);
	assert_string_equal(stayed, "bytes");
	assert_true(config.verbose);
	assert_int_equal(config.file_keep, 7);
	assert_int_equal(config.origin[CONFIG_ID_file_keep], CONFIG_FROM_FILE);
	assert_string_equal(config.file_fsync, "each");
	assert_int_equal(config.hooks[2], HOOK_NEVER);
	assert_int_equal(config.ring_bytes, 1 << 20);
}

static void command_line_is_gathered_over_the_file(void **state)
{
	struct config_source source = { .file = "/nonexistent/pinwhy.conf" };

	(void)state;
	all_errors[0] = '\0';
	source.values[CONFIG_ID_format] = "yaml";
	assert_int_not_equal(config_gather(&config, &source, collect, NULL), 0);
	assert_non_null(strstr(all_errors, "/nonexistent/pinwhy.conf"));
	assert_non_null(strstr(all_errors, "--format = 'yaml'"));
	source = (struct config_source){ .file = "/dev/null" };
	source.values[CONFIG_ID_format] = "text";
	all_errors[0] = '\0';
	assert_int_equal(config_gather(&config, &source, collect, NULL), 0);
	assert_string_equal(config.format, "text");
	assert_string_equal(all_errors, "");
	source.values[CONFIG_ID_record] = source.values[CONFIG_ID_replay] = "x";
	assert_int_equal(config_gather(&config, &source, collect, NULL), -EINVAL);
}

/* PINWHY_REGEN=1 writes the packaged example instead of comparing it. */
static void packaged_example_is_current(void **state)
{
	const char *path = "packaging/pinwhy.conf";
	bool regenerate = getenv("PINWHY_REGEN") != NULL;
	FILE *f = fopen(path, regenerate ? "w" : "r");
	char *want, got[16384];
	size_t n;

	(void)state;
	if (!f)
		fail_msg("cannot open %s: tests run in the top directory", path);
	if (regenerate) {
		config_print_example(f);
		fclose(f);
		return;
	}
	n = fread(got, 1, sizeof(got) - 1, f);
	got[n] = '\0';
	fclose(f);
	want = printed(config_print_example);
	n = strcmp(got, want) != 0;
	free(want);
	if (n)
		fail_msg("%s differs from config.def: run this test with PINWHY_REGEN=1", path);
}

static void missing_file_is_named(void **state)
{
	(void)state;
	config_defaults(&config);
	assert_int_equal(config_load(&config, "/nonexistent/pinwhy.conf", error), -ENOENT);
	assert_non_null(strstr(error, "/nonexistent/pinwhy.conf"));
}

static void listen_addresses(void **state)
{
	static const struct {
		const char *text;
		bool good;
	} rows[] = {
		{ "127.0.0.1:1", true }, { "127.1.2.3:65535", true }, { "[::1]:9835", true },
		{ "localhost:80", true }, { "off", true },
		{ "", false }, { ":80", false }, { "127.0.0.1", false }, { "127.0.0.1:", false },
		{ "127.0.0.1:0", false }, { "127.0.0.1:65536", false }, { "127.0.0.1:-1", false },
		{ "127.0.0.1:80x", false }, { "0.0.0.0:80", true }, { "[::]:80", true },
		{ "::1:80", false }, { "[::1:80", false }, { "[]:80", false }, { "10.0.0.1:80", true },
		{ "example.org:80", false }, { "128.0.0.1:80", true },
	};
	struct listen_address a;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *wrong = NULL;
		int err = listen_parse(rows[i].text, &a, &wrong);

		if ((err == 0) != rows[i].good || (err && !wrong))
			fail_msg("%s: %d", rows[i].text, err);
		if (!err && !a.off && a.loopback != (strncmp(rows[i].text, "127.", 4) == 0 || strstr(rows[i].text, "::1") || *rows[i].text == 'l'))
			fail_msg("%s: loopback %d", rows[i].text, a.loopback);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_those_of_the_table),
		cmocka_unit_test(every_default_passes_its_own_check),
		cmocka_unit_test(every_bound_is_kept),
		cmocka_unit_test(file_sets_values),
		cmocka_unit_test(hooks_are_named_by_the_loader),
		cmocka_unit_test(what_is_wrong_is_named_with_its_place),
		cmocka_unit_test(first_error_wins),
		cmocka_unit_test(bytes_that_are_no_text_are_refused),
		cmocka_unit_test(command_line_wins),
		cmocka_unit_test(printed_settings_read_back),
		cmocka_unit_test(example_is_valid),
		cmocka_unit_test(packaged_example_is_current),
		cmocka_unit_test(missing_file_is_named),
		cmocka_unit_test(every_error_is_told_with_its_line),
		cmocka_unit_test(reload_changes_what_it_can),
		cmocka_unit_test(command_line_is_gathered_over_the_file),
		cmocka_unit_test(listen_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
