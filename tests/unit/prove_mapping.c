// SPDX-License-Identifier: BSD-2-Clause
/* The plainest incident that proves each cause of causes/mapping.def. */
#include "support.h"

#include <errno.h>
#include <string.h>

void know_libraries(struct incident *in, const char *libraries)
{
	in->facts.err[FACT_libraries] = 0;
	strcpy(in->facts.libraries, libraries);
}

struct wire_vma *fail_in_mapping(struct incident *in, int err, uint64_t flags)
{
	struct wire_vma *v = &in->end.fault_vma;

	build_failure(in, err);
	fail_pin(in, err);
	fail_upwards(in, err);
	know_libraries(in, "libibverbs.so.1");
	in->end.have |= WIRE_HAVE_FAULT_VMA;
	in->end.fault_vma_state = WIRE_FAULT_VMA_COVERED;
	*v = (struct wire_vma){ .start = RANGE, .end = RANGE + 256 * PAGE, .flags = flags };
	in->end.vmas[0] = *v;
	return v;
}

void map_file(struct wire_vma *v, const char *fs, uint64_t pages)
{
	v->file = 0xffff888055555555;
	v->fs_magic = 0xef53;
	v->file_bytes = pages * PAGE;
	strcpy(v->fs, fs);
}

void prove_address_not_mapped(struct incident *ret)
{
	build_failure(ret, EFAULT);
	fail_pin(ret, EFAULT);
	fail_upwards(ret, EFAULT);
	know_libraries(ret, "libibverbs.so.1");
	ret->end.have |= WIRE_HAVE_FAULT_VMA;
	ret->end.fault_vma_state = WIRE_FAULT_VMA_HOLE;
	ret->end.vmas[0].end = RANGE + 37 * PAGE;
}

void prove_vma_permission_mismatch(struct incident *ret)
{
	fail_in_mapping(ret, EFAULT, 0x71);
}

void prove_file_backed_writable_longterm(struct incident *ret)
{
	struct wire_vma *v = fail_in_mapping(ret, EFAULT, 0xfb);

	map_file(v, "ext4", 256);
	v->what = WIRE_VMA_DIRTY_TRACKED;
}

void prove_io_uring_file_backed(struct incident *ret)
{
	struct wire_reg_end *e = &ret->end;

	build_failure(ret, EOPNOTSUPP);
	e->api = WIRE_API_IO_URING;
	e->have |= WIRE_HAVE_ARGS | WIRE_HAVE_VMAS_ALL;
	e->args.count = 4;
	map_file(&e->vmas[0], "ext4", 512);
	add_chain(ret, WIRE_FN_URING_BUFFER, -EOPNOTSUPP);
	add_chain(ret, WIRE_FN_URING, -EOPNOTSUPP);
}

void prove_fsdax_longterm(struct incident *ret)
{
	struct wire_vma *v = fail_in_mapping(ret, EOPNOTSUPP, 0xfb);

	map_file(v, "xfs", 256);
	v->what = WIRE_VMA_DAX;
}

void prove_vma_pfnmap_io(struct incident *ret)
{
	struct wire_vma *v = fail_in_mapping(ret, EFAULT, 0x44fb);

	map_file(v, "devtmpfs", 0);
	v->what = WIRE_VMA_CHARDEV;
	v->dev = 226 << 20 | 128;
}

void prove_secretmem(struct incident *ret)
{
	struct wire_vma *v = fail_in_mapping(ret, EFAULT, 0x20fb);

	map_file(v, "secretmem", 256);
	v->fs_magic = 0x5345434d;
}

void prove_mapping_beyond_eof(struct incident *ret)
{
	map_file(fail_in_mapping(ret, EFAULT, 0xfb), "tmpfs", 37);
}

void prove_cuda_vmm_or_gpu_memory_by_va(struct incident *ret)
{
	struct wire_vma *v = fail_in_mapping(ret, EFAULT, 0x70);

	map_file(v, "devtmpfs", 0);
	v->what = WIRE_VMA_CHARDEV;
	v->dev = 195 << 20;
}
