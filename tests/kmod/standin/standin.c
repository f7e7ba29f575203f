// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Stands in for hardware that a guest cannot have. While it is loaded a registration with the rxe device goes the
 * way of one with such hardware:
 *   - after its pin, a command to mlx5's firmware, answered as the parameters say. The two functions that are hooked
 *     have the names and arguments of mlx5_core's (drivers/net/ethernet/mellanox/mlx5/core/cmd.c and mr.c, 6.1 and 7.3).
 *   - with iova_full, its pages are mapped for QEMU's edu device, whose address space is full. The device is of no
 *     use, but the RDMA core, the DMA and the IOMMU code are the kernel's own, and so is the refusal.
 *   - a dma-buf is attached to and mapped for the edu device, as mlx5 does for itself; tests/kmod/nvidia exports some.
 *   - memory that a peer memory client (tests/kmod/nvidia_peermem) calls its own is taken from that, as the vendor's RDMA stack
 *     does within ib_umem_get_peer(): asked behind a pin that failed, or, as MLNX_OFED 4 did, before it.
 * It cannot show that firmware answers so, nor what else mlx5_ib does before and after; nor what else the vendor's stack does
 * with a client's pages, which here are given back at once.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/version.h>
#include <net/net_namespace.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

#include "peer_mem.h"

#define CREATE_MKEY 0x200

static char *netdev = "d0";
module_param(netdev, charp, 0444);
MODULE_PARM_DESC(netdev, "network device below the rxe device");

static unsigned int status, syndrome, opcode = CREATE_MKEY;
module_param(status, uint, 0644);
MODULE_PARM_DESC(status, "of the firmware's answer, 0 = it did as it was told");
module_param(syndrome, uint, 0644);
module_param(opcode, uint, 0644);

static int no_answer;
module_param(no_answer, int, 0644);
MODULE_PARM_DESC(no_answer, "errno of a command without an answer, such as 110 for none in time");

static struct ib_device *device;
static typeof_member(struct ib_device_ops, reg_user_mr) driver_reg_user_mr;

/* --- a command to the firmware ------------------------------------------------------ */

/* include/linux/mlx5/mlx5_ifc.h: every answer begins like this. */
struct answer {
	u8 status, reserved[3];
	__be32 syndrome;
};

/* cmd_status_to_err() */
static int errno_of(u8 answered)
{
	switch (answered) {
	case 0x0: return 0;
	case 0x2: case 0x3: case 0x5: case 0x9: case 0xa: case 0x10: case 0x30: case 0x40: return -EINVAL;
	case 0x6: return -EBUSY;
	case 0x8: return -ENOMEM;
	case 0xf: return -EAGAIN;
	default: return -EIO;
	}
}

/* Called with the arguments of the driver's, whatever the compiler might make of them. */
#define AS_IT_IS noinline __attribute__((__noipa__))

static AS_IT_IS int cmd_status_err(void *dev, int err, u16 command, u16 op_mod, void *out)
{
	struct answer *answer = out;

	return !err && answer->status ? -EREMOTEIO : err;
}

static AS_IT_IS int mlx5_core_create_mkey(void *dev, u32 *mkey, u32 *in, int inlen)
{
	struct answer answer = { .status = status, .syndrome = cpu_to_be32(syndrome) };
	int err = cmd_status_err(dev, -no_answer, opcode, 0, &answer);

	return err == -EREMOTEIO ? errno_of(answer.status) : err;
}

/* --- a DMA mapping ------------------------------------------------------------------ */

#define EDU_VENDOR 0x1234
#define EDU_DEVICE 0x11e8
#define MASK_BITS 28	/* what it reaches */
#define FILL_ORDER 9
#define FILLS_MAX 1024

static struct fill {
	dma_addr_t at;
	size_t bytes;
} fills[FILLS_MAX];
static int nfills;
static struct page *fill_page;
static struct pci_dev *edu;
static DEFINE_MUTEX(fill_lock);

static void fills_end(void)
{
	while (nfills) {
		nfills--;
		dma_unmap_page_attrs(&edu->dev, fills[nfills].at, fills[nfills].bytes, DMA_BIDIRECTIONAL, DMA_ATTR_SKIP_CPU_SYNC);
	}
	if (fill_page)
		__free_pages(fill_page, FILL_ORDER);
	fill_page = NULL;
}

/* The same memory again and again, in ever smaller pieces, until not even a page finds a place. */
static int fills_begin(void)
{
	size_t bytes = PAGE_SIZE << FILL_ORDER;

	if (!edu || dma_set_mask_and_coherent(&edu->dev, DMA_BIT_MASK(MASK_BITS)))
		return -ENODEV;
	fill_page = alloc_pages(GFP_KERNEL, FILL_ORDER);
	if (!fill_page)
		return -ENOMEM;
	while (bytes >= PAGE_SIZE && nfills < FILLS_MAX) {
		dma_addr_t at = dma_map_page_attrs(&edu->dev, fill_page, 0, bytes, DMA_BIDIRECTIONAL, DMA_ATTR_SKIP_CPU_SYNC);

		if (dma_mapping_error(&edu->dev, at))
			bytes /= 2;
		else
			fills[nfills++] = (struct fill){ at, bytes };
	}
	if (nfills < FILLS_MAX)
		return 0;
	fills_end();
	return -ENOSPC;
}

static int iova_full_set(const char *value, const struct kernel_param *kp)
{
	bool wanted;
	int err = kstrtobool(value, &wanted);

	if (err)
		return err;
	mutex_lock(&fill_lock);
	if (wanted && !nfills)
		err = fills_begin();
	else if (!wanted)
		fills_end();
	mutex_unlock(&fill_lock);
	return err;
}

static int iova_full_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%d\n", nfills);
}

static const struct kernel_param_ops iova_full_ops = { .set = iova_full_set, .get = iova_full_get };
module_param_cb(iova_full, &iova_full_ops, NULL, 0644);
MODULE_PARM_DESC(iova_full, "1 = fill edu's address space and map for it; read: pieces that fill it");

/* --- the registration ---------------------------------------------------------------- */

static struct ib_umem *pin(struct ib_device *dev, u64 start, u64 length, int access)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
	return ib_umem_get_va(dev, start, length, access);
#else
	return ib_umem_get(dev, start, length, access);
#endif
}

/* ib_umem_get() maps for dma_device, which rxe has none of (one of its own before 5.11): it needs no DMA. */
static int pin_for_edu(struct ib_device *dev, u64 start, u64 length, int access)
{
	struct ib_umem *umem;
	struct device *own = dev->dma_device;
	int err = 0;

	mutex_lock(&fill_lock);
	if (nfills) {
		dev->dma_device = &edu->dev;
		umem = pin(dev, start, length, access);
		if (IS_ERR(umem))
			err = PTR_ERR(umem);
		else
			ib_umem_release(umem);
		dev->dma_device = own;
	}
	mutex_unlock(&fill_lock);
	return err;
}

/* --- peer memory ---------------------------------------------------------------------- */

static bool peer_first;
module_param(peer_first, bool, 0644);
MODULE_PARM_DESC(peer_first, "ask the peer memory client before the pin, not behind one that failed");

static uint peer_client;
module_param(peer_client, uint, 0644);
MODULE_PARM_DESC(peer_client, "which one is asked, in the order in which they came");

static const struct peer_memory_client *clients[2];
static DEFINE_MUTEX(clients_lock);

void *ib_register_peer_memory_client(const struct peer_memory_client *client, void *invalidate_callback)
{
	void *registered = NULL;
	size_t i;

	mutex_lock(&clients_lock);
	for (i = 0; i < ARRAY_SIZE(clients) && !registered; i++) {
		if (!clients[i])
			registered = &clients[i];
	}
	if (registered)
		*(const struct peer_memory_client **)registered = client;
	mutex_unlock(&clients_lock);
	return registered;
}
EXPORT_SYMBOL_GPL(ib_register_peer_memory_client);

void ib_unregister_peer_memory_client(void *registered)
{
	mutex_lock(&clients_lock);
	*(const struct peer_memory_client **)registered = NULL;
	mutex_unlock(&clients_lock);
}
EXPORT_SYMBOL_GPL(ib_unregister_peer_memory_client);

#define PEER_TOOK_IT 1
/* As a whole: `not_mine`, the client's errno, or that it took the memory. */
static int ask_client(u64 start, u64 length, int access, int not_mine)
{
	const struct peer_memory_client *c;
	void *context = NULL;
	int err = not_mine;

	mutex_lock(&clients_lock);
	c = peer_client < ARRAY_SIZE(clients) ? clients[peer_client] : NULL;
	if (c && c->acquire(start, length, NULL, NULL, &context) == 1) {
		err = c->get_pages(start, length, 1, !ib_access_writable(access), NULL, context, 1);
		if (!err)
			c->put_pages(NULL, context);
		c->release(context);
		err = err ?: PEER_TOOK_IT;
	}
	mutex_unlock(&clients_lock);
	return err;
}

/* The pin and the client, in the order of the vendor's stack. 0 = host memory, which is pinned while the firmware is asked. */
static int pin_or_peer(struct ib_device *dev, u64 start, u64 length, int access, struct ib_umem **ret_umem)
{
	int err = peer_first ? ask_client(start, length, access, 0) : 0;
	struct ib_umem *umem;

	if (err)
		return err;
	umem = pin(dev, start, length, access);
	if (!IS_ERR(umem)) {
		*ret_umem = umem;
		return 0;
	}
	return peer_first ? PTR_ERR(umem) : ask_client(start, length, access, PTR_ERR(umem));
}

/* --- what registers it ------------------------------------------------------------------ */

static int after_the_pin(struct ib_device *dev, u64 start, u64 length, int access)
{
	u32 mkey, in[4] = {};
	struct ib_umem *umem;
	int err;

	if (access & IB_ACCESS_ON_DEMAND)
		return 0;
	err = pin_for_edu(dev, start, length, access);
	if (err)
		return err;
	err = pin_or_peer(dev, start, length, access, &umem);
	if (err)
		return err;
	err = mlx5_core_create_mkey(dev, &mkey, in, sizeof(in));
	ib_umem_release(umem);
	return err;
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
static struct ib_mr *reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 virt_addr, int access,
				 struct ib_dmah *dmah, struct ib_udata *udata)
{
	int err = after_the_pin(pd->device, start, length, access);

	if (err == PEER_TOOK_IT)
		return pd->device->ops.get_dma_mr(pd, access);
	return err ? ERR_PTR(err) : driver_reg_user_mr(pd, start, length, virt_addr, access, dmah, udata);
}
#else
static struct ib_mr *reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 virt_addr, int access,
				 struct ib_udata *udata)
{
	int err = after_the_pin(pd->device, start, length, access);

	if (err == PEER_TOOK_IT)
		return pd->device->ops.get_dma_mr(pd, access);
	return err ? ERR_PTR(err) : driver_reg_user_mr(pd, start, length, virt_addr, access, udata);
}
#endif

/* --- a dma-buf ------------------------------------------------------------------------ */

#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 12, 0)
static void moved(struct dma_buf_attachment *attachment)
{
}

static const struct dma_buf_attach_ops attach_ops = {
	.allow_peer2peer = true,
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
	.invalidate_mappings = moved,
#else
	.move_notify = moved,
#endif
};

/* Attached, and mapped at once, as mlx5_ib does when it registers one (drivers/infiniband/hw/mlx5/mr.c, odp.c). */
static int map_for_edu(struct ib_device *dev, u64 offset, u64 length, int fd, int access)
{
	struct ib_umem_dmabuf *umem;
	int err;

	mutex_lock(&fill_lock);
	dev->dma_device = &edu->dev;
	umem = ib_umem_dmabuf_get(dev, offset, length, fd, access, &attach_ops);
	err = PTR_ERR_OR_ZERO(umem);
	if (!err) {
		dma_resv_lock(umem->attach->dmabuf->resv, NULL);
		err = ib_umem_dmabuf_map_pages(umem);
		if (!err)
			ib_umem_dmabuf_unmap_pages(umem);
		dma_resv_unlock(umem->attach->dmabuf->resv);
		ib_umem_release(&umem->umem);
	}
	dev->dma_device = NULL;
	mutex_unlock(&fill_lock);
	return err;
}

/* The region that comes of it is of no memory in particular: it is there to be given back. */
static struct ib_mr *reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 virt_addr, int fd, int access,
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
					struct ib_dmah *dmah, struct uverbs_attr_bundle *attrs)
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
					struct uverbs_attr_bundle *attrs)
#else
					struct ib_udata *udata)
#endif
{
	int err = edu ? map_for_edu(pd->device, offset, length, fd, access) : -ENODEV;

	return err ? ERR_PTR(err) : pd->device->ops.get_dma_mr(pd, access);
}

static void take_dmabufs(bool take)
{
	WRITE_ONCE(device->ops.reg_user_mr_dmabuf, take ? reg_user_mr_dmabuf : NULL);
}
#else
/* The kernel's RDMA core registers none. */
static void take_dmabufs(bool take)
{
}
#endif

static int __init standin_init(void)
{
	struct net_device *below = dev_get_by_name(&init_net, netdev);

	if (below) {
		device = ib_device_get_by_netdev(below, RDMA_DRIVER_RXE);
		dev_put(below);
	}
	if (!device) {
		pr_err("no rxe device on %s\n", netdev);
		return -ENODEV;
	}
	edu = pci_get_device(EDU_VENDOR, EDU_DEVICE, NULL);
	driver_reg_user_mr = device->ops.reg_user_mr;
	WRITE_ONCE(device->ops.reg_user_mr, reg_user_mr);
	take_dmabufs(true);
	return 0;
}

/* A test unloads it when nobody registers: what is inside would return to code that is gone. */
static void __exit standin_exit(void)
{
	WRITE_ONCE(device->ops.reg_user_mr, driver_reg_user_mr);
	take_dmabufs(false);
	fills_end();
	pci_dev_put(edu);
	ib_device_put(device);
}

module_init(standin_init);
module_exit(standin_exit);
MODULE_DESCRIPTION("Stand-in for an RDMA device with firmware and an IOMMU, for tests");
MODULE_LICENSE("Dual BSD/GPL");
