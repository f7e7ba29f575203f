/* SPDX-License-Identifier: BSD-2-Clause */
/* A failed registration with everything known about it, and the arithmetic on that, in one place. */
#ifndef PINWHY_INCIDENT_H
#define PINWHY_INCIDENT_H

#include <stdbool.h>
#include <stdint.h>

#include "facts.h"
#include "identity.h"
#include "wire.h"

/* Where a registration ended. */
enum stage {
#define STAGE(word, meaning) STAGE_##word,
#include "stages.def"
#undef STAGE
	STAGE_MAX
};

struct word {
	const char *word;
	const char *meaning;
};
extern const struct word stage_words[STAGE_MAX];

/* First pins that cover folios of the incident. */
struct holding {
	uint64_t pfn;	/* of the folio's head page */
	uint64_t page;	/* of the pin: the first one in the folio */
	uint32_t pin;	/* index into pins[] */
	uint32_t doubt;	/* enum wire_doubt: of this page, whatever is so of the pin's others */
	uint32_t calls;	/* likewise: that pinned it, of armed processes */
	uint32_t pad;
};
#define HOLDINGS_MAX (WIRE_FOLIOS_MAX * 2)
struct holders {
	uint32_t npins, nholdings;
	uint32_t put_aside;	/* records that came while other registrations had the room for them */
	struct wire_holder pins[WIRE_HOLDERS_MAX];	/* the first record of each, which has its stack */
	struct holding holdings[HOLDINGS_MAX];
};

/* One failed or stuck registration with everything known about it. */
struct incident {
	struct wire_reg_end end;
	bool stuck;		/* still in flight: result means nothing yet */
	struct sighting sighting;	/* stuck: how the thread was found to be inside */
	bool stale;		/* it lives, and `damage` was done to its memory; `end` is as in struct wire_stale */
	struct wire_damage damage;
	bool hazard;		/* nothing failed yet: holders.pins[0] `stranded` pages, folios[0] is one of them */
	struct wire_stranded stranded;
	struct wire_contig contig;	/* of a hazard that has come true: an allocation could not have the page; pages 0 = it has not */
	struct clock_pair seen;	/* when user space received it */
	uint32_t nfolios;
	struct wire_folio folios[WIRE_FOLIOS_MAX];	/* by their place in the range */
	struct holders holders;
	struct facts facts;
};

/* Pages the range spans; 0 when it is not known or wraps. */
uint64_t incident_pages(const struct incident *in, const struct identity *id);
/* Is the range known? From the umem's arguments, else from the command. */
bool incident_has_range(const struct incident *in);
/* Last entry of `fn` in the chain, NULL = it did not fail. */
const struct wire_chain *incident_chain(const struct incident *in, enum wire_fn fn);
/* Positive errno of that entry, 0 = did not fail. */
int incident_errno(const struct incident *in, enum wire_fn fn);
/* A slow-path pin began whose end was not seen: what it did is not known. */
bool incident_pin_unseen(const struct incident *in);
/*
 * io_uring and AF_XDP pin a buffer in one go and do not go on where a pin stopped early: why it stopped, and with
 * which errno, is lost. `ret_address`, when not NULL: the first page that was not pinned.
 */
bool incident_pin_short(const struct incident *in, const struct identity *id, uint64_t *ret_address);
/* Page index of an address in the range, -1 when it lies outside. */
int64_t incident_index(const struct incident *in, const struct identity *id, uint64_t address);
#define INCIDENT_CGROUP 256
/* Path of the process's cgroup, cut to fit; "" = not known. Returns buf. */
const char *incident_cgroup(const struct incident *in, char buf[INCIDENT_CGROUP]);
/* Page size of the hugetlb mapping at the failing address, else of the range's first one; 0 = none. */
uint64_t incident_hugetlb_bytes(const struct incident *in);
/* Of a mapped file: is a page behind the size that was read certainly none? */
bool incident_size_decides(const struct wire_vma *v);
/* Where it ended, or, of one still in flight, how far it has come. */
enum stage incident_stage_of(const struct incident *in, const struct identity *id);
/* Its word. */
const char *incident_stage(const struct incident *in, const struct identity *id);
/* A command of verbs that did not fail in memory's pinning: neither the umem function nor a pin failed. */
bool incident_umem_excluded(const struct incident *in, const struct identity *id);
/* The errno that decided: of the pin when one failed, else of the first function that did. Positive; 0 = none. */
int incident_decisive_errno(const struct incident *in);
/* Of one still in flight: is this the kernel function its thread waits in, whatever the compiler added to its name? */
bool incident_waits_in(const struct incident *in, const char *function);
/* A registration with a driver whose own function is not hooked: whether it failed is not known. */
bool incident_driver_unseen(const struct incident *in, const struct identity *id);
/* Neither a failure nor a hang: it tells of something that was done, and that went well. */
bool incident_is_warning(const struct incident *in);
/*
 * What NVIDIA's driver last answered to a peer memory client that asked for the pages: a positive errno; 0 = it gave them,
 * or was not asked.
 */
int incident_peer_errno(const struct incident *in);
/* The same, of a client that takes the memory for its own: the ordinary pin has no part in it. 0 = it was not so. */
int incident_peer_failed(const struct incident *in);
/* Has any of this registration's functions failed but those of the layers above its driver? */
bool incident_entered_driver(const struct incident *in);

/* The kernel's check: pinned_vm + pages > RLIMIT_MEMLOCK >> PAGE_SHIFT. */
struct memlock_sum {
	bool known;
	bool unlimited;
	uint64_t asked_pages, before_pages, after_pages, limit_pages;
	bool over_before, over_after;	/* with pinned_vm read at umem entry, and at the end */
};
struct memlock_sum incident_memlock(const struct incident *in, const struct identity *id);

/*
 * io_uring refused to charge a buffer to its user: seen, or, where the function that charges is inlined (7.3),
 * the numbers of its check say so of a buffer that failed with ENOMEM by itself.
 */
bool incident_uring_refused(const struct incident *in, const struct identity *id);

/* Split of surplus references on one folio: pins x 1024 on a small folio is an estimate. */
struct folio_refs {
	int64_t extra;		/* refcount - expected */
	int64_t pins;		/* exact when `counted`, else an estimate */
	int64_t others;
	bool counted;		/* _pincount of a large folio: not an estimate */
	bool known;		/* false also when the counts contradict each other */
};
struct folio_refs folio_refs(const struct wire_folio *f);

/* How many pins of the ledger cover the folio; `ret_pin`, when not NULL and there is one: the oldest of them. */
uint32_t incident_holders(const struct incident *in, const struct wire_folio *f, const struct wire_pin **ret_pin);
/* By how many calls of its taker the folio was pinned, `pin` being the first of them. */
uint32_t incident_calls(const struct incident *in, const struct wire_folio *f, const struct wire_pin *pin);
/* One that was seen being taken and may have been given back or be another's by now; NULL = none. */
const struct wire_pin *incident_doubtful(const struct incident *in, const struct wire_folio *f, enum wire_doubt *ret_doubt);
/* The nth call that took plain references of it, which may have been dropped by now; NULL = there are no more. */
const struct wire_pin *incident_reference(const struct incident *in, const struct wire_folio *f, uint32_t nth);
/* Who called the function that it was taken through; `module` "" = code of the kernel itself. False: not known. */
bool holder_called_from(const struct wire_holder *h, char function[WIRE_SYMBOL_LEN], char module[WIRE_MODULE_LEN]);
bool incident_called_from(const struct incident *in, const struct wire_pin *pin, char function[WIRE_SYMBOL_LEN], char module[WIRE_MODULE_LEN]);
/* The module that took it: what it was taken through is of one, or is called by one. "" = none, or not known. */
const char *holder_module(const struct wire_holder *h, char buf[WIRE_MODULE_LEN]);
const char *incident_pin_module(const struct incident *in, const struct wire_pin *pin, char buf[WIRE_MODULE_LEN]);
/* Is this line of a stack one of the BPF programs that looked, and none of who pinned? */
bool incident_frame_ours(const char *frame);
/* Likewise how many other registrations were in a long-term pin of its address, in the same process. */
uint32_t incident_rivals(const struct incident *in, const struct wire_folio *f, const struct wire_pin **ret_pin);
/* Did the process itself take it? Its pid alone may be another's by now. */
bool incident_own_pin(const struct incident *in, const struct wire_pin *pin);
/* From the begin of the call to what the incident tells. */
uint64_t incident_lasted_ns(const struct incident *in);
/* How long before the incident it was taken. */
uint64_t incident_pin_age_ns(const struct incident *in, const struct wire_pin *pin);
/* Were its flags seen, and is FOLL_LONGTERM none of them? */
bool pin_not_longterm(const struct wire_pin *pin, const struct identity *id);
/* Are folios held by references that nothing explains, and may others than the process have them mapped? */
enum facts_held incident_held(const struct incident *in);

#endif
