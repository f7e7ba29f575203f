// SPDX-License-Identifier: BSD-2-Clause
/*
 * pinwhy pages: where the pages of a process lie, what holds them, and whether a long-term pin of them would succeed
 * now. What is found on the way is judged by pages.c and printed by pages_print.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/pages_scan.h"
#include "enrich/enrich.h"
#include "enrich/read.h"

#define RING_BYTES 65536 /* nothing is read from it */
/* mm/hugetlb.c until v6.5: takes no reference to a huge page in such a place, and looks no further. */
#define HUGE_REFUSER "follow_hugetlb_page"
/* mm/folio.c: empties per-CPU batches where there are references too many. Kernels that have it inlined are not known. */
#define BATCH_EMPTIER "lru_cache_drain_for_folio"
#define CANNOT 2
#define INITIAL_USER_NAMESPACE 0xeffffffdU /* PROC_USER_INIT_INO, include/linux/proc_ns.h */

static const char help[] =
	"Usage: pinwhy pages PID [ADDR [LEN]] [--detail] [--json]\n"
	"Says of a process that has not failed where its pages lie, what holds them, and whether a\n"
	"long-term pin for writing, such as ibv_reg_mr makes, would succeed on them now.\n"
	"Without ADDR: every mapping that such a pin could cover. ADDR alone: the mapping it lies in.\n"
	"Numbers may be 0x... or decimal; LEN may end in K, M, G or T.\n\n"
	"      --detail   one line per page instead of one per range of equal placement\n"
	"      --json     one JSON object per line\n"
	"      --btf PACK this kernel's BTF, where it shows none (packaging/btf-pack)\n"
	"  -h, --help     this text\n\n"
	"Exit status: 0 it would succeed, 1 it would not or that is not known, 2 used wrongly or cannot run.\n";

static void on_interrupt(int signal_number)
{
	(void)signal_number;
	scan_interrupted = 1;
}

static void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void complain(const char *fmt, ...)
{
	va_list args;

	fputs("pinwhy pages: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

/* Is its memory still there? That of a process that has ended, or runs another program now, is not. */
static bool memory_gone(const struct scan *s)
{
	uint64_t word;

	if (ferror(s->maps) || faccessat(s->proc_fd, "maps", F_OK, 0))
		return true;
	return pread(s->pagemap_fd, &word, sizeof(word), 0) != sizeof(word);
}

static int finish(struct scan *s, int err)
{
	struct pages_total *t = &s->total;
	char text[PAGES_TEXT];

	if (err == -ESRCH || memory_gone(s)) {
		complain("process %" PRIu64 " ended, or began another program, while it was looked at: no verdict", s->view.pid);
		return CANNOT;
	}
	if (err) {
		complain("cannot read the pages of process %" PRIu64 ": %s", s->view.pid, strerror(-err));
		return CANNOT;
	}
	if (s->one_mapping && !scan_interrupted) {
		complain("nothing is mapped at 0x%" PRIx64 " in process %" PRIu64, s->start, s->view.pid);
		return CANNOT;
	}
	if (s->end && !scan_interrupted)
		scan_hole(s, s->end);
	if (scan_interrupted)
		scan_take_verdict(s, PAGES_NOT_KNOWN, INTERRUPTED);
	if (t->mappings)
		scan_take_verdict(s, pages_judge_sum(&s->view.rules, &t->sum, s->free_outside_bytes, text), text);
	if (!t->text[0])
		scan_take_verdict(s, PAGES_NOT_KNOWN, "not known: it has no mapping that a long-term pin for writing could cover");
	view_total(&s->view, t);
	return t->verdict <= PAGES_WOULD_MOVE ? 0 : 1;
}

/* --- beginning ------------------------------------------------------------------ */

/* A page of our own that is certainly there: is its frame number told? */
static bool pfns_hidden(uint32_t page_size)
{
	uint64_t word = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	bool hidden;

	if (fd < 0)
		return true;
	hidden = pread(fd, &word, sizeof(word), (off_t)((uintptr_t)&word / page_size * sizeof(word))) != sizeof(word) ||
		 !pages_parse_entry(word).pfn;
	close(fd);
	return hidden;
}

static int open_process(struct scan *s)
{
	char path[32], line[64] = "";
	FILE *comm;
	int err, c;

	snprintf(path, sizeof(path), "/proc/%" PRIu64, s->view.pid);
	s->proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s->proc_fd < 0) {
		complain("there is no process %" PRIu64, s->view.pid);
		return -ESRCH;
	}
	if (!read_open_at(s->proc_fd, "comm", &comm)) {
		if (!read_first_line(comm, line, sizeof(line)))
			snprintf(s->view.comm, sizeof(s->view.comm), "%.15s", line);
		fclose(comm);
		text_clean(s->view.comm, sizeof(s->view.comm));
	}
	err = read_open_at(s->proc_fd, "maps", &s->maps);
	s->pagemap_fd = err ? -1 : openat(s->proc_fd, "pagemap", O_RDONLY | O_CLOEXEC);
	if (!err && s->pagemap_fd < 0)
		err = -errno;
	if (err && err != -ESRCH) {
		complain("cannot read the memory map of process %" PRIu64 ": %s; run it as root (CAP_SYS_PTRACE and CAP_SYS_ADMIN)",
			 s->view.pid, strerror(-err));
		return err;
	}
	c = err ? EOF : fgetc(s->maps);
	if (c == EOF) {
		complain("process %" PRIu64 " has no memory: a kernel thread, or it has ended", s->view.pid);
		return -ESRCH;
	}
	ungetc(c, s->maps);
	return 0;
}

/* What ib_umem_get() compares: pinned_vm, the limit, the capability. */
static void read_memlock(struct scan *s)
{
	struct pages_memlock *l = &s->total.memlock;
	struct stat user;
	unsigned long long caps, pinned_kib, limit;
	char line[256], soft[32];
	uint32_t found = 0;
	FILE *f;

	l->asked_bytes = s->end - s->start;
	if (!read_open_at(s->proc_fd, "limits", &f)) {
		while (fgets(line, sizeof(line), f)) {
			if (sscanf(line, "Max locked memory %31s", soft) != 1)
				continue;
			l->limit_bytes = sscanf(soft, "%llu", &limit) == 1 ? limit : UINT64_MAX;
			found |= 1;
		}
		fclose(f);
	}
	if (!read_open_at(s->proc_fd, "status", &f)) {
		while (fgets(line, sizeof(line), f)) {
			if (sscanf(line, "VmPin: %llu kB", &pinned_kib) == 1) {
				l->pinned_bytes = pinned_kib * 1024;
				found |= 2;
			} else if (sscanf(line, "CapEff: %llx", &caps) == 1) {
				l->exempt = caps & (1ULL << 14); /* CAP_IPC_LOCK, include/uapi/linux/capability.h */
				found |= 4;
			}
		}
		fclose(f);
	}
	/* The kernel asks for the capability in the initial user namespace: that of another one does not count. */
	if (fstatat(s->proc_fd, "ns/user", &user, 0))
		return;
	l->exempt &= user.st_ino == INITIAL_USER_NAMESPACE;
	l->known = found == 7;
}

static void read_free_outside(struct scan *s)
{
	struct facts *facts = calloc(1, sizeof(*facts));
	struct enrich enrich = enrich_system("");

	s->free_outside_bytes = UINT64_MAX;
	if (!facts)
		return;
	enrich_zoneinfo(&enrich, NULL, facts);
	if (FACT_KNOWN(facts, free_outside_bytes))
		s->free_outside_bytes = facts->free_outside_bytes;
	free(facts);
}

static int scan_process(struct scan *s)
{
	/* A second one ends it at once, even if nobody takes its output. */
	struct sigaction on = { .sa_handler = on_interrupt, .sa_flags = (int)(SA_RESTART | SA_RESETHAND) };
	int err = page_reader_mappings(s->reader, (uint32_t)s->view.pid, &s->vmas);

	if (err) {
		complain("the kernel does not list the mappings of process %" PRIu64 ": %s", s->view.pid, strerror(-err));
		return CANNOT;
	}
	read_free_outside(s);
	s->progress = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
	sigaction(SIGINT, &on, NULL);
	sigaction(SIGTERM, &on, NULL);
	err = scan_all(s);
	if (s->end)
		read_memlock(s);
	return finish(s, err);
}

/* Everything that is asked of BPF. */
static int open_reader(struct scan *s, struct kfacts *kf, struct loader **ret_loader)
{
	struct loader_opts opts = { .ring_bytes = RING_BYTES };
	struct batch_table table;
	const char *why = "";

	kfacts_watch(kf, HUGE_REFUSER);
	kfacts_watch(kf, BATCH_EMPTIER);
	batches_find(&table, kf);
	if (loader_open(ret_loader, kf, &opts, &why) || page_reader_open(&s->reader, *ret_loader, &table, &why) ||
	    !loader_placement_known(*ret_loader, &why)) {
		complain("%s", why);
		return -1;
	}
	s->looks = page_reader_looks(s->reader);
	return 0;
}

static int run(struct scan *s)
{
	struct identity *id = calloc(1, sizeof(*id));
	char error[BTFPACK_ERROR_MAX];
	struct loader *loader = NULL;
	struct kfacts *kf = NULL;
	const char *module;
	int err, status = CANNOT;

	if (open_process(s))
		goto out;
	err = id ? kfacts_open_with(&kf, s->btf, error) : -ENOMEM;
	if (err) {
		complain("%s", id ? error : "out of memory");
	} else if (kfacts_names(kf, id), pfns_hidden(id->page_size)) {
		complain("the kernel hides page frame numbers from this process: it lacks CAP_SYS_ADMIN; run it as root");
	} else {
		s->view.id = id;
		err = open_reader(s, kf, &loader);
		kfacts_names(kf, id); /* what kallsyms says is known only now */
		s->view.rules = pages_rules_of(id);
		s->view.rules.memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * id->page_size;
		s->view.rules.guards_between = !s->end && !s->one_mapping;
		s->view.rules.huge_refused = kfacts_symbol(kf, HUGE_REFUSER, &module) == ANSWER_YES;
		s->view.rules.batches_emptied = kfacts_symbol(kf, BATCH_EMPTIER, &module) == ANSWER_YES;
		if (s->end) {
			s->start &= ~((uint64_t)id->page_size - 1);
			s->end = (s->end + id->page_size - 1) & ~((uint64_t)id->page_size - 1);
		}
		status = err ? CANNOT : scan_process(s);
	}
out:
	if (s->maps)
		fclose(s->maps);
	if (s->vmas)
		fclose(s->vmas);
	page_reader_free(s->reader);
	loader_free(loader);
	kfacts_free(kf);
	free(id);
	free(s->batched);
	return status;
}

/* As /proc/PID/maps has them, without 0x, a number of digits alone would be taken for a decimal one. */
static bool parse_address(const char *text, uint64_t *ret_address)
{
	bool bare = text[strspn(text, "0123456789abcdefABCDEF")] == '\0';

	if (!(bare && text[0] == '0' && text[1]) && pages_parse_number(text, false, ret_address)) {
		if (*ret_address >> 63 == 0)
			return true;
		complain("%s is an address of the kernel's, and of no process", text);
		return false;
	}
	complain("'%s' is no address: give 0x and hexadecimal digits%s%s, or a decimal number", text, bare && *text ? ", as in 0x" : "",
		 bare ? text : "");
	return false;
}

static int parse_range(struct scan *s, int argc, char **argv)
{
	uint64_t len;

	if (argc < 1 || argc > 3) {
		complain("name a process, and at most one range of it\nTry 'pinwhy pages --help'.");
		return -EINVAL;
	}
	if (!pages_parse_number(argv[0], false, &s->view.pid) || !s->view.pid || s->view.pid > INT32_MAX) {
		complain("'%s' is no process id", argv[0]);
		return -EINVAL;
	}
	if (argc == 1)
		return 0;
	if (!parse_address(argv[1], &s->start))
		return -EINVAL;
	s->one_mapping = argc == 2;
	if (s->one_mapping)
		return 0;
	/* Half of the address space is the kernel's: what reaches there, or wraps, is no range of a process. */
	if (!pages_parse_number(argv[2], true, &len) || !len) {
		complain("'%s' is no length: give bytes, more than 0, or a number with K, M, G or T", argv[2]);
		return -EINVAL;
	}
	if (len >> 63 || (s->start + len) >> 63) {
		complain("'%s' from %s on is more than a process can have", argv[2], argv[1]);
		return -EINVAL;
	}
	s->end = s->start + len;
	return 0;
}

int cmd_pages(int argc, char **argv)
{
	static const struct option options[] = {
		{ "detail", no_argument, NULL, 'd' }, { "json", no_argument, NULL, 'j' }, { "help", no_argument, NULL, 'h' },
		{ "btf", required_argument, NULL, 'b' }, {}
	};
	struct scan *s = calloc(1, sizeof(*s));
	int c, status = CANNOT;

	if (!s) {
		complain("out of memory");
		return CANNOT;
	}
	optind = 1;
	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		s->view.detail |= c == 'd';
		s->view.json |= c == 'j';
		s->btf = c == 'b' ? optarg : s->btf;
		if (c == 'h')
			fputs(help, stdout);
		if (c == 'h' || c == '?') {
			status = c == 'h' ? 0 : CANNOT;
			goto out;
		}
	}
	if (!parse_range(s, argc - optind, argv + optind))
		status = run(s);
out:
	if (c == '?')
		fputs("Try 'pinwhy pages --help'.\n", stderr);
	free(s);
	return status;
}
