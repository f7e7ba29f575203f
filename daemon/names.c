// SPDX-License-Identifier: BSD-2-Clause
#include "names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The kernel's own numbers: the same on x86-64 and arm64, which is all we run on. */
static const struct {
	int err;
	const char *name;
	const char *words;
} errnos[] = {
	{ EPERM, "EPERM", "operation not permitted" },
	{ ENOENT, "ENOENT", "no such file" },
	{ ESRCH, "ESRCH", "the process is gone" },
	{ EINTR, "EINTR", "interrupted by a signal" },
	{ EIO, "EIO", "input/output error" },
	{ ENXIO, "ENXIO", "no such device or address" },
	{ E2BIG, "E2BIG", "too many to read" },
	{ EBADF, "EBADF", "bad file descriptor" },
	{ EAGAIN, "EAGAIN", "temporarily unavailable" },
	{ ENOMEM, "ENOMEM", "out of memory" },
	{ EACCES, "EACCES", "permission denied" },
	{ EFAULT, "EFAULT", "bad address" },
	{ EBUSY, "EBUSY", "busy" },
	{ EEXIST, "EEXIST", "exists already" },
	{ EXDEV, "EXDEV", "outside what can be seen from here" },
	{ ENODEV, "ENODEV", "no such device" },
	{ ENOTDIR, "ENOTDIR", "not a directory" },
	{ EINVAL, "EINVAL", "invalid argument" },
	{ EMFILE, "EMFILE", "too many open files" },
	{ ENFILE, "ENFILE", "too many open files on the node" },
	{ EFBIG, "EFBIG", "too large" },
	{ ENOSPC, "ENOSPC", "no space left" },
	{ ERANGE, "ERANGE", "out of range" },
	{ ENAMETOOLONG, "ENAMETOOLONG", "name too long" },
	{ ENOSYS, "ENOSYS", "not implemented" },
	{ ENODATA, "ENODATA", "not available on this node" },
	{ ENOMSG, "ENOMSG", "not asked for" },
	{ ETIME, "ETIME", "timer expired" },
	{ EPROTO, "EPROTO", "protocol error" },
	{ EBADMSG, "EBADMSG", "bad message" },
	{ EOVERFLOW, "EOVERFLOW", "value too large" },
	{ EREMOTEIO, "EREMOTEIO", "remote input/output error" },
	{ EOPNOTSUPP, "EOPNOTSUPP", "not supported" },
	{ EPROTONOSUPPORT, "EPROTONOSUPPORT", "protocol not supported" },
	{ ENOBUFS, "ENOBUFS", "no buffer space" },
	{ ETIMEDOUT, "ETIMEDOUT", "no answer in time" },
	{ ESTALE, "ESTALE", "the process id was reused" },
	{ EDQUOT, "EDQUOT", "quota exceeded" },
	{ ECANCELED, "ECANCELED", "cancelled" },
	{ 524, "ENOTSUPP", "not supported" },	/* the kernel's own, include/linux/errno.h */
	{ EHWPOISON, "EHWPOISON", "memory page has a hardware error" },
};

const char *name_errno(int err)
{
	size_t i;

	for (i = 0; i < COUNT(errnos); i++)
		if (errnos[i].err == err)
			return errnos[i].name;
	return "errno";
}

const char *name_advice(uint32_t advice)
{
	switch (advice) { /* include/uapi/asm-generic/mman-common.h */
	case 4:
		return "MADV_DONTNEED";
	case 9:
		return "MADV_REMOVE";
	case 24:
		return "MADV_DONTNEED_LOCKED";
	case 102:
		return "MADV_GUARD_INSTALL";
	default:
		return "another";
	}
}

const char *name_errno_words(int err)
{
	size_t i;

	for (i = 0; i < COUNT(errnos); i++)
		if (errnos[i].err == err)
			return errnos[i].words;
	return "unnamed error";
}

int name_errno_number(const char *name)
{
	size_t i;

	for (i = 0; i < COUNT(errnos); i++)
		if (strcmp(errnos[i].name, name) == 0)
			return errnos[i].err;
	return 0;
}

static const struct {
	const char *name;	/* where the loader did not say which variant it attached */
	bool driver;
} fns[WIRE_FN_MAX] = {
	[WIRE_FN_NONE] = { "unknown function", false },
#define FN(id, name, function) [WIRE_FN_##name] = { function, false },
#define DRIVER(id, name, module, function) [WIRE_FN_DRIVER_##name] = { #function, true },
#include "functions.def"
#undef FN
#undef DRIVER
};

const char *name_fn(const struct identity *id, uint32_t fn)
{
	if (fn >= WIRE_FN_MAX)
		fn = WIRE_FN_NONE;
	if (id->fn_name[fn][0])
		return id->fn_name[fn];
	return fns[fn].name ? fns[fn].name : fns[WIRE_FN_NONE].name;
}

const char *name_fn_module(const struct identity *id, uint32_t fn)
{
	if (fn >= WIRE_FN_MAX || !id->fn_module[fn][0])
		return "vmlinux";
	return id->fn_module[fn];
}

static const struct {
	const char *word;
	enum wire_fn entry;
} apis[WIRE_API_MAX] = {
	[WIRE_API_NONE] = { "unknown", WIRE_FN_NONE },
#define API(id, name, word, entry) [WIRE_API_##name] = { #word, WIRE_FN_##entry },
#include "apis.def"
#undef API
};

const char *name_api(uint32_t api)
{
	return apis[api < WIRE_API_MAX ? api : WIRE_API_NONE].word;
}

enum wire_fn name_api_entry(uint32_t api)
{
	return apis[api < WIRE_API_MAX ? api : WIRE_API_NONE].entry;
}

bool name_fn_is_driver(uint32_t fn)
{
	return fn < WIRE_FN_MAX && fns[fn].driver;
}

const char *name_enum(const struct enum_names *names, uint64_t value)
{
	return value < IDENTITY_NAMES_MAX ? names->name[value] : "";
}

struct flag_name {
	uint32_t bit;
	const char *name;
};

static void each_flag(const struct flag_name *flags, size_t n, uint32_t value, name_each_fn each,
		      void *ctx)
{
	char rest[16];
	size_t i;

	for (i = 0; i < n; i++) {
		if (flags[i].bit == 0 || !(value & flags[i].bit))
			continue;
		each(ctx, flags[i].name);
		value &= ~flags[i].bit;
	}
	if (value) {
		snprintf(rest, sizeof(rest), "0x%x", value);
		each(ctx, rest);
	}
}

void name_access(uint32_t access, name_each_fn each, void *ctx)
{
	/* enum ib_uverbs_access_flags of the kernel's user API: stable. */
	static const struct flag_name flags[] = {
		{ 1 << 0, "LOCAL_WRITE" },     { 1 << 1, "REMOTE_WRITE" },
		{ 1 << 2, "REMOTE_READ" },     { 1 << 3, "REMOTE_ATOMIC" },
		{ 1 << 4, "MW_BIND" },	       { 1 << 5, "ZERO_BASED" },
		{ 1 << 6, "ON_DEMAND" },       { 1 << 7, "HUGETLB" },
		{ 1 << 8, "FLUSH_GLOBAL" },    { 1 << 9, "FLUSH_PERSISTENT" },
		{ 1 << 20, "RELAXED_ORDERING" },
	};

	each_flag(flags, COUNT(flags), access, each, ctx);
}

void name_gup_flags(const struct identity *id, uint32_t value, name_each_fn each, void *ctx)
{
	/* FOLL_* moved between kernels: only what this kernel told us has a name. */
	const struct flag_name flags[] = {
#define FOLL(field, name, define) { id->foll_##field, #name },
#include "foll.def"
#undef FOLL
	};

	each_flag(flags, COUNT(flags), value, each, ctx);
}

const struct pin_via pin_vias[WIRE_PIN_VIA_MAX] = {
	[WIRE_PIN_VIA_NONE] = { "a function that is not known", "" },
	[WIRE_PIN_VIA_NVIDIA] = { "os_lock_user_pages", "nvidia" },
	[WIRE_PIN_VIA_REGISTRATION] = { "__gup_longterm_locked", "" },
	[WIRE_PIN_VIA_PIN_FAST] = { "pin_user_pages_fast", "" },
	[WIRE_PIN_VIA_PIN] = { "pin_user_pages", "" },
	[WIRE_PIN_VIA_MODULE] = { "__gup_longterm_locked", "" },
	[WIRE_PIN_VIA_GET_FAST] = { "get_user_pages_fast", "" },
};

const struct pin_doubt pin_doubts[WIRE_DOUBT_MAX] = {
	[WIRE_DOUBT_NONE] = { "none", "" },
	[WIRE_DOUBT_MIXED] = { "mixed", "others, or other code of it, pinned the page too, and whose pins are left was not seen" },
	[WIRE_DOUBT_COUNT] = { "count", "the page's pins are not as many as were seen being taken and not given back" },
	[WIRE_DOUBT_MISSED] = { "missed", "whether it was given back was not seen" },
	[WIRE_DOUBT_UNWATCHED] = { "unwatched", "whether it was given back was not seen, nor whether this page lay there then" },
};
