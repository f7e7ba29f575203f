// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Stands in for NVIDIA's nvidia-peermem: names, arguments and calling contexts of its two clients are those of
 * kernel-open/nvidia-peermem/nvidia-peermem.c (580), and so is that it calls whatever the driver refuses "not mine".
 * The clients register themselves with tests/kmod/standin, and ask tests/kmod/nvidia; both are looked up when this is
 * loaded, since the three are built apart. What the vendor's stack does with the pages, it cannot show.
 */
#define pr_fmt(fmt) "nvidia-peermem " fmt

#include <linux/module.h>
#include <linux/slab.h>

#include "nv-p2p.h"
#include "peer_mem.h"

static typeof(nvidia_p2p_get_pages) *p2p_get_pages;
static typeof(nvidia_p2p_put_pages) *p2p_put_pages;
static typeof(nvidia_p2p_get_pages_persistent) *p2p_get_pages_persistent;
static typeof(nvidia_p2p_put_pages_persistent) *p2p_put_pages_persistent;
static typeof(ib_register_peer_memory_client) *register_client;
static typeof(ib_unregister_peer_memory_client) *unregister_client;

struct nv_mem_context {
	struct nvidia_p2p_page_table *page_table;
	u64 page_virt_start, mapped_size;
};

static struct nv_mem_context *context_of(unsigned long addr, size_t size)
{
	struct nv_mem_context *c = kzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return NULL;
	c->page_virt_start = ALIGN_DOWN((u64)addr, NVIDIA_P2P_PAGE_SIZE);
	c->mapped_size = ALIGN((u64)addr + size, NVIDIA_P2P_PAGE_SIZE) - c->page_virt_start;
	return c;
}

static void nv_get_p2p_free_callback(void *data)
{
}

/* Called by the names they have, whatever the compiler might make of them. */
#define AS_IT_IS noinline __attribute__((__noipa__))

static AS_IT_IS int nv_mem_acquire(unsigned long addr, size_t size, void *peer_mem_private_data, char *peer_mem_name, void **client_context)
{
	struct nv_mem_context *c = context_of(addr, size);

	if (!c)
		return 0;
	if (p2p_get_pages(0, 0, c->page_virt_start, c->mapped_size, &c->page_table, nv_get_p2p_free_callback, c) ||
	    p2p_put_pages(0, 0, c->page_virt_start, c->page_table)) {
		kfree(c);
		return 0;
	}
	*client_context = c;
	return 1;
}

static AS_IT_IS int nv_mem_acquire_nc(unsigned long addr, size_t size, void *peer_mem_private_data, char *peer_mem_name, void **client_context)
{
	struct nv_mem_context *c = context_of(addr, size);

	if (!c)
		return 0;
	if (p2p_get_pages_persistent(c->page_virt_start, c->mapped_size, &c->page_table, 0) ||
	    p2p_put_pages_persistent(c->page_virt_start, c->page_table, 0)) {
		kfree(c);
		return 0;
	}
	*client_context = c;
	return 1;
}

static AS_IT_IS int nv_mem_get_pages(unsigned long addr, size_t size, int write, int force, struct sg_table *sg_head, void *client_context, u64 core_context)
{
	struct nv_mem_context *c = client_context;
	int err = p2p_get_pages(0, 0, c->page_virt_start, c->mapped_size, &c->page_table, nv_get_p2p_free_callback, c);

	if (err < 0)
		pr_err("error %d while calling nvidia_p2p_get_pages()\n", err);
	return err;
}

static AS_IT_IS int nv_mem_get_pages_nc(unsigned long addr, size_t size, int write, int force, struct sg_table *sg_head, void *client_context, u64 core_context)
{
	struct nv_mem_context *c = client_context;
	int err = p2p_get_pages_persistent(c->page_virt_start, c->mapped_size, &c->page_table, 0);

	if (err < 0)
		pr_err("error %d while calling nvidia_p2p_get_pages_persistent()\n", err);
	return err;
}

static void nv_mem_put_pages(struct sg_table *sg_head, void *client_context)
{
	struct nv_mem_context *c = client_context;

	p2p_put_pages(0, 0, c->page_virt_start, c->page_table);
}

static void nv_mem_put_pages_nc(struct sg_table *sg_head, void *client_context)
{
	struct nv_mem_context *c = client_context;

	p2p_put_pages_persistent(c->page_virt_start, c->page_table, 0);
}

static void nv_mem_release(void *client_context)
{
	kfree(client_context);
}

static const struct peer_memory_client nv_mem_client = {
	.name = "nv_mem", .acquire = nv_mem_acquire, .get_pages = nv_mem_get_pages, .put_pages = nv_mem_put_pages, .release = nv_mem_release,
};
static const struct peer_memory_client nv_mem_client_nc = {
	.name = "nv_mem_nc", .acquire = nv_mem_acquire_nc, .get_pages = nv_mem_get_pages_nc, .put_pages = nv_mem_put_pages_nc, .release = nv_mem_release,
};
static void *reg_handle, *reg_handle_nc;

static void put_symbols(void)
{
	if (p2p_get_pages)
		symbol_put(nvidia_p2p_get_pages);
	if (p2p_put_pages)
		symbol_put(nvidia_p2p_put_pages);
	if (p2p_get_pages_persistent)
		symbol_put(nvidia_p2p_get_pages_persistent);
	if (p2p_put_pages_persistent)
		symbol_put(nvidia_p2p_put_pages_persistent);
	if (register_client)
		symbol_put(ib_register_peer_memory_client);
	if (unregister_client)
		symbol_put(ib_unregister_peer_memory_client);
}

static bool get_symbols(void)
{
	p2p_get_pages = symbol_get(nvidia_p2p_get_pages);
	p2p_put_pages = symbol_get(nvidia_p2p_put_pages);
	p2p_get_pages_persistent = symbol_get(nvidia_p2p_get_pages_persistent);
	p2p_put_pages_persistent = symbol_get(nvidia_p2p_put_pages_persistent);
	register_client = symbol_get(ib_register_peer_memory_client);
	unregister_client = symbol_get(ib_unregister_peer_memory_client);
	return p2p_get_pages && p2p_put_pages && p2p_get_pages_persistent && p2p_put_pages_persistent && register_client && unregister_client;
}

static void unregister_clients(void)
{
	if (reg_handle_nc)
		unregister_client(reg_handle_nc);
	if (reg_handle)
		unregister_client(reg_handle);
}

static int __init nv_mem_client_init(void)
{
	if (!get_symbols()) {
		put_symbols();
		return -ENOENT;
	}
	reg_handle = register_client(&nv_mem_client, NULL);
	reg_handle_nc = register_client(&nv_mem_client_nc, NULL);
	if (reg_handle && reg_handle_nc)
		return 0;
	unregister_clients();
	put_symbols();
	return -EINVAL;
}

static void __exit nv_mem_client_cleanup(void)
{
	unregister_clients();
	put_symbols();
}

module_init(nv_mem_client_init);
module_exit(nv_mem_client_cleanup);
MODULE_DESCRIPTION("Stand-in for NVIDIA's peer memory client, for tests");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION("580.65.06");
