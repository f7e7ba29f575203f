// SPDX-License-Identifier: BSD-2-Clause
/* Cases of badreg: refusals of a device, by the module tests/kmod/standin in its place. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "../kmod/nvidia/nvidia_standin.h"
#include "bad.h"
#include "common.h"
#include "rawverbs.h"

static void tell(const char *module, const char *name, unsigned int value)
{
	char path[128], text[16];

	snprintf(path, sizeof(path), "/sys/module/%s/parameters/%s", module, name);
	snprintf(text, sizeof(text), "%u", value);
	bad_write(path, text);
}

static void stand_in(const char *name, unsigned int value)
{
	tell("standin", name, value);
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

/* A dma-buf of NVIDIA's driver, which does what `parameter` says. */
static void reg_export(struct play *play, const char *parameter)
{
	struct nvidia_standin_export export = { .bytes = play->length };
	struct raw_mr mr = { .length = play->length, .access = IBV_ACCESS_LOCAL_WRITE };
	int nvidia = open(NVIDIA_STANDIN_DEVICE, O_RDWR | O_CLOEXEC);

	tell("nvidia", parameter, !play->control);
	if (nvidia < 0 || ioctl(nvidia, NVIDIA_STANDIN_EXPORT, &export) || export.status)
		die_errno("the stand-in exported nothing (status 0x%x)", export.status);
	bad_call(play, "UVERBS_METHOD_REG_DMABUF_MR", NULL, play->length, IBV_ACCESS_LOCAL_WRITE);
	bad_outcome(play, raw_reg_dmabuf_mr(&play->rdma, export.fd, &mr));
	tell("nvidia", parameter, 0);
}

static void run_dmabuf_map(struct play *play)
{
	reg_export(play, "dmabuf_map_fails");
}

/* CUDA has the status, the program no descriptor, and some pass it on all the same. */
static void run_dmabuf_export(struct play *play)
{
	struct nvidia_standin_export export = { .bytes = play->length, .fd = -1 };
	struct raw_mr mr = { .length = play->length, .access = IBV_ACCESS_LOCAL_WRITE };
	int nvidia = open(NVIDIA_STANDIN_DEVICE, O_RDWR | O_CLOEXEC);

	tell("nvidia", "dmabuf_export_status", play->control ? 0 : 0x56);
	if (nvidia < 0 || ioctl(nvidia, NVIDIA_STANDIN_EXPORT, &export) || export.status != (play->control ? 0 : 0x56))
		die_errno("the stand-in answered otherwise (status 0x%x)", export.status);
	bad_call(play, "UVERBS_METHOD_REG_DMABUF_MR", NULL, play->length, IBV_ACCESS_LOCAL_WRITE);
	bad_outcome(play, raw_reg_dmabuf_mr(&play->rdma, export.fd, &mr));
	tell("nvidia", "dmabuf_export_status", 0);
}

static void run_dmabuf_attach(struct play *play)
{
	reg_export(play, "dmabuf_attach_fails");
}

/* --- GPU memory by its address ------------------------------------------------------ */

#define GPU_PAGE (64 * KIB)

/* Address space of the GPU's: nothing but the driver knows what is there. */
static char *gpu_memory(size_t length)
{
	size_t whole = (length + GPU_PAGE - 1) / GPU_PAGE * GPU_PAGE;
	char *space = mmap(NULL, whole + GPU_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int nvidia = open(NVIDIA_STANDIN_DEVICE, O_RDWR | O_CLOEXEC);

	if (space == MAP_FAILED || nvidia < 0)
		die_errno("no address space or no stand-in");
	space += -(uintptr_t)space % GPU_PAGE;
	if (mmap(space, whole, PROT_NONE, MAP_SHARED | MAP_FIXED, nvidia, 0) != space)
		die_errno("the stand-in maps no GPU memory");
	return space;
}

enum client { LEGACY, PERSISTENT };
enum when { BEHIND_THE_PIN, BEFORE_THE_PIN };

/* A driver that answers `status`, after having given the pages `spared` times. */
static void peers(const struct play *play, enum client client, enum when when, unsigned int status, unsigned int spared)
{
	truth_str(play->truth, "asked", client == LEGACY ? "nvidia_p2p_get_pages" : "nvidia_p2p_get_pages_persistent");
	stand_in("peer_client", client);
	stand_in("peer_first", when == BEFORE_THE_PIN);
	tell("nvidia", "p2p_spared", spared);
	tell("nvidia", "p2p_status", play->control ? 0 : status);
}

static void reg_peer(struct play *play, enum client client, enum when when, unsigned int status, unsigned int spared)
{
	char *memory = gpu_memory(play->length);

	peers(play, client, when, status, spared);
	play->kept = bad_register(play, memory, play->length, IBV_ACCESS_LOCAL_WRITE);
	tell("nvidia", "p2p_status", 0);
	tell("nvidia", "p2p_spared", 0);
}

#define INSUFFICIENT_RESOURCES 0x1a
#define GPU_IS_LOST 0x0f
#define NOT_SUPPORTED 0x56

static void run_peer_room(struct play *play)
{
	truth_bool(play->truth, "hidden", true);
	reg_peer(play, PERSISTENT, BEHIND_THE_PIN, INSUFFICIENT_RESOURCES, 0);
}

static void run_peer_room_first(struct play *play)
{
	truth_bool(play->truth, "hidden", true);
	reg_peer(play, LEGACY, BEFORE_THE_PIN, INSUFFICIENT_RESOURCES, 0);
}

/* The errno may be one for any address: what is told is less sure. */
static void run_peer_lost(struct play *play)
{
	truth_bool(play->truth, "hidden", true);
	truth_bool(play->truth, "unsure", true);
	reg_peer(play, PERSISTENT, BEHIND_THE_PIN, GPU_IS_LOST, 0);
}

static void run_peer_taken_room(struct play *play)
{
	reg_peer(play, PERSISTENT, BEHIND_THE_PIN, INSUFFICIENT_RESOURCES, 1);
}

static void run_peer_taken_lost(struct play *play)
{
	reg_peer(play, LEGACY, BEFORE_THE_PIN, GPU_IS_LOST, 1);
}

static void run_peer_taken_refused(struct play *play)
{
	reg_peer(play, LEGACY, BEHIND_THE_PIN, NOT_SUPPORTED, 1);
}

/* Host memory with a hole, while the same driver has no room: it says "not mine" of that too, and is right. */
static void run_peer_hole(struct play *play)
{
	char *memory = bad_memory(play->length);

	truth_num(play->truth, "hole_index", 0);
	truth_hex(play->truth, "hole_address", (uintptr_t)memory);
	if (!play->control && munmap(memory, page_bytes()))
		die_errno("munmap");
	peers(play, LEGACY, BEFORE_THE_PIN, INSUFFICIENT_RESOURCES, 0);
	play->kept = bad_register(play, memory, play->length, IBV_ACCESS_LOCAL_WRITE);
	tell("nvidia", "p2p_status", 0);
}

static const struct bad bads[] = {
	BAD("standin_mkey_limit", "firmware without a memory key to give: a limit", run_mkey_limit),
	BAD("standin_mkey_resources", "firmware without a memory key to give: no resources", run_mkey_resources),
	BAD("standin_bad_parameter", "firmware that refuses a parameter", run_bad_parameter),
	BAD("standin_other_command", "firmware at a limit, of another command", run_other_command),
	BAD("standin_no_answer", "firmware that does not answer", run_no_answer),
	BAD("standin_iova_full", "an IOMMU without address space left for the device", run_iova_full),
	BAD("standin_dmabuf_map", "a GPU driver that cannot map its dma-buf", run_dmabuf_map),
	BAD("standin_dmabuf_export", "a GPU driver that exports no dma-buf, and a registration of none", run_dmabuf_export),
	BAD("standin_dmabuf_attach", "a GPU driver that lets no device attach to its dma-buf", run_dmabuf_attach),
	BAD("standin_peer_room", "a GPU driver without room, hidden by its peer memory client", run_peer_room),
	BAD("standin_peer_room_first", "the same, of a client that is asked before the pin", run_peer_room_first),
	BAD("standin_peer_lost", "a GPU that is lost, hidden by its peer memory client", run_peer_lost),
	BAD("standin_peer_taken_room", "a GPU driver without room for memory that its client has taken", run_peer_taken_room),
	BAD("standin_peer_taken_lost", "a GPU that is lost after its client has taken the memory", run_peer_taken_lost),
	BAD("standin_peer_taken_refused", "a GPU driver that refuses memory which its client has taken", run_peer_taken_refused),
	BAD("standin_peer_hole", "a hole in host memory, asked of a peer memory client first", run_peer_hole),
};
const struct bad_family bad_device = { bads, ARRAY_SIZE(bads) };
