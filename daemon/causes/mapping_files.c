// SPDX-License-Identifier: BSD-2-Clause
/* Mappings of files that a long-term pin refuses, or that have no page at the address. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "causes/refusal.h"
#include "diagnose.h"
#include "names.h"

void cause_file_backed_writable_longterm(const struct incident *in, const struct identity *id, struct finding *ret);
void cause_io_uring_file_backed(const struct incident *in, const struct identity *id, struct finding *ret);
void cause_fsdax_longterm(const struct incident *in, const struct identity *id, struct finding *ret);
void cause_mapping_beyond_eof(const struct incident *in, const struct identity *id, struct finding *ret);

static const char *fs_name(const struct wire_vma *v)
{
	return v->fs[0] ? v->fs : "a filesystem";
}

static void tell_other_memory(struct finding *ret)
{
	finding_remedy(ret, "use memory that is no file: anonymous, memfd_create() or tmpfs, or huge pages (hugetlbfs), and write the file from there");
	finding_remedy(ret, "if the device only reads, or changes need not reach the file: map it MAP_PRIVATE");
}

void cause_file_backed_writable_longterm(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_vma *v = failing_vma(in, id);
	char text[VMA_TEXT];

	if (!id->file_pins_checked) {
		finding_because(ret, "this kernel has no vma_needs_dirty_tracking() (v6.5): it pins files as well");
		ret->kind = FINDING_RULED_OUT;
		return;
	}
	if (refusal_rules_out(in, id, REFUSAL_FILE, ret))
		return;
	if (!v || refusal_of(in, id) != REFUSAL_FILE || !failing_pin(in, id, EFAULT))
		return;
	ret->detail = DETAIL_dirty_tracked_file;
	finding_summary(ret, "0x%" PRIx64 " is a shared writable mapping of a file on %s, which may not be pinned long-term for writing",
			failing_address(in, id), fs_name(v));
	tell_failing_pin(in, id, ret);
	finding_evidence(ret, "the mapping there, when the pin failed: %s, a file of %" PRIu64 " bytes whose filesystem must hear of every write", vma_text(text, v),
			 (uint64_t)v->file_bytes);
	finding_evidence(ret, "this kernel refuses that since it checks for it (vma_needs_dirty_tracking() is there): a device's writes would reach the page without the filesystem");
	ret->kind = failing_kind(in, id, EFAULT, ret);
	tell_other_memory(ret);
	finding_remedy(ret, "if the device only reads it: register it without LOCAL_WRITE, REMOTE_WRITE, REMOTE_ATOMIC and MW_BIND");
}

/* The first mapping of the range that io_uring's own check would refuse, NULL = none is known. */
static const struct wire_vma *refused_file(const struct wire_reg_end *e)
{
	uint32_t i;

	for (i = 0; e->have & WIRE_HAVE_VMAS && i < e->nvmas; i++) {
		const struct wire_vma *v = &e->vmas[i];

		if (v->file && !(v->flags & VM_HUGETLB) && strcmp(v->fs, "tmpfs") != 0)
			return v;
	}
	return NULL;
}

void cause_io_uring_file_backed(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	const struct wire_vma *v = refused_file(e);
	char text[VMA_TEXT];

	if (e->api != WIRE_API_IO_URING) {
		finding_because(ret, "the call is %s, not io_uring's", name_api(e->api));
		ret->kind = FINDING_RULED_OUT;
		return;
	}
	if (!v && e->have & WIRE_HAVE_VMAS_ALL) {
		finding_because(ret, "0 of the %u mappings of the buffer are of a file", e->nvmas);
		ret->kind = FINDING_RULED_OUT;
		return;
	}
	if (incident_errno(in, WIRE_FN_URING_BUFFER) != EOPNOTSUPP || incident_chain(in, WIRE_FN_GUP_LONGTERM) || !v)
		return;
	ret->detail = DETAIL_file_buffer;
	finding_summary(ret, "buffer %u of %u lies in a mapping of a file on %s, which this kernel's io_uring refuses", e->args.index,
			e->args.count, fs_name(v));
	finding_evidence(ret, "%s = -EOPNOTSUPP, and no pin failed: the check of the mappings comes after the pin", name_fn(id, WIRE_FN_URING_BUFFER));
	finding_evidence(ret, "a mapping of the buffer, read at the end of the call: %s, of a file that is neither in tmpfs nor of huge pages", vma_text(text, v));
	ret->kind = e->result == -EOPNOTSUPP && id->fn_watched[WIRE_FN_GUP_LONGTERM] ? FINDING_PROVEN : FINDING_LIKELY;
	if (!id->fn_watched[WIRE_FN_GUP_LONGTERM])
		finding_missing(ret, "failure of the pin", "%s is not hooked", name_fn(id, WIRE_FN_GUP_LONGTERM));
	tell_other_memory(ret);
}

void cause_fsdax_longterm(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	const struct wire_vma *v = failing_vma(in, id), *seen = NULL;
	char text[VMA_TEXT];
	uint32_t i;

	for (i = 0; e->have & WIRE_HAVE_VMAS && i < e->nvmas && !seen; i++)
		if (e->vmas[i].what & WIRE_VMA_DAX && !(e->vmas[i].what & WIRE_VMA_CHARDEV))
			seen = &e->vmas[i];
	/* v5.10 pins all pages first and asks their mappings then: any of the range may be the one. */
	if (!seen && refusal_rules_out(in, id, REFUSAL_FSDAX, ret))
		return;
	if (!failing_pin(in, id, EOPNOTSUPP) || (refusal_of(in, id) != REFUSAL_FSDAX && !seen))
		return;
	ret->kind = failing_kind(in, id, EOPNOTSUPP, ret);
	ret->detail = DETAIL_fsdax_file;
	if (refusal_of(in, id) != REFUSAL_FSDAX) {
		ret->kind = FINDING_LIKELY;
		v = seen;
		finding_missing(ret, "the mapping at the failing address", "a DAX mapping lies in the range, but was not seen where the pin began");
	}
	finding_summary(ret, "part of the range is a file on %s in persistent memory (fsdax), which may not be pinned long-term", fs_name(v));
	tell_failing_pin(in, id, ret);
	finding_evidence(ret, "its mapping: %s; its inode is S_DAX", vma_text(text, v));
	finding_remedy(ret, "use device DAX (/dev/daxN.M, `ndctl create-namespace -m devdax`) if the application can do without a filesystem");
	finding_remedy(ret, "if the device supports on-demand paging (ibv_devinfo -v, odp_caps): register with IBV_ACCESS_ON_DEMAND, which takes no pin");
	finding_remedy(ret, "if the data may be copied: mount the filesystem with dax=never, or register anonymous memory");
}

/* --- beyond the end of the file --------------------------------------------------- */

/* Offset of the failing page in its file; false: it wraps. */
static bool file_offset(const struct incident *in, const struct identity *id, const struct wire_vma *v, uint64_t *ret)
{
	uint64_t base, inside = (failing_address(in, id) - v->start) & ~((uint64_t)id->page_size - 1);

	return !__builtin_mul_overflow(v->pgoff, (uint64_t)id->page_size, &base) && !__builtin_add_overflow(base, inside, ret);
}

static void tell_beyond(const struct incident *in, const struct identity *id, uint64_t offset, struct finding *ret)
{
	const struct wire_vma *v = failing_vma(in, id);
	char text[VMA_TEXT];

	ret->detail = DETAIL_beyond_end_of_file;
	finding_summary(ret, "0x%" PRIx64 " is byte %" PRIu64 " of a mapped file on %s that is %" PRIu64 " bytes long: there is no page to pin",
			failing_address(in, id), offset, fs_name(v), (uint64_t)v->file_bytes);
	tell_failing_pin(in, id, ret);
	finding_evidence(ret, "the mapping there, when the pin failed: %s, at page %" PRIu64 " of its file", vma_text(text, v), (uint64_t)v->pgoff);
	finding_evidence(ret, "offset %" PRIu64 " lies at or beyond the file's size of %" PRIu64 " bytes: a page fault there ends in SIGBUS, in a pin in EFAULT",
			 offset, (uint64_t)v->file_bytes);
	finding_remedy(ret, "make the file as long as its mapping before it is registered: ftruncate() or posix_fallocate(), by every process that creates it");
	finding_remedy(ret, "if another process truncates the file: register the part below its size, or keep it from shrinking (F_ADD_SEALS, F_SEAL_SHRINK)");
}

void cause_mapping_beyond_eof(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_vma *v = failing_vma(in, id);
	uint64_t offset = 0;

	if (refusal_rules_out(in, id, REFUSAL_NONE, ret) || !v)
		return;
	ret->kind = FINDING_RULED_OUT;
	if (!v->file)
		finding_because(ret, "0x%" PRIx64 ", where the pin failed, lies in anonymous memory: no file ends there", failing_address(in, id));
	else if (v->what & WIRE_VMA_CHARDEV)
		finding_because(ret, "character device %u:%u has no size", v->dev >> 20, v->dev & 0xfffff);
	else if (!file_offset(in, id, v, &offset))
		ret->kind = FINDING_SILENT;
	else if (offset < v->file_bytes)
		finding_because(ret, "offset %" PRIu64 ", where the pin failed, lies within the file's %" PRIu64 " bytes", offset, (uint64_t)v->file_bytes);
	else
		ret->kind = FINDING_LIKELY;
	if (ret->kind != FINDING_LIKELY)
		return;
	ret->kind = FINDING_SILENT;
	/* A size of 0 of a kind of file not known here may mean that it has none. */
	if (refusal_of(in, id) != REFUSAL_NONE || !failing_pin(in, id, EFAULT) || (!incident_size_decides(v) && !v->file_bytes))
		return;
	tell_beyond(in, id, offset, ret);
	ret->kind = failing_kind(in, id, EFAULT, ret);
	if (incident_size_decides(v) && !failing_key(in, id))
		return;
	ret->kind = FINDING_LIKELY;
	if (failing_key(in, id))
		finding_missing(ret, "rights of the protection key", "the mapping has key %u, and the thread's rights were not read", failing_key(in, id));
	else
		finding_missing(ret, "the file's size", "on %s the size seen here may not be the one that decides", fs_name(v));
}
