// SPDX-License-Identifier: BSD-2-Clause
/*
 * pinholdctl: the test module /dev/pinhold from a shell, and a check that it does what it says.
 *
 *   pinholdctl selftest            PASS, FAIL and SKIP lines, as a suite writes them
 *   pinholdctl area AREA MAX_MIB   the same for an area (movable | cma): touches memory until a page
 *                                  lies there, then takes it through both ends of a long-term pin
 *   pinholdctl keep LEN            pins LEN bytes that outlive this process, prints the id
 *   pinholdctl state ID | unpin ID
 *   pinholdctl lock PID MS         keeps the mmap lock of the process, says "held" when it has it, and lets go
 *                                  after MS milliseconds, or when a line or the end comes on stdin
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../kmod/pinhold/pinhold.h"

#define MIB (1024ul * 1024)
#define PIN_BIAS 1024u	/* what one pin of a small folio adds to its reference count */

static int device = -1;
static size_t page_size;
static bool failed;

static void verdict(bool ok, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void verdict(bool ok, const char *name, const char *format, ...)
{
	va_list args;

	printf("%s %s", ok ? "PASS" : "FAIL", name);
	if (!ok) {
		failed = true;
		printf(": ");
		va_start(args, format);
		vprintf(format, args);
		va_end(args);
	}
	printf("\n");
}

static int open_device(void)
{
	int fd = open(PINHOLD_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		fprintf(stderr, "pinholdctl: cannot open %s: %s; is pinhold.ko loaded?\n",
			PINHOLD_DEVICE, strerror(errno));
		exit(2);
	}
	return fd;
}

/* Small pages unless huge ones are asked for: their reference counts are the ones we predict. */
static unsigned char *map(size_t length, int advice)
{
	size_t align = 2 * MIB;
	unsigned char *memory = mmap(NULL, length + align, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED) {
		fprintf(stderr, "pinholdctl: cannot map %zu bytes: %s\n", length, strerror(errno));
		exit(2);
	}
	memory = (unsigned char *)(((uintptr_t)memory + align - 1) & ~(uintptr_t)(align - 1));
	madvise(memory, length, advice);
	return memory;
}

/*
 * The first of some touched pages, to look at; nothing is ever unmapped. A new page, be it fresh or
 * the target of a migration, waits in a per-CPU batch that holds a reference to it. Touching more
 * pages than a batch has room for, on the one CPU we stay on, sends the earlier ones on their way.
 */
static unsigned char *settled_page(void)
{
	size_t more = 128;
	unsigned char *memory = map((more + 1) * page_size, MADV_NOHUGEPAGE);

	for (size_t i = 0; i <= more; i++)
		memory[i * page_size] = 1;
	return memory;
}

static void settle(void)
{
	settled_page();
}

static struct pinhold_resolve resolve(const void *address)
{
	struct pinhold_resolve res = { .addr = (uintptr_t)address };

	if (ioctl(device, PINHOLD_RESOLVE, &res)) {
		fprintf(stderr, "pinholdctl: cannot resolve %p: %s\n", address, strerror(errno));
		exit(2);
	}
	return res;
}

/* The id of the new hold, or -errno. */
static int64_t hold(int fd, const void *address, uint64_t length, uint32_t flags)
{
	struct pinhold_pin pin = { .addr = (uintptr_t)address, .len = length, .flags = flags };

	return ioctl(fd, PINHOLD_PIN, &pin) ? -errno : (int64_t)pin.id;
}

static int unpin(int64_t id)
{
	struct pinhold_state state = { .id = (uint32_t)id };

	return ioctl(device, PINHOLD_UNPIN, &state) ? -errno : 0;
}

static int state_of(int64_t id, struct pinhold_state *ret_state)
{
	*ret_state = (struct pinhold_state){ .id = (uint32_t)id };
	return ioctl(device, PINHOLD_STATE, ret_state) ? -errno : 0;
}

static uint64_t pagemap_pfn(const void *address)
{
	uint64_t entry = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || pread(fd, &entry, sizeof(entry), (off_t)((uintptr_t)address / page_size * sizeof(entry))) != sizeof(entry)) {
		fprintf(stderr, "pinholdctl: cannot read /proc/self/pagemap: %s\n", strerror(errno));
		exit(2);
	}
	close(fd);
	return entry & ((1ull << 55) - 1);
}

static void test_resolve(void)
{
	unsigned char *page = settled_page();
	struct pinhold_resolve res = resolve(page);
	uint64_t pfn = pagemap_pfn(page);
	uint32_t flags = PINHOLD_PAGE_ANON | PINHOLD_PAGE_SWAPBACKED;

	verdict(res.pfn == pfn && pfn, "pinhold_resolve_pfn", "pinhold says %#" PRIx64 ", pagemap %#" PRIx64,
		(uint64_t)res.pfn, pfn);
	verdict(res.refcount == 1 && res.mapcount == 1 && res.order == 0 && res.flags == flags,
		"pinhold_resolve_counts", "refcount %u mapcount %u order %u flags %#x, expected 1 1 0 %#x",
		res.refcount, res.mapcount, res.order, res.flags, flags);
	verdict(res.pincount == PINHOLD_PINCOUNT_UNAVAILABLE, "pinhold_resolve_no_pincount",
		"a small page has pincount %" PRIu64, (uint64_t)res.pincount);
}

static void test_hold(const char *name, uint32_t flags, uint32_t added)
{
	unsigned char *page = settled_page();
	uint32_t before = resolve(page).refcount, held, after;
	int64_t id = hold(device, page, page_size, flags);

	settle();
	held = resolve(page).refcount;
	if (id < 0 || unpin(id)) {
		verdict(false, name, "cannot hold and release: %s", strerror(id < 0 ? (int)-id : errno));
		return;
	}
	after = resolve(page).refcount;
	verdict(before == 1 && held == before + added && after == before, name,
		"references %u, held %u, released %u, expected %u added", before, held, after, added);
}

static void test_many_pages(void)
{
	size_t pages = 1500;	/* more than two batches, and not a multiple of one */
	unsigned char *memory = map((pages + 1) * page_size, MADV_NOHUGEPAGE);
	struct pinhold_state state;
	int64_t id = hold(device, memory + 100, pages * page_size, PINHOLD_WRITE);

	if (id < 0 || state_of(id, &state)) {
		verdict(false, "pinhold_many_pages", "cannot hold %zu pages", pages);
		return;
	}
	verdict(state.pages == pages + 1 && resolve(memory + pages * page_size).refcount > PIN_BIAS && !unpin(id),
		"pinhold_many_pages", "%" PRIu64 " pages held, expected %zu", (uint64_t)state.pages, pages + 1);
}

static void test_all_or_nothing(void)
{
	unsigned char *memory = settled_page();
	int64_t id;

	munmap(memory + 8 * page_size, page_size);
	id = hold(device, memory, 9 * page_size, PINHOLD_WRITE);
	verdict(id == -EFAULT && resolve(memory).refcount == 1, "pinhold_all_or_nothing",
		"result %" PRId64 ", %u references are left", id, resolve(memory).refcount);
}

static void test_large(void)
{
	unsigned char *memory = map(2 * MIB, MADV_HUGEPAGE);
	struct pinhold_resolve before, held;
	int64_t id;

	memory[0] = 1;
	before = resolve(memory + 5 * page_size);
	if (before.order == 0) {
		printf("SKIP pinhold_large_pincount: this guest gave no huge page\n");
		return;
	}
	id = hold(device, memory + 5 * page_size, 2 * page_size, 0);
	held = resolve(memory);
	verdict(id > 0 && before.pincount == 0 && held.pincount == 2 && (held.flags & PINHOLD_PAGE_LARGE) && !unpin(id),
		"pinhold_large_pincount", "pincount %" PRIu64 " then %" PRIu64 ", expected 0 then 2",
		(uint64_t)before.pincount, (uint64_t)held.pincount);
}

static void test_close_releases(void)
{
	unsigned char *page = settled_page();
	int other = open_device();
	int64_t id = hold(other, page, page_size, 0), kept = hold(other, page, page_size, PINHOLD_KEEP);
	struct pinhold_state state;

	close(other);
	verdict(id > 0 && state_of(id, &state) == -ENOENT, "pinhold_close_releases", "the hold is still there");
	verdict(kept > 0 && !state_of(kept, &state) && state.pages == 1 && resolve(page).refcount == 1 + PIN_BIAS &&
		!unpin(kept) && resolve(page).refcount == 1,
		"pinhold_keep_outlives_close", "%u references, expected 1", resolve(page).refcount);
}

static void expect(const char *name, int64_t result, int expected)
{
	verdict(result == -expected, name, "result %" PRId64 ", expected %d", result, -expected);
}

static void test_errors(void)
{
	unsigned char *page = settled_page();
	int64_t first = 0, last = 0;
	int taken;

	expect("pinhold_unknown_flag", hold(device, page, page_size, 1u << 31), EINVAL);
	expect("pinhold_get_longterm", hold(device, page, page_size, PINHOLD_GET | PINHOLD_LONGTERM), EINVAL);
	expect("pinhold_empty", hold(device, page, 0, 0), EINVAL);
	expect("pinhold_wraps", hold(device, page, UINT64_MAX, 0), EINVAL);
	expect("pinhold_unmapped", hold(device, NULL, page_size, 0), EFAULT);
	expect("pinhold_too_long", hold(device, page, (PINHOLD_MAX_PAGES + 1ull) * page_size, 0), E2BIG);
	expect("pinhold_unknown_id", unpin(PINHOLD_MAX_HOLDS + 1), ENOENT);
	for (taken = 0; taken <= PINHOLD_MAX_HOLDS; taken++) {
		last = hold(device, page, page_size, PINHOLD_GET);
		if (last < 0)
			break;
		if (!first)
			first = last;
	}
	verdict(last == -ENOSPC && taken == PINHOLD_MAX_HOLDS, "pinhold_too_many",
		"result %" PRId64 " after %d holds", last, taken);
	for (int i = 0; i < taken; i++)
		unpin(first + i);
}

/* A process of its own is inside the call, so that this one can see it hold the lock, and end it. */
struct locker {
	struct pinhold_lock lock;
	int result;	/* of a call that ended by itself: 0 or -errno */
};

static pid_t locker_start(struct locker *locker)
{
	pid_t parent = getpid(), child = fork();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	locker->result = ioctl(device, PINHOLD_LOCK, &locker->lock) ? -errno : 0;
	_exit(0);
}

/* Waits until the lock is held. False: the call ended before that, or took longer than the lock may be held. */
static bool locker_holds(const volatile struct locker *locker, pid_t child)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (int i = 0; i < PINHOLD_MAX_LOCK_MS && !locker->lock.held; i++) {
		if (waitpid(child, NULL, WNOHANG))
			break;
		nanosleep(&pause, NULL);
	}
	return locker->lock.held;
}

static struct locker *locker_new(pid_t pid, uint32_t ms)
{
	struct locker *locker = mmap(NULL, sizeof(*locker), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (locker == MAP_FAILED) {
		fprintf(stderr, "pinholdctl: cannot share memory: %s\n", strerror(errno));
		exit(2);
	}
	*locker = (struct locker){ .lock = { .pid = (uint32_t)pid, .ms = ms } };
	return locker;
}

static int try_lock(pid_t pid, uint32_t ms)
{
	struct pinhold_lock lock = { .pid = (uint32_t)pid, .ms = ms };

	return ioctl(device, PINHOLD_LOCK, &lock) ? -errno : lock.held ? 0 : -EPROTO;
}

static void test_lock(void)
{
	pid_t other = fork(), child;
	struct locker *locker;

	if (!other) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	expect("pinhold_lock_for_a_while", try_lock(other, 1), 0);
	expect("pinhold_lock_own", try_lock(getpid(), 1), EINVAL);
	expect("pinhold_lock_no_time", try_lock(other, 0), EINVAL);
	expect("pinhold_lock_too_long", try_lock(other, PINHOLD_MAX_LOCK_MS + 1), EINVAL);
	locker = locker_new(other, PINHOLD_MAX_LOCK_MS);
	child = locker_start(locker);
	verdict(locker_holds(locker, child) && !kill(child, SIGKILL) && waitpid(child, NULL, 0) == child &&
		!try_lock(other, 1), "pinhold_lock_goes_with_its_caller", "result %d", locker->result);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	expect("pinhold_lock_nobody", try_lock(other, 1), ESRCH);
}

static bool in_area(const struct pinhold_resolve *res, bool cma)
{
	return cma ? res->is_cma : res->is_movable_zone;
}

/* The first touched page that lies in the area, or NULL; says how much memory that took. */
static unsigned char *seek(bool cma, size_t max_mib)
{
	unsigned char *memory = map(max_mib * MIB, MADV_NOHUGEPAGE);

	for (size_t at = 0; at < max_mib * MIB; at += page_size) {
		struct pinhold_resolve res;

		memory[at] = 1;
		res = resolve(memory + at);
		if (!in_area(&res, cma))
			continue;
		printf("# the first page of the area came after %.1f MiB: pfn %#" PRIx64 " node %u zone %u (%s) migratetype %u\n",
		       (double)at / (double)MIB, (uint64_t)res.pfn, res.node, res.zone, res.zone_name, res.migratetype);
		settle();
		return memory + at;
	}
	return NULL;
}

static int command_area(const char *area, const char *max)
{
	bool cma = !strcmp(area, "cma");
	unsigned char *page = seek(cma, strtoul(max, NULL, 10));
	struct pinhold_resolve before, after;
	int64_t first, longterm;

	verdict(page, "area_reached", "no page of %s MiB lies in the %s area", max, area);
	if (!page)
		return 1;

	before = resolve(page);
	first = hold(device, page, page_size, PINHOLD_GET);
	longterm = hold(device, page, page_size, PINHOLD_WRITE | PINHOLD_LONGTERM);
	after = resolve(page);
	verdict(first > 0 && longterm == -ENOMEM && after.pfn == before.pfn, "area_referenced_page_stays",
		"result %" PRId64 ", pfn %#" PRIx64 " -> %#" PRIx64, longterm, (uint64_t)before.pfn, (uint64_t)after.pfn);
	if (first > 0)
		unpin(first);

	longterm = hold(device, page, page_size, PINHOLD_WRITE | PINHOLD_LONGTERM);
	after = resolve(page);
	verdict(longterm > 0 && after.pfn != before.pfn && !after.is_cma && !after.is_movable_zone, "area_free_page_leaves",
		"result %" PRId64 ", pfn %#" PRIx64 " -> %#" PRIx64, longterm, (uint64_t)before.pfn, (uint64_t)after.pfn);
	return failed;
}

static int command_selftest(void)
{
	test_resolve();
	test_hold("pinhold_pin", PINHOLD_WRITE, PIN_BIAS);
	test_hold("pinhold_longterm", PINHOLD_WRITE | PINHOLD_LONGTERM, PIN_BIAS);
	test_hold("pinhold_get", PINHOLD_GET | PINHOLD_WRITE, 1);
	test_many_pages();
	test_all_or_nothing();
	test_large();
	test_close_releases();
	test_errors();
	test_lock();
	return failed;
}

static int command_keep(const char *length)
{
	size_t size = strtoul(length, NULL, 10);
	int64_t id = hold(device, map(size, MADV_NOHUGEPAGE), size, PINHOLD_WRITE | PINHOLD_KEEP);

	if (id < 0) {
		fprintf(stderr, "pinholdctl: cannot hold %zu bytes: %s\n", size, strerror((int)-id));
		return 1;
	}
	printf("%" PRId64 "\n", id);
	return 0;
}

static int command_id(const char *command, const char *id)
{
	struct pinhold_state state;
	int64_t number = (int64_t)strtoul(id, NULL, 10);
	int r = strcmp(command, "unpin") ? state_of(number, &state) : unpin(number);

	if (r) {
		fprintf(stderr, "pinholdctl: %s %s: %s\n", command, id, strerror(-r));
		return 1;
	}
	if (!strcmp(command, "state"))
		printf("pages=%" PRIu64 " flags=%#x\n", (uint64_t)state.pages, state.flags);
	return 0;
}

static int command_lock(const char *pid, const char *ms)
{
	struct locker *locker = locker_new((pid_t)strtol(pid, NULL, 10), (uint32_t)strtoul(ms, NULL, 10));
	pid_t child = locker_start(locker);
	char line[16];

	if (!locker_holds(locker, child)) {
		fprintf(stderr, "pinholdctl: lock %s: %s\n", pid, strerror(-locker->result));
		return 1;
	}
	puts("held");
	fflush(stdout);
	if (fgets(line, sizeof(line), stdin))
		line[0] = '\0';
	kill(child, SIGKILL);
	return waitpid(child, NULL, 0) == child ? 0 : 1;
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";
	cpu_set_t one;

	page_size = (size_t)sysconf(_SC_PAGESIZE);
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	device = open_device();

	if (argc == 2 && !strcmp(command, "selftest"))
		return command_selftest();
	if (argc == 4 && !strcmp(command, "area"))
		return command_area(argv[2], argv[3]);
	if (argc == 3 && !strcmp(command, "keep"))
		return command_keep(argv[2]);
	if (argc == 3 && (!strcmp(command, "state") || !strcmp(command, "unpin")))
		return command_id(command, argv[2]);
	if (argc == 4 && !strcmp(command, "lock"))
		return command_lock(argv[2], argv[3]);
	fprintf(stderr, "usage: pinholdctl selftest | area movable|cma MAX_MIB | keep LEN | state ID | unpin ID | lock PID MS\n");
	return 2;
}
