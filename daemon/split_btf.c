// SPDX-License-Identifier: BSD-2-Clause
#include "split_btf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kfacts.h"
#include "privileges.h"

#define BTF_DIR "/sys/kernel/btf/"
#define CHUNK 65536

struct raw {
	char *bytes;
	size_t n;
};

static bool parse(const void *bytes, size_t n, struct btf_header *ret)
{
	if (n < sizeof(*ret))
		return false;
	memcpy(ret, bytes, sizeof(*ret));
	return ret->magic == BTF_MAGIC && ret->hdr_len >= sizeof(*ret) && ret->hdr_len <= n &&
	       (uint64_t)ret->hdr_len + ret->type_off + ret->type_len <= n && (uint64_t)ret->hdr_len + ret->str_off + ret->str_len <= n;
}

int split_btf_join(const void *base, size_t base_bytes, const void *split, size_t split_bytes, void **ret, size_t *ret_bytes)
{
	struct btf_header b, s, out;
	char *all;

	if (!parse(base, base_bytes, &b) || !parse(split, split_bytes, &s) ||
	    (uint64_t)b.type_len + s.type_len + b.str_len + s.str_len + sizeof(out) > UINT32_MAX)
		return -EBADMSG;
	out = (struct btf_header){ .magic = BTF_MAGIC, .version = b.version, .flags = b.flags, .hdr_len = sizeof(out) };
	out.type_len = b.type_len + s.type_len;
	out.str_off = out.type_len;
	out.str_len = b.str_len + s.str_len;
	*ret_bytes = sizeof(out) + out.type_len + out.str_len;
	all = malloc(*ret_bytes);
	if (!all)
		return -ENOMEM;
	*ret = all;
	memcpy(all, &out, sizeof(out));
	all += sizeof(out);
	memcpy(all, (const char *)base + b.hdr_len + b.type_off, b.type_len);
	memcpy(all + b.type_len, (const char *)split + s.hdr_len + s.type_off, s.type_len);
	all += out.type_len;
	memcpy(all, (const char *)base + b.hdr_len + b.str_off, b.str_len);
	memcpy(all + b.str_len, (const char *)split + s.hdr_len + s.str_off, s.str_len);
	return 0;
}

static int read_whole(const char *name, struct raw *ret)
{
	char path[96];
	ssize_t got = 1;
	int fd, err = 0;

	*ret = (struct raw){ 0 };
	if (snprintf(path, sizeof(path), BTF_DIR "%s", name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (got > 0 && !err) {
		char *more = realloc(ret->bytes, ret->n + CHUNK);

		if (!more) {
			err = -ENOMEM;
			break;
		}
		ret->bytes = more;
		got = read(fd, ret->bytes + ret->n, CHUNK);
		if (got < 0)
			err = -errno;
		else
			ret->n += (size_t)got;
	}
	close(fd);
	return err;
}

static int to_file(const char *bytes, size_t n)
{
	int fd = memfd_create("btf", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	for (ssize_t put; n; bytes += put, n -= (size_t)put) {
		put = write(fd, bytes, n);
		if (put <= 0) {
			int err = put ? -errno : -EIO;

			close(fd);
			return err;
		}
	}
	return fd;
}

static int open_joined(const char *module)
{
	struct raw base, split = { 0 };
	int r = read_whole("vmlinux", &base);
	size_t n = base.n;
	void *all = base.bytes;

	if (!r && *module)
		r = read_whole(module, &split);
	if (!r && *module)
		r = split_btf_join(base.bytes, base.n, split.bytes, split.n, &all, &n);
	if (!r)
		r = to_file(all, n);
	if (all != base.bytes)
		free(all);
	free(base.bytes);
	free(split.bytes);
	return r;
}

const char *split_btf_path(const char *module)
{
	static struct {
		uint64_t generation;	/* 0 = nothing yet */
		int fd;
		char path[32];
	} files[2], *f;
	uint64_t generation = *module ? kfacts_module_generation(module) : 1;

	if (privileges_module_btf())
		return NULL;
	f = &files[*module && generation];
	if (f->generation != (generation ? generation : 1)) {
		if (f->generation && f->fd >= 0)
			close(f->fd);
		f->generation = generation ? generation : 1;
		f->fd = open_joined(generation ? module : "");
		snprintf(f->path, sizeof(f->path), "/proc/self/fd/%d", f->fd);
	}
	return f->fd < 0 ? NULL : f->path;
}
