// SPDX-License-Identifier: BSD-2-Clause
/* RDMA netlink: messages made by hand, and a conversation with a socket in the kernel's place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <rdma/rdma_netlink.h>
#include <sys/socket.h>

#include "enrich/rdma.h"
#include "enrich_tree.h"

/* --- making messages ------------------------------------------------------------ */

static struct {
	_Alignas(struct nlmsghdr) char bytes[65536];
	size_t len;
} out;

static struct nlmsghdr *begin(uint16_t type, uint32_t seq)
{
	struct nlmsghdr *h = (void *)out.bytes;

	memset(&out, 0, sizeof(out));
	h->nlmsg_type = type;
	h->nlmsg_seq = seq;
	out.len = NLMSG_HDRLEN;
	return h;
}

static void put(uint16_t type, const void *data, size_t size)
{
	struct nlattr a = { .nla_len = (uint16_t)(sizeof(a) + size), .nla_type = type };

	memcpy(out.bytes + out.len, &a, sizeof(a));
	if (size)
		memcpy(out.bytes + out.len + sizeof(a), data, size);
	out.len += NLA_ALIGN(sizeof(a) + size);
}

static void put_u32(uint16_t type, uint32_t v)
{
	put(type, &v, sizeof(v));
}

static void put_u64(uint16_t type, uint64_t v)
{
	put(type, &v, sizeof(v));
}

static size_t nest(uint16_t type)
{
	put(type | NLA_F_NESTED, NULL, 0);
	return out.len - sizeof(struct nlattr);
}

static void nest_end(size_t at)
{
	((struct nlattr *)(void *)(out.bytes + at))->nla_len = (uint16_t)(out.len - at);
}

static struct nlmsghdr *end(void)
{
	struct nlmsghdr *h = (void *)out.bytes;

	h->nlmsg_len = (uint32_t)out.len;
	return h;
}

static struct nlmsghdr *device(uint32_t seq, uint32_t index, const char *name)
{
	begin(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET), seq);
	put_u32(RDMA_NLDEV_ATTR_DEV_INDEX, index);
	put(RDMA_NLDEV_ATTR_DEV_NAME, name, strlen(name) + 1);
	return end();
}

static void put_count(const char *name, uint64_t count)
{
	size_t entry = nest(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY);

	put(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, name, strlen(name) + 1);
	put_u64(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, count);
	nest_end(entry);
}

static struct nlmsghdr *summary(uint32_t seq, uint64_t mrs)
{
	size_t table;

	begin(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_GET), seq);
	put_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 1);
	table = nest(RDMA_NLDEV_ATTR_RES_SUMMARY);
	put_count("pd", 7);
	put_count("mr", mrs);
	nest_end(table);
	return end();
}

static void put_mr(uint32_t pid, uint64_t length)
{
	size_t entry = nest(RDMA_NLDEV_ATTR_RES_MR_ENTRY);

	put_u64(RDMA_NLDEV_ATTR_RES_MRLEN, length);
	put_u32(RDMA_NLDEV_ATTR_RES_MRN, 3);
	if (pid)
		put_u32(RDMA_NLDEV_ATTR_RES_PID, pid);
	else
		put(RDMA_NLDEV_ATTR_RES_KERN_NAME, "ib_core", 8);
	nest_end(entry);
}

static struct nlmsghdr *mrs(uint32_t seq)
{
	size_t table;

	begin(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_MR_GET), seq);
	put_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 1);
	table = nest(RDMA_NLDEV_ATTR_RES_MR);
	put_mr(123, 4097);
	put_mr(124, 4096);	/* a thread of 123 */
	put_mr(7, 1 << 20);
	put_mr(0, 1 << 20);
	nest_end(table);
	return end();
}

/* --- parsers -------------------------------------------------------------------- */

static uint32_t nmrs;
static struct rdma_mr last;

static int keep(void *ctx, const struct rdma_mr *mr)
{
	(void)ctx;
	nmrs++;
	last = *mr;
	return 0;
}

static int stop(void *ctx, const struct rdma_mr *mr)
{
	(void)ctx;
	(void)mr;
	return -E2BIG;
}

static void whole_messages(void **state)
{
	uint32_t index = 0;
	uint64_t count = 0;

	(void)state;
	assert_int_equal(rdma_parse_device(device(1, 4, "rxe0"), "rxe0", &index), 0);
	assert_int_equal(index, 4);
	assert_int_equal(rdma_parse_device(device(1, 4, "rxe01"), "rxe0", &index), -ENOENT);
	assert_int_equal(rdma_parse_device(device(1, 4, "rxe"), "rxe0", &index), -ENOENT);
	assert_int_equal(rdma_parse_summary(summary(1, 1ULL << 40), &count), 0);
	assert_int_equal(count, 1ULL << 40);
	assert_int_equal(rdma_parse_summary(device(1, 4, "rxe0"), &count), -ENOENT);
	nmrs = 0;
	assert_int_equal(rdma_parse_mrs(mrs(1), keep, NULL), 0);
	assert_int_equal(nmrs, 4);
	assert_int_equal(last.pid, 0);
	assert_int_equal(last.length_bytes, 1 << 20);
	assert_int_equal(rdma_parse_mrs(mrs(1), stop, NULL), -E2BIG);
}

/* Each parser on `size` bytes that end where the memory does: the sanitizer sees a step outside. */
static void parse_all(const void *bytes, size_t size)
{
	struct nlmsghdr *h = malloc(size);
	uint32_t index;
	uint64_t count;

	memcpy(h, bytes, size);
	h->nlmsg_len = (uint32_t)size;
	rdma_parse_device(h, "rxe0", &index);
	rdma_parse_summary(h, &count);
	rdma_parse_mrs(h, keep, NULL);
	free(h);
}

static void cut_at_every_byte(void **state)
{
	(void)state;
	mrs(1);
	for (size_t size = NLMSG_HDRLEN; size <= out.len; size++)
		parse_all(out.bytes, size);
	summary(1, 5);
	for (size_t size = NLMSG_HDRLEN; size <= out.len; size++)
		parse_all(out.bytes, size);
	device(1, 2, "rxe0");
	for (size_t size = NLMSG_HDRLEN; size <= out.len; size++)
		parse_all(out.bytes, size);
}

/* Every byte of the message, at values that lengths do not like. */
static void bytes_that_lie(void **state)
{
	static const unsigned char values[] = { 0, 1, 3, 4, 0x7f, 0x80, 0xff };
	char saved;

	(void)state;
	mrs(1);
	for (size_t at = NLMSG_HDRLEN; at < out.len; at++) {
		saved = out.bytes[at];
		for (size_t i = 0; i < sizeof(values); i++) {
			out.bytes[at] = (char)values[i];
			parse_all(out.bytes, out.len);
		}
		out.bytes[at] = saved;
	}
}

static void numbers_of_another_size(void **state)
{
	uint32_t index;
	size_t table, entry;

	(void)state;
	begin(1, 1);
	put(RDMA_NLDEV_ATTR_DEV_INDEX, "ab", 2);
	put(RDMA_NLDEV_ATTR_DEV_NAME, "rxe0", 5);
	assert_int_equal(rdma_parse_device(end(), "rxe0", &index), -EBADMSG);
	begin(1, 1);
	table = nest(RDMA_NLDEV_ATTR_RES_MR);
	entry = nest(RDMA_NLDEV_ATTR_RES_MR_ENTRY);
	put_u32(RDMA_NLDEV_ATTR_RES_MRLEN, 5);
	nest_end(entry);
	nest_end(table);
	assert_int_equal(rdma_parse_mrs(end(), keep, NULL), -EBADMSG);
	/* A name without its end. */
	begin(1, 1);
	put_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 1);
	put(RDMA_NLDEV_ATTR_DEV_NAME, "rxe0", 4);
	assert_int_equal(rdma_parse_device(end(), "rxe0", &index), -ENOENT);
}

/* --- a conversation ------------------------------------------------------------- */

static int ours, theirs;

static int open_stand_in(void)
{
	return theirs;
}

/* In this process, where the socket is. */
static void run_rdma(void)
{
	facts_unknown(&facts, FACT_NOT_ASKED);
	for (uint32_t i = 0; i < enrich_nsources; i++)
		if (enrich_sources[i].facts & (1ULL << FACT_mr_device_count))
			enrich_read_one(&enrich_sources[i], &enrich, &req, &facts);
}

static int setup(void **state)
{
	int pair[2];

	(void)state;
	enrich_tree_make();
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	ours = pair[0];
	theirs = pair[1];
	enrich.rdma_open = open_stand_in;
	tree_write(&tree, "proc/123/task/124/stat", "");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(ours);
	tree_remove(&tree);
	return 0;
}

static void say(const struct nlmsghdr *h)
{
	assert_int_equal(send(ours, h, h->nlmsg_len, 0), h->nlmsg_len);
}

static void say_done(uint32_t seq)
{
	begin(NLMSG_DONE, seq);
	put_u32(0, 0);
	say(end());
}

static void say_error(uint32_t seq, int error)
{
	struct nlmsgerr e = { .error = error };

	begin(NLMSG_ERROR, seq);
	memcpy(out.bytes + out.len, &e, sizeof(e));
	out.len += sizeof(e);
	say(end());
}

static void say_devices(void)
{
	say(device(1, 3, "mlx5_0"));
	say(device(1, 4, "rxe0"));
	say_done(1);
}

static void regions_are_counted(void **state)
{
	struct nlmsghdr request[2];

	(void)state;
	say_devices();
	say(summary(2, 9));
	say(device(2, 9, "late"));	/* of a question that is over */
	say(mrs(3));
	say(mrs(3));
	say_done(3);
	run_rdma();
	KNOWN(mr_process_pages);
	assert_int_equal(facts.mr_device_count, 9);
	assert_int_equal(facts.mr_process_count, 4);
	assert_int_equal(facts.mr_process_pages, 2 * (2 + 1));
	assert_int_equal(recv(ours, request, sizeof(request), 0), NLMSG_HDRLEN);
	assert_int_equal(request[0].nlmsg_flags, NLM_F_REQUEST | NLM_F_DUMP);
	assert_int_equal(recv(ours, request, sizeof(request), 0), NLMSG_HDRLEN + 8);
	assert_int_equal(request[0].nlmsg_flags, NLM_F_REQUEST);
	assert_int_equal(request[0].nlmsg_type, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_GET));
}

static void too_many_regions(void **state)
{
	(void)state;
	say_devices();
	say(summary(2, 500000));
	run_rdma();
	KNOWN(mr_device_count);
	UNKNOWN(mr_process_pages, -E2BIG);
	UNKNOWN(mr_process_count, -E2BIG);
}

static void no_such_device(void **state)
{
	(void)state;
	say(device(1, 3, "mlx5_0"));
	say_done(1);
	run_rdma();
	UNKNOWN(mr_device_count, -ENODEV);
	UNKNOWN(mr_process_count, -ENODEV);
}

static void errors_of_the_kernel(void **state)
{
	(void)state;
	say_error(1, -EPERM);
	run_rdma();
	UNKNOWN(mr_device_count, -EPERM);
}

static void an_error_that_is_none(void **state)
{
	(void)state;
	say_error(1, 5);
	run_rdma();
	UNKNOWN(mr_device_count, -EBADMSG);
}

static void a_header_that_lies(void **state)
{
	struct nlmsghdr *h = device(1, 1, "rxe0");
	size_t size = h->nlmsg_len;

	(void)state;
	h->nlmsg_len = 4000;
	assert_int_equal(send(ours, h, size, 0), size);
	run_rdma();
	UNKNOWN(mr_device_count, -EBADMSG);
}

static void nobody_answers(void **state)
{
	(void)state;
	enrich.until_ns = enrich_until(&enrich, 50000000);
	run_rdma();
	UNKNOWN(mr_device_count, -ETIMEDOUT);
	UNKNOWN(mr_process_pages, -ETIMEDOUT);
}

static void the_other_end_closes(void **state)
{
	(void)state;
	shutdown(ours, SHUT_WR);
	run_rdma();
	UNKNOWN(mr_device_count, -EPIPE);
}

static void not_asked(void **state)
{
	(void)state;
	req.device[0] = '\0';
	run_rdma();
	UNKNOWN(mr_device_count, FACT_NOT_ASKED);
	close(theirs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		cmocka_unit_test(whole_messages),
		cmocka_unit_test(cut_at_every_byte),
		cmocka_unit_test(bytes_that_lie),
		cmocka_unit_test(numbers_of_another_size),
		TEST(regions_are_counted),
		TEST(too_many_regions),
		TEST(no_such_device),
		TEST(errors_of_the_kernel),
		TEST(an_error_that_is_none),
		TEST(a_header_that_lies),
		TEST(nobody_answers),
		TEST(the_other_end_closes),
		TEST(not_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
