/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The daemon's own memory: how much there is, keeping it small, and being able to
 * work when the node or our memory cgroup has none left to give.
 */
#ifndef PINWHY_MEMORY_H
#define PINWHY_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct memory_use {
	uint64_t resident_bytes, peak_bytes;
	uint64_t anon_bytes;	/* of resident: our own, not pages of files others may use too */
};

/* From /proc/self/status. -errno. */
int memory_use(struct memory_use *ret_use);

/* Before loading: big blocks are mapped by themselves, so that what loading needs can be given back whole. */
void memory_begin(void);
/*
 * The three steps after loading, in this order. Before them the owner does once whatever it will have to do later, so
 * that all of that is resident; what it takes for that alone is given back as well.
 */
void memory_trim(void);			/* gives back what loading needed */
void memory_reserve(size_t bytes);	/* keeps so much heap ready to use */
/* Locks what is resident, asks the kernel to kill others first. What is not permitted is left out. */
void memory_hold(void);

#endif
