// SPDX-License-Identifier: BSD-2-Clause
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "loader_state.h"
#include "log.h"

int loader_share_maps(const struct loader *l, struct bpf_object *obj)
{
	struct bpf_map *map, *ours;
	int err = 0;

	bpf_object__for_each_map(ours, l->maps) {
		if (bpf_map__is_internal(ours))
			continue;
		map = bpf_object__find_map_by_name(obj, bpf_map__name(ours));
		if (map && !err)
			err = bpf_map__reuse_fd(map, bpf_map__fd(ours));
	}
	return err;
}

/* Objects in which registrations end, and their places in the map. */
static const struct {
	enum object_id object;
	enum wire_ends place;
} ends[] = {
	{ OBJECT_registration, WIRE_ENDS_REGISTRATION },
	{ OBJECT_subsystems, WIRE_ENDS_SUBSYSTEMS },
};

static int end_place(enum object_id o, uint32_t *ret_place)
{
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (ends[i].object != o)
			continue;
		*ret_place = ends[i].place;
		return 0;
	}
	return -ENOENT;
}

int loader_place_end(const struct loader *l, enum object_id o, const struct bpf_object *obj)
{
	int fd = bpf_program__fd(bpf_object__find_program_by_name(obj, END_PROGRAM));
	uint32_t place;

	if (end_place(o, &place))
		return 0;
	return bpf_map_update_elem(bpf_object__find_map_fd_by_name(l->maps, "ends"), &place, &fd, BPF_ANY) ? -errno : 0;
}

void loader_drop_end(const struct loader *l, enum object_id o)
{
	uint32_t place;

	/* A loader that only plans has no maps. */
	if (l->maps && !end_place(o, &place))
		bpf_map_delete_elem(bpf_object__find_map_fd_by_name(l->maps, "ends"), &place);
}

int map_bytes_told(FILE *fdinfo, uint64_t *ret_bytes)
{
	unsigned long long type = 0, entries = 0, bytes = 0;
	bool found = false;
	char line[128];

	while (fgets(line, sizeof(line), fdinfo)) {
		sscanf(line, "map_type: %llu", &type);
		sscanf(line, "max_entries: %llu", &entries);
		found |= sscanf(line, "memlock: %llu", &bytes) == 1;
	}
	if (!found)
		return -ENODATA;
	/* Older kernels count entries times values, which a ring has none of. */
	if (type == BPF_MAP_TYPE_RINGBUF && bytes < entries)
		bytes += entries;
	*ret_bytes = bytes;
	return 0;
}

static int memory_of(const struct bpf_map *map, uint64_t *ret_bytes)
{
	char path[64];
	FILE *f;
	int err;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", bpf_map__fd(map));
	f = fopen(path, "re");
	if (!f)
		return -errno;
	err = map_bytes_told(f, ret_bytes);
	fclose(f);
	return err;
}

/* Is it made for this object alone? */
static bool is_own(const struct loader *l, const struct bpf_object *obj, const struct bpf_map *map)
{
	return obj == l->maps || bpf_map__is_internal(map) || !bpf_object__find_map_by_name(l->maps, bpf_map__name(map));
}

uint64_t loader_own_map_bytes(const struct loader *l, const struct bpf_object *obj)
{
	const struct bpf_map *map;
	uint64_t sum = 0, bytes;

	bpf_object__for_each_map(map, obj) {
		int err = !is_own(l, obj, map) || bpf_map__fd(map) < 0 ? -ENOENT : memory_of(map, &bytes);

		if (!err)
			sum += bytes;
		else if (err != -ENOENT)
			log_debug("kernel memory of map %s is not known: %s", bpf_map__name(map), strerror(-err));
	}
	return sum;
}

void loader_keep_own_maps(const struct loader *l, struct object *ob)
{
	const struct bpf_map *map;

	if (ob->nmaps)
		return;
	ob->map_bytes = loader_own_map_bytes(l, ob->obj);
	bpf_object__for_each_map(map, ob->obj)
		if (is_own(l, ob->obj, map) && ob->nmaps < OWN_MAPS_MAX)
			ob->maps[ob->nmaps++] = bpf_map__fd(map) < 0 ? -1 : fcntl(bpf_map__fd(map), F_DUPFD_CLOEXEC, 0);
}

int loader_reuse_own_maps(const struct loader *l, const struct object *ob, struct bpf_object *obj)
{
	struct bpf_map *map;
	uint32_t n = 0;
	int err = 0;

	if (!ob->nmaps)
		return 0;
	bpf_object__for_each_map(map, obj) {
		if (err || !is_own(l, obj, map))
			continue;
		if (n == ob->nmaps)
			return -E2BIG;
		if (ob->maps[n] >= 0)
			err = bpf_map__reuse_fd(map, ob->maps[n]);
		n++;
	}
	return err;
}

void loader_read_layout(struct loader *l)
{
	uint64_t now[LAYOUT_OWNERS] = { kfacts_module_generation("ib_core"), kfacts_module_generation("ib_uverbs") };

	if (l->rdma.of[0].module && !memcmp(now, l->rdma_generation, sizeof(now)))
		return;
	memcpy(l->rdma_generation, now, sizeof(now));
	rdma_layout_read(&l->rdma, "");
	memcpy(l->layout, &l->rdma.wire, sizeof(*l->layout));
	for (int i = 0; i < LAYOUT_OWNERS; i++)
		log_debug("structs of %s: %s %s", l->rdma.of[i].module, rdma_layout_word(l->rdma.of[i].source), l->rdma.of[i].why);
}

const struct layout_of *loader_layout(const struct loader *l, uint32_t i)
{
	return i < LAYOUT_OWNERS ? &l->rdma.of[i] : NULL;
}
