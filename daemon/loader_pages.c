// SPDX-License-Identifier: BSD-2-Clause
#include "loader_pages.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loader_batches.h"
#include "loader_state.h"

#define LOOKS_BYTES (sizeof(struct wire_look) * WIRE_LOOKS)
#define BATCHED_BYTES (sizeof(uint64_t) * WIRE_BATCHED)

struct page_reader {
	struct bpf_object *obj;
	int look_fd, list_fd;		/* of programs; the object has them */
	struct wire_look *looks;	/* mapped */
	const uint64_t *batched;	/* mapped */
	uint64_t offsets;		/* address of __per_cpu_offset[]; 0 = batches cannot be read */
};

void page_reader_free(struct page_reader *r)
{
	if (!r)
		return;
	if (r->looks)
		munmap(r->looks, LOOKS_BYTES);
	if (r->batched)
		munmap((void *)r->batched, BATCHED_BYTES);
	bpf_object__close(r->obj);
	free(r);
}

static int map_array(const struct page_reader *r, const char *name, size_t bytes, int prot, void **ret_mem)
{
	void *mem = mmap(NULL, bytes, prot, MAP_SHARED, bpf_object__find_map_fd_by_name(r->obj, name), 0);

	if (mem == MAP_FAILED)
		return -errno;
	*ret_mem = mem;
	return 0;
}

static int map_arrays(struct page_reader *r)
{
	void *mem = NULL;
	int err = map_array(r, "looks", LOOKS_BYTES, PROT_READ | PROT_WRITE, &mem);

	if (err)
		return err;
	r->looks = mem;
	err = map_array(r, "batched", BATCHED_BYTES, PROT_READ, &mem);
	if (!err)
		r->batched = mem;
	return err;
}

/* Where batches are is what the program is told; without that it is not run. */
static void place_batches(struct page_reader *r, struct loader *l, struct batch_table *table)
{
	uint64_t offsets = batches_place(table, l->kf);
	int fd = bpf_object__find_map_fd_by_name(r->obj, "lru_batches");

	for (uint32_t i = 0; offsets && i < table->n; i++)
		if (bpf_map_update_elem(fd, &i, &table->rows[i].batch, BPF_ANY))
			offsets = 0;
	r->offsets = offsets;
}

static const char *refusal(const struct loader *l, int err)
{
	if (err == -EOPNOTSUPP && !kfacts_loops(l->kf))
		return "pinwhy pages " NEEDS_LOOPS;
	if (kfacts_pack(l->kf))
		return "pinwhy pages lists mappings by a BPF iterator, for which the kernel must show its own BTF (/sys/kernel/btf/vmlinux): a pack "
		       "of it is not enough";
	return loader_refusal(err);
}

int page_reader_open(struct page_reader **ret_reader, struct loader *l, struct batch_table *table, const char **ret_why)
{
	struct page_reader *r = calloc(1, sizeof(*r));
	int err = r ? loader_load_whole(l, &pages_object, &r->obj) : -ENOMEM;

	if (!err) {
		r->look_fd = bpf_program__fd(bpf_object__find_program_by_name(r->obj, "look_at_pages"));
		r->list_fd = bpf_program__fd(bpf_object__find_program_by_name(r->obj, "list_batches"));
		err = map_arrays(r);
	}
	if (err) {
		*ret_why = refusal(l, err);
		page_reader_free(r);
		return err;
	}
	place_batches(r, l, table);
	*ret_reader = r;
	return 0;
}

struct wire_look *page_reader_looks(struct page_reader *r)
{
	return r->looks;
}

int page_reader_run(struct page_reader *r)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	return bpf_prog_test_run_opts(r->look_fd, &opts);
}

int page_reader_batched(struct page_reader *r, uint64_t *entries, uint32_t *ret_n)
{
	uint64_t args[] = { r->offsets, (uint64_t)libbpf_num_possible_cpus() };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));
	int err = r->offsets ? bpf_prog_test_run_opts(r->list_fd, &opts) : -ENOENT;

	if (err)
		return err;
	if (opts.retval > WIRE_BATCHED)
		return -E2BIG;
	memcpy(entries, r->batched, opts.retval * sizeof(*entries));
	*ret_n = opts.retval;
	return 0;
}

int page_reader_mappings(struct page_reader *r, uint32_t tid, FILE **ret_f)
{
	union bpf_iter_link_info info = { .task.tid = tid };
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));
	struct bpf_link *link;
	int fd, err;
	FILE *f;

	link = bpf_program__attach_iter(bpf_object__find_program_by_name(r->obj, "list_mappings"), &opts);
	err = (int)libbpf_get_error(link);
	if (err)
		return err;
	fd = bpf_iter_create(bpf_link__fd(link));
	/* The open iterator needs its link no more. */
	bpf_link__destroy(link);
	if (fd < 0)
		return fd;
	f = fdopen(fd, "r");
	if (!f) {
		err = -errno;
		close(fd);
		return err;
	}
	*ret_f = f;
	return 0;
}
