// SPDX-License-Identifier: BSD-2-Clause
/* Cases of badreg: limits of control groups, of the device and of the machine's memory. */
#include <errno.h>
#include <linux/mempolicy.h>
#include <linux/mman.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bad.h"
#include "common.h"
#include "oracle.h"

#define HUGE_BYTES (2 * MIB)
#define HUGE_POOL "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
#define GIANT_POOL "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages"
#define LEFT_TRIES 16

static void register_whole(struct play *play, char *memory)
{
	rdma_deregister(bad_register(play, memory, play->length, IBV_ACCESS_LOCAL_WRITE));
}

static void group_end(struct play *play)
{
	(void)play;
	cgroup_leave();
	cgroup_remove();
}

/*
 * Of N objects the protection domain is one; the registrations after it are refused from the Nth on,
 * before the driver is asked.
 */
static void run_rdma_cgroup(struct play *play)
{
	const unsigned int objects = 4;
	char *memory = bad_memory(play->length), limit[64];
	unsigned int n;

	cgroup_make("rdma");
	if (play->control)
		snprintf(limit, sizeof(limit), "%s hca_object=max", play->device);
	else
		snprintf(limit, sizeof(limit), "%s hca_object=%u", play->device, objects);
	cgroup_set("rdma.max", limit);
	cgroup_join();
	play->end = group_end;
	truth_str(play->truth, "cgroup", "/badreg");
	truth_num(play->truth, "cgroup_limit", objects);
	bad_open(play);
	for (n = 0; n < objects; n++) {
		play->truth->pinned_before = n * play->length;
		/* They stay until the process ends: the limit is looked up while it is reached. */
		if (!bad_register(play, memory, play->length, IBV_ACCESS_LOCAL_WRITE))
			break;
	}
}

/* The driver hands out so many keys and no more. All pins are of one page, so memory is not what ends it. */
static void run_objects(struct play *play)
{
	char *memory = bad_memory(page_bytes());
	unsigned long bound = play->control ? 1000 : play->count ? play->count : 1000000;

	for (unsigned long n = 0; n < bound; n++) {
		if (!bad_register(play, memory, page_bytes(), IBV_ACCESS_LOCAL_WRITE))
			break;
		truth_num(play->truth, "objects", n + 1);
		play->truth->pinned_before = (n + 1) * page_bytes();
	}
}

static char *untouched(size_t length)
{
	char *memory = bad_map(length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);

	if (!keep_small(memory, length))
		die_errno("madvise on huge pages");
	return memory;
}

static void memcg_child(struct play *play)
{
	cgroup_join();
	bad_open(play);
	register_whole(play, untouched(play->length));
}

/* A pin brings in every page, and the group may not have them. */
static void run_memcg(struct play *play)
{
	char text[32];

	play->length = 256 * MIB;
	snprintf(text, sizeof(text), "%lu", 64 * MIB);
	cgroup_make("memory");
	cgroup_set("memory.max", play->control ? "max" : text);
	truth_str(play->truth, "cgroup", "/badreg");
	truth_num(play->truth, "cgroup_limit", 64 * MIB);
	bad_in_child(play, memcg_child);
	cgroup_remove();
}

static void pool_end(struct play *play)
{
	(void)play;
	bad_write(HUGE_POOL, "0");
}

static char *huge_memory(size_t length)
{
	return bad_map(length, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_HUGE_2MB | MAP_NORESERVE, -1);
}

static void pool_set(struct play *play, unsigned int pages)
{
	char text[16];
	FILE *f;

	snprintf(text, sizeof(text), "%u", pages);
	bad_write(HUGE_POOL, text);
	play->end = pool_end;
	f = fopen(HUGE_POOL, "re");
	if (!f || !fgets(text, sizeof(text), f) || (unsigned int)atoi(text) != pages)
		die("the kernel has no room for %u huge pages", pages);
	fclose(f);
}

/* Mapped without a reservation, so that the lack of a page is found out by the fault. */
static void run_huge_pool(struct play *play)
{
	play->length = 2 * HUGE_BYTES;
	pool_set(play, play->control ? 2 : 0);
	truth_num(play->truth, "huge_bytes", HUGE_BYTES);
	register_whole(play, huge_memory(play->length));
}

/*
 * Huge pages in the pool, which all lie in memory that a long-term pin must leave: a fault inside such a
 * pin passes over them, as if the pool were empty. The control takes ordinary memory.
 */
static void run_huge_area(struct play *play)
{
	play->length = 2 * HUGE_BYTES;
	pool_set(play, 4);
	truth_num(play->truth, "huge_bytes", HUGE_BYTES);
	truth_num(play->truth, "huge_free", 4);
	register_whole(play, play->control ? untouched(play->length) : huge_memory(play->length));
}

static void huge_group_end(struct play *play)
{
	group_end(play);
	pool_end(play);
}

/* There are pages in the pool; the control group may have one of the two. */
static void run_huge_cgroup(struct play *play)
{
	char text[32];
	char *memory;

	snprintf(text, sizeof(text), "%lu", HUGE_BYTES);
	play->length = 2 * HUGE_BYTES;
	cgroup_make("hugetlb");
	pool_set(play, 4);
	cgroup_set("hugetlb.2MB.max", play->control ? "max" : text);
	cgroup_join();
	play->end = huge_group_end;
	truth_str(play->truth, "cgroup", "/badreg");
	truth_num(play->truth, "cgroup_limit", HUGE_BYTES);
	truth_num(play->truth, "huge_bytes", HUGE_BYTES);
	memory = huge_memory(play->length);
	register_whole(play, memory);
	munmap(memory, play->length);
}

static void giant_end(struct play *play)
{
	(void)play;
	bad_write(GIANT_POOL, "0");
}

/* A huge page of 1 GiB has no other place to go to than the area it came from. */
static void run_giant(struct play *play)
{
	char *memory;

	if (play->control) {
		pool_set(play, 1);
		memory = huge_memory(HUGE_BYTES);
	} else {
		bad_write(GIANT_POOL, "1");
		play->end = giant_end;
		memory = bad_map(GIB, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_HUGE_1GB, -1);
	}
	truth_num(play->truth, "huge_bytes", play->control ? HUGE_BYTES : GIB);
	memory[0] = 1;
	register_whole(play, memory);
}

/* As many huge pages as there are blocks of memory for; how many those are. */
static unsigned long pool_fill(struct play *play)
{
	unsigned long pages = 0;
	FILE *f;

	bad_write(HUGE_POOL, "100000");
	play->end = pool_end;
	f = fopen(HUGE_POOL, "re");
	if (!f || fscanf(f, "%lu", &pages) != 1 || !pages)
		die("the pool stayed empty");
	fclose(f);
	return pages;
}

/* Gives back all pages in CMA but a few, and returns how many those are. *ret_spare is a page that lies elsewhere. */
static unsigned int keep_some_in_cma(char *memory, unsigned long pages, char *ret_kept[LEFT_TRIES], char **ret_spare)
{
	unsigned long left = pages;
	unsigned int kept = 0;
	char text[24];

	*ret_spare = NULL;
	for (unsigned long i = 0; i < pages; i++) {
		char *page = memory + i * HUGE_BYTES;
		struct pinhold_resolve at = oracle_ask((uintptr_t)page);

		if (!at.is_cma) {
			*ret_spare = page;
		} else if (kept < LEFT_TRIES) {
			ret_kept[kept++] = page;
		} else {
			munmap(page, HUGE_BYTES);
			left--;
		}
	}
	snprintf(text, sizeof(text), "%lu", left);
	bad_write(HUGE_POOL, text);
	return kept;
}

/*
 * A huge page in CMA, while there is no block of its size free outside. The control gives one that lies outside
 * back to the pool, and the page moves there. Compaction may make room for one without that: then another is tried,
 * and each that moves has taken a block.
 */
static void run_huge_left(struct play *play)
{
	unsigned long pages = pool_fill(play);
	char *memory = huge_memory(pages * HUGE_BYTES), *kept[LEFT_TRIES], *spare;
	unsigned int n;

	play->length = HUGE_BYTES;
	for (unsigned long i = 0; i < pages; i++)
		memory[i * HUGE_BYTES] = 1;
	oracle_open();
	n = keep_some_in_cma(memory, pages, kept, &spare);
	if (!n || !spare)
		die("of %lu huge pages none lies in CMA, or all do", pages);
	if (play->control) {
		munmap(spare, HUGE_BYTES);
		n = 1;
	}
	truth_num(play->truth, "huge_bytes", HUGE_BYTES);
	truth_bool(play->truth, "no_area", true);
	truth_bool(play->truth, "areas_untold", !oracle_config("CONFIG_KALLSYMS_ALL=y"));
	for (unsigned int i = 0; i < n && !play->truth->outcome.failed; i++)
		register_whole(play, kept[i]);
	/* The suite that looks at it needs memory, too. */
	munmap(memory, pages * HUGE_BYTES);
	pool_end(play);
}

static unsigned long pages_resident(pid_t pid)
{
	unsigned long all, resident = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%lu %lu", &all, &resident) != 2)
		resident = 0;
	fclose(f);
	return resident;
}

static bool pin_has_begun(void *ctx)
{
	struct play *play = ctx;

	return play->truth->length && pages_resident(play->child) * page_bytes() > 32 * MIB;
}

/* The pin brings in all pages itself, which takes long enough to be killed in the middle of. */
static void run_signal(struct play *play)
{
	int status;

	play->length = 256 * MIB;
	play->child = fork();
	if (play->child < 0)
		die_errno("fork");
	if (!play->child) {
		bad_open(play);
		register_whole(play, untouched(play->length));
		_exit(EXIT_AS_EXPECTED);
	}
	if (!poll_until(pin_has_begun, play, 60000))
		die("the pin did not begin");
	truth_num(play->truth, "resident_bytes", pages_resident(play->child) * page_bytes());
	if (!play->control && kill(play->child, SIGKILL))
		die_errno("kill");
	if (waitpid(play->child, &status, 0) != play->child)
		die_errno("waitpid");
	if (!WIFSIGNALED(status))
		return;
	play->truth->killed = true;
	bad_outcome(play, EINTR);
}

/* The number of bytes behind a word of one of the kernel's meminfo files. */
static size_t meminfo(const char *path, const char *word)
{
	unsigned long kib = 0;
	char line[128];
	FILE *f = fopen(path, "re");

	if (!f)
		die_errno("cannot read %s", path);
	while (fgets(line, sizeof(line), f)) {
		const char *found = strstr(line, word);

		if (found && sscanf(found + strlen(word), ": %lu kB", &kib) == 1)
			break;
	}
	fclose(f);
	return kib * KIB;
}

static void no_target_child(struct play *play)
{
	char *memory = bad_memory(play->length);

	bad_open(play);
	if (play->control)
		play->length = 16 * MIB;
	register_whole(play, memory);
}

/*
 * Memory fills the area that long-term pins must leave, and more of it than is free elsewhere is then
 * to be pinned.
 */
static void run_no_target(struct play *play)
{
	play->length = meminfo("/proc/meminfo", "MemAvailable") / 4 * 3 / page_bytes() * page_bytes();
	truth_num(play->truth, "touched_bytes", play->length);
	bad_in_child(play, no_target_child);
}

static void numa_child(struct play *play)
{
	const unsigned long second = 1ul << 1;
	char *memory = untouched(play->length);

	if (!play->control && syscall(SYS_mbind, memory, play->length, MPOL_BIND, &second, 8 * sizeof(second), 0))
		die_errno("mbind");
	bad_open(play);
	register_whole(play, memory);
}

/* Bound to a node that has less memory than that, while the other has enough. */
static void run_numa(struct play *play)
{
	play->length = meminfo("/sys/devices/system/node/node1/meminfo", "MemTotal") + 16 * MIB;
	truth_num(play->truth, "numa_node", 1);
	bad_in_child(play, numa_child);
}

static const struct bad bads[] = {
	BAD("rdma_cgroup", "the control group may have no further RDMA object", run_rdma_cgroup, .no_device = true),
	BAD("objects", "as many regions as the device has keys", run_objects),
	BAD("memcg_oom", "the memory control group is too small for what the pin brings in", run_memcg,
	    .no_device = true),
	BAD("huge_pool", "no huge page in the pool", run_huge_pool),
	BAD("huge_cgroup", "huge pages in the pool, but not for the control group", run_huge_cgroup),
	BAD("huge_area", "huge pages in the pool, all in an area that pins must leave", run_huge_area),
	BAD("huge_giant", "a huge page of 1 GiB that cannot leave its CMA area", run_giant),
	BAD("huge_left", "a huge page in CMA of no area, and no other block of its size", run_huge_left),
	BAD("signal", "killed while the pin brings in pages", run_signal, .no_device = true),
	BAD("no_target", "more to move out of an area than is free elsewhere", run_no_target, .no_device = true),
	BAD("numa", "memory bound to a node that is too small for it", run_numa, .no_device = true),
};
const struct bad_family bad_system = { bads, ARRAY_SIZE(bads) };
