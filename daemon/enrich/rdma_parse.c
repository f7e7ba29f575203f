// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <rdma/rdma_netlink.h>
#include <stddef.h>
#include <string.h>

#include "enrich/rdma.h"

struct attrs {
	const char *at;
	size_t left;
};

struct attr {
	unsigned int type;
	const char *data;
	size_t size;
};

/* nldev messages carry attributes right behind the header. The caller has made sure of nlmsg_len. */
static struct attrs message_attrs(const struct nlmsghdr *h)
{
	return (struct attrs){ (const char *)h + NLMSG_HDRLEN, h->nlmsg_len - NLMSG_HDRLEN };
}

static struct attrs nested(const struct attr *a)
{
	return (struct attrs){ a->data, a->size };
}

/* 1: there is one. 0: that was the last. */
static int next(struct attrs *list, struct attr *ret)
{
	struct nlattr a;
	size_t whole;

	if (!list->left)
		return 0;
	if (list->left < sizeof(a))
		return -EBADMSG;
	memcpy(&a, list->at, sizeof(a));
	if (a.nla_len < sizeof(a) || a.nla_len > list->left)
		return -EBADMSG;
	ret->type = a.nla_type & NLA_TYPE_MASK;
	ret->data = list->at + sizeof(a);
	ret->size = a.nla_len - sizeof(a);
	/* The last may come without its padding. */
	whole = NLA_ALIGN(a.nla_len);
	whole = whole < list->left ? whole : list->left;
	list->at += whole;
	list->left -= whole;
	return 1;
}

static int get_number(const struct attr *a, void *ret_value, size_t size)
{
	if (a->size != size)
		return -EBADMSG;
	memcpy(ret_value, a->data, size);
	return 0;
}

static bool says(const struct attr *a, const char *text)
{
	size_t len = strlen(text);

	return a->size > len && memcmp(a->data, text, len + 1) == 0;
}

int rdma_parse_device(const struct nlmsghdr *h, const char *device, uint32_t *ret_index)
{
	struct attrs list = message_attrs(h);
	bool named = false, indexed = false;
	uint32_t index = 0;
	struct attr a;
	int more, err = 0;

	while ((more = next(&list, &a)) > 0 && !err) {
		if (a.type == RDMA_NLDEV_ATTR_DEV_NAME) {
			named = says(&a, device);
		} else if (a.type == RDMA_NLDEV_ATTR_DEV_INDEX) {
			err = get_number(&a, &index, sizeof(index));
			indexed = !err;
		}
	}
	if (err || more < 0)
		return err ? err : more;
	if (!named || !indexed)
		return -ENOENT;
	*ret_index = index;
	return 0;
}

/* One entry of the summary: "mr" and a number. */
static int parse_count(struct attrs entry, uint64_t *ret_mrs)
{
	bool is_mr = false, counted = false;
	uint64_t count = 0;
	struct attr a;
	int more, err = 0;

	while ((more = next(&entry, &a)) > 0 && !err) {
		if (a.type == RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME) {
			is_mr = says(&a, "mr");
		} else if (a.type == RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR) {
			err = get_number(&a, &count, sizeof(count));
			counted = !err;
		}
	}
	if (err || more < 0)
		return err ? err : more;
	if (!is_mr || !counted)
		return -ENOENT;
	*ret_mrs = count;
	return 0;
}

int rdma_parse_summary(const struct nlmsghdr *h, uint64_t *ret_mrs)
{
	struct attrs list = message_attrs(h), entries;
	struct attr a, entry;
	int more, err = -ENOENT;

	while ((more = next(&list, &a)) > 0) {
		if (a.type != RDMA_NLDEV_ATTR_RES_SUMMARY)
			continue;
		entries = nested(&a);
		while ((more = next(&entries, &entry)) > 0 && err == -ENOENT)
			if (entry.type == RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY)
				err = parse_count(nested(&entry), ret_mrs);
		break;
	}
	return more < 0 ? more : err;
}

static int parse_mr(struct attrs entry, struct rdma_mr *ret)
{
	struct attr a;
	int more, err = 0;

	memset(ret, 0, sizeof(*ret));
	while ((more = next(&entry, &a)) > 0 && !err) {
		if (a.type == RDMA_NLDEV_ATTR_RES_PID)
			err = get_number(&a, &ret->pid, sizeof(ret->pid));
		else if (a.type == RDMA_NLDEV_ATTR_RES_MRLEN)
			err = get_number(&a, &ret->length_bytes, sizeof(ret->length_bytes));
	}
	return more < 0 ? more : err;
}

int rdma_parse_mrs(const struct nlmsghdr *h, rdma_mr_fn each, void *ctx)
{
	struct attrs list = message_attrs(h), entries;
	struct attr a, entry;
	struct rdma_mr mr;
	int more, err = 0;

	while ((more = next(&list, &a)) > 0) {
		if (a.type != RDMA_NLDEV_ATTR_RES_MR)
			continue;
		entries = nested(&a);
		while ((more = next(&entries, &entry)) > 0) {
			if (entry.type != RDMA_NLDEV_ATTR_RES_MR_ENTRY)
				continue;
			err = parse_mr(nested(&entry), &mr);
			if (!err)
				err = each(ctx, &mr);
			if (err)
				return err;
		}
		if (more < 0)
			return more;
	}
	return more;
}
