// SPDX-License-Identifier: BSD-2-Clause
/* Cases of badreg: refusals of a device, by the module tests/kmod/standin in its place. */
#include <stdio.h>

#include "bad.h"
#include "common.h"

#define PARAMETER "/sys/module/standin/parameters/"

static void stand_in(const char *name, unsigned int value)
{
	char path[128], text[16];

	snprintf(path, sizeof(path), PARAMETER "%s", name);
	snprintf(text, sizeof(text), "%u", value);
	bad_write(path, text);
}

static void put_right(struct play *play)
{
	(void)play;
	stand_in("status", 0);
	stand_in("no_answer", 0);
	stand_in("iova_full", 0);
}

static void reg(struct play *play)
{
	char *memory = bad_memory(play->length);

	play->end = put_right;
	play->kept = bad_register(play, memory, play->length, IBV_ACCESS_LOCAL_WRITE);
}

static void refuse(struct play *play, unsigned int opcode, unsigned int status, unsigned int syndrome)
{
	truth_hex(play->truth, "opcode", opcode);
	truth_hex(play->truth, "status", status);
	truth_hex(play->truth, "syndrome", syndrome);
	stand_in("opcode", opcode);
	stand_in("syndrome", syndrome);
	stand_in("status", play->control ? 0 : status);
	reg(play);
}

static void run_mkey_limit(struct play *play)
{
	refuse(play, 0x200, 0x8, 0x25b161);
}

static void run_mkey_resources(struct play *play)
{
	refuse(play, 0x200, 0xf, 0xfedcba98);
}

static void run_bad_parameter(struct play *play)
{
	refuse(play, 0x200, 0x3, 0x5a82ce);
}

/* The same status of another command says nothing of memory keys. */
static void run_other_command(struct play *play)
{
	refuse(play, 0x80c, 0x8, 0x1);
}

static void run_no_answer(struct play *play)
{
	stand_in("no_answer", play->control ? 0 : 110);
	reg(play);
}

static void run_iova_full(struct play *play)
{
	stand_in("iova_full", !play->control);
	reg(play);
}

static const struct bad bads[] = {
	BAD("standin_mkey_limit", "firmware without a memory key to give: a limit", run_mkey_limit),
	BAD("standin_mkey_resources", "firmware without a memory key to give: no resources", run_mkey_resources),
	BAD("standin_bad_parameter", "firmware that refuses a parameter", run_bad_parameter),
	BAD("standin_other_command", "firmware at a limit, of another command", run_other_command),
	BAD("standin_no_answer", "firmware that does not answer", run_no_answer),
	BAD("standin_iova_full", "an IOMMU without address space left for the device", run_iova_full),
};
const struct bad_family bad_device = { bads, ARRAY_SIZE(bads) };
