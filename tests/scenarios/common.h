/* SPDX-License-Identifier: BSD-2-Clause */
/* What every scenario program shares: exit codes, and words for errnos. */
#ifndef SCENARIO_COMMON_H
#define SCENARIO_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A suite tells these apart: only EXIT_AS_EXPECTED may become PASS, only EXIT_SKIP a SKIP. */
enum {
	EXIT_AS_EXPECTED = 0,
	EXIT_UNEXPECTED = 1,	/* the kernel did something else than the case says */
	EXIT_SETUP = 2,		/* the case could not be set up: nothing was learned */
	EXIT_SKIP = 77,		/* this kernel cannot show the case */
};

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Says what failed and ends the program with EXIT_SETUP. */
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
void die_errno(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

const char *errno_name(int err);	/* "ENOMEM"; "0" for 0 */
size_t page_bytes(void);
uint64_t parse_bytes(const char *text);	/* 4096, 64K, 2M */
uint64_t now_ms(void);			/* CLOCK_MONOTONIC */
int write_file(const char *path, const char *text);	/* 0 or -errno */

/* No huge pages in this memory from now on: true also where the kernel has none (PREEMPT_RT) and takes no such advice; else errno. */
bool keep_small(void *memory, size_t length);
bool has_thp(void);			/* transparent huge pages are built into this kernel */

/*
 * Reads one line from stdin, or its end: the suite says when to go on. A program stays until then
 * when a report about it needs facts that go with it. False at end of file.
 */
bool wait_for_word(void);

/*
 * Polls `done` until it is true, at most `limit_ms`. The pause between two looks is there to give
 * the processor away, never to be long enough: the state decides.
 */
bool poll_until(bool (*done)(void *ctx), void *ctx, uint64_t limit_ms);

#endif
