// SPDX-License-Identifier: BSD-2-Clause
/* facts BTF: all that user space reads of a kernel's BTF, as bytes, to compare a pack with the BTF that it was made of. */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdio.h>

#include "kfacts.h"

int main(int argc, char **argv)
{
	static struct identity id; /* padding is 0 */
	static struct wire_cfg cfg;
	struct btf *btf = argc == 2 ? btf__parse(argv[1], NULL) : NULL;
	struct kfacts *kf;

	if (!btf || libbpf_get_error(btf) || kfacts_of_btf(&kf, btf, "/nonexistent"))
		return 1;
	kfacts_cfg(kf, &cfg);
	kfacts_names(kf, &id);
	if (!cfg.zones_shift || !cfg.section_shift || !id.foll_longterm || !id.migratetypes.name[1][0])
		return 1; /* nothing was read */
	fwrite(&cfg, sizeof(cfg), 1, stdout);
	fwrite(&id, sizeof(id), 1, stdout);
	kfacts_free(kf);
	return fflush(stdout) != 0;
}
